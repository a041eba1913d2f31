/**
 * How a tensor looks when it is printed: values in rows, long axes elided, then what the memory behind them is.
 *
 *     Tensor f32 [2, 2]  strides [4, 2], a view of 8 elements
 *     [[100, 102],
 *      [104, 106]]
 */
import { type DType, dtypes, toScalar, type Value } from "./dtype.ts";
import { describe, fail, list } from "./errors.ts";
import { readOptions } from "./ops/arguments.ts";
import { isContiguous, type View } from "./view/view.ts";

/** How a tensor prints. */
export interface FormatOptions {
  /** More elements than this are elided. Default 1000. */
  readonly threshold?: number;
  /** Elements shown at each end of an elided axis. Default 3. */
  readonly edge?: number;
  /** Significant digits of floats. Default 8 for f64, 6 for f32, 4 for f16 and bf16. */
  readonly digits?: number;
  /** Rows longer than this many columns go on in the next line. Default 100. */
  readonly lineWidth?: number;
}

const names = ["threshold", "edge", "digits", "lineWidth"] as const;

/** Options of printing, read once. */
export function readFormat(operation: string, given: FormatOptions | undefined): FormatOptions {
  const options = readOptions(operation, given, "{ digits: 3 }", names);
  for (const name of names) {
    const value: unknown = options[name];
    if (value === undefined || typeof value === "number") continue;
    fail("value", operation, `${name} is ${describe(value)}.`, "Give a number, such as { digits: 3 }.");
  }
  return options;
}

export type Reader = (byteOffset: number) => Value;

/** The rows of values alone. */
export function formatValues(dtype: DType, view: View, read: Reader, options: FormatOptions = {}): string {
  const threshold = options.threshold ?? 1000;
  const edge = options.edge ?? 3;
  const size = view.shape.reduce((a, b) => a * b, 1);
  if (size === 0) return "[]";
  const elide = size > threshold;
  const shown = (d: number): number[] => {
    const n = view.shape[d];
    if (!elide || n <= 2 * edge) return Array.from({ length: n }, (_, i) => i);
    const ends = Array.from({ length: edge }, (_, i) => i);
    return [...ends, -1, ...ends.map((i) => n - edge + i)];
  };
  const cells: Value[] = [];
  const collect = (d: number, offset: number): void => {
    if (d === view.shape.length) {
      cells.push(read(offset));
      return;
    }
    for (const i of shown(d)) if (i >= 0) collect(d + 1, offset + i * view.strides[d]);
  };
  collect(0, view.offset);
  const texts = formatCells(dtype, cells, options.digits);
  const width = texts.reduce((w, t) => Math.max(w, t.length), 0);
  const perLine = (indent: number): number =>
    Math.max(1, Math.floor(((options.lineWidth ?? 100) - indent) / (width + 2)));
  let next = 0;
  const render = (d: number, indent: string): string => {
    if (d === view.shape.length) return texts[next++].padStart(width);
    const inside = `${indent} `;
    const parts = shown(d).map((i) => (i < 0 ? "…" : render(d + 1, inside)));
    if (d < view.shape.length - 1) {
      return `[${parts.join(`,${"\n".repeat(view.shape.length - d - 1)}${inside}`)}]`;
    }
    const lines: string[] = [];
    const step = perLine(inside.length);
    for (let i = 0; i < parts.length; i += step) lines.push(parts.slice(i, i + step).join(", "));
    return `[${lines.join(`,\n${inside}`)}]`;
  };
  return render(0, "");
}

/** The cells as text, floats all in one notation: whole, with the same number of decimals, or scientific. */
function formatCells(dtype: DType, cells: readonly Value[], digits?: number): string[] {
  const row = dtypes[dtype];
  if (row.kind !== "float") return cells.map((v) => String(toScalar(v, dtype)));
  const numbers = cells as readonly number[];
  const wanted = digits ?? (dtype === "f64" ? 8 : dtype === "f32" ? 6 : 4);
  const precision = Math.min(21, Math.max(1, Math.trunc(Number(wanted)) || 1));
  const write = floatWriter(numbers.filter((x) => Number.isFinite(x) && x !== 0).map(Math.abs), precision);
  return numbers.map((x) =>
    Number.isFinite(x) ? (Object.is(x, -0) ? `-${write(0)}` : write(x)) : String(x),
  );
}

function floatWriter(magnitudes: readonly number[], precision: number): (x: number) => string {
  const largest = magnitudes.reduce((m, x) => Math.max(m, x), 0);
  const smallest = magnitudes.reduce((m, x) => Math.min(m, x), Infinity);
  if (largest < 1e12 && magnitudes.every(Number.isInteger)) return String;
  if (largest >= 1e8 || smallest < 1e-4) {
    return (x) =>
      x === 0
        ? "0"
        : x
            .toExponential(precision - 1)
            .replace(/\.?0+e/, "e")
            .replace("e+", "e");
  }
  // As many decimals as the values need at this precision, the same for all of them.
  const needs = (x: number) => {
    const text = String(Number(x.toPrecision(precision)));
    return text.includes(".") ? text.length - text.indexOf(".") - 1 : 0;
  };
  const decimals = magnitudes.reduce((most, x) => Math.max(most, needs(x)), 0);
  return (x) => x.toFixed(Math.min(decimals, precision));
}

/** One line about the memory: dtype, shape and, where it says something, strides, offset and what it views. */
export function formatHeader(
  dtype: DType,
  view: View,
  storage: { readonly bytes: number },
  notes: readonly string[] = [],
): string {
  // Foreign memory may step by parts of an element: then everything is said in bytes.
  const inBytes = [...view.strides, view.offset].some((bytes) => bytes % view.itemBytes !== 0);
  const unit = inBytes ? 1 : view.itemBytes;
  const prefix = inBytes ? "byte " : "";
  const facts: string[] = [];
  const size = view.shape.reduce((a, b) => a * b, 1);
  const dense = isContiguous(view);
  if (!dense) facts.push(`${prefix}strides ${list(view.strides.map((s) => s / unit))}`);
  if (view.offset !== 0) facts.push(`${prefix}offset ${view.offset / unit}`);
  if (size * view.itemBytes !== storage.bytes) {
    const saysBytes = inBytes || storage.bytes % unit !== 0;
    facts.push(saysBytes ? `a view of ${storage.bytes} bytes` : `a view of ${storage.bytes / unit} elements`);
  }
  facts.push(...notes);
  return `Tensor ${dtype} ${list(view.shape)}${facts.length > 0 ? `  ${facts.join(", ")}` : ""}`;
}
