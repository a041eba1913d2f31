/**
 * `explain(() => …)`: runs the function and reports everything that ran inside: the source, the program after each pass,
 * the loops, how each operand was walked, vectors, threads, compile time, bytes and speed, copies and fallbacks with
 * their reasons. `table()` is the iteration table, `toJSON()` the same as data.
 */
import { engine } from "../engine.ts";
import { fail } from "../errors.ts";
import {
  type CopyStep,
  type FallbackStep,
  type KernelStep,
  Recorder,
  type Step,
  type Trace,
} from "./record.ts";
import { elementwiseTable, matmulTable, reduceTable, type TableOptions } from "./table.ts";
import { stepText } from "./text.ts";

export type { CopyStep, FallbackStep, KernelStep, Step } from "./record.ts";
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

  /** The iteration table of a kernel, by default of the last one. */
  table(options: TableOptions & { readonly kernel?: number } = {}): string {
    const step = this.kernels.at(options.kernel ?? -1);
    if (step === undefined) {
      return fail(
        "value",
        "table",
        `no such kernel: ${this.kernels.length} ran.`,
        "Explain a function that computes something.",
      );
    }
    const { form, out, inputs, axes } = this.#traces.get(step)!;
    if (form === "matmul") return matmulTable(out, inputs[0], inputs[1], options);
    if (form === "reduce") return reduceTable(out, inputs[0], axes, options);
    return elementwiseTable(out, inputs, options);
  }

  /** The WebAssembly of a kernel as text, by default of the last one. */
  wat(kernel = -1): string {
    return this.kernels.at(kernel)?.wat ?? "";
  }

  /** The program of a kernel after each pass. */
  passes(kernel = -1): string {
    const passes = this.kernels.at(kernel)?.passes ?? [];
    return passes.map(({ name, text }) => `── ${name}\n${text}`).join("\n");
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
