/** `strided run`, `worker` and `status`, as processes: bytes, exit codes, what is refused, and what is left when they are killed. */
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadBull, readQueue } from "../../src/chunked/engines/bullmq.ts";
import { chunked, type Plan } from "../../src/chunked.ts";
import { isAlive, until } from "./fake.ts";
import { type Built, buildPrograms, childrenOf, startProgram } from "./program.ts";
import { bytesBelow, slowPlan } from "./real.ts";
import { noRedis, Redis } from "./redis.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-run-"));
let built: Built;
const started = new Set<ChildProcess>();
beforeAll(async () => {
  built = await buildPrograms();
});
afterAll(() => {
  for (const one of started) one.kill("SIGKILL");
  built?.remove();
  rmSync(folder, { recursive: true, force: true });
});
let made = 0;
function fresh(): string {
  const path = join(folder, String(made++));
  mkdirSync(path);
  return path;
}

const start = (cwd: string, ...args: string[]) => {
  const running = startProgram(built.cli, cwd, args);
  started.add(running.process);
  return running;
};
const strided = (cwd: string, ...args: string[]) => start(cwd, ...args).ended;

/** A plan with operations before the last one, in a folder of its own. */
async function written(): Promise<{ cwd: string; plan: Plan; expected: Record<string, string> }> {
  const cwd = fresh();
  await chunked
    .random([48, 16], { chunks: [8, 16], seed: 3 })
    .plan()
    .run({ to: join(cwd, "a.zarr") });
  const a = await chunked.open(join(cwd, "a.zarr"));
  const lazy = a.sub(a.mean({ axis: 0 })).plan({ workers: 2, memory: "256 MiB" });
  await lazy.run({ to: join(cwd, "calm.zarr") });
  const plan = await lazy.toPlan({ to: join(cwd, "z.zarr") });
  writeFileSync(join(cwd, "plan.json"), JSON.stringify(plan));
  return { cwd, plan, expected: bytesBelow(join(cwd, "calm.zarr")) };
}

describe("strided run", () => {
  it("runs a plan, says how far it is, and goes on with it", async () => {
    const { cwd, expected } = await written();
    const before = await strided(cwd, "status", "plan.json");
    expect([before.code, before.out]).toMatchObject([1, expect.stringContaining("not begun")]);
    const first = await strided(cwd, "run", "plan.json", "--workers", "2");
    expect(first.out).toMatch(/^\d+ tasks in [\d.]+ s, 0 were there; read .*, wrote /);
    expect([first.code, bytesBelow(join(cwd, "z.zarr"))]).toEqual([0, expected]);
    const after = await strided(cwd, "status", "plan.json");
    expect([after.code, after.out]).toMatchObject([0, expect.stringMatching(/complete[\s\S]*6\/6 +100 %/)]);
    const again = await strided(cwd, "run", "plan.json");
    expect([again.code, again.err]).toMatchObject([1, expect.stringContaining("an array lies already")]);
    expect(again.err).toContain("Go on with --resume, write over it with --overwrite, or make a plan");
    const resumed = await strided(cwd, "run", "plan.json", "--resume", "--json");
    expect(JSON.parse(resumed.out)).toMatchObject({ ran: 0 });
    expect(existsSync(join(cwd, "z.zarr.work"))).toBe(false);
  });

  it("shards of it give the same bytes", async () => {
    const { cwd, expected } = await written();
    const all = await Promise.all(
      [0, 1].map((k) => strided(cwd, "run", "plan.json", "--shard", `${k}/2`, "--workers", "1")),
    );
    expect(all.map(({ code }) => code)).toEqual([0, 0]);
    expect(bytesBelow(join(cwd, "z.zarr"))).toEqual(expected);
  });

  it("opens nothing that lies elsewhere unless it is said, and no plan that was changed", async () => {
    const { cwd, plan } = await written();
    const elsewhere = fresh();
    writeFileSync(join(elsewhere, "p.json"), JSON.stringify(plan));
    const shut = await strided(elsewhere, "run", "p.json");
    expect([shut.code, shut.err]).toMatchObject([
      1,
      expect.stringContaining(`--allow ${join(cwd, "a.zarr")}`),
    ]);
    expect(existsSync(join(cwd, "z.zarr"))).toBe(false);
    expect((await strided(elsewhere, "run", "p.json", "--allow", cwd, "--quiet")).code).toBe(0);
    writeFileSync(join(elsewhere, "p.json"), JSON.stringify({ ...plan, memory: 1 }));
    expect((await strided(elsewhere, "run", "p.json")).err).toContain("hash was made of");
    const wrong = [
      ["--shard", "4"],
      ["--shard", "4/4"],
      ["--redis", "x"],
      ["--redis", "redis://h", "--shard", "0/2"],
      ["--lock", "2"],
    ];
    for (const args of wrong)
      expect((await strided(cwd, "run", "plan.json", ...args)).code).toBeGreaterThan(0);
    expect((await strided(cwd, "run", "none.json")).err).toContain("ENOENT");
  });

  it("Ctrl-C ends it in order, and --resume goes on; a kill leaves no process either", async () => {
    const cwd = fresh();
    const { out: to, calm } = await slowPlan(cwd, 40, 40);
    const chunks = () =>
      existsSync(join(cwd, "out.zarr")) ? Object.keys(bytesBelow(join(cwd, "out.zarr"))).length : 0;
    for (const [signal, code] of [
      ["SIGINT", 130],
      ["SIGKILL", null],
    ] as const) {
      const running = start(cwd, "run", "plan.json", "--resume", "--workers", "2", "--quiet");
      const had = chunks();
      await until(() => chunks() > had + 1, 60, "some chunks are there");
      const pids = childrenOf(running.process.pid!);
      expect(pids).toHaveLength(2);
      running.process.kill(signal);
      const end = await running.ended;
      expect(end.code).toBe(code);
      if (signal === "SIGINT") expect(end.err).toContain("go on with --resume");
      await until(() => pids.every((pid) => !isAlive(pid)), 10, "no child is left");
      expect(chunks()).toBeLessThan(40);
    }
    const had = chunks();
    const { out } = await strided(cwd, "run", "plan.json", "--resume", "--json", "--quiet");
    expect(JSON.parse(out)).toMatchObject({ ran: 40 - had, skipped: had });
    expect(bytesBelow(to)).toEqual(calm);
  });
});

describe.skipIf(noRedis !== null)(`strided worker${noRedis === null ? "" : ` (${noRedis})`}`, () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await Redis.start();
  });
  afterAll(() => redis?.stop());

  it("computes what a run adds, from plans of its own folder, and refuses whatever else comes", async () => {
    const { cwd, plan, expected } = await written();
    const worker = start(cwd, "worker", redis.url, "--root", cwd, "--workers", "1");
    const stranger = start(fresh(), "worker", redis.url, "--root", ".", "--workers", "1");
    await until(
      () => worker.err().includes("ready") && stranger.err().includes("ready"),
      60,
      "both are ready",
    );
    const bull = await loadBull("test");
    const queue = new bull.Queue("strided", {
      connection: readQueue("test", { connection: redis.url }).connection,
    });
    queue.on("error", () => {});
    const good = { planHash: plan.hash, operation: plan.operations[0].id, index: 0 };
    for (const data of [
      { ...good, plan },
      { ...good, operation: "0-fold; rm -rf /" },
      { ...good, index: 10 ** 9 },
      { planHash: "../../../etc/passwd", operation: "0-fold", index: 0 },
      { ...good, root: "/" },
      [good],
    ])
      await queue.add("task", data as never, {});
    const run = await strided(
      cwd,
      "run",
      "plan.json",
      "--redis",
      redis.url,
      "--workers",
      "0",
      "--json",
      "--quiet",
    );
    expect([run.code, run.err]).toEqual([0, ""]);
    expect(JSON.parse(run.out)).toMatchObject({ ran: plan.operations.reduce((n, op) => n + op.tasks, 0) });
    expect(bytesBelow(join(cwd, "z.zarr"))).toEqual(expected);
    const refusals = () => `${worker.err()}${stranger.err()}`.split("refused: worker: ").length - 1;
    await until(() => refusals() >= 6, 30, "six messages are refused");
    const names = ["a.zarr", "calm.zarr", "plan.json", "plan.json.status", "z.zarr"];
    expect(readdirSync(cwd).sort()).toEqual(names);
    await queue.close();
    const pids = childrenOf(worker.process.pid!);
    worker.process.kill("SIGTERM");
    stranger.process.kill("SIGINT");
    expect((await worker.ended).code).toBe(0);
    expect((await stranger.ended).err).toMatch(/has no plan .*: left to others[\s\S]*stopped/);
    await until(() => pids.every((pid) => !isAlive(pid)), 10, "no child is left");
  });

  it("says what is missing", async () => {
    const cwd = fresh();
    expect((await strided(cwd, "worker", redis.url)).err).toContain("--root is needed");
    expect((await strided(cwd, "worker", redis.url, "--root", "none")).err).toContain("there is no folder");
    const nobody = await strided(cwd, "worker", "redis://127.0.0.1:1", "--root", ".");
    expect([nobody.code, nobody.err]).toMatchObject([
      1,
      expect.stringContaining("no Redis answers at 127.0.0.1:1"),
    ]);
  });
});
