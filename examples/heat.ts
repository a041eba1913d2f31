/**
 * A fit through a simulation: a rod of unknown material is warmed at one place or another, thermometers along it are read some
 * times, and gradients through every step of the heat equation say what it is made of. The steps are computed again on the way
 * back (checkpoint), so memory holds one part of the simulation instead of all of it.
 *
 *     npx tsx examples/heat.ts --steps 200
 */

import { checkpoint, valueAndGrad } from "../src/grad.ts";
import { diff, memory, pad, random, scope, type Tensor, tensor, zeros } from "../src/index.ts";
import * as nn from "../src/nn.ts";

const steps = Number(process.argv[process.argv.indexOf("--steps") + 1]) || 120;
const rng = random.generator(6);
const [CELLS, PARTS, TIMES] = [32, 6, 15];

/** Conductivity between neighbouring cells: a piece of copper in a rod of steel. */
const truth = tensor(
  Float64Array.from({ length: CELLS - 1 }, (_, i) => (i >= 11 && i < 20 ? 0.4 : 0.12 + 0.002 * i)),
);
/** One experiment a row: where the rod is warm at the beginning. */
const start = scope(() => {
  const rows = Array.from({ length: 6 }, (_, r) =>
    Array.from({ length: CELLS }, (_, i) => Math.exp(-0.5 * ((i - 3 - 5 * r) / 1.5) ** 2)),
  );
  return tensor(rows, { dtype: "f64" });
});

/** Some times on: what flows into a cell and out of it, [experiments, CELLS]. */
function part(k: Tensor, begin: Tensor): Tensor {
  let u = begin;
  for (let t = 0; t < TIMES; t++) {
    const flow = diff(u, { axis: 1 }).mul(k);
    u = u.add(
      diff(
        pad(flow, [
          [0, 0],
          [1, 1],
        ]),
        { axis: 1 },
      ),
    );
  }
  return u;
}

/** What the thermometers say at the end of every part. */
function simulate(k: Tensor, run: typeof part): Tensor[] {
  const seen: Tensor[] = [];
  for (let p = 0; p < PARTS; p++) seen.push(run(k, seen.at(-1) ?? start));
  return seen;
}

const readings = scope(() =>
  simulate(truth, part).map((u) => u.add(rng.normal(u.shape, { std: 0.001, dtype: "f64" }))),
);

/** Conductivities from 0 to 0.5, between which the simulation is stable: what is fitted may be any number. */
const params = { raw: zeros([CELLS - 1], { dtype: "f64" }) };
const conductivity = (p: Params): Tensor => p.raw.sigmoid().mul(0.5);
type Params = typeof params;

let live = 0;
const misfit = (run: typeof part) => (p: Params) => {
  const made = simulate(conductivity(p), run);
  const sum = made.map((u, i) => nn.mse(u, readings[i])).reduce((a, b) => a.add(b));
  // Neighbours are alike, but for a few: their distances count.
  const smooth = diff(p.raw).square().add(1e-4).sqrt().mean();
  live = memory().bytes;
  return sum.mul(1e3).add(smooth.mul(0.01));
};

const before = memory().bytes;
const bytes = [part, checkpoint(part)].map((run) => {
  scope(() => valueAndGrad(misfit(run))(params));
  return live - before;
});

const { losses } = await nn.fit({
  optimiser: nn.adam(params, { lr: 0.1 }),
  data: Array.from({ length: steps }, () => ({})),
  step: valueAndGrad(misfit(checkpoint(part))),
  schedule: nn.cosine(0.1, steps, 0.01),
  plot: true,
});

const bar = (k: number) => "█".repeat(Math.round(60 * k)).padEnd(36, "·");
const [found, real] = [scope(() => conductivity(params).toArray()), truth.toArray()] as [number[], number[]];
console.log("between cells, found and real:");
for (let i = 0; i < CELLS - 1; i += 2)
  console.log(`${String(i).padStart(3)} ${bar(found[i])} ${found[i].toFixed(3)} ${real[i].toFixed(3)}`);
const far = found.reduce((sum, k, i) => sum + Math.abs(k - real[i]) / real[i], 0) / found.length;
console.log(
  `memory for the way back: ${bytes.map((b) => `${(b / 1024).toFixed(0)} kB`).join(" without checkpoints, ")} with`,
);
console.log(`misfit ${losses[0].toFixed(3)} → ${losses.at(-1)!.toFixed(3)}, ${(100 * far).toFixed(1)} % off`);
