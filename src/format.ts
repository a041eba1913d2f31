/**
 * How a tensor looks when it is printed: values in rows, long axes elided, then what the memory behind them is.
 *
 *     Tensor f32 [2, 2]  strides [4, 2], a view of 8 elements
 *     [[100, 102],
 *      [104, 106]]
 */
import { type DType, dtypes, toScalar, type Value } from "./dtype.ts";
import { list } from "./errors.ts";
import { isContiguous, type View } from "./view/view.ts";

export interface FormatOptions {
  /** More elements than this are elided. Default 1000. */
  readonly threshold?: number;
  /** Elements shown at each end of an elided axis. Default 3. */
  readonly edge?: number;
  /** Significant digits of floats. Default 6 for f32 and narrower, 8 for f64. */
  readonly digits?: number;
}

export type Reader = (byteOffset: number) => Value;

/** The rows of values alone. */
export function formatValues(dtype: DType, view: View, read: Reader, options: FormatOptions = {}): string {
  const threshold = options.threshold ?? 1000;
  const edge = options.edge ?? 3;
  const size = view.shape.reduce((a, b) => a * b, 1);
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
  let next = 0;
  const render = (d: number, indent: string): string => {
    if (d === view.shape.length) return texts[next++].padStart(width);
    const last = d === view.shape.length - 1;
    const rows = shown(d).map((i) => (i < 0 ? "…" : render(d + 1, `${indent} `)));
    const between = last ? ", " : `,${"\n".repeat(view.shape.length - d - 1)}${indent} `;
    return `[${rows.join(between)}]`;
  };
  return render(0, "");
}

function formatCells(dtype: DType, cells: readonly Value[], digits?: number): string[] {
  const row = dtypes[dtype];
  if (row.kind !== "float") return cells.map((v) => String(toScalar(v, dtype)));
  const numbers = cells as readonly number[];
  const precision = digits ?? (dtype === "f64" ? 8 : dtype === "f32" ? 6 : 4);
  const finite = numbers.filter((x) => Number.isFinite(x) && x !== 0).map(Math.abs);
  const largest = finite.reduce((m, x) => Math.max(m, x), 0);
  const smallest = finite.reduce((m, x) => Math.min(m, x), Infinity);
  const scientific = largest >= 1e8 || (finite.length > 0 && smallest < 1e-4 && largest / smallest > 1e3);
  // As many decimals as the values need at this precision, the same for all of them.
  let decimals = 0;
  for (const x of finite) {
    const text = String(Number(x.toPrecision(precision)));
    const point = text.indexOf(".");
    if (point >= 0 && !text.includes("e")) decimals = Math.max(decimals, text.length - point - 1);
    else if (text.includes("e-")) decimals = precision;
  }
  decimals = Math.min(decimals, precision);
  return numbers.map((x) => {
    if (Object.is(x, -0)) return "-0";
    if (!Number.isFinite(x) || x === 0) return String(x);
    if (scientific) return x.toExponential(Math.max(precision - 2, 1)).replace(/\.?0+e/, "e");
    return decimals === 0 ? String(Math.round(x)) : x.toFixed(decimals);
  });
}

/** One line about the memory: dtype, shape and, where it says something, strides, offset and what it views. */
export function formatHeader(
  dtype: DType,
  view: View,
  storage: { readonly bytes: number },
  notes: readonly string[] = [],
): string {
  const elements = (bytes: number) => bytes / view.itemBytes;
  const facts: string[] = [];
  const size = view.shape.reduce((a, b) => a * b, 1);
  const dense = isContiguous(view);
  if (!dense) facts.push(`strides ${list(view.strides.map(elements))}`);
  if (view.offset !== 0) facts.push(`offset ${elements(view.offset)}`);
  if (size * view.itemBytes !== storage.bytes || !dense)
    facts.push(`a view of ${elements(storage.bytes)} elements`);
  facts.push(...notes);
  return `Tensor ${dtype} ${list(view.shape)}${facts.length > 0 ? `  ${facts.join(", ")}` : ""}`;
}
