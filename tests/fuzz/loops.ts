/** Random functions with loops: read as the host reads them, and compiled as they are interpreted. */
import fc from "fast-check";
import { isRefusal, lowerFunction, refusalMessage } from "../../src/frontend/lower.ts";
import { double, interpreted } from "../../src/frontend/testing.ts";
import { compareKernel, type KernelCase, loopCases } from "../compiled/kernels.ts";
import { loopBodies } from "../compiled/loops.ts";
import { exact } from "../compiled/random.ts";
import { family } from "./family.ts";
import type { FrontendCase } from "./frontend.ts";
import { switched } from "./kernels.ts";

/** Never-ending loops are refused, and so is what JavaScript itself would not accept. */
const mayBeRefused = /nothing in it makes it end|between a number and a boolean/;

function checkRead({ source, points }: FrontendCase): boolean {
  const fn = new Function(`return (${source})`)() as (x: number, y: number, k: number) => unknown;
  const captures = { k: 3 };
  const template = lowerFunction(source, captures);
  if (isRefusal(template)) {
    if (mayBeRefused.test(template.reason)) return false;
    throw new Error(refusalMessage("test", template));
  }
  const run = interpreted(source, ["f64", "f64"], captures);
  for (const [x, y] of points) {
    const [want, got] = [Number(fn(x, y, 3)), run(x, y)];
    if (!Object.is(want, got)) throw new Error(`${source} at (${x}, ${y}): expected ${want}, got ${got}`);
  }
  return true;
}

export const loopsRead = family<FrontendCase>({
  name: "loops-read",
  law: "random functions with loops are read as the host reads them: on f64 the interpreter gives the same bits",
  cases: fc.record({
    source: loopBodies(exact).map((body) => `(x, y, k) => ${body}`),
    points: fc.array(fc.tuple(double, double), { minLength: 6, maxLength: 6 }),
  }),
  check: checkRead,
  gate: 200,
});

export const loops = family<KernelCase>({
  name: "loops",
  law: "random kernels with loops equal the interpreter, on any dtypes and layouts",
  cases: loopCases,
  check: compareKernel,
  gate: 200,
});

export const loopsScalar = family<KernelCase>({
  name: "loops-scalar",
  law: "random kernels with loops, in scalar code, equal the interpreter",
  cases: loopCases,
  check: (c) => switched("simd", false, () => compareKernel(c)),
  gate: 100,
});
