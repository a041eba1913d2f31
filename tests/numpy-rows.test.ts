/** Every line of the table for those who come from NumPy: strided's side is run and compared with what NumPy gave. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { fromNumpyPage, rows, setup } from "../docs/make-from-numpy.ts";
import * as strided from "../src/index.ts";

interface Answer {
  readonly numpy: string;
  readonly dtype: string | null;
  readonly value: unknown;
}

const file = (name: string) => readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), "utf8");
const answers = new Map(
  (JSON.parse(file("tests/fixtures/numpy-rows.json")) as Answer[]).map((a) => [a.numpy, a]),
);
const names = Object.keys(strided).filter((name) => name !== "default");

/** The value of the last statement of a line, which begins where the setup ends. */
function evaluate(line: string): unknown {
  const parts = line.split("; ");
  const text = [...setup.strided, ...parts.slice(0, -1), `return ${parts.at(-1)};`].join("\n");
  return new Function(...names, text)(...names.map((name) => (strided as Record<string, unknown>)[name]));
}

const short: Readonly<Record<string, string>> = {
  float32: "f32",
  float64: "f64",
  int32: "i32",
  int16: "i16",
};

function plain(value: unknown): unknown {
  if (value instanceof strided.Tensor) return plain(value.toArray());
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "number" && Number.isNaN(value)) return "nan";
  if (typeof value === "number" && !Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

/** Numbers up to the rounding of f32, all else exactly. */
function same(got: unknown, want: unknown): boolean {
  if (Array.isArray(got) && Array.isArray(want))
    return got.length === want.length && got.every((g, i) => same(g, want[i]));
  if (typeof got === "number" && typeof want === "number")
    return Math.abs(got - want) <= 2e-6 * Math.max(1, Math.abs(want));
  return got === want || got === short[String(want)];
}

describe("NumPy on the left, strided on the right", () => {
  test("there are at least 200 lines, and NumPy has answered each", () => {
    expect(rows.length).toBeGreaterThanOrEqual(200);
    expect(rows.filter((r) => !answers.has(r.numpy)).map((r) => r.numpy)).toEqual([]);
  });

  test.each(rows.map((row) => [row.strided, row] as const))("%s", (_, row) => {
    const answer = answers.get(row.numpy)!;
    const got = evaluate(row.strided);
    expect(
      same(plain(got), answer.value),
      `${JSON.stringify(plain(got))} beside NumPy's ${JSON.stringify(answer.value)}`,
    ).toBe(true);
    // Another dtype is a difference, and differences are named.
    if (got instanceof strided.Tensor && answer.dtype !== null && got.dtype !== answer.dtype)
      expect(row.note, `${got.dtype} where NumPy has ${answer.dtype}`).not.toBe("");
  });

  test("the page is made of these lines; `npm run docs` writes it anew", () => {
    expect(file("docs/guides/from-numpy.md")).toBe(fromNumpyPage());
  });
});
