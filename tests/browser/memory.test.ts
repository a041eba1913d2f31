/** Garbage in a browser: a page that makes tensors in task after task and frees none does not fill the heap. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launch } from "./chromium.ts";
import type { MemoryResult } from "./memory-page.ts";
import { serve } from "./server.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-memory-"));
const html = '<!doctype html><title>strided</title><script type="module" src="/page.js"></script>';
const absent = findChromium() === null && !process.env.CI;
let browser: Browser;

beforeAll(async () => {
  if (absent) return;
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  buildSync({
    entryPoints: [here("./memory-page.ts")],
    bundle: true,
    format: "esm",
    platform: "browser",
    outfile: join(folder, "page.js"),
  });
  copyFileSync(here("../../src/run/strided-worker.js"), join(folder, "strided-worker.js"));
  browser = await launch();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

async function visit(headers: Record<string, string>, steps: number): Promise<MemoryResult> {
  const site = await serve(folder, { "/": html }, headers);
  const page = await browser.newPage();
  await page.goto(`${site.url}/?steps=${steps}`);
  await page.waitForFunction(() => "result" in globalThis, undefined, { timeout: 110_000, polling: 200 });
  const result = await page.evaluate(() => (globalThis as unknown as { result: MemoryResult }).result);
  await page.close();
  await site.close();
  expect(result).not.toHaveProperty("error");
  return result;
}

const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

test.skipIf(absent).each([
  ["an isolated page", isolation],
  ["a page without isolation", {}],
])(
  "%s makes 5 GB of tensors in tasks of their own and holds a fraction of it",
  { timeout: 120_000 },
  async (_, headers) => {
    const steps = 600;
    const { sum, memory } = await visit(headers, steps);
    expect(sum).toBe(steps * (steps + 1));
    expect(memory.peakBytes).toBeLessThan(1.2e9);
  },
);
