/**
 * Steps through a kernel's iteration: ordinal → index → positions → read → write, the table growing row by row. A fold
 * reads once for each step of its walk, a matrix product one pair for each k.
 */
import type { Access, Iteration, IterationOperand, IterationRow } from "../../src/explain/iteration.ts";
import { tableStyle } from "../../src/explain/table.ts";
import { rowMajorStrides, unravel } from "../../src/view/layout.ts";
import { count, fill, h, icon, iconButton, list, table } from "./dom.ts";
import { Grid } from "./grid.ts";
import { brief, type Mark, Strip } from "./strip.ts";

/** Rows of the table kept in the page. */
const MOST_ROWS = 200;
/** Kernels with more rows than this show all values at once: who writes a cell is not searched for. */
const MOST_SEARCHED = 1 << 16;

const stageNames = ["ordinal", "index", "positions", "read", "write"] as const;
type StageName = (typeof stageNames)[number];

export class Stepper {
  readonly element: HTMLElement;
  readonly #it: Iteration;
  readonly #reads: number;
  readonly #strips: Strip[];
  readonly #grids: Grid[];
  readonly #stages: Record<StageName, HTMLElement>;
  readonly #pipelineElement: HTMLElement;
  readonly #stageItems = new Map<StageName, HTMLElement>();
  readonly #rows = h("tbody");
  readonly #scroller: HTMLElement;
  readonly #play: HTMLButtonElement;
  readonly #go: HTMLInputElement;
  readonly #speed: HTMLInputElement;
  readonly #style: ReturnType<typeof tableStyle>;
  /** The row that writes each position of the output. */
  readonly #writer = new Map<number, number>();
  #ordinal = 0;
  #stage = 0;
  #timer: number | undefined;

  constructor(it: Iteration, first: number, nameOf: (operand: IterationOperand) => string) {
    this.#it = it;
    this.#style = tableStyle(it);
    this.#reads = it.form === "reduce" ? it.readsPerRow : it.form === "matmul" ? it.readsPerRow >> 1 : 1;
    for (let i = 0; i < Math.min(it.count, MOST_SEARCHED); i++) this.#writer.set(it.row(i, 0).position, i);
    this.#strips = it.operands.map((o, k) => this.#strip(o, k));
    this.#grids = it.form === "matmul" ? it.operands.map((o) => matrixGrid(o)) : [];
    this.#stages = Object.fromEntries(stageNames.map((n) => [n, h("div", { class: "stage-text" })])) as never;
    this.#pipelineElement = this.#makePipeline();
    this.#play = h("button", { type: "button", class: "play", onclick: () => this.#toggle() });
    this.#speed = h("input", { id: "speed", type: "range", min: 0, max: 100, value: 45 });
    this.#go = h("input", {
      id: "go-to",
      type: "number",
      min: 0,
      max: Math.max(0, it.count - 1),
      value: 0,
      onchange: () => this.goTo(Number(this.#go.value)),
    });
    this.#scroller = table("Iteration table", this.#style.head, [], this.#rows);
    this.element = h(
      "div",
      { class: "stepper" },
      this.#bar(),
      this.#pipelineElement,
      h(
        "div",
        { class: this.#style.head.length > 7 ? "stepper-body wide" : "stepper-body" },
        this.#operands(nameOf),
        this.#scroller,
      ),
    );
    this.goTo(first);
  }

  #strip(o: IterationOperand, k: number): Strip {
    const inView = positionsOf(o);
    return new Strip({
      label: `Memory of ${o.name}`,
      length: o.length,
      value: (p) => {
        const writer = k === 0 ? this.#writer.get(p) : undefined;
        if (writer !== undefined && !this.#isDone(writer)) return null;
        const text = o.at(p);
        return text === null ? null : brief(text);
      },
      inView: (p) => inView.has(p),
    });
  }

  #isDone(ordinal: number): boolean {
    return ordinal < this.#ordinal || (ordinal === this.#ordinal && this.#stage >= this.#lastStage);
  }
  get #lastStage(): number {
    return 3 + this.#reads;
  }

  #bar(): HTMLElement {
    const last = this.#it.count - 1;
    return h(
      "div",
      { class: "bar" },
      iconButton("start", "Back to the first row", () => this.#halt(() => this.#set(0, 0))),
      iconButton("back", "One step back", () => this.#halt(() => this.#step(-1))),
      this.#play,
      iconButton("next", "One step on", () => this.#halt(() => this.#step(1))),
      iconButton("end", "To the last row", () => this.#halt(() => this.#set(last, this.#lastStage))),
      h(
        "span",
        { class: "field" },
        h("label", { for: "go-to" }, "Row"),
        this.#go,
        h("span", { class: "of" }, `of ${count(this.#it.count)}`),
      ),
      h("span", { class: "field" }, h("label", { for: "speed" }, "Speed"), this.#speed),
    );
  }

  #makePipeline(): HTMLElement {
    const titles: Record<StageName, string> = {
      ordinal: "ordinal",
      index: "index",
      positions: this.#it.form === "matmul" || this.#it.form === "reduce" ? "base" : "positions",
      read: this.#it.form === "matmul" ? "walk along k" : this.#it.form === "reduce" ? "walk" : "read",
      write: "write",
    };
    return h(
      "ol",
      { class: "pipeline", "aria-live": "polite" },
      ...stageNames.map((name) => {
        const item = h(
          "li",
          { "data-stage": name },
          h("span", { class: "stage-name" }, titles[name]),
          this.#stages[name],
        );
        this.#stageItems.set(name, item);
        return item;
      }),
    );
  }

  #operands(nameOf: (operand: IterationOperand) => string): HTMLElement {
    const row = (k: number) => {
      const o = this.#it.operands[k];
      const of = nameOf(o);
      return h(
        "div",
        { class: `operand ${k === 0 ? "output" : "input"}` },
        h(
          "p",
          { class: "operand-name" },
          h("b", { class: "operand-label" }, `${o.name} ${of}`.trim()),
          h(
            "span",
            {},
            `shape ${list(o.shape)}, strides ${list(o.strides)}${o.offset === 0 ? "" : `, offset ${o.offset}`}`,
          ),
        ),
        this.#strips[k].element,
      );
    };
    const inputs = this.#it.operands.map((_, k) => k).slice(1);
    const triple =
      this.#grids.length > 0 &&
      h(
        "div",
        { class: "triple" },
        ...[...inputs, 0].map((k, n) =>
          h(
            "div",
            { class: "factor" },
            n > 0 && h("span", { class: "sign", "aria-hidden": "true" }, n === 1 ? "·" : "="),
            h("div", {}, h("h3", {}, this.#it.operands[k].name), this.#grids[k].element),
          ),
        ),
      );
    return h(
      "div",
      { class: "operands" },
      triple,
      ...[...inputs, 0].map(row),
      h(
        "p",
        { class: "legend" },
        ...[
          ["read", "read now"],
          ...(this.#it.form === "reduce" || this.#it.form === "matmul" ? [["walk", "read in this row"]] : []),
          ["write", "written now"],
          ["in", "part of the view"],
        ].flatMap(([key, text]) => [h("span", { class: `key ${key}` }), text]),
      ),
    );
  }

  /** To be called once the element is in the page: before, nothing can be scrolled. */
  reveal(): void {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** A row, complete: what it reads and writes is all to be seen. */
  goTo(ordinal: number): void {
    const last = Math.max(0, this.#it.count - 1);
    this.#halt(() => this.#set(Math.max(0, Math.min(last, Math.floor(ordinal) || 0)), this.#lastStage));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #halt(then: () => void): void {
    this.stop();
    then();
    this.#drawPlay();
  }

  #toggle(): void {
    if (this.#timer !== undefined) this.#halt(() => {});
    else {
      const atEnd = this.#ordinal >= this.#it.count - 1 && this.#stage >= this.#lastStage;
      if (atEnd) this.#set(0, 0);
      else this.#step(1);
      this.#tick();
    }
  }

  #tick(): void {
    // From one step in 1.6 seconds to 60 in one, evenly on a scale of ratios.
    const delay = 1600 * (16 / 1600) ** (Number(this.#speed.value) / 100);
    this.#timer = window.setTimeout(() => {
      if (this.#step(1)) this.#tick();
      else this.#halt(() => {});
    }, delay);
    this.#drawPlay();
  }

  #drawPlay(): void {
    const playing = this.#timer !== undefined;
    // Who listens to the page hears single steps, not a film.
    this.#pipelineElement.setAttribute("aria-live", playing ? "off" : "polite");
    fill(this.#play, icon(playing ? "pause" : "play"), playing ? "Pause" : "Play");
  }

  /** False when there is nowhere to go. */
  #step(by: 1 | -1): boolean {
    const stage = this.#stage + by;
    if (stage >= 0 && stage <= this.#lastStage) this.#set(this.#ordinal, stage);
    else if (this.#ordinal + by >= 0 && this.#ordinal + by < this.#it.count)
      this.#set(this.#ordinal + by, by > 0 ? 0 : this.#lastStage);
    else return false;
    return true;
  }

  #set(ordinal: number, stage: number): void {
    if (this.#it.count === 0) return;
    this.#ordinal = ordinal;
    this.#stage = stage;
    this.#go.value = String(ordinal);
    const row = this.#it.row(ordinal);
    this.#drawPipeline(row);
    this.#drawStrips(row);
    this.#drawGrids(row);
    this.#drawTable();
  }

  /** The reads that have happened in this row, and those of this very step. */
  #happened(row: IterationRow): { past: readonly Access[]; now: readonly Access[] } {
    const k = this.#stage - 3;
    if (k < 0) return { past: [], now: [] };
    if (this.#reads === 1 && this.#it.form !== "reduce" && this.#it.form !== "matmul")
      return { past: [], now: row.reads };
    const per = this.#it.form === "matmul" ? 2 : 1;
    if (k >= this.#reads) return { past: row.reads, now: [] };
    return { past: row.reads.slice(0, k * per), now: row.reads.slice(k * per, (k + 1) * per) };
  }

  #drawPipeline(row: IterationRow): void {
    const { shape } = this.#it.operands[0];
    const active: StageName = this.#stage >= this.#lastStage ? "write" : stageNames[Math.min(this.#stage, 3)];
    const at = stageNames.indexOf(active);
    stageNames.forEach((name, k) => {
      const item = this.#stageItems.get(name)!;
      item.classList.toggle("active", name === active);
      item.classList.toggle("future", k > at);
    });
    fill(this.#stages.ordinal, big(String(row.ordinal)));
    const units = rowMajorStrides(shape);
    const radix =
      shape.length > 1
        ? `${row.ordinal} = ${row.index.map((i, d) => (units[d] === 1 ? i : `${i}·${units[d]}`)).join(" + ")}`
        : "";
    fill(this.#stages.index, big(list(row.index)), small(radix));
    fill(this.#stages.positions, ...this.#positionLines(row));
    fill(this.#stages.read, ...this.#readLines(row));
    fill(this.#stages.write, big(row.written), small(`out[${row.position}]`));
  }

  #positionLines(row: IterationRow): HTMLElement[] {
    const { operands, form } = this.#it;
    const walks = form === "reduce" || form === "matmul";
    const lines: HTMLElement[] = [];
    if (walks) {
      row.bases.forEach((base, k) => {
        const first = row.reads[form === "matmul" ? k : 0];
        lines.push(
          line(operands[k + 1].name, first === undefined ? "" : sumOf(operands[k + 1], first.index), base),
        );
      });
    } else {
      for (const { operand, index, position } of row.reads)
        lines.push(line(operands[operand].name, sumOf(operands[operand], index), position));
    }
    lines.push(line("out", sumOf(operands[0], row.index), row.position));
    return lines;
  }

  #readLines(row: IterationRow): HTMLElement[] {
    const { form, operands } = this.#it;
    if (form !== "reduce" && form !== "matmul") {
      return row.reads.map(({ operand, position, value }) => {
        const { name, itemBytes } = operands[operand];
        return line(name, `[${position}]`, value, `byte ${position * itemBytes}`);
      });
    }
    const { past, now } = this.#happened(row);
    const seen = [...past, ...now];
    if (form === "reduce") return [big(now[0]?.value ?? "done"), small(walkText(seen.map((r) => r.value)))];
    const products = pairs(seen).map(([a, b]) => `${a.value}·${b.value}`);
    const sum = pairs(seen).reduce((s, [a, b]) => s + Number(a.value) * Number(b.value), 0);
    const k = this.#stage - 3;
    const head = now.length > 0 ? `k = ${k}: ${products.at(-1)}` : products.length > 0 ? "done" : "…";
    return [big(head), small(products.length === 0 ? "" : `${walkText(products, " + ")} = ${sum}`)];
  }

  #drawStrips(row: IterationRow): void {
    const { past, now } = this.#happened(row);
    const writing = this.#stage >= this.#lastStage;
    this.#strips.forEach((strip, k) => {
      const marks = new Map<number, Mark>();
      let follow: number | undefined;
      if (k === 0) {
        follow = row.position;
        if (writing) marks.set(row.position, "write");
        else if (this.#stage >= 2) marks.set(row.position, "walk");
      } else {
        for (const r of past) if (r.operand === k) marks.set(r.position, "walk");
        for (const r of now) if (r.operand === k) marks.set(r.position, "read");
        const first = [...now, ...row.reads].find((r) => r.operand === k);
        follow = first?.position;
        if (this.#stage === 2 && first !== undefined) marks.set(first.position, "walk");
      }
      strip.mark(marks, follow);
    });
  }

  #drawGrids(row: IterationRow): void {
    if (this.#grids.length === 0) return;
    const { past, now } = this.#happened(row);
    const on = (reads: readonly Access[], k: number) =>
      reads.filter((r) => r.operand === k).map((r) => r.index);
    for (const k of [1, 2]) {
      this.#grids[k].mark("walk", this.#stage >= 2 ? on(row.reads, k) : []);
      this.#grids[k].mark("done", on(past, k));
      this.#grids[k].mark("read", on(now, k));
    }
    const [out] = this.#it.operands;
    this.#grids[0].mark("write", this.#stage >= this.#lastStage ? [row.index] : []);
    this.#grids[0].mark("walk", this.#stage >= 2 ? [row.index] : []);
    for (let i = 0; i < Math.min(this.#it.count, 256); i++) {
      const position = this.#it.row(i, 0);
      this.#grids[0].setText(position.index, this.#isDone(i) ? brief(out.at(position.position) ?? "·") : "·");
    }
  }

  /** Rows up to this one; the row at work is there once it has written. */
  #drawTable(): void {
    const end = this.#stage >= this.#lastStage ? this.#ordinal + 1 : this.#ordinal;
    const start = Math.max(0, end - MOST_ROWS);
    const have = this.#rows.children;
    const first = Number((have[0] as HTMLElement | undefined)?.dataset.ordinal ?? -1);
    if (first === start && have.length <= end - start) {
      for (let i = start + have.length; i < end; i++) this.#rows.append(this.#tableRow(i));
    } else if (first === start) while (have.length > end - start) have[have.length - 1].remove();
    else fill(this.#rows, ...Array.from({ length: end - start }, (_, i) => this.#tableRow(start + i)));
    for (const tr of have)
      tr.classList.toggle("now", Number((tr as HTMLElement).dataset.ordinal) === this.#ordinal);
    this.reveal();
  }

  #tableRow(ordinal: number): HTMLElement {
    const cells = this.#style.cells(this.#it.row(ordinal, this.#style.reads));
    return h("tr", { "data-ordinal": ordinal }, ...cells.map((text) => h("td", {}, text)));
  }
}

const big = (text: string) => h("span", { class: text.length > 8 ? "big long" : "big" }, text);
const small = (text: string) => h("span", { class: "small" }, text);
/** "a  1·4 + 0·2 = 4": what, how, and the outcome. */
const line = (name: string, how: string, value: string | number, more = "") =>
  h(
    "span",
    { class: "line" },
    h("i", {}, name),
    h("span", {}, small(`${how} = `), h("b", {}, String(value)), more !== "" && small(more)),
  );

/** offset + Σ index·stride, written out; without what is always 0. */
function sumOf(o: IterationOperand, index: readonly number[]): string {
  const terms = index.map((i, d) => `${i}·${o.strides[d]}`).filter((_, d) => o.shape[d] !== 1);
  return [...(o.offset === 0 && terms.length > 0 ? [] : [o.offset]), ...terms].join(" + ");
}

const pairs = (reads: readonly Access[]): [Access, Access][] =>
  Array.from({ length: reads.length >> 1 }, (_, k) => [reads[2 * k], reads[2 * k + 1]]);

function walkText(values: readonly string[], between = " "): string {
  return values.length <= 6 ? values.join(between) : ["…", ...values.slice(-5)].join(between);
}

/** Positions that belong to the view; of a large view all positions do, for what is shown. */
function positionsOf(o: IterationOperand): { has(p: number): boolean } {
  const size = o.shape.reduce((a, b) => a * b, 1);
  if (size > MOST_SEARCHED) return { has: () => true };
  const positions = new Set<number>();
  for (let i = 0; i < size; i++) {
    positions.add(unravel(i, o.shape).reduce((p, n, d) => p + n * o.strides[d], o.offset));
  }
  return positions;
}

function matrixGrid(o: IterationOperand): Grid {
  return new Grid({
    label: `${o.name}, shape ${list(o.shape)}`,
    shape: o.shape.map((n, d) => (o.strides[d] === 0 ? 1 : n)),
    value: (index) => brief(o.at(index.reduce((p, n, d) => p + n * o.strides[d], o.offset)) ?? "·"),
  });
}
