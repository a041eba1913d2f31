/**
 * Blend two layers
 *
 * Bytes that are computed in f32 and stored saturating: no pixel wraps around.
 */
import { fromFunction, zip } from "../../src/index.ts";

const below = fromFunction((_, j, c) => (c === 0 ? 230 : 40 + j), [96, 160, 3], { dtype: "u8" });
const above = fromFunction((i, _, c) => (c === 2 ? 250 : 2 * i), [96, 160, 3], { dtype: "u8" });
const alpha = fromFunction((_, j) => Math.exp(-((j - 80) ** 2) / 900), [96, 160, 1]);
const blended = zip([above, below, alpha], (a, b, t) => Math.round(t * a + (1 - t) * b), {
  compute: "f32",
  dtype: "u8",
});
blended.get(0, 80, 2); // → 250
export const picture = blended;
