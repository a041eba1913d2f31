/** What is done to gradients between the way back and the step. All of it is in place. */

import { norm, scope } from "../api.ts";
import { describe, fail, list } from "../errors.ts";
import { type Leaf, leavesLike } from "../grad/tree.ts";
import { sameShape } from "../view/layout.ts";
import { unrecorded } from "./aside.ts";
import { leavesOf, mapTree, tensorsOf } from "./tree.ts";

function above(operation: string, name: string, value: unknown): number {
  if (typeof value === "number" && value > 0) return value;
  return fail("value", operation, `${name} is ${describe(value)}.`, "Use a number above 0.");
}

/**
 * The length of all gradients as one vector, in f64.
 *
 * @param grads a tree of tensors
 * @returns a number
 * @example
 * gradientNorm({ a: tensor([3]), b: tensor([4]) }); // → 5
 */
export function gradientNorm(grads: unknown): number {
  return lengthOf(tensorsOf("gradientNorm", grads, "the gradients"));
}
function lengthOf(leaves: readonly Leaf[]): number {
  return unrecorded(() =>
    scope(() => Math.hypot(...leaves.map(({ tensor }) => norm(tensor, { dtype: "f64" }).item() as number))),
  );
}

/**
 * Gradients that are longer, as one vector, become that long. Given back is how long they were.
 *
 * @param grads a tree of tensors, changed in place
 * @param most the length
 * @returns how long they were
 * @example
 * const grads = { w: tensor([3, 4]) };
 * clipByNorm(grads, 2.5); // → 5
 */
export function clipByNorm(grads: unknown, most: number): number {
  above("clipByNorm", "the norm", most);
  const leaves = tensorsOf("clipByNorm", grads, "the gradients");
  const length = lengthOf(leaves);
  const share = most / (length + 1e-6);
  if (share < 1)
    unrecorded(() => {
      // Of several places in the tree, too, a tensor is scaled once.
      for (const tensor of new Set(leaves.map((leaf) => leaf.tensor))) tensor.mul(share, { out: tensor });
    });
  return length;
}

/**
 * No element of a gradient is further from 0 than this.
 *
 * @param grads a tree of tensors, changed in place
 * @param most the distance
 * @example
 * const grads = { w: tensor([3, -4]) };
 * clipByValue(grads, 1);
 * grads.w; // → f32 [1, -1]
 */
export function clipByValue(grads: unknown, most: number): void {
  above("clipByValue", "the value", most);
  unrecorded(() => {
    for (const { tensor } of tensorsOf("clipByValue", grads, "the gradients"))
      tensor.clip(-most, most, { out: tensor });
  });
}

/**
 * sum + grads·share, in place; null: a copy of the first. For batches that are too large for one.
 *
 * @param sum what came so far, or null
 * @param grads a tree of tensors
 * @param share what they count, default 1
 * @returns the sum
 * @example
 * const first = accumulate(null, { w: tensor([1]) });
 * accumulate(first, { w: tensor([2]) }).w; // → f32 [3]
 */
export function accumulate<G>(sum: G | null, grads: G, share = 1): G {
  return unrecorded(() => {
    if (sum === null) return mapTree("accumulate", grads, (t) => t.mul(share));
    const into = leavesOf("accumulate", sum);
    leavesLike("accumulate", into, grads, "the gradients").forEach(({ path, tensor }, i) => {
      const out = into[i].tensor;
      if (!sameShape(out.shape, tensor.shape))
        fail(
          "shape",
          "accumulate",
          `${path || "the gradient"} is ${list(tensor.shape)}, and ${list(out.shape)} in the sum.`,
          "Both are gradients of one model.",
        );
      scope(() => {
        out.add(tensor.mul(share), { out });
      });
    });
    return sum;
  });
}
