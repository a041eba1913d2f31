/**
 * Floats → blocks, as ggml's reference functions choose them: bit for bit, so every product and sum rounds to f32, in
 * their order. A type is a function that encodes one block: x[o …] into y[p …].
 *
 * Where C leaves open what happens (numbers too large for an integer, NaN), a conversion gives what x86 gives: the
 * smallest integer, of which the low bits are kept.
 */
import { f16FromBits, f16ToBits } from "../dtype.ts";
import { floats4, levels } from "./recipes.ts";
import type { EncodedDType } from "./types.ts";

export type Encode = (x: Float32Array, o: number, y: Uint8Array, p: number) => void;

const f = Math.fround;
const abs = Math.abs;
/** What is smaller counts as nothing. */
const TINY = f(1e-15);

const bitsOf = new Int32Array(1);
const floatOf = new Float32Array(bitsOf.buffer);

/** The nearest whole number, halves to even: by adding 1.5 · 2^23 and looking at the bits, as the reference does. */
function nearest(v: number): number {
  floatOf[0] = v + 12582912;
  return (bitsOf[0] & 0x007fffff) - 0x00400000;
}

/** Toward zero; what no i32 holds is the smallest one. */
const toInt = (v: number): number => (v > -2147483649 && v < 2147483648 ? v | 0 : -2147483648);
const toI8 = (v: number): number => (toInt(v) << 24) >> 24;
/** The nearest whole number, halves away from zero. */
const round = (v: number): number => (v < 0 ? -Math.floor(0.5 - v) : Math.floor(v + 0.5));
const clamp = (v: number, low: number, high: number): number => (v < low ? low : v > high ? high : v);

/** A half float of y; gives what it stands for. */
function putHalf(y: Uint8Array, p: number, value: number): number {
  const bits = f16ToBits(value);
  y[p] = bits;
  y[p + 1] = bits >> 8;
  return f16FromBits(bits);
}

function putWord(y: Uint8Array, p: number, value: number): void {
  for (let k = 0; k < 4; k++) y[p + k] = value >>> (8 * k);
}

const reciprocal = (d: number): number => (d !== 0 ? f(1 / d) : 0);

/** Room for what is found out about a block. */
const L = new Int16Array(256);
const tried = new Int16Array(32);
const weights = new Float32Array(32);
const scales = new Float32Array(16);
const mins = new Float32Array(16);

/* One scale a block ------------------------------------------------------------------------------------------ */

/** The element that is largest without its sign, the first of several; NaN never is. */
function largest(x: Float32Array, o: number, n: number): number {
  let most = 0;
  let value = 0;
  for (let j = 0; j < n; j++) {
    const a = abs(x[o + j]);
    if (most < a) {
      most = a;
      value = x[o + j];
    }
  }
  return value;
}

/** Its size as `a > b ? a : b` finds it: a NaN is taken, and lost to whatever comes after it. */
function largestSize(x: Float32Array, o: number, n: number): number {
  let most = 0;
  for (let j = 0; j < n; j++) {
    const a = abs(x[o + j]);
    most = most > a ? most : a;
  }
  return most;
}

/** Symmetric, 4 or 5 bits: the largest element becomes the most negative number. */
const symmetric =
  (most: 8 | 16): Encode =>
  (x, o, y, p) => {
    const d = f(largest(x, o, 32) / -most);
    const id = reciprocal(d);
    putHalf(y, p, d);
    const qs = most === 8 ? p + 2 : p + 6;
    const shift = most + 0.5;
    let high = 0;
    for (let j = 0; j < 16; j++) {
      const a = Math.min(2 * most - 1, toI8(f(f(x[o + j] * id) + shift)));
      const b = Math.min(2 * most - 1, toI8(f(f(x[o + 16 + j] * id) + shift)));
      y[qs + j] = most === 8 ? (a & 255) | (b << 4) : (a & 15) | ((b & 15) << 4);
      high |= (((a & 16) >> 4) << j) | (((b & 16) >> 4) << (j + 16));
    }
    if (most === 16) putWord(y, p + 2, high);
  };

/** From the least element on, 4 or 5 bits. */
const fromLeast =
  (most: 15 | 31): Encode =>
  (x, o, y, p) => {
    let min = f(3.4028234663852886e38);
    let max = -min;
    for (let j = 0; j < 32; j++) {
      const v = x[o + j];
      if (v < min) min = v;
      if (v > max) max = v;
    }
    const d = f(f(max - min) / most);
    const id = reciprocal(d);
    putHalf(y, p, d);
    putHalf(y, p + 2, min);
    const qs = most === 15 ? p + 4 : p + 8;
    let high = 0;
    for (let j = 0; j < 16; j++) {
      const u = f(f(f(x[o + j] - min) * id) + 0.5);
      const v = f(f(f(x[o + 16 + j] - min) * id) + 0.5);
      if (most === 15) {
        y[qs + j] = (Math.min(15, toI8(u)) & 255) | (Math.min(15, toI8(v)) << 4);
      } else {
        const [a, b] = [toInt(u), toInt(v)];
        y[qs + j] = (a & 15) | ((b & 15) << 4);
        high |= (((a & 16) >> 4) << j) | (((b & 16) >> 4) << (j + 16));
      }
    }
    if (most === 31) putWord(y, p + 4, high);
  };

/** Eight bits; q8_1 keeps their sum too. */
const eight =
  (withSum: boolean): Encode =>
  (x, o, y, p) => {
    const d = f(largestSize(x, o, 32) / 127);
    const id = reciprocal(d);
    putHalf(y, p, d);
    const qs = withSum ? p + 4 : p + 2;
    let sum = 0;
    for (let j = 0; j < 32; j++) {
      const q = toI8(round(f(x[o + j] * id)));
      y[qs + j] = q;
      sum += q;
    }
    if (withSum) putHalf(y, p + 2, f(sum * d));
  };

const signs: Encode = (x, o, y, p) => {
  let sum = 0;
  for (let j = 0; j < 128; j++) sum = f(sum + abs(x[o + j]));
  putHalf(y, p, f(sum / 128));
  for (let k = 0; k < 16; k++) {
    let byte = 0;
    for (let j = 0; j < 8; j++) if (x[o + 8 * k + j] >= 0) byte |= 1 << j;
    y[p + 2 + k] = byte;
  }
};

const twoBits: Encode = (x, o, y, p) => {
  const d = abs(largest(x, o, 64));
  const id = d > 0 ? f(1 / d) : 0;
  putHalf(y, p, d);
  for (let k = 0; k < 16; k++) {
    let byte = 0;
    for (let j = 0; j < 4; j++) {
      const q = clamp(toInt(round(f(x[o + 4 * k + j] * id))) + 1, 0, 3);
      byte |= q << (2 * j);
    }
    y[p + 2 + k] = byte;
  }
};

/* Three values ----------------------------------------------------------------------------------------------- */

/** -1, 0 or 1 as 0, 1 or 2; of what is far too large the low bits, and of what no integer of 64 bits holds none. */
function digitOf(v: number): number {
  const r = round(v);
  if (abs(r) < 2 ** 31) return r + 1;
  return abs(r) < 2 ** 63 ? (Number(BigInt.asIntN(32, BigInt(r))) + 1) | 0 : 1;
}

const ternary: Encode = (x, o, y, p) => {
  const d = largestSize(x, o, 256);
  const id = reciprocal(d);
  putHalf(y, p + 52, d);
  const run = (from: number, to: number, bytes: number, digits: number) => {
    for (let m = 0; m < bytes; m++) {
      let q = 0;
      for (let n = 0; n < 5; n++) {
        q = (q * 3) & 255;
        if (n < digits) q = (q + digitOf(f(x[from + m + n * bytes] * id))) & 255;
      }
      // As a fraction of 3^5, rounded up.
      y[to + m] = Math.floor((q * 256 + 242) / 243);
    }
  };
  run(o, p, 32, 5);
  run(o + 160, p + 32, 16, 5);
  run(o + 240, p + 48, 4, 4);
};

const ternaryPairs: Encode = (x, o, y, p) => {
  const d = largestSize(x, o, 256);
  const id = reciprocal(d);
  putHalf(y, p + 64, d);
  for (let half = 0; half < 2; half++) {
    for (let m = 0; m < 32; m++) {
      let q = 0;
      for (let n = 0; n < 4; n++) q += (digitOf(f(x[o + 128 * half + m + 32 * n] * id)) & 3) << (2 * n);
      y[p + 32 * half + m] = q;
    }
  }
};

/* Floats of four bits ---------------------------------------------------------------------------------------- */

/** The level nearest to x, the first of several. */
function nearestFloat4(x: number, e: number): number {
  let best = 0;
  let least = abs(f(f(floats4[0] * e) - x));
  for (let i = 1; i < 16; i++) {
    const error = abs(f(f(floats4[i] * e) - x));
    if (error < least) {
      best = i;
      least = error;
    }
  }
  return best;
}

const mxfp4: Encode = (x, o, y, p) => {
  const most = abs(largest(x, o, 32));
  const e = most > 0 ? toInt(f(Math.floor(f(Math.log2(most))) + 125)) & 255 : 0;
  const d = 2 ** (e - 128);
  y[p] = e;
  for (let j = 0; j < 16; j++) {
    y[p + 1 + j] = nearestFloat4(x[o + j], d) | (nearestFloat4(x[o + 16 + j], d) << 4);
  }
};

/** A positive number in four bits of exponent and three of mantissa, at most 448. */
function toE4m3(x: number): number {
  if (!(x > 0)) return 0;
  floatOf[0] = Math.min(x, 448);
  const bits = bitsOf[0];
  const e = ((bits >> 23) & 255) - 120;
  if (e <= 0) return Math.min(7, toInt(f(f(floatOf[0] * 512) + 0.5)));
  if (e >= 15) return 126;
  const m = ((bits >> 20) & 7) + ((bits >> 19) & 1);
  return m > 7 ? (e + 1 >= 15 ? 126 : (e + 1) << 3) : (e << 3) | m;
}

/** What such a number stands for, halved. */
function fromE4m3(bits: number): number {
  const [e, m] = [(bits >> 3) & 15, bits & 7];
  return e === 0 ? m * 2 ** -10 : (1 + m / 8) * 2 ** (e - 8);
}

const nvfp4: Encode = (x, o, y, p) => {
  for (let s = 0; s < 4; s++) {
    const from = o + 16 * s;
    const e = toE4m3(f(abs(largest(x, from, 16)) / 6));
    y[p + s] = e;
    const d = fromE4m3(e);
    for (let j = 0; j < 8; j++) {
      y[p + 4 + 8 * s + j] = nearestFloat4(x[from + j], d) | (nearestFloat4(x[from + 8 + j], d) << 4);
    }
  }
};

/* Levels that are not evenly spaced -------------------------------------------------------------------------- */

/** The level nearest to x; halfway the upper one. */
function nearestLevel(x: number): number {
  const twice = f(x + x);
  let i = 0;
  for (let step = 8; step > 0; step >>= 1) {
    if (twice >= levels[i + step - 1] + levels[i + step]) i += step;
  }
  return i;
}

/** Σ w·q·x and Σ w·q² over 32 elements, each scaled by `id` and brought to a level, with weights x². */
let sumQX = 0;
let sumQ2 = 0;
function sumLevels(x: Float32Array, o: number, id: number, keep: number): void {
  let [qx, q2] = [0, 0];
  for (let j = 0; j < 32; j++) {
    const v = x[o + j];
    const l = nearestLevel(f(id * v));
    if (keep >= 0) L[keep + j] = l;
    const q = levels[l];
    const wq = f(f(v * v) * q);
    qx = f(qx + f(wq * v));
    q2 = f(q2 + f(wq * q));
  }
  sumQX = qx;
  sumQ2 = q2;
}

/** The scale of 32 elements that fits best, of so many tried on both sides; their levels go into L. */
function levelScale(x: Float32Array, o: number, keep: number, tries: number): number {
  const max = largest(x, o, 32);
  if (abs(max) < TINY) {
    L.fill(0, keep, keep + 32);
    return 0;
  }
  let d = f((tries > 0 ? -max : max) / levels[0]);
  sumLevels(x, o, f(1 / d), keep);
  d = sumQ2 > 0 ? f(sumQX / sumQ2) : 0;
  let best = f(d * sumQX);
  for (let t = -tries; t <= tries; t++) {
    sumLevels(x, o, f((t + levels[0]) / max), -1);
    if (sumQ2 > 0 && f(sumQX * sumQX) > f(best * sumQ2)) {
      d = f(sumQX / sumQ2);
      best = f(d * sumQX);
    }
  }
  return d;
}

const levels32: Encode = (x, o, y, p) => {
  putHalf(y, p, levelScale(x, o, 0, -1));
  for (let j = 0; j < 16; j++) y[p + 2 + j] = L[j] | (L[16 + j] << 4);
};

const levels256: Encode = (x, o, y, p) => {
  let most = 0;
  let scale = 0;
  for (let ib = 0; ib < 8; ib++) {
    const d = levelScale(x, o + 32 * ib, 32 * ib, 7);
    scales[ib] = d;
    if (abs(d) > most) {
      most = abs(d);
      scale = d;
    }
  }
  const d = f(-scale / 32);
  putHalf(y, p, d);
  const id = reciprocal(d);
  let high = 0;
  for (let ib = 0; ib < 8; ib++) {
    const l = clamp(nearest(f(id * scales[ib])), -32, 31);
    const idl = reciprocal(f(d * l));
    for (let j = 0; j < 32; j++) L[32 * ib + j] = nearestLevel(f(idl * x[o + 32 * ib + j]));
    const four = (l + 32) & 15;
    if (ib % 2 === 0) y[p + 4 + (ib >> 1)] = four;
    else y[p + 4 + (ib >> 1)] |= four << 4;
    high |= ((l + 32) >> 4) << (2 * ib);
  }
  y[p + 2] = high;
  y[p + 3] = high >> 8;
  for (let ib = 0; ib < 8; ib++) {
    for (let j = 0; j < 16; j++) y[p + 8 + 16 * ib + j] = L[32 * ib + j] | (L[32 * ib + 16 + j] << 4);
  }
};

/* Blocks of 256 with scales of their own --------------------------------------------------------------------- */

let foundMin = 0;

/**
 * The scale and the minimum of n elements that fit best with whole numbers 0 … most: a straight one, then `steps` others
 * from `least` on. The numbers go into L, the minimum (without its sign) into foundMin.
 */
function scaleAndMin(
  x: Float32Array,
  o: number,
  n: number,
  most: number,
  keep: number,
  least: number,
  delta: number,
  steps: number,
  byDistance: boolean,
): number {
  let min = x[o];
  let max = x[o];
  let sumW = weights[0];
  let sumX = f(sumW * x[o]);
  for (let i = 1; i < n; i++) {
    const v = x[o + i];
    if (v < min) min = v;
    if (v > max) max = v;
    sumW = f(sumW + weights[i]);
    sumX = f(sumX + f(weights[i] * v));
  }
  if (min > 0) min = 0;
  if (max === min) {
    L.fill(0, keep, keep + n);
    foundMin = -min;
    return 0;
  }
  const straight = f(most / f(max - min));
  let scale = f(1 / straight);
  let best = 0;
  for (let i = 0; i < n; i++) {
    const l = clamp(nearest(f(straight * f(x[o + i] - min))), 0, most);
    L[keep + i] = l;
    const diff = f(f(f(scale * l) + min) - x[o + i]);
    best = f(best + f(weights[i] * (byDistance ? abs(diff) : f(diff * diff))));
  }
  for (let step = 0; step <= steps; step++) {
    const inverse = f(f(f(least + f(delta * step)) + most) / f(max - min));
    let [sumL, sumL2, sumXL] = [0, 0, 0];
    for (let i = 0; i < n; i++) {
      const l = clamp(nearest(f(inverse * f(x[o + i] - min))), 0, most);
      tried[i] = l;
      const wl = f(weights[i] * l);
      sumL = f(sumL + wl);
      sumL2 = f(sumL2 + f(wl * l));
      sumXL = f(sumXL + f(wl * x[o + i]));
    }
    const D = f(f(sumW * sumL2) - f(sumL * sumL));
    if (!(D > 0)) continue;
    let itsScale = f(f(f(sumW * sumXL) - f(sumX * sumL)) / D);
    let itsMin = f(f(f(sumL2 * sumX) - f(sumL * sumXL)) / D);
    if (itsMin > 0) {
      itsMin = 0;
      itsScale = f(sumXL / sumL2);
    }
    let error = 0;
    for (let i = 0; i < n; i++) {
      const diff = f(f(f(itsScale * tried[i]) + itsMin) - x[o + i]);
      error = f(error + f(weights[i] * (byDistance ? abs(diff) : f(diff * diff))));
    }
    if (error < best) {
      for (let i = 0; i < n; i++) L[keep + i] = tried[i];
      best = error;
      scale = itsScale;
      min = itsMin;
    }
  }
  foundMin = -min;
  return scale;
}

/** Two bits of 128 elements in each 32 bytes. */
function packPairs(y: Uint8Array, p: number): void {
  for (let half = 0; half < 2; half++) {
    for (let l = 0; l < 32; l++) {
      const j = 128 * half + l;
      y[p + 32 * half + l] = L[j] | (L[j + 32] << 2) | (L[j + 64] << 4) | (L[j + 96] << 6);
    }
  }
}

const q2K: Encode = (x, o, y, p) => {
  let [mostScale, mostMin] = [0, 0];
  for (let j = 0; j < 16; j++) {
    for (let l = 0; l < 16; l++) weights[l] = abs(x[o + 16 * j + l]);
    scales[j] = scaleAndMin(x, o + 16 * j, 16, 3, 16 * j, -0.5, f(0.1), 15, true);
    mins[j] = foundMin;
    if (scales[j] > mostScale) mostScale = scales[j];
    if (mins[j] > mostMin) mostMin = mins[j];
  }
  let [d, dmin] = [0, 0];
  if (mostScale > 0) {
    const inverse = f(15 / mostScale);
    for (let j = 0; j < 16; j++) y[p + j] = nearest(f(inverse * scales[j]));
    d = putHalf(y, p + 80, f(mostScale / 15));
  } else {
    y.fill(0, p, p + 16);
    putHalf(y, p + 80, 0);
  }
  if (mostMin > 0) {
    const inverse = f(15 / mostMin);
    for (let j = 0; j < 16; j++) y[p + j] |= nearest(f(inverse * mins[j])) << 4;
    dmin = putHalf(y, p + 82, f(mostMin / 15));
  } else putHalf(y, p + 82, 0);
  for (let j = 0; j < 16; j++) {
    const its = f(d * (y[p + j] & 15));
    // As C asks: NaN is something.
    if (its === 0) continue;
    const min = f(dmin * (y[p + j] >> 4));
    for (let i = 16 * j; i < 16 * j + 16; i++) L[i] = clamp(nearest(f(f(x[o + i] + min) / its)), 0, 3);
  }
  packPairs(y, p + 16);
};

/** Scales and minima in six bits each, and the elements for what came of them: q4_K and q5_K. */
function scaleRuns(
  x: Float32Array,
  o: number,
  y: Uint8Array,
  p: number,
  most: number,
  least: number,
  steps: number,
): void {
  let [mostScale, mostMin] = [0, 0];
  for (let j = 0; j < 8; j++) {
    let squares = 0;
    for (let l = 0; l < 32; l++) squares = f(squares + f(x[o + 32 * j + l] * x[o + 32 * j + l]));
    const mean = f(Math.sqrt(f(squares / 32)));
    for (let l = 0; l < 32; l++) weights[l] = mean + abs(x[o + 32 * j + l]);
    scales[j] = scaleAndMin(x, o + 32 * j, 32, most, 32 * j, least, f(0.1), steps, false);
    mins[j] = foundMin;
    if (scales[j] > mostScale) mostScale = scales[j];
    if (mins[j] > mostMin) mostMin = mins[j];
  }
  const ofScale = mostScale > 0 ? f(63 / mostScale) : 0;
  const ofMin = mostMin > 0 ? f(63 / mostMin) : 0;
  for (let j = 0; j < 8; j++) {
    const s = Math.min(63, nearest(f(ofScale * scales[j])) & 255);
    const m = Math.min(63, nearest(f(ofMin * mins[j])) & 255);
    if (j < 4) {
      y[p + 4 + j] = s;
      y[p + 8 + j] = m;
    } else {
      y[p + 8 + j] = (s & 15) | ((m & 15) << 4);
      y[p + j] |= (s >> 4) << 6;
      y[p + 4 + j] |= (m >> 4) << 6;
    }
  }
  const d = putHalf(y, p, f(mostScale / 63));
  const dmin = putHalf(y, p + 2, f(mostMin / 63));
  for (let j = 0; j < 8; j++) {
    const s = j < 4 ? y[p + 4 + j] & 63 : (y[p + 8 + j] & 15) | ((y[p + j] >> 6) << 4);
    const m = j < 4 ? y[p + 8 + j] & 63 : (y[p + 8 + j] >> 4) | ((y[p + 4 + j] >> 6) << 4);
    const its = f(d * s);
    if (its === 0) continue;
    const min = f(dmin * m);
    for (let i = 32 * j; i < 32 * j + 32; i++) L[i] = clamp(nearest(f(f(x[o + i] + min) / its)), 0, most);
  }
}

const q4K: Encode = (x, o, y, p) => {
  scaleRuns(x, o, y, p, 15, -1, 20);
  for (let j = 0; j < 4; j++) {
    for (let l = 0; l < 32; l++) y[p + 16 + 32 * j + l] = L[64 * j + l] | (L[64 * j + 32 + l] << 4);
  }
};

const q5K: Encode = (x, o, y, p) => {
  scaleRuns(x, o, y, p, 31, -0.5, 15);
  y.fill(0, p + 16, p + 48);
  for (let j = 0; j < 4; j++) {
    for (let l = 0; l < 32; l++) {
      const [a, b] = [L[64 * j + l], L[64 * j + 32 + l]];
      y[p + 48 + 32 * j + l] = (a & 15) | ((b & 15) << 4);
      y[p + 16 + l] |= ((a >> 4) << (2 * j)) | ((b >> 4) << (2 * j + 1));
    }
  }
};

/** The scale of 16 elements in -4 … 3 that fits best: each number in turn is moved as long as that helps. */
function scaleByMoving(x: Float32Array, o: number, keep: number): number {
  const max = largest(x, o, 16);
  if (abs(max) < TINY) {
    L.fill(0, keep, keep + 16);
    return 0;
  }
  const inverse = f(-4 / max);
  let [lx, l2] = [0, 0];
  for (let i = 0; i < 16; i++) {
    const v = x[o + i];
    const l = clamp(nearest(f(inverse * v)), -4, 3);
    L[keep + i] = l;
    const w = f(v * v);
    lx = f(lx + f(f(w * v) * l));
    l2 = f(l2 + f(f(w * l) * l));
  }
  for (let turn = 0; turn < 5; turn++) {
    let changed = 0;
    for (let i = 0; i < 16; i++) {
      const v = x[o + i];
      const w = f(v * v);
      const l = L[keep + i];
      let slx = f(lx - f(f(w * v) * l));
      if (!(slx > 0)) continue;
      let sl2 = f(l2 - f(f(w * l) * l));
      const other = clamp(nearest(f(f(v * sl2) / slx)), -4, 3);
      if (other === l) continue;
      slx = f(slx + f(f(w * v) * other));
      sl2 = f(sl2 + f(f(w * other) * other));
      if (sl2 > 0 && f(f(slx * slx) * l2) > f(f(lx * lx) * sl2)) {
        L[keep + i] = other;
        lx = slx;
        l2 = sl2;
        changed++;
      }
    }
    if (changed === 0) break;
  }
  for (let i = 0; i < 16; i++) L[keep + i] += 4;
  return l2 > 0 ? f(lx / l2) : 0;
}

const q3K: Encode = (x, o, y, p) => {
  let [most, scale] = [0, 0];
  for (let j = 0; j < 16; j++) {
    scales[j] = scaleByMoving(x, o + 16 * j, 16 * j);
    if (abs(scales[j]) > most) {
      most = abs(scales[j]);
      scale = scales[j];
    }
  }
  y.fill(0, p + 96, p + 108);
  let d = 0;
  if (scale !== 0) {
    const inverse = f(-32 / scale);
    for (let j = 0; j < 16; j++) {
      const l = clamp((nearest(f(inverse * scales[j])) << 24) >> 24, -32, 31) + 32;
      if (j < 8) y[p + 96 + j] = l & 15;
      else y[p + 88 + j] |= (l & 15) << 4;
      y[p + 104 + (j & 3)] |= (l >> 4) << (2 * (j >> 2));
    }
    d = putHalf(y, p + 108, f(1 / inverse));
  } else putHalf(y, p + 108, 0);
  for (let j = 0; j < 16; j++) {
    const four = j < 8 ? y[p + 96 + j] & 15 : y[p + 88 + j] >> 4;
    const its = f(d * ((four | (((y[p + 104 + (j & 3)] >> (2 * (j >> 2))) & 3) << 4)) - 32));
    if (its === 0) continue;
    for (let i = 16 * j; i < 16 * j + 16; i++) L[i] = clamp(nearest(f(x[o + i] / its)), -4, 3) + 4;
  }
  y.fill(0, p, p + 32);
  for (let j = 0; j < 256; j++) {
    if (L[j] > 3) {
      y[p + (j & 31)] |= 1 << (j >> 5);
      L[j] -= 4;
    }
  }
  packPairs(y, p + 32);
};

/** The scale of 16 elements in -32 … 31 that fits best with weights x², of 19 that are tried. */
function scaleByTrying(x: Float32Array, o: number, keep: number): number {
  const max = largest(x, o, 16);
  if (abs(max) < TINY) {
    L.fill(0, keep, keep + 16);
    return 0;
  }
  let [scale, best] = [0, 0];
  for (let turn = 0; turn < 19; turn++) {
    // The straight one first.
    const step = turn === 0 ? 0 : turn <= 9 ? turn - 10 : turn - 9;
    const inverse = turn === 0 ? f(-32 / max) : f(-f(32 + f(f(0.1) * step)) / max);
    let [lx, l2] = [0, 0];
    for (let i = 0; i < 16; i++) {
      const v = x[o + i];
      const l = clamp(nearest(f(inverse * v)), -32, 31);
      if (turn === 0) L[keep + i] = l + 32;
      const w = f(v * v);
      lx = f(lx + f(f(w * v) * l));
      l2 = f(l2 + f(f(w * l) * l));
    }
    if (turn === 0) {
      scale = l2 !== 0 ? f(lx / l2) : 0;
      best = f(scale * lx);
    } else if (l2 > 0 && f(lx * lx) > f(best * l2)) {
      for (let i = 0; i < 16; i++) L[keep + i] = 32 + clamp(nearest(f(inverse * x[o + i])), -32, 31);
      scale = f(lx / l2);
      best = f(scale * lx);
    }
  }
  return scale;
}

const q6K: Encode = (x, o, y, p) => {
  let [most, scale] = [0, 0];
  for (let j = 0; j < 16; j++) {
    scales[j] = scaleByTrying(x, o + 16 * j, 16 * j);
    if (abs(scales[j]) > most) {
      most = abs(scales[j]);
      scale = scales[j];
    }
  }
  if (most < TINY) {
    y.fill(0, p, p + 210);
    return;
  }
  const inverse = f(-128 / scale);
  const d = putHalf(y, p + 208, f(1 / inverse));
  for (let j = 0; j < 16; j++) {
    const s = (Math.min(127, nearest(f(inverse * scales[j]))) << 24) >> 24;
    y[p + 192 + j] = s;
    const its = f(d * s);
    if (its === 0) continue;
    for (let i = 16 * j; i < 16 * j + 16; i++) L[i] = clamp(nearest(f(x[o + i] / its)), -32, 31) + 32;
  }
  for (let half = 0; half < 2; half++) {
    for (let l = 0; l < 32; l++) {
      const j = 128 * half + l;
      const [a, b, c, e] = [L[j], L[j + 32], L[j + 64], L[j + 96]];
      y[p + 64 * half + l] = (a & 15) | ((c & 15) << 4);
      y[p + 64 * half + 32 + l] = (b & 15) | ((e & 15) << 4);
      y[p + 128 + 32 * half + l] = (a >> 4) | ((b >> 4) << 2) | ((c >> 4) << 4) | ((e >> 4) << 6);
    }
  }
};

const q8K: Encode = (x, o, y, p) => {
  const max = largest(x, o, 256);
  // The sums are left out of an empty block by the reference: here they are 0, as they should be.
  y.fill(0, p, p + 292);
  if (max === 0) return;
  const inverse = f(-127 / max);
  for (let j = 0; j < 256; j++) y[p + 4 + j] = Math.min(127, nearest(f(inverse * x[o + j])));
  for (let j = 0; j < 16; j++) {
    let sum = 0;
    for (let i = 0; i < 16; i++) sum += (y[p + 4 + 16 * j + i] << 24) >> 24;
    y[p + 260 + 2 * j] = sum;
    y[p + 261 + 2 * j] = sum >> 8;
  }
  floatOf[0] = 1 / inverse;
  putWord(y, p, bitsOf[0]);
};

/** One block of each type. */
export const encoders: Record<EncodedDType, Encode> = {
  q4_0: symmetric(8),
  q4_1: fromLeast(15),
  q5_0: symmetric(16),
  q5_1: fromLeast(31),
  q8_0: eight(false),
  q8_1: eight(true),
  q2_K: q2K,
  q3_K: q3K,
  q4_K: q4K,
  q5_K: q5K,
  q6_K: q6K,
  q8_K: q8K,
  iq4_nl: levels32,
  iq4_xs: levels256,
  tq1_0: ternary,
  tq2_0: ternaryPairs,
  mxfp4,
  nvfp4,
  q1_0: signs,
  q2_0: twoBits,
};
