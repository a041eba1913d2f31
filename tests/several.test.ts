/** Kernels with several results: one loop, the same bits as one kernel for each. */
import { afterEach, describe, expect, it } from "vitest";
import type { DType } from "../src/dtype.ts";
import { engine } from "../src/engine.ts";
import {
  arange,
  divmod,
  explain,
  floorDivide,
  frexp,
  modf,
  remainder,
  type Tensor,
  tensor,
  kernel as typed,
  zeros,
} from "../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: numbers, and then what is captured
type Fn = (...values: any[]) => unknown;
interface Several {
  (...tensors: Tensor[]): Tensor[];
  into(outs: readonly Tensor[], ...tensors: Tensor[]): readonly Tensor[];
  as(dtype: DType): Several;
  reduce(how: string): (...tensors: Tensor[]) => Tensor;
}
const kernel = typed as unknown as (fn: Fn, captures?: object, options?: object) => Several;
const single = typed as unknown as (fn: Fn, captures?: object) => (...t: Tensor[]) => Tensor;

afterEach(() => {
  engine().kernels.simd = true;
  engine().executor = engine().compiled;
});

const bits = (t: Tensor) => [
  t.dtype,
  t.shape,
  [...(t.toTypedArray() as Iterable<number | bigint>)].map(String),
];

/** Bodies of the results; x, y and the captured k. */
const bodies: readonly (readonly [Fn, readonly Fn[]])[] = [
  [(x, y) => [x + y, x - y], [(x, y) => x + y, (x, y) => x - y]],
  [
    (x, y) => [x * y, x > y, Math.max(x, y), 1],
    [(x, y) => x * y, (x, y) => x > y, (x, y) => Math.max(x, y), () => 1],
  ],
  [
    (x, y) => {
      if (x > y) return [x, y];
      const s = x * x;
      return [s, s + y];
    },
    [(x, y) => (x > y ? x : x * x), (x, y) => (x > y ? y : x * x + y)],
  ],
  [(x) => [x], [(x) => x]],
];

const inputs = (dtype: DType) => {
  const base = arange(0, 96, 1, { dtype: "f64" }).map((v) => ((v * 37) % 11) - 4);
  const t = base.to(dtype).reshape(8, 12);
  return [
    [t, t.flip(0)],
    [t.slice(":", "::2"), t.slice("::-1", "1::2")],
    [t.T, t.T.slice(":", 0).expandDims(1)],
    [t.slice(0), t],
    [t.slice("2:2"), t.slice("2:2")],
    [t.slice(1, 1), t.slice(2, 2)],
  ] as const;
};

describe("a kernel that returns a list", () => {
  it.each(["f32", "f64", "f16", "bf16", "i32", "u8", "i64", "bool"] as const)("on %s", (dtype) => {
    for (const [both, each] of bodies) {
      const one = kernel(both);
      for (const [x, y] of inputs(dtype)) {
        const args = both.length === 1 ? [x] : [x, y];
        const want = each.map((fn) => (fn.length === 0 ? null : bits(single(fn)(...args))));
        const got = one(...args).map(bits);
        got.forEach((g, k) => {
          if (want[k] !== null) expect(g).toEqual(want[k]);
        });
        engine().kernels.simd = false;
        expect(one(...args).map(bits)).toEqual(got);
        engine().kernels.simd = true;
        engine().executor = engine().interpreter;
        expect(one(...args).map(bits)).toEqual(got);
        engine().executor = engine().compiled;
      }
    }
  });

  it("is one loop over its operands, in vectors", () => {
    const f = kernel((x, y) => [x + y, x - y]);
    const [a, b] = [arange(100), arange(100)];
    const { kernels, steps } = explain(() => f(a, b));
    expect(steps).toHaveLength(1);
    expect(kernels[0].vector?.lanes).toBe(4);
    expect(kernels[0].operands.map((o) => o.name)).toEqual(["out", "out1", "a", "b"]);
    expect(kernels[0].bytesWritten).toBe(800);
    // Rows, vectors four and one at a time, and what is left.
    expect(kernels[0].wat!.match(/\bloop\b/g)).toHaveLength(4);
  });

  it("shares large operands among threads, with the same bits", () => {
    const f = kernel((x, { k }) => [Math.sin(x) * k, Math.exp(-x)], { k: 2 });
    const t = arange(300_000);
    engine().pool.waitUntilReady(20_000);
    const shared = f(t).map(bits);
    expect(engine().kernels.alone(() => f(t).map(bits))).toEqual(shared);
  });

  it("takes other captured values from call to call", () => {
    for (const k of [2, 3, 0.5]) {
      const f = kernel((x, { k }) => [x * k, x + k], { k });
      expect(f(tensor([1, 2])).map((t) => t.toArray())).toEqual([
        [k, 2 * k],
        [1 + k, 2 + k],
      ]);
    }
  });

  it("gives a list of numbers on numbers", () => {
    expect((kernel((x, y) => [x + y, x - y]) as never as Fn)(5, 3)).toEqual([8, 2]);
    expect((kernel((x) => [x]) as never as Fn)(5)).toEqual([5]);
  });

  it("writes into outputs of any layout and dtype, also on its operands", () => {
    const f = kernel((x, y) => [x + y, x - y]);
    const [a, b] = [arange(6).reshape(2, 3), arange(10, 16).reshape(2, 3)];
    const want = f(a, b).map((t) => t.toArray());
    const outs = [zeros([3, 2], { dtype: "f64" }).T, zeros([2, 6], { dtype: "i32" }).slice(":", "::2")];
    expect(f.into(outs, a, b)).toBe(outs);
    expect(outs.map((t) => t.toArray())).toEqual(want);
    f.into([b, a], a, b);
    expect([b.toArray(), a.toArray()]).toEqual(want);
    const c = arange(8);
    const [s, d] = [c.slice(":6").add(c.slice("2:")), c.slice(":6").sub(c.slice("2:"))];
    const other = zeros([6]);
    f.into([c.slice("1:7"), other], c.slice(":6"), c.slice("2:"));
    expect([c.slice("1:7").toArray(), other.toArray()]).toEqual([s.toArray(), d.toArray()]);
  });

  it("refuses what it cannot be", () => {
    const f = kernel((x, y) => [x + y, x - y]);
    const t = arange(4);
    const messages = [
      () => f.as("f64"),
      () => f.reduce("sum")(t, t),
      () => t.map(f as never),
      () => kernel((x, { f }) => f(x, x), { f })(t),
      () => f.into([t], t, t),
      () => f.into([t, t], t, t),
      () => f.into([t.slice(":3"), t.slice("1:")], t.slice(":3"), t.slice(":3")),
      () => f.into([zeros([4]), zeros([3])], t, t),
      () => f.into(t as never, t, t),
      () => kernel((x) => [x, ...[x]])(t),
      () => kernel((x) => (x > 0 ? [x, x] : x))(t),
      () => kernel((_x) => [])(t),
    ].map((fn) => {
      try {
        fn();
      } catch (error) {
        return (error as Error).message;
      }
      return "no error";
    });
    expect(messages).toMatchInlineSnapshot(`
      [
        "as: the kernel has 2 results.
        Call it on tensors: it gives one tensor for each, to convert or to fold.",
        "reduce: the kernel has 2 results.
        Call it on tensors: it gives one tensor for each, to convert or to fold.",
        "map: the kernel has 2 results.
        Call it on tensors: it gives one tensor for each, to convert or to fold.",
        "kernel: the kernel "f" has several results; it cannot be called inside another function.
        (x, { f }) => f(x, x)
                      ^",
        "kernel: the function has 2 results, got 1 output.
        Give one output for each result.",
        "kernel: outputs 0 and 1 share memory.
        Each result needs a place of its own: give tensors, or views, that do not overlap.",
        "kernel: outputs 0 and 1 share memory.
        Each result needs a place of its own: give tensors, or views, that do not overlap.",
        "kernel: the output is [3], the operands make [4].
        An existing output must have exactly the result's shape.",
        "kernel: expected an array of tensors, got a Tensor.
        Give a list of outputs, one for each result.",
        "kernel: cannot compile this; a kernel computes with numbers and booleans.
        (x) => [x, ...[x]]
                   ^^^^^^",
        "kernel: cannot compute with this; it is not a number on every path.
        (x) => x > 0 ? [x, x] : x
        ^^^^^^^^^^^^^^^^^^^^^^^^^",
        "kernel: cannot compile an array; a kernel computes with numbers and booleans.
        (_x) => []
                ^^",
      ]
    `);
  });

  it("leaves nothing behind when one of its outputs cannot be made", () => {
    const before = engine().heap.stats().blocks;
    expect(() => kernel((x) => [x, x])(tensor(1).broadcastTo(30_000, 30_000))).toThrow(/out of memory/);
    expect(engine().heap.stats().blocks).toBeLessThanOrEqual(before + 1);
  });
});

describe("numbers taken apart", () => {
  it("divmod is floorDivide and remainder", () => {
    for (const dtype of ["f32", "f64", "i32", "u8", "i64", "f16"] as const) {
      const a = arange(-12, 13, 1, { dtype: "f64" }).to(dtype);
      for (const b of [tensor(3).to(dtype), 5, a.flip()] as const) {
        const [q, r] = divmod(a, b);
        expect(bits(q)).toEqual(bits(floorDivide(a, b)));
        expect(bits(r)).toEqual(bits(remainder(a, b)));
      }
    }
    expect(divmod(7, tensor([2, -2])).map((t) => t.toArray())).toEqual([
      [3, -4],
      [1, -1],
    ]);
  });

  it("modf keeps signs", () => {
    const x = [2.5, -2.5, 0, -0, 1, -1, Infinity, -Infinity, NaN, 1e300, -0.25];
    for (const dtype of ["f64", "f32"] as const) {
      const [rest, whole] = modf(tensor(x, { dtype }));
      expect(rest.toArray()).toEqual([0.5, -0.5, 0, -0, 0, -0, 0, -0, NaN, 0, -0.25]);
      expect(whole.toArray()).toEqual([
        ...[2, -2, 0, -0, 1, -1, Infinity, -Infinity, NaN],
        dtype === "f64" ? 1e300 : Infinity,
        -0,
      ]);
    }
    expect(modf(tensor([3, -4], { dtype: "i32" })).map((t) => [t.dtype, t.toArray()])).toEqual([
      ["f64", [0, -0]],
      ["f64", [3, -4]],
    ]);
  });

  it("results that are all constants are each stored: the list itself is no constant", () => {
    const three = kernel((_: number) => [0, 5, 7]);
    for (const x of [tensor([1, 2, 3, 4, 5, 6]), tensor(1)])
      expect(three(x).map((t) => t.max().item())).toEqual([0, 5, 7]);
  });

  it("frexp gives a mantissa and a power of two, exactly, for every exponent", () => {
    for (const [dtype, low, high] of [
      ["f64", -1074, 1023],
      ["f32", -149, 127],
      ["f16", -24, 15],
    ] as const) {
      const powers = Array.from({ length: high - low + 1 }, (_, i) => 2 ** (low + i));
      const one = { f64: 2 ** -52, f32: 2 ** -23, f16: 2 ** -10 }[dtype];
      const all = powers.flatMap((p) => [p, -p * 1.5, p * (1 + one), p * (2 - one)]);
      const t = tensor(all, { dtype });
      const [m, e] = frexp(t);
      const values = t.toArray() as number[];
      const exponents = e.toArray() as number[];
      (m.toArray() as number[]).forEach((mantissa, i) => {
        const size = Math.abs(mantissa);
        if (Number.isFinite(values[i]) && values[i] !== 0) expect(size >= 0.5 && size < 1).toBe(true);
        const half = Math.trunc(exponents[i] / 2);
        expect(mantissa * 2 ** half * 2 ** (exponents[i] - half)).toBe(values[i]);
      });
      expect(e.dtype).toBe("i32");
    }
    const [m, e] = frexp(tensor([0, -0, Infinity, -Infinity, NaN, 8]));
    expect([m.toArray(), e.toArray()]).toEqual([
      [0, -0, Infinity, -Infinity, NaN, 0.5],
      [0, 0, 0, 0, 0, 4],
    ]);
  });
});
