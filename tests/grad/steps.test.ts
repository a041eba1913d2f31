/** 10,000 synchronous steps: nothing grows. A battery; memory.test.ts walks a shorter way. */
import { expect, test } from "vitest";
import { gptSteps, mlpSteps } from "./steps.ts";

test.each([
  ["a network of three layers", mlpSteps],
  ["a transformer", gptSteps],
] as const)("10,000 steps of %s keep tensors and bytes constant", (_, steps) => {
  const { before, most, after, peakGrew, losses } = steps(10_000);
  expect(most).toEqual(before);
  expect(after).toEqual(before);
  expect(peakGrew).toBe(0);
  expect(losses[1]).toBeLessThan(losses[0]);
});
