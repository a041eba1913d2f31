/** Plots as text and as SVG: what they show, what they leave out and say so, and that size costs nothing. */
import { describe, expect, it, vi } from "vitest";
import {
  arange,
  linspace,
  memory,
  random,
  scope,
  sin,
  stack,
  type Tensor,
  TensorError,
  tensor,
  zeros,
} from "../../src/index.ts";
import { glyphOf } from "../../src/plot/font.ts";
import { pngOf } from "../../src/plot/png.ts";
import { short, ticksOf } from "../../src/plot/scale.ts";
import { terminalOf } from "../../src/plot/terminal.ts";
import { plot } from "../../src/plot.ts";

const text = (make: () => Tensor, options?: Parameters<typeof plot.text>[1]) =>
  scope(() => plot.text(make(), options));
const refusal = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    if (error instanceof TensorError) return error.message;
    throw error;
  }
  return "nothing was thrown";
};

describe("as text", () => {
  it("a line in braille, and in ASCII", () => {
    const wave = () => sin(linspace(0, 6.283185307, 40));
    expect(text(wave, { width: 40, height: 8, title: "sin" })).toMatchInlineSnapshot(`
      "sin
       0.9992 ┤    ⡠⠔⠊⠉⠉⠒⢄⡀
              │  ⡠⠊       ⠈⠒⢄
       0.1998 ┤⢀⠜            ⠣⡀              ⢀
              │⠁              ⠈⠢⡀           ⡰⠁
              │                 ⠑⢄⡀       ⡠⠊
      -0.9992 ┤                   ⠈⠒⢄⣀⣀⣀⠤⠊
              └───────────────────────────────
               0                            39"
    `);
    expect(text(wave, { width: 40, height: 8, ascii: true })).toMatchInlineSnapshot(`
      " 0.9992 +     .''':..
              |  .:'      '.
       0.1998 +..'          ':              .
              |'              :.           .:
              |                 '.       .''
      -0.9992 +                  '':....'
              +-------------------------------
               0                            39"
    `);
  });

  it("a histogram, of numbers and of whole numbers", () => {
    expect(
      text(() => random.generator(1).normal([5000]), { kind: "histogram", width: 44, bins: 7 }),
    ).toMatchInlineSnapshot(`
      " -3.444 ┤▍ 29
       -2.456 ┤█████▏ 327
       -1.467 ┤███████████████████▉ 1266
      -0.4787 ┤█████████████████████████████ 1841
       0.5098 ┤██████████████████▉ 1205
        1.498 ┤████▊ 302
        2.487 ┤▍ 30
        3.476 ┘"
    `);
    expect(
      text(() => tensor([1, 1, 2, 3, 3, 3, 5], { dtype: "u8" }), { kind: "histogram", width: 30 }),
    ).toMatchInlineSnapshot(`
      "1 ┤████████████████ 2
      2 ┤████████ 1
      3 ┤████████████████████████ 3
      4 ┤ 0
      5 ┤████████ 1"
    `);
    expect(
      text(() => tensor([true, false, true]), { kind: "histogram", width: 30, ascii: true }),
    ).toMatchInlineSnapshot(`
      "0 |############ 1
      1 |######################## 2"
    `);
  });

  it("a heat map in shades, with what is missing", () => {
    const matrix = () => {
      const m = arange(24).reshape(4, 6);
      m.set([1, 1], NaN);
      return m;
    };
    expect(text(matrix, { width: 24, height: 4 })).toMatchInlineSnapshot(`
      "··········░░
      ░░??░░░░▒▒▒▒
      ▒▒▒▒▓▓▓▓▓▓▓▓
      ▓▓██████████
      0 ··░░▒▒▓▓██ 23
      1 NaN not counted"
    `);
    expect(text(matrix, { width: 24, height: 4, ascii: true })).toMatchInlineSnapshot(`
      "......::::::
      --??======++
      ++******####
      %%%%%%@@@@@@
      0 .:-=+*#%@@ 23
      1 NaN not counted"
    `);
  });

  it("a heat map in half blocks, two pixels a letter, in true colour and in 256", () => {
    const m = () =>
      tensor([
        [0, 1],
        [1, 0],
      ]);
    expect(
      JSON.stringify(text(m, { width: 20, height: 3, color: "truecolor", range: [0, 1] }).split("\n")[0]),
    ).toContain("\\u001b[38;2;68;1;84;48;2;");
    expect(text(m, { width: 20, color: "256" })).toContain("\x1b[38;5;");
    expect(text(m, { width: 20, color: "none" })).not.toContain("\x1b");
  });

  it("a scatter plot, and several lines", () => {
    const xs = () => tensor([0, 1, 2, 3]);
    expect(
      scope(() => plot.text(tensor([0, 3, 1, 2]), { kind: "scatter", x: xs(), width: 24, height: 6 })),
    ).toMatchInlineSnapshot(`
      "3 ┤       ⠁
        │                    ⠐
        │             ⠠
      0 ┤⡀
        └─────────────────────
         0                   3"
    `);
    const two = text(() => stack([arange(9), arange(9).mul(-1).add(8)], { axis: 1 }), {
      kind: "line",
      width: 24,
      height: 6,
    });
    expect(two).toMatchInlineSnapshot(`
      "8 ┤⠉⠒⠤⢄⡀           ⢀⡠⠤⠒⠉
        │    ⠈⠉⠒⠤⢄⣀ ⢀⡠⠤⠒⠉⠁
        │    ⢀⣀⠤⠒⠒⠊⠉⠉⠒⠒⠤⣀⡀
      0 ┤⣀⠤⠒⠊⠁           ⠈⠑⠒⠤⣀
        └─────────────────────
         0                   8"
    `);
  });

  it("what is not finite is left out and counted; a gap is a gap", () => {
    const shown = text(() => tensor([1, 2, NaN, 2, Infinity, 1]), { width: 30, height: 5 });
    expect(shown).toMatchInlineSnapshot(`
      "2 ┤    ⡠⠊          ⠁
        │  ⡠⠊
      1 ┤⡠⠊                        ⢀
        └───────────────────────────
         0                         5
      1 NaN and 1 infinite not shown"
    `);
    expect(text(() => zeros([0, 3]))).toBe("nothing to plot: f32 [0, 3] has no elements");
    expect(text(() => tensor([NaN, -Infinity]), { title: "t" })).toMatchInlineSnapshot(`
      "t
      nothing to plot: f32 [2] has no finite number (1 NaN, 1 infinite)"
    `);
    expect(text(() => tensor([5, 5]), { width: 30, height: 5 })).toContain("5.5");
    expect(text(() => tensor([1e308, -1e308], { dtype: "f64" }), { width: 30, height: 5 })).toContain(
      "1e308",
    );
    expect(text(() => tensor([2n ** 60n]), { width: 30, height: 5 })).toContain("e18");
  });

  it("every width and height is kept", () => {
    scope(() => {
      const tensors = [
        sin(arange(500)),
        random.generator(2).normal([37, 91]),
        random.generator(3).normal([3, 4, 5]),
      ];
      for (const t of tensors) {
        for (const kind of ["line", "scatter", "histogram", "heatmap"] as const) {
          if (t.rank !== 1 && (kind === "line" || kind === "scatter")) continue;
          if (t.rank !== 2 && kind === "heatmap") continue;
          for (const width of [20, 33, 80, 200]) {
            for (const height of [3, 8, 30]) {
              const lines = plot.text(t, { kind, width, height }).split("\n");
              expect(
                Math.max(...lines.map((line) => [...line].length)),
                `${kind} ${width}`,
              ).toBeLessThanOrEqual(width);
              expect(lines.length).toBeLessThanOrEqual(height + 1);
            }
          }
        }
      }
    });
  });

  it("any layout gives the picture of its copy, and nothing stays behind", () => {
    scope(() => {
      const m = random.generator(4).normal([30, 40]);
      const before = memory().tensors;
      const odd = m.slice("::-2", "3::3").T;
      const copy = odd.clone();
      for (const kind of ["histogram", "heatmap"] as const) {
        expect(plot.text(odd, { kind })).toBe(plot.text(copy, { kind }));
        expect(plot.svg(odd, { kind })).toBe(plot.svg(copy, { kind }));
      }
      const column = m.slice(":", 3);
      expect(plot.text(column)).toBe(plot.text(column.clone()));
      expect(memory().tensors).toBe(before + 2);
    });
  });

  it("ten million elements are folded, not listed", () => {
    scope(() => {
      const long = zeros([10_000_000]).fill(1);
      long.set([7_000_000], 9);
      const shown = plot.text(long, { width: 60, height: 6 });
      expect(shown.split("\n")[0]).toContain("9 ┤");
      expect(plot.text(long.reshape(10_000, 1000), { width: 40, height: 6 })).toContain("·");
    });
  });

  it("titles are letters, not orders to the terminal", () => {
    expect(text(() => tensor([1, 2]), { title: "\x1b[2Jx\u202e", width: 20, height: 3 }).split("\n")[0]).toBe(
      "\\u001b[2Jx\\u202e",
    );
  });

  it("plot prints it once", () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    try {
      scope(() => plot(tensor([1, 2, 3]), { width: 30, height: 4, color: "none" }));
      expect(log.mock.calls.length).toBe(1);
      expect(log.mock.calls[0][0]).toContain("3 ┤");
    } finally {
      log.mockRestore();
    }
  });
});

describe("the terminal", () => {
  it("says its width, colours and letters by the customs", () => {
    const tty = { isTTY: true, columns: 120 };
    expect(terminalOf(tty, { COLORTERM: "truecolor", LANG: "C.UTF-8" })).toEqual({
      columns: 120,
      color: "truecolor",
      ascii: false,
    });
    expect(terminalOf(tty, { TERM: "xterm-256color", LANG: "C.UTF-8" }).color).toBe("256");
    expect(terminalOf(tty, { TERM: "dumb" })).toEqual({ columns: 120, color: "none", ascii: true });
    expect(terminalOf(tty, { LANG: "C" }).ascii).toBe(true);
    expect(terminalOf(tty, { NO_COLOR: "1", COLORTERM: "truecolor" }).color).toBe("none");
    expect(terminalOf({}, { COLORTERM: "truecolor" }).color).toBe("none");
    expect(terminalOf({}, { FORCE_COLOR: "1", COLORTERM: "24bit" }).color).toBe("truecolor");
    expect(terminalOf(undefined, {})).toEqual({ columns: 80, color: "none", ascii: false });
    expect(terminalOf({}, { COLUMNS: "44" }).columns).toBe(44);
    expect(terminalOf({}, { COLUMNS: "no" }).columns).toBe(80);
  });
});

describe("as SVG", () => {
  it("is well-formed, whatever is in it", () => {
    scope(() => {
      const title = `<script>"&'\x00\ud800]]>`;
      const pictures = [
        plot.svg(sin(arange(100)), { title, xLabel: title, yLabel: title }),
        plot.svg(tensor([1, NaN, 3, Infinity]), { x: tensor([1, 2, 3, 4]) }),
        plot.svg(random.generator(1).normal([1000]), { kind: "histogram", title }),
        plot.svg(random.generator(1).normal([30, 20]), { title }),
        plot.svg(random.generator(1).normal([50]), { kind: "scatter", title }),
        plot.svg(zeros([0]), { title }),
      ];
      for (const svg of pictures) {
        expect(svg.startsWith("<svg xmlns=")).toBe(true);
        expect(svg.replace(/<text.*?<\/text>/g, "")).not.toMatch(/<script|NaN|undefined|Infinity/);
        // Every tag that opens closes, in order.
        const open: string[] = [];
        for (const [, close, name, own] of svg.matchAll(/<(\/?)([a-zA-Z]+)(?:[^>"]|"[^"]*")*?(\/?)>/g)) {
          if (close) expect(open.pop()).toBe(name);
          else if (own !== "/") open.push(name);
        }
        expect(open).toEqual([]);
      }
    });
  });

  it("draws a line where the numbers are", () => {
    const svg = scope(() => plot.svg(tensor([0, 1, 0]), { width: 300, height: 200, range: [0, 1] }));
    const path = /<path d="([^"]*)"/.exec(svg)![1];
    const numbers = [...path.matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
    expect(numbers.length).toBe(3);
    expect(numbers[1][0] - numbers[0][0]).toBeCloseTo(numbers[2][0] - numbers[1][0], 0);
    expect(numbers[0][1]).toBe(numbers[2][1]);
    expect(numbers[1][1]).toBeLessThan(numbers[0][1]);
  });

  it("bars have the heights of their counts", () => {
    const svg = scope(() => plot.svg(tensor([1, 1, 1, 1, 2, 2], { dtype: "i32" }), { kind: "histogram" }));
    const heights = [...svg.matchAll(/height="([\d.]+)" fill="#1f77b4"/g)].map((m) => Number(m[1]));
    expect(heights.length).toBe(2);
    expect(heights[0] / heights[1]).toBeCloseTo(2, 2);
  });
});

describe("as pixels", () => {
  const colourAt = (t: Tensor, y: number, x: number) => [0, 1, 2].map((k) => t.get(y, x, k));
  const count = (t: Tensor, [r, g, b]: readonly number[]) => {
    const all = t.toTypedArray();
    let n = 0;
    for (let i = 0; i < all.length; i += 3) if (all[i] === r && all[i + 1] === g && all[i + 2] === b) n++;
    return n;
  };

  it("every kind, of the size asked for, whatever is in it", () => {
    const before = memory().tensors;
    scope(() => {
      const title = `a < b \x00\ud800 ü 漢 ${"long ".repeat(60)}`;
      const pictures = [
        plot.image(sin(arange(100)), { title, xLabel: title, yLabel: title }),
        plot.image(tensor([1, NaN, 3, Infinity]), { x: tensor([1, 2, 3, 4]), title }),
        plot.image(random.generator(1).normal([1000]), { kind: "histogram", title }),
        plot.image(random.generator(1).normal([30, 20]), { title }),
        plot.image(random.generator(1).normal([50]), { kind: "scatter", range: [0, 0.1] }),
        plot.image(zeros([0]), { title }),
      ];
      for (const t of pictures) {
        expect([t.dtype, t.shape]).toEqual(["u8", [800, 1280, 3]]);
        expect(colourAt(t, 0, 0)).toEqual([255, 255, 255]);
        expect(count(t, [255, 255, 255])).toBeLessThan(800 * 1280);
      }
      expect(plot.image(arange(3), { width: 120, height: 300 }).shape).toEqual([600, 240, 3]);
    });
    expect(memory().tensors).toBe(before);
  });

  it("cells of a heat map and bars lie where SVG has them", () => {
    scope(() => {
      const m = tensor([
        [0, 1],
        [1, 0],
      ]);
      const [svg, t] = [plot.svg(m), plot.image(m)];
      const [x, y, w, h] = /<image x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/
        .exec(svg)!
        .slice(1)
        .map(Number);
      const cell = (i: number, j: number) =>
        colourAt(t, Math.round(2 * (y + (h * (2 * i + 1)) / 4)), Math.round(2 * (x + (w * (2 * j + 1)) / 4)));
      expect([cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)]).toEqual([
        [68, 1, 84],
        [253, 231, 37],
        [253, 231, 37],
        [68, 1, 84],
      ]);
      const counts = tensor([1, 1, 1, 1, 2, 2], { dtype: "i32" });
      const blue = [31, 119, 180];
      const areas = [
        ...plot
          .svg(counts, { kind: "histogram" })
          .matchAll(/width="([\d.]+)" height="([\d.]+)" fill="#1f77b4"/g),
      ];
      const want = areas.reduce((sum, [, a, b]) => sum + 4 * Number(a) * Number(b), 0);
      expect(count(plot.image(counts, { kind: "histogram" }), blue) / want).toBeCloseTo(1, 1);
    });
  });

  it("a line covers a pixel once, and letters are told apart", () => {
    scope(() => {
      const flat = plot.image(zeros([50]), { range: [-1, 1] });
      // 1.6 pixels wide, twice as many here: solid in the middle.
      expect(count(flat, [31, 119, 180])).toBeGreaterThan(1000);
    });
    const all = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz123456789.-+"].map((c) =>
      glyphOf(c).join(),
    );
    expect(new Set(all).size).toBe(all.length);
    expect(glyphOf("漢")).toEqual([31, 17, 17, 17, 17, 17, 31]);
    expect(glyphOf(" ").every((row) => row === 0)).toBe(true);
  });
});

describe("parts", () => {
  it("ticks are round numbers inside of the range", () => {
    expect(ticksOf({ low: 0, high: 1 }, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticksOf({ low: -3, high: 12 }, 4)).toEqual([0, 5, 10]);
    expect(ticksOf({ low: 0.1, high: 0.4 }, 3)).toEqual([0.1, 0.2, 0.3, 0.4]);
    expect(ticksOf({ low: 1e300, high: 2e300 }, 4).length).toBeGreaterThan(1);
    expect([0, 1234567, 0.00001, 3.1234567, -2.5, 1e-300, NaN].map((x) => short(x))).toEqual([
      "0",
      "1.235e6",
      "1e-5",
      "3.123",
      "-2.5",
      "1e-300",
      "NaN",
    ]);
  });

  it("the PNG of a heat map is one", () => {
    const bytes = Buffer.from(
      pngOf(3, 2, Uint8Array.of(0, 1, 2, 2, 1, 0), [
        [1, 2, 3],
        [4, 5, 6],
        [7, 8, 9],
      ]),
      "base64",
    );
    expect(bytes.toString("latin1", 1, 4)).toBe("PNG");
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([3, 2]);
    expect(bytes.readUInt32BE(bytes.length - 4).toString(16)).toBe("ae426082");
  });

  it("options that are none are told", () => {
    scope(() => {
      const m = arange(24).reshape(2, 12);
      const cube = m.reshape(2, 3, 4);
      const texts = [
        () => plot.text(m, { kind: "pie" as never }),
        () => plot.text(cube, { kind: "heatmap" }),
        () => plot.text(cube, { kind: "line" }),
        () => plot.text(m, { kind: "line" }),
        () => plot.text(m, { width: 3 }),
        () => plot.text(m, { bins: 0 }),
        () => plot.text(m, { range: [1, 1] }),
        () => plot.text(m, { x: arange(2) }),
        () => plot.text(m.slice(0), { x: arange(2) }),
        () => plot.text(m, { color: "red" as never }),
        () => plot.svg(m, { ascii: true } as never),
        () => plot.svg(m, { title: 7 as never }),
        () => plot.text([1, 2] as never),
      ];
      expect(texts.map(refusal).join("\n")).toMatchInlineSnapshot(`
        "plot.text: kind is the string "pie".
          Use one of line scatter histogram heatmap.
        plot.text: a heat map of [2, 3, 4].
          It needs a matrix: take a slice.
        plot.text: a line of [2, 3, 4].
          It needs a vector, or a matrix whose columns are drawn.
        plot.text: 12 columns are too many lines.
          At most 8: take a slice, or a heat map.
        plot.text: width is the number 3.
          Use a whole number from 20 to 1000.
        plot.text: bins is the number 0.
          Use a whole number from 1 to 1000.
        plot.text: the range is [1, 1].
          Give [low, high], low below high.
        plot.text: x is given, and nothing lies at an x.
          It is for kind "line" and "scatter".
        plot.text: x is [2], the points are [12].
          Give one x for each point.
        plot.text: color is the string "red".
          Use one of auto none 256 truecolor.
        plot.svg: there is no option "ascii".
          There are kind, x, bins, range, title, width, height, xLabel, yLabel.
        plot.svg: title is the number 7.
          Give a text.
        plot.text: expected a tensor, got an array.
          Make one with tensor(…)."
      `);
    });
  });
});
