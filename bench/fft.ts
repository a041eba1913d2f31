/**
 * Fourier transforms beside NumPy's (pocketfft, one thread), taking turns. A transform is checked at some of its elements,
 * and by its inverse, before anything is timed. Without Python and NumPy the comparison is left out.
 *
 *     node --import tsx bench/fft.ts
 */
import { spawnSync } from "node:child_process";
import { engine } from "../src/engine.ts";
import { type Tensor, tensor } from "../src/index.ts";
import { fft, fft2, ifft, rfft } from "../src/library/fft.ts";
import { duration, isShown, median, table, timeAll } from "./harness.ts";
import { findPython } from "./python.ts";

interface Workload {
  readonly name: string;
  readonly dtype: "f32" | "f64";
  readonly shape: readonly number[];
  readonly run: (z: Tensor) => Tensor;
  /** The same for NumPy, of an array z. */
  readonly numpy: string;
  /** Times NumPy's time that is allowed; null: for the record. */
  readonly target: number | null;
}

const one = (dtype: "f32" | "f64", n: number, target: number | null): Workload => ({
  name: `fft ${n} ${dtype}`,
  dtype,
  shape: [n],
  run: (z) => fft(z),
  numpy: "np.fft.fft(z)",
  target,
});

const workloads: readonly Workload[] = [
  one("f64", 2 ** 20, 3),
  one("f32", 2 ** 20, 3),
  one("f64", 1024, null),
  one("f64", 1000003, null),
  {
    name: "fft of 1024 lines of 1024, f32",
    dtype: "f32",
    shape: [1024, 1024],
    run: (z) => fft(z),
    numpy: "np.fft.fft(z)",
    target: null,
  },
  {
    name: "fft along the first axis, f32",
    dtype: "f32",
    shape: [1024, 1024],
    run: (z) => fft(z, { axis: 0 }),
    numpy: "np.fft.fft(z, axis=0)",
    target: null,
  },
  {
    name: "fft2 of 1024x1024, f64",
    dtype: "f64",
    shape: [1024, 1024],
    run: (z) => fft2(z),
    numpy: "np.fft.fft2(z)",
    target: null,
  },
  {
    name: "rfft of 4096 lines of 512, f32",
    dtype: "f32",
    shape: [4096, 512],
    run: (z) => {
      const x = z.slice("...", 0);
      const out = rfft(x);
      x.dispose();
      return out;
    },
    numpy: "np.fft.rfft(z.real)",
    target: null,
  },
];

function signal(dtype: "f32" | "f64", shape: readonly number[]): Tensor {
  const size = shape.reduce((a, b) => a * b, 2);
  const values = Float64Array.from({ length: size }, () => Math.random() - 0.5);
  return tensor(dtype === "f64" ? values : Float32Array.from(values), { shape: [...shape, 2] });
}

/** Throws unless the transform of a line of 4096 is right at some places, and its inverse leads back. */
function check(): void {
  const n = 4096;
  const z = signal("f64", [n]);
  const [result, data] = [fft(z), z.data as Float64Array];
  for (const k of [0, 1, 77, 2048, 4095]) {
    let [re, im] = [0, 0];
    for (let j = 0; j < n; j++) {
      const angle = (-2 * Math.PI * ((j * k) % n)) / n;
      re += data[2 * j] * Math.cos(angle) - data[2 * j + 1] * Math.sin(angle);
      im += data[2 * j] * Math.sin(angle) + data[2 * j + 1] * Math.cos(angle);
    }
    const error = Math.hypot(re - Number(result.get(k, 0)), im - Number(result.get(k, 1)));
    if (!(error < 1e-10)) throw new Error(`fft: element ${k} is wrong by ${error}`);
  }
  const back = ifft(result).toTypedArray();
  const worst = data.reduce((m, x, i) => Math.max(m, Math.abs(x - Number(back[i]))), 0);
  if (!(worst < 1e-14)) throw new Error(`ifft(fft(z)) differs from z by ${worst}`);
}

/** Milliseconds of the median call. */
function timeNumpy(python: string, { dtype, shape, numpy }: Workload): number {
  const type = dtype === "f32" ? "np.complex64" : "np.complex128";
  const program = [
    "import time",
    "import numpy as np",
    `z = (np.random.rand(${shape}) + 1j * np.random.rand(${shape})).astype(${type})`,
    "times = []",
    "while len(times) < 3 or sum(times) < 0.1:",
    "    start = time.perf_counter()",
    `    ${numpy}`,
    "    times.append(time.perf_counter() - start)",
    "print(1000 * float(np.median(times)))",
  ].join("\n");
  return Number(spawnSync(python, ["-c", program], { encoding: "utf8" }).stdout);
}

export function benchFft(): void {
  check();
  const numpy = findPython("numpy");
  if (numpy === null) console.log("no python3 with NumPy here: the comparison with it is left out");
  const rows = [["", "strided", "NumPy", "strided / NumPy", "target"]];
  for (const w of workloads.filter(isShown)) {
    const z = signal(w.dtype, w.shape);
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let turn = 0; turn < 2; turn++) {
      ours.push(timeAll([{ name: w.name, run: () => w.run(z).dispose() }], { rounds: 7, turn: 2 })[0].median);
      if (numpy !== null) theirs.push(timeNumpy(numpy.python, w));
    }
    const [s, p] = [median(ours), numpy !== null ? median(theirs) : Number.NaN];
    rows.push([
      w.name,
      duration(s),
      numpy !== null ? duration(p) : "–",
      numpy !== null ? (s / p).toFixed(2) : "–",
      w.target === null || numpy === null ? "" : `≤ ${w.target} ${s / p <= w.target ? "✓" : "✗"}`,
    ]);
    z.dispose();
  }
  console.log(table(rows));
}

if (process.argv[1]?.endsWith("fft.ts")) {
  engine().pool.waitUntilReady();
  benchFft();
  engine().pool.stop();
}
