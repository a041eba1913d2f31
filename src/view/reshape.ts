/**
 * Reshaping without a copy, exactly when strides for it exist.
 *
 * Both shapes are cut, from the left, into the shortest groups of axes with equal products. Inside a group
 * the old axes must form one run (stride[i] = stride[i+1]·size[i+1]); the new axes then subdivide that run.
 */
import { fail, list } from "../errors.ts";
import { checkShape, rowMajorStrides, sizeOf } from "./layout.ts";
import type { View } from "./view.ts";

/**
 * The same elements in the same C order under another shape (one size may be -1), or null: it needs a
 * copy.
 */
export function reshape(view: View, shape: readonly number[]): View | null {
  const size = sizeOf(view.shape);
  const next = resolveShape("reshape", shape, size);
  const strides = size === 0 ? rowMajorStrides(next, view.itemBytes) : regroup(view, next);
  return strides === null ? null : { ...view, shape: next, strides };
}

/** Fills in the one -1 so that the shape has `count` elements; throws when no size does. */
export function resolveShape(op: string, shape: readonly number[], count: number): number[] {
  const hole = shape.indexOf(-1);
  if (hole < 0) {
    checkShape(op, shape);
    const size = sizeOf(shape);
    if (size !== count) {
      fail(
        "shape",
        op,
        `${list(shape)} has ${size} ${size === 1 ? "element" : "elements"}, not ${count}.`,
        "The element counts must agree.",
      );
    }
    return [...shape];
  }
  if (shape.indexOf(-1, hole + 1) >= 0) {
    fail("shape", op, `${list(shape)} leaves more than one size open.`, "Use -1 at most once.");
  }
  const filled = [...shape];
  filled[hole] = 1;
  checkShape(op, filled);
  const rest = sizeOf(filled);
  if (rest === 0) {
    fail("shape", op, `the -1 in ${list(shape)} could be any size, as another is 0.`, "Write the size out.");
  }
  if (count % rest !== 0) {
    fail(
      "shape",
      op,
      `${count} elements do not divide into ${list(shape)}: the sizes given make ${rest}.`,
      "The sizes given must divide the element count.",
    );
  }
  filled[hole] = count / rest;
  return filled;
}

/**
 * Strides of `shape` over the elements of a view that has some, or null. Size-1 axes never stand in the
 * way.
 */
function regroup(view: View, shape: readonly number[]): number[] | null {
  const sizes: number[] = [];
  const steps: number[] = [];
  for (let d = 0; d < view.shape.length; d++) {
    if (view.shape[d] === 1) continue;
    sizes.push(view.shape[d]);
    steps.push(view.strides[d]);
  }
  const strides = new Array<number>(shape.length);
  let i = 0;
  let k = 0;
  while (i < sizes.length && k < shape.length) {
    let iEnd = i + 1;
    let kEnd = k + 1;
    let oldSize = sizes[i];
    let newSize = shape[k];
    while (oldSize !== newSize) {
      if (newSize < oldSize) newSize *= shape[kEnd++];
      else oldSize *= sizes[iEnd++];
    }
    for (let j = i; j + 1 < iEnd; j++) {
      if (steps[j] !== steps[j + 1] * sizes[j + 1]) return null;
    }
    let step = steps[iEnd - 1];
    for (let j = kEnd - 1; j >= k; j--) {
      strides[j] = step;
      step *= shape[j];
    }
    i = iEnd;
    k = kEnd;
  }
  // What is left of the new shape is size 1.
  for (; k < shape.length; k++) strides[k] = k > 0 ? strides[k - 1] : view.itemBytes;
  return strides;
}
