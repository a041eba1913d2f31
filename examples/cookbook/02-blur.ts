/**
 * Blur a picture
 *
 * A weighted mean of nine neighbours, as a stencil: the edges repeat, and nothing is padded by hand.
 */
import { fromFunction, stencil } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const board = fromFunction((i, j) => (Math.floor(i / 12) + Math.floor(j / 12)) % 2, [96, 96]);
const soften = stencil(
  (at) =>
    (4 * at(0, 0) +
      2 * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)) +
      at(-1, -1) +
      at(-1, 1) +
      at(1, -1) +
      at(1, 1)) /
    16,
  { edge: "edge", dtype: "f32" },
);
let soft = board;
for (let k = 0; k < 12; k++) soft = soften(soft);
soft.mean().item().toFixed(3); // → 0.500
export const picture = plot.svg(soft, { title: "after 12 rounds", width: 420, height: 360 });
