import { pageChecks } from "../browser.ts";
import { allThreads, inNode, sameNumbers } from "../expect.ts";
import type { Project } from "../project.ts";

const project: Project = {
  what: "Rollup, for Node and for browsers",
  checks: [
    {
      name: "builds, minified, without a warning",
      run: async (place) => {
        await place.run("rollup", ["-c", "--failAfterWarnings"], { seconds: 300 });
      },
    },
    ...["mjs", "cjs"].map((kind) => ({
      name: `for Node, ${kind}: all threads`,
      run: async (place: Parameters<typeof inNode>[0]) => {
        const { stdout } = await place.run("node", [`print.${kind}`]);
        sameNumbers(JSON.parse(stdout), await inNode(place));
        allThreads(JSON.parse(stdout));
      },
    })),
    ...pageChecks({ folder: "out" }),
  ],
};
export default project;
