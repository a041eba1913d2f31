/** What a fork means, in plain JavaScript: how many turns it has, how they are cut, how reductions begin and are combined. */
import { type DType, dtypes, isFloat, type Value } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import { evaluator } from "../ir/eval.ts";
import type { Program } from "../ir/node.ts";
import { CUTS } from "./ir.ts";
import type { ReductionOp } from "./tree.ts";

/** Turns of a loop that counts from `start` to before `end`. */
export const turnsOf = (start: number, end: number, step: number): number =>
  end <= start ? 0 : Math.ceil((end - start) / step);

/** Where the cuts begin, and after them where the last one ends, in turns. They depend on the number of turns alone. */
export function cutsOf(turns: number): number[] {
  const cuts = Math.min(turns, CUTS);
  if (cuts === 0) return [0];
  return Array.from({ length: cuts + 1 }, (_, c) => Number((BigInt(c) * BigInt(turns)) / BigInt(cuts)));
}

/** What leaves any value of the dtype as it is, -0 and NaN included; null: the dtype has no such thing. */
export function identityOf(op: ReductionOp, dtype: DType): Value | null {
  if (dtype === "bool") return null;
  const { big, min, max } = dtypes[dtype];
  const as = (x: number): Value => (big ? BigInt(x) : x);
  switch (op) {
    case "add":
      return isFloat(dtype) ? -0 : as(0);
    case "mul":
      return as(1);
    case "min":
      return isFloat(dtype) ? Number.POSITIVE_INFINITY : max;
    case "max":
      return isFloat(dtype) ? Number.NEGATIVE_INFINITY : min;
    case "bitAnd":
      return isFloat(dtype) ? null : dtype === "i64" || dtype === "i32" ? as(-1) : null;
    case "bitOr":
    case "bitXor":
      return isFloat(dtype) ? null : as(0);
  }
}

/** a op b, of one dtype. */
export function combination(op: ReductionOp, dtype: DType): Program {
  const b = new Builder();
  return b.finish(b.op(op, b.input(0, dtype), b.input(1, dtype)), [dtype, dtype]);
}

export const combined = (op: ReductionOp, dtype: DType, a: Value, b: Value): Value =>
  evaluator(combination(op, dtype))([a, b]);
