/** Memory as a strip of cells, position above value. Long memory shows a window that follows what matters. */
import { count, h, iconButton } from "./dom.ts";

export interface StripOptions {
  readonly label: string;
  /** Cells in all. */
  readonly length: number;
  /** The text of a cell; null where it is not known. */
  readonly value: (position: number) => string | null;
  /** Does the view have this cell? */
  readonly inView: (position: number) => boolean;
  /** A cell is pointed at; null when no longer. */
  readonly onPoint?: (position: number | null) => void;
}

export type Mark = "focus" | "read" | "write" | "done" | "walk";

const WINDOW = 64;

export class Strip {
  readonly element: HTMLElement;
  readonly #options: StripOptions;
  readonly #cells = h("ol", { class: "cells" });
  readonly #where = h("span", { class: "where" });
  #start = -1;
  #marks: ReadonlyMap<number, Mark> = new Map();

  constructor(options: StripOptions) {
    this.#options = options;
    this.#cells.setAttribute("aria-label", options.label);
    const { onPoint } = options;
    if (onPoint !== undefined) {
      this.#cells.addEventListener("pointerover", (event) => onPoint(positionOf(event)));
      this.#cells.addEventListener("pointerleave", (event) => {
        // A finger that is lifted has pointed all the same.
        if (event.pointerType !== "touch") onPoint(null);
      });
    }
    const long = options.length > WINDOW;
    const turn = (by: number) => this.#window(this.#start + by);
    this.element = h(
      "div",
      { class: "strip" },
      this.#cells,
      long &&
        h(
          "div",
          { class: "strip-nav" },
          iconButton("left", "Earlier cells", () => turn(-WINDOW)),
          this.#where,
          iconButton("right", "Later cells", () => turn(WINDOW)),
        ),
    );
    this.#window(0);
  }

  /** Marks cells, and brings the first of them into sight. */
  mark(marks: ReadonlyMap<number, Mark>, follow?: number): void {
    this.#marks = marks;
    if (follow !== undefined && (follow < this.#start || follow >= this.#start + WINDOW))
      this.#window(Math.floor(follow / 16) * 16 - 16);
    else this.refresh();
  }

  #window(start: number): void {
    const { length } = this.#options;
    this.#start = Math.max(0, Math.min(start, length - WINDOW));
    const end = Math.min(length, this.#start + WINDOW);
    const cells: HTMLElement[] = [];
    for (let p = this.#start; p < end; p++) {
      cells.push(h("li", { "data-p": p }, h("span", { class: "p" }, String(p)), h("span", { class: "v" })));
    }
    this.#cells.replaceChildren(...cells);
    this.#where.textContent = `cells ${count(this.#start)} to ${count(end - 1)} of ${count(length)}`;
    this.refresh();
  }

  /** Values and marks anew. */
  refresh(): void {
    const { value, inView } = this.#options;
    for (const cell of this.#cells.children as HTMLCollectionOf<HTMLElement>) {
      const p = Number(cell.dataset.p);
      const text = value(p);
      cell.className = [inView(p) ? "in" : "", this.#marks.get(p) ?? ""].join(" ").trim();
      const shown = cell.lastElementChild as HTMLElement;
      shown.textContent = text ?? "·";
      shown.classList.toggle("small", (text?.length ?? 0) > 4);
      shown.classList.toggle("tiny", (text?.length ?? 0) > 6);
    }
  }
}

function positionOf(event: Event): number | null {
  const cell = (event.target as Element).closest<HTMLElement>("[data-p]");
  return cell === null ? null : Number(cell.dataset.p);
}

/** A number short enough for a cell. */
export function brief(text: string): string {
  if (text.length <= 6) return text;
  const number = Number(text);
  if (!Number.isFinite(number)) return text;
  const short = String(Number(number.toPrecision(4)));
  return short.length <= 7 ? short : number.toExponential(1);
}
