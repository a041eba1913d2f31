/**
 * Remainders and floor division of floats, exact to the bit, and powers of integers. Where the quotient is small the
 * remainder is computed in lanes by products that f64 holds exactly; elsewhere a scalar function is called.
 */
import { type DType, dtypes } from "../../dtype.ts";
import type { Builder } from "../../ir/build.ts";
import type { Id } from "../../ir/node.ts";
import { constantOf } from "../rewrite.ts";
import type { Decomposition, DecompositionTable } from "./kit.ts";

/** a % b: the sign of a, and |a % b| < |b|. */
function remainder(b: Builder, x: Id, y: Id): Id {
  const fast = b.dtypeOf(x) === "f32" ? floatRemainder(b, x, y) : doubleRemainder(b, x, y);
  const within = b.op("lt", b.op("abs", x), b.op("abs", y));
  const value = b.op("select", within, x, b.op("copysign", fast.value, x));
  return b.rare(value, fast.isRare, "rem", x, y);
}

interface Fast {
  /** The magnitude; its sign does not matter. */
  readonly value: Id;
  readonly isRare: Id;
}

/**
 * In f64, for a quotient q < 2^29: q·y has 29 + 24 bits, so it is exact, and x/y is at least 2^-24 away from an integer
 * that it does not equal, so rounding cannot lift it to one.
 */
function floatRemainder(b: Builder, x: Id, y: Id): Fast {
  const [p, q] = [b.cast("f64", x), b.cast("f64", y)];
  const quotient = b.op("trunc", b.op("div", p, q));
  const rest = b.op("sub", p, b.op("mul", quotient, q));
  return {
    value: b.cast("f32", rest),
    isRare: b.op("ge", b.op("abs", quotient), b.constant("f64", 2 ** 29)),
  };
}

/**
 * For a quotient q ≤ 2^26, y is cut into halves of 27 and 26 bits whose products with q are exact, and so is what they
 * leave of x. If x/y was rounded up to an integer, q is one too large and the rest is negative.
 */
function doubleRemainder(b: Builder, x: Id, y: Id): Fast {
  const [p, q] = [b.op("abs", x), b.op("abs", y)];
  const quotient = b.op("trunc", b.op("div", p, q));
  const highBits = b.op("bitAnd", b.bitcast("i64", q), b.constant("i64", -(1n << 26n)));
  const high = b.bitcast("f64", highBits);
  const low = b.op("sub", q, high);
  const most = b.op("sub", p, b.op("mul", quotient, high));
  const rest = b.op("sub", most, b.op("mul", quotient, low));
  const repaired = b.op("select", b.op("lt", rest, b.constant("f64", 0)), b.op("add", rest, q), rest);
  return { value: repaired, isRare: b.op("gt", quotient, b.constant("f64", 2 ** 26)) };
}

/** The sign of the divisor, as Python's %: a zero takes it, another remainder of the wrong sign moves by one divisor. */
function floorModulo(b: Builder, x: Id, y: Id): Id {
  const zero = b.constant(b.dtypeOf(x), 0);
  const r = remainder(b, x, y);
  const differ = b.op("ne", b.op("lt", r, zero), b.op("lt", y, zero));
  const moved = b.op("select", differ, b.op("add", r, y), r);
  return b.op("select", b.op("eq", r, zero), b.op("copysign", zero, y), moved);
}

/** NumPy's floor_divide, step by step as ops.ts has it, in f64 for both dtypes. */
function floorQuotient(b: Builder, x: Id, y: Id): Id {
  const d = b.dtypeOf(x);
  const f64 = (value: number) => b.constant("f64", value);
  const [p, q, mod] = [x, y, remainder(b, x, y)].map((id) => b.cast("f64", id));
  const zero = f64(0);
  const ratio = b.op("div", p, q);
  const exact = b.op("div", b.op("sub", p, mod), q);
  const differ = b.op("ne", b.op("lt", q, zero), b.op("lt", mod, zero));
  const below = b.op("and", b.op("ne", mod, zero), differ);
  const quotient = b.op("select", below, b.op("sub", exact, f64(1)), exact);
  const floor = b.op("floor", quotient);
  const high = b.op("gt", b.op("sub", quotient, floor), f64(0.5));
  const rounded = b.op("select", high, b.op("add", floor, f64(1)), floor);
  const signed = b.op("select", b.op("eq", quotient, zero), b.op("copysign", zero, ratio), rounded);
  return b.cast(d, b.op("select", b.op("eq", q, zero), ratio, signed));
}

export const moduloTable: DecompositionTable = {
  rem: (b, [x, y]) => remainder(b, x, y),
  floorMod: (b, [x, y]) => floorModulo(b, x, y),
  floorDivide: (b, [x, y]) => floorQuotient(b, x, y),
};

/* Integers --------------------------------------------------------------------------------------------- */

/** A constant exponent up to this becomes multiplications: at most 11 of them. */
const LARGEST_UNROLLED = 100;

/** x^n of any integer dtype; wraps, and a negative n truncates 1 / x^-n towards zero. */
export const integerPower: Decomposition = (b, [x, n]) => {
  const d = b.dtypeOf(x);
  const exponent = constantOf(b, n);
  if (exponent !== undefined && exponent < 0) return reciprocalPower(b, x, BigInt(exponent));
  if (exponent !== undefined && exponent <= LARGEST_UNROLLED) return repeatedProduct(b, x, Number(exponent));
  // Narrow integers go through 32 bits: the low bits of a power follow from the low bits of its base.
  const unsigned = dtypes[d].kind === "uint";
  const wide: DType = dtypes[d].big ? d : unsigned ? "u32" : "i32";
  const [base, power] = [b.cast(wide, x), b.cast(wide, n)];
  return b.cast(d, b.rare(base, b.constant("bool", 1), unsigned ? "upow" : "ipow", base, power));
};

const integer = (b: Builder, d: DType, value: number): Id =>
  b.constant(d, dtypes[d].big ? BigInt(value) : value);

function repeatedProduct(b: Builder, x: Id, n: number): Id {
  let result: Id | null = null;
  for (let e = n, square = x; e > 0; e >>= 1) {
    if (e & 1) result = result === null ? square : b.op("mul", result, square);
    if (e > 1) square = b.op("mul", square, square);
  }
  return result ?? integer(b, b.dtypeOf(x), 1);
}

/** n < 0: 1 for x = 1, ±1 for x = -1, else 0. */
function reciprocalPower(b: Builder, x: Id, n: bigint): Id {
  const d = b.dtypeOf(x);
  const one = integer(b, d, 1);
  const minus = integer(b, d, -1);
  const ofMinusOne = b.op("select", b.op("eq", x, minus), n % 2n === 0n ? one : minus, integer(b, d, 0));
  return b.op("select", b.op("eq", x, one), one, ofMinusOne);
}
