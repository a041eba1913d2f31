/** The numbers exp(-2πi·k / n) that transforms are made of, and the memory of those used last. */
import { dtypes } from "../dtype.ts";
import { type FftLane, linesOf } from "../wasm/routines/fft/kit.ts";

/**
 * out[at], out[at + 1] = exp(-2πi·k / n). The angle is brought into an eighth of the circle with whole numbers first, so
 * that it is right to the last bit but one.
 */
export function unit(out: Float64Array | Float32Array, at: number, k: number, n: number): void {
  // In quarters of 1/n of a turn; a quarter of a turn is n of them.
  let q = 4 * k;
  const below = q > 2 * n;
  if (below) q = 4 * n - q;
  const left = q > n;
  if (left) q = 2 * n - q;
  const steep = 2 * q > n;
  if (steep) q = n - q;
  const angle = ((Math.PI / 2) * q) / n;
  const [c, s] = steep ? [Math.sin(angle), Math.cos(angle)] : [Math.cos(angle), Math.sin(angle)];
  out[at] = left ? -c : c;
  out[at + 1] = below ? s : -s;
}

interface Stages {
  /** As wasm/routines/fft/fft.ts reads them; addresses of factors count from the table's start. */
  readonly words: Int32Array;
  readonly factors: Float32Array | Float64Array;
}

export function stagesOf(lane: FftLane, n: number, radices: readonly number[]): Stages {
  return remembered(`stages ${lane} ${n}`, () => {
    const factors: number[] = [];
    const pair = new Float64Array(2);
    const words = Int32Array.from([radices.length, ...radices.flatMap(() => [0, 0, 0])]);
    let rest = n;
    radices.forEach((radix, s) => {
      const m = rest / radix;
      words.set([radix, m, factors.length * dtypes[lane].bytes], 1 + 3 * s);
      for (let p = 1; p < m; p++) {
        for (let k = 1; k < radix; k++) {
          unit(pair, 0, (p * k) % rest, rest);
          factors.push(pair[0], pair[1]);
        }
      }
      rest = m;
    });
    return { words, factors: lane === "f32" ? Float32Array.from(factors) : Float64Array.from(factors) };
  });
}

/** The factors of `emitPairUp` in wasm/routines/fft/between.ts, for real signals of n. */
export function halvesOf(lane: FftLane, n: number, inverse: boolean): Float32Array | Float64Array {
  return remembered(`halves ${lane} ${n} ${inverse}`, () => {
    const count = n >> 2;
    const out = lane === "f32" ? new Float32Array(2 * count) : new Float64Array(2 * count);
    const pair = new Float64Array(2);
    for (let k = 1; k <= count; k++) {
      unit(pair, 0, k, n);
      out[2 * k - 2] = pair[1] / 2;
      out[2 * k - 1] = (inverse ? pair[0] : -pair[0]) / 2;
    }
    return out;
  });
}

/** exp(-2πi·e / whole) = coarse[e >> shift] · fine[e & (2^shift - 1)], for every e. */
export function powersOf(whole: number) {
  return remembered(`powers ${whole}`, () => {
    const shift = Math.ceil(Math.log2(whole) / 2);
    const fine = new Float64Array(2 << shift);
    for (let e = 0; e < 1 << shift; e++) unit(fine, 2 * e, e % whole, whole);
    const coarse = new Float64Array(2 * ((whole >> shift) + 1));
    for (let e = 0; 2 * e < coarse.length; e++) unit(coarse, 2 * e, (e << shift) % whole, whole);
    return { shift, fine, coarse };
  });
}

/** The tables of `emitTwist` in wasm/routines/fft/between.ts, for columns of n1 in a transform of `whole`. */
export function twistOf(lane: FftLane, n1: number, whole: number) {
  return remembered(`twist ${lane} ${n1} ${whole}`, () => {
    const width = linesOf(lane);
    const lanes = lane === "f32" ? new Float32Array(2 * width * n1) : new Float64Array(2 * width * n1);
    const pair = new Float64Array(2);
    for (let k = 0; k < n1; k++) {
      for (let t = 0; t < width; t++) {
        unit(pair, 0, (t * k) % whole, whole);
        lanes[2 * width * k + t] = pair[0];
        lanes[2 * width * k + width + t] = pair[1];
      }
    }
    return { ...powersOf(whole), lanes };
  });
}

/** Tables of the lengths used last. */
const tables = new Map<string, { readonly bytes: number; readonly table: unknown }>();
const MOST_TABLE_BYTES = 1 << 26;
let tableBytes = 0;

export function remembered<T>(key: string, make: () => T): T {
  const known = tables.get(key);
  if (known !== undefined) {
    // Used again: behind those that were not.
    tables.delete(key);
    tables.set(key, known);
    return known.table as T;
  }
  const table = make();
  const bytes = bytesOf(table);
  tables.set(key, { bytes, table });
  tableBytes += bytes;
  for (const [old, { bytes }] of tables) {
    if (tableBytes <= MOST_TABLE_BYTES || old === key) break;
    tables.delete(old);
    tableBytes -= bytes;
  }
  return table;
}

function bytesOf(table: unknown): number {
  if (ArrayBuffer.isView(table)) return table.byteLength;
  return Object.values(table as object).reduce(
    (sum, x) => sum + (ArrayBuffer.isView(x) ? x.byteLength : 0),
    0,
  );
}
