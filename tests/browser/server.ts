/** A small static server on localhost, with the headers a test asks for. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { extname, join, normalize } from "node:path";

const types: Record<string, string> = { ".js": "text/javascript", ".html": "text/html", ".css": "text/css" };

export interface Site {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves a folder; `pages` are served from memory. */
export function serve(
  folder: string,
  pages: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): Promise<Site> {
  const server: Server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
    try {
      const body = pages[path] ?? readFileSync(join(folder, path));
      const type = types[extname(path)] ?? "text/html";
      response.writeHead(200, { "content-type": type, ...headers }).end(body);
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  return new Promise((done) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      done({
        url: `http://localhost:${port}`,
        close: () => new Promise((closed) => server.close(() => closed())),
      });
    });
  });
}
