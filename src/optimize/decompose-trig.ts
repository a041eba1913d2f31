/**
 * Trigonometric functions. x = n·π/2 + r with |r| <= π/4 by Cody and Waite's reduction; beyond its reach, where few
 * arguments are, a scalar function reduces exactly. Coefficients: tests/accuracy/coefficients.py.
 */
import type { Id } from "../ir/node.ts";
import type { Calc, Formula } from "./decompose-kit.ts";

/**
 * π/2 in parts so short that their products with n are exact (the last is the rest), and the |x| up to which they are.
 */
const turns = {
  f32: { parts: [1.5703125, 0.0004837512969970703, 7.549533620476723e-8, 2.5633440682570896e-12], far: 6400 },
  f64: {
    parts: [1.5707963267341256, 6.077094383272197e-11, 6.12323399538461e-17, 3.5215598651832e-27],
    far: 1.6e6,
  },
};
/** π/2 for f32 arguments in f64 lanes. */
const HALF_PI_SHORT = [1.5707963267341256, 6.077100506506192e-11];

/** sin r = r + r³·P(r²), cos r = 1 - r²/2 + r⁴·P(r²), |r| <= π/4. */
const SIN_F32 = [-0.16666655242443085, 0.008332188241183758, -0.0001951809535967186];
const COS_F32 = [0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-5];
const SIN_F64 = [
  -0.1666666666666663, 0.00833333333332184, -0.00019841269829358544, 2.7557313538524458e-6,
  -2.505073439137552e-8, 1.5895433432955321e-10,
];
const COS_F64 = [
  0.041666666666666595, -0.0013888888888873325, 2.480158728898366e-5, -2.7557314210063735e-7,
  2.087570426870863e-9, -1.1358683178278708e-11,
];
const SIN_SHORT = [-0.1666666664069283, 0.008333329292685267, -0.00019839308337030884, 2.7180839531923057e-6];
const COS_SHORT = [0.04166666661929981, -0.0013888883483677127, 2.479945585041091e-5, -2.7205399920240245e-7];
/** atan t = t + t³·P(t²) for |t| <= 1/2. */
const ATAN_F64 = [
  -0.33333333333333315, 0.19999999999993773, -0.14285714284999335, 0.1111111107011486, -0.09090907707844731,
  0.07692277690530369, -0.06666225646400066, 0.058778213296532204, -0.05230079950627876, 0.04589668269185403,
  -0.03712351997708429, 0.02366120575021387, -0.008369293296779283,
];
const ATAN_SHORT = [
  -0.33333332926730364, 0.19999957643837687, -0.14284213257795894, 0.11085643464023215, -0.08855699626152973,
  0.06455274436909077, -0.029922956951640156,
];
/** asin t = t + t³·P(t²) for |t| <= 1/2. */
const ASIN_F64 = [
  0.1666666666666676, 0.07499999999970865, 0.04464285717456364, 0.030381942709685163, 0.022372214942038168,
  0.017351612728887165, 0.013980812920514365, 0.011398968520670872, 0.010779965023865192,
  0.003707408857433017, 0.02170519118846538, -0.020996083738496055, 0.032626875927176016,
];
const ASIN_SHORT = [
  0.16666667180249953, 0.07499948896465777, 0.04465997260064295, 0.0301125195617514, 0.02460474840400633,
  0.007509364446789475, 0.0346464546880568,
];

export interface Quarter {
  /** Bits whose low end is n. */
  readonly quadrant: Id;
  /** What is left of x, within one rounding even where it is tiny; and, on f64, that rounding. */
  readonly r: Id;
  readonly lost: Id | null;
}

function quarterTurns(k: Calc, x: Id): Quarter {
  const { tagged, whole } = k.nearestMultiple(x, 2 / Math.PI);
  const quadrant = k.bits(tagged);
  if (k.short) return { quadrant, r: k.reduce(x, whole, HALF_PI_SHORT), lost: null };
  const [p0, p1, p2, p3] = turns[k.dtype].parts;
  const rough = k.reduce(x, whole, [p0, p1]); // exact
  // The two last parts become one number, high + low, so that r is rounded once
  const third = k.mul(whole, k.c(p2));
  const high = k.madd(whole, k.c(p3), third);
  const low = k.madd(whole, k.c(p3), k.sub(third, high));
  const r = k.sub(k.sub(rough, high), low);
  if (k.dtype === "f32") return { quadrant, r, lost: null };
  return { quadrant, r, lost: k.sub(k.sub(k.sub(rough, r), high), low) };
}

/** sin r - r, plus what r lost. */
function sinTail(k: Calc, r: Id, square: Id, lost: Id): Id {
  return k.madd(k.mul(r, square), k.poly(square, SIN_F64), lost);
}

function sinReduced(k: Calc, r: Id, square: Id, lost: Id | null): Id {
  if (lost !== null) return k.add(r, sinTail(k, r, square, lost));
  return k.madd(k.mul(r, square), k.poly(square, k.dtype === "f32" ? SIN_F32 : SIN_SHORT), r);
}

/** cos r = top + rest: 1 - r²/2 is rounded, and what it lost is in the rest. */
function cosParts(k: Calc, square: Id): { top: Id; rest: Id } {
  const half = k.mul(square, k.c(0.5));
  const top = k.sub(k.c(1), half);
  const lost = k.sub(k.sub(k.c(1), top), half);
  return { top, rest: k.madd(k.mul(square, square), k.poly(square, COS_F64), lost) };
}

function cosReduced(k: Calc, square: Id): Id {
  if (k.dtype === "f32" || k.short) {
    return k.poly(square, [1, -0.5, ...(k.short ? COS_SHORT : COS_F32)]);
  }
  const { top, rest } = cosParts(k, square);
  return k.add(top, rest);
}

function isOdd(k: Calc, quadrant: Id): Id {
  return k.ne(k.bitAnd(quadrant, k.i(1)), k.i(0));
}

/** The sine where the quadrant is even, the cosine where it is odd. */
function wave(k: Calc, { r, lost }: Quarter, quadrant: Id): Id {
  const square = k.mul(r, r);
  return k.select(isOdd(k, quadrant), cosReduced(k, square), sinReduced(k, r, square, lost));
}

/** Bit 1 of the quadrant, moved to the sign. */
function halfTurn(k: Calc, quadrant: Id): Id {
  return k.shl(quadrant, k.int === "i32" ? 30 : 62);
}

/** sin, cos and tan of n quarter turns and r; `sign` (bits, or null) turns the result's sign where it has its bit. */
export const ofQuarter = {
  sin: (k: Calc, quarter: Quarter, sign: Id | null): Id => {
    const { quadrant } = quarter;
    const turned = halfTurn(k, quadrant);
    const both = sign === null ? turned : k.bitXor(turned, sign);
    return k.flip(wave(k, quarter, quadrant), k.bitAnd(both, k.signMask));
  },
  cos: (k: Calc, quarter: Quarter, _sign: Id | null): Id => {
    const next = k.add(quarter.quadrant, k.i(1));
    return k.flip(wave(k, quarter, next), k.bitAnd(halfTurn(k, next), k.signMask));
  },
  /** sin/cos, or -cos/sin in odd quadrants. */
  tan: (k: Calc, { quadrant, r, lost }: Quarter, sign: Id | null): Id => {
    const square = k.mul(r, r);
    const odd = isOdd(k, quadrant);
    const pick = (ifOdd: Id, ifEven: Id) => k.select(odd, ifOdd, ifEven);
    let quotient: Id;
    if (lost === null) {
      const [s, c] = [sinReduced(k, r, square, null), cosReduced(k, square)];
      quotient = k.div(pick(k.neg(c), s), pick(s, c));
    } else {
      const s = sumParts(k, r, sinTail(k, r, square, lost));
      const cosine = cosParts(k, square);
      const c = sumParts(k, cosine.top, k.sub(cosine.rest, k.mul(r, lost)));
      const numerator = { high: pick(k.neg(c.high), s.high), low: pick(k.neg(c.low), s.low) };
      const denominator = { high: pick(s.high, c.high), low: pick(s.low, c.low) };
      quotient = quotientOfSums(k, numerator, denominator);
    }
    return sign === null ? quotient : k.flip(quotient, k.bitAnd(sign, k.signMask));
  },
};

/** The function `name` of any angle. */
function angle(name: keyof typeof ofQuarter): Formula {
  return (k, x) => {
    const size = k.abs(x);
    const fast = ofQuarter[name](k, quarterTurns(k, size), k.bits(x));
    return k.b.rare(fast, k.gt(size, k.c(turns[k.dtype].far)), name, x);
  };
}
export const sin = angle("sin");
export const cos = angle("cos");
export const tan = angle("tan");

interface Sum {
  readonly high: Id;
  readonly low: Id;
}

/** a + b, |a| >= |b|, as what a float holds of it and the rest. */
function sumParts(k: Calc, a: Id, b: Id): Sum {
  const high = k.add(a, b);
  return { high, low: k.sub(b, k.sub(high, a)) };
}

/** n/d with hardly more than one rounding: cut to half its bits the quotient leaves an exact remainder. */
function quotientOfSums(k: Calc, n: Sum, d: Sum): Id {
  const inverse = k.div(k.c(1), d.high);
  const coarse = k.truncated(k.mul(n.high, inverse));
  const top = k.truncated(d.high);
  const rest = k.add(k.sub(d.high, top), d.low);
  const remainder = k.sub(k.add(k.sub(n.high, k.mul(coarse, top)), n.low), k.mul(coarse, rest));
  return k.madd(remainder, inverse, coarse);
}

const PI = [Math.PI, 1.2246467991473532e-16];
const eighths = (n: number): readonly [number, number] => [(PI[0] * n) / 8, (PI[1] * n) / 8];
const QUARTER_PI = eighths(2);
const HALF_PI = eighths(4);
const THREE_QUARTER_PI = [2.356194490192345, 9.184850993605148e-17] as const;

/** t³·P(t²), the bend of the arcus tangent. */
function atanTail(k: Calc, t: Id): Id {
  const square = k.mul(t, t);
  return k.mul(k.mul(t, square), k.poly(square, k.short ? ATAN_SHORT : ATAN_F64));
}

/** Below 1/2, up to 2 (where v-1 is exact), beyond: atan v = base + atan t, t = v, (v-1)/(v+1) or -1/v. */
const LOW_STEP = 0.5;
const HIGH_STEP = 2;

export function atan(k: Calc, x: Id): Id {
  const size = k.abs(x);
  const one = k.c(1);
  const high = k.gt(size, k.c(HIGH_STEP));
  const low = k.lt(size, k.c(LOW_STEP));
  const top = k.select(high, k.c(-1), k.select(low, size, k.sub(size, one)));
  const bottom = k.select(high, size, k.select(low, one, k.add(size, one)));
  const t = k.div(top, bottom);
  const pick = (part: 0 | 1) =>
    k.select(high, k.c(HALF_PI[part]), k.select(low, k.c(0), k.c(QUARTER_PI[part])));
  const y = k.add(pick(0), k.add(t, k.add(atanTail(k, t), pick(1))));
  return k.flip(y, k.signBits(x));
}

/** The angle of (|x|, |y|) by the same steps; then the half plane of x, then the sign of y. */
export function atan2(k: Calc, y: Id, x: Id): Id {
  const zero = k.c(0);
  let height = k.abs(y);
  let width = k.abs(x);
  const longest = k.b.op("max", height, width); // NaN if either is
  if (!k.short) {
    // height + width must not overflow, nor half of a side vanish
    const up = k.select(k.lt(longest, k.c(2 ** -900)), k.c(2 ** 100), k.c(1));
    const scale = k.select(k.gt(longest, k.c(2 ** 1000)), k.c(0.25), up);
    height = k.mul(height, scale);
    width = k.mul(width, scale);
  }
  const high = k.gt(height, k.mul(width, k.c(HIGH_STEP)));
  const low = k.lt(height, k.mul(width, k.c(LOW_STEP)));
  const equal = k.eq(height, width); // inf - inf is not wanted
  const difference = k.select(equal, zero, k.sub(height, width));
  const top = k.select(high, k.neg(width), k.select(low, height, difference));
  const bottom = k.select(high, height, k.select(low, width, k.add(height, width)));
  const nothing = k.eq(longest, zero);
  const t = k.select(nothing, zero, k.div(top, bottom));
  const left = k.lt(k.bits(x), k.i(0));
  const turn = k.select(left, k.signMask, k.i(0));
  const flat = k.or(low, nothing);
  const pick = (part: 0 | 1) => {
    const onRight = k.select(high, k.c(HALF_PI[part]), k.select(flat, zero, k.c(QUARTER_PI[part])));
    const onLeft = k.select(
      high,
      k.c(HALF_PI[part]),
      k.select(flat, k.c(PI[part]), k.c(THREE_QUARTER_PI[part])),
    );
    return k.select(left, onLeft, onRight);
  };
  const tail = k.flip(atanTail(k, t), turn);
  const angle = k.add(pick(0), k.add(k.flip(t, turn), k.add(tail, pick(1))));
  return k.flip(angle, k.signBits(y));
}

interface Arc {
  readonly size: Id;
  /** |x| > 1/2: there asin |x| = π/2 - 2·asin s, s = sqrt((1 - |x|)/2). */
  readonly big: Id;
  /** The argument of the polynomial, and what rounding it lost; asin s = s + (lost + bend). */
  readonly s: Id;
  readonly lost: Id | null;
  readonly bend: Id;
}

function arc(k: Calc, x: Id): Arc {
  const size = k.abs(x);
  const big = k.gt(size, k.c(0.5));
  const square = k.select(big, k.mul(k.sub(k.c(1), size), k.c(0.5)), k.mul(x, x));
  const root = k.sqrt(square);
  const whole = k.select(big, root, size);
  const bend = k.mul(k.mul(whole, square), k.poly(square, k.short ? ASIN_SHORT : ASIN_F64));
  if (k.short) return { size, big, s: whole, lost: null, bend };
  const cut = k.truncated(root);
  const lost = k.div(k.sub(square, k.mul(cut, cut)), k.add(root, cut));
  const zero = k.c(0);
  // Where the root is 0 (x = 1), 0/0
  const some = k.and(big, k.lt(size, k.c(1)));
  return { size, big, s: k.select(big, cut, size), lost: k.select(some, lost, zero), bend };
}

export function asin(k: Calc, x: Id): Id {
  const { size, big, s, lost, bend } = arc(k, x);
  const rest = lost === null ? bend : k.add(bend, lost);
  const twice = k.add(s, s);
  const far = k.add(k.sub(k.c(HALF_PI[0]), twice), k.sub(k.c(HALF_PI[1]), k.add(rest, rest)));
  const y = k.select(big, far, k.add(s, rest));
  return k.flip(domain(k, size, y), k.signBits(x));
}

export function acos(k: Calc, x: Id): Id {
  const { size, big, s, lost, bend } = arc(k, x);
  const rest = lost === null ? bend : k.add(bend, lost);
  const right = k.add(k.add(s, rest), k.add(s, rest));
  const twice = k.add(s, s);
  const left = k.add(k.sub(k.c(PI[0]), twice), k.sub(k.c(PI[1]), k.add(rest, rest)));
  const signed = k.flip(bend, k.signBits(x));
  const middle = k.sub(k.c(HALF_PI[0]), k.sub(x, k.sub(k.c(HALF_PI[1]), signed)));
  return domain(k, size, k.select(big, k.select(k.lt(x, k.c(0)), left, right), middle));
}

/** NaN beyond 1. */
function domain(k: Calc, size: Id, y: Id): Id {
  return k.select(k.gt(size, k.c(1)), k.nan(), y);
}
