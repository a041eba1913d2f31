/** Progress on one line: what runs, how far it is, how fast, and what is left. */
import { showBytes } from "./memory.ts";
import type { Plan, ProgressEvent } from "./types.ts";

export interface ProgressLine {
  readonly tell: (event: ProgressEvent) => void;
  readonly end: () => void;
}

/** Sums up events; `line` is what to show now. Time is given, so that it can be tested. */
export function progressOf(plan: Plan): { tell(event: ProgressEvent): void; line(now: number): string } {
  const total = plan.operations.reduce((n, op) => n + op.tasks, 0);
  let [done, ran, bytes, retries] = [0, 0, 0, 0];
  let current = "";
  let start: number | null = null;
  const workers = new Set<string>();
  return {
    tell(event) {
      switch (event.kind) {
        case "operation":
          current = event.operation;
          done += event.tasks - event.pending;
          break;
        case "task":
          done++;
          ran++;
          bytes += event.report.read + event.report.written;
          if (event.worker !== undefined) workers.add(event.worker);
          break;
        case "retry":
          retries++;
          break;
        case "worker":
          if (event.state === "joined") workers.add(event.worker);
          else workers.delete(event.worker);
          break;
        case "end":
          break;
      }
    },
    line(now) {
      start ??= now;
      const seconds = (now - start) / 1000;
      const rate = seconds > 0 ? ran / seconds : 0;
      const left = rate > 0 ? (total - done) / rate : Number.NaN;
      const parts = [
        `${done}/${total} tasks`,
        current,
        seconds > 0 ? `${rate.toFixed(1)} tasks/s` : "",
        seconds > 0 ? `${showBytes(Math.round(bytes / seconds))}/s` : "",
        Number.isFinite(left) ? `${Math.ceil(left)} s left` : "",
        workers.size > 0 ? `${workers.size} workers` : "",
        retries > 0 ? `${retries} retries` : "",
      ];
      return parts.filter((part) => part !== "").join("  ");
    },
  };
}

interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Writes the line to the terminal's error output, several times a second at the most. */
export function progressPrinter(plan: Plan): ProgressLine {
  const screen = (globalThis as { process?: { stderr?: Screen } }).process?.stderr;
  const sum = progressOf(plan);
  let shown = 0;
  const show = () => {
    const isLine = screen?.isTTY === true;
    screen?.write(isLine ? `\r\x1b[K${sum.line(performance.now())}` : `${sum.line(performance.now())}\n`);
  };
  sum.line(performance.now());
  return {
    tell(event) {
      sum.tell(event);
      const now = performance.now();
      if (now - shown < (screen?.isTTY === true ? 200 : 5000) && event.kind !== "end") return;
      shown = now;
      show();
    },
    end() {
      if (screen?.isTTY === true) screen.write("\n");
    },
  };
}
