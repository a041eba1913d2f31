/** Calls are kept and made again without a plan: the same call on other memory, and nearly the same call. */
import { describe, expect, it } from "vitest";
import { engine } from "../src/engine.ts";
import { arange, full, kernel, mean, memory, sum, type Tensor, tensor } from "../src/index.ts";

const values = (t: Tensor) => t.toArray();

describe("a fold that is made again", () => {
  const a = arange(12).reshape(3, 4);
  const other = a.map((x) => -x);

  it("reads the tensor it is given, not the one before", () => {
    // A map of one frame gives the same frame, so only the memory differs.
    for (const [t, sign] of [
      [a, 1],
      [other, -1],
      [a, 1],
    ] as const) {
      expect(values(sum(t, { axis: 1 }))).toEqual([6 * sign, 22 * sign, 38 * sign]);
      expect(values(sum(t))).toBe(66 * sign);
    }
  });

  it("tells axes, keepdims, dtypes and start values apart", () => {
    for (let i = 0; i < 3; i++) {
      expect(values(sum(a, { axis: 0 }))).toEqual([12, 15, 18, 21]);
      expect(values(sum(a, { axis: 1, keepdims: true }))).toEqual([[6], [22], [38]]);
      expect(sum(a, { axis: 1, dtype: "f64" }).dtype).toBe("f64");
      expect(values(sum(a, { axis: 1, dtype: "i32" }))).toEqual([6, 22, 38]);
      expect(values(mean(a, { axis: 1 }))).toEqual([1.5, 5.5, 9.5]);
      const add = (acc: number, x: number) => acc + x;
      expect(values(a.reduce(add, { axis: 1, init: 100 }))).toEqual([106, 122, 138]);
      expect(values(a.reduce(add, { axis: 1, init: 0 }))).toEqual([6, 22, 38]);
    }
  });

  it("is the same on views: flipped, sliced, transposed", () => {
    for (let i = 0; i < 2; i++) {
      for (const view of [a.flip(), a.T, a.slice(":", "1::2"), a.slice("1:")]) {
        const rows = values(view) as number[][];
        expect(values(view.max({ axis: 1 }))).toEqual(rows.map((row) => Math.max(...row)));
        expect(values(view.sum({ axis: 0 }))).toEqual(
          rows[0].map((_, j) => rows.reduce((s, row) => s + row[j], 0)),
        );
      }
    }
  });

  it("gives the same bits without SIMD as it did before it was kept", () => {
    const t = tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
    const first = t.sum().item();
    expect(t.sum().item()).toBe(first);
    engine().kernels.simd = false;
    try {
      expect(t.sum().item()).toBe(first);
      expect(t.sum().item()).toBe(first);
    } finally {
      engine().kernels.simd = true;
    }
    expect(t.sum().item()).toBe(first);
  });

  it("leaves nothing behind", () => {
    const before = memory().bytes;
    for (let i = 0; i < 1000; i++) a.sum({ axis: 1 }).dispose();
    expect(memory().bytes).toBe(before);
  });
});

describe("a product that is made again", () => {
  it("reads the operands it is given", () => {
    const [a, b] = [full([2, 3], 1), full([3, 2], 2)];
    const [c, d] = [a.map((x) => x + 1), b.map((x) => x + 1)];
    for (let i = 0; i < 2; i++) {
      expect(values(a.matmul(b))).toEqual([
        [6, 6],
        [6, 6],
      ]);
      expect(values(c.matmul(d))).toEqual([
        [18, 18],
        [18, 18],
      ]);
      expect(values(a.to("f64").matmul(b))).toEqual([
        [6, 6],
        [6, 6],
      ]);
      expect(a.to("f64").matmul(b).dtype).toBe("f64");
      expect(values(tensor([1, 2]).matmul(a))).toEqual([3, 3, 3]);
    }
  });
});

describe("kernel(…).reduce(…)", () => {
  const a = arange(6).reshape(2, 3);

  it("folds what the kernel makes of the elements", () => {
    const dot = kernel((x: number, y: number) => x * y).reduce("sum", { axis: -1 });
    expect(values(dot(a, a))).toEqual([5, 50]);
    expect(
      values(
        dot(
          a,
          a.map((x) => -x),
        ),
      ),
    ).toEqual([-5, -50]);
    expect(values(kernel((x: number) => Math.abs(x)).reduce("max")(a.neg()))).toBe(5);
    expect(values(kernel((x: number) => x + 1).reduce()(a))).toBe(21);
    const fold = kernel((x: number) => x * x).reduce((acc, x) => acc + x, { axis: 0, init: 1 });
    expect(values(fold(a))).toEqual([10, 18, 30]);
  });

  it("refuses what is no fold", () => {
    const square = kernel((x: number) => x * x);
    expect(() => square.reduce("median" as never)(a)).toThrow(/reduce is the string "median"/);
    expect(() => square.reduce(3 as never)(a)).toThrow(/reduce is/);
    expect(() => square.reduce("sum", 1 as never)).toThrow(/reduce/);
  });
});

describe("var and std", () => {
  it("take the array API's correction for NumPy's ddof", () => {
    const t = tensor([1, 2, 3, 4]);
    expect(t.var({ correction: 1 }).item()).toBe(t.var({ ddof: 1 }).item());
    expect(t.std({ correction: 1 }).item()).toBeCloseTo(1.2909944, 6);
    expect(() => t.var({ ddof: 1, correction: 2 })).toThrow(/They mean the same/);
    expect(() => t.var({ correction: "1" as never })).toThrow(/correction is the string "1"/);
  });
});
