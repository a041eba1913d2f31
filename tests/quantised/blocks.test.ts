/** Block types against ggml's own bytes, and compiled code against plain decoders. */
import { afterEach, describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { tensor } from "../../src/index.ts";
import {
  blockTypes,
  type EncodedDType,
  encodedNames,
  isEncoded,
  quantisedNames,
} from "../../src/quantised/types.ts";
import { fromBlocks, fromGgml, Quantised, quantise } from "../../src/quantised.ts";
import { firstDifference, numbers, randomBlocks, randomFloats } from "./draw.ts";
import { decodeNaively } from "./naive.ts";
import { encodeNaively } from "./naive-encode.ts";
import { missing, referenceBlocks, referenceCopies } from "./reference.ts";

afterEach(() => {
  engine().kernels.simd = true;
});

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe.skipIf(missing !== null)(
  `ggml's own bytes${missing === null ? "" : ` (skipped: ${missing})`}`,
  () => {
    it("343 rows of blocks decode to the same bits, plainly and compiled", () => {
      const rows = referenceBlocks();
      expect(rows.length).toBe(343);
      let compared = 0;
      for (const { dtype, name, bytes, values } of rows) {
        const blocks = tensor(bytes);
        const q = fromBlocks(blocks, dtype);
        const compiled = q.dequantise().data;
        const plain = decodeNaively(dtype, bytes);
        expect(firstDifference(compiled, plain), `${dtype} ${name}`).toBe(-1);
        if (values !== null) {
          expect(firstDifference(plain, values), `${dtype} ${name}`).toBe(-1);
          compared++;
        }
      }
      // ggml has no function for q8_1: what it decodes to is what its scale says.
      expect(compared).toBe(334);
    });

    it("blocks that a reference function made are made here, bit for bit", () => {
      let compared = 0;
      for (const { dtype, name, via, bytes, input } of referenceBlocks()) {
        if (via !== "ref" || input === null || !isEncoded(dtype)) continue;
        const made = quantise(tensor(input), dtype).blocks.toTypedArray();
        const plain = encodeNaively(dtype, input);
        compared++;
        if (dtype === "iq4_nl" && name === "zeros") {
          // The reference leaves the elements of an empty block as they happen to lie on its stack; its scales are 0.
          const scales = (all: Uint8Array) => all.filter((_, i) => i % 18 < 2);
          expect(scales(made)).toEqual(scales(bytes));
          expect(made.every((byte) => byte === 0)).toBe(true);
          continue;
        }
        expect(hexOf(made), `${dtype} ${name}`).toBe(hexOf(bytes));
        expect(hexOf(plain), `${dtype} ${name}, plainly`).toBe(hexOf(bytes));
      }
      expect(compared).toBe(180);
    });

    it("54 strided copies, dense, padded and transposed, both ways", () => {
      const rows = referenceCopies();
      expect(rows.length).toBe(54);
      for (const row of rows) {
        const { dtype, ne } = row;
        const source = fromGgml({
          type: "f32",
          ne,
          nb: row.sourceStrides,
          data: row.source,
          offset: row.sourceOffset,
        });
        const room = new Uint8Array(row.blocks.length);
        const q = fromGgml({ type: dtype, ne, nb: row.blockStrides, data: room });
        if (!(q instanceof Quantised) || source instanceof Quantised) throw new Error("types");
        q.assign(source);
        expect(hexOf(q.blocks.toTypedArray()), dtype).toBe(hexOf(row.blocks));
        const back = new Float32Array(row.back.buffer);
        expect(firstDifference(q.dequantise().data, back), dtype).toBe(-1);
        // And back into what has the source's strides: transposed and padded too.
        q.dequantise({ out: source });
        const floats = Float32Array.from(source.toTypedArray() as Float32Array);
        expect(firstDifference(floats, back), dtype).toBe(-1);
      }
    });
  },
);

describe("compiled decoders", () => {
  for (const simd of [true, false]) {
    it(`random blocks of each type, 2,000 times 32 elements, are the same bits ${simd ? "with" : "without"} SIMD`, () => {
      const next = numbers(simd ? 17 : 18);
      for (const dtype of quantisedNames) {
        engine().kernels.simd = simd;
        const { block, bytes } = blockTypes[dtype];
        const count = simd ? Math.ceil(2000 / (block / 32)) : 50;
        const raw = randomBlocks(dtype, count, next);
        const q = fromBlocks(tensor(raw), dtype, [1, count * block]);
        expect(q.bytes).toBe(count * bytes);
        const plain = decodeNaively(dtype, raw);
        expect(firstDifference(q.dequantise().data, plain), dtype).toBe(-1);
        const wide = q.dequantise({ dtype: "f64" }).data;
        expect(
          wide.findIndex((x, i) => !Object.is(x, plain[i])),
          dtype,
        ).toBe(-1);
      }
    });
  }
});

/** Does encoding it look for the best of many scales, or levels? Many blocks of those: many-blocks.test.ts. */
const isSearched = (dtype: EncodedDType) => /_K$|^iq4|fp4$|^tq1/.test(dtype) && dtype !== "q8_K";

describe("encoders", () => {
  it("agree with the plain ones on random blocks: all zero, huge, NaN and infinite ones too", () => {
    const next = numbers(19);
    for (const dtype of encodedNames) {
      const { block } = blockTypes[dtype];
      const count = isSearched(dtype) ? 4 : Math.ceil(64_000 / block);
      const x = randomFloats(block, count, next);
      const want = encodeNaively(dtype, x);
      for (const simd of [true, false]) {
        engine().kernels.simd = simd;
        const made = quantise(tensor(x), dtype).blocks.toTypedArray();
        const at = made.findIndex((byte, i) => byte !== want[i]);
        expect(at, `${dtype}, ${simd ? "with" : "without"} SIMD`).toBe(-1);
      }
    }
  });

  it("signs of zero, ties, halves that overflow or vanish, and NaN in every place are those of the plain ones", () => {
    const odd = [
      0,
      -0,
      0.5,
      -0.5,
      1,
      -1,
      127,
      -127,
      1e-45,
      1e-38,
      3e38,
      -3e38,
      65504,
      65520,
      8e6,
      1e-7,
      2 ** -14,
    ];
    const special = [Number.NaN, Infinity, -Infinity];
    const next = numbers(21);
    const rows: number[][] = [];
    for (const a of [...odd, ...special]) {
      for (const b of [...odd, ...special]) {
        rows.push(Array.from({ length: 32 }, (_, i) => (i === next() % 32 ? a : b)));
        rows.push(Array.from({ length: 32 }, (_, i) => [a, b, -b, 0, -0][(i + next()) % 5]));
      }
    }
    for (const [i, nan] of Array.from({ length: 33 }, () => Number.NaN).entries()) {
      rows.push(Array.from({ length: 32 }, (_, k) => (k === i || k === 31 - i ? nan : k - 7)));
    }
    const x = Float32Array.from(rows.flat());
    for (const dtype of ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0"] as const) {
      const want = encodeNaively(dtype, x);
      const made = quantise(tensor(x), dtype).blocks.toTypedArray();
      const at = made.findIndex((byte, i) => byte !== want[i]);
      const block = Math.floor(at / blockTypes[dtype].bytes);
      expect(at < 0 ? null : rows[block], dtype).toBe(null);
    }
  });

  it("what was quantised is near what it was, by a step of its block", () => {
    const next = numbers(20);
    const bounds: Partial<Record<EncodedDType, number>> = {
      q8_0: 0.01,
      q6_K: 0.05,
      q5_1: 0.1,
      q4_0: 0.25,
      q4_K: 0.25,
    };
    for (const [dtype, bound] of Object.entries(bounds) as [EncodedDType, number][]) {
      const x = Float32Array.from({ length: 4096 }, () => (next() / 2 ** 32) * 2 - 1);
      const back = quantise(tensor(x), dtype).dequantise().data;
      const worst = back.reduce((most, v, i) => Math.max(most, Math.abs(v - x[i])), 0);
      expect(worst, dtype).toBeLessThan(bound);
      expect(worst, dtype).toBeGreaterThan(0);
    }
  });
});
