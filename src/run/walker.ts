/** Walks operands: writes what kernels are to read, cuts long walks into pieces, and hands them to the threads. */
import { dtypes, type Value } from "../dtype.ts";
import type { Heap } from "../memory/heap.ts";
import { emitBulkCopy } from "../wasm/program/bulk.ts";
import { descriptor } from "../wasm/program/elementwise.ts";
import { checkDescriptor, Scratch, TaskQueue, TEMPLATE } from "./descriptors.ts";
import { addressOf, type CompiledKernel, type FlatOperand, instantiate } from "./kernel.ts";
import { advance } from "./odometer.ts";
import type { Pool, PoolKernel } from "./pool.ts";
import { PIECE, taskSize, WORTH_SHARING } from "./split.ts";
import type { PlannedWalk, Walk } from "./walks.ts";

/** A kernel called this often takes larger pieces: in one thread, and where several share them. */
export const WARM = 100;
const WARM_CHUNK = 1 << 18;
const WARM_TASK = 1 << 17;

/** Nanoseconds a byte of a copy takes, roughly. */
const COPY_NS = 0.05;
const WORDS = TEMPLATE / 4;
const TILE_COLUMNS = 256;

export class Walker {
  readonly #heap: Heap;
  readonly #pool: Pool;
  readonly #scratch: Scratch;
  #bulk: PoolKernel | null = null;
  /** Tasks of the walk that is on, and the kernel of those that wait; null: each is run as it is made. */
  #queue: TaskQueue | null = null;
  #queued: CompiledKernel | null = null;
  /** Whether the last walk was shared among threads. */
  shared = false;

  constructor(heap: Heap, pool: Pool) {
    this.#heap = heap;
    this.#pool = pool;
    this.#scratch = new Scratch(heap);
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
