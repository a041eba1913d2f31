/**
 * node scripts/bundle-node.mjs [dist]
 *
 * dist/node/: the package for Node in a few files instead of two hundred, because Node reads them one by one at every
 * start. Bundlers take the single files of dist/, from which they can leave out what is not used.
 *
 * Nothing is minified: an uncaught error shows the line that threw it. With --enable-source-maps it names the files of
 * src/; the maps know lines, not columns, and so are small.
 */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Of base 64. */
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const root = fileURLToPath(new URL("..", import.meta.url));
const out = join(process.argv[2] ?? join(root, "dist"), "node");
/** The files beside each other, because they find the worker beside themselves. */
const entries = {
  cli: "cli/main",
  index: "index",
  interop: "interop/index",
  io: "io",
  methods: "methods",
  plot: "plot/index",
  turbo: "turbo",
};
const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: Object.entries(entries).map(([out, file]) => ({ in: `src/${file}.ts`, out })),
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  legalComments: "none",
  logLevel: "warning",
  sourcemap: "linked",
  sourcesContent: false,
  write: false,
});
mkdirSync(out, { recursive: true });
for (const { path, text, contents } of outputFiles) {
  writeFileSync(path, path.endsWith(".map") ? lineMap(JSON.parse(text), basename(path, ".map")) : contents);
}
copyFileSync(join(root, "src/run/worker.js"), join(out, "worker.js"));

/** A source map with one segment a line: [column 0, source, line, column 0], each number the difference to the one before. */
function lineMap({ sources, mappings }, file) {
  let source = 0;
  let line = 0;
  let wroteSource = 0;
  let wroteLine = 0;
  const lines = mappings.split(";").map((segments) => {
    let written = "";
    for (const segment of segments === "" ? [] : segments.split(",")) {
      const [, ds = 0, dl = 0] = decode(segment);
      source += ds;
      line += dl;
      if (written !== "") continue;
      written = `A${encode(source - wroteSource)}${encode(line - wroteLine)}A`;
      wroteSource = source;
      wroteLine = line;
    }
    return written;
  });
  // As the package lies in a project, wherever it was built.
  const names = sources.map((path) => path.replace(/^.*?src\//, "../../src/"));
  return JSON.stringify({ version: 3, file, sources: names, names: [], mappings: lines.join(";") });
}

/** Source maps write numbers in groups of five bits, the lowest first and the sign in the lowest bit of all. */
function decode(segment) {
  const numbers = [];
  let value = 0;
  let shift = 0;
  for (const letter of segment) {
    const bits = digits.indexOf(letter);
    value += (bits & 31) * 2 ** shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value % 2 === 1 ? -(value - 1) / 2 : value / 2);
    value = 0;
    shift = 0;
  }
  return numbers;
}

function encode(number) {
  let value = number < 0 ? -2 * number + 1 : 2 * number;
  let text = "";
  do {
    const bits = value % 32;
    value = Math.floor(value / 32);
    text += digits[value > 0 ? bits + 32 : bits];
  } while (value > 0);
  return text;
}
