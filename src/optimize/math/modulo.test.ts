/** Remainders, floor division and integer powers as arithmetic equal their definitions in ops.ts, to the bit. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type DType, dtypes, type Value } from "../../dtype.ts";
import { Builder } from "../../ir/build.ts";
import { type Evaluator, evaluator } from "../../ir/eval.ts";
import type { OpName } from "../../ir/ops.ts";
import { verify } from "../../ir/verify.ts";
import { expandExact } from "../exact.ts";
import type { Decomposition } from "./kit.ts";
import { integerPower, moduloTable } from "./modulo.ts";

const awkward = [
  0,
  -0,
  1,
  -1,
  2,
  3,
  -3,
  0.1,
  -0.5,
  0.3,
  1e-300,
  1e16,
  9007199254740991,
  2 ** 63,
  2 ** 1023,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
  -3 * Number.MIN_VALUE,
  2.225073858507201e-308,
  1.1754943508222875e-38,
  1e-45,
  Math.PI,
  2 ** 26,
  2 ** 29,
  2 ** 29 - 1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];

function pair(d: DType, op: OpName, decompose: Decomposition): { fast: Evaluator; slow: Evaluator } {
  const inputs = [d, d];
  const b = new Builder();
  const args = [b.input(0, d), b.input(1, d)];
  const program = verify(b.finish(decompose(b, args, { fma: false }), inputs), op);
  const plain = new Builder();
  const slow = plain.finish(plain.op(op, plain.input(0, d), plain.input(1, d)), inputs);
  return { fast: evaluator(verify(expandExact(program), "exact")), slow: evaluator(slow) };
}

/** Numbers whose quotient is often an integer, or just not. */
const near = fc
  .tuple(
    fc.double({ min: 1e-3, max: 1e3, noNaN: true }),
    fc.integer({ min: 1, max: 2 ** 27 }),
    fc.integer({ min: -2, max: 2 }),
  )
  .map(([y, n, ulps]): [number, number] => {
    const x = y * n;
    return [x + (ulps * 2 ** Math.floor(Math.log2(x))) / 2 ** 52, y];
  });
const double = fc.oneof(
  fc.constantFrom(...awkward),
  fc.double(),
  fc.double({ min: -1e6, max: 1e6 }),
  fc.integer({ min: -1000, max: 1000 }),
);

for (const d of ["f32", "f64"] as const) {
  for (const op of ["rem", "floorMod", "floorDivide"] as const) {
    test(`${op} of ${d} equals its definition`, () => {
      const { fast, slow } = pair(d, op, moduloTable[op]!);
      const { wrap } = dtypes[d];
      const check = (x: number, y: number) => {
        const at = [wrap(x), wrap(y)];
        if (!Object.is(fast(at), slow(at)))
          expect.fail(`${op}(${at}): got ${fast(at)}, expected ${slow(at)}`);
      };
      for (const x of awkward) for (const y of awkward) check(x, y);
      const sign = fc.constantFrom(1, -1);
      const draw = fc.tuple(fc.oneof(fc.tuple(double, double), near), sign, sign);
      fc.assert(
        fc.property(draw, ([[x, y], s, t]) => check(s * x, t * y)),
        { numRuns: 10_000 },
      );
    });
  }
}

const integers = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"] as const;
for (const d of integers) {
  test(`powers of ${d} wrap as their definition`, () => {
    const { min, max, big } = dtypes[d];
    const value = (x: number | bigint): Value => (big ? BigInt(x) : Number(x));
    const bases = [min, max, 0, 1, 2, 3, 7, ...(min < 0 ? [-1, -2, -3] : [])].map(value);
    const exponents = [...bases, ...[4, 5, 6, 31, 32, 63, 64, 100].map(value)];
    const { fast, slow } = pair(d, "pow", integerPower);
    for (const n of exponents) {
      const b = new Builder();
      const fixed = integerPower(b, [b.input(0, d), b.constant(d, n)], { fma: false });
      const constant = evaluator(verify(b.finish(fixed, [d]), "pow"));
      for (const x of bases) {
        expect(fast([x, n]), `${x} ** ${n}`).toBe(slow([x, n]));
        expect(constant([x]), `${x} ** ${n}, a constant`).toBe(slow([x, n]));
      }
    }
  });
}
