/**
 * Runs the plan of a convolution: offsets of windows and taps, weights in panels, pieces for tasks. What is copied is an
 * image that needs zeros around it, or another dtype, a few images at a time.
 */
import { type DType, dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { createStorage } from "../memory/storage.ts";
import { allocate } from "../ops/strided.ts";
import { ceilTo, type GemmLane, type GemmTile, laneBytes, laneOf } from "../optimize/gemm.ts";
import type { EmitRoutine, Task } from "../run/routine.ts";
import { stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import type { View } from "../view/view.ts";
import {
  convolutionPiece,
  convolutionTask,
  emitConvolution,
  emitConvolutionWeights,
  emitDirectConvolution,
} from "../wasm/routines/convolution.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";

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

/** Images that need zeros around them, or another dtype, are copied so many bytes at a time. */
const STAGE_BYTES = 1 << 22;
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
/** Multiplications from which it is worth finding the best tile. */
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

function chooseMethod(plan: ConvPlan, lane: GemmLane, k: number, work: number): Method {
  const e = engine();
  const simd = e.kernels.simd && detectFeatures().simd;
  const gemm = e.products;
  const tile = work >= TILE_WORK && simd ? gemm.bestTile(lane) : gemm.tile(lane);
  const count = sizeOf(plan.out);
  const rows = plan.outChannels / plan.groups;
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

/** Pieces of about `most` at the most, all multiples of `step` and about the same. */
function evenly(total: number, most: number, step: number): number {
  return ceilTo(total / Math.ceil(total / Math.max(1, most)), step);
}

/** out = (or, where `accumulate`, +=) the sums of every window of x times w; out is dense and of a dtype of whole lanes. */
export function runConvolution(
  operation: string,
  plan: ConvPlan,
  out: Tensor,
  x: Tensor,
  w: Tensor,
  accumulate: boolean,
): void {
  const lane = laneOf(out.dtype);
  const { batch, channels, groups, kernel } = plan;
  const k = (channels / groups) * sizeOf(kernel);
  const work = out.size * k;
  const method = chooseMethod(plan, lane, k, work);
  const staged = x.dtype !== out.dtype || plan.padding.some(([before, after]) => before + after > 0);
  const imageBytes = channels * sizeOf(plan.padded) * stridedOf(out).frame.itemBytes;
  const images = staged ? Math.min(batch, Math.max(1, Math.floor(STAGE_BYTES / imageBytes))) : batch;
  const stage = staged ? stageFor(operation, plan, out.dtype, images, x) : null;
  const { frame } = stridedOf(stage?.whole ?? x);
  const weights =
    method.tile === null ? denseWeights(operation, w.to(out.dtype).reshape(plan.outChannels, k)) : w;
  const lay = layOut(plan, method, images);
  const storage = createStorage(engine().heap, lay.bytes, operation);
  try {
    const table = tablesOf(plan, method, frame);
    const memory = new Int32Array(storage.heap.buffer, storage.address, lay.bytes >> 2);
    memory.set(table.bases, lay.bases >> 2);
    memory.set(table.taps, lay.taps >> 2);
    if (method.tile !== null)
      packWeights(operation, plan, method, w.reshape(plan.outChannels, k), storage.address + lay.weights);
    for (let first = 0; first < batch; first += images) {
      const count = Math.min(images, batch - first);
      stage?.fill(first, count);
      runImages(
        { operation, plan, method, lay, storage, out, weights, accumulate, source: stage?.whole ?? x },
        first,
        count,
        staged,
      );
    }
  } finally {
    storage.release();
  }
}

function denseWeights(operation: string, w: Tensor): Tensor {
  const why = "the weights are read one after the other, so in dense memory";
  if (!w.isContiguous)
    engine().listener?.({ kind: "copy", operation, bytes: w.size * stridedOf(w).frame.itemBytes, why });
  return w.contiguous();
}

/** A few images with zeros around them; the zeros are written once. */
function stageFor(operation: string, plan: ConvPlan, dtype: DType, images: number, x: Tensor) {
  const { channels, padded, padding } = plan;
  const whole = wrap(allocate(operation, dtype, [images, channels, ...padded], undefined, true));
  const middle = padding.map(([before], d) => [before, before + x.shape[d + 2]] as const);
  engine().listener?.({
    kind: "copy",
    operation,
    bytes: plan.batch * channels * sizeOf(padded) * dtypes[dtype].bytes,
    why:
      x.dtype === dtype
        ? "the padding needs zeros around the input"
        : `sums are made in ${dtype}, the input is ${x.dtype}`,
  });
  const fill = (first: number, count: number) => {
    const inside = whole.slice([0, count], ":", ...middle);
    const from = x.slice([first, first + count]);
    inside.assign(from);
    inside.dispose();
    from.dispose();
  };
  return { whole, fill };
}

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

function layOut(plan: ConvPlan, method: Method, images: number): Layout {
  const { tile, width, windows, depth } = method;
  const lane = laneBytes(method.lane);
  const k = (plan.channels / plan.groups) * sizeOf(plan.kernel);
  const panels = Math.ceil(sizeOf(plan.out) / width);
  const pieces = images * plan.groups * Math.ceil(sizeOf(plan.out) / windows);
  const tasks = Math.min(pieces, 4 * engine().routines.threads);
  const rows = tile === null ? 0 : ceilTo(plan.outChannels / plan.groups, tile.mr) * plan.groups;
  const workspace =
    align64((tile?.mr ?? 1) * width * lane) + (tile === null ? 0 : align64(windows * depth * lane));
  const bases = 0;
  const taps = bases + align64(4 * panels * (width + 1));
  const piecesAt = taps + align64(4 * k);
  const weights = piecesAt + align64(4 * convolutionPiece.length * pieces);
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

/** All weights in panels of mr rows, group by group, `depth` steps of k at a time. */
function packWeights(
  operation: string,
  plan: ConvPlan,
  { lane, tile, depth }: Method,
  w: Tensor,
  to: number,
): void {
  const { outChannels, groups } = plan;
  const rows = outChannels / groups;
  const [row, step] = stridedOf(w).frame.strides;
  const k = w.shape[1];
  const bytes = laneBytes(lane);
  const padded = ceilTo(rows, tile!.mr);
  const from = stridedOf(w).storage.address + stridedOf(w).frame.offset;
  const tasks: Task[] = [];
  for (let g = 0; g < groups; g++) {
    for (let p = 0; p < k; p += depth) {
      const dst = to + padded * (g * k + p) * bytes;
      tasks.push([dst, from + g * rows * row + p * step, row, step, rows, Math.min(depth, k - p)]);
    }
  }
  const name = `convolution weights ${w.dtype} ${lane} ${tile!.mr}`;
  engine().routines.run(
    name,
    (o) => emitConvolutionWeights(w.dtype, lane, tile!, o),
    tasks,
    outChannels * k,
    {
      operation,
      inputs: [stridedOf(w)],
    },
  );
}

interface Run {
  readonly operation: string;
  readonly plan: ConvPlan;
  readonly method: Method;
  readonly lay: Layout;
  readonly storage: { readonly address: number; readonly heap: { readonly buffer: ArrayBufferLike } };
  readonly out: Tensor;
  readonly weights: Tensor;
  readonly source: Tensor;
  readonly accumulate: boolean;
}

function runImages(r: Run, first: number, count: number, staged: boolean): void {
  const { plan, method, lay, storage, out, source } = r;
  const { lane, tile, width, windows, depth } = method;
  const { groups, outChannels, channels } = plan;
  const bytes = laneBytes(lane);
  const all = sizeOf(plan.out);
  const rows = outChannels / groups;
  const k = (channels / groups) * sizeOf(plan.kernel);
  const pieces: number[] = [];
  const at = stridedOf(source).storage.address + stridedOf(source).frame.offset;
  const [imageStep, channelStep] = stridedOf(source).frame.strides;
  const weightsAt =
    tile === null
      ? stridedOf(r.weights).storage.address + stridedOf(r.weights).frame.offset
      : storage.address + lay.weights;
  const groupBytes = (tile === null ? rows : ceilTo(rows, tile.mr)) * k * bytes;
  for (let n = 0; n < count; n++) {
    for (let g = 0; g < groups; g++) {
      const image = at + (staged ? n : first + n) * imageStep + g * (channels / groups) * channelStep;
      const to = stridedOf(out).storage.address + ((first + n) * outChannels + g * rows) * all * bytes;
      for (let p = 0; p < all; p += windows) {
        const bases = storage.address + lay.bases + 4 * (p / width) * (width + 1);
        pieces.push(bases, Math.min(windows, all - p), image, weightsAt + g * groupBytes, to + p * bytes);
      }
    }
  }
  const table = storage.address + lay.pieces;
  new Int32Array(storage.heap.buffer, table, pieces.length).set(pieces);
  const total = pieces.length / convolutionPiece.length;
  const task = (from: number, to: number, slot: number): Task => {
    const workspace = storage.address + lay.workspaces + slot * lay.workspace;
    const words: number[] = new Array(convolutionTask.length);
    words[convolutionTask.pieces] = table + 4 * convolutionPiece.length * from;
    words[convolutionTask.count] = to - from;
    words[convolutionTask.tile] = workspace;
    words[convolutionTask.panels] = workspace + align64((tile?.mr ?? 1) * width * bytes);
    words[convolutionTask.taps] = storage.address + lay.taps;
    words[convolutionTask.k] = k;
    words[convolutionTask.depth] = depth;
    words[convolutionTask.rows] = rows;
    words[convolutionTask.outRow] = all * bytes;
    words[convolutionTask.accumulate] = r.accumulate ? 1 : 0;
    words[convolutionTask.block] = tile === null ? rows : ceilTo(BLOCK, tile.mr);
    return words;
  };
  const pieceWork = windows * rows * k;
  const most = TASK_WORK[tile === null ? "direct" : "packed"];
  const share = Math.max(1, Math.min(Math.ceil(total / lay.tasks), Math.floor(most / pieceWork)));
  const [name, emit] = routineOf(method);
  for (let p = 0; p < total; p += share * lay.tasks) {
    const tasks: Task[] = [];
    for (let from = p; from < Math.min(total, p + share * lay.tasks); from += share) {
      tasks.push(task(from, Math.min(total, from + share), tasks.length));
    }
    engine().routines.run(name, emit, tasks, NANOSECONDS * pieceWork * share * tasks.length, {
      operation: r.operation,
      inputs: [stridedOf(source), stridedOf(r.weights)],
      out: stridedOf(out),
      bytes: null,
    });
  }
}

function routineOf({ lane, tile, width }: Method): [string, EmitRoutine] {
  if (tile === null) return [`convolution direct ${lane}`, (o) => emitDirectConvolution(lane, width, o)];
  const name = `convolution ${lane} ${tile.mr}x${tile.nr}x${tile.unrollK}${tile.fma ? " fma" : ""}`;
  return [name, (o) => emitConvolution(lane, tile, o)];
}
