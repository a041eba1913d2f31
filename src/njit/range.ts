/**
 * What is known of a number at one point of a function: an interval, whether it is whole, whether it may be NaN or -0.
 * `lo` and `hi` bound every value that is not NaN. What is whole lies within ±2^53, where f64 is exact.
 *
 * The laws here decide where integers replace doubles, so each must hold for every JavaScript number: -0, NaN, infinities
 * and rounding included.
 */
import type { OpName } from "../ir/ops.ts";

export interface Range {
  readonly lo: number;
  readonly hi: number;
  readonly whole: boolean;
  readonly nan: boolean;
  /** It may be -0. */
  readonly minusZero: boolean;
  /** Whole, or too large for that to mean something, or NaN: what floor gives. */
  readonly integral: boolean;
  /** It is below the product of these axes' sizes. */
  readonly below: Axes | undefined;
}

/** Some axes of one array that was passed: bit d is axis d. */
export interface Axes {
  readonly array: number;
  readonly axes: number;
}

const sameAxes = (a: Axes | undefined, b: Axes | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.array === b.array && a.axes === b.axes);

/** The axes of both, if they are of one array and none is in both; null: they are not. */
export const joinAxes = (a: Axes | null | undefined, b: Axes | null | undefined): Axes | null =>
  a && b && a.array === b.array && (a.axes & b.axes) === 0 ? { array: a.array, axes: a.axes | b.axes } : null;

const EXACT = 2 ** 53;
export const INT = { lo: -(2 ** 31), hi: 2 ** 31 - 1 } as const;
const UINT_HI = 2 ** 32 - 1;
/**
 * Sizes, and scalars that count as 32-bit integers, are smaller than that: so that n + 1, n - 1 and the like still are some.
 */
export const MOST_SIZE = 2 ** 31 - 2 ** 16;

/** Scalars up to this are compiled for by themselves: an index and one of them, or a few, is still a 32-bit integer. */
export const MOST_SMALL = 2 ** 14;

/** Any number at all. */
export const anything: Range = {
  lo: -Infinity,
  hi: Infinity,
  whole: false,
  nan: true,
  minusZero: true,
  integral: false,
  below: undefined,
};

/** Whole numbers from lo to hi, never -0. */
export const wholes = (lo: number, hi: number): Range => ({
  lo,
  hi,
  whole: true,
  nan: false,
  minusZero: false,
  integral: true,
  below: undefined,
});

export function rangeOf(value: number): Range {
  if (Number.isNaN(value)) return { ...anything, minusZero: false };
  const minusZero = Object.is(value, -0);
  return made(value + 0, value + 0, Number.isInteger(value), false, minusZero);
}

/** Whole only where f64 is exact, and -0 only where 0 is. */
function made(
  lo: number,
  hi: number,
  whole: boolean,
  nan: boolean,
  minusZero: boolean,
  integral = whole,
  below: Axes | undefined = undefined,
): Range {
  const low = Number.isNaN(lo) ? -Infinity : lo;
  const high = Number.isNaN(hi) ? Infinity : hi;
  return {
    lo: low,
    hi: high,
    whole: integral && low >= -EXACT && high <= EXACT,
    nan,
    minusZero: minusZero && low <= 0 && high >= 0,
    integral,
    below,
  };
}

export function joinRanges(a: Range, b: Range): Range {
  return {
    lo: Math.min(a.lo, b.lo),
    hi: Math.max(a.hi, b.hi),
    whole: a.whole && b.whole,
    nan: a.nan || b.nan,
    minusZero: a.minusZero || b.minusZero,
    integral: a.integral && b.integral,
    below: sameAxes(a.below, b.below) ? a.below : undefined,
  };
}

export const sameRange = (a: Range, b: Range): boolean =>
  a.lo === b.lo &&
  a.hi === b.hi &&
  a.whole === b.whole &&
  a.nan === b.nan &&
  a.minusZero === b.minusZero &&
  a.integral === b.integral &&
  sameAxes(a.below, b.below);

/** Bounds that a growing interval jumps to, so that loops come to an end. */
const steps = [-Infinity, -EXACT, INT.lo, -1, 0, MOST_SIZE, INT.hi, UINT_HI, EXACT, Infinity];

/** `next` or more: what grows grows to the next step. */
export function widen(before: Range, next: Range): Range {
  const joined = joinRanges(before, next);
  const lo = joined.lo < before.lo ? steps.findLast((s) => s <= joined.lo)! : before.lo;
  const hi = joined.hi > before.hi ? steps.find((s) => s >= joined.hi)! : before.hi;
  return made(lo, hi, joined.whole, joined.nan, joined.minusZero, joined.integral, joined.below);
}

/** Does a 32-bit integer hold it, sign and all? */
export const isInt = (r: Range): boolean =>
  r.whole && !r.nan && !r.minusZero && r.lo >= INT.lo && r.hi <= INT.hi;

export const isUint = (r: Range): boolean =>
  r.whole && !r.nan && !r.minusZero && r.lo >= 0 && r.hi <= UINT_HI;

/**
 * Does a 64-bit integer hold it, sign and all? Only below 2^53, where a bound that was rounded to it cannot be: so what is
 * larger than doubles tell apart is none.
 */
export const isLong = (r: Range): boolean =>
  r.whole && !r.nan && !r.minusZero && r.lo > -EXACT && r.hi < EXACT;

const isBounded = (r: Range): boolean => r.lo > -Infinity && r.hi < Infinity;
const hasZero = (r: Range): boolean => r.lo <= 0 && r.hi >= 0;
const mayBeInfinite = (r: Range): boolean => !isBounded(r);

/* Operations --------------------------------------------------------------------------------------------- */

type Law = (a: Range, b: Range, c: Range) => Range;

const add: Law = (a, b) => {
  const nan = a.nan || b.nan || (mayBeInfinite(a) && mayBeInfinite(b));
  return made(a.lo + b.lo, a.hi + b.hi, a.whole && b.whole, nan, a.minusZero && b.minusZero);
};

const negated = (r: Range): Range => ({
  lo: -r.hi + 0,
  hi: -r.lo + 0,
  whole: r.whole,
  nan: r.nan,
  minusZero: hasZero(r),
  integral: r.integral,
  below: undefined,
});

/** a - b is -0 only for -0 - 0. */
const sub: Law = (a, b) => ({ ...add(a, negated(b), b), minusZero: a.minusZero && hasZero(b) });

const mul: Law = (a, b) => {
  const ends = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi].map((x) => (Number.isNaN(x) ? 0 : x));
  const nan = a.nan || b.nan || (hasZero(a) && mayBeInfinite(b)) || (hasZero(b) && mayBeInfinite(a));
  const negative = (r: Range) => r.lo < 0 || r.minusZero;
  // A product that rounds to 0 can be -0 too; whole ones do not round to 0.
  const vanishes = !(a.whole && b.whole);
  const zero = hasZero(a) || hasZero(b) || vanishes;
  const minusZero = zero && (negative(a) || negative(b));
  return made(Math.min(...ends) + 0, Math.max(...ends) + 0, a.whole && b.whole, nan, minusZero);
};

const div: Law = (a, b) => {
  const nan = a.nan || b.nan || (hasZero(a) && hasZero(b)) || (mayBeInfinite(a) && mayBeInfinite(b));
  const minusZero = a.lo < 0 || b.lo < 0 || a.minusZero || b.minusZero;
  if (b.lo <= 0) return { ...anything, nan, minusZero };
  const ends = [a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi].map((x) => (Number.isNaN(x) ? 0 : x));
  return made(Math.min(...ends, ...(hasZero(a) ? [0] : [])), Math.max(...ends), false, nan, minusZero);
};

/** The sign of the dividend, smaller than the divisor. */
const rem: Law = (a, b) => {
  const nan = a.nan || b.nan || hasZero(b) || mayBeInfinite(a);
  const most = Math.max(Math.abs(b.lo), Math.abs(b.hi));
  const bound = a.whole && b.whole ? Math.max(0, most - 1) : most;
  const lo = a.lo >= 0 ? 0 : Math.max(a.lo, -bound);
  const hi = a.hi <= 0 ? 0 : Math.min(a.hi, bound);
  return made(lo, hi, a.whole && b.whole, nan, a.lo < 0 || a.minusZero);
};

const rounding =
  (round: (x: number) => number): Law =>
  (a) =>
    made(round(a.lo) + 0, round(a.hi) + 0, isBounded(a), a.nan, a.minusZero, true);
/** As `rounding`; what lies between -1 and 0 becomes -0. */
const towardsZero =
  (round: (x: number) => number): Law =>
  (a, b, c) => ({ ...rounding(round)(a, b, c), minusZero: a.minusZero || (!a.whole && a.lo < 0) });

const abs: Law = (a) => {
  const lo = hasZero(a) ? 0 : Math.min(Math.abs(a.lo), Math.abs(a.hi));
  return made(lo, Math.max(Math.abs(a.lo), Math.abs(a.hi)), a.whole, a.nan, false);
};

const extreme =
  (pick: (a: number, b: number) => number): Law =>
  (a, b) =>
    made(
      pick(a.lo, b.lo),
      pick(a.hi, b.hi),
      a.whole && b.whole,
      a.nan || b.nan,
      a.minusZero || b.minusZero,
      a.integral && b.integral,
    );

const int32 = wholes(INT.lo, INT.hi);

const bitAnd: Law = (a, b) => {
  // A mask without a sign keeps the result below it.
  const masks = [a, b].filter((r) => isInt(r) && r.lo >= 0).map((r) => r.hi);
  return masks.length === 0 ? int32 : wholes(0, Math.min(...masks));
};

const nextMask = (x: number): number => 2 ** (32 - Math.clz32(x)) - 1;
const bitOr: Law = (a, b) => {
  if (!isInt(a) || !isInt(b) || a.lo < 0 || b.lo < 0) return int32;
  return wholes(0, nextMask(Math.max(a.hi, b.hi)));
};

/** The one number it can be. */
const single = (r: Range): number | null => (r.lo === r.hi && r.whole && !r.nan ? r.lo : null);

const shl: Law = (a, b) => {
  const count = single(b);
  if (count === null || !isInt(a)) return int32;
  const [lo, hi] = [a.lo * 2 ** (count & 31), a.hi * 2 ** (count & 31)];
  return lo >= INT.lo && hi <= INT.hi ? wholes(lo, hi) : int32;
};

const shr: Law = (a, b) => {
  if (!isInt(a)) return int32;
  const count = single(b);
  if (count !== null) return wholes(a.lo >> (count & 31), a.hi >> (count & 31));
  return wholes(Math.min(a.lo, 0), Math.max(a.hi, 0));
};

const shru: Law = (a, b) => {
  const count = single(b);
  const most = isInt(a) && a.lo >= 0 ? a.hi : UINT_HI;
  return wholes(0, count === null ? most : Math.floor(most / 2 ** (count & 31)));
};

/** What each operation makes of what is known; what is not here may be anything. */
const laws: Partial<Record<OpName, Law>> = {
  add,
  sub,
  mul,
  div,
  rem,
  neg: (a) => negated(a),
  abs,
  min: extreme(Math.min),
  max: extreme(Math.max),
  floor: rounding(Math.floor),
  ceil: towardsZero(Math.ceil),
  trunc: towardsZero(Math.trunc),
  round: towardsZero(Math.round),
  sign: (a) => made(Math.max(-1, Math.sign(a.lo)), Math.min(1, Math.sign(a.hi)), true, a.nan, a.minusZero),
  sqrt: (a) =>
    made(Math.sqrt(Math.max(0, a.lo)), Math.sqrt(Math.max(0, a.hi)), false, a.nan || a.lo < 0, a.minusZero),
  bitAnd,
  bitOr,
  bitXor: bitOr,
  bitNot: (a) => (isInt(a) ? wholes(~a.hi, ~a.lo) : int32),
  shl,
  shr,
  shru,
  imul: (a, b) => {
    const product = mul(a, b, b);
    return isInt(a) && isInt(b) && isInt({ ...product, minusZero: false })
      ? wholes(product.lo, product.hi)
      : int32;
  },
  clz32: () => wholes(0, 32),
  toInt32: (a) => (isInt(a) ? a : int32),
};

export function applyLaw(op: OpName, args: readonly Range[]): Range {
  const [a, b = anything, c = anything] = args;
  return laws[op]?.(a, b, c) ?? anything;
}

/* What a test proves ------------------------------------------------------------------------------------- */

export type Comparison = "lt" | "le" | "gt" | "ge" | "eq" | "ne";

/** x where `x op y` holds; null: it never does. A comparison that holds proves that neither is NaN. */
export function narrowed(x: Range, op: Comparison, y: Range): Range | null {
  // A whole number below another is below it by one.
  const step = x.whole && y.whole ? 1 : 0;
  switch (op) {
    case "lt":
      return within(x, -Infinity, y.hi - step);
    case "le":
      return within(x, -Infinity, y.hi);
    case "gt":
      return within(x, y.lo + step, Infinity);
    case "ge":
      return within(x, y.lo, Infinity);
    case "eq": {
      const same = within(x, y.lo, y.hi);
      if (same === null) return null;
      const whole = same.whole || (y.whole && isBounded(same));
      return { ...same, whole, integral: whole || same.integral };
    }
    default: {
      const other = single(y);
      if (other === null || !x.whole) return x;
      if (x.lo === other && x.hi === other) return x.nan ? x : null;
      if (x.lo === other) return made(x.lo + 1, x.hi, true, x.nan, x.minusZero);
      return x.hi === other ? made(x.lo, x.hi - 1, true, x.nan, x.minusZero) : x;
    }
  }
}

function within(x: Range, lo: number, hi: number): Range | null {
  const [low, high] = [Math.max(x.lo, lo), Math.min(x.hi, hi)];
  // What became narrower is below what it was below.
  return low > high ? null : made(low, high, x.whole, false, x.minusZero, x.integral, x.below);
}

/** The same number, which is whole, at most so large. */
export const atMost = (x: Range, most: number): Range =>
  made(x.lo, Math.min(x.hi, most), true, false, x.minusZero);

const opposites: Record<Comparison, Comparison> = {
  lt: "ge",
  le: "gt",
  gt: "le",
  ge: "lt",
  eq: "ne",
  ne: "eq",
};

/** x where `x op y` does not hold: the opposite holds, or one of them is NaN. */
export function narrowedNot(x: Range, op: Comparison, y: Range): Range | null {
  const opposite = narrowed(x, opposites[op], y);
  if (op === "eq" || op === "ne") return opposite;
  if (!x.nan && !y.nan) return opposite;
  return x;
}

/** x where x·x is at most `most`: no further from 0 than its root. */
export function withRoot(x: Range, most: number): Range {
  if (!(most >= 0 && most < EXACT)) return x;
  let root = Math.sqrt(most);
  // Whole numbers stop at the whole one below; a root that was rounded up to one is one too many.
  if (x.whole) {
    root = Math.floor(root);
    if (root * root > most) root--;
  } else root = Math.ceil(root);
  return within(x, -root, root) ?? x;
}

/** What a sum that begins within `start` can become, if so many summands within these are added. */
export function summed(
  start: Range,
  summands: readonly { readonly of: Range; readonly times: number }[],
): Range | null {
  if (!start.whole || start.nan || !summands.every(({ of }) => of.whole && !of.nan)) return null;
  const lo = summands.reduce((s, { of, times }) => s + times * Math.min(0, of.lo), start.lo);
  const hi = summands.reduce((s, { of, times }) => s + times * Math.max(0, of.hi), start.hi);
  const all = made(lo, hi, true, false, start.minusZero);
  return all.whole ? all : null;
}

/** What lies in both: it is known to. */
export function clamped(x: Range, by: Range): Range {
  const [lo, hi] = [Math.max(x.lo, by.lo), Math.min(x.hi, by.hi)];
  return lo > hi ? by : made(lo, hi, true, false, x.minusZero && by.minusZero);
}

/** An index that was in range: whole, from 0, below the largest size. */
export function asIndex(x: Range): Range {
  const lo = Math.max(0, x.lo);
  const hi = Math.min(MOST_SIZE - 1, x.hi);
  return lo > hi ? wholes(0, MOST_SIZE - 1) : made(lo, hi, true, false, x.minusZero, true, x.below);
}
