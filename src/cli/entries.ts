/** The tensors of a file as commands name them: which are meant, reading them, whole or block by block. */
import { type DType, dtypeNames } from "../dtype.ts";
import { short } from "../plot/scale.ts";
import { plainText } from "../plot/text.ts";
import type { Tensor } from "../tensor.ts";
import type { Archive, Entry } from "./archive-types.ts";
import { matches, type Parsed, parseSlice } from "./args.ts";
import { blocksOfEntry } from "./blocks.ts";
import { type Host, Progress, Usage } from "./host.ts";
import { joinStatistics, type Statistics, statisticsOf } from "./statistics.ts";

/** Opens a file, or standard input for "-", and closes it whatever happens. */
export async function withArchive<R>(
  host: Host,
  args: Parsed,
  path: string,
  use: (archive: Archive) => Promise<R>,
): Promise<R> {
  const archive = await host.files.open(path === "-" ? await host.stdin() : path, args.flag("links"));
  try {
    return await use(archive);
  } finally {
    await archive.close();
  }
}

export const nameOf = (path: string): string => (path === "-" ? "standard input" : plainText(path));

/** A tensor's name; the empty one, as a column's may be, can be seen. */
export const shownName = (name: string): string => (name === "" ? '""' : plainText(name));

/** The tensors that --only and --except leave. They leave one at least, where there are any. */
export function chosen(entries: readonly Entry[], args: Parsed): readonly Entry[] {
  const found = fitting(entries, args);
  if (found.length > 0 || entries.length === 0) return found;
  throw new Usage(`no tensor is chosen. ${namesOf(entries)}`);
}

/** The same, where there may be none. */
export function fitting(entries: readonly Entry[], args: Parsed): readonly Entry[] {
  const [taken, left] = [args.list("only"), args.list("except")];
  const fits = (globs: readonly string[], name: string) => globs.some((glob) => matches(glob, name));
  return entries.filter(({ name }) => (taken.length === 0 || fits(taken, name)) && !fits(left, name));
}

/** The entry that is meant, and the words that are left: of a file with one tensor its name may be left out. */
export function entryOf(
  archive: Archive,
  words: readonly string[],
): { entry: Entry; rest: readonly string[] } {
  const { entries } = archive;
  const named = entries.find(({ name }) => name === words[0]);
  if (named !== undefined) return { entry: named, rest: words.slice(1) };
  if (entries.length === 1 && (words.length === 0 || looksLikeSlice(words[0])))
    return { entry: entries[0], rest: words };
  if (entries.length === 0) throw new Usage("the file has no tensors.");
  if (words.length === 0) throw new Usage(`which of the ${entries.length} tensors? ${namesOf(entries)}`);
  const found = entries.filter(({ name }) => matches(words[0], name));
  if (found.length === 1) return { entry: found[0], rest: words.slice(1) };
  throw new Usage(
    found.length === 0
      ? `there is no tensor ${JSON.stringify(words[0])}. ${namesOf(entries)}`
      : `${JSON.stringify(words[0])} fits ${found.length} tensors, and one is meant. ${namesOf(found)}`,
  );
}

const looksLikeSlice = (word: string): boolean => /^[\s\d:,.\-[\]]+$/.test(word);

function namesOf(entries: readonly Entry[]): string {
  const some = entries.slice(0, 8).map(({ name }) => shownName(name));
  return `There ${some.length === 1 ? "is" : "are"} ${some.join(", ")}${entries.length > 8 ? ", …" : ""}.`;
}

/** Reads what the words name, and lets go of it afterwards. */
export async function withTensor<R>(
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

export function using<R>(t: Tensor, use: (t: Tensor) => R): R {
  try {
    return use(t);
  } finally {
    t.dispose();
  }
}

/** Every chosen tensor, one after the other, with how far it is; those that no dtype holds are null. */
export async function eachEntry<R>(
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
export async function foldEntry<R>(
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

export const statisticsIn = (archive: Archive, entry: Entry): Promise<Statistics> =>
  foldEntry(archive, entry, statisticsOf, joinStatistics);

export const typeOf = ({ dtype, type }: Entry): string => dtype ?? plainText(type);
/** The dtype in which an entry is read; null: it is not. */
export const readAs = ({ dtype, decoded }: Entry): DType | null => dtype ?? decoded ?? null;

export const tensors = (n: number): string => `${n} ${n === 1 ? "tensor" : "tensors"}`;
export const shortOr = (x: number | bigint | null): string => (x === null ? "" : short(Number(x)));

/** `more`: names that the command knows besides, for the message. */
export function dtypeOf(name: string | undefined, more: readonly string[] = []): DType | undefined {
  if (name === undefined || (dtypeNames as readonly string[]).includes(name))
    return name as DType | undefined;
  throw new Usage(
    `there is no dtype ${JSON.stringify(name)}: use one of ${[...dtypeNames, ...more].join(" ")}.`,
  );
}
