/**
 * Equalise a histogram
 *
 * A dark picture gets its whole range: count, sum up, and look every pixel up in the table.
 */
import { bincount, fromFunction, take } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const dark = fromFunction((i, j) => 40 + 20 * Math.sin(i / 9) * Math.cos(j / 7), [96, 96], { dtype: "u8" });
const counts = bincount(dark.reshape(-1), { minlength: 256 });
const table = counts.cumsum().mul(255).div(dark.size).round().to("u8");
const bright = take(table, dark);
[dark.max().item() < 61, bright.max().item()]; // → [true, 255]
export const picture = plot.svg(bright.to("f32"), { title: "equalised", width: 420, height: 360 });
