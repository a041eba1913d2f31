/**
 * How a line of n elements is transformed, decided here and run as passes over many lines (fft-passes.ts):
 *
 *     smooth and short    one pass: W lines at a time, all stages in the cache
 *     smooth and long     two passes: n = n1·n2, columns of n1, then rows of n2, with a turn by exp(-2πi·j·k / n) between
 *     anything else       a convolution of a smooth length (Bluestein), in f64
 *
 * Real signals of an even smooth length go as half as many complex numbers.
 */
import { scope, zeros } from "../api.ts";
import { dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { createStorage } from "../memory/storage.ts";
import { allocate } from "../ops/strided.ts";
import type { RoutineAbout, Task } from "../run/routine.ts";
import { stridedOf, type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import type { FftLane } from "../wasm/routines/fft/kit.ts";
import { emitComplexProduct } from "../wasm/routines/fft/lines.ts";
import { sideKinds } from "../wasm/routines/fft/sides.ts";
import { imag } from "./complex.ts";
import {
  addresses,
  factorsOf,
  joined,
  pairUpLines,
  range,
  runPass,
  type Side,
  sideOf,
} from "./fft-passes.ts";
import { remembered, unit } from "./fft-tables.ts";

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

/** For whoever listens. */
const aboutOf = ({ operation, t, out }: Job): RoutineAbout => ({
  operation,
  inputs: [stridedOf(t)],
  out: stridedOf(out),
  bytes: null,
});

const laneOf = ({ t }: Job) => t.dtype as FftLane;
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
  engine().listener?.({ kind: "copy", operation, bytes: stridedOf(full).storage.bytes, why });
  const part = [...new Array(axis).fill(":"), [0, haveOf(job)], "..."];
  full.slice(...part).assign(t.slice(...part));
  return full;
}

/* One pass --------------------------------------------------------------------------------------------- */

function short(job: Job): void {
  const { t, out, axis, n, inverse, from, to, scale } = job;
  const have = haveOf(job);
  runPass(aboutOf(job), {
    lane: laneOf(job),
    length: n,
    from: sideOf(t, axis, from === "real", have, inverse),
    to: sideOf(out, axis, to === "real", resultsOf(job), inverse),
    mirrored: from === "half" ? Math.max(0, Math.min(have - 1, (n - 1) >> 1)) : 0,
    scale,
    twist: null,
    real: null,
  });
}

/** Real signals of n = 2h numbers go as h complex ones: the same memory, seen as pairs. */
function shortReal(job: Job): void {
  const { t, out, axis, n, inverse, scale } = job;
  const lane = laneOf(job);
  const h = n / 2;
  const signal = joined(sideOf(inverse ? out : t, axis, true, inverse ? h : haveOf(job) / 2, inverse), lane);
  const spectrum = sideOf(inverse ? t : out, axis, false, inverse ? haveOf(job) : h + 1, false);
  runPass(aboutOf(job), {
    lane,
    length: h,
    from: inverse ? spectrum : signal,
    to: inverse ? signal : spectrum,
    mirrored: 0,
    scale: inverse ? 2 * scale : scale,
    twist: null,
    real: inverse ? "before" : "after",
  });
}

/* Two passes ------------------------------------------------------------------------------------------- */

function long(job: Job): void {
  const { operation, t, out, axis, n, inverse, from, to, scale } = job;
  const source = sideOf(t, axis, from === "real", n, inverse);
  const target = sideOf(out, axis, to === "real", resultsOf(job), inverse);
  twoVisits(operation, laneOf(job), n, source, target, scale);
}

function longReal(job: Job): void {
  const { operation, t, out, axis, n, inverse, scale } = job;
  const lane = laneOf(job);
  const h = n / 2;
  if (!inverse) {
    const target = sideOf(out, axis, false, h, false);
    twoVisits(operation, lane, h, joined(sideOf(t, axis, true, h, false), lane), target, scale);
    pairUpLines(operation, lane, target, h, "after");
    return;
  }
  scope(() => {
    const spectrum = lengthened(job, h + 1, "two and two of its elements are joined");
    pairUpLines(operation, lane, sideOf(spectrum, axis, false, h + 1, false), h, "before");
    const target = joined(sideOf(out, axis, true, h, true), lane);
    twoVisits(operation, lane, h, sideOf(spectrum, axis, false, h, true), target, 2 * scale);
  });
}

/**
 * n = n1·n2: element j1·n2 + j2 is column j2 of n1 rows, result k1 + n1·k2 is row k1 of n2. The columns' transforms are
 * turned by exp(-2πi·j2·k1 / n) and laid down as rows, whose transforms go to where they belong: the first to.count.
 */
function twoVisits(operation: string, lane: FftLane, n: number, from: Side, to: Side, scale: number): void {
  const n1 = nearestSquare(n);
  const n2 = n / n1;
  const { bytes } = dtypes[lane];
  const pair = 2 * bytes;
  // Rows a whole number of pages apart would crowd into few sets of the cache.
  const row = Math.ceil((n2 * pair) / 64) * 64 + 64;
  const between = createStorage(engine().heap, n1 * row, operation);
  const middle = { kind: sideKinds.pairs, im: bytes, swap: false };
  const columns = addresses(between.address, [n2], [pair]);
  const rows = addresses(between.address, [n1], [row]);
  const rest = { lane, mirrored: 0, real: null };
  // Where fewer than n results are wanted, the first rows have one more than the others.
  const more = to.count % n1;
  const parts = [
    { first: 0, last: more, count: Math.ceil(to.count / n1) },
    { first: more, last: n1, count: Math.floor(to.count / n1) },
  ].filter(({ first, last, count }) => first < last && count > 0);
  try {
    for (let line = 0; line < from.lines.length; line++) {
      const sources = addresses(from.lines[line], [n2], [from.step]);
      const targets = addresses(to.lines[line], [n1], [to.step]);
      runPass(
        { operation },
        {
          ...rest,
          length: n1,
          from: { ...from, lines: sources, step: n2 * from.step, count: n1 },
          to: { ...middle, lines: columns, step: row, count: n1 },
          scale: 1,
          twist: { whole: n },
        },
      );
      for (const { first, last, count } of parts) {
        runPass(
          { operation },
          {
            ...rest,
            length: n2,
            from: { ...middle, lines: rows.subarray(first, last), step: pair, count: n2 },
            to: { ...to, lines: targets.subarray(first, last), step: n1 * to.step, count },
            scale,
            twist: null,
          },
        );
      }
    }
  } finally {
    between.release();
  }
}

/** The largest divisor of n up to its root. */
function nearestSquare(n: number): number {
  let divisor = Math.floor(Math.sqrt(n));
  while (n % divisor !== 0) divisor--;
  return divisor;
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
  const { heap } = engine();
  const table = createStorage(heap, 16 * count, operation);
  try {
    new Float64Array(heap.buffer, table.address, 2 * count).set(by);
    const lineBytes = work.shape[work.rank - 2] * 16;
    const lines = work.size * 8 === 0 ? 0 : (work.size * 8) / lineBytes;
    const tasks: Task[] = [];
    for (let line = 0; line < lines; line++) {
      for (let i = 0; i < count; i += 8192) {
        const at = stridedOf(work).storage.address + line * lineBytes + 16 * i;
        tasks.push([at, table.address + 16 * i, Math.min(8192, count - i)]);
      }
    }
    engine().routines.run("complex product", emitComplexProduct, tasks, lines * count, {
      operation,
      out: stridedOf(work),
    });
  } finally {
    table.release();
  }
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
