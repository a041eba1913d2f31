/**
 * Broadcasting: several shapes become one, and the operands reach it by repeating elements with stride 0.
 *
 * Shapes align at the right; on each axis the sizes are equal or 1. Nothing is copied.
 */
import { fail, list } from "../errors.ts";
import { checkShape, sameShape } from "./layout.ts";
import { broadcastTo, type View } from "./view.ts";

/** The common shape: on each axis, counted from the right, the one size that is not 1. */
export function broadcastShapes(op: string, shapes: readonly (readonly number[])[]): number[] {
  let rank = 0;
  for (let s = 0; s < shapes.length; s++) rank = Math.max(rank, shapes[s].length);
  const out = new Array<number>(rank).fill(1);
  for (let s = 0; s < shapes.length; s++) {
    const shape = shapes[s];
    const lead = rank - shape.length;
    for (let d = 0; d < shape.length; d++) {
      const n = shape[d];
      if (n === 1 || n === out[lead + d]) continue;
      if (out[lead + d] !== 1) disagree(op, shapes, lead + d, out[lead + d], n);
      out[lead + d] = n;
    }
  }
  checkShape(op, out);
  return out;
}

/**
 * The common shape, and each view expanded to it. Views that have the shape already are returned as they
 * are.
 */
export function broadcastViews(
  op: string,
  views: readonly View[],
): { readonly shape: readonly number[]; readonly views: readonly View[] } {
  if (views.length > 0 && allSameShape(views)) return { shape: views[0].shape, views };
  const shape = broadcastShapes(
    op,
    views.map((view) => view.shape),
  );
  return {
    shape,
    views: views.map((view) => (sameShape(view.shape, shape) ? view : broadcastTo(view, shape))),
  };
}

function disagree(
  op: string,
  shapes: readonly (readonly number[])[],
  axis: number,
  a: number,
  b: number,
): never {
  const names = shapes.map(list);
  const all = `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
  return fail(
    "shape",
    op,
    `shapes ${all} do not broadcast: axis ${axis} of the result would be ${a} and ${b}.`,
    "Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat.",
  );
}

function allSameShape(views: readonly View[]): boolean {
  for (let v = 1; v < views.length; v++) {
    if (!sameShape(views[v].shape, views[0].shape)) return false;
  }
  return true;
}
