/**
 * Loudness over time
 *
 * Root mean squares of windows, straight from a view of the sound.
 */
import { arange } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const sound = arange(8000).map((i) => Math.sin(i / 5) * Math.exp(-(((i % 2000) - 300) ** 2) / 60000));
const windowsOf = sound.slidingWindow(200, 0).slice("::40");
const loudness = windowsOf.square().mean({ axis: 1 }).sqrt();
loudness.shape; // → [196]
export const picture = plot.svg(loudness, { title: "four beats" });
