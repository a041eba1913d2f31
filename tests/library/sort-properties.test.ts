/** Sorting against JavaScript's own stable sort, bit for bit, on patterns that sorting algorithms stumble over. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DType, dtypes } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { dtypeNames, memory, scope, type Tensor, tensor } from "../../src/index.ts";
import { unique, uniqueAll } from "../../src/library/sets.ts";
import { argsort, sort, topk } from "../../src/library/sort.ts";
import { stridedOf } from "../../src/tensor.ts";

const bytesOf = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array } as const;

/** Bits of the elements, as they lie in memory. */
function bitsOf(t: Tensor): (number | bigint)[] {
  const dense = t.contiguous();
  const address = stridedOf(dense).storage.address + stridedOf(dense).frame.offset;
  const bits = new bytesOf[dtypes[t.dtype].bytes](engine().heap.buffer as ArrayBuffer, address, dense.size);
  const out = [...bits];
  dense.dispose();
  return out;
}

/** Quicker than toEqual on long arrays. */
function expectSameBits(a: Tensor, b: Tensor): void {
  const [x, y] = [bitsOf(a), bitsOf(b)];
  expect(x.length).toBe(y.length);
  expect(
    x.findIndex((bits, i) => bits !== y[i]),
    "first difference",
  ).toBe(-1);
}

/** A vector whose elements have these bits; every NaN has a payload of its own. */
function fromBits(dtype: DType, bits: readonly bigint[]): Tensor {
  const { bytes, Array: Typed } = dtypes[dtype];
  const raw = new bytesOf[bytes](bits.length);
  bits.forEach((b, i) => {
    const cut = BigInt.asUintN(8 * bytes, b);
    raw[i] = (bytes === 8 ? cut : Number(cut)) as never;
  });
  const own = raw as unknown as ArrayBufferView<ArrayBuffer>;
  return tensor(new Typed(own.buffer, 0, bits.length) as never, { dtype });
}

/** The stable order by NumPy's rule, computed plainly. */
function orderOf(t: Tensor, descending: boolean): number[] {
  const { read, bytes } = dtypes[t.dtype];
  const dense = t.contiguous();
  const address = stridedOf(dense).storage.address + stridedOf(dense).frame.offset;
  const values = Array.from({ length: t.size }, (_, i) => read(engine().heap.view, address + i * bytes));
  dense.dispose();
  const isNan = (x: unknown) => typeof x === "number" && Number.isNaN(x);
  const compare = (a: number | bigint, b: number | bigint) =>
    isNan(a) || isNan(b) ? Number(isNan(a)) - Number(isNan(b)) : a < b ? -1 : a > b ? 1 : 0;
  const sign = descending ? -1 : 1;
  return values.map((_, i) => i).sort((i, j) => sign * compare(values[i], values[j]));
}

function checkSorts(t: Tensor, descending: boolean): void {
  const order = orderOf(t, descending);
  const bits = bitsOf(t);
  scope(() => {
    expect([...argsort(t, { descending }).data].map(Number)).toEqual(order);
    expect(bitsOf(sort(t, { descending }))).toEqual(order.map((i) => bits[i]));
  });
}

/** Bits of element i of n, in a pattern, from random ones. */
const patterns: Readonly<Record<string, (random: readonly bigint[]) => bigint[]>> = {
  random: (r) => [...r],
  "all equal": (r) => r.map(() => r[0]),
  "few distinct": (r) => r.map((x) => r[Number(BigInt.asUintN(30, x)) % Math.min(3, r.length)]),
  sorted: (r) => [...r].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
  reversed: (r) => [...r].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0)),
  "organ pipe": (r) => r.map((_, i) => BigInt(Math.min(i, r.length - 1 - i))),
  "nearly sorted": (r) => r.map((x, i) => (i % 17 === 3 ? x : BigInt(i))),
  "zeros and NaNs": (r) => r.map((x) => (x % 3n === 0n ? x : x % 3n === 1n ? 0n : -1n & ~(x & 1n))),
  "signs alone": (r) =>
    r.map((x) => (x & 1n) * (1n << 63n) + (x & 1n) * (1n << 31n) + (x & 1n) * (1n << 15n)),
};

/** Repeatable bits from a seed: arrays of thousands need not be drawn one by one. */
function randomBits(seed: number, n: number): bigint[] {
  let x = BigInt(seed) * 0x9e3779b97f4a7c15n + 1n;
  return Array.from({ length: n }, () => {
    x = BigInt.asUintN(64, x * 6364136223846793005n + 1442695040888963407n);
    return x ^ (x >> 29n);
  });
}

describe("sort and argsort agree with a plain stable sort, bit for bit", () => {
  for (const dtype of dtypeNames) {
    it(`${dtype}`, () => {
      const before = memory().tensors;
      fc.assert(
        fc.property(
          fc.constantFrom(...Object.keys(patterns)),
          fc.oneof(
            fc.integer({ min: 1, max: 90 }),
            fc.integer({ min: 90, max: 700 }),
            fc.constantFrom(64, 65, 3071, 3072, 4000),
          ),
          fc.integer({ min: 0, max: 2 ** 30 }),
          fc.boolean(),
          (pattern, n, seed, descending) => {
            const t = fromBits(dtype, patterns[pattern](randomBits(seed, n)));
            checkSorts(t, descending);
            t.dispose();
          },
        ),
        { numRuns: 60 },
      );
      expect(memory().tensors).toBe(before);
    });
  }

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
  it("topk is the beginning of the stable order", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...dtypeNames),
        fc.constantFrom(...Object.keys(patterns)),
        fc.integer({ min: 1, max: 4000 }),
        fc.integer({ min: 0, max: 2 ** 30 }),
        fc.integer({ min: 0, max: 40 }),
        fc.boolean(),
        (dtype, pattern, n, seed, some, largest) => {
          scope(() => {
            const t = fromBits(dtype, patterns[pattern](randomBits(seed, n)));
            const k = Math.min(some, n);
            const { values, indices } = topk(t, k, { largest });
            const order = orderOf(t, largest).slice(0, k);
            const bits = bitsOf(t);
            expect([...indices.data].map(Number)).toEqual(order);
            expect(bitsOf(values)).toEqual(order.map((i) => bits[i]));
          });
        },
      ),
      { numRuns: 150 },
    );
  });

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
