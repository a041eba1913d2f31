/** `strided show`: the elements of a tensor. */
import { type Command, help, json, links } from "../command.ts";
import { withArchive, withTensor } from "../entries.ts";

export const show: Command = {
  usage: "FILE [NAME] [SLICE] [--digits N] [--all] [--json]",
  says: "the elements of a tensor, or of a slice of it",
  more: "Only the bytes that the slice needs are read. Of a file with one tensor the name may be left out.",
  flags: {
    digits: { kind: "number", value: "N", says: "significant digits of floats" },
    all: { kind: "flag", says: "every element, however many there are" },
    json,
    links,
    help,
  },
  examples: [
    "strided show x.npy",
    "strided show model.safetensors embed.weight 0:4,:8",
    "strided show x.npy ::2,-1 --json",
  ],
  words: [1, 3],
  run: (args, host) =>
    withArchive(host, args, args.words[0], (archive) =>
      withTensor(archive, args.words.slice(1), (t) => {
        const digits = args.number("digits", 1);
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
