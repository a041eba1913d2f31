/**
 * Timing, the same way everywhere: results are verified before anything is timed, contestants alternate within one run,
 * medians are reported, and ratios are what counts: absolute times belong to the machine of the day.
 */
export interface Contestant {
  readonly name: string;
  readonly run: () => void;
}

export interface Timing {
  readonly name: string;
  /** Milliseconds a call, median and the middle half's width. */
  readonly median: number;
  readonly spread: number;
  /** Each round's, in order. */
  readonly times: readonly number[];
}

/** The middle one, or what lies between the two in the middle. */
export function median(x: readonly number[]): number {
  const sorted = [...x].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** How many times as fast `a` is as `b`: the median of the rounds' own ratios. A slow while is slow for both. */
export const timesAsFast = (a: Pick<Timing, "times">, b: Pick<Timing, "times">): number =>
  median(a.times.map((ms, round) => b.times[round] / ms));

export interface TimingOptions {
  /** Rounds in which every contestant runs once; default 15. */
  readonly rounds?: number;
  /** A contestant's turn lasts at least this many milliseconds; short calls are repeated. Default 4. */
  readonly turn?: number;
  /**
   * And begins after so many milliseconds that do not count, default 60: V8 compiles in the background, on a core that
   * threads need, and virtual cores that were idle come back slowly.
   */
  readonly warm?: number;
}

/** In a run of all parts, the slow ones leave out what nothing is asked of. */
export const isShown = ({ target }: { readonly target: number | null }): boolean =>
  target !== null || process.env.BENCH_SHORT === undefined;

/** Milliseconds that passed, or with BENCH_CPU=1 those of processors, all threads together. */
const now = (): number => {
  if (process.env.BENCH_CPU === undefined) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Milliseconds after which a call is warm though it has not run three times. */
const LONG_WARM = 300;

/** Times all contestants, turn by turn. */
export function timeAll(contestants: readonly Contestant[], options: TimingOptions = {}): Timing[] {
  const { rounds = 15, turn = 4, warm = 60 } = options;
  const repeats = contestants.map(({ run }) => {
    const warming = performance.now();
    let runs = 0;
    let last = 0;
    do {
      const before = performance.now();
      run();
      last = performance.now() - before;
    } while (++runs < 3 ? performance.now() - warming < LONG_WARM : performance.now() - warming < warm);
    if (last > turn) return 1;
    const start = performance.now();
    let calls = 0;
    do {
      run();
      calls++;
    } while (performance.now() - start < turn);
    return calls;
  });
  const times: number[][] = contestants.map(() => []);
  for (let round = 0; round < rounds; round++) {
    contestants.forEach(({ run }, c) => {
      const start = now();
      for (let i = 0; i < repeats[c]; i++) run();
      times[c].push((now() - start) / repeats[c]);
    });
  }
  return contestants.map(({ name }, c) => {
    const sorted = [...times[c]].sort((a, b) => a - b);
    const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
    return { name, median: median(times[c]), spread: at(0.75) - at(0.25), times: times[c] };
  });
}

/** Milliseconds a trial takes, unless a call of each takes longer. */
const TRIAL = 800;

/**
 * Milliseconds a call of each, the least of a few short turns: enough to tell which is fastest, no result. Those that
 * are far behind once they are warm get no more turns.
 */
export function trial(contestants: readonly Contestant[]): number[] {
  const start = performance.now();
  const passed = () => performance.now() - start;
  const least = contestants.map(() => Infinity);
  const turn = (c: number) => {
    const from = passed();
    let calls = 0;
    do {
      contestants[c].run();
      calls++;
    } while (passed() - from < 2);
    least[c] = Math.min(least[c], (passed() - from) / calls);
  };
  for (const c of contestants.keys()) {
    const from = passed();
    for (let turns = 0; passed() - from < 20 || (turns < 3 && passed() - from < 120); turns++) turn(c);
  }
  const close = [...contestants.keys()].filter((c) => least[c] < 1.5 * Math.min(...least));
  for (let round = 0; close.length > 1 && round < 5 && passed() < TRIAL; round++) close.forEach(turn);
  return least;
}

/** Throws unless both sides agree; a benchmark of a wrong result is worth nothing. */
export function verify(name: string, got: ArrayLike<number>, want: ArrayLike<number>, tolerance = 0): void {
  if (got.length !== want.length) throw new Error(`${name}: ${got.length} elements, expected ${want.length}`);
  for (let i = 0; i < got.length; i++) {
    const error = Math.abs(got[i] - want[i]);
    if (
      error > tolerance * Math.max(1, Math.abs(want[i])) ||
      Number.isNaN(got[i]) !== Number.isNaN(want[i])
    ) {
      throw new Error(`${name}: element ${i} is ${got[i]}, expected ${want[i]}`);
    }
  }
}

/** Milliseconds, or microseconds for short calls. */
export function duration(ms: number): string {
  if (ms >= 1) return `${ms.toFixed(2)} ms`;
  return ms >= 0.001 ? `${(ms * 1000).toFixed(2)} µs` : `${(ms * 1e6).toFixed(0)} ns`;
}

/** Columns of equal width; the first is aligned left, the others right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, c) => Math.max(...rows.map((r) => r[c].length)));
  return rows
    .map((row) =>
      row.map((cell, c) => (c === 0 ? cell.padEnd(widths[c]) : cell.padStart(widths[c]))).join("  "),
    )
    .join("\n");
}
