/** node scripts/check-version.mjs v0.2.0: the tag, package.json and a section of CHANGELOG.md name the same version. */
import { readFileSync } from "node:fs";

const read = (/** @type {string} */ name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const tag = process.argv[2] ?? "";
const { version } = JSON.parse(read("package.json"));
const wrong = [];
if (tag !== `v${version}`) wrong.push(`the tag is ${tag}, package.json says ${version}`);
if (!read("CHANGELOG.md").includes(`\n## ${version} `))
  wrong.push(`CHANGELOG.md has no section "## ${version} – date"`);
for (const line of wrong) console.error(line);
process.exitCode = wrong.length;
