/**
 * The thread pool: workers over the shared heap, and the calling thread among them. A job is one kernel and up to 1023
 * tasks, each a descriptor in memory; whoever is free takes the next. Synchronous from the caller's side.
 *
 * The protocol. The caller makes the ticket unusable, writes the job's words, then the ticket (epoch and next index in one word), then the epoch,
 * and wakes sleepers. A worker reads the job, then takes an index by compare-and-exchange on the ticket: that succeeds
 * only while the epoch in it is the one whose job the worker read, and a job is replaced only when all its tasks are
 * completed, so no task can run with another job's words. Nobody has to wake up in time: what is not taken by others,
 * the caller does itself. Workers that find nothing spin for a moment, then sleep.
 */
import { fail, TensorError } from "../errors.ts";
import type { Heap } from "../memory/heap.ts";
import { cores, inWorkerThread, startWorker, type WorkerHandle } from "./host.ts";

/** Words of the control block; worker.js has the same names. */
const EPOCH = 0;
const TICKET = 1;
const COMPLETED = 2;
const SLEEPING = 3;
const READY = 4;
const FAILED = 5;
const KERNEL = 6;
const CODE_BYTES = 8;
const DESCRIPTORS = 9;
const DESCRIPTOR_BYTES = 10;
const TASKS = 11;
const SPIN = 12;
/** 0: a task is a descriptor for the export "run"; 1: a task is the address of a tape of calls. */
const TAPED = 13;
/** Counts the calls of tapes: signs of life during long tasks. */
const BEAT = 14;
/** Byte position of the job's code, behind the words. */
const CODE_AT = 1024;

/** Tells the processor that a thread only waits, where the host can: the core's other thread is the faster for it. */
const { pause } = Atomics as { pause?: () => void };

const INDEX_BITS = 10;
const INDEX_MASK = (1 << INDEX_BITS) - 1;
export const MOST_TASKS = INDEX_MASK;
export const MOST_THREADS = 64;
/** Longer code stays with the caller. Memory that nobody writes to costs nothing. */
const CODE_ROOM = 1 << 20;
/** A worker that shows no sign of life for longer than this while it holds a task is taken for dead. */
const PATIENCE_MS = 900;
const MOST_PAUSE_MS = 50;
/** How long a worker looks for the next job before it sleeps, in microseconds. */
const SPIN_US = 200;

/** What the pool needs to know of a kernel: its code, and the function that does a task in this thread. */
export interface PoolKernel {
  readonly bytes: Uint8Array;
  readonly run: (task: number) => void;
  /** The tasks are tapes (see Tape), and `run` plays one. */
  readonly taped?: boolean;
}

export interface PoolStatus {
  /** Threads that work now, the calling one included. */
  readonly threads: number;
  /** Threads that were asked for. */
  readonly wanted: number;
  /** Why there is only one, if there is. */
  readonly why: string | null;
}

export class Pool {
  readonly #heap: Heap;
  readonly #control: Int32Array | null;
  readonly #wanted: number;
  /** Workers keep kernels by number. */
  readonly #numbers = new WeakMap<PoolKernel, number>();
  /** Jobs that were shared so far, their tasks, and how many of those the calling thread did; explain watches it. */
  readonly tally = { jobs: 0, tasks: 0, own: 0 };
  #workers: WorkerHandle[] = [];
  #kernels = 0;
  /** The kernel whose code lies in the control block. */
  #published = 0;
  #epoch = 0;
  #why: string | null = null;
  #started = false;
  #alone = false;

  constructor(heap: Heap, threads: number | undefined) {
    this.#heap = heap;
    const asked = threads ?? environmentThreads();
    this.#wanted = Math.min(asked ?? (inWorkerThread() ? 1 : cores()), MOST_THREADS);
    if (this.#wanted <= 1) {
      const inside = "inside a worker thread one thread is the default";
      this.#why =
        asked !== null ? "one thread was asked for" : inWorkerThread() ? inside : "there is one core";
    } else if (!heap.shared) this.#why = "this host has no shared memory";
    else if (!canShare()) this.#why = "the page is not cross-origin isolated (COOP and COEP headers)";
    this.#control = this.#why === null ? new Int32Array(new SharedArrayBuffer(CODE_AT + CODE_ROOM)) : null;
    if (this.#control !== null) this.#control[SPIN] = SPIN_US;
  }

  status(): PoolStatus {
    const ready = this.#control === null ? 0 : Atomics.load(this.#control, READY);
    return { threads: 1 + ready, wanted: this.#wanted, why: this.#why };
  }

  /** Threads that would share a job now. The first call starts the workers and does not wait for them. */
  get threads(): number {
    if (this.#control === null || this.#alone) return 1;
    if (!this.#started) this.start();
    return 1 + Math.min(Atomics.load(this.#control, READY), this.#workers.length);
  }

  /** Runs `fn` with everything in the calling thread; for tests and for comparison. */
  alone<R>(fn: () => R): R {
    const before = this.#alone;
    this.#alone = true;
    try {
      return fn();
    } finally {
      this.#alone = before;
    }
  }

  start(): void {
    if (this.#started || this.#control === null) return;
    this.#started = true;
    for (let id = 0; id < this.#wanted - 1; id++) this.#startWorker(id);
  }

  #startWorker(id: number): void {
    const control = this.#control!;
    const data = { memory: this.#heap.memory, control, id };
    const handle = startWorker(data, (why) => {
      // A worker that ends by itself takes no part any more; the others and the caller go on.
      this.#workers = this.#workers.filter((w) => w !== handle);
      if (this.#workers.length === 0) this.#why ??= why;
      // One that never came up was never counted.
      if (Atomics.load(control, READY) > this.#workers.length) Atomics.sub(control, READY, 1);
    });
    if (handle !== null) this.#workers.push(handle);
    else this.#why = "this host starts no workers";
  }

  /** Resolves when all workers are up (or have failed). */
  async ready(): Promise<void> {
    this.start();
    while (this.#control !== null && Atomics.load(this.#control, READY) < this.#workers.length) {
      await new Promise((done) => setTimeout(done, 1));
    }
  }

  /** Waits in place for the workers, where the host allows it (Node); for tests and benchmarks. */
  waitUntilReady(milliseconds = 2000): void {
    this.start();
    const until = performance.now() + milliseconds;
    while (this.#control !== null && Atomics.load(this.#control, READY) < this.#workers.length) {
      if (performance.now() > until) return;
      Atomics.wait(this.#control, READY, Atomics.load(this.#control, READY), 1);
    }
  }

  /** Runs kernel.run(descriptors + i·step) for each task, on all threads; returns when all are done. */
  run(kernel: PoolKernel, descriptors: number, step: number, tasks: number): void {
    const control = this.#control;
    if (control === null || tasks <= 1 || this.threads === 1 || kernel.bytes.length > CODE_ROOM) {
      for (let i = 0; i < tasks; i++) kernel.run(descriptors + i * step);
      return;
    }
    this.#epoch = (this.#epoch + 1) & 0x3fffffff;
    const epoch = this.#epoch;
    // An exhausted ticket of the new epoch first: a late worker must not take these words for the last job's.
    Atomics.store(control, TICKET, (epoch << INDEX_BITS) | INDEX_MASK | 0);
    this.#publishCode(control, kernel);
    Atomics.store(control, DESCRIPTORS, descriptors | 0);
    Atomics.store(control, DESCRIPTOR_BYTES, step);
    Atomics.store(control, TASKS, tasks);
    Atomics.store(control, TAPED, kernel.taped ? 1 : 0);
    Atomics.store(control, COMPLETED, 0);
    Atomics.store(control, TICKET, (epoch << INDEX_BITS) | 0);
    Atomics.store(control, EPOCH, epoch);
    if (Atomics.load(control, SLEEPING) > 0) Atomics.notify(control, EPOCH);
    let own = 0;
    // What a task takes here says how long one may take elsewhere.
    let longest = 0;
    try {
      for (;;) {
        const ticket = Atomics.load(control, TICKET);
        const index = ticket & INDEX_MASK;
        if (index >= tasks) break;
        if (Atomics.compareExchange(control, TICKET, ticket, ticket + 1) !== ticket) continue;
        own++;
        const began = performance.now();
        kernel.run(descriptors + index * step);
        longest = Math.max(longest, performance.now() - began);
      }
    } catch (error) {
      // Nobody takes more of it, and those who hold a task finish it: then the next job may come.
      const ticket = Atomics.exchange(control, TICKET, (epoch << INDEX_BITS) | INDEX_MASK | 0);
      this.#finish(control, Math.min(ticket & INDEX_MASK, tasks) - own, longest);
      throw error;
    }
    this.#finish(control, tasks - own, longest);
    this.tally.jobs++;
    this.tally.tasks += tasks;
    this.tally.own += own;
  }

  /** Waits for the tasks that workers hold. */
  #finish(control: Int32Array, others: number, longest: number): void {
    const patience = PATIENCE_MS + 4 * longest;
    let last = -1;
    let waited = 0;
    let before = 0;
    for (let spins = 0; Atomics.load(control, COMPLETED) < others; spins++) {
      pause?.();
      const now = (Atomics.load(control, COMPLETED) + Atomics.load(control, BEAT)) | 0;
      if (now !== last) {
        last = now;
        waited = 0;
        before = 0;
      } else if ((spins & 1023) === 1023) {
        const time = performance.now();
        // While this thread had no turn, the worker may have had none either.
        if (before > 0) waited += Math.min(time - before, MOST_PAUSE_MS);
        before = time;
        if (waited > patience) this.#fail("a worker thread stopped in the middle of a task");
      }
    }
    if (Atomics.load(control, FAILED) !== 0) {
      Atomics.store(control, FAILED, 0);
      this.#fail("a kernel failed in a worker thread");
    }
  }

  /** After this the pool works with the calling thread alone. */
  #fail(what: string): never {
    for (const worker of this.#workers) worker.stop();
    this.#workers = [];
    this.#why = what;
    throw new TensorError(
      "worker",
      `strided: ${what}; the result of this operation is incomplete.\n` +
        "  From here on one thread does the work. configure({ threads: 1 }) uses one from the start.",
    );
  }

  /**
   * The code of the job, for workers that do not have it yet. They read it while they hold one of its tasks, so it lies
   * still until they are done: one place serves all kernels.
   */
  #publishCode(control: Int32Array, kernel: PoolKernel): void {
    let number = this.#numbers.get(kernel);
    if (number === undefined) {
      number = ++this.#kernels;
      this.#numbers.set(kernel, number);
    }
    if (number === this.#published) return;
    this.#published = number;
    new Uint8Array(control.buffer, CODE_AT).set(kernel.bytes);
    Atomics.store(control, KERNEL, number);
    Atomics.store(control, CODE_BYTES, kernel.bytes.length);
  }

  /** Ends the workers; the pool then works with one thread. */
  stop(): void {
    for (const worker of this.#workers) worker.stop();
    this.#workers = [];
    this.#why = "the pool was stopped";
  }
}

function canShare(): boolean {
  const isolated = (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated;
  return typeof SharedArrayBuffer !== "undefined" && isolated !== false;
}

/** STRIDED_THREADS; null, where it is not set, leaves the choice to the pool. */
function environmentThreads(): number | null {
  const text = (globalThis as { process?: { env?: Record<string, string> } }).process?.env?.STRIDED_THREADS;
  if (text === undefined || text.trim() === "") return null;
  const asked = Number(text);
  if (Number.isInteger(asked) && asked > 0 && asked <= MOST_THREADS) return asked;
  return fail(
    "value",
    "STRIDED_THREADS",
    `${JSON.stringify(text)} is no number of threads.`,
    `Set it to a whole number from 1 to ${MOST_THREADS}, or leave it out for every core.`,
  );
}
