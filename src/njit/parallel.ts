/**
 * The tasks of forks, run: some here, and the rest, where it is worth it, on all threads of the pool. What is computed does not
 * depend on who computes it, nor on how cuts are put into tasks.
 *
 * A task that fails writes down where and traps; tasks of later cuts then stop, those of earlier ones run on, so the failure that
 * is reported is the one that the loop would have come to first.
 */
import { unreachable } from "../errors.ts";
import type { Heap } from "../memory/heap.ts";
import { MOST_DESCRIPTOR, TEMPLATE } from "../run/descriptors.ts";
import type { Pool, PoolKernel } from "../run/pool.ts";
import { WORTH_SHARING } from "../run/split.ts";
import { CUTS } from "./ir.ts";
import { ENDS, FAILURE, HEAD, type Layout, TASK } from "./layout.ts";
import type { Watch } from "./watch.ts";

/** Thrown through the call when it cannot go on: its descriptor, or its watch, says why. */
export class Stopped extends Error {}

/** What became of a fork: for whoever listens. */
export interface ForkRun {
  turns: number;
  /** Tasks that were shared among threads. */
  shared: number;
  threads: number;
  /** Its turns share elements for the numbers given, each time it came by. */
  ordered: boolean;
}

/** What a call has for its forks. */
export interface ForkCall {
  /** Where tasks lie, and where the cuts' reductions do. */
  readonly tasks: number;
  /** By fork: must it run in order? */
  readonly inOrder: readonly boolean[];
  readonly watch: Watch | null;
  /** By fork, summed up. */
  readonly runs: readonly ForkRun[];
}

/** Bytes of tasks and reductions. */
export const forkBytes = ({ taskBytes, reductions }: Layout): number => CUTS * (taskBytes + 8 * reductions);
export const partialsAt = ({ taskBytes }: Layout, tasks: number): number => tasks + CUTS * taskBytes;

/** Where they lie if the descriptors' area has room; null: it has not. */
export function forkRoom(layout: Layout): number | null {
  const at = TEMPLATE + 64 * Math.ceil(layout.bytes / 64);
  return at + forkBytes(layout) <= TEMPLATE + 2 * MOST_DESCRIPTOR ? at : null;
}

/** Share every cut that may be shared, however little it is. For tests. */
export const sharing = { always: false };

/** Milliseconds that a task is to take at least, where there are cuts enough; and more than code takes to be compiled. */
const LEAST_TASK = 0.02;
const LONG_MS = 2;

/** Runs the parallel loops of one function: cuts them into tasks, and gives those to the pool where that pays. */
export class ForkRunner {
  readonly #layout: Layout;
  readonly #heap: Heap;
  readonly #pool: () => Pool;
  readonly #kernel: PoolKernel;
  readonly #run: (task: number) => void;
  #trap: unknown = null;
  #call: ForkCall | null = null;
  /** Tasks that are on. */
  #shared = 0;
  /** Milliseconds a turn took, by fork. */
  readonly #costs: number[] = [];

  /** `run` does a task in this thread; `bytes` is the code for others, made when it is needed. */
  constructor(
    layout: Layout,
    heap: Heap,
    pool: () => Pool,
    run: (task: number) => void,
    bytes: () => Uint8Array,
  ) {
    this.#layout = layout;
    this.#heap = heap;
    this.#pool = pool;
    this.#run = run;
    let made: Uint8Array | null = null;
    this.#kernel = {
      get bytes() {
        made ??= bytes();
        return made;
      },
      run: (task) => this.#here(task),
      mayTrap: true,
      signs: () => this.#signs(),
    };
  }

  /** Runs `body`, whose forks come here. */
  during<R>(call: ForkCall, body: () => R): R {
    this.#call = call;
    this.#trap = null;
    try {
      return body();
    } finally {
      this.#call = null;
    }
  }

  fork(number: number, count: number, mustOrder: boolean): void {
    const call = this.#call ?? unreachable("njit: a fork of no call");
    const turns = count >>> 0;
    const cuts = Math.min(turns, CUTS);
    const run = call.runs[number];
    run.turns += turns;
    run.ordered &&= mustOrder;
    const mayShare = !mustOrder && !call.inOrder[number];
    if (mayShare && sharing.always) {
      this.#share(number, 0, cuts, 1, turns);
      return;
    }
    let next = 0;
    let known = this.#costs[number] ?? null;
    // Each piece is twice as long as the one before: V8 replaces slow first code between calls.
    for (let piece = 1; next < cuts; piece *= 2) {
      const left = known === null ? 0 : (known * turns * (cuts - next)) / cuts;
      const pays = mayShare && cuts - next > 1 && left * 1e6 > WORTH_SHARING.walk;
      if (pays && this.#pool().threads > 1) {
        this.#share(number, next, cuts, this.#taskSize(left, cuts - next), turns);
        return;
      }
      const start = performance.now();
      const to = Math.min(cuts, next + piece);
      this.#write(0, number, next, to, turns);
      this.#here(call.tasks);
      this.#settle(1);
      const time = performance.now() - start;
      // The first piece of all may have waited for its code to be compiled.
      if (next > 0 || this.#costs[number] !== undefined || time > LONG_MS) {
        known = (time * cuts) / (to - next) / turns;
      }
      next = to;
    }
    if (known !== null) this.#costs[number] = known;
  }

  /** Cuts a task, where all of them would take so long: some for each thread, and none too short. */
  #taskSize(milliseconds: number, cuts: number): number {
    const least = Math.max(1, Math.floor((LEAST_TASK * cuts) / milliseconds));
    return Math.min(least, Math.max(1, Math.floor(cuts / (4 * this.#pool().threads))));
  }

  #share(number: number, from: number, to: number, size: number, turns: number): void {
    let tasks = 0;
    for (let c = from; c < to; c += size) this.#write(tasks++, number, c, Math.min(to, c + size), turns);
    this.#shared = tasks;
    const run = this.#call!.runs[number];
    const pool = this.#pool();
    // Afterwards there may be one, where workers came late.
    const { threads } = pool;
    run.threads = Math.max(run.threads, threads);
    run.shared += tasks;
    const start = performance.now();
    try {
      pool.run(this.#kernel, this.#call!.tasks, this.#layout.taskBytes, tasks);
    } finally {
      this.#shared = 0;
    }
    const share = (to - from) / Math.min(turns, CUTS);
    this.#costs[number] = ((performance.now() - start) * threads) / share / turns;
    this.#settle(tasks);
  }

  #write(task: number, fork: number, from: number, to: number, turns: number): void {
    const { view } = this.#heap;
    const at = this.#call!.tasks + task * this.#layout.taskBytes;
    view.setInt32(at + FAILURE.site, 0, true);
    view.setInt32(at + TASK.d, TEMPLATE, true);
    view.setInt32(at + TASK.fork, fork, true);
    view.setInt32(at + TASK.from, from, true);
    view.setInt32(at + TASK.to, to, true);
    view.setInt32(at + TASK.turns, turns | 0, true);
    view.setInt32(at + TASK.beat, 0, true);
    view.setInt32(at + TASK.end, ENDS.none, true);
  }

  /** A task in this thread. Why it traps stands in it. */
  #here(task: number): void {
    try {
      this.#run(task);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError) && !(error instanceof Stopped)) this.#trap ??= error;
    }
  }

  /** The first failure of the tasks, if there is one, is the call's. */
  #settle(tasks: number): void {
    const { view } = this.#heap;
    const { tasks: first, watch } = this.#call!;
    let isDone = true;
    for (let k = 0; k < tasks; k++) {
      const at = first + k * this.#layout.taskBytes;
      const site = view.getInt32(at + FAILURE.site, true);
      if (site !== 0) {
        view.setInt32(TEMPLATE + HEAD.site, site, true);
        view.setFloat64(TEMPLATE + HEAD.index, view.getFloat64(at + FAILURE.index, true), true);
        throw new Stopped();
      }
      if (view.getInt32(at + TASK.end, true) !== ENDS.done) isDone = false;
    }
    if (watch?.cancelled) throw new Stopped();
    if (isDone) return;
    throw this.#trap ?? unreachable("njit: a task ended without a word");
  }

  /** While this thread waits for others: how far they are; and are they still wanted? */
  #signs(): number {
    const { view } = this.#heap;
    const { tasks, watch } = this.#call!;
    if (watch?.isOver()) view.setInt32(TEMPLATE + HEAD.stop, -1, true);
    let beats = 0;
    for (let k = 0; k < this.#shared; k++) {
      beats += view.getInt32(tasks + k * this.#layout.taskBytes + TASK.beat, true);
    }
    return beats;
  }
}
