/** How the benchmark went over time, as small pictures: one a workload, speed beside a plain loop by commit. */
import type { HistoryRun } from "../bench/report/history.ts";
import { escapeHtml } from "../explorer/src/highlight.ts";
import type { Section } from "./render.ts";

export type History = readonly HistoryRun[];

/** Its place in the page's list and in the search. */
export const historySection: Section = {
  depth: 2,
  heading: "By commit",
  anchor: "by-commit",
  text: "How the benchmark went over time: each published run, by commit.",
};

const WIDTH = 220;
const HEIGHT = 64;

export function historyHtml(history: History): string {
  const ids = [...new Set(history.flatMap((run) => Object.keys(run.speeds)))];
  if (history.length === 0 || ids.length === 0) return "";
  const rows = history
    .map(
      (r) => `<tr><td>${r.date}</td><td><code>${r.commit}</code></td><td>${escapeHtml(r.machine)}</td></tr>`,
    )
    .join("");
  return `<h2 id="by-commit">By commit</h2>
<p>strided on one thread of the oldest Node beside the plain loop of the same run: how many times as fast, at each published run. Loops are part of it: since 18 November 2026 they are the fastest of several careful ones, which is why many lines fall there.</p>
<div class="history">${ids.map((id) => sparkline(id, history)).join("")}</div>
<div class="table" tabindex="0"><table><thead><tr><th>run</th><th>commit</th><th>machine</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function sparkline(id: string, history: History): string {
  const speeds = history.map((run) => run.speeds[id]);
  const known = speeds.filter((s) => s !== undefined);
  const [low, high] = [Math.min(1, ...known), Math.max(...known, 1.1)].map(Math.log);
  const x = (i: number) => 6 + (i * (WIDTH - 12)) / Math.max(1, history.length - 1);
  const y = (speed: number) => HEIGHT - 8 - ((Math.log(speed) - low) / (high - low)) * (HEIGHT - 16);
  const points = speeds.flatMap((s, i) => (s === undefined ? [] : [`${x(i).toFixed(1)},${y(s).toFixed(1)}`]));
  const dots = speeds
    .map((s, i) =>
      s === undefined
        ? ""
        : `<circle cx="${x(i).toFixed(1)}" cy="${y(s).toFixed(1)}" r="2.5"><title>${history[i].date}, ${history[i].commit}: ${s.toFixed(2)}×</title></circle>`,
    )
    .join("");
  const last = known.at(-1) ?? 1;
  return `<figure><figcaption>${escapeHtml(id)} <b>${last.toPrecision(2)}×</b></figcaption><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(id)}: ${known.map((s) => `${s.toPrecision(2)}×`).join(", ")}"><line class="one" x1="0" x2="${WIDTH}" y1="${y(1).toFixed(1)}" y2="${y(1).toFixed(1)}"/><polyline points="${points.join(" ")}"/>${dots}</svg></figure>`;
}
