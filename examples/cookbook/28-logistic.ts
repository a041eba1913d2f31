/**
 * Logistic regression
 *
 * A loss, its gradient, and forty steps down the hill.
 */

import { valueAndGrad } from "../../src/grad.ts";
import { concat, ones, random, scope, sigmoid, zeros } from "../../src/index.ts";
import { sgd } from "../../src/nn.ts";
import { plot } from "../../src/plot.ts";

const rng = random.generator(12);
const x = concat([rng.normal([100, 2]).add(1.5), rng.normal([100, 2]).sub(1.5)]);
const y = concat([ones([100]), zeros([100])]);
const params = { w: zeros([2]), b: zeros([]) };
const loss = (p = params) => {
  const chance = sigmoid(x.matmul(p.w).add(p.b)).clip(1e-6, 1 - 1e-6);
  return y
    .mul(chance.log())
    .add(y.neg().add(1).mul(chance.neg().add(1).log()))
    .mean()
    .neg();
};
const optimiser = sgd(params, { lr: 0.5 });
const step = valueAndGrad(loss);
for (let k = 0; k < 40; k++) scope(() => optimiser.step(step(params).grads));
const chance = sigmoid(x.matmul(params.w).add(params.b));
chance.round().equal(y).to("f32").mean().item() > 0.95; // → true
export const picture = plot.svg(chance, { kind: "histogram", title: "chances that the model gives" });
