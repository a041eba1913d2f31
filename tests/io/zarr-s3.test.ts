/** The S3 store against a bucket in memory that checks what it is asked for; signed by aws4fetch where that is installed. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { arange, scope } from "../../src/index.ts";
import { zarr } from "../../src/io.ts";
import { load } from "../interop/packages.ts";
import { hexOf } from "./fixtures.ts";

const objects = new Map<string, Uint8Array>();
const requests: string[] = [];
let busy = 0;
let url = "";
/** Names of a listing's page: as few, so that there are several. */
const PAGE = 3;
const escaped = (key: string) => key.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

async function bodyOf(request: IncomingMessage): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}

function listing(at: URL): string {
  const prefix = at.searchParams.get("prefix") ?? "";
  const names = new Set<string>();
  for (const key of objects.keys()) {
    if (!key.startsWith(prefix)) continue;
    const slash = key.indexOf("/", prefix.length);
    names.add(slash < 0 ? key : key.slice(0, slash + 1));
  }
  const from = Number(at.searchParams.get("continuation-token") ?? 0);
  const all = [...names].sort();
  const page = all.slice(from, from + PAGE).map((key) => {
    if (key.endsWith("/")) return `<CommonPrefixes><Prefix>${escaped(key)}</Prefix></CommonPrefixes>`;
    return `<Contents><Key>${escaped(key)}</Key><Size>1</Size></Contents>`;
  });
  const more = from + PAGE < all.length;
  const next = more ? `<NextContinuationToken>${from + PAGE}</NextContinuationToken>` : "";
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${more}</IsTruncated>${page.join("")}${next}</ListBucketResult>`;
}

const server = createServer(async (request, response) => {
  const at = new URL(request.url!, "http://localhost");
  const key = decodeURIComponent(at.pathname.replace(/^\/bucket\//, ""));
  requests.push(`${request.method} ${key} ${request.headers.range ?? ""}`.trim());
  if (!/^AWS4-HMAC-SHA256 |^Test /.test(request.headers.authorization ?? ""))
    return response.writeHead(403).end();
  if (busy > 0) {
    busy--;
    return response.writeHead(503).end();
  }
  if (request.method === "PUT") {
    objects.set(key, await bodyOf(request));
    return response.end();
  }
  if (request.method === "DELETE") {
    objects.delete(key);
    return response.writeHead(204).end();
  }
  if (key === "") return response.end(listing(at));
  const body = objects.get(key);
  if (body === undefined) return response.writeHead(404).end();
  const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "");
  if (range === null) return response.writeHead(200, { "content-length": body.length }).end(body);
  const from = range[1] === "" ? body.length - Number(range[2]) : Number(range[1]);
  const end = range[1] === "" ? body.length : Math.min(body.length, Number(range[2]) + 1);
  response.writeHead(206, { "content-range": `bytes ${from}-${end - 1}/${body.length}` });
  return response.end(body.subarray(from, end));
});

beforeAll(
  () =>
    new Promise<void>((done) => {
      server.listen(0, "127.0.0.1", () => {
        url = `http://127.0.0.1:${(server.address() as { port: number }).port}/bucket`;
        done();
      });
    }),
);
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  objects.clear();
  requests.length = 0;
});

const sign = (request: Request): Request => {
  const headers = new Headers(request.headers);
  headers.set("authorization", `Test ${createHmac("sha256", "k").update(request.url).digest("hex")}`);
  return new Request(request, { headers });
};

describe("a bucket", () => {
  it("keeps a chunk by one PUT, reads by ranges, lists and removes", async () => {
    const store = zarr.s3Store(url, { prefix: "a&b/data.zarr", sign });
    const t = scope(() => arange(64, { dtype: "f32" }).reshape(8, 8));
    await zarr.save(store, { t, u: t, "deep/v": t, w: t }, { chunks: [2, 8], shards: [8, 8] });
    const writes = requests.filter((line) => line.startsWith("PUT") && line.includes("/c/"));
    expect(writes.sort()).toEqual([
      "PUT a&b/data.zarr/deep/v/c/0/0",
      "PUT a&b/data.zarr/t/c/0/0",
      "PUT a&b/data.zarr/u/c/0/0",
      "PUT a&b/data.zarr/w/c/0/0",
    ]);
    requests.length = 0;
    const array = await zarr.openArray(store, { path: "t" });
    const row = await array.read([3]);
    expect(requests).toEqual([
      "GET a&b/data.zarr/t/zarr.json",
      "GET a&b/data.zarr/t/c/0/0 bytes=-68",
      "GET a&b/data.zarr/t/c/0/0 bytes=64-127",
    ]);
    expect(row.toArray()).toEqual([24, 25, 26, 27, 28, 29, 30, 31]);
    const all = await zarr.load(store);
    expect(Object.keys(all)).toEqual(["deep/v", "t", "u", "w"]);
    expect(hexOf(all.u)).toBe(hexOf(t));
    await zarr.createGroup(store, { overwrite: true });
    expect([...objects.keys()]).toEqual(["a&b/data.zarr/zarr.json"]);
    for (const x of [t, row, ...Object.values(all)]) x.dispose();
  });

  it("that is busy is asked again, and one that refuses is told of", async () => {
    const store = zarr.s3Store(url, { sign });
    busy = 2;
    await zarr.createGroup(store);
    expect(await store.has!("zarr.json")).toBe(true);
    const refused = zarr.s3Store(url, { sign: (request) => request });
    await expect(zarr.open(refused)).rejects.toThrow(/key "zarr.json": the server answers with status 403/);
  });

  it("wants an address, keys and a prefix that are some", () => {
    const keys = { accessKeyId: "a", secretAccessKey: "b" };
    expect(() => zarr.s3Store("bucket", keys)).toThrow('the bucket is "bucket".');
    expect(() => zarr.s3Store(5 as never, keys)).toThrow("the bucket is the number 5.");
    expect(() => zarr.s3Store(url)).toThrow("there are no keys to sign with.");
    expect(() => zarr.s3Store(url, { ...keys, prefix: "../x" })).toThrow('the prefix "../x" leads out');
    expect(() => zarr.s3Store(url, { ...keys, region: 5 } as never)).toThrow("region is the number 5.");
    expect(() => zarr.s3Store(url, { sign: 5 } as never)).toThrow("sign is the number 5.");
  });

  it("without aws4fetch says how to get it; with it, requests are signed", async () => {
    const store = zarr.s3Store(url, { accessKeyId: "a", secretAccessKey: "b", region: "eu-central-1" });
    const t = arange(3);
    const made = await zarr.save(store, t).then(
      () => "signed",
      (error: Error) => error.message,
    );
    if (made === "signed") {
      const back = await (await zarr.openArray(store)).read();
      expect(hexOf(back)).toBe(hexOf(t));
      back.dispose();
    }
    t.dispose();
    expect(made).toBe(
      (await load("aws4fetch")) === null
        ? "zarr.s3Store: requests are signed by the package aws4fetch, which is not there.\n" +
            "  npm install aws4fetch\n  Or sign them yourself: { sign: async (request) => … }."
        : "signed",
    );
  });
});
