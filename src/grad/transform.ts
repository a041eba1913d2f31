/**
 * What users call: functions become functions that give their gradients. The function runs once, on tensors that stand for
 * its arguments, while a tape records; then the tape is walked back.
 */
import { full, zeros } from "../api.ts";
import { isFloat } from "../dtype.ts";
import { engine, type Noted, type Recorder } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { heldIn } from "../memory/held.ts";
import { checkFlag, checkThunk, readList, readOptions } from "../ops/arguments.ts";
import { share } from "../ops/strided.ts";
import type { Call, Plan, Strided } from "../run/call.ts";
import { isTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { selfOverlaps } from "../view/overlap.ts";
import { isContiguous } from "../view/view.ts";
import type { Buffers } from "./buffers.ts";
import { ruleNamed } from "./named.ts";
import { formRules } from "./rules.ts";
import { inScope, type Rule, type Rules, Tape } from "./tape.ts";
import { type Leaf, leavesLike, type ReadTree, readArguments, readTree, rebuilt } from "./tree.ts";

const rules: Rules = { ofCall: (_, plan) => formRules[plan.work.form], ofName: ruleNamed };

const tensorsIn = (value: unknown): Set<Tensor> => heldIn(value, isTensor);

/* Recording ------------------------------------------------------------------------------------------------------ */

/** A tensor of an argument, as it is traced. */
interface Variable extends Leaf {
  readonly of: Strided;
}

interface Recording<R> {
  readonly tape: Tape;
  readonly result: R;
  /** The arguments that are traced, by their number: their trees, and the tensors in them. */
  readonly traced: ReadonlyMap<number, { readonly tree: ReadTree; readonly variables: readonly Variable[] }>;
}

/** Runs `f` with some of its arguments traced. The caller disposes the tape. */
function record<R>(
  operation: string,
  f: (...args: never[]) => R,
  args: readonly unknown[],
  trees: ReadonlyMap<number, ReadTree>,
): Recording<R> {
  const e = engine();
  const outer = e.recorder;
  const tape = new Tape(operation, rules, outer);
  const traced = new Map<number, { tree: ReadTree; variables: Variable[] }>();
  try {
    const result = inScope(() => {
      const given = args.map((arg, i) => {
        const tree = trees.get(i);
        if (tree === undefined) return arg;
        const variables: Variable[] = [];
        const tensors = tree.leaves.map((leaf) => {
          const isOne = isFloat(leaf.tensor.dtype);
          const t = isOne ? tape.trace(ownElements(leaf.tensor), nameOf(leaf, i)) : leaf.tensor;
          variables.push({ ...leaf, of: stridedOf(t) });
          return t;
        });
        traced.set(i, { tree, variables });
        return rebuilt(tree.shape, tensors);
      });
      e.recorder = tape;
      let made: R;
      try {
        made = f(...(given as never[]));
      } finally {
        e.recorder = outer;
      }
      if (isThenable(made)) failAsync(operation, made);
      return made;
    }, tensorsIn);
    return { tape, result, traced };
  } catch (error) {
    tape.dispose();
    throw error;
  }
}

const nameOf = ({ path }: Leaf, argument: number): string =>
  path === "" ? `argument ${argument}` : `argument ${argument}'s ${path}`;

/** Elements that share memory are variables of their own: they get memory of their own. */
function ownElements(t: Tensor): Strided {
  const of = stridedOf(t);
  return selfOverlaps(of.frame) ? stridedOf(t.clone()) : of;
}

function isThenable(value: unknown): boolean {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  try {
    return "then" in value && typeof value.then === "function";
  } catch {
    return false;
  }
}

function failAsync(operation: string, result: unknown): never {
  if (result instanceof Promise) result.catch(() => {});
  return fail(
    "value",
    operation,
    "the function returned a promise, and what it does after its first await is not recorded.",
    "Load what it needs before, and take the gradient of a synchronous function.",
  );
}

function checkFloats(operation: string, tree: ReadTree, argument: number): void {
  for (const leaf of tree.leaves) {
    if (isFloat(leaf.tensor.dtype)) continue;
    fail(
      "dtype",
      operation,
      `${nameOf(leaf, argument)} is ${leaf.tensor.dtype}.`,
      'Gradients are of floats: convert it with to("f32"), or pass it in an argument whose gradient is not taken.',
    );
  }
}

/** What has arrived at a variable, as a tensor of its shape. */
function gradientOf(grads: Buffers, { of }: Variable): Tensor {
  const at = grads.owned(of);
  if (at === null) return zeros(of.frame.shape, { dtype: of.dtype });
  const own = wrap(share(at, at.frame));
  // A part of a buffer would hold all of it.
  const isWhole = at.storage.bytes === sizeOf(at.frame.shape) * at.frame.itemBytes;
  return isWhole && isContiguous(at.frame) ? own : own.clone();
}

/** Gradients of the traced arguments, as trees like them. */
function collected(recording: Recording<unknown>, grads: Buffers): Map<number, unknown> {
  const made = new Map<number, unknown>();
  for (const [i, { tree, variables }] of recording.traced) {
    made.set(
      i,
      rebuilt(
        tree.shape,
        variables.map((v) => gradientOf(grads, v)),
      ),
    );
  }
  return made;
}

/* Gradients -------------------------------------------------------------------------------------------------------- */

/** Which arguments to derive by. */
export interface GradOptions<W extends number | readonly number[] = number> {
  /** Of which argument, or of which, counted from 0; default the first. */
  readonly wrt?: W;
}

/** Gradients of the arguments W of a function: one tree, or a list of them. */
export type GradsOf<A extends readonly unknown[], W> = W extends readonly number[]
  ? { -readonly [K in keyof W]: Exclude<A[W[K] & keyof A], undefined> }
  : Exclude<A[W & keyof A], undefined>;

/** What `valueAndGrad`'s functions give. */
export interface ValueAndGrads<V, G> {
  /** What the function gave. */
  readonly value: V;
  /** Trees of the same form as the arguments that they are the gradients of. */
  readonly grads: G;
}

/** The arguments to derive by, as numbers. */
function argumentsOf(
  operation: string,
  wrt: unknown,
): { readonly all: readonly number[]; readonly isList: boolean } {
  const given = readList(operation, "wrt", wrt);
  const all = given ?? [wrt === undefined ? 0 : wrt];
  for (const i of all) {
    if (Number.isInteger(i) && (i as number) >= 0) continue;
    fail(
      "value",
      operation,
      `wrt is ${describe(i)}.`,
      "Give the number of an argument, counted from 0, or several.",
    );
  }
  return { all: all as number[], isList: given !== null };
}

function treesOf(operation: string, args: readonly unknown[], wrt: readonly number[]): Map<number, ReadTree> {
  const trees = new Map<number, ReadTree>();
  for (const i of wrt) {
    if (i >= args.length) {
      const has = args.length === 1 ? "there is 1 argument" : `there are ${args.length} arguments`;
      fail("value", operation, `wrt is ${i}, and ${has}.`, "Count them from 0.");
    }
    const tree = readTree(operation, args[i]);
    checkFloats(operation, tree, i);
    trees.set(i, tree);
  }
  return trees;
}

/** A loss: one number. */
function scalarOf(operation: string, value: unknown): Tensor {
  if (!isTensor(value)) {
    fail(
      "value",
      operation,
      `the function returned ${describe(value)}.`,
      "It must return a tensor of one element, such as a loss: end with sum() or mean().",
    );
  }
  if (!isFloat(value.dtype) || value.size !== 1) {
    fail(
      value.size === 1 ? "dtype" : "shape",
      operation,
      `the function returned ${value.dtype} ${list(value.shape)}.`,
      "Gradients are of one float: end with sum() or mean(); vjp takes results of any shape.",
    );
  }
  return value;
}

/**
 * A function that gives the value of `f`, a tensor of one element, and its gradients by its first argument (or by those
 * that `wrt` counts): tensors, or trees of them, in trees of the same form.
 *
 *     const step = valueAndGrad((p, x, y) => x.matmul(p.w).add(p.b).sub(y).square().mean());
 *     const { value, grads } = step(params, x, y); // grads.w, grads.b
 *
 * What `f` makes and does not return is freed, as in a scope. With { aux: true } it returns [loss, more], and `more` comes
 * back as `aux`.
 *
 * @param f a function of tensors, and of trees of them, that gives one number
 * @param options `wrt`: which arguments, default the first; `aux`: f gives more than the loss
 * @returns a function of the same arguments, which gives `value` and `grads`
 * @throws TensorError where the value has more than one element, or something on the way has no gradient
 * @example
 * const x = tensor([1, 2, 3]);
 * const loss = (v = x) => v.square().sum();
 * const { value, grads } = valueAndGrad(loss)(x);
 * value; // → f32 14
 * grads; // → f32 [2, 4, 6]
 */
export function valueAndGrad<A extends unknown[], X, const W extends number | readonly number[] = 0>(
  f: (...args: A) => readonly [Tensor, X],
  options: GradOptions<W> & { readonly aux: true },
): (...args: A) => ValueAndGrads<Tensor, GradsOf<A, W>> & { readonly aux: X };
export function valueAndGrad<
  A extends unknown[],
  V extends Tensor,
  const W extends number | readonly number[] = 0,
>(
  f: (...args: A) => V,
  options?: GradOptions<W> & { readonly aux?: false },
): (...args: A) => ValueAndGrads<V, GradsOf<A, W>>;
export function valueAndGrad(
  f: (...args: never[]) => unknown,
  options: GradOptions<number | readonly number[]> & { readonly aux?: boolean } = {},
): (...args: unknown[]) => unknown {
  const op = "valueAndGrad";
  const read = readOptions(op, options, "{ wrt: [0, 1] }", ["wrt", "aux"]);
  checkThunk(op, f, "valueAndGrad((params, x) => loss)");
  checkFlag(op, "aux", read.aux);
  const { all, isList } = argumentsOf(op, read.wrt);
  return (...args) => gradients(op, f, args, all, isList, read.aux === true);
}

function gradients(
  op: string,
  f: (...args: never[]) => unknown,
  args: readonly unknown[],
  wrt: readonly number[],
  isList: boolean,
  hasAux: boolean,
): { readonly value: Tensor; readonly grads: unknown; readonly aux?: unknown } {
  const trees = treesOf(op, args, wrt);
  return inScope(() => {
    const recording = record(op, f, args, trees);
    const { tape, result } = recording;
    try {
      const parts = hasAux ? pairOf(op, result) : ([result, undefined] as const);
      const value = scalarOf(op, parts[0]);
      const g = full(value.shape, 1, { dtype: value.dtype });
      const buffers = tape.pull([{ of: stridedOf(value), g, isOurs: true }], true);
      try {
        const made = collected(recording, buffers);
        const grads = isList ? wrt.map((i) => made.get(i)) : made.get(wrt[0]);
        return hasAux ? { value, grads, aux: parts[1] } : { value, grads };
      } finally {
        buffers.dispose();
      }
    } finally {
      tape.dispose();
    }
  }, tensorsIn);
}

function pairOf(op: string, result: unknown): readonly [unknown, unknown] {
  const pair = readList(op, "what the function returned", result);
  if (pair?.length === 2) return pair as unknown as readonly [unknown, unknown];
  return fail(
    "value",
    op,
    `the function returned ${describe(result)}.`,
    "With { aux: true } it returns [loss, more].",
  );
}

/**
 * As `valueAndGrad`, the gradients alone.
 *
 *     grad((x) => x.square().sum())(tensor([1, 2, 3])); // 2, 4, 6
 *
 * @param f a function of tensors, and of trees of them, that gives one number
 * @param options `wrt`: which arguments, default the first
 * @returns a function of the same arguments, which gives gradients
 * @example
 * const x = tensor([1, 2, 3]);
 * const loss = (v = x) => v.square().sum();
 * grad(loss)(x); // → f32 [2, 4, 6]
 */
export function grad<A extends unknown[], const W extends number | readonly number[] = 0>(
  f: (...args: A) => Tensor,
  options: GradOptions<W> = {},
): (...args: A) => GradsOf<A, W> {
  const op = "grad";
  const read = readOptions(op, options, "{ wrt: [0, 1] }", ["wrt"]);
  checkThunk(op, f, "grad((x) => x.square().sum())");
  const { all, isList } = argumentsOf(op, read.wrt);
  return (...args) => {
    const { value, grads } = gradients(op, f, args, all, isList, false);
    value.dispose();
    return grads as GradsOf<A, W>;
  };
}

/* Products with Jacobians -------------------------------------------------------------------------------------------- */

/** The value of a function, and the way back from it. */
export interface Vjp<A extends readonly unknown[], R> {
  /** What the function gave. */
  readonly value: R;
  /** The gradients of the arguments, given one for each tensor of the value; as often as wanted. */
  pull(g: R): A;
  /** Lets go of what the way back needs. */
  dispose(): void;
  [Symbol.dispose](): void;
}

const disposeSymbol: typeof Symbol.dispose = Symbol.dispose ?? (Symbol.for("Symbol.dispose") as never);

/**
 * The value of f(…args), a tensor or a tree of them, and `pull`, which takes gradients of the value to those of all
 * arguments: the product of a vector and the Jacobian.
 *
 *     using { value, pull } = vjp((a, b) => a.matmul(b), a, b);
 *     const [ga, gb] = pull(ones(value.shape));
 *
 * @param f a function of tensors, and of trees of them
 * @param args what it is called with
 * @returns `value`, and `pull`; `dispose` lets go of what was kept for it
 * @example
 * const { value, pull } = vjp((v) => v.square(), tensor([1, 2]));
 * const [g] = pull(ones([2]));
 * g; // → f32 [2, 4]
 */
export function vjp<A extends unknown[], R>(f: (...args: A) => R, ...args: A): Vjp<A, R> {
  const op = "vjp";
  checkThunk(op, f, "vjp((x) => x.exp(), x)");
  const trees = treesOf(op, args, floatArguments(op, args));
  const recording = record(op, f as unknown as (...args: never[]) => R, args, trees);
  const { tape, result } = recording;
  const results = readTree(op, result).leaves;
  let isOpen = true;
  const dispose = () => {
    isOpen = false;
    tape.dispose();
  };
  const pull = (g: R): A => {
    if (!isOpen)
      fail("disposed", op, "pull is called after dispose.", "Dispose when no more gradients are wanted.");
    return inScope(() => {
      const given = leavesLike(op, results, g, "the gradient");
      const seeds = results.map(({ tensor }, i) => ({
        of: stridedOf(tensor),
        g: shapedAs(op, tensor, given[i].tensor),
      }));
      const buffers = tape.pull(seeds, false);
      try {
        const made = collected(recording, buffers);
        return args.map((arg, i) => (made.has(i) ? made.get(i) : arg)) as A;
      } finally {
        buffers.dispose();
      }
    }, tensorsIn);
  };
  return { value: result, pull, dispose, [disposeSymbol]: dispose };
}

/** Arguments with tensors of floats; integers among them are passed as they are. */
function floatArguments(operation: string, args: readonly unknown[]): number[] {
  return args.flatMap((arg, i) => {
    const { leaves } = readTree(operation, arg);
    return leaves.length > 0 && leaves.every(({ tensor }) => isFloat(tensor.dtype)) ? [i] : [];
  });
}

function shapedAs(operation: string, value: Tensor, g: Tensor): Tensor {
  if (list(value.shape) === list(g.shape)) return g;
  return fail(
    "shape",
    operation,
    `the gradient is ${list(g.shape)}, the value ${list(value.shape)}.`,
    "Give a gradient of the value's shape.",
  );
}

/**
 * The value of f(…primals) and how it moves as the primals move by the tangents: the product of the Jacobian and a vector.
 *
 *     const { value, tangent } = jvp((x) => x.sin(), [x], [ones(x.shape)]);
 *
 * @param f a function of tensors, and of trees of them
 * @param primals where
 * @param tangents which way
 * @returns `value` and `tangent`
 * @example
 * const x = tensor([3]);
 * const square = (v = x) => v.square();
 * jvp(square, [x], [tensor([1])]).tangent; // → f32 [6]
 */
export function jvp<A extends unknown[], R>(
  f: (...args: A) => R,
  primals: readonly [...A],
  tangents: readonly [...A],
): { readonly value: R; readonly tangent: R } {
  const op = "jvp";
  checkThunk(op, f, "jvp((x) => x.exp(), [x], [dx])");
  const at = readArguments(op, "primals", primals);
  const along = readArguments(op, "tangents", tangents);
  if (at === null || along === null || at.length !== along.length) {
    fail(
      "value",
      op,
      "primals and tangents are not lists of one length.",
      "Give both as arrays: jvp(f, [x], [dx]).",
    );
  }
  return inScope(() => {
    const forward = vjp(f, ...(at as A));
    try {
      // The way back is linear in what it is given: its own way back is the way forward.
      const ones = readTree(op, forward.value);
      const dual = rebuilt(
        ones.shape,
        ones.leaves.map(({ tensor }) => full(tensor.shape, 1, { dtype: tensor.dtype })),
      );
      const back = record(op, (g: never) => forward.pull(g), [dual], new Map([[0, readTree(op, dual)]]));
      try {
        const moved = readTree(op, back.result).leaves;
        const given = leavesLike(op, readTree(op, at).leaves, along, "tangents");
        const seeds = moved.map(({ tensor }, i) => ({
          of: stridedOf(tensor),
          g: shapedAs(op, tensor, given[i].tensor),
        }));
        const buffers = back.tape.pull(seeds, true);
        try {
          return { value: forward.value, tangent: collected(back, buffers).get(0) as R };
        } finally {
          buffers.dispose();
        }
      } finally {
        back.tape.dispose();
      }
    } finally {
      forward.dispose();
    }
  }, tensorsIn);
}

/**
 * The product of the Hessian of f, by its first argument, and a vector (a tree like that argument): how the gradient moves
 * along it, at the cost of a few gradients.
 *
 *     hvp((x) => x.pow(3).sum(), [x], v); // 6·x·v
 *
 * @param f a function that gives one number
 * @param args where
 * @param vector a tree as the first argument
 * @returns a tree as the first argument
 * @example
 * hvp((v) => v.pow(3).sum(), [tensor([2])], tensor([1])); // → f32 [12]
 */
export function hvp<A extends [unknown, ...unknown[]]>(
  f: (...args: A) => Tensor,
  args: readonly [...A],
  vector: A[0],
): A[0] {
  const op = "hvp";
  checkThunk(op, f, "hvp((x) => x.pow(3).sum(), [x], v)");
  const given = readArguments(op, "the arguments", args);
  if (given === null || given.length === 0) {
    fail("value", op, `the arguments are ${describe(args)}.`, "Give them as an array: hvp(f, [x], v).");
  }
  const [first, ...rest] = given as A;
  const along = leavesLike(op, readTree(op, first).leaves, vector, "the vector");
  const slope = grad(f);
  const dot = (x: unknown) => {
    const moved = readTree(op, slope(...([x, ...rest] as A))).leaves;
    const parts = moved.map(({ tensor }, i) => tensor.mul(shapedAs(op, tensor, along[i].tensor)).sum());
    return parts.reduce((a, b) => a.add(b));
  };
  return grad(dot)(first) as A[0];
}

/* What is not recorded -------------------------------------------------------------------------------------------------- */

/**
 * The same elements as a constant: no gradient flows through it. Of a tensor, or of all tensors in a tree.
 *
 *     const target = stopGradient(network(params, x));
 *
 * @param value a tensor, or a tree of them
 * @returns the same elements
 * @example
 * const x = tensor([3]);
 * const loss = (v = x) => v.mul(stopGradient(v)).sum();
 * grad(loss)(x); // → f32 [3]
 */
export function stopGradient<T>(value: T): T {
  const { shape, leaves } = readTree("stopGradient", value);
  const made = leaves.map(({ tensor }) => {
    const of = stridedOf(tensor);
    return wrap({ ...of, storage: of.storage.alias() });
  });
  return rebuilt(shape, made) as T;
}

/** Listens while a function runs that is recorded as a whole: it may only use traced tensors that it was given. */
class Guard implements Recorder {
  readonly #operation: string;
  readonly #outer: Recorder;
  readonly #given: ReadonlySet<unknown>;

  constructor(operation: string, outer: Recorder, inputs: readonly Strided[]) {
    this.#operation = operation;
    this.#outer = outer;
    this.#given = new Set(inputs.map((t) => t.storage));
  }
  #check(t: { readonly storage?: unknown }): void {
    if (t.storage === undefined || this.#given.has(t.storage) || !isTracedBy(this.#outer, t as Strided))
      return;
    fail(
      "value",
      this.#operation,
      "the function uses a traced tensor that it was not given.",
      "Pass it as an argument, or stopGradient(t) for a constant.",
    );
  }
  ran(call: Call, _plan: Plan, out: Strided): void {
    for (const t of [...call.inputs, out]) this.#check(t);
  }
  viewed(): void {}
  noted({ inputs, outs }: Noted): void {
    for (const t of [...inputs, ...outs]) this.#check(t);
  }
  writes(_operation: string, out: Strided): void {
    this.#check(out);
  }
  touched(_operation: string, of: Strided): void {
    this.#check(of);
  }
  isTraced(of: Strided): boolean {
    return isTracedBy(this.#outer, of);
  }
}

const isTracedBy = (recorder: Recorder, of: Strided): boolean =>
  (recorder instanceof Tape || recorder instanceof Guard) && recorder.isTraced(of);

/** Runs a function of trees as one step, whose way back is `pull`. */
function asStep(
  operation: string,
  f: (...args: never[]) => unknown,
  args: readonly unknown[],
  rule: (results: ReadTree, trees: ReadTree) => Rule,
): unknown {
  const e = engine();
  const outer = e.recorder;
  const trees = readTree(operation, args);
  const inputs = trees.leaves.map(({ tensor }) => stridedOf(tensor));
  const run = () => {
    const made = f(
      ...(rebuilt(
        trees.shape,
        trees.leaves.map((l) => l.tensor),
      ) as never[]),
    );
    if (isThenable(made)) failAsync(operation, made);
    return made;
  };
  if (outer === null || !inputs.some((t) => isTracedBy(outer, t))) return run();
  return inScope(() => {
    e.recorder = new Guard(operation, outer, inputs);
    let results: ReadTree;
    try {
      const made = run();
      results = readTree(operation, made);
      // What it was given and hands back is a value of its own.
      const storages = new Set(inputs.map((t) => t.storage));
      const own = results.leaves.map(({ tensor }) =>
        storages.has(stridedOf(tensor).storage) ? tensor.clone() : tensor,
      );
      results = { ...results, leaves: results.leaves.map((leaf, i) => ({ ...leaf, tensor: own[i] })) };
    } finally {
      e.recorder = outer;
    }
    const outs = results.leaves.map(({ tensor }) => stridedOf(tensor));
    outer.noted?.({ name: "custom", operation, inputs, outs, facts: { rule: rule(results, trees) } });
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
    asStep(op, f, args, (results, trees) => ({
      keep: ({ traced, inputs, outs }) => ({ flows: traced, saves: [...inputs, ...outs] }),
      pull(back) {
        const given = rebuilt(trees.shape, back.inputs.map(back.value)) as A;
        const value = rebuilt(results.shape, back.outs.map(back.value)) as R;
        const g = back.g.map((t, k) => t ?? zeros(back.outs[k].frame.shape, { dtype: back.outs[k].dtype }));
        const made = pull(rebuilt(results.shape, g) as R, { args: given, value });
        const grads = givenGradients(op, made, args.length);
        trees.leaves.forEach((leaf, i) => {
          if (!back.flows[i]) return;
          const t = gradientAt(op, grads, leaf);
          if (t !== null) back.grads.give(back.inputs[i], shapedAs(op, leaf.tensor, t));
        });
      },
    })) as R;
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

function gradientAt(op: string, grads: readonly unknown[], { path }: Leaf): Tensor | null {
  let at: unknown = grads;
  for (const key of path.split("."))
    at = at === null || at === undefined ? null : (at as Record<string, unknown>)[key];
  if (at === null || at === undefined) return null;
  if (isTensor(at)) return at;
  return fail("value", op, `the gradient of ${path} is ${describe(at)}.`, "Give a tensor, or null for none.");
}

/**
 * `f`, whose steps are not kept for the way back but computed again: less memory for one more run. It may only use traced
 * tensors that it is given.
 *
 *     const block = checkpoint((p, x) => attention(p, x));
 *
 * @param f a function of tensors, and of trees of them
 * @returns a function as f
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
    asStep(op, f, args, (results, trees) => ({
      keep: ({ traced, inputs }) => ({ flows: traced, saves: inputs }),
      pull(back) {
        const given = back.inputs.map(back.value);
        const own: ReadTree = {
          shape: trees.shape,
          leaves: trees.leaves.map((leaf, i) => ({ ...leaf, tensor: given[i] })),
        };
        // Only those that a gradient is wanted of are traced: the rest are as they were.
        const floats = new Map([[0, own]]);
        const again = record(op, (list: unknown) => f(...(list as A)), [null], floats);
        try {
          const leaves = readTree(op, again.result).leaves;
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
        void results;
      },
    })) as R;
}
