/**
 * node scripts/bundle-node.mjs [dist]
 *
 * dist/node/: the package for Node in a few files instead of two hundred, because Node reads them one by one at every
 * start. Bundlers take the single files of dist/, from which they can leave out what is not used.
 *
 * Nothing is minified: an uncaught error shows the line that threw it. With --enable-source-maps it names the files of
 * src/; the maps know lines, not columns, and so are small.
 *
 * There is one implementation, in CommonJS: what `require` loads, what `import` loads (through a file of names) and what a
 * test runner loads in its sandbox are the same modules, so there is one engine, and one class of tensors. esbuild splits
 * ES modules only, so its chunks are made CommonJS here, import by import, every line where it was.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "acorn";
import { build } from "esbuild";
import { declarationsOf, forOlderTypeScript } from "./declarations.mjs";

/** Functions whose files are read at their first call: most programs never get there, and reading is what a start costs. */
const late = new Set(["explain", "njit", "parseExpressionAt"]);
const strict = '"use strict"; Object.defineProperty(exports, "__esModule", { value: true });';
/** Of base 64. */
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const root = fileURLToPath(new URL("..", import.meta.url));
const dist = process.argv[2] ?? join(root, "dist");
const out = join(dist, "node");
const { exports, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** The entries, as package.json has them: "." is index. */
const entries = Object.keys(exports)
  .filter((key) => key !== "./package.json")
  .map((key) => (key === "." ? "index" : key.slice(2)));

for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
  if (name.endsWith(".js") && /^export (let|var) /m.test(readFileSync(join(dist, name), "utf8")))
    throw new Error(
      `${name} exports a variable; its importers would keep its first value. Export a function.`,
    );
}

forOlderTypeScript(dist);
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: [
    ...entries.map((name) => ({ in: `src/${name}.ts`, out: name })),
    { in: "src/cli/main.ts", out: "cli" },
    // Started by its name (src/chunked/engines/program.ts).
    { in: "src/chunked/engines/child.ts", out: "chunked-child" },
  ],
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  // There is no such thing in CommonJS, and Node's workers need no file.
  define: { "import.meta.url": "undefined", STRIDED_VERSION: JSON.stringify(version) },
  legalComments: "none",
  logLevel: "warning",
  sourcemap: "linked",
  sourcesContent: false,
  metafile: true,
  write: false,
});
// Node's search for the names that a file exports, before an `import` of it, is slow: large entries get a file of names alone.
const large = new Set(entries.filter((name) => outputOf(name).bytes > 2 ** 15));
for (const { path, text } of outputFiles) {
  const isLarge = large.has(basename(path).replace(/\.js(\.map)?$/, ""));
  const file = path.replace(/\.js(\.map)?$/, isLarge ? "-code.cjs$1" : ".cjs$1");
  writeFileSync(
    file,
    path.endsWith(".map")
      ? lineMap(JSON.parse(text), basename(file, ".map"))
      : commonJs(text, basename(file)),
  );
}

for (const name of entries) {
  const { exports: given } = outputOf(name);
  const list = given.map((e) => `  ${e},\n`).join("");
  const names = list === "" ? "import" : `export {\n${list}} from`;
  if (large.has(name)) {
    const lines = given.map((e) => `exports.${e} = code.${e};\n`).join("");
    writeFileSync(
      join(out, `${name}.cjs`),
      `${strict}\nconst code = require("./${name}-code.cjs");\n${lines}`,
    );
  }
  writeFileSync(join(out, `${name}.js`), `${names} "./${name}.cjs";\n`);
  if (existsSync(join(dist, `${name}.d.ts`)))
    writeFileSync(join(dist, `${name}.d.cts`), declarationsOf(dist, name));
}

writeFileSync(join(out, "cli.js"), '#!/usr/bin/env node\nimport "./cli.cjs";\n');

function outputOf(name) {
  return Object.entries(metafile.outputs).find(([path]) => path.endsWith(`node/${name}.js`))[1];
}

/** An ES module of esbuild's as CommonJS: its imports and exports change, and everything else stays in its line. */
function commonJs(module, file) {
  const text = module.replace(/^#!.*/, "");
  let code = "";
  let end = 0;
  const put = (node, instead) => {
    const lines = (t) => t.split("\n").length;
    const before = text.slice(node.start, node.end);
    if (lines(instead) > lines(before)) throw new Error(`no room for ${instead}`);
    code += text.slice(end, node.start) + instead + "\n".repeat(lines(before) - lines(instead));
    end = node.end;
  };
  for (const node of parse(text, { ecmaVersion: "latest", sourceType: "module" }).body) {
    if (node.type === "ImportDeclaration") {
      const from = JSON.stringify(node.source.value.replace(/^(\.\/.*)\.js$/, "$1.cjs"));
      if (node.specifiers.some((s) => s.type !== "ImportSpecifier"))
        throw new Error(`only names can be imported here, from ${from}`);
      if (node.specifiers.length > 0 && node.specifiers.every((s) => late.has(s.imported.name))) {
        const stub = ({ local, imported }) =>
          `const ${local.name} = (...args) => require(${from}).${imported.name}(...args);`;
        put(node, node.specifiers.map(stub).join(" "));
        continue;
      }
      const names = text
        .slice(node.start, node.end)
        .match(/\{[^}]*\}/)?.[0]
        .replace(/ as /g, ": ");
      put(node, names === undefined ? `require(${from});` : `const ${names} = require(${from});`);
    } else if (node.type === "ExportNamedDeclaration") {
      if (node.declaration !== null || node.source !== null)
        throw new Error("only names can be exported here");
      put(node, node.specifiers.map((s) => `exports.${s.exported.name} = ${s.local.name};`).join("\n"));
    } else if (/^(Import|Export)/.test(node.type)) throw new Error(`${node.type} is not known here`);
  }
  const rest = text.slice(end).replace(/sourceMappingURL=.*/, `sourceMappingURL=${file}.map`);
  return `${strict} ${code}${rest}`;
}

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
