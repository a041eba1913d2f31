/**
 * A spectrogram
 *
 * Windows that slide are a view; a transform of each row gives time against frequency.
 */
import { arange, complexAbs, fft, windows } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

// A whistle that rises from 200 to 1800 hertz.
const chirp = arange(16000).map((i) =>
  Math.sin(6.2831853 * ((200 * i) / 8000 + (800 * i * i) / 16000 / 8000)),
);
const frames = chirp.slidingWindow(256, 0).slice("::128"); // [times, 256], no copy
const strength = complexAbs(fft.rfft(frames.mul(windows.hann(256))));
const decibels = strength.add(1e-3).log().mul(8.6858896);
decibels.shape; // → [124, 129]
export const picture = plot.svg(decibels.T.flip(0), {
  title: "frequency over time",
  width: 560,
  height: 360,
});
