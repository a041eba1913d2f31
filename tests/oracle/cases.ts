/**
 * The oracle's cases as data: 9,142 of them, made with NumPy, one gzipped file of JSON lines a family. Reading them
 * and turning their numbers into JavaScript values is all that happens here; adapters.ts runs them.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { DType } from "../../src/index.ts";

export const families = [
  "view",
  "map",
  "zip",
  "reduce",
  "scan",
  "matmul",
  "cast",
  "copy",
  "raw",
  "layout",
  "minitorch",
] as const;
export type Family = (typeof families)[number];

export type Scalar = number | bigint | boolean;
/** JSON has no -0, NaN or 64-bit integers: these are strings. */
export type Coded = number | boolean | string;

export type SliceSpec =
  | { readonly slice: readonly [number | null, number | null, number | null] }
  | { readonly index: number }
  | { readonly newaxis: true }
  | { readonly ellipsis: true };

export type ViewStep =
  | { readonly op: "slice"; readonly items: readonly SliceSpec[] }
  | { readonly op: "permute"; readonly perm: readonly number[] }
  | { readonly op: "swapaxes"; readonly a: number; readonly b: number }
  | {
      readonly op: "moveaxis";
      readonly src: number | readonly number[];
      readonly dst: number | readonly number[];
    }
  | { readonly op: "expand_dims"; readonly axis: number | readonly number[] }
  | { readonly op: "squeeze"; readonly axes: readonly number[] | null }
  | { readonly op: "broadcast_to"; readonly shape: readonly number[] }
  | { readonly op: "reshape"; readonly shape: readonly number[] }
  | { readonly op: "diagonal"; readonly offset: number; readonly axis1: number; readonly axis2: number }
  | { readonly op: "sliding_window"; readonly window: readonly number[]; readonly axes: readonly number[] }
  | { readonly op: "flip"; readonly axes: readonly number[] | null }
  | {
      readonly op: "as_strided";
      readonly shape: readonly number[];
      readonly strides: readonly number[];
      readonly offset: number;
    };

export interface TensorInput {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data?: readonly Coded[];
  readonly gen?: { readonly rule: "arange"; readonly start?: number; readonly step?: number };
  readonly views: readonly ViewStep[];
}

export interface Check {
  readonly rtol: number;
  readonly atol: number;
  readonly zero_sign?: "any";
}
export const exact: Check = { rtol: 0, atol: 0 };

export interface Expected {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: readonly Coded[];
}

/** What every case has; each adapter knows the rest of its own. */
export interface Case<I = TensorInput, P = object, E = Expected> {
  readonly id: string;
  readonly op: string;
  readonly inputs: readonly I[];
  readonly params: P;
  readonly expected: E | { readonly error: string };
  readonly check?: Check;
}

export function loadCases(family: Family): Case<unknown, unknown, unknown>[] {
  const file = new URL(`./cases/${family}.jsonl.gz`, import.meta.url);
  return parseCases(gunzipSync(readFileSync(file)).toString("utf8"));
}

export function parseCases(text: string): Case<unknown, unknown, unknown>[] {
  const lines = text.split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

export function decode(x: Coded, dtype: DType): Scalar {
  if (dtype === "i64" || dtype === "u64") return BigInt(x);
  if (dtype === "bool") return Boolean(x);
  return Number(x);
}
