/** Random kernels: compiled equals interpreted, to the bit. */
import { engine } from "../../src/engine.ts";
import { compareKernel, type KernelCase, kernelCases, repeatedCases } from "../compiled/kernels.ts";
import { family } from "./family.ts";

/** `run` with one of the kernels' switches set. */
export function switched<R>(name: "simd" | "alwaysTogether", on: boolean, run: () => R): R {
  const { kernels } = engine();
  const before = kernels[name];
  kernels[name] = on;
  try {
    return run();
  } finally {
    kernels[name] = before;
  }
}

export const kernels = family<KernelCase>({
  name: "kernels",
  law: "random kernels of exact operations, in SIMD, equal the interpreter",
  cases: kernelCases,
  check: compareKernel,
  gate: 2000,
});

export const kernelsScalar = family<KernelCase>({
  name: "kernels-scalar",
  law: "random kernels of exact operations, in scalar code, equal the interpreter",
  cases: kernelCases,
  check: (c) => switched("simd", false, () => compareKernel(c)),
  gate: 2000,
});

export const kernelsRepeated = family<KernelCase>({
  name: "kernels-repeated",
  law: "random kernels with an operand that is the same in every row equal the interpreter",
  cases: repeatedCases,
  check: (c) => switched("alwaysTogether", true, () => compareKernel(c)),
  gate: 2000,
});
