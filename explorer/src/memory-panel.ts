/** The memory panel: a tensor as it is indexed and as it lies, linked cell by cell, and controls that make other views. */
import { positionOf } from "../../src/view/layout.ts";
import { stridedOf, type Tensor } from "./core.ts";
import { bytes, count, fill, h, list } from "./dom.ts";
import { Grid } from "./grid.ts";
import type { Named } from "./run.ts";
import { Strip } from "./strip.ts";
import { type Shaped, ViewControls } from "./view-controls.ts";

/** Views with more elements than this are not searched for who reads a cell. */
const MOST_SEARCHED = 1 << 16;

/** One element as it is, a bigint too: `get` gives numbers only. */
function elementOf(t: Tensor, index: readonly number[]): number | bigint | boolean {
  const one = t.slice(...index);
  const value = one.toArray() as number | bigint | boolean;
  one.dispose();
  return value;
}

export class MemoryPanel {
  readonly #picker = h("div", { class: "tabs", role: "tablist", "aria-label": "Tensors of the program" });
  readonly #body = h("div", { class: "memory-body" });
  readonly #controls: ViewControls;
  readonly #expression = h("code", { class: "expression" });
  readonly #add: HTMLButtonElement;
  readonly #below: HTMLDetailsElement;
  #named: readonly Named[] = [];
  #current: Named | null = null;
  #shaped: Shaped | null = null;
  #link: Link | null = null;

  constructor(root: HTMLElement, onAdd: (code: string) => void) {
    this.#controls = new ViewControls((shaped) => this.#draw(shaped));
    this.#add = h(
      "button",
      { type: "button", onclick: () => onAdd(`${this.#current?.name ?? "t"}${this.#shaped?.calls ?? ""}`) },
      "Add to the code",
    );
    this.#below = h(
      "details",
      { class: "shape-it" },
      h("summary", {}, "Make another view: slice, permute, reshape, broadcast"),
      h(
        "p",
        { class: "note" },
        "Type, drag a range, or drag the axes. Only shape, strides and offset change.",
      ),
      this.#controls.element,
      h("p", { class: "made" }, this.#expression, this.#add),
    );
    root.append(
      h(
        "div",
        { class: "head" },
        h("h2", { id: "memory-title" }, "Memory"),
        h("p", {}, "Point at a cell, or walk with the arrow keys, to see where it lies."),
      ),
      this.#picker,
      h("div", { id: "memory-view", role: "tabpanel", "aria-label": "The tensor" }, this.#body, this.#below),
    );
  }

  clear(why: string): void {
    this.#named = [];
    this.#below.hidden = true;
    this.#link?.dispose();
    this.#link = null;
    fill(this.#picker);
    fill(this.#body, h("p", { class: "note" }, why));
  }

  /** `open` unfolds the controls; folded or not, they stay so. */
  show(tensors: readonly Named[], first?: string, open = false): void {
    if (tensors.length === 0) {
      this.clear("The program keeps no tensor: assign one to a constant.");
      return;
    }
    this.#named = tensors;
    this.#below.hidden = false;
    if (open) this.#below.open = true;
    this.#pick(tensors.find((t) => t.name === first) ?? tensors[tensors.length - 1]);
  }

  #pick(named: Named): void {
    this.#current = named;
    const hadFocus = this.#picker.contains(document.activeElement);
    const tabs = this.#named.map((t) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          "aria-selected": String(t === named),
          "aria-controls": "memory-view",
          tabindex: t === named ? 0 : -1,
          onclick: () => this.#pick(t),
          onkeydown: (event) => {
            const at = this.#named.indexOf(t);
            const keys = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: this.#named.length - 1 };
            const next = this.#named[keys[(event as KeyboardEvent).key as keyof typeof keys] ?? -1];
            if (next === undefined) return;
            event.preventDefault();
            this.#pick(next);
          },
        },
        t.name,
        h("small", {}, list(t.tensor.shape)),
      ),
    );
    fill(this.#picker, ...tabs);
    if (hadFocus) tabs.find((t) => t.getAttribute("aria-selected") === "true")?.focus();
    this.#controls.show(named.tensor);
  }

  #draw(shaped: Shaped): void {
    this.#shaped = shaped;
    const { tensor, calls, copied } = shaped;
    const name = this.#current?.name ?? "t";
    this.#expression.textContent = calls === "" ? "" : `${name}${calls}`;
    this.#add.hidden = calls === "" || /\s/.test(name);
    this.#link?.dispose();
    const link = new Link(`${/\s/.test(name) ? "it" : name}${calls === "" ? "" : "′"}`, tensor);
    this.#link = link;
    fill(
      this.#body,
      this.#facts(tensor),
      copied !== null &&
        h("p", { class: "notice" }, `This reshape is a copy, in memory of its own: ${copied}.`),
      link.element,
    );
  }

  #facts(t: Tensor): HTMLElement {
    const owner = this.#named.find((n) => stridedOf(n.tensor).storage === stridedOf(t).storage);
    const own = owner === undefined || owner.name === this.#current?.name ? null : owner.name;
    const kind = [
      t.isContiguous ? "contiguous" : "not contiguous",
      ...(own !== null ? [`same memory as ${own}`] : []),
      ...(t.readOnly ? ["read-only"] : []),
    ];
    const fact = (term: string, value: string) =>
      h("div", {}, h("dt", {}, term), h("dd", { "data-fact": term }, value));
    return h(
      "dl",
      { class: "facts" },
      fact("shape", list(t.shape)),
      fact("strides", list(t.strides)),
      fact("offset", String(t.offset)),
      fact("dtype", t.dtype),
      fact(
        "memory",
        `${count(Math.floor(stridedOf(t).storage.bytes / stridedOf(t).frame.itemBytes))} cells, ${bytes(stridedOf(t).storage.bytes)}`,
      ),
      fact("layout", kind.join(", ")),
    );
  }
}

/** Grid and strip of one view, each showing what the other points at, and the formula between them. */
class Link {
  readonly element: HTMLElement;
  readonly #tensor: Tensor;
  readonly #name: string;
  readonly #formula = h("p", { class: "formula", role: "status" });
  readonly #grid: Grid;
  readonly #strip: Strip | null;
  #memory: Tensor | null = null;
  #gone = false;
  /** Who reads a position: the ordinals of its indices, the first few. */
  readonly #readers = new Map<number, number[][]>();

  constructor(name: string, tensor: Tensor) {
    this.#tensor = tensor;
    this.#name = name;
    this.#findReaders();
    this.#grid = new Grid({
      label: `Elements by index, shape ${list(tensor.shape)}`,
      shape: tensor.shape,
      value: (index) => valueText(elementOf(tensor, index), tensor.dtype),
      onPoint: (index) => this.#point(index === null ? null : this.#position(index), index),
    });
    const { strides, offset } = tensor;
    const whole = [...strides, offset].every(Number.isInteger);
    this.#strip = whole ? this.#makeStrip() : null;
    this.element = h(
      "div",
      { class: "linked" },
      h("div", { class: "side" }, h("h3", {}, "As you index it"), this.#grid.element),
      h(
        "div",
        { class: "lie" },
        h("h3", {}, "As it lies in memory"),
        this.#strip?.element ??
          h(
            "p",
            { class: "note" },
            "Its elements do not fall on whole cells: strides or offset are odd numbers of bytes.",
          ),
      ),
      this.#formula,
    );
    this.#point(null, null);
  }

  #makeStrip(): Strip {
    const t = this.#tensor;
    const length = Math.floor(stridedOf(t).storage.bytes / stridedOf(t).frame.itemBytes);
    // The storage as it is, from its first cell on.
    const memory = t.asStrided([length], [1], -t.offset);
    this.#memory = memory;
    const strip = new Strip({
      label: `Memory, ${length} cells`,
      length,
      value: (p) => valueText(elementOf(memory, [p]), t.dtype),
      inView: (p) => this.#readers.has(p),
      onPoint: (p) => this.#point(p, p === null ? null : (this.#readers.get(p)?.[0] ?? null)),
    });
    strip.mark(new Map(), t.size > 0 ? t.offset : 0);
    return strip;
  }

  /** Lets go of the memory; this picture is about to be replaced. */
  dispose(): void {
    this.#gone = true;
    this.#memory?.dispose();
  }

  #position(index: readonly number[]): number {
    return positionOf(index, this.#tensor.strides, this.#tensor.offset);
  }

  #findReaders(): void {
    const { shape, size } = this.#tensor;
    const index = shape.map(() => 0);
    for (let i = 0; i < Math.min(size, MOST_SEARCHED); i++) {
      const p = this.#position(index);
      const known = this.#readers.get(p);
      if (known === undefined) this.#readers.set(p, [index.slice()]);
      else if (known.length < 64) known.push(index.slice());
      for (let d = shape.length - 1; d >= 0 && ++index[d] === shape[d]; d--) index[d] = 0;
    }
  }

  #point(position: number | null, index: readonly number[] | null): void {
    if (this.#gone) return;
    const t = this.#tensor;
    const readers = position === null ? [] : (this.#readers.get(position) ?? []);
    this.#grid.mark("linked-cell", readers);
    this.#grid.mark("focus", index === null ? [] : [index]);
    this.#strip?.mark(
      position === null ? new Map() : new Map([[position, "focus"]]),
      index === null ? undefined : (position ?? undefined),
    );
    if (position === null) {
      const law = ["offset", ...t.shape.map((_, d) => `${letters[d] ?? `i${d}`}·${t.strides[d]}`)].join(
        " + ",
      );
      const at = t.shape.map((_, d) => letters[d] ?? `i${d}`).join(", ");
      fill(
        this.#formula,
        h("code", {}, `${this.#name}[${at}]`),
        " lies at ",
        h("code", {}, law.replace("offset", String(t.offset))),
      );
      return;
    }
    if (index === null) {
      fill(
        this.#formula,
        `Cell ${position} (byte ${position * stridedOf(t).frame.itemBytes}) is not part of this view.`,
      );
      return;
    }
    const sum = [t.offset, ...index.map((i, d) => `${i}·${t.strides[d]}`)].join(" + ");
    const others = readers.length > 1 ? `, read by ${readers.length} indices` : "";
    fill(
      this.#formula,
      h("code", {}, `${this.#name}[${index.join(", ")}]`),
      " = ",
      h("b", {}, String(elementOf(t, index))),
      " lies at ",
      h("code", {}, sum),
      " = ",
      h("b", {}, String(position)),
      `, byte ${position * stridedOf(t).frame.itemBytes}${others}`,
    );
  }
}

/** Digits that tell any two numbers of a dtype apart. */
const digits: Readonly<Record<string, readonly number[]>> = { f32: [6, 7, 8, 9], f16: [5], bf16: [4] };

/** A value in full, without the digits that only f64 has: 0.1, not 0.10000000149011612. */
function valueText(value: number | bigint | boolean, dtype: string): string {
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "number" || Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  for (const n of digits[dtype] ?? []) {
    const text = Number(value.toPrecision(n));
    if (dtype !== "f32" || Math.fround(text) === value) return String(text);
  }
  return String(value);
}

const letters = ["i", "j", "k", "l", "m", "n"];
