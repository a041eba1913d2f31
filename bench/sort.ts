/**
 * Sorting beside JavaScript's own: sort and argsort of 10^6 f32 against Float32Array.prototype.sort, on data of several
 * kinds. Results are compared before anything is timed, both sides take turns.
 */
import { engine } from "../src/engine.ts";
import { tensor } from "../src/index.ts";
import { argsort, sort, topk } from "../src/library/sort.ts";
import { type Contestant, duration, isShown, table, timeAll, timesAsFast, verify } from "./harness.ts";

const N = Number(process.env.BENCH_SORT_N ?? 1_000_000);

/** A repeatable sequence of 32-bit numbers. */
function* numbers(seed: number): Generator<number> {
  for (let x = seed; ; ) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    yield (x ^ (x >>> 15)) >>> 0;
  }
}

const kinds: Readonly<Record<string, { readonly make: () => Float32Array; readonly target: number | null }>> =
  {
    random: { make: () => filled((x) => x / 2 ** 31 - 1), target: 5 },
    "nearly sorted": { make: () => filled((x, i) => (x % 100 === 0 ? x / 2 ** 32 : i / N)), target: null },
    "many duplicates": { make: () => filled((x) => x % 100), target: null },
    reversed: { make: () => filled((_, i) => N - i), target: null },
  };

function filled(value: (random: number, i: number) => number): Float32Array {
  const random = numbers(1);
  return Float32Array.from({ length: N }, (_, i) => value(random.next().value, i));
}

/** One row a kind of data. */
export function sortSection(): void {
  const rows = [["", "sort", "argsort", "top 100", "Float32Array sort", "ratio", "target"]];
  for (const [name, { make, target }] of Object.entries(kinds)) {
    if (!isShown({ target })) continue;
    const values = make();
    const t = tensor(values);
    const copy = new Float32Array(N);
    const contestants: Contestant[] = [
      { name: "sort", run: () => sort(t).dispose() },
      { name: "argsort", run: () => argsort(t).dispose() },
      {
        name: "topk",
        run: () => {
          const { values, indices } = topk(t, 100);
          values.dispose();
          indices.dispose();
        },
      },
      {
        name: "theirs",
        run: () => {
          copy.set(values);
          copy.sort();
        },
      },
    ];
    contestants[3].run();
    verifyBoth(name, t, values, copy);
    const [ours, positions, few, theirs] = timeAll(contestants, { rounds: 9, turn: 2 });
    const ratio = timesAsFast(ours, theirs);
    const goal = target === null ? "" : `≥ ${target}x ${ratio >= target ? "✓" : "✗"}`;
    const times = [ours, positions, few, theirs].map((x) => duration(x.median));
    rows.push([`${N} f32, ${name}`, ...times, `${ratio.toFixed(1)}x`, goal]);
    t.dispose();
  }
  console.log(table(rows));
}

function verifyBoth(
  name: string,
  t: Parameters<typeof sort>[0],
  values: Float32Array,
  want: Float32Array,
): void {
  const sorted = sort(t);
  const positions = argsort(t);
  verify(`sort, ${name}`, sorted.data as Float32Array, want);
  verify(
    `argsort, ${name}`,
    Float32Array.from(positions.data, (i) => values[Number(i)]),
    want,
  );
  sorted.dispose();
  positions.dispose();
}

if (process.argv[1]?.endsWith("sort.ts")) {
  engine().pool.waitUntilReady();
  sortSection();
}
