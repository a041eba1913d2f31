/**
 * Index arithmetic on shapes and strides, in whichever unit the caller counts (elements or bytes).
 *
 * The law of everything above it: index i lies at position offset + Σ strides[d]·i[d].
 * No memory and no views live here: only sizes, steps, indices and axis numbers, and their checks.
 */
import { fail, list, written } from "../errors.ts";

/** As NumPy 2: enough for anyone, and small enough that a loop nest stays a small object. */
export const MAX_RANK = 64;

/** Are two lists of sizes, or of steps, the same? */
export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let d = 0; d < a.length; d++) if (a[d] !== b[d]) return false;
  return true;
}

/** Number of elements: the product of the sizes, 1 for a 0-d shape. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (let d = 0; d < shape.length; d++) size *= shape[d];
  return size;
}

/**
 * Throws unless the shape is a list of at most 64 non-negative integers whose product is a safe integer.
 * Zeros count as 1 in that product, so that the strides of an empty shape are exact too.
 */
export function checkShape(op: string, shape: readonly number[]): void {
  if (shape.length > MAX_RANK) {
    fail("shape", op, `the shape has ${shape.length} axes.`, `At most ${MAX_RANK} axes are supported.`);
  }
  let size = 1;
  for (let d = 0; d < shape.length; d++) {
    const n = shape[d];
    if (Number.isInteger(n) && n > Number.MAX_SAFE_INTEGER) {
      fail("shape", op, `size ${n} of axis ${d} in ${list(shape)} is too large.`, "The limit is 2^53 - 1.");
    }
    if (!Number.isSafeInteger(n) || n < 0) {
      fail(
        "shape",
        op,
        `size ${written(n)} of axis ${d} in ${list(shape)} is not a size.`,
        "Sizes are integers from 0.",
      );
    }
    size *= Math.max(n, 1);
  }
  if (!Number.isSafeInteger(size)) {
    fail("shape", op, `shape ${list(shape)} has too many elements to count.`, "The limit is 2^53 - 1.");
  }
}

/**
 * C-order strides: the last axis steps by `unit`, each other one by what lies inside it. Size 0 counts as
 * 1.
 */
export function rowMajorStrides(shape: readonly number[], unit = 1): number[] {
  const strides = new Array<number>(shape.length);
  let step = unit;
  for (let d = shape.length - 1; d >= 0; d--) {
    strides[d] = step;
    step *= Math.max(shape[d], 1);
  }
  return strides;
}

/** The index of the ordinal-th element in C order: mixed radix, the last axis turning fastest. */
export function unravel(ordinal: number, shape: readonly number[]): number[] {
  const index = new Array<number>(shape.length);
  let rest = ordinal;
  for (let d = shape.length - 1; d >= 0; d--) {
    index[d] = rest % shape[d];
    rest = Math.floor(rest / shape[d]);
  }
  return index;
}

/** offset + Σ strides[d]·index[d]. The index is taken as it is: see `normalizeIndex` for the check. */
export function positionOf(index: readonly number[], strides: readonly number[], offset = 0): number {
  let position = offset;
  for (let d = 0; d < index.length; d++) position += index[d] * strides[d];
  return position;
}

/** The index an operand of `shape` reads for `outIndex`: aligned at the right, a size-1 axis reads 0. */
export function broadcastIndex(outIndex: readonly number[], shape: readonly number[]): number[] {
  const index = new Array<number>(shape.length);
  const lead = outIndex.length - shape.length;
  for (let d = 0; d < shape.length; d++) index[d] = shape[d] === 1 ? 0 : outIndex[lead + d];
  return index;
}

/** Lowest and highest position any index reaches, relative to the offset; null when there is no element. */
export function extentOf(
  shape: readonly number[],
  strides: readonly number[],
): { min: number; max: number } | null {
  let min = 0;
  let max = 0;
  for (let d = 0; d < shape.length; d++) {
    if (shape[d] === 0) return null;
    const reach = strides[d] * (shape[d] - 1);
    if (reach < 0) min += reach;
    else max += reach;
  }
  return { min, max };
}

/** Axis -rank … rank-1 as 0 … rank-1. */
export function normalizeAxis(op: string, axis: number, rank: number): number {
  if (!Number.isInteger(axis))
    fail("axis", op, `axis ${written(axis)} is not an integer.`, rangeOfAxes(rank));
  if (axis < -rank || axis >= rank) {
    fail("axis", op, `axis ${axis} is out of range for rank ${rank}.`, rangeOfAxes(rank));
  }
  return axis < 0 ? axis + rank : axis + 0;
}

/** A list of axes (or one) as distinct numbers 0 … rank-1, in the order given. */
export function normalizeAxes(op: string, axes: number | readonly number[], rank: number): number[] {
  if (typeof axes === "number") return [normalizeAxis(op, axes, rank)];
  const out: number[] = [];
  for (let k = 0; k < axes.length; k++) {
    const axis = normalizeAxis(op, axes[k], rank);
    if (out.includes(axis)) {
      fail("axis", op, `axis ${axis} is named twice in ${list(axes)}.`, "Name each axis once.");
    }
    out.push(axis);
  }
  return out;
}

/** Index -size … size-1 as 0 … size-1; a bigint is as good as a number. */
export function normalizeIndex(op: string, index: number | bigint, size: number, axis: number): number {
  if (typeof index !== "bigint" && !Number.isInteger(index)) {
    fail("index", op, `index ${written(index)} for axis ${axis} is not an integer.`, rangeOfIndices(size));
  }
  if (index < -size || index >= size) {
    fail(
      "index",
      op,
      `index ${index} is out of range for axis ${axis} of size ${size}.`,
      rangeOfIndices(size),
    );
  }
  const at = Number(index);
  return at < 0 ? at + size : at + 0;
}

function rangeOfAxes(rank: number): string {
  return rank === 0 ? "A 0-d tensor has no axes." : `Use ${-rank} … ${rank - 1}.`;
}

function rangeOfIndices(size: number): string {
  return size === 0 ? "The axis is empty: it has no index." : `Use ${-size} … ${size - 1}.`;
}
