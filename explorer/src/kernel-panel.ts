/** The kernel panel: which kernel, what the run had to say (copies, fallbacks), and the stepper. */
import type { KernelStep, Report } from "strided";
import type { IterationOperand } from "../../src/explain/iteration.ts";
import { bytes, fill, h, messageView } from "./dom.ts";
import type { Named } from "./run.ts";
import { Stepper } from "./stepper.ts";

export class KernelPanel {
  readonly #notices = h("div", { class: "notices" });
  readonly #choice = h("div", { class: "choice" });
  readonly #body = h("div");
  readonly #onPick: (step: KernelStep | null) => void;
  #stepper: Stepper | null = null;

  constructor(root: HTMLElement, onPick: (step: KernelStep | null) => void) {
    this.#onPick = onPick;
    root.append(
      h(
        "div",
        { class: "head" },
        h("h2", { id: "kernel-title" }, "Kernel, step by step"),
        h(
          "p",
          {},
          "What the loop does for each element: from its number to its index, to positions, to values.",
        ),
      ),
      this.#notices,
      this.#choice,
      this.#body,
    );
  }

  clear(): void {
    fill(this.#body, h("p", { class: "note" }, "Nothing has run yet."));
  }

  /** `first` is the kernel to begin with, `row` where in it. */
  show(report: Report, tensors: readonly Named[], first?: number, row = 0): void {
    this.#stepper?.stop();
    const { kernels } = report;
    fill(
      this.#notices,
      ...report.copies.map((c) =>
        h("p", { class: "notice" }, `${c.operation} copied ${bytes(c.bytes)}: ${c.why}.`),
      ),
      ...report.steps
        .filter((s) => s.kind === "routine")
        .map((s) => h("p", { class: "notice" }, `${s.name}: code written by hand, ${s.time.toFixed(2)} ms.`)),
      ...report.fallbacks.map((f) =>
        h(
          "div",
          { class: "notice" },
          `${f.operation} calls the function for each element, because it was not compiled:`,
          ...messageView(f.why),
        ),
      ),
    );
    if (kernels.length === 0) {
      fill(this.#choice);
      const nothing = "Nothing ran: views only, no element was read or written.";
      const byHand = "No loop of the compiler's ran, so there is nothing to step through.";
      fill(this.#body, h("p", { class: "note" }, report.steps.length === 0 ? nothing : byHand));
      this.#onPick(null);
      return;
    }
    const at = first !== undefined && first < kernels.length ? first : kernels.length - 1;
    const select = h(
      "select",
      { id: "kernel-choice", onchange: () => this.#pick(report, tensors, Number(select.value), 0) },
      ...kernels.map((k, i) => h("option", { value: i, selected: i === at }, `${i + 1}. ${titleOf(k)}`)),
    );
    fill(
      this.#choice,
      kernels.length > 1 && h("label", { for: "kernel-choice" }, `${kernels.length} kernels ran`),
      kernels.length > 1 ? select : h("code", { class: "kernel-title" }, titleOf(kernels[0])),
    );
    this.#pick(report, tensors, at, row);
  }

  #pick(report: Report, tensors: readonly Named[], at: number, row: number): void {
    this.#stepper?.stop();
    this.#stepper = new Stepper(report.iteration(at), row, (operand) => ownerOf(operand, tensors));
    fill(this.#body, this.#stepper.element);
    this.#stepper.reveal();
    this.#onPick(report.kernels[at]);
  }
}

/** The constant that an operand is, or whose memory it is in. */
function ownerOf(
  { address, shape, strides, offset, name }: IterationOperand,
  tensors: readonly Named[],
): string {
  const owners = tensors.filter((t) => t.tensor.storage.address === address && !/\s/.test(t.name));
  const key = JSON.stringify([shape, strides, offset]);
  const same = owners.find(({ tensor: t }) => JSON.stringify([t.shape, t.strides, t.offset]) === key);
  if (same !== undefined) return same.name === name ? "" : `= ${same.name}`;
  const others = owners.map((t) => t.name).filter((other) => other !== name);
  return others.length === 0 ? "" : `in ${others.join(", ")}`;
}

function titleOf(step: KernelStep): string {
  const source = step.source.replace(/\s+/g, " ");
  return `${step.operation}: ${source.length > 70 ? `${source.slice(0, 69)}…` : source}`;
}
