/** The page of `strided status --serve`: one document, one script, one style sheet, no framework. */

export const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>strided: a run</title>
    <link rel="stylesheet" href="style.css">
    <script src="page.js" defer></script>
  </head>
  <body>
    <header>
      <h1>strided <span id="plan"></span></h1>
      <p id="state" role="status">asking…</p>
    </header>
    <main>
      <dl id="facts"></dl>
      <section id="operations" aria-label="Operations"></section>
      <section aria-labelledby="workers-title">
        <h2 id="workers-title">Workers</h2>
        <table><thead><tr><th>worker</th><th>tasks</th><th>last</th></tr></thead><tbody id="workers"></tbody></table>
        <p id="no-workers" class="note">No run tells who works: begin one with strided run.</p>
      </section>
      <section id="retries-section" aria-labelledby="retries-title" hidden>
        <h2 id="retries-title">Tried again</h2>
        <ul id="retries"></ul>
      </section>
    </main>
  </body>
</html>
`;

export const style = `:root {
  color-scheme: light dark;
  --paper: light-dark(#f9f7f4, #141312);
  --surface: light-dark(#ffffff, #1c1b19);
  --ink: light-dark(#1d1b18, #ebe7e0);
  --muted: light-dark(#68635a, #a59e92);
  --line: light-dark(#e3ded5, #35322d);
  --accent: light-dark(#b03b08, #ff9a5e);
  --empty: light-dark(#ece7df, #2a2824);
  font: 15px / 1.5 system-ui, sans-serif;
  color: var(--ink);
  background: var(--paper);
}
body { margin: 0 auto; max-width: 70rem; padding: 1rem 1.25rem 3rem; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1.5rem; }
h1 { font-size: 1.3rem; margin: 0; }
h1 span, .note, #state, th { color: var(--muted); font-weight: 400; }
h1 span { font-family: ui-monospace, monospace; font-size: 0.85rem; }
h2 { font-size: 1rem; margin: 0 0 0.5rem; }
section, dl { background: var(--surface); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.1rem; margin: 1rem 0 0; }
dl { display: flex; flex-wrap: wrap; gap: 0.4rem 2rem; }
dt { font-size: 0.8rem; color: var(--muted); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.operation + .operation { margin-top: 1.1rem; }
.operation p { display: flex; flex-wrap: wrap; gap: 0 0.8rem; margin: 0 0 0.3rem; }
.operation b { font-family: ui-monospace, monospace; font-size: 0.9rem; }
.operation span { color: var(--muted); font-size: 0.87rem; overflow-wrap: anywhere; }
.operation .count { margin-left: auto; font-variant-numeric: tabular-nums; }
canvas { display: block; width: 100%; image-rendering: pixelated; border-radius: 4px; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.2rem 0.6rem 0.2rem 0; overflow-wrap: anywhere; }
td:nth-child(2) { font-variant-numeric: tabular-nums; }
tr.gone { color: var(--muted); text-decoration: line-through; }
ul { margin: 0; padding-left: 1.2rem; font-size: 0.9rem; }
[hidden] { display: none; }
`;

export const script = `"use strict";
const byId = (id) => document.getElementById(id);
const make = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name !== undefined) element.className = name;
  return element;
};
const bytes = (n) => {
  for (const [unit, size] of [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
    if (n >= size) return (n / size).toFixed(1) + " " + unit;
  return Math.round(n) + " B";
};
const time = (seconds) => {
  if (!Number.isFinite(seconds)) return "–";
  const s = Math.max(0, Math.round(seconds));
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return h > 0 ? h + " h " + m + " min" : m > 0 ? m + " min " + (s % 60) + " s" : s + " s";
};
let before = null;
const rates = [];

/** A cell for each task, or for a few of them, in rows as wide as the page. */
function drawGrid(canvas, tasks, bits) {
  const raw = atob(bits);
  const isDone = (i) => (raw.charCodeAt(i >> 3) >> (i & 7)) & 1;
  const most = 4096;
  const per = Math.ceil(tasks / most);
  const cells = Math.ceil(tasks / per);
  const columns = Math.min(cells, Math.max(16, Math.ceil(Math.sqrt(cells * 12))));
  const rows = Math.ceil(cells / columns);
  const size = 8;
  canvas.width = columns * size;
  canvas.height = rows * size;
  canvas.style.maxWidth = columns * 16 + "px";
  const context = canvas.getContext("2d");
  const probe = make("span");
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = "var(" + name + ")";
    return getComputedStyle(probe).color;
  };
  const [full, empty] = [colour("--accent"), colour("--empty")];
  probe.remove();
  for (let c = 0; c < cells; c++) {
    let done = 0;
    const end = Math.min(tasks, (c + 1) * per);
    for (let i = c * per; i < end; i++) done += isDone(i);
    context.globalAlpha = 1;
    context.fillStyle = empty;
    const [x, y] = [(c % columns) * size, Math.floor(c / columns) * size];
    context.fillRect(x, y, size - 1, size - 1);
    context.globalAlpha = done / (end - c * per);
    context.fillStyle = full;
    context.fillRect(x, y, size - 1, size - 1);
  }
}

function showOperations(operations, isComplete) {
  const root = byId("operations");
  while (root.children.length < operations.length) {
    const part = make("div", undefined, "operation");
    const line = make("p");
    line.append(make("b"), make("span"), make("span", "", "count"));
    const canvas = make("canvas");
    canvas.setAttribute("role", "img");
    part.append(line, canvas);
    root.append(part);
  }
  operations.forEach((op, k) => {
    const part = root.children[k];
    const [name, label, count] = part.firstChild.children;
    name.textContent = op.operation;
    label.textContent = op.label;
    const isGone = !op.isThere && isComplete;
    count.textContent = isGone ? "done, and removed" : op.done + " of " + op.tasks;
    const canvas = part.lastChild;
    canvas.hidden = isGone;
    canvas.setAttribute("aria-label", op.done + " of " + op.tasks + " tasks are done");
    const key = op.bits;
    if (canvas.dataset.key !== key) drawGrid(canvas, op.tasks, op.bits);
    canvas.dataset.key = key;
  });
}

function show({ plan, isComplete, operations, run }) {
  byId("plan").textContent = plan.slice(0, 12);
  const tasks = operations.reduce((n, op) => n + op.tasks, 0);
  const done = operations.reduce((n, op) => n + (op.isThere || !isComplete ? op.done : op.tasks), 0);
  const now = performance.now();
  if (before !== null && done > before.done) rates.push({ at: now, n: done - before.done, took: now - before.at });
  if (before === null || done > before.done) before = { at: now, done };
  while (rates.length > 0 && now - rates[0].at > 30000) rates.shift();
  const span = rates.length === 0 ? 0 : (now - rates[0].at + rates[0].took) / 1000;
  const rate = span > 0 ? rates.reduce((n, r) => n + r.n, 0) / span : 0;
  const isLive = run !== null && !run.isOver && Date.now() - run.told < 15000;
  byId("state").textContent = isComplete ? "complete" : isLive ? "running" : rate > 0 ? "going on" : "nobody works at it now";
  const seconds = run === null ? 0 : Math.max(0.001, (run.told - run.began) / 1000);
  const facts = [
    ["tasks", done + " of " + tasks + " (" + Math.floor((100 * done) / Math.max(1, tasks)) + " %)"],
    ["rate", isComplete ? "–" : rate.toFixed(1) + " tasks/s"],
    ["left", isComplete ? "nothing" : rate > 0 ? "about " + time((tasks - done) / rate) : "–"],
    ["workers", run === null ? "–" : String(run.workers.filter((w) => w.isHere).length)],
    ["tried again", run === null ? "–" : String(run.retries)],
    ["read and written", run === null ? "–" : bytes(run.read + run.written) + ", " + bytes((run.read + run.written) / seconds) + "/s"],
  ];
  byId("facts").replaceChildren(
    ...facts.map(([name, text]) => {
      const part = make("div");
      const dd = make("dd", text);
      dd.dataset.fact = name;
      part.append(make("dt", name), dd);
      return part;
    }),
  );
  showOperations(operations, isComplete);
  const workers = run === null ? [] : run.workers;
  byId("no-workers").hidden = workers.length > 0;
  byId("workers").replaceChildren(
    ...workers.map((w) => {
      const row = make("tr", undefined, w.isHere ? "" : "gone");
      row.append(make("td", w.name), make("td", String(w.tasks)), make("td", w.last));
      return row;
    }),
  );
  const retries = run === null ? [] : run.lastRetries;
  byId("retries-section").hidden = retries.length === 0;
  byId("retries").replaceChildren(
    ...retries.map((r) => make("li", r.operation + ", task " + r.index + ": " + r.reason)),
  );
  document.body.dataset.looks = String(Number(document.body.dataset.looks || 0) + 1);
}

async function ask() {
  try {
    const answer = await fetch("status.json", { cache: "no-store" });
    if (!answer.ok) throw new Error(await answer.text());
    show(await answer.json());
  } catch (error) {
    byId("state").textContent = "no answer: " + (error instanceof Error ? error.message : String(error));
  }
  setTimeout(ask, document.hidden ? 5000 : 1000);
}
ask();
`;
