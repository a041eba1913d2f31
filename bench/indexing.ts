/**
 * Moving elements about, against a plain copy of as many bytes in the same run: what the two have in common is memory
 * bandwidth. Results are checked before anything is timed.
 *
 *     node --import tsx bench/indexing.ts
 */

import { engine } from "../src/engine.ts";
import { arange, type Tensor, tensor, where } from "../src/index.ts";
import { take } from "../src/library/indexing.ts";
import { concat } from "../src/library/join.ts";
import { booleanMask } from "../src/library/mask.ts";
import { pad } from "../src/library/pad.ts";
import { duration, isShown, table, timeAll, timesAsFast } from "./harness.ts";

interface Move {
  readonly name: string;
  /** Bytes that are read and written at the least. */
  readonly bytes: number;
  /** Share of a copy's bandwidth that is asked for; null: for the record. */
  readonly target: number | null;
  readonly run: () => Tensor;
  readonly check: (i: number) => number;
  readonly note?: string;
}

/** A permutation of 0 … n - 1 that goes everywhere: i · odd mod 2^k. */
const scattered = (n: number): Int32Array =>
  Int32Array.from({ length: n }, (_, i) => Math.imul(i, 40503) & (n - 1));

function moves(n: number): Move[] {
  const x = arange(n);
  const rows = x.reshape(-1, 64);
  const rowOrder = scattered(n / 64);
  const rowIndex = tensor(rowOrder);
  const ascending = (i: number) => i - (i >> 4);
  const rowsAscending = tensor(Int32Array.from({ length: n / 64 }, (_, i) => ascending(i)));
  const nearby = Int32Array.from({ length: n }, (_, i) => i ^ 5);
  const nearIndex = tensor(nearby);
  const order = scattered(n);
  const index = tensor(order);
  const half = x.slice([0, n / 2]);
  const mask = tensor(
    Uint8Array.from({ length: n }, (_, i) => (Math.imul(i, 2654435761) >>> 31) as number),
  ).to("bool");
  const bits = mask.toTypedArray();
  const kept = Int32Array.from({ length: n }, (_, i) => i).filter((i) => bits[i] === 1);
  const y = x.neg();
  const side = Math.sqrt(n);
  const square = x.reshape(side, side);
  const wide = side + 4;
  return [
    {
      name: "take rows of 64, ascending",
      bytes: 8 * n,
      target: 0.7,
      run: () => take(rows, rowsAscending, { axis: 0 }),
      check: (i) => ascending(i >> 6) * 64 + (i & 63),
    },
    {
      name: "take rows of 64, scattered",
      bytes: 8 * n,
      target: null,
      run: () => take(rows, rowIndex, { axis: 0 }),
      check: (i) => rowOrder[i >> 6] * 64 + (i & 63),
      note: "four cache lines at a place that no prefetcher foresees",
    },
    {
      name: "take elements, nearby",
      bytes: 12 * n,
      target: null,
      run: () => take(x, nearIndex),
      check: (i) => nearby[i],
      note: "the index is read too, and becomes an offset on the way",
    },
    {
      name: "take elements, scattered",
      bytes: 12 * n,
      target: null,
      run: () => take(x, index),
      check: (i) => order[i],
      note: "a cache line for every element",
    },
    {
      name: "where(mask, x, y)",
      bytes: 13 * n,
      target: 0.7,
      run: () => where(mask, x, y),
      check: (i) => (bits[i] === 1 ? i : -i),
    },
    {
      name: "concat of two halves",
      bytes: 8 * n,
      target: 0.7,
      run: () => concat([half, half]),
      check: (i) => i % (n / 2),
    },
    {
      name: "concat along the last axis",
      bytes: 8 * n,
      target: 0.7,
      run: () => concat([square.slice(":", [0, side / 2]), square.slice(":", [side / 2, side])], { axis: 1 }),
      check: (i) => i,
    },
    {
      name: "pad by 2, constant",
      bytes: 8 * n,
      target: 0.7,
      run: () => pad(square, 2),
      check: (i) => {
        const [r, c] = [Math.floor(i / wide) - 2, (i % wide) - 2];
        return r < 0 || c < 0 || r >= side || c >= side ? 0 : r * side + c;
      },
    },
    {
      name: "pad by 2, reflect",
      bytes: 8 * n,
      target: 0.7,
      run: () => pad(square, 2, { mode: "reflect" }),
      check: (i) => {
        const turn = (k: number) => (k < 0 ? -k : k >= side ? 2 * side - 2 - k : k);
        return turn(Math.floor(i / wide) - 2) * side + turn((i % wide) - 2);
      },
    },
    {
      name: "booleanMask, half of it",
      bytes: 7 * n,
      target: null,
      run: () => booleanMask(x, mask),
      check: (i) => kept[i],
    },
  ];
}

/** Every move beside a copy of the same number of bytes, taking turns. */
export function benchIndexing(n = 1 << 24): void {
  // Large enough for memory: in a cache a copy's bandwidth is something else.
  const rows = [["", "time", "GB/s", "copy", "of copy's bandwidth", "target", ""]];
  for (const move of moves(n).filter(isShown)) {
    const once = move.run();
    const got = once.toTypedArray() as Float32Array;
    for (let i = 0; i < got.length; i += i < 10_000 ? 1 : 61) {
      if (got[i] !== move.check(i))
        throw new Error(`${move.name}: element ${i} is ${got[i]}, expected ${move.check(i)}`);
    }
    once.dispose();
    const source = arange(Math.round(move.bytes / 8));
    const [ours, copy] = timeAll(
      [
        { name: move.name, run: () => move.run().dispose() },
        { name: "copy", run: () => source.clone().dispose() },
      ],
      { rounds: 9, turn: 2 },
    );
    source.dispose();
    const share = timesAsFast(ours, copy);
    rows.push([
      move.name,
      duration(ours.median),
      (move.bytes / ours.median / 1e6).toFixed(1),
      duration(copy.median),
      share.toFixed(2),
      move.target === null ? "" : `≥ ${move.target} ${share >= move.target ? "✓" : "✗"}`,
      move.note ?? "",
    ]);
  }
  console.log(table(rows));
}

if (process.argv[1]?.endsWith("indexing.ts")) {
  engine().pool.waitUntilReady();
  benchIndexing(Number(process.env.BENCH_ELEMENTS ?? 1 << 24));
}
