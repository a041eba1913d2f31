/**
 * A bucket of S3, or of anything that speaks like it, as a store: a key is one object, and is written by one PUT. Requests are
 * signed by aws4fetch, which is imported when it is first needed, or by a function of the user's.
 */
import { describe, fail } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import { textOf, unshared } from "./json.ts";
import { quoted, whyOutside } from "./names.ts";
import { failStatus, isReal, messageOf, urlOf } from "./source.ts";
import { bytesOfAnswer, rangeText } from "./zarr-http.ts";
import { failAt, type Shelf, storeOf, type ZarrStore } from "./zarr-store.ts";

/** Who asks, and where in the bucket. */
export interface S3StoreOptions {
  /** Of who asks. */
  readonly accessKeyId?: string;
  /** Of who asks. */
  readonly secretAccessKey?: string;
  /** Of who asks, for a while. */
  readonly sessionToken?: string;
  /** Default: what aws4fetch finds in the address. */
  readonly region?: string;
  /** Keys begin with this: a folder of the bucket. */
  readonly prefix?: string;
  /** Signs a request itself, in place of aws4fetch. */
  readonly sign?: (request: Request) => Request | PromiseLike<Request>;
}

/**
 * A store in a bucket of S3, R2, MinIO and their like. The address is the bucket's.
 *
 *     const store = zarr.s3Store("https://s3.eu-central-1.amazonaws.com/my-bucket", {
 *       prefix: "measured.zarr",
 *       accessKeyId: "…",
 *       secretAccessKey: "…",
 *     });
 *     const array = await zarr.open(store);
 *
 * @param url the bucket's
 * @param options `prefix`, `accessKeyId`, `secretAccessKey`, `sessionToken` and more
 * @returns a store
 * @example
 * const store = zarr.s3Store("https://host/bucket", { accessKeyId: "…", secretAccessKey: "…" });
 * typeof store.get; // → function
 */
export function s3Store(url: string | URL, options?: S3StoreOptions): ZarrStore {
  const operation = "zarr.s3Store";
  const read = readOptions(operation, options, '{ accessKeyId: "…", secretAccessKey: "…" }', [
    "accessKeyId",
    "secretAccessKey",
    "sessionToken",
    "region",
    "prefix",
    "sign",
  ]);
  const { prefix = "", sign, ...rest } = read;
  for (const [name, value] of [...Object.entries(rest), ["prefix", prefix] as const]) {
    if (value === undefined || typeof value === "string") continue;
    fail("value", operation, `${name} is ${describe(value)}.`, "It is a text.");
  }
  const why = prefix === "" ? null : whyOutside(prefix);
  if (why !== null) fail("value", operation, `the prefix ${quoted(prefix)} ${why}.`, 'Write "data.zarr".');
  if (sign !== undefined && typeof sign !== "function") {
    fail("value", operation, `sign is ${describe(sign)}.`, "Give a function that signs a Request.");
  }
  if (sign === undefined && (rest.accessKeyId === undefined || rest.secretAccessKey === undefined)) {
    fail(
      "value",
      operation,
      "there are no keys to sign with.",
      "Give { accessKeyId, secretAccessKey } or { sign }.",
    );
  }
  return storeOf(s3Shelf(operation, url, prefix, sign ?? signerOf(rest)));
}

type Signer = (request: Request) => Request | PromiseLike<Request>;

interface Aws4fetch {
  readonly AwsClient: new (
    options: Record<string, unknown>,
  ) => { sign(input: Request, init?: object): Promise<Request> };
}

/** Signs by aws4fetch; hidden from bundlers, since most users have none of it. */
function signerOf(keys: Readonly<Record<string, unknown>>): Signer {
  let client: Promise<InstanceType<Aws4fetch["AwsClient"]>> | null = null;
  const load = async () => {
    const name = "aws4fetch";
    let module: Aws4fetch;
    try {
      module = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as Aws4fetch;
    } catch {
      return fail(
        "value",
        "zarr.s3Store",
        "requests are signed by the package aws4fetch, which is not there.",
        "npm install aws4fetch\nOr sign them yourself: { sign: async (request) => … }.",
      );
    }
    return new module.AwsClient({ ...keys, service: "s3" });
  };
  return async (request) => {
    client ??= load();
    return (await client).sign(request);
  };
}

/** Attempts at one request: a busy server says so with 503. */
const ATTEMPTS = 3;
const isBusy = (status: number): boolean => [429, 500, 502, 503, 504].includes(status);
/** Answers that one listing may have, of a thousand names each. */
const MOST_PAGES = 1000;
const MOST_LISTING = 16 << 20;

function s3Shelf(operation: string, url: string | URL, prefix: string, sign: Signer): Shelf {
  const text = isReal(URL, "href", url) ? (Reflect.get(URL.prototype, "href", url as URL) as string) : url;
  if (typeof text !== "string" || !/^https?:/i.test(text)) {
    const shown = typeof text === "string" ? quoted(text) : describe(text);
    fail("value", operation, `the bucket is ${shown}.`, 'Write its URL: "https://host/bucket".');
  }
  const bucket = urlOf(operation, text as string);
  bucket.search = "";
  bucket.hash = "";
  if (!bucket.pathname.endsWith("/")) bucket.pathname += "/";
  const name = quoted(`${bucket.href}${prefix}`.slice(0, 200));
  const below = (key: string) => (prefix === "" ? key : key === "" ? prefix : `${prefix}/${key}`);
  const addressOf = (key: string): URL => {
    const at = new URL(bucket);
    at.pathname += below(key).split("/").map(encodeURIComponent).join("/");
    return at;
  };
  const send = async (
    op: string,
    key: string,
    at: URL,
    init: RequestInit,
    signal: AbortSignal | undefined,
  ): Promise<Response> => {
    const title = `${name}, key ${quoted(key)}`;
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      let response: Response;
      const request = await sign(new Request(at, { ...init, redirect: "manual" }));
      try {
        response = await fetch(request, signal === undefined ? {} : { signal });
      } catch (error) {
        signal?.throwIfAborted();
        const cause = (error as { cause?: unknown }).cause;
        return failAt(op, name, key, `the request failed: ${messageOf(cause ?? error)}`);
      }
      if (isBusy(response.status) && attempt < ATTEMPTS) {
        await response.body?.cancel().catch(() => {});
        await new Promise((go) => setTimeout(go, 100 * 2 ** attempt));
        continue;
      }
      if (response.status >= 300 && response.status < 400) failStatus(op, title, response);
      return response;
    }
  };
  const done = async (op: string, key: string, response: Response): Promise<void> => {
    await response.body?.cancel().catch(() => {});
    if (!response.ok) failStatus(op, `${name}, key ${quoted(key)}`, response);
  };
  return {
    name,
    place: bucket.origin + addressOf("").pathname,
    async get(op, key, { range, most, signal }) {
      if (range !== undefined && "length" in range && range.length === 0) return new Uint8Array();
      const headers: Record<string, string> = range === undefined ? {} : { range: rangeText(range) };
      const response = await send(op, key, addressOf(key), { headers }, signal);
      return bytesOfAnswer(op, name, key, response, range, most, signal);
    },
    async set(op, key, bytes, signal) {
      // With its type: aws4fetch leaves the body out of a request that has none.
      const headers = { "content-type": "application/octet-stream" };
      const init = { method: "PUT", headers, body: unshared(bytes) };
      await done(op, key, await send(op, key, addressOf(key), init, signal));
    },
    async has(op, key, signal) {
      const response = await send(op, key, addressOf(key), { method: "HEAD" }, signal);
      if (response.status === 404) return false;
      await done(op, key, response);
      return true;
    },
    async remove(op, key, signal) {
      const response = await send(op, key, addressOf(key), { method: "DELETE" }, signal);
      if (response.status !== 404) await done(op, key, response);
    },
    async list(op, folder, signal) {
      const inside = below(folder);
      const start = inside === "" ? "" : `${inside}/`;
      const names: string[] = [];
      let token: string | null = null;
      for (let page = 0; page < MOST_PAGES; page++) {
        const at = new URL(bucket);
        at.searchParams.set("list-type", "2");
        at.searchParams.set("delimiter", "/");
        if (start !== "") at.searchParams.set("prefix", start);
        if (token !== null) at.searchParams.set("continuation-token", token);
        const response: Response = await send(op, folder, at, {}, signal);
        const bytes = await bytesOfAnswer(op, name, folder, response, undefined, MOST_LISTING, signal);
        if (bytes === null) return names;
        const xml: string = textOf(bytes, (fact) => failAt(op, name, folder, `of its listing: ${fact}`));
        for (const [, key] of xml.matchAll(/<Contents>.*?<Key>([^<]*)<\/Key>/gs))
          add(names, start, unescaped(key));
        for (const [, key] of xml.matchAll(/<CommonPrefixes>\s*<Prefix>([^<]*)<\/Prefix>/gs)) {
          add(names, start, unescaped(key));
        }
        const next = /<NextContinuationToken>([^<]+)<\/NextContinuationToken>/.exec(xml)?.[1];
        if (next === undefined) return names;
        token = unescaped(next);
      }
      return failAt(op, name, folder, `its listing has more than ${MOST_PAGES} pages.`);
    },
    takesHeap: false,
  };
}

/** Names below the prefix that was asked for; anything else is none of ours. */
function add(names: string[], start: string, key: string): void {
  if (key.startsWith(start) && key !== start) names.push(key.slice(start.length));
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const unescaped = (xml: string): string =>
  xml.replace(/&(?:#(\d{1,6})|#x([0-9a-fA-F]{1,5})|(amp|lt|gt|quot|apos));/g, (whole, ten, sixteen, word) => {
    if (word !== undefined) return entities[word as string];
    const code = ten === undefined ? Number.parseInt(sixteen as string, 16) : Number(ten);
    return code <= 0x10ffff ? String.fromCodePoint(code) : (whole as string);
  });
