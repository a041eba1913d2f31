/**
 * node scripts/worker-text.mjs: makes src/run/worker-text.ts of src/run/strided-worker.js, as part of the build.
 * A test compares the two.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

/** @param {string} path */
const at = (path) => fileURLToPath(new URL(`../src/run/${path}`, import.meta.url));

/** What the file must hold. */
export function workerTextFile() {
  const { code } = transformSync(readFileSync(at("strided-worker.js"), "utf8"), {
    minify: true,
    target: "es2022",
    format: "iife",
    legalComments: "none",
  });
  return (
    "/** strided-worker.js as text, for hosts and pages where there is no such file. Made by scripts/worker-text.mjs. */\n" +
    `export const workerText =\n  ${JSON.stringify(code.trim())};\n`
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(at("worker-text.ts"), workerTextFile());
