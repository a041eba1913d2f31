/**
 * Heat in a plate
 *
 * The same output over and over: `into` writes where the last step lay.
 */
import { stencil, zeros } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const relax = stencil((at) => 0.25 * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)), { edge: "edge" });
const plate = zeros([64, 64]);
for (let k = 0; k < 150; k++) {
  plate.slice(0).fill(1); // the upper side is kept warm
  plate.slice(-1).fill(0);
  relax.into(plate, plate);
}
plate.get(5, 32) > plate.get(20, 32); // → true
export const picture = plot.svg(plate, { title: "150 steps", width: 420, height: 360 });
