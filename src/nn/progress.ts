/** A line that says how training goes: rewritten where there is a terminal, now and then a line where there is none. */

/** Who writes it. */
export interface Progress {
  /** Writes some text. */
  write(text: string): void;
  /** A terminal's line can be rewritten. */
  readonly isTTY?: boolean | undefined;
  /** Characters of a line. */
  readonly columns?: number | undefined;
}

export interface At {
  readonly step: number;
  readonly epoch: number;
  readonly loss: number;
  readonly lr: number;
  readonly samples: number;
}

/** Milliseconds between two looks: of a terminal, and of a file. */
const OFTEN = 100;
const SELDOM = 2000;

interface Host {
  readonly process?: { readonly stderr?: Progress };
}

function hostProgress(): Progress | null {
  const { stderr } = (globalThis as Host).process ?? {};
  if (stderr === undefined) return null;
  // A stream's write belongs to it.
  return { write: (text) => stderr.write(text), isTTY: stderr.isTTY, columns: stderr.columns };
}

export const clock = (seconds: number): string => {
  if (!Number.isFinite(seconds)) return "?";
  const s = Math.round(seconds);
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
};

const rate = (perSecond: number): string =>
  perSecond >= 10_000
    ? `${(perSecond / 1000).toFixed(0)}k/s`
    : perSecond >= 100
      ? `${perSecond.toFixed(0)}/s`
      : `${perSecond.toFixed(1)}/s`;

/** The text of a moment: bar, loss, rate, what is left. */
export function lineOf(at: At, total: number, epochs: number, seconds: number): string {
  const share = at.step / total;
  const bar = Number.isFinite(total)
    ? `${"█".repeat(Math.round(share * 20)).padEnd(20, "░")} ${String(Math.floor(share * 100)).padStart(3)} %  `
    : "";
  const parts = [
    epochs > 1 ? `epoch ${at.epoch + 1}/${epochs}` : null,
    `step ${at.step}${Number.isFinite(total) ? `/${total}` : ""}`,
    `loss ${at.loss.toPrecision(4)}`,
    `lr ${Number(at.lr.toPrecision(3))}`,
    rate(at.samples / Math.max(seconds, 1e-9)),
    Number.isFinite(total) ? `${clock((seconds / at.step) * (total - at.step))} left` : clock(seconds),
  ];
  return `${bar}${parts.filter((p) => p !== null).join("  ")}`;
}

export interface ProgressLine {
  step(at: At): void;
  end(): void;
  print(text: string): void;
}

export function progressLine(wanted: boolean | Progress, total: number, epochs: number): ProgressLine {
  const to = wanted === false ? null : wanted === true ? hostProgress() : wanted;
  const began = performance.now();
  let [shown, last] = [Number.NEGATIVE_INFINITY, null as At | null];
  const show = (at: At, now: number) => {
    const text = lineOf(at, total, epochs, (now - began) / 1000);
    shown = now;
    last = null;
    if (to!.isTTY) to!.write(`\r\x1b[2K${text.slice(0, (to!.columns ?? 80) - 1)}`);
    else to!.write(`${text}\n`);
  };
  return {
    step(at) {
      if (to === null) return;
      const now = performance.now();
      last = at;
      if (now - shown >= (to.isTTY ? OFTEN : SELDOM)) show(at, now);
    },
    end() {
      if (to === null) return;
      if (last !== null) show(last, performance.now());
      if (to.isTTY) to.write("\n");
    },
    print(text) {
      to?.write(`${text}\n`);
    },
  };
}
