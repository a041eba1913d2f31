/** A Python process with NumPy, and torch if it is there, that takes turns with us. See native/peer.py. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Tensor } from "../src/index.ts";
import { median, timesAsFast } from "./harness.ts";
import { type BlasKernels, blasEnvironment } from "./openblas.ts";

/** Debian's own Python comes first: it is the one apt-get installs packages for. */
const candidates = ["/usr/bin/python3", "python3"];

/** A Python that has the module, and the module's version; null: none has. */
export function findPython(module: "numpy" | "torch" | "numba"): { python: string; version: string } | null {
  for (const python of candidates) {
    const code = `import ${module}, numpy; print(${module}.__version__)`;
    const { status, stdout } = spawnSync(python, ["-c", code], { encoding: "utf8" });
    if (status === 0) return { python, version: stdout.trim() };
  }
  return null;
}

export class Python {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #waiting: ((line: string) => void)[] = [];

  constructor(python: string, threads: number, module: "numpy" | "torch", kernels?: BlasKernels) {
    const script = fileURLToPath(new URL("./native/peer.py", import.meta.url));
    const env = {
      ...process.env,
      OPENBLAS_NUM_THREADS: String(threads),
      OMP_NUM_THREADS: String(threads),
      ...(kernels === undefined ? {} : blasEnvironment(kernels)),
    };
    this.#child = spawn(python, [script, String(threads), module], {
      env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout! });
    this.#lines.on("line", (line) => this.#waiting.shift()?.(line));
  }

  #ask(request: object): Promise<unknown> {
    return new Promise((done) => {
      this.#waiting.push((line) => done(JSON.parse(line)));
      this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    });
  }

  /** Sets a workload up; 16 samples of its result. */
  prepare(name: string, ...args: unknown[]): Promise<number[]> {
    return this.#ask({ prepare: name, args }) as Promise<number[]>;
  }

  /** Milliseconds a call. */
  run(times: number): Promise<number> {
    return this.#ask({ run: times }) as Promise<number>;
  }

  /** Out of its turn it stands still: OpenBLAS's threads look for work for 100 ms after a call. */
  pause(): void {
    if (process.platform !== "win32") this.#child.kill("SIGSTOP");
  }

  resume(): void {
    if (process.platform !== "win32") this.#child.kill("SIGCONT");
  }

  close(): void {
    this.resume();
    this.#lines.close();
    this.#child.kill();
  }
}

/** The same values as the other side's. */
export function sampleValues(n: number): Float32Array {
  const out = new Float32Array(n);
  for (let i = 0; i < n; i++) out[i] = ((Math.imul(i, 0x9e3779b1) >>> 0) % 4096) / 1024 - 2;
  return out;
}

/** Throws unless the samples of the result agree. */
export function checkSamples(name: string, result: Tensor, want: readonly number[], tolerance: number): void {
  const flat = result.contiguous().data as Float32Array;
  want.forEach((w, k) => {
    const got = flat[(k * 7919) % flat.length];
    if (!(Math.abs(got - w) <= tolerance * Math.max(1, Math.abs(w))))
      throw new Error(`${name}: sample ${k} is ${got}, expected ${w}`);
  });
}

/** A turn begins with so many milliseconds that do not count: virtual cores that were idle come back slowly. */
const SETTLE_MS = 25;

const busyFor = (ms: number, run: () => void) => {
  for (const from = performance.now(); performance.now() - from < ms; ) run();
};

/**
 * Medians of both sides in milliseconds, turn by turn, and how many times as fast ours is: the median of the rounds'
 * own ratios, so that a machine that is slow for a while is slow for both.
 */
export async function takeTurns(
  python: Python,
  ours: () => void,
  rounds = 13,
): Promise<{ ours: number; theirs: number; ratio: number }> {
  // Warm: V8's second tier has come, and its compiler threads are idle again.
  busyFor(150, ours);
  const start = performance.now();
  let calls = 0;
  do {
    ours();
    calls++;
  } while (performance.now() - start < 20);
  const theirCalls = Math.max(1, Math.round(20 / (await python.run(2))));
  const mine: number[] = [];
  const others: number[] = [];
  for (let round = 0; round < rounds; round++) {
    others.push(await python.run(theirCalls));
    python.pause();
    busyFor(SETTLE_MS, ours);
    const began = performance.now();
    for (let i = 0; i < calls; i++) ours();
    mine.push((performance.now() - began) / calls);
    python.resume();
  }
  const ratio = timesAsFast({ times: mine }, { times: others });
  return { ours: median(mine), theirs: median(others), ratio };
}
