/** The page: code on one side, what it does to memory on the other. */
import { CompiledPanel } from "./compiled-panel.ts";
import { ready } from "./core.ts";
import { byId, fill, h, icon, messageView } from "./dom.ts";
import { Editor } from "./editor.ts";
import { type Example, examples } from "./examples.ts";
import { KernelPanel } from "./kernel-panel.ts";
import { MemoryPanel } from "./memory-panel.ts";
import { lateMistake, type Mistake, type Outcome, run } from "./run.ts";
import { didHang, fromHash, hasComeBack, noteEnd, noteStart, toHash } from "./share.ts";
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

const edited = h("span", { class: "edited", role: "status" });
let example: Example | null = null;
/** The code the panels show. */
let shownCode: string | null = null;
let last: Outcome | null = null;
let running = 0;
let hasMistake = false;

showNothing("Nothing has run yet.");

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
    edited,
    h(
      "span",
      { class: "note keys", id: "editor-help" },
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
        if (chosen === undefined) return;
        // The way back leads to what was there.
        history.pushState(null, "", `#${chosen.id}`);
        void open(chosen.code, chosen);
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
  showStale();
}

/** Panels that show another program than the editor are dimmed, and it is said. */
function showStale(): void {
  const isStale = shownCode !== null && shownCode !== editor.value;
  document.body.classList.toggle("stale", isStale);
  edited.textContent = isStale && !hasMistake ? "Edited: run it to see what it does." : "";
}

function showNothing(why: string): void {
  memory.clear(why);
  kernels.clear(why);
}

function addToCode(expression: string): void {
  const taken = (name: string) =>
    new RegExp(`(const|let|var|function|[{,])\\s+${name}\\b`).test(editor.value);
  let name = "view";
  for (let i = 2; taken(name); i++) name = `view${i}`;
  void open(`${editor.value.trimEnd()}\nconst ${name} = ${expression};\n`, null);
}

async function runCode(keepAddress = false): Promise<void> {
  const turn = ++running;
  const code = editor.value;
  if (!keepAddress) history.replaceState(null, "", await toHash(code));
  noteStart(code);
  const outcome = await run(code);
  noteEnd(code);
  if (turn !== running) return;
  editor.mark(outcome.mistake?.line ?? null);
  hasMistake = outcome.mistake !== null;
  showResult(outcome);
  if (outcome.report !== null) {
    memory.show(outcome.tensors, example?.tensor, example?.shapes);
    kernels.show(outcome.report, outcome.tensors, code, example?.kernel, example?.row);
    for (const { tensor } of last?.tensors ?? []) if (!tensor.isDisposed) tensor.dispose();
    last = outcome;
    shownCode = code;
  } else if (last === null) showNothing("The program stopped at a mistake: see the message under the code.");
  showStale();
  document.body.dataset.ran = String(turn);
}

/** Shows a program without running it, and asks. */
function ask(code: string, why: string): void {
  running++;
  editor.value = code;
  setExample(null);
  hasMistake = false;
  showStale();
  const button = h("button", { type: "button", class: "primary", onclick: () => void runCode() }, "Run it");
  fill(result, h("div", { class: "ask", role: "status" }, h("p", {}, why), button));
  if (last === null) showNothing("Nothing has run yet: read the program, then run it.");
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
    hasMistake && last !== null && h("p", { class: "note" }, "The panels show the last program that ran."),
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

/** Shows what the address holds. Code that has not run here before is shown, not run. */
async function openAddress(): Promise<void> {
  const shared = await fromHash(location.hash);
  if (shared === null || shared === "unreadable") {
    editor.value = examples[0].code;
    setExample(examples[0]);
    await runCode(shared === "unreadable");
    if (shared === "unreadable") {
      const text =
        "The link holds no program that can be read: it may have been cut off. This is the first example.";
      result.prepend(h("p", { class: "notice", role: "alert" }, text));
    }
  } else if (shared.code === editor.value && running > 0) return;
  else if (didHang(shared.code))
    ask(shared.code, "The last run of this program did not come back. Run it again?");
  else if (shared.example !== null || hasComeBack(shared.code)) await open(shared.code, shared.example);
  else ask(shared.code, "This program came with the link and has not run here. Read it, then run it.");
}

async function start(): Promise<void> {
  await openAddress();
  await showThreads();
}

addEventListener("hashchange", () => {
  if (location.hash !== "#main") void openAddress();
});

/** What fails after the program has ended is told as well. */
function showLate(event: Event, error: unknown): void {
  if (error instanceof Error && !/blob:/.test(error.stack ?? "") && event.type === "error") return;
  event.preventDefault();
  result.append(mistakeView(lateMistake(error)));
}
addEventListener("error", (event) => showLate(event, event.error));
addEventListener("unhandledrejection", (event) => showLate(event, event.reason));

void start();
