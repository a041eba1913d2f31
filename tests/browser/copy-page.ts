/** Runs in a page that may neither make code from text nor compile WebAssembly. */
import { copyStrided } from "../../src/interop.ts";

function forbidden(): boolean {
  try {
    // The smallest module there is.
    new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
    return false;
  } catch {
    return true;
  }
}

const data = new Float64Array(6);
copyStrided(
  { data, shape: [3, 2] },
  { data: Float64Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2], stride: [1, 3] },
);
Object.assign(globalThis, { result: { forbidden: forbidden(), copied: [...data] } });
