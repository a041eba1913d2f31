/** The compiled kernel in tabs: its source, the program after each pass, the plan, the WebAssembly. */
import type { KernelStep, NjitStep } from "strided";
import { stepText } from "../../src/explain/text.ts";
import { bytes, fill, h, list, table } from "./dom.ts";
import { codeBlock, highlight } from "./highlight.ts";

const tabs = ["Source", "IR", "Plan", "WAT"] as const;
type Tab = (typeof tabs)[number];

export class CompiledPanel {
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #panel = h("div", { id: "compiled-view", role: "tabpanel" });
  #tab: Tab = "Source";
  #step: KernelStep | NjitStep | null = null;

  constructor(root: HTMLElement) {
    this.#buttons = tabs.map((tab, i) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${tab.toLowerCase()}`,
          "aria-controls": "compiled-view",
          onclick: () => this.#pick(tab),
          onkeydown: (event) => {
            const keys = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: tabs.length - 1 };
            const next = tabs[keys[(event as KeyboardEvent).key as keyof typeof keys] ?? -1];
            if (next === undefined) return;
            event.preventDefault();
            this.#pick(next);
            this.#buttons[tabs.indexOf(next)].focus();
          },
        },
        tab,
      ),
    );
    root.append(
      h(
        "div",
        { class: "head" },
        h("h2", { id: "compiled-title" }, "Compiled"),
        h("p", {}, "From the function's text to WebAssembly, for the dtypes and the layout at hand."),
      ),
      h("div", { class: "tabs", role: "tablist", "aria-label": "The compiled kernel" }, ...this.#buttons),
      this.#panel,
    );
    this.#draw();
  }

  show(step: KernelStep | NjitStep | null): void {
    this.#step = step;
    this.#draw();
  }

  #pick(tab: Tab): void {
    this.#tab = tab;
    this.#draw();
  }

  #draw(): void {
    tabs.forEach((tab, i) => {
      const selected = tab === this.#tab;
      this.#buttons[i].setAttribute("aria-selected", String(selected));
      this.#buttons[i].tabIndex = selected ? 0 : -1;
    });
    this.#panel.setAttribute("aria-labelledby", `tab-${this.#tab.toLowerCase()}`);
    const step = this.#step;
    if (step === null) fill(this.#panel, h("p", { class: "note" }, "No kernel ran."));
    else if (step.kind === "njit") fill(this.#panel, ...functionViews[this.#tab](step));
    else fill(this.#panel, ...views[this.#tab](step));
  }
}

/** How the inner loop meets an operand's elements: of one loop, not of the whole tensor. */
const walks: Readonly<Record<string, (step: number | null) => string>> = {
  contiguous: () => "side by side",
  broadcast: () => "one element, again and again",
  strided: (step) => (step === null ? "apart" : `${Math.abs(step)} apart${step < 0 ? ", backwards" : ""}`),
  reversed: () => "side by side, backwards",
  transposed: () => "side by side along the other axis, turned in registers",
  repeated: () => "side by side, the same in every row",
  any: () => "through its own strides",
};

const note = (text: string) => h("p", { class: "note" }, text);

const views: Record<Tab, (step: KernelStep) => HTMLElement[]> = {
  Source: (step) => [
    codeBlock(step.source, "js"),
    note(
      step.backend === "function"
        ? "This function is called for each element; the notice above says why it was not compiled."
        : /=>|function/.test(step.source)
          ? "The function's own text is what the compiler reads; nothing is evaluated."
          : "A named operation, as algebra: no text had to be read.",
    ),
  ],
  IR: (step) =>
    step.passes.length === 0
      ? [note("There is no program: the operation has code of its own.")]
      : step.passes.flatMap(({ name, says, text }, i) => [
          h("h3", { class: "pass" }, i === 0 ? "As read, with dtypes" : `After ${name}: ${says}`),
          i === 0 && step.spans.length > 0 ? readProgram(step) : codeBlock(text, "ir"),
        ]),
  Plan: (step) => [
    table(
      "Operands",
      ["operand", "dtype", "shape", "strides", "offset", "in the inner loop"],
      step.operands.map((o) => [
        o.name,
        o.dtype,
        list(o.shape),
        list(o.strides),
        String(o.offset),
        walks[o.walk]?.(o.step) ?? o.walk,
      ]),
    ),
    ...loopTable(step),
    planFacts(step),
    asText(step),
  ],
  WAT: (step) =>
    step.wat === null
      ? [note("No WebAssembly of its own: the bytes were moved as they are, or the function was called.")]
      : [
          note(`${step.wat.split("\n").length} lines; the inner loop is a function of its own.`),
          codeBlock(step.wat, "wat"),
        ],
};

/** The same of a function with loops. */
const functionViews: Record<Tab, (step: NjitStep) => HTMLElement[]> = {
  Source: (step) => [
    codeBlock(step.source, "js"),
    note("The function's own text is what the compiler reads; nothing is evaluated."),
  ],
  IR: (step) => [
    note("Every type, every conversion and every check of an index, written out."),
    codeBlock(step.typed, "ir"),
  ],
  Plan: (step) => [
    table(
      "Arrays",
      ["array", "dtype", "shape", "strides"],
      step.operands.map((o) => [o.name, o.dtype, list(o.shape), list(o.strides)]),
    ),
    table(
      "Loops",
      ["line", "loop", "turns", "vectors", "checks a turn"],
      step.loops.map((l) => [
        String(l.line),
        `${"  ".repeat(l.depth)}${l.text}`,
        l.parallel === null ? (l.why ?? "in order") : `${l.parallel.turns}, on ${l.parallel.threads} threads`,
        l.lanes === null ? (l.whyScalar ?? "none") : `${l.lanes} lanes`,
        l.checks === l.checksOtherwise ? String(l.checks) : `${l.checks}, or ${l.checksOtherwise} at an edge`,
      ]),
    ),
    note(`Compiled in ${step.compileTime.toFixed(2)} ms, ran in ${step.time.toFixed(2)} ms.`),
  ],
  WAT: (step) => [note(`${step.wat.split("\n").length} lines.`), codeBlock(step.wat, "wat")],
};

/** The first program, with the source above it: a line shows the piece of the source it came from. */
function readProgram(step: KernelStep): HTMLElement {
  const { source, spans } = step;
  const shown = codeBlock(source, "js");
  const program = codeBlock(step.passes[0].text, "ir");
  program.innerHTML = program.innerHTML
    .split("\n")
    .map((line) => `<span class="ir-line">${line}</span>`)
    .join("\n");
  const point = (target: Element | null) => {
    const line = target?.closest(".ir-line");
    for (const other of program.children) other.classList.toggle("now", other === line);
    const node = /^%(\d+)/.exec(line?.textContent ?? "")?.[1];
    const span = spans.find((s) => String(s.node) === node);
    if (span === undefined) shown.innerHTML = highlight(source, "js");
    else
      fill(
        shown,
        source.slice(0, span.start),
        h("mark", {}, source.slice(span.start, span.end)),
        source.slice(span.end),
      );
  };
  program.addEventListener("pointerover", (event) => point(event.target as Element));
  program.addEventListener("pointerleave", () => point(null));
  program.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const lines = [...program.children];
    const at = lines.findIndex((line) => line.classList.contains("now"));
    point(lines[Math.max(0, Math.min(lines.length - 1, at + by))]);
  });
  return h(
    "div",
    { class: "read-program" },
    shown,
    program,
    note("Point at a line, or walk with the arrow keys, to see the piece of the source it came from."),
  );
}

/** The nest before and after planning: how far each loop goes, and how far each operand moves with it. */
function loopTable({ nest, operands }: KernelStep): HTMLElement[] {
  if (nest.after.length === 0) return [];
  const head = ["loops", "size", ...operands.map((o) => `${o.name} steps by`)];
  const rows = (name: string, loops: KernelStep["nest"]["before"]) =>
    loops.map(({ size, steps }, i) => [i === 0 ? name : "", String(size), ...steps.map(String)]);
  return [table("Loops", head, [...rows("as written", nest.before), ...rows("as walked", nest.after)])];
}

const product = (shape: readonly number[]) => (shape.length === 0 ? "one element" : shape.join(" × "));

function planFacts(step: KernelStep): HTMLElement {
  const { vector, threads, rate } = step;
  const code = {
    wasm: "WebAssembly",
    interpreter: "the interpreter",
    function: "the JavaScript function itself",
  };
  const width =
    vector === null
      ? (step.note ?? "one element at a time")
      : vector.tiled
        ? "tiles of 4 × 4"
        : `${vector.lanes} lanes, ${vector.unroll} ${vector.unroll === 1 ? "vector" : "vectors"} a turn${vector.rows > 1 ? `, ${vector.rows} rows together` : ""}`;
  const rows: (readonly [string, string])[] = [
    ["loops as written", product(step.loops.before)],
    ["loops as walked", product(step.loops.after)],
    ["code", code[step.backend]],
    ["vector", width],
    [
      "threads",
      threads.shared
        ? `${threads.threads} share ${threads.tasks} tasks`
        : `1: ${threads.why ?? "too little work to share"}`,
    ],
    [
      "compiled",
      step.compileTime > 0 ? `in ${milliseconds(step.compileTime)}` : step.cached ? "known already" : "now",
    ],
    ["run", milliseconds(step.time - step.compileTime)],
    ["bytes", `${bytes(step.bytesRead)} read, ${bytes(step.bytesWritten)} written`],
    ...(rate === null || rate.value < 0.01
      ? []
      : [["rate", `${rate.value.toPrecision(3)} ${rate.unit}`] as const]),
  ];
  return h(
    "dl",
    { class: "facts wide" },
    ...rows.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))),
  );
}

function asText(step: KernelStep): HTMLElement {
  return h(
    "details",
    {},
    h("summary", {}, "As explain prints it"),
    h("pre", { class: "block", tabindex: 0 }, stepText(step, 1)),
  );
}

const milliseconds = (t: number) => (t < 0.1 ? `${(t * 1000).toFixed(0)} µs` : `${t.toFixed(2)} ms`);
