/**
 * Elements seen through a view. A value that is computed and not stored has no memory to be viewed; but where the memory
 * it would have is dense, a view of it says which of its elements are meant, axis by axis. Then what it is computed from
 * can be viewed instead.
 */
import type { View } from "../view/view.ts";

/** Index a of the value is starts[a] + Σ steps[d][a]·i[d] for index i of the view. */
export interface IndexMap {
  readonly starts: readonly number[];
  readonly steps: readonly (readonly number[])[];
}

/** Which elements of a dense value a view of its memory names; null where no rule an axis says it. */
export function indexMap(value: View, view: View): IndexMap | null {
  const { shape, strides } = value;
  const rank = shape.length;
  if (shape.includes(0) || view.shape.includes(0)) return sameView(value, view) ? itself(rank) : null;
  const axes = shape.flatMap((n, a) => (n > 1 ? [a] : [])).sort((a, b) => strides[b] - strides[a]);
  const starts = new Array<number>(rank).fill(0);
  let rest = view.offset - value.offset;
  for (const a of axes) {
    starts[a] = Math.floor(rest / strides[a]);
    rest -= starts[a] * strides[a];
  }
  if (rest !== 0) return null;
  const low = [...starts];
  const high = [...starts];
  const steps: number[][] = [];
  for (let d = 0; d < view.shape.length; d++) {
    const along = new Array<number>(rank).fill(0);
    steps.push(along);
    const [n, stride] = [view.shape[d], view.strides[d]];
    if (n === 1 || stride === 0) continue;
    const axis = axes.find((a) => stride % strides[a] === 0 && Math.abs(stride / strides[a]) < shape[a]);
    if (axis === undefined) return null;
    along[axis] = stride / strides[axis];
    const reach = along[axis] * (n - 1);
    if (reach < 0) low[axis] += reach;
    else high[axis] += reach;
  }
  // No index may leave its axis: then the next axis would be meant.
  const isInside = shape.every((n, a) => low[a] >= 0 && high[a] < n);
  return isInside ? { starts, steps } : null;
}

/** Every element of itself. */
const itself = (rank: number): IndexMap => ({
  starts: new Array<number>(rank).fill(0),
  steps: Array.from({ length: rank }, (_, d) => Array.from({ length: rank }, (_, a) => (a === d ? 1 : 0))),
});

/** What `view`, of a value's own shape, is where only the elements that the map names are wanted. */
export function mapped(view: View, { starts, steps }: IndexMap, shape: readonly number[]): View {
  const dot = (of: readonly number[]) =>
    of.reduce((sum, k, a) => sum + (k === 0 ? 0 : k * view.strides[a]), 0);
  return {
    shape,
    strides: steps.map(dot),
    offset: view.offset + dot(starts),
    itemBytes: view.itemBytes,
  };
}

export const sameView = (a: View, b: View): boolean =>
  a.offset === b.offset &&
  a.shape.length === b.shape.length &&
  a.shape.every((n, d) => n === b.shape[d] && (n === 1 || a.strides[d] === b.strides[d]));
