/** The status page answers whatever is asked for. Looked at in a browser: tests/browser/status.test.ts. */
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { serveStatus } from "../../src/cli/status-server.ts";

it("what is no path is not found, and the next request is answered", async () => {
  const { url, server } = await serveStatus({ look: async () => ({}) } as never, 0, "127.0.0.1");
  const ask = async (path: string) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    await once(socket, "connect");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    return (await text(socket)).slice(9, 12);
  };
  try {
    for (const path of ["//", "///", "//[", "http://[", "*", "/%ff", "/../status.json"])
      expect([path, await ask(path)]).toEqual([path, "404"]);
    for (const path of ["/", "/?x=//", "/status.json"])
      expect([path, await ask(path)]).toEqual([path, "200"]);
  } finally {
    server.close();
  }
});
