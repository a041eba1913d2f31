import { describe, expect, it } from "vitest";
import {
  arange,
  type DType,
  dtypeNames,
  explain,
  eye,
  full,
  linspace,
  scope,
  type Tensor,
  TensorError,
  tensor,
  zeros,
} from "../../src/index.ts";
import * as c from "../../src/library/creation.ts";
import { stridedOf } from "../../src/tensor.ts";
import { testReference } from "./reference.ts";

/** The functions of make_creation.py, by name. */
const functions: Record<string, (...index: number[]) => number | boolean> = {
  sum: (i, j = 0, k = 0) => i + j + k,
  table: (i, j) => 10 * i + j,
  equal: (i, j) => i === j,
  first: (i) => i * 2,
};
/** 64-bit dtypes take bigints where a value is written. */
const big = (dtype: DType) => dtype === "i64" || dtype === "u64";

describe("creation", () => {
  testReference("creation", {
    tril: ([t], p) => c.tril(t, p),
    triu: ([t], p) => c.triu(t, p),
    diag: ([t], p) => c.diag(t, p),
    zerosLike: ([t], p) => c.zerosLike(t, p),
    onesLike: ([t], p) => c.onesLike(t, p),
    fullLike: ([t], { value }) => c.fullLike(t, big(t.dtype) ? BigInt(value) : Number(value)),
    meshgrid: (all, p) => c.meshgrid(all, p) as readonly Tensor[],
    fromFunction: (_, { name, shape, ...rest }) => c.fromFunction(functions[name], shape, rest) as Tensor,
    oneHot: ([i], { depth, ...rest }) => c.oneHot(i, depth, rest) as Tensor,
    arange: (_, { args, dtype }) => arange(...args, { dtype }) as Tensor,
    linspace: (_, { args: [start, stop, count], ...rest }) => linspace(start, stop, count, rest) as Tensor,
    eye: (_, { n, ...rest }) => eye(n, rest) as Tensor,
    full: (_, { shape, value, dtype }) => full(shape, big(dtype) ? BigInt(value) : value, { dtype }),
  });
});

const message = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    return (error as Error).message;
  }
  throw new Error("no error");
};

describe("many elements", () => {
  const N = 70_001;

  it.each(dtypeNames)("arange and linspace of %s are those of few elements, continued", (dtype) => {
    scope(() => {
      for (const [start, step] of [
        [0, 1],
        [-3, 0.25],
        [100, -1],
        [0.1, 0.1],
        [1e9, 12345],
      ]) {
        if (dtype === "u64" && (start < 0 || step < 0)) continue;
        const many = arange(start, start + N * step - step / 2, step, { dtype });
        expect(many.size).toBe(N);
        const cells = many.toArray() as unknown as (number | bigint | boolean)[];
        for (const i of [0, 1, 1023, 1024, 4095, 4096, 65_535, 65_536, N - 2, N - 1]) {
          const [one] = full(
            [1],
            dtype.endsWith("64") && dtype !== "f64" ? BigInt(Math.trunc(start + i * step)) : start + i * step,
            { dtype },
          ).toArray() as unknown as never[];
          expect(cells[i], `${start} + ${i} · ${step}`).toBe(one);
        }
      }
      const line = linspace(1, 3, N, { dtype });
      expect(line.get(N - 1)).toBe(dtype === "bool" ? true : 3);
      expect(linspace(0, 1, N, { dtype: "f64" }).get(35_000)).toBe(35_000 * (1 / (N - 1)));
    });
  });

  it("64-bit integers wrap and refuse as few of them do", () => {
    expect(arange(-5, 5000, 1, { dtype: "u64" }).slice(0).toArray()).toBe(2n ** 64n - 5n);
    expect(
      arange(0, 2 ** 60, 2 ** 47, { dtype: "i64" })
        .slice(-1)
        .toArray(),
    ).toBe(2n ** 60n - 2n ** 47n);
    expect(message(() => arange(0.5, 2 ** 60, 2 ** 47, { dtype: "i64" }))).toContain("arange");
  });

  it("full is full in every dtype", () => {
    for (const dtype of dtypeNames) {
      const t = full([N], big(dtype) ? 7n : 7, { dtype });
      const cells = t.toTypedArray();
      expect(cells.every((x) => x === cells[0])).toBe(true);
      expect(t.get(N - 1)).toBe(dtype === "bool" ? true : 7);
      t.dispose();
    }
    expect(full([N], Number.NaN).isnan().all().item()).toBe(true);
  });

  it("a typed array is converted as the casts convert", () => {
    const source = Float64Array.from({ length: 5000 }, (_, i) => (i - 2500) * 1.37);
    for (const dtype of dtypeNames) {
      const got = tensor(source, { dtype });
      expect(got.toArray()).toEqual(tensor(source).to(dtype).toArray());
    }
    expect(tensor(Float64Array.of(NaN, -1, 300, 2.9), { dtype: "u8" }).toArray()).toEqual([0, 0, 255, 2]);
  });
});

describe("models and rules", () => {
  it("a new tensor lies in memory as its model does", () => {
    const t = zeros([2, 3, 4]).permute(2, 0, 1);
    expect(c.zerosLike(t).strides).toEqual(t.strides);
    expect(c.onesLike(t, { dtype: "u8" }).strides).toEqual(t.strides);
    expect(c.emptyLike(t, { shape: [3, 2] }).shape).toEqual([3, 2]);
  });

  it("meshgrid and diag give views where strides can say it", () => {
    const [x, y] = [arange(3), arange(2)];
    const grid = c.meshgrid([x, y]);
    expect(grid.map((g) => stridedOf(g).storage)).toEqual([stridedOf(x).storage, stridedOf(y).storage]);
    expect(grid.every((g) => g.readOnly)).toBe(true);
    expect(c.meshgrid([x, y], { sparse: true }).map((g) => g.shape)).toEqual([
      [1, 3],
      [2, 1],
    ]);
    const square = zeros([3, 3]);
    c.diag(square).assign([1, 2, 3]);
    expect(square.get(2, 2)).toBe(3);
  });

  it("asarray takes a tensor as it is, astype copies unless told not to", () => {
    const t = arange(3);
    expect(stridedOf(c.asarray(t)).storage).toBe(stridedOf(t).storage);
    expect(c.asarray([1, 2], { dtype: "i8" }).dtype).toBe("i8");
    expect(c.asarray(t, { dtype: "f64" }).dtype).toBe("f64");
    expect(stridedOf(c.astype(t, "f32")).storage).not.toBe(stridedOf(t).storage);
    expect(stridedOf(c.astype(t, "f32", { copy: false })).storage).toBe(stridedOf(t).storage);
    expect(c.astype(t, "i64").toArray()).toEqual([0n, 1n, 2n]);
  });

  it("fromFunction is compiled where it can be, and calls where it cannot", () => {
    const report = explain(() => c.fromFunction((i, j) => Math.sin(i) * j, [100, 100]));
    expect(report.fallbacks).toEqual([]);
    const table = [5, 6, 7];
    expect(c.fromFunction((i) => table[i], 3).toArray()).toEqual([5, 6, 7]);
    expect(c.fromFunction((i) => table[i], 3).dtype).toBe("f32");
    expect(c.fromFunction(() => 4, []).toArray()).toBe(4);
    expect(c.fromFunction(() => 4, [2]).toArray()).toEqual([4, 4]);
    expect(c.fromFunction((i) => i > 1, 3).dtype).toBe("bool");
  });

  it("bf16 triangles and one-hot", () => {
    expect(c.tril(arange(4).reshape(2, 2).to("bf16")).toArray()).toEqual([
      [0, 0],
      [2, 3],
    ]);
    expect(c.oneHot([2, 0], 3, { dtype: "bf16" }).toArray()).toEqual([
      [0, 0, 1],
      [1, 0, 0],
    ]);
    expect(c.oneHot([1], 2, { dtype: "bool" }).toArray()).toEqual([[false, true]]);
    expect(c.oneHot([1], 2, { on: 5n, dtype: "i64" }).toArray()).toEqual([[0n, 5n]]);
  });

  it("a triangle in every layout is dense and leaves NaN where it belongs", () => {
    const t = full([300, 300], Number.NaN);
    const low = c.tril(t, { k: -1 });
    expect(low.isnan().sum({ dtype: "i64" }).item()).toBe((300 * 299) / 2);
    expect(c.triu(t.T).isnan().sum({ dtype: "i64" }).item()).toBe((300 * 301) / 2);
  });

  it("whatever is passed, the answer is a result or a TensorError", () => {
    const odd: unknown[] = [
      undefined,
      null,
      Number.NaN,
      1e300,
      -1,
      0.5,
      "x",
      {},
      [],
      [[1], [2, 3]],
      Symbol("s"),
      () => 1,
      5n,
      true,
    ];
    const t = arange(6).reshape(2, 3);
    const calls: ((x: never) => unknown)[] = [
      (x) => c.fullLike(t, x),
      (x) => c.fullLike(x, 1),
      (x) => c.zerosLike(t, x),
      (x) => c.zerosLike(t, { shape: x }),
      (x) => c.zerosLike(t, { dtype: x }),
      (x) => c.asarray(x),
      (x) => c.astype(t, x),
      (x) => c.tril(x),
      (x) => c.tril(t, { k: x }),
      (x) => c.triu(t, x),
      (x) => c.diag(x),
      (x) => c.diag(arange(2), { k: x }),
      (x) => c.meshgrid(x),
      (x) => c.meshgrid([x]),
      (x) => c.meshgrid([arange(2)], { indexing: x }),
      (x) => c.fromFunction(x, [2]),
      (x) => c.fromFunction(() => 1, x),
      (x) => c.fromFunction(() => x, [2]),
      (x) => c.oneHot(x, 3),
      (x) => c.oneHot([1], x),
      (x) => c.oneHot([1], 3, { axis: x }),
      (x) => c.oneHot([1], 3, { on: x }),
      (x) => c.oneHot([1], 3, { dtype: x }),
      (x) => c.identity(x),
    ];
    for (const [k, call] of calls.entries()) {
      for (const x of odd) {
        try {
          scope(() => call(x as never));
        } catch (error) {
          expect(error, `call ${k} with ${String(x)}`).toBeInstanceOf(TensorError);
        }
      }
    }
  });
});
