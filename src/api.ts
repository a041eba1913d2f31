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
import * as exponentials from "./ops/exponentials.ts";
import { type Captures, callableOf, type ScalarFunction } from "./ops/function.ts";
import { fromJSON as readJSON, type TensorJSON } from "./ops/json.ts";
import { mapReduce as mapReduceOp, type NamedFold } from "./ops/map-reduce.ts";
import type { NamedOp } from "./ops/named.ts";
import { type ReduceOptions, reduceNames } from "./ops/reduce.ts";
import type * as reductions from "./ops/reductions.ts";
import * as spreads from "./ops/spreads.ts";
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
/** Of functions that take a shape: zeros(2, 3) is what some would try. */
const shapedExample = `${dtypeExample}; several sizes are a list: [2, 3]`;

type ShapeOption = { readonly shape?: readonly number[]; readonly dtype?: undefined };
type DTypeOption<D> = { readonly dtype?: D };

/**
 * From a number, nested arrays or a typed array. Numbers become f32 (or what `configure` says), booleans bool, bigints
 * i64, a typed array keeps its own dtype; { dtype } chooses another, { shape } arranges the elements.
 *
 *     tensor([[1, 2], [3, 4]]);
 *     tensor(new Uint8Array(12), { shape: [2, 2, 3] });
 *
 * @param data a scalar, nested arrays whose rows have one length, or a typed array; copied
 * @param options `dtype` of the elements, `shape` to arrange them in
 * @returns a new contiguous tensor
 * @throws TensorError where rows differ in length, or the shape has another size
 * @example
 * tensor([[1, 2], [3, 4]]).shape; // → [2, 2]
 * tensor([1n, 2n]).dtype; // → i64
 * tensor(new Uint8Array([1, 2, 3, 4]), { shape: [2, 2] }); // → u8 [[1, 2], [3, 4]]
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

/**
 * A new tensor in which every element is 0.
 *
 *
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `dtype`, by default f32 or what `configure` says
 * @returns a new contiguous tensor
 * @throws TensorError for a negative size, or more elements than memory holds
 * @example
 * zeros([2, 3]); // → f32 [[0, 0, 0], [0, 0, 0]]
 */
export function zeros<D extends DType = DefaultDType>(
  shape: Shape,
  options: DTypeOption<D> = {},
): Tensor<NoInfer<D>> {
  options = readOptions("zeros", options, shapedExample, ["dtype"]);
  return wrap(create.full("zeros", shape, 0, options.dtype ?? defaultDType())) as Tensor as Tensor<D>;
}
/**
 * A new tensor in which every element is 1.
 *
 *
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `dtype`, by default f32 or what `configure` says
 * @returns a new contiguous tensor
 * @example
 * ones(3, { dtype: "u8" }); // → u8 [1, 1, 1]
 */
export function ones<D extends DType = DefaultDType>(
  shape: Shape,
  options: DTypeOption<D> = {},
): Tensor<NoInfer<D>> {
  options = readOptions("ones", options, shapedExample, ["dtype"]);
  return wrap(create.full("ones", shape, 1, options.dtype ?? defaultDType())) as Tensor as Tensor<D>;
}
/**
 * Every element is `value`; its kind decides the dtype unless one is given.
 *
 * @param shape sizes of the axes; a number is a vector's length
 * @param value a number (the default dtype), a bigint (i64) or a boolean (bool)
 * @param options `dtype` of the elements
 * @returns a new contiguous tensor; integers hold a value that is too large at their ends
 * @example
 * full([2, 2], 7, { dtype: "i32" }); // → i32 [[7, 7], [7, 7]]
 */
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
/**
 * A new tensor over memory as it is: write before you read.
 *
 *
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `dtype`, by default f32 or what `configure` says
 * @returns a new contiguous tensor with any elements
 * @example
 * empty([2, 2]).fill(5); // → f32 [[5, 5], [5, 5]]
 */
export function empty<D extends DType = DefaultDType>(
  shape: Shape,
  options: DTypeOption<D> = {},
): Tensor<NoInfer<D>> {
  options = readOptions("empty", options, shapedExample, ["dtype"]);
  return wrap(create.empty("empty", shape, options.dtype ?? defaultDType())) as Tensor as Tensor<D>;
}

/**
 * Numbers at equal steps: arange(stop), arange(start, stop) or arange(start, stop, step), with { dtype } last.
 *
 *
 * @param args one to three numbers, or bigints (which give i64), and options after them; stop is left out
 * @returns a new vector of max(0, ⌈(stop - start) / step⌉) elements
 * @throws TensorError where the step is 0, or f32 is nobody's choice and cannot count from there
 * @example
 * arange(0, 1, 0.25); // → f32 [0, 0.25, 0.5, 0.75]
 * arange(2n ** 60n, 2n ** 60n + 2n); // → i64 [1152921504606846976n, 1152921504606846977n]
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
  return wrap(create.arange(start, stop, step, options.dtype));
}
/**
 * `count` numbers from start to stop, evenly spaced; stop is the last of them unless endpoint is false.
 *
 * @param start the first number
 * @param stop the last number, or where it would be
 * @param count how many, default 50
 * @param options `endpoint`: is stop one of them, default true; `dtype`
 * @returns a new vector of `count` elements
 * @throws TensorError where f32 is nobody's choice and cannot hold the ends
 * @example
 * linspace(0, 1, 5); // → f32 [0, 0.25, 0.5, 0.75, 1]
 */
export function linspace<D extends DType = DefaultDType>(
  start: number,
  stop: number,
  count = 50,
  options: DTypeOption<D> & { readonly endpoint?: boolean } = {},
): Tensor<NoInfer<D>> {
  options = readOptions("linspace", options, "{ endpoint: false }", ["dtype", "endpoint"]);
  checkFlag("linspace", "endpoint", options.endpoint);
  const made = create.linspace(start, stop, count, options.endpoint ?? true, options.dtype);
  return wrap(made) as Tensor as Tensor<D>;
}
/**
 * A matrix with ones on one diagonal and zeros elsewhere.
 *
 *
 * @param n its rows
 * @param options `columns`, default n; `k`: the diagonal, above the main one where positive; `dtype`
 * @returns a new matrix [n, columns]
 * @example
 * eye(2, { columns: 3, k: 1 }); // → f32 [[0, 1, 0], [0, 0, 1]]
 */
export function eye<D extends DType = DefaultDType>(
  n: number,
  options: DTypeOption<D> & { readonly columns?: number; readonly k?: number } = {},
): Tensor<NoInfer<D>> {
  options = readOptions("eye", options, "{ columns: 4, k: 1 }", ["columns", "k", "dtype"]);
  const made = create.eye(n, options.columns ?? n, options.k ?? 0, options.dtype ?? defaultDType());
  return wrap(made) as Tensor as Tensor<D>;
}

/**
 * Interleaved or padded foreign memory, with its own byte strides; the reachable bytes are copied once.
 *
 * @param buffer an ArrayBuffer, a typed array or a DataView; nothing is written to it
 * @param options `dtype`, `shape`, `byteStrides` (default: without gaps) and `byteOffset`
 * @returns a new tensor with the strides that were asked for
 * @throws TensorError where an element would lie outside the buffer
 * @example
 * const rgba = new Uint8Array([1, 2, 3, 255, 4, 5, 6, 255]);
 * fromBuffer(rgba, { dtype: "u8", shape: [2], byteStrides: [4], byteOffset: 1 }); // → u8 [2, 5]
 */
export function fromBuffer<D extends DType>(
  buffer: ArrayBufferLike | ArrayBufferView,
  options: create.BufferOptions & { readonly dtype: D },
): Tensor<D> {
  return wrap(create.fromBuffer("fromBuffer", buffer, options)) as Tensor as Tensor<D>;
}
/**
 * A ggml tensor: ne (sizes) and nb (byte strides) list the fastest axis first.
 *
 * @param t its `type`, `ne`, `nb` and `data`; the reachable bytes are copied once
 * @returns a new tensor whose axes are in the usual order, the fastest one last
 * @throws TensorError for a block type (strided/quantised has those), or elements outside the data
 * @example
 * const data = new Float32Array([1, 2, 3, 4, 5, 6]);
 * fromGgml({ type: "f32", ne: [3, 2], nb: [4, 12], data }); // → f32 [[1, 2, 3], [4, 5, 6]]
 */
export function fromGgml(t: create.GgmlTensor): Tensor {
  return wrap(create.fromGgml(t));
}

/**
 * What JSON.stringify(tensor) wrote, as text or parsed.
 *
 * @param json the text, or the object it parses to
 * @returns a new contiguous tensor of the dtype and shape that were written
 * @throws TensorError where it is no such object
 * @example
 * fromJSON(JSON.stringify(tensor([1, 2]))); // → f32 [1, 2]
 */
export const fromJSON = (json: string | TensorJSON): Tensor => wrap(readJSON(json));

/* Kernels over several tensors ------------------------------------------------------------------------- */

/** The options of `zip`: those of `map`. */
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

/**
 * A function of one element of each tensor, broadcast together, compiled to one loop.
 *
 *
 * @param tensors one or more
 * @param fn takes one number a tensor, then the captured values; what it returns decides the dtype
 * @param options `dtype`, `out`, `compute`, and `with`: values the function is given by name
 * @returns a new tensor of the shape they broadcast to, or `out`
 * @throws TensorError where shapes do not broadcast; a function that cannot be compiled is called instead
 * @example
 * const a = tensor([1, 2, 3]);
 * zip([a, tensor([[10], [20]])], (x, y) => x * y); // → f32 [[10, 20, 30], [20, 40, 60]]
 */
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
  const { out, dtype, compute, tensor } = read;
  return wrapResult(elementwise("zip", callable, operandsOf("zip", tensors), out, dtype, compute), tensor);
}

/** The tensors of zip and its like. */
const operandsOf = (operation: string, tensors: unknown): Strided[] =>
  liveTensors(operation, tensors, `Give at least one: ${operation}([a, b], (a, b) => a + b).`).map(stridedOf);

/**
 * Frees every tensor made inside that the result does not hold: a tensor, or arrays, objects, Maps and Sets of them at any
 * depth. What only a closure, a private field or a WeakMap holds is not seen, and freed.
 *
 * @param fn a synchronous function
 * @returns what fn returns; its tensors live on
 * @throws what fn throws, after everything it made is freed
 * @example
 * const total = scope(() => tensor([1, 2, 3]).mul(2).sum()); // → f32 12
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
 *
 * @param fn gets the scope's handle; tensors are made inside its `run`, or told to `track`
 * @returns a promise of what fn returns; its tensors live on
 * @example
 * const t = await scopeAsync(async (s) => {
 *   const x = s.run(() => tensor([1, 2, 3]));
 *   await null;
 *   return s.run(() => x.mul(2));
 * }); // → f32 [2, 4, 6]
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

/**
 * The sum, element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * add(tensor([1, 2]), tensor([[10], [20]])); // → f32 [[11, 12], [21, 22]]
 */
export const add: Arithmetic = binary("add");
/**
 * The difference a - b, element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * sub(tensor([5, 7]), 1); // → f32 [4, 6]
 */
export const sub: Arithmetic = binary("sub");
/**
 * The product, element by element; `matmul` is the matrix product.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * mul(tensor([1, 2, 3]), tensor([2, 2, 10])); // → f32 [2, 4, 30]
 */
export const mul: Arithmetic = binary("mul");
/**
 * The quotient a / b, element by element, also of integers; `floorDivide` rounds down.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * div(tensor([1, 3], { dtype: "i32" }), 2); // → f64 [0.5, 1.5]
 */
export const div: FloatsOfTwo = binary("div");
/**
 * What is left of a division, with the sign of the divisor, as Python's %.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * remainder(tensor([-7, 7]), 3); // → f32 [2, 1]
 */
export const remainder: CountingOfTwo = binary("remainder");
/**
 * The quotient, rounded down, in the operands' own dtype.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * floorDivide(tensor([-7, 7], { dtype: "i32" }), 2); // → i32 [-4, 3]
 */
export const floorDivide: CountingOfTwo = binary("floorDivide");
/**
 * a to the power of b, element by element; integers stay integers.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * pow(tensor([2, 3]), 2); // → f32 [4, 9]
 */
export const pow: CountingOfTwo = binary("pow");
/**
 * The larger of two, element by element; NaN where one of them is. `max` is that of a tensor.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * maximum(tensor([-1, 2]), 0); // → f32 [0, 2]
 */
export const maximum: Arithmetic = binary("maximum");
/**
 * The smaller of two, element by element; NaN where one of them is. `min` is that of a tensor.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * minimum(tensor([-1, 2]), 0); // → f32 [-1, 0]
 */
export const minimum: Arithmetic = binary("minimum");
/**
 * The angle of the point (b, a), from -π to π: a is the ordinate, as in Math.atan2.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * atan2(tensor([0, 0]), tensor([1, 2])); // → f32 [0, 0]
 */
export const atan2: FloatsOfTwo = binary("atan2");
/**
 * √(a² + b²), without overflow in between.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * hypot(tensor([3, 5]), tensor([4, 12])); // → f32 [5, 13]
 */
export const hypot: FloatsOfTwo = binary("hypot");
/**
 * The magnitude of a with the sign of b.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * copysign(tensor([1, 2]), tensor([-0, 5])); // → f32 [-1, 2]
 */
export const copysign: FloatsOfTwo = binary("copysign");
/**
 * What is left of a division, with the sign of the dividend, as JavaScript's %.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * fmod(tensor([-7, 7]), 3); // → f32 [-1, 1]
 */
export const fmod: CountingOfTwo = binary("fmod");
/**
 * The larger one; a number that is there beats a NaN.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * fmax(tensor([NaN, 1]), tensor([5, 2])); // → f32 [5, 2]
 */
export const fmax: Arithmetic = binary("fmax");
/**
 * The smaller one; a number that is there beats a NaN.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * fmin(tensor([NaN, 1]), tensor([5, 2])); // → f32 [5, 1]
 */
export const fmin: Arithmetic = binary("fmin");
/**
 * log(exp(a) + exp(b)), without overflow.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * logaddexp(tensor([1000]), tensor([0])); // → f32 [1000]
 */
export const logaddexp: FloatsOfTwo = binary("logaddexp");
/**
 * log2(2 ** a + 2 ** b), without overflow.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * logaddexp2(tensor([2]), tensor([2])); // → f32 [3]
 */
export const logaddexp2: FloatsOfTwo = binary("logaddexp2");
/**
 * 0 below zero, 1 above it, and b at zero.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * heaviside(tensor([-1, 0, 2]), 0.5); // → f32 [0, 0.5, 1]
 */
export const heaviside: FloatsOfTwo = binary("heaviside");
/**
 * The greatest common divisor of integers.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * gcd(tensor([12, 18], { dtype: "i32" }), 8); // → i32 [4, 2]
 */
export const gcd: BitsOfTwo = binary("gcd");
/**
 * The least common multiple of integers.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * lcm(tensor([4, 6], { dtype: "i32" }), 10); // → i32 [20, 30]
 */
export const lcm: BitsOfTwo = binary("lcm");
/**
 * Each element with the other sign; unsigned integers wrap round, bool is refused.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * neg(tensor([1, -2])); // → f32 [-1, 2]
 */
export const neg: Same = unary("neg");
/**
 * Each element as it is: a copy.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * positive(tensor([1, -2])); // → f32 [1, -2]
 */
export const positive: Same = unary("positive");
/**
 * The distance from 0; the smallest integer of a signed dtype stays as it is.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * abs(tensor([1, -2])); // → f32 [1, 2]
 */
export const abs: Same = unary("abs");
/**
 * -1, 0 or 1; NaN stays NaN.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * sign(tensor([-5, 0, 2])); // → f32 [-1, 0, 1]
 */
export const sign: Same = unary("sign");
/**
 * x·x, element by element.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * square(tensor([2, -3])); // → f32 [4, 9]
 */
export const square: Same = unary("square");
/**
 * 1 / x, element by element.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * reciprocal(tensor([2, 4])); // → f32 [0.5, 0.25]
 */
export const reciprocal: OfFloats = unary("reciprocal");
/**
 * max(x, 0); NaN stays NaN.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype (of bool an integer one), or `out`
 * @example
 * relu(tensor([-1, 2])); // → f32 [0, 2]
 */
export const relu: Counting = unary("relu");
/**
 * 1 / (1 + exp(-x)), from 0 to 1.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * sigmoid(tensor([0])); // → f32 [0.5]
 */
export const sigmoid: OfFloats = unary("sigmoid");
/**
 * The square root; NaN below 0.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * sqrt(tensor([4, 9])); // → f32 [2, 3]
 */
export const sqrt: OfFloats = unary("sqrt");
/**
 * The cube root, also of negative numbers.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * cbrt(tensor([8, -27])); // → f32 [2, -3]
 */
export const cbrt: OfFloats = unary("cbrt");
/**
 * e to the power of x.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * exp(tensor([0, -Infinity])); // → f32 [1, 0]
 */
export const exp: OfFloats = unary("exp");
/**
 * 2 to the power of x.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * exp2(tensor([3, -1])); // → f32 [8, 0.5]
 */
export const exp2: OfFloats = unary("exp2");
/**
 * exp(x) - 1, exact near 0 too.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * expm1(tensor([0, 1e-20])); // → f32 [0, 1e-20]
 */
export const expm1: OfFloats = unary("expm1");
/**
 * The natural logarithm; -Infinity of 0, NaN below it.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * log(tensor([1, 0])); // → f32 [0, -Infinity]
 */
export const log: OfFloats = unary("log");
/**
 * The logarithm to the base 2.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * log2(tensor([8, 0.5])); // → f32 [3, -1]
 */
export const log2: OfFloats = unary("log2");
/**
 * The logarithm to the base 10.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * log10(tensor([1, 100])); // → f32 [0, 2]
 */
export const log10: OfFloats = unary("log10");
/**
 * log(1 + x), exact near 0 too.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * log1p(tensor([0, 1e-20])); // → f32 [0, 1e-20]
 */
export const log1p: OfFloats = unary("log1p");
/**
 * The sine of an angle in radians.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * sin(tensor([0])); // → f32 [0]
 */
export const sin: OfFloats = unary("sin");
/**
 * The cosine of an angle in radians.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * cos(tensor([0])); // → f32 [1]
 */
export const cos: OfFloats = unary("cos");
/**
 * The tangent of an angle in radians.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * tan(tensor([0])); // → f32 [0]
 */
export const tan: OfFloats = unary("tan");
/**
 * The angle whose sine is x, from -π/2 to π/2; NaN outside -1 … 1.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * asin(tensor([0, 2])); // → f32 [0, NaN]
 */
export const asin: OfFloats = unary("asin");
/**
 * The angle whose cosine is x, from 0 to π; NaN outside -1 … 1.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * acos(tensor([1, 2])); // → f32 [0, NaN]
 */
export const acos: OfFloats = unary("acos");
/**
 * The angle whose tangent is x, from -π/2 to π/2.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * atan(tensor([0])); // → f32 [0]
 */
export const atan: OfFloats = unary("atan");
/**
 * The hyperbolic sine.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * sinh(tensor([0])); // → f32 [0]
 */
export const sinh: OfFloats = unary("sinh");
/**
 * The hyperbolic cosine.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * cosh(tensor([0])); // → f32 [1]
 */
export const cosh: OfFloats = unary("cosh");
/**
 * The hyperbolic tangent, from -1 to 1.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * tanh(tensor([0, Infinity])); // → f32 [0, 1]
 */
export const tanh: OfFloats = unary("tanh");
/**
 * The inverse of `sinh`.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * asinh(tensor([0])); // → f32 [0]
 */
export const asinh: OfFloats = unary("asinh");
/**
 * The inverse of `cosh`; NaN below 1.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * acosh(tensor([1, 0])); // → f32 [0, NaN]
 */
export const acosh: OfFloats = unary("acosh");
/**
 * The inverse of `tanh`; NaN outside -1 … 1.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * atanh(tensor([0, 1])); // → f32 [0, Infinity]
 */
export const atanh: OfFloats = unary("atanh");
/**
 * sin(πx) / (πx), and 1 at 0.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * sinc(tensor([0])); // → f32 [1]
 */
export const sinc: OfFloats = unary("sinc");
/**
 * Degrees as radians.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * deg2rad(tensor([180], { dtype: "f64" })); // → f64 [3.141592653589793]
 */
export const deg2rad: OfFloats = unary("deg2rad");
/**
 * Radians as degrees.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape; floats keep their dtype, integers and bool give f64; or `out`
 * @example
 * rad2deg(tensor([Math.PI], { dtype: "f64" })); // → f64 [180]
 */
export const rad2deg: OfFloats = unary("rad2deg");
/**
 * The next whole number below, in the same dtype.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * floor(tensor([1.5, -1.5])); // → f32 [1, -2]
 */
export const floor: Same = unary("floor");
/**
 * The next whole number above, in the same dtype.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * ceil(tensor([1.5, -1.5])); // → f32 [2, -1]
 */
export const ceil: Same = unary("ceil");
/**
 * Without what is behind the point, in the same dtype.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * trunc(tensor([1.5, -1.5])); // → f32 [1, -1]
 */
export const trunc: Same = unary("trunc");

/** The options of `round`. */
export interface RoundOptions<E extends DType = DType, F extends DType = DType> extends NamedOptions<E, F> {
  /** Digits to keep after the point; negative ones are before it. Default 0. */
  readonly decimals?: number;
}

/**
 * To the nearest integer, or to so many decimals; halves go to even.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * round(tensor([0.5, 1.5, 2.345]), { decimals: 1 }); // → f32 [0.5, 1.5, 2.3]
 * round(tensor([0.5, 1.5, 2.5])); // → f32 [0, 2, 2]
 */
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
/**
 * a = b, element by element; a NaN equals nothing.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * equal(tensor([1, NaN]), tensor([1, NaN])); // → bool [true, false]
 */
export const equal: Comparison = binary("equal");
/**
 * a ≠ b, element by element; a NaN differs from everything.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * notEqual(tensor([1, 2]), 2); // → bool [true, false]
 */
export const notEqual: Comparison = binary("notEqual");
/**
 * a < b, element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * less(tensor([1, 2, 3]), 2); // → bool [true, false, false]
 */
export const less: Comparison = binary("less");
/**
 * a ≤ b, element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * lessEqual(tensor([1, 2, 3]), 2); // → bool [true, true, false]
 */
export const lessEqual: Comparison = binary("lessEqual");
/**
 * a > b, element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * greater(tensor([1, 2, 3]), 2); // → bool [false, false, true]
 */
export const greater: Comparison = binary("greater");
/**
 * a ≥ b, element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * greaterEqual(tensor([1, 2, 3]), 2); // → bool [false, true, true]
 */
export const greaterEqual: Comparison = binary("greaterEqual");
/**
 * Are both not 0? Element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * logicalAnd(tensor([0, 1, 2]), tensor([1, 1, 0])); // → bool [false, true, false]
 */
export const logicalAnd: Comparison = binary("logicalAnd");
/**
 * Is one of both not 0? Element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * logicalOr(tensor([0, 1, 0]), tensor([0, 1, 5])); // → bool [false, true, true]
 */
export const logicalOr: Comparison = binary("logicalOr");
/**
 * Is exactly one of both not 0? Element by element.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * logicalXor(tensor([0, 1, 2]), tensor([0, 1, 0])); // → bool [false, false, true]
 */
export const logicalXor: Comparison = binary("logicalXor");
/**
 * Is it 0? Element by element.
 *
 * @param x a tensor of any layout
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of x's shape, or `out`
 * @example
 * logicalNot(tensor([0, 3])); // → bool [true, false]
 */
export const logicalNot: Test = unary("logicalNot");
/**
 * Is it NaN? Never, of integers.
 *
 * @param x a tensor of any layout
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of x's shape, or `out`
 * @example
 * isnan(tensor([1, NaN])); // → bool [false, true]
 */
export const isnan: Test = unary("isnan");
/**
 * Is it neither NaN nor infinite?
 *
 * @param x a tensor of any layout
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of x's shape, or `out`
 * @example
 * isfinite(tensor([1, NaN, Infinity])); // → bool [true, false, false]
 */
export const isfinite: Test = unary("isfinite");
/**
 * Is it one of the infinities?
 *
 * @param x a tensor of any layout
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of x's shape, or `out`
 * @example
 * isinf(tensor([1, NaN, -Infinity])); // → bool [false, false, true]
 */
export const isinf: Test = unary("isinf");
/**
 * Is the sign's bit set? It is, of -0.
 *
 * @param x a tensor of any layout
 * @param options `out`: the tensor to write to
 * @returns a new bool tensor of x's shape, or `out`
 * @example
 * signbit(tensor([-0, 0, -3])); // → bool [true, false, true]
 */
export const signbit: Test = unary("signbit");
/**
 * Bits that both have; of bool, and.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * bitwiseAnd(tensor([12, 10], { dtype: "u8" }), 6); // → u8 [4, 2]
 */
export const bitwiseAnd: BitsOfTwo = binary("bitwiseAnd");
/**
 * Bits that one of both has; of bool, or.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * bitwiseOr(tensor([12, 10], { dtype: "u8" }), 1); // → u8 [13, 11]
 */
export const bitwiseOr: BitsOfTwo = binary("bitwiseOr");
/**
 * Bits that exactly one of both has; of bool, whether they differ.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * bitwiseXor(tensor([12, 10], { dtype: "u8" }), 15); // → u8 [3, 5]
 */
export const bitwiseXor: BitsOfTwo = binary("bitwiseXor");
/**
 * Every bit turned; of bool, not.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * bitwiseNot(tensor([0, 255], { dtype: "u8" })); // → u8 [255, 0]
 */
export const bitwiseNot: Same = unary("bitwiseNot");
/**
 * Bits moved up by b places: a · 2^b, wrapped.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * leftShift(tensor([1, 3], { dtype: "i32" }), 2); // → i32 [4, 12]
 */
export const leftShift: Shift = binary("leftShift");
/**
 * Bits moved down by b places; the sign of signed integers stays.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * rightShift(tensor([8, -8], { dtype: "i32" }), 2); // → i32 [2, -2]
 */
export const rightShift: Shift = binary("rightShift");
/* The array API's names for some of them. */
/**
 * The array API's name for `sub`.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * subtract(tensor([3]), 1); // → f32 [2]
 */
export const subtract = sub;
/**
 * The array API's name for `mul`.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * multiply(tensor([3]), 2); // → f32 [6]
 */
export const multiply = mul;
/**
 * The array API's name for `div`.
 *
 * @param a a tensor or a scalar; one of both is a tensor
 * @param b a tensor or a scalar
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of floats (f64 where both are integers), of the shape they broadcast to, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * divide(tensor([3]), 2); // → f32 [1.5]
 */
export const divide = div;
/**
 * The array API's name for `neg`.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * negative(tensor([3])); // → f32 [-3]
 */
export const negative = neg;
/**
 * The array API's name for `bitwiseNot`.
 *
 * @param x a tensor of any layout
 * @param options `dtype`: what x is converted to first; `out`: the tensor to write to
 * @returns a new tensor of x's shape and dtype, or `out`
 * @example
 * bitwiseInvert(tensor([1], { dtype: "i32" })); // → i32 [-2]
 */
export const bitwiseInvert = bitwiseNot;
/**
 * The array API's name for `leftShift`.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * bitwiseLeftShift(tensor([1], { dtype: "i32" }), 3); // → i32 [8]
 */
export const bitwiseLeftShift = leftShift;
/**
 * The array API's name for `rightShift`.
 *
 * @param a a tensor of integers (or bool), or an integer; one of both is a tensor
 * @param b a tensor of integers (or bool), or an integer
 * @param options `dtype`: what both are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @throws TensorError where one has floats, or the shapes do not broadcast
 * @example
 * bitwiseRightShift(tensor([8], { dtype: "i32" }), 3); // → i32 [1]
 */
export const bitwiseRightShift = rightShift;
/**
 * condition ? a : b, element by element; both are computed before.
 *
 *
 * @param condition not 0 is true
 * @param a a tensor or a scalar, taken where the condition holds
 * @param b a tensor or a scalar, taken elsewhere
 * @param options `dtype`: what a and b are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape all three broadcast to and the dtype a and b meet in, or `out`
 * @throws TensorError where the shapes do not broadcast
 * @example
 * const x = tensor([-1, 2, -3]);
 * where(x.less(0), 0, x); // → f32 [0, 2, 0]
 */
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
/**
 * x held between low and high; null is no bound.
 *
 * @param x a tensor of any layout
 * @param low the lower bound, a tensor or a scalar
 * @param high the upper bound, which wins where they cross
 * @param options `dtype`: what all are converted to first; `out`: the tensor to write to
 * @returns a new tensor of the shape they broadcast to and the dtype they meet in, or `out`
 * @example
 * clip(tensor([-1, 0.5, 9]), 0, 1); // → f32 [0, 0.5, 1]
 * clip(tensor([-1, 0.5, 9]), 0, null); // → f32 [0, 0.5, 9]
 */
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

/**
 * The sum of elements along axes, or of all; of nothing 0.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the fold and the
 *   result
 * @returns a new tensor without the folded axes; floats keep their dtype, integers become i64 or u64
 * @example
 * sum(tensor([[1, 2], [3, 4]])); // → f32 10
 * sum(tensor([[1, 2], [3, 4]]), { axis: 0 }); // → f32 [4, 6]
 */
export const sum: WideFold = reduction("sum");
/**
 * The product of elements along axes, or of all; of nothing 1.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the fold and the
 *   result
 * @returns a new tensor without the folded axes; floats keep their dtype, integers become i64 or u64
 * @example
 * prod(tensor([1, 2, 3, 4])); // → f32 24
 */
export const prod: WideFold = reduction("prod");
/**
 * The largest element along axes, or of all; NaN if there is one.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
 * @returns a new tensor of t's dtype without the folded axes
 * @throws TensorError where there is nothing to fold
 * @example
 * max(tensor([[1, 9], [3, 4]]), { axis: 1 }); // → f32 [9, 4]
 */
export const max: Extreme = reduction("max");
/**
 * The smallest element along axes, or of all; NaN if there is one.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
 * @returns a new tensor of t's dtype without the folded axes
 * @throws TensorError where there is nothing to fold
 * @example
 * min(tensor([[1, 9], [3, 4]]), { axis: 1, keepdims: true }); // → f32 [[1], [3]]
 */
export const min: Extreme = reduction("min");
/**
 * Is any element along axes, or at all, not 0? Of nothing false.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
 * @returns a new bool tensor without the folded axes
 * @example
 * any(tensor([0, 0, 3])).item(); // → true
 */
export const any: Question = reduction("any");
/**
 * Are all elements along axes, or at all, not 0? Of nothing true.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
 * @returns a new bool tensor without the folded axes
 * @example
 * all(tensor([[1, 1], [1, 0]]), { axis: 1 }); // → bool [true, false]
 */
export const all: Question = reduction("all");
/**
 * How many elements are not 0; a NaN is not.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`, default i64
 * @returns a new tensor without the folded axes
 * @example
 * countNonzero(tensor([[0, 1], [2, 3]]), { axis: 0 }); // → i64 [1n, 2n]
 */
export const countNonzero: Count = reduction("countNonzero");
/**
 * The mean square distance from the mean, in two passes carried in f64; `var` is a word of JavaScript's own.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`, `keepdims`, `dtype`; `ddof` (or `correction`): what is taken from the count that divides,
 *   default 0
 * @returns a new tensor without the folded axes; floats keep their dtype, integers give f64
 * @example
 * variance(tensor([1, 2, 3, 4])); // → f32 1.25
 */
export const variance = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.VarOptions<E>,
): Tensor<NoInfer<E>> => wrap(spreads.variance(live("variance", t), options, "variance")) as never;
/**
 * The square root of `variance`.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`, `keepdims`, `dtype`; `ddof` (or `correction`): what is taken from the count that divides,
 *   default 0
 * @returns a new tensor without the folded axes; floats keep their dtype, integers give f64
 * @example
 * std(tensor([1, 3])); // → f32 1
 */
export const std = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.VarOptions<E>,
): Tensor<NoInfer<E>> => wrap(spreads.std(live("std", t), options)) as never;
/**
 * The length of vectors along the axes, carried in f64.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `ord`: which norm, default 2; `keepdims`, `dtype`
 * @returns a new tensor without the folded axes; floats keep their dtype, integers give f64
 * @example
 * norm(tensor([[3, 4], [6, 8]]), { axis: 1 }); // → f32 [5, 10]
 */
export const norm = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.NormOptions<E>,
): Tensor<NoInfer<E>> => wrap(spreads.norm(live("norm", t), options)) as never;
/**
 * log(Σ exp(x)) along axes, without overflow; of nothing -Infinity.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
 * @returns a new tensor without the folded axes; floats keep their dtype, integers give f64
 * @example
 * logsumexp(tensor([1000, -1000])); // → f32 1000
 */
export const logsumexp = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SumOptions<E>,
): Tensor<NoInfer<E>> => wrap(exponentials.logsumexp(live("logsumexp", t), options)) as never;
/**
 * exp(x) / Σ exp(x) along an axis, without overflow.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`, default the last; `dtype` of the result
 * @returns a new tensor of t's shape; floats keep their dtype, integers give f64
 * @example
 * softmax(tensor([[0, 0], [0, 1000]])); // → f32 [[0.5, 0.5], [0, 1]]
 */
export const softmax = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SoftmaxOptions<E>,
): Tensor<NoInfer<E>> => wrap(exponentials.softmax(live("softmax", t), options)) as never;
/**
 * The logarithm of softmax, without its underflow.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`, default the last; `dtype` of the result
 * @returns a new tensor of t's shape; floats keep their dtype, integers give f64
 * @example
 * logSoftmax(tensor([0, 1000])); // → f32 [-1000, 0]
 */
export const logSoftmax = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SoftmaxOptions<E>,
): Tensor<NoInfer<E>> => wrap(exponentials.logSoftmax(live("logSoftmax", t), options)) as never;

/** The options of `mapReduce`. */
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

/**
 * The fold of fn(x, y, …) over tensors that broadcast together; no tensor is made in between.
 *
 * @param tensors one or more
 * @param fn takes one number a tensor, then the captured values
 * @param options `reduce`: "sum", "prod", "max", "min" or (acc, x) => …; `axis`, `keepdims`, `init`, `dtype`,
 *   `compute`, `with`
 * @returns a new tensor without the folded axes
 * @throws TensorError where shapes do not broadcast, or there is nothing to fold and no start
 * @example
 * const a = tensor([1, 2, 3]);
 * mapReduce([a, a], (x, y) => x * y); // → f32 14
 */
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

/**
 * The mean of elements along axes, or of all, carried in f64; of nothing NaN.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
 * @returns a new tensor without the folded axes; floats keep their dtype, integers give f64
 * @example
 * mean(tensor([[1, 2], [3, 4]]), { axis: 0 }); // → f32 [2, 3]
 */
export const mean = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options?: reductions.SumOptions<E>,
): Tensor<NoInfer<E>> => liveTensor("mean", t).mean(options) as never;
/**
 * Position of the largest element along an axis, or in the flattened tensor; the first of equals, or of NaNs.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`, default the flattened tensor; `keepdims`: it stays with size 1
 * @returns a new i64 tensor without the axis
 * @throws TensorError where there is nothing to choose from
 * @example
 * argmax(tensor([[1, 9], [8, 4]]), { axis: 1 }); // → i64 [1n, 0n]
 */
export const argmax = (t: Tensor, options?: reductions.ArgOptions): Tensor<"i64"> =>
  liveTensor("argmax", t).argmax(options);
/**
 * Position of the smallest element along an axis, or in the flattened tensor; the first of equals, or of NaNs.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`, default the flattened tensor; `keepdims`: it stays with size 1
 * @returns a new i64 tensor without the axis
 * @throws TensorError where there is nothing to choose from
 * @example
 * argmin(tensor([[1, 9], [8, 4]])).item(); // → 0
 */
export const argmin = (t: Tensor, options?: reductions.ArgOptions): Tensor<"i64"> =>
  liveTensor("argmin", t).argmin(options);
/**
 * The sums of the first 1, 2, 3 … elements along an axis.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`, which a vector need not say; `dtype` of the sums
 * @returns a new tensor of t's shape; floats keep their dtype, integers become i64 or u64
 * @throws TensorError where there are several axes and none is said
 * @example
 * cumsum(tensor([1, 2, 3])); // → f32 [1, 3, 6]
 */
export const cumsum = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options?: reductions.CumulativeOptions<E>,
): Tensor<NoInfer<E>> => liveTensor("cumsum", t).cumsum(options) as never;
/**
 * The products of the first 1, 2, 3 … elements along an axis.
 *
 *
 * @param t a tensor of any layout
 * @param options `axis`, which a vector need not say; `dtype` of the products
 * @returns a new tensor of t's shape; floats keep their dtype, integers become i64 or u64
 * @throws TensorError where there are several axes and none is said
 * @example
 * cumprod(tensor([1, 2, 3])); // → f32 [1, 2, 6]
 */
export const cumprod = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options?: reductions.CumulativeOptions<E>,
): Tensor<NoInfer<E>> => liveTensor("cumprod", t).cumprod(options) as never;
/**
 * The matrix product of the last two axes; axes before them broadcast. A vector is a row on the left, a column on the
 * right.
 *
 *
 * @param a a tensor [..., n, k] or [k], in any layout
 * @param b a tensor [..., k, m] or [k], in any layout
 * @param options `out`: the tensor to write to; `accumulate`: add to what it holds
 * @returns a new tensor [..., n, m] in the dtype both meet in, or `out`; 2·n·k·m operations a matrix
 * @throws TensorError where the inner sizes differ or the batches do not broadcast
 * @example
 * const a = tensor([[1, 2], [3, 4]]);
 * matmul(a, a); // → f32 [[7, 10], [15, 22]]
 * matmul(a, tensor([1, 1])); // → f32 [3, 7]
 */
export const matmul = <D extends DType, E extends DType, F extends DType = Promote<D, E>>(
  a: Tensor<D>,
  b: Tensor<E>,
  options?: ProductOptions<F>,
): Tensor<NoInfer<F>> => liveTensor("matmul", a).matmul(b, options) as never;
