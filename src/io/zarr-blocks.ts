/**
 * Slices of a chunked array as blocks: which part of which chunk goes where. And the copy of one block between bytes, for any
 * strides on both sides. No store and no codec is known here.
 */
import { planLoops } from "../view/loops.ts";
import { type SliceItem, slice } from "../view/slice.ts";
import type { View } from "../view/view.ts";

/** What a slice takes of one axis: `count` indices from `start` on, `step` apart, along axis `out` of the result. */
export interface Pick {
  readonly start: number;
  readonly step: number;
  readonly count: number;
  /** null: an integer, which drops its axis. */
  readonly out: number | null;
}

export interface Selection {
  readonly shape: readonly number[];
  readonly picks: readonly Pick[];
}

/** What items select of an array of this shape, axis by axis. */
export function selectionOf(shape: readonly number[], items: readonly SliceItem[]): Selection {
  const rank = shape.length;
  // Only one axis has a stride: where the view then begins is its first index, its stride the step.
  const along = (d: number): View => {
    const strides = shape.map((_, k) => (k === d ? 1 : 0));
    return slice({ shape, strides, offset: 0, itemBytes: 1 }, items);
  };
  if (rank === 0)
    return { shape: slice({ shape, strides: [], offset: 0, itemBytes: 1 }, items).shape, picks: [] };
  const views = shape.map((_, d) => along(d));
  const picks = views.map((view): Pick => {
    const out = view.strides.findIndex((s) => s !== 0);
    if (out < 0) return { start: view.offset, step: 1, count: 1, out: null };
    return { start: view.offset, step: view.strides[out], count: view.shape[out], out };
  });
  return { shape: views[0].shape, picks };
}

/** A part of an axis that lies in one chunk. */
export interface Run {
  readonly chunk: number;
  /** Its first index within the chunk. */
  readonly from: number;
  /** Its first place in the selection. */
  readonly at: number;
  readonly count: number;
}

/** How many chunks of this size a pick touches. */
export function chunksTouched({ start, step, count }: Pick, size: number): number {
  if (count === 0) return 0;
  const last = start + (count - 1) * step;
  const spanned = Math.abs(Math.floor(last / size) - Math.floor(start / size)) + 1;
  return Math.min(count, spanned);
}

/** The runs of a pick, in its own order. */
export function* runsOf({ start, step, count }: Pick, size: number): Iterable<Run> {
  for (let i = 0; i < count; ) {
    const index = start + i * step;
    const chunk = Math.floor(index / size);
    const left =
      step > 0
        ? Math.ceil(((chunk + 1) * size - index) / step)
        : Math.floor((index - chunk * size) / -step) + 1;
    const n = Math.min(left, count - i);
    yield { chunk, from: index - chunk * size, at: i, count: n };
    i += n;
  }
}

/** Every combination of one run an axis, the last axis turning fastest. */
export function* blocksOf(picks: readonly Pick[], chunks: readonly number[]): Iterable<readonly Run[]> {
  // Before the runs of the other axes are listed: these may be of any length.
  if (picks.some(({ count }) => count === 0)) return;
  const runs = picks.map((pick, d) => [...runsOf(pick, chunks[d])]);
  const at = runs.map(() => 0);
  for (;;) {
    yield runs.map((axis, d) => axis[at[d]]);
    let d = runs.length - 1;
    for (; d >= 0; d--) {
      if (++at[d] < runs[d].length) break;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

/** The part of the chunk that a block takes, in bytes that lie with these strides. */
export function viewInChunk(
  block: readonly Run[],
  picks: readonly Pick[],
  strides: readonly number[],
  itemBytes: number,
): View {
  let offset = 0;
  for (let d = 0; d < block.length; d++) offset += block[d].from * strides[d];
  return {
    shape: block.map((run) => run.count),
    strides: block.map((_, d) => picks[d].step * strides[d]),
    offset,
    itemBytes,
  };
}

/** The part of the selection that it becomes; `strides` and `offset` are those of the whole selection. */
export function viewInSelection(
  block: readonly Run[],
  picks: readonly Pick[],
  { strides, offset, itemBytes }: Pick2View,
): View {
  const steps = picks.map(({ out }) => (out === null ? 0 : strides[out]));
  let from = offset;
  for (let d = 0; d < block.length; d++) from += block[d].at * steps[d];
  return { shape: block.map((run) => run.count), strides: steps, offset: from, itemBytes };
}
type Pick2View = Omit<View, "shape">;

/** Does a block cover all of its chunk that lies in the array? */
export function coversChunk(
  block: readonly Run[],
  picks: readonly Pick[],
  chunks: readonly number[],
  shape: readonly number[],
): boolean {
  return block.every((run, d) => {
    const size = Math.min(chunks[d], shape[d] - run.chunk * chunks[d]);
    return run.count === size && Math.abs(picks[d].step) === 1;
  });
}

/** Are these bytes one dense run in C order, in this place? */
export function isRun(view: View): boolean {
  let step = view.itemBytes;
  for (let d = view.shape.length - 1; d >= 0; d--) {
    if (view.shape[d] === 1) continue;
    if (view.strides[d] !== step) return false;
    step *= view.shape[d];
  }
  return true;
}

/* Copies ----------------------------------------------------------------------------------------------- */

/** Bytes of a run from which on it is copied as one. */
const LONG = 32;

/** to[…] = from[…], for any strides; the two share no memory. A source of strides 0 repeats its element. */
export function copyBlock(to: Uint8Array, toView: View, from: Uint8Array, fromView: View): void {
  const { shape, strides, offsets } = planLoops([toView, fromView]);
  if (shape.includes(0)) return;
  const { itemBytes } = toView;
  const [outer, inner] = [shape.slice(0, -1), shape.at(-1) ?? 1];
  const [toStep, fromStep] = [strides[0].at(-1) ?? itemBytes, strides[1].at(-1) ?? itemBytes];
  const row = rowCopier(to, from, itemBytes, inner, toStep, fromStep, offsets, strides);
  const index = outer.map(() => 0);
  let [p, q] = [offsets[0], offsets[1]];
  for (;;) {
    row(p, q);
    let k = outer.length - 1;
    for (; k >= 0; k--) {
      p += strides[0][k];
      q += strides[1][k];
      if (++index[k] < outer[k]) break;
      p -= strides[0][k] * outer[k];
      q -= strides[1][k] * outer[k];
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

type RowCopier = (to: number, from: number) => void;

/** How one row of n elements is copied: as a whole, filled, by words, or byte by byte. */
function rowCopier(
  to: Uint8Array,
  from: Uint8Array,
  itemBytes: number,
  n: number,
  toStep: number,
  fromStep: number,
  offsets: readonly number[],
  strides: readonly (readonly number[])[],
): RowCopier {
  const bytes = n * itemBytes;
  const isDense = n === 1 || (toStep === itemBytes && fromStep === itemBytes);
  if (isDense && bytes >= LONG) return (p, q) => to.set(from.subarray(q, q + bytes), p);
  const width = itemBytes === 8 ? 4 : itemBytes;
  const isAligned = (array: Uint8Array, offset: number, steps: readonly number[]) =>
    (array.byteOffset + offset) % width === 0 && steps.every((s) => s % width === 0);
  const fits = isAligned(to, offsets[0], strides[0]) && isAligned(from, offsets[1], strides[1]) && width <= 4;
  if (!fits) {
    return (p, q) => {
      for (let i = 0; i < n; i++, p += toStep, q += fromStep) {
        for (let b = 0; b < itemBytes; b++) to[p + b] = from[q + b];
      }
    };
  }
  const [target, tSkip] = wordsIn(to, width);
  const [source, sSkip] = wordsIn(from, width);
  const [ts, ss] = [toStep / width, fromStep / width];
  const start = (p: number, skip: number) => (p - skip) / width;
  // In halves: a NaN that passes through a float may change, a bigint is made anew for each.
  if (itemBytes === 8) {
    return (p, q) => {
      let [i, j] = [start(p, tSkip), start(q, sSkip)];
      for (let k = 0; k < n; k++, i += ts, j += ss) {
        target[i] = source[j];
        target[i + 1] = source[j + 1];
      }
    };
  }
  if (ss === 0 && ts === 1) {
    return (p, q) => {
      const i = start(p, tSkip);
      target.fill(source[start(q, sSkip)], i, i + n);
    };
  }
  return (p, q) => {
    let [i, j] = [start(p, tSkip), start(q, sSkip)];
    for (let k = 0; k < n; k++, i += ts, j += ss) target[i] = source[j];
  };
}

/** The bytes as words, from the first place where one may begin; and how many bytes come before it. */
function wordsIn(bytes: Uint8Array, width: number): [Uint8Array | Uint16Array | Uint32Array, skip: number] {
  const skip = (width - (bytes.byteOffset % width)) % width;
  const length = Math.max(0, Math.floor((bytes.length - skip) / width));
  const Words = width === 4 ? Uint32Array : width === 2 ? Uint16Array : Uint8Array;
  return [
    new Words(bytes.buffer as ArrayBuffer, bytes.byteOffset + Math.min(skip, bytes.length), length),
    skip,
  ];
}

/** The other byte order of elements, in place; the memory may begin anywhere. */
export function swapAll(bytes: Uint8Array, itemBytes: number): void {
  for (let p = 0; p + itemBytes <= bytes.length; p += itemBytes) {
    for (let a = p, b = p + itemBytes - 1; a < b; a++, b--) {
      const x = bytes[a];
      bytes[a] = bytes[b];
      bytes[b] = x;
    }
  }
}
