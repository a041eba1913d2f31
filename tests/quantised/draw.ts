/** Random bytes and floats for block types, odd ones among them; the same for the same seed. */
import { blockTypes, type QuantisedDType } from "../../src/quantised/types.ts";

/** Whole numbers below 2^32, by a small generator. */
export function numbers(seed: number): () => number {
  let s = (seed ^ 0x9e3779b9) >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/** So many blocks of random bytes: scales are whatever the bits say, NaN and infinities too. */
export function randomBlocks(
  dtype: QuantisedDType,
  count: number,
  next: () => number,
): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: count * blockTypes[dtype].bytes }, () => next() & 255);
}

const kinds = ["normal", "tiny", "huge", "zeros", "constant", "outlier", "odd", "halves", "wide"] as const;

/** So many blocks of floats to encode, a kind a block: all zero, huge, with NaN and infinities in between. */
export function randomFloats(block: number, count: number, next: () => number): Float32Array<ArrayBuffer> {
  const unit = () => next() / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(1 - unit())) * Math.cos(2 * Math.PI * unit());
  const out = new Float32Array(block * count);
  for (let b = 0; b < count; b++) {
    const kind = kinds[next() % kinds.length];
    const constant = normal();
    for (let j = 0; j < block; j++) {
      const i = b * block + j;
      if (kind === "normal") out[i] = normal();
      else if (kind === "tiny") out[i] = normal() * 1e-30;
      else if (kind === "huge") out[i] = normal() * 1e38;
      else if (kind === "zeros") out[i] = next() % 2 === 0 ? 0 : -0;
      else if (kind === "constant") out[i] = constant;
      else if (kind === "outlier") out[i] = next() % 32 === 0 ? 1000 * normal() : normal();
      else if (kind === "halves") out[i] = (next() % 32) / 2 - 8;
      else if (kind === "wide") out[i] = normal() * 2 ** ((next() % 60) - 30);
      else {
        const odd = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
        out[i] = next() % 8 === 0 ? odd[next() % 3] : normal();
      }
    }
  }
  return out;
}

/** Where two lists of floats first differ in their bits (NaN is NaN); -1 where they do not. */
export function firstDifference(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Math.min(a.length, b.length);
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return i;
  return -1;
}
