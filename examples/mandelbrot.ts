/**
 * The Mandelbrot set, twice: as a function of one point, which `zip` maps over two tensors, and as a whole function with
 * loops over rows and columns, which `njit` compiles. Both are the same WebAssembly inside. Run: npx tsx examples/mandelbrot.ts
 */
import { arrayEqual, linspace, njit, type Tensor, zeros, zip } from "../src/index.ts";

const [rows, columns] = [24, 72];
const re = linspace(-2.2, 0.8, columns, { dtype: "f64" }).reshape([1, columns]);
const im = linspace(-1.2, 1.2, rows, { dtype: "f64" }).reshape([rows, 1]);

/** How many rounds a point stays within 2 of the origin. */
const roundsOf = (cr: number, ci: number) => {
  let zr = 0;
  let zi = 0;
  let n = 0;
  while (n < 100 && zr * zr + zi * zi <= 4) {
    const t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    n++;
  }
  return n;
};
const points = zip([re, im], roundsOf);

const whole = njit((out, re, im) => {
  for (let i = 0; i < out.shape[0]; i++) {
    for (let j = 0; j < out.shape[1]; j++) {
      let zr = 0;
      let zi = 0;
      let n = 0;
      while (n < 100 && zr * zr + zi * zi <= 4) {
        const t = zr * zr - zi * zi + re.get(0, j);
        zi = 2 * zr * zi + im.get(i, 0);
        zr = t;
        n++;
      }
      out.set([i, j], n);
    }
  }
  return out;
});
const same = whole(zeros([rows, columns], { dtype: "f64" }), re, im) as Tensor;

const shades = " .:-=+*#%@";
for (const row of points.toArray() as number[][]) {
  console.log(row.map((n) => shades[n === 100 ? 9 : Math.min(8, Math.floor(Math.log2(n + 1)))]).join(""));
}
console.log(`zip and njit agree: ${arrayEqual(points, same)}`);
