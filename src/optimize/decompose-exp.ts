/** e^x and what is made of it, in f32 lanes. Coefficients: tests/accuracy/coefficients.py. */
import type { Id } from "../ir/node.ts";
import type { Calc } from "./decompose-kit.ts";

const LOG2_E = 1.4426950408889634;
const LN2 = 0.6931471805599453;
/** ln 2 = hi + lo; hi has so few bits that its product with any exponent is exact. */
const LN2_F32 = [0.693145751953125, 1.4286068203094173e-6];

/** e^r = 1 + r + r²·P(r) for |r| <= ln2/2. */
const EXP_F32 = [
  0.4999999403953552, 0.16666516661643982, 0.041668105870485306, 0.008369130082428455, 0.0013836411526426673,
];
/** 2^r for |r| <= 1/2; exact at 0, so whole powers are exact. */
const EXP2_F32 = [
  1, 0.6931472420692444, 0.24022655189037323, 0.05550272762775421, 0.009617065079510212,
  0.0013417747104540467, 0.00015823835565242916,
];
/** tanh x = x + x³·P(x²) for |x| < 1 (fused) and |x| < 0.6 (unfused). */
const TANH_F32_WIDE = [
  -0.33333295583724976, 0.13332346081733704, -0.05387984588742256, 0.0214866753667593, -0.007946009747684002,
  0.00230122241191566, -0.0003583947254810482,
];
const TANH_F32 = [
  -0.33333298563957214, 0.13331936299800873, -0.05378471687436104, 0.02079862542450428, -0.005897966679185629,
];

/** e^r - 1 of a reduced argument: the sum that loses least without a fused multiply-add. */
function expm1Reduced(k: Calc, r: Id): Id {
  return k.madd(k.mul(r, r), k.poly(r, EXP_F32), r);
}

/** x = n·ln2 + r, e^x = 2^n·e^r; 2^n in two factors keeps subnormal results exact. */
export function exp32(k: Calc, x: Id): Id {
  const inside = k.clamp(x, -104, 89);
  const { tagged, whole } = k.nearestMultiple(inside, LOG2_E, 2 * k.bias);
  const r = k.reduce(inside, whole, LN2_F32);
  const e = k.fma ? k.poly(r, [1, 1, ...EXP_F32]) : k.add(expm1Reduced(k, r), k.c(1));
  return scale(k, e, tagged);
}

export function exp2_32(k: Calc, x: Id): Id {
  const inside = k.clamp(x, -151, 129);
  const magic = k.c(k.magic + 2 * k.bias);
  const tagged = k.add(inside, magic);
  const r = k.sub(inside, k.sub(tagged, magic));
  return scale(k, k.poly(r, EXP2_F32), tagged);
}

function scale(k: Calc, x: Id, tagged: Id): Id {
  const [first, second] = k.twoPowers(tagged);
  return k.mul(k.mul(x, first), second);
}

/**
 * -1/D for D = a + s + t, given as its three terms (a >= |t| or s >= |t|), within little more than one rounding: the
 * quotient is cut to 12 bits, so that its product with the top 12 bits of D is exact and the remainder is known.
 */
function minusReciprocal(k: Calc, a: number, s: Id, t: Id): Id {
  const sum = k.add(k.add(s, k.c(a)), t);
  const top = k.truncated(sum);
  const rest = k.sub(t, k.sub(k.sub(top, k.c(a)), s));
  const quotient = k.div(k.c(-1), sum);
  const coarse = k.truncated(quotient);
  const remainder = k.madd(coarse, rest, k.madd(coarse, top, k.c(1)));
  return k.madd(quotient, remainder, coarse);
}

/** 1 / (1 + e^-x) = s / (s + 1 + t) with e^-x = (1 + t)/s and s a power of two. */
export function sigmoid32(k: Calc, x: Id): Id {
  const minus = k.neg(k.clamp(x, -104, 60));
  const magic = k.c(k.magic + 2 * k.bias);
  // n = -round(minus·log2 e): s = 2^n is in the low bits of tagged
  const tagged = k.madd(minus, k.c(-LOG2_E), magic);
  const whole = k.sub(tagged, magic);
  const r = k.madd(whole, k.c(LN2_F32[1]), k.madd(whole, k.c(LN2_F32[0]), minus));
  const [first, second] = k.twoPowers(tagged);
  const quotient = minusReciprocal(k, 1, k.mul(first, second), expm1Reduced(k, r));
  return k.mul(k.mul(quotient, first), k.neg(second));
}

/** A polynomial near 0, else 1 - 2/(e^2|x| + 1); then x's sign. */
export function tanh32(k: Calc, x: Id): Id {
  const size = k.abs(x);
  const square = k.mul(x, x);
  const near = k.madd(k.mul(size, square), k.poly(square, k.fma ? TANH_F32_WIDE : TANH_F32), size);
  const far = farTanh(k, k.atMost(size, 9.1));
  return k.flip(k.select(k.lt(size, k.c(k.fma ? 0.985 : 0.6)), near, far), k.signBits(x));
}

function farTanh(k: Calc, size: Id): Id {
  // ln2 rounded to f32 ends in three zero bits and is off by 2^-29 only: one step of reduction suffices
  const twice = k.add(size, size);
  if (k.fma) {
    const { tagged, whole } = k.nearestMultiple(twice, LOG2_E, k.bias);
    const r = k.reduce(twice, whole, [LN2]);
    const e = k.poly(r, [1, 1, ...EXP_F32]);
    const sum = k.madd(e, k.powerOfTwo(k.bits(tagged)), k.c(1));
    return k.sub(k.c(1), k.div(k.c(2), sum));
  }
  // 1/(s + 1/2 + s·t), s = 2^(n-1): near 0.6 every rounding counts
  const { tagged, whole } = k.nearestMultiple(twice, LOG2_E, k.bias - 1);
  const s = k.powerOfTwo(k.bits(tagged));
  const t = k.mul(expm1Reduced(k, k.reduce(twice, whole, [LN2])), s);
  return k.add(k.c(1), minusReciprocal(k, 0.5, s, t));
}
