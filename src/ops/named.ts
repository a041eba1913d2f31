/**
 * The named elementwise operations: one row each, a few template nodes, NumPy's meaning. Nothing is parsed. A row may
 * say what it does on bool, where NumPy's arithmetic is logic.
 */
import { type DType, dtypeNames, dtypes, isFloat, isHalf, isInteger, promoteAll } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Id } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import type { Captured } from "../run/call.ts";
import { typeIds } from "../run/plans.ts";
import { checkOptionalDType } from "./arguments.ts";
import { Callable, Definition } from "./function.ts";

type Make = (t: TemplateBuilder, ...x: Id[]) => Id;
interface NamedRow {
  readonly arity: 1 | 2 | 3 | 4 | 5;
  readonly make: Make;
  /** Used when every operand is bool; null where NumPy refuses. */
  readonly bool?: Make | null;
  /** Used when the operands meet in 64-bit integers. */
  readonly wide?: Make;
  /**
   * "float": the operands are converted to the float dtype they meet in, f64 for integers, before anything else.
   * "integer": floats are refused.
   * "compared": a number beyond the integers' range is as good as infinity.
   */
  readonly operands?: "float" | "integer" | "compared";
  /** The dtype that tensors are converted to first; undefined: they meet where they are used. */
  readonly meet?: (tensors: readonly DType[], scalars: readonly Captured[]) => DType | undefined;
}

const plain =
  (op: OpName): Make =>
  (t, ...x) =>
    t.op(op, x);
const unary = (op: OpName): NamedRow => ({ arity: 1, make: plain(op) });
const binary = (op: OpName): NamedRow => ({ arity: 2, make: plain(op) });
/** NumPy's truth: anything but 0, so NaN is true. */
const nonzero = (t: TemplateBuilder, x: Id) => t.cast("bool", x);
const same: Make = (_, x) => x;
/** Rounding leaves integers alone, and bool too. */
const rounding = (op: OpName): NamedRow => ({ arity: 1, make: plain(op), bool: same });
const comparison = (op: OpName): NamedRow => ({ arity: 2, make: plain(op), operands: "compared" });
const bits = (op: OpName): NamedRow => ({ arity: 2, make: plain(op), operands: "integer" });
/** A number that is there beats a NaN. */
const known =
  (op: "max" | "min"): Make =>
  (t, a, b) =>
    t.op("select", [t.op("isNaN", [a]), b, t.op("select", [t.op("isNaN", [b]), a, t.op(op, [a, b])])]);

/** By a count beyond the width all bits leave; what comes in from the left is the sign. */
const shift =
  (op: "shl" | "shr", width: number): Make =>
  (t, x, count) => {
    const inside = t.op("and", [t.op("ge", [count, t.literal(0)]), t.op("lt", [count, t.literal(width)])]);
    const near = t.op(op, [x, t.op("select", [inside, count, t.literal(width - 1)])]);
    const gone = op === "shl" ? t.literal(0) : t.op("shr", [near, t.literal(1)]);
    return t.op("select", [inside, near, gone]);
  };
const shiftRow = (op: "shl" | "shr"): NamedRow => ({
  arity: 2,
  make: shift(op, 32),
  wide: shift(op, 64),
  operands: "integer",
  meet: ofShift,
});

/** Three tensors of several dtypes meet at once, not two by two. */
function ofBounds(tensors: readonly DType[]): DType | undefined {
  return tensors.length === 3 && new Set(tensors).size > 1 ? promoteAll(tensors) : undefined;
}

/** A bool is shifted, and shifts, in the other operand's dtype. */
function ofShift(tensors: readonly DType[], scalars: readonly Captured[]): DType | undefined {
  const flags = scalars.filter((s) => typeof s === "boolean").map((): DType => "bool");
  const both = [...tensors, ...flags];
  const isMixed = both.includes("bool") && both.some((d) => d !== "bool");
  return isMixed ? promoteAll(both) : undefined;
}

/** log(e^a + e^b) to the base whose powers `power` takes: the larger one, and what the smaller adds to it. */
const logSum =
  (power: "exp" | "exp2", ofTwo: number, scale: number): Make =>
  (t, a, b) => {
    const distance = t.op("abs", [t.op("sub", [a, b])]);
    const more = t.op("log1p", [t.op(power, [t.op("neg", [distance])])]);
    const sum = t.op("add", [t.op("max", [a, b]), t.op("mul", [more, t.literal(scale)])]);
    // Equal infinities have no distance.
    return t.op("select", [t.op("eq", [a, b]), t.op("add", [a, t.literal(ofTwo)]), sum]);
  };

/** Halves go to even. With a scale, x is rounded to multiples of down / up, one of which is 1. */
const round: Make = (t, x, up, down) => {
  if (up === undefined) return t.op("nearest", [x]);
  const scaled = t.op("div", [t.op("mul", [x, up]), down]);
  const result = t.op("mul", [t.op("div", [t.op("nearest", [scaled]), up]), down]);
  return t.op("select", [t.op("isFinite", [scaled]), result, x]);
};

/** sin(πx) / (πx). The nearest whole number leaves x first, so that the sine of its multiple of π is exactly 0. */
const sinc: Make = (t, x) => {
  const whole = t.op("nearest", [x]);
  const half = t.op("mul", [whole, t.literal(0.5)]);
  const isOdd = t.op("ne", [t.op("floor", [half]), half]);
  const sine = t.op("sin", [t.op("mul", [t.op("sub", [x, whole]), t.literal(Math.PI)])]);
  const turned = t.op("select", [isOdd, t.op("neg", [sine]), sine]);
  const value = t.op("div", [turned, t.op("mul", [x, t.literal(Math.PI)])]);
  return t.op("select", [t.op("eq", [x, t.literal(0)]), t.literal(1), value]);
};

const heaviside: Make = (t, x, atZero) => {
  const zero = t.literal(0);
  const positive = t.op("select", [t.op("gt", [x, zero]), t.literal(1), x]);
  const side = t.op("select", [t.op("lt", [x, zero]), zero, positive]);
  return t.op("select", [t.op("eq", [x, zero]), atZero, side]);
};

const nanToNum: Make = (t, x, nan, high, low) => {
  const finite = t.op("select", [
    t.op("isInf", [x]),
    t.op("select", [t.op("gt", [x, t.literal(0)]), high, low]),
    x,
  ]);
  return t.op("select", [t.op("isNaN", [x]), nan, finite]);
};

/** |a - b| ≤ atol + rtol·|b|; infinities are close to themselves. */
const isclose: Make = (t, a, b, rtol, atol, equalNan) => {
  const bound = t.op("add", [atol, t.op("mul", [rtol, t.op("abs", [b])])]);
  const near = t.op("le", [t.op("abs", [t.op("sub", [a, b])]), bound]);
  const within = t.op("and", [near, t.op("isFinite", [b])]);
  const bothNan = t.op("and", [t.op("isNaN", [a]), t.op("isNaN", [b])]);
  const same = t.op("or", [t.op("eq", [a, b]), t.op("and", [bothNan, nonzero(t, equalNan)])]);
  return t.op("or", [within, same]);
};

/** |a / g|·|b|; b goes through g as well, so that both are of the dtype the operands meet in. */
const lcm: Make = (t, a, b) => {
  const divisor = t.op("gcd", [a, b]);
  const [p, q] = [a, b].map((x) => t.op("floorDivide", [x, divisor]));
  return t.op("mul", [t.op("abs", [p]), t.op("abs", [t.op("mul", [q, divisor])])]);
};

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
  /** C's fmod: the sign of the dividend. */
  fmod: binary("rem"),
  fmax: { arity: 2, make: known("max") },
  fmin: { arity: 2, make: known("min") },
  logaddexp: { arity: 2, make: logSum("exp", Math.LN2, 1), operands: "float" },
  logaddexp2: { arity: 2, make: logSum("exp2", 1, Math.LOG2E), operands: "float" },
  /** 0 below zero, 1 above it, and the second operand at zero. */
  heaviside: { arity: 2, make: heaviside, operands: "float" },
  gcd: { arity: 2, make: plain("gcd"), bool: null, operands: "integer" },
  lcm: { arity: 2, make: lcm, bool: null, operands: "integer" },

  neg: { arity: 1, make: plain("neg"), bool: null },
  positive: { arity: 1, make: same, bool: null },
  abs: { arity: 1, make: plain("abs"), bool: same },
  /** 0 for both zeros, as NumPy. Math.sign keeps -0. */
  sign: {
    arity: 1,
    make: (t, x) => t.op("select", [t.op("eq", [x, t.literal(0)]), t.literal(0), t.op("sign", [x])]),
    bool: null,
  },
  square: { arity: 1, make: (t, x) => t.op("mul", [x, x]), bool: same },
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
  sinc: { arity: 1, make: sinc, operands: "float" },
  deg2rad: { arity: 1, make: (t, x) => t.op("mul", [x, t.literal(Math.PI / 180)]), operands: "float" },
  rad2deg: { arity: 1, make: (t, x) => t.op("mul", [x, t.literal(180 / Math.PI)]), operands: "float" },
  floor: rounding("floor"),
  ceil: rounding("ceil"),
  trunc: rounding("trunc"),
  /** Halves go to even, as NumPy. Math.round takes them up. */
  round: { arity: 1, make: round, bool: same },
  /** What stands in for NaN, for infinity and for -infinity. */
  nanToNum: { arity: 4, make: nanToNum },

  equal: comparison("eq"),
  notEqual: comparison("ne"),
  less: comparison("lt"),
  lessEqual: comparison("le"),
  greater: comparison("gt"),
  greaterEqual: comparison("ge"),
  logicalAnd: { arity: 2, make: (t, a, b) => t.op("and", [nonzero(t, a), nonzero(t, b)]) },
  logicalOr: { arity: 2, make: (t, a, b) => t.op("or", [nonzero(t, a), nonzero(t, b)]) },
  logicalXor: { arity: 2, make: (t, a, b) => t.op("ne", [nonzero(t, a), nonzero(t, b)]) },
  logicalNot: { arity: 1, make: (t, x) => t.op("not", [nonzero(t, x)]) },
  isnan: unary("isNaN"),
  isfinite: unary("isFinite"),
  isinf: unary("isInf"),
  signbit: unary("signbit"),
  /** rtol, atol and whether NaNs are equal follow the operands. */
  isclose: { arity: 5, make: isclose, operands: "float" },

  bitwiseAnd: bits("bitAnd"),
  bitwiseOr: bits("bitOr"),
  bitwiseXor: bits("bitXor"),
  bitwiseNot: { arity: 1, make: plain("bitNot"), bool: plain("not"), operands: "integer" },
  leftShift: shiftRow("shl"),
  rightShift: shiftRow("shr"),

  /** condition ? a : b, element by element. */
  where: { arity: 3, make: (t, c, a, b) => t.op("select", [nonzero(t, c), a, b]) },
  /** x held between low and high. */
  clip: { arity: 3, make: (t, x, low, high) => t.op("min", [t.op("max", [x, low]), high]), meet: ofBounds },
} satisfies Record<string, NamedRow>;

export type NamedOp = keyof typeof rows;
const table: Record<NamedOp, NamedRow> = rows;

export const namedOps = Object.keys(rows) as readonly NamedOp[];
/** How many operands an operation takes; null: there is none of this name. */
export const arityOf = (name: unknown): number | null =>
  typeof name === "string" && Object.hasOwn(table, name) ? table[name as NamedOp].arity : null;

const cache = new Map<string, Callable>();

/** Operands of those rows whose callable follows from dtypes and kinds alone, as digits of a number. */
const [NUMBER, BOOLEAN] = [dtypeNames.length + 1, dtypeNames.length + 2];
const quick = new Map<NamedOp, Map<number, Callable>>();

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
  const row = table[name];
  const isPlain = dtype === undefined && (scalars.length === 0 || (!row.operands && !row.meet && !row.wide));
  if (!isPlain) return findCallable(name, operands, scalars, dtype);
  let code = 1;
  for (let k = 0, s = 0; k < operands.length; k++) {
    const d = operands[k];
    code = code * 32 + (d !== null ? typeIds[d] : typeof scalars[s++] === "boolean" ? BOOLEAN : NUMBER);
  }
  let known = quick.get(name);
  if (known === undefined) {
    known = new Map();
    quick.set(name, known);
  }
  let callable = known.get(code);
  if (callable === undefined) {
    callable = findCallable(name, operands, scalars, dtype);
    known.set(code, callable);
  }
  return scalars.length === 0 ? callable : callable.withValues(scalars);
}

function findCallable(
  name: NamedOp,
  operands: readonly (DType | null)[],
  scalars: readonly Captured[],
  dtype: DType | undefined,
): Callable {
  checkOptionalDType(name, dtype);
  const row = table[name];
  const tensors = operands.filter((d) => d !== null);
  const allBool = tensors.every((d) => d === "bool") && scalars.every((s) => typeof s === "boolean");
  const ofFloats = row.operands === "float" && dtype === undefined;
  const inDType = ofFloats ? commonFloat(tensors) : (dtype ?? row.meet?.(tensors, scalars));
  if (row.operands === "integer") checkIntegers(name, tensors, scalars, dtype);
  const isWide = row.wide !== undefined && dtypes[inDType ?? promoteAll(tensors)].big;
  const isLogic = dtype === "bool" || (allBool && inDType === undefined);
  const form = isWide ? "wide" : isLogic ? "bool" : "make";
  const key = `${name}|${operands.map((d) => (d === null ? "s" : "t")).join("")}|${form}|${inDType ?? ""}`;
  let callable = cache.get(key);
  if (callable === undefined) {
    callable = new Callable(new Definition(buildTemplate(name, operands, form, inDType)));
    cache.set(key, callable);
  }
  if (scalars.length === 0) return callable;
  if (isWide) return callable.withValues(operands[0] === null ? scalars : scalars.map(countOf));
  const isCompared = row.operands === "compared" && dtype === undefined;
  return callable.withValues(isCompared ? withinReach(tensors[0], scalars) : scalars);
}

/** Whole numbers that no element of an integer tensor can equal, as the infinity on their side. */
function withinReach(d: DType, scalars: readonly Captured[]): readonly Captured[] {
  if (!isInteger(d)) return scalars;
  const { min, max } = dtypes[d];
  return scalars.map((s) => (typeof s === "boolean" ? s : s < min ? -Infinity : s > max ? Infinity : s));
}

/** How far to shift 64 bits: what a bigint beyond their width says, 64 does. */
const countOf = (s: Captured): Captured => (typeof s !== "bigint" ? s : s < 0n || s > 64n ? 64 : Number(s));

function commonFloat(tensors: readonly DType[]): DType {
  const d = promoteAll(tensors);
  return isFloat(d) ? d : "f64";
}

function checkIntegers(
  name: NamedOp,
  tensors: readonly DType[],
  scalars: readonly Captured[],
  dtype: DType | undefined,
): void {
  const remedy = 'It is for integers: convert with to("i32") first.';
  const float = (dtype === undefined ? tensors : [dtype]).find(isFloat);
  if (float !== undefined) fail("dtype", name, `not defined on ${float}.`, remedy);
  const fraction = scalars.find((s) => typeof s === "number" && !Number.isInteger(s));
  if (fraction !== undefined) fail("dtype", name, `not defined on ${describe(fraction)}.`, remedy);
}

const boolRemedies: Partial<Record<NamedOp, string>> = {
  sub: "Use bitwiseXor or logicalXor, or convert with to(…) first.",
  neg: "Use logicalNot, or convert with to(…) first.",
};

function buildTemplate(
  name: NamedOp,
  operands: readonly (DType | null)[],
  form: "make" | "bool" | "wide",
  dtype?: DType,
) {
  const row = table[name];
  const own = row[form];
  const make = own === undefined ? row.make : own;
  if (make === null) {
    return fail("dtype", name, "not defined on bool.", boolRemedies[name] ?? "Convert with to(…) first.");
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
  // Constants inside a function of floats keep f32's precision, and the result rounds once.
  const isWidened = row.operands === "float" && dtype !== undefined && isHalf(dtype);
  const result = make(t, ...(isWidened ? typed.map((x) => t.cast("f32", x)) : typed));
  const stored = isWidened && t.typeOf(result) === "number" ? t.cast(dtype, result) : result;
  return t.finish(stored, { inputs, params, name });
}
