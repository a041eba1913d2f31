/** Calls are kept and made again without a plan: the same call on other memory, and nearly the same call. */
import { describe, expect, it } from "vitest";
import { engine } from "../src/engine.ts";
import {
  arange,
  explain,
  full,
  kernel,
  mean,
  memory,
  softmax,
  std,
  sum,
  type Tensor,
  tensor,
} from "../src/index.ts";

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

  it.each([
    { shape: [3_000_000], axis: undefined },
    { shape: [2048, 700], axis: 0 },
    { shape: [2048, 700], axis: 1 },
    { shape: [3, 40_000, 5], axis: 1 },
    { shape: [64, 9000], axis: 1 },
    { shape: [40, 30, 200], axis: 1 },
  ])("is the same when it is many tasks: $shape along $axis", ({ shape, axis }) => {
    const size = shape.reduce((p, n) => p * n);
    const big = kernel((x: number) => Math.sin(x))(arange(size)).reshape(...shape);
    const negated = big.map((x) => -x);
    const options = axis === undefined ? {} : { axis };
    for (const fold of [
      (t: Tensor) => t.sum(options),
      (t: Tensor) => t.mean(options),
      (t: Tensor) => t.max(options),
      (t: Tensor) => t.reduce((acc, x) => 0.5 * acc + x, { ...options, init: 1 }),
    ]) {
      for (const t of [big, negated, big]) {
        let planned: unknown;
        // What is explained is planned anew.
        explain(() => {
          planned = values(fold(t));
        });
        for (let i = 0; i < 3; i++) expect(values(fold(t))).toEqual(planned);
      }
    }
  });

  it("leaves nothing behind", () => {
    const large = full([2048, 700], 1);
    for (const t of [a, large]) {
      const before = memory().bytes;
      for (let i = 0; i < 1000; i++) t.sum({ axis: i % 2 }).dispose();
      expect(memory().bytes).toBe(before);
    }
  });
});

describe("named folds of several inputs that are made again", () => {
  const rows = [
    [3, 1, 4, 1],
    [5, 9, 2, 6],
    [5, 3, 5, 8],
  ];
  const mean = (x: readonly number[]) => x.reduce((s, v) => s + v, 0) / x.length;
  const variance = (x: readonly number[], ddof: number) =>
    x.reduce((s, v) => s + (v - mean(x)) ** 2, 0) / (x.length - ddof);

  it("read what they are given, in rows and in columns, and tell their settings apart", () => {
    for (const shift of [0, 10, -7, 0]) {
      const moved = rows.map((r) => r.map((x, j) => x + shift * (j % 2)));
      const padded = tensor(
        moved.map((r) => [0, ...r, 0]),
        { dtype: "f64" },
      ).slice(":", "1:-1");
      for (const t of [tensor(moved, { dtype: "f64" }), padded]) {
        const columns = moved[0].map((_, j) => moved.map((r) => r[j]));
        expect(values(t.argmax({ axis: 1 }))).toEqual(moved.map((r) => BigInt(r.indexOf(Math.max(...r)))));
        expect(values(t.argmin({ axis: 0 }))).toEqual(columns.map((c) => BigInt(c.indexOf(Math.min(...c)))));
        for (const ddof of [0, 1]) {
          const got = values(std(t, { axis: 1, ddof })) as number[];
          moved.forEach((r, i) => {
            expect(got[i]).toBeCloseTo(Math.sqrt(variance(r, ddof)), 12);
          });
        }
        const soft = values(softmax(t, { axis: 0 })) as number[][];
        columns.forEach((c, j) => {
          const sum = c.reduce((s, v) => s + Math.exp(v), 0);
          c.forEach((v, i) => {
            expect(soft[i][j]).toBeCloseTo(Math.exp(v) / sum, 12);
          });
        });
      }
    }
  });

  it("do not keep what a function captured before", () => {
    const t = tensor(rows);
    for (const k of [1, 2, 3, 1]) {
      const scaled = kernel((x: number) => x * k, { k }).reduce("sum", { axis: 1 })(t);
      expect(values(scaled)).toEqual(rows.map((r) => k * r.reduce((s, v) => s + v, 0)));
    }
  });
});

describe("an elementwise call that is made again", () => {
  const add = kernel((x: number, y: number) => x + y);
  const matrix = () => arange(20).reshape(5, 4);
  const row = tensor([10, 20, 30, 40]);
  const rows = (t: Tensor) => values(t) as number[][];

  it("reads the operands it is given, wherever they begin", () => {
    const a = arange(60).reshape(15, 4);
    for (let i = 0; i + 5 <= 15; i++) {
      for (const view of [
        a.slice(`${i}:${i + 5}`),
        a.slice(`${i}:${i + 5}`, "::-1"),
        a.slice([i, i + 5]).T,
      ]) {
        const other = view.shape[1] === 4 ? row : tensor([1, 2, 3, 4, 5]);
        const want = rows(view).map((r) => r.map((x, j) => x + (values(other) as number[])[j]));
        expect(rows(add(view, other))).toEqual(want);
        expect(rows(view.add(other))).toEqual(want);
      }
    }
  });

  it("tells dtypes, orders and outputs apart", () => {
    const a = matrix();
    for (let i = 0; i < 3; i++) {
      expect(add(a, row).dtype).toBe("f32");
      expect(add(a, row.to("f64")).dtype).toBe("f64");
      expect(add(a.T, tensor([1, 2, 3, 4, 5])).strides).toEqual([1, 4]);
      expect(rows(add.into(full([5, 4], 0, { dtype: "i32" }), a, row))[4]).toEqual([26, 37, 48, 59]);
      expect(rows(add.into(full([4, 5], 0).T, a, row))[4]).toEqual([26, 37, 48, 59]);
    }
  });

  it("sees an output that overlaps an operand, also where an earlier one did not", () => {
    const [upper, lower] = ["1:", ":-1"];
    for (let i = 0; i < 3; i++) {
      const [a, b] = [matrix(), matrix()];
      // Apart: planned, and kept.
      const want = rows(add(a.slice(lower), row));
      expect(rows(add.into(b.slice(upper), a.slice(lower), row))).toEqual(want);
      // The same strides in one storage.
      expect(rows(add.into(a.slice(upper), a.slice(lower), row))).toEqual(want);
      // In place.
      const c = matrix().T;
      const before = rows(c);
      expect(rows(add.into(c, c, full([5], 1)))).toEqual(before.map((r) => r.map((x) => x + 1)));
    }
  });

  it("refuses what was refused before it was kept", () => {
    const [a, out] = [matrix(), full([5, 4], 0)];
    for (let i = 0; i < 2; i++) add.into(out, a, row);
    expect(() => add.into(row.broadcastTo([5, 4]), a, row)).toThrow(/add|kernel|into/);
    expect(() => add.into(full([4, 5], 0), a, row)).toThrow(/\[4, 5\]/);
    out.dispose();
    expect(() => add.into(out, a, row)).toThrow(/disposed/);
  });

  it("keeps a few walks for each function, compiles nothing again and leaves nothing behind", () => {
    const a = matrix();
    const call = () => {
      for (const n of [2, 3, 4, 5]) add(a.slice(`:${n}`, "::2"), a.slice(`:${n}`, "1::2")).dispose();
      for (const n of [2, 3, 4, 5]) add(a.slice(`:${n}`), row).dispose();
    };
    call();
    const { bytes } = memory();
    const { compiled } = engine().kernels;
    for (let i = 0; i < 200; i++) call();
    expect(memory().bytes).toBe(bytes);
    expect(engine().kernels.compiled).toBe(compiled);
  });

  it("is the same without SIMD", () => {
    const a = matrix();
    const want = rows(add(a.T, full([5], 0.5)));
    engine().kernels.simd = false;
    try {
      for (let i = 0; i < 2; i++) expect(rows(add(a.T, full([5], 0.5)))).toEqual(want);
    } finally {
      engine().kernels.simd = true;
    }
    expect(rows(add(a.T, full([5], 0.5)))).toEqual(want);
  });
});

describe("a copy that is made again", () => {
  it("copies what it is given, between any dtypes, and also within one storage", () => {
    for (let i = 0; i < 3; i++) {
      const a = arange(16)
        .reshape(4, 4)
        .map((x) => x + i);
      const want = values(a.T.clone());
      expect(values(full([4, 4], 0).assign(a.T))).toEqual(want);
      expect(values(full([4, 4], 0, { dtype: "f64" }).assign(a.T))).toEqual(want);
      expect(values(full([4, 4], 0).T.assign(a).T)).toEqual(want);
      expect(values(a.clone().T.to("i32"))).toEqual(want);
      expect(values(a.assign(a.T))).toEqual(want);
    }
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
