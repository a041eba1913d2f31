/**
 * Filter a sound
 *
 * A windowed sinc lets low frequencies through; convolution with it removes the hiss.
 */
import { arange, convolve, random, sinc, windows } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const slow = arange(600).map((i) => Math.sin(i / 30));
const noisy = slow.add(random.generator(3).normal([600]).mul(0.4));
const taps = sinc(arange(-40, 41).mul(0.06)).mul(windows.hamming(81));
const filter = taps.div(taps.sum());
const clean = convolve(noisy, filter, { mode: "same" });
clean.slice("50:-50").sub(slow.slice("50:-50")).abs().mean().item() < 0.15; // → true
export const picture = plot.svg(clean, { title: "after the filter" });
