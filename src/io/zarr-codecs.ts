/**
 * What happens to the bytes of a chunk between memory and store: packers, one row each. How long something may become is
 * known beforehand, in both directions: what unpacks to more than its chunk is stopped, not kept. Codecs of optional
 * packages are imported when they are first used.
 */
import { fail, TensorError, written } from "../errors.ts";
import { crc32c, hex } from "./crc32.ts";
import { unshared } from "./json.ts";
import { nodeZlib } from "./node.ts";
import { messageOf } from "./source.ts";

/** One step from bytes to bytes. */
export interface Packer {
  readonly name: string;
  /** Bytes that n bytes become: at the most, and exactly if it is `exact`. */
  readonly exact: boolean;
  most(n: number): number;
  pack(bytes: Uint8Array): Promise<Uint8Array>;
  /** The bytes that were packed: `size` of them, or at the most where it is not known exactly. */
  unpack(bytes: Uint8Array, size: number, bad: Bad): Promise<Uint8Array>;
}

/** Throws what is wrong with a chunk. */
export type Bad = (fact: string, remedy?: string) => never;

/** A codec as numcodecs has it: a class that makes one of a configuration. */
export interface ZarrCodec {
  /** Bytes, packed. */
  encode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** Packed bytes, unpacked. */
  decode(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}
/** A class of codecs, as numcodecs has them. */
export interface ZarrCodecClass {
  /** A codec of a configuration, as metadata have it. */
  fromConfig(config: Record<string, unknown>): ZarrCodec;
}
/** Loads a codec: `() => import("numcodecs/blosc")`, for bundlers that have to see the import, and for codecs of your own. */
export type ZarrLoader = () => unknown;
export type Loaders = ReadonlyMap<string, ZarrLoader>;

/** The configuration of a codec, read from metadata or from options. */
export type Config = ReadonlyMap<string, unknown>;

/* The pipeline ----------------------------------------------------------------------------------------- */

/** Bytes a chunk has when it was packed: at the most, and whether it is exactly so. */
export function packedSize(packers: readonly Packer[], n: number): { most: number; exact: boolean } {
  let most = n;
  for (const packer of packers) most = packer.most(most);
  return { most, exact: packers.every((packer) => packer.exact) };
}

/** The bytes of a chunk as they are stored: one packer after the other. */
export async function packAll(packers: readonly Packer[], bytes: Uint8Array): Promise<Uint8Array> {
  let packed = bytes;
  for (const packer of packers) packed = await packer.pack(packed);
  return packed;
}

/** The `n` bytes of a chunk. */
export async function unpackAll(
  packers: readonly Packer[],
  bytes: Uint8Array,
  n: number,
  bad: Bad,
): Promise<Uint8Array> {
  const sizes = [n];
  let isExact = true;
  const exact = [true];
  for (const packer of packers) {
    sizes.push(packer.most(sizes.at(-1)!));
    isExact &&= packer.exact;
    exact.push(isExact);
  }
  let left = bytes;
  const check = (i: number) => {
    const wrong = exact[i] ? left.length !== sizes[i] : left.length > sizes[i];
    if (wrong)
      bad(`it has ${left.length} bytes, ${sizes[i]} ${exact[i] ? "are" : "at the most are"} expected.`);
  };
  check(packers.length);
  for (let i = packers.length - 1; i >= 0; i--) {
    left = await packers[i].unpack(left, sizes[i], bad);
    check(i);
  }
  return left;
}

/* By hand ---------------------------------------------------------------------------------------------- */

/** Packing never makes much more of anything; what is longer was not packed from so little. */
const mostPacked = (n: number): number => 2 * n + 65536;
/** One byte of a deflated stream makes 1032 at the most. */
const MOST_RATIO = 1032;

function deflating(name: "gzip" | "zlib", level: number): Packer {
  const format = name === "gzip" ? "gzip" : "deflate";
  return {
    name,
    exact: false,
    most: mostPacked,
    pack(bytes) {
      const zlib = nodeZlib();
      if (zlib === undefined)
        return streamed(new CompressionStream(format), bytes, Infinity, () => failStream(name));
      return new Promise((done, lost) => {
        const taken = (error: Error | null, packed: Uint8Array) =>
          error === null ? done(packed) : lost(error);
        (name === "gzip" ? zlib.gzip : zlib.deflate)(unshared(bytes), { level }, taken);
      });
    },
    unpack(bytes, size, bad) {
      if (size > bytes.length * MOST_RATIO) {
        bad(`its ${bytes.length} bytes of ${name} cannot unpack to ${size}.`);
      }
      const zlib = nodeZlib();
      const damaged = (): never => bad(`its ${name} is damaged.`);
      if (zlib === undefined) return streamed(new DecompressionStream(format), bytes, size, damaged, bad);
      // A buffer of the whole size at once, unless that is far more than there is reason to believe.
      const chunkSize = Math.max(64, Math.min(size, 16 * bytes.length, 64 << 20));
      return new Promise((done, lost) => {
        const taken = (error: Error | null, unpacked: Uint8Array) => {
          if (error === null) return done(unpacked);
          try {
            const isLong = (error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE";
            if (isLong) bad(`it unpacks to more than ${size} bytes.`);
            damaged();
          } catch (said) {
            lost(said);
          }
        };
        const options = { chunkSize, maxOutputLength: Math.max(1, size) };
        (name === "gzip" ? zlib.gunzip : zlib.inflate)(unshared(bytes), options, taken);
      });
    },
  };
}

const failStream = (name: string): never => fail("file", "zarr", `this host cannot pack with ${name}.`);

/** Through a stream of the host, as far as it may go. */
async function streamed(
  stream: GenericTransformStream,
  bytes: Uint8Array,
  most: number,
  damaged: () => never,
  bad?: Bad,
): Promise<Uint8Array> {
  const writer = (stream.writable as WritableStream<Uint8Array>).getWriter();
  const feed = async () => {
    await writer.write(unshared(bytes));
    await writer.close();
  };
  const feeding = feed().catch(() => {});
  const output = (stream.readable as ReadableStream<Uint8Array>).getReader();
  const pieces: Uint8Array[] = [];
  let total = 0;
  try {
    for (;;) {
      const { done, value } = await output.read().catch(damaged);
      if (done) break;
      total += value.length;
      if (total > most) bad?.(`it unpacks to more than ${most} bytes.`);
      pieces.push(value);
    }
  } finally {
    await output.cancel().catch(() => {});
    await writer.abort().catch(() => {});
    await feeding;
  }
  if (pieces.length === 1) return pieces[0];
  const all = new Uint8Array(total);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

interface GenericTransformStream {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

/** Castagnoli's checksum, four bytes after the others. */
export const checksum: Packer = {
  name: "crc32c",
  exact: true,
  most: (n) => n + 4,
  async pack(bytes) {
    const out = new Uint8Array(bytes.length + 4);
    out.set(bytes);
    new DataView(out.buffer).setUint32(bytes.length, crc32c(bytes), true);
    return out;
  },
  async unpack(bytes, _, bad) {
    if (bytes.length < 4) bad(`it has ${bytes.length} bytes, too few for a checksum.`);
    const body = bytes.subarray(0, bytes.length - 4);
    const said = new DataView(bytes.buffer, bytes.byteOffset + body.length, 4).getUint32(0, true);
    const sum = crc32c(body);
    if (sum !== said) bad(`its checksum is ${hex(sum)}, it should be ${hex(said)}.`);
    return body;
  },
};

/* By numcodecs ----------------------------------------------------------------------------------------- */

const u32 = (bytes: Uint8Array, at: number): number =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at, true);

/** What packed bytes say they unpack to, before anything unpacks them. */
const claims: Readonly<Record<string, (bytes: Uint8Array, bad: Bad) => number>> = {
  lz4(bytes, bad) {
    if (bytes.length < 4) bad("its lz4 is cut.");
    return u32(bytes, 0);
  },
  blosc(bytes, bad) {
    if (bytes.length < 16 || u32(bytes, 12) > bytes.length) bad("its blosc is cut.");
    return u32(bytes, 4);
  },
  zstd: zstdClaim,
};

/**
 * Zstandard's frames, one after the other: each says how long it becomes, or its blocks do. A block of raw or repeated bytes
 * says so exactly, any other makes 128 KiB at the most.
 */
function zstdClaim(bytes: Uint8Array, bad: Bad): number {
  const cut = (): never => bad("its zstd is damaged.");
  const BLOCK = 128 << 10;
  let at = 0;
  let total = 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  while (at < bytes.length) {
    if (at + 5 > bytes.length) cut();
    const magic = view.getUint32(at, true);
    if (magic >>> 4 === 0x0184d2a5) {
      if (at + 8 > bytes.length) cut();
      at += 8 + view.getUint32(at + 4, true);
      continue;
    }
    if (magic !== 0xfd2fb528) cut();
    const head = bytes[at + 4];
    const isSingle = (head & 32) !== 0;
    const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][head >> 6];
    const dictionary = [0, 1, 2, 4][head & 3];
    let p = at + 5 + (isSingle ? 0 : 1) + dictionary;
    if (p + sizeBytes > bytes.length) cut();
    let said: number | null = null;
    if (sizeBytes === 1) said = bytes[p];
    else if (sizeBytes === 2) said = view.getUint16(p, true) + 256;
    else if (sizeBytes === 4) said = view.getUint32(p, true);
    else if (sizeBytes === 8) said = Number(view.getBigUint64(p, true));
    p += sizeBytes;
    let blocks = 0;
    for (let isLast = false; !isLast; ) {
      if (p + 3 > bytes.length) cut();
      const block = bytes[p] | (bytes[p + 1] << 8) | (bytes[p + 2] << 16);
      isLast = (block & 1) === 1;
      const [type, size] = [(block >> 1) & 3, block >> 3];
      if (type === 3) cut();
      blocks += type === 2 ? Math.min(BLOCK, Math.max(size, 1) * 4096) : size;
      p += 3 + (type === 1 ? 1 : size);
    }
    total += said ?? blocks;
    at = p + (head & 4 ? 4 : 0);
  }
  if (at !== bytes.length) cut();
  return total;
}

/** Where the packages' codecs are; hidden from bundlers, since most users have none of them. */
const packages: Readonly<Record<string, string>> = {
  blosc: "numcodecs/blosc",
  lz4: "numcodecs/lz4",
  zstd: "numcodecs/zstd",
};

/** Blosc's shuffling by name, as version 3 has it. */
const shuffles: readonly string[] = ["noshuffle", "shuffle", "bitshuffle"];

function byPackage(name: string, config: Config, loaders: Loaders): Packer {
  let codec: Promise<ZarrCodec> | null = null;
  const loaded = () => {
    codec ??= loadCodec(name, config, loaders);
    return codec;
  };
  return {
    name,
    exact: false,
    most: mostPacked,
    async pack(bytes) {
      const { encode } = await bound(loaded());
      return viewed(name, await encode(unshared(bytes)));
    },
    async unpack(bytes, size, bad) {
      const said = Object.hasOwn(claims, name) ? claims[name](bytes, bad) : null;
      // Several small blocks may claim more than they make.
      const most = name === "zstd" ? 16 * size + (1 << 20) : size;
      if (said !== null && said > most) bad(`it says it unpacks to ${said} bytes, ${size} are expected.`);
      const { decode } = await bound(loaded());
      let got: unknown;
      try {
        got = await decode(unshared(bytes));
      } catch (error) {
        const why = error instanceof Error && error.message !== "" ? `: ${error.message.slice(0, 200)}` : "";
        return bad(`its ${name} is damaged${why}.`);
      }
      return viewed(name, got);
    },
  };
}

const bound = async (codec: Promise<ZarrCodec>): Promise<ZarrCodec> => {
  const of = await codec;
  return { encode: (bytes) => of.encode(bytes), decode: (bytes) => of.decode(bytes) };
};

function viewed(name: string, bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes;
  return fail("value", "zarr", `the codec ${name} gave no Uint8Array.`, "Its encode and decode give bytes.");
}

async function loadCodec(name: string, config: Config, loaders: Loaders): Promise<ZarrCodec> {
  const plain: Record<string, unknown> = { id: name, ...Object.fromEntries(config) };
  if (typeof plain.shuffle === "string") plain.shuffle = shuffles.indexOf(plain.shuffle);
  const loader = loaders.get(name);
  let module: unknown;
  if (loader !== undefined) module = await loader();
  else {
    const from = packages[name];
    try {
      module = await import(/* @vite-ignore */ /* webpackIgnore: true */ from);
    } catch {
      fail(
        "value",
        "zarr",
        `the codec ${name} needs the package numcodecs, which is not there.`,
        `npm install numcodecs\nWhere a bundler has to see it: { loaders: { ${name}: () => import("${from}") } }.`,
      );
    }
  }
  const found = module as { default?: unknown; fromConfig?: unknown; encode?: unknown } | null | undefined;
  const made = (typeof found?.fromConfig === "function" ? found : found?.default) ?? found;
  if (typeof (made as ZarrCodecClass | undefined)?.fromConfig === "function") {
    try {
      return (made as ZarrCodecClass).fromConfig(plain);
    } catch (error) {
      if (error instanceof TensorError) throw error;
      const why = messageOf(error).replace(/\s+/g, " ").slice(0, 200);
      return fail("file", "zarr", `the codec ${name} takes no such configuration: ${why}`);
    }
  }
  const codec = made as Partial<ZarrCodec> | undefined;
  if (typeof codec?.encode === "function" && typeof codec.decode === "function") return codec as ZarrCodec;
  return fail(
    "value",
    "zarr",
    `the loader of ${name} gave no codec.`,
    "A codec has encode and decode, or fromConfig.",
  );
}

/* The table -------------------------------------------------------------------------------------------- */

const levelOf = (config: Config, otherwise: number, refuse: Bad): number => {
  const level = config.get("level") ?? otherwise;
  if (Number.isInteger(level) && (level as number) >= -1 && (level as number) <= 9) return level as number;
  return refuse(`the level ${written(level).slice(0, 40)} of a codec is none of 0 … 9.`);
};

const table: Readonly<Record<string, (config: Config, loaders: Loaders, refuse: Bad) => Packer>> = {
  gzip: (config, _, refuse) => deflating("gzip", levelOf(config, 5, refuse)),
  zlib: (config, _, refuse) => deflating("zlib", levelOf(config, 1, refuse)),
  crc32c: () => checksum,
  blosc: (config, loaders) => byPackage("blosc", config, loaders),
  lz4: (config, loaders) => byPackage("lz4", config, loaders),
  zstd: (config, loaders) => byPackage("zstd", config, loaders),
};

/** The packer of a name and a configuration; `refuse` throws where there is none. */
export function packerOf(name: string, config: Config, loaders: Loaders, refuse: Bad): Packer {
  // Version 3 calls those of numcodecs so.
  const short = name.replace(/^numcodecs\./, "");
  if (Object.hasOwn(table, short)) return table[short](config, loaders, refuse);
  if (loaders.has(name)) return byPackage(name, config, loaders);
  const known = Object.keys(table).join(", ");
  return refuse(
    `the codec ${JSON.stringify(name.slice(0, 80))} is not known.`,
    `Known are ${known}, and others by { loaders: { name: () => import("…") } }.`,
  );
}

/** Names of packers that there are. */
export const packerNames: readonly string[] = Object.keys(table);
