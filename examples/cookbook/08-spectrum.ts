/**
 * The spectrum of a sound
 *
 * Two tones and noise; the real transform shows them as two peaks.
 */
import { arange, complexAbs, fft, random, windows, zip } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const rate = 4000;
const t = arange(2000).div(rate);
const noise = random.generator(1).normal([2000]);
const sound = zip(
  [t, noise],
  (t, e) => Math.sin(6.2831853 * 440 * t) + 0.5 * Math.sin(6.2831853 * 1200 * t) + 0.2 * e,
);
const strength = complexAbs(fft.rfft(sound.mul(windows.hann(2000))));
const hertz = fft.rfftfreq(2000, { d: 1 / rate });
hertz.get(strength.argmax().item()).toFixed(0); // → 440
export const picture = plot.svg(strength, { x: hertz, title: "strength", xLabel: "hertz" });
