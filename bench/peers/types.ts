/**
 * What a workload, a contestant and an adapter are. A workload is data: one operation, its inputs and its result. An
 * adapter says, for each operation it has, how its library's users would write it, and for the others why it has not.
 */
export const opNames = [
  "add",
  "exp",
  "tanhSquare",
  "everySecond",
  "transposedAdd",
  "reversedAdd",
  "sum",
  "max",
  "softmax",
  "logsumexp",
  "matmul",
  "matmulTransposed",
  "permuteCopy",
  "cast",
  "ggmlCopy",
  "gelu",
  "addNew",
  "compile",
  "trainMlp",
  "trainConvnet",
] as const;
export type Op = (typeof opNames)[number];

export type DTypeName = "f32" | "f64" | "i32" | "f16";
/** Half floats are their bits. */
export type Values = Float32Array | Float64Array | Int32Array | Uint16Array;

export interface Operand {
  readonly shape: readonly number[];
  readonly dtype: DTypeName;
  /** Elements are this many times a number in [-2, 2). */
  readonly scale: number;
}

/** One operation on inputs that every contestant makes for itself, the same ones to the bit. */
export interface Task {
  readonly op: Op;
  readonly inputs: readonly Operand[];
  readonly out: { readonly shape: readonly number[]; readonly dtype: DTypeName };
  /** The folded axis of a reduction; null folds all. */
  readonly axis?: number | null;
  /** The order of axes of a permuted copy. */
  readonly axes?: readonly number[];
  /** A result may differ from the reference by this much, times its magnitude where that is above 1. */
  readonly tolerance: number;
}

export type Group =
  | "elementwise"
  | "strides"
  | "reductions"
  | "matmul"
  | "shapes"
  | "copies"
  | "kernels"
  | "training"
  | "start";

export interface Workload extends Task {
  readonly id: string;
  readonly group: Group;
  readonly title: string;
  /**
   * call: the operation again and again. import: a fresh process, from nothing to a first result. memory: a fresh process,
   * its peak after some calls.
   */
  readonly measure: "call" | "import" | "memory";
  /** Bytes that must move, read and written once each. */
  readonly bytes: number;
  /** Multiplications and additions of a matrix product; 0 elsewhere. */
  readonly flops: number;
}

/** The fastest of several forms of one loop, and milliseconds a call of each in the trial, the least. */
export interface Choice {
  readonly form: string;
  readonly tried: Readonly<Record<string, number>>;
}

/** A workload made ready by an adapter. */
export interface Prepared {
  /** The work. A promise is waited for. */
  run(): void | Promise<void>;
  /** Runs if need be, and gives the result's elements in row-major order. */
  read(): Values | Promise<Values>;
  /** Where there are several forms: verifies all of them, and goes on with the fastest. */
  choose?(): Choice;
  dispose?(): void;
}

export interface About {
  readonly version: string;
  /** How it is set up: backend, threads, what a call includes. */
  readonly setup: string;
}

export type Prepare = (task: Task, inputs: readonly Values[]) => Prepared | Promise<Prepared>;
/** How an operation is written, or why it is not there. */
export type Entry = Prepare | string;

export interface Adapter {
  /** Loads the library: nothing of it is imported before. */
  start(): Promise<About>;
  /** Waits for what comes up by itself after the start, such as threads. */
  settle?(): Promise<unknown>;
  readonly ops: Readonly<Record<Op, Entry>>;
}
