/** Sections of npm run bench that measure against the machine's limits and against NumPy and torch. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { engine } from "../src/engine.ts";
import { full, kernel, matmul, softmax, type Tensor, tensor, zeros } from "../src/index.ts";
import { duration, median, table, timeAll, timesAsFast } from "./harness.ts";
import { blasKernels } from "./openblas.ts";
import { checkSamples, findPython, Python, sampleValues, takeTurns } from "./python.ts";
import type { Workload } from "./workloads.ts";

const atLeast = (value: number, target: number | null, unit = "") =>
  target === null ? "" : `≥ ${target}${unit} ${value >= target ? "✓" : "✗"}`;
const sampled = (...shape: number[]): Tensor =>
  tensor(sampleValues(shape.reduce((a, b) => a * b, 1)), { shape });

/** A program of native/, compiled; null without a C compiler. */
function compiled<R>(name: string, use: (program: string) => R): R | null {
  const folder = mkdtempSync(join(tmpdir(), "strided-bench-"));
  try {
    const program = join(folder, name);
    const source = fileURLToPath(new URL(`./native/${name}.c`, import.meta.url));
    const built = spawnSync("cc", ["-O3", "-march=native", "-pthread", "-o", program, source]);
    if (built.status === 0) return use(program);
    console.log("no C compiler here: the comparison with C is left out");
    return null;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Add into an existing output beside the same loop in C, in cache and out of it, taking turns. */
export function againstC(): void {
  compiled("add", (program) => {
    const rows = [["a + b into out", "strided GB/s", "C GB/s", "ratio", "target"]];
    const add = kernel((a: number, b: number) => a + b);
    for (const [label, n] of [
      ["64K floats (cache)", 1 << 16],
      ["16M floats (memory)", 1 << 24],
    ] as const) {
      // Memory that was never written is one page of zeros, and stays in the cache.
      const [a, b, out] = [full(n, 1.5), full(n, 2.5), full(n, 0)];
      const run = () => add.into(out, a, b);
      for (let i = 0; i < 2000 && n < 1 << 20; i++) run();
      const ours: number[] = [];
      const theirs: number[] = [];
      for (let turn = 0; turn < 7; turn++) {
        theirs.push(Number(execFileSync(program, [String(n), "9"], { encoding: "utf8" })));
        ours.push(timeAll([{ name: "strided", run }], { rounds: 9 })[0].median);
      }
      const [s, c] = [median(ours), median(theirs)];
      const rate = (ms: number) => ((12 * n) / ms / 1e6).toFixed(1);
      rows.push([label, rate(s), rate(c), (c / s).toFixed(2), atLeast(c / s, 0.9)]);
    }
    console.log(table(rows));
  });
}

/** One thread beside all of them: large work gains, and no size loses. */
export function threads(workloads: readonly Workload[]): void {
  const { kernels, pool } = engine();
  const rows = [["", "one thread", `${pool.threads} threads`, "gain", "target"]];
  const compare = (name: string, run: () => void, target: number | null) => {
    const [one, all] = timeAll(
      [
        { name: "one", run: () => kernels.alone(run) },
        { name: "all", run },
      ],
      { rounds: 9, warm: 100 },
    );
    const gain = timesAsFast(all, one);
    rows.push([name, duration(one.median), duration(all.median), gain.toFixed(2), atLeast(gain, target)]);
  };
  for (const w of workloads) {
    const { ours } = w.make();
    compare(w.name, ours.run, w.name.startsWith("exp") || w.name.startsWith("tanh") ? 1.8 : null);
  }
  for (const n of [64, 128, 256, 512, 1024]) {
    const [a, b, out] = [sampled(n, n), sampled(n, n), zeros([n, n])];
    compare(`matmul ${n}`, () => matmul(a, b, { out }), n >= 256 ? 1.8 : 0.95);
  }
  const add = kernel((a: number, b: number) => a + b);
  for (let n = 1; n <= 1e7; n *= 10) {
    const [a, b, out] = [full(n, 1), full(n, 2), full(n, 0)];
    compare(`add of 10^${Math.log10(n).toFixed(0)}`, () => add.into(out, a, b), 0.95);
  }
  console.log(table(rows));
}

/** Matrix products beside OpenBLAS through NumPy; `targets`: the ratio asked for, by size; null: for the record. */
export async function matmuls(targets: Readonly<Record<number, number | null>>): Promise<void> {
  const found = findPython("numpy");
  if (found === null) {
    console.log("no NumPy here (Debian: apt-get install python3-numpy): the comparison is left out");
    shapes();
    return;
  }
  const peers = blasKernels(found.python).map((kernels) => ({
    kernels,
    python: new Python(found.python, engine().pool.threads, "numpy", kernels),
  }));
  // What WebAssembly can do too, 256 bits, is what the targets are about.
  const equal = peers.at(-1)!;
  const rows = [
    [
      "f32",
      "strided GFLOP/s",
      ...peers.flatMap((p) => [
        `OpenBLAS, ${p.kernels.vectors}`,
        "ratio",
        ...(p === equal ? ["target"] : []),
      ]),
    ],
  ];
  // The tile is found, and V8's second tier has come, before anything is timed.
  const warm = sampled(512, 512);
  for (let i = 0; i < 40; i++) matmul(warm, warm).dispose();
  for (const [size, target] of Object.entries(targets)) {
    const n = Number(size);
    const [a, b] = [sampled(n, n), sampled(n, n)];
    const out = matmul(a, b);
    const rate = (ms: number) => ((2 * n ** 3) / ms / 1e6).toFixed(1);
    const cells: string[] = [];
    let own = "";
    for (const peer of peers) {
      peer.python.resume();
      checkSamples(size, out, await peer.python.prepare("matmul", [n, n], [n, n]), 1e-4);
      const { ours, theirs, ratio } = await takeTurns(peer.python, () => matmul(a, b, { out }));
      own = rate(ours);
      cells.push(rate(theirs), ratio.toFixed(2));
      if (peer === equal) cells.push(atLeast(ratio, target));
      peer.python.pause();
    }
    rows.push([size, own, ...cells]);
  }
  for (const { python, kernels } of peers) {
    python.close();
    if (kernels.forced) {
      console.log(
        `OpenBLAS is told to use its ${kernels.core} kernels: it would not find them by itself here`,
      );
    }
  }
  if (peers.length > 1) console.log("512-bit vectors are not to be had from WebAssembly; targets: 256 bits");
  console.log(table(rows));
  shapes();
}

/** Products of other shapes beside the one of 1024, taking turns: their rates should be the same. */
function shapes(): void {
  const [a, b, out] = [sampled(1024, 1024), sampled(1024, 1024), zeros([1024, 1024])];
  const [x, y, products] = [sampled(64, 128, 128), sampled(64, 128, 128), zeros([64, 128, 128])];
  const one = { name: "1024", run: () => matmul(a, b, { out }) };
  for (const [name, run, work, target] of [
    ["Aᵀ·B of 1024", () => matmul(a.T, b, { out }), 1, 0.95],
    ["64 of 128", () => matmul(x, y, { out: products }), (64 * 128 ** 3) / 1024 ** 3, 0.9],
  ] as const) {
    const [large, other] = timeAll([one, { name, run }], { rounds: 9, turn: 30, warm: 150 });
    const share = work * timesAsFast(other, large);
    console.log(`${name}: ${share.toFixed(2)} of the rate of one product of 1024  ${atLeast(share, target)}`);
  }
}

/** Both cores busy for a while: hosts give an idle machine's cores back only after some time. */
function wakeUp(run: () => void): void {
  const end = performance.now() + 400;
  while (performance.now() < end) run();
}

/** Folds beside the speed at which memory can be read. */
export function folds(): void {
  compiled("read", (program) => {
    const x = sampled(4096, 4096);
    const [vector, out] = [sampled(4096), zeros([4096])];
    const rows = [["4096 × 4096 f32", "strided", "GB/s", "read GB/s", "ratio", "target"]];
    const count = String(engine().pool.threads);
    wakeUp(() => x.min({ axis: 1 }).dispose());
    for (const [name, run] of [
      ["sum, axis 0", () => x.sum({ axis: 0 }).dispose()],
      ["sum, axis 1", () => x.sum({ axis: 1 }).dispose()],
      ["sum of all", () => x.sum().dispose()],
      ["max, axis 1", () => x.max({ axis: 1 }).dispose()],
      ["matrix · vector", () => matmul(x, vector, { out })],
      ["vector · matrix", () => matmul(vector, x, { out })],
    ] as const) {
      const ours: number[] = [];
      const limit: number[] = [];
      const rateOf = (ms: number) => (4 * 4096 * 4096) / ms / 1e6;
      const ratios: number[] = [];
      for (let turn = 0; turn < 7; turn++) {
        limit.push(Number(execFileSync(program, ["64", count, "15"], { encoding: "utf8" })));
        ours.push(timeAll([{ name, run }], { rounds: 7 })[0].median);
        ratios.push(rateOf(ours[turn]) / limit[turn]);
      }
      const ms = median(ours);
      const rate = rateOf(ms);
      const ratio = median(ratios);
      rows.push([
        name,
        duration(ms),
        rate.toFixed(1),
        median(limit).toFixed(1),
        ratio.toFixed(2),
        atLeast(ratio, 0.8),
      ]);
    }
    console.log(table(rows));
  });
}

/** Strided and broadcast operands beside NumPy; softmax and copies beside torch. */
export async function layouts(): Promise<void> {
  const rows = [["", "strided", "they", "ratio", "target"]];
  const count = engine().pool.threads;
  const add = kernel((a: number, b: number) => a + b);
  const compare = async (
    python: Python,
    name: string,
    run: () => Tensor,
    target: number,
    tolerance: number,
    ...request: [string, ...unknown[]]
  ) => {
    const made = run();
    checkSamples(name, made, await python.prepare(...request), tolerance);
    const { ours, theirs, ratio } = await takeTurns(python, () => void run());
    rows.push([name, duration(ours), duration(theirs), `${ratio.toFixed(2)}x`, atLeast(ratio, target, "x")]);
  };
  const numpy = findPython("numpy");
  if (numpy === null) console.log("no NumPy here (Debian: apt-get install python3-numpy)");
  else {
    const python = new Python(numpy.python, count, "numpy");
    const name = `NumPy ${numpy.version}`;
    const n = 4096;
    const [a, b, row] = [sampled(n, n), sampled(n, n), sampled(n)];
    const out = full([n, n], 0);
    const half = full([n, n / 2], 0);
    const [step, left] = [a.slice(":", "::2"), b.slice(":", `:${n / 2}`)];
    wakeUp(() => a.min({ axis: 1 }).dispose());
    await compare(python, `a + row, ${name}`, () => add.into(out, a, row), 2, 0, "strided", "row");
    await compare(
      python,
      `a[:, ::2] + b, ${name}`,
      () => add.into(half, step, left),
      2,
      0,
      "strided",
      "step",
    );
    await compare(python, `a.T + b, ${name}`, () => add.into(out, a.T, b), 2, 0, "strided", "turned");
    python.close();
  }
  const torch = findPython("torch");
  if (torch === null) console.log("no torch here (Debian: apt-get install python3-torch)");
  else {
    const python = new Python(torch.python, count, "torch");
    const name = `torch ${torch.version}`;
    const x = sampled(2048, 4096);
    let last: Tensor | null = null;
    const run = () => {
      last?.dispose();
      last = softmax(x);
      return last;
    };
    await compare(python, `softmax (2048, 4096), ${name}`, run, 1, 1e-5, "softmax");
    for (const shape of [
      [64, 512, 512],
      [8192, 8192],
    ]) {
      const from = sampled(...shape).swapAxes(-1, -2);
      const to = full([...from.shape], 0);
      const label = `transposed copy (${shape.join(", ")}), ${name}`;
      await compare(python, label, () => to.assign(from), 1, 0, "permuted", ...shape);
    }
    python.close();
  }
  console.log(table(rows));
}
