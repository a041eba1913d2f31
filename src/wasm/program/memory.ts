/** Loads and stores of SIMD groups: four elements of a dtype ↔ lanes, wherever the elements lie. */
import { type DType, dtypes } from "../../dtype.ts";
import type { FuncBuilder, Local } from "../assembler/assembler.ts";

export const reverse4 = [12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3];
export const reverse2 = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];
/** The low bytes (halves) of four 32-bit lanes, at the front. */
const lowBytes = [0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12];
const lowHalves = [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13];

const isSigned = (d: DType) => dtypes[d].kind === "int";

/** The address on the stack → a register of consecutive elements: four 32-bit lanes, or two of 64 bits. */
export function loadLanes(f: FuncBuilder, dtype: DType, offset: number): void {
  switch (dtypes[dtype].bytes) {
    case 1:
      f.load("v128.load32_zero", offset, 1);
      f.op(isSigned(dtype) ? "i16x8.extend_low_i8x16_s" : "i16x8.extend_low_i8x16_u");
      f.op(isSigned(dtype) ? "i32x4.extend_low_i16x8_s" : "i32x4.extend_low_i16x8_u");
      break;
    case 2:
      f.load(isSigned(dtype) ? "v128.load16x4_s" : "v128.load16x4_u", offset, 1);
      break;
    default:
      f.load("v128.load", offset, 1);
  }
}

/** The address on the stack → the element there in every lane. */
export function loadSplat(f: FuncBuilder, dtype: DType): void {
  const { bytes } = dtypes[dtype];
  if (bytes === 8) f.load("v128.load64_splat", 0, 1);
  else if (bytes === 4) f.load("v128.load32_splat", 0, 1);
  else {
    loadNarrow(f, dtype);
    f.op("i32x4.splat");
  }
}

/** Bytes that are not 0 become masks. */
export function boolMask(f: FuncBuilder, dtype: DType): void {
  if (dtype === "bool") f.i32(0).op("i32x4.splat").op("i32x4.ne");
}

export function loadNarrow(f: FuncBuilder, dtype: DType): void {
  const signed = isSigned(dtype);
  if (dtypes[dtype].bytes === 1) f.load(signed ? "i32.load8_s" : "i32.load8_u", 0, 1);
  else f.load(signed ? "i32.load16_s" : "i32.load16_u", 0, 1);
}

/** Narrow elements side by side at the front of the register; booleans as 0 and 1. */
export function packed(f: FuncBuilder, dtype: DType, reg: Local): Local {
  const { bytes } = dtypes[dtype];
  if (bytes >= 4) return reg;
  let from = reg;
  if (dtype === "bool") {
    from = f.local("v128");
    f.get(reg).i32(31).op("i32x4.shr_u").set(from);
  }
  const out = f.local("v128");
  f.get(from)
    .get(from)
    .shuffle(bytes === 1 ? lowBytes : lowHalves)
    .set(out);
  return out;
}

/** [address, packed register] → consecutive elements. */
export function storeLanes(f: FuncBuilder, dtype: DType, offset: number): void {
  const { bytes } = dtypes[dtype];
  if (bytes === 1) f.storeLane("v128.store32_lane", 0, offset, 1);
  else if (bytes === 2) f.storeLane("v128.store64_lane", 0, offset, 1);
  else f.store("v128.store", offset, 1);
}
