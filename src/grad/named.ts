/**
 * How gradients pass the operations that are noted by name: those that make several passes, and those that are written by
 * hand. Each is said in operations that have gradients themselves, so second derivatives follow.
 */
import { arange, eye, mapReduce, tensor, where, zeros, zip } from "../api.ts";
import { fail } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import type { Program } from "../ir/node.ts";
import { real } from "../library/complex.ts";
import { sumsOfWindows } from "../library/convolution.ts";
import { onesLike, tril, triu } from "../library/creation.ts";
import { fft, ifft, rfft } from "../library/fft.ts";
import { scatterAdd, take } from "../library/indexing.ts";
import { concat } from "../library/join.ts";
import { eigh } from "../library/linalg/eigh.ts";
import { pinv } from "../library/linalg/leastsquares.ts";
import { det, inv, solve } from "../library/linalg/solve.ts";
import { svd } from "../library/linalg/svd.ts";
import { assignMask } from "../library/mask.ts";
import { gatherTo, scatterTo } from "../library/offsets.ts";
import { pad } from "../library/pad.ts";
import { type LineOptions, sortLines } from "../library/sort.ts";
import { noted } from "../ops/noted.ts";
import type { NormOptions, SoftmaxOptions, SumOptions, VarOptions } from "../ops/reductions.ts";
import { freedomOf } from "../ops/spreads.ts";
import { allocate, share } from "../ops/strided.ts";
import type { ConvPlan } from "../routines/convolution.ts";
import type { Places } from "../routines/index.ts";
import type { Strided } from "../run/call.ts";
import { stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxes, sizeOf } from "../view/layout.ts";
import type { View } from "../view/view.ts";
import { countsIn, dividedBy, largestRule, multiplied, sharesAmong } from "./rules.ts";
import { type Back, failRule, type Rule, type Step } from "./tape.ts";

/** All traced inputs have a gradient, which looks at these. */
const looking =
  (at: (step: Step) => readonly Strided[]) =>
  (step: Step): ReturnType<Rule["keep"]> => ({ flows: step.traced, saves: at(step) });
const atNothing = looking(() => []);
const atInput = looking(({ inputs }) => [inputs[0]]);
const atOutput = looking(({ outs }) => [outs[0]]);
const atBoth = looking(({ inputs, outs }) => [inputs[0], outs[0]]);

/* Along axes --------------------------------------------------------------------------------------------------------- */

function axesOf(operation: string, axis: unknown, rank: number): number[] {
  if (axis === undefined) return Array.from({ length: rank }, (_, d) => d);
  return normalizeAxes(operation, axis as number | readonly number[], rank) as number[];
}

/** The axes of a fold, and its result in the shape with 1 for each of them. */
function folded(back: Back, of: Tensor): { readonly axes: number[]; readonly as1: (t: Tensor) => Tensor } {
  const { axis } = back.facts as SumOptions;
  const axes = axesOf(back.operation, axis, of.rank);
  const shape = of.shape.map((n, d) => (axes.includes(d) ? 1 : n));
  return { axes, as1: (t) => t.reshape(shape) };
}

const product = (a: number, b: number) => a * b;
const ofSoftmax = (g: number, y: number, s: number) => (g - s) * y;
const ofLogSoftmax = (g: number, y: number, s: number) => g - Math.exp(y) * s;
const ofLogsumexp = (x: number, y: number, g: number) => (y === -Infinity ? 0 : g * Math.exp(x - y));
const ofVariance = (x: number, m: number, g: number) => 2 * (x - m) * g;
const ofStd = (x: number, m: number, s: number, g: number) => (s === 0 ? 0 : ((x - m) * g) / s);
const bySign = (x: number, g: number) => g * Math.sign(x);
const byLength = (x: number, y: number, g: number) => (y === 0 ? 0 : (g * x) / y);
const isLongest = (x: number, y: number) => (Math.abs(x) === y ? 1 : 0);
const ofLongest = (x: number, y: number, g: number, n: number) =>
  Math.abs(x) === y ? (Math.sign(x) * g) / n : 0;

const softmaxAxis = (back: Back, rank: number): number[] => {
  const { axis } = back.facts as SoftmaxOptions;
  return rank === 0 && axis === undefined ? [] : axesOf(back.operation, axis ?? -1, rank);
};

const softmax: Rule = {
  keep: atOutput,
  pull(back) {
    const [g, y] = [back.g[0]!, back.value(back.outs[0])];
    const axis = softmaxAxis(back, y.rank);
    const s = mapReduce([g, y], product, { axis, keepdims: true });
    back.grads.give(back.inputs[0], zip([g, y, s], ofSoftmax), true);
  },
};

const logSoftmax: Rule = {
  keep: atOutput,
  pull(back) {
    const [g, y] = [back.g[0]!, back.value(back.outs[0])];
    const s = g.sum({ axis: softmaxAxis(back, y.rank), keepdims: true });
    back.grads.give(back.inputs[0], zip([g, y, s], ofLogSoftmax), true);
  },
};

const logsumexp: Rule = {
  keep: atBoth,
  pull(back) {
    const x = back.value(back.inputs[0]);
    const { as1 } = folded(back, x);
    const made = zip([x, as1(back.value(back.outs[0])), as1(back.g[0]!)], ofLogsumexp);
    back.grads.give(back.inputs[0], made, true);
  },
};

/* What nn/whole.ts makes ------------------------------------------------------------------------------------------------ */

/** x·wᵀ + b, of matrices. */
const linear: Rule = {
  keep: ({ inputs: [x, w], traced }) => ({
    flows: traced,
    saves: [...(traced[0] ? [w] : []), ...(traced[1] ? [x] : [])],
  }),
  pull(back) {
    const [x, w, b] = back.inputs;
    const g = back.g[0]!;
    if (back.flows[0]) multiplied(back, x, x.frame, [], g, back.value(w));
    if (back.flows[1]) multiplied(back, w, w.frame, [], g.T, back.value(x));
    if (b !== undefined && back.flows[2]) back.grads.give(b, g.sum({ axis: 0 }), true);
  },
};

const ofCrossEntropy = (log: number, c: number, place: number, g: number, { n }: { n: number }) =>
  (g / n) * (Math.exp(log) - (c === place ? 1 : 0));

/** Kept are the classes' numbers and the logarithms of all probabilities, which have a gradient where second derivatives are taken. */
const crossEntropy: Rule = {
  keep: ({ traced, inputs, outs }) => ({ flows: [traced[0], false], saves: [inputs[1], outs[1], outs[2]] }),
  pull(back) {
    const [logits, classes] = back.inputs;
    const [logs, places] = [back.value(back.outs[1]), back.value(back.outs[2])];
    const { reduction } = back.facts as { readonly reduction: string };
    const [g, gl] = back.g;
    if (g !== null) {
      const each = (reduction === "none" ? g.expandDims(-1) : g).to(countsIn(g));
      const n = reduction === "mean" ? logs.size / logs.shape[logs.rank - 1] : 1;
      const made = zip([logs, back.value(classes), places, each], ofCrossEntropy, { with: { n } });
      back.grads.give(logits, made, true);
    }
    if (gl !== null) {
      const s = gl.sum({ axis: -1, keepdims: true });
      back.grads.give(logits, zip([gl, logs, s], ofLogSoftmax), true);
    }
  },
};

const weighed = (g: number, w: number) => g * w;
const weighedTimes = (g: number, w: number, x: number, m: number, r: number) => g * w * ((x - m) * r);
const timesNormed = (g: number, x: number, m: number, r: number) => g * ((x - m) * r);
const ofNormed = (
  g: number,
  w: number,
  x: number,
  m: number,
  r: number,
  a: number,
  b: number,
  { n }: { n: number },
) => r * (g * w - a / n - ((x - m) * r * b) / n);
const ofScale = (g: number, x: number, m: number, r: number, { n }: { n: number }) =>
  (-g * r * r * r * (x - m)) / n;

/** Kept are the mean m and the scale r = 1 / √(variance + eps), which have gradients where second derivatives are taken. */
const layerNorm: Rule = {
  keep: ({ traced, inputs, outs }) => ({ flows: traced, saves: [inputs[0], inputs[1], outs[1], outs[2]] }),
  pull(back) {
    const [at, weight, bias] = back.inputs;
    const [x, w] = [back.value(at), back.value(weight)];
    const [m, r] = [back.value(back.outs[1]), back.value(back.outs[2])];
    const [g, gm, gr] = back.g;
    const n = x.shape[x.rank - 1];
    const along = { axis: -1, keepdims: true } as const;
    const rows = { axis: Array.from({ length: x.rank - 1 }, (_, d) => d) };
    if (g !== null) {
      if (back.flows[0]) {
        const a = mapReduce([g, w], weighed, along);
        const b = mapReduce([g, w, x, m, r], weighedTimes, along);
        back.grads.give(at, zip([g, w, x, m, r, a, b], ofNormed, { with: { n } }), true);
      }
      if (back.flows[1]) back.grads.give(weight, mapReduce([g, x, m, r], timesNormed, rows), true);
      if (bias !== undefined && back.flows[2]) back.grads.give(bias, g.sum(rows), true);
    }
    if (!back.flows[0]) return;
    if (gm !== null) back.grads.give(at, gm.div(n).broadcastTo(x.shape));
    if (gr !== null) back.grads.give(at, zip([gr, x, m, r], ofScale, { with: { n } }), true);
  },
};

/** Elements of a fold, and what they are divided by. */
function spreadOf(back: Back, x: Tensor, axes: readonly number[]): number {
  const count = sizeOf(axes.map((d) => x.shape[d]));
  return Math.max(count - freedomOf(back.operation, back.facts as VarOptions), 0);
}

const variance: Rule = {
  keep: atInput,
  pull(back) {
    const x = back.value(back.inputs[0]);
    const { axes, as1 } = folded(back, x);
    const g = dividedBy(as1(back.g[0]!), spreadOf(back, x, axes));
    const mean = x.mean({ axis: axes, keepdims: true, dtype: g.dtype as "f64" });
    back.grads.give(back.inputs[0], zip([x, mean, g], ofVariance), true);
  },
};

const std: Rule = {
  keep: atBoth,
  pull(back) {
    const x = back.value(back.inputs[0]);
    const { axes, as1 } = folded(back, x);
    const g = dividedBy(as1(back.g[0]!), spreadOf(back, x, axes));
    const mean = x.mean({ axis: axes, keepdims: true, dtype: g.dtype as "f64" });
    back.grads.give(back.inputs[0], zip([x, mean, as1(back.value(back.outs[0])), g], ofStd), true);
  },
};

const norm: Rule = {
  keep: atBoth,
  pull(back) {
    const x = back.value(back.inputs[0]);
    const { axes, as1 } = folded(back, x);
    const [y, g] = [as1(back.value(back.outs[0])), as1(back.g[0]!)];
    const { ord = 2 } = back.facts as NormOptions;
    const give = (t: Tensor) => back.grads.give(back.inputs[0], t, true);
    if (ord === 1) give(zip([x, g], bySign));
    else if (ord === 2) give(zip([x, y, g], byLength));
    else {
      const count = zip([x, y], isLongest).sum({ axis: axes, keepdims: true, dtype: countsIn(g) });
      give(zip([x, y, g, count], ofLongest));
    }
  },
};

const ofPower = (x: number, y: number, g: number, { p }: { p: number }) =>
  x === 0 ? 0 : g * Math.sign(x) * (Math.abs(x) / y) ** p;

/** (Σ |x|ᵖ)^(1/p): sign x·(|x| / y)^(p - 1), and 0 at 0, as that of norm is. */
const powerNorm: Rule = {
  keep: atBoth,
  pull(back) {
    const x = back.value(back.inputs[0]);
    const { as1 } = folded(back, x);
    const { ord } = back.facts as { readonly ord: number };
    const made = zip([x, as1(back.value(back.outs[0])), as1(back.g[0]!)], ofPower, { with: { p: ord - 1 } });
    back.grads.give(back.inputs[0], made, true);
  },
};

/* Indices -------------------------------------------------------------------------------------------------------------- */

/** x + y in a dtype, as a program. */
const additions = new Map<string, Program>();
function addition(dtype: Strided["dtype"]): Program {
  let program = additions.get(dtype);
  if (program === undefined) {
    const b = new Builder();
    program = b.finish(b.op("add", b.input(0, dtype), b.input(1, dtype)), [dtype, dtype]);
    additions.set(dtype, program);
  }
  return program;
}

/** The same places of a gradient as of the tensor that it is of. */
const placesIn = (places: Places, of: Strided, gradient: Strided): Places => ({
  ...places,
  indexed: { ...places.indexed, offset: places.indexed.offset - of.frame.offset + gradient.frame.offset },
});

const gather: Rule = {
  keep: ({ traced, inputs }) => ({ flows: [traced[0], false], saves: [inputs[1]] }),
  pull(back) {
    const [t, offsets] = back.inputs;
    const to = back.grads.zeroed(t);
    const g = back.g[0]!.to(t.dtype);
    const at = stridedOf(back.value(offsets));
    scatterTo("gather", to, stridedOf(g), at, placesIn(back.facts as Places, t, to), addition(t.dtype));
  },
};

/** What the gradient of a tensor has at the places of a step. */
function gathered(back: Back, t: Strided, at: Strided): Tensor {
  const { places } = back.facts as Scattered;
  const out = allocate("gather", t.dtype, places.shape);
  gatherTo("gather", out, at, stridedOf(back.value(back.inputs[1])), placesIn(places, t, at));
  return wrap(out);
}

const ordinals = { 2: "u16", 4: "u32", 8: "u64" } as const;

interface Scattered {
  readonly places: Places;
  readonly fold: Program | null;
}

/**
 * t[place] += value: t's gradient stays, and a value's is t's at its place. t[place] = value: the same, of the last one where
 * several are written to a place, and t's own gradient is gone there.
 */
const scatter: Rule = {
  keep: ({ traced, inputs }) => ({ flows: [traced[0], false], saves: [inputs[1]] }),
  keeps: () => true,
  clears: true,
  pull(back) {
    const [values, offsets] = back.inputs;
    const [t] = back.outs;
    const { places, fold } = back.facts as Scattered;
    const at = back.grads.owned(t);
    if (at === null || (fold !== null && !back.flows[0])) return;
    const where0 = stridedOf(back.value(offsets));
    if (back.flows[0]) {
      const found = gathered(back, t, at);
      if (fold !== null) {
        back.grads.give(values, found, true);
        return;
      }
      const last = isLastOne(t, where0, places);
      back.grads.give(values, where(last, found, tensor(0, { dtype: t.dtype })), true);
    }
    const zero = zeros(places.shape, { dtype: t.dtype });
    scatterTo("scatter", at, stridedOf(zero), where0, placesIn(places, t, at), null);
  },
};

/** Which values were the last at their places: each writes its number, and looks whether it is still there. */
function isLastOne(t: Strided, offsets: Strided, places: Places): Tensor {
  const { itemBytes } = t.frame;
  const dtype = ordinals[itemBytes as 2 | 4 | 8];
  const count = sizeOf(places.shape);
  if (dtype === "u16" && count > 65536) failRule("scatter");
  const bytes = t.storage.bytes;
  const board = allocate("scatter", dtype, [Math.ceil(bytes / itemBytes)]);
  const numbers = arange(count, { dtype: dtype === "u64" ? "u64" : dtype }).reshape(places.shape);
  const on = { ...board, frame: t.frame };
  wrap(board);
  scatterTo("scatter", on, stridedOf(numbers), offsets, places, null);
  const seen = allocate("scatter", dtype, places.shape);
  gatherTo("scatter", seen, on, offsets, places);
  return wrap(seen).equal(numbers);
}

const booleanMask: Rule = {
  keep: ({ traced, inputs }) => ({ flows: [traced[0], false], saves: [inputs[1]] }),
  pull(back) {
    const [t, mask] = back.inputs;
    const spread = zeros(t.frame.shape, { dtype: t.dtype });
    assignMask(spread, back.value(mask) as Tensor<"bool">, back.g[0]!);
    back.grads.give(t, spread, true);
  },
};

/** A gradient of lines to where positions along their last axis say. */
function toPositions(back: Back, positions: Tensor, g: Tensor): void {
  const [dense] = back.inputs;
  const { shape } = dense.frame;
  const n = shape[shape.length - 1];
  const k = positions.shape[positions.rank - 1];
  const rows = sizeOf(shape.slice(0, -1));
  const first = arange(rows, { dtype: "i64" }).mul(n).reshape(rows, 1);
  const flat = positions.reshape(rows, k).add(first).reshape(-1);
  const spread = zeros([rows * n], { dtype: dense.dtype });
  scatterAdd(spread, flat, g.reshape(-1));
  back.grads.give(dense, spread.reshape(shape), true);
}

const gatherLines: Rule = {
  keep: ({ traced, inputs }) => ({ flows: [traced[0], false], saves: [inputs[1]] }),
  pull: (back) => toPositions(back, back.value(back.inputs[1]), back.g[0]!),
};

const sorted: Rule = {
  keep: atInput,
  pull(back) {
    const { descending } = back.facts as LineOptions;
    const g = back.g[0]!;
    const options = { descending, keep: g.shape[g.rank - 1] };
    toPositions(back, sortLines("sort", back.value(back.inputs[0]), "positions", options), g);
  },
};

/** One after the other: each has its part of the gradient. */
const joined: Rule = {
  keep: atNothing,
  pull(back) {
    const { to } = back.facts as { readonly to: readonly View[] };
    back.inputs.forEach((t, k) => {
      const at = back.flows[k] ? back.grads.at({ ...back.outs[0], frame: to[k] }) : null;
      if (at !== null) back.grads.give(t, wrap(share(at, at.frame)));
    });
  },
};

/** Sums of weights by position: each weight has its position's. */
const counted: Rule = {
  keep: ({ traced, inputs }) => ({ flows: traced, saves: [inputs[0]] }),
  pull(back) {
    const [positions, weights] = back.inputs;
    if (back.flows[1]) back.grads.give(weights, take(back.g[0]!.reshape(-1), back.value(positions)), true);
  },
};

/** Edges at equal distances from the smallest element to the largest. */
const edges: Rule = {
  keep: atInput,
  pull(back) {
    const [x, g] = [back.value(back.inputs[0]), back.g[0]!];
    const part = arange(g.size, { dtype: countsIn(g) }).div(g.size - 1);
    const upper = g.mul(part).sum();
    const ofMin = sharesAmong(x, x.min(), [0], g.sum().sub(upper));
    back.grads.give(back.inputs[0], ofMin.add(sharesAmong(x, x.max(), [0], upper)), true);
  },
};

/* Convolutions ----------------------------------------------------------------------------------------------------------- */

const convolution: Rule = {
  keep({ inputs: [x, w], traced }) {
    return { flows: traced, saves: [...(traced[1] ? [x] : []), ...(traced[0] ? [w] : [])] };
  },
  pull(back) {
    const { plan } = back.facts as { readonly plan: ConvPlan };
    const [x, w, bias] = back.inputs;
    const g = back.g[0]!;
    if (back.flows[0]) back.grads.give(x, ofImage(plan, x, back.value(w), g), true);
    if (back.flows[1]) back.grads.give(w, ofWeights(plan, back.value(x), w, g), true);
    if (bias !== undefined && back.flows[2]) {
      const axes = g.shape.map((_, d) => d).filter((d) => d !== 1);
      back.grads.give(bias, g.sum({ axis: axes }), true);
    }
  },
};

/** Every window's gradient, spread as far apart as the windows are, under the weights seen backwards. */
function ofImage(plan: ConvPlan, x: Strided, w: Tensor, g: Tensor): Tensor {
  const { kernel, stride, dilation, padding, groups, outChannels, channels, out } = plan;
  const sizes = x.frame.shape.slice(2);
  const [perGroup, own] = [outChannels / groups, channels / groups];
  const turned = w
    .reshape([groups, perGroup, own, ...kernel])
    .swapAxes(1, 2)
    .flip(kernel.map((_, d) => d + 3));
  const ones = kernel.map(() => 1);
  const given = { kernel, stride: ones, dilation, groups, outChannels: channels, out: sizes };
  const reach = kernel.map((k, d) => dilation[d] * (k - 1));
  const around = sizes.map((n, d) => [reach[d] - padding[d][0], n + padding[d][0] - out[d]] as const);
  // Windows at every place: the sums need no more than zeros around them.
  if (stride.every((s) => s === 1) && around.flat().every((p) => p >= 0)) {
    return sumsOfWindows("convolution", g, turned, { ...given, padding: around });
  }
  const whole = sizes.map((n, d) => n + reach[d]);
  const wide = zeros([g.shape[0], outChannels, ...whole], { dtype: g.dtype });
  // Window p lies at p·stride + start; what lies outside met only padding.
  const ranges = sizes.map((_, d) => {
    const start = reach[d] - padding[d][0];
    const first = Math.max(0, Math.ceil(-start / stride[d]));
    const end = Math.min(out[d], Math.floor((whole[d] - 1 - start) / stride[d]) + 1);
    const at = first * stride[d] + start;
    const from = [first, Math.max(first, end)] as const;
    return { from, to: [at, at + (end - first - 1) * stride[d] + 1, stride[d]] as const };
  });
  if (ranges.every(({ from }) => from[1] > from[0])) {
    wide
      .slice(":", ":", ...ranges.map(({ to }) => to))
      .assign(g.slice(":", ":", ...ranges.map(({ from }) => from)));
  }
  return sumsOfWindows("convolution", wide, turned, { ...given, padding: kernel.map(() => [0, 0]) });
}

/** Images are summed over in so many parts at the most, and in each over so many windows at the least. */
const MOST_PARTS = 8;
const LEAST_SUMMED = 1024;

/** Into how many parts of one size images are split: threads share them, and the bits are the same for any number of threads. */
function partsOf(images: number, windows: number): number {
  for (let parts = MOST_PARTS; parts > 1; parts--) {
    if (images % parts === 0 && (images / parts) * windows >= LEAST_SUMMED) return parts;
  }
  return 1;
}

/**
 * The images under the gradients of their windows. Here images are summed over, as channels were, and the channels are one
 * more axis that windows lie along: the last one, so that neighbours lie side by side.
 */
function ofWeights(plan: ConvPlan, x: Tensor, w: Strided, g: Tensor): Tensor {
  const { kernel, stride, dilation, padding, groups, outChannels, channels, out } = plan;
  const [perGroup, own] = [outChannels / groups, channels / groups];
  const [batch] = x.shape;
  const parts = partsOf(batch, sizeOf(out));
  const axes = kernel.map((_, d) => d + 2);
  const given = {
    kernel: [...out, 1],
    stride: [...dilation, 1],
    dilation: [...stride, 1],
    padding: [...padding, [0, 0] as const],
    groups: parts,
    outChannels: parts * perGroup,
    out: [...kernel, own],
  };
  const isPadded = padding.some(([before, after]) => before + after > 0);
  const made = Array.from({ length: groups }, (_, i) => {
    // [1, N, …sizes, C]; with zeros around, it is made dense anyway.
    const images = x.slice(":", [i * own, (i + 1) * own]).permute([0, ...axes, 1]);
    const dense = isPadded || own === 1 ? images : images.contiguous();
    // [parts, O, N / parts, …out, 1]
    const windows = g
      .slice(":", [i * perGroup, (i + 1) * perGroup])
      .reshape([parts, batch / parts, perGroup, ...out, 1])
      .swapAxes(1, 2);
    const sums = sumsOfWindows("convolution", dense.expandDims(0), windows, given);
    const whole = sums.reshape([parts, perGroup, ...kernel, own]).sum({ axis: 0 });
    return whole.permute([0, kernel.length + 1, ...axes.map((d) => d - 1)]);
  });
  return (groups === 1 ? made[0] : concat(made, { axis: 0 })).reshape(w.frame.shape);
}

/* Fourier transforms ------------------------------------------------------------------------------------------------------ */

interface Transform {
  readonly inverse: boolean;
  readonly from: "complex" | "real" | "half";
  readonly to: "complex" | "real" | "half";
  readonly axis: number;
  readonly n: number;
  readonly scale: number;
}

/** A linear map of pairs: its gradient is the transform the other way, unscaled, and then scaled as it was. */
const transform: Rule = {
  keep: atNothing,
  pull(back) {
    const { inverse, from, to, axis, n, scale } = back.facts as Transform;
    const [t] = back.inputs;
    const g = back.g[0]!;
    const have = t.frame.shape[axis];
    let made: Tensor;
    if (to === "half") made = real(ifft(g, { axis, n, norm: "forward" }));
    else if (from === "half") made = doubled(rfft(g, { axis, n }), axis, n);
    else made = inverse ? fft(g, { axis, n }) : ifft(g, { axis, n, norm: "forward" });
    back.grads.give(t, fitted(made.mul(scale), axis, have), true);
  },
};

/** All but the first and, of an even length, the last stand for two. */
function doubled(half: Tensor, axis: number, n: number): Tensor {
  const m = (n >> 1) + 1;
  const weights = Array.from({ length: m }, (_, k) => (k === 0 || 2 * k === n ? 1 : 2));
  const shape = half.shape.map((_, d) => (d === axis ? m : 1));
  return half.mul(tensor(weights, { dtype: half.dtype }).reshape(shape));
}

/** Cut, or followed by zeros: what was cut off, or put there. */
function fitted(t: Tensor, axis: number, size: number): Tensor {
  const have = t.shape[axis];
  const items = t.shape.map(() => ":" as string | [number, number]);
  if (have >= size) {
    items[axis] = [0, size];
    return t.slice(...items);
  }
  return pad(
    t,
    t.shape.map((_, d) => [0, d === axis ? size - have : 0] as [number, number]),
  );
}

/* Linear algebra ----------------------------------------------------------------------------------------------------------- */

const T = (t: Tensor): Tensor => t.swapAxes(-1, -2);
const column = (t: Tensor): Tensor => t.expandDims(-1);
const row = (t: Tensor): Tensor => t.expandDims(-2);
const scalar = (t: Tensor): Tensor => t.expandDims([-2, -1]);

const inverse: Rule = {
  keep: atOutput,
  pull(back) {
    const y = T(back.value(back.outs[0]));
    back.grads.give(back.inputs[0], y.matmul(back.g[0]!).matmul(y).neg(), true);
  },
};

/** Sums over the axes that a batch was repeated along. */
function unbatched(g: Tensor, shape: readonly number[]): Tensor {
  const extra = g.rank - shape.length;
  const axes = g.shape.flatMap((n, d) => (d < extra || (shape[d - extra] === 1 && n !== 1) ? [d] : []));
  return axes.length === 0 ? g : g.sum({ axis: axes, keepdims: true }).reshape(shape);
}

const solving: Rule = {
  keep: looking(({ inputs, outs }) => [inputs[0], outs[0]]),
  pull(back) {
    const [a, b] = back.inputs;
    const matrix = back.value(a);
    const isVector = b.frame.shape.length === 1;
    const asMatrix = (t: Tensor) => (isVector ? column(t) : t);
    const gb = solve(T(matrix), asMatrix(back.g[0]!));
    if (back.flows[0]) {
      const ga = gb.matmul(T(asMatrix(back.value(back.outs[0])))).neg();
      back.grads.give(a, unbatched(ga, a.frame.shape), true);
    }
    if (back.flows[1]) {
      const shape = isVector ? [...b.frame.shape, 1] : b.frame.shape;
      // Not ours: a's gradient is made of it, and where that is recorded it stays as it is.
      back.grads.give(b, unbatched(gb, shape).reshape(b.frame.shape), !back.flows[0]);
    }
  },
};

/**
 * The cofactors, det A·A⁻ᵀ, also where there is no inverse: det U·det V·U·P·Vᵀ, with the product of all other singular values for
 * each of them on P's diagonal. One operation to whoever records: U and V have no derivative where singular values are equal.
 */
function cofactors(a: Tensor): Tensor {
  const run = () => {
    const { u, s, vh, sign } = signedSvd(a);
    return u.mul(row(where(eyeLike(s).equal(1), 1, row(s)).prod({ axis: -1 }).mul(sign))).matmul(vh);
  };
  return noted("cofactors", [stridedOf(a)], {}, run, (made) => [stridedOf(made)], "det");
}

/** The singular values of square matrices, and det U·det V as [..., 1]. */
function signedSvd(a: Tensor) {
  const { u, s, vh } = svd(a);
  return { u, s, vh, sign: column(det(u).mul(det(vh))) };
}

/**
 * ⟨G, cof A⟩ of B = Uᵀ·A·V, which is diagonal, and H = Uᵀ·G·V: cofactor i moves with each other element of B's diagonal, cofactor
 * [i, j] with element [j, i]; both by the product of all singular values but those two.
 */
const cofactorsRule: Rule = {
  keep: atInput,
  pull(back) {
    const { u, s, vh, sign } = signedSvd(back.value(back.inputs[0]));
    const h = T(u).matmul(back.g[0]!).matmul(T(vh));
    const others = butTwo(s);
    const diagonal = h.mul(eyeLike(h)).sum({ axis: -2, keepdims: true }).matmul(others);
    const inner = eyeLike(h)
      .mul(diagonal)
      .sub(T(h.mul(others)));
    back.grads.give(back.inputs[0], u.matmul(inner.mul(column(sign))).matmul(vh), true);
  },
};

/** The product of all elements but i and j in place [i, j], and 0 where both are one. */
function butTwo(s: Tensor): Tensor {
  const n = s.shape[s.rank - 1];
  const one = eyeLike(s);
  const butOne = where(one.equal(1), 1, row(s));
  const [first, rest] = [butOne.slice("...", [0, 1]), [0, n - 1] as const];
  const before = (t: Tensor) =>
    concat([onesLike(first), t.cumprod({ axis: -1 }).slice("...", rest)], { axis: -1 });
  return before(butOne)
    .mul(before(butOne.flip(-1)).flip(-1))
    .mul(onesOffDiagonal(one));
}

const determinant: Rule = {
  keep: atBoth,
  pull(back) {
    const [a, y, g] = [back.value(back.inputs[0]), back.value(back.outs[0]), back.g[0]!];
    const isSingular = y.equal(0).any().item() === true;
    const made = isSingular ? cofactors(a).mul(scalar(g)) : T(inv(a)).mul(scalar(g.mul(y)));
    back.grads.give(back.inputs[0], made, true);
  },
};

/** The sign does not move; the logarithm moves by the inverse. */
const logDeterminant: Rule = {
  keep: looking(({ inputs, outs }) => [inputs[0], outs[0]]),
  pull(back) {
    const [, g] = back.g;
    if (g === null) return;
    if (back.value(back.outs[0]).equal(0).any().item() === true)
      fail(
        "singular",
        "slogdet",
        "the matrix is singular: its logarithm is -Infinity and has no gradient.",
        "Add a little to the diagonal, or take the gradient of det.",
      );
    back.grads.give(back.inputs[0], T(inv(back.value(back.inputs[0]))).mul(scalar(g)), true);
  },
};

const eyeLike = (t: Tensor): Tensor => eye(t.shape[t.rank - 1], { dtype: t.dtype as "f64" });
const lower = (t: Tensor): Tensor => tril(t) as Tensor;

/** The lower triangle, its diagonal halved. */
const halfLower = (t: Tensor): Tensor => lower(t).mul(lower(onesBelow(t)));
const onesBelow = (t: Tensor): Tensor => eyeLike(t).mul(-0.5).add(1);

/** What a symmetric matrix's gradient is, where only its lower triangle is read: each element stands for two. */
const ofLower = (s: Tensor): Tensor => lower(s.add(T(s)).mul(onesBelow(s)));

const cholesky: Rule = {
  keep: atOutput,
  pull(back) {
    const { upper } = back.facts as { readonly upper: boolean };
    const y = back.value(back.outs[0]);
    const l = upper ? T(y) : y;
    const g = upper ? T(back.g[0]!) : back.g[0]!;
    const middle = halfLower(T(l).matmul(lower(g)));
    // L⁻ᵀ·Φ·L⁻¹
    const s = T(solve(T(l), T(solve(T(l), middle))));
    const made = ofLower(s);
    back.grads.give(back.inputs[0], upper ? T(made) : made, true);
  },
};

const factoredQr: Rule = {
  keep: looking(({ inputs, outs }) => [inputs[0], outs[0], outs[1]]),
  pull(back) {
    const a = back.value(back.inputs[0]);
    const [m, n] = a.shape.slice(-2);
    const { mode } = back.facts as { readonly mode: string };
    if (mode === "complete" && m > n) {
      fail(
        "value",
        "qr",
        `the gradient of a complete factorisation of ${m} × ${n} is not known.`,
        'The columns of Q beyond the matrix are arbitrary: use { mode: "reduced" }.',
      );
    }
    const [q, r] = [back.value(back.outs[0]), back.value(back.outs[1])];
    const gq = back.g[0] ?? zeros(q.shape, { dtype: q.dtype });
    const gr = back.g[1] ?? zeros(r.shape, { dtype: r.dtype });
    if (m >= n) {
      back.grads.give(back.inputs[0], tallQr(q, r, gq, gr), true);
      return;
    }
    // A = [X | Y] and R = [U | V]: X = Q·U, and V = Qᵀ·Y.
    const left = (t: Tensor) => t.slice("...", [0, m]);
    const right = (t: Tensor) => t.slice("...", [m, n]);
    const gx = tallQr(q, left(r), gq.add(right(a).matmul(T(right(gr)))), left(gr));
    const gy = q.matmul(right(gr));
    back.grads.give(back.inputs[0], concat([gx, gy], { axis: -1 }), true);
  },
};

/** (gQ + Q·sym(M))·R⁻ᵀ with M = R·gRᵀ − gQᵀ·Q, whose lower triangle is mirrored. */
function tallQr(q: Tensor, r: Tensor, gq: Tensor, given: Tensor): Tensor {
  const gr = triu(given) as Tensor;
  const m = r.matmul(T(gr)).sub(T(gq).matmul(q));
  const mirrored = halfLower(m).add(T(halfLower(m)));
  const inner = gq.add(q.matmul(mirrored));
  return T(solve(r, T(inner)));
}

/** 1 / (w[j] − w[i]) beside the diagonal, 0 on it. */
const differences = (w: Tensor): Tensor => {
  const between = row(w).sub(column(w)).add(eyeLike(w));
  return onesOffDiagonal(between).div(between);
};
const onesOffDiagonal = (t: Tensor): Tensor => eyeLike(t).neg().add(1);

function symmetricPull(w: Tensor, v: Tensor, gw: Tensor | null, gv: Tensor | null): Tensor {
  let inner: Tensor = zeros(v.shape, { dtype: v.dtype });
  if (gw !== null) inner = inner.add(eyeLike(v).mul(row(gw)));
  if (gv !== null) inner = inner.add(T(v).matmul(gv).mul(differences(w)));
  const whole = v.matmul(inner).matmul(T(v));
  return ofLower(whole.add(T(whole)).mul(0.5));
}

const turnedBy = (back: Back, made: Tensor): Tensor =>
  (back.facts as { readonly uplo?: string }).uplo === "U" ? T(made) : made;

const eigen: Rule = {
  keep: looking(({ outs }) => outs),
  pull(back) {
    const [w, v] = back.outs.map(back.value);
    back.grads.give(back.inputs[0], turnedBy(back, symmetricPull(w, v, back.g[0], back.g[1])), true);
  },
};

const eigenvalues: Rule = {
  keep: atInput,
  pull(back) {
    const { uplo = "L" } = back.facts as { readonly uplo?: "L" | "U" };
    const { eigenvalues: w, eigenvectors: v } = eigh(back.value(back.inputs[0]), { uplo });
    back.grads.give(back.inputs[0], turnedBy(back, symmetricPull(w, v, back.g[0], null)), true);
  },
};

/** U·(…)·Vᵀ, where the parts of gU and gV across the columns of U and V divide by differences of squares. */
function pullSvd(
  u: Tensor,
  s: Tensor,
  vh: Tensor,
  gu: Tensor | null,
  gs: Tensor | null,
  gvh: Tensor | null,
): Tensor {
  const k = s.shape[s.rank - 1];
  const v = T(vh);
  let inner: Tensor = zeros([...s.shape.slice(0, -1), k, k], { dtype: s.dtype });
  if (gs !== null) inner = inner.add(eyeLike(inner).mul(row(gs)));
  const square = s.square();
  const f = gu === null && gvh === null ? null : differences(square);
  const skew = (x: Tensor) => x.sub(T(x));
  if (gu !== null) inner = inner.add(skew(T(u).matmul(gu)).mul(f!).mul(row(s)));
  if (gvh !== null) inner = inner.add(column(s).mul(skew(T(v).matmul(T(gvh))).mul(f!)));
  let made = u.matmul(inner).matmul(vh);
  // What of gU lies outside of U's columns, and of gV outside of V's.
  const [m, n] = [u.shape[u.rank - 2], v.shape[v.rank - 2]];
  if (gu !== null && m > k) {
    const scaled = gu.div(row(s));
    made = made.add(scaled.sub(u.matmul(T(u).matmul(scaled))).matmul(vh));
  }
  if (gvh !== null && n > k) {
    const scaled = gvh.div(column(s));
    made = made.add(u.matmul(scaled.sub(scaled.matmul(v).matmul(vh))));
  }
  return made;
}

const singular: Rule = {
  keep: looking(({ outs }) => outs),
  pull(back) {
    const [u, s, vh] = back.outs.map(back.value);
    const [gu, gs, gvh] = back.g;
    const { full } = back.facts as { readonly full: boolean };
    const k = s.shape[s.rank - 1];
    const isWhole = full && u.shape[u.rank - 1] !== vh.shape[vh.rank - 2];
    if (isWhole && (gu !== null || gvh !== null)) {
      fail(
        "value",
        "svd",
        "the gradient of full matrices is not known.",
        "Their columns beyond the smaller size are arbitrary: use { fullMatrices: false }.",
      );
    }
    const first = isWhole ? { u: u.slice("...", [0, k]), vh: vh.slice("...", [0, k], ":") } : { u, vh };
    back.grads.give(back.inputs[0], pullSvd(first.u, s, first.vh, gu, gs, gvh), true);
  },
};

const singularValues: Rule = {
  keep: atInput,
  pull(back) {
    const { u, s, vh } = svd(back.value(back.inputs[0]), { fullMatrices: false });
    back.grads.give(back.inputs[0], pullSvd(u, s, vh, null, back.g[0], null), true);
  },
};

/**
 * A⁺ moves by -A⁺·dA·A⁺ as an inverse does, and by what of dA lies outside of the rows and columns that A has:
 * A⁺·A⁺ᵀ·dAᵀ·(1 - A·A⁺) + (1 - A⁺·A)·dAᵀ·A⁺ᵀ·A⁺. Here is what takes a gradient of A⁺ back to A.
 */
function pullPinv(a: Tensor, p: Tensor, g: Tensor): Tensor {
  const [pt, gt] = [T(p), T(g)];
  const gp = gt.matmul(p);
  const pg = p.matmul(gt);
  const inside = pt.matmul(g).matmul(pt);
  const beyondColumns = gp.sub(a.matmul(p.matmul(gp))).matmul(pt);
  const beyondRows = pt.matmul(pg.sub(pg.matmul(p).matmul(a)));
  return beyondColumns.add(beyondRows).sub(inside);
}

const pseudoInverse: Rule = {
  keep: atBoth,
  pull(back) {
    const [a, p] = [back.value(back.inputs[0]), back.value(back.outs[0])];
    back.grads.give(back.inputs[0], pullPinv(a.to(p.dtype), p, back.g[0]!), true);
  },
};

/** x = A⁺·b; at the least of the squares, they move with b - A·x alone. */
const leastSquares: Rule = {
  keep: looking(({ inputs, outs }) => [...inputs, outs[0]]),
  pull(back) {
    const [left, right] = back.inputs;
    const [found] = back.outs;
    const { rtol } = back.facts as { readonly rtol: number };
    const isVector = right.frame.shape.length === 1;
    const asMatrix = (t: Tensor) => (isVector ? column(t) : t);
    const a = back.value(left).to(found.dtype);
    const [b, x] = [asMatrix(back.value(right).to(found.dtype)), asMatrix(back.value(found))];
    const [gx, gr, gs] = back.g;
    const give = (ga: Tensor, gb: Tensor | null) => {
      if (back.flows[0]) back.grads.give(left, ga, true);
      if (back.flows[1] && gb !== null) back.grads.give(right, gb.reshape(right.frame.shape), true);
    };
    if (gx !== null) {
      const p = pinv(a, { rtol });
      const g = asMatrix(gx);
      give(pullPinv(a, p, g.matmul(T(b))), T(p).matmul(g));
    }
    if (gr !== null && gr.size > 0) {
      const moved = b.sub(a.matmul(x)).mul(gr.mul(2));
      give(moved.matmul(T(x)).neg(), moved.clone());
    }
    if (gs !== null) {
      const { u, s, vh } = svd(a, { fullMatrices: false });
      give(pullSvd(u, s, vh, null, gs, null), null);
    }
  },
};

/* ------------------------------------------------------------------------------------------------------------------------- */

/** The same value under another name. */
const alias: Rule = {
  keep: atNothing,
  pull: (back) => back.grads.give(back.inputs[0], back.g[0]!),
};

/** An operation that brings its own rule. */
const custom: Rule = {
  keep: (step) => (step.facts as { readonly rule: Rule }).rule.keep(step),
  pull: (back) => (back.facts as { readonly rule: Rule }).rule.pull(back),
};

export const namedRules: Readonly<Record<string, Rule>> = {
  alias,
  custom,
  softmax,
  logSoftmax,
  logsumexp,
  var: variance,
  variance,
  std,
  norm,
  "power norm": powerNorm,
  "gather routine": gather,
  "scatter routine": scatter,
  "compress routine": booleanMask,
  "gather lines routine": gatherLines,
  "sort routine": sorted,
  "join routine": joined,
  "bincount routine": counted,
  edges,
  convolution,
  "largest of windows": largestRule,
  linear,
  "cross entropy": crossEntropy,
  "layer norm": layerNorm,
  fft: transform,
  inv: inverse,
  solve: solving,
  det: determinant,
  cofactors: cofactorsRule,
  slogdet: logDeterminant,
  cholesky,
  qr: factoredQr,
  eigh: eigen,
  eigvalsh: eigenvalues,
  svd: singular,
  svdvals: singularValues,
  pinv: pseudoInverse,
  lstsq: leastSquares,
};

export const ruleNamed = (name: string): Rule | null =>
  Object.hasOwn(namedRules, name) ? namedRules[name] : null;
