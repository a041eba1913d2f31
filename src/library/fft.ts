/**
 * Discrete Fourier transforms, as numpy.fft has them, of complex numbers as pairs (complex.ts). Axes are counted without
 * the one of the pairs. How a length is transformed is in fft-lengths.ts.
 */
import { arange, empty, scope } from "../api.ts";
import type { DefaultDType } from "../defaults.ts";
import { type DType, isFloat } from "../dtype.ts";
import { defaultDType } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import { noted } from "../ops/noted.ts";
import { allocate } from "../ops/strided.ts";
import { range } from "../routines/fft.ts";
import { liveTensor, stridedOf, type Tensor, wrap } from "../tensor.ts";
import { conj, floatOf, pairs } from "./complex.ts";
import { type Form, transform } from "./fft-lengths.ts";
import { scoped } from "./scoped.ts";

/** Where 1/n goes: with the inverse, half (as a square root) with both, or with the forward transform. */
export type FftNorm = "backward" | "ortho" | "forward";

/** The options of a transform along one axis. */
export interface FftOptions {
  /** Length of the transform: the input is cut, or followed by zeros. Default: what is there. */
  readonly n?: number;
  /** Counted without the axis of pairs; default the last. */
  readonly axis?: number;
  /** Where 1/n goes; default "backward": with the inverse. */
  readonly norm?: FftNorm;
}

/** The options of a transform along several axes. */
export interface FftnOptions {
  /** Lengths along `axes`. */
  readonly shape?: readonly number[];
  /** Default: all (fftn), or the last two (fft2). */
  readonly axes?: readonly number[];
  /** Where 1/n goes; default "backward": with the inverse. */
  readonly norm?: FftNorm;
}

/* The transforms --------------------------------------------------------------------------------------- */

/** The dtype of a transform, which is floatOf its input's, as far as it is known. */
type FftOf<D extends DType> = D extends "f16" | "bf16" | "f32" ? "f32" : "f64";

/**
 * The discrete Fourier transform of complex numbers along one axis.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `n`: the length, cut or followed by zeros; `axis`, default the last; `norm`: where 1/n goes
 * @returns a new tensor of pairs, f32 or f64 (of integers); n·log n operations a line, for any n
 * @example
 * fft.fft(tensor([[1, 0], [1, 0]])); // → f32 [[2, 0], [0, 0]]
 */
export function fft<D extends DType>(z: Tensor<D>, options: FftOptions = {}): Tensor<FftOf<D>> {
  return alongOne("fft", z, options, { inverse: false, from: "complex", to: "complex" }) as Tensor<FftOf<D>>;
}
/**
 * The inverse of fft.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `n`: the length, cut or followed by zeros; `axis`, default the last; `norm`: where 1/n goes
 * @returns a new tensor of pairs, f32 or f64 (of integers); n·log n operations a line, for any n
 * @example
 * fft.ifft(tensor([[2, 0], [0, 0]])); // → f32 [[1, 0], [1, 0]]
 */
export function ifft<D extends DType>(z: Tensor<D>, options: FftOptions = {}): Tensor<FftOf<D>> {
  return alongOne("ifft", z, options, { inverse: true, from: "complex", to: "complex" }) as Tensor<FftOf<D>>;
}
/**
 * Of real numbers: the first n/2 + 1 results; the others are their conjugates.
 *
 * @param x real numbers
 * @param options `n`: the length, cut or followed by zeros; `axis`, default the last; `norm`: where 1/n goes
 * @returns a new tensor of n/2 + 1 pairs along the axis, f32 or f64
 * @example
 * fft.rfft(tensor([1, 1, 1, 1])).slice(0); // → f32 [4, 0]
 */
export function rfft<D extends DType>(x: Tensor<D>, options: FftOptions = {}): Tensor<FftOf<D>> {
  return alongOne("rfft", x, options, { inverse: false, from: "real", to: "half" }) as Tensor<FftOf<D>>;
}
/**
 * The inverse of rfft: n real numbers (default 2·(m - 1)) from the first m of their transform.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `n`: the length, cut or followed by zeros; `axis`, default the last; `norm`: where 1/n goes
 * @returns a new tensor of real numbers, f32 or f64
 * @example
 * fft.irfft(tensor([[4, 0], [0, 0], [0, 0]])); // → f32 [1, 1, 1, 1]
 */
export function irfft<D extends DType>(z: Tensor<D>, options: FftOptions = {}): Tensor<FftOf<D>> {
  return alongOne("irfft", z, options, { inverse: true, from: "half", to: "real" }) as Tensor<FftOf<D>>;
}
/**
 * Of a signal whose transform is real: n real results from the first n/2 + 1 of its elements.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `n`: the length, cut or followed by zeros; `axis`, default the last; `norm`: where 1/n goes
 * @returns a new tensor of real numbers, f32 or f64
 * @example
 * fft.hfft(tensor([[1, 0], [0, 0]])); // → f32 [1, 1]
 */
export function hfft<D extends DType>(z: Tensor<D>, options: FftOptions = {}): Tensor<FftOf<D>> {
  const turn = turned("hfft", options);
  const t = pairs("hfft", z);
  return scoped("hfft", () =>
    // Unsigned integers, and the smallest signed one, have no other sign.
    alongOne("hfft", conj(isFloat(t.dtype) ? t : t.to("f64")), turn, {
      inverse: true,
      from: "half",
      to: "real",
    }),
  ) as Tensor<FftOf<D>>;
}
/**
 * The inverse of hfft.
 *
 * @param x real numbers
 * @param options `n`: the length, cut or followed by zeros; `axis`, default the last; `norm`: where 1/n goes
 * @returns a new tensor of n/2 + 1 pairs along the axis, f32 or f64
 * @example
 * fft.ihfft(tensor([1, 1])).shape; // → [2, 2]
 */
export function ihfft<D extends DType>(x: Tensor<D>, options: FftOptions = {}): Tensor<FftOf<D>> {
  const turn = turned("ihfft", options);
  const t = liveTensor("ihfft", x);
  return scoped("ihfft", () =>
    conj(alongOne("ihfft", t, turn, { inverse: false, from: "real", to: "half" })),
  ) as Tensor<FftOf<D>>;
}

/** hfft is made of an inverse transform, ihfft of a forward one: what scales the one does not scale the other. */
function turned(operation: string, options: FftOptions): FftOptions {
  options = readOptions(operation, options, '{ norm: "ortho" }');
  checkNorm(operation, options.norm);
  const other = { backward: "forward", ortho: "ortho", forward: "backward" } as const;
  return { ...options, norm: other[options.norm ?? "backward"] };
}

/**
 * The discrete Fourier transform of complex numbers along several axes, by default all.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `shape`: lengths along `axes`; `axes`; `norm`: where 1/n goes
 * @returns a new tensor of pairs, f32 or f64 (of integers); n·log n operations a line, for any n
 * @example
 * fft.fftn(ones([2, 2, 2])).slice(0, 0); // → f32 [4, 4]
 */
export function fftn<D extends DType>(z: Tensor<D>, options: FftnOptions = {}): Tensor<FftOf<D>> {
  return alongMany("fftn", z, options, false) as Tensor<FftOf<D>>;
}
/**
 * The inverse of fftn.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `shape`: lengths along `axes`; `axes`; `norm`: where 1/n goes
 * @returns a new tensor of pairs, f32 or f64 (of integers); n·log n operations a line, for any n
 * @example
 * fft.ifftn(fft.fftn(ones([2, 2, 2]))).slice(0, 0); // → f32 [1, 1]
 */
export function ifftn<D extends DType>(z: Tensor<D>, options: FftnOptions = {}): Tensor<FftOf<D>> {
  return alongMany("ifftn", z, options, true) as Tensor<FftOf<D>>;
}
/**
 * As fftn, by default along the last two axes.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `shape`: lengths along `axes`; `axes`; `norm`: where 1/n goes
 * @returns a new tensor of pairs, f32 or f64 (of integers); n·log n operations a line, for any n
 * @example
 * fft.fft2(ones([2, 2, 2])).slice(0, 0); // → f32 [4, 4]
 */
export function fft2<D extends DType>(z: Tensor<D>, options: FftnOptions = {}): Tensor<FftOf<D>> {
  return alongMany("fft2", z, lastTwo("fft2", options), false) as Tensor<FftOf<D>>;
}
/**
 * The inverse of fft2.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `shape`: lengths along `axes`; `axes`; `norm`: where 1/n goes
 * @returns a new tensor of pairs, f32 or f64 (of integers); n·log n operations a line, for any n
 * @example
 * fft.ifft2(fft.fft2(ones([2, 2, 2]))).slice(0, 0); // → f32 [1, 1]
 */
export function ifft2<D extends DType>(z: Tensor<D>, options: FftnOptions = {}): Tensor<FftOf<D>> {
  return alongMany("ifft2", z, lastTwo("ifft2", options), true) as Tensor<FftOf<D>>;
}
/**
 * rfft along the last of `axes`, fft along the others.
 *
 * @param x real numbers
 * @param options `shape`: lengths along `axes`; `axes`; `norm`: where 1/n goes
 * @returns a new tensor of pairs, f32 or f64 (of integers); n·log n operations a line, for any n
 * @example
 * fft.rfftn(ones([2, 2])).shape; // → [2, 2, 2]
 */
export function rfftn<D extends DType>(x: Tensor<D>, options: FftnOptions = {}): Tensor<FftOf<D>> {
  return realMany("rfftn", x, options) as Tensor<FftOf<D>>;
}
/**
 * As rfftn, by default along the last two axes.
 *
 * @param x real numbers
 * @param options `shape`: lengths along `axes`; `axes`; `norm`: where 1/n goes
 * @returns a new tensor of pairs, f32 or f64 (of integers); n·log n operations a line, for any n
 * @example
 * fft.rfft2(ones([2, 4])).shape; // → [2, 3, 2]
 */
export function rfft2<D extends DType>(x: Tensor<D>, options: FftnOptions = {}): Tensor<FftOf<D>> {
  return realMany("rfft2", x, lastTwo("rfft2", options)) as Tensor<FftOf<D>>;
}
/**
 * ifft along all of `axes` but the last, irfft along that.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `shape`: lengths along `axes`; `axes`; `norm`: where 1/n goes
 * @returns a new tensor of real numbers, f32 or f64
 * @example
 * fft.irfftn(fft.rfftn(ones([2, 2]))); // → f32 [[1, 1], [1, 1]]
 */
export function irfftn<D extends DType>(z: Tensor<D>, options: FftnOptions = {}): Tensor<FftOf<D>> {
  return inverseRealMany("irfftn", z, options) as Tensor<FftOf<D>>;
}
/**
 * As irfftn, by default along the last two axes: the inverse of rfft2.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @param options `shape`: lengths along `axes`; `axes`; `norm`: where 1/n goes
 * @returns a new tensor of real numbers, f32 or f64
 * @example
 * fft.irfft2(fft.rfft2(ones([2, 2]))); // → f32 [[1, 1], [1, 1]]
 */
export function irfft2<D extends DType>(z: Tensor<D>, options: FftnOptions = {}): Tensor<FftOf<D>> {
  return inverseRealMany("irfft2", z, lastTwo("irfft2", options)) as Tensor<FftOf<D>>;
}

function lastTwo(operation: string, options: FftnOptions): FftnOptions {
  options = readOptions(operation, options, '{ norm: "ortho" }', ["shape", "axes", "norm"]);
  return options.axes === undefined ? { ...options, axes: [-2, -1] } : options;
}

/* Sample points ---------------------------------------------------------------------------------------- */

/**
 * The frequencies of fft's results for samples `d` apart: 0, 1, …, -2, -1, each over n·d.
 *
 * @param n the length of the transform
 * @param options `d`: the distance of samples, default 1; `dtype`
 * @returns a new vector of n numbers
 * @example
 * fft.fftfreq(4); // → f32 [0, 0.25, -0.5, -0.25]
 */
export function fftfreq<D extends DType = DefaultDType>(
  n: number,
  options: { readonly d?: number; readonly dtype?: D } = {},
): Tensor<D> {
  options = readOptions("fftfreq", options, "{ d: 0.01 }");
  const step = frequencyStep("fftfreq", n, options);
  return scoped("fftfreq", () => {
    const out = empty(n, { dtype: "f64" });
    const positive = (n + 1) >> 1;
    out.slice([0, positive]).assign(arange(positive, { dtype: "f64" }));
    out.slice([positive, n]).assign(arange(-(n >> 1), 0, { dtype: "f64" }));
    return out.mul(step).to(options.dtype ?? defaultDType());
  }) as Tensor<D>;
}
/**
 * The frequencies of rfft's results: 0, 1, …, n/2, each over n·d.
 *
 * @param n the length of the transform
 * @param options `d`: the distance of samples, default 1; `dtype`
 * @returns a new vector of n/2 + 1 numbers
 * @example
 * fft.rfftfreq(4); // → f32 [0, 0.25, 0.5]
 */
export function rfftfreq<D extends DType = DefaultDType>(
  n: number,
  options: { readonly d?: number; readonly dtype?: D } = {},
): Tensor<D> {
  options = readOptions("rfftfreq", options, "{ d: 0.01 }");
  const step = frequencyStep("rfftfreq", n, options);
  return scoped("rfftfreq", () =>
    arange((n >> 1) + 1, { dtype: "f64" })
      .mul(step)
      .to(options.dtype ?? defaultDType()),
  ) as Tensor<D>;
}

function frequencyStep(operation: string, n: number, options: { readonly d?: number }): number {
  options = readOptions(operation, options, "{ d: 0.01 }", ["d", "dtype"]);
  checkLength(operation, n);
  const { d = 1 } = options;
  if (typeof d !== "number" || !(d !== 0)) {
    fail("value", operation, `d is ${describe(d)}.`, "Give the distance between samples.");
  }
  return 1 / (n * d);
}

/** The options of `fftshift` and `ifftshift`. */
export interface ShiftOptions {
  /** Default: all. */
  readonly axes?: number | readonly number[];
  /** The tensor holds complex numbers as pairs: the last axis is not one of its axes. */
  readonly pairs?: boolean;
}

/**
 * Frequency 0 to the middle of each axis.
 *
 * @param x what a transform gave, or its frequencies
 * @param options `axes`, default all; `pairs`: the last axis is that of pairs
 * @returns a new tensor of x's shape and dtype
 * @example
 * fft.fftshift(tensor([0, 1, -2, -1])); // → f32 [-2, -1, 0, 1]
 */
export function fftshift<D extends DType>(x: Tensor<D>, options: ShiftOptions = {}): Tensor<D> {
  return shifted("fftshift", x, options, (n) => n >> 1) as Tensor<D>;
}
/**
 * The inverse of fftshift.
 *
 * @param x what fftshift gave
 * @param options `axes`, default all; `pairs`: the last axis is that of pairs
 * @returns a new tensor of x's shape and dtype
 * @example
 * fft.ifftshift(tensor([-2, -1, 0, 1])); // → f32 [0, 1, -2, -1]
 */
export function ifftshift<D extends DType>(x: Tensor<D>, options: ShiftOptions = {}): Tensor<D> {
  return shifted("ifftshift", x, options, (n) => n - (n >> 1)) as Tensor<D>;
}

function shifted(operation: string, x: Tensor, options: ShiftOptions, by: (n: number) => number): Tensor {
  options = readOptions(operation, options, "{ axes: [0, 1] }", ["axes", "pairs"]);
  checkFlag(operation, "pairs", options.pairs);
  const t = options.pairs ? pairs(operation, x) : liveTensor(operation, x);
  const rank = t.rank - (options.pairs ? 1 : 0);
  const { axes } = options;
  const given = typeof axes === "number" ? [axes] : axes;
  const chosen = new Set(given === undefined ? range(rank) : axesOf(operation, given, rank));
  return scope(() => {
    const out = wrap(allocate(operation, t.dtype, t.shape));
    /** The two pieces of each axis, or all of it: [from, to] in the input, and where it goes. */
    const pieces = t.shape.map((n, d) => {
      const s = n > 0 ? by(n) % n : 0;
      if (!chosen.has(d) || s === 0) return [[0, n, 0]];
      return [
        [0, n - s, s],
        [n - s, n, 0],
      ];
    });
    const move = (d: number, from: Tensor, to: Tensor): void => {
      if (d === t.rank) {
        to.assign(from);
        return;
      }
      const before = new Array(d).fill(":");
      for (const [start, stop, at] of pieces[d]) {
        move(
          d + 1,
          from.slice(...before, [start, stop], "..."),
          to.slice(...before, [at, at + stop - start], "..."),
        );
      }
    };
    if (t.rank === 0) out.assign(t);
    else move(0, t, out);
    return out;
  });
}

/* Arguments -------------------------------------------------------------------------------------------- */

const norms: readonly unknown[] = ["backward", "ortho", "forward"];

/** Longer ones have no tables. */
const MOST = 2 ** 30;

function checkLength(operation: string, n: unknown): void {
  if (Number.isSafeInteger(n) && (n as number) >= 1 && (n as number) < MOST) return;
  fail("value", operation, `n is ${describe(n)}.`, `Use a whole number from 1 to ${MOST - 1}.`);
}

function checkNorm(operation: string, norm: unknown): void {
  if (norm === undefined || norms.includes(norm)) return;
  fail("value", operation, `norm is ${describe(norm)}.`, 'Use "backward", "ortho" or "forward".');
}

/** What a transform is multiplied by. */
function scaleOf(norm: FftNorm | undefined, n: number, inverse: boolean): number {
  if (norm === "ortho") return 1 / Math.sqrt(n);
  return (norm === "forward") === inverse ? 1 : 1 / n;
}

function axesOf(operation: string, axes: unknown, rank: number): number[] {
  if (!Array.isArray(axes)) {
    fail("value", operation, `axes is ${describe(axes)}.`, "Give an array of axes, such as [0, 1].");
  }
  return axes.map((axis) => {
    if (Number.isInteger(axis) && axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
    return fail(
      "axis",
      operation,
      `axis ${typeof axis === "number" ? axis : describe(axis)} of ${rank} ${rank === 1 ? "axis" : "axes"}.`,
      rank === 0
        ? "The tensor has no axis to transform."
        : `Axes are ${-rank} … ${rank - 1}, pairs not counted.`,
    );
  });
}

function alongOne(operation: string, given: Tensor, options: FftOptions, form: Form): Tensor {
  options = readOptions(operation, options, '{ axis: 0, norm: "ortho" }', ["n", "axis", "norm"]);
  checkNorm(operation, options.norm);
  const t = form.from === "real" ? liveTensor(operation, given) : pairs(operation, given);
  const rank = t.rank - (form.from === "real" ? 0 : 1);
  const [axis] = axesOf(operation, [options.axis ?? -1], rank);
  const have = t.shape[axis];
  const n = options.n ?? (form.from === "half" ? 2 * (have - 1) : have);
  if (options.n === undefined && n < 1) {
    failShort(operation, t, axis, "Give the length as n.");
  }
  checkLength(operation, n);
  return scope(() => {
    const lane = floatOf(t.dtype);
    const source = t.to(lane);
    const shape = t.shape.slice(0, rank);
    shape.splice(axis, 1, form.to === "half" ? (n >> 1) + 1 : n);
    const whole = form.to === "real" ? shape : [...shape, 2];
    const out = wrap(allocate(operation, lane, whole));
    run({ ...form, operation, t: source, out, axis, n, scale: scaleOf(options.norm, n, form.inverse) });
    return out;
  });
}

function failShort(operation: string, t: Tensor, axis: number, remedy: string): never {
  const have = t.shape[axis] === 1 ? "1 element" : `${t.shape[axis]} elements`;
  return fail("shape", operation, `axis ${axis} of ${list(t.shape)} has ${have}.`, remedy);
}

/** Axes and lengths of a transform along several. */
function several(operation: string, t: Tensor, rank: number, options: FftnOptions, half = false) {
  options = readOptions(operation, options, "{ axes: [0, 1] }", ["shape", "axes", "norm"]);
  checkNorm(operation, options.norm);
  const { shape } = options;
  if (shape !== undefined && !Array.isArray(shape)) {
    fail("value", operation, `shape is ${describe(shape)}.`, "Give an array with one length for each axis.");
  }
  const count = shape?.length;
  const given = options.axes ?? (count === undefined ? range(rank) : range(count).map((i) => i - count));
  const axes = axesOf(operation, given, rank);
  if (shape !== undefined && shape.length !== axes.length) {
    fail(
      "value",
      operation,
      `${shape.length} lengths for ${axes.length} axes.`,
      "Give one length for each axis.",
    );
  }
  if (axes.length === 0) fail("value", operation, "no axes.", "Name at least one.");
  const lengths = axes.map((axis, i) => {
    const last = half && i === axes.length - 1;
    return shape?.[i] ?? (last ? 2 * (t.shape[axis] - 1) : t.shape[axis]);
  });
  const none = axes.find((_, i) => shape === undefined && lengths[i] < 1);
  if (none !== undefined) failShort(operation, t, none, "Give the lengths as shape.");
  return { axes, lengths };
}

/** Transforms along one axis after another, the last one first, as NumPy does. */
function alongMany(operation: string, z: Tensor, options: FftnOptions, inverse: boolean): Tensor {
  options = readOptions(operation, options, "{ axes: [0, 1] }");
  const t = pairs(operation, z);
  const { axes, lengths } = several(operation, t, t.rank - 1, options);
  const form = { inverse, from: "complex", to: "complex" } as const;
  return scope(() => {
    let at = t;
    for (let i = axes.length - 1; i >= 0; i--) {
      const one = optionsFor(options, axes[i], lengths[i]);
      at = at === t ? alongOne(operation, at, one, form) : again(operation, at, one, form);
    }
    return at;
  });
}

const optionsFor = ({ norm }: FftnOptions, axis: number, n: number): FftOptions =>
  norm === undefined ? { axis, n } : { axis, n, norm };

/** One more transform of what is ours already: in place, where the length stays. */
function again(operation: string, t: Tensor, options: FftOptions, form: Form): Tensor {
  const { axis, n, norm } = options;
  if (t.shape[axis!] !== n) return alongOne(operation, t, options, form);
  checkLength(operation, n);
  run({ ...form, operation, t, out: t, axis: axis!, n, scale: scaleOf(norm, n, form.inverse) });
  return t;
}

/** One transform, which is one operation to whoever records. */
function run(job: Parameters<typeof transform>[0]): void {
  const { operation, t, out, inverse, from, to, axis, n, scale } = job;
  const facts = { inverse, from, to, axis, n, scale };
  const go = () => transform(job);
  noted("fft", [stridedOf(t)], facts, go, () => [stridedOf(out)], operation);
}

function realMany(operation: string, x: Tensor, options: FftnOptions): Tensor {
  options = readOptions(operation, options, "{ axes: [0, 1] }");
  const t = liveTensor(operation, x);
  const { axes, lengths } = several(operation, t, t.rank, options);
  return scope(() => {
    const last = axes.length - 1;
    const form = { inverse: false, from: "complex", to: "complex" } as const;
    let at = alongOne(operation, t, optionsFor(options, axes[last], lengths[last]), {
      ...form,
      from: "real",
      to: "half",
    });
    for (let i = last - 1; i >= 0; i--)
      at = again(operation, at, optionsFor(options, axes[i], lengths[i]), form);
    return at;
  });
}

function inverseRealMany(operation: string, z: Tensor, options: FftnOptions): Tensor {
  options = readOptions(operation, options, "{ axes: [0, 1] }");
  const t = pairs(operation, z);
  const { axes, lengths } = several(operation, t, t.rank - 1, options, true);
  return scope(() => {
    const last = axes.length - 1;
    const form = { inverse: true, from: "complex", to: "complex" } as const;
    let at = t;
    for (let i = 0; i < last; i++) {
      const one = optionsFor(options, axes[i], lengths[i]);
      at = at === t ? alongOne(operation, at, one, form) : again(operation, at, one, form);
    }
    const end = { inverse: true, from: "half", to: "real" } as const;
    return alongOne(operation, at, optionsFor(options, axes[last], lengths[last]), end);
  });
}
