/**
 * Free blocks sorted by size, so that finding one that fits is a few bit operations (two-level segregated
 * fit, Masmano et al. 2004). Sizes are in UNITS of 64 bytes; a bin covers 1/16 of a power of two, and below
 * 16 units every size has its own bin. Which blocks exist and where they lie is the heap's business.
 */

import { unreachable } from "../errors.ts";

/** A run of units. Blocks tile the heap: `before` and `after` are its neighbours in memory. */
export class Block {
  start: number;
  units: number;
  isFree = false;
  before: Block | null = null;
  after: Block | null = null;
  /** Neighbours in the bin; meaningful while the block is free. */
  previousFree: Block | null = null;
  nextFree: Block | null = null;
  /** Used by the table of blocks in use. */
  nextInBucket: Block | null = null;

  constructor(start: number, units: number) {
    this.start = start;
    this.units = units;
  }
}

const SUB_BITS = 4;
const SUBS = 1 << SUB_BITS;
/** 2^26 units are 4 GiB: exponents 4 … 26, and row 0 for the sizes below 16. */
const ROWS = 26 - SUB_BITS + 2;

/** The bin that a block of this size lies in; grows with the size. */
export function binOf(units: number): number {
  if (units < SUBS) return units;
  const shift = 31 - Math.clz32(units) - SUB_BITS;
  return ((shift + 1) << SUB_BITS) | ((units >>> shift) & (SUBS - 1));
}

/** The first bin in which EVERY block has at least this size. */
function safeBinOf(units: number): number {
  if (units < SUBS) return units;
  const shift = 31 - Math.clz32(units) - SUB_BITS;
  return binOf(units + (1 << shift) - 1);
}

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits);

export class FreeBins {
  count = 0;
  readonly #heads: (Block | null)[] = new Array<Block | null>(ROWS * SUBS).fill(null);
  /** Bit r: some bin of row r holds a block. Bit s of `#subs[r]`: bin 16·r + s does. */
  #rows = 0;
  readonly #subs = new Int32Array(ROWS);

  insert(block: Block): void {
    const bin = binOf(block.units);
    const head = this.#heads[bin];
    block.isFree = true;
    block.previousFree = null;
    block.nextFree = head;
    if (head !== null) head.previousFree = block;
    this.#heads[bin] = block;
    this.#rows |= 1 << (bin >> SUB_BITS);
    this.#subs[bin >> SUB_BITS] |= 1 << (bin & (SUBS - 1));
    this.count++;
  }

  remove(block: Block): void {
    const { previousFree, nextFree } = block;
    if (nextFree !== null) nextFree.previousFree = previousFree;
    if (previousFree !== null) previousFree.nextFree = nextFree;
    else this.#setHead(binOf(block.units), nextFree);
    block.isFree = false;
    block.previousFree = null;
    block.nextFree = null;
    this.count--;
  }

  /** A free block of at least this size, or null. The one freed last in the size's own bin is tried first. */
  find(units: number): Block | null {
    const recent = this.#heads[binOf(units)];
    if (recent !== null && recent.units >= units) return recent;
    const bin = this.#occupiedFrom(safeBinOf(units));
    return bin < 0 ? null : this.#heads[bin];
  }

  /** As `find`, and looks through the size's own bin too: slower, and misses nothing. */
  findAny(units: number): Block | null {
    for (let block = this.#heads[binOf(units)]; block !== null; block = block.nextFree) {
      if (block.units >= units) return block;
    }
    return this.find(units);
  }

  /** Verifies links and bitmaps against each other; for tests. Returns every free block. */
  check(): Set<Block> {
    const seen = new Set<Block>();
    for (const [bin, head] of this.#heads.entries()) {
      const marked = ((this.#subs[bin >> SUB_BITS] >> (bin & (SUBS - 1))) & 1) === 1;
      if (marked !== (head !== null)) unreachable(`bin ${bin} and its bit disagree`);
      for (let block = head, previous: Block | null = null; block !== null; block = block.nextFree) {
        if (!block.isFree) unreachable(`bin ${bin} holds a block in use`);
        if (binOf(block.units) !== bin) unreachable(`bin ${bin} holds a block of ${block.units} units`);
        if (block.previousFree !== previous) unreachable(`bin ${bin} has a broken link`);
        if (seen.has(block)) unreachable(`a block of bin ${bin} is listed twice`);
        seen.add(block);
        previous = block;
      }
    }
    for (let row = 0; row < ROWS; row++) {
      const marked = ((this.#rows >> row) & 1) === 1;
      if (marked !== (this.#subs[row] !== 0)) unreachable(`row ${row} and its bit disagree`);
    }
    if (seen.size !== this.count) unreachable(`${seen.size} blocks are free, ${this.count} were counted`);
    return seen;
  }

  #setHead(bin: number, head: Block | null): void {
    this.#heads[bin] = head;
    if (head !== null) return;
    const row = bin >> SUB_BITS;
    this.#subs[row] &= ~(1 << (bin & (SUBS - 1)));
    if (this.#subs[row] === 0) this.#rows &= ~(1 << row);
  }

  /** The first bin at or after this one that holds a block, or -1. */
  #occupiedFrom(bin: number): number {
    let row = bin >> SUB_BITS;
    let subs = this.#subs[row] & (-1 << (bin & (SUBS - 1)));
    if (subs === 0) {
      const rows = this.#rows & (-1 << (row + 1));
      if (rows === 0) return -1;
      row = lowestBit(rows);
      subs = this.#subs[row];
    }
    return (row << SUB_BITS) | lowestBit(subs);
  }
}
