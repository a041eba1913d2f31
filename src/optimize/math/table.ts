/**
 * Functions of floats as arithmetic: one row a function, its decomposition on f32 and f64. The same nodes serve scalar
 * code, SIMD lanes and the interpreter, so accuracy is measured once and holds everywhere.
 */
import type { Builder } from "../../ir/build.ts";
import type { Id } from "../../ir/node.ts";
import type { OpName } from "../../ir/ops.ts";

export interface MathOptions {
  /** a·b + c is one instruction with one rounding (relaxed SIMD). */
  readonly fma: boolean;
}

/** Appends nodes for op(args) to the builder. The arguments are all f32 or all f64, and so is the result. */
export type Decomposition = (b: Builder, args: readonly Id[], options: MathOptions) => Id;
export type DecompositionTable = Partial<Record<OpName, Decomposition>>;

/** a·b + c: fused where the host can, two roundings elsewhere. Decompositions must be right both ways. */
export function madd(b: Builder, x: Id, y: Id, z: Id, options: MathOptions): Id {
  return options.fma ? b.op("madd", x, y, z) : b.op("add", b.op("mul", x, y), z);
}

/** c[0] + c[1]·x + c[2]·x² + …, by Horner's rule. */
export function polynomial(b: Builder, x: Id, coefficients: readonly number[], options: MathOptions): Id {
  const d = b.dtypeOf(x);
  const c = coefficients.map((value) => b.constant(d, d === "f32" ? Math.fround(value) : value));
  let sum = c[c.length - 1];
  for (let i = c.length - 2; i >= 0; i--) sum = madd(b, sum, x, c[i], options);
  return sum;
}
