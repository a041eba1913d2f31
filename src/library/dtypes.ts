/** Questions about dtypes: the array API's data type functions. */
import {
  checkDType,
  type DType,
  dtypes,
  isDType,
  isFloat,
  promote,
  promoteAll,
  type Value,
} from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { readList } from "../ops/arguments.ts";
import { isTensor, liveTensor, type Tensor } from "../tensor.ts";

/** A dtype, or the tensor that has it. */
type Typed = DType | Tensor;
const dtypeOf = (op: string, x: unknown): DType =>
  isTensor(x) ? liveTensor(op, x).dtype : checkDType(op, x);

/**
 * The dtype that tensors, dtypes and scalars meet in. Scalars are weak, as operands are: a float keeps its dtype beside
 * them, a fraction makes f64 of integers, a whole number i32 of bool.
 *
 *     resultType(tensor([1]), "f64", 2); // f64
 *
 * @param of tensors, dtypes and scalars, one at least
 * @returns the dtype
 * @example
 * resultType("i32", 2.5); // → f64
 */
export function resultType(...of: readonly (Typed | number | bigint | boolean)[]): DType {
  const op = "resultType";
  const isWeak = (x: unknown) => typeof x === "number" || typeof x === "bigint";
  const typed = of
    .filter((x) => !isWeak(x))
    .map((x) => (x === true || x === false ? "bool" : dtypeOf(op, x)));
  if (typed.length === 0) {
    fail("value", op, "no tensor and no dtype was given.", "Give at least one; numbers alone have no dtype.");
  }
  return of.filter(isWeak).reduce<DType>((d, x) => {
    if (isFloat(d)) return d;
    if (typeof x === "bigint") return d === "bool" ? "i64" : d;
    return !Number.isInteger(x) ? "f64" : d === "bool" ? "i32" : d;
  }, promoteAll(typed));
}

/**
 * Is `from` promoted to `to` where they meet? Nothing is lost then, but for 64-bit integers that become f64.
 *
 * @param from a dtype, or the tensor that has it
 * @param to a dtype
 * @returns whether `promote(from, to)` is `to`
 * @example
 * canCast("i16", "i32"); // → true
 * canCast("f64", "f32"); // → false
 */
export function canCast(from: Typed, to: DType): boolean {
  return promote(dtypeOf("canCast", from), checkDType("canCast", to)) === to;
}

const kinds = {
  bool: ["bool"],
  "signed integer": ["int"],
  "unsigned integer": ["uint"],
  integral: ["int", "uint"],
  "real floating": ["float"],
  "complex floating": [],
  numeric: ["int", "uint", "float"],
} as const satisfies Record<string, readonly string[]>;
/** Kinds of dtypes, by the array API's names. */
export type DTypeKind = keyof typeof kinds;

/**
 * Is the dtype this one, of this kind, or one of several?
 *
 * @param dtype the one that is asked about
 * @param kind a dtype, a kind as "real floating" or "integral", or a list of them
 * @returns true or false
 * @example
 * isdtype("u8", "integral"); // → true
 */
export function isdtype(dtype: DType, kind: DType | DTypeKind | readonly (DType | DTypeKind)[]): boolean {
  const op = "isdtype";
  const row = dtypes[checkDType(op, dtype)];
  return (readList("isdtype", "the kind", kind) ?? [kind]).some((k) => {
    if (typeof k === "string" && Object.hasOwn(kinds, k))
      return (kinds[k as DTypeKind] as readonly string[]).includes(row.kind);
    if (isDType(k)) return k === dtype;
    return fail(
      "value",
      op,
      `the kind is ${describe(k)}.`,
      `Use a dtype, or one of: ${Object.keys(kinds).join(", ")}.`,
    );
  });
}

/** What a float dtype can hold. */
export interface FloatInfo {
  /** The dtype itself. */
  readonly dtype: DType;
  /** Its width. */
  readonly bits: number;
  /** From 1 to the next number. */
  readonly eps: number;
  /** The smallest finite number: -max. */
  readonly min: number;
  /** The largest finite number. */
  readonly max: number;
  /** The smallest positive number of full precision. */
  readonly smallestNormal: number;
}

/** Bits of the fraction, and the smallest exponent. */
const layouts: Partial<Record<DType, readonly [number, number]>> = {
  f16: [10, -14],
  bf16: [7, -126],
  f32: [23, -126],
  f64: [52, -1022],
};

/**
 * Limits of a float dtype.
 *
 * @param of a float dtype, or a tensor of one
 * @returns its width, limits and precision
 * @throws TensorError for other dtypes
 * @example
 * finfo("f32").eps; // → 1.1920928955078125e-7
 */
export function finfo(of: Typed): FloatInfo {
  const dtype = dtypeOf("finfo", of);
  const layout = layouts[dtype];
  if (layout === undefined) {
    return fail("dtype", "finfo", `${dtype} is no float dtype.`, "iinfo is for integers.");
  }
  const { bytes, min, max } = dtypes[dtype];
  return {
    dtype,
    bits: 8 * bytes,
    eps: 2 ** -layout[0],
    min: min as number,
    max: max as number,
    smallestNormal: 2 ** layout[1],
  };
}

/** What an integer dtype can hold. */
export interface IntegerInfo {
  /** The dtype itself. */
  readonly dtype: DType;
  /** Its width. */
  readonly bits: number;
  /** Bigints for i64 and u64. */
  readonly min: Value;
  /** The largest number; a bigint for i64 and u64. */
  readonly max: Value;
}

/**
 * Limits of an integer dtype.
 *
 * @param of an integer dtype, or a tensor of one
 * @returns its width and limits
 * @throws TensorError for other dtypes
 * @example
 * iinfo("i8").max; // → 127
 */
export function iinfo(of: Typed): IntegerInfo {
  const dtype = dtypeOf("iinfo", of);
  const { bytes, kind, min, max } = dtypes[dtype];
  if (kind !== "int" && kind !== "uint") {
    fail("dtype", "iinfo", `${dtype} is no integer dtype.`, "finfo is for floats.");
  }
  return { dtype, bits: 8 * bytes, min, max };
}
