/**
 * The game of life
 *
 * A stencil that wraps around: a glider comes back to where it was, one step to the side.
 */
import { arrayEqual, roll, scope, stencil, tensor, zeros } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const step = stencil(
  (at) => {
    const n = at(-1, -1) + at(-1, 0) + at(-1, 1) + at(0, -1) + at(0, 1) + at(1, -1) + at(1, 0) + at(1, 1);
    return n === 3 || (n === 2 && at(0, 0) === 1) ? 1 : 0;
  },
  { edge: "wrap" },
);
const board = zeros([24, 24]);
const glider = tensor([
  [0, 1, 0],
  [0, 0, 1],
  [1, 1, 1],
]);
board.slice("2:5", "2:5").assign(glider);
const later = scope(() => step(step(step(step(board)))));
arrayEqual(later, roll(board, [1, 1], { axis: [0, 1] })); // → true
export const picture = plot.svg(later, { title: "a glider, four steps on", width: 360, height: 320 });
