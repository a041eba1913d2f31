/**
 * "strided/nn": what training takes besides gradients. Layers are functions of parameters, parameters are plain trees of
 * tensors, and nothing is hidden in objects. An entry of its own.
 */
export { checkNumbers } from "./nn/check.ts";
export { type Loader, type LoaderOptions, loader, type SampleSource } from "./nn/data.ts";
export { encodeTree, loadTree, saveTree } from "./nn/files.ts";
export { type FitOptions, type Fitted, fit, type Stepped } from "./nn/fit.ts";
export { accumulate, clipByNorm, clipByValue, gradientNorm } from "./nn/gradients.ts";
export type { Initialiser } from "./nn/init.ts";
export * as init from "./nn/init.ts";
export {
  type AttentionOptions,
  type AttentionParams,
  type BatchNormOptions,
  type BatchState,
  batchNorm,
  type ConvInitOptions,
  type ConvLayerOptions,
  conv1d,
  conv2d,
  type DropoutOptions,
  dropout,
  embedding,
  groupNorm,
  type LayerOptions,
  layerNorm,
  linear,
  multiHeadAttention,
  type NormOptions,
  rmsNorm,
  type Scaled,
  type Weighted,
} from "./nn/layers.ts";
export {
  binaryCrossEntropy,
  type CrossEntropyOptions,
  crossEntropy,
  type HuberOptions,
  huber,
  type LossOptions,
  l1,
  mse,
  nll,
} from "./nn/losses.ts";
export { accuracy, confusion, meanAbsoluteError, precisionRecall, r2 } from "./nn/metrics.ts";
export {
  type AdamOptions,
  adam,
  adamw,
  type Optimiser,
  type OptimiserOptions,
  type RmspropOptions,
  rmsprop,
  type SgdOptions,
  sgd,
} from "./nn/optimisers.ts";
export type { Progress } from "./nn/progress.ts";
export {
  constantRate,
  cosine,
  exponentialDecay,
  type Schedule,
  stepDecay,
  warmup,
} from "./nn/schedules.ts";
export type { InitOptions } from "./nn/source.ts";
export type { Which } from "./nn/tree.ts";
