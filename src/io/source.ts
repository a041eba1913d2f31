/**
 * Where bytes come from: a path, a URL, a Blob, memory, or an object that reads. Whatever it is, it becomes an `Input`: a
 * name for messages, a size, and readers that give bytes or fill a place in the heap. Nothing here knows a format.
 */
import { arrayFacts } from "../dtype.ts";
import { describe, fail, TensorError } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Place } from "./into-heap.ts";
import { failFile, hasControl, quoted, whyOutside } from "./names.ts";
import { isNode, type NodeModules, nodeModules } from "./node.ts";
import { type Peers, readPeers } from "./peer.ts";

/** An object that reads, for sources of any other kind. */
export interface CustomSource {
  /** Bytes there are. */
  readonly size: number;
  /**
   * The `length` bytes from `from` on. `into` is memory of that length which may be filled and returned, and which is not
   * looked at after the promise has settled.
   */
  read(from: number, length: number, into?: Uint8Array): Uint8Array | PromiseLike<Uint8Array>;
}

/**
 * What can be read: a path or a URL (file, http, https; in browsers also relative to the page), a Blob or File, bytes, or
 * an object with `size` and `read`.
 */
export type Source = string | URL | Blob | ArrayBufferLike | ArrayBufferView | CustomSource;

/** What every reader takes. */
export interface ReadOptions {
  /** Ends the reading: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** How a source is read. */
export interface SourceOptions extends ReadOptions {
  /** Sent with every request over HTTP, to the origin that was asked for and to no other. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Files that this one names (shards, external data), where it has no folder to look in. */
  readonly files?: Readonly<Record<string, Source>>;
  /** Files that this one names may be symbolic links to anywhere, as in the cache of the Hugging Face hub. */
  readonly followSymlinks?: boolean;
  /** Modules of packages that some formats need, by name, where they cannot be imported: { hyparquet }. */
  readonly peers?: Readonly<Record<string, unknown>>;
}

export const sourceNames = ["signal", "headers", "files", "followSymlinks", "peers"] as const;

/** Reads from one input; closed when the work is done. */
export interface Reader {
  /** A copy of some bytes, or a part of memory that is the caller's: to look at, not to keep. */
  bytes(from: number, length: number): Promise<Uint8Array>;
  /** Fills [at, at + length) of a place. */
  fill(place: Place, at: number, from: number, length: number): Promise<void>;
  close(): Promise<void>;
}

export interface Input {
  /** As messages call it. */
  readonly name: string;
  readonly size: number;
  /** Bytes that are read sooner than they are stepped over. */
  readonly gap: number;
  open(signal: AbortSignal | undefined): Promise<Reader>;
  /** Another file, in the same folder or below it. */
  sibling(operation: string, name: string, signal: AbortSignal | undefined): Promise<Input>;
}

/** Bytes that one read asks for, at the most. */
const CHUNK = 8 << 20;
/** Reads of one file that are under way at the same time: one waits for the disk while the other copies. */
const LANES = 2;

const KIB = 1 << 10;

/* The border ------------------------------------------------------------------------------------------- */

export interface ReadSource {
  readonly input: Input;
  readonly signal: AbortSignal | undefined;
  readonly peers: Peers;
}

/** What a caller gave, read once. */
export async function inputOf(
  operation: string,
  source: unknown,
  given: SourceOptions | undefined,
  names: readonly string[] = sourceNames,
): Promise<ReadSource> {
  const options = readOptions(operation, given, "{ signal }", names);
  const signal = checkSignal(operation, options.signal);
  const settings: Settings = {
    headers: readHeaders(operation, options.headers),
    files: readFiles(operation, options.files),
    followSymlinks: options.followSymlinks === true,
  };
  const peers = readPeers(operation, options.peers);
  signal?.throwIfAborted();
  return { input: await toInput(operation, source, settings, signal), signal, peers };
}

interface Settings {
  readonly headers: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, Source>;
  readonly followSymlinks: boolean;
}

export function checkSignal(operation: string, signal: unknown): AbortSignal | undefined {
  if (signal === undefined) return undefined;
  if (isReal(AbortSignal, "aborted", signal)) return signal as AbortSignal;
  return fail(
    "value",
    operation,
    `signal is ${describe(signal)}.`,
    "Give the signal of an AbortController, or AbortSignal.timeout(1000).",
  );
}

/** Is it what it says it is? Only the real thing, of whatever realm, answers a getter of its class. */
export function isReal(of: { readonly prototype: object }, getter: string, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Reflect.get(of.prototype, getter, value) !== undefined;
  } catch {
    return false;
  }
}

export function readHeaders(operation: string, headers: unknown): Readonly<Record<string, string>> {
  if (headers === undefined) return {};
  const read = readOptions(operation, headers as Record<string, unknown>, '{ authorization: "Bearer …" }');
  for (const [name, value] of Object.entries(read)) {
    if (typeof value === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !hasControl(value)) continue;
    fail("value", operation, `header ${quoted(name)} is ${describe(value)}.`, "Headers are lines of text.");
  }
  return read as Record<string, string>;
}

function readFiles(operation: string, files: unknown): ReadonlyMap<string, Source> {
  if (files === undefined) return new Map();
  const read = readOptions(operation, files as Record<string, Source>, '{ "weights.bin": blob }');
  return new Map(Object.entries(read));
}

async function toInput(
  operation: string,
  source: unknown,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<Input> {
  if (typeof source === "string" || isReal(URL, "href", source)) {
    return fromAddress(operation, source as string | URL, settings, signal);
  }
  if (isReal(Blob, "size", source)) return fromBlob(source as Blob, settings);
  if (ArrayBuffer.isView(source) || isBuffer(source)) return fromBytes(operation, source, settings);
  if (typeof source === "object" && source !== null) {
    return fromCustom(operation, source as CustomSource, settings);
  }
  return failSource(operation, source);
}

const isBuffer = (source: unknown): source is ArrayBufferLike =>
  isReal(ArrayBuffer, "byteLength", source) ||
  (typeof SharedArrayBuffer === "function" && isReal(SharedArrayBuffer, "byteLength", source));

const lengthOf = (buffer: ArrayBufferLike): number => {
  const { prototype } = isReal(ArrayBuffer, "byteLength", buffer) ? ArrayBuffer : SharedArrayBuffer;
  return Reflect.get(prototype, "byteLength", buffer) as number;
};

function failSource(operation: string, source: unknown): never {
  return fail(
    "value",
    operation,
    `cannot read from ${describe(source)}.`,
    "Give a path, a URL, a Blob, bytes, or an object { size, read(from, length) }.",
  );
}

function fromAddress(
  operation: string,
  source: string | URL,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<Input> {
  const text = typeof source === "string" ? source : (Reflect.get(URL.prototype, "href", source) as string);
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]+):/.exec(text)?.[1].toLowerCase();
  if (scheme === "http" || scheme === "https")
    return fromHttp(operation, urlOf(operation, text), settings, signal);
  if (scheme === "blob" || scheme === "data")
    return fromHttp(operation, urlOf(operation, text), settings, signal);
  if (scheme === "file") return fromPath(operation, urlOf(operation, text), settings);
  if (typeof source !== "string") {
    return fail("value", operation, `no reader for ${quoted(text)}.`, "Use a file, http or https URL.");
  }
  if (isNode()) return fromPath(operation, text, settings);
  // In a page, as everything there: relative to it.
  const base =
    (globalThis as { document?: { baseURI?: string } }).document?.baseURI ?? globalThis.location?.href;
  return fromHttp(operation, urlOf(operation, text, base), settings, signal);
}

export function urlOf(operation: string, text: string, base?: string): URL {
  try {
    return new URL(text, base);
  } catch {
    return fail("value", operation, `${quoted(text)} is no URL.`, 'Write it in full: "https://host/file".');
  }
}

/* What all of them share ------------------------------------------------------------------------------- */

/** One kind of source: it fills memory that stays, or hands over pieces in their order. */
interface Raw {
  readonly into?: (target: Uint8Array, from: number) => Promise<void>;
  /** Gives all of [from, from + length), piece by piece, each to be used before the next comes. */
  readonly pull: (from: number, length: number, take: (piece: Uint8Array) => void) => Promise<void>;
  readonly close?: () => Promise<void>;
}

function readerOf(name: string, size: number, raw: Raw, signal: AbortSignal | undefined): Reader {
  const check = (from: number, length: number) => {
    signal?.throwIfAborted();
    const isInside = Number.isSafeInteger(from) && Number.isSafeInteger(length) && from >= 0 && length >= 0;
    if (isInside && from + length <= size) return;
    failFile("read", name, null, `bytes ${from} … ${from + length - 1} are asked for, it has ${size}.`);
  };
  const { into, pull } = raw;
  return {
    async bytes(from, length) {
      check(from, length);
      if (length === 0) return new Uint8Array();
      if (into !== undefined) {
        const out = new Uint8Array(length);
        await into(out, from);
        return out;
      }
      let out: Uint8Array | null = null;
      let done = 0;
      await pull(from, length, (piece) => {
        if (done === 0 && piece.length === length) out = piece;
        else {
          out ??= new Uint8Array(length);
          out.set(piece, done);
        }
        done += piece.length;
      });
      return out ?? new Uint8Array();
    },
    async fill(place, at, from, length) {
      check(from, length);
      if (length === 0) return;
      if (into !== undefined && place.stays) {
        await inLanes(length, signal, (skip, n) => into(place.at(at + skip, n), from + skip));
        return;
      }
      let done = at;
      await pull(from, length, (piece) => {
        place.at(done, piece.length).set(piece);
        done += piece.length;
      });
    },
    close: async () => raw.close?.(),
  };
}

/** Reads pieces side by side; settles when none is under way any more, also where one has failed. */
async function inLanes(
  length: number,
  signal: AbortSignal | undefined,
  read: (skip: number, n: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let isLost = false;
  const lane = async () => {
    while (next < length && !isLost) {
      signal?.throwIfAborted();
      const skip = next;
      next = Math.min(length, skip + CHUNK);
      try {
        await read(skip, next - skip);
      } catch (error) {
        isLost = true;
        throw error;
      }
    }
  };
  const lanes = length > CHUNK ? LANES : 1;
  const all = await Promise.allSettled(Array.from({ length: lanes }, lane));
  for (const one of all) if (one.status === "rejected") throw one.reason;
}

/** Piece by piece from something that gives so many bytes at a time. */
async function inPieces(
  length: number,
  signal: AbortSignal | undefined,
  get: (skip: number, n: number) => Uint8Array | Promise<Uint8Array>,
  take: (piece: Uint8Array) => void,
): Promise<void> {
  for (let skip = 0; skip < length; skip += CHUNK) {
    signal?.throwIfAborted();
    take(await get(skip, Math.min(CHUNK, length - skip)));
  }
}

/** A file among those that the caller has given by name. */
async function given(
  operation: string,
  of: string,
  name: string,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<Input | null> {
  const why = whyOutside(name);
  if (why !== null) {
    failFile(operation, of, null, `the name of a file in it, ${quoted(name)}, ${why}.`, "It was not opened.");
  }
  const source = settings.files.get(name);
  if (source === undefined) return null;
  return toInput(operation, source, settings, signal);
}

const withoutFolder =
  (of: string, settings: Settings): Input["sibling"] =>
  async (operation, name, signal) =>
    (await given(operation, of, name, settings, signal)) ??
    failFile(
      operation,
      of,
      null,
      `it names the file ${quoted(name)}, and has no folder to look in.`,
      `Give it: { files: { ${quoted(name)}: blob } }.`,
    );

/* Memory ----------------------------------------------------------------------------------------------- */

function fromBytes(operation: string, source: ArrayBufferLike | ArrayBufferView, settings: Settings): Input {
  const facts = ArrayBuffer.isView(source)
    ? arrayFacts(source)
    : { buffer: source, byteOffset: 0, byteLength: lengthOf(source) };
  const { buffer, byteOffset, byteLength: size } = facts;
  const name = "the bytes";
  const piece = (from: number, length: number): Uint8Array => {
    try {
      return new Uint8Array(buffer, byteOffset + from, length);
    } catch {
      return failFile(operation, name, null, "their memory has been transferred or shrunk.", "Pass a copy.");
    }
  };
  return {
    name,
    size,
    gap: 64 * KIB,
    open: async (signal) =>
      readerOf(name, size, { pull: async (from, length, take) => take(piece(from, length)) }, signal),
    sibling: withoutFolder(name, settings),
  };
}

function fromBlob(blob: Blob, settings: Settings): Input {
  const size = Reflect.get(Blob.prototype, "size", blob) as number;
  const title = (blob as { name?: unknown }).name;
  const name = typeof title === "string" ? quoted(title) : "the blob";
  const get = async (from: number, length: number): Promise<Uint8Array> => {
    let buffer: ArrayBuffer;
    try {
      buffer = await Blob.prototype.slice.call(blob, from, from + length).arrayBuffer();
    } catch (error) {
      return failFile("read", name, null, `it cannot be read: ${messageOf(error)}`, "Has the file changed?");
    }
    if (buffer.byteLength === length) return new Uint8Array(buffer);
    return failFile("read", name, null, `it gave ${buffer.byteLength} bytes of ${length}.`);
  };
  return {
    name,
    size,
    gap: 64 * KIB,
    open: async (signal) =>
      readerOf(
        name,
        size,
        { pull: (from, n, take) => inPieces(n, signal, (skip, m) => get(from + skip, m), take) },
        signal,
      ),
    sibling: withoutFolder(name, settings),
  };
}

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, 300);
}

function fromCustom(operation: string, source: CustomSource, settings: Settings): Input {
  let size: unknown;
  let read: unknown;
  try {
    ({ size, read } = source);
  } catch {
    return failSource(operation, source);
  }
  if (typeof read !== "function") return failSource(operation, source);
  if (!(Number.isSafeInteger(size) && (size as number) >= 0)) {
    return fail("value", operation, `the source's size is ${describe(size)}.`, "It is a number of bytes.");
  }
  const name = "the source";
  const get = async (from: number, length: number): Promise<Uint8Array> => {
    // Never the heap: who keeps it could write to it later.
    const into = new Uint8Array(length);
    const got: unknown = await Reflect.apply(read, source, [from, length, into]);
    if (ArrayBuffer.isView(got)) {
      const { buffer, byteOffset, byteLength } = arrayFacts(got);
      if (byteLength === length) return new Uint8Array(buffer, byteOffset, byteLength);
      return failFile(operation, name, null, `read gave ${byteLength} bytes of ${length}, from ${from} on.`);
    }
    return failFile(operation, name, null, `read gave ${describe(got)}.`, "It gives a Uint8Array.");
  };
  return {
    name,
    size: size as number,
    gap: 64 * KIB,
    open: async (signal) =>
      readerOf(
        name,
        size as number,
        { pull: (from, n, take) => inPieces(n, signal, (skip, m) => get(from + skip, m), take) },
        signal,
      ),
    sibling: withoutFolder(name, settings),
  };
}

/* Files ------------------------------------------------------------------------------------------------ */

/** A system's error in our words: no such file, not allowed, and what else there is. */
export function failSystem(operation: string, name: string, error: unknown): never {
  if (error instanceof TensorError) throw error;
  const code = (error as { code?: unknown }).code;
  const known: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file.",
    EACCES: "reading or writing it is not allowed.",
    EPERM: "reading or writing it is not allowed.",
    EISDIR: "it is a folder.",
    ENOTDIR: "a part of its path is no folder.",
    ELOOP: "it is a symbolic link.",
    EMFILE: "too many files are open.",
    ENOSPC: "the disk is full.",
    ENAMETOOLONG: "its name is too long.",
    EROFS: "the file system is read-only.",
  };
  const fact = typeof code === "string" && Object.hasOwn(known, code) ? known[code] : messageOf(error);
  return failFile(operation, name, null, fact);
}

async function fromPath(operation: string, source: string | URL, settings: Settings): Promise<Input> {
  const modules = nodeModules(operation);
  let full: string;
  try {
    full = typeof source === "string" ? source : modules.url.fileURLToPath(source);
  } catch (error) {
    return fail("value", operation, `${quoted(String(source))} is no path: ${messageOf(error)}`);
  }
  return fromFile(operation, full, settings, modules, true);
}

async function fromFile(
  operation: string,
  full: string,
  settings: Settings,
  modules: NodeModules,
  mayBeLink: boolean,
): Promise<Input> {
  const { fs, path } = modules;
  const name = quoted(full);
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
  // A pipe without a writer must not keep us waiting.
  const flags = O_RDONLY | O_NONBLOCK | (mayBeLink ? 0 : O_NOFOLLOW);
  const opened = async () => {
    const handle = await fs.open(full, flags).catch((error) => failSystem(operation, name, error));
    try {
      const facts = await handle.stat();
      if (!facts.isFile()) failFile(operation, name, null, "it is no file that can be read at any place.");
      return { handle, facts };
    } catch (error) {
      await handle.close();
      return failSystem(operation, name, error);
    }
  };
  const first = await opened();
  await first.handle.close();
  const { size, mtimeMs, ino, dev } = first.facts;
  return {
    name,
    size,
    gap: 128 * KIB,
    /** Open only while something is read: nobody has to remember to close it. */
    async open(signal) {
      const { handle, facts } = await opened();
      const isSame =
        facts.size === size && facts.mtimeMs === mtimeMs && facts.ino === ino && facts.dev === dev;
      if (!isSame) {
        await handle.close();
        failFile(operation, name, null, "it has changed since it was opened.", "Open it again.");
      }
      const into = async (target: Uint8Array, from: number) => {
        for (let done = 0; done < target.length; ) {
          const { bytesRead } = await handle
            .read(target, done, target.length - done, from + done)
            .catch((error) => failSystem(operation, name, error));
          if (bytesRead === 0) {
            failFile(operation, name, null, `it ends at byte ${from + done}, ${size} were there before.`);
          }
          done += bytesRead;
        }
      };
      const pull: Raw["pull"] = (from, length, take) => {
        const get = async (skip: number, n: number) => {
          const piece = new Uint8Array(n);
          await into(piece, from + skip);
          return piece;
        };
        return inPieces(length, signal, get, take);
      };
      return readerOf(name, size, { into, pull, close: () => handle.close() }, signal);
    },
    async sibling(op, other, signal) {
      const among = await given(op, name, other, settings, signal);
      if (among !== null) return among;
      const folder = path.dirname(full);
      const target = path.join(folder, ...other.split("/"));
      if (!settings.followSymlinks) {
        let real: string;
        let root: string;
        try {
          [real, root] = await Promise.all([fs.realpath(target), fs.realpath(folder)]);
        } catch (error) {
          return failSystem(op, quoted(target), error);
        }
        if (real !== path.join(root, ...other.split("/"))) {
          failFile(
            op,
            name,
            null,
            `the file ${quoted(other)}, which it names, is or lies behind a symbolic link.`,
            "If you trust the folder: { followSymlinks: true }.",
          );
        }
      }
      return fromFile(op, target, settings, modules, settings.followSymlinks);
    },
  };
}

/* HTTP ------------------------------------------------------------------------------------------------- */

/** What the first request asks for: enough for most headers. */
const HEAD = 64 * KIB;
/** Other addresses that one request may be sent on to. */
const MOST_REDIRECTS = 5;
/** A server that knows no ranges sends the whole file: up to here it is kept. */
const MOST_WHOLE = 2 ** 30;

export interface Site {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

async function fromHttp(
  operation: string,
  url: URL,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<Input> {
  const name = quoted(url.href.length > 200 ? `${url.href.slice(0, 200)}…` : url.href);
  if (typeof fetch !== "function") failFile(operation, name, null, "this host has no fetch.");
  const site: Site = { url, headers: settings.headers };
  const first = await ask(operation, name, site, signal, { range: `bytes=0-${HEAD - 1}` });
  const { response } = first;
  // Later requests go straight to where this one ended.
  let at = first.site;
  const tag = response.headers.get("etag");
  const sibling: Input["sibling"] = async (op, other, stop) => {
    const among = await given(op, name, other, settings, stop);
    if (among !== null) return among;
    const parts = other.split("/").map(encodeURIComponent).join("/");
    return fromHttp(op, new URL(`./${parts}`, url), settings, stop);
  };
  if (response.status === 200) {
    const whole = await wholeOf(operation, name, response, signal);
    const { open } = fromBytes(operation, whole, settings);
    return { name, size: whole.length, gap: 64 * KIB, open, sibling };
  }
  const range = rangeOf(response);
  if (response.status !== 206 && !(response.status === 416 && range?.size === 0)) {
    await response.body?.cancel().catch(() => {});
    failStatus(operation, name, response);
  }
  const size = range?.size ?? (await sizeByHead(operation, name, at, signal));
  const expected = Math.min(HEAD, size);
  if (range !== null && response.status === 206 && (range.from !== 0 || range.end !== expected)) {
    await response.body?.cancel().catch(() => {});
    failFile(operation, name, null, `bytes 0 … ${expected - 1} were asked for, ${range.text} came.`);
  }
  const head = new Uint8Array(expected);
  if (response.status === 206) await bodyInto(operation, name, response, expected, signal, keepIn(head));

  const pull = async (
    from: number,
    length: number,
    take: (piece: Uint8Array) => void,
    stop: AbortSignal | undefined,
  ) => {
    if (from + length <= head.length) {
      take(head.subarray(from, from + length));
      return;
    }
    const wanted = { range: `bytes=${from}-${from + length - 1}` };
    let answer = await ask(operation, name, at, stop, wanted);
    // Addresses that were sent on to may expire: the first one knows the way.
    if (answer.response.status >= 400 && at.url.href !== site.url.href) {
      await answer.response.body?.cancel().catch(() => {});
      answer = await ask(operation, name, site, stop, wanted);
      at = answer.site;
    }
    const { response: part } = answer;
    const got = rangeOf(part);
    const isIt =
      part.status === 206 &&
      (got === null || (got.from === from && got.end === from + length && got.size === size));
    if (!isIt) {
      await part.body?.cancel().catch(() => {});
      if (part.status !== 206) failStatus(operation, name, part);
      failFile(
        operation,
        name,
        null,
        `bytes ${from} … ${from + length - 1} of ${size} were asked for, ${got?.text} came.`,
      );
    }
    if ((part.headers.get("etag") ?? tag) !== tag) {
      await part.body?.cancel().catch(() => {});
      failFile(operation, name, null, "it has changed since it was opened.", "Open it again.");
    }
    await bodyInto(operation, name, part, length, stop, take);
  };
  return {
    name,
    size,
    gap: 512 * KIB,
    open: async (stop) =>
      readerOf(name, size, { pull: (from, length, take) => pull(from, length, take, stop) }, stop),
    sibling,
  };
}

const keepIn = (target: Uint8Array) => {
  let done = 0;
  return (piece: Uint8Array) => {
    target.set(piece, done);
    done += piece.length;
  };
};

export function failStatus(operation: string, name: string, { status }: Response): never {
  const remedy =
    status === 401 || status === 403 ? 'Give { headers: { authorization: "Bearer …" } }.' : undefined;
  return failFile(operation, name, null, `the server answers with status ${status}.`, remedy);
}

/** One request, sent on where the server says so: not from https to http, and with our headers to our origin only. */
export async function ask(
  operation: string,
  name: string,
  site: Site,
  signal: AbortSignal | undefined,
  request: { readonly range?: string; readonly method?: string },
): Promise<{ response: Response; site: Site }> {
  let at = site;
  for (let step = 0; step <= MOST_REDIRECTS; step++) {
    const headers = { ...at.headers, ...(request.range === undefined ? {} : { range: request.range }) };
    let response: Response;
    try {
      response = await fetch(at.url, {
        method: request.method ?? "GET",
        headers,
        // Browsers follow by themselves, twenty times at the most, and show nothing of it.
        redirect: isNode() ? "manual" : "follow",
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      const cause = (error as { cause?: unknown }).cause;
      return failFile(operation, name, null, `the request failed: ${messageOf(cause ?? error)}`);
    }
    const location =
      response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) return { response, site: at };
    await response.body?.cancel().catch(() => {});
    const next = urlOf(operation, location, at.url.href);
    const isSafe = next.protocol === "https:" || (next.protocol === "http:" && at.url.protocol === "http:");
    if (!isSafe) {
      failFile(operation, name, null, `the server sends on to ${quoted(next.href)}, which is not as safe.`);
    }
    at = { url: next, headers: next.origin === at.url.origin ? at.headers : {} };
  }
  return failFile(operation, name, null, `the server sends on more than ${MOST_REDIRECTS} times.`);
}

/** `bytes 0-99/1000`, and `bytes * /0` without the blank. */
export function rangeOf(
  response: Response,
): { from: number; end: number; size: number; text: string } | null {
  const text = response.headers.get("content-range");
  if (text === null) return null;
  const parts = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/.exec(text);
  if (parts === null) return null;
  const [from, last] = parts[1] === undefined ? [0, -1] : [Number(parts[1]), Number(parts[2])];
  return { from, end: last + 1, size: Number(parts[3]), text: quoted(text) };
}

/** Where the server's answer hides the size from pages of other origins. */
async function sizeByHead(
  operation: string,
  name: string,
  site: Site,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { response } = await ask(operation, name, site, signal, { method: "HEAD" });
  const length = response.headers.get("content-length");
  if (response.ok && length !== null && /^\d{1,15}$/.test(length)) return Number(length);
  return failFile(
    operation,
    name,
    null,
    "the server does not say how long it is.",
    "Let it send access-control-expose-headers: content-range.",
  );
}

async function wholeOf(
  operation: string,
  name: string,
  response: Response,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const said = response.headers.get("content-length");
  const isPlain = response.headers.get("content-encoding") === null;
  const length = said !== null && isPlain && /^\d{1,15}$/.test(said) ? Number(said) : null;
  if (length !== null && length > MOST_WHOLE) {
    await response.body?.cancel().catch(() => {});
    failFile(
      operation,
      name,
      null,
      `the server knows no range requests, and the file has ${length} bytes.`,
      `Whole files are taken up to ${MOST_WHOLE} bytes; use a server that answers ranges.`,
    );
  }
  const pieces: Uint8Array[] = [];
  let total = 0;
  await bodyInto(operation, name, response, null, signal, (piece) => {
    total += piece.length;
    if (total > (length ?? MOST_WHOLE)) {
      failFile(operation, name, null, `the server sends more than ${length ?? MOST_WHOLE} bytes.`);
    }
    pieces.push(piece);
  });
  if (length !== null && total !== length) {
    failFile(operation, name, null, `${total} bytes of ${length} came.`);
  }
  const whole = new Uint8Array(total);
  const keep = keepIn(whole);
  for (const piece of pieces) keep(piece);
  return whole;
}

/** The body as it comes; with `length`, exactly so many bytes of it. */
export async function bodyInto(
  operation: string,
  name: string,
  response: Response,
  length: number | null,
  signal: AbortSignal | undefined,
  take: (piece: Uint8Array) => void,
): Promise<void> {
  let total = 0;
  const body = response.body?.getReader();
  try {
    for (;;) {
      const step = await body?.read();
      if (step === undefined || step.done) break;
      total += step.value.length;
      if (length !== null && total > length) break;
      take(step.value);
    }
  } catch (error) {
    await body?.cancel().catch(() => {});
    signal?.throwIfAborted();
    if (error instanceof TensorError) throw error;
    return failFile(operation, name, null, `the connection broke after ${total} bytes: ${messageOf(error)}`);
  }
  if (length === null || total === length) return;
  await body?.cancel().catch(() => {});
  failFile(operation, name, null, `${total > length ? "more" : total} bytes of ${length} came.`);
}
