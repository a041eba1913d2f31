/** Functions of an element with loops: what they compute, on every way of computing, and how they fail. */
import { describe, expect, test } from "vitest";
import { engine } from "../../src/engine.ts";
import { expectSame, lowered, programOf } from "../../src/frontend/testing.ts";
import {
  arange,
  arrayEqual,
  configure,
  fromFunction,
  full,
  kernel,
  mapReduce,
  type Tensor,
  tensor,
  zeros,
  zip,
} from "../../src/index.ts";
import { evaluator, Failure } from "../../src/ir/eval.ts";
import { MOST_ROUNDS } from "../../src/ir/node.ts";
import { printProgram } from "../../src/ir/print.ts";
import { refused } from "../refused.ts";

configure({ threads: 2 });

type Scalar = (...args: number[]) => number | boolean;

/** Compiled, it gives what the function itself gives on f64, to the bit. */
function same(fn: Scalar, ...columns: readonly (readonly number[])[]): void {
  const tensors = columns.map((values) => tensor([...values], { dtype: "f64" }));
  const got = zip(tensors, fn as never).toArray() as unknown[];
  const want = columns[0].map((_, i) => fn(...columns.map((c) => c[i])));
  expect(got).toEqual(want);
}

const mandelbrot = (cr: number, ci: number) => {
  let zr = 0;
  let zi = 0;
  let n = 0;
  while (n < 100 && zr * zr + zi * zi <= 4) {
    const t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    n++;
  }
  return n;
};

describe("loops compute what JavaScript computes", () => {
  const numbers = [0, 1, 2, 3, 7, 12, 27, 97, 255, 1000];

  test("while: Mandelbrot, Collatz, the greatest common divisor, bits that are set", () => {
    const re = Array.from({ length: 37 }, (_, i) => -2 + i * 0.08);
    const im = re.map((x) => Math.sin(x * 3));
    same(mandelbrot, re, im);
    same((x) => {
      let n = 0;
      while (x > 1) {
        x = x % 2 === 0 ? x / 2 : 3 * x + 1;
        n++;
      }
      return n;
    }, numbers);
    same(
      (a, b) => {
        while (b !== 0) {
          const t = a % b;
          a = b;
          b = t;
        }
        return a;
      },
      numbers,
      numbers.toReversed(),
    );
    same((x) => {
      let n = 0;
      for (; x !== 0; x >>>= 1) n += x & 1;
      return n;
    }, numbers);
  });

  test("do, with a return in the middle: Newton's square root", () => {
    same((x) => {
      let r = x / 2 + 1;
      do {
        const next = (r + x / r) / 2;
        if (Math.abs(next - r) < 1e-12) return next;
        r = next;
      } while (r !== -1);
      return r;
    }, numbers);
  });

  test("break and continue, of the loop and of the one around it", () => {
    same((x) => {
      let s = 0;
      outer: for (let i = 0; i < x; i++) {
        if (i % 3 === 1) continue;
        for (let j = 0; ; j++) {
          if (j > i) continue outer;
          if (i * j > 50) break outer;
          if (j % 2) continue;
          s += i * j;
          if (s > 5000) return -s;
        }
      }
      return s;
    }, numbers);
    expectSame(
      (x) => (x > 5 ? x : x + 1),
      "x => { let s = 0; block: { if (x > 5) break block; s = 1; } return s + x }",
    );
  });

  test("a test that assigns, a variable that is a number or a boolean, a helper that counts", () => {
    same((x) => {
      let n = 10;
      while (n-- > x) {}
      return n;
    }, numbers);
    same((x) => {
      let found: number | boolean = 0;
      for (let i = 2; i < x; i++) {
        if (x % i === 0) {
          found = true;
          break;
        }
      }
      return Number(found);
    }, numbers);
    same((x) => {
      let calls = 0;
      const half = (y: number) => {
        calls++;
        return y / 2;
      };
      while (x > 1) x = half(x);
      return calls + x;
    }, numbers);
  });

  test("bounds that are data, NaN, fractions and beyond", () => {
    same(
      (n) => {
        let s = 0;
        for (let i = 0; i < n && i < 500; i++) s += i;
        return s;
      },
      [Number.NaN, -1, 0.5, 3.999, 1e300, Number.POSITIVE_INFINITY, -0],
    );
  });

  test("a literal bound of any size; short loops are unrolled as before", () => {
    same(
      (x) => {
        let s = 0;
        for (let i = 0; i < 100_000; i++) s += x * i;
        return s;
      },
      [1, 0.1, -3],
    );
    const ops = (fn: string) => lowered(fn).nodes.map((node) => node.op);
    expect(ops("x => { let s = 0; for (let i = 0; i < 64; i++) s += x; return s }")).not.toContain("loop");
    expect(ops("x => { let s = 0; for (let i = 0; i < 65; i++) s += x; return s }")).toContain("loop");
  });

  test("what does not change in the loop is computed before it", () => {
    const program = programOf("(x, y) => { let s = 0; while (s < 100) s += Math.sqrt(x) * y; return s }", [
      "f32",
      "f32",
    ]);
    expect(printProgram(program)).toMatchInlineSnapshot(`
      "%0 = const bool 1
      %1 = input f32 #0
      %2 = sqrt f32 %1
      %3 = input f32 #1
      %4 = mul f32 %2 %3
      %5 = const f32 0
      %6 = loop f32 if %0 from %5 with %4 {
        %0 = input f32 #0
        %1 = input f32 #1
        %2 = const f32 100
        %3 = lt bool %0 %2
        %4 = add f32 %0 %1
        while %3 next %4
      }
      %7 = item f32 %6 #0
      return f32 %7"
    `);
  });

  test("dtypes: what is carried takes the dtype it meets, and stays a number where it meets none", () => {
    const x = tensor([250, 7], { dtype: "u8" });
    const sum = x.map((v) => {
      let s = 0;
      for (let i = 0; i < v; i++) s += v;
      return s;
    });
    expect([sum.dtype, sum.toArray()]).toEqual(["u8", [(250 * 250) & 255, 49]]);
    const halves = tensor([5, 9], { dtype: "i32" }).map((v) => {
      while (v > 3) v = v / 2;
      return v;
    });
    expect([halves.dtype, halves.toArray()]).toEqual(["f64", [2.5, 2.25]]);
    const bits = tensor([5n, 9n], { dtype: "i64" }).map((v) => {
      let n = 0n as unknown as number;
      while (v > 0) {
        n = n + (v & (1n as unknown as number));
        v = v >> (1n as unknown as number);
      }
      return n;
    });
    expect([bits.dtype, bits.toArray()]).toEqual(["i64", [2n, 2n]]);
    const half = tensor([1, 2], { dtype: "f16" }).map((v) => {
      let s = 0;
      for (let i = 0; i < 100; i++) s += v / 3;
      return s;
    });
    // Held in f32 all along, rounded once.
    let inFloat = 0;
    for (let i = 0; i < 100; i++) inFloat = Math.fround(inFloat + Math.fround(1 / 3));
    expect(half.get(0)).toBe(tensor([inFloat], { dtype: "f16" }).get(0));
  });
});

describe("everywhere that a function of an element is taken", () => {
  const count = (x: number) => {
    let n = 0;
    while (x > 1) {
      x /= 2;
      n++;
    }
    return n;
  };

  test("map, zip, kernel, into, several results, reduce, mapReduce, scan, fromFunction", () => {
    const x = tensor([1, 2, 5, 9], { dtype: "f64" });
    const want = [0, 1, 3, 4];
    expect(x.map(count).toArray()).toEqual(want);
    const k = kernel(count);
    expect(k(x).toArray()).toEqual(want);
    expect(k(9)).toBe(4);
    const out = zeros([4], { dtype: "f64" });
    expect(k.into(out, x)).toBe(out);
    expect(out.toArray()).toEqual(want);
    const own = tensor([1, 2, 5, 9], { dtype: "f64" });
    expect(k.into(own, own).toArray()).toEqual(want);
    const both = kernel((v: number) => {
      let n = 0;
      let s = 0;
      while (n < v) {
        n++;
        s += n;
      }
      return [n, s];
    });
    expect(both(x).map((t: Tensor) => t.toArray())).toEqual([
      [1, 2, 5, 9],
      [1, 3, 15, 45],
    ]);
    expect(k.reduce("sum")(x).item()).toBe(8);
    expect(mapReduce([x], count, { reduce: "max" }).item()).toBe(4);
    const gcd = (a: number, b: number) => {
      while (b !== 0) {
        const t = a % b;
        a = b;
        b = t;
      }
      return a;
    };
    expect(tensor([84, 36, 60], { dtype: "i32" }).reduce(gcd).item()).toBe(12);
    expect(tensor([84, 36, 60], { dtype: "i32" }).scan(gcd).toArray()).toEqual([84, 12, 12]);
    const pascal = fromFunction(
      (i, j) => {
        let c = 1;
        for (let t = 0; t < j; t++) c = (c * (i - t)) / (t + 1);
        return c;
      },
      [5, 5],
      { dtype: "f64" },
    );
    expect(pascal.toArray()[4]).toEqual([1, 4, 6, 4, 1]);
    const outer = kernel((v: number, { k }: { k: (v: number) => number }) => (v > 2 ? k(v) : -1), { k });
    expect(outer(x).toArray()).toEqual([-1, -1, 3, 4]);
  });

  test("threads, SIMD, scalar code and the interpreter give the same bits", () => {
    const re = fromFunction((i) => -2 + i * 0.0087, [300, 401]);
    const im = fromFunction((i, j) => -1.2 + j * 0.006 + i * 0, [401, 300]).T;
    const run = () => zip([re, im], mandelbrot);
    const want = run();
    expect(engine().walker.shared).toBe(true);
    const { kernels } = engine();
    expect(arrayEqual(kernels.alone(run), want)).toBe(true);
    kernels.simd = false;
    try {
      expect(arrayEqual(run(), want)).toBe(true);
    } finally {
      kernels.simd = true;
    }
    const e = engine();
    const before = e.executor;
    e.executor = e.interpreter;
    try {
      const some = zip([re.slice("0:3"), im.slice("0:3")], mandelbrot);
      expect(arrayEqual(some, want.slice("0:3"))).toBe(true);
    } finally {
      e.executor = before;
    }
  });
});

describe("loops that do not end", () => {
  test("are refused where that can be told", () => {
    expect(
      refused(() =>
        kernel((x: number) => {
          for (;;) x += 1;
        }),
      ),
    ).toMatchInlineSnapshot(`
      "(kernel) kernel: cannot compile this loop; nothing in it makes it end.
        for (;;) x += 1;
        ^^^^^^^^^^^^^^^^
        Change what its test reads, or leave it with break or return."
    `);
  });

  test("are an error, once, on all threads; nothing is changed and the pool lives", {
    timeout: 60_000,
  }, () => {
    const endless = kernel((x: number) => {
      let n = 0;
      while (n + x !== 0) n = n + x > 5 ? 0 : n + 1;
      return n;
    });
    const x = full([100_000], 1, { dtype: "f32" });
    const out = full([100_000], 7, { dtype: "f32" });
    expect(refused(() => endless.into(out, x))).toMatchInlineSnapshot(`
      "(kernel) kernel: the loops of one element went round more than 268435456 times; they are taken for endless.
        Give the loop a bound: while (n < 1000 && …)."
    `);
    expect(out.min().item()).toBe(7);
    expect(endless(zeros([3])).toArray()).toEqual([0, 0, 0]);
    expect(arange(100_000, { dtype: "f64" }).add(1).sum().item()).toBe(5000050000);
    expect(engine().pool.status().why).toBeNull();
  });

  test("nested loops share one bound", () => {
    const fn = "x => { let n = 0; for (let i = 0; i < x; i++) for (let j = 0; j < x; j++) n++; return n }";
    const program = programOf(fn, ["f64"]);
    const run = (rounds: number, x: number) => evaluator(program, [], { rounds })([x]);
    expect(run(110, 10)).toBe(100);
    expect(() => run(109, 10)).toThrow(Failure);
    expect(MOST_ROUNDS).toBe(2 ** 28);
  });
});
