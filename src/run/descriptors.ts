/**
 * The scratch area: the heap's first page, where a call writes what kernels are to read. Calls do not nest, so one at a
 * time has all of it. Whoever writes there gets the place from here, laid out from real sizes; what does not fit is
 * refused before anything is written.
 *
 * A call of many tasks prepares a template, what all of them have in common. The queue behind it holds descriptors: copies
 * of the template with the words that are a task's own.
 */
import { fail } from "../errors.ts";
import { type Heap, SCRATCH } from "../memory/heap.ts";
import type { Pool, PoolKernel } from "./pool.ts";

/** Descriptors begin at cache lines: two threads never read the same one. */
const LINE = 64;
const END = SCRATCH.address + SCRATCH.bytes;
const lines = (bytes: number): number => LINE * Math.ceil(bytes / LINE);

/** Where the template lies; a call of one task is run from there. */
export const TEMPLATE = SCRATCH.address;
/** Bytes of a descriptor at the most: the area has room for a template and a task. */
export const MOST_DESCRIPTOR = LINE * Math.floor(SCRATCH.bytes / 2 / LINE);

/** Refuses a function whose arguments, of so many bytes in all, have no room. */
export function checkDescriptor(bytes: number, inputs: number, captured: number): void {
  if (bytes <= MOST_DESCRIPTOR) return;
  fail(
    "kernel",
    "kernel",
    `${count(inputs, "operand")} and ${count(captured, "captured value")} need ${bytes} bytes of arguments; ` +
      `a call has room for ${MOST_DESCRIPTOR}.`,
    "Put the values into a tensor that is broadcast, or compute in several steps.",
  );
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

/** The area as a workspace of so many bytes, zeros or not, until the next call; null where it is too small. */
export function workspaceOf(bytes: number): number | null {
  return bytes <= SCRATCH.bytes ? SCRATCH.address : null;
}

/** The area of one heap. */
export class Scratch {
  readonly #heap: Heap;
  #words: Int32Array;

  constructor(heap: Heap) {
    this.#heap = heap;
    this.#words = wordsOf(heap);
  }

  /** The heap's words from its first to the area's last. Read them afresh after anything that allocates. */
  get words(): Int32Array {
    // Old views of a shared memory stay valid.
    if (!this.#heap.shared && this.#words.buffer !== this.#heap.buffer) this.#words = wordsOf(this.#heap);
    return this.#words;
  }

  /** For values that are no words. */
  get view(): DataView {
    return this.#heap.view;
  }
}

const wordsOf = (heap: Heap): Int32Array => new Int32Array(heap.buffer, 0, END / 4);

/** Descriptors of one size that wait to be run together. */
export class TaskQueue {
  readonly #scratch: Scratch;
  readonly #at: number;
  readonly #step: number;
  readonly #most: number;
  #tasks = 0;

  /** Descriptors of so many bytes. Without a template, all of the area is the queue's. */
  constructor(scratch: Scratch, bytes: number, hasTemplate = true) {
    this.#scratch = scratch;
    this.#step = lines(bytes);
    this.#at = TEMPLATE + (hasTemplate ? this.#step : 0);
    this.#most = Math.floor((END - this.#at) / this.#step);
    if (this.#most < 1) {
      fail("kernel", "kernel", `a task of ${bytes} bytes has no room; there are ${SCRATCH.bytes}.`);
    }
  }

  get tasks(): number {
    return this.#tasks;
  }

  get isFull(): boolean {
    return this.#tasks === this.#most;
  }

  /** The word position of one more descriptor; the queue is not full. Its content is whatever was there. */
  next(): number {
    return (this.#at + this.#tasks++ * this.#step) / 4;
  }

  /** The same for a copy of the template. */
  copy(): number {
    const base = this.next();
    this.#scratch.words.copyWithin(base, TEMPLATE / 4, (TEMPLATE + this.#step) / 4);
    return base;
  }

  /** A copy of the words of the tasks that wait. */
  record(): Int32Array {
    return this.#scratch.words.slice(this.#at / 4, (this.#at + this.#tasks * this.#step) / 4);
  }

  /** The word position of the first task. */
  get first(): number {
    return this.#at / 4;
  }

  /** Words from one task to the next. */
  get stride(): number {
    return this.#step / 4;
  }

  /** Puts in tasks that waited in a queue like this one, which is empty; the word position of the first. */
  restore(words: Int32Array): number {
    this.#scratch.words.set(words, this.#at / 4);
    this.#tasks = words.length / this.stride;
    return this.#at / 4;
  }

  /** Runs what waits, on all threads of the pool or (null) in this one. What fails is not there for the next call. */
  run(kernel: PoolKernel, pool: Pool | null): void {
    const tasks = this.#tasks;
    this.#tasks = 0;
    if (pool !== null) pool.run(kernel, this.#at, this.#step, tasks);
    else for (let i = 0; i < tasks; i++) kernel.run(this.#at + i * this.#step);
  }
}
