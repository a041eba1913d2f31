/**
 * Writes the tables of docs/guides/accuracy.md: how far compiled functions are from the exact values of
 * tests/accuracy/references.json.gz, in units in the last place. `npm run docs` writes it, a test holds it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import * as strided from "../src/index.ts";

const at = (name: string) => fileURLToPath(new URL(name, import.meta.url));
type Row = readonly number[];
type Fn = (...args: strided.Tensor[]) => strided.Tensor;

const references = JSON.parse(
  gunzipSync(readFileSync(at("../tests/accuracy/references.json.gz"))).toString(),
) as Readonly<Record<string, readonly Row[]>>;
const functions = strided as unknown as Readonly<Record<string, Fn>>;

/** The distance of two neighbouring floats around a value. */
function ulpOf(value: number, digits: 24 | 53): number {
  const least = digits === 53 ? -1074 : -149;
  const exponent = value === 0 ? least : Math.floor(Math.log2(Math.abs(value)));
  return 2 ** Math.max(exponent - digits + 1, least);
}

interface Measured {
  readonly name: string;
  readonly points: number;
  readonly largest: number;
  /** Share of results that are the nearest float. */
  readonly exact: number;
}

/** One function on f64 against exact values, or on f32 against JavaScript's Math in f64 at the same points. */
function measure(name: string, dtype: "f64" | "f32"): Measured {
  const arity = references[name][0].length - 2;
  const narrow = (x: number) => (dtype === "f32" ? Math.fround(x) : x);
  const math = (Math as unknown as Record<string, (...x: number[]) => number>)[name];
  const rows = references[name].flatMap((row) => {
    const args = row.slice(0, arity).map(narrow);
    const [high, low] = dtype === "f64" ? [row[arity], row[arity + 1]] : [math(...args), 0];
    const largest = dtype === "f64" ? Number.MAX_VALUE : 3.4e38;
    const least = dtype === "f64" ? 2.3e-308 : 1.2e-38;
    const usual = Math.abs(high) <= largest && (Math.abs(high) >= least || high === 0);
    return usual && args.every((x) => Math.abs(x) <= largest) ? [{ args, high, low }] : [];
  });
  return strided.scope(() => {
    const columns = Array.from({ length: arity }, (_, i) =>
      strided.tensor(
        rows.map((r) => r.args[i]),
        { dtype },
      ),
    );
    const got = functions[name](...columns).toArray() as number[];
    let largest = 0;
    let nearest = 0;
    rows.forEach(({ high, low }, i) => {
      const error = Math.abs(got[i] - high - low) / ulpOf(high, dtype === "f64" ? 53 : 24);
      largest = Math.max(largest, error);
      if (error <= 0.5) nearest++;
    });
    return { name, points: rows.length, largest, exact: nearest / rows.length };
  });
}

function tables(): string {
  const names = Object.keys(references)
    .filter((name) => name in functions)
    .sort();
  const lines = names.map((name) => {
    const wide = measure(name, "f64");
    const narrow = name in Math ? measure(name, "f32") : null;
    const part = (m: Measured | null) =>
      m === null ? ["", ""] : [m.largest.toFixed(2), `${Math.floor(m.exact * 100)} %`];
    return [`\`${name}\``, String(wide.points), ...part(wide), ...part(narrow)];
  });
  const head = [
    "function",
    "points",
    "f64: largest error",
    "nearest float",
    "f32: largest error",
    "nearest float",
  ];
  const widths = head.map((h, i) => Math.max(h.length, ...lines.map((l) => l[i].length)));
  const pad = (text: string, i: number) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]));
  const row = (cells: readonly string[]) => `| ${cells.map(pad).join(" | ")} |`;
  const rule = widths.map((w, i) => (i === 0 ? "-".repeat(w) : `${"-".repeat(w - 1)}:`));
  return [row(head), `| ${rule.join(" | ")} |`, ...lines.map(row)].join("\n");
}

/** The page as it is, with its table made anew. */
export function accuracyPage(): string {
  const page = readFileSync(at("guides/accuracy.md"), "utf8");
  return page.replace(/(<!-- table -->\n\n).*(\n\n<!-- end -->)/s, (_, a, b) => `${a}${tables()}${b}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(at("guides/accuracy.md"), accuracyPage());
