/**
 * Plots as text: lines and points in braille (eight dots a letter), histograms in bars of eighths, heat maps in half
 * blocks, two pixels a letter. With `ascii` all of them get along with plain letters, without colours heat maps are shades.
 */
import { dtypes } from "../dtype.ts";
import { list } from "../errors.ts";
import { binsOf, envelopeOf, gridOf, pointsOf, type Summary, summaryOf } from "./data.ts";
import type { Asked } from "./options.ts";
import { colourOf, MISSING, palette, type Range, type RGB, shareOf, short, spread } from "./scale.ts";
import { type Paint, paints, type Terminal } from "./terminal.ts";

interface Style {
  readonly width: number;
  readonly height: number;
  readonly ascii: boolean;
  readonly isColoured: boolean;
  readonly paint: Paint;
}

const HEIGHT = 16;

export function textOf(op: string, asked: Asked, terminal: Terminal): string {
  const color = asked.color === undefined || asked.color === "auto" ? terminal.color : asked.color;
  const style: Style = {
    // The last column stays free: some terminals go to the next line there.
    width: asked.width ?? terminal.columns - 1,
    height: asked.height ?? HEIGHT,
    ascii: asked.ascii ?? terminal.ascii,
    isColoured: color !== "none",
    paint: paints[color],
  };
  const summary = summaryOf(op, asked.tensor);
  const lines = asked.title === undefined ? [] : [plainText(asked.title)];
  if (summary.finite === 0) return [...lines, nothing(asked, summary)].join("\n");
  const drawn = {
    line: () => linesOf(op, asked, summary, style),
    scatter: () => linesOf(op, asked, summary, style),
    histogram: () => histogramLines(op, asked, summary, style),
    heatmap: () => heatmapLines(op, asked, summary, style),
  }[asked.kind]();
  const notes = notesOf(asked, summary);
  return [...lines, ...drawn, ...notes].join("\n");
}

/** Letters that are orders to a terminal, or turn the direction of what follows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is taken out
const orders = /[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text as letters only: what would be an order is written out, as \u001b. */
export const plainText = (text: string): string =>
  text.replace(orders, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Why there is no picture. */
export function nothing({ tensor }: Asked, { size, nan }: Summary): string {
  const what = `${tensor.dtype} ${list(tensor.shape)}`;
  if (size === 0) return `nothing to plot: ${what} has no elements`;
  const parts = [nan > 0 ? `${nan} NaN` : "", size > nan ? `${size - nan} infinite` : ""];
  return `nothing to plot: ${what} has no finite number (${parts.filter((p) => p !== "").join(", ")})`;
}

/** What the picture leaves out. */
export function notesOf({ tensor, kind }: Asked, { size, finite, nan }: Summary): string[] {
  const left = [];
  if (nan > 0) left.push(`${nan} NaN`);
  if (size - finite - nan > 0) left.push(`${size - finite - nan} infinite`);
  if (left.length === 0) return [];
  const where = kind === "heatmap" && tensor.size > 0 ? "not counted" : "not shown";
  return [`${left.join(" and ")} ${where}`];
}

/* Lines and points --------------------------------------------------------------------------------------------- */

/** Dots in letters: 2 × 4 of braille, or 1 × 2 of ASCII. */
class Dots {
  readonly columns: number;
  readonly rows: number;
  readonly across: number;
  readonly down: number;
  readonly #bits: Uint8Array;
  readonly #series: Uint8Array;

  constructor(columns: number, rows: number, ascii: boolean) {
    this.columns = columns;
    this.rows = rows;
    this.across = ascii ? 1 : 2;
    this.down = ascii ? 2 : 4;
    this.#bits = new Uint8Array(columns * rows);
    this.#series = new Uint8Array(columns * rows);
  }
  get width(): number {
    return this.columns * this.across;
  }
  get height(): number {
    return this.rows * this.down;
  }
  set(x: number, y: number, series: number): void {
    if (!(x >= 0 && x < this.width && y >= 0 && y < this.height)) return;
    const cell = Math.floor(y / this.down) * this.columns + Math.floor(x / this.across);
    this.#bits[cell] |= 1 << ((y % this.down) * this.across + (x % this.across));
    this.#series[cell] = series;
  }
  line(x0: number, y0: number, x1: number, y1: number, series: number): void {
    // From far outside: only what is inside is walked.
    const most = 4 * (this.width + this.height);
    const steps = Math.min(most, Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0), 1));
    for (let k = 0; k <= steps; k++) {
      const t = k / steps;
      this.set(Math.round(x0 + (x1 - x0) * t), Math.round(y0 + (y1 - y0) * t), series);
    }
  }
  row(i: number, paint: Paint, isColoured: boolean): string {
    let text = "";
    for (let j = 0; j < this.columns; j++) {
      const bits = this.#bits[i * this.columns + j];
      const letter = this.across === 2 ? braille(bits) : " '.:"[bits];
      const colour = palette[this.#series[i * this.columns + j] % palette.length];
      text += isColoured && bits !== 0 ? paint(letter, lighter(colour)) : letter;
    }
    return text;
  }
}

/** Bit 2·row + column here; Unicode counts the dots of the first column before those of the second. */
const brailleBits = [0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80];
const braille = (bits: number): string =>
  bits === 0
    ? " "
    : String.fromCharCode(0x2800 + brailleBits.reduce((sum, b, k) => sum | (bits & (1 << k) ? b : 0), 0));

/** Ink that can be read on dark and on light paper. */
const lighter = (rgb: RGB): RGB => rgb.map((c) => Math.min(255, Math.round(c * 0.8 + 60))) as unknown as RGB;

function linesOf(op: string, asked: Asked, summary: Summary, style: Style): string[] {
  const { series, kind } = asked;
  const range = asked.range ?? spread(summary.range);
  const rows = Math.max(1, style.height - 2);
  const half = Math.floor((rows - 1) / 2);
  // The ends come last: of two labels in one line the outer one stays.
  const labels = new Map([
    [half, rows > 4 ? short(valueAt(range, rows, half)) : ""],
    [rows - 1, short(range.low)],
    [0, short(range.high)],
  ]);
  const gutter = Math.max(...[...labels.values()].map((label) => label.length));
  const dots = new Dots(Math.max(4, style.width - gutter - 2), rows, style.ascii);
  const y = (v: number) => Math.round((1 - shareOf(v, range)) * (dots.height - 1));
  const across = asked.x === undefined ? indexRange(series[0].size) : spread(summaryOf(op, asked.x).range);
  if (asked.x === undefined && kind === "line") {
    for (const [k, of] of series.entries()) drawEnvelope(op, dots, of, k, y);
  } else {
    for (const [k, of] of series.entries()) {
      const [ys, xs] = asked.x === undefined ? [...pointsOf(op, [of]), null] : pointsOf(op, [of, asked.x]);
      drawPoints(dots, xs, ys as Float64Array, k, kind === "line", across, y);
    }
  }
  const axis = style.ascii
    ? { side: "|", tick: "+", corner: "+", line: "-" }
    : { side: "│", tick: "┤", corner: "└", line: "─" };
  const lines = Array.from({ length: rows }, (_, i) => {
    const label = labels.get(i) ?? "";
    return `${label.padStart(gutter)} ${label === "" ? axis.side : axis.tick}${dots.row(i, style.paint, style.isColoured)}`.trimEnd();
  });
  lines.push(`${" ".repeat(gutter)} ${axis.corner}${axis.line.repeat(dots.columns)}`);
  const [left, right] = [short(across.low), short(across.high)];
  const gap = Math.max(1, dots.columns - left.length - right.length);
  lines.push(`${" ".repeat(gutter + 2)}${left}${" ".repeat(gap)}${right}`);
  return lines;
}

const indexRange = (n: number): Range => ({ low: 0, high: Math.max(1, n - 1) });
const valueAt = ({ low, high }: Range, rows: number, i: number): number =>
  high - ((high - low) * i) / Math.max(1, rows - 1);

function drawEnvelope(
  op: string,
  dots: Dots,
  of: Asked["tensor"],
  series: number,
  y: (v: number) => number,
): void {
  const { low, high, piece } = envelopeOf(op, of, dots.width);
  const last = Math.max(1, (of.size - 1) / piece);
  let before: readonly [number, number] | null = null;
  for (let i = 0; i < low.length; i++) {
    if (Number.isNaN(low[i])) {
      before = null;
      continue;
    }
    const x = Math.round((i / last) * (dots.width - 1));
    const middle = (y(low[i]) + y(high[i])) / 2;
    if (before !== null) dots.line(before[0], before[1], x, middle, series);
    dots.line(x, y(low[i]), x, y(high[i]), series);
    before = [x, middle];
  }
}

function drawPoints(
  dots: Dots,
  xs: Float64Array | null,
  ys: Float64Array,
  series: number,
  joined: boolean,
  across: Range,
  y: (v: number) => number,
): void {
  let before: readonly [number, number] | null = null;
  for (let i = 0; i < ys.length; i++) {
    const at = xs === null ? (i / Math.max(1, ys.length - 1)) * (across.high - across.low) : xs[i];
    if (!Number.isFinite(at) || !Number.isFinite(ys[i])) {
      before = null;
      continue;
    }
    const place: readonly [number, number] = [Math.round(shareOf(at, across) * (dots.width - 1)), y(ys[i])];
    if (joined && before !== null) dots.line(before[0], before[1], place[0], place[1], series);
    else dots.set(place[0], place[1], series);
    before = place;
  }
}

/* Histograms ----------------------------------------------------------------------------------------------------- */

/** Whole numbers of a small range get a bar each. */
export function histogramOf(op: string, asked: Asked, { range }: Summary, bins: number) {
  const { tensor } = asked;
  const isWhole = dtypes[tensor.dtype].kind !== "float";
  const count = range.high - range.low + 1;
  if (isWhole && asked.bins === undefined && asked.range === undefined && count <= 2 * bins) {
    const around = { low: range.low - 0.5, high: range.high + 0.5 };
    const { counts } = binsOf(op, tensor, count, around);
    const labels = counts.map((_, i) => short(range.low + i));
    return { counts, labels, end: null, edges: around };
  }
  const shown = asked.range ?? spread(range);
  const { counts, edges } = binsOf(op, tensor, asked.bins ?? bins, shown);
  return {
    counts,
    labels: edges.slice(0, -1).map((e) => short(e)),
    end: short(edges[edges.length - 1]),
    edges: shown,
  };
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

function histogramLines(op: string, asked: Asked, summary: Summary, style: Style): string[] {
  const { counts, labels, end } = histogramOf(op, asked, summary, style.height);
  const gutter = Math.max(...[...labels, end ?? ""].map((label) => label.length));
  const most = Math.max(...counts, 1);
  const room = Math.max(4, style.width - gutter - 4 - String(most).length);
  const lines = counts.map((n, i) => {
    const length = (n / most) * room;
    const full = Math.floor(length);
    const rest = eighths[Math.floor((length - full) * 8)];
    // What is there is seen, however little.
    const bar = style.ascii
      ? "#".repeat(n > 0 ? Math.max(1, Math.round(length)) : 0)
      : `${"█".repeat(full)}${rest}` || (n > 0 ? "▏" : "");
    const ink = style.isColoured && bar !== "" ? style.paint(bar, lighter(palette[0])) : bar;
    return `${labels[i].padStart(gutter)} ${style.ascii ? "|" : "┤"}${ink} ${n}`;
  });
  return end === null ? lines : [...lines, `${end.padStart(gutter)} ${style.ascii ? "+" : "┘"}`];
}

/* Heat maps ---------------------------------------------------------------------------------------------------------- */

const shades = { unicode: "·░▒▓█", ascii: ".:-=+*#%@" };

function heatmapLines(op: string, asked: Asked, summary: Summary, style: Style): string[] {
  const [m, n] = asked.tensor.shape;
  // Letters are twice as high as wide: half a letter is a square pixel, and so are two letters side by side.
  const isHalf = style.isColoured && !style.ascii;
  const most = {
    rows: isHalf ? 2 * style.height : style.height,
    columns: isHalf ? style.width : Math.floor(style.width / 2),
  };
  const grid = gridOf(op, asked.tensor, most.rows, most.columns);
  const zoom = Math.max(1, Math.min(8, Math.floor(Math.min(most.rows / m, most.columns / n))));
  const range = asked.range ?? spread(summary.range);
  const at = (i: number, j: number): number => {
    const v = grid.values[Math.floor(i / zoom) * grid.columns + Math.floor(j / zoom)];
    return Number.isNaN(v) ? v : shareOf(v, range);
  };
  const [rows, columns] = [grid.rows * zoom, grid.columns * zoom];
  const lines = isHalf ? halfBlocks(rows, columns, at, style.paint) : shaded(rows, columns, at, style);
  return [...lines, legend(range, style)];
}

function halfBlocks(
  rows: number,
  columns: number,
  at: (i: number, j: number) => number,
  paint: Paint,
): string[] {
  const lines: string[] = [];
  for (let i = 0; i < rows; i += 2) {
    let line = "";
    for (let j = 0; j < columns; j++) {
      const below = i + 1 < rows ? colourOf(at(i + 1, j)) : null;
      line += paint("▀", colourOf(at(i, j)), below);
    }
    lines.push(line);
  }
  return lines;
}

function shaded(rows: number, columns: number, at: (i: number, j: number) => number, style: Style): string[] {
  const letters = style.ascii ? shades.ascii : shades.unicode;
  return Array.from({ length: rows }, (_, i) => {
    let line = "";
    for (let j = 0; j < columns; j++) {
      const share = at(i, j);
      const letter = Number.isNaN(share) ? "?" : shadeOf(letters, share);
      line += style.isColoured
        ? style.paint(letter + letter, Number.isNaN(share) ? MISSING : colourOf(share))
        : letter + letter;
    }
    return line.trimEnd();
  });
}

const shadeOf = (letters: string, share: number): string =>
  letters[Math.min(letters.length - 1, Math.max(0, Math.floor(share * letters.length)))];

function legend(range: Range, style: Style): string {
  const ends = [short(range.low), short(range.high)];
  const steps = Math.max(2, Math.min(10, style.width - ends.join("").length - 2));
  const shares = Array.from({ length: steps }, (_, k) => k / (steps - 1));
  const letters = style.ascii ? shades.ascii : shades.unicode;
  const bar = shares
    .map((s) => (style.isColoured && !style.ascii ? style.paint("█", colourOf(s)) : shadeOf(letters, s)))
    .join("");
  return `${ends[0]} ${bar} ${ends[1]}`;
}
