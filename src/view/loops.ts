/**
 * The loop nest of several views of one shape: the fewest loops that visit every element of all of them.
 *
 * Size-1 axes are dropped, axes that all operands walk backwards are turned round, axes are sorted so that
 * small strides are innermost, and neighbours that form one run in every operand are merged. Only data comes
 * out: who visits the elements, and how, is decided elsewhere. This runs on every call, hence the plain
 * loops.
 */
import { unreachable } from "../errors.ts";
import { contiguousView, isContiguous, type View } from "./view.ts";

/** Loop k visits, in operand v, byte offsets[v] + Σ strides[v][k]·i[k] for 0 ≤ i[k] < shape[k]. */
export interface LoopNest {
  /** Iterations of each loop, outermost first. [] is one element and no loop; [0] is no element at all. */
  readonly shape: readonly number[];
  /** strides[operand][loop], in bytes. */
  readonly strides: readonly (readonly number[])[];
  /** Byte position of each operand's first element, after the turning round of axes. */
  readonly offsets: readonly number[];
  /** The axes that each loop merges, outer to inner. Size-1 axes appear in none. */
  readonly order: readonly (readonly number[])[];
  /** The axes that are walked from their last index to their first. */
  readonly flipped: readonly number[];
}

export interface LoopOptions {
  /** Visit the elements in C order of their index: no sorting, no turning round. Default false. */
  readonly keepOrder?: boolean;
}

/**
 * The loop nest of views that have one common shape. The first view, the output, decides ties of axis
 * order.
 */
export function planLoops(views: readonly View[], options?: LoopOptions): LoopNest {
  const shape = commonShape(views);
  const axes: number[] = [];
  for (let d = 0; d < shape.length; d++) {
    if (shape[d] === 0) return emptyNest(views, shape.length);
    if (shape[d] !== 1) axes.push(d);
  }
  if (allContiguous(views)) return flatNest(views, shape, axes);

  const steps = new Array<readonly number[]>(views.length);
  for (let v = 0; v < views.length; v++) steps[v] = views[v].strides;
  const keepOrder = options?.keepOrder === true;
  if (!keepOrder) sortAxes(axes, steps, firstDecides);
  return mergeAxes(views, shape, axes, steps, !keepOrder);
}

/**
 * The axis order, outermost first, in which an output of `shape` follows its inputs' memory (NumPy's "K").
 * The views broadcast to the shape. Where they disagree, C order wins.
 */
export function kOrderPermutation(views: readonly View[], shape: readonly number[]): number[] {
  const rank = shape.length;
  const axes = new Array<number>(rank);
  for (let d = 0; d < rank; d++) axes[d] = d;
  if (rank < 2) return axes;
  const steps = new Array<readonly number[]>(views.length);
  for (let v = 0; v < views.length; v++) steps[v] = alignedStrides(views[v], rank);
  sortAxes(axes, steps, allAgree);
  return axes;
}

/** The dense view of a shape whose axes lie in memory in the given order, outermost first. */
export function viewInOrder(
  shape: readonly number[],
  itemBytes: number,
  order: readonly number[],
  offset = 0,
): View {
  const strides = new Array<number>(shape.length);
  let step = itemBytes;
  for (let k = order.length - 1; k >= 0; k--) {
    const d = order[k];
    strides[d] = step;
    step *= Math.max(shape[d], 1);
  }
  return { shape: shape.slice(), strides, offset, itemBytes };
}

/** A new output lies as its inputs do. */
export function outputView(shape: readonly number[], itemBytes: number, views: readonly View[]): View {
  return views.every(isContiguous)
    ? contiguousView(shape, itemBytes)
    : viewInOrder(shape, itemBytes, kOrderPermutation(views, shape));
}

// ---- axis order -------------------------------------------------------------------------------------

/**
 * Should axis p, now inside axis q, stay there? 1: yes. -1: q's steps are smaller, q goes inside. 0: no
 * matter.
 */
type Vote = (steps: readonly (readonly number[])[], p: number, q: number) => number;

/**
 * Insertion sort of axes (outermost first) by the operands' vote, as NumPy's iterator does it: each axis is
 * tried further and further inside the axes after it. A draw moves nothing, but does not end the search
 * either.
 */
function sortAxes(axes: number[], steps: readonly (readonly number[])[], vote: Vote): void {
  for (let k = axes.length - 2; k >= 0; k--) {
    const q = axes[k];
    let place = k;
    for (let j = k + 1; j < axes.length; j++) {
      const verdict = vote(steps, axes[j], q);
      if (verdict > 0) break;
      if (verdict < 0) place = j;
    }
    for (let j = k; j < place; j++) axes[j] = axes[j + 1];
    axes[place] = q;
  }
}

/** The first operand that steps differently (and not by 0) along p and q decides. */
function firstDecides(steps: readonly (readonly number[])[], p: number, q: number): number {
  let verdict = 0;
  for (let v = 0; v < steps.length; v++) {
    const sp = Math.abs(steps[v][p]);
    const sq = Math.abs(steps[v][q]);
    if (sp === 0 || sq === 0) continue;
    if (sp !== sq) return sp < sq ? 1 : -1;
    verdict = 1;
  }
  return verdict;
}

/** q goes inside only if every operand that has an opinion (no stride 0) wants it. */
function allAgree(steps: readonly (readonly number[])[], p: number, q: number): number {
  let verdict = 0;
  for (let v = 0; v < steps.length; v++) {
    const sp = Math.abs(steps[v][p]);
    const sq = Math.abs(steps[v][q]);
    if (sp === 0 || sq === 0) continue;
    if (sp <= sq) return 1;
    verdict = -1;
  }
  return verdict;
}

/** The strides a view would have once broadcast to `rank` axes: 0 where it has no axis, or one of size 1. */
function alignedStrides(view: View, rank: number): number[] {
  const strides = new Array<number>(rank);
  const lead = rank - view.shape.length;
  for (let d = 0; d < rank; d++) {
    strides[d] = d < lead || view.shape[d - lead] === 1 ? 0 : view.strides[d - lead];
  }
  return strides;
}

// ---- building the nest ------------------------------------------------------------------------------

/**
 * Outer to inner: turn an axis round if that helps, then merge it into the loop around it if the two are
 * one run.
 */
function mergeAxes(
  views: readonly View[],
  shape: readonly number[],
  axes: readonly number[],
  steps: readonly (readonly number[])[],
  mayFlip: boolean,
): LoopNest {
  const count = views.length;
  const sizes: number[] = [];
  const order: number[][] = [];
  const flipped: number[] = [];
  const strides = new Array<number[]>(count);
  const offsets = new Array<number>(count);
  for (let v = 0; v < count; v++) {
    strides[v] = [];
    offsets[v] = views[v].offset;
  }
  for (let k = 0; k < axes.length; k++) {
    const d = axes[k];
    const n = shape[d];
    const turn = mayFlip && allBackwards(steps, d);
    if (turn) {
      flipped.push(d);
      for (let v = 0; v < count; v++) offsets[v] += (n - 1) * steps[v][d];
    }
    const last = sizes.length - 1;
    let isRun = last >= 0;
    for (let v = 0; v < count && isRun; v++) {
      const step = turn ? 0 - steps[v][d] : steps[v][d];
      isRun = strides[v][last] === step * n;
    }
    const at = isRun ? last : last + 1;
    for (let v = 0; v < count; v++) strides[v][at] = turn ? 0 - steps[v][d] : steps[v][d];
    if (isRun) {
      sizes[last] *= n;
      order[last].push(d);
    } else {
      sizes.push(n);
      order.push([d]);
    }
  }
  return { shape: sizes, strides, offsets, order, flipped };
}

/** No operand walks axis d forwards, and one at least walks it backwards. */
function allBackwards(steps: readonly (readonly number[])[], d: number): boolean {
  let some = false;
  for (let v = 0; v < steps.length; v++) {
    const step = steps[v][d];
    if (step > 0) return false;
    if (step < 0) some = true;
  }
  return some;
}

/** Contiguous operands are one loop over items (or, for one element, none). */
function flatNest(views: readonly View[], shape: readonly number[], axes: number[]): LoopNest {
  const isLoop = axes.length > 0;
  let size = 1;
  for (let k = 0; k < axes.length; k++) size *= shape[axes[k]];
  const strides = new Array<number[]>(views.length);
  const offsets = new Array<number>(views.length);
  for (let v = 0; v < views.length; v++) {
    strides[v] = isLoop ? [views[v].itemBytes] : [];
    offsets[v] = views[v].offset;
  }
  return { shape: isLoop ? [size] : [], strides, offsets, order: isLoop ? [axes] : [], flipped: [] };
}

function emptyNest(views: readonly View[], rank: number): LoopNest {
  const axes = Array.from({ length: rank }, (_, d) => d);
  return {
    shape: [0],
    strides: views.map(() => [0]),
    offsets: views.map((view) => view.offset),
    order: [axes],
    flipped: [],
  };
}

function allContiguous(views: readonly View[]): boolean {
  for (let v = 0; v < views.length; v++) if (!isContiguous(views[v])) return false;
  return true;
}

function commonShape(views: readonly View[]): readonly number[] {
  if (views.length === 0) unreachable("a loop nest needs at least one view");
  const shape = views[0].shape;
  for (let v = 1; v < views.length; v++) {
    const other = views[v].shape;
    if (other === shape) continue;
    let same = other.length === shape.length;
    for (let d = 0; d < shape.length && same; d++) same = other[d] === shape[d];
    if (!same) unreachable(`loops over shapes [${shape.join(", ")}] and [${other.join(", ")}]`);
  }
  return shape;
}
