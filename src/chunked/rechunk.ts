/**
 * From chunks of one shape to chunks of another within bounded memory. One pass, where a task that writes whole new chunks
 * touches few of the old ones for nothing; otherwise two, over an array in between: the first pass reads every old chunk once and
 * writes pieces that lie in few new ones, the second reads the pieces.
 */
import { gridOf } from "./expr.ts";

export interface Pass {
  readonly chunks: readonly number[];
  readonly block: readonly number[];
}

const bytesOf = (sizes: readonly number[], item: number): number => sizes.reduce((a, b) => a * b, item);

/** Makes a block of whole chunks longer, axis after axis, while it fits; the last axis first. */
export function grown(
  shape: readonly number[],
  chunks: readonly number[],
  fits: (block: readonly number[]) => boolean,
  order: readonly number[] = shape.map((_, d) => shape.length - 1 - d),
): number[] {
  let block = chunks.map((c, d) => Math.min(c, shape[d]));
  for (const d of order) {
    for (;;) {
      if (block[d] >= shape[d]) break;
      const next = block.map((b, k) => (k === d ? Math.min(b * 2, shape[d]) : b));
      if (!fits(next)) break;
      block = next;
    }
  }
  return block;
}

/** How many times more bytes than there are a pass reads whose tasks write these blocks. */
export function amplification(
  shape: readonly number[],
  from: readonly number[],
  block: readonly number[],
  isPlain = false,
): number {
  const first = isPlain ? from.findIndex((c) => c > 1) : -1;
  return shape.reduce((product, n, d) => {
    // Along its first axis a chunk that lies as it is gives what is asked for, and no more.
    if (d === first) return product;
    const tasks = Math.ceil(n / block[d]);
    const step = Math.max(1, Math.floor(tasks / 1000));
    let [touched, seen] = [0, 0];
    for (let t = 0; t < tasks; t += step, seen++) {
      const [first, last] = [t * block[d], Math.min((t + 1) * block[d], n) - 1];
      touched += Math.floor(last / from[d]) - Math.floor(first / from[d]) + 1;
    }
    return (product * (touched / seen) * tasks) / Math.ceil(n / from[d]);
  }, 1);
}

/** The largest size up to `most` that divides a block; of one that spans its axis, any does. */
function divisor(block: number, most: number, n: number): number {
  if (block >= n || block <= most) return Math.min(block, most);
  for (let parts = Math.ceil(block / most); parts < block; parts++)
    if (block % parts === 0) return block / parts;
  return 1;
}

/** The passes from old chunks to new ones; null: even one old and one new chunk do not fit. `most` is for the block of a task. */
export function rechunkPasses(
  shape: readonly number[],
  from: readonly number[],
  to: readonly number[],
  itemBytes: number,
  most: number,
  isPlain = false,
): readonly Pass[] | null {
  const fits = (block: readonly number[]) => bytesOf(block, itemBytes) <= most;
  const clipped = (sizes: readonly number[]) => sizes.map((c, d) => Math.min(c, shape[d]));
  if (!fits(clipped(to)) || !fits(clipped(from))) return null;
  // First along the axes on which old chunks are the longer ones: there a block meets fewer of them in vain.
  const rank = shape.map((_, d) => d).sort((a, b) => from[b] / to[b] - from[a] / to[a]);
  const direct = grown(shape, to, fits, rank);
  const onePass = { chunks: to, block: direct };
  if (amplification(shape, from, direct, isPlain) <= 2) return [onePass];
  const reading = grown(
    shape,
    from,
    fits,
    shape.map((_, d) => d).sort((a, b) => to[b] / from[b] - to[a] / from[a]),
  );
  const between = shape.map((n, d) => divisor(reading[d], direct[d], n));
  const first = { chunks: between, block: reading };
  // Pieces that are too many are worse than reading twice.
  const pieces = gridOf(shape, between).reduce((a, b) => a * b, 1);
  const olds = gridOf(shape, from).reduce((a, b) => a * b, 1);
  if (pieces > 64 * olds && pieces > 100_000) return [onePass];
  return [first, onePass];
}
