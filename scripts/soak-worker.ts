/**
 * One Node worker of the soak: an engine with threads of its own, the same operations over and over until the time is
 * up. What comes out is compared, byte by byte, with what one thread computed at the start.
 */
import { parentPort, workerData } from "node:worker_threads";
import { engine } from "../src/engine.ts";
import { memory, scope, Tensor } from "../src/index.ts";
import { makeOperations } from "./soak-operations.ts";

export interface SoakReport {
  /** Operations that were compared, by family. */
  readonly compared: Readonly<Record<string, number>>;
  /** What went wrong: other bytes than the first time, or an error; each once. */
  readonly wrong: readonly string[];
  readonly threads: number;
  /** Tensors, and bytes of the heap, at the end over those after the first round. */
  readonly leftTensors: number;
  readonly grownBytes: number;
}

const { seconds } = workerData as { seconds: number };

/** The bytes of all tensors in a result. */
function bytesOf(x: unknown): Buffer[] {
  if (x instanceof Tensor) {
    const { buffer, byteOffset, byteLength } = x.toTypedArray() as Float32Array;
    return [Buffer.from(buffer, byteOffset, byteLength)];
  }
  return typeof x === "object" && x !== null ? Object.values(x).flatMap(bytesOf) : [];
}
const measure = (run: () => unknown) => scope(() => Buffer.concat(bytesOf(run())));

const list = Object.entries(makeOperations()).flatMap(([family, operations]) =>
  Object.entries(operations).map(([name, run]) => ({ family, name: `${family}: ${name}`, run })),
);
const { kernels, pool } = engine();
const expected = list.map(({ run }) => kernels.alone(() => measure(run)));

pool.waitUntilReady(60_000);
const compared: Record<string, number> = {};
const wrong = new Set<string>();
const until = performance.now() + 1000 * seconds;
let before: ReturnType<typeof memory> | null = null;
// The first round, whose workspaces stay, is complete however little time there is.
for (let round = 0; round === 0 || performance.now() < until; round++) {
  for (const [i, { family, name, run }] of list.entries()) {
    if (round > 0 && performance.now() > until) break;
    try {
      if (Buffer.compare(measure(run), expected[i]) !== 0) wrong.add(`${name} gave other bytes`);
    } catch (error) {
      wrong.add(`${name}: ${String(error).split("\n")[0]}`);
    }
    compared[family] = (compared[family] ?? 0) + 1;
  }
  before ??= memory();
}
const report: SoakReport = {
  compared,
  wrong: [...wrong],
  threads: pool.threads,
  leftTensors: memory().tensors - before!.tensors,
  grownBytes: memory().bytes - before!.bytes,
};
parentPort!.postMessage(report);
