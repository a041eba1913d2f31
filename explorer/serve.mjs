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
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { serveFolder } from "../scripts/serve-folder.mjs";
import { isolation } from "./headers.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
/**
 * Builds the explorer into a folder; only its own is emptied first.
 *
 * @param {string} outDir
 */
export async function buildExplorer(outDir) {
  if (!existsSync(join(here, "node_modules/vite"))) {
    throw new Error("The explorer's own tools are missing. Install them once: npm ci --prefix explorer");
  }
  const { build } = await import("vite");
  await build({
    configFile: join(here, "vite.config.mjs"),
    logLevel: "error",
    build: { outDir, emptyOutDir: outDir === join(here, "dist") },
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
  const { url } = await serveFolder(folder, Number(values.port), headers);
  console.log(`The explorer is at ${url} (Ctrl+C stops it)`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
