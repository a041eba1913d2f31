/**
 * Five hundred pendulums
 *
 * Runge and Kutta's fourth order, all of them at once: one kernel a step.
 */
import { kernel, linspace, scope, zerosLike } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const angle = linspace(0.1, 3, 500, { dtype: "f64" });
const speed = zerosLike(angle);
const advance = kernel(
  (a, v, { h }) => {
    const l1 = -Math.sin(a);
    const k2 = v + 0.5 * h * l1;
    const l2 = -Math.sin(a + 0.5 * h * v);
    const k3 = v + 0.5 * h * l2;
    const l3 = -Math.sin(a + 0.5 * h * k2);
    const k4 = v + h * l3;
    const l4 = -Math.sin(a + h * k3);
    return [a + (h / 6) * (v + 2 * k2 + 2 * k3 + k4), v + (h / 6) * (l1 + 2 * l2 + 2 * l3 + l4)];
  },
  { h: 0.05 },
);
const energy = kernel((a, v) => 0.5 * v * v - Math.cos(a));
const before = energy(angle, speed);
for (let k = 0; k < 400; k++) scope(() => advance.into([angle, speed], angle, speed));
energy(angle, speed).sub(before).abs().max().item() < 1e-4; // → true
export const picture = plot.svg(speed, {
  x: angle,
  kind: "scatter",
  title: "angle and speed after 20 seconds",
});
