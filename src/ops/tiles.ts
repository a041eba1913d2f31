/** Parts of an index space that stay in the cache while several folds and maps visit them. */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { engine } from "../engine.ts";
import type { Program } from "../ir/node.ts";
import type { Fold } from "../optimize/reduce.ts";
import { type Call, type Captured, type Form, idOf, newId, type Strided } from "../run/call.ts";
import { contiguousView, type View } from "../view/view.ts";
import { checkFlag } from "./arguments.ts";
import { execute, lookUp, programCall, programForm } from "./execute.ts";
import { runFold, type Source } from "./fold.ts";
import { axisFact, type ReduceOptions, type Split, splitShape } from "./reduce.ts";
import { allocate, filled } from "./strided.ts";

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
export const framed = (t: Strided, frame: View): Strided => (t.frame === frame ? t : { ...t, frame });

/** What a reduction that makes several passes goes over: the axes, the tiles, and the layouts of what it makes. */
export interface Passes extends Split {
  readonly tiles: readonly Tile[];
  /** Of the axes that stay, by the bytes of an element. */
  readonly kept: (itemBytes: number) => View;
  /** The same as the result has them. */
  readonly whole: (itemBytes: number) => View;
  readonly folds: readonly Fold[];
}

/** The folds of an operation, for elements of a dtype. */
export type FoldsOf = (operation: string, x: DType, result: DType) => readonly Fold[];

interface PassesCall extends Call {
  readonly what: FoldsOf;
  readonly options: Pick<ReduceOptions, "axis" | "keepdims">;
  readonly result: DType;
}

/** The plan of such a reduction: made once for a layout. */
export function passesOf(
  operation: string,
  t: Strided,
  options: PassesCall["options"],
  result: DType,
  what: FoldsOf = noFolds,
): Passes {
  checkFlag(operation, "keepdims", options.keepdims);
  const facts = [idOf(what), axisFact(operation, options.axis), options.keepdims ?? false, operation, result];
  const call = { operation, what, facts, inputs: [t], out: null, values: [], options, result };
  return lookUp(engine(), passesForm, call).plan;
}
const noFolds: FoldsOf = () => [];

const passesForm: Form<PassesCall, Passes> = {
  id: newId(),
  guards: "nothing",
  plan({ operation, what, inputs: [{ frame, dtype }], options, result }) {
    const keepdims = options.keepdims ?? false;
    const split = splitShape(operation, frame.shape, options.axis, keepdims);
    const kept = denseViews(split.keptShape);
    const whole = keepdims ? denseViews(split.shape) : kept;
    return { ...split, tiles: tilesOf(frame, split), kept, whole, folds: what(operation, dtype, result) };
  },
};

/**
 * Two folds of each tile: the second reads what the first made, a value a cell, beside the elements and what else is to
 * be read (`more`). `between` is the dtype of what the first one makes; each has captured values of its own.
 */
export function runTwoFolds(
  operation: string,
  t: Strided,
  { tiles, isFolded, shape, kept, whole, folds }: Passes,
  order: {
    readonly between: DType;
    readonly result: DType;
    readonly init: Value | null;
    readonly values?: readonly (readonly Captured[])[];
    readonly more?: readonly Source[];
  },
): Strided {
  const { between, result, init, values = [], more = [] } = order;
  const [own, cells] = [kept(dtypes[between].bytes), kept(dtypes[result].bytes)];
  const out = allocate(operation, result, shape, whole(cells.itemBytes));
  return filled(out, () =>
    temporary([() => allocate(operation, between, own.shape, own)], (made) => {
      for (const tile of tiles) {
        const to = [framed(made, tile.kept(own)), framed(out, tile.kept(cells))];
        const x = tile.source(t);
        [[x], [x, tile.spread(made), ...more]].forEach((sources, k) => {
          runFold({ operation, isFolded, init, fold: folds[k], values: values[k], sources, out: to[k] });
        });
      }
    }),
  );
}

/** Dense views of a shape, each made once. */
function denseViews(shape: readonly number[]): (itemBytes: number) => View {
  const views: View[] = [];
  return (itemBytes) => {
    views[itemBytes] ??= contiguousView(shape, itemBytes);
    return views[itemBytes];
  };
}

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
  let of: View | null = null;
  let spread: View | null = null;
  return {
    shape: own,
    isLong: folded > TILE_ELEMENTS,
    source: (t) => framed(t, cut(t.frame, axis)),
    kept: (view) => cut(view, keptAxis),
    spread: (t) => {
      if (t.frame !== of || spread === null) {
        const kept = cut(t.frame, keptAxis);
        let k = 0;
        spread = { ...kept, shape: own, strides: isFolded.map((f) => (f ? 0 : kept.strides[k++])) };
        of = t.frame;
      }
      return framed(t, spread);
    },
  };
}

/** Tiles along the largest kept axis; one for all if it is small anyway. */
function tilesOf({ shape, strides, itemBytes }: View, split: Split): Tile[] {
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
