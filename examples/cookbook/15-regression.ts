/**
 * A line through points
 *
 * Least squares with an intercept: a column of ones beside x.
 */
import { arange, linalg, onesLike, random, stack } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const x = arange(40, { dtype: "f64" });
const y = x
  .mul(0.7)
  .add(3)
  .add(random.generator(2).normal([40]).to("f64"));
const design = stack([x, onesLike(x)], { axis: 1 });
const { x: solution } = linalg.lstsq(design, y);
Math.abs(solution.get(0) - 0.7) < 0.05; // → true
const fit = design.matmul(solution);
export const picture = plot.svg(stack([y, fit], { axis: 1 }), { title: "points and their line" });
