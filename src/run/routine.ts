/**
 * Routines: code that no user function describes (a gather, a merge, a butterfly), written by hand against the
 * assembler. A routine is one module with an export `run`, called with the address of a task: i32 words that the
 * routine's own file gives a meaning. Tasks of one call are independent, and large calls share them among threads.
 */
import type { DType } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import type { Heap } from "../memory/heap.ts";
import type { View } from "../view/view.ts";
import type { ModuleBuilder } from "../wasm/assembler/assembler.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import type { RoutineOptions } from "../wasm/routines/routine.ts";
import type { Strided } from "./call.ts";
import { Scratch, TaskQueue } from "./descriptors.ts";
import type { GemmKernels } from "./gemm.ts";
import { instantiate, type KernelCache } from "./kernel.ts";
import type { Pool, PoolKernel } from "./pool.ts";
import { mayShare } from "./split.ts";
import type { Walker } from "./walker.ts";

/** What a routine works with. */
export interface Device {
  readonly heap: Heap;
  readonly routines: Routines;
  readonly kernels: KernelCache;
  readonly walker: Walker;
  readonly products: GemmKernels;
}

/** What is asked of a routine: numbers and names, what it reads, what it writes. */
export interface Asked<P> {
  /** As the user called it. */
  readonly operation: string;
  readonly params: P;
  readonly inputs: readonly Strided[];
  readonly outs: readonly Strided[];
}

/**
 * Work that is asked for by name. The library knows what it means; how it is cut into tasks, and for which code, is the
 * business of the device: see src/routines. Outputs are made by the caller, in memory that is in nobody's way.
 */
export interface Routine<P, R = void> {
  readonly name: string;
  run(device: Device, asked: Asked<P>): R;
}

/** A block of the heap for as long as `body` runs. */
export function withScratch<R>(
  { heap }: Device,
  operation: string,
  bytes: number,
  body: (address: number) => R,
): R {
  const address = heap.alloc(bytes, operation);
  try {
    return body(address);
  } finally {
    heap.free(address);
  }
}

export type EmitRoutine = (options: RoutineOptions) => ModuleBuilder;

/** Words of one task: addresses, counts and strides in bytes. */
export type Task = readonly number[];

/** What a call is for, as its caller knows it: for whoever listens. */
export interface RoutineAbout {
  /** As the user called it. */
  readonly operation: string;
  readonly inputs?: readonly RoutineOperand[];
  readonly out?: RoutineOperand;
  /** Bytes read and written, where they are not those of the operands; null where one call of several does a part. */
  readonly bytes?: number | null;
}
interface RoutineOperand {
  readonly dtype: DType;
  readonly frame: View;
}

/** A call, as whoever listens hears of it. */
export interface RoutineCall {
  readonly name: string;
  readonly tasks: number;
  /** Were the tasks shared among threads? */
  readonly shared: boolean;
  /** Was the code made for this call? */
  readonly isNew: boolean;
  /** Compiling included. */
  readonly milliseconds: number;
  /** Of these, spent on making the code. */
  readonly compileTime: number;
  readonly about: RoutineAbout | null;
  readonly bytes: Uint8Array;
}

export class Routines {
  readonly #heap: Heap;
  readonly #pool: Pool;
  readonly #kernels: KernelCache;
  readonly #scratch: Scratch;
  readonly #made = new Map<string, PoolKernel>();
  /** Hears of every call; null while nobody listens. */
  tell: ((call: RoutineCall) => void) | null = null;

  constructor(heap: Heap, pool: Pool, kernels: KernelCache) {
    this.#heap = heap;
    this.#pool = pool;
    this.#kernels = kernels;
    this.#scratch = new Scratch(heap);
  }

  /** Threads that would share a call now: how many pieces are worth making. */
  get threads(): number {
    return this.#pool.threads;
  }

  /** Would a call of so many nanoseconds be shared? */
  isShared(nanoseconds: number): boolean {
    return mayShare(nanoseconds) && this.#pool.threads > 1;
  }

  /**
   * Runs all tasks, which all have the same number of words, in no particular order. `name` stands for the code: two
   * calls with one name must emit the same. `nanoseconds` is about what one thread would need for all of them.
   */
  run(
    name: string,
    emit: EmitRoutine,
    tasks: readonly Task[],
    nanoseconds: number,
    about?: RoutineAbout,
  ): void {
    if (tasks.length === 0) return;
    const known = this.#made.size;
    const start = this.tell === null ? 0 : performance.now();
    const routine = this.#find(name, emit);
    const isNew = this.#made.size > known;
    const compileTime = isNew && this.tell !== null ? performance.now() - start : 0;
    const shared = tasks.length > 1 && this.isShared(nanoseconds);
    const pool = shared ? this.#pool : null;
    const words = tasks[0].length;
    const queue = new TaskQueue(this.#scratch, 4 * words, false);
    for (const task of tasks) {
      if (task.length !== words)
        unreachable(`${name}: a task of ${task.length} words among those of ${words}`);
      if (queue.isFull) queue.run(routine, pool);
      this.#scratch.words.set(task, queue.next());
    }
    queue.run(routine, pool);
    this.tell?.({
      name,
      tasks: tasks.length,
      shared,
      isNew,
      compileTime,
      about: about ?? null,
      milliseconds: performance.now() - start,
      bytes: routine.bytes,
    });
  }

  #find(name: string, emit: EmitRoutine): PoolKernel {
    const { simd } = this.#kernels;
    const key = simd ? name : `${name} scalar`;
    let routine = this.#made.get(key);
    if (routine === undefined) {
      const features = detectFeatures();
      const options = {
        shared: this.#heap.shared,
        simd: simd && features.simd,
        fma: simd && features.relaxedSimd,
      };
      routine = instantiate(emit(options).toBytes(), this.#heap);
      this.#made.set(key, routine);
    }
    return routine;
  }
}
