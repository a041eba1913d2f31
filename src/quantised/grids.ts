/**
 * The grids that ggml's iq types take their elements from: rows of 8 or 4 small numbers, chosen once by their maker and
 * part of the format ever since. They are facts of the format, kept here as indices into a handful of values, packed as
 * base64 with 2 or 3 bits an element, lowest bits first.
 */
import { engine } from "../engine.ts";
import { gridBits } from "./grid-bits.ts";
import type { GridName } from "./recipes.ts";

interface Grid {
  readonly rows: number;
  /** Elements of a row. */
  readonly run: 8 | 4;
  /** Bits of an index. */
  readonly bits: 2 | 3;
  readonly values: readonly number[];
}

const grids: Record<GridName, Grid> = {
  iq1_s: { rows: 2048, run: 8, bits: 2, values: [-1, 0, 1] },
  iq2_xxs: { rows: 256, run: 8, bits: 2, values: [8, 25, 43] },
  iq2_xs: { rows: 512, run: 8, bits: 2, values: [8, 25, 43] },
  iq2_s: { rows: 1024, run: 8, bits: 2, values: [8, 25, 43] },
  iq3_xxs: { rows: 256, run: 4, bits: 3, values: [4, 12, 20, 28, 36, 44, 52, 62] },
  iq3_s: { rows: 512, run: 4, bits: 3, values: [1, 3, 5, 7, 9, 11, 13, 15] },
};

const made = new Map<GridName, Int8Array>();

/** The grid, row by row. */
export function gridOf(name: GridName): Int8Array {
  let grid = made.get(name);
  if (grid === undefined) {
    grid = unpack(grids[name], gridBits[name]);
    made.set(name, grid);
  }
  return grid;
}

function unpack({ rows, run, bits, values }: Grid, text: string): Int8Array {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return Int8Array.from({ length: rows * run }, (_, i) => {
    const at = i * bits;
    const two = packed[at >> 3] | ((packed[(at >> 3) + 1] ?? 0) << 8);
    return values[(two >> (at & 7)) & ((1 << bits) - 1)];
  });
}

/** Runs `fn` with the address of a copy of the grid in the heap; 0 where a type has none. */
export function withGrid<R>(operation: string, name: GridName | undefined, fn: (address: number) => R): R {
  if (name === undefined) return fn(0);
  const grid = gridOf(name);
  const { heap } = engine();
  const address = heap.alloc(grid.length, operation);
  try {
    new Int8Array(heap.buffer, address, grid.length).set(grid);
    return fn(address);
  } finally {
    heap.free(address);
  }
}
