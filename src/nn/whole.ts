/**
 * Operations of several passes that are one to whoever records: what the way back needs of them is kept, and nothing else.
 * How gradients pass them is in grad/named.ts. While a function is traced they are made of plain operations, which fuse.
 */
import { arange, logSoftmax, mapReduce, scope, zip } from "../api.ts";
import type { FloatDType } from "../dtype.ts";
import { engine } from "../engine.ts";
import { noted } from "../ops/noted.ts";
import { stridedOf, type Tensor } from "../tensor.ts";

/** Runs `run` as one operation; the first tensor that it gives is the result, the others are kept for the way back. */
function asOne(
  name: string,
  operation: string,
  inputs: readonly Tensor[],
  facts: object,
  run: () => readonly Tensor[],
): Tensor {
  return scope(
    () => noted(name, inputs.map(stridedOf), facts, run, (made) => made.map(stridedOf), operation)[0],
  );
}

/* Linear ---------------------------------------------------------------------------------------------------------------- */

/** x·weightᵀ + bias, of matrices of one dtype. */
export function layerOf(x: Tensor, weight: Tensor, bias: Tensor | undefined): Tensor {
  const run = () => {
    const product = x.matmul(weight.T);
    return bias === undefined ? product : addedTo(product, bias);
  };
  const { recorder, tracer } = engine();
  const inputs = bias === undefined ? [x, weight] : [x, weight, bias];
  const isOne =
    inputs.every((t) => t.dtype === x.dtype) &&
    (bias === undefined || (bias.rank === 1 && bias.size === weight.shape[0]));
  if (recorder === null || tracer !== null || !isOne) return run();
  return asOne("linear", "linear", inputs, {}, () => [run()]);
}

/** y + bias, in y's own memory where that has the dtype for it; a function that is traced writes over nothing. */
const addedTo = (y: Tensor, bias: Tensor): Tensor =>
  bias.dtype === y.dtype && bias.rank === 1 && engine().tracer === null
    ? y.add(bias, { out: y })
    : y.add(bias);

/* Cross entropy ------------------------------------------------------------------------------------------------------ */

const ofClass = (log: number, c: number, place: number) => (c === place ? -log : 0);

/** What becomes of the losses of the elements. */
export type Reduction = "mean" | "sum" | "none";

/** Losses are floats. */
export const reduced = (losses: Tensor, reduction: Reduction): Tensor<FloatDType> =>
  (reduction === "none"
    ? losses
    : reduction === "sum"
      ? losses.sum()
      : losses.mean()) as Tensor as Tensor<FloatDType>;

/** -log of the probability that softmax gives to each class: logits […, C], classes […]. */
export function surprises(logits: Tensor, classes: Tensor, reduction: Reduction): Tensor<FloatDType> {
  const at = classes.expandDims(-1);
  const made = asOne("cross entropy", "crossEntropy", [logits, at], { reduction }, () => {
    const logs = logSoftmax(logits);
    const places = arange(logits.shape[logits.rank - 1], { dtype: "i32" });
    const losses = mapReduce([logs, at, places], ofClass, { axis: -1, dtype: logs.dtype as "f32" });
    return [reduced(losses, reduction), logs, places];
  });
  return made as Tensor as Tensor<FloatDType>;
}

/* Layer norm ---------------------------------------------------------------------------------------------------------- */

const apartSquared = (x: number, m: number) => (x - m) * (x - m);
const scaleOf = (sum: number, { n, eps }: { n: number; eps: number }) => 1 / Math.sqrt(sum / n + eps);
const normed = (x: number, m: number, r: number, w: number) => (x - m) * r * w;
const normedAndMoved = (x: number, m: number, r: number, w: number, b: number) => (x - m) * r * w + b;

/** May it be done in a few passes? Half floats are rounded between operations. */
export const canNormalise = (x: Tensor, weight: Tensor, bias: Tensor | undefined): boolean =>
  engine().tracer === null &&
  (x.dtype === "f32" || x.dtype === "f64") &&
  x.rank > 0 &&
  x.size > 0 &&
  [weight, bias].every(
    (t) => t === undefined || (t.dtype === x.dtype && t.rank === 1 && t.size === x.shape[x.rank - 1]),
  );

/** (x - mean) / √(variance + eps)·weight + bias along the last axis. */
export function normalised(x: Tensor, weight: Tensor, bias: Tensor | undefined, eps: number): Tensor {
  const n = x.shape[x.rank - 1];
  const inputs = bias === undefined ? [x, weight] : [x, weight, bias];
  return asOne("layer norm", "layerNorm", inputs, {}, () => {
    const along = { axis: -1, keepdims: true } as const;
    const mean = x.mean(along);
    const scale = zip([mapReduce([x, mean], apartSquared, along)], scaleOf, { with: { n, eps } });
    const y =
      bias === undefined
        ? zip([x, mean, scale, weight], normed)
        : zip([x, mean, scale, weight, bias], normedAndMoved);
    return [y, mean, scale];
  });
}
