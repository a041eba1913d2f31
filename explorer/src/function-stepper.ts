/** Steps through a call of an njit function, line by line: the source, its variables, and what it does to its arrays. */
import type { NjitTrace, NjitTraceRow } from "strided";
import { count, fill, h, list } from "./dom.ts";
import { Grid } from "./grid.ts";
import { highlight } from "./highlight.ts";
import { Player } from "./player.ts";
import { type Mark, Strip } from "./strip.ts";

type Scalar = number | bigint | boolean;

/** A write, and what was there before it. */
interface Write {
  readonly array: number;
  readonly index: readonly number[];
  readonly value: Scalar;
  readonly before: Scalar;
}

export class FunctionStepper {
  readonly element: HTMLElement;
  readonly #trace: NjitTrace;
  readonly #player: Player;
  readonly #go: HTMLInputElement;
  readonly #source = h("pre", { class: "block lines", tabindex: 0, "aria-label": "The function" });
  readonly #variables = h("tbody");
  readonly #said = h("p", { class: "formula said", "aria-live": "polite" });
  /** What the arrays hold after the row that is shown. */
  readonly #values: Scalar[][];
  /** A vector as a strip, everything else as matrices. */
  readonly #pictures: (Grid | Strip)[];
  /** By row. */
  readonly #writes: readonly (readonly Write[])[];
  #at = 0;
  #drawn = -1;

  constructor(trace: NjitTrace) {
    this.#trace = trace;
    this.#writes = writesOf(trace);
    this.#values = trace.arrays.map((a) => [...a.values]);
    this.#pictures = trace.arrays.map(({ name, shape }, k) => {
      const label = `${name}, shape ${list(shape)}`;
      const at = (p: number) => textOf(this.#values[k][p]);
      return shape.length === 1
        ? new Strip({ label, length: shape[0], window: 32, value: at, inView: () => true })
        : new Grid({ label, shape, value: (index) => at(flat(index, shape)) });
    });
    const last = Math.max(0, trace.rows.length - 1);
    this.#go = h("input", {
      id: "go-to",
      type: "number",
      min: 0,
      max: last,
      value: 0,
      onchange: () => this.#player.halt(() => this.#set(Math.floor(Number(this.#go.value)) || 0)),
    });
    this.#go.style.width = `calc(${Math.max(3, String(last).length)}ch + 3.2rem)`;
    const rows = h("span", { class: "of" }, trace.rows.length === 0 ? "of none" : `of 0…${count(last)}`);
    const film = {
      row: "line",
      step: (by: 1 | -1) => this.#step(by),
      advance: () => this.#step(1),
      toStart: () => this.#set(0),
      toEnd: () => this.#set(last),
      isAtEnd: () => this.#at >= last,
      onPlay: (isPlaying: boolean) => this.#said.setAttribute("aria-live", isPlaying ? "off" : "polite"),
    };
    this.#player = new Player(
      film,
      h("span", { class: "field" }, h("label", { for: "go-to" }, "Step"), this.#go, rows),
    );
    this.element = this.#player.frame(
      !trace.isWhole && h("p", { class: "note" }, `The first ${count(trace.rows.length)} steps are shown.`),
      trace.error !== null && h("p", { class: "notice" }, trace.error),
      this.#said,
      h(
        "div",
        { class: "function-body" },
        this.#source,
        h(
          "div",
          { class: "table", tabindex: 0, role: "region", "aria-label": "Variables" },
          h(
            "table",
            {},
            h(
              "thead",
              {},
              h("tr", {}, h("th", { scope: "col" }, "variable"), h("th", { scope: "col" }, "value")),
            ),
            this.#variables,
          ),
        ),
      ),
      h(
        "div",
        { class: "triple arrays" },
        ...trace.arrays.map(({ name, dtype, shape }, i) =>
          h("div", {}, h("h3", {}, `${name} ${dtype} ${list(shape)}`), this.#pictures[i].element),
        ),
      ),
      h(
        "p",
        { class: "legend" },
        ...[
          ["read", "read in this step"],
          ["write", "written in this step"],
        ].flatMap(([key, text]) => [h("span", { class: `key ${key}` }), text]),
      ),
    );
    this.#set(0);
    this.#player.stop();
  }

  get isPlaying(): boolean {
    return this.#player.isPlaying;
  }

  stop(): void {
    this.#player.stop();
  }

  /** Once the element is in the page: the line at work is in sight. */
  reveal(): void {
    const now = this.#source.querySelector<HTMLElement>(".now");
    if (now === null) return;
    const { offsetTop, offsetHeight } = now;
    const { scrollTop, clientHeight } = this.#source;
    if (offsetTop < scrollTop || offsetTop + offsetHeight > scrollTop + clientHeight)
      this.#source.scrollTop = offsetTop - clientHeight / 3;
  }

  #step(by: 1 | -1): boolean {
    const to = this.#at + by;
    if (to < 0 || to >= this.#trace.rows.length) return false;
    this.#set(to);
    return true;
  }

  #set(to: number): void {
    const { rows } = this.#trace;
    if (rows.length === 0) return;
    this.#at = Math.max(0, Math.min(rows.length - 1, to));
    this.#go.value = String(this.#at);
    const row = rows[this.#at];
    this.#drawArrays(row);
    this.#drawSource(row);
    this.#drawVariables(row);
    this.#said.textContent = sentence(row, this.#trace);
    this.reveal();
  }

  /** Writes on the way are done, or undone, in order. */
  #drawArrays(row: NjitTraceRow): void {
    for (; this.#drawn < this.#at; this.#drawn++) {
      for (const { array, index, value } of this.#writes[this.#drawn + 1]) this.#put(array, index, value);
    }
    for (; this.#drawn > this.#at; this.#drawn--) {
      for (const { array, index, before } of this.#writes[this.#drawn].toReversed())
        this.#put(array, index, before);
    }
    this.#pictures.forEach((picture, k) => {
      const of = (isWrite: boolean) =>
        row.accesses.filter((a) => a.array === k && a.isWrite === isWrite).map((a) => a.index);
      const [read, written] = [of(false), of(true)];
      if (picture instanceof Grid) {
        picture.mark("read", read);
        picture.mark("write", written);
      } else {
        const cells = (indices: readonly (readonly number[])[], mark: Mark) =>
          indices.map(([p]) => [p, mark] as const);
        const marks = new Map([...cells(read, "read"), ...cells(written, "write")]);
        picture.mark(marks, marks.keys().next().value);
      }
    });
  }

  #put(array: number, index: readonly number[], value: Scalar): void {
    const picture = this.#pictures[array];
    this.#values[array][flat(index, this.#trace.arrays[array].shape)] = value;
    if (picture instanceof Grid) picture.setText(index, textOf(value));
  }

  #drawSource({ source, line }: NjitTraceRow): void {
    const lines = highlight(source, "js").split("\n");
    this.#source.innerHTML = lines
      .map((text, i) => `<span class="line${i + 1 === line ? " now" : ""}">${text || " "}</span>`)
      .join("");
  }

  /** The last value of each variable so far; those set in this step stand out. */
  #drawVariables(row: NjitTraceRow): void {
    const values = new Map<string, Scalar>(this.#trace.scalars);
    for (let i = 0; i <= this.#at; i++)
      for (const [name, value] of this.#trace.rows[i].sets) values.set(name, value);
    const now = new Set(row.sets.map(([name]) => name));
    fill(
      this.#variables,
      ...[...values].map(([name, value]) =>
        h("tr", { class: now.has(name) ? "now" : "" }, h("td", {}, name), h("td", {}, textOf(value))),
      ),
    );
  }
}

const textOf = (value: Scalar): string => (typeof value === "bigint" ? `${value}n` : String(value));
const flat = (index: readonly number[], shape: readonly number[]) =>
  index.reduce((sum, i, d) => sum * shape[d] + i, 0);

function writesOf({ arrays, rows }: NjitTrace): Write[][] {
  const values = arrays.map((a) => [...a.values]);
  return rows.map(({ accesses }) =>
    accesses.flatMap(({ array, index, value, isWrite }): Write[] => {
      if (!isWrite) return [];
      const at = flat(index, arrays[array].shape);
      const before = values[array][at];
      values[array][at] = value;
      return [{ array, index, value, before }];
    }),
  );
}

/** "reads a[0, 1] = 2 and b[1, 0] = 3; acc = 8, p = 2". */
function sentence({ accesses, sets }: NjitTraceRow, { arrays }: NjitTrace): string {
  const told = (isWrite: boolean) =>
    accesses
      .filter((a) => a.isWrite === isWrite)
      .slice(0, 6)
      .map((a) => `${arrays[a.array].name}${list(a.index)} = ${textOf(a.value)}`);
  const [read, written] = [told(false), told(true)];
  const last = new Map(sets);
  return (
    [
      ...(read.length > 0 ? [`reads ${read.join(", ")}`] : []),
      ...(last.size > 0 ? [[...last].map(([name, value]) => `${name} = ${textOf(value)}`).join(", ")] : []),
      ...(written.length > 0 ? [`writes ${written.join(", ")}`] : []),
    ].join("; ") || "looks whether to go on"
  );
}
