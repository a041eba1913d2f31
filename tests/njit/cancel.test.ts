/** A call that takes too long, or that another thread wants to stop, ends; the process, the pool and the memory go on. */
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, test } from "vitest";
import { memory, scope, TensorError, zeros } from "../../src/index.ts";
import { type Njit, njit } from "../../src/njit/njit.ts";
import { onThreads, stopPools } from "./threads.ts";

afterAll(stopPools);

type Fn = (...args: never[]) => unknown;
const made = (source: string): Njit => njit(new Function(`return (${source})`)() as Fn);

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof TensorError)
      return `(${error.code}) ${error.message.replace(/after \d+ ms/, "after … ms")}`;
    throw error;
  }
  return "no error";
}

/** Programs that would run for minutes. */
const endless: Record<string, string> = {
  "loops inside of loops":
    "function slow(n) { let s = 0; for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) s += Math.sqrt(i + j); return s; }",
  "a loop whose end nobody can tell":
    "function slow(n) { let x = n; while (x > 0) x = x * 0.5 + 1; return x; }",
  "a loop that is left from inside":
    "function slow(n) { let x = 1; for (;;) { x = x * 1.1 % 7; if (x > n) return x; } }",
  "a parallel loop":
    "function slow(n, { prange }) { let s = 0; for (const i of prange(n)) { let t = 0; for (let j = 0; j < n; j++) for (let k = 0; k < 1000; k++) t += Math.sqrt(i + j + k); s += t; } return s; }",
};

describe.each(Object.entries(endless))("%s", (_, source) => {
  const fn = made(source);

  test.each([1, 3])("end when the time is up, on %i threads", (threads) => {
    const start = performance.now();
    expect(messageOf(() => onThreads(threads, () => fn.with({ timeLimit: 20 })(1_000_000)))).toBe(
      '(cancelled) njit: "slow" was cancelled after … ms: its time limit is 20 ms.\n  What it had written stays written.',
    );
    // Far from the hours that it would take, on a machine that is busy too.
    expect(performance.now() - start).toBeLessThan(60_000);
  });
});

describe("who stops a call", () => {
  test("a flag that another thread sets", async () => {
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(
      "const { workerData } = require('node:worker_threads'); Atomics.wait(workerData, 0, 0, 30); Atomics.store(workerData, 0, 1);",
      { eval: true, workerData: flag },
    );
    const fn = made(endless["loops inside of loops"]);
    expect(messageOf(() => fn.with({ flag, timeLimit: 60_000 })(1_000_000))).toMatch(/its flag was set/);
    await worker.terminate();
    // Set already: nothing runs.
    const out = new Float64Array(1);
    expect(messageOf(() => made("(a) => { a[0] = 1; }").with({ flag })(out))).toMatch(/^\(cancelled\)/);
    expect(out[0]).toBe(0);
    Atomics.store(flag, 0, 0);
    made("(a) => { a[0] = 1; }").with({ flag })(out);
    expect(out[0]).toBe(1);
  });

  test("a signal that was aborted before", () => {
    const control = new AbortController();
    const fn = made("(n) => n + 1").with({ signal: control.signal });
    expect(fn(1)).toBe(2);
    control.abort();
    expect(messageOf(() => fn(1))).toMatch(/its signal was aborted/);
    expect(messageOf(() => fn.plain(1))).toMatch(/its signal was aborted/);
  });

  test("the plain call is stopped at an element that it reads", () => {
    const fn = made("(a) => { for (;;) a[0] = a[1] + 1; }");
    expect(messageOf(() => fn.with({ timeLimit: 10 }).plain(new Float64Array(2)))).toMatch(
      /time limit is 10 ms/,
    );
    scope(() => {
      const tensors = made("(a) => { for (;;) a.set([0], a.get(1)); }").with({ timeLimit: 10 });
      expect(messageOf(() => tensors.plain(zeros([2])))).toMatch(/time limit is 10 ms/);
    });
  });
});

test("a call that ends in time gives what it gives without a limit, and its failures are the same", () => {
  const fn = made(`(out, { prange }) => {
    let s = 0;
    for (const i of prange(out.length - 1)) { let k = 0; while (k * k < i) k++; out[i] = k; s += k; }
    let i = 0;
    while (out[i] < 1e9) i++;
    return s;
  }`);
  const ok = made(
    "(out, n) => { let s = 0; for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) s += out[i % 3] + j; return s; }",
  );
  const [a, b] = [new Float64Array(99), new Float64Array(99)];
  const limited = fn.with({ timeLimit: 60_000 });
  expect(messageOf(() => limited(a))).toBe(messageOf(() => fn(b)));
  expect([...a]).toEqual([...b]);
  expect(ok.with({ timeLimit: 60_000 })(a, 40)).toBe(ok(a, 40));
});

test("what was cancelled leaves no memory behind, and what it wrote stays written", async () => {
  const fn = made(`(a, seen, n) => {
    for (let i = 0; i < n; i++) { for (let k = 0; k < 1000; k++) a[1] += k; seen[0] = i + 1; }
  }`);
  // The other thread stops it once it has seen that something was written: a time limit could be up before.
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const owner = zeros([1], { dtype: "i32" });
  const seen = owner.data as Int32Array;
  const worker = new Worker(
    `const { workerData: { seen, flag } } = require('node:worker_threads');
    while (Atomics.load(seen, 0) === 0) Atomics.wait(flag, 0, 0, 1);
    Atomics.store(flag, 0, 1);`,
    { eval: true, workerData: { seen, flag } },
  );
  const before = memory();
  const a = new Float64Array(2);
  expect(messageOf(() => fn.with({ flag, timeLimit: 120_000 })(a, seen, 1e9))).toMatch(/its flag was set/);
  expect(a[1]).toBeGreaterThan(0);
  // Not more than before; less where garbage of others was collected meanwhile.
  expect(memory().tensors).toBeLessThanOrEqual(before.tensors);
  expect(memory().bytes).toBeLessThanOrEqual(before.bytes);
  await worker.terminate();
  owner.dispose();
});

test("limits that are none are refused", () => {
  const fn = made("(n) => n");
  const given = (limits: unknown) => messageOf(() => fn.with(limits as never));
  expect(given(3)).toMatchInlineSnapshot(`
    "(value) njit: the options are the number 3.
      Give an object such as { timeLimit: 1000 }."
  `);
  expect(given({ timeLimit: -1 })).toMatchInlineSnapshot(`
    "(value) njit: timeLimit is the number -1.
      Give milliseconds above 0."
  `);
  expect(given({ signal: {} })).toMatchInlineSnapshot(`
    "(value) njit: signal is an object.
      Give an AbortSignal: new AbortController().signal."
  `);
  expect(given({ flag: new Int32Array(1) })).toMatchInlineSnapshot(`
    "(value) njit: flag is an object.
      Give memory that threads share: new Int32Array(new SharedArrayBuffer(4))."
  `);
  expect(given({ limit: 1 })).toMatchInlineSnapshot(`
    "(value) njit: there is no option "limit".
      There are timeLimit, signal, flag."
  `);
});
