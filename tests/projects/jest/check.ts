import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Check, Place, Project, RunOptions } from "../project.ts";

type Mode = "cjs" | "esm" | "babel";
const modules = { cjs: "CommonJS", esm: "ES modules", babel: "ES modules by Babel" };

function jest(place: Place, mode: Mode, args: readonly string[], options: RunOptions = {}) {
  const env: Record<string, string> = mode === "esm" ? { NODE_OPTIONS: "--experimental-vm-modules" } : {};
  return place.run("jest", ["--config", `jest.${mode}.config.json`, "--ci", ...args], { ...options, env });
}

const plain = (mode: Mode): Check => ({
  name: `${modules[mode]}: kernels in tests`,
  run: async (place) => {
    await jest(place, mode, ["model.spec"]);
  },
});

const covered = (mode: "cjs" | "esm", provider: "babel" | "v8"): Check => ({
  name: `${modules[mode]}: with ${provider === "babel" ? "Istanbul" : "V8"} coverage the kernels compile`,
  run: async (place) => {
    await jest(place, mode, ["model.spec", "--coverage", `--coverageProvider=${provider}`]);
    const { total } = JSON.parse(readFileSync(join(place.folder, "coverage/coverage-summary.json"), "utf8"));
    assert.ok(total.functions.total >= 5, `functions: ${JSON.stringify(total.functions)}`);
  },
});

const compared = (mode: "cjs" | "esm"): Check => ({
  name: `${modules[mode]}: toEqual and toStrictEqual compare tensors, quickly`,
  run: async (place) => {
    await jest(place, mode, ["compare.spec"], { seconds: 60 });
  },
});

const project: Project = {
  what: "Jest, CommonJS and ES modules",
  checks: [
    plain("cjs"),
    plain("esm"),
    plain("babel"),
    covered("cjs", "babel"),
    covered("cjs", "v8"),
    covered("esm", "babel"),
    covered("esm", "v8"),
    {
      name: "CommonJS: threads, when they are asked for",
      run: async (place) => {
        await jest(place, "cjs", ["threads.spec"]);
      },
    },
    {
      name: "CommonJS: in jsdom",
      run: async (place) => {
        await jest(place, "cjs", ["model.spec", "--env=jsdom"]);
      },
    },
    compared("cjs"),
    compared("esm"),
    {
      name: "CommonJS: a failing comparison ends, and shows the values",
      run: async (place) => {
        const { stderr } = await jest(place, "cjs", ["different.spec"], { fails: true, seconds: 60 });
        assert.match(stderr, /Expected: .*\b4\b|^\s*- .*\b4\b/m);
        assert.match(stderr, /Received: .*\b3\b|^\s*\+ .*\b3\b/m);
        assert.ok(stderr.split("\n").length < 80, `${stderr.split("\n").length} lines`);
      },
    },
  ],
};
export default project;
