/** Everything that chunked arrays do, beside the same done in memory, on random shapes and chunks. */
import assert from "node:assert";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ChunkedArray, chunked, local } from "../../src/chunked.ts";
import {
  allclose,
  concat,
  full,
  histogram,
  kernel,
  type NjitTensor,
  pad,
  quantile,
  random,
  scope,
  stack,
  type Tensor,
  TensorError,
  tensor,
  tensordot,
} from "../../src/index.ts";
import { zarr } from "../../src/io.ts";

interface Case {
  readonly shape: readonly number[];
  readonly chunks: readonly number[];
  readonly seed: number;
}

const cases = (rank: number, most = 17): fc.Arbitrary<Case> =>
  fc
    .tuple(
      fc.array(fc.integer({ min: 1, max: most }), { minLength: rank, maxLength: rank }),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: rank, maxLength: rank }),
      fc.integer({ min: 0, max: 1e6 }),
    )
    .map(([shape, chunks, seed]) => ({ shape, chunks: chunks.map((c, d) => Math.min(c, shape[d])), seed }));

async function stored(
  { shape, chunks, seed }: Case,
  dtype: "f32" | "f64" | "i32" = "f64",
): Promise<[ChunkedArray, Tensor]> {
  const g = random.generator(seed);
  const x = (
    dtype === "i32" ? g.integers(-50, 50, [...shape], { dtype }) : g.normal([...shape], { dtype })
  ) as Tensor;
  const store = zarr.memoryStore();
  await zarr.save(store, x, { chunks: [...chunks] });
  return [await chunked.open(store), x];
}

async function check(lazy: ChunkedArray, want: Tensor): Promise<void> {
  expect(lazy.shape).toEqual(want.shape);
  expect(lazy.dtype).toBe(want.dtype);
  const got = await lazy.compute();
  expect(got.shape).toEqual(want.shape);
  expect(got.dtype).toBe(want.dtype);
  if (!allclose(got, want, { rtol: 1e-5, atol: 1e-6, equalNan: true })) {
    expect(got.toArray()).toEqual(want.toArray());
  }
  got.dispose();
}

const RUNS = 12;
const law = <T>(arbitrary: fc.Arbitrary<T>, test: (one: T) => Promise<void>) =>
  fc.assert(fc.asyncProperty(arbitrary, test), { numRuns: RUNS });

describe("elementwise", () => {
  it("the example of the page: centred, scaled, mapped", () =>
    law(cases(2), async (c) => {
      const [a, x] = await stored(c, "f32");
      await check(
        a
          .sub(a.mean({ axis: 0 }))
          .div(a.std({ axis: 0 }).add(1))
          .map((v) => Math.tanh(v)),
        x
          .sub(x.mean({ axis: 0 }))
          .div(x.std({ axis: 0 }).add(1))
          .map((v) => Math.tanh(v)),
      );
    }));

  it("operands of several shapes, chunks and dtypes are broadcast", () =>
    law(fc.tuple(cases(3, 9), fc.integer({ min: 0, max: 7 })), async ([c, bits]) => {
      const [a, x] = await stored(c, "f32");
      const shape = c.shape.map((n, d) => ((bits >> d) & 1 ? 1 : n)).slice(bits & 1);
      const chunks = shape.map((n) => Math.min(n, 2));
      const [b, y] = await stored({ shape, chunks, seed: c.seed + 1 }, "i32");
      await check(a.mul(b).add(2), x.mul(y).add(2));
      await check(b.sub(a), y.sub(x));
      await check(a.op("greater", b), x.greater(y));
    }));

  it("operations that are none are refused, with those that were meant", () => {
    const a = chunked.full([4], 2, { chunks: [2] });
    const messageOf = (...args: unknown[]): string => {
      try {
        Reflect.apply(a.op, a, args);
      } catch (error) {
        expect(error).toBeInstanceOf(TensorError);
        return (error as Error).message.slice(0, 120);
      }
      return "";
    };
    expect(
      [["nope"], ["hypott"], ["sum"], ["constructor"], ["toString"], [undefined], ["hypot"], ["exp", 1]].map(
        (args) => messageOf(...args),
      ),
    ).toMatchInlineSnapshot(`
      [
        "op: there is no operation "nope".
        There are add, sub, mul, div, remainder, floorDivide, pow, maximum, minimum, atan2, ",
        "op: there is no operation "hypott".
        Did you mean hypot? There are add, sub, mul, div, remainder, floorDivide, pow, max",
        "op: there is no operation "sum".
        It is a method: a.sum(…).",
        "op: there is no operation "constructor".
        There are add, sub, mul, div, remainder, floorDivide, pow, maximum, minimum, ",
        "op: there is no operation "toString".
        It is a method: a.toString(…).",
        "op: there is no operation undefined.
        There are add, sub, mul, div, remainder, floorDivide, pow, maximum, minimum, atan",
        "hypot: it takes 2 operands, and was given 1.",
        "exp: it takes 1 operand, and was given 2.",
      ]
    `);
    expect(() => a.add(tensor([1, 2]) as never)).toThrowErrorMatchingInlineSnapshot(`
      [TensorError: add: expected a chunked array or a number, got a Tensor.
        What is in memory becomes one through a store: await zarr.save(store, tensor), then await chunked.open(store).]
    `);
  });

  it("captured values travel; dtypes are the library's", () =>
    law(cases(1, 40), async (c) => {
      const [a, x] = await stored(c, "i32");
      await check(
        a.map((v, { k }) => v * k, { with: { k: 1.5 } }),
        x.map((v, { k }) => v * k, { with: { k: 1.5 } }),
      );
      await check(a.div(0), x.div(0));
      await check(a.to("u8"), x.to("u8"));
      await check(
        a.zip(a, (p, q) => Math.max(p, -q)),
        x.map((p) => Math.max(p, -p)),
      );
    }));
});

describe("folds", () => {
  const some = fc.tuple(cases(3, 9), fc.subarray([0, 1, 2], { minLength: 1 }), fc.boolean());
  for (const how of ["sum", "prod", "min", "max", "mean"] as const) {
    it(`${how} over any axes`, () =>
      law(some, async ([c, axis, keepdims]) => {
        for (const dtype of ["f32", "i32"] as const) {
          if (how === "prod" && dtype === "i32") continue;
          const [a, x] = await stored(c, dtype);
          await check(a[how]({ axis, keepdims }), x[how]({ axis, keepdims }) as Tensor);
        }
      }));
  }
  it("any and all", () =>
    law(some, async ([c, axis, keepdims]) => {
      const [a, x] = await stored(c, "i32");
      await check(a.op("greater", 40).any({ axis, keepdims }), x.greater(40).any({ axis, keepdims }));
      await check(a.op("greater", -48).all({ axis, keepdims }), x.greater(-48).all({ axis, keepdims }));
    }));
  it("var and std, also far from zero", () =>
    law(some, async ([c, axis, keepdims]) => {
      const [a, x] = await stored(c, "f64");
      await check(a.add(1e6).var({ axis, keepdims }), x.add(1e6).var({ axis, keepdims }));
      await check(a.std({ axis, keepdims }), x.std({ axis, keepdims }));
      if (axis.reduce((n, d) => n * c.shape[d], 1) > 1) {
        await check(a.std({ axis, ddof: 1 }), x.std({ axis, ddof: 1 }));
      }
    }));
  it("of everything, to no axis", () =>
    law(cases(2), async (c) => {
      const [a, x] = await stored(c, "f32");
      await check(a.sum(), x.sum());
      await check(a.mean(), x.mean());
    }));
  it("cumulative sums along any axis", () =>
    law(fc.tuple(cases(3, 9), fc.integer({ min: 0, max: 2 })), async ([c, axis]) => {
      for (const dtype of ["f64", "i32"] as const) {
        const [a, x] = await stored(c, dtype);
        await check(a.cumsum({ axis }), x.cumsum({ axis }));
      }
    }));
  it("histograms, with a range and with the elements' own", () =>
    law(cases(2), async (c) => {
      const [a, x] = await stored(c, "f64");
      const range = [-1, 1] as const;
      await check(a.histogram({ bins: 7, range }), histogram(x, { bins: 7, range }).counts as Tensor);
      await check(a.histogram({ bins: 5 }), histogram(x, { bins: 5 }).counts as Tensor);
    }));
  it("approximate quantiles are near the true ones", async () => {
    const [a, x] = await stored({ shape: [200, 100], chunks: [33, 47], seed: 3 }, "f64");
    const q = [0, 0.05, 0.5, 0.95, 1];
    const got = (await a.approximateQuantile(q)).compute();
    const want = (quantile(x, q) as Tensor).toArray() as number[];
    const width = (Number(x.max().item()) - Number(x.min().item())) / 4096;
    for (const [k, v] of ((await got).toArray() as unknown as number[]).entries()) {
      expect(Math.abs(v - want[k])).toBeLessThan(4 * width);
    }
    expect((await a.approximateQuantile(0.5).compute()).shape).toEqual([]);
  });
  it("NaN and infinities have no part in quantiles; a histogram wants a range then", async () => {
    const store = zarr.memoryStore();
    const odd = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    const x = tensor([...Array(100).keys(), ...odd], { dtype: "f32" });
    await zarr.save(store, x, { chunks: [10] });
    const a = await chunked.open(store);
    const median = Number((await a.approximateQuantile(0.5).compute()).item());
    expect(Math.abs(median - 49.5)).toBeLessThan(0.6);
    expect((await a.slice("100:").approximateQuantile([0, 1]).compute()).toArray()).toEqual([
      Number.NaN,
      Number.NaN,
    ]);
    expect((await a.slice("99:101").approximateQuantile([0.5]).compute()).item()).toBeCloseTo(99);
    await expect(a.histogram().compute()).rejects.toThrowErrorMatchingInlineSnapshot(`
      [TensorError: histogram: elements are NaN or infinite: the range from the smallest to the largest is [NaN, NaN].
        Give one: { range: [low, high] }; what lies beyond it is not counted.]
    `);
    expect((await a.histogram({ bins: 2, range: [0, 50] }).compute()).toArray()).toEqual([25n, 26n]);
  });
});

describe("shapes", () => {
  it("slices: ranges, steps, both directions, integers, new axes", () =>
    law(
      fc.tuple(cases(2), fc.integer({ min: -3, max: 3 }), fc.integer({ min: -17, max: 17 }), fc.boolean()),
      async ([c, step, start, drops]) => {
        const [a, x] = await stored(c);
        const range = [start >= c.shape[0] ? null : start, null, step === 0 ? 1 : step] as const;
        const items = [range, null, drops ? -1 : ":"] as const;
        const want = scope(() => x.slice(...items).clone());
        if (want.size === 0) {
          expect(() => a.slice(...items)).toThrow(/empty/);
          return;
        }
        await check(a.slice(...items), want);
        await check(a.slice(...items).mul(2), want.mul(2));
      },
    ));
  it("transposed, sliced and folded in one go", () =>
    law(fc.tuple(cases(3, 9), fc.constantFrom([2, 0, 1], [1, 0, 2], [2, 1, 0])), async ([c, order]) => {
      const [a, x] = await stored(c);
      await check(a.transpose(order), x.permute(order).clone());
      await check(
        a.transpose(order).slice("::-1").sum({ axis: 1 }),
        x.permute(order).slice("::-1").sum({ axis: 1 }),
      );
    }));
  it("concat and stack of arrays in other chunks", () =>
    law(fc.tuple(cases(2), fc.integer({ min: 1, max: 9 })), async ([c, n]) => {
      const [a, x] = await stored(c);
      const [b, y] = await stored({ shape: [n, c.shape[1]], chunks: [1, c.shape[1]], seed: 1 }, "i32");
      await check(chunked.concat([a, b, a]), concat([x, y, x]));
      await check(chunked.concat([a, b]).slice("::-2"), concat([x, y]).slice("::-2").clone());
      await check(chunked.stack([a, a.mul(2)], { axis: 1 }), stack([x, x.mul(2)], { axis: 1 }));
    }));
  it("other chunks hold the same elements", () =>
    law(
      fc.tuple(cases(2, 40), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 })),
      async ([c, p, q]) => {
        const [a, x] = await stored(c);
        const other = a.rechunk([p, q]);
        expect(other.chunks).toEqual([Math.min(p, c.shape[0]), Math.min(q, c.shape[1])]);
        await check(other, x);
        await check(other.add(a), x.add(x));
      },
    ));
});

describe("products, blocks, random numbers", () => {
  it("matmul, with operands that are expressions", () =>
    law(
      fc.tuple(cases(2), fc.integer({ min: 1, max: 17 }), fc.integer({ min: 1, max: 5 })),
      async ([c, n, k]) => {
        const [a, x] = await stored(c);
        const [b, y] = await stored({
          shape: [c.shape[1], n],
          chunks: [Math.min(k, c.shape[1]), Math.min(k, n)],
          seed: 2,
        });
        await check(a.matmul(b), x.matmul(y));
        await check(b.transpose().matmul(a.transpose().add(1)), y.transpose().matmul(x.transpose().add(1)));
      },
    ));
  it.each(["f16", "bf16"] as const)(
    "products of %s are rounded once, however many blocks are added",
    async (dtype) => {
      const a = chunked.full([2, 5000], 0.5, { chunks: [2, 2], dtype });
      const b = chunked.full([5000, 3], 1, { chunks: [2, 3], dtype });
      await check(a.matmul(b), full([2, 3], 2500, { dtype }));
      const axes: [number[], number[]] = [
        [1, 0],
        [0, 1],
      ];
      await check(a.tensordot(b.slice(":", ":2"), { axes }), full([], 5000, { dtype }));
    },
  );
  it("tensordot over several axes", () =>
    law(cases(3, 7), async (c) => {
      const [a, x] = await stored(c);
      const [b, y] = await stored({
        shape: [c.shape[2], c.shape[0], 3],
        chunks: [1, c.shape[0], 2],
        seed: 4,
      });
      const axes: [number[], number[]] = [
        [0, 2],
        [1, 0],
      ];
      await check(a.tensordot(b, { axes }), tensordot(x, y, { axes }));
      const turned = [a.transpose(1, 2, 0), x.permute(1, 2, 0)] as const;
      const plain = { axes: 2 };
      await check(turned[0].tensordot(b, plain), tensordot(turned[1], y, plain));
      for (const wrong of [-1, 4, 1.5]) expect(() => a.tensordot(b, { axes: wrong })).toThrow(/how many: 1/);
    }));
  it("blocks that never end are ended in this process too, at a limit that was given", async () => {
    const endless = chunked.full([4], 1, { chunks: [2] }).mapBlocks((out: NjitTensor, x: NjitTensor) => {
      let v = x.get(0);
      while (v > 0) v = 2 - v;
      out.set([0], v);
    });
    const on = local({ timeLimit: 1 });
    await expect(endless.plan().run({ to: zarr.memoryStore(), on })).rejects.toThrow(
      /cancelled after \d+ ms/,
    );
  });
  it("tensordot over no axes is the outer product", async () => {
    for (const dtype of ["f32", "i32", "u8", "f16"] as const) {
      const [a, x] = await stored({ shape: [3, 2], chunks: [2, 1], seed: 1 });
      const [b, y] = await stored({ shape: [5], chunks: [3], seed: 2 });
      const [p, q] = [x.to(dtype), y.to(dtype)];
      await check(a.to(dtype).tensordot(b.to(dtype), { axes: 0 }), tensordot(p, q, { axes: 0 }));
      const none = { axes: [[], []] as const };
      await check(b.to(dtype).tensordot(a.to(dtype), none), tensordot(q, p, { axes: 0 }));
    }
  });
  it.each([Number.NaN, Number.POSITIVE_INFINITY, -0])("blocks see %s beyond the edge", async (boundary) => {
    const lazy = chunked.full([3], 1, { chunks: [2] }).mapBlocks(
      (out: NjitTensor, x: NjitTensor) => {
        for (let i = 0; i < out.shape[0]; i++) out.set([i], x.get(i));
      },
      { halo: 1, boundary },
    );
    expect((await lazy.compute()).toArray()).toEqual([boundary, 1, 1]);
  });
  it("refusals name the method, and what to write there", () => {
    const a = chunked.full([4], 1, { chunks: [2] });
    const k = 3;
    expect(() => a.mean({ axis: 3 })).toThrow(/^mean: axis 3/);
    expect(() => a.std({ axis: [0, 0] })).toThrow(/^std: axis 0/);
    expect(() => a.map((x) => x * k)).toThrow(/^map: .*Pass it: map\(…, \{ with: \{ k \} \}\)\.$/s);
    expect(() => a.map(3 as never)).toThrow(/^map: expected a function, got the number 3/);
    expect(() => a.zip(a, undefined as never)).toThrow(/^zip: expected a function, got undefined/);
    expect(() => a.zip(a, (x, y) => x * y * k)).toThrow(/^zip: .*zip\(…, \{ with: \{ k \} \}\)\.$/s);
    const outer = (out: NjitTensor) => out.set([0], k);
    expect(() => a.mapBlocks(outer)).toThrow(
      /^mapBlocks: .*: mapBlocks\(\(…, \{ k \}\) => …, \{ with: \{ k \} \}\)\.$/s,
    );
    const missing = (out: NjitTensor, _: NjitTensor, { q }: { q: number }) => out.set([0], q);
    expect(() => a.mapBlocks(missing)).toThrow(/^mapBlocks: .*mapBlocks\(fn, \{ with: \{ q \} \}\)\.$/s);
  });
  it("blocks see what lies around them", () =>
    law(fc.tuple(cases(2), fc.constantFrom("edge" as const, 0)), async ([c, boundary]) => {
      const [a, x] = await stored(c);
      const blurred = a.mapBlocks(
        (out: NjitTensor, t: NjitTensor) => {
          for (let i = 0; i < out.shape[0]; i++) {
            for (let j = 0; j < out.shape[1]; j++) {
              out.set([i, j], t.get(i, j + 1) + t.get(i + 2, j + 1) - 2 * t.get(i + 1, j));
            }
          }
        },
        { halo: 1, boundary },
      );
      const around = pad(x, 1, boundary === "edge" ? { mode: "edge" } : { value: 0 });
      const [m, n] = c.shape;
      const want = around
        .slice([0, m], [1, n + 1])
        .add(around.slice([2, m + 2], [1, n + 1]))
        .sub(around.slice([1, m + 1], [0, n]).mul(2));
      await check(blurred, want);
    }));
  it("random numbers are the same however they are cut", async () => {
    const r = chunked.random([20, 30], { chunks: [6, 7], seed: 5, distribution: "normal" });
    const all = await r.compute();
    await check(r.slice("3:17:2", [25, 2, -3]), all.slice("3:17:2", [25, 2, -3]).clone());
    await check(r.rechunk([20, 4]), all);
    expect(Math.abs(Number(all.mean().item()))).toBeLessThan(0.2);
    const whole = await chunked
      .random([50], { chunks: [9], seed: 1, distribution: "integers", params: [0, 3] })
      .compute();
    expect(Number(whole.max().item())).toBe(2);
  });
  it("one value everywhere", async () => {
    const f = chunked.full([5, 4], 3, { chunks: [2, 4], dtype: "i16" });
    expect((await f.sum().compute()).item()).toBe(60);
    const dtypes = [1, true, 1n].map((value) => chunked.full([2], value, { chunks: [1] }).dtype);
    expect(dtypes).toEqual([1, true, 1n].map((value) => full([2], value).dtype));
    expect(() => chunked.full([2], f as never, { chunks: [1] })).toThrow(/Give a number/);
  });
  it("a kernel travels as its function, or is refused: none is computed otherwise elsewhere", async () => {
    const bytes = chunked.full([4], 200, { chunks: [2], dtype: "u8" });
    expect((await bytes.map(kernel((x: number) => x + 100)).compute()).toArray()).toEqual([44, 44, 44, 44]);
    const f32 = { compute: "f32" } as const;
    for (const more of [
      kernel((x: number) => x + 100, {}, f32),
      kernel((_x: number) => 1, {}, f32),
      kernel((x: number) => x + 100).as("f64"),
    ]) {
      expect(() => bytes.map(more)).toThrow(/more than its function/);
    }
  });
  it("an array is equal to itself alone, and is not cloned into something broken", () => {
    const of = (value: number) => chunked.full([4], value, { chunks: [2], dtype: "f32" });
    const a = of(1);
    expect(a).toEqual(a);
    expect({ a }).toStrictEqual({ a });
    for (const other of [of(2), of(1), a.add(1), chunked.full([5], 1, { chunks: [5], dtype: "u8" })]) {
      expect(a).not.toEqual(other);
      expect(() => assert.deepStrictEqual(other, a)).toThrow(/ChunkedArray f32 \[4\] in chunks of \[2\]/);
    }
    expect(() => structuredClone(a)).toThrow(/could not be cloned/);
  });
});
