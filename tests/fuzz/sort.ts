/** Sorting against JavaScript's own stable sort, bit for bit, on patterns that sorting algorithms stumble over. */
import fc from "fast-check";
import { type DType, dtypeNames, dtypes } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { argsort, scope, sort as sorted, type Tensor, tensor, topk } from "../../src/index.ts";
import { stridedOf } from "../../src/tensor.ts";
import { family } from "./family.ts";

const bytesOf = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array } as const;

/** Bits of the elements, as they lie in memory. */
export function bitsOf(t: Tensor): (number | bigint)[] {
  const dense = t.contiguous();
  const { storage, frame } = stridedOf(dense);
  const address = storage.address + frame.offset;
  const bits = new bytesOf[dtypes[t.dtype].bytes](engine().heap.buffer as ArrayBuffer, address, dense.size);
  const out = [...bits];
  dense.dispose();
  return out;
}

/** A vector whose elements have these bits; every NaN has a payload of its own. */
export function fromBits(dtype: DType, bits: readonly bigint[]): Tensor {
  const { bytes, Array: Typed } = dtypes[dtype];
  const raw = new bytesOf[bytes](bits.length);
  bits.forEach((b, i) => {
    const cut = BigInt.asUintN(8 * bytes, b);
    raw[i] = (bytes === 8 ? cut : Number(cut)) as never;
  });
  const own = raw as unknown as ArrayBufferView<ArrayBuffer>;
  return tensor(new Typed(own.buffer, 0, bits.length) as never, { dtype });
}

/** The stable order by NumPy's rule, computed plainly. */
export function orderOf(t: Tensor, descending: boolean): number[] {
  const { read, bytes } = dtypes[t.dtype];
  const dense = t.contiguous();
  const { storage, frame } = stridedOf(dense);
  const address = storage.address + frame.offset;
  const values = Array.from({ length: t.size }, (_, i) => read(engine().heap.view, address + i * bytes));
  dense.dispose();
  const isNan = (x: unknown) => typeof x === "number" && Number.isNaN(x);
  const compare = (a: number | bigint, b: number | bigint) =>
    isNan(a) || isNan(b) ? Number(isNan(a)) - Number(isNan(b)) : a < b ? -1 : a > b ? 1 : 0;
  const sign = descending ? -1 : 1;
  return values.map((_, i) => i).sort((i, j) => sign * compare(values[i], values[j]));
}

/** Bits of element i of n, in a pattern, from random ones. */
export const patterns: Readonly<Record<string, (random: readonly bigint[]) => bigint[]>> = {
  random: (r) => [...r],
  "all equal": (r) => r.map(() => r[0]),
  "few distinct": (r) => r.map((x) => r[Number(BigInt.asUintN(30, x)) % Math.min(3, r.length)]),
  sorted: (r) => [...r].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
  reversed: (r) => [...r].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0)),
  "organ pipe": (r) => r.map((_, i) => BigInt(Math.min(i, r.length - 1 - i))),
  "nearly sorted": (r) => r.map((x, i) => (i % 17 === 3 ? x : BigInt(i))),
  "zeros and NaNs": (r) => r.map((x) => (x % 3n === 0n ? x : x % 3n === 1n ? 0n : -1n & ~(x & 1n))),
  "signs alone": (r) =>
    r.map((x) => (x & 1n) * (1n << 63n) + (x & 1n) * (1n << 31n) + (x & 1n) * (1n << 15n)),
};

/** Repeatable bits from a seed: arrays of thousands need not be drawn one by one. */
export function randomBits(seed: number, n: number): bigint[] {
  let x = BigInt(seed) * 0x9e3779b97f4a7c15n + 1n;
  return Array.from({ length: n }, () => {
    x = BigInt.asUintN(64, x * 6364136223846793005n + 1442695040888963407n);
    return x ^ (x >> 29n);
  });
}

export interface SortCase {
  readonly dtype: DType;
  readonly pattern: string;
  readonly n: number;
  readonly seed: number;
  readonly descending: boolean;
  /** The most of the first that topk gives. */
  readonly most: number;
}

const cases: fc.Arbitrary<SortCase> = fc.record({
  dtype: fc.constantFrom(...dtypeNames),
  pattern: fc.constantFrom(...Object.keys(patterns)),
  n: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 90 }) },
    { weight: 3, arbitrary: fc.integer({ min: 90, max: 700 }) },
    { weight: 1, arbitrary: fc.constantFrom(64, 65, 3071, 3072, 4000) },
  ),
  seed: fc.nat(2 ** 30),
  descending: fc.boolean(),
  most: fc.nat(40),
});

/** Throws at the first place where two lists differ. */
export function expectList(
  got: readonly (number | bigint)[],
  want: readonly (number | bigint)[],
  what: string,
): void {
  const at = want.findIndex((x, i) => x !== got[i]);
  if (at >= 0 || got.length !== want.length)
    throw new Error(`${what}: ${got.length} elements, element ${at} is ${got[at]}, expected ${want[at]}`);
}

/** sort and argsort give the stable order, topk its beginning. */
function check({ dtype, pattern, n, seed, descending, most }: SortCase): boolean {
  return scope(() => {
    const t = fromBits(dtype, patterns[pattern](randomBits(seed, n)));
    const order = orderOf(t, descending);
    const bits = bitsOf(t);
    expectList([...argsort(t, { descending }).data].map(Number), order, "argsort");
    expectList(
      bitsOf(sorted(t, { descending })),
      order.map((i) => bits[i]),
      "sort",
    );
    const k = Math.min(most, n);
    const { values, indices } = topk(t, k, { largest: descending });
    expectList([...indices.data].map(Number), order.slice(0, k), "topk's indices");
    expectList(
      bitsOf(values),
      order.slice(0, k).map((i) => bits[i]),
      "topk's values",
    );
    return true;
  });
}

export const sort = family<SortCase>({
  name: "sort",
  law: "sort, argsort and topk agree with a plain stable sort, bit for bit, on any pattern",
  cases,
  check,
  gate: 1000,
});
