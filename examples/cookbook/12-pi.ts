/**
 * Pi by throwing darts
 *
 * Random points, a comparison, a mean: a million of them in one fused pass.
 */
import { arange, kernel, random } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const points = random.generator(7).uniform([2, 200000]);
const inside = kernel((x, y) => (x * x + y * y < 1 ? 4 : 0))(points.slice(0), points.slice(1));
const estimate = inside.cumsum().div(arange(1, 200001));
Math.abs(estimate.get(-1) - Math.PI) < 0.02; // → true
export const picture = plot.svg(estimate.slice("::500"), {
  title: "the estimate as darts arrive",
  range: [2.9, 3.4],
});
