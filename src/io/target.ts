/**
 * Where bytes go: into memory, or into a file. A file appears under its name when all of it is on the disk, or not at all:
 * it is written under another name in the same folder, flushed, and renamed.
 */
import { describe, fail, unreachable } from "../errors.ts";
import { type Held, PIECE } from "./into-heap.ts";
import { failFile, quoted } from "./names.ts";
import { type NodeFiles, type NodeModules, nodeModules } from "./node.ts";
import { failSystem, isReal } from "./source.ts";

/** Something to be written, piece by piece; it holds tensors until it is released. */
export interface Writing {
  /** All bytes, where they are known beforehand. */
  readonly bytes?: number;
  /** Each piece is used before the next is asked for. */
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  release(): void;
}

/** The bytes of a tensor, some at a time. */
export const piecesOf = (held: Held): Iterable<Uint8Array> | AsyncIterable<Uint8Array> =>
  held.stream?.() ?? heldPieces(held);

function* heldPieces(held: Held): Iterable<Uint8Array> {
  for (let at = 0; at < held.bytes; at += PIECE) yield held.at(at, Math.min(PIECE, held.bytes - at));
}

/** The bytes, in memory of their own. */
export async function toBytes(writing: Writing, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  try {
    if (writing.bytes !== undefined) return await intoOne(writing, writing.bytes, signal);
    const all: Uint8Array[] = [];
    let total = 0;
    for await (const piece of writing.pieces()) {
      signal?.throwIfAborted();
      // The heap goes on living: what is kept of it is a copy.
      all.push(piece.slice());
      total += piece.length;
    }
    const out = new Uint8Array(total);
    let at = 0;
    for (const piece of all) {
      out.set(piece, at);
      at += piece.length;
    }
    return out;
  } finally {
    writing.release();
  }
}

async function intoOne(
  writing: Writing,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Uint8Array(bytes);
  let at = 0;
  for await (const piece of writing.pieces()) {
    signal?.throwIfAborted();
    out.set(piece, at);
    at += piece.length;
  }
  return at === bytes ? out : unreachable(`${at} bytes were written, ${bytes} expected`);
}

/** Writes a file, wholly or not at all. */
export async function toFile(
  operation: string,
  target: string | URL,
  writing: Writing,
  signal?: AbortSignal,
): Promise<void> {
  const aside = await fileAside(operation, target, writing, signal);
  await aside.put();
}

/** A file that is complete, under another name. One of the two functions ends it. */
export interface FileAside {
  /** Gives it its name. */
  put(): Promise<void>;
  /** Removes it, if it has not got its name. */
  drop(): Promise<void>;
}

/** Another name in the same folder. */
export function temporaryOf(full: string, { path }: NodeModules): string {
  const salt = Array.from(crypto.getRandomValues(new Uint8Array(6)), (x) => x.toString(16).padStart(2, "0"));
  return path.join(path.dirname(full), `.${path.basename(full).slice(0, 100)}.${salt.join("")}.tmp`);
}

/** Writes a file that is to get its name later. */
export async function fileAside(
  operation: string,
  target: string | URL,
  writing: Writing,
  signal?: AbortSignal,
): Promise<FileAside> {
  try {
    const modules = nodeModules(operation);
    const { fs, path } = modules;
    const full = filePath(operation, target);
    const name = quoted(full);
    const temporary = temporaryOf(full, modules);
    const drop = () => fs.rm(temporary, { force: true }).catch(() => {});
    signal?.throwIfAborted();
    // "wx": never a file, or a link, that somebody else has put there.
    const handle = await fs.open(temporary, "wx").catch((error: { readonly code?: unknown }) => {
      if (error.code !== "ENOENT") return failSystem(operation, name, error);
      const folder = quoted(path.dirname(full));
      return failFile(operation, name, null, `there is no folder ${folder}.`, "Make it first.");
    });
    try {
      try {
        for await (const piece of writing.pieces()) {
          signal?.throwIfAborted();
          for (let done = 0; done < piece.length; ) {
            done += (await handle.write(piece, done, piece.length - done)).bytesWritten;
          }
        }
        await handle.sync();
      } finally {
        await handle.close();
      }
      signal?.throwIfAborted();
    } catch (error) {
      await drop();
      signal?.throwIfAborted();
      failSystem(operation, name, error);
    }
    return {
      async put() {
        await fs.rename(temporary, full).catch(async (error) => {
          await drop();
          failSystem(operation, name, error);
        });
        await flushFolder(fs, path.dirname(full));
      },
      drop,
    };
  } finally {
    writing.release();
  }
}

/** The new name itself must reach the disk; systems that cannot flush a folder do it by themselves. */
export async function flushFolder(fs: NodeFiles, folder: string): Promise<void> {
  try {
    const handle = await fs.open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Windows opens no folders.
  }
}

/** A path or a file URL as text, read once; what is neither is refused. */
export function readPath(operation: string, target: unknown): string {
  const text = isReal(URL, "href", target)
    ? (Reflect.get(URL.prototype, "href", target as URL) as string)
    : target;
  const isText = typeof text === "string" && text !== "" && !text.includes("\0");
  // A name may look like many a URL; a URL is one of a file.
  if (isText && (typeof target === "string" ? !/^https?:/i.test(text) : /^file:/i.test(text))) return text;
  return fail(
    "value",
    operation,
    `cannot write to ${typeof text === "string" ? quoted(text) : describe(text)}.`,
    "Give a path or a file URL, or use encode(…) for the bytes.",
  );
}

/** A path, or that of a file URL. */
export function filePath(operation: string, target: unknown): string {
  const text = readPath(operation, target);
  if (!/^file:/i.test(text)) return text;
  try {
    return nodeModules(operation).url.fileURLToPath(text);
  } catch {
    return fail("value", operation, `${quoted(text)} is no file URL.`, "Give a path.");
  }
}
