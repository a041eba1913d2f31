/**
 * Solve a system of equations
 *
 * A charge on a wire: second differences as a matrix, and its solution.
 */
import { arange, eye, linalg, where } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const n = 60;
const off = eye(n, { k: 1, dtype: "f64" }).add(eye(n, { k: -1, dtype: "f64" }));
const a = eye(n, { dtype: "f64" }).mul(2).sub(off);
const place = arange(n, { dtype: "f64" });
const charge = where(place.equal(15), 1, where(place.equal(40), -0.5, 0)).to("f64");
const potential = linalg.solve(a, charge);
a.matmul(potential).sub(charge).abs().max().item() < 1e-10; // → true
export const picture = plot.svg(potential, { title: "potential along the wire" });
