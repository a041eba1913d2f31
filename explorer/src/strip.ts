/** Memory as a strip of cells, position above value. Long memory shows a window that follows what matters. */
import { count, h, iconButton } from "./dom.ts";

export interface StripOptions {
  readonly label: string;
  /** Cells in all. */
  readonly length: number;
  /** Cells shown at a time, 64 by default; wide ones are half as many. */
  readonly window?: number;
  /** The text of a cell, in full; null where it is not known. */
  readonly value: (position: number) => string | null;
  /** Not to be seen yet: the cell is there, its value comes later. */
  readonly isHidden?: (position: number) => boolean;
  /** Does the view have this cell? */
  readonly inView: (position: number) => boolean;
  /** A cell is pointed at; null when no longer. With it, the strip is a tab stop and the arrow keys walk it. */
  readonly onPoint?: (position: number | null) => void;
}

export type Mark = "focus" | "read" | "write" | "done" | "walk";

/** Cells shown of a long memory. */
const WINDOW = 64;
/** Characters that a cell has room for, and a wide one. */
const ROOM = 8;
const WIDE_ROOM = 16;

export class Strip {
  readonly element: HTMLElement;
  readonly #options: StripOptions;
  readonly #cells = h("ol", { class: "cells" });
  readonly #where = h("span", { class: "where" });
  #start = -1;
  #room = ROOM;
  #size: number;
  /** The cell the arrow keys have come to. */
  #current = 0;
  #marks: ReadonlyMap<number, Mark> = new Map();

  constructor(options: StripOptions) {
    this.#options = options;
    this.#size = options.window ?? WINDOW;
    this.#cells.setAttribute("aria-label", options.label);
    if (options.onPoint !== undefined) this.#listen(options.onPoint);
    this.#window(0);
    const long = options.length > this.#size;
    const turn = (by: number) => this.#window(this.#start + by * this.#size);
    this.element = h(
      "div",
      { class: "strip" },
      this.#cells,
      long &&
        h(
          "div",
          { class: "strip-nav" },
          iconButton("left", "Earlier cells", () => turn(-1)),
          this.#where,
          iconButton("right", "Later cells", () => turn(1)),
        ),
    );
  }

  #listen(onPoint: (position: number | null) => void): void {
    const last = this.#options.length - 1;
    const point = (position: number) => {
      this.#current = Math.max(0, Math.min(last, position));
      this.#follow(this.#current);
      onPoint(this.#current);
    };
    this.#cells.tabIndex = 0;
    this.#cells.addEventListener("pointerover", (event) => onPoint(positionOf(event)));
    this.#cells.addEventListener("pointerleave", (event) => {
      // A finger that is lifted has pointed all the same.
      if (event.pointerType !== "touch") onPoint(null);
    });
    this.#cells.addEventListener("focus", () => {
      if (this.#cells.matches(":focus-visible")) point(this.#current);
    });
    this.#cells.addEventListener("blur", () => onPoint(null));
    this.#cells.addEventListener("keydown", (event) => {
      const at = this.#current;
      const to = { Home: 0, End: last, ArrowLeft: at - 1, ArrowRight: at + 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      point(to);
    });
  }

  /** Marks cells, and brings the first of them into sight. */
  mark(marks: ReadonlyMap<number, Mark>, follow?: number): void {
    this.#marks = marks;
    if (follow === undefined || !this.#follow(follow)) this.refresh();
  }

  /** Brings a cell into sight; false when it was. */
  #follow(position: number): boolean {
    if (position >= this.#start && position < this.#start + this.#size) return false;
    const line = this.#size / 4;
    this.#window(Math.floor(position / line) * line - line);
    return true;
  }

  #window(start: number): void {
    const { length, value } = this.#options;
    // Cells that are wide once stay wide: the strip does not change its shape while it is walked.
    const isLong = (p: number) => p > 999_999 || (value(p)?.length ?? 0) > ROOM;
    const near = Array.from({ length: Math.min(WINDOW, length) }, (_, k) => Math.max(0, start) + k);
    const wide = this.#room === WIDE_ROOM || near.some((p) => p < length && isLong(p)) || length > 1_000_000;
    this.#room = wide ? WIDE_ROOM : ROOM;
    this.#size = (this.#options.window ?? WINDOW) / (wide ? 2 : 1);
    this.#start = Math.max(0, Math.min(start, length - this.#size));
    const end = Math.min(length, this.#start + this.#size);
    const cells: HTMLElement[] = [];
    for (let p = this.#start; p < end; p++) {
      cells.push(h("li", { "data-p": p }, h("span", { class: "p" }, String(p)), h("span", { class: "v" })));
    }
    this.#cells.classList.toggle("wide", wide);
    this.#cells.replaceChildren(...cells);
    this.#where.textContent = `cells ${count(this.#start)} to ${count(end - 1)} of ${count(length)}`;
    this.refresh();
  }

  /** Values and marks anew. */
  refresh(): void {
    const { value, inView, isHidden } = this.#options;
    const [small, tiny] = this.#room === ROOM ? [4, 6] : [9, 13];
    for (const cell of this.#cells.children as HTMLCollectionOf<HTMLElement>) {
      const p = Number(cell.dataset.p);
      const full = isHidden?.(p) ? null : value(p);
      const text = full === null ? "·" : brief(full, this.#room);
      cell.className = [inView(p) ? "in" : "", this.#marks.get(p) ?? ""].join(" ").trim();
      const shown = cell.lastElementChild as HTMLElement;
      if (shown.textContent === text && cell.title !== "") continue;
      shown.textContent = text;
      cell.title = full === null ? `cell ${p}` : `cell ${p}: ${full}`;
      if (text === full) shown.removeAttribute("aria-label");
      else shown.setAttribute("aria-label", full ?? "not known");
      shown.classList.toggle("small", text.length > small);
      shown.classList.toggle("tiny", text.length > tiny);
    }
  }
}

function positionOf(event: Event): number | null {
  const cell = (event.target as Element).closest<HTMLElement>("[data-p]");
  return cell === null ? null : Number(cell.dataset.p);
}

/** A number short enough for a cell; one that had to be rounded has ≈ before it. */
export function brief(text: string, room = ROOM): string {
  if (text.length <= room) return text;
  const number = Number(text);
  if (!Number.isFinite(number)) return text;
  for (let digits = room - 2; digits > 0; digits--) {
    const short = String(Number(number.toPrecision(digits)));
    if (short.length < room) return `≈${short}`;
    const power = number.toExponential(digits - 1).replace("e+", "e");
    if (power.length < room) return `≈${power}`;
  }
  return `≈${number.toExponential(0).replace("e+", "e")}`;
}
