/**
 * Plots as SVG, a text for a file or a page: thin axes, round ticks, no script and nothing loaded from elsewhere. The
 * pixels of a heat map are a small PNG inside of it.
 */
import { envelopeOf, gridOf, pointsOf, type Summary, summaryOf } from "./data.ts";
import type { Asked } from "./options.ts";
import { pngOf } from "./png.ts";
import { colourOf, hexOf, MISSING, palette, type Range, shareOf, short, spread, ticksOf } from "./scale.ts";
import { histogramOf, notesOf, nothing } from "./text.ts";

const ink = { text: "#374151", light: "#6b7280", axis: "#9ca3af", grid: "#e5e7eb", paper: "#ffffff" };

/** The room of the drawing itself, between the labels. */
interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export function svgOf(op: string, asked: Asked): string {
  const width = asked.width ?? 640;
  const height = asked.height ?? 400;
  const summary = summaryOf(op, asked.tensor);
  const parts: string[] = [];
  if (asked.title !== undefined)
    parts.push(textAt(width / 2, 22, asked.title, { size: 15, weight: 600, fill: ink.text }));
  if (summary.finite === 0) parts.push(textAt(width / 2, height / 2, nothing(asked, summary), {}));
  else {
    const draw = { line: lines, scatter: lines, histogram: bars, heatmap: heatmap }[asked.kind];
    parts.push(...draw(op, asked, summary, { width, height }));
    for (const note of notesOf(asked, summary))
      parts.push(textAt(width - 12, height - 8, note, { anchor: "end", size: 11 }));
  }
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="12">`;
  const label = asked.title ?? `${asked.kind} of ${asked.tensor.dtype} [${asked.tensor.shape.join(", ")}]`;
  return [
    head,
    `<title>${escaped(label)}</title>`,
    `<rect width="100%" height="100%" fill="${ink.paper}"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

interface TextStyle {
  readonly anchor?: "start" | "middle" | "end";
  readonly size?: number;
  readonly weight?: number;
  readonly fill?: string;
  readonly turn?: number;
}

function textAt(x: number, y: number, text: string, style: TextStyle): string {
  const { anchor = "middle", size, weight, fill = ink.light, turn } = style;
  const more = [
    size === undefined ? "" : ` font-size="${size}"`,
    weight === undefined ? "" : ` font-weight="${weight}"`,
    turn === undefined ? "" : ` transform="rotate(${turn} ${place(x)} ${place(y)})"`,
  ].join("");
  return `<text x="${place(x)}" y="${place(y)}" text-anchor="${anchor}" fill="${fill}"${more}>${escaped(text)}</text>`;
}

/** No letter of a text is markup, and none is one that XML does not have. */
const escaped = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is taken out
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]/g, "�")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "�")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

/** A coordinate in tenths of a pixel. */
const place = (x: number): string => String(Math.round(x * 10) / 10);

/* Axes -------------------------------------------------------------------------------------------------------- */

interface Size {
  readonly width: number;
  readonly height: number;
}

function boxOf(asked: Asked, { width, height }: Size, yLabels: readonly string[], rightRoom = 16): Box {
  const longest = Math.max(...yLabels.map((label) => label.length), 1);
  return {
    left: 18 + 7 * longest + (asked.yLabel === undefined ? 0 : 20),
    top: asked.title === undefined ? 16 : 40,
    right: width - rightRoom,
    bottom: height - 34 - (asked.xLabel === undefined ? 0 : 18),
  };
}

function axes(asked: Asked, box: Box, x: Ticks | null, y: Ticks, { width, height }: Size): string[] {
  const parts: string[] = [];
  const { left, right, top, bottom } = box;
  for (const { share, label } of y) {
    const at = bottom - share * (bottom - top);
    parts.push(
      `<line x1="${place(left)}" y1="${place(at)}" x2="${place(right)}" y2="${place(at)}" stroke="${ink.grid}"/>`,
    );
    parts.push(textAt(left - 8, at + 4, label, { anchor: "end" }));
  }
  for (const { share, label } of x ?? []) {
    const at = left + share * (right - left);
    parts.push(
      `<line x1="${place(at)}" y1="${place(bottom)}" x2="${place(at)}" y2="${place(bottom + 5)}" stroke="${ink.axis}"/>`,
    );
    parts.push(textAt(at, bottom + 19, label, {}));
  }
  parts.push(
    `<line x1="${place(left)}" y1="${place(bottom)}" x2="${place(right)}" y2="${place(bottom)}" stroke="${ink.axis}"/>`,
  );
  if (asked.xLabel !== undefined)
    parts.push(textAt((left + right) / 2, height - 10, asked.xLabel, { fill: ink.text }));
  if (asked.yLabel !== undefined)
    parts.push(textAt(16, (top + bottom) / 2, asked.yLabel, { fill: ink.text, turn: -90 }));
  return width > 0 ? parts : [];
}

type Ticks = readonly { readonly share: number; readonly label: string }[];

const ticks = (range: Range, count: number): Ticks =>
  ticksOf(range, count).map((v) => ({ share: shareOf(v, range), label: short(v) }));

/* Kinds ---------------------------------------------------------------------------------------------------------- */

function lines(op: string, asked: Asked, summary: Summary, size: Size): string[] {
  const { series, kind } = asked;
  const data = asked.range ?? padded(summary.range);
  const y = ticks(data, Math.max(2, Math.round(size.height / 70)));
  const box = boxOf(
    asked,
    size,
    y.map((t) => t.label),
  );
  const n = series[0].size;
  const along =
    asked.x === undefined ? { low: 0, high: Math.max(1, n - 1) } : spread(summaryOf(op, asked.x).range);
  const x = ticks(along, Math.max(2, Math.round(size.width / 90)));
  const atX = (v: number) => box.left + shareOf(v, along) * (box.right - box.left);
  const atY = (v: number) => box.bottom - shareOf(v, data) * (box.bottom - box.top);
  // Several plots may stand in one page: what has the same name is the same.
  const id = `strided-clip-${[box.left, box.top, box.right, box.bottom].map(Math.round).join("-")}`;
  const clip = `<clipPath id="${id}"><rect x="${place(box.left - 3)}" y="${place(box.top - 3)}" width="${place(box.right - box.left + 6)}" height="${place(box.bottom - box.top + 6)}"/></clipPath>`;
  const drawn = series.map((of, k) => {
    const colour = hexOf(palette[k % palette.length]);
    const path =
      kind === "line" && asked.x === undefined
        ? envelopePath(op, of, box, atX, atY)
        : pointsPath(op, asked, of, atX, atY);
    const style =
      kind === "line"
        ? 'stroke-width="1.6" stroke-linejoin="round" stroke-linecap="round"'
        : 'stroke-width="4.5" stroke-linecap="round" stroke-opacity="0.65"';
    return `<path d="${path}" fill="none" stroke="${colour}" ${style}/>`;
  });
  return [clip, ...axes(asked, box, x, y, size), `<g clip-path="url(#${id})">`, ...drawn, "</g>"];
}

/** A little room above and below. */
function padded(range: Range): Range {
  const { low, high } = spread(range);
  const room = (high - low) * 0.04;
  return Number.isFinite(room) ? { low: low - room, high: high + room } : { low, high };
}

type Place = (v: number) => number;

function envelopePath(op: string, of: Asked["tensor"], box: Box, atX: Place, atY: Place): string {
  const { low, high, piece } = envelopeOf(op, of, Math.max(2, Math.round(box.right - box.left)));
  let path = "";
  let isOpen = false;
  for (let i = 0; i < low.length; i++) {
    if (Number.isNaN(low[i])) {
      isOpen = false;
      continue;
    }
    const x = place(atX(Math.min(of.size - 1, i * piece)));
    path += `${isOpen ? "L" : "M"}${x} ${place(atY(low[i]))}${isOpen ? "" : "h0"}`;
    if (high[i] !== low[i]) path += `V${place(atY(high[i]))}`;
    isOpen = true;
  }
  return path;
}

/** Points that an SVG has, at most. */
const MOST_DRAWN = 20_000;

function pointsPath(op: string, asked: Asked, of: Asked["tensor"], atX: Place, atY: Place): string {
  const [ys, xs] = asked.x === undefined ? pointsOf(op, [of]) : pointsOf(op, [of, asked.x]);
  const scale = asked.x === undefined ? (of.size - 1) / Math.max(1, ys.length - 1) : 1;
  const step = Math.max(1, Math.ceil(ys.length / MOST_DRAWN));
  let path = "";
  let isOpen = false;
  for (let i = 0; i < ys.length; i += step) {
    const v = xs === undefined ? i * scale : xs[i];
    if (!Number.isFinite(v) || !Number.isFinite(ys[i])) {
      isOpen = false;
      continue;
    }
    const at = `${place(atX(v))} ${place(atY(ys[i]))}`;
    path += asked.kind === "scatter" ? `M${at}h0` : `${isOpen ? "L" : "M"}${at}${isOpen ? "" : "h0"}`;
    isOpen = true;
  }
  return path;
}

function bars(op: string, asked: Asked, summary: Summary, size: Size): string[] {
  const { counts, labels, end, edges } = histogramOf(op, asked, summary, 40);
  const range = { low: 0, high: Math.max(...counts, 1) };
  const y = ticks(range, Math.max(2, Math.round(size.height / 70))).filter((t) =>
    Number.isInteger(Number(t.label)),
  );
  const box = boxOf(
    asked,
    size,
    y.map((t) => t.label),
  );
  const step = (box.right - box.left) / counts.length;
  // Whole numbers stand in the middle of their bars, ranges have ticks of their own.
  const every = Math.ceil(labels.length / Math.max(2, Math.round(size.width / 60)));
  const x: Ticks =
    end === null
      ? labels
          .map((label, i) => ({ share: (i + 0.5) / labels.length, label }))
          .filter((_, i) => i % every === 0)
      : ticks(edges, Math.max(2, Math.round(size.width / 90)));
  const gap = step > 4 ? 1 : 0;
  const drawn = counts.map((n, i) => {
    const height = (n / range.high) * (box.bottom - box.top);
    return n === 0
      ? ""
      : `<rect x="${place(box.left + i * step + gap / 2)}" y="${place(box.bottom - height)}" width="${place(step - gap)}" height="${place(height)}" fill="${hexOf(palette[0])}"/>`;
  });
  const [grid, base] = [axes(asked, box, x, y, size), axes(asked, box, null, [], size)];
  return [...grid, ...drawn.filter((d) => d !== ""), base[0]];
}

/** Pixels of a heat map along each axis, at most. */
const MOST_CELLS = 256;

function heatmap(op: string, asked: Asked, summary: Summary, size: Size): string[] {
  const [m, n] = asked.tensor.shape;
  const range = asked.range ?? spread(summary.range);
  const grid = gridOf(op, asked.tensor, MOST_CELLS, MOST_CELLS);
  const shades = 255;
  const pixels = Uint8Array.from(grid.values, (v) =>
    Number.isNaN(v)
      ? shades
      : Math.min(shades - 1, Math.max(0, Math.round(shareOf(v, range) * (shades - 1)))),
  );
  const colours = [...Array.from({ length: shades }, (_, k) => colourOf(k / (shades - 1))), MISSING];
  const png = pngOf(grid.columns, grid.rows, pixels, colours);
  const rowTicks = middles(m, Math.max(2, Math.round(size.height / 60)));
  const whole = boxOf(
    asked,
    size,
    rowTicks.map((t) => t.label),
    96,
  );
  // Square cells, where the matrix is not too long for it.
  const cell = Math.min((whole.right - whole.left) / n, (whole.bottom - whole.top) / m);
  const isSquare = m / n < 4 && n / m < 4;
  const [w, h] = isSquare ? [cell * n, cell * m] : [whole.right - whole.left, whole.bottom - whole.top];
  const box: Box = { ...whole, right: whole.left + w, bottom: whole.top + h };
  const columnTicks = middles(n, Math.max(2, Math.round(w / 60)));
  const parts = [
    `<image x="${place(box.left)}" y="${place(box.top)}" width="${place(w)}" height="${place(h)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,${png}"/>`,
    ...columnTicks.map(({ share, label }) => textAt(box.left + share * w, box.bottom + 17, label, {})),
    ...rowTicks.map(({ share, label }) =>
      textAt(box.left - 8, box.top + share * h + 4, label, { anchor: "end" }),
    ),
  ];
  if (asked.xLabel !== undefined)
    parts.push(textAt(box.left + w / 2, box.bottom + 35, asked.xLabel, { fill: ink.text }));
  if (asked.yLabel !== undefined)
    parts.push(textAt(16, box.top + h / 2, asked.yLabel, { fill: ink.text, turn: -90 }));
  return [...parts, ...colourBar(box, range)];
}

/** Row and column numbers stand at the middle of their cells. */
function middles(n: number, count: number): Ticks {
  return ticksOf({ low: 0, high: Math.max(1, n - 1) }, count)
    .filter((v) => Number.isInteger(v) && v < n)
    .map((v) => ({ share: (v + 0.5) / n, label: String(v) }));
}

function colourBar(box: Box, range: Range): string[] {
  const [x, width, height] = [box.right + 18, 14, box.bottom - box.top];
  const stops = Array.from(
    { length: 9 },
    (_, k) => `<stop offset="${k / 8}" stop-color="${hexOf(colourOf(1 - k / 8))}"/>`,
  );
  return [
    `<linearGradient id="strided-ramp" x1="0" y1="0" x2="0" y2="1">${stops.join("")}</linearGradient>`,
    `<rect x="${place(x)}" y="${place(box.top)}" width="${width}" height="${place(height)}" fill="url(#strided-ramp)"/>`,
    ...ticks(range, Math.max(2, Math.round(height / 60))).map(({ share, label }) =>
      textAt(x + width + 6, box.bottom - share * height + 4, label, { anchor: "start" }),
    ),
  ];
}
