/**
 * Make it smaller, and larger again
 *
 * Area averages for the way down, cubic interpolation for the way up: what is lost is fine detail.
 */
import { fromFunction, image } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const rings = fromFunction((i, j) => Math.sin(((i - 64) ** 2 + (j - 64) ** 2) / 400), [128, 128]);
const small = image.resize(rings, [32, 32], { method: "area" });
const back = image.resize(small, [128, 128], { method: "bicubic" });
small.shape; // → [32, 32]
back.sub(rings).abs().mean().item() < 0.1; // → true
export const picture = plot.svg(back, { title: "128 → 32 → 128", width: 420, height: 360 });
