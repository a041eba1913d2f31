/** The same real plan in this process, in others, through Redis and in shards: the same bytes, and nothing left behind. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bullmqWith } from "../../src/chunked/engines/bullmq.ts";
import { localWith, shardWith } from "../../src/chunked/engines/local.ts";
import { removeWork } from "../../src/chunked/resume.ts";
import { allowPlan } from "../../src/chunked/stores.ts";
import { runTask } from "../../src/chunked/task.ts";
import type { ChunkedPlan, Executor, RunReport } from "../../src/chunked.ts";
import { chunked, local, shard } from "../../src/chunked.ts";
import { zarr } from "../../src/io.ts";
import { isAlive, until } from "./fake.ts";
import { type Built, buildPrograms } from "./program.ts";
import { bytesBelow } from "./real.ts";
import { noRedis, Redis } from "./redis.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-executors-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const fresh = () => join(folder, `${made++}.zarr`);

/** The child as the build has it starts in a third of the time; one test takes it from the sources. */
let built: Built;
let seams: { program: string };
beforeAll(async () => {
  built = await buildPrograms();
  seams = { program: built.child };
});
afterAll(() => built.remove());

/** Folds, a combination, elementwise work and a function that travels: 25 tasks. */
let plan: ChunkedPlan;
let expected: Record<string, string>;
beforeAll(async () => {
  const path = fresh();
  await chunked
    .random([96, 64], { chunks: [16, 32], seed: 1, distribution: "normal" })
    .plan({ workers: 1 })
    .run({ to: path });
  const a = await chunked.open(path);
  plan = a
    .sub(a.mean({ axis: 0 }))
    .div(a.std({ axis: 0 }))
    .map((x, { k }) => Math.tanh(x) * k, { with: { k: 1.5 } })
    .plan({ workers: 2, memory: "256 MiB" });
  const to = fresh();
  await plan.run({ to });
  expected = bytesBelow(to);
  expect(Object.keys(expected)).toHaveLength(12);
});

const tasks = () => plan.operations.reduce((n, op) => n + op.tasks, 0);

async function sameOn(on: Executor): Promise<RunReport> {
  const to = fresh();
  const report = await plan.run({ to, on });
  expect(bytesBelow(to)).toEqual(expected);
  expect(existsSync(`${to}.work`), "what lay between is removed").toBe(false);
  return report;
}

describe("processes", () => {
  it("give the same bytes as this one", async () => {
    expect((await sameOn(local())).ran).toBe(tasks());
    expect((await sameOn(local({ workers: 1 }))).ran).toBe(tasks());
    expect((await sameOn(localWith({ workers: 2 }, seams))).ran).toBe(tasks());
  });

  it("objects of this process cannot be reached from another", async () => {
    const x = chunked.full([4], 1, { chunks: [2], dtype: "f32" });
    const run = x.plan().run({ to: zarr.memoryStore(), on: local({ workers: 1 }) });
    await expect(run).rejects.toThrow("output is an object of this process, which local cannot reach");
  });

  it("an executor that cannot run at all leaves nothing behind", async () => {
    const to = fresh();
    const nobody = bullmqWith({ connection: "redis://127.0.0.1:1" }, seams);
    await expect(plan.run({ to, on: nobody })).rejects.toThrow("no Redis answers at 127.0.0.1:1");
    expect([existsSync(to), existsSync(`${to}.work`)]).toEqual([false, false]);
  });

  it("a task that fails says why, wherever it ran", async () => {
    const path = fresh();
    await chunked
      .full([4], 1, { chunks: [2], dtype: "f32" })
      .plan()
      .run({ to: path });
    const lazy = (await chunked.open(path)).add(1).plan();
    rmSync(join(path, "zarr.json"));
    await expect(
      lazy.run({ to: fresh(), on: localWith({ workers: 1, attempts: 1 }, seams) }),
    ).rejects.toThrow("nothing of Zarr lies at");
  });

  it("end when the run is called off", async () => {
    const stop = new AbortController();
    const pids: number[] = [];
    const run = plan.run({
      to: fresh(),
      on: localWith({ workers: 2 }, seams),
      signal: stop.signal,
      progress: (e) => {
        if (e.kind === "worker") pids.push(Number(e.worker.split("/")[1]));
        if (e.kind === "task") stop.abort(new Error("enough"));
      },
    });
    await expect(run).rejects.toThrow("enough");
    expect(pids.length).toBeGreaterThan(0);
    await until(() => pids.every((pid) => !isAlive(pid)), 5, "no child is left");
  });
});

describe("what is there already", () => {
  it("a run whose result is complete runs nothing, though what lay between is gone", async () => {
    const to = fresh();
    await plan.run({ to });
    const again = await plan.run({ to, resume: true, on: localWith({ workers: 1 }, seams) });
    expect([again.ran, again.skipped]).toEqual([0, tasks()]);
    unlinkSync(join(to, "c/0/0"));
    const { ran } = await plan.run({ to, resume: true });
    // One chunk, and what it is made of.
    expect(ran).toBe(tasks() - 11);
    expect(bytesBelow(to)).toEqual(expected);
  });

  it("a task that comes late, when what it reads was removed, fails and changes nothing", async () => {
    const to = fresh();
    await plan.run({ to, keep: true });
    const json = await plan.toPlan({ to });
    const allow = allowPlan(json);
    const last = json.operations.at(-1)!.id;
    await runTask(json, last, 0, { allow });
    await removeWork(json, allow);
    await expect(runTask(json, last, 0, { allow })).rejects.toThrow("never written, or was removed");
    expect(bytesBelow(to)).toEqual(expected);
  });

  it("a new run believes nothing that somebody left where its work goes", async () => {
    const to = fresh();
    const json = await plan.toPlan({ to });
    const work = join(`${to}.work`, json.hash.slice(0, 16));
    const other = fresh();
    await plan.run({ to: other, keep: true });
    const from = join(`${other}.work`, readdirSync(`${other}.work`).find((n) => n !== "zarr.json")!, "work0");
    const [chunk] = Object.keys(bytesBelow(from));
    const { mkdirSync, writeFileSync } = await import("node:fs");
    const { dirname } = await import("node:path");
    mkdirSync(dirname(join(work, "work0", chunk)), { recursive: true });
    writeFileSync(join(work, "work0", chunk), new Uint8Array(readFileSync(join(from, chunk)).length));
    await plan.run({ to });
    expect(bytesBelow(to)).toEqual(expected);
  });
});

describe("shards", () => {
  it("give the same bytes together, in any order, and again", async () => {
    const to = fresh();
    const reports = await Promise.all(
      [2, 0, 1].map((k) => plan.run({ to, on: shardWith(k, 3, { workers: 1, patience: 60 }, seams) })),
    );
    expect(reports.reduce((n, { ran }) => n + ran, 0)).toBe(tasks());
    expect(bytesBelow(to)).toEqual(expected);
    const again = await plan.run({ to, on: shardWith(1, 3, { workers: 1 }, seams) });
    expect(again.ran).toBe(0);
    await expect(plan.run({ to, overwrite: true, on: shard(0, 2) })).rejects.toThrow("one of several");
  });
});

describe.skipIf(noRedis !== null)(`Redis${noRedis === null ? "" : ` (${noRedis})`}`, () => {
  it("gives the same bytes, and keeps nothing", async () => {
    const redis = await Redis.start();
    try {
      const report = await sameOn(
        bullmqWith({ connection: redis.url, workers: 2, root: join(folder, "plans") }, seams),
      );
      expect(report.ran).toBe(tasks());
      expect(readdirSync(join(folder, "plans"))).toHaveLength(1);
    } finally {
      await redis.stop();
    }
  });
});
