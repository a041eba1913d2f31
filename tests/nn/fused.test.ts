/** Layers and losses inside fused functions: what they give outside of them, and what they refuse. */
import { describe, expect, it } from "vitest";
import { grad } from "../../src/grad.ts";
import { fuse, ones, random, type Tensor, tensor } from "../../src/index.ts";
import { crossEntropy, linear, multiHeadAttention, nll } from "../../src/nn.ts";

const i32 = (data: number[]) => tensor(data, { dtype: "i32" });

describe("fused functions", () => {
  it("have layers with a bias", () => {
    const x = random.generator(1).normal([2, 3, 4]);
    const p = linear.init(4, 5, { rng: 2 });
    const f = (q: typeof p, y: Tensor) => linear(q, y).tanh();
    expect(fuse(f)(p, x).toArray()).toEqual(f(p, x).toArray());
    const loss = (g: typeof f) => grad((q: typeof p) => g(q, x).sum())(p);
    const [fused, plain] = [loss(fuse(f)), loss(f)].map(({ bias }) => bias!.toArray() as number[]);
    plain.forEach((g, i) => {
      expect(fused[i]).toBeCloseTo(g, 5);
    });
  });

  it("have attention", () => {
    const x = random.generator(1).normal([2, 3, 4]);
    const p = multiHeadAttention.init(4, { rng: 2 });
    const f = (q: typeof p, y: Tensor) => multiHeadAttention(q, y, { heads: 2, causal: true });
    expect(fuse(f)(p, x).toArray()).toEqual(f(p, x).toArray());
  });

  it("refuse a class without a score, in every call", () => {
    const scores = tensor([[5, 0, 0]]);
    for (const loss of [crossEntropy, nll, smoothed]) {
      const fused = fuse((s: Tensor, c: Tensor) => loss(s, c).mul(2));
      expect(fused(scores, i32([2])).item()).toBe(
        loss(scores, i32([2]))
          .mul(2)
          .item(),
      );
      for (const wrong of [7, 3, -1]) {
        expect(() => fused(scores, i32([wrong]))).toThrow("a class is not among the 3 that have scores.");
        expect(() => grad((s: Tensor) => fused(s, i32([wrong])))(scores)).toThrow("a class is not among");
      }
      const slope = grad((s: Tensor) => fused(s, i32([1])))(scores).toArray();
      expect(slope).toEqual(grad((s: Tensor) => loss(s, i32([1])).mul(2))(scores).toArray());
      // One that is the same in every call is known when the function is seen.
      expect(() => fuse((s: Tensor) => loss(s, i32([3])))(scores)).toThrow("a class is not among");
    }
  });

  it("take classes of any layout", () => {
    const scores = random.generator(3).normal([4, 3]);
    const wide = tensor([[0, 9, 2, 9, 1, 9, 0, 9]], { dtype: "u8" }).slice(0, [0, 8, 2]);
    const fused = fuse((s: Tensor, c: Tensor) => crossEntropy(s, c));
    expect(fused(scores, wide).item()).toBe(crossEntropy(scores, wide).item());
    expect(fused(ones([0, 3]), i32([])).item()).toBeNaN();
  });
});

const smoothed = (s: Tensor, c: Tensor) => crossEntropy(s, c, { labelSmoothing: 0.1 });
