/** Operations of nn that are one to the tape: their first and second derivatives, and what they refuse. */
import { describe, expect, it } from "vitest";
import { gradcheck } from "../../src/grad.ts";
import { fuse, random, type Tensor, tensor } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";

const rng = random.generator(5);
const f64 = (...shape: number[]) => rng.normal(shape, { dtype: "f64" });

describe("layerNorm", () => {
  const weighing = f64(3, 4);
  const loss = (x: Tensor, weight: Tensor, bias: Tensor) =>
    nn.layerNorm({ weight, bias }, x).sin().mul(weighing).sum();

  it("has the derivatives of differences, twice", () => {
    gradcheck(loss, [f64(3, 4), f64(4), f64(4)], { order: 2 });
    gradcheck(loss, [f64(4, 3).T, f64(8).slice("::2"), f64(4).flip()], { order: 2 });
    const plain = (x: Tensor, weight: Tensor) => nn.layerNorm({ weight }, x).exp().mul(weighing).sum();
    gradcheck(plain, [f64(3, 4), f64(4)], { order: 2 });
    const one = (x: Tensor, weight: Tensor, bias: Tensor) => nn.layerNorm({ weight, bias }, x).sin().sum();
    gradcheck(one, [f64(5), f64(5), f64(5)], { order: 2 });
  });

  it("is what a fused function makes of plain operations", () => {
    const [x, weight, bias] = [f64(6, 5), f64(5), f64(5)];
    const fused = fuse((t: Tensor, w: Tensor, b: Tensor) => nn.layerNorm({ weight: w, bias: b }, t));
    const apart = fused(x, weight, bias).sub(nn.layerNorm({ weight, bias }, x)).abs().max();
    expect(Number(apart.item())).toBeLessThan(1e-12);
  });
});

describe("linear", () => {
  const loss = (x: Tensor, weight: Tensor, bias: Tensor) => nn.linear({ weight, bias }, x).sin().sum();

  it("has the derivatives of differences, twice, of any layout", () => {
    gradcheck(loss, [f64(3, 4), f64(2, 4), f64(2)], { order: 2 });
    gradcheck(loss, [f64(4, 3).T, f64(8, 4).slice("::-4"), f64(4).slice("::2")], { order: 2 });
    gradcheck(loss, [f64(2, 3, 4), f64(2, 4), f64(2)], { order: 2 });
    gradcheck((x: Tensor, weight: Tensor) => nn.linear({ weight }, x).exp().sum(), [f64(3, 4), f64(2, 4)]);
    gradcheck(
      (x: Tensor) =>
        nn
          .linear({ weight: x, bias: x.slice(0) }, x)
          .sin()
          .sum(),
      [f64(3, 3)],
    );
    // A bias of one number, and one of another dtype, are added as they are anywhere else.
    gradcheck(loss, [f64(3, 4), f64(2, 4), f64(1)], { order: 2 });
    expect(nn.linear({ weight: f64(2, 4), bias: f64(2).to("f32") }, f64(3, 4)).dtype).toBe("f64");
  });
});

describe("crossEntropy", () => {
  const classes = tensor([2, 0, 1], { dtype: "i32" });

  it("has the derivatives of differences, twice", () => {
    const weighing = f64(3);
    const loss = (x: Tensor) => nn.crossEntropy(x, classes, { reduction: "none" }).sin().mul(weighing).sum();
    gradcheck(loss, [f64(3, 4)], { order: 2 });
    gradcheck(loss, [f64(4, 3).T], { order: 2 });
    gradcheck((x: Tensor) => nn.crossEntropy(x, classes), [f64(3, 4)], { order: 2 });
    gradcheck((x: Tensor) => nn.crossEntropy(x, classes, { reduction: "sum" }), [f64(3, 4)], { order: 2 });
  });

  it("refuses a class that has no score, and so does nll", () => {
    expect(() => nn.crossEntropy(f64(3, 2), classes)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: crossEntropy: a class is not among the 2 that have scores.
        Use whole numbers from 0 to 1.]
    `);
    expect(() => nn.nll(f64(3, 2), classes)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: nll: a class is not among the 2 that have scores.
        Use whole numbers from 0 to 1.]
    `);
    expect(() => nn.crossEntropy(f64(1, 2), tensor([-1], { dtype: "i32" }))).toThrow("not among the 2");
  });
});
