/**
 * What a file needs to know of block types: tensors of bytes that stand for elements. Who makes such things (the entry
 * strided/quantised) tells it here, so that formats write them without bringing the code that computes with them.
 */
import type { Tensor } from "../tensor.ts";

export interface BlockTensor {
  /** ggml's number. */
  readonly type: number;
  /** In elements. */
  readonly shape: readonly number[];
  /** The bytes, with two axes where elements have their last one: blocks, and bytes of a block. */
  readonly blocks: Tensor<"u8">;
}

/** What such a thing looks like from outside. */
export interface InBlocks {
  readonly shape: readonly number[];
  readonly blocks: Tensor<"u8">;
  readonly blockSize: number;
  readonly blockBytes: number;
}

const known = new WeakMap<object, BlockTensor>();

/** From now on `thing` is written as these blocks. */
export function introduceBlocks(thing: object, of: BlockTensor): void {
  known.set(thing, of);
}

export const blocksOf = (thing: unknown): BlockTensor | undefined =>
  typeof thing === "object" && thing !== null ? known.get(thing) : undefined;
