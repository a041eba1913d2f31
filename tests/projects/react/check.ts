import assert from "node:assert/strict";
import { isolation, visit } from "../browser.ts";
import type { Check, Project } from "../project.ts";

/** React checks, warns and renders twice in development only. */
const inMode = (mode: "development" | "production"): Check => ({
  name: `chromium: state, reducers and memo hold tensors (${mode})`,
  run: async (place) => {
    const define = `--define:process.env.NODE_ENV="${mode}"`;
    const args = [
      "page.jsx",
      "--bundle",
      "--minify",
      "--jsx=automatic",
      "--format=esm",
      "--outdir=out",
      define,
    ];
    await place.run("esbuild", args);
    assert.deepEqual(await visit(place, { folder: "out", headers: isolation }), {
      before: ["15", "3,12", "1,2 0 true", "50 1 0"],
      after: ["21", "5,7,9", "4,8 2 true", "60 0.5 1"],
      isMemo: true,
    });
  },
});

const project: Project = {
  what: "React: tensors in state",
  checks: [inMode("development"), inMode("production")],
};
export default project;
