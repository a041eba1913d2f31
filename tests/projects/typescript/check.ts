import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Check, Place, Project } from "../project.ts";

const printed = "[[-2,-1],[0,2]] 2 3 f32 2x2 3,2 3,2 6 0,1,2 true shape\n";

/** Compiles, declarations checked too, and runs. */
async function compile(
  place: Place,
  version: string,
  config: string,
  main: string,
  extra: readonly string[] = [],
) {
  const tsc = join(place.folder, `node_modules/typescript-${version}/bin/tsc`);
  const { stdout } = await place.run("node", [tsc, "-p", `tsconfig.${config}.json`, ...extra]);
  assert.equal(stdout, "");
  const ran = await place.run("node", [main]);
  assert.equal(ran.stdout, printed);
}

const esm = (version: string, config: "nodenext" | "bundler"): Check => ({
  name: `${version}, ${config}`,
  run: async (place) => {
    const out = `out/${config}`;
    mkdirSync(join(place.folder, out), { recursive: true });
    copyFileSync(join(place.folder, "esm/package.json"), join(place.folder, out, "package.json"));
    await compile(place, version, config, `${out}/main.js`);
  },
});

const cjs = (version: string): Check => ({
  name: `${version}, node16, CommonJS; and beside import(), with one type of tensors`,
  run: async (place) => {
    await compile(place, version, "node16", "cjs/out/main.js");
    const { stdout } = await place.run("node", ["cjs/out/both.js"]);
    assert.equal(stdout, "[ 0, 2, 4 ] [ 3 ]\n");
  },
});

const project: Project = {
  what: "TypeScript, strict, with exactOptionalPropertyTypes and noUncheckedIndexedAccess",
  checks: [
    ...["5.5", "5.9", "7"].flatMap((version) => [
      esm(version, "nodenext"),
      esm(version, "bundler"),
      cjs(version),
    ]),
    // The oldest without skipLibCheck, and the oldest with it.
    esm("5.4", "nodenext"),
    cjs("5.4"),
    {
      name: "5.0, nodenext, with skipLibCheck",
      run: async (place) => {
        await compile(place, "5.0", "nodenext", "out/nodenext/main.js", ["--skipLibCheck"]);
      },
    },
  ],
};
export default project;
