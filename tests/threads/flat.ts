/**
 * A million small operations on two threads, large ones among them, and then 5,000 kernels that are all different:
 * prints what memory grew by after a first tenth of each, and how many results were wrong.
 */
import { engine } from "../../src/engine.ts";
import { arange, configure, kernel, memory, scope, zeros } from "../../src/index.ts";

configure({ threads: 2 });
engine().pool.waitUntilReady(20_000);
const MiB = 2 ** 20;

/** Runs `round` so many times; what the process and the heap grew by after the first tenth. */
function growth(rounds: number, round: (i: number) => void): { rss: number; heapBytes: number } {
  let rss = 0;
  let bytes = 0;
  for (let i = 0; i < rounds; i++) {
    round(i);
    if (i === rounds / 10) {
      rss = process.memoryUsage().rss;
      bytes = memory().bytes + memory().capacityBytes;
    }
  }
  return {
    rss: (process.memoryUsage().rss - rss) / MiB,
    heapBytes: memory().bytes + memory().capacityBytes - bytes,
  };
}

const counter = zeros(64);
const big = zeros(1 << 16);
const inc = kernel((x: number) => x + 1);
const million = growth(500_000, (i) => {
  inc.into(counter, counter);
  inc(counter).dispose();
  if (i % 1000 === 0) inc.into(big, big);
});
const right = Number(counter.get(0)) === 500_000 && Number(big.min().item()) === 500;

const x = arange(40_000);
let wrong = 0;
const kernels = growth(5000, (i) => {
  const f = kernel(new Function("x", `return x * ${i} + ${i % 7}`) as (x: number) => number);
  scope(() => {
    if (f(x).get(9) !== Math.fround(9 * i + (i % 7))) wrong++;
  });
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
