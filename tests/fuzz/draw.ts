/**
 * Arguments for a call, drawn from a case: tensors that lie oddly or, the same values again, densely; and choices. The
 * same case draws the same arguments every time.
 */
import fc from "fast-check";
import { type DType, dtypeNames, dtypes, isFloat } from "../../src/dtype.ts";
import type { Tensor } from "../../src/index.ts";
import { anyLay, type Fill, filled, type Lay, placed, positions, viewOf } from "./memory.ts";

export interface CallCase {
  /** A row of the table of calls. */
  readonly call: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly fill: Fill;
  /** Of the tensors, one after another. */
  readonly lays: readonly Lay[];
  readonly picks: readonly number[];
  readonly seed: number;
}

export const callCases = (
  calls: readonly string[],
  shapes: fc.Arbitrary<readonly number[]>,
): fc.Arbitrary<CallCase> =>
  fc.record({
    call: fc.constantFrom(...calls),
    dtype: fc.oneof(fc.constantFrom(...dtypeNames), fc.constantFrom<DType>("f32", "f64")),
    shape: shapes,
    fill: fc.constantFrom<Fill>("whole", "unit", "any"),
    lays: fc.array(anyLay, { minLength: 1, maxLength: 3 }),
    picks: fc.array(fc.nat(1000), { minLength: 1, maxLength: 8 }),
    seed: fc.nat(2 ** 30),
  });

interface DrawOptions {
  readonly dtype?: DType;
  readonly fill?: Fill;
  /** It will be written to: no element lies twice. */
  readonly target?: boolean;
}

interface Piece {
  readonly base: Tensor;
  readonly before: Uint8Array;
  /** Elements that may change. */
  readonly own: readonly number[];
}

/** A copy of all of a vector's memory. */
function bytesOf(base: Tensor): Uint8Array {
  const { buffer, byteOffset, byteLength } = base.toTypedArray() as Float32Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Quicker than a loop over the bytes. */
const equalBytes = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

export class Draw {
  readonly #case: CallCase;
  readonly #dense: boolean;
  readonly #pieces: Piece[] = [];
  #tensors = 0;
  #picks = 0;

  constructor(c: CallCase, how: "odd" | "dense") {
    this.#case = c;
    this.#dense = how === "dense";
  }

  get shape(): readonly number[] {
    return this.#case.shape;
  }
  get rank(): number {
    return this.#case.shape.length;
  }
  get dtype(): DType {
    return this.#case.dtype;
  }
  /** A dtype that fft and linear algebra take. */
  get real(): DType {
    return this.#case.dtype === "f64" ? "f64" : "f32";
  }
  /** The case's dtype where it is a float, else f32. */
  get float(): DType {
    return isFloat(this.#case.dtype) ? this.#case.dtype : "f32";
  }
  get integer(): DType {
    return isFloat(this.#case.dtype) || this.#case.dtype === "bool" ? "i32" : this.#case.dtype;
  }

  /** A whole number from 0 up to `below`, which is left out. */
  pick(below: number): number {
    const { picks } = this.#case;
    const i = this.#picks++;
    return (picks[i % picks.length] + Math.floor(i / picks.length) * 7) % Math.max(1, below);
  }
  flag(): boolean {
    return this.pick(2) === 1;
  }
  one<const T>(...items: T[]): T {
    return items[this.pick(items.length)];
  }
  /** One of the axes, from the front or from the end. */
  axis(rank = this.rank): number {
    const d = this.pick(rank);
    return this.flag() ? d : d - Math.max(1, rank);
  }
  /** Options of a fold: all axes, one, or several. */
  fold(): { readonly axis?: number | readonly number[]; readonly keepdims: boolean } {
    const keepdims = this.flag();
    const how = this.pick(3);
    if (how === 0 || this.rank === 0) return { keepdims };
    if (how === 1) return { axis: this.axis(), keepdims };
    const mask = this.pick(16);
    return { axis: this.shape.map((_, d) => d).filter((d) => (mask >> d) & 1), keepdims };
  }
  size(axis: number): number {
    return this.shape[axis < 0 ? axis + this.rank : axis] ?? 1;
  }

  /** A tensor of the case's shape and dtype, or of others. */
  t(shape: readonly number[] = this.shape, options: DrawOptions = {}): Tensor {
    const { lays, dtype, fill, seed } = this.#case;
    const i = this.#tensors++;
    const lay = lays[i % lays.length];
    const p = placed(shape, options.target ? { ...lay, steps: lay.steps.map((s) => s || 1) } : lay);
    const base = filled(options.dtype ?? dtype, p.room, options.fill ?? fill, seed + i);
    const view = viewOf(base, p);
    if (this.#dense) return view.clone();
    this.#pieces.push({ base, before: bytesOf(base), own: options.target ? positions(p) : [] });
    return view;
  }
  /** As `t`, with sizes that became 1 and leading axes that went, so that it broadcasts with it. */
  beside(options: DrawOptions = {}): Tensor {
    const mask = this.pick(32);
    const shape = this.shape.map((n, d) => ((mask >> d) & 1 ? 1 : n)).slice(mask >> 4);
    return this.t(shape, options);
  }
  target(shape: readonly number[] = this.shape): Tensor {
    return this.t(shape, { target: true });
  }
  /** Whole numbers below `n` (of any shape), as i64 or i32. */
  indices(shape: readonly number[], n: number, signed = true): Tensor {
    const lay = this.t(shape, { dtype: this.one("i32", "i64"), fill: "whole" });
    return signed ? lay.remainder(n).sub(this.flag() ? n : 0) : lay.remainder(n);
  }
  mask(shape: readonly number[] = this.shape): Tensor {
    return this.t(shape, { dtype: "bool" });
  }
  vector(n = 1 + this.pick(40), options: DrawOptions = {}): Tensor {
    return this.t([n], options);
  }

  /** Throws if anything but the targets' own elements changed. */
  expectUntouched(): void {
    for (const { base, before, own } of this.#pieces) {
      const now = bytesOf(base);
      const { bytes: itemBytes } = dtypes[base.dtype];
      for (const k of own) now.set(before.subarray(k * itemBytes, (k + 1) * itemBytes), k * itemBytes);
      if (!equalBytes(now, before)) throw new Error("memory of an operand was written to");
    }
  }
}
