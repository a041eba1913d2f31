/**
 * What a branch does to the size of bundles and to what is exported, as markdown for a pull request.
 *
 *     npm run report -- --base origin/main
 */
import { execFileSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({ options: { base: { type: "string", default: "origin/main" } } });
const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" });

/** Bytes of every entry, bundled, minified and packed. */
async function sizes(folder: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const name of readdirSync(`${folder}/src`)
    .filter((n) => /^(index|[a-z]+)\.ts$/.test(n))
    .sort()) {
    if (!entries.includes(name.slice(0, -3))) continue;
    const { outputFiles } = await build({
      entryPoints: [`${folder}/src/${name}`],
      bundle: true,
      minify: true,
      format: "esm",
      write: false,
      nodePaths: [`${root}node_modules`],
      external: ["node:*", "aws4fetch", "bullmq", "fzstd", "h5wasm", "ioredis", "numcodecs"],
      logLevel: "error",
    });
    found.set(name.slice(0, -3), gzipSync(outputFiles[0].contents).length);
  }
  return found;
}

const entries = "index chunked grad interop io methods nn plot quantised turbo".split(" ");
const folder = `${root}node_modules/.cache/strided-base`;
// What a run that was interrupted has left.
rmSync(folder, { recursive: true, force: true });
execFileSync("git", ["worktree", "add", "--force", "--detach", folder, values.base], {
  cwd: root,
  stdio: "ignore",
});
try {
  // The base is bundled with the packages of this branch, which may lack what it needs.
  const before = await sizes(folder).catch(() => new Map<string, number>());
  const after = await sizes(root.replace(/\/$/, ""));
  console.log(
    "### Size, bundled, minified and gzipped\n\n| entry | before | now | |\n| --- | ---: | ---: | ---: |",
  );
  for (const [name, now] of after) {
    const was = before.get(name);
    const change =
      was === undefined ? "new" : `${now >= was ? "+" : ""}${((now / was - 1) * 100).toFixed(1)} %`;
    console.log(`| \`${name}\` | ${was ?? ""} | ${now} | ${change} |`);
  }
  const api = git(
    "diff",
    values.base,
    "--",
    "tests/api.test.ts",
    "tests/__snapshots__",
    "docs/reference/README.md",
  );
  console.log(
    `\n### What is exported\n\n${api === "" ? "Nothing changed." : `\`\`\`diff\n${api.slice(0, 20_000)}\n\`\`\``}`,
  );
} finally {
  execFileSync("git", ["worktree", "remove", "--force", folder], { cwd: root, stdio: "ignore" });
}
