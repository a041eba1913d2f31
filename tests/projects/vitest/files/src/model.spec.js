import { arange, explain, tensor } from "strided";
import { expect, test } from "vitest";
import { clamp, layer, mix, relu, running, total, viaHelper } from "./model.js";

test("kernels of an instrumented module compute, and are compiled", () => {
  expect(relu(tensor([-1, 2])).toArray()).toEqual([0, 2]);
  expect(clamp(tensor([-3, 0.5, 3])).toArray()).toEqual([-1, 0.5, 1]);
  expect(viaHelper(tensor([0, 1])).toArray()).toEqual([1, Math.fround(Math.SQRT2)]);
  const a = arange(6).reshape(2, 3);
  for (const [run, want] of [
    [() => layer(a, a.T, tensor([0, 0])).shape, [2, 2]],
    [() => mix(a, a).get(1, 2), 75],
    [() => total(a).item(), 15],
    [() => running(tensor([1, 3, 2])).toArray(), [1, 3, 3]],
  ]) {
    const report = explain(run);
    expect(report.result).toEqual(want);
    expect(report.fallbacks).toEqual([]);
  }
});
