/**
 * The ladder of matrix products, from the naive loop to packed blocks, on one thread, and the shapes beside squares.
 * Every contestant is checked before it is timed; contestants alternate, the best run counts.
 *
 *     npx tsx bench/lab/gemm.ts [--relaxed] [--turbo] [--cpu] [ladder sizes training vector skinny batched dtypes small]
 *
 * --cpu counts this process's processor time instead of the clock's: for a machine that is busy with other things.
 */
import { setFlagsFromString } from "node:v8";
import type { DType } from "../../src/dtype.ts";
import type { GemmOptions, GemmProblem } from "../../src/optimize/gemm.ts";

const argv = process.argv.slice(2);
/** Milliseconds. */
function now(): number {
  if (!argv.includes("--cpu")) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function main(): Promise<void> {
  const { detectFeatures } = await import("../../src/wasm/assembler/features.ts");
  // Before anything is compiled; newer hosts have relaxed SIMD without being asked.
  const turbo = argv.includes("--turbo");
  if ((turbo || argv.includes("--relaxed")) && !detectFeatures().relaxedSimd) {
    setFlagsFromString("--experimental-wasm-relaxed-simd");
    detectFeatures({ fresh: true });
  }
  if (turbo) setFlagsFromString("--experimental-wasm-revectorize");
  const { dtypes } = await import("../../src/dtype.ts");
  const { Heap } = await import("../../src/memory/heap.ts");
  const { GemmKernels } = await import("../../src/run/gemm.ts");
  const { heapModule } = await import("../../src/wasm/kit.ts");
  const { f32x4 } = await import("../../src/wasm/assembler/assembler.ts");

  const heap = new Heap();
  const gemm = new GemmKernels(heap);
  const wanted = argv.filter((arg) => !arg.startsWith("--"));
  const sections: Record<string, () => void> = {
    ladder,
    sizes,
    training,
    vector,
    skinny,
    batched,
    dtypes: byDType,
    small,
  };

  console.log(`Node ${process.version}, 1 thread${turbo ? ", turbo" : ""}`);
  console.log(`tiles: f32 ${show("f32")}, f64 ${show("f64")}`);
  for (const [name, run] of Object.entries(sections)) if (wanted.length === 0 || wanted.includes(name)) run();

  function show(lane: "f32" | "f64"): string {
    const start = performance.now();
    const tile = gemm.bestTile(lane);
    const time = (performance.now() - start).toFixed(1);
    return `${tile.mr}x${tile.nr}, k by ${tile.unrollK}${tile.fma ? ", fma" : ""} (found in ${time} ms)`;
  }

  /* Problems and contestants -------------------------------------------------------------------------- */

  interface Made {
    readonly problem: GemmProblem;
    readonly flops: number;
    free(): void;
  }

  /** Dense operands; "T" before an operand's name in `turned` lays it out by columns. */
  function make(
    m: number,
    n: number,
    k: number,
    o: { dtype?: DType; turned?: string; batch?: number } = {},
  ): Made {
    const { dtype = "f32", turned = "", batch = 1 } = o;
    const { bytes, write } = dtypes[dtype];
    const counts = [m * n, m * k, k * n].map((x) => x * batch);
    const at = counts.map((count) => heap.alloc(count * bytes, "bench"));
    for (const operand of [1, 2]) {
      for (let i = 0; i < counts[operand]; i++) {
        const x = ((i * 7 + operand) % 5) - 2;
        write(heap.view, at[operand] + i * bytes, dtypes[dtype].big ? BigInt(x) : dtypes[dtype].wrap(x));
      }
    }
    const steps = (r: number, c: number, name: string) =>
      (turned.includes(name) ? [bytes, r * bytes] : [c * bytes, bytes]) as [number, number];
    const batches =
      batch === 1
        ? { shape: [], strides: [[], [], []], offsets: at, order: [], flipped: [] }
        : {
            shape: [batch],
            strides: counts.map((x) => [(x / batch) * bytes]),
            offsets: at,
            order: [],
            flipped: [],
          };
    return {
      problem: {
        m,
        n,
        k,
        out: [n * bytes, bytes],
        a: steps(m, k, "a"),
        b: steps(k, n, "b"),
        dtypes: [dtype, dtype, dtype],
        batches,
      },
      flops: 2 * m * n * k * batch,
      free: () => {
        for (const address of at) heap.free(address);
      },
    };
  }

  /** A sample of elements, by the plain sum. */
  function verify({ problem: p }: Made, name: string): void {
    const [out, a, b] = p.dtypes.map((d) => dtypes[d].read);
    const [o, x, y] = p.batches.offsets;
    for (let s = 0; s < 50; s++) {
      const i = (s * 7919) % p.m;
      const j = (s * 104729) % p.n;
      let sum = 0;
      for (let q = 0; q < p.k; q++) {
        const left = Number(a(heap.view, x + i * p.a[0] + q * p.a[1]));
        sum += left * Number(b(heap.view, y + q * p.b[0] + j * p.b[1]));
      }
      const got = out(heap.view, o + i * p.out[0] + j * p.out[1]);
      const { wrap, big } = dtypes[p.dtypes[0]];
      if (got !== wrap(big ? BigInt(sum) : sum))
        throw new Error(`${name}: [${i}, ${j}] is ${got}, not ${sum}`);
    }
  }

  function product(made: Made, options: GemmOptions = {}): Contestant {
    return {
      flops: made.flops,
      run: () => void gemm.run(made.problem, options),
      check: (name) => verify(made, name),
    };
  }

  interface Contestant {
    readonly flops: number;
    run(): void;
    check?(name: string): void;
  }

  /** Best time of each, in ms, alternating. */
  function race(contestants: Record<string, Contestant>, rounds = 9): Record<string, number> {
    const best: Record<string, number> = {};
    const repeats: Record<string, number> = {};
    for (const [name, c] of Object.entries(contestants)) {
      c.run();
      c.check?.(name);
      const start = now();
      let count = 0;
      do {
        c.run();
        count++;
      } while (now() - start < 40);
      repeats[name] = Math.max(1, Math.round((count / (now() - start)) * 10));
      best[name] = Infinity;
    }
    for (let round = 0; round < rounds; round++) {
      for (const [name, c] of Object.entries(contestants)) {
        const start = now();
        for (let i = 0; i < repeats[name]; i++) c.run();
        best[name] = Math.min(best[name], (now() - start) / repeats[name]);
      }
    }
    return best;
  }

  function report(title: string, contestants: Record<string, Contestant>, rounds?: number): void {
    const best = race(contestants, rounds);
    const cells = Object.entries(best).map(
      ([name, ms]) => `${name} ${(contestants[name].flops / ms / 1e6).toFixed(1)}`,
    );
    console.log(`  ${title.padEnd(22)} ${cells.join("   ")}`);
  }

  /* Sections ------------------------------------------------------------------------------------------ */

  function ladder(): void {
    console.log("\nladder, f32 512, GFLOP/s");
    const n = 512;
    const made = make(n, n, n);
    const [o, x, y] = made.problem.batches.offsets.map((at) => new Float32Array(heap.buffer, at, n * n));
    const check = (name: string) => verify(made, name);
    const { flops } = made;
    const naive = () => {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          let sum = 0;
          for (let q = 0; q < n; q++) sum += x[i * n + q] * y[q * n + j];
          o[i * n + j] = sum;
        }
      }
    };
    const rows = () => {
      o.fill(0);
      for (let i = 0; i < n; i++) {
        for (let q = 0; q < n; q++) {
          const s = x[i * n + q];
          for (let j = 0; j < n; j++) o[i * n + j] += s * y[q * n + j];
        }
      }
    };
    const one = { mr: 1, nr: 4, unrollK: 1, fma: false };
    report(
      "",
      {
        "naive loop": { flops, run: naive, check },
        "by rows": { flops, run: rows, check },
        "SIMD 1x4": product(made, { path: "packed", tile: one }),
        "4x8 unpacked": product(made, { path: "direct" }),
        "4x8 packed": product(made, { path: "packed" }),
        chosen: product(made),
      },
      4,
    );
    made.free();
  }

  function sizes(): void {
    console.log("\nsquares, f32, GFLOP/s");
    for (const n of [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048]) {
      const plain = make(n, n, n);
      const ta = make(n, n, n, { turned: "a" });
      const tb = make(n, n, n, { turned: "b" });
      const c = { "a@b": product(plain), "a.T@b": product(ta), "a@b.T": product(tb) };
      report(String(n), c, n > 1000 ? 4 : 9);
      for (const x of [plain, ta, tb]) x.free();
    }
    for (const n of [100, 333, 1000]) {
      const plain = make(n, n, n);
      report(String(n), { "a@b": product(plain) });
      plain.free();
    }
  }

  /** The products of bench/training.ts's MLP, as they reach the plan: forward, weights' gradient, inputs' gradient. */
  function training(): void {
    console.log("\na step of training, 784-512-512-10 with a batch of 256, f32, GFLOP/s");
    const large = make(512, 512, 512);
    for (const [title, m, n, k, turned] of [
      ["x@W1.T", 256, 512, 784, "b"],
      ["g.T@x", 512, 784, 256, "a"],
      ["h@W2.T", 256, 512, 512, "b"],
      ["g.T@h", 512, 512, 256, "a"],
      ["g@W2", 256, 512, 512, ""],
      ["h@W3.T", 256, 10, 512, "b"],
      ["g3.T@h", 10, 512, 256, "a"],
      ["g3@W3", 256, 512, 10, ""],
    ] as const) {
      const made = make(m, n, k, { turned });
      report(`${title} ${m}x${n}x${k}`, { product: product(made), "one 512³": product(large) });
      made.free();
    }
    large.free();
  }

  /** Reads all of a matrix once and adds it up: what memory gives. */
  function reader(): (at: number, bytes: number) => number {
    const module = heapModule(heap.shared);
    const f = module.func("read", { at: "i32", groups: "i32" }, ["f32"], { export: true });
    const [at, groups] = f.params;
    const sums = [0, 1, 2, 3].map(() => f.local("v128"));
    for (const sum of sums) f.v128(f32x4(0)).set(sum);
    f.loop((next) => {
      sums.forEach((sum, j) => {
        f.get(at)
          .load("v128.load", 16 * j, 4)
          .get(sum)
          .op("f32x4.add")
          .set(sum);
      });
      f.get(at).i32(64).op("i32.add").set(at);
      f.get(groups).i32(1).op("i32.sub").tee(groups).brIf(next);
    });
    f.get(sums[0]).get(sums[1]).op("f32x4.add").get(sums[2]).get(sums[3]).op("f32x4.add").op("f32x4.add");
    f.lane("f32x4.extract_lane", 0);
    const instance = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()), {
      e: { m: heap.memory },
    });
    const read = instance.exports.read as (at: number, groups: number) => number;
    return (at, bytes) => {
      let sum = 0;
      for (let p = 0; p < bytes; p += 65536) sum += read(at + p, Math.min(65536, bytes - p) / 64);
      return sum;
    };
  }

  function vector(): void {
    console.log("\nmatrix × vector, GB/s of the matrix, beside a kernel that only reads it");
    const read = reader();
    for (const n of [256, 1024, 4096]) {
      for (const dtype of ["f32", "f64", "f16"] as const) {
        const bytes = n * n * dtypes[dtype].bytes;
        const made = [
          make(n, 1, n, { dtype }),
          make(1, n, n, { dtype }),
          make(n, 1, n, { dtype, turned: "a" }),
        ];
        const [av, vb, tv] = made.map((x) => ({ ...product(x), flops: bytes }));
        const at = made[0].problem.batches.offsets[1];
        const best = race({
          read: { flops: bytes, run: () => void read(at, bytes) },
          "A@v": av,
          "v@B": vb,
          "A.T@v": tv,
        });
        const cells = Object.entries(best).map(
          ([name, ms]) =>
            `${name} ${(bytes / ms / 1e6).toFixed(1)} (${((best.read / ms) * 100).toFixed(0)}%)`,
        );
        console.log(`  ${`${dtype} ${n}`.padEnd(22)} ${cells.join("   ")}`);
        for (const x of made) x.free();
      }
    }
  }

  function skinny(): void {
    console.log("\nskinny, f32, GFLOP/s (4096 × 4096 matrix)");
    for (const w of [2, 3, 4, 8, 16, 32]) {
      const made = [
        make(4096, w, 4096),
        make(w, 4096, 4096),
        make(4096, w, 4096, { turned: "a" }),
        make(w, 4096, 4096, { turned: "b" }),
      ];
      const [ab, ba, tab, bat] = made.map((x) => product(x));
      report(String(w), { "A@b": ab, "a@B": ba, "A.T@b": tab, "a@B.T": bat }, 5);
      for (const x of made) x.free();
    }
    for (const [m, n, k] of [
      [64, 64, 65536],
      [2048, 2048, 16],
      [4096, 4096, 2],
    ]) {
      const made = make(m, n, k);
      report(`${m}x${n} over ${k}`, { "a@b": product(made) }, 5);
      made.free();
    }
  }

  function batched(): void {
    console.log("\nbatched, f32, GFLOP/s");
    const large = make(512, 512, 512);
    for (const [count, n] of [
      [10000, 4],
      [2000, 8],
      [1000, 16],
      [500, 32],
      [256, 64],
      [64, 128],
      [16, 256],
    ]) {
      const made = make(n, n, n, { batch: count });
      report(`${count} × ${n}³`, { batched: product(made), "one 512³": product(large) });
      made.free();
    }
    large.free();
  }

  function byDType(): void {
    console.log("\ndtypes, 512³, GFLOP/s");
    for (const dtype of ["f32", "f64", "f16", "bf16", "i32", "i8", "u8", "i16", "i64", "bool"] as const) {
      const made = make(512, 512, 512, { dtype });
      const small = make(48, 48, 48, { dtype });
      const big = { ...product(made), ...(dtype === "bool" ? { check: () => {} } : {}) };
      const little = { ...product(small), ...(dtype === "bool" ? { check: () => {} } : {}) };
      report(dtype, { "512³": big, "48³": little }, 4);
      made.free();
      small.free();
    }
  }

  function small(): void {
    console.log("\nsmall squares, µs a call");
    for (const n of [1, 2, 4, 8, 16, 24]) {
      const made = make(n, n, n);
      const best = race({ call: product(made) });
      console.log(`  ${String(n).padEnd(22)} ${(best.call * 1000).toFixed(2)}`);
      made.free();
    }
  }
}

await main();
