/**
 * What the source documents require, row by row, under names that say what each row shows. The full iteration
 * tables of `explain` are tested with explain. The numbers are the documents', recomputed with NumPy and torch.
 */
import { describe, expect, it } from "vitest";
import {
  arange,
  empty,
  fromGgml,
  kernel,
  matmul,
  rawMap,
  rawMatmul,
  rawReduce,
  rawZip,
  type Tensor,
  TensorError,
  tensor,
  zip,
} from "../src/index.ts";
import { stridedOf } from "../src/tensor.ts";
import { broadcastIndex, positionOf, rowMajorStrides, unravel } from "../src/view/layout.ts";
import { planLoops } from "../src/view/loops.ts";

const f64 = { dtype: "f64" } as const;
const base = () => arange(8, f64).reshape(2, 4);
const evens = () => base().slice(":", "::2");
/** What lies in memory, in the order it lies there. */
const storageOf = (t: Tensor) => Array.from(t.data as ArrayLike<number>);

describe("index arithmetic", () => {
  it("C-order strides: the last axis steps by 1, each other by the product of the sizes inside it", () => {
    expect(rowMajorStrides([32, 3, 100, 100])).toEqual([30000, 10000, 100, 1]);
    expect(rowMajorStrides([2, 3, 4])).toEqual([12, 4, 1]);
    expect(rowMajorStrides([2, 3])).toEqual([3, 1]);
    expect(empty([32, 3, 100, 100], { dtype: "u8" }).strides).toEqual([30000, 10000, 100, 1]);
  });

  it("an ordinal becomes an index by mixed radix, the last axis turning fastest: 17 in (2,3,4) is (1,1,1)", () => {
    expect(unravel(17, [2, 3, 4])).toEqual([1, 1, 1]);
    const all = Array.from({ length: 24 }, (_, i) => unravel(i, [2, 3, 4]));
    expect(all.slice(0, 6)).toEqual([
      [0, 0, 0],
      [0, 0, 1],
      [0, 0, 2],
      [0, 0, 3],
      [0, 1, 0],
      [0, 1, 1],
    ]);
    expect(new Set(all.map(String)).size).toBe(24);
  });

  it("an index becomes a position by offset + Σ index·stride: (1,1,1)·(12,4,1) = 17", () => {
    expect(positionOf([1, 1, 1], [12, 4, 1])).toBe(17);
    expect(positionOf([1, 1, 1], [12, 4, 1], 5)).toBe(22);
    expect(arange(24).reshape(2, 3, 4).get(1, 1, 1)).toBe(17);
  });

  it("ordinal → index → position is the identity on a dense tensor", () => {
    const strides = rowMajorStrides([2, 3, 4]);
    for (let i = 0; i < 24; i++) expect(positionOf(unravel(i, [2, 3, 4]), strides)).toBe(i);
  });

  it("a size-1 axis is always read at index 0, and shapes align at the right", () => {
    expect(broadcastIndex([1, 2], [1, 3])).toEqual([0, 2]);
    expect(broadcastIndex([1, 2], [3])).toEqual([2]);
    expect(broadcastIndex([4, 1, 2], [2, 1])).toEqual([1, 0]);
  });

  it("aligned operands (one shape, the same strides) become one flat loop: one position serves every operand", () => {
    const a = arange(24, f64).reshape(2, 3, 4);
    const b = arange(24, f64).reshape(2, 3, 4);
    const nest = planLoops([stridedOf(a).frame, stridedOf(b).frame]);
    expect(nest.shape).toEqual([24]);
    expect(nest.strides).toEqual([[8], [8]]);
  });

  it("other strides that still make one run need no second loop: each operand steps by its own", () => {
    const nest = planLoops([stridedOf(empty([2, 2], f64)).frame, stridedOf(evens()).frame]);
    expect(nest.shape).toEqual([4]);
    expect(nest.strides).toEqual([[8], [16]]);
  });

  it("the same shape in another order is not aligned: two loops remain", () => {
    expect(
      planLoops([stridedOf(empty([2, 2], f64)).frame, stridedOf(empty([2, 2], f64).T).frame]).shape,
    ).toEqual([2, 2]);
  });
});

describe("tensor_map: out[…] = in[…] + 100", () => {
  it("aligned: arange(6) as (2,3) gives [100 … 105]", () => {
    const out = arange(6, f64)
      .reshape(2, 3)
      .map((x) => x + 100);
    expect(out.shape).toEqual([2, 3]);
    expect(storageOf(out)).toEqual([100, 101, 102, 103, 104, 105]);
  });

  it("broadcast: (1,3) [10,20,30] into (2,3) repeats the row", () => {
    const out = empty([2, 3], f64);
    tensor([[10, 20, 30]], f64)
      .broadcastTo(2, 3)
      .map((x) => x + 100, { out });
    expect(storageOf(out)).toEqual([110, 120, 130, 110, 120, 130]);
  });

  it("other strides: base[:, ::2] has shape (2,2), strides (4,2), shares memory; the output is dense (2,1)", () => {
    const whole = base();
    const a = whole.slice(":", "::2");
    expect(a.shape).toEqual([2, 2]);
    expect(a.strides).toEqual([4, 2]);
    expect(stridedOf(a).storage).toBe(stridedOf(whole).storage);
    const out = a.map((x) => x + 100);
    expect(out.strides).toEqual([2, 1]);
    expect(storageOf(out)).toEqual([100, 102, 104, 106]);
  });

  it("the raw kernel, stated as the documents state it, writes the same storages", () => {
    const add100 = (x: number) => x + 100;
    const run = (out: readonly number[], a: Parameters<typeof rawMap>[2]) => {
      const storage = new Float64Array(out.reduce((x, y) => x * y, 1));
      rawMap(add100, { storage, shape: out, strides: rowMajorStrides(out) }, a);
      return [...storage];
    };
    expect(run([2, 3], { storage: [0, 1, 2, 3, 4, 5], shape: [2, 3], strides: [3, 1] })).toEqual([
      100, 101, 102, 103, 104, 105,
    ]);
    expect(run([2, 3], { storage: [10, 20, 30], shape: [1, 3], strides: [3, 1] })).toEqual([
      110, 120, 130, 110, 120, 130,
    ]);
    expect(run([2, 2], { storage: [0, 1, 2, 3, 4, 5, 6, 7], shape: [2, 2], strides: [4, 2] })).toEqual([
      100, 102, 104, 106,
    ]);
  });
});

describe("tensor_zip: out[…] = fn(a[…], b[…])", () => {
  it("(1,3) [10,20,30] with (2,3) [1..6] pairs every row of b with the one row of a", () => {
    const a = tensor([[10, 20, 30]], f64);
    const b = arange(1, 7, f64).reshape(2, 3);
    const pairs: [number, number][] = [];
    const out = zip([a, b], (x, y) => {
      pairs.push([x, y]); // a closure: called, not compiled
      return x + y;
    });
    expect(new Set(pairs.map(String))).toEqual(new Set(["10,1", "20,2", "30,3", "10,4", "20,5", "30,6"]));
    expect(storageOf(out)).toEqual([11, 22, 33, 14, 25, 36]);
  });

  it("the raw kernel visits those pairs in ordinal order", () => {
    const pairs: [number, number][] = [];
    rawZip(
      (x, y) => {
        pairs.push([x, y]);
        return x + y;
      },
      { storage: new Float64Array(6), shape: [2, 3], strides: [3, 1] },
      { storage: [10, 20, 30], shape: [1, 3], strides: [3, 1] },
      { storage: [1, 2, 3, 4, 5, 6], shape: [2, 3], strides: [3, 1] },
    );
    expect(pairs).toEqual([
      [10, 1],
      [20, 2],
      [30, 3],
      [10, 4],
      [20, 5],
      [30, 6],
    ]);
  });

  it("at ordinal 3 the out index is (1,0), a's (0,0), b's (1,0): positions a 0, b 3, out 3", () => {
    const index = unravel(3, [2, 3]);
    expect(index).toEqual([1, 0]);
    expect(broadcastIndex(index, [1, 3])).toEqual([0, 0]);
    expect(broadcastIndex(index, [2, 3])).toEqual([1, 0]);
    expect(positionOf([0, 0], [3, 1])).toBe(0);
    expect(positionOf(index, [3, 1])).toBe(3);
  });

  it("a with strides (4,2) and b with strides (2,1): at ordinal 1 a is at 2, b at 1, out at 1", () => {
    const a = evens();
    const b = arange(4, f64).reshape(2, 2);
    const index = unravel(1, [2, 2]);
    expect(positionOf(index, a.strides, a.offset)).toBe(2);
    expect(positionOf(index, b.strides, b.offset)).toBe(1);
    const out = zip([a, b], (x, y) => x * 10 + y);
    expect(positionOf(index, out.strides, out.offset)).toBe(1);
    expect(storageOf(out)).toEqual([0, 21, 42, 63]);
  });

  it("alignment is three-way: a and out agreeing is not enough when b has another order", () => {
    const a = arange(4, f64).reshape(2, 2);
    const b = arange(4, f64).reshape(2, 2).T;
    const out = empty([2, 2], f64);
    expect(planLoops([stridedOf(out).frame, stridedOf(a).frame, stridedOf(a).frame]).shape).toEqual([4]);
    expect(planLoops([stridedOf(out).frame, stridedOf(a).frame, stridedOf(b).frame]).shape).toEqual([2, 2]);
    expect(zip([a, b], (x, y) => x * 10 + y).toArray()).toEqual([
      [0, 12],
      [21, 33],
    ]);
  });
});

describe("tensor_reduce: fold one axis with fn(acc, x)", () => {
  it("[[1,2,3],[4,5,6]] over axis 1 is [[6],[15]], the folded axis keeping size 1", () => {
    const t = arange(1, 7, f64).reshape(2, 3);
    const out = t.reduce((acc, x) => acc + x, { axis: 1, init: 0, keepdims: true });
    expect(out.toArray()).toEqual([[6], [15]]);
    const storage = new Float64Array(2);
    rawReduce(
      (acc, x) => acc + x,
      { storage, shape: [2, 1], strides: [1, 1] },
      { storage: [1, 2, 3, 4, 5, 6], shape: [2, 3], strides: [3, 1] },
      1,
    );
    expect([...storage]).toEqual([6, 15]);
  });

  it("base[:, ::2] over axis 1 is [[2],[10]]", () => {
    const out = evens().reduce((acc, x) => acc + x, { axis: 1, init: 0, keepdims: true });
    expect(out.toArray()).toEqual([[2], [10]]);
  });

  it("starts from the given value: 0 for a sum, 1 for a product, anything else counts once", () => {
    const t = arange(1, 4, f64);
    expect(t.reduce((acc, x) => acc + x, { init: 0 }).item()).toBe(6);
    expect(t.reduce((acc, x) => acc * x, { init: 1 }).item()).toBe(6);
    expect(t.reduce((acc, x) => acc + x, { init: 100 }).item()).toBe(106);
  });

  it("an axis of length 0 leaves the start value", () => {
    const t = empty([3, 0], f64);
    expect(t.reduce((acc, x) => acc + x, { axis: 1, init: 7 }).toArray()).toEqual([7, 7, 7]);
    expect(t.sum({ axis: 1 }).toArray()).toEqual([0, 0, 0]);
    expect(t.prod({ axis: 1 }).toArray()).toEqual([1, 1, 1]);
  });

  it("max does not start at 0: the largest of negatives is negative", () => {
    const t = tensor([-5, -2, -9], f64);
    expect(t.max().item()).toBe(-2);
    expect(t.reduce((acc, x) => Math.max(acc, x)).item()).toBe(-2);
    expect(() => empty([0], f64).max()).toThrow(/nothing to fold/);
  });

  it("folds in order along the axis, so that a fold need not be commutative", () => {
    const t = arange(1, 5, f64);
    expect(t.reduce((acc, x) => acc * 10 + x, { init: 0 }).item()).toBe(1234);
    expect(
      t
        .flip()
        .reduce((acc, x) => acc * 10 + x, { init: 0 })
        .item(),
    ).toBe(4321);
  });
});

describe("matmul: out[n,i,j] = Σ_k a[n,i,k]·b[n,k,j]", () => {
  const A = () => arange(1, 7, f64).reshape(1, 2, 3);
  const B = () => arange(7, 13, f64).reshape(1, 3, 2);

  it("[[1,2,3],[4,5,6]]·[[7,8],[9,10],[11,12]] = [58,64,139,154]", () => {
    expect(storageOf(matmul(A().squeeze(0), B().squeeze(0)))).toEqual([58, 64, 139, 154]);
    expect(storageOf(matmul(A(), B()))).toEqual([58, 64, 139, 154]);
  });

  it("element [0,1,0] is 139: out position 2, a starts at 3, b at 0", () => {
    expect(positionOf([0, 1, 0], [4, 2, 1])).toBe(2);
    expect(positionOf([0, 1, 0], A().strides)).toBe(3);
    expect(positionOf([0, 0, 0], B().strides)).toBe(0);
    expect(matmul(A(), B()).get(0, 1, 0)).toBe(139);
  });

  it("a batch of size 1 on the left is used for every batch on the right: its batch stride is 0", () => {
    const b = tensor([10, 11, 12, 13, 14, 15, 7, 8, 9, 10, 11, 12], { ...f64, shape: [2, 3, 2] });
    const out = matmul(A(), b);
    expect(storageOf(out)).toEqual([76, 82, 184, 199, 58, 64, 139, 154]);
    // Ordinal 6 is (1,1,0): a starts at 3 although n = 1, b at 6.
    const [n, i, j] = unravel(6, out.shape);
    expect([n, i, j]).toEqual([1, 1, 0]);
    expect(positionOf([n, i, 0], A().broadcastTo(2, 2, 3).strides)).toBe(3);
    expect(positionOf([n, 0, j], b.strides)).toBe(6);
    expect(out.get(1, 1, 0)).toBe(139);
  });

  it("a batch of size 1 on the right is used for every batch on the left", () => {
    const a = tensor([1, 2, 3, 4, 5, 6, 2, 1, 0, 3, -1, 2], { ...f64, shape: [2, 2, 3] });
    const b = arange(10, 16, f64).reshape(1, 3, 2);
    const out = matmul(a, b);
    expect(storageOf(out)).toEqual([76, 82, 184, 199, 32, 35, 46, 50]);
    expect(positionOf([1, 0, 1], out.strides)).toBe(5);
    expect(positionOf([1, 0, 0], a.strides)).toBe(6);
    expect(positionOf([1, 0, 1], b.broadcastTo(2, 3, 2).strides)).toBe(1);
    expect(out.get(1, 0, 1)).toBe(35);
  });

  it("the raw kernel writes the same storages", () => {
    const run = (batches: number, a: readonly number[], b: readonly number[]) => {
      const storage = new Float64Array(batches * 4);
      rawMatmul(
        { storage, shape: [batches, 2, 2], strides: [4, 2, 1] },
        { storage: a, shape: [a.length / 6, 2, 3], strides: [6, 3, 1] },
        { storage: b, shape: [b.length / 6, 3, 2], strides: [6, 2, 1] },
      );
      return [...storage];
    };
    expect(run(1, [1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12])).toEqual([58, 64, 139, 154]);
    expect(run(2, [1, 2, 3, 4, 5, 6], [10, 11, 12, 13, 14, 15, 7, 8, 9, 10, 11, 12])).toEqual([
      76, 82, 184, 199, 58, 64, 139, 154,
    ]);
    expect(run(2, [1, 2, 3, 4, 5, 6, 2, 1, 0, 3, -1, 2], [10, 11, 12, 13, 14, 15])).toEqual([
      76, 82, 184, 199, 32, 35, 46, 50,
    ]);
  });

  it("transposed, sliced and flipped operands work as they lie, without a copy of them", () => {
    const a = arange(1, 7, f64).reshape(3, 2).T; // [[1,3,5],[2,4,6]]
    const b = arange(12, f64).reshape(3, 4).slice(":", "::-2"); // [[3,1],[7,5],[11,9]]
    expect(matmul(a, b).toArray()).toEqual([
      [79, 61],
      [100, 76],
    ]);
  });
});

describe("parallel, compiled", () => {
  it("a plain scalar function is compiled: a kernel has a typed program behind it, not a call", () => {
    const add100 = kernel((x: number) => x + 100);
    expect(add100.template.inputs).toBe(1);
    expect(storageOf(add100(arange(6, f64)))).toEqual([100, 101, 102, 103, 104, 105]);
  });

  it("every element is computed on its own: the order of visiting cannot be seen", () => {
    const t = arange(1000, f64).reshape(10, 100);
    const plain = t.map((x) => Math.sqrt(x) * 2);
    const backwards = t.flip().map((x) => Math.sqrt(x) * 2);
    expect(backwards.flip().toArray()).toEqual(plain.toArray());
  });
  // Setting the number of threads is tested with the worker pool.
});

describe("tensor, view, offset", () => {
  it("a (2,3) tensor viewed as (3,2) reads the same memory: [[a,b],[c,d],[e,f]]", () => {
    const t = tensor([1, 2, 3, 4, 5, 6]).reshape(2, 3);
    const v = t.view(3, 2);
    expect(stridedOf(v).storage).toBe(stridedOf(t).storage);
    expect(v.toArray()).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
    v.set([1, 1], 40);
    expect(t.get(1, 0)).toBe(40);
  });

  it("a view has its own shape, strides and offset", () => {
    const t = arange(12).reshape(3, 4);
    const v = t.slice("1:", "::2");
    expect([v.shape, v.strides, v.offset]).toEqual([[2, 2], [4, 2], 4]);
    expect([t.shape, t.strides, t.offset]).toEqual([[3, 4], [4, 1], 0]);
  });

  it("a stride is the number of scalars to skip for one step along an axis", () => {
    const t = arange(24).reshape(2, 3, 4);
    t.strides.forEach((stride, d) => {
      const step = [0, 0, 0];
      step[d] = 1;
      expect(t.get(...step)).toBe(stride);
    });
  });

  it("an offset is where to start: row 1 of a (3,4) tensor starts at element 4", () => {
    const row = arange(12).reshape(3, 4).slice(1);
    expect(row.offset).toBe(4);
    expect(row.byteOffset).toBe(16);
    expect(row.toArray()).toEqual([4, 5, 6, 7]);
  });
});

describe("strided copy with byte strides", () => {
  const src = { ne: [128, 16, 13, 1], nb: [4, 6656, 512, 106496] };
  const dst = { ne: [2048, 13, 1, 1], nb: [4, 8192, 106496, 106496] };
  const count = 128 * 16 * 13;
  const source = () =>
    fromGgml({ type: "F32", ...src, data: Float32Array.from({ length: count }, (_, i) => i) });
  /** The byte offset of flat index i, decomposed over ne with the fastest axis first. */
  const byteOffset = (
    i: number,
    { ne, nb }: { readonly ne: readonly number[]; readonly nb: readonly number[] },
  ) => positionOf(unravel(i, [...ne].reverse()), [...nb].reverse());

  it("ne and nb list the fastest axis first: the shape and the byte strides are their reverse", () => {
    const t = source();
    expect(t.shape).toEqual([1, 13, 16, 128]);
    expect(t.byteStrides).toEqual([106496, 512, 6656, 4]);
  });

  it("source byte offsets at i = 0, 127, 128, 2047, 2048, 26623 are 0, 508, 6656, 100348, 512, 106492", () => {
    expect([0, 127, 128, 2047, 2048, 26623].map((i) => byteOffset(i, src))).toEqual([
      0, 508, 6656, 100348, 512, 106492,
    ]);
  });

  it("elements are taken in flat order on both sides: out[128] = 1664 and out[2048] = 128", () => {
    const to = fromGgml({ type: "F32", ...dst, data: new Float32Array(count) });
    to.assignFlat(source());
    const out = to.reshape(-1);
    expect(out.get(128)).toBe(1664);
    expect(out.get(2048)).toBe(128);
    // Each side has a decomposition of its own: 2048 is one row of the destination, 16 rows of the source.
    expect(byteOffset(2048, dst)).toBe(8192);
  });

  it("it equals the contiguous copy of the permuted tensor", () => {
    const to = empty([13, 2048]);
    to.assignFlat(source());
    const permuted = arange(count).reshape(16, 13, 128).permute(1, 0, 2);
    expect(to.toTypedArray()).toEqual(permuted.contiguous().toTypedArray());
  });

  it("shapes may differ as long as the counts agree, and not otherwise", () => {
    const from = arange(12).reshape(3, 4);
    expect(empty([2, 6]).assignFlat(from).toArray()).toEqual([
      [0, 1, 2, 3, 4, 5],
      [6, 7, 8, 9, 10, 11],
    ]);
    expect(() => empty([2, 5]).assignFlat(from)).toThrow(/element counts differ/);
  });

  it("addresses are bytes first, then elements are loaded and converted: padded f16 rows into i32", () => {
    // Two rows of three f16 numbers, each row padded to 8 bytes.
    const bits = new Uint16Array([0x3c00, 0x4000, 0x4200, 0xdead, 0xbc00, 0xc000, 0xc200, 0xdead]);
    const from = fromGgml({ type: "F16", ne: [3, 2], nb: [2, 8], data: bits });
    const to = empty([6], { dtype: "i32" }).assignFlat(from);
    expect(to.toArray()).toEqual([1, 2, 3, -1, -2, -3]);
  });

  it("padding in the destination survives", () => {
    const bytes = new Uint8Array(16).fill(171);
    const to = fromGgml({ type: "i16", ne: [3, 2], nb: [2, 8], data: bytes });
    to.assignFlat(arange(1, 7, { dtype: "i16" }));
    const { heap, address } = stridedOf(to).storage;
    const after = [...heap.u8.slice(address, address + 14)];
    expect(after).toEqual([1, 0, 2, 0, 3, 0, 171, 171, 4, 0, 5, 0, 6, 0]);
  });
});

describe("mistakes of the documents, not repeated", () => {
  it("004: those byte strides are no padding but a permutation: 26624 distinct offsets fill 106496 bytes", () => {
    const shape = [1, 13, 16, 128];
    const strides = [106496, 512, 6656, 4];
    const offsets = new Set<number>();
    for (let i = 0; i < 26624; i++) offsets.add(positionOf(unravel(i, shape), strides));
    expect(offsets.size).toBe(26624);
    expect(Math.max(...offsets)).toBe(106492);
    expect([...offsets].every((p) => p % 4 === 0)).toBe(true);
    const dense = arange(26624).reshape(1, 16, 13, 128).permute(0, 2, 1, 3);
    expect(dense.byteStrides.slice(1)).toEqual(strides.slice(1));
  });

  it("004: i / (ne0·ne1) needs its parentheses; without them 24576 of 26624 indices would be wrong", () => {
    const [ne0, ne1, ne2] = [128, 16, 13];
    let wrong = 0;
    for (let i = 0; i < 26624; i++) {
      const axis2 = unravel(i, [1, ne2, ne1, ne0])[1];
      const asWritten = (Math.floor(i / ne0) * ne1) % ne2;
      if (axis2 !== Math.floor(i / (ne0 * ne1)) % ne2) throw new Error(`unravel is wrong at ${i}`);
      if (asWritten !== axis2) wrong++;
    }
    expect(wrong).toBe(24576);
  });

  it("004: source and destination each get their own offset, also where both are strided", () => {
    const from = arange(12, f64).reshape(3, 4).T; // (4,3)
    const whole = empty([3, 8], f64).fill(-1);
    whole.slice(":", "::2").assignFlat(from);
    expect(whole.toArray()).toEqual([
      [0, -1, 4, -1, 8, -1, 1, -1],
      [5, -1, 9, -1, 2, -1, 6, -1],
      [10, -1, 3, -1, 7, -1, 11, -1],
    ]);
  });

  it("004: sizes are not 32-bit: positions beyond 2^32 stay exact", () => {
    expect(rowMajorStrides([3, 2 ** 20, 2 ** 20])).toEqual([2 ** 40, 2 ** 20, 1]);
    expect(unravel(2 ** 40 + 5, [3, 2 ** 20, 2 ** 20])).toEqual([1, 0, 5]);
    expect(positionOf([2, 3, 7], [2 ** 40, 2 ** 20, 1])).toBe(2 ** 41 + 3 * 2 ** 20 + 7);
  });

  it("003: viewing 4 elements as (2) is an error; a slice or an index selects", () => {
    const s = arange(4).reshape(2, 2);
    expect(() => s.view(2)).toThrow(TensorError);
    expect(s.slice(0).toArray()).toEqual([0, 1]);
    expect(s.slice(":", 0).toArray()).toEqual([0, 2]);
  });

  it("003: shapes with a zero size have strides too, and no elements", () => {
    expect(rowMajorStrides([2, 0, 3])).toEqual([3, 3, 1]);
    const t = empty([2, 0, 3]);
    expect(t.size).toBe(0);
    expect(t.toArray()).toEqual([[], []]);
    expect(t.map((x) => x + 1).shape).toEqual([2, 0, 3]);
  });

  it("001: shapes align at the right, so (3) goes with (2,3) and (2) does not", () => {
    const t = arange(6, f64).reshape(2, 3);
    expect(t.add(tensor([10, 20, 30], f64)).toArray()).toEqual([
      [10, 21, 32],
      [13, 24, 35],
    ]);
    expect(() => t.add(tensor([10, 20], f64))).toThrow(/do not broadcast/);
    expect(t.add(tensor([[10], [20]], f64)).toArray()).toEqual([
      [10, 11, 12],
      [23, 24, 25],
    ]);
  });

  it("001: kernels take an offset, so a slice that does not start at element 0 works too", () => {
    const a = arange(8, f64).slice("3:");
    expect(a.offset).toBe(3);
    expect(a.map((x) => x + 100).toArray()).toEqual([103, 104, 105, 106, 107]);
    expect(a.sum().item()).toBe(25);
    expect(zip([a, a.flip()], (x, y) => x * y).toArray()).toEqual([21, 24, 25, 24, 21]);
    const storage = new Float64Array(5);
    rawMap(
      (x) => x + 100,
      { storage, shape: [5], strides: [1] },
      { storage: [0, 1, 2, 3, 4, 5, 6, 7], shape: [5], strides: [1], offset: 3 },
    );
    expect([...storage]).toEqual([103, 104, 105, 106, 107]);
  });

  it("001: the aligned path decodes no index: ten axes are one loop", () => {
    const t = empty([2, 2, 2, 2, 2, 2, 2, 2, 2, 2], f64);
    expect(planLoops([stridedOf(t).frame, stridedOf(t).frame]).shape).toEqual([1024]);
  });

  it("002: any rank: a 4-D product is the product of each of its matrices", () => {
    const a = arange(2 * 3 * 2 * 4, f64).reshape(2, 3, 2, 4);
    const b = arange(3 * 4 * 2, f64).reshape(3, 4, 2);
    const out = matmul(a, b);
    expect(out.shape).toEqual([2, 3, 2, 2]);
    for (let n = 0; n < 2; n++) {
      for (let m = 0; m < 3; m++) {
        expect(out.slice(n, m).toArray()).toEqual(matmul(a.slice(n, m), b.slice(m)).toArray());
      }
    }
  });

  it("002: the inner sizes are checked", () => {
    expect(() => matmul(empty([2, 3]), empty([4, 5]))).toThrow(/inner sizes differ/);
    const three = (shape: readonly number[]) => ({
      storage: new Float64Array(64),
      shape,
      strides: [16, 4, 1],
    });
    expect(() => rawMatmul(three([1, 2, 2]), three([1, 2, 3]), three([1, 4, 2]))).toThrow(/do not fit/);
  });
});
