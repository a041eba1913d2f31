/**
 * `explain(() => …)`: runs the function and reports everything that ran inside: the source, the program after each pass,
 * the loops, how each operand was walked, vectors, threads, compile time, bytes and speed, copies and fallbacks with
 * their reasons. `table()` is the iteration table, `toJSON()` the same as data.
 */
import { engine, type Listener } from "../engine.ts";
import { describe, fail, shown } from "../errors.ts";
import { checkThunk, readOptions } from "../ops/arguments.ts";
import type { NjitTrace } from "../run/whole.ts";
import { isTensor, stridedOf } from "../tensor.ts";
import { routineOperand } from "./facts.ts";
import { type Iteration, iterationOf } from "./iteration.ts";
import { Recorder } from "./record.ts";
import type { CopyStep, FallbackStep, KernelStep, NjitStep, RoutineStep, Step } from "./steps.ts";
import { iterationTable, readTable, type TableOptions } from "./table.ts";
import { nestText, routinesText, stepsText, withSpans } from "./text.ts";

export type { Access, Iteration, IterationOperand, IterationRow, RowOptions } from "./iteration.ts";
export type { CopyStep, FallbackStep, KernelStep, NjitStep, RoutineStep, Step } from "./steps.ts";
export type { TableOptions } from "./table.ts";

/** What ran inside a function, for people and for programs. */
export class Report<R = unknown> {
  /** What happened, in order. */
  readonly steps: readonly Step[];
  /** What the function returned. */
  readonly result: R;
  readonly #recorder: Recorder;

  constructor(result: R, steps: readonly Step[], recorder: Recorder) {
    this.result = result;
    this.steps = steps;
    this.#recorder = recorder;
  }

  /** The kernels that ran. */
  get kernels(): KernelStep[] {
    return this.steps.filter((s): s is KernelStep => s.kind === "kernel");
  }
  /** Copies that were made although nobody asked for one, and why. */
  get copies(): CopyStep[] {
    return this.steps.filter((s): s is CopyStep => s.kind === "copy");
  }
  /** Functions that were called instead of compiled, and why. */
  get fallbacks(): FallbackStep[] {
    return this.steps.filter((s): s is FallbackStep => s.kind === "fallback");
  }

  /** Code written by hand that ran: gathers, sorts, transforms. */
  get routines(): RoutineStep[] {
    return this.steps.filter((s): s is RoutineStep => s.kind === "routine");
  }

  /** Calls of njit functions: their loops, typed source and code. */
  get functions(): NjitStep[] {
    return this.steps.filter((s): s is NjitStep => s.kind === "njit");
  }

  /** The iteration table of a kernel, by default of the last one. */
  table(which: number | (TableOptions & { readonly kernel?: number }) = {}): string {
    const options = readTable(typeof which === "number" ? { kernel: which } : which);
    if (options.kernel === undefined && this.kernels.length === 0 && this.routines.length > 0)
      return routinesText(this.routines);
    return iterationTable(this.#iteration("table", options.kernel), options);
  }

  /** What the table shows, as data: rows are made when asked for. */
  iteration(kernel = -1): Iteration {
    return this.#iteration("iteration", kernel);
  }

  #kernel(operation: string, kernel: number): KernelStep {
    const { kernels, routines } = this;
    const step = Number.isInteger(kernel) ? kernels.at(kernel) : undefined;
    if (step !== undefined) return step;
    const count = "Count from 0; -1 is the last one.";
    if (!Number.isInteger(kernel))
      return fail("value", operation, `the kernel is ${describe(kernel)}.`, count);
    const ran = `${kernels.length} ran${routines.length === 0 ? "" : `, and ${routines.length} written by hand (see routines)`}`;
    const remedy =
      kernels.length > 0 ? count : "Explain a function that computes something element by element.";
    return fail("value", operation, `no such kernel: ${ran}.`, remedy);
  }

  #iteration(operation: string, kernel = -1): Iteration {
    return iterationOf(this.#recorder.traces.get(this.#kernel(operation, kernel))!);
  }

  /**
   * A call of an njit function once more, line by line: variables that were set, elements that were read and written. It is
   * computed anew from what the arrays held before.
   *
   * @param options `call`: which of `functions`, counted from 0, default -1, the last; `most`: rows, default 10,000
   * @returns the arrays as they were, and a row for each line that had its turn
   * @throws TensorError where no such call ran, or its arrays were larger than 1 MiB
   * @example
   * const total = njit((a) => {
   *   let sum = 0;
   *   for (let i = 0; i < a.size; i++) sum += a.get(i);
   *   return sum;
   * });
   * const { rows } = explain(() => total(tensor([5, 6]))).trace();
   * rows.map((row) => row.line); // → [2, 3, 3, 3, 3, 4]
   */
  trace(options: NjitTraceOptions = {}): NjitTrace {
    const { call = -1, most = 10_000 } = readOptions("trace", options, "{ most: 100 }", ["call", "most"]);
    const { functions } = this;
    const step = Number.isInteger(call) ? functions.at(call) : undefined;
    if (step === undefined) {
      const count =
        functions.length === 0 ? "Explain a call of an njit function." : "Count from 0; -1 is the last one.";
      return fail("value", "trace", `there is no call ${shown(call)}: ${functions.length} ran.`, count);
    }
    if (!(Number.isInteger(most) && most >= 0))
      return fail("value", "trace", `most is ${shown(most)}.`, "Give a whole number of rows.");
    const { trace } = this.#recorder.calls.get(step)!;
    if (trace === null)
      return fail("value", "trace", "the arrays are larger than 1 MiB.", "Explain a call with smaller ones.");
    return trace(most);
  }

  /** The WebAssembly of a kernel as text, by default of the last one. */
  wat(kernel = -1): string {
    return this.#kernel("wat", kernel).wat ?? "";
  }

  /** The program of a kernel after each pass; at first with the piece of the function each line came from. */
  passes(kernel = -1): string {
    const step = this.#kernel("passes", kernel);
    return step.passes
      .map(
        ({ name, says, text }, i) => `── ${name}: ${says}\n${i === 0 ? withSpans(text, step.spans) : text}`,
      )
      .join("\n");
  }

  /** The loops of a kernel as they were asked for and as they were walked, with the steps of each operand. */
  loops(kernel = -1): string {
    const step = this.#kernel("loops", kernel);
    const names = step.operands.map((o) => o.name);
    const { before, after } = step.nest;
    return `── as asked for, steps in elements\n${nestText(before, names)}\n── as walked\n${nestText(after, names)}`;
  }

  /** Every step in a few lines. */
  toString(): string {
    const ran = this.steps.length === 0 ? NO_STEPS : stepsText(this.steps);
    return this.result instanceof Promise ? `${ran}\n\n${PROMISE}` : ran;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }

  /** The steps, and what the function returned in a few words. `wat: false` leaves the long WebAssembly texts out. */
  toJSON(options: ReportJSONOptions | string = {}): { steps: readonly Step[]; result: unknown } {
    // JSON.stringify gives a key.
    const { wat = true } =
      typeof options === "object" ? readOptions("toJSON", options, "{ wat: false }", ["wat"]) : {};
    return { steps: wat ? this.steps : this.steps.map(withoutWat), result: summary(this.result) };
  }
}

/** The options of `trace`. */
export interface NjitTraceOptions {
  /** Which of the report's `functions`, counted from 0; default -1, the last. */
  readonly call?: number;
  /** Rows at the most, default 10,000. */
  readonly most?: number;
}

/** The options of `toJSON`. */
export interface ReportJSONOptions {
  /** With the WebAssembly of each step as text; default true. */
  readonly wat?: boolean;
}

const NO_STEPS =
  "No kernel ran: only views were made, or elements were made, read or written one by one from JavaScript.";
const PROMISE = "The function returned a promise: what runs after its first await is not in this report.";

/** Without asking for the text, which is made when it is asked for. */
function withoutWat(step: Step): Step {
  const { wat: _, ...others } = Object.getOwnPropertyDescriptors(step) as Record<string, PropertyDescriptor>;
  return Object.defineProperties({}, others) as Step;
}

/** A result in JSON: tensors as what they are, not their elements. */
function summary(result: unknown, depth = 0): unknown {
  if (isTensor(result)) return { ...routineOperand("", stridedOf(result)), name: "tensor" };
  if (typeof result === "bigint" || typeof result === "function") return String(result);
  if (typeof result !== "object" || result === null) return result;
  const isLong = ArrayBuffer.isView(result) || result instanceof Promise || result instanceof Report;
  if (depth > 2 || isLong) return result.constructor?.name ?? "object";
  if (Array.isArray(result)) return result.slice(0, 24).map((r) => summary(r, depth + 1));
  const entries = Object.entries(result).slice(0, 24);
  return Object.fromEntries(entries.map(([name, value]) => [name, summary(value, depth + 1)]));
}

/** Who records now: an explain inside an explain takes its part of the same record. */
let current: { readonly recorder: Recorder; readonly listener: Listener } | null = null;

/**
 * Runs `fn`, on these arguments if it takes some, and reports what ran inside.
 *
 * @param fn the function
 * @param args what it is called with
 * @returns a report: the function's result, and every kernel, copy and fallback on the way
 * @example
 * const report = explain(() => tensor([1, 2]).map((x) => x + 1));
 * report.kernels.length; // → 1
 * report.result; // → f32 [2, 3]
 */
export function explain<A extends readonly unknown[], R>(fn: (...args: A) => R, ...args: A): Report<R> {
  checkThunk("explain", fn, "explain(() => a.map(x => x + 1))");
  const e = engine();
  const before = e.listener;
  if (current !== null && before === current.listener) {
    const { recorder } = current;
    const from = recorder.steps.length;
    const result = fn(...args);
    return new Report(result, recorder.steps.slice(from), recorder);
  }
  const recorder = new Recorder();
  const outer = current;
  const listener: Listener = (event) => {
    before?.(event);
    recorder.hear(event);
  };
  e.listener = listener;
  current = { recorder, listener };
  try {
    const result = fn(...args);
    return new Report(result, recorder.steps, recorder);
  } finally {
    e.listener = before;
    current = outer;
  }
}
