/**
 * How sure is a mean?
 *
 * The bootstrap: draw the sample again a few thousand times, and look at the means.
 */
import { quantile, random, take, tensor } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const waits = tensor([12, 15, 9, 31, 22, 8, 14, 19, 27, 11, 16, 13]);
const draws = random.generator(5).integers(0, 12, [4000, 12]);
const means = take(waits, draws).mean({ axis: 1 });
const [low, high] = [quantile(means, 0.025).item(), quantile(means, 0.975).item()];
low < 16.4 && 16.4 < high; // → true
export const picture = plot.svg(means, { kind: "histogram", title: "means of 4,000 samples" });
