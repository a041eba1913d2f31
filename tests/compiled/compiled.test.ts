/** What the compiler makes equals what the interpreter says, to the bit: random kernels, dtypes, layouts, sizes. */
import fc from "fast-check";
import { afterAll, test } from "vitest";
import { engine } from "../../src/engine.ts";
import { compareKernel, kernelCases, repeatedCases } from "./kernels.ts";

let cases = 0;
afterAll(() => console.log(`compiled equals interpreted: ${cases} cases`));

const run = (numRuns: number, from = kernelCases) =>
  fc.assert(
    fc.property(from, (c) => {
      if (compareKernel(c)) cases++;
    }),
    { numRuns },
  );

test("random kernels of exact operations, in SIMD", { timeout: 300_000 }, () => run(14_000));

test("random kernels with an operand that is the same in every row", { timeout: 300_000 }, () => {
  engine().kernels.alwaysTogether = true;
  try {
    run(4000, repeatedCases);
  } finally {
    engine().kernels.alwaysTogether = false;
  }
});

test("random kernels of exact operations, in scalar code", { timeout: 300_000 }, () => {
  engine().kernels.simd = false;
  try {
    run(7000);
  } finally {
    engine().kernels.simd = true;
  }
});
