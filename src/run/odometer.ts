/** Steps the outer loops of a nest: pointers move by additions, no index is ever decoded. */
import type { LoopNest } from "../view/loops.ts";

/**
 * Moves `index` to the next position of the loops before `inner` and the pointers with it; false after the last
 * one (everything is then back at the start). Carrying out of loop d rewinds it: -stride·(size-1).
 */
export function advance(nest: LoopNest, inner: number, index: number[], pointers: number[]): boolean {
  const { shape, strides } = nest;
  for (let d = inner - 1; d >= 0; d--) {
    if (++index[d] < shape[d]) {
      for (let k = 0; k < pointers.length; k++) pointers[k] += strides[k][d];
      return true;
    }
    index[d] = 0;
    for (let k = 0; k < pointers.length; k++) pointers[k] -= strides[k][d] * (shape[d] - 1);
  }
  return false;
}

export function isEmpty(nest: LoopNest): boolean {
  for (const n of nest.shape) if (n === 0) return true;
  return false;
}
