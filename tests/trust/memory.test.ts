/**
 * Garbage in asynchronous code: programs that free nothing by hand run on, because the garbage collector feels what
 * tensors weigh. Each program is a process of its own and makes more than a heap can hold.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Held } from "./memory-program.ts";

const program = fileURLToPath(new URL("./memory-program.ts", import.meta.url));

async function run(name: string, steps: number): Promise<Held> {
  const args = ["--import", "tsx", program, name, String(steps)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 110_000 });
  return JSON.parse(stdout) as Held;
}

/** Σ 2·(i + 1) over all steps. */
const total = (steps: number) => steps * (steps + 1);

test.each(["requests", "concurrent", "stream"])(
  "%s of 3 MB tensors, 5.6 GB in all, hold a fraction of it",
  { timeout: 120_000 },
  async (name) => {
    const held = await run(name, 600);
    expect(held).toMatchObject({ steps: 600, sum: total(600) });
    // 450 to 860 MB were seen, beside ten busy processes.
    expect(held.rss).toBeLessThan(1.2e9);
    expect(held.weights).toBeGreaterThan(5);
    // One collection a step of 256 MiB, or two where one was slow: not one for every tensor.
    expect(held.weights).toBeLessThan(80);
  },
);

test("a heap of 128 MiB serves them too", { timeout: 120_000 }, async () => {
  const held = await run("small", 300);
  expect(held).toMatchObject({ steps: 300, sum: total(300) });
  expect(held.peakBytes).toBeLessThanOrEqual(128 * 2 ** 20);
});

test.each(["disposed", "scoped"])("tensors that are %s ask for no collections", async (name) => {
  const held = await run(name, 200);
  expect(held).toMatchObject({ steps: 200, sum: total(200), weights: 0 });
  expect(held.peakBytes).toBeLessThan(20e6);
});

test("a loop that awaits only resolved promises never ends its task: the error says what to do", async () => {
  const { error, steps } = await run("microtasks", 100);
  expect(steps).toBeLessThan(20);
  expect(error).toMatchInlineSnapshot(`
    "TensorError: full: out of memory: needs 3 MiB, 126 MiB of 128 MiB in use by 42 tensors; the largest free piece has 1.9 MiB.
      Free tensors with dispose(), using, scope(() => …) or scopeAsync(async (s) => …): garbage is freed between tasks, not inside a synchronous loop and not in one that awaits only resolved promises."
  `);
});
