/**
 * Block types against plain decoders and encoders, bit for bit: random bytes, and floats that are all zero, huge, tiny, NaN
 * or infinite; with odd strides on the other side, with and without SIMD. And products against the decoded matrix.
 */
import fc from "fast-check";
import { engine } from "../../src/engine.ts";
import { scope, type Tensor, tensor, zeros } from "../../src/index.ts";
import { blockTypes, isEncoded, quantisedNames } from "../../src/quantised/types.ts";
import { fromBlocks, matmul, type QuantisedDType, quantise } from "../../src/quantised.ts";
import { firstDifference, numbers, randomBlocks, randomFloats } from "../quantised/draw.ts";
import { decodeNaively } from "../quantised/naive.ts";
import { encodeNaively } from "../quantised/naive-encode.ts";
import { family } from "./family.ts";

const layouts = ["dense", "turned", "padded", "flipped"] as const;

export interface QuantisedCase {
  readonly dtype: QuantisedDType;
  readonly what: "decode" | "encode" | "product";
  readonly rows: number;
  /** Blocks of a row. */
  readonly blocks: number;
  readonly layout: (typeof layouts)[number];
  readonly simd: boolean;
  readonly seed: number;
}

const cases: fc.Arbitrary<QuantisedCase> = fc.record({
  dtype: fc.constantFrom(...quantisedNames),
  what: fc.constantFrom("decode", "decode", "encode", "product"),
  // Many blocks at times: setting a case up takes longer than a block does.
  rows: fc.oneof(
    { weight: 19, arbitrary: fc.integer({ min: 1, max: 7 }) },
    { weight: 1, arbitrary: fc.integer({ min: 100, max: 300 }) },
  ),
  blocks: fc.integer({ min: 1, max: 5 }),
  layout: fc.constantFrom(...layouts),
  simd: fc.boolean(),
  seed: fc.nat(2 ** 30),
});

/** A matrix of zeros that lies so. */
function laid(layout: QuantisedCase["layout"], rows: number, columns: number): Tensor<"f32"> {
  if (layout === "turned") return zeros([columns, rows]).T;
  if (layout === "padded") return zeros([rows + 2, columns + 5]).slice("1:-1", "3:-2");
  return layout === "flipped" ? zeros([rows, columns]).flip() : zeros([rows, columns]);
}

function same(got: Float32Array, want: Float32Array, what: string): void {
  const at = firstDifference(got, want);
  if (at >= 0) throw new Error(`${what}: element ${at} is ${got[at]}, expected ${want[at]}`);
}

function check({ dtype, what, rows, blocks, layout, simd, seed }: QuantisedCase): boolean {
  const { block } = blockTypes[dtype];
  const next = numbers(seed);
  const columns = blocks * block;
  engine().kernels.simd = simd;
  try {
    return scope(() => {
      if (what === "encode") {
        if (!isEncoded(dtype)) return false;
        const x = randomFloats(block, rows * blocks, next);
        const source = laid(layout, rows, columns).assign(tensor(x).reshape(rows, columns));
        const got = quantise(source, dtype).blocks.toTypedArray();
        const want = encodeNaively(dtype, x);
        const at = want.findIndex((byte, i) => byte !== got[i]);
        if (at >= 0) throw new Error(`quantise: byte ${at} is ${got[at]}, expected ${want[at]}`);
        return true;
      }
      const raw = randomBlocks(dtype, rows * blocks, next);
      const want = decodeNaively(dtype, raw);
      const q = fromBlocks(tensor(raw), dtype, [rows, columns]);
      if (what === "decode") {
        const out = laid(layout, rows, columns);
        same(q.dequantise({ out }).toTypedArray(), want, "dequantise");
        return true;
      }
      // Scales of random bits may be anything: what has no finite sum has no bound either.
      const x = Float32Array.from({ length: columns }, () => next() / 2 ** 31 - 1);
      const got = matmul(q, tensor(x)).toTypedArray();
      for (let i = 0; i < rows; i++) {
        let [sum, size] = [0, 0];
        for (let j = 0; j < columns; j++) {
          const term = want[i * columns + j] * x[j];
          sum += term;
          size += Math.abs(term);
        }
        if (!(size < 1e30)) continue;
        const bound = columns * 2 ** -22 * size + 1e-37;
        if (!(Math.abs(got[i] - sum) <= bound))
          throw new Error(`matmul: row ${i} is ${got[i]}, expected ${sum}`);
      }
      return true;
    });
  } finally {
    engine().kernels.simd = true;
  }
}

export const quantised = family<QuantisedCase>({
  name: "quantised",
  law: "blocks decode, encode and multiply as plain code does, whatever the bits and strides",
  cases,
  check,
  kind: ({ dtype, what }) => `${dtype} ${what}`,
  gate: 100,
});
