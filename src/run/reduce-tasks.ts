/**
 * The tasks of a fold: how its loops are cut, and the descriptors that say so to the kernel. The cuts follow from the
 * shape alone, so the same bits come out whoever runs the tasks, and in whatever order.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import type { Fold } from "../optimize/reduce.ts";
import { type FoldAxis, type FoldKernelPlan, type FoldLoops, noLoop } from "../optimize/reduce-plan.ts";
import { type FoldPrograms, foldDescriptor } from "../wasm/fold/kit.ts";
import { checkDescriptor, type Scratch, TaskQueue, TEMPLATE } from "./descriptors.ts";
import type { Pool, PoolKernel } from "./pool.ts";
import { PIECE, WORTH_SHARING } from "./split.ts";

export interface CompiledFold extends PoolKernel {
  readonly plan: FoldKernelPlan;
  readonly programs: FoldPrograms;
  /** Has it vectors? */
  readonly simd: boolean;
  /** Estimated nanoseconds an element. */
  readonly cost: number;
  /** What making it cost, in milliseconds. */
  readonly compileTime: number;
  /** Captured values that its tasks have, and bytes of one. */
  readonly params: number;
  readonly taskBytes: number;
}

/** Captured values of each program. */
export interface FoldParams {
  readonly step: readonly Value[];
  readonly first: readonly Value[];
  readonly finish: readonly Value[];
}

/** A fold over loops, counted from where the output and each input begin. */
export interface FoldRequest {
  readonly fold: Fold;
  /** Bytes of an element of each input; 0: its address is its value. */
  readonly itemBytes: readonly number[];
  /** Bytes from where each input, and the output, begin to what is read and written first. */
  readonly shifts: readonly number[];
  readonly out: number;
  /** Outermost first; the folded ones in the order they are folded. */
  readonly kept: readonly FoldAxis[];
  readonly folded: readonly FoldAxis[];
  /** Carried. null: a fold that keeps its order starts at the first element. */
  readonly start: Value | null;
  /** A scan: the output moves along the one folded axis too, and every step is stored. */
  readonly every?: boolean;
  /** The fold whose grouping is kept; what it reads comes before the inputs in the axes. */
  readonly like?: { readonly fold: Fold; readonly itemBytes: readonly number[] };
}

/* Cutting ------------------------------------------------------------------------------------------------ */

/** Cells of a tile: they stay in the first-level cache. */
const TILE = 2048;
/** Elements a task should have at the least, and the most tasks a fold is cut into. */
const LEAST_TASK = 32768;
export const MOST_SPLIT = 64;
/** More tasks than that only where each would have more elements than this. */
const MOST_TASK = 1 << 21;
/** Columns of a task: wide enough for memory to be read in long runs. Folds that may be cut otherwise stay wider. */
const REGROUPED_COLUMNS = 2048;
const ORDERED_COLUMNS = 256;

export function sizeOfAxes(axes: readonly FoldAxis[]): number {
  let n = 1;
  for (const axis of axes) n *= axis.size;
  return n;
}

/** The axis whose elements are a tile's cells. */
export function cellsOf(loops: FoldLoops): FoldAxis {
  if (loops.kind === "columns") return loops.lane;
  return loops.kind === "rows" ? loops.step : noLoop(loops.lane.inputs.length);
}

/** The kept loops, outermost first. */
export function keptOf(loops: FoldLoops): FoldAxis[] {
  const kept = [...loops.moreKept, loops.outer];
  if (loops.kind !== "runs") kept.push(cellsOf(loops));
  return kept;
}

export interface Cut {
  /** Elements in all. */
  readonly total: number;
  /** Pieces of the outer loop, of the loop across a tile's cells, and of both for every other kept loop. */
  readonly outer: number;
  readonly across: number;
  readonly tasks: number;
  /** Cells that pieces of the loop across are multiples of. */
  readonly unit: number;
  /** Cells a tile has, and steps a piece has, at the most. */
  readonly tile: number;
  readonly chunk: number;
}

export function cutLoops(loops: FoldLoops, itemBytes: readonly number[], mayRegroup: boolean): Cut {
  const { kind, lane, step, block, outer } = loops;
  const more = sizeOfAxes(loops.moreKept);
  const total =
    (lane.size * step.size + loops.tail) * block.size * outer.size * more * sizeOfAxes(loops.moreFolded);
  const wanted = Math.max(
    1,
    Math.min(MOST_SPLIT, Math.floor(total / LEAST_TASK)),
    Math.floor(total / MOST_TASK),
  );
  const outerPieces = Math.min(outer.size, Math.max(1, Math.floor(wanted / more)));
  const unit = kind === "columns" ? (mayRegroup ? REGROUPED_COLUMNS : ORDERED_COLUMNS) : 1;
  const units = Math.max(1, Math.floor(cellsOf(loops).size / unit));
  const across = Math.max(1, Math.min(units, Math.floor(wanted / (outerPieces * more))));
  return {
    total,
    outer: outerPieces,
    across,
    tasks: outerPieces * across * more,
    unit,
    ...pieceSizes(loops, itemBytes),
  };
}

function pieceSizes(loops: FoldLoops, itemBytes: readonly number[]): { tile: number; chunk: number } {
  const { kind, lane, step } = loops;
  if (kind === "rows") {
    const rows = Math.max(1, Math.min(TILE, Math.floor(PIECE / lane.size)));
    return { tile: rows, chunk: rows };
  }
  if (kind === "runs") return { tile: 1, chunk: Math.max(1, Math.floor(PIECE / lane.size)) };
  // Columns side by side: few rows at a time, so that the rows' memory is read in long stretches.
  if (lane.inputs.some((s, k) => itemBytes[k] > 0 && s === itemBytes[k])) {
    const tile = Math.min(TILE, lane.size);
    return { tile, chunk: Math.max(8, Math.floor(PIECE / tile)) };
  }
  const chunk = Math.min(1024, step.size);
  return { tile: Math.max(16, Math.min(TILE, Math.floor(PIECE / chunk))), chunk };
}

/* Cells -------------------------------------------------------------------------------------------------- */

/**
 * Where accumulators are while the fold goes on.
 * output: in the output's own memory. tile: in a buffer a task, used for one tile after the other. all: in a buffer with
 * a place for every cell, in the order of the kept loops, because the kernel is called several times.
 */
export type Cells = "output" | "tile" | "all";

/** Cells that a task's buffer has room for. */
const perTask = (loops: FoldLoops): number => Math.min(TILE, cellsOf(loops).size);

export function cellCount(where: Cells, loops: FoldLoops, cut: Cut): number {
  if (where === "output") return 0;
  return where === "all" ? sizeOfAxes(keptOf(loops)) : cut.tasks * perTask(loops);
}

/* Descriptors -------------------------------------------------------------------------------------------- */

const WORDS = TEMPLATE / 4;

/** Bytes of the descriptors of a fold; refuses one that has more operands and captured values than there is room for. */
export function descriptorBytes({ step, first, finish }: FoldShape, operands: number): number {
  const params = step.params.length + (first?.params.length ?? 0) + finish.params.length;
  const bytes = 4 * (foldDescriptor.params(operands) + 2 * params);
  checkDescriptor(bytes, operands - 1, params);
  return bytes;
}
type FoldShape = Pick<FoldPrograms, "step" | "first" | "finish">;

/** A fold that is cut along one of its folded loops. */
export interface Parts {
  readonly along: "step" | "block";
  readonly count: number;
}
const whole: Parts = { along: "block", count: 1 };

/** One round of tasks: those of all kept cells, over the loops the kernel runs itself. */
export interface Round {
  readonly request: FoldRequest;
  readonly loops: FoldLoops;
  readonly cut: Cut;
  /** Every part has outputs of its own: those of all kept cells, one part after the other. */
  readonly parts: Parts | null;
  readonly cells: Cells;
  /** How cells start: see `starts` in wasm/fold/kit.ts. */
  readonly start: number;
  /** Turn cells into output at the end? */
  readonly finish: boolean;
  /** Elements of the round. */
  readonly work: number;
}

/** Where the output, each input and the cells begin. */
export type Begins = readonly number[];

/** Tasks that are kept, to be run again for tensors that lie elsewhere, at the most. */
const MOST_KEPT = 256;

/** Where a piece of a loop of `size` steps, `of` units, begins. */
const bound = (piece: number, pieces: number, of: number, unit: number, size: number): number =>
  piece === pieces ? size : Math.floor((piece * of) / pieces) * unit;

/** Descriptors of tasks of one kernel, which are run together. */
export class Batch {
  readonly #scratch: Scratch;
  readonly #pool: Pool;
  readonly #kernel: CompiledFold;
  readonly #queue: TaskQueue;
  readonly #operands: number;
  readonly #begins: Begins;
  #shares = false;
  /** What waits, before it was bound; null: it was too much. */
  #kept: Int32Array | null | undefined = undefined;

  constructor(scratch: Scratch, pool: Pool, kernel: CompiledFold, begins: Begins) {
    this.#scratch = scratch;
    this.#pool = pool;
    this.#kernel = kernel;
    this.#begins = begins;
    this.#operands = 1 + kernel.plan.streams.length;
    this.#queue = new TaskQueue(scratch, kernel.taskBytes);
  }

  /** Runs the tasks of a round. Given back are their words for `again`; null where they are too many to be kept. */
  run(round: Round, params: FoldParams): Int32Array | null {
    this.#shares = this.#isShared(round.work);
    this.#writeTemplate(round);
    this.#writeParams(WORDS, params);
    this.#writeTasks(round);
    this.#flush();
    return this.#kept ?? null;
  }

  /** The same tasks, for operands that begin elsewhere and other captured values. */
  again(words: Int32Array, params: FoldParams, work: number): void {
    this.#shares = this.#isShared(work);
    this.#kept = null;
    const start = this.#queue.restore(words);
    if (this.#kernel.params > 0) {
      for (let base = start; base < start + words.length; base += this.#queue.stride)
        this.#writeParams(base, params);
    }
    this.#flush();
  }

  #isShared(work: number): boolean {
    return work * this.#kernel.cost > WORTH_SHARING.fold;
  }

  /** Runs what waits. Until here its addresses were counted from where the operands begin. */
  #flush(): void {
    const { tasks, stride, first } = this.#queue;
    if (tasks === 0) return;
    if (this.#kept !== undefined || tasks > MOST_KEPT) this.#kept = null;
    else this.#kept = this.#queue.record();
    const { words } = this.#scratch;
    const begins = this.#begins;
    for (let base = first, end = first + tasks * stride; base < end; base += stride) {
      for (let k = 0; k < this.#operands; k++) words[base + foldDescriptor.address(k)] += begins[k];
      words[base + foldDescriptor.cells] += begins[this.#operands];
    }
    this.#queue.run(this.#kernel, this.#shares ? this.#pool : null);
  }

  /** What all tasks of the round have in common. */
  #writeTemplate({ request, loops, cut, cells, start, finish }: Round): void {
    const w = foldDescriptor;
    const { words } = this.#scratch;
    const { carry, algebra } = request.fold;
    const { bytes } = dtypes[carry];
    const { kind, lane, step, block, outer } = loops;
    words[WORDS + w.lane] = lane.size;
    words[WORDS + w.step] = step.size;
    words[WORDS + w.block] = block.size;
    words[WORDS + w.outer] = outer.size;
    words[WORDS + w.tail] = loops.tail;
    words[WORDS + w.tile] = cut.tile;
    words[WORDS + w.chunk] = cut.chunk;
    words[WORDS + w.start] = start;
    words[WORDS + w.finish] = finish ? 1 : 0;
    // The runs of a row share one cell.
    const own = cells === "output";
    const cell = kind === "runs" ? 0 : own ? cellsOf(loops).out : bytes;
    words[WORDS + w.cell] = cell;
    words[WORDS + w.cellTile] = cells === "tile" ? 0 : cell;
    words[WORDS + w.cellOuter] = own ? outer.out : cells === "all" ? cellsOf(loops).size * bytes : 0;
    const value = request.start ?? algebra?.identity ?? null;
    if (value !== null) dtypes[carry].write(this.#scratch.view, 4 * (WORDS + w.startValue), value);
    for (let k = 0; k < this.#operands; k++) {
      words[WORDS + w.laneStride(k)] = k === 0 ? lane.out : lane.inputs[k - 1];
      words[WORDS + w.stepStride(k)] = k === 0 ? step.out : step.inputs[k - 1];
      words[WORDS + w.blockStride(k)] = k === 0 ? block.out : block.inputs[k - 1];
      words[WORDS + w.outerStride(k)] = k === 0 ? outer.out : outer.inputs[k - 1];
    }
  }

  #writeParams(base: number, values: FoldParams): void {
    const { step, first, finish } = this.#kernel.programs;
    let at = 4 * (base + foldDescriptor.params(this.#operands));
    const write = (types: readonly DType[], own: readonly Value[]) => {
      for (let i = 0; i < types.length; i++, at += 8) dtypes[types[i]].write(this.#scratch.view, at, own[i]);
    };
    write(step.params, values.step);
    if (first !== null) write(first.params, values.first);
    write(finish.params, values.finish);
  }

  #writeTasks(round: Round): void {
    const { loops, request } = round;
    const { along, count } = round.parts ?? whole;
    const axis = loops[along];
    const bytes = count === 1 ? 0 : sizeOfAxes(keptOf(loops)) * dtypes[request.fold.carry].bytes;
    for (let p = 0; p < count; p++) {
      const from = Math.floor((p * axis.size) / count);
      const to = Math.floor(((p + 1) * axis.size) / count);
      this.#scratch.words[WORDS + foldDescriptor[along]] = to - from;
      this.#scratch.words[WORDS + foldDescriptor.tail] =
        along === "block" || p === count - 1 ? loops.tail : 0;
      this.#writePart(round, axis, from, p * bytes);
    }
  }

  /** The tasks of a part that begins at step `from` of `axis`, and whose output is `place` bytes further on. */
  #writePart({ request, loops, cut, cells }: Round, axis: FoldAxis, from: number, place: number): void {
    const { moreKept, outer, kind } = loops;
    const across = cellsOf(loops);
    const units = Math.max(1, Math.floor(across.size / cut.unit));
    const index = new Array<number>(moreKept.length).fill(0);
    const more = sizeOfAxes(moreKept);
    const w = foldDescriptor;
    const { words } = this.#scratch;
    for (let j = 0, task = 0; j < more; j++) {
      for (let o = 0; o < cut.outer; o++) {
        const o0 = bound(o, cut.outer, outer.size, 1, outer.size);
        const o1 = bound(o + 1, cut.outer, outer.size, 1, outer.size);
        for (let c = 0; c < cut.across; c++, task++) {
          const c0 = bound(c, cut.across, units, cut.unit, across.size);
          const c1 = bound(c + 1, cut.across, units, cut.unit, across.size);
          const base = this.#task();
          words[base + w.outer] = o1 - o0;
          if (kind === "columns") words[base + w.lane] = c1 - c0;
          else if (kind === "rows") words[base + w.step] = c1 - c0;
          let out = request.out + place + o0 * outer.out + c0 * across.out;
          for (let d = 0; d < index.length; d++) out += index[d] * moreKept[d].out;
          words[base + w.address(0)] = out;
          for (let k = 0; k < request.shifts.length; k++) {
            let at = request.shifts[k] + from * axis.inputs[k];
            at += o0 * outer.inputs[k] + c0 * across.inputs[k];
            for (let d = 0; d < index.length; d++) at += index[d] * moreKept[d].inputs[k];
            words[base + w.address(k + 1)] = at;
          }
          const cell = cells === "all" ? (j * outer.size + o0) * across.size + c0 : task * perTask(loops);
          words[base + w.cells] = cells === "output" ? out : cell * dtypes[request.fold.carry].bytes;
        }
      }
      for (let d = index.length - 1; d >= 0 && ++index[d] === moreKept[d].size; d--) index[d] = 0;
    }
  }

  /** The word position of one more descriptor, a copy of the template. */
  #task(): number {
    if (this.#queue.isFull) this.#flush();
    return this.#queue.copy();
  }
}
