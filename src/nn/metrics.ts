/** Metrics: how good predictions are, as numbers to look at. */
import { ones, scope, zeros } from "../api.ts";
import { isInteger } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { scatterAdd } from "../library/indexing.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import { sameShape } from "../view/layout.ts";
import { unrecorded } from "./aside.ts";
import { hasScores, readClasses, within } from "./classes.ts";

/** Classes of scores, the likeliest of the last axis; classes themselves stay what they are, and true is 1. */
function classesOf(operation: string, predicted: Tensor, classes: Tensor): Tensor {
  const [p, c] = [liveTensor(operation, predicted), readClasses(operation, classes)];
  if (sameShape(p.shape, c.shape) && isInteger(p.dtype)) return p;
  if (sameShape(p.shape, c.shape) && p.dtype === "bool") return p.to("i32");
  if (hasScores(p, c)) return p.argmax({ axis: -1 });
  return fail(
    "shape",
    operation,
    `the predictions are ${list(p.shape)} of ${p.dtype}, the classes ${list(c.shape)}.`,
    "Give scores with one axis more than the classes, or classes of one shape.",
  );
}

/** The classes in a row, each below count. */
const amongAll = (operation: string, classes: Tensor, count: number): Tensor =>
  within(operation, classes, count, `a class is not among the ${count}`).to("i64").reshape([-1]);

/** Both in f64, of one shape: the distances of integers do not fit them. */
function inFloats(operation: string, prediction: Tensor, target: Tensor): [Tensor, Tensor] {
  const [p, t] = [liveTensor(operation, prediction), liveTensor(operation, target)];
  if (sameShape(p.shape, t.shape)) return [p.to("f64"), t.to("f64")];
  return fail(
    "shape",
    operation,
    `the prediction is ${list(p.shape)}, the target ${list(t.shape)}.`,
    "They have one shape.",
  );
}

const quietly = <R>(fn: () => R): R => unrecorded(() => scope(fn));

/**
 * How many predictions are right, of all: of scores […, C] or of classes […].
 *
 * @param predicted scores […, C], or classes […]
 * @param classes the right ones
 * @returns from 0 to 1
 * @example
 * accuracy(tensor([[1, 9], [9, 1]]), tensor([1, 1], { dtype: "i32" })); // → 0.5
 */
export function accuracy(predicted: Tensor, classes: Tensor): number {
  return quietly(
    () => classesOf("accuracy", predicted, classes).equal(classes).mean({ dtype: "f64" }).item() as number,
  );
}

/**
 * How often class i was taken for class j: [classes, classes], i64.
 *
 * @param predicted scores […, C], or classes […]
 * @param classes the right ones
 * @param count how many classes there are
 * @returns a new matrix: rows are the right ones
 * @example
 * const [a, b] = [tensor([1, 1], { dtype: "i32" }), tensor([0, 1], { dtype: "i32" })];
 * confusion(a, b, 2); // → i64 [[0n, 1n], [0n, 1n]]
 */
export function confusion(predicted: Tensor, classes: Tensor, count: number): Tensor<"i64"> {
  if (!(Number.isSafeInteger(count) && count > 0))
    fail("value", "confusion", `the number of classes is ${describe(count)}.`, "Use a whole number from 1.");
  return quietly(() => {
    const guessed = amongAll("confusion", classesOf("confusion", predicted, classes), count);
    const places = amongAll("confusion", classes, count).mul(count).add(guessed);
    const flat = zeros([count * count], { dtype: "i64" });
    scatterAdd(flat, places, ones([places.size], { dtype: "i64" }));
    return flat.reshape([count, count]) as Tensor<"i64">;
  });
}

/**
 * How much of the variance is explained: 1 is all of it, 0 what the mean would do.
 *
 * @param prediction what a model gave
 * @param target what was wanted, of the same shape
 * @returns 1 at the most
 * @example
 * r2(tensor([1, 2]), tensor([1, 2])); // → 1
 */
export function r2(prediction: Tensor, target: Tensor): number {
  return quietly(() => {
    const [p, t] = inFloats("r2", prediction, target);
    const left = t.sub(p).square().sum().item() as number;
    const all = t.sub(t.mean()).square().sum().item() as number;
    return 1 - left / all;
  });
}

/**
 * The mean distance.
 *
 * @param prediction what a model gave
 * @param target what was wanted, of the same shape
 * @returns a number
 * @example
 * meanAbsoluteError(tensor([1, 2]), tensor([1, 4])); // → 1
 */
export function meanAbsoluteError(prediction: Tensor, target: Tensor): number {
  return quietly(() => {
    const [p, t] = inFloats("meanAbsoluteError", prediction, target);
    return p.sub(t).abs().mean().item() as number;
  });
}

/**
 * Of the ones that were taken for class 1, how many are; of those that are, how many were taken so; and both in one.
 *
 * @param predicted scores […, 2], or 0 and 1, or booleans
 * @param classes the right ones
 * @returns `precision`, `recall` and `f1`; NaN where nothing was taken for class 1, nothing is, or neither
 * @example
 * precisionRecall(tensor([1, 1], { dtype: "i32" }), tensor([0, 1], { dtype: "i32" })).precision; // → 0.5
 */
export function precisionRecall(
  predicted: Tensor,
  classes: Tensor,
): { precision: number; recall: number; f1: number } {
  return quietly(() => {
    const op = "precisionRecall";
    const guess = amongAll(op, classesOf(op, predicted, classes), 2).equal(1);
    const truth = amongAll(op, classes, 2).equal(1);
    const sum = (t: Tensor) => Number(t.sum().item());
    const hits = sum(guess.logicalAnd(truth));
    const [taken, there] = [sum(guess), sum(truth)];
    return { precision: hits / taken, recall: hits / there, f1: (2 * hits) / (taken + there) };
  });
}
