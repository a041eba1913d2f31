/**
 * Numba's kernels over storage, shape and strides, as whole functions: tensor_map, tensor_zip, tensor_reduce and a matrix product,
 * in the shape that minitorch teaches them, each a loop with prange over the output's elements. `a.map(f)` does the same with
 * less to write and in less time; this is what it looks like when every position is computed by hand.
 *
 * npx tsx examples/numba-documents.ts
 */
import { njit } from "../src/index.ts";

/** The index of the element that is the ordinal-th in row-major order. */
export const toIndex = (ordinal: number, shape: Int32Array, index: Int32Array) => {
  let left = ordinal;
  for (let d = shape.length - 1; d >= 0; d--) {
    index[d] = left % shape[d];
    left = Math.floor(left / shape[d]);
  }
};

/** The index of a smaller tensor that an index of the larger one meets: axes are aligned at their ends, those of size 1 stay at 0. */
export const broadcastIndex = (
  large: Int32Array,
  largeShape: Int32Array,
  shape: Int32Array,
  index: Int32Array,
) => {
  const shift = largeShape.length - shape.length;
  for (let d = 0; d < shape.length; d++) index[d] = shape[d] > 1 ? large[d + shift] : 0;
};

/** Where in the storage an index lies. */
export const indexToPosition = (index: Int32Array, strides: Int32Array) => {
  let position = 0;
  for (let d = 0; d < strides.length; d++) position += index[d] * strides[d];
  return position;
};

const helpers = { toIndex, broadcastIndex, indexToPosition };

/** out = fn(x), broadcast. No two ordinals have one position, which njit cannot see in strides that are data: `independent`. */
export const tensorMap = (fn: (x: number) => number) =>
  njit(
    (
      out: Float64Array,
      outShape: Int32Array,
      outStrides: Int32Array,
      x: Float64Array,
      xShape: Int32Array,
      xStrides: Int32Array,
      { prange, fn, toIndex, broadcastIndex, indexToPosition },
    ) => {
      for (const i of prange(out.length, { independent: true })) {
        const outIndex = new Int32Array(8);
        const xIndex = new Int32Array(8);
        toIndex(i, outShape, outIndex);
        broadcastIndex(outIndex, outShape, xShape, xIndex);
        out[indexToPosition(outIndex, outStrides)] = fn(x[indexToPosition(xIndex, xStrides)]);
      }
    },
    { ...helpers, fn },
  );

/** out = fn(a, b), broadcast. */
export const tensorZip = (fn: (a: number, b: number) => number) =>
  njit(
    (
      out: Float64Array,
      outShape: Int32Array,
      outStrides: Int32Array,
      a: Float64Array,
      aShape: Int32Array,
      aStrides: Int32Array,
      b: Float64Array,
      bShape: Int32Array,
      bStrides: Int32Array,
      { prange, fn, toIndex, broadcastIndex, indexToPosition },
    ) => {
      for (const i of prange(out.length, { independent: true })) {
        const outIndex = new Int32Array(8);
        const index = new Int32Array(8);
        toIndex(i, outShape, outIndex);
        broadcastIndex(outIndex, outShape, aShape, index);
        const p = indexToPosition(index, aStrides);
        broadcastIndex(outIndex, outShape, bShape, index);
        const q = indexToPosition(index, bStrides);
        out[indexToPosition(outIndex, outStrides)] = fn(a[p], b[q]);
      }
    },
    { ...helpers, fn },
  );

/** out = what is there, folded with the elements of a along one axis; out has size 1 there. */
export const tensorReduce = (fn: (acc: number, x: number) => number) =>
  njit(
    (
      out: Float64Array,
      outShape: Int32Array,
      outStrides: Int32Array,
      a: Float64Array,
      aShape: Int32Array,
      aStrides: Int32Array,
      axis: number,
      { prange, fn, toIndex, indexToPosition },
    ) => {
      for (const i of prange(out.length, { independent: true })) {
        const index = new Int32Array(8);
        toIndex(i, outShape, index);
        const o = indexToPosition(index, outStrides);
        let acc = out[o];
        for (let s = 0; s < aShape[axis]; s++) {
          index[axis] = s;
          acc = fn(acc, a[indexToPosition(index, aStrides)]);
        }
        out[o] = acc;
      }
    },
    { toIndex, indexToPosition, fn },
  );

/** out[b, i, j] = Σ a[b, i, k] · c[b, k, j]; a batch axis of size 1 is broadcast. Here njit sees that rows are apart. */
export const tensorMatmul = njit(
  (
    out: Float64Array,
    outShape: Int32Array,
    a: Float64Array,
    aShape: Int32Array,
    aStrides: Int32Array,
    c: Float64Array,
    cShape: Int32Array,
    cStrides: Int32Array,
    { prange },
  ) => {
    const rows = outShape[1];
    const columns = outShape[2];
    const aBatch = aShape[0] > 1 ? aStrides[0] : 0;
    const cBatch = cShape[0] > 1 ? cStrides[0] : 0;
    for (const r of prange(outShape[0] * rows)) {
      const batch = Math.floor(r / rows);
      const i = r % rows;
      for (let j = 0; j < columns; j++) {
        let p = batch * aBatch + i * aStrides[1];
        let q = batch * cBatch + j * cStrides[2];
        let acc = 0;
        for (let k = 0; k < aShape[2]; k++) {
          acc += a[p] * c[q];
          p += aStrides[2];
          q += cStrides[1];
        }
        out[r * columns + j] = acc;
      }
    }
  },
);

if (process.argv[1]?.endsWith("numba-documents.ts")) {
  const ints = (...list: number[]) => Int32Array.from(list);
  const storage = Float64Array.from({ length: 6 }, (_, i) => i);
  const out = new Float64Array(6);
  // The transpose of a 2 × 3 matrix, plus 100: shape [3, 2], strides [1, 3], the same storage.
  const plus = tensorMap((x) => x + 100);
  plus(out, ints(3, 2), ints(2, 1), storage, ints(3, 2), ints(1, 3));
  console.log("map ", [...out]);
  // And a row that every row of it meets.
  const add = tensorZip((a, b) => a + b);
  add(
    out,
    ints(3, 2),
    ints(2, 1),
    storage,
    ints(3, 2),
    ints(1, 3),
    Float64Array.of(10, 20),
    ints(2),
    ints(1),
  );
  console.log("zip ", [...out]);
  const sums = new Float64Array(2);
  tensorReduce((acc, x) => acc + x)(sums, ints(1, 2), ints(2, 1), storage, ints(3, 2), ints(1, 3), 0);
  console.log("sum ", [...sums]);
  const product = new Float64Array(4);
  tensorMatmul(
    product,
    ints(1, 2, 2),
    storage,
    ints(1, 2, 3),
    ints(6, 3, 1),
    storage,
    ints(1, 3, 2),
    ints(6, 1, 3),
  );
  console.log("a·aᵀ", [...product]);
}
