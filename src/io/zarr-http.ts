/**
 * A server as a store, to be read: one request a key, by range where only a part is wanted. Redirects, headers and what is
 * safe are as for any other file over HTTP.
 */
import { describe, fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { quoted } from "./names.ts";
import { ask, bodyInto, failStatus, isReal, rangeOf, readHeaders, type Site, urlOf } from "./source.ts";
import { failAt, partOf, type Shelf, storeOf, type ZarrRange, type ZarrStore } from "./zarr-store.ts";

/** What is sent with each request. */
export interface HttpStoreOptions {
  /** Sent with every request, to the origin that was asked for and to no other. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A store on a server, to be read.
 *
 *     const array = await zarr.open(zarr.httpStore("https://host/data.zarr", { headers: { authorization: "Bearer …" } }));
 *
 * A URL does the same: `zarr.open("https://host/data.zarr")`.
 *
 * @param url where the hierarchy lies
 * @param options `headers`
 * @returns a store, to be read
 * @example
 * typeof zarr.httpStore("https://host/data.zarr").get; // → function
 */
export function httpStore(url: string | URL, options?: HttpStoreOptions): ZarrStore {
  const operation = "zarr.httpStore";
  const { headers } = readOptions(operation, options, '{ headers: { authorization: "Bearer …" } }', [
    "headers",
  ]);
  return storeOf(httpShelf(operation, url, readHeaders(operation, headers)));
}

/** Bytes of a whole answer that are taken where nobody says how many there may be. */
const MOST_WHOLE = 2 ** 30;

export function httpShelf(
  operation: string,
  url: string | URL,
  headers: Readonly<Record<string, string>>,
): Shelf {
  const base = folderOf(operation, url);
  const name = quoted(base.href.length > 200 ? `${base.href.slice(0, 200)}…` : base.href);
  const siteOf = (key: string): Site => {
    const at = new URL(base);
    at.pathname += key.split("/").map(encodeURIComponent).join("/");
    return { url: at, headers };
  };
  const shelf: Shelf = {
    name,
    place: base.origin + base.pathname,
    async get(op, key, { range, most, signal }) {
      const title = `${name}, key ${quoted(key)}`;
      if (range !== undefined && "length" in range && range.length === 0) return new Uint8Array();
      const wanted = range === undefined ? {} : { range: rangeText(range) };
      const { response } = await ask(op, title, siteOf(key), signal, wanted);
      return bytesOfAnswer(op, name, key, response, range, most, signal);
    },
    set: null,
    async has(op, key, signal) {
      const { response } = await ask(op, `${name}, key ${quoted(key)}`, siteOf(key), signal, {
        method: "HEAD",
      });
      if (response.status === 404 || response.status === 410) return false;
      return response.ok || failStatus(op, `${name}, key ${quoted(key)}`, response);
    },
    list: null,
    remove: null,
    takesHeap: false,
  };
  return shelf;
}

/** What an answer holds of a key, or of a part of it; null: there is no such key. */
export async function bytesOfAnswer(
  operation: string,
  store: string,
  key: string,
  response: Response,
  range: ZarrRange | undefined,
  most: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | null> {
  const title = `${store}, key ${quoted(key)}`;
  const leave = () => response.body?.cancel().catch(() => {});
  if (response.status === 404 || response.status === 410) {
    await leave();
    return null;
  }
  const isPart = range !== undefined && response.status === 206;
  if (!isPart && response.status !== 200) {
    await leave();
    // The range begins after the end.
    if (range !== undefined && response.status === 416) return new Uint8Array();
    failStatus(operation, title, response);
  }
  const why = isPart ? whyOther(range, response) : null;
  if (why !== null) {
    await leave();
    failAt(operation, store, key, why);
  }
  // A server that knows no ranges sends all of it.
  const whole = range === undefined ? (most ?? MOST_WHOLE) : MOST_WHOLE;
  const limit = isPart ? ("last" in range ? range.last : range.length) : whole;
  const all = await collected(operation, store, key, title, response, limit, signal);
  return isPart ? all : partOf(all, range);
}

export const rangeText = (range: ZarrRange): string =>
  "last" in range ? `bytes=-${range.last}` : `bytes=${range.from}-${range.from + range.length - 1}`;

/** What is wrong with the part that came; null: nothing, or a server of another origin does not say. */
function whyOther(range: ZarrRange, response: Response): string | null {
  const got = rangeOf(response);
  if (got === null) return null;
  const from = "last" in range ? Math.max(0, got.size - range.last) : range.from;
  const end = "last" in range ? got.size : Math.min(got.size, range.from + range.length);
  return got.from === from && got.end === end
    ? null
    : `bytes ${from} … ${end - 1} of ${got.size} were asked for, ${got.text} came.`;
}

/** The body, as long as it may be. */
async function collected(
  operation: string,
  store: string,
  key: string,
  title: string,
  response: Response,
  most: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const said = response.headers.get("content-length");
  const isPlain = response.headers.get("content-encoding") === null;
  const length = said !== null && isPlain && /^\d{1,15}$/.test(said) ? Number(said) : null;
  const failLong = (n: number): never =>
    failAt(operation, store, key, `it has ${n} bytes or more, ${most} at the most are expected.`);
  if (length !== null && length > most) {
    await response.body?.cancel().catch(() => {});
    failLong(length);
  }
  const pieces: Uint8Array[] = [];
  let total = 0;
  await bodyInto(operation, title, response, length, signal, (piece) => {
    total += piece.length;
    if (total > most) failLong(total);
    pieces.push(piece);
  });
  if (pieces.length === 1) return pieces[0];
  const all = new Uint8Array(total);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** The address with a slash at its end; what it asks for goes with every key. */
function folderOf(operation: string, url: string | URL): URL {
  const text = isReal(URL, "href", url) ? (Reflect.get(URL.prototype, "href", url as URL) as string) : url;
  if (typeof text !== "string") {
    return fail(
      "value",
      operation,
      `the URL is ${describe(text)}.`,
      'Write it in full: "https://host/data.zarr".',
    );
  }
  const page =
    (globalThis as { document?: { baseURI?: string } }).document?.baseURI ?? globalThis.location?.href;
  const base = urlOf(operation, text, page);
  if (!/^https?:$/.test(base.protocol)) {
    fail("value", operation, `no store is read from ${quoted(base.href)}.`, "Use a http or https URL.");
  }
  base.hash = "";
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}
