/**
 * `kernel(fn)`: a function of scalars becomes a function of tensors. Strict where map and zip are lenient: what
 * cannot be compiled throws, with a caret under the reason.
 */
import { checkDType, type DType } from "./dtype.ts";
import { describe, fail } from "./errors.ts";
import { paramValue } from "./frontend/infer.ts";
import { evaluatorOfAll } from "./ir/eval.ts";
import { severalOf, type Template } from "./ir/node.ts";
import { printTemplate } from "./ir/print.ts";
import { changed, checkFlag, checkOptionalDType, readOptions } from "./ops/arguments.ts";
import { elementwise } from "./ops/elementwise.ts";
import {
  type Callable,
  callableOf,
  checkSingle,
  compileStrict,
  registerCallable,
  type ScalarFunction,
} from "./ops/function.ts";
import { mapReduce, type NamedFold, type ReduceOptions } from "./ops/reduce.ts";
import { elementwiseSeveral } from "./ops/several.ts";
import type { Strided } from "./run/call.ts";
import { live, liveTensors, stridedOf, type Tensor, wrap } from "./tensor.ts";

type Captures = Readonly<Record<string, unknown>>;

export interface KernelOptions {
  /**
   * Allows algebra that may change the last bits, lose a NaN or the sign of a zero: a constant divisor becomes a
   * multiplication, a·b + c rounds once where the host can, max and min take the faster instruction. Default false.
   */
  readonly fastMath?: boolean;
  /** Operands are converted to it first: the kernel computes in it, whatever their dtypes. */
  readonly compute?: DType;
}

export interface Kernel {
  /** One tensor a parameter, broadcast together. */
  (...tensors: Tensor[]): Tensor;
  /** On plain numbers, as the function itself: also how a kernel is written inside another one. */
  (...values: number[]): number;
  /** As calling it, but the result is written into an existing tensor: nothing is allocated. */
  into(out: Tensor, ...tensors: Tensor[]): Tensor;
  /** A kernel whose result has this dtype. */
  as(dtype: DType): Kernel;
  /**
   * The fold of what the kernel makes of each element, with no tensor in between:
   * `kernel((a, b) => a * b).reduce("sum", { axis: -1 })` is a function of two tensors.
   */
  reduce(
    how?: "sum" | "prod" | "max" | "min" | ((acc: number, x: number) => number | bigint | boolean),
    options?: ReduceOptions,
  ): (...tensors: Tensor[]) => Tensor;
  readonly template: Template;
  readonly captures: Readonly<Record<string, unknown>>;
  toString(): string;
}

type Result = number | bigint | boolean;

/** Captured values are passed by name: `kernel((x, { k }) => x > 0 ? x : k * x, { k: 0.01 })`. */
export function kernel<W extends Captures>(
  fn: (x: number, captured: W) => Result,
  captures: W,
  options?: KernelOptions,
): Kernel;
export function kernel<W extends Captures>(
  fn: (x: number, y: number, captured: W) => Result,
  captures: W,
  options?: KernelOptions,
): Kernel;
export function kernel<W extends Captures>(
  fn: (x: number, y: number, z: number, captured: W) => Result,
  captures: W,
  options?: KernelOptions,
): Kernel;
export function kernel(
  fn: (...values: number[]) => number | bigint | boolean,
  captures?: Captures,
  options?: KernelOptions,
): Kernel;
export function kernel(fn: ScalarFunction, captures: Captures, options?: KernelOptions): Kernel;
export function kernel(fn: ScalarFunction, captures: Captures = {}, options: KernelOptions = {}): Kernel {
  const { fastMath, compute } = readOptions("kernel", options, "{ fastMath: true }", ["fastMath", "compute"]);
  checkFlag("kernel", "fastMath", fastMath);
  checkOptionalDType("kernel", compute);
  const callable = compileStrict("kernel", fn, captures, fastMath === true);
  return makeKernel(compute === undefined ? callable : callable.computed(compute), undefined);
}

function makeKernel(callable: Callable, dtype: DType | undefined): Kernel {
  // What others see of it: map, zip, folds and kernels that use it.
  const seen = dtype === undefined ? callable : callable.converted(dtype);
  const options = { dtype, out: undefined, compute: undefined };
  const operandsOf = (tensors: readonly Tensor[]) => {
    const operands = new Array<Strided>(tensors.length);
    for (let k = 0; k < tensors.length; k++) operands[k] = live("kernel", tensors[k]);
    return operands;
  };
  const several = severalOf(callable.template!);
  const call = (...args: (Tensor | number)[]): Tensor | number | (Tensor | number)[] => {
    if (typeof args[0] === "number") return callOnNumbers(callable, args as number[], several > 0);
    const operands = operandsOf(args as Tensor[]);
    if (several > 0) return elementwiseSeveral("kernel", callable, operands).map(wrap);
    return wrap(elementwise("kernel", callable, operands, options));
  };
  const result = Object.assign(call, {
    into: (out: Tensor | readonly Tensor[], ...tensors: Tensor[]) => {
      if (several > 0) {
        const outs = liveTensors("kernel", out, "Give a list of outputs, one for each result.");
        elementwiseSeveral("kernel", callable, operandsOf(tensors), outs.map(stridedOf));
        return out;
      }
      const into = { dtype, out: live("kernel", out as Tensor), compute: undefined };
      elementwise("kernel", callable, operandsOf(tensors), into);
      return out;
    },
    reduce: (how: unknown = "sum", options: ReduceOptions = {}) => {
      options = readOptions("reduce", options, "{ axis: 1 }");
      checkSingle("reduce", callable);
      const fold = typeof how === "function" ? callableOf("reduce", how) : (how as NamedFold);
      return (...tensors: Tensor[]) =>
        wrap(mapReduce("reduce", operandsOf(tensors), seen, changed(options, { reduce: fold })));
    },
    as: (to: DType) => makeKernel(checkSingle("as", callable), checkDType("kernel", to)),
    template: seen.template!,
    captures: callable.captures,
    toString: () => `kernel ${printTemplate(seen.template!)}`,
    [Symbol.for("nodejs.util.inspect.custom")]: () => `kernel ${printTemplate(seen.template!)}`,
  }) as Kernel;
  registerCallable(result, seen);
  return result;
}

/** The function of plain numbers, by the interpreter. */
function callOnNumbers(callable: Callable, values: readonly number[], several: boolean): number | number[] {
  for (const v of values) {
    if (typeof v !== "number")
      fail(
        "value",
        "kernel",
        `expected numbers only, got ${describe(v)}.`,
        "Do not mix tensors and numbers; wrap the number with tensor(…).",
      );
  }
  const program = callable.program(values.map(() => "f64"))!;
  const params = callable.values.map((v, i) => paramValue(v, program.params[i]));
  const results = evaluatorOfAll(program, params)(values).map(Number);
  return several ? results : results[0];
}
