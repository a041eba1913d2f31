/** Draws the block types for docs/quantised.md; what each bit stands for is found by turning it over. `npm run docs` */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { random, scope, tensor } from "../src/index.ts";
import { recipeOf } from "../src/quantised/recipes.ts";
import { blockTypes, encodedNames, isEncoded, quantisedNames } from "../src/quantised/types.ts";
import { fromBlocks, type QuantisedDType, quantise } from "../src/quantised.ts";
import { circle } from "../tests/quantised/circle.ts";

/** Steps of training before a model is quantised. */
const LOSS_STEPS = 200;

interface Field {
  readonly name: string;
  readonly bytes: number;
  readonly kind: "f16" | "f32" | "other";
}

const f16 = (name: string): Field => ({ name, bytes: 2, kind: "f16" });
const bytes = (name: string, count: number): Field => ({ name, bytes: count, kind: "other" });

/** The parts of a block as they lie in memory, and what an element comes to. */
export const layouts: Record<QuantisedDType, { readonly fields: readonly Field[]; readonly value: string }> =
  {
    q4_0: { fields: [f16("d"), bytes("q", 16)], value: "d · (q - 8)" },
    q4_1: { fields: [f16("d"), f16("m"), bytes("q", 16)], value: "d · q + m" },
    q5_0: { fields: [f16("d"), bytes("high", 4), bytes("q", 16)], value: "d · (q + 16·high - 16)" },
    q5_1: { fields: [f16("d"), f16("m"), bytes("high", 4), bytes("q", 16)], value: "d · (q + 16·high) + m" },
    q8_0: { fields: [f16("d"), bytes("q", 32)], value: "d · q" },
    q8_1: { fields: [f16("d"), f16("sum"), bytes("q", 32)], value: "d · q; sum is d · Σ q" },
    q2_K: {
      fields: [bytes("scales", 16), bytes("q", 64), f16("d"), f16("dmin")],
      value: "d · scale · q - dmin · min, a scale and a min for 16 elements",
    },
    q3_K: {
      fields: [bytes("high", 32), bytes("q", 64), bytes("scales", 12), f16("d")],
      value: "d · (scale - 32) · (q + 4·high - 4), a scale for 16 elements",
    },
    q4_K: {
      fields: [f16("d"), f16("dmin"), bytes("scales", 12), bytes("q", 128)],
      value: "d · scale · q - dmin · min, a scale and a min for 32 elements",
    },
    q5_K: {
      fields: [f16("d"), f16("dmin"), bytes("scales", 12), bytes("high", 32), bytes("q", 128)],
      value: "d · scale · (q + 16·high) - dmin · min, a scale and a min for 32 elements",
    },
    q6_K: {
      fields: [bytes("q", 128), bytes("high", 64), bytes("scales", 16), f16("d")],
      value: "d · scale · (q + 16·high - 32), a scale for 16 elements",
    },
    q8_K: {
      fields: [{ name: "d", bytes: 4, kind: "f32" }, bytes("q", 256), bytes("sums", 32)],
      value: "d · q; sums are those of 16 elements",
    },
    iq2_xxs: {
      fields: [f16("d"), bytes("rows, signs, scales", 64)],
      value: "d · (scale + ½) / 4 · ±grid, a scale for 32 elements",
    },
    iq2_xs: {
      fields: [f16("d"), bytes("rows, signs", 64), bytes("scales", 8)],
      value: "d · (scale + ½) / 4 · ±grid, a scale for 16 elements",
    },
    iq3_xxs: {
      fields: [f16("d"), bytes("rows", 64), bytes("signs, scales", 32)],
      value: "d · (scale + ½) / 2 · ±grid, a scale for 32 elements",
    },
    iq1_s: {
      fields: [f16("d"), bytes("rows", 32), bytes("high, scales, shifts", 16)],
      value: "d · (2·scale + 1) · (grid ± ⅛), a scale for 32 elements",
    },
    iq4_nl: { fields: [f16("d"), bytes("q", 16)], value: "d · level[q], 16 levels from -127 to 113" },
    iq3_s: {
      fields: [f16("d"), bytes("rows", 64), bytes("high", 8), bytes("signs", 32), bytes("scales", 4)],
      value: "d · (2·scale + 1) · ±grid, a scale for 32 elements",
    },
    iq2_s: {
      fields: [f16("d"), bytes("rows", 32), bytes("signs", 32), bytes("high", 8), bytes("scales", 8)],
      value: "d · (scale + ½) / 4 · ±grid, a scale for 16 elements",
    },
    iq4_xs: {
      fields: [f16("d"), bytes("high", 2), bytes("scales", 4), bytes("q", 128)],
      value: "d · (scale + 16·high - 32) · level[q], a scale for 32 elements",
    },
    iq1_m: {
      fields: [bytes("rows", 32), bytes("high, shifts", 16), bytes("scales, d", 8)],
      value:
        "d · (2·scale + 1) · (grid ± ⅛), a scale for 16 elements; d lies in the top four bits of four words",
    },
    tq1_0: {
      fields: [bytes("q", 48), bytes("more", 4), f16("d")],
      value: "d · (digit - 1), five digits to the base 3 in a byte",
    },
    tq2_0: { fields: [bytes("q", 64), f16("d")], value: "d · (q - 1)" },
    mxfp4: { fields: [bytes("e", 1), bytes("q", 16)], value: "2^(e - 127) · float of 4 bits" },
    nvfp4: {
      fields: [bytes("d", 4), bytes("q", 32)],
      value: "d · float of 4 bits, a d of 8 bits (4 of exponent, 3 of mantissa) for 16 elements",
    },
    q1_0: { fields: [f16("d"), bytes("signs", 16)], value: "+d where the bit is set, else -d" },
    q2_0: { fields: [f16("d"), bytes("q", 16)], value: "d · (q - 1)" },
  };

/** Boxes side by side, the place of each above it. */
function drawBlock(fields: readonly Field[]): string {
  const texts = fields.map(({ name, bytes: n, kind }) => ` ${name} ${kind === "other" ? `${n} B` : kind} `);
  let at = 0;
  const places = fields.map(({ bytes: n }) => {
    const here = at;
    at += n;
    return String(here);
  });
  const line = (left: string, between: string, right: string) =>
    left + texts.map((t) => "─".repeat(t.length)).join(between) + right;
  return [
    texts.map((t, i) => places[i].padEnd(t.length + 1)).join("") + at,
    line("┌", "┬", "┐"),
    `│${texts.join("│")}│`,
    line("└", "┴", "┘"),
  ].join("\n");
}

/** For each bit of a byte the elements that change when it is turned over, in any of several blocks. */
function touched(dtype: QuantisedDType, byte: number): number[][] {
  const { block, bytes: size } = blockTypes[dtype];
  const count = 12;
  return scope(() => {
    const raw = new Uint8Array(9 * count * size);
    raw.set(random.generator(byte).bits([count, size]).to("u8").toTypedArray());
    let at = 0;
    for (const { bytes: n, kind } of layouts[dtype].fields) {
      // Scales that are numbers of a middling size.
      for (let b = 0; b < count; b++) {
        if (kind === "f16") raw[b * size + at + 1] = 0x3c;
        if (kind === "f32") raw.set([0, 0, 0x80, 0x3f], b * size + at);
        if (dtype !== "iq1_m" || n !== 8) continue;
        for (const [i, top] of [0, 0, 0xc0, 0x30].entries()) {
          const place = b * size + at + 2 * i + 1;
          raw[place] = (raw[place] & 15) | top;
        }
      }
      at += n;
    }
    for (let bit = 0; bit < 8; bit++) {
      raw.copyWithin((bit + 1) * count * size, 0, count * size);
      for (let b = 0; b < count; b++) raw[((bit + 1) * count + b) * size + byte] ^= 1 << bit;
    }
    const values = fromBlocks(tensor(raw), dtype).dequantise().data;
    const turned = (bit: number, b: number, j: number) =>
      Object.is(values[b * block + j], values[((bit + 1) * count + b) * block + j]);
    const all = Array.from({ length: block }, (_, j) => j);
    const several = Array.from({ length: count }, (_, b) => b);
    return Array.from({ length: 8 }, (_, bit) => all.filter((j) => several.some((b) => !turned(bit, b, j))));
  });
}

/** "element 3", "elements 0–31 and 64–95", "all". */
function namesOf(elements: readonly number[], block: number): string {
  if (elements.length === 0) return "none";
  if (elements.length === block) return "all elements";
  const runs: [number, number][] = [];
  for (const j of elements) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === j - 1) last[1] = j;
    else runs.push([j, j]);
  }
  const text = runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(", ");
  return `${elements.length === 1 ? "element" : "elements"} ${text}`;
}

/** Rows of a grid have some elements alike: which of them depends on the row. */
const wholeRuns = (elements: readonly number[], run: number): number[] =>
  [...new Set(elements.map((j) => Math.floor(j / run)))].flatMap((r) =>
    Array.from({ length: run }, (_, j) => r * run + j),
  );

/** What the bits of the first byte of each part are for. */
function drawBits(dtype: QuantisedDType): string {
  const { block } = blockTypes[dtype];
  const { grid } = recipeOf(dtype);
  const [isOfGrid, run] = [grid !== undefined, grid?.startsWith("iq3") ? 4 : 8];
  let at = 0;
  const lines = layouts[dtype].fields.map(({ name, bytes: n }) => {
    const runs: { from: number; to: number; what: string }[] = [];
    for (const [bit, elements] of touched(dtype, at).entries()) {
      const what = namesOf(
        isOfGrid && !name.startsWith("signs") ? wholeRuns(elements, run) : elements,
        block,
      );
      const last = runs.at(-1);
      if (last?.what === what) last.to = bit;
      else runs.push({ from: bit, to: bit, what });
    }
    const single = runs.map(({ what }) => Number(/^element (\d+)$/.exec(what)?.[1] ?? Number.NaN));
    const step = single[1] - single[0];
    const isEven = runs.length === 8 && single.every((j, bit) => j === single[0] + bit * step);
    const text = isEven
      ? [`bits 0–7: elements ${single[0]}, ${single[1]}, … ${single[7]}, one each`]
      : runs.map(({ from, to, what }) => `${from === to ? `bit ${from}` : `bits ${from}–${to}`}: ${what}`);
    const row = `byte ${String(at).padStart(3)}, ${name}`;
    at += n;
    return `${row.padEnd(32)} ${text.join("; ")}`;
  });
  return lines.join("\n");
}

const names = (all: readonly QuantisedDType[]) => all.map((name) => `\`${name}\``).join(" ");

/** Root of the mean square error of normal numbers, beside that of the numbers themselves. */
function errorOf(dtype: QuantisedDType): string {
  if (!isEncoded(dtype)) return "";
  return scope(() => {
    const w = random.generator(1).normal([16, 1024]);
    const error = w.sub(quantise(w, dtype).dequantise()).square().mean().item();
    return (100 * Math.sqrt(error / w.square().mean().item())).toPrecision(2);
  });
}

function lines(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((h, c) => Math.max(h.length, ...rows.map((row) => row[c].length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, c) => cell.padEnd(widths[c])).join(" | ")} |`;
  return [line(head), `| ${widths.map((w) => "-".repeat(w)).join(" | ")} |`, ...rows.map(line)].join("\n");
}

/** What a trained model's loss becomes; minutes of work, so only where it is asked for: --losses. */
function losses(): string {
  const turns = circle(LOSS_STEPS, [
    "f16",
    "q8_0",
    "q5_1",
    "q5_0",
    "q4_1",
    "q4_0",
    "iq4_nl",
    "mxfp4",
    "q2_0",
  ]);
  const [f32] = turns;
  const rows = turns.map(({ dtype, loss, bytes: n }) => [
    `\`${dtype}\``,
    String(Math.round(n / 1000)),
    loss.toFixed(3),
    dtype === "f32" ? "" : `${((100 * (loss - f32.loss)) / f32.loss).toFixed(1)}`,
  ]);
  return lines(["type", "file, kB", "loss", "more, %"], rows);
}

function table(): string {
  const rows = quantisedNames.map((name) => {
    const { block, bytes: n } = blockTypes[name];
    return [
      `\`${name}\``,
      String(block),
      String(n),
      String(Math.round((80000 * n) / block) / 10000),
      errorOf(name),
    ];
  });
  const head = ["type", "elements", "bytes", "bits an element", "error, %"];
  return lines(head, rows);
}

function drawings(): string {
  return quantisedNames
    .map((name) => {
      const { fields, value } = layouts[name];
      return `### ${name}\n\n${value}\n\n\`\`\`text\n${drawBlock(fields)}\n\n${drawBits(name)}\n\`\`\`\n`;
    })
    .join("\n");
}

/** The page with its made parts made anew, those that take minutes where it is asked for: each stands between two comments. */
export function quantisedPage(page: string, isPatient = false): string {
  const parts: Readonly<Record<string, () => string>> = {
    table,
    drawings,
    made: () => names(encodedNames),
    ...(isPatient ? { losses } : {}),
  };
  return page.replace(/<!-- (\w+) -->\n.*?<!-- end -->/gs, (part, name: string) =>
    Object.hasOwn(parts, name) ? `<!-- ${name} -->\n\n${parts[name]().trimEnd()}\n\n<!-- end -->` : part,
  );
}

const self = fileURLToPath(import.meta.url);
if (process.argv[1] === self) {
  const page = new URL("quantised.md", import.meta.url);
  writeFileSync(page, quantisedPage(readFileSync(page, "utf8"), process.argv.includes("--losses")));
}
