import assert from "node:assert/strict";
import { pageChecks } from "../browser.ts";
import { allThreads, inNode, sameNumbers } from "../expect.ts";
import type { Project } from "../project.ts";

const project: Project = {
  what: "webpack, for Node and for browsers",
  checks: [
    {
      name: "builds, minified, without a warning",
      run: async (place) => {
        const { stdout } = await place.run("webpack", ["--stats", "errors-warnings"], { seconds: 300 });
        assert.doesNotMatch(stdout, /WARNING|ERROR/);
      },
    },
    {
      name: "for Node: all threads",
      run: async (place) => {
        const { stdout } = await place.run("node", ["out-node/print.cjs"]);
        sameNumbers(JSON.parse(stdout), await inNode(place));
        allThreads(JSON.parse(stdout));
      },
    },
    ...pageChecks({ folder: "out" }),
  ],
};
export default project;
