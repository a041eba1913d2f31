/**
 * A layer in blocks: what it weighs, what it costs in accuracy, and the product with a vector.
 *
 *     npx tsx examples/quantised.ts
 */
import { random } from "../src/index.ts";
import { matmul, quantise } from "../src/quantised.ts";

const rng = random.generator(1);
const weights = rng.normal([512, 1024]).mul(0.02);
const x = rng.normal([1024]);
const exact = weights.matmul(x);
const size = exact.square().mean().item();

console.log("type    bytes    of f32   error of the product");
for (const dtype of ["q8_0", "q6_K", "q5_K", "q4_K", "q4_0", "q2_K"] as const) {
  using q = quantise(weights, dtype);
  using y = matmul(q, x);
  const error = Math.sqrt(y.sub(exact).square().mean().item() / size);
  const share = `${((100 * q.bytes) / (4 * q.size)).toFixed(1)} %`;
  console.log(
    `${dtype.padEnd(6)} ${String(q.bytes).padStart(7)}  ${share.padStart(7)}   ${(100 * error).toPrecision(2)} %`,
  );
}

using q = quantise(weights.slice("0:2", "0:32"), "q4_0");
console.log(`\n${q.toString({ digits: 2, edge: 4, threshold: 20 })}`);
