import { beforeAll, describe, expect, it } from "vitest";
import { engine } from "../../src/engine.ts";
import {
  arange,
  explain,
  fromBuffer,
  full,
  memory,
  scope,
  type Tensor,
  TensorError,
  tensor,
  zeros,
} from "../../src/index.ts";
import * as ix from "../../src/library/indexing.ts";
import * as mask from "../../src/library/mask.ts";
import { stridedOf } from "../../src/tensor.ts";
import { emitUnravel } from "../../src/wasm/routines/index/compress.ts";
import { testReference } from "./reference.ts";

const { assignAt, assignTake, gather, put, putAlongAxis, scatterAdd, take, takeAlongAxis } = ix;
const { argwhere, assignMask, booleanMask, compress, flatnonzero, nonzero } = mask;

/** What is null in a case is left out of the options. */
const given = <P extends object>(params: P) =>
  Object.fromEntries(Object.entries(params).filter(([, v]) => v !== null)) as object;

describe("indexing", () => {
  testReference("indexing", {
    take: ([t, i], p) => ix.take(t, i, given(p)),
    takeAlongAxis: ([t, i], p) => ix.takeAlongAxis(t, i, p),
    putAlongAxis: ([t, i, v], p) => ix.putAlongAxis(t, i, v, p),
    gather: ([t, ...i]) => ix.gather(t, i),
    assignAt: ([t, v, ...i]) => ix.assignAt(t, i, v),
    scatterAdd: ([t, v, ...i]) => ix.scatterAdd(t, i, v),
    scatterAddAxis: ([t, i, v], p) => ix.scatterAdd(t, i, v, p),
    assignTake: ([t, i, v], p) => ix.assignTake(t, i, v, p),
    put: ([t, i, v], p) => ix.put(t, i, v, p),
    booleanMask: ([t, m]) => mask.booleanMask(t, m),
    assignMask: ([t, m, v]) => mask.assignMask(t, m, v),
    nonzero: ([t]) => mask.nonzero(t) as Tensor[],
    argwhere: ([t]) => mask.argwhere(t) as Tensor,
    flatnonzero: ([t]) => mask.flatnonzero(t) as Tensor,
    compress: ([t, c], p) => mask.compress(t, c, given(p)),
  });
});

/* What cases from a file cannot say -------------------------------------------------------------------- */

const random = (n: number, below: number, seed = 1): Int32Array => {
  let x = seed;
  return Int32Array.from({ length: n }, () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return Math.floor((x / 2 ** 32) * below);
  });
};
const message = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    expect(error).toBeInstanceOf(TensorError);
    return (error as Error).message;
  }
  throw new Error("no error");
};
const numbers = (t: Tensor): Float64Array =>
  scope(() => Float64Array.from(t.toTypedArray() as ArrayLike<number>, Number));
const fits = (got: ArrayLike<number>, want: (i: number) => number): boolean => {
  for (let i = 0; i < got.length; i++) if (!Object.is(got[i], want(i))) return false;
  return true;
};
/** The same in the calling thread, and without SIMD: all must agree. */
function everyWay(run: () => Tensor): Float64Array {
  const { kernels } = engine();
  const once = () => scope(() => numbers(run()));
  const shared = once();
  const agrees = (other: Float64Array) => other.length === shared.length && fits(other, (i) => shared[i]);
  expect(agrees(kernels.alone(once))).toBe(true);
  kernels.simd = false;
  try {
    expect(agrees(once())).toBe(true);
  } finally {
    kernels.simd = true;
  }
  return shared;
}

describe("large", () => {
  const N = 70_001;
  beforeAll(() => engine().pool.waitUntilReady());
  const itemTypes = ["u8", "i16", "f32", "f64", "i64"] as const;

  it.each(itemTypes)("take of %s elements and rows is the same in every way", (dtype) => {
    const order = random(N, 1000);
    const source = arange(4000, { dtype: "i32" }).remainder(100).to(dtype).reshape(1000, 4);
    const values = numbers(source);
    for (const itype of ["i64", "i32", "i16", "u32", "u64", "u16"] as const) {
      const index = tensor(order).to(itype);
      const flat = everyWay(() => take(source.slice(":", 1), index));
      expect(flat.every((x, i) => x === values[4 * order[i] + 1])).toBe(true);
      const rows = everyWay(() => take(source, index, { axis: 0 }));
      expect(rows.every((x, i) => x === values[4 * order[i >> 2] + (i & 3)])).toBe(true);
    }
  });

  it("rows of every length move whole", () => {
    const order = random(500, 40);
    const index = tensor(order);
    for (let length = 1; length < 70; length++) {
      const bytes = tensor(Uint8Array.from({ length: 40 * length }, (_, i) => i % 251)).reshape(40, length);
      const want = (i: number) => (order[Math.floor(i / length)] * length + (i % length)) % 251;
      expect(
        fits(
          everyWay(() => take(bytes, index, { axis: 0 })),
          want,
        ),
      ).toBe(true);
    }
    const long = arange(40 * 1000).reshape(40, 1000);
    const want = (i: number) => order[Math.floor(i / 1000)] * 1000 + (i % 1000);
    expect(fits(numbers(take(long, index, { axis: 0 })), want)).toBe(true);
  });

  it("one bad index among many is found and named, in any group of lanes", () => {
    const x = arange(10);
    for (const itype of ["i64", "i32", "u32", "u64", "i16", "u8", "i8", "u16"] as const) {
      for (const place of [0, 3, 8, 60_000, N - 1]) {
        const index = zeros([N], { dtype: itype });
        index.set([place], itype.endsWith("64") ? 10n : 10);
        expect(message(() => take(x, index))).toContain(
          `index 10 at position [${place}] is out of range for axis 0 of size 10.`,
        );
        index.dispose();
      }
    }
    const far = zeros([N], { dtype: "i64" }).set([5], 2n ** 32n);
    expect(message(() => take(x, far))).toContain("index 4294967296 at position [5]");
    expect(message(() => take(x, far.set([5], -(2n ** 32n))))).toContain("index -4294967296 at position [5]");
  });

  it("booleanMask, nonzero and argwhere agree with a loop", () => {
    for (const chance of [2, 40, 1]) {
      const bits = Uint8Array.from(random(N, chance), (x) => (x === 0 ? 1 : 0));
      const mask = tensor(bits).to("bool");
      const kept = [...bits.keys()].filter((i) => bits[i] === 1);
      const same = (got: Float64Array, want: readonly number[]) =>
        expect(got.length === want.length && fits(got, (i) => want[i])).toBe(true);
      for (const dtype of itemTypes) {
        const x = arange(N, { dtype: "i32" }).remainder(100).to(dtype);
        same(
          everyWay(() => booleanMask(x, mask)),
          kept.map((i) => i % 100),
        );
      }
      same(
        everyWay(() => flatnonzero(mask)),
        kept,
      );
      const matrix = mask.slice([0, 70_000]).reshape(140, 500);
      const inside = kept.filter((k) => k < 70_000);
      const places = inside.flatMap((k) => [Math.floor(k / 500), k % 500]);
      for (const axis of [0, 1]) {
        same(
          everyWay(() => nonzero(matrix)[axis]),
          places.filter((_, i) => i % 2 === axis),
        );
      }
      same(
        everyWay(() => argwhere(matrix)),
        places,
      );
      const crosswise = inside.toSorted((a, b) => (a % 500) - (b % 500) || a - b);
      same(
        everyWay(() => booleanMask(arange(70_000).reshape(140, 500).T, matrix.T)),
        crosswise,
      );
    }
  });

  it("scatterAdd gives the same bits for any number of threads", () => {
    const order = tensor(random(N, 97));
    const values = arange(N).mul(0.1).sin();
    const want = new Float32Array(97);
    const v = values.toTypedArray() as Float32Array;
    const places = order.toTypedArray();
    for (let i = 0; i < N; i++) want[places[i]] += v[i];
    expect(everyWay(() => scatterAdd(zeros([97]), order, values))).toEqual(Float64Array.from(want));
    const few = tensor(random(2000, 7));
    const rows = arange(2000 * 130)
      .mul(0.01)
      .cos()
      .reshape(2000, 130);
    const sums = everyWay(() => scatterAdd(zeros([7, 130]), few, rows));
    const columns = everyWay(() => scatterAdd(zeros([130, 7]), few, rows.T, { axis: 1 }).T);
    expect(columns).toEqual(sums);
  });

  it("the last of several values for a place stays, in any way", () => {
    const order = random(N, 97);
    const want = new Float64Array(97).fill(-1);
    for (const [i, p] of order.entries()) want[p] = i;
    const index = tensor(order);
    const fresh = (...shape: number[]) => full(shape, -1);
    expect(everyWay(() => assignTake(fresh(97), index, arange(N)))).toEqual(want);
    const some = order.slice(0, 3000);
    const rows = everyWay(() => assignTake(fresh(97, 200), tensor(some), arange(600_000).reshape(3000, 200)));
    const last = new Map([...some].map((p, i) => [p, i]));
    expect(fits(rows, (i) => (last.get(Math.floor(i / 200)) ?? Number.NaN) * 200 + (i % 200))).toBe(true);
    const p = random(60_000, 5);
    const i = tensor(p).reshape(300, 200);
    const along = everyWay(() => putAlongAxis(fresh(300, 5), i, arange(60_000).reshape(300, 200)));
    const wide = new Float64Array(1500).fill(-1);
    for (let k = 0; k < 60_000; k++) wide[Math.floor(k / 200) * 5 + p[k]] = k;
    expect(along).toEqual(wide);
  });
});

it("row-major numbers become indices exactly, up to 2^32", () => {
  const { heap, routines } = engine();
  const count = 999;
  using numbers = zeros([count], { dtype: "u32" });
  using indices = zeros([count], { dtype: "i64" });
  const emit = (options: { shared: boolean }) => emitUnravel({ divides: true, reduces: true }, options);
  for (const divisor of [1, 2, 3, 7, 10, 641, 65_535, 65_536, 1_813, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
    for (const size of [1, 3, 1000, 65_537, 7_823_971, 2 ** 32 - 1]) {
      const cells = new Uint32Array(heap.buffer, stridedOf(numbers).storage.address, count);
      // Multiples of the divisor and their neighbours, where a quotient could slip.
      for (let i = 0; i < count; i += 3) {
        const multiple = Math.floor(Math.floor(2 ** 32 / divisor) * (i / count)) * divisor;
        cells.set([Math.max(0, multiple - 1), multiple, multiple + 1], i);
      }
      const task = [
        count,
        stridedOf(numbers).storage.address,
        stridedOf(indices).storage.address,
        8,
        divisor,
        size,
      ];
      routines.run("unravel divided reduced", emit, [task], 0);
      const got = indices.data;
      expect(cells.every((x, i) => Number(got[i]) === Math.floor(x / divisor) % size)).toBe(true);
    }
  }
});

describe("care", () => {
  it("a failed write changes nothing and leaves nothing behind", () => {
    const t = arange(6);
    const before = memory().tensors;
    for (const fn of [
      () => assignTake(t, [0, 6], [1, 1]),
      () => assignTake(t, [0, 1], [1, 2, 3]),
      () => assignTake(t, [0, 1], "x" as never),
      () => assignAt(t, [[0, -7]], 1),
      () => scatterAdd(t, [[0, 9]], 1),
      () => putAlongAxis(t, [9], 1),
      () => put(t, [0, 6], 1),
      () => put(t, [0], "x" as never),
      () => put(t, [0], []),
    ]) {
      message(fn);
      expect(t.toArray()).toEqual([0, 1, 2, 3, 4, 5]);
      expect(memory().tensors).toBe(before);
    }
  });

  it("values, indices and masks may lie in the destination's own memory", () => {
    const t = arange(6);
    assignTake(t, [1, 2, 3], t.slice([0, 3]));
    expect(t.toArray()).toEqual([0, 0, 1, 2, 4, 5]);
    const i = tensor([3n, 2n, 1n, 0n]);
    assignTake(i, i, i);
    expect(i.toArray()).toEqual([0n, 1n, 2n, 3n]);
    const m = tensor([true, false, true]);
    assignMask(m, m, false);
    expect(m.toArray()).toEqual([false, false, false]);
    const reversed = arange(5);
    put(reversed, [0, 1, 2, 3, 4], reversed.flip());
    expect(reversed.toArray()).toEqual([4, 3, 2, 1, 0]);
    expect(explain(() => assignTake(t, [0, 1], t.slice([1, 3]))).copies.length).toBe(1);
  });

  it("views are written through, and nothing beside them", () => {
    const t = zeros([4, 4]);
    assignTake(t.slice("::2", "1:3"), [0], 5);
    put(t.T.slice([1, 3], [2, 4]), [0, -1], [7, 8]);
    expect(t.toArray()).toEqual([
      [0, 5, 5, 0],
      [0, 0, 0, 0],
      [0, 7, 0, 0],
      [0, 0, 8, 0],
    ]);
  });

  it("a mask chooses with whatever bytes it has: anything but 0 is true", () => {
    const mask = fromBuffer(Uint8Array.of(0, 1, 2, 255, 0), { dtype: "bool", shape: [5] });
    expect(booleanMask(arange(5), mask).toArray()).toEqual([1, 2, 3]);
  });

  it("foreign memory may be unaligned", () => {
    const bytes = new Uint8Array(41);
    new DataView(bytes.buffer).setFloat64(1 + 16, 2.5, true);
    const t = fromBuffer(bytes, { dtype: "f64", shape: [5], byteStrides: [8], byteOffset: 1 });
    expect(take(t, [2, 0]).toArray()).toEqual([2.5, 0]);
    const i = fromBuffer(Uint8Array.of(9, 1, 0, 0, 0, 2, 0, 0, 0), {
      dtype: "i32",
      shape: [2],
      byteStrides: [4],
      byteOffset: 1,
    });
    expect(take(arange(5), i).toArray()).toEqual([1, 2]);
  });

  it("errors name the operation, the fact and the remedy", () => {
    const t = arange(12).reshape(3, 4);
    const gone = arange(3);
    gone.dispose();
    expect(
      message(() =>
        take(
          t,
          [
            [0, 1],
            [-4, 0],
          ],
          { axis: 0 },
        ),
      ),
    ).toMatchInlineSnapshot(`
      "take: index -4 at position [1, 0] is out of range for axis 0 of size 3.
        Use -3 … 2."
    `);
    expect(
      message(() =>
        gather(t, [
          [0, 1],
          [0, 4],
        ]),
      ),
    ).toMatchInlineSnapshot(`
      "gather: index 4 at position [1] is out of range for axis 1 of size 4.
        Use -4 … 3."
    `);
    expect(message(() => gather(t, [[0], [0], [0]]))).toMatchInlineSnapshot(`
      "gather: 3 index tensors for shape [3, 4].
        Give one for each leading axis: gather(t, [i, j])."
    `);
    expect(message(() => take(t, tensor([0, 1])))).toMatchInlineSnapshot(`
      "take: the indices are f32.
        Indices are integers: convert with to("i64"), or make them with { dtype: "i64" }."
    `);
    expect(message(() => take(t, tensor([true])))).toMatchInlineSnapshot(`
      "take: the indices are bool.
        A mask chooses with booleanMask(t, mask) or assignMask(t, mask, values)."
    `);
    expect(message(() => take(t, [0], { mode: "none" as never }))).toMatchInlineSnapshot(`
      "take: mode is the string "none".
        Use "raise", "wrap" or "clip"."
    `);
    expect(message(() => take(t, [0.5]))).toMatchInlineSnapshot(`
      "take: index 0.5 is not a whole number.
        Use whole numbers below the axis' size."
    `);
    expect(message(() => take(gone, [0]))).toMatchInlineSnapshot(`
      "take: this tensor has been disposed.
        Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it."
    `);
    expect(message(() => take(t, gone))).toMatchInlineSnapshot(`
      "take: this tensor has been disposed.
        Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it."
    `);
    expect(message(() => takeAlongAxis(t, [0]))).toMatchInlineSnapshot(`
      "takeAlongAxis: the indices have shape [1], the tensor [3, 4].
        Both need the same number of axes."
    `);
    expect(message(() => assignTake(t, [0, 1], zeros([3])))).toMatchInlineSnapshot(`
      "assignTake: values of shape [3] do not broadcast to [2, 4], the shape that is chosen.
        Sizes align at the right; each must be equal, or 1 in the values."
    `);
    expect(message(() => assignTake(zeros([1]).broadcastTo(3), [0], 1))).toMatchInlineSnapshot(`
      "assignTake: the destination is a read-only view: several of its indices share one element.
        Broadcast and window views are read-only. Write to the tensor they view, or to a copy made with clone()."
    `);
    expect(message(() => scatterAdd(t, [[0], [0]], 1, { axis: 1 }))).toMatchInlineSnapshot(`
      "scatterAdd: an axis is given beside a list of index tensors.
        A list has one tensor for each leading axis; give one tensor to choose along another."
    `);
    expect(message(() => booleanMask(t, tensor([true, false])))).toMatchInlineSnapshot(`
      "booleanMask: the mask has shape [2], the tensor [3, 4].
        A mask has the shape of the tensor, or of its leading axes."
    `);
    expect(message(() => booleanMask(t, t as never))).toMatchInlineSnapshot(`
      "booleanMask: the mask is f32.
        A mask is bool: compare first, such as t.greater(0), or use take for indices."
    `);
    expect(message(() => take(zeros([0]), [0]))).toMatchInlineSnapshot(`
      "take: axis 0 is empty: it has no index.
        Only an empty list of indices can choose from it."
    `);
    expect(message(() => take(t, [0], { axes: 0 } as never))).toMatchInlineSnapshot(`
      "take: there is no option "axes".
        Did you mean axis? There are axis, mode."
    `);
  });

  it("whatever is passed, the answer is a result or a TensorError", () => {
    const odd: unknown[] = [
      undefined,
      null,
      Number.NaN,
      1e300,
      -1,
      "x",
      {},
      [],
      [[1], [2, 3]],
      Symbol("s"),
      () => 1,
      5n,
      true,
      new Date(),
    ];
    const t = arange(6).reshape(2, 3);
    const calls: ((x: never) => unknown)[] = [
      (x) => take(x, [0]),
      (x) => take(t, x),
      (x) => take(t, [0], x),
      (x) => take(t, [0], { axis: x }),
      (x) => take(t, [0], { mode: x }),
      (x) => takeAlongAxis(t, x),
      (x) => gather(t, x),
      (x) => gather(t, [x]),
      (x) => assignTake(t, [0], x),
      (x) => assignTake(t, x, 1),
      (x) => assignAt(t, [[0]], x),
      (x) => assignAt(t, x, 1),
      (x) => scatterAdd(t, x, 1),
      (x) => scatterAdd(t, [[0]], x),
      (x) => put(t, x, 1),
      (x) => put(t, [0], x),
      (x) => putAlongAxis(t, x, 1),
      (x) => booleanMask(t, x),
      (x) => assignMask(t, x, 1),
      (x) => assignMask(t, zeros([2, 3], { dtype: "bool" }), x),
      (x) => nonzero(x),
      (x) => argwhere(x),
      (x) => compress(t, x),
      (x) => compress(t, [true], x),
    ];
    for (const [k, call] of calls.entries()) {
      for (const x of odd) {
        try {
          scope(() => call(x as never));
        } catch (error) {
          expect(error, `call ${k} with ${String(x)}`).toBeInstanceOf(TensorError);
        }
      }
    }
  });
});
