/**
 * node scripts/bundle-node.mjs [dist]
 *
 * dist/node/: the package for Node in a few files instead of two hundred, because Node reads them one by one at every
 * start. Bundlers take the single files of dist/, from which they can leave out what is not used.
 */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const dist = process.argv[2] ?? fileURLToPath(new URL("../dist", import.meta.url));
const at = (path) => join(dist, path);
await build({
  entryPoints: ["index", "methods", "turbo"].map((name) => at(`${name}.js`)),
  outdir: at("node"),
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  logLevel: "warning",
});
copyFileSync(at("run/worker.js"), at("node/worker.js"));
