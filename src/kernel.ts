/**
 * `kernel(fn)`: a function of scalars becomes a function of tensors. Strict where map and zip are lenient: what
 * cannot be compiled throws, with a caret under the reason.
 */
import { checkDType, type DType, type Returned } from "./dtype.ts";
import { engine } from "./engine.ts";
import { describe, fail } from "./errors.ts";
import { paramValue } from "./frontend/infer.ts";
import { Table } from "./frontend/template.ts";
import { evaluatorOfAll } from "./ir/eval.ts";
import { resultsOf, severalOf, type Template } from "./ir/node.ts";
import { printTemplate } from "./ir/print.ts";
import { changed, checkFlag, checkFunction, checkOptionalDType, readOptions } from "./ops/arguments.ts";
import type { Scalar } from "./ops/create.ts";
import { elementwise } from "./ops/elementwise.ts";
import { checked } from "./ops/failure.ts";
import {
  type Callable,
  type Captures,
  callableOf,
  checkSingle,
  compileStrict,
  registerCallable,
  type ScalarFunction,
} from "./ops/function.ts";
import { mapReducer, type NamedFold } from "./ops/map-reduce.ts";
import type { ReduceOptions } from "./ops/reduce.ts";
import { elementwiseSeveral } from "./ops/several.ts";
import type { Strided } from "./run/call.ts";
import {
  type Folded,
  type FoldOptions,
  live,
  liveTensors,
  stridedOf,
  type Tensor,
  withTables,
  wrap,
} from "./tensor.ts";

type NoCaptures = Readonly<Record<string, never>>;

/** How a kernel is compiled. */
export interface KernelOptions<C extends DType = DType> {
  /**
   * Allows algebra that may change the last bits, lose a NaN or the sign of a zero: a constant divisor becomes a
   * multiplication, a·b + c rounds once where the host can, max and min take the faster instruction. Default false.
   */
  readonly fastMath?: boolean;
  /** Operands are converted to it first: the kernel computes in it, whatever their dtypes. */
  readonly compute?: C;
}

/** One tensor for each parameter. */
type TensorsFor<P extends readonly unknown[]> = { [K in keyof P]: Tensor };
type DTypesOf<T> = T extends readonly (infer U)[] ? (U extends Tensor<infer D> ? D : never) : never;
/** A tensor, or one for each entry of the list that a function returns. */
type Outputs<R, D extends DType> =
  IsList<R> extends true ? { -readonly [K in keyof R]: Tensor<Returned<R[K], D>> } : Tensor<Returned<R, D>>;
/** The same of plain numbers. */
type Scalars<R> =
  IsList<R> extends true
    ? { -readonly [K in keyof R]: Scalars<R[K]> }
    : [R] extends ["bool" | boolean]
      ? boolean
      : number;
type IsList<R> = 0 extends 1 & R ? false : [R] extends [readonly unknown[]] ? true : false;
/** What a function returns, or the dtypes that follow from what it computes in. */
type In<R, C extends DType> = [C] extends [never]
  ? R
  : IsList<R> extends true
    ? { -readonly [K in keyof R]: Returned<R[K], C> }
    : Returned<R, C>;

/**
 * A function of tensors made of one of numbers: P are its parameters, R is what it returns, or the dtype its result is
 * converted to.
 */
export interface Kernel<P extends readonly unknown[] = number[], R = unknown> {
  /** One tensor a parameter, broadcast together. */
  <const T extends TensorsFor<P>>(...tensors: T): Outputs<R, DTypesOf<T>>;
  /** On plain numbers, as the function itself: also how a kernel is written inside another one. */
  (...values: P): Scalars<R>;
  /** As calling it, but the result is written into an existing tensor: nothing is allocated. */
  into<F extends DType>(out: Tensor<F>, ...tensors: TensorsFor<P>): Tensor<F>;
  /** One tensor for each of several results. */
  into<const O extends readonly Tensor[]>(outs: O, ...tensors: TensorsFor<P>): O;
  /** A kernel whose result has this dtype. One with several results throws: convert those, or write them with `into`. */
  as<E extends DType>(dtype: E): IsList<R> extends true ? never : Kernel<P, E>;
  /**
   * The fold of what the kernel makes of each element, with no tensor in between:
   * `kernel((a, b) => a * b).reduce("sum", { axis: -1 })` is a function of two tensors.
   */
  reduce<
    N extends NamedFold = "sum",
    Q extends Scalar = never,
    E extends DType = never,
    C extends DType = never,
  >(
    how?: N | ((acc: number, x: number) => Q),
    options?: FoldOptions<ReduceOptions, E, C, never>,
  ): <const T extends TensorsFor<P>>(
    ...tensors: T
  ) => Tensor<[E] extends [never] ? Folded<N, Q, Returned<R, [C] extends [never] ? DTypesOf<T> : C>> : E>;
  /** What it computes, before dtypes are known. */
  readonly template: Template;
  /** The captured values, by name. */
  readonly captures: Readonly<Record<string, unknown>>;
  /** The function's text. */
  toString(): string;
}

/** What a kernel's function may return; several results are a list of a known length. */
type Result = Scalar | readonly [Scalar, ...Scalar[]];

/**
 * A function of any number of elements and, last, of what it captures. Which parameter is the last one is known when the
 * function is, and not while its parameters get their types: so all but the first are both.
 */
type Capturing<W> = (x: number, ...rest: (number & W)[]) => Result;
/** Parameters without the captured values. Written out as a number, the last one may be an operand too. */
type OperandsOf<P extends readonly unknown[]> = P extends readonly [...infer H extends number[], infer L]
  ? [number, L] extends [L, number]
    ? [...H, value?: number]
    : { [K in keyof H]: number }
  : number[];

/**
 * A function of numbers becomes one of tensors, compiled; what cannot be compiled is an error.
 *
 *     const blend = kernel((a, b) => 0.5 * (a + b));
 *     blend(x, y); // one tensor a parameter
 *
 * Captured values are passed by name: `kernel((x, { k }) => x > 0 ? x : k * x, { k: 0.01 })`.
 *
 * @param fn takes one number a tensor, then the captured values; several results as an array
 * @param captures values the function is given by name
 * @param options `fastMath`, `compute`
 * @returns a function of tensors (or of plain numbers), with `into`, `as` and `reduce`
 * @throws TensorError where the function cannot be compiled: the place, the reason and a remedy
 * @example
 * const leaky = kernel((x, { k }) => (x > 0 ? x : k * x), { k: 0.5 });
 * leaky(tensor([-2, 3])); // → f32 [-1, 3]
 */
export function kernel<P extends number[], R extends Result, C extends DType = never>(
  fn: (...values: P) => R,
  captures?: NoCaptures,
  options?: KernelOptions<C>,
): Kernel<P, In<R, C>>;
export function kernel<W extends Captures, F extends Capturing<W>, C extends DType = never>(
  fn: F,
  captures: W,
  options?: KernelOptions<C>,
): Kernel<OperandsOf<Parameters<F>>, In<ReturnType<F>, C>>;
/** One captured value that is no number, as the last parameter: how many tensors it takes is not known to the type. */
export function kernel<R extends Result, C extends DType = never>(
  fn: (...values: never[]) => R,
  captures: Captures,
  options?: KernelOptions<C>,
): Kernel<number[], In<R, C>>;
export function kernel(fn: ScalarFunction, captures: Captures = {}, options: KernelOptions = {}): unknown {
  const { fastMath, compute } = readOptions("kernel", options, "{ fastMath: true }", ["fastMath", "compute"]);
  checkFlag("kernel", "fastMath", fastMath);
  checkOptionalDType("kernel", compute);
  checkFunction("kernel", fn, "kernel(x => x * 2)");
  const callable = compileStrict("kernel", fn, withTables("kernel", captures), fastMath === true);
  return makeKernel(callable.computed(compute), undefined);
}

/** A kernel of a function that is compiled already. */
export function makeKernel(callable: Callable, dtype: DType | undefined): Kernel {
  // What others see of it: map, zip, folds and kernels that use it.
  const seen = dtype === undefined ? callable : callable.converted(dtype);
  const operandsOf = (tensors: readonly Tensor[]) => {
    const operands = new Array<Strided>(tensors.length);
    for (let k = 0; k < tensors.length; k++) operands[k] = live("kernel", tensors[k]);
    return operands;
  };
  const several = severalOf(callable.template!);
  const call = (...args: (Tensor | number)[]): unknown => {
    if (typeof args[0] === "number") return callOnNumbers(callable, args as number[], several > 0);
    const operands = operandsOf(args as Tensor[]);
    if (several > 0) return elementwiseSeveral("kernel", callable, operands).map((t) => wrap(t));
    return wrap(elementwise("kernel", callable, operands, null, dtype));
  };
  const result = Object.assign(call, {
    into: (out: Tensor | readonly Tensor[], ...tensors: Tensor[]) => {
      if (several > 0) {
        const outs = liveTensors("kernel", out, "Give a list of outputs, one for each result.");
        elementwiseSeveral("kernel", callable, operandsOf(tensors), outs.map(stridedOf));
        return out;
      }
      elementwise("kernel", callable, operandsOf(tensors), live("kernel", out as Tensor), dtype);
      return out;
    },
    reduce: (how: unknown = "sum", options: ReduceOptions = {}) => {
      options = readOptions("reduce", options, "{ axis: 1 }");
      checkSingle("reduce", callable);
      const fold = typeof how === "function" ? callableOf("reduce", how) : (how as NamedFold);
      let reducer: ReturnType<typeof mapReducer> | null = null;
      return (...tensors: Tensor[]) => {
        const operands = operandsOf(tensors);
        reducer ??= mapReducer("reduce", seen, changed(options, { reduce: fold }));
        return wrap(reducer(operands));
      };
    },
    as: (to: DType) => makeKernel(checkSingle("as", callable), checkDType("kernel", to)),
    template: frozen(seen.template!),
    captures: capturesOf(callable),
    toString: () => `kernel ${printTemplate(seen.template!)}`,
    [Symbol.for("nodejs.util.inspect.custom")]: () => `kernel ${printTemplate(seen.template!)}`,
  }) as unknown as Kernel;
  registerCallable(result, seen);
  return result;
}

/** What everybody may look at and nobody may change: other kernels of the same text share it. */
function frozen<T extends object>(shared: T): T {
  if (Object.isFrozen(shared)) return shared;
  for (const part of Object.values(Object.freeze(shared)))
    if (typeof part === "object" && part !== null) frozen(part);
  return shared;
}

/** As they were given: a table is the tensor it was made of. */
function capturesOf({ captures }: Callable): Readonly<Record<string, unknown>> {
  const entries = Object.entries(captures);
  if (!entries.some(([, value]) => value instanceof Table)) return captures;
  return Object.freeze(
    Object.fromEntries(entries.map(([name, value]) => [name, value instanceof Table ? value.of : value])),
  );
}

/** The function of plain numbers, by the interpreter. */
function callOnNumbers(callable: Callable, values: readonly number[], several: boolean): unknown {
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
  const params = callable.valuesFor("kernel").map((v, i) => paramValue(v, program.params[i]));
  const dtypes = resultsOf(program).map((id) => program.nodes[id].dtype);
  const evaluate = evaluatorOfAll(program, params, { memory: engine().heap });
  const results = checked("kernel", () => evaluate(values)).map((x, k) =>
    dtypes[k] === "bool" ? Number(x) !== 0 : Number(x),
  );
  return several ? results : results[0];
}
