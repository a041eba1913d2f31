/** A drawing as pixels: red, green and blue, a byte each, two pixels for one of the drawing along each axis. */
import { GLYPH_HEIGHT, GLYPH_WIDTH, glyphOf } from "./font.ts";
import { colourOf, type RGB } from "./scale.ts";
import type { Drawing, Point, Shape } from "./shapes.ts";

/** Pixels along each axis for one of the drawing: letters of dots need them. */
export const DENSITY = 2;

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** What may be drawn on, in pixels: [left, right) and [top, bottom). */
interface Window {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const colourIn = (hex: string): RGB =>
  [1, 3, 5].map((k) => Number.parseInt(hex.slice(k, k + 2), 16)) as unknown as RGB;

export function pictureOf(drawing: Drawing): Picture {
  const [width, height] = [drawing.width * DENSITY, drawing.height * DENSITY];
  const canvas = new Canvas(width, height, colourIn(drawing.paper));
  const all = { left: 0, top: 0, right: width, bottom: height };
  for (const shape of drawing.shapes) draw(canvas, shape, all);
  return { width, height, rgb: canvas.rgb };
}

class Canvas {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
  /** How much of each pixel a path covers. */
  readonly #mask: Float32Array;

  constructor(width: number, height: number, paper: RGB) {
    this.width = width;
    this.height = height;
    this.rgb = new Uint8Array(3 * width * height);
    this.#mask = new Float32Array(width * height);
    for (let i = 0; i < width * height; i++) this.rgb.set(paper, 3 * i);
  }

  /** Mixes a colour in. */
  mix(x: number, y: number, colour: RGB, share: number): void {
    const at = 3 * (y * this.width + x);
    for (let k = 0; k < 3; k++)
      this.rgb[at + k] = Math.round(this.rgb[at + k] + (colour[k] - this.rgb[at + k]) * share);
  }

  /** Fills a box; pixels at its edge by the share that lies in it. */
  fill(
    w: Window,
    x0: number,
    y0: number,
    x1: number,
    y1: number,
    colourAt: (x: number, y: number) => RGB,
  ): void {
    for (let y = Math.max(w.top, Math.floor(y0)); y < Math.min(w.bottom, Math.ceil(y1)); y++) {
      const tall = Math.min(y1, y + 1) - Math.max(y0, y);
      for (let x = Math.max(w.left, Math.floor(x0)); x < Math.min(w.right, Math.ceil(x1)); x++) {
        const wide = Math.min(x1, x + 1) - Math.max(x0, x);
        this.mix(x, y, colourAt(x, y), Math.max(0, wide * tall));
      }
    }
  }

  /** Draws runs of points with a round pen, each pixel once, however often the pen passes. */
  stroke(w: Window, runs: readonly (readonly Point[])[], width: number, colour: RGB, opacity: number): void {
    const reach = width / 2 + 0.5;
    const touched = { left: w.right, top: w.bottom, right: w.left, bottom: w.top };
    const cover = (ax: number, ay: number, bx: number, by: number) => {
      const [left, right] = [
        Math.max(w.left, Math.floor(Math.min(ax, bx) - reach)),
        Math.min(w.right, Math.ceil(Math.max(ax, bx) + reach)),
      ];
      const [top, bottom] = [
        Math.max(w.top, Math.floor(Math.min(ay, by) - reach)),
        Math.min(w.bottom, Math.ceil(Math.max(ay, by) + reach)),
      ];
      if (left >= right || top >= bottom) return;
      touched.left = Math.min(touched.left, left);
      touched.right = Math.max(touched.right, right);
      touched.top = Math.min(touched.top, top);
      touched.bottom = Math.max(touched.bottom, bottom);
      const [dx, dy] = [bx - ax, by - ay];
      const length = dx * dx + dy * dy;
      for (let y = top; y < bottom; y++) {
        for (let x = left; x < right; x++) {
          const [px, py] = [x + 0.5 - ax, y + 0.5 - ay];
          const t = length === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / length));
          const share = reach - Math.hypot(px - t * dx, py - t * dy);
          const at = y * this.width + x;
          if (share > this.#mask[at]) this.#mask[at] = Math.min(1, share);
        }
      }
    };
    for (const run of runs) {
      if (run.length === 1) cover(run[0][0], run[0][1], run[0][0], run[0][1]);
      for (let i = 1; i < run.length; i++) cover(run[i - 1][0], run[i - 1][1], run[i][0], run[i][1]);
    }
    for (let y = touched.top; y < touched.bottom; y++) {
      for (let x = touched.left; x < touched.right; x++) {
        const at = y * this.width + x;
        if (this.#mask[at] > 0) this.mix(x, y, colour, this.#mask[at] * opacity);
        this.#mask[at] = 0;
      }
    }
  }
}

function draw(canvas: Canvas, shape: Shape, w: Window): void {
  const s = DENSITY;
  switch (shape.kind) {
    case "rect": {
      const { x, y, width, height } = shape;
      const colour = colourIn(shape.fill);
      canvas.fill(w, s * x, s * y, s * (x + width), s * (y + height), () => colour);
      return;
    }
    case "line": {
      const { x1, y1, x2, y2 } = shape;
      canvas.stroke(
        w,
        [
          [
            [s * x1, s * y1],
            [s * x2, s * y2],
          ],
        ],
        s,
        colourIn(shape.stroke),
        1,
      );
      return;
    }
    case "path": {
      const runs = shape.runs.map((run) => run.map(([x, y]): Point => [s * x, s * y]));
      canvas.stroke(w, runs, s * shape.width, colourIn(shape.stroke), shape.opacity ?? 1);
      return;
    }
    case "clip": {
      const { x, y, width, height } = shape;
      const inner = {
        left: Math.max(w.left, Math.floor(s * x)),
        top: Math.max(w.top, Math.floor(s * y)),
        right: Math.min(w.right, Math.ceil(s * (x + width))),
        bottom: Math.min(w.bottom, Math.ceil(s * (y + height))),
      };
      for (const one of shape.shapes) draw(canvas, one, inner);
      return;
    }
    case "pixels": {
      const { x, y, width, height, columns, rows, pixels, colours } = shape;
      const cell = (at: number, from: number, size: number, n: number) =>
        Math.min(n - 1, Math.max(0, Math.floor(((at + 0.5) / s - from) * (n / size))));
      canvas.fill(
        w,
        s * x,
        s * y,
        s * (x + width),
        s * (y + height),
        (px, py) => colours[pixels[cell(py, y, height, rows) * columns + cell(px, x, width, columns)]],
      );
      return;
    }
    case "ramp": {
      const { x, y, width, height } = shape;
      canvas.fill(w, s * x, s * y, s * (x + width), s * (y + height), (_, py) =>
        colourOf(1 - ((py + 0.5) / s - y) / height),
      );
      return;
    }
    case "text":
      drawText(canvas, shape, w);
  }
}

function drawText(canvas: Canvas, shape: Extract<Shape, { kind: "text" }>, w: Window): void {
  const { text, anchor, size = 12, weight = 400, turn = 0 } = shape;
  const letters = [...text];
  const dot = Math.max(1, Math.round((size * DENSITY) / 12 - 0.5));
  const step = (GLYPH_WIDTH + 1) * dot;
  const length = letters.length * step - dot;
  const start = anchor === "start" ? 0 : anchor === "middle" ? -length / 2 : -length;
  const colour = colourIn(shape.fill);
  const [x, y] = [Math.round(DENSITY * shape.x), Math.round(DENSITY * shape.y)];
  /** A box at a place along the text, and above the line it stands on. */
  const put = (along: number, up: number, wide: number) => {
    const [a, b] = [Math.round(along), Math.round(along) + wide];
    if (turn === 0) canvas.fill(w, x + a, y - up - dot, x + b, y - up, () => colour);
    // Upwards: a quarter turn to the left.
    else canvas.fill(w, x - up - dot, y - b, x - up, y - a, () => colour);
  };
  for (const [i, letter] of letters.entries()) {
    const glyph = glyphOf(letter);
    for (let row = 0; row < GLYPH_HEIGHT; row++) {
      for (let bit = 0; bit < GLYPH_WIDTH; bit++) {
        if (!(glyph[row] & (16 >> bit))) continue;
        put(start + i * step + bit * dot, (GLYPH_HEIGHT - 1 - row) * dot, weight > 500 ? dot + 1 : dot);
      }
    }
  }
}
