/** A tensor as one indexes it: a matrix, or a matrix for each leading index. One tab stop; arrow keys move inside. */
import { unravel } from "../../src/view/layout.ts";
import { h, list } from "./dom.ts";
import { brief } from "./strip.ts";

export interface GridOptions {
  readonly label: string;
  readonly shape: readonly number[];
  /** The text of an element, in full. */
  readonly value: (index: readonly number[]) => string;
  /** A cell is focused or pointed at. */
  readonly onPoint?: (index: readonly number[] | null) => void;
}

/** An axis longer than the first number shows as many as the second. */
const rowLimits = [12, 6] as const;
const columnLimits = [16, 8] as const;
const within = (size: number, [most, some]: readonly [number, number]) => (size > most ? some : size);
const MOST_CELLS = 192;
const MOST_MATRICES = 12;
/** Characters that a cell shows. */
const ROOM = 10;

export class Grid {
  readonly element: HTMLElement;
  readonly #cells = new Map<string, HTMLElement>();
  readonly #options: GridOptions;
  #current = "";

  constructor(options: GridOptions) {
    this.#options = options;
    const { shape } = options;
    const rank = shape.length;
    const [rows, columns] = [rank > 1 ? shape[rank - 2] : 1, rank > 0 ? shape[rank - 1] : 1];
    const [r, c] = [within(rows, rowLimits), within(columns, columnLimits)];
    const most = r < rows || c < columns ? MOST_CELLS / 2 : MOST_CELLS;
    const leads = shape.slice(0, -2);
    const blocks = leads.reduce((a, b) => a * b, 1);
    const shown = Math.max(1, Math.min(blocks, MOST_MATRICES, Math.floor(most / Math.max(1, r * c))));
    this.element = h("div", { class: "grid", role: "grid", "aria-label": options.label });
    const empty = shape.includes(0);
    if (empty) this.element.append(h("p", { class: "note" }, "No elements: a size is 0."));
    for (let block = 0; !empty && block < shown; block++) {
      this.element.append(this.#block(unravel(block, leads), r, c));
    }
    if (!empty && (r < rows || c < columns || shown < blocks)) {
      const what = [
        ...(blocks > 1 ? [`${shown} of ${blocks} matrices`] : []),
        `${r} of ${rows} rows`,
        `${c} of ${columns} columns`,
      ];
      this.element.append(h("p", { class: "note" }, `Shown: ${what.join(", ")}.`));
    }
    this.#listen();
  }

  #block(lead: readonly number[], rows: number, columns: number): HTMLElement {
    const rank = this.#options.shape.length;
    const table = h("div", { class: "matrix", role: "rowgroup" });
    table.style.setProperty("--columns", String(columns));
    for (let i = 0; i < rows; i++) {
      const row = h("div", { class: "row", role: "row" });
      for (let j = 0; j < columns; j++) {
        const index = rank === 0 ? [] : rank === 1 ? [j] : [...lead, i, j];
        row.append(this.#cell(index));
      }
      table.append(row);
    }
    if (lead.length === 0) return table;
    return h(
      "div",
      { class: "matrix-block" },
      h("span", { class: "lead" }, list([...lead, "·", "·"])),
      table,
    );
  }

  #cell(index: readonly number[]): HTMLElement {
    const key = index.join(",");
    const text = this.#options.value(index);
    const tabindex = this.#cells.size === 0 ? 0 : -1;
    const cell = h("div", { class: "c", role: "gridcell", tabindex, "data-key": key });
    write(cell, index, text);
    if (this.#cells.size === 0) this.#current = key;
    this.#cells.set(key, cell);
    return cell;
  }

  #listen(): void {
    const { onPoint } = this.#options;
    const keyAt = (event: Event) => (event.target as Element).closest<HTMLElement>("[data-key]")?.dataset.key;
    const point = (event: Event) => {
      const key = keyAt(event);
      if (key !== undefined) onPoint?.(indexOf(key));
    };
    this.element.addEventListener("pointerover", point);
    this.element.addEventListener("focusin", point);
    this.element.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "touch") return;
      const focused = this.element.contains(document.activeElement);
      onPoint?.(focused ? indexOf(this.#current) : null);
    });
    this.element.addEventListener("focusout", () => onPoint?.(null));
    this.element.addEventListener("pointerdown", (event) => {
      const key = keyAt(event);
      if (key !== undefined) this.#moveTo(key);
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Home" || event.key === "End") {
        event.preventDefault();
        this.#moveToEdge(event.key === "End", event.ctrlKey);
        return;
      }
      const move = moves[event.key];
      if (move === undefined) return;
      const index = indexOf(this.#current);
      const d = index.length - 1 - move[0];
      if (d < 0) return;
      event.preventDefault();
      index[d] += move[1];
      this.#moveTo(index.join(","));
    });
  }

  /** The first or last cell of the row, or of all. */
  #moveToEdge(last: boolean, ofAll: boolean): void {
    const row = this.#current.replace(/\d+$/, "");
    const keys = [...this.#cells.keys()].filter((key) => ofAll || key.replace(/\d+$/, "") === row);
    this.#moveTo(keys[last ? keys.length - 1 : 0]);
  }

  #moveTo(key: string): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) return;
    this.#cells.get(this.#current)?.setAttribute("tabindex", "-1");
    cell.setAttribute("tabindex", "0");
    this.#current = key;
    cell.focus();
  }

  /** Gives these cells a class, and takes it from all others. */
  mark(name: string, indices: readonly (readonly number[])[]): void {
    const keys = new Set(indices.map((i) => i.join(",")));
    for (const [key, cell] of this.#cells) cell.classList.toggle(name, keys.has(key));
  }

  setText(index: readonly number[], text: string): void {
    const cell = this.#cells.get(index.join(","));
    if (cell !== undefined && cell.title !== text) write(cell, index, text);
  }
}

/** What fits into the cell, and the whole of it for who asks. */
function write(cell: HTMLElement, index: readonly number[], text: string): void {
  cell.textContent = brief(text, ROOM);
  cell.title = text;
  cell.setAttribute("aria-label", `${list(index)} is ${text}`);
  cell.classList.toggle("small", cell.textContent.length > 5);
}

/** Which axis from the end a key moves along, and how far. */
const moves: Readonly<Record<string, readonly [axisFromEnd: number, by: number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [1, -1],
  ArrowDown: [1, 1],
  PageUp: [2, -1],
  PageDown: [2, 1],
};

const indexOf = (key: string): number[] => (key === "" ? [] : key.split(",").map(Number));
