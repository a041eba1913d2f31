/**
 * The small algebra decompositions are written in: a Builder, one float dtype, and whether a fused multiply-add
 * may be used. Every method appends primitive nodes; numbers given where an Id is expected must go through `c`.
 */
import type { Builder } from "../../ir/build.ts";
import type { Id } from "../../ir/node.ts";
import type { OpName } from "../../ir/ops.ts";

export interface DecomposeOptions {
  /** The host fuses `madd` (one rounding); without it a product and a sum are written. */
  readonly fma: boolean;
}
export type Decomposition = (b: Builder, args: readonly Id[], options: DecomposeOptions) => Id;
export type DecompositionTable = Partial<Record<OpName, Decomposition>>;
export type Float = "f32" | "f64";

export type Formula = (k: Calc, ...args: Id[]) => Id;

/** An f32 function by f64 lanes: promoted, computed to some 33 bits, rounded once. */
export function throughDouble(formula: Formula): Formula {
  return (k, ...args) => {
    const wide = new Calc(k.b, "f64", { fma: k.fma }, true);
    return k.b.cast("f32", formula(wide, ...args.map((x) => k.b.cast("f64", x))));
  };
}

/** What differs between the two float layouts. */
const layouts = {
  f32: { int: "i32", bits: 32, mantissa: 23, bias: 127, magic: 1.5 * 2 ** 23 },
  f64: { int: "i64", bits: 64, mantissa: 52, bias: 1023, magic: 1.5 * 2 ** 52 },
} as const;

export class Calc {
  readonly b: Builder;
  readonly dtype: Float;
  readonly fma: boolean;
  /** f64 lanes that serve an f32 function: some 33 good bits will do, and polynomials are short. */
  readonly short: boolean;
  /** The integer dtype of the same size, and the layout of the float. */
  readonly int: "i32" | "i64";
  readonly mantissa: number;
  readonly bias: number;
  /** x + magic - magic rounds x to an integer; the low bits of x + magic are that integer. */
  readonly magic: number;

  constructor(b: Builder, dtype: Float, options: DecomposeOptions, short = false) {
    this.b = b;
    this.dtype = dtype;
    this.fma = options.fma;
    this.short = short;
    const { int, mantissa, bias, magic } = layouts[dtype];
    this.int = int;
    this.mantissa = mantissa;
    this.bias = bias;
    this.magic = magic;
  }

  /** A float constant, rounded to the dtype. */
  c(value: number): Id {
    return this.b.constant(this.dtype, this.dtype === "f32" ? Math.fround(value) : value);
  }
  /** An integer constant of the float's size: a count, or a bit pattern. */
  i(value: number | bigint): Id {
    if (this.int === "i64") return this.b.constant("i64", BigInt.asIntN(64, BigInt(value)));
    return this.b.constant("i32", Number(value) | 0);
  }

  add = (x: Id, y: Id): Id => this.b.op("add", x, y);
  sub = (x: Id, y: Id): Id => this.b.op("sub", x, y);
  mul = (x: Id, y: Id): Id => this.b.op("mul", x, y);
  div = (x: Id, y: Id): Id => this.b.op("div", x, y);
  neg = (x: Id): Id => this.b.op("neg", x);
  abs = (x: Id): Id => this.b.op("abs", x);
  sqrt = (x: Id): Id => this.b.op("sqrt", x);
  select = (condition: Id, yes: Id, no: Id): Id => this.b.op("select", condition, yes, no);
  lt = (x: Id, y: Id): Id => this.b.op("lt", x, y);
  gt = (x: Id, y: Id): Id => this.b.op("gt", x, y);
  ge = (x: Id, y: Id): Id => this.b.op("ge", x, y);
  eq = (x: Id, y: Id): Id => this.b.op("eq", x, y);
  ne = (x: Id, y: Id): Id => this.b.op("ne", x, y);
  or = (x: Id, y: Id): Id => this.b.op("or", x, y);
  and = (x: Id, y: Id): Id => this.b.op("and", x, y);
  not = (x: Id): Id => this.b.op("not", x);

  /** x·y + z, with one rounding or two. */
  madd(x: Id, y: Id, z: Id): Id {
    return this.fma ? this.b.op("madd", x, y, z) : this.add(this.mul(x, y), z);
  }

  /** Σ coefficients[j]·x^j by Horner's rule. */
  poly(x: Id, coefficients: readonly number[]): Id {
    let sum = this.c(coefficients[coefficients.length - 1]);
    for (let j = coefficients.length - 2; j >= 0; j--) sum = this.madd(sum, x, this.c(coefficients[j]));
    return sum;
  }

  /** x brought into [lo, hi]; NaN stays. */
  clamp(x: Id, lo: number, hi: number): Id {
    return this.b.op("pmin", this.b.op("pmax", x, this.c(lo)), this.c(hi));
  }
  atMost(x: Id, hi: number): Id {
    return this.b.op("pmin", x, this.c(hi));
  }

  bits(x: Id): Id {
    return this.b.bitcast(this.int, x);
  }
  fromBits(x: Id): Id {
    return this.b.bitcast(this.dtype, x);
  }
  bitAnd = (x: Id, y: Id): Id => this.b.op("bitAnd", x, y);
  bitOr = (x: Id, y: Id): Id => this.b.op("bitOr", x, y);
  bitXor = (x: Id, y: Id): Id => this.b.op("bitXor", x, y);
  shl = (x: Id, count: number): Id => this.b.op("shl", x, this.i(count));
  shr = (x: Id, count: number): Id => this.b.op("shr", x, this.i(count));
  shru = (x: Id, count: number): Id => this.b.op("shru", x, this.i(count));

  get signMask(): Id {
    return this.int === "i32" ? this.i(-0x80000000) : this.i(-(1n << 63n));
  }
  /** The sign bit of x alone, as bits. */
  signBits(x: Id): Id {
    return this.bitAnd(this.bits(x), this.signMask);
  }
  /** |magnitude| is the caller's business: its sign bit is turned wherever `sign` (bits) has one. */
  flip(magnitude: Id, sign: Id): Id {
    return this.fromBits(this.bitXor(this.bits(magnitude), sign));
  }
  /** x with its lowest mantissa bits cleared, so that products of two such values are exact. */
  truncated(x: Id): Id {
    return this.fromBits(
      this.bitAnd(this.bits(x), this.int === "i32" ? this.i(-0x1000) : this.i(-0x8000000)),
    );
  }

  /**
   * The integer nearest x·scale, as `whole` (a float) and as `tagged` = whole + shift + magic, whose low bits are
   * the integer plus `shift`: shifted up to the exponent they make a power of two.
   */
  nearestMultiple(x: Id, scale: number, shift = 0): { tagged: Id; whole: Id } {
    const magic = this.c(this.magic + shift);
    const tagged = this.madd(x, this.c(scale), magic);
    return { tagged, whole: this.sub(tagged, magic) };
  }
  /** 2^(k) from bits whose low end holds k + bias. */
  powerOfTwo(biased: Id): Id {
    return this.fromBits(this.shl(biased, this.mantissa));
  }
  /**
   * 2^k as two factors, so that results may be subnormal or overflow only at the last product. The low end of
   * `tagged` holds k + 2·bias.
   */
  twoPowers(tagged: Id): [Id, Id] {
    const bits = this.bits(tagged);
    const half = this.shr(bits, 1);
    return [this.powerOfTwo(half), this.powerOfTwo(this.b.op("sub", bits, half))];
  }
  /** x - whole·(parts[0] + parts[1] + …), each product exact or far below x's last place. */
  reduce(x: Id, whole: Id, parts: readonly number[]): Id {
    return parts.reduce((r, part) => this.madd(whole, this.c(-part), r), x);
  }
  /** The whole number an i64 or i32 holds as a float, for |n| < 2^22 or 2^51: no cast between 64-bit lanes is needed. */
  floatOf(n: Id): Id {
    const magic = this.c(this.magic);
    return this.sub(this.fromBits(this.b.op("add", n, this.bits(magic))), magic);
  }
  inf(): Id {
    return this.c(Infinity);
  }
  nan(): Id {
    return this.c(NaN);
  }
}
