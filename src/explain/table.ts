/** The iteration tables of the documents as text: made from an iteration's rows, so any layout shows; long tables are elided. */
import { describe, fail, list } from "../errors.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Iteration, IterationRow } from "./iteration.ts";

/** The options of `table`. */
export interface TableOptions {
  /** Rows shown at the most; the middle is left out. Default 24. */
  readonly rows?: number;
}

/** What is asked of a table, read once. */
export function readTable<O extends TableOptions>(given: O): O {
  const options = readOptions("table", given, "{ rows: 10 }", ["rows", "kernel"]);
  const { rows } = options;
  if (rows !== undefined && typeof rows !== "number") {
    fail("value", "table", `rows is ${describe(rows)}.`, "Give a number, such as { rows: 10 }.");
  }
  return options;
}

/** Rows of cells → aligned columns under a rule. */
export function columns(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((h, c) => Math.max(h.length, ...rows.map((r) => r[c].length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, c) => cell.padEnd(widths[c]))
      .join("  ")
      .trimEnd();
  return [line(head), widths.map((w) => "─".repeat(w)).join("──"), ...rows.map(line)].join("\n");
}

/** The ordinals to show, with -1 where some are left out. */
function ordinals(count: number, options: TableOptions): number[] {
  const most = Math.max(2, options.rows ?? 24);
  const all = Array.from({ length: Math.min(count, most) }, (_, i) => i);
  if (count <= most) return all;
  const head = Math.ceil(most / 2);
  return [...all.slice(0, head), -1, ...all.slice(0, most - head).map((i) => count - (most - head) + i)];
}

/** The columns of a table, and the cells of a row; a walk shows its first reads only. */
export interface TableStyle {
  readonly head: readonly string[];
  readonly reads: number;
  cells(row: IterationRow): string[];
}

export function iterationTable(iteration: Iteration, options: TableOptions = {}): string {
  const { head } = tableStyle(iteration);
  const table = columns(head, tableRows(iteration, options));
  const isCut = iteration.operands.some((o) => !o.whole) && /\?/.test(table);
  return isCut
    ? `${table}\n? was not kept: of operands this large only the first and the last rows are.`
    : table;
}

/** The cells of the rows that are shown. */
export function tableRows(iteration: Iteration, options: TableOptions = {}): string[][] {
  const { head, reads, cells } = tableStyle(iteration);
  return ordinals(iteration.count, options).map((i) =>
    i < 0 ? head.map(() => "…") : cells(iteration.row(i, reads)),
  );
}

export function tableStyle(iteration: Iteration): TableStyle {
  return (styles[iteration.form as keyof typeof styles] ?? elementwise)(iteration);
}

const start = ["ordinal", "out index", "out position"];
const startCells = (row: IterationRow) => [String(row.ordinal), list(row.index), String(row.position)];

/** map, zip, scans and copies. */
function elementwise({ operands, readsPerRow }: Iteration): TableStyle {
  const names = operands.slice(1).map((t) => t.name);
  return {
    head: [...start, ...names.flatMap((n) => [`${n} index`, `${n} position`, `read ${n}`]), "written"],
    reads: readsPerRow,
    cells: (row) => [
      ...startCells(row),
      ...row.reads.flatMap((r) => [list(r.index), String(r.position), r.value]),
      row.written,
    ],
  };
}

/** Folds: where each output element's walk starts, how it steps, what it reads. */
function reduce({ operands, readsPerRow }: Iteration): TableStyle {
  const names = operands.slice(1).map((t) => t.name);
  const reads = Math.min(6 * names.length, readsPerRow);
  const more = readsPerRow > reads ? ["…"] : [];
  const isOne = names.length === 1;
  return {
    head: [
      ...start,
      ...names.flatMap((n) => [`${n} base`, isOne ? "walk" : `${n} walk`, isOne ? "read" : `read ${n}`]),
      "written",
    ],
    reads,
    cells: (row) => [
      ...startCells(row),
      ...names.flatMap((_, k) => {
        const own = row.reads.filter((r) => r.operand === k + 1);
        const walk = [...own.map((r) => r.position), ...more].join(" ");
        return [String(row.bases[k]), walk, [...own.map((r) => r.value), ...more].join(" ")];
      }),
      row.written,
    ],
  };
}

/** Matrix products: the bases in a and b, and the walk along k. */
function matmul({ readsPerRow }: Iteration): TableStyle {
  const reads = Math.min(8, readsPerRow);
  const more = readsPerRow > reads ? ["…"] : [];
  return {
    head: [...start, "a base", "b base", "products", "written"],
    reads,
    cells: (row) => [
      ...startCells(row),
      ...row.bases.map(String),
      [...productsOf(row), ...more].join(" + "),
      row.written,
    ],
  };
}

/** a·b for each step of k that the row has. */
function productsOf({ reads }: IterationRow): string[] {
  return Array.from(
    { length: reads.length >> 1 },
    (_, k) => `${reads[2 * k].value}·${reads[2 * k + 1].value}`,
  );
}

const styles = { reduce, matmul };
