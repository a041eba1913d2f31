/**
 * `explain(() => …)`: runs the function and reports everything that ran inside: the source, the program after each pass,
 * the loops, how each operand was walked, vectors, threads, compile time, bytes and speed, copies and fallbacks with
 * their reasons. `table()` is the iteration table, `toJSON()` the same as data.
 */
import { engine } from "../engine.ts";
import { describe, fail } from "../errors.ts";
import { type Iteration, iterationOf, type Trace } from "./iteration.ts";
import { Recorder } from "./record.ts";
import type { CopyStep, FallbackStep, KernelStep, RoutineStep, Step } from "./steps.ts";
import { checkTable, iterationTable, type TableOptions } from "./table.ts";
import { nestText, stepText, withSpans } from "./text.ts";

export type { Access, Iteration, IterationOperand, IterationRow } from "./iteration.ts";
export type { CopyStep, FallbackStep, KernelStep, RoutineStep, Step } from "./steps.ts";
export type { TableOptions } from "./table.ts";

export class Report<R = unknown> {
  /** What happened, in order. */
  readonly steps: readonly Step[];
  /** What the function returned. */
  readonly result: R;
  readonly #traces: ReadonlyMap<Step, Trace>;

  constructor(result: R, steps: readonly Step[], traces: ReadonlyMap<Step, Trace>) {
    this.result = result;
    this.steps = steps;
    this.#traces = traces;
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

  /** The iteration table of a kernel, by default of the last one. */
  table(options: TableOptions & { readonly kernel?: number } = {}): string {
    checkTable(options);
    return iterationTable(this.#iteration("table", options.kernel), options);
  }

  /** What the table shows, as data: rows are made when asked for. */
  iteration(kernel = -1): Iteration {
    return this.#iteration("iteration", kernel);
  }

  #kernel(operation: string, kernel: number): KernelStep | undefined {
    if (Number.isInteger(kernel)) return this.kernels.at(kernel);
    return fail(
      "value",
      operation,
      `the kernel is ${describe(kernel)}.`,
      "Count from 0; -1 is the last one.",
    );
  }

  #iteration(operation: string, kernel = -1): Iteration {
    const step = this.#kernel(operation, kernel);
    if (step === undefined) {
      return fail(
        "value",
        operation,
        `no such kernel: ${this.kernels.length} ran.`,
        "Explain a function that computes something.",
      );
    }
    return iterationOf(this.#traces.get(step)!);
  }

  /** The WebAssembly of a kernel as text, by default of the last one. */
  wat(kernel = -1): string {
    return this.#kernel("wat", kernel)?.wat ?? "";
  }

  /** The program of a kernel after each pass; at first with the piece of the function each line came from. */
  passes(kernel = -1): string {
    const step = this.#kernel("passes", kernel);
    if (step === undefined) return "";
    return step.passes
      .map(
        ({ name, says, text }, i) => `── ${name}: ${says}\n${i === 0 ? withSpans(text, step.spans) : text}`,
      )
      .join("\n");
  }

  /** The loops of a kernel as they were asked for and as they were walked, with the steps of each operand. */
  loops(kernel = -1): string {
    const step = this.#kernel("loops", kernel);
    if (step === undefined) return "";
    const names = step.operands.map((o) => o.name);
    const { before, after } = step.nest;
    return `── as asked for, steps in elements\n${nestText(before, names)}\n── as walked\n${nestText(after, names)}`;
  }

  toString(): string {
    if (this.steps.length === 0) return "Nothing ran: views only, no element was read or written.";
    return this.steps.map((step, i) => stepText(step, i + 1)).join("\n\n");
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }

  toJSON(): { steps: readonly Step[] } {
    return { steps: this.steps };
  }
}

/** Runs `fn` and reports what ran inside. */
export function explain<R>(fn: () => R): Report<R> {
  if (typeof fn !== "function") {
    fail(
      "value",
      "explain",
      "expected a function.",
      "Wrap the expression: explain(() => a.map(x => x + 1)).",
    );
  }
  const e = engine();
  const before = e.listener;
  const recorder = new Recorder();
  e.listener = (event) => recorder.hear(event);
  try {
    const result = fn();
    return new Report(result, recorder.steps, recorder.traces);
  } finally {
    e.listener = before;
  }
}
