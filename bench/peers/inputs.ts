/** Inputs that every contestant, also in Python, makes for itself: the k-th input's element i is a hash of i and k. */
import type { DTypeName, Operand, Values } from "./types.ts";

const arrays = { f32: Float32Array, f64: Float64Array, i32: Int32Array, f16: Uint16Array } as const;

export function countOf(shape: readonly number[]): number {
  return shape.reduce((p, d) => p * d, 1);
}

export function allocate(dtype: DTypeName, shape: readonly number[]): Values {
  return new arrays[dtype](countOf(shape));
}

/** Multiples of 1/1024 in [-2, 2), times the operand's scale: the top 12 bits of a multiplicative hash. */
export function makeInput(operand: Operand, k: number): Values {
  const { dtype, shape, scale } = operand;
  const out = allocate(dtype, shape);
  const start = Math.imul(k + 1, 0x3c6ef372);
  for (let i = 0; i < out.length; i++) {
    out[i] = ((Math.imul(i, 0x9e3779b1) + start) >>> 20) / (1024 / scale) - 2 * scale;
  }
  return out;
}

export const makeInputs = (operands: readonly Operand[]): Values[] => operands.map(makeInput);

/** Runs, then looks. */
export const reading =
  <T>(run: () => void, look: () => T) =>
  (): T => {
    run();
    return look();
  };

/** A result kept as raw bytes. */
export function fromBytes(dtype: DTypeName, bytes: Uint8Array): Values {
  return new arrays[dtype](
    bytes.buffer as ArrayBuffer,
    bytes.byteOffset,
    bytes.byteLength / arrays[dtype].BYTES_PER_ELEMENT,
  );
}

export interface Difference {
  /** The largest error, relative where the value is above 1. */
  readonly worst: number;
  /** What is wrong, or null. */
  readonly wrong: string | null;
}

/** The worse of two pieces of one result. */
export function worse(a: Difference, b: Difference): Difference {
  return a.worst >= b.worst ? a : b;
}

/** Every element, against the reference; `first` is the place of the first one in the whole result. */
export function difference(got: Values, want: Values, tolerance: number, first = 0): Difference {
  if (got.length !== want.length)
    return { worst: Infinity, wrong: `${got.length} elements, expected ${want.length}` };
  let worst = 0;
  let at = -1;
  for (let i = 0; i < got.length; i++) {
    const w = want[i];
    const magnitude = w < 0 ? -w : w;
    const error = Math.abs(got[i] - w) / (magnitude > 1 ? magnitude : 1);
    // A NaN compares false, so it is caught too.
    if (!(error <= worst)) {
      at = i;
      worst = error >= 0 ? error : Infinity;
    }
  }
  const wrong = worst <= tolerance ? null : `element ${first + at} is ${got[at]}, expected ${want[at]}`;
  return { worst, wrong };
}
