/** 2,000 random blocks of each type, encoded and decoded, against the plain ones; a battery, as plain searches take seconds. */
import { describe, expect, it } from "vitest";
import { scope, tensor } from "../../src/index.ts";
import { blockTypes, isEncoded, quantisedNames } from "../../src/quantised/types.ts";
import { fromBlocks, quantise } from "../../src/quantised.ts";
import { firstDifference, numbers, randomBlocks, randomFloats } from "./draw.ts";
import { decodeNaively } from "./naive.ts";
import { encodeNaively } from "./naive-encode.ts";

const COUNT = 2000;

describe("2,000 blocks", () => {
  for (const dtype of quantisedNames) {
    it(`of ${dtype}: all zero, huge, NaN and infinite ones too`, () => {
      const { block } = blockTypes[dtype];
      const next = numbers(23);
      scope(() => {
        const raw = randomBlocks(dtype, COUNT, next);
        const decoded = fromBlocks(tensor(raw), dtype, [COUNT * block]).dequantise().data;
        expect(firstDifference(decoded, decodeNaively(dtype, raw))).toBe(-1);
        if (!isEncoded(dtype)) return;
        const x = randomFloats(block, COUNT, next);
        const made = quantise(tensor(x), dtype).blocks.data;
        const want = encodeNaively(dtype, x);
        expect(made.findIndex((byte, i) => byte !== want[i])).toBe(-1);
      });
    });
  }
});
