/**
 * The thread pool: workers over the shared heap, and the calling thread among them. A job is one kernel and its tasks,
 * each a descriptor in memory; whoever is free takes the next. Synchronous from the caller's side.
 *
 * The protocol. One word, LEFT, counts the tasks that nobody has taken: to take one is to count it down, by
 * compare-and-exchange. The caller writes the job's words while LEFT is 0, sets LEFT, and wakes sleepers. A worker reads
 * the words after it has taken a task: a job is replaced only when all its tasks are completed, so they are the words of
 * the job the task is of, however late the worker comes. Nobody has to wake up in time: what is not taken by others, the
 * caller does itself. Workers that find nothing spin for a moment, then sleep.
 *
 * What a worker holds when it ends is lost, and is noticed: see docs/decisions/0010-signs-of-life.md.
 */
import { fail, TensorError } from "../errors.ts";
import type { Heap } from "../memory/heap.ts";
import { cores, environment, inWorkerThread, startWorker, type WorkerHandle } from "./host.ts";

/** Words of the control block; strided-worker.js has the same names. */
const EPOCH = 0;
const LEFT = 1;
const COMPLETED = 2;
const SLEEPING = 3;
const FAILED = 4;
/** Tasks that workers could not begin, for want of memory to compile for instance: the caller does them. */
const RETURNED = 5;
const KERNEL = 6;
const CODE_BYTES = 7;
const DESCRIPTORS = 8;
const DESCRIPTOR_BYTES = 9;
const TASKS = 10;
const SPIN = 11;
/** 0: a task is a descriptor for the export "run"; 1: a task is the address of a tape of calls. */
const TAPED = 12;
/** Counts the calls of tapes: signs of life during long tasks. */
const BEAT = 13;
/** Counts kernels that workers compiled for the job. */
const COMPILED = 14;
/** A word a worker: what it is doing. A worker is BUSY from before it takes a task until after it is completed. */
const STATES = 16;
const UP = 1;
const BUSY = 2;
/** A word a worker: the task that it returned, counted from 1. */
const RETURNS = 80;
/** Byte positions of why a task failed, as text behind its length, and of the job's code. */
const REASON_AT = 576;
const CODE_AT = 1024;

/** Tells the processor that a thread only waits, where the host can: the core's other thread is the faster for it. */
const { pause } = Atomics as { pause?: () => void };

export const MOST_THREADS = 64;
/** Longer code stays with the caller. Memory that nobody writes to costs nothing. */
const CODE_ROOM = 1 << 20;
/** How often the caller looks whether the workers it waits for still live, in milliseconds. */
const LOOK_MS = 50;
/**
 * Where the host cannot tell whether a worker lives: for so long it may show no sign of life while it holds a task, and
 * so many times longer than the caller's own longest task.
 */
const PATIENCE_MS = 60_000;
const PATIENCE_TASKS = 100;
const MOST_PAUSE_MS = 50;
/** How long a worker looks for the next job before it sleeps, in microseconds. */
const SPIN_US = 200;
/** Workers are late when the caller has waited longer than this, and than so many of its own longest task. */
const LATE_MS = 1.5;
const LATE_TASKS = 4;
/** For so many such waits it works alone then, but not for longer than this: a stopped process has waited for hours. */
const REST_WAITS = 20;
const MOST_REST_MS = 5000;

/** What the pool needs to know of a kernel: its code, and the function that does a task in this thread. */
export interface PoolKernel {
  readonly bytes: Uint8Array;
  readonly run: (task: number) => void;
  /** The tasks are tapes (see Tape), and `run` plays one. */
  readonly taped?: boolean;
  /** A task may trap: it has written down why, and whoever asked for it looks there. */
  readonly mayTrap?: boolean;
  /** Asked while the caller waits for others: a number that changes while they make progress. */
  readonly signs?: () => number;
}

export interface PoolOptions {
  /** Milliseconds without a sign of life after which a worker is given up, whatever the host can tell. */
  readonly patience?: number;
  /** Does the caller work alone for a while when workers are late? Default: unless a number of threads was asked for. */
  readonly rests?: boolean;
}

export interface PoolStatus {
  /** Threads that work now, the calling one included. */
  readonly threads: number;
  /** Threads that were asked for. */
  readonly wanted: number;
  /** Why there is only one, if there is. */
  readonly why: string | null;
}

/** A worker, and its number in the control block. */
interface Member {
  readonly id: number;
  readonly handle: WorkerHandle;
}

export class Pool {
  readonly #heap: Heap;
  readonly #control: Int32Array | null;
  readonly #wanted: number;
  /** Workers keep kernels by number. */
  readonly #numbers = new WeakMap<PoolKernel, number>();
  readonly #patience: number | undefined;
  readonly #rests: boolean;
  /** Jobs that were shared so far, their tasks, and how many of those the calling thread did; explain watches it. */
  readonly tally = { jobs: 0, tasks: 0, own: 0 };
  #workers: Member[] = [];
  #kernels = 0;
  /** The kernel whose code lies in the control block. */
  #published = 0;
  #epoch = 0;
  #why: string | null = null;
  #started = false;
  #alone = false;
  /** When the caller shares work again; 0: it does. */
  #restUntil = 0;

  constructor(heap: Heap, threads: number | undefined, { patience, rests }: PoolOptions = {}) {
    this.#heap = heap;
    this.#patience = patience;
    const asked = threads ?? environmentThreads();
    this.#rests = rests ?? asked === null;
    this.#wanted = Math.min(asked ?? (inWorkerThread() ? 1 : cores()), MOST_THREADS);
    if (this.#wanted <= 1) {
      const inside =
        "inside a worker thread one thread is the default (configure({ threads }) asks for more)";
      this.#why =
        asked !== null ? "one thread was asked for" : inWorkerThread() ? inside : "there is one core";
    } else if (!heap.shared) this.#why = "this host has no shared memory";
    else if (!canShare()) this.#why = "the page is not cross-origin isolated (COOP and COEP headers)";
    this.#control = this.#why === null ? new Int32Array(new SharedArrayBuffer(CODE_AT + CODE_ROOM)) : null;
    if (this.#control !== null) this.#control[SPIN] = SPIN_US;
  }

  status(): PoolStatus {
    const late = this.#isResting ? "workers came late, beside other busy programs perhaps" : null;
    return {
      threads: late === null ? 1 + this.#ready : 1,
      wanted: this.#wanted,
      why: this.#why ?? late,
    };
  }

  /** Threads that would share a job now. The first call starts the workers and does not wait for them. */
  get threads(): number {
    if (this.#control === null || this.#alone || this.#isResting) return 1;
    if (!this.#started) this.start();
    return 1 + this.#ready;
  }

  /** Beside another busy process a worker that has lost its core costs more than it does: see restAfter. */
  get #isResting(): boolean {
    if (this.#restUntil !== 0 && performance.now() >= this.#restUntil) this.#restUntil = 0;
    return this.#restUntil !== 0;
  }

  /** Workers that are up. */
  get #ready(): number {
    const control = this.#control;
    let ready = 0;
    if (control !== null) {
      for (const { id } of this.#workers) if (Atomics.load(control, STATES + id) >= UP) ready++;
    }
    return ready;
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
    const data = { memory: this.#heap.memory, control: this.#control, id };
    const handle = startWorker(data, (why) => {
      // A worker that ends by itself takes no part any more; the others and the caller go on.
      this.#workers = this.#workers.filter((w) => w.id !== id);
      if (this.#workers.length === 0) this.#why ??= why;
    });
    if (typeof handle !== "string") this.#workers.push({ id, handle });
    else this.#why = handle;
  }

  /** Resolves when all workers are up (or have failed). */
  async ready(): Promise<void> {
    this.start();
    while (this.#ready < this.#workers.length) await new Promise((done) => setTimeout(done, 1));
  }

  /** Waits in place for the workers, where the host allows it (Node); for tests and benchmarks. */
  waitUntilReady(milliseconds = 2000): void {
    this.start();
    const until = performance.now() + milliseconds;
    while (this.#ready < this.#workers.length && performance.now() < until) {
      Atomics.wait(this.#control!, EPOCH, this.#epoch, 1);
    }
  }

  /** Runs kernel.run(descriptors + i·step) for each task, on all threads; returns when all are done. */
  run(kernel: PoolKernel, descriptors: number, step: number, tasks: number): void {
    const control = this.#control;
    if (control === null || tasks <= 1 || this.threads === 1 || kernel.bytes.length > CODE_ROOM) {
      for (let i = 0; i < tasks; i++) kernel.run(descriptors + i * step);
      return;
    }
    this.#publishCode(control, kernel);
    Atomics.store(control, DESCRIPTORS, descriptors | 0);
    Atomics.store(control, DESCRIPTOR_BYTES, step);
    Atomics.store(control, TASKS, tasks);
    Atomics.store(control, TAPED, kernel.taped ? 1 : 0);
    Atomics.store(control, COMPLETED, 0);
    // The first task is the caller's: what it takes here says how long one may take elsewhere.
    Atomics.store(control, LEFT, tasks - 1);
    this.#epoch = (this.#epoch + 1) & 0x3fffffff;
    Atomics.store(control, EPOCH, this.#epoch);
    if (Atomics.load(control, SLEEPING) > 0) Atomics.notify(control, EPOCH, tasks - 1);
    let own = 0;
    let longest = 0;
    const start = performance.now();
    try {
      for (let left = tasks; left > 0; left = take(control)) {
        own++;
        const began = performance.now();
        kernel.run(descriptors + (tasks - left) * step);
        longest = Math.max(longest, performance.now() - began);
      }
    } catch (error) {
      // Nobody takes more of it, and those who hold a task finish it: then the next job may come.
      const left = Atomics.exchange(control, LEFT, 0);
      this.#finish(control, kernel, tasks - left - own, longest, null);
      this.#takeReturned(control);
      throw error;
    }
    this.#finish(control, kernel, tasks - own, longest, (performance.now() - start) / own);
    const returned = this.#takeReturned(control);
    for (const task of returned) kernel.run(descriptors + task * step);
    this.tally.jobs++;
    this.tally.tasks += tasks;
    this.tally.own += own + returned.length;
  }

  /** Waits for the tasks of others. `each` is what the caller needed for one of its own; null: it did not come to an end. */
  #finish(
    control: Int32Array,
    kernel: PoolKernel,
    others: number,
    longest: number,
    each: number | null,
  ): void {
    const began = performance.now();
    const patience = this.#patienceFor(longest);
    let last = -1;
    let signs = 0;
    let waited = 0;
    let before = 0;
    let look = 0;
    for (let spins = 0; Atomics.load(control, COMPLETED) < others; spins++) {
      pause?.();
      const now = (Atomics.load(control, COMPLETED) + Atomics.load(control, BEAT)) | 0;
      if (now !== last) {
        last = now;
        waited = 0;
        before = 0;
      }
      if ((spins & 1023) !== 1023) continue;
      const sign = kernel.signs?.() ?? 0;
      if (sign !== signs) {
        signs = sign;
        waited = 0;
        before = 0;
      }
      const time = performance.now();
      // While this thread had no turn, the worker may have had none either.
      if (before > 0) waited += Math.min(time - before, MOST_PAUSE_MS);
      before = time;
      if (waited > patience) this.#fail("a worker thread stopped in the middle of a task");
      if (look === 0) look = time + LOOK_MS;
      if (time < look) continue;
      look = time + LOOK_MS;
      if (this.#isLost(control, others)) this.#fail("a worker thread ended in the middle of a task");
    }
    // Who had to compile comes late once.
    if (Atomics.exchange(control, COMPILED, 0) === 0 && this.#rests && each !== null) {
      const now = performance.now();
      const rest = restAfter(now - began, longest, each * others);
      if (rest > 0) this.#restUntil = now + rest;
    }
    if (Atomics.exchange(control, FAILED, 0) !== 0 && !kernel.mayTrap) {
      this.#fail(`a kernel failed in a worker thread (${reasonOf(control)})`);
    }
  }

  /** A worker that lives comes to the end of its task, however long that takes. */
  #patienceFor(longest: number): number {
    if (this.#patience !== undefined) return this.#patience;
    const isKnown = this.#workers.every(({ handle }) => handle.ended !== null);
    return isKnown ? Number.POSITIVE_INFINITY : PATIENCE_MS + PATIENCE_TASKS * longest;
  }

  /**
   * Is a task left that nobody who lives holds? Tasks of those who do are waited for: they may be writing. A worker
   * counts its task before it says that it holds none, so looking in the other order misses none.
   */
  #isLost(control: Int32Array, others: number): boolean {
    const isHeld = this.#workers.some(
      ({ id, handle }) => Atomics.load(control, STATES + id) === BUSY && handle.ended?.() !== true,
    );
    return !isHeld && Atomics.load(control, COMPLETED) < others;
  }

  /** The tasks that workers have returned; none of them stays there. */
  #takeReturned(control: Int32Array): number[] {
    if (Atomics.exchange(control, RETURNED, 0) === 0) return [];
    const tasks: number[] = [];
    for (let id = 0; id < this.#wanted - 1; id++) {
      const task = Atomics.exchange(control, RETURNS + id, 0);
      if (task > 0) tasks.push(task - 1);
    }
    return tasks;
  }

  /** After this the pool works with the calling thread alone. */
  #fail(what: string): never {
    this.#stopWorkers();
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
    this.#stopWorkers();
    this.#why = "the pool was stopped";
  }

  #stopWorkers(): void {
    for (const { handle } of this.#workers) handle.stop();
    this.#workers = [];
  }
}

/**
 * Milliseconds to work alone after so long a wait for workers: 0 where they were not late. `saved` is how long the caller would
 * have worked on their tasks: where it has waited less than that, sharing was worth it, and the last task was only a long one.
 */
export function restAfter(waited: number, longest: number, saved: number): number {
  const isLate = waited > LATE_MS && waited > LATE_TASKS * longest && waited > saved;
  return isLate ? Math.min(REST_WAITS * waited, MOST_REST_MS) : 0;
}

/** Takes a task: how many were left, this one among them; 0: none. */
function take(control: Int32Array): number {
  for (;;) {
    const left = Atomics.load(control, LEFT);
    if (left === 0 || Atomics.compareExchange(control, LEFT, left, left - 1) === left) return left;
  }
}

/** What a worker wrote about the task that failed. */
function reasonOf(control: Int32Array): string {
  const length = Atomics.load(control, REASON_AT / 4);
  return new TextDecoder().decode(new Uint8Array(control.buffer, REASON_AT + 4, length).slice());
}

function canShare(): boolean {
  const isolated = (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated;
  return typeof SharedArrayBuffer !== "undefined" && isolated !== false;
}

/** STRIDED_THREADS; null, where it is not set, leaves the choice to the pool. */
function environmentThreads(): number | null {
  const text = environment("STRIDED_THREADS");
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
