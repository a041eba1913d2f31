/**
 * Where shared memory is refused, as in pages without cross-origin isolation, growing the heap detaches every view of
 * it that somebody holds. Here each allocation does so: nothing may hold one across an allocation, nor while a user's
 * function runs, which may allocate too.
 */
import "./memory-detach.ts";
import { describe, expect, test } from "vitest";
import { engine } from "../../src/engine.ts";
import {
  arange,
  conv2d,
  cumsum,
  eye,
  fft,
  fromFunction,
  fromJSON,
  full,
  linalg,
  mapReduce,
  matmul,
  memory,
  ones,
  random,
  scope,
  softmax,
  sort,
  type Tensor,
  tensor,
  zeros,
  zip,
} from "../../src/index.ts";
import { runCase } from "../oracle/adapters.ts";
import { families, loadCases } from "../oracle/cases.ts";

test("the heap is not shared, and an allocation detaches what was taken before", () => {
  const t = ones(4);
  expect(engine().heap.shared).toBe(false);
  const before = t.data;
  const more = zeros(4);
  expect([before.length, t.data.length]).toEqual([0, 4]);
  for (const one of [t, more]) one.dispose();
});

/** Runs `body` with a function that cannot be compiled and makes tensors, so that the heap changes under its caller. */
function calling<R>(body: (grow: (x: number) => number) => R): R {
  const made: Tensor[] = [];
  const grow = (x: number): number => {
    made.push(zeros(300_000));
    return x * 2 + 1;
  };
  try {
    return body(grow);
  } finally {
    for (const t of made) t.dispose();
  }
}

describe("a called function that grows the heap", () => {
  const a = [1, 2, 3, 4];
  const operations: Record<string, [(grow: (x: number) => number) => Tensor, unknown]> = {
    map: [(grow) => tensor(a).map((x) => grow(x)), [3, 5, 7, 9]],
    "map of a view": [
      (grow) =>
        tensor(a)
          .slice("::-2")
          .map((x) => grow(x)),
      [9, 5],
    ],
    "map, then converted": [(grow) => tensor(a).map((x) => grow(x), { dtype: "i32" }), [3, 5, 7, 9]],
    "map with an output": [
      (grow) => {
        const out = zeros(4);
        return tensor(a).map((x) => grow(x), { out });
      },
      [3, 5, 7, 9],
    ],
    zip: [(grow) => zip([tensor(a), tensor([10])], (x, y) => grow(x) + y), [13, 15, 17, 19]],
    reduce: [(grow) => tensor(a).reduce((acc, x) => acc + grow(x)), 1 + 5 + 7 + 9],
    "reduce along an axis": [
      (grow) =>
        tensor([
          [1, 2],
          [3, 4],
        ]).reduce((acc, x) => acc + grow(x), { axis: 0, init: 100 }),
      [110, 114],
    ],
    scan: [(grow) => tensor(a).scan((acc, x) => acc + grow(x)), [1, 6, 13, 22]],
    mapReduce: [(grow) => mapReduce([tensor(a)], (x) => grow(x)), 24],
    "mapReduce with a function": [
      (grow) => mapReduce([tensor(a)], (x) => x, { reduce: (acc, x) => acc + grow(x) }),
      1 + 5 + 7 + 9,
    ],
    fromFunction: [
      (grow) => fromFunction((i, j) => grow(i) + j, [2, 2]),
      [
        [1, 2],
        [3, 4],
      ],
    ],
  };
  test.each(Object.entries(operations))("%s", (_, [run, expected]) => {
    const before = memory().tensors;
    const result = calling((grow) =>
      scope(() => {
        const t = run(grow);
        return t.rank === 0 ? t.item() : t.toArray();
      }),
    );
    expect(result).toEqual(expected);
    expect(memory().tensors).toBe(before);
  });

  test("elements that are getters", () => {
    const made: Tensor[] = [];
    const data = [1, 2, 3];
    Object.defineProperty(data, 1, {
      enumerable: true,
      get: () => {
        made.push(zeros(300_000));
        return 7;
      },
    });
    const t = fromJSON({ dtype: "f32", shape: [3], data });
    expect(t.toArray()).toEqual([1, 7, 3]);
    for (const one of [t, ...made]) one.dispose();
  });
});

describe("nothing in the library keeps a view across its allocations", () => {
  /** The largest difference. */
  const apart = (a: Tensor, b: Tensor) => a.sub(b).abs().max().item() as number;

  const checks: Record<string, () => void> = {
    qr: () => {
      const a = random.generator(1).normal([70, 50], { dtype: "f64" });
      const { q, r } = linalg.qr(a);
      expect(apart(q.matmul(r), a)).toBeLessThan(1e-12);
    },
    svd: () => {
      const a = random.generator(2).normal([3, 40, 30], { dtype: "f64" });
      const { u, s, vh } = linalg.svd(a, { fullMatrices: false });
      expect(apart(u.mul(s.reshape(3, 1, 30)).matmul(vh), a)).toBeLessThan(1e-12);
    },
    eigh: () => {
      const g = random.generator(3).normal([40, 40], { dtype: "f64" });
      const a = g.add(g.T);
      const { eigenvalues, eigenvectors } = linalg.eigh(a);
      expect(apart(a.matmul(eigenvectors), eigenvectors.mul(eigenvalues))).toBeLessThan(1e-11);
    },
    "inv, solve and det": () => {
      const a = random.generator(4).normal([5, 30, 30], { dtype: "f64" });
      expect(apart(linalg.inv(a).matmul(a), eye(30, { dtype: "f64" }))).toBeLessThan(1e-9);
      const b = ones([30, 2], { dtype: "f64" });
      expect(apart(a.matmul(linalg.solve(a, b)), b)).toBeLessThan(1e-10);
      expect(apart(linalg.det(linalg.inv(a)).mul(linalg.det(a)), ones(5, { dtype: "f64" }))).toBeLessThan(
        1e-9,
      );
    },
    "cond of several matrices, some singular": () => {
      const each = [zeros([200, 200]), eye(200), zeros([200, 200]), eye(200).mul(3)];
      const a = tensor(
        each.flatMap((t) => [...t.toTypedArray()]),
        { dtype: "f64", shape: [4, 200, 200] },
      );
      expect(linalg.cond(a, { ord: 1 }).toArray()).toEqual([Infinity, 1, Infinity, 1]);
    },
    "lstsq and pinv": () => {
      const a = random.generator(5).normal([30, 10], { dtype: "f64" });
      const x = arange(10, { dtype: "f64" });
      expect(apart(linalg.lstsq(a, a.matmul(x)).x, x)).toBeLessThan(1e-11);
      expect(apart(linalg.pinv(a).matmul(a), eye(10, { dtype: "f64" }))).toBeLessThan(1e-12);
    },
    "fft of many lengths": () => {
      for (const n of [8, 30, 97, 1024, 1009 * 2]) {
        const x = random.generator(n).normal([2, n], { dtype: "f64" });
        expect(apart(fft.irfft(fft.rfft(x), { n }), x)).toBeLessThan(1e-12);
      }
    },
    "sort of many sizes": () => {
      for (const n of [10, 5000, 300_000]) {
        const sorted = sort(random.generator(n).uniform([n]));
        const order = sorted.slice("1:").sub(sorted.slice(":-1")).min().item() as number;
        expect(order).toBeGreaterThanOrEqual(0);
      }
    },
    "conv2d, softmax, cumsum, matmul": () => {
      const image = arange(2 * 3 * 12 * 12).reshape(2, 3, 12, 12);
      expect(conv2d(image, full([4, 3, 3, 3], 1, { dtype: "f32" })).get(0, 0, 0, 0)).toBe(27 * (13 + 144));
      expect(apart(softmax(image, { axis: 1 }).sum({ axis: 1 }), ones([2, 12, 12]))).toBeLessThan(1e-6);
      expect(cumsum(ones(100_000)).get(99_999)).toBe(100_000);
      expect(apart(matmul(ones([300, 200]), ones([200, 300])), full([300, 300], 200))).toBe(0);
    },
  };
  test.each(Object.entries(checks))("%s", (_, check) => {
    const before = memory().tensors;
    scope(check);
    expect(memory().tensors).toBe(before);
  });

  test.each(families)("NumPy's cases of %s, every fifth", (family) => {
    const cases = loadCases(family).filter((_, i) => i % 5 === 0);
    const differences = cases.flatMap((c) => runCase(c) ?? []);
    expect(differences).toEqual([]);
  });
});
