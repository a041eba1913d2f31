/** Masks: which elements are true, those elements, and writing to them. NumPy's nonzero, t[mask] and t[mask] = values. */
import type { DType } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import { readOptions, snapshot } from "../ops/arguments.ts";
import { copyTo } from "../ops/copy.ts";
import { fromData, type Nested } from "../ops/create.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate, checkWritable, filled, share } from "../ops/strided.ts";
import { tellCopy } from "../ops/tell.ts";
import { compressRoutine, countTrueRoutine, positionsRoutine, unravelRoutine } from "../routines/index.ts";
import type { Strided } from "../run/call.ts";
import { live, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxis, sameShape, sizeOf } from "../view/layout.ts";
import { contiguousView, isContiguous, type View } from "../view/view.ts";
import { take, type Values } from "./indexing.ts";
import { gatherTo, placesAt, scatterOnce, withValues } from "./offsets.ts";
import { named } from "./scoped.ts";

/**
 * The elements of t where the mask is true, in row-major order. The mask covers the leading axes of t.
 *
 * @param t a tensor of any layout
 * @param mask a bool tensor
 * @returns a new tensor: one axis for what the mask covers, then the axes that are left
 * @throws TensorError where the mask is not bool, or its shape is not that of the leading axes
 * @example
 * const t = tensor([3, -1, 4]);
 * booleanMask(t, t.greater(0)); // → f32 [3, 4]
 */
export function booleanMask<D extends DType>(t: Tensor<D>, mask: Tensor): Tensor<D> {
  const op = "booleanMask";
  liveTensor(op, t);
  return withMask(maskOf(op, stridedOf(t), mask), (m) => wrap(masked(op, stridedOf(t), m)));
}

/**
 * t[mask] = values, in row-major order; broadcast to what the mask chooses. Changes t and gives it back.
 *
 * @param t the tensor to write to
 * @param mask a bool tensor over its leading axes
 * @param values converted and broadcast
 * @returns t
 * @example
 * const t = tensor([3, -1, 4]);
 * assignMask(t, t.less(0), 0); // → f32 [3, 0, 4]
 */
export function assignMask<D extends DType>(t: Tensor<D>, mask: Tensor, values: Values): Tensor<D> {
  const op = "assignMask";
  values = snapshot(op, "the values", values);
  checkWritable(op, live(op, t));
  withMask(maskOf(op, stridedOf(t), mask), (m) => {
    const { offsets, count } = positionsIn(op, stridedOf(t).frame, m);
    try {
      const places = placesAt(stridedOf(t).frame, 0, m.frame.shape.length, [count]);
      withValues(op, stridedOf(t), values, places.shape, (source) =>
        scatterOnce(op, stridedOf(t), source, offsets, places),
      );
    } finally {
      offsets.storage.release();
    }
  });
  return t;
}

/**
 * Indices of the elements that are not 0 (NaN is not): one i64 vector an axis, in row-major order.
 *
 * @param t a tensor of any layout
 * @returns one new vector an axis, all of one length
 * @example
 * const [rows, columns] = nonzero(tensor([[0, 1], [2, 0]]));
 * columns; // → i64 [1n, 0n]
 */
export function nonzero(t: Tensor): Tensor<"i64">[] {
  const op = "nonzero";
  if (liveTensor(op, t).rank === 0) {
    fail("shape", op, "a 0-d tensor has no indices.", "Give it an axis: reshape(1).");
  }
  return withMask(truth(op, stridedOf(t)), (m) => {
    if (t.rank === 1) return [wrap(ordinals(op, m))];
    const { offsets, count } = positionsIn(op, contiguousView(t.shape, 1), m);
    try {
      const along = (d: number) => indicesAlong(op, offsets, count, t.shape, [d]);
      return t.shape.map((_, d) => wrap({ ...along(d), frame: contiguousView([count], 8) }));
    } finally {
      offsets.storage.release();
    }
  });
}

/**
 * As nonzero, as rows: a [count, rank] tensor.
 *
 * @param t a tensor of any layout
 * @returns a new i64 matrix, a row for each element that is not 0
 * @example
 * argwhere(tensor([[0, 1], [2, 0]])); // → i64 [[0n, 1n], [1n, 0n]]
 */
export function argwhere(t: Tensor): Tensor<"i64"> {
  const op = "argwhere";
  liveTensor(op, t);
  return withMask(truth(op, stridedOf(t)), (m) => {
    const { offsets, count } = positionsIn(op, contiguousView(t.shape, 1), m);
    const axes = t.shape.map((_, d) => d);
    try {
      return wrap(indicesAlong(op, offsets, count, t.shape, axes));
    } finally {
      offsets.storage.release();
    }
  });
}

/**
 * Indices into the elements in row-major order of those that are not 0.
 *
 * @param t a tensor of any layout
 * @returns a new i64 vector
 * @example
 * flatnonzero(tensor([[0, 1], [2, 0]])); // → i64 [1n, 2n]
 */
export function flatnonzero(t: Tensor): Tensor<"i64"> {
  const op = "flatnonzero";
  return withMask(truth(op, live(op, t)), (m) => wrap(ordinals(op, m)));
}

/**
 * NumPy's compress: slices along an axis (default: the elements in row-major order) where the condition, a vector, is
 * true. It may be shorter than the axis.
 *
 * @param t a tensor of any layout
 * @param condition a vector
 * @param options `axis`; default: as if there was one axis
 * @returns a new tensor of t's dtype
 * @example
 * compress(tensor([1, 2, 3]), [true, false, true]); // → f32 [1, 3]
 */
export function compress<D extends DType>(
  t: Tensor<D>,
  condition: Tensor | readonly (number | boolean)[],
  options: { readonly axis?: number } = {},
): Tensor<D> {
  const op = "compress";
  condition = snapshot(op, "the condition", condition);
  options = readOptions(op, options, "{ axis: 0 }", ["axis"]);
  liveTensor(op, t);
  if (options.axis !== undefined) normalizeAxis(op, options.axis, t.rank);
  const made = Array.isArray(condition);
  const given = made ? fromData(condition as Nested, { dtype: "bool" }, op) : live(op, condition as Tensor);
  try {
    if (given.frame.shape.length !== 1) {
      fail("shape", op, `the condition has shape ${list(given.frame.shape)}.`, "It is a vector.");
    }
    const chosen = withMask(truth(op, given), (m) => wrap(ordinals(op, m)));
    try {
      return named(op, () => take(t, chosen, options.axis === undefined ? {} : { axis: options.axis }));
    } finally {
      chosen.dispose();
    }
  } finally {
    if (made) given.storage.release();
  }
}

/* Masks in memory -------------------------------------------------------------------------------------- */

/** Calls `use` with a dense mask and lets go of it. */
function withMask<R>(mask: Strided<"bool">, use: (mask: Strided<"bool">) => R): R {
  try {
    return use(mask);
  } finally {
    mask.storage.release();
  }
}

/** Which elements are not 0, dense in row-major order: t itself where it is that already. */
function truth(op: string, t: Strided): Strided<"bool"> {
  if (t.dtype === "bool" && isContiguous(t.frame)) return share(t as Strided<"bool">, t.frame);
  if (t.dtype === "bool") {
    const why = "the mask is not contiguous, so it is brought into row-major order first";
    tellCopy(op, sizeOf(t.frame.shape), why);
  }
  return copyTo(op, t, "bool");
}

/** The mask of t, which must be bool and cover its leading axes. */
function maskOf(op: string, t: Strided, mask: Tensor): Strided<"bool"> {
  liveTensor(op, mask);
  if (mask.dtype !== "bool") {
    fail(
      "dtype",
      op,
      `the mask is ${mask.dtype}.`,
      "A mask is bool: compare first, such as t.greater(0), or use take for indices.",
    );
  }
  const { shape } = t.frame;
  // As the array API has it, a mask without elements chooses none, whatever axis it is empty along.
  const fits = mask.rank <= shape.length && mask.shape.every((n, d) => n === shape[d] || n === 0);
  if (!fits) {
    fail(
      "shape",
      op,
      `the mask has shape ${list(mask.shape)}, the tensor ${list(shape)}.`,
      "A mask has the shape of the tensor, or of its leading axes.",
    );
  }
  if (sameShape(mask.shape, shape.slice(0, mask.rank))) return truth(op, stridedOf(mask));
  return allocate(op, "bool", shape.slice(0, mask.rank), undefined, true) as Strided<"bool">;
}

/** The leading axes of a view that a mask covers, as bytes. */
const leading = (view: View, rank: number): View => ({
  ...view,
  shape: view.shape.slice(0, rank),
  strides: view.strides.slice(0, rank),
});

/** How many elements of a mask are true before each of its stretches, and in all. */
function countTrue(
  operation: string,
  mask: Strided<"bool">,
  view: View,
): { readonly starts: readonly number[]; readonly count: number } {
  const starts = runRoutine(countTrueRoutine, { operation, params: { view }, inputs: [mask], outs: [] });
  return { starts, count: starts[starts.length - 1] };
}

function masked<D extends DType>(op: string, t: Strided<D>, mask: Strided<"bool">): Strided<D> {
  const rank = mask.frame.shape.length;
  const view = leading(t.frame, rank);
  if (rank === t.frame.shape.length) {
    const { starts, count } = countTrue(op, mask, view);
    const out = allocate(op, t.dtype, [count]);
    const asked = { operation: op, params: { view, starts }, inputs: [t, mask], outs: [out] };
    return filled(out, () => runRoutine(compressRoutine, asked));
  }
  const { offsets, count } = positionsIn(op, t.frame, mask);
  try {
    const places = placesAt(t.frame, 0, rank, [count]);
    const out = allocate(op, t.dtype, places.shape);
    return filled(out, () => gatherTo(op, out, t, offsets, places));
  } finally {
    offsets.storage.release();
  }
}

/** The offsets, in the view, of the true elements of a mask over its leading axes. */
function positionsIn(
  op: string,
  view: View,
  mask: Strided<"bool">,
): { offsets: Strided<"u32">; count: number } {
  const offsets = positions(op, "u32", { ...leading(view, mask.frame.shape.length), offset: 0 }, mask);
  return { offsets, count: offsets.frame.shape[0] };
}

/** The numbers of the true elements in row-major order. */
function ordinals(op: string, mask: Strided<"bool">): Strided<"i64"> {
  return positions(op, "i64", contiguousView(mask.frame.shape, 1), mask);
}

function positions<D extends "u32" | "i64">(
  operation: string,
  dtype: D,
  view: View,
  mask: Strided<"bool">,
): Strided<D> {
  const { starts, count } = countTrue(operation, mask, view);
  const out = allocate(operation, dtype, [count]);
  const asked = { operation, params: { view, starts }, inputs: [mask], outs: [out] };
  return filled(out, () => runRoutine(positionsRoutine, asked));
}

/** Row-major numbers as indices along the given axes: [count, axes]. */
function indicesAlong(
  operation: string,
  numbers: Strided<"u32">,
  count: number,
  shape: readonly number[],
  axes: readonly number[],
): Strided<"i64"> {
  const out = allocate(operation, "i64", [count, axes.length]);
  return filled(out, () => {
    for (const [k, axis] of axes.entries()) {
      const column = { shape: [count], strides: [8 * axes.length], offset: 8 * k, itemBytes: 8 };
      const outs = [{ ...out, frame: column }];
      runRoutine(unravelRoutine, { operation, params: { shape, axis }, inputs: [numbers], outs });
    }
  });
}
