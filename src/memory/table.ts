/**
 * Blocks in use, found by where they start. A hash table with the links inside the blocks, because a `Map`
 * that holds n entries and sees one go and one come at every step copies itself again and again.
 */

import type { Block } from "./bins.ts";

export class BlockTable {
  count = 0;
  #buckets: (Block | null)[] = new Array<Block | null>(64).fill(null);

  add(block: Block): void {
    if (this.count === this.#buckets.length) this.#double();
    this.count++;
    this.#link(block);
  }

  has(block: Block): boolean {
    let at = this.#buckets[this.#bucketOf(block.start)];
    while (at !== null && at !== block) at = at.nextInBucket;
    return at !== null;
  }

  /** Takes out and returns the block that starts at this unit, or null. */
  remove(start: number): Block | null {
    const bucket = this.#bucketOf(start);
    let previous: Block | null = null;
    let block = this.#buckets[bucket];
    while (block !== null && block.start !== start) {
      previous = block;
      block = block.nextInBucket;
    }
    if (block === null) return null;
    if (previous === null) this.#buckets[bucket] = block.nextInBucket;
    else previous.nextInBucket = block.nextInBucket;
    block.nextInBucket = null;
    this.count--;
    return block;
  }

  #link(block: Block): void {
    const bucket = this.#bucketOf(block.start);
    block.nextInBucket = this.#buckets[bucket];
    this.#buckets[bucket] = block;
  }

  #double(): void {
    const old = this.#buckets;
    this.#buckets = new Array<Block | null>(old.length * 2).fill(null);
    for (let block of old) {
      while (block !== null) {
        const next: Block | null = block.nextInBucket;
        this.#link(block);
        block = next;
      }
    }
  }

  /** Fibonacci hashing: blocks often start at multiples of a power of two, so the low bits alone say little. */
  #bucketOf(start: number): number {
    return (Math.imul(start, 0x9e3779b1) >>> 7) & (this.#buckets.length - 1);
  }
}
