/** Matrix products into what is there: matmul with { out }, and the updates that blocked algorithms are made of. */
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { arange, matmul, memory, ones, scope, type Tensor, zeros } from "../../src/index.ts";
import * as products from "../../src/ops/matmul.ts";
import { stridedOf } from "../../src/tensor.ts";

const accumulateProduct = (how: "add" | "subtract", out: Tensor, a: Tensor, b: Tensor) =>
  products.accumulateProduct(how, stridedOf(out), stridedOf(a), stridedOf(b));

type Float = "f32" | "f64";
/** Small whole numbers: sums are exact. */
const make = (shape: readonly number[], dtype: Float, step: number) =>
  arange(
    shape.reduce((x, y) => x * y, 1),
    { dtype: "i32" },
  )
    .map((i, { step }) => ((i * step) % 7) - 3, { with: { step } })
    .to(dtype)
    .reshape(shape);

const sizes = [
  [1, 1, 1],
  [3, 4, 5],
  [1, 7, 3],
  [7, 1, 3],
  [5, 300, 2],
  [300, 3, 400],
  [64, 64, 64],
  [100, 33, 77],
  [130, 150, 300],
  [4, 4, 0],
] as const;

/** The same values, laid out another way. */
const layouts: Record<string, (t: Tensor) => Tensor> = {
  dense: (t) => t,
  transposed: (t) => t.T.clone().T,
  reversed: (t) => t.flip().clone().flip(),
  stepped: (t) =>
    zeros([t.shape[0], 2 * t.shape[1]], { dtype: t.dtype })
      .slice(":", "::2")
      .assign(t),
};

const isTimes = (t: Tensor, want: ArrayLike<number | bigint>, factor: number) =>
  (t.toTypedArray() as Float64Array).every((x, i) => x === factor * Number(want[i]));

describe.each(["f32", "f64"] as const)("products into an output (%s)", (dtype) => {
  it.each(sizes)("%d × %d over %d: replace, add and take away, in any layout", (m, n, k) => {
    for (const simd of m * n * k < 10000 ? [true, false] : [true]) {
      engine().kernels.simd = simd;
      try {
        scope(() => {
          const [a, b] = [make([m, k], dtype, 3), make([k, n], dtype, 5)];
          const want = a.matmul(b).toTypedArray();
          for (const [name, lay] of Object.entries(layouts)) {
            for (const layOut of Object.values(layouts)) {
              const out = layOut(ones([m, n], { dtype }));
              const left = lay(a);
              expect(matmul(left, b, { out })).toBe(out);
              expect(isTimes(out, want, 1), name).toBe(true);
              accumulateProduct("add", out, left, b);
              accumulateProduct("add", out, left, lay(b));
              expect(isTimes(out, want, 3), name).toBe(true);
              for (let i = 0; i < 4; i++) accumulateProduct("subtract", out, left, b);
              expect(isTimes(out, want, -1), name).toBe(true);
            }
          }
        });
      } finally {
        engine().kernels.simd = true;
      }
    }
  });

  it("vectors, batches and repeated matrices", () => {
    scope(() => {
      const [a, v] = [make([2, 3, 4], dtype, 3), make([4], dtype, 5)];
      const out = zeros([2, 3], { dtype });
      matmul(a, v, { out });
      expect(out.toArray()).toEqual(a.matmul(v).toArray());
      const rows = zeros([2, 4], { dtype });
      matmul(make([3], dtype, 2), a, { out: rows });
      expect(rows.toArray()).toEqual(make([3], dtype, 2).matmul(a).toArray());
      const one = zeros([], { dtype });
      matmul(v, v, { out: one });
      expect(one.item()).toBe(v.matmul(v).item());
      const c = zeros([2, 3, 3], { dtype });
      const b = a.swapAxes(1, 2);
      accumulateProduct("add", c, a, b);
      accumulateProduct("subtract", c, a, b.slice([0, 1]).broadcastTo(2, 4, 3));
      expect(c.slice(0).abs().max().item()).toBe(0);
      expect(c.slice(1).toArray()).toEqual(
        a
          .slice(1)
          .matmul(b.slice(1))
          .sub(a.slice(1).matmul(b.slice(0)))
          .toArray(),
      );
    });
  });

  it("an output that overlaps an operand, or of another dtype, is written at the end", () => {
    const before = memory().tensors;
    scope(() => {
      const a = make([5, 5], dtype, 3);
      const want = a.matmul(a).toArray();
      const other = zeros([5, 5], { dtype: dtype === "f32" ? "f64" : "f32" });
      matmul(a, a, { out: other });
      expect(other.toArray()).toEqual(want);
      const copies: string[] = [];
      engine().listener = (event) => event.kind === "copy" && copies.push(event.why);
      try {
        matmul(a, a, { out: a });
      } finally {
        engine().listener = null;
      }
      expect(a.toArray()).toEqual(want);
      expect(copies).toEqual(["the output overlaps an operand, so the result is made aside first"]);
    });
    expect(memory().tensors).toBe(before);
  });

  it("a wrong output is an error", () => {
    const a = make([2, 3], dtype, 3);
    expect(() => matmul(a, a.T, { out: zeros([2, 3], { dtype }) })).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: matmul: the output is [2, 3], the operands make [2, 2].
        An existing output must have exactly the result's shape.]
    `);
    const repeated = zeros([1, 2], { dtype }).broadcastTo(2, 2);
    expect(() => matmul(a, a.T, { out: repeated })).toThrow("read-only");
  });
});
