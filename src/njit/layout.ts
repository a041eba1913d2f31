/**
 * Where a call's arguments and results lie in its descriptor, in bytes from its start. First the failure, then results,
 * scalars, arrays, and the memory of the function's own arrays.
 */
import { dtypes } from "../dtype.ts";
import type { Code } from "./ir.ts";

/** Where an access that failed is written down: which one (0: none did), and the index it asked for. */
export const FAILURE = { site: 0, index: 8, bytes: 16 } as const;
/** A failed site as one word: the site, counted from 1, and its axis. */
export const AXES = 64;

export interface Layout {
  readonly bytes: number;
  /** By result, 8 bytes each. */
  readonly results: readonly number[];
  /** By scalar of the code, 8 bytes each. */
  readonly scalars: readonly number[];
  /** By array of the code. */
  readonly arrays: readonly ArrayLayout[];
}

/** Words: the address, the number of elements, then size and byte stride of each axis. Own arrays lie there themselves. */
export interface ArrayLayout {
  readonly address: number;
  readonly size: number;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

export function layoutOf(code: Code): Layout {
  let at: number = FAILURE.bytes;
  const take = (bytes: number): number => {
    const start = at;
    at += Math.ceil(bytes / 8) * 8;
    return start;
  };
  const results = code.results.filter((r) => typeof r === "string").map(() => take(8));
  const scalars = code.scalars.map(() => take(8));
  const arrays = code.arrays.map(({ argument, rank, dtype, length }): ArrayLayout => {
    if (argument === null)
      return { address: take(length * dtypes[dtype].bytes), size: 0, sizes: [], strides: [] };
    const start = take(8 + 8 * rank);
    const axes = Array.from({ length: rank }, (_, d) => start + 8 + 8 * d);
    return { address: start, size: start + 4, sizes: axes, strides: axes.map((a) => a + 4) };
  });
  return { bytes: at, results, scalars, arrays };
}
