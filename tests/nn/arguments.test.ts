/** What losses, metrics and layers refuse: numbers that would be wrong without a word. */
import { describe, expect, it } from "vitest";
import { ones, type Tensor, tensor } from "../../src/index.ts";
import {
  batchNorm,
  confusion,
  embedding,
  groupNorm,
  huber,
  l1,
  meanAbsoluteError,
  mse,
  precisionRecall,
  r2,
} from "../../src/nn.ts";

const i32 = (data: number[] | number[][]) => tensor(data, { dtype: "i32" });

describe("metrics", () => {
  it("of classes refuse those that are not among them", () => {
    expect(() => confusion(i32([0, 5]), i32([0, 1]), 3)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: confusion: a class is not among the 3.
        Use whole numbers from 0 to 2.]
    `);
    expect(() => confusion(i32([-1]), i32([1]), 3)).toThrow("confusion: a class is not among the 3.");
    expect(() => confusion(i32([1]), i32([-1]), 3)).toThrow("confusion: a class is not among the 3.");
    expect(() => confusion(tensor([[0, 0, 0, 9]]), i32([1]), 3)).toThrow("a class is not among the 3.");
    expect(() => precisionRecall(i32([1, 2]), i32([0, 1]))).toThrow(
      "precisionRecall: a class is not among the 2.",
    );
    expect(confusion(i32([0, 2]), i32([0, 1]), 3).toArray()).toEqual([
      [1n, 0n, 0n],
      [0n, 0n, 1n],
      [0n, 0n, 0n],
    ]);
  });

  it("of distances are those of the numbers, whatever the dtype, and of one shape", () => {
    const [a, b] = [tensor([1], { dtype: "u8" }), tensor([3], { dtype: "u8" })];
    expect(meanAbsoluteError(a, b)).toBe(2);
    expect(meanAbsoluteError(tensor([true]), tensor([false]))).toBe(1);
    expect(() => meanAbsoluteError(tensor([[1], [2]]), tensor([1, 2]))).toThrow(
      "meanAbsoluteError: the prediction is [2, 1], the target [2].",
    );
    expect(() => r2(tensor([[1], [2]]), tensor([1, 2]))).toThrow("r2: the prediction is [2, 1]");
  });
});

describe("losses", () => {
  it("refuse integers alone, and take them beside floats", () => {
    for (const loss of [mse, l1, huber] as ((p: Tensor, t: Tensor) => Tensor)[])
      expect(() => loss(i32([100000]), i32([0]))).toThrow("the prediction is i32, the target i32.");
    expect(mse(tensor([1]), i32([3])).item()).toBe(4);
  });
});

describe("norms", () => {
  it("of channels name themselves where channels differ", () => {
    const { params, state } = batchNorm.init(3);
    expect(() => batchNorm(params, state, ones([4, 2]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: batchNorm: x is [4, 2], and the weight has 3 numbers.
        Channels are the second axis, [N, C, …], and each has one.]
    `);
    const one = { mean: ones([1]), variance: ones([2]) };
    expect(() => batchNorm(batchNorm.init(2).params, one, ones([4, 2]))).toThrow(
      "batchNorm: x is [4, 2], and the mean has 1 number.",
    );
    expect(() => groupNorm(groupNorm.init(3), ones([1, 4]), 2)).toThrow(
      "groupNorm: x is [1, 4], and the weight",
    );
  });

  it("keep their state where a batch is empty", () => {
    const { params, state } = batchNorm.init(2);
    expect(() => batchNorm(params, state, ones([0, 2]), { training: true })).toThrow(
      "batchNorm: x is [0, 2], which has no sample.",
    );
    expect(state.variance.toArray()).toEqual([1, 1]);
    expect(batchNorm(params, state, ones([0, 2])).shape).toEqual([0, 2]);
  });
});

describe("embedding", () => {
  it("counts words from 0", () => {
    const p = { weight: ones([3, 2]) };
    expect(() => embedding(p, i32([-1]))).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: embedding: an index is not among the 3 words.
        Use whole numbers from 0 to 2.]
    `);
    expect(() => embedding(p, i32([3]))).toThrow("embedding: an index is not among the 3 words.");
    expect(embedding(p, i32([[0, 2]])).shape).toEqual([1, 2, 2]);
  });
});
