/**
 * How a line of n elements is transformed, decided here and run as passes over many lines (routines/fft.ts):
 *
 *     smooth and short    one pass: W lines at a time, all stages in the cache
 *     smooth and long     two passes: n = n1·n2, columns of n1, then rows of n2, with a turn by exp(-2πi·j·k / n) between
 *     anything else       a convolution of a smooth length (Bluestein), in f64
 *
 * Real signals of an even smooth length go as half as many complex numbers.
 */
import { scope, zeros } from "../api.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate } from "../ops/strided.ts";
import { tellCopy } from "../ops/tell.ts";
import {
  complexProductRoutine,
  type FftParams,
  factorsOf,
  fftRoutine,
  pairUpRoutine,
  range,
} from "../routines/fft.ts";
import { remembered, unit } from "../routines/fft-tables.ts";
import { stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { imag } from "./complex.ts";

/** What goes in and what comes out: all complex numbers, real ones, or the half of a transform that real ones need. */
export interface Form {
  readonly inverse: boolean;
  readonly from: "complex" | "real" | "half";
  readonly to: "complex" | "real" | "half";
}

/** A transform of length n along an axis of t, which is of the dtype of `out`; `scale` multiplies the results. */
export interface Job extends Form {
  readonly operation: string;
  readonly t: Tensor;
  readonly out: Tensor;
  readonly axis: number;
  readonly n: number;
  readonly scale: number;
}

const complexToComplex = { inverse: false, from: "complex", to: "complex" } as const;

/** Longer lines go in two passes: two buffers of so many cells are what the L2 cache holds. */
const MOST_CELLS = 2048;

/** Elements that come out of n, and those that are there to go in. */
const resultsOf = ({ n, to }: Job) => (to === "half" ? (n >> 1) + 1 : n);
const haveOf = ({ t, axis, n, from }: Job) => Math.min(t.shape[axis], from === "half" ? (n >> 1) + 1 : n);

export function transform(job: Job): void {
  const { n, out } = job;
  if (out.size === 0) return;
  if (factorsOf(n) === null) {
    if (isWhole(job)) convolved(job);
    else completed(job);
    return;
  }
  const real = isReal(job);
  if (real && n <= 2 * MOST_CELLS) shortReal(job);
  else if (n <= MOST_CELLS) short(job);
  else if (real && (job.inverse || isWhole(job))) longReal(job);
  else if (isWhole(job)) long(job);
  else completed(job);
}

/** All n elements are there. */
const isWhole = (job: Job) => job.from !== "half" && haveOf(job) === job.n;

/** A transform between real numbers and half a spectrum, which pairs of them can go through. */
function isReal(job: Job): boolean {
  const [from, to] = job.inverse ? ["half", "real"] : ["real", "half"];
  if (job.from !== from || job.to !== to || job.n % 2 !== 0) return false;
  return job.inverse || haveOf(job) % 2 === 0;
}

/** The same for an input with all its n elements: zeros behind, or the conjugates that `half` leaves out. */
function completed(job: Job): void {
  const { t, axis, n, from } = job;
  const have = haveOf(job);
  scope(() => {
    const full = lengthened(
      job,
      n,
      from === "half" ? "the other half of the transform is filled in" : padding,
    );
    const mirrored = from === "half" ? Math.min(have - 1, (n - 1) >> 1) : 0;
    if (mirrored > 0) {
      const before = new Array(axis).fill(":");
      const to = full.slice(...before, [n - mirrored, n], "...");
      to.assign(t.slice(...before, [1, mirrored + 1], "...").flip(axis));
      imag(to).neg({ out: imag(to) });
    }
    transform({ ...job, t: full, from: from === "half" ? "complex" : from });
  });
}

const padding = "zeros are put behind the input";

/** A copy of the input with `n` elements along the axis; those that are not there are 0. */
function lengthened(job: Job, n: number, why: string): Tensor {
  const { operation, t, axis } = job;
  const shape = [...t.shape];
  shape[axis] = n;
  const full = wrap(allocate(operation, t.dtype, shape, undefined, true));
  tellCopy(operation, stridedOf(full).storage.bytes, why);
  const part = [...new Array(axis).fill(":"), [0, haveOf(job)], "..."];
  full.slice(...part).assign(t.slice(...part));
  return full;
}

/* One pass --------------------------------------------------------------------------------------------- */

function visit(job: Job, params: Omit<FftParams, "mirrored" | "real"> & Partial<FftParams>): void {
  const { operation, t, out } = job;
  runRoutine(fftRoutine, {
    operation,
    params: { mirrored: 0, real: null, ...params },
    inputs: [stridedOf(t)],
    outs: [stridedOf(out)],
  });
}

function short(job: Job): void {
  const { axis, n, inverse: swap, from, to, scale } = job;
  const have = haveOf(job);
  visit(job, {
    length: n,
    from: { axis, isReal: from === "real", count: have, swap },
    to: { axis, isReal: to === "real", count: resultsOf(job), swap },
    mirrored: from === "half" ? Math.max(0, Math.min(have - 1, (n - 1) >> 1)) : 0,
    scale,
    isLong: false,
  });
}

/** Real signals of n = 2h numbers go as h complex ones: the same memory, seen as pairs. */
function shortReal(job: Job): void {
  const { axis, n, inverse, scale } = job;
  const h = n / 2;
  const signal = { axis, isReal: true, count: inverse ? h : haveOf(job) / 2, swap: inverse, joined: true };
  const spectrum = { axis, isReal: false, count: inverse ? haveOf(job) : h + 1, swap: false };
  visit(job, {
    length: h,
    from: inverse ? spectrum : signal,
    to: inverse ? signal : spectrum,
    scale: inverse ? 2 * scale : scale,
    real: inverse ? "before" : "after",
    isLong: false,
  });
}

/* Two passes ------------------------------------------------------------------------------------------- */

function long(job: Job): void {
  const { axis, n, inverse: swap, from, to, scale } = job;
  visit(job, {
    length: n,
    from: { axis, isReal: from === "real", count: n, swap },
    to: { axis, isReal: to === "real", count: resultsOf(job), swap },
    scale,
    isLong: true,
  });
}

function longReal(job: Job): void {
  const { axis, n, inverse, scale, out } = job;
  const h = n / 2;
  const signal = { axis, isReal: true, count: h, swap: inverse, joined: true };
  if (!inverse) {
    const to = { axis, isReal: false, count: h, swap: false };
    visit(job, { length: h, from: signal, to, scale, isLong: true });
    pairUp(job, out, { side: to, h, when: "after" });
    return;
  }
  scope(() => {
    const spectrum = lengthened(job, h + 1, "two and two of its elements are joined");
    const side = { axis, isReal: false, count: h + 1, swap: false };
    pairUp(job, spectrum, { side, h, when: "before" });
    const from = { axis, isReal: false, count: h, swap: true };
    visit({ ...job, t: spectrum }, { length: h, from, to: signal, scale: 2 * scale, isLong: true });
  });
}

function pairUp(
  { operation }: Job,
  t: Tensor,
  params: Parameters<typeof pairUpRoutine.run>[1]["params"],
): void {
  runRoutine(pairUpRoutine, { operation, params, inputs: [], outs: [stridedOf(t)] });
}

/* Other lengths ---------------------------------------------------------------------------------------- */

/** Tensors beside the operands have so many bytes, about. */
const MOST_BYTES = 1 << 26;

/**
 * Bluestein's way: j·k = (j² + k² - (k - j)²) / 2 makes the transform a convolution with a chirp, exp(πi·j² / n), whose
 * length may be any from 2n - 1 on. In f64 for all, so that the detour costs no accuracy.
 */
function convolved(job: Job): void {
  const { operation, t, out, axis, n, inverse, scale } = job;
  const length = smoothFrom(2 * n - 1);
  const rank = t.rank - (job.from === "real" ? 0 : 1);
  const others = range(rank).filter((d) => d !== axis);
  const widest = others.reduce((best, d) => (best < 0 || t.shape[d] > t.shape[best] ? d : best), -1);
  const bytes = sizeOf(others.map((d) => t.shape[d])) * length * 16;
  if (bytes > MOST_BYTES && widest >= 0 && t.shape[widest] > 1) {
    const middle = t.shape[widest] >> 1;
    for (const part of [
      [0, middle],
      [middle, t.shape[widest]],
    ] as const) {
      scope(() => {
        const before = new Array(widest).fill(":");
        const piece = t.slice(...before, part, "...");
        convolved({ ...job, t: piece, out: out.slice(...before, part, "...") });
      });
    }
    return;
  }
  scope(() => {
    const chirp = chirpOf(n);
    const work = wrap(
      allocate(operation, "f64", [...others.map((d) => t.shape[d]), length, 2], undefined, true),
    );
    const head = work.slice("...", [0, n], ":");
    const real = job.from === "real";
    const moved = t.moveAxis(axis, real ? -1 : -2);
    const source = real ? moved.slice("...", [0, n]) : moved.slice("...", [0, n], ":");
    if (real) head.slice("...", inverse ? 1 : 0).assign(source);
    else head.assign(inverse ? source.flip(-1) : source);
    multiplyLines(operation, work, chirp, n);
    const inside = { ...complexToComplex, operation, t: work, out: work, axis: work.rank - 2, n: length };
    transform({ ...inside, scale: 1 });
    multiplyLines(operation, work, filterOf(operation, n, length), length);
    transform({ ...inside, inverse: true, scale: scale / length });
    multiplyLines(operation, work, chirp, n);
    const made = work.slice("...", [0, resultsOf(job)], ":");
    if (job.to === "real") out.moveAxis(axis, -1).assign(made.slice("...", inverse ? 1 : 0));
    else out.moveAxis(axis, -2).assign(inverse ? made.flip(-1) : made);
  });
}

/** The first `count` pairs of every line times the pairs of `by`. */
function multiplyLines(operation: string, work: Tensor, by: Float64Array, count: number): void {
  const params = { by, count };
  runRoutine(complexProductRoutine, { operation, params, inputs: [], outs: [stridedOf(work)] });
}

/** exp(-πi·j² / n) for j < n. */
function chirpOf(n: number): Float64Array {
  return remembered(`chirp ${n}`, () => {
    const out = new Float64Array(2 * n);
    // j² modulo 2n, by its differences: no product grows too large.
    for (let j = 0, e = 0; j < n; j++) {
      unit(out, 2 * j, e, 2 * n);
      e = (e + 2 * j + 1) % (2 * n);
    }
    return out;
  });
}

/** The transform of the chirp's conjugate, laid around zero. */
function filterOf(operation: string, n: number, length: number): Float64Array {
  return remembered(`filter ${n}`, () => {
    const chirp = chirpOf(n);
    const around = new Float64Array(2 * length);
    for (let j = 0; j < n; j++) {
      for (const at of j === 0 ? [0] : [j, length - j]) {
        around[2 * at] = chirp[2 * j];
        around[2 * at + 1] = -chirp[2 * j + 1];
      }
    }
    return scope(() => {
      const t = zeros([length, 2], { dtype: "f64" });
      t.data.set(around);
      transform({ ...complexToComplex, operation, t, out: t, axis: 0, n: length, scale: 1 });
      return t.toTypedArray();
    }) as Float64Array;
  });
}

/** The smallest length from `least` on that is 1, 3, 5, 9 or 15 times a power of two. */
function smoothFrom(least: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (const odd of [1, 3, 5, 9, 15]) {
    let n = odd;
    while (n < least) n *= 2;
    best = Math.min(best, n);
  }
  return best;
}
