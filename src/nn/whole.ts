/**
 * Operations of several passes that are one to whoever records: what the way back needs of them is kept, and nothing else.
 * How gradients pass them is in grad/named.ts. While a function is traced they are made of plain operations, which fuse.
 */
import { arange, logSoftmax, mapReduce, scope, zip } from "../api.ts";
import { engine } from "../engine.ts";
import { fail } from "../errors.ts";
import { noted } from "../ops/noted.ts";
import { stridedOf, type Tensor } from "../tensor.ts";
import { unrecorded } from "./aside.ts";

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

/* Cross entropy ------------------------------------------------------------------------------------------------------ */

const isBeyond = (c: number, { count }: { count: number }) => (c < 0 || c >= count ? 1 : 0);
const ofClass = (log: number, c: number, place: number) => (c === place ? -log : 0);

/** Classes from 0 up to count. While a function is traced nobody knows them. */
export function checkRange(operation: string, classes: Tensor, count: number): void {
  if (engine().tracer !== null || classes.size === 0) return;
  const beyond = unrecorded(() =>
    scope(() => mapReduce([classes], isBeyond, { with: { count }, reduce: "max", dtype: "i32" }).item()),
  );
  if (Number(beyond) === 0) return;
  fail(
    "value",
    operation,
    `a class is not among the ${count} that have scores.`,
    `Classes are whole numbers from 0 to ${count - 1}.`,
  );
}

/** -log of the probability that softmax gives to each class: logits […, C], classes […]. */
export function surprises(logits: Tensor, classes: Tensor): Tensor {
  const at = classes.expandDims(-1);
  return asOne("cross entropy", "crossEntropy", [logits, at], {}, () => {
    const logs = logSoftmax(logits);
    const places = arange(logits.shape[logits.rank - 1], { dtype: "i32" });
    return [mapReduce([logs, at, places], ofClass, { axis: -1, dtype: logs.dtype as "f32" }), logs];
  });
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
