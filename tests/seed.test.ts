/** The tests of the gate do not depend on luck. */
import fc from "fast-check";
import { expect, it } from "vitest";

it("what is random is drawn from one seed, in samples and in properties", () => {
  expect(Number.isInteger(fc.readConfigureGlobal().seed)).toBe(true);
  const drawn = () => {
    const seen: number[] = [];
    fc.assert(fc.property(fc.nat(), (x) => void seen.push(x)));
    return [seen, fc.sample(fc.nat(), 20)];
  };
  expect(drawn()).toEqual(drawn());
});
