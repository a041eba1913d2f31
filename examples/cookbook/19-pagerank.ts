/**
 * Which page matters?
 *
 * Power iteration on a matrix of links: each page hands its weight on until nothing changes.
 */
import { eye, tensor } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

// Row i: who page i links to.
const links = tensor([
  [0, 1, 1, 0, 0],
  [0, 0, 1, 0, 0],
  [1, 0, 0, 0, 0],
  [0, 0, 1, 0, 1],
  [0, 0, 1, 1, 0],
]);
const pass = links.div(links.sum({ axis: 1, keepdims: true })).T;
let rank = eye(5).mean({ axis: 0 });
for (let k = 0; k < 60; k++) rank = pass.matmul(rank).mul(0.85).add(0.03);
rank.argmax().item(); // → 2
rank.sum().item().toFixed(3); // → 1.000
export const picture = plot.svg(rank, {
  kind: "scatter",
  title: "rank of five pages",
  width: 420,
  height: 260,
});
