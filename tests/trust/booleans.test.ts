/** Booleans in functions: what a fold starts from, what && and || choose between, and the dtype that comes of it. */
import { afterEach, describe, expect, it } from "vitest";
import type { DType } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { configure, kernel, mapReduce, type Tensor, tensor, zip } from "../../src/index.ts";

configure({ warnings: false });

// biome-ignore lint/suspicious/noExplicitAny: functions of any kind
type Fn = any;

afterEach(() => {
  engine().executor = engine().compiled;
});

/** An outer variable: a function that reads it is called. */
const q = Number("1");

/** A function that is compiled, the same as one that is called, and whether booleans stay booleans in it. */
const folds: Record<string, readonly [compiled: Fn, called: Fn, stays: boolean]> = {
  "a || x > 1": [(a: Fn, x: Fn) => a || x > 1, (a: Fn, x: Fn) => a || x > q, true],
  "x > 1 || a": [(a: Fn, x: Fn) => x > 1 || a, (a: Fn, x: Fn) => x > q || a, true],
  "a && x > 1": [(a: Fn, x: Fn) => a && x > 1, (a: Fn, x: Fn) => a && x > q, true],
  "x > 1 && a": [(a: Fn, x: Fn) => x > 1 && a, (a: Fn, x: Fn) => x > q && a, true],
  "a || x > 3 || x < 0": [
    (a: Fn, x: Fn) => a || x > 3 || x < 0,
    (a: Fn, x: Fn) => a || x > 3 * q || x < 0,
    true,
  ],
  "a || !(x > 1)": [(a: Fn, x: Fn) => a || !(x > 1), (a: Fn, x: Fn) => a || !(x > q), true],
  "a ? true : x > 1": [(a: Fn, x: Fn) => (a ? true : x > 1), (a: Fn, x: Fn) => (a ? true : x > q), true],
  "x > 1 ? true : a": [(a: Fn, x: Fn) => (x > 1 ? true : a), (a: Fn, x: Fn) => (x > q ? true : a), true],
  if: [
    (a: Fn, x: Fn) => {
      let seen = a;
      if (x > 1) seen = !a;
      return seen;
    },
    (a: Fn, x: Fn) => {
      let seen = a;
      if (x > q) seen = !a;
      return seen;
    },
    true,
  ],
  "a + (x > 1)": [(a: Fn, x: Fn) => a + (x > 1), (a: Fn, x: Fn) => a + (x > q), false],
  "a + x": [(a: Fn, x: Fn) => a + x * 1, (a: Fn, x: Fn) => a + x * q, false],
  "a | (x > 1)": [(a: Fn, x: Fn) => a | ((x > 1) as Fn), (a: Fn, x: Fn) => a | ((x > q) as Fn), false],
  "Math.max(a, x)": [(a: Fn, x: Fn) => Math.max(a, x), (a: Fn, x: Fn) => Math.max(a, x * q), false],
  "x > 1 ? a : 0": [(a: Fn, x: Fn) => (x > 1 ? a : 0), (a: Fn, x: Fn) => (x > q ? a : 0), false],
};

const data = [0.5, 0.25, 3, -2, 0.75, 2, -0.5, 0];
const resultOf = (t: Tensor) => [t.dtype, t.shape, t.toArray()];

/** Every way to fold that takes a function. */
const ways: Record<string, (t: Tensor, fn: Fn, options: object) => Tensor> = {
  reduce: (t, fn, options) => (t.reduce as Fn).call(t, fn, options),
  "reduce of an axis": (t, fn, options) => {
    const rows = t.reshape(2, 4);
    return (rows.reduce as Fn).call(rows, fn, { ...options, axis: 1, keepdims: true });
  },
  "associative reduce": (t, fn, options) => (t.reduce as Fn).call(t, fn, { ...options, associative: true }),
  scan: (t, fn, options) => (t.scan as Fn).call(t, fn, options),
  mapReduce: (t, fn, options) => (mapReduce as Fn)([t], (x: number) => x, { ...options, reduce: fn }),
  "kernel.reduce": (t, fn, options) => (kernel((x: number) => x).reduce as Fn)(fn, options)(t),
};

describe("a fold that starts from a boolean", () => {
  for (const [name, [compiled, called, stays]] of Object.entries(folds)) {
    it.each(Object.keys(ways))(`${name}: %s, called, compiled, interpreted, replayed`, (way) => {
      for (const dtype of ["f64", "f32", "f16"] as const) {
        const t = tensor(data, { dtype });
        for (const init of [false, true]) {
          const want = resultOf(ways[way](t, called, { init }));
          expect(want[0]).toBe(stays ? "bool" : dtype);
          for (const executor of ["compiled", "compiled", "interpreter"] as const) {
            engine().executor = engine()[executor];
            expect([init, ...resultOf(ways[way](t, compiled, { init }))]).toEqual([init, ...want]);
          }
          engine().executor = engine().compiled;
        }
      }
    });

    it(`${name}: in floats, of bytes`, () => {
      const t = tensor(new Uint8Array([0, 1, 2, 7, 1]));
      for (const way of ["reduce", "scan"]) {
        for (const init of [false, true]) {
          const options = { init, compute: "f64" };
          const want = resultOf(ways[way](t, called, options));
          expect(want[0]).toBe(stays ? "bool" : "f64");
          expect(resultOf(ways[way](t, compiled, options))).toEqual(want);
        }
      }
    });
  }

  it("has the dtype that is asked for", () => {
    const t = tensor(data);
    for (const [compiled, called] of Object.values(folds)) {
      const want = resultOf(ways.scan(t, called, { init: true, dtype: "f32" }));
      expect(resultOf(ways.scan(t, compiled, { init: true, dtype: "f32" }))).toEqual(want);
      expect(want[0]).toBe("f32");
    }
  });

  it("of integers and booleans, where nothing is called, keeps to what JavaScript gives", () => {
    const values = [0, 1, 2, 7, 1];
    for (const dtype of ["u8", "i32", "i64", "bool"] as DType[]) {
      const t = tensor(values).to(dtype);
      const numbers = t.to("f64").toArray() as number[];
      for (const [name, [compiled, , stays]] of Object.entries(folds)) {
        for (const init of [false, true]) {
          const got = ways.reduce(t, compiled, { init });
          const want = numbers.reduce((a: Fn, x) => compiled(a, x), init);
          expect([name, dtype, Number(got.item())]).toEqual([name, dtype, Number(want)]);
          if (stays) expect([name, dtype, got.dtype]).toEqual([name, dtype, "bool"]);
        }
      }
    }
  });

  it("counts what it is called on once, unless it begins again", () => {
    const calls: unknown[] = [];
    const note = (a: Fn, x: number) => {
      calls.push(a);
      return x > q ? a : 0;
    };
    expect(resultOf(ways.scan(tensor([2, 3, 0, 2]), note, { init: true }))).toEqual([
      "f32",
      [4],
      [1, 1, 0, 0],
    ]);
    expect(calls).toEqual([true, true, true, 1, 1, 1, 0]);
  });
});

describe("choices between booleans", () => {
  const p = tensor([true, true, false, false]);
  const r = tensor([true, false, true, false]);

  it.each(["compiled", "interpreter"] as const)("are bool: %s", (executor) => {
    engine().executor = engine()[executor];
    const pairs: readonly [Fn, readonly boolean[]][] = [
      [(a: Fn, b: Fn) => a && !b, [false, true, false, false]],
      [(a: Fn, b: Fn) => a || !b, [true, true, false, true]],
      [(a: Fn, b: Fn) => !a || b, [true, false, true, true]],
      [(a: Fn, b: Fn) => (a ? b : !b), [true, false, false, true]],
      [(a: Fn, b: Fn) => (b ? a : false), [true, false, false, false]],
      [kernel((a: Fn, b: Fn) => a && !b), [false, true, false, false]],
    ];
    for (const [fn, want] of pairs) expect(resultOf(zip([p, r], fn))).toEqual(["bool", [4], want]);
  });

  it("between a boolean and a number are numbers, in the operands' dtype", () => {
    const x = tensor([2, -2], { dtype: "f16" });
    expect(resultOf(x.map((v: Fn) => v > 0 && 5))).toEqual(["f16", [2], [5, 0]]);
    expect(resultOf(x.map((v: Fn) => v > 0 || v))).toEqual(["f16", [2], [1, -2]]);
    expect(resultOf(zip([p, r], (a: Fn, b: Fn) => (a ? b : 2)))).toEqual(["i32", [4], [1, 0, 2, 2]]);
  });

  it("inside of a kernel that another one uses", () => {
    const inner = kernel((a: Fn, x: Fn) => a || x > 1);
    const outer = kernel((a: Fn, x: Fn, { inner }: Fn) => inner(a, x), { inner });
    const x = tensor([0, 2, 0, 2]);
    expect(resultOf((outer as Fn)(p, x))).toEqual(["bool", [4], [true, true, false, true]]);
    expect(resultOf(ways.reduce(x, inner, { init: false }))).toEqual(["bool", [], true]);
  });
});

describe("literals beyond the floats of a dtype", () => {
  const large: Record<"f16" | "bf16" | "f32", number> = { f16: 70000, bf16: 1e39, f32: 1e39 };

  it.each(["compiled", "interpreter"] as const)("are infinite, and compared as they are: %s", (executor) => {
    engine().executor = engine()[executor];
    for (const dtype of ["f16", "bf16", "f32"] as const) {
      const x = tensor([1, Infinity, -Infinity, 0], { dtype });
      const k = large[dtype];
      const own = { f16: [(v: number) => v + 70000, (v: number) => v > 70000, (v: number) => -70000 <= v] };
      const wide = [(v: number) => v + 1e39, (v: number) => v > 1e39, (v: number) => -1e39 <= v];
      const [sum, above, within] = dtype === "f16" ? own.f16 : wide;
      expect(resultOf(x.map(sum as Fn))).toEqual([dtype, [4], [Infinity, Infinity, NaN, Infinity]]);
      expect(resultOf(x.map(above as Fn))).toEqual(["bool", [4], [false, true, false, false]]);
      expect(resultOf(x.map(within as Fn))).toEqual(["bool", [4], [true, true, false, true]]);
      // A captured value is what an operand of that dtype is.
      const captured = kernel((v: number, { k }: { k: number }) => v + k, { k });
      expect(resultOf(captured(x) as Tensor)).toEqual([dtype, [4], [Infinity, Infinity, NaN, Infinity]]);
      expect(resultOf(x.map((v) => (v > 0 ? v : -1e39)))).toEqual([
        dtype,
        [4],
        [1, Infinity, -Infinity, -Infinity],
      ]);
    }
  });
});

describe("literals at the end of a dtype", () => {
  /** Elements of which some are the largest or the smallest, and functions of them. */
  const cases: readonly (readonly [DType, readonly (number | bigint)[], readonly Fn[]])[] = [
    [
      "u64",
      [0n, 2n ** 64n - 1n],
      [
        (x: Fn) => x < 2 ** 64,
        (x: Fn) => x >= 18446744073709551616n,
        (x: Fn) => 2 ** 64 <= x,
        (x: Fn) => x < (x > 0 ? 2 ** 64 : 1),
      ],
    ],
    [
      "i64",
      [-(2n ** 63n), 2n ** 63n - 1n],
      [
        (x: Fn) => x < 2 ** 63,
        (x: Fn) => x > -9223372036854775809n,
        (x: Fn) => x <= -9223372036854775809n,
        (x: Fn) => 9223372036854775808n > x,
      ],
    ],
    ["f16", [65504, Infinity, -65504], [(x: Fn) => x < 65519, (x: Fn) => x >= 65519, (x: Fn) => -65519 < x]],
    [
      "f32",
      [3.4028234663852886e38, Infinity],
      [(x: Fn) => x < 3.402823567e38, (x: Fn) => x >= 3.402823567e38],
    ],
  ];

  it.each(["compiled", "interpreter"] as const)("are compared as they are: %s", (executor) => {
    engine().executor = engine()[executor];
    for (const [dtype, values, functions] of cases) {
      const x = tensor(values as number[], { dtype });
      for (const fn of functions) {
        expect([String(fn), ...(x.map(fn).toArray() as boolean[])]).toEqual([String(fn), ...values.map(fn)]);
      }
    }
  });
});
