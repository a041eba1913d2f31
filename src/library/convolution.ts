/**
 * Convolutions as in neural networks (cross-correlations, as torch has them), and NumPy's convolve and correlate.
 *
 * A convolution is a matrix product: weights [O, K] times windows [K, P], where K runs over channels and taps and P over
 * the windows of an image. The windows are a view, and no view of two axes: instead of copying them out, lists of byte
 * offsets lead the packing of the product to where they lie (routines/convolution.ts).
 */
import { scope } from "../api.ts";
import { type DType, dtypes, type Promote, promote, promoteAll } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { readList, readOptions } from "../ops/arguments.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate } from "../ops/strided.ts";
import { tellCopy } from "../ops/tell.ts";
import { laneBytes, laneDType, laneOf } from "../optimize/gemm.ts";
import { type ConvPlan, convolutionRoutine, readsWeights, takesRuns } from "../routines/convolution.ts";
import { type AllThree, liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { reshape } from "../view/reshape.ts";
import { scoped, scopedAs } from "./scoped.ts";

/** One number for every spatial axis, or one for each. */
export type PerAxis = number | readonly number[];

/** The dtype that the input, the weights and a bias meet in. */
type Convolved<D extends DType, E extends DType, B extends DType> = [B] extends [never]
  ? Promote<D, E>
  : AllThree<D, E, B>;

/** The options of convolutions. */
export interface ConvOptions<B extends DType = DType> {
  /** One number for each output channel. */
  readonly bias?: Tensor<B>;
  /** Steps from one window to the next; default 1. */
  readonly stride?: PerAxis;
  /** Zeros before and after each axis, or "valid" (none) or "same" (as many outputs as inputs); default 0. */
  readonly padding?: PerAxis | "same" | "valid";
  /** Steps from one tap to the next; default 1. */
  readonly dilation?: PerAxis;
  /** Channels are split into so many groups, each with weights of its own; default 1. */
  readonly groups?: number;
}

const optionNames = ["bias", "stride", "padding", "dilation", "groups"] satisfies (keyof ConvOptions)[];

/**
 * Weights slid along one axis, as torch has it: input [N, C, L] or [C, L], weight [O, C / groups, k] → [N, O, L'].
 *
 * @param input the signal, a batch of them or one
 * @param weight a kernel for each output channel
 * @param options `bias`, `stride`, `padding`, `dilation`, `groups`
 * @returns a new tensor of the dtype they meet in
 * @throws TensorError where channels do not match or a window does not fit
 * @example
 * conv1d(tensor([[1, 2, 3, 4]]), tensor([[[1, 1]]])); // → f32 [[3, 5, 7]]
 */
export function conv1d<D extends DType, E extends DType, B extends DType = never>(
  input: Tensor<D>,
  weight: Tensor<E>,
  options: ConvOptions<B> = {},
): Tensor<Convolved<D, E, B>> {
  return convolution("conv1d", 1, input, weight, options) as never;
}
/**
 * Weights slid over pictures, as torch has it: input [N, C, H, W] or [C, H, W], weight [O, C / groups, kh, kw] → [N, O,
 * H', W'].
 *
 * @param input the picture, a batch of them or one
 * @param weight a kernel for each output channel
 * @param options `bias`, `stride`, `padding`, `dilation`, `groups`
 * @returns a new tensor of the dtype they meet in
 * @throws TensorError where channels do not match or a window does not fit
 * @example
 * conv2d(ones([1, 3, 3]), ones([1, 1, 2, 2])); // → f32 [[[4, 4], [4, 4]]]
 */
export function conv2d<D extends DType, E extends DType, B extends DType = never>(
  input: Tensor<D>,
  weight: Tensor<E>,
  options: ConvOptions<B> = {},
): Tensor<Convolved<D, E, B>> {
  return convolution("conv2d", 2, input, weight, options) as never;
}
/**
 * Weights slid along three axes: input [N, C, D, H, W] or [C, D, H, W], weight [O, C / groups, kd, kh, kw] → [N, O, D',
 * H', W'].
 *
 * @param input the volume, a batch of them or one
 * @param weight a kernel for each output channel
 * @param options `bias`, `stride`, `padding`, `dilation`, `groups`
 * @returns a new tensor of the dtype they meet in
 * @throws TensorError where channels do not match or a window does not fit
 * @example
 * conv3d(ones([1, 2, 2, 2]), ones([1, 1, 2, 2, 2])); // → f32 [[[[8]]]]
 */
export function conv3d<D extends DType, E extends DType, B extends DType = never>(
  input: Tensor<D>,
  weight: Tensor<E>,
  options: ConvOptions<B> = {},
): Tensor<Convolved<D, E, B>> {
  return convolution("conv3d", 3, input, weight, options) as never;
}

/** The options of transposed convolutions. */
export interface ConvTransposeOptions<B extends DType = DType> {
  /** One number for each output channel. */
  readonly bias?: Tensor<B>;
  /** Steps that each element of the input is worth in the output; default 1. */
  readonly stride?: PerAxis;
  /** What the convolution that this turns round had; takes as much from both ends. Default 0. */
  readonly padding?: PerAxis;
  /** More elements behind, where several lengths lead to one; default 0. */
  readonly outputPadding?: PerAxis;
  /** Steps from one tap to the next; default 1. */
  readonly dilation?: PerAxis;
  /** Channels are split into so many groups, each with weights of its own; default 1. */
  readonly groups?: number;
}

/**
 * input [N, C, L] or [C, L], weight [C, O / groups, k]: shapes as conv1d turned round.
 *
 * @param input the signal, a batch of them or one
 * @param weight a kernel for each input channel
 * @param options `bias`, `stride`, `padding`, `outputPadding`, `dilation`, `groups`
 * @returns a new tensor of the dtype they meet in
 * @example
 * convTranspose1d(tensor([[1, 2]]), tensor([[[1, 1]]])); // → f32 [[1, 3, 2]]
 */
export function convTranspose1d<D extends DType, E extends DType, B extends DType = never>(
  input: Tensor<D>,
  weight: Tensor<E>,
  options: ConvTransposeOptions<B> = {},
): Tensor<Convolved<D, E, B>> {
  return transposed("convTranspose1d", 1, input, weight, options) as never;
}
/**
 * input [N, C, H, W] or [C, H, W], weight [C, O / groups, kh, kw]: shapes as conv2d turned round.
 *
 * @param input the picture, a batch of them or one
 * @param weight a kernel for each input channel
 * @param options `bias`, `stride`, `padding`, `outputPadding`, `dilation`, `groups`
 * @returns a new tensor of the dtype they meet in
 * @example
 * convTranspose2d(ones([1, 1, 1]), ones([1, 1, 2, 2])); // → f32 [[[1, 1], [1, 1]]]
 */
export function convTranspose2d<D extends DType, E extends DType, B extends DType = never>(
  input: Tensor<D>,
  weight: Tensor<E>,
  options: ConvTransposeOptions<B> = {},
): Tensor<Convolved<D, E, B>> {
  return transposed("convTranspose2d", 2, input, weight, options) as never;
}

/** Which part of a convolution of n and m elements: all n + m - 1, the middle max(n, m), or where both overlap wholly. */
export type ConvolveMode = "full" | "same" | "valid";
/** The options of `convolve` and `correlate`. */
export interface ConvolveOptions {
  /** Which part of the result. */
  readonly mode?: ConvolveMode;
}

/**
 * Of two 1-D tensors, as numpy.convolve: out[k] = Σ a[i]·v[k - i]; default mode "full".
 *
 * @param a a vector
 * @param v another one
 * @param options `mode`: "full" (default), "same" or "valid"
 * @returns a new vector of the dtype both meet in
 * @example
 * convolve(tensor([1, 2, 3]), tensor([1, 1])); // → f32 [1, 3, 5, 3]
 */
export function convolve<D extends DType, E extends DType>(
  a: Tensor<D>,
  v: Tensor<E>,
  options?: ConvolveOptions,
): Tensor<Promote<D, E>>;
export function convolve(a: Tensor, v: Tensor, options: ConvolveOptions = {}): Tensor {
  options = readOptions("convolve", options, '{ mode: "same" }');
  const [x, w] = signals("convolve", a, v, options);
  return scoped("convolve", () => {
    const [long, short] = x.size >= w.size ? [x, w] : [w, x];
    return slide("convolve", long, short.flip(), options.mode ?? "full");
  });
}
/**
 * Of two 1-D tensors, as numpy.correlate: out[k] = Σ a[i + k]·v[i]; default mode "valid".
 *
 * @param a a vector
 * @param v another one
 * @param options `mode`: "valid" (default), "same" or "full"
 * @returns a new vector of the dtype both meet in
 * @example
 * correlate(tensor([1, 2, 3]), tensor([1, 1])); // → f32 [3, 5]
 */
export function correlate<D extends DType, E extends DType>(
  a: Tensor<D>,
  v: Tensor<E>,
  options?: ConvolveOptions,
): Tensor<Promote<D, E>>;
export function correlate(a: Tensor, v: Tensor, options: ConvolveOptions = {}): Tensor {
  options = readOptions("correlate", options, '{ mode: "same" }');
  const [x, w] = signals("correlate", a, v, options);
  const mode = options.mode ?? "valid";
  return scoped("correlate", () =>
    x.size >= w.size ? slide("correlate", x, w, mode) : turned(slide("correlate", w, x, mode)),
  );
}

/** From its end to its start, dense. */
function turned(t: Tensor): Tensor {
  const why = "the longer one slid along, so the sums come from the last to the first";
  tellCopy("correlate", t.size * stridedOf(t).frame.itemBytes, why);
  return t.flip().clone();
}

function signals(operation: string, a: Tensor, v: Tensor, options: ConvolveOptions): [Tensor, Tensor] {
  options = readOptions(operation, options, '{ mode: "same" }', ["mode"]);
  const both = [liveTensor(operation, a), liveTensor(operation, v)] as [Tensor, Tensor];
  for (const t of both) {
    if (t.rank === 1 && t.size > 0) continue;
    fail("shape", operation, `an operand is ${list(t.shape)}.`, "Both must have one axis, with elements.");
  }
  const { mode } = options;
  if (mode !== undefined && !["full", "same", "valid"].includes(mode)) {
    fail("value", operation, `mode is ${describe(mode)}.`, 'Use "full", "same" or "valid".');
  }
  return both;
}

/** The shorter one slides along the longer one. */
function slide(operation: string, long: Tensor, short: Tensor, mode: ConvolveMode): Tensor {
  const m = short.size;
  const padding = { full: [m - 1, m - 1], same: [m >> 1, m - 1 - (m >> 1)], valid: [0, 0] } as const;
  const [before, after] = padding[mode];
  const padded = long.size + before + after;
  const plan: ConvPlan = {
    batch: 1,
    channels: 1,
    outChannels: 1,
    groups: 1,
    kernel: [m],
    stride: [1],
    dilation: [1],
    padding: [[before, after]],
    padded: [padded],
    out: [padded - m + 1],
  };
  const dtype = promote(long.dtype, short.dtype);
  return notedWindows(operation, plan, long.expandDims([0, 1]), short.expandDims([0, 1]), null, dtype).view(
    -1,
  );
}

/* Turned round ------------------------------------------------------------------------------------------ */

/** A convolution of the input with zeros between its elements and around them, by the weights seen backwards. */
function transposed(
  operation: string,
  rank: number,
  input: Tensor,
  weight: Tensor,
  options: ConvTransposeOptions,
): Tensor {
  options = readOptions(operation, options, "{ stride: 2 }", [...optionNames, "outputPadding"]);
  const x = liveTensor(operation, input);
  const w = liveTensor(operation, weight);
  const { groups = 1, bias } = options;
  checkCount(operation, "groups", groups, 1);
  const single = x.rank === rank + 1;
  const channels = x.shape[single ? 0 : 1];
  if (
    (!single && x.rank !== rank + 2) ||
    w.rank !== rank + 2 ||
    w.shape[0] !== channels ||
    channels % groups
  ) {
    fail(
      "shape",
      operation,
      `the input is ${list(x.shape)}, the weight ${list(w.shape)}, in ${groups} ${groups === 1 ? "group" : "groups"}.`,
      "The input is [batch, channels, …] and the weight [channels, output channels / groups, …]; groups divides the channels.",
    );
  }
  const given = {
    stride: perAxis(operation, "stride", options.stride ?? 1, rank, 1),
    dilation: perAxis(operation, "dilation", options.dilation ?? 1, rank, 1),
    padding: perAxis(operation, "padding", options.padding ?? 0, rank, 0),
    outputPadding: perAxis(operation, "outputPadding", options.outputPadding ?? 0, rank, 0),
  };
  const kernel = w.shape.slice(2);
  const reach = kernel.map((k, d) => given.dilation[d] * (k - 1) - given.padding[d]);
  return scope(() => {
    const wide = spread(operation, single ? x.expandDims(0) : x, given, reach);
    const turned = w
      .reshape(groups, channels / groups, w.shape[1], ...kernel)
      .swapAxes(1, 2)
      .reshape(groups * w.shape[1], channels / groups, ...kernel)
      .flip(kernel.map((_, d) => d + 2));
    const { dilation } = given;
    const made = convolution(operation, rank, wide, turned, {
      dilation,
      groups,
      ...(bias === undefined ? {} : { bias }),
    });
    return single ? made.squeeze(0) : made;
  });
}

/** The input with stride - 1 zeros between its elements, and `reach` around them; where that is negative, cut. */
function spread(
  operation: string,
  x: Tensor,
  given: { readonly stride: readonly number[]; readonly outputPadding: readonly number[] },
  reach: readonly number[],
): Tensor {
  const { stride, outputPadding } = given;
  const sizes = x.shape.slice(2);
  const after = reach.map((r, d) => r + outputPadding[d]);
  const full = sizes.map(
    (n, d) => Math.max(0, (n - 1) * stride[d] + 1) + Math.max(0, reach[d]) + Math.max(0, after[d]),
  );
  const wide = wrap(allocate(operation, x.dtype, [...x.shape.slice(0, 2), ...full], undefined, true));
  tellCopy(operation, stridedOf(wide).storage.bytes, "zeros are put between the elements and around them");
  const places = sizes.map((n, d) => {
    const first = Math.max(0, reach[d]);
    return [first, first + Math.max(0, (n - 1) * stride[d] + 1), stride[d]] as const;
  });
  wide.slice(":", ":", ...places).assign(x);
  const kept = full.map((n, d) => [Math.max(0, -reach[d]), Math.max(0, n + Math.min(0, after[d]))] as const);
  return wide.slice(":", ":", ...kept);
}

/* The plan --------------------------------------------------------------------------------------------- */

function planConvolution(
  operation: string,
  rank: number,
  input: readonly number[],
  weight: readonly number[],
  options: ConvOptions,
): ConvPlan {
  const axes = ["length", "height, width", "depth, height, width"][rank - 1];
  if (input.length !== rank + 2) {
    fail(
      "shape",
      operation,
      `the input is ${list(input)}.`,
      `It must be [batch, channels, ${axes}], or the same without the batch.`,
    );
  }
  if (weight.length !== rank + 2) {
    fail(
      "shape",
      operation,
      `the weight is ${list(weight)}.`,
      `It must be [output channels, channels / groups, ${axes}].`,
    );
  }
  const [batch, channels, ...sizes] = input;
  const [outChannels, perGroup, ...kernel] = weight;
  const groups = options.groups ?? 1;
  checkCount(operation, "groups", groups, 1);
  if (channels !== perGroup * groups || outChannels % groups !== 0) {
    fail(
      "shape",
      operation,
      `${channels} input and ${outChannels} output channels do not fit weights of ${perGroup} channels in ${groups} ${groups === 1 ? "group" : "groups"}.`,
      "The input has groups × (the weight's second size) channels, and the weight's first size is a multiple of groups.",
    );
  }
  const stride = perAxis(operation, "stride", options.stride ?? 1, rank, 1);
  const dilation = perAxis(operation, "dilation", options.dilation ?? 1, rank, 1);
  const padding = paddingOf(operation, options.padding ?? 0, kernel, stride, dilation);
  const padded = sizes.map((n, d) => n + padding[d][0] + padding[d][1]);
  const out = padded.map((n, d) => {
    const window = dilation[d] * (kernel[d] - 1) + 1;
    if (kernel[d] > 0 && window <= n) return Math.floor((n - window) / stride[d]) + 1;
    return fail(
      "shape",
      operation,
      kernel[d] === 0
        ? `the weight ${list(weight)} has no taps.`
        : `a window of ${window} does not fit into ${n} (axis ${d + 2}: ${sizes[d]} and padding ${padding[d][0]} + ${padding[d][1]}).`,
      kernel[d] === 0
        ? "Its last sizes must be at least 1."
        : "Use a smaller kernel or dilation, or padding.",
    );
  });
  return { batch, channels, outChannels, groups, kernel, stride, dilation, padding, padded, out };
}

const MOST = 2 ** 31;

/** A whole number from `least` on. */
export function checkCount(operation: string, name: string, value: unknown, least: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= MOST) return;
  fail("value", operation, `${name} is ${describe(value)}.`, `Use a whole number from ${least} to ${MOST}.`);
}

/** One whole number for each of `rank` axes. */
export function perAxis(
  operation: string,
  name: string,
  value: unknown,
  rank: number,
  least: number,
): readonly number[] {
  const all = readList(operation, name, value) ?? new Array(rank).fill(value);
  if (all.length !== rank) {
    fail(
      "value",
      operation,
      `${name} has ${all.length} entries.`,
      `Give one number, or ${rank === 1 ? "one in an array" : `${rank}, one a spatial axis`}.`,
    );
  }
  for (const x of all) checkCount(operation, name, x, least);
  return all;
}

function paddingOf(
  operation: string,
  padding: unknown,
  kernel: readonly number[],
  stride: readonly number[],
  dilation: readonly number[],
): (readonly [number, number])[] {
  if (padding === "valid") return kernel.map(() => [0, 0]);
  if (padding === "same") {
    if (stride.some((s) => s !== 1)) {
      fail(
        "value",
        operation,
        `padding "same" with stride ${list(stride)}.`,
        "Only windows at every position give as many outputs as inputs; give the padding as numbers.",
      );
    }
    return kernel.map((k, d) => {
      const total = dilation[d] * Math.max(0, k - 1);
      return [total >> 1, total - (total >> 1)];
    });
  }
  if (typeof padding === "string") {
    fail("value", operation, `padding is ${describe(padding)}.`, 'Use numbers, "same" or "valid".');
  }
  return perAxis(operation, "padding", padding, kernel.length, 0).map((p) => [p, p]);
}

/* The call --------------------------------------------------------------------------------------------- */

function convolution(
  operation: string,
  rank: number,
  input: Tensor,
  weight: Tensor,
  options: ConvOptions,
): Tensor {
  options = readOptions(operation, options, "{ stride: 2, padding: 1 }", optionNames);
  const given = liveTensor(operation, input);
  const w = liveTensor(operation, weight);
  const bias = options.bias === undefined ? null : liveTensor(operation, options.bias);
  return scope(() => {
    const single = given.rank === rank + 1;
    const x = single ? given.expandDims(0) : given;
    const plan = planConvolution(operation, rank, x.shape, w.shape, options);
    if (bias !== null) checkBias(operation, plan, bias);
    const dtypesOf = [x, w, ...(bias === null ? [] : [bias])].map((t) => t.dtype);
    const dtype = promoteAll(dtypesOf);
    const out = notedWindows(operation, plan, x, w, bias, dtype);
    return single ? out.squeeze(0) : out;
  });
}

/**
 * The sums of all windows of x, with any number of axes behind the first two, under weights that may have an axis of groups
 * before the others. For derivatives, which are convolutions of other shapes: what does not fit is the caller's mistake.
 */
export function sumsOfWindows(
  operation: string,
  x: Tensor,
  w: Tensor,
  given: Pick<ConvPlan, "kernel" | "stride" | "dilation" | "padding" | "groups" | "outChannels" | "out">,
): Tensor {
  const [batch, channels, ...sizes] = x.shape;
  const padded = sizes.map((n, d) => n + given.padding[d][0] + given.padding[d][1]);
  return notedWindows(
    operation,
    { ...given, batch, channels, padded },
    x,
    w,
    null,
    promote(x.dtype, w.dtype),
  );
}

function checkBias(operation: string, { outChannels }: ConvPlan, bias: Tensor): void {
  if (bias.rank === 1 && bias.shape[0] === outChannels) return;
  fail(
    "shape",
    operation,
    `the bias is ${list(bias.shape)}.`,
    `Give one number for each output channel: shape [${outChannels}].`,
  );
}

/** One operation to whoever records. */
function notedWindows(
  operation: string,
  plan: ConvPlan,
  x: Tensor,
  w: Tensor,
  bias: Tensor | null,
  dtype: DType,
): Tensor {
  const run = () => sumWindows(operation, plan, x, w, bias, dtype);
  if (engine().recorder === null) return run();
  return scopedAs(operation, bias === null ? [x, w] : [x, w, bias], { plan }, run, "convolution");
}

/** Sums are made in lanes of 32 or 64 bits; narrower dtypes are rounded once, at the end. */
function sumWindows(
  operation: string,
  plan: ConvPlan,
  x: Tensor,
  w: Tensor,
  bias: Tensor | null,
  dtype: DType,
): Tensor {
  const lane = laneOf(dtype);
  const sums = dtypes[dtype].bytes === laneBytes(lane) ? dtype : laneDType(lane);
  const shape = [plan.batch, plan.outChannels, ...plan.out];
  const column = bias === null ? null : bias.reshape(-1, ...plan.out.map(() => 1));
  const product = pointwise(plan, x, w, dtype);
  if (product !== null) {
    if (column !== null) product.add(column, { out: product });
    return product;
  }
  const isEmpty = plan.channels === 0;
  const out = wrap(allocate(operation, sums, shape, undefined, isEmpty && column === null));
  if (column !== null) out.assign(column);
  if (out.size > 0 && !isEmpty) runConvolution(operation, plan, out, x, w, column !== null);
  return out.to(dtype);
}

/** Images that need zeros around them, or another dtype, are copied so many bytes at a time. */
const STAGE_BYTES = 1 << 22;

/** out = (or, where `accumulate`, +=) the sums of every window of x times w; out is dense and of a dtype of whole lanes. */
function runConvolution(
  operation: string,
  plan: ConvPlan,
  out: Tensor,
  x: Tensor,
  w: Tensor,
  accumulate: boolean,
): void {
  const { batch, channels } = plan;
  const outs = [stridedOf(out)];
  const staged = x.dtype !== out.dtype || plan.padding.some(([before, after]) => before + after > 0);
  const imageBytes = channels * sizeOf(plan.padded) * dtypes[out.dtype].bytes;
  const images = staged ? Math.min(batch, Math.max(1, Math.floor(STAGE_BYTES / imageBytes))) : batch;
  const stage = staged ? stageFor(operation, plan, out.dtype, images, x) : null;
  const weights = runRoutine(readsWeights, { operation, params: { plan }, inputs: [], outs })
    ? denseWeights(operation, inRuns(plan, w.to(out.dtype)))
    : inRuns(plan, w);
  const params = { plan, accumulate, images, fill: stage?.fill ?? null };
  const inputs = [stage?.whole ?? x, weights].map((t) => stridedOf(t));
  runRoutine(convolutionRoutine, { operation, params, inputs, outs });
}

/** Weights, in groups or not, as [groups, rows, runs, k / runs]: as few runs as can be without a copy. */
function inRuns({ channels, outChannels, groups, kernel }: ConvPlan, w: Tensor): Tensor {
  const own = channels / groups;
  const taps = sizeOf(kernel);
  const whole = [groups, outChannels / groups, 1, own * taps];
  if (reshape(stridedOf(w).frame, whole) !== null || !takesRuns(own, taps)) return w.reshape(whole);
  return w.reshape(groups, outChannels / groups, own, taps);
}

function denseWeights(operation: string, w: Tensor): Tensor {
  const why = "the weights are read one after the other, so in dense memory";
  if (!w.isContiguous) tellCopy(operation, w.size * dtypes[w.dtype].bytes, why);
  return w.contiguous();
}

/** A few images with zeros around them; the zeros are written once. */
function stageFor(operation: string, plan: ConvPlan, dtype: DType, images: number, x: Tensor) {
  const { channels, padded, padding } = plan;
  const whole = wrap(allocate(operation, dtype, [images, channels, ...padded], undefined, true));
  const middle = padding.map(([before], d) => [before, before + x.shape[d + 2]] as const);
  const why =
    x.dtype === dtype
      ? "the padding needs zeros around the input"
      : `sums are made in ${dtype}, the input is ${x.dtype}`;
  tellCopy(operation, plan.batch * channels * sizeOf(padded) * dtypes[dtype].bytes, why);
  const fill = (first: number, count: number) => {
    const inside = whole.slice([0, count], ":", ...middle);
    const from = x.slice([first, first + count]);
    inside.assign(from);
    inside.dispose();
    from.dispose();
  };
  return { whole, fill };
}

/** Kernels of one tap at every pixel are plain matrix products; null where this is none. */
function pointwise(plan: ConvPlan, x: Tensor, w: Tensor, dtype: DType): Tensor | null {
  const { batch, channels, outChannels, groups } = plan;
  if (plan.kernel.some((k) => k !== 1) || plan.stride.some((s) => s !== 1)) return null;
  if (plan.out.some((n, d) => n !== x.shape[d + 2]) || x.dtype !== dtype || w.dtype !== dtype) return null;
  const pixels = [batch, groups, channels / groups, sizeOf(plan.out)];
  if (reshape(stridedOf(x).frame, pixels) === null) return null;
  const weights = w.reshape(groups, outChannels / groups, channels / groups);
  return weights.matmul(x.view(pixels)).view(batch, outChannels, ...plan.out);
}
