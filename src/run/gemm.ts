/**
 * Runs the plan of a matrix product: compiled modules, a workspace, and the loops over blocks. A plan's tasks are
 * independent of each other; whoever runs one brings a workspace of its own.
 */
import type { DType } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import { type Heap, SCRATCH } from "../memory/heap.ts";
import {
  type GemmLane,
  type GemmOptions,
  type GemmPlan,
  type GemmProblem,
  type GemmTask,
  type GemmTile,
  laneBytes,
  laneOf,
  plainTile,
  planGemm,
} from "../optimize/gemm.ts";
import { detectFeatures } from "../wasm/features.ts";
import {
  type DirectGemm,
  directMode,
  emitDirectGemm,
  emitPackedGemm,
  type PackedGemm,
} from "../wasm/gemm.ts";

/** Batches one call of the direct kernel takes: V8 replaces slow first code only between calls. */
const BATCHES_A_CALL = 512;

export interface GemmModule<Exports> {
  readonly bytes: Uint8Array;
  readonly module: WebAssembly.Module;
  readonly exports: Exports;
}

/** The compiled matrix products of one heap. */
export class GemmKernels {
  readonly #heap: Heap;
  readonly #packed = new Map<string, GemmModule<PackedGemm>>();
  readonly #direct = new Map<string, GemmModule<DirectGemm>>();
  readonly #tiles = new Map<GemmLane, GemmTile>();
  /** Modules made so far; tests watch it stand still. */
  compiled = 0;

  constructor(heap: Heap) {
    this.#heap = heap;
  }

  /** The tile in use for big products of these lanes. */
  tile(lane: GemmLane): GemmTile {
    let tile = this.#tiles.get(lane);
    if (tile === undefined) {
      tile = plainTile(lane, detectFeatures().relaxedSimd);
      this.#tiles.set(lane, tile);
    }
    return tile;
  }

  plan(problem: GemmProblem, options: Partial<GemmOptions> = {}): GemmPlan {
    const tile = options.tile ?? this.tile(laneOf(problem.dtypes[0]));
    return planGemm(problem, { ...options, tile });
  }

  /** Computes the whole product in this thread. */
  run(problem: GemmProblem, options: Partial<GemmOptions> = {}): GemmPlan {
    const plan = this.plan(problem, options);
    this.runPlan(plan);
    return plan;
  }

  runPlan(plan: GemmPlan): void {
    if (plan.tasks.length === 0) return;
    const { bytes } = plan.workspace;
    // Calls do not nest: this thread's argument area serves small products.
    if (bytes <= SCRATCH.bytes) {
      for (let t = 0; t < plan.tasks.length; t++) this.runTask(plan, t, SCRATCH.address);
      return;
    }
    const address = this.#heap.alloc(bytes, "matmul");
    try {
      for (let t = 0; t < plan.tasks.length; t++) this.runTask(plan, t, address);
    } finally {
      this.#heap.free(address);
    }
  }

  /** One task, with `plan.workspace.bytes` bytes at `workspace` (a multiple of 16) for it alone. */
  runTask(plan: GemmPlan, index: number, workspace: number): void {
    const task = plan.tasks[index];
    if (plan.path === "direct") this.#runDirect(plan, task, workspace);
    else if (plan.path === "packed") this.#runPacked(plan, task, workspace);
    else unreachable(`a task of path ${plan.path}`);
  }

  #runDirect(plan: GemmPlan, task: GemmTask, workspace: number): void {
    const { problem, workspace: w } = plan;
    const { run } = this.direct(problem.dtypes, plan.tile).exports;
    const { out, a, b, k, batches } = problem;
    const { shape, strides } = batches;
    const inner = shape.length - 1;
    const mode =
      (plan.packA ? directMode.packA : 0) |
      (plan.packB ? directMode.packB : 0) |
      (plan.temp ? directMode.temp : 0);
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
        mode,
      );
      at += count;
      left -= count;
    }
  }

  #runPacked(plan: GemmPlan, task: GemmTask, workspace: number): void {
    const { problem, workspace: w, tile } = plan;
    const { packA, packB, block, store } = this.packed(problem.dtypes, tile).exports;
    const { mc, kc, nc } = plan.blocking;
    const { out, a, b, k, batches } = problem;
    const lane = laneBytes(plan.lane);
    const aAt = workspace + w.packA;
    const bAt = workspace + w.packB;
    const temp = workspace + w.temp;
    const scratch = workspace + w.tile;
    const padded = (x: number, step: number) => Math.ceil(x / step) * step;
    // One block of b, the same for the next batch, stays packed.
    const bOnce = k <= kc && task.columns <= nc;
    let packedB = -1;
    for (let batch = task.batch; batch < task.batch + task.batches; batch++) {
      const aFrom = batchAddress(batches, 1, batch) + task.row * a[0];
      const bFrom = batchAddress(batches, 2, batch) + task.column * b[1];
      const cFrom = batchAddress(batches, 0, batch) + task.row * out[0] + task.column * out[1];
      for (let j = 0; j < task.columns; j += nc) {
        const n = Math.min(nc, task.columns - j);
        const tempRow = padded(n, tile.nr) * lane;
        for (let p = 0; p < k; p += kc) {
          const depth = Math.min(kc, k - p);
          if (!bOnce || packedB !== bFrom) packB(bAt, bFrom + p * b[0] + j * b[1], b[1], b[0], n, depth);
          packedB = bFrom;
          for (let i = 0; i < task.rows; i += mc) {
            const m = Math.min(mc, task.rows - i);
            packA(aAt, aFrom + i * a[0] + p * a[1], a[0], a[1], m, depth);
            const accumulate = p > 0 ? 1 : 0;
            if (plan.temp) {
              const rows = padded(m, tile.mr);
              const columns = padded(n, tile.nr);
              block(rows, columns, depth, aAt, bAt, temp + i * tempRow, tempRow, scratch, accumulate);
            } else {
              const c = cFrom + i * out[0] + j * lane;
              block(m, n, depth, aAt, bAt, c, out[0], scratch, accumulate);
            }
          }
        }
        if (plan.temp) store(cFrom + j * out[1], out[0], out[1], temp, tempRow, task.rows, n);
      }
    }
  }

  packed(dtypes: GemmProblem["dtypes"], tile: GemmTile): GemmModule<PackedGemm> {
    return this.#find(this.#packed, emitPackedGemm, dtypes, tile);
  }

  direct(dtypes: GemmProblem["dtypes"], tile: GemmTile): GemmModule<DirectGemm> {
    return this.#find(this.#direct, emitDirectGemm, dtypes, tile);
  }

  #find<Exports>(
    cache: Map<string, GemmModule<Exports>>,
    emit: typeof emitPackedGemm,
    dtypes: readonly [DType, DType, DType],
    tile: GemmTile,
  ): GemmModule<Exports> {
    const key = `${dtypes} ${tile.mr}x${tile.nr}x${tile.unrollK}${tile.fma ? " fma" : ""}`;
    let found = cache.get(key);
    if (found === undefined) {
      const bytes = emit({ dtypes, tile, shared: this.#heap.shared }).toBytes();
      const module = new WebAssembly.Module(bytes);
      const instance = new WebAssembly.Instance(module, { e: { m: this.#heap.memory } });
      found = { bytes, module, exports: instance.exports as unknown as Exports };
      cache.set(key, found);
      this.compiled++;
    }
    return found;
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

const kernelsOfHeap = new WeakMap<Heap, GemmKernels>();

/** The one GemmKernels of a heap, made at first use. */
export function gemmOf(heap: Heap): GemmKernels {
  let kernels = kernelsOfHeap.get(heap);
  if (kernels === undefined) {
    kernels = new GemmKernels(heap);
    kernelsOfHeap.set(heap, kernels);
  }
  return kernels;
}
