/** The headers of the page, for the dev server, serve.mjs and the tests. */

/** With these two a page may share memory between threads. */
export const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** No eval and no inline script; `blob:` is how the visitor's own code is loaded as a module. */
export const policy = [
  "default-src 'none'",
  "script-src 'self' blob: 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
