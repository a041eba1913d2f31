/** Each slow function, executed, against JavaScript. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Lane } from "../../dtype.ts";
import { ops } from "../../ir/ops.ts";
import { slowFunctions as interpreted } from "../../ir/slow.ts";
import { ModuleBuilder } from "../assembler/assembler.ts";
import { slowFunctions, TWO_OVER_PI } from "./slow.ts";

type Scalar = number | bigint;

/** The function as an export. */
function compiled(name: string, lane: Lane): (...args: Scalar[]) => Scalar {
  const module = new ModuleBuilder();
  const callee = slowFunctions(module)(name, lane);
  const run = module.func("run", callee.type.params, callee.type.results, { export: true });
  for (const p of run.params) run.get(p);
  run.call(callee);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()));
  return instance.exports.run as (...args: Scalar[]) => Scalar;
}

const awkward = [
  0,
  -0,
  1,
  -1,
  2,
  3,
  0.1,
  -0.5,
  5e-324,
  -1.5e-323,
  2.2250738585072014e-308,
  2.225073858507201e-308,
  1e-300,
  1e16,
  9007199254740991,
  9007199254740994,
  2 ** 63,
  2 ** 1023,
  1.7976931348623157e308,
  1e22,
  Math.PI,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  4503599627370497,
  0.3,
  1 / 3,
];

const double = fc.oneof(
  fc.constantFrom(...awkward),
  fc.double(),
  fc.double({ min: -1e6, max: 1e6 }),
  fc.integer({ min: -1000, max: 1000 }),
);

describe("rem", () => {
  test("is JavaScript's %, to the bit, on doubles", () => {
    const rem = compiled("rem", "f64");
    for (const a of awkward) for (const b of awkward) expect(rem(a, b), `${a} % ${b}`).toBe(a % b);
    fc.assert(
      fc.property(double, double, (a, b) => {
        expect(rem(a, b)).toBe(a % b);
      }),
      { numRuns: 20_000 },
    );
  });

  test("is JavaScript's %, to the bit, on floats", () => {
    const rem = compiled("rem", "f32");
    const float = double.map(Math.fround);
    fc.assert(
      fc.property(float, float, (a, b) => {
        expect(rem(a, b)).toBe(a % b);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("integer powers", () => {
  test("wrap, and truncate for negative exponents, as the interpreter's", () => {
    const cases = [
      { name: "ipow", lane: "i32", wrap: (x: number) => x | 0, min: -(2 ** 31), max: 2 ** 31 - 1 },
      { name: "upow", lane: "i32", wrap: (x: number) => x >>> 0, min: 0, max: 2 ** 32 - 1 },
    ] as const;
    for (const { name, lane, wrap, min, max } of cases) {
      const run = compiled(name, lane);
      const int = fc.oneof(
        fc.integer({ min: Math.max(min, -5), max: 40 }),
        fc.constantFrom(min, max),
        fc.integer({ min, max }),
      );
      fc.assert(
        fc.property(int, int, (a, b) => {
          expect(wrap(run(a, b) as number)).toBe(wrap(Number(ops.pow.int!(a, b, 0))));
        }),
        { numRuns: 3000 },
      );
    }
  });

  test("of 64-bit integers too", () => {
    for (const [name, min, max] of [
      ["ipow", -(2n ** 63n), 2n ** 63n - 1n],
      ["upow", 0n, 2n ** 64n - 1n],
    ] as const) {
      const run = compiled(name, "i64");
      const small = { min: min < 0n ? -5n : 0n, max: 70n };
      const int = fc.oneof(fc.bigInt(small), fc.constantFrom(min, max), fc.bigInt({ min, max }));
      fc.assert(
        fc.property(int, int, (a, b) => {
          const want = BigInt.asIntN(64, interpreted[name](a, b) as bigint);
          expect(BigInt.asIntN(64, run(a, b) as bigint)).toBe(want);
        }),
        { numRuns: 3000 },
      );
    }
  });
});

test("a module gets each function once", () => {
  const module = new ModuleBuilder();
  const find = slowFunctions(module);
  expect(find("rem", "f32")).toBe(slowFunctions(module)("rem", "f32"));
  expect(find("rem", "f64")).not.toBe(find("rem", "f32"));
});

describe("angles", () => {
  test("the words of 2/π are those of Machin's formula", () => {
    const bits = 64n * BigInt(TWO_OVER_PI.length + 1);
    /** atan(1/n) · 2^bits. */
    const arc = (n: bigint) => {
      let sum = 0n;
      for (let k = 1n, power = (1n << bits) / n; power > 0n; power /= n * n, k += 2n) {
        sum += k % 4n === 1n ? power / k : -(power / k);
      }
      return sum;
    };
    const pi = 4n * (4n * arc(5n) - arc(239n));
    const digits = (2n << (2n * bits)) / pi; // 2/π · 2^bits
    const table = TWO_OVER_PI.reduce((all, word) => (all << 64n) | word, 0n);
    expect(table).toBe(digits >> 128n);
  });

  const huge = [
    1e4,
    12801,
    2e5 + 0.5,
    1e15,
    1e22,
    1e300,
    1e308,
    Number.MAX_VALUE,
    6381956970095103 * 2 ** 797,
    2 ** 1000,
  ];
  for (const name of ["sin", "cos", "tan"] as const) {
    test(`${name} of huge doubles is within 1 ulp of JavaScript's`, () => {
      const run = compiled(name, "f64");
      const check = (x: number) => {
        const want = Math[name](x);
        const got = run(x) as number;
        const ulp = 2 ** (Math.floor(Math.log2(Math.abs(want))) - 52);
        if (!(Math.abs(got - want) <= ulp)) expect.fail(`${name}(${x}): got ${got}, expected ${want}`);
      };
      for (const x of huge) for (const s of [1, -1]) check(s * x);
      for (let n = 1; n < 4000; n++) check((n * 7919 * Math.PI) / 2);
      fc.assert(fc.property(fc.double({ min: 1, noNaN: true, noDefaultInfinity: true }), check), {
        numRuns: 5000,
      });
      for (const x of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
        expect(run(x)).toBeNaN();
    });

    test(`${name} of huge floats is JavaScript's, rounded`, () => {
      const run = compiled(name, "f32");
      fc.assert(
        fc.property(fc.float({ min: 1, noNaN: true, noDefaultInfinity: true }), (x) => {
          const want = Math.fround(Math[name](x));
          expect(Math.abs((run(x) as number) - want)).toBeLessThanOrEqual(Math.abs(want) * 2 ** -23);
        }),
        { numRuns: 3000 },
      );
    });
  }
});
