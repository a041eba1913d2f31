/**
 * Nearest neighbours
 *
 * Classes by the majority of the five closest, with `topk` on negative distances.
 */
import { concat, random, sub, take, tensor, topk } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const rng = random.generator(31);
const known = concat([rng.normal([60, 2]), rng.normal([60, 2]).add(4)]);
const label = tensor(Float32Array.from({ length: 120 }, (_, i) => (i < 60 ? 0 : 1)));
const asked = tensor([
  [0, 0.5],
  [4, 3.5],
]);
const distance = sub(asked.expandDims(1), known).square().sum({ axis: 2 }).sqrt();
const { indices } = topk(distance.neg(), 5);
take(label, indices).mean({ axis: 1 }).round(); // → [0, 1]
export const picture = plot.svg(distance.slice(0), { kind: "histogram", title: "distances to the first" });
