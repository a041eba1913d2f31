/** Losses: how far a prediction is from what was wanted. Each is made of operations that have gradients. */
import { log1p, logSoftmax, where } from "../api.ts";
import { isInteger } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { oneHot } from "../library/creation.ts";
import { readOptions } from "../ops/arguments.ts";
import { liveTensor, type Tensor } from "../tensor.ts";

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

/** (prediction - target)². */
export function mse(prediction: Tensor, target: Tensor, options?: LossOptions): Tensor {
  const { reduction } = readOptions("mse", options, '{ reduction: "sum" }', names);
  return reduced("mse", apart("mse", prediction, target).square(), reduction);
}

/** |prediction - target|. */
export function l1(prediction: Tensor, target: Tensor, options?: LossOptions): Tensor {
  const { reduction } = readOptions("l1", options, '{ reduction: "sum" }', names);
  return reduced("l1", apart("l1", prediction, target).abs(), reduction);
}

export interface HuberOptions extends LossOptions {
  /** Where squares end and distances begin. Default 1. */
  readonly delta?: number;
}

/** Half the square of small distances; of large ones, delta times what is beyond half of it. */
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

export interface CrossEntropyOptions extends LossOptions {
  /** So much of the wanted probability is spread over all classes. Default 0. */
  readonly labelSmoothing?: number;
}

/** Classes as numbers: whole, and of the shape that the others have without the last axis. */
function checkClasses(operation: string, scores: Tensor, classes: Tensor): void {
  const [s, c] = [liveTensor(operation, scores), liveTensor(operation, classes)];
  if (!isInteger(c.dtype))
    fail(
      "dtype",
      operation,
      `the classes are ${c.dtype}.`,
      'They are whole numbers: convert with to("i32").',
    );
  if (s.rank === 0 || s.shape.slice(0, -1).join() !== c.shape.join()) {
    fail(
      "shape",
      operation,
      `the scores are ${list(s.shape)}, the classes ${list(c.shape)}.`,
      "Scores have one axis more, the last: a number for each class.",
    );
  }
}

/** Σ over the last axis of what the classes choose. */
const chosen = (scores: Tensor, classes: Tensor): Tensor =>
  scores.mul(oneHot(classes, scores.shape.at(-1)!, { dtype: scores.dtype })).sum({ axis: -1 });

/**
 * -log of the probability that softmax gives to the right class: logits […, C], classes […] as whole numbers.
 *
 *     crossEntropy(logits, tensor([2, 0], { dtype: "i32" }));
 */
export function crossEntropy(logits: Tensor, classes: Tensor, options?: CrossEntropyOptions): Tensor {
  const op = "crossEntropy";
  const read = readOptions(op, options, "{ labelSmoothing: 0.1 }", ["labelSmoothing", ...names]);
  const { reduction, labelSmoothing = 0 } = read;
  checkClasses(op, logits, classes);
  if (!(typeof labelSmoothing === "number" && labelSmoothing >= 0 && labelSmoothing <= 1))
    fail("value", op, `labelSmoothing is ${describe(labelSmoothing)}.`, "Use a number from 0 to 1.");
  const logs = logSoftmax(logits);
  const right = chosen(logs, classes);
  const losses =
    labelSmoothing === 0
      ? right.neg()
      : right.mul(labelSmoothing - 1).sub(logs.mean({ axis: -1 }).mul(labelSmoothing));
  return reduced(op, losses, reduction);
}

/** -log of the probability of the right class, of logarithms that are there: logProbabilities […, C], classes […]. */
export function nll(logProbabilities: Tensor, classes: Tensor, options?: LossOptions): Tensor {
  const { reduction } = readOptions("nll", options, '{ reduction: "sum" }', names);
  checkClasses("nll", logProbabilities, classes);
  return reduced("nll", chosen(logProbabilities, classes).neg(), reduction);
}

/** Cross entropy of yes and no, by logits: max(x, 0) - x·y + log(1 + exp(-|x|)), which never overflows. */
export function binaryCrossEntropy(logits: Tensor, target: Tensor, options?: LossOptions): Tensor {
  const op = "binaryCrossEntropy";
  const { reduction } = readOptions(op, options, '{ reduction: "sum" }', names);
  apart(op, logits, target).dispose();
  const losses = logits.relu().sub(logits.mul(target)).add(log1p(logits.abs().neg().exp()));
  return reduced(op, losses, reduction);
}
