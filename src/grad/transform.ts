/**
 * What users call: functions become functions that give their gradients. The function runs once, on tensors that stand for
 * its arguments, while a tape records; then the tape is walked back.
 */
import { full, zeros } from "../api.ts";
import { isFloat } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { heldIn } from "../memory/held.ts";
import { checkFlag, checkThunk, readList, readOptions } from "../ops/arguments.ts";
import { share } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { isTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sameShape, sizeOf } from "../view/layout.ts";
import { selfOverlaps } from "../view/overlap.ts";
import { isContiguous } from "../view/view.ts";
import type { Buffers } from "./buffers.ts";
import { ruleNamed } from "./named.ts";
import { formRules } from "./rules.ts";
import { inScope, type Rules, Tape } from "./tape.ts";
import { type Leaf, leavesLike, type ReadTree, readArguments, readTree, rebuilt } from "./tree.ts";

const rules: Rules = { ofCall: (_, plan) => formRules[plan.work.form], ofName: ruleNamed };

export const tensorsIn = (value: unknown): Set<Tensor> => heldIn(value, isTensor);

/* Recording ------------------------------------------------------------------------------------------------------ */

/** A tensor of an argument, as it is traced. */
export interface Variable extends Leaf {
  readonly of: Strided;
}

export interface Recording<R> {
  readonly tape: Tape;
  readonly result: R;
  /** The arguments that are traced, by their number: their trees, and the tensors in them. */
  readonly traced: ReadonlyMap<number, { readonly tree: ReadTree; readonly variables: readonly Variable[] }>;
}

/** Runs `f` with some of its arguments traced. The caller disposes the tape. */
export function record<R>(
  operation: string,
  f: (...args: never[]) => R,
  args: readonly unknown[],
  trees: ReadonlyMap<number, ReadTree>,
  isAgain = false,
): Recording<R> {
  const e = engine();
  const outer = e.recorder;
  const tape = new Tape(operation, rules, outer, isAgain);
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

export function isThenable(value: unknown): boolean {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  try {
    return "then" in value && typeof value.then === "function";
  } catch {
    return false;
  }
}

export function failAsync(operation: string, result: unknown): never {
  if (result instanceof Promise) result.catch(() => {});
  return fail(
    "value",
    operation,
    "the function returned a promise, and what it does after its first await is not recorded.",
    "Load what it needs before, and take the gradient of a synchronous function.",
  );
}

function checkFloats(operation: string, tree: ReadTree, argument: number, elsewhere: string): void {
  for (const leaf of tree.leaves) {
    if (isFloat(leaf.tensor.dtype)) continue;
    fail(
      "dtype",
      operation,
      `${nameOf(leaf, argument)} is ${leaf.tensor.dtype}.`,
      `Gradients are of floats: convert it with to("f32"), or ${elsewhere}.`,
    );
  }
}

function failConstant(operation: string, what: string): never {
  return fail(
    "value",
    operation,
    `${what}.`,
    "Gradients are of tensors: give one, such as tensor(3), or a tree that has some.",
  );
}

/** What has arrived at a variable, as a tensor of its shape. */
export function gradientOf(grads: Buffers, { of }: Variable): Tensor {
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
    if (tree.leaves.length === 0) {
      const it =
        typeof args[i] === "object" && args[i] !== null ? "has no tensors" : `is ${describe(args[i])}`;
      failConstant(operation, `argument ${i} ${it}`);
    }
    checkFloats(operation, tree, i, "pass it in an argument whose gradient is not taken");
    trees.set(i, tree);
  }
  return trees;
}

/** All arguments that have tensors; those are floats too. */
function allTrees(operation: string, args: readonly unknown[]): Map<number, ReadTree> {
  const trees = new Map<number, ReadTree>();
  args.forEach((arg, i) => {
    const tree = readTree(operation, arg);
    if (tree.leaves.length === 0) return;
    checkFloats(operation, tree, i, "let the function have it from outside");
    trees.set(i, tree);
  });
  if (trees.size === 0) failConstant(operation, "no argument has tensors");
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
 *     using way = vjp((a, b) => a.matmul(b), a, b);
 *     const [ga, gb] = way.pull(ones(way.value.shape));
 *
 * All tensors of the arguments are floats; numbers and other constants come back from `pull` as they are. What the way back
 * needs is kept until `dispose`, or to the end of a `using`, and no scope lets go of it.
 *
 * @param f a function of tensors, and of trees of them
 * @param args what it is called with
 * @returns `value`, and `pull`; `dispose` lets go of what was kept for it
 * @throws TensorError where a tensor of the arguments is no float, or none has tensors
 * @example
 * const { pull, dispose } = vjp((v) => v.square(), tensor([1, 2]));
 * const [g] = pull(ones([2]));
 * dispose();
 * g; // → f32 [2, 4]
 */
export function vjp<A extends unknown[], R>(f: (...args: A) => R, ...args: A): Vjp<A, R> {
  checkThunk("vjp", f, "vjp((x) => x.exp(), x)");
  return wayBack("vjp", f, args, allTrees("vjp", args));
}

/** The same for those arguments whose trees are given; the others are constants. */
export function wayBack<A extends unknown[], R>(
  op: string,
  f: (...args: A) => R,
  args: A,
  trees: ReadonlyMap<number, ReadTree>,
): Vjp<A, R> {
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

export function shapedAs(operation: string, value: Tensor, g: Tensor): Tensor {
  if (sameShape(value.shape, g.shape)) return g;
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
 * @throws TensorError where a tensor of the primals is no float, or none has tensors
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
    const forward = wayBack(op, f, at as A, allTrees(op, at));
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
