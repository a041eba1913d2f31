/** A model learns, is saved, converted to blocks by the command line, loaded, and writes. A battery. */
import { expect, it } from "vitest";
import { circle } from "./circle.ts";

it("a trained GPT in q8_0 loses nothing, in q4_0 little, and both write", () => {
  const [f32, f16, q8, q4] = circle(40, ["f16", "q8_0", "q4_0"]);
  expect(f32.loss).toBeLessThan(2.5);
  expect(Math.abs(f16.loss - f32.loss)).toBeLessThan(0.001 * f32.loss);
  expect(Math.abs(q8.loss - f32.loss)).toBeLessThan(0.01 * f32.loss);
  expect(q4.loss).toBeLessThan(1.15 * f32.loss);
  // Blocks were loaded, not what they were made of.
  for (const { loss } of [q8, q4]) expect(loss).not.toBe(f32.loss);
  expect(q8.bytes).toBeLessThan(0.4 * f32.bytes);
  expect(q4.bytes).toBeLessThan(0.25 * f32.bytes);
  for (const { written } of [f32, f16, q8, q4]) {
    expect(written.startsWith("the ")).toBe(true);
    expect(written.length).toBeGreaterThan(140);
  }
}, 300_000);
