/** Tasks for routines over a loop nest (see wasm/routines/walk.ts): the two innermost loops are theirs, the others are unrolled here. */
import type { Strided } from "../run/call.ts";
import { advance } from "../run/odometer.ts";
import type { Task } from "../run/routine.ts";
import { PIECE } from "../run/split.ts";
import { sizeOf } from "../view/layout.ts";
import type { LoopNest } from "../view/loops.ts";

/** Tasks of a call, about, where each has more than that. */
const MANY_TASKS = 256;

/** What a task that must not be cut further should have at the most. */
const LONG_TASK = 1 << 20;

/** A loop nest's offsets as addresses in the heap, for the operands in the nest's order. */
export function absolute(nest: LoopNest, operands: readonly Strided[]): LoopNest {
  return { ...nest, offsets: nest.offsets.map((o, i) => o + operands[i].storage.address) };
}

export const isEmptyNest = (nest: LoopNest): boolean => nest.shape.includes(0);

/** Pieces of the whole nest, in C order; `own` are the routine's words. */
export function walkTasks(nest: LoopNest, own: readonly number[] = [], most = PIECE): Task[] {
  if (isEmptyNest(nest)) return [];
  const { n, m, outer } = innerLoops(nest);
  const piece = Math.max(most, Math.ceil(sizeOf(nest.shape) / MANY_TASKS));
  const columns = Math.min(n, piece);
  const rows = columns < n ? 1 : Math.max(1, Math.floor(piece / n));
  const tasks: Task[] = [];
  eachOuter(nest, outer, (at) => {
    for (let i = 0; i < m; i += rows) {
      for (let j = 0; j < n; j += columns) {
        const count = Math.min(columns, n - j);
        tasks.push(taskOf(nest, at, { j, n: count, i, m: Math.min(rows, m - i) }, own));
      }
    }
  });
  return tasks;
}

/**
 * Pieces that may run at the same time though several offsets name one place. Along a loop in which the indexed operand
 * steps (`indexed` has a stride), different turns reach different places: there the nest may be cut. The other loops must
 * stay whole, in one task. null where they cannot.
 */
export function separateTasks(nest: LoopNest, indexed: number, pieces: number): Task[] | null {
  if (isEmptyNest(nest)) return [];
  const { n, m, outer } = innerLoops(nest);
  const rank = nest.shape.length;
  const steps = nest.strides[indexed];
  for (let d = 0; d < outer; d++) if (steps[d] === 0) return null;
  const cutColumns = rank >= 1 && steps[rank - 1] !== 0;
  const cutRows = rank >= 2 && steps[rank - 2] !== 0;
  const turns = nest.shape.slice(0, outer).reduce((a, b) => a * b, 1);
  if (!cutColumns && !cutRows && turns === 1) return null;
  const rows = cutRows ? Math.min(Math.ceil(m / pieces), Math.max(1, Math.floor(LONG_TASK / n))) : m;
  const columns = cutColumns && !cutRows ? 64 * Math.ceil(n / pieces / 64) : n;
  const tasks: Task[] = [];
  eachOuter(nest, outer, (at) => {
    for (let i = 0; i < m; i += rows) {
      for (let j = 0; j < n; j += columns) {
        const cut = { j, n: Math.min(columns, n - j), i, m: Math.min(rows, m - i) };
        tasks.push(taskOf(nest, at, cut, []));
      }
    }
  });
  return tasks;
}

function innerLoops(nest: LoopNest): { n: number; m: number; outer: number } {
  const rank = nest.shape.length;
  return {
    n: rank >= 1 ? nest.shape[rank - 1] : 1,
    m: rank >= 2 ? nest.shape[rank - 2] : 1,
    outer: Math.max(0, rank - 2),
  };
}

function eachOuter(nest: LoopNest, outer: number, visit: (at: readonly number[]) => void): void {
  const index = new Array<number>(outer).fill(0);
  const at = [...nest.offsets];
  do visit(at);
  while (advance(nest, outer, index, at));
}

interface Cut {
  readonly j: number;
  readonly n: number;
  readonly i: number;
  readonly m: number;
}

function taskOf(nest: LoopNest, at: readonly number[], cut: Cut, own: readonly number[]): Task {
  const rank = nest.shape.length;
  const words = [cut.n, cut.m];
  for (let k = 0; k < at.length; k++) {
    const stride = rank >= 1 ? nest.strides[k][rank - 1] : 0;
    const rowStride = rank >= 2 ? nest.strides[k][rank - 2] : 0;
    words.push(at[k] + cut.i * rowStride + cut.j * stride, stride, rowStride);
  }
  for (const word of own) words.push(word);
  return words;
}
