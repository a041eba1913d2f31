#!/usr/bin/env node
/** The command line in Node: standard streams and files for the commands. */
import { once } from "node:events";
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { toFile } from "../io/target.ts";
import { terminalOf } from "../plot/terminal.ts";
import { run } from "./commands.ts";
import { files } from "./files.ts";
import type { Host } from "./host.ts";

/** Written in by the build. */
declare const STRIDED_VERSION: string | undefined;

/** Of the package that this file was built for, or of the one it lies in. */
function version(): string {
  if (typeof STRIDED_VERSION === "string") return STRIDED_VERSION;
  const manifest = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "package.json");
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

async function readAll(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

let interruption: AbortController | null = null;

/** Ctrl-C and SIGTERM as a signal; a second one ends the process. */
function interrupted(): AbortSignal {
  if (interruption !== null) return interruption.signal;
  const stop = new AbortController();
  interruption = stop;
  for (const [name, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(code);
      stop.abort(new Error(name));
    });
  }
  return stop.signal;
}

const host: Host = {
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(text),
  terminal: terminalOf(process.stdout, process.env, process.platform),
  showsProgress: process.stderr.isTTY === true,
  version: version(),
  files,
  stdin: readAll,
  exists: existsSync,
  write: (path, text) =>
    toFile("plot", path, { pieces: () => [new TextEncoder().encode(text)], release() {} }),
  // A file first: what fails writes nothing, and formats may be written in any order.
  async pipe(name, write) {
    const folder = mkdtempSync(join(tmpdir(), "strided-"));
    // Also where whoever reads has had enough.
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, name);
    await write(path);
    for await (const piece of createReadStream(path))
      if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  },
  interrupted,
};

// Whoever reads may have had enough, as head has.
process.stdout.on("error", (error: { code?: string }) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});
void run(process.argv.slice(2), host).then((code) => {
  process.exitCode = code;
});
