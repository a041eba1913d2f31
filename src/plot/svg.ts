/**
 * Plots as drawings: first as data (shapes.ts), with thin axes and round ticks; then as SVG, a text for a file or a page,
 * with no script and nothing loaded from elsewhere. The pixels of a heat map are a small PNG inside of it.
 */
import { envelopeOf, gridOf, pointsOf, type Summary, summaryOf } from "./data.ts";
import type { Asked } from "./options.ts";
import { pngOf } from "./png.ts";
import { colourOf, hexOf, MISSING, palette, type Range, shareOf, short, spread, ticksOf } from "./scale.ts";
import type { Drawing, Point, Shape } from "./shapes.ts";
import { histogramOf, notesOf, nothing } from "./text.ts";

const ink = { text: "#374151", light: "#6b7280", axis: "#9ca3af", grid: "#e5e7eb", paper: "#ffffff" };

/** The room of the drawing itself, between the labels. */
interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** What is drawn, as data. */
export function drawingOf(op: string, asked: Asked): Drawing {
  const width = asked.width ?? 640;
  const height = asked.height ?? 400;
  const summary = summaryOf(op, asked.tensor);
  const shapes: Shape[] = [];
  if (asked.title !== undefined)
    shapes.push(textAt(width / 2, 22, asked.title, { size: 15, weight: 600, fill: ink.text }));
  if (summary.finite === 0) shapes.push(textAt(width / 2, height / 2, nothing(asked, summary), {}));
  else {
    const draw = { line: lines, scatter: lines, histogram: bars, heatmap: heatmap }[asked.kind];
    shapes.push(...draw(op, asked, summary, { width, height }));
    for (const note of notesOf(asked, summary))
      shapes.push(textAt(width - 12, height - 8, note, { anchor: "end", size: 11 }));
  }
  const label = asked.title ?? `${asked.kind} of ${asked.tensor.dtype} [${asked.tensor.shape.join(", ")}]`;
  return { width, height, label, paper: ink.paper, shapes };
}

export function svgOf(op: string, asked: Asked): string {
  const { width, height, label, paper, shapes } = drawingOf(op, asked);
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="12">`;
  return [
    head,
    `<title>${escaped(label)}</title>`,
    `<rect width="100%" height="100%" fill="${paper}"/>`,
    ...shapes.flatMap(svgShape),
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

/** All of it said: what somebody has put on Object.prototype is no style. */
const unstyled = {
  anchor: "middle",
  fill: ink.light,
  size: undefined,
  weight: undefined,
  turn: undefined,
} as const;

const textAt = (x: number, y: number, text: string, style: TextStyle): Shape => ({
  kind: "text",
  x,
  y,
  text,
  ...unstyled,
  ...style,
});

const lineAt = (x1: number, y1: number, x2: number, y2: number, stroke: string): Shape => ({
  kind: "line",
  x1,
  y1,
  x2,
  y2,
  stroke,
});

/** A shape as SVG writes it. */
function svgShape(shape: Shape): string[] {
  switch (shape.kind) {
    case "text": {
      const { x, y, text, anchor, size, weight, fill, turn } = shape;
      const more = [
        size === undefined ? "" : ` font-size="${size}"`,
        weight === undefined ? "" : ` font-weight="${weight}"`,
        turn === undefined ? "" : ` transform="rotate(${turn} ${place(x)} ${place(y)})"`,
      ].join("");
      return [
        `<text x="${place(x)}" y="${place(y)}" text-anchor="${anchor}" fill="${fill}"${more}>${escaped(text)}</text>`,
      ];
    }
    case "line": {
      const { x1, y1, x2, y2, stroke } = shape;
      return [
        `<line x1="${place(x1)}" y1="${place(y1)}" x2="${place(x2)}" y2="${place(y2)}" stroke="${stroke}"/>`,
      ];
    }
    case "rect": {
      const { x, y, width, height, fill } = shape;
      return [
        `<rect x="${place(x)}" y="${place(y)}" width="${place(width)}" height="${place(height)}" fill="${fill}"/>`,
      ];
    }
    case "path": {
      const { runs, stroke, width, opacity } = shape;
      const more = opacity === undefined ? ' stroke-linejoin="round"' : "";
      const faint = opacity === undefined ? "" : ` stroke-opacity="${opacity}"`;
      return [
        `<path d="${runs.map(runText).join("")}" fill="none" stroke="${stroke}" stroke-width="${width}"${more} stroke-linecap="round"${faint}/>`,
      ];
    }
    case "clip": {
      const { x, y, width, height, shapes } = shape;
      // Several plots may stand in one page: what has the same name is the same.
      const id = `strided-clip-${[x, y, x + width, y + height].map(Math.round).join("-")}`;
      return [
        `<clipPath id="${id}"><rect x="${place(x)}" y="${place(y)}" width="${place(width)}" height="${place(height)}"/></clipPath>`,
        `<g clip-path="url(#${id})">`,
        ...shapes.flatMap(svgShape),
        "</g>",
      ];
    }
    case "pixels": {
      const { x, y, width, height, columns, rows, pixels, colours } = shape;
      const png = pngOf(columns, rows, pixels, colours);
      return [
        `<image x="${place(x)}" y="${place(y)}" width="${place(width)}" height="${place(height)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,${png}"/>`,
      ];
    }
    case "ramp": {
      const { x, y, width, height } = shape;
      const stops = Array.from(
        { length: 9 },
        (_, k) => `<stop offset="${k / 8}" stop-color="${hexOf(colourOf(1 - k / 8))}"/>`,
      );
      return [
        `<linearGradient id="strided-ramp" x1="0" y1="0" x2="0" y2="1">${stops.join("")}</linearGradient>`,
        `<rect x="${place(x)}" y="${place(y)}" width="${width}" height="${place(height)}" fill="url(#strided-ramp)"/>`,
      ];
    }
  }
}

/** Points that a pen draws without being lifted; the first leaves a dot. */
function runText(run: readonly Point[]): string {
  let before = "";
  return run
    .map(([x, y], i) => {
      const [at, down] = [place(x), place(y)];
      const text = i === 0 ? `M${at} ${down}h0` : at === before ? `V${down}` : `L${at} ${down}`;
      before = at;
      return text;
    })
    .join("");
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

function axes(asked: Asked, box: Box, x: Ticks | null, y: Ticks, { height }: Size): Shape[] {
  const parts: Shape[] = [];
  const { left, right, top, bottom } = box;
  for (const { share, label } of y) {
    const at = bottom - share * (bottom - top);
    parts.push(lineAt(left, at, right, at, ink.grid));
    parts.push(textAt(left - 8, at + 4, label, { anchor: "end" }));
  }
  for (const { share, label } of x ?? []) {
    const at = left + share * (right - left);
    parts.push(lineAt(at, bottom, at, bottom + 5, ink.axis));
    parts.push(textAt(at, bottom + 19, label, {}));
  }
  parts.push(lineAt(left, bottom, right, bottom, ink.axis));
  if (asked.xLabel !== undefined)
    parts.push(textAt((left + right) / 2, height - 10, asked.xLabel, { fill: ink.text }));
  if (asked.yLabel !== undefined)
    parts.push(textAt(16, (top + bottom) / 2, asked.yLabel, { fill: ink.text, turn: -90 }));
  return parts;
}

type Ticks = readonly { readonly share: number; readonly label: string }[];

const ticks = (range: Range, count: number): Ticks =>
  ticksOf(range, count).map((v) => ({ share: shareOf(v, range), label: short(v) }));

/* Kinds ---------------------------------------------------------------------------------------------------------- */

function lines(op: string, asked: Asked, summary: Summary, size: Size): Shape[] {
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
  const shapes = series.map((of, k): Shape => {
    const stroke = hexOf(palette[k % palette.length]);
    const runs =
      kind === "line" && asked.x === undefined
        ? envelopeRuns(op, of, box, atX, atY)
        : pointsRuns(op, asked, of, atX, atY);
    return kind === "line"
      ? { kind: "path", runs, stroke, width: 1.6 }
      : { kind: "path", runs, stroke, width: 4.5, opacity: 0.65 };
  });
  const [width, height] = [box.right - box.left + 6, box.bottom - box.top + 6];
  const clip: Shape = { kind: "clip", x: box.left - 3, y: box.top - 3, width, height, shapes };
  return [...axes(asked, box, x, y, size), clip];
}

/** A little room above and below. */
function padded(range: Range): Range {
  const { low, high } = spread(range);
  const room = (high - low) * 0.04;
  return Number.isFinite(room) ? { low: low - room, high: high + room } : { low, high };
}

type Place = (v: number) => number;

function envelopeRuns(op: string, of: Asked["tensor"], box: Box, atX: Place, atY: Place): Point[][] {
  const { low, high, piece } = envelopeOf(op, of, Math.max(2, Math.round(box.right - box.left)));
  const runs: Point[][] = [];
  let isOpen = false;
  for (let i = 0; i < low.length; i++) {
    if (Number.isNaN(low[i])) {
      isOpen = false;
      continue;
    }
    if (!isOpen) runs.push([]);
    const run = runs[runs.length - 1];
    const x = atX(Math.min(of.size - 1, i * piece));
    run.push([x, atY(low[i])]);
    if (high[i] !== low[i]) run.push([x, atY(high[i])]);
    isOpen = true;
  }
  return runs;
}

/** Points that a drawing has, at most. */
const MOST_DRAWN = 20_000;

function pointsRuns(op: string, asked: Asked, of: Asked["tensor"], atX: Place, atY: Place): Point[][] {
  const [ys, xs] = asked.x === undefined ? pointsOf(op, [of]) : pointsOf(op, [of, asked.x]);
  const scale = asked.x === undefined ? (of.size - 1) / Math.max(1, ys.length - 1) : 1;
  const step = Math.max(1, Math.ceil(ys.length / MOST_DRAWN));
  const runs: Point[][] = [];
  let isOpen = false;
  for (let i = 0; i < ys.length; i += step) {
    const v = xs === undefined ? i * scale : xs[i];
    if (!Number.isFinite(v) || !Number.isFinite(ys[i])) {
      isOpen = false;
      continue;
    }
    if (!isOpen || asked.kind === "scatter") runs.push([]);
    runs[runs.length - 1].push([atX(v), atY(ys[i])]);
    isOpen = true;
  }
  return runs;
}

function bars(op: string, asked: Asked, summary: Summary, size: Size): Shape[] {
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
  const drawn = counts.flatMap((n, i): Shape[] => {
    const height = (n / range.high) * (box.bottom - box.top);
    const [x, y, width] = [box.left + i * step + gap / 2, box.bottom - height, step - gap];
    return n === 0 ? [] : [{ kind: "rect", x, y, width, height, fill: hexOf(palette[0]) }];
  });
  const [grid, base] = [axes(asked, box, x, y, size), axes(asked, box, null, [], size)];
  return [...grid, ...drawn, base[0]];
}

/** Pixels of a heat map along each axis, at most. */
const MOST_CELLS = 256;

function heatmap(op: string, asked: Asked, summary: Summary, size: Size): Shape[] {
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
  const { columns, rows } = grid;
  const parts: Shape[] = [
    { kind: "pixels", x: box.left, y: box.top, width: w, height: h, columns, rows, pixels, colours },
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

function colourBar(box: Box, range: Range): Shape[] {
  const [x, width, height] = [box.right + 18, 14, box.bottom - box.top];
  return [
    { kind: "ramp", x, y: box.top, width, height },
    ...ticks(range, Math.max(2, Math.round(height / 60))).map(({ share, label }) =>
      textAt(x + width + 6, box.bottom - share * height + 4, label, { anchor: "start" }),
    ),
  ];
}
