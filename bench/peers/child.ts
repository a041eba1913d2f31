/**
 * A contestant's own process. Commands come as lines of JSON on descriptor 3, answers go out on descriptor 4; standard
 * output stays the library's own. Between commands the process waits and does nothing.
 */
import {
  closeSync,
  createReadStream,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createInterface } from "node:readline";
import { type Difference, difference, fromBytes, makeInputs, worse } from "./inputs.ts";
import type { Command, Reply } from "./protocol.ts";
import type { Adapter, Prepared, Task } from "./types.ts";

let adapter: Adapter | undefined;
let prepared: Prepared | undefined;
let task: Task | undefined;

async function load(name: string): Promise<Adapter> {
  if (name === "strided") {
    const { loadBuilt, stridedAdapter } = await import("./adapters/strided.ts");
    return stridedAdapter(() => loadBuilt(process.env.BENCH_STRIDED!, process.env.BENCH_TURBO === "1"));
  }
  const modules: Record<string, () => Promise<unknown>> = {
    loops: () => import("./adapters/loops.ts").then((m) => m.loops),
    jax: () => import("./adapters/jax.ts").then((m) => m.jax),
    "numpy-ts": () => import("./adapters/numpy-ts.ts").then((m) => m.numpyTs),
    tfjs: () => import("./adapters/tfjs.ts").then((m) => m.tfjs),
    onnx: () => import("./adapters/onnx.ts").then((m) => m.onnx),
    gpu: () => import("./adapters/gpu.ts").then((m) => m.gpuJs),
    ndarray: () => import("./adapters/ndarray.ts").then((m) => m.scijs),
  };
  return (await modules[name]()) as Adapter;
}

async function prepare(next: Task): Promise<Reply> {
  drop();
  const entry = adapter!.ops[next.op];
  if (typeof entry === "string") return { missing: entry };
  task = next;
  prepared = await entry(next, makeInputs(next.inputs));
  return {};
}

function drop(): void {
  prepared?.dispose?.();
  prepared = undefined;
}

/** The file is read piece by piece: a whole reference beside the result would be memory for nothing. */
async function check(file: string): Promise<Reply> {
  const got = await prepared!.read();
  const { out, tolerance } = task!;
  const piece = 1 << 20;
  const buffer = new Uint8Array(piece * got.BYTES_PER_ELEMENT);
  const source = openSync(file, "r");
  let worst: Difference = { worst: 0, wrong: null };
  let first = 0;
  try {
    for (let n = readSync(source, buffer); n > 0; n = readSync(source, buffer)) {
      const want = fromBytes(out.dtype, buffer.subarray(0, n));
      worst = worse(worst, difference(got.subarray(first, first + want.length), want, tolerance, first));
      first += want.length;
    }
  } finally {
    closeSync(source);
  }
  if (got.length !== first) worst = { worst: Infinity, wrong: `${got.length} elements, expected ${first}` };
  return { difference: worst };
}

async function write(file: string): Promise<Reply> {
  const got = await prepared!.read();
  writeFileSync(file, new Uint8Array(got.buffer, got.byteOffset, got.byteLength));
  return {};
}

/** Milliseconds of `calls` calls in a row. */
async function time(calls: number): Promise<number> {
  const { run } = prepared!;
  const start = performance.now();
  for (let i = 0; i < calls; i++) {
    const pending = run();
    if (pending !== undefined) await pending;
  }
  return performance.now() - start;
}

/** Runs until it is warm, then says how many calls fill a turn. */
async function warm(turn: number, longest: number): Promise<Reply> {
  const start = performance.now();
  let calls = 0;
  let last = 0;
  do {
    last = await time(1);
    calls++;
  } while (performance.now() - start < Math.min(longest, 6 * turn) && calls < 200_000);
  const batch = Math.max(1, Math.min(calls >> 1, 1000));
  if (batch > 1) last = (await time(batch)) / batch;
  return { calls: Math.max(1, Math.round(turn / Math.max(last, 1e-6))), ms: last };
}

/** The first calls after a pause pay for the pause: for threads that sleep, and virtual cores that were given away. */
async function turn(calls: number, lead: number): Promise<Reply> {
  for (const start = performance.now(); performance.now() - start < lead; ) await time(1);
  return { ms: (await time(calls)) / calls };
}

/** The most memory this process has held, in bytes. */
function peak(): number {
  try {
    const match = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"));
    if (match !== null) return Number(match[1]) * 1024;
  } catch {
    // Not Linux: what the runtime knows must do.
  }
  return process.resourceUsage().maxRSS * 1024;
}

async function obey(command: Command): Promise<Reply> {
  switch (command.do) {
    case "start": {
      const from = performance.now();
      adapter = await load(command.adapter);
      const about = await adapter.start();
      if (command.first === undefined) {
        await adapter.settle?.();
        return { about };
      }
      const reply = await prepare(command.first);
      if (reply.missing !== undefined) return reply;
      await prepared!.read();
      return { about, ms: performance.now() - from };
    }
    case "prepare":
      return prepare(command.task);
    case "check":
      return check(command.file);
    case "write":
      return write(command.file);
    case "choose": {
      const choice = prepared!.choose?.();
      return choice === undefined ? {} : { choice };
    }
    case "warm":
      return warm(command.turn, command.longest);
    case "turn":
      return turn(command.calls, command.lead);
    case "peak":
      await time(command.calls);
      return { bytes: peak() };
    case "drop":
      drop();
      return {};
  }
}

const lines = createInterface({ input: createReadStream("", { fd: 3 }) });
lines.on("line", async (line) => {
  let reply: Reply;
  try {
    reply = await obey(JSON.parse(line) as Command);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    reply = { error: text.split("\n")[0].slice(0, 300) };
  }
  writeSync(4, `${JSON.stringify(reply)}\n`);
});
lines.on("close", () => process.exit(0));
