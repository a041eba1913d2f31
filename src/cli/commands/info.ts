/** `strided info`: what is in a file. */
import { list } from "../../errors.ts";
import { plainText } from "../../plot/text.ts";
import type { Archive, Entry } from "../archive-types.ts";
import { type Command, except, help, json, links, only } from "../command.ts";
import {
  chosen,
  eachEntry,
  foldEntry,
  nameOf,
  readAs,
  shortOr,
  shownName,
  statisticsIn,
  tensors,
  typeOf,
  withArchive,
} from "../entries.ts";
import { jsonText } from "../host.ts";
import { countsOf, lineOf, type Statistics } from "../statistics.ts";
import { bytesText, columns } from "../table.ts";

export const info: Command = {
  usage: "FILE [--stats] [--only GLOB] [--json]",
  says: "what is in a file: tensors, dtypes, shapes, bytes, metadata",
  more: "Only the header is read, unless --stats asks for the numbers of every tensor.",
  flags: {
    stats: { kind: "flag", says: "smallest, largest, mean, and a small histogram of each" },
    only,
    except,
    json,
    links,
    help,
  },
  examples: [
    "strided info model.safetensors",
    "strided info weights.npz --stats --only 'layer1.*'",
    "cat x.npy | strided info -",
  ],
  words: [1, 1],
  run: (args, host) =>
    withArchive(host, args, args.words[0], async (archive) => {
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
              ...(isUnread(e) ? { bytes: null } : {}),
              ...(numbers === null ? {} : { statistics: numbers[i]?.statistics ?? null }),
            })),
            meta: archive.meta,
          }),
        );
        return 0;
      }
      const total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
      const unread = entries.filter(isUnread).length;
      const sizes = [
        ...(total > 0 || unread === 0 ? [bytesText(total)] : []),
        ...(unread > 0 ? [`${unread} not read`] : []),
      ];
      const head = [nameOf(args.words[0]), archive.format, tensors(entries.length), sizes.join(", ")].join(
        "  ",
      );
      const rows = entries.map((e, i) => {
        const shape = e.chunks === undefined ? list(e.shape) : `${list(e.shape)} in ${list(e.chunks)}`;
        const row = [shownName(e.name), typeOf(e), shape, isUnread(e) ? "not read" : bytesText(e.bytes)];
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

/** Has it elements that are not read, such as texts, so that their bytes are not known? */
const isUnread = (e: Entry): boolean => readAs(e) === null && e.bytes === 0 && !e.shape.includes(0);

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
  const range = { low: Number(min), high: Number(max) };
  const add = (a: readonly number[], b: readonly number[]) => a.map((n, i) => n + b[i]);
  return lineOf(await foldEntry(archive, entry, (t) => countsOf(t, LETTERS, range), add), ascii);
}

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
