/**
 * Ten Node workers, each with an engine and threads of its own, compute the same thing over and over. Bundled by the
 * test, since Node 20's workers read no TypeScript.
 */
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { arange, kernel, scope } from "../../src/index.ts";

function work(): string {
  const f = kernel((x: number) => (x * x) / (x + 1));
  const results = new Set<string>();
  for (let round = 0; round < 50; round++) {
    scope(() => {
      const a = arange(50_000);
      results.add(String(f(a).sum().item()));
    });
  }
  return [...results].join();
}

if (isMainThread) {
  const answers = await Promise.all(
    Array.from(
      { length: 10 },
      () =>
        new Promise<string>((done, failed) => {
          const worker = new Worker(new URL(import.meta.url));
          worker.on("message", done);
          worker.on("error", failed);
        }),
    ),
  );
  const agree = answers.every((a) => a === answers[0] && !a.includes(","));
  console.log(agree ? `${answers.length} workers agree` : `they differ: ${answers.join(" | ")}`);
} else {
  parentPort!.postMessage(work());
}
