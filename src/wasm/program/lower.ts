/**
 * One row an operation: the instructions for one lane shape, in SIMD and in scalar code. Arguments come as locals, the
 * result is left on the stack. "decomposed" operations never arrive here: optimize/decompose.ts has rewritten them.
 *
 * SIMD booleans are lane masks (0 or -1), scalar ones are 0 or 1. Narrow integers live in i32 lanes.
 */
import type { Lane } from "../../dtype.ts";
import { unreachable } from "../../errors.ts";
import type { OpName } from "../../ir/ops.ts";
import type { FuncBuilder, Local } from "../assembler/assembler.ts";
import type { PlainOp } from "../assembler/opcodes.ts";

/** The lanes an operation works in. */
export interface Lanes {
  readonly lane: Lane;
  /** u8 u16 u32 u64 and bool. */
  readonly unsigned: boolean;
  /** relaxed_madd is there. */
  readonly fma: boolean;
}

type Emit = (f: FuncBuilder, t: Lanes, ...args: Local[]) => void;
interface Row {
  /** null: no such vector instruction; each lane is computed by the scalar code. */
  readonly vector: Emit | null;
  readonly scalar: Emit;
}

const shapes = { f32: "f32x4", f64: "f64x2", i32: "i32x4", i64: "i64x2" } as const;
export const shapeOf = (lane: Lane) => shapes[lane];
const isFloatLane = (t: Lanes) => t.lane === "f32" || t.lane === "f64";

/** The one place where an instruction's name is put together from parts. */
const named = (f: FuncBuilder, shape: string, op: string) => f.op(`${shape}.${op}` as PlainOp);
const push = (f: FuncBuilder, args: readonly Local[]) => {
  for (const a of args) f.get(a);
  return f;
};

/** The same word in both worlds: f32x4.add and f32.add. */
const both = (op: string): Row => ({
  vector: (f, t, ...args) => named(push(f, args), shapes[t.lane], op),
  scalar: (f, t, ...args) => named(push(f, args), t.lane, op),
});
/** Bits do not care for lanes. */
const bits = (op: "and" | "or" | "xor"): Row => ({
  vector: (f, _, a, b) => f.get(a).get(b).op(`v128.${op}`),
  scalar: (f, t, a, b) => named(f.get(a).get(b), t.lane, op),
});
const comparison = (op: "eq" | "ne" | "lt" | "le" | "gt" | "ge"): Row => {
  const word = (t: Lanes) =>
    isFloatLane(t) || op === "eq" || op === "ne" ? op : `${op}_${t.unsigned ? "u" : "s"}`;
  return {
    vector: (f, t, a, b) => {
      if (t.lane === "i64" && t.unsigned && op !== "eq" && op !== "ne") {
        // There is no unsigned comparison of 64-bit lanes: flip the sign bits and compare signed.
        for (const x of [a, b])
          f.get(x)
            .i64(-(2n ** 63n))
            .op("i64x2.splat")
            .op("v128.xor");
        named(f, "i64x2", `${op}_s`);
        return;
      }
      named(f.get(a).get(b), shapes[t.lane], word(t));
    },
    scalar: (f, t, a, b) => named(f.get(a).get(b), t.lane, word(t)),
  };
};
const shift = (op: "shl" | "shr" | "shru"): Row => ({
  vector: null, // by a constant: see shiftBy
  scalar: (f, t, a, b) => named(f.get(a).get(b), t.lane, shiftWord(op, t)),
});
const shiftWord = (op: string, t: Lanes) =>
  op === "shl" ? "shl" : op === "shru" || t.unsigned ? "shr_u" : "shr_s";

/** A vector shifted by one count for all lanes. */
export function shiftBy(f: FuncBuilder, t: Lanes, op: "shl" | "shr" | "shru", a: Local, count: number): void {
  named(f.get(a).i32(count), shapes[t.lane], shiftWord(op, t));
}

const extreme = (op: "min" | "max"): Row => {
  const smaller = op === "min" ? "lt" : "gt";
  return {
    vector: (f, t, a, b) => {
      if (isFloatLane(t)) named(f.get(a).get(b), shapes[t.lane], op);
      else if (t.lane === "i32") named(f.get(a).get(b), "i32x4", `${op}_${t.unsigned ? "u" : "s"}`);
      else {
        f.get(a).get(b);
        comparison(smaller).vector!(f, t, a, b);
        f.op("v128.bitselect");
      }
    },
    scalar: (f, t, a, b) => {
      if (isFloatLane(t)) named(f.get(a).get(b), t.lane, op);
      else {
        f.get(a).get(b);
        comparison(smaller).scalar(f, t, a, b);
        f.select();
      }
    },
  };
};
/** b < a ? b : a (min) or a < b ? b : a (max), one instruction on floats. */
const pseudo = (op: "pmin" | "pmax"): Row => {
  const plain = extreme(op === "pmin" ? "min" : "max");
  return {
    vector: (f, t, a, b) =>
      isFloatLane(t) ? named(f.get(a).get(b), shapes[t.lane], op) : plain.vector!(f, t, a, b),
    scalar: (f, t, a, b) => {
      f.get(b).get(a);
      if (op === "pmin") comparison("lt").scalar(f, t, b, a);
      else comparison("lt").scalar(f, t, a, b);
      f.select();
    },
  };
};
/** The divisor, or 1 instead of 0. */
const orOne = (f: FuncBuilder, b: Local) => f.get(b).i64(1).get(b).i64(0).op("i64.ne").select();
const orOne32 = (f: FuncBuilder, b: Local) => f.get(b).get(b).op("i32.eqz").op("i32.or");
/** a % b, and 0 for b = 0 because a % 1 is. */
function remainder(f: FuncBuilder, a: Local, b: Local, sign: "s" | "u"): void {
  f.get(a);
  orOne(f, b).op(sign === "u" ? "i64.rem_u" : "i64.rem_s");
}
const bigDivision = (emit: (f: FuncBuilder, a: Local, b: Local, sign: "s" | "u") => void): Row => ({
  vector: null,
  scalar: (f, t, a, b) => {
    if (t.lane !== "i64") unreachable("a division that should have been expanded");
    emit(f, a, b, t.unsigned ? "u" : "s");
  },
});
/** Only floats have the instruction; on integers the operation was removed before. */
const floats = both;

export const lowering = {
  add: both("add"),
  sub: both("sub"),
  mul: both("mul"),
  div: both("div"),
  neg: {
    vector: (f, t, a) => named(f.get(a), shapes[t.lane], "neg"),
    scalar: (f, t, a) => {
      if (isFloatLane(t)) named(f.get(a), t.lane, "neg");
      else if (t.lane === "i32") f.i32(0).get(a).op("i32.sub");
      else f.i64(0).get(a).op("i64.sub");
    },
  },
  abs: {
    vector: (f, t, a) => {
      if (t.unsigned) f.get(a);
      else named(f.get(a), shapes[t.lane], "abs");
    },
    scalar: (f, t, a) => {
      if (t.unsigned) f.get(a);
      else if (isFloatLane(t)) named(f.get(a), t.lane, "abs");
      else if (t.lane === "i32") f.i32(0).get(a).op("i32.sub").get(a).get(a).i32(0).op("i32.lt_s").select();
      else f.i64(0).get(a).op("i64.sub").get(a).get(a).i64(0).op("i64.lt_s").select();
    },
  },
  min: extreme("min"),
  max: extreme("max"),
  pmin: pseudo("pmin"),
  pmax: pseudo("pmax"),
  madd: {
    vector: (f, t, a, b, c) => {
      if (t.fma && isFloatLane(t)) named(f.get(a).get(b).get(c), shapes[t.lane], "relaxed_madd");
      else named(named(f.get(a).get(b), shapes[t.lane], "mul").get(c), shapes[t.lane], "add");
    },
    scalar: (f, t, a, b, c) => {
      if (t.fma && isFloatLane(t)) {
        // The same instruction on one lane, so that scalar tails round like the vectors before them.
        const shape = shapes[t.lane];
        for (const x of [a, b, c]) named(f.get(x), shape, "splat");
        named(f, shape, "relaxed_madd").lane(`${shape}.extract_lane` as "f32x4.extract_lane", 0);
      } else named(named(f.get(a).get(b), t.lane, "mul").get(c), t.lane, "add");
    },
  },

  floor: floats("floor"),
  ceil: floats("ceil"),
  trunc: floats("trunc"),
  nearest: floats("nearest"),
  sqrt: floats("sqrt"),

  eq: comparison("eq"),
  ne: comparison("ne"),
  lt: comparison("lt"),
  le: comparison("le"),
  gt: comparison("gt"),
  ge: comparison("ge"),
  not: {
    vector: (f, _, a) => f.get(a).op("v128.not"),
    scalar: (f, _, a) => f.get(a).op("i32.eqz"),
  },
  and: bits("and"),
  or: bits("or"),
  select: {
    vector: (f, _, c, a, b) => f.get(a).get(b).get(c).op("v128.bitselect"),
    scalar: (f, _, c, a, b) => f.get(a).get(b).get(c).select(),
  },

  bitAnd: bits("and"),
  bitOr: bits("or"),
  bitXor: bits("xor"),
  bitNot: {
    vector: (f, _, a) => f.get(a).op("v128.not"),
    scalar: (f, t, a) => (t.lane === "i64" ? f.get(a).i64(-1).op("i64.xor") : f.get(a).i32(-1).op("i32.xor")),
  },
  shl: shift("shl"),
  shr: shift("shr"),
  shru: shift("shru"),

  // Division of 64-bit integers, lane by lane; by 0 it gives 0. Narrower ones and floats were expanded before, but where
  // scalar code asked for remainders.
  rem: {
    vector: null,
    scalar: (f, t, a, b) => {
      if (t.lane === "i32") orOne32(f.get(a), b).op(t.unsigned ? "i32.rem_u" : "i32.rem_s");
      else if (t.lane === "i64") remainder(f, a, b, t.unsigned ? "u" : "s");
      else unreachable("a remainder that should have been expanded");
    },
  },
  floorMod: bigDivision((f, a, b, sign) => {
    remainder(f, a, b, sign);
    if (sign === "u") return;
    const r = f.temp("i64");
    f.set(r);
    // A remainder of the other sign than the divisor's moves by one divisor.
    f.get(r).get(b).op("i64.add").get(r);
    f.get(r).i64(0).op("i64.ne").get(r).get(b).op("i64.xor").i64(0).op("i64.lt_s").op("i32.and").select();
    f.release(r);
  }),
  floorDivide: bigDivision((f, a, b, sign) => {
    const q = f.temp("i64");
    const r = f.temp("i64");
    remainder(f, a, b, sign);
    f.set(r);
    if (sign === "u") {
      f.get(a);
      orOne(f, b).op("i64.div_u").set(q);
    } else {
      // -2^63 / -1 would trap: x / -1 is -x.
      f.i64(0).get(a).op("i64.sub").get(a);
      f.get(b).i64(1).get(b).i64(1).op("i64.add").i64(1).op("i64.gt_u").select();
      f.op("i64.div_s").get(b).i64(-1).op("i64.eq").select().set(q);
      f.get(q).i64(1).op("i64.sub").get(q);
      f.get(r)
        .i64(0)
        .op("i64.ne")
        .get(r)
        .get(b)
        .op("i64.xor")
        .i64(0)
        .op("i64.lt_s")
        .op("i32.and")
        .select()
        .set(q);
    }
    f.i64(0).get(q).get(b).op("i64.eqz").select();
    f.release(q).release(r);
  }),
  pow: "decomposed",
  round: "decomposed",
  sign: "decomposed",
  copysign: "decomposed",
  fround: "decomposed",
  truthy: "decomposed",
  isNaN: "decomposed",
  isFinite: "decomposed",
  isInf: "decomposed",
  signbit: "decomposed",
  gcd: "decomposed",
  imul: "decomposed",
  clz32: "decomposed",
  toInt32: "decomposed",
  cbrt: "decomposed",
  exp: "decomposed",
  exp2: "decomposed",
  expm1: "decomposed",
  log: "decomposed",
  log2: "decomposed",
  log10: "decomposed",
  log1p: "decomposed",
  sin: "decomposed",
  cos: "decomposed",
  tan: "decomposed",
  asin: "decomposed",
  acos: "decomposed",
  atan: "decomposed",
  atan2: "decomposed",
  sinh: "decomposed",
  cosh: "decomposed",
  tanh: "decomposed",
  asinh: "decomposed",
  acosh: "decomposed",
  atanh: "decomposed",
  hypot: "decomposed",
  sigmoid: "decomposed",
} satisfies Record<OpName, Row | "decomposed">;

export function rowOf(op: OpName): Row {
  const row: Row | "decomposed" = lowering[op];
  return row === "decomposed" ? unreachable(`${op} was not decomposed`) : row;
}
