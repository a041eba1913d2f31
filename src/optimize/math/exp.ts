/**
 * exp, exp2, expm1, sigmoid and the hyperbolic functions on f32 and f64.
 *
 * exp: n = round(x / ln 2), r = x - n·ln 2 in two steps (Cody and Waite), 2^n by shifting the integer into the exponent.
 */
import type { Builder } from "../../ir/build.ts";
import type { Id } from "../../ir/node.ts";
import { type DecompositionTable, type MathOptions, madd, polynomial } from "./table.ts";

const f32 = (b: Builder, value: number): Id => b.constant("f32", Math.fround(value));
const i32 = (b: Builder, value: number): Id => b.constant("i32", value);

/** x + MAGIC32 rounds x to an integer (|x| < 2^22) that its low bits then hold. */
const MAGIC32 = 1.5 * 2 ** 23;

function exp32(b: Builder, x: Id, o: MathOptions): Id {
  const clamped = b.op("pmax", b.op("pmin", x, f32(b, 89)), f32(b, -104.5));
  // n = 2m: 2^m is applied twice, so that neither overflow nor subnormal results need care. The bias sits in the magic.
  const magic = f32(b, MAGIC32 + 127);
  const t = madd(b, clamped, f32(b, Math.LOG2E / 2), magic, o);
  const m = b.op("sub", t, magic);
  const r1 = madd(b, m, f32(b, -2 * 0.693359375), clamped, o);
  const r = madd(b, m, f32(b, 2 * 2.1219444e-4), r1, o);
  const q = polynomial(b, r, [0.5, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320], o);
  const p = b.op("add", madd(b, b.op("mul", r, r), q, r, o), f32(b, 1));
  const scale = b.bitcast("f32", b.op("shl", b.bitcast("i32", t), i32(b, 23)));
  return b.op("mul", b.op("mul", p, scale), scale);
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
    b.op("bitOr", b.bitcast("i32", large), b.op("bitAnd", b.bitcast("i32", x), i32(b, -2147483648))),
  );
  return b.op("select", b.op("lt", a, f32(b, 0.625)), small, signed);
}

function sigmoid32(b: Builder, x: Id, o: MathOptions): Id {
  const one = f32(b, 1);
  const e = exp32(b, b.op("neg", b.op("abs", x)), o);
  const y = b.op("div", e, b.op("add", one, e));
  return b.op("select", b.op("lt", x, f32(b, 0)), y, b.op("sub", one, y));
}

export const expTable: DecompositionTable = {
  exp: (b, [x], o) => exp32(b, x, o),
  tanh: (b, [x], o) => tanh32(b, x, o),
  sigmoid: (b, [x], o) => sigmoid32(b, x, o),
};
