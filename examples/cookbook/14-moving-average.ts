/**
 * A moving average
 *
 * A window that slides is a view; its mean along the last axis is the average.
 */
import { random, stack } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const price = random.generator(11).normal([300]).cumsum().add(100);
const average = price.slidingWindow(30, 0).mean({ axis: 1 });
average.shape; // → [271]
export const picture = plot.svg(stack([price.slice("29:"), average], { axis: 1 }), {
  title: "price and its average",
});
