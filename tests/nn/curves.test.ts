/** Whole models beside torch: gradients of one step, and losses over 100 of them. Made by scripts/fixtures-nn.py. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { treeLeaves, valueAndGrad } from "../../src/grad.ts";
import { scope } from "../../src/index.ts";
import * as nn from "../../src/nn.ts";
import { convnet, type Floats, gpt, type Model, mlp, noise } from "./models.ts";

interface Reference {
  /** In f64: of each gradient four elements, its product with noise, and the sum of its squares. */
  readonly step: { readonly loss: number; readonly grads: Readonly<Record<string, readonly number[]>> };
  readonly losses: Readonly<Record<Floats, readonly number[]>>;
}
const reference = JSON.parse(readFileSync(new URL("./training.json", import.meta.url), "utf8")) as Record<
  string,
  Reference
>;

const models: Readonly<Record<string, (dtype: Floats) => Model<never>>> = {
  mlp: (dtype) => mlp([12, 16, 16, 4], 16, dtype) as unknown as Model<never>,
  convnet: (dtype) => convnet([1, 4, 6], 12, 8, dtype) as unknown as Model<never>,
  gpt: (dtype) =>
    gpt(
      { layers: 4, width: 16, heads: 2, context: 12, words: 17, batch: 4 },
      dtype,
    ) as unknown as Model<never>,
};
const optimisers: Readonly<Record<string, (p: never) => nn.Optimiser>> = {
  mlp: (p) => nn.sgd(p, { lr: 0.1, momentum: 0.9 }),
  convnet: (p) => nn.adam(p, { lr: 0.003 }),
  gpt: (p) => nn.adamw(p, { lr: 0.002, weightDecay: 0.01 }),
};

describe.each(Object.keys(models))("%s", (name) => {
  const { step, losses } = reference[name];

  it.each([
    ["f64", 1e-12],
    ["f32", 1e-5],
  ] as const)("one step in %s has torch's gradients, to %d", (dtype, tolerance) => {
    scope(() => {
      const { params, x, y, loss } = models[name](dtype);
      const { value, grads } = valueAndGrad(loss)(params, x, y);
      expect(Math.abs(Number(value.item()) - step.loss)).toBeLessThan(tolerance * step.loss);
      const leaves = treeLeaves(grads);
      expect(leaves.map(({ path }) => path)).toEqual(Object.keys(step.grads));
      for (const { path, tensor } of leaves) {
        const flat = tensor.to("f64").reshape([-1]);
        const at = Array.from({ length: 4 }, (_, k) => Number(flat.get((k * 7919) % flat.size)));
        const product = Number(
          flat
            .mul(noise([flat.size], "f64", 1))
            .sum()
            .item(),
        );
        const got = [...at, product, Number(flat.square().sum().item())];
        const wanted = step.grads[path];
        const size = Math.max(1, Math.sqrt(wanted[5]));
        got.forEach((g, i) => {
          expect(Math.abs(g - wanted[i]) / (i === 5 ? size * size : size), `${path}, ${i}`).toBeLessThan(
            tolerance,
          );
        });
      }
    });
  });

  it.each([
    ["f64", 1e-7],
    ["f32", 1e-3],
  ] as const)("100 steps in %s have torch's losses, to %d", (dtype, tolerance) => {
    scope(() => {
      const { params, x, y, loss } = models[name](dtype);
      const run = valueAndGrad(loss);
      const optimiser = optimisers[name](params);
      const made = losses[dtype].map(() =>
        scope(() => {
          const { value, grads } = run(params, x, y);
          optimiser.step(grads);
          return Number(value.item());
        }),
      );
      expect(made.at(-1)).toBeLessThan(made[0] / 2);
      made.forEach((l, i) => {
        expect(Math.abs(l - losses[dtype][i]), `step ${i}`).toBeLessThan(tolerance * Math.max(1, l));
      });
    });
  });
});
