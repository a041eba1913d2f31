/** Losses: how far a prediction is from what was wanted. Each is made of operations that have gradients. */
import { log1p, logSoftmax, where } from "../api.ts";
import { type FloatDType, isFloat } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { oneHot } from "../library/creation.ts";
import { readOptions } from "../ops/arguments.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import { sameShape } from "../view/layout.ts";
import { hasScores, readClasses, within } from "./classes.ts";
import { type Reduction, reduced, surprises } from "./whole.ts";

/** What becomes of the losses of the elements. */
export interface LossOptions {
  /** What becomes of the losses of the elements: their mean (the default), their sum, or nothing. */
  readonly reduction?: "mean" | "sum" | "none";
}
const names = ["reduction"];

function reductionOf(operation: string, reduction: Reduction = "mean"): Reduction {
  if (reduction === "mean" || reduction === "sum" || reduction === "none") return reduction;
  return fail("value", operation, `reduction is ${describe(reduction)}.`, 'Use "mean", "sum" or "none".');
}

/** prediction - target, of one shape: broadcasting here would be a mistake. */
function apart(operation: string, prediction: Tensor, target: Tensor): Tensor {
  const [p, t] = [liveTensor(operation, prediction), liveTensor(operation, target)];
  if (!sameShape(p.shape, t.shape)) {
    fail(
      "shape",
      operation,
      `the prediction is ${list(p.shape)}, the target ${list(t.shape)}.`,
      "They have one shape: reshape the target, for instance with expandDims(-1).",
    );
  }
  if (!isFloat(p.dtype) && !isFloat(t.dtype)) {
    fail(
      "dtype",
      operation,
      `the prediction is ${p.dtype}, the target ${t.dtype}.`,
      'A distance of integers may not fit them: convert the prediction with to("f32").',
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
export function mse(prediction: Tensor, target: Tensor, options?: LossOptions): Tensor<FloatDType> {
  const { reduction } = readOptions("mse", options, '{ reduction: "sum" }', names);
  return reduced(apart("mse", prediction, target).square(), reductionOf("mse", reduction));
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
export function l1(prediction: Tensor, target: Tensor, options?: LossOptions): Tensor<FloatDType> {
  const { reduction } = readOptions("l1", options, '{ reduction: "sum" }', names);
  return reduced(apart("l1", prediction, target).abs(), reductionOf("l1", reduction));
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
export function huber(prediction: Tensor, target: Tensor, options?: HuberOptions): Tensor<FloatDType> {
  const { reduction, delta = 1 } = readOptions("huber", options, "{ delta: 2 }", ["delta", ...names]);
  if (!(typeof delta === "number" && delta > 0))
    fail("value", "huber", `delta is ${describe(delta)}.`, "Use a number above 0.");
  const distance = apart("huber", prediction, target).abs();
  const losses = where(
    distance.less(delta),
    distance.square().mul(0.5),
    distance.sub(0.5 * delta).mul(delta),
  );
  return reduced(losses, reductionOf("huber", reduction));
}

/** The options of `crossEntropy`. */
export interface CrossEntropyOptions extends LossOptions {
  /** So much of the wanted probability is spread over all classes. Default 0. */
  readonly labelSmoothing?: number;
}

/** Classes of the shape that the scores have without the last axis, none of them without a score. */
function classesFor(operation: string, scores: Tensor, classes: Tensor): Tensor {
  const [s, c] = [liveTensor(operation, scores), readClasses(operation, classes)];
  if (!hasScores(s, c)) {
    fail(
      "shape",
      operation,
      `the scores are ${list(s.shape)}, the classes ${list(c.shape)}.`,
      "Scores have one axis more, the last: a number for each class.",
    );
  }
  const count = s.shape[s.rank - 1];
  return within(operation, c, count, `a class is not among the ${count} that have scores`);
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
export function crossEntropy(
  logits: Tensor,
  classes: Tensor,
  options?: CrossEntropyOptions,
): Tensor<FloatDType> {
  const op = "crossEntropy";
  const read = readOptions(op, options, "{ labelSmoothing: 0.1 }", ["labelSmoothing", ...names]);
  const { reduction, labelSmoothing = 0 } = read;
  if (!(typeof labelSmoothing === "number" && labelSmoothing >= 0 && labelSmoothing <= 1))
    fail("value", op, `labelSmoothing is ${describe(labelSmoothing)}.`, "Use a number from 0 to 1.");
  const as = reductionOf(op, reduction);
  const wanted = classesFor(op, logits, classes);
  if (labelSmoothing === 0) return surprises(logits, wanted, as);
  const logs = logSoftmax(logits);
  const right = chosen(logs, wanted);
  const losses = right.mul(labelSmoothing - 1).sub(logs.mean({ axis: -1 }).mul(labelSmoothing));
  return reduced(losses, as);
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
export function nll(logProbabilities: Tensor, classes: Tensor, options?: LossOptions): Tensor<FloatDType> {
  const { reduction } = readOptions("nll", options, '{ reduction: "sum" }', names);
  const as = reductionOf("nll", reduction);
  const wanted = classesFor("nll", logProbabilities, classes);
  if (!isFloat(logProbabilities.dtype))
    fail(
      "dtype",
      "nll",
      `the logarithms are ${logProbabilities.dtype}.`,
      "They are floats, as logSoftmax makes them.",
    );
  return reduced(chosen(logProbabilities, wanted).neg(), as);
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
export function binaryCrossEntropy(
  logits: Tensor,
  target: Tensor,
  options?: LossOptions,
): Tensor<FloatDType> {
  const op = "binaryCrossEntropy";
  const { reduction } = readOptions(op, options, '{ reduction: "sum" }', names);
  apart(op, logits, target).dispose();
  const losses = logits.relu().sub(logits.mul(target)).add(log1p(logits.abs().neg().exp()));
  return reduced(losses, reductionOf(op, reduction));
}
