/** Files in a real browser: over HTTP by range requests, of the page's own server and of another one, and out of Blobs. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { arange } from "../../src/index.ts";
import { npy } from "../../src/io.ts";
import { bytesOf, manifest } from "../io/fixtures.ts";
import { type Handler, type Served, serveFiles } from "../io/server.ts";
import { keysOf, packedByPackage, zarrManifest } from "../io/zarr-fixtures.ts";
import { findChromium, launch } from "./chromium.ts";
import type { IoResult } from "./io-page.ts";

const absent = findChromium() === null && !process.env.CI;
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const html = '<!doctype html><title>strided</title><script type="module" src="/page.js"></script>';
const names = [
  "f8-big.npy",
  "fortran.npy",
  "stored.npz",
  "deflated.npz",
  "all.safetensors",
  "plain.gguf",
  "all.onnx",
  "pillow.png",
  "interlaced-rgb8.png",
  "batches.arrow",
  "lz4.arrow",
  "groups.parquet",
  "gzip.parquet",
];
const files: Record<string, Uint8Array> = Object.fromEntries(names.map((name) => [name, bytesOf(name)]));
for (const name of Object.keys(zarrManifest)) {
  for (const [key, bytes] of keysOf(name)) files[`${name}/${key}`] = bytes;
}
let browser: Browser;
let page: string;

beforeAll(async () => {
  if (absent) return;
  const built = buildSync({
    entryPoints: [here("./io-page.ts")],
    bundle: true,
    format: "esm",
    platform: "browser",
    write: false,
  });
  page = built.outputFiles[0].text;
  files["big.npy"] = await npy.encode(arange(400_000).reshape(1000, 400));
  browser = await launch();
}, 120_000);
afterAll(() => browser?.close());

const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** The page itself; everything else is a file. */
const pages =
  (headers: Record<string, string>): Handler =>
  (request, response) => {
    const path = request.url!.replace(/\?.*/, "");
    const bodies: Record<string, [string, string | Buffer]> = {
      "/": ["text/html", html],
      "/page.js": ["text/javascript", page],
      "/strided-worker.js": ["text/javascript", readFileSync(here("../../src/run/strided-worker.js"))],
    };
    const found = bodies[path];
    if (found === undefined) return false;
    response.writeHead(200, { "content-type": found[0], ...headers }).end(found[1]);
    return true;
  };

async function visit(site: Served, base: string): Promise<IoResult> {
  const tab = await browser.newPage();
  await tab.goto(`${site.url}/?names=${names.join()}&base=${encodeURIComponent(base)}`);
  await tab.waitForFunction(() => "result" in globalThis, undefined, { timeout: 110_000, polling: 100 });
  const result = await tab.evaluate(() => (globalThis as unknown as { result: IoResult }).result);
  await tab.close();
  expect(result).not.toHaveProperty("error");
  return result;
}

function check(result: IoResult): void {
  for (const read of [result.files, result.blobs]) {
    for (const name of names) {
      const want = Object.entries(manifest[name]).map(([entry, fact]) => [
        entry,
        fact?.hex === undefined ? null : fact,
      ]);
      expect(read[name].entries, name).toEqual(Object.fromEntries(want));
    }
  }
  for (const [name, facts] of Object.entries(zarrManifest)) {
    const want = Object.entries(facts).filter(([entry]) => !packedByPackage.test(entry));
    expect(result.zarr[name].entries, name).toEqual(Object.fromEntries(want));
  }
  const shards = zarrManifest["v3.zarr"]["shards-end"]!;
  const bytes = Buffer.from(shards.hex!, "hex");
  expect(result.shardRow).toEqual(Array.from({ length: 9 }, (_, i) => bytes.readInt16LE(2 * (27 + i))));
  expect(result.packed).toEqual([4, 3, 2, 1, 0]);
  const row = (i: number) => Array.from({ length: 200 }, (_, k) => 400 * i + 2 * k);
  expect(result.rows).toEqual([row(998), row(999)]);
  expect(result.refused).toMatch(/^open: ".*missing\.npy": the server answers with status 404\./);
  expect(result.saved).toMatch(/^npy\.save: this host has no files\./);
}

test.skipIf(absent).each([
  ["an isolated page", isolation, true],
  ["a page without isolation", {}, false],
])("%s reads files of its own server", { timeout: 120_000 }, async (_, headers, isolated) => {
  const site = await serveFiles(files, pages(headers));
  try {
    const result = await visit(site, "./");
    expect(result.isolated).toBe(isolated);
    check(result);
    // The head of a long file, and the two rows: not the file.
    const asked = site.requests.filter((line) => line.startsWith("GET /big.npy"));
    expect(asked).toEqual(["GET /big.npy bytes=0-65535", "GET /big.npy bytes=1596928-1600123"]);
    // Of a shard its index, in the last 68 bytes, and what the row needs of it.
    const shards = site.requests.filter((line) => /^GET \/v3\.zarr\/shards-end\/c\/0\/0 bytes=/.test(line));
    expect(shards[0]).toBe("GET /v3.zarr/shards-end/c/0/0 bytes=-68");
    expect(shards.length).toBeGreaterThan(1);
  } finally {
    await site.close();
  }
});

test.skipIf(absent)("of another server, which hides how long they are", { timeout: 120_000 }, async () => {
  const other = await serveFiles(files, (request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("access-control-allow-headers", "range");
    if (request.method !== "OPTIONS") return false;
    response.writeHead(204).end();
    return true;
  });
  const site = await serveFiles({}, pages(isolation));
  try {
    check(await visit(site, `${other.url}/`));
    expect(other.requests.some((line) => line.startsWith("HEAD /big.npy"))).toBe(true);
  } finally {
    await site.close();
    await other.close();
  }
});
