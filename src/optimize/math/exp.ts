/**
 * exp, exp2, expm1, sigmoid and the hyperbolic functions on f32 and f64.
 *
 * exp: n = round(x / ln 2), r = x - n·ln 2 in two steps (Cody and Waite), 2^n by shifting the integer into the exponent,
 * in two factors so that the result may be subnormal.
 */
import type { Builder } from "../../ir/build.ts";
import type { Id } from "../../ir/node.ts";
import { type DecompositionTable, type MathOptions, madd, polynomial } from "./table.ts";

const f32 = (b: Builder, value: number): Id => b.constant("f32", Math.fround(value));
const i32 = (b: Builder, value: number): Id => b.constant("i32", value);
const bits32 = (b: Builder, op: "bitAnd" | "bitOr", x: Id, mask: number): Id =>
  b.bitcast("f32", b.op(op, b.bitcast("i32", x), i32(b, mask)));

/** x + MAGIC32 rounds x to an integer (|x| < 2^22) that its low bits then hold. */
const MAGIC32 = 1.5 * 2 ** 23;
const SIGN32 = -(2 ** 31);
const LN2_HIGH32 = 0.693359375;
const LN2_LOW32 = -2.1219444e-4;

/** 2^n = first · second, for |n| < 254: t is n + MAGIC32 + 254 in f32. */
function twoFactors32(b: Builder, t: Id): readonly [Id, Id] {
  const i = b.bitcast("i32", t);
  const half = b.op("shr", i, i32(b, 1));
  const rest = b.op("sub", i, half);
  const power = (k: Id) => b.bitcast("f32", b.op("shl", k, i32(b, 23)));
  return [power(half), power(rest)];
}

/** r and 2^n = first·second with x = n·ln 2 + r, |r| ≤ ln 2 / 2. */
function reduce32(b: Builder, x: Id, o: MathOptions): { r: Id; scale: readonly [Id, Id] } {
  const magic = f32(b, MAGIC32 + 254);
  const t = madd(b, x, f32(b, Math.LOG2E), magic, o);
  const n = b.op("sub", t, magic);
  const r = madd(b, n, f32(b, -LN2_LOW32), madd(b, n, f32(b, -LN2_HIGH32), x, o), o);
  return { r, scale: twoFactors32(b, t) };
}

function exp32(b: Builder, x: Id, o: MathOptions): Id {
  const { r, scale } = reduce32(b, b.op("pmax", b.op("pmin", x, f32(b, 89)), f32(b, -104.5)), o);
  const c = [
    0.4999999403953552, 0.16666516661643982, 0.041668105870485306, 0.008369130082428455,
    0.0013836411526426673,
  ];
  // Unfused, 1 + (r + r²·q) rounds best; fused, Horner's rule does, and is shorter.
  const p = o.fma
    ? polynomial(b, r, [1, 1, ...c], o)
    : b.op("add", madd(b, b.op("mul", r, r), polynomial(b, r, c, o), r, o), f32(b, 1));
  return b.op("mul", b.op("mul", p, scale[0]), scale[1]);
}

function exp2_32(b: Builder, x: Id, o: MathOptions): Id {
  const clamped = b.op("pmax", b.op("pmin", x, f32(b, 129)), f32(b, -151));
  const magic = f32(b, MAGIC32 + 254);
  const t = b.op("add", clamped, magic);
  const r = b.op("sub", clamped, b.op("sub", t, magic));
  const c = [
    1, 0.6931472420692444, 0.24022655189037323, 0.05550272762775421, 0.009617065079510212,
    0.0013417747104540467, 0.00015823835565242916,
  ];
  const [first, second] = twoFactors32(b, t);
  return b.op("mul", b.op("mul", polynomial(b, r, c, o), first), second);
}

function tanh32(b: Builder, x: Id, o: MathOptions): Id {
  const one = f32(b, 1);
  const a = b.op("abs", x);
  const e = exp32(b, b.op("mul", b.op("pmin", a, f32(b, 10)), f32(b, 2)), o);
  const large = b.op("sub", one, b.op("div", f32(b, 2), b.op("add", e, one)));
  const z = b.op("mul", x, x);
  const q = polynomial(
    b,
    z,
    [
      -0.3333328068256378, 0.13331405818462372, -0.05373651534318924, 0.02062816731631756,
      -0.0056922961957752705,
    ],
    o,
  );
  const small = madd(b, b.op("mul", x, z), q, x, o);
  const signed = b.bitcast(
    "f32",
    b.op("bitOr", b.bitcast("i32", large), b.op("bitAnd", b.bitcast("i32", x), i32(b, SIGN32))),
  );
  return b.op("select", b.op("lt", a, f32(b, 0.625)), small, signed);
}

/**
 * σ(-|x|) = s·N / (D + s·N), where exp(-|x|) = s·N/D, s = 2^n, N = 2 + a + r, D = 2 + a - r and 2 + a = r·coth(r/2).
 * The quotient is corrected by one step with operands split in two 12-bit halves, whose products are exact:
 * without it the rounding of the denominator alone costs an ulp.
 */
function sigmoid32(b: Builder, x: Id, o: MathOptions): Id {
  const one = f32(b, 1);
  const two = f32(b, 2);
  const { r, scale } = reduce32(b, b.op("pmax", bits32(b, "bitOr", x, SIGN32), f32(b, -104.5)), o);
  const z = b.op("mul", r, r);
  const a = b.op("mul", z, polynomial(b, z, [0.166666179895401, -0.002766007324680686], o));
  const up = b.op("add", a, r);
  const down = b.op("sub", a, r);
  const s = b.op("mul", scale[0], scale[1]);
  const twice = b.op("add", s, s);
  // D + s·N = 2 + 2s + rest = high + low
  const rest = madd(b, s, up, down, o);
  const denominator = b.op("add", b.op("add", two, twice), rest);
  const high = bits32(b, "bitAnd", denominator, -4096);
  const low = b.op("add", b.op("add", b.op("sub", two, high), twice), rest);
  const inverse = b.op("div", one, denominator);
  const guess = bits32(b, "bitAnd", b.op("mul", b.op("add", two, up), inverse), -4096);
  const residual = b.op(
    "add",
    b.op("sub", two, b.op("mul", guess, high)),
    b.op("sub", up, b.op("mul", guess, low)),
  );
  const quotient = madd(b, inverse, residual, guess, o);
  const negative = b.op("mul", b.op("mul", quotient, scale[0]), scale[1]);
  return b.op("select", b.op("lt", x, f32(b, 0)), negative, b.op("sub", one, negative));
}

export const expTable: DecompositionTable = {
  exp: (b, [x], o) => exp32(b, x, o),
  exp2: (b, [x], o) => exp2_32(b, x, o),
  tanh: (b, [x], o) => tanh32(b, x, o),
  sigmoid: (b, [x], o) => sigmoid32(b, x, o),
};
