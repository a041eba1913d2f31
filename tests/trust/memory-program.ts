/**
 * node --import tsx memory-program.ts <program> [steps]: a program that makes tensors of 3 MB and frees none of them by
 * hand, as servers and pipelines are written. Prints what it computed and what it held, or the error it died of.
 */
import { setImmediate as nextTask, setTimeout as sleep } from "node:timers/promises";
import { engine } from "../../src/engine.ts";
import { configure, full, memory, scopeAsync, type Tensor } from "../../src/index.ts";

/** What it prints. */
export interface Held {
  /** What all steps gave, added up. */
  readonly sum: number;
  readonly steps: number;
  /** The most of the process's memory that was seen between steps. */
  readonly rss: number;
  readonly peakBytes: number;
  readonly weights: number;
  readonly milliseconds: number;
  readonly error?: string;
}

const ELEMENTS = 786_432;
let [steps, sum, rss] = [0, 0, 0];
function done(value: number): void {
  sum += value;
  if (++steps % 10 === 0) rss = Math.max(rss, process.memoryUsage.rss());
}

/** Three tensors, with a pause between them. */
async function request(i: number, pause: () => Promise<unknown>): Promise<void> {
  const a = full([ELEMENTS], i, { dtype: "f32" });
  await pause();
  const b = a.add(1);
  await pause();
  done(b.mul(2).get(7));
}

async function* numbers(count: number): AsyncGenerator<Tensor<"f32">> {
  for (let i = 0; i < count; i++) {
    await nextTask();
    yield full([ELEMENTS], i, { dtype: "f32" });
  }
}

const programs: Record<string, (count: number) => Promise<void>> = {
  /** One request after the other. */
  async requests(count) {
    for (let i = 0; i < count; i++) await request(i, () => sleep(0));
  },
  /** Eight at a time, each waiting as long as it likes. */
  async concurrent(count) {
    let next = 0;
    const client = async () => {
      while (next < count) await request(next++, () => sleep(next % 3));
    };
    await Promise.all(Array.from({ length: 8 }, client));
  },
  /** A stream of tensors. */
  async stream(count) {
    let i = 0;
    for await (const t of numbers(count)) done(t.add(1).mul(2).get(i++));
  },
  /** A heap that may not become large. */
  async small(count) {
    configure({ maximumBytes: 128 * 2 ** 20 });
    for (let i = 0; i < count; i++) await request(i, nextTask);
  },
  /** What is freed by hand: for comparison. */
  async disposed(count) {
    for (let i = 0; i < count; i++) {
      using a = full([ELEMENTS], i, { dtype: "f32" });
      await nextTask();
      using b = a.add(1);
      await nextTask();
      using c = b.mul(2);
      done(c.get(7));
    }
  },
  /** The same in scopes. */
  async scoped(count) {
    for (let i = 0; i < count; i++) {
      await scopeAsync(async (s) => {
        const a = s.run(() => full([ELEMENTS], i, { dtype: "f32" }));
        await nextTask();
        const b = s.run(() => a.add(1));
        await nextTask();
        done(s.run(() => b.mul(2).get(7)));
      });
    }
  },
  /** Awaits, and never ends its task: finalizers cannot run. */
  async microtasks(count) {
    configure({ maximumBytes: 128 * 2 ** 20 });
    for (let i = 0; i < count; i++) await request(i, () => Promise.resolve());
  },
};

async function main(): Promise<void> {
  const [name, count = "600"] = process.argv.slice(2);
  const start = performance.now();
  let error: string | undefined;
  try {
    await programs[name](Number(count));
  } catch (thrown) {
    error = String(thrown);
  }
  const held: Held = {
    sum,
    steps,
    rss,
    peakBytes: memory().peakBytes,
    weights: engine().heap.weight.count,
    milliseconds: performance.now() - start,
    ...(error === undefined ? {} : { error }),
  };
  process.stdout.write(JSON.stringify(held), () => process.exit(0));
}

void main();
