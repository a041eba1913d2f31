/** Statistics that leave NaNs out, as if they were not there. Where nothing is left, the result is NaN. */
import { add, mapReduce, max, min, prod, scope, sum, tensor, where, zip } from "../api.ts";
import { type DType, type Floated, isFloat, type Wide } from "../dtype.ts";
import { axisList, changed, checkFlag, checkOptionalDType, readOptions, without } from "../ops/arguments.ts";
import type { AxisOptions, SumOptions, VarOptions } from "../ops/reductions.ts";
import { freedomOf } from "../ops/spreads.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import { normalizeAxes } from "../view/layout.ts";
import { scoped } from "./scoped.ts";
import { gatherLines, sortLines } from "./sort.ts";
import {
  floatOf,
  linesOf,
  type QuantileDType,
  type QuantileMethod,
  type QuantileOptions,
  type Quantiles,
  quantiles,
  shaped,
} from "./statistics.ts";

const orZero = (x: number) => (Number.isNaN(x) ? 0 : x);
const orOne = (x: number) => (Number.isNaN(x) ? 1 : x);
const orLowest = (x: number) => (Number.isNaN(x) ? -Infinity : x);
const orHighest = (x: number) => (Number.isNaN(x) ? Infinity : x);
const isThere = (x: number) => (Number.isNaN(x) ? 0 : 1);
const squareFrom = (x: number, mean: number) => (Number.isNaN(x) ? 0 : (x - mean) * (x - mean));
const over = (s: number, n: number) => (n > 0 ? s / n : NaN);
/** Where nothing is spread, the root has no slope: 0 by itself, so that the gradient is 0 as that of std is. */
const rootOver = (s: number, n: number) => (n > 0 ? (s === 0 ? 0 : Math.sqrt(s / n)) : NaN);

const example = "{ axis: 0 }";

/**
 * The sum along axes without NaNs; of nothing 0.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
 * @returns a new tensor without the folded axes; integers become i64 or u64
 * @example
 * nansum(tensor([1, NaN, 2])); // → f32 3
 */
export const nansum = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options: SumOptions<E> = {},
): Tensor<NoInfer<E>> => {
  options = readOptions("nansum", options, example);
  const live = checked("nansum", t, options, ["axis", "keepdims", "dtype"]);
  return (isFloat(live.dtype) ? mapReduce([live], orZero, options) : sum(live, options)) as Tensor<E>;
};
/**
 * The product along axes without NaNs; of nothing 1.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1; `dtype`: of the result
 * @returns a new tensor without the folded axes; integers become i64 or u64
 * @example
 * nanprod(tensor([3, NaN, 2])); // → f32 6
 */
export const nanprod = <D extends DType, E extends DType = Wide<D>>(
  t: Tensor<D>,
  options: SumOptions<E> = {},
): Tensor<NoInfer<E>> => {
  options = readOptions("nanprod", options, example);
  const live = checked("nanprod", t, options, ["axis", "keepdims", "dtype"]);
  return (
    isFloat(live.dtype)
      ? mapReduce([live], orOne, changed(options, { reduce: "prod" as const }))
      : prod(live, options)
  ) as Tensor<E>;
};
/**
 * The largest element along axes that is not NaN.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
 * @returns a new tensor of t's dtype without the folded axes
 * @example
 * nanmax(tensor([1, NaN, 2])); // → f32 2
 */
export const nanmax = <D extends DType>(t: Tensor<D>, options: AxisOptions = {}): Tensor<D> =>
  extreme("nanmax", t, options) as Tensor<D>;
/**
 * The smallest element along axes that is not NaN.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
 * @returns a new tensor of t's dtype without the folded axes
 * @example
 * nanmin(tensor([1, NaN, 2])); // → f32 1
 */
export const nanmin = <D extends DType>(t: Tensor<D>, options: AxisOptions = {}): Tensor<D> =>
  extreme("nanmin", t, options) as Tensor<D>;

function extreme(op: "nanmax" | "nanmin", t: Tensor, options: AxisOptions): Tensor {
  options = readOptions(op, options, example);
  const live = checked(op, t, options, ["axis", "keepdims"]);
  return scoped(op, () => {
    if (!isFloat(live.dtype)) return op === "nanmax" ? max(live, options) : min(live, options);
    const found =
      op === "nanmax"
        ? mapReduce([live], orLowest, changed(options, { reduce: "max" as const }))
        : mapReduce([live], orHighest, changed(options, { reduce: "min" as const }));
    return where(countThere(live, options).equal(0), Number.NaN, found);
  });
}

/**
 * The mean along axes without NaNs.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
 * @returns a new tensor without the folded axes; integers give f64
 * @example
 * nanmean(tensor([1, NaN, 2])); // → f32 1.5
 */
export function nanmean<D extends DType>(t: Tensor<D>, options: AxisOptions = {}): Tensor<Floated<D>> {
  options = readOptions("nanmean", options, example);
  const live = checked("nanmean", t, options, ["axis", "keepdims"]);
  return scoped("nanmean", () => meanOf(live, options).to(floatOf(live.dtype))) as Tensor<Floated<D>>;
}

/**
 * The mean square distance from the mean, without NaNs, divided by what is left minus ddof.
 *
 * @param t a tensor of any layout
 * @param options `axis`, `keepdims`, `dtype`, `ddof` (or `correction`)
 * @returns a new tensor without the folded axes; integers give f64
 * @example
 * nanvar(tensor([1, NaN, 3])); // → f32 1
 */
export const nanvar = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options: VarOptions<E> = {},
): Tensor<NoInfer<E>> => spread("nanvar", t, options) as Tensor<E>;
/**
 * The square root of nanvar.
 *
 * @param t a tensor of any layout
 * @param options `axis`, `keepdims`, `dtype`, `ddof` (or `correction`)
 * @returns a new tensor without the folded axes; integers give f64
 * @example
 * nanstd(tensor([1, NaN, 3])); // → f32 1
 */
export const nanstd = <D extends DType, E extends DType = Floated<D>>(
  t: Tensor<D>,
  options: VarOptions<E> = {},
): Tensor<NoInfer<E>> => spread("nanstd", t, options) as Tensor<E>;

function spread(op: "nanvar" | "nanstd", t: Tensor, options: VarOptions): Tensor {
  options = readOptions(op, options, example);
  const live = checked(op, t, options, ["axis", "keepdims", "dtype", "ddof", "correction"]);
  const { dtype = floatOf(live.dtype) } = options;
  const axes = without(options, "ddof", "correction", "dtype");
  const ddof = freedomOf(op, options);
  return scope(() => {
    const x = live.to("f64");
    const mean = meanOf(x, changed(axes, { keepdims: true }));
    const squares = mapReduce([x, mean], squareFrom, axes);
    const left = add(countThere(live, axes), -ddof);
    return zip([squares, left], op === "nanstd" ? rootOver : over).to(dtype);
  });
}

/**
 * The middle element along axes without NaNs, or the mean of the two in the middle.
 *
 * @param t a tensor of any layout
 * @param options `axis`: one or several, default all; `keepdims`: they stay with size 1
 * @returns a new tensor without the folded axes; integers give f64
 * @example
 * nanmedian(tensor([1, NaN, 3])); // → f32 2
 */
export function nanmedian<D extends DType>(t: Tensor<D>, options?: AxisOptions): Tensor<Floated<D>>;
export function nanmedian(t: Tensor, options: AxisOptions = {}): Tensor {
  const op = "nanmedian";
  options = readOptions(op, options, example);
  const live = checked(op, t, options, ["axis", "keepdims"]);
  return scoped(op, () => {
    const { lines, shape, keptShape, n } = linesOf(op, live, options);
    const dtype: DType = floatOf(live.dtype);
    if (n === 0) return tensor(Number.NaN, { dtype }).broadcastTo(shape).clone();
    // NaNs are last in each line: the middle is that of what comes before them.
    const sorted = sortLines(op, lines, "values", { descending: false }).reshape(-1, n);
    const left = countThere(sorted, { axis: 1, keepdims: true }).to("i64");
    const at = (position: Tensor) => gatherLines(op, sorted, position.clip(0, n - 1).contiguous()).to("f64");
    const middle = zip([at(left.sub(1).floorDivide(2)), at(left.floorDivide(2))], meanOfTwo);
    return shaped(middle.to(dtype), keptShape, shape);
  });
}

/**
 * The q-quantiles along axes without NaNs, as quantile gives them.
 *
 * @param t a tensor of any layout
 * @param q from 0 to 1: a number, a list or a tensor
 * @param options `axis`, `keepdims`, `method`
 * @returns a new tensor without the folded axes, q's axes first
 * @example
 * nanquantile(tensor([1, NaN, 3]), 0.5); // → f32 2
 */
export const nanquantile = <D extends DType, Q extends Quantiles, M extends QuantileMethod = "linear">(
  t: Tensor<D>,
  q: Q,
  options: QuantileOptions<M> = {},
): Tensor<QuantileDType<D, Q, M>> => quantiles("nanquantile", t, q, 1, options, true) as never;
/**
 * As nanquantile, with q from 0 to 100.
 *
 * @param t a tensor of any layout
 * @param q from 0 to 100: a number, a list or a tensor
 * @param options `axis`, `keepdims`, `method`
 * @returns a new tensor without the folded axes, q's axes first
 * @example
 * nanpercentile(tensor([1, NaN, 3]), 50); // → f32 2
 */
export const nanpercentile = <D extends DType, Q extends Quantiles, M extends QuantileMethod = "linear">(
  t: Tensor<D>,
  q: Q,
  options: QuantileOptions<M> = {},
): Tensor<QuantileDType<D, Q, M>> => quantiles("nanpercentile", t, q, 100, options, true) as never;

const meanOfTwo = (a: number, b: number) => (a === b ? a : (a + b) / 2);

/** Sum over count, in f64; NaN of nothing. */
function meanOf(t: Tensor, options: AxisOptions): Tensor {
  return mapReduce([t.to("f64")], orZero, options).div(countThere(t, options));
}

/** How many are not NaN, as f64. */
const countThere = (t: Tensor, options: AxisOptions): Tensor =>
  mapReduce([t.to("f64")], isThere, without(options as SumOptions, "dtype"));

function checked(op: string, t: Tensor, options: SumOptions, names: readonly string[]): Tensor {
  options = readOptions(op, options, example, names);
  checkFlag(op, "keepdims", options.keepdims);
  checkOptionalDType(op, options.dtype);
  const live = liveTensor(op, t);
  if (options.axis !== undefined) normalizeAxes(op, axisList(op, options.axis), live.rank);
  return live;
}
