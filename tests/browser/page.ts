/** Runs in the page: a battery of kernels on the real engine, and what explain says about it. */
import { arange, explain, kernel, matmul, ready, tensor, zeros, zip } from "../../src/index.ts";

async function main(): Promise<Record<string, unknown>> {
  await ready();
  const base = arange(8).reshape(2, 4);
  const a = base.slice(":", "::2");
  const n = 1 << 20;
  const big = arange(n);
  const f = kernel((x: number) => Math.sqrt(x * x + 1) + Math.exp(-x / 1e6) + Math.sin(x));
  const report = explain(() => f(big));
  const out = report.result.toTypedArray() as Float32Array;
  let worst = 0;
  for (let i = 0; i < n; i += 1009) {
    const want = Math.sqrt(i * i + 1) + Math.exp(-i / 1e6) + Math.sin(i);
    worst = Math.max(worst, Math.abs(out[i] - want) / (1 + Math.abs(want)));
  }
  return {
    isolated: globalThis.crossOriginIsolated,
    map: a.map((x) => x + 100).toArray(),
    zip: zip(
      [
        tensor([[10, 20, 30]]),
        tensor([
          [1, 2, 3],
          [4, 5, 6],
        ]),
      ],
      (x, y) => x * y,
    ).toArray(),
    reduce: tensor([
      [1, 2, 3],
      [4, 5, 6],
    ])
      .sum({ axis: 1 })
      .toArray(),
    matmul: matmul(
      tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]),
      tensor([
        [7, 8],
        [9, 10],
        [11, 12],
      ]),
    ).toArray(),
    half: zeros(3, { dtype: "f16" })
      .add(1 / 3)
      .toArray(),
    worst,
    backend: report.kernels[0].backend,
    threads: report.kernels[0].threads,
  };
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
