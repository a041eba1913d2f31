/** Tensors between a page and its Web Workers, shared where memory is shared and copied where it is not. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launch } from "./chromium.ts";
import type { MessagesResult } from "./messages-page.ts";
import { serve } from "./server.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-messages-"));
const html = '<!doctype html><title>strided</title><script type="module" src="/page.js"></script>';
const absent = findChromium() === null && !process.env.CI;
let browser: Browser;

beforeAll(async () => {
  if (absent) return;
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  for (const [entry, name] of [
    ["./messages-page.ts", "page.js"],
    ["../messages/worker.ts", "message-worker.js"],
  ]) {
    const outfile = join(folder, name);
    buildSync({ entryPoints: [here(entry)], bundle: true, format: "esm", platform: "browser", outfile });
  }
  copyFileSync(here("../../src/run/strided-worker.js"), join(folder, "strided-worker.js"));
  browser = await launch();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

async function visit(headers: Record<string, string>): Promise<MessagesResult> {
  const site = await serve(folder, { "/": html }, headers);
  const page = await browser.newPage();
  await page.goto(site.url);
  await page.waitForFunction(() => "result" in globalThis, undefined, { timeout: 110_000 });
  const result = await page.evaluate(() => (globalThis as unknown as { result: MessagesResult }).result);
  await page.close();
  await site.close();
  expect(result).not.toHaveProperty("error");
  return result;
}

const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};
const doubled = [
  [0, 6],
  [2, 8],
  [4, 10],
];
const pixels = [255, 155, 55, 0];

test.skipIf(absent)("in an isolated page memory is shared; ImageData takes a copy", async () => {
  expect(await visit(isolation)).toEqual({
    isolated: true,
    shared: true,
    doubled,
    moved: doubled,
    live: [
      [0, 0],
      [5, 5],
    ],
    clone: "DataCloneError",
    pixels,
    liveImage: "TypeError",
  });
});

test.skipIf(absent)("elsewhere messages are copied or moved, and live ones are refused", async () => {
  const { live, ...result } = await visit({});
  expect(live).toMatch(/^TensorError: toMessage: this host does not share memory between threads/);
  expect(result).toEqual({
    isolated: false,
    shared: false,
    doubled,
    moved: doubled,
    clone: "DataCloneError",
    pixels,
    liveImage: expect.any(String),
  });
});
