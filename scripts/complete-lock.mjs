/**
 * Completes package-lock.json. npm leaves optional packages for other platforms out when a registry mirror cannot serve
 * them at the moment, and `npm ci` then refuses the file everywhere. This puts their names, versions and platforms back.
 *
 *     npm run lock            after a dependency changed
 *     npm run lock -- --check says what is missing and changes nothing
 */
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
const missing = {};
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const own = `${path}/node_modules/${name}`;
    const shared = `node_modules/${name}`;
    if (own in lock.packages || shared in lock.packages) continue;
    missing[shared] = {
      version,
      ...platformOf(name),
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
    };
  }
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

const names = Object.keys(missing);
if (process.argv.includes("--check")) {
  for (const name of names) console.log(`missing: ${name}`);
  process.exitCode = names.length === 0 ? 0 : 1;
} else {
  const packages = { ...lock.packages, ...missing };
  lock.packages = Object.fromEntries(
    Object.keys(packages)
      .sort((a, b) => (a < b ? -1 : 1))
      .map((path) => [path, packages[path]]),
  );
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`package-lock.json: ${names.length} packages added`);
}
