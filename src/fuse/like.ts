/** Sums of floats that are not stored, in the groups they would have if they were. */

import type { Fold } from "../optimize/reduce.ts";
import type { FoldLike, FoldWork } from "../run/call.ts";
import { isEmpty } from "../run/odometer.ts";
import { foldNests, pick } from "../run/reduce.ts";
import type { LoopNest } from "../view/loops.ts";
import type { View } from "../view/view.ts";

/** A fold of stored values, and how they would lie. */
export interface Stored {
  readonly fold: Fold;
  readonly sources: readonly View[];
}

/**
 * The loops that a fold of stored values has, and how the inputs of this one move along them: of all operands, the stored
 * values first, and of this fold's own. null: an input cannot be walked so.
 */
export function likeStored(work: FoldWork, { fold, sources }: Stored): FoldLike | null {
  const { kept, folded } = foldNests({ ...work, sources }, false);
  const views = work.sources.map((s) => s!);
  const known = sources.length;
  const along = (nest: LoopNest, isFolded: boolean): { all: LoopNest; own: LoopNest } | null => {
    if (isEmpty(nest)) return null;
    const moves = views.map((v) => movesAlong(nest, pick(v, work.isFolded, isFolded)));
    if (moves.includes(null)) return null;
    const strides = moves.map((m) => m!.strides);
    const offsets = moves.map((m) => m!.offset);
    const [before, after] = [nest.strides.slice(0, known), nest.strides.slice(known)];
    const own = { strides: [...strides, ...after], offsets: [...offsets, ...nest.offsets.slice(known)] };
    return { all: { ...nest, strides: [...before, ...own.strides] }, own: { ...nest, ...own } };
  };
  const [stays, goes] = [along(kept, false), along(folded, true)];
  if (stays === null || goes === null) return null;
  return {
    fold,
    itemBytes: sources.map((s) => s.itemBytes),
    all: { kept: stays.all, folded: goes.all },
    own: { kept: stays.own, folded: goes.own },
  };
}

/** Bytes a view moves along each loop of a nest; null where a loop of several axes is no single run in it. */
function movesAlong(
  { order, flipped }: LoopNest,
  { shape, strides }: View,
): { strides: number[]; offset: number } | null {
  const turned = strides.map((s, d) => (flipped.includes(d) ? 0 - s : s));
  const offset = flipped.reduce((at, d) => at + (shape[d] - 1) * strides[d], 0);
  const moves: number[] = [];
  for (const axes of order) {
    for (let i = 0; i + 1 < axes.length; i++) {
      if (turned[axes[i]] !== turned[axes[i + 1]] * shape[axes[i + 1]]) return null;
    }
    moves.push(turned[axes[axes.length - 1]]);
  }
  return { strides: moves, offset };
}
