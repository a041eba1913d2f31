/** The peer benchmark without its peers: the table is complete, strided computes all of it, and the reports are right. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { median, trial } from "../bench/harness.ts";
import { fastest, formsOf, type LoopName, loops as loopTable, type Size, sized } from "../bench/loops.ts";
import { gpuJs } from "../bench/peers/adapters/gpu.ts";
import { jax } from "../bench/peers/adapters/jax.ts";
import { loops } from "../bench/peers/adapters/loops.ts";
import { scijs } from "../bench/peers/adapters/ndarray.ts";
import { numpyTs } from "../bench/peers/adapters/numpy-ts.ts";
import { onnx } from "../bench/peers/adapters/onnx.ts";
import { onnxModel } from "../bench/peers/adapters/onnx-model.ts";
import { stridedAdapter } from "../bench/peers/adapters/strided.ts";
import { tfjs } from "../bench/peers/adapters/tfjs.ts";
import { contestants, programOf } from "../bench/peers/contestants.ts";
import { difference, makeInput, makeInputs } from "../bench/peers/inputs.ts";
import type { ContestantResult, Outcome } from "../bench/peers/run.ts";
import { type Adapter, opNames, type Values, type Workload } from "../bench/peers/types.ts";
import { groups, workloads } from "../bench/peers/workloads.ts";
import { markdown } from "../bench/report/markdown.ts";
import { compactJson, matches, type Report } from "../bench/report/report.ts";
import { chart } from "../bench/report/svg.ts";
import * as grad from "../src/grad.ts";
import * as lib from "../src/index.ts";
import * as nn from "../src/nn.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const strided = stridedAdapter(async () => ({
  lib,
  trainers: async () => ({ grad, nn }),
  about: { version: "", setup: "" },
}));
const adapters: Record<string, Adapter> = { strided, loops, jax, numpyTs, tfjs, onnx, gpuJs, scijs };

async function resultOf(adapter: Adapter, workload: Workload): Promise<Values> {
  const entry = adapter.ops[workload.op];
  if (typeof entry === "string") throw new Error(`${workload.op}: ${entry}`);
  const prepared = await entry(workload, makeInputs(workload.inputs));
  await prepared.run();
  const values = await prepared.read();
  prepared.dispose?.();
  return values;
}

describe("the workload table", () => {
  test("has every workload that was promised", () => {
    expect(workloads("full").map((w) => w.id)).toMatchInlineSnapshot(`
      [
        "add",
        "exp",
        "tanh",
        "row",
        "column",
        "every-second",
        "transposed",
        "reversed",
        "sum-0",
        "sum-1",
        "sum",
        "max-1",
        "softmax",
        "logsumexp",
        "matmul-32",
        "matmul-64",
        "matmul-128",
        "matmul-256",
        "matmul-512",
        "matmul-1024",
        "matmul-2048",
        "batched",
        "broadcast-batch",
        "gemv",
        "skinny",
        "a-t-b",
        "permute",
        "transpose",
        "f32-f64",
        "f64-f32",
        "f32-i32",
        "f32-f16",
        "ggml",
        "gelu",
        "small",
        "small-new",
        "compile",
        "train-mlp",
        "train-convnet",
        "import",
        "memory",
      ]
    `);
  });

  test("has the same rows at every size, matrix products apart", () => {
    const rows = (size: "full" | "quick" | "tiny") =>
      workloads(size)
        .filter((w) => w.group !== "matmul")
        .map((w) => [w.id, w.group, w.op, w.measure]);
    expect(rows("quick")).toEqual(rows("full"));
    expect(rows("tiny")).toEqual(rows("full"));
  });

  test("uses every operation and every group, with ids that differ", () => {
    const list = workloads("full");
    expect(new Set(list.map((w) => w.op))).toEqual(new Set(opNames));
    expect(new Set(list.map((w) => w.group))).toEqual(new Set(Object.keys(groups)));
    expect(new Set(list.map((w) => w.id)).size).toBe(list.length);
  });

  test("knows what is moved and computed", () => {
    const row = (id: string) => workloads("full").find((w) => w.id === id)!;
    expect(row("add").bytes).toBe(3 * 4 * 4096 ** 2);
    expect(row("f32-f16").bytes).toBe(6 * 4096 ** 2);
    expect(row("matmul-512").flops).toBe(2 * 512 ** 3);
    expect(row("batched").flops).toBe(2 * 64 * 128 ** 3);
    expect(row("gemv").flops).toBe(2 * 4096 ** 2);
  });
});

describe("strided and the plain loops", () => {
  test.each(workloads("tiny").map((w) => [w.id, w] as const))("agree about %s", async (_, workload) => {
    await strided.start();
    const [got, want] = [await resultOf(strided, workload), await resultOf(loops, workload)];
    expect(got.length).toBe(workload.out.shape.reduce((p, d) => p * d, 1));
    // Both round to f32 on their own way: twice what each may differ from the exact result.
    expect(difference(got, want, 2 * workload.tolerance).wrong).toBeNull();
  });

  test("leave no tensor behind", async () => {
    await strided.start();
    const before = lib.memory().tensors;
    for (const w of workloads("tiny").filter((w) =>
      ["add", "sum", "matmul", "cast", "trainMlp", "trainConvnet"].includes(w.op),
    )) {
      const entry = strided.ops[w.op];
      if (typeof entry === "string") throw new Error(entry);
      const prepared = await entry(w, makeInputs(w.inputs));
      for (let i = 0; i < 3; i++) await prepared.run();
      prepared.dispose?.();
    }
    expect(lib.memory().tensors - before).toBe(0);
  });
});

describe("the forms of the plain loops", () => {
  const operand = (length: number, k: number, dtype: "f32" | "f64" = "f32", scale = 1) =>
    makeInput({ shape: [length], dtype, scale }, k);
  /** Odd sizes: nothing divides by the 2, 4, 8 and 32 that forms step by; larger than a tile, and smaller than a step. */
  const shapes = [
    [41, 67],
    [7, 5],
    [3, 2],
    [1, 1],
  ] as const;

  interface Case {
    readonly size: Size;
    readonly x: Values;
    readonly y?: Values;
    readonly out?: Values;
    /** Element p of the output, from the definition. */
    readonly want: (p: number) => number;
    readonly tolerance?: number;
  }
  const row = (x: Values, i: number, m: number) => Array.from(x.subarray(i * m, i * m + m));
  const total = (x: readonly number[]) => x.reduce((a, b) => a + b, 0);
  const product = (turned: boolean, n: number, m: number, k: number): Case => {
    const batches = turned ? 1 : 3;
    const [x, y] = [operand(batches * n * k, 0), operand(batches * k * m, 1)];
    const [down, along] = turned ? [1, n] : [k, 1];
    return {
      size: { batches, n, m, k, down, along, nextX: n * k, nextY: k * m },
      x,
      y,
      out: new Float32Array(batches * n * m),
      want: (at) => {
        const [t, i, j] = [Math.floor(at / (n * m)), Math.floor(at / m) % n, at % m];
        const terms = Array.from(
          { length: k },
          (_, p) => x[t * n * k + i * down + p * along] * y[t * k * m + p * m + j],
        );
        return total(terms);
      },
      tolerance: 1e-5,
    };
  };
  const cast = (out: Values, x: Values, convert: (v: number) => number): Case => ({
    size: sized(1, out.length),
    x,
    out,
    want: (p) => convert(x[p]),
  });
  /** Every half float, what lies between two of them, and what is beyond. */
  const halves = Float32Array.from(
    { length: 4001 },
    (_, i) => (i - 2000) * 2 ** ((i % 57) - 40) * (1 + (i % 3) * 2 ** -11),
  );

  const cases: Record<LoopName, (n: number, m: number) => Case> = {
    add: (n, m) => {
      const [x, y] = [operand(n * m, 0), operand(n * m, 1)];
      return { size: sized(n, m), x, y, want: (p) => x[p] + y[p] };
    },
    addRow: (n, m) => {
      const [x, y] = [operand(n * m, 0), operand(m, 1)];
      return { size: sized(n, m), x, y, want: (p) => x[p] + y[p % m] };
    },
    addColumn: (n, m) => {
      const [x, y] = [operand(n * m, 0), operand(n, 1)];
      return { size: sized(n, m), x, y, want: (p) => x[p] + y[Math.floor(p / m)] };
    },
    exp: (n, m) => {
      const x = operand(n * m, 0);
      return { size: sized(n, m), x, want: (p) => Math.exp(x[p]), tolerance: 1e-7 };
    },
    tanhSquare: (n, m) => {
      const x = operand(n * m, 0);
      return { size: sized(n, m), x, want: (p) => Math.tanh(x[p] ** 2 + 1), tolerance: 1e-7 };
    },
    gelu: (n, m) => {
      const x = operand(n * m, 0);
      const u = (v: number) => Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3);
      return { size: sized(n, m), x, want: (p) => 0.5 * x[p] * (1 + Math.tanh(u(x[p]))), tolerance: 1e-7 };
    },
    everySecond: (n, m) => {
      const [x, y] = [operand(2 * n * m, 0), operand(n * m, 1)];
      return { size: sized(n, m), x, y, want: (p) => x[Math.floor(p / m) * 2 * m + 2 * (p % m)] + y[p] };
    },
    transposedAdd: (n) => {
      const [x, y] = [operand(n * n, 0), operand(n * n, 1)];
      return { size: sized(n, n), x, y, want: (p) => x[(p % n) * n + Math.floor(p / n)] + y[p] };
    },
    reversedAdd: (n, m) => {
      const [x, y] = [operand(n * m, 0), operand(n * m, 1)];
      return { size: sized(n, m), x, y, want: (p) => x[Math.floor(p / m) * m + m - 1 - (p % m)] + y[p] };
    },
    sumColumns: (n, m) => {
      const x = operand(n * m, 0);
      const column = (j: number) => Array.from({ length: n }, (_, i) => x[i * m + j]);
      return {
        size: sized(n, m),
        x,
        out: new Float32Array(m),
        want: (j) => total(column(j)),
        tolerance: 1e-5,
      };
    },
    sumRows: (n, m) => {
      const x = operand(n * m, 0);
      return {
        size: sized(n, m),
        x,
        out: new Float32Array(n),
        want: (i) => total(row(x, i, m)),
        tolerance: 1e-6,
      };
    },
    maxRows: (n, m) => {
      const x = operand(n * m, 0);
      return { size: sized(n, m), x, out: new Float32Array(n), want: (i) => Math.max(...row(x, i, m)) };
    },
    softmax: (n, m) => {
      const x = operand(n * m, 0);
      const want = (p: number) => Math.exp(x[p]) / total(row(x, Math.floor(p / m), m).map(Math.exp));
      return { size: sized(n, m), x, want, tolerance: 1e-6 };
    },
    logsumexp: (n, m) => {
      const x = operand(n * m, 0);
      const want = (i: number) => Math.log(total(row(x, i, m).map(Math.exp)));
      return { size: sized(n, m), x, out: new Float32Array(n), want, tolerance: 1e-6 };
    },
    matmul: (n, m) => product(false, n, m, n + 2),
    gemv: (n, m) => {
      const [x, y] = [operand(n * m, 0), operand(m, 1)];
      const want = (i: number) => total(row(x, i, m).map((v, p) => v * y[p]));
      return { size: sized(n, 1, { k: m }), x, y, out: new Float32Array(n), want, tolerance: 1e-5 };
    },
    transpose: (n, m) => {
      const x = operand(3 * n * m, 0);
      const want = (at: number) => {
        const [t, j, i] = [Math.floor(at / (n * m)), Math.floor(at / n) % m, at % n];
        return x[(t * n + i) * m + j];
      };
      return { size: sized(n, m, { batches: 3 }), x, out: new Float32Array(x.length), want };
    },
    swapRuns: (n, m) => {
      const k = 9;
      const x = operand(n * m * k, 0);
      const want = (at: number) => {
        const [j, i, h] = [Math.floor(at / (n * k)), Math.floor(at / k) % n, at % k];
        return x[(i * m + j) * k + h];
      };
      return { size: sized(n, m, { k }), x, out: new Float32Array(x.length), want };
    },
    f32ToF64: (n, m) => cast(new Float64Array(n * m), operand(n * m, 0), (v) => v),
    f64ToF32: (n, m) => cast(new Float32Array(n * m), operand(n * m, 0, "f64", 1 / 3), Math.fround),
    f32ToI32: (n, m) => cast(new Int32Array(n * m), operand(n * m, 0, "f32", 1000), Math.trunc),
    f32ToF16: () => {
      const bits = lib.tensor(halves).to("f16").data;
      return {
        size: sized(1, halves.length),
        x: halves,
        out: new Uint16Array(halves.length),
        want: (p) => bits[p],
      };
    },
  };

  const check = (name: LoopName, { size, x, y = x, want, tolerance = 0, ...more }: Case) => {
    const out = more.out ?? new Float32Array(size.n * size.m);
    const exact = out.slice();
    for (let p = 0; p < exact.length; p++) exact[p] = want(p);
    const forms = formsOf(name, out, x, y, size);
    // Other contents than those of the form before, so that what is not written shows; twice, as a timed form runs.
    for (const { name: form, run } of forms)
      for (let turn = 0; turn < 2; turn++) {
        out.fill(77);
        run();
        expect([form, difference(out, exact, tolerance).wrong]).toEqual([form, null]);
      }
  };

  test.each(Object.keys(loopTable) as LoopName[])("of %s agree with its definition, on odd sizes", (name) => {
    for (const [n, m] of shapes) check(name, cases[name](n, m));
  });

  test("of a product agree on a transposed operand", () => {
    for (const [n, m] of shapes) check("matmul", product(true, n, m, 9));
  });

  test("are two to four of each", () => {
    for (const forms of Object.values(loopTable)) {
      expect(Object.keys(forms).length).toBeGreaterThanOrEqual(2);
      expect(Object.keys(forms).length).toBeLessThanOrEqual(4);
    }
  });

  test("a trial finds the one that does least, and a wrong form is refused", () => {
    const out = new Float32Array(8);
    // A clock that nobody else moves: on a busy machine the fast one may look slow.
    let clock = 0;
    const now = vi.spyOn(performance, "now").mockImplementation(() => clock);
    onTestFinished(() => now.mockRestore());
    const working = (name: string, ms: number, value = 1) => ({
      name,
      run: () => {
        clock += ms;
        out.fill(value);
      },
    });
    const forms = [working("slow", 6), working("fast", 0.5), working("between", 2)];
    expect(fastest(forms, () => out, 0).form).toBe("fast");
    expect(Object.keys(fastest(forms, () => out, 0).tried)).toEqual(["slow", "fast", "between"]);
    expect(trial(forms)[0]).toBeGreaterThanOrEqual(6);
    expect(() => fastest([working("right", 0), working("wrong", 0, 2)], () => out, 0)).toThrow(
      "wrong: element 0 is 2, expected 1",
    );
  });

  test.each(workloads("tiny").map((w) => [w.id, w] as const))(
    "the one chosen for %s is right",
    async (_, w) => {
      const entry = loops.ops[w.op];
      if (typeof entry === "string") throw new Error(entry);
      const prepared = await entry(w, makeInputs(w.inputs));
      const before = (await prepared.read()).slice();
      const choice = prepared.choose?.();
      expect(choice === undefined).toBe(w.op === "compile" || w.group === "training");
      if (choice !== undefined) expect(Object.keys(choice.tried)).toContain(choice.form);
      expect(difference(await prepared.read(), before, 2 * w.tolerance).wrong).toBeNull();
    },
  );
});

describe("adapters", () => {
  test.each(Object.entries(adapters))("%s has each operation, or says why not", (_, adapter) => {
    for (const op of opNames) {
      const entry = adapter.ops[op];
      expect(typeof entry === "function" || entry.length > 5).toBe(true);
    }
  });

  test.each(["reference", "numpy", "numba", "torch"])("the Python side of %s has each operation", (name) => {
    const text = readFileSync(`${root}bench/peers/python/${name}_ops.py`, "utf8");
    const table = text.slice(text.indexOf("\nOPS = {"));
    for (const op of opNames) expect(table).toContain(`\n    "${op}": `);
  });

  test("every contestant has an adapter", () => {
    const files = [
      ...readdirSync(`${root}bench/peers/adapters`),
      ...readdirSync(`${root}bench/peers/python`),
    ];
    for (const { adapter, runtime } of contestants) {
      expect(files).toContain(runtime === "python" ? `${adapter}_ops.py` : `${adapter}.ts`);
    }
    expect(new Set(contestants.map((c) => c.id)).size).toBe(contestants.length);
  });

  test("a contestant that is not installed says so", () => {
    for (const contestant of contestants) {
      const program = programOf(contestant);
      if ("missing" in program) expect(program.missing).toMatch(/bench:setup$/);
      else expect(program.label).toMatch(/^(Node|Python) \d/);
    }
  });

  test("inputs are multiples of 1/1024 in [-2, 2) and differ from each other", () => {
    const operand = { shape: [10_000], dtype: "f32", scale: 1 } as const;
    const [a, b] = [makeInput(operand, 0), makeInput(operand, 1)];
    expect(a.every((x) => x >= -2 && x < 2 && Number.isInteger(x * 1024))).toBe(true);
    expect(a.filter((x, i) => x === b[i]).length).toBeLessThan(100);
    expect(Array.from(a.subarray(0, 4))).toMatchInlineSnapshot(`
      [
        -1.056640625,
        1.416015625,
        -0.1123046875,
        -1.6396484375,
      ]
    `);
  });

  test("a difference, a NaN and a wrong length are found", () => {
    const want = Float32Array.of(1, 2, 300);
    expect(difference(Float32Array.of(1, 2, 300), want, 0)).toEqual({ worst: 0, wrong: null });
    expect(difference(Float32Array.of(1, 2, 303), want, 0.02).wrong).toBeNull();
    expect(difference(Float32Array.of(1, 2.5, 300), want, 0.1).wrong).toBe("element 1 is 2.5, expected 2");
    expect(difference(Float32Array.of(1, NaN, 300), want, 0.1).wrong).toBe("element 1 is NaN, expected 2");
    expect(difference(Float32Array.of(1), want, 0).wrong).toBe("1 elements, expected 3");
  });

  test("an ONNX model is written as its format says", () => {
    const value = (name: string) => ({ name, dtype: "f32", shape: [2] }) as const;
    const bytes = onnxModel({
      inputs: [value("a")],
      output: value("out"),
      nodes: [{ op: "Exp", inputs: ["a"], output: "out" }],
    });
    expect(Buffer.from(bytes).toString("hex")).toMatchInlineSnapshot(
      `"08093a3a0a0d0a016112036f75742203457870120562656e63685a0f0a0161120a0a08080112040a02080262110a036f7574120a0a08080112040a02080242040a001014"`,
    );
  });
});

const contestant = (id: string, more: Partial<ContestantResult> = {}): ContestantResult => ({
  id,
  name: id,
  adapter: id,
  runtime: "own",
  runtimeLabel: "Node 20",
  ours: false,
  threads: 1,
  turbo: false,
  version: "1.2.3",
  setup: "as it comes",
  ...more,
});
const took = (median: number): Outcome => ({ median, spread: 0, least: median, rounds: 3, error: 0 });

function sample(): Report {
  const all = workloads("full");
  const row = (id: string, results: Record<string, Outcome>) => ({
    ...all.find((w) => w.id === id)!,
    busy: 0,
    results,
  });
  const limit = { copy: 20, read: 20, multiplyAdd: 100 };
  return {
    date: "2030-01-02 03:04",
    commit: { hash: "0123456789", changed: false },
    version: "9.9.9",
    machine: {
      cpu: "A & B <CPU>",
      cores: 2,
      memory: 2 ** 34,
      system: "test",
      node: "v20.0.0",
      newerNode: null,
    },
    limits: { how: "by hand", one: limit, all: { ...limit, multiplyAdd: 200 } },
    busy: 0,
    size: "full",
    settings: { rounds: 3, turn: 1, lead: 1, budget: 1, starts: 1, slowest: 1, patient: false },
    seconds: 600,
    reference: "NumPy 0 in f64",
    contestants: [
      contestant("strided-own-2", { name: "strided", adapter: "strided", ours: true, threads: 2 }),
      contestant("loops", { name: "typed-array loops" }),
      contestant("other"),
      contestant("absent", { missing: "cannot be installed" }),
    ],
    workloads: [
      row("add", {
        "strided-own-2": took(10),
        loops: took(50),
        other: took(8),
        absent: { none: "missing", why: "cannot be installed" },
      }),
      row("matmul-512", {
        "strided-own-2": took(4),
        loops: { none: "slow", why: "would take about 9 s a call" },
        other: { none: "wrong", why: "element 3 is 1, expected 2" },
        absent: { none: "missing", why: "cannot be installed" },
      }),
    ],
  };
}

describe("reports", () => {
  test("wins and losses are computed in the runtime of the other", () => {
    const list = matches(sample()).map((m) => [m.workload.id, m.theirs.id, m.ratio, m.outcome]);
    expect(list).toEqual([
      ["add", "loops", 5, "win"],
      ["add", "other", 0.8, "loss"],
    ]);
  });

  test("the page names losses with their reasons, and whoever has no figure with the reason", () => {
    const page = markdown(sample(), { "add other": "It is a test." });
    expect(page).toContain(
      "- **a + b**: 10.0 ms on Node 20, behind other, Node 20 (8.00 ms, 0.80×). It is a test.",
    );
    expect(page).toContain("| **strided, 2 threads, Node 20** | 10.0 ms |");
    expect(page).toContain("| other, Node 20 | **8.00 ms** |");
    expect(page).toContain("wrong result: element 3 is 1, expected 2");
    expect(page).toContain("would take about 9 s a call");
    expect(page).toContain("**takes no part:** cannot be installed");
    expect(page).toContain("| other, Node 20 | 0 | 0 | 1 |");
    expect(markdown(sample(), {})).toContain("Not looked into yet.");
  });

  test("the page names the form of each plain loop, in each runtime, where forms were tried", () => {
    const report = sample();
    expect(markdown(report, {})).not.toContain("## The plain loops");
    const figure = { ...took(50), form: "one index", tried: { "one index": 50, "by 4": 130 } };
    const [add, ...others] = report.workloads;
    const tried = {
      ...report,
      workloads: [{ ...add, results: { ...add.results, loops: figure } }, ...others],
    };
    const page = markdown(tried as Report, {});
    expect(page).toContain(
      "|  | typed-array loops, Node 20 |\n| --- | --- |\n| a + b | one index (2, 2.6×) |\n",
    );
    expect(page).not.toContain("| matmul 512 |");
    expect(JSON.parse(compactJson(tried as Report))).toEqual(tried);
  });

  test("the chart has a bar for each, no NaN, and is well formed", () => {
    const svg = chart(sample());
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(svg).toContain("A &amp; B &lt;CPU&gt;");
    expect(svg.match(/<rect class="ours"/g)?.length).toBe(3);
    const open: string[] = [];
    for (const [, slash, name, self] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
      if (slash !== "") expect(open.pop()).toBe(name);
      else if (self === "") open.push(name);
    }
    expect(open).toEqual([]);
  });

  test("a median of an even number lies between the two in the middle", () => {
    expect([[1, 3], [5, 1, 3], [4, 1, 2, 3], [7]].map(median)).toEqual([2, 3, 2.5, 7]);
  });

  test("figures that differ by less than half of their spread are a draw", () => {
    const report = sample();
    const [workload] = report.workloads;
    const outcome = (median: number, spread: number) => {
      const figure = { median, spread, least: median, rounds: 5, error: 0 };
      const results = { ...workload.results, "strided-own-2": { ...figure, median: 1 }, other: figure };
      const [found] = matches({ ...report, workloads: [{ ...workload, results }] }).filter(
        (m) => m.theirs.id === "other",
      );
      return found.outcome;
    };
    expect([outcome(2, 0.1), outcome(0.5, 0.1), outcome(1.03, 0.01), outcome(1.5, 1.5)]).toEqual([
      "win",
      "loss",
      "draw",
      "draw",
    ]);
  });

  test("results survive being written, to five digits", () => {
    const report = sample();
    expect(JSON.parse(compactJson(report))).toEqual(report);
  });

  test("the published page and chart are what the published results and notes say", () => {
    const folder = `${root}docs/benchmarks/`;
    const read = (file: string) => readFileSync(folder + file, "utf8");
    const notes = JSON.parse(read("notes.json")) as Record<string, string>;
    if (!existsSync(`${folder}results.json`)) return;
    const report = JSON.parse(read("results.json")) as Report;
    const remedy = "npm run bench:peers -- --rewrite";
    expect(markdown(report, notes) === read("README.md"), remedy).toBe(true);
    expect(chart(report) === read("chart.svg"), remedy).toBe(true);
    for (const w of report.workloads) {
      const ours = report.contestants.filter((c) => c.ours && c.missing === undefined);
      expect(ours.length).toBeGreaterThan(0);
      for (const c of ours) expect([w.id, c.id, "median" in w.results[c.id]]).toEqual([w.id, c.id, true]);
    }
  });
});

test("the benchmark's lock file names no registry", () => {
  expect(readFileSync(`${root}bench/package-lock.json`, "utf8")).not.toContain("resolved");
});
