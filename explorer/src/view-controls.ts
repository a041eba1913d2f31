/**
 * Slice, permute, reshape and broadcast a tensor by typing or dragging; the view is made anew at every change. The text
 * of a field is the truth; sliders and chips write into it.
 */
import { explain, type Tensor } from "./core.ts";
import { h, list } from "./dom.ts";

export interface Shaped {
  readonly tensor: Tensor;
  /** The calls that made it, as code; empty when nothing was asked. */
  readonly calls: string;
  /** What a reshape had to copy, in words. */
  readonly copied: string | null;
}

type StepName = "slice" | "permute" | "reshape" | "broadcastTo";
interface Step {
  readonly name: StepName;
  readonly label: string;
  readonly hint: string;
  /** The text as arguments. */
  parse(text: string): (string | number | null)[];
}

/** Numbers between commas; a comma at the end waits for the next one. */
function numbers(text: string): number[] {
  const parts = text.trim().replace(/,$/, "").split(",");
  const wrong = parts.find((part) => part.trim() === "" || Number.isNaN(Number(part)));
  if (wrong === undefined) return parts.map(Number);
  const what =
    wrong.trim() === "" ? "Between two commas a number is missing" : `"${wrong.trim()}" is no number`;
  throw new Error(`${what}.`);
}
/** The same, while they are being typed: nothing for what is no list of numbers. */
function numbersSoFar(text: string): number[] {
  try {
    return numbers(text);
  } catch {
    return [];
  }
}

const steps: readonly Step[] = [
  { name: "slice", label: "Slice", hint: ":, ::2", parse: sliceItems },
  { name: "permute", label: "Permute", hint: "1, 0", parse: numbers },
  { name: "reshape", label: "Reshape", hint: "4, -1", parse: numbers },
  { name: "broadcastTo", label: "Broadcast", hint: "3, 2, 4", parse: numbers },
];

function sliceItems(text: string): (string | number | null)[] {
  return text.split(",").map((part) => {
    const item = part.trim();
    if (/^[+-]?\d+$/.test(item)) return Number(item);
    return /^(null|none|newaxis)$/i.test(item) ? null : item;
  });
}

export class ViewControls {
  readonly element = h("div", { class: "controls" });
  readonly #onChange: (shaped: Shaped) => void;
  readonly #fields = new Map<StepName, { input: HTMLInputElement; error: HTMLElement }>();
  readonly #ranges = h("div", { class: "ranges" });
  readonly #more = h("p", { class: "note" });
  readonly #chips = h("div", { class: "chips", role: "group", "aria-label": "Order of the axes" });
  #base: Tensor | null = null;
  /** Views made here, let go of at the next change. */
  #made: Tensor[] = [];

  constructor(onChange: (shaped: Shaped) => void) {
    this.#onChange = onChange;
    for (const step of steps) {
      const id = `control-${step.name}`;
      const error = h("p", { class: "field-error", id: `${id}-error` });
      const input = h("input", {
        id,
        type: "text",
        placeholder: step.hint,
        spellcheck: "false",
        autocomplete: "off",
        autocapitalize: "off",
        "aria-describedby": error.id,
        oninput: () => this.#apply(step.name),
      });
      this.#fields.set(step.name, { input, error });
      const extras = {
        slice: [this.#ranges, this.#more],
        permute: [this.#chips],
        reshape: [],
        broadcastTo: [],
      }[step.name];
      this.element.append(
        h(
          "div",
          { class: `control ${step.name}` },
          h("label", { for: id }, step.label),
          input,
          error,
          ...extras,
        ),
      );
    }
  }

  /** Starts anew from a tensor. */
  show(base: Tensor): void {
    this.#letGo();
    this.#base = base;
    for (const { input } of this.#fields.values()) input.value = "";
    this.#apply(null);
  }

  #letGo(): void {
    for (const t of this.#made) if (!t.isDisposed) t.dispose();
    this.#made = [];
  }

  /** Makes the view of what the fields say. A field that cannot be followed says why, and is left out. */
  #apply(typing: StepName | null): void {
    const base = this.#base;
    if (base === null || base.isDisposed) return;
    this.#letGo();
    let tensor = base;
    let calls = "";
    let copied: string | null = null;
    for (const { name, parse } of steps) {
      const { input, error } = this.#fields.get(name)!;
      if (name === "slice") this.#drawRanges(base, typing === "slice" && document.activeElement === input);
      if (name === "permute") this.#drawChips(tensor);
      error.textContent = "";
      input.removeAttribute("aria-invalid");
      if (input.value.trim() === "") continue;
      try {
        const args = parse(input.value);
        const from = tensor;
        const report = explain(() => (from[name] as (...a: unknown[]) => Tensor)(...args));
        tensor = report.result;
        this.#made.push(tensor);
        calls += `.${name}(${args.map((a) => JSON.stringify(a)).join(", ")})`;
        copied ??= report.copies[0]?.why ?? null;
      } catch (e) {
        error.textContent = (e as Error).message.replace(/^ +/gm, "");
        input.setAttribute("aria-invalid", "true");
      }
    }
    this.#onChange({ tensor, calls, copied });
  }

  /** For each axis a start, a stop and a step. While the visitor types, only those that the text gives are moved. */
  #drawRanges(base: Tensor, _typing: boolean): void {
    const items = this.#fields
      .get("slice")!
      .input.value.split(",")
      .map((s) => s.trim());
    const { shape } = base;
    const ranges = shape.slice(0, 4).map((size, d) => rangeOf(items[d] ?? "", size));
    const simple =
      !items.some((s) => s === "..." || /^(null|none|newaxis)$/i.test(s)) && items.length <= shape.length;
    if (this.#ranges.childElementCount !== ranges.length || this.#ranges.dataset.shape !== list(shape)) {
      this.#ranges.dataset.shape = list(shape);
      this.#ranges.replaceChildren(...ranges.map((_, d) => this.#rangeRow(d, shape[d])));
      this.#more.textContent =
        shape.length > ranges.length ? `Further axes, up to axis ${shape.length - 1}, are typed.` : "";
    }
    ranges.forEach((range, d) => {
      const [start, stop, step] = this.#ranges.children[d].querySelectorAll("input");
      for (const input of [start, stop, step]) input.disabled = !simple || range === null || shape[d] === 0;
      if (range === null) return;
      const values = [range.start, range.stop, range.step];
      [start, stop, step].forEach((input, k) => {
        if (input !== document.activeElement) input.value = String(values[k]);
      });
      const track = this.#ranges.children[d].querySelector<HTMLElement>(".track");
      track?.style.setProperty("--from", `${(100 * range.start) / Math.max(1, shape[d])}%`);
      track?.style.setProperty("--to", `${(100 * range.stop) / Math.max(1, shape[d])}%`);
    });
  }

  #rangeRow(d: number, size: number): HTMLElement {
    const slider = (what: string) =>
      h("input", {
        type: "range",
        min: 0,
        max: size,
        step: 1,
        "aria-label": `Axis ${d}: ${what}`,
        class: what,
        oninput: (event) => this.#dragged(d, event.target as HTMLInputElement),
      });
    const step = h("input", {
      type: "number",
      min: -size,
      max: size,
      "aria-label": `Axis ${d}: step`,
      oninput: (event) => this.#dragged(d, event.target as HTMLInputElement),
    });
    return h(
      "div",
      { class: "range" },
      h("span", { class: "axis" }, `axis ${d}`),
      h("span", { class: "track" }, slider("start"), slider("stop")),
      h("span", { class: "by" }, "by"),
      step,
    );
  }

  #dragged(d: number, moved: HTMLInputElement): void {
    const base = this.#base!;
    const { input } = this.#fields.get("slice")!;
    const items = base.shape.map((size, axis) => {
      const row = this.#ranges.children[axis];
      if (row === undefined) return ":";
      const inputs = [...row.querySelectorAll("input")];
      let [start, stop, step] = inputs.map((i) => Number(i.value));
      if (axis === d && start > stop) {
        if (moved.classList.contains("start")) stop = start;
        else start = stop;
      }
      if (!Number.isInteger(step) || step === 0) step = 1;
      return itemText(start, stop, step, size);
    });
    input.value = items.every((i) => i === ":") ? "" : items.join(", ");
    this.#apply("slice");
  }

  /** The axes as chips to drag; the arrow keys move the focused one. */
  #drawChips(tensor: Tensor): void {
    const { input } = this.#fields.get("permute")!;
    const rank = tensor.rank;
    const wanted = numbersSoFar(input.value);
    const valid = wanted.length === rank && wanted.every((a) => Number.isInteger(a) && a >= 0 && a < rank);
    const order = valid && new Set(wanted).size === rank ? wanted : tensor.shape.map((_, d) => d);
    const focused = (document.activeElement as HTMLElement | null)?.dataset.axis;
    const hadFocus = this.#chips.contains(document.activeElement);
    const chips = order.map((axis, at) => this.#chip(axis, at, order, tensor.shape[axis]));
    this.#chips.replaceChildren(...(rank > 1 ? chips : []));
    if (hadFocus) chips.find((c) => c.dataset.axis === focused)?.focus();
  }

  #chip(axis: number, at: number, order: readonly number[], size: number): HTMLElement {
    const move = (to: number) => {
      if (to < 0 || to >= order.length || to === at) return;
      const next = order.filter((a) => a !== axis);
      next.splice(to, 0, axis);
      this.#fields.get("permute")!.input.value = next.every((a, d) => a === d) ? "" : next.join(", ");
      this.#apply("permute");
    };
    const chip = h(
      "button",
      {
        type: "button",
        class: "chip",
        "data-axis": axis,
        "aria-label": `Axis ${axis} of size ${size}, now at place ${at}; arrow keys move it`,
        onkeydown: (event) => {
          const by = { ArrowLeft: -1, ArrowRight: 1 }[(event as KeyboardEvent).key];
          if (by === undefined) return;
          event.preventDefault();
          move(at + by);
        },
        onpointerdown: (event) => {
          const { clientX, clientY } = event as PointerEvent;
          const drop = (end: PointerEvent) => {
            removeEventListener("pointerup", drop);
            chip.classList.remove("dragged");
            if (Math.hypot(end.clientX - clientX, end.clientY - clientY) < 8) return;
            // The chips that come before the place, in reading order.
            const before = [...this.#chips.children].filter((c, k) => {
              const { left, right, top, bottom } = c.getBoundingClientRect();
              const isAbove = bottom < end.clientY;
              return k !== at && (isAbove || (top <= end.clientY && (left + right) / 2 < end.clientX));
            });
            move(before.length);
          };
          chip.classList.add("dragged");
          addEventListener("pointerup", drop);
        },
      },
      `axis ${axis}`,
      h("small", {}, String(size)),
    );
    return chip;
  }
}

/** "1:5:2" over an axis as numbers; null for what is no range. */
function rangeOf(item: string, size: number): { start: number; stop: number; step: number } | null {
  if (/^[+-]?\d+$/.test(item)) {
    const at = Number(item) < 0 ? Number(item) + size : Number(item);
    return { start: at, stop: at + 1, step: 1 };
  }
  const match = /^([+-]?\d*)(?::([+-]?\d*))?(?::([+-]?\d*))?$/.exec(item);
  if (match === null) return null;
  const step = Number(match[3] || 1) || 1;
  const place = (text: string | undefined, otherwise: number) => {
    if (!text) return otherwise;
    const n = Number(text);
    return Math.max(0, Math.min(size, n < 0 ? n + size : n));
  };
  if (step > 0) return { start: place(match[1], 0), stop: place(match[2], size), step };
  // Backwards from start down to stop: shown as the range it covers.
  return { start: place(match[2], -1) + 1, stop: Math.min(size, place(match[1], size - 1) + 1), step };
}

function itemText(start: number, stop: number, step: number, size: number): string {
  const [from, to] =
    step > 0
      ? [start === 0 ? "" : start, stop === size ? "" : stop]
      : [stop === size ? "" : stop - 1, start === 0 ? "" : start - 1];
  return `${from}:${to}${step === 1 ? "" : `:${step}`}`;
}
