/**
 * Deflated bytes both ways, piece by piece, by what every host has: zip's bare streams, and those in zlib's frame. Node's
 * own streams hand over 16 KiB at a time, and each piece costs it about as much as unpacking it: there the same stream
 * is made of zlib, with longer pieces.
 */
import { unshared } from "./json.ts";
import { builtin, nodeZlib, type ZlibStream } from "./node.ts";

/** "deflate-raw" as zip has it, "deflate" in zlib's frame as PNG has it, "gzip" with a header of its own. */
export type Framing = "deflate-raw" | "deflate" | "gzip";

/** Bytes of a piece, where it can be said. */
const PIECE = 256 << 10;

const makers = {
  "deflate-raw": ["createDeflateRaw", "createInflateRaw"],
  deflate: ["createDeflate", "createInflate"],
  gzip: ["createGzip", "createGunzip"],
} as const;

const atOnce = { "deflate-raw": "inflateRawSync", deflate: "inflateSync", gzip: "gunzipSync" } as const;
const DAMAGED = "its deflated bytes are damaged.";

interface Pair {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array<ArrayBuffer>>;
}

interface Flow extends Pair {
  /** Packed bytes that were taken up to now; null: this host does not say. */
  taken(): number | null;
}

/** A stream of this host that packs or unpacks. */
function flowOf(framing: Framing, unpacks: boolean): Flow {
  const zlib = nodeZlib();
  const streams = builtin("node:stream") as { Duplex?: { toWeb?(of: ZlibStream): Pair } } | undefined;
  const toWeb = streams?.Duplex?.toWeb;
  if (zlib === undefined || toWeb === undefined) {
    const pair = unpacks ? new DecompressionStream(framing) : new CompressionStream(framing);
    return { readable: pair.readable, writable: pair.writable, taken: () => null };
  }
  const stream = zlib[makers[framing][unpacks ? 1 : 0]]({ chunkSize: PIECE, highWaterMark: 2 * PIECE });
  const { readable, writable } = toWeb(stream);
  return { readable, writable, taken: () => stream.bytesWritten };
}

/** One byte of a deflated stream makes 1032 at the most. */
export const MOST_RATIO = 1032;

/**
 * What the packed pieces unpack to, as it comes. `bad` throws what is wrong with them; what asking for a piece throws is
 * thrown as it is. Ended early, nothing is left under way.
 */
export async function* unpacked(
  framing: Framing,
  packed: AsyncIterable<Uint8Array>,
  bad: (fact: string) => never,
): AsyncGenerator<Uint8Array> {
  const stream = flowOf(framing, true);
  let given = 0;
  const writer = stream.writable.getWriter();
  /** What reading the packed bytes threw; what unpacking them threw is known by itself. */
  let failure: { readonly error: unknown } | null = null;
  let isOver = false;
  const pieces = async function* () {
    try {
      yield* packed;
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  const feed = async () => {
    for await (const piece of pieces()) {
      if (isOver) return;
      given += piece.length;
      await writer.write(unshared(piece));
    }
    await writer.close();
  };
  const feeding = feed().catch((error: unknown) => writer.abort(error).catch(() => {}));
  const output = stream.readable.getReader();
  try {
    for (;;) {
      const { done, value } = await output.read().catch(async () => {
        await feeding;
        if (failure !== null) throw (failure as { readonly error: unknown }).error;
        return bad(DAMAGED);
      });
      if (done) {
        checkEnd(framing, given, stream.taken() ?? given, bad);
        return;
      }
      yield value;
    }
  } finally {
    isOver = true;
    await output.cancel().catch(() => {});
    await writer.abort().catch(() => {});
    await feeding;
  }
}

/** Up to so many bytes, packed and unpacked, are unpacked at once: a stream costs more than they do. */
const SHORT = 64 << 10;

/**
 * What a short packed text unpacks to, `size` bytes at the most, as the pieces that `unpacked` would give; null: it is
 * not short, or this host has streams only.
 */
export function unpackedShort(
  framing: Framing,
  packed: () => Promise<Uint8Array>,
  packedSize: number,
  size: number,
  bad: (fact: string) => never,
): AsyncGenerator<Uint8Array> | null {
  const zlib = nodeZlib();
  if (zlib === undefined || size > SHORT || packedSize > SHORT) return null;
  return (async function* () {
    const bytes = unshared(await packed());
    const options = { chunkSize: Math.max(64, size + 1), maxOutputLength: size + 1, info: true } as const;
    let got: { readonly buffer: Uint8Array; readonly engine: ZlibStream };
    try {
      got = zlib[atOnce[framing]](bytes, options);
    } catch (error) {
      const isLong = (error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE";
      return bad(isLong ? `it unpacks to more than its ${size} bytes.` : DAMAGED);
    }
    checkEnd(framing, bytes.length, got.engine.bytesWritten, bad);
    yield got.buffer;
  })();
}

/** Nothing may follow: browsers refuse it by themselves. Several of gzip may follow each other. */
function checkEnd(framing: Framing, given: number, taken: number, bad: (fact: string) => never): void {
  if (framing !== "gzip" && given > taken)
    bad(`${given - taken} bytes follow the end of its deflated bytes.`);
}

/** Deflated bytes of these pieces, as they come. */
export async function* deflated(
  framing: Framing,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const stream = flowOf(framing, false);
  const writer = stream.writable.getWriter();
  const feed = async () => {
    try {
      for await (const piece of pieces) await writer.write(unshared(piece));
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => {});
      throw error;
    }
  };
  const feeding = feed();
  feeding.catch(() => {});
  const output = stream.readable.getReader();
  try {
    for (;;) {
      const { done, value } = await output.read();
      if (done) break;
      yield value;
    }
  } finally {
    await output.cancel().catch(() => {});
  }
  await feeding;
}
