/** A folder on localhost, gzipped, with the headers that are asked for: the explorer and the site are served by it. */
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json; charset=utf-8",
  ".png": "image/png",
};

/**
 * Serves a folder; resolves to its address. Port 0 takes any that is free, and so does a port that is taken.
 *
 * @param {string} folder
 * @param {number} port
 * @param {Readonly<Record<string, string>>} headers
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function serveFolder(folder, port, headers) {
  /** @type {Map<string, { changed: number, body: Buffer }>} */
  const packed = new Map();
  const server = createServer(async (request, response) => {
    try {
      const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
      const file = join(folder, path.endsWith(sep) ? `${path}index.html` : path);
      if (!file.startsWith(folder + sep)) throw new Error("outside");
      const changed = (await stat(file)).mtimeMs;
      let kept = packed.get(file);
      if (kept === undefined || kept.changed !== changed) {
        kept = { changed, body: await promisify(gzip)(await readFile(file), { level: 9 }) };
        packed.set(file, kept);
      }
      const all = {
        "content-type":
          types[/** @type {keyof typeof types} */ (extname(file))] ?? "application/octet-stream",
        "content-encoding": "gzip",
        "cache-control": "no-cache",
        ...headers,
      };
      response.writeHead(200, { ...all, "content-length": kept.body.length }).end(kept.body);
    } catch {
      response.writeHead(404, { "content-type": "text/plain", ...headers }).end("Not found");
    }
  });
  /** @param {number} wanted @returns {Promise<void>} */
  const listen = (wanted) =>
    new Promise((done, failed) => {
      server.once("error", failed);
      server.listen(wanted, "localhost", () => {
        server.off("error", failed);
        done();
      });
    });
  await listen(port).catch((error) => {
    if (error.code !== "EADDRINUSE") throw error;
    return listen(0);
  });
  const address = server.address();
  const at = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: `http://localhost:${at}/`,
    close: () => new Promise((closed) => server.close(() => closed())),
  };
}
