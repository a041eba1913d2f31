/**
 * node scripts/check-version.mjs v0.2.0: the tag, package.json and the newest section of CHANGELOG.md name the same version, and
 * nothing is left under "Unreleased".
 */
import { readFileSync } from "node:fs";

const read = (/** @type {string} */ name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const tag = process.argv[2] ?? "";
const { version } = JSON.parse(read("package.json"));
const wrong = [];
if (tag !== `v${version}`) wrong.push(`the tag is ${tag}, package.json says ${version}`);
const [newest = ""] = /^## .*/m.exec(read("CHANGELOG.md").replace(/^## Unreleased\s+(?=## )/m, "")) ?? [];
if (!newest.startsWith(`## ${version} – `))
  wrong.push(`CHANGELOG.md begins with "${newest}"; it should be "## ${version} – date"`);
for (const line of wrong) console.error(line);
process.exitCode = wrong.length;
