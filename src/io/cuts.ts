/** A tensor of a file in blocks: slices that, read one after the other, give its elements in row-major order. */
import type { SliceItem } from "../view/slice.ts";

/** Slices of at most so many bytes, or of one element along the last axis that must be cut; none: it has no elements. */
export function* cutsOf(
  shape: readonly number[],
  itemBytes: number,
  most: number,
): Iterable<readonly SliceItem[]> {
  if (shape.includes(0)) return;
  // The first axis below which everything fits.
  let axis = 0;
  let inner = shape.slice(1).reduce((a, b) => a * b, itemBytes);
  while (axis < shape.length - 1 && inner > most) inner /= shape[++axis];
  if (shape.length === 0) {
    yield [];
    return;
  }
  const some = Math.max(1, Math.floor(most / inner));
  const index = shape.slice(0, axis).map(() => 0);
  for (;;) {
    for (let from = 0; from < shape[axis]; from += some)
      yield [...index, `${from}:${Math.min(shape[axis], from + some)}`];
    let d = axis - 1;
    for (; d >= 0; d--) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}
