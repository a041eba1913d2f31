/**
 * What the parts of `strided/chunked` say to each other: a plan as plain JSON, what a task is and reports, what a run is
 * given, and what an executor does. Nothing here runs. A task is (plan, operation, index) and may be run any number of times:
 * it reads whole chunks and writes whole chunks under their final names, so that presence is proof.
 */
import type { DType } from "../dtype.ts";
import type { ZarrSource } from "../io/zarr-group.ts";

/** The version of the plan's format: others are refused. */
export const PLAN_VERSION = 1;

/* The plan ---------------------------------------------------------------------------------------------- */

/** Where arrays lie. Folders are absolute paths; `given` are objects of this process that only an in-process run can reach. */
export type StoreSpec =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "http"; readonly url: string }
  | { readonly kind: "given"; readonly name: string };

/** An array that a plan reads or writes. */
export interface ArraySpec {
  /** A key of `Plan.stores`. */
  readonly store: string;
  /** Within the store. Those of the work store lie below the first 16 digits of the plan's hash. */
  readonly path: string;
  /** Is it read, kept between operations, or the result? */
  readonly role: "input" | "work" | "output";
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** The kind of the elements. */
  readonly dtype: DType;
  /** What is read and written as a whole. */
  readonly chunks: readonly number[];
  /** How chunks are packed. */
  readonly compressor?: string | null;
  /** Rows of its chunks can be read alone: they lie as they are, in a folder. */
  readonly isPlain?: boolean;
}

export type OperationKind =
  | "blockwise"
  | "fold"
  | "combine"
  | "rechunk"
  | "matmul"
  | "scan"
  | "blocks"
  | "histogram"
  | "quantile";

/** A step of a plan: tasks that do not wait for each other. */
export interface OperationSpec {
  /** Unique in the plan, such as "3-fold"; messages of a queue name it. */
  readonly id: string;
  /** What tasks do, in a word. */
  readonly kind: OperationKind;
  /** For people: what was fused into it. */
  readonly label: string;
  /** Names of arrays (keys of `Plan.arrays`) that it reads. */
  readonly inputs: readonly string[];
  /** The one array that it writes. */
  readonly output: string;
  /** What one task writes of the output, an axis at a time: multiples of its chunks (or all of an axis). */
  readonly block: readonly number[];
  /** Tasks are 0 … tasks - 1, the blocks of the output in row-major order. */
  readonly tasks: number;
  /** Bytes that one task may need at its worst, without what a process needs before it has done anything. */
  readonly projected: number;
  /** Bytes that all tasks read, chunks as they are without compression. */
  readonly reads: number;
  /** Bytes that all tasks write. */
  readonly writes: number;
  /** Ids of operations that must be complete before a task of this one begins. */
  readonly after: readonly string[];
  /** What a task computes: nobody's business but that of the task. */
  readonly work: unknown;
}

/** All of it is JSON: `JSON.parse(JSON.stringify(plan))` is the same plan. `checkPlan` reads one that came from outside. */
export interface Plan {
  /** Of the format. */
  readonly version: typeof PLAN_VERSION;
  /** SHA-256 of the canonical JSON of all other fields, 64 hexadecimal digits. */
  readonly hash: string;
  /** Bytes that one process may use, reserved ones included. */
  readonly memory: number;
  /** Bytes of it that a process needs before it has done anything. */
  readonly reserved: number;
  /** For how many workers tasks were cut. */
  readonly workers: number;
  /** Where arrays lie, by name. */
  readonly stores: Readonly<Record<string, StoreSpec>>;
  /** What is read and written, by name. */
  readonly arrays: Readonly<Record<string, ArraySpec>>;
  /** In an order in which they can run. */
  readonly operations: readonly OperationSpec[];
  /** The array that is the result. */
  readonly result: string;
}

/* A run ------------------------------------------------------------------------------------------------- */

/** What a process may open, whatever a plan says. */
export interface AllowList {
  /** Folders: a store lies in one of them or is one of them. */
  readonly folders: readonly string[];
  /** Beginnings of URLs, each ending with a slash or being the whole address. */
  readonly urls: readonly string[];
  /** Stores that only this process knows, by the names that the plan uses. */
  readonly given?: ReadonlyMap<string, ZarrSource>;
}

/** What tasks of a run may open and use. */
export interface RunContext {
  /** What may be opened. */
  readonly allow: AllowList;
  /** Bytes that this process may use; default the plan's. The heap is held to it. */
  readonly memory?: number;
  /** Calls the run off. */
  readonly signal?: AbortSignal;
  /** Seconds after which a function of blocks ends its task; default never: processes are killed from outside. */
  readonly timeLimit?: number;
}

/** What a task did. */
export interface TaskReport {
  /** The operation's id. */
  readonly operation: string;
  /** The task's number, from 0. */
  readonly index: number;
  /** Bytes of chunks that were read, unpacked. */
  readonly read: number;
  /** Bytes of chunks that were written, before they were packed. */
  readonly written: number;
  /** The most bytes of the heap that were in use at one time, beyond those in use when it began. */
  readonly peak: number;
  /** How long it took. */
  readonly milliseconds: number;
}

/** `runTask(plan, operation, index, context)` in task.ts: an operation's id and a task's index. */
export type RunTask = (
  plan: Plan,
  operation: string,
  index: number,
  context: RunContext,
) => Promise<TaskReport>;

/** `pendingTasks(plan, operation, context)` in resume.ts: indices of tasks of which some chunk is not there, ascending. */
export type PendingTasks = (plan: Plan, operation: string, context: RunContext) => Promise<readonly number[]>;

/** `prepare(plan, context, { resume, overwrite })` in resume.ts makes the arrays that are not there; with `resume` it may be called by
 * many processes at once, and refuses an output that belongs to another plan. */
export interface PrepareOptions {
  readonly resume?: boolean;
  readonly overwrite?: boolean;
}

/* Progress ---------------------------------------------------------------------------------------------- */

/** What a run tells while it goes on. */
export type ProgressEvent =
  /** An operation begins; `pending` of its `tasks` have still to be run. */
  | {
      readonly kind: "operation";
      readonly operation: string;
      readonly tasks: number;
      readonly pending: number;
    }
  | { readonly kind: "task"; readonly report: TaskReport; readonly worker?: string }
  | {
      readonly kind: "retry";
      readonly operation: string;
      readonly index: number;
      readonly attempt: number;
      readonly reason: string;
    }
  | { readonly kind: "worker"; readonly worker: string; readonly state: "joined" | "left" }
  | { readonly kind: "end"; readonly report: RunReport };

/** Is told of everything that a run does. */
export type OnProgress = (event: ProgressEvent) => void;

/** What a run did. */
export interface RunReport {
  /** The plan's hash. */
  readonly plan: string;
  /** Tasks that were run now. */
  readonly ran: number;
  /** Tasks whose chunks were there already. */
  readonly skipped: number;
  /** How often a task was tried again. */
  readonly retries: number;
  /** Bytes of chunks that were read, unpacked. */
  readonly read: number;
  /** Bytes of chunks that were written, before they were packed. */
  readonly written: number;
  /** The largest peak of a task. */
  readonly peak: number;
  /** How long it took. */
  readonly milliseconds: number;
}

/** Runs what is pending of a plan that was prepared, operation after operation, and settles when all of it is there. */
export interface Executor {
  /** As messages call it. */
  readonly name: string;
  /** Can stores of kind "given" be reached? True only where tasks run in this very process. */
  readonly inProcess?: boolean;
  /** Do several processes run the same plan this way? Then arrays that are there are the others', and stay. */
  readonly joins?: boolean;
  /** Throws where it cannot run at all: asked before anything is made. */
  ready?(): Promise<void>;
  /** Runs all tasks that are not done, and tells of them. */
  run(plan: Plan, context: RunContext, onProgress: OnProgress): Promise<RunReport>;
}
