/** Roots, lengths and powers. Coefficients: tests/accuracy/coefficients.py. */
import type { Id } from "../../ir/node.ts";
import { constantOf } from "../rewrite.ts";
import { exp2, exp2Sum } from "./exp.ts";
import { type Calc, throughDouble } from "./kit.ts";
import { log2, logEdges, octaves } from "./log.ts";

/** m^(1/3) for 1/2 <= m < 4, to 9 bits. */
const CBRT_START = [
  0.4978840563805214, 0.7130504669501597, -0.2659685982105054, 0.06085311545672733, -0.005487294085221497,
];

/** |x| = 8^q·m; a polynomial and two steps of Halley's iteration, the last from a value whose square is exact. */
export function cbrt(k: Calc, x: Id): Id {
  const size = k.abs(x);
  const tiny = k.lt(size, k.c(2 ** -1022));
  const bits = k.bits(k.short ? size : k.select(tiny, k.mul(size, k.c(2 ** 54)), size));
  const e = k.floatOf(k.sub(k.shr(bits, 52), k.i(1023)));
  const { tagged } = k.nearestMultiple(e, 1 / 3);
  const q = k.shl(k.bits(tagged), 52);
  const m = k.fromBits(k.sub(bits, k.add(q, k.add(q, q))));
  const start = k.poly(m, CBRT_START);
  const cube = k.mul(start, k.mul(start, start));
  const twice = k.add(m, m);
  const better = k.div(k.mul(start, k.add(cube, twice)), k.add(k.add(cube, cube), m));
  const t = k.truncated(better);
  const s = k.div(m, k.mul(t, t));
  const root = k.add(t, k.div(k.mul(t, k.sub(s, t)), k.add(k.add(t, t), s)));
  const scaled = k.add(k.bits(root), k.short ? q : k.sub(q, k.select(tiny, k.i(18n << 52n), k.i(0))));
  const y = k.flip(k.fromBits(scaled), k.signBits(x));
  return k.select(k.and(k.gt(size, k.c(0)), k.lt(size, k.inf())), y, x);
}

export function hypot32(k: Calc, x: Id, y: Id): Id {
  const length = throughDouble((w, p, q) => w.sqrt(w.madd(p, p, w.mul(q, q))))(k, x, y);
  return hypotEdges(k, k.abs(x), k.abs(y), length);
}

/** Scaled by a power of two, so that squares neither overflow nor vanish. */
export function hypot64(k: Calc, x: Id, y: Id): Id {
  const p = k.abs(x);
  const q = k.abs(y);
  const longest = k.b.op("pmax", p, q);
  const huge = k.gt(longest, k.c(2 ** 500));
  const tiny = k.lt(longest, k.c(2 ** -450));
  const choose = (down: number, up: number) => k.select(huge, k.c(down), k.select(tiny, k.c(up), k.c(1)));
  const scale = choose(2 ** -600, 2 ** 600);
  const [a, b] = [k.mul(p, scale), k.mul(q, scale)];
  const length = k.mul(k.sqrt(k.add(k.mul(a, a), k.mul(b, b))), choose(2 ** 600, 2 ** -600));
  return hypotEdges(k, p, q, length);
}

/** An infinite side is infinite, whatever the other. */
function hypotEdges(k: Calc, p: Id, q: Id, length: Id): Id {
  const inf = k.inf();
  return k.select(k.or(k.eq(p, inf), k.eq(q, inf)), inf, length);
}

/** Powers that are a few products, with JavaScript's value at every x. */
function smallPower(k: Calc, x: Id, y: Id): Id | null {
  const square = () => k.mul(x, x);
  switch (constantOf(k.b, y)) {
    case 0:
      return k.c(1);
    case 1:
      return x;
    case 2:
      return square();
    case 3:
      return k.mul(square(), x);
    case 4:
      return k.mul(square(), square());
    case -1:
      return k.div(k.c(1), x);
    case 0.5: // -0 gives 0, -inf gives inf
      return k.select(k.eq(x, k.c(-Infinity)), k.inf(), k.sqrt(k.add(x, k.c(0))));
    default:
      return null;
  }
}

export function pow32(k: Calc, x: Id, y: Id): Id {
  return smallPower(k, x, y) ?? throughDouble(shortPower)(k, x, y);
}

export function pow64(k: Calc, x: Id, y: Id): Id {
  return smallPower(k, x, y) ?? fullPower(k, x, y);
}

/** 2^(y·log2|x|); log2 to f64's precision is twice what f32 needs. */
function shortPower(k: Calc, x: Id, y: Id): Id {
  const exponent = k.mul(y, log2(k, k.abs(x)));
  return powerSign(k, x, y, exp2(k, exponent));
}

/** x**y from |x|**y: the sign of an odd power, NaN for a negative x and a fraction y, and 1 for y = 0. */
function powerSign(k: Calc, x: Id, y: Id, size: Id): Id {
  const trunc = (v: Id) => k.b.op("trunc", v);
  const half = k.mul(y, k.c(0.5));
  const whole = k.eq(trunc(y), y);
  const odd = k.and(whole, k.ne(trunc(half), half));
  const signed = k.flip(size, k.select(odd, k.signBits(x), k.i(0)));
  const undefinedThere = k.and(k.lt(x, k.c(0)), k.not(k.or(whole, k.eq(x, k.c(-Infinity)))));
  const zero = k.c(0);
  return k.select(k.eq(y, zero), k.c(1), k.select(undefinedThere, k.nan(), signed));
}

/** log((1+s)/(1-s)) = 2s + (2/3)s³ + s⁵·P(s²). */
const POW_F64 = [
  0.3999999999999998, 0.2857142857144387, 0.22222222217778603, 0.18181818845735973, 0.15384558290645567,
  0.13336270365710445, 0.11675652568969497, 0.11982882048597937,
];
/** 2/(3·ln2): 26 bits and the rest. */
const SCALE = [0.9617966860532761, 7.872699542894897e-9];

/**
 * log2|x| to some 66 bits as high + low, high of 26 bits. The way of keeping s = f/(2+f), s³ and the product with 1/ln2
 * each as a short number and a rest is that of fdlibm's pow (Sun Microsystems, 1993).
 */
function preciseLog2(k: Calc, x: Id): { high: Id; low: Id } {
  const { e, f } = octaves(k, x);
  const two = k.c(2);
  const d = k.add(f, two);
  const s = k.div(f, d);
  const sHigh = k.truncated(s);
  const dHigh = k.truncated(d);
  const dLow = k.sub(f, k.sub(dHigh, two));
  const rest = k.sub(k.sub(f, k.mul(sHigh, dHigh)), k.mul(sHigh, dLow));
  const sLow = k.div(rest, d);
  // log(1+f) = (2/3)·s·t with t = 3 + s² + (3/2)·s⁴·P
  const z = k.mul(s, s);
  const curve = k.mul(k.mul(z, z), k.mul(k.poly(z, POW_F64), k.c(1.5)));
  const zHigh = k.mul(sHigh, sHigh);
  const bend = k.madd(sLow, k.add(sHigh, s), curve);
  const three = k.c(3);
  const tHigh = k.truncated(k.add(k.add(three, zHigh), bend));
  const tLow = k.sub(bend, k.sub(k.sub(tHigh, three), zHigh));
  // s·t, then times (2/3)/ln2
  const u = k.mul(sHigh, tHigh);
  const v = k.madd(sLow, tHigh, k.mul(tLow, s));
  const pHigh = k.truncated(k.add(u, v));
  const pLow = k.sub(v, k.sub(pHigh, u));
  const main = k.mul(pHigh, k.c(SCALE[0]));
  const side = k.madd(pLow, k.c(SCALE[0] + SCALE[1]), k.mul(pHigh, k.c(SCALE[1])));
  const high = k.truncated(k.add(k.add(main, side), e));
  return { high, low: k.sub(side, k.sub(k.sub(high, e), main)) };
}
function fullPower(k: Calc, x: Id, y: Id): Id {
  const size = k.abs(x);
  const { high, low } = preciseLog2(k, size);
  const yHigh = k.truncated(y);
  const main = k.mul(yHigh, high);
  const side = k.madd(k.sub(y, yHigh), high, k.mul(y, low));
  const inside = exp2Sum(k, main, side);
  // Far from 1, at infinities and at NaN the exponent itself decides
  const rough = k.mul(y, logEdges(k, size, k.add(high, low)));
  const outside = k.select(k.gt(rough, k.c(0)), k.inf(), k.select(k.lt(rough, k.c(0)), k.c(0), rough));
  const value = k.select(k.lt(k.abs(rough), k.c(1080)), inside, outside);
  return powerSign(k, x, y, value);
}
