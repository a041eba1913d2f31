/**
 * Files beside what the machine gives: npy and safetensors beside readSync into one buffer, CSV beside d3-dsv and NumPy's
 * loadtxt, npz beside NumPy. Contestants take turns in one run, results are compared before anything is timed. The file
 * is in the page cache: what is measured is the way from there into a tensor, not the disk.
 *
 *     npm run bench -- files
 *     BENCH_MIB=4096 BENCH_FOLDER=/data npm run bench -- files
 */
import { spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { fromBuffer, type Tensor } from "../src/index.ts";
import { npyHeader } from "../src/io/npy-header.ts";
import { csv, npy, npz, safetensors } from "../src/io.ts";
import { median, table } from "./harness.ts";
import { findPython } from "./python.ts";

const MIB = 1 << 20;
/** Of the files that are read as they are; those that are unpacked or parsed are smaller. */
const size = Number(process.env.BENCH_MIB ?? 1024) * MIB;
const rounds = Number(process.env.BENCH_ROUNDS ?? 7);

interface Contestant {
  readonly name: string;
  readonly run: () => void | Promise<void>;
}

/** Milliseconds of each round, by contestant. */
async function turns(contestants: readonly Contestant[]): Promise<number[][]> {
  // Once for the page cache, once for V8.
  for (let i = 0; i < 2; i++) for (const { run } of contestants) await run();
  const times: number[][] = contestants.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [c, { run }] of contestants.entries()) {
      const start = performance.now();
      await run();
      times[c].push(performance.now() - start);
    }
  }
  return times;
}

const ratioOf = (ours: readonly number[], theirs: readonly number[]): number =>
  median(ours.map((ms, i) => theirs[i] / ms));
const rate = (bytes: number, ms: number): string => `${(bytes / ms / 1e6).toFixed(2)} GB/s`;
const met = (ratio: number, target: number): string => `≥ ${target} ${ratio >= target ? "✓" : "✗"}`;

/** Numbers that differ everywhere, so that a piece in the wrong place is noticed. */
function pattern(from: number, n: number): Float32Array {
  const out = new Float32Array(n);
  for (let i = 0; i < n; i++) out[i] = (from + i) % 8388593;
  return out;
}

/** A header, then floats up to the file's length, a few megabytes at a time. */
function makeFile(path: string, header: Uint8Array, bytes: number): void {
  const fd = openSync(path, "w");
  writeSync(fd, header);
  for (let at = 0; at < bytes; at += 16 * MIB) {
    const piece = pattern(at / 4, Math.min(16 * MIB, bytes - at) / 4);
    writeSync(fd, new Uint8Array(piece.buffer));
  }
  closeSync(fd);
}

function checkPattern(name: string, t: Tensor): void {
  const data = t.data as Float32Array;
  for (let i = 0; i < data.length; i += 1 + (i % 4093)) {
    if (data[i] !== i % 8388593) throw new Error(`${name}: element ${i} is ${data[i]}`);
  }
}

/** All of a file into memory that has been written to before, as a tensor's mostly has. */
function readerOf(path: string): Contestant {
  const bytes = new Uint8Array(new SharedArrayBuffer(statSync(path).size)).fill(1);
  return {
    name: "readSync",
    run: () => {
      const fd = openSync(path, "r");
      for (let at = 0; at < bytes.length; )
        at += readSync(fd, bytes, at, Math.min(bytes.length - at, 2 ** 30), at);
      closeSync(fd);
    },
  };
}

async function beside(name: string, path: string, load: () => Promise<Tensor>): Promise<string[]> {
  const first = await load();
  checkPattern(name, first);
  first.dispose();
  const ours = { name, run: async () => (await load()).dispose() };
  const [mine, plain] = await turns([ours, readerOf(path)]);
  const ratio = ratioOf(mine, plain);
  const bytes = statSync(path).size;
  return [
    name,
    rate(bytes, median(mine)),
    "readSync",
    rate(bytes, median(plain)),
    `${(100 * ratio).toFixed(0)} %`,
    met(ratio, 0.8),
  ];
}

/* Text -------------------------------------------------------------------------------------------------- */

interface Dsv {
  csvParseRows(text: string, row: (cells: string[]) => number[]): number[][];
}

/** d3-dsv out of bench/node_modules; null: it is not installed. */
async function findDsv(): Promise<Dsv | null> {
  const folders = [fileURLToPath(new URL("./node_modules", import.meta.url)), process.env.STRIDED_PACKAGES];
  for (const folder of folders) {
    const entry = folder === undefined ? "" : join(folder, "d3-dsv/src/index.js");
    if (existsSync(entry)) return (await import(pathToFileURL(entry).href)) as Dsv;
  }
  return null;
}

function makeTable(path: string, bytes: number): void {
  const fd = openSync(path, "w");
  for (let row = 0, done = 0; done < bytes; ) {
    let text = "";
    for (let i = 0; i < 5000; i++, row++) {
      const x = (row % 9973) / 7;
      text += `${row},${x.toFixed(4)},${(-x * 1.5).toFixed(6)},${(row * 1e-3).toExponential(3)},${row % 17},${(x * x).toFixed(2)},0.5,${row * 3}\n`;
    }
    done += writeSync(fd, text);
  }
  closeSync(fd);
}

/** Seconds of the median call of a statement, in a Python of its own. */
function timePython(python: string, setup: string, statement: string, calls: number): number {
  const program = [
    "import time",
    "import numpy as np",
    setup,
    "times = []",
    `for _ in range(${calls}):`,
    "    start = time.perf_counter()",
    `    ${statement}`,
    "    times.append(time.perf_counter() - start)",
    "print(1000 * float(np.median(times)))",
  ].join("\n");
  return Number(spawnSync(python, ["-c", program], { encoding: "utf8" }).stdout);
}

async function tables(folder: string, python: string | null): Promise<string[][]> {
  const path = join(folder, "table.csv");
  makeTable(path, size / 32);
  const bytes = statSync(path).size;
  const ours = { name: "csv.load", run: async () => (await csv.load(path)).data.dispose() };
  const rows: string[][] = [];
  const d3 = await findDsv();
  if (d3 === null) console.log("no d3-dsv here (npm run bench:setup): the comparison with it is left out");
  else {
    const theirs = () => d3.csvParseRows(readFileSync(path, "utf8"), (cells) => cells.map(Number));
    const { data } = await csv.load(path);
    const [got, want] = [data.toTypedArray(), theirs().flat()];
    if (got.length !== want.length) throw new Error(`csv: ${got.length} numbers, d3-dsv has ${want.length}`);
    for (let i = 0; i < want.length; i++)
      if (got[i] !== want[i]) throw new Error(`csv: number ${i} is ${got[i]}, not ${want[i]}`);
    data.dispose();
    const [mine, other] = await turns([ours, { name: "d3-dsv", run: () => void theirs() }]);
    const ratio = ratioOf(mine, other);
    rows.push([
      "csv.load",
      rate(bytes, median(mine)),
      "d3-dsv",
      rate(bytes, median(other)),
      `${ratio.toFixed(1)} ×`,
      met(ratio, 3),
    ]);
  }
  if (python !== null) {
    const [mine] = await turns([ours]);
    const other = timePython(python, `p = ${JSON.stringify(path)}`, 'np.loadtxt(p, delimiter=",")', 3);
    rows.push([
      "csv.load",
      rate(bytes, median(mine)),
      "np.loadtxt",
      rate(bytes, other),
      `${(other / median(mine)).toFixed(1)} ×`,
      "",
    ]);
  }
  return rows;
}

/* npz --------------------------------------------------------------------------------------------------- */

async function archives(folder: string, python: string | null): Promise<string[][]> {
  const rows: string[][] = [];
  const bytes = size / 4;
  const t = fromBuffer(new Uint8Array(pattern(0, bytes / 4).buffer), { dtype: "f32", shape: [bytes / 4] });
  for (const compress of [false, true]) {
    const path = join(folder, compress ? "deflated.npz" : "stored.npz");
    await npz.save(path, { x: t }, { compress });
    const load = async () => (await npz.load(path)).x;
    const first = await load();
    checkPattern("npz", first);
    first.dispose();
    const name = `npz, ${compress ? "deflated" : "stored"}`;
    const both: number[][] = [[], []];
    for (let turn = 0; turn < 2; turn++) {
      const [mine] = await turns([{ name, run: async () => (await load()).dispose() }]);
      both[0].push(median(mine));
      if (python !== null)
        both[1].push(timePython(python, `p = ${JSON.stringify(path)}`, 'np.load(p)["x"]', 3));
    }
    const [mine, other] = both.map(median);
    rows.push([
      name,
      rate(bytes, mine),
      python === null ? "–" : "NumPy",
      python === null ? "–" : rate(bytes, other),
      python === null ? "–" : `${(other / mine).toFixed(2)} ×`,
      "",
    ]);
  }
  t.dispose();
  return rows;
}

export async function benchFiles(): Promise<void> {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), "strided-bench-"));
  const numpy = findPython("numpy");
  if (numpy === null) console.log("no python3 with NumPy here: the comparison with it is left out");
  try {
    console.log(`${size / MIB} MiB, ${rounds} rounds, in ${folder}`);
    const rows = [["", "strided", "beside", "", "strided / beside", "target"]];
    const n = size / 4;
    const array = join(folder, "x.npy");
    makeFile(array, npyHeader("<f4", [n], false), size);
    rows.push(await beside("npy", array, () => npy.load(array)));
    rmSync(array);
    const weights = join(folder, "x.safetensors");
    const text = JSON.stringify({ x: { dtype: "F32", shape: [n], data_offsets: [0, size] } }).padEnd(120);
    const header = new Uint8Array(8 + text.length);
    new DataView(header.buffer).setBigUint64(0, BigInt(text.length), true);
    header.set(new TextEncoder().encode(text), 8);
    makeFile(weights, header, size);
    rows.push(await beside("safetensors", weights, async () => (await safetensors.load(weights)).x));
    rmSync(weights);
    rows.push(...(await tables(folder, numpy?.python ?? null)));
    rows.push(...(await archives(folder, numpy?.python ?? null)));
    console.log(table(rows));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
