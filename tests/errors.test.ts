/**
 * Bad input gets an error that names the operation, the fact, the values and the remedy, and changes nothing. Every
 * snapshot shows the error's code and its whole message.
 */
import { describe, expect, it } from "vitest";
import * as strided from "../src/index.ts";
import {
  add,
  arange,
  configure,
  eye,
  fromBuffer,
  fromGgml,
  full,
  kernel,
  linspace,
  matmul,
  memory,
  rawMap,
  rawMatmul,
  rawReduce,
  rawZip,
  scope,
  Tensor,
  TensorError,
  tensor,
  zeros,
  zip,
} from "../src/index.ts";
import { refused } from "./refused.ts";

/** What plain JavaScript may pass where TypeScript would object. */
const wrong = (value: unknown): never => value as never;

const t23 = () => arange(6).reshape(2, 3);

describe("shapes that do not fit", () => {
  const a = t23();
  const b = zeros([2, 4]);

  it("zip", () => {
    expect(refused(() => zip([a, b], (x, y) => x + y))).toMatchInlineSnapshot(`
      "(shape) zip: shapes [2, 3] and [2, 4] do not broadcast: axis 1 of the result would be 3 and 4.
        Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat."
    `);
    expect(refused(() => zip([a, b, zeros(3)], (x, y, z) => x + y + z))).toMatchInlineSnapshot(`
      "(shape) zip: shapes [2, 3], [2, 4] and [3] do not broadcast: axis 1 of the result would be 3 and 4.
        Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat."
    `);
  });

  it("a named operation names itself", () => {
    expect(refused(() => a.add(b))).toMatchInlineSnapshot(`
      "(shape) add: shapes [2, 3] and [2, 4] do not broadcast: axis 1 of the result would be 3 and 4.
        Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat."
    `);
    expect(refused(() => strided.where(a, b, 1))).toMatchInlineSnapshot(`
      "(shape) where: shapes [2, 3] and [2, 4] do not broadcast: axis 1 of the result would be 3 and 4.
        Sizes, aligned at the right, must be equal or 1; add axes of size 1 where they should repeat."
    `);
  });

  it("matmul", () => {
    expect(refused(() => matmul(a, zeros([4, 5])))).toMatchInlineSnapshot(`
      "(shape) matmul: inner sizes differ: a is [2, 3], b is [4, 5].
        a's last size (3) must equal b's second-last (4)."
    `);
    expect(refused(() => matmul(a, zeros(2)))).toMatchInlineSnapshot(`
      "(shape) matmul: inner sizes differ: a is [2, 3], b is [2].
        a's last size (3) must equal b's only size (2)."
    `);
    expect(refused(() => matmul(tensor(1), a))).toMatchInlineSnapshot(`
      "(shape) matmul: a scalar has no matrix: a is [], b is [2, 3].
        Use mul for products with a scalar."
    `);
    expect(refused(() => matmul(zeros([2, 2, 3]), zeros([3, 3, 2])))).toMatchInlineSnapshot(`
      "(shape) matmul: the batch axes do not broadcast: a is [2, 2, 3], b is [3, 3, 2].
        All axes but the last two, aligned at the right, must be equal or 1: 2 and 3 are neither."
    `);
  });

  it("assign changes nothing when the source does not broadcast", () => {
    const dst = t23();
    expect(refused(() => dst.assign(b))).toMatchInlineSnapshot(`
      "(shape) assign: a source of shape [2, 4] does not broadcast to the destination's [2, 3].
        Sizes align at the right; each must be equal, or 1 in the source."
    `);
    expect(refused(() => dst.assign([[1, 2]]))).toMatchInlineSnapshot(`
      "(shape) assign: a source of shape [1, 2] does not broadcast to the destination's [2, 3].
        Sizes align at the right; each must be equal, or 1 in the source."
    `);
    expect(refused(() => dst.assignFlat(zeros(5)))).toMatchInlineSnapshot(`
      "(shape) assignFlat: the element counts differ: source [5] has 5, destination [2, 3] has 6.
        Both sides are read in row-major order; slice or reshape one of them until the counts agree."
    `);
    expect(dst.toArray()).toEqual(t23().toArray());
  });

  it("an output must have exactly the result's shape, and stays as it was", () => {
    const out = zeros([2, 4]);
    expect(refused(() => a.map((x) => x + 1, { out }))).toMatchInlineSnapshot(`
      "(shape) map: the output is [2, 4], the operands make [2, 3].
        An existing output must have exactly the result's shape."
    `);
    expect(refused(() => a.add(1, { out }))).toMatchInlineSnapshot(`
      "(shape) add: the output is [2, 4], the operands make [2, 3].
        An existing output must have exactly the result's shape."
    `);
    expect(refused(() => kernel((x: number) => x + 1).into(out, a))).toMatchInlineSnapshot(`
      "(shape) kernel: the output is [2, 4], the operands make [2, 3].
        An existing output must have exactly the result's shape."
    `);
    expect(out.toArray()).toEqual(zeros([2, 4]).toArray());
  });

  it("broadcastTo", () => {
    expect(refused(() => a.broadcastTo(2, 4))).toMatchInlineSnapshot(`
      "(shape) broadcastTo: [2, 3] does not broadcast to [2, 4]: axis 1 is 3 against 4.
        Sizes, aligned at the right, must be equal, or 1 in the source."
    `);
    expect(refused(() => a.broadcastTo(3))).toMatchInlineSnapshot(`
      "(shape) broadcastTo: [2, 3] has more axes than [3].
        Broadcasting adds axes, it never drops them; index or squeeze them first."
    `);
  });

  it("reshape and view", () => {
    expect(refused(() => a.reshape(4, 2))).toMatchInlineSnapshot(`
      "(shape) reshape: [4, 2] has 8 elements, not 6.
        The element counts must agree."
    `);
    expect(refused(() => a.reshape(-1, -1))).toMatchInlineSnapshot(`
      "(shape) reshape: [-1, -1] leaves more than one size open.
        Use -1 at most once."
    `);
    expect(refused(() => a.reshape(4, -1))).toMatchInlineSnapshot(`
      "(shape) reshape: 6 elements do not divide into [4, -1]: the sizes given make 4.
        The sizes given must divide the element count."
    `);
    expect(refused(() => zeros([0, 3]).reshape(0, -1))).toMatchInlineSnapshot(`
      "(shape) reshape: the -1 in [0, -1] could be any size, as another is 0.
        Write the size out."
    `);
    expect(refused(() => a.T.view(6))).toMatchInlineSnapshot(`
      "(shape) view: shape [3, 2] with strides [1, 3] cannot be seen as [6] without a copy.
        Use reshape, which copies where it must, or contiguous() first."
    `);
  });

  it("squeeze, item, diagonal, slidingWindow", () => {
    expect(refused(() => a.squeeze(0))).toMatchInlineSnapshot(`
      "(shape) squeeze: axis 0 of [2, 3] has size 2.
        Only axes of size 1 can be dropped."
    `);
    expect(refused(() => a.item())).toMatchInlineSnapshot(`
      "(shape) item: the tensor has 6 elements.
        item() is for one element; use get(i, …) or toArray()."
    `);
    expect(refused(() => arange(3).diagonal())).toMatchInlineSnapshot(`
      "(shape) diagonal: [3] has 1 axis.
        A diagonal needs two axes."
    `);
    expect(refused(() => arange(3).slidingWindow(4))).toMatchInlineSnapshot(`
      "(shape) slidingWindow: a window of 4 does not fit axis 0 of size 3.
        Use a window no longer than the axis."
    `);
  });

  it("nothing to fold", () => {
    expect(refused(() => zeros([0, 3]).max())).toMatchInlineSnapshot(`
      "(shape) max: nothing to fold: the tensor is [0, 3] and there is no start value.
        Fold axes that have elements."
    `);
    expect(refused(() => zeros(0).reduce((acc, x) => acc + x))).toMatchInlineSnapshot(`
      "(shape) reduce: nothing to fold: the tensor is [0] and there is no start value.
        Give one: { init: 0 }."
    `);
    expect(refused(() => zeros([2, 0]).argmax({ axis: 1 }))).toMatchInlineSnapshot(`
      "(shape) argmax: nothing to choose from: the tensor is [2, 0].
        Fold an axis that has elements."
    `);
  });
});

describe("data that is no tensor", () => {
  it("ragged nested arrays", () => {
    expect(
      refused(() =>
        tensor([
          [1, 2, 3],
          [4, 5],
        ]),
      ),
    ).toMatchInlineSnapshot(`
      "(shape) tensor: the nested arrays are ragged: an array of length 2 at [1], expected one of length 3.
        Every row of one level needs the same length; pad the short ones."
    `);
    expect(refused(() => tensor([[1, 2], 3]))).toMatchInlineSnapshot(`
      "(shape) tensor: the nested arrays are ragged: the number 3 at [1], expected an array of length 2.
        Every row of one level needs the same length; pad the short ones."
    `);
    expect(refused(() => tensor([1, [2, 3]]))).toMatchInlineSnapshot(`
      "(shape) tensor: the nested arrays are ragged: an array of length 2 at [1], expected a scalar.
        Every row of one level needs the same length; pad the short ones."
    `);
    expect(
      refused(() =>
        tensor([
          [[1], [2]],
          [[3], [4, 5]],
        ]),
      ),
    ).toMatchInlineSnapshot(`
      "(shape) tensor: the nested arrays are ragged: an array of length 2 at [1, 1], expected one of length 1.
        Every row of one level needs the same length; pad the short ones."
    `);
  });

  it("elements that are no numbers", () => {
    expect(refused(() => tensor(wrong([1, "2"])))).toMatchInlineSnapshot(`
      "(dtype) tensor: expected numbers, found the string "2" at [1].
        Elements are numbers, bigints or booleans, in nested arrays or typed arrays."
    `);
    expect(refused(() => tensor(wrong([[1], [null]])))).toMatchInlineSnapshot(`
      "(dtype) tensor: expected numbers, found null at [1, 0].
        Elements are numbers, bigints or booleans, in nested arrays or typed arrays."
    `);
    expect(refused(() => tensor(wrong(undefined)))).toMatchInlineSnapshot(`
      "(dtype) tensor: expected numbers, found undefined.
        Elements are numbers, bigints or booleans, in nested arrays or typed arrays."
    `);
    expect(refused(() => tensor(wrong({ length: 2 })))).toMatchInlineSnapshot(`
      "(dtype) tensor: expected numbers, found an object.
        Elements are numbers, bigints or booleans, in nested arrays or typed arrays."
    `);
    expect(refused(() => tensor(new DataView(new ArrayBuffer(8))))).toMatchInlineSnapshot(`
      "(dtype) tensor: no dtype holds a DataView.
        Use a typed array, or fromBuffer for raw bytes."
    `);
  });

  it("a shape that does not hold the elements", () => {
    expect(refused(() => tensor([1, 2, 3], { shape: [2, 2] }))).toMatchInlineSnapshot(`
      "(shape) tensor: [2, 2] has 4 elements, not 3.
        The element counts must agree."
    `);
    expect(refused(() => tensor(new Float32Array(3), { shape: [2, -1] }))).toMatchInlineSnapshot(`
      "(shape) tensor: 3 elements do not divide into [2, -1]: the sizes given make 2.
        The sizes given must divide the element count."
    `);
  });
});

describe("dtypes", () => {
  it("unknown", () => {
    expect(refused(() => zeros([2], { dtype: wrong("float32") }))).toMatchInlineSnapshot(`
      "(dtype) zeros: unknown dtype "float32".
        Did you mean f32? Use one of bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64."
    `);
    expect(refused(() => t23().to(wrong(undefined)))).toMatchInlineSnapshot(`
      "(dtype) to: the dtype is undefined.
        Use one of bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64."
    `);
    expect(refused(() => t23().sum({ dtype: wrong("int") }))).toMatchInlineSnapshot(`
      "(dtype) sum: unknown dtype "int".
        Use one of bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64."
    `);
    expect(refused(() => t23().map((x) => x, { dtype: wrong(1n) }))).toMatchInlineSnapshot(`
      "(dtype) map: the dtype is the bigint 1n.
        Use one of bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64."
    `);
    expect(
      refused(() => fromGgml({ type: "q4_0", ne: [2], data: new ArrayBuffer(8) })),
    ).toMatchInlineSnapshot(`
      "(dtype) fromGgml: ggml type q4_0 has no dtype here.
        Known are f32 f16 bf16 f64 i8 i16 i32 i64; block types are taken by fromGgml of "strided/quantised"."
    `);
    expect(refused(() => kernel((x: number) => x).as(wrong("double")))).toMatchInlineSnapshot(`
      "(dtype) kernel: unknown dtype "double".
        Use one of bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64."
    `);
  });

  it("bigints and numbers do not mix", () => {
    expect(refused(() => tensor(wrong([1, 2n])))).toMatchInlineSnapshot(`
      "(dtype) tensor: numbers and bigints are mixed.
        Use one kind, or say { dtype: "i64" }."
    `);
    expect(refused(() => zeros(2).set([0], 1n))).toMatchInlineSnapshot(`
      "(dtype) set: f32 holds numbers, got the bigint 1n.
        Write Number(1n), or convert the tensor with to("i64")."
    `);
    expect(refused(() => zeros(2, { dtype: "i64" }).set([0], 1.5))).toMatchInlineSnapshot(`
      "(dtype) set: i64 holds bigints, got the number 1.5.
        Write a whole number from -9223372036854775808 to 9223372036854775807, or a bigint such as 3n."
    `);
    expect(refused(() => full([2], 2n, { dtype: "f32" }))).toMatchInlineSnapshot(`
      "(dtype) full: f32 holds numbers, got the bigint 2n.
        Write Number(2n), or convert the tensor with to("i64")."
    `);
    expect(refused(() => arange(0.5, 2 ** 60, 2 ** 59, { dtype: "u64" }))).toMatchInlineSnapshot(`
      "(dtype) arange: u64 cannot be counted by 576460752303423500 up to 1152921504606847000.
        Use whole numbers, or bigints such as 3n."
    `);
  });

  it("a value that no number of the dtype can be", () => {
    expect(refused(() => zeros(2, { dtype: "u8" }).add(300))).toMatchInlineSnapshot(`
      "(dtype) add: the value 300 does not fit u8.
        Convert the operands first."
    `);
    expect(refused(() => zeros(2).set([0], wrong("1")))).toMatchInlineSnapshot(`
      "(dtype) set: expected a number, got the string "1".
        Elements are numbers, booleans, or bigints for i64 and u64."
    `);
    expect(refused(() => zeros(2).fill(wrong(null)))).toMatchInlineSnapshot(`
      "(dtype) fill: expected numbers, found null.
        Elements are numbers, bigints or booleans, in nested arrays or typed arrays."
    `);
  });

  it("operations that bool has not", () => {
    const mask = tensor([true, false]);
    expect(refused(() => mask.sub(mask))).toMatchInlineSnapshot(`
      "(dtype) sub: not defined on bool.
        Use bitwiseXor or logicalXor, or convert with to(…) first."
    `);
    expect(refused(() => mask.neg())).toMatchInlineSnapshot(`
      "(dtype) neg: not defined on bool.
        Use logicalNot, or convert with to(…) first."
    `);
  });
});

describe("indices, axes and slices", () => {
  const a = t23();

  it("an index out of range", () => {
    expect(refused(() => a.get(2, 0))).toMatchInlineSnapshot(`
      "(index) get: index 2 is out of range for axis 0 of size 2.
        Use -2 … 1."
    `);
    expect(refused(() => a.get(0, -4))).toMatchInlineSnapshot(`
      "(index) get: index -4 is out of range for axis 1 of size 3.
        Use -3 … 2."
    `);
    expect(refused(() => a.get(0))).toMatchInlineSnapshot(`
      "(index) get: 1 indices for shape [2, 3].
        Give one index an axis; slice() takes fewer."
    `);
    expect(refused(() => a.get(0, 1.5))).toMatchInlineSnapshot(`
      "(index) get: index 1.5 for axis 1 is not an integer.
        Use -3 … 2."
    `);
    expect(refused(() => a.set([0, 3], 1))).toMatchInlineSnapshot(`
      "(index) set: index 3 is out of range for axis 1 of size 3.
        Use -3 … 2."
    `);
    expect(refused(() => a.slice(5))).toMatchInlineSnapshot(`
      "(index) slice: index 5 is out of range for axis 0 of size 2.
        Use -2 … 1."
    `);
    expect(refused(() => zeros(0).slice(0))).toMatchInlineSnapshot(`
      "(index) slice: index 0 is out of range for axis 0 of size 0.
        The axis is empty: it has no index."
    `);
  });

  it("slices", () => {
    expect(refused(() => a.slice("::0"))).toMatchInlineSnapshot(`
      "(index) slice: "::0" has step 0.
        A step is at least 1, or at most -1."
    `);
    expect(refused(() => a.slice([0, 2, 0]))).toMatchInlineSnapshot(`
      "(index) slice: [0, 2, 0] has step 0.
        A step is at least 1, or at most -1."
    `);
    expect(refused(() => a.slice("1-2"))).toMatchInlineSnapshot(`
      "(index) slice: "1-2" is not an index.
        Use an integer, "start:stop:step", [start, stop, step], null (new axis) or "..."."
    `);
    expect(refused(() => a.slice(0, 0, 0))).toMatchInlineSnapshot(`
      "(index) slice: 0, 0, 0 takes 3 axes of [2, 3].
        Give at most 2 indices; null adds an axis and takes none."
    `);
    expect(refused(() => a.slice("...", 0, "..."))).toMatchInlineSnapshot(`
      "(index) slice: "...", 0, "..." has 2 "...".
        Use "..." at most once."
    `);
    expect(refused(() => a.slice([0.5, 2]))).toMatchInlineSnapshot(`
      "(index) slice: [0.5, 2] has the bound 0.5.
        Bounds are integers; null leaves one open."
    `);
  });

  it("an axis out of range, named twice or not whole", () => {
    expect(refused(() => a.sum({ axis: 2 }))).toMatchInlineSnapshot(`
      "(axis) sum: axis 2 is out of range for rank 2.
        Use -2 … 1."
    `);
    expect(refused(() => a.sum({ axis: [0, -2] }))).toMatchInlineSnapshot(`
      "(axis) sum: axis 0 is named twice in [0, -2].
        Name each axis once."
    `);
    expect(refused(() => a.permute(0))).toMatchInlineSnapshot(`
      "(axis) permute: [0] names 1 axis of 2.
        Name every axis once."
    `);
    expect(refused(() => a.permute(0, 0))).toMatchInlineSnapshot(`
      "(axis) permute: axis 0 is named twice in [0, 0].
        Name each axis once."
    `);
    expect(refused(() => a.flip(0.5))).toMatchInlineSnapshot(`
      "(axis) flip: axis 0.5 is not an integer.
        Use -2 … 1."
    `);
    expect(refused(() => a.moveAxis([0, 1], 0))).toMatchInlineSnapshot(`
      "(axis) moveAxis: 2 sources but 1 destination.
        Give one destination for each source."
    `);
    expect(refused(() => a.cumsum())).toMatchInlineSnapshot(`
      "(axis) cumsum: the tensor has 2 axes.
        Say which one to scan: { axis: 0 }."
    `);
    expect(refused(() => tensor(1).cumsum())).toMatchInlineSnapshot(`
      "(axis) cumsum: a 0-d tensor has no axis to scan.
        Reshape it to [1] first."
    `);
  });

  it("an axis given without a name, as NumPy has it, is not taken for no axis", () => {
    expect(refused(() => a.sum(wrong(1)))).toMatchInlineSnapshot(`
      "(value) sum: the options are the number 1.
        Give an object such as { axis: 1 }."
    `);
    expect(refused(() => a.argmax({ axis: wrong([0, 1]) }))).toMatchInlineSnapshot(`
      "(axis) argmax: the axis is an array.
        Give one axis, or none for all elements."
    `);
    expect(refused(() => a.mean(wrong([0])))).toMatchInlineSnapshot(`
      "(value) mean: the options are an array.
        Give an object such as { axis: 1 }."
    `);
  });
});

describe("sizes", () => {
  it("are whole numbers from 0", () => {
    expect(refused(() => zeros([2, -1]))).toMatchInlineSnapshot(`
      "(shape) zeros: size -1 of axis 1 in [2, -1] is not a size.
        Sizes are integers from 0."
    `);
    expect(refused(() => zeros(1.5))).toMatchInlineSnapshot(`
      "(shape) zeros: size 1.5 of axis 0 in [1.5] is not a size.
        Sizes are integers from 0."
    `);
    expect(refused(() => zeros([NaN]))).toMatchInlineSnapshot(`
      "(shape) zeros: size NaN of axis 0 in [NaN] is not a size.
        Sizes are integers from 0."
    `);
    expect(refused(() => linspace(0, 1, -1))).toMatchInlineSnapshot(`
      "(shape) linspace: size -1 of axis 0 in [-1] is not a size.
        Sizes are integers from 0."
    `);
    expect(refused(() => eye(2, { columns: 0.5 }))).toMatchInlineSnapshot(`
      "(shape) eye: size 0.5 of axis 1 in [2, 0.5] is not a size.
        Sizes are integers from 0."
    `);
  });

  it("that no memory holds", () => {
    expect(refused(() => zeros([2 ** 40]))).toMatchInlineSnapshot(`
      "(memory) zeros: out of memory: needs 4194304 MiB, all memory there can be is 4095.9 MiB.
        Work on smaller pieces, or in a dtype with fewer bytes."
    `);
    expect(refused(() => zeros([2 ** 30, 2 ** 30]))).toMatchInlineSnapshot(`
      "(shape) zeros: shape [1073741824, 1073741824] has too many elements to count.
        The limit is 2^53 - 1."
    `);
    expect(refused(() => zeros(new Array(65).fill(1)))).toMatchInlineSnapshot(`
      "(shape) zeros: the shape has 65 axes.
        At most 64 axes are supported."
    `);
    expect(refused(() => arange(1e12))).toMatchInlineSnapshot(`
      "(memory) arange: out of memory: needs 3814697.3 MiB, all memory there can be is 4095.9 MiB.
        Work on smaller pieces, or in a dtype with fewer bytes."
    `);
    expect(refused(() => arange(0, 1, 0))).toMatchInlineSnapshot(`
      "(value) arange: the step is 0.
        Use a positive or a negative step."
    `);
    expect(refused(() => arange(0, Infinity))).toMatchInlineSnapshot(`
      "(value) arange: stop is the number Infinity.
        Use finite numbers."
    `);
    expect(refused(() => arange())).toMatchInlineSnapshot(`
      "(value) arange: got 0 numbers.
        Use arange(stop), arange(start, stop) or arange(start, stop, step), and { dtype } after them."
    `);
  });
});

describe("memory that is not there", () => {
  const a = t23();

  it("asStrided stays inside its storage", () => {
    expect(refused(() => a.asStrided([4], [2]))).toMatchInlineSnapshot(`
      "(bounds) asStrided: the view reaches elements 0 … 6, its storage has 0 … 5.
        Every element must lie inside: shape [4], strides [2], offset 0."
    `);
    expect(refused(() => a.asStrided([2], [-1]))).toMatchInlineSnapshot(`
      "(bounds) asStrided: the view reaches elements -1 … 0, its storage has 0 … 5.
        Every element must lie inside: shape [2], strides [-1], offset 0."
    `);
    expect(refused(() => a.asStrided([1], [1], 6))).toMatchInlineSnapshot(`
      "(bounds) asStrided: the view reaches elements 6 … 6, its storage has 0 … 5.
        Every element must lie inside: shape [1], strides [1], offset 6."
    `);
    expect(refused(() => a.asStrided([2, 2], [1]))).toMatchInlineSnapshot(`
      "(shape) asStrided: shape [2, 2] and strides [1] differ in length.
        Give one stride for each axis."
    `);
    expect(refused(() => a.asStrided([2], [0.5]))).toMatchInlineSnapshot(`
      "(value) asStrided: 0.5 is no whole number of elements.
        Strides and the offset count elements."
    `);
  });

  it("foreign buffers", () => {
    const bytes = new Uint8Array(10);
    expect(refused(() => fromBuffer(bytes, { dtype: "f32", shape: [3] }))).toMatchInlineSnapshot(`
      "(bounds) fromBuffer: the view reaches bytes 0 … 11, its storage has bytes 0 … 9.
        Every element must lie inside: shape [3], strides [4] bytes, offset 0 bytes, 4 bytes an element."
    `);
    expect(
      refused(() => fromBuffer(bytes, { dtype: "i16", shape: [2], byteStrides: [2], byteOffset: -2 })),
    ).toMatchInlineSnapshot(`
      "(bounds) fromBuffer: the view reaches bytes -2 … 1, its storage has bytes 0 … 9.
        Every element must lie inside: shape [2], strides [2] bytes, offset -2 bytes, 2 bytes an element."
    `);
    expect(
      refused(() => fromBuffer(bytes, { dtype: "i16", shape: [2, 2], byteStrides: [2] })),
    ).toMatchInlineSnapshot(`
      "(shape) fromBuffer: 1 byteStrides for 2 sizes.
        Give one byte stride an axis."
    `);
    expect(refused(() => fromBuffer(wrong([1, 2]), { dtype: "u8", shape: [2] }))).toMatchInlineSnapshot(`
      "(value) fromBuffer: expected a buffer, got an array.
        Give an ArrayBuffer, a typed array or a Node Buffer."
    `);
    expect(refused(() => fromGgml({ type: 0, ne: [4], nb: [4, 16], data: bytes }))).toMatchInlineSnapshot(`
      "(shape) fromGgml: nb has 2 entries, ne has 1.
        Both list the axes, fastest first."
    `);
  });

  it("raw storages", () => {
    const raw = (shape: number[], strides: number[], offset = 0) => ({
      storage: new Float64Array(4),
      shape,
      strides,
      offset,
    });
    expect(refused(() => rawMap((x) => x, raw([4], [1]), raw([4], [2])))).toMatchInlineSnapshot(`
      "(bounds) rawMap: a reaches positions 0 … 6, its storage has 0 … 3.
        shape [4], strides [2], offset 0 (all in elements)."
    `);
    expect(refused(() => rawMap((x) => x, raw([4], [1]), raw([3], [1])))).toMatchInlineSnapshot(`
      "(shape) rawMap: a is [3], which does not broadcast to the output's [4].
        Sizes align at the right; each must be equal, or 1."
    `);
    expect(
      refused(() => rawZip((x) => x, raw([2], [1]), raw([2], [1, 1]), raw([2], [1]))),
    ).toMatchInlineSnapshot(`
      "(shape) rawZip: a has 1 sizes and 2 strides.
        Give one stride an axis."
    `);
    expect(refused(() => rawReduce((x) => x, raw([2], [1]), raw([2, 2], [2, 1]), 1))).toMatchInlineSnapshot(`
      "(shape) rawReduce: the output is [2], folding axis 1 of [2, 2] makes [2, 1].
        The folded axis keeps size 1."
    `);
    expect(
      refused(() => rawMatmul(raw([2, 2], [2, 1]), raw([2, 2], [2, 1]), raw([2, 2], [2, 1]))),
    ).toMatchInlineSnapshot(`
      "(shape) rawMatmul: expected three 3-D storages, got out [2, 2], a [2, 2], b [2, 2].
        Use matmul for other ranks."
    `);
  });

  it("a view that has no typed array", () => {
    expect(refused(() => a.T.data)).toMatchInlineSnapshot(`
      "(value) data: this view is not contiguous: shape [3, 2], strides [1, 3].
        Use toTypedArray() for a copy of its elements, or contiguous().data."
    `);
    const odd = fromBuffer(new Uint8Array(9), { dtype: "f32", shape: [2], byteOffset: 1 });
    expect(refused(() => odd.data)).toMatchInlineSnapshot(`
      "(value) data: byte offset 1 is not a multiple of f32's 4 bytes.
        Use toTypedArray() for a copy of its elements, or contiguous().data."
    `);
  });
});

describe("read-only views", () => {
  const row = tensor([1, 2, 3]);
  const wide = row.broadcastTo(2, 3);

  it("writing to one is an error, whichever way", () => {
    expect(refused(() => wide.set([0, 0], 9))).toMatchInlineSnapshot(`
      "(readonly) set: the destination is a read-only view: several of its indices share one element.
        Broadcast and window views are read-only. Write to the tensor they view, or to a copy made with clone()."
    `);
    expect(refused(() => wide.assign(0))).toMatchInlineSnapshot(`
      "(readonly) assign: the destination is a read-only view: several of its indices share one element.
        Broadcast and window views are read-only. Write to the tensor they view, or to a copy made with clone()."
    `);
    const ways: Record<string, () => unknown> = {
      fill: () => wide.fill(9),
      assignFlat: () => wide.assignFlat(zeros(6)),
      out: () => zip([zeros([2, 3])], (x) => x, { out: wide }),
      into: () => kernel((x: number) => x).into(wide, row),
      named: () => row.add(1, { out: wide }),
      "a view of it": () => wide.slice(0).T.fill(9),
      "a window": () => row.slidingWindow(2).fill(9),
      "shared strides": () => row.asStrided([2, 2], [1, 1]).fill(9),
      "a foreign one": () =>
        fromBuffer(new Uint8Array(4), { dtype: "u8", shape: [4], byteStrides: [0] }).fill(1),
    };
    for (const [name, write] of Object.entries(ways))
      expect(
        scope(() => refused(write)),
        name,
      ).toMatch(/^\(readonly\)/);
    expect(row.toArray()).toEqual([1, 2, 3]);
  });
});

describe("after dispose", () => {
  const everything: Record<string, (t: Tensor) => unknown> = {
    get: (t) => t.get(0, 0),
    set: (t) => t.set([0, 0], 1),
    item: (t) => t.item(),
    data: (t) => t.data,
    assign: (t) => t.assign(1),
    "assign from it": (t) => zeros([2, 3]).assign(t),
    assignFlat: (t) => t.assignFlat(zeros(6)),
    "assignFlat from it": (t) => zeros(6).assignFlat(t),
    fill: (t) => t.fill(1),
    slice: (t) => t.slice(0),
    permute: (t) => t.permute(1, 0),
    T: (t) => t.T,
    swapAxes: (t) => t.swapAxes(0, 1),
    moveAxis: (t) => t.moveAxis(0, 1),
    squeeze: (t) => t.squeeze(),
    expandDims: (t) => t.expandDims(0),
    flip: (t) => t.flip(),
    broadcastTo: (t) => t.broadcastTo(2, 3),
    diagonal: (t) => t.diagonal(),
    slidingWindow: (t) => t.slidingWindow(1, 0),
    asStrided: (t) => t.asStrided([1], [1]),
    reshape: (t) => t.reshape(3, 2),
    view: (t) => t.view(6),
    clone: (t) => t.clone(),
    contiguous: (t) => t.contiguous(),
    to: (t) => t.to("f64"),
    "to its own dtype": (t) => t.to("f32"),
    map: (t) => t.map((x) => x),
    "map out": (t) => zeros([2, 3]).map((x) => x, { out: t }),
    zip: (t) => zip([zeros([2, 3]), t], (a, b) => a + b),
    "zip out": (t) => zip([zeros([2, 3])], (a) => a, { out: t }),
    reduce: (t) => t.reduce((a, x) => a + x),
    scan: (t) => t.scan((a, x) => a + x, { axis: 0 }),
    matmul: (t) => t.matmul(zeros([3, 2])),
    "matmul by it": (t) => matmul(zeros([2, 2]), t),
    kernel: (t) => kernel((x: number) => x)(t),
    "kernel into it": (t) => kernel((x: number) => x).into(t, zeros([2, 3])),
    add: (t) => t.add(1),
    "add it": (t) => add(1, t),
    "add out": (t) => zeros([2, 3]).add(1, { out: t }),
    neg: (t) => t.neg(),
    where: (t) => strided.where(t, 1, zeros([2, 3])),
    sum: (t) => t.sum(),
    mean: (t) => t.mean(),
    argmax: (t) => t.argmax(),
    cumsum: (t) => t.cumsum({ axis: 0 }),
    toArray: (t) => t.toArray(),
    toTypedArray: (t) => t.toTypedArray(),
    toJSON: (t) => t.toJSON(),
    iterate: (t) => [...t],
    layout: (t) => t.layout(),
  };

  it("every use says so", () => {
    const t = t23();
    t.dispose();
    expect(refused(() => t.get(0, 0))).toMatchInlineSnapshot(`
      "(disposed) get: this tensor has been disposed.
        Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it."
    `);
    for (const [name, use] of Object.entries(everything)) {
      expect(
        scope(() => refused(() => scope(() => use(t)))),
        name,
      ).toMatch(/^\(disposed\) /);
    }
  });

  it("also of a handle whose memory another handle still holds", () => {
    const keeper = t23();
    const t = keeper.slice(":");
    t.dispose();
    for (const [name, use] of Object.entries(everything)) {
      expect(
        scope(() => refused(() => scope(() => use(t)))),
        name,
      ).toMatch(/^\(disposed\) /);
    }
    expect(keeper.toArray()).toEqual(t23().toArray());
  });

  it("what needs no memory still answers: shape, dtype, printing, dispose again", () => {
    const t = t23();
    t.dispose();
    t.dispose();
    expect(t.shape).toEqual([2, 3]);
    expect(t.isDisposed).toBe(true);
    expect(String(t)).toMatchInlineSnapshot(`"Tensor f32 [2, 3]  disposed"`);
  });

  it("a tensor of a scope that has ended", () => {
    let kept: Tensor | undefined;
    scope(() => {
      kept = zeros(2);
    });
    expect(refused(() => kept?.get(0))).toMatchInlineSnapshot(`
      "(disposed) get: this tensor has been disposed.
        Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it."
    `);
  });
});

describe("functions", () => {
  const clamp = (x: number) => Math.min(x, 1);
  const k = 2;

  it("a kernel that reads an outer variable", () => {
    expect(refused(() => kernel((x: number) => x * k))).toMatchInlineSnapshot(`
      "(kernel) kernel: the function reads the outer variable "k".
        (x) => x * k
                   ^
        Pass it: kernel(fn, { k })."
    `);
  });

  it("a kernel that calls a function it cannot know", () => {
    expect(refused(() => kernel((x: number) => Math.max(x, clamp(x))))).toMatchInlineSnapshot(`
      "(kernel) kernel: cannot compile this call; only Math.* functions are known.
        (x) => Math.max(x, clamp(x))
                           ^^^^^^^^
        Write clamp inside the function, or pass it: kernel(fn, { clamp })."
    `);
    expect(refused(() => kernel((x: number) => Math.random() * x))).toMatchInlineSnapshot(`
      "(kernel) kernel: cannot compile Math.random; a kernel gives the same value for the same element.
        (x) => Math.random() * x
               ^^^^^^^^^^^^^"
    `);
  });

  it("a kernel that is no function of numbers", () => {
    expect(refused(() => kernel(wrong(async (x: number) => x)))).toMatchInlineSnapshot(`
      "(kernel) kernel: cannot compile an async function; a kernel computes one number at once.
        async (x) => x
        ^^^^^^^^^^^^^^"
    `);
    expect(refused(() => kernel(wrong("x => x + 1")))).toMatchInlineSnapshot(`
      "(value) kernel: expected a function, got the string "x => x + 1".
        Pass one, such as kernel(x => x * 2)."
    `);
    expect(refused(() => kernel(wrong(null)))).toMatchInlineSnapshot(`
      "(value) kernel: expected a function, got null.
        Pass one, such as kernel(x => x * 2)."
    `);
    expect(refused(() => kernel(wrong((x: number) => (x > 0 ? 1 : undefined))))).toMatchInlineSnapshot(`
      "(kernel) kernel: cannot compute with this; it is not a number on every path.
        (x) => x > 0 ? 1 : undefined
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    `);
    expect(refused(() => kernel(wrong(() => "a")))).toMatchInlineSnapshot(`
      "(kernel) kernel: cannot compile a string; a kernel computes with numbers and booleans.
        () => "a"
              ^^^"
    `);
  });

  it("captured values that are no scalars", () => {
    expect(refused(() => kernel((x: number, k: string) => x + Number(k), { k: "2" }))).toMatchInlineSnapshot(`
      "(kernel) kernel: captured "k" is a string; only numbers, bigints, booleans, tensors, functions and kernels can be.
        (x, k) => x + Number(k)
        ^^^^^^^^^^^^^^^^^^^^^^^
        Pass an array as a tensor: tensor([…]), read with get(i)."
    `);
    expect(refused(() => kernel((x: number) => x, wrong(null)))).toMatchInlineSnapshot(`
      "(value) kernel: the options are null.
        Give an object such as { k: 0.01 }."
    `);
  });

  it("the wrong number of tensors", () => {
    const f = kernel((x: number, y: number) => x + y);
    // @ts-expect-error one tensor too few
    expect(refused(() => f(zeros(2)))).toMatchInlineSnapshot(`
      "(kernel) kernel: the function takes 2 values, got 1 tensor.
        Give one tensor for each parameter; other values are captured by name: kernel(fn, { k: 0.01 })."
    `);
    expect(refused(() => t23().map(wrong((x: number, y: number) => x + y)))).toMatchInlineSnapshot(`
      "(kernel) map: the function takes 2 values, got 1 tensor.
        map gives one element, mapIndex(t, (x, i, j) => …) its index too, zip([a, b], fn) one of each tensor; pass other values by name: { with: { k } }."
    `);
    expect(refused(() => zip([], () => 1))).toMatchInlineSnapshot(`
      "(value) zip: no tensors.
        Give at least one: zip([a, b], (a, b) => a + b)."
    `);
    expect(refused(() => kernel(() => 1)())).toMatchInlineSnapshot(`
      "(value) kernel: no tensors.
        Give one tensor for each parameter of the function, at least one."
    `);
    expect(refused(() => t23().reduce(wrong((x: number) => x)))).toMatchInlineSnapshot(`
      "(kernel) reduce: the function takes 1 value.
        A fold takes two: (acc, x) => …."
    `);
  });

  it("no function at all", () => {
    expect(refused(() => t23().map(wrong(undefined)))).toMatchInlineSnapshot(`
      "(kernel) map: expected a function, got undefined.
        Pass a plain function of scalars such as x => x + 1, or a kernel."
    `);
    expect(refused(() => t23().reduce(wrong("sum")))).toMatchInlineSnapshot(`
      "(kernel) reduce: expected a function, got the string "sum".
        Pass a plain function of scalars such as x => x + 1, or a kernel."
    `);
    expect(refused(() => scope(wrong(3)))).toMatchInlineSnapshot(`
      "(value) scope: expected a function, got the number 3.
        Pass one, such as scope(() => a.add(b).sum())."
    `);
  });

  it("a called function that returns no number, or changes its mind", () => {
    const outer = { value: wrong("x") as number };
    expect(refused(() => t23().map(() => outer.value))).toMatchInlineSnapshot(`
      "(kernel) map: the function returned the string "x".
        It must return a number for every element (or always a boolean, or always a bigint)."
    `);
    const flip = { on: false };
    expect(
      refused(() =>
        t23().map((x) => {
          flip.on = !flip.on;
          return flip.on ? x : 1n;
        }),
      ),
    ).toMatchInlineSnapshot(`
      "(kernel) map: the function returned the bigint 1n.
        It must return a number for every element (or always a boolean, or always a bigint)."
    `);
  });

  it("a called function's own error passes through, and neither output nor memory has changed", () => {
    const out = zeros([2, 3]);
    const before = memory();
    const own = new Error("mine");
    const thrower = (x: number) => {
      if (x === 3) throw own;
      return x + 1;
    };
    expect(() => t23().map(thrower, { out })).toThrow(own);
    const t = t23();
    const held = memory();
    expect(() => t.map(thrower)).toThrow(own);
    expect(() => t.reduce((acc, x) => acc + thrower(x), { init: 0 })).toThrow(own);
    expect(() => t.scan((acc, x) => acc + thrower(x), { axis: 1, init: 0 })).toThrow(own);
    expect(memory().tensors).toBe(held.tensors);
    expect(before.tensors).toBeLessThanOrEqual(held.tensors);
    expect(out.toArray()).toEqual(zeros([2, 3]).toArray());
  });
});

describe("scope and configure", () => {
  it("a scope is synchronous", () => {
    expect(refused(() => scope(async () => zeros(2)))).toMatchInlineSnapshot(`
      "(value) scope: the function returned a promise, and everything it made is disposed when it returns.
        scope is synchronous. With await between steps: scopeAsync(async (s) => { const t = s.run(() => …); await …; return t; })."
    `);
  });

  it("configure says what is wrong with its settings, also when it is too late for any", () => {
    expect(refused(() => configure({ threads: 65 }))).toMatchInlineSnapshot(`
      "(value) configure: threads is the number 65.
        Use a whole number from 1 to 64; 1 starts no workers."
    `);
    expect(refused(() => configure({ thread: 2 } as never))).toMatchInlineSnapshot(`
      "(value) configure: there is no option "thread".
        Did you mean threads? There are maximumBytes, threads, dtype, warnings."
    `);
  });

  it("configure comes before the first tensor", () => {
    expect(refused(() => configure({ maximumBytes: 2 ** 20 }))).toMatchInlineSnapshot(`
      "(value) configure: the engine is already in use.
        Call configure before the first tensor is made, for instance first thing in the program."
    `);
  });
});

describe("what is no function, and what is no way to make a tensor", () => {
  it("a class is not called", () => {
    expect(refused(() => zeros(2).map(class {} as never))).toMatchInlineSnapshot(`
      "(kernel) map: a class was given.
        Give a function of numbers, such as x => x * x."
    `);
  });

  it("new Tensor", () => {
    const make = Tensor as unknown as new (of?: unknown) => Tensor;
    expect(refused(() => new make())).toMatchInlineSnapshot(`
      "(value) Tensor: tensors are not made with new.
        Use tensor([1, 2, 3]), zeros([2, 3]), fromBuffer(…) or another function that makes one."
    `);
    for (const of of [null, {}, [1, 2], { frame: {} }, 3])
      expect(() => new make(of)).toThrow(/not made with new/);
  });
});

/** A typed array whose memory belongs to somebody else now. */
function detached(): Float32Array {
  const array = new Float32Array(4);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

describe("wrong types from plain JavaScript", () => {
  const bad: readonly unknown[] = [
    undefined,
    null,
    "x",
    "1",
    {},
    [],
    [null],
    ["0"],
    NaN,
    -1,
    1.5,
    2 ** 53,
    2n,
    true,
    () => 1,
    new Date(0),
    Symbol("s"),
    { axis: Symbol("s") },
    detached(),
  ];
  const shown = (args: readonly unknown[]) =>
    args.map((x) => (typeof x === "bigint" ? `${x}n` : (JSON.stringify(x) ?? String(x)))).join(", ");

  /** Calls with all combinations of up to two bad arguments; whatever fails, fails with a TensorError. */
  function abuse(name: string, call: (...args: unknown[]) => unknown): string[] {
    const offences: string[] = [];
    const lists = [[], ...bad.map((x) => [x]), ...bad.flatMap((x) => bad.map((y) => [x, y]))];
    for (const args of lists) {
      const before = memory();
      let failed = true;
      try {
        scope(() => {
          call(...args);
        });
        failed = false;
      } catch (error) {
        if (!(error instanceof TensorError) || error.code === "internal")
          offences.push(`${name}(${shown(args)}): ${error}`);
        else if (/undefined (indices|sizes|entries|elements)/.test(error.message))
          offences.push(`${name}(${shown(args)}): ${error.message}`);
      }
      if (failed && memory().tensors !== before.tensors) offences.push(`${name}(${shown(args)}) leaks`);
    }
    return offences;
  }

  const functions = Object.entries(strided).filter(
    ([name, f]) =>
      typeof f === "function" && !["Tensor", "TensorError", "configure", "promote"].includes(name),
  ) as [string, (...args: unknown[]) => unknown][];

  it.each(functions)("%s", (name, f) => {
    expect(abuse(name, f)).toEqual([]);
    expect(abuse(`${name} after a tensor`, (...args) => f(arange(4).reshape(2, 2), ...args))).toEqual([]);
  });

  const getters = [
    "T",
    "data",
    "dtype",
    "readOnly",
    "shape",
    "rank",
    "size",
    "strides",
    "byteStrides",
    "offset",
    "byteOffset",
    "isContiguous",
    "isDisposed",
  ];
  const methods = Object.getOwnPropertyNames(Tensor.prototype).filter(
    (name) => name !== "constructor" && !getters.includes(name),
  );

  it.each(methods)("Tensor.%s", (name) => {
    const call = (...args: unknown[]) => {
      const t = arange(4).reshape(2, 2) as unknown as Record<string, (...args: unknown[]) => unknown>;
      return t[name](...args);
    };
    expect(abuse(name, call)).toEqual([]);
  });

  it("a kernel's call, into and as", () => {
    const f = kernel((x: number) => x + 1);
    expect(abuse("call", wrong(f))).toEqual([]);
    expect(abuse("into", wrong(f.into))).toEqual([]);
    expect(abuse("as", wrong(f.as))).toEqual([]);
  });
});
