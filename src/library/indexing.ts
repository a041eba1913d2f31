/**
 * Indexing with tensors: what slices cannot say, as NumPy's t[i, j] with integer arrays. Reading gives a new tensor;
 * writing changes the tensor and gives it back. Negative indices count from the end, and an index out of range is an
 * error before anything is read or written.
 */
import { scope } from "../api.ts";
import type { DType } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import type { Program } from "../ir/node.ts";
import { readOptions, snapshot } from "../ops/arguments.ts";
import { assign, copyTo } from "../ops/copy.ts";
import type { Nested } from "../ops/create.ts";
import { allocate, checkWritable, filled } from "../ops/strided.ts";
import { tellCopy } from "../ops/tell.ts";
import type { IndexedAxis, Places } from "../routines/index.ts";
import type { Strided } from "../run/call.ts";
import { live, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { normalizeAxis, sizeOf } from "../view/layout.ts";
import { reshape } from "../view/reshape.ts";
import { broadcastTo, contiguousView, type View } from "../view/view.ts";
import type { IndexMode } from "../wasm/routines/index/gather.ts";
import {
  checkMode,
  gatherTo,
  type Indices,
  indexTensor,
  offsetsOf,
  placesAt,
  scatterTo,
  valuesTensor,
  withValues,
} from "./offsets.ts";

export type { Indices } from "./offsets.ts";

/** What is written: a tensor (converted and broadcast), a number, or nested arrays. */
export type Values = Tensor | Nested;

/** The options of `take`. */
export interface TakeOptions {
  /** Default: the elements in row-major order, as if the tensor had one axis. */
  readonly axis?: number;
  /** An index out of range: an error (the default), modulo the size, or the nearest end. */
  readonly mode?: IndexMode;
}
/** Which axis indices run along. */
export interface AlongOptions {
  /** Default: the last. */
  readonly axis?: number;
}
export interface AxisOption {
  /** Default: the first. */
  readonly axis?: number;
}

/* Reading ---------------------------------------------------------------------------------------------- */

/**
 * t[…, indices, …]: slices of one axis, chosen by indices of any shape.
 *
 * @param t a tensor of any layout
 * @param indices a tensor of integers, a number or nested arrays; negative ones count from the end
 * @param options `axis`; default: as if there was one axis; `mode`: what an index out of range means
 * @returns a new tensor; the indices' shape stands in place of the axis
 * @throws TensorError where an index is out of range
 * @example
 * take(tensor([10, 20, 30]), [2, 0, -1]); // → f32 [30, 10, 30]
 */
export function take<D extends DType>(t: Tensor<D>, indices: Indices, options: TakeOptions = {}): Tensor<D> {
  const op = "take";
  indices = snapshot(op, "the indices", indices);
  options = readOptions(op, options, "{ axis: 0 }", ["axis", "mode"]);
  liveTensor(op, t);
  const mode = checkMode(op, options.mode);
  if (options.axis === undefined && t.rank !== 1) {
    return scope(() => {
      const flat = t.reshape(-1);
      return read(op, flat, choose(op, stridedOf(flat), indices, 0, mode));
    });
  }
  return read(op, t, choose(op, stridedOf(t), indices, options.axis ?? 0, mode));
}

/**
 * One element for each index: out[…, i, …] = t[…, indices[…, i, …], …]; the other axes broadcast.
 *
 * @param t a tensor of any layout
 * @param indices as many axes as t
 * @param options `axis`, default the last
 * @returns a new tensor of the indices' shape, as broadcast
 * @throws TensorError where an index is out of range
 * @example
 * takeAlongAxis(tensor([[3, 1], [2, 4]]), [[1], [0]]); // → f32 [[1], [2]]
 */
export function takeAlongAxis<D extends DType>(
  t: Tensor<D>,
  indices: Indices,
  options: AlongOptions = {},
): Tensor<D> {
  const op = "takeAlongAxis";
  indices = snapshot(op, "the indices", indices);
  options = readOptions(op, options, "{ axis: 1 }", ["axis"]);
  liveTensor(op, t);
  return read(op, t, alongAxis(op, stridedOf(t), indices, options.axis ?? -1, "read"));
}

/**
 * t[i, j, …]: one index tensor for each leading axis, broadcast together.
 *
 * @param t a tensor of any layout
 * @param indices a list: one for each leading axis
 * @returns a new tensor: the indices' shape, then the axes that are left
 * @throws TensorError where an index is out of range
 * @example
 * gather(tensor([[1, 2], [3, 4]]), [[0, 1], [1, 0]]); // → f32 [2, 3]
 */
export function gather<D extends DType>(t: Tensor<D>, indices: readonly Indices[]): Tensor<D> {
  const op = "gather";
  indices = snapshot(op, "the indices", indices);
  liveTensor(op, t);
  return read(op, t, chooseAll(op, stridedOf(t), indices));
}

/* Writing ---------------------------------------------------------------------------------------------- */

/**
 * t[…, indices, …] = values, along one axis (default: the first). The last of several values for a place stays.
 *
 * @param t the tensor to write to
 * @param indices integers of any shape
 * @param values converted and broadcast
 * @param options `axis`, `mode`
 * @returns t
 * @throws TensorError where an index is out of range, before anything is written
 * @example
 * assignTake(zeros([3]), [0, 2], [5, 7]); // → f32 [5, 0, 7]
 */
export function assignTake<D extends DType>(
  t: Tensor<D>,
  indices: Indices,
  values: Values,
  options: AxisOption & Pick<TakeOptions, "mode"> = {},
): Tensor<D> {
  const op = "assignTake";
  indices = snapshot(op, "the indices", indices);
  values = snapshot(op, "the values", values);
  options = readOptions(op, options, "{ axis: 0 }", ["axis", "mode"]);
  checkDestination(op, t);
  const mode = checkMode(op, options.mode);
  write(op, stridedOf(t), values, choose(op, stridedOf(t), indices, options.axis ?? 0, mode), null);
  return t;
}

/**
 * t[…, indices[…, i, …], …] = values[…, i, …]; as takeAlongAxis, but writing.
 *
 * @param t the tensor to write to
 * @param indices as many axes as t
 * @param values converted and broadcast
 * @param options `axis`, default the last
 * @returns t
 * @throws TensorError where an index is out of range, before anything is written
 * @example
 * putAlongAxis(zeros([2, 2]), [[1], [0]], 9); // → f32 [[0, 9], [9, 0]]
 */
export function putAlongAxis<D extends DType>(
  t: Tensor<D>,
  indices: Indices,
  values: Values,
  options: AlongOptions = {},
): Tensor<D> {
  const op = "putAlongAxis";
  indices = snapshot(op, "the indices", indices);
  values = snapshot(op, "the values", values);
  options = readOptions(op, options, "{ axis: 1 }", ["axis"]);
  checkDestination(op, t);
  write(op, stridedOf(t), values, alongAxis(op, stridedOf(t), indices, options.axis ?? -1, "write"), null);
  return t;
}

/**
 * t[i, j, …] = values; as gather, but writing. The last of several values for a place stays.
 *
 * @param t the tensor to write to
 * @param indices a list: one for each leading axis
 * @param values converted and broadcast
 * @returns t
 * @throws TensorError where an index is out of range, before anything is written
 * @example
 * assignAt(zeros([2, 2]), [[0, 1], [1, 0]], [5, 6]); // → f32 [[0, 5], [6, 0]]
 */
export function assignAt<D extends DType>(
  t: Tensor<D>,
  indices: readonly Indices[],
  values: Values,
): Tensor<D> {
  const op = "assignAt";
  indices = snapshot(op, "the indices", indices);
  values = snapshot(op, "the values", values);
  checkDestination(op, t);
  write(op, stridedOf(t), values, chooseAll(op, stridedOf(t), indices), null);
  return t;
}

/**
 * t[indices] += values, in which every value counts however often a place is named (NumPy's add.at). One index tensor
 * chooses along an axis, a list of them as gather. The sums are made in the values' order: the same bits for any number
 * of threads.
 *
 * @param t the tensor to add to
 * @param indices a tensor of integers, or a list of them, one for each leading axis
 * @param values converted and broadcast
 * @param options `axis`, default the first
 * @returns t
 * @throws TensorError where an index is out of range, before anything is written
 * @example
 * scatterAdd(zeros([3]), tensor([0, 0, 2], { dtype: "i32" }), [1, 2, 5]); // → f32 [3, 0, 5]
 */
export function scatterAdd<D extends DType>(
  t: Tensor<D>,
  indices: Tensor | readonly Indices[],
  values: Values,
  options: AxisOption = {},
): Tensor<D> {
  const op = "scatterAdd";
  indices = snapshot(op, "the indices", indices);
  values = snapshot(op, "the values", values);
  options = readOptions(op, options, "{ axis: 0 }", ["axis"]);
  checkDestination(op, t);
  if (Array.isArray(indices) && options.axis !== undefined) {
    fail(
      "value",
      op,
      "an axis is given beside a list of index tensors.",
      "A list has one tensor for each leading axis; give one tensor to choose along another.",
    );
  }
  const chosen = Array.isArray(indices)
    ? chooseAll(op, stridedOf(t), indices)
    : choose(op, stridedOf(t), indices as Tensor, options.axis ?? 0, "raise");
  write(op, stridedOf(t), values, chosen, addition(t.dtype));
  return t;
}

/**
 * NumPy's put: indices into the elements in row-major order, values in row-major order too and repeated if they are
 * fewer.
 *
 * @param t the tensor to write to
 * @param indices positions in the flattened tensor
 * @param values converted, and repeated if they are fewer
 * @param options `mode`: what an index out of range means
 * @returns t
 * @example
 * put(zeros([2, 2]), [0, 3], [1, 2]); // → f32 [[1, 0], [0, 2]]
 */
export function put<D extends DType>(
  t: Tensor<D>,
  indices: Indices,
  values: Values,
  options: Pick<TakeOptions, "mode"> = {},
): Tensor<D> {
  const op = "put";
  indices = snapshot(op, "the indices", indices);
  values = snapshot(op, "the values", values);
  options = readOptions(op, options, '{ mode: "clip" }', ["mode"]);
  checkDestination(op, t);
  const mode = checkMode(op, options.mode);
  const view = reshape(stridedOf(t).frame, [t.size]);
  if (view === null) {
    tellCopy(
      op,
      t.size * stridedOf(t).frame.itemBytes,
      "no strides number these elements from 0, so a copy is changed and copied back",
    );
  }
  const flat: Strided =
    view === null ? copyTo(op, stridedOf(t), t.dtype) : { ...stridedOf(t), frame: view, readOnly: false };
  const line = { ...flat, frame: view ?? contiguousView([t.size], stridedOf(t).frame.itemBytes) };
  try {
    const { source, made } = valuesTensor(op, values, t.dtype);
    try {
      const chosen = chooseFlat(op, line, indices, mode);
      releasing(chosen, () => putValues(op, line, source, chosen));
    } finally {
      if (made) source.storage.release();
    }
    if (view === null)
      assign(op, stridedOf(t), { ...flat, frame: contiguousView(t.shape, stridedOf(t).frame.itemBytes) });
  } finally {
    if (view === null) flat.storage.release();
  }
  return t;
}

/** Indices of any shape, as one list. */
function chooseFlat(op: string, line: Strided, indices: Indices, mode: IndexMode): Chosen {
  return withIndices(op, [indices], ([index]) => {
    const count = sizeOf(index.frame.shape);
    const view = reshape(index.frame, [count]);
    if (view !== null) return withAxes(op, line.frame, 0, [{ ...index, frame: view }], [count], mode);
    const copy = copyTo(op, index, index.dtype);
    try {
      const dense = { ...copy, frame: contiguousView([count], copy.frame.itemBytes) };
      return withAxes(op, line.frame, 0, [dense], [count], mode);
    } finally {
      copy.storage.release();
    }
  });
}

/** The values in row-major order, as often as it takes. */
function putValues(op: string, line: Strided, source: Strided, chosen: Chosen): void {
  const count = chosen.places.shape[0];
  const have = sizeOf(source.frame.shape);
  if (have === 0 && count > 0) {
    fail("shape", op, `no values for ${count} indices.`, "Give one value at least.");
  }
  const rounds = count === 0 ? 1 : Math.ceil(count / have);
  scope(() => {
    const once = wrap(copyTo(op, source, line.dtype)).reshape(1, have);
    const values = once.broadcastTo(rounds, have).reshape(-1).slice([0, count]);
    scatterTo(op, line, stridedOf(values), chosen.offsets, chosen.places, null);
  });
}

/* What is chosen --------------------------------------------------------------------------------------- */

/** Places in a tensor; the offsets are released by whoever reads or writes them. */
interface Chosen {
  readonly places: Places;
  readonly offsets: Strided<"u32">;
}

/** Calls `use` with the indices as tensors and frees those that were made of numbers. */
function withIndices<R>(op: string, indices: readonly unknown[], use: (all: readonly Strided[]) => R): R {
  const made: Strided[] = [];
  try {
    const all = indices.map((x) => {
      const { index, made: isOurs } = indexTensor(op, x);
      if (isOurs) made.push(index);
      return index;
    });
    return use(all);
  } finally {
    for (const index of made) index.storage.release();
  }
}

function choose(op: string, t: Strided, indices: Indices, axis: number, mode: IndexMode): Chosen {
  const d = normalizeAxis(op, axis, t.frame.shape.length);
  return withIndices(op, [indices], ([index]) => withAxes(op, t.frame, d, [index], index.frame.shape, mode));
}

/** One index for each axis of the view from `first` on. */
function withAxes(
  op: string,
  view: View,
  first: number,
  indices: readonly Strided[],
  shape: readonly number[],
  mode: IndexMode,
): Chosen {
  const axes = indices.map((_, k) => indexedAxis(view, first + k));
  const places = placesAt(view, first, indices.length, shape);
  return { places, offsets: offsetsOf(op, shape, indices, axes, mode) };
}

const indexedAxis = (view: View, axis: number): IndexedAxis => ({
  axis,
  size: view.shape[axis],
  step: view.strides[axis],
});

/** Index tensors for the leading axes, broadcast together. */
function chooseAll(op: string, t: Strided, indices: readonly Indices[]): Chosen {
  const rank = t.frame.shape.length;
  if (!Array.isArray(indices) || indices.length === 0 || indices.length > rank) {
    fail(
      "value",
      op,
      Array.isArray(indices)
        ? `${indices.length} index tensors for shape ${list(t.frame.shape)}.`
        : `expected an array of index tensors, got ${describe(indices)}.`,
      `Give one for each leading axis: ${op}(t, [i, j]).`,
    );
  }
  return withIndices(op, Array.from(indices), (all) => {
    const shapes = all.map((index) => index.frame.shape);
    return withAxes(op, t.frame, 0, all, broadcastShapes(op, shapes), "raise");
  });
}

function alongAxis(op: string, t: Strided, indices: Indices, axis: number, use: "read" | "write"): Chosen {
  const { shape } = t.frame;
  const d = normalizeAxis(op, axis, shape.length);
  return withIndices(op, [indices], ([index]) => {
    const chosen = index.frame.shape;
    if (chosen.length !== shape.length) {
      fail(
        "shape",
        op,
        `the indices have shape ${list(chosen)}, the tensor ${list(shape)}.`,
        "Both need the same number of axes.",
      );
    }
    const others = (s: readonly number[]) => s.map((n, k) => (k === d ? 1 : n));
    const common = broadcastShapes(op, [others(shape), others(chosen)]);
    if (use === "write" && common.some((n, k) => k !== d && n !== shape[k])) {
      fail(
        "shape",
        op,
        `indices of shape ${list(chosen)} reach beyond the tensor's ${list(shape)}.`,
        "Beside the axis, their sizes must be 1 or the tensor's.",
      );
    }
    const walk = common.map((n, k) => (k === d ? chosen[d] : n));
    const fixed = {
      ...t.frame,
      shape: others(shape),
      strides: t.frame.strides.map((s, k) => (k === d ? 0 : s)),
    };
    const indexed = broadcastTo(fixed, walk);
    const offsets = offsetsOf(op, chosen, [index], [indexedAxis(t.frame, d)]);
    return { places: { shape: walk, indexed, offsets: broadcastTo(offsets.frame, walk) }, offsets };
  });
}

/* Moving ----------------------------------------------------------------------------------------------- */

function releasing<R>({ offsets }: Chosen, use: () => R): R {
  try {
    return use();
  } finally {
    offsets.storage.release();
  }
}

function read<D extends DType>(op: string, t: Tensor<D>, chosen: Chosen): Tensor<D> {
  const { places, offsets } = chosen;
  return releasing(chosen, () => {
    const out = allocate(op, t.dtype, places.shape);
    return wrap(filled(out, () => gatherTo(op, out, stridedOf(t), offsets, places)));
  });
}

function write(op: string, t: Strided, values: unknown, chosen: Chosen, fold: Program | null): void {
  const { places, offsets } = chosen;
  releasing(chosen, () =>
    withValues(op, t, values, places.shape, (source) => scatterTo(op, t, source, offsets, places, fold)),
  );
}

function checkDestination(op: string, t: Tensor): void {
  checkWritable(op, live(op, t));
}

/** x + y in the dtype; on bool, or. */
function addition(dtype: DType): Program {
  const b = new Builder();
  const [x, y] = [b.input(0, dtype), b.input(1, dtype)];
  return b.finish(b.op(dtype === "bool" ? "or" : "add", x, y), [dtype, dtype]);
}
