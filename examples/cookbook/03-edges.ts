/**
 * Find edges
 *
 * Sobel's two differences and their length, in one kernel over a picture with a disc on it.
 */
import { fromFunction, stencil } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const disc = fromFunction((i, j) => ((i - 48) ** 2 + (j - 48) ** 2 < 900 ? 1 : 0), [96, 96]);
const edges = stencil(
  (at) => {
    const across = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
    const down = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
    return Math.hypot(across, down);
  },
  { dtype: "f32" },
)(disc);
edges.get(48, 48); // → 0
edges.get(48, 18) > 3; // → true
export const picture = plot.svg(edges, { title: "Sobel", width: 420, height: 360 });
