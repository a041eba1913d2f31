/** Blocks of 4 × 4 elements turned in registers: columns in, rows out. */
import type { FuncBuilder, Local } from "../assembler/assembler.ts";

const words = (...lanes: number[]) => lanes.flatMap((l) => [4 * l, 4 * l + 1, 4 * l + 2, 4 * l + 3]);
const doubles = (...lanes: number[]) => words(...lanes.flatMap((l) => [2 * l, 2 * l + 1]));

function mix(f: FuncBuilder, x: Local, y: Local, lanes: number[]): Local {
  const out = f.local("v128");
  f.get(x).get(y).shuffle(lanes).set(out);
  return out;
}

/** Lanes of 32 bits, one register a column: interleave words, then halves. */
export function transpose32(f: FuncBuilder, [a, b, c, d]: readonly Local[]): Local[] {
  const abLow = mix(f, a, b, words(0, 4, 1, 5));
  const cdLow = mix(f, c, d, words(0, 4, 1, 5));
  const abHigh = mix(f, a, b, words(2, 6, 3, 7));
  const cdHigh = mix(f, c, d, words(2, 6, 3, 7));
  return [
    mix(f, abLow, cdLow, doubles(0, 2)),
    mix(f, abLow, cdLow, doubles(1, 3)),
    mix(f, abHigh, cdHigh, doubles(0, 2)),
    mix(f, abHigh, cdHigh, doubles(1, 3)),
  ];
}

/** Lanes of 64 bits: two registers a column in, two a row out. */
export function transpose64(f: FuncBuilder, columns: readonly (readonly Local[])[]): Local[] {
  const rows: Local[] = [];
  for (let r = 0; r < 4; r++) {
    const half = r >> 1;
    const lane = r & 1;
    for (const c of [0, 2])
      rows.push(mix(f, columns[c][half], columns[c + 1][half], doubles(lane, 2 + lane)));
  }
  return rows;
}
