/** Gradients of folds: where elements are many, where they are mapped first, where the first one stands for itself. */
import { describe, expect, it } from "vitest";
import { grad, gradcheck } from "../../src/grad.ts";
import {
  arange,
  kernel,
  linalg,
  mapReduce,
  nanmax,
  nanmin,
  nanstd,
  nanvar,
  norm,
  ones,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";
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

describe("gradients of folds without a start value", () => {
  const f64 = (values: readonly number[]) => tensor(values, { dtype: "f64" });
  const of = (f: (t: Tensor) => Tensor, values: readonly number[]) => grad(f)(f64(values)).toArray();
  const square = (x: number) => x * x;

  it("take the first element as it is, the others as the function does", () => {
    expect(of((t) => t.reduce((a, x) => a + x * x), [2, 3])).toEqual([1, 6]);
    expect(of((t) => t.reduce((a, x) => a + x * x, { init: 1 }), [2, 3])).toEqual([4, 6]);
    expect(of((t) => t.scan((a, x) => a + 2 * x).sum(), [1, 2, 3])).toEqual([3, 4, 2]);
    expect(of((t) => t.scan((a, x) => a + 2 * x, { init: 0 }).sum(), [1, 2, 3])).toEqual([6, 4, 2]);
  });

  it("that do not look at the others go to the first element", () => {
    expect(of((t) => t.reduce((a, _x) => a * a), [3, 1, 1])).toEqual([108, 0, 0]);
    expect(of((t) => t.scan((a, _x) => 2 * a).sum(), [3, 1, 1])).toEqual([7, 0, 0]);
    expect(of((t) => mapReduce([t], square, { reduce: (a, _x) => 2 * a }), [3, 1])).toEqual([12, 0]);
    expect(of((t) => t.reduce((a, _x) => 2 * a, { init: 1 }), [3, 1])).toEqual([0, 0]);
  });

  it("map the first element too", () => {
    expect(of((t) => mapReduce([t], square, { reduce: "max" }), [-3, 1, 2])).toEqual([-6, 0, 0]);
    expect(of((t) => mapReduce([t], square, { reduce: "max" }), [5])).toEqual([10]);
    expect(of((t) => mapReduce([t], square, { reduce: (a, x) => a * x }), [1, 2, 3])).toEqual([72, 36, 24]);
    expect(of((t) => mapReduce([t], square, { reduce: (a, x) => a + 2 * x }), [1, 2])).toEqual([2, 8]);
    expect(of((t) => kernel(square).reduce("min")(t), [1, -0.5])).toEqual([0, -1]);
    expect(of((t) => linalg.vectorNorm(t, { ord: Number.POSITIVE_INFINITY }), [-3, 1, 2])).toEqual([
      -1, 0, 0,
    ]);
    expect(of((t) => mapReduce([t], square, { reduce: "max", init: 100 }), [-3, 1])).toEqual([-0, 0]);
  });

  it("share among the largest of what is mapped, and pass by NaN where the function does", () => {
    expect(of((t) => mapReduce([t], Math.abs, { reduce: "max" }), [1, -1, 0, 1])).toEqual([
      1 / 3,
      -1 / 3,
      0,
      1 / 3,
    ]);
    expect(of((t) => nanmax(t), [Number.NaN, 1, 2, 0])).toEqual([0, 0, 1, 0]);
    expect(of((t) => nanmin(t), [Number.NaN, 1, 1])).toEqual([0, 0.5, 0.5]);
  });

  it("agree with differences, of several tensors and along axes, and so do their own gradients", () => {
    const [a, b] = [
      arange(24, { dtype: "f64" }).sin().reshape(2, 3, 4),
      arange(1, 4, { dtype: "f64" }).reshape(3, 1),
    ];
    for (const axis of [undefined, 0, -1, [0, 2]] as const) {
      for (const reduce of ["max", "min", "prod", (p: number, x: number) => p * 0.5 + x * x] as const) {
        const f = (x: Tensor, y: Tensor) =>
          mapReduce(
            [x, y.broadcastTo(2, 3, 4)],
            (p, q) => p * p - q * p,
            axis === undefined ? { reduce } : { reduce, axis },
          ).square();
        expect(gradcheck((x: Tensor, y: Tensor) => f(x, y).sum(), [a, b], { order: 2 })).toBeLessThan(1e-5);
      }
    }
  });
});

describe("gradients of deviations without NaNs", () => {
  const none = Number.NaN;

  it("are 0 where all elements are equal, as those of std are", () => {
    const x = tensor([3, 3, none, 1, 2, none], { dtype: "f64" }).reshape(2, 3);
    const slopes = grad((t: Tensor) => nanstd(t, { axis: 1 }).sum())(x).toArray();
    expect(slopes).toEqual([
      [0, 0, 0],
      [-0.5, 0.5, 0],
    ]);
    expect(grad((t: Tensor) => nanstd(t))(tensor([3, 3], { dtype: "f64" })).toArray()).toEqual([0, 0]);
  });

  it("and of lengths, 0 where all is 0; an element of 0 takes none from the others", () => {
    const of = (ord: number, values: number[]) =>
      grad((t: Tensor) => linalg.vectorNorm(t, { ord }))(tensor(values, { dtype: "f64" })).toArray();
    for (const ord of [1, 1.5, 2, 3]) expect(of(ord, [0, 0])).toEqual([0, 0]);
    for (const ord of [0.5, 1.5, 3]) expect(of(ord, [0, -2])).toEqual([0, -1]);
    expect(of(3, [1e-300, 0])).toEqual([1, 0]);
    const x = tensor([1, -2, 0.5, 3, -1, 2], { dtype: "f64" }).reshape(2, 3);
    for (const ord of [-1, 0.5, 1.5, 3]) {
      const f = (t: Tensor) => linalg.vectorNorm(t, { ord, axis: 1, keepdims: true });
      expect(gradcheck(f, [x], { order: 2 })).toBeLessThan(1e-6);
    }
  });

  it("are 0 where too few are left, and nobody looks at the result", () => {
    const x = tensor([3, none, 1, 2], { dtype: "f64" }).reshape(2, 2);
    for (const f of [nanstd, nanvar]) {
      const loss = (t: Tensor) => f(t, { axis: 1, ddof: 1 }).slice(1);
      const [first] = grad(loss)(x).toArray() as number[][];
      expect(first).toEqual([0, 0]);
    }
  });
});
