/**
 * Clusters by k-means
 *
 * Distances by broadcasting, the nearest by argmin, the centres by sums of one-hot rows.
 */
import { concat, oneHot, random, sub } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const rng = random.generator(21);
const points = concat([rng.normal([80, 2]), rng.normal([80, 2]).add(6), rng.normal([80, 2]).sub(5)]);
let centres = points.slice("::80");
let nearest = points.slice(":", 0).to("i64");
for (let k = 0; k < 10; k++) {
  const squares = sub(points.expandDims(1), centres).square().sum({ axis: 2 }); // [240, 3]
  nearest = squares.argmin({ axis: 1 });
  const member = oneHot(nearest, 3);
  centres = member.T.matmul(points).div(member.sum({ axis: 0 }).expandDims(1));
}
oneHot(nearest, 3).sum({ axis: 0 }); // → [80, 80, 80]
export const picture = plot.svg(points.slice(":", 1), {
  x: points.slice(":", 0),
  kind: "scatter",
  title: "three clusters",
});
