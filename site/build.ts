/**
 * Builds the site into site/dist: every page of docs/, the reference, the explorer, a search index, and code that runs in
 * the page on the engine's own sources. No network is needed.
 *
 *     npm run site                      builds
 *     npm run site -- --out folder      builds there
 *     npm run site:serve                serves what was built, cross-origin isolated
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build as bundle } from "esbuild";
import { escapeHtml, highlight } from "../explorer/src/highlight.ts";
import { type History, historyHtml, historySection } from "./history.ts";
import { layout, type NavGroup, type PageParts } from "./layout.ts";
import { groups } from "./pages.ts";
import { addressOf, type Rendered, render } from "./render.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** One row of the search index: page, heading, address, words. */
export type SearchRow = readonly [page: string, heading: string, address: string, text: string];

export async function buildSite(out: string): Promise<{ readonly pages: number; readonly rows: number }> {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(join(out, "assets"), { recursive: true });
  const write = (address: string, text: string) => {
    mkdirSync(dirname(join(out, address)), { recursive: true });
    writeFileSync(join(out, address), text);
  };

  const decisions = (await readdir(join(root, "docs/decisions")))
    .filter((name) => /^\d.*\.md$/.test(name))
    .sort();
  const rendered = new Map<string, Rendered>();
  const add = (file: string, markdown: string) => rendered.set(file, render(root, file, markdown));
  add("site/home.md", read("site/home.md"));
  for (const file of groups.flatMap((g) => g.pages)) add(file, read(file));
  for (const name of decisions) add(`docs/decisions/${name}`, read(`docs/decisions/${name}`));
  const titles = decisions.map((name) => `- [${rendered.get(`docs/decisions/${name}`)!.title}](${name})`);
  add(
    "docs/decisions/README.md",
    `# Decisions\n\nWhy things are the way they are, a page each.\n\n${titles.join("\n")}\n`,
  );

  const label = (file: string, short: Readonly<Record<string, string>> = {}) =>
    short[file] ?? rendered.get(file)!.title;
  const nav: NavGroup[] = groups.map((g) => ({
    title: g.title,
    entries: g.pages.map((file) => ({ address: addressOf(file), label: label(file, g.short) })),
  }));
  const inside = nav.findIndex((g) => g.title === "Inside");
  nav[inside] = {
    title: "Inside",
    entries: [...nav[inside].entries, { address: "decisions/index.html", label: "Decisions" }],
  };

  const rows: SearchRow[] = [];
  const page = (parts: PageParts) => write(parts.address, layout(parts, nav));
  for (const [file, { title, html, sections, files }] of rendered) {
    const address = addressOf(file);
    const more = file === "docs/benchmarks/README.md" ? historyOf() : "";
    const all = more === "" ? sections : [...sections, historySection];
    page({ address, title, html: html + more, sections: all });
    for (const s of all) {
      const anchor = s.depth === 1 ? "" : `#${s.anchor}`;
      rows.push([title, s.heading, `${address}${anchor}`, s.text.slice(0, 600)]);
    }
    for (const target of files) {
      if (target.startsWith("docs/")) {
        mkdirSync(dirname(join(out, addressOf(target))), { recursive: true });
        cpSync(join(root, target), join(out, addressOf(target)));
      } else {
        const code = highlight(read(target), "js");
        const body = `<h1>${escapeHtml(target)}</h1><div class="block"><pre tabindex="0"><code>${code}</code></pre></div>`;
        page({ address: addressOf(target), title: target, html: body, sections: [] });
      }
    }
  }
  write("search.json", JSON.stringify(rows));
  await scripts(join(out, "assets"));
  cpSync(join(root, "explorer/public/icon.svg"), join(out, "icon.svg"));
  await explorer(join(out, "explorer"));
  return { pages: rendered.size, rows: rows.length };
}

function historyOf(): string {
  const file = join(root, "docs/benchmarks/history.json");
  return existsSync(file) ? historyHtml(JSON.parse(readFileSync(file, "utf8")) as History) : "";
}

/** The scripts of the pages; the engine is a part that is fetched when a block is run for the first time. */
async function scripts(assets: string): Promise<void> {
  const client = (name: string) => join(root, "site/client", name);
  const options = {
    bundle: true,
    minify: true,
    target: "es2022",
    outdir: assets,
    logLevel: "warning",
  } as const;
  await bundle({
    ...options,
    entryPoints: { theme: client("theme.ts"), style: join(root, "site/style.css") },
  });
  await bundle({
    ...options,
    entryPoints: [client("main.ts")],
    format: "esm",
    splitting: true,
    chunkNames: "[name]-[hash]",
    // Kernels are compiled from the text of functions: names may go, the functions stay what they are.
    alias: { strided: join(root, "src/index.ts") },
    external: ["node:*", "aws4fetch", "bullmq", "fzstd", "h5wasm", "ioredis", "numcodecs"],
  });
  await bundle({ ...options, entryPoints: [join(root, "src/run/strided-worker.js")] });
}

/** The explorer, with a way back. */
async function explorer(folder: string): Promise<void> {
  const { buildExplorer } = (await import("../explorer/serve.mjs")) as {
    buildExplorer(out: string): Promise<void>;
  };
  await buildExplorer(folder);
  const file = join(folder, "index.html");
  const before = readFileSync(file, "utf8");
  const after = before.replace(
    /<p class="brand">(.*?)<\/p>/s,
    '<p class="brand"><a href="../index.html" aria-label="strided: documents">$1</a></p>',
  );
  if (after === before) throw new Error("the explorer's page has no brand to link from");
  writeFileSync(file, after);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { out: { type: "string", default: join(root, "site/dist") } },
  });
  const started = performance.now();
  const { pages, rows } = await buildSite(values.out);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${pages} pages, ${rows} sections to search, in ${seconds} s: ${values.out}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
