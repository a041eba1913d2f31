/** Sorting along axes, of lines and of sets; that sort, argsort and topk are right on any pattern is a family of tests/fuzz. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { dtypeNames, scope, type Tensor, tensor } from "../../src/index.ts";
import { unique, uniqueAll } from "../../src/library/sets.ts";
import { argsort, sort, topk } from "../../src/library/sort.ts";
import { stridedOf } from "../../src/tensor.ts";
import { bitsOf, fromBits, orderOf, patterns, randomBits } from "../fuzz/sort.ts";

/** Quicker than toEqual on long arrays. */
function expectSameBits(a: Tensor, b: Tensor): void {
  const [x, y] = [bitsOf(a), bitsOf(b)];
  expect(x.length).toBe(y.length);
  expect(
    x.findIndex((bits, i) => bits !== y[i]),
    "first difference",
  ).toBe(-1);
}

function checkSorts(t: Tensor, descending: boolean): void {
  const order = orderOf(t, descending);
  const bits = bitsOf(t);
  scope(() => {
    expect([...argsort(t, { descending }).data].map(Number)).toEqual(order);
    expect(bitsOf(sort(t, { descending }))).toEqual(order.map((i) => bits[i]));
  });
}

describe("sort and argsort", () => {
  it("lines of any layout, along any axis", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 0, max: 2 ** 30 }),
        fc.nat(2),
        fc.boolean(),
        (shape, seed, pick, flip) => {
          scope(() => {
            const size = shape.reduce((a, b) => a * b, 1);
            const flat = tensor(
              randomBits(seed, size).map((x) => Number(x % 7n) - 3),
              { dtype: "i16", shape },
            );
            const axis = pick % shape.length;
            const view = flip ? flat.flip() : flat.T.T;
            const got = sort(view, { axis }).moveAxis(axis, -1).reshape(-1, Math.max(shape[axis], 1));
            const want = view.moveAxis(axis, -1).reshape(-1, Math.max(shape[axis], 1));
            const rows = (want.toArray() as number[][]).map((row) => [...row].sort((a, b) => a - b));
            expect(got.toArray()).toEqual(rows);
          });
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("threads", () => {
  const long = 100_000;
  for (const dtype of ["f32", "f64", "i16", "u8", "i64", "bf16"] as const) {
    it(`${dtype}: shared among threads, a long line comes out as from one thread`, () => {
      engine().pool.waitUntilReady();
      for (const pattern of ["random", "few distinct", "zeros and NaNs", "sorted", "all equal"]) {
        for (const descending of [false, true]) {
          scope(() => {
            const t = fromBits(dtype, patterns[pattern](randomBits(7, long)));
            const alone = engine().kernels.alone(() => [sort(t, { descending }), argsort(t, { descending })]);
            const together = [sort(t, { descending }), argsort(t, { descending })];
            for (const i of [0, 1]) expectSameBits(together[i], alone[i]);
          });
        }
      }
    });
  }

  it("many lines are shared, and come out as from one thread", () => {
    engine().pool.waitUntilReady();
    for (const shape of [
      [3000, 30],
      [40, 4000],
      [500, 200],
    ]) {
      scope(() => {
        const t = fromBits("f32", randomBits(5, shape[0] * shape[1])).reshape(shape);
        const run = () => [sort(t), argsort(t, { descending: true }), topk(t, 5).indices];
        const alone = engine().kernels.alone(run);
        run().forEach((together, i) => {
          expectSameBits(together, alone[i]);
        });
      });
    }
  });
});

describe("what comes of a sort", () => {
  it("unique values with their inverse give the tensor back, counts sum to its size", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...dtypeNames),
        fc.constantFrom("few distinct", "random", "organ pipe", "zeros and NaNs"),
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 0, max: 2 ** 30 }),
        (dtype, pattern, n, seed) => {
          scope(() => {
            const t = fromBits(dtype, patterns[pattern](randomBits(seed, n)));
            const { values, indices, inverseIndices, counts } = uniqueAll(t);
            const all = t.toArray() as (number | bigint | boolean)[];
            const distinct = values.toArray() as (number | bigint | boolean)[];
            const same = (a: unknown, b: unknown) => a === b || Object.is(a, b);
            inverseIndices.data.forEach((r, i) => {
              expect(same(distinct[Number(r)], all[i])).toBe(true);
            });
            indices.data.forEach((at, r) => {
              expect(Object.is(distinct[r], all[Number(at)])).toBe(true);
            });
            expect(Number(counts.sum().item())).toBe(n);
            expect(unique(t).size).toBe(new Set(all.map((x) => (x === 0 ? 0 : x))).size);
          });
        },
      ),
      { numRuns: 150 },
    );
  });

  it("the result is new and dense, the tensor stays as it was", () => {
    scope(() => {
      const t = tensor([
        [3, 1],
        [2, 4],
      ]);
      const s = sort(t, { axis: 0 });
      expect(s.isContiguous).toBe(true);
      expect(stridedOf(s).storage).not.toBe(stridedOf(t).storage);
      expect(t.toArray()).toEqual([
        [3, 1],
        [2, 4],
      ]);
      // Sorted already: still a copy.
      expect(stridedOf(sort(s, { axis: 0 })).storage).not.toBe(stridedOf(s).storage);
    });
  });

  it("scalar code gives the same", () => {
    const { kernels } = engine();
    kernels.simd = false;
    try {
      const t = fromBits("f32", randomBits(3, 5000));
      checkSorts(t, false);
      t.dispose();
    } finally {
      kernels.simd = true;
    }
  });
});
