/**
 * Completes the lock files. npm leaves optional packages for other platforms out when a registry mirror cannot serve
 * them at the moment, and `npm ci` then refuses the file everywhere. This puts their names, versions and platforms back.
 *
 *     npm run lock            after a dependency changed
 *     npm run lock -- --check says what is missing and changes nothing
 */
import { readFileSync, writeFileSync } from "node:fs";

const check = process.argv.includes("--check");
for (const folder of ["", "explorer/", "bench/"]) complete(`${folder}package-lock.json`);

function complete(name) {
  const file = new URL(`../${name}`, import.meta.url);
  const lock = JSON.parse(readFileSync(file, "utf8"));
  const missing = missingFrom(lock);
  const count = Object.keys(missing).length;
  if (check) {
    for (const path of Object.keys(missing)) console.log(`${name} lacks ${path}`);
    if (count > 0) process.exitCode = 1;
    return;
  }
  const packages = { ...lock.packages, ...missing };
  const paths = Object.keys(packages).sort((a, b) => (a < b ? -1 : 1));
  lock.packages = Object.fromEntries(paths.map((path) => [path, packages[path]]));
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${name}: ${count} packages added`);
}

function missingFrom(lock) {
  const missing = {};
  for (const [path, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const own = `${path}/node_modules/${name}`;
      const shared = `node_modules/${name}`;
      if (own in lock.packages || shared in lock.packages) continue;
      const dev = entry.dev ? { dev: true } : {};
      missing[shared] = { version, ...platformOf(name), ...dev, optional: true };
    }
  }
  return missing;
}

/** Packages of prebuilt binaries are named after where they run: `@scope/what-darwin-arm64`, `…-linux-x64-musl`. */
function platformOf(name) {
  const found =
    /(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)-(\w+)(?:-(gnu|musl|gnueabihf|eabi|msvc))?$/;
  const match = found.exec(name);
  if (match === null) return name.includes("wasm32") ? { cpu: ["wasm32"] } : {};
  const libc = { gnu: ["glibc"], gnueabihf: ["glibc"], musl: ["musl"] }[match[3]];
  return { os: [match[1]], cpu: [match[2]], ...(libc && match[1] === "linux" ? { libc } : {}) };
}
