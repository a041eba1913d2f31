/** Runs what was scheduled: kernel by kernel, on the arguments of this call; what nobody reads any more goes at once. */
import type { DType } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import { elementwise } from "../ops/elementwise.ts";
import { execute, planned } from "../ops/execute.ts";
import { paramsOfFold } from "../ops/fold.ts";
import { elementwiseSeveral } from "../ops/several.ts";
import { allocate, checkAlive } from "../ops/strided.ts";
import type { Fold } from "../optimize/reduce.ts";
import { type Call, type Form, fromStart, idOf, newId, type Strided } from "../run/call.ts";
import { likeStored } from "./like.ts";
import type { FoldKernel, Kernel, MapKernel, Schedule } from "./schedule.ts";
import type { Ref } from "./trace.ts";

const OPERATION = "fuse";

/** Arguments of a call, and how far each begins from where it began in the trace. */
export interface Given {
  readonly args: readonly Strided[];
  readonly shifts: readonly number[];
}

/** Values that are in memory, by their number. */
export type Slots = (Strided | null)[];

/**
 * Computes what is stored. Given back are all values that were not let go: the results. `outs` are values that are written
 * into tensors that are there.
 */
export function runSchedule(
  { made, kernels, releases }: Schedule,
  given: Given,
  outs: ReadonlyMap<number, Strided>,
): Slots {
  const slots: Slots = made.map(() => null);
  try {
    kernels.forEach((kernel, k) => {
      runKernel(kernel, given, slots, (id) => {
        const { dtype, frame } = made[id];
        return outs.get(id) ?? allocate(OPERATION, dtype, frame.shape, frame);
      });
      for (const id of releases[k]) {
        slots[id]!.storage.release();
        slots[id] = null;
      }
    });
    return slots;
  } catch (error) {
    slots.forEach((t, id) => {
      if (t !== null && !outs.has(id)) t.storage.release();
    });
    throw error;
  }
}

/** The elements that a ref means, in this call. */
export function locate({ place, dtype, frame }: Ref, { args, shifts }: Given, slots: Slots): Strided {
  switch (place.kind) {
    case "argument": {
      const { storage } = args[place.index];
      const offset = frame.offset + shifts[place.index];
      return { dtype, storage, frame: { ...frame, offset }, readOnly: true };
    }
    case "captured":
      return { dtype, storage: place.storage, frame, readOnly: true };
    default: {
      const { storage } = slots[place.id] ?? unreachable("a value is read that is not there");
      return { dtype, storage, frame, readOnly: true };
    }
  }
}

function runKernel(kernel: Kernel, given: Given, slots: Slots, make: (id: number) => Strided): void {
  const inputs = kernel.leaves.map((leaf) => locate(leaf, given, slots));
  for (const t of inputs) checkAlive(OPERATION, t);
  if (kernel.kind === "whole") {
    const { note, outs } = kernel;
    if (note.writes) for (const id of outs) slots[id] = make(id);
    const written = note.writes ? outs.map((id) => slots[id]!) : [];
    note.run(inputs, written).forEach((t, k) => {
      slots[outs[k]] ??= t;
    });
    return;
  }
  for (const id of kernel.outs) slots[id] = make(id);
  if (kernel.kind === "map")
    runMap(
      kernel,
      inputs,
      kernel.outs.map((id) => slots[id]!),
    );
  else runFold(kernel, inputs, slots[kernel.outs[0]]!);
}

function runMap({ callable }: MapKernel, inputs: readonly Strided[], outs: readonly Strided[]): void {
  if (outs.length > 1) elementwiseSeveral(OPERATION, callable, inputs, outs);
  else elementwise(OPERATION, callable, inputs, outs[0]);
}

/* Folds ------------------------------------------------------------------------------------------------------------- */

interface FusedFold extends Call {
  readonly what: Fold;
  readonly kernel: FoldKernel;
}

const fusedForm: Form<FusedFold> = {
  id: newId(),
  guards: "nothing",
  plan({ what: fold, kernel, inputs, out }) {
    const frame = fromStart(out!.frame);
    const sources = inputs.map((t) => fromStart(t.frame));
    const dtypes: DType[] = inputs.map((t) => t.dtype);
    const work = { form: "reduce", fold, sources, dtypes, out: frame, ...kernel.work } as const;
    const like = kernel.like === null ? null : likeStored(work, kernel.like);
    const [dtype, params] = [fold.finish.dtype, paramsOfFold(fold)];
    const result = { dtype, frame, params, told: kernel.text, names: [] };
    return planned(like === null ? work : { ...work, like }, result);
  },
};

function runFold(kernel: FoldKernel, inputs: readonly Strided[], made: Strided): void {
  const { fold, values, work, like: stored, frame } = kernel;
  const axes = work.isFolded.map(Number).join("");
  const like =
    stored === null ? "" : `${idOf(stored.fold)}|${stored.sources.map((s) => s.strides).join("|")}`;
  execute(fusedForm, {
    operation: OPERATION,
    what: fold,
    facts: [idOf(fold), axes, work.init, like, kernel.text],
    inputs,
    out: { ...made, frame: { ...frame, offset: made.frame.offset } },
    values,
    kernel,
  });
}
