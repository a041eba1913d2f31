/**
 * Sine and cosine in f32 lanes. x = n·π/2 + r with |r| <= π/4 by Cody and Waite's reduction; beyond its reach, which few
 * arguments are, a scalar function reduces exactly. Coefficients: tests/accuracy/coefficients.py.
 */
import type { Id } from "../ir/node.ts";
import type { Calc } from "./decompose-kit.ts";

/** π/2 in parts of 12 bits: their products with whole numbers below 2^13 are exact. The last part is the rest. */
const HALF_PI_F32 = [1.5703125, 0.0004837512969970703, 7.549533620476723e-8, 2.5633440682570896e-12];
/** As far as the parts reach. */
const FAR_F32 = 6400;

/** sin r = r + r³·P(r²), cos r = 1 - r²/2 + r⁴·P(r²), |r| <= π/4. */
const SIN_F32 = [-0.16666655242443085, 0.008332188241183758, -0.0001951809535967186];
const COS_F32 = [1, -0.5, 0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-5];

/** `quadrant`: bits whose low end is n; `r`: what is left, within one rounding even where it is tiny. */
export function quarterTurns32(k: Calc, x: Id): { quadrant: Id; r: Id } {
  const { tagged, whole } = k.nearestMultiple(x, 2 / Math.PI);
  const [p0, p1, p2, p3] = HALF_PI_F32;
  const rough = k.reduce(x, whole, [p0, p1]); // exact
  // The two last parts are one number, high + low, so that r is rounded once
  const high2 = k.mul(whole, k.c(p2));
  const high = k.madd(whole, k.c(p3), high2);
  const low = k.madd(whole, k.c(p3), k.sub(high2, high));
  return { quadrant: k.bits(tagged), r: k.sub(k.sub(rough, high), low) };
}

function sinReduced(k: Calc, r: Id, square: Id): Id {
  return k.madd(k.mul(r, square), k.poly(square, SIN_F32), r);
}

/** The sine where the quadrant is even, the cosine where it is odd. */
function wave(k: Calc, r: Id, quadrant: Id): Id {
  const square = k.mul(r, r);
  const odd = k.ne(k.bitAnd(quadrant, k.i(1)), k.i(0));
  return k.select(odd, k.poly(square, COS_F32), sinReduced(k, r, square));
}

export function sin32(k: Calc, x: Id): Id {
  const size = k.abs(x);
  const { quadrant, r } = quarterTurns32(k, size);
  const sign = k.bitAnd(k.bitXor(k.shl(quadrant, 30), k.bits(x)), k.signMask);
  return k.b.rare(k.flip(wave(k, r, quadrant), sign), k.gt(size, k.c(FAR_F32)), "sin", x);
}

export function cos32(k: Calc, x: Id): Id {
  const size = k.abs(x);
  const { quadrant, r } = quarterTurns32(k, size);
  const next = k.add(quadrant, k.i(1));
  const sign = k.bitAnd(k.shl(next, 30), k.signMask);
  return k.b.rare(k.flip(wave(k, r, next), sign), k.gt(size, k.c(FAR_F32)), "cos", x);
}
