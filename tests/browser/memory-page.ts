/** Runs in the page: tensors of 3 MB that nobody frees, in tasks of their own; then what the heap has held. */
import { full, memory } from "../../src/index.ts";

export interface MemoryResult {
  readonly isolated: boolean;
  readonly steps: number;
  readonly sum: number;
  readonly milliseconds: number;
  readonly memory: ReturnType<typeof memory>;
}

/** The next task, without the 4 ms that nested timers wait. */
const nextTask = (): Promise<void> =>
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(null);
  });

async function request(i: number): Promise<number> {
  const a = full([786_432], i, { dtype: "f32" });
  await nextTask();
  const b = a.add(1);
  await nextTask();
  return b.mul(2).get(i);
}

async function main(): Promise<MemoryResult> {
  const steps = Number(new URLSearchParams(location.search).get("steps") ?? 800);
  const start = performance.now();
  let sum = 0;
  for (let i = 0; i < steps; i += 4) {
    const answers = await Promise.all([0, 1, 2, 3].map((k) => request(i + k)));
    for (const answer of answers) sum += answer;
  }
  const milliseconds = performance.now() - start;
  return { isolated: globalThis.crossOriginIsolated, steps, sum, milliseconds, memory: memory() };
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
