/** The page of gradients: what a function records, the kernels of its derivative, and two moons learnt live. */
import { valueAndGrad } from "../../../src/grad.ts";
import { explain, ready, type Tensor, Tensor as TensorClass } from "../core.ts";
import { byId, fill, h, list, messageView } from "../dom.ts";
import { Editor } from "../editor.ts";
import { codeBlock } from "../highlight.ts";
import { withValues } from "../run.ts";
import { themeButton } from "../theme.ts";
import { drawGraph } from "./drawing.ts";
import { gradientExamples } from "./examples.ts";
import { type GraphNode, graphOf } from "./graph.ts";
import { Moons } from "./moons.ts";

const editor = new Editor(
  "Function",
  () => void derive(),
  () => {},
);
const about = h("p", { class: "about" });
const result = h("div", { class: "result", "aria-live": "polite" });
const picture = h("div", { class: "picture", tabindex: 0, role: "region", "aria-label": "Graph" });
const chosen = h("p", { class: "formula said", role: "status" });
const gradients = h("div", { class: "gradients" });
const kernels = h("div", { class: "backward" });
let runs = 0;

const picker = h(
  "select",
  {
    id: "example",
    onchange: () => open(picker.value),
  },
  ...gradientExamples.map((e) => h("option", { value: e.id }, e.title)),
);

byId("tools").append(themeButton());
byId("code").append(
  h("div", { class: "head" }, h("h2", { id: "code-title" }, "Function")),
  h("div", { class: "field pick" }, h("label", { for: "example" }, "Example"), picker),
  about,
  editor.element,
  h(
    "div",
    { class: "bar" },
    h("button", { type: "button", class: "primary", onclick: () => void derive() }, "Derive"),
    h("span", { class: "note" }, "f is the function, args are the tensors it is derived at."),
  ),
  result,
);
byId("graph").append(
  h(
    "div",
    { class: "head" },
    h("h2", { id: "graph-title" }, "What is recorded"),
    h(
      "p",
      {},
      "The function runs once, as it is; operations and views are noted. Point at one to see its value.",
    ),
  ),
  picture,
  chosen,
  gradients,
);
byId("kernels").append(
  h(
    "div",
    { class: "head" },
    h("h2", { id: "kernels-title" }, "The way back"),
    h("p", {}, "The kernels of the gradient, derived from the functions' text and compiled as those are."),
  ),
  kernels,
);

function open(id: string): void {
  const example = gradientExamples.find((e) => e.id === id) ?? gradientExamples[0];
  picker.value = example.id;
  editor.value = example.code;
  about.textContent = example.text;
  history.replaceState(null, "", `#${example.id}`);
  void derive();
}

async function derive(): Promise<void> {
  const turn = ++runs;
  const mistake = await withValues(editor.value, (values) => {
    if (turn === runs) show(values);
  });
  if (turn !== runs) return;
  editor.mark(mistake?.line ?? null);
  fill(
    result,
    mistake !== null &&
      h(
        "div",
        { class: "error", role: "alert" },
        mistake.line !== null && h("b", {}, `Line ${mistake.line}`),
        mistake.excerpt !== null && h("pre", {}, mistake.excerpt),
        ...messageView(mistake.message),
      ),
  );
  document.body.dataset.ran = String(turn);
}

function show({ f, args }: Readonly<Record<string, unknown>>): void {
  if (typeof f !== "function") throw new Error("There is no function f.\n  Write const f = (x) => …");
  if (!Array.isArray(args) || !args.every((a) => a instanceof TensorClass))
    throw new Error("There is no list args of tensors.\n  Write const args = [tensor([1, 2])];");
  const fn = f as (...args: Tensor[]) => Tensor;
  const nodes = graphOf(fn, args);
  const forward = explain(() => fn(...args)).kernels.length;
  const wrt = args.map((_, i) => i);
  const report = explain(() => valueAndGrad(fn as never, { wrt } as never)(...(args as never[])));
  const { value, grads } = report.result as { value: Tensor; grads: readonly Tensor[] };
  const pick = (node: GraphNode) => {
    chosen.textContent = `${node.label}: ${node.dtype} ${list(node.shape)}, ${node.text}`;
  };
  fill(picture, drawGraph(nodes, pick));
  const last = nodes.find((n) => n.isResult) ?? nodes[nodes.length - 1];
  pick(last);
  fill(
    gradients,
    h("h3", {}, `Gradients; the value is ${value.toString()}`),
    ...grads.map((g, i) =>
      h("p", { class: "gradient" }, h("b", {}, `argument ${i} `), h("code", {}, g.toString())),
    ),
  );
  const all = report.kernels.slice(forward);
  const back = all.filter((step) => step.source !== "x => x");
  const copies = all.length - back.length;
  fill(
    kernels,
    back.length === 0 && h("p", { class: "note" }, "No kernel was needed: views and routines pass it on."),
    copies > 0 &&
      h(
        "p",
        { class: "note" },
        `And ${copies} ${copies === 1 ? "copy" : "copies"}: gradients put where they belong.`,
      ),
    ...back.map((step, i) => {
      const shapes = step.operands.map((o) => `${o.name} ${o.dtype} ${list(o.shape)}`).join(", ");
      const details = h(
        "details",
        { open: i === 0 },
        h(
          "summary",
          { class: "backward-title" },
          h("b", {}, `${i + 1}. ${step.operation} `),
          h("code", {}, step.source.replace(/\s+/g, " ")),
        ),
        h("p", { class: "note" }, shapes),
      );
      const tabs = h("div", { class: "backward-code" }, codeBlock(step.source, "js"));
      const wat = h("button", { type: "button" }, "WebAssembly");
      wat.addEventListener("click", () => {
        wat.remove();
        tabs.append(
          step.wat === null
            ? h("p", { class: "note" }, "Bytes were moved as they are.")
            : codeBlock(step.wat, "wat"),
        );
      });
      details.append(tabs, wat);
      return details;
    }),
  );
}

async function start(): Promise<void> {
  await ready();
  open(location.hash.slice(1));
  new Moons(byId("moons"));
  document.body.dataset.ready = "true";
}
void start();
