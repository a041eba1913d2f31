/**
 * Elements of Zarr arrays: what both versions call them, which dtype holds them, and what they are where nothing was written.
 * A fill value is kept as the bytes of one element, lowest first, so that every NaN stays what it is.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import type { Json } from "./json.ts";

export interface Element {
  readonly dtype: DType;
  /** Complex numbers: two of the dtype along a last axis. */
  readonly pairs: boolean;
}

/** What lies where nothing was written, as users see it. */
export type ZarrFill = number | bigint | boolean | readonly [real: number, imaginary: number];

interface Row {
  readonly dtype: DType;
  readonly pairs?: true;
  /** NumPy's letter and bytes; null: version 2 has no such elements. */
  readonly v2: string | null;
  readonly v3: string;
}

const rows: readonly Row[] = [
  { dtype: "bool", v2: "b1", v3: "bool" },
  { dtype: "u8", v2: "u1", v3: "uint8" },
  { dtype: "i8", v2: "i1", v3: "int8" },
  { dtype: "u16", v2: "u2", v3: "uint16" },
  { dtype: "i16", v2: "i2", v3: "int16" },
  { dtype: "u32", v2: "u4", v3: "uint32" },
  { dtype: "i32", v2: "i4", v3: "int32" },
  { dtype: "u64", v2: "u8", v3: "uint64" },
  { dtype: "i64", v2: "i8", v3: "int64" },
  { dtype: "f16", v2: "f2", v3: "float16" },
  { dtype: "bf16", v2: null, v3: "bfloat16" },
  { dtype: "f32", v2: "f4", v3: "float32" },
  { dtype: "f64", v2: "f8", v3: "float64" },
  { dtype: "f32", pairs: true, v2: "c8", v3: "complex64" },
  { dtype: "f64", pairs: true, v2: "c16", v3: "complex128" },
];

const elementOf = ({ dtype, pairs }: Row): Element => ({ dtype, pairs: pairs === true });

/** "<f4" of version 2: the element and whether its highest byte comes first; null: no dtype holds it. */
export function elementOfV2(text: string): { element: Element; big: boolean } | null {
  const parts = /^([<>|])([a-zA-Z]\d{1,2})$/.exec(text);
  const row = parts === null ? undefined : rows.find((r) => r.v2 === parts[2]);
  if (parts === null || row === undefined) return null;
  // Only single bytes have no order.
  if (parts[1] === "|" && dtypes[row.dtype].bytes > 1) return null;
  return { element: elementOf(row), big: parts[1] === ">" && dtypes[row.dtype].bytes > 1 };
}

/** "float32" of version 3; null: no dtype holds it. */
export function elementOfV3(text: string): Element | null {
  const row = rows.find((r) => r.v3 === text);
  return row === undefined ? null : elementOf(row);
}

const rowOf = (dtype: DType): Row => rows.find((r) => r.dtype === dtype && r.pairs === undefined)!;

/** What version 2 calls a dtype; null: it has none. */
export function nameInV2(dtype: DType, big: boolean): string | null {
  const { v2 } = rowOf(dtype);
  if (v2 === null) return null;
  return `${dtypes[dtype].bytes === 1 ? "|" : big ? ">" : "<"}${v2}`;
}

export const nameInV3 = (dtype: DType): string => rowOf(dtype).v3;

/** Bytes of one element, a pair as one. */
export const elementBytes = ({ dtype, pairs }: Element): number => dtypes[dtype].bytes * (pairs ? 2 : 1);

/* Fill values ------------------------------------------------------------------------------------------ */

const words: Readonly<Record<string, number>> = { NaN, Infinity, "-Infinity": -Infinity };

/** The bytes of a fill value as metadata have it, or as a user gives it; `bad` throws what is wrong with it. */
export function fillFrom(element: Element, value: Json, bad: (fact: string) => never): Uint8Array {
  const { dtype, pairs } = element;
  const { bytes } = dtypes[dtype];
  const out = new Uint8Array(elementBytes(element));
  const view = new DataView(out.buffer);
  if (value === null) return out;
  if (!pairs) {
    writeFill(view, 0, dtype, value, bad);
    return out;
  }
  const parts = Array.isArray(value) ? value : [value, 0];
  if (parts.length !== 2) return bad("its fill value is no pair of numbers.");
  for (const [i, part] of parts.entries()) writeFill(view, i * bytes, dtype, part, bad);
  return out;
}

function writeFill(
  view: DataView,
  at: number,
  dtype: DType,
  value: Json,
  bad: (fact: string) => never,
): void {
  const { bytes, write } = dtypes[dtype];
  const digits = typeof value === "string" ? /^0x([0-9a-fA-F]+)$/.exec(value)?.[1] : undefined;
  if (digits !== undefined && digits.length === 2 * bytes && dtypes[dtype].kind === "float") {
    const bits = BigInt(`0x${digits}`);
    for (let i = 0; i < bytes; i++) view.setUint8(at + i, Number((bits >> BigInt(8 * i)) & 255n));
    return;
  }
  const number = numberOf(dtype, value);
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : String(value).slice(0, 80);
  if (number === null) bad(`its fill value ${shown} is no ${dtype}.`);
  else write(view, at, number);
}

/** A value of JSON as an element; null: it is none. */
function numberOf(dtype: DType, value: Json): Value | null {
  const { kind, min, max, big } = dtypes[dtype];
  if (kind === "bool") {
    return typeof value === "boolean" || value === 0 || value === 1 ? Number(value) : null;
  }
  if (kind === "float") {
    if (typeof value === "string") return Object.hasOwn(words, value) ? words[value] : null;
    return typeof value === "bigint" || typeof value === "number" ? Number(value) : null;
  }
  const isWhole = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  if (!isWhole || value < min || value > max) return null;
  return big ? BigInt(value) : Number(value);
}

const valueAt = (dtype: DType, fill: Uint8Array, at: number): Value =>
  dtypes[dtype].read(new DataView(fill.buffer, fill.byteOffset, fill.byteLength), at);

/** A fill value as users see it. */
export function fillShown({ dtype, pairs }: Element, fill: Uint8Array): ZarrFill {
  const value = valueAt(dtype, fill, 0);
  if (pairs) return Object.freeze([value, valueAt(dtype, fill, dtypes[dtype].bytes)] as [number, number]);
  return dtype === "bool" ? value !== 0 : value;
}

/** A fill value as metadata have it. */
export function fillText({ dtype, pairs }: Element, fill: Uint8Array, version: 2 | 3): unknown {
  const { kind, bytes, write } = dtypes[dtype];
  const one = (at: number): unknown => {
    const value = valueAt(dtype, fill, at);
    if (kind === "bool") return value !== 0;
    if (kind !== "float") return value;
    const x = value as number;
    const bits = [...fill.subarray(at, at + bytes)].reverse();
    const hex = `0x${bits.map((b) => b.toString(16).padStart(2, "0")).join("")}`;
    if (Number.isNaN(x)) {
      const usual = new Uint8Array(bytes);
      write(new DataView(usual.buffer), 0, NaN);
      return version === 2 || usual.every((b, i) => b === fill[at + i]) ? "NaN" : hex;
    }
    return Number.isFinite(x) ? x : x > 0 ? "Infinity" : "-Infinity";
  };
  return pairs ? [one(0), one(bytes)] : one(0);
}
