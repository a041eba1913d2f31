/** The kernel panel: which kernel, what the run had to say (copies, fallbacks), and the stepper. */
import type { CopyStep, KernelStep, NjitStep, Report, Step } from "strided";
import type { IterationOperand } from "../../src/explain/iteration.ts";
import { stridedOf } from "./core.ts";
import { bytes, fill, h, messageView } from "./dom.ts";
import type { FunctionStepper } from "./function-stepper.ts";
import type { Named } from "./run.ts";
import { Stepper } from "./stepper.ts";

export class KernelPanel {
  readonly #notices = h("div", { class: "notices" });
  readonly #choice = h("div", { class: "choice" });
  readonly #body = h("div");
  readonly #onPick: (step: KernelStep | NjitStep | null) => void;
  #stepper: Stepper | FunctionStepper | null = null;

  constructor(root: HTMLElement, onPick: (step: KernelStep | NjitStep | null) => void) {
    this.#onPick = onPick;
    root.append(
      h(
        "div",
        { class: "head" },
        h("h2", { id: "kernel-title" }, "Kernel, step by step"),
        h(
          "p",
          {},
          "What the loop does for each element: from its number to its index, to positions, to values. A function with loops goes line by line.",
        ),
      ),
      this.#notices,
      this.#choice,
      this.#body,
    );
    // Wherever the focus is: what moves can be stopped.
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#stepper?.isPlaying) this.#stepper.stop();
    });
  }

  clear(why: string): void {
    this.#stepper?.stop();
    this.#stepper = null;
    fill(this.#notices);
    fill(this.#choice);
    fill(this.#body, h("p", { class: "note" }, why));
    this.#onPick(null);
  }

  /** `first` is the kernel to begin with, `row` where in it. */
  show(report: Report, tensors: readonly Named[], code: string, first?: number, row = 0): void {
    const { kernels, functions } = report;
    this.clear(report.steps.length === 0 ? nothing : byHand);
    const avoidable = report.copies.filter(
      (c) => c.within === undefined && layoutReasons.test(c.why) && calls(code, c.operation),
    );
    const inner = report.steps.filter(
      (s) => s.kind === "routine" || (s.kind === "copy" && !avoidable.includes(s)),
    );
    fill(
      this.#notices,
      ...avoidable.map((c) => h("p", { class: "notice" }, copyText(c))),
      ...report.fallbacks.map((f) =>
        h(
          "div",
          { class: "notice" },
          `${f.operation} ${f.backend === "function" ? "calls the function for each element" : "is interpreted"}, because it was not compiled:`,
          ...messageView(f.why),
        ),
      ),
      inner.length > 0 && innerSteps(inner),
    );
    // Functions with loops come first: they are the visitor's own.
    const steps = [...functions, ...kernels];
    if (steps.length === 0) return;
    const at =
      first !== undefined && first < steps.length
        ? first
        : functions.length > 0
          ? functions.length - 1
          : ownKernel(kernels, code);
    const select = h(
      "select",
      { id: "kernel-choice", onchange: () => this.#pick(report, tensors, Number(select.value), 0) },
      ...steps.map((k, i) => h("option", { value: i, selected: i === at }, `${i + 1}. ${titleOf(k)}`)),
    );
    const what = [
      ...counted(functions.length, "function", "functions"),
      ...counted(kernels.length, "kernel", "kernels"),
    ];
    fill(
      this.#choice,
      steps.length > 1 && h("label", { for: "kernel-choice" }, `${what.join(" and ")} ran`),
      steps.length > 1 ? select : h("code", { class: "kernel-title" }, titleOf(steps[0])),
    );
    this.#pick(report, tensors, at, row);
  }

  #pick(report: Report, tensors: readonly Named[], at: number, row: number): void {
    this.#stepper?.stop();
    const { functions, kernels } = report;
    if (at < functions.length) {
      this.#onPick(functions[at]);
      void this.#pickFunction(report, at);
      return;
    }
    const step = kernels[at - functions.length];
    this.#onPick(step);
    this.#show(new Stepper(report.iteration(at - functions.length), step, row, (o) => ownerOf(o, tensors)));
  }

  /** What steps through functions is loaded with the first of them. */
  async #pickFunction(report: Report, call: number): Promise<void> {
    this.#stepper = null;
    fill(this.#body);
    try {
      const { FunctionStepper } = await import("./function-stepper.ts");
      const stepper = new FunctionStepper(report.trace({ call }));
      if (this.#stepper === null) this.#show(stepper);
    } catch (error) {
      fill(this.#body, ...messageView((error as Error).message));
    }
  }

  #show(stepper: Stepper | FunctionStepper): void {
    this.#stepper = stepper;
    fill(this.#body, stepper.element);
    stepper.reveal();
  }
}

const counted = (n: number, one: string, many: string) => (n === 0 ? [] : [`${n} ${n === 1 ? one : many}`]);

const nothing =
  "No kernel ran. Views need none, nor does making a tensor, reading one out, or setting single elements.";
const byHand = "No loop of the compiler's ran, so there is nothing to step through.";

/** Reasons that lie in how the visitor's tensors lie: another layout would have spared the copy. */
const layoutReasons = /stride|contiguous|overlap|fused|row-major|dense/i;

/** Does the program itself call it? Then its copies and kernels are the visitor's own. */
const calls = (code: string, operation: string) =>
  new RegExp(`\\b${operation.replace(/[^\w]/g, "\\$&")}\\s*\\(`).test(code);

const plain = (text: string) => text.replace(/\s+/g, "");

/** The last kernel made from a function in the program; else the last that the program calls by name; else the last. */
function ownKernel(kernels: readonly KernelStep[], code: string): number {
  const text = plain(code);
  const isFunction = ({ source }: KernelStep) => /=>|function/.test(source) && text.includes(plain(source));
  const isCalled = ({ operation, within }: KernelStep) => within === undefined && calls(code, operation);
  const computes = ({ source }: KernelStep) => source !== "x => x";
  const last = (test: (k: KernelStep) => boolean) => kernels.map(test).lastIndexOf(true);
  return [last(isFunction), last(isCalled), last(computes), kernels.length - 1].find((i) => i >= 0) ?? 0;
}

const copyText = ({ operation, bytes: n, why }: CopyStep) =>
  `${operation} copied ${bytes(n)}${why ? `: ${why}` : ""}.`;

/** What library calls did by themselves, folded: good to know, nothing to act on. */
function innerSteps(steps: readonly Step[]): HTMLElement {
  const texts = new Map<string, number>();
  for (const s of steps) {
    const text = s.kind === "copy" ? copyText(s) : routineText(s);
    texts.set(text, (texts.get(text) ?? 0) + 1);
  }
  const copies = steps.filter((s) => s.kind === "copy").length;
  const routines = steps.length - copies;
  const what = [...counted(routines, "routine", "routines"), ...counted(copies, "copy", "copies")];
  return h(
    "details",
    { class: "inner" },
    h("summary", {}, `Inside the library: ${what.join(" and ")}`),
    h(
      "p",
      { class: "note" },
      "A routine is WebAssembly that the library brings for what no function of one element describes: sorts, gathers, transforms.",
    ),
    h("ul", {}, ...[...texts].map(([text, n]) => h("li", {}, n === 1 ? text : `${text} (${n} times)`))),
  );
}

function routineText(step: Step): string {
  if (step.kind !== "routine") return step.operation;
  const { name, operation, operands, bytes: n, tasks, time } = step;
  const shapes = (operands ?? []).map((o) => `${o.name} ${o.dtype} [${o.shape.join(", ")}]`);
  return [
    operation === undefined || operation === name ? name : `${operation} (${name})`,
    ...shapes,
    ...(n == null ? [] : [bytes(n)]),
    `${tasks} ${tasks === 1 ? "task" : "tasks"}`,
    `${time.toFixed(2)} ms`,
  ].join(", ");
}

/** The constant that an operand is, or whose memory it is in. */
function ownerOf(
  { address, shape, strides, offset, name }: IterationOperand,
  tensors: readonly Named[],
): string {
  const owners = tensors.filter((t) => stridedOf(t.tensor).storage.address === address && !/\s/.test(t.name));
  const key = JSON.stringify([shape, strides, offset]);
  const same = owners.find(({ tensor: t }) => JSON.stringify([t.shape, t.strides, t.offset]) === key);
  if (same !== undefined) return same.name === name ? "" : `= ${same.name}`;
  const others = owners.map((t) => t.name).filter((other) => other !== name);
  return others.length === 0 ? "" : `in ${others.join(", ")}`;
}

function titleOf(step: KernelStep | NjitStep): string {
  const source = step.source.replace(/\s+/g, " ");
  return `${step.operation}: ${source.length > 70 ? `${source.slice(0, 69)}…` : source}`;
}
