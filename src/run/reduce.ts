/**
 * Folds at run time: kernels by fold and layout class, and the tasks a fold is cut into. A task is one call of the
 * kernel with a descriptor of its own; what it computes depends on the shape only, so the same bits come out whoever
 * runs it. Folds of many elements into few cells are cut along the fold: each part makes partial cells, and a last
 * fold combines them in order.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import type { Program } from "../ir/node.ts";
import { printProgram } from "../ir/print.ts";
import { type Heap, SCRATCH } from "../memory/heap.ts";
import { optimize } from "../optimize/pipeline.ts";
import type { Fold } from "../optimize/reduce.ts";
import {
  type FoldAxis,
  type FoldKernelPlan,
  type FoldLoops,
  noLoop,
  planFold,
  planFoldKernel,
} from "../optimize/reduce-plan.ts";
import { detectFeatures } from "../wasm/features.ts";
import { rowOf } from "../wasm/lower.ts";
import { emitFold } from "../wasm/reduce.ts";
import { type FoldPrograms, foldDescriptor, starts } from "../wasm/reduce-kit.ts";
import type { KernelCache } from "./kernel.ts";
import type { Pool } from "./pool.ts";

export interface CompiledFold {
  readonly plan: FoldKernelPlan;
  readonly programs: FoldPrograms;
  readonly module: WebAssembly.Module;
  readonly bytes: Uint8Array;
  readonly run: (descriptor: number) => void;
  /** Estimated nanoseconds an element. */
  readonly cost: number;
  /** What making it cost, in milliseconds. */
  readonly compileTime: number;
}

/** Captured values of each program. */
export interface FoldParams {
  readonly step: readonly Value[];
  readonly first: readonly Value[];
  readonly finish: readonly Value[];
}
export const noParams: FoldParams = { step: [], first: [], finish: [] };

export interface FoldRequest {
  readonly fold: Fold;
  readonly params: FoldParams;
  /** Bytes of an element of each input; 0: its address is its value. */
  readonly itemBytes: readonly number[];
  /** Where each input, and the output, begin. */
  readonly addresses: readonly number[];
  readonly out: number;
  /** Outermost first; the folded ones in the order they are folded. */
  readonly kept: readonly FoldAxis[];
  readonly folded: readonly FoldAxis[];
  /** Carried. null: a fold that keeps its order starts at the first element. */
  readonly start: Value | null;
  /** A scan: the output moves along the one folded axis too, and every step is stored. */
  readonly every?: boolean;
}

/** What was done, for explain. */
export interface FoldReport {
  readonly kernel: CompiledFold;
  readonly loops: FoldLoops;
  readonly tasks: number;
  /** How many parts the fold was cut into. */
  readonly parts: number;
}

/** Elements a piece has: V8 replaces a function's slow first code only between calls. */
const CHUNK = 16384;
/** Cells of a tile: they stay in the first-level cache. */
const TILE = 2048;
/** Elements a task should have at the least, and the most tasks a fold is cut into. */
const LEAST_TASK = 32768;
const MOST_SPLIT = 64;
/** Fewer tasks than this, and a fold that may be regrouped is cut into parts of this many elements. */
const FEW_TASKS = 16;
const PART = 131072;
/** A job below this would be done before another thread has noticed it. */
const WORTH_SHARING_NS = 20_000;

const QUEUE = SCRATCH.address + 4096;
const SCRATCH_END = SCRATCH.address + SCRATCH.bytes;

const size = (axes: readonly FoldAxis[]): number => axes.reduce((n, a) => n * a.size, 1);

export class FoldRunner {
  readonly #heap: Heap;
  readonly #kernels: KernelCache;
  readonly #pool: Pool;
  readonly #byFold = new WeakMap<Fold, Map<string, CompiledFold>>();
  readonly #byText = new Map<string, CompiledFold>();
  readonly #combining = new WeakMap<Fold, Fold>();
  #words: Int32Array;

  constructor(heap: Heap, kernels: KernelCache, pool: Pool) {
    this.#heap = heap;
    this.#kernels = kernels;
    this.#pool = pool;
    this.#words = new Int32Array(heap.buffer, 0, SCRATCH_END / 4);
  }

  /** The kernel for a plan, made if it is new. */
  find(plan: FoldKernelPlan): CompiledFold {
    let kernels = this.#byFold.get(plan.fold);
    if (kernels === undefined) {
      kernels = new Map();
      this.#byFold.set(plan.fold, kernels);
    }
    const key = this.#kernels.simd ? plan.key : `scalar ${plan.key}`;
    let kernel = kernels.get(key);
    if (kernel === undefined) {
      const text = `${key}\n${textOf(plan.fold)}`;
      kernel = this.#byText.get(text) ?? this.#compile(plan);
      this.#byText.set(text, kernel);
      kernels.set(key, kernel);
    }
    return kernel;
  }

  #compile(plan: FoldKernelPlan): CompiledFold {
    const began = performance.now();
    const features = detectFeatures();
    const simd = features.simd && this.#kernels.simd;
    const fma = features.relaxedSimd && simd;
    const programs = lowered(plan.fold, fma);
    const bytes = emitFold(plan, programs, { simd, fma, shared: this.#heap.shared }).toBytes();
    const module = new WebAssembly.Module(bytes);
    const instance = new WebAssembly.Instance(module, { e: { m: this.#heap.memory } });
    this.#kernels.compiled++;
    return {
      plan,
      programs,
      module,
      bytes,
      run: instance.exports.run as (descriptor: number) => void,
      cost: 0.08 * programs.step.nodes.length * (simd ? 1 : 4),
      compileTime: performance.now() - began,
    };
  }

  /** Folds. No axis is empty. */
  run(r: FoldRequest): FoldReport {
    const loops = planFold(r.kept, r.folded, r.itemBytes, r.fold.algebra !== null && r.every !== true);
    const parts = this.#partsOf(r, loops);
    if (parts !== null) return this.#runParts(r, loops, parts);
    const kernel = this.#kernelFor(r, loops);
    const tasks = this.#runTasks(r, loops, kernel);
    return { kernel, loops, tasks, parts: 1 };
  }

  #kernelFor(r: FoldRequest, loops: FoldLoops): CompiledFold {
    const resultBytes = dtypes[r.fold.finish.dtype].bytes;
    return this.find(planFoldKernel(r.fold, loops, r.itemBytes, r.every ?? false, resultBytes));
  }

  /* Parts ------------------------------------------------------------------------------------------------ */

  /** Into how many parts the fold is cut, and along which loop; null: it is not. */
  #partsOf(r: FoldRequest, loops: FoldLoops): { along: "step" | "block"; parts: number } | null {
    if (r.fold.algebra === null || r.every || loops.moreFolded.length > 0) return null;
    const cells = size(r.kept);
    const total = cells * size(r.folded);
    if (total < 2 * PART || cells >= total / 64) return null;
    const tasks = splitKept(loops, total, true).tasks;
    if (tasks >= FEW_TASKS) return null;
    const along = loops.kind !== "rows" && loops.step.size >= loops.block.size ? "step" : "block";
    const parts = Math.min(loops[along].size, Math.floor(total / PART), Math.ceil(MOST_SPLIT / tasks));
    return parts > 1 ? { along, parts } : null;
  }

  #runParts(r: FoldRequest, loops: FoldLoops, cut: { along: "step" | "block"; parts: number }): FoldReport {
    const { fold } = r;
    const bytes = dtypes[fold.carry].bytes;
    const keptAxes = keptOf(loops);
    const cells = size(keptAxes);
    const partials = this.#heap.alloc(cut.parts * cells * bytes, "reduce");
    try {
      // The cells of a part lie densely, in the order of the kept loops.
      const steps = denseSteps(keptAxes, bytes);
      const place = (axis: FoldAxis): FoldAxis => ({ ...axis, out: steps.get(axis) ?? 0 });
      const dense: FoldLoops = {
        ...loops,
        lane: place(loops.lane),
        step: place(loops.step),
        outer: place(loops.outer),
        moreKept: loops.moreKept.map(place),
      };
      const partFold = this.#partial(fold);
      const along = loops[cut.along];
      let kernel: CompiledFold | null = null;
      let tasks = 0;
      const batch = new Batch(this.#current(), this.#heap, this.#pool);
      for (let p = 0; p < cut.parts; p++) {
        const from = Math.floor((p * along.size) / cut.parts);
        const to = Math.floor(((p + 1) * along.size) / cut.parts);
        const part: FoldLoops = {
          ...dense,
          [cut.along]: { ...dense[cut.along], size: to - from },
          tail: cut.along === "step" && p < cut.parts - 1 ? 0 : loops.tail,
        };
        const request: FoldRequest = {
          ...r,
          fold: partFold,
          addresses: r.addresses.map((a, k) => a + from * along.inputs[k]),
          out: partials + p * cells * bytes,
          start: fold.algebra!.identity,
        };
        kernel ??= this.#kernelFor(request, part);
        tasks += this.#enqueue(batch, request, part, kernel, starts.value, true, null);
      }
      batch.flush();
      const combined = this.run({
        fold: this.#combine(fold),
        params: { ...noParams, finish: r.params.finish },
        itemBytes: [bytes],
        addresses: [partials],
        out: r.out,
        kept: keptAxes.map((a) => ({ size: a.size, inputs: [steps.get(a)!], out: a.out })),
        folded: [{ size: cut.parts, inputs: [cells * bytes], out: 0 }],
        start: r.start ?? fold.algebra!.identity,
      });
      return { kernel: kernel!, loops, tasks: tasks + combined.tasks, parts: cut.parts };
    } finally {
      this.#heap.free(partials);
    }
  }

  /** The fold that leaves its accumulators as they are. */
  readonly #partials = new WeakMap<Fold, Fold>();
  #partial(fold: Fold): Fold {
    if (fold.plain) return fold;
    let known = this.#partials.get(fold);
    if (known === undefined) {
      known = { ...fold, finish: bare(fold.carry), plain: true };
      this.#partials.set(fold, known);
    }
    return known;
  }

  /** The fold of partial accumulators. */
  #combine(fold: Fold): Fold {
    let known = this.#combining.get(fold);
    if (known === undefined) {
      known = { ...fold, step: fold.algebra!.combine };
      this.#combining.set(fold, known);
    }
    return known;
  }

  /* Tasks ------------------------------------------------------------------------------------------------ */

  #current(): Int32Array {
    if (!this.#heap.shared && this.#words.buffer !== this.#heap.buffer) {
      this.#words = new Int32Array(this.#heap.buffer, 0, SCRATCH_END / 4);
    }
    return this.#words;
  }

  #runTasks(r: FoldRequest, loops: FoldLoops, kernel: CompiledFold): number {
    const { fold } = r;
    const startMode = r.start === null ? (fold.first === null ? starts.value : starts.first) : starts.value;
    const bytes = dtypes[fold.carry].bytes;
    const cellAxis = cellsOf(loops);
    const direct =
      fold.plain &&
      r.every !== true &&
      (loops.kind !== "columns" || loops.lane.out === bytes || loops.lane.size === 1);
    const rounds = size(loops.moreFolded);
    let buffer = 0;
    if (!direct) {
      const split = splitKept(loops, size(r.kept) * size(r.folded), fold.algebra !== null);
      const perTask = rounds > 1 ? 0 : Math.min(TILE, cellAxis.size);
      const count = rounds > 1 ? size(keptOf(loops)) : split.tasks * size(loops.moreKept) * perTask;
      buffer = this.#heap.alloc(Math.max(count * bytes, 8), "reduce");
    }
    try {
      let tasks = 0;
      const batch = new Batch(this.#current(), this.#heap, this.#pool);
      const index = new Array<number>(loops.moreFolded.length).fill(0);
      for (let round = 0; round < rounds; round++) {
        const shift = r.addresses.map((_, k) =>
          loops.moreFolded.reduce((s, axis, d) => s + index[d] * axis.inputs[k], 0),
        );
        const request = { ...r, addresses: r.addresses.map((a, k) => a + shift[k]) };
        const cells = direct ? null : { address: buffer, persistent: rounds > 1 };
        tasks += this.#enqueue(
          batch,
          request,
          loops,
          kernel,
          round === 0 ? startMode : starts.kept,
          direct || round < rounds - 1,
          cells,
        );
        batch.flush();
        for (let d = index.length - 1; d >= 0 && ++index[d] === loops.moreFolded[d].size; d--) index[d] = 0;
      }
      return tasks;
    } finally {
      if (buffer !== 0) this.#heap.free(buffer);
    }
  }

  /** Writes the descriptors of one round of tasks. `cells` null: the output's own memory holds them. */
  #enqueue(
    batch: Batch,
    r: FoldRequest,
    loops: FoldLoops,
    kernel: CompiledFold,
    startMode: number,
    unfinished: boolean,
    cells: { readonly address: number; readonly persistent: boolean } | null,
  ): number {
    const w = foldDescriptor;
    const { fold } = r;
    const { kind } = loops;
    const bytes = dtypes[fold.carry].bytes;
    const cellAxis = cellsOf(loops);
    const total = size(r.kept) * size(r.folded);
    const split = splitKept(loops, total, fold.algebra !== null);
    const perTask = Math.min(TILE, cellAxis.size);
    const { tile, chunk } = pieceSizes(loops, r.itemBytes);
    const words = batch.open(kernel, 1 + r.itemBytes.length, total * kernel.cost > WORTH_SHARING_NS);
    batch.params(r.params);
    const t = batch.template;
    words[t + w.lane] = loops.lane.size;
    words[t + w.step] = loops.step.size;
    words[t + w.block] = loops.block.size;
    words[t + w.outer] = loops.outer.size;
    words[t + w.tail] = loops.tail;
    words[t + w.tile] = tile;
    words[t + w.chunk] = chunk;
    words[t + w.start] = startMode;
    words[t + w.finish] = unfinished || r.every ? 0 : 1;
    const cellStride = cells === null ? cellAxis.out : bytes;
    words[t + w.cell] = kind === "runs" ? 0 : cellStride;
    words[t + w.cellTile] = cells === null || cells.persistent ? cellStride : 0;
    words[t + w.cellOuter] =
      cells === null
        ? loops.outer.out
        : cells.persistent && kind !== "runs"
          ? cellAxis.size * bytes
          : cells.persistent
            ? bytes
            : 0;
    const startValue = r.start ?? fold.algebra?.identity ?? null;
    if (startValue !== null) dtypes[fold.carry].write(this.#heap.view, 4 * (t + w.startValue), startValue);
    const strides = (operand: number, of: (axis: FoldAxis) => number) => {
      words[t + w.laneStride(operand)] = of(loops.lane);
      words[t + w.stepStride(operand)] = of(loops.step);
      words[t + w.blockStride(operand)] = of(loops.block);
      words[t + w.outerStride(operand)] = of(loops.outer);
    };
    strides(0, (axis) => axis.out);
    for (let k = 0; k < r.itemBytes.length; k++) strides(k + 1, (axis) => axis.inputs[k]);

    let tasks = 0;
    const index = new Array<number>(loops.moreKept.length).fill(0);
    const along = kind === "columns" ? loops.lane : loops.step;
    const perOuter = kind === "runs" ? 1 : cellAxis.size;
    for (let more = 0; more < size(loops.moreKept); more++) {
      let out = r.out;
      const at = [...r.addresses];
      loops.moreKept.forEach((axis, d) => {
        out += index[d] * axis.out;
        for (let k = 0; k < at.length; k++) at[k] += index[d] * axis.inputs[k];
      });
      for (let o = 0; o < split.outer; o++) {
        const o0 = Math.floor((o * loops.outer.size) / split.outer);
        const o1 = Math.floor(((o + 1) * loops.outer.size) / split.outer);
        for (let c = 0; c < split.across; c++) {
          const [c0, c1] = split.acrossRange(c);
          const base = batch.task();
          words[base + w.outer] = o1 - o0;
          if (kind === "columns") words[base + w.lane] = c1 - c0;
          else if (kind === "rows") words[base + w.step] = c1 - c0;
          const acrossOut = kind === "runs" ? 0 : c0 * along.out;
          words[base + w.address(0)] = out + o0 * loops.outer.out + acrossOut;
          for (let k = 0; k < at.length; k++) {
            const across = kind === "runs" ? 0 : c0 * along.inputs[k];
            words[base + w.address(k + 1)] = at[k] + o0 * loops.outer.inputs[k] + across;
          }
          if (cells === null) words[base + w.cells] = words[base + w.address(0)];
          else if (cells.persistent)
            words[base + w.cells] =
              cells.address +
              ((more * loops.outer.size + o0) * perOuter + (kind === "runs" ? 0 : c0)) * bytes;
          else words[base + w.cells] = cells.address + tasks * perTask * bytes;
          tasks++;
        }
      }
      for (let d = index.length - 1; d >= 0 && ++index[d] === loops.moreKept[d].size; d--) index[d] = 0;
    }
    return tasks;
  }
}

/* Cutting ------------------------------------------------------------------------------------------------ */

/** The axis whose elements are a tile's cells. */
const cellsOf = (loops: FoldLoops): FoldAxis =>
  loops.kind === "columns"
    ? loops.lane
    : loops.kind === "rows"
      ? loops.step
      : noLoop(loops.lane.inputs.length);

/** The kept loops, outermost first. */
function keptOf(loops: FoldLoops): FoldAxis[] {
  const kept = [...loops.moreKept, loops.outer];
  if (loops.kind !== "runs") kept.push(cellsOf(loops));
  return kept;
}

function denseSteps(axes: readonly FoldAxis[], bytes: number): Map<FoldAxis, number> {
  const steps = new Map<FoldAxis, number>();
  let step = bytes;
  for (let d = axes.length - 1; d >= 0; d--) {
    steps.set(axes[d], step);
    step *= axes[d].size;
  }
  return steps;
}

interface Split {
  /** Pieces of the outer loop, and of the loop across the cells of a tile. */
  readonly outer: number;
  readonly across: number;
  readonly acrossRange: (piece: number) => readonly [from: number, to: number];
  readonly tasks: number;
}

/**
 * How the kept loops are cut into tasks of a fair size: by the shape alone. Columns are cut into wide stretches, so that
 * memory is read in long runs; a fold that may be regrouped makes up for that by being cut along the fold too.
 */
function splitKept(loops: FoldLoops, total: number, mayRegroup: boolean): Split {
  const wanted = Math.max(1, Math.min(MOST_SPLIT, Math.floor(total / LEAST_TASK)));
  const outer = Math.min(loops.outer.size, Math.max(1, Math.floor(wanted / size(loops.moreKept))));
  const cells = loops.kind === "runs" ? 1 : cellsOf(loops).size;
  const unit = loops.kind === "columns" ? (mayRegroup ? 1024 : 256) : 1;
  const units = Math.max(1, Math.floor(cells / unit));
  const across = Math.max(1, Math.min(units, Math.floor(wanted / (outer * size(loops.moreKept)))));
  const bound = (piece: number) => (piece === across ? cells : Math.floor((piece * units) / across) * unit);
  return {
    outer,
    across,
    acrossRange: (piece) => [bound(piece), bound(piece + 1)],
    tasks: outer * across,
  };
}

function pieceSizes(loops: FoldLoops, itemBytes: readonly number[]): { tile: number; chunk: number } {
  const { kind, lane, step } = loops;
  if (kind === "rows") {
    const rows = Math.max(1, Math.min(TILE, Math.floor(CHUNK / lane.size)));
    return { tile: rows, chunk: rows };
  }
  if (kind === "runs") return { tile: 1, chunk: Math.max(1, Math.floor(CHUNK / lane.size)) };
  // Columns side by side: few rows at a time, so that the rows' memory is read in long stretches.
  if (lane.inputs.some((s, k) => itemBytes[k] > 0 && s === itemBytes[k])) {
    const tile = Math.min(TILE, lane.size);
    return { tile, chunk: Math.max(8, Math.floor(CHUNK / tile)) };
  }
  const chunk = Math.min(1024, step.size);
  return { tile: Math.max(16, Math.min(TILE, Math.floor(CHUNK / chunk))), chunk };
}

/** Descriptors of tasks of one kernel that are run together. */
class Batch {
  readonly #words: Int32Array;
  readonly #heap: Heap;
  readonly #pool: Pool;
  #kernel: CompiledFold | null = null;
  #operands = 0;
  #step = 0;
  #tasks = 0;
  #shared = false;

  constructor(words: Int32Array, heap: Heap, pool: Pool) {
    this.#words = words;
    this.#heap = heap;
    this.#pool = pool;
  }

  /** Word position of the descriptor that tasks are copies of. */
  readonly template = SCRATCH.address / 4;

  open(kernel: CompiledFold, operands: number, shared: boolean): Int32Array {
    if (this.#kernel !== null && this.#kernel !== kernel) this.flush();
    this.#kernel = kernel;
    this.#operands = operands;
    this.#shared ||= shared;
    const { step, first, finish } = kernel.programs;
    const params = step.params.length + (first?.params.length ?? 0) + finish.params.length;
    this.#step = 64 * Math.ceil((4 * (foldDescriptor.params(operands) + 2 * params)) / 64);
    return this.#words;
  }

  params(values: FoldParams): void {
    const { step, first, finish } = this.#kernel!.programs;
    let at = 4 * (this.template + foldDescriptor.params(this.#operands));
    const write = (types: readonly DType[], own: readonly Value[]) => {
      types.forEach((d, i) => {
        dtypes[d].write(this.#heap.view, at, own[i]);
        at += 8;
      });
    };
    write(step.params, values.step);
    if (first !== null) write(first.params, values.first);
    write(finish.params, values.finish);
  }

  /** The word position of one more task's descriptor. */
  task(): number {
    if (QUEUE + (this.#tasks + 1) * this.#step > SCRATCH_END || this.#tasks === 1000) this.flush();
    const base = (QUEUE + this.#tasks++ * this.#step) / 4;
    this.#words.copyWithin(base, this.template, this.template + this.#step / 4);
    return base;
  }

  flush(): void {
    if (this.#tasks === 0) return;
    const kernel = this.#kernel!;
    if (this.#shared) this.#pool.run(kernel, QUEUE, this.#step, this.#tasks);
    else for (let i = 0; i < this.#tasks; i++) kernel.run(QUEUE + i * this.#step);
    this.#tasks = 0;
  }
}

/* Programs ------------------------------------------------------------------------------------------------ */

const bares = new Map<DType, Program>();
function bare(d: DType): Program {
  let program = bares.get(d);
  if (program === undefined) {
    const nodes = [{ op: "input", index: 0, dtype: d, args: [] }] as const;
    program = { nodes, result: 0, inputs: [d], params: [], dtype: d };
    bares.set(d, program);
  }
  return program;
}

function textOf(fold: Fold): string {
  const parts = [fold.step, fold.algebra?.combine, fold.first, fold.finish];
  return parts.map((p) => (p ? `${p.inputs}\n${printProgram(p)}` : "-")).join("\n");
}

function lowered(fold: Fold, fma: boolean): FoldPrograms {
  const lower = (p: Program) => optimize(p, { fma });
  return {
    step: lower(fold.step),
    combine: fold.algebra === null ? null : lower(fold.algebra.combine),
    first: fold.first === null ? null : lower(fold.first),
    finish: lower(fold.finish),
  };
}

const compilable = new WeakMap<Fold, boolean>();

/** Has every operation of the fold instructions? Functions that are not decomposed yet go to the interpreter. */
export function canCompile(fold: Fold): boolean {
  let can = compilable.get(fold);
  if (can === undefined) {
    const { step, combine, first, finish } = lowered(fold, false);
    can = [step, combine, first, finish].every((p) => p === null || p.nodes.every(isKnown));
    compilable.set(fold, can);
  }
  return can;
}

const programs = new WeakMap<Program, boolean>();

export function canCompileProgram(program: Program): boolean {
  let can = programs.get(program);
  if (can === undefined) {
    can = optimize(program, { fma: false }).nodes.every(isKnown);
    programs.set(program, can);
  }
  return can;
}

const notOps = new Set(["input", "param", "const", "cast", "bitcast", "rare"]);

function isKnown(node: Program["nodes"][number]): boolean {
  if (node.dtype === "f16" || node.dtype === "bf16") return false;
  if (notOps.has(node.op)) return true;
  try {
    rowOf(node.op as Parameters<typeof rowOf>[0]);
    const big = dtypes[node.dtype].big;
    return big || !(node.op === "rem" || node.op === "floorMod" || node.op === "floorDivide");
  } catch {
    return false;
  }
}
