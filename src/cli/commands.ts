/**
 * `npx strided` as functions: one row a command, what it takes and what it does. A command writes through its host and
 * returns its exit code: 0 all is well, 1 something differs or failed, 2 it was called in a way that does not exist.
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import { type DType, dtypeNames, dtypes, isFloat } from "../dtype.ts";
import { engine } from "../engine.ts";
import { list, TensorError, unreachable } from "../errors.ts";
import { cutsOf } from "../io/cuts.ts";
import type { PlotColor, PlotKind } from "../plot/options.ts";
import { short } from "../plot/scale.ts";
import { plainText } from "../plot/text.ts";
import { plot } from "../plot.ts";
import { type Quantised, quantise } from "../quantised/quantised.ts";
import { blockTypeOf, blockTypes, type EncodedDType, encodedNames, isEncoded } from "../quantised/types.ts";
import type { Tensor } from "../tensor.ts";
import type { Archive, ChunkSettings, Entry, Lazy, Target } from "./archive-types.ts";
import { type Flag, matches, type Parsed, parseArgs, parseSlice } from "./args.ts";
import { type Row as BenchRow, benchmark } from "./bench.ts";
import { BLOCK, type Block, blocksOfEntry } from "./blocks.ts";
import { examine } from "./doctor.ts";
import { explainText } from "./explain.ts";
import { type Host, jsonText, Progress, plainLines, Usage } from "./host.ts";
import {
  countsOf,
  type Difference,
  differenceOf,
  joinDifferences,
  joinStatistics,
  lineOf,
  type Statistics,
  statisticsOf,
} from "./statistics.ts";
import { bytesText, columns } from "./table.ts";

export interface Command {
  /** What follows the command's name. */
  readonly usage: string;
  readonly says: string;
  /** More than a line, for its own help. */
  readonly more?: string;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly examples: readonly string[];
  readonly words: readonly [least: number, most: number];
  run(args: Parsed, host: Host): Promise<number>;
}

const json: Flag = { kind: "flag", says: "the same as JSON" };
const only: Flag = {
  kind: "list",
  value: "GLOB",
  says: "tensors whose name fits, with * and ?; may be repeated",
};
const except: Flag = { kind: "list", value: "GLOB", says: "leave those out; may be repeated" };
const help: Flag = { kind: "flag", says: "this text" };

/* Files ----------------------------------------------------------------------------------------------------- */

/** Opens a file, or standard input for "-", and closes it whatever happens. */
async function withArchive<R>(host: Host, path: string, use: (archive: Archive) => Promise<R>): Promise<R> {
  const archive = await host.files.open(path === "-" ? await host.stdin() : path);
  try {
    return await use(archive);
  } finally {
    await archive.close();
  }
}

const nameOf = (path: string): string => (path === "-" ? "standard input" : plainText(path));

function chosen(entries: readonly Entry[], args: Parsed): readonly Entry[] {
  const [taken, left] = [args.list("only"), args.list("except")];
  const fits = (globs: readonly string[], name: string) => globs.some((glob) => matches(glob, name));
  return entries.filter(({ name }) => (taken.length === 0 || fits(taken, name)) && !fits(left, name));
}

/** The entry that is meant, and the words that are left: of a file with one tensor its name may be left out. */
function entryOf(archive: Archive, words: readonly string[]): { entry: Entry; rest: readonly string[] } {
  const { entries } = archive;
  const named = entries.find(({ name }) => name === words[0]);
  if (named !== undefined) return { entry: named, rest: words.slice(1) };
  if (entries.length === 1 && (words.length === 0 || looksLikeSlice(words[0])))
    return { entry: entries[0], rest: words };
  if (entries.length === 0) throw new Usage("the file has no tensors.");
  if (words.length === 0) throw new Usage(`which of the ${entries.length} tensors? ${namesOf(entries)}`);
  const fitting = entries.filter(({ name }) => matches(words[0], name));
  if (fitting.length === 1) return { entry: fitting[0], rest: words.slice(1) };
  throw new Usage(
    `there is no tensor ${JSON.stringify(words[0])}. ${namesOf(fitting.length > 0 ? fitting : entries)}`,
  );
}

const looksLikeSlice = (word: string): boolean => /^[\s\d:,.\-[\]]+$/.test(word);

function namesOf(entries: readonly Entry[]): string {
  const some = entries.slice(0, 8).map(({ name }) => plainText(name));
  return `There ${some.length === 1 ? "is" : "are"} ${some.join(", ")}${entries.length > 8 ? ", …" : ""}.`;
}

/** Reads what the words name, and lets go of it afterwards. */
async function withTensor<R>(
  archive: Archive,
  words: readonly string[],
  use: (t: Tensor, entry: Entry) => R,
): Promise<R> {
  const { entry, rest } = entryOf(archive, words);
  if (rest.length > 1)
    throw new Usage(`${JSON.stringify(rest[1])} is one word too many; write a slice without spaces.`);
  const items = rest.length === 0 ? undefined : parseSlice(rest[0]);
  return using(await archive.read(entry.name, items), (t) => use(t, entry));
}

function using<R>(t: Tensor, use: (t: Tensor) => R): R {
  try {
    return use(t);
  } finally {
    t.dispose();
  }
}

/** Every chosen tensor, one after the other, with how far it is; those that no dtype holds are null. */
async function eachEntry<R>(
  host: Host,
  entries: readonly Entry[],
  use: (entry: Entry) => Promise<R>,
): Promise<(R | null)[]> {
  const progress = new Progress(host, entries.length);
  const all: (R | null)[] = [];
  try {
    for (const entry of entries) {
      progress.step(entry.name);
      all.push(readAs(entry) === null ? null : await use(entry));
    }
  } finally {
    progress.end();
  }
  return all;
}

/** Something of every block of a tensor, joined; of a small one, or one that is compressed as a whole, at once. */
async function foldEntry<R>(
  archive: Archive,
  entry: Entry,
  use: (t: Tensor) => R,
  join: (a: R, b: R) => R,
): Promise<R> {
  const blocks = blocksOfEntry(entry);
  if (blocks === null) return using(await archive.read(entry.name), use);
  let result: R | null = null;
  for (const { slice } of blocks) {
    const one = using(await archive.read(entry.name, slice), use);
    result = result === null ? one : join(result, one);
  }
  return result as R;
}

const statisticsIn = (archive: Archive, entry: Entry): Promise<Statistics> =>
  foldEntry(archive, entry, statisticsOf, joinStatistics);

/** Letters of a small histogram. */
const LETTERS = 16;

/** A small histogram; of a tensor that is read in blocks by the range that is known of it. */
async function sparklineIn(
  archive: Archive,
  entry: Entry,
  { min, max }: Statistics,
  ascii: boolean,
): Promise<string> {
  if (min === null || max === null) return "";
  const range = { low: min, high: max };
  const add = (a: readonly number[], b: readonly number[]) => a.map((n, i) => n + b[i]);
  return lineOf(await foldEntry(archive, entry, (t) => countsOf(t, LETTERS, range), add), ascii);
}

/* info --------------------------------------------------------------------------------------------------------- */

const typeOf = ({ dtype, type }: Entry): string => dtype ?? plainText(type);
/** The dtype in which an entry is read; null: it is not. */
const readAs = ({ dtype, decoded }: Entry): DType | null => dtype ?? decoded ?? null;

const info: Command = {
  usage: "FILE [--stats] [--only GLOB] [--json]",
  says: "what is in a file: tensors, dtypes, shapes, bytes, metadata",
  more: "Only the header is read, unless --stats asks for the numbers of every tensor.",
  flags: {
    stats: { kind: "flag", says: "smallest, largest, mean, and a small histogram of each" },
    only,
    except,
    json,
    help,
  },
  examples: [
    "strided info model.safetensors",
    "strided info weights.npz --stats --only 'layer1.*'",
    "cat x.npy | strided info -",
  ],
  words: [1, 1],
  run: (args, host) =>
    withArchive(host, args.words[0], async (archive) => {
      const entries = chosen(archive.entries, args);
      const numbers = args.flag("stats")
        ? await eachEntry(host, entries, async (entry) => {
            const statistics = await statisticsIn(archive, entry);
            return { statistics, line: await sparklineIn(archive, entry, statistics, host.terminal.ascii) };
          })
        : null;
      if (args.flag("json")) {
        host.out(
          jsonText({
            file: args.words[0],
            format: archive.format,
            entries: entries.map((e, i) => ({
              ...e,
              ...(numbers === null ? {} : { statistics: numbers[i]?.statistics ?? null }),
            })),
            meta: archive.meta,
          }),
        );
        return 0;
      }
      const total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
      const head = [nameOf(args.words[0]), archive.format, tensors(entries.length), bytesText(total)].join(
        "  ",
      );
      const rows = entries.map((e, i) => {
        const shape = e.chunks === undefined ? list(e.shape) : `${list(e.shape)} in ${list(e.chunks)}`;
        const row = [plainText(e.name), typeOf(e), shape, bytesText(e.bytes)];
        const more = numbers?.[i];
        if (numbers === null) return row;
        if (more === null || more === undefined) return [...row, "", "", "", ""];
        const { min, max, mean } = more.statistics;
        return [...row, shortOr(min), shortOr(max), shortOr(mean), more.line];
      });
      const titles = [
        "name",
        "dtype",
        "shape",
        "bytes",
        ...(numbers === null ? [] : ["min", "max", "mean", "histogram"]),
      ];
      host.out([head, "", ...columns(titles, rows, [3, 4, 5, 6]), ...metaLines(archive.meta)].join("\n"));
      return 0;
    }),
};

const tensors = (n: number): string => `${n} ${n === 1 ? "tensor" : "tensors"}`;
const shortOr = (x: number | null): string => (x === null ? "" : short(x));

/** Letters of one value that are shown. */
const MOST_LETTERS = 200;

function metaLines(meta: Archive["meta"]): string[] {
  const keys = Object.keys(meta);
  if (keys.length === 0) return [];
  return ["", "metadata", ...keys.map((key) => `  ${plainText(key)}: ${metaText(meta[key])}`)];
}

function metaText(value: unknown): string {
  if (ArrayBuffer.isView(value)) return `${(value as Uint8Array).length} numbers`;
  if (Array.isArray(value) && value.length > 8) return `a list of ${value.length}`;
  const text =
    typeof value === "string" || typeof value === "bigint"
      ? String(value)
      : jsonText(value).replace(/\s+/g, " ");
  const letters = [...plainText(text)];
  return letters.length <= MOST_LETTERS
    ? letters.join("")
    : `${letters.slice(0, MOST_LETTERS).join("")}… (${letters.length} letters)`;
}

/* show ------------------------------------------------------------------------------------------------------------ */

const show: Command = {
  usage: "FILE [NAME] [SLICE] [--digits N] [--all] [--json]",
  says: "the elements of a tensor, or of a slice of it",
  more: "Only the bytes that the slice needs are read. Of a file with one tensor the name may be left out.",
  flags: {
    digits: { kind: "number", value: "N", says: "significant digits of floats" },
    all: { kind: "flag", says: "every element, however many there are" },
    json,
    help,
  },
  examples: [
    "strided show x.npy",
    "strided show model.safetensors embed.weight 0:4,:8",
    "strided show x.npy ::2,-1 --json",
  ],
  words: [1, 3],
  run: (args, host) =>
    withArchive(host, args.words[0], (archive) =>
      withTensor(archive, args.words.slice(1), (t) => {
        const digits = args.number("digits");
        const options = {
          lineWidth: host.terminal.columns,
          ...(digits === undefined ? {} : { digits }),
          ...(args.flag("all") ? { threshold: Number.POSITIVE_INFINITY } : {}),
        };
        host.out(args.flag("json") ? JSON.stringify(t) : t.toString(options));
        return 0;
      }),
    ),
};

/* stats ----------------------------------------------------------------------------------------------------------- */

const stats: Command = {
  usage: "FILE [NAME] [--only GLOB] [--json]",
  says: "count, smallest, largest, mean, deviation, zeros, NaN and infinite elements",
  more: "Smallest to deviation are those of the finite elements.",
  flags: { only, except, json, help },
  examples: ["strided stats model.safetensors", "strided stats x.npz weight --json"],
  words: [1, 2],
  run: (args, host) =>
    withArchive(host, args.words[0], async (archive) => {
      const entries =
        args.words.length > 1 ? [entryOf(archive, args.words.slice(1)).entry] : chosen(archive.entries, args);
      const found = await eachEntry(host, entries, (entry) => statisticsIn(archive, entry));
      if (args.flag("json")) {
        host.out(
          jsonText(
            entries.map(({ name, dtype, type, shape }, i) => ({
              name,
              type,
              dtype,
              shape,
              statistics: found[i],
            })),
          ),
        );
        return 0;
      }
      const titles = ["name", "dtype", "shape", "min", "max", "mean", "std", "zeros", "NaN", "inf"];
      const rows = entries.map((e, i) => [
        plainText(e.name),
        typeOf(e),
        list(e.shape),
        ...statisticCells(found[i]),
      ]);
      host.out(columns(titles, rows, [3, 4, 5, 6, 7, 8, 9]).join("\n"));
      return 0;
    }),
};

const statisticCells = (s: Statistics | null): string[] =>
  s === null
    ? new Array(7).fill("")
    : [s.min, s.max, s.mean, s.std].map(shortOr).concat([s.zeros, s.nan, s.infinite].map(String));

/* diff ------------------------------------------------------------------------------------------------------------ */

interface Finding {
  readonly name: string;
  readonly what: "same" | "close" | "different" | "missing";
  readonly says: string;
  readonly difference?: Difference;
}

const diff: Command = {
  usage: "A B [--rtol R] [--atol A] [--only GLOB] [--json]",
  says: "how two files differ: largest error, ulps, and where",
  more:
    "Exit code 1 where they do. NaN is equal to NaN. With a tolerance, |a - b| <= atol + rtol * |b| is close enough, and so\n" +
    "is another dtype; without one both have to be the same.",
  flags: {
    rtol: { kind: "number", value: "R", says: "relative tolerance" },
    atol: { kind: "number", value: "A", says: "absolute tolerance" },
    only,
    except,
    json,
    help,
  },
  examples: [
    "strided diff before.npz after.npz",
    "strided diff model.safetensors model-f16.safetensors --rtol 1e-3",
  ],
  words: [2, 2],
  run: (args, host) => {
    if (args.words[0] === "-" && args.words[1] === "-")
      throw new Usage("standard input can be one of the two files.");
    const [rtol, atol] = [args.number("rtol"), args.number("atol")];
    const isLoose = rtol !== undefined || atol !== undefined;
    const tolerance = { rtol: rtol ?? 0, atol: atol ?? 0 };
    return withArchive(host, args.words[0], (a) =>
      withArchive(host, args.words[1], async (b) => {
        const findings = await compare(host, a, b, args, tolerance, isLoose);
        const isDifferent = findings.some(({ what }) => what === "different" || what === "missing");
        if (args.flag("json")) {
          host.out(jsonText({ equal: !isDifferent, tensors: findings }));
          return isDifferent ? 1 : 0;
        }
        const told = findings.filter(({ what }) => what !== "same");
        const rows = told.map(({ name, says }) => [plainText(name), says]);
        host.out([...columns(null, rows, []), summaryText(findings)].join("\n"));
        return isDifferent ? 1 : 0;
      }),
    );
  },
};

function summaryText(findings: readonly Finding[]): string {
  const count = (...kinds: Finding["what"][]) => findings.filter(({ what }) => kinds.includes(what)).length;
  const [same, close, other] = [count("same"), count("close"), count("different", "missing")];
  if (close + other === 0) return `${tensors(same)}, all the same`;
  const parts = [
    `${tensors(same)} the same`,
    close > 0 ? `${close} close` : "",
    other > 0 ? `${other} not` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

async function compare(
  host: Host,
  a: Archive,
  b: Archive,
  args: Parsed,
  tolerance: { rtol: number; atol: number },
  isLoose: boolean,
): Promise<Finding[]> {
  let [first, second] = [chosen(a.entries, args), chosen(b.entries, args)];
  // Where one file has a single tensor and one is chosen of the other, they are meant, whatever they are called.
  if (first.length === 1 && b.entries.length === 1) second = b.entries;
  else if (second.length === 1 && a.entries.length === 1) first = a.entries;
  const isPair =
    first.length === 1 && second.length === 1 && (a.entries.length === 1 || b.entries.length === 1);
  const others = new Map(second.map((e) => [e.name, e]));
  const findings: Finding[] = [];
  const progress = new Progress(host, first.length);
  try {
    for (const x of first) {
      progress.step(x.name);
      const y = isPair ? second[0] : others.get(x.name);
      if (y !== undefined) others.delete(y.name);
      findings.push(
        y === undefined
          ? missing(x, "only in the first file")
          : await compareOne(a, b, x, y, tolerance, isLoose),
      );
    }
  } finally {
    progress.end();
  }
  return [...findings, ...[...others.values()].map((y) => missing(y, "only in the second file"))];
}

const missing = ({ name }: Entry, says: string): Finding => ({ name, what: "missing", says });

async function compareOne(
  a: Archive,
  b: Archive,
  x: Entry,
  y: Entry,
  tolerance: { rtol: number; atol: number },
  isLoose: boolean,
): Promise<Finding> {
  const { name } = x;
  if (list(x.shape) !== list(y.shape)) {
    return { name, what: "different", says: `shape ${list(x.shape)} and ${list(y.shape)}` };
  }
  if (readAs(x) === null || readAs(y) === null) {
    return { name, what: "different", says: `cannot be read: ${typeOf(x)} and ${typeOf(y)} have no dtype` };
  }
  const types = typeOf(x) === typeOf(y) ? "" : `${typeOf(x)} and ${typeOf(y)}`;
  const difference = await differenceIn(a, b, x, y, tolerance);
  const isSame = difference.different === 0 && (types === "" || isLoose);
  if (isSame) return { name, what: "same", says: "", difference };
  const isClose = isLoose && difference.beyond === 0;
  const size = x.shape.reduce((product, n) => product * n, 1);
  const says = [types, differenceText(difference, size, isClose)].filter((part) => part !== "").join("; ");
  return { name, what: isClose ? "close" : "different", says, difference };
}

/** How two tensors of one shape differ, block by block where both can be read so. */
async function differenceIn(
  a: Archive,
  b: Archive,
  x: Entry,
  y: Entry,
  tolerance: { rtol: number; atol: number },
): Promise<Difference> {
  const parts = async (slice?: Block["slice"]): Promise<Difference> => {
    const left = await a.read(x.name, slice);
    try {
      return using(await b.read(y.name, slice), (right) => differenceOf(left, right, tolerance));
    } finally {
      left.dispose();
    }
  };
  const blocks = y.packed === undefined ? blocksOfEntry(x) : null;
  if (blocks === null) return parts();
  let all: Difference | null = null;
  for (const { slice, at } of blocks) {
    const one = await parts(slice);
    all = all === null ? one : joinDifferences(all, one, at);
  }
  return all as Difference;
}

function differenceText(d: Difference, size: number, isClose: boolean): string {
  if (d.different === 0) return "the same values";
  const error = Number.isNaN(d.maxError) ? "NaN beside a number" : `max error ${short(d.maxError)}`;
  const parts = [
    `${d.different} of ${size} differ`,
    error,
    ...(d.maxUlp === null ? [] : [`${short(d.maxUlp)} ulp`]),
    ...(d.at === null ? [] : [`at ${list(d.at)}: ${d.values?.join(" and ")}`]),
  ];
  return `${parts.join(", ")}${isClose ? " (close enough)" : ""}`;
}

/* convert --------------------------------------------------------------------------------------------------------- */

/** Bytes of a tensor that are in memory at a time, where it is written as it is read. */
const PIECE = 16 << 20;

const convert: Command = {
  usage: "IN OUT [--dtype DTYPE] [--all] [--only GLOB] [--chunks 256x256] [--force] [--json]",
  says: "tensors of one file into another, in the format its name ends in",
  more:
    `DTYPE is one of ${dtypeNames.join(" ")}.\n` +
    "Of floats only floats are made, so that indices stay whole: --all converts everything.\n" +
    `Or, for a file of GGUF, a block type: ${encodedNames.join(" ")}.\n` +
    "Then matrices of floats whose rows are whole blocks are quantised, and the rest stays as it is; with --all vectors are\n" +
    "quantised too. What is quantised is held in memory until the file is written; other tensors are read while they are\n" +
    "written, a few megabytes at a time, so a file may be larger than memory; what is deflated, packed or in text is read one\n" +
    "tensor at a time. The new file appears when it is complete; OUT.zarr is a folder that is filled chunk by chunk.",
  flags: {
    dtype: { kind: "text", value: "DTYPE", says: "what floats become" },
    all: { kind: "flag", says: "with --dtype: tensors of whole numbers too" },
    only,
    except,
    chunks: {
      kind: "text",
      value: "AxB",
      says: "of a .zarr: sizes of a chunk; default such that it has about 1 MiB",
    },
    shards: { kind: "text", value: "AxB", says: "of a .zarr: several chunks to a file, sizes of these" },
    compressor: {
      kind: "text",
      value: "NAME",
      says: "of a .zarr: gzip, zlib, zstd, blosc or lz4; default none",
    },
    zarr: { kind: "number", value: "2|3", says: "of a .zarr: its version; default 3" },
    force: { kind: "flag", says: "write over a file that is there" },
    json,
    help,
  },
  examples: [
    "strided convert weights.npz weights.safetensors",
    "strided convert big.npy big.zarr --chunks 256x256 --compressor gzip",
    "strided convert model.safetensors small.safetensors --dtype f16",
    "strided convert model.gguf embedding.npy --only token_embd.weight",
    "strided convert model.safetensors model.gguf --dtype q4_K",
    "strided convert prices.csv prices.parquet",
  ],
  words: [2, 2],
  run: (args, host) => {
    const [from, to] = args.words;
    const isGguf = to.toLowerCase().endsWith(".gguf");
    const dtype = anyDTypeOf(args.text("dtype"), isGguf);
    if (!args.flag("force") && host.exists(to))
      throw new Usage(`${plainText(to)} is there already: --force writes over it.`);
    return withArchive(host, from, async (archive) => {
      const entries = chosen(archive.entries, args);
      if (entries.length === 0) throw new Usage("no tensor is chosen.");
      const settings = chunkSettings(args);
      const target = await host.files.target?.(to, archive, entries.length > 1, settings);
      if (target !== null && target !== undefined) {
        const written = await convertInBlocks(
          host,
          archive,
          entries,
          target,
          dtype as DType | undefined,
          args.flag("all"),
        );
        if (args.flag("json")) host.out(jsonText({ file: to, entries: written }));
        else host.out(`${nameOf(from)} → ${plainText(to)}: ${tensors(written.length)}`);
        return 0;
      }
      for (const name of chunkFlags) {
        if (args.text(name) !== undefined) throw new Usage(`--${name} is for a .zarr.`);
      }
      const progress = new Progress(host, entries.length);
      const begun = new Set<string>();
      const begin = (name: string) => {
        if (!begun.has(name)) progress.step(name);
        begun.add(name);
      };
      const made = entries.map((entry) => lazyOf(archive, entry, dtype, args.flag("all"), isGguf, begin));
      try {
        // Those that cannot be read say so before anything is written.
        for (const entry of entries) if (readAs(entry) === null) await refused(archive, entry);
        await host.files.save(to, made, archive);
      } finally {
        progress.end();
      }
      const written = made.map(({ name, dtype: d, shape }) => ({ name, dtype: d, shape }));
      if (args.flag("json")) host.out(jsonText({ file: to, entries: written }));
      else {
        const packed = made.filter((t) => t.blocks !== undefined && t.dtype === dtype).length;
        const more = blockTypeOf(dtype) === null ? "" : `, ${packed} of them as ${dtype}`;
        host.out(`${nameOf(from)} → ${plainText(to)}: ${tensors(written.length)}${more}`);
      }
      return 0;
    });
  },
};

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

function dtypeOf(name: string | undefined): DType | undefined {
  if (name === undefined || (dtypeNames as readonly string[]).includes(name))
    return name as DType | undefined;
  throw new Usage(`there is no dtype ${JSON.stringify(name)}: use one of ${dtypeNames.join(" ")}.`);
}

/** The same, or a block type where the new file can hold it. */
function anyDTypeOf(name: string | undefined, isGguf: boolean): DType | EncodedDType | undefined {
  const block = encodedNames.find((made) => made === name);
  if (block === undefined) return dtypeOf(name);
  if (isGguf) return block;
  throw new Usage(
    `${block} is a block type: only files of GGUF hold it, and the new one does not end in .gguf.`,
  );
}

/** What a tensor of a dtype becomes. */
const becomes = (from: DType, dtype: DType | undefined, all: boolean): DType =>
  dtype === undefined || (!all && isFloat(dtype) !== isFloat(from)) ? from : dtype;

/** A tensor of the file as it will be written, in pieces where a slice of it can be read alone. */
function lazyOf(
  archive: Archive,
  entry: Entry,
  dtype: DType | EncodedDType | undefined,
  all: boolean,
  isGguf: boolean,
  begin: (name: string) => void,
): Lazy {
  const { name, shape } = entry;
  const from = readAs(entry) ?? "u8";
  const block = blockTypeOf(dtype);
  const plain = block === null ? (dtype as DType | undefined) : undefined;
  const to = becomes(from, plain, all);
  const converted = (t: Tensor): Tensor => (t.dtype === to ? t : using(t, (x) => x.to(to)));
  const whole = async () => {
    begin(name);
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
    return using(await archive.read(name), (t) => quantise(t, block as EncodedDType));
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
      for (const items of cutsOf(shape, itemBytes, PIECE)) yield converted(await archive.read(name, items));
    },
  };
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
): Promise<{ name: string; dtype: DType; shape: readonly number[] }[]> {
  const written: { name: string; dtype: DType; shape: readonly number[] }[] = [];
  const progress = new Progress(
    host,
    entries.reduce((n, entry) => n + Math.ceil(Math.max(1, entry.bytes) / BLOCK), 0),
  );
  try {
    for (const entry of entries) {
      const from = readAs(entry);
      if (from === null) throw new Usage(`${plainText(entry.name)}: no dtype holds ${typeOf(entry)}.`);
      const to = becomes(from, dtype, all);
      const sink = await target.add(entries.length > 1 ? entry.name : null, to, entry.shape);
      const blocks = blocksOfEntry({ ...entry, chunks: sink.chunks }) ?? [undefined];
      for (const block of blocks) {
        progress.step(entry.name);
        const t = await archive.read(entry.name, block?.slice);
        const made = t.dtype === to ? t : using(t, (x) => x.to(to));
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

/* plot ------------------------------------------------------------------------------------------------------------ */

const plotCommand: Command = {
  usage: "FILE [NAME] [SLICE] [--kind KIND] [--out FILE.svg|FILE.png] …",
  says: "a line, histogram, heat map or scatter plot, in the terminal, as SVG or PNG",
  flags: {
    kind: {
      kind: "text",
      value: "KIND",
      says: "line, scatter, histogram or heatmap; default by the number of axes",
    },
    bins: { kind: "number", value: "N", says: "bars of a histogram" },
    width: { kind: "number", value: "N", says: "columns; of a file pixels, of which PNG has two for one" },
    height: { kind: "number", value: "N", says: "lines; of a file pixels" },
    title: { kind: "text", value: "TEXT", says: "above the picture; default the tensor's name" },
    color: { kind: "text", value: "HOW", says: "auto, none, 256 or truecolor" },
    ascii: { kind: "flag", says: "no letters beyond ASCII" },
    out: { kind: "text", value: "FILE", says: "write .svg or .png instead of printing" },
    force: { kind: "flag", says: "write over a file that is there" },
    help,
  },
  examples: [
    "strided plot losses.npy",
    "strided plot model.safetensors embed.weight --kind histogram --bins 30",
    "strided plot image.npy 0:100,0:100 --out picture.svg",
    "strided plot prices.csv close --out close.png",
  ],
  words: [1, 3],
  run: (args, host) =>
    withArchive(host, args.words[0], async (archive) => {
      let picture: Tensor | undefined;
      const code = await withTensor(archive, args.words.slice(1), (t, { name }) => {
        const out = args.text("out");
        const options = given({
          kind: args.text("kind") as PlotKind | undefined,
          bins: args.number("bins"),
          width: args.number("width"),
          height: args.number("height"),
          title: args.text("title") ?? name,
        });
        if (out === undefined) {
          const color = (args.text("color") as PlotColor | undefined) ?? host.terminal.color;
          const ascii = args.flag("ascii") || host.terminal.ascii;
          host.out(plot.text(t, { width: host.terminal.columns - 1, ...options, color, ascii }));
          return 0;
        }
        if (!/\.(svg|png)$/i.test(out))
          throw new Usage(`${plainText(out)}: pictures are written as .svg or .png.`);
        if (!args.flag("force") && host.exists(out))
          throw new Usage(`${plainText(out)} is there already: --force writes over it.`);
        if (/\.svg$/i.test(out)) host.write(out, plot.svg(t, options));
        else picture = plot.image(t, options);
        return 0;
      });
      if (picture !== undefined) await savePicture(host, args.text("out") as string, picture);
      return code;
    }),
};

async function savePicture(host: Host, path: string, t: Tensor): Promise<void> {
  try {
    await host.files.savePicture(path, t);
  } finally {
    t.dispose();
  }
}

/** Without what was not given. */
const given = <O extends object>(options: O): { [K in keyof O]?: Exclude<O[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;

/* explain and doctor ------------------------------------------------------------------------------------------------ */

const explainCommand: Command = {
  usage: "'x => x + 1' [--dtype f32] [--shape 1000] [--show PART] [--json]",
  says: "what a kernel is compiled to: program, passes, loops, WebAssembly",
  more: "The function is read, not run: it is compiled as kernel() does it, and computed on numbers 0, 1, 2, … of the shape.",
  flags: {
    dtype: { kind: "text", value: "D[,D]", says: "of its operands, one for all or one each; default f32" },
    shape: { kind: "text", value: "N[,N]", says: "of its operands; default 1000" },
    show: { kind: "text", value: "PART", says: "report (default), passes, loops, table, wat or all" },
    json,
    help,
  },
  examples: [
    "strided explain 'x => Math.exp(-x * x)'",
    "strided explain '(a, b) => a * b + 1' --dtype f32,u8 --shape 64,64 --show passes",
    "strided explain 'x => x > 0 ? x : 0' --show wat",
  ],
  words: [1, 1],
  run: async (args, host) => {
    const dtypes = (args.text("dtype") ?? "f32").split(",").map((d) => dtypeOf(d.trim()) as DType);
    const shape = (args.text("shape") ?? "1000").split(",").map(Number);
    if (shape.some((n) => !Number.isInteger(n) || n < 0))
      throw new Usage(`--shape is ${JSON.stringify(args.text("shape"))}: write 64,64.`);
    host.out(
      explainText(args.words[0], dtypes, shape, args.flag("json") ? "json" : (args.text("show") ?? "report")),
    );
    return 0;
  },
};

const doctor: Command = {
  usage: "[--turbo] [--json]",
  says: "what this machine has for strided, and what it reaches",
  flags: { turbo: { kind: "flag", says: "with the features that strided/turbo switches on" }, json, help },
  examples: ["strided doctor", "strided doctor --turbo"],
  words: [0, 0],
  run: async (args, host) => {
    const machine = {
      runtime: `${process.version}, V8 ${process.versions.v8}`,
      processor: `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} cores`,
    };
    const found: Record<string, string> = {};
    for await (const [name, value] of examine(machine, args.flag("turbo"))) {
      found[name] = value;
      if (!args.flag("json")) host.out(`${name.padEnd(18)} ${value}`);
    }
    if (args.flag("json")) host.out(jsonText(found));
    return 0;
  },
};

const bench: Command = {
  usage: "[--size N] [--rounds N] [--json]",
  says: "a short benchmark of this machine, beside plain loops",
  more:
    "Each workload is checked against a loop over typed arrays, then both take turns; medians are shown. Times belong to the\n" +
    "machine of the day, ratios less so: on a machine that is busy neither is worth much, and it says so.",
  flags: {
    size: { kind: "number", value: "N", says: "rows and columns of the matrices; default 2048" },
    rounds: { kind: "number", value: "N", says: "turns of each; default 11" },
    json,
    help,
  },
  examples: ["strided bench", "strided bench --size 4096 --json"],
  words: [0, 0],
  run: async (args, host) => {
    const [size, rounds] = [args.number("size") ?? 2048, args.number("rounds") ?? 11];
    for (const [name, x, least, most] of [
      ["size", size, 16, 16384],
      ["rounds", rounds, 1, 1000],
    ] as const) {
      if (!Number.isInteger(x) || x < least || x > most)
        throw new Usage(`--${name} is ${x}: a whole number from ${least} to ${most}.`);
    }
    engine().pool.waitUntilReady();
    const machine = {
      processor: `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} cores`,
      runtime: `Node ${process.version}, V8 ${process.versions.v8}`,
      strided: `${host.version}, ${engine().pool.status().threads} threads`,
      load: loadavg()[0],
    };
    const isJson = args.flag("json");
    const isBusy = machine.load > availableParallelism() / 2;
    if (!isJson) {
      host.out([machine.processor, machine.runtime, `strided ${machine.strided}`].join("\n"));
      if (isBusy)
        host.out(`The machine is busy (load ${machine.load.toFixed(1)}): do not trust what follows.`);
    }
    const rows: BenchRow[] = [];
    const progress = new Progress(host, 5);
    try {
      progress.step("");
      for (const row of benchmark(size, rounds, 8)) {
        rows.push(row);
        progress.step(row.name);
      }
    } finally {
      progress.end();
    }
    if (isJson) {
      host.out(jsonText({ ...machine, busy: isBusy, size, rounds, rows }));
      return 0;
    }
    const cells = rows.map((r) => [
      r.name,
      `${short(r.strided)} ms`,
      `±${Math.round(50 * r.spread)}%`,
      `${short(r.rate, 3)} ${r.unit}`,
      `${short(r.loop)} ms`,
      `${r.ratio.toFixed(1)}×`,
    ]);
    const titles = [`${size} × ${size}`, "strided", "", "", "loop", "as fast as the loop"];
    host.out(["", ...columns(titles, cells, [1, 2, 3, 4, 5])].join("\n"));
    return 0;
  },
};

/* All of them --------------------------------------------------------------------------------------------------------- */

export const commands: Readonly<Record<string, Command>> = {
  info,
  show,
  stats,
  diff,
  convert,
  plot: plotCommand,
  explain: explainCommand,
  bench,
  doctor,
};

function helpText(): string {
  const rows = Object.entries(commands).map(([name, { says }]) => [`  ${name}`, says]);
  return [
    "strided: tensors in files, and what kernels become",
    "",
    "strided COMMAND …",
    "",
    ...columns(null, rows, []),
    "",
    "strided COMMAND --help says more. A FILE is a path or a URL, or - for standard input.",
    "Exit codes: 0 all is well, 1 something differs or failed, 2 called in a way that does not exist.",
  ].join("\n");
}

function commandHelp(name: string, { usage, says, more, flags, examples }: Command): string {
  const rows = Object.entries(flags).map(([flag, { says: what, value }]) => [
    `  --${flag}${value === undefined ? "" : ` ${value}`}`,
    what,
  ]);
  return [
    `strided ${name} ${usage}`,
    "",
    says,
    ...(more === undefined ? [] : ["", more]),
    "",
    ...columns(null, rows, []),
    "",
    "Examples",
    ...examples.map((example) => `  ${example}`),
  ].join("\n");
}

/** Runs a command line; gives its exit code. Nothing is thrown: what goes wrong is told on standard error. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h") {
    host.out(helpText());
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-v") {
    host.out(host.version);
    return 0;
  }
  const asked = name === "help" ? rest[0] : name;
  if (asked === undefined) {
    host.out(helpText());
    return 0;
  }
  const command = Object.hasOwn(commands, asked) ? commands[asked] : undefined;
  if (command === undefined) {
    host.err(
      `strided: there is no command ${JSON.stringify(asked)}.\n  ${Object.keys(commands).join(", ")}\n`,
    );
    return 2;
  }
  if (name === "help") {
    host.out(commandHelp(asked, command));
    return 0;
  }
  try {
    return await runCommand(asked, command, rest, host);
  } catch (error) {
    return failed(asked, error, host);
  }
}

async function runCommand(
  name: string,
  command: Command,
  args: readonly string[],
  host: Host,
): Promise<number> {
  const parsed = parseArgs(args, command.flags);
  if (parsed.flag("help")) {
    host.out(commandHelp(name, command));
    return 0;
  }
  const [least, most] = command.words;
  if (parsed.words.length < least) throw new Usage("something is missing.");
  if (parsed.words.length > most)
    throw new Usage(`${JSON.stringify(parsed.words[most])} is one word too many.`);
  return await command.run(parsed, host);
}

function failed(name: string, error: unknown, host: Host): number {
  if (error instanceof Usage) {
    const { usage } = commands[name];
    host.err(`strided ${name}: ${plainLines(error.message)}\n  strided ${name} ${usage}\n`);
    return 2;
  }
  const message = error instanceof TensorError || error instanceof Error ? error.message : String(error);
  // Some messages begin with the name of the command already.
  host.err(`strided ${name}: ${plainLines(message.replace(`${name}: `, ""))}\n`);
  return 1;
}
