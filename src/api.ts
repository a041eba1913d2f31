/** The functions of the public face: creation, the kernels over several tensors, and the named operations. */
import { type ArrayOf, type DType, dtypes, type TypedArray } from "./dtype.ts";
import { engine } from "./engine.ts";
import { describe, fail } from "./errors.ts";
import { heldIn } from "./memory/held.ts";
import { runScope, runScopeAsync } from "./memory/scope.ts";
import { changed, checkFlag, checkThunk, readOptions, without } from "./ops/arguments.ts";
import * as create from "./ops/create.ts";
import { elementwise } from "./ops/elementwise.ts";
import { type Captures, callableOf, type ScalarFunction } from "./ops/function.ts";
import { fromJSON as readJSON, type TensorJSON } from "./ops/json.ts";
import type { NamedOp } from "./ops/named.ts";
import { mapReduce as mapReduceOp, type ReduceOptions, reduceNames } from "./ops/reduce.ts";
import * as reductions from "./ops/reductions.ts";
import type { Strided } from "./run/call.ts";
import {
  type Floated,
  type FoldFunction,
  isTensor,
  live,
  liveTensor,
  liveTensors,
  type MapOptions,
  mapNames,
  type NamedOptions,
  namedOp,
  namedReduction,
  type Operand,
  outputNames,
  type ProductOptions,
  readOutput,
  stridedOf,
  type Tensor,
  type Together,
  type Wide,
  wrap,
  wrapResult,
} from "./tensor.ts";

/* Creation --------------------------------------------------------------------------------------------- */

/** The dtypes a typed array can stand for by itself: bool, f16 and bf16 share theirs with others. */
type ArrayDType = Exclude<DType, "bool" | "f16" | "bf16">;
/** The dtype a typed array brings. */
type DTypeOfArray<A> = A extends Uint8ClampedArray
  ? "u8"
  : { [D in ArrayDType]: A extends ArrayOf<D> ? D : never }[ArrayDType];
type Shape = number | readonly number[];
type NestedOf<T> = T | readonly NestedOf<T>[];
const dtypeExample = '{ dtype: "f64" }';

/**
 * From a number, nested arrays or a typed array. Numbers become f32, booleans bool, bigints i64, a typed array keeps
 * its own dtype; { dtype } chooses another, { shape } arranges the elements.
 */
export function tensor<D extends DType>(
  data: create.Nested | ArrayBufferView,
  options: create.TensorOptions & { readonly dtype: D },
): Tensor<D>;
export function tensor<A extends TypedArray | Uint8ClampedArray>(
  data: A,
  options?: create.TensorOptions,
): Tensor<DTypeOfArray<A>>;
export function tensor(data: NestedOf<number>, options?: create.TensorOptions): Tensor<"f32">;
export function tensor(data: NestedOf<bigint>, options?: create.TensorOptions): Tensor<"i64">;
export function tensor(data: NestedOf<boolean>, options?: create.TensorOptions): Tensor<"bool">;
export function tensor(data: create.Nested | ArrayBufferView, options?: create.TensorOptions): Tensor;
export function tensor(data: create.Nested | ArrayBufferView, options: create.TensorOptions = {}): Tensor {
  return wrap(create.fromData(data, options));
}

export function zeros<D extends DType = "f32">(
  shape: Shape,
  options: { readonly dtype?: D } = {},
): Tensor<D> {
  options = readOptions("zeros", options, dtypeExample, ["dtype"]);
  return wrap(create.full("zeros", shape, 0, options.dtype ?? "f32")) as Tensor as Tensor<D>;
}
export function ones<D extends DType = "f32">(shape: Shape, options: { readonly dtype?: D } = {}): Tensor<D> {
  options = readOptions("ones", options, dtypeExample, ["dtype"]);
  return wrap(create.full("ones", shape, 1, options.dtype ?? "f32")) as Tensor as Tensor<D>;
}
/** Every element is `value`; its kind decides the dtype unless one is given. */
export function full<D extends DType>(
  shape: Shape,
  value: create.Scalar,
  options: { readonly dtype: D },
): Tensor<D>;
export function full(shape: Shape, value: create.Scalar, options?: create.CreateOptions): Tensor;
export function full(shape: Shape, value: create.Scalar, options: create.CreateOptions = {}): Tensor {
  options = readOptions("full", options, dtypeExample, ["dtype"]);
  return wrap(create.full("full", shape, value, options.dtype));
}
/** Memory as it is: write before you read. */
export function empty<D extends DType = "f32">(
  shape: Shape,
  options: { readonly dtype?: D } = {},
): Tensor<D> {
  options = readOptions("empty", options, dtypeExample, ["dtype"]);
  return wrap(create.empty("empty", shape, options.dtype ?? "f32")) as Tensor as Tensor<D>;
}

/** arange(stop), arange(start, stop) or arange(start, stop, step), with { dtype } last. */
export function arange<D extends DType = "f32">(...args: (number | { readonly dtype?: D })[]): Tensor<D> {
  const isLast = (x: unknown) => typeof x === "object" && x !== null;
  const numbers = (isLast(args.at(-1)) ? args.slice(0, -1) : args) as readonly number[];
  const given = (numbers.length < args.length ? args.at(-1) : {}) as { readonly dtype?: D };
  const wrong = numbers.find((x) => typeof x !== "number");
  if (wrong !== undefined || numbers.length < 1 || numbers.length > 3) {
    fail(
      "value",
      "arange",
      wrong === undefined ? `got ${numbers.length} numbers.` : `expected numbers, got ${describe(wrong)}.`,
      "Use arange(stop), arange(start, stop) or arange(start, stop, step), and { dtype } after them.",
    );
  }
  const options = readOptions("arange", given, dtypeExample, ["dtype"]);
  const [start, stop] = numbers.length === 1 ? [0, numbers[0]] : numbers;
  return wrap(create.arange(start, stop, numbers[2] ?? 1, options.dtype ?? "f32")) as Tensor as Tensor<D>;
}
/** `count` numbers from start to stop, evenly spaced; stop is the last of them unless endpoint is false. */
export function linspace<D extends DType = "f32">(
  start: number,
  stop: number,
  count = 50,
  options: { readonly dtype?: D; readonly endpoint?: boolean } = {},
): Tensor<D> {
  options = readOptions("linspace", options, "{ endpoint: false }", ["dtype", "endpoint"]);
  checkFlag("linspace", "endpoint", options.endpoint);
  const made = create.linspace(start, stop, count, options.endpoint ?? true, options.dtype ?? "f32");
  return wrap(made) as Tensor as Tensor<D>;
}
/** Ones on a diagonal of an n × m matrix. */
export function eye<D extends DType = "f32">(
  n: number,
  options: { readonly columns?: number; readonly k?: number; readonly dtype?: D } = {},
): Tensor<D> {
  options = readOptions("eye", options, "{ columns: 4, k: 1 }", ["columns", "k", "dtype"]);
  return wrap(
    create.eye(n, options.columns ?? n, options.k ?? 0, options.dtype ?? "f32"),
  ) as Tensor as Tensor<D>;
}

/** Interleaved or padded foreign memory, with its own byte strides; the reachable bytes are copied once. */
export function fromBuffer<D extends DType>(
  buffer: ArrayBufferLike | ArrayBufferView,
  options: create.BufferOptions & { readonly dtype: D },
): Tensor<D> {
  return wrap(create.fromBuffer("fromBuffer", buffer, options)) as Tensor as Tensor<D>;
}
/** A ggml tensor: ne (sizes) and nb (byte strides) list the fastest axis first. */
export function fromGgml(t: create.GgmlTensor): Tensor {
  return wrap(create.fromGgml(t));
}

/** What JSON.stringify(tensor) wrote, as text or parsed. */
export const fromJSON = (json: string | TensorJSON): Tensor => wrap(readJSON(json));

/* Kernels over several tensors ------------------------------------------------------------------------- */

export type ZipOptions<D extends DType = DType> = MapOptions<D>;

/** One number for each tensor of a list, and then the captured values. */
type NumbersAnd<T extends readonly Tensor[], W> = [...{ [K in keyof T]: number }, W];

/** fn of one element of each tensor, broadcast together. */
export function zip<const T extends readonly Tensor[], W extends Captures>(
  tensors: T,
  fn: (...values: NumbersAnd<T, W>) => number | bigint | boolean,
  options: ZipOptions & { readonly with: W },
): Tensor;
export function zip(
  tensors: readonly Tensor[],
  fn: (...values: number[]) => number | bigint | boolean,
  options?: ZipOptions,
): Tensor;
export function zip(tensors: readonly Tensor[], fn: ScalarFunction, options: ZipOptions = {}): Tensor {
  const read = readOutput("zip", options, mapNames);
  const callable = callableOf("zip", fn, read.with);
  return wrapResult(elementwise("zip", callable, operandsOf("zip", tensors), read), read.tensor);
}

/** The tensors of zip and its like. */
const operandsOf = (operation: string, tensors: unknown): Strided[] =>
  liveTensors(operation, tensors, `Give at least one: ${operation}([a, b], (a, b) => a + b).`).map(stridedOf);

/**
 * Frees every tensor made inside that the result does not hold: a tensor, or arrays, objects, Maps and Sets of them at any
 * depth. What only a closure, a private field or a WeakMap holds is not seen, and freed.
 */
export function scope<R>(fn: () => R): R {
  checkThunk("scope", fn, "scope(() => a.add(b).sum())");
  return runScope(engine().scopes, fn, collectTensors) as R;
}

/** The scope of one async function, as `scopeAsync` gives it to it. */
export interface AsyncScope {
  /**
   * Runs `fn`, which is synchronous, in a scope: tensors that it makes and does not return are freed at once, those in
   * its result when the async function settles.
   */
  run<R>(fn: () => R): R;
  /** The tensors in `value`, made elsewhere, are freed with the scope too; returns `value`. */
  track<V>(value: V): V;
}

/**
 * A scope for an async function: frees what its runs made when it has settled, all but the tensors in its result (a
 * tensor, or an array or object of them). Any number of them may be under way at the same time.
 *
 *     const answer = await scopeAsync(async (s) => {
 *       const x = s.run(() => tensor(request.body).div(255));
 *       const weights = await load();
 *       return s.run(() => x.matmul(weights).add(1));
 *     });
 */
export function scopeAsync<R>(fn: (s: AsyncScope) => R | PromiseLike<R>): Promise<R> {
  checkThunk("scopeAsync", fn, "scopeAsync(async (s) => s.run(() => a.add(b)))");
  const withHandle = (scope: AsyncScope) =>
    fn({ run: (step) => scope.run(step), track: (value) => scope.track(value) });
  return runScopeAsync(engine().scopes, withHandle, collectTensors);
}

const collectTensors = (result: unknown): Iterable<Tensor> => heldIn(result, isTensor);

/* Named operations ------------------------------------------------------------------------------------- */

const unary =
  (name: NamedOp) =>
  (x: Tensor, options?: NamedOptions): Tensor =>
    namedOp(name, [x], options);
const binary =
  (name: NamedOp) =>
  (a: Operand, b: Operand, options?: NamedOptions): Tensor =>
    namedOp(name, [a, b], options);

/** The dtype of two operands, as far as it is known: the methods' rule. */
type Both<A, B> =
  A extends Tensor<infer D> ? Together<D, B> : B extends Tensor<infer D> ? Together<D, A> : DType;
type Arithmetic = <A extends Operand, B extends Operand, E extends DType = Both<A, B>>(
  a: A,
  b: B,
  options?: NamedOptions<E>,
) => Tensor<E>;
type Division = <A extends Operand, B extends Operand, E extends DType = Floated<Both<A, B>>>(
  a: A,
  b: B,
  options?: NamedOptions<E>,
) => Tensor<E>;
type Comparison = (a: Operand, b: Operand, options?: NamedOptions) => Tensor<"bool">;

export const add = binary("add") as Arithmetic;
export const sub = binary("sub") as Arithmetic;
export const mul = binary("mul") as Arithmetic;
export const div = binary("div") as Division;
export const remainder = binary("remainder");
export const floorDivide = binary("floorDivide");
export const pow = binary("pow");
export const maximum = binary("maximum");
export const minimum = binary("minimum");
export const atan2 = binary("atan2");
export const hypot = binary("hypot");
export const copysign = binary("copysign");
export const fmod = binary("fmod");
export const fmax = binary("fmax");
export const fmin = binary("fmin");
export const logaddexp = binary("logaddexp");
export const logaddexp2 = binary("logaddexp2");
export const heaviside = binary("heaviside");
export const gcd = binary("gcd");
export const lcm = binary("lcm");
export const neg = unary("neg");
export const positive = unary("positive");
export const abs = unary("abs");
export const sign = unary("sign");
export const square = unary("square");
export const reciprocal = unary("reciprocal");
export const relu = unary("relu");
export const sigmoid = unary("sigmoid");
export const sqrt = unary("sqrt");
export const cbrt = unary("cbrt");
export const exp = unary("exp");
export const exp2 = unary("exp2");
export const expm1 = unary("expm1");
export const log = unary("log");
export const log2 = unary("log2");
export const log10 = unary("log10");
export const log1p = unary("log1p");
export const sin = unary("sin");
export const cos = unary("cos");
export const tan = unary("tan");
export const asin = unary("asin");
export const acos = unary("acos");
export const atan = unary("atan");
export const sinh = unary("sinh");
export const cosh = unary("cosh");
export const tanh = unary("tanh");
export const asinh = unary("asinh");
export const acosh = unary("acosh");
export const atanh = unary("atanh");
export const sinc = unary("sinc");
export const deg2rad = unary("deg2rad");
export const rad2deg = unary("rad2deg");
export const floor = unary("floor");
export const ceil = unary("ceil");
export const trunc = unary("trunc");

export interface RoundOptions extends NamedOptions {
  /** Digits to keep after the point; negative ones are before it. Default 0. */
  readonly decimals?: number;
}

/** To the nearest integer, or to so many decimals; halves go to even. */
export function round(x: Tensor, options: RoundOptions = {}): Tensor {
  options = readOptions("round", options, "{ decimals: 2 }", ["decimals", ...outputNames]);
  const { decimals = 0, ...rest } = options;
  if (!(Number.isInteger(decimals) && Math.abs(decimals) <= 308)) {
    fail("value", "round", `decimals is ${describe(decimals)}.`, "Use a whole number from -308 to 308.");
  }
  const { dtype, shape } = liveTensor("round", x);
  const whole = rest.dtype === undefined && dtypes[dtype].kind !== "float";
  if (decimals === 0 || (whole && decimals > 0) || dtype === "bool") return namedOp("round", [x], rest);
  const [up, down] = decimals > 0 ? [10 ** decimals, 1] : [1, 10 ** -decimals];
  // Integers are rounded as f64 and stay integers.
  const kept = whole && rest.out === undefined ? { out: empty(shape, { dtype }) } : rest;
  return namedOp("round", [x, up, down], kept);
}
export const equal = binary("equal") as Comparison;
export const notEqual = binary("notEqual") as Comparison;
export const less = binary("less") as Comparison;
export const lessEqual = binary("lessEqual") as Comparison;
export const greater = binary("greater") as Comparison;
export const greaterEqual = binary("greaterEqual") as Comparison;
export const logicalAnd = binary("logicalAnd") as Comparison;
export const logicalOr = binary("logicalOr") as Comparison;
export const logicalXor = binary("logicalXor") as Comparison;
export const logicalNot = unary("logicalNot");
export const isnan = unary("isnan");
export const isfinite = unary("isfinite");
export const isinf = unary("isinf");
export const signbit = unary("signbit");
export const bitwiseAnd = binary("bitwiseAnd");
export const bitwiseOr = binary("bitwiseOr");
export const bitwiseXor = binary("bitwiseXor");
export const bitwiseNot = unary("bitwiseNot");
export const leftShift = binary("leftShift");
export const rightShift = binary("rightShift");
/* The array API's names for some of them. */
export const subtract = sub;
export const multiply = mul;
export const divide = div;
export const negative = neg;
export const bitwiseInvert = bitwiseNot;
export const bitwiseLeftShift = leftShift;
export const bitwiseRightShift = rightShift;
/** condition ? a : b, element by element. */
export const where = <A extends Operand, B extends Operand, E extends DType = Both<A, B>>(
  condition: Tensor,
  a: A,
  b: B,
  options?: NamedOptions<E>,
): Tensor<E> => namedOp("where", [condition, a, b], options) as Tensor<E>;
/** x held between low and high; null is no bound. */
export function clip(x: Tensor, low: Operand | null, high: Operand | null, options?: NamedOptions): Tensor {
  if (low !== null && high !== null) return namedOp("clip", [x, low, high], options);
  if (low !== null) return namedOp("maximum", [x, low], options);
  return high !== null ? namedOp("minimum", [x, high], options) : namedOp("positive", [x], options);
}

const reduction =
  (name: reductions.Reduction) =>
  (t: Tensor, options?: reductions.SumOptions): Tensor =>
    namedReduction(name, t, options);

type WideFold = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options?: reductions.SumOptions & { readonly dtype?: E },
) => Tensor<E>;
type Extreme = <D extends DType, E extends DType = D>(
  t: Tensor<D>,
  options?: reductions.SumOptions & { readonly dtype?: E },
) => Tensor<E>;
type Question = (t: Tensor, options?: reductions.AxisOptions) => Tensor<"bool">;

export const sum = reduction("sum") as WideFold;
export const prod = reduction("prod") as WideFold;
/** Largest element; NaN if there is one. */
export const max = reduction("max") as Extreme;
export const min = reduction("min") as Extreme;
export const any = reduction("any") as Question;
export const all = reduction("all") as Question;
export const countNonzero = reduction("countNonzero");
/** The mean square distance from the mean; `var` is a word of JavaScript's own. */
export const variance = (t: Tensor, options?: reductions.VarOptions): Tensor =>
  wrap(reductions.variance(live("variance", t), options, "variance"));
export const std = (t: Tensor, options?: reductions.VarOptions): Tensor =>
  wrap(reductions.std(live("std", t), options));
export const norm = (t: Tensor, options?: reductions.NormOptions): Tensor =>
  wrap(reductions.norm(live("norm", t), options));
/** log(Σ exp(x)) without overflow. */
export const logsumexp = (t: Tensor, options?: reductions.SumOptions): Tensor =>
  wrap(reductions.logsumexp(live("logsumexp", t), options));
/** exp(x) / Σ exp(x) along an axis, by default the last. */
export const softmax = (t: Tensor, options?: reductions.SoftmaxOptions): Tensor =>
  wrap(reductions.softmax(live("softmax", t), options));
export const logSoftmax = (t: Tensor, options?: reductions.SoftmaxOptions): Tensor =>
  wrap(reductions.logSoftmax(live("logSoftmax", t), options));

export interface MapReduceOptions extends ReduceOptions {
  /** Values the function is given by name, after the elements. */
  readonly with?: Captures;
  /** What folds the mapped values: by name, or (acc, x) => …. Default "sum". */
  readonly reduce?: "sum" | "prod" | "max" | "min" | FoldFunction;
}

/** The fold of fn(x, y, …) over tensors that broadcast together; no tensor is made in between. */
export function mapReduce(
  tensors: readonly Tensor[],
  fn: (...values: number[]) => number | bigint | boolean,
  options: MapReduceOptions = {},
): Tensor {
  options = readOptions("mapReduce", options, '{ reduce: "max" }', ["reduce", "with", ...reduceNames]);
  const { reduce, with: captures } = options;
  const rest = without(options, "reduce", "with");
  const names = ["sum", "prod", "max", "min"];
  if (typeof reduce !== "function" && reduce !== undefined && !names.includes(reduce)) {
    fail(
      "value",
      "mapReduce",
      `reduce is ${describe(reduce)}.`,
      `Use one of ${names.join(" ")}, or a function (acc, x) => ….`,
    );
  }
  const how = typeof reduce === "function" ? callableOf("mapReduce", reduce) : (reduce ?? "sum");
  const callable = callableOf("mapReduce", fn, captures);
  const operands = operandsOf("mapReduce", tensors);
  return wrap(mapReduceOp("mapReduce", operands, callable, changed(rest, { reduce: how })));
}

export const mean = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SumOptions & { readonly dtype?: E },
): Tensor<E> => liveTensor("mean", t).mean(options);
export const argmax = (t: Tensor, options?: reductions.ArgOptions): Tensor<"i64"> =>
  liveTensor("argmax", t).argmax(options);
export const argmin = (t: Tensor, options?: reductions.ArgOptions): Tensor<"i64"> =>
  liveTensor("argmin", t).argmin(options);
export const cumsum = (t: Tensor, options?: reductions.CumulativeOptions): Tensor =>
  liveTensor("cumsum", t).cumsum(options);
export const cumprod = (t: Tensor, options?: reductions.CumulativeOptions): Tensor =>
  liveTensor("cumprod", t).cumprod(options);
export const matmul = <D extends DType, E extends DType>(
  a: Tensor<D>,
  b: Tensor<E>,
  options?: ProductOptions,
): Tensor<Together<D, Tensor<E>>> => liveTensor("matmul", a).matmul(b, options) as never;
