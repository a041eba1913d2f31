/** What plans say about memory: amounts that do at once, results that are held to it, and a loop that others have a part in. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import {
  type ChunkedArray,
  type ChunkedPlan,
  chunked,
  type PlanOptions,
  type ProgressEvent,
} from "../../src/chunked.ts";
import { memory } from "../../src/index.ts";
import { zarr } from "../../src/io.ts";

const folder = mkdtempSync(join(tmpdir(), "strided-held-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const messageOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};
const amountIn = (message: string): string => /memory: "([^"]+)"/.exec(message)![1];

describe("the amount that a refusal names", () => {
  it("is enough, with what is reserved by itself", () => {
    const big = chunked.full([4000, 4000], 1, { chunks: [4000, 4000], dtype: "f64" });
    const message = messageOf(() => big.add(big.transpose()).plan({ memory: "256 MiB" }));
    expect(message).toMatchInlineSnapshot(`
      "plan: operation 0 (blockwise: full) needs 611.4 MiB for one task that writes [4000, 4000] of f64, and 192 MiB may be used: 256 MiB less 64 MiB for the process itself.
        Give { memory: "1.3 GiB" }, or arrays in chunks of about [2000, 2000]."
    `);
    const columns = big.rechunk([4000, 1]);
    for (const lazy of [big.add(big.transpose()), columns]) {
      for (const memory of ["1 KiB", "64 MiB", "256 MiB"]) {
        lazy.plan({ memory: amountIn(messageOf(() => lazy.plan({ memory }))) });
      }
    }
  });

  it("is said where nothing is left for a task", () => {
    const lazy = chunked.full([4], 1, { chunks: [4], dtype: "f32" }).add(1);
    const message = messageOf(() => lazy.plan({ memory: "1 KiB" }));
    expect(message).toMatchInlineSnapshot(`
      "plan: memory is 1 KiB, and 256 B of it are reserved for the process itself.
        Give { memory: "1.4 MiB" }, or less { reserved }."
    `);
    lazy.plan({ memory: amountIn(message) });
    expect(messageOf(() => lazy.plan({ memory: "1 KiB", reserved: "2 KiB" }))).toMatchInlineSnapshot(`
      "plan: memory is 1 KiB, and 2 KiB of it are reserved for the process itself.
        Give { memory: "1.1 MiB" }, or less { reserved }."
    `);
  });

  const side = fc.integer({ min: 1, max: 3000 });
  const programs: Readonly<Record<string, (a: ChunkedArray, chunks: number[]) => ChunkedArray>> = {
    elementwise: (a) => a.mul(2).add(a),
    transposed: (a) => a.add(a.slice("::-1").transpose().transpose()),
    rechunked: (a, chunks) => a.rechunk(chunks),
    "rechunked twice": (a, chunks) => a.rechunk(chunks).add(a).rechunk([1, 4000]),
    normalised: (a) => a.sub(a.mean({ axis: 0 })).div(a.std({ axis: 0 })),
    "cumulative sums": (a) => a.cumsum({ axis: 1 }).cumsum({ axis: 0 }),
    product: (a) => a.matmul(a.transpose().add(1)),
    counts: (a) => a.histogram({ bins: 1000 }),
    quantiles: (a) => a.approximateQuantile([0.1, 0.9]),
    blocks: (a) => a.mapBlocks((out: never) => void out, { halo: 2 }),
    "put together": (a) => chunked.concat([a, a.mul(2)]).add(chunked.stack([a, a]).sum()),
  };
  it.each(Object.entries(programs))("is enough for %s", (_, program) => {
    const cases = fc.record({
      shape: fc.tuple(side, side),
      from: fc.tuple(side, side),
      to: fc.tuple(side, side),
      dtype: fc.constantFrom("u8" as const, "f32" as const, "f64" as const),
      options: fc.constantFrom<PlanOptions[]>(
        { memory: 1 },
        { memory: "2 MiB" },
        { memory: "20 MiB", workers: 4 },
        { memory: "100 MiB" },
        { memory: "5 MiB", reserved: 0 },
        { memory: "64 MiB", reserved: "60 MiB" },
      ),
    });
    let refused = 0;
    fc.assert(
      fc.property(cases, ({ shape, from, to, dtype, options }) => {
        const lazy = program(chunked.full(shape, 1, { chunks: from, dtype }), to);
        for (const make of [(o: PlanOptions): ChunkedPlan => lazy.plan(o)]) {
          const message = messageOf(() => make(options));
          if (message === "") return;
          refused++;
          make({ ...options, memory: amountIn(message) });
        }
      }),
      { numRuns: 60 },
    );
    expect(refused).toBeGreaterThan(10);
  });
});

describe("compute", () => {
  it("holds the result, and what lies between, against the memory", async () => {
    const huge = chunked.full([100_000, 100_000], 1, { chunks: [1000, 1000], dtype: "f32" });
    await expect(huge.compute({ memory: "256 MiB" })).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: compute: to put together the result (f32 [100000, 100000], 37.3 GiB) in memory needs 74.6 GiB, and 192 MiB may be used: 256 MiB less 64 MiB for the process itself.
        Give { memory: "74.6 GiB" }, or write it to a folder: plan().run({ to: "z.zarr" }).]
    `);
    await expect(huge.cumsum({ axis: 0 }).sum().compute()).rejects.toThrow(/between operations/);
    expect((await huge.slice("0:9", "0:9").compute({ memory: "16 MiB" })).shape).toEqual([9, 9]);
  });

  it("does with the amount that a refusal names", async () => {
    const lazy = chunked
      .full([3000, 1000], 1, { chunks: [100, 1000], dtype: "f32" })
      .matmul(chunked.full([1000, 500], 1, { chunks: [1000, 500], dtype: "f32" }));
    const message = await lazy.compute({ memory: "16 MiB" }).then(String, (error: Error) => error.message);
    const t = await lazy.compute({ memory: amountIn(message) });
    expect(t.max().item()).toBe(1000);
  });

  it("lets timers and signals have their turn, between tasks and inside of them", async () => {
    const wide = chunked.full([100_000, 10_000], 1, { chunks: [1000, 1000], dtype: "f32" });
    const column = chunked.full([10_000, 1], 1, { chunks: [1000, 1], dtype: "f32" });
    for (const lazy of [wide.sum(), wide.matmul(column), chunked.stack(Array(10).fill(wide)).max()]) {
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 5);
      await expect(lazy.compute({ memory: "8 GiB", signal: stop.signal })).rejects.toThrow(/abort/i);
    }
  });
});

it("what lies between operations is not kept in memory beside a result in a store, unless it fits or that is said", async () => {
  const lazy = chunked
    .full([20_000, 1000], 1, { chunks: [100, 1000], dtype: "f64" })
    .rechunk([20_000, 10])
    .add(1);
  const plan = lazy.plan({ memory: "128 MiB" });
  await expect(plan.toPlan({ to: zarr.memoryStore() })).rejects.toThrowErrorMatchingInlineSnapshot(`
    [TensorError: toPlan: what lies between operations has 457.8 MiB and would be kept in memory, where 48.9 MiB are left.
      Say where else: { work: "work" }, a folder or another store; or plan with more { memory }.]
  `);
  await plan.toPlan({ to: zarr.memoryStore(), work: join(folder, "work") });
  await plan.toPlan({ to: join(folder, "z.zarr") });
});

it("tasks hold no more than is projected where words are drawn for narrower numbers", async () => {
  const options = { chunks: [4000, 1000], seed: 1 };
  const shape = [4000, 1000];
  const integers = { ...options, distribution: "integers", params: [1, 5] } as const;
  const drawn = [
    chunked.random(shape, options),
    chunked.random(shape, { ...options, dtype: "f16" }),
    ...(["i8", "u16", "i32", "i64"] as const).map((dtype) => chunked.random(shape, { ...integers, dtype })),
  ];
  for (const lazy of drawn)
    for (const made of [lazy, lazy.max({ axis: 0 })]) {
      const plan = made.plan({ workers: 1 });
      const projected = new Map(plan.operations.map((op) => [op.id, op.projected]));
      const progress = (event: ProgressEvent) => {
        if (event.kind !== "task") return;
        const { operation, peak } = event.report;
        expect(peak, `${operation} of ${lazy.dtype}`).toBeLessThanOrEqual(projected.get(operation)!);
      };
      await plan.run({ to: zarr.memoryStore(), progress });
    }
});

it("nothing is left of a run but its result", async () => {
  const a = chunked.random([6, 6], { chunks: [3, 2], seed: 1 });
  const all = [a.sum(), a.mean({ axis: 0 }), a.std(), a.cumsum({ axis: 1 }), a.matmul(a), a.transpose()];
  for (const lazy of [...all, a.histogram({ bins: 3 }), a.approximateQuantile([0.5]), a.map((x) => x * 2)]) {
    const before = memory();
    (await lazy.compute()).dispose();
    chunked.stack([lazy, lazy.to("f64")]);
    expect(memory().bytes).toBe(before.bytes);
    expect(memory().tensors).toBe(before.tensors);
  }
});
