/** The peer benchmark without its peers: the table is complete, strided computes all of it, and the reports are right. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { median } from "../bench/harness.ts";
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
import * as lib from "../src/index.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const strided = stridedAdapter(async () => ({ lib, about: { version: "", setup: "" } }));
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
    for (const w of workloads("tiny").filter((w) => ["add", "sum", "matmul", "cast"].includes(w.op))) {
      const entry = strided.ops[w.op];
      if (typeof entry === "string") throw new Error(entry);
      const prepared = await entry(w, makeInputs(w.inputs));
      for (let i = 0; i < 3; i++) await prepared.run();
      prepared.dispose?.();
    }
    expect(lib.memory().tensors - before).toBe(0);
  });
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
