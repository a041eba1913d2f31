/** Gradients against differences: whether what a function says of itself is so. */
import { tensor } from "../api.ts";
import { isFloat } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { checkThunk, readOptions } from "../ops/arguments.ts";
import { isTensor, type Tensor } from "../tensor.ts";
import { inScope } from "./tape.ts";
import { type Vjp, wayBack } from "./transform.ts";
import { readArguments, readTree, rebuilt } from "./tree.ts";

/** How the comparison is made. */
export interface GradcheckOptions {
  /** How far the arguments are moved; default 1e-4, with the error of two distances cancelled. */
  readonly step?: number;
  /** How far the two may lie apart, relative to the larger of 1 and the gradient; default 1e-6. */
  readonly tolerance?: number;
  /** 2 checks the gradient of the gradient too. Default 1. */
  readonly order?: 1 | 2;
}

/**
 * Compares the gradients of f, by all its arguments, with differences, element by element, and gives the largest distance;
 * more than the tolerance is an error that says where. The arguments are f64; f returns a tensor, or a tree of them.
 *
 *     gradcheck((x, w) => x.matmul(w).tanh(), [x, w], { order: 2 });
 *
 * @param f a function of tensors, and of trees of them
 * @param args where, in f64
 * @param options `order` 1 or 2, tolerances and more
 * @returns the largest distance
 * @throws TensorError where it is more than the tolerance
 * @example
 * gradcheck((v) => v.tanh(), [tensor([0.5], { dtype: "f64" })]) < 1e-6; // → true
 */
export function gradcheck<A extends readonly unknown[]>(
  f: (...args: A) => unknown,
  args: readonly [...A],
  options: GradcheckOptions = {},
): number {
  const op = "gradcheck";
  const read = readOptions(op, options, "{ order: 2 }", ["step", "tolerance", "order"]);
  const { step = 1e-4, tolerance = 1e-6, order = 1 } = read;
  for (const [name, value] of Object.entries({ step, tolerance })) {
    if (!(typeof value === "number" && value > 0)) {
      fail("value", op, `${name} is ${describe(value)}.`, "Use a number above 0.");
    }
  }
  if (order !== 1 && order !== 2) fail("value", op, `order is ${describe(order)}.`, "Use 1 or 2.");
  checkThunk(op, f, "gradcheck((x) => x.exp(), [x])");
  const given = readArguments(op, "the arguments", args);
  if (given === null)
    return fail("value", op, `the arguments are ${describe(args)}.`, "Give them as an array.");
  const fn = f as unknown as (...args: unknown[]) => unknown;
  return inScope(() => {
    const once = compare(op, fn, given, step, tolerance, "the gradient");
    if (order === 1) return once;
    const twice = (...all: unknown[]): unknown => {
      const forward = backOf(op, fn, all.slice(1));
      try {
        return forward.pull(all[0]);
      } finally {
        forward.dispose();
      }
    };
    const { value, dispose } = backOf(op, fn, given);
    dispose();
    const { shape, leaves } = readTree(op, value);
    // Gradients that are not all alike, so that nothing cancels.
    const g = rebuilt(
      shape,
      leaves.map(({ tensor: t }) => varied(t)),
    );
    const second = compare(op, twice, [g, ...given], step, tolerance, "the gradient of the gradient");
    return Math.max(once, second);
  });
}

/** The way back to the floats among the arguments: integers are constants. */
function backOf(
  op: string,
  f: (...args: unknown[]) => unknown,
  args: readonly unknown[],
): Vjp<unknown[], unknown> {
  const trees = args.map((arg, i) => [i, readTree(op, arg)] as const);
  const traced = trees.filter(([, tree]) => tree.leaves.some(({ tensor: t }) => isFloat(t.dtype)));
  return wayBack(op, f, [...args], new Map(traced));
}

/** Numbers from 0.5 to 1.5 in the shape of a tensor. */
function varied(t: Tensor): Tensor {
  const values = Float64Array.from({ length: t.size }, (_, i) => 0.5 + ((i * 0.618033988749895) % 1));
  return tensor(values).reshape(t.shape);
}

function compare(
  op: string,
  f: (...args: unknown[]) => unknown,
  args: readonly unknown[],
  step: number,
  tolerance: number,
  what: string,
): number {
  const tree = readTree(op, args);
  const places = tree.leaves.filter(({ tensor: t }) => t.dtype === "f64");
  for (const { path, tensor: t } of tree.leaves) {
    if (t.dtype === "f32" || t.dtype === "f16" || t.dtype === "bf16") {
      fail(
        "dtype",
        op,
        `argument ${path} is ${t.dtype}.`,
        'Differences need f64: convert it with to("f64").',
      );
    }
  }
  const forward = backOf(op, f, args);
  const results = readTree(op, forward.value);
  const weights = results.leaves.map(({ tensor: t }) => varied(t));
  const pulled = forward.pull(rebuilt(results.shape, weights));
  forward.dispose();
  const gradients = readTree(op, pulled).leaves;
  let largest = 0;
  for (const { path, tensor: t } of places) {
    const gradient = gradients.find((leaf) => leaf.path === path)!.tensor;
    const exact = gradient.toTypedArray() as Float64Array;
    const elements = t.toTypedArray() as Float64Array;
    for (let i = 0; i < elements.length; i++) {
      const at = (h: number): number =>
        inScope(() => {
          const moved = elements.slice();
          moved[i] += h;
          const other = tensor(moved).reshape(t.shape);
          const changed = tree.leaves.map((leaf) => (leaf.path === path ? other : leaf.tensor));
          return weighted(f(...(rebuilt(tree.shape, changed) as unknown[])), weights);
        });
      const slope = (h: number) => (at(h) - at(-h)) / (2 * h);
      // The error of a difference grows with h²: two of them tell how far off they are.
      const wanted = (4 * slope(step / 2) - slope(step)) / 3;
      const distance = Math.abs(exact[i] - wanted) / Math.max(1, Math.abs(wanted));
      if (!(distance <= tolerance)) {
        fail(
          "value",
          op,
          `${what} of argument ${path} ${list(t.shape)} is ${exact[i]} at element ${i}, differences give ${wanted}.`,
          "Check the gradient's formula; at kinks and steps there is none.",
        );
      }
      largest = Math.max(largest, distance);
    }
  }
  return largest;
}

/** Σ of all results, each with a weight of its own. */
function weighted(value: unknown, weights: readonly Tensor[]): number {
  const { leaves } = readTree("gradcheck", value);
  let sum = 0;
  leaves.forEach(({ tensor: t }, k) => {
    if (!isTensor(t)) return;
    const [x, w] = [t.to("f64").toTypedArray(), weights[k].toTypedArray() as Float64Array];
    for (let i = 0; i < x.length; i++) sum += x[i] * w[i];
  });
  return sum;
}
