/** Which workload, how far, and how much longer: one line on a terminal, a line a workload elsewhere. */
import type { Progress } from "./run.ts";

export function progressLine(): { readonly show: Progress; end(): void } {
  const started = performance.now();
  const terminal = process.stdout.isTTY === true;
  let last = "";
  const show: Progress = (done, all, workload, what) => {
    const passed = (performance.now() - started) / 1000;
    const left = done === 0 ? "" : `, about ${clock((passed / done) * (all - done))} left`;
    const head = `[${done + 1}/${all}] ${workload.group}: ${workload.title}`;
    if (terminal)
      process.stdout.write(`\r\x1b[K${head}: ${what}${left}`.slice(0, process.stdout.columns ?? 120));
    else if (head !== last) console.log(`${head} (${clock(passed)} passed${left})`);
    last = head;
  };
  return { show, end: () => terminal && process.stdout.write("\r\x1b[K") };
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
