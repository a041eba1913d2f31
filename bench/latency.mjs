/** What a call costs when the work is small, and what a new kernel costs: on the built package, as users run it. */
import { kernel, zeros } from "../dist/node/index.js";

const median = (x) => x.sort((p, q) => p - q)[x.length >> 1];
const mark = (value, target) => `${value <= target ? "✓" : "✗"}`;

/** Microseconds a call, median of many turns that alternate. */
function timeBoth(...runs) {
  const CALLS = 2000;
  for (const run of runs) for (let i = 0; i < 20_000; i++) run();
  const times = runs.map(() => []);
  for (let turn = 0; turn < 41; turn++) {
    runs.forEach((run, r) => {
      const start = performance.now();
      for (let i = 0; i < CALLS; i++) run();
      times[r].push(((performance.now() - start) / CALLS) * 1000);
    });
  }
  return times.map((t) => ({ median: median(t), best: t[0] }));
}

const add = kernel((a, b) => a + b);
const [a, b, out] = [zeros([64, 64]), zeros([64, 64]), zeros([64, 64])];
for (const t of [a, b, out]) t.fill(1.5);
const [into, fresh, sum, product] = timeBoth(
  () => add.into(out, a, b),
  () => add(a, b).dispose(),
  () => a.sum({ axis: 1 }).dispose(),
  () => a.matmul(b).dispose(),
);

const small = zeros(64);
const first = [];
for (let i = 0; i < 110; i++) {
  // A text that was never seen: parse, optimise, emit, compile, run.
  const fn = new Function("x", `return Math.max(x * ${i}.5 + 1, x - ${i}) / 3`);
  const start = performance.now();
  small.map(fn).dispose();
  if (i >= 10) first.push(performance.now() - start);
}
const us = (x) => `${x.toFixed(2)} µs`;
const rows = [
  ["", "median", "best", "target"],
  ["64x64 add into an output", us(into.median), us(into.best), `≤ 1 µs ${mark(into.median, 1)}`],
  ["64x64 add, allocating", us(fresh.median), us(fresh.best), `≤ 2 µs ${mark(fresh.median, 2)}`],
  ["64x64 sum, axis 1", us(sum.median), us(sum.best), ""],
  ["64x64 matmul", us(product.median), us(product.best), ""],
];
const compile = median(first);
rows.push([
  "new kernel to first result",
  `${compile.toFixed(2)} ms`,
  `${first[0].toFixed(2)} ms`,
  `≤ 1 ms ${mark(compile, 1)}`,
]);
const widths = rows[0].map((_, c) => Math.max(...rows.map((r) => r[c].length)));
for (const row of rows)
  console.log(row.map((x, c) => (c === 0 ? x.padEnd(widths[c]) : x.padStart(widths[c]))).join("  "));
