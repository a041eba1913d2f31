/**
 * e^x and what is made of it: x = n·ln2 + r, e^x = 2^n·e^r with |r| <= ln2/2, and 2^n is put together from bits.
 * Coefficients: tests/accuracy/coefficients.py.
 */
import type { Id } from "../../ir/node.ts";
import type { Calc } from "./kit.ts";

const { LN2, LOG2E } = Math;

/** ln2 = high + low, the high part so short that its product with any exponent is exact; where e^x is 0 or infinite. */
const ranges = {
  f32: { ln2: [0.693145751953125, 1.4286068203094173e-6], zero: -104, infinite: 89 },
  f64: { ln2: [0.6931471804855391, 7.440617110012397e-11], zero: -746, infinite: 710 },
};

/** e^r = 1 + r + r²·P(r). */
const EXP_F32 = [
  0.4999999403953552, 0.16666516661643982, 0.041668105870485306, 0.008369130082428455, 0.0013836411526426673,
];
const EXP_F64 = [
  0.5000000000000011, 0.1666666666666643, 0.04166666666652565, 0.008333333333479647, 0.0013888888944927388,
  0.00019841269546603507, 2.4801491652803236e-5, 2.7557543672409725e-6, 2.7630796535351025e-7,
  2.501573194599716e-8,
];
const EXP_SHORT = [
  0.500000006803753, 0.16666663818550698, 0.0416662852025854, 0.008333679108676478, 0.0013946095706893597,
  0.0001981136606553278,
];
/** 2^r for |r| <= 1/2; exact at 0, so whole powers are exact. */
const EXP2_F32 = [
  1, 0.6931472420692444, 0.24022655189037323, 0.05550272762775421, 0.009617065079510212,
  0.0013417747104540467, 0.00015823835565242916,
];
const EXP2_F64 = [
  1,
  LN2,
  0.2402265069591007,
  0.05550410866482338,
  0.00961812910763023,
  0.0013333558146033074,
  0.00015403530388884078,
  1.5252734167359912e-5,
  1.3215491336903344e-6,
  1.0177932076271669e-7,
  7.052946770408416e-9,
  4.4733482728316824e-10,
  2.873284137240904e-11,
];
const EXP2_SHORT = [
  1, 0.693147180704529, 0.24022651066559067, 0.05550410366077976, 0.009618038132567354, 0.0013333935001835653,
  0.00015466756215357886, 1.5196164851601806e-5,
];
/** tanh x = x + x³/Q(x²) for |x| < 0.91. */
const TANH_F32 = [-3.000000238418579, -1.1999965906143188, 0.005700322333723307, -0.00023198405688162893];
/** tanh x = x + x³·P(x²)/Q(x²) for |x| < 0.625: the coefficients of Cephes' tanh (Stephen L. Moshier, 1984). */
const TANH_F64 = {
  above: [-1614.6876844170845, -99.28772310019185, -0.9643991794250523],
  below: [4844.063053251255, 2235.4883906010045, 112.81167849163293, 1],
};
/** sinh x = x + x³·P(x²) for |x| <= 1. */
const SINH_F64 = [
  0.16666666666666666, 0.008333333333333573, 0.00019841269841061157, 2.755731931009361e-6,
  2.505208941162096e-8, 1.6061339368340844e-10, 7.503248923050178e-13, 6.475835806716559e-15,
];
const SINH_SHORT = [0.16666666497561106, 0.008333350058244052, 0.00019836159752191834, 2.8169514266824634e-6];

function tail(k: Calc): readonly number[] {
  return k.dtype === "f32" ? EXP_F32 : k.short ? EXP_SHORT : EXP_F64;
}

/** e^r - 1 of a reduced argument: the sum that loses least without a fused multiply-add. */
function expm1Reduced(k: Calc, r: Id): Id {
  return k.madd(k.mul(r, r), k.poly(r, tail(k)), r);
}

/** x times the power of two whose exponent the low bits of `tagged` hold, right for subnormal results too. */
function scale(k: Calc, x: Id, tagged: Id): Id {
  const [first, second] = k.twoPowers(tagged);
  return k.mul(k.mul(x, first), second);
}

/** 2^shift·e^x. */
function scaledExp(k: Calc, x: Id, shift: number): Id {
  const { ln2, zero, infinite } = ranges[k.dtype];
  const inside = k.clamp(x, zero, infinite - shift);
  const { tagged, whole } = k.nearestMultiple(inside, LOG2E, 2 * k.bias + shift);
  const r = k.reduce(inside, whole, ln2);
  const horner = k.fma && k.dtype === "f32";
  const e = horner ? k.poly(r, [1, 1, ...tail(k)]) : k.add(expm1Reduced(k, r), k.c(1));
  return scale(k, e, tagged);
}

export function exp(k: Calc, x: Id): Id {
  return scaledExp(k, x, 0);
}

export function exp2(k: Calc, x: Id): Id {
  const inside = k.dtype === "f32" ? k.clamp(x, -151, 129) : k.clamp(x, -1076, 1025);
  const magic = k.c(k.magic + 2 * k.bias);
  const tagged = k.add(inside, magic);
  const r = k.sub(inside, k.sub(tagged, magic));
  return scale(k, k.poly(r, k.dtype === "f32" ? EXP2_F32 : k.short ? EXP2_SHORT : EXP2_F64), tagged);
}

/** 2^(high + low), |low| at most a few: the last step of a power. */
export function exp2Sum(k: Calc, high: Id, low: Id): Id {
  const inside = k.clamp(high, -1076, 1025);
  const magic = k.c(k.magic + 2 * k.bias);
  const tagged = k.add(inside, magic);
  const r = k.add(k.sub(inside, k.sub(tagged, magic)), low);
  return scale(k, k.poly(r, EXP2_F64), tagged);
}

/**
 * With s = 2^n: (s - 1) + s·r + s·r²·P, smallest terms added first and last so that none of the large ones is rounded
 * twice. All of it at half its size, because s may be 2^1024.
 */
export function expm1(k: Calc, x: Id): Id {
  const { ln2, infinite } = ranges[k.dtype];
  const inside = k.clamp(x, -40, infinite);
  const { tagged, whole } = k.nearestMultiple(inside, LOG2E, k.bias - 1);
  const half = k.powerOfTwo(k.bits(tagged));
  const high = k.reduce(inside, whole, [ln2[0]]);
  const low = k.mul(whole, k.c(ln2[1]));
  const r = k.sub(high, low);
  const curve = k.sub(k.mul(k.mul(r, r), k.poly(r, tail(k))), low);
  const sum = k.madd(half, curve, k.madd(half, high, k.sub(half, k.c(0.5))));
  return k.select(k.lt(k.abs(x), k.c(2 ** -54)), x, k.add(sum, sum));
}

/**
 * -1/D for D = 1 + s + t, given as its terms (1 >= |t| or s >= |t|), within little more than one rounding: the quotient
 * is cut to half its bits, so that its product with the upper half of D is exact and the remainder is known.
 */
function minusReciprocal(k: Calc, s: Id, t: Id): Id {
  const one = k.c(1);
  const sum = k.add(k.add(s, one), t);
  const top = k.truncated(sum);
  const rest = k.sub(t, k.sub(k.sub(top, one), s));
  const quotient = k.div(k.c(-1), sum);
  const coarse = k.truncated(quotient);
  const remainder = k.madd(coarse, rest, k.madd(coarse, top, one));
  return k.madd(quotient, remainder, coarse);
}

/** 1 / (1 + e^-x) = s / (s + 1 + t) with e^-x = (1 + t)/s and s a power of two. */
export function sigmoid(k: Calc, x: Id): Id {
  const { ln2, zero } = ranges[k.dtype];
  const minus = k.neg(k.clamp(x, zero, 60));
  const magic = k.c(k.magic + 2 * k.bias);
  // n = round(x·log2 e): the low bits of tagged make s = 2^n
  const tagged = k.madd(minus, k.c(-LOG2E), magic);
  const whole = k.sub(tagged, magic);
  const r = k.madd(whole, k.c(ln2[1]), k.madd(whole, k.c(ln2[0]), minus));
  const [first, second] = k.twoPowers(tagged);
  const quotient = minusReciprocal(k, k.mul(first, second), expm1Reduced(k, r));
  return k.mul(k.mul(quotient, first), k.neg(second));
}

/**
 * |x| + a/b near 0, else 1 - 2/(e^2|x| + 1), then x's sign: one division, whose operands are chosen before it. The limit
 * between the two is where their errors meet (f32) and where the quotient is short (f64).
 */
function tanh(k: Calc, x: Id, limit: number, far: number, near: (size: Id, square: Id) => [Id, Id]): Id {
  const size = k.atMost(k.abs(x), far);
  const twice = k.add(size, size);
  const { tagged, whole } = k.nearestMultiple(twice, LOG2E, k.bias);
  const s = k.powerOfTwo(k.bits(tagged));
  const t = expm1Reduced(k, k.reduce(twice, whole, k.dtype === "f32" ? [LN2] : ranges.f64.ln2));
  const [above, below] = near(size, k.mul(size, size));
  const isNear = k.lt(size, k.c(limit));
  const quotient = k.div(
    k.select(isNear, above, k.c(-2)),
    k.select(isNear, below, k.madd(s, t, k.add(s, k.c(1)))),
  );
  return k.flip(k.add(k.select(isNear, size, k.c(1)), quotient), k.signBits(x));
}

/** ln2 rounded to f32 ends in three zero bits and is off by 2^-29 only: one step of reduction suffices. */
export function tanh32(k: Calc, x: Id): Id {
  return tanh(k, x, 0.91, 9.1, (size, square) => [k.mul(size, square), k.poly(square, TANH_F32)]);
}

export function tanh64(k: Calc, x: Id): Id {
  return tanh(k, x, 0.625, 22, (size, square) => [
    k.mul(k.mul(size, square), k.poly(square, TANH_F64.above)),
    k.poly(square, TANH_F64.below),
  ]);
}

/** A polynomial up to 1, then h - 1/(4h) with h = e^|x|/2. */
export function sinh(k: Calc, x: Id): Id {
  const size = k.abs(x);
  const square = k.mul(x, x);
  const near = k.madd(k.mul(size, square), k.poly(square, k.short ? SINH_SHORT : SINH_F64), size);
  const half = scaledExp(k, size, -1);
  const far = k.sub(half, k.div(k.c(0.25), half));
  return k.flip(k.select(k.lt(size, k.c(1)), near, far), k.signBits(x));
}

export function cosh(k: Calc, x: Id): Id {
  const half = scaledExp(k, k.abs(x), -1);
  return k.add(half, k.div(k.c(0.25), half));
}
