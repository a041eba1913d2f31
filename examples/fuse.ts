/** Fused functions: what they compute, what ran, and how long it took beside the separate operations. */
import { explain, fuse, logsumexp, random, type Tensor } from "../src/index.ts";

const rng = random.generator(1);
const steps = Number(process.argv[process.argv.indexOf("--steps") + 1]) || 20;

/** Milliseconds of the quicker of many turns, each side in turn. */
function beside(name: string, separate: () => Tensor, fused: () => Tensor): void {
  const best = [Infinity, Infinity];
  for (let k = 0; k < steps; k++) {
    [separate, fused].forEach((fn, side) => {
      const start = performance.now();
      fn().dispose();
      best[side] = Math.min(best[side], performance.now() - start);
    });
  }
  const [one, all] = [separate, fused].map((fn) => explain(fn).steps.length);
  const times = `${best[0].toFixed(2)} ms separately, ${best[1].toFixed(2)} ms fused`;
  console.log(`${name}: ${one} kernels → ${all}; ${times}: ${(best[0] / best[1]).toFixed(1)} times as fast`);
}

const [a, b, c] = [0, 1, 2].map(() => rng.normal([1000, 1000]));
const sum = (x: Tensor, y: Tensor, z: Tensor) => x.mul(y).add(z).relu().sum();
const fusedSum = fuse(sum);
console.log(String(fusedSum.explain(a, b, c)), "\n");
beside(
  "Σ relu(a·b + c)",
  () => sum(a, b, c),
  () => fusedSum(a, b, c),
);

const norm = (x: Tensor, w: Tensor, bias: Tensor) => {
  const centred = x.sub(x.mean({ axis: -1, keepdims: true }));
  const variance = centred.square().mean({ axis: -1, keepdims: true });
  return centred.div(variance.add(1e-5).sqrt()).mul(w).add(bias);
};
const fusedNorm = fuse(norm);
const [w, bias] = [rng.normal([1000]), rng.normal([1000])];
beside(
  "layer norm",
  () => norm(a, w, bias),
  () => fusedNorm(a, w, bias),
);

const loss = (x: Tensor, y: Tensor) =>
  logsumexp(x, { axis: -1, keepdims: true }).sub(x).mul(y).sum({ axis: -1 });
const fusedLoss = fuse(loss);
beside(
  "softmax-cross-entropy",
  () => loss(a, b),
  () => fusedLoss(a, b),
);
