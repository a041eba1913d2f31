/** The functions of the public face: creation, the kernels over several tensors, and the named operations. */
import type { DefaultDType } from "./defaults.ts";
import {
  type ArrayOf,
  type Counted,
  type DType,
  dtypes,
  type Floated,
  type Promote,
  type Returned,
  type TypedArray,
  type Weakly,
  type Wide,
} from "./dtype.ts";
import { defaultDType, engine } from "./engine.ts";
import { describe, fail } from "./errors.ts";
import { heldIn } from "./memory/held.ts";
import { runScope, runScopeAsync } from "./memory/scope.ts";
import { changed, checkFlag, checkThunk, readOptions, without } from "./ops/arguments.ts";
import * as create from "./ops/create.ts";
import { elementwise } from "./ops/elementwise.ts";
import { type Captures, callableOf, type ScalarFunction } from "./ops/function.ts";
import { fromJSON as readJSON, type TensorJSON } from "./ops/json.ts";
import type { NamedOp } from "./ops/named.ts";
import { mapReduce as mapReduceOp, type NamedFold, type ReduceOptions, reduceNames } from "./ops/reduce.ts";
import * as reductions from "./ops/reductions.ts";
import type { Strided } from "./run/call.ts";
import {
  type AnyKernel,
  type Bits,
  type Clipped,
  type DTypesOf,
  type Folded,
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
  withTables,
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

type ShapeOption = { readonly shape?: readonly number[]; readonly dtype?: undefined };
type DTypeOption<D> = { readonly dtype?: D };

/**
 * From a number, nested arrays or a typed array. Numbers become f32 (or what `configure` says), booleans bool, bigints
 * i64, a typed array keeps its own dtype; { dtype } chooses another, { shape } arranges the elements.
 *
 *     tensor([[1, 2], [3, 4]]);
 *     tensor(new Uint8Array(12), { shape: [2, 2, 3] });
 */
export function tensor<D extends DType>(
  data: create.Nested | ArrayBufferView,
  options: create.TensorOptions & { readonly dtype: D },
): Tensor<D>;
export function tensor<A extends TypedArray | Uint8ClampedArray>(
  data: A,
  options?: ShapeOption,
): Tensor<DTypeOfArray<A>>;
export function tensor(data: NestedOf<number>, options?: ShapeOption): Tensor<DefaultDType>;
export function tensor(data: NestedOf<bigint>, options?: ShapeOption): Tensor<"i64">;
export function tensor(data: NestedOf<boolean>, options?: ShapeOption): Tensor<"bool">;
export function tensor(data: create.Nested | ArrayBufferView, options?: create.TensorOptions): Tensor;
export function tensor(
  data: create.Nested | ArrayBufferView,
  options: create.TensorOptions | ShapeOption = {},
): Tensor {
  return wrap(create.fromData(data, options as create.TensorOptions));
}

/** Every element is 0: `zeros([2, 3])`. */
export function zeros<D extends DType = DefaultDType>(
  shape: Shape,
  options: DTypeOption<D> = {},
): Tensor<NoInfer<D>> {
  options = readOptions("zeros", options, dtypeExample, ["dtype"]);
  return wrap(create.full("zeros", shape, 0, options.dtype ?? defaultDType())) as Tensor as Tensor<D>;
}
/** Every element is 1: `ones(3, { dtype: "u8" })`. */
export function ones<D extends DType = DefaultDType>(
  shape: Shape,
  options: DTypeOption<D> = {},
): Tensor<NoInfer<D>> {
  options = readOptions("ones", options, dtypeExample, ["dtype"]);
  return wrap(create.full("ones", shape, 1, options.dtype ?? defaultDType())) as Tensor as Tensor<D>;
}
/** Every element is `value`; its kind decides the dtype unless one is given. */
export function full<D extends DType>(
  shape: Shape,
  value: create.Scalar,
  options: { readonly dtype: D },
): Tensor<D>;
export function full<V extends create.Scalar>(
  shape: Shape,
  value: V,
  options?: DTypeOption<undefined>,
): Tensor<V extends number ? DefaultDType : V extends bigint ? "i64" : "bool">;
export function full(shape: Shape, value: create.Scalar, options?: create.CreateOptions): Tensor;
export function full(
  shape: Shape,
  value: create.Scalar,
  options: create.CreateOptions | DTypeOption<undefined> = {},
): Tensor {
  options = readOptions("full", options, dtypeExample, ["dtype"]);
  return wrap(create.full("full", shape, value, options.dtype));
}
/** Memory as it is: write before you read. */
export function empty<D extends DType = DefaultDType>(
  shape: Shape,
  options: DTypeOption<D> = {},
): Tensor<NoInfer<D>> {
  options = readOptions("empty", options, dtypeExample, ["dtype"]);
  return wrap(create.empty("empty", shape, options.dtype ?? defaultDType())) as Tensor as Tensor<D>;
}

/**
 * arange(stop), arange(start, stop) or arange(start, stop, step), with { dtype } last. Bigints give i64.
 *
 *     arange(0, 1, 0.25); // 0, 0.25, 0.5, 0.75
 *     arange(2n ** 60n, 2n ** 60n + 3n);
 */
export function arange<D extends DType = DefaultDType>(
  ...args: (number | DTypeOption<D>)[]
): Tensor<NoInfer<D>>;
export function arange<D extends DType = "i64">(...args: (bigint | DTypeOption<D>)[]): Tensor<NoInfer<D>>;
export function arange(...args: (number | bigint | create.CreateOptions)[]): Tensor {
  const isLast = (x: unknown) => typeof x === "object" && x !== null;
  const numbers = isLast(args.at(-1)) ? args.slice(0, -1) : args;
  const given = (numbers.length < args.length ? args.at(-1) : {}) as create.CreateOptions;
  const isBig = typeof numbers[0] === "bigint";
  const wrong = numbers.findIndex((x) => typeof x !== (isBig ? "bigint" : "number"));
  if (wrong >= 0 || numbers.length < 1 || numbers.length > 3) {
    const kind = isBig ? "bigints" : "numbers";
    fail(
      "value",
      "arange",
      wrong < 0 ? `got ${numbers.length} ${kind}.` : `expected ${kind}, got ${describe(numbers[wrong])}.`,
      "Use arange(stop), arange(start, stop) or arange(start, stop, step), and { dtype } after them.",
    );
  }
  const options = readOptions("arange", given, dtypeExample, ["dtype"]);
  if (isBig) {
    const [start, stop, step = 1n] = (numbers.length === 1 ? [0n, ...numbers] : numbers) as bigint[];
    return wrap(create.bigRange(start, stop, step, options.dtype ?? "i64"));
  }
  const [start, stop, step = 1] = (numbers.length === 1 ? [0, ...numbers] : numbers) as number[];
  return wrap(create.arange(start, stop, step, options.dtype ?? defaultDType()));
}
/** `count` numbers from start to stop, evenly spaced; stop is the last of them unless endpoint is false. */
export function linspace<D extends DType = DefaultDType>(
  start: number,
  stop: number,
  count = 50,
  options: DTypeOption<D> & { readonly endpoint?: boolean } = {},
): Tensor<NoInfer<D>> {
  options = readOptions("linspace", options, "{ endpoint: false }", ["dtype", "endpoint"]);
  checkFlag("linspace", "endpoint", options.endpoint);
  const made = create.linspace(start, stop, count, options.endpoint ?? true, options.dtype ?? defaultDType());
  return wrap(made) as Tensor as Tensor<D>;
}
/** Ones on a diagonal of an n × m matrix. */
export function eye<D extends DType = DefaultDType>(
  n: number,
  options: DTypeOption<D> & { readonly columns?: number; readonly k?: number } = {},
): Tensor<NoInfer<D>> {
  options = readOptions("eye", options, "{ columns: 4, k: 1 }", ["columns", "k", "dtype"]);
  const made = create.eye(n, options.columns ?? n, options.k ?? 0, options.dtype ?? defaultDType());
  return wrap(made) as Tensor as Tensor<D>;
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

export type ZipOptions<
  E extends DType = DType,
  F extends DType = DType,
  C extends DType = DType,
  W extends Captures = Captures,
> = MapOptions<E, F, C, W>;

/** One number for each tensor of a list, and then the captured values. */
type NumbersAnd<T extends readonly Tensor[], W> = number extends T["length"]
  ? number[]
  : [...{ [K in keyof T]: number }, W];

/** fn of one element of each tensor, broadcast together: `zip([a, b], (a, b) => a * b)`. */
export function zip<E extends DType = DType, F extends DType = E>(
  tensors: readonly Tensor[],
  fn: AnyKernel,
  options?: ZipOptions<E, F>,
): Tensor<NoInfer<F>>;
export function zip<
  const T extends readonly Tensor[],
  R extends create.Scalar,
  W extends Captures = never,
  C extends DType = DTypesOf<T>,
  E extends DType = Returned<R, C>,
  F extends DType = E,
>(tensors: T, fn: (...values: NumbersAnd<T, W>) => R, options?: ZipOptions<E, F, C, W>): Tensor<NoInfer<F>>;
export function zip(
  tensors: readonly Tensor[],
  fn: (...values: number[]) => create.Scalar,
  options?: ZipOptions,
): Tensor;
export function zip(tensors: readonly Tensor[], fn: ScalarFunction, options: ZipOptions = {}): Tensor {
  const read = readOutput("zip", options, mapNames);
  const callable = callableOf("zip", fn, withTables("zip", read.with));
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

const unary = (name: NamedOp) => (x: Tensor, options?: NamedOptions) => namedOp(name, [x], options) as never;
const binary = (name: NamedOp) => (a: Operand, b: Operand, options?: NamedOptions) =>
  namedOp(name, [a, b], options) as never;

/** The dtype of two operands, as far as it is known: the methods' rule. */
type Both<A, B> =
  A extends Tensor<infer D> ? Together<D, B> : B extends Tensor<infer D> ? Together<D, A> : DType;
type BothBits<A, B> = A extends Tensor<infer D> ? Bits<D, B> : B extends Tensor<infer D> ? Bits<D, A> : DType;

/* Operands are converted to E first, if asked for; F follows from it, or is that of the output. */
type Same = <D extends DType, E extends DType = D, F extends DType = E>(
  x: Tensor<D>,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
type OfFloats = <D extends DType, E extends DType = D, F extends DType = Floated<E>>(
  x: Tensor<D>,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
type Counting = <D extends DType, E extends DType = D, F extends DType = Counted<E>>(
  x: Tensor<D>,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
type Test = <F extends DType = "bool">(x: Tensor, options?: NamedOptions<DType, F>) => Tensor<NoInfer<F>>;
type Arithmetic = <A extends Operand, B extends Operand, E extends DType = Both<A, B>, F extends DType = E>(
  a: A,
  b: B,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
type CountingOfTwo = <
  A extends Operand,
  B extends Operand,
  E extends DType = Both<A, B>,
  F extends DType = Counted<E>,
>(
  a: A,
  b: B,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
type FloatsOfTwo = <
  A extends Operand,
  B extends Operand,
  E extends DType = Both<A, B>,
  F extends DType = Floated<E>,
>(
  a: A,
  b: B,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
type BitsOfTwo = <
  A extends Operand,
  B extends Operand,
  E extends DType = BothBits<A, B>,
  F extends DType = E,
>(
  a: A,
  b: B,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
/** A bigint that is shifted by bools may stay narrow. */
type Shifted<A, B> = A extends bigint ? ("bool" extends DTypeOf<B> ? DType : BothBits<A, B>) : BothBits<A, B>;
type DTypeOf<B> = B extends Tensor<infer D> ? D : never;
type Shift = <
  A extends Operand,
  B extends Operand,
  E extends DType = Shifted<A, B>,
  F extends DType = Counted<E>,
>(
  a: A,
  b: B,
  options?: NamedOptions<E, F>,
) => Tensor<NoInfer<F>>;
type Comparison = <F extends DType = "bool">(
  a: Operand,
  b: Operand,
  options?: NamedOptions<DType, F>,
) => Tensor<NoInfer<F>>;

export const add: Arithmetic = binary("add");
export const sub: Arithmetic = binary("sub");
export const mul: Arithmetic = binary("mul");
export const div: FloatsOfTwo = binary("div");
/** What is left of a division, with the sign of the divisor. */
export const remainder: CountingOfTwo = binary("remainder");
/** The quotient, rounded down. */
export const floorDivide: CountingOfTwo = binary("floorDivide");
export const pow: CountingOfTwo = binary("pow");
export const maximum: Arithmetic = binary("maximum");
export const minimum: Arithmetic = binary("minimum");
export const atan2: FloatsOfTwo = binary("atan2");
export const hypot: FloatsOfTwo = binary("hypot");
/** The magnitude of a with the sign of b. */
export const copysign: FloatsOfTwo = binary("copysign");
/** What is left of a division, with the sign of the dividend. */
export const fmod: CountingOfTwo = binary("fmod");
/** The larger one; a number that is there beats a NaN. */
export const fmax: Arithmetic = binary("fmax");
/** The smaller one; a number that is there beats a NaN. */
export const fmin: Arithmetic = binary("fmin");
/** log(exp(a) + exp(b)), without overflow. */
export const logaddexp: FloatsOfTwo = binary("logaddexp");
/** log2(2 ** a + 2 ** b), without overflow. */
export const logaddexp2: FloatsOfTwo = binary("logaddexp2");
/** 0 below zero, 1 above it, and b at zero. */
export const heaviside: FloatsOfTwo = binary("heaviside");
/** The greatest common divisor of integers. */
export const gcd: BitsOfTwo = binary("gcd");
/** The least common multiple of integers. */
export const lcm: BitsOfTwo = binary("lcm");
export const neg: Same = unary("neg");
export const positive: Same = unary("positive");
export const abs: Same = unary("abs");
export const sign: Same = unary("sign");
export const square: Same = unary("square");
export const reciprocal: OfFloats = unary("reciprocal");
/** max(x, 0) */
export const relu: Counting = unary("relu");
/** 1 / (1 + exp(-x)) */
export const sigmoid: OfFloats = unary("sigmoid");
export const sqrt: OfFloats = unary("sqrt");
export const cbrt: OfFloats = unary("cbrt");
export const exp: OfFloats = unary("exp");
export const exp2: OfFloats = unary("exp2");
export const expm1: OfFloats = unary("expm1");
export const log: OfFloats = unary("log");
export const log2: OfFloats = unary("log2");
export const log10: OfFloats = unary("log10");
export const log1p: OfFloats = unary("log1p");
export const sin: OfFloats = unary("sin");
export const cos: OfFloats = unary("cos");
export const tan: OfFloats = unary("tan");
export const asin: OfFloats = unary("asin");
export const acos: OfFloats = unary("acos");
export const atan: OfFloats = unary("atan");
export const sinh: OfFloats = unary("sinh");
export const cosh: OfFloats = unary("cosh");
export const tanh: OfFloats = unary("tanh");
export const asinh: OfFloats = unary("asinh");
export const acosh: OfFloats = unary("acosh");
export const atanh: OfFloats = unary("atanh");
/** sin(πx) / (πx) */
export const sinc: OfFloats = unary("sinc");
export const deg2rad: OfFloats = unary("deg2rad");
export const rad2deg: OfFloats = unary("rad2deg");
export const floor: Same = unary("floor");
export const ceil: Same = unary("ceil");
export const trunc: Same = unary("trunc");

export interface RoundOptions<E extends DType = DType, F extends DType = DType> extends NamedOptions<E, F> {
  /** Digits to keep after the point; negative ones are before it. Default 0. */
  readonly decimals?: number;
}

/** To the nearest integer, or to so many decimals; halves go to even. */
export function round<D extends DType, E extends DType = D, F extends DType = E>(
  x: Tensor<D>,
  options?: RoundOptions<E, F>,
): Tensor<NoInfer<F>>;
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
export const equal: Comparison = binary("equal");
export const notEqual: Comparison = binary("notEqual");
export const less: Comparison = binary("less");
export const lessEqual: Comparison = binary("lessEqual");
export const greater: Comparison = binary("greater");
export const greaterEqual: Comparison = binary("greaterEqual");
export const logicalAnd: Comparison = binary("logicalAnd");
export const logicalOr: Comparison = binary("logicalOr");
export const logicalXor: Comparison = binary("logicalXor");
export const logicalNot: Test = unary("logicalNot");
export const isnan: Test = unary("isnan");
export const isfinite: Test = unary("isfinite");
export const isinf: Test = unary("isinf");
export const signbit: Test = unary("signbit");
export const bitwiseAnd: BitsOfTwo = binary("bitwiseAnd");
export const bitwiseOr: BitsOfTwo = binary("bitwiseOr");
export const bitwiseXor: BitsOfTwo = binary("bitwiseXor");
export const bitwiseNot: Same = unary("bitwiseNot");
export const leftShift: Shift = binary("leftShift");
export const rightShift: Shift = binary("rightShift");
/* The array API's names for some of them. */
export const subtract = sub;
export const multiply = mul;
export const divide = div;
export const negative = neg;
export const bitwiseInvert = bitwiseNot;
export const bitwiseLeftShift = leftShift;
export const bitwiseRightShift = rightShift;
/** condition ? a : b, element by element. */
export const where = <
  C extends DType,
  A extends Operand,
  B extends Operand,
  E extends DType = Chosen<C, A, B>,
  F extends DType = E,
>(
  condition: Tensor<C>,
  a: A,
  b: B,
  options?: NamedOptions<E, F>,
): Tensor<NoInfer<F>> => namedOp("where", [condition, a, b], options) as Tensor<F>;
/** Two numbers meet the condition's dtype; booleans are not weak. */
type Chosen<C extends DType, A, B> = A extends Tensor
  ? Both<A, B>
  : B extends Tensor
    ? Both<A, B>
    : A extends boolean
      ? B extends boolean
        ? "bool"
        : DType
      : B extends boolean
        ? DType
        : Weakly<Weakly<C, A>, B>;
/** x held between low and high; null is no bound. */
export function clip<
  D extends DType,
  A extends Operand | null,
  B extends Operand | null,
  E extends DType = Clipped<D, A, B>,
  F extends DType = E,
>(x: Tensor<D>, low: A, high: B, options?: NamedOptions<E, F>): Tensor<NoInfer<F>>;
export function clip(x: Tensor, low: Operand | null, high: Operand | null, options?: NamedOptions): Tensor {
  if (low !== null && high !== null) return namedOp("clip", [x, low, high], options);
  if (low !== null) return namedOp("maximum", [x, low], options);
  return high !== null ? namedOp("minimum", [x, high], options) : namedOp("positive", [x], options);
}

const reduction = (name: reductions.Reduction) => (t: Tensor, options?: reductions.SumOptions) =>
  namedReduction(name, t, options) as never;

type WideFold = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options?: reductions.SumOptions<E>,
) => Tensor<NoInfer<E>>;
type Extreme = <D extends DType, E extends DType = D>(
  t: Tensor<D>,
  options?: reductions.SumOptions<E>,
) => Tensor<NoInfer<E>>;
type Question = (t: Tensor, options?: reductions.AxisOptions) => Tensor<"bool">;
type Count = <E extends DType = "i64">(t: Tensor, options?: reductions.SumOptions<E>) => Tensor<NoInfer<E>>;

export const sum: WideFold = reduction("sum");
export const prod: WideFold = reduction("prod");
/** Largest element; NaN if there is one. */
export const max: Extreme = reduction("max");
/** Smallest element; NaN if there is one. */
export const min: Extreme = reduction("min");
export const any: Question = reduction("any");
export const all: Question = reduction("all");
/** How many elements are not 0. */
export const countNonzero: Count = reduction("countNonzero");
/** The mean square distance from the mean; `var` is a word of JavaScript's own. */
export const variance = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.VarOptions<E>,
): Tensor<NoInfer<E>> => wrap(reductions.variance(live("variance", t), options, "variance")) as never;
export const std = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.VarOptions<E>,
): Tensor<NoInfer<E>> => wrap(reductions.std(live("std", t), options)) as never;
/** The length of vectors along the axes. */
export const norm = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.NormOptions<E>,
): Tensor<NoInfer<E>> => wrap(reductions.norm(live("norm", t), options)) as never;
/** log(Σ exp(x)) without overflow. */
export const logsumexp = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SumOptions<E>,
): Tensor<NoInfer<E>> => wrap(reductions.logsumexp(live("logsumexp", t), options)) as never;
/** exp(x) / Σ exp(x) along an axis, by default the last. */
export const softmax = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SoftmaxOptions<E>,
): Tensor<NoInfer<E>> => wrap(reductions.softmax(live("softmax", t), options)) as never;
/** The logarithm of softmax, without its underflow. */
export const logSoftmax = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SoftmaxOptions<E>,
): Tensor<NoInfer<E>> => wrap(reductions.logSoftmax(live("logSoftmax", t), options)) as never;

export interface MapReduceOptions<
  N extends NamedFold = NamedFold,
  Q extends create.Scalar = create.Scalar,
  E extends DType = DType,
  C extends DType = DType,
  W extends Captures = Captures,
> extends Omit<ReduceOptions, "dtype" | "compute"> {
  /** Values the function is given by name, after the elements. */
  readonly with?: W;
  /** What folds the mapped values: by name, or (acc, x) => …. Default "sum". */
  readonly reduce?: N | ((acc: number, x: number) => Q);
  /** dtype of the accumulator and of the result. */
  readonly dtype?: E;
  /** Elements are converted to it first: the function computes in it, called or compiled. */
  readonly compute?: C;
}

/** The fold of fn(x, y, …) over tensors that broadcast together; no tensor is made in between. */
export function mapReduce<E extends DType = DType>(
  tensors: readonly Tensor[],
  fn: AnyKernel,
  options?: MapReduceOptions<NamedFold, create.Scalar, E>,
): Tensor<NoInfer<E>>;
export function mapReduce<
  const T extends readonly Tensor[],
  R extends create.Scalar,
  W extends Captures = never,
  N extends NamedFold = "sum",
  Q extends create.Scalar = never,
  C extends DType = DTypesOf<T>,
  E extends DType = Folded<N, Q, Returned<R, C>>,
>(
  tensors: T,
  fn: (...values: NumbersAnd<T, W>) => R,
  options?: MapReduceOptions<N, Q, E, C, W>,
): Tensor<NoInfer<E>>;
export function mapReduce(
  tensors: readonly Tensor[],
  fn: ScalarFunction,
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
  const callable = callableOf("mapReduce", fn, withTables("mapReduce", captures));
  const operands = operandsOf("mapReduce", tensors);
  return wrap(mapReduceOp("mapReduce", operands, callable, changed(rest, { reduce: how })));
}

export const mean = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SumOptions<E>,
): Tensor<NoInfer<E>> => liveTensor("mean", t).mean(options) as never;
/** Position of the largest element along an axis, or in the flattened tensor. */
export const argmax = (t: Tensor, options?: reductions.ArgOptions): Tensor<"i64"> =>
  liveTensor("argmax", t).argmax(options);
/** Position of the smallest element along an axis, or in the flattened tensor. */
export const argmin = (t: Tensor, options?: reductions.ArgOptions): Tensor<"i64"> =>
  liveTensor("argmin", t).argmin(options);
export const cumsum = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options?: reductions.CumulativeOptions<E>,
): Tensor<NoInfer<E>> => liveTensor("cumsum", t).cumsum(options) as never;
export const cumprod = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options?: reductions.CumulativeOptions<E>,
): Tensor<NoInfer<E>> => liveTensor("cumprod", t).cumprod(options) as never;
/** The matrix product of the last two axes; axes before them broadcast. */
export const matmul = <D extends DType, E extends DType, F extends DType = Promote<D, E>>(
  a: Tensor<D>,
  b: Tensor<E>,
  options?: ProductOptions<F>,
): Tensor<NoInfer<F>> => liveTensor("matmul", a).matmul(b, options) as never;
