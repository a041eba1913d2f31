/** Compiled matrix products against the naive interpreter, bit by bit: data are chosen so that every sum is exact. */
import { describe, expect, it } from "vitest";
import { convert, type DType, dtypeNames, dtypes, promote } from "../dtype.ts";
import { Heap } from "../memory/heap.ts";
import {
  type GemmBlocking,
  type GemmPath,
  type GemmProblem,
  type GemmTile,
  planGemm,
} from "../optimize/gemm.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import { disassemble } from "../wasm/assembler/wat.ts";
import { GemmKernels } from "./gemm.ts";
import { interpretMatmul } from "./interpret.ts";

const heap = new Heap();
const kernels = new GemmKernels(heap);

/* Random problems --------------------------------------------------------------------------------------- */

/** Park and Miller's generator: the same problems every time. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

/** Element strides of a rows × columns matrix and where its first element lies, in a region of `size` elements. */
const layouts = {
  c: (r: number, c: number) => ({ steps: [c, 1], first: 0, size: r * c }),
  transposed: (r: number, c: number) => ({ steps: [1, r], first: 0, size: r * c }),
  padded: (r: number, c: number) => ({ steps: [c + 3, 1], first: 0, size: r * (c + 3) }),
  sliced: (r: number, c: number) => ({ steps: [3 * c, 3], first: 1, size: 3 * r * c + 1 }),
  reversed: (r: number, c: number) => ({ steps: [-c, -1], first: r * c - 1, size: r * c }),
  mirrored: (r: number, c: number) => ({ steps: [c, -1], first: c - 1, size: r * c }),
  oneRow: (_: number, c: number) => ({ steps: [0, 1], first: 0, size: c }),
  oneColumn: (r: number) => ({ steps: [1, 0], first: 0, size: r }),
  oneElement: () => ({ steps: [0, 0], first: 0, size: 1 }),
} satisfies Record<string, (r: number, c: number) => { steps: number[]; first: number; size: number }>;
type Layout = keyof typeof layouts;
const outLayouts: readonly Layout[] = ["c", "c", "padded", "transposed", "sliced", "reversed", "mirrored"];
const inLayouts: readonly Layout[] = [...outLayouts, "oneRow", "oneColumn", "oneElement"];

interface Case {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly a: DType;
  readonly b: DType;
  readonly layouts?: readonly [out: Layout, a: Layout, b: Layout];
  readonly batch?: readonly number[];
  /** Per operand and batch axis: false for stride 0. */
  readonly moves?: readonly (readonly boolean[])[];
  readonly seed?: number;
}

interface Options {
  readonly path?: Exclude<GemmPath, "empty">;
  readonly tile?: GemmTile;
  readonly blocking?: GemmBlocking;
  readonly workers?: number;
}

function check(c: Case, options: Options = {}): GemmPath {
  const { m, n, k, batch = [], moves } = c;
  const random = randomOf(c.seed ?? 1 + m + 100 * n + 10000 * k);
  const out = promote(c.a, c.b);
  const types = [out, c.a, c.b] as const;
  const sizes = [
    [m, n],
    [m, k],
    [k, n],
  ];
  const regions = types.map((dtype, operand) => {
    const [r, col] = sizes[operand];
    const layout = layouts[c.layouts?.[operand] ?? "c"](r, col);
    const { bytes } = dtypes[dtype];
    let count = Math.max(layout.size, 1);
    const batchSteps = batch.map(() => 0);
    for (let d = batch.length - 1; d >= 0; d--) {
      if (operand > 0 && moves?.[operand]?.[d] === false) continue;
      batchSteps[d] = count * bytes;
      count *= Math.max(batch[d], 1);
    }
    // One element off the heap's alignment, with a margin that nobody may touch.
    const total = (count + 9) * bytes;
    const address = heap.alloc(total, "test");
    const at = address + bytes * (1 + layout.first);
    return { dtype, address, total, count, at, batchSteps, steps: layout.steps.map((s) => s * bytes) };
  });
  const small = dtypes[out].kind === "float";
  for (const { dtype, address, count } of regions.slice(1)) {
    const { bytes, write, wrap, big, kind } = dtypes[dtype];
    for (let i = 0; i <= count; i++) {
      const whole =
        small || kind === "float" ? random(kind === "int" || kind === "float" ? 9 : 5) : random(2 ** 31);
      const signed = whole - (kind === "int" || kind === "float" ? 4 : 0);
      const value = big
        ? wrap(BigInt(signed) * (small ? 1n : 6364136223846793005n))
        : wrap(small ? signed : signed * 3);
      write(heap.view, address + bytes * i, kind === "bool" ? Number(random(5) === 0) : value);
    }
  }
  const problem: GemmProblem = {
    m,
    n,
    k,
    out: regions[0].steps as [number, number],
    a: regions[1].steps as [number, number],
    b: regions[2].steps as [number, number],
    dtypes: types,
    batches: {
      shape: batch,
      strides: regions.map((r) => r.batchSteps),
      offsets: regions.map((r) => r.at),
      order: [],
      flipped: [],
    },
  };
  const [{ address, total }] = regions;
  const bytes = () => heap.u8.slice(address, address + total);
  heap.u8.fill(0xa5, address, address + total);
  interpretMatmul(heap.view, problem.batches, problem, types, out);
  const want = bytes();
  heap.u8.fill(0xa5, address, address + total);
  const plan = kernels.plan(problem, options);
  kernels.runPlan(plan);
  const got = bytes();
  for (const r of regions) heap.free(r.address);
  if (Buffer.compare(got, want) !== 0) {
    const i = got.findIndex((x, at) => x !== want[at]);
    const element = Math.floor(i / dtypes[out].bytes) - 1;
    const moved = plan.transposed ? ", transposed" : "";
    expect.fail(`${JSON.stringify(c)} by ${plan.path}${moved}: element ${element} of the region differs`);
  }
  return plan.path;
}

const tiny: GemmBlocking = { mc: 8, kc: 16, nc: 16, deep: 32 };
const pick = <T>(random: (below: number) => number, from: readonly T[]): T => from[random(from.length)];

/** Sizes around the tiles' edges, and any others. */
const edges = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 23, 24, 33];

/** Random f32 operands, densely in the heap: sums of them are rounded. */
function roundedProblem(m: number, n: number, k: number, next: (below: number) => number): GemmProblem {
  const [a, b, out] = [m * k, k * n, m * n].map((size) => heap.alloc(4 * size, "test"));
  for (const [at, size] of [
    [a, m * k],
    [b, k * n],
  ]) {
    const values = new Float32Array(heap.buffer, at, size);
    for (let i = 0; i < size; i++) values[i] = next(1_000_000) / 333_333 - 1.5;
  }
  return {
    m,
    n,
    k,
    out: [4 * n, 4],
    a: [4 * k, 4],
    b: [4 * n, 4],
    dtypes: ["f32", "f32", "f32"],
    batches: { shape: [], strides: [[], [], []], offsets: [out, a, b], order: [], flipped: [] },
  };
}

/** The result's bits; `run` computes it. */
function bitsOf(problem: GemmProblem, run: (problem: GemmProblem) => void): Int32Array {
  run(problem);
  return new Int32Array(heap.buffer, problem.batches.offsets[0], problem.m * problem.n).slice();
}

describe("matrix products equal the naive sum", () => {
  it.each(["packed", "direct"] as const)("f32 at every edge of the tile: %s", (path) => {
    for (const m of [1, 2, 3, 4, 5, 7, 8, 9]) {
      for (const n of [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17]) {
        for (const k of [0, 1, 2, 3, 4, 5, 17])
          check({ m, n, k, a: "f32", b: "f32" }, k === 0 ? {} : { path });
      }
    }
  });

  it.each(["f32", "f64"] as const)("%s over block boundaries, with a small blocking", (dtype) => {
    for (const k of [15, 16, 17, 31, 32, 33, 48]) {
      for (const [m, n] of [
        [7, 15],
        [8, 16],
        [9, 17],
        [24, 33],
      ]) {
        check({ m, n, k, a: dtype, b: dtype }, { path: "packed", blocking: tiny });
      }
    }
  });

  it("random sizes, layouts, dtypes and batches, packed and direct", () => {
    const random = randomOf(20260);
    const seen = new Set<string>();
    for (let i = 0; i < 700; i++) {
      const size = () => (random(8) === 0 ? 1 + random(70) : pick(random, edges));
      const batch = pick(random, [[], [], [], [2], [3], [2, 3], [1], [4, 1]]);
      const c: Case = {
        m: size(),
        n: size(),
        k: size(),
        a: pick(random, dtypeNames),
        b: pick(random, dtypeNames),
        layouts: [pick(random, outLayouts), pick(random, inLayouts), pick(random, inLayouts)],
        batch,
        moves: [batch.map(() => true), batch.map(() => random(3) > 0), batch.map(() => random(3) > 0)],
        seed: i + 1,
      };
      const path = pick(random, [undefined, "packed", "direct"] as const);
      seen.add(
        check(c, {
          ...(path === undefined ? {} : { path }),
          ...(random(2) === 0 ? { blocking: tiny } : {}),
          workers: 1 + random(3),
        }),
      );
    }
    expect([...seen].sort()).toEqual(["direct", "packed"]);
  });

  it.each(dtypeNames)("%s with every other dtype", (a) => {
    for (const b of dtypeNames) {
      check({ m: 6, n: 11, k: 13, a, b }, { path: "packed", blocking: tiny });
      check({ m: 6, n: 11, k: 13, a, b, layouts: ["c", "transposed", "transposed"] }, { path: "packed" });
      check({ m: 6, n: 11, k: 13, a, b }, { path: "direct" });
      check({ m: 37, n: 1, k: 90, a, b });
      check({ m: 2, n: 67, k: 90, a, b });
    }
  });

  it.each(dtypeNames)("%s in every layout", (dtype) => {
    for (const a of Object.keys(layouts) as Layout[]) {
      for (const b of Object.keys(layouts) as Layout[]) {
        const out = outLayouts[(a.length + b.length) % outLayouts.length];
        check(
          { m: 9, n: 10, k: 11, a: dtype, b: dtype, layouts: [out, a, b] },
          { path: "packed", blocking: tiny },
        );
        check({ m: 9, n: 10, k: 11, a: dtype, b: dtype, layouts: [out, a, b] });
      }
    }
  });

  it("vectors: matrix × vector, vector × matrix and dot, dense, transposed and strided", () => {
    for (const dtype of ["f32", "f64", "f16", "i32", "i8", "i64", "bool"] as const) {
      for (const matrix of ["c", "transposed", "padded", "sliced", "reversed"] as const) {
        for (const vector of ["c", "sliced", "reversed", "oneElement"] as const) {
          check({ m: 61, n: 1, k: 67, a: dtype, b: dtype, layouts: ["c", matrix, vector] });
          check({ m: 1, n: 67, k: 61, a: dtype, b: dtype, layouts: ["c", vector, matrix] });
        }
        // Longer than the vector that stays in the cache.
        check({ m: 2, n: 1, k: 4100, a: dtype, b: dtype, layouts: ["c", matrix, "c"] });
        check({ m: 1, n: 2, k: 4100, a: dtype, b: dtype, layouts: ["c", "c", matrix] });
      }
      check({ m: 1, n: 1, k: 10007, a: dtype, b: dtype });
      check({ m: 3, n: 70, k: 4099, a: dtype, b: dtype });
      check({ m: 31, n: 5, k: 700, a: dtype, b: dtype });
    }
  });

  it.each(dtypeNames)("%s: few rows and a matrix that no cache holds, in parts of k", (dtype) => {
    const rows = Math.ceil(2 ** 20 / 300 / dtypes[dtype].bytes) + 1;
    const out = outLayouts[dtypeNames.indexOf(dtype) % outLayouts.length];
    check({ m: 2, n: 300, k: rows, a: dtype, b: dtype, layouts: [out, "sliced", "c"] });
    check({ m: 300, n: 1, k: rows, a: dtype, b: dtype, layouts: [out, "transposed", "reversed"] });
    check({ m: 1, n: 303, k: rows, a: dtype, b: "u8", layouts: ["c", "c", "padded"] });
  });

  it("K = 0 gives zeros, in any layout; no rows or no columns give nothing", () => {
    for (const dtype of dtypeNames) {
      for (const out of outLayouts) {
        check({ m: 5, n: 9, k: 0, a: dtype, b: dtype, layouts: [out, "c", "c"], batch: [2] });
      }
      expect(check({ m: 0, n: 9, k: 3, a: dtype, b: dtype })).toBe("empty");
      expect(check({ m: 9, n: 0, k: 3, a: dtype, b: dtype })).toBe("empty");
      expect(check({ m: 9, n: 4, k: 3, a: dtype, b: dtype, batch: [2, 0] })).toBe("empty");
    }
  });

  it("batches: many tiny ones, one side shared, both shared", () => {
    for (const [am, bm] of [
      [true, true],
      [false, true],
      [true, false],
      [false, false],
    ]) {
      const moves = [[true], [am], [bm]];
      check({ m: 4, n: 4, k: 4, a: "f32", b: "f32", batch: [1200], moves });
      check({ m: 3, n: 5, k: 2, a: "i8", b: "i8", batch: [700], moves });
      check(
        { m: 20, n: 24, k: 40, a: "f16", b: "f16", batch: [5], moves },
        { path: "packed", blocking: tiny },
      );
      check({ m: 20, n: 24, k: 12, a: "f32", b: "f32", batch: [5], moves }, { path: "packed" });
    }
  });

  it("other tiles: 16 columns, k unrolled, without and with tails", () => {
    // Fused where this host can: the sums are exact all the same.
    const fma = detectFeatures().relaxedSimd;
    for (const tile of [
      { mr: 4, nr: 16, unrollK: 4, fma },
      { mr: 4, nr: 8, unrollK: 2, fma },
      { mr: 4, nr: 4, unrollK: 1, fma },
      { mr: 8, nr: 8, unrollK: 3, fma },
      { mr: 6, nr: 16, unrollK: 4, fma },
      { mr: 3, nr: 12, unrollK: 1, fma },
      { mr: 2, nr: 16, unrollK: 1, fma },
      { mr: 2, nr: 8, unrollK: 1, fma },
      { mr: 5, nr: 8, unrollK: 1, fma },
    ]) {
      for (const k of [1, 3, 4, 5, 16, 19, 37]) {
        check(
          { m: 13, n: 37, k, a: "f32", b: "f32" },
          { path: "packed", tile, blocking: { mc: 16, kc: 16, nc: 32, deep: 16 } },
        );
        check({ m: 13, n: 37, k, a: "i16", b: "u8" }, { path: "packed", tile });
        check({ m: 13, n: 37, k, a: "f64", b: "f64" }, { path: "packed", tile });
        check({ m: 13, n: 37, k, a: "bool", b: "bool" }, { path: "packed", tile });
        for (const a of ["transposed", "sliced"] as const) {
          check({ m: 24, n: 37, k, a: "f32", b: "f32", layouts: ["c", a, a] }, { path: "packed", tile });
          check({ m: 24, n: 37, k, a: "f64", b: "f16", layouts: ["c", a, a] }, { path: "packed", tile });
          check({ m: 13, n: 37, k, a: "f32", b: "f32", layouts: ["c", a, a] }, { path: "direct", tile });
        }
      }
    }
  });

  it("the bits do not follow the tile: which one is in use is found out while products run", () => {
    const next = randomOf(11);
    const tiles: GemmTile[] = [
      { mr: 4, nr: 8, unrollK: 1, fma: false },
      { mr: 4, nr: 16, unrollK: 4, fma: false },
      { mr: 6, nr: 16, unrollK: 4, fma: false },
      { mr: 3, nr: 12, unrollK: 1, fma: false },
      { mr: 2, nr: 16, unrollK: 1, fma: false },
    ];
    for (const [m, n, k] of [
      [32, 225, 257],
      [64, 64, 257],
      [40, 12, 1000],
      [300, 9, 600],
      [7, 16, 513],
      [20, 30, 256],
      [16, 40, 400],
      [90, 90, 90],
    ]) {
      const problem = roundedProblem(m, n, k, next);
      const results = tiles.map((tile) => bitsOf(problem, (p) => kernels.run(p, { tile })));
      for (const got of results) expect(got, `${m} × ${n} × ${k}`).toEqual(results[0]);
      for (const at of problem.batches.offsets) heap.free(at);
    }
  });

  it("the bits do not follow the number of tasks", () => {
    const next = randomOf(12);
    for (const [m, n, k] of [
      [1000, 1, 1001],
      [257, 1, 5000],
      [999, 1, 4097],
      [601, 1, 403],
      [2, 700, 900],
      [1, 1021, 3001],
      [130, 140, 300],
      [301, 12, 500],
    ]) {
      const problem = roundedProblem(m, n, k, next);
      const results = [1, 2, 3, 5].map((workers) =>
        bitsOf(problem, (p) => kernels.runPlan(kernels.plan(p, { workers }))),
      );
      for (const got of results) expect(got, `${m} × ${n} × ${k}`).toEqual(results[0]);
      for (const at of problem.batches.offsets) heap.free(at);
    }
  });

  it("bool is 'or' of 'and': 2^8 and 2^32 trues are true", () => {
    check({ m: 5, n: 5, k: 256, a: "bool", b: "bool", layouts: ["c", "oneElement", "oneElement"] });
    check({ m: 5, n: 5, k: 256, a: "bool", b: "bool", seed: 3 });
  });

  it("NaN and infinity go where they belong and nowhere else", () => {
    const n = 9;
    const at = [0, 1, 2].map(() => heap.alloc(n * n * 4, "test"));
    const [c, a, b] = at.map((address) => new Float32Array(heap.buffer, address, n * n));
    for (const path of ["packed", "direct"] as const) {
      a.fill(1);
      b.fill(1);
      a[8 * n + 2] = NaN;
      b[3 * n + 8] = Infinity;
      kernels.run(square(n, at), { path });
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          expect(c[i * n + j]).toBe(i === 8 ? NaN : j === 8 ? Infinity : n);
        }
      }
    }
    for (const address of at) heap.free(address);
  });
});

function square(n: number, [out, a, b]: readonly number[], dtype: DType = "f32"): GemmProblem {
  const { bytes } = dtypes[dtype];
  const steps = [n * bytes, bytes] as const;
  const batches = { shape: [], strides: [[], [], []], offsets: [out, a, b], order: [], flipped: [] };
  return { m: n, n, k: n, out: steps, a: steps, b: steps, dtypes: [dtype, dtype, dtype], batches };
}

describe("half floats", () => {
  it.each(["f16", "bf16"] as const)("%s sums in f32 and rounds once", (dtype) => {
    // 1 + 2048·2^-12 in f16 (bf16: 2^-9): summed in halves, nothing would ever be added to 1.
    const k = 2049;
    const tiny = dtype === "f16" ? 2 ** -12 : 2 ** -9;
    const at = [0, 1, 2].map(() => heap.alloc(k * 2, "test"));
    const { write, read } = dtypes[dtype];
    for (let p = 0; p < k; p++) {
      write(heap.view, at[1] + 2 * p, p === 0 ? 1 : tiny);
      write(heap.view, at[2] + 2 * p, 1);
    }
    const batches = { shape: [], strides: [[], [], []], offsets: at, order: [], flipped: [] };
    const problem = {
      m: 1,
      n: 1,
      k,
      out: [2, 2],
      a: [2 * k, 2],
      b: [2, 2],
      dtypes: [dtype, dtype, dtype],
      batches,
    };
    for (const path of ["packed", "direct", "dots"] as const) {
      kernels.run(problem as unknown as GemmProblem, { path });
      expect(read(heap.view, at[0])).toBe(convert(1 + 2048 * tiny, "f64", dtype));
    }
    for (const address of at) heap.free(address);
  });
});

describe("the structure of what is compiled", () => {
  const tile: GemmTile = { mr: 4, nr: 8, unrollK: 1, fma: false };
  const wat = disassemble(kernels.packed(planGemm(square(4, [0, 0, 0]), tile, { path: "packed" })).bytes);

  it("one micro-kernel: 8 multiplications and additions a step, 2 loads of b, 4 splats of a", () => {
    const bodies = wat.split(/^ {2}\(func/m).slice(1);
    const micro = bodies.filter((body) => body.includes("f32x4.mul"));
    expect(micro.length).toBe(1);
    const count = (op: string) => micro[0].match(new RegExp(`^ *\\(?${op}\\b`, "gm"))?.length ?? 0;
    expect(count("f32x4.mul")).toBe(8);
    expect(count("v128.load32_splat")).toBe(4);
    expect(count("loop")).toBe(1);
    expect(count("call")).toBe(0);
  });

  it("packing an f32 matrix moves whole vectors", () => {
    expect(wat).toContain("v128.store");
    expect(wat).toContain("i8x16.shuffle");
  });

  it("a second shape compiles nothing new", () => {
    const fresh = new GemmKernels(new Heap({ initialPages: 64 }));
    const inner = (n: number) => planGemm(square(n, [1024, 1024, 1024]), tile, { path: "packed" });
    fresh.runPlan({ ...inner(4), tasks: [] });
    expect(fresh.compiled).toBe(0);
    const before = kernels.compiled;
    check(
      { m: 17, n: 19, k: 23, a: "f32", b: "f32", layouts: ["c", "sliced", "reversed"] },
      { path: "packed" },
    );
    const after = kernels.compiled;
    expect(after - before).toBeLessThanOrEqual(1);
    check(
      { m: 40, n: 50, k: 60, a: "f32", b: "f32", layouts: ["padded", "c", "transposed"] },
      { path: "packed" },
    );
    expect(kernels.compiled).toBe(after);
  });
});

describe("plans", () => {
  const tile: GemmTile = { mr: 4, nr: 8, unrollK: 1, fma: false };
  const at = [1024, 1024, 1024];

  it("the tasks cover every element of every batch once", () => {
    for (const workers of [1, 2, 3, 8]) {
      for (const [m, n, count] of [
        [100, 200, 1],
        [513, 3, 1],
        [64, 64, 7],
        [9, 9, 1000],
      ]) {
        const problem = {
          ...square(64, at),
          m,
          n,
          batches: { shape: [count], strides: [[64], [64], [64]], offsets: at, order: [], flipped: [] },
        };
        const plan = planGemm(problem, tile, { workers, path: "packed" });
        const covered = plan.tasks.reduce((sum, t) => sum + t.batches * t.rows * t.columns, 0);
        expect(covered).toBe(m * n * count);
        expect(plan.tasks.every((t) => t.row % tile.mr === 0 && t.column % tile.nr === 0)).toBe(true);
        if (workers === 1) expect(plan.tasks.length).toBe(1);
      }
    }
  });

  it("a stream of rows is cut along k, the same way for any number of workers", () => {
    const p = {
      ...square(4, at),
      m: 1,
      n: 4096,
      k: 4096,
      out: [16384, 4],
      a: [16384, 4],
      b: [16384, 4],
    } as const;
    for (const workers of [1, 2, 8]) {
      const { parts, tasks } = planGemm(p, tile, { workers });
      expect([parts, tasks.length]).toEqual([16, 16]);
      expect(tasks.reduce((sum, t) => sum + t.steps, 0)).toBe(4096);
      expect(tasks.every((t, i) => i === 0 || t.step === tasks[i - 1].step + tasks[i - 1].steps)).toBe(true);
    }
    expect(planGemm({ ...p, n: 100_000, k: 512, b: [400_000, 4] }, tile).parts).toBe(1);
    expect(planGemm({ ...p, k: 300 }, tile).parts).toBe(1);
  });

  it("one matrix for all batches becomes one tall product", () => {
    const batches = {
      shape: [10],
      strides: [[256 * 4], [256 * 4], [0]],
      offsets: at,
      order: [],
      flipped: [],
    };
    const plan = planGemm({ ...square(16, at), batches }, tile);
    expect([plan.folded, plan.problem.m, plan.problem.batches.shape]).toEqual([true, 160, []]);
  });

  it("a column-major output is computed transposed", () => {
    const p = square(64, at);
    const plan = planGemm({ ...p, out: [4, 256] }, tile);
    expect([plan.transposed, plan.temp, plan.problem.a]).toEqual([true, false, [4, 256]]);
  });

  const dense = (m: number, n: number, k: number): GemmProblem => ({
    ...square(4, at),
    m,
    n,
    k,
    out: [4 * n, 4],
    a: [4 * k, 4],
    b: [4 * n, 4],
  });

  it("the tile fits: what the best one would compute in vain is weighed", () => {
    const sizes = (best: GemmTile, n: number) => {
      const { tile } = planGemm(dense(n, n, n), best);
      return [tile.mr, tile.nr];
    };
    const tall: GemmTile = { mr: 6, nr: 16, unrollK: 4, fma: true };
    expect([64, 96, 128, 256, 1024].map((n) => sizes(tall, n)[0])).toEqual([4, 6, 4, 6, 6]);
    const flat: GemmTile = { mr: 3, nr: 12, unrollK: 1, fma: true };
    expect([128, 192, 1024].map((n) => sizes(flat, n))).toEqual([
      [4, 8],
      [3, 12],
      [3, 12],
    ]);
  });

  it("one large product is cut into more tasks than threads, a multiple of them: a late thread takes fewer", () => {
    const wide: GemmTile = { mr: 6, nr: 16, unrollK: 4, fma: true };
    const cutOf = (m: number, n: number, k: number, workers: number) => {
      const { together, tasks } = planGemm(dense(m, n, k), wide, { workers });
      return [together, tasks.length, Math.max(...tasks.map((t) => t.rows))];
    };
    expect(cutOf(256, 512, 784, 2)).toEqual([true, 4, 66]);
    expect(cutOf(512, 512, 256, 2)).toEqual([true, 8, 66]);
    expect(cutOf(512, 784, 256, 2)).toEqual([true, 8, 66]);
    expect(cutOf(1024, 1024, 1024, 2)).toEqual([true, 8, 132]);
    expect(cutOf(1024, 1024, 1024, 4)).toEqual([true, 16, 66]);
    expect(cutOf(1024, 1024, 1024, 1)).toEqual([false, 1, 1024]);
  });

  it("tasks that pack b for themselves are columns, unless a is by far the larger", () => {
    const wide: GemmTile = { mr: 4, nr: 16, unrollK: 4, fma: true };
    const cutOf = (m: number, n: number, k: number) => {
      const { path, packB, tasks } = planGemm(dense(m, n, k), wide, { workers: 2 });
      return [path, packB, tasks.map((t) => [t.rows, t.columns])];
    };
    expect(cutOf(128, 128, 128)).toEqual([
      "direct",
      true,
      [
        [128, 64],
        [128, 64],
      ],
    ]);
    expect(cutOf(512, 64, 64).at(-1)).toEqual([
      [256, 64],
      [256, 64],
    ]);
  });

  it.each([
    ["a small square", 16, 16, 16, "direct"],
    ["a large square", 256, 256, 256, "packed"],
    ["matrix × vector", 512, 1, 512, "dots"],
    ["vector × matrix", 1, 512, 512, "axpy"],
    ["few columns", 4096, 6, 4096, "direct"],
    ["few rows", 3, 4096, 4096, "axpy"],
  ])("%s: %i×%i over %i goes by %s", (_, m, n, k, path) => {
    expect(planGemm(dense(m, n, k), tile).path).toBe(path);
  });
});
