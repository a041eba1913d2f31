/**
 * Elements between blocks and floats, whatever the strides of either side. Rows that lie side by side are decoded and
 * encoded where they are; others, and other dtypes, go through a piece of dense f32 at a time, so that a large tensor
 * never needs room for itself a second time.
 */
import { type DType, dtypes } from "../dtype.ts";
import { assign as assignElements } from "../ops/copy.ts";
import { allocate, checkWritable, withTemporary } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { addressOf } from "../run/kernel.ts";
import type { RoutineAbout } from "../run/routine.ts";
import { sizeOf } from "../view/layout.ts";
import { overlaps } from "../view/overlap.ts";
import type { View } from "../view/view.ts";
import { encoders } from "./encode.ts";
import { encodeRoutine } from "./encode-lanes.ts";
import { withGrid } from "./grids.ts";
import { recipeOf } from "./recipes.ts";
import {
  type DecodeTask,
  decodeRoutine,
  decodeWords,
  type EncodeTask,
  encodeWords,
  type Routine,
} from "./routines.ts";
import { hasLanes, runRoutine } from "./run.ts";
import { blockTypes, type EncodedDType, type QuantisedDType } from "./types.ts";

/** Blocks in memory: a view of bytes whose last two axes are the blocks of a row and the bytes of a block. */
export interface Blocks<Q extends QuantisedDType = QuantisedDType> {
  readonly dtype: Q;
  readonly of: Strided<"u8">;
}

/** Elements of a piece that goes through dense f32: 4 MiB, what caches hold. */
const PIECE = 2 ** 20;
/** Elements of a task. */
const TASK = 2 ** 15;
/** About what an element takes, in nanoseconds. */
const NANOSECONDS = 0.5;

/** The shape in elements. */
export function elementShape({ dtype, of }: Blocks): readonly number[] {
  const shape = of.frame.shape.slice(0, -1);
  shape[shape.length - 1] *= blockTypes[dtype].block;
  return shape;
}

/** The view's part from index `from` on, so many of each axis. */
function part(view: View, from: readonly number[], shape: readonly number[]): View {
  const offset = from.reduce((sum, i, d) => sum + i * view.strides[d], view.offset);
  return { ...view, shape: [...shape, ...view.shape.slice(shape.length)], offset };
}

const partOf = <D extends DType>(t: Strided<D>, from: readonly number[], shape: readonly number[]) =>
  ({ ...t, frame: part(t.frame, from, shape) }) as Strided<D>;

/** The same of blocks, by elements. */
function partOfBlocks<B extends Blocks>(b: B, from: readonly number[], shape: readonly number[]): B {
  const { block } = blockTypes[b.dtype];
  const last = from.length - 1;
  const scaled = (list: readonly number[]) => list.map((n, d) => (d === last ? n / block : n));
  return { ...b, of: partOf(b.of, scaled(from), scaled(shape)) };
}

/** Boxes of at most `most` elements, or of one block, that together are the shape. */
function* boxes(
  shape: readonly number[],
  block: number,
  most: number,
): Iterable<{ from: readonly number[]; shape: readonly number[] }> {
  if (sizeOf(shape) === 0) return;
  const last = shape.length - 1;
  const inner = (d: number) => sizeOf(shape.slice(d + 1));
  let axis = 0;
  while (axis < last && inner(axis) > most) axis++;
  const room = Math.max(1, Math.floor(most / inner(axis)));
  const step = axis === last ? Math.max(block, room - (room % block)) : room;
  const from = shape.map(() => 0);
  for (;;) {
    const size = shape.map((n, d) => (d < axis ? 1 : d === axis ? Math.min(step, n - from[d]) : n));
    yield { from: [...from], shape: size };
    let d = axis;
    for (; d >= 0; d--) {
      from[d] += d === axis ? step : 1;
      if (from[d] < shape[d]) break;
      from[d] = 0;
    }
    if (d < 0) return;
  }
}

interface Axis {
  readonly size: number;
  readonly a: number;
  readonly b: number;
}

/** The axes of two views but their last ones: without those of size 1, neighbours that are one on both sides joined. */
function outerAxes(shape: readonly number[], a: readonly number[], b: readonly number[]): Axis[] {
  const axes: Axis[] = [];
  shape.forEach((size, d) => {
    if (size === 1) return;
    const before = axes.at(-1);
    if (before !== undefined && before.a === a[d] * size && before.b === b[d] * size) {
      axes[axes.length - 1] = { size: before.size * size, a: a[d], b: b[d] };
    } else axes.push({ size, a: a[d], b: b[d] });
  });
  return axes;
}

/** Calls `each` with the byte offsets of runs of rows: how many, and the steps from row to row. */
export function eachRows(
  shape: readonly number[],
  a: readonly number[],
  b: readonly number[],
  each: (atA: number, atB: number, rows: Axis) => void,
): void {
  const axes = outerAxes(shape, a, b);
  const rows = axes.pop() ?? { size: 1, a: 0, b: 0 };
  const walk = (d: number, atA: number, atB: number): void => {
    if (d === axes.length) {
      each(atA, atB, rows);
      return;
    }
    for (let i = 0; i < axes[d].size; i++) walk(d + 1, atA + i * axes[d].a, atB + i * axes[d].b);
  };
  walk(0, 0, 0);
}

/** Rows of a task: the byte offsets of both sides, so many blocks from block `first` on, and the steps from row to row. */
interface Rows {
  readonly rows: number;
  readonly blocks: number;
  readonly first: number;
  readonly a: number;
  readonly b: number;
  readonly stepA: number;
  readonly stepB: number;
}

/** Blocks (a) beside rows of elements (b), in parts of at most `most` blocks. */
function eachTask(
  shape: readonly number[],
  a: readonly number[],
  b: readonly number[],
  most: number,
  each: (rows: Rows) => void,
): void {
  const blocks = shape[shape.length - 2];
  const perTask = Math.max(1, Math.floor(most / blocks));
  const columns = perTask > 1 ? blocks : Math.min(blocks, Math.max(1, most));
  eachRows(shape.slice(0, -2), a, b, (atA, atB, { size, a: stepA, b: stepB }) => {
    for (let r = 0; r < size; r += perTask) {
      const rows = Math.min(perTask, size - r);
      for (let first = 0; first < blocks; first += columns) {
        const its = Math.min(columns, blocks - first);
        each({ rows, blocks: its, first, a: atA + r * stepA, b: atB + r * stepB, stepA, stepB });
      }
    }
  });
}

const shareMemory = (a: Strided, b: Strided): boolean =>
  a.storage === b.storage && overlaps(a.frame, b.frame);

/* Blocks → elements ------------------------------------------------------------------------------------------ */

/** dst[…] = src[…]: shapes agree. */
export function decode(operation: string, dst: Strided, src: Blocks): void {
  checkWritable(operation, dst);
  const shape = elementShape(src);
  if (sizeOf(shape) === 0) return;
  if (shareMemory(dst, src.of)) {
    throughFloats(operation, shape, (dense) => {
      decodeRows(operation, dense, src);
      assignElements(operation, dst, dense);
    });
    return;
  }
  const { itemBytes, strides } = dst.frame;
  const isRows = (dst.dtype === "f32" || dst.dtype === "f64") && strides[shape.length - 1] === itemBytes;
  if (isRows) {
    decodeRows(operation, dst as Strided<"f32" | "f64">, src);
    return;
  }
  for (const box of boxes(shape, blockTypes[src.dtype].block, PIECE)) {
    throughFloats(operation, box.shape, (dense) => {
      decodeRows(operation, dense, partOfBlocks(src, box.from, box.shape));
      assignElements(operation, partOf(dst, box.from, box.shape), dense);
    });
  }
}

const throughFloats = (operation: string, shape: readonly number[], fn: (dense: Strided<"f32">) => void) =>
  withTemporary(allocate(operation, "f32", shape), fn);

/** Rows of the destination are dense. */
function decodeRows(operation: string, dst: Strided<"f32" | "f64">, src: Blocks): void {
  const { block } = blockTypes[src.dtype];
  const { shape, strides } = src.of.frame;
  const step = strides[shape.length - 2];
  const [from, to] = [addressOf(src.of), addressOf(dst)];
  const { bytes } = dtypes[dst.dtype];
  const about: RoutineAbout = { operation, inputs: [{ dtype: "u8", frame: src.of.frame }], out: dst };
  withGrid(operation, recipeOf(src.dtype).grid, (grid) => {
    const tasks: DecodeTask[] = [];
    eachTask(shape, strides, dst.frame.strides, Math.floor(TASK / block), (r) => {
      tasks.push({
        rows: r.rows,
        blocks: r.blocks,
        from: from + r.a + r.first * step,
        to: to + r.b + r.first * block * bytes,
        fromStride: r.stepA,
        toStride: r.stepB,
        step,
        grid,
      });
    });
    const nanoseconds = NANOSECONDS * sizeOf(dst.frame.shape);
    runRoutine(decodeRoutine(src.dtype, dst.dtype), decodeWords, tasks, nanoseconds, about);
  });
  dst.storage.version++;
}

/* Elements → blocks ------------------------------------------------------------------------------------------ */

/** dst[…] = src[…]: shapes agree. */
export function encode(operation: string, dst: Blocks<EncodedDType>, src: Strided): void {
  checkWritable(operation, dst.of);
  const { shape, strides } = src.frame;
  if (sizeOf(shape) === 0) return;
  const isRows =
    src.dtype === "f32" &&
    strides[shape.length - 1] === 4 &&
    [src.frame.offset, ...strides].every((n) => n % 4 === 0) &&
    !shareMemory(dst.of, src);
  if (isRows) {
    encodeRows(operation, dst, src);
    return;
  }
  const most = shareMemory(dst.of, src) ? Number.POSITIVE_INFINITY : PIECE;
  for (const box of boxes(shape, blockTypes[dst.dtype].block, most)) {
    throughFloats(operation, box.shape, (dense) => {
      assignElements(operation, dense, partOf(src, box.from, box.shape));
      encodeRows(operation, partOfBlocks(dst, box.from, box.shape), dense);
    });
  }
}

/** Rows of the source are dense f32, aligned. */
function encodeRows(operation: string, dst: Blocks<EncodedDType>, src: Strided): void {
  const routine = hasLanes() ? encodeRoutine(dst.dtype) : null;
  if (routine === null) encodePlainly(dst, src);
  else encodeTasks(operation, routine, dst, src);
  dst.of.storage.version++;
}

function encodeTasks(operation: string, routine: Routine, dst: Blocks<EncodedDType>, src: Strided): void {
  const { block } = blockTypes[dst.dtype];
  const { shape, strides } = dst.of.frame;
  const rank = shape.length - 1;
  const [to, from] = [addressOf(dst.of), addressOf(src)];
  const tasks: EncodeTask[] = [];
  eachTask(shape, strides, src.frame.strides, Math.floor(TASK / block), (r) => {
    tasks.push({
      rows: r.rows,
      blocks: r.blocks,
      from: from + r.b + 4 * block * r.first,
      to: to + r.a + r.first * strides[rank - 1],
      fromStride: r.stepB,
      toStride: r.stepA,
      step: strides[rank - 1],
    });
  });
  runRoutine(routine, encodeWords, tasks, 4 * NANOSECONDS * sizeOf(src.frame.shape), {
    operation,
    inputs: [src],
    out: { dtype: "u8", frame: dst.of.frame },
  });
}

function encodePlainly(dst: Blocks<EncodedDType>, src: Strided): void {
  const { block } = blockTypes[dst.dtype];
  const one = encoders[dst.dtype];
  const { shape, strides } = dst.of.frame;
  const rank = shape.length - 1;
  const [blocks, step] = [shape[rank - 1], strides[rank - 1]];
  const { heap } = dst.of.storage;
  const x = new Float32Array(heap.buffer, 0, heap.buffer.byteLength >> 2);
  const y = heap.u8;
  const [to, from] = [addressOf(dst.of), addressOf(src)];
  eachRows(shape.slice(0, -2), strides, src.frame.strides, (a, b, rows) => {
    for (let r = 0; r < rows.size; r++) {
      const at = (from + b + r * rows.b) / 4;
      const into = to + a + r * rows.a;
      for (let c = 0; c < blocks; c++) one(x, at + c * block, y, into + c * step);
    }
  });
}

/* Blocks → blocks -------------------------------------------------------------------------------------------- */

/** dst[…] = src[…]: shapes agree. Of one type, bytes move; of two, elements do. */
export function recode(operation: string, dst: Blocks, src: Blocks): void {
  if (dst.dtype === src.dtype) {
    assignElements(operation, dst.of, src.of);
    return;
  }
  checkWritable(operation, dst.of);
  const shape = elementShape(src);
  const most = shareMemory(dst.of, src.of) ? Number.POSITIVE_INFINITY : PIECE;
  for (const box of boxes(shape, Math.max(blockTypes[dst.dtype].block, blockTypes[src.dtype].block), most)) {
    throughFloats(operation, box.shape, (dense) => {
      decodeRows(operation, dense, partOfBlocks(src, box.from, box.shape));
      encodeRows(operation, partOfBlocks(dst as Blocks<EncodedDType>, box.from, box.shape), dense);
    });
  }
}
