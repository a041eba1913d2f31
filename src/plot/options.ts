/** The options of a plot, read once and checked, and what kind of plot a tensor gets by itself. */
import { describe, fail, list } from "../errors.ts";
import { checkFlag, numberList, readOptions } from "../ops/arguments.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import type { Range } from "./scale.ts";

const kinds = ["line", "scatter", "histogram", "heatmap"] as const;
/** Which picture. */
export type PlotKind = (typeof kinds)[number];
const colours = ["auto", "none", "256", "truecolor"] as const;
/** How many colours. */
export type PlotColor = (typeof colours)[number];

interface CommonOptions {
  /** Default: a line of a vector, a heat map of a matrix, a histogram of everything else. */
  readonly kind?: PlotKind;
  /** Where the points of a line or a scatter plot lie; default 0, 1, 2, … */
  readonly x?: Tensor;
  /** Bars of a histogram. Default 16 in text, 40 in SVG. */
  readonly bins?: number;
  /** The values from bottom to top (of a histogram: from left to right). Default: all that are finite. */
  readonly range?: readonly [number, number];
  readonly title?: string;
}

/** The options of `plot`. */
export interface PlotOptions extends CommonOptions {
  /** Columns of text. Default: the terminal's, or 80. */
  readonly width?: number;
  /** Lines of text. Default 16. */
  readonly height?: number;
  /** "auto" asks the terminal (NO_COLOR, FORCE_COLOR, COLORTERM, TERM). Default: auto for plot, none for plot.text. */
  readonly color?: PlotColor;
  /** No letters beyond ASCII. Default: where the terminal has no Unicode. */
  readonly ascii?: boolean;
}

/** The options of `plot.svg` and `plot.image`. */
export interface SvgOptions extends CommonOptions {
  /** Pixels. Default 640. */
  readonly width?: number;
  /** Pixels. Default 400. */
  readonly height?: number;
  /** Under the horizontal axis. */
  readonly xLabel?: string;
  /** Beside the vertical axis. */
  readonly yLabel?: string;
}

export interface Asked {
  readonly kind: PlotKind;
  /** Lines of a plot: one, or the columns of a matrix. */
  readonly series: readonly Tensor[];
  readonly tensor: Tensor;
  readonly x: Tensor | undefined;
  readonly bins: number | undefined;
  readonly range: Range | undefined;
  readonly title: string | undefined;
  readonly width: number | undefined;
  readonly height: number | undefined;
  readonly color: PlotColor | undefined;
  readonly ascii: boolean | undefined;
  readonly xLabel: string | undefined;
  readonly yLabel: string | undefined;
}

const common = ["kind", "x", "bins", "range", "title", "width", "height"];
const textNames = [...common, "color", "ascii"];
const svgNames = [...common, "xLabel", "yLabel"];

/** Lines that one picture may have. */
const MOST_LINES = 8;

/** Reads everything first; views of the columns are the caller's to let go of. */
export function readPlot(op: string, t: Tensor, given: unknown, where: "text" | "svg"): Asked {
  const names = where === "text" ? textNames : svgNames;
  const options = readOptions(op, given as Record<string, unknown>, '{ kind: "histogram" }', names);
  const { kind, x, title, xLabel, yLabel } = options;
  if (kind !== undefined && !kinds.includes(kind as PlotKind)) {
    fail("value", op, `kind is ${describe(kind)}.`, `Use one of ${kinds.join(" ")}.`);
  }
  for (const [name, text] of Object.entries({ title, xLabel, yLabel })) {
    if (text !== undefined && typeof text !== "string") {
      fail("value", op, `${name} is ${describe(text)}.`, "Give a text.");
    }
  }
  const [low, high] = where === "text" ? [20, 1000] : [120, 10_000];
  const size = (name: string, least: number, most: number): number | undefined => {
    const value = options[name];
    if (value === undefined) return undefined;
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
      return value as number;
    return fail(
      "value",
      op,
      `${name} is ${describe(value)}.`,
      `Use a whole number from ${least} to ${most}.`,
    );
  };
  const color = options.color as PlotColor | undefined;
  if (color !== undefined && !colours.includes(color)) {
    fail("value", op, `color is ${describe(color)}.`, `Use one of ${colours.join(" ")}.`);
  }
  checkFlag(op, "ascii", options.ascii);
  const read = {
    x: x as Tensor | undefined,
    bins: size("bins", 1, 1000),
    range: rangeOf(op, options.range),
    title: title as string | undefined,
    width: size("width", low, high),
    height: size("height", where === "text" ? 3 : low, high),
    color,
    ascii: options.ascii as boolean | undefined,
    xLabel: xLabel as string | undefined,
    yLabel: yLabel as string | undefined,
  };
  const { shape } = liveTensor(op, t);
  const asked = (kind as PlotKind | undefined) ?? kindOf(shape);
  checkRank(op, asked, shape);
  const isLines = asked === "line" || asked === "scatter";
  if (read.x !== undefined) checkX(op, isLines, liveTensor(op, read.x), shape);
  return { kind: asked, tensor: t, series: isLines ? columnsOf(op, t) : [], ...read };
}

/** A matrix of one column is a vector that was written down. */
const kindOf = ({ length: rank, 1: columns }: readonly number[]): PlotKind =>
  rank === 1 || (rank === 2 && columns === 1) ? "line" : rank === 2 ? "heatmap" : "histogram";

function rangeOf(op: string, given: unknown): Range | undefined {
  if (given === undefined) return undefined;
  const [low, high, ...rest] = numberList(op, "the range", given);
  if (Number.isFinite(low) && Number.isFinite(high) && low < high && rest.length === 0) return { low, high };
  return fail(
    "value",
    op,
    `the range is ${list([low, high, ...rest])}.`,
    "Give [low, high], low below high.",
  );
}

function checkRank(op: string, kind: PlotKind, shape: readonly number[]): void {
  if (kind === "heatmap" && shape.length !== 2) {
    fail("shape", op, `a heat map of ${list(shape)}.`, "It needs a matrix: take a slice.");
  }
  if ((kind === "line" || kind === "scatter") && shape.length !== 1 && shape.length !== 2) {
    fail(
      "shape",
      op,
      `a ${kind} of ${list(shape)}.`,
      "It needs a vector, or a matrix whose columns are drawn.",
    );
  }
}

function checkX(op: string, isLines: boolean, x: Tensor, shape: readonly number[]): void {
  if (!isLines)
    fail("value", op, "x is given, and nothing lies at an x.", 'It is for kind "line" and "scatter".');
  if (list(x.shape) === list(shape.slice(0, 1))) return;
  fail("shape", op, `x is ${list(x.shape)}, the points are ${list(shape)}.`, "Give one x for each point.");
}

function columnsOf(op: string, t: Tensor): Tensor[] {
  if (t.rank === 1) return [t];
  const [, columns] = t.shape;
  if (columns > MOST_LINES) {
    fail(
      "shape",
      op,
      `${columns} columns are too many lines.`,
      `At most ${MOST_LINES}: take a slice, or a heat map.`,
    );
  }
  return Array.from({ length: columns }, (_, j) => t.slice(":", j));
}
