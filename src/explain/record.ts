/** Listens to the engine while a function runs and turns what it hears into steps: plain data, values included. */
import { dtypes, type Value } from "../dtype.ts";
import { type Event, engine, type Seen } from "../engine.ts";
import { gemmOf } from "../run/gemm.ts";
import { WARM } from "../run/kernel.ts";
import { sizeOf } from "../view/layout.ts";
import { extent } from "../view/view.ts";
import { disassemble } from "../wasm/wat.ts";
import {
  codeOf,
  inputName,
  layoutKeyOf,
  loopsOf,
  nestsOf,
  noteOf,
  type Operation,
  operandReport,
  passesOf,
  programOf,
  rateOf,
  sourceOf,
  spansOf,
  touched,
} from "./facts.ts";
import type { Snapshot, Trace } from "./iteration.ts";
import type { KernelStep, RoutineStep, Step } from "./steps.ts";

/** Larger operands are not copied for the tables. */
const MOST_BYTES = 1 << 22;
/** A storage up to this size is copied whole. */
const SMALL_BYTES = 1 << 12;

export class Recorder {
  readonly steps: Step[] = [];
  readonly traces = new Map<Step, Trace>();
  #pending: { event: Operation; inputs: Snapshot[]; start: number; before: Counts } | null = null;

  hear(event: Event): void {
    switch (event.kind) {
      case "operation":
        this.#pending = {
          event,
          inputs: event.inputs.map((t, i) => snapshot(inputName(event, i), t)),
          before: counts(),
          start: performance.now(),
        };
        break;
      case "kernel":
        this.#kernel(event);
        break;
      case "routine":
        this.steps.push(routineStep(event));
        break;
      default:
        this.steps.push(event);
    }
  }

  #kernel(event: Event & { kind: "kernel" }): void {
    const pending = this.#pending;
    if (pending === null) return;
    this.#pending = null;
    const time = performance.now() - pending.start;
    const now = counts();
    const { detail } = event;
    const { out, inputs, form } = pending.event;
    const seen = [out, ...inputs];
    const made = codeOf(detail);
    const compileTime = now.compiled > pending.before.compiled ? (made?.compileTime ?? 0) : 0;
    const bytesWritten = touched(out.frame);
    const bytesRead = inputs.reduce((sum, t) => sum + touched(t.frame), 0);
    const flops =
      form === "matmul" ? 2 * sizeOf(out.frame.shape) * (inputs[0].frame.shape.at(-1) ?? 1) : null;
    const tasks = now.tasks - pending.before.tasks;
    const program = programOf(detail);
    let wat: string | null | undefined;
    const step: KernelStep = {
      kind: "kernel",
      operation: event.operation,
      form,
      source: sourceOf(pending.event, program),
      backend: event.backend,
      operands: seen.map((t, k) =>
        operandReport(k === 0 ? "out" : inputName(pending.event, k - 1), t, k, detail, made),
      ),
      loops: loopsOf(pending.event, detail),
      nest: nestsOf(pending.event, detail),
      passes: passesOf(program),
      spans: program === undefined ? [] : spansOf(program, pending.event.source),
      vector: made?.vector ?? null,
      note: noteOf(detail),
      layoutKey: layoutKeyOf(made),
      threads: { ...engine().pool.status(), shared: tasks > 0, tasks, own: now.own - pending.before.own },
      cached: now.compiled === pending.before.compiled,
      tier: made?.calls === undefined ? null : made.calls > WARM ? "optimised" : "first",
      compileTime,
      time,
      bytes: bytesRead + bytesWritten,
      bytesRead,
      bytesWritten,
      flops,
      rate: rateOf(time - compileTime, flops, bytesRead + bytesWritten),
      // Long, and seldom looked at: made when it is asked for.
      get wat(): string | null {
        wat ??= made === null ? null : disassemble(made.bytes);
        return wat;
      },
    };
    this.steps.push(step);
    const { axes = [] } = pending.event;
    this.traces.set(step, { form, out: snapshot("out", out), inputs: pending.inputs, axes });
  }
}

/** What has been compiled and shared so far. */
interface Counts {
  readonly compiled: number;
  readonly tasks: number;
  readonly own: number;
}

function counts(): Counts {
  const { kernels, pool, heap } = engine();
  const { tasks, own } = pool.tally;
  return { compiled: kernels.compiled + gemmOf(heap, pool).compiled, tasks, own };
}

function routineStep(event: Event & { kind: "routine" }): RoutineStep {
  const { name, tasks, shared, isNew, milliseconds, bytes } = event;
  let wat: string | undefined;
  return {
    kind: "routine",
    name,
    tasks,
    threads: { ...engine().pool.status(), shared },
    cached: !isNew,
    time: milliseconds,
    get wat(): string {
      wat ??= disassemble(bytes);
      return wat;
    },
  };
}

/**
 * A copy of the bytes a view reaches, so that later writes do not change the story; of a small storage all bytes, so that
 * the view can be shown among its neighbours.
 */
function snapshot(name: string, { dtype, frame, storage }: Seen): Snapshot {
  const { heap } = engine();
  const { read } = dtypes[dtype];
  const { start, end } = storage.bytes <= SMALL_BYTES ? { start: 0, end: storage.bytes } : extent(frame);
  const known = { name, dtype, frame, storage, start, end };
  if (end - start > MOST_BYTES) {
    return { ...known, read: (p): Value => read(heap.view, storage.address + p) };
  }
  const copy = heap.u8.slice(storage.address + start, storage.address + end);
  const memory = new DataView(copy.buffer, copy.byteOffset, copy.byteLength);
  return { ...known, read: (p): Value => read(memory, p - start) };
}
