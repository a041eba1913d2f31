/**
 * A text picture of a view over its memory: the cells it marks, and the grid of positions it makes of them.
 *
 * Positions are counted in elements, or in bytes when the view is not aligned to its element size.
 * Long memories and large grids are shortened; the picture of a view is never more than a screen.
 */
import { list } from "../errors.ts";
import { positionOf, sizeOf, unravel } from "./layout.ts";
import { overlaps } from "./overlap.ts";
import { extent, type View } from "./view.ts";

export interface DrawOptions {
  /** Elements of the storage, each as long as an element of the view. */
  readonly elements: number;
  /** The text of the cell at a byte address; without it a cell shows its own position. */
  readonly values?: (byteAddress: number) => string;
  readonly name?: string;
}

const MAX_CELLS = 64;
const MAX_WIDTH = 84;
/** Sizes and panels shown at each end of an axis that is too long. */
const EDGE = 3;
const MAX_COLUMNS = 20;
/** Rows searched for the next one the view touches. */
const MAX_SCAN = 4096;

export function drawView(view: View, options: DrawOptions): string {
  const aligned = [view.offset, ...view.strides].every((bytes) => bytes % view.itemBytes === 0);
  const unit = aligned ? view.itemBytes : 1;
  return [
    header(view, unit, options.name),
    "",
    ...drawMemory(view, unit, options),
    "",
    ...drawGrid(view, unit, options),
  ].join("\n");
}

function header(view: View, unit: number, name = "view"): string {
  const strides = list(view.strides.map((bytes) => bytes / unit));
  const what = unit === view.itemBytes ? "" : `, in bytes (elements of ${view.itemBytes})`;
  return `${name}: shape ${list(view.shape)}, strides ${strides}, offset ${view.offset / unit}${what}`;
}

// ---- memory -----------------------------------------------------------------------------------------

/**
 * Rows of cells, each under its ruler of positions if they hold values; the view's own cells are in
 * brackets.
 */
function drawMemory(view: View, unit: number, options: DrawOptions): string[] {
  const count = Math.floor((options.elements * view.itemBytes) / unit);
  if (count === 0) return ["memory: empty"];
  const text = (cell: number): string => options.values?.(cell * unit) ?? String(cell);
  const layout = (perRow: number): { rows: number[][]; width: number } => {
    const rows = visibleRows(view, unit, count, perRow).map((row) => cellsOfRow(row, perRow, count));
    const widths = rows.flat().map((cell) => Math.max(text(cell).length, String(cell).length));
    return { rows, width: Math.max(...widths) };
  };
  let perRow = 16;
  let { rows, width } = layout(perRow);
  while (perRow > 1 && perRow * (width + 3) > MAX_WIDTH) {
    perRow /= 2;
    ({ rows, width } = layout(perRow));
  }

  const lines = [`memory: ${count} ${unit === view.itemBytes ? "element" : "byte"}${count === 1 ? "" : "s"}`];
  let next = 0;
  for (const cells of rows) {
    if (cells[0] > next) lines.push(skipped(cells[0] - next));
    if (options.values !== undefined)
      lines.push(joinCells(cells.map((cell) => ` ${String(cell).padStart(width)} `)));
    lines.push(
      joinCells(cells.map((cell) => mark(text(cell).padStart(width), touches(view, cell * unit, unit)))),
    );
    next = cells[cells.length - 1] + 1;
  }
  if (next < count) lines.push(skipped(count - next));
  return lines;
}

/** All rows if they fit; else, of those the view touches, the first few and the last. */
function visibleRows(view: View, unit: number, count: number, perRow: number): number[] {
  const most = Math.max(Math.floor(MAX_CELLS / perRow), 2);
  const all = Math.ceil(count / perRow);
  const rowBytes = perRow * unit;
  const range = extent(view);
  const from = all <= most ? 0 : Math.min(Math.floor(range.start / rowBytes), all - 1);
  const to = all <= most ? all - 1 : Math.min(Math.max(Math.ceil(range.end / rowBytes) - 1, from), all - 1);
  const rows = [from];
  for (let row = from + 1; row < Math.min(to, from + MAX_SCAN) && rows.length < most - 1; row++) {
    if (all <= most || touches(view, row * rowBytes, rowBytes)) rows.push(row);
  }
  if (to > from) rows.push(to);
  return rows;
}

function cellsOfRow(row: number, perRow: number, count: number): number[] {
  const cells: number[] = [];
  for (let cell = row * perRow; cell < Math.min((row + 1) * perRow, count); cell++) cells.push(cell);
  return cells;
}

function touches(view: View, byteAddress: number, bytes: number): boolean {
  return overlaps(view, { shape: [], strides: [], offset: byteAddress, itemBytes: bytes });
}

function mark(text: string, isMarked: boolean): string {
  return isMarked ? `[${text}]` : ` ${text} `;
}

function joinCells(cells: readonly string[]): string {
  return `  ${cells.join(" ")}`.trimEnd();
}

function skipped(cells: number): string {
  return `   … ${cells} more`;
}

// ---- the logical grid -------------------------------------------------------------------------------

/**
 * The last two axes as a grid, one grid for each index of the axes before them. Cells are
 * `value@position`.
 */
function drawGrid(view: View, unit: number, options: DrawOptions): string[] {
  const { shape, strides } = view;
  if (sizeOf(shape) === 0) return ["view: no elements"];
  const rank = shape.length;
  const lead = shape.slice(0, Math.max(rank - 2, 0));
  const isLong = sizeOf(shape) > MAX_CELLS;
  const rows = edges(rank > 1 ? shape[rank - 2] : 1, isLong);
  const columns = edges(rank > 0 ? shape[rank - 1] : 1, isLong || shape[rank - 1] > MAX_COLUMNS);
  const cell = (index: number[]): string => {
    const address = positionOf(index.slice(index.length - rank), strides, view.offset);
    return options.values === undefined
      ? `${address / unit}`
      : `${options.values(address)}@${address / unit}`;
  };

  const title =
    options.values === undefined ? "view, each cell's position:" : "view, each cell as value@position:";
  const lines = [title];
  let width = 0;
  const grids: { readonly label: string; readonly grid: readonly (readonly string[])[] }[] = [];
  const panels = edges(sizeOf(lead), isLong);
  for (const panel of panels) {
    if (panel === null) {
      grids.push({ label: `  … ${sizeOf(lead) - 2 * EDGE} more`, grid: [] });
      continue;
    }
    const at = unravel(panel, lead);
    const grid = rows.map((i) => columns.map((j) => (i === null || j === null ? "…" : cell([...at, i, j]))));
    for (const row of grid) for (const text of row) width = Math.max(width, text.length);
    grids.push({ label: lead.length > 0 ? `  [${at.join(", ")}, :, :]` : "", grid });
  }
  for (const { label, grid } of grids) {
    if (label !== "") lines.push(label);
    for (const row of grid) lines.push(`   ${row.map((text) => text.padStart(width)).join("  ")}`);
  }
  return lines;
}

/** 0 … size-1, or its two ends with null between them. */
function edges(size: number, shorten: boolean): (number | null)[] {
  const all = Array.from({ length: shorten ? Math.min(size, 2 * EDGE) : size }, (_, i) => i);
  if (all.length === size) return all;
  return [...all.slice(0, EDGE), null, ...all.slice(EDGE).map((i) => i + size - 2 * EDGE)];
}
