/**
 * What moves together
 *
 * Four series, two of them related, as a matrix of correlations.
 */
import { corrcoef, random, stack } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const series = random.generator(9).normal([4, 500]);
const related = series.slice(0).mul(0.8).add(series.slice(1).mul(0.6));
const matrix = corrcoef(stack([series.slice(0), related, series.slice(2), series.slice(3)]));
Math.abs(matrix.get(0, 1) - 0.8) < 0.1; // → true
export const picture = plot.svg(matrix, { title: "correlations", range: [-1, 1], width: 380, height: 320 });
