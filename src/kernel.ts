/**
 * `kernel(fn)`: a function of scalars becomes a function of tensors. Strict where map and zip are lenient: what
 * cannot be compiled throws, with a caret under the reason.
 */
import { checkDType, type DType } from "./dtype.ts";
import type { Template } from "./ir/node.ts";
import { printTemplate } from "./ir/print.ts";
import { elementwise } from "./ops/elementwise.ts";
import { compileStrict, registerCallable, type ScalarFunction } from "./ops/function.ts";
import { liveTensor, Tensor, wrapResult } from "./tensor.ts";

export interface Kernel {
  /** One tensor a parameter, broadcast together. */
  (...tensors: Tensor[]): Tensor;
  /** As calling it, but the result is written into an existing tensor: nothing is allocated. */
  into(out: Tensor, ...tensors: Tensor[]): Tensor;
  /** A kernel whose result has this dtype. */
  as(dtype: DType): Kernel;
  readonly template: Template;
  readonly captures: Readonly<Record<string, unknown>>;
  toString(): string;
}

/** Captured values are passed by name: `kernel((x, k) => x > 0 ? x : k * x, { k: 0.01 })`. */
export function kernel(fn: ScalarFunction, captures: Readonly<Record<string, unknown>> = {}): Kernel {
  return makeKernel(fn, captures, undefined);
}

function makeKernel(
  fn: ScalarFunction,
  captures: Readonly<Record<string, unknown>>,
  dtype: DType | undefined,
): Kernel {
  const callable = compileStrict("kernel", fn, captures);
  const options = dtype === undefined ? {} : { dtype };
  const live = (tensors: Tensor[]) => {
    for (let k = 0; k < tensors.length; k++) liveTensor("kernel", tensors[k]);
    return tensors;
  };
  const call = (...tensors: Tensor[]): Tensor =>
    new Tensor(elementwise("kernel", callable, live(tensors), options));
  const intoOptions = (out: Tensor) => (dtype === undefined ? { out } : { dtype, out });
  const result: Kernel = Object.assign(call, {
    into: (out: Tensor, ...tensors: Tensor[]) =>
      wrapResult(elementwise("kernel", callable, live(tensors), intoOptions(liveTensor("kernel", out))), out),
    as: (to: DType) => makeKernel(fn, captures, checkDType("kernel", to)),
    template: callable.template!,
    captures,
    toString: () => `kernel ${printTemplate(callable.template!)}`,
  });
  registerCallable(result, callable);
  return result;
}
