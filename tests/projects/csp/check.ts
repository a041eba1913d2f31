import assert from "node:assert/strict";
import { isolation, type PageResult, visit } from "../browser.ts";
import { allThreads, inNode, sameNumbers } from "../expect.ts";
import type { Project } from "../project.ts";

/** Nothing but the page's own files, and WebAssembly. */
const strict = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; base-uri 'none'";

const project: Project = {
  what: "a page with a strict Content-Security-Policy",
  checks: [
    {
      name: "builds, minified",
      run: async (place) => {
        await place.run("vite", ["build"]);
      },
    },
    {
      name: "with 'wasm-unsafe-eval' everything works, on all threads",
      run: async (place) => {
        const headers = { ...isolation, "content-security-policy": strict };
        const { error, page, worker } = await visit<PageResult>(place, { folder: "dist", headers });
        if (error !== undefined) throw new Error(error);
        const want = await inNode(place);
        for (const outcome of [page, worker]) {
          sameNumbers(outcome, want);
          allThreads(outcome);
        }
      },
    },
    {
      name: "without it the error is strided's own, and names what is missing",
      run: async (place) => {
        const policy = strict.replace(" 'wasm-unsafe-eval'", "");
        const headers = { ...isolation, "content-security-policy": policy };
        const { error } = await visit<PageResult>(place, { folder: "dist", headers });
        assert.match(error ?? "", /TensorError/);
        assert.match(error ?? "", /wasm-unsafe-eval/);
      },
    },
  ],
};
export default project;
