/** What reference cases cannot say: numbers as operands, bf16, and the same results from any number of threads. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import { arange, type DType, dtypeNames, memory, scope, type Tensor, tensor } from "../../src/index.ts";
import { digitize, searchsorted } from "../../src/library/search.ts";
import { isin, setdiff1d, union1d, unique, uniqueAll } from "../../src/library/sets.ts";
import { sort, topk } from "../../src/library/sort.ts";
import { bincount, diff, histogram, interp, median, quantile } from "../../src/library/statistics.ts";

/** Repeatable numbers from 0 to 1. */
function noise(n: number): Float32Array {
  let x = 1;
  return Float32Array.from({ length: n }, () => {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    return (x >>> 0) / 2 ** 32;
  });
}

describe("numbers among operands", () => {
  it("are compared without loss, whatever the tensor's dtype", () => {
    scope(() => {
      const i32 = tensor([1, 2, 3], { dtype: "i32" });
      expect(searchsorted(i32, 2.5).item()).toBe(2);
      expect(searchsorted(i32, 2, { side: "right" }).item()).toBe(2);
      const u64 = tensor([1n, 2n ** 63n, 2n ** 64n - 1n], { dtype: "u64" });
      expect(searchsorted(u64, 2n ** 63n + 1n).item()).toBe(2);
      expect(searchsorted(u64, 5).item()).toBe(1);
      const i64 = tensor([-(2n ** 62n), 2n ** 62n, 2n ** 62n + 1n]);
      expect(searchsorted(i64, 2n ** 62n + 1n).item()).toBe(2);
      // 0.1 is not a number of f32: it lies below the one that is nearest to it.
      expect(searchsorted(tensor([0.1]), 0.1).item()).toBe(0);
      expect(searchsorted(tensor([false, true]), true).item()).toBe(1);
      expect(digitize(2.5, i32).item()).toBe(2);
      expect(interp(1.5, tensor([1, 2]), tensor([10, 20])).item()).toBe(15);
    });
  });
});

describe("searchsorted", () => {
  it("counts what is below, or not above, for every dtype", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...dtypeNames),
        fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 70 }),
        fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 20 }),
        (dtype, some, wanted) => {
          scope(() => {
            const a = sort(tensor(some, { dtype }));
            const v = tensor(wanted, { dtype });
            const all = (a.size === 0 ? [] : a.to("f64").toArray()) as number[];
            const values = v.to("f64").toArray() as number[];
            const below = values.map((x) => BigInt(all.filter((y) => y < x).length));
            const notAbove = values.map((x) => BigInt(all.filter((y) => y <= x).length));
            expect(searchsorted(a, v).toArray()).toEqual(below);
            expect(searchsorted(a, v, { side: "right" }).toArray()).toEqual(notAbove);
            expect(isin(v, a).toArray()).toEqual(values.map((x) => all.includes(x)));
          });
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("bf16", () => {
  it("gives what f32 gives, rounded", () => {
    scope(() => {
      const values = [...noise(200)].map((x) => Math.round(x * 64) / 8 - 4);
      const [f, b] = (["f32", "bf16"] as const).map((dtype) => tensor(values, { dtype }));
      const same = (fn: (t: Tensor) => Tensor) => {
        const [x, y] = [fn(f).to("bf16"), fn(b)];
        expect(y.dtype).toBe("bf16");
        expect(y.toArray()).toEqual(x.toArray());
      };
      same((t) => sort(t));
      same((t) => topk(t, 7).values);
      same((t) => unique(t));
      same((t) => median(t));
      same((t) => quantile(t, [0.1, 0.5, 0.77]));
      same((t) => quantile(t, 0.3, { method: "nearest" }));
      same((t) => diff(t));
      same((t) => setdiff1d(t, tensor([1, 2, 3], { dtype: t.dtype as DType })));
      expect(searchsorted(sort(b), b).toArray()).toEqual(searchsorted(sort(f), f).toArray());
      expect(isin(b, tensor([1, 2])).toArray()).toEqual(isin(f, tensor([1, 2])).toArray());
      expect(union1d(b, f).dtype).toBe("f32");
      const [hb, hf] = [b, f].map((t) => histogram(t, { bins: 8, range: [-4, 4] }).counts.toArray());
      expect(hb).toEqual(hf);
    });
  });
});

describe("threads", () => {
  const both = (fn: () => Tensor): [Tensor, Tensor] => [fn(), engine().kernels.alone(fn)];

  it("searches and counts come out as from one thread", () => {
    engine().pool.waitUntilReady();
    scope(() => {
      const x = tensor(noise(200_000));
      const small = x.map((v) => Math.floor(v * 1000)).to("i32");
      const weights = tensor(noise(200_000));
      const edges = sort(tensor(noise(999)));
      for (const fn of [
        () => searchsorted(edges, x),
        () => searchsorted(edges, x, { side: "right" }),
        () => isin(small, arange(0, 1000, 3)),
        () => bincount(small),
        () => bincount(small, { weights }),
        () => histogram(x, { bins: 37 }).counts,
        () => histogram(x, { bins: 37, weights }).counts,
        () => quantile(x, [0.01, 0.5, 0.99]),
        () => uniqueAll(small).inverseIndices,
      ]) {
        const [together, alone] = both(fn);
        expect(together.toArray()).toEqual(alone.toArray());
      }
    });
  });

  it("a line of more than one piece a thread", () => {
    engine().pool.waitUntilReady();
    const before = memory().tensors;
    scope(() => {
      const values = noise(2 ** 21 + 12_345);
      const got = sort(tensor(values)).data;
      const want = values.sort();
      expect(got.findIndex((x, i) => x !== want[i])).toBe(-1);
    });
    expect(memory().tensors).toBe(before);
  });
});
