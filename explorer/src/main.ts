/** The page: code on one side, what it does to memory on the other. */
import { CompiledPanel } from "./compiled-panel.ts";
import { ready } from "./core.ts";
import { byId, fill, h, icon, messageView } from "./dom.ts";
import { Editor } from "./editor.ts";
import { type Example, examples } from "./examples.ts";
import { KernelPanel } from "./kernel-panel.ts";
import { MemoryPanel } from "./memory-panel.ts";
import { type Mistake, type Outcome, run } from "./run.ts";
import { fromHash, toHash } from "./share.ts";
import { themeButton } from "./theme.ts";
import { TimingPanel, threadStatus } from "./timing-panel.ts";

const editor = new Editor("Program", () => void runCode(), showEdited);
const picker = examplePicker();
const about = h("p", { class: "about" });
const result = h("div", { class: "result", "aria-live": "polite" });
const runButton = h("button", { type: "button", class: "primary", onclick: () => void runCode() }, "Run");
const compiled = new CompiledPanel(byId("compiled"));
const kernels = new KernelPanel(byId("kernel"), (step) => compiled.show(step));
const memory = new MemoryPanel(byId("memory"), addToCode);
new TimingPanel(byId("timing"));

let example: Example | null = null;
let last: Outcome | null = null;
let running = 0;

memory.show([]);
kernels.clear();

byId("tools").append(shareButton(), themeButton());
byId("code").append(
  h("div", { class: "head" }, h("h2", { id: "code-title" }, "Code")),
  h("div", { class: "field pick" }, h("label", { for: "example" }, "Example"), picker),
  about,
  editor.element,
  h(
    "div",
    { class: "bar" },
    runButton,
    h(
      "span",
      { class: "note", id: "editor-help" },
      h("kbd", {}, "Ctrl"),
      " ",
      h("kbd", {}, "Enter"),
      " runs it",
    ),
  ),
  result,
);

function examplePicker(): HTMLSelectElement {
  const groups = [...new Set(examples.map((e) => e.group))];
  const select = h(
    "select",
    {
      id: "example",
      onchange: () => {
        const chosen = examples.find((e) => e.id === select.value);
        if (chosen !== undefined) void open(chosen.code, chosen);
      },
    },
    h("option", { value: "", hidden: true }, "Your own code"),
    ...groups.map((group) => {
      const options = examples.filter((e) => e.group === group);
      const element = h("optgroup", {}, ...options.map((e) => h("option", { value: e.id }, e.title)));
      element.label = group;
      return element;
    }),
  );
  return select;
}

/** Puts a program into the editor and runs it. */
async function open(code: string, from: Example | null): Promise<void> {
  editor.value = code;
  setExample(from);
  await runCode();
}

function setExample(from: Example | null): void {
  example = from;
  picker.value = from?.id ?? "";
  about.textContent =
    from?.text ??
    "Your own code: import what you need from strided. Constants that hold tensors show up here.";
}

function showEdited(): void {
  const known = examples.find((e) => e.code === editor.value) ?? null;
  if (known !== example) setExample(known);
}

function addToCode(expression: string): void {
  const taken = (name: string) =>
    new RegExp(`(const|let|var|function|[{,])\\s+${name}\\b`).test(editor.value);
  let name = "view";
  for (let i = 2; taken(name); i++) name = `view${i}`;
  void open(`${editor.value.trimEnd()}\nconst ${name} = ${expression};\n`, null);
}

async function runCode(): Promise<void> {
  const turn = ++running;
  const code = editor.value;
  history.replaceState(null, "", await toHash(code));
  const outcome = await run(code);
  if (turn !== running) return;
  editor.mark(outcome.mistake?.line ?? null);
  showResult(outcome);
  if (outcome.report !== null) {
    memory.show(outcome.tensors, example?.tensor);
    kernels.show(outcome.report, outcome.tensors, example?.kernel, example?.row);
    for (const { tensor } of last?.tensors ?? []) if (!tensor.isDisposed) tensor.dispose();
    last = outcome;
  }
  document.body.classList.toggle("stale", outcome.report === null && last !== null);
  document.body.dataset.ran = String(turn);
}

function showResult({ output, mistake }: Outcome): void {
  fill(
    result,
    mistake !== null && mistakeView(mistake),
    output.length > 0 &&
      h(
        "ol",
        { class: "printed", "aria-label": "Output" },
        ...output.map(({ line, text }) =>
          h(
            "li",
            {},
            h("span", { class: "line-number" }, line === null ? "" : String(line)),
            h("pre", {}, text),
          ),
        ),
      ),
  );
}

function mistakeView({ message, line, excerpt }: Mistake): HTMLElement {
  return h(
    "div",
    { class: "error", role: "alert" },
    line !== null &&
      h("button", { type: "button", class: "link", onclick: () => editor.goTo(line) }, `Line ${line}`),
    excerpt !== null && h("pre", {}, excerpt),
    ...messageView(message),
    last !== null && h("p", { class: "note" }, "The panels show the last program that ran."),
  );
}

function shareButton(): HTMLButtonElement {
  const label = h("span", {}, "Share");
  const button = h("button", { type: "button", class: "share" }, icon("link"), label);
  button.addEventListener("click", async () => {
    history.replaceState(null, "", await toHash(editor.value));
    try {
      await navigator.clipboard.writeText(location.href);
      label.textContent = "Copied";
    } catch {
      label.textContent = "It is in the address bar";
    }
    setTimeout(() => {
      label.textContent = "Share";
    }, 2000);
  });
  return button;
}

async function showThreads(): Promise<void> {
  await ready();
  const { threads, why } = threadStatus();
  const status = byId("status");
  status.textContent =
    threads > 1
      ? `${threads} threads`
      : `One thread: ${why ?? "no workers are up"}. Everything works, only slower.`;
  status.classList.toggle("warn", threads === 1);
}

async function start(): Promise<void> {
  const shared = await fromHash(location.hash);
  await open(shared?.code ?? examples[0].code, shared === null ? examples[0] : shared.example);
  await showThreads();
}

addEventListener("hashchange", async () => {
  const shared = await fromHash(location.hash);
  if (shared !== null && shared.code !== editor.value) await open(shared.code, shared.example);
});

void start();
