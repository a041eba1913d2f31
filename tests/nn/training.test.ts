/** Training through recorded gradients: layers and losses have gradients, steps leave nothing behind. */
import { describe, expect, it } from "vitest";
import { gradcheck, valueAndGrad } from "../../src/grad.ts";
import {
  explain,
  fuse,
  maxPool2d,
  memory,
  random,
  relu,
  scope,
  type Tensor,
  tanh,
  tensor,
} from "../../src/index.ts";
import * as nn from "../../src/nn.ts";

const rng = () => random.generator(11);
const f64 = (...shape: number[]) => rng().normal(shape, { dtype: "f64" });
const options = { rng: 4, dtype: "f64" } as const;
const classes = tensor([1, 0, 2], { dtype: "i32" });

describe("gradients, by differences", () => {
  const attention = nn.multiHeadAttention.init(4, options);
  const conv = nn.conv2d.init(2, 3, 3, options);
  const flat = nn.linear.init(4, 3, options);
  const norm = nn.layerNorm.init(4, { dtype: "f64" });
  const batch = nn.batchNorm.init(2, { dtype: "f64" });
  /** Each a function of tensors; what comes out is weighed so that no direction cancels. */
  const weighed = (t: Tensor) => t.mul(f64(...t.shape)).sum();
  const functions: Readonly<Record<string, readonly [(...t: Tensor[]) => Tensor, ...Tensor[]]>> = {
    linear: [
      (x, weight, bias) => weighed(nn.linear({ weight, bias }, x)),
      f64(2, 5, 4),
      flat.weight,
      flat.bias!,
    ],
    conv2d: [
      (x, weight, bias) => weighed(nn.conv2d({ weight, bias }, x, { padding: 1, stride: 2 })),
      f64(1, 2, 3, 3),
      conv.weight,
      conv.bias!,
    ],
    layerNorm: [(x, weight) => weighed(nn.layerNorm({ ...norm, weight }, x)), f64(3, 4), norm.weight],
    rmsNorm: [(x, weight) => weighed(nn.rmsNorm({ weight }, x)), f64(3, 4), norm.weight],
    groupNorm: [(x) => weighed(nn.groupNorm(nn.groupNorm.init(4, { dtype: "f64" }), x, 2)), f64(2, 4, 3)],
    batchNorm: [(x) => weighed(nn.batchNorm(batch.params, batch.state, x, { training: true })), f64(3, 2, 4)],
    embedding: [(weight) => weighed(nn.embedding({ weight }, classes)), f64(4, 3)],
    attention: [
      (x) => weighed(nn.multiHeadAttention(attention, x, { heads: 2, causal: true })),
      f64(2, 3, 4),
    ],
    mse: [(x) => nn.mse(x, f64(3, 4).add(1)), f64(3, 4)],
    l1: [(x) => nn.l1(x, f64(3, 4).add(1)), f64(3, 4)],
    huber: [(x) => nn.huber(x, f64(3, 4).mul(3), { delta: 0.9 }), f64(3, 4)],
    crossEntropy: [(x) => nn.crossEntropy(x, classes, { labelSmoothing: 0.1 }), f64(3, 4)],
    binaryCrossEntropy: [(x) => nn.binaryCrossEntropy(x, f64(3, 4).sigmoid()), f64(3, 4).mul(4)],
  };

  it.each(Object.keys(functions))("%s", (name) => {
    const [fn, ...args] = functions[name];
    gradcheck(fn as never, args as never);
  });
});

describe("training", () => {
  const data = () => {
    const x = rng().normal([64, 2]);
    return { x, y: x.slice(":", 0).mul(x.slice(":", 1)).greater(0).to("i32") };
  };

  it("learns what no line divides, and hundreds of steps leave nothing behind", async () => {
    const make = random.generator(1);
    const params = { a: nn.linear.init(2, 16, { rng: make }), b: nn.linear.init(16, 2, { rng: make }) };
    const model = (p: typeof params, x: Tensor) => nn.linear(p.b, tanh(nn.linear(p.a, x)));
    const loss = (p: typeof params, { x, y }: ReturnType<typeof data>) => nn.crossEntropy(model(p, x), y);
    const samples = data();
    const run = {
      optimiser: nn.adam(params, { lr: 0.03 }),
      data: nn.loader(samples, { batch: 64 }),
      step: valueAndGrad(loss),
    };
    await nn.fit({ ...run, epochs: 5, progress: false });
    const before = memory().tensors;
    const { losses } = await nn.fit({ ...run, epochs: 120, progress: false });
    // What others left behind may have gone meanwhile.
    expect(memory().tensors).toBeLessThanOrEqual(before);
    expect(losses.at(-1)).toBeLessThan(0.1);
    expect(scope(() => nn.accuracy(model(params, samples.x), samples.y))).toBeGreaterThan(0.95);
  });

  it("a frozen part stays, dropout and norms are on the way, and a fused part has gradients", () => {
    const make = random.generator(1);
    const params = {
      a: nn.conv2d.init(1, 4, 3, { rng: make }),
      b: nn.linear.init(4 * 4, 3, { rng: make }),
      scale: tensor(1),
    };
    const norm = nn.batchNorm.init(4);
    const soft = fuse((x: Tensor, k: Tensor) => x.mul(k).tanh().add(0.1));
    const drop = random.generator(2);
    const loss = (p: typeof params, x: Tensor) => {
      const h = nn.batchNorm(norm.params, norm.state, nn.conv2d(p.a, x, { padding: 1 }), { training: true });
      const pooled = maxPool2d(relu(h), 2).reshape([3, -1]);
      return nn.crossEntropy(
        soft(nn.linear(p.b, nn.dropout(pooled, { p: 0.1, rng: drop })), p.scale),
        classes,
      );
    };
    const optimiser = nn.sgd(params, { lr: 0.1, momentum: 0.9, frozen: ["a.bias"] });
    const x = rng().normal([3, 1, 4, 4]);
    const frozen = params.a.bias!.clone();
    const losses = Array.from({ length: 60 }, () =>
      scope(() => {
        const { value, grads } = valueAndGrad(loss)(params, x);
        nn.clipByNorm(grads, 5);
        optimiser.step(grads);
        return value.item() as number;
      }),
    );
    expect(losses.at(-1)).toBeLessThan(losses[0] / 2);
    expect(params.a.bias).toEqual(frozen);
    expect(params.scale.item()).not.toBe(1);
    expect(norm.state.mean.abs().max().item()).toBeGreaterThan(0);
  });

  it("the way back through a fused group is one kernel for each input", () => {
    const chain = ({ a, b, c }: { a: Tensor; b: Tensor; c: Tensor }) =>
      a.mul(b).add(c).tanh().mul(2).exp().sum();
    const fused = fuse(chain);
    const make = rng();
    const p = { a: make.normal([6, 5]), b: make.normal([5]), c: make.normal([6, 1]) };
    const report = explain(() => valueAndGrad(fused)(p));
    const groups = report.kernels.filter((k) => k.operation === "fuse").map((k) => k.form);
    expect(groups).toEqual(["elementwise", "elementwise", "reduce", "reduce"]);
    const { value, grads } = valueAndGrad(chain)(p);
    expect(report.result.value).toEqual(value);
    for (const name of ["a", "b", "c"] as const)
      expect(report.result.grads[name].sub(grads[name]).abs().max().item()).toBeLessThan(1e-5);
  });

  it("checkNumbers looks at the way back too", () => {
    const loss = (x: Tensor) => x.sqrt().sum();
    expect(() =>
      nn.checkNumbers(() => valueAndGrad(loss)(tensor([1, 0]))),
    ).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: checkNumbers: sqrt of f32 [2] and f32 [2], in the gradient of sqrt, made 1 of 2 elements NaN or infinite; the first is Infinity at [1].
        Its operands were finite. Look for a division by 0, a logarithm of 0, an exponential that is too large.]
    `);
  });
});
