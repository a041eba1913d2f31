/** Serves the page of a run on this machine: three files that never change, and what is asked of the stores now. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { html, script, style } from "./status-page.ts";
import type { PlanWatch, Watched } from "./status-watch.ts";

const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
  "/": ["text/html; charset=utf-8", html],
  "/style.css": ["text/css; charset=utf-8", style],
  "/page.js": ["text/javascript; charset=utf-8", script],
};

/** Nothing from elsewhere, nothing inline, and no page around it. */
const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

/** Milliseconds that an answer is good for, however many ask. */
const FRESH = 500;

export async function serveStatus(
  watch: PlanWatch,
  port: number,
  host: string,
): Promise<{ readonly url: string; readonly server: Server }> {
  let [told, at]: [Promise<Watched> | null, number] = [null, 0];
  const look = (): Promise<Watched> => {
    if (told === null || performance.now() - at > FRESH) {
      told = watch.look();
      told.then(
        () => {
          at = performance.now();
        },
        () => {
          told = null;
        },
      );
      at = Number.POSITIVE_INFINITY;
    }
    return told;
  };
  const server = createServer((request, response) => {
    // As it was sent: "//" is no URL, and anybody may ask for it.
    const [pathname] = (request.url ?? "/").split("?");
    const answer = (status: number, type: string, text: string) =>
      response.writeHead(status, { ...headers, "content-type": type }).end(text);
    const file = Object.hasOwn(files, pathname) ? files[pathname] : undefined;
    if (request.method !== "GET") answer(405, "text/plain", "Only GET.");
    else if (file !== undefined) answer(200, ...file);
    else if (pathname === "/status.json") {
      look().then(
        (watched) => answer(200, "application/json", JSON.stringify(watched)),
        (error: unknown) => answer(500, "text/plain", error instanceof Error ? error.message : String(error)),
      );
    } else answer(404, "text/plain", "Not found.");
  });
  await new Promise<void>((done, failed) => {
    server.once("error", failed);
    server.listen(port, host, done);
  });
  const { port: taken } = server.address() as AddressInfo;
  const shown = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${shown}:${taken}/`, server };
}
