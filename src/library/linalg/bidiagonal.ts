/**
 * Singular values of an upper bidiagonal matrix (diagonals d and e) by implicit QR sweeps. Shifts make it fast; where a
 * shift would cost the small values their digits, none is used (after Demmel and Kahan). Sweeps run towards the end
 * where the small values are.
 */
import { failConvergence, length } from "./eigh.ts";
import type { Rotations } from "./rotations.ts";

/** Who is turned along: rows of Uᵀ and rows of Vᵀ. */
export interface Turning {
  readonly left: Rotations;
  readonly right: Rotations;
}

/** Sweeps are counted in elements they pass: this many times n². */
const MOST_PASSES = 12;

/** d becomes the singular values, with signs and in no order; e vanishes. */
export function diagonalize(
  operation: string,
  d: Float64Array,
  e: Float64Array,
  epsilon: number,
  turn: Turning | null,
): void {
  const n = d.length;
  const tolerance = 10 * epsilon;
  const threshold = smallest(d, e, tolerance);
  let budget = MOST_PASSES * n * n + 1000;
  let last = n - 1;
  let known: { first: number; last: number; down: boolean } | null = null;
  while (last > 0) {
    if (Math.abs(d[last]) <= threshold) d[last] = 0;
    let first = last;
    while (first > 0) {
      if (Math.abs(e[first - 1]) <= threshold) {
        e[first - 1] = 0;
        break;
      }
      first--;
      if (Math.abs(d[first]) <= threshold) d[first] = 0;
    }
    if (first === last) {
      last--;
      continue;
    }
    if (known === null || first > known.last || last < known.first) {
      known = { first, last, down: Math.abs(d[first]) >= Math.abs(d[last]) };
    }
    const down: boolean = known.down;
    known = { first, last, down };
    const least = negligible(d, e, first, last, down, tolerance);
    if (least === null) continue;
    budget -= last - first;
    if (budget < 0) failConvergence(operation, "singular value", last);
    const shift = shiftOf(d, e, first, last, down, least, tolerance, epsilon);
    if (shift === 0) (down ? zeroDown : zeroUp)(d, e, first, last, turn);
    else (down ? shiftedDown : shiftedUp)(d, e, first, last, shift, turn);
    const end = down ? last - 1 : first;
    if (Math.abs(e[end]) <= threshold) e[end] = 0;
  }
}

/** What counts as zero: a little of (a lower bound of) the smallest singular value. */
function smallest(d: Float64Array, e: Float64Array, tolerance: number): number {
  const n = d.length;
  let mu = Math.abs(d[0]);
  let least = mu;
  for (let i = 1; i < n && least !== 0; i++) {
    mu = Math.abs(d[i]) * (mu / (mu + Math.abs(e[i - 1])));
    least = Math.min(least, mu);
  }
  return Math.max((tolerance * least) / Math.sqrt(n), n * n * 2 ** -1000);
}

/** Sets an element of e to 0 that does not matter, and gives null; else a lower bound of the block's smallest value. */
function negligible(
  d: Float64Array,
  e: Float64Array,
  first: number,
  last: number,
  down: boolean,
  tolerance: number,
): number | null {
  const end = down ? last - 1 : first;
  if (Math.abs(e[end]) <= tolerance * Math.abs(d[down ? last : first])) {
    e[end] = 0;
    return null;
  }
  let mu = Math.abs(d[down ? first : last]);
  let least = mu;
  for (let k = 0; k < last - first; k++) {
    const i = down ? first + k : last - 1 - k;
    if (Math.abs(e[i]) <= tolerance * mu) {
      e[i] = 0;
      return null;
    }
    mu = Math.abs(d[down ? i + 1 : i]) * (mu / (mu + Math.abs(e[i])));
    least = Math.min(least, mu);
  }
  return least;
}

function shiftOf(
  d: Float64Array,
  e: Float64Array,
  first: number,
  last: number,
  down: boolean,
  least: number,
  tolerance: number,
  epsilon: number,
): number {
  let largest = 0;
  for (let i = first; i <= last; i++) largest = Math.max(largest, Math.abs(d[i]));
  for (let i = first; i < last; i++) largest = Math.max(largest, Math.abs(e[i]));
  const n = last - first + 1;
  if (n * tolerance * (least / largest) <= Math.max(epsilon, 0.01 * tolerance)) return 0;
  const start = Math.abs(d[down ? first : last]);
  const shift = down
    ? smallerValue(d[last - 1], e[last - 1], d[last])
    : smallerValue(d[first], e[first], d[first + 1]);
  return start > 0 && (shift / start) ** 2 < epsilon ? 0 : shift;
}

/** The smaller singular value of [[f, g], [0, h]]. */
function smallerValue(f: number, g: number, h: number): number {
  const [fa, ga, ha] = [Math.abs(f), Math.abs(g), Math.abs(h)];
  const small = Math.min(fa, ha);
  const large = Math.max(fa, ha);
  if (small === 0) return 0;
  if (ga < large) {
    const s = 1 + small / large;
    const t = (large - small) / large;
    const u = (ga / large) ** 2;
    return small * (2 / (Math.sqrt(s * s + u) + Math.sqrt(t * t + u)));
  }
  const u = large / ga;
  if (u === 0) return (small * large) / ga;
  const s = (1 + small / large) * u;
  const t = ((large - small) / large) * u;
  return 2 * (small * (1 / (Math.sqrt(1 + s * s) + Math.sqrt(1 + t * t)))) * u;
}

/* The last rotation: c·f + s·g = r and c·g = s·f. */
let c = 1;
let s = 0;
function rotation(f: number, g: number): number {
  if (g === 0) {
    c = 1;
    s = 0;
    return f;
  }
  if (f === 0) {
    c = 0;
    s = 1;
    return g;
  }
  const r = length(f, g);
  c = f / r;
  s = g / r;
  return r;
}

function zeroDown(d: Float64Array, e: Float64Array, first: number, last: number, turn: Turning | null): void {
  let cs = 1;
  let oldC = 1;
  let oldS = 0;
  for (let i = first; i < last; i++) {
    const r = rotation(d[i] * cs, e[i]);
    cs = c;
    const sn = s;
    turn?.right.add(i, i + 1, c, s);
    if (i > first) e[i - 1] = oldS * r;
    d[i] = rotation(oldC * r, d[i + 1] * sn);
    oldC = c;
    oldS = s;
    turn?.left.add(i, i + 1, c, s);
  }
  const h = d[last] * cs;
  d[last] = h * oldC;
  e[last - 1] = h * oldS;
}

function zeroUp(d: Float64Array, e: Float64Array, first: number, last: number, turn: Turning | null): void {
  let cs = 1;
  let oldC = 1;
  let oldS = 0;
  for (let i = last; i > first; i--) {
    const r = rotation(d[i] * cs, e[i - 1]);
    cs = c;
    const sn = s;
    turn?.left.add(i - 1, i, c, -s);
    if (i < last) e[i] = oldS * r;
    d[i] = rotation(oldC * r, d[i - 1] * sn);
    oldC = c;
    oldS = s;
    turn?.right.add(i - 1, i, c, -s);
  }
  const h = d[first] * cs;
  d[first] = h * oldC;
  e[first] = h * oldS;
}

const startOf = (x: number, shift: number) =>
  (Math.abs(x) - shift) * ((x < 0 || Object.is(x, -0) ? -1 : 1) + shift / x);

function shiftedDown(
  d: Float64Array,
  e: Float64Array,
  first: number,
  last: number,
  shift: number,
  turn: Turning | null,
): void {
  let f = startOf(d[first], shift);
  let g = e[first];
  for (let i = first; i < last; i++) {
    const r = rotation(f, g);
    if (i > first) e[i - 1] = r;
    f = c * d[i] + s * e[i];
    e[i] = c * e[i] - s * d[i];
    g = s * d[i + 1];
    d[i + 1] *= c;
    turn?.right.add(i, i + 1, c, s);
    d[i] = rotation(f, g);
    f = c * e[i] + s * d[i + 1];
    d[i + 1] = c * d[i + 1] - s * e[i];
    if (i < last - 1) {
      g = s * e[i + 1];
      e[i + 1] *= c;
    }
    turn?.left.add(i, i + 1, c, s);
  }
  e[last - 1] = f;
}

function shiftedUp(
  d: Float64Array,
  e: Float64Array,
  first: number,
  last: number,
  shift: number,
  turn: Turning | null,
): void {
  let f = startOf(d[last], shift);
  let g = e[last - 1];
  for (let i = last; i > first; i--) {
    const r = rotation(f, g);
    if (i < last) e[i] = r;
    f = c * d[i] + s * e[i - 1];
    e[i - 1] = c * e[i - 1] - s * d[i];
    g = s * d[i - 1];
    d[i - 1] *= c;
    turn?.left.add(i - 1, i, c, -s);
    d[i] = rotation(f, g);
    f = c * e[i - 1] + s * d[i - 1];
    d[i - 1] = c * d[i - 1] - s * e[i - 1];
    if (i > first + 1) {
      g = s * e[i - 2];
      e[i - 2] *= c;
    }
    turn?.right.add(i - 1, i, c, -s);
  }
  e[first] = f;
}
