/**
 * The engine owns what has identity: the heap, the scopes of open `scope` calls, and who is listening (explain).
 * Importing strided makes nothing; the one engine of this thread is made at first use.
 */
import type { DefaultDType } from "./defaults.ts";
import { checkDType, type DType, isFloat } from "./dtype.ts";
import { describe, fail, failKey, isRevoked, written } from "./errors.ts";
import { Heap, type HeapOptions } from "./memory/heap.ts";
import { type Disposes, ScopeStack } from "./memory/scope.ts";
import type { Storage } from "./memory/storage.ts";
import type { Call, Executor, Form, Plan, Strided } from "./run/call.ts";
import { Interpreter, WasmExecutor } from "./run/executor.ts";
import { GemmKernels } from "./run/gemm.ts";
import { KernelCache } from "./run/kernel.ts";
import { PlanCache } from "./run/plans.ts";
import { MOST_THREADS, Pool } from "./run/pool.ts";
import { FoldRunner } from "./run/reduce.ts";
import { type RoutineCall, Routines } from "./run/routine.ts";
import { Walker } from "./run/walker.ts";
import type { WholeCall } from "./run/whole.ts";

/** One thing that happens, as `explain` hears it. */
export type Event =
  /** A call is about to run, or has run, as its plan says. */
  | {
      readonly kind: "begins" | "ran";
      readonly call: Call;
      readonly plan: Plan;
      readonly out: Strided;
      /** What making the plan took; null: it was there before. */
      readonly planning: Planning | null;
    }
  /** Code written by hand has run. */
  | ({ readonly kind: "routine" } & RoutineCall)
  /** A whole function with loops has run. */
  | ({ readonly kind: "njit" } & WholeCall)
  | { readonly kind: "copy"; readonly operation: string; readonly bytes: number; readonly why: string }
  | {
      readonly kind: "fallback";
      readonly operation: string;
      readonly backend: "function" | "interpreter";
      readonly why: string;
    };

/** Kernels that were compiled for a plan, and milliseconds in all. */
export interface Planning {
  readonly compiled: number;
  readonly milliseconds: number;
}

export type Listener = (event: Event) => void;

/** Notes what is computed, in the order it happens: calls with their outputs, and views, which compute nothing. */
export interface Recorder {
  ran(call: Call, plan: Plan, out: Strided): void;
  viewed(operation: string, of: Strided, made: Strided): void;
  /** Something is about to be written, which may be refused. */
  writes?(operation: string, out: Strided): void;
  /** An operation that counts as one, whatever it is made of. */
  noted?(operation: Noted): void;
  /** Elements are about to be handed out, or set by something that is no call. */
  touched?(operation: string, of: Strided): void;
  /** A generator is about to go on from this state, which changes then. */
  draws?(state: GeneratorState): void;
  /** What runs has run before: what it left behind, such as statistics, is there and is not to be left once more. */
  readonly isAgain?: boolean;
}

/** How far a generator has come. */
export interface GeneratorState {
  /** In its stream, in groups of 16 words. */
  at: number;
  /** Generators that were made of it. */
  spawned: number;
}

/** An operation by its name: what it read, what it wrote, and what else there is to know. */
export interface Noted {
  readonly name: string;
  /** As the user called it. */
  readonly operation: string;
  readonly inputs: readonly Strided[];
  readonly outs: readonly Strided[];
  readonly facts: object;
}

/** Takes calls instead of running them: while a function is traced nothing is computed. */
export interface Tracer {
  execute<C extends Call>(form: Form<C>, call: C): Strided;
  executeSeveral<C extends Call>(form: Form<C>, call: C, outs: readonly Strided[]): Strided[];
  /** Memory for a tensor that is about to be filled. */
  storage(operation: string, bytes: number, zeroed: boolean): Storage;
  /** A result that several calls make: one step, which is done by `again` once the operand is there. */
  whole(operation: string, t: Strided, again: (t: Strided) => Strided): Strided;
}

export class Engine {
  readonly heap: Heap;
  readonly pool: Pool;
  readonly kernels: KernelCache;
  readonly walker: Walker;
  readonly routines: Routines;
  /** The products of matrices. */
  readonly products: GemmKernels;
  /** What calls came to before. */
  readonly plans = new PlanCache();
  readonly compiled: Executor;
  readonly interpreter: Interpreter;
  /** What work is given to; the interpreter does what it refuses. For tests it may be the interpreter itself. */
  executor: Executor;
  readonly scopes = new ScopeStack<Disposes>();
  /** The operation that what runs now is part of: set by `within` while somebody listens. */
  group: string | null = null;
  /** Who notes what is computed; null: nobody. */
  recorder: Recorder | null = null;
  /** Who takes calls instead; null: they run. */
  tracer: Tracer | null = null;
  #listener: Listener | null = null;

  constructor(options: EngineOptions = {}) {
    this.heap = new Heap(heapOptions(options.maximumBytes));
    this.pool = new Pool(this.heap, options.threads);
    this.kernels = new KernelCache(this.heap, this.pool);
    this.walker = new Walker(this.heap, this.pool);
    this.routines = new Routines(this.heap, this.pool, this.kernels);
    this.products = new GemmKernels(this.heap, this.pool);
    const folds = new FoldRunner(this.heap, this.kernels, this.walker, this.pool);
    this.compiled = new WasmExecutor(this.kernels, this.walker, folds, this.products);
    this.interpreter = new Interpreter(this.heap);
    this.executor = this.compiled;
  }

  /** A number for what plans are made for. */
  get mode(): number {
    return this.kernels.mode + (this.executor === this.compiled ? 0 : 4);
  }

  /** Set while `explain` listens. */
  get listener(): Listener | null {
    return this.#listener;
  }
  set listener(listener: Listener | null) {
    this.#listener = listener;
    this.routines.tell = listener && ((call) => listener({ kind: "routine", ...call }));
  }
}

/** A heap that may grow to 16 MiB or less starts with all of it. */
function heapOptions(maximumBytes: number | undefined): HeapOptions {
  if (maximumBytes === undefined) return {};
  const maximumPages = Math.floor(maximumBytes / 65536);
  return { maximumPages, initialPages: Math.min(256, maximumPages) };
}

/** The settings of the engine. */
export interface EngineOptions {
  /** The heap grows to this many bytes at the most; default 4 GiB. */
  readonly maximumBytes?: number;
  /** Threads that share large operations; default STRIDED_THREADS, or every core. */
  readonly threads?: number;
  /** Whether a function that is called instead of compiled is warned of, once; default true, and never in production. */
  readonly warnings?: boolean;
  /**
   * The float dtype of numbers where none is given: literals, zeros, arange, random and the like. Default "f32". The type
   * has to be told too, see `Defaults`.
   */
  readonly dtype?: DefaultDType;
}

let current: Engine | undefined;
let options: EngineOptions = {};
let numbers: DType = "f32";

export function engine(): Engine {
  current ??= new Engine(options);
  return current;
}

/** The dtype of numbers where none is given. */
export const defaultDType = (): DType => numbers;

/** Runs `fn` as part of a named operation, for those who listen; the outermost name counts: it is what the user wrote. */
export function within<R>(operation: string, fn: () => R): R {
  const e = engine();
  if (e.listener === null || e.group !== null) return fn();
  e.group = operation;
  try {
    return fn();
  } finally {
    e.group = null;
  }
}

let warnings = true;

/** Are warnings wanted? */
export const warns = (): boolean => warnings;

/**
 * Settings of the engine; only before it is first used, all but `warnings`.
 *
 * @param settings `threads`, `maximumBytes`, `dtype`: of numbers where none is given, `warnings`
 * @throws TensorError where threads or maximumBytes come after the first tensor
 * @example
 * zeros([1]);
 * configure({ threads: 4 });
 * // ✗ configure: the engine is already in use.
 * //     Call configure before the first tensor is made, for instance first thing in the program.
 */
export function configure(settings: EngineOptions): void {
  if (typeof settings !== "object" || settings === null || isRevoked(settings)) {
    fail(
      "value",
      "configure",
      `the settings are ${describe(settings)}.`,
      "Give an object such as { maximumBytes: 2 ** 30 }.",
    );
  }
  const names = ["maximumBytes", "threads", "dtype", "warnings"];
  const read: { -readonly [K in keyof EngineOptions]: EngineOptions[K] } = Object.create(null);
  for (const key of Object.keys(settings) as (keyof EngineOptions)[]) {
    if (!names.includes(key)) failKey("configure", key, names);
    const value = settings[key];
    if (value !== undefined) Object.assign(read, { [key]: value });
  }
  const { maximumBytes, threads, dtype } = read;
  if (read.warnings !== undefined && typeof read.warnings !== "boolean") {
    fail(
      "value",
      "configure",
      `warnings is ${describe(read.warnings)}.`,
      "Use { warnings: true } or { warnings: false }.",
    );
  }
  if (dtype !== undefined && !isFloat(checkDType("configure", dtype))) {
    fail("dtype", "configure", `dtype is ${dtype}.`, "Numbers are floats: use f64, f32, bf16 or f16.");
  }
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= MOST_THREADS)) {
    fail(
      "value",
      "configure",
      `threads is ${describe(threads)}.`,
      `Use a whole number from 1 to ${MOST_THREADS}; 1 starts no workers.`,
    );
  }
  if (
    maximumBytes !== undefined &&
    !(Number.isInteger(maximumBytes) && maximumBytes >= 262144 && maximumBytes <= 2 ** 32)
  ) {
    fail(
      "value",
      "configure",
      `maximumBytes is ${written(maximumBytes)}.`,
      "Use a whole number from 262144 to 4294967296.",
    );
  }
  if (current !== undefined && (maximumBytes !== undefined || threads !== undefined)) {
    fail(
      "value",
      "configure",
      "the engine is already in use.",
      "Call configure before the first tensor is made, for instance first thing in the program.",
    );
  }
  options = { ...options, ...read };
  warnings = read.warnings ?? warnings;
  if (dtype !== undefined) numbers = dtype;
}

/** What the heap holds. */
export interface MemoryReport {
  /** Bytes held by live tensors, rounded up to blocks of 64. */
  readonly bytes: number;
  /** Tensors with memory of their own; views share. */
  readonly tensors: number;
  /** The most bytes ever held at once. */
  readonly peakBytes: number;
  /** Bytes the heap has taken from the system so far; it never shrinks. */
  readonly capacityBytes: number;
  /** Bytes the heap may grow to. */
  readonly maximumBytes: number;
}

/**
 * What the heap holds now.
 *
 * @returns bytes and counts
 * @example
 * const before = memory().tensors;
 * const t = zeros([100]);
 * memory().tensors - before; // → 1
 */
export function memory(): MemoryReport {
  const e = engine();
  const s = e.heap.stats();
  return {
    bytes: s.bytesInUse,
    tensors: s.blocks,
    peakBytes: s.peakBytes,
    capacityBytes: s.capacityBytes,
    maximumBytes: s.maximumBytes,
  };
}

/**
 * Resolves when the worker threads are up. Nobody has to wait: until then the calling thread works alone.
 *
 * @returns a promise of nothing
 * @example
 * await ready();
 * zeros([2]).size; // → 2
 */
export async function ready(): Promise<void> {
  await engine().pool.ready();
}
