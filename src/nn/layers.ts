/**
 * Layers as functions of their parameters and of what flows through: nothing is kept in them. Parameters are plain objects of
 * tensors, named and shaped as torch has them; each layer makes its own with `init`.
 */
import { ones as onesOf, softmax, zip } from "../api.ts";
import { type FloatDType, isInteger } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, isRevoked, list } from "../errors.ts";
import { type ConvOptions, conv1d as convolve1d, conv2d as convolve2d } from "../library/convolution.ts";
import { tril } from "../library/creation.ts";
import { take } from "../library/indexing.ts";
import type { RandomGenerator } from "../library/random.ts";
import { numberList, readOptions } from "../ops/arguments.ts";
import { isTensor, liveTensor, type Tensor } from "../tensor.ts";
import { unrecorded } from "./aside.ts";
import { within } from "./classes.ts";
import { type Initialiser, kaimingUniform, normal, ones, uniform, zeros } from "./init.ts";
import { checkGenerator, type InitOptions, sourceOf } from "./source.ts";
import { canNormalise, layerOf, normalised } from "./whole.ts";

/** A whole number of things, from 1. */
function count(operation: string, name: string, value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  return fail("value", operation, `${name} is ${describe(value)}.`, "Use a whole number from 1.");
}

/** What a layer is given as its parameters: each of these names of its own, read once. */
function partsOf<P extends object>(operation: string, params: P, names: readonly (keyof P & string)[]): P {
  if (typeof params !== "object" || params === null || isRevoked(params) || isTensor(params)) {
    fail(
      "value",
      operation,
      `the parameters are ${describe(params)}.`,
      `Give { ${names.join(", ")} }, as ${operation}.init makes them.`,
    );
  }
  const read: Partial<P> = {};
  for (const name of names) if (Object.hasOwn(params, name)) read[name] = params[name];
  return read as P;
}

/** The same where they are tensors; there may be no bias. */
function own<P extends object>(operation: string, params: P, names: readonly (keyof P & string)[]): P {
  const read = partsOf(operation, params, names);
  for (const name of names)
    if (name !== "bias" || read[name] !== undefined) liveTensor(operation, read[name]);
  return read;
}

/** Torch's: even, within 1 / √inputs. */
const biasOf = (inputs: number): Initialiser => uniform(-1 / Math.sqrt(inputs), 1 / Math.sqrt(inputs));
const torchs = kaimingUniform(Math.sqrt(5));

/** How a layer's parameters begin. */
export interface LayerOptions extends InitOptions {
  /** Is there a bias? Default true. */
  readonly bias?: boolean;
  /** How the weight begins. Default: as in torch. */
  readonly weight?: Initialiser;
}
const layerNames = ["bias", "weight", "rng", "dtype"];

/** A weight, and a bias where there is one. */
export interface Weighted {
  /** What the input is multiplied with. */
  readonly weight: Tensor;
  /** What is added; there may be none. */
  readonly bias?: Tensor;
}

function weighted(operation: string, shape: readonly number[], fan: number, options: LayerOptions): Weighted {
  const {
    bias = true,
    weight = torchs,
    ...rest
  } = readOptions(operation, options, "{ bias: false }", layerNames);
  const { rng, dtype } = sourceOf(operation, rest);
  const made = weight(shape, rng, dtype);
  return bias ? { weight: made, bias: biasOf(fan)([shape[0]], rng, dtype) } : { weight: made };
}

/**
 * x·weightᵀ + bias, over the last axis.
 *
 *     const p = linear.init(784, 10, { rng: 1 });
 *     linear(p, images); // [N, 784] → [N, 10]
 */
export const linear: {
  (params: Weighted, x: Tensor): Tensor;
  init(inputs: number, outputs: number, options?: LayerOptions): Weighted;
} = /* @__PURE__ */ Object.assign(
  (params: Weighted, x: Tensor): Tensor => {
    const { weight, bias } = own("linear", params, ["weight", "bias"]);
    const { shape } = liveTensor("linear", x);
    const [outputs, inputs] = weight.shape;
    if (weight.rank !== 2 || shape.at(-1) !== inputs) {
      fail(
        "shape",
        "linear",
        `x is ${list(shape)}, the weight ${list(weight.shape)}.`,
        "x's last axis is the weight's second: [outputs, inputs].",
      );
    }
    // One product of two matrices, however many axes x has.
    const flat = shape.length === 2 ? x : x.reshape([-1, inputs]);
    const y = layerOf(flat, weight, bias);
    return shape.length === 2 ? y : y.reshape([...shape.slice(0, -1), outputs]);
  },
  {
    init: (inputs: number, outputs: number, options: LayerOptions = {}) => {
      const shape = [count("linear.init", "outputs", outputs), count("linear.init", "inputs", inputs)];
      return weighted("linear.init", shape, inputs, options);
    },
  },
);

/** The options of a convolution: those of `conv2d` of strided, without the bias. */
export type ConvLayerOptions = Omit<ConvOptions, "bias">;
/** How a convolution's parameters begin. */
export interface ConvInitOptions extends LayerOptions {
  /** Channels are split into so many groups; default 1. */
  readonly groups?: number;
}

interface Convolution {
  (params: Weighted, x: Tensor, options?: ConvLayerOptions): Tensor;
  init(
    inputs: number,
    outputs: number,
    size: number | readonly number[],
    options?: ConvInitOptions,
  ): Weighted;
}

const convolution = (
  name: "conv1d" | "conv2d",
  axes: number,
  run: (x: Tensor, weight: Tensor, options: ConvOptions) => Tensor,
): Convolution =>
  Object.assign(
    (params: Weighted, x: Tensor, options: ConvLayerOptions = {}): Tensor => {
      const { weight, bias } = own(name, params, ["weight", "bias"]);
      const given = readOptions<ConvOptions>(name, options, "{ padding: 1 }");
      if (given.bias !== undefined)
        fail("value", name, "the bias is among the options.", "It is a parameter: { weight, bias }.");
      return run(x, weight, bias === undefined ? given : { ...given, bias });
    },
    {
      init: (
        inputs: number,
        outputs: number,
        size: number | readonly number[],
        options: ConvInitOptions = {},
      ): Weighted => {
        const op = `${name}.init`;
        const { groups = 1, ...rest } = readOptions(op, options, "{ bias: false }", [
          "groups",
          ...layerNames,
        ]);
        const taps =
          typeof size === "number" ? new Array<number>(axes).fill(size) : numberList(op, "the size", size);
        taps.forEach((n, d) => {
          count(op, `size ${d}`, n);
        });
        const shape = [
          count(op, "outputs", outputs),
          count(op, "inputs", inputs) / count(op, "groups", groups),
          ...taps,
        ];
        return weighted(
          op,
          shape,
          shape.slice(1).reduce((a, b) => a * b, 1),
          rest,
        );
      },
    },
  );

/** Windows along one axis: x [N, C, L] → [N, O, L']. */
export const conv1d: Convolution = /* @__PURE__ */ convolution("conv1d", 1, (x, w, o) => convolve1d(x, w, o));
/** Windows along two axes: x [N, C, H, W] → [N, O, H', W']. */
export const conv2d: Convolution = /* @__PURE__ */ convolution("conv2d", 2, (x, w, o) => convolve2d(x, w, o));

/**
 * A row of the table for every index: indices […] → […, size].
 *
 *     const p = embedding.init(65, 32);
 *     embedding(p, tensor([[3, 1]], { dtype: "i32" })); // [1, 2, 32]
 */
export const embedding: {
  (params: { readonly weight: Tensor }, indices: Tensor): Tensor;
  init(
    words: number,
    size: number,
    options?: Pick<LayerOptions, "weight" | "rng" | "dtype">,
  ): { weight: Tensor };
} = /* @__PURE__ */ Object.assign(
  (params: { readonly weight: Tensor }, indices: Tensor): Tensor => {
    const { weight } = own("embedding", params, ["weight"]);
    const words = weight.rank === 0 ? 0 : weight.shape[0];
    const places = isInteger(liveTensor("embedding", indices).dtype)
      ? within("embedding", indices, words, `an index is not among the ${words} words`)
      : indices;
    return take(weight, places, { axis: 0 });
  },
  {
    init: (words: number, size: number, options: Pick<LayerOptions, "weight" | "rng" | "dtype"> = {}) => {
      const op = "embedding.init";
      const { weight = normal(), ...rest } = readOptions(op, options, "{ rng: 1 }", [
        "weight",
        "rng",
        "dtype",
      ]);
      const { rng, dtype } = sourceOf(op, rest);
      return { weight: weight([count(op, "words", words), count(op, "size", size)], rng, dtype) };
    },
  },
);

/* Norms ------------------------------------------------------------------------------------------------------------- */

/** A scale, and a shift where there is one. */
export interface Scaled {
  /** The scale. */
  readonly weight: Tensor;
  /** The shift; there may be none. */
  readonly bias?: Tensor;
}
/** The options of normalisations. */
export interface NormOptions {
  /** Added to the variance. Default 1e-5. */
  readonly eps?: number;
}

function scaled(
  operation: string,
  size: number,
  options: InitOptions,
  bias: boolean,
): { weight: Tensor; bias?: Tensor } {
  const { rng, dtype } = sourceOf(operation, readOptions(operation, options, "{ dtype }", ["rng", "dtype"]));
  const shape = [count(operation, "size", size)];
  const weight = ones(shape, rng, dtype);
  return bias ? { weight, bias: zeros(shape, rng, dtype) } : { weight };
}

/** (x - mean) / √(variance + eps) over these axes. */
function centred(x: Tensor, axis: number | readonly number[], eps: number): Tensor {
  const away = x.sub(x.mean({ axis, keepdims: true }));
  const variance = away.square().mean({ axis, keepdims: true });
  return away.div(variance.add(eps).sqrt());
}

const epsOf = (operation: string, options: NormOptions | undefined, standard = 1e-5): number => {
  const { eps = standard } = readOptions(operation, options, "{ eps: 1e-6 }", ["eps"]);
  if (typeof eps === "number" && eps >= 0) return eps;
  return fail("value", operation, `eps is ${describe(eps)}.`, "Use a small number, such as 1e-5.");
};

const affine = (x: Tensor, { weight, bias }: Scaled): Tensor =>
  bias === undefined ? x.mul(weight) : x.mul(weight).add(bias);

/** Every vector along the last axis has mean 0 and variance 1, then scale and shift. */
export const layerNorm: {
  (params: Scaled, x: Tensor, options?: NormOptions): Tensor;
  init(size: number, options?: InitOptions): { weight: Tensor; bias?: Tensor };
} = /* @__PURE__ */ Object.assign(
  (params: Scaled, x: Tensor, options?: NormOptions): Tensor => {
    const eps = epsOf("layerNorm", options);
    const scale = own("layerNorm", params, ["weight", "bias"]);
    const { weight, bias } = scale;
    liveTensor("layerNorm", x);
    if (isTensor(weight) && canNormalise(x, weight, bias)) return normalised(x, weight, bias, eps);
    return affine(centred(x, -1, eps), scale);
  },
  { init: (size: number, options: InitOptions = {}) => scaled("layerNorm.init", size, options, true) },
);

/** Every vector along the last axis over its root mean square, then a scale. */
export const rmsNorm: {
  (params: { readonly weight: Tensor }, x: Tensor, options?: NormOptions): Tensor;
  init(size: number, options?: InitOptions): { weight: Tensor };
} = /* @__PURE__ */ Object.assign(
  (params: { readonly weight: Tensor }, x: Tensor, options?: NormOptions): Tensor => {
    const eps = epsOf("rmsNorm", options);
    const { weight } = own("rmsNorm", params, ["weight"]);
    const mean = liveTensor("rmsNorm", x).square().mean({ axis: -1, keepdims: true });
    return x.div(mean.add(eps).sqrt()).mul(weight);
  },
  { init: (size: number, options: InitOptions = {}) => scaled("rmsNorm.init", size, options, false) },
);

/** One number a channel, beside [N, C, …]. */
const perChannel = (t: Tensor, rank: number): Tensor =>
  t.reshape([-1, ...new Array<number>(rank - 2).fill(1)]);

const channels = (params: Scaled, rank: number): Scaled =>
  params.bias === undefined
    ? { weight: perChannel(params.weight, rank) }
    : { weight: perChannel(params.weight, rank), bias: perChannel(params.bias, rank) };

/** x [N, C, …], and tensors that have one number a channel. */
function checkChannels(operation: string, x: Tensor, parts: object): void {
  const { shape } = liveTensor(operation, x);
  if (shape.length < 2)
    fail("shape", operation, `x is ${list(shape)}.`, "It needs [N, C, …]: channels are the second axis.");
  for (const [name, t] of Object.entries(parts) as [string, Tensor | undefined][]) {
    if (t === undefined || t.size === shape[1]) continue;
    const own = `the ${name} has ${t.size} ${t.size === 1 ? "number" : "numbers"}`;
    fail(
      "shape",
      operation,
      `x is ${list(shape)}, and ${own}.`,
      "Channels are the second axis, [N, C, …], and each has one.",
    );
  }
}

/** Groups of channels of each sample have mean 0 and variance 1: x [N, C, …]. */
export const groupNorm: {
  (params: Scaled, x: Tensor, groups: number, options?: NormOptions): Tensor;
  init(size: number, options?: InitOptions): { weight: Tensor; bias?: Tensor };
} = /* @__PURE__ */ Object.assign(
  (params: Scaled, x: Tensor, groups: number, options?: NormOptions): Tensor => {
    const eps = epsOf("groupNorm", options);
    const scale = own("groupNorm", params, ["weight", "bias"]);
    checkChannels("groupNorm", x, scale);
    const { shape } = x;
    if (shape[1] % count("groupNorm", "groups", groups) !== 0) {
      fail(
        "shape",
        "groupNorm",
        `${shape[1]} channels are not ${groups} groups.`,
        "groups divides the channels.",
      );
    }
    const flat = centred(x.reshape([shape[0], groups, -1]), -1, eps).reshape([...shape]);
    return affine(flat, channels(scale, shape.length));
  },
  { init: (size: number, options: InitOptions = {}) => scaled("groupNorm.init", size, options, true) },
);

/** What batchNorm has seen so far: it belongs to the model, and no gradient flows into it. */
export interface BatchState {
  /** The mean of each channel. */
  readonly mean: Tensor;
  /** The variance of each channel. */
  readonly variance: Tensor;
}
/** The options of `batchNorm`. */
export interface BatchNormOptions extends NormOptions {
  /** true: by this batch, which the state learns from. false (the default): by the state. */
  readonly training?: boolean;
  /** How much of a batch goes into the state. Default 0.1. */
  readonly momentum?: number;
}

/**
 * Every channel has mean 0 and variance 1 over the batch: x [N, C, …]. In training the state, whose tensors are written in
 * place, moves towards what the batch has.
 */
export const batchNorm: {
  (params: Scaled, state: BatchState, x: Tensor, options?: BatchNormOptions): Tensor;
  init(size: number, options?: InitOptions): { params: { weight: Tensor; bias?: Tensor }; state: BatchState };
} = /* @__PURE__ */ Object.assign(
  (params: Scaled, state: BatchState, x: Tensor, options: BatchNormOptions = {}): Tensor => {
    const read = readOptions("batchNorm", options, "{ training: true }", ["training", "momentum", "eps"]);
    const { training = false, momentum = 0.1, eps = 1e-5 } = read;
    if (!(typeof momentum === "number" && momentum >= 0 && momentum <= 1))
      fail("value", "batchNorm", `momentum is ${describe(momentum)}.`, "Use a number from 0 to 1.");
    if (!(typeof eps === "number" && eps >= 0))
      fail("value", "batchNorm", `eps is ${describe(eps)}.`, "Use a small number, such as 1e-5.");
    const learnt = own("batchNorm", params, ["weight", "bias"]);
    const seen = own("batchNorm", state, ["mean", "variance"]);
    checkChannels("batchNorm", x, { ...learnt, ...seen });
    if (training && x.size === 0)
      fail(
        "shape",
        "batchNorm",
        `x is ${list(x.shape)}, which has no sample.`,
        "Training takes the mean of a batch: leave out batches that are empty.",
      );
    const { rank } = x;
    const scale = channels(learnt, rank);
    if (!training) {
      const away = x.sub(perChannel(seen.mean, rank));
      return affine(away.div(perChannel(seen.variance, rank).add(eps).sqrt()), scale);
    }
    const axis = x.shape.flatMap((_, d) => (d === 1 ? [] : [d]));
    const mean = x.mean({ axis, keepdims: true });
    const away = x.sub(mean);
    const variance = away.square().mean({ axis, keepdims: true });
    const each = x.size / x.shape[1];
    remember(seen.mean, mean, momentum, 1);
    // The state keeps the variance of what the batch was drawn from.
    remember(seen.variance, variance, momentum, each > 1 ? each / (each - 1) : 1);
    return affine(away.div(variance.add(eps).sqrt()), scale);
  },
  {
    init: (size: number, options: InitOptions = {}) => {
      const params = scaled("batchNorm.init", size, options, true);
      const { rng, dtype } = sourceOf("batchNorm.init", options);
      return { params, state: { mean: zeros([size], rng, dtype), variance: ones([size], rng, dtype) } };
    },
  },
);

/** state = (1 - momentum)·state + momentum·scale·seen, outside of what is differentiated, and once a batch. */
function remember(state: Tensor, seen: Tensor, momentum: number, scale: number): void {
  if (engine().recorder?.isAgain) return;
  unrecorded(() => {
    const now = seen.reshape([-1]);
    const next = state.mul(1 - momentum).add(now.mul(momentum * scale));
    state.assign(next);
    next.dispose();
  });
}

/* Chance ------------------------------------------------------------------------------------------------------------ */

/** The options of `dropout`. */
export interface DropoutOptions {
  /** How many elements become 0, of all. Default 0.5. */
  readonly p?: number;
  /** Where random numbers come from. */
  readonly rng: RandomGenerator;
  /** false: nothing is done. Default true. */
  readonly training?: boolean;
}

/**
 * Some elements become 0, the others grow so that the mean stays.
 *
 * @param x a tensor of any layout
 * @param options `rng`; `p`: how many become 0, default 0.5; `training`
 * @returns a new tensor of x's shape; x itself where nothing is done
 * @example
 * dropout(ones([3]), { rng: random.generator(1), training: false }); // → f32 [1, 1, 1]
 */
export function dropout(x: Tensor, options: DropoutOptions): Tensor {
  const read = readOptions("dropout", options, "{ p: 0.1, rng }", ["p", "rng", "training"]);
  const { p = 0.5, rng, training = true } = read;
  if (!(typeof p === "number" && p >= 0 && p < 1))
    fail("value", "dropout", `p is ${describe(p)}.`, "Use a number from 0 up to 1, without 1.");
  checkGenerator("dropout", rng);
  liveTensor("dropout", x);
  if (!training || p === 0) return x;
  const kept = rng
    .bernoulli(x.shape, { p: 1 - p })
    .to(x.dtype)
    .div(1 - p);
  return x.mul(kept);
}

/* Attention --------------------------------------------------------------------------------------------------------- */

/** The four matrices of attention. */
export interface AttentionParams {
  /** Of what looks. */
  readonly query: Weighted;
  /** Of what is looked at. */
  readonly key: Weighted;
  /** Of what is taken from there. */
  readonly value: Weighted;
  /** Of what is made of it. */
  readonly out: Weighted;
}
/** The options of `multiHeadAttention`. */
export interface AttentionOptions {
  /** How many; they divide D. */
  readonly heads: number;
  /** Each place sees itself and those before it. Default false. */
  readonly causal?: boolean;
  /** What is looked at; default: x itself. */
  readonly context?: Tensor;
}

/**
 * Every place looks at others: x [N, T, D] → [N, T, D], in heads of D / heads numbers each.
 *
 *     const p = multiHeadAttention.init(32, { rng: 1 });
 *     multiHeadAttention(p, x, { heads: 4, causal: true });
 */
export const multiHeadAttention: {
  (params: AttentionParams, x: Tensor, options: AttentionOptions): Tensor;
  init(size: number, options?: LayerOptions): AttentionParams;
} = /* @__PURE__ */ Object.assign(
  (params: AttentionParams, x: Tensor, options: AttentionOptions): Tensor => {
    const op = "multiHeadAttention";
    const read = readOptions(op, options, "{ heads: 4 }", ["heads", "causal", "context"]);
    const { heads, causal = false, context = x } = read;
    const { query, key, value, out } = partsOf(op, params, ["query", "key", "value", "out"]);
    const { shape } = liveTensor(op, x);
    if (shape.length !== 3 || shape[2] % count(op, "heads", heads) !== 0) {
      fail("shape", op, `x is ${list(shape)}, with ${heads} heads.`, "x is [N, T, D], and heads divides D.");
    }
    const [n, t, d] = shape;
    const size = d / heads;
    // [N, heads, T, size]
    const split = (y: Tensor) => y.reshape([n, -1, heads, size]).permute(0, 2, 1, 3);
    const q = split(linear(query, x));
    const k = split(linear(key, context));
    const v = split(linear(value, context));
    const scores = q.matmul(k.permute(0, 1, 3, 2));
    const scale = 1 / Math.sqrt(size);
    const seen = causal
      ? zip([scores, causalMask(t, context.shape[1])], past, { with: { scale } })
      : scores.mul(scale);
    const y = softmax(seen).matmul(v).permute(0, 2, 1, 3).reshape([n, t, d]);
    return linear(out, y);
  },
  {
    init: (size: number, options: LayerOptions = {}): AttentionParams => {
      const read = readOptions("multiHeadAttention.init", options, "{ rng: 1 }", layerNames);
      const { rng, dtype } = sourceOf("multiHeadAttention.init", read);
      const one = () => linear.init(size, size, { ...read, rng, dtype: dtype as FloatDType });
      return { query: one(), key: one(), value: one(), out: one() };
    },
  },
);

/** What is to come has no part in a softmax. */
const past = (score: number, isPast: number, { scale }: { scale: number }) =>
  isPast ? score * scale : -Infinity;
const causalMask = (t: number, of: number): Tensor => tril(onesOf([t, of], { dtype: "bool" }));
