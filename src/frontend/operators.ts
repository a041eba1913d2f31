/** JavaScript's operators of two operands, and the operation that each is. */
import type { OpName } from "../ir/ops.ts";

export const binaryOps: Readonly<Record<string, OpName>> = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "%": "rem",
  "**": "pow",
  "&": "bitAnd",
  "|": "bitOr",
  "^": "bitXor",
  "<<": "shl",
  ">>": "shr",
  ">>>": "shru",
  "==": "eq",
  "===": "eq",
  "!=": "ne",
  "!==": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
};
