import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { explain, memory, scope, type Tensor, TensorError, tensor, zeros } from "../../src/index.ts";
import * as conv from "../../src/library/convolution.ts";
import * as pool from "../../src/library/pooling.ts";
import { flatValues } from "../oracle/compare.ts";
import { type Rows, testReference } from "./reference.ts";

type Convolution = (x: Tensor, w: Tensor, options: object) => Tensor;
const convolution =
  (fn: Convolution): Rows[string] =>
  ([x, w, bias], params) =>
    fn(x, w, bias === undefined ? params : { ...params, bias });
const pooling =
  (fn: (x: Tensor, kernel: number, options: object) => Tensor): Rows[string] =>
  ([x], { kernel, ...options }) =>
    fn(x, kernel, options);

const rows: Rows = {
  conv1d: convolution(conv.conv1d),
  conv2d: convolution(conv.conv2d),
  conv3d: convolution(conv.conv3d),
  convTranspose1d: convolution(conv.convTranspose1d),
  convTranspose2d: convolution(conv.convTranspose2d),
  convolve: ([a, v], params) => conv.convolve(a, v, params),
  correlate: ([a, v], params) => conv.correlate(a, v, params),
  maxPool1d: pooling(pool.maxPool1d),
  maxPool2d: pooling(pool.maxPool2d),
  avgPool1d: pooling(pool.avgPool1d),
  avgPool2d: pooling(pool.avgPool2d),
};

describe("convolutions and pooling", () => {
  testReference("convolution", rows);
});

function random(shape: number[], dtype: "f32" | "f64" = "f32"): Tensor {
  let seed = 12345;
  const next = () => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return seed / 2 ** 31 - 1;
  };
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(Array.from({ length: size }, next), { dtype, shape });
}

/** The definition again, for shapes too large to write down. */
function reference(x: Tensor, w: Tensor, stride: number, padding: number, groups: number): number[] {
  const [n, c, h, width] = x.shape;
  const [o, per, kh, kw] = w.shape;
  const [X, W] = [x, w].map((t) => t.toTypedArray() as Float32Array);
  const oh = Math.floor((h + 2 * padding - kh) / stride) + 1;
  const ow = Math.floor((width + 2 * padding - kw) / stride) + 1;
  const out: number[] = [];
  for (let b = 0; b < n; b++)
    for (let f = 0; f < o; f++)
      for (let y = 0; y < oh; y++)
        for (let z = 0; z < ow; z++) {
          const first = Math.floor(f / (o / groups)) * per;
          let sum = 0;
          for (let k = 0; k < per; k++)
            for (let i = 0; i < kh; i++)
              for (let j = 0; j < kw; j++) {
                const [r, s] = [y * stride + i - padding, z * stride + j - padding];
                if (r < 0 || r >= h || s < 0 || s >= width) continue;
                sum += X[((b * c + first + k) * h + r) * width + s] * W[((f * per + k) * kh + i) * kw + j];
              }
          out.push(sum);
        }
  return out;
}

const sameBits = (a: Tensor, b: Tensor) => Buffer.compare(bytes(a), bytes(b)) === 0;
const bytes = (t: Tensor) => new Uint8Array(t.toTypedArray().buffer);

const shapes = [
  { x: [2, 33, 13, 15], w: [21, 33, 3, 3], stride: 1, padding: 1, groups: 1 },
  { x: [2, 16, 40, 31], w: [16, 1, 5, 3], stride: 1, padding: 2, groups: 16 },
  { x: [1, 12, 33, 33], w: [200, 6, 3, 3], stride: 2, padding: 1, groups: 2 },
  { x: [3, 4, 50, 60], w: [2, 4, 3, 3], stride: 1, padding: 0, groups: 1 },
];

describe("larger convolutions", () => {
  for (const { x, w, stride, padding, groups } of shapes) {
    for (const dtype of ["f32", "f64"] as const) {
      it(`${dtype} ${x} with ${w}, stride ${stride}, padding ${padding}, ${groups} groups: by definition, and the same on one thread`, () => {
        scope(() => {
          engine().pool.waitUntilReady();
          const [a, b] = [random(x, dtype), random(w, dtype)];
          const many = conv.conv2d(a, b, { stride, padding, groups });
          const one = engine().kernels.alone(() => conv.conv2d(a, b, { stride, padding, groups }));
          expect(sameBits(many, one)).toBe(true);
          const want = reference(a, b, stride, padding, groups);
          const got = many.toTypedArray() as Float32Array;
          expect(got.length).toBe(want.length);
          const worst = want.reduce((m, v, i) => Math.max(m, Math.abs(v - got[i])), 0);
          expect(worst).toBeLessThan(dtype === "f32" ? 2e-4 : 1e-12);
        });
      });
    }
  }

  it("scalar code gives what SIMD gives", () => {
    scope(() => {
      const [x, w] = [random([1, 6, 9, 10], "f64"), random([8, 3, 3, 2], "f64")];
      const fast = conv.conv2d(x, w, { groups: 2, padding: 1 });
      engine().kernels.simd = false;
      try {
        const slow = conv.conv2d(x, w, { groups: 2, padding: 1 });
        const got = flatValues(slow) as number[];
        for (const [i, v] of (flatValues(fast) as number[]).entries()) expect(got[i]).toBeCloseTo(v, 12);
      } finally {
        engine().kernels.simd = true;
      }
    });
  });

  it("images that lie channels last are read where they lie", () => {
    scope(() => {
      const x = random([2, 9, 8, 5]);
      const w = random([6, 5, 3, 3]);
      const nhwc = x.permute(0, 3, 1, 2);
      const report = explain(() => conv.conv2d(nhwc, w));
      expect(report.copies).toEqual([]);
      const dense = conv.conv2d(nhwc.clone(), w);
      expect(flatValues(conv.conv2d(nhwc, w))).toEqual(flatValues(dense));
    });
  });

  it("explain shows the copy that padding makes, and nothing stays behind", () => {
    const before = memory().tensors;
    scope(() => {
      const report = explain(() => conv.conv2d(zeros([1, 2, 4, 4]), zeros([4, 2, 3, 3]), { padding: 1 }));
      expect(report.copies.map((c) => c.why)).toEqual(["the padding needs zeros around the input"]);
      expect(explain(() => pool.maxPool2d(zeros([1, 2, 4, 4]), 2)).copies).toEqual([]);
    });
    expect(memory().tensors).toBe(before);
  });
});

describe("what convolutions refuse", () => {
  const refused = (fn: () => unknown): string => {
    try {
      scope(fn);
    } catch (error) {
      expect(error).toBeInstanceOf(TensorError);
      return (error as TensorError).message;
    }
    return "nothing";
  };
  const x = () => zeros([1, 4, 5, 5]);
  const w = () => zeros([6, 4, 3, 3]);
  // biome-ignore lint/suspicious/noExplicitAny: these are the wrong types
  const any = (value: unknown) => value as any;

  it("names the fact and the remedy", () => {
    expect(refused(() => conv.conv2d(x(), zeros([6, 3, 3, 3])))).toMatchInlineSnapshot(`
      "conv2d: 4 input and 6 output channels do not fit weights of 3 channels in 1 group.
        The input has groups × (the weight's second size) channels, and the weight's first size is a multiple of groups."
    `);
    expect(refused(() => conv.conv2d(x(), w(), { groups: 4 }))).toMatchInlineSnapshot(`
      "conv2d: 4 input and 6 output channels do not fit weights of 4 channels in 4 groups.
        The input has groups × (the weight's second size) channels, and the weight's first size is a multiple of groups."
    `);
    expect(refused(() => conv.conv2d(x(), zeros([6, 4, 7, 7])))).toMatchInlineSnapshot(`
      "conv2d: a window of 7 does not fit into 5 (axis 2: 5 and padding 0 + 0).
        Use a smaller kernel or dilation, or padding."
    `);
    expect(refused(() => conv.conv2d(x(), w(), { padding: "same", stride: 2 }))).toMatchInlineSnapshot(`
      "conv2d: padding "same" with stride [2, 2].
        Only windows at every position give as many outputs as inputs; give the padding as numbers."
    `);
    expect(refused(() => conv.conv2d(x(), w(), { bias: zeros([5]) }))).toMatchInlineSnapshot(`
      "conv2d: the bias is [5].
        Give one number for each output channel: shape [6]."
    `);
    expect(refused(() => conv.conv2d(zeros([5, 5]), w()))).toMatchInlineSnapshot(`
      "conv2d: the input is [5, 5].
        It must be [batch, channels, height, width], or the same without the batch."
    `);
    expect(refused(() => conv.conv1d(x(), w()))).toMatchInlineSnapshot(`
      "conv1d: the input is [1, 4, 5, 5].
        It must be [batch, channels, length], or the same without the batch."
    `);
    expect(refused(() => pool.maxPool2d(x(), 2, { padding: 2 }))).toMatchInlineSnapshot(`
      "maxPool2d: padding 2 for a window of 2.
        The padding is at most half a window, so that every window has an element."
    `);
    expect(refused(() => pool.avgPool2d(x(), 6))).toMatchInlineSnapshot(`
      "avgPool2d: a window of 6 does not fit into 5 and padding 0 on both sides.
        Use a smaller kernel, or more padding."
    `);
    expect(refused(() => conv.convolve(zeros(3), zeros(2), { mode: any("all") }))).toMatchInlineSnapshot(`
      "convolve: mode is the string "all".
        Use "full", "same" or "valid"."
    `);
  });

  it("never with a raw error", () => {
    const disposed = zeros([1, 4, 5, 5]);
    disposed.dispose();
    for (const bad of [0, -1, 1.5, Number.NaN, "2", [1], [1, 2, 3], 2 ** 40, {}, true]) {
      expect(refused(() => conv.conv2d(x(), w(), { stride: any(bad) }))).not.toBe("nothing");
      expect(refused(() => conv.conv2d(x(), w(), { dilation: any(bad) }))).not.toBe("nothing");
      expect(refused(() => pool.maxPool2d(x(), any(bad)))).not.toBe("nothing");
    }
    for (const bad of [-1, 0.5, "full", Number.NaN, [1, 2, 3]]) {
      expect(refused(() => conv.conv2d(x(), w(), { padding: any(bad) }))).not.toBe("nothing");
    }
    for (const bad of [0, -2, "2", Number.NaN]) {
      expect(refused(() => conv.conv2d(x(), w(), { groups: any(bad) }))).not.toBe("nothing");
    }
    for (const bad of [null, 3, [1, 2], disposed]) {
      expect(refused(() => conv.conv2d(any(bad), w()))).not.toBe("nothing");
      expect(refused(() => conv.conv2d(x(), any(bad)))).not.toBe("nothing");
      expect(refused(() => pool.avgPool2d(any(bad), 2))).not.toBe("nothing");
      expect(refused(() => conv.convolve(any(bad), zeros(2)))).not.toBe("nothing");
    }
    expect(refused(() => conv.conv2d(x(), w(), any(true)))).not.toBe("nothing");
    expect(refused(() => conv.conv2d(x(), w(), { padding: 2 ** 30 }))).not.toBe("nothing");
    expect(refused(() => pool.maxPool2d(x(), 2, { ceilMode: any(1) }))).not.toBe("nothing");
  });
});
