/**
 * Runs the plan of a matrix product: compiled modules, a workspace, and the loops over blocks. A plan's tasks are
 * independent of each other; whoever runs one brings a workspace of its own. Tasks that go together share the packed
 * blocks of b, and take them stage by stage.
 */
import { type DType, dtypeNames } from "../dtype.ts";
import { TensorError, unreachable } from "../errors.ts";
import type { Heap } from "../memory/heap.ts";
import {
  ceilTo,
  cut,
  type GemmLane,
  type GemmOptions,
  type GemmPlan,
  type GemmProblem,
  type GemmTask,
  type GemmTile,
  isLane,
  isStream,
  isWide,
  laneBytes,
  laneOf,
  planGemm,
  REPLACE,
  rowsTogether,
  STREAM_CHUNK,
  STREAM_K,
  tileCandidates,
} from "../optimize/gemm.ts";
import type { ModuleBuilder } from "../wasm/assembler/assembler.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import { compileModule } from "../wasm/assembler/module.ts";
import {
  type DirectGemm,
  emitDirectGemm,
  emitPackedGemm,
  type GemmModuleOptions,
  type PackedGemm,
} from "../wasm/product/gemm.ts";
import { emitVectorGemm, type VectorGemm } from "../wasm/product/vector.ts";
import { workspaceOf } from "./descriptors.ts";
import { type TileProbe, TileRace } from "./gemm-probe.ts";
import type { Pool } from "./pool.ts";
import { WORTH_SHARING } from "./split.ts";
import { type TapedModule, tapedModule, writeTapes } from "./tape.ts";

/** Batches one call of the direct kernel takes: V8 replaces slow first code only between calls. */
const BATCHES_A_CALL = 512;

/** Elements one call of `dots` reads, about. */
const STREAM_ELEMENTS = 1 << 18;

export interface GemmModule<Exports> {
  readonly bytes: Uint8Array;
  readonly exports: Exports;
  /** The same for other threads: calls are written down, and whoever is free makes them. */
  readonly taped: TapedModule<Exports>;
}

/** Multiplications after which it is worth finding the best tile, how often that is tried, and for how long (ms). */
const PROBE_WORK = 2 ** 28;
const PROBE_TRIES = 10;
const PROBE_TIME = 4;

interface TileChoice {
  tile: GemmTile;
  readonly candidates: readonly GemmTile[];
  settled: boolean;
  race: TileRace | null;
  tries: number;
  /** Multiplications since the last try. */
  work: number;
}

/** What products need of a heap; a worker that only runs tasks needs its memory. */
export type GemmHeap = Pick<Heap, "memory" | "shared" | "buffer" | "alloc" | "free">;

/** The compiled matrix products of one heap. */
/** A plan, and what it was made for. */
export interface ReadyProduct {
  readonly plan: GemmPlan;
  readonly best: GemmTile;
  readonly workers: number;
}

export class GemmKernels {
  readonly #heap: GemmHeap;
  readonly #pool: Pool | null;
  readonly #packed = new Map<number, GemmModule<PackedGemm>>();
  readonly #direct = new Map<number, GemmModule<DirectGemm>>();
  readonly #vector = {
    dots: new Map<number, GemmModule<VectorGemm>>(),
    axpy: new Map<number, GemmModule<VectorGemm>>(),
  };
  readonly #choices = new Map<GemmLane, TileChoice>();
  /** Modules made so far; tests watch it stand still. */
  compiled = 0;
  /** Milliseconds spent on making them. */
  compileTime = 0;
  /** Whether the last product was shared among threads; for explain. */
  shared = false;

  constructor(heap: GemmHeap, pool: Pool | null = null) {
    this.#heap = heap;
    this.#pool = pool;
  }

  /** The tile in use for these lanes now: the plain one until others have been tried. */
  tile(lane: GemmLane): GemmTile {
    return this.#choice(lane).tile;
  }

  /** The fastest tile on this host, tried if that has not been done (see gemm-probe.ts): a few milliseconds. */
  bestTile(lane: GemmLane): GemmTile {
    const choice = this.#choice(lane);
    for (let t = 0; t < PROBE_TRIES && !choice.settled; t++) this.#probe(lane, choice);
    return choice.tile;
  }

  /** Forgets modules and tiles, for instance after a switch of the host's was turned. */
  reset(): void {
    for (const cache of [this.#packed, this.#direct, this.#vector.dots, this.#vector.axpy]) cache.clear();
    this.#choices.clear();
  }

  #choice(lane: GemmLane): TileChoice {
    let choice = this.#choices.get(lane);
    if (choice === undefined) {
      const candidates = tileCandidates(lane, detectFeatures().relaxedSimd);
      choice = {
        tile: candidates[0],
        candidates,
        settled: candidates.length === 1,
        race: null,
        tries: 0,
        work: 0,
      };
      this.#choices.set(lane, choice);
    }
    return choice;
  }

  #probe(lane: GemmLane, choice: TileChoice): void {
    choice.race ??= new TileRace(this.#heap, lane, choice.candidates);
    choice.race.attempt(PROBE_TIME);
    choice.settled = choice.race.decided || ++choice.tries >= PROBE_TRIES;
    if (choice.settled) choice.tile = choice.race.best;
  }

  /** What the tiles tried for these lanes reached; null: none were. */
  probes(lane: GemmLane): readonly TileProbe[] | null {
    return this.#choice(lane).race?.probes ?? null;
  }

  plan(problem: GemmProblem, options: GemmOptions = {}): GemmPlan {
    return planGemm(problem, this.#bestFor(problem, options), options);
  }

  #bestFor({ dtypes, m, n, k }: GemmProblem, { tile }: GemmOptions): GemmTile {
    const lane = laneOf(dtypes[0]);
    return tile === undefined ? this.tileFor(lane, m * n * k) : this.tile(lane);
  }

  /** The tile in use, for so many multiplications. They count until they are worth a search for a better one. */
  tileFor(lane: GemmLane, multiplications: number): GemmTile {
    const choice = this.#choice(lane);
    if (!choice.settled) {
      choice.work += multiplications;
      if (choice.work > PROBE_WORK) {
        choice.work = 0;
        this.#probe(lane, choice);
      }
    }
    return choice.tile;
  }

  /** Computes the whole product, on all threads where that pays. */
  run(problem: GemmProblem, options: GemmOptions = {}): GemmPlan {
    const ready = this.ready(problem, options);
    this.spend(ready);
    return ready.plan;
  }

  /** The plan of a product as things stand: the one made before, if neither tile nor threads have changed since. */
  ready(problem: GemmProblem, options: GemmOptions = {}, before: ReadyProduct | null = null): ReadyProduct {
    const best = this.#bestFor(problem, options);
    const isShared = isLarge(problem, rateOf(laneOf(problem.dtypes[0]), options.tile ?? best));
    const workers = options.workers ?? (isShared ? (this.#pool?.threads ?? 1) : 1);
    if (before !== null && before.best === best && before.workers === workers) return before;
    return { plan: planGemm(problem, best, { ...options, workers }), best, workers };
  }

  /** Runs a plan whose offsets are addresses. */
  spend({ plan, workers }: ReadyProduct): void {
    this.shared = workers > 1 && plan.tasks.length > 1;
    if (!this.shared) {
      this.runPlan(plan);
      return;
    }
    try {
      this.#runShared(plan);
    } catch (error) {
      // One thread needs less memory; and what is replaced may be replaced again.
      const isFull = error instanceof TensorError && error.code === "memory";
      if (!isFull || plan.accumulate !== REPLACE) throw error;
      this.shared = false;
      this.runPlan(this.plan(plan.problem, { workers: 1 }));
    }
  }

  /** Every task has a workspace of its own; b is packed by each for itself, or by all of them for all. */
  #runShared(plan: GemmPlan): void {
    const { bytes, packB } = plan.workspace;
    const step = plan.together ? packB : bytes;
    const own = step * plan.tasks.length;
    const common = plan.together ? bytes - packB : partialBytes(plan);
    const workspaces = this.#heap.alloc(own + common, "matmul");
    try {
      if (plan.together) this.#runTogether(plan, workspaces, step);
      else {
        const partials = workspaces + own;
        this.#play(this.moduleOf(plan), plan.tasks.length, (t, exports) =>
          this.runTask(plan, t, workspaces + t * step, partials, exports),
        );
        if (plan.parts > 1) this.#join(plan, partials);
      }
    } finally {
      this.#heap.free(workspaces);
    }
  }

  /** Tasks become tapes of calls, and the pool plays them. */
  #play<Exports>(
    { taped }: GemmModule<Exports>,
    count: number,
    task: (index: number, exports: Exports) => void,
  ): void {
    const tapes = Array.from({ length: count }, (_, t) => {
      const tape: number[] = [];
      task(t, taped.record(tape));
      return tape;
    });
    const table = writeTapes(this.#heap, tapes, "matmul");
    try {
      this.#pool!.run(taped.kernel, table, 4, count);
    } finally {
      this.#heap.free(table);
    }
  }

  /** Blocks of b are packed by everyone, then every task multiplies its rows with them. */
  #runTogether(plan: GemmPlan, workspaces: number, step: number): void {
    const { tasks, problem, tile } = plan;
    const module = this.packed(plan);
    const bAt = workspaces + step * tasks.length;
    for (const stage of stagesOf(plan, problem.n)) {
      const pieces = cut(stage.columns, tasks.length, tile.nr);
      this.#play(module, pieces.length, (t, exports) => this.#packB(plan, 0, stage, pieces[t], bAt, exports));
      this.#play(module, tasks.length, (t, exports) =>
        this.#multiply(plan, tasks[t], 0, stage, workspaces + t * step, bAt, exports),
      );
    }
  }

  /** What runs the plan; it has a path. */
  moduleOf(plan: GemmPlan): GemmModule<GemmExports> {
    if (plan.path === "direct") return this.direct(plan);
    if (plan.path === "packed") return this.packed(plan);
    if (plan.path === "dots" || plan.path === "axpy") return this.vector(plan, plan.path);
    return unreachable(`a product of path ${plan.path}`);
  }

  runPlan(plan: GemmPlan): void {
    if (plan.tasks.length === 0) return;
    const { bytes } = plan.workspace;
    // Calls do not nest: this thread's argument area serves small products.
    const small = plan.parts === 1 ? workspaceOf(bytes) : null;
    if (small !== null) {
      for (let t = 0; t < plan.tasks.length; t++) this.runTask(plan, t, small);
      return;
    }
    const address = this.#heap.alloc(bytes + partialBytes(plan), "matmul");
    const partials = address + bytes;
    try {
      for (let t = 0; t < plan.tasks.length; t++) this.runTask(plan, t, address, partials);
      if (plan.parts > 1) this.#join(plan, partials);
    } finally {
      this.#heap.free(address);
    }
  }

  /**
   * One task, with `plan.workspace.bytes` bytes at `workspace` (a multiple of 16) for it alone. Where a task makes the
   * sums of a part, they go to `partials`, one part after the other.
   */
  runTask(
    plan: GemmPlan,
    index: number,
    workspace: number,
    partials = 0,
    exports: GemmExports = this.moduleOf(plan).exports,
  ): void {
    const task = plan.tasks[index];
    if (plan.path === "direct") this.#runDirect(plan, task, workspace, exports as DirectGemm);
    else if (plan.path === "packed") this.#runPacked(plan, task, workspace, exports as PackedGemm);
    else if (plan.path === "dots") this.#runDots(plan, task, workspace, exports as VectorGemm);
    else if (plan.path === "axpy") {
      const sums = plan.parts > 1 ? partials + index * sumBytes(plan) : null;
      this.#runAxpy(plan, task, workspace, sums, exports as VectorGemm);
    } else unreachable(`a task of path ${plan.path}`);
  }

  #runDirect(plan: GemmPlan, task: GemmTask, workspace: number, { run }: DirectGemm): void {
    const { problem, workspace: w } = plan;
    const { out, a, b, k, batches } = problem;
    const { shape, strides } = batches;
    const inner = shape.length - 1;
    const innerSize = inner < 0 ? 1 : shape[inner];
    let at = task.batch;
    let left = task.batches;
    while (left > 0) {
      const count = Math.min(left, BATCHES_A_CALL, innerSize - (at % innerSize));
      run(
        count,
        task.rows,
        task.columns,
        k,
        batchAddress(batches, 1, at) + task.row * a[0],
        inner < 0 ? 0 : strides[1][inner],
        a[0],
        a[1],
        batchAddress(batches, 2, at) + task.column * b[1],
        inner < 0 ? 0 : strides[2][inner],
        b[0],
        b[1],
        batchAddress(batches, 0, at) + task.row * out[0] + task.column * out[1],
        inner < 0 ? 0 : strides[0][inner],
        out[0],
        out[1],
        workspace + w.tile,
        workspace + w.packA,
        workspace + w.packB,
        workspace + w.temp,
      );
      at += count;
      left -= count;
    }
  }

  #runPacked(plan: GemmPlan, task: GemmTask, workspace: number, exports: PackedGemm): void {
    const { problem, workspace: w, blocking } = plan;
    const bAt = workspace + w.packB;
    // The blocks of b, if they are the same for the next batch, stay packed.
    const once = problem.k <= blocking.deep && task.columns <= blocking.nc;
    let packed = -1;
    for (let batch = task.batch; batch < task.batch + task.batches; batch++) {
      const from = batchAddress(problem.batches, 2, batch);
      for (const stage of stagesOf(plan, task.columns, task.column)) {
        if (!once || packed !== from) this.#packB(plan, batch, stage, [0, stage.columns], bAt, exports);
        packed = from;
        this.#multiply(plan, task, batch, stage, workspace, bAt, exports);
      }
    }
  }

  /** Some columns of a stage's blocks of b, packed for the tile: the blocks lie at `bAt` one after the other. */
  #packB(
    { problem, tile, blocking, lane }: GemmPlan,
    batch: number,
    { column, columns, from, to }: GemmStage,
    [first, count]: readonly [first: number, count: number],
    bAt: number,
    { packB }: PackedGemm,
  ): void {
    const { b, batches } = problem;
    const source = batchAddress(batches, 2, batch) + (column + first) * b[1];
    const row = ceilTo(columns, tile.nr) * laneBytes(lane);
    for (let p = from; p < to; p += blocking.kc) {
      const depth = Math.min(blocking.kc, to - p);
      const at = bAt + (p - from) * row + first * depth * laneBytes(lane);
      packB(at, source + p * b[0], b[1], b[0], count, depth);
    }
  }

  /** A task's rows of a, times the stage's blocks of b that are packed at `bAt`. */
  #multiply(
    plan: GemmPlan,
    task: GemmTask,
    batch: number,
    { column, columns, from, to }: GemmStage,
    workspace: number,
    bAt: number,
    { packA, block, store }: PackedGemm,
  ): void {
    const { problem, workspace: w, tile, blocking } = plan;
    const { kc } = blocking;
    const mc = ceilTo(task.rows / Math.ceil(task.rows / blocking.mc), tile.mr);
    const { out, a, k, batches } = problem;
    const aAt = workspace + w.packA;
    const temp = workspace + w.temp;
    const scratch = workspace + w.tile;
    const row = ceilTo(columns, tile.nr) * laneBytes(plan.lane);
    const source = batchAddress(batches, 1, batch) + task.row * a[0];
    const target = batchAddress(batches, 0, batch) + task.row * out[0] + column * out[1];
    for (let i = 0; i < task.rows; i += mc) {
      const m = Math.min(mc, task.rows - i);
      for (let p = from; p < to; p += kc) {
        const depth = Math.min(kc, to - p);
        packA(aAt, source + i * a[0] + p * a[1], a[0], a[1], m, depth);
        const accumulate = plan.accumulate || (p > 0 ? 1 : 0);
        const bBlock = bAt + (p - from) * row;
        if (plan.temp) {
          const rows = ceilTo(m, tile.mr);
          const width = ceilTo(columns, tile.nr);
          block(rows, width, depth, aAt, bBlock, temp + i * row, row, scratch, accumulate);
        } else block(m, columns, depth, aAt, bBlock, target + i * out[0], out[0], scratch, accumulate);
      }
    }
    if (to === k) store?.(target, out[0], out[1], temp, row, task.rows, columns);
  }

  /** n is 1: y = a·x, a's rows are runs. */
  #runDots(plan: GemmPlan, task: GemmTask, workspace: number, exports: VectorGemm): void {
    const { problem, workspace: w } = plan;
    const { gather, dots, store } = exports;
    const { out, a, b, k, batches } = problem;
    const lane = laneBytes(plan.lane);
    const dense = isLane(problem.dtypes[2], plan.lane) && b[0] === lane;
    const copy = workspace + w.packB;
    const stream = isStream(problem);
    const together = rowsTogether(lane, stream);
    for (let batch = task.batch; batch < task.batch + task.batches; batch++) {
      const aFrom = batchAddress(batches, 1, batch) + task.row * a[0];
      const xFrom = batchAddress(batches, 2, batch);
      const yTo = batchAddress(batches, 0, batch) + task.row * out[0];
      const y = plan.temp ? workspace + w.temp : yTo;
      const yStep = plan.temp ? lane : out[0];
      for (let p = 0; p < k; p += STREAM_K) {
        const depth = Math.min(STREAM_K, k - p);
        if (!dense) gather(copy, xFrom + p * b[0], 0, b[0], 1, depth);
        const x = dense ? xFrom + p * lane : copy;
        const rows = together * Math.max(1, Math.floor(STREAM_ELEMENTS / depth / together));
        for (let i = 0; i < task.rows; i += rows) {
          const count = Math.min(rows, task.rows - i);
          const accumulate = plan.accumulate || (p > 0 ? 1 : 0);
          dots(
            count,
            depth,
            aFrom + i * a[0] + p * a[1],
            a[0],
            x,
            y + i * yStep,
            yStep,
            accumulate,
            stream ? 1 : 0,
          );
        }
      }
      store?.(yTo, out[0], out[0], y, lane, task.rows, 1);
    }
  }

  /** m is small: y = x·b, b's rows are runs. `sums`: where a part's go, as lanes; null: the task makes whole ones. */
  #runAxpy(
    plan: GemmPlan,
    task: GemmTask,
    workspace: number,
    sums: number | null,
    exports: VectorGemm,
  ): void {
    const { problem, workspace: w } = plan;
    const { gather, axpy, store } = exports;
    const { out, a, b, k, batches } = problem;
    const lane = laneBytes(plan.lane);
    const x = workspace + w.packB;
    const xRow = Math.min(k, STREAM_K) * lane;
    for (let batch = task.batch; batch < task.batch + task.batches; batch++) {
      const xFrom = batchAddress(batches, 1, batch) + task.row * a[0];
      const bFrom = batchAddress(batches, 2, batch) + task.column * b[1];
      const yTo = batchAddress(batches, 0, batch) + task.row * out[0] + task.column * out[1];
      const dense = sums !== null || plan.temp;
      const y = sums ?? (plan.temp ? workspace + w.temp : yTo);
      const yRow = dense ? task.columns * lane : out[0];
      const end = task.step + task.steps;
      for (let p = task.step; p < end; p += STREAM_K) {
        const depth = Math.min(STREAM_K, end - p);
        for (let i = 0; i < task.rows; i++) {
          gather(x + i * xRow, xFrom + i * a[0] + p * a[1], 0, a[1], 1, depth);
        }
        for (let j = 0; j < task.columns; j += STREAM_CHUNK) {
          const columns = Math.min(STREAM_CHUNK, task.columns - j);
          const from = bFrom + p * b[0] + j * b[1];
          axpy(task.rows, columns, depth, x, xRow, from, b[0], y + j * lane, yRow, p > task.step ? 1 : 0);
        }
      }
      if (sums === null) store?.(yTo, out[0], out[1], y, yRow, task.rows, task.columns);
    }
  }

  /** The sums of all parts of k, added up in order. */
  #join(plan: GemmPlan, partials: number): void {
    const { out, m, n, batches } = plan.problem;
    const { join, store } = this.vector(plan, "axpy").exports;
    const row = n * laneBytes(plan.lane);
    const to = batchAddress(batches, 0, 0);
    for (let i = 0; i < m; i++) {
      const from = partials + i * row;
      join(n, plan.parts, from, sumBytes(plan), plan.temp ? from : to + i * out[0]);
    }
    store?.(to, out[0], out[1], partials, row, m, n);
  }

  /** The modules that run plans like this one, compiled at first use. */
  packed(plan: GemmPlan): GemmModule<PackedGemm> {
    return this.#find(this.#packed, emitPackedGemm, plan);
  }

  direct(plan: GemmPlan): GemmModule<DirectGemm> {
    return this.#find(this.#direct, emitDirectGemm, plan);
  }

  vector(plan: GemmPlan, kind: "dots" | "axpy"): GemmModule<VectorGemm> {
    return this.#find(this.#vector[kind], (options) => emitVectorGemm({ ...options, kind }), plan);
  }

  #find<Exports>(
    cache: Map<number, GemmModule<Exports>>,
    emit: (options: GemmModuleOptions) => ModuleBuilder,
    plan: GemmPlan,
  ): GemmModule<Exports> {
    const key = moduleKey(plan);
    let found = cache.get(key);
    if (found === undefined) {
      const start = performance.now();
      const { packA, packB, temp, tile } = plan;
      const { memory, shared } = this.#heap;
      const bytes = emit({ dtypes: plan.problem.dtypes, tile, packA, packB, temp, shared }).toBytes();
      const module = compileModule(bytes);
      const instance = new WebAssembly.Instance(module, { e: { m: memory } });
      const exports = instance.exports as unknown as Exports;
      found = { bytes, exports, taped: tapedModule(this.#heap, bytes, module, exports) };
      cache.set(key, found);
      this.compiled++;
      this.compileTime += performance.now() - start;
    }
    return found;
  }
}

const dtypeCode = Object.fromEntries(dtypeNames.map((d, i) => [d, i])) as Record<DType, number>;

/** A small integer for what a module is made for: looked up at every call. */
function moduleKey({ problem, tile, packA, packB, temp }: GemmPlan): number {
  const [out, a, b] = problem.dtypes;
  const types = (dtypeCode[out] << 8) | (dtypeCode[a] << 4) | dtypeCode[b];
  const uses = (packA ? 4 : 0) | (packB ? 2 : 0) | (temp ? 1 : 0);
  const sizes = (tile.mr << 10) | (tile.nr << 4) | (tile.unrollK << 1) | (tile.fma ? 1 : 0);
  return (sizes << 15) | (types << 3) | uses;
}

/** Columns and steps of k whose blocks of b are packed at a time. */
interface GemmStage {
  readonly column: number;
  readonly columns: number;
  readonly from: number;
  readonly to: number;
}

function* stagesOf({ problem: { k }, blocking }: GemmPlan, columns: number, first = 0): Generator<GemmStage> {
  const { nc, deep } = blocking;
  for (let j = 0; j < columns; j += nc) {
    for (let q = 0; q < k; q += deep)
      yield {
        column: first + j,
        columns: Math.min(nc, columns - j),
        from: q,
        to: Math.min(k, q + deep),
      };
  }
}

/** Where an operand's matrix of a batch (by ordinal) starts. */
function batchAddress(batches: GemmProblem["batches"], operand: number, ordinal: number): number {
  const { shape } = batches;
  const strides = batches.strides[operand];
  let at = batches.offsets[operand];
  for (let d = shape.length - 1; d >= 0; d--) {
    at += (ordinal % shape[d]) * strides[d];
    ordinal = Math.floor(ordinal / shape[d]);
  }
  return at;
}

/** Bytes of the sums of one part of k, and of all parts. */
const sumBytes = ({ problem, lane }: GemmPlan): number => problem.m * problem.n * laneBytes(lane);
const partialBytes = (plan: GemmPlan): number => (plan.parts > 1 ? plan.parts * sumBytes(plan) : 0);

type GemmExports = DirectGemm | PackedGemm | VectorGemm;

/** Multiplications a nanosecond that one thread does with this tile, about. */
function rateOf(lane: GemmLane, tile: GemmTile): number {
  return (isWide(tile, lane) ? 45 : tile.fma ? 22 : 16) * (laneBytes(lane) === 4 ? 1 : 0.5);
}

function isLarge({ m, n, k, batches }: GemmProblem, rate: number): boolean {
  let work = m * n * k;
  for (const count of batches.shape) work *= count;
  return work > WORTH_SHARING.product * rate;
}
