/**
 * Logarithms and the inverse hyperbolic functions: x = 2^e·m with sqrt(1/2) <= m < sqrt(2), log x = e·ln2 + log m.
 * Coefficients: tests/accuracy/coefficients.py. The f64 form follows fdlibm (Sun Microsystems, 1993) in computing
 * log(1+f) = f - (f²/2 - s·(f²/2 + R)) with s = f/(2+f), which loses almost nothing to rounding.
 */
import type { Id } from "../../ir/node.ts";
import type { Calc } from "./kit.ts";

const LN2_F32 = [0.693145751953125, 1.4286068203094173e-6];
const LN2_F64 = [0.6931471804855391, 7.440617110012397e-11];
/** 1/ln2, 1/ln10 and log10(2), each as a short number and the rest. */
const LOG2_E = [1.4426950216293335, 1.9259629911266175e-8];
const LOG10_E = [0.4342944771051407, 4.798111141615973e-9];
const LOG10_2 = [0.30102999566361177, 3.694239077158931e-13];

/** log(1+f) = f - f²/2 + f³·P(f). */
const LOG_F32 = [
  0.3333333134651184, -0.250008225440979, 0.20001259446144104, -0.16623342037200928, 0.14201055467128754,
  -0.13159559667110443, 0.1276588886976242, -0.07641373574733734,
];
/** log((1+s)/(1-s)) = 2s + s³·P(s²). */
const LOG_F64 = [
  0.6666666666666735, 0.3999999999940912, 0.2857142874378701, 0.22222198413901026, 0.18183573374742432,
  0.1531380029720668, 0.14798632959532051,
];
const LOG_SHORT = [0.6666666564449396, 0.400003355633143, 0.28537276561929537, 0.23582895968145595];

/** sqrt(1/2) as bits: subtracting them makes the exponent field count octaves from there. */
const SQRT_HALF_F32 = 0x3f3504f3;
const SQRT_HALF_F64 = 0x3fe6a09e667f3bcdn;

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
  y = k.madd(e, k.c(LN2_F32[1] * 2 ** -23), y);
  y = k.add(f, k.madd(square, k.c(-0.5), y));
  return logEdges(k, x, k.madd(e, k.c(LN2_F32[0] * 2 ** -23), y));
}

/** What every logarithm says outside (0, inf). */
export function logEdges(k: Calc, x: Id, inside: Id): Id {
  const finite = k.select(k.lt(x, k.inf()), inside, x);
  const zero = k.c(0);
  return k.select(k.gt(x, zero), finite, k.select(k.eq(x, zero), k.c(-Infinity), k.nan()));
}

/** x = 2^e·(1 + f) in f64, subnormals included; e is a float. */
export function octaves(k: Calc, x: Id): { e: Id; f: Id } {
  const base = k.i(SQRT_HALF_F64);
  let scaled = x;
  let from = base;
  if (!k.short) {
    const tiny = k.lt(x, k.c(2 ** -1022));
    scaled = k.select(tiny, k.mul(x, k.c(2 ** 54)), x);
    from = k.select(tiny, k.i(SQRT_HALF_F64 + (54n << 52n)), base);
  }
  const shifted = k.sub(k.bits(scaled), from);
  const fraction = k.add(k.bitAnd(shifted, k.i((1n << 52n) - 1n)), base);
  return { e: k.floatOf(k.shr(shifted, 52)), f: k.sub(k.fromBits(fraction), k.c(1)) };
}

/** log(1+f) = f - (half - bend), half = f²/2. */
function bent(k: Calc, f: Id): { half: Id; bend: Id } {
  const s = k.div(f, k.add(f, k.c(2)));
  const z = k.mul(s, s);
  const r = k.mul(z, k.poly(z, k.short ? LOG_SHORT : LOG_F64));
  const half = k.mul(k.mul(f, k.c(0.5)), f);
  return { half, bend: k.mul(s, k.add(half, r)) };
}

/** log x + low, for a low far smaller than 1 and x in (0, inf); `doublings` more octaves. */
function logInside(k: Calc, x: Id, low: Id | null = null, doublings: Id | null = null): Id {
  const { e: exponent, f } = octaves(k, x);
  const e = doublings === null ? exponent : k.add(exponent, doublings);
  const { half, bend } = bent(k, f);
  const tail = k.madd(e, k.c(LN2_F64[1]), low === null ? bend : k.add(bend, low));
  return k.madd(e, k.c(LN2_F64[0]), k.add(f, k.sub(tail, half)));
}

export function log64(k: Calc, x: Id): Id {
  return logEdges(k, x, logInside(k, x));
}

/** log(1+f) in two parts, the first short; then times `scale`, plus e·`octave`, keeping what each sum loses. */
function scaledLog(k: Calc, x: Id, scale: readonly number[], octave: readonly number[]): Id {
  const { e, f } = octaves(k, x);
  const { half, bend } = bent(k, f);
  if (k.short) {
    const y = k.mul(k.sub(f, k.sub(half, bend)), k.c(scale[0] + scale[1]));
    return logEdges(k, x, octave[0] === 1 ? k.add(e, y) : k.madd(e, k.c(octave[0] + octave[1]), y));
  }
  const high = k.truncated(k.sub(f, half));
  const low = k.add(k.sub(k.sub(f, high), half), bend);
  const main = k.mul(high, k.c(scale[0])); // exact
  let rest = k.madd(low, k.c(scale[0]), k.mul(k.add(low, high), k.c(scale[1])));
  const whole = octave[0] === 1 ? e : k.mul(e, k.c(octave[0]));
  if (octave[1] !== 0) rest = k.madd(e, k.c(octave[1]), rest);
  const sum = k.add(whole, main);
  return logEdges(k, x, k.add(sum, k.add(rest, k.add(k.sub(whole, sum), main))));
}

export function log2(k: Calc, x: Id): Id {
  return scaledLog(k, x, LOG2_E, [1, 0]);
}

export function log10(k: Calc, x: Id): Id {
  return scaledLog(k, x, LOG10_E, LOG10_2);
}

/** log(1+x) = log u + (x - (u-1))/u, u = 1+x rounded. */
export function log1p(k: Calc, x: Id): Id {
  const one = k.c(1);
  const u = k.add(x, one);
  const lost = k.sub(x, k.sub(u, one));
  // For a large x all but the last bits of 1 are lost from u instead
  const low = k.div(k.select(k.gt(x, one), k.sub(one, k.sub(u, x)), lost), u);
  const y = logEdges(k, u, logInside(k, u, low));
  return k.select(k.lt(k.abs(x), k.c(2 ** -54)), x, y);
}

/** log(|x| + sqrt(x² + 1)) = log1p(|x| + x²/(1 + sqrt(1 + x²))); for a large x, log(2|x|). */
export function asinh(k: Calc, x: Id): Id {
  const one = k.c(1);
  const size = k.abs(x);
  const square = k.mul(x, x);
  const root = k.sqrt(k.add(square, one));
  const t = k.add(size, k.div(square, k.add(root, one)));
  return k.flip(log1pOrDouble(k, t, size, k.gt(size, k.c(2 ** 28))), k.signBits(x));
}

/** log(x + sqrt(x² - 1)) = log1p(t + sqrt(2t + t²)), t = x - 1; for a large x, log(2x). */
export function acosh(k: Calc, x: Id): Id {
  const t = k.sub(x, k.c(1));
  const large = k.gt(x, k.c(2 ** 28));
  const root = k.sqrt(k.mul(t, k.add(t, k.c(2))));
  let y: Id;
  if (k.short) y = log1pOrDouble(k, k.add(t, root), x, large);
  else {
    // The root to twice its precision: its upper half has an exact square, and what is left of 2t + t² is the rest
    const cut = k.truncated(root);
    const left = k.add(k.sub(k.add(t, t), k.mul(cut, cut)), k.mul(t, t));
    const rest = k.div(left, k.add(root, cut));
    const sum = k.add(cut, t);
    y = log1pOrDouble(k, sum, x, large, k.add(rest, k.sub(t, k.sub(sum, cut))));
  }
  return k.select(k.lt(x, k.c(1)), k.nan(), y);
}

/** log(1 + t + more), or log(2x) where x is large; t >= 0, or NaN where there is no result. */
function log1pOrDouble(k: Calc, t: Id, x: Id, large: Id, more: Id | null = null): Id {
  const one = k.c(1);
  const zero = k.c(0);
  const u = k.add(t, one);
  const lost = k.select(k.gt(t, one), k.sub(one, k.sub(u, t)), k.sub(t, k.sub(u, one)));
  const argument = k.select(large, x, u);
  const low = k.select(large, zero, k.div(more === null ? lost : k.add(lost, more), u));
  const y = logInside(k, argument, low, k.select(large, one, zero));
  const finite = k.select(k.lt(argument, k.inf()), y, argument); // NaN and inf pass
  return k.select(k.lt(t, k.c(2 ** -54)), t, finite);
}

/** log1p(2|x| / (1 - |x|)) / 2. */
export function atanh(k: Calc, x: Id): Id {
  const size = k.abs(x);
  const t = k.div(k.add(size, size), k.sub(k.c(1), size));
  return k.flip(k.mul(log1p(k, t), k.c(0.5)), k.signBits(x));
}
