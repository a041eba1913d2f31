import { type PageResult, pageChecks, visitUrl } from "../browser.ts";
import { allThreads, inNode, sameNumbers } from "../expect.ts";
import type { Project } from "../project.ts";

const project: Project = {
  what: "Vite, built and in development",
  checks: [
    {
      name: "builds, minified",
      run: async (place) => {
        await place.run("vite", ["build"]);
      },
    },
    ...pageChecks({ folder: "dist" }, true),
    {
      name: "chromium, the development server: all threads, in the page and in a Web Worker",
      run: async (place) => {
        const want = await inNode(place);
        await place.serving("vite", ["--port", "0"], async (url) => {
          const { error, page, worker } = await visitUrl<PageResult>(url);
          if (error !== undefined) throw new Error(error);
          for (const outcome of [page, worker]) {
            sameNumbers(outcome, want);
            allThreads(outcome);
          }
        });
      },
    },
  ],
};
export default project;
