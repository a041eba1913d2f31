/**
 * Builds the explorer and serves it on localhost, cross-origin isolated so that kernels use every core.
 *
 *     npm run explorer                      builds, serves, prints the address
 *     npm run explorer -- --port 8080       on another port
 *     npm run explorer -- --no-isolation    without COOP and COEP: one thread, and the page says so
 *     npm run explorer -- --no-build        serves what was built before
 *     npm run explorer -- --out folder      builds there, and serves from there
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { gzip } from "node:zlib";
import { isolation } from "./headers.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

async function buildExplorer(outDir) {
  if (!existsSync(join(here, "node_modules/vite"))) {
    throw new Error("The explorer's own tools are missing. Install them once: npm ci --prefix explorer");
  }
  const { build } = await import("vite");
  await build({
    configFile: join(here, "vite.config.mjs"),
    logLevel: "error",
    // Only the folder of our own is emptied.
    build: { outDir, emptyOutDir: outDir === join(here, "dist") },
  });
}

/** Serves a folder on localhost, gzipped; resolves to its address. Port 0 takes any that is free. */
function serveFolder(folder, port, headers) {
  const packed = new Map();
  const server = createServer(async (request, response) => {
    try {
      const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
      const file = join(folder, path.endsWith(sep) ? `${path}index.html` : path);
      if (!file.startsWith(folder + sep)) throw new Error("outside");
      if (!packed.has(file)) packed.set(file, await promisify(gzip)(await readFile(file), { level: 9 }));
      const body = packed.get(file);
      const type = types[extname(file)] ?? "application/octet-stream";
      const all = {
        "content-type": type,
        "content-encoding": "gzip",
        "cache-control": "no-cache",
        ...headers,
      };
      response.writeHead(200, { ...all, "content-length": body.length }).end(body);
    } catch {
      response.writeHead(404, { "content-type": "text/plain", ...headers }).end("Not found");
    }
  });
  return new Promise((done, failed) => {
    server.once("error", failed);
    server.listen(port, "localhost", () => {
      done(`http://localhost:${server.address().port}/`);
    });
  });
}

async function main() {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "4180" },
      out: { type: "string", default: join(here, "dist") },
      "no-isolation": { type: "boolean", default: false },
      "no-build": { type: "boolean", default: false },
    },
  });
  const folder = resolve(values.out);
  if (!values["no-build"] || !existsSync(folder)) await buildExplorer(folder);
  const headers = values["no-isolation"] ? {} : isolation;
  const url = await serveFolder(folder, Number(values.port), headers).catch((error) => {
    if (error.code !== "EADDRINUSE") throw error;
    return serveFolder(folder, 0, headers);
  });
  console.log(`The explorer is at ${url} (Ctrl+C stops it)`);
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
