import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Check, Project } from "../project.ts";

const covered = (provider: "istanbul" | "v8"): Check => ({
  name: `with ${provider} coverage the kernels compile, and lines are counted`,
  run: async (place) => {
    const coverage = ["--coverage.enabled", `--coverage.provider=${provider}`];
    await place.run("vitest", ["run", "src/model.spec.js", ...coverage]);
    const { total } = JSON.parse(readFileSync(join(place.folder, "coverage/coverage-summary.json"), "utf8"));
    assert.ok(total.functions.total >= 5, `functions: ${JSON.stringify(total.functions)}`);
  },
});

const project: Project = {
  what: "vitest",
  checks: [
    {
      name: "kernels in tests",
      run: async (place) => {
        await place.run("vitest", ["run", "src/model.spec.js"]);
      },
    },
    covered("istanbul"),
    covered("v8"),
    {
      name: "in worker threads too",
      run: async (place) => {
        await place.run("vitest", ["run", "src/model.spec.js", "--pool=threads"]);
      },
    },
    {
      name: "toEqual and toStrictEqual compare tensors, quickly",
      run: async (place) => {
        await place.run("vitest", ["run", "src/compare.spec.js"], { seconds: 60 });
      },
    },
    {
      name: "a failing comparison ends, and shows the values",
      run: async (place) => {
        const { stdout, stderr } = await place.run("vitest", ["run", "src/different.spec.js"], {
          fails: true,
          seconds: 60,
        });
        const said = stdout + stderr;
        assert.match(said, /^\s*- .*\b4\b/m);
        assert.match(said, /^\s*\+ .*\b3\b/m);
        assert.ok(said.split("\n").length < 80, `${said.split("\n").length} lines`);
      },
    },
  ],
};
export default project;
