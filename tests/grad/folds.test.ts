/** Gradients of folds: where elements are many, where they are mapped first, where the first one stands for itself. */
import { describe, expect, it } from "vitest";
import { grad } from "../../src/grad.ts";
import { arange, norm, ones, type Tensor, zeros } from "../../src/index.ts";
import { crossEntropy, mse } from "../../src/nn.ts";

describe("gradients of half floats", () => {
  // f16 ends at 65,504.
  const n = 70_000;
  const wave = arange(n, { dtype: "f64" }).sin();
  const alike = ones([n], { dtype: "f64" });
  const scores = wave.expandDims(1).mul(arange(2));
  const ways: Readonly<Record<string, readonly [(t: Tensor) => Tensor, Tensor]>> = {
    mean: [(t) => t.mean(), wave],
    var: [(t) => t.var(), wave],
    std: [(t) => t.std(), wave],
    max: [(t) => t.max(), alike],
    norm: [(t) => norm(t, { ord: Number.POSITIVE_INFINITY }), alike],
    mse: [(t) => mse(t, zeros([n], { dtype: t.dtype as "f16" })), wave],
    crossEntropy: [(t) => crossEntropy(t, zeros([n], { dtype: "i32" })), scores],
  };
  it.each(Object.entries(ways))("of %s are shared among more elements than they count", (_, [f, x]) => {
    const weights = x.add(2);
    const sum = (t: Tensor) => grad(f)(t).to("f64").mul(weights).sum().item() as number;
    const want = sum(x);
    expect(Math.abs(want)).toBeGreaterThan(0.1);
    for (const dtype of ["f16", "bf16"] as const)
      expect(Math.abs(sum(x.to(dtype)) - want)).toBeLessThan(0.03 * Math.abs(want));
  });
});
