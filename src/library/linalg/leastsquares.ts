/** What follows from singular values: lstsq, pinv, matrixRank, cond, and norms of matrices. */
import { empty, mapReduce, matmul, max, min, norm, scope, sum, where, zeros } from "../../api.ts";
import type { DType, Floated } from "../../dtype.ts";
import { describe, fail, list } from "../../errors.ts";
import { axisList, readOptions } from "../../ops/arguments.ts";
import { noted } from "../../ops/noted.ts";
import { isTensor, liveTensor, stridedOf, type Tensor } from "../../tensor.ts";
import { broadcastShapes } from "../../view/broadcast.ts";
import { normalizeAxes } from "../../view/layout.ts";
import { scoped, scopedAs } from "../scoped.ts";
import {
  batchOf,
  epsilonOf,
  flagOption,
  type LinalgDType,
  type LinalgOf,
  linalgDType,
  matrixArgument,
  squareArgument,
} from "./blocks.ts";
import { broughtNearOne, exponentOf, powerFor, timesPower } from "./scaling.ts";
import { inverseOrNaN } from "./solve.ts";
import { singularValues, svd } from "./svd.ts";

/** A limit for singular values, relative to the largest; checked. */
function relativeLimit(operation: string, rtol: unknown, standard: number): number;
function relativeLimit(
  operation: string,
  rtol: unknown,
  standard: number,
  batch: readonly number[],
): number | Tensor;
function relativeLimit(
  operation: string,
  rtol: unknown,
  standard: number,
  batch?: readonly number[],
): number | Tensor {
  if (rtol === undefined) return standard;
  if (typeof rtol === "number" && rtol >= 0) return rtol;
  if (batch !== undefined && isTensor(rtol)) {
    const limits = liveTensor(operation, rtol);
    if (list(broadcastShapes(operation, [limits.shape, batch])) !== list(batch)) {
      fail(
        "shape",
        operation,
        `rtol is ${list(limits.shape)}, the batch ${list(batch)}.`,
        "Give one for each matrix.",
      );
    }
    return limits;
  }
  return fail(
    "value",
    operation,
    `rtol is ${describe(rtol)}.`,
    "Use a number from 0 on: values below rtol × the largest count as 0.",
  );
}

const standardLimit = (t: Tensor, dtype: LinalgDType) => Math.max(...t.shape.slice(-2)) * epsilonOf(dtype);

/** Which singular values count as zero. */
export interface RelativeOptions {
  /** Singular values up to rtol × the largest count as zero. Default: max(m, n) × the dtype's epsilon. */
  readonly rtol?: number;
}
/** Which singular values count as zero. */
export interface ToleranceOptions {
  /** As in the array API also a tensor, one for each matrix of a batch. Default: max(m, n) × the dtype's epsilon. */
  readonly rtol?: number | Tensor;
}

/**
 * The Moore-Penrose inverse, also of matrices that have no other.
 *
 * @param a a matrix [..., m, n]
 * @param options `rtol`: which singular values count as zero
 * @returns a new tensor [..., n, m], f32 or f64
 * @example
 * linalg.pinv(tensor([[2, 0], [0, 0]])); // → f32 [[0.5, 0], [0, 0]]
 */
export function pinv<D extends DType>(a: Tensor<D>, options: ToleranceOptions = {}): Tensor<LinalgOf<D>> {
  options = readOptions("pinv", options, "{ rtol: 1e-10 }", ["rtol"]);
  const t = matrixArgument("pinv", a);
  const dtype = linalgDType("pinv", [t]);
  const rtol = relativeLimit("pinv", options.rtol, standardLimit(t, dtype), batchOf(t));
  return scopedAs("pinv", [t], {}, () => {
    const [m, n] = t.shape.slice(-2);
    if (t.size === 0) return zeros([...batchOf(t), n, m], { dtype });
    const { near, factors } = broughtNearOne("pinv", t.to(dtype), batchOf(t));
    const { u, s, vh } = svd(near, { fullMatrices: false });
    // V·S⁻¹·Uᵀ
    const scaled = divideBy(s.expandDims(-2), countsOf(s, rtol).expandDims(-2), vh.swapAxes(-1, -2));
    const inverse = matmul(scaled, u.swapAxes(-1, -2));
    return factors === null ? inverse : inverse.mul(factors);
  }) as Tensor<LinalgOf<D>>;
}

/** Which singular values are larger than rtol × the largest. */
const countsOf = (s: Tensor, rtol: number | Tensor): Tensor<"bool"> =>
  s.greater(
    max(s, { axis: -1, keepdims: true }).mul(isTensor(rtol) ? rtol.to(s.dtype).expandDims(-1) : rtol),
  );

/** t/s where s counts, 0 elsewhere. */
const divideBy = (s: Tensor, counts: Tensor<"bool">, t: Tensor): Tensor => where(counts, t.div(s), 0);

/**
 * How many singular values are larger than rtol × the largest.
 *
 * @param a a matrix [..., m, n]
 * @param options `rtol`: relative to the largest, default max(m, n) × the dtype's epsilon
 * @returns a new i64 tensor without the last two axes
 * @example
 * linalg.matrixRank(tensor([[1, 2], [2, 4]])).item(); // → 1
 */
export function matrixRank(a: Tensor, options: ToleranceOptions = {}): Tensor<"i64"> {
  options = readOptions("matrixRank", options, "{ rtol: 1e-10 }", ["rtol"]);
  const live = liveTensor("matrixRank", a);
  if (live.rank < 2) {
    // As NumPy: a vector has rank 1 unless it is zero.
    return scope(() => live.notEqual(0).any().to("i64"));
  }
  const t = matrixArgument("matrixRank", live);
  const standard = standardLimit(t, linalgDType("matrixRank", [t]));
  const rtol = relativeLimit("matrixRank", options.rtol, standard, batchOf(t));
  return scoped("matrixRank", () => {
    if (t.size === 0) return zeros(batchOf(t), { dtype: "i64" });
    const s = singularValues("matrixRank", t);
    return countsOf(s, rtol).sum({ axis: -1, dtype: "i64" });
  });
}

/** What least squares give. */
export interface LstsqResult<T extends Tensor = Tensor> {
  /** The x of least |b - a·x|, and of least |x| among those. */
  readonly x: T;
  /** Sums of squares of b - a·x, a column each; without elements unless a has full rank and more rows than columns. */
  readonly residuals: T;
  /** How many singular values count. */
  readonly rank: number;
  /** Singular values of a. */
  readonly s: T;
}

/**
 * The x of least |b - a·x|, for one matrix.
 *
 * @param a a matrix [m, n]
 * @param b a vector [m], or a matrix [m, k]
 * @param options `rtol`: which singular values count as zero
 * @returns x, the residuals, the rank and the singular values
 * @example
 * linalg.lstsq(tensor([[1], [1]]), tensor([1, 3])).rank; // → 1
 */
export function lstsq<A extends DType, B extends DType>(
  a: Tensor<A>,
  b: Tensor<B>,
  options: RelativeOptions = {},
): LstsqResult<Tensor<LinalgOf<A, B>>> {
  options = readOptions("lstsq", options, "{ rtol: 1e-10 }", ["rtol"]);
  const left = matrixArgument("lstsq", a);
  const right = liveTensor("lstsq", b);
  const dtype = linalgDType("lstsq", [left, right]);
  if (left.rank !== 2 || right.rank < 1 || right.rank > 2 || right.shape[0] !== left.shape[0]) {
    fail(
      "shape",
      "lstsq",
      `a is ${list(left.shape)}, b is ${list(right.shape)}.`,
      "a is one matrix m × n, b a vector of m or a matrix m × k.",
    );
  }
  const rtol = relativeLimit("lstsq", options.rtol, standardLimit(left, dtype));
  return scopedAs("lstsq", [left, right], { rtol }, () => {
    const [m, n] = left.shape;
    const vector = right.rank === 1;
    const columns = (vector ? right.expandDims(1) : right).to(dtype);
    const k = columns.shape[1];
    if (left.size === 0) {
      const s = zeros([Math.min(m, n)], { dtype });
      const x = zeros(vector ? [n] : [n, k], { dtype });
      return { x, residuals: zeros([0], { dtype }), rank: 0, s };
    }
    // f·a and g·b are near 1: x is f/g times what they give.
    const { near, powers } = broughtNearOne("lstsq", left.to(dtype), []);
    const f = powers[0];
    const g = powerFor(columns);
    const { u, s, vh } = svd(near, { fullMatrices: false });
    const counts = countsOf(s, rtol);
    const rank = Number(counts.sum({ dtype: "i64" }).item());
    const turned = u.T.matmul(g === 1 ? columns : columns.mul(g));
    const scaled = vh.T.matmul(divideBy(s.expandDims(1), counts.expandDims(1), turned));
    const x = timesPower(scaled, exponentOf(f) - exponentOf(g));
    const squares = () => {
      const rest = columns.sub(left.to(dtype).matmul(x));
      return mapReduce([rest], (r) => r * r, { axis: 0 });
    };
    const residuals = rank === n && m > n ? squares() : empty([0], { dtype });
    return { x: vector ? x.squeeze(1) : x, residuals, rank, s: timesPower(s, -exponentOf(f)) };
  }) as LstsqResult<Tensor<LinalgOf<A, B>>>;
}

/* Norms -------------------------------------------------------------------------------------------------------- */

/** Which norm of a matrix. */
export type MatrixNorm = "fro" | "nuc" | 1 | -1 | 2 | -2 | number;

/** The options of `matrixNorm`. */
export interface MatrixNormOptions {
  /**
   * "fro" (default): root of the sum of squares. "nuc": sum of singular values. 1, -1: largest, smallest column sum of
   * magnitudes. Infinity, -Infinity: of rows. 2, -2: largest, smallest singular value.
   */
  readonly ord?: MatrixNorm;
  /** The two axes stay, with size 1. */
  readonly keepdims?: boolean;
}

/**
 * A norm of the matrices in the last two axes.
 *
 * @param a a matrix [..., m, n]
 * @param options `ord`: which, default "fro"; `keepdims`
 * @returns a new tensor without the last two axes, f32 or f64
 * @example
 * linalg.matrixNorm(tensor([[3, 0], [0, 4]])); // → f32 5
 */
export function matrixNorm<D extends DType>(
  a: Tensor<D>,
  options: MatrixNormOptions = {},
): Tensor<LinalgOf<D>> {
  options = readOptions("matrixNorm", options, '{ ord: "nuc" }', ["ord", "keepdims"]);
  const t = matrixArgument("matrixNorm", a);
  const ord = options.ord ?? "fro";
  const keepdims = flagOption("matrixNorm", "keepdims", options.keepdims, false);
  return scoped("matrixNorm", () => {
    const value = normOf("matrixNorm", t, ord);
    return keepdims ? value.expandDims([-2, -1]) : value;
  }) as Tensor<LinalgOf<D>>;
}

function normOf(operation: string, t: Tensor, ord: MatrixNorm): Tensor {
  const dtype = linalgDType(operation, [t]);
  // In floats: the smallest signed integer has no magnitude of its own dtype.
  const sums = (axis: number) => mapReduce([t], (x) => Math.abs(x), { axis, dtype, compute: dtype });
  switch (ord) {
    case "fro":
      return vectorNormOf(t, 2, [-2, -1], dtype);
    case "nuc":
      return sum(singularValues(operation, t), { axis: -1 });
    case 2:
      return largest(singularValues(operation, t));
    case -2:
      return min(singularValues(operation, t), { axis: -1 });
    case 1:
      return largest(sums(-2));
    case -1:
      return min(sums(-2), { axis: -1 });
    case Number.POSITIVE_INFINITY:
      return largest(sums(-1));
    case Number.NEGATIVE_INFINITY:
      return min(sums(-1), { axis: -1 });
    default:
      return fail(
        "value",
        operation,
        `ord is ${describe(ord)}.`,
        'Use "fro", "nuc", 1, -1, 2, -2, Infinity or -Infinity.',
      );
  }
}

/** Of magnitudes along the last axis; 0 where there are none. */
const largest = (t: Tensor): Tensor => (t.size === 0 ? sum : max)(t, { axis: -1 });

/** The options of `vectorNorm`. */
export interface VectorNormOptions {
  /** The p of (Σ |x|ᵖ)^(1/p); ±Infinity: largest, smallest magnitude; 0: how many are not 0. Default 2. */
  readonly ord?: number;
  /** Default: all axes, as one vector. */
  readonly axis?: number | readonly number[];
  /** Folded axes stay, with size 1. */
  readonly keepdims?: boolean;
}

/**
 * A norm of vectors along axes, or of all elements as one vector.
 *
 * @param a a tensor of any layout
 * @param options `ord`: the p of (Σ |x|ᵖ)^(1/p), default 2; `axis`; `keepdims`
 * @returns a new tensor without the folded axes; integers give f64
 * @example
 * linalg.vectorNorm(tensor([[3, 4], [6, 8]]), { axis: 1 }); // → f32 [5, 10]
 */
export function vectorNorm<D extends DType>(
  a: Tensor<D>,
  options: VectorNormOptions = {},
): Tensor<Floated<D>> {
  options = readOptions("vectorNorm", options, "{ ord: 1, axis: 0 }", ["ord", "axis", "keepdims"]);
  const t = liveTensor("vectorNorm", a);
  const ord = options.ord ?? 2;
  if (typeof ord !== "number" || Number.isNaN(ord)) {
    fail("value", "vectorNorm", `ord is ${describe(ord)}.`, "Use a number, Infinity or -Infinity.");
  }
  const float = t.dtype === "f16" || t.dtype === "bf16" || t.dtype === "f32" ? t.dtype : "f64";
  const axes = options.axis === undefined ? t.shape.map((_, d) => d) : axisList("vectorNorm", options.axis);
  const keepdims = flagOption("vectorNorm", "keepdims", options.keepdims, false);
  const value = scoped("vectorNorm", () => vectorNormOf(t, ord, axes, float, keepdims));
  return value as Tensor<Floated<D>>;
}

function vectorNormOf(
  t: Tensor,
  ord: number,
  axes: number | readonly number[],
  dtype: DType,
  keepdims = false,
): Tensor {
  const axis = normalizeAxes("vectorNorm", axes, t.rank);
  if (axis.length === 0) return ord === 0 ? t.notEqual(0).to(dtype) : t.to(dtype).abs();
  // Half floats are summed in f32.
  const working = dtype === "f64" ? "f64" : "f32";
  const value = lengthOf(t.to(working), ord, { axis, keepdims });
  return value.to(dtype);
}

interface Along {
  readonly axis: readonly number[];
  readonly keepdims: boolean;
}

function lengthOf(t: Tensor, ord: number, how: Along): Tensor {
  // Of no magnitudes, the largest is 0 as their sum is.
  if (ord === Number.POSITIVE_INFINITY && t.size === 0) return t.sum(how);
  if (ord === Number.POSITIVE_INFINITY || ord === Number.NEGATIVE_INFINITY) {
    return mapReduce([t], (x) => Math.abs(x), { ...how, reduce: ord > 0 ? "max" : "min" });
  }
  if (ord === 0) return t.notEqual(0).sum({ ...how, dtype: t.dtype });
  if (ord === 1) return mapReduce([t], (x) => Math.abs(x), how);
  // Squares of f32 are summed in f64 and cannot leave its range.
  if (ord === 2 && (t.dtype === "f32" || t.size === 0)) return norm(t, how);
  if (t.size === 0) return powered(t, ord, how);
  if (ord === 2) return scaledPower(t, ord, how);
  const run = () => scaledPower(t, ord, how);
  return noted("power norm", [stridedOf(t)], { ...how, ord }, run, (made) => [stridedOf(made)], "vectorNorm");
}

/** (Σ |x|ᵖ)^(1/p), with the magnitudes brought near 1 where powers would leave the range before the norm does. */
function scaledPower(t: Tensor, ord: number, { axis, keepdims }: Along): Tensor {
  const largest = mapReduce([t], (x) => Math.abs(x), { axis, keepdims: true, reduce: "max" });
  const inRange = () =>
    largest
      .greater(2 ** -400)
      .logicalAnd(largest.less(2 ** 400))
      .all()
      .item();
  if (ord === 2 && inRange()) return norm(t, { axis, keepdims });
  // 0, NaN and infinities stay as they are.
  const unit = where(largest.greater(0).logicalAnd(largest.isfinite()), largest, 1).to(t.dtype);
  const near = t.div(unit);
  const root =
    ord === 2 ? norm(near, { axis, keepdims: true }) : powered(near, ord, { axis, keepdims: true });
  const value = root.mul(unit);
  return keepdims ? value : value.squeeze(axis);
}

const powered = (t: Tensor, ord: number, how: Along): Tensor =>
  t
    .abs()
    .pow(ord)
    .sum(how)
    .pow(1 / ord);

/**
 * The condition number: norm(a) · norm(a⁻¹); Infinity for singular matrices. `ord` as in matrixNorm, default 2.
 *
 * @param a a matrix [..., m, n]
 * @param options `ord`: which norm, default 2
 * @returns a new tensor without the last two axes, f32 or f64
 * @example
 * linalg.cond(tensor([[1, 0], [0, 0.5]]), { ord: 1 }); // → f32 2
 */
export function cond<D extends DType>(
  a: Tensor<D>,
  options: { readonly ord?: MatrixNorm } = {},
): Tensor<LinalgOf<D>> {
  options = readOptions("cond", options, "{ ord: 1 }", ["ord"]);
  const ord = options.ord ?? 2;
  const t = ord === 2 || ord === -2 ? matrixArgument("cond", a) : squareArgument("cond", a);
  if (t.shape.slice(-2).includes(0))
    fail("shape", "cond", `the matrix is ${list(t.shape)}.`, "It must have elements.");
  const dtype = linalgDType("cond", [t]);
  return scoped("cond", () => {
    let value: Tensor;
    if (ord === 2 || ord === -2) {
      const s = singularValues("cond", t);
      const [first, last] = [s.slice("...", 0), s.slice("...", -1)];
      value = ord === 2 ? first.div(last) : last.div(first);
    } else {
      value = normOf("cond", t, ord).mul(normOf("cond", inverseOrNaN(t, dtype), ord));
    }
    // 0/0, or a matrix without an inverse.
    const unknown = value.isnan().logicalAnd(
      t
        .to(dtype)
        .isnan()
        .any({ axis: [-2, -1] })
        .logicalNot(),
    );
    return where(unknown, Number.POSITIVE_INFINITY, value);
  }) as Tensor<LinalgOf<D>>;
}
