/** Listens to the engine while a function runs and turns what it hears into steps: plain data, values included. */
import { dtypes } from "../dtype.ts";
import { type Event, engine } from "../engine.ts";
import { WARM } from "../run/walker.ts";
import type { WholeCall } from "../run/whole.ts";
import { sizeOf } from "../view/layout.ts";
import { extent } from "../view/view.ts";
import { disassemble } from "../wasm/assembler/wat.ts";
import {
  capturedOf,
  codeOf,
  inputName,
  layoutKeyOf,
  letter,
  loopsOf,
  nestsOf,
  noteOf,
  type Operation,
  operandName,
  operandReport,
  operationOf,
  passesOf,
  programOf,
  rateOf,
  routineOperand,
  type Seen,
  sourceOf,
  spansOf,
  touched,
} from "./facts.ts";
import { iterationOf, type Snapshot, type Trace } from "./iteration.ts";
import type { KernelStep, NjitStep, RoutineStep, Step } from "./steps.ts";
import { tableRows } from "./table.ts";

/** Operands are copied whole up to so many bytes a report; of what comes then only what the table shows, and the ends. */
const MOST_BYTES = 1 << 26;
const END_BYTES = 1 << 15;
/** A storage up to this size is copied with what lies around the view. */
const SMALL_BYTES = 1 << 12;

export class Recorder {
  readonly steps: Step[] = [];
  readonly traces = new Map<Step, Trace>();
  /** Calls of whole functions, to be told once more. */
  readonly calls = new Map<Step, WholeCall>();
  #pending: Pending | null = null;
  #bytesLeft = MOST_BYTES;

  hear(event: Event): void {
    switch (event.kind) {
      case "begins": {
        const operation = operationOf(event);
        const [out, ...inputs] = this.#keepers(operation);
        this.#pending = {
          event: operation,
          inputs: inputs.map((keep) => keep()),
          out,
          before: counts(),
          start: performance.now(),
        };
        break;
      }
      case "ran":
        this.#kernel(event);
        break;
      case "routine":
        this.steps.push(routineStep(event));
        break;
      case "njit":
        this.#whole(event);
        break;
      default:
        this.steps.push({ ...event, ...groupNow() });
    }
  }

  /** For each operand, the output first, what keeps its values when it is called. */
  #keepers(event: Operation): (() => Snapshot)[] {
    const named = [event.out, ...event.inputs].map((t, k) =>
      knownOf(k === 0 ? "out" : inputName(event, k - 1), t),
    );
    const whole = named.map(({ start, end }) => {
      const fits = end - start <= Math.max(2 * END_BYTES, this.#bytesLeft);
      if (fits) this.#bytesLeft -= end - start;
      return fits;
    });
    const shown = whole.every(Boolean) ? [] : shownBytes(event, named);
    return named.map((known, k) => () => (whole[k] ? keepAll(known) : keepSome(known, shown[k])));
  }

  #whole(call: WholeCall): void {
    const step = njitStep(call);
    this.steps.push(step);
    this.calls.set(step, call);
  }

  #kernel({ call, plan, planning }: Event & { kind: "begins" | "ran" }): void {
    const pending = this.#pending;
    if (pending === null) return;
    this.#pending = null;
    const time = performance.now() - pending.start + (planning?.milliseconds ?? 0);
    const now = counts();
    const { backend, spent: detail } = plan.prepared;
    const { out, more, inputs, form } = pending.event;
    const seen = [out, ...more, ...inputs];
    const made = codeOf(detail);
    const gemmTime = now.gemmTime - pending.before.gemmTime;
    const isNew = (planning?.compiled ?? 0) > 0 || now.compiled > pending.before.compiled;
    const compileTime = gemmTime + (isNew ? (made?.compileTime ?? 0) : 0);
    const bytesWritten = [out, ...more].reduce((sum, t) => sum + touched(t.frame), 0);
    const bytesRead = inputs.reduce((sum, t) => sum + touched(t.frame), 0);
    const flops =
      form === "matmul" ? 2 * sizeOf(out.frame.shape) * (inputs[0].frame.shape.at(-1) ?? 1) : null;
    const tasks = now.tasks - pending.before.tasks;
    const program = programOf(detail);
    let wat: string | null | undefined;
    const step: KernelStep = {
      kind: "kernel",
      operation: call.operation,
      form,
      source: sourceOf(pending.event, program),
      ...capturedOf(pending.event),
      backend,
      operands: seen.map((t, k) => operandReport(operandName(pending.event, k), t, k, detail, made)),
      loops: loopsOf(pending.event, detail),
      nest: nestsOf(pending.event, detail),
      passes: passesOf(program, pending.event.values),
      spans: program === undefined ? [] : spansOf(program, pending.event.source),
      vector: made?.vector ?? null,
      note: noteOf(detail),
      layoutKey: layoutKeyOf(made),
      threads: { ...engine().pool.status(), shared: tasks > 0, tasks, own: now.own - pending.before.own },
      cached: !isNew,
      replayed: planning === null,
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
      ...groupNow(),
    };
    this.steps.push(step);
    const { axes } = pending.event;
    this.traces.set(step, { form, out: pending.out(), inputs: pending.inputs, axes });
  }
}

/** An operation that has begun: its inputs' values, and what keeps those of its output. */
interface Pending {
  readonly event: Operation;
  readonly inputs: Snapshot[];
  readonly out: () => Snapshot;
  readonly start: number;
  readonly before: Counts;
}

/** The call that what runs now is part of. */
function groupNow(): { within?: string } {
  const { group } = engine();
  return group === null ? {} : { within: group };
}

/** What has been compiled and shared so far. */
interface Counts {
  readonly compiled: number;
  readonly gemmTime: number;
  readonly tasks: number;
  readonly own: number;
}

function counts(): Counts {
  const { kernels, pool, products } = engine();
  const { tasks, own } = pool.tally;
  const compiled = kernels.compiled + products.compiled;
  return { compiled, gemmTime: products.compileTime, tasks, own };
}

function routineStep(event: Event & { kind: "routine" }): RoutineStep {
  const { name, tasks, shared, isNew, milliseconds, compileTime, bytes, about } = event;
  const inputs = about?.inputs ?? [];
  const operands = [
    ...(about?.out === undefined ? [] : [routineOperand("out", about.out)]),
    ...inputs.map((t, i) => routineOperand(inputs.length === 1 ? "in" : letter(i), t)),
  ];
  const seen = [...inputs, ...(about?.out === undefined ? [] : [about.out])];
  let wat: string | undefined;
  return {
    kind: "routine",
    operation: about?.operation ?? engine().group ?? name,
    name,
    operands,
    bytes:
      about?.bytes !== undefined || seen.length === 0
        ? (about?.bytes ?? null)
        : seen.reduce((sum, t) => sum + touched(t.frame), 0),
    tasks,
    threads: { ...engine().pool.status(), shared },
    cached: !isNew,
    compileTime,
    time: milliseconds,
    get wat(): string {
      wat ??= disassemble(bytes);
      return wat;
    },
    ...groupNow(),
  };
}

function njitStep(event: WholeCall): NjitStep {
  const { name, source, arrays, loops, isNew, compileTime, milliseconds, bytes } = event;
  let [typed, wat]: (string | undefined)[] = [];
  return {
    kind: "njit",
    operation: "njit",
    name,
    source,
    operands: arrays,
    loops,
    threads: engine().pool.status(),
    cached: !isNew,
    compileTime,
    time: milliseconds,
    get typed(): string {
      typed ??= event.typed();
      return typed;
    },
    get wat(): string {
      wat ??= disassemble(bytes);
      return wat;
    },
    ...groupNow(),
  };
}

/* Values --------------------------------------------------------------------------------------------------- */

/** An operand while its bytes can still be read. */
interface Known extends Omit<Snapshot, "read" | "whole"> {
  readonly storage: Seen["storage"];
}

/** Which bytes a view reaches; of a small storage all of them, so that the view can be shown among its neighbours. */
function knownOf(name: string, { dtype, frame, storage }: Seen): Known {
  const { bytes } = storage;
  const { start, end } = bytes <= SMALL_BYTES ? { start: 0, end: bytes } : extent(frame);
  return { name, dtype, frame, storage, place: storage.place, start, end };
}

/** All but the storage: a report does not keep it alive. */
const described = ({ name, dtype, frame, place, start, end }: Known) => ({
  name,
  dtype,
  frame,
  place,
  start,
  end,
});

/** A copy of all bytes, so that later writes do not change the story. */
function keepAll(known: Known): Snapshot {
  return { ...described(known), whole: true, read: copyOf(known, known.start, known.end) };
}

/** Copies of the first and the last bytes, and of the elements at `bytes`. Nothing is read later: it may be others' by then. */
function keepSome(known: Known, bytes: ReadonlySet<number>): Snapshot {
  const { start, end, dtype, storage } = known;
  const values = new Map(Array.from(bytes, (p) => [p, storage.read(dtype, p)]));
  const [head, tail] = [copyOf(known, start, start + END_BYTES), copyOf(known, end - END_BYTES, end)];
  return { ...described(known), whole: false, read: (p) => values.get(p) ?? head(p) ?? tail(p) };
}

function copyOf({ dtype, frame, storage }: Known, start: number, end: number): Snapshot["read"] {
  const copy = storage.raw(start, end - start).slice();
  const memory = new DataView(copy.buffer, copy.byteOffset, copy.byteLength);
  const { read } = dtypes[dtype];
  return (p) => (p < start || p + frame.itemBytes > end ? null : read(memory, p - start));
}

/** The bytes of each operand that the table of an operation shows, the output's first. */
function shownBytes({ form, axes }: Operation, operands: readonly Known[]): Set<number>[] {
  const shown = operands.map(() => new Set<number>());
  const [out, ...inputs] = operands.map((known, k) => ({
    ...known,
    whole: false,
    read: (p: number) => {
      shown[k].add(p);
      return null;
    },
  }));
  tableRows(iterationOf({ form, out, inputs, axes }));
  return shown;
}
