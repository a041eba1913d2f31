/**
 * Compress a picture with singular values
 *
 * Eight of 96 components, a sixth of the numbers, and still recognisable.
 */
import { fromFunction, linalg } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const picture0 = fromFunction(
  (i, j) => Math.sin(i / 8) * Math.cos(j / 11) + ((i - 40) ** 2 + (j - 60) ** 2 < 500 ? 1 : 0),
  [96, 96],
);
const { u, s, vh } = linalg.svd(picture0);
const keep = 8;
const small = u
  .slice(":", [0, keep])
  .mul(s.slice([0, keep]))
  .matmul(vh.slice([0, keep]));
const error = small.sub(picture0).square().mean().sqrt().item();
error < 0.15; // → true
export const picture = plot.svg(small, { title: "8 of 96 components", width: 420, height: 360 });
