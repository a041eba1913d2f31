/** Losses: how far a prediction is from what was wanted. Each is made of operations that have gradients. */
import { log1p, logSoftmax, where } from "../api.ts";
import { describe, fail, list } from "../errors.ts";
import { oneHot } from "../library/creation.ts";
import { readOptions } from "../ops/arguments.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import { hasScores, readClasses } from "./classes.ts";
import { checkRange, surprises } from "./whole.ts";

/** What becomes of the losses of the elements. */
export interface LossOptions {
  /** What becomes of the losses of the elements: their mean (the default), their sum, or nothing. */
  readonly reduction?: "mean" | "sum" | "none";
}
const names = ["reduction"];

function reduced(operation: string, losses: Tensor, reduction: LossOptions["reduction"] = "mean"): Tensor {
  if (reduction === "mean") return losses.mean();
  if (reduction === "sum") return losses.sum();
  if (reduction === "none") return losses;
  return fail("value", operation, `reduction is ${describe(reduction)}.`, 'Use "mean", "sum" or "none".');
}

/** prediction - target, of one shape: broadcasting here would be a mistake. */
function apart(operation: string, prediction: Tensor, target: Tensor): Tensor {
  const [p, t] = [liveTensor(operation, prediction), liveTensor(operation, target)];
  if (p.shape.join() !== t.shape.join()) {
    fail(
      "shape",
      operation,
      `the prediction is ${list(p.shape)}, the target ${list(t.shape)}.`,
      "They have one shape: reshape the target, for instance with expandDims(-1).",
    );
  }
  return p.sub(t);
}

/**
 * The square of the distance: (prediction - target)².
 *
 * @param prediction what a model gave
 * @param target what was wanted, of the same shape
 * @param options `reduction`: "mean" (default), "sum" or "none"
 * @returns a new tensor: one number, or the losses of all elements
 * @throws TensorError where shapes differ
 * @example
 * mse(tensor([1, 2]), tensor([1, 4])); // → f32 2
 */
export function mse(prediction: Tensor, target: Tensor, options?: LossOptions): Tensor {
  const { reduction } = readOptions("mse", options, '{ reduction: "sum" }', names);
  return reduced("mse", apart("mse", prediction, target).square(), reduction);
}

/**
 * The distance: |prediction - target|.
 *
 * @param prediction what a model gave
 * @param target what was wanted, of the same shape
 * @param options `reduction`: "mean" (default), "sum" or "none"
 * @returns a new tensor: one number, or the losses of all elements
 * @throws TensorError where shapes differ
 * @example
 * l1(tensor([1, 2]), tensor([1, 4])); // → f32 1
 */
export function l1(prediction: Tensor, target: Tensor, options?: LossOptions): Tensor {
  const { reduction } = readOptions("l1", options, '{ reduction: "sum" }', names);
  return reduced("l1", apart("l1", prediction, target).abs(), reduction);
}

/** The options of `huber`. */
export interface HuberOptions extends LossOptions {
  /** Where squares end and distances begin. Default 1. */
  readonly delta?: number;
}

/**
 * Half the square of small distances; of large ones, delta times what is beyond half of it.
 *
 * @param prediction what a model gave
 * @param target what was wanted, of the same shape
 * @param options `delta`: where squares end, default 1; `reduction`
 * @returns a new tensor: one number, or the losses of all elements
 * @example
 * huber(tensor([0]), tensor([3])); // → f32 2.5
 */
export function huber(prediction: Tensor, target: Tensor, options?: HuberOptions): Tensor {
  const { reduction, delta = 1 } = readOptions("huber", options, "{ delta: 2 }", ["delta", ...names]);
  if (!(typeof delta === "number" && delta > 0))
    fail("value", "huber", `delta is ${describe(delta)}.`, "Use a number above 0.");
  const distance = apart("huber", prediction, target).abs();
  const losses = where(
    distance.less(delta),
    distance.square().mul(0.5),
    distance.sub(0.5 * delta).mul(delta),
  );
  return reduced("huber", losses, reduction);
}

/** The options of `crossEntropy`. */
export interface CrossEntropyOptions extends LossOptions {
  /** So much of the wanted probability is spread over all classes. Default 0. */
  readonly labelSmoothing?: number;
}

/** Classes of the shape that the scores have without the last axis. */
function checkClasses(operation: string, scores: Tensor, classes: Tensor): void {
  const [s, c] = [liveTensor(operation, scores), readClasses(operation, classes)];
  if (hasScores(s, c)) return;
  fail(
    "shape",
    operation,
    `the scores are ${list(s.shape)}, the classes ${list(c.shape)}.`,
    "Scores have one axis more, the last: a number for each class.",
  );
}

/** Σ over the last axis of what the classes choose. */
const chosen = (scores: Tensor, classes: Tensor): Tensor =>
  scores.mul(oneHot(classes, scores.shape.at(-1)!, { dtype: scores.dtype })).sum({ axis: -1 });

/**
 * -log of the probability that softmax gives to the right class: logits […, C], classes […] as whole numbers.
 *
 *     crossEntropy(logits, tensor([2, 0], { dtype: "i32" }));
 *
 * @param logits scores, […, C]
 * @param classes whole numbers, […]
 * @param options `labelSmoothing`, `reduction`
 * @returns a new tensor: one number, or a loss a class
 * @throws TensorError where a class is out of range
 * @example
 * crossEntropy(tensor([[1000, 0]]), tensor([0], { dtype: "i32" })); // → f32 0
 */
export function crossEntropy(logits: Tensor, classes: Tensor, options?: CrossEntropyOptions): Tensor {
  const op = "crossEntropy";
  const read = readOptions(op, options, "{ labelSmoothing: 0.1 }", ["labelSmoothing", ...names]);
  const { reduction, labelSmoothing = 0 } = read;
  checkClasses(op, logits, classes);
  if (!(typeof labelSmoothing === "number" && labelSmoothing >= 0 && labelSmoothing <= 1))
    fail("value", op, `labelSmoothing is ${describe(labelSmoothing)}.`, "Use a number from 0 to 1.");
  checkRange(op, classes, logits.shape[logits.rank - 1]);
  if (labelSmoothing === 0) return reduced(op, surprises(logits, classes), reduction);
  const logs = logSoftmax(logits);
  const right = chosen(logs, classes);
  const losses = right.mul(labelSmoothing - 1).sub(logs.mean({ axis: -1 }).mul(labelSmoothing));
  return reduced(op, losses, reduction);
}

/**
 * -log of the probability of the right class, of logarithms that are there: logProbabilities […, C], classes […].
 *
 * @param logProbabilities logarithms, […, C]
 * @param classes whole numbers, […]
 * @param options `reduction`
 * @returns a new tensor: one number, or a loss a class
 * @throws TensorError where a class is out of range
 * @example
 * nll(tensor([[-1, -2]]), tensor([1], { dtype: "i32" })); // → f32 2
 */
export function nll(logProbabilities: Tensor, classes: Tensor, options?: LossOptions): Tensor {
  const { reduction } = readOptions("nll", options, '{ reduction: "sum" }', names);
  checkClasses("nll", logProbabilities, classes);
  checkRange("nll", classes, logProbabilities.shape[logProbabilities.rank - 1]);
  return reduced("nll", chosen(logProbabilities, classes).neg(), reduction);
}

/**
 * Cross entropy of yes and no, by logits: max(x, 0) - x·y + log(1 + exp(-|x|)), which never overflows.
 *
 * @param logits scores: yes is positive
 * @param target 0 or 1, or between them, of the same shape
 * @param options `reduction`
 * @returns a new tensor: one number, or the losses of all elements
 * @example
 * binaryCrossEntropy(tensor([1000]), tensor([1])); // → f32 0
 */
export function binaryCrossEntropy(logits: Tensor, target: Tensor, options?: LossOptions): Tensor {
  const op = "binaryCrossEntropy";
  const { reduction } = readOptions(op, options, '{ reduction: "sum" }', names);
  apart(op, logits, target).dispose();
  const losses = logits.relu().sub(logits.mul(target)).add(log1p(logits.abs().neg().exp()));
  return reduced(op, losses, reduction);
}
