/**
 * The Mandelbrot set
 *
 * A function with a loop for one point, mapped over a grid that broadcasts a row against a column.
 */
import { linspace, zip } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const re = linspace(-2.2, 0.8, 240, { dtype: "f64" }).reshape(1, 240);
const im = linspace(-1.2, 1.2, 192, { dtype: "f64" }).reshape(192, 1);
const rounds = zip([re, im], (cr, ci) => {
  let zr = 0;
  let zi = 0;
  let n = 0;
  while (n < 60 && zr * zr + zi * zi <= 4) {
    const t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    n++;
  }
  return n;
});
rounds.max().item(); // → 60
export const picture = plot.svg(rounds.sqrt(), { title: "rounds, as square roots", width: 520, height: 400 });
