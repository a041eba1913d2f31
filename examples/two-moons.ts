/**
 * Two moons: a small network learns which of two crescents a point belongs to, and draws what it has learnt.
 *
 *     npx tsx examples/two-moons.ts --steps 400
 */

import { valueAndGrad } from "../src/grad.ts";
import {
  concat,
  cos,
  linspace,
  ones,
  random,
  scope,
  sin,
  stack,
  type Tensor,
  tanh,
  tensor,
  zeros,
} from "../src/index.ts";
import * as nn from "../src/nn.ts";

const steps = Number(process.argv[process.argv.indexOf("--steps") + 1]) || 300;
const rng = random.generator(3);

/** Points [2n, 2] of two crescents that reach into each other, and which one each is of. */
function moons(n: number): { x: Tensor; y: Tensor } {
  return scope(() => {
    const angle = linspace(0, Math.PI, n);
    const upper = stack([cos(angle), sin(angle)], { axis: 1 });
    const lower = stack([cos(angle).neg().add(1), sin(angle).neg().add(0.5)], { axis: 1 });
    const x = concat([upper, lower]).add(rng.normal([2 * n, 2], { std: 0.1 }));
    return { x, y: concat([zeros([n], { dtype: "i32" }), ones([n], { dtype: "i32" })]) };
  });
}

const params = {
  first: nn.linear.init(2, 24, { rng }),
  second: nn.linear.init(24, 24, { rng }),
  last: nn.linear.init(24, 2, { rng }),
};
type Params = typeof params;

const model = (p: Params, x: Tensor): Tensor =>
  nn.linear(p.last, tanh(nn.linear(p.second, tanh(nn.linear(p.first, x)))));
const loss = (p: Params, { x, y }: { x: Tensor; y: Tensor }): Tensor => nn.crossEntropy(model(p, x), y);

const data = moons(250);
const { losses } = await nn.fit({
  optimiser: nn.adam(params),
  data: nn.loader(data, { batch: 100, shuffle: 1 }),
  step: valueAndGrad(loss),
  epochs: Math.ceil(steps / 5),
  steps,
  schedule: nn.cosine(0.02, steps),
  plot: true,
});

/** Where the network sees which moon. */
function picture(columns = 64, rows = 22): string {
  return scope(() => {
    const points = Array.from({ length: rows * columns }, (_, k) => {
      const [i, j] = [Math.floor(k / columns), k % columns];
      return [-1.5 + (4 * j) / (columns - 1), 1.4 - (2.3 * i) / (rows - 1)];
    });
    const grid = model(params, tensor(points));
    const classes = Array.from(grid.argmax({ axis: 1 }).toTypedArray(), Number);
    return Array.from({ length: rows }, (_, i) =>
      classes
        .slice(i * columns, (i + 1) * columns)
        .map((c) => (c === 0 ? "·" : "█"))
        .join(""),
    ).join("\n");
  });
}

const right = scope(() => nn.accuracy(model(params, data.x), data.y));
console.log(picture());
console.log(
  `loss ${losses[0].toFixed(3)} → ${losses.at(-1)!.toFixed(3)}, ${(100 * right).toFixed(1)} % right`,
);
