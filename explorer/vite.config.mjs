/** Builds the explorer on the engine's own sources. The page's policy allows no eval: see docs/explorer.md. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { isolation, policy } from "./headers.mjs";

/** The built page carries its policy with it, wherever it is served; the dev server needs inline scripts of its own. */
const withPolicy = {
  name: "content-security-policy",
  apply: "build",
  transformIndexHtml: () => [
    {
      tag: "meta",
      attrs: { "http-equiv": "Content-Security-Policy", content: policy },
      injectTo: "head-prepend",
    },
  ],
};

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  plugins: [withPolicy],
  resolve: { alias: { strided: fileURLToPath(new URL("../src/index.ts", import.meta.url)) } },
  worker: { format: "es" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
    rollupOptions: {
      input: ["index.html", "gradients.html"].map((page) => fileURLToPath(new URL(page, import.meta.url))),
    },
  },
  server: { headers: isolation, fs: { allow: [".."] } },
  preview: { headers: isolation },
});
