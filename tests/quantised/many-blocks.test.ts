/**
 * 2,000 random blocks of each type, encoded and decoded, against the plain ones; a battery, as plain searches take seconds.
 * More of them, and others: STRIDED_BLOCKS=100000 STRIDED_SEED=7 npm run test:batteries -- many-blocks -t "q4_0"
 */
import { describe, expect, it } from "vitest";
import { scope, tensor } from "../../src/index.ts";
import { blockTypes, isEncoded, quantisedNames } from "../../src/quantised/types.ts";
import { fromBlocks, quantise } from "../../src/quantised.ts";
import { firstDifference, numbers, randomBlocks, randomFloats } from "./draw.ts";
import { decodeNaively } from "./naive.ts";
import { encodeNaively } from "./naive-encode.ts";

const count = Number(process.env.STRIDED_BLOCKS ?? 2000);
const seed = Number(process.env.STRIDED_SEED ?? 23);
/** Blocks at a time. */
const SOME = 1000;
/** Plain searches of K types take 5 ms a block, and more on a busy machine. */
const timeout = Math.max(300_000, 20 * count);

describe(`${count} blocks, all zero, huge, NaN and infinite ones too`, () => {
  for (const dtype of quantisedNames) {
    const { block } = blockTypes[dtype];
    const parts = (each: (next: () => number, blocks: number) => void) => {
      const next = numbers(seed);
      for (let done = 0; done < count; done += SOME) scope(() => each(next, Math.min(SOME, count - done)));
    };

    it(`${dtype} is decoded as plain code does`, { timeout }, () => {
      parts((next, blocks) => {
        const raw = randomBlocks(dtype, blocks, next);
        const decoded = fromBlocks(tensor(raw), dtype, [blocks * block]).dequantise().data;
        expect(firstDifference(decoded, decodeNaively(dtype, raw))).toBe(-1);
      });
    });

    if (!isEncoded(dtype)) continue;
    it(`${dtype} is encoded as plain code does`, { timeout }, () => {
      parts((next, blocks) => {
        const x = randomFloats(block, blocks, next);
        const made = quantise(tensor(x), dtype).blocks.data;
        const want = encodeNaively(dtype, x);
        expect(made.findIndex((byte, i) => byte !== want[i])).toBe(-1);
      });
    });
  }
});
