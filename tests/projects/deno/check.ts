import assert from "node:assert/strict";
import { allThreads, inNode, sameNumbers } from "../expect.ts";
import type { Project } from "../project.ts";

const project: Project = {
  what: "Deno",
  checks: [
    {
      name: "without a permission: all threads, and no question is asked",
      run: async (place) => {
        const { stdout, stderr } = await place.run("deno", ["run", "--no-prompt", "shared/print.js"]);
        sameNumbers(JSON.parse(stdout), await inNode(place));
        allThreads(JSON.parse(stdout));
        assert.doesNotMatch(stderr, /permission/i);
      },
    },
    {
      name: "with --allow-env, STRIDED_THREADS is heard",
      run: async (place) => {
        const args = ["run", "--no-prompt", "--allow-env", "shared/print.js"];
        const { stdout } = await place.run("deno", args, { env: { STRIDED_THREADS: "1" } });
        const { threads, why } = JSON.parse(stdout);
        assert.deepEqual({ threads, why }, { threads: 1, why: "one thread was asked for" });
      },
    },
  ],
};
export default project;
