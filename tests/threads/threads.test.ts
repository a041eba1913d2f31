/** The pool: N threads equal one, the process ends, a worker that stops is noticed. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Worker } from "node:worker_threads";
import { buildSync } from "esbuild";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { DType } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { arange, configure, explain, kernel, type Tensor, zeros, zip } from "../../src/index.ts";
import { Heap } from "../../src/memory/heap.ts";
import { Pool, restAfter } from "../../src/run/pool.ts";
import { type FuncBuilder, ModuleBuilder } from "../../src/wasm/assembler/assembler.ts";

beforeAll(() => {
  configure({ threads: 3 });
  engine().pool.waitUntilReady(60_000);
});

test("the workers come up, and the calling thread counts as one", () => {
  expect(engine().pool.status()).toEqual({ threads: 3, wanted: 3, why: null });
});

const bits = (t: Tensor) => new Uint8Array((t.contiguous().toTypedArray() as Float32Array).buffer);

/** The same work on all threads, and in this one alone. */
function both(run: () => Tensor): [Uint8Array, Uint8Array] {
  const shared = bits(run());
  expect(engine().walker.shared).toBe(true);
  const alone = engine().kernels.alone(() => bits(run()));
  return [shared, alone];
}

test("large operations give the same bits on three threads as on one", () => {
  const n = 700;
  const a = arange(n * n)
    .reshape(n, n)
    .map((x) => (x % 1000) / 7 - 50);
  const b = arange(n * n)
    .reshape(n, n)
    .map((x) => (x % 313) / 3);
  const f = kernel((x: number, y: number) => Math.sqrt(x * x + y * y) / (1 + Math.abs(x)));
  for (const [x, y] of [
    [a, b],
    [a.T, b],
    [a.slice(":", "::-1"), b],
    [a, b.slice("0:1")],
    [a.slice(":", "0:1"), b],
    [a.slice("::2", "1::3"), b.slice("::2", "1::3")],
  ]) {
    const [shared, alone] = both(() => f(x, y));
    expect(Buffer.compare(shared, alone)).toBe(0);
  }
});

test("products too, whichever way they are cut: rows together, columns, several stages", () => {
  const made = (dtype: DType, ...shape: number[]) => {
    const size = shape.reduce((x, y) => x * y, 1);
    return arange(size)
      .map((x) => ((x * 7919) % 251) / 16 - 7)
      .to(dtype)
      .reshape(...shape);
  };
  const gemm = engine().products;
  for (const [m, k, n] of [
    [700, 700, 700],
    [450, 2100, 400],
    [97, 2100, 400],
    [611, 300, 1100],
    [203, 601, 1501],
    [1500, 513, 515],
    [130, 140, 150],
  ]) {
    for (const dtype of ["f32", "f64", "bf16", "i32"] as const) {
      const [a, b] = [made(dtype, m, k), made(dtype, n, k).T];
      const out = zeros([n, m], { dtype }).T;
      for (const run of [() => a.matmul(b), () => a.matmul(b, { out })]) {
        const shared = bits(run());
        expect(gemm.shared).toBe(true);
        const alone = engine().kernels.alone(() => bits(run()));
        expect(Buffer.compare(shared, alone), `${dtype} ${m} × ${k} × ${n}`).toBe(0);
      }
      const [i, j] = [m - 2, n - 3];
      const row = a.slice(i).to("f64").mul(b.slice(":", j).to("f64")).sum().item() as number;
      const got = Number(a.matmul(b).get(i, j));
      const rounding = { f32: 1e-4, f64: 1e-9, bf16: 0.01 * Math.abs(row) + 1, i32: 0 }[dtype];
      expect(Math.abs(got - row), `${dtype} ${m} × ${k} × ${n}`).toBeLessThanOrEqual(rounding);
      for (const t of [a, b, out]) t.dispose();
    }
  }
});

test("conversions and copies too, in place and out of place", () => {
  const a = arange(1_000_003).map((x) => x * 0.37 - 1e5);
  const [shared, alone] = both(() => a.to("f16").to("f32").add(a));
  expect(Buffer.compare(shared, alone)).toBe(0);
  const double = kernel((x: number) => x * 2);
  const c = a.clone();
  double.into(c, c);
  expect(Buffer.compare(bits(c), bits(a.mul(2)))).toBe(0);
});

test("small operations beside large ones lose nothing", () => {
  const counter = zeros(64);
  const big = zeros(1 << 17);
  const inc = kernel((x: number) => x + 1);
  for (let i = 0; i < 20_000; i++) inc.into(counter, counter);
  for (let i = 0; i < 500; i++) inc.into(big, big);
  expect(counter.toArray()).toEqual(new Array(64).fill(20_000));
  expect(big.min().item()).toBe(500);
  expect(big.max().item()).toBe(500);
});

test("strided-worker.js, which imports nothing, has the pool's own words for the control block", () => {
  const words = (name: string) => {
    const text = readFileSync(fileURLToPath(new URL(`../../src/run/${name}`, import.meta.url)), "utf8");
    return [...text.matchAll(/^const ([A-Z_]+) = (.+);$/gm)].map(([, word, value]) => `${word} = ${value}`);
  };
  const pool = words("pool.ts");
  expect(words("strided-worker.js").length).toBeGreaterThan(14);
  for (const word of words("strided-worker.js")) expect(pool).toContain(word);
});

test("explain says who did what", () => {
  const x = arange(1 << 20);
  const report = explain(() => x.map((v) => Math.sqrt(v * v + 1)).sum());
  const [map, sum] = report.kernels.map((k) => k.threads);
  expect(map).toMatchObject({ threads: 3, wanted: 3, why: null, shared: true });
  expect(map.tasks).toBeGreaterThan(3);
  expect(map.own).toBeLessThanOrEqual(map.tasks);
  expect(sum.shared).toBe(true);
  expect(String(report)).toMatch(/threads {2}3 share \d+ tasks: \d+ done here, \d+ by others/);
  expect(String(explain(() => zeros(3).neg()))).toMatch("threads  1, too little work to share");
});

test("small operations stay in the calling thread", () => {
  zip([zeros(100), zeros(100)], (a, b) => a + b);
  expect(engine().walker.shared).toBe(false);
});

/** What workers write into the first word of a task. */
const BEGUN = 1;
const DONE = 2;

/** A module whose "run" says that it has begun, and then goes on as `body` says. */
function beginning(body: (f: FuncBuilder) => void): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.importMemory("e", "m", { min: 2, max: 65536, shared: true });
  const f = module.func("run", { d: "i32" }, [], { export: true });
  f.get(f.params[0]).i32(BEGUN).store("i32.store");
  body(f);
  return module.toBytes();
}
const hanging = () => beginning((f) => f.loop((again) => f.br(again)));
const trapping = () => beginning((f) => f.unreachable());

/** Counts to so many millions, and says that it is done. */
function count(f: FuncBuilder, millions: number): void {
  const [i, j] = [f.local("i32", "i"), f.local("i32", "j")];
  f.i32(millions).set(i);
  f.loop((more) => {
    f.i32(1e6).set(j);
    f.loop((again) => f.get(j).i32(1).op("i32.sub").tee(j).brIf(again));
    f.get(i).i32(1).op("i32.sub").tee(i).brIf(more);
  });
  f.get(f.params[0]).i32(DONE).store("i32.store");
}
const counting = (millions: number) => beginning((f) => count(f, millions));

/** Counts once the word at an address is no longer 0. */
const holding = (address: number, millions: number) =>
  beginning((f) => {
    f.loop((again) => f.i32(address).load("i32.load").op("i32.eqz").brIf(again));
    count(f, millions);
  });

function busyFor(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

/** Waits until so many tasks have been begun by workers: what a caller's own task does in these tests. */
function waitForBegun(tasks: Int32Array, count: number): void {
  const until = performance.now() + 20_000;
  while (firstWords(tasks).filter((word) => word >= BEGUN).length < count) {
    if (performance.now() > until) expect.fail(`no ${count} tasks were begun by workers`);
    busyFor(1);
  }
}
const firstWords = (tasks: Int32Array): number[] => Array.from(tasks.filter((_, i) => i % 16 === 0));

/** So many millions take a worker at least this long. */
function millionsFor(milliseconds: number): number {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(counting(50)), {
    e: { m: engine().heap.memory },
  });
  const run = instance.exports.run as (task: number) => void;
  let fastest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const began = performance.now();
    run(1024);
    fastest = Math.min(fastest, performance.now() - began);
  }
  return Math.ceil((50 * milliseconds) / fastest);
}

/** All tasks' first words, set to 0. */
function clearTasks(tasks: number): Int32Array {
  const words = new Int32Array(engine().heap.buffer, 1024, (64 * tasks) / 4);
  return words.fill(0);
}

test("a worker may take long for a task, whatever the caller's own took", () => {
  const pool = new Pool(engine().heap, 2);
  pool.waitUntilReady(60_000);
  // More where the machine was busy while it was measured, and is not any more.
  for (let millions = millionsFor(1300), took = 0; took <= 1000; millions *= 2) {
    const bytes = counting(millions);
    const words = clearTasks(2);
    const began = performance.now();
    pool.run({ bytes, run: () => waitForBegun(words, 1) }, 1024, 64, 2);
    took = performance.now() - began;
    expect(firstWords(words)).toEqual([0, DONE]);
  }
  expect(pool.status()).toEqual({ threads: 2, wanted: 2, why: null });
  pool.stop();
});

test("workers are late after 1.5 ms and four of the caller's longest task; a rest is twenty such waits", () => {
  expect([restAfter(1.4, 0.01, 0), restAfter(8, 2, 0), restAfter(8, 1.9, 0), restAfter(1.6, 0, 0)]).toEqual([
    0, 0, 160, 32,
  ]);
});

test("workers are not late where they have done more than that; a stopped process does not work alone for hours", () => {
  // 1000 tasks of a millisecond, half of them elsewhere, and one of ten.
  expect(restAfter(10, 1, 500)).toBe(0);
  expect(restAfter(10, 1, 9)).toBe(200);
  expect(restAfter(3_600_000, 1, 2)).toBe(5000);
});

test("a caller that has waited long for a worker works alone for a while, then shares again", () => {
  const pool = new Pool(engine().heap, 2, { rests: true });
  onTestFinished(() => pool.stop());
  pool.waitUntilReady(60_000);
  const bytes = counting(millionsFor(200));
  const words = clearTasks(2);
  const kernel = { bytes, run: () => waitForBegun(words, 1) };
  // The worker has to compile it: that is late once, and says nothing.
  pool.run(kernel, 1024, 64, 2);
  expect(pool.threads).toBe(2);
  // Again where the machine was so busy that the caller's own task took long too.
  for (let tries = 0; pool.threads === 2 && tries < 20; tries++) {
    clearTasks(2);
    pool.run(kernel, 1024, 64, 2);
  }
  expect(pool.status()).toMatchObject({
    threads: 1,
    wanted: 2,
    why: expect.stringMatching(/^workers came late/),
  });
  const { jobs } = pool.tally;
  let own = 0;
  pool.run({ ...calmly(), run: () => own++ }, 1024, 64, 50);
  expect([own, pool.tally.jobs]).toEqual([50, jobs]);
  const later = performance.now() + 3_600_000;
  const now = vi.spyOn(performance, "now").mockImplementation(() => later);
  onTestFinished(() => now.mockRestore());
  expect(pool.status()).toEqual({ threads: 2, wanted: 2, why: null });
});

test("where only time can tell, a worker that shows no sign of life is given up, and the pool goes on alone", () => {
  const pool = new Pool(engine().heap, 2, { patience: 400 });
  pool.waitUntilReady(60_000);
  const words = clearTasks(2);
  const run = () => waitForBegun(words, 1);
  expect(() => pool.run({ bytes: hanging(), run }, 1024, 64, 2)).toThrowErrorMatchingInlineSnapshot(`
    [TensorError: strided: a worker thread stopped in the middle of a task; the result of this operation is incomplete.
      From here on one thread does the work. configure({ threads: 1 }) uses one from the start.]
  `);
  expect(pool.threads).toBe(1);
  expect(pool.status().why).toBe("a worker thread stopped in the middle of a task");
  let ran = 0;
  pool.run({ bytes: new Uint8Array(0), run: () => ran++ }, 1024, 64, 5);
  expect(ran).toBe(5);
});

/** Runs `during` with Node's class of workers replaced by one that keeps them. */
function keepingWorkers<R>(during: (workers: Worker[]) => R): R {
  const threads = process.getBuiltinModule("node:worker_threads");
  const { Worker: Original } = threads;
  const workers: Worker[] = [];
  class Kept extends Original {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      workers.push(this);
    }
  }
  threads.Worker = Kept;
  try {
    return during(workers);
  } finally {
    threads.Worker = Original;
  }
}

test("a worker that ends in the middle of a task is noticed", () => {
  keepingWorkers((workers) => {
    const pool = new Pool(engine().heap, 3);
    pool.waitUntilReady(60_000);
    expect(workers).toHaveLength(2);
    const words = clearTasks(3);
    const run = () => {
      waitForBegun(words, 2);
      for (const worker of workers) worker.terminate();
    };
    expect(() => pool.run({ bytes: hanging(), run }, 1024, 64, 3)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: strided: a worker thread ended in the middle of a task; the result of this operation is incomplete.
        From here on one thread does the work. configure({ threads: 1 }) uses one from the start.]
    `);
    expect(pool.status()).toEqual({
      threads: 1,
      wanted: 3,
      why: "a worker thread ended in the middle of a task",
    });
  });
});

test("a worker that ends while it holds nothing is missed by nobody", () => {
  keepingWorkers((workers) => {
    const pool = new Pool(engine().heap, 3);
    pool.waitUntilReady(60_000);
    workers[0].terminate();
    const bytes = counting(millionsFor(100));
    for (let round = 0; round < 5; round++) {
      const words = clearTasks(20);
      const run = (task: number) => {
        busyFor(10);
        new Int32Array(engine().heap.buffer, task, 1)[0] = DONE;
      };
      pool.run({ bytes, run }, 1024, 64, 20);
      expect(firstWords(words)).toEqual(new Array(20).fill(DONE));
    }
    pool.stop();
  });
});

test("those who live are waited for when another has ended: nobody writes after the error", () => {
  keepingWorkers((workers) => {
    const pool = new Pool(engine().heap, 3);
    pool.waitUntilReady(60_000);
    const bytes = holding(1024 + 3 * 64, millionsFor(100));
    const words = clearTasks(4);
    const run = () => {
      // Neither comes to its end before one of them has been ended.
      waitForBegun(words, 2);
      workers[0].terminate();
      busyFor(50);
      Atomics.store(words, 3 * 16, 1);
    };
    expect(() => pool.run({ bytes, run }, 1024, 64, 3)).toThrow(
      /a worker thread ended in the middle of a task/,
    );
    expect(firstWords(words).filter((word) => word === DONE)).toHaveLength(1);
    expect(pool.threads).toBe(1);
  });
});

test("a worker that cannot compile a kernel gives its task back", () => {
  const pool = new Pool(engine().heap, 3);
  pool.waitUntilReady(60_000);
  for (let round = 0; round < 20; round++) {
    const done: number[] = [];
    const run = (task: number) => {
      busyFor(1);
      done.push((task - 1024) / 64);
    };
    // No module at all.
    pool.run({ bytes: new Uint8Array([round]), run }, 1024, 64, 30);
    expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => i));
  }
  expect(pool.status()).toEqual({ threads: 3, wanted: 3, why: null });
  pool.stop();
});

test("a job may have any number of tasks", () => {
  const pool = new Pool(engine().heap, 3);
  pool.waitUntilReady(60_000);
  const tasks = 5000;
  const address = engine().heap.alloc(64 * tasks, "test");
  const words = new Int32Array(engine().heap.buffer, address, (64 * tasks) / 4).fill(0);
  const run = (task: number) => {
    if (task === address) waitForBegun(words, 1);
    new Int32Array(engine().heap.buffer, task, 1)[0] = DONE;
  };
  pool.run({ bytes: counting(1), run }, address, 64, tasks);
  expect(firstWords(words).every((word) => word === DONE)).toBe(true);
  engine().heap.free(address);
  pool.stop();
});

test("tasks and tapes that lie in memory which has just grown are read there", () => {
  // A heap of its own, of 2 pages; every job's table, tape and result lie in the page that is added for it.
  const heap = new Heap({ initialPages: 2, maximumPages: 600 });
  const pool = new Pool(heap, 3);
  pool.waitUntilReady(60_000);
  const bytes = counting(1);
  const module = new WebAssembly.Module(bytes);
  const { run } = new WebAssembly.Instance(module, { e: { m: heap.memory } }).exports as {
    run: (at: number) => void;
  };
  for (let round = 0; round < 500; round++) {
    const at = heap.memory.grow(1) * 65536;
    const words = new Int32Array(heap.memory.buffer, at, 65536 / 4);
    const tasks = 6;
    for (let t = 0; t < tasks; t++) {
      words[t] = at + 1024 * (t + 1);
      words.set([3, 0, 1, at + 1024 * (t + 1) + 64], 256 * (t + 1));
    }
    const play = (task: number) => {
      busyFor(0.02);
      // Once at least the others have their part, however late they come.
      const until = performance.now() + 20_000;
      while (round === 0 && !isBegun() && performance.now() < until);
      run(at + 256 * (task - at) + 1024 + 64);
    };
    const isBegun = () => [1, 2, 3, 4, 5].some((t) => Atomics.load(words, 256 * (t + 1) + 16) !== 0);
    pool.run({ bytes, run: play, taped: true }, at, 4, tasks);
    const done = Array.from({ length: tasks }, (_, t) => words[256 * (t + 1) + 16]);
    expect(done).toEqual(new Array(tasks).fill(DONE));
  }
  expect(pool.tally.own).toBeLessThan(pool.tally.tasks);
  expect(pool.status()).toEqual({ threads: 3, wanted: 3, why: null });
  pool.stop();
});

test("busy cores: many short jobs beside processes that keep every core busy are right, and nobody is given up", () => {
  const others = Array.from({ length: 2 * availableParallelism() }, () =>
    spawn(process.execPath, ["-e", "for (;;);"]),
  );
  try {
    const pool = new Pool(engine().heap, 4);
    pool.waitUntilReady(30_000);
    const bytes = counting(1);
    const until = performance.now() + 4000;
    let jobs = 0;
    for (; performance.now() < until || pool.tally.own === pool.tally.tasks; jobs++) {
      const words = clearTasks(12);
      const run = (task: number) => {
        busyFor(0.2);
        new Int32Array(engine().heap.buffer, task, 1)[0] = DONE;
      };
      pool.run({ bytes, run }, 1024, 64, 12);
      expect(firstWords(words)).toEqual(new Array(12).fill(DONE));
    }
    expect(jobs).toBeGreaterThan(5);
    expect(pool.status()).toEqual({ threads: 4, wanted: 4, why: null });
    pool.stop();
  } finally {
    for (const other of others) other.kill("SIGKILL");
  }
});

test("a kernel that traps in a worker is an error at the call, which says why", () => {
  const pool = new Pool(engine().heap, 2);
  pool.waitUntilReady(60_000);
  const words = clearTasks(2);
  const run = () => waitForBegun(words, 1);
  expect(() => pool.run({ bytes: trapping(), run }, 1024, 64, 2)).toThrowErrorMatchingInlineSnapshot(`
    [TensorError: strided: a kernel failed in a worker thread (RuntimeError: unreachable); the result of this operation is incomplete.
      From here on one thread does the work. configure({ threads: 1 }) uses one from the start.]
  `);
});

test("a kernel that traps in the calling thread leaves the pool in order", () => {
  const pool = new Pool(engine().heap, 2);
  pool.waitUntilReady(60_000);
  const calm = calmly();
  const failing = { bytes: calm.bytes, run: () => expect.fail("a trap") };
  let traps = 0;
  for (let round = 0; round < 50; round++) {
    try {
      // The worker may be quick enough to do it all.
      pool.run(failing, 1024, 64, 1000);
    } catch (error) {
      expect(String(error)).toMatch("a trap");
      traps++;
    }
    pool.run(calm, 1024, 64, 50);
  }
  expect(traps).toBeGreaterThan(0);
  expect(pool.status()).toEqual({ threads: 2, wanted: 2, why: null });
  pool.stop();
});

/** A module whose "run" does nothing. */
function calmly(): { bytes: Uint8Array; run: () => void } {
  const module = new ModuleBuilder();
  module.importMemory("e", "m", { min: 2, max: 65536, shared: true });
  module.func("run", { d: "i32" }, [], { export: true });
  return { bytes: module.toBytes(), run: () => {} };
}

interface ProgramOptions {
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
  /** Node's own. */
  readonly flags?: readonly string[];
}

function runProgram(name: string, { env = {}, args = [], flags = [] }: ProgramOptions = {}) {
  const program = fileURLToPath(new URL(`./${name}`, import.meta.url));
  return spawnSync(process.execPath, [...flags, "--import", "tsx", program, ...args], {
    encoding: "utf8",
    timeout: 170_000,
    env: { ...process.env, ...env },
  });
}

test("a program that used the pool ends by itself", () => {
  const { status, stdout, stderr } = runProgram("program.ts", { env: { STRIDED_THREADS: "3" } });
  expect(stderr).not.toMatch(/Error/);
  expect({ status, stdout }).toEqual({ status: 0, stdout: "3 threads, sum 3145728\n" });
});

test("STRIDED_THREADS=1 starts no worker", () => {
  const { status, stdout } = runProgram("program.ts", { env: { STRIDED_THREADS: "1" } });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "1 threads, sum 3145728\n" });
});

test("a million small operations leave memory flat, and 5,000 kernels keep it bounded", () => {
  const { status, stdout, stderr } = runProgram("flat.ts", { flags: ["--expose-gc"] });
  expect(stderr).not.toMatch(/Error/);
  expect(status).toBe(0);
  const { million, kernels, ...rest } = JSON.parse(stdout);
  expect(rest).toEqual({ right: true, wrong: 0, threads: 2, kept: 1024 });
  expect(million.heapBytes).toBe(0);
  expect(million.rss).toBeLessThan(32);
  expect(kernels.heapBytes).toBe(0);
  // 65 when kernels are never let go, 6 to 8 when they are.
  expect(kernels.rss).toBeLessThan(32);
});

test("a soak of three seconds: four Node workers with threads of their own lose nothing", () => {
  const { status, stdout } = runProgram("../../scripts/soak.ts", { args: ["3", "--workers", "4"] });
  console.log(stdout);
  expect(stdout).toMatch("nothing was lost");
  expect(status).toBe(0);
});

test("several Node workers each use strided at once, from one file, and none loses a result", () => {
  const folder = mkdtempSync(join(tmpdir(), "strided-several-"));
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const bundle = join(folder, "several.mjs");
  buildSync({
    entryPoints: [here("./several.ts")],
    bundle: true,
    format: "esm",
    platform: "node",
    outfile: bundle,
  });
  const env = { ...process.env, STRIDED_THREADS: "2" };
  const { status, stdout, stderr } = spawnSync(process.execPath, [bundle], {
    encoding: "utf8",
    timeout: 170_000,
    env,
  });
  rmSync(folder, { recursive: true });
  expect(stderr).not.toMatch(/Error/);
  expect({ status, stdout }).toEqual({ status: 0, stdout: "10 workers agree\n" });
});
