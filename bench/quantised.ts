/**
 * Blocks beside floats, in one run and turn by turn: dequantise beside this library's own f16 → f32 of as many elements, and
 * products of a 4096 × 4096 matrix in blocks with a vector and with 512 columns beside the f32 product. Each result is
 * compared with the decoded matrix first. BENCH_CPU=1 counts processor time, for a machine that is busy.
 */
import { random, scope, type Tensor, zeros } from "../src/index.ts";
import { type EncodedDType, matmul, type Quantised, quantise } from "../src/quantised.ts";
import { type Contestant, duration, isShown, table, timeAll, timesAsFast, verify } from "./harness.ts";

const N = Number(process.env.BENCH_QUANTISED_N ?? 4096);
const COLUMNS = 512;

/** How many times as fast as the floats' side a type must be: decoded, times a vector, times many columns. */
const targets: Partial<
  Record<EncodedDType, readonly [decode: number, vector: number | null, columns: number | null]>
> = {
  q8_0: [0.8, 1.5, 0.8],
  q4_0: [0.8, 1.5, 0.8],
  q2_K: [0.4, null, null],
  q3_K: [0.4, null, null],
  q4_K: [0.4, null, null],
  q5_K: [0.4, null, null],
  q6_K: [0.4, null, null],
  q8_K: [0.4, null, null],
};

export function benchQuantised(): void {
  const rng = random.generator(1);
  const weights = rng.normal([N, N]);
  const rows = [["", "blocks", "floats", "ratio", "target"]];
  const [vector, matrix] = [rng.normal([N]), rng.normal([N, COLUMNS])];
  const half = weights.to("f16");
  const decoded = zeros([N, N]);
  for (const [dtype, goals] of Object.entries(targets) as [EncodedDType, readonly (number | null)[]][]) {
    const q = quantise(weights, dtype);
    check(q, vector);
    const cases: [name: string, target: number | null, ours: () => void, theirs: () => void][] = [
      [
        `${dtype} → f32, beside f16 → f32`,
        goals[0],
        () => q.dequantise({ out: decoded }),
        () => decoded.assign(half),
      ],
      [`${dtype} times a vector`, goals[1], ...products(q, weights, vector)],
      [`${dtype} times ${COLUMNS} columns`, goals[2], ...products(q, weights, matrix)],
    ];
    for (const [name, target, ours, theirs] of cases) {
      if (!isShown({ target }) || !name.includes(process.env.BENCH_ONLY ?? "")) continue;
      const contestants: Contestant[] = [
        { name: "blocks", run: ours },
        { name: "floats", run: theirs },
      ];
      const [a, b] = timeAll(contestants, { turn: 30, warm: 500 });
      const ratio = timesAsFast(a, b);
      const goal = target === null ? "" : `≥ ${target} ${ratio >= target ? "✓" : "✗"}`;
      rows.push([name, duration(a.median), duration(b.median), ratio.toFixed(2), goal]);
    }
    q.dispose();
  }
  console.log(table(rows));
}

/** Blocks times x, and the floats times x, each into room of its own. */
function products(q: Quantised, weights: Tensor<"f32">, x: Tensor<"f32">): [() => void, () => void] {
  const out = zeros([N, ...x.shape.slice(1)]);
  return [() => matmul(q, x, { out }), () => weights.matmul(x, { out })];
}

/** The products, against the decoded matrix's. */
function check(q: Quantised, x: Tensor<"f32">): void {
  scope(() => {
    const floats = q.dequantise();
    const few = floats.slice("0:64").to("f64").matmul(x.to("f64"));
    verify(`${q.dtype} times a vector`, matmul(q, x).slice("0:64").toTypedArray(), few.toTypedArray(), 1e-3);
    const columns = x.slice(":", null).broadcastTo(N, 8);
    const last = matmul(q, columns).slice("0:64", 7);
    verify(`${q.dtype} times columns`, last.toTypedArray(), few.toTypedArray(), 1e-3);
  });
}
