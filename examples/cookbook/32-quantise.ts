/**
 * Weights in four bits
 *
 * ggml's blocks: an eighth of the memory, and how far the values move.
 */
import { random } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";
import { quantise } from "../../src/quantised.ts";

const w = random.generator(3).normal([64, 256]);
const q = quantise(w, "q4_0");
(w.size * 4) / q.bytes > 7; // → true
const error = q.dequantise().sub(w);
error.abs().max().item() < 0.35; // → true
export const picture = plot.svg(error, { kind: "histogram", title: "what four bits cost" });
