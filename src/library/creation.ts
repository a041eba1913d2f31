/** New tensors after a model or a rule. Those from values, and the plain ones (zeros, arange …), are in api.ts. */
import { arange, eye, scope } from "../api.ts";
import type { DefaultDType } from "../defaults.ts";
import { checkDType, type DType, dtypes, isInteger } from "../dtype.ts";
import { defaultDType } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Template } from "../ir/node.ts";
import { checkFlag, readList, readOptions, snapshot } from "../ops/arguments.ts";
import { assign, copyTo } from "../ops/copy.ts";
import { fromData, full as fullOf, type Nested, type Scalar, shapeOf } from "../ops/create.ts";
import { elementwise } from "../ops/elementwise.ts";
import { Callable, callableOf, Definition } from "../ops/function.ts";
import { allocate, filled } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { isTensor, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxis } from "../view/layout.ts";
import { kOrderPermutation, viewInOrder } from "../view/loops.ts";
import { indexTensor } from "./offsets.ts";
import { named, scoped } from "./scoped.ts";

/* After a model ---------------------------------------------------------------------------------------- */

/** The options of what is made after a model. */
export interface LikeOptions<E extends DType = DType> {
  /** Default: the model's. */
  readonly dtype?: E;
  /** Default: the model's, and laid out as the model is. */
  readonly shape?: number | readonly number[];
}

/**
 * Shape and dtype of the model, every element `value`.
 *
 * @param t the model
 * @param value of every element
 * @param options `dtype` and `shape`, where they are not the model's
 * @returns a new tensor
 * @example
 * fullLike(tensor([1, 2], { dtype: "u8" }), 7); // → u8 [7, 7]
 */
export function fullLike<D extends DType, E extends DType = D>(
  t: Tensor<D>,
  value: Scalar,
  options: LikeOptions<E> = {},
): Tensor<E> {
  return like("fullLike", t, value, options);
}
/**
 * Shape and dtype of the model, every element 0.
 *
 * @param t the model
 * @param options `dtype` and `shape`, where they are not the model's
 * @returns a new tensor
 * @example
 * zerosLike(tensor([1, 2], { dtype: "u8" })); // → u8 [0, 0]
 */
export function zerosLike<D extends DType, E extends DType = D>(
  t: Tensor<D>,
  options: LikeOptions<E> = {},
): Tensor<E> {
  return like("zerosLike", t, 0, options);
}
/**
 * Shape and dtype of the model, every element 1.
 *
 * @param t the model
 * @param options `dtype` and `shape`, where they are not the model's
 * @returns a new tensor
 * @example
 * onesLike(tensor([5, 6]), { dtype: "i32" }); // → i32 [1, 1]
 */
export function onesLike<D extends DType, E extends DType = D>(
  t: Tensor<D>,
  options: LikeOptions<E> = {},
): Tensor<E> {
  return like("onesLike", t, 1, options);
}
/**
 * Shape and dtype of the model, memory as it is: write before you read.
 *
 * @param t the model
 * @param options `dtype` and `shape`, where they are not the model's
 * @returns a new tensor with any elements
 * @example
 * emptyLike(tensor([1, 2])).fill(3); // → f32 [3, 3]
 */
export function emptyLike<D extends DType, E extends DType = D>(
  t: Tensor<D>,
  options: LikeOptions<E> = {},
): Tensor<E> {
  return like("emptyLike", t, null, options);
}

function like<E extends DType>(op: string, t: Tensor, value: Scalar | null, options: LikeOptions): Tensor<E> {
  options = readOptions(op, options, '{ dtype: "f64" }', ["dtype", "shape"]);
  liveTensor(op, t);
  const dtype = checkDType(op, options.dtype ?? t.dtype);
  const shape = options.shape === undefined ? t.shape : shapeOf(op, options.shape);
  const made = value === null ? allocate(op, dtype, shape) : fullOf(op, shape, value, dtype);
  const frame =
    options.shape === undefined
      ? viewInOrder(shape, dtypes[dtype].bytes, kOrderPermutation([stridedOf(t).frame], shape))
      : made.frame;
  return wrap({ ...made, frame }) as Tensor as Tensor<E>;
}

/** The options of `asarray`. */
export interface AsarrayOptions<E extends DType = DType> {
  /** Default: the tensor's own, or what `tensor` makes of the data. */
  readonly dtype?: E;
  /** true: always a copy. false: never, an error where one is needed. Default: where it is needed. */
  readonly copy?: boolean;
}

/**
 * A tensor is taken as it is (another handle on it) or converted; everything else goes to `tensor`.
 *
 * @param data a tensor, or what `tensor` takes
 * @param options `dtype` of the result; `copy`: always (true), never (false), or where it is needed
 * @returns a handle on the same memory where nothing has to change, else a new tensor
 * @throws TensorError where `copy` is false and one is needed
 * @example
 * const t = tensor([1, 2]);
 * asarray(t).set([0], 9);
 * t; // → f32 [9, 2]
 */
export function asarray<D extends DType, E extends DType = D>(
  data: Tensor<D>,
  options?: AsarrayOptions<E>,
): Tensor<NoInfer<E>>;
export function asarray(data: Tensor | Nested | ArrayBufferView, options?: AsarrayOptions): Tensor;
export function asarray(data: Tensor | Nested | ArrayBufferView, options: AsarrayOptions = {}): Tensor {
  const op = "asarray";
  const { dtype, copy } = readOptions(op, options, "{ copy: true }", ["dtype", "copy"]);
  checkFlag(op, "copy", copy);
  const asked = dtype === undefined ? undefined : checkDType(op, dtype);
  const isSame = isTensor(data) && (asked === undefined || asked === liveTensor(op, data).dtype);
  if (copy === false && !isSame) {
    fail(
      "value",
      op,
      isTensor(data) ? `${data.dtype} as ${asked} is a copy.` : "what is no tensor has to be copied.",
      "Leave { copy } out.",
    );
  }
  if (!isTensor(data)) return wrap(fromData(data, asked === undefined ? {} : { dtype: asked }, op));
  liveTensor(op, data);
  if (copy === true) return wrap(copyTo(op, stridedOf(data), asked ?? data.dtype, true));
  return data.to(asked ?? data.dtype);
}

/**
 * The elements converted, always a copy unless { copy: false } finds the dtype there already.
 *
 * @param t a tensor of any layout
 * @param dtype of the result
 * @param options `copy`: false gives a handle on t where the dtype is there already
 * @returns a new tensor of t's shape
 * @example
 * astype(tensor([1.7, -2.2]), "i32"); // → i32 [1, -2]
 */
export function astype<E extends DType>(
  t: Tensor,
  dtype: E,
  options: { readonly copy?: boolean } = {},
): Tensor<E> {
  const op = "astype";
  options = readOptions(op, options, "{ copy: false }", ["copy"]);
  liveTensor(op, t);
  checkFlag(op, "copy", options.copy);
  checkDType(op, dtype);
  if (options.copy === false) return t.to(dtype);
  return wrap(copyTo(op, stridedOf(t), dtype, true));
}

/* Triangles and diagonals ------------------------------------------------------------------------------ */

/** Which diagonal. */
export interface TriangleOptions {
  /** The last diagonal that stays (tril) or the first (triu): 0 is the main one, 1 the one above it. */
  readonly k?: number;
}

/**
 * The lower triangle of the last two axes; 0 above it.
 *
 * @param t a matrix, or a batch of them
 * @param options `k`: the last diagonal that stays, 0 is the main one
 * @returns a new tensor of t's shape and dtype
 * @example
 * tril(tensor([[1, 2], [3, 4]])); // → f32 [[1, 0], [3, 4]]
 */
export function tril<D extends DType>(t: Tensor<D>, options: TriangleOptions = {}): Tensor<D> {
  return triangle("tril", t, options);
}
/**
 * The upper triangle of the last two axes; 0 below it.
 *
 * @param t a matrix, or a batch of them
 * @param options `k`: the first diagonal that stays, 0 is the main one
 * @returns a new tensor of t's shape and dtype
 * @example
 * triu(tensor([[1, 2], [3, 4]]), { k: 1 }); // → f32 [[0, 2], [0, 0]]
 */
export function triu<D extends DType>(t: Tensor<D>, options: TriangleOptions = {}): Tensor<D> {
  return triangle("triu", t, options);
}

function triangle<D extends DType>(op: "tril" | "triu", t: Tensor<D>, options: TriangleOptions): Tensor<D> {
  options = readOptions(op, options, "{ k: 1 }", ["k"]);
  liveTensor(op, t);
  const k = diagonalOf(op, options.k);
  if (t.rank < 2) fail("shape", op, `${list(t.shape)} is no matrix.`, "It needs two axes at least.");
  const [rows, columns] = t.shape.slice(-2);
  // Row + k against column; beyond the matrix k makes no difference any more.
  const shift = Math.min(columns, Math.max(-rows, k));
  return scope(() => {
    const i = arange(shift, shift + rows, { dtype: "i32" }).reshape(rows, 1);
    const j = arange(columns, { dtype: "i32" });
    return wrap(
      elementwise(op, chosenWhere(op === "tril" ? "ge" : "le", t.dtype), [
        stridedOf(i),
        stridedOf(j),
        stridedOf(t),
      ]),
    );
  }) as Tensor as Tensor<D>;
}

const callables = new Map<string, Callable>();

function known(name: string, make: () => Template): Callable {
  let callable = callables.get(name);
  if (callable === undefined) {
    callable = new Callable(new Definition(make()));
    callables.set(name, callable);
  }
  return callable;
}

/** x where the test of the first two operands holds, 0 elsewhere. */
function chosenWhere(test: "ge" | "le", dtype: DType): Callable {
  return known(`${test} ${dtype}`, () => {
    const b = new TemplateBuilder();
    const holds = b.op(test, [b.input(0), b.input(1)]);
    const x = b.cast(dtype, b.input(2));
    const result =
      dtype === "bool" ? b.op("and", [holds, x]) : b.op("select", [holds, x, b.cast(dtype, b.literal(0))]);
    return b.finish(result, { inputs: 3, name: test });
  });
}

function diagonalOf(op: string, k: unknown): number {
  if (k === undefined) return 0;
  if (Number.isSafeInteger(k)) return k as number;
  return fail("value", op, `k is ${describe(k)}.`, "0 is the main diagonal, 1 the one above it.");
}

/**
 * A vector as the diagonal of a square matrix; the diagonal of a matrix as a vector, which is a view.
 *
 * @param t a vector or a matrix
 * @param options `k`: the diagonal, above the main one where positive
 * @returns a new matrix of a vector, a view of a matrix
 * @example
 * diag(tensor([1, 2])); // → f32 [[1, 0], [0, 2]]
 * diag(tensor([[1, 2], [3, 4]])); // → f32 [1, 4]
 */
export function diag<D extends DType>(t: Tensor<D>, options: TriangleOptions = {}): Tensor<D> {
  const op = "diag";
  options = readOptions(op, options, "{ k: 1 }", ["k"]);
  liveTensor(op, t);
  const k = diagonalOf(op, options.k);
  if (t.rank === 2) return t.diagonal({ offset: k });
  if (t.rank !== 1) fail("shape", op, `${list(t.shape)} is neither vector nor matrix.`, "Use diagonal.");
  const n = t.size + Math.abs(k);
  const out = fullOf(op, [n, n], 0, t.dtype) as Strided<D>;
  const { strides } = out.frame;
  const offset = k >= 0 ? k * strides[1] : -k * strides[0];
  const line = {
    ...out.frame,
    shape: [t.size],
    strides: [strides[0] + strides[1]],
    offset: t.size === 0 ? 0 : offset,
  };
  return wrap(filled(out, () => assign(op, { ...out, frame: line }, stridedOf(t))));
}

/* Grids ------------------------------------------------------------------------------------------------ */

/** The options of `meshgrid`. */
export interface MeshgridOptions {
  /** "xy" (the default): the first vector runs along axis 1, the second along axis 0. "ij": each along its own. */
  readonly indexing?: "xy" | "ij";
  /** Axes of size 1 instead of broadcast ones. */
  readonly sparse?: boolean;
}

/**
 * The coordinates of a grid from vectors: views, read-only where they repeat.
 *
 * @param vectors one an axis of the grid
 * @param options `indexing`: "xy" or "ij"; `sparse`: axes of size 1 instead of broadcast ones
 * @returns one view a vector, each of the grid's shape
 * @example
 * const [x, y] = meshgrid([arange(3), arange(2)]);
 * x; // → f32 [[0, 1, 2], [0, 1, 2]]
 * y; // → f32 [[0, 0, 0], [1, 1, 1]]
 */
export function meshgrid<const T extends readonly Tensor[]>(
  vectors: T,
  options: MeshgridOptions = {},
): { -readonly [K in keyof T]: T[K] } {
  const op = "meshgrid";
  const given = readList(op, "the list", vectors);
  if (given === null) {
    fail("value", op, `expected an array of vectors, got ${describe(vectors)}.`, `Give one: ${op}([x, y]).`);
  }
  options = readOptions(op, options, '{ indexing: "ij" }', ["indexing", "sparse"]);
  checkFlag(op, "sparse", options.sparse);
  const { indexing = "xy", sparse = false } = options;
  if (indexing !== "xy" && indexing !== "ij") {
    fail("value", op, `indexing is ${describe(indexing)}.`, 'Use "xy" or "ij".');
  }
  const all = given.map((v) => liveTensor(op, v));
  const wrong = all.find((v) => v.rank > 1);
  if (wrong !== undefined) fail("shape", op, `${list(wrong.shape)} is no vector.`, "Give 1-d tensors.");
  const axisOf = (k: number) => (indexing === "xy" && k < 2 && all.length > 1 ? 1 - k : k);
  const shape = new Array<number>(all.length);
  for (const [k, v] of all.entries()) shape[axisOf(k)] = v.size;
  return all.map((v, k) => {
    const own = shape.map((_, d) => (d === axisOf(k) ? v.size : 1));
    return scope(() => (sparse ? v.reshape(own) : v.reshape(own).broadcastTo(shape)));
  }) as never;
}

/**
 * Every element is fn of its index: `fromFunction((i, j) => i + j, [3, 4])`. Compiled as any kernel; the indices are
 * f64, the result f32 or what `configure` says (or bool, or i64 for bigints) unless { dtype } says otherwise. What f32 does
 * not hold is rounded, as every result is: times in milliseconds need { dtype: "f64" }.
 *
 * @param fn takes one index an axis
 * @param shape sizes of the axes; a number is a vector's length
 * @param options `dtype` of the result
 * @returns a new tensor
 * @example
 * fromFunction((i, j) => 10 * i + j, [2, 3]); // → f32 [[0, 1, 2], [10, 11, 12]]
 */
export function fromFunction<R extends Scalar, E extends DType = Made<R>>(
  fn: (...index: number[]) => R,
  shape: number | readonly number[],
  options: { readonly dtype?: E } = {},
): Tensor<NoInfer<E>> {
  const op = "fromFunction";
  options = readOptions(op, options, '{ dtype: "f64" }', ["dtype"]);
  const callable = callableOf(op, fn);
  const sizes = shapeOf(op, shape);
  const asked = options.dtype === undefined ? undefined : checkDType(op, options.dtype);
  return scoped(op, () => {
    // Without axes there is no index: one operand that nobody reads, squeezed away again.
    const along = sizes.length === 0 ? [1] : sizes;
    const indices = along.map((n, d) =>
      arange(n, { dtype: "f64" }).reshape(along.map((_, k) => (k === d ? n : 1))),
    );
    const compiled =
      callable.template === null
        ? null
        : callable.program(
            indices.map(() => "f64"),
            undefined,
            op,
          );
    const dtype = asked ?? (compiled?.dtype === "f64" ? defaultDType() : undefined);
    const out = wrap(elementwise(op, callable, indices.map(stridedOf), null, dtype));
    const made = asked === undefined && out.dtype === "f64" ? out.to(defaultDType()) : out;
    return sizes.length === 0 ? made.reshape([]) : made;
  }) as Tensor as Tensor<E>;
}

/** A function of indices makes numbers of the default dtype, and booleans bool. */
type Made<R> = 0 extends 1 & R
  ? DType
  : [R] extends [number]
    ? DefaultDType
    : [R] extends [boolean]
      ? "bool"
      : DType;

/** The options of `oneHot`. */
export interface OneHotOptions<E extends DType = DType> {
  /** Where the new axis of size `depth` goes; default: last. */
  readonly axis?: number;
  /** What stands at the index; default 1. */
  readonly on?: Scalar;
  /** What stands elsewhere; default 0. */
  readonly off?: Scalar;
  /** Default: f32, or what `configure` says. */
  readonly dtype?: E;
}

/**
 * `on` where the position along the new axis is the index, `off` elsewhere; an index outside 0 … depth - 1 is all off.
 *
 * @param indices integers of any shape
 * @param depth the size of the new axis
 * @param options `axis`: where it goes, default last; `on`, `off`, `dtype`
 * @returns a new tensor with one axis more
 * @example
 * oneHot([0, 2], 3); // → f32 [[1, 0, 0], [0, 0, 1]]
 */
export function oneHot<E extends DType = DefaultDType>(
  indices: Tensor | Nested,
  depth: number,
  options: OneHotOptions<E> = {},
): Tensor<E> {
  const op = "oneHot";
  indices = snapshot(op, "the indices", indices);
  options = readOptions(op, options, "{ axis: 1 }", ["axis", "on", "off", "dtype"]);
  if (!(Number.isSafeInteger(depth) && depth >= 0 && depth < 2 ** 31)) {
    fail("value", op, `the depth is ${describe(depth)}.`, "Use a whole number from 0 to 2147483647.");
  }
  const dtype = checkDType(op, options.dtype ?? defaultDType());
  const { on = 1, off = 0 } = options;
  return scoped(op, () => {
    const index = isTensor(indices) ? liveTensor(op, indices) : wrap(indexTensor(op, indices).index);
    if (!isInteger(index.dtype)) {
      fail("dtype", op, `the indices are ${index.dtype}.`, 'Indices are integers: convert with to("i64").');
    }
    const axis = normalizeAxis(op, options.axis ?? -1, index.rank + 1);
    const places = arange(depth, { dtype: "i32" }).reshape([depth, ...new Array(index.rank - axis).fill(1)]);
    const callable = hot(dtype).withValues([on, off].map((x) => scalarOf(op, x, dtype)));
    return wrap(elementwise(op, callable, [stridedOf(index.expandDims(axis)), stridedOf(places)]));
  }) as Tensor as Tensor<E>;
}

function hot(dtype: DType): Callable {
  return known(`hot ${dtype}`, () => {
    const b = new TemplateBuilder();
    const [on, off] = [b.cast(dtype, b.param(0)), b.cast(dtype, b.param(1))];
    const result = b.op("select", [b.op("eq", [b.input(0), b.input(1)]), on, off]);
    return b.finish(result, { inputs: 2, params: ["on", "off"], name: "oneHot" });
  });
}

/** A scalar that the dtype can hold, as the kernel's captured value. */
function scalarOf(op: string, x: unknown, dtype: DType): Scalar {
  if (typeof x !== "number" && typeof x !== "bigint" && typeof x !== "boolean") {
    return fail("value", op, `expected a number, got ${describe(x)}.`, "Give numbers for on and off.");
  }
  if (typeof x === "bigint" && !dtypes[dtype].big) return Number(x);
  return typeof x === "number" && dtypes[dtype].big ? BigInt(Math.trunc(x)) : x;
}

/**
 * The identity matrix: ones on the main diagonal, zeros elsewhere.
 *
 * @param n its rows and columns
 * @param options `dtype`, by default f32 or what `configure` says
 * @returns a new matrix [n, n]
 * @example
 * identity(2); // → f32 [[1, 0], [0, 1]]
 */
export const identity = <D extends DType = DefaultDType>(
  n: number,
  options: { readonly dtype?: D } = {},
): Tensor<D> => named("identity", () => eye(n, options));
