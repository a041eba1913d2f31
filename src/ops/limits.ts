/** Functions whose code would be too large: a kernel says so, all else is computed by the interpreter and says that. */
import { engine } from "../engine.ts";
import { fail, messageOf } from "../errors.ts";
import { isKernelTemplate } from "../frontend/template.ts";
import type { Program } from "../ir/node.ts";
import type { Fold } from "../optimize/reduce.ts";
import { foldMisfitOf, misfitOf } from "../optimize/size.ts";
import type { Callable } from "./function.ts";

/** Can code be made for the program? If not, a kernel is an error, and whoever listens hears of all else. */
export function isMade(operation: string, { template }: Callable, program: Program): boolean {
  const misfit = misfitOf(program);
  if (misfit === null) return true;
  if (operation === "kernel" || (template !== null && isKernelTemplate(template))) {
    fail(
      "kernel",
      operation,
      misfit,
      "Split it into several kernels, or give the plain function to map or zip.",
    );
  }
  tellInterpreted(operation, misfit);
  return false;
}

/** A fold that is interpreted because of its size, for whoever listens. */
export function tellLargeFold(operation: string, fold: Fold): void {
  const misfit = foldMisfitOf(fold);
  if (misfit !== null) tellInterpreted(operation, misfit);
}

function tellInterpreted(operation: string, misfit: string): void {
  const why = messageOf(operation, misfit, "The interpreter computes it, one element at a time.");
  engine().listener?.({ kind: "fallback", operation, why });
}
