/** Compiled folds by name: sums, extremes, softmax and what they have in common. Random functions are in tests/fuzz. */
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { type DType, dtypes } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { ones, stack, type Tensor, tensor, zeros } from "../../src/index.ts";
import { Builder } from "../../src/ir/build.ts";
import { logSoftmax, logsumexp, softmax } from "../../src/ops/exponentials.ts";
import { callableOf } from "../../src/ops/function.ts";
import { mapReduce } from "../../src/ops/map-reduce.ts";
import { argReduce } from "../../src/ops/positions.ts";
import { scan } from "../../src/ops/reduce.ts";
import { namedReduce } from "../../src/ops/reductions.ts";
import { norm, std, variance } from "../../src/ops/spreads.ts";
import { allocate } from "../../src/ops/strided.ts";
import { type Fold, makeFold } from "../../src/optimize/reduce.ts";
import type { Strided } from "../../src/run/call.ts";
import type { Pool } from "../../src/run/pool.ts";
import { FoldRunner } from "../../src/run/reduce.ts";
import { stridedOf } from "../../src/tensor.ts";
import { disassemble } from "../../src/wasm/assembler/wat.ts";
import { layout, place, read } from "./folds.ts";

/* Sums ---------------------------------------------------------------------------------------------------------------- */

const flat = (x: unknown): number[] => (Array.isArray(x) ? x.flatMap(flat) : [Number(x)]);

/** Every element in C order, with the position of the output it is folded into. */
function forEach(t: Strided, folded: readonly boolean[], f: (x: number, at: number) => void): void {
  const { shape, strides, offset } = t.frame;
  const { read: one } = dtypes[t.dtype];
  const memory = engine().heap.view;
  const visit = (d: number, p: number, at: number): void => {
    if (d === shape.length) f(Number(one(memory, t.storage.address + p)), at);
    else
      for (let i = 0; i < shape[d]; i++) visit(d + 1, p + i * strides[d], folded[d] ? at : at * shape[d] + i);
  };
  visit(0, offset, 0);
}

/** Sums over the folded axes in f64, in plain JavaScript. */
function sums(t: Strided, folded: readonly boolean[], f: (x: number) => number): number[] {
  const out = new Array<number>(t.frame.shape.reduce((n, size, d) => (folded[d] ? n : n * size), 1)).fill(0);
  forEach(t, folded, (x, at) => {
    out[at] += f(x);
  });
  return out;
}

describe("sums", () => {
  const floats = fc.constantFrom<DType>("f32", "f64", "f16", "bf16");
  test("of floats are right to the last place, from any layout", () => {
    const tame = fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 5, maxLength: 31 });
    fc.assert(
      fc.property(floats, layout, fc.nat(15), tame, (d, l, mask, values) => {
        const t = place(d, l, values.map(dtypes[d].wrap));
        const folded = l.shape.map((_, a) => ((mask >> a) & 1) === 1);
        const axis = l.shape.map((_, a) => a).filter((a) => folded[a]);
        const got = namedReduce("sum", t, { axis });
        const want = sums(t, folded, (x) => x);
        const size = sums(t, folded, Math.abs);
        const ulp = { f64: 2 ** -46, f32: 2 ** -23, f16: 2 ** -10, bf16: 2 ** -7 }[d as "f32"];
        read(got).forEach((x, i) => {
          expect(Math.abs(Number(x) - want[i])).toBeLessThanOrEqual(
            Math.max(Math.abs(want[i]) * ulp, size[i] * (d === "f64" ? 2 ** -46 : 2 ** -22), 2 ** -24),
          );
        });
        t.storage.release();
        got.storage.release();
      }),
      { numRuns: 600 },
    );
  });

  /** A row, and columns, of values that are folded along their length. */
  const laidOut = (values: Float32Array | Float64Array): Tensor[] => [
    tensor(values),
    stack(new Array(20).fill(tensor(values)), { axis: 1 }),
    stack([tensor(values), tensor(values)]).T,
  ];
  const each = (t: Tensor, f: "sum" | "mean" | "max" | "min") => flat(t[f]({ axis: 0 }).toArray());

  test("the error of f32 sums does not grow with their length", () => {
    for (const n of [100, 10_000, 1_000_000]) {
      const values = Float32Array.from({ length: n }, (_, i) => Math.sin(i * 12.9898) * 43758.5453);
      const exact = values.reduce((a, x) => a + x, 0);
      const size = values.reduce((a, x) => a + Math.abs(x), 0);
      for (const t of laidOut(values)) {
        for (const sum of each(t, "sum"))
          expect(Math.abs(sum - exact)).toBeLessThan(size * 2 ** -24 + Math.abs(exact) * 2 ** -23);
        // What is asked for in f64 is exact: nothing is added in f32.
        for (const sum of flat(t.sum({ axis: 0, dtype: "f64" }).toArray()))
          expect(Math.abs(sum - exact)).toBeLessThan(size * 2 ** -46);
        t.dispose();
      }
    }
  });

  test("sums of f32 overflow only if the whole sum does", () => {
    const large = Float32Array.from({ length: 200 }, (_, i) => (i < 100 ? 3e38 : -3e38));
    large[150] = 2;
    const mean = new Float32Array(333).fill(3e38);
    for (const t of laidOut(large)) {
      for (const sum of each(t, "sum")) expect(sum).toBe(Math.fround(Math.fround(3e38) + 2));
      expect(t.sum({ axis: 0, dtype: "f64" }).toArray()).toEqual(t.to("f64").sum({ axis: 0 }).toArray());
    }
    for (const t of laidOut(mean)) for (const x of each(t, "mean")) expect(x).toBe(Math.fround(3e38));
    for (const t of laidOut(mean)) for (const x of each(t, "sum")) expect(x).toBe(Number.POSITIVE_INFINITY);
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      for (let at = 0; at < 100; at += 3) {
        const values = new Float32Array(100).fill(1);
        values[at] = odd;
        for (const t of laidOut(values)) for (const sum of each(t, "sum")) expect(sum).toBe(odd);
      }
    }
  });

  test("max and min find NaN and the right zero, wherever they are", () => {
    for (const [type, n] of [
      [Float32Array, 77],
      [Float64Array, 39],
    ] as const) {
      const filled = (fill: number, at: number, value: number) => {
        const values = new type(n).fill(fill);
        values[at] = value;
        return laidOut(values);
      };
      for (let at = 0; at < n; at++) {
        for (const t of filled(-1, at, Number.NaN)) {
          for (const x of [...each(t, "max"), ...each(t, "min")]) expect(x).toBe(Number.NaN);
        }
        for (const t of filled(-0, at, 0)) {
          for (const x of each(t, "max")) expect(x).toBe(0);
          for (const x of each(t, "min")) expect(x).toBe(-0);
        }
        for (const t of filled(0, at, -0)) {
          for (const x of each(t, "max")) expect(x).toBe(0);
          for (const x of each(t, "min")) expect(x).toBe(-0);
        }
        for (const t of filled(Number.NEGATIVE_INFINITY, at, -5)) {
          for (const x of each(t, "max")) expect(x).toBe(-5);
          for (const x of each(t, "min")) expect(x).toBe(Number.NEGATIVE_INFINITY);
        }
        for (const t of filled(Number.POSITIVE_INFINITY, at, Number.NEGATIVE_INFINITY)) {
          for (const x of each(t, "max")) expect(x).toBe(Number.POSITIVE_INFINITY);
          for (const x of each(t, "min")) expect(x).toBe(Number.NEGATIVE_INFINITY);
        }
      }
      for (const t of laidOut(new type(n).fill(-0))) for (const x of each(t, "max")) expect(x).toBe(-0);
    }
  });

  test("20 million ones are 20,000,000 along every axis", () => {
    const rows = 20_000_000 / 4;
    for (const t of [ones(20_000_000), ones([rows, 4]), ones([4, rows]), ones([rows, 4]).T]) {
      expect(t.sum().item()).toBe(20_000_000);
      expect(t.reduce((acc, x) => acc + x, { init: 0 }).item()).toBe(20_000_000);
      if (t.rank === 2) {
        const long = t.shape[0] === rows ? 0 : 1;
        expect(t.sum({ axis: long }).toArray()).toEqual([rows, rows, rows, rows]);
        expect(
          t
            .sum({ axis: 1 - long })
            .max()
            .item(),
        ).toBe(4);
      }
      t.dispose();
    }
  });

  test("of large tensors, whichever way they are cut into tasks and parts", () => {
    const cut = (shape: number[], ...slices: string[]) => {
      const n = shape.reduce((a, b) => a * b, 1);
      const t = tensor(
        Int32Array.from({ length: n }, (_, i) => ((i * 7919) % 1009) - 500),
        { shape },
      );
      return slices.length === 0 ? t : t.slice(...slices);
    };
    const table: [Tensor, (readonly number[])[]][] = [
      [cut([300_001]), [[0]]],
      [cut([120_000, 5]), [[0], [1], [0, 1]]],
      [cut([5, 120_000]), [[0], [1]]],
      [cut([2000, 3, 100]), [[0, 2], [1], [0]]],
      [cut([3, 2000, 100]), [[0, 2], [1], [2]]],
      [cut([600, 1030]), [[0], [1]]],
      [cut([6, 4, 4, 20_000], "::2", "::2", "::3", "::2"), [[0, 1, 2, 3], [1, 3], [0, 2, 3], [2]]],
      [cut([6, 4, 4, 20_000], "::2", "::-2", "::3", "::-1"), [[0, 1, 2, 3], [0, 1, 3], [3], [0]]],
      [cut([20_000, 4, 4, 6], "::2", "::2", "::3", "::2"), [[0], [0, 2], [0, 1, 2, 3], [0, 1, 3], [3, 2, 1]]],
      [
        cut([40, 30, 20, 10], "::2", "::2", "::2", "::2").permute(2, 0, 3, 1),
        [
          [0, 1],
          [2, 3],
          [1, 3],
          [0, 3],
        ],
      ],
    ];
    for (const [t, choices] of table) {
      for (const axis of choices) {
        const folded = t.shape.map((_, d) => axis.includes(d));
        const want = sums(stridedOf(t), folded, (x) => x);
        const count = t.size / want.length;
        const about = `${t.shape} over ${axis}`;
        expect(flat(t.sum({ axis }).toArray()), about).toEqual(want);
        expect(flat(t.mean({ axis }).toArray()), about).toEqual(want.map((x) => x / count));
        const alternate = t.reduce((acc, x) => acc * 3 + x, { axis, init: 1 });
        const last = new Array<number>(want.length).fill(1);
        forEach(stridedOf(t), folded, (x, at) => {
          last[at] = (Math.imul(last[at], 3) + x) | 0;
        });
        expect(flat(alternate.toArray()), about).toEqual(last);
      }
    }
  });

  test("half floats are carried in f64 and rounded once", () => {
    expect(ones(5000, { dtype: "f16" }).sum().item()).toBe(5000);
    expect(ones([3, 5000], { dtype: "bf16" }).sum({ axis: 1, dtype: "f32" }).toArray()).toEqual([
      5000, 5000, 5000,
    ]);
  });

  test("integers wrap where they should", () => {
    const t = tensor(new Uint8Array(1000).fill(255));
    expect(t.sum().item()).toBe(255_000);
    expect(t.sum({ dtype: "u8" }).item()).toBe((255 * 1000) % 256);
    expect(t.prod({ dtype: "i32" }).item()).toBe(
      new Array(1000).fill(255).reduce((a, b) => Math.imul(a, b), 1),
    );
  });

  test("an empty fold is the start value; without one it is an error", () => {
    expect(zeros([3, 0]).sum({ axis: 1 }).toArray()).toEqual([0, 0, 0]);
    expect(
      zeros([3, 0])
        .reduce((a, x) => a + x, { axis: 1, init: 7 })
        .toArray(),
    ).toEqual([7, 7, 7]);
    expect(zeros([0, 3]).max({ axis: 1 }).shape).toEqual([0]);
    expect(() => zeros([3, 0]).max({ axis: 1 })).toThrow("nothing to fold");
  });
});

test("the same bits come out in whatever order tasks are run", () => {
  const t = tensor(Float64Array.from({ length: 3_000_011 }, (_, i) => Math.sin(i) * 1e6));
  const backwards = {
    run: (kernel: { run: (d: number) => void }, at: number, step: number, tasks: number) => {
      for (let i = tasks - 1; i >= 0; i--) kernel.run(at + i * step);
    },
  } as unknown as Pool;
  const b = new Builder();
  const sum = makeFold(b.finish(b.op("add", b.input(0, "f64"), b.input(1, "f64")), ["f64", "f64"]), "f64");
  const e = engine();
  const run = (pool: Pool, out: Strided) => {
    const runner = new FoldRunner(e.heap, e.kernels, e.walker, pool);
    const planned = runner.plan({
      fold: sum as Fold,
      itemBytes: [8],
      shifts: [0],
      out: 0,
      kept: [],
      folded: [{ size: t.size, inputs: [8], out: 0 }],
      start: 0,
    });
    const none = { step: [], first: [], finish: [] };
    runner.run(planned, out.storage.address, [stridedOf(t).storage.address], none);
    return planned;
  };
  const outs = [allocate("test", "f64", []), allocate("test", "f64", [])];
  const one = run(e.pool, outs[0]);
  run(backwards, outs[1]);
  expect(one.parts?.count).toBeGreaterThan(8);
  expect(read(outs[0])).toEqual(read(outs[1]));
  expect(t.sum().item()).toBe(read(outs[0])[0]);
});

/* Fused ------------------------------------------------------------------------------------------------------------------ */

describe("map and reduce, fused", () => {
  const x = tensor(
    Float32Array.from({ length: 60 }, (_, i) => i - 20),
    { shape: [3, 4, 5] },
  );
  const row = tensor(Float32Array.from([1, 2, 3, 4, 5]));
  const item = (t: Strided) => read(t);

  it("sums a product of operands that broadcast, and makes nothing in between", () => {
    const before = engine().heap.stats().peakBytes;
    const product = callableOf("test", (a: number, b: number) => a * b);
    const want = x
      .mul(row)
      .sum({ axis: [0, 2] })
      .toArray();
    expect(item(mapReduce("test", [stridedOf(x), stridedOf(row)], product, { axis: [0, 2] }))).toEqual(want);
    expect(engine().heap.stats().peakBytes).toBeGreaterThanOrEqual(before);
  });

  it("takes max, min, prod and any function, with and without a start value", () => {
    const square = callableOf("test", (a: number) => a * a);
    expect(item(mapReduce("test", [stridedOf(x)], square, { reduce: "max" }))).toEqual([39 * 39]);
    expect(item(mapReduce("test", [stridedOf(x)], square, { reduce: "min", axis: [0, 1] }))).toEqual([
      0, 1, 4, 4, 1,
    ]);
    const last = callableOf("test", (acc: number, v: number) => acc * 0.5 + v);
    const folded = x.map((a) => a * a).reduce((acc, v) => acc * 0.5 + v, { axis: 1 });
    expect(item(mapReduce("test", [stridedOf(x)], square, { reduce: last, axis: 1 }))).toEqual(
      flat(folded.toArray()),
    );
    const from9 = x.map((a) => a * a).reduce((acc, v) => acc * 0.5 + v, { axis: 2, init: 9 });
    expect(item(mapReduce("test", [stridedOf(x)], square, { reduce: last, axis: 2, init: 9 }))).toEqual(
      flat(from9.toArray()),
    );
  });

  it("integers sum in 64 bits", () => {
    const u = tensor(Uint8Array.from([200, 100, 50]));
    const sum = mapReduce(
      "test",
      [stridedOf(u)],
      callableOf("test", (a: number) => a + a),
    );
    expect(sum.dtype).toBe("u64");
    expect(item(sum)).toEqual([BigInt(144 + 200 + 100)]);
  });

  it("falls back to two steps for a function that cannot be compiled", () => {
    const table = [1, 2, 3];
    const lookup = callableOf("test", (a: number) => table[Math.abs(a) % 3]);
    const want = flat(x.toArray()).reduce((s, a) => s + table[Math.abs(a) % 3], 0);
    expect(item(mapReduce("test", [stridedOf(x)], lookup))).toEqual([want]);
  });
});

/* Named ------------------------------------------------------------------------------------------------------------------ */

describe("named reductions", () => {
  const rows = (t: Strided, axis: number): number[][] => {
    const { shape } = t.frame;
    const values = read(t).map(Number);
    const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
    const out: number[][] = [];
    for (let o = 0; o < values.length / (inner * shape[axis]); o++) {
      for (let i = 0; i < inner; i++) {
        out.push(Array.from({ length: shape[axis] }, (_, k) => values[(o * shape[axis] + k) * inner + i]));
      }
    }
    return out;
  };
  const shapes = [[7], [1, 1], [5, 33], [33, 5], [3, 17, 4], [2, 9000], [9000, 3], [300, 1000]];
  const make = (shape: readonly number[], d: DType = "f32") => {
    const n = shape.reduce((a, b) => a * b, 1);
    return tensor(
      Float64Array.from({ length: n }, (_, i) => Math.sin(i * 1.7) * 5 + 2),
      {
        shape,
        dtype: d,
      },
    );
  };
  /** The largest distance, relative where the numbers are large. */
  const distance = (got: readonly number[], want: readonly number[]) =>
    got.reduce((most, x, i) => Math.max(most, Math.abs(x - want[i]) / Math.max(1, Math.abs(want[i]))), 0);
  const close = (got: Strided, want: readonly number[], tolerance: number) => {
    expect(distance(read(got).map(Number), want)).toBeLessThanOrEqual(tolerance);
  };

  for (const d of ["f32", "f64", "f16"] as const) {
    const eps = { f32: 2e-6, f64: 1e-12, f16: 2e-3 }[d];
    it(`var, std, norm, logsumexp, softmax and logSoftmax on ${d}`, () => {
      for (const shape of shapes) {
        for (let axis = 0; axis < shape.length; axis++) {
          const t = make(shape, d);
          const all = rows(stridedOf(t), axis);
          const middleOf = (r: number[]) => r.reduce((a, b) => a + b, 0) / r.length;
          const spread = (r: number[], ddof: number) => {
            const middle = middleOf(r);
            return r.reduce((s, v) => s + (v - middle) ** 2, 0) / Math.max(r.length - ddof, 0);
          };
          close(
            variance(stridedOf(t), { axis }),
            all.map((r) => spread(r, 0)),
            eps,
          );
          if (shape[axis] > 1) {
            close(
              std(stridedOf(t), { axis, ddof: 1 }),
              all.map((r) => Math.sqrt(spread(r, 1))),
              eps,
            );
          }
          close(
            norm(stridedOf(t), { axis }),
            all.map((r) => Math.hypot(...r)),
            eps,
          );
          close(
            norm(stridedOf(t), { axis, ord: 1 }),
            all.map((r) => r.reduce((s, v) => s + Math.abs(v), 0)),
            eps,
          );
          close(
            norm(stridedOf(t), { axis, ord: Infinity }),
            all.map((r) => Math.max(...r.map(Math.abs))),
            0,
          );
          const lse = all.map((r) => Math.log(r.reduce((s, v) => s + Math.exp(v), 0)));
          close(logsumexp(stridedOf(t), { axis }), lse, eps);
          const soft = softmax(stridedOf(t), { axis });
          expect(soft.frame.shape).toEqual(shape);
          const logs = rows(logSoftmax(stridedOf(t), { axis }), axis);
          rows(soft, axis).forEach((r, k) => {
            const log = all[k].map((v) => v - lse[k]);
            expect(distance(r, log.map(Math.exp))).toBeLessThan(eps * 4);
            expect(distance(logs[k], log)).toBeLessThan(eps * 4);
          });
        }
      }
    });
  }

  it("several axes, keepdims, integers, views", () => {
    const t = make([4, 6, 5]);
    expect(variance(stridedOf(t), { axis: [0, 2], keepdims: true }).frame.shape).toEqual([1, 6, 1]);
    const i = tensor(Int32Array.from([1, 2, 3, 4]));
    expect(read(variance(stridedOf(i)))).toEqual([1.25]);
    expect(read(norm(stridedOf(tensor(Int8Array.from([3, -4])))))).toEqual([5]);
    const turned = t.permute(2, 0, 1).slice("::-1", ":", "::2");
    const whole = turned.contiguous();
    for (const axis of [0, 1, 2]) {
      // Dense rows are done in one visit, others in several: the last bit may differ.
      close(
        softmax(stridedOf(turned), { axis }),
        read(softmax(stridedOf(whole), { axis })).map(Number),
        2e-7,
      );
      expect(read(argReduce("argmax", stridedOf(turned), { axis }))).toEqual(
        read(argReduce("argmax", stridedOf(whole), { axis })),
      );
    }
    const both = softmax(stridedOf(t), { axis: [1, 2] });
    close(namedReduce("sum", both, { axis: [1, 2] }), [1, 1, 1, 1], 1e-6);
  });

  it("logsumexp and softmax survive infinities, NaN and large numbers", () => {
    const lse = (...x: number[]) => read(logsumexp(stridedOf(tensor(Float32Array.from(x)))))[0];
    expect(lse(1000, 1000)).toBeCloseTo(1000 + Math.log(2), 3);
    expect(lse(-Infinity, -Infinity)).toBe(-Infinity);
    expect(lse(-Infinity, 3)).toBe(3);
    expect(lse(Infinity, 3)).toBe(Infinity);
    expect(lse(NaN, 3)).toBeNaN();
    expect(lse()).toBe(-Infinity);
    const soft = (...x: number[]) => read(softmax(stridedOf(tensor(Float32Array.from(x)))));
    expect(soft(1000, 1000)).toEqual([0.5, 0.5]);
    expect(soft(-Infinity, 0)).toEqual([0, 1]);
    expect(soft(NaN, 0)).toEqual([NaN, NaN]);
    expect(soft(-Infinity, -Infinity)).toEqual([NaN, NaN]);
  });

  it("softmax and logsumexp of a fold longer than the cache", () => {
    const n = 1_200_000;
    const t = tensor(
      Float32Array.from({ length: 2 * n }, (_, i) => (i % 1001) * 0.01 - (i < n ? 0 : 1000)),
      {
        shape: [2, n],
      },
    );
    let want = 0;
    for (let i = 0; i < n; i++) want += Math.exp((i % 1001) * 0.01);
    const lse = read(logsumexp(stridedOf(t), { axis: 1 })).map(Number);
    expect(lse[0]).toBeCloseTo(Math.log(want), 4);
    const soft = softmax(stridedOf(t), { axis: 1 });
    close(namedReduce("sum", soft, { axis: 1 }), [1, 1], 1e-5);
    expect(Number(read(soft)[500])).toBeCloseTo(Math.exp(5 - Math.log(want)), 8);
    const logs = read(logSoftmax(stridedOf(t.T), { axis: 0 }));
    expect(Number(logs[1000])).toBeCloseTo(5 - Math.log(want), 3);
  });

  it("argmax and argmin: the first of equals, the first NaN, any dtype and axis", () => {
    const at = (x: readonly number[], d: DType = "f64") =>
      [
        argReduce("argmax", stridedOf(tensor(Float64Array.from(x), { dtype: d }))),
        argReduce("argmin", stridedOf(tensor(Float64Array.from(x), { dtype: d }))),
      ].map((t) => Number(read(t)[0]));
    expect(at([1, 3, 3, 2, 1])).toEqual([1, 0]);
    expect(at([1, NaN, 3, NaN])).toEqual([1, 1]);
    expect(at([-0, 0, -0])).toEqual([0, 0]);
    expect(at([5, 9, 9], "u8")).toEqual([1, 0]);
    expect(at([-5, 9, -9], "i64")).toEqual([1, 2]);
    expect(at([0, 1, 1], "bool")).toEqual([1, 0]);
    const big = zeros([3, 20_000]);
    big.set([1, 19_999], 5);
    big.set([2, 8192], 1);
    expect(read(argReduce("argmax", stridedOf(big), { axis: 1 }))).toEqual([0n, 19_999n, 8192n]);
    expect(read(argReduce("argmax", stridedOf(big)))).toEqual([39_999n]);
    expect(read(argReduce("argmax", stridedOf(big.T), { axis: 0 }))).toEqual([0n, 19_999n, 8192n]);
    expect(read(argReduce("argmax", stridedOf(big.T)))).toEqual([BigInt(19_999 * 3 + 1)]);
  });
});

/* Structure --------------------------------------------------------------------------------------------------------------- */

describe("the kernels", () => {
  const details = (run: () => void) => {
    const seen: { kernel: { plan: { kind: string; key: string }; bytes: Uint8Array } }[] = [];
    engine().listener = (event) => {
      if (event.kind !== "ran") return;
      const { backend, spent } = event.plan.prepared;
      if (backend === "wasm") seen.push(spent as never);
    };
    try {
      run();
    } finally {
      engine().listener = null;
    }
    return seen;
  };
  const text = (bytes: Uint8Array) => disassemble(bytes);

  it("vectorise along whichever axis is contiguous", () => {
    const t = ones([64, 64]);
    const kinds = (run: () => void) => details(run).map((d) => d.kernel.plan.kind);
    expect(kinds(() => t.sum({ axis: 1 }))).toEqual(["rows"]);
    expect(kinds(() => t.sum({ axis: 0 }))).toEqual(["columns"]);
    expect(kinds(() => t.T.sum({ axis: 1 }))).toEqual(["columns"]);
    expect(kinds(() => t.sum())).toEqual(["rows"]);
    const long = ones(100_000);
    expect(kinds(() => long.sum())).toEqual(["runs"]);
    expect(kinds(() => t.reduce((a, x) => a * 2 + x, { axis: 1 }))).toEqual(["columns"]);
  });

  it("load vectors, and carry float sums in f64 lanes", () => {
    const t = ones([64, 64]);
    for (const axis of [0, 1]) {
      const [{ kernel }] = details(() => t.sum({ axis }));
      const wat = text(kernel.bytes);
      expect(wat).toContain("v128.load");
      expect(wat).toContain("f64x2.add");
    }
    expect(text(details(() => t.max({ axis: 1 }))[0].kernel.bytes)).toContain("f32x4.pmin");
  });

  it("serve every shape of their layout class", () => {
    const fold = (n: number, m: number) => {
      const t = ones([n, m]);
      t.sum({ axis: 0 });
      t.sum({ axis: 1 });
      t.reduce((a, x) => a * 3 + x, { axis: 0, init: 1 });
      t.cumsum({ axis: 0 });
      softmax(stridedOf(t), { axis: 1 });
    };
    fold(40, 50);
    const { compiled } = engine().kernels;
    fold(31, 77);
    fold(500, 20);
    expect(engine().kernels.compiled).toBe(compiled);
  });

  it("scans of a compiled function are compiled", () => {
    const t = ones([20, 20]);
    const seen = details(() => {
      scan(
        "test",
        callableOf("test", (a: number, x: number) => a * 0.5 + x),
        [stridedOf(t)],
        { axis: 0 },
      );
    });
    expect(seen.map((d) => d.kernel.plan.key)).toEqual(["columns*:cC"]);
  });
});
