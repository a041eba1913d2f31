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
  type Prepared,
  type Strided,
  type Work,
} from "../run/call.ts";
import { typeIds } from "../run/plans.ts";
import type { Asked, Routine } from "../run/routine.ts";
import { checkShape, sizeOf } from "../view/layout.ts";
import { outputView } from "../view/loops.ts";
import { overlaps, sameElements } from "../view/overlap.ts";
import { broadcastTo, contiguousView, type View } from "../view/view.ts";
import { mayFail, runChecked } from "./failure.ts";
import { allocate, checkWritable } from "./strided.ts";
import { tellCopy, tellInterpreted } from "./tell.ts";

/** Runs a call. Given back is its output, which holds its storage if the call made it. */
export function execute<C extends Call>(form: Form<C>, call: C): Strided {
  const e = engine();
  if (e.tracer !== null) return e.tracer.execute(form, call);
  const { plan, planning } = lookUp(e, form, call);
  const { out } = call;
  const params = paramsOf(call, plan);
  if (out === null) return make(e, call, plan, params, planning);
  checkWritable(call.operation, out);
  const isShared = isInTheWay(form, call.inputs, out);
  // What fails halfway must change nothing.
  if (isShared || plan.mayFail) {
    const why = isShared ? "the output overlaps an operand" : "an element may fail";
    aside(call.operation, [out], why, ([made]) => {
      const own = { ...call, out: made };
      const again = lookUp(e, form, own);
      perform(e, own, again.plan, made, paramsOf(own, again.plan), again.planning);
    });
  } else perform(e, call, plan, out, params, planning);
  return out;
}

/** The plan of a call, and what making it took; null: it was there before. */
export function lookUp<C extends Call, P>(
  e: Engine,
  form: Form<C, P>,
  call: C,
): { plan: P; planning: Planning | null } {
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
  const { plan, planning } = lookUp(e, form, call);
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
  const storage = createStorage(e.heap, plan.bytes, call.operation);
  const made = { dtype: plan.dtype, storage, frame: plan.frame, readOnly: false };
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
  if (plan.mayFail) runChecked(e, call, plan, out, params);
  else plan.prepared.run(out, call.inputs, params);
  out.storage.version++;
  e.listener?.({ kind: "ran", call, plan, out, planning });
  e.recorder?.ran(call, plan, out);
}

const none: readonly Value[] = [];

/** The captured values in the dtypes the plan wants. */
function paramsOf({ operation, values }: Call, { params }: Plan): readonly Value[] {
  if (values.length === 0) return none;
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

/** Makes results (of another dtype, if one is given) beside outputs that they cannot be made in, and copies them there. */
export function aside(
  operation: string,
  outs: readonly Strided[],
  why: string,
  fill: (made: readonly Strided[]) => void,
  as?: DType,
): void {
  const made: Strided[] = [];
  try {
    for (const { dtype, frame } of outs) made.push(allocate(operation, as ?? dtype, frame.shape));
    const bytes = made.reduce((sum, { storage }) => sum + storage.bytes, 0);
    tellCopy(operation, bytes, `${why}, so the result is made aside first`);
    fill(made);
    made.forEach((from, k) => {
      execute(copyForm, copyCall(operation, outs[k], from));
    });
  } finally {
    for (const { storage } of made) storage.release();
  }
}

/** Work made ready by the executor, or by the interpreter where that one refuses; and why it does. */
export function prepare(work: Described): { readonly prepared: Prepared; readonly misfit: string | null } {
  const { executor, interpreter } = engine();
  const misfit = executor.refuses(work);
  return { prepared: (misfit === null ? executor : interpreter).prepare(work), misfit };
}

export function planned(work: Described, result: PlannedResult): Plan {
  const { prepared, misfit } = prepare(work);
  return planOf(work, prepared, result, misfit);
}

/** What a plan says besides the work. */
type PlannedResult = Pick<Plan, "dtype" | "frame" | "more" | "params" | "told" | "names">;

/** A plan of work that was made ready. */
export function planOf(
  work: Work,
  prepared: Prepared,
  result: PlannedResult,
  misfit: string | null = null,
): Plan {
  const { dtype, frame, more, params, told, names } = result;
  const bytes = sizeOf(frame.shape) * frame.itemBytes;
  return { work, prepared, mayFail: mayFail(work), bytes, dtype, frame, more, params, misfit, told, names };
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
  out: Pick<Strided, "dtype" | "frame">,
  inputs: readonly Strided[],
  told: string | null,
): Plan {
  const frames = [out, ...inputs].map((t) => fromStart(t.frame));
  const { params } = program;
  return planned({ form, program, frames }, { dtype: out.dtype, frame: frames[0], params, told, names: [] });
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

/** out[…] = in[…], of one shape and of different memory. Where there is no output, `layout` says how the new one lies. */
const copying = (layout: (operation: string, src: View, itemBytes: number) => View): Form<Call> => ({
  id: newId(),
  guards: "nothing",
  plan({ operation, what, inputs, out }) {
    const program = what as Program;
    const [src] = inputs;
    const dtype = out?.dtype ?? (program.nodes.length === 1 ? src.dtype : program.dtype);
    const frame = out?.frame ?? layout(operation, src.frame, dtypes[dtype].bytes);
    const told = src.dtype === dtype ? "x => x" : `x => ${dtype}(x)`;
    return programPlan("copy", program, { dtype, frame }, inputs, told);
  },
});
/** Row-major. */
export const copyForm = copying((operation, { shape }, itemBytes) => {
  checkShape(operation, shape);
  return contiguousView(shape, itemBytes);
});
/** In the source's memory order. */
export const orderedForm = copying((operation, src, itemBytes) => {
  checkShape(operation, src.shape);
  return outputView(src.shape, itemBytes, [src]);
});

export function copyCall(operation: string, out: Strided | null, src: Strided, dtype = out!.dtype): Call {
  const { what, facts } = copyOf(src.dtype, dtype);
  return { operation, what, facts, inputs: [src], out, values: none as [] };
}

/** What memory of that many bytes an element is moved as: the bits stay unread, so NaNs keep their payload. */
const rawTypes = { 1: "u8", 2: "u16", 4: "u32", 8: "u64" } as const;
const copies = new Map<number, Pick<Call, "what" | "facts">>();

/** x => x, converted: four programs serve all copies of one dtype. */
function copyOf(from: DType, to: DType): Pick<Call, "what" | "facts"> {
  const { bytes } = dtypes[from];
  const key = from === to ? bytes : 32 * typeIds[from] + typeIds[to];
  let copy = copies.get(key);
  if (copy === undefined) {
    const b = new Builder();
    const of = from === to ? rawTypes[bytes] : from;
    const x = b.input(0, of);
    const what = b.finish(from === to ? x : b.cast(to, x), [of]);
    copy = { what, facts: [idOf(what)] };
    copies.set(key, copy);
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
