/** From bytes to a module: the one place that asks the host to compile, which a page's security policy may forbid. */
import { fail } from "../../errors.ts";

export function compileModule(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  try {
    return new WebAssembly.Module(bytes);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return fail(
      "kernel",
      "strided",
      "this page's Content Security Policy does not allow WebAssembly to be compiled.",
      "Add 'wasm-unsafe-eval' to its script-src (or default-src) directive: script-src 'self' 'wasm-unsafe-eval'.\n" +
        "JavaScript's eval stays forbidden; strided does not use it.",
    );
  }
}

/** Each browser has words of its own for it. */
const isForbidden = (error: unknown): boolean =>
  error instanceof Error && /content security policy|\bcsp\b|unsafe-eval/i.test(error.message);
