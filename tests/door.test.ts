/** The one door: what is kept of a call, who hears of it, and what passes through it besides. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { DType } from "../src/dtype.ts";
import { engine } from "../src/engine.ts";
import {
  arange,
  divmod,
  full,
  kernel,
  linspace,
  matmul,
  ones,
  type Tensor,
  tensor,
  zeros,
} from "../src/index.ts";
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

describe("reductions of several passes", () => {
  type Axis = { axis?: number | [number]; keepdims?: boolean };
  const operations: Record<string, (t: Tensor, options: Axis) => Tensor> = {
    argmax: (t, options) => t.argmax(options),
    argmin: (t, options) => t.argmin(options),
    var: (t, options) => t.var(options),
    std: (t, options) => t.std(options),
  };

  it.each(Object.keys(operations))("%s is planned once for a layout, whatever came in between", (name) => {
    const run = operations[name];
    const asked: Axis[] = [{}, { axis: 0 }, { axis: [-1] }, { axis: 0, keepdims: true }];
    const rows = steps([5, 6]);
    const tensors = [rows, rows.T, rows.slice("1:", "::2"), steps([6], "i32")];
    const all = () => tensors.flatMap((t) => asked.map((o) => run(t, o).toArray()));
    const want = all();
    const find = vi.spyOn(engine().plans, "find");
    expect(all()).toEqual(want);
    const found = find.mock.results.map(({ value }) => value as object | null);
    find.mockRestore();
    expect(found).not.toContain(null);
    // Of each call the axes, the tiles and the folds; and the plan of each fold.
    const passes = found.filter((plan) => Object.hasOwn(plan!, "tiles"));
    expect(passes).toHaveLength(16);
    expect(found).toHaveLength(3 * 16);
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

  it("does all that an executor refuses", () => {
    const t = steps([4, 6]);
    const all = () => [
      arange(0, 40_000, 1, { dtype: "f64" }).slice("39990:").toArray(),
      linspace(0, 1, 30_000).slice("-3:").toArray(),
      full([20_000], 7).sum().item(),
      t.T.clone().toArray(),
      t.sum({ axis: 0 }).toArray(),
      t.matmul(t.T, { out: ones([4, 4], { dtype: "f64" }), accumulate: true }).toArray(),
      divmod(t, 4).map((part) => part.toArray()),
    ];
    const want = all();
    engine().executor = {
      refuses: () => "it takes nothing",
      prepare: () => {
        throw new Error("it was asked all the same");
      },
    };
    expect(all()).toEqual(want);
  });
});

describe("functions that are made anew at every call", () => {
  const x = arange(4);
  /** What is looked at to see whether a function was read again. */
  const definitionOf = (fn: unknown, captures?: Record<string, unknown>) =>
    callableOf("test", fn, captures).definition;

  it("are read once: plain ones, those with captured values, and captured ones", () => {
    const plain = () => (v: number) => v * 3;
    const reads =
      () =>
      (v: number, { k }: { k: number }) =>
        v * k;
    const calls =
      () =>
      (v: number, { f }: { f: (x: number) => number }) =>
        f(v) + 1;
    const inner = () => (v: number) => v * v;
    expect(definitionOf(plain())).toBe(definitionOf(plain()));
    expect(definitionOf(reads(), { k: 2 })).toBe(definitionOf(reads(), { k: 5 }));
    expect(definitionOf(reads(), { k: 2 })).not.toBe(definitionOf(reads(), { k: true }));
    expect(definitionOf(calls(), { f: inner() })).toBe(definitionOf(calls(), { f: inner() }));
    expect(definitionOf(calls(), { f: inner() })).not.toBe(
      definitionOf(calls(), { f: (v: number) => v + v }),
    );
    const of = (f: (x: number) => number) => x.map(calls(), { with: { f } }).toArray();
    expect([of(inner()), of((v) => v + v), of(Math.sqrt), of(inner())]).toEqual([
      [1, 2, 5, 10],
      [1, 3, 5, 7],
      [1, 2, 1 + Math.fround(Math.SQRT2), 1 + Math.fround(Math.sqrt(3))].map(Math.fround),
      [1, 2, 5, 10],
    ]);
  });

  it("kernels of one text are one function, with values of their own", () => {
    const made = (k: number, fastMath = false) =>
      kernel((v: number, { k }: { k: number }) => v / 4 + k, { k }, { fastMath });
    expect(made(1).template).toBe(made(2).template);
    expect(made(1, true).template).not.toBe(made(1).template);
    expect([made(1), made(2)].map((f) => f(x).toArray())).toEqual([
      [1, 1.25, 1.5, 1.75],
      [2, 2.25, 2.5, 2.75],
    ]);
    expect(made(1).captures).toEqual({ k: 1 });
    const scaled = kernel((v: number, { f }: { f: (x: number) => number }) => 2 * f(v), { f: made(3) });
    expect(scaled(x).toArray()).toEqual([6, 6.5, 7, 7.5]);
  });

  it("a kernel with more captured values is not taken for another one", () => {
    const [f, g] = [kernel((v: number) => v + 1), kernel((v: number) => v * 5)];
    const k = { with: { k: 1 } } as object;
    expect(x.map(f as never, k).toArray()).toEqual([1, 2, 3, 4]);
    expect(x.map(g as never, k).toArray()).toEqual([0, 5, 10, 15]);
  });

  it("whose captured functions have a Math of their own are called", () => {
    const uses =
      () =>
      (v: number, { f }: { f: (x: number) => number }) =>
        f(v) + 0;
    const honest = (v: number) => Math.abs(v);
    const own = new Function("Math", "return (v) => Math.abs(v)")({ abs: (v: number) => v + 100 });
    const of = (f: (x: number) => number) => x.map(uses(), { with: { f } }).toArray();
    expect(of(honest)).toEqual([0, 1, 2, 3]);
    expect(of(own)).toEqual([100, 101, 102, 103]);
    expect(of(honest)).toEqual([0, 1, 2, 3]);
  });

  it("that cannot be compiled say so each in their own words", () => {
    const calls =
      () =>
      (v: number, { f }: { f: (x: number) => number }) =>
        f(v);
    const q = Number("2");
    expect(x.map(calls(), { with: { f: (v) => v * q } }).toArray()).toEqual([0, 2, 4, 6]);
    expect(x.map(calls(), { with: { f: (v) => v + q } }).toArray()).toEqual([2, 3, 4, 5]);
    const strict = (k: unknown) => kernel((v: number, { k }: { k: number }) => v * k, { k } as never);
    expect(() => strict("two")).toThrow(/captured "k" is a string/);
    expect(() => strict(null)).toThrow(/captured "k" is null/);
  });
});
