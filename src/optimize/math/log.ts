/**
 * log and its relatives on f32 and f64.
 *
 * x = 2^k·(1 + f) with 1 + f in [√½, √2): log x = k·ln 2 + f + f²·q(f), ln 2 in two parts.
 */
import type { Builder } from "../../ir/build.ts";
import type { Id } from "../../ir/node.ts";
import { type DecompositionTable, type MathOptions, madd, polynomial } from "./table.ts";

const f32 = (b: Builder, value: number): Id => b.constant("f32", Math.fround(value));
const i32 = (b: Builder, value: number): Id => b.constant("i32", value);

const SQRT_HALF_BITS32 = 0x3f3504f3;
const LN2_HIGH32 = 0.693359375;
const LN2_LOW32 = -2.1219444e-4;

function log32(b: Builder, x: Id, o: MathOptions): Id {
  const tiny = b.op("lt", x, f32(b, 2 ** -126));
  const i = b.bitcast("i32", b.op("select", tiny, b.op("mul", x, f32(b, 2 ** 23)), x));
  const exponent = b.op("shr", b.op("sub", i, i32(b, SQRT_HALF_BITS32)), i32(b, 23));
  const mantissa = b.bitcast("f32", b.op("sub", i, b.op("shl", exponent, i32(b, 23))));
  const k = b.op("sub", b.cast("f32", exponent), b.op("select", tiny, f32(b, 23), f32(b, 0)));
  const f = b.op("sub", mantissa, f32(b, 1));
  const q = polynomial(
    b,
    f,
    [
      -0.5, 0.3333333134651184, -0.250008225440979, 0.20001259446144104, -0.16623342037200928,
      0.14201055467128754, -0.13159559667110443, 0.1276588886976242, -0.07641373574733734,
    ],
    o,
  );
  const low = madd(b, b.op("mul", f, f), q, b.op("mul", k, f32(b, LN2_LOW32)), o);
  const y = madd(b, k, f32(b, LN2_HIGH32), b.op("add", f, low), o);
  return logEdges(b, x, y);
}

/** log at the edges: -∞ at 0, NaN below, ∞ at ∞. */
function logEdges(b: Builder, x: Id, y: Id): Id {
  const d = b.dtypeOf(x);
  const c = (value: number) => b.constant(d, value);
  const notPositive = b.op("select", b.op("eq", x, c(0)), c(-Infinity), c(NaN));
  const finite = b.op("select", b.op("eq", x, c(Infinity)), x, y);
  return b.op("select", b.op("gt", x, c(0)), finite, notPositive);
}

export const logTable: DecompositionTable = {
  log: (b, [x], o) => log32(b, x, o),
};
