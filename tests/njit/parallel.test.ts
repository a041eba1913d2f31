/** Parallel loops: the same bits on any number of threads, one report of a failure, and nothing else touched. */
import { afterAll, describe, expect, test } from "vitest";
import { scope, type Tensor, TensorError, tensor, zeros } from "../../src/index.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { expectSame, outcome } from "./compare.ts";
import { programs, randomTensor } from "./programs.ts";
import { onPool, onThreads, poolOf, stopPools } from "./threads.ts";

type Fn = (...args: never[]) => unknown;
const made = (source: string, captures = {}): Njit =>
  njit(new Function(`return (${source})`)() as Fn, captures);
const f64 = (...shape: number[]) => zeros(shape, { dtype: "f64" });

const counts = [1, 2, 3, 7];
const on = onThreads;
afterAll(stopPools);

const forksIn = (fn: Njit, args: NjitValue[]) => insideOf(fn).compiledFor(args).layout.forks.length;

describe("1, 2, 3 and 7 threads give the same bits", () => {
  const parallel = programs.filter(({ fn, make }) => scope(() => forksIn(fn, make()) > 0));

  test("of the classic programs at least ten have parallel loops", () => {
    expect(parallel.length).toBeGreaterThanOrEqual(10);
  });

  test.each(parallel)("$name", ({ fn, make, ulps = 0 }) => {
    scope(() => {
      const alone = make();
      const first = outcome(fn(...alone), alone);
      for (const threads of counts) {
        const args = make();
        expectSame(
          on(threads, () => outcome(fn(...args), args)),
          first,
        );
      }
      const args = make();
      expectSame(first, outcome(fn.plain(...args), args), ulps);
    });
  });

  const sums = made(`(x, { prange }) => {
    let [s, p, lo, hi, n, d] = [0.1, 1, Infinity, -Infinity, 0, 5];
    for (const i of prange(x.shape[0])) {
      const v = x.get(i);
      s += v * 0.1;
      p *= 1 + v * 1e-3;
      lo = Math.min(lo, v);
      hi = Math.max(hi, v, -v);
      if (v > 0.5) n++;
      for (let k = 0; k < 3; k++) d -= v / (k + 1);
    }
    return [s, p, lo, hi, n, d];
  }`);

  test.each([0, 1, 2, 255, 256, 257, 1000, 4099])(
    "reductions of %i turns, as the interpreter has them",
    (n) => {
      scope(() => {
        const x = randomTensor([n], "f64", 3);
        const first = sums(x) as number[];
        for (const threads of counts)
          expectSame(
            on(threads, () => sums(x)),
            first,
          );
        expectSame(insideOf(sums).interpreted([x]), first);
        const plain = sums.plain(x) as number[];
        // Least, greatest and counts do not depend on the order; sums do, by rounding, once there are more turns than cuts.
        expectSame(first.slice(2, 5), plain.slice(2, 5));
        first.forEach((v, k) => {
          expect(v === plain[k] ? 0 : Math.abs(v - plain[k])).toBeLessThanOrEqual(1e-12 * Math.abs(plain[k]));
        });
        if (n <= 256) expectSame(first.slice(0, 2), plain.slice(0, 2));
      });
    },
  );

  test("a parallel loop reads what a loop before it has made", () => {
    const fn = made(`(out, a, steps, { prange }) => {
      for (let t = 0; t < steps; t++) {
        let s = 0;
        let k = 0;
        for (k = 0; k < a.length; k++) s += a[k] * t;
        for (const i of prange(out.length)) out[i] += s + k;
        for (k = 0; k < 3; k++) out[k] += s;
      }
    }`);
    const make = () => [new Float64Array(9), Float64Array.of(1, 2, 3), 4];
    const plain = make();
    fn.plain(...plain);
    for (const threads of counts) {
      const args = make();
      on(threads, () => fn(...args));
      expect(args[0]).toEqual(plain[0]);
    }
  });

  test("reductions keep -0, NaN and the kinds they have", () => {
    const fn = made(`(x, z, big, { prange }) => {
      let [s, m, h] = [z, z, 0n];
      for (const i of prange(x.shape[0])) { s += x.get(i); m = Math.max(m, x.get(i)); h += big.get(i) * 3n; }
      return [s, m, h];
    }`);
    scope(() => {
      const cases: [number[], number][] = [
        [[-0, -0], -0],
        [[], -0],
        [[1, Number.NaN, 2], 0.5],
        [[-0, 0], -0],
        [[Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY], -0],
      ];
      for (const [list, z] of cases) {
        const x = tensor(list.length === 0 ? [0] : list, { dtype: "f64" }).slice(`:${list.length}`) as Tensor;
        const big = tensor([7n, -5n, 1n << 60n], { dtype: "i64" });
        const first = fn(x, z, big);
        expectSame(first, fn.plain(x, z, big));
        for (const threads of counts)
          expectSame(
            on(threads, () => fn(x, z, big)),
            first,
          );
      }
    });
  });

  test("whole numbers, of 32 bits and of more", () => {
    const fn = made(`(x, { prange }) => {
      let [lo, hi, sum, big] = [1000, -1000, 0, 0];
      for (const i of prange(x.length)) {
        lo = Math.min(lo, x[i]);
        hi = Math.max(hi, x[i]);
        sum += x[i];
        big -= x[i] * 1000000;
      }
      return [lo, hi, sum, big];
    }`);
    for (const n of [0, 1, 300, 1000]) {
      const x = Int32Array.from({ length: n }, (_, i) => ((i * 7919) % 20011) - 10000);
      const expected = fn.plain(x);
      expectSame(fn(x), expected);
      for (const threads of counts)
        expectSame(
          on(threads, () => fn(x)),
          expected,
        );
    }
  });

  test("arrays of an iteration's own are each thread's own, however large", () => {
    const fn = made(`(out, n, { prange }) => {
      const shared = [1, 2, 3];
      for (const i of prange(n)) {
        const w = new Float64Array(300);
        const tiny = [i, 0];
        for (let k = 0; k < 30; k++) w[(k * 7 + i) % 300] += k;
        for (let k = 1; k < 30; k++) w[k] += w[k - 1];
        tiny[1] = w[i % 300] * shared[i % 3];
        out.set([i], tiny[0] + tiny[1]);
      }
    }`);
    scope(() => {
      const [a, b] = [f64(700), f64(700)];
      fn.plain(a, 700);
      for (const threads of counts) {
        b.fill(0);
        on(threads, () => fn(b, 700));
        expectSame(outcome(null, [b]), outcome(null, [a]));
      }
    });
  });

  test("a loop inside of loops, with steps, starts and turns of very different lengths", () => {
    const fn = made(`(out, n, { prange }) => {
      let turns = 0;
      for (let t = 0; t < 5; t++) {
        for (const i of prange(t, n, 3)) {
          let s = 0;
          for (let k = 0; k < i * i; k++) s += k % 7;
          out[i] += s + t;
          turns += 1;
        }
      }
      return turns;
    }`);
    const plain = new Float64Array(50);
    const expected = fn.plain(plain, 50);
    for (const threads of counts) {
      const out = new Float64Array(50);
      expect(on(threads, () => fn(out, 50))).toBe(expected);
      expect([...out]).toEqual([...plain]);
    }
  });

  test("long loops are shared as they are, and small ones are not", () => {
    const make = () =>
      made(`(out, n, { prange }) => {
        for (const i of prange(out.length)) { let s = i; for (let k = 0; k < n; k++) s = Math.sqrt(s + k); out[i] = s; }
      }`);
    const pool = poolOf(2);
    const [a, b] = [new Float64Array(2000), new Float64Array(2000)];
    onPool(pool, () => {
      // A thread that was put aside in a small loop takes it for a long one: then another function is tried.
      const isAlone = (f: Njit): boolean => {
        const tasks = pool.tally.tasks;
        f(new Float64Array(10), 1);
        return pool.tally.tasks === tasks;
      };
      const fn = Array.from({ length: 20 }, make).find(isAlone)!;
      const before = pool.tally.tasks;
      fn(a, 2000);
      expect(pool.tally.tasks).toBeGreaterThan(before);
      pool.alone(() => fn(b, 2000));
    });
    expect([...a]).toEqual([...b]);
  });
});

describe("a failure in a parallel loop", () => {
  const message = (action: () => unknown): string => {
    try {
      action();
    } catch (error) {
      if (error instanceof TensorError && error.code === "index") return error.message;
      throw error;
    }
    return "no error";
  };

  test.each([
    ["an index outside", "(a, n, { prange }) => { for (const i of prange(n)) a.set([i], 1); }", 900],
    [
      "a fractional one",
      "(a, n, { prange }) => { for (const i of prange(n)) a.set([i * 1.5 / 1.5 + (i > 600 ? 0.5 : 0)], 1); }",
      700,
    ],
    [
      "in a loop inside",
      "(a, n, { prange }) => { for (const i of prange(n)) for (let k = 0; k < 3; k++) a.set([i + k - k], 1); }",
      900,
    ],
    [
      "a negative one",
      "(a, n, { prange }) => { for (const i of prange(n)) { a.set([i], 1); if (i > 500) a.set([500 - i], 2); } }",
      700,
    ],
  ])("%s is reported once, as the plain run reports it: the first", (_, source, n) => {
    const independent = source.replace("prange(n)", "prange(n, { independent: true })");
    const fn = made(independent);
    const first = (text: string) => text.split("\n")[0].replace(/ \(line \d+ of the function\)/, "");
    scope(() => {
      const around = Array.from({ length: 5 }, () => f64(800));
      const plain = f64(800);
      const expected = first(message(() => fn.plain(plain, n)));
      expect(expected).toMatch(/^set: index/);
      for (const threads of counts) {
        const a = around[2];
        a.fill(0);
        for (let round = 0; round < 5; round++) {
          expect(first(message(() => on(threads, () => fn(a, n))))).toBe(expected);
        }
        // What comes before the failure was written; nothing else but elements of later iterations was.
        for (const k of [0, 1, 3, 4]) expect(around[k].sum().item()).toBe(0);
        const [got, wanted] = [a.toArray() as number[], plain.toArray() as number[]];
        expect(wanted.filter((v, i) => v !== 0 && got[i] !== v)).toEqual([]);
      }
      // The pool is alive: `on` looks at its status each time.
      const ok = made("(a, { prange }) => { for (const i of prange(a.shape[0])) a.set([i], i); }");
      on(7, () => ok(around[0]));
      expect(around[0].get(799)).toBe(799);
    });
  });
});

test("divisors of bigints are looked at in and around a parallel loop", () => {
  const fn = made(`(out, b, { prange }) => {
    const q = 100n / b[0];
    for (const i of prange(out.length)) out[i] = b[i] > 3n ? q : 100n / b[i] + q;
    return q % b[1];
  }`);
  const b = BigInt64Array.from({ length: 900 }, (_, i) => BigInt(i % 7) + 1n);
  const [x, y] = [new BigInt64Array(900), new BigInt64Array(900)];
  expect(on(7, () => fn(x, b))).toBe(fn.plain(y, b));
  expectSame([...x], [...y]);
  b[700] = 0n;
  expect(() => on(7, () => fn(x, b))).toThrow(/divided by 0n\. \(line 3 of/);
  b[0] = 0n;
  expect(() => on(7, () => fn(x, b))).toThrow(/divided by 0n\. \(line 2 of/);
});

describe("what overlaps in memory runs in order", () => {
  const shifted = made(
    "(out, a, { prange }) => { for (const i of prange(a.shape[0])) out.set([i], a.get(i) + 1); }",
  );

  test("an output over its input", () => {
    scope(() => {
      const make = () => {
        const base = f64(1001);
        return [base.slice("1:"), base.slice(":-1")] as [Tensor, Tensor];
      };
      const [a, b] = [make(), make()];
      shifted.plain(...a);
      expect(a[0].get(999)).toBe(1000);
      on(7, () => shifted(...b));
      expectSame(outcome(null, b), outcome(null, a));
    });
  });

  test("typed arrays over one buffer", () => {
    const fn = made("(out, a, { prange }) => { for (const i of prange(a.length)) out[i] = a[i] + 1; }");
    const buffer = new ArrayBuffer(8 * 1001);
    const [out, a] = [new Float64Array(buffer, 8), new Float64Array(buffer, 0, 1000)];
    on(7, () => fn(out, a));
    expect(out[999]).toBe(1000);
  });

  test("views that interleave do not", () => {
    scope(() => {
      const base = randomTensor([2000], "f64", 9);
      const [even, odd] = [base.slice("::2"), base.slice("1::2")] as Tensor[];
      const before = poolOf(2).tally.tasks;
      on(2, () => shifted(even, odd));
      expect(poolOf(2).tally.tasks).toBe(before + 256);
      expect(even.get(7)).toBe((odd.get(7) as number) + 1);
    });
  });

  test("rows that are 0 apart", () => {
    const fn = made(
      "(out, n, m, { prange }) => { for (const i of prange(n)) out[i * m] = out[i * m] * 2 + i; }",
    );
    for (const m of [0, 1, 3]) {
      const [a, b] = [new Float64Array(300).fill(1), new Float64Array(300).fill(1)];
      fn.plain(a, 90, m);
      on(7, () => fn(b, 90, m));
      expect([...b]).toEqual([...a]);
    }
  });
});

describe("loops that cannot be counted run in order", () => {
  test("bounds that are no 32-bit integers", () => {
    const fn = made(
      "(out, n, { prange }) => { let s = 0; for (const i of prange(n)) { out[i] = i; s += i; } return s; }",
    );
    const out = new Float64Array(5);
    expect(fn(out, 2.5)).toBe(3);
    expect(fn(out, Number.NaN)).toBe(0);
    expect(fn(out, -3)).toBe(0);
    expect([...out]).toEqual([0, 1, 2, 0, 0]);
    expect(forksIn(fn, [out, 2.5])).toBe(0);
    expect(forksIn(fn, [out, 2])).toBe(1);
  });

  const turn = (at: string) => `for (let k = 0; k < 30; k++) y[${at}] = (y[${at}] * 3 + i) % 1009;`;
  const over = (at: string, before = "") =>
    made(`(y, m, c, d, { prange }) => { for (const i of prange(m)) { ${before} ${turn(at)} } }`);
  const same = (fn: Njit, ...args: NjitValue[]) => {
    const [a, b] = [new Float64Array(1000).fill(1), new Float64Array(1000).fill(1)];
    const first = (message: string) => message.replace(/ \(line[\s\S]*/, "");
    const outcomeOf = (run: () => unknown) => {
      try {
        return run();
      } catch (error) {
        if (error instanceof TensorError) return first(error.message);
        throw error;
      }
    };
    const plain = outcomeOf(() => fn.plain(a, ...args));
    expect(outcomeOf(() => on(7, () => fn(b, ...args)))).toBe(plain);
    // Of a call that failed, later turns may have been made too.
    if (plain === undefined) expectSame([...b], [...a]);
  };
  const huge = [2 ** 53, -(2 ** 53), 2 ** 53 + 2, 2 ** 60, 2 ** 80, -(2 ** 80), 1e300, 0.5, 2 ** 31, -0];

  test.each([
    ["i + c - c", ""],
    ["c - (c - i)", ""],
    ["i + (c - c)", ""],
    ["i * 2 + c - c + 1", ""],
    ["(i + c) * 1 - c", ""],
    ["-(-i - c) - c", ""],
    ["i + c * d - c * d", ""],
    ["at - c", "const at = i + c;"],
    ["i + far - far", "const far = c * 1;"],
    ["Number(i + c) - c", ""],
  ])("an index that may have been rounded: %s", (at, before) => {
    const fn = over(at, before);
    for (const c of huge) {
      expect(forksIn(fn, [new Float64Array(1), 900, c, 3])).toBe(0);
      same(fn, 300, c, 3);
    }
    // Where nothing is rounded, it is told as ever.
    for (const c of [0, 7, -7, 2 ** 30]) {
      expect(forksIn(fn, [new Float64Array(1), 900, c, 3])).toBe(1);
      same(fn, 300, c, 3);
    }
  });

  test.each([
    "(y, m, c, d, { prange }) => { for (const i of prange(m)) for (let j = 0; j < d + c - c; j++) for (let k = 0; k < 30; k++) y[i * d + j] = (y[i * d + j] * 3 + i) % 1009; }",
    "(y, m, c, d, { prange }) => { const w = d + c - c; if (w === d) return; for (const i of prange(m)) for (let j = 0; j < w; j++) for (let k = 0; k < 30; k++) y[i * d + j] = (y[i * d + j] * 3 + i) % 1009; }",
    "(y, m, c, d, { prange }) => { const w = m + c - c; for (const i of prange(w)) { y[i] += i; for (let k = 0; k < 30; k++) y[i + m] = (y[i + m] * 3 + i) % 1009; } }",
    "(y, m, c, d, { prange }) => { const w = m + c - c; if (w !== 300) return; for (const i of prange(w)) { y[i] += i; for (let k = 0; k < 30; k++) y[i + m] = (y[i + m] * 3 + i) % 1009; } }",
  ])("a bound that may have been rounded: %#", (text) => {
    const fn = made(text);
    for (const c of huge) {
      expect(forksIn(fn, [new Float64Array(1), 299, c, 3])).toBe(0);
      same(fn, 299, c, 3);
    }
  });

  test("numbers in an index that could round it are not told", () => {
    for (const c of ["2 ** 53", "2 ** 60", "1e300"])
      expect(() => over(`i + ${c} - ${c}`)).toThrow(/may share y\[i \+ .*whether they do cannot be told/);
    const half = over("i + 0.5 - 0.5");
    expect(forksIn(half, [new Float64Array(1), 900, 1, 1])).toBe(0);
    same(half, 900, 1, 1);
    same(over(`i + ${2 ** 40} - ${2 ** 40}`), 300, 1, 1);
  });

  test("an index may be beyond 2^53 where nothing brings it back", () => {
    const grid =
      "(y, n, m, h, { prange }) => { for (const i of prange(h)) for (let j = 0; j < n; j++) for (let k = 0; k < m; k++) y[AT] = i; }";
    const y = new Float64Array(8);
    for (const at of ["(i * n + j) * m + k", "i * n * m + j * m + k", "k + (j + n * i) * m"]) {
      const fn = made(grid.replace("AT", at));
      for (const n of [2, 3e4, 2e9]) expect(forksIn(fn, [y, n, n, 9])).toBe(1);
      expect(forksIn(fn, [y, 2 ** 40, 2, 9])).toBe(0);
    }
    const back = "i * n + j - (n * m - n * m)";
    expect(forksIn(made(grid.replace("AT", back)), [y, 2, 2, 2])).toBe(1);
    expect(forksIn(made(grid.replace("AT", back)), [y, 2e9, 2e9, 2])).toBe(0);
  });

  test("rows whose length is no whole number", () => {
    const fn = made(
      "(out, n, h, w, { prange }) => { for (const i of prange(n)) for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) out[(i * h + y) * w + x] = i; }",
    );
    const [a, b] = [new Float64Array(60), new Float64Array(60)];
    expect(forksIn(fn, [a, 2, 2.5, 4])).toBe(0);
    expect(forksIn(fn, [a, 2, 2, 4])).toBe(1);
    fn.plain(a, 3, 2.5, 4);
    on(7, () => fn(b, 3, 2.5, 4));
    expect([...b]).toEqual([...a]);
  });
});
