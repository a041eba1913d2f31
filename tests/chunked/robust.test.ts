/**
 * Real runs whose workers, coordinator and Redis are killed: the same bytes as the calm run, what is there stays as it is, no
 * short chunk under its final name, and no process left.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bullmqWith } from "../../src/chunked/engines/bullmq.ts";
import { localWith } from "../../src/chunked/engines/local.ts";
import { chunked, type RunReport } from "../../src/chunked.ts";
import { contextOf, fakePlan, pendingFake, until } from "./fake.ts";
import { type Built, buildPrograms, childrenOf, processes, type Running, startProgram } from "./program.ts";
import { bytesBelow, slowPlan } from "./real.ts";
import { noRedis, Redis } from "./redis.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-robust-"));
let built: Built;
beforeAll(async () => {
  built = await buildPrograms({ fake: "./fake-child.ts" });
});
afterAll(() => {
  built?.remove();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  await until(
    () => processes((_, command) => command.includes(built.folder)).length === 0,
    10,
    "no process is left",
  );
});

let made = 0;
function fresh(): string {
  const path = join(folder, String(made++));
  mkdirSync(path);
  return path;
}
/** Whether or not it is there still. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as { code?: string }).code !== "ESRCH") throw error;
  }
}
const nap = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Numbers that are the same every time. */
let seed = 1;
const pick = <T>(items: readonly T[]): T => {
  seed = (seed * 48271) % 2147483647;
  return items[seed % items.length];
};

async function slow(tasks: number, milliseconds: number) {
  const cwd = fresh();
  return { cwd, ...(await slowPlan(cwd, tasks, milliseconds)) };
}
const chunksIn = (out: string): string[] =>
  existsSync(join(out, "c")) ? readdirSync(join(out, "c")).filter((name) => !name.startsWith(".")) : [];
const timesOf = (out: string): Map<string, number> =>
  new Map(chunksIn(out).map((name) => [name, statSync(join(out, "c", name)).mtimeMs]));

describe("chunks", () => {
  it("50 kills in the middle of their writing: none is short, none is lost", async () => {
    const cwd = fresh();
    // 12 chunks of 8 MiB.
    const lazy = chunked
      .random([12, 1_048_576], { chunks: [1, 1_048_576], seed: 5, dtype: "f64" })
      .plan({ workers: 2, memory: "1 GiB" });
    await lazy.run({ to: join(cwd, "calm.zarr") });
    const calm = bytesBelow(join(cwd, "calm.zarr"));
    const to = join(cwd, "out.zarr");
    let [kills, retries] = [0, 0];
    for (let round = 0; kills < 50 && round < 20; round++) {
      const pids = new Set<number>();
      let isOver = false;
      /** Temporary names; chunks under their own names are looked at on the way. */
      const halves = (): number => {
        let n = 0;
        for (const name of existsSync(to) ? readdirSync(to, { recursive: true, encoding: "utf8" }) : []) {
          if (name.endsWith(".tmp")) n++;
          else if (/^c.\d+.\d+$/.test(name)) expect(statSync(join(to, name)).size, name).toBe(8 << 20);
        }
        return n;
      };
      const killer = async (): Promise<number> => {
        let known = 0;
        while (!isOver) {
          // More than the dead have left: somebody writes now.
          if (kills + known < 50 && halves() > known) {
            for (const pid of pids) kill(pid);
            pids.clear();
            await nap(20);
            known = halves();
          }
          await new Promise(setImmediate);
        }
        return known;
      };
      const killing = killer();
      killing.catch(() => {});
      const report = await lazy.run({
        to,
        overwrite: true,
        on: localWith({ workers: 2, attempts: 100 }, { program: built.child }),
        progress: (e) => {
          if (e.kind === "end") isOver = true;
          if (e.kind !== "worker") return;
          const pid = Number(e.worker.split("/")[1]);
          if (e.state === "joined") pids.add(pid);
          else pids.delete(pid);
        },
      });
      kills += await killing;
      retries += report.retries;
      expect(bytesBelow(to)).toEqual(calm);
      if (report.retries > 0) expect(halves(), "what was half written is removed").toBe(0);
    }
    console.log(`killed while writing: ${kills}, tasks tried again: ${retries}`);
    expect(kills).toBeGreaterThanOrEqual(50);
  });
});

describe.skipIf(noRedis !== null)(`a queue${noRedis === null ? "" : ` (${noRedis})`}`, () => {
  let redis: Redis;
  const running = new Set<Running>();
  beforeAll(async () => {
    redis = await Redis.start();
  });
  afterEach(async () => {
    for (const one of running) one.process.kill("SIGKILL");
    running.clear();
  });
  afterAll(() => redis?.stop());
  const start = (cwd: string, ...args: string[]): Running => {
    const one = startProgram(built.cli, cwd, args);
    running.add(one);
    void one.ended.then(() => running.delete(one));
    return one;
  };
  const lock = ["--lock", "2"];
  const startWorker = (cwd: string, queue: string) =>
    start(cwd, "worker", redis.url, "--root", cwd, "--workers", "1", "--queue", queue, ...lock, "--quiet");
  const startRun = (cwd: string, queue: string, ...more: string[]) =>
    start(
      cwd,
      "run",
      "plan.json",
      "--redis",
      redis.url,
      "--queue",
      queue,
      ...lock,
      "--json",
      "--quiet",
      ...more,
    );
  const reportOf = async (one: Running): Promise<RunReport> => {
    const { code, out, err } = await one.ended;
    expect([code, err]).toEqual([0, ""]);
    return JSON.parse(out) as RunReport;
  };

  it("a random worker killed again and again in a run of 500 tasks", async () => {
    const { cwd, out, calm } = await slow(500, 25);
    const workers = [startWorker(cwd, "killed"), startWorker(cwd, "killed")];
    const run = startRun(cwd, "killed", "--workers", "0");
    let isOver = false;
    let kills = 0;
    const killing = (async () => {
      for (const part of [60, 120, 180, 240, 300]) {
        await until(() => isOver || chunksIn(out).length >= part, 120, `${part} chunks are there`);
        const at = pick([0, 1]);
        const pid = workers[at].process.pid!;
        // In turn one that computes, where there is one now, and the process that holds the locks for it.
        const victim = kills % 2 === 0 ? (childrenOf(pid)[0] ?? pid) : pid;
        if (isOver) return;
        kill(victim);
        kills++;
        if (victim === pid) workers[at] = startWorker(cwd, "killed");
      }
    })();
    killing.catch(() => {});
    const report = await reportOf(run).finally(() => {
      isOver = true;
    });
    await killing;
    console.log(
      `workers killed: ${kills}; ${report.retries} retries, ${(report.milliseconds / 1000).toFixed(1)} s`,
    );
    expect(kills).toBe(5);
    expect([report.ran, report.skipped]).toEqual([500, 0]);
    expect(bytesBelow(out)).toEqual(calm);
  });

  it("the coordinator killed and resumed: what is there stays as it is", async () => {
    const { cwd, out, calm } = await slow(120, 25);
    const first = startRun(cwd, "resumed", "--workers", "2");
    await until(() => chunksIn(out).length >= 30, 60, "a part of the chunks is there");
    first.process.kill("SIGKILL");
    await first.ended;
    await until(
      () => processes((_, command) => command.includes(built.child)).length === 0,
      10,
      "its children are gone",
    );
    const before = timesOf(out);
    expect(before.size).toBeLessThan(120);
    const report = await reportOf(startRun(cwd, "resumed", "--workers", "2", "--resume"));
    expect([report.ran, report.skipped]).toEqual([120 - before.size, before.size]);
    const after = timesOf(out);
    for (const [name, time] of before) expect(after.get(name), name).toBe(time);
    expect(bytesBelow(out)).toEqual(calm);
  });

  it("Redis killed and started again", async () => {
    const { cwd, out, calm } = await slow(120, 25);
    const run = startRun(cwd, "restarted", "--workers", "2");
    for (const part of [20, 60]) {
      await until(() => chunksIn(out).length >= part, 60, "a part of the chunks is there");
      await redis.kill();
      await nap(1500);
      await redis.up();
    }
    const report = await reportOf(run);
    expect([report.ran, report.skipped]).toEqual([120, 0]);
    expect(bytesBelow(out)).toEqual(calm);
  });

  it("a task longer than its lock runs once", async () => {
    const { cwd, out, calm } = await slow(2, 3000);
    const report = await reportOf(startRun(cwd, "long", "--workers", "2", "--lock", "1"));
    expect([report.ran, report.retries]).toEqual([2, 0]);
    expect(bytesBelow(out)).toEqual(calm);
  });

  it("many tasks: neither this process nor Redis grows with them", async () => {
    const count = Number(process.env.STRIDED_TASKS ?? 4000);
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const plan = fakePlan(fresh(), count, {}, 1);
    const heaps: number[] = [];
    let done = 0;
    const looks: Promise<number>[] = [];
    const report = await bullmqWith(
      { connection: redis.url, queue: "many", workers: 2 },
      { program: built.file("fake"), pending: pendingFake },
    ).run(plan, contextOf(plan), (e) => {
      if (e.kind !== "task" || ++done % Math.ceil(count / 8) !== 0) return;
      collect();
      heaps.push(process.memoryUsage().heapUsed / 2 ** 20);
      looks.push(redis.used());
    });
    const most = Math.max(...(await Promise.all(looks)));
    const shown = heaps.map((n) => n.toFixed(1)).join(", ");
    console.log(
      `${count} tasks in ${(report.milliseconds / 1000).toFixed(1)} s; heap, MiB: ${shown}; Redis: ${(most / 2 ** 20).toFixed(1)} MiB`,
    );
    expect(report.ran).toBe(count);
    // From the second look on: what is made once is made.
    expect(heaps.at(-1)! - heaps[1]).toBeLessThan(5);
    expect(most).toBeLessThan(100e6);
  });
});
