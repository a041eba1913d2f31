/** strided/nn beside torch: the same numbers in, the same numbers out. Made by scripts/fixtures-nn.py. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { arange, logSoftmax, type Tensor, tensor } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";

type Floats = "f32" | "f64";
interface Fixtures {
  readonly optimisers: Readonly<Record<string, Readonly<Record<Floats, readonly number[]>>>>;
  readonly layers: Readonly<Record<Floats, Readonly<Record<string, readonly number[]>>>>;
}
const fixtures = JSON.parse(readFileSync(new URL("./torch.json", import.meta.url), "utf8")) as Fixtures;
const tolerance = { f64: 1e-12, f32: 1e-5 };

/** sin(0.7 i + phase)·scale, in f64 and then rounded. */
const wave = (shape: number[], dtype: Floats, phase = 0, scale = 1): Tensor =>
  tensor(
    Float64Array.from(
      { length: shape.reduce((a, b) => a * b, 1) },
      (_, i) => Math.sin(0.7 * i + phase) * scale,
    ),
    { shape },
  ).to(dtype);

function expectNear(got: Tensor, want: readonly number[], dtype: Floats, what: string): void {
  expect(got.dtype, what).toBe(dtype);
  const values = Array.from(got.toTypedArray() as Float64Array);
  expect(values.length, what).toBe(want.length);
  values.forEach((x, i) => {
    expect(Math.abs(x - want[i]), `${what}, element ${i}: ${x} and ${want[i]}`).toBeLessThanOrEqual(
      tolerance[dtype] * Math.max(1, Math.abs(want[i])),
    );
  });
}

const optimisers: Readonly<Record<string, (p: Tensor) => nn.Optimiser>> = {
  sgd: (p) => nn.sgd(p, { lr: 0.1 }),
  "sgd decay": (p) => nn.sgd(p, { lr: 0.1, weightDecay: 0.05 }),
  "sgd momentum": (p) => nn.sgd(p, { lr: 0.05, momentum: 0.9, dampening: 0.1, weightDecay: 0.01 }),
  "sgd nesterov": (p) => nn.sgd(p, { lr: 0.05, momentum: 0.9, nesterov: true }),
  adam: (p) => nn.adam(p, { lr: 0.02 }),
  "adam decay": (p) => nn.adam(p, { lr: 0.02, betas: [0.8, 0.95], eps: 1e-6, weightDecay: 0.1 }),
  adamw: (p) => nn.adamw(p, { lr: 0.02, weightDecay: 0.05 }),
  rmsprop: (p) => nn.rmsprop(p, { lr: 0.01 }),
  "rmsprop all": (p) =>
    nn.rmsprop(p, { lr: 0.01, alpha: 0.9, momentum: 0.5, centered: true, weightDecay: 0.02 }),
};

describe.each(["f64", "f32"] as const)("in %s, as torch has it", (dtype) => {
  it.each(Object.keys(fixtures.optimisers))("20 steps of %s", (name) => {
    const p = wave([3, 4], dtype, 0.3);
    const optimiser = optimisers[name](p);
    for (let step = 0; step < 20; step++)
      optimiser.step(p.mul(0.8).add(wave([3, 4], dtype, 0.1 * step, 0.3)));
    expect(optimiser.steps).toBe(20);
    expectNear(p, fixtures.optimisers[name][dtype], dtype, name);
  });

  const of = (shape: number[], phase = 0, scale = 1) => wave(shape, dtype, phase, scale);
  const [x2, x3, x4] = [of([4, 6]), of([2, 5, 6], 0.2), of([2, 4, 5, 5], 0.4)];
  const w4 = { weight: of([4], 5), bias: of([4], 6) };
  const attention = {
    query: { weight: of([6, 6], 9), bias: of([6], 12) },
    key: { weight: of([6, 6], 10), bias: of([6], 13) },
    value: { weight: of([6, 6], 11), bias: of([6], 14) },
    out: { weight: of([6, 6], 15), bias: of([6], 16) },
  };
  const state = () => ({ mean: of([4], 7, 0.1), variance: of([4], 8, 0.2).add(1) });
  const target = of([4, 6], 2, 2);
  const classes = tensor([0, 5, 2, 3], { dtype: "i32" });
  const made: Readonly<Record<string, () => Tensor>> = {
    linear: () => nn.linear({ weight: of([3, 6], 1), bias: of([3], 2) }, x3),
    conv2d: () =>
      nn.conv2d({ weight: of([3, 4, 3, 3], 1.5, 0.5), bias: of([3], 2.5) }, x4, { stride: 2, padding: 1 }),
    conv1d: () => nn.conv1d({ weight: of([3, 5, 2], 0.8) }, x3),
    layerNorm: () => nn.layerNorm({ weight: of([6], 3), bias: of([6], 4) }, x3),
    groupNorm: () => nn.groupNorm(w4, x4, 2),
    batchNorm: () => nn.batchNorm(w4, state(), x4, { training: true }),
    "batchNorm state": () => {
      const s = state();
      nn.batchNorm(w4, s, x4, { training: true });
      return tensor([...s.mean.toArray(), ...s.variance.toArray()], { dtype });
    },
    "batchNorm known": () => nn.batchNorm(w4, state(), x4),
    attention: () => nn.multiHeadAttention(attention, x3, { heads: 2 }),
    "attention causal": () => nn.multiHeadAttention(attention, x3, { heads: 2, causal: true }),
    mse: () => nn.mse(x2, target),
    l1: () => nn.l1(x2, target, { reduction: "sum" }),
    huber: () => nn.huber(x2, target, { delta: 0.7 }),
    crossEntropy: () => nn.crossEntropy(x2.mul(3), classes),
    "crossEntropy smooth": () =>
      nn.crossEntropy(x2.mul(3), classes, { labelSmoothing: 0.2, reduction: "none" }),
    nll: () => nn.nll(logSoftmax(x2), classes),
    binaryCrossEntropy: () => nn.binaryCrossEntropy(x2.mul(20), target.sigmoid()),
  };

  it("every fixture is compared", () => {
    expect(Object.keys(made).sort()).toEqual(Object.keys(fixtures.layers[dtype]).sort());
    expect(Object.keys(optimisers).sort()).toEqual(Object.keys(fixtures.optimisers).sort());
    expect(arange(3).size).toBe(3);
  });

  it.each(Object.keys(made))("%s", (name) => {
    expectNear(made[name](), fixtures.layers[dtype][name], dtype, name);
  });
});
