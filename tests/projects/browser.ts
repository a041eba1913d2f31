/** A project's built page in a browser: served with the headers a check asks for, and what the page left in `result`. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launch } from "../browser/chromium.ts";
import { serve } from "../browser/server.ts";
import { allThreads, inNode, type Outcome, oneThread, sameNumbers } from "./expect.ts";
import { closeFirefox, visitFirefox } from "./firefox.ts";
import type { Check, Place } from "./project.ts";

export const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

const html = '<!doctype html><title>project</title><script type="module" src="./page.js"></script>';

let chromium: Promise<Browser> | undefined;

export async function closeBrowsers(): Promise<void> {
  await (await chromium)?.close();
  await closeFirefox().catch(() => {});
}

export interface Visit {
  /** A folder of the project's; its index.html, if it has one, is the page. */
  readonly folder: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The page, where the folder has none. */
  readonly html?: string;
  readonly browser?: "chromium" | "firefox";
}

/** What a built page left in `globalThis.result`. */
export async function visit<R>(place: Place, visited: Visit): Promise<R> {
  const folder = join(place.folder, visited.folder);
  const index = join(folder, "index.html");
  const page = visited.html ?? (existsSync(index) ? readFileSync(index, "utf8") : html);
  const site = await serve(folder, { "/": page }, visited.headers);
  try {
    return await visitUrl<R>(site.url, visited.browser);
  } finally {
    await site.close();
  }
}

/** The same of any address; what the page threw fails the visit. */
export async function visitUrl<R>(url: string, browser: Visit["browser"] = "chromium"): Promise<R> {
  if (browser === "firefox") return (await visitFirefox(url)) as R;
  chromium ??= launch();
  const page = await (await chromium).newPage();
  const said: string[] = [];
  const thrown: string[] = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => thrown.push(String(error)));
  try {
    await page.goto(url);
    const done = page.waitForFunction(() => "result" in globalThis, undefined, { timeout: 60_000 });
    await done.catch((error) => {
      throw new Error(`the page gave no result: ${error}\n${[...thrown, ...said].join("\n")}`);
    });
    const result = await page.evaluate(() => (globalThis as unknown as { result: R }).result);
    if (thrown.length > 0) throw new Error(`the page threw: ${thrown.join("\n")}`);
    return result;
  } finally {
    await page.close();
  }
}

export interface PageResult {
  readonly isolated: boolean;
  readonly page: Outcome;
  readonly worker: Outcome;
  readonly error?: string;
}

/** shared/page.js as a bundler built it: isolated with all threads, in the page and in its Web Worker, and not isolated. */
export function pageChecks(visited: Omit<Visit, "headers" | "browser">, firefox = false): Check[] {
  const browsers = firefox ? (["chromium", "firefox"] as const) : (["chromium"] as const);
  return browsers.flatMap((browser) => [
    {
      name: `${browser}, isolated: all threads, in the page and in a Web Worker`,
      run: async (place) => {
        const { error, isolated, page, worker } = await visit<PageResult>(place, {
          ...visited,
          headers: isolation,
          browser,
        });
        if (error !== undefined || !isolated) throw new Error(error ?? "the page is not isolated");
        const want = await inNode(place);
        for (const outcome of [page, worker]) {
          sameNumbers(outcome, want);
          allThreads(outcome);
        }
      },
    },
    {
      name: `${browser}, not isolated: one thread, and it says why`,
      run: async (place) => {
        const { error, page, worker } = await visit<PageResult>(place, { ...visited, headers: {}, browser });
        if (error !== undefined) throw new Error(error);
        const want = await inNode(place);
        for (const outcome of [page, worker]) {
          sameNumbers(outcome, want);
          oneThread(outcome, /not cross-origin isolated/);
        }
      },
    },
  ]);
}
