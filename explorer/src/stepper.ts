/**
 * Steps through a kernel's iteration: ordinal → index → positions → read → write, the table growing row by row. A fold
 * reads once for each step of its walk, a matrix product one pair for each k.
 */
import type { KernelStep } from "strided";
import type { Access, Iteration, IterationOperand, IterationRow } from "../../src/explain/iteration.ts";
import { tableStyle } from "../../src/explain/table.ts";
import { rowMajorStrides, unravel } from "../../src/view/layout.ts";
import { count, fill, h, list, table } from "./dom.ts";
import { Grid } from "./grid.ts";
import { Player } from "./player.ts";
import { accumulate, agrees, foldOf } from "./running.ts";
import { type Mark, Strip } from "./strip.ts";

/** Rows of the table kept in the page. */
const MOST_ROWS = 200;
/** Kernels with more rows than this show all values at once: who writes a cell is not searched for. */
const MOST_SEARCHED = 1 << 16;
/** Steps of a walk that are looked up at a time. */
const MOST_STEPS = 64;
/** A longer walk leaves out its middle: so many steps at its start are gone through, so many at its end. */
const LONG = 96;
const [HEAD, TAIL] = [32, 8];
/** A longer walk shows no value so far: it would be added up anew at each step. */
const MOST_ADDED = 256;

const stageNames = ["ordinal", "index", "positions", "read", "write"] as const;
type StageName = (typeof stageNames)[number];

export class Stepper {
  readonly element: HTMLElement;
  readonly #it: Iteration;
  /** Steps of a row's walk, and reads in each of them. */
  readonly #steps: number;
  readonly #perStep: number;
  readonly #walks: boolean;
  readonly #fold: ReturnType<typeof foldOf>;
  readonly #strips: Strip[];
  readonly #grids: Grid[];
  readonly #stages: Record<StageName, HTMLElement>;
  readonly #pipelineElement: HTMLElement;
  readonly #stageItems = new Map<StageName, HTMLElement>();
  readonly #rows = h("tbody");
  readonly #scroller: HTMLElement;
  readonly #player: Player;
  readonly #go: HTMLInputElement;
  readonly #style: ReturnType<typeof tableStyle>;
  /** The row that writes each position of the output. */
  readonly #writer = new Map<number, number>();
  #ordinal = 0;
  #stage = 0;
  #tallest = 0;

  constructor(it: Iteration, step: KernelStep, first: number, nameOf: (operand: IterationOperand) => string) {
    this.#it = it;
    this.#style = tableStyle(it);
    this.#walks = it.form === "reduce" || it.form === "matmul";
    this.#perStep = it.form === "matmul" ? 2 : Math.max(1, it.operands.length - 1);
    this.#steps = this.#walks ? Math.floor(it.readsPerRow / this.#perStep) : 1;
    this.#fold = it.form === "matmul" ? "sum" : this.#perStep === 1 ? foldOf(step) : null;
    for (let i = 0; i < Math.min(it.count, MOST_SEARCHED); i++) this.#writer.set(it.row(i, 0).position, i);
    this.#strips = it.operands.map((o, k) => this.#strip(o, k));
    this.#grids = it.form === "matmul" ? it.operands.map((o) => matrixGrid(o)) : [];
    this.#stages = Object.fromEntries(stageNames.map((n) => [n, h("div", { class: "stage-text" })])) as never;
    this.#pipelineElement = this.#makePipeline();
    const last = Math.max(0, it.count - 1);
    this.#go = h("input", {
      id: "go-to",
      type: "number",
      min: 0,
      max: last,
      value: 0,
      onchange: () => this.goTo(Number(this.#go.value)),
    });
    const digits = String(last).length;
    this.#go.style.width = `calc(${Math.max(3, digits)}ch + 3.2rem)`;
    this.#pipelineElement.style.setProperty("--digits", String(digits));
    this.#player = this.#makePlayer(last);
    this.#scroller = table("Iteration table", this.#style.head, [], this.#rows);
    this.element = this.#player.frame(
      it.count === 0 &&
        h("p", { class: "note" }, "There are no rows: the output has no elements, so nothing was read."),
      this.#pipelineElement,
      this.#triple(),
      h(
        "div",
        {
          class: `stepper-body${this.#style.head.length > 7 ? " wide" : ""}${it.form === "matmul" ? " last" : ""}`,
        },
        this.#operands(nameOf),
        this.#scroller,
      ),
    );
    if (it.count === 0) {
      this.#pipelineElement.hidden = true;
      for (const control of this.element.querySelectorAll<HTMLButtonElement>(".bar button, .bar input"))
        control.disabled = true;
    }
    this.goTo(first);
    this.#player.refresh();
  }

  #strip(o: IterationOperand, k: number): Strip {
    const inView = positionsOf(o);
    return new Strip({
      label: `Memory of ${o.name}`,
      length: o.length,
      window: 32,
      value: (p) => o.at(p),
      isHidden: (p) => {
        const writer = k === 0 ? this.#writer.get(p) : undefined;
        return writer !== undefined && !this.#isDone(writer);
      },
      inView: (p) => inView.has(p),
    });
  }

  #isDone(ordinal: number): boolean {
    return ordinal < this.#ordinal || (ordinal === this.#ordinal && this.#stage >= this.#lastStage);
  }
  get #lastStage(): number {
    return 3 + this.#steps;
  }

  #makePlayer(last: number): Player {
    const rows = h("span", { class: "of" }, this.#it.count === 0 ? "of none" : `of 0…${count(last)}`);
    const field = h("span", { class: "field" }, h("label", { for: "go-to" }, "Row"), this.#go, rows);
    const film = {
      row: "row",
      step: (by: 1 | -1) => this.#step(by),
      advance: (isCalm: boolean) => this.#advance(isCalm),
      toStart: (whole: boolean) => this.#set(0, whole ? this.#lastStage : 0),
      toEnd: () => this.#set(this.#it.count - 1, this.#lastStage),
      isAtEnd: () => this.#ordinal >= this.#it.count - 1 && this.#stage >= this.#lastStage,
      // Who listens to the page hears single steps, not a film.
      onPlay: (isPlaying: boolean) =>
        this.#pipelineElement.setAttribute("aria-live", isPlaying ? "off" : "polite"),
    };
    return new Player(film, field);
  }

  #makePipeline(): HTMLElement {
    const titles: Record<StageName, string> = {
      ordinal: "ordinal",
      index: "index",
      positions: this.#walks ? "base" : "positions",
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

  /** The matrices of a product, side by side. */
  #triple(): HTMLElement | null {
    if (this.#grids.length === 0) return null;
    return h(
      "div",
      { class: "triple" },
      ...[1, 2, 0].map((k, n) =>
        h(
          "div",
          { class: "factor" },
          n > 0 && h("span", { class: "sign", "aria-hidden": "true" }, n === 1 ? "·" : "="),
          h("div", {}, h("h3", {}, this.#it.operands[k].name), this.#grids[k].element),
        ),
      ),
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
    return h(
      "div",
      { class: "operands" },
      ...[...inputs, 0].map(row),
      h(
        "p",
        { class: "legend" },
        ...[
          ["read", "read now"],
          ...(this.#walks ? [["walk", "read in this row"]] : []),
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
    this.#player.halt(() =>
      this.#set(Math.max(0, Math.min(last, Math.floor(ordinal) || 0)), this.#lastStage),
    );
  }

  get isPlaying(): boolean {
    return this.#player.isPlaying;
  }

  stop(): void {
    this.#player.stop();
  }

  /** Who asked for less motion sees whole rows. */
  #advance(isCalm: boolean): boolean {
    if (!isCalm) return this.#step(1);
    if (this.#ordinal + 1 >= this.#it.count) return false;
    this.#set(this.#ordinal + 1, this.#lastStage);
    return true;
  }

  /** False when there is nowhere to go. */
  #step(by: 1 | -1): boolean {
    if (this.#it.count === 0) return false;
    const stage = this.#past(this.#stage + by, by);
    if (stage >= 0 && stage <= this.#lastStage) this.#set(this.#ordinal, stage);
    else if (this.#ordinal + by >= 0 && this.#ordinal + by < this.#it.count)
      this.#set(this.#ordinal + by, by > 0 ? 0 : this.#lastStage);
    else return false;
    return true;
  }

  /** The middle of a long walk is left out. */
  #past(stage: number, by: 1 | -1): number {
    const k = stage - 3;
    if (this.#steps <= LONG || k < HEAD || k >= this.#steps - TAIL) return stage;
    return by > 0 ? 3 + this.#steps - TAIL : 3 + HEAD - 1;
  }

  #set(ordinal: number, stage: number): void {
    if (this.#it.count === 0) return;
    this.#ordinal = ordinal;
    this.#stage = stage;
    this.#go.value = String(ordinal);
    const row = this.#it.row(ordinal, MOST_STEPS * this.#perStep);
    const walk = this.#happened(row);
    this.#drawPipeline(row, walk);
    this.#drawStrips(row, walk);
    this.#drawGrids(row, walk);
    this.#drawTable();
    this.#keepHeight();
  }

  /** The pipeline never shrinks, so that what is below it stays where it is. */
  #keepHeight(): void {
    this.#tallest = Math.max(this.#tallest, this.#pipelineElement.offsetHeight);
    this.#pipelineElement.style.minHeight = `${this.#tallest}px`;
  }

  /** The last reads that have happened in this row, and those of this very step. */
  #happened(row: IterationRow): Happened {
    const k = this.#stage - 3;
    if (k < 0) return { past: [], now: [] };
    if (!this.#walks) return { past: [], now: row.reads };
    const per = this.#perStep;
    const from = Math.max(0, k - MOST_STEPS + 1);
    const most = (Math.min(k + 1, this.#steps) - from) * per;
    const { reads } = from === 0 ? row : this.#it.row(row.ordinal, { from: from * per, most });
    return { past: reads.slice(0, (k - from) * per), now: reads.slice((k - from) * per, most) };
  }

  /** What the walk has come to, if that is known: added up in the output's dtype. */
  #soFar(row: IterationRow): string | null {
    const k = Math.min(this.#stage - 2, this.#steps);
    if (this.#fold === null || k <= 0) return null;
    if (k === this.#steps && this.#stage >= this.#lastStage) return row.written;
    if (this.#steps > MOST_ADDED) return null;
    const [{ dtype }] = this.#it.operands;
    const { reads } = this.#it.row(row.ordinal, this.#steps * this.#perStep);
    const terms = groups(reads, this.#perStep).map((step) => step.map((r) => r.value));
    const all = accumulate(this.#fold, dtype, terms);
    if (all === null || !agrees(all, row.written)) return null;
    return accumulate(this.#fold, dtype, terms.slice(0, k));
  }

  #drawPipeline(row: IterationRow, walk: Happened): void {
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
    fill(this.#stages.read, ...this.#readLines(row, walk));
    fill(this.#stages.write, big(row.written), small(`out[${row.position}]`));
  }

  #positionLines(row: IterationRow): HTMLElement[] {
    const { operands } = this.#it;
    const lines: HTMLElement[] = [];
    if (this.#walks) {
      row.bases.forEach((base, k) => {
        const first = row.reads[k];
        const how = first === undefined ? "" : sumOf(operands[k + 1], first.index);
        lines.push(line(operands[k + 1].name, how, base));
      });
    } else {
      for (const { operand, index, position } of row.reads)
        lines.push(line(operands[operand].name, sumOf(operands[operand], index), position));
    }
    lines.push(line("out", sumOf(operands[0], row.index), row.position));
    return lines;
  }

  #readLines(row: IterationRow, { past, now }: Happened): HTMLElement[] {
    const { form, operands } = this.#it;
    if (!this.#walks) {
      return row.reads.map(({ operand, position, value }) => {
        const { name, itemBytes } = operands[operand];
        return line(name, `[${position}]`, value, `byte ${position * itemBytes}`);
      });
    }
    const between = form === "matmul" ? "·" : ", ";
    const texts = groups([...past, ...now], this.#perStep).map((step) =>
      step.map((r) => r.value).join(between),
    );
    const k = this.#stage - 3;
    const at = form === "matmul" ? `k = ${k}: ` : this.#perStep > 1 ? `${k}: ` : "";
    const head = now.length > 0 ? `${at}${texts.at(-1)}` : texts.length > 0 ? "done" : "…";
    const soFar = this.#soFar(row);
    const walked =
      texts.length === 0 ? "" : walkText(texts, form === "matmul" ? " + " : this.#perStep > 1 ? "; " : " ");
    const total =
      soFar === null ? "" : form === "matmul" ? ` = ${soFar}` : ` → ${names[this.#fold!]} ${soFar}`;
    return [big(head), h("span", { class: "small walked" }, walked, h("b", {}, total))];
  }

  #drawStrips(row: IterationRow, { past, now }: Happened): void {
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
        const first = row.reads.find((r) => r.operand === k);
        const latest = [...past, ...now].filter((r) => r.operand === k).at(-1) ?? first;
        // A short walk is seen whole, from its first read on.
        follow = (this.#steps > MOST_STEPS / 2 ? latest : (now.find((r) => r.operand === k) ?? first))
          ?.position;
        if (this.#stage === 2 && first !== undefined) marks.set(first.position, "walk");
      }
      strip.mark(marks, follow);
    });
  }

  #drawGrids(row: IterationRow, { past, now }: Happened): void {
    if (this.#grids.length === 0) return;
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
      this.#grids[0].setText(position.index, this.#isDone(i) ? (out.at(position.position) ?? "·") : "·");
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

interface Happened {
  readonly past: readonly Access[];
  readonly now: readonly Access[];
}

const names = { sum: "sum", product: "product", largest: "largest", smallest: "smallest" } as const;

/** The reads of each step. */
const groups = (reads: readonly Access[], per: number): Access[][] =>
  Array.from({ length: Math.floor(reads.length / per) }, (_, k) => reads.slice(k * per, (k + 1) * per));

function walkText(values: readonly string[], between: string): string {
  return values.length <= 4 ? values.join(between) : ["…", ...values.slice(-3)].join(between);
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
    value: (index) => o.at(index.reduce((p, n, d) => p + n * o.strides[d], o.offset)) ?? "·",
  });
}
