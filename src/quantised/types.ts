/**
 * ggml's block types: so many elements of a row share one block of bytes, with a scale or several. What the bits of a
 * block mean is in recipes.ts; how many there are is here.
 */
import { describe, fail } from "../errors.ts";

export interface BlockType {
  /** ggml's number. */
  readonly id: number;
  /** Elements of a block. */
  readonly block: number;
  /** Bytes of a block. */
  readonly bytes: number;
  /** Can `quantise` make it? The others need a search over a model's activations: they are only read. */
  readonly encodes: boolean;
}

const both = (id: number, block: number, bytes: number) => ({ id, block, bytes, encodes: true }) as const;
const read = (id: number, block: number, bytes: number) => ({ id, block, bytes, encodes: false }) as const;

export const blockTypes = {
  q4_0: both(2, 32, 18),
  q4_1: both(3, 32, 20),
  q5_0: both(6, 32, 22),
  q5_1: both(7, 32, 24),
  q8_0: both(8, 32, 34),
  q8_1: both(9, 32, 36),
  q2_K: both(10, 256, 84),
  q3_K: both(11, 256, 110),
  q4_K: both(12, 256, 144),
  q5_K: both(13, 256, 176),
  q6_K: both(14, 256, 210),
  q8_K: both(15, 256, 292),
  iq2_xxs: read(16, 256, 66),
  iq2_xs: read(17, 256, 74),
  iq3_xxs: read(18, 256, 98),
  iq1_s: read(19, 256, 50),
  iq4_nl: both(20, 32, 18),
  iq3_s: read(21, 256, 110),
  iq2_s: read(22, 256, 82),
  iq4_xs: both(23, 256, 136),
  iq1_m: read(29, 256, 56),
  tq1_0: both(34, 256, 54),
  tq2_0: both(35, 256, 66),
  mxfp4: both(39, 32, 17),
  nvfp4: both(40, 64, 36),
  q1_0: both(41, 128, 18),
  q2_0: both(42, 64, 18),
} as const satisfies Record<string, BlockType>;

/** The name of a block type: "q4_0", "q4_K", "iq2_xxs", … */
export type QuantisedDType = keyof typeof blockTypes;
/** Those that can be made of floats. */
export type EncodedDType = {
  [Q in QuantisedDType]: (typeof blockTypes)[Q]["encodes"] extends true ? Q : never;
}[QuantisedDType];
export const quantisedNames = Object.keys(blockTypes) as QuantisedDType[];
/** Can it be made of floats? */
export const isEncoded = (dtype: QuantisedDType): dtype is EncodedDType => blockTypes[dtype].encodes;
export const encodedNames = quantisedNames.filter(isEncoded);

/** The same by lower-case name and by ggml's number. */
const byName = new Map<string, QuantisedDType>(quantisedNames.map((name) => [name.toLowerCase(), name]));
const byId = new Map<number, QuantisedDType>(quantisedNames.map((name) => [blockTypes[name].id, name]));

/** The block type that ggml calls so, by name in any case or by number; null: there is none. */
export function blockTypeOf(type: unknown): QuantisedDType | null {
  if (typeof type === "number") return byId.get(type) ?? null;
  return typeof type === "string" ? (byName.get(type.toLowerCase()) ?? null) : null;
}

/** The name, or an error that lists those there are. */
export function checkBlockType(operation: string, dtype: unknown): QuantisedDType {
  if (typeof dtype === "string" && Object.hasOwn(blockTypes, dtype)) return dtype as QuantisedDType;
  const meant = typeof dtype === "string" ? blockTypeOf(dtype) : null;
  return fail(
    "dtype",
    operation,
    `${describe(dtype)} names no block type.`,
    `${meant === null ? "" : `Did you mean ${meant}? `}There are ${quantisedNames.join(" ")}.`,
  );
}
