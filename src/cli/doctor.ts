/** What this machine has for strided, and what it reaches: a few seconds. */
import { zeros } from "../api.ts";
import { engine } from "../engine.ts";
import { kernel } from "../kernel.ts";
import type { Tensor } from "../tensor.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";

/** One line: a name and what was found. */
export type Finding = readonly [name: string, value: string];

export interface Machine {
  /** "v20.19.0, V8 11.3" */
  readonly runtime: string;
  /** The processor, and how many cores. */
  readonly processor: string;
}

const yes = (on: boolean) => (on ? "yes" : "no");

/** Everything there is to know, one after the other; `turbo` loads strided/turbo first. */
export async function* examine(machine: Machine, wantsTurbo: boolean): AsyncGenerator<Finding> {
  const turbo = wantsTurbo ? (await import("../turbo.ts")).turbo : [];
  const features = detectFeatures();
  yield ["Node", machine.runtime];
  yield ["CPU", machine.processor];
  yield ["SIMD", yes(features.simd)];
  yield ["relaxed SIMD", yes(features.relaxedSimd)];
  yield ["shared memory", yes(engine().heap.shared)];
  for (const { name, on, why } of turbo) yield [`turbo: ${name}`, `${yes(on)} (${why})`];
  if (!wantsTurbo) yield ["turbo", "not asked for (--turbo)"];
  engine().pool.waitUntilReady();
  const { threads, wanted, why } = engine().pool.status();
  yield ["threads", `${threads} of ${wanted}${why === null ? "" : ` (${why})`}`];
  yield* speeds();
}

function* speeds(): Iterable<Finding> {
  const add = kernel((a: number, b: number) => a + b);
  for (const [label, n] of [
    ["add, in cache", 1 << 16],
    ["add, from memory", 1 << 24],
  ] as const) {
    // Written once, so that every page is really there.
    const [a, b, out] = [1, 2, 3].map((x) => zeros(n).fill(x) as Tensor);
    yield [label, `${((12 * n) / best(() => add.into(out, a, b)) / 1e6).toFixed(1)} GB/s`];
    for (const t of [a, b, out]) t.dispose();
  }
  const exp = kernel((x: number) => Math.exp(x));
  const [x, y] = [zeros(1 << 20), zeros(1 << 20)];
  yield ["exp", `${((1 << 20) / best(() => exp.into(y, x)) / 1e3).toFixed(0)} million a second`];
  for (const n of [256, 1024]) {
    const [a, b] = [zeros([n, n]), zeros([n, n])];
    yield [`matmul ${n}`, `${((2 * n ** 3) / best(() => a.matmul(b).dispose()) / 1e6).toFixed(1)} GFLOP/s`];
    for (const t of [a, b]) t.dispose();
  }
  for (const t of [x, y]) t.dispose();
}

/** The best of several rounds, in milliseconds a call. */
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
