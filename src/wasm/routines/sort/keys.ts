/**
 * Order as unsigned integers: every element has a KEY of its own width, and a < b exactly when key(a) < key(b). -0 and 0
 * share a key, and so do all NaNs, which come last. Complemented keys order downwards.
 */
import { type DType, dtypes } from "../../../dtype.ts";
import { type FuncBuilder, i32x4, type Local } from "../../assembler/assembler.ts";
import type { LoadOp, StoreOp } from "../../assembler/opcodes.ts";

export type KeyLane = "i32" | "i64";

export const keyLane = (dtype: DType): KeyLane => (dtypes[dtype].bytes === 8 ? "i64" : "i32");

const loads = { 1: "i32.load8_u", 2: "i32.load16_u", 4: "i32.load", 8: "i64.load" } as const satisfies Record<
  number,
  LoadOp
>;
const stores = {
  1: "i32.store8",
  2: "i32.store16",
  4: "i32.store",
  8: "i64.store",
} as const satisfies Record<number, StoreOp>;

/** [address] → [bits of an element, or a key], zero-extended. */
export const loadBits = (f: FuncBuilder, bytes: 1 | 2 | 4 | 8, offset = 0): FuncBuilder =>
  f.load(loads[bytes], offset, 1);
/** [address, bits] → []. */
export const storeBits = (f: FuncBuilder, bytes: 1 | 2 | 4 | 8, offset = 0): FuncBuilder =>
  f.store(stores[bytes], offset, 1);

export const constant = (f: FuncBuilder, lane: KeyLane, value: bigint): FuncBuilder =>
  lane === "i64" ? f.i64(value) : f.i32(Number(value));

/** The bits of +Infinity: what is larger, without its sign, is a NaN. */
const infinities: Partial<Record<DType, bigint>> = {
  f16: 0x7c00n,
  bf16: 0x7f80n,
  f32: 0x7f800000n,
  f64: 0x7ff0000000000000n,
};

const allBits = (dtype: DType): bigint => (1n << BigInt(8 * dtypes[dtype].bytes)) - 1n;
const signBit = (dtype: DType): bigint => 1n << BigInt(8 * dtypes[dtype].bytes - 1);
/** Key of a NaN, before it is complemented. */
export const nanKey = allBits;
/** Key of zero of a float. */
export const zeroKey = signBit;

/** [] → [key of the bits in `raw`]; `special` (i32) becomes nonzero when they are -0 or a NaN. */
export function pushKey(f: FuncBuilder, dtype: DType, raw: Local, special?: Local): FuncBuilder {
  const { kind } = dtypes[dtype];
  const lane = keyLane(dtype);
  if (kind === "uint") return f.get(raw);
  if (kind === "bool") return f.get(raw).i32(0).op("i32.ne");
  if (kind === "int") return constant(f.get(raw), lane, signBit(dtype)).op(`${lane}.xor`);
  const isZero = f.temp("i32");
  const isNan = f.temp("i32");
  // Negative: all bits flip. Positive: the sign alone. -0 steps up to 0's place.
  constant(f, lane, allBits(dtype));
  f.get(raw);
  signMask(f, dtype, raw).op(`${lane}.xor`);
  constant(f.get(raw), lane, signBit(dtype)).op(`${lane}.eq`).tee(isZero);
  if (lane === "i64") f.op("i64.extend_i32_u");
  f.op(`${lane}.add`);
  pushIsNaN(f, dtype, raw).tee(isNan);
  f.select();
  if (special !== undefined) {
    f.get(isZero).get(isNan).op("i32.or").get(special).op("i32.or").set(special);
  }
  return f.release(isZero).release(isNan);
}

/**
 * Code for the keys of four elements of 32 bits in `raw`, to be emitted in a loop: [] → [keys]. Lanes of `special` become
 * nonzero where there is a -0 or a NaN. Constants are set where this is called.
 */
export function vectorKeys(f: FuncBuilder, dtype: DType, raw: Local, special: Local): () => void {
  const { kind } = dtypes[dtype];
  if (kind === "uint") return () => f.get(raw);
  const sign = f.local("v128", "sign");
  f.v128(i32x4(-0x80000000)).set(sign);
  if (kind === "int") return () => f.get(raw).get(sign).op("v128.xor");
  const infinity = f.local("v128", "infinity");
  const isZero = f.local("v128", "isZero");
  const isNan = f.local("v128", "isNan");
  f.v128(i32x4(0x7f800000)).set(infinity);
  return () => {
    f.get(raw).get(sign).op("i32x4.eq").set(isZero);
    f.get(raw).get(sign).op("v128.andnot").get(infinity).op("i32x4.gt_s").set(isNan);
    f.get(isZero).get(isNan).op("v128.or").get(special).op("v128.or").set(special);
    f.get(raw).get(raw).i32(31).op("i32x4.shr_s").get(sign).op("v128.or").op("v128.xor");
    // A mask is -1: subtracted, it steps up; joined, it makes the last of all keys.
    f.get(isZero).op("i32x4.sub").get(isNan).op("v128.or");
  };
}

/** As pushFromKey, for four keys of 32 bits. Constants are set where this is called. */
export function vectorFromKeys(f: FuncBuilder, dtype: DType, keys: Local): () => void {
  const { kind } = dtypes[dtype];
  if (kind === "uint") return () => f.get(keys);
  const sign = f.local("v128", "sign");
  f.v128(i32x4(-0x80000000)).set(sign);
  if (kind === "int") return () => f.get(keys).get(sign).op("v128.xor");
  return () =>
    f.get(keys).get(keys).i32(31).op("i32x4.shr_s").op("v128.not").get(sign).op("v128.or").op("v128.xor");
}

/** [] → [1 if the bits in `raw` are a NaN]; 0 for every other dtype than floats. */
export function pushIsNaN(f: FuncBuilder, dtype: DType, raw: Local): FuncBuilder {
  const infinity = infinities[dtype];
  if (infinity === undefined) return f.i32(0);
  const lane = keyLane(dtype);
  constant(f.get(raw), lane, signBit(dtype) - 1n).op(`${lane}.and`);
  return constant(f, lane, infinity).op(`${lane}.gt_u`);
}

/** [] → [all bits where the sign of `raw` is set, else the sign alone]. */
function signMask(f: FuncBuilder, dtype: DType, raw: Local): FuncBuilder {
  const lane = keyLane(dtype);
  const bits = 8 * dtypes[dtype].bytes;
  if (bits === 16) {
    f.get(raw).op("i32.extend16_s").i32(15).op("i32.shr_s").i32(0xffff).op("i32.and");
  } else {
    constant(f.get(raw), lane, BigInt(bits - 1)).op(`${lane}.shr_s`);
  }
  return constant(f, lane, signBit(dtype)).op(`${lane}.or`);
}

/** [] → [bits that have the key in `key`]: of zeros +0, of NaNs one of them. */
export function pushFromKey(f: FuncBuilder, dtype: DType, key: Local): FuncBuilder {
  const { kind, bytes } = dtypes[dtype];
  const lane = keyLane(dtype);
  if (kind === "uint" || kind === "bool") return f.get(key);
  if (kind === "int") return constant(f.get(key), lane, signBit(dtype)).op(`${lane}.xor`);
  const all = allBits(dtype);
  f.get(key);
  if (bytes === 2) {
    f.get(key).op("i32.extend16_s").i32(15).op("i32.shr_s").i32(0xffff).op("i32.and");
  } else {
    constant(f.get(key), lane, BigInt(8 * bytes - 1)).op(`${lane}.shr_s`);
  }
  constant(f, lane, all).op(`${lane}.xor`);
  return constant(f, lane, signBit(dtype)).op(`${lane}.or`).op(`${lane}.xor`);
}

/** The word `down` (0, or -1 for keys that order downwards) as a mask of a key's width: [] → [mask]. */
export function pushMask(f: FuncBuilder, dtype: DType, down: Local): FuncBuilder {
  f.get(down);
  if (keyLane(dtype) === "i64") return f.op("i64.extend_i32_s");
  if (dtype === "bool") return f.i32(1).op("i32.and");
  const { bytes } = dtypes[dtype];
  return bytes === 4 ? f : f.i32(Number(allBits(dtype))).op("i32.and");
}
