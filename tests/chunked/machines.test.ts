/** Two network namespaces as two machines: a worker in each, and the cable of one is cut in the middle of a run. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bullmq } from "../../src/chunked/engines/bullmq.ts";
import { runBound } from "../../src/chunked/run.ts";
import { until } from "./fake.ts";
import { type Built, buildPrograms, processes, type Running, startProgram } from "./program.ts";
import { bytesBelow, slowPlan } from "./real.ts";
import { noRedis, Redis } from "./redis.ts";

const ip = (...args: string[]) => spawnSync("ip", args, { encoding: "utf8" });

/** A machine of its own network, with one cable to this one. */
class Machine {
  readonly name: string;
  readonly #cable: string;
  readonly address: string;

  constructor(number: number) {
    const id = process.pid.toString(36);
    this.name = `strided-${id}-${number}`;
    this.#cable = `s${id}h${number}`;
    // A part of the network that is set aside for tests of networks (RFC 2544).
    this.address = `198.18.${number}`;
  }

  up(): string | null {
    const [inside, here, there] = [`${this.#cable}i`, `${this.address}.1`, `${this.address}.2`];
    for (const args of [
      ["netns", "add", this.name],
      ["link", "add", this.#cable, "type", "veth", "peer", "name", inside],
      ["link", "set", inside, "netns", this.name],
      ["addr", "add", `${here}/24`, "dev", this.#cable],
      ["link", "set", this.#cable, "up"],
      ["-n", this.name, "addr", "add", `${there}/24`, "dev", inside],
      ["-n", this.name, "link", "set", inside, "up"],
      ["-n", this.name, "link", "set", "lo", "up"],
      ["-n", this.name, "route", "add", "default", "via", here],
    ]) {
      const { status, stderr, error } = ip(...args);
      if (status !== 0) return `ip ${args.join(" ")}: ${(stderr ?? String(error)).trim()}`;
    }
    return null;
  }

  cut(): void {
    expect(ip("link", "set", this.#cable, "down").status).toBe(0);
  }

  down(): void {
    ip("link", "del", this.#cable);
    ip("netns", "del", this.name);
  }
}

const machines = [new Machine(1), new Machine(2)];
const why = noRedis ?? machines.map((machine) => machine.up()).find((fault) => fault !== null) ?? null;
if (why !== null) {
  console.log(`two machines: skipped, there can be no network namespaces here: ${why}`);
  for (const machine of machines) machine.down();
}

describe.skipIf(why !== null)("two machines", () => {
  const folder = mkdtempSync(join(tmpdir(), "strided-machines-"));
  const workers: Running[] = [];
  let built: Built;
  let redis: Redis;
  beforeAll(async () => {
    built = await buildPrograms();
    redis = await Redis.start(`${machines[0].address}.1`);
  });
  afterAll(async () => {
    for (const worker of workers) worker.process.kill("SIGKILL");
    await redis?.stop();
    for (const machine of machines) machine.down();
    await until(() => processes((_, c) => c.includes(built.folder)).length === 0, 10, "no process is left");
    built?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it("one of them is cut off in the middle: the run ends right", async () => {
    const { plan, out, calm } = await slowPlan(folder, 200, 25);
    for (const { name } of machines) {
      const args = ["worker", redis.url, "--root", folder, "--workers", "1", "--lock", "2"];
      workers.push(startProgram(built.cli, folder, args, ["ip", "netns", "exec", name]));
    }
    await until(() => workers.every((worker) => worker.err().includes("ready")), 60, "both are there");
    const counts = new Map<string, number>();
    let isCut = false;
    let late = 0;
    const report = await runBound(
      "run",
      { plan },
      bullmq({ connection: redis.url, workers: 0, lock: 2, window: 20 }),
      {
        progress: (e) => {
          if (e.kind !== "task" || e.worker === undefined) return;
          counts.set(e.worker, (counts.get(e.worker) ?? 0) + 1);
          if (isCut) late++;
          // Both have shown that they work.
          if (!isCut && counts.size === 2 && [...counts.values()].every((n) => n >= 10)) {
            isCut = true;
            machines[1].cut();
          }
        },
      },
    );
    console.log(
      `tasks by each: ${[...counts.values()].join(", ")}; ${late} after the cut, ${report.retries} retries`,
    );
    expect(isCut).toBe(true);
    expect([report.ran, report.skipped]).toEqual([200, 0]);
    expect(late).toBeGreaterThan(50);
    expect(bytesBelow(out)).toEqual(calm);
  });
});
