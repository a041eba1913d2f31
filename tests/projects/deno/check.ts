import assert from "node:assert/strict";
import { allThreads, inNode, sameNumbers } from "../expect.ts";
import type { Place, Project } from "../project.ts";

/** With a cache of its own: Deno would take an earlier tarball's files for these, at the same place. */
const deno = (place: Place, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  place.run("deno", ["run", "--no-prompt", ...args], { env: { DENO_DIR: `${place.folder}/.deno`, ...env } });

const project: Project = {
  what: "Deno",
  checks: [
    {
      name: "without a permission: all threads, and no question is asked",
      run: async (place) => {
        const { stdout, stderr } = await deno(place, ["shared/print.js"]);
        sameNumbers(JSON.parse(stdout), await inNode(place));
        allThreads(JSON.parse(stdout));
        assert.doesNotMatch(stderr, /permission/i);
      },
    },
    {
      name: "with --allow-env, STRIDED_THREADS is heard",
      run: async (place) => {
        const { stdout } = await deno(place, ["--allow-env", "shared/print.js"], { STRIDED_THREADS: "1" });
        const { threads, why } = JSON.parse(stdout);
        assert.deepEqual({ threads, why }, { threads: 1, why: "one thread was asked for" });
      },
    },
  ],
};
export default project;
