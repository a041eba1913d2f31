/**
 * The whole kernel battery in a real browser, isolated (threads) and not isolated (one thread): every case of NumPy's,
 * random kernels, folds and scans against the interpreter, all threads against one.
 */
import { copyFileSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BatteryResult } from "./battery.ts";
import { findChromium, launch } from "./chromium.ts";
import { serve } from "./server.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-battery-"));
const html = '<!doctype html><title>strided</title><script type="module" src="/battery.js"></script>';
const absent = findChromium() === null && !process.env.CI;
let browser: Browser;

/** What the page does not use of Node's modules may go. */
const withoutNode: Plugin = {
  name: "without-node",
  setup: (b) =>
    b.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false })),
};

beforeAll(async () => {
  if (absent) return;
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [here("./battery.ts")],
    bundle: true,
    format: "esm",
    platform: "browser",
    plugins: [withoutNode],
    outfile: join(folder, "battery.js"),
    metafile: true,
  }).then(({ metafile }) => ({ outputFiles: Object.values(metafile.outputs) }));
  expect(outputFiles.flatMap((o) => o.imports.map((i) => i.path))).toEqual([]);
  copyFileSync(here("../../src/run/strided-worker.js"), join(folder, "strided-worker.js"));
  cpSync(here("../oracle/cases"), join(folder, "cases"), { recursive: true });
  browser = await launch();
}, 300_000);

afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

async function runBattery(headers: Record<string, string>, search = ""): Promise<BatteryResult> {
  const site = await serve(folder, { "/": html }, headers);
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (e) => complaints.push(String(e)));
  await page.goto(`${site.url}/${search}`);
  await page.waitForFunction(() => "result" in globalThis, undefined, { timeout: 400_000, polling: 200 });
  const result = await page.evaluate(() => (globalThis as unknown as { result: BatteryResult }).result);
  await page.close();
  await site.close();
  expect(complaints).toEqual([]);
  expect(result).not.toHaveProperty("error");
  return result;
}

function check(title: string, { outcomes, tensors, threads }: BatteryResult): void {
  const sum = (key: "cases" | "passed" | "milliseconds") => outcomes.reduce((s, o) => s + o[key], 0);
  console.log(
    `${title}, ${threads} threads: ${sum("passed")} of ${sum("cases")} cases pass, ${(sum("milliseconds") / 1000).toFixed(1)} s`,
  );
  console.table(
    outcomes.map(({ what, cases, passed, milliseconds: ms }) => ({
      what,
      cases,
      passed,
      ms: Math.round(ms),
    })),
  );
  expect(outcomes.flatMap((o) => o.failures.map((f) => `${o.what}: ${f}`)).join("\n")).toBe("");
  const numpy = outcomes.filter((o) => o.what.startsWith("NumPy"));
  expect(numpy.reduce((s, o) => s + o.passed, 0)).toBe(9142);
  const random = outcomes.filter((o) => o.what.startsWith("random"));
  expect(random.reduce((s, o) => s + o.passed, 0)).toBeGreaterThan(4000);
  expect(tensors).toBe(0);
}

test.skipIf(absent)(
  "the battery passes in an isolated page, on all threads",
  { timeout: 400_000 },
  async () => {
    const result = await runBattery(isolation);
    check("isolated", result);
    expect(result.isolated).toBe(true);
    expect(result.threads).toBeGreaterThan(1);
  },
);

test.skipIf(absent)(
  "the battery passes in a page without isolation, on one thread",
  { timeout: 400_000 },
  async () => {
    const result = await runBattery({});
    check("not isolated", result);
    expect(result).toMatchObject({ isolated: false, threads: 1 });
    expect(result.report.replace(/; compiled .*/g, "").replace(/\n {3}time .*/g, "")).toMatchInlineSnapshot(`
      "1. kernel: (v) => Math.sqrt(v * v + 1)
         out      f32 [1048576], strides [1]: dense
         in       f32 [1048576], strides [1]: dense
         loops    1048576
         code     SIMD WebAssembly, 4 elements at once, 16 a turn of the loop
         threads  1, because the page is not cross-origin isolated (COOP and COEP headers)
         memory   4 MiB read, 4 MiB written"
    `);
  },
);

test.skipIf(absent)(
  "an isolated page without strided-worker.js computes on all threads all the same",
  async () => {
    rmSync(join(folder, "strided-worker.js"));
    const { isolated, threads, report } = await runBattery(isolation, "?report");
    expect(isolated).toBe(true);
    expect(threads).toBeGreaterThan(1);
    expect(report).toMatch(/threads {2}\d+ share \d+ tasks/);
  },
);

test.skipIf(absent)(
  "where its policy leaves no way to a worker, one thread computes, and says so",
  async () => {
    rmSync(join(folder, "strided-worker.js"), { force: true });
    const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";
    const headers = { ...isolation, "content-security-policy": policy };
    const { isolated, threads, report } = await runBattery(headers, "?report");
    expect({ isolated, threads }).toEqual({ isolated: true, threads: 1 });
    expect(report).toMatch(
      "threads  1, because no worker could be started, neither from strided-worker.js beside the code nor from a blob: URL " +
        "(the page's Content-Security-Policy may forbid them: worker-src)",
    );
  },
);
