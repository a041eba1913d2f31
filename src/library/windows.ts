/**
 * Window functions, as NumPy and SciPy define them: n numbers that fall off towards both ends. Symmetric by default, for
 * filters; { periodic: true } leaves out the last of n + 1, for spectra. Computed in f64 by kernels and converted once;
 * both halves of a symmetric one are equal to the bit, because the angles are.
 */
import { arange, ones, scope } from "../api.ts";
import type { DefaultDType } from "../defaults.ts";
import { checkDType, type DType } from "../dtype.ts";
import { defaultDType } from "../engine.ts";
import { describe, fail } from "../errors.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import type { Captures } from "../ops/function.ts";
import type { Tensor } from "../tensor.ts";
import { checkShape } from "../view/layout.ts";

/** The options of window functions. */
export interface WindowOptions<D extends DType = DType> {
  /** One period of n without its last point, which is the first of the next. Default false: symmetric. */
  readonly periodic?: boolean;
  /** Default f32, or what `configure` says. */
  readonly dtype?: D;
}

/**
 * ½ + ½·cos: the ends are 0.
 *
 * @param n how many numbers
 * @param options `periodic`: for spectra, default false; `dtype`, by default f32 or what `configure` says
 * @returns a new vector of n numbers
 * @example
 * windows.hann(3); // → f32 [0, 1, 0]
 */
export function hann<D extends DType = DefaultDType>(n: number, options?: WindowOptions<D>): Tensor<D> {
  return cosines("windows.hann", n, [0.5, 0.5], options);
}

/**
 * 0.54 + 0.46·cos: the ends are 0.08, the first side lobe is nearly cancelled.
 *
 * @param n how many numbers
 * @param options `periodic`: for spectra, default false; `dtype`, by default f32 or what `configure` says
 * @returns a new vector of n numbers
 * @example
 * windows.hamming(3, { dtype: "f64" }).get(1); // → 1
 */
export function hamming<D extends DType = DefaultDType>(n: number, options?: WindowOptions<D>): Tensor<D> {
  return cosines("windows.hamming", n, [0.54, 0.46], options);
}

/**
 * Three cosine terms.
 *
 * @param n how many numbers
 * @param options `periodic`: for spectra, default false; `dtype`, by default f32 or what `configure` says
 * @returns a new vector of n numbers
 * @example
 * windows.blackman(3).get(1); // → 1
 */
export function blackman<D extends DType = DefaultDType>(n: number, options?: WindowOptions<D>): Tensor<D> {
  return cosines("windows.blackman", n, [0.42, 0.5, 0.08], options);
}

/**
 * Five cosine terms with a flat top: amplitudes of tones between the bins are read right.
 *
 * @param n how many numbers
 * @param options `periodic`: for spectra, default false; `dtype`, by default f32 or what `configure` says
 * @returns a new vector of n numbers
 * @example
 * windows.flatTop(5).shape; // → [5]
 */
export function flatTop<D extends DType = DefaultDType>(n: number, options?: WindowOptions<D>): Tensor<D> {
  const terms = [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368];
  return cosines("windows.flatTop", n, terms, options);
}

/**
 * A triangle whose ends are 0.
 *
 * @param n how many numbers
 * @param options `periodic`: for spectra, default false; `dtype`, by default f32 or what `configure` says
 * @returns a new vector of n numbers
 * @example
 * windows.bartlett(5); // → f32 [0, 0.5, 1, 0.5, 0]
 */
export function bartlett<D extends DType = DefaultDType>(n: number, options?: WindowOptions<D>): Tensor<D> {
  return windowOf("windows.bartlett", n, options, (x) => x.map((x) => 1 - Math.abs(x)));
}

/**
 * Kaiser's: I₀(β·√(1 − x²)) / I₀(β). β trades the main lobe's width for the side lobes' height: 0 is a rectangle, 5 is
 * near Hamming, 6 near Hann, 8.6 near Blackman.
 *
 *     const filter = windows.kaiser(51, 8.6, { dtype: "f64" });
 *
 * @param n how many numbers
 * @param beta the shape
 * @param options `periodic`: for spectra, default false; `dtype`, by default f32 or what `configure` says
 * @returns a new vector of n numbers
 * @example
 * windows.kaiser(3, 0); // → f32 [1, 1, 1]
 */
export function kaiser<D extends DType = DefaultDType>(
  n: number,
  beta: number,
  options?: WindowOptions<D>,
): Tensor<D> {
  const op = "windows.kaiser";
  if (typeof beta !== "number" || !Number.isFinite(beta)) {
    fail("value", op, `beta is ${describe(beta)}.`, "Give a number, such as 8.6.");
  }
  const b = Math.abs(beta);
  return windowOf(op, n, options, (x) => {
    const r = x.map((x) => Math.sqrt(Math.max(0, 1 - x * x)));
    // Both scaled by e^-x, so that a large β does not overflow.
    const captured: Ratio = { b, whole: besselScaled(b), bessel: besselScaled };
    return r.map((r, { b, whole, bessel }) => (bessel(r * b) / whole) * Math.exp(b * (r - 1)), {
      with: captured,
    });
  });
}

interface Ratio extends Captures {
  readonly b: number;
  readonly whole: number;
  readonly bessel: (x: number) => number;
}

/**
 * e^-x · I₀(x) for x ≥ 0: up to 30 by the series Σ (x²/4)^k / k!², all of whose terms are positive; above by the
 * asymptotic one, Σ ((2k − 1)!!)² / (k! (8x)^k) / √(2πx), whose terms fall below 1e-16 before they grow.
 */
function besselScaled(x: number): number {
  const q = Math.min(x, 30) * Math.min(x, 30) * 0.25;
  let term = 1;
  let series = 1;
  for (let k = 1; k < 62; k++) {
    term = (term * q) / (k * k);
    series = series + term;
  }
  const y = Math.max(x, 30);
  let part = 1;
  let far = 1;
  for (let k = 1; k < 24; k++) {
    part = (part * ((2 * k - 1) * (2 * k - 1))) / (8 * k * y);
    far = far + part;
  }
  return x <= 30 ? series * Math.exp(-x) : far / Math.sqrt(2 * Math.PI * y);
}

/** Σ a[k]·cos(k·π·x) for x from -1 to 1. */
function cosines<D extends DType>(
  op: string,
  n: number,
  terms: readonly number[],
  options: WindowOptions<D> | undefined,
): Tensor<D> {
  const [a0, a1, a2 = 0, a3 = 0, a4 = 0] = terms;
  const captured: Terms = { a0, a1, a2, a3, a4 };
  return windowOf(op, n, options, (x) =>
    x.map(
      (x, { a0, a1, a2, a3, a4 }) => {
        const t = Math.PI * x;
        return a0 + a1 * Math.cos(t) + a2 * Math.cos(2 * t) + a3 * Math.cos(3 * t) + a4 * Math.cos(4 * t);
      },
      { with: captured },
    ),
  );
}

interface Terms extends Captures {
  readonly a0: number;
  readonly a1: number;
  readonly a2: number;
  readonly a3: number;
  readonly a4: number;
}

/** `make` of n points from -1 to 1, at equal steps; of one point the window is 1. */
function windowOf<D extends DType>(
  op: string,
  n: number,
  given: WindowOptions<D> | undefined,
  make: (x: Tensor) => Tensor,
): Tensor<D> {
  const options = readOptions(op, given, "{ periodic: true }", ["periodic", "dtype"]);
  checkFlag(op, "periodic", options.periodic);
  const dtype = checkDType(op, options.dtype ?? defaultDType()) as D;
  if (typeof n !== "number")
    fail("value", op, `the length is ${describe(n)}.`, "Give a whole number, such as 512.");
  checkShape(op, [n]);
  if (n < 2) return ones([n], { dtype });
  const last = options.periodic === true ? n : n - 1;
  return scope(() => {
    // (2i - last) / last: exactly opposite numbers at both ends.
    const x = arange(n, { dtype: "f64" }).map((i, { last }) => (2 * i - last) / last, { with: { last } });
    return make(x).to(dtype);
  });
}
