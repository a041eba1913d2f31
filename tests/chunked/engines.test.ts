/** Engines beside tasks that only write files: what is run, tried again, refused and left behind. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bullmq, bullmqWith, loadBull, readQueue, startWorker } from "../../src/chunked/engines/bullmq.ts";
import { local, localWith, shard, shardWith } from "../../src/chunked/engines/local.ts";
import { checkTask, PlanFolder, publishPlan, readMessage } from "../../src/chunked/engines/message.ts";
import { Pool } from "../../src/chunked/engines/pool.ts";
import type { ProgressEvent } from "../../src/chunked/types.ts";
import { chunked } from "../../src/chunked.ts";
import { contextOf, digestOf, fakePlan, isAlive, pendingFake, until } from "./fake.ts";
import { type Built, buildPrograms } from "./program.ts";
import { noRedis, Redis } from "./redis.ts";

let program: string;
let seams: { program: string; pending: typeof pendingFake };
let built: Built;
let folder: string;
beforeAll(async () => {
  built = await buildPrograms({ fake: "./fake-child.ts" });
  program = built.file("fake");
  seams = { program, pending: pendingFake };
  folder = mkdtempSync(join(tmpdir(), "strided-engines-"));
});
afterAll(() => {
  built.remove();
  rmSync(folder, { recursive: true, force: true });
});
let made = 0;
const fresh = () => join(folder, String(made++));

describe("a pool of processes", () => {
  it("runs what is pending, and nothing that is there", async () => {
    const plan = fakePlan(fresh(), 12);
    const events: ProgressEvent[] = [];
    const run = () => localWith({ workers: 2 }, seams).run(plan, contextOf(plan), (e) => void events.push(e));
    const first = await run();
    expect([first.ran, first.skipped, first.retries]).toEqual([24, 0, 0]);
    const digest = digestOf(plan);
    rmSync(join((plan.stores.out as { path: string }).path, "1-fake.3"));
    const second = await run();
    expect([second.ran, second.skipped]).toEqual([1, 23]);
    expect(digestOf(plan)).toBe(digest);
    expect(events.filter(({ kind }) => kind === "end")).toHaveLength(2);
  });

  it("a task whose process dies is run again, and told", async () => {
    const plan = fakePlan(fresh(), 6, { dies: 2 }, 1);
    const report = await localWith({ workers: 2 }, seams).run(plan, contextOf(plan), () => {});
    expect([report.ran, report.retries]).toEqual([6, 1]);
  });

  it("a task that always fails ends the run with its error, and no process is left", async () => {
    const plan = fakePlan(fresh(), 6, { throws: 3 }, 1);
    await expect(
      localWith({ workers: 2, attempts: 2 }, seams).run(plan, contextOf(plan), () => {}),
    ).rejects.toThrow("task 3 throws");
  });

  it("a task that never ends is killed at its limit", async () => {
    const plan = fakePlan(fresh(), 1, { spin: 1e9 }, 1);
    await expect(
      localWith({ workers: 1, attempts: 1, timeLimit: 1 }, seams).run(plan, contextOf(plan), () => {}),
    ).rejects.toThrow("longer than the limit of 1 s");
  });

  it("a run that is cancelled ends at once, and its processes with it", async () => {
    const plan = fakePlan(fresh(), 2, { spin: 1e9 }, 1);
    const stop = new AbortController();
    const pool = new Pool({ workers: 1, timeLimit: 100, attempts: 1, program });
    const task = pool.run(plan, "0-fake", 0, contextOf(plan));
    task.catch(() => {});
    await until(() => pool.pids.length === 1, 5, "a child is there");
    const [pid] = pool.pids;
    await pool.close();
    expect(isAlive(pid)).toBe(false);
    await expect(task).rejects.toThrow("cancelled");
    const run = localWith({ workers: 1 }, seams).run(
      plan,
      { ...contextOf(plan), signal: stop.signal },
      (e) => {
        if (e.kind === "worker") stop.abort();
      },
    );
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
  });

  it("shards do their part and wait for the others", async () => {
    const plan = fakePlan(fresh(), 9);
    const one = (index: number) =>
      shardWith(index, 3, { workers: 1 }, seams).run(plan, contextOf(plan), () => {});
    const reports = await Promise.all([0, 1, 2].map(one));
    expect(reports.map(({ ran }) => ran)).toEqual([6, 6, 6]);
    const calm = fakePlan(fresh(), 9);
    await localWith({ workers: 1 }, seams).run(calm, contextOf(calm), () => {});
    expect(digestOf(plan)).toBe(digestOf(calm));
    const lonely = fakePlan(fresh(), 4);
    await expect(
      shardWith(0, 2, { patience: 1 }, seams).run(lonely, contextOf(lonely), () => {}),
    ).rejects.toThrow("2 tasks of 0-fake belong to other shards");
  });

  it("options that are none are refused", () => {
    expect(() => local({ workers: -1 })).toThrow("local: workers is -1");
    expect(() => local({ worker: 1 } as never)).toThrow('there is no option "worker"');
    expect(() => shard(4, 4)).toThrow("shard: index is 4");
    expect(() => shard(undefined as never, 4)).toThrow("its number and their count");
    expect(() => bullmq({ connection: "http://x" })).toThrow("not of redis:");
    expect(() => bullmq({ connection: "redis://x/y" })).toThrow("no number");
    expect(() => bullmq({ connection: "redis://x", queue: "a:b" })).toThrow("other letters");
  });
});

describe("messages of a queue", () => {
  const planHash = "a".repeat(64);
  const good = { planHash, operation: "0-fake", index: 1 };
  const forged: [string, unknown][] = [
    ["null", null],
    ["a string", "task"],
    ["a list", [planHash, "0-fake", 1]],
    ["nothing in it", {}],
    ["a field more", { ...good, path: "/etc/passwd" }],
    ["a field less", { planHash, index: 1 }],
    ["a prototype", JSON.parse(`{"__proto__":{"x":1},"planHash":"${planHash}","operation":"a","index":1}`)],
    [
      "a prototype for a field",
      JSON.parse(`{"__proto__":{"index":1},"planHash":"${planHash}","operation":"a"}`),
    ],
    ["a constructor", { planHash, constructor: 1, index: 1 }],
    ["a path for a hash", { ...good, planHash: `../../${"a".repeat(58)}` }],
    ["a hash in capitals", { ...good, planHash: "A".repeat(64) }],
    ["a hash and a line", { ...good, planHash: `${planHash}\n` }],
    ["a list for a hash", { ...good, planHash: [planHash] }],
    ["an operation that is a number", { ...good, operation: 0 }],
    ["an operation without a name", { ...good, operation: "" }],
    ["a long operation", { ...good, operation: "x".repeat(1e6) }],
    ["an index that is text", { ...good, index: "1" }],
    ["an index below nothing", { ...good, index: -1 }],
    ["a part of an index", { ...good, index: 0.5 }],
    ["a huge index", { ...good, index: 1e300 }],
    ["no number", { ...good, index: Number.NaN }],
    ["an index that is an object", { ...good, index: { valueOf: 1 } }],
  ];
  it.each(forged)("%s is refused", (_, message) => {
    expect(() => readMessage(message)).toThrow(/^worker: a message was refused/);
  });

  it("a task that the plan does not have is refused", () => {
    const plan = fakePlan(fresh(), 3);
    expect(readMessage({ index: 1, operation: "0-fake", planHash })).toEqual(good);
    for (const operation of ["constructor", "__proto__", "length", "0"])
      expect(() => checkTask(plan, { ...good, operation })).toThrow("no operation");
    expect(() => checkTask(plan, { ...good, index: 3 })).toThrow("no task 3");
    expect(() => checkTask(plan, { ...good, index: 2 ** 53 - 1 })).toThrow("no task");
  });

  it("plans come from the worker's folder, and are what their hash says", async () => {
    const root = mkdtempSync(join(folder, "root-"));
    const find = (hash: string) => new PlanFolder(root).find(hash);
    expect(await find(planHash)).toBeNull();
    expect(await find("../secret")).toBeNull();
    const plan = await chunked
      .full([4], 1, { chunks: [2], dtype: "f32" })
      .plan()
      .toPlan({ to: join(root, "out.zarr") });
    const file = join(root, `${planHash}.json`);
    for (const text of [
      JSON.stringify({ ...plan, hash: planHash }),
      JSON.stringify({ ...plan, memory: 1 }),
      "no JSON",
      "",
    ]) {
      writeFileSync(file, text);
      expect(await find(planHash)).toBeNull();
      expect(await find(plan.hash)).toBeNull();
    }
    // Whatever the file's name: only the contents have the hash.
    writeFileSync(join(root, "mine.json"), JSON.stringify(plan));
    expect(await find(plan.hash)).toEqual(plan);
    expect(await find(planHash)).toBeNull();
    rmSync(join(root, "mine.json"));
    await publishPlan("test", root, plan);
    expect(await find(plan.hash)).toEqual(plan);
    expect(readdirSync(root).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});

describe.skipIf(noRedis !== null)(`a queue on Redis${noRedis === null ? "" : ` (${noRedis})`}`, () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await Redis.start();
  });
  afterAll(() => redis?.stop());

  it("gives the same bytes as processes of this machine", async () => {
    const [plan, calm] = [fakePlan(fresh(), 40), fakePlan(fresh(), 40)];
    const report = await bullmqWith({ connection: redis.url, workers: 2 }, seams).run(
      plan,
      contextOf(plan),
      () => {},
    );
    expect([report.ran, report.skipped]).toEqual([80, 0]);
    await localWith({ workers: 2 }, seams).run(calm, contextOf(calm), () => {});
    expect(digestOf(plan)).toBe(digestOf(calm));
  });

  it("a task longer than its lock runs once", async () => {
    const plan = fakePlan(fresh(), 2, { spin: 4000 }, 1);
    const options = { connection: redis.url, queue: "long", workers: 2, lock: 1 };
    const report = await bullmqWith(options, seams).run(plan, contextOf(plan), () => {});
    expect([report.ran, report.retries]).toEqual([2, 0]);
  });

  it("forged messages are refused by a worker that goes on working", async () => {
    const bull = await loadBull("test");
    const settings = readQueue("test", { connection: redis.url, queue: "forged" });
    const plan = fakePlan(fresh(), 2, {}, 1);
    const refused: string[] = [];
    let done = 0;
    const worker = startWorker(bull, {
      settings,
      workers: 1,
      timeLimit: 10,
      attempts: 1,
      find: async (hash) => (hash === plan.hash ? { plan, context: contextOf(plan) } : null),
      onRefused: (why) => void refused.push(why),
      onDone: () => void done++,
      program,
    });
    const queue = new bull.Queue("forged", { connection: settings.connection });
    const good = { planHash: plan.hash, operation: "0-fake", index: 0 };
    const bad: unknown[] = [
      { ...good, index: 1e300 },
      { ...good, index: "0" },
      { ...good, code: "process.exit()" },
      { ...good, planHash: "../../etc/passwd" },
      { ...good, operation: "__proto__" },
      JSON.parse(`{"__proto__":{},"planHash":"${plan.hash}","operation":"0-fake"}`),
      "text",
      null,
    ];
    for (const data of bad) await queue.add("task", data as never, {});
    await queue.add("task", { ...good, planHash: "b".repeat(64) }, {});
    await queue.add("task", good, {});
    await until(
      () => refused.length === bad.length && done === 1,
      30,
      "all are refused, and the good one is done",
    );
    expect(await pendingFake(plan, "0-fake", contextOf(plan))).toEqual([1]);
    await queue.close();
    await worker.close();
  });

  it("tasks that a worker leaves to others are no retries, and those that failed are", async () => {
    const bull = await loadBull("test");
    const settings = readQueue("test", { connection: redis.url, queue: "aside" });
    const plan = fakePlan(fresh(), 8, { dies: 5, spin: 300 }, 1);
    const setup = { settings, workers: 1, timeLimit: 10, attempts: 1, program };
    const stranger = startWorker(bull, { ...setup, find: async () => null });
    const worker = startWorker(bull, { ...setup, find: async () => ({ plan, context: contextOf(plan) }) });
    const told: ProgressEvent[] = [];
    try {
      const report = await bullmqWith({ connection: redis.url, queue: "aside", workers: 0 }, seams).run(
        plan,
        contextOf(plan),
        (event) => void (event.kind === "retry" && told.push(event)),
      );
      expect([report.ran, report.retries]).toEqual([8, 1]);
      expect(told).toMatchObject([{ index: 5, attempt: 2, reason: "it failed, and is tried again" }]);
    } finally {
      await Promise.all([stranger.close(), worker.close()]);
    }
  });

  it("nobody at the address is told", async () => {
    const plan = fakePlan(fresh(), 1);
    await expect(
      bullmqWith({ connection: "redis://127.0.0.1:1" }, seams).run(plan, contextOf(plan), () => {}),
    ).rejects.toThrow("bullmq: no Redis answers at 127.0.0.1:1");
  });
});
