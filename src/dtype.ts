/**
 * The dtype table: one row an element type, and NumPy 2's promotion between them.
 *
 * A VALUE is what JavaScript holds for one element: a number for every dtype up to 53 bits (0 or 1 for bool),
 * a bigint for i64 and u64. `wrap` brings any result of arithmetic into the dtype: integers wrap at their
 * width, floats round once, ties to even. `convert` is the cast between dtypes: float → integer saturates
 * and NaN becomes 0, integer → integer wraps, anything → bool is `!= 0`.
 */
import { describe, fail, quote } from "./errors.ts";

export type Value = number | bigint;
export type Kind = "bool" | "uint" | "int" | "float";
/** The WebAssembly type a dtype computes in: narrow integers widen to i32, f16 and bf16 to f32. */
export type Lane = "i32" | "i64" | "f32" | "f64";

/** The kinds of elements there are: a boolean, integers of 8 to 64 bits without and with sign, and floats. */
export type DType =
  | "bool"
  | "u8"
  | "i8"
  | "u16"
  | "i16"
  | "u32"
  | "i32"
  | "u64"
  | "i64"
  | "f16"
  | "bf16"
  | "f32"
  | "f64";
/** The floats among the dtypes. */
export type FloatDType = "f16" | "bf16" | "f32" | "f64";

interface Arrays {
  bool: Uint8Array;
  u8: Uint8Array;
  i8: Int8Array;
  u16: Uint16Array;
  i16: Int16Array;
  u32: Uint32Array;
  i32: Int32Array;
  u64: BigUint64Array;
  i64: BigInt64Array;
  /** f16 and bf16 expose their raw 16 bits. */
  f16: Uint16Array;
  bf16: Uint16Array;
  f32: Float32Array;
  f64: Float64Array;
}
/** The same over memory of their own, not shared: what Blob, Response and the like take. */
interface OwnArrays {
  bool: ReturnType<typeof Uint8Array.of>;
  u8: ReturnType<typeof Uint8Array.of>;
  i8: ReturnType<typeof Int8Array.of>;
  u16: ReturnType<typeof Uint16Array.of>;
  i16: ReturnType<typeof Int16Array.of>;
  u32: ReturnType<typeof Uint32Array.of>;
  i32: ReturnType<typeof Int32Array.of>;
  u64: ReturnType<typeof BigUint64Array.of>;
  i64: ReturnType<typeof BigInt64Array.of>;
  f16: ReturnType<typeof Uint16Array.of>;
  bf16: ReturnType<typeof Uint16Array.of>;
  f32: ReturnType<typeof Float32Array.of>;
  f64: ReturnType<typeof Float64Array.of>;
}
/** The typed array that holds a dtype; f16 and bf16 as their bits. */
export type ArrayOf<D extends DType> = Arrays[D];
export type OwnArrayOf<D extends DType> = OwnArrays[D];
/** What `get` and `item` give: 64-bit integers leave as numbers, exactly or not at all. */
export type ItemOf<D extends DType> = D extends "bool" ? boolean : number;
/** What `toArray` gives for one element. */
export type ScalarOf<D extends DType> = D extends "i64" | "u64"
  ? bigint
  : D extends "bool"
    ? boolean
    : number;
export type TypedArray = Arrays[DType];

export interface DTypeRow<D extends DType = DType> {
  readonly name: D;
  readonly bytes: 1 | 2 | 4 | 8;
  readonly kind: Kind;
  readonly lane: Lane;
  readonly big: boolean;
  readonly Array: {
    new (length: number): ArrayOf<D>;
    new (buffer: ArrayBufferLike, byteOffset: number, length: number): ArrayOf<D>;
  };
  /** Smallest and largest finite value (integers: the range they wrap in). */
  readonly min: Value;
  readonly max: Value;
  readonly read: (memory: DataView, address: number) => Value;
  readonly write: (memory: DataView, address: number, value: Value) => void;
  /** Any arithmetic result of this dtype's own kind of value → a value of the dtype. */
  readonly wrap: (value: Value) => Value;
}

type Num = (x: number) => number;
type Big = (x: bigint) => bigint;
const num = (f: Num) => f as (x: Value) => Value;
const big = (f: Big) => f as (x: Value) => Value;

const rows = {
  bool: {
    name: "bool",
    bytes: 1,
    kind: "bool",
    lane: "i32",
    big: false,
    Array: Uint8Array,
    min: 0,
    max: 1,
    read: (m, p) => (m.getUint8(p) === 0 ? 0 : 1),
    write: (m, p, v) => m.setUint8(p, v ? 1 : 0),
    wrap: (v) => (v ? 1 : 0),
  },
  u8: {
    name: "u8",
    bytes: 1,
    kind: "uint",
    lane: "i32",
    big: false,
    Array: Uint8Array,
    min: 0,
    max: 255,
    read: (m, p) => m.getUint8(p),
    write: (m, p, v) => m.setUint8(p, v as number),
    wrap: num((x) => x & 0xff),
  },
  i8: {
    name: "i8",
    bytes: 1,
    kind: "int",
    lane: "i32",
    big: false,
    Array: Int8Array,
    min: -128,
    max: 127,
    read: (m, p) => m.getInt8(p),
    write: (m, p, v) => m.setInt8(p, v as number),
    wrap: num((x) => (x << 24) >> 24),
  },
  u16: {
    name: "u16",
    bytes: 2,
    kind: "uint",
    lane: "i32",
    big: false,
    Array: Uint16Array,
    min: 0,
    max: 65535,
    read: (m, p) => m.getUint16(p, true),
    write: (m, p, v) => m.setUint16(p, v as number, true),
    wrap: num((x) => x & 0xffff),
  },
  i16: {
    name: "i16",
    bytes: 2,
    kind: "int",
    lane: "i32",
    big: false,
    Array: Int16Array,
    min: -32768,
    max: 32767,
    read: (m, p) => m.getInt16(p, true),
    write: (m, p, v) => m.setInt16(p, v as number, true),
    wrap: num((x) => (x << 16) >> 16),
  },
  u32: {
    name: "u32",
    bytes: 4,
    kind: "uint",
    lane: "i32",
    big: false,
    Array: Uint32Array,
    min: 0,
    max: 4294967295,
    read: (m, p) => m.getUint32(p, true),
    write: (m, p, v) => m.setUint32(p, v as number, true),
    wrap: num((x) => x >>> 0),
  },
  i32: {
    name: "i32",
    bytes: 4,
    kind: "int",
    lane: "i32",
    big: false,
    Array: Int32Array,
    min: -2147483648,
    max: 2147483647,
    read: (m, p) => m.getInt32(p, true),
    write: (m, p, v) => m.setInt32(p, v as number, true),
    wrap: num((x) => x | 0),
  },
  u64: {
    name: "u64",
    bytes: 8,
    kind: "uint",
    lane: "i64",
    big: true,
    Array: BigUint64Array,
    min: 0n,
    max: 18446744073709551615n,
    read: (m, p) => m.getBigUint64(p, true),
    write: (m, p, v) => m.setBigUint64(p, v as bigint, true),
    wrap: big((x) => BigInt.asUintN(64, x)),
  },
  i64: {
    name: "i64",
    bytes: 8,
    kind: "int",
    lane: "i64",
    big: true,
    Array: BigInt64Array,
    min: -9223372036854775808n,
    max: 9223372036854775807n,
    read: (m, p) => m.getBigInt64(p, true),
    write: (m, p, v) => m.setBigInt64(p, v as bigint, true),
    wrap: big((x) => BigInt.asIntN(64, x)),
  },
  f16: {
    name: "f16",
    bytes: 2,
    kind: "float",
    lane: "f32",
    big: false,
    Array: Uint16Array,
    min: -65504,
    max: 65504,
    read: (m, p) => f16FromBits(m.getUint16(p, true)),
    write: (m, p, v) => m.setUint16(p, f16ToBits(v as number), true),
    wrap: num(roundToF16),
  },
  bf16: {
    name: "bf16",
    bytes: 2,
    kind: "float",
    lane: "f32",
    big: false,
    Array: Uint16Array,
    min: -3.3895313892515355e38,
    max: 3.3895313892515355e38,
    read: (m, p) => bf16FromBits(m.getUint16(p, true)),
    write: (m, p, v) => m.setUint16(p, bf16ToBits(v as number), true),
    wrap: num(roundToBf16),
  },
  f32: {
    name: "f32",
    bytes: 4,
    kind: "float",
    lane: "f32",
    big: false,
    Array: Float32Array,
    min: -3.4028234663852886e38,
    max: 3.4028234663852886e38,
    read: (m, p) => m.getFloat32(p, true),
    write: (m, p, v) => m.setFloat32(p, v as number, true),
    wrap: num(Math.fround),
  },
  f64: {
    name: "f64",
    bytes: 8,
    kind: "float",
    lane: "f64",
    big: false,
    Array: Float64Array,
    min: -Number.MAX_VALUE,
    max: Number.MAX_VALUE,
    read: (m, p) => m.getFloat64(p, true),
    write: (m, p, v) => m.setFloat64(p, v as number, true),
    wrap: (x) => x,
  },
} as const satisfies { readonly [D in DType]: DTypeRow<D> };

export const dtypes: { readonly [D in DType]: DTypeRow<D> } = rows;
/** The names of all dtypes, in the order of their table. */
export const dtypeNames = Object.keys(rows) as readonly DType[];

export function isDType(name: unknown): name is DType {
  return typeof name === "string" && Object.hasOwn(rows, name);
}

export function checkDType(operation: string, name: unknown): DType {
  if (isDType(name)) return name;
  return fail(
    "dtype",
    operation,
    typeof name === "string" ? `unknown dtype ${quote(name)}.` : `the dtype is ${describe(name)}.`,
    `${meantBy(name)}Use one of ${dtypeNames.join(" ")}.`,
  );
}
/** NumPy's and torch's names are ours with more letters: float32, uint8, bfloat16. */
function meantBy(name: unknown): string {
  const said = typeof name === "string" ? /^(b?f|u|i)(?:loat|int|nt)(\d+)$/.exec(name) : null;
  const meant = said === null ? "" : said[1] + said[2];
  return isDType(meant) ? `Did you mean ${meant}? ` : "";
}

export const isFloat = (d: DType): boolean => dtypes[d].kind === "float";
/** A float of 16 bits: computed in f32, rounded where it is stored. */
export const isHalf = (d: DType): d is "f16" | "bf16" => d === "f16" || d === "bf16";
export const isInteger = (d: DType): boolean => dtypes[d].kind === "int" || dtypes[d].kind === "uint";

/** The dtype a typed array holds (f16 and bf16 share Uint16Array with u16, so they are never guessed). */
export function dtypeOfArray(array: ArrayBufferView): DType | null {
  // By name: arrays of another realm (a frame, a vm context) have constructors of their own.
  const name = arrayName(array);
  if (name === "Uint8ClampedArray") return "u8";
  // Float16Array exists in newer hosts only.
  if (name === "Float16Array") return "f16";
  for (const d of ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"] as const) {
    if (name === dtypes[d].Array.name) return d;
  }
  return null;
}

/** What a typed array or DataView really is and covers, whatever properties of its own say. */
export interface ArrayFacts {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
}

type Getter = (this: ArrayBufferView) => unknown;
let getters: { readonly name: Getter; readonly typed: Getter[]; readonly data: Getter[] } | undefined;

function arrayGetters() {
  const get = (of: object, key: PropertyKey) => Object.getOwnPropertyDescriptor(of, key)!.get as Getter;
  const keys = ["buffer", "byteOffset", "byteLength"];
  const typed = Object.getPrototypeOf(Uint8Array.prototype) as object;
  getters ??= {
    name: get(typed, Symbol.toStringTag),
    typed: keys.map((key) => get(typed, key)),
    data: keys.map((key) => get(DataView.prototype, key)),
  };
  return getters;
}

/** "Float32Array"; undefined for a DataView. */
const arrayName = (array: ArrayBufferView): unknown => arrayGetters().name.call(array);

export function arrayFacts(array: ArrayBufferView): ArrayFacts {
  const { name, typed, data } = arrayGetters();
  const own = name.call(array) === undefined ? data : typed;
  const [buffer, byteOffset, byteLength] = own.map((get) => get.call(array));
  return { buffer, byteOffset, byteLength } as ArrayFacts;
}

/* Promotion -------------------------------------------------------------------------------------------- */

/** `promote` as a type, a row for one operand and a column for the other; a test holds the two together. */
// biome-ignore format: a table
interface Promotions {
  bool: { bool: "bool"; u8: "u8"; i8: "i8"; u16: "u16"; i16: "i16"; u32: "u32"; i32: "i32"; u64: "u64"; i64: "i64"; f16: "f16"; bf16: "bf16"; f32: "f32"; f64: "f64" };
  u8: { bool: "u8"; u8: "u8"; i8: "i16"; u16: "u16"; i16: "i16"; u32: "u32"; i32: "i32"; u64: "u64"; i64: "i64"; f16: "f16"; bf16: "bf16"; f32: "f32"; f64: "f64" };
  i8: { bool: "i8"; u8: "i16"; i8: "i8"; u16: "i32"; i16: "i16"; u32: "i64"; i32: "i32"; u64: "f64"; i64: "i64"; f16: "f16"; bf16: "bf16"; f32: "f32"; f64: "f64" };
  u16: { bool: "u16"; u8: "u16"; i8: "i32"; u16: "u16"; i16: "i32"; u32: "u32"; i32: "i32"; u64: "u64"; i64: "i64"; f16: "f32"; bf16: "f32"; f32: "f32"; f64: "f64" };
  i16: { bool: "i16"; u8: "i16"; i8: "i16"; u16: "i32"; i16: "i16"; u32: "i64"; i32: "i32"; u64: "f64"; i64: "i64"; f16: "f32"; bf16: "f32"; f32: "f32"; f64: "f64" };
  u32: { bool: "u32"; u8: "u32"; i8: "i64"; u16: "u32"; i16: "i64"; u32: "u32"; i32: "i64"; u64: "u64"; i64: "i64"; f16: "f64"; bf16: "f64"; f32: "f64"; f64: "f64" };
  i32: { bool: "i32"; u8: "i32"; i8: "i32"; u16: "i32"; i16: "i32"; u32: "i64"; i32: "i32"; u64: "f64"; i64: "i64"; f16: "f64"; bf16: "f64"; f32: "f64"; f64: "f64" };
  u64: { bool: "u64"; u8: "u64"; i8: "f64"; u16: "u64"; i16: "f64"; u32: "u64"; i32: "f64"; u64: "u64"; i64: "f64"; f16: "f64"; bf16: "f64"; f32: "f64"; f64: "f64" };
  i64: { bool: "i64"; u8: "i64"; i8: "i64"; u16: "i64"; i16: "i64"; u32: "i64"; i32: "i64"; u64: "f64"; i64: "i64"; f16: "f64"; bf16: "f64"; f32: "f64"; f64: "f64" };
  f16: { bool: "f16"; u8: "f16"; i8: "f16"; u16: "f32"; i16: "f32"; u32: "f64"; i32: "f64"; u64: "f64"; i64: "f64"; f16: "f16"; bf16: "f32"; f32: "f32"; f64: "f64" };
  bf16: { bool: "bf16"; u8: "bf16"; i8: "bf16"; u16: "f32"; i16: "f32"; u32: "f64"; i32: "f64"; u64: "f64"; i64: "f64"; f16: "f32"; bf16: "bf16"; f32: "f32"; f64: "f64" };
  f32: { bool: "f32"; u8: "f32"; i8: "f32"; u16: "f32"; i16: "f32"; u32: "f64"; i32: "f64"; u64: "f64"; i64: "f64"; f16: "f32"; bf16: "f32"; f32: "f32"; f64: "f64" };
  f64: { bool: "f64"; u8: "f64"; i8: "f64"; u16: "f64"; i16: "f64"; u32: "f64"; i32: "f64"; u64: "f64"; i64: "f64"; f16: "f64"; bf16: "f64"; f32: "f64"; f64: "f64" };
}

/**
 * The dtype in which two meet, as far as it is known: unions give every possible one, and an unknown dtype stays
 * unknown, except beside f64, which holds all.
 */
export type Promote<A extends DType, B extends DType> = [DType] extends [A]
  ? [B] extends ["f64"]
    ? "f64"
    : DType
  : [DType] extends [B]
    ? [A] extends ["f64"]
      ? "f64"
      : DType
    : Promotions[A][B];
/** Functions of floats make f64 of integers and bool. */
export type Floated<D extends DType> = [DType] extends [D] ? FloatDType : D extends FloatDType ? D : "f64";
type WideDType = FloatDType | "i64" | "u64";
/** Sums and products of integers are 64-bit. */
export type Wide<D extends DType> = [DType] extends [D]
  ? WideDType
  : D extends FloatDType
    ? D
    : D extends `u${string}`
      ? "u64"
      : "i64";
/** Arithmetic that is no logic takes bool as 0 or 1, in i32. */
export type Counted<D extends DType> = [DType] extends [D] ? DType : D extends "bool" ? "i32" : D;

/** A dtype beside a scalar, which is weak: a float keeps its own, a fraction makes f64 of integers. */
export type Weakly<D extends DType, S> = [DType] extends [D] ? DType : Beside<D, S>;
type Beside<D extends DType, S> = D extends FloatDType
  ? D
  : S extends boolean
    ? D
    : S extends bigint
      ? WithWhole<D, "i64">
      : number extends S
        ? WithWhole<D, "i32"> | "f64"
        : S extends number
          ? `${S}` extends `${bigint}`
            ? WithWhole<D, "i32">
            : "f64"
          : DType;
/** A dtype beside a whole number, which makes `Counts` of bool. */
type WithWhole<D extends DType, Counts extends DType> = D extends "bool" ? Counts : D;

/**
 * What arithmetic on operands of one dtype may end in, where integers or bool take part: the dtype itself, i32 where
 * something is counted, f64, and what these meet in. Halves meet sums of bytes in f32.
 */
interface Endings {
  bool: "bool" | "i32" | "f64";
  u8: "u8" | "i32" | "f64";
  i8: "i8" | "i32" | "f64";
  u16: "u16" | "i32" | "f64";
  i16: "i16" | "i32" | "f64";
  u32: "u32" | "i32" | "i64" | "f64";
  i32: "i32" | "f64";
  u64: "u64" | "i32" | "f64";
  i64: "i64" | "i32" | "f64";
  f16: "f16" | "f32" | "f64";
  bf16: "bf16" | "f32" | "f64";
  f32: "f32" | "f64";
  f64: "f64";
}
/** The dtype in which all of a list meet; of a list of unknown length every possible one. */
export type PromoteAll<T extends readonly DType[]> = number extends T["length"]
  ? [DType] extends [T[number]]
    ? DType
    : Known<Promotions[T[number]][T[number]]>
  : Fold<T, Floats<T, never>>;
/** Floats meet first: what integers would need among themselves does not count. */
type Floats<T extends readonly DType[], A extends DType> = T extends readonly [
  infer H extends DType,
  ...infer Rest extends readonly DType[],
]
  ? [H] extends [FloatDType]
    ? Floats<Rest, [A] extends [never] ? H : Promote<A, H>>
    : [Extract<H, FloatDType>] extends [never]
      ? Floats<Rest, A>
      : DType
  : A;
type Fold<T extends readonly DType[], A extends DType> = T extends readonly [
  infer H extends DType,
  ...infer Rest extends readonly DType[],
]
  ? Fold<Rest, [A] extends [never] ? H : Promote<A, H>>
  : A;

/**
 * What a function that returns numbers makes of its operands' dtypes: of one float dtype it is that one; integers and
 * bool may stay what they are, count in i32 or become f64. What the function says is not known to the types.
 */
export type Computed<D extends DType> = [DType] extends [D]
  ? DType
  : [D] extends [FloatDType]
    ? Promotions[D][D]
    : Known<Endings[D] | Promotions[D][D]>;
type Known<D extends DType> = [DType] extends [D] ? DType : D;
/**
 * What a function makes of its operands' dtypes, by what it returns: booleans are bool, numbers are `Computed`. R may be
 * a dtype, for a function whose result is converted to it.
 */
export type Returned<R, D extends DType> = 0 extends 1 & R
  ? DType
  : [R] extends [DType]
    ? R
    : [R] extends [boolean]
      ? "bool"
      : [R] extends [number]
        ? Computed<D>
        : DType;

/** The same for a fold, whose accumulator holds what it starts with as well: booleans may become anything. */
export type FoldedBy<R, D extends DType> = [R] extends [boolean] ? DType : Returned<R, D>;

const signed: Record<number, DType> = { 1: "i8", 2: "i16", 4: "i32", 8: "i64" };

function promotePair(a: DType, b: DType): DType {
  if (a === b) return a;
  const x = dtypes[a];
  const y = dtypes[b];
  if (x.kind === "bool") return b;
  if (y.kind === "bool") return a;
  if (x.kind === "float" && y.kind === "float") {
    if (x.bytes === y.bytes) return "f32"; // f16 with bf16: neither holds the other
    return x.bytes > y.bytes ? a : b;
  }
  if (x.kind === "float" || y.kind === "float") {
    const float = x.kind === "float" ? x : y;
    const int = x.kind === "float" ? y : x;
    // A float must hold every integer of the other type: 8-bit in 16-bit floats, 16-bit in f32.
    if (int.bytes >= 4 || float.bytes === 8) return "f64";
    return int.bytes === 1 ? float.name : "f32";
  }
  if (x.kind === y.kind) return x.bytes > y.bytes ? a : b;
  const u = x.kind === "uint" ? x : y;
  const i = x.kind === "uint" ? y : x;
  if (i.bytes > u.bytes) return i.name;
  return u.bytes === 8 ? "f64" : signed[u.bytes * 2];
}

const promotion = new Map<string, DType>();
for (const a of dtypeNames) for (const b of dtypeNames) promotion.set(a + b, promotePair(a, b));

/** The smallest dtype that holds both, as NumPy 2's result_type. */
export function promote(a: DType, b: DType): DType {
  return a === b ? a : promotion.get(a + b)!;
}

/**
 * The smallest dtype that holds all of them, in any order, as NumPy 2's result_type. Integers meet the floats one by one:
 * what they would need among themselves does not count, so u16, i16 and f32 are f32.
 */
export function promoteAll(all: readonly DType[]): DType {
  if (all.length < 3) return all.reduce(promote);
  const floats = all.filter(isFloat);
  if (floats.length === 0) return all.reduce(promote);
  const float = floats.reduce(promote);
  return all.map((d) => promote(float, d)).reduce(promote);
}

/**
 * As `promote`, for callers: unknown names are an error.
 *
 * @param a a dtype
 * @param b another one
 * @returns the dtype that both are converted to where they meet, as in NumPy 2
 * @example
 * promote("i32", "f32"); // → f64
 * promote("u8", "i8"); // → i16
 */
export function promoted(a: DType, b: DType): DType {
  return promote(checkDType("promote", a), checkDType("promote", b));
}

/* Casts ------------------------------------------------------------------------------------------------ */

/** One value from dtype `from` to dtype `to`: the law of every cast in the library. */
export function convert(value: Value, from: DType, to: DType): Value {
  if (from === to) return value;
  const target = dtypes[to];
  if (target.kind === "bool") return Number(value) === 0 ? 0 : 1; // NaN is true, as in NumPy
  if (target.kind === "float") {
    if (typeof value === "number") return target.wrap(value);
    return to === "f64" ? Number(value) : target.wrap(numberWithSticky(value));
  }
  if (dtypes[from].kind === "float") return saturate(value as number, target);
  if (target.big) return target.wrap(BigInt(value));
  return typeof value === "bigint" ? Number(bigWrap(value, target)) : target.wrap(value);
}

const bigWrap = (value: bigint, row: DTypeRow) =>
  row.kind === "uint" ? BigInt.asUintN(row.bytes * 8, value) : BigInt.asIntN(row.bytes * 8, value);

function saturate(x: number, row: DTypeRow): Value {
  if (Number.isNaN(x)) return row.big ? 0n : 0;
  if (x <= Number(row.min)) return row.min;
  if (x >= Number(row.max)) return row.max;
  const t = Math.trunc(x);
  return row.big ? BigInt(t) : t + 0;
}

/** A double that rounds to any narrower float as the integer itself would: 55 top bits, the rest as a sticky bit. */
function numberWithSticky(value: bigint): number {
  const magnitude = value < 0n ? -value : value;
  if (magnitude < 1n << 53n) return Number(value);
  const shift = BigInt(magnitude.toString(2).length - 52);
  const top = magnitude >> shift;
  const sticky = top << shift === magnitude ? 0n : 1n;
  const n = Number((top << 1n) | sticky) * 2 ** (Number(shift) - 1);
  return value < 0n ? -n : n;
}

/** Rounds x to a multiple of 2^q, ties to even; exact for |x| < 2^(q+51). */
function roundToQuantum(x: number, quantum: number): number {
  const y = x / quantum;
  const magic = y < 0 ? -(2 ** 52) : 2 ** 52;
  return (y + magic - magic) * quantum;
}

const scratch = new DataView(new ArrayBuffer(8));

/** Exponent e with 2^e <= |x| < 2^(e+1), for normal doubles. */
function exponentOf(x: number): number {
  scratch.setFloat64(0, x);
  return ((scratch.getUint16(0) >>> 4) & 0x7ff) - 1023;
}

export function roundToF16(x: number): number {
  if (x === 0 || Number.isNaN(x)) return x;
  const e = exponentOf(x);
  if (e > 15) return x < 0 ? -Infinity : Infinity;
  const r = roundToQuantum(x, 2 ** (Math.max(e, -14) - 10));
  if (r === 0) return x < 0 ? -0 : 0;
  return Math.abs(r) > 65504 ? (r < 0 ? -Infinity : Infinity) : r;
}

export function roundToBf16(x: number): number {
  if (x === 0 || Number.isNaN(x)) return x;
  const e = exponentOf(x);
  if (e > 127) return x < 0 ? -Infinity : Infinity;
  const r = roundToQuantum(x, 2 ** (Math.max(e, -126) - 7));
  if (r === 0) return x < 0 ? -0 : 0;
  return Math.abs(r) >= 2 ** 128 ? (r < 0 ? -Infinity : Infinity) : r;
}

export function f16ToBits(x: number): number {
  if (Number.isNaN(x)) return 0x7e00;
  const r = roundToF16(x);
  const sign = r < 0 || Object.is(r, -0) ? 0x8000 : 0;
  const a = Math.abs(r);
  if (a === Infinity) return sign | 0x7c00;
  if (a < 2 ** -14) return sign | (a * 2 ** 24);
  const e = exponentOf(a);
  return sign | ((e + 15) << 10) | (a * 2 ** (10 - e) - 1024);
}

export function f16FromBits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const e = (bits >>> 10) & 31;
  const m = bits & 1023;
  if (e === 31) return m === 0 ? sign * Infinity : NaN;
  return e === 0 ? sign * m * 2 ** -24 : sign * (1024 + m) * 2 ** (e - 25);
}

export function bf16ToBits(x: number): number {
  if (Number.isNaN(x)) return 0x7fc0;
  scratch.setFloat32(0, roundToBf16(x));
  return scratch.getUint16(0);
}

export function bf16FromBits(bits: number): number {
  scratch.setUint16(0, bits);
  scratch.setUint16(2, 0);
  return scratch.getFloat32(0);
}

/* The border ------------------------------------------------------------------------------------------- */

/** A caller's scalar → a value of the dtype. Numbers and bigints do not mix silently. */
export function fromScalar(operation: string, scalar: unknown, to: DType): Value {
  const row = dtypes[to];
  if (typeof scalar === "number") {
    if (!row.big) return convert(scalar, "f64", to);
    // Every whole number is one exactly; beyond the range it is a mistake, not a wrap.
    if (Number.isSafeInteger(scalar)) return row.wrap(BigInt(scalar));
    if (Number.isInteger(scalar) && row.wrap(BigInt(scalar)) === BigInt(scalar)) return BigInt(scalar);
    return fail(
      "dtype",
      operation,
      `${to} holds bigints, got the number ${scalar}.`,
      `Write a whole number from ${row.min} to ${row.max}, or a bigint such as 3n.`,
    );
  }
  if (typeof scalar === "boolean") return row.big ? BigInt(scalar) : Number(scalar);
  if (typeof scalar === "bigint") {
    if (row.big) return row.wrap(scalar);
    return fail(
      "dtype",
      operation,
      `${to} holds numbers, got the bigint ${scalar}n.`,
      `Write Number(${scalar}n), or convert the tensor with to("i64").`,
    );
  }
  return fail(
    "dtype",
    operation,
    `expected a number, got ${describe(scalar)}.`,
    "Elements are numbers, booleans, or bigints for i64 and u64.",
  );
}

/** A value → what the caller sees of one element: a boolean or a number, which holds it exactly. */
export function toItem<D extends DType>(operation: string, value: Value, from: D): ItemOf<D> {
  if (typeof value === "bigint") {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number as ItemOf<D>;
    return fail(
      "dtype",
      operation,
      `the element is ${value}, which no number holds for certain.`,
      "Read it as a bigint: toTypedArray() or toArray().",
    );
  }
  return (from === "bool" ? value !== 0 : value) as ItemOf<D>;
}

/** A value → what the caller sees: booleans for bool, bigints for 64-bit integers, numbers for the rest. */
export function toScalar<D extends DType>(value: Value, from: D): ScalarOf<D> {
  return (from === "bool" ? value !== 0 : value) as ScalarOf<D>;
}
