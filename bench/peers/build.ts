/** Builds what the children run: one bundle of the adapters, and strided as its users get it. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { benchFolder } from "./contestants.ts";
import type { Builds } from "./process.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

export async function buildAll(): Promise<Builds> {
  // Inside node_modules: ignored by every tool, and the peers are found from there.
  const folder = `${benchFolder}/node_modules/.cache/strided-bench`;
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [`${benchFolder}/peers/child.ts`],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "error",
  });
  const strided = buildStrided(root, `${root}/node_modules/.cache/strided-bench`);
  return { child: `${folder}/child.mjs`, strided };
}

/**
 * Compiles src/ of a checkout; the folder that Node loads. Errors of types do not matter here, a missing result does.
 * Commits from before there was a bundle for Node are loaded file by file.
 */
export function buildStrided(checkout: string, out: string): string {
  const tsc = `${root}/node_modules/typescript/bin/tsc`;
  const args = [tsc, "-p", `${checkout}/tsconfig.build.json`, "--outDir", out, "--declaration", "false"];
  const answer = spawnSync(process.execPath, args, { encoding: "utf8", cwd: checkout });
  if (!existsSync(`${out}/index.js`))
    throw new Error(`strided does not build:\n${answer.stdout}${answer.stderr}`);
  const bundler = `${checkout}/scripts/bundle-node.mjs`;
  if (!existsSync(bundler)) return out;
  const bundled = spawnSync(process.execPath, [bundler, out], { encoding: "utf8", cwd: root });
  if (bundled.status !== 0) throw new Error(`strided does not bundle:\n${bundled.stderr}`);
  return `${out}/node`;
}
