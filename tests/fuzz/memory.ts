/**
 * Memory to compute on, as plain data: values from a seed, and views of them that lie oddly: permuted, stepped, flipped,
 * repeated, with room around them.
 */
import fc from "fast-check";
import { type DType, dtypes, type Value } from "../../src/dtype.ts";
import { type Tensor, tensor } from "../../src/index.ts";

/* Values ------------------------------------------------------------------------------------------------------ */

/** Numbers in [0, 1) from a seed, the same ones every time (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * `whole`: small whole numbers, whose sums are exact in any order. `unit`: between 0 and 1, with every bit in use.
 * `any`: whatever the dtype can hold, the awkward values often.
 */
export type Fill = "whole" | "unit" | "any";

const awkward = [
  0,
  -0,
  1,
  -1,
  0.5,
  2.5,
  127,
  255,
  256,
  65504,
  2 ** 31,
  -(2 ** 31),
  1e20,
  5e-324,
  NaN,
  Infinity,
  -Infinity,
];

function drawn(d: DType, fill: Fill, next: () => number): Value {
  const { kind, big, min, max, wrap } = dtypes[d];
  const x = next();
  if (kind === "bool") return Number(x < 0.5);
  if (kind === "float") {
    if (fill === "unit") return wrap(x);
    if (fill === "any" && x < 0.3) return wrap(awkward[Math.floor(next() * awkward.length)]);
    return fill === "any" ? wrap((next() - 0.5) * 2 ** (40 * (next() - 0.5))) : Math.floor(x * 17) - 8;
  }
  if (fill === "any" && x < 0.3) {
    const edges = [min, max, big ? 0n : 0, big ? 1n : 1];
    return edges[Math.floor(next() * edges.length)];
  }
  const whole = fill === "any" ? Math.floor(next() * 2 ** 32) : Math.floor(x * 17) - (kind === "int" ? 8 : 0);
  if (fill !== "any") return big ? BigInt(whole) : whole;
  return wrap(big ? BigInt(whole) * 0x9e3779b97f4a7c15n : whole);
}

/** Long vectors repeat their first so many values. */
const PERIOD = 4099;

/** A dense vector of `length` values. */
export function filled(d: DType, length: number, fill: Fill, seed: number): Tensor {
  const { bytes, write, Array: Typed } = dtypes[d];
  const memory = new DataView(new ArrayBuffer(bytes * length));
  const next = randomOf(seed);
  const first = Math.min(length, PERIOD);
  for (let i = 0; i < first; i++) write(memory, i * bytes, drawn(d, fill, next));
  const all = new Uint8Array(memory.buffer);
  for (let done = first; done < length; done *= 2)
    all.copyWithin(done * bytes, 0, Math.min(done, length - done) * bytes);
  return tensor(new Typed(memory.buffer, 0, length) as Float32Array, { dtype: d });
}

/* Layouts ----------------------------------------------------------------------------------------------------- */

/** How a tensor of any shape lies in a longer vector; lists are read round and round. */
export interface Lay {
  /** Where each axis goes: sorted by these, the outermost first. */
  readonly order: readonly number[];
  /** Over the dense step: negative walks backwards, 0 repeats. */
  readonly steps: readonly number[];
  /** Elements before the first. */
  readonly before: number;
}

const listOf = <T>(of: fc.Arbitrary<T>) => fc.array(of, { minLength: 1, maxLength: 4 });
/** Never twice on one element, so that it can be written to. */
export const plainLay: fc.Arbitrary<Lay> = fc.record({
  order: listOf(fc.nat(9)),
  steps: listOf(fc.constantFrom(1, 1, 1, 2, 3, -1, -2)),
  before: fc.nat(3),
});
export const anyLay: fc.Arbitrary<Lay> = fc.record({
  order: listOf(fc.nat(9)),
  steps: listOf(fc.constantFrom(1, 1, 1, 1, 2, 3, -1, -2, 0)),
  before: fc.nat(3),
});

export interface Placed {
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  readonly offset: number;
  /** Elements of the vector it lies in. */
  readonly room: number;
}

export function placed(shape: readonly number[], lay: Lay): Placed {
  const key = (d: number) => lay.order[d % lay.order.length];
  const inward = shape.map((_, d) => d).sort((p, q) => key(q) - key(p) || q - p);
  const strides = new Array<number>(shape.length);
  let dense = 1;
  let offset = lay.before;
  for (const d of inward) {
    const step = lay.steps[d % lay.steps.length];
    strides[d] = step * dense;
    if (step < 0) offset += -step * dense * Math.max(shape[d] - 1, 0);
    dense *= Math.max(1, shape[d] * Math.abs(step));
  }
  return { shape, strides, offset, room: lay.before + dense + 1 };
}

/** Positions in the vector, in row-major order of the index. */
export function positions(p: Placed): number[] {
  let all = [p.offset];
  p.shape.forEach((n, d) => {
    all = all.flatMap((at) => Array.from({ length: n }, (_, i) => at + i * p.strides[d]));
  });
  return all;
}

/** The values of a dense vector. */
export function valuesOf(t: Tensor): Value[] {
  const { read, bytes } = dtypes[t.dtype];
  const { buffer, byteOffset } = t.toTypedArray() as Float32Array;
  const memory = new DataView(buffer, byteOffset);
  return Array.from({ length: t.size }, (_, i) => read(memory, i * bytes));
}

export const viewOf = (base: Tensor, p: Placed): Tensor => base.asStrided(p.shape, p.strides, p.offset);

/** Throws at the first position where two lists of values differ; NaN is NaN. */
export function expectValues(got: readonly Value[], want: readonly Value[], what: string): void {
  if (got.length !== want.length)
    throw new Error(`${what} has ${got.length} elements, expected ${want.length}`);
  const at = want.findIndex((x, i) => !Object.is(x, got[i]));
  if (at < 0) return;
  const show = (x: Value) => (Object.is(x, -0) ? "-0" : String(x));
  throw new Error(`${what}: element ${at} is ${show(got[at])}, expected ${show(want[at])}`);
}
