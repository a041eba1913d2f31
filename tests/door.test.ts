/** The one door: what is kept of a call, who hears of it, and what passes through it besides. */
import { afterEach, describe, expect, it } from "vitest";
import type { DType } from "../src/dtype.ts";
import { engine } from "../src/engine.ts";
import { arange, kernel, matmul, ones, type Tensor, tensor, zeros } from "../src/index.ts";
import { callableOf } from "../src/ops/function.ts";
import { scan } from "../src/ops/reduce.ts";
import { stridedOf, wrap } from "../src/tensor.ts";

afterEach(() => {
  engine().recorder = null;
  engine().executor = engine().compiled;
});

const steps = (shape: number[], dtype: DType = "f64", by = 1) =>
  arange(0, shape.reduce((a, b) => a * b, 1) * by, by, { dtype }).reshape(shape);

describe("a product that is added to its output", () => {
  const sums = (out: Tensor, a: Tensor, b: Tensor) => out.add(a.matmul(b)).toArray();

  it.each(["f32", "f64", "f16", "i32", "i64", "u8", "bool"] as const)("of %s", (dtype) => {
    for (const [m, k, n] of [
      [1, 1, 1],
      [3, 4, 5],
      [17, 1, 9],
      [33, 40, 20],
    ]) {
      const a = steps([m, k])
        .map((x) => (x % 7) - 3)
        .to(dtype);
      const b = steps([k, n])
        .map((x) => (x % 5) - 2)
        .to(dtype);
      const out = steps([m, n])
        .map((x) => x % 3)
        .to(dtype);
      const want = dtype === "bool" ? out.logicalOr(a.matmul(b)).toArray() : sums(out, a, b);
      expect(a.matmul(b, { out, accumulate: true })).toBe(out);
      expect(out.toArray()).toEqual(want);
    }
  });

  it("over batches, vectors and views, of either executor", () => {
    for (const executor of [engine().compiled, engine().interpreter]) {
      engine().executor = executor;
      const a = steps([4, 6, 5]).permute(0, 2, 1);
      const b = steps([6, 14]).slice(":", "::2");
      const out = zeros([4, 7, 5], { dtype: "f64" }).permute(0, 2, 1);
      const want = sums(out, a, b);
      matmul(a, b, { out, accumulate: true });
      expect(out.toArray()).toEqual(want);
      const v = steps([5]);
      const y = ones([7], { dtype: "f64" });
      const wanted = sums(y, v, steps([5, 7]));
      expect(v.matmul(steps([5, 7]), { out: y, accumulate: true }).toArray()).toEqual(wanted);
    }
  });

  it("that lies on an operand, and one of another dtype", () => {
    const a = steps([4, 4]);
    const want = sums(a, a, a.T);
    a.matmul(a.T, { out: a, accumulate: true });
    expect(a.toArray()).toEqual(want);
    const out = ones([3, 3], { dtype: "f32" });
    const b = steps([3, 3]);
    const wanted = out.to("f64").add(b.matmul(b)).to("f32").toArray();
    b.matmul(b, { out, accumulate: true });
    expect(out.toArray()).toEqual(wanted);
  });

  it("refuses to add to nothing", () => {
    expect(() => ones([2, 2]).matmul(ones([2, 2]), { accumulate: true })).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: matmul: there is nothing to accumulate in.
        Give the tensor that the product is added to: { out, accumulate: true }.]
    `);
    expect(() => ones([2, 2]).matmul(ones([2, 2]), { accumulate: 1 as never })).toThrow(/accumulate/);
  });

  it("adds nothing where nothing is multiplied", () => {
    const out = ones([2, 3]);
    zeros([2, 0]).matmul(zeros([0, 3]), { out, accumulate: true });
    expect(out.toArray()).toEqual(ones([2, 3]).toArray());
  });
});

describe("who records", () => {
  it("hears of calls and views, in order, replayed or not", () => {
    const heard: string[] = [];
    const t = arange(6).reshape(2, 3);
    const f = kernel((x: number, { k }: { k: number }) => x * k, { k: 2 });
    engine().recorder = {
      ran: (call, plan, out) => heard.push(`${call.operation} ${plan.work.form} ${out.frame.shape}`),
      viewed: (operation, of, made) => heard.push(`${operation} ${of.frame.shape} → ${made.frame.shape}`),
    };
    for (let i = 0; i < 2; i++) {
      f(t.T.slice(0));
      t.sum({ axis: 1 });
      t.matmul(t.T);
    }
    const once = [
      "transpose 2,3 → 3,2",
      "slice 3,2 → 2",
      "kernel elementwise 2",
      "sum reduce 2",
      "transpose 2,3 → 3,2",
      "matmul matmul 2,2",
    ];
    expect(heard).toEqual([...once, ...once]);
  });
});

describe("a storage's version", () => {
  it("grows whenever something is written there, and only then", () => {
    const t = arange(6).reshape(2, 3);
    const { storage } = stridedOf(t);
    const writes = (fn: () => unknown) => {
      const before = storage.version;
      fn();
      return storage.version > before;
    };
    expect(writes(() => t.set([0, 1], 5))).toBe(true);
    expect(writes(() => t.fill(3))).toBe(true);
    expect(writes(() => t.slice(1).assign([1, 2, 3]))).toBe(true);
    expect(writes(() => t.add(1, { out: t }))).toBe(true);
    expect(writes(() => kernel((x: number) => x + 1).into(t, t))).toBe(true);
    expect(writes(() => matmul(ones([2, 2]), ones([2, 3]), { out: t }))).toBe(true);
    expect(writes(() => t.map((x) => x + Number("1"), { out: t }))).toBe(true);
    expect(writes(() => [t.add(1), t.sum(), t.T, t.clone(), t.get(0, 0), t.toArray()])).toBe(false);
  });
});

describe("a scan of two tensors", () => {
  it.each(["compiled", "interpreter"] as const)("%s: acc = f(acc, x, y) along an axis", (which) => {
    engine().executor = engine()[which];
    const x = tensor([1, 2, 3, 4, 5, 6], { dtype: "f64" }).reshape(2, 3);
    const y = tensor([2, 0.5, -1], { dtype: "f64" });
    const f = callableOf("test", (acc: number, a: number, b: number) => acc * b + a);
    for (const [axis, init] of [
      [1, 0],
      [0, 2],
    ]) {
      const rows = x.toArray() as number[][];
      const want = rows.map((row) => row.slice());
      for (let j = 0; j < (axis === 1 ? 2 : 3); j++) {
        let acc = init;
        for (let i = 0; i < (axis === 1 ? 3 : 2); i++) {
          const [r, c] = axis === 1 ? [j, i] : [i, j];
          acc = acc * (y.get(c) as number) + rows[r][c];
          want[r][c] = acc;
        }
      }
      const made = wrap(scan("test", f, [stridedOf(x), stridedOf(y)], { axis, init }));
      expect(made.toArray()).toEqual(want);
    }
  });
});

describe("the interpreter in place of compiled code", () => {
  it("gives what compiled code gives", () => {
    const t = steps([4, 6], "f64", 0.25).slice(":", "::-2");
    const all = () => [
      t.mul(3).toArray(),
      t.map((x) => (x > 1 ? x * x : -x)).toArray(),
      t.max({ axis: 0 }).toArray(),
      t.reduce((acc, x) => acc * 0.5 + x, { axis: 1, init: 1 }).toArray(),
      t.cumsum({ axis: 1 }).toArray(),
      t.matmul(t.T).toArray(),
      t.to("i32").toArray(),
      t.clone().toArray(),
      t.argmax({ axis: 1 }).toArray(),
    ];
    const want = all();
    engine().executor = engine().interpreter;
    expect(all()).toEqual(want);
  });
});
