/**
 * One Node worker of the soak: an engine with threads of its own, the same operations over and over until the time is
 * up. What comes out is compared, byte by byte, with what one thread computed at the start.
 */
import { parentPort, workerData } from "node:worker_threads";
import { engine } from "../src/engine.ts";
import { arange, kernel, memory, scope, softmax, type Tensor } from "../src/index.ts";

export interface SoakReport {
  readonly rounds: number;
  readonly operations: number;
  /** Names of operations that once gave other bytes than the first time. */
  readonly wrong: readonly string[];
  readonly threads: number;
  /** Tensors, and bytes of the heap, at the end over those after the first round. */
  readonly leftTensors: number;
  readonly grownBytes: number;
}

const { seconds } = workerData as { seconds: number };
const ratio = kernel((x: number) => (x * x) / (x + 1));
const bytesOf = (t: Tensor) => {
  const { buffer, byteOffset, byteLength } = t.toTypedArray() as Float32Array;
  return Buffer.from(buffer, byteOffset, byteLength);
};

const x = arange(50_000).map((v) => v / 7);
const m = arange(96 * 96)
  .reshape(96, 96)
  .map((v) => (v % 17) - 8);
const operations: Record<string, () => Tensor> = {
  kernel: () => ratio(x),
  "kernel, small": () => ratio(x.slice(":100")),
  sum: () => x.sum(),
  "sum of columns": () => x.reshape(250, 200).sum({ axis: 0 }),
  softmax: () => softmax(x.reshape(250, 200), { axis: 1 }),
  matmul: () => m.matmul(m.T),
  transposed: () => x.reshape(200, 250).T.add(x.reshape(250, 200)),
  half: () => x.to("f16").to("f32"),
  "called function": () => x.slice("::500").map((v) => v + seconds),
};
const measure = (run: () => Tensor) => scope(() => bytesOf(run()));
const expected = new Map(
  Object.entries(operations).map(([name, run]) => [name, engine().kernels.alone(() => measure(run))]),
);

engine().pool.waitUntilReady(20_000);
const before = memory();
const wrong = new Set<string>();
let rounds = 0;
for (const until = performance.now() + 1000 * seconds; performance.now() < until; rounds++) {
  for (const [name, run] of Object.entries(operations)) {
    if (Buffer.compare(measure(run), expected.get(name)!) !== 0) wrong.add(name);
  }
}
const report: SoakReport = {
  rounds,
  operations: rounds * expected.size,
  wrong: [...wrong],
  threads: engine().pool.threads,
  leftTensors: memory().tensors - before.tensors,
  grownBytes: memory().bytes - before.bytes,
};
parentPort!.postMessage(report);
