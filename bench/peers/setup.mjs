/**
 * npm run bench:setup: installs the contestants of npm run bench:peers. The JavaScript ones go into bench/node_modules;
 * the Python ones are Debian packages, installed where that is possible. What cannot be had is said, and the benchmark
 * then shows those contestants as missing.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const bench = fileURLToPath(new URL("..", import.meta.url));
const missing = [];

/** @param {string} command @param {string[]} args @param {{cwd?: string, quiet?: boolean}} [options] */
function run(command, args, { cwd = bench, quiet = false } = {}) {
  return spawnSync(command, args, { cwd, stdio: quiet ? "ignore" : "inherit" }).status === 0;
}

// Install scripts of the peers fetch and build things that are not needed; only the newer Node needs its own.
console.log("JavaScript contestants, into bench/node_modules");
if (!run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))
  missing.push("the JavaScript contestants: npm ci failed");
else if (
  !run("npm", ["rebuild", "node", "--no-audit", "--no-fund"]) ||
  !existsSync(`${bench}/node_modules/node/bin/node`)
) {
  missing.push("the newer Node: its package could not fetch the program");
}

const modules = { numpy: "python3-numpy", numba: "python3-numba", torch: "python3-torch" };
/** @param {string} module */
const has = (module) =>
  ["/usr/bin/python3", "python3"].some((python) => run(python, ["-c", `import ${module}`], { quiet: true }));
const wanted = Object.entries(modules).filter(([module]) => !has(module));
const debian = process.getuid?.() === 0 && run("apt-get", ["--version"], { quiet: true });
// NumPy's matrix product is only what it is known for with OpenBLAS behind it.
const blas = "libopenblas0-pthread";
const hasBlas = () => run("dpkg", ["-s", blas], { quiet: true });
const packages = [...wanted.map(([, name]) => name), ...(hasBlas() ? [] : [blas])];
if (debian && packages.length > 0) {
  console.log(`\nPython contestants: ${packages.join(", ")}`);
  run("apt-get", ["update", "-qq"]);
  for (const name of packages) run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", name]);
}
for (const [module, name] of wanted) {
  if (!has(module))
    missing.push(`${module}: install Debian's ${name}, or set BENCH_PYTHON to a Python that has it`);
}
if (debian && !hasBlas()) missing.push(`OpenBLAS: NumPy multiplies matrices slowly without ${blas}`);
if (!run("cc", ["--version"], { quiet: true }))
  missing.push("a C compiler: the machine's limits are measured in Node instead");

console.log(missing.length === 0 ? "\nAll contestants are here: npm run bench:peers" : "\nNot here:");
for (const line of missing) console.log(`- ${line}`);
