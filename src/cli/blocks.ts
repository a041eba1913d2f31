/** Tensors that are larger than one wants to hold, block by block: which slices, of how many bytes. */
import { dtypes } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import { plainText } from "../plot/text.ts";
import type { Entry } from "./archive-types.ts";

/** Bytes of a block, about. */
export const BLOCK = 64 << 20;

/** Chunks, and bytes of what does not lie in the file as it is, that a command walks through; a shape costs a file nothing. */
const MOST_CHUNKS = 2 ** 24;
const MOST_BYTES = 2 ** 42;

/** Where a block begins, and the slice that takes it. */
export interface Block {
  readonly at: readonly number[];
  readonly slice: readonly (readonly [start: number, stop: number])[];
}

/** The sizes of a block: whole chunks, the last axes first, as far as the bytes go. */
export function blockShape(
  shape: readonly number[],
  chunks: readonly number[],
  itemBytes: number,
  most: number,
): number[] {
  const block = shape.map((n, d) => Math.max(1, Math.min(n, chunks[d])));
  let bytes = block.reduce((product, n) => product * n, itemBytes);
  for (let d = shape.length - 1; d >= 0; d--) {
    const times = Math.max(1, Math.floor(most / bytes));
    const grown = Math.min(shape[d], block[d] * times);
    bytes = (bytes / block[d]) * Math.max(grown, 1);
    block[d] = Math.max(grown, 1);
    if (grown < shape[d]) break;
  }
  return block;
}

/** All blocks of a shape, the last axis turning fastest. */
export function* blocksOf(shape: readonly number[], block: readonly number[]): Iterable<Block> {
  if (shape.includes(0)) return;
  const at = shape.map(() => 0);
  for (;;) {
    yield { at: [...at], slice: at.map((from, d) => [from, Math.min(shape[d], from + block[d])] as const) };
    let d = shape.length - 1;
    for (; d >= 0; d--) {
      at[d] += block[d];
      if (at[d] < shape[d]) break;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

/** The blocks that an entry is read in; null: it is small enough to be read at once, or can only be. */
export function blocksOfEntry(entry: Entry, most = BLOCK): Block[] | null {
  const { dtype, shape, bytes, packed, chunks } = entry;
  if (dtype === null || bytes <= most || packed !== undefined) return null;
  checkWalk(entry);
  const block = blockShape(shape, chunks ?? shape.map(() => 1), dtypes[dtype].bytes, most);
  return [...blocksOf(shape, block)];
}

/** Throws where all of an entry is more than a command can come to the end of: chunks that are absent take time as others do. */
export function checkWalk({ name, shape, bytes, byteStrides, chunks }: Entry): void {
  if (byteStrides !== undefined) return;
  const count = chunks === undefined ? 0 : shape.reduce((n, size, d) => n * Math.ceil(size / chunks[d]), 1);
  if (count <= MOST_CHUNKS && bytes <= MOST_BYTES) return;
  const lies = count > 0 ? ` and lies in ${count} chunks of ${list(chunks!)}` : "";
  fail(
    "file",
    "read",
    `${plainText(name)} is ${list(shape)}${lies}, ${bytes} bytes.`,
    "It is too much to go through: take slices of it, with show or in a program.",
  );
}
