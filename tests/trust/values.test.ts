/** Values that were wrong without a word: each mechanism, with everything it could reach. */
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import {
  arange,
  average,
  cumulativeSum,
  type DType,
  kernel,
  leftShift,
  mapReduce,
  nanmax,
  nanmin,
  ones,
  ptp,
  rightShift,
  type Tensor,
  tensor,
  tile,
  zeros,
} from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: what plain JavaScript may pass
type Any = any;

describe("captured values that a kernel does not use", () => {
  const a = arange(4);
  const unused = [5n, true, 1.5, 3];

  it("have places of their own: kernels of one algebra are one only if those agree", () => {
    expect(kernel((x) => x * 3 + 2)(a).toArray()).toEqual([2, 5, 8, 11]);
    for (const k of unused) {
      expect(kernel((x: number, { k: _ }: Any) => x * 3 + 2, { k } as Any)(a).toArray()).toEqual([
        2, 5, 8, 11,
      ]);
    }
    const two = kernel((x: number, { p, q }: Any) => x * 3 + 2 + q * 0 + (p ? 0 : 0), { p: 1n, q: 7 } as Any);
    expect(two(a).toArray()).toEqual([2, 5, 8, 11]);
  });

  it("have them in folds, too", () => {
    for (const k of unused) {
      const scaled = kernel((x: number, { k: _, q }: Any) => x * q, { k, q: 3 } as Any);
      expect(scaled.reduce("sum")(a).item()).toBe(18);
      expect(
        scaled
          .reduce((acc, x) => acc * 0.5 + x)(a)
          .item(),
      ).toBe(12.75);
    }
  });
});

describe("a value that is seen as a narrower one", () => {
  it("stays what it is, in every lane", () => {
    const narrow = kernel((x: number) => x).as("u8");
    const large = kernel((x: number, { narrow }: Any) => (narrow(x) > 3 ? x : 0), { narrow });
    const values = [300, 2, 261, 7, 600, -1, 256, 1000, 300];
    const want = values.map((x) => (((x % 256) + 256) % 256 > 3 ? x : 0));
    expect(large(tensor(values, { dtype: "i32" })).toArray()).toEqual(want);
    const folded = large.reduce("sum")(tensor(values, { dtype: "i32" }));
    expect(Number(folded.item())).toBe(want.reduce((p, q) => p + q));
  });
});

describe("a row that is wrapped for every row it meets", () => {
  it("is the same for each of them", () => {
    const fn = kernel((x: number, y: number) => ((x ? 0 : x + x) ? 0 : Math.max(y, -x)) + x);
    const x = tensor([0, 0, 0, -32768, 5, -7, 1, 32767], { dtype: "i16" });
    const wide = tile(x, 5);
    const y = arange(9 * 40)
      .reshape([9, 40])
      .map((v) => v % 7)
      .to("u8");
    const { kernels } = engine();
    kernels.alwaysTogether = true;
    try {
      const together = fn(wide, y).toArray();
      kernels.alwaysTogether = false;
      expect(together).toEqual(fn(wide, y).toArray());
    } finally {
      kernels.alwaysTogether = false;
    }
    const values = wide.toArray() as number[];
    const i16 = (v: number) => (v << 16) >> 16;
    const want = (y.toArray() as number[][]).map((row) =>
      row.map((v, j) => i16((values[j] !== 0 ? Math.max(v, i16(-values[j])) : Math.max(v, 0)) + values[j])),
    );
    expect(fn(wide, y).toArray()).toEqual(want);
  });
});

describe("whether a number is a safe integer", () => {
  const edges = [
    0,
    -0,
    1,
    -7,
    0.5,
    2 ** 53,
    -(2 ** 53),
    2 ** 53 - 2 ** 29,
    2 ** 54,
    Infinity,
    -Infinity,
    NaN,
  ];
  it.each(["f16", "bf16", "f32", "f64"] as const)(
    "is JavaScript's answer on %s, in vectors and in scalars",
    (dtype) => {
      for (const values of [edges, edges.slice(0, 3), [2 ** 53 - 1, 2 ** 53 - 2]]) {
        const x = tensor(values, { dtype });
        const want = (x.toArray() as number[]).map(Number.isSafeInteger);
        expect(x.map((v) => Number.isSafeInteger(v)).toArray()).toEqual(want);
        expect(x.map(Number.isSafeInteger as Any).toArray()).toEqual(want);
      }
    },
  );

  it("on 64-bit integers is that of their value", () => {
    const values = [
      0n,
      2n ** 53n - 1n,
      2n ** 53n,
      -(2n ** 53n),
      1n - 2n ** 53n,
      -(2n ** 63n),
      2n ** 63n - 1n,
    ];
    const x = tensor(values, { dtype: "i64" });
    const want = values.map((v) => Number.isSafeInteger(Number(v)) && BigInt.asIntN(54, v) === v);
    expect(x.map((v) => Number.isSafeInteger(v)).toArray()).toEqual(want);
    expect(
      tensor([2n ** 53n, 5n, 2n ** 64n - 1n], { dtype: "u64" })
        .map((v) => Number.isSafeInteger(v))
        .toArray(),
    ).toEqual([false, true, false]);
  });
});

describe("a fold of nothing", () => {
  const folds: Record<string, (t: Tensor, axis: Any) => Tensor> = {
    max: (t, axis) => t.max({ axis }),
    min: (t, axis) => t.min({ axis }),
    argmax: (t, axis) => t.argmax({ axis }),
    ptp: (t, axis) => ptp(t, { axis }),
    nanmax: (t, axis) => nanmax(t, { axis }),
    reduce: (t, axis) => t.reduce((a, b) => a + b, { axis }),
    "reduce of a called function": (t, axis) => {
      const k = Math.abs(2);
      return t.reduce((a, b) => a + b * k, { axis });
    },
    "kernel.reduce": (t, axis) => kernel((x) => x * 2).reduce("max", { axis })(t),
    "kernel.reduce in order": (t, axis) => kernel((x) => x * 2).reduce((a, b) => a - b, { axis })(t),
    mapReduce: (t, axis) => mapReduce([t], (x) => x + 1, { reduce: "min", axis }),
  };
  it.each(Object.keys(folds))(
    "without a start value is an error, also where the result is empty: %s",
    (name) => {
      for (const [shape, axis] of [
        [[0, 0], 1],
        [[0, 0], 0],
        [[3, 0], 1],
        [[0, 2, 0], 2],
      ] as const) {
        expect(() => folds[name](zeros(shape), axis)).toThrow(/nothing to|no elements|empty/);
      }
      // An empty result of folds that have elements is an empty result.
      expect(folds[name](zeros([0, 3]), 1).shape).toEqual([0]);
      expect(folds[name](zeros([3, 0]), 0).shape).toEqual([0]);
    },
  );

  it("is told under the name that was called", () => {
    const none = (dtype: "f32" | "i32") => zeros([0, 0], { dtype });
    for (const dtype of ["f32", "i32"] as const) {
      expect(() => nanmax(none(dtype), { axis: 1 })).toThrow(/^nanmax: nothing to fold/);
      expect(() => nanmin(none(dtype), { axis: 1 })).toThrow(/^nanmin: nothing to fold/);
    }
    expect(() => average(zeros([2]), { axis: 9 })).toThrow(/^average: axis 9/);
  });

  it("with a start value is that", () => {
    expect(zeros([0, 0]).reduce((a, b) => a + b, { axis: 1, init: 3 }).shape).toEqual([0]);
    expect(
      zeros([2, 0])
        .reduce((a, b) => a + b, { axis: 1, init: 3 })
        .toArray(),
    ).toEqual([3, 3]);
    expect(zeros([0, 0]).sum({ axis: 1 }).shape).toEqual([0]);
  });
});

describe("running sums", () => {
  it.each(["f16", "bf16", "f32", "f64"] as const)("keep the sign of leading zeros: %s", (dtype) => {
    const x = tensor([-0, -0, 0, -0], { dtype });
    expect(x.cumsum().toArray()).toEqual([-0, -0, 0, 0]);
    expect(cumulativeSum(x).toArray()).toEqual([-0, -0, 0, 0]);
    expect(
      tensor(
        [
          [-0, 1],
          [-0, -1],
        ],
        { dtype },
      )
        .cumsum({ axis: 0 })
        .toArray(),
    ).toEqual([
      [-0, 1],
      [-0, 0],
    ]);
    expect(tensor([-0, 2], { dtype }).cumprod().toArray()).toEqual([-0, -0]);
  });

  it("of integers, and of floats as integers, start at 0", () => {
    expect(tensor([-0, 2.5], { dtype: "f64" }).cumsum({ dtype: "i32" }).toArray()).toEqual([0, 2]);
    expect(arange(3).to("u8").cumsum().toArray()).toEqual([0n, 1n, 3n]);
  });
});

describe("shifts by a bool", () => {
  const numbers = (t: Tensor) => (t.toArray() as Any[]).map(Number);
  const integers: DType[] = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"];
  it.each(integers)("keep %s", (dtype) => {
    const x = ones([3], { dtype });
    const flags = tensor([true, false, true]);
    for (const shift of [leftShift, rightShift]) {
      expect(shift(x, flags).dtype).toBe(dtype);
      expect(shift(flags, x).dtype).toBe(dtype);
      expect(shift(x, true as Any).dtype).toBe(dtype);
      expect(shift(true as Any, x).dtype).toBe(dtype);
    }
    expect(numbers(leftShift(x, flags))).toEqual([2, 1, 2]);
    expect(numbers(rightShift(x, flags))).toEqual([0, 1, 0]);
    expect(numbers(leftShift(flags, x))).toEqual([2, 0, 2]);
  });
});
