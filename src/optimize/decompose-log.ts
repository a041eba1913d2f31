/** Logarithms in f32 lanes. Coefficients: tests/accuracy/coefficients.py. */
import type { Id } from "../ir/node.ts";
import type { Calc } from "./decompose-kit.ts";

const LN2_HI = 0.693145751953125;
const LN2_LO = 1.4286068203094173e-6;
/** log(1+f) = f - f²/2 + f³·P(f) for sqrt(1/2) <= 1+f < sqrt(2). */
const LOG_F32 = [
  0.3333333134651184, -0.250008225440979, 0.20001259446144104, -0.16623342037200928, 0.14201055467128754,
  -0.13159559667110443, 0.1276588886976242, -0.07641373574733734,
];
/** The bits of sqrt(1/2): subtracting them makes the exponent field count octaves from there. */
const SQRT_HALF_F32 = 0x3f3504f3;

/** x = 2^e·m, log x = e·ln2 + log m. Subnormals are scaled up first. */
export function log32(k: Calc, x: Id): Id {
  const tiny = k.lt(x, k.c(2 ** -126));
  const scaled = k.select(tiny, k.mul(x, k.c(2 ** 25)), x);
  const base = k.select(tiny, k.i(SQRT_HALF_F32 + (25 << 23)), k.i(SQRT_HALF_F32));
  const shifted = k.sub(k.bits(scaled), base);
  const fraction = k.add(k.bitAnd(shifted, k.i(0x7fffff)), k.i(SQRT_HALF_F32));
  const f = k.sub(k.fromBits(fraction), k.c(1));
  const e = k.b.cast("f32", k.bitAnd(shifted, k.i(-0x800000))); // 2^23 times the exponent
  const square = k.mul(f, f);
  let y = k.mul(k.mul(f, square), k.poly(f, LOG_F32));
  y = k.madd(e, k.c(LN2_LO * 2 ** -23), y);
  y = k.add(f, k.madd(square, k.c(-0.5), y));
  return logEdges(k, x, k.madd(e, k.c(LN2_HI * 2 ** -23), y));
}

/** What every logarithm says outside (0, inf). */
export function logEdges(k: Calc, x: Id, inside: Id): Id {
  const finite = k.select(k.lt(x, k.inf()), inside, x);
  const zero = k.c(0);
  return k.select(k.gt(x, zero), finite, k.select(k.eq(x, zero), k.c(-Infinity), k.nan()));
}
