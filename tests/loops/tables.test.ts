/** Captured tensors that functions of an element read: any layout and dtype, every index checked. */
import { describe, expect, test } from "vitest";
import { dtypeNames } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import {
  arange,
  configure,
  full,
  kernel,
  mapReduce,
  type Tensor,
  tensor,
  zeros,
  zip,
} from "../../src/index.ts";
import { live } from "../../src/tensor.ts";
import { refused } from "../refused.ts";

configure({ threads: 2 });

interface Lookup {
  get(...index: number[]): number;
  readonly shape: readonly number[];
  readonly size: number;
}
type With = { table: Lookup };
const given = (table: Tensor) => ({ table }) as unknown as With;
const look = (x: number, { table }: With) => table.get(x);

/** The same with compiled code and with the interpreter: a value, or the words of an error. */
function both(run: () => unknown): unknown {
  const attempt = () => {
    try {
      return run();
    } catch (error) {
      return `${(error as { code: string }).code}: ${(error as Error).message}`;
    }
  };
  const e = engine();
  const { executor } = e;
  const compiled = attempt();
  e.executor = e.interpreter;
  try {
    expect(attempt()).toEqual(compiled);
  } finally {
    e.executor = executor;
  }
  return compiled;
}

const bytesOf = (t: Tensor) => {
  const { address, bytes } = live("test", t).storage;
  return engine().heap.u8.slice(address, address + bytes);
};

describe("reading", () => {
  test("every dtype, by indices of every dtype", () => {
    for (const dtype of dtypeNames) {
      const table = tensor([1, 0, 1, 1, 0], { dtype: "i32" }).to(dtype);
      for (const index of dtypeNames) {
        if (index === "bool") continue;
        const x = tensor([4, 0, 2], { dtype: "i32" }).to(index);
        const got = both(() => {
          const made = x.map(look, { with: given(table) });
          return [made.dtype, made.to("i32").toArray()];
        });
        expect(got).toEqual([dtype, [0, 1, 1]]);
      }
    }
  });

  test("every layout: steps, reversed, transposed, broadcast, one element, several axes", () => {
    const base = arange(24, { dtype: "f64" }).reshape([2, 3, 4]);
    const layouts: Tensor[] = [
      base,
      base.T,
      base.slice(":", "::-1", "::2"),
      base.slice("1:", ":", ":"),
      base.slice("::-1", "1", ":").reshape([2, 4, 1]),
      tensor(5, { dtype: "f64" }).broadcastTo([2, 2, 3]),
    ];
    for (const t of layouts) {
      const [a, b, c] = t.shape;
      const at = (shape: number[]) =>
        arange(
          shape.reduce((p, n) => p * n, 1),
          { dtype: "i32" },
        ).reshape(shape);
      const [i, j, k] = [at([a, 1, 1]), at([1, b, 1]), at([1, 1, c])];
      const read = kernel(
        (i: number, j: number, k: number, { table }: With) => table.get(i, j, k),
        given(t),
      ) as unknown as (...t: Tensor[]) => Tensor;
      expect(both(() => read(i, j, k).toArray())).toEqual(t.toArray());
    }
    const single = kernel((x: number, { table }: With) => x * table.get(), given(tensor(3)));
    expect(single(tensor([2])).toArray()).toEqual([6]);
  });

  test("inside loops: binary search, with the table's own size", () => {
    const table = tensor([10, 20, 30, 40, 50]);
    const place = kernel((x: number, { table }: With) => {
      let low = 0;
      let high = table.shape[0];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (table.get(middle) < x) low = middle + 1;
        else high = middle;
      }
      return low;
    }, given(table));
    const x = tensor([5, 10, 15, 25, 50, 60]);
    expect(both(() => place(x).toArray())).toEqual([0, 0, 1, 2, 4, 5]);
    expect(place(25)).toBe(2);
    expect(place.captures).toEqual({ table });
  });

  test("in zip, reduce, scan, mapReduce, several results, and kernels inside kernels", () => {
    const table = tensor([1, 2, 4, 8], { dtype: "i32" });
    const x = tensor([3, 0, 1], { dtype: "i32" });
    expect(
      zip([x, x], (i, j, { table }: With) => table.get(i) + j, { with: given(table) }).toArray(),
    ).toEqual([11, 1, 3]);
    const fold = (acc: number, i: number, { table }: With) => acc + table.get(i);
    expect(x.reduce(fold, { with: given(table), init: 100 }).item()).toBe(111);
    expect(x.scan(fold, { with: given(table), init: 0 }).toArray()).toEqual([8, 9, 11]);
    expect(mapReduce([x], look, { with: given(table) }).item()).toBe(11);
    const inner = kernel(look, given(table));
    const two = kernel(
      (i: number, { inner }: { inner: (i: number) => number }) => [i, i > 2 ? -1 : inner(i)],
      { inner: inner as unknown as (i: number) => number },
    );
    // Beyond the end it is not read.
    expect(two(tensor([1, 7], { dtype: "i32" })).map((t: Tensor) => t.toArray())).toEqual([
      [1, 7],
      [2, -1],
    ]);
  });
});

describe("an index that is none", () => {
  const table = tensor([10, 20, 30]);

  test("is an error, the same compiled and interpreted, for the first element in C order", () => {
    for (const bad of [3, -1, 1e300, Number.POSITIVE_INFINITY, 2 ** 32, -(2 ** 31), 0.5, Number.NaN, -0.1]) {
      const x = tensor([0, bad, 77, 1], { dtype: "f64" });
      expect(both(() => x.map(look, { with: given(table) }))).toContain(`${bad}`);
    }
    for (const bad of [3n, -1n, 2n ** 32n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      const x = tensor([0n, bad, 1n], { dtype: "i64" });
      expect(both(() => x.map(look, { with: given(table) }))).toContain(`${bad}`);
    }
    expect(both(() => tensor([4294967295], { dtype: "u32" }).map(look, { with: given(table) }))).toContain(
      "4294967295",
    );
    expect(refused(() => tensor([1, 3]).map(look, { with: given(table) }))).toMatchInlineSnapshot(`
      "(index) map: table.get: the index 3 is outside of axis 0, which has size 3.
        Indices count from 0; test or clamp them first: Math.min(Math.max(i, 0), n - 1)."
    `);
    expect(refused(() => tensor([1.5]).map(look, { with: given(table) }))).toMatchInlineSnapshot(`
      "(index) map: table.get: the index 1.5 for axis 0 is no whole number.
        Make it one: Math.floor(i), Math.round(i) or i | 0."
    `);
    expect(refused(() => kernel(look, given(table))(4))).toMatchInlineSnapshot(`
      "(index) kernel: table.get: the index 4 is outside of axis 0, which has size 3.
        Indices count from 0; test or clamp them first: Math.min(Math.max(i, 0), n - 1)."
    `);
    const turned = tensor(
      [
        [0, 5],
        [-2, 0],
      ],
      { dtype: "i32" },
    );
    expect(both(() => turned.T.map(look, { with: given(table) }))).toContain("-2");
  });

  test("is one even where nobody uses the value, and none where it is not reached", () => {
    const unused = kernel((x: number, { table }: With) => {
      table.get(x);
      return x * 2;
    }, given(table));
    expect(both(() => unused(tensor([1, 9], { dtype: "i32" })))).toContain("9");
    const guarded = kernel(
      (x: number, { table }: With) => (x >= 0 && x < 3 ? table.get(x) : -1),
      given(table),
    );
    expect(both(() => guarded(tensor([-5, 0, 2, 3])).toArray())).toEqual([-1, 10, 30, -1]);
    const early = kernel((x: number, { table }: With) => {
      if (!(x < 3)) return 0;
      return table.get(x);
    }, given(table));
    expect(both(() => early(tensor([1, 1e9])).toArray())).toEqual([20, 0]);
  });

  test("touches nothing outside, changes no output, and the pool lives", () => {
    const all = full([64], 77, { dtype: "f64" });
    const inside = all.slice("16:19");
    inside.map((x) => x + 1, { out: inside });
    const before = bytesOf(all);
    const x = arange(200_000, { dtype: "i32" });
    const out = full([200_000], 5, { dtype: "f64" });
    for (const shift of [-40, 3, 2 ** 20, -(2 ** 30)]) {
      const far = x.map((v, { shift }: { shift: number }) => v * 0 + shift, { with: { shift } });
      expect(both(() => far.map(look, { with: given(inside), out }))).toContain(`${shift}`);
    }
    expect(out.min().item()).toBe(5);
    expect(out.max().item()).toBe(5);
    const after = bytesOf(all);
    expect(after).toEqual(before);
    expect(engine().pool.status().why).toBeNull();
    expect(
      x
        .map((v) => v % 3)
        .map(look, { with: given(inside) })
        .max()
        .item(),
    ).toBe(78);
  });
});

describe("tables and memory", () => {
  test("a table may be the output itself, or overlap it", () => {
    const t = tensor([3, 2, 1, 0], { dtype: "i32" });
    const reverse = kernel(look, given(t));
    reverse.into(t, tensor([3, 2, 1, 0], { dtype: "i32" }));
    expect(t.toArray()).toEqual([0, 1, 2, 3]);
  });

  test("one that was disposed is an error, before and between calls", () => {
    const t = tensor([1, 2]);
    const read = kernel(look, given(t));
    expect(read(tensor([1])).toArray()).toEqual([2]);
    t.dispose();
    expect(refused(() => read(tensor([1])))).toMatchInlineSnapshot(`
      "(disposed) kernel: this tensor has been disposed.
        Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it."
    `);
    expect(() => kernel(look, given(t))).toThrow(/disposed/);
    expect(() => read(1)).toThrow(/disposed/);
  });

  test("new tensors of one dtype and rank compile nothing new", () => {
    const run = (n: number) =>
      tensor([0], { dtype: "i32" }).map(look, { with: given(full([n], n, { dtype: "f32" })) });
    run(3);
    const { compiled } = engine().kernels;
    expect(run(9).toArray()).toEqual([9]);
    expect(engine().kernels.compiled).toBe(compiled);
  });

  test("a captured number cannot pass for a table's address", () => {
    const t = tensor([5, 6]);
    const captures = { table: t, "table.0": 1, "table.1": 1e9, "table.2": 4 };
    const read = kernel(look as never, captures) as unknown as (t: Tensor) => Tensor;
    expect(read(tensor([1])).toArray()).toEqual([6]);
    expect(() => read(tensor([2]))).toThrow(/outside of axis 0/);
  });
});

test("what is no table's is refused, with its place", () => {
  const t = zeros([2, 2]);
  const of = (fn: unknown) => refused(() => kernel(fn as never, { table: t }));
  expect(of((x: number, { table }: With) => table.get(x))).toMatchInlineSnapshot(`
    "(kernel) kernel: "table" has 2 axes, got 1 index.
      (x, { table }) => table.get(x)
                        ^^^^^^^^^^^^
      Give an index for each axis."
  `);
  expect(of((x: number, { table }: With) => table.shape[2] + x)).toMatchInlineSnapshot(`
    "(kernel) kernel: cannot compile this; "table" has the axes 0 to 1.
      (x, { table }) => table.shape[2] + x
                        ^^^^^^^^^^^^^^
      Write the axis as a literal: table.shape[0]."
  `);
  expect(of((x: number, { table }: { table: Tensor }) => x + table.strides[0])).toMatchInlineSnapshot(`
    "(kernel) kernel: cannot compile this; a table has get, shape, size and rank.
      (x, { table }) => x + table.strides[0]
                            ^^^^^^^^^^^^^
      Read an element with table.get(i)."
  `);
  expect(
    refused(() => t.map(((x: number, { table }: With) => [table.get(x, 0)]) as never, { with: given(t) })),
  ).toMatchInlineSnapshot(`
    "(kernel) map: cannot compile an array; a kernel computes with numbers and booleans.
      (x, { table }) => [table.get(x, 0)]
                        ^^^^^^^^^^^^^^^^^"
  `);
});
