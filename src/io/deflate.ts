/** Deflated bytes both ways, piece by piece, by what every host has: zip's bare streams, and those in zlib's frame. */
import { unshared } from "./json.ts";

/** "deflate-raw" as zip has it, "deflate" in zlib's frame as PNG has it, "gzip" with a header of its own. */
export type Framing = "deflate-raw" | "deflate" | "gzip";

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
  const stream = new DecompressionStream(framing);
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
        return bad("its deflated bytes are damaged.");
      });
      if (done) return;
      yield value;
    }
  } finally {
    isOver = true;
    await output.cancel().catch(() => {});
    await writer.abort().catch(() => {});
    await feeding;
  }
}

/** Deflated bytes of these pieces, as they come. */
export async function* deflated(
  framing: Framing,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const stream = new CompressionStream(framing);
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
