/**
 * A matrix product made in several ways, taking turns in one process: tiles, paths and blockings to choose from, and what
 * the library chooses. Hosts are slow by turns, so it prints a distribution: GFLOP/s that 5, 25, 50 and 75 % of the turns
 * exceed. The first column is the quiet machine, the third the usual one.
 *
 *     npx tsx bench/lab/gemm-choices.ts [--turbo] [size or batches x size …] [tile=6x16x4] [path=direct] [mc=96] …
 *
 * Choices are separated by commas: "tile=4x16x4,tile=6x16x4,path=packed tile=4x16x4". STRIDED_THREADS as ever.
 */
import { engine } from "../../src/engine.ts";
import { matmul, type Tensor, tensor, zeros } from "../../src/index.ts";
import {
  defaultBlocking,
  type GemmOptions,
  type GemmPath,
  type GemmProblem,
} from "../../src/optimize/gemm.ts";
import { table } from "../harness.ts";
import { sampleValues } from "../python.ts";

const argv = process.argv.slice(2);
if (argv.includes("--turbo")) await import("../../src/turbo.ts");
const rest = argv.filter((arg) => !arg.startsWith("--"));
const sizes = rest.filter((arg) => /^[\dx]+$/.test(arg));
const choices = rest.filter((arg) => arg.includes("=")).flatMap((arg) => arg.split(","));
const ROUNDS = 60;
/** Multiplications and additions of a turn, about. */
const TURN = 1e9;

engine().pool.waitUntilReady();
const gemm = engine().products;
const best = gemm.bestTile("f32");
const { threads } = engine().pool;
console.log(`Node ${process.version}, ${threads} threads, best tile ${best.mr}x${best.nr}x${best.unrollK}`);

/** "path=packed tile=4x16x4 mc=96" */
function optionsOf(text: string): GemmOptions {
  const given = Object.fromEntries(text.split(" ").map((item) => item.split("=")));
  const { path, tile, ...blocks } = given as Record<string, string>;
  const [mr, nr, unrollK = 1] = tile?.split("x").map(Number) ?? [];
  const blocking = Object.fromEntries(Object.entries(blocks).map(([name, value]) => [name, Number(value)]));
  return {
    ...(path === undefined ? {} : { path: path as Exclude<GemmPath, "empty"> }),
    ...(tile === undefined ? {} : { tile: { mr, nr, unrollK, fma: best.fma } }),
    ...(Object.keys(blocking).length === 0 ? {} : { blocking: { ...defaultBlocking("f32"), ...blocking } }),
  };
}

/** What matmul asks for. */
function problemOf(a: Tensor, b: Tensor, out: Tensor): GemmProblem {
  const run = gemm.run.bind(gemm);
  let seen: GemmProblem | null = null;
  gemm.run = (problem, options) => {
    seen = problem;
    return run(problem, options);
  };
  matmul(a, b, { out });
  gemm.run = run;
  if (seen === null) throw new Error("this product is not made by gemm.run");
  return seen;
}

const sampled = (shape: number[]) => tensor(sampleValues(shape.reduce((x, y) => x * y, 1)), { shape });

for (const size of sizes.length > 0 ? sizes : ["128", "256", "1024", "64x128"]) {
  const shape = size.split("x").map(Number);
  const n = shape.at(-1)!;
  const work = 2 * n ** 3 * (shape.length > 1 ? shape[0] : 1);
  shape.push(n);
  const [a, b, out] = [sampled(shape), sampled(shape), zeros(shape)];
  const problem = problemOf(a, b, out);
  const ways = ["", ...choices].map((text) => ({
    name: text || "as chosen",
    options: text === "" ? {} : optionsOf(text),
  }));
  const expected = matmul(a, b);
  const times = ways.map(({ name, options }) => {
    gemm.run(problem, options);
    const off = out.sub(expected).abs().max().item() as number;
    if (!(off <= 1e-3 * n)) throw new Error(`${name}: off by ${off}`);
    return [] as number[];
  });
  const repeats = Math.max(1, Math.round(TURN / work));
  for (let round = 0; round < ROUNDS; round++) {
    for (let w = 0; w < ways.length; w++) {
      const way = (w + round) % ways.length;
      const start = performance.now();
      for (let i = 0; i < repeats; i++) gemm.run(problem, ways[way].options);
      times[way].push((performance.now() - start) / repeats);
    }
  }
  const rows = [[size, "5 %", "25 %", "50 %", "75 %"]];
  ways.forEach(({ name }, w) => {
    const sorted = times[w].sort((x, y) => x - y);
    const rate = (q: number) => (work / sorted[Math.floor(q * ROUNDS)] / 1e6).toFixed(1);
    rows.push([name, rate(0.05), rate(0.25), rate(0.5), rate(0.75)]);
  });
  console.log(`\n${table(rows)}`);
  for (const t of [a, b, out, expected]) t.dispose();
}
process.exit(0);
