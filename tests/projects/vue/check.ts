import assert from "node:assert/strict";
import { isolation, visit } from "../browser.ts";
import type { Project } from "../project.ts";

const project: Project = {
  what: "Vue: tensors in reactive, ref and computed",
  checks: [
    {
      name: "chromium: a page shows what changes",
      run: async (place) => {
        const define = ["--define:__VUE_OPTIONS_API__=false", "--define:__VUE_PROD_DEVTOOLS__=false"];
        const hydration = "--define:__VUE_PROD_HYDRATION_MISMATCH_DETAILS__=false";
        const args = [
          "page.js",
          "--bundle",
          "--minify",
          "--format=esm",
          "--outdir=out",
          ...define,
          hydration,
        ];
        await place.run("esbuild", args);
        assert.deepEqual(await visit(place, { folder: "out", headers: isolation }), {
          first: "30 0,1,2 2,4 1",
          second: "45 1,2,3 4,8 2",
          freed: [true, true, false],
          seen: ["3x2"],
          isRaw: true,
          isTensor: true,
        });
      },
    },
  ],
};
export default project;
