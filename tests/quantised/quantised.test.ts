/** The class: copies with any strides, views, printing, lifetimes, products, and what it refuses. */
import { afterEach, describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import {
  arange,
  explain,
  memory,
  random,
  scope,
  type Tensor,
  TensorError,
  tensor,
  zeros,
} from "../../src/index.ts";
import { blockTypes, encodedNames, isEncoded, quantisedNames } from "../../src/quantised/types.ts";
import {
  fromBlocks,
  fromGgml,
  isQuantised,
  matmul,
  Quantised,
  type QuantisedDType,
  quantise,
} from "../../src/quantised.ts";
import { firstDifference, numbers, randomBlocks } from "./draw.ts";
import { decodeNaively } from "./naive.ts";
import { encodeNaively } from "./naive-encode.ts";

const rng = () => random.generator(7);
const bytesOf = (q: Quantised) => q.blocks.toTypedArray();
/** Byte by byte; as text where they differ, so that a failure shows where. */
function expectSame(a: Uint8Array | Float32Array, b: Uint8Array | Float32Array, what = ""): void {
  const [x, y] = [a, b].map((of) => Buffer.from(of.buffer, of.byteOffset, of.byteLength));
  if (!x.equals(y)) expect(x.toString("hex"), what).toBe(y.toString("hex"));
}
const floatsOf = (t: Tensor) => t.to("f32").toTypedArray() as Float32Array;

function message(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    if (error instanceof TensorError) return `(${error.code}) ${error.message}`;
    throw error;
  }
  return "nothing was thrown";
}

afterEach(() => {
  engine().kernels.simd = true;
});

describe("copies", () => {
  const layouts: Record<string, (t: Tensor) => Tensor> = {
    dense: (t) => t,
    transposed: (t) => t.permute(1, 0, 2).contiguous().permute(1, 0, 2),
    "columns first": (t) => t.permute(2, 1, 0).contiguous().permute(2, 1, 0),
    padded: (t) => {
      const wide = zeros([4, 5, 300]).to(t.dtype);
      const part = wide.slice("1:3", ":3", "20:276");
      return part.assign(t);
    },
    flipped: (t) => t.flip([0, 2]).contiguous().flip([0, 2]),
  };

  for (const [name, lay] of Object.entries(layouts)) {
    it(`a ${name} tensor of f32, f16 or f64 becomes the same blocks as a dense one, and blocks fill it`, () => {
      const values = rng().normal([2, 3, 256]);
      for (const dtype of ["q4_0", "q8_0", "iq4_nl"] as const) {
        const dense = values.contiguous();
        const want = encodeNaively(dtype, floatsOf(dense));
        expectSame(bytesOf(quantise(lay(values), dtype)), want);
        for (const other of ["f16", "f64"] as const) {
          const rounded = values.to(other);
          const q = quantise(lay(rounded), dtype);
          expectSame(bytesOf(q), encodeNaively(dtype, floatsOf(rounded)));
          const out = lay(zeros([2, 3, 256]).to(other));
          expect(q.dequantise({ out })).toBe(out);
          expectSame(floatsOf(out), floatsOf(q.dequantise().to(other)));
        }
      }
    });
  }

  it("ggml's copies: every type that is made, of f32, f16 and bf16, whole and row by row in another order", () => {
    const values = rng().normal([1, 2, 2, 256]);
    for (const dtype of encodedNames) {
      for (const from of ["f32", "f16", "bf16"] as const) {
        const t = values.to(from);
        for (const source of [t, t.permute(0, 2, 1, 3)]) {
          const q = quantise(zeros(source.shape), dtype).assign(source);
          const want = bytesOf(quantise(tensor(floatsOf(source)).reshape(source.shape), dtype));
          expectSame(bytesOf(q), want, `${from} → ${dtype}`);
        }
      }
    }
  });

  it("ggml's copies: every type to f32, and to itself, whole and row by row in another order", () => {
    const next = numbers(23);
    for (const dtype of quantisedNames) {
      const { block } = blockTypes[dtype];
      const raw = randomBlocks(dtype, (4 * 3 * 2 * 256) / block, next);
      const q = fromBlocks(tensor(raw), dtype, [4, 3, 2, 256]);
      const plain = tensor(decodeNaively(dtype, raw)).reshape(4, 3, 2, 256);
      const turned = q.permute(0, 2, 1, 3);
      expect(firstDifference(floatsOf(turned.dequantise()), floatsOf(plain.permute(0, 2, 1, 3))), dtype).toBe(
        -1,
      );
      const into = fromBlocks(zeros([raw.length]).to("u8"), dtype, turned.shape);
      into.assign(turned);
      expectSame(bytesOf(into), bytesOf(turned.clone()), dtype);
      into.assignFlat(q);
      expectSame(bytesOf(into), raw, dtype);
    }
  });

  it("a source is broadcast, and another block type is decoded and encoded again", () => {
    const row = rng().normal([256]);
    const q = quantise(zeros([3, 256]), "q8_0").assign(row);
    const one = bytesOf(quantise(row, "q8_0"));
    expectSame(bytesOf(q), Uint8Array.from([...one, ...one, ...one]));
    const other = quantise(zeros([3, 256]), "q4_K").assign(q);
    expectSame(bytesOf(other), encodeNaively("q4_K", floatsOf(q.dequantise())));
  });

  it("large tensors of odd strides go piece by piece", () => {
    const t = rng().normal([1 << 11, 544]).T;
    const q = quantise(t, "q8_0");
    expectSame(bytesOf(q), bytesOf(quantise(t.contiguous(), "q8_0")));
    const out = zeros([1 << 11, 544]).T;
    q.dequantise({ out });
    expect(firstDifference(floatsOf(out), floatsOf(q.dequantise()))).toBe(-1);
  });

  it("source and destination may share memory", () => {
    const bytes = arange(0, 34 * 64, 1, { dtype: "i32" }).to("u8");
    const q = fromBlocks(bytes, "q8_0", [64, 32]);
    const want = floatsOf(q.dequantise().to("u8"));
    q.dequantise({ out: bytes.slice("0:2048").reshape(64, 32) });
    expectSame(floatsOf(bytes.slice("0:2048")), want);
  });
});

describe("views", () => {
  const q = () => quantise(rng().normal([4, 3, 128]), "q4_0");

  it("slices at borders of blocks, selections, other orders and shapes are those of the elements", () => {
    const all = q();
    const t = all.dequantise();
    const pairs: [Quantised, Tensor][] = [
      [all.slice(1), t.slice(1)],
      [all.slice("1:3", "::-1"), t.slice("1:3", "::-1")],
      [all.slice("...", "32:96"), t.slice("...", "32:96")],
      [all.slice("...", "-32:"), t.slice("...", "-32:")],
      [all.slice(null, "::2", 0, "0:64"), t.slice(null, "::2", 0, "0:64")],
      [all.permute(1, 0, 2), t.permute(1, 0, 2)],
      [all.reshape(12, 128), t.reshape(12, 128)],
      [all.reshape(6, -1), t.reshape(6, -1)],
      [all.permute(1, 0, 2).slice("1:", 2).clone(), t.permute(1, 0, 2).slice("1:", 2)],
      [all.slice("...", "64:64"), t.slice("...", "64:64")],
    ];
    for (const [blocks, elements] of pairs) {
      expect(blocks.shape).toEqual(elements.shape);
      expectSame(floatsOf(blocks.dequantise()), floatsOf(elements));
    }
  });

  it("a view shares its blocks", () => {
    const all = q();
    all.slice("...", "32:64").assign(zeros([4, 3, 32]));
    expect(floatsOf(all.dequantise().slice("...", "32:64")).every((x) => x === 0)).toBe(true);
    expect(floatsOf(all.dequantise().slice("...", "0:32")).some((x) => x !== 0)).toBe(true);
  });

  it("cuts inside of blocks are refused, with the block's size", () => {
    const all = q();
    expect(message(() => all.slice("...", "1:33"))).toMatchInlineSnapshot(`
      "(index) slice: elements 1 … 33 of the last axis are no whole blocks: q4_0 has 32 elements a block.
        Cut at multiples of 32, or dequantise first."
    `);
    expect(message(() => all.slice("...", "0:48"))).toMatch(/no whole blocks: q4_0 has 32 elements a block/);
    expect(message(() => all.slice("...", "::2"))).toMatchInlineSnapshot(`
      "(index) slice: it steps along the last axis by 2, and elements of q4_0 come in blocks of 32.
        Dequantise first, or take a range of whole blocks."
    `);
    expect(message(() => all.slice(0, 0, 0))).toMatch(/takes one element of the last axis/);
    expect(message(() => all.slice("...", null))).toMatch(/puts an axis behind the last one/);
    expect(message(() => all.permute(0, 2, 1))).toMatchInlineSnapshot(`
      "(axis) permute: axis 1 would be the last, and blocks lie along axis 2.
        Keep the last axis where it is, or dequantise first."
    `);
    expect(message(() => all.reshape(48, 32).reshape(96, 16))).toMatch(/rows of 16 are no whole blocks/);
    expect(message(() => all.permute(1, 0, 2).reshape(12, 128))).toMatch(/without a copy/);
  });
});

describe("what it is", () => {
  it("names its type, sizes and bytes, and prints what it holds", () => {
    const q = quantise(arange(0, 64).reshape(2, 32), "q8_0");
    expect([q.dtype, q.shape, q.rank, q.size, q.blockSize, q.blockBytes, q.bytes]).toEqual([
      "q8_0",
      [2, 32],
      2,
      64,
      32,
      34,
      68,
    ]);
    expect(q.byteStrides).toEqual([34, 34]);
    expect(isQuantised(q) && !isQuantised(q.blocks)).toBe(true);
    expect(String(q.slice("...").permute(0, 1)).split("\n")[0]).toBe(
      "Quantised q8_0 [2, 32]  34 bytes for 32 elements",
    );
    expect(q.toString({ threshold: 10, edge: 1, digits: 3 })).toMatchInlineSnapshot(`
      "Quantised q8_0 [2, 32]  34 bytes for 32 elements
      [[ 0.0, …, 31.0],
       [32.2, …, 63.0]]"
    `);
    expect(String(quantise(zeros([3, 64]), "q4_0").slice("::2"))).toMatch(/byte strides \[72, 18\]/);
    expect(JSON.stringify({ q })).toBe('{"q":{"dtype":"q8_0","shape":[2,32],"bytes":68}}');
  });

  it("bytes are counted, freed with the last view, and belong to scopes", () => {
    const before = memory().bytes;
    const kept = scope(() => {
      const q = quantise(zeros([64, 256]), "q4_K");
      quantise(zeros([64, 256]), "q8_0");
      return { layers: [q.slice("0:8")] };
    });
    expect(memory().bytes - before).toBe(64 * 144);
    expect(floatsOf(kept.layers[0].dequantise()).length).toBe(8 * 256);
    kept.layers[0].dispose();
    expect(kept.layers[0].isDisposed).toBe(true);
    expect(String(kept.layers[0])).toBe("Quantised q4_K [8, 256]  disposed");
    expect(message(() => kept.layers[0].dequantise())).toMatch(/^\(disposed\)/);
  });

  it("explain tells of it", () => {
    const q = quantise(rng().normal([8, 256]), "q4_0");
    expect(explain(() => q.dequantise()).toString()).toMatch(/dequantise/);
    expect(explain(() => matmul(q, zeros([256]))).toString()).toMatch(/matmul/);
  });

  it("ggml's tensors of any type come in with their strides", () => {
    const q = quantise(rng().normal([2, 3, 64]), "q5_0");
    const data = bytesOf(q);
    const dense = fromGgml({ type: "q5_0", ne: [64, 3, 2], data });
    const same = fromGgml({ type: 6, ne: [64, 2, 3], nb: [22, 132, 44], data });
    if (!(dense instanceof Quantised && same instanceof Quantised)) throw new Error("types");
    expectSame(floatsOf(dense.dequantise()), floatsOf(q.dequantise()));
    expectSame(floatsOf(same.dequantise()), floatsOf(q.permute(1, 0, 2).dequantise()));
    expect(fromGgml({ type: "F32", ne: [2], data: new Float32Array(2) })).not.toBeInstanceOf(Quantised);
    expect(message(() => fromGgml({ type: "q5_0", ne: [48], data }))).toMatch(
      /rows of 48 are no whole blocks/,
    );
    expect(message(() => fromGgml({ type: "q5_0", ne: [64, 7], data }))).toMatch(/^\((bounds|value)\)/);
    expect(message(() => fromGgml({ type: "q5_0", ne: [64], nb: [4], data }))).toMatch(/nb\[0\] is 4/);
  });

  it("what cannot be is refused, and says why", () => {
    expect(message(() => quantise(zeros([3, 33]), "q4_0"))).toMatchInlineSnapshot(`
      "(shape) quantise: rows of 33 are no whole blocks: shape [3, 33], and q4_0 has 32 elements a block.
        The last size must be a multiple of 32; pad the tensor, or choose a type with smaller blocks."
    `);
    expect(message(() => quantise(zeros([256]), "iq2_xxs" as "q4_0"))).toMatch(
      /iq2_xxs is read here, not made/,
    );
    expect(message(() => quantise(zeros([32]), "f32" as "q4_0"))).toMatch(/names no block type/);
    expect(message(() => quantise(zeros([32]), "Q4_0" as "q4_0"))).toMatch(/Did you mean q4_0\?/);
    expect(message(() => quantise(zeros([]), "q4_0"))).toMatch(/without axes/);
    expect(message(() => fromBlocks(zeros([18]) as never, "q4_0"))).toMatch(/blocks are bytes/);
    expect(message(() => fromBlocks(zeros([17]).to("u8"), "q4_0"))).toMatch(/rows of 17 bytes/);
    expect(message(() => fromBlocks(zeros([36]).to("u8"), "q4_0", [96]))).toMatch(
      /takes 54 bytes, there are 36/,
    );
    const q = quantise(zeros([2, 32]), "q4_0");
    expect(message(() => q.assign(zeros([3, 32])))).toMatch(/does not fit/);
    expect(message(() => q.assign("x" as never))).toMatch(/expected a tensor or a Quantised/);
    expect(message(() => q.dequantise({ out: zeros([2, 31]) }))).toMatch(/out is \[2, 31\]/);
    expect(message(() => q.dequantise({ dtyp: "f32" } as never))).toMatch(/Did you mean dtype/);
    expect(message(() => new Quantised(Symbol("x") as never, "q4_0", q.blocks))).toMatch(/not made with new/);
    expect(message(() => Quantised.prototype.dequantise.call({} as never))).toMatch(/expected a Quantised/);
  });
});

describe("products", () => {
  /** k · 2^-24 · Σ |w·x|, as matmul says; sums below 2^-126 have fewer bits. */
  function checkProduct(q: Quantised, x: Tensor, got: Tensor, what = ""): void {
    const w = q.dequantise({ dtype: "f64" });
    const want = w.matmul(x.to("f32").to("f64"));
    const bound = w.abs().matmul(x.to("f64").abs());
    const [a, b, most] = [got.to("f64"), want, bound].map((t) => t.toTypedArray() as Float64Array);
    const k = q.shape[1];
    for (let i = 0; i < a.length; i++) {
      if (!(Math.abs(a[i] - b[i]) <= k * (2 ** -24 * most[i] + 2 ** -149))) {
        throw new Error(`${q.dtype}, ${what}: ${a[i]} is not ${b[i]}`);
      }
    }
  }

  const matrix = (dtype: QuantisedDType, n: number, k: number): Quantised => {
    if (isEncoded(dtype)) return quantise(random.generator(n).normal([n, k]), dtype);
    const raw = randomBlocks(dtype, (n * k) / blockTypes[dtype].block, numbers(n));
    // Scales that are numbers: the first half of a block, or in four parts.
    const { bytes } = blockTypes[dtype];
    for (let at = 0; at < raw.length; at += bytes) {
      if (dtype === "iq1_m")
        for (const [i, top] of [0, 0, 0xa0, 0x20].entries())
          raw[at + 49 + 2 * i] = (raw[at + 49 + 2 * i] & 15) | top;
      else raw[at + 1] = 0x2c;
    }
    return fromBlocks(tensor(raw), dtype, [n, k]);
  };

  it("of every type with a vector and with a few columns, with and without SIMD, within the bound", () => {
    const g = rng();
    const x = g.normal([512]);
    const few = g.normal([512, 3]);
    for (const dtype of quantisedNames) {
      const q = matrix(dtype, 7, 512);
      engine().kernels.simd = true;
      checkProduct(q, x, matmul(q, x));
      checkProduct(q, few, matmul(q, few));
      engine().kernels.simd = false;
      checkProduct(q, x, matmul(q, x));
    }
  });

  it("with many columns, of any layout and dtype, into outputs of any strides", () => {
    const g = rng();
    const q = matrix("q4_K", 70, 256);
    for (const x of [
      g.normal([256, 33]),
      g.normal([33, 256]).T,
      g.normal([256, 33]).to("f64"),
      g.normal([256, 33]).to("f16"),
    ]) {
      checkProduct(q, x, matmul(q, x));
      const out = zeros([33, 70]).T;
      expect(matmul(q, x, { out })).toBe(out);
      checkProduct(q, x, out);
    }
    const column = g.normal([256, 2]).slice(":", 1);
    checkProduct(q, column, matmul(q, column));
    const turned = q.slice("::-2");
    checkProduct(turned, column, matmul(turned, column));
  });

  it("the same bits for any rows that are taken along", () => {
    const q = matrix("q5_1", 9, 128);
    const x = rng().normal([128]);
    const all = matmul(q, x).toTypedArray();
    for (let i = 0; i < 9; i++) {
      expect(matmul(q.slice(`${i}:${i + 1}`), x).toTypedArray()[0]).toBe(all[i]);
    }
  });

  it("the same bits however many threads share it, and so for what is decoded", () => {
    const q = fromBlocks(tensor(randomBlocks("q8_0", 1 << 16, numbers(3))), "q8_0", [1 << 10, 1 << 11]);
    const x = rng().normal([1 << 11]);
    const [product, decoded] = [matmul(q, x).toTypedArray(), q.dequantise().toTypedArray()];
    for (let r = 0; r < 1 << 10; r += 128) {
      // So little is not shared.
      const some = q.slice(`${r}:${r + 2}`);
      expect(firstDifference(matmul(some, x).toTypedArray(), product.slice(r, r + 2))).toBe(-1);
      const own = decoded.slice(r << 11, (r + 2) << 11);
      expect(firstDifference(some.dequantise().toTypedArray(), own)).toBe(-1);
    }
  });

  const hostile: Record<string, (i: number, next: () => number) => number> = {
    zeros: (i) => (i % 2 === 0 ? 0 : -0),
    "one element that is not 0": (i) => (i === 77 ? -3 : 0),
    "a few, far apart": (i) => (i % 50 === 0 ? 1 : i % 50 === 25 ? 2 ** -40 : 0),
    "large and small ones in turn": (i, next) => next() * (i % 2 === 0 ? 2 ** 30 : 2 ** -30),
    "all exponents of a middle range": (_, next) => next() * 2 ** Math.round(next() * 60),
    "all exponents": (_, next) => next() * 2 ** Math.round(next() * 110),
    "one that drowns all others": (i, next) => (i === 5 ? 2 ** 90 : next()),
    "hardly any bits in common": (i) => (1 + i * 2 ** -23) * 2 ** -(i % 24),
    huge: (_, next) => next() * 2 ** 118,
    tiny: (_, next) => next() * 2 ** -112,
    subnormal: (i) => (i + 1) * 2 ** -149,
  };

  /** Those of them that are multiplied as whole numbers. */
  const isWhole = new Set([
    "zeros",
    "one element that is not 0",
    "a few, far apart",
    "large and small ones in turn",
    "hardly any bits in common",
  ]);

  it("with vectors of any range within the bound; where they are whole numbers, whatever rows are taken along", () => {
    for (const [name, make] of Object.entries(hostile)) {
      for (const dtype of ["q8_0", "q4_0", "q4_1", "q5_0", "q4_K", "q6_K", "iq1_s", "nvfp4"] as const) {
        const draw = numbers(5);
        const next = () => draw() * 2 ** -31 - 1;
        const q = matrix(dtype, 5, 768);
        const x = tensor(Float32Array.from({ length: 768 }, (_, i) => make(i, next)));
        const got = matmul(q, x);
        checkProduct(q, x, got, name);
        if (!isWhole.has(name)) continue;
        const all = got.toTypedArray();
        for (let r = 0; r < 5; r++) {
          const own = matmul(q.slice(`${r}:${r + 1}`), x).toTypedArray()[0];
          expect(own, `${dtype}, ${name}`).toBe(all[r]);
        }
      }
    }
  });

  it("with NaN and infinities as the product of what is decoded", () => {
    for (const dtype of ["q8_0", "q4_1", "q4_K"] as const) {
      const q = matrix(dtype, 6, 256);
      for (const bad of [NaN, Infinity, -Infinity]) {
        const x = rng().normal([256]).to("f32");
        x.set([100], bad);
        const want = q.dequantise().matmul(x).toTypedArray();
        expect(firstDifference(matmul(q, x).toTypedArray(), want), `${dtype}, ${bad}`).toBe(-1);
      }
    }
  });

  it("elements that meet no weight do not cost the others their bits", () => {
    const k = 320;
    const isOdd = tensor(Float32Array.from({ length: k }, (_, i) => i % 2));
    for (const dtype of ["q8_0", "q4_0", "q5_0"] as const) {
      const q = quantise(rng().normal([7, k]).mul(isOdd), dtype);
      for (const [large, small] of [
        [1, 2 ** -20],
        [2 ** 60, 2 ** -20],
        [2 ** 100, 2 ** -80],
        [1, 2 ** -120],
      ]) {
        const factor = tensor(Float32Array.from({ length: k }, (_, i) => (i % 2 === 0 ? large : small)));
        const x = rng().normal([k]).mul(factor);
        checkProduct(q, x, matmul(q, x), `${large} beside ${small}`);
      }
    }
  });

  it("elements that are far smaller than others lose no more than in a sum of floats", () => {
    // All are rounded in the same direction, and what is large beside them meets a weight that is 0.
    for (const k of [256, 4096, 2 ** 17]) {
      for (const dtype of ["q8_0", "q4_0", "q6_K"] as const) {
        const isSmall = tensor(Float32Array.from({ length: k }, (_, i) => Number(i % 32 !== 0)));
        const q = quantise(isSmall.reshape(1, k), dtype);
        for (let bits = 8; bits < 28; bits++) {
          const small = (1 + 1.37 * 2 ** -12) * 2 ** -bits;
          const x = isSmall.map((w, { value }) => (w > 0 ? value : 1), { with: { value: small } });
          const w = q.dequantise({ dtype: "f64" });
          const sum = w.matmul(x.to("f64")).item() as number;
          const most = w.abs().matmul(x.to("f64")).item() as number;
          const error = Math.abs((matmul(q, x).item() as number) - sum) / most;
          expect(error, `${dtype}, ${k}, 2^-${bits}`).toBeLessThanOrEqual(Math.min(k, 4096) * 2 ** -24);
        }
      }
    }
  });

  it("with all the scales that there are", () => {
    // Row r: the half float r, and 1 as the one element.
    const raw = new Uint8Array(65536 * 68);
    for (let r = 0; r < 65536; r++) raw.set([r & 255, r >> 8, 1], 68 * r);
    const q = fromBlocks(tensor(raw), "q8_0", [65536, 64]);
    const x = zeros([64]).set([0], 1);
    const want = floatsOf(q.dequantise().slice(":", 0));
    // Infinity times the zeros beside it is no number.
    expect(
      firstDifference(
        floatsOf(matmul(q, x)),
        want.map((d) => (Number.isFinite(d) ? d + 0 : NaN)),
      ),
    ).toBe(-1);
  });

  it("an output that holds x is written last", () => {
    const q = matrix("q8_0", 64, 64);
    const x = rng().normal([64]);
    const want = matmul(q, x).toTypedArray();
    matmul(q, x, { out: x });
    expect(x.toTypedArray()).toEqual(want);
  });

  it("sizes that do not fit are refused; without elements there is nothing", () => {
    const q = matrix("q8_0", 4, 64);
    expect(message(() => matmul(q, zeros([32])))).toMatchInlineSnapshot(`
      "(shape) matmul: inner sizes differ: the blocks are [4, 64], x is [32].
        The blocks' last size (64) must equal x's first (32)."
    `);
    expect(message(() => matmul(q.reshape(2, 2, 64), zeros([64])))).toMatch(/Give a matrix in blocks/);
    expect(message(() => matmul(q, zeros([64]), { out: zeros([3]) }))).toMatch(/the product is f32 \[4\]/);
    expect(message(() => matmul(zeros([4, 64]) as never, zeros([64])))).toMatch(/expected a Quantised/);
    expect(message(() => matmul(q, [1] as never))).toMatch(/expected a tensor to multiply with/);
    expect(message(() => matmul(q, q as never))).toMatch(/got blocks of q8_0.\n.*dequantise the second/);
    expect(matmul(q.slice("0:0"), zeros([64])).shape).toEqual([0]);
    expect(matmul(q, zeros([64, 0])).shape).toEqual([4, 0]);
    expect([...matmul(q.slice(":", "0:0"), zeros([0])).toTypedArray()]).toEqual([0, 0, 0, 0]);
  });
});
