/** The page of `strided status --serve` in a real browser: a run that stops half way, goes on, and is complete. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LiveWriter, livePath } from "../../src/chunked/engines/live.ts";
import { local } from "../../src/chunked/engines/local.ts";
import { runBound } from "../../src/chunked/run.ts";
import { allowPlan } from "../../src/chunked/stores.ts";
import { chunked, type Plan } from "../../src/chunked.ts";
import { serveStatus } from "../../src/cli/status-server.ts";
import { PlanWatch } from "../../src/cli/status-watch.ts";
import { findChromium, launch } from "./chromium.ts";

const absent = findChromium() === null && !process.env.CI;
if (absent) console.warn("no Chromium here: the page of a run is not tested");

const folder = mkdtempSync(join(tmpdir(), "strided-status-"));
let browser: Browser;
let server: Server | null = null;
beforeAll(async () => {
  if (!absent) browser = await launch();
}, 60_000);
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(absent)("the page of a run", () => {
  test("fills as chunks appear, and tells who works", { timeout: 120_000 }, async () => {
    const lazy = chunked.random([64, 64], { chunks: [8, 8], seed: 1 });
    const draft = lazy.sub(lazy.mean({ axis: 0 })).plan({ workers: 1 });
    const plan: Plan = await draft.toPlan({ to: join(folder, "z.zarr"), work: join(folder, "work") });
    const path = join(folder, "plan.json");
    writeFileSync(path, JSON.stringify(plan));
    const allow = allowPlan(plan, new Map());
    const { url, server: made } = await serveStatus(new PlanWatch(path, plan, allow), 0, "127.0.0.1");
    server = made;

    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on("console", (m) => void (m.type() === "error" && complaints.push(m.text())));
    page.on("pageerror", (e) => void complaints.push(String(e)));
    await page.goto(url);
    const looks = (n: number) =>
      page.waitForFunction((least) => Number(document.body.dataset.looks) >= least, n);
    const fact = (name: string) => page.locator(`[data-fact="${name}"]`).textContent();
    const again = async () => {
      await looks(Number(await page.evaluate(() => document.body.dataset.looks)) + 2);
    };
    await looks(1);
    expect(await page.locator("#state").textContent()).toBe("nobody works at it now");
    const total = plan.operations.reduce((n, op) => n + op.tasks, 0);
    expect(await fact("tasks")).toBe(`0 of ${total} (0 %)`);

    const stop = new AbortController();
    const live = new LiveWriter(livePath(path), plan);
    let ran = 0;
    const half = runBound("run", { plan, allow }, local(), {
      signal: stop.signal,
      progress: (event) => {
        live.tell(event);
        if (event.kind === "task" && ++ran === 5) stop.abort();
      },
    });
    await expect(half).rejects.toThrow();
    live.tell({ kind: "retry", operation: "0-fold", index: 3, attempt: 2, reason: "<b>a process died</b>" });
    await new Promise((done) => setTimeout(done, 700));
    await again();
    expect(await page.locator("#state").textContent()).toBe("running");
    expect(await fact("tasks")).toMatch(new RegExp(`^[5-9] of ${total}`));
    expect(await fact("tried again")).toBe("1");
    expect(await page.locator("#retries").textContent()).toContain("<b>a process died</b>");
    expect(await page.locator("#workers").textContent()).toContain("this process");
    const [first] = await page.locator("#operations canvas").all();
    expect(await first.getAttribute("aria-label")).toMatch(/^[5-9] of 24 tasks are done$/);

    await runBound("run", { plan, allow }, local(), { resume: true, progress: (e) => live.tell(e) });
    await live.end();
    await again();
    expect(await page.locator("#state").textContent()).toBe("complete");
    expect(await fact("tasks")).toBe(`${total} of ${total} (100 %)`);
    expect(await page.locator(".operation .count").last().textContent()).toMatch(/^\d+ of \d+$/);
    expect(complaints).toEqual([]);

    expect((await fetch(`${url}../plan.json`)).status).toBe(404);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    expect((await fetch(url)).headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});
