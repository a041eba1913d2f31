/**
 * Reductions beside the speed at which memory can be read: GB/s of the input, one thread (STRIDED_THREADS=1) or all.
 * The yardstick is a plain loop of `v128.load` and `f32x4.add` over the same bytes. Contestants take turns.
 *
 *     npx tsx bench/lab/reduce.ts [rounds]
 */

import { engine } from "../../src/engine.ts";
import { arange, type Tensor } from "../../src/index.ts";
import * as exponentials from "../../src/ops/exponentials.ts";
import { callableOf } from "../../src/ops/function.ts";
import { mapReduce } from "../../src/ops/map-reduce.ts";
import { std } from "../../src/ops/spreads.ts";
import type { Strided } from "../../src/run/call.ts";
import { stridedOf } from "../../src/tensor.ts";
import { ModuleBuilder } from "../../src/wasm/assembler/assembler.ts";

const rounds = Number(process.argv[2] ?? 15);
const e = engine();
e.pool.waitUntilReady();

/** sum += 16 floats, in four registers, over `bytes` bytes from `at`. */
function readKernel(): (at: number, bytes: number) => number {
  const m = new ModuleBuilder();
  m.importMemory("e", "m", e.heap.shared ? { min: 2, max: 65536, shared: true } : { min: 2 });
  const f = m.func("read", { at: "i32", bytes: "i32" }, ["f32"], { export: true });
  const [at, bytes] = f.params;
  const end = f.local("i32");
  const sums = [0, 1, 2, 3].map(() => f.local("v128"));
  f.get(at).get(bytes).op("i32.add").set(end);
  f.loop((next) => {
    sums.forEach((s, i) => {
      f.get(s)
        .get(at)
        .load("v128.load", 16 * i, 16)
        .op("f32x4.add")
        .set(s);
    });
    f.get(at).i32(64).op("i32.add").tee(at).get(end).op("i32.lt_u").brIf(next);
  });
  f.get(sums[0]).get(sums[1]).op("f32x4.add").get(sums[2]).op("f32x4.add").get(sums[3]).op("f32x4.add");
  f.lane("f32x4.extract_lane", 0);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()), {
    e: { m: e.heap.memory },
  });
  return instance.exports.read as (at: number, bytes: number) => number;
}

const read = readKernel();
const readAll = (t: Tensor) => {
  const { address, bytes } = stridedOf(t).storage;
  let sum = 0;
  for (let i = 0; i < bytes; i += 65536) sum += read(address + i, Math.min(65536, bytes - i));
  return sum;
};

const x = arange(4096 * 4096)
  .reshape(4096, 4096)
  .map((v) => v - 8388608);
const y = x.map((v) => v * 0.5);
const logits = arange(2048 * 4096)
  .reshape(2048, 4096)
  .map((v) => (v % 97) * 0.1);
const small = arange(65536).reshape(256, 256);
const done = (t: Strided) => t.storage.release();
const dot = callableOf("bench", (a: number, b: number) => a * b);

interface Contestant {
  readonly name: string;
  readonly bytes: number;
  readonly times?: number;
  readonly run: () => unknown;
}
const big = 4096 * 4096 * 4;
const contestants: Contestant[] = [
  { name: "read 4096x4096 (yardstick)", bytes: big, run: () => readAll(x) },
  { name: "sum all", bytes: big, run: () => x.sum().dispose() },
  { name: "sum axis 0", bytes: big, run: () => x.sum({ axis: 0 }).dispose() },
  { name: "sum axis 1", bytes: big, run: () => x.sum({ axis: 1 }).dispose() },
  { name: "max axis 1", bytes: big, run: () => x.max({ axis: 1 }).dispose() },
  { name: "max axis 0", bytes: big, run: () => x.max({ axis: 0 }).dispose() },
  { name: "mean axis 1", bytes: big, run: () => x.mean({ axis: 1 }).dispose() },
  {
    name: "sum of x*y, fused",
    bytes: 2 * big,
    run: () => done(mapReduce("bench", [stridedOf(x), stridedOf(y)], dot)),
  },
  { name: "sum x.T axis 1", bytes: big, run: () => x.T.sum({ axis: 1 }).dispose() },
  { name: "argmax axis 1", bytes: big, run: () => x.argmax({ axis: 1 }).dispose() },
  { name: "std axis 1", bytes: big, run: () => done(std(stridedOf(x), { axis: 1 })) },
  {
    name: "fold 0.5*acc+x axis 0",
    bytes: big,
    run: () => x.reduce((a, v) => 0.5 * a + v, { axis: 0, init: 0 }).dispose(),
  },
  {
    name: "fold 0.5*acc+x axis 1",
    bytes: big,
    run: () => x.reduce((a, v) => 0.5 * a + v, { axis: 1, init: 0 }).dispose(),
  },
  { name: "cumsum axis 0 (read+write)", bytes: 2 * big, run: () => x.cumsum({ axis: 0 }).dispose() },
  { name: "cumsum axis 1 (read+write)", bytes: 2 * big, run: () => x.cumsum({ axis: 1 }).dispose() },
  {
    name: "softmax (2048,4096) (read+write)",
    bytes: big,
    run: () => done(exponentials.softmax(stridedOf(logits), { axis: 1 })),
  },
  {
    name: "logSoftmax (2048,4096)",
    bytes: big,
    run: () => done(exponentials.logSoftmax(stridedOf(logits), { axis: 1 })),
  },
  {
    name: "softmax axis 0",
    bytes: big,
    run: () => done(exponentials.softmax(stridedOf(logits), { axis: 0 })),
  },
  {
    name: "logsumexp (2048,4096)",
    bytes: big / 2,
    run: () => done(exponentials.logsumexp(stridedOf(logits), { axis: 1 })),
  },
  { name: "read 256x256, in cache", bytes: 262144, times: 200, run: () => readAll(small) },
  { name: "sum all 256x256", bytes: 262144, times: 200, run: () => small.sum().dispose() },
  { name: "sum axis 0 256x256", bytes: 262144, times: 200, run: () => small.sum({ axis: 0 }).dispose() },
];

const only = process.argv[3];
const chosen = contestants.filter(
  (c) => only === undefined || c.name.includes(only) || c.name.includes("yard"),
);
const times = chosen.map(() => [] as number[]);
for (let round = 0; round < rounds + 2; round++) {
  chosen.forEach((c, i) => {
    const n = c.times ?? 1;
    const start = performance.now();
    for (let k = 0; k < n; k++) c.run();
    const ms = (performance.now() - start) / n;
    if (round >= 2) times[i].push(ms);
  });
}
const median = (list: number[]) => [...list].sort((a, b) => a - b)[list.length >> 1];
const least = (list: number[]) => Math.min(...list);
console.log(`threads ${e.pool.threads}, Node ${process.version}`);
console.table(
  chosen.map((c, i) => {
    const column = (of: (list: number[]) => number) => {
      const yardstick = chosen[c.times === undefined ? 0 : chosen.findIndex((o) => o.times !== undefined)];
      const read = yardstick.bytes / of(times[chosen.indexOf(yardstick)]) / 1e6;
      const speed = c.bytes / of(times[i]) / 1e6;
      return [+speed.toFixed(1), +(speed / read).toFixed(2)];
    };
    const [speed, share] = column(median);
    const [bestSpeed, bestShare] = column(least);
    return {
      name: c.name,
      ms: +median(times[i]).toFixed(3),
      "GB/s": speed,
      "of read": share,
      "best GB/s": bestSpeed,
      "best of read": bestShare,
    };
  }),
);
