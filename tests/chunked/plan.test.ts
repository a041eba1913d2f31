/** Plans: what they say before anything is read, what they refuse, and runs that go on where they were cut off. */
import { mkdtempSync, readFileSync, rmSync, statSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { hashOf } from "../../src/chunked/plan-file.ts";
import { progressOf } from "../../src/chunked/progress.ts";
import { pendingTasks, prepare } from "../../src/chunked/resume.ts";
import { allowPlan } from "../../src/chunked/stores.ts";
import { runTask } from "../../src/chunked/task.ts";
import { type ChunkedArray, checkPlan, chunked, local, type ProgressEvent } from "../../src/chunked.ts";
import { allclose, random, type Tensor } from "../../src/index.ts";
import { zarr } from "../../src/io.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-chunked-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const fresh = () => join(folder, `array${made++}.zarr`);

async function stored(shape: number[], chunks: number[]): Promise<[path: string, x: Tensor]> {
  const path = fresh();
  const x = random.generator(7).normal(shape, { dtype: "f32" }) as Tensor;
  await zarr.save(path, x, { chunks });
  return [path, x];
}

describe("plans", () => {
  it("a compressor that is none is refused where it is given", async () => {
    const plan = chunked.full([4], 1, { chunks: [2] }).plan();
    for (const [compressor, what] of [
      [7, "toPlan: the compressor is the number 7"],
      [0, "toPlan: the compressor is the number 0"],
      ["", 'the codec "" is not known'],
      ["zip", 'the codec "zip" is not known'],
    ] as const)
      await expect(plan.toPlan({ to: "z.zarr", compressor: compressor as never })).rejects.toThrow(what);
    await expect(plan.run({ to: "z.zarr", compressor: {} as never })).rejects.toThrow("run: the compressor");
    const needsWork = chunked
      .full([4], 1, { chunks: [2] })
      .sum()
      .plan();
    await expect(needsWork.toPlan({ to: "z.zarr", work: "" })).rejects.toThrow(/^toPlan: cannot write to/);
    const made = await plan.toPlan({ to: "z.zarr", compressor: "gzip" });
    const { hash: _, ...rest } = structuredClone(made);
    const arrays = { ...rest.arrays, [made.result]: { ...rest.arrays[made.result], compressor: 7 } };
    const forged = { ...rest, arrays } as never as typeof made;
    await expect(checkPlan({ ...forged, hash: await hashOf(forged) })).rejects.toThrow(/is none/);
    expect((await checkPlan(made)).hash).toBe(made.hash);
  });

  it("mean and deviation share one pass over the elements", async () => {
    const [path] = await stored([40, 30], [10, 10]);
    const a = await chunked.open(path);
    const plan = a
      .sub(a.mean({ axis: 0 }))
      .div(a.std({ axis: 0 }))
      .plan();
    expect(plan.operations.map((op) => op.kind)).toEqual(["fold", "combine", "blockwise"]);
    expect(plan.explain()).toMatch(/div\(sub\(input0/);
  });

  it("what cannot fit is refused before anything is read, and what would fit does", async () => {
    const [path] = await stored([400, 1000], [400, 1000]);
    const a = await chunked.open(path);
    const lazy = a.add(1);
    let message = "";
    try {
      lazy.plan({ memory: "4 MiB", reserved: 0 });
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/needs .* for one task .* may be used/);
    const [, enough] = /memory: "([^"]+)"/.exec(message)!;
    expect(() => lazy.plan({ memory: enough, reserved: 0 })).not.toThrow();
  });

  it("tasks stay within what was projected", async () => {
    const [path] = await stored([500, 300], [100, 100]);
    const a = await chunked.open(path);
    for (const lazy of [
      a.mul(2),
      a.std({ axis: 0 }),
      a.matmul(a.transpose()),
      a.rechunk([500, 20]),
      a.cumsum({ axis: 1 }),
    ]) {
      const plan = lazy.plan({ memory: "64 MiB", workers: 1 });
      const report = await plan.run({ to: fresh(), on: local({ workers: 1 }) });
      expect(report.peak).toBeLessThanOrEqual(Math.max(...plan.operations.map((op) => op.projected)));
      expect(report.ran).toBe(plan.operations.reduce((n, op) => n + op.tasks, 0));
    }
  });

  it("functions that do not compile are refused when they are given", async () => {
    const [path] = await stored([4], [2]);
    const a = await chunked.open(path);
    const outside = { k: 1 };
    expect(() => a.map((x) => x + outside.k)).toThrow(/cannot compile|outside/);
    expect(() => a.map((x) => x, { with: { k: {} as never } })).toThrow(/Only numbers/);
  });
});

describe("runs that go on", () => {
  it("only tasks with missing chunks run again, and the bytes are the same", async () => {
    const [path, x] = await stored([64, 64], [8, 64]);
    const a = await chunked.open(path);
    const plan = a.sub(a.mean({ axis: 0 })).plan({ workers: 1 });
    const to = fresh();
    const first = await plan.run({ to, keep: true });
    const keys = ["c/3/0", "c/5/0"].map((key) => join(to, key));
    const before = keys.map((key) => readFileSync(key));
    for (const key of keys) unlinkSync(key);
    const untouched = statSync(join(to, "c/0/0")).mtimeMs;
    await expect(plan.run({ to, keep: true })).rejects.toThrow(/resume: true/);
    const events: ProgressEvent[] = [];
    const second = await plan.run({ to, resume: true, progress: (e) => events.push(e) });
    expect(second.ran).toBe(2);
    expect(second.skipped).toBe(first.ran - 2);
    expect(keys.map((key) => readFileSync(key))).toEqual(before);
    expect(statSync(join(to, "c/0/0")).mtimeMs).toBe(untouched);
    expect(events.at(-1)?.kind).toBe("end");
    const got = await (await zarr.openArray(to)).read();
    expect(allclose(got, x.sub(x.mean({ axis: 0 })), { atol: 1e-6 })).toBe(true);
  });

  it("another plan does not go on with somebody else's output", async () => {
    const [path] = await stored([8], [4]);
    const a = await chunked.open(path);
    const to = fresh();
    await a.add(1).plan().run({ to });
    await expect(a.add(2).plan().run({ to, resume: true })).rejects.toThrow(/was written by plan/);
    await a.add(2).plan().run({ to, overwrite: true });
  });

  it("a run that is called off stops, and goes on later", async () => {
    const [path] = await stored([64], [2]);
    const plan = (await chunked.open(path)).mul(3).plan({ workers: 1 });
    const to = fresh();
    const stop = new AbortController();
    let seen = 0;
    const progress = (e: ProgressEvent) => {
      if (e.kind === "task" && ++seen === 3) stop.abort();
    };
    await expect(plan.run({ to, signal: stop.signal, progress, on: local({ workers: 1 }) })).rejects.toThrow(
      /abort/i,
    );
    const { ran, skipped } = await plan.run({ to, resume: true });
    expect(skipped).toBeGreaterThanOrEqual(3);
    expect(ran).toBeGreaterThan(0);
  });
});

describe("plans from outside", () => {
  const planFor = async () => {
    const [path] = await stored([8, 8], [4, 4]);
    const lazy = (await chunked.open(path)).map((x) => x * 2);
    return lazy.plan({ workers: 1 }).toPlan({ to: fresh() });
  };

  it("are what they were, and their tasks can be run one by one", async () => {
    const plan = await checkPlan(JSON.parse(JSON.stringify(await planFor())));
    const context = { allow: allowPlan(plan) };
    await prepare(plan, context, { resume: true });
    const [{ id, tasks }] = plan.operations;
    expect(await pendingTasks(plan, id, context)).toHaveLength(tasks);
    await runTask(plan, id, 0, context);
    expect(await pendingTasks(plan, id, context)).toHaveLength(tasks - 1);
    await expect(runTask(plan, id, tasks, context)).rejects.toThrow(/has no task/);
    await expect(runTask(plan, "7-fold", 0, context)).rejects.toThrow(/no operation/);
  });

  it("whose contents were changed are refused", async () => {
    const plan = await planFor();
    await expect(checkPlan({ ...plan, memory: 1 })).rejects.toThrow(/hash was made of/);
    await expect(checkPlan(plan, "0".repeat(64))).rejects.toThrow(/another one/);
    for (const bad of [
      null,
      1,
      [],
      {},
      { ...plan, version: 9 },
      { ...plan, operations: [{}] },
      { ...plan, arrays: { a: 1 } },
    ]) {
      await expect(checkPlan(bad)).rejects.toThrow(/this is no plan/);
    }
  });

  it("of every kind are read; those whose work is no work are refused, whatever their hash", async () => {
    const [path] = await stored([8, 8], [4, 4]);
    const a = await chunked.open(path);
    const r = chunked.random([8, 8], { chunks: [4, 4], seed: 1 });
    const made = [
      a.sub(a.mean({ axis: 0 })).map((x, { k }) => x * k, { with: { k: 2 } }),
      a.slice("::-2", "1:", null).transpose(2, 0, 1).rechunk([1, 3, 3]),
      a.cumsum({ axis: 0 }),
      a.matmul(r.to("f64")),
      a.histogram({ bins: 4 }),
      a.approximateQuantile(0.5),
      a.std({ axis: 1 }).op("clip", 0, 1),
      a.mapBlocks((out: never) => void out, { halo: [1, 0] }),
      chunked.stack([a, a]).tensordot(a, { axes: 1 }),
      a.rechunk([8, 1]).rechunk([1, 8]).prod({ axis: 0, keepdims: true }),
      chunked.concat([a, r, chunked.full([8, 8], 1, { chunks: [4, 4], dtype: "f32" })]),
    ];
    for (const lazy of made) {
      const text = JSON.stringify(await lazy.plan().toPlan({ to: fresh() }));
      await checkPlan(JSON.parse(text));
      for (const [k, { work }] of JSON.parse(text).operations.entries()) {
        for (const [key, value] of Object.entries(work).flatMap(([key]) =>
          [null, {}, "constructor", [-1]].map((v) => [key, v] as const),
        )) {
          if (JSON.stringify(work[key]) === JSON.stringify(value) || key === "ahead") continue;
          const forged = JSON.parse(text);
          forged.operations[k].work[key] = value;
          if (key === "offsets" && value === null) continue;
          if (key === "range" && value === null) continue;
          if (key === "q" && JSON.stringify(value) === "[-1]") continue;
          forged.hash = await hashOf(forged);
          await expect(checkPlan(forged), `${key} ${value}`).rejects.toThrow(/this is no plan/);
        }
      }
    }
    const forged = JSON.parse(JSON.stringify(await made[0].plan().toPlan({ to: fresh() })));
    forged.operations[0].work.expr.shape = [1e9, 1e9];
    forged.hash = await hashOf(forged);
    await expect(checkPlan(forged)).rejects.toThrow(/its operation "0-fold" is none/);
  });

  it("whose fields do not fit each other are refused, whatever their hash", async () => {
    const [path] = await stored([6], [2]);
    const a = await chunked.open(path);
    const sums = a.cumsum({ axis: 0 });
    const expr = [0, "work", "expr"];
    const forgeries: [lazy: ChunkedArray, at: (string | number)[], value: unknown][] = [
      [a.add(1), ["memory"], 1],
      [a.add(1), ["reserved"], 2 ** 40],
      [a.add(1), ["result"], "input0"],
      [a.add(1), [...expr, "shape"], [600]],
      [a.add(1), [...expr, "shape"], [6, 1]],
      [a.add(1), [...expr, "dtype"], "f64"],
      [a.add(1), [...expr, "op"], "nope"],
      [a.add(1), [...expr, "op"], "constructor"],
      [a.add(1), [...expr, "op"], "exp"],
      [a.add(1), [...expr, "args"], []],
      [a.add(1), [...expr, "args", 0, "array"], "output"],
      [chunked.full([5], 1, { chunks: [4] }), [0, "block"], [3]],
      [a.to("f64"), [...expr, "of", "shape"], [5]],
      [a.map((x) => x), [...expr, "shape"], [7]],
      [a.slice("1:4"), [...expr, "shape"], [4]],
      [a.slice(null), [...expr, "shape"], [2, 6]],
      [a.expandDims(0).transpose(), [...expr, "axes"], [0, 1]],
      [chunked.concat([a, a]), [...expr, "shape"], [11]],
      [a.std(), [0, "work", "groups"], 1000],
      [a.std(), [0, "work", "how"], "sum"],
      [a.std(), [1, "work", "groups"], 1],
      [a.histogram({ bins: 4, range: [0, 1] }), [0, "work", "bins"], 3],
      [a.histogram({ bins: 4, range: [0, 1] }), [0, "work", "range"], null],
      [sums, [2, "work", "offsets"], null],
      [sums, [2, "work", "offsets"], "input0"],
      [sums, [1, "work", "array"], "input0"],
      [a.tensordot(a, { axes: 1 }), [0, "work", "inner"], [2, 2]],
      [a.tensordot(a, { axes: 1 }), [0, "work", "axesB"], []],
      [a.approximateQuantile([0.5]), [-1, "work", "q"], [0.5, 0.6]],
      [a.approximateQuantile([0.5]), [-1, "work", "q"], [2]],
      [chunked.random([4], { chunks: [2], seed: 1 }), [...expr, "seed"], "one"],
    ];
    for (const [lazy, at, value] of forgeries) {
      const forged = JSON.parse(JSON.stringify(await lazy.plan().toPlan({ to: fresh() })));
      const path = typeof at[0] === "number" ? ["operations", ...at] : at;
      const place = path.slice(0, -1).reduce((x, key) => (key === -1 ? x.at(-1) : x[key]), forged);
      expect(place).toHaveProperty(String(path.at(-1)));
      place[path.at(-1)!] = value;
      forged.hash = await hashOf(forged);
      await expect(checkPlan(forged), `${path.join(".")} = ${value}`).rejects.toThrow(/this is no plan/);
    }
  });

  it("open nothing that is not on the list", async () => {
    const plan = await planFor();
    const context = { allow: { folders: [join(folder, "elsewhere")], urls: [] } };
    await expect(prepare(plan, context)).rejects.toThrow(/is not one that this process may open/);
    await expect(runTask(plan, plan.operations[0].id, 0, context)).rejects.toThrow(/may open/);
  });

  it("functions in them are read, never evaluated", async () => {
    const plan = await planFor();
    const text = JSON.stringify(plan).replace("(x) => x * 2", "(x) => globalThis.process.exit(3)");
    expect(text).not.toBe(JSON.stringify(plan));
    const forged = JSON.parse(text) as typeof plan;
    const context = { allow: allowPlan(forged) };
    await prepare(forged, context);
    await expect(runTask(forged, forged.operations[0].id, 0, context)).rejects.toThrow(
      /there is no globalThis.process/,
    );
  });
});

it("progress says how far, how fast and how long", async () => {
  const [path] = await stored([8], [2]);
  const plan = await (await chunked.open(path)).mul(3).plan({ workers: 1 }).toPlan({ to: fresh() });
  const sum = progressOf(plan);
  sum.line(0);
  const { id, tasks } = plan.operations[0];
  sum.tell({ kind: "operation", operation: id, tasks, pending: tasks });
  const report = { operation: id, index: 0, read: 1 << 20, written: 0, peak: 0, milliseconds: 1 };
  sum.tell({ kind: "task", report });
  expect(sum.line(1000)).toBe(`1/${tasks} tasks  0-blockwise  1.0 tasks/s  1 MiB/s  ${tasks - 1} s left`);
});
