import assert from "node:assert/strict";
import { allThreads, inNode, type Outcome, oneThread, sameNumbers } from "../expect.ts";
import type { Project } from "../project.ts";

const project: Project = {
  what: "plain Node, import and require",
  checks: [
    {
      name: "the programs run on all threads",
      run: async (place) => {
        const got = await inNode(place);
        sameNumbers(got, got);
        allThreads(got);
      },
    },
    {
      name: "require gives the names that import gives, without a warning",
      run: async (place) => {
        const { stdout, stderr } = await place.run("node", ["bare.cjs"]);
        assert.deepEqual({ stdout, stderr }, { stdout: "0,0.5,1\n", stderr: "" });
      },
    },
    {
      name: "import and require share one engine and its tensors",
      run: async (place) => {
        const { stdout } = await place.run("node", ["one-engine.cjs"]);
        assert.deepEqual(JSON.parse(stdout), {
          sameClass: true,
          sameError: true,
          sameMemory: true,
          sum: [0, 2, 4, 6],
          isTensor: true,
          methods: [0, 1, 2, 3],
          names: true,
          turbo: true,
        });
      },
    },
    {
      name: "code from strings may be forbidden",
      run: async (place) => {
        const { stdout } = await place.run("node", [
          "--disallow-code-generation-from-strings",
          "shared/print.js",
        ]);
        allThreads(JSON.parse(stdout));
      },
    },
    {
      name: "where a permission for workers is missing, one thread computes, and says so",
      run: async (place) => {
        const newer = Number(process.versions.node.split(".")[0]) >= 23;
        const permission = newer ? "--permission" : "--experimental-permission";
        const args = [permission, `--allow-fs-read=${place.folder}`, "shared/print.js"];
        const { stdout } = await place.run("node", args);
        oneThread(
          JSON.parse(stdout),
          /^this host starts no workers \(Access to this API has been restricted/,
        );
      },
    },
    {
      name: "inside a worker thread there is one thread, or as many as are asked for",
      run: async (place) => {
        const { stdout } = await place.run("node", ["thread.cjs"]);
        const [alone, asked] = JSON.parse(stdout) as Outcome[];
        oneThread(alone, /inside a worker thread one thread is the default/);
        assert.equal(asked.threads, 2);
        assert.equal(asked.why, null);
      },
    },
  ],
};
export default project;
