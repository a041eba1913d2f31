/**
 * The types of values, and what each operation makes of them.
 *
 * THE LAW. A number is a JavaScript number, computed in f64, or in integers of 32 or 64 bits where its range proves that
 * nobody can tell. f32 elements are f32, and f32 with f32 or with literals stays f32, as in kernels; f32 with any other number is a
 * number. Elements of 16-bit floats are f32. Elements of i64 and u64 are bigints, wrapping at 64 bits. Bigints and numbers
 * do not mix, nor do booleans and numbers in one variable.
 */
import { type DType, dtypes } from "../dtype.ts";
import type { Literal } from "../frontend/template.ts";
import { type OpName, ops } from "../ir/ops.ts";
import {
  anything,
  applyLaw,
  isInt,
  isLong,
  isUint,
  joinRanges,
  type Range,
  rangeOf,
  wholes,
} from "./range.ts";
import { refuse } from "./refuse.ts";
import type { Place } from "./tree.ts";

/** `big`: a bigint literal that has met nothing yet. */
export type Kind = "bool" | "number" | "f32" | "i64" | "u64" | "big";

export interface Type {
  readonly kind: Kind;
  /** Of numbers. */
  readonly range: Range;
  /** Made of literals alone: beside f32 it is f32. */
  readonly weak: boolean;
}

export const bool: Type = { kind: "bool", range: anything, weak: false };
export const f32: Type = { kind: "f32", range: anything, weak: false };
export const number = (range: Range, weak = false): Type => ({ kind: "number", range, weak });
const bigOf = (kind: "i64" | "u64" | "big"): Type => ({ kind, range: anything, weak: kind === "big" });

export function literalType(value: Literal): Type {
  if (typeof value === "boolean") return bool;
  return typeof value === "bigint" ? bigOf("big") : number(rangeOf(value), true);
}

/** What an element is once it has been read. */
export function elementType(dtype: DType): Type {
  switch (dtype) {
    case "bool":
      return bool;
    case "i64":
    case "u64":
      return bigOf(dtype);
    case "f16":
    case "bf16":
    case "f32":
      return f32;
    case "f64":
      return number(anything);
    default: {
      const [lo, hi] = elementBounds[dtype];
      return number(wholes(lo, hi));
    }
  }
}

const elementBounds = {
  u8: [0, 255],
  i8: [-128, 127],
  u16: [0, 65535],
  i16: [-32768, 32767],
  u32: [0, 2 ** 32 - 1],
  i32: [-(2 ** 31), 2 ** 31 - 1],
} as const;

/** What holds a value of the type. */
export function dtypeOf({ kind, range }: Type): DType {
  if (kind === "number") return isInt(range) ? "i32" : isUint(range) ? "u32" : isLong(range) ? "i64" : "f64";
  return kind === "big" ? "i64" : kind;
}

export const isBig = ({ kind }: Type): boolean => kind === "i64" || kind === "u64" || kind === "big";

/** JavaScript's ToNumber of a boolean. */
export const asNumber = (type: Type): Type => (type.kind === "bool" ? number(wholes(0, 1), true) : type);

const words: Record<Kind, string> = {
  bool: "a boolean",
  number: "a number",
  f32: "a number",
  i64: "a bigint",
  u64: "a bigint",
  big: "a bigint",
};
export const describeKind = (kind: Kind): string => words[kind];

/** The type of one of the two: `c ? a : b`. */
export function joinTypes(a: Type, b: Type, place: Place): Type {
  if (a.kind === b.kind) {
    return a.kind === "number" ? number(joinRanges(a.range, b.range), a.weak && b.weak) : a;
  }
  const [x, y] = a.kind === "number" || a.kind === "big" ? [a, b] : [b, a];
  if (x.kind === "number" && y.kind === "f32") return x.weak ? f32 : number(anything);
  if (x.kind === "big" && isBig(y)) return y;
  if (isBig(a) && isBig(b)) return mixes64(place);
  return refuse(
    place,
    `this is ${words[a.kind]} or ${words[b.kind]}; it must be one of the two.`,
    "Write Number(x) or x !== 0 to make them the same.",
    "dtype",
  );
}

function mixes64(place: Place): never {
  return refuse(place, "this mixes i64 and u64.", "Convert one of the tensors first.", "dtype");
}

/** Operations that JavaScript's bigints have, and 64-bit integers do alike. */
const bigOps: ReadonlySet<OpName> = new Set<OpName>([
  ..."add sub mul div rem neg bitAnd bitOr bitXor bitNot shl shr".split(" "),
  ..."eq ne lt le gt ge truthy not and or select".split(" "),
] as OpName[]);

/** The type of an operation's result. */
export function operationType(op: OpName, args: readonly Type[], place: Place): Type {
  const { rule } = ops[op];
  if (op === "select") return joinTypes(args[1], args[2], place);
  if (rule === "logic" || op === "truthy") return bool;
  const given = rule === "compare" && args.every((a) => a.kind === "bool") ? args : args.map(asNumber);
  if (given.some(isBig)) return bigType(op, given, place);
  if (rule === "compare" || rule === "classify") return bool;
  if (rule === "bits" || rule === "shift" || rule === "int32") {
    return number(
      applyLaw(
        op,
        given.map((a) => a.range),
      ),
      given.every((a) => a.weak),
    );
  }
  if (inFloat32(given)) return f32;
  const ranges = given.map((a) => (a.kind === "f32" ? anything : a.range));
  return number(
    applyLaw(op, ranges),
    given.every((a) => a.weak),
  );
}

/** Do these meet in f32? */
export const inFloat32 = (args: readonly Type[]): boolean =>
  args.some((a) => a.kind === "f32") &&
  args.every((a) => a.kind === "f32" || (a.kind === "number" && a.weak));

/** Is it within f32, or infinite? What lies beyond is compared in f64. */
export const isInFloat32 = ({ kind, range: { lo, hi } }: Type): boolean =>
  kind === "f32" || [lo, hi].every((x) => !Number.isFinite(x) || Math.abs(x) <= dtypes.f32.max);

function bigType(op: OpName, args: readonly Type[], place: Place): Type {
  if (!args.every(isBig)) {
    refuse(place, "this mixes a bigint and a number.", "Write Number(x) or BigInt(x).", "dtype");
  }
  if (!bigOps.has(op)) {
    refuse(
      place,
      `there is no ${ops[op].sign ?? op} of bigints for njit.`,
      op === "pow"
        ? "Multiply in a loop: p *= x; Number(x) makes a number."
        : "Bigints have + - * / % & | ^ ~ << >> and comparisons here; Number(x) makes a number.",
    );
  }
  // How far is no part of what comes out.
  if ((op === "shl" || op === "shr") && args[0].kind !== "big") return args[0];
  if (ops[op].rule === "compare") {
    joinBig(args, place);
    return bool;
  }
  return joinBig(args, place);
}

function joinBig(args: readonly Type[], place: Place): Type {
  return args.reduce((a, b) => joinTypes(a, b, place));
}

/** The common type of operands that are compared. */
export function comparedType(args: readonly Type[], place: Place): Type {
  return args.some(isBig) ? joinBig(args, place) : args[0];
}
