/**
 * Random walks
 *
 * A cumulative sum of steps, eight walks at once.
 */
import { random, where } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const coins = random.generator(8).uniform([400, 8]).less(0.5);
const paths = where(coins, 1, -1).cumsum({ axis: 0 }).to("f32");
paths.shape; // → [400, 8]
paths.slice(-1).abs().max().item() < 100; // → true
export const picture = plot.svg(paths, { title: "eight walks of 400 steps" });
