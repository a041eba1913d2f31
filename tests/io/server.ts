/** A server on localhost that knows range requests, or misbehaves in a way that a test names. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface Served {
  readonly url: string;
  /** "GET /a.npy bytes=0-65535", in their order. */
  readonly requests: string[];
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Serves files from memory; a handler that answers by itself says true. */
export function serveFiles(
  files: Readonly<Record<string, Uint8Array>>,
  handler: Handler = () => false,
): Promise<Served> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const { range } = request.headers;
    requests.push(`${request.method} ${path} ${range ?? ""}`.trim());
    if (handler(request, response)) return;
    const body = files[path.slice(1)];
    if (body === undefined) {
      response.writeHead(404).end();
      return;
    }
    const last = /^bytes=-(\d+)$/.exec(request.headers.range ?? "");
    const plain =
      last === null
        ? request.headers.range
        : `bytes=${Math.max(0, body.length - Number(last[1]))}-${body.length - 1}`;
    const parts = /^bytes=(\d+)-(\d+)$/.exec(plain ?? "");
    if (parts === null) {
      response.writeHead(200, { "content-length": body.length }).end(body);
      return;
    }
    const [from, end] = [Number(parts[1]), Math.min(Number(parts[2]), body.length - 1)];
    if (from >= body.length) {
      response.writeHead(416, { "content-range": `bytes */${body.length}` }).end();
      return;
    }
    response
      .writeHead(206, {
        "content-range": `bytes ${from}-${end}/${body.length}`,
        "content-length": end - from + 1,
        etag: '"one"',
      })
      .end(body.subarray(from, end + 1));
  });
  return new Promise((done) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      done({
        url: `http://127.0.0.1:${port}`,
        requests,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}
