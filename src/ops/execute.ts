/**
 * The one door: every call passes here, and here alone a plan is looked up or made, an output is made, whoever listens is
 * told, and the work is run.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { type Engine, engine, type Planning } from "../engine.ts";
import { paramValue } from "../frontend/infer.ts";
import { Builder } from "../ir/build.ts";
import type { Program } from "../ir/node.ts";
import { createStorage } from "../memory/storage.ts";
import {
  type Call,
  type Described,
  type Form,
  fromStart,
  idOf,
  newId,
  type Plan,
  type Strided,
} from "../run/call.ts";
import type { Asked, Routine } from "../run/routine.ts";
import { sizeOf } from "../view/layout.ts";
import { overlaps, sameElements } from "../view/overlap.ts";
import { broadcastTo } from "../view/view.ts";
import { mayFail, runChecked } from "./failure.ts";
import { allocate, checkWritable, withTemporary } from "./strided.ts";
import { tellCopy, tellInterpreted } from "./tell.ts";

/** Runs a call. Given back is its output, which holds its storage if the call made it. */
export function execute<C extends Call>(form: Form<C>, call: C): Strided {
  const e = engine();
  if (e.tracer !== null) return e.tracer.execute(form, call);
  const { plan, planning } = planOf(e, form, call);
  const { out } = call;
  const params = paramsOf(call, plan);
  if (out === null) return make(e, call, plan, params, planning);
  checkWritable(call.operation, out);
  const why = whyAside(form, call, plan, out);
  if (why !== null) {
    aside(call.operation, out, out.dtype, why, (made) => {
      const own = { ...call, out: made };
      const again = planOf(e, form, own);
      perform(e, own, again.plan, made, paramsOf(own, again.plan), again.planning);
    });
  } else perform(e, call, plan, out, params, planning);
  return out;
}

/** Why a result is not made where it is to be; null: it is. What fails halfway must change nothing. */
function whyAside<C extends Call>(form: Form<C>, call: C, { work }: Plan, out: Strided): string | null {
  if (isInTheWay(form, call.inputs, out)) return "the output overlaps an operand";
  return mayFail(work) ? "an element may fail" : null;
}

/** The plan of a call, and what making it took; null: it was there before. */
function planOf<C extends Call>(
  e: Engine,
  form: Form<C>,
  call: C,
): { plan: Plan; planning: Planning | null } {
  const known = e.plans.find(form, call, e.mode);
  if (known !== null) return { plan: known, planning: null };
  const began = performance.now();
  const { compiled } = e.kernels;
  const plan = form.plan(call);
  e.plans.keep(form, call, e.mode, plan);
  const milliseconds = performance.now() - began;
  return { plan, planning: { compiled: e.kernels.compiled - compiled, milliseconds } };
}

/**
 * The same for a call of several results. Outputs that are there already are the first of its inputs, and in nobody's way.
 */
export function executeSeveral<C extends Call>(form: Form<C>, call: C, outs: readonly Strided[]): Strided[] {
  const e = engine();
  if (e.tracer !== null) return e.tracer.executeSeveral(form, call, outs);
  const { plan, planning } = planOf(e, form, call);
  const params = paramsOf(call, plan);
  const inputs = call.inputs.slice(outs.length);
  const made: Strided[] = [];
  const outputs = [{ dtype: plan.dtype, frame: plan.frame }, ...(plan.more ?? [])];
  try {
    for (const { dtype, frame } of outs.length > 0 ? [] : outputs)
      made.push(allocate(call.operation, dtype, frame.shape, frame));
    const [out, ...more] = outs.length > 0 ? outs : made;
    for (const other of more) {
      e.recorder?.writes?.(call.operation, other);
      other.storage.version++;
    }
    perform(e, { ...call, inputs: [...more, ...inputs] }, plan, out, params, planning);
    return [out, ...more];
  } catch (error) {
    for (const { storage } of made) storage.release();
    throw error;
  }
}

function make(
  e: Engine,
  call: Call,
  plan: Plan,
  params: readonly Value[],
  planning: Planning | null,
): Strided {
  const { dtype, frame } = plan;
  const storage = createStorage(e.heap, sizeOf(frame.shape) * frame.itemBytes, call.operation);
  const made = { dtype, storage, frame, readOnly: false };
  try {
    perform(e, call, plan, made, params, planning);
  } catch (error) {
    storage.release();
    throw error;
  }
  return made;
}

/** Runs what was planned, into an output that is in nobody's way. */
export function perform(
  e: Engine,
  call: Call,
  plan: Plan,
  out: Strided,
  params: readonly Value[],
  planning: Planning | null,
): void {
  if (e.listener !== null) {
    if (plan.misfit !== null) tellInterpreted(call.operation, plan.misfit);
    e.listener({ kind: "begins", call, plan, out, planning });
  }
  e.recorder?.writes?.(call.operation, out);
  if (mayFail(plan.work)) runChecked(e, call, plan, out, params);
  else plan.prepared.run(out, call.inputs, params);
  out.storage.version++;
  e.listener?.({ kind: "ran", call, plan, out, planning });
  e.recorder?.ran(call, plan, out);
}

const none: readonly Value[] = [];

/** The captured values in the dtypes the plan wants. */
function paramsOf({ operation, values }: Call, { params }: Plan): readonly Value[] {
  if (params.length === 0) return none;
  const converted = new Array<Value>(params.length);
  for (let i = 0; i < params.length; i++) converted[i] = paramValue(values[i], params[i], operation);
  return converted;
}

/** Would writing the output change elements of an input that are still to be read? */
export function isInTheWay(
  { guards }: Pick<Form<never>, "guards">,
  inputs: readonly Strided[],
  out: Strided,
): boolean {
  if (guards === "nothing") return false;
  for (let k = 0; k < inputs.length; k++) {
    const { storage, frame } = inputs[k];
    if (storage.origin !== out.storage.origin) continue;
    if (guards === "elements") {
      const { shape } = out.frame;
      const view = frame.shape.length === shape.length ? frame : broadcastTo(frame, shape);
      if (sameElements(out.frame, view)) continue;
    }
    if (overlaps(out.frame, frame)) return true;
  }
  return false;
}

/** Makes a result beside an output that it cannot be made in, and copies it there. */
export function aside(
  operation: string,
  out: Strided,
  dtype: DType,
  why: string,
  fill: (made: Strided) => void,
): void {
  const made = allocate(operation, dtype, out.frame.shape);
  tellCopy(operation, made.storage.bytes, `${why}, so the result is made aside first`);
  withTemporary(made, () => {
    fill(made);
    execute(copyForm, copyCall(operation, out, made));
  });
}

/** What does the work: the executor, or the interpreter where that one refuses. */
export function prepare(work: Described): Pick<Plan, "work" | "prepared" | "misfit"> {
  const { executor, interpreter } = engine();
  const misfit = executor.refuses(work);
  return { work, prepared: (misfit === null ? executor : interpreter).prepare(work), misfit };
}

/* Programs and copies --------------------------------------------------------------------------------------- */

/** A call whose function is a program already: out[…] = program(in0[…], …), of one shape. */
export const programForm: Form<Call> = {
  id: newId(),
  guards: "nothing",
  plan: ({ what, inputs, out }) => programPlan("elementwise", what as Program, out!, inputs, null),
};

function programPlan(
  form: "elementwise" | "copy",
  program: Program,
  out: Strided,
  inputs: readonly Strided[],
  told: string | null,
): Plan {
  const frames = [out, ...inputs].map((t) => fromStart(t.frame));
  const { dtype, params } = program;
  return { ...prepare({ form, program, frames }), dtype, frame: frames[0], params, told, names: [] };
}

export function programCall(
  operation: string,
  program: Program,
  out: Strided,
  inputs: readonly Strided[],
  values: Call["values"] = [],
): Call {
  return { operation, what: program, facts: [idOf(program)], inputs, out, values };
}

/** out[…] = in[…], of one shape and of different memory. */
export const copyForm: Form<Call> = {
  id: newId(),
  guards: "nothing",
  plan({ what, inputs, out }) {
    const told = inputs[0].dtype === out!.dtype ? "x => x" : `x => ${out!.dtype}(x)`;
    return programPlan("copy", what as Program, out!, inputs, told);
  },
};

export function copyCall(operation: string, out: Strided, src: Strided): Call {
  const { what, facts } = copyOf(src.dtype, out.dtype);
  return { operation, what, facts, inputs: [src], out, values: none as [] };
}

/** What memory of that many bytes an element is moved as: the bits stay unread, so NaNs keep their payload. */
const rawTypes = { 1: "u8", 2: "u16", 4: "u32", 8: "u64" } as const;
const copies = new Map<DType, Map<DType, Pick<Call, "what" | "facts">>>();

/** x => x, converted: four programs serve all copies of one dtype. */
function copyOf(from: DType, to: DType): Pick<Call, "what" | "facts"> {
  const raw = rawTypes[dtypes[from].bytes];
  const [of, as] = from === to ? [raw, raw] : [from, to];
  let row = copies.get(of);
  if (row === undefined) {
    row = new Map();
    copies.set(of, row);
  }
  let copy = row.get(as);
  if (copy === undefined) {
    const b = new Builder();
    const x = b.input(0, of);
    const what = b.finish(of === as ? x : b.cast(as, x), [of]);
    copy = { what, facts: [idOf(what)] };
    row.set(as, copy);
  }
  return copy;
}

/* Routines -------------------------------------------------------------------------------------------------- */

/** Asks the device for work written by hand. */
export function runRoutine<P, R>(routine: Routine<P, R>, asked: Asked<P>): R {
  const e = engine();
  const { operation, params, inputs, outs } = asked;
  for (const out of outs) e.recorder?.writes?.(operation, out);
  const result = routine.run(e, asked);
  for (const { storage } of outs) storage.version++;
  const name = `${routine.name} routine`;
  // What says no has done nothing.
  if (result !== false) e.recorder?.noted?.({ name, operation, inputs, outs, facts: params as object });
  return result;
}
