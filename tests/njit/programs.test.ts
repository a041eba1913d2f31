/** Classic programs: compiled, interpreted and called plainly they do the same. */
import { describe, expect, test } from "vitest";
import { scope } from "../../src/index.ts";
import { insideOf } from "../../src/njit/njit.ts";
import { expectSame, outcome } from "./compare.ts";
import { programs } from "./programs.ts";

describe("classic programs", () => {
  test.each(programs)("$name: compiled equals plain", ({ fn, make, ulps = 0 }) => {
    scope(() => {
      const [a, b, c] = [make(), make(), make()];
      const plain = outcome(fn.plain(...a), a);
      expectSame(outcome(fn(...b), b), plain, ulps);
      expectSame(outcome(insideOf(fn).interpreted(c), c), plain);
    });
  });

  test("there are at least 20 of them", () => {
    expect(programs.length).toBeGreaterThanOrEqual(20);
  });
});
