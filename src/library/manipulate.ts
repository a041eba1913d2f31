/**
 * Rearranging: views wherever strides can say it (they share memory with their tensor), one strided copy otherwise.
 * Joining and repeating is in join.ts, padding in pad.ts.
 */
import type { DType } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { axisList, numberList, readOptions, snapshot } from "../ops/arguments.ts";
import { assign } from "../ops/copy.ts";
import { allocate, filled } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { isTensor, liveTensor, liveTensors, stridedOf, type Tensor, viewOf, wrap } from "../tensor.ts";
import { broadcastShapes } from "../view/broadcast.ts";
import { normalizeAxes, normalizeAxis } from "../view/layout.ts";
import * as views from "../view/view.ts";
import { rearranged, type View } from "../view/view.ts";
import { named } from "./scoped.ts";

/** `count` indices of an axis from `start` on, every step-th. */
export function rangeOf(view: View, axis: number, start: number, count: number, step = 1): View {
  const shape = view.shape.map((n, d) => (d === axis ? count : n));
  const strides = view.strides.map((s, d) => (d === axis ? s * step : s));
  return rearranged(view, shape, strides, view.offset + start * view.strides[axis]);
}

/** Tensors in an array, one at least. */
export const tensorList = (op: string, tensors: unknown): Tensor[] =>
  liveTensors(op, tensors, `Give one at least: ${op}([a, b]).`);

/* Shape ------------------------------------------------------------------------------------------------ */

/**
 * The same elements, in row-major order, in another shape.
 *
 * @param t a tensor of any layout
 * @param shape the sizes; one of them may be -1 and follows from the others
 * @returns a view whenever strides allow it, else a copy
 * @throws TensorError where the shape has another number of elements
 * @example
 * reshape(arange(4), [2, -1]); // → f32 [[0, 1], [2, 3]]
 */
export const reshape = <D extends DType>(t: Tensor<D>, shape: number | readonly number[]): Tensor<D> =>
  typed("reshape", t).reshape(...(typeof shape === "number" ? [shape] : [shape as readonly number[]]));
/**
 * All elements in row-major order along one axis: a view whenever the strides allow it.
 *
 * @param t a tensor of any layout
 * @returns a vector: a view whenever strides allow it, else a copy
 * @example
 * ravel(tensor([[1, 2], [3, 4]])); // → f32 [1, 2, 3, 4]
 */
export const ravel = <D extends DType>(t: Tensor<D>): Tensor<D> => typed("ravel", t).reshape(-1);
/**
 * As ravel, always a copy.
 *
 * @param t a tensor of any layout
 * @returns a new vector
 * @example
 * flatten(tensor([[1, 2], [3, 4]])); // → f32 [1, 2, 3, 4]
 */
export function flatten<D extends DType>(t: Tensor<D>): Tensor<D> {
  const op = "flatten";
  const out = allocate(op, typed(op, t).dtype, t.shape);
  filled(out, () => assign(op, out, stridedOf(t)));
  return wrap({ ...out, frame: views.contiguousView([t.size], stridedOf(t).frame.itemBytes) });
}
/**
 * With new axes of size 1.
 *
 * @param t a tensor of any layout
 * @param axes where they are in the result
 * @returns a view that shares t's memory
 * @example
 * expandDims(zeros([2, 3]), 1).shape; // → [2, 1, 3]
 */
export const expandDims = <D extends DType>(t: Tensor<D>, axes: number | readonly number[]): Tensor<D> =>
  typed("expandDims", t).expandDims(axes);
/**
 * Without the axes of size 1, or without those given.
 *
 * @param t a tensor of any layout
 * @param axes an axis or several, which must have size 1; default all that do
 * @returns a view that shares t's memory
 * @example
 * squeeze(zeros([1, 3, 1])).shape; // → [3]
 */
export const squeeze = <D extends DType>(t: Tensor<D>, axes?: number | readonly number[]): Tensor<D> =>
  typed("squeeze", t).squeeze(axes);
/**
 * Repeated along axes of size 1 and new leading axes by stride 0: no element is copied.
 *
 * @param t a tensor of any layout
 * @param shape the sizes
 * @returns a read-only view that shares t's memory
 * @throws TensorError where a size is neither 1 nor the one asked for
 * @example
 * broadcastTo(tensor([1, 2]), [2, 2]); // → f32 [[1, 2], [1, 2]]
 */
export const broadcastTo = <D extends DType>(t: Tensor<D>, shape: readonly number[]): Tensor<D> =>
  typed("broadcastTo", t).broadcastTo(shape);

/**
 * Every tensor broadcast to the common shape: views, read-only where they repeat. `broadcastArrays(a, b)`, or a list.
 *
 * @param tensors as arguments, or one list
 * @returns one view a tensor, all of one shape
 * @throws TensorError where the shapes do not broadcast
 * @example
 * const [a] = broadcastArrays(tensor([1, 2]), zeros([2, 1]));
 * a; // → f32 [[1, 2], [1, 2]]
 */
export function broadcastArrays<const T extends readonly Tensor[]>(
  tensors: T,
): { -readonly [K in keyof T]: T[K] };
export function broadcastArrays<T extends readonly Tensor[]>(...tensors: T): { [K in keyof T]: T[K] };
export function broadcastArrays(...given: unknown[]): Tensor[] {
  const op = "broadcastArrays";
  const all = tensorList(op, (given.length === 1 && !isTensor(given[0]) ? given[0] : given) as Tensor[]);
  const shape = broadcastShapes(
    op,
    all.map((t) => t.shape),
  );
  return all.map((t) => t.broadcastTo(shape));
}

/**
 * One axis at least: a 0-d tensor becomes a vector of one.
 *
 * @param t a tensor of any layout
 * @returns a view that shares t's memory
 * @example
 * atleast1d(tensor(5)); // → f32 [5]
 */
export const atleast1d = <D extends DType>(t: Tensor<D>): Tensor<D> => atLeast("atleast1d", t, 1);
/**
 * Two axes at least: a vector becomes a row.
 *
 * @param t a tensor of any layout
 * @returns a view that shares t's memory
 * @example
 * atleast2d(tensor([1, 2])).shape; // → [1, 2]
 */
export const atleast2d = <D extends DType>(t: Tensor<D>): Tensor<D> => atLeast("atleast2d", t, 2);
/**
 * Three axes at least, as NumPy: a vector becomes [1, n, 1], a matrix [m, n, 1].
 *
 * @param t a tensor of any layout
 * @returns a view that shares t's memory
 * @example
 * atleast3d(tensor([1, 2])).shape; // → [1, 2, 1]
 */
export const atleast3d = <D extends DType>(t: Tensor<D>): Tensor<D> => atLeast("atleast3d", t, 3);

function atLeast<D extends DType>(op: string, t: Tensor<D>, rank: 1 | 2 | 3): Tensor<D> {
  typed(op, t);
  const { length } = t.shape;
  if (length >= rank) return viewOf(op, t, (frame) => frame);
  const front = rank === 3 ? (length === 2 ? 0 : 1) : rank - length;
  const back = rank - length - front;
  const ones = (count: number) => new Array<number>(count).fill(1);
  const zeros = (count: number) => new Array<number>(count).fill(0);
  return viewOf(op, t, (frame) => ({
    ...frame,
    shape: [...ones(front), ...frame.shape, ...ones(back)],
    strides: [...zeros(front), ...frame.strides, ...zeros(back)],
  }));
}

/* Axes ------------------------------------------------------------------------------------------------- */

/**
 * The axes in another order.
 *
 * @param t a tensor of any layout
 * @param axes every axis once
 * @returns a view that shares t's memory
 * @example
 * permuteDims(zeros([2, 3, 4]), [2, 0, 1]).shape; // → [4, 2, 3]
 */
export const permuteDims = <D extends DType>(t: Tensor<D>, axes: readonly number[]): Tensor<D> =>
  named("permuteDims", () => typed("permuteDims", t).permute(axes));
/**
 * Two axes in each other's place.
 *
 * @param t a tensor of any layout
 * @param a an axis; negative ones count from the end
 * @param b the other
 * @returns a view that shares t's memory
 * @example
 * swapAxes(zeros([2, 3, 4]), 0, 2).shape; // → [4, 3, 2]
 */
export const swapAxes = <D extends DType>(t: Tensor<D>, a: number, b: number): Tensor<D> =>
  typed("swapAxes", t).swapAxes(a, b);
/**
 * Axes moved to other places; the others keep their order.
 *
 * @param t a tensor of any layout
 * @param source an axis, or several
 * @param destination where each of them goes
 * @returns a view that shares t's memory
 * @example
 * moveAxis(zeros([2, 3, 4]), 0, -1).shape; // → [3, 4, 2]
 */
export const moveAxis = <D extends DType>(
  t: Tensor<D>,
  source: number | readonly number[],
  destination: number | readonly number[],
): Tensor<D> => typed("moveAxis", t).moveAxis(source, destination);
/**
 * The last two axes change places.
 *
 * @param t a matrix, or a batch of them
 * @returns a view that shares t's memory
 * @example
 * matrixTranspose(zeros([5, 2, 3])).shape; // → [5, 3, 2]
 */
export const matrixTranspose = <D extends DType>(t: Tensor<D>): Tensor<D> => {
  if (typed("matrixTranspose", t).rank < 2) {
    fail("shape", "matrixTranspose", `${list(t.shape)} is no matrix.`, "It needs two axes at least.");
  }
  return t.swapAxes(-1, -2);
};
/**
 * Walks the axes (default: all) backwards.
 *
 * @param t a tensor of any layout
 * @param axes an axis or several
 * @returns a view that shares t's memory
 * @example
 * flip(tensor([1, 2, 3])); // → f32 [3, 2, 1]
 */
export const flip = <D extends DType>(t: Tensor<D>, axes?: number | readonly number[]): Tensor<D> =>
  typed("flip", t).flip(axes);

/** The options of `rot90`. */
export interface Rot90Options {
  /** How often; negative: clockwise. Default 1. */
  readonly k?: number;
  /** The plane, from its first axis towards its second. Default [0, 1]. */
  readonly axes?: readonly [number, number];
}

/**
 * Turned by 90 degrees, k times, in the plane of two axes: a view.
 *
 * @param t a tensor of any layout
 * @param options `k`: how often, clockwise where negative; `axes`: the plane, default [0, 1]
 * @returns a view that shares t's memory
 * @example
 * rot90(tensor([[1, 2], [3, 4]])); // → f32 [[2, 4], [1, 3]]
 */
export function rot90<D extends DType>(t: Tensor<D>, options: Rot90Options = {}): Tensor<D> {
  const op = "rot90";
  options = readOptions(op, options, "{ k: 2 }", ["k", "axes"]);
  typed(op, t);
  typed(op, t);
  const { k = 1 } = options;
  if (!Number.isSafeInteger(k)) fail("value", op, `k is ${describe(k)}.`, "Use a whole number of turns.");
  const plane = numberList(op, "axes", options.axes ?? [0, 1]);
  if (plane.length !== 2) fail("axis", op, `${list(plane)} is no plane.`, "Name two axes.");
  const [a, b] = normalizeAxes(op, plane, t.rank);
  const turned = [
    (v: View) => v,
    (v: View) => views.swapAxes(views.flip(v, b), a, b),
    (v: View) => views.flip(v, [a, b]),
    (v: View) => views.flip(views.swapAxes(v, a, b), b),
  ][((k % 4) + 4) % 4];
  return viewOf(op, t, turned);
}

/* Taking apart ----------------------------------------------------------------------------------------- */

export interface AxisChoice {
  /** Default 0. */
  readonly axis?: number;
}

/**
 * The slices along an axis, without it: views.
 *
 * @param t a tensor of any layout
 * @param options `axis`, default 0
 * @returns as many views as the axis is long
 * @example
 * const [first, second] = unstack(tensor([[1, 2], [3, 4]]));
 * second; // → f32 [3, 4]
 */
export function unstack<D extends DType>(t: Tensor<D>, options: AxisChoice = {}): Tensor<D>[] {
  const op = "unstack";
  const axis = axisOf(op, t, options);
  if (t.shape[axis] > MOST_PARTS) {
    fail(
      "shape",
      op,
      `${list(t.shape)} would be ${t.shape[axis]} parts.`,
      `Take a slice of at most ${MOST_PARTS}.`,
    );
  }
  return Array.from({ length: t.shape[axis] }, (_, i) =>
    viewOf(op, t, (frame) => views.squeeze(rangeOf(frame, axis, i, 1), axis)),
  );
}

/**
 * So many equal parts, or parts that end at the given indices: views.
 *
 * @param t a tensor of any layout
 * @param parts how many, or the indices where parts begin
 * @param options `axis`, default 0
 * @returns views that share t's memory
 * @throws TensorError where so many equal parts are not possible; `arraySplit` allows it
 * @example
 * const [a, b] = split(arange(5), [2]);
 * b; // → f32 [2, 3, 4]
 */
export function split<D extends DType>(
  t: Tensor<D>,
  parts: number | readonly number[],
  options: AxisChoice = {},
): Tensor<D>[] {
  const op = "split";
  parts = snapshot(op, "the indices", parts);
  const axis = axisOf(op, t, options);
  if (typeof parts === "number") {
    checkParts(op, parts);
    if (t.shape[axis] % parts !== 0) {
      fail(
        "shape",
        op,
        `axis ${axis} of size ${t.shape[axis]} does not split into ${parts} equal parts.`,
        "Use arraySplit, whose first parts may be one longer, or give the indices to split at.",
      );
    }
  }
  return splitAxis(op, t, parts, axis);
}

/**
 * As split, but the first parts may be one longer than the others.
 *
 * @param t a tensor of any layout
 * @param parts how many, or the indices where parts begin
 * @param options `axis`, default 0
 * @returns views that share t's memory
 * @example
 * const [a, b] = arraySplit(arange(5), 2);
 * a; // → f32 [0, 1, 2]
 */
export function arraySplit<D extends DType>(
  t: Tensor<D>,
  parts: number | readonly number[],
  options: AxisChoice = {},
): Tensor<D>[] {
  const op = "arraySplit";
  parts = snapshot(op, "the indices", parts);
  const axis = axisOf(op, t, options);
  if (typeof parts === "number") checkParts(op, parts);
  return splitAxis(op, t, parts, axis);
}

/** Each part is a tensor of its own, and takes memory of JavaScript. */
const MOST_PARTS = 2 ** 24 - 1;

function checkParts(op: string, parts: number): void {
  if (Number.isSafeInteger(parts) && parts >= 1 && parts <= MOST_PARTS) return;
  fail(
    "value",
    op,
    `${describe(parts)} is no number of parts.`,
    `Use a whole number from 1 to ${MOST_PARTS}.`,
  );
}

function splitAxis<D extends DType>(
  op: string,
  t: Tensor<D>,
  parts: number | readonly number[],
  axis: number,
): Tensor<D>[] {
  const size = t.shape[axis];
  const ends = typeof parts === "number" ? evenEnds(size, parts) : [...indexList(op, parts), size];
  // As Python slices: negative ends count from the end, all are held inside, and nothing has a negative length.
  const inside = (x: number) => Math.min(size, Math.max(0, x < 0 ? x + size : x));
  return ends.map((end, i) => {
    const start = i === 0 ? 0 : inside(ends[i - 1]);
    const count = Math.max(0, inside(end) - start);
    return viewOf(op, t, (frame) => rangeOf(frame, axis, start, count));
  });
}

function evenEnds(size: number, parts: number): number[] {
  const [length, rest] = [Math.floor(size / parts), size % parts];
  return Array.from({ length: parts }, (_, i) => (i + 1) * length + Math.min(i + 1, rest));
}

function indexList(op: string, indices: unknown): readonly number[] {
  const all = numberList(op, "the indices", indices);
  const wrong = all.find((x) => !Number.isSafeInteger(x));
  if (wrong !== undefined) fail("value", op, `${describe(wrong)} is no index.`, wholeRemedy);
  return all;
}

/* Rolling ---------------------------------------------------------------------------------------------- */

/** The options of `roll`. */
export interface RollOptions {
  /** Default: the elements in row-major order, as if there was one axis. */
  readonly axis?: number | readonly number[];
}

const wholeRemedy = "Use whole numbers from -(2^53 - 1) to 2^53 - 1.";

/**
 * Shifted along axes; what leaves at one end comes back at the other.
 *
 * @param t a tensor of any layout
 * @param shift by how many, or one number an axis
 * @param options `axis`, or several; default: as if there was one axis
 * @returns a new tensor of t's shape and dtype
 * @example
 * roll(tensor([1, 2, 3, 4]), 1); // → f32 [4, 1, 2, 3]
 */
export function roll<D extends DType>(
  t: Tensor<D>,
  shift: number | readonly number[],
  options: RollOptions = {},
): Tensor<D> {
  const op = "roll";
  shift = snapshot(op, "the shift", shift);
  options = readOptions(op, options, "{ axis: 0 }", ["axis"]);
  typed(op, t);
  const shifts = typeof shift === "number" ? [shift] : numberList(op, "the shift", shift);
  for (const s of shifts) {
    if (!Number.isSafeInteger(s)) fail("value", op, `the shift is ${describe(s)}.`, wholeRemedy);
  }
  if (options.axis === undefined) return rollFlat(op, t, shifts);
  const given = axisList(op, options.axis);
  const axes = typeof given === "number" ? [given] : given;
  const count = Math.max(axes.length, shifts.length);
  if ((axes.length !== count && axes.length !== 1) || (shifts.length !== count && shifts.length !== 1)) {
    fail("shape", op, `${shifts.length} shifts for ${axes.length} axes.`, "Give one shift for each axis.");
  }
  const total = new Array<number>(t.rank).fill(0);
  for (let k = 0; k < count; k++) {
    total[normalizeAxis(op, axes[axes.length === 1 ? 0 : k], t.rank)] += shifts[shifts.length === 1 ? 0 : k];
  }
  const out = allocate(op, t.dtype, t.shape);
  return wrap(filled(out, () => rollInto(op, out, stridedOf(t), total)));
}

function rollFlat<D extends DType>(op: string, t: Tensor<D>, shifts: readonly number[]): Tensor<D> {
  const flat = t.reshape(-1);
  const out = allocate(op, t.dtype, t.shape);
  const line = { ...out, frame: views.contiguousView([t.size], stridedOf(t).frame.itemBytes) };
  const total = shifts.reduce((a, b) => a + b, 0);
  try {
    return wrap(filled(out, () => rollInto(op, line, stridedOf(flat), [total])));
  } finally {
    flat.dispose();
  }
}

/** Each axis is two runs, so the tensor is up to 2^k blocks: each is one copy. */
function rollInto(op: string, out: Strided, t: Strided, shifts: readonly number[]): void {
  const block = (axis: number, to: View, from: View): void => {
    if (axis === shifts.length) {
      assign(op, { ...out, frame: to }, { ...t, frame: from });
      return;
    }
    const size = to.shape[axis];
    const s = size === 0 ? 0 : ((shifts[axis] % size) + size) % size;
    block(axis + 1, rangeOf(to, axis, s, size - s), rangeOf(from, axis, 0, size - s));
    if (s > 0) block(axis + 1, rangeOf(to, axis, 0, s), rangeOf(from, axis, size - s, s));
  };
  block(0, out.frame, t.frame);
}

/* Arguments -------------------------------------------------------------------------------------------- */

function typed<D extends DType>(op: string, t: Tensor<D>): Tensor<D> {
  liveTensor(op, t);
  return t;
}

/** The axis that the options name, of a tensor that may be used. */
function axisOf(op: string, t: Tensor, options: AxisChoice): number {
  options = readOptions(op, options, "{ axis: 1 }", ["axis"]);
  liveTensor(op, t);
  return normalizeAxis(op, options.axis ?? 0, t.rank);
}
