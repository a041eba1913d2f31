/**
 * npm run test:projects: small projects of the kinds that people have, each with the packed tarball installed, each used by
 * its own tools. `-- --only vite,jest` runs some; `-- --minutes 10` is how long all of it may take; `-- --json file` leaves
 * counts for continuous integration; `-- --list` says what there is; `-- --tarball file` takes a tarball that was packed before.
 *
 * What the projects depend on is installed once and kept in the system's temporary folder (`--cache folder` takes another),
 * away from this repository, so that no project finds a package it did not ask for.
 */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { closeBrowsers } from "./browser.ts";
import { type Place, type Project, placeAt } from "./project.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    minutes: { type: "string", default: "20" },
    json: { type: "string" },
    cache: { type: "string", default: join(tmpdir(), "strided-projects") },
    list: { type: "boolean", default: false },
    tarball: { type: "string" },
  },
});

const began = performance.now();
const seconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const minutes = Number(values.minutes);
const isLate = () => performance.now() - began > 60_000 * minutes;

const known = readdirSync(here).filter((name) => existsSync(join(here, name, "check.ts")));
const wanted = values.only?.split(",") ?? known;
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0 || !(minutes > 0)) {
  console.error(`There is no project ${unknown.join(", ")}; there are ${known.join(", ")}.`);
  process.exit(2);
}
const load = async (name: string): Promise<Project> =>
  (await import(pathToFileURL(join(here, name, "check.ts")).href)).default;

if (values.list) {
  for (const name of known) {
    const { what, checks } = await load(name);
    console.log(`${name.padEnd(12)} ${what}: ${checks.length}`);
  }
  process.exit(0);
}

/** The tarball, packed once; prepack builds. */
async function pack(): Promise<string> {
  const folder = join(values.cache, "tarball");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await placeAt(root).run("npm", ["pack", "--pack-destination", folder], { seconds: 300 });
  return join(folder, readdirSync(folder)[0]);
}

/** The project's files beside what it depends on, the tarball among that. */
async function install(name: string, tarball: string): Promise<Place> {
  const folder = join(values.cache, name);
  const place = placeAt(folder);
  const files = join(here, name, "files");
  const manifest = JSON.parse(readFileSync(join(files, "package.json"), "utf8"));
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const asked = JSON.stringify([process.version, manifest, dependencies]);
  const hash = createHash("sha256").update(asked).digest("hex");
  const mark = join(folder, "node_modules/.strided-projects");
  const isThere = existsSync(mark) && readFileSync(mark, "utf8") === hash;
  mkdirSync(folder, { recursive: true });
  for (const entry of readdirSync(folder))
    if (entry !== "node_modules" || !isThere) rmSync(join(folder, entry), { recursive: true });
  cpSync(files, folder, { recursive: true });
  cpSync(join(here, "shared"), join(folder, "shared"), { recursive: true });
  const strided = join(folder, "node_modules/strided");
  if (isThere) {
    rmSync(strided, { recursive: true, force: true });
    mkdirSync(strided);
    await place.run("tar", ["-xzmf", tarball, "-C", strided, "--strip-components=1"]);
    return place;
  }
  manifest.dependencies = { ...manifest.dependencies, strided: `file:${tarball}` };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  const quietly = ["--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline", "--loglevel=error"];
  await place.run("npm", ["install", ...quietly], { seconds: 300 });
  writeFileSync(mark, hash);
  return place;
}

const failures: { fullName: string; message: string }[] = [];
let passed = 0;

function fail(name: string, check: string, error: unknown): void {
  const text = error instanceof Error ? `${error.message}` : String(error);
  failures.push({ fullName: `${name}: ${check}`, message: text });
  console.log(`  ✗ ${check}\n${text.replace(/^/gm, "      ")}`);
}

async function runProject(name: string, tarball: string): Promise<void> {
  const { what, checks } = await load(name);
  const start = performance.now();
  let place: Place;
  try {
    place = await install(name, tarball);
  } catch (error) {
    console.log(name);
    return fail(name, "is installed", error);
  }
  console.log(`${name}: ${what} (installed in ${seconds(start)})`);
  for (const check of checks) {
    if (isLate()) {
      fail(name, check.name, new Error(`not run: ${minutes} minutes are over`));
      continue;
    }
    const start = performance.now();
    try {
      await check.run(place);
      passed++;
      console.log(`  ✓ ${check.name} (${seconds(start)})`);
    } catch (error) {
      fail(name, check.name, error);
    }
  }
}

const tarball = values.tarball === undefined ? await pack() : resolve(values.tarball);
console.log(`${tarball}, in ${seconds(began)}`);
for (const name of wanted) await runProject(name, tarball);
await closeBrowsers();

if (values.json !== undefined) {
  const counts = {
    numPassedTests: passed,
    numFailedTests: failures.length,
    numPendingTests: 0,
    numTodoTests: 0,
  };
  const assertionResults = failures.map(({ fullName, message }) => {
    return { status: "failed", fullName, failureMessages: [message] };
  });
  writeFileSync(values.json, JSON.stringify({ ...counts, testResults: [{ name: here, assertionResults }] }));
}
console.log(`\n${passed} passed, ${failures.length} failed, in ${seconds(began)}`);
for (const { fullName } of failures) console.log(`  ✗ ${fullName}`);
process.exit(failures.length === 0 ? 0 : 1);
