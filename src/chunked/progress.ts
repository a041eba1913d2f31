/** Progress on one line: what runs, how far it is, how fast, and what is left. */
import { showBytes } from "./memory.ts";
import type { Plan, ProgressEvent } from "./types.ts";

export interface ProgressLine {
  readonly tell: (event: ProgressEvent) => void;
  readonly end: () => void;
}

/** Milliseconds after which a worker of which nothing is heard is not counted any more. */
const SILENT = 60_000;

/** Seconds as people read them. */
function showSeconds(seconds: number): string {
  const n = Math.ceil(seconds);
  if (n < 120) return `${n} s`;
  if (n < 7200) return `${Math.floor(n / 60)} min ${n % 60} s`;
  return `${Math.floor(n / 3600)} h ${Math.floor((n % 3600) / 60)} min`;
}

/** Sums up events; `line` is what to show now. Time is given, so that it can be tested. */
export function progressOf(plan: Plan): {
  tell(event: ProgressEvent, now?: number): void;
  line(now: number): string;
} {
  const total = plan.operations.reduce((n, op) => n + op.tasks, 0);
  let [done, ran, bytes, retries] = [0, 0, 0, 0];
  let current = "";
  let start: number | null = null;
  /** When each was last heard of; those of this machine say when they leave. */
  const workers = new Map<string, number>();
  return {
    tell(event, now = performance.now()) {
      switch (event.kind) {
        case "operation":
          current = event.operation;
          done += event.tasks - event.pending;
          break;
        case "task":
          done++;
          ran++;
          bytes += event.report.read + event.report.written;
          if (event.worker !== undefined && workers.get(event.worker) !== Number.POSITIVE_INFINITY)
            workers.set(event.worker, now);
          break;
        case "retry":
          retries++;
          break;
        case "worker":
          if (event.state === "joined") workers.set(event.worker, Number.POSITIVE_INFINITY);
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
      const there = [...workers.values()].filter((heard) => now - heard < SILENT).length;
      const parts = [
        `${done}/${total} tasks`,
        current,
        seconds > 0 ? `${rate.toFixed(1)} tasks/s` : "",
        seconds > 0 ? `${showBytes(Math.round(bytes / seconds))}/s` : "",
        Number.isFinite(left) ? `${showSeconds(left)} left` : "",
        there > 0 ? `${there} worker${there === 1 ? "" : "s"}` : "",
        retries > 0 ? `${retries} retries` : "",
      ];
      return parts.filter((part) => part !== "").join("  ");
    },
  };
}

export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Writes the line to the terminal's error output, several times a second at the most; elsewhere seldom, a line each. */
export function progressPrinter(
  plan: Plan,
  screen: Screen | undefined = (globalThis as { process?: { stderr?: Screen } }).process?.stderr,
): ProgressLine {
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
