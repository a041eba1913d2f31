/** `strided convert`: tensors of one file into another, a piece at a time where the formats allow it. */
import { full, mapReduce, scope } from "../../api.ts";
import { type DType, dtypeNames, dtypes, isFloat } from "../../dtype.ts";
import { counted, TensorError, unreachable } from "../../errors.ts";
import { cutsOf } from "../../io/cuts.ts";
import { plainText } from "../../plot/text.ts";
import { type Quantised, quantise } from "../../quantised/quantised.ts";
import {
  blockTypeOf,
  blockTypes,
  type EncodedDType,
  encodedNames,
  isEncoded,
} from "../../quantised/types.ts";
import type { Tensor } from "../../tensor.ts";
import type { Archive, ChunkSettings, Entry, Lazy, Target } from "../archive-types.ts";
import type { Parsed } from "../args.ts";
import { BLOCK, blocksOfEntry, checkWalk } from "../blocks.ts";
import { type Command, except, given, help, json, links, only } from "../command.ts";
import { chosen, dtypeOf, nameOf, readAs, shownName, tensors, using, withArchive } from "../entries.ts";
import { type Host, jsonText, Progress, Usage } from "../host.ts";

/** Bytes of a tensor that are in memory at a time, where it is written as it is read. */
const PIECE = 16 << 20;

export const convert: Command = {
  usage: "IN OUT [--dtype DTYPE] [--all] [--only GLOB] [--chunks 256x256] [--force] [--json]",
  says: "tensors of one file into another, in the format its name ends in",
  more:
    `DTYPE is one of ${dtypeNames.join(" ")}.\n` +
    "It makes floats of floats, or whole numbers of whole numbers, so that indices stay whole: --all converts everything.\n" +
    `Or, for a file of GGUF, a block type: ${encodedNames.join(" ")}.\n` +
    "Then matrices of floats whose rows are whole blocks are quantised, and the rest stays as it is; with --all vectors are\n" +
    "quantised too. What is quantised is held in memory until the file is written; other tensors are read while they are\n" +
    "written, a few megabytes at a time, so a file may be larger than memory; what is deflated, packed or in text is read one\n" +
    "tensor at a time. The new file, or the folder OUT.zarr, appears when it is complete.",
  flags: {
    dtype: {
      kind: "text",
      value: "DTYPE",
      says: "what floats become, or, if it is none of floats, whole numbers and bools",
    },
    all: { kind: "flag", says: "with --dtype: every tensor" },
    only,
    except,
    chunks: {
      kind: "text",
      value: "AxB",
      says: "of a .zarr: sizes of a chunk, at most the tensor's; default such that it has about 1 MiB",
    },
    shards: { kind: "text", value: "AxB", says: "of a .zarr: several chunks to a file, sizes of these" },
    compressor: {
      kind: "text",
      value: "NAME",
      says: "of a .zarr: gzip, zlib, zstd, blosc or lz4; default none",
    },
    zarr: { kind: "number", value: "2|3", says: "of a .zarr: its version; default 3" },
    rate: { kind: "number", value: "HZ", says: "of a .wav: frames a second; default those of IN, or 44100" },
    to: { kind: "text", value: "ENDING", says: "where OUT is -, standard output: the format, as npy" },
    force: { kind: "flag", says: "write over a file that is there" },
    json,
    links,
    help,
  },
  examples: [
    "strided convert weights.npz weights.safetensors",
    "strided convert big.npy big.zarr --chunks 256x256 --compressor gzip",
    "strided convert model.safetensors small.safetensors --dtype f16",
    "strided convert model.gguf embedding.npy --only token_embd.weight",
    "strided convert model.safetensors model.gguf --dtype q4_K",
    "strided convert prices.csv prices.parquet",
    "strided convert samples.npy samples.wav --rate 8000",
    "strided convert photo.ppm - --to png",
  ],
  words: [2, 2],
  run: (args, host) => {
    const [from, out] = args.words;
    const piped = pipedAs(args, out);
    const to = piped ?? out;
    const isGguf = to.toLowerCase().endsWith(".gguf");
    const dtype = anyDTypeOf(args.text("dtype"), isGguf);
    const rate = rateOf(args, to);
    if (piped === null && !args.flag("force") && host.exists(to))
      throw new Usage(`${plainText(to)} is there already: --force writes over it.`);
    return withArchive(host, args, from, async (archive) => {
      const entries = chosen(archive.entries, args);
      if (entries.length === 0) throw new Usage("the file has no tensors.");
      const lost: Lost = new Map();
      const tellLost = () => {
        for (const [name, why] of lost) host.err(`strided convert: ${shownName(name)}: ${why}\n`);
      };
      const left = host.files.leaves?.(to, archive) ?? [];
      const tell = (written: readonly Pick<Lazy, "name" | "dtype" | "shape">[]) => {
        if (left.length > 0) host.err(`strided convert: metadata left out: ${someOf(left)}.\n`);
        if (piped !== null) return;
        if (args.flag("json")) {
          const told = written.map((t) => ({ ...t, ...given({ lost: lost.get(t.name) }) }));
          return host.out(
            jsonText({ file: to, entries: told, ...(left.length > 0 ? { metadataLeftOut: left } : {}) }),
          );
        }
        const count = written.filter((t) => t.dtype === dtype).length;
        const isTold = dtype !== undefined && (count < written.length || blockTypeOf(dtype) !== null);
        const more = isTold ? `, ${count} of them as ${dtype}` : "";
        host.out(`${nameOf(from)} → ${plainText(to)}: ${tensors(written.length)}${more}`);
      };
      const settings = chunkSettings(args);
      // Those that cannot be read say so before anything is written.
      for (const entry of entries) if (readAs(entry) === null) await refused(archive, entry);
      for (const entry of entries) checkWalk(entry);
      checkChange(entries, dtype, args.flag("all"));
      const filled = host.files.target?.(to, archive, entries.length > 1, settings, (target) =>
        convertInBlocks(host, archive, entries, target, dtype as DType | undefined, args.flag("all"), lost),
      );
      if (filled !== null && filled !== undefined) {
        const written = await filled.finally(tellLost);
        tell(written);
        return 0;
      }
      for (const name of chunkFlags) {
        if (args.text(name) !== undefined) throw new Usage(`--${name} is for a .zarr.`);
      }
      const about =
        rate === undefined ? archive : { ...archive, meta: { ...archive.meta, sampleRate: rate } };
      const progress = new Progress(host, entries.length);
      const begun = new Set<string>();
      const begin = (name: string) => {
        if (!begun.has(name)) progress.step(name);
        begun.add(name);
      };
      const made = entries.map((entry) =>
        lazyOf(archive, entry, dtype, args.flag("all"), isGguf, begin, lost),
      );
      try {
        if (piped !== null) await host.pipe(piped, (path) => host.files.save(path, made, about));
        else await host.files.save(to, made, about);
      } finally {
        progress.end();
        tellLost();
      }
      tell(made.map(({ name, dtype: d, shape }) => ({ name, dtype: d, shape })));
      return 0;
    });
  },
};

/** Names, the first of them where they are many. */
const someOf = (names: readonly string[]): string =>
  names.slice(0, 8).map(plainText).join(", ") + (names.length > 8 ? `, … (${names.length} in all)` : "");

/** The name of a file that goes to standard output; null: it does not. */
function pipedAs(args: Parsed, out: string): string | null {
  const ending = args.text("to");
  if (out !== "-") {
    if (ending === undefined) return null;
    throw new Usage("--to goes with - for OUT.");
  }
  if (ending === undefined) throw new Usage("- is standard output: say the format, as --to npy.");
  if (args.flag("json")) throw new Usage("standard output is the file's: leave --json out.");
  const name = `out.${ending.replace(/^\./, "")}`;
  if (/[/\\\0]/.test(name) || /\.(zarr|index\.json)$/i.test(name))
    throw new Usage(
      `--to is ${JSON.stringify(ending)}: give the ending of a format of one file, as --to npy.`,
    );
  return name;
}

/** Frames a second of a sound. */
function rateOf(args: Parsed, to: string): number | undefined {
  const rate = args.number("rate");
  if (rate === undefined) return undefined;
  if (!/\.wav$/i.test(to)) throw new Usage("--rate is for a .wav.");
  if (!(Number.isInteger(rate) && rate > 0))
    throw new Usage(`--rate is ${rate}: write frames a second, such as 44100.`);
  return rate;
}

/** Why it cannot be read, and how to go on without it. */
async function refused(archive: Archive, { name }: Entry): Promise<never> {
  try {
    (await archive.read(name)).dispose();
  } catch (error) {
    const { code = "file", message } = error as TensorError;
    throw new TensorError(code, `${message}\n  Without it: --except ${JSON.stringify(name)}.`);
  }
  return unreachable(`${name} has no dtype, and was read`);
}

/** The same, or a block type where the new file can hold it. */
function anyDTypeOf(name: string | undefined, isGguf: boolean): DType | EncodedDType | undefined {
  // As `info` writes them, Q4_K, and as the library does.
  const block = encodedNames.find((made) => made.toLowerCase() === name?.toLowerCase());
  if (block === undefined) return dtypeOf(name, isGguf ? encodedNames : []);
  if (isGguf) return block;
  throw new Usage(
    `${block} is a block type: only files of GGUF hold it, and the new one does not end in .gguf.`,
  );
}

/** What a tensor of a dtype becomes. */
const becomes = (from: DType, dtype: DType | undefined, all: boolean): DType =>
  dtype === undefined || (!all && isFloat(dtype) !== isFloat(from)) ? from : dtype;

/** Throws where --dtype would be without any effect. */
function checkChange(entries: readonly Entry[], dtype: DType | EncodedDType | undefined, all: boolean): void {
  if (dtype === undefined || blockTypeOf(dtype) !== null) return;
  const to = dtype as DType;
  const kept = entries.find((entry) => becomes(readAs(entry) as DType, to, all) !== to);
  if (kept === undefined || entries.some((entry) => becomes(readAs(entry) as DType, to, all) === to)) return;
  const [whole, floats] = ["whole numbers", "floats"];
  const [given, made] = isFloat(to) ? [whole, floats] : [floats, whole];
  throw new Usage(
    `--dtype ${to} would change nothing: ${shownName(kept.name)} is ${kept.dtype}, and of ${given} it makes ${made} with --all only.`,
  );
}

/** A tensor of the file as it will be written, in pieces where a slice of it can be read alone. */
function lazyOf(
  archive: Archive,
  entry: Entry,
  dtype: DType | EncodedDType | undefined,
  all: boolean,
  isGguf: boolean,
  begin: (name: string) => void,
  lost: Lost,
): Lazy {
  const { name, shape } = entry;
  const from = readAs(entry) ?? "u8";
  const block = blockTypeOf(dtype);
  const plain = block === null ? (dtype as DType | undefined) : undefined;
  const to = becomes(from, plain, all);
  const { count, restart } = counterOf(name, from, to, lost);
  const converted = (t: Tensor): Tensor => convertedTo(t, to, count);
  const whole = async () => {
    begin(name);
    restart();
    return converted(await archive.read(name));
  };
  const own = entry.decoded === undefined ? null : blockTypeOf(entry.type);
  const isKept =
    own !== null && isGguf && archive.keep !== undefined && (dtype === undefined || own === block);
  const fits =
    block !== null &&
    isEncoded(block) &&
    isFloat(from) &&
    shape.length >= (all ? 1 : 2) &&
    shape[shape.length - 1] % blockTypes[block].block === 0;
  const blocks = async (): Promise<Quantised> => {
    begin(name);
    if (isKept) return (await archive.keep!(name)) as Quantised;
    return using(await archive.read(name), (t) => {
      const why = lostIn(t, block as EncodedDType);
      if (why !== null) lost.set(name, why);
      return quantise(t, block as EncodedDType);
    });
  };
  const isCut = entry.whole !== true && entry.decoded === undefined && isRowMajor(entry);
  return {
    name,
    dtype: isKept ? own : fits ? (block as EncodedDType) : to,
    shape,
    whole,
    ...(isKept || fits ? { blocks } : {}),
    async *pieces() {
      const size = shape.reduce((a, b) => a * b, 1);
      if (size === 0) return;
      const itemBytes = Math.max(dtypes[from].bytes, dtypes[to].bytes);
      if (!isCut || size * itemBytes <= PIECE) {
        yield await whole();
        return;
      }
      begin(name);
      restart();
      for (const items of cutsOf(shape, itemBytes, PIECE)) yield converted(await archive.read(name, items));
    },
  };
}

/** What the new file does not hold of a tensor's elements, as a line, by its name. */
type Lost = Map<string, string>;

/** Counts, piece by piece, the elements that are beyond a dtype. */
function counterOf(name: string, from: DType, to: DType, lost: Lost) {
  let beyond = 0;
  const whole = isFloat(from) ? "became the nearest that it has, and NaN 0" : "wrapped";
  const became = isFloat(to) ? "became infinite" : whole;
  return {
    restart() {
      beyond = 0;
    },
    count(t: Tensor, made: Tensor) {
      beyond += beyondIn(t, made);
      if (beyond > 0) lost.set(name, `${counted(beyond, "element")} beyond ${to}, which ${became}.`);
    },
  };
}

/** In another dtype; the given one is let go of. */
function convertedTo(t: Tensor, to: DType, count: (t: Tensor, made: Tensor) => void): Tensor {
  if (t.dtype === to) return t;
  return using(t, () => {
    const made = t.to(to);
    count(t, made);
    return made;
  });
}

/** How many elements the dtype that they became does not reach: finite ones that are infinite, and whole numbers out of range. */
function beyondIn(t: Tensor, made: Tensor): number {
  const [from, to] = [dtypes[t.dtype], dtypes[made.dtype]];
  const isWithin = from.min >= to.min && from.max <= to.max && (from.kind !== "float" || to.kind === "float");
  if (to.kind === "bool" || isWithin) return 0;
  const f64 = { compute: "f64", dtype: "f64" } as const;
  const sum = (of: Tensor, fn: (x: number) => number) => scope(() => Number(mapReduce([of], fn, f64).item()));
  if (to.kind === "float") {
    const infinite = (of: Tensor) => sum(of, (x) => (Math.abs(x) === Infinity ? 1 : 0));
    return infinite(made) - (from.kind === "float" ? infinite(t) : 0);
  }
  // Computed as f64, the largest of i64 and their next are one number.
  if (from.name === "u64" && to.name === "i64") return sum(made, (x) => (x < 0 ? 1 : 0));
  const bounds = { below: Number(to.min) - 1, least: Number(to.min), above: Number(to.max) + 1 };
  const isBeyond = ((x: number, { below, least, above }: typeof bounds) =>
    (x > below || x === least) && x < above ? 0 : 1) as unknown as (x: number) => number;
  return scope(() => Number(mapReduce([t], isBeyond, { with: bounds, ...f64 }).item()));
}

/** Which elements no block of a type holds, as a line; null: there are none. */
function lostIn(t: Tensor, type: EncodedDType): string | null {
  return scope(() => {
    const odd = Number(mapReduce([t], (x) => (Math.abs(x) < Infinity ? 0 : 1), { dtype: "f64" }).item());
    const rest = "and others of their blocks are lost with them.";
    if (odd > 0) return `${counted(odd, "element")} NaN or infinite: ${type} holds neither, ${rest}`;
    const most = Number(mapReduce([t], (x) => Math.abs(x), { reduce: "max", init: 0, dtype: "f64" }).item());
    const back = quantise(full([blockTypes[type].block], most, { dtype: "f64" }), type).dequantise();
    const isHeld = most === 0 || Math.abs(Number(back.get(0)) / most - 1) < 0.5;
    return isHeld ? null : `elements up to ${Number(most.toPrecision(3))} are too large for ${type}, ${rest}`;
  });
}

/** Rows that follow each other follow each other in the file. Without strides they lie in pieces, each of them so. */
function isRowMajor({ byteStrides, shape }: Entry): boolean {
  if (byteStrides === undefined) return true;
  const sizes = byteStrides.filter((_, d) => shape[d] > 1).map(Math.abs);
  return sizes.every((s, d) => d === 0 || s <= sizes[d - 1]);
}

const chunkFlags = ["chunks", "shards", "compressor", "zarr"];

function chunkSettings(args: Parsed): ChunkSettings {
  const sizes = (name: string): number[] | undefined => {
    const text = args.text(name);
    if (text === undefined) return undefined;
    if (!/^\d+([x,]\d+)*$/.test(text))
      throw new Usage(`--${name} is ${JSON.stringify(text)}: write 256x256.`);
    return text.split(/[x,]/).map(Number);
  };
  const version = args.number("zarr");
  if (version !== undefined && version !== 2 && version !== 3)
    throw new Usage(`--zarr is ${version}: there are 2 and 3.`);
  return {
    ...given({
      chunks: sizes("chunks"),
      shards: sizes("shards"),
      compressor: args.text("compressor"),
      version,
    }),
    overwrite: args.flag("force"),
  };
}

/** Tensors into a file that is written block by block, each block of whole chunks. */
async function convertInBlocks(
  host: Host,
  archive: Archive,
  entries: readonly Entry[],
  target: Target,
  dtype: DType | undefined,
  all: boolean,
  lost: Lost,
): Promise<{ name: string; dtype: DType; shape: readonly number[] }[]> {
  const written: { name: string; dtype: DType; shape: readonly number[] }[] = [];
  const progress = new Progress(
    host,
    entries.reduce((n, entry) => n + Math.ceil(Math.max(1, entry.bytes) / BLOCK), 0),
  );
  try {
    for (const entry of entries) {
      const from = readAs(entry) as DType;
      const to = becomes(from, dtype, all);
      const { count } = counterOf(entry.name, from, to, lost);
      const sink = await target.add(entries.length > 1 ? entry.name : null, to, entry.shape);
      const blocks = blocksOfEntry({ ...entry, chunks: sink.chunks }) ?? [undefined];
      for (const block of blocks) {
        progress.step(entry.name);
        const made = convertedTo(await archive.read(entry.name, block?.slice), to, count);
        try {
          await sink.write(block?.slice ?? [], made);
        } finally {
          made.dispose();
        }
      }
      written.push({ name: entry.name, dtype: to, shape: entry.shape });
    }
  } finally {
    progress.end();
  }
  return written;
}
