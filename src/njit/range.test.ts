import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fold } from "../frontend/template.ts";
import { type OpName, ops } from "../ir/ops.ts";
import {
  anything,
  applyLaw,
  asIndex,
  type Comparison,
  isInt,
  isUint,
  joinRanges,
  MOST_SIZE,
  narrowed,
  narrowedNot,
  type Range,
  rangeOf,
  sameRange,
  wholes,
  widen,
} from "./range.ts";

const has = (r: Range, x: number): boolean => {
  if (Number.isNaN(x)) return r.nan;
  if (Object.is(x, -0) && !r.minusZero) return false;
  if (r.integral && Number.isFinite(x) && !Number.isInteger(x)) return false;
  return x >= r.lo && x <= r.hi && (!r.whole || Number.isInteger(x));
};

const whole = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.constantFrom(2 ** 31, 2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1, 2 ** 32, 2 ** 53, -(2 ** 53), 255, 1 << 20),
);
const bound = fc.oneof(
  whole,
  fc.constantFrom(0.5, -0.5, -1.5, 2.25, 1e300, -1e300, 5e-324, Infinity, -Infinity),
);

/** A range, and a number in it. */
const member: fc.Arbitrary<{ range: Range; x: number }> = fc
  .record({
    ends: fc.oneof(
      fc.tuple(bound, bound),
      bound.map((x) => [x, x] as const),
    ),
    isWhole: fc.boolean(),
    nan: fc.boolean(),
    minusZero: fc.boolean(),
    pick: fc.nat(7),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ ends, isWhole, nan, minusZero, pick, part }) => {
    const [a, b] = [Math.min(...ends) + 0, Math.max(...ends) + 0];
    const fits =
      isWhole &&
      Number.isInteger(a) &&
      Number.isInteger(b) &&
      Math.abs(a) <= 2 ** 53 &&
      Math.abs(b) <= 2 ** 53;
    const integral = fits || (isWhole && [a, b].every((x) => Number.isInteger(x) || !Number.isFinite(x)));
    const range: Range = {
      lo: a,
      hi: b,
      whole: fits,
      nan,
      minusZero: minusZero && a <= 0 && b >= 0,
      integral,
      below: undefined,
    };
    const between = integral ? Math.round(a + part * (b - a)) + 0 : a + part * (b - a) + 0;
    const candidates = [a, b, 0, NaN, -0, between, between, Math.min(b, a + 1)];
    const x = candidates[pick];
    return { range, x: has(range, x) ? x : a };
  });

describe("ranges", () => {
  const known = Object.keys(ops).filter(
    (op) => applyLaw(op as OpName, [wholes(1, 1), wholes(1, 1)]) !== anything,
  );

  test("most operations of integers have a law", () => {
    expect(known).toEqual(
      expect.arrayContaining("add sub mul rem floor bitAnd shru imul min neg".split(" ")),
    );
  });

  test.each(known as OpName[])("what %s makes of members is a member of what its law gives", (op) => {
    fc.assert(
      fc.property(member, member, (a, b) => {
        const args = [a, b].slice(0, ops[op].arity);
        const result = fold(
          op,
          args.map((m) => m.x),
        ) as number;
        const law = applyLaw(
          op,
          args.map((m) => m.range),
        );
        expect(
          has(law, Number(result)),
          `${op} ${args.map((m) => JSON.stringify(m)).join(" ")} = ${result}`,
        ).toBe(true);
      }),
      { numRuns: 4000 },
    );
  });

  const comparisons: Record<Comparison, (a: number, b: number) => boolean> = {
    lt: (a, b) => a < b,
    le: (a, b) => a <= b,
    gt: (a, b) => a > b,
    ge: (a, b) => a >= b,
    eq: (a, b) => a === b,
    ne: (a, b) => a !== b,
  };
  test.each(Object.keys(comparisons) as Comparison[])(
    "where %s holds, or does not, its operand stays a member",
    (op) => {
      fc.assert(
        fc.property(member, member, (a, b) => {
          const how = comparisons[op](a.x, b.x) ? narrowed : narrowedNot;
          const proved = how(a.range, op, b.range);
          expect(
            proved !== null && has(proved, a.x),
            `${JSON.stringify([a, b])} gives ${JSON.stringify(proved)}`,
          ).toBe(true);
        }),
        { numRuns: 4000 },
      );
    },
  );

  test("what may be NaN differs from the one number it can be besides", () => {
    const zeroOrNaN = { ...wholes(0, 0), nan: true };
    expect(narrowed(wholes(0, 0), "ne", zeroOrNaN)).toEqual(wholes(0, 0));
    expect(narrowedNot(wholes(0, 0), "eq", zeroOrNaN)).toEqual(wholes(0, 0));
    expect(narrowed(wholes(0, 0), "ne", wholes(0, 0))).toBeNull();
  });

  test("joined and widened ranges hold what either did, and widening ends", () => {
    fc.assert(
      fc.property(member, member, (a, b) => {
        const grown = widen(a.range, b.range);
        for (const r of [joinRanges(a.range, b.range), grown]) expect(has(r, a.x) && has(r, b.x)).toBe(true);
        let [r, rounds] = [a.range, 0];
        for (let next = widen(r, b.range); !sameRange(r, next); next = widen(r, b.range)) {
          r = next;
          rounds++;
        }
        expect(rounds).toBeLessThan(12);
      }),
      { numRuns: 2000 },
    );
  });

  test("a literal is what it is, and what an index was in range is one", () => {
    for (const x of [0, -0, 1.5, NaN, Infinity, 2 ** 53, -7]) expect(has(rangeOf(x), x)).toBe(true);
    expect(isInt(rangeOf(-0))).toBe(false);
    expect(isInt(rangeOf(-7)) && !isUint(rangeOf(-7)) && isUint(rangeOf(3e9)) && !isInt(rangeOf(3e9))).toBe(
      true,
    );
    expect(asIndex(anything)).toMatchObject({ lo: 0, hi: MOST_SIZE - 1, whole: true, nan: false });
  });
});
