/**
 * Runs the plan of a convolution: offsets of windows and taps, weights in panels, pieces for tasks. Windows are read where
 * they lie.
 */
import { ceilTo, fittingTile, type GemmLane, type GemmTile, laneBytes, laneOf } from "../optimize/gemm.ts";
import type { Strided } from "../run/call.ts";
import { addressOf } from "../run/kernel.ts";
import { type Device, type EmitRoutine, type Routine, type Task, withScratch } from "../run/routine.ts";
import { sizeOf } from "../view/layout.ts";
import type { View } from "../view/view.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import {
  convolutionPiece,
  convolutionTask,
  emitConvolution,
  emitConvolutionWeights,
  emitDirectConvolution,
  weightsTask,
} from "../wasm/routines/convolution.ts";

/** Everything about a convolution but where its operands lie. Lists have one entry a spatial axis. */
export interface ConvPlan {
  readonly batch: number;
  readonly channels: number;
  readonly outChannels: number;
  readonly groups: number;
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  /** Zeros before and behind. */
  readonly padding: readonly (readonly [number, number])[];
  /** Sizes of the image with its zeros, and of the result. */
  readonly padded: readonly number[];
  readonly out: readonly number[];
}

/** Steps of k, rows of weights and windows that are packed at a time: what the caches hold. */
const DEPTH = 256;
const BLOCK = 192;
const WINDOWS = 512;
/** Fewer channels than this are summed one by one: a tile of the product would be mostly empty. */
const DIRECT_ROWS = 4;
/** Windows a piece has where nothing is packed. */
const DIRECT_WINDOWS = 8192;
/** Multiplications a task has at the most, packed or not: no thread may be silent for long. */
const TASK_WORK = { packed: 2 ** 31, direct: 2 ** 28 } as const;
/** Multiplications of one convolution from which it is worth finding the best tile at once. */
const TILE_WORK = 2 ** 28;
/** Nanoseconds a multiplication takes, about. */
const NANOSECONDS = 0.06;

/** How the windows are multiplied: `tile` is null where each channel is summed on its own. */
interface Method {
  readonly lane: GemmLane;
  readonly tile: GemmTile | null;
  /** Windows in a panel, and in a piece at the most. */
  readonly width: number;
  readonly windows: number;
  /** Steps of k at a time. */
  readonly depth: number;
}

function chooseMethod(
  { kernels, products: gemm }: Device,
  plan: ConvPlan,
  lane: GemmLane,
  k: number,
  work: number,
): Method {
  const simd = kernels.simd && detectFeatures().simd;
  const count = sizeOf(plan.out);
  const rows = plan.outChannels / plan.groups;
  const best = !simd ? gemm.tile(lane) : work >= TILE_WORK ? gemm.bestTile(lane) : gemm.tileFor(lane, work);
  const tile = fittingTile(best, lane, rows, count);
  if (!simd || rows < DIRECT_ROWS) {
    const width = 64 / laneBytes(lane);
    const most = Math.min(DIRECT_WINDOWS, TASK_WORK.direct / (rows * k));
    const windows = evenly(count, most, width);
    return { lane, tile: null, width, windows, depth: k };
  }
  const most = Math.min((WINDOWS * 4) / laneBytes(lane), TASK_WORK.packed / (rows * k));
  const windows = evenly(count, most, tile.nr);
  return { lane, tile, width: tile.nr, windows, depth: evenly(k, DEPTH, 1) };
}

/** Where the steps of k lie in runs of this length, one or more blocks make up a run; null where they do not. */
function depthIn(run: number): number | null {
  const depth = evenly(run, DEPTH, 1);
  return run % depth === 0 ? depth : null;
}

/**
 * Weights as the routine takes them: [groups, rows, runs, k / runs]. Where several runs have no common stride, blocks of k
 * must end where runs do.
 */
export const takesRuns = (runs: number, run: number): boolean => runs === 1 || depthIn(run) !== null;

/** Pieces of about `most` at the most, all multiples of `step` and about the same. */
function evenly(total: number, most: number, step: number): number {
  return ceilTo(total / Math.ceil(total / Math.max(1, most)), step);
}

export interface ConvolutionParams {
  readonly plan: ConvPlan;
  readonly accumulate: boolean;
  /** Images that the source has, where it has not all of them. */
  readonly images: number;
  /** Puts so many of them there, from the first one on; null: the source has all. */
  readonly fill: ((first: number, count: number) => void) | null;
}

/** Does it read weights as they lie, which must be dense then? Else it packs them. */
export const readsWeights: Routine<{ readonly plan: ConvPlan }, boolean> = {
  name: "convolution weights",
  run: (device, { params: { plan }, outs: [out] }) => methodOf(device, plan, out).tile === null,
};

function methodOf(device: Device, plan: ConvPlan, out: Strided): Method {
  const k = (plan.channels / plan.groups) * sizeOf(plan.kernel);
  return chooseMethod(device, plan, laneOf(out.dtype), k, sizeOf(out.frame.shape) * k);
}

/** out = (or, where `accumulate`, +=) the sums of every window of x times w; out is dense and of a dtype of whole lanes. */
export const convolutionRoutine: Routine<ConvolutionParams> = {
  name: "convolution",
  run(device, { operation, params, inputs: [source, weights], outs: [out] }) {
    const { plan, images, fill } = params;
    const [, , runs, run] = weights.frame.shape;
    const chosen = methodOf(device, plan, out);
    const method = runs === 1 || chosen.tile === null ? chosen : { ...chosen, depth: depthIn(run)! };
    const lay = layOut(device, plan, method, images);
    withScratch(device, operation, lay.bytes, (block) => {
      const table = tablesOf(plan, method, source.frame);
      const memory = new Int32Array(device.heap.buffer, block, lay.bytes >> 2);
      memory.set(table.bases, lay.bases >> 2);
      memory.set(table.taps, lay.taps >> 2);
      if (method.tile !== null) packWeights(device, operation, plan, method, weights, block + lay.weights);
      const run: Run = { ...params, device, operation, method, lay, block, out, weights, source };
      for (let first = 0; first < plan.batch; first += images) {
        const count = Math.min(images, plan.batch - first);
        fill?.(first, count);
        runImages(run, first, count);
      }
    });
  },
};

/** Where everything beside the operands lies in one block, in bytes from its start. */
interface Layout {
  readonly bases: number;
  readonly taps: number;
  readonly pieces: number;
  readonly weights: number;
  readonly workspaces: number;
  /** Bytes of one task's workspace: a tile, then panels. */
  readonly workspace: number;
  readonly tasks: number;
  readonly bytes: number;
}

const align64 = (bytes: number) => ceilTo(bytes, 64);

function layOut({ routines }: Device, plan: ConvPlan, method: Method, images: number): Layout {
  const { tile, width, windows, depth } = method;
  const lane = laneBytes(method.lane);
  const k = (plan.channels / plan.groups) * sizeOf(plan.kernel);
  const panels = Math.ceil(sizeOf(plan.out) / width);
  const pieces = images * plan.groups * Math.ceil(sizeOf(plan.out) / windows);
  const tasks = Math.min(pieces, 4 * routines.threads);
  const rows = tile === null ? 0 : ceilTo(plan.outChannels / plan.groups, tile.mr) * plan.groups;
  const workspace =
    align64((tile?.mr ?? 1) * width * lane) + (tile === null ? 0 : align64(windows * depth * lane));
  const bases = 0;
  const taps = bases + align64(4 * panels * (width + 1));
  const piecesAt = taps + align64(4 * k);
  const weights = piecesAt + align64(4 * convolutionPiece.words * pieces);
  const workspaces = weights + align64(rows * k * lane);
  return {
    bases,
    taps,
    pieces: piecesAt,
    weights,
    workspaces,
    workspace,
    tasks,
    bytes: workspaces + tasks * workspace,
  };
}

/** The two lists of wasm/routines/convolution.ts, for images that lie as `frame` says. */
function tablesOf(
  plan: ConvPlan,
  { lane, width }: Method,
  frame: View,
): { bases: Int32Array; taps: Int32Array } {
  const { channels, groups, kernel, stride, dilation, out } = plan;
  const [, channelStep, ...steps] = frame.strides;
  const item = laneBytes(lane);
  const windows = offsets(
    out,
    steps.map((s, d) => s * stride[d]),
  );
  const taps = offsets(
    [channels / groups, ...kernel],
    [channelStep, ...steps.map((s, d) => s * dilation[d])],
  );
  const panels = Math.ceil(windows.length / width);
  const bases = new Int32Array(panels * (width + 1));
  const lanes = 16 / item;
  for (let p = 0; p < panels; p++) {
    const at = p * (width + 1);
    let runs = 1;
    for (let t = 0; t < width; t++) {
      bases[at + t] = windows[Math.min(p * width + t, windows.length - 1)];
      if (t % lanes > 0 && bases[at + t] !== bases[at + t - 1] + item) runs = 0;
    }
    bases[at + width] = runs;
  }
  return { bases, taps };
}

/** Σ steps[d]·i[d] for every index, in C order. */
function offsets(shape: readonly number[], steps: readonly number[]): Int32Array {
  let all = new Int32Array(1);
  for (let d = 0; d < shape.length; d++) {
    const next = new Int32Array(all.length * shape[d]);
    for (let i = 0, at = 0; i < all.length; i++) {
      for (let j = 0; j < shape[d]; j++) next[at++] = all[i] + j * steps[d];
    }
    all = next;
  }
  return all;
}

/** All weights, a row a channel, in panels of mr rows, group by group, `depth` steps of k at a time. */
function packWeights(
  { routines }: Device,
  operation: string,
  plan: ConvPlan,
  { lane, tile, depth }: Method,
  w: Strided,
  to: number,
): void {
  const { outChannels, groups } = plan;
  const [, rows, runs, run] = w.frame.shape;
  const [group, row, runStep, step] = w.frame.strides;
  const k = runs * run;
  const padded = ceilTo(rows, tile!.mr);
  const tasks: Task[] = [];
  for (let g = 0; g < groups; g++) {
    for (let p = 0; p < k; p += depth) {
      tasks.push(
        weightsTask.of({
          to: to + padded * (g * k + p) * laneBytes(lane),
          from: addressOf(w) + g * group + Math.floor(p / run) * runStep + (p % run) * step,
          row,
          step,
          rows,
          steps: Math.min(depth, k - p),
        }),
      );
    }
  }
  const name = `convolution weights ${w.dtype} ${lane} ${tile!.mr}`;
  const emit: EmitRoutine = (o) => emitConvolutionWeights(w.dtype, lane, tile!, o);
  routines.run(name, emit, tasks, outChannels * k, { operation, inputs: [w] });
}

interface Run extends ConvolutionParams {
  readonly device: Device;
  readonly operation: string;
  readonly method: Method;
  readonly lay: Layout;
  /** Where the layout's block lies. */
  readonly block: number;
  readonly out: Strided;
  readonly weights: Strided;
  readonly source: Strided;
}

function runImages(r: Run, first: number, count: number): void {
  const { device, plan, method, lay, block, out, source, weights } = r;
  const { lane, tile, width, windows, depth } = method;
  const { groups, outChannels, channels } = plan;
  const bytes = laneBytes(lane);
  const all = sizeOf(plan.out);
  const rows = outChannels / groups;
  const k = (channels / groups) * sizeOf(plan.kernel);
  const pieces: number[] = [];
  const [imageStep, channelStep] = source.frame.strides;
  const weightsAt = tile === null ? addressOf(weights) : block + lay.weights;
  const groupBytes = (tile === null ? rows : ceilTo(rows, tile.mr)) * k * bytes;
  for (let n = 0; n < count; n++) {
    for (let g = 0; g < groups; g++) {
      const ordinal = r.fill === null ? first + n : n;
      const image = addressOf(source) + ordinal * imageStep + g * (channels / groups) * channelStep;
      const to = addressOf(out) + ((first + n) * outChannels + g * rows) * all * bytes;
      for (let p = 0; p < all; p += windows) {
        const piece = convolutionPiece.of({
          bases: block + lay.bases + 4 * (p / width) * (width + 1),
          windows: Math.min(windows, all - p),
          image,
          weights: weightsAt + g * groupBytes,
          out: to + p * bytes,
        });
        for (const word of piece) pieces.push(word);
      }
    }
  }
  const table = block + lay.pieces;
  new Int32Array(device.heap.buffer, table, pieces.length).set(pieces);
  const total = pieces.length / convolutionPiece.words;
  const task = (from: number, to: number, slot: number): Task => {
    const workspace = block + lay.workspaces + slot * lay.workspace;
    return convolutionTask.of({
      pieces: table + 4 * convolutionPiece.words * from,
      count: to - from,
      tile: workspace,
      panels: workspace + align64((tile?.mr ?? 1) * width * bytes),
      taps: block + lay.taps,
      k,
      depth,
      rows,
      outRow: all * bytes,
      accumulate: r.accumulate ? 1 : 0,
      block: tile === null ? rows : ceilTo(BLOCK, tile.mr),
    });
  };
  const pieceWork = windows * rows * k;
  const most = TASK_WORK[tile === null ? "direct" : "packed"];
  const share = Math.max(1, Math.min(Math.ceil(total / lay.tasks), Math.floor(most / pieceWork)));
  const [name, emit] = routineOf(method);
  const about = { operation: r.operation, inputs: [source, weights], out, bytes: null };
  for (let p = 0; p < total; p += share * lay.tasks) {
    const tasks: Task[] = [];
    for (let from = p; from < Math.min(total, p + share * lay.tasks); from += share) {
      tasks.push(task(from, Math.min(total, from + share), tasks.length));
    }
    device.routines.run(name, emit, tasks, NANOSECONDS * pieceWork * share * tasks.length, about);
  }
}

function routineOf({ lane, tile, width }: Method): [string, EmitRoutine] {
  if (tile === null) return [`convolution direct ${lane}`, (o) => emitDirectConvolution(lane, width, o)];
  const name = `convolution ${lane} ${tile.mr}x${tile.nr}x${tile.unrollK}${tile.fma ? " fma" : ""}`;
  return [name, (o) => emitConvolution(lane, tile, o)];
}
