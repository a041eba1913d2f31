/** `strided plot`: a picture of a tensor, in the terminal or in a file. */
import { TensorError } from "../../errors.ts";
import type { PlotColor, PlotKind } from "../../plot/options.ts";
import { plainText } from "../../plot/text.ts";
import { plot as draw } from "../../plot.ts";
import type { Tensor } from "../../tensor.ts";
import { type Command, given, help, links } from "../command.ts";
import { nameOf, withArchive, withTensor } from "../entries.ts";
import { type Host, Usage } from "../host.ts";

export const plot: Command = {
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
    links,
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
    withArchive(host, args, args.words[0], async (archive) => {
      let [picture, drawing]: [Tensor | undefined, string | undefined] = [undefined, undefined];
      const code = await withTensor(archive, args.words.slice(1), (t, { name }) => {
        const out = args.text("out");
        // Channels of a sound are lines.
        const isSound = archive.format === "wav" && (t.rank === 1 || t.shape[1] <= 8);
        const options = given({
          kind: (args.text("kind") as PlotKind | undefined) ?? (isSound ? "line" : undefined),
          bins: args.number("bins"),
          width: args.number("width"),
          height: args.number("height"),
          title: args.text("title") ?? name,
        });
        if (out === undefined) {
          const color = (args.text("color") as PlotColor | undefined) ?? host.terminal.color;
          const ascii = args.flag("ascii") || host.terminal.ascii;
          host.out(draw.text(t, { width: host.terminal.columns - 1, ...options, color, ascii }));
          return 0;
        }
        if (!/\.(svg|png)$/i.test(out))
          throw new Usage(`${plainText(out)}: pictures are written as .svg or .png.`);
        if (!args.flag("force") && host.exists(out))
          throw new Usage(`${plainText(out)} is there already: --force writes over it.`);
        if (/\.svg$/i.test(out)) drawing = draw.svg(t, options);
        else picture = draw.image(t, options);
        return 0;
      }).catch((error) => {
        throw inFlags(error);
      });
      const out = args.text("out");
      if (drawing !== undefined) await host.write(out as string, drawing);
      if (picture !== undefined) await savePicture(host, out as string, picture);
      if (out !== undefined) host.out(`${nameOf(args.words[0])} → ${plainText(out)}`);
      return code;
    }),
};

/** What is wrong with an option is wrong with a flag here. */
function inFlags(error: unknown): unknown {
  const said = error instanceof TensorError ? error.message : "";
  const flag = /^plot\.\w+: (kind|bins|width|height|color) is (?:the \w+ )?([\s\S]*)$/.exec(said);
  return flag === null ? error : new Usage(`--${flag[1]} is ${flag[2]}`);
}

async function savePicture(host: Host, path: string, t: Tensor): Promise<void> {
  try {
    await host.files.savePicture(path, t);
  } finally {
    t.dispose();
  }
}
