/**
 * Spots that grow
 *
 * Gray and Scott's reaction: two substances on a torus, two stencils and a kernel.
 */
import { kernel, ones, scope, stencil, zeros } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const spread = stencil((at) => at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4 * at(0, 0), { edge: "wrap" });
const react = kernel((u, v, du, dv) => {
  const meet = u * v * v;
  return [u + 0.16 * du - meet + 0.035 * (1 - u), v + 0.08 * dv + meet - 0.1 * v];
});
const u = ones([64, 64]);
const v = zeros([64, 64]);
u.slice("24:40", "24:40").fill(0.5);
v.slice("24:40", "24:40").fill(0.25);
for (let k = 0; k < 300; k++) scope(() => react.into([u, v], u, v, spread(u), spread(v)));
v.max().item() > 0.2; // → true
export const picture = plot.svg(v, { title: "300 steps", width: 420, height: 360 });
