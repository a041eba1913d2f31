/** Parts of an index space that stay in the cache while several folds and maps visit them. */
import type { Program } from "../ir/node.ts";
import type { Strided } from "../run/call.ts";
import type { View } from "../view/view.ts";
import { execute, programCall, programForm } from "./execute.ts";
import type { Split } from "./reduce.ts";

/** Elements that stay in the last cache while several kernels, on all threads, visit them. */
const TILE_ELEMENTS = 1 << 20;
/** Elements side by side that are worth reading at a time. */
const LEAST_RUN = 4096;

/** A part of the index space, and what of each operand belongs to it. */
export interface Tile {
  readonly shape: readonly number[];
  /** A single fold of it does not stay in the cache. */
  readonly isLong: boolean;
  readonly source: (t: Strided) => Strided;
  /** Of a view of the kept axes. */
  readonly kept: (view: View) => View;
  /** A tensor of the kept axes, as an operand of the whole shape. */
  readonly spread: (t: Strided) => Strided;
}

/** The same memory, seen otherwise. */
export const framed = (t: Strided, frame: View): Strided => ({ ...t, frame });

function tileOf(
  shape: readonly number[],
  isFolded: readonly boolean[],
  axis: number,
  from: number,
  to: number,
): Tile {
  const cut = (view: View, d: number): View =>
    d < 0
      ? view
      : {
          ...view,
          shape: view.shape.with(d, to - from),
          offset: view.offset + from * view.strides[d],
        };
  const keptAxis = axis < 0 || isFolded[axis] ? -1 : axis - isFolded.slice(0, axis).filter(Boolean).length;
  const own = axis < 0 ? shape : shape.with(axis, to - from);
  const folded = own.reduce((n, size, d) => (isFolded[d] ? n * size : n), 1);
  return {
    shape: own,
    isLong: folded > TILE_ELEMENTS,
    source: (t) => framed(t, cut(t.frame, axis)),
    kept: (view) => cut(view, keptAxis),
    spread: (t) => {
      const kept = cut(t.frame, keptAxis);
      let k = 0;
      return framed(t, { ...kept, shape: own, strides: isFolded.map((f) => (f ? 0 : kept.strides[k++])) });
    },
  };
}

/** Tiles along the largest kept axis; one for all if it is small anyway. */
export function tilesOf({ shape, strides, itemBytes }: View, split: Split): Tile[] {
  const total = shape.reduce((a, b) => a * b, 1);
  let axis = -1;
  shape.forEach((size, d) => {
    if (!split.isFolded[d] && (axis < 0 || size > shape[axis])) axis = d;
  });
  if (axis < 0 || total <= TILE_ELEMENTS) return [tileOf(shape, split.isFolded, -1, 0, 0)];
  // Parts of what lies side by side are read in long runs, even if they do not stay in the cache then.
  const least = Math.abs(strides[axis]) === itemBytes ? LEAST_RUN : 1;
  const size = Math.max(least, Math.floor((TILE_ELEMENTS * shape[axis]) / total));
  return along(shape, split.isFolded, axis, size);
}

/** Parts of a long tile along its largest folded axis. */
export function piecesOf(tile: Tile, isFolded: readonly boolean[]): Tile[] {
  const { shape } = tile;
  const total = shape.reduce((a, b) => a * b, 1);
  let axis = -1;
  shape.forEach((size, d) => {
    if (isFolded[d] && (axis < 0 || size > shape[axis])) axis = d;
  });
  const size = Math.max(1, Math.floor((TILE_ELEMENTS * shape[axis]) / total));
  return along(shape, isFolded, axis, size).map((piece) => ({
    ...piece,
    isLong: false,
    source: (t) => {
      return piece.source(tile.source(t));
    },
  }));
}

function along(shape: readonly number[], isFolded: readonly boolean[], axis: number, size: number): Tile[] {
  const tiles: Tile[] = [];
  for (let i = 0; i < shape[axis]; i += size) {
    tiles.push(tileOf(shape, isFolded, axis, i, Math.min(i + size, shape[axis])));
  }
  return tiles;
}

/** out[…] = program(in0[…], …), for operands [out, …inputs] of one shape. */
export function runMap(operation: string, program: Program, [out, ...inputs]: readonly Strided[]): void {
  execute(programForm, programCall(operation, program, out, inputs));
}

/** Tensors that are there while `body` runs; if one cannot be made, the others go again. */
export function temporary<R>(makers: readonly (() => Strided)[], body: (...made: Strided[]) => R): R {
  const made: Strided[] = [];
  try {
    for (const make of makers) made.push(make());
    return body(...made);
  } finally {
    for (const t of made) t.storage.release();
  }
}
