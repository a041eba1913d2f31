/** Writes docs/guides/from-numpy.md from numpy-rows.json, whose lines are run by tests/numpy-rows.test.ts: npm run docs. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

interface Group {
  readonly title: string;
  readonly rows: readonly (readonly [numpy: string, strided: string, note?: string])[];
}
interface Data {
  readonly setup: { readonly numpy: readonly string[]; readonly strided: readonly string[] };
  readonly groups: readonly Group[];
}

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const data = JSON.parse(readFileSync(here("guides/numpy-rows.json"), "utf8")) as Data;

export const { setup } = data;
export const rows = data.groups.flatMap((g) =>
  g.rows.map(([numpy, strided, note = ""]) => ({ numpy, strided, note })),
);

export function fromNumpyPage(): string {
  const cell = (code: string) => `\`${code.replaceAll("|", "\\|")}\``;
  const tables = data.groups.map((g) => {
    const lines = g.rows.map(([numpy, strided, note = ""]) => [cell(numpy), cell(strided), note]);
    return `## ${g.title}\n\n${table(["NumPy", "strided", "differs"], lines)}\n`;
  });
  const words = readFileSync(here("guides/from-numpy.head.txt"), "utf8").trimEnd();
  const head = words
    .replace("COUNT", String(rows.length))
    .replace("NUMPY", setup.numpy.join("\n"))
    .replace("STRIDED", setup.strided.join("\n"));
  return `${head}\n\n${tables.join("\n")}`;
}

/** As the formatter would align it. */
function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = head.map((h, i) => Math.max(h.length, ...lines.map((l) => l[i].length)));
  const row = (cells: readonly string[]) => `| ${cells.map((c, i) => c.padEnd(widths[i])).join(" | ")} |`;
  return [row(head), row(widths.map((w) => "-".repeat(w))), ...lines.map(row)].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(here("guides/from-numpy.md"), fromNumpyPage());
