import assert from "node:assert/strict";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isolation, type PageResult, pageChecks, visit } from "../browser.ts";
import { allThreads, inNode, oneThread, sameNumbers } from "../expect.ts";
import type { Check, Project } from "../project.ts";

/** One file for Node, in this format, from this source. */
const forNode = (format: "esm" | "cjs", source: string): Check => ({
  name: `for Node, ${format}, minified: one file, all threads`,
  run: async (place) => {
    const outfile = `out-node/${format}/main.${format === "esm" ? "mjs" : "cjs"}`;
    const args = [
      source,
      "--bundle",
      "--minify",
      "--platform=node",
      `--format=${format}`,
      `--outfile=${outfile}`,
    ];
    const { stderr } = await place.run("esbuild", [...args, "--log-level=warning"]);
    assert.equal(stderr, "", "no warning");
    const { stdout } = await place.run("node", [outfile]);
    const got = JSON.parse(stdout);
    sameNumbers(got, await inNode(place));
    allThreads(got);
  },
});

const toBrowser = ["--bundle", "--minify", "--format=esm", "--outdir=out"];

const project: Project = {
  what: "esbuild, for Node and for browsers, which knows nothing of workers",
  checks: [
    forNode("esm", "shared/print.js"),
    forNode("cjs", "print.cjs"),
    {
      name: "builds for browsers, minified, without a warning",
      run: async (place) => {
        const entries = ["shared/page.js", "shared/compute.js"];
        const { stderr } = await place.run("esbuild", [...entries, ...toBrowser, "--log-level=warning"]);
        assert.equal(stderr, "");
      },
    },
    ...pageChecks({ folder: "out" }, true),
    {
      name: "beside a worker.js of the project's own, which is left alone; and beside a file that is not ours",
      run: async (place) => {
        const own = join(place.folder, "out/worker.js");
        writeFileSync(own, "throw new Error('nobody may start this');");
        const { page } = await visit<PageResult>(place, { folder: "out", headers: isolation });
        allThreads(page);
        // Under our name: it loads and says nothing, so it is given up after ten seconds.
        const strange = join(place.folder, "out/strided-worker.js");
        writeFileSync(strange, "");
        try {
          allThreads((await visit<PageResult>(place, { folder: "out", headers: isolation })).page);
        } finally {
          rmSync(strange);
        }
      },
    },
    {
      name: "as a classic script, all threads",
      run: async (place) => {
        const args = [
          "iife.js",
          "--bundle",
          "--minify",
          "--format=iife",
          "--outdir=out",
          "--log-level=error",
        ];
        await place.run("esbuild", args);
        const html = '<!doctype html><title>project</title><script src="./iife.js"></script>';
        const { page } = await visit<PageResult>(place, { folder: "out", headers: isolation, html });
        sameNumbers(page, await inNode(place));
        allThreads(page);
      },
    },
    {
      name: "under a policy that allows workers from files only: one thread, and it says why; with the file all",
      run: async (place) => {
        const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";
        const headers = { ...isolation, "content-security-policy": policy };
        const without = await visit<PageResult>(place, { folder: "out", headers });
        for (const outcome of [without.page, without.worker]) oneThread(outcome, /Content-Security-Policy/);
        const worker = join(place.folder, "node_modules/strided/dist/run/strided-worker.js");
        assert.match(readFileSync(worker, "utf8"), /Plain JavaScript without/);
        copyFileSync(worker, join(place.folder, "out/strided-worker.js"));
        const beside = await visit<PageResult>(place, { folder: "out", headers });
        for (const outcome of [beside.page, beside.worker]) allThreads(outcome);
      },
    },
  ],
};
export default project;
