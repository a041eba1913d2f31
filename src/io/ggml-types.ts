/** ggml's element types by number: the name, elements and bytes of a block, and the dtype of those that are one. */
import type { DType } from "../dtype.ts";

export interface GgmlType {
  readonly name: string;
  /** Elements of a block. */
  readonly block: number;
  /** Bytes of a block. */
  readonly bytes: number;
  readonly dtype: DType | null;
}

const plain = (name: string, bytes: number, dtype: DType): GgmlType => ({ name, block: 1, bytes, dtype });
const packed = (name: string, block: number, bytes: number): GgmlType => ({
  name,
  block,
  bytes,
  dtype: null,
});

/** Numbers that are missing belong to types that ggml has removed. */
export const ggmlTypes: Readonly<Record<number, GgmlType>> = {
  0: plain("F32", 4, "f32"),
  1: plain("F16", 2, "f16"),
  2: packed("Q4_0", 32, 18),
  3: packed("Q4_1", 32, 20),
  6: packed("Q5_0", 32, 22),
  7: packed("Q5_1", 32, 24),
  8: packed("Q8_0", 32, 34),
  9: packed("Q8_1", 32, 36),
  10: packed("Q2_K", 256, 84),
  11: packed("Q3_K", 256, 110),
  12: packed("Q4_K", 256, 144),
  13: packed("Q5_K", 256, 176),
  14: packed("Q6_K", 256, 210),
  15: packed("Q8_K", 256, 292),
  16: packed("IQ2_XXS", 256, 66),
  17: packed("IQ2_XS", 256, 74),
  18: packed("IQ3_XXS", 256, 98),
  19: packed("IQ1_S", 256, 50),
  20: packed("IQ4_NL", 32, 18),
  21: packed("IQ3_S", 256, 110),
  22: packed("IQ2_S", 256, 82),
  23: packed("IQ4_XS", 256, 136),
  24: plain("I8", 1, "i8"),
  25: plain("I16", 2, "i16"),
  26: plain("I32", 4, "i32"),
  27: plain("I64", 8, "i64"),
  28: plain("F64", 8, "f64"),
  29: packed("IQ1_M", 256, 56),
  30: plain("BF16", 2, "bf16"),
  34: packed("TQ1_0", 256, 54),
  35: packed("TQ2_0", 256, 66),
  39: packed("MXFP4", 32, 17),
  40: packed("NVFP4", 64, 36),
  41: packed("Q1_0", 128, 18),
  42: packed("Q2_0", 64, 18),
};

/** ggml's number of a dtype; null where it has none. */
export function ggmlTypeOf(dtype: DType): number | null {
  const found = Object.entries(ggmlTypes).find(([, type]) => type.dtype === dtype);
  return found === undefined ? null : Number(found[0]);
}
