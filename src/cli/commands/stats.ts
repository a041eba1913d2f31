/** `strided stats`: numbers about the elements of tensors. */
import { list } from "../../errors.ts";
import { type Command, except, help, json, links, only } from "../command.ts";
import {
  chosen,
  eachEntry,
  entryOf,
  shortOr,
  shownName,
  statisticsIn,
  typeOf,
  withArchive,
} from "../entries.ts";
import { jsonText } from "../host.ts";
import type { Statistics } from "../statistics.ts";
import { columns } from "../table.ts";

export const stats: Command = {
  usage: "FILE [NAME] [--only GLOB] [--json]",
  says: "count, smallest, largest, mean, deviation, zeros, NaN and infinite elements",
  more: "Smallest to deviation are those of the finite elements.",
  flags: { only, except, json, links, help },
  examples: ["strided stats model.safetensors", "strided stats x.npz weight --json"],
  words: [1, 2],
  run: (args, host) =>
    withArchive(host, args, args.words[0], async (archive) => {
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
        shownName(e.name),
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
