import assert from "node:assert/strict";
import { allThreads, inNode, sameNumbers } from "../expect.ts";
import type { Project } from "../project.ts";

const project: Project = {
  what: "Bun",
  checks: [
    {
      name: "the programs run on all threads",
      run: async (place) => {
        const { stdout } = await place.run("bun", ["shared/print.js"]);
        sameNumbers(JSON.parse(stdout), await inNode(place));
        allThreads(JSON.parse(stdout));
      },
    },
    {
      name: "import and require share one engine",
      run: async (place) => {
        const { stdout } = await place.run("bun", ["required.cjs"]);
        assert.equal(stdout, "[true,[0,2,4]]\n");
      },
    },
    {
      name: "bun test",
      run: async (place) => {
        await place.run("bun", ["test", "model.spec.js"]);
      },
    },
  ],
};
export default project;
