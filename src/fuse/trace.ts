/**
 * A function of tensors, run once on tensors that have a dtype, a shape and no elements. What it asks for is noted instead
 * of done: every operation passes the one door, and so does every note. Views need no note: they are seen in what reads
 * through them.
 */
import type { DType } from "../dtype.ts";
import type { Engine, Tracer } from "../engine.ts";
import { fail, list, unreachable } from "../errors.ts";
import { paramValue } from "../frontend/infer.ts";
import { Builder } from "../ir/build.ts";
import { isEffect, type Program } from "../ir/node.ts";
import { AbsentStorage } from "../memory/absent.ts";
import type { Heap } from "../memory/heap.ts";
import { createStorage, type Storage } from "../memory/storage.ts";
import { execute, executeSeveral } from "../ops/execute.ts";
import { checkWritable } from "../ops/strided.ts";
import type { Fold } from "../optimize/reduce.ts";
import type { Call, Captured, Executor, FoldWork, Form, Plan, Strided } from "../run/call.ts";
import { stridedOf, type Tensor } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { extent, type View } from "../view/view.ts";

/* What is noted ------------------------------------------------------------------------------------------------ */

/** Where elements will be: in an argument, in a tensor that the function has from elsewhere, in what a note makes. */
export type Place =
  | { readonly kind: "argument"; readonly index: number }
  | { readonly kind: "captured"; readonly storage: Storage; readonly isOwn: boolean }
  | { readonly kind: "made"; readonly id: number };

/** Elements to be read. */
export interface Ref {
  readonly place: Place;
  readonly dtype: DType;
  readonly frame: View;
}

/** What a note makes: as it lies where it is stored. */
export interface Made {
  readonly dtype: DType;
  readonly frame: View;
  /** Its note, and which of its results. */
  readonly note: number;
  readonly part: number;
}

interface Base {
  readonly operation: string;
  readonly inputs: readonly Ref[];
  readonly outs: readonly number[];
}
/** out[…] = program(in0[…], …): inputs have the shape of the outputs. */
export interface MapNote extends Base {
  readonly kind: "map";
  readonly program: Program;
  readonly values: readonly Captured[];
}
/** out[kept] = the fold over the folded axes; inputs have one shape. */
export interface FoldNote extends Base {
  readonly kind: "fold";
  readonly work: FoldWork & { readonly fold: Fold };
  readonly values: readonly Captured[];
}
/** Whatever else is done, on operands that are there. */
export interface WholeNote extends Base {
  readonly kind: "whole";
  /** Makes the outputs, or writes those that are given. */
  readonly run: (inputs: readonly Strided[], outs: readonly Strided[]) => readonly Strided[];
  /** Are outputs given to it? */
  readonly writes: boolean;
}
export type Note = MapNote | FoldNote | WholeNote;

/* Tensors without elements ---------------------------------------------------------------------------------------- */

/** Operations that make tensors of what they are given from JavaScript: inside a function that is traced, these are there. */
const creations = new Set(
  `tensor zeros ones full empty arange linspace eye identity zerosLike onesLike fullLike emptyLike asarray fromBuffer
  fromGgml fromJSON assign fill`.split(/\s+/),
);

type State =
  | { readonly kind: "new"; readonly operation: string; readonly zeroed: boolean }
  | { readonly kind: "constant"; readonly storage: Storage }
  | Exclude<Place, { kind: "captured" }>;

const gone: State = { kind: "made", id: -1 };

/** The storage of a tensor in a trace: nothing lies there, unless it is filled from JavaScript. */
class TracedStorage extends AbsentStorage {
  state: State;

  constructor(heap: Heap, bytes: number, state: State) {
    super(heap, bytes);
    this.state = state;
  }

  protected override memory(): Storage {
    const { state } = this;
    if (state.kind === "constant") return state.storage;
    if (state.kind === "new" && creations.has(state.operation)) return this.filled();
    return failValues(state.kind === "new" ? state.operation : null);
  }

  /** The memory itself, of what is filled now and the same in every call. */
  filled(): Storage {
    const { state } = this;
    if (state.kind === "constant") return state.storage;
    if (state.kind !== "new") return unreachable("a traced value is filled");
    // Nothing is read where there is nothing: no block is taken for it.
    const storage =
      this.bytes === 0
        ? this.located(0)
        : createStorage(this.heap, this.bytes, state.operation, { zeroed: state.zeroed });
    this.state = { kind: "constant", storage };
    return storage;
  }

  /** What was filled goes again. */
  empty(): void {
    if (this.state.kind !== "constant") return;
    this.state.storage.release();
    this.state = gone;
  }
}

function failValues(operation: string | null): never {
  return fail(
    "value",
    "fuse",
    operation === null
      ? "the elements of a tensor are asked for inside a fused function, where they have no values yet."
      : `${operation} cannot be part of a fused function: it looks at elements, and there they have no values yet.`,
    "It runs once, without elements, to be seen. Choose by where(…), or decide outside and pass what follows.",
  );
}

/* The trace ------------------------------------------------------------------------------------------------------- */

/** Plans are wanted for their shapes and dtypes; nothing is made ready. */
const planner: Executor = {
  refuses: () => null,
  prepare: () => ({ backend: "wasm", spent: {}, run: () => unreachable("a trace runs") }),
};

export class Trace implements Tracer {
  readonly notes: Note[] = [];
  readonly made: Made[] = [];
  /** Where each argument's frame begins in its storage. */
  readonly offsets: number[] = [];
  readonly #e: Engine;
  /** Storages of tensors that calls on constants made. */
  readonly #own = new Set<Storage>();
  /** Storages that may be filled from JavaScript. */
  readonly #filled: TracedStorage[] = [];

  /** A fold is done as a whole: whoever records knows it by its form. */
  readonly #wholeFolds: boolean;

  constructor(e: Engine, wholeFolds: boolean) {
    this.#e = e;
    this.#wholeFolds = wholeFolds;
  }

  /** A tensor without elements that lies as an argument does. */
  argument(of: Strided): Strided {
    const { start, end } = extent(of.frame);
    const offset = of.frame.offset - start;
    const storage = new TracedStorage(this.#e.heap, end - start, {
      kind: "argument",
      index: this.offsets.length,
    });
    this.offsets.push(offset);
    return { dtype: of.dtype, storage, frame: { ...of.frame, offset }, readOnly: of.readOnly };
  }

  /** Runs `fn` while calls come here. Given back besides are the tensors that were made meanwhile. */
  run<R>(fn: () => R): { result: R; tensors: readonly Tensor[] } {
    const e = this.#e;
    const { listener, executor, recorder } = e;
    const { depth } = e.scopes;
    const take = () => {
      const all: Tensor[] = [];
      while (e.scopes.depth > depth) all.push(...(e.scopes.take() as Tensor[]));
      return all;
    };
    e.scopes.enter();
    e.tracer = this;
    e.listener = null;
    e.recorder = null;
    e.executor = planner;
    try {
      const result = fn();
      return { result, tensors: take() };
    } catch (error) {
      this.letGo(take(), new Set());
      throw error;
    } finally {
      e.tracer = null;
      e.listener = listener;
      e.recorder = recorder;
      e.executor = executor;
    }
  }

  /** Runs `fn` as if nobody traced. */
  #untraced<R>(fn: () => R): R {
    const e = this.#e;
    const { executor } = e;
    e.tracer = null;
    e.executor = e.compiled;
    try {
      return fn();
    } finally {
      e.tracer = this;
      e.executor = executor;
    }
  }

  /** Tensors that were made while a function was traced, and that nothing needs, go. */
  letGo(tensors: readonly Tensor[], needed: ReadonlySet<Storage>): void {
    for (const t of tensors) {
      if (t.isDisposed) continue;
      const { storage } = stridedOf(t);
      if (!(storage instanceof TracedStorage) && !needed.has(storage)) t.dispose();
    }
    for (const storage of this.#filled) {
      const { state } = storage;
      if (state.kind === "constant" && !needed.has(state.storage)) storage.empty();
    }
  }

  refOf({ storage, dtype, frame }: Strided): Ref {
    return { place: this.#placeOf(storage), dtype, frame };
  }

  /** What is read after it was filled from JavaScript is the same in every call. */
  #placeOf(storage: Storage): Place {
    if (!(storage instanceof TracedStorage))
      return { kind: "captured", storage, isOwn: this.#own.has(storage) };
    const { state } = storage;
    if (state.kind === "argument" || state.kind === "made") return state;
    return { kind: "captured", storage: storage.filled(), isOwn: true };
  }

  storage(operation: string, bytes: number, zeroed: boolean): Storage {
    const storage = new TracedStorage(this.#e.heap, bytes, { kind: "new", operation, zeroed });
    this.#filled.push(storage);
    return storage;
  }

  execute<C extends Call>(form: Form<C>, call: C): Strided {
    if (this.#isConstant(call.inputs) && (call.out === null || this.#isConstant([call.out]))) {
      const result = this.#untraced(() => execute(form, call));
      this.#own.add(result.storage);
      return result;
    }
    const plan = this.#plan(form, call);
    const out = call.out === null ? this.#make(plan.dtype, plan.frame) : this.#into(call.operation, call.out);
    this.#note(call, plan, call.inputs, [out], (inputs, outs) => [
      execute(form, { ...call, inputs, out: outs[0] ?? null }),
    ]);
    return out;
  }

  executeSeveral<C extends Call>(form: Form<C>, call: C, outs: readonly Strided[]): Strided[] {
    const inputs = call.inputs.slice(outs.length);
    if (this.#isConstant(inputs) && this.#isConstant(outs)) {
      const results = this.#untraced(() => executeSeveral(form, call, outs));
      for (const { storage } of results) this.#own.add(storage);
      return results;
    }
    const plan = this.#plan(form, call);
    const made = [plan, ...(plan.more ?? [])].map(({ dtype, frame }, k) =>
      outs.length === 0 ? this.#make(dtype, frame) : this.#into(call.operation, outs[k]),
    );
    this.#note(call, plan, inputs, made, (given, into) =>
      executeSeveral(form, { ...call, inputs: [...into, ...given] }, into),
    );
    return made;
  }

  whole(operation: string, t: Strided, again: (t: Strided) => Strided): Strided {
    if (this.#isConstant([t])) {
      const result = this.#untraced(() => again(t));
      this.#own.add(result.storage);
      return result;
    }
    const { dtype, frame } = this.#tried(operation, t, again);
    const out = this.#make(dtype, frame);
    const run = (given: readonly Strided[]) => [again(given[0])];
    const inputs = [this.refOf(t)];
    this.#add({ kind: "whole", operation, inputs, outs: this.#ids([out]), run, writes: false });
    return out;
  }

  /** What it makes of one zero in the place of all elements: dtype and layout, and what it refuses. */
  #tried(operation: string, t: Strided, again: (t: Strided) => Strided): Pick<Strided, "dtype" | "frame"> {
    const { shape, itemBytes } = t.frame;
    const storage = createStorage(this.#e.heap, itemBytes, operation, { zeroed: true });
    const frame = { shape, strides: shape.map(() => 0), offset: 0, itemBytes };
    try {
      const made = this.#untraced(() => again({ dtype: t.dtype, storage, frame, readOnly: true }));
      made.storage.release();
      return made;
    } finally {
      storage.release();
    }
  }

  /** Is it known now, and the same in every call? A tensor from elsewhere may be written between calls. */
  #isConstant(tensors: readonly Strided[]): boolean {
    return tensors.every(({ storage }) =>
      storage instanceof TracedStorage
        ? storage.state.kind === "constant" ||
          (storage.state.kind === "new" && creations.has(storage.state.operation))
        : this.#own.has(storage),
    );
  }

  /** A captured value that does not fit is refused now, by the operation that it was given to. */
  #plan<C extends Call>(form: Form<C>, call: C): Plan {
    const plan = form.plan(call);
    plan.params.forEach((dtype, i) => {
      paramValue(call.values[i], dtype, call.operation);
    });
    return plan;
  }

  #make(dtype: DType, frame: View): Strided {
    const state = { kind: "made", id: this.made.length } as const;
    const storage = new TracedStorage(this.#e.heap, sizeOf(frame.shape) * frame.itemBytes, state);
    this.made.push({ dtype, frame, note: this.notes.length, part: 0 });
    return { dtype, storage, frame, readOnly: false };
  }

  /** What is allocated first and written next is made by the writing. */
  #into(operation: string, out: Strided): Strided {
    checkWritable(operation, out);
    const { storage, frame, dtype } = out;
    const isNew = storage instanceof TracedStorage && storage.state.kind === "new";
    const isWhole = sizeOf(frame.shape) * frame.itemBytes === storage.bytes;
    if (!isNew || !isWhole) {
      fail(
        "value",
        "fuse",
        isNew
          ? `${operation} writes a part of a tensor, ${list(frame.shape)}, inside a fused function.`
          : `${operation} writes into a tensor that is there already, inside a fused function.`,
        "A fused function makes new tensors: return them, or have them written with fused.into(out, …).",
      );
    }
    storage.state = { kind: "made", id: this.made.length };
    this.made.push({ dtype, frame, note: this.notes.length, part: 0 });
    return out;
  }

  #ids(outs: readonly Strided[]): number[] {
    return outs.map(({ storage }, part) => {
      const { state } = storage as TracedStorage;
      const id = state.kind === "made" ? state.id : unreachable("an output of nothing");
      this.made[id] = { ...this.made[id], part };
      return id;
    });
  }

  #note(
    call: Call,
    plan: Plan,
    inputs: readonly Strided[],
    made: readonly Strided[],
    again: WholeNote["run"],
  ): void {
    const { operation, values } = call;
    const { work } = plan;
    const outs = this.#ids(made);
    const seen = (views: readonly View[]): Ref[] =>
      inputs.map((t, k) => ({
        ...this.refOf(t),
        frame: { ...views[k], offset: t.frame.offset },
      }));
    const isMap = work.form === "elementwise" || work.form === "copy";
    // What may fail in the middle, a loop or a table, is left as it is.
    if (isMap && work.program !== null && !work.program.nodes.some(isEffect)) {
      const program = work.form === "copy" ? conversion(inputs[0].dtype, made[0].dtype) : work.program;
      const refs = seen(work.frames.slice(made.length));
      this.#add({ kind: "map", operation, inputs: refs, outs, program, values });
    } else if (
      !this.#wholeFolds &&
      work.form === "reduce" &&
      work.fold !== null &&
      work.sources.every((s) => s !== null)
    ) {
      const refs = seen(work.sources);
      this.#add({
        kind: "fold",
        operation,
        inputs: refs,
        outs,
        work: work as FoldNote["work"],
        values,
      });
    } else {
      const refs = inputs.map((t) => this.refOf(t));
      const writes = call.out !== null;
      this.#add({ kind: "whole", operation, inputs: refs, outs, run: again, writes });
    }
  }

  #add(note: Note): void {
    this.notes.push(note);
  }
}

/** x as another dtype. */
function conversion(from: DType, to: DType): Program {
  const b = new Builder();
  return b.finish(b.cast(to, b.input(0, from)), [from]);
}
