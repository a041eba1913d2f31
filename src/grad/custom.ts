/** Functions that are recorded as one step: with a gradient of their own, or computed again on the way back. */
import { zeros } from "../api.ts";
import { type DType, dtypes, isFloat } from "../dtype.ts";
import { engine, type GeneratorState, type Noted, type Recorder } from "../engine.ts";
import { describe, fail, list, TensorError } from "../errors.ts";
import { lastStorage, type Storage } from "../memory/storage.ts";
import { checkThunk, readList } from "../ops/arguments.ts";
import type { Call, Plan, Strided } from "../run/call.ts";
import { isTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sameShape } from "../view/layout.ts";
import { extent } from "../view/view.ts";
import { inScope, type Rule, Tape } from "./tape.ts";
import {
  failAsync,
  gradientOf,
  isThenable,
  type Recording,
  record,
  shapedAs,
  tensorsIn,
} from "./transform.ts";
import { type Leaf, placesIn, type ReadTree, readTree, rebuilt } from "./tree.ts";

/** What a function has from elsewhere, besides its arguments. */
class Surroundings {
  /** What is younger was made inside. */
  readonly #before = lastStorage();
  readonly #reads = new Map<Storage, Strided>();
  /** Generators, as they were before they were drawn from. */
  readonly #draws = new Map<GeneratorState, GeneratorState>();

  has({ storage }: Strided): boolean {
    return storage.origin.number <= this.#before;
  }

  /** Tensors whose elements it has read. */
  get reads(): readonly Strided[] {
    return [...this.#reads.values()].filter(({ storage }) => !storage.disposed);
  }

  read({ dtype, storage, frame }: Strided): void {
    const { origin } = storage;
    const known = this.#reads.get(origin);
    if (known?.frame === frame) return;
    const of = { dtype, storage: origin, frame, readOnly: true };
    this.#reads.set(origin, known === undefined ? of : spanOf(known, of, "u8"));
  }

  drawn(state: GeneratorState): void {
    if (!this.#draws.has(state)) this.#draws.set(state, { ...state });
  }

  /** Runs `fn` with generators as they were; then they go on from where they are now. */
  restored<R>(fn: () => R): R {
    const now = [...this.#draws.keys()].map((state) => ({ state, was: { ...state } }));
    for (const [state, was] of this.#draws) Object.assign(state, was);
    try {
      return fn();
    } finally {
      for (const { state, was } of now) Object.assign(state, was);
    }
  }
}

/** All from the first to the last byte that one of two tensors of a storage has. */
function spanOf(a: Strided, b: Strided, dtype: DType): Strided {
  const [p, q] = [extent(a.frame), extent(b.frame)];
  const [start, end] = [Math.min(p.start, q.start), Math.max(p.end, q.end)];
  const { bytes } = dtypes[dtype];
  const shape = [Math.floor((end - start) / bytes)];
  return { ...a, dtype, frame: { shape, strides: [bytes], offset: start, itemBytes: bytes } };
}

/**
 * Listens while a function runs that is recorded as a whole: it may only use traced tensors that it was given, and one that
 * runs again writes to nothing from elsewhere. What else it uses is remembered.
 */
class Guard implements Recorder {
  readonly around = new Surroundings();
  /** Where it has written to floats from elsewhere, by their storage. */
  readonly #left = new Map<Storage, Strided>();
  readonly #operation: string;
  readonly #outer: Recorder;
  readonly #given: ReadonlySet<Storage>;
  readonly #origins: ReadonlySet<Storage>;
  readonly #runsAgain: boolean;

  constructor(operation: string, outer: Recorder, given: readonly Strided[], runsAgain: boolean) {
    this.#operation = operation;
    this.#outer = outer;
    this.#given = new Set(given.map((t) => t.storage));
    this.#origins = new Set(given.map((t) => t.storage.origin));
    this.#runsAgain = runsAgain;
  }
  get isAgain(): boolean {
    return this.#outer.isAgain === true;
  }
  /** What it has written to and did not make. */
  get left(): readonly Strided[] {
    return [...this.#left.values()].filter(({ storage }) => !storage.disposed);
  }
  /** `t` may be a number. */
  #check(t: { readonly storage?: unknown }): void {
    if (t.storage === undefined) return;
    const of = t as Strided;
    if (this.#given.has(of.storage)) return;
    if (isTracedBy(this.#outer, of) && (this.#runsAgain || !isLeftBy(this.#outer, of))) {
      fail(
        "value",
        this.#operation,
        "the function uses a traced tensor that it was not given.",
        "Pass it as an argument, or stopGradient(t) for a constant.",
      );
    }
    if (this.around.has(of) && !this.#origins.has(of.storage.origin)) this.around.read(of);
  }
  ran(call: Call, _plan: Plan, out: Strided): void {
    for (const t of call.inputs) this.#check(t);
    this.#check(out);
  }
  viewed(): void {}
  noted({ inputs, outs, facts }: Noted): void {
    for (const t of inputs) this.#check(t);
    for (const t of outs) this.#check(t);
    const { around } = (facts ?? {}) as { readonly around?: unknown };
    if (around instanceof Surroundings) for (const t of around.reads) this.#check(t);
  }
  writes(operation: string, out: Strided): void {
    this.#check(out);
    if (this.#runsAgain && this.around.has(out)) {
      fail(
        "value",
        this.#operation,
        `${operation} writes to a tensor that the function did not make, and would again on the way back.`,
        "Return what is to be written, and write it after the call.",
      );
    }
    this.#outer.writes?.(operation, out);
    if (!this.around.has(out) || !isFloat(out.dtype)) return;
    const known = this.#left.get(out.storage);
    this.#left.set(out.storage, known === undefined ? out : spanOf(known, out, out.dtype));
  }
  touched(operation: string, of: Strided): void {
    if (operation === "set") this.writes(operation, of);
    else this.#check(of);
  }
  draws(state: GeneratorState): void {
    this.around.drawn(state);
    this.#outer.draws?.(state);
  }
  isTraced(of: Strided): boolean {
    return isTracedBy(this.#outer, of);
  }
  isLeft(of: Strided): boolean {
    return isLeftBy(this.#outer, of);
  }
}

const isTracedBy = (recorder: Recorder, of: Strided): boolean =>
  (recorder instanceof Tape || recorder instanceof Guard) && recorder.isTraced(of);

const isLeftBy = (recorder: Recorder, of: Strided): boolean =>
  (recorder instanceof Tape || recorder instanceof Guard) && recorder.isLeft(of);

/** Runs a function of trees as one step, whose way back is `pull`; `runsAgain`: that calls it once more. */
function asStep(
  operation: string,
  f: (...args: never[]) => unknown,
  args: readonly unknown[],
  runsAgain: boolean,
  rule: (results: ReadTree, trees: ReadTree, around: Surroundings) => Rule,
): unknown {
  const e = engine();
  const outer = e.recorder;
  const trees = readTree(operation, args);
  const inputs = trees.leaves.map(({ tensor }) => stridedOf(tensor));
  const run = (tensors: readonly Tensor[]) => {
    const made = f(...(rebuilt(trees.shape, tensors) as never[]));
    if (isThenable(made)) failAsync(operation, made);
    return made;
  };
  const tensors = trees.leaves.map((l) => l.tensor);
  if (outer === null || !inputs.some((t) => isTracedBy(outer, t))) return run(tensors);
  return inScope(() => {
    // Under names of its own: what it has of the same tensors from elsewhere is told apart.
    const own = runsAgain ? inputs.map((t) => wrap({ ...t, storage: t.storage.alias() })) : tensors;
    const guard = new Guard(operation, outer, own.map(stridedOf), runsAgain);
    e.recorder = guard;
    let results: ReadTree;
    try {
      results = readTree(operation, run(own));
      // What was there before and is handed back is a value of its own.
      const leaves = results.leaves.map((leaf) =>
        guard.around.has(stridedOf(leaf.tensor)) ? { ...leaf, tensor: leaf.tensor.clone() } : leaf,
      );
      results = { ...results, leaves };
    } finally {
      e.recorder = outer;
    }
    const outs = results.leaves.map(({ tensor }) => stridedOf(tensor));
    const { around, left } = guard;
    const facts = { rule: rule(results, trees, around), around, left };
    outer.noted?.({ name: "custom", operation, inputs, outs: [...outs, ...left], facts });
    return rebuilt(
      results.shape,
      results.leaves.map((l) => l.tensor),
    );
  }, tensorsIn);
}

/**
 * `f` with a gradient of your own: `pull` is given the gradient of the result, the arguments and the result, and gives one
 * gradient for each argument (null: none). For functions that are not traced (njit, data), and for better formulas.
 *
 *     const clipped = customGradient((x) => x.clip(-1, 1), (g) => [g]);
 *
 * @param f a function of tensors, and of trees of them
 * @param pull gets the result's gradient, the arguments and the result
 * @returns a function as f
 * @example
 * const x = tensor([5]);
 * const clipped = (v = x) => v.clip(-1, 1);
 * const through = customGradient(clipped, (g) => [g]);
 * const loss = (v = x) => through(v).sum();
 * grad(loss)(x); // → f32 [1]
 */
export function customGradient<A extends unknown[], R>(
  f: (...args: A) => R,
  pull: (
    g: NoInfer<R>,
    at: { readonly args: NoInfer<A>; readonly value: NoInfer<R> },
  ) => readonly unknown[] | unknown,
): (...args: A) => R {
  const op = "customGradient";
  checkThunk(op, f, "customGradient((x) => x.clip(-1, 1), (g) => [g])");
  checkThunk(op, pull, "customGradient((x) => x.clip(-1, 1), (g) => [g])");
  return (...args) =>
    asStep(op, f, args, false, (results, trees) => ({
      keep: ({ traced, inputs, outs }) => ({
        flows: traced,
        saves: [...inputs, ...outs.slice(0, results.leaves.length)],
      }),
      pull(back) {
        const own = back.outs.slice(0, results.leaves.length);
        checkLeft(op, back.g.slice(own.length));
        const given = rebuilt(trees.shape, back.inputs.map(back.value)) as A;
        const value = rebuilt(results.shape, own.map(back.value)) as R;
        const g = own.map((t, k) => back.g[k] ?? zeros(t.frame.shape, { dtype: t.dtype }));
        const made = pull(rebuilt(results.shape, g) as R, { args: given, value });
        const grads = placesIn(trees.shape, givenGradients(op, made, args.length));
        trees.leaves.forEach((leaf, i) => {
          if (!back.flows[i]) return;
          const t = gradientAt(op, leaf, grads[i]);
          if (t !== null) back.grads.give(back.inputs[i], shapedAs(op, leaf.tensor, t));
        });
      },
    })) as R;
}

/** A gradient of what the function wrote to and did not make: nobody has said what it is. */
function checkLeft(op: string, g: readonly (Tensor | null)[]): void {
  if (g.every((t) => t === null || t.equal(0).all().item() === true)) return;
  fail(
    "value",
    op,
    "the function wrote to a tensor that it did not make, and a gradient depends on what it wrote.",
    "Return what is written, and use it from there.",
  );
}

/** One for each argument: a list, or the only one. */
function givenGradients(op: string, made: unknown, count: number): readonly unknown[] {
  const listed = isTensor(made) ? [made] : readList(op, "the gradients", made);
  if (listed !== null && listed.length === count) return listed;
  return fail(
    "value",
    op,
    listed === null
      ? `pull returned ${describe(made)}.`
      : `pull returned ${listed.length} gradients for ${count} arguments.`,
    "Return a list with a gradient for each argument, null for those that have none.",
  );
}

function gradientAt(op: string, { path }: Leaf, at: unknown): Tensor | null {
  if (at === null || at === undefined) return null;
  if (isTensor(at)) {
    if (isFloat(at.dtype)) return at;
    return fail(
      "dtype",
      op,
      `the gradient of ${path} is ${at.dtype}.`,
      'Gradients are floats: convert it with to("f32"), or give null for none.',
    );
  }
  return fail("value", op, `the gradient of ${path} is ${describe(at)}.`, "Give a tensor, or null for none.");
}

/**
 * `f`, whose steps are not kept for the way back but computed again: less memory for one more run. It may only use traced
 * tensors that it is given.
 *
 *     const block = checkpoint((p, x) => attention(p, x));
 *
 * The second run finds what the first one found: generators (`dropout`) begin where they began, and statistics (`batchNorm`)
 * are kept once. What it uses besides its arguments must still be there and as it was, and it writes to nothing that it did
 * not make: all else is an error.
 *
 * @param f a function of tensors, and of trees of them
 * @returns a function as f
 * @throws TensorError where f writes to what it did not make, or what it uses has been written or disposed since
 * @example
 * const x = tensor([3]);
 * const square = (v = x) => v.square();
 * const block = checkpoint(square);
 * const loss = (v = x) => block(v).sum();
 * grad(loss)(x); // → f32 [6]
 */
export function checkpoint<A extends unknown[], R>(f: (...args: A) => R): (...args: A) => R {
  const op = "checkpoint";
  checkThunk(op, f, "checkpoint((params, x) => layer(params, x))");
  return (...args) =>
    asStep(op, f, args, true, (results, trees, around) => ({
      keep: ({ traced, inputs }) => ({ flows: traced, saves: [...inputs, ...around.reads] }),
      pull(back) {
        const given = back.inputs.map(back.value);
        const own: ReadTree = {
          shape: trees.shape,
          leaves: trees.leaves.map((leaf, i) => ({ ...leaf, tensor: given[i] })),
        };
        const again = around.restored(() => runAgain(op, f as unknown as (...args: never[]) => R, own));
        try {
          const { leaves } = readTree(op, again.result);
          checkAlike(op, results.leaves, leaves);
          const seeds = leaves.flatMap(({ tensor }, i) => {
            const g = back.g[i];
            return g === null ? [] : [{ of: stridedOf(tensor), g }];
          });
          const buffers = again.tape.pull(seeds, true);
          try {
            again.traced.get(0)!.variables.forEach((v, i) => {
              if (back.flows[i]) back.grads.give(back.inputs[i], gradientOf(buffers, v));
            });
          } finally {
            buffers.dispose();
          }
        } finally {
          again.tape.dispose();
        }
      },
    })) as R;
}

function runAgain<R>(op: string, f: (...args: never[]) => R, args: ReadTree): Recording<R> {
  try {
    return record(op, (list: unknown) => f(...(list as never[])), [null], new Map([[0, args]]), true);
  } catch (error) {
    if (!(error instanceof TensorError && error.code === "disposed")) throw error;
    return fail(
      "disposed",
      op,
      "the function uses a tensor that is none of its arguments, and that has been disposed since.",
      "It runs again on the way back, after the function around it has ended: pass the tensor as an argument.",
    );
  }
}

/** Did both runs give the same? */
function checkAlike(op: string, before: readonly Leaf[], now: readonly Leaf[]): void {
  const shown = ({ tensor: t }: Leaf) => `${t.dtype} ${list(t.shape)}`;
  const isAlike = ({ tensor: a }: Leaf, b: Leaf | undefined) =>
    b !== undefined && a.dtype === b.tensor.dtype && sameShape(a.shape, b.tensor.shape);
  if (before.length === now.length && before.every((leaf, i) => isAlike(leaf, now[i]))) return;
  fail(
    "shape",
    op,
    `the function gave ${before.map(shown).join(", ")}, and ${now.map(shown).join(", ")} when it ran again on the way back.`,
    "What it does may depend on its arguments alone.",
  );
}
