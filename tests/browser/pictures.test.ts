/** Pictures, lent memory and plots in Chromium, isolated and not; and the strided copy under a strict policy. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launch } from "./chromium.ts";
import type { PicturesResult } from "./pictures-page.ts";
import { serve } from "./server.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-pictures-"));
const html = (name: string) =>
  `<!doctype html><title>strided</title><script type="module" src="/${name}.js"></script>`;
const absent = findChromium() === null && !process.env.CI;
let browser: Browser;

beforeAll(async () => {
  if (absent) return;
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  for (const name of ["pictures", "copy"]) {
    buildSync({
      entryPoints: [here(`./${name}-page.ts`)],
      bundle: true,
      format: "esm",
      platform: "browser",
      outfile: join(folder, `${name}.js`),
    });
  }
  copyFileSync(here("../../src/run/strided-worker.js"), join(folder, "strided-worker.js"));
  browser = await launch();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

async function visit<R>(name: string, headers: Record<string, string>): Promise<R> {
  const site = await serve(folder, { "/": html(name) }, headers);
  const page = await browser.newPage();
  await page.goto(`${site.url}/`);
  await page.waitForFunction(() => "result" in globalThis, undefined, { timeout: 60_000, polling: 100 });
  const result = await page.evaluate(() => (globalThis as unknown as { result: R }).result);
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
])("%s draws pictures, reads them back and lends memory", { timeout: 120_000 }, async (_, headers) => {
  const result = await visit<PicturesResult>("pictures", headers);
  const bytes = Array.from({ length: 24 }, (_, i) => (i % 4 === 3 ? 255 : (i * 37) % 256));
  expect(result).toEqual({
    isolated: headers === isolation,
    canvas: bytes,
    offscreen: bytes,
    imageData: bytes,
    small: [4, 40],
    lent: 40,
    svg: ["svg", "svg", "svg"],
  });
});

test.skipIf(absent)("a strict policy allows the strided copy", { timeout: 120_000 }, async () => {
  const policy = { "content-security-policy": "default-src 'none'; script-src 'self'" };
  expect(await visit("copy", policy)).toEqual({ forbidden: true, copied: [1, 4, 2, 5, 3, 6] });
});
