/**
 * Compiled kernels and where they are kept. A kernel is found by its program and its layout class (how each operand
 * walks the innermost loop), never by a shape: sizes, strides and addresses are arguments.
 */
import type { Value } from "../dtype.ts";
import { dtypes } from "../dtype.ts";
import { type Program, resultsOf } from "../ir/node.ts";
import { printProgram } from "../ir/print.ts";
import type { Heap } from "../memory/heap.ts";
import { optimize } from "../optimize/pipeline.ts";
import { inVectors } from "../optimize/size.ts";
import {
  classLetters,
  costOf,
  type KernelPlan,
  type LayoutClass,
  layoutClass,
  planKernel,
  TOGETHER,
  tileClasses,
  togetherClasses,
} from "../optimize/vectorize.ts";
import type { LoopNest } from "../view/loops.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import { compileModule } from "../wasm/assembler/module.ts";
import { emitBulkCopy } from "../wasm/program/bulk.ts";
import { descriptor, emitElementwise } from "../wasm/program/elementwise.ts";
import { emitTile } from "../wasm/program/tile.ts";
import { emitTogether } from "../wasm/program/together.ts";
import { checkDescriptor, Scratch, TaskQueue, TEMPLATE } from "./descriptors.ts";
import { advance, isEmpty } from "./odometer.ts";
import type { Pool, PoolKernel } from "./pool.ts";
import { MOST_KERNELS, Recent } from "./recent.ts";
import { PIECE, taskSize, WORTH_SHARING } from "./split.ts";

export interface CompiledKernel extends PoolKernel {
  readonly plan: KernelPlan;
  /** Estimated nanoseconds an element. */
  readonly cost: number;
  /** What making it cost, in milliseconds. */
  readonly compileTime: number;
  /** Calls so far: after some V8 has replaced the first, slow code. */
  calls: number;
}

/** A kernel called this often takes larger pieces: in one thread, and where several share them. */
export const WARM = 100;
const WARM_CHUNK = 1 << 18;
const WARM_TASK = 1 << 17;

export class KernelCache {
  readonly #heap: Heap;
  readonly #byProgram = new WeakMap<Program, Map<string, CompiledKernel>>();
  readonly #byText = new Recent<CompiledKernel>(MOST_KERNELS);
  readonly #scratch: Scratch;
  #bulk: PoolKernel | null = null;
  /** Kernels made so far; tests watch it stand still. */
  compiled = 0;
  /** Whether the last operation was shared among threads; for explain. */
  shared = false;
  /** Off: scalar code only. For tests and for comparison. */
  simd = true;
  /** Compute rows together wherever that is possible, not only where it pays. For tests. */
  alwaysTogether = false;

  readonly #pool: Pool;
  /** Tasks of the walk that is on, and the kernel of those that wait; null: each is run as it is made. */
  #queue: TaskQueue | null = null;
  #queued: CompiledKernel | null = null;

  constructor(heap: Heap, pool: Pool) {
    this.#heap = heap;
    this.#pool = pool;
    this.#scratch = new Scratch(heap);
  }

  /** A number for the switches: a plan is good for one setting of them. */
  get mode(): number {
    return (this.simd ? 1 : 0) + (this.alwaysTogether ? 2 : 0);
  }

  /** Kernels that are kept whether or not their function still lives. */
  get kept(): number {
    return this.#byText.size;
  }

  find(program: Program, classes: readonly LayoutClass[]): CompiledKernel {
    let kernels = this.#byProgram.get(program);
    if (kernels === undefined) {
      kernels = new Map();
      this.#byProgram.set(program, kernels);
    }
    let key = this.simd ? "" : "scalar";
    for (let k = 0; k < classes.length; k++) key += classLetters[classes[k]];
    let kernel = kernels.get(key);
    if (kernel === undefined) {
      kernel = this.#make(program, classes, key);
      kernels.set(key, kernel);
    }
    return kernel;
  }

  /** Compiles, unless a program that comes to the same has been compiled already. */
  #make(program: Program, classes: readonly LayoutClass[], key: string): CompiledKernel {
    const start = performance.now();
    const features = detectFeatures();
    const fma = features.relaxedSimd && this.simd;
    const optimized = optimize(program, { fma });
    // Operands and captured values that are not used have their places in the descriptor, too.
    const text = `${key}\n${optimized.inputs}\n${optimized.params}\n${printProgram(optimized)}`;
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const plan = planKernel(optimized, classes, features.simd && this.simd && inVectors(program));
    const emit = plan.tiled ? emitTile : plan.rows > 1 ? emitTogether : emitElementwise;
    const bytes = emit(plan, { fma, shared: this.#heap.shared }).toBytes();
    const made = { ...instantiate(bytes, this.#heap), plan, cost: costOf(plan) };
    this.compiled++;
    const kernel: CompiledKernel = { ...made, compileTime: performance.now() - start, calls: 0 };
    this.#byText.set(text, kernel);
    return kernel;
  }

  /** Runs `fn` with everything in the calling thread; for tests and for comparison. */
  alone<R>(fn: () => R): R {
    return this.#pool.alone(fn);
  }

  /** Is a call of about so many nanoseconds worth sharing among threads? */
  mayShare(nanoseconds: number): boolean {
    return nanoseconds > WORTH_SHARING.walk;
  }

  /** What walks operands that are all contiguous. */
  flatKernel(program: Program): CompiledKernel {
    checkArguments(program);
    return this.find(program, new Array(operandsOf(program)).fill("contiguous"));
  }

  /** The plainest walk: all operands contiguous, `size` elements from their first one on. */
  flat(
    kernel: CompiledKernel,
    out: FlatOperand,
    inputs: readonly FlatOperand[],
    size: number,
    params: readonly Value[],
  ): void {
    const { words } = this.#scratch;
    const operands = inputs.length + 1;
    this.#writeParams(kernel, operands, params);
    const parallel = size * kernel.cost > WORTH_SHARING.walk && this.#pool.threads > 1;
    this.#open(parallel, operands, params.length);
    const warm = kernel.calls > WARM;
    const chunk = parallel
      ? taskSize(size, this.#pool.threads, warm ? WARM_TASK : PIECE)
      : warm
        ? WARM_CHUNK
        : PIECE;
    for (let i = 0; i < size; i += chunk) {
      kernel.calls++;
      const base = this.#place(kernel);
      words[base + descriptor.n] = Math.min(chunk, size - i);
      words[base + descriptor.m] = 1;
      words[base + descriptor.address(0)] = addressOf(out) + i * out.frame.itemBytes;
      for (let k = 1; k < operands; k++) {
        const { storage, frame } = inputs[k - 1];
        words[base + descriptor.address(k)] = storage.address + frame.offset + i * frame.itemBytes;
      }
      if (!parallel) kernel.run(TEMPLATE);
    }
    this.#flush();
  }

  /** `bytes` bytes from one address to another; the two runs do not overlap. */
  copyBytes(to: number, from: number, bytes: number): void {
    this.#bulk ??= instantiate(emitBulkCopy(this.#heap.shared).toBytes(), this.#heap);
    const parallel = bytes * COPY_NS > WORTH_SHARING.walk && this.#pool.threads > 1;
    this.shared = parallel;
    if (!parallel) {
      this.#writeCopy(WORDS, to, from, bytes);
      this.#bulk.run(TEMPLATE);
      return;
    }
    // Pieces that stay whole multiples of cache lines.
    const piece = Math.max(65536, Math.ceil(bytes / (4 * this.#pool.threads) / 4096) * 4096);
    const queue = new TaskQueue(this.#scratch, 12, false);
    for (let at = 0; at < bytes; at += piece) {
      if (queue.isFull) queue.run(this.#bulk, this.#pool);
      this.#writeCopy(queue.next(), to + at, from + at, Math.min(piece, bytes - at));
    }
    queue.run(this.#bulk, this.#pool);
  }

  #writeCopy(base: number, to: number, from: number, bytes: number): void {
    const { words } = this.#scratch;
    words[base] = to;
    words[base + 1] = from;
    words[base + 2] = bytes;
  }

  /** Begins a template: every call passes here. */
  #writeParams(kernel: CompiledKernel, operands: number, params: readonly Value[]): void {
    checkDescriptor(8 * descriptor.param(operands, params.length), operands - 1, params.length);
    for (let p = 0; p < params.length; p++) {
      const at = TEMPLATE + 8 * descriptor.param(operands, p);
      dtypes[kernel.plan.program.params[p]].write(this.#heap.view, at, params[p]);
    }
  }

  /** Runs the program over the nest; operand 0 is the output and the nest's offsets are addresses. */
  elementwise(program: Program, nest: LoopNest, params: readonly Value[]): CompiledKernel | null {
    const planned = this.plan(program, nest);
    if (planned === null) return null;
    this.walk(planned, nest.offsets, params);
    return planned.tile ?? planned.kernel;
  }

  /** How the program walks nests of this shape and these strides; null: they have no elements. */
  plan(program: Program, nest: LoopNest): PlannedWalk | null {
    if (isEmpty(nest)) return null;
    checkArguments(program);
    const vectors = this.simd && inVectors(program);
    const walk = vectors ? walkOf(program, nest) : plainWalk(program, nest);
    const together = vectors ? rowsTogether(program, walk, this.alwaysTogether) : null;
    let size = 1;
    for (let d = 0; d < nest.shape.length; d++) size *= nest.shape[d];
    return {
      walk,
      kernel: this.find(program, together ?? walk.classes),
      tile: walk.tile === null ? null : this.find(program, walk.tile),
      size,
    };
  }

  /** Walks operands that begin at these addresses, the output first. */
  walk({ walk, kernel, tile, size }: PlannedWalk, at: readonly number[], params: readonly Value[]): void {
    const operands = at.length;
    const { words } = this.#scratch;
    this.#writeParams(kernel, operands, params);
    for (let k = 0; k < operands; k++) {
      words[WORDS + descriptor.stride(k)] = walk.stride[k];
      words[WORDS + descriptor.rowStride(k)] = walk.rowStride[k];
    }
    const parallel = size * kernel.cost > WORTH_SHARING.walk && this.#pool.threads > 1;
    // Tiles stay small: both of their sides are to stay in the cache.
    const warm = tile === null && kernel.calls > WARM;
    const chunk = parallel ? taskSize(size, this.#pool.threads, warm ? WARM_TASK : PIECE) : PIECE;
    this.#open(parallel, operands, params.length);
    const { outer } = walk;
    if (outer.shape.length === 0) this.#rows(walk, kernel, tile, at, chunk);
    else {
      const index = new Array<number>(outer.shape.length).fill(0);
      const pointers = [...at];
      do this.#rows(walk, kernel, tile, pointers, chunk);
      while (advance(outer, outer.shape.length, index, pointers));
    }
    this.#flush();
  }

  /** All m rows of n elements at these addresses. */
  #rows(
    walk: Walk,
    kernel: CompiledKernel,
    tile: CompiledKernel | null,
    at: readonly number[],
    chunk: number,
  ): void {
    const { n, m } = walk;
    if (tile === null) {
      // Rows that go together go into one piece, which has room for all of them.
      const most = Math.floor(chunk / kernel.plan.rows / 64) * 64;
      if (n * m <= chunk) this.#call(walk, kernel, at, 0, 0, n, m);
      else this.#pieces(walk, kernel, at, 0, 0, n, m, most, chunk);
      return;
    }
    const right = n - (n % 4);
    const bottom = m - (m % 4);
    this.#pieces(walk, tile, at, 0, 0, right, bottom, TILE_COLUMNS, chunk);
    if (right < n) this.#pieces(walk, kernel, at, right, 0, n, bottom, n, chunk);
    if (bottom < m) this.#pieces(walk, kernel, at, 0, bottom, n, m, n, chunk);
  }

  /** Columns left … right of rows top … bottom, about `chunk` elements a call and at most `most` columns. */
  #pieces(
    walk: Walk,
    kernel: CompiledKernel,
    at: readonly number[],
    left: number,
    top: number,
    right: number,
    bottom: number,
    most: number,
    chunk: number,
  ): void {
    const columns = Math.min(right - left, most, chunk);
    // Whole blocks of 4 rows, which the tile kernel insists on.
    const rows = Math.max(1, Math.floor(chunk / columns / 4) * 4);
    for (let i = top; i < bottom; i += rows) {
      for (let j = left; j < right; j += columns) {
        this.#call(walk, kernel, at, j, i, Math.min(columns, right - j), Math.min(rows, bottom - i));
      }
    }
  }

  #call(
    walk: Walk,
    kernel: CompiledKernel,
    at: readonly number[],
    column: number,
    row: number,
    n: number,
    m: number,
  ): void {
    const { words } = this.#scratch;
    const base = this.#place(kernel);
    words[base + descriptor.n] = n;
    words[base + descriptor.m] = m;
    for (let k = 0; k < at.length; k++) {
      words[base + descriptor.address(k)] = at[k] + row * walk.rowStride[k] + column * walk.stride[k];
    }
    kernel.calls++;
    if (base === WORDS) kernel.run(TEMPLATE);
  }

  /** What the walk before left, if it failed, is gone. */
  #open(parallel: boolean, operands: number, params: number): void {
    this.shared = parallel;
    this.#queued = null;
    this.#queue = parallel ? new TaskQueue(this.#scratch, 8 * descriptor.param(operands, params)) : null;
  }

  /** Where the words of the next task go: to the template, or to a copy of it that waits to be run. */
  #place(kernel: CompiledKernel): number {
    const queue = this.#queue;
    if (queue === null) return WORDS;
    if (queue.isFull || this.#queued !== kernel) this.#flush();
    this.#queued = kernel;
    return queue.copy();
  }

  #flush(): void {
    if (this.#queued !== null) this.#queue?.run(this.#queued, this.#pool);
  }
}

/** Refuses a program of more operands and captured values than a call has room for. */
function checkArguments(program: Program): void {
  const { inputs, params } = program;
  checkDescriptor(8 * descriptor.param(operandsOf(program), params.length), inputs.length, params.length);
}

/** Outputs and inputs. */
const operandsOf = (program: Program): number => resultsOf(program).length + program.inputs.length;

/** Where the first element of an operand lies. */
export const addressOf = ({ storage, frame }: FlatOperand): number => storage.address + frame.offset;

/** A dense operand: where its storage lies, and where in it the first element is. */
interface FlatOperand {
  readonly storage: { readonly address: number };
  readonly frame: { readonly offset: number; readonly itemBytes: number };
}

/** Code for the heap's memory: what the pool needs of a kernel. */
export function instantiate(bytes: Uint8Array<ArrayBuffer>, heap: Heap): PoolKernel {
  const instance = new WebAssembly.Instance(compileModule(bytes), { e: { m: heap.memory } });
  return { bytes, run: instance.exports.run as (descriptor: number) => void };
}

/** Nanoseconds a byte of a copy takes, roughly. */
const COPY_NS = 0.05;
const WORDS = TEMPLATE / 4;
const TILE_COLUMNS = 256;
/** Fewer rows or columns are not worth a tile. */
const LEAST_TILE = 8;
/**
 * Bytes from which a row that repeats no longer stays in the first-level cache while others pass through it, and bytes
 * of an output that does not stay in any. Below either, one row at a time is faster: up to twice where rows are short.
 */
const LEAST_REPEATED = 12288;
const LEAST_TOGETHER = 1 << 24;

/** A walk and the kernels that make it, for any operands of its strides. */
export interface PlannedWalk {
  readonly walk: Walk;
  readonly kernel: CompiledKernel;
  readonly tile: CompiledKernel | null;
  /** Elements in all. */
  readonly size: number;
}

/** A nest as kernels see it: the two loops they run themselves, and those around them. */
interface Walk {
  readonly n: number;
  readonly m: number;
  readonly stride: readonly number[];
  readonly rowStride: readonly number[];
  readonly classes: readonly LayoutClass[];
  /** Classes of the tile kernel, where one applies. */
  readonly tile: readonly LayoutClass[] | null;
  readonly outer: LoopNest;
}

/** Of an element of operand k, the outputs first. */
function bytesOf(program: Program, k: number): number {
  const results = resultsOf(program);
  return dtypes[k < results.length ? program.nodes[results[k]].dtype : program.inputs[k - results.length]]
    .bytes;
}

function plainWalk(program: Program, nest: LoopNest): Walk {
  const rank = nest.shape.length;
  return walkAlong(program, nest, rank - 1, rank - 2, null);
}

/** The innermost loop, and as the rows' loop one along which a strided operand is contiguous, if there is one. */
function walkOf(program: Program, nest: LoopNest): Walk {
  const rank = nest.shape.length;
  const inner = rank - 1;
  if (rank >= 2 && nest.shape[inner] >= LEAST_TILE && needsTile(program, nest)) {
    const bytes = nest.strides.map((_, k) => bytesOf(program, k));
    const stride = nest.strides.map((s) => s[inner]);
    for (let d = rank - 2; d >= 0; d--) {
      if (nest.shape[d] < LEAST_TILE) continue;
      const tile = tileClasses(
        stride,
        nest.strides.map((s) => s[d]),
        bytes,
      );
      if (tile !== null) return walkAlong(program, nest, inner, d, tile);
    }
  }
  return walkAlong(program, nest, inner, rank - 2, null);
}

/** How operands are walked where several rows are computed together; null: one row at a time. */
function rowsTogether(program: Program, walk: Walk, always: boolean): LayoutClass[] | null {
  const { n, m, tile } = walk;
  if (tile !== null || m < TOGETHER || program.nodes[program.result].op === "tuple") return null;
  const bytes = n * bytesOf(program, 0);
  const pays = bytes >= LEAST_REPEATED && m * bytes >= LEAST_TOGETHER;
  return pays || always ? togetherClasses(walk.classes, walk.rowStride) : null;
}

function needsTile(program: Program, nest: LoopNest): boolean {
  if (program.nodes[program.result].op === "tuple") return false;
  const inner = nest.shape.length - 1;
  for (let k = 1; k < nest.strides.length; k++) {
    const s = nest.strides[k][inner];
    if (s !== 0 && s !== bytesOf(program, k)) return true;
  }
  return false;
}

function walkAlong(
  program: Program,
  nest: LoopNest,
  inner: number,
  rows: number,
  tile: readonly LayoutClass[] | null,
): Walk {
  const { shape, strides } = nest;
  const operands = strides.length;
  const stride = new Array<number>(operands);
  const rowStride = new Array<number>(operands);
  const classes = new Array<LayoutClass>(operands);
  for (let k = 0; k < operands; k++) {
    stride[k] = inner >= 0 ? strides[k][inner] : 0;
    rowStride[k] = rows >= 0 ? strides[k][rows] : 0;
    classes[k] = inner >= 0 ? layoutClass(stride[k], bytesOf(program, k)) : "contiguous";
  }
  const n = inner >= 0 ? shape[inner] : 1;
  const m = rows >= 0 ? shape[rows] : 1;
  return {
    n,
    m,
    stride,
    rowStride,
    classes,
    tile,
    outer: shape.length <= 2 ? noLoops : without(nest, inner, rows),
  };
}

const noLoops: LoopNest = { shape: [], strides: [], offsets: [], order: [], flipped: [] };

function without(nest: LoopNest, inner: number, rows: number): LoopNest {
  const keep = (_: unknown, d: number) => d !== inner && d !== rows;
  return { ...nest, shape: nest.shape.filter(keep), strides: nest.strides.map((s) => s.filter(keep)) };
}
