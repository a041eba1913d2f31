/**
 * Statistics: order statistics over sorted lines, counts in intervals, weighted means and covariances, differences and
 * cumulative sums. Sums, means and variances are reductions (ops/reductions.ts).
 */
import { cumprod, cumsum, full, linspace, max, min, scope, tensor, where, zip } from "../api.ts";
import {
  type DType,
  dtypes,
  type FloatDType,
  type Floated,
  isFloat,
  isInteger,
  type Promote,
  promote,
  promoteAll,
  type Wide,
} from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list, shown } from "../errors.ts";
import { axisList, checkFlag, readList, readOptions } from "../ops/arguments.ts";
import { runRoutine } from "../ops/execute.ts";
import { noted } from "../ops/noted.ts";
import type { AxisOptions, CumulativeOptions } from "../ops/reductions.ts";
import { allocate } from "../ops/strided.ts";
import { countRoutine } from "../routines/sorted.ts";
import type { Strided } from "../run/call.ts";
import { isTensor, liveTensor, type Operand, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxes, normalizeAxis, sizeOf } from "../view/layout.ts";
import { scoped } from "./scoped.ts";
import { densePositions, lookUp, operandFor, vector } from "./search.ts";
import { denseCopy, gatherLines, sortLines } from "./sort.ts";

export const floatOf = (d: DType): DType => (isFloat(d) ? d : "f64");

/* Order statistics ---------------------------------------------------------------------------------------------------- */

/** Where a quantile lies among n sorted elements: between two of them, and how far towards the second. */
interface Place {
  readonly low: number;
  readonly high: number;
  readonly part: number;
}

/** Virtual positions of the quantile q among n elements, counted from 0; NumPy explains each in its manual. */
const methods = {
  linear: (n, q) => between(n, (n - 1) * q),
  lower: (n, q) => exactly(n, Math.floor((n - 1) * q)),
  higher: (n, q) => exactly(n, Math.ceil((n - 1) * q)),
  nearest: (n, q) => exactly(n, roundHalfEven((n - 1) * q)),
  midpoint: (n, q) => {
    const at = (n - 1) * q;
    return { low: Math.floor(at), high: Math.ceil(at), part: at % 1 === 0 ? 0 : 0.5 };
  },
  invertedCdf: (n, q) => exactly(n, Math.ceil(n * q - 1)),
  averagedInvertedCdf: (n, q) => {
    const place = between(n, n * q - 1);
    return { ...place, part: (n * q) % 1 === 0 ? 0.5 : 1 };
  },
  closestObservation: (n, q) => {
    const at = n * q - 1.5;
    const below = Math.floor(at);
    return exactly(n, at === below && Math.abs(below) % 2 === 1 ? below : below + 1);
  },
  interpolatedInvertedCdf: (n, q) => between(n, n * q - 1),
  hazen: (n, q) => between(n, n * q - 0.5),
  weibull: (n, q) => between(n, n * q + q - 1),
  medianUnbiased: (n, q) => between(n, n * q + (1 / 3 + q * (1 / 3)) - 1),
  normalUnbiased: (n, q) => between(n, n * q + (3 / 8 + q * (1 / 4)) - 1),
} as const satisfies Record<string, (n: number, q: number) => Place>;

/** What to give where a quantile lies between two elements, by NumPy's names. */
export type QuantileMethod = keyof typeof methods;
/** These give an element of the tensor itself, in its own dtype. */
type Choosing = "lower" | "higher" | "nearest" | "invertedCdf" | "closestObservation";
const choosing: readonly string[] = [
  "lower",
  "higher",
  "nearest",
  "invertedCdf",
  "closestObservation",
] satisfies Choosing[];
/** What lies between elements is a float, in the dtype that it and a tensor of quantiles meet in. */
export type QuantileDType<D extends DType, Q, M> = M extends Choosing
  ? D
  : Q extends Tensor<infer E>
    ? Promote<Floated<D>, E>
    : Floated<D>;

function between(n: number, at: number): Place {
  if (at >= n - 1) return { low: n - 1, high: n - 1, part: 0 };
  if (at < 0) return { low: 0, high: 0, part: 0 };
  const low = Math.floor(at);
  return { low, high: low + 1, part: at - low };
}

function exactly(n: number, at: number): Place {
  const low = Math.min(Math.max(at, 0), n - 1);
  return { low, high: low, part: 0 };
}

function roundHalfEven(x: number): number {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}

/** The options of `quantile` and `percentile`. */
export interface QuantileOptions<M extends QuantileMethod = QuantileMethod> extends AxisOptions {
  /** What to give where the quantile lies between two elements. Default "linear". */
  readonly method?: M;
}

/**
 * The middle element along axes, or the mean of the two in the middle; NaN if there is a NaN.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
 * @returns a new tensor without the folded axes; integers give f64
 * @example
 * median(tensor([5, 1, 3])); // → f32 3
 */
export function median<D extends DType>(t: Tensor<D>, options?: AxisOptions): Tensor<Floated<D>>;
export function median(t: Tensor, options: AxisOptions = {}): Tensor {
  const op = "median";
  options = readOptions(op, options, "{ axis: 0 }", ["axis", "keepdims"]);
  checkFlag(op, "keepdims", options.keepdims);
  const live = liveTensor(op, t);
  return scoped(op, () => {
    const { lines, shape, keptShape, n } = linesOf(op, live, options);
    const dtype = floatOf(live.dtype);
    if (n === 0) return full(shape, Number.NaN, { dtype });
    const sorted = sortLines(op, lines, "values", { descending: false });
    const at = (i: number) => sorted.slice("...", i).to("f64");
    const middle = zip([at((n - 1) >> 1), at(n >> 1), at(n - 1)], middleOf);
    return shaped(middle.to(dtype), keptShape, shape);
  });
}

/** A NaN is the last of its line. */
const middleOf = (a: number, b: number, last: number) =>
  Number.isNaN(last) ? last : a === b ? a : (a + b) / 2;

/**
 * The q-quantiles along axes: q is a number from 0 to 1, an array of them, or a tensor, whose axes come first in the
 * result. A line with a NaN gives NaN.
 *
 * @param t a tensor of any layout
 * @param q from 0 to 1
 * @param options `axis`, `keepdims`, `method`: what to give between two elements, default "linear"
 * @returns a new tensor without the folded axes, q's axes first
 * @example
 * quantile(tensor([1, 2, 3, 4, 5]), [0, 0.5]); // → f32 [1, 3]
 */
export function quantile<D extends DType, Q extends Quantiles, M extends QuantileMethod = "linear">(
  t: Tensor<D>,
  q: Q,
  options?: QuantileOptions<M>,
): Tensor<QuantileDType<D, Q, M>>;
export function quantile(t: Tensor, q: Quantiles, options: QuantileOptions = {}): Tensor {
  return quantiles("quantile", t, q, 1, options);
}
/**
 * As quantile, with q from 0 to 100.
 *
 * @param t a tensor of any layout
 * @param q from 0 to 100
 * @param options `axis`, `keepdims`, `method`: what to give between two elements, default "linear"
 * @returns a new tensor without the folded axes, q's axes first
 * @example
 * percentile(tensor([1, 2, 3, 4, 5]), 25); // → f32 2
 */
export function percentile<D extends DType, Q extends Quantiles, M extends QuantileMethod = "linear">(
  t: Tensor<D>,
  q: Q,
  options?: QuantileOptions<M>,
): Tensor<QuantileDType<D, Q, M>>;
export function percentile(t: Tensor, q: Quantiles, options: QuantileOptions = {}): Tensor {
  return quantiles("percentile", t, q, 100, options);
}

/** Which quantiles: one, a list, or a tensor. */
export type Quantiles = number | readonly number[] | Tensor;

/** With `leaveOut`, of what is left of each line without its NaNs. */
export function quantiles(
  op: string,
  t: Tensor,
  q: Quantiles,
  whole: number,
  options: QuantileOptions,
  leaveOut = false,
): Tensor {
  options = readOptions(op, options, '{ axis: 0, method: "nearest" }', ["axis", "keepdims", "method"]);
  checkFlag(op, "keepdims", options.keepdims);
  const method = options.method ?? "linear";
  if (typeof method !== "string" || !Object.hasOwn(methods, method)) {
    fail("value", op, `the method is ${describe(method)}.`, `Use one of ${Object.keys(methods).join(" ")}.`);
  }
  const asked = quantilesOf(op, q, whole);
  const live = liveTensor(op, t);
  return scoped(op, () => {
    const { lines, shape, keptShape, n } = linesOf(op, live, options);
    if (n === 0 && leaveOut)
      return full([...asked.shape, ...shape], Number.NaN, { dtype: floatOf(live.dtype) });
    if (n === 0) failEmpty(op, live);
    const sorted = sortLines(op, lines, "values", { descending: false }).reshape(-1, n);
    const at = placesIn(sorted, asked.values, methods[method], leaveOut && isFloat(live.dtype));
    const low = gatherLines(op, sorted, at.low);
    // What is NaN makes NaN: the last of a line, or else only what was found itself.
    const last = leaveOut ? low : sorted.slice(":", [n - 1, n]);
    const isChoice = choosing.includes(method);
    const own = isChoice ? live.dtype : floatOf(live.dtype);
    const dtype = asked.dtype === null || isChoice ? own : promote(own, asked.dtype);
    const picked = isChoice
      ? chosen(low, last)
      : interpolated(low, gatherLines(op, sorted, at.high), at.part, last);
    // One row a line, one column a quantile: the quantiles' axes come first.
    const found = picked.to(dtype).T.contiguous();
    return shaped(found, [...asked.shape, ...keptShape], [...asked.shape, ...shape]);
  });
}

function failEmpty(op: string, t: Tensor): never {
  const fact = `nothing to choose from: the tensor is ${list(t.shape)}.`;
  return fail("shape", op, fact, "Fold an axis that has elements.");
}

function quantilesOf(
  op: string,
  q: Quantiles,
  whole: number,
): { readonly values: number[]; readonly shape: readonly number[]; readonly dtype: DType | null } {
  const tensorial = isTensor(q);
  const listed = tensorial ? null : readList(op, "q", q);
  const given = tensorial ? scope(() => [...n64(liveTensor(op, q))]) : (listed ?? [q]);
  const values = (given as unknown[]).map((x) => (typeof x === "number" ? x / whole : Number.NaN));
  const wrong = values.findIndex((x) => !(x >= 0 && x <= 1));
  if (wrong >= 0) {
    fail("value", op, `q is ${describe(given[wrong])}.`, `Use numbers from 0 to ${whole}.`);
  }
  if (tensorial) return { values, shape: q.shape, dtype: q.dtype };
  return { values, shape: listed === null ? [] : [values.length], dtype: null };
}

/** One row a line, one column a quantile: positions as dense i64, and parts. */
function placesIn(
  sorted: Tensor,
  quantiles: readonly number[],
  method: (n: number, q: number) => Place,
  leaveOut: boolean,
): { readonly low: Tensor<"i64">; readonly high: Tensor<"i64">; readonly part: Tensor } {
  const [lines, n] = sorted.shape;
  const counts = leaveOut ? [...n64(sorted.isnan().logicalNot().sum({ axis: 1 }))] : [n];
  const places = counts.flatMap((count) => quantiles.map((q) => method(Math.max(count, 1), q)));
  const rows = (t: Tensor) => t.reshape(counts.length, quantiles.length).broadcastTo(lines, quantiles.length);
  const positions = (values: readonly number[]) => tensor(BigInt64Array.from(values, BigInt));
  return {
    low: rows(positions(places.map((p) => p.low))).contiguous() as Tensor<"i64">,
    high: rows(positions(places.map((p) => p.high))).contiguous() as Tensor<"i64">,
    part: rows(tensor(Float64Array.from(places, (p) => p.part))),
  };
}

const n64 = (t: Tensor): Float64Array => t.to("f64").toTypedArray();

/** A NaN is the last of its line, and makes the line's result. */
const chosen = (low: Tensor, last: Tensor): Tensor =>
  isFloat(low.dtype) ? where(last.isnan(), last, low) : low;

const interpolated = (low: Tensor, high: Tensor, part: Tensor, last: Tensor): Tensor =>
  zip([low.to("f64"), high.to("f64"), part, last.to("f64")], pointBetween);

/** From the nearer end, so that both ends are exact; an infinity that has no part in it changes nothing. */
const pointBetween = (a: number, b: number, part: number, last: number) => {
  if (Number.isNaN(last)) return last;
  if (a === b || part === 0) return a;
  return part >= 0.5 ? b - (b - a) * (1 - part) : a + (b - a) * part;
};

/** The folded axes as one, last: a dense tensor of lines, and the result's shape with and without those axes. */
export function linesOf(
  op: string,
  t: Tensor,
  { axis, keepdims }: AxisOptions,
): { lines: Tensor; n: number; shape: number[]; keptShape: number[] } {
  const every = t.shape.map((_, d) => d);
  const folded = axis === undefined ? every : normalizeAxes(op, axisList(op, axis), t.rank);
  const kept = every.filter((d) => !folded.includes(d));
  const n = sizeOf(folded.map((d) => t.shape[d]));
  const keptShape = kept.map((d) => t.shape[d]);
  const lines = t.permute([...kept, ...folded]).reshape([...keptShape, n]);
  return {
    lines: denseCopy(op, lines, "lines are sorted in dense memory"),
    n,
    shape: keepdims ? t.shape.map((size, d) => (folded.includes(d) ? 1 : size)) : keptShape,
    keptShape,
  };
}

export const shaped = (t: Tensor, from: readonly number[], to: readonly number[]): Tensor =>
  t.reshape(from).contiguous().reshape(to);

/**
 * The largest minus the smallest element along axes.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
 * @returns a new tensor of t's dtype without the folded axes
 * @example
 * ptp(tensor([3, 9, 5])); // → f32 6
 */
export function ptp<D extends DType>(t: Tensor<D>, options?: AxisOptions): Tensor<D>;
export function ptp(t: Tensor, options: AxisOptions = {}): Tensor {
  options = readOptions("ptp", options, "{ axis: 0 }", ["axis", "keepdims"]);
  const live = liveTensor("ptp", t);
  const { axis } = options;
  const sizes =
    axis === undefined
      ? live.shape
      : normalizeAxes("ptp", axisList("ptp", axis), live.rank).map((d) => live.shape[d]);
  if (sizes.includes(0)) failEmpty("ptp", live);
  return scoped("ptp", () => max(live, options).sub(min(live, options)));
}

/* Counting ------------------------------------------------------------------------------------------------------------- */

/** The options of `bincount`. */
export interface BincountOptions {
  /** What each element counts; default 1. */
  readonly weights?: Tensor;
  /** The result has at least this many counts. */
  readonly minlength?: number;
}

/**
 * How often each of 0, 1, 2 … is in a vector of non-negative integers, or the sum of its weights.
 *
 * @param t a vector of integers, none of them negative
 * @param options `weights`: what each counts; `minlength`: of the result
 * @returns a new i64 vector, f64 with weights
 * @example
 * bincount(tensor([0, 2, 2], { dtype: "i32" })); // → i64 [1n, 0n, 2n]
 */
export function bincount(
  t: Tensor,
  options?: BincountOptions & { readonly weights?: undefined },
): Tensor<"i64">;
export function bincount(t: Tensor, options: BincountOptions & { readonly weights: Tensor }): Tensor<"f64">;
export function bincount(t: Tensor, options?: BincountOptions): Tensor<"i64" | "f64">;
export function bincount(t: Tensor, options: BincountOptions = {}): Tensor {
  const op = "bincount";
  options = readOptions(op, options, "{ minlength: 10 }", ["weights", "minlength"]);
  const x = vector(op, "the tensor", t);
  if (!isInteger(x.dtype) && x.dtype !== "bool") {
    fail("dtype", op, `the elements are ${x.dtype}.`, 'Counts are of integers: convert with to("i64").');
  }
  const minlength = options.minlength ?? 0;
  if (!Number.isSafeInteger(minlength) || minlength < 0) {
    fail("value", op, `minlength is ${describe(minlength)}.`, "Use a whole number from 0.");
  }
  const weights = options.weights === undefined ? null : vector(op, "weights", options.weights);
  if (weights !== null && weights.size !== x.size) {
    fail("shape", op, `${weights.size} weights for ${x.size} elements.`, "Give one weight for each element.");
  }
  return scoped(op, () => {
    const [low, high] = x.size === 0 ? [0n, -1n] : [min(x), max(x)].map((m) => BigInt(m.item()));
    if (low < 0n) fail("value", op, `an element is ${low}.`, "Counts are of integers from 0.");
    return countPositions(op, densePositions(x), Math.max(Number(high) + 1, minlength), weights);
  });
}

/** Counts of this many kinds are kept apart for each thread and added at the end. */
const FEW = 1 << 16;

/** The positions are checked: 0 … length - 1. */
function countPositions(op: string, at: Tensor<"i64">, length: number, weights: Tensor | null): Tensor {
  const { routines } = engine();
  // Sums of floats depend on their order, so weights are added in one thread.
  const apart = weights === null && length <= FEW && routines.isShared(2 * at.size);
  const parts = apart ? 2 * routines.threads : 1;
  const dtype = weights === null ? "i64" : "f64";
  const counts = wrap(allocate(op, dtype, [parts, length], undefined, true));
  const inputs: Strided[] = [stridedOf(at)];
  if (weights !== null) inputs.push(stridedOf(weights.to("f64").contiguous()));
  runRoutine(countRoutine, { operation: op, params: {}, inputs, outs: [stridedOf(counts as Tensor)] });
  return parts === 1 ? counts.reshape(length) : counts.sum({ axis: 0 });
}

/** The options of `histogram`. */
export interface HistogramOptions {
  /** The number of intervals of equal width (default 10), or their edges. */
  readonly bins?: number | readonly number[] | Tensor;
  /** Where the first interval begins and the last one ends; default: the smallest and the largest element. */
  readonly range?: readonly [number, number];
  /** What each element counts; default 1. */
  readonly weights?: Tensor;
  /** Divide by the total and by the width of each interval, so that the integral is 1. */
  readonly density?: boolean;
}

/**
 * How many elements fall into each interval [edge, next edge); the last one includes its right edge.
 *
 * @param t a tensor of any layout
 * @param options `bins`: how many (default 10), or their edges; `range`, `weights`, `density`
 * @returns new vectors `counts` and `edges`, which has one more
 * @example
 * histogram(tensor([0, 1, 1, 4]), { bins: 2 }).counts; // → i64 [3n, 1n]
 */
export function histogram<D extends DType>(
  t: Tensor<D>,
  options: HistogramOptions & {
    readonly weights?: undefined;
    readonly density?: false;
    readonly bins?: number;
  },
): { readonly counts: Tensor<"i64">; readonly edges: Tensor<Floated<D>> };
export function histogram<D extends DType>(
  t: Tensor<D>,
): { readonly counts: Tensor<"i64">; readonly edges: Tensor<Floated<D>> };
export function histogram(
  t: Tensor,
  options?: HistogramOptions,
): { readonly counts: Tensor; readonly edges: Tensor };
export function histogram(
  t: Tensor,
  options: HistogramOptions = {},
): { readonly counts: Tensor; readonly edges: Tensor } {
  const op = "histogram";
  options = readOptions(op, options, "{ bins: 20, range: [0, 1] }", ["bins", "range", "weights", "density"]);
  checkFlag(op, "density", options.density);
  const live = liveTensor(op, t);
  const weights = options.weights === undefined ? null : liveTensor(op, options.weights);
  if (weights !== null && list(weights.shape) !== list(live.shape)) {
    fail(
      "shape",
      op,
      `weights are ${list(weights.shape)}, the tensor is ${list(live.shape)}.`,
      "Give one weight for each element.",
    );
  }
  return scoped(op, () => {
    const x = live.reshape(-1);
    const edges = edgesOf(op, x, options);
    const intervals = edges.size - 1;
    const found = lookUp(op, edges, x, "right");
    const number = where(x.equal(edges.slice(-1)), intervals, found) as Tensor<"i64">;
    const flat = weights === null ? null : weights.reshape(-1);
    const all = countPositions(op, densePositions(number), intervals + 2, flat);
    const inside = all.slice([1, intervals + 1]);
    if (options.density) {
      const widths = edges
        .slice([1, null])
        .to("f64")
        .sub(edges.slice([0, -1]).to("f64"));
      const counts = inside.to("f64").div(widths).div(inside.to("f64").sum());
      return { counts: counts.contiguous(), edges };
    }
    return { counts: (weights === null ? inside : inside.to(weights.dtype)).clone(), edges };
  });
}

function edgesOf(op: string, x: Tensor, options: HistogramOptions): Tensor {
  const bins = options.bins ?? 10;
  if (typeof bins !== "number") {
    const given = Array.isArray(bins)
      ? tensor(bins as readonly number[], { dtype: "f64" })
      : (bins as Tensor);
    const edges = vector(op, "the edges (bins)", given).clone();
    const isRising =
      edges.size > 1 &&
      edges
        .slice([1, null])
        .greaterEqual(edges.slice([0, -1]))
        .all()
        .item();
    if (isRising) return edges;
    return fail(
      "value",
      op,
      `the edges are ${edges.size < 2 ? "fewer than two" : "not in order"}.`,
      "Give at least two, each not below the one before.",
    );
  }
  if (!Number.isInteger(bins) || bins < 1) {
    fail("value", op, `bins is ${describe(bins)}.`, "Use a whole number from 1, or the edges.");
  }
  const [low, high] = rangeOf(op, x, options.range);
  const run = () => linspace(low, high, bins + 1, { dtype: floatOf(x.dtype) });
  // From the smallest to the largest: the edges move with these two.
  if (options.range !== undefined || x.size === 0) return run();
  return noted("edges", [stridedOf(x)], {}, run, (made) => [stridedOf(made)], op);
}

function rangeOf(op: string, x: Tensor, range: unknown): readonly [number, number] {
  if (range !== undefined && !(Array.isArray(range) && range.length === 2)) {
    fail("value", op, `range is ${describe(range)}.`, "Give [low, high].");
  }
  const given = range as readonly unknown[] | undefined;
  const [low, high] = given ?? (x.size === 0 ? [0, 1] : [min(x).to("f64").item(), max(x).to("f64").item()]);
  const isRange = Number.isFinite(low) && Number.isFinite(high) && (low as number) <= (high as number);
  if (!isRange) {
    fail(
      "value",
      op,
      `the range is from ${shown(low)} to ${shown(high)}.`,
      "Give two finite numbers in order: { range: [0, 1] }.",
    );
  }
  const [a, b] = [low as number, high as number];
  return a === b ? [a - 0.5, b + 0.5] : [a, b];
}

/* Means and covariances -------------------------------------------------------------------------------------------------- */

/** The options of `average`. */
export interface AverageOptions<E extends DType = DType> extends AxisOptions {
  /** What each element weighs: of the tensor's shape, or of the sizes of the axes. Default: all the same. */
  readonly weights?: Tensor<E>;
}

/**
 * The mean along axes, weighted.
 *
 * @param t a tensor of any layout
 * @param options `weights`: of t's shape, or of the axes' sizes; `axis`, `keepdims`
 * @returns a new tensor without the folded axes
 * @example
 * average(tensor([1, 5]), { weights: tensor([3, 1]) }); // → f32 2
 */
export function average<D extends DType, E extends DType = D>(
  t: Tensor<D>,
  options?: AverageOptions<E>,
): Tensor<D extends FloatDType ? Promote<D, E> : "f64">;
export function average(t: Tensor, options: AverageOptions = {}): Tensor {
  const op = "average";
  options = readOptions(op, options, "{ axis: 0, weights }", ["axis", "keepdims", "weights"]);
  checkFlag(op, "keepdims", options.keepdims);
  const live = liveTensor(op, t);
  const { weights, ...axes } = options;
  return scoped(op, () => {
    if (weights === undefined) return live.mean(axes);
    const own = liveTensor(op, weights);
    const w = weightsFor(op, live, own, options.axis).to("f64");
    const dtype = isFloat(live.dtype) ? promote(live.dtype, own.dtype) : "f64";
    const total = w.sum(axes);
    if (total.equal(0).any().item()) {
      fail("value", op, "the weights sum to zero.", "Give weights whose sum is not zero along the axes.");
    }
    return live.to("f64").mul(w).sum(axes).div(total).to(dtype);
  });
}

/** Weights in the shape of the tensor: they may be given for the folded axes alone. */
function weightsFor(op: string, t: Tensor, weights: Tensor, axis: AxisOptions["axis"]): Tensor {
  if (list(weights.shape) === list(t.shape)) return weights;
  const axes = axis === undefined ? [] : normalizeAxes(op, axisList(op, axis), t.rank);
  const sizes = axes.map((d) => t.shape[d]);
  if (axis === undefined || list(weights.shape) !== list(sizes)) {
    fail(
      "shape",
      op,
      `weights are ${list(weights.shape)}, the tensor is ${list(t.shape)}.`,
      axis === undefined ? "Say which axis they belong to." : `For the axis they must be ${list(sizes)}.`,
    );
  }
  const order = axes.map((_, i) => i).sort((i, j) => axes[i] - axes[j]);
  const spread = t.shape.map((size, d) => (axes.includes(d) ? size : 1));
  return weights.permute(order).reshape(spread).broadcastTo(t.shape);
}

/** The options of `cov`. */
export interface CovOptions {
  /** More variables and observations, of the same form. */
  readonly y?: Tensor;
  /** Is each row a variable (the default), or each column? */
  readonly rowvar?: boolean;
  /** Divide by the number of observations instead of one less. */
  readonly bias?: boolean;
  /** Divide by the number of observations minus this. */
  readonly ddof?: number;
  /** How often each observation was made. */
  readonly fweights?: Tensor;
  /** What each observation weighs. */
  readonly aweights?: Tensor;
}

/**
 * The covariance matrix of variables, in f64; of one variable its variance.
 *
 * @param t a matrix: each row is a variable, each column an observation
 * @param options `y`, `rowvar`, `bias`, `ddof`, `fweights`, `aweights`
 * @returns a new f64 matrix
 * @example
 * cov(tensor([[1, 2, 3], [3, 2, 1]])); // → f64 [[1, -1], [-1, 1]]
 */
export function cov(t: Tensor, options: CovOptions = {}): Tensor<"f64"> {
  options = readCov("cov", options, ["bias", "ddof", "fweights", "aweights"]);
  return scoped("cov", () => covariance("cov", t, options)) as Tensor<"f64">;
}

/**
 * The correlation coefficients of variables, from -1 to 1.
 *
 * @param t a matrix: each row is a variable, each column an observation
 * @param options `y`, `rowvar`
 * @returns a new f64 matrix
 * @example
 * corrcoef(tensor([[1, 2, 3], [3, 2, 1]])); // → f64 [[1, -1], [-1, 1]]
 */
export function corrcoef(t: Tensor, options: Pick<CovOptions, "y" | "rowvar"> = {}): Tensor<"f64"> {
  options = readCov("corrcoef", options);
  return scoped("corrcoef", () => {
    const c = covariance("corrcoef", t, options);
    if (c.rank === 0) return c.div(c);
    const deviation = c.diagonal().sqrt();
    return c.div(deviation.expandDims(1)).div(deviation).clip(-1, 1);
  }) as Tensor<"f64">;
}

function readCov(op: string, given: CovOptions, more: readonly string[] = []): CovOptions {
  const options = readOptions(op, given, "{ rowvar: false }", ["y", "rowvar", ...more]);
  checkFlag(op, "rowvar", options.rowvar);
  checkFlag(op, "bias", options.bias);
  if (options.ddof !== undefined && !Number.isInteger(options.ddof)) {
    fail("value", op, `ddof is ${describe(options.ddof)}.`, "Give a whole number, such as { ddof: 0 }.");
  }
  return options;
}

/** Rows are variables, columns observations. */
function variables(op: string, t: Tensor, rowvar: boolean): Tensor {
  const live = liveTensor(op, t);
  if (live.rank > 2) {
    fail("shape", op, `the tensor has ${live.rank} axes.`, "Give a vector or a matrix of observations.");
  }
  if (live.rank < 2) return live.reshape(1, -1).to("f64");
  return (rowvar ? live : live.T).to("f64");
}

const overPositive = (left: number) => 1 / (left > 0 ? left : 0);

function covariance(op: string, t: Tensor, o: CovOptions): Tensor {
  const rowvar = o.rowvar ?? true;
  const first = variables(op, t, rowvar);
  const x = o.y === undefined ? first : join(op, [first, variables(op, o.y, rowvar)], 0);
  const n = x.shape[1];
  const ddof = o.ddof ?? (o.bias ? 0 : 1);
  const f = o.fweights === undefined ? null : observationWeights(op, "fweights", o.fweights, n);
  const a = o.aweights === undefined ? null : observationWeights(op, "aweights", o.aweights, n);
  const w = f !== null && a !== null ? f.mul(a) : (f ?? a);
  const total = w === null ? null : w.sum();
  if (total?.item() === 0) fail("value", op, "the weights sum to zero.", "Give some that do not.");
  const mean =
    w === null ? x.mean({ axis: 1, keepdims: true }) : x.mul(w).sum({ axis: 1, keepdims: true }).div(total!);
  const centred = x.sub(mean);
  const weighted = w === null ? centred : centred.mul(w);
  const inner = w === null || a === null ? ddof : w.mul(a).sum().mul(ddof).div(total!);
  const matrix = centred
    .matmul(weighted.T)
    .mul(total === null ? 1 / Math.max(n - ddof, 0) : total.sub(inner).map(overPositive));
  return matrix.shape[0] === 1 ? matrix.reshape([]) : matrix;
}

function observationWeights(op: string, name: string, weights: Tensor, n: number): Tensor {
  const w = vector(op, name, weights);
  if (w.size !== n)
    fail("shape", op, `${name} has ${w.size} elements for ${n} observations.`, "Give one for each.");
  if (w.less(0).any().item()) fail("value", op, `${name} has a negative element.`, "Weights are 0 or more.");
  if (name === "fweights" && !isInteger(w.dtype)) {
    fail("dtype", op, `fweights is ${w.dtype}.`, "It counts observations: give integers, or use aweights.");
  }
  return w.to("f64");
}

/* Along an axis ------------------------------------------------------------------------------------------------------------ */

/** The options of `diff`. */
export interface DiffOptions<P extends Operand = Operand, A extends Operand = Operand> {
  /** How often to take differences; default once. */
  readonly n?: number;
  /** The axis along which neighbours are; default the last. */
  readonly axis?: number;
  /** What comes before the first and after the last element: a number, or a tensor of the same rank. */
  readonly prepend?: P;
  /** What comes after the last element: a number, or a tensor of the same rank. */
  readonly append?: A;
}

/**
 * x[i + 1] - x[i] along an axis; of bools, whether they differ.
 *
 * @param t a tensor of any layout
 * @param options `n`: how often; `axis`, default the last; `prepend`, `append`
 * @returns a new tensor, n shorter along the axis
 * @example
 * diff(tensor([1, 4, 9])); // → f32 [3, 5]
 */
export function diff<D extends DType>(
  t: Tensor<D>,
  options?: DiffOptions<number | bigint | boolean, number | bigint | boolean>,
): Tensor<D>;
export function diff(t: Tensor, options?: DiffOptions): Tensor;
export function diff(t: Tensor, options: DiffOptions = {}): Tensor {
  const op = "diff";
  options = readOptions(op, options, "{ n: 2, axis: 0 }", ["n", "axis", "prepend", "append"]);
  const live = liveTensor(op, t);
  const n = options.n ?? 1;
  if (!Number.isInteger(n) || n < 0) fail("value", op, `n is ${describe(n)}.`, "Use a whole number from 0.");
  const axis = normalizeAxis(op, numericAxis(op, options.axis ?? -1), live.rank);
  if (n === 0) return live.clone();
  return scoped(op, () => {
    const pieces = [options.prepend, live, options.append].flatMap((x) =>
      x === undefined ? [] : [edgeOf(op, x, live, axis)],
    );
    let x = pieces.length > 1 ? join(op, pieces, axis) : live.clone();
    for (let i = 0; i < n; i++) {
      if (x.shape[axis] === 0) break;
      const [a, b] = [along(x, axis, [1, null]), along(x, axis, [0, -1])];
      x = x.dtype === "bool" ? a.notEqual(b) : a.sub(b);
    }
    return x;
  });
}

function numericAxis(op: string, axis: unknown): number {
  if (typeof axis === "number") return axis;
  return fail("axis", op, `the axis is ${describe(axis)}.`, "Give one axis as a number.");
}

/** What is put before or after: a number for every line, or a tensor as it is. */
function edgeOf(op: string, x: Operand, t: Tensor, axis: number): Tensor {
  if (isTensor(x) && x.rank > 0) return liveTensor(op, x);
  const one = isTensor(x) ? liveTensor(op, x) : scalarFor(op, x, t.dtype);
  return one.broadcastTo(t.shape.map((size, d) => (d === axis ? 1 : size)));
}

/** A number in the tensor's dtype, as everywhere. */
function scalarFor(op: string, x: unknown, dtype: DType): Tensor {
  if (typeof x !== "number" && typeof x !== "bigint" && typeof x !== "boolean") {
    fail("value", op, `expected a tensor or a number, got ${describe(x)}.`, "Wrap arrays with tensor(…).");
  }
  const { big } = dtypes[dtype];
  return tensor(big && Number.isSafeInteger(x) ? BigInt(x as number) : x, { dtype });
}

const along = (t: Tensor, axis: number, bounds: readonly [number, number | null]): Tensor =>
  t.slice(...t.shape.map((_, d) => (d === axis ? [bounds[0], bounds[1]] : ":") as ":"));

/** Tensors one after the other along an axis, in their common dtype. */
function join(op: string, tensors: readonly Tensor[], axis: number): Tensor {
  const [first, ...rest] = tensors;
  const isFit = (t: Tensor) =>
    t.rank === first.rank && t.shape.every((size, d) => d === axis || size === first.shape[d]);
  for (const t of rest) {
    if (isFit(t)) continue;
    fail(
      "shape",
      op,
      `shapes ${list(first.shape)} and ${list(t.shape)} differ.`,
      `All sizes but that of axis ${axis} must agree.`,
    );
  }
  const sizes = tensors.map((t) => t.shape[axis]);
  const shape = first.shape.map((size, d) => (d === axis ? sizes.reduce((a, b) => a + b, 0) : size));
  const out = wrap(allocate(op, promoteAll(tensors.map((t) => t.dtype)), shape));
  let at = 0;
  tensors.forEach((t, i) => {
    along(out, axis, [at, at + sizes[i]]).assign(t);
    at += sizes[i];
  });
  return out;
}

/** The options of `cumulativeSum` and `cumulativeProd`. */
export interface CumulativeSumOptions<E extends DType = DType> extends CumulativeOptions<E> {
  /** Begin with the sum (product) of nothing, so that there is one element more. */
  readonly includeInitial?: boolean;
}

/**
 * The sums of the first 1, 2, 3 … elements along an axis.
 *
 * @param t a tensor of any layout
 * @param options `axis`, which a vector need not say; `dtype`; `includeInitial`: begin with 0
 * @returns a new tensor; floats keep their dtype, integers become i64 or u64
 * @example
 * cumulativeSum(tensor([1, 2, 3]), { includeInitial: true }); // → f32 [0, 1, 3, 6]
 */
export const cumulativeSum = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options: CumulativeSumOptions<E> = {},
): Tensor<NoInfer<E>> => cumulative("cumulativeSum", t, options) as Tensor<E>;
/**
 * The products of the first 1, 2, 3 … elements along an axis.
 *
 * @param t a tensor of any layout
 * @param options `axis`, which a vector need not say; `dtype`; `includeInitial`: begin with 1
 * @returns a new tensor; floats keep their dtype, integers become i64 or u64
 * @example
 * cumulativeProd(tensor([1, 2, 3])); // → f32 [1, 2, 6]
 */
export const cumulativeProd = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options: CumulativeSumOptions<E> = {},
): Tensor<NoInfer<E>> => cumulative("cumulativeProd", t, options) as Tensor<E>;

function cumulative(op: "cumulativeSum" | "cumulativeProd", t: Tensor, o: CumulativeSumOptions): Tensor {
  o = readOptions(op, o, "{ axis: 0, includeInitial: true }", ["axis", "dtype", "includeInitial"]);
  checkFlag(op, "includeInitial", o.includeInitial);
  const live = liveTensor(op, t);
  const { includeInitial, ...rest } = o;
  if (rest.axis === undefined && live.rank > 1) {
    fail("axis", op, `the tensor has ${live.rank} axes.`, "Say which one to go along: { axis: 0 }.");
  }
  const axis = normalizeAxis(op, numericAxis(op, rest.axis ?? 0), live.rank);
  return scope(() => {
    const steps = op === "cumulativeSum" ? cumsum(live, rest) : cumprod(live, rest);
    if (!includeInitial) return steps;
    const shape = live.shape.map((size, d) => (d === axis ? 1 : size));
    const start = scalarFor(op, op === "cumulativeSum" ? 0 : 1, steps.dtype).broadcastTo(shape);
    return join(op, [start, steps], axis);
  });
}

/* Interpolation --------------------------------------------------------------------------------------------------------------- */

/** The options of `interp`. */
export interface InterpOptions {
  /** What to give before the first and after the last point; default: those points' values. */
  readonly left?: number;
  /** What to give after the last point; default: its value. */
  readonly right?: number;
  /** The points repeat with this period; left and right are then not used. */
  readonly period?: number;
}

/**
 * Values at x of the line through the points (xp, fp), whose xp rise; in f64.
 *
 * @param x where: a tensor or a number
 * @param xp a vector that rises
 * @param fp the values there
 * @param options `left`, `right`: outside of the points; `period`
 * @returns a new f64 tensor of x's shape
 * @example
 * interp(tensor([0.5, 9]), tensor([0, 1]), tensor([10, 20])); // → f64 [15, 20]
 */
export function interp(x: Operand, xp: Tensor, fp: Tensor, options: InterpOptions = {}): Tensor<"f64"> {
  const op = "interp";
  options = readOptions(op, options, "{ left: 0, right: 0 }", ["left", "right", "period"]);
  for (const name of ["left", "right", "period"] as const) {
    const value = options[name];
    if (value === undefined || typeof value === "number") continue;
    fail("value", op, `${name} is ${describe(value)}.`, `Give a number: { ${name}: 1 }.`);
  }
  const [points, values] = [vector(op, "xp", xp), vector(op, "fp", fp)];
  if (points.size !== values.size || points.size === 0) {
    fail(
      "shape",
      op,
      `xp has ${points.size} elements, fp has ${values.size}.`,
      "Give one value for each point.",
    );
  }
  return scoped(op, () => {
    const at = operandFor(op, x, "f64").to("f64");
    const { period } = options;
    if (period === undefined) {
      return interpolate(op, at, points.to("f64").contiguous(), values.to("f64").contiguous(), options);
    }
    return periodic(op, at, points.to("f64"), values.to("f64"), Math.abs(period));
  });
}

/** One period of points in order, with its neighbours' ends on both sides. */
function periodic(op: string, x: Tensor, xp: Tensor, fp: Tensor, period: number): Tensor<"f64"> {
  if (!(period > 0 && period < Number.POSITIVE_INFINITY)) {
    fail("value", op, `the period is ${period}.`, "Use a number that is not zero.");
  }
  const inside = xp.remainder(period).contiguous();
  const order = sortLines(op, inside, "positions", { descending: false });
  const points = gatherLines(op, inside, order);
  const values = gatherLines(op, fp.contiguous(), order);
  const around = (t: Tensor, by: number) =>
    join(op, [t.slice([-1, null]).sub(by), t, t.slice([0, 1]).add(by)], 0);
  return interpolate(op, x.remainder(period), around(points, period), around(values, 0), {});
}

function interpolate(op: string, x: Tensor, xp: Tensor, fp: Tensor, o: InterpOptions): Tensor<"f64"> {
  const n = xp.size;
  const flat = x.reshape(-1);
  // The point at or before x, and the one after it; both are the last one at the end.
  const after = lookUp(op, xp, flat, "right");
  const low = after
    .sub(1)
    .clip(0, n - 1)
    .to("i64")
    .contiguous();
  const high = after
    .clip(0, n - 1)
    .to("i64")
    .contiguous();
  const pick = (from: Tensor, where: Tensor) => gatherLines(op, from, where);
  const inner = zip([flat, pick(xp, low), pick(xp, high), pick(fp, low), pick(fp, high)], lineThrough);
  const [first, last] = [xp.get(0) as number, xp.get(-1) as number];
  const left = o.left === undefined ? inner : where(flat.less(first), o.left, inner);
  const both = o.right === undefined ? left : where(flat.greater(last), o.right, left);
  return both.reshape(x.shape).contiguous() as Tensor<"f64">;
}

/** At x of the line through two points; measured from the second where infinities spoil the first. */
const lineThrough = (x: number, x0: number, x1: number, y0: number, y1: number) => {
  if (Number.isNaN(x)) return x;
  if (x <= x0 || x0 === x1) return y0;
  const slope = (y1 - y0) / (x1 - x0);
  const near = slope * (x - x0) + y0;
  if (!Number.isNaN(near)) return near;
  const far = slope * (x - x1) + y1;
  return Number.isNaN(far) && y0 === y1 ? y0 : far;
};
