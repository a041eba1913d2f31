/**
 * Slicing, by Python's rules: always a view, never a copy.
 *
 * One item an axis, from the left: an integer (drops the axis), "start:stop:step" or [start, stop, step]
 * (keeps it), null (a new axis of size 1), "..." (all axes that no other item takes). Axes left over stay
 * whole.
 */
import { fail, isRevoked, list, quote, shown } from "../errors.ts";
import { checkShape, normalizeIndex } from "./layout.ts";
import { rearranged, type View } from "./view.ts";

/** null leaves the bound open. */
export type Bound = number | bigint | null;

/** [start], [start, stop] or [start, stop, step]: the computed form of "start:stop:step". */
export type Range = readonly [start: Bound, stop?: Bound, step?: Bound];

/** A string is "start:stop:step" with any part left out, "..." or an integer such as "3". */
export type SliceItem = number | bigint | string | Range | null;

interface ParsedRange {
  readonly kind: "range";
  readonly start: number | null;
  readonly stop: number | null;
  readonly step: number | null;
}

type Parsed =
  | ParsedRange
  | { readonly kind: "index"; readonly index: number | bigint }
  | { readonly kind: "newAxis" }
  | { readonly kind: "ellipsis" };

const WHOLE: ParsedRange = { kind: "range", start: null, stop: null, step: null };

/**
 * The view that `items` select. An integer i moves the offset by i·stride; a step k makes the stride
 * k·stride.
 */
export function slice(view: View, items: readonly SliceItem[]): View {
  const rank = view.shape.length;
  const parsed = items.map(parseItem);
  const taken = parsed.filter((item) => item.kind === "index" || item.kind === "range").length;
  const ellipses = parsed.length - taken - parsed.filter((item) => item.kind === "newAxis").length;
  if (ellipses > 1)
    fail("index", "slice", `${write(items)} has ${ellipses} "...".`, 'Use "..." at most once.');
  if (taken > rank) {
    fail(
      "index",
      "slice",
      `${write(items)} takes ${taken} ${taken === 1 ? "axis" : "axes"} of ${list(view.shape)}.`,
      tooMany(rank),
    );
  }
  if (ellipses === 0) parsed.push({ kind: "ellipsis" });

  const shape: number[] = [];
  const strides: number[] = [];
  let offset = view.offset;
  let d = 0;
  const keep = (range: ParsedRange): void => {
    const { start, length, step } = resolveRange(range, view.shape[d]);
    offset += start * view.strides[d];
    shape.push(length);
    strides.push(step * view.strides[d] + 0); // never -0
    d++;
  };
  for (const item of parsed) {
    if (item.kind === "range") keep(item);
    else if (item.kind === "ellipsis") for (let k = taken; k < rank; k++) keep(WHOLE);
    else if (item.kind === "newAxis") {
      shape.push(1);
      strides.push(0);
    } else {
      offset += normalizeIndex("slice", item.index, view.shape[d], d) * view.strides[d];
      d++;
    }
  }
  checkShape("slice", shape);
  return rearranged(view, shape, strides, offset);
}

/**
 * Python's `slice.indices`: bounds count from the end when negative, then clamp to the axis.
 * A step longer than the axis selects one element at most, so it is cut to the axis and its stride stays
 * exact.
 */
function resolveRange(range: ParsedRange, size: number): { start: number; length: number; step: number } {
  const limit = Math.max(size, 1);
  const step = Math.min(Math.max(range.step ?? 1, -limit), limit);
  const low = step > 0 ? 0 : -1;
  const high = step > 0 ? size : size - 1;
  const start = range.start === null ? (step > 0 ? low : high) : clamp(range.start, size, low, high);
  const stop = range.stop === null ? (step > 0 ? high : low) : clamp(range.stop, size, low, high);
  return { start, length: Math.max(Math.ceil((stop - start) / step), 0), step };
}

function clamp(bound: number, size: number, low: number, high: number): number {
  return Math.min(Math.max(bound < 0 ? bound + size : bound, low), high);
}

// ---- reading the items ------------------------------------------------------------------------------

function parseItem(item: SliceItem): Parsed {
  if (item === null) return { kind: "newAxis" };
  if (typeof item === "number" || typeof item === "bigint") return { kind: "index", index: item };
  if (typeof item === "string") return parseText(item);
  if (isRevoked(item) || !Array.isArray(item)) badItem(item);
  item = copyOf(item);
  if (item.length < 1 || item.length > 3) {
    fail(
      "index",
      "slice",
      `${write([item])} has ${item.length} bounds.`,
      "Write [start, stop, step]; null is open.",
    );
  }
  const [start, stop = null, step = null] = item as Range;
  for (const bound of item as readonly unknown[]) {
    if (bound !== null && typeof bound !== "bigint" && !Number.isInteger(bound)) {
      fail(
        "index",
        "slice",
        `${write([item])} has the bound ${writeItem(bound)}.`,
        "Bounds are integers; null leaves one open.",
      );
    }
  }
  return toRange(start, stop, step, item);
}

/** A list of bounds, each read once; longer ones are wrong anyway. */
function copyOf(item: Range): Range {
  const length: unknown = item.length;
  const bounds: unknown[] = [];
  for (let i = 0; typeof length === "number" && i < Math.min(length, 64); i++) bounds.push(item[i]);
  return bounds as unknown as Range;
}

function parseText(text: string): Parsed {
  const body = text.trim();
  if (body === "...") return { kind: "ellipsis" };
  if (/^[+-]?\d+$/.test(body)) return { kind: "index", index: Number(body) };
  const parts = body.split(":").map((part) => part.trim());
  if (parts.length < 2 || parts.length > 3 || !parts.every((part) => /^([+-]?\d+)?$/.test(part)))
    badItem(text);
  const [start, stop, step = null] = parts.map((part) => (part === "" ? null : Number(part)));
  return toRange(start, stop, step, text);
}

function toRange(start: Bound, stop: Bound, step: Bound, item: SliceItem): Parsed {
  if (Number(step) === 0 && step !== null)
    fail("index", "slice", `${write([item])} has step 0.`, "A step is at least 1, or at most -1.");
  return { kind: "range", start: plain(start), stop: plain(stop), step: plain(step) };
}

/** Bounds are clamped to the axis, so what a bigint loses beyond 2^53 makes no difference. */
const plain = (bound: Bound): number | null => (bound === null ? null : Number(bound));

function badItem(item: unknown): never {
  return fail(
    "index",
    "slice",
    `${writeItem(item)} is not an index.`,
    'Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "...".',
  );
}

function tooMany(rank: number): string {
  if (rank === 0) return "A 0-d tensor has no axis to index.";
  return `Give at most ${rank} ${rank === 1 ? "index" : "indices"}; null adds an axis and takes none.`;
}

/** The items as the caller wrote them: `1, "::2", null`. */
function write(items: readonly SliceItem[]): string {
  return items.map(writeItem).join(", ");
}

function writeItem(item: unknown): string {
  if (typeof item === "object" && item !== null && isRevoked(item)) return shown(item);
  if (Array.isArray(item))
    return list(item.map((x) => (typeof x === "object" && x !== null ? "…" : writeItem(x))));
  if (typeof item === "string") return quote(item);
  return typeof item === "bigint" ? `${item}n` : shown(item);
}
