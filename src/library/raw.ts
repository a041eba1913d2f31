/**
 * The raw kernels, as minitorch's Numba kernels state them: plain storages with shape, strides and offset counted in
 * ELEMENTS, a plain function, no tensors. They show the index arithmetic with nothing hidden, for any layout;
 * the compiled kernels must agree with them.
 */
import { describe, fail, isRevoked, list, shown } from "../errors.ts";
import { checkThunk, numberList } from "../ops/arguments.ts";
import {
  broadcastIndex,
  extentOf,
  normalizeAxis,
  positionOf,
  sameShape,
  sizeOf,
  unravel,
} from "../view/layout.ts";

/** Element i lives at storage[offset + Σ i[d]·strides[d]]. */
export interface Raw {
  /** The elements' memory: an array or a typed array. */
  readonly storage: { [position: number]: number; readonly length: number };
  /** The sizes of the axes. */
  readonly shape: readonly number[];
  /** Elements to skip for one step along each axis. */
  readonly strides: readonly number[];
  /** Where the first element is; default 0. */
  readonly offset?: number;
}

/**
 * out[…] = fn(a[…]); a broadcasts to out.
 *
 * @param fn a function of an element
 * @param given the output, which is written, and the input
 * @example
 * const out = new Float32Array(2);
 * rawMap((x) => 2 * x, { storage: out, shape: [2], strides: [1] }, { storage: [1, 9, 3], shape: [2], strides: [2] });
 * out; // → [2, 6]
 */
export function rawMap(fn: (x: number) => number, ...given: [out: Raw, a: Raw]): void {
  checkThunk("rawMap", fn, "x => x + 100");
  const [out, a] = readRaw("rawMap", given, ["out", "a"]);
  checkBroadcasts("rawMap", out, a, "a");
  const count = sizeOf(out.shape);
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const index = unravel(ordinal, out.shape);
    out.storage[at(out, index)] = number("rawMap", fn(a.storage[at(a, broadcastIndex(index, a.shape))]));
  }
}

/**
 * out[…] = fn(a[…], b[…]); a and b broadcast to out.
 *
 * @param fn a function of two elements
 * @param given the output, which is written, and the inputs
 * @example
 * const a = { storage: [1, 2], shape: [2], strides: [1] };
 * const out = { storage: [0, 0], shape: [2], strides: [1] };
 * rawZip((x, y) => x + y, out, a, a);
 * out.storage; // → [2, 4]
 */
export function rawZip(fn: (a: number, b: number) => number, ...given: [out: Raw, a: Raw, b: Raw]): void {
  checkThunk("rawZip", fn, "(a, b) => a + b");
  const [out, a, b] = readRaw("rawZip", given, ["out", "a", "b"]);
  checkBroadcasts("rawZip", out, a, "a");
  checkBroadcasts("rawZip", out, b, "b");
  const count = sizeOf(out.shape);
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const index = unravel(ordinal, out.shape);
    const x = a.storage[at(a, broadcastIndex(index, a.shape))];
    const y = b.storage[at(b, broadcastIndex(index, b.shape))];
    out.storage[at(out, index)] = number("rawZip", fn(x, y));
  }
}

/**
 * out[…] = fn(… fn(fn(out[…], a[…0…]), a[…1…]) …): folds one axis, starting from what out holds.
 *
 * @param fn a function of what came so far and an element
 * @param given the output, which is read and written, the input and the axis
 * @example
 * const a = { storage: [1, 2, 3], shape: [3], strides: [1] };
 * const out = { storage: [0], shape: [1], strides: [1] };
 * rawReduce((acc, x) => acc + x, out, a, 0);
 * out.storage; // → [6]
 */
export function rawReduce(
  fn: (acc: number, x: number) => number,
  ...given: [out: Raw, a: Raw, axis: number]
): void {
  checkThunk("rawReduce", fn, "(acc, x) => acc + x");
  const [out, a] = readRaw("rawReduce", given, ["out", "a"]);
  const d = normalizeAxis("rawReduce", given[2], a.shape.length);
  const expected = a.shape.map((n, k) => (k === d ? 1 : n));
  if (!sameShape(out.shape, expected)) {
    fail(
      "shape",
      "rawReduce",
      `the output is ${list(out.shape)}, folding axis ${d} of ${list(a.shape)} makes ${list(expected)}.`,
      "The folded axis keeps size 1.",
    );
  }
  const count = sizeOf(out.shape);
  for (let ordinal = 0; ordinal < count; ordinal++) {
    const index = unravel(ordinal, out.shape);
    const position = at(out, index);
    let p = at(a, index);
    let acc = out.storage[position];
    for (let k = 0; k < a.shape[d]; k++, p += a.strides[d]) acc = number("rawReduce", fn(acc, a.storage[p]));
    out.storage[position] = acc;
  }
}

/**
 * out[n,i,j] = Σ_k a[n,i,k]·b[n,k,j] on 3-D storages; a batch of size 1 has batch stride 0.
 *
 * @param given the output, which is written, and the two factors
 * @example
 * const a = { storage: [1, 2, 3, 4], shape: [1, 2, 2], strides: [0, 2, 1] };
 * const out = { storage: [0, 0, 0, 0], shape: [1, 2, 2], strides: [0, 2, 1] };
 * rawMatmul(out, a, a);
 * out.storage; // → [7, 10, 15, 22]
 */
export function rawMatmul(...given: [out: Raw, a: Raw, b: Raw]): void {
  const [out, a, b] = readRaw("rawMatmul", given, ["out", "a", "b"]);
  const shapes = `out ${list(out.shape)}, a ${list(a.shape)}, b ${list(b.shape)}`;
  if (out.shape.length !== 3 || a.shape.length !== 3 || b.shape.length !== 3) {
    fail("shape", "rawMatmul", `expected three 3-D storages, got ${shapes}.`, "Use matmul for other ranks.");
  }
  const [batches, m, n] = out.shape;
  const k = a.shape[2];
  const fits = (size: number) => size === batches || size === 1;
  if (a.shape[1] !== m || b.shape[2] !== n || b.shape[1] !== k || !fits(a.shape[0]) || !fits(b.shape[0])) {
    fail(
      "shape",
      "rawMatmul",
      `the shapes do not fit: ${shapes}.`,
      "They must be (n, i, j), (n or 1, i, k) and (n or 1, k, j).",
    );
  }
  const aBatch = a.shape[0] === 1 ? 0 : a.strides[0];
  const bBatch = b.shape[0] === 1 ? 0 : b.strides[0];
  for (let batch = 0; batch < batches; batch++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let pa = (a.offset ?? 0) + batch * aBatch + i * a.strides[1];
        let pb = (b.offset ?? 0) + batch * bBatch + j * b.strides[2];
        let sum = 0;
        for (let p = 0; p < k; p++, pa += a.strides[2], pb += b.strides[1])
          sum += a.storage[pa] * b.storage[pb];
        out.storage[at(out, [batch, i, j])] = sum;
      }
    }
  }
}

function number(op: string, result: unknown): number {
  if (typeof result === "number") return result;
  return fail("kernel", op, `the function returned ${describe(result)}.`, "It must return a number.");
}

const at = (t: Raw, index: readonly number[]) => positionOf(index, t.strides, t.offset ?? 0);

/** The operands as plain data, read once; every position they can reach lies in their storage. */
function readRaw(op: string, given: readonly unknown[], names: readonly string[]): Raw[] {
  return names.map((name, k) => {
    const t = given[k] as Raw | null;
    const {
      storage,
      shape: sizes,
      strides: steps,
      offset = 0,
    } = (typeof t === "object" && t && !isRevoked(t) ? t : {}) as Raw;
    const length = lengthOf(storage);
    if (length === null) {
      fail(
        "value",
        op,
        `${name} is ${describe(t)}.`,
        "Give { storage, shape, strides, offset }, all in elements.",
      );
    }
    const shape = numberList(op, `${name}.shape`, sizes);
    const strides = numberList(op, `${name}.strides`, steps);
    if (strides.length !== shape.length) {
      fail(
        "shape",
        op,
        `${name} has ${shape.length} sizes and ${strides.length} strides.`,
        "Give one stride an axis.",
      );
    }
    for (const x of [...shape, ...strides, offset]) {
      if (!Number.isSafeInteger(x))
        fail("value", op, `${name} has the size, stride or offset ${shown(x)}.`, "Use whole numbers.");
    }
    if (shape.some((n) => n < 0)) fail("shape", op, `${name} has a negative size: ${list(shape)}.`);
    if (sizeOf(shape) === 0) return { storage, shape, strides, offset };
    const { min, max } = extentOf(shape, strides)!;
    if (offset + min < 0 || offset + max >= length) {
      fail(
        "bounds",
        op,
        `${name} reaches positions ${offset + min} … ${offset + max}, its storage has 0 … ${length - 1}.`,
        `shape ${list(shape)}, strides ${list(strides)}, offset ${offset} (all in elements).`,
      );
    }
    return { storage, shape, strides, offset };
  });
}

/** null: it has none, or does not tell. */
function lengthOf(storage: unknown): number | null {
  try {
    const { length } = storage as Raw["storage"];
    return typeof length === "number" ? length : null;
  } catch {
    return null;
  }
}

function checkBroadcasts(op: string, out: Raw, t: Raw, name: string): void {
  const skip = out.shape.length - t.shape.length;
  const ok = skip >= 0 && t.shape.every((n, d) => n === 1 || n === out.shape[d + skip]);
  if (ok) return;
  fail(
    "shape",
    op,
    `${name} is ${list(t.shape)}, which does not broadcast to the output's ${list(out.shape)}.`,
    "Sizes align at the right; each must be equal, or 1.",
  );
}
