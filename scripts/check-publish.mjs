/**
 * Looks at the packed package as npm, publint and are-the-types-wrong do; anything they find is a failure.
 *
 *     npm run build && npm run test:publish
 *
 * The two tools are fetched with npx. Resolution as TypeScript's `node10` has it knows no exports and is not asked for.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** @param {string} command @param {readonly string[]} args */
function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  return { status, text: `${stdout}${stderr}` };
}

const folder = mkdtempSync(join(tmpdir(), "strided-publish-"));
/** @type {string[]} */
const found = [];
try {
  const dry = run("npm", ["publish", "--dry-run", "--ignore-scripts"]);
  if (/auto-corrected|was invalid/.test(dry.text)) found.push(`npm publish --dry-run:\n${dry.text}`);
  run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder]);
  const tarball = join(folder, readdirSync(folder)[0]);
  const lint = run("npx", ["--yes", "publint@0.3", tarball, "--strict"]);
  if (lint.status !== 0) found.push(`publint:\n${lint.text}`);
  const types = run("npx", ["--yes", "@arethetypeswrong/cli@0.18", tarball, "--profile", "node16"]);
  if (types.status !== 0) found.push(`are-the-types-wrong:\n${types.text}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const text of found) console.error(text);
console.log(
  found.length === 0
    ? "npm, publint and are-the-types-wrong find nothing"
    : `${found.length} found something`,
);
process.exitCode = found.length;
