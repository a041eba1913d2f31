/**
 * Complex numbers as pairs: a tensor whose last axis has size 2, the real and the imaginary part. They are tensors like
 * any other, so views, copies and files know them already (docs/decisions/0008-complex-as-pairs.md).
 */
import { empty, zip } from "../api.ts";
import { type DType, isFloat } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import { scoped } from "./scoped.ts";

/** Complex numbers are pairs of f32 or f64; integers become f64. */
export const floatOf = (dtype: DType): "f32" | "f64" => (isFloat(dtype) && dtype !== "f64" ? "f32" : "f64");

/**
 * Pairs [re, im] from real tensors that broadcast together; without `im` the imaginary parts are 0.
 *
 * @param re the real parts
 * @param im the imaginary parts
 * @returns a new tensor with a last axis of size 2, f32 or f64
 * @example
 * complex(tensor([1, 2]), tensor([3, 4])); // → f32 [[1, 3], [2, 4]]
 */
export function complex(re: Tensor, im?: Tensor): Tensor {
  const op = "complex";
  const a = liveTensor(op, re);
  const b = im === undefined ? null : liveTensor(op, im);
  return scoped(op, () => {
    const dtype = floatOf(b === null ? a.dtype : a.add(b).dtype);
    const shape = b === null ? a.shape : a.add(b).shape;
    const out = empty([...shape, 2], { dtype });
    real(out).assign(a);
    imag(out).assign(b ?? 0);
    return out;
  });
}
/**
 * A view of the real parts.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @returns a view without the last axis
 * @example
 * real(tensor([[1, 3], [2, 4]])); // → f32 [1, 2]
 */
export function real<D extends DType>(z: Tensor<D>): Tensor<D>;
export function real(z: Tensor): Tensor {
  return pairs("real", z).slice("...", 0);
}
/**
 * A view of the imaginary parts.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @returns a view without the last axis
 * @example
 * imag(tensor([[1, 3], [2, 4]])); // → f32 [3, 4]
 */
export function imag<D extends DType>(z: Tensor<D>): Tensor<D>;
export function imag(z: Tensor): Tensor {
  return pairs("imag", z).slice("...", 1);
}
/**
 * The imaginary parts with the other sign; unsigned integers wrap round, as with `neg`.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @returns a new tensor of z's shape and dtype
 * @example
 * conj(tensor([[1, 3]])); // → f32 [[1, -3]]
 */
export function conj<D extends DType>(z: Tensor<D>): Tensor<D>;
export function conj(z: Tensor): Tensor {
  const t = pairs("conj", z);
  return scoped("conj", () => {
    const out = t.clone();
    imag(out).neg({ out: imag(out) });
    return out;
  });
}
/**
 * The product of complex numbers, element by element; shapes broadcast.
 *
 * @param a complex numbers as pairs
 * @param b complex numbers as pairs
 * @returns a new tensor of pairs
 * @example
 * complexMul(tensor([0, 1]), tensor([0, 1])); // → f32 [-1, 0]
 */
export function complexMul(a: Tensor, b: Tensor): Tensor {
  const op = "complexMul";
  pairs(op, a);
  pairs(op, b);
  return scoped(op, () => {
    const parts = [real(a), imag(a), real(b), imag(b)];
    const re = zip(parts, (p, q, r, s) => p * r - q * s);
    const out = empty([...re.shape, 2], { dtype: re.dtype });
    real(out).assign(re);
    zip(parts, (p, q, r, s) => p * s + q * r, { out: imag(out) });
    return out;
  });
}
/**
 * The length of each complex number.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @returns a new tensor of real numbers, without the last axis
 * @example
 * complexAbs(tensor([[3, 4]])); // → f32 [5]
 */
export function complexAbs(z: Tensor): Tensor {
  pairs("complexAbs", z);
  return scoped("complexAbs", () => zip([real(z), imag(z)], (re, im) => Math.hypot(re, im)));
}
/**
 * The angle of each complex number, from -π to π.
 *
 * @param z complex numbers as pairs: the last axis has size 2
 * @returns a new tensor of real numbers, without the last axis
 * @example
 * complexAngle(tensor([[1, 0]])); // → f32 [0]
 */
export function complexAngle(z: Tensor): Tensor {
  pairs("complexAngle", z);
  return scoped("complexAngle", () => zip([real(z), imag(z)], (re, im) => Math.atan2(im, re)));
}

export function pairs(operation: string, z: Tensor): Tensor {
  const t = liveTensor(operation, z);
  if (t.rank >= 1 && t.shape[t.rank - 1] === 2) return t;
  return fail(
    "shape",
    operation,
    `expected complex numbers, got shape ${list(t.shape)}.`,
    "They are pairs along a last axis of size 2: complex(re, im) makes them, rfft takes real numbers.",
  );
}
