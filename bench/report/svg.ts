/** The chart: a panel a workload, a bar a library, lengths on a log scale, strided's in colour; light and dark. */
import type { ContestantResult, WorkloadResult } from "../peers/run.ts";
import { quantity } from "./markdown.ts";
import { figureOf, type Report, representative } from "./report.ts";

/** The workloads shown, as far as they were run. */
const shown = [
  "add",
  "exp",
  "gelu",
  "row",
  "every-second",
  "transposed",
  "sum-1",
  "softmax",
  "transpose",
  "matmul-128",
  "matmul-512",
  "matmul-1024",
];

const width = 960;
const columns = 3;
const margin = { left: 24, top: 78, bottom: 34 };
const panel = { width: (width - 2 * 24) / columns, title: 24, bar: 15, gap: 26 };
const names = 108;
const values = 64;

interface Bar {
  readonly name: string;
  readonly kind: "ours" | "turbo" | "loop" | "js" | "python";
  readonly contestant: ContestantResult;
}

/** strided as it comes and at its best, then each library once: on the machine's own Node where it runs there. */
function barsOf(report: Report): Bar[] {
  const bars: Bar[] = [];
  const own = representative(report, "own");
  const turbo =
    representative(report, "newer", { turbo: true }) ?? representative(report, "own", { turbo: true });
  if (own !== undefined) bars.push({ name: "strided", kind: "ours", contestant: own });
  if (turbo !== undefined) bars.push({ name: "strided turbo", kind: "turbo", contestant: turbo });
  const seen = new Set<string>();
  for (const c of report.contestants) {
    if (c.ours || c.missing !== undefined || seen.has(c.adapter)) continue;
    seen.add(c.adapter);
    const kind = c.adapter === "loops" ? "loop" : c.runtime === "python" ? "python" : "js";
    const elsewhere = kind === "js" && c.runtime !== "own" ? `, ${c.runtimeLabel}` : "";
    bars.push({ name: c.adapter === "loops" ? "plain loop" : `${c.name}${elsewhere}`, kind, contestant: c });
  }
  return bars;
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export function chart(report: Report): string {
  const bars = barsOf(report);
  const list = shown.map((id) => report.workloads.find((w) => w.id === id)).filter((w) => w !== undefined);
  const panelHeight = panel.title + bars.length * panel.bar + panel.gap;
  const height = margin.top + Math.ceil(list.length / columns) * panelHeight + margin.bottom;
  const panels = list.map((w, k) => {
    const x = margin.left + (k % columns) * panel.width;
    const y = margin.top + Math.floor(k / columns) * panelHeight;
    return `<g transform="translate(${x} ${y})">${drawPanel(w, bars)}</g>`;
  });
  const { machine, date, commit } = report;
  const foot = `${machine.cpu}, ${machine.cores} cores; ${date.slice(0, 10)}${commit === null ? "" : `, commit ${commit.hash}`}; strided ${report.version}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Speed relative to a plain typed-array loop, by workload and library">
<style>
  svg { --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --ours: #0969da; --turbo: #54a3ff; --loop: #9a6700; --js: #a8b3bf; --python: #7d8b99; --back: #ffffff; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #f0f6fc; --soft: #9198a1; --line: #3d444d; --ours: #4493f8; --turbo: #9cc8ff; --loop: #d29922; --js: #59636e; --python: #7d8792; --back: #0d1117; }
  }
  text { font: 11px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink); }
  .head { font-size: 17px; font-weight: 600; }
  .title { font-size: 13px; font-weight: 600; }
  .soft { fill: var(--soft); }
  .strong { font-weight: 600; }
  .value { paint-order: stroke; stroke: var(--back); stroke-width: 3px; stroke-linejoin: round; }
  .back { fill: var(--back); }
  .grid { stroke: var(--line); stroke-width: 1; }
  .base { stroke: var(--soft); stroke-width: 1; }
  .ours { fill: var(--ours); } .turbo { fill: var(--turbo); } .loop { fill: var(--loop); } .js { fill: var(--js); } .python { fill: var(--python); }
</style>
<rect class="back" width="${width}" height="${height}"/>
<text class="head" x="${margin.left}" y="28">Speed relative to a plain typed-array loop</text>
<text class="soft" x="${margin.left}" y="47">log scale, longer is faster; beside each bar the time of a call, or GFLOP/s</text>
${legend(report, bars)}
${panels.join("\n")}
<text class="soft" x="${margin.left}" y="${height - 14}">${escaped(foot)}</text>
</svg>
`;
}

function legend(report: Report, bars: readonly Bar[]): string {
  const threads = (c: ContestantResult | undefined) =>
    c === undefined ? "" : `${c.threads} threads, ${c.runtimeLabel}`;
  const of = (kind: Bar["kind"]) => bars.find((b) => b.kind === kind)?.contestant;
  const items: [Bar["kind"], string][] = [
    ["ours", `strided, ${threads(of("ours"))}`],
    ["turbo", `strided turbo, ${threads(of("turbo"))}`],
    ["loop", `plain loop, ${of("loop")?.runtimeLabel ?? ""}`],
    ["js", `JavaScript libraries, ${of("js")?.runtimeLabel ?? ""}`],
    ["python", `Python libraries, ${report.machine.cores} threads`],
  ];
  let x = margin.left;
  return items
    .filter(([kind]) => of(kind) !== undefined)
    .map(([kind, text]) => {
      const item = `<rect class="${kind}" x="${x}" y="56" width="11" height="11" rx="2"/><text class="soft" x="${x + 16}" y="66">${escaped(text)}</text>`;
      x += 28 + text.length * 5.5;
      return item;
    })
    .join("");
}

function drawPanel(w: WorkloadResult, bars: readonly Bar[]): string {
  const speeds = bars.map((b) => {
    const figure = figureOf(w, b.contestant.id);
    return figure === undefined ? null : 1 / figure.median;
  });
  const known = speeds.filter((s) => s !== null);
  const loop = bars.findIndex((b) => b.kind === "loop");
  const base = loop >= 0 ? speeds[loop] : null;
  const unit = base ?? Math.min(...known);
  const most = Math.max(...known, unit) / unit;
  const low = Math.min(...known, unit) / unit / 1.8;
  const room = panel.width - names - values - 14;
  const place = (speed: number) => (Math.log(speed / low) / Math.log(most / low)) * room;
  const title = w.group === "matmul" ? `matmul ${w.title}` : w.title;
  const bottom = panel.title + bars.length * panel.bar;
  // Without a loop there is nothing to be relative to.
  const grid = (base === null ? [] : decades(low, most)).map((tick) => {
    const x = (names + place(tick)).toFixed(1);
    const text = tick >= 1 ? `${tick}×` : `1/${Math.round(1 / tick)}`;
    return `<line class="${tick === 1 ? "base" : "grid"}" x1="${x}" x2="${x}" y1="${panel.title - 6}" y2="${bottom}"/><text class="soft" x="${x}" y="${bottom + 11}" text-anchor="middle" style="font-size:9px">${text}</text>`;
  });
  const drawn = bars.map((bar, k) =>
    drawBar(w, bar, speeds[k] === null ? null : place(speeds[k] / unit), panel.title + k * panel.bar),
  );
  return `<text class="title" x="0" y="12">${escaped(title)}</text>${grid.join("")}${drawn.join("")}`;
}

function decades(low: number, most: number): number[] {
  const ticks: number[] = [];
  for (let e = Math.ceil(Math.log10(low)); e <= Math.floor(Math.log10(most)); e++)
    ticks.push(Number(`1e${e}`));
  return ticks;
}

function drawBar(w: WorkloadResult, bar: Bar, length: number | null, y: number): string {
  const ours = bar.kind === "ours" || bar.kind === "turbo";
  const weight = ours ? "strong" : "soft";
  const name = `<text class="${weight}" x="${names - 6}" y="${y + 10}" text-anchor="end">${escaped(bar.name)}</text>`;
  const figure = figureOf(w, bar.contestant.id);
  if (length === null || figure === undefined) {
    return `${name}<text class="soft" x="${names + 3}" y="${y + 10}">–</text>`;
  }
  const size = Math.max(1.5, length).toFixed(1);
  const text = `<text class="${weight} value" x="${(names + length + 5).toFixed(1)}" y="${y + 10}">${escaped(quantity(w, figure.median))}</text>`;
  return `${name}<rect class="${bar.kind}" x="${names}" y="${y + 1}" width="${size}" height="${panel.bar - 4}" rx="2"/>${text}`;
}
