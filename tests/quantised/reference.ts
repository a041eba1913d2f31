/** Bytes that ggml's own functions made, where they lie beside the checkout: STRIDED_QUANTISED names the folder. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { QuantisedDType } from "../../src/quantised/types.ts";

const folder = process.env.STRIDED_QUANTISED;

/** Why there is no reference; null where there is one. */
export const missing =
  folder === undefined || folder === ""
    ? "STRIDED_QUANTISED names no folder with reference bytes"
    : existsSync(join(folder, "blocks.jsonl.gz"))
      ? null
      : `${folder} has no blocks.jsonl.gz`;

const rowsOf = <T>(name: string): T[] =>
  gunzipSync(readFileSync(join(folder!, name)))
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T);

const hex = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, "hex"));
const floats = (text: string) => new Float32Array(hex(text).buffer);

export interface ReferenceBlocks {
  readonly dtype: QuantisedDType;
  readonly name: string;
  /** How the bytes came about: "ref" is the function that `quantise` must agree with. */
  readonly via: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What they decode to; null where ggml has no function for it. */
  readonly values: Float32Array | null;
  /** What was encoded; null where the bytes are random. */
  readonly input: Float32Array<ArrayBuffer> | null;
}

export function referenceBlocks(): ReferenceBlocks[] {
  const inputs = new Map(
    rowsOf<{ case: string; f32le: string }>("inputs.jsonl.gz").map((row) => [row.case, floats(row.f32le)]),
  );
  type Row = { type: QuantisedDType; case: string; via: string; bytes: string; back_f32le?: string | null };
  return rowsOf<Row>("blocks.jsonl.gz").map((row) => ({
    dtype: row.type,
    name: row.case,
    via: row.via,
    bytes: hex(row.bytes),
    values: row.back_f32le ? floats(row.back_f32le) : null,
    input: inputs.get(row.case) ?? null,
  }));
}

export interface ReferenceCopy {
  readonly dtype: QuantisedDType;
  /** Sizes and byte strides, fastest axis first, as ggml has them. */
  readonly ne: readonly number[];
  readonly sourceStrides: readonly number[];
  readonly sourceOffset: number;
  readonly blockStrides: readonly number[];
  readonly source: Uint8Array<ArrayBuffer>;
  readonly blocks: Uint8Array<ArrayBuffer>;
  readonly back: Uint8Array<ArrayBuffer>;
}

export function referenceCopies(): ReferenceCopy[] {
  type Row = {
    type: QuantisedDType;
    ne: number[];
    src_nb: number[];
    src_offset: number;
    dst_nb: number[];
    base_f32le: string;
    ref_bytes: string;
    back_f32le: string;
  };
  return rowsOf<Row>("cpy_strided.jsonl.gz").map((row) => ({
    dtype: row.type,
    ne: row.ne,
    sourceStrides: row.src_nb,
    sourceOffset: row.src_offset,
    blockStrides: row.dst_nb,
    source: hex(row.base_f32le),
    blocks: hex(row.ref_bytes),
    back: hex(row.back_f32le),
  }));
}
