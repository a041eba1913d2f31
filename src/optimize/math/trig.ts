/**
 * Sines and arcs. Angles are reduced by Cody and Waite's method: x - n·π, with π in parts so short that n times a part
 * is exact. Beyond its reach, where few arguments are, a scalar function reduces exactly (wasm/program/slow.ts).
 *
 * f32 stays in f32 lanes except for tan. f64 carries what rounding the remainder lost into the kernels. Within 2 ulp
 * everywhere, f64 within 1.5. Coefficients: tests/accuracy/coefficients.py.
 */
import type { Id } from "../../ir/node.ts";
import type { Decomposition, DecompositionTable } from "./kit.ts";
import { Calc, type Float, type Formula } from "./kit.ts";

/* Angles in f32 ---------------------------------------------------------------------------------------- */

/** π in parts of at most 11 bits, and the rest: exact times n + 1/2, |n| <= 2^12. */
const PI_F32 = [3.140625, 0.0009675025939941406, 1.5099067240953445e-7, 5.126688136514179e-12];
const FAR_F32 = 12800;

/** sin r = r + r·(r²·P(r²)) for |r| <= π/2, P's first coefficient with 1/8 added. */
const SIN_F32 = [
  -0.16666659712791443 + 0.125,
  0.008333069272339344,
  -0.00019809768127743155,
  2.6060538402816746e-6,
];

/** x - turns·π, rounded once, also where it is tiny. */
function reduce32(k: Calc, x: Id, turns: Id): Id {
  const [p0, p1, p2, p3] = PI_F32;
  const rough = k.reduce(x, turns, [p0, p1]); // exact
  const third = k.mul(turns, k.c(p2));
  const near = k.sub(rough, third);
  const lost = k.sub(third, k.sub(rough, near));
  return k.sub(near, k.madd(turns, k.c(p3), lost));
}

/** -1/8 of the square is split off because its product is exact. `keepsZero`: the sine of -0 is -0. */
function sine32(k: Calc, r: Id, keepsZero: boolean): Id {
  const square = k.mul(r, r);
  const p = k.poly(square, SIN_F32);
  const rest = keepsZero ? k.madd(square, p, k.c(0)) : k.mul(square, p);
  return k.madd(r, k.madd(square, k.c(-0.125), rest), r);
}

/** Bit 0 of n, which is at the low end of `tagged`, turns the sign. */
function alternate(k: Calc, y: Id, tagged: Id): Id {
  return k.flip(y, k.shl(k.bits(tagged), 31));
}

/** x = n·π + r: sin x = (-1)^n·sin r. */
function sin32(k: Calc, x: Id): Id {
  const { tagged, whole } = k.nearestMultiple(x, 1 / Math.PI);
  const y = sine32(k, reduce32(k, x, whole), true);
  return beyond(k, FAR_F32, "sin", x, alternate(k, y, tagged));
}

/** x = (n - 1/2)·π + r: cos x = (-1)^n·sin r. */
function cos32(k: Calc, x: Id): Id {
  const magic = k.c(k.magic);
  const tagged = k.add(k.madd(x, k.c(1 / Math.PI), k.c(0.5)), magic);
  const turns = k.sub(k.sub(tagged, magic), k.c(0.5));
  const y = sine32(k, reduce32(k, x, turns), false);
  return beyond(k, FAR_F32, "cos", x, alternate(k, y, tagged));
}

/** `fast`, or the scalar function where |x| > far. */
function beyond(k: Calc, far: number, name: string, x: Id, fast: Id): Id {
  return k.b.rare(fast, k.gt(k.abs(x), k.c(far)), name, x);
}

/** π/2 in 33 bits and the rest: enough for f32 arguments in f64 lanes. */
const HALF_PI_SHORT = [1.5707963267341256, 6.077100506506192e-11];
const FAR_SHORT = 2 ** 20;
/** tan r = r + r³·P(r²) for |r| <= π/4, to 29 bits. */
const TAN_SHORT = [
  0.33333350029689435, 0.1333265351594316, 0.05406106870260661, 0.021276043417490034, 0.010852222562058433,
  6.814333208653034e-5, 0.004387108680444293,
];

/** In f64 lanes: close to a pole, 24 bits of the remainder would not do. x = n·π/2 + r: tan r, or -1 / tan r for odd n. */
function tan32(k: Calc, x: Id): Id {
  const d = new Calc(k.b, "f64", { fma: k.fma });
  const wide = k.b.cast("f64", x);
  const { tagged, whole } = d.nearestMultiple(wide, 2 / Math.PI);
  const r = d.reduce(wide, whole, HALF_PI_SHORT);
  const square = d.mul(r, r);
  const y = d.madd(r, d.mul(square, d.poly(square, TAN_SHORT)), r);
  const turned = d.select(isOdd(d, d.bits(tagged)), d.div(d.c(-1), y), y);
  return beyond(k, FAR_SHORT, "tan", x, k.b.cast("f32", turned));
}

/* Angles in f64 ---------------------------------------------------------------------------------------- */

/** π/2 in two parts of 36 bits, and the rest: exact times n, |n| <= 2^17. */
const HALF_PI_F64 = [1.5707963267923333, 2.5633441515839558e-12, 1.0562999066987428e-23];
const FAR_F64 = 2e5;

/** sin r = r + r³·P(r²), cos r = 1 - r²/2 + r⁴·P(r²), |r| <= π/4. */
const SIN_F64 = [
  -0.1666666666666663, 0.00833333333332184, -0.00019841269829358544, 2.7557313538524458e-6,
  -2.505073439137552e-8, 1.5895433432955321e-10,
];
const COS_F64 = [
  0.041666666666666595, -0.0013888888888873325, 2.480158728898366e-5, -2.7557314210063735e-7,
  2.087570426870863e-9, -1.1358683178278708e-11,
];

/** A number as the sum of a float and what it lost. */
interface Pair {
  readonly high: Id;
  readonly low: Id;
}

/** x - n·π/2. */
function reduce64(k: Calc, x: Id, n: Id): Pair {
  const [p0, p1, p2] = HALF_PI_F64;
  const rough = k.reduce(x, n, [p0]); // exact
  const second = k.mul(n, k.c(p1)); // exact
  const near = k.sub(rough, second);
  const lost = k.sub(second, k.sub(rough, near));
  const rest = k.madd(n, k.c(p2), lost);
  const high = k.sub(near, rest);
  return { high, low: k.sub(k.sub(near, high), rest) };
}

/** sin(r + low) = r - (less), |r| <= π/4. */
function sine64(k: Calc, { high: r, low }: Pair, square: Id): Pair {
  const cube = k.mul(square, r);
  const bend = k.mul(cube, k.poly(square, SIN_F64.slice(1)));
  const inner = k.sub(k.mul(square, k.sub(k.mul(low, k.c(0.5)), bend)), low);
  const less = k.sub(inner, k.mul(cube, k.c(SIN_F64[0])));
  const high = k.sub(r, less);
  return { high, low: k.sub(k.sub(r, high), less) };
}

/** cos(r + low) = top + more, where top = 1 - r²/2 rounded. */
function cosine64(k: Calc, { high: r, low }: Pair, square: Id): Pair {
  const half = k.mul(square, k.c(0.5));
  const top = k.sub(k.c(1), half);
  const bend = k.mul(square, k.mul(square, k.poly(square, COS_F64)));
  const more = k.add(k.sub(k.sub(k.c(1), top), half), k.sub(bend, k.mul(r, low)));
  const high = k.add(top, more);
  return { high, low: k.add(k.sub(top, high), more) };
}

function isOdd(k: Calc, bits: Id): Id {
  return k.ne(k.bitAnd(bits, k.i(1)), k.i(0));
}

export type Angle = "sin" | "cos" | "tan";

/** The function of n·π/2 + r, given r and bits whose low end is n. Primitive lane operations only. */
export function ofRemainder(k: Calc, name: Angle, r: Pair, bits: Id): Id {
  const square = k.mul(r.high, r.high);
  const sine = sine64(k, r, square);
  const cosine = cosine64(k, r, square);
  if (name === "tan") return quotient(k, sine, cosine, isOdd(k, bits));
  const quarters = name === "sin" ? bits : k.b.op("add", bits, k.i(1));
  const y = k.select(isOdd(k, quarters), cosine.high, sine.high);
  return k.flip(y, k.shl(k.bitAnd(quarters, k.i(2)), 62));
}

/** sine / cosine, or -cosine / sine; what both lost is divided too. */
function quotient(k: Calc, sine: Pair, cosine: Pair, odd: Id): Id {
  const top = k.select(odd, cosine.high, sine.high);
  const topLow = k.select(odd, cosine.low, sine.low);
  const bottom = k.select(odd, k.neg(sine.high), cosine.high);
  const bottomLow = k.select(odd, k.neg(sine.low), cosine.low);
  const rough = k.div(top, bottom);
  const fix = k.div(k.sub(topLow, k.mul(rough, bottomLow)), bottom);
  // Adding a fix of +0 would make tan(-0) a +0.
  return k.select(k.eq(fix, k.c(0)), rough, k.add(rough, fix));
}

const angle64 =
  (name: Angle): Formula =>
  (k, x) => {
    const { tagged, whole } = k.nearestMultiple(x, 2 / Math.PI);
    const y = ofRemainder(k, name, reduce64(k, x, whole), k.bits(tagged));
    return beyond(k, FAR_F64, name, x, y);
  };

/* Arcs ------------------------------------------------------------------------------------------------- */

/** π/2 and π as a float and the rest. */
const HALF_PI = {
  f32: [1.5707963705062866, -4.371138828673793e-8],
  f64: [Math.PI / 2, 6.123233995736766e-17],
};
const PI = {
  f32: [3.1415927410125732, -8.742277657347586e-8],
  f64: [Math.PI, 1.2246467991473532e-16],
};

/** atan t = t + t³·P(t²): |t| <= 1 for f32, |t| <= sqrt(2) - 1 for f64. */
const ATAN = {
  f32: [
    -0.33333298563957214, 0.1999852955341339, -0.14264015853405, 0.10950879752635956, -0.08399298787117004,
    0.05788109451532364, -0.031096430495381355, 0.010868189856410027, -0.0017826526891440153,
  ],
  f64: [
    -0.333333333333332, 0.1999999999995368, -0.14285714280200829, 0.11111110783577936, -0.09090897760436183,
    0.07692060268678261, -0.06663104820401942, 0.05847896397488527, -0.050393439779600716,
    0.03806575147585485, -0.01790872635051356,
  ],
};
/** From where on atan v is taken from c: its arc and what rounding the arc lost. */
const STEPS = [
  { from: Math.SQRT2 - 1, c: 0.625, arc: 0.5585993153435624, lost: -5.4556305485916264e-18 },
  { from: 1, c: 1.5, arc: 0.982793723247329, lost: 1.3903311031230998e-17 },
  { from: Math.SQRT2 + 1, c: Infinity, arc: Math.PI / 2, lost: 6.123233995736766e-17 },
];
/** asin t = t + t³·P(t²) for |t| <= 1/2. */
const ASIN = {
  f32: [
    0.16666752099990845, 0.074953094124794, 0.04546915367245674, 0.02418474107980728, 0.04215839505195618,
  ],
  f64: [
    0.1666666666666676, 0.07499999999970865, 0.04464285717456364, 0.030381942709685163, 0.022372214942038168,
    0.017351612728887165, 0.013980812920514365, 0.011398968520670872, 0.010779965023865192,
    0.003707408857433017, 0.02170519118846538, -0.020996083738496055, 0.032626875927176016,
  ],
};

/** t·t²·P(t²), the bend of an arc. */
function bendOf(k: Calc, t: Id, square: Id, coefficients: Record<Float, readonly number[]>): Id {
  return k.mul(t, k.mul(square, k.poly(square, coefficients[k.dtype])));
}

/** atan of a size >= 0, infinity included. */
function arcTangent(k: Calc, size: Id): Id {
  const one = k.c(1);
  const [half, halfLow] = HALF_PI[k.dtype];
  if (k.dtype === "f32") {
    // atan v = π/2 + atan(-1/v)
    const high = k.ge(size, one);
    const t = k.select(high, k.div(k.c(-1), size), size);
    const bend = bendOf(k, t, k.mul(t, t), ATAN);
    const rest = k.add(bend, k.select(high, k.c(halfLow), k.c(0)));
    return k.add(k.select(high, k.c(half), k.c(0)), k.add(t, rest));
  }
  // atan v = atan c + atan t, t = (v - c) / (1 + c·v), or -1/v for c = infinity
  const isAbove = STEPS.map(({ from }) => k.gt(size, k.c(from)));
  const last = isAbove.length - 1;
  const pick = (values: readonly number[]) =>
    values.slice(1).reduce((below, v, i) => k.select(isAbove[i], k.c(v), below), k.c(values[0]));
  const c = pick([0, ...STEPS.slice(0, last).map((step) => step.c)]);
  const top = k.select(isAbove[last], k.c(-1), k.sub(size, c));
  const bottom = k.select(isAbove[last], size, k.madd(c, size, one));
  const t = k.div(top, bottom);
  const bend = bendOf(k, t, k.mul(t, t), ATAN);
  const rest = k.add(t, k.add(bend, pick([0, ...STEPS.map((step) => step.lost)])));
  return k.add(pick([0, ...STEPS.map((step) => step.arc)]), rest);
}

function atan(k: Calc, x: Id): Id {
  return k.flip(arcTangent(k, k.abs(x)), k.signBits(x));
}

/**
 * The arc of |y| / |x|, turned to the half plane of x and the sign of y. Equal sizes have the ratio 1, two infinities
 * too, and two zeros 0.
 */
function atan2(k: Calc, y: Id, x: Id): Id {
  const zero = k.c(0);
  const [height, width] = [k.abs(y), k.abs(x)];
  const equal = k.select(k.eq(height, zero), zero, k.c(1));
  const ratio = k.select(k.eq(height, width), equal, k.div(height, width));
  const right = arcTangent(k, ratio);
  const [high, low] = PI[k.dtype];
  const left = k.sub(k.c(high), k.sub(right, k.c(low)));
  // Straight up, the two halves meet: there π/2 is exact only on the right.
  const isLeft = k.and(k.lt(k.bits(x), k.i(0)), k.lt(ratio, k.inf()));
  return k.flip(k.select(isLeft, left, right), k.signBits(y));
}

interface Arc {
  /** |x| > 1/2: there asin |x| = π/2 - 2·asin s, s = sqrt((1 - |x|)/2). Elsewhere s = |x|. */
  readonly big: Id;
  /** asin s = s + rest. */
  readonly s: Id;
  readonly rest: Id;
}

/** NaN beyond 1: the root of a negative number. */
function arcSine(k: Calc, x: Id): Arc {
  const size = k.abs(x);
  const big = k.gt(size, k.c(0.5));
  const square = k.select(big, k.mul(k.sub(k.c(1), size), k.c(0.5)), k.mul(size, size));
  const root = k.sqrt(square);
  const s = k.select(big, root, size);
  const bend = bendOf(k, s, square, ASIN);
  if (k.dtype === "f32") return { big, s, rest: bend };
  // What the root lost: (square - cut²) / (root + cut), cut being the root in few bits; 0 where the root is 0.
  const cut = k.truncated(root);
  const lost = k.div(k.sub(square, k.mul(cut, cut)), k.add(k.add(root, cut), k.c(1e-300)));
  return { big, s: k.select(big, cut, size), rest: k.add(bend, k.select(big, lost, k.c(0))) };
}

function asin(k: Calc, x: Id): Id {
  const { big, s, rest } = arcSine(k, x);
  const [half, halfLow] = HALF_PI[k.dtype];
  const twice = (y: Id) => k.add(y, y);
  const far =
    k.dtype === "f32"
      ? k.sub(k.c(half), twice(k.add(s, k.sub(rest, k.c(halfLow / 2)))))
      : k.add(k.sub(k.c(half), twice(s)), k.sub(k.c(halfLow), twice(rest)));
  return k.flip(k.select(big, far, k.add(s, rest)), k.signBits(x));
}

/** base - (±arc): π/2 - asin x, or for |x| > 1/2 twice the arc of s, taken from π if x < 0. */
function acos(k: Calc, x: Id): Id {
  const { big, s, rest } = arcSine(k, x);
  const zero = k.c(0);
  const isLeft = k.lt(x, zero);
  const base = (part: 0 | 1) =>
    k.select(big, k.select(isLeft, k.c(PI[k.dtype][part]), zero), k.c(HALF_PI[k.dtype][part]));
  const sign = k.signBits(x);
  const arc = (y: Id) => k.flip(k.select(big, k.mul(y, k.c(-2)), y), sign);
  return k.add(k.sub(base(0), arc(s)), k.sub(base(1), arc(rest)));
}

/* The table -------------------------------------------------------------------------------------------- */

const row =
  (f32: Formula, f64: Formula): Decomposition =>
  (b, args, options) => {
    const dtype = b.dtypeOf(args[0]) as Float;
    return (dtype === "f32" ? f32 : f64)(new Calc(b, dtype, options), ...args);
  };

export const trigTable: DecompositionTable = {
  sin: row(sin32, angle64("sin")),
  cos: row(cos32, angle64("cos")),
  tan: row(tan32, angle64("tan")),
  asin: row(asin, asin),
  acos: row(acos, acos),
  atan: row(atan, atan),
  atan2: row(atan2, atan2),
};
