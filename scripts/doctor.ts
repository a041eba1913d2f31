/**
 * npm run doctor: what this machine has for strided, and what it reaches. A few seconds.
 */
import { availableParallelism, cpus } from "node:os";
import { engine } from "../src/engine.ts";
import { kernel, zeros } from "../src/index.ts";
import { detectFeatures } from "../src/wasm/features.ts";

const wantsTurbo = process.argv.includes("--turbo");
const turbo = wantsTurbo ? (await import("../src/turbo.ts")).turbo : [];

const features = detectFeatures();
const yes = (on: boolean) => (on ? "yes" : "no");
const line = (name: string, value: string) => console.log(`${name.padEnd(18)} ${value}`);

line("Node", `${process.version}, V8 ${process.versions.v8}`);
line("CPU", `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} cores`);
line("SIMD", yes(features.simd));
line("relaxed SIMD", yes(features.relaxedSimd));
line("shared memory", yes(engine().heap.shared));
for (const { name, on, why } of turbo) line(`turbo: ${name}`, `${yes(on)} (${why})`);
if (!wantsTurbo) line("turbo", "not asked for (npm run doctor -- --turbo)");

engine().pool.waitUntilReady();
const { threads, wanted, why } = engine().pool.status();
line("threads", `${threads} of ${wanted}${why === null ? "" : ` (${why})`}`);

/** The best of several rounds of about 100 ms, in milliseconds a call. */
function best(run: () => void): number {
  for (let i = 0; i < 3; i++) run();
  let least = Number.POSITIVE_INFINITY;
  const until = performance.now() + 400;
  while (performance.now() < until) {
    const start = performance.now();
    run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

const add = kernel((a: number, b: number) => a + b);
for (const [label, n] of [
  ["add, in cache", 1 << 16],
  ["add, from memory", 1 << 24],
] as const) {
  // Written once, so that every page is really there.
  const [a, b, out] = [zeros(n).fill(1), zeros(n).fill(2), zeros(n).fill(3)];
  line(label, `${((12 * n) / best(() => add.into(out, a, b)) / 1e6).toFixed(1)} GB/s`);
}
const exp = kernel((x: number) => Math.exp(x));
const x = zeros(1 << 20);
const y = zeros(1 << 20);
line("exp", `${((1 << 20) / best(() => exp.into(y, x)) / 1e3).toFixed(0)} million a second`);
for (const n of [256, 1024]) {
  const [a, b] = [zeros([n, n]), zeros([n, n])];
  line(`matmul ${n}`, `${((2 * n ** 3) / best(() => a.matmul(b).dispose()) / 1e6).toFixed(1)} GFLOP/s`);
}
