/** One step's gradients as torch has them (make_torch.py wrote torch.json). */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { valueAndGrad } from "../../src/grad.ts";
import {
  arange,
  avgPool2d,
  conv2d,
  logSoftmax,
  maxPool2d,
  memory,
  scope,
  type Tensor,
  takeAlongAxis,
  tensor,
} from "../../src/index.ts";

type Params = Readonly<Record<string, Tensor>>;
interface Reference {
  readonly loss: number;
  readonly grads: Readonly<Record<string, number[]>>;
}
interface Model {
  readonly x: number[];
  readonly labels: number;
  readonly shapes: Readonly<Record<string, number[]>>;
  readonly f32: Reference;
  readonly f64: Reference;
}
const reference = JSON.parse(readFileSync(new URL("torch.json", import.meta.url), "utf8")) as Record<
  string,
  Model
>;

/** The same numbers as the script's. */
function wave(shape: readonly number[], seed: number, scale: number, dtype: "f32" | "f64"): Tensor {
  const n = shape.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: n }, (_, i) => Math.sin((i + 1) * 12.9898 + seed) * scale);
  return tensor(values).reshape(shape).to(dtype);
}

const crossEntropy = (logits: Tensor, y: Tensor) =>
  takeAlongAxis(logSoftmax(logits), y.reshape(-1, 1), { axis: 1 }).mean().neg();

const models: Record<string, (p: Params, x: Tensor, y: Tensor) => Tensor> = {
  mlp(p, x, y) {
    const first = x.matmul(p.w1).add(p.b1).tanh();
    const second = first.matmul(p.w2).add(p.b2).relu();
    return crossEntropy(second.matmul(p.w3).add(p.b3), y);
  },
  convnet(p, x, y) {
    const first = maxPool2d(conv2d(x, p.c1, { bias: p.d1, padding: 1 }).relu(), 2);
    const second = conv2d(first, p.c2, { bias: p.d2, stride: 2, padding: 1 }).sigmoid();
    const flat = avgPool2d(second, 2).reshape(x.shape[0], -1);
    return crossEntropy(flat.matmul(p.w).add(p.b), y);
  },
};

describe.each(Object.keys(models))("%s", (name) => {
  it.each([
    ["f32", 1e-5],
    ["f64", 1e-12],
  ] as const)("has torch's loss and gradients in %s, to %d", (dtype, tolerance) => {
    const { x, labels, shapes, ...by } = reference[name];
    const params = Object.fromEntries(
      Object.entries(shapes).map(([key, shape], i) => [key, wave(shape, i + 1, 0.7, dtype)]),
    );
    const y = arange(x[0], { dtype: "i64" }).remainder(labels);
    const { value, grads } = valueAndGrad(models[name])(params, wave(x, 0.5, 1, dtype), y);
    const { loss, grads: wanted } = by[dtype];
    expect(Math.abs(Number(value.item()) - loss)).toBeLessThan(tolerance);
    for (const [key, list] of Object.entries(wanted)) {
      const made = grads[key].to("f64").reshape(-1).toArray() as number[];
      const scale = Math.max(1, ...list.map(Math.abs));
      const far = Math.max(...made.map((g, i) => Math.abs(g - list[i]))) / scale;
      expect(far, key).toBeLessThan(tolerance);
    }
  });

  it("leaves nothing behind, however many steps it takes", () => {
    const { x, labels, shapes } = reference[name];
    const params = Object.fromEntries(
      Object.entries(shapes).map(([key, shape], i) => [key, wave(shape, i + 1, 0.7, "f32")]),
    );
    const images = wave(x, 0.5, 1, "f32");
    const y = arange(x[0], { dtype: "i64" }).remainder(labels);
    const step = valueAndGrad(models[name]);
    const losses: number[] = [];
    const once = () =>
      scope(() => {
        const { value, grads } = step(params, images, y);
        for (const key of Object.keys(params)) params[key].sub(grads[key].mul(0.2), { out: params[key] });
        losses.push(value.item() as number);
      });
    once();
    const before = memory();
    for (let i = 0; i < 60; i++) once();
    const after = memory();
    expect([after.tensors, after.bytes]).toEqual([before.tensors, before.bytes]);
    expect(losses.at(-1)).toBeLessThan(losses[0]);
  });
});
