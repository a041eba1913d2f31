/**
 * A million small operations on two threads, large ones among them, and then 5,000 kernels that are all different:
 * prints what memory grew by once everything that is kept had been made, and how many results were wrong. Run with
 * --expose-gc: without a collection before it, a look at the process's memory shows when V8 collected last, and little
 * else.
 */
import { engine } from "../../src/engine.ts";
import { arange, configure, kernel, memory, scope, zeros } from "../../src/index.ts";

configure({ threads: 2 });
engine().pool.waitUntilReady(20_000);
const MiB = 2 ** 20;

interface Used {
  readonly rss: number;
  readonly heapBytes: number;
}

function collect(): void {
  if (gc === undefined) throw new Error("flat.ts wants node --expose-gc");
  gc();
}

function used(): Used {
  collect();
  return { rss: process.memoryUsage().rss / MiB, heapBytes: memory().bytes + memory().capacityBytes };
}

/** Runs `round` so many times; what the process and the heap grew by after the first `warm` of them. */
function growth(warm: number, rounds: number, round: (i: number) => void): Used {
  let i = 0;
  for (; i < warm; i++) round(i);
  const before = used();
  for (; i < rounds; i++) round(i);
  const after = used();
  return { rss: after.rss - before.rss, heapBytes: after.heapBytes - before.heapBytes };
}

const counter = zeros(64);
const big = zeros(1 << 16);
const inc = kernel((x: number) => x + 1);
const million = growth(50_000, 500_000, (i) => {
  inc.into(counter, counter);
  inc(counter).dispose();
  if (i % 1000 === 0) inc.into(big, big);
});
const right = Number(counter.get(0)) === 500_000 && Number(big.min().item()) === 500;

const x = arange(40_000);
let wrong = 0;
// 1,024 are kept; twice as many have pushed each other out, here and in the worker.
const kernels = growth(2048, 5000, (i) => {
  const f = kernel(new Function("x", `return x * ${i} + ${i % 7}`) as (x: number) => number);
  scope(() => {
    if (f(x).get(9) !== Math.fround(9 * i + (i % 7))) wrong++;
  });
  if (i % 500 === 0) collect();
});

console.log(
  JSON.stringify({
    million,
    right,
    kernels,
    wrong,
    threads: engine().pool.threads,
    kept: engine().kernels.kept,
  }),
);
