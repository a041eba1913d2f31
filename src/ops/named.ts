/**
 * The named elementwise operations: one row each, a few template nodes, NumPy's meaning. Nothing is parsed. A row may
 * say what it does on bool, where NumPy's arithmetic is logic.
 */
import type { DType } from "../dtype.ts";
import { fail } from "../errors.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Id } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import { checkOptionalDType } from "./arguments.ts";
import { Callable, type Captured } from "./function.ts";

type Make = (t: TemplateBuilder, ...x: Id[]) => Id;
interface NamedRow {
  readonly arity: 1 | 2 | 3;
  readonly make: Make;
  /** Used when every operand is bool; null where NumPy refuses. */
  readonly bool?: Make | null;
}

const plain =
  (op: OpName): Make =>
  (t, ...x) =>
    t.op(op, x);
const unary = (op: OpName): NamedRow => ({ arity: 1, make: plain(op) });
const binary = (op: OpName): NamedRow => ({ arity: 2, make: plain(op) });
/** NumPy's truth: anything but 0, so NaN is true. */
const nonzero = (t: TemplateBuilder, x: Id) => t.cast("bool", x);

const rows = {
  add: { arity: 2, make: plain("add"), bool: plain("or") },
  sub: { arity: 2, make: plain("sub"), bool: null },
  mul: { arity: 2, make: plain("mul"), bool: plain("and") },
  div: binary("div"),
  /** The sign of the divisor, as NumPy. JavaScript's % is in kernels. */
  remainder: binary("floorMod"),
  floorDivide: binary("floorDivide"),
  /** C's pow: 1 to any power is 1, and so is -1 to ±infinity. JavaScript's ** is in kernels. */
  pow: {
    arity: 2,
    make: (t, a, b) => {
      const one = t.literal(1);
      const unit = t.op("and", [t.op("eq", [t.op("abs", [a]), one]), t.op("isInf", [b])]);
      const always = t.op("or", [t.op("eq", [a, one]), unit]);
      return t.op("select", [always, one, t.op("pow", [a, b])]);
    },
  },
  maximum: binary("max"),
  minimum: binary("min"),
  atan2: binary("atan2"),
  hypot: binary("hypot"),
  copysign: binary("copysign"),

  neg: { arity: 1, make: plain("neg"), bool: null },
  abs: { arity: 1, make: plain("abs"), bool: (_, x) => x },
  /** 0 for both zeros, as NumPy. Math.sign keeps -0. */
  sign: {
    arity: 1,
    make: (t, x) => t.op("select", [t.op("eq", [x, t.literal(0)]), t.literal(0), t.op("sign", [x])]),
  },
  square: { arity: 1, make: (t, x) => t.op("mul", [x, x]), bool: (_, x) => x },
  reciprocal: { arity: 1, make: (t, x) => t.op("div", [t.literal(1), x]) },
  relu: { arity: 1, make: (t, x) => t.op("max", [x, t.literal(0)]) },
  sigmoid: unary("sigmoid"),
  sqrt: unary("sqrt"),
  cbrt: unary("cbrt"),
  exp: unary("exp"),
  exp2: unary("exp2"),
  expm1: unary("expm1"),
  log: unary("log"),
  log2: unary("log2"),
  log10: unary("log10"),
  log1p: unary("log1p"),
  sin: unary("sin"),
  cos: unary("cos"),
  tan: unary("tan"),
  asin: unary("asin"),
  acos: unary("acos"),
  atan: unary("atan"),
  sinh: unary("sinh"),
  cosh: unary("cosh"),
  tanh: unary("tanh"),
  asinh: unary("asinh"),
  acosh: unary("acosh"),
  atanh: unary("atanh"),
  floor: unary("floor"),
  ceil: unary("ceil"),
  trunc: unary("trunc"),
  /** Halves go to even, as NumPy. Math.round takes them up. */
  round: unary("nearest"),

  equal: binary("eq"),
  notEqual: binary("ne"),
  less: binary("lt"),
  lessEqual: binary("le"),
  greater: binary("gt"),
  greaterEqual: binary("ge"),
  logicalAnd: { arity: 2, make: (t, a, b) => t.op("and", [nonzero(t, a), nonzero(t, b)]) },
  logicalOr: { arity: 2, make: (t, a, b) => t.op("or", [nonzero(t, a), nonzero(t, b)]) },
  logicalXor: { arity: 2, make: (t, a, b) => t.op("ne", [nonzero(t, a), nonzero(t, b)]) },
  logicalNot: { arity: 1, make: (t, x) => t.op("not", [nonzero(t, x)]) },
  isnan: unary("isNaN"),
  isfinite: unary("isFinite"),
  isinf: unary("isInf"),
  signbit: unary("signbit"),

  bitwiseAnd: binary("bitAnd"),
  bitwiseOr: binary("bitOr"),
  bitwiseXor: binary("bitXor"),
  bitwiseNot: { arity: 1, make: plain("bitNot"), bool: plain("not") },
  leftShift: binary("shl"),
  rightShift: binary("shr"),

  /** condition ? a : b, element by element. */
  where: { arity: 3, make: (t, c, a, b) => t.op("select", [nonzero(t, c), a, b]) },
  /** x held between low and high. */
  clip: { arity: 3, make: (t, x, low, high) => t.op("min", [t.op("max", [x, low]), high]) },
} satisfies Record<string, NamedRow>;

export type NamedOp = keyof typeof rows;
const table: Record<NamedOp, NamedRow> = rows;

const cache = new Map<string, Callable>();

/**
 * The callable of a named operation for operands that are tensors (a dtype) or scalars (null). Scalars are
 * captured values, in order; `dtype` converts every operand first, as NumPy's dtype= does.
 */
export function namedCallable(
  name: NamedOp,
  operands: readonly (DType | null)[],
  scalars: readonly Captured[],
  dtype?: DType,
): Callable {
  checkOptionalDType(name, dtype);
  const tensors = operands.filter((d) => d !== null);
  const allBool = tensors.every((d) => d === "bool") && scalars.every((s) => typeof s === "boolean");
  const key = `${name}|${operands.map((d) => (d === null ? "s" : "t")).join("")}|${allBool}|${dtype ?? ""}`;
  let callable = cache.get(key);
  if (callable === undefined) {
    callable = new Callable(buildTemplate(name, operands, allBool, dtype), null, null);
    cache.set(key, callable);
  }
  return scalars.length === 0 ? callable : callable.withValues(scalars);
}

function buildTemplate(name: NamedOp, operands: readonly (DType | null)[], allBool: boolean, dtype?: DType) {
  const row = table[name];
  const make = allBool && row.bool !== undefined && dtype === undefined ? row.bool : row.make;
  if (make === null) {
    return fail(
      "dtype",
      name,
      "not defined on bool.",
      name === "sub"
        ? "Use bitwiseXor or logicalXor, or convert with to(…) first."
        : "Use logicalNot, or convert with to(…) first.",
    );
  }
  const t = new TemplateBuilder();
  let inputs = 0;
  const params: string[] = [];
  const args = operands.map((d) => {
    if (d !== null) return t.input(inputs++);
    params.push(`s${params.length}`);
    return t.param(params.length - 1);
  });
  const isCondition = (i: number) => name === "where" && i === 0;
  const typed = dtype === undefined ? args : args.map((x, i) => (isCondition(i) ? x : t.cast(dtype, x)));
  return t.finish(make(t, ...typed), { inputs, params, name });
}
