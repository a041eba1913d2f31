/** What the compiler makes equals what the interpreter says, to the bit: random kernels, dtypes, layouts, sizes. */
import fc from "fast-check";
import { afterAll, test } from "vitest";
import { engine } from "../../src/engine.ts";
import { compareKernel, kernelCases } from "./kernels.ts";

let cases = 0;
afterAll(() => console.log(`compiled equals interpreted: ${cases} cases`));

const run = (numRuns: number) =>
  fc.assert(
    fc.property(kernelCases, (c) => {
      if (compareKernel(c)) cases++;
    }),
    { numRuns },
  );

test("random kernels of exact operations, in SIMD", { timeout: 300_000 }, () => run(14_000));

test("random kernels of exact operations, in scalar code", { timeout: 300_000 }, () => {
  engine().kernels.simd = false;
  try {
    run(7000);
  } finally {
    engine().kernels.simd = true;
  }
});
