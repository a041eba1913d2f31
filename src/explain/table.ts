/**
 * The iteration tables of the documents: for each ordinal the output's index and position, where each operand is read,
 * what was read and what was written. Made from views and values, so it shows any layout; long tables are elided.
 */
import { type DType, toScalar, type Value } from "../dtype.ts";
import { list } from "../errors.ts";
import { broadcastIndex, positionOf, sizeOf, unravel } from "../view/layout.ts";
import type { View } from "../view/view.ts";

/** An operand with the values it held, read by byte offset. */
export interface Snapshot {
  readonly name: string;
  readonly dtype: DType;
  readonly frame: View;
  readonly read: (byteOffset: number) => Value;
}

export interface TableOptions {
  /** Rows shown at the most; the middle is left out. Default 24. */
  readonly rows?: number;
}

const positionIn = (t: Snapshot, index: readonly number[]): number =>
  positionOf(index, t.frame.strides, t.frame.offset);
const elements = (t: Snapshot, bytes: number): string => String(bytes / t.frame.itemBytes);
const text = (t: Snapshot, bytes: number): string => show(t.dtype, t.read(bytes));

export function show(dtype: DType, value: Value): string {
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(7)));
  return String(toScalar(value, dtype));
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

function build(
  head: readonly string[],
  count: number,
  options: TableOptions,
  row: (ordinal: number) => string[],
): string {
  const rows = ordinals(count, options).map((i) => (i < 0 ? head.map(() => "…") : row(i)));
  return columns(head, rows);
}

/** map, zip and copies. `original` are the operands before they were broadcast. */
export function elementwiseTable(
  out: Snapshot,
  inputs: readonly Snapshot[],
  options: TableOptions = {},
): string {
  const { shape } = out.frame;
  const head = ["ordinal", "out index", "out position"];
  for (const t of inputs) head.push(`${t.name} index`, `${t.name} position`, `read ${t.name}`);
  head.push("written");
  return build(head, sizeOf(shape), options, (ordinal) => {
    const index = unravel(ordinal, shape);
    const cells = [String(ordinal), list(index), elements(out, positionIn(out, index))];
    for (const t of inputs) {
      const p = positionIn(t, index);
      // An axis of stride 0 reads its index 0 again and again.
      const own = index.map((i, d) => (t.frame.strides[d] === 0 ? 0 : i));
      cells.push(list(own), elements(t, p), text(t, p));
    }
    cells.push(text(out, positionIn(out, index)));
    return cells;
  });
}

/** Folds: where each output element's walk starts, how it steps, what it reads. */
export function reduceTable(
  out: Snapshot,
  input: Snapshot,
  axes: readonly number[],
  options: TableOptions = {},
): string {
  const kept = input.frame.shape.map((n, d) => (axes.includes(d) ? 1 : n));
  const walk = axes.map((d) => input.frame.shape[d]);
  const steps = axes.map((d) => input.frame.strides[d]);
  const count = sizeOf(walk);
  const few = Math.min(count, 6);
  const head = ["ordinal", "out index", "out position", `${input.name} base`, "walk", "read", "written"];
  const outShape = out.frame.shape;
  return build(head, sizeOf(kept), options, (ordinal) => {
    const index = unravel(ordinal, kept);
    const outIndex = unravel(ordinal, outShape);
    const base = positionIn(input, index);
    const at = Array.from({ length: few }, (_, k) => base + positionOf(unravel(k, walk), steps));
    const more = count > few ? ["…"] : [];
    return [
      String(ordinal),
      list(outIndex),
      elements(out, positionIn(out, outIndex)),
      elements(input, base),
      [...at.map((p) => elements(input, p)), ...more].join(" "),
      [...at.map((p) => text(input, p)), ...more].join(" "),
      text(out, positionIn(out, outIndex)),
    ];
  });
}

/** Matrix products: the bases in a and b, and the walk along k. a is (…, m, k), b is (…, k, n), out (…, m, n). */
export function matmulTable(out: Snapshot, a: Snapshot, b: Snapshot, options: TableOptions = {}): string {
  const { shape } = out.frame;
  const rank = shape.length;
  const k = a.frame.shape[rank - 1];
  const few = Math.min(k, 4);
  const head = ["ordinal", "out index", "out position", "a base", "b base", "products", "written"];
  return build(head, sizeOf(shape), options, (ordinal) => {
    const index = unravel(ordinal, shape);
    const batch = index.slice(0, -2);
    const [i, j] = index.slice(-2);
    const aBase = positionIn(a, [...broadcastIndex(batch, a.frame.shape.slice(0, -2)), i, 0]);
    const bBase = positionIn(b, [...broadcastIndex(batch, b.frame.shape.slice(0, -2)), 0, j]);
    const products = Array.from({ length: few }, (_, p) => {
      const x = text(a, aBase + p * a.frame.strides[rank - 1]);
      const y = text(b, bBase + p * b.frame.strides[rank - 2]);
      return `${x}·${y}`;
    });
    return [
      String(ordinal),
      list(index),
      elements(out, positionIn(out, index)),
      elements(a, aBase),
      elements(b, bBase),
      [...products, ...(k > few ? ["…"] : [])].join(" + "),
      text(out, positionIn(out, index)),
    ];
  });
}
