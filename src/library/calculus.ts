/** Slopes and polynomials: numpy.gradient, polyfit and polyval; and the error function. */
import { ones, tensor, zip } from "../api.ts";
import { type DType, type Floated, isFloat, type Promote, promote } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { axisList, readList, readOptions } from "../ops/arguments.ts";
import { isTensor, liveTensor, type Operand, type Tensor } from "../tensor.ts";
import { normalizeAxes } from "../view/layout.ts";
import { concat, stack } from "./join.ts";
import { lstsq } from "./linalg/leastsquares.ts";
import { scoped } from "./scoped.ts";
import { operandFor, vector } from "./search.ts";

const floatOf = (d: DType): DType => (isFloat(d) ? d : "f64");

/* Slopes ------------------------------------------------------------------------------------------------------------- */

/** The options of `gradient`. */
export interface GradientOptions {
  /** The axis or axes along which slopes are; default: all. */
  readonly axis?: number | readonly number[];
  /** The distance of neighbours (default 1), or a vector of coordinates; or one of these for each axis. */
  readonly spacing?: number | Tensor | readonly (number | Tensor)[];
}

/**
 * The slope at each element: central differences inside, one-sided ones at both ends, as NumPy's gradient. Of one axis (or
 * of a vector) a tensor, of several a list, one tensor an axis.
 *
 * @param t a tensor of any layout
 * @param options `axis`, default all; `spacing`: the distance of neighbours, or their coordinates
 * @returns a new tensor of t's shape an axis; integers give f64
 * @throws TensorError where an axis has fewer than two elements
 * @example
 * gradient(tensor([1, 4, 9, 16])); // → f32 [3, 4, 6, 7]
 */
export function gradient<D extends DType>(
  t: Tensor<D>,
  options: GradientOptions & { readonly axis: number },
): Tensor<Floated<D>>;
export function gradient<D extends DType>(
  t: Tensor<D>,
  options: GradientOptions & { readonly axis: readonly number[] },
): Tensor<Floated<D>>[];
export function gradient<D extends DType>(
  t: Tensor<D>,
  options?: GradientOptions,
): Tensor<Floated<D>> | Tensor<Floated<D>>[];
export function gradient(t: Tensor, options: GradientOptions = {}): Tensor | Tensor[] {
  const op = "gradient";
  options = readOptions(op, options, "{ axis: 0, spacing: 0.1 }", ["axis", "spacing"]);
  const live = liveTensor(op, t);
  const { axis, spacing = 1 } = options;
  const axes =
    axis === undefined ? live.shape.map((_, d) => d) : normalizeAxes(op, axisList(op, axis), live.rank);
  const listed = isTensor(spacing) ? null : readList(op, "spacing", spacing);
  const steps = listed ?? axes.map(() => spacing);
  if (steps.length !== axes.length) {
    fail(
      "value",
      op,
      `${steps.length} spacings for ${axes.length} axes.`,
      "Give one for all, or one for each axis.",
    );
  }
  for (const d of axes) {
    if (live.shape[d] > 1) continue;
    fail("shape", op, `axis ${d} of ${list(live.shape)} has fewer than 2 elements.`, "A slope needs two.");
  }
  const isOne = typeof axis === "number" || (axis === undefined && live.rank === 1);
  return scoped(op, () => {
    const dtype = floatOf(live.dtype);
    const x = live.to(dtype);
    const slopes = axes.map((d, k) => slope(op, x, d, steps[k]));
    return isOne ? slopes[0] : slopes;
  });
}

/** Along one axis, brought to the end and back. */
function slope(op: string, t: Tensor, axis: number, step: unknown): Tensor {
  const x = t.moveAxis(axis, -1);
  const n = x.shape[x.rank - 1];
  const part = (from: number, to: number | null) => x.slice("...", [from, to]);
  const [first, last] = [part(1, 2).sub(part(0, 1)), part(-1, null).sub(part(-2, -1))];
  const h = distances(op, step, n, t.dtype);
  if (typeof h === "number") {
    const inner =
      n > 2
        ? [
            part(2, null)
              .sub(part(0, -2))
              .div(2 * h),
          ]
        : [];
    return concat([first.div(h), ...inner, last.div(h)], { axis: -1 }).moveAxis(-1, axis);
  }
  const inner =
    n > 2
      ? [zip([part(0, -2), part(1, -1), part(2, null), h.slice([0, -1]), h.slice([1, null])], uneven)]
      : [];
  const ends = [first.div(h.slice([0, 1])), last.div(h.slice([-1, null]))];
  return concat([ends[0], ...inner, ends[1]], { axis: -1 }).moveAxis(-1, axis);
}

/** The slope in the middle of three points of a parabola, p before and q behind it. */
const uneven = (a: number, b: number, c: number, p: number, q: number) =>
  (p * p * c + (q * q - p * p) * b - q * q * a) / (p * q * (q + p));

/** One distance for all, or those between coordinates. */
function distances(op: string, step: unknown, n: number, dtype: DType): number | Tensor {
  if (isTensor(step)) {
    const at = vector(op, "spacing", step).to(dtype);
    if (at.size === n) return at.slice([1, null]).sub(at.slice([0, -1]));
    return fail("shape", op, `${at.size} coordinates for ${n} elements.`, "Give one for each element.");
  }
  if (typeof step === "number" && step !== 0 && Number.isFinite(step)) return step;
  return fail(
    "value",
    op,
    `the spacing is ${describe(step)}.`,
    "Give a distance that is not 0, or coordinates.",
  );
}

/* Polynomials -------------------------------------------------------------------------------------------------------- */

/**
 * The polynomial of a degree that is nearest to the points (x, y), in least squares: its coefficients, the highest power
 * first, as polyval takes them. y may have several columns, one polynomial each.
 *
 *     const [slope, offset] = polyfit(x, y, 1).toArray();
 *
 * @param x a vector
 * @param y a vector as long, or a matrix with a column a polynomial
 * @param degree the highest power
 * @returns a new f64 tensor of degree + 1 coefficients
 * @example
 * polyfit(tensor([0, 1, 2]), tensor([1, 3, 5]), 1).map((c) => Math.round(c)); // → f64 [2, 1]
 */
export function polyfit<D extends DType, E extends DType>(
  x: Tensor<D>,
  y: Tensor<E>,
  degree: number,
): Tensor<"f64"> {
  const op = "polyfit";
  const at = vector(op, "x", x);
  const of = liveTensor(op, y);
  if (!(Number.isInteger(degree) && degree >= 0 && degree < 64)) {
    fail("value", op, `the degree is ${describe(degree)}.`, "Use a whole number from 0 to 63.");
  }
  if (of.rank < 1 || of.rank > 2 || of.shape[0] !== at.size || at.size === 0) {
    fail(
      "shape",
      op,
      `x is ${list(at.shape)}, y is ${list(of.shape)}.`,
      "Give one y (or one row of y) for each x, at least one.",
    );
  }
  return scoped(op, () => {
    const powers: Tensor<"f64">[] = [ones(at.size, { dtype: "f64" })];
    const points = at.to("f64");
    for (let k = 1; k <= degree; k++) powers.unshift(powers[0].mul(points));
    const columns = stack(powers, { axis: 1 });
    // Columns of one length each, so that high powers do not hide the low ones.
    const length = columns.square().sum({ axis: 0 }).sqrt();
    const scale = length.map((s) => (s === 0 ? 1 : s));
    const found = lstsq(columns.div(scale), of.to("f64"), { rtol: at.size * Number.EPSILON }).x;
    return found.div(of.rank === 2 ? scale.expandDims(1) : scale);
  }) as Tensor<"f64">;
}

/**
 * The value of a polynomial at x; coefficients are given highest power first.
 *
 *     polyval(tensor([2, 1]), 10); // 2·10 + 1
 *
 * @param coefficients a vector, the highest power first
 * @param x where: a tensor or a number
 * @returns a new tensor of x's shape
 * @example
 * polyval(tensor([2, 1]), tensor([0, 10])); // → f32 [1, 21]
 */
export function polyval<D extends DType, X extends Operand>(
  coefficients: Tensor<D>,
  x: X,
): Tensor<X extends Tensor<infer E> ? Promote<D, E> : DType>;
export function polyval(coefficients: Tensor, x: Operand): Tensor {
  const op = "polyval";
  const c = vector(op, "the polynomial", coefficients);
  return scoped(op, () => {
    const at = isTensor(x) ? liveTensor(op, x) : operandFor(op, x, c.dtype).to(c.dtype);
    const dtype = promote(c.dtype, at.dtype);
    const [xs, cs] = [at.to(dtype), c.to(dtype)];
    let value: Tensor = xs.mul(tensor(0, { dtype }));
    for (let k = 0; k < cs.size; k++) value = value.mul(xs).add(cs.slice(k));
    return value.clone();
  });
}

/* The error function --------------------------------------------------------------------------------------------------- */

/**
 * 2/√π · ∫₀ˣ exp(-t²) dt, to a few units in the last place of f64; the result is f64 for integers.
 *
 *     erf(tensor([0, 1])); // 0, 0.8427
 *
 * @param t a tensor of any layout
 * @returns a new tensor of t's shape; integers give f64
 * @example
 * erf(tensor([0, Infinity])); // → f32 [0, 1]
 */
export function erf<D extends DType>(t: Tensor<D>): Tensor<Floated<D>>;
export function erf(t: Tensor): Tensor {
  const live = liveTensor("erf", t);
  return scoped("erf", () => live.map(erfOf, { compute: "f64", dtype: floatOf(live.dtype) }));
}
/**
 * 1 - erf(x), without the cancellation where erf is almost 1: to about 20 units in the last place.
 *
 * @param t a tensor of any layout
 * @returns a new tensor of t's shape; integers give f64
 * @example
 * erfc(tensor([0, Infinity])); // → f32 [1, 0]
 */
export function erfc<D extends DType>(t: Tensor<D>): Tensor<Floated<D>>;
export function erfc(t: Tensor): Tensor {
  const live = liveTensor("erfc", t);
  return scoped("erfc", () => live.map(erfcOf, { compute: "f64", dtype: floatOf(live.dtype) }));
}

/*
 * Near 0 by the series 2/√π · exp(-x²) · x · Σ (2x²)ⁿ / (1·3·…·(2n+1)), whose terms have one sign; far from it by the
 * continued fraction of erfc, whose rest is about (x + √(x² + 2n)) / 2. exp(-x²) is taken of x rounded to 1/16, whose square is exact, and of what is left.
 */
const erfOf = (x: number) => {
  const a = Math.min(Math.abs(x), 6);
  const h = Math.floor(a * 16) / 16;
  const bell = Math.exp(-h * h) * Math.exp((h - a) * (h + a)) * 1.1283791670955126;
  let near = 1;
  for (let n = 52; n > 0; n--) near = 1 + near * a * a * (2 / (2 * n + 1));
  let far = (a + Math.sqrt(a * a + 128)) / 2;
  for (let n = 63; n > 0; n--) far = a + (n * 0.5) / far;
  const value = a < 2.5 ? bell * a * near : 1 - (bell * 0.5) / far;
  return Number.isNaN(x) ? x : x < 0 ? -value : x === 0 ? x : value;
};
const erfcOf = (x: number) => {
  const a = Math.min(Math.abs(x), 28);
  const h = Math.floor(a * 16) / 16;
  const bell = Math.exp(-h * h) * Math.exp((h - a) * (h + a)) * 1.1283791670955126;
  let near = 1;
  for (let n = 52; n > 0; n--) near = 1 + near * a * a * (2 / (2 * n + 1));
  let far = (a + Math.sqrt(a * a + 128)) / 2;
  for (let n = 63; n > 0; n--) far = a + (n * 0.5) / far;
  const erf = bell * a * near;
  const tail = (bell * 0.5) / far;
  if (Number.isNaN(x)) return x;
  if (x < 0) return a < 2.5 ? 1 + erf : 2 - tail;
  return a < 1.4375 ? 1 - erf : tail;
};
