/**
 * "strided/plot": pictures of tensors, as text for a terminal, and as SVG or pixels for a file. An entry of its own, so that programs
 * that draw nothing do not load it.
 */
import { fromBuffer, scope } from "./api.ts";
import { type PlotOptions, readPlot, type SvgOptions } from "./plot/options.ts";
import { pictureOf } from "./plot/raster.ts";
import { drawingOf, svgOf } from "./plot/svg.ts";
import { hostTerminal, type Terminal } from "./plot/terminal.ts";
import { textOf } from "./plot/text.ts";
import type { Tensor } from "./tensor.ts";

export type { PlotColor, PlotKind, PlotOptions, SvgOptions } from "./plot/options.ts";

/** Text for nowhere in particular. */
const page: Terminal = { columns: 81, color: "none", ascii: false };

function text(t: Tensor, options?: PlotOptions): string {
  const op = "plot.text";
  return scope(() => {
    const asked = readPlot(op, t, options, "text");
    return textOf(op, asked, asked.color === "auto" ? hostTerminal() : page);
  });
}

function svg(t: Tensor, options?: SvgOptions): string {
  const op = "plot.svg";
  return scope(() => svgOf(op, readPlot(op, t, options, "svg")));
}

function image(t: Tensor, options?: SvgOptions): Tensor<"u8"> {
  const op = "plot.image";
  const { width, height, rgb } = pictureOf(scope(() => drawingOf(op, readPlot(op, t, options, "svg"))));
  return fromBuffer(rgb, { dtype: "u8", shape: [height, width, 3] });
}

/** What prints and draws tensors. */
export interface Plot {
  /** Prints the plot, with what the terminal can: its width, its colours. */
  (t: Tensor, options?: PlotOptions): void;
  /** The same as a text: 80 columns without colours, unless the options say otherwise. */
  text(t: Tensor, options?: PlotOptions): string;
  /** The same as SVG, for a file or a page. */
  svg(t: Tensor, options?: SvgOptions): string;
  /**
   * The same as pixels, u8 [height, width, 3], two for each of the drawing along each axis (1280 × 800 where nothing else is
   * asked for): for a PNG file, a canvas, or to compute with.
   *
   *     await png.save("losses.png", plot.image(losses));
   */
  image(t: Tensor, options?: SvgOptions): Tensor<"u8">;
}

/**
 * Prints a picture of a tensor: a vector as a line, a matrix as a heat map, everything else as a histogram, or the kind that
 * is asked for. A tensor of any size is folded into what is drawn by kernels; numbers that are not finite are left out, and
 * counted under the picture.
 *
 *     plot(sin(linspace(0, 6.28, 200)));
 *     plot(weights, { kind: "histogram", bins: 20 });
 *     writeFileSync("weights.svg", plot.svg(weights));
 */
export const plot: Plot = /* @__PURE__ */ Object.assign(
  (t: Tensor, options?: PlotOptions): void => {
    const op = "plot";
    console.log(scope(() => textOf(op, readPlot(op, t, options, "text"), hostTerminal())));
  },
  { text, svg, image },
);
