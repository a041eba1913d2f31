/** The real engine in a real browser: isolated (threads), not isolated (one thread, and it says so), under a strict CSP. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launch } from "./chromium.ts";
import { serve } from "./server.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-browser-"));
const html = '<!doctype html><title>strided</title><script type="module" src="/page.js"></script>';
let browser: Browser;

/** Where there is no Chromium these tests are left out, in CI never: there its absence is a failure. */
const absent = findChromium() === null && !process.env.CI;
if (absent)
  console.warn("no Chromium here: the browser tests are left out (Debian: apt-get install chromium)");

beforeAll(async () => {
  if (absent) return;
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  buildSync({
    entryPoints: [here("./page.ts")],
    bundle: true,
    minify: true,
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

/** What the page computed, and what its console said. */
async function visit(headers: Record<string, string>) {
  const site = await serve(folder, { "/": html }, headers);
  const page = await browser.newPage();
  const messages: string[] = [];
  page.on("console", (m) => messages.push(m.text()));
  page.on("pageerror", (e) => messages.push(String(e)));
  await page.goto(site.url);
  await page.waitForFunction(() => "result" in globalThis, undefined, { timeout: 170_000 });
  const result = await page.evaluate(
    () => (globalThis as unknown as { result: Record<string, unknown> }).result,
  );
  await page.close();
  await site.close();
  const complaints = messages.filter((m) => !m.includes("favicon") && !m.includes("404"));
  return { result, complaints };
}

const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};
const csp = { "content-security-policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" };

const expected = {
  map: [
    [100, 102],
    [104, 106],
  ],
  zip: [
    [10, 40, 90],
    [40, 100, 180],
  ],
  reduce: [6, 15],
  matmul: [
    [58, 64],
    [139, 154],
  ],
  half: [0.333251953125, 0.333251953125, 0.333251953125],
  backend: "wasm",
};

test.skipIf(absent)("an isolated page computes on all threads", async () => {
  const { result, complaints } = await visit(isolation);
  expect(complaints).toEqual([]);
  expect(result).toMatchObject({ ...expected, isolated: true });
  expect(result.worst).toBeLessThan(3e-7);
  expect(result.threads).toMatchObject({ why: null, shared: true });
  expect((result.threads as { threads: number }).threads).toBeGreaterThan(1);
});

test.skipIf(absent)("a page that is not isolated computes on one thread and says why", async () => {
  const { result, complaints } = await visit({});
  expect(complaints).toEqual([]);
  expect(result).toMatchObject({ ...expected, isolated: false });
  expect(result.threads).toMatchObject({
    threads: 1,
    shared: false,
    why: "the page is not cross-origin isolated (COOP and COEP headers)",
  });
});

test.skipIf(absent)("a page whose policy forbids eval works, isolated and not", async () => {
  for (const headers of [csp, { ...csp, ...isolation }]) {
    const { result, complaints } = await visit(headers);
    expect(complaints).toEqual([]);
    expect(result).toMatchObject(expected);
  }
});

test.skipIf(absent)("a policy that forbids WebAssembly gets an error that names the directive", async () => {
  for (const headers of [
    { "content-security-policy": "default-src 'self'" },
    { "content-security-policy": "script-src 'self'", ...isolation },
  ]) {
    const { result } = await visit(headers);
    expect(result.error).toMatch(/^TensorError: strided: this page's Content Security Policy does not allow/);
    expect(result.error).toContain("Add 'wasm-unsafe-eval' to its script-src");
  }
});

test.skipIf(absent)("a policy that forbids workers leaves one thread", async () => {
  const policy = { "content-security-policy": `${csp["content-security-policy"]}; worker-src 'none'` };
  const { result } = await visit({ ...policy, ...isolation });
  expect(result).toMatchObject({ ...expected, isolated: true, threads: { threads: 1 } });
});
