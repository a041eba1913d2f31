/**
 * Blocks made of floats, written down as plainly as ggml's reference functions can be said: lists, no reuse of memory, each
 * step of f32 arithmetic spelt out. The oracle for the encoders of the library.
 */
import { f16FromBits, f16ToBits } from "../../src/dtype.ts";
import { blockTypes, type EncodedDType } from "../../src/quantised/types.ts";

/* f32 arithmetic --------------------------------------------------------------------------------------------- */

const f = Math.fround;
const add = (a: number, b: number) => f(a + b);
const sub = (a: number, b: number) => f(a - b);
const mul = (a: number, b: number) => f(a * b);
const div = (a: number, b: number) => f(a / b);
/** One after the other, from 0 on. */
const total = (xs: readonly number[]) => xs.reduce(add, 0);
const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const chunks = (xs: readonly number[], n: number) =>
  range(xs.length / n).map((i) => xs.slice(n * i, n * i + n));
const between = (x: number, low: number, high: number) => Math.max(low, Math.min(high, x));

/** As a cast of C on x86. */
const toInt32 = (x: number) => {
  const t = Math.trunc(x);
  return t >= -(2 ** 31) && t < 2 ** 31 ? t : -(2 ** 31);
};
const int8 = (x: number) => Int8Array.of(toInt32(x))[0];
const uint8 = (x: number) => x & 255;

/** roundf: halves away from zero. */
const roundf = (x: number) => Math.sign(x) * Math.round(Math.abs(x));

/** The whole number that lies in the mantissa of x + 3 · 2^22. */
function nearestInt(x: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, add(x, 3 * 2 ** 22));
  return (view.getInt32(0) & (2 ** 23 - 1)) - 2 ** 22;
}

const half = (x: number) => {
  const bits = f16ToBits(x);
  return { bytes: [bits & 255, bits >> 8], value: f16FromBits(bits) };
};
const words = (x: number) => range(4).map((k) => (x >>> (8 * k)) & 255);
const orZero = (d: number) => (d === 0 ? 0 : div(1, d));

/** The first element of the largest size; NaN is never larger. */
const peak = (xs: readonly number[]) => xs.reduce((most, x) => (Math.abs(x) > Math.abs(most) ? x : most), 0);
/** As MAX(most, size): NaN replaces, and is replaced. */
const size = (xs: readonly number[]) => xs.reduce((most, x) => (most > Math.abs(x) ? most : Math.abs(x)), 0);

/* One scale -------------------------------------------------------------------------------------------------- */

const pairUp = (q: readonly number[]) => range(16).map((j) => uint8(uint8(q[j]) | (uint8(q[j + 16]) << 4)));
/** Low halves only, and the fifth bits apart. */
const fiveBits = (q: readonly number[]) => ({
  low: range(16).map((j) => (q[j] & 15) | ((q[j + 16] & 15) << 4)),
  high: words(q.reduce((bits, x, j) => bits | (((x >> 4) & 1) << j), 0)),
});

function symmetric(x: readonly number[], most: number): number[] {
  const d = div(peak(x), -most);
  const q = x.map((v) => Math.min(2 * most - 1, int8(add(mul(v, orZero(d)), most + 0.5))));
  if (most === 8) return [...half(d).bytes, ...pairUp(q)];
  const { low, high } = fiveBits(q);
  return [...half(d).bytes, ...high, ...low];
}

function offset(x: readonly number[], most: number): number[] {
  const FLT_MAX = f(3.4028234663852886e38);
  const min = x.reduce((a, b) => (b < a ? b : a), FLT_MAX);
  const max = x.reduce((a, b) => (b > a ? b : a), -FLT_MAX);
  const d = div(sub(max, min), most);
  const raw = x.map((v) => add(mul(sub(v, min), orZero(d)), 0.5));
  const head = [...half(d).bytes, ...half(min).bytes];
  if (most === 15) return [...head, ...pairUp(raw.map((v) => Math.min(15, int8(v))))];
  const { low, high } = fiveBits(raw.map(toInt32));
  return [...head, ...high, ...low];
}

function eights(x: readonly number[]): { d: number; q: number[] } {
  const d = div(size(x), 127);
  return { d, q: x.map((v) => int8(roundf(mul(v, orZero(d))))) };
}

/* Three values ----------------------------------------------------------------------------------------------- */

/** lroundf(x) + 1, kept in an int. */
function trit(x: number): number {
  const r = roundf(x);
  const long = Math.abs(r) < 2 ** 63 ? BigInt(r) : -(2n ** 63n);
  return Number(BigInt.asIntN(32, BigInt.asIntN(32, long) + 1n));
}

function ternary(x: readonly number[]): number[] {
  const d = size(x);
  const digits = x.map((v) => trit(mul(v, orZero(d))));
  const pack = (of: readonly number[]) => {
    const q = of.reduce((all, digit) => uint8(uint8(all * 3) + digit), 0);
    return Math.floor((q * 256 + 242) / 243);
  };
  const run = (from: number, bytes: number, count: number) =>
    range(bytes).map((m) =>
      pack([...range(count).map((n) => digits[from + m + n * bytes]), ...(count === 4 ? [0] : [])]),
    );
  return [...run(0, 32, 5), ...run(160, 16, 5), ...run(240, 4, 4), ...half(d).bytes];
}

function ternaryPairs(x: readonly number[]): number[] {
  const d = size(x);
  const q = x.map((v) => trit(mul(v, orZero(d))) & 3);
  return [...quarters(q), ...half(d).bytes];
}

/** Two bits at four places of each byte: 128 elements in 32. */
const quarters = (q: readonly number[]) =>
  chunks(q, 128).flatMap((h) =>
    range(32).map((l) => uint8(h[l] | (h[l + 32] << 2) | (h[l + 64] << 4) | (h[l + 96] << 6))),
  );

/* Floats of four bits ---------------------------------------------------------------------------------------- */

const fp4 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];
const nearestOf = (x: number, d: number) => {
  const errors = fp4.map((v) => Math.abs(sub(mul(v, d), x)));
  return errors.reduce((best, e, i) => (e < errors[best] ? i : best), 0);
};

function mxfp4(x: readonly number[]): number[] {
  const most = Math.abs(peak(x));
  const e = most > 0 ? uint8(toInt32(Math.floor(f(Math.log2(most))) - 2 + 127)) : 0;
  return [e, ...pairUp(x.map((v) => nearestOf(v, 2 ** (e - 128))))];
}

function e4m3(x: number): number {
  if (!(x > 0)) return 0;
  const v = Math.min(x, 448);
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, v);
  const bits = view.getUint32(0);
  let e = (bits >>> 23) - 127 + 7;
  if (e <= 0) return Math.min(7, Math.trunc(add(mul(v, 512), 0.5)));
  if (e >= 15) return 0x7e;
  let m = ((bits >>> 20) & 7) + ((bits >>> 19) & 1);
  if (m > 7) {
    m = 0;
    e += 1;
  }
  return e >= 15 ? 0x7e : 8 * e + m;
}

function nvfp4(x: readonly number[]): number[] {
  const parts = chunks(x, 16).map((part) => {
    const e = e4m3(div(Math.abs(peak(part)), 6));
    const [exponent, m] = [e >> 3, e & 7];
    const d = exponent === 0 ? m * 2 ** -10 : (1 + m / 8) * 2 ** (exponent - 8);
    const q = part.map((v) => nearestOf(v, d));
    return { e, bytes: range(8).map((j) => q[j] | (q[j + 8] << 4)) };
  });
  return [...parts.map((part) => part.e), ...parts.flatMap((part) => part.bytes)];
}

/* Uneven levels ---------------------------------------------------------------------------------------------- */

const levels = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/** Halfway and above, the upper level; NaN is the lowest. */
const levelOf = (x: number) => range(15).filter((i) => add(x, x) >= levels[i] + levels[i + 1]).length;

function fitLevels(x: readonly number[], tries: number): { d: number; q: number[] } {
  const max = peak(x);
  if (Math.abs(max) < f(1e-15)) return { d: 0, q: x.map(() => 0) };
  const sums = (id: number) => {
    const q = x.map((v) => levelOf(mul(id, v)));
    const weighted = q.map((l, j) => mul(mul(x[j], x[j]), levels[l]));
    return {
      q,
      qx: total(weighted.map((wq, j) => mul(wq, x[j]))),
      qq: total(weighted.map((wq, j) => mul(wq, levels[q[j]]))),
    };
  };
  const first = sums(div(1, div(tries > 0 ? -max : max, levels[0])));
  let d = first.qq > 0 ? div(first.qx, first.qq) : 0;
  let best = mul(d, first.qx);
  for (let t = -tries; t <= tries; t++) {
    const { qx, qq } = sums(div(t + levels[0], max));
    if (!(qq > 0 && mul(qx, qx) > mul(best, qq))) continue;
    d = div(qx, qq);
    best = mul(d, qx);
  }
  return { d, q: first.q };
}

function iq4xs(x: readonly number[]): number[] {
  const parts = chunks(x, 32);
  const scales = parts.map((part) => fitLevels(part, 7).d);
  const d = div(-peak(scales), 32);
  const ls = scales.map((s) => between(nearestInt(mul(orZero(d), s)), -32, 31));
  const q = parts.map((part, i) => part.map((v) => levelOf(mul(orZero(mul(d, ls[i])), v))));
  const high = ls.reduce((bits, l, i) => bits | (((l + 32) >> 4) << (2 * i)), 0);
  const low = range(4).map((i) => ((ls[2 * i] + 32) & 15) | (((ls[2 * i + 1] + 32) & 15) << 4));
  return [...half(d).bytes, high & 255, high >> 8, ...low, ...q.flatMap(pairUp)];
}

/* K types ---------------------------------------------------------------------------------------------------- */

interface Fit {
  readonly scale: number;
  readonly min: number;
  readonly q: readonly number[];
}

/** The scale and minimum with the least weighted error, of a straight one and `steps` + 1 others. */
function fitWithMinimum(
  x: readonly number[],
  w: readonly number[],
  most: number,
  least: number,
  steps: number,
  byDistance: boolean,
): Fit {
  const low = x.reduce((a, b) => (b < a ? b : a));
  const max = x.reduce((a, b) => (b > a ? b : a));
  const lowest = low > 0 ? 0 : low;
  if (max === lowest) return { scale: 0, min: -lowest, q: x.map(() => 0) };
  const sumW = w.reduce(add);
  const sumX = w.map((wi, i) => mul(wi, x[i])).reduce(add);
  const distance = (e: number) => (byDistance ? Math.abs(e) : mul(e, e));
  const errorOf = (scale: number, min: number, q: readonly number[]) =>
    total(q.map((l, i) => mul(w[i], distance(sub(add(mul(scale, l), min), x[i])))));
  const quantised = (inverse: number, min: number) =>
    x.map((v) => between(nearestInt(mul(inverse, sub(v, min))), 0, most));
  const straight = div(most, sub(max, lowest));
  let best = { scale: div(1, straight), min: lowest, q: quantised(straight, lowest) };
  let error = errorOf(best.scale, best.min, best.q);
  for (let step = 0; step <= steps; step++) {
    const inverse = div(add(add(least, mul(f(0.1), step)), most), sub(max, best.min));
    const q = quantised(inverse, best.min);
    const wl = q.map((l, i) => mul(w[i], l));
    const sumL = total(wl);
    const sumLL = total(wl.map((v, i) => mul(v, q[i])));
    const sumXL = total(wl.map((v, i) => mul(v, x[i])));
    const D = sub(mul(sumW, sumLL), mul(sumL, sumL));
    if (!(D > 0)) continue;
    let scale = div(sub(mul(sumW, sumXL), mul(sumX, sumL)), D);
    let min = div(sub(mul(sumLL, sumX), mul(sumL, sumXL)), D);
    if (min > 0) {
      min = 0;
      scale = div(sumXL, sumLL);
    }
    const its = errorOf(scale, min, q);
    if (its < error) {
      best = { scale, min, q };
      error = its;
    }
  }
  return { ...best, min: -best.min };
}

const largestOf = (xs: readonly number[]) => xs.reduce((most, x) => (x > most ? x : most), 0);

/** Elements again, for the scale and minimum as they were stored; what has no scale stays as it was. */
const again = (x: readonly number[], q: readonly number[], d: number, min: number, most: number) =>
  d === 0 ? q : x.map((v) => between(nearestInt(div(add(v, min), d)), 0, most));

function q2K(x: readonly number[]): number[] {
  const parts = chunks(x, 16);
  const fits = parts.map((part) => fitWithMinimum(part, part.map(Math.abs), 3, -0.5, 15, true));
  const four = (of: readonly number[]) => {
    const most = largestOf(of);
    if (!(most > 0)) return { q: of.map(() => 0), d: half(0) };
    return { q: of.map((v) => nearestInt(mul(div(15, most), v))), d: half(div(most, 15)) };
  };
  const scales = four(fits.map((fit) => fit.scale));
  const mins = four(fits.map((fit) => fit.min));
  const bytes = scales.q.map((s, j) => uint8(s | (mins.q[j] << 4)));
  const q = parts.flatMap((part, j) =>
    again(part, fits[j].q, mul(scales.d.value, bytes[j] & 15), mul(mins.d.value, bytes[j] >> 4), 3),
  );
  return [...bytes, ...quarters(q), ...scales.d.bytes, ...mins.d.bytes];
}

function sixBits(x: readonly number[], most: number, least: number, steps: number) {
  const parts = chunks(x, 32);
  const fits = parts.map((part) => {
    const mean = f(Math.sqrt(div(total(part.map((v) => mul(v, v))), 32)));
    const w = part.map((v) => add(mean, Math.abs(v)));
    return fitWithMinimum(part, w, most, least, steps, false);
  });
  const six = (of: readonly number[]) => {
    const top = largestOf(of);
    const inverse = top > 0 ? div(63, top) : 0;
    return { q: of.map((v) => Math.min(63, uint8(nearestInt(mul(inverse, v))))), d: half(div(top, 63)) };
  };
  const scales = six(fits.map((fit) => fit.scale));
  const mins = six(fits.map((fit) => fit.min));
  const packed = [
    ...range(4).map((j) => scales.q[j] | ((scales.q[j + 4] >> 4) << 6)),
    ...range(4).map((j) => mins.q[j] | ((mins.q[j + 4] >> 4) << 6)),
    ...range(4).map((j) => (scales.q[j + 4] & 15) | ((mins.q[j + 4] & 15) << 4)),
  ];
  const q = parts.flatMap((part, j) =>
    again(part, fits[j].q, mul(scales.d.value, scales.q[j]), mul(mins.d.value, mins.q[j]), most),
  );
  return { head: [...scales.d.bytes, ...mins.d.bytes, ...packed], q };
}

const fourBits = (q: readonly number[]) =>
  chunks(q, 64).flatMap((part) => range(32).map((l) => (part[l] & 15) | ((part[l + 32] & 15) << 4)));

function q5K(x: readonly number[]): number[] {
  const { head, q } = sixBits(x, 31, -0.5, 15);
  const high = range(32).map((l) => range(8).reduce((bits, j) => bits | ((q[32 * j + l] >> 4) << j), 0));
  return [...head, ...high, ...fourBits(q)];
}

/** Weighted by x²: Σ w·x·l and Σ w·l². */
const squareSums = (x: readonly number[], q: readonly number[]) => ({
  lx: total(q.map((l, i) => mul(mul(mul(x[i], x[i]), x[i]), l))),
  ll: total(q.map((l, i) => mul(mul(mul(x[i], x[i]), l), l))),
});

function fitByMoving(x: readonly number[]): { scale: number; q: number[] } {
  const max = peak(x);
  if (Math.abs(max) < f(1e-15)) return { scale: 0, q: x.map(() => 0) };
  const q = x.map((v) => between(nearestInt(mul(div(-4, max), v)), -4, 3));
  let { lx, ll } = squareSums(x, q);
  for (let turn = 0; turn < 5; turn++) {
    let isMoved = false;
    for (const [i, v] of x.entries()) {
      const w = mul(v, v);
      const without = sub(lx, mul(mul(w, v), q[i]));
      if (!(without > 0)) continue;
      const rest = sub(ll, mul(mul(w, q[i]), q[i]));
      const l = between(nearestInt(div(mul(v, rest), without)), -4, 3);
      if (l === q[i]) continue;
      const itsLx = add(without, mul(mul(w, v), l));
      const itsLl = add(rest, mul(mul(w, l), l));
      if (!(itsLl > 0 && mul(mul(itsLx, itsLx), ll) > mul(mul(lx, lx), itsLl))) continue;
      [q[i], lx, ll, isMoved] = [l, itsLx, itsLl, true];
    }
    if (!isMoved) break;
  }
  return { scale: ll > 0 ? div(lx, ll) : 0, q: q.map((l) => l + 4) };
}

function q3K(x: readonly number[]): number[] {
  const parts = chunks(x, 16);
  const fits = parts.map(fitByMoving);
  const most = peak(fits.map((fit) => fit.scale));
  const inverse = div(-32, most);
  const six = fits.map(({ scale }) =>
    most === 0 ? 0 : between(Int8Array.of(nearestInt(mul(inverse, scale)))[0], -32, 31) + 32,
  );
  const d = half(most === 0 ? 0 : div(1, inverse));
  const scales = [
    ...range(8).map((j) => (six[j] & 15) | ((six[j + 8] & 15) << 4)),
    ...range(4).map((j) => range(4).reduce((bits, k) => bits | ((six[4 * k + j] >> 4) << (2 * k)), 0)),
  ];
  const q = parts.flatMap((part, j) => {
    const its = mul(d.value, six[j] - 32);
    return its === 0 ? fits[j].q : part.map((v) => between(nearestInt(div(v, its)), -4, 3) + 4);
  });
  const masks = range(32).map((l) =>
    range(8).reduce((bits, k) => bits | ((q[32 * k + l] > 3 ? 1 : 0) << k), 0),
  );
  return [...masks, ...quarters(q.map((l) => l & 3)), ...scales, ...d.bytes];
}

function fitByTrying(x: readonly number[]): { scale: number; q: readonly number[] } {
  const max = peak(x);
  if (Math.abs(max) < f(1e-15)) return { scale: 0, q: x.map(() => 0) };
  const quantised = (inverse: number) => x.map((v) => between(nearestInt(mul(inverse, v)), -32, 31));
  let q = quantised(div(-32, max));
  const { lx, ll } = squareSums(x, q);
  let scale = ll !== 0 ? div(lx, ll) : 0;
  let best = mul(scale, lx);
  for (const step of [-9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
    const other = quantised(div(-add(32, mul(f(0.1), step)), max));
    const its = squareSums(x, other);
    if (!(its.ll > 0 && mul(its.lx, its.lx) > mul(best, its.ll))) continue;
    q = other;
    scale = div(its.lx, its.ll);
    best = mul(scale, its.lx);
  }
  return { scale, q: q.map((l) => l + 32) };
}

function q6K(x: readonly number[]): number[] {
  const parts = chunks(x, 16);
  const fits = parts.map(fitByTrying);
  const most = peak(fits.map((fit) => fit.scale));
  if (Math.abs(most) < f(1e-15)) return new Array<number>(210).fill(0);
  const inverse = div(-128, most);
  const d = half(div(1, inverse));
  const scales = fits.map(({ scale }) => Int8Array.of(Math.min(127, nearestInt(mul(inverse, scale))))[0]);
  const q = parts.flatMap((part, j) => {
    const its = mul(d.value, scales[j]);
    return its === 0 ? fits[j].q : part.map((v) => between(nearestInt(div(v, its)), -32, 31) + 32);
  });
  const halves = chunks(q, 128);
  const low = halves.flatMap((h) => range(64).map((l) => (h[l] & 15) | ((h[l + 64] & 15) << 4)));
  return [...low, ...quarters(q.map((l) => l >> 4)), ...scales.map(uint8), ...d.bytes];
}

function q8K(x: readonly number[]): number[] {
  const max = peak(x);
  if (max === 0) return new Array<number>(292).fill(0);
  const inverse = div(-127, max);
  const q = x.map((v) => Int8Array.of(Math.min(127, nearestInt(mul(inverse, v))))[0]);
  const sums = chunks(q, 16).map((part) => part.reduce((a, b) => a + b));
  const scale = [...new Uint8Array(Float32Array.of(div(1, inverse)).buffer)];
  return [...scale, ...q.map(uint8), ...sums.flatMap((s) => [s & 255, (s >> 8) & 255])];
}

/* The types -------------------------------------------------------------------------------------------------- */

const encoders: Record<EncodedDType, (x: readonly number[]) => number[]> = {
  q4_0: (x) => symmetric(x, 8),
  q4_1: (x) => offset(x, 15),
  q5_0: (x) => symmetric(x, 16),
  q5_1: (x) => offset(x, 31),
  q8_0: (x) => {
    const { d, q } = eights(x);
    return [...half(d).bytes, ...q.map(uint8)];
  },
  q8_1: (x) => {
    const { d, q } = eights(x);
    const sum = q.reduce((a, b) => a + b, 0);
    return [...half(d).bytes, ...half(mul(sum, d)).bytes, ...q.map(uint8)];
  },
  q2_K: q2K,
  q3_K: q3K,
  q4_K: (x) => {
    const { head, q } = sixBits(x, 15, -1, 20);
    return [...head, ...fourBits(q)];
  },
  q5_K: q5K,
  q6_K: q6K,
  q8_K: q8K,
  iq4_nl: (x) => {
    const { d, q } = fitLevels(x, -1);
    return [...half(d).bytes, ...pairUp(q)];
  },
  iq4_xs: iq4xs,
  tq1_0: ternary,
  tq2_0: ternaryPairs,
  mxfp4,
  nvfp4,
  q1_0: (x) => {
    const d = div(total(x.map(Math.abs)), 128);
    const bytes = chunks(x, 8).map((part) => part.reduce((bits, v, j) => bits | ((v >= 0 ? 1 : 0) << j), 0));
    return [...half(d).bytes, ...bytes];
  },
  q2_0: (x) => {
    const d = Math.abs(peak(x));
    const inverse = d > 0 ? div(1, d) : 0;
    const q = x.map((v) => between(toInt32(roundf(mul(v, inverse))) + 1, 0, 3));
    const bytes = chunks(q, 4).map((part) => part.reduce((bits, l, j) => bits | (l << (2 * j)), 0));
    return [...half(d).bytes, ...bytes];
  },
};

/** The blocks of all elements, one after the other. */
export function encodeNaively(dtype: EncodedDType, x: Float32Array): Uint8Array<ArrayBuffer> {
  const { block } = blockTypes[dtype];
  return Uint8Array.from(chunks([...x], block).flatMap((part) => encoders[dtype](part)));
}
