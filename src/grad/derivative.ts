/** Derivatives of functions of numbers, as kernels. */
import { describe, fail, TensorError } from "../errors.ts";
import { refusalMessage } from "../frontend/refusal.ts";
import { type Kernel, makeKernel } from "../kernel.ts";
import { Callable, callableOf, Definition } from "../ops/function.ts";
import { derivativeTemplate } from "./tangents.ts";

/**
 * The partial derivative of a kernel, or of a plain function of numbers, by its parameter `i` (default the first): a kernel
 * of the same parameters and captured values.
 *
 *     const slope = derivative(kernel((x) => x * Math.sin(x)));
 *     slope(2); // sin 2 + 2·cos 2
 *     slope(t); // of every element
 *
 * It is symbolic, so it costs about what the function costs, and branches that are not taken have no part in it. Where
 * there is no derivative it is one-sided or 0: see docs/gradients.md.
 *
 * @param f a kernel, or a function of numbers
 * @param i which parameter, from 0
 * @returns a kernel of the same parameters
 * @throws TensorError where f cannot be compiled or has no derivative
 * @example
 * derivative((x) => x * x * x)(2); // → 12
 */
export function derivative<P extends readonly unknown[], R>(f: Kernel<P, R>, i?: number): Kernel<P, number>;
export function derivative<P extends number[]>(
  f: (...values: P) => number | boolean,
  i?: number,
): Kernel<P, number>;
export function derivative(f: unknown, i = 0): unknown {
  const op = "derivative";
  const callable = callableOf(op, f);
  const { template, refusal } = callable;
  if (template === null) throw new TensorError("kernel", refusalMessage(op, refusal!));
  const { inputs } = template;
  if (!Number.isInteger(i) || i < 0 || i >= inputs) {
    const has = inputs === 1 ? "the function has 1 parameter" : `the function has ${inputs} parameters`;
    fail("value", op, `the parameter is ${describe(i)}, and ${has}.`, "Count them from 0.");
  }
  const { values, captures } = callable;
  const made = new Definition(derivativeTemplate(template, i, values), callable.definition!.fastMath);
  return makeKernel(new Callable(made, { values, captures }), undefined);
}
