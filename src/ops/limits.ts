/** Kernels whose code would be too large are an error. All else that large is computed by the interpreter, and says so. */
import { fail } from "../errors.ts";
import { isKernelTemplate } from "../frontend/template.ts";
import type { Program } from "../ir/node.ts";
import { misfitOf } from "../optimize/size.ts";
import type { Callable } from "./function.ts";

export function checkSize(operation: string, { template }: Callable, program: Program): void {
  const misfit = misfitOf(program);
  if (misfit === null || !(operation === "kernel" || isKernelTemplate(template!))) return;
  fail(
    "kernel",
    operation,
    misfit,
    "Split it into several kernels, or give the plain function to map or zip.",
  );
}
