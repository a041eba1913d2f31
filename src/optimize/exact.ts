/**
 * Operations that are a few exact lane operations, spelled out: tests of floats, signs, rounding, ToInt32, and division
 * of integers up to 32 bits, which f64 does without error. What stays is what lanes can do, or what decompose.ts
 * knows how to approximate.
 */
import { type DType, dtypes, isFloat } from "../dtype.ts";
import type { Builder } from "../ir/build.ts";
import { type Id, type Node, type Program, someNode } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import { rewrite } from "./rewrite.ts";

type Expand = (b: Builder, args: readonly Id[], dtype: DType) => Id | null;

const constant = (b: Builder, d: DType, value: number): Id =>
  b.constant(d, dtypes[d].big ? BigInt(value) : value);
const flag = (b: Builder, value: boolean): Id => b.constant("bool", value ? 1 : 0);
const bitsOf = (d: DType): DType => (dtypes[d].lane === "f64" ? "i64" : "i32");
const isSmallInteger = (d: DType): boolean => dtypes[d].kind !== "float" && dtypes[d].lane === "i32";

/** `dtype` is that of the first argument. */
const expansions: Partial<Record<OpName, Expand>> = {
  /** 0 < |x| is false for zeros and for NaN. */
  truthy: (b, [x], d) =>
    isFloat(d)
      ? b.op("lt", constant(b, d, 0), b.op("abs", x))
      : d === "bool"
        ? x
        : b.op("ne", x, constant(b, d, 0)),
  isNaN: (b, [x], d) => (isFloat(d) ? b.op("ne", x, x) : flag(b, false)),
  isFinite: (b, [x], d) =>
    isFloat(d) ? b.op("lt", b.op("abs", x), b.constant(d, Number.POSITIVE_INFINITY)) : flag(b, true),
  isInf: (b, [x], d) =>
    isFloat(d) ? b.op("eq", b.op("abs", x), b.constant(d, Number.POSITIVE_INFINITY)) : flag(b, false),
  signbit: (b, [x], d) => {
    if (dtypes[d].kind === "uint" || d === "bool") return flag(b, false);
    const bits = isFloat(d) ? b.bitcast(bitsOf(d), x) : x;
    return b.op("lt", bits, constant(b, b.dtypeOf(bits), 0));
  },
  sign: (b, [x], d) => {
    const one = constant(b, d, 1);
    if (dtypes[d].kind === "uint") return b.op("min", x, one);
    const minus = constant(b, d, -1);
    if (!isFloat(d)) return b.op("min", b.op("max", x, minus), one);
    const zero = constant(b, d, 0);
    return b.op("select", b.op("gt", x, zero), one, b.op("select", b.op("lt", x, zero), minus, x));
  },
  copysign: (b, [x, y], d) => {
    const bits = bitsOf(d);
    const sign = bits === "i64" ? b.constant("i64", -(2n ** 63n)) : b.constant("i32", -(2 ** 31));
    const rest = bits === "i64" ? b.constant("i64", 2n ** 63n - 1n) : b.constant("i32", 2 ** 31 - 1);
    const magnitude = b.op("bitAnd", b.bitcast(bits, x), rest);
    return b.bitcast(d, b.op("bitOr", magnitude, b.op("bitAnd", b.bitcast(bits, y), sign)));
  },
  /** floor, and one more where at least a half is left; the sign of x, so that -0.5 becomes -0. */
  round: (b, [x], d) => {
    const down = b.op("floor", x);
    const half = b.op("ge", b.op("sub", x, down), constant(b, d, 0.5));
    const up = b.op("select", half, b.op("add", down, constant(b, d, 1)), down);
    return expansions.copysign!(b, [up, x], d);
  },
  fround: (b, [x], d) => (d === "f64" ? b.cast("f64", b.cast("f32", x)) : x),
  imul: (b, [x, y]) => b.op("mul", x, y),
  /** 31 minus the exponent of the number as a double. */
  clz32: (b, [x]) => {
    const bits = b.bitcast("i64", b.cast("f64", b.cast("u32", x)));
    const exponent = b.cast("i32", b.op("shru", bits, b.constant("i64", 52n)));
    const zeros = b.op("sub", b.constant("i32", 1023 + 31), exponent);
    return b.op("select", b.op("eq", x, b.constant("i32", 0)), b.constant("i32", 32), zeros);
  },
  /** y - floor(y / 2^32)·2^32: each step exact; NaN and infinities end as NaN, which casts to 0. */
  toInt32: (b, [x]) => {
    const y = b.op("trunc", b.cast("f64", x));
    const turns = b.op("floor", b.op("mul", y, b.constant("f64", 2 ** -32)));
    return b.cast("i32", b.cast("u32", b.op("sub", y, b.op("mul", turns, b.constant("f64", 2 ** 32)))));
  },
  /** Euclid's loop on magnitudes, which are unsigned; narrow integers go through 32 bits. */
  gcd: (b, args, d) => {
    const wide: DType = dtypes[d].big ? d : dtypes[d].kind === "uint" ? "u32" : "i32";
    const [x, y] = args.map((id) => b.op("abs", b.cast(wide, id)));
    return b.cast(d, b.rare(x, flag(b, true), "gcd", x, y));
  },
  rem: (b, [x, y], d) => (isSmallInteger(d) ? divide(b, x, y, d, "trunc", "remainder") : null),
  floorMod: (b, [x, y], d) => (isSmallInteger(d) ? divide(b, x, y, d, "floor", "remainder") : null),
  floorDivide: (b, [x, y], d) => (isSmallInteger(d) ? divide(b, x, y, d, "floor", "quotient") : null),
};

/**
 * Integers up to 32 bits: x / y in f64 is off by less than 2^-53 of itself, and a quotient that is no integer is
 * further than that from the next one, so its integer part is right. A division by 0 gives 0.
 */
function divide(
  b: Builder,
  x: Id,
  y: Id,
  d: DType,
  part: "trunc" | "floor",
  want: "quotient" | "remainder",
): Id {
  const [p, q] = [b.cast("f64", x), b.cast("f64", y)];
  const quotient = b.op(part, b.op("div", p, q));
  const value = want === "quotient" ? quotient : b.op("sub", p, b.op("mul", quotient, q));
  // Through the 32-bit integer, so that -128 / -1 wraps to -128; only i32's own 2^31 needs help.
  const wide = d === "u32" ? "u32" : "i32";
  const limit = b.constant("f64", 2 ** 31);
  const wrapped =
    want === "quotient" && d === "i32"
      ? b.op("select", b.op("ge", value, limit), b.constant("f64", -(2 ** 31)), value)
      : value;
  const result = b.cast(d, b.cast(wide, wrapped));
  return b.op("select", b.op("eq", y, constant(b, d, 0)), constant(b, d, 0), result);
}

export function expandExact(program: Program, { remainders = false } = {}): Program {
  if (!someNode(program, (node) => Object.hasOwn(expansions, node.op))) return program;
  return rewrite(program, (b: Builder, node: Node, args: readonly Id[]) => {
    if (remainders && node.op === "rem" && (node.dtype === "i32" || node.dtype === "u32")) return null;
    const expand = expansions[node.op as OpName];
    return expand === undefined ? null : expand(b, args, b.dtypeOf(args[0]));
  });
}
