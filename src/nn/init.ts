/**
 * Where parameters begin: functions of a shape and a generator. The fans of a weight [outputs, inputs, …taps] are its inputs
 * and outputs, each times the taps, as torch counts them.
 */
import { ones as allOnes, zeros as allZeros, full } from "../api.ts";
import type { FloatDType } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import type { RandomGenerator } from "../library/random.ts";
import type { Tensor } from "../tensor.ts";

/** Makes a parameter of a shape. */
export type Initialiser = (shape: readonly number[], rng: RandomGenerator, dtype: FloatDType) => Tensor;

function fansOf(operation: string, shape: readonly number[]): { inputs: number; outputs: number } {
  if (shape.length < 2) {
    fail(
      "shape",
      operation,
      `a weight of shape ${list(shape)} has no inputs and outputs.`,
      "It needs two axes or more: [outputs, inputs, …taps].",
    );
  }
  const taps = shape.slice(2).reduce((a, b) => a * b, 1);
  return { inputs: shape[1] * taps, outputs: shape[0] * taps };
}

const evenly =
  (bound: (shape: readonly number[]) => number): Initialiser =>
  (shape, rng, dtype) => {
    const b = bound(shape);
    return rng.uniform(shape, { low: -b, high: b, dtype });
  };
const bell =
  (std: (shape: readonly number[]) => number): Initialiser =>
  (shape, rng, dtype) =>
    rng.normal(shape, { std: std(shape), dtype });

const both = (operation: string, shape: readonly number[]): number => {
  const { inputs, outputs } = fansOf(operation, shape);
  return inputs + outputs;
};

/**
 * Glorot's: even, so that variance is kept forwards and backwards.
 *
 * @param gain a factor, default 1
 * @returns what makes a parameter of a shape
 * @example
 * init.xavierUniform()([2, 3], random.generator(1), "f32").shape; // → [2, 3]
 */
export const xavierUniform = (gain = 1): Initialiser =>
  evenly((shape) => gain * Math.sqrt(6 / both("xavierUniform", shape)));
/**
 * Glorot's as a bell curve.
 *
 * @param gain a factor, default 1
 * @returns what makes a parameter of a shape
 * @example
 * init.xavierNormal()([2, 3], random.generator(1), "f32").shape; // → [2, 3]
 */
export const xavierNormal = (gain = 1): Initialiser =>
  bell((shape) => gain * Math.sqrt(2 / both("xavierNormal", shape)));
/**
 * He's: even, so that variance is kept through relu, or through a leaky one with slope a.
 *
 * @param a the slope below 0, default 0
 * @returns what makes a parameter of a shape
 * @example
 * init.kaimingUniform()([2, 3], random.generator(1), "f32").shape; // → [2, 3]
 */
export const kaimingUniform = (a = 0): Initialiser =>
  evenly((shape) => Math.sqrt(6 / ((1 + a * a) * fansOf("kaimingUniform", shape).inputs)));
/**
 * He's as a bell curve.
 *
 * @param a the slope below 0, default 0
 * @returns what makes a parameter of a shape
 * @example
 * init.kaimingNormal()([2, 3], random.generator(1), "f32").shape; // → [2, 3]
 */
export const kaimingNormal = (a = 0): Initialiser =>
  bell((shape) => Math.sqrt(2 / ((1 + a * a) * fansOf("kaimingNormal", shape).inputs)));
/**
 * A bell curve of this width around a mean.
 *
 * @param std the width, default 1
 * @param mean the middle, default 0
 * @returns what makes a parameter of a shape
 * @example
 * init.normal(0.1)([2], random.generator(1), "f32").shape; // → [2]
 */
export const normal =
  (std = 1, mean = 0): Initialiser =>
  (shape, rng, dtype) =>
    rng.normal(shape, { mean, std, dtype });
/**
 * Evenly from [low, high).
 *
 * @param low the smallest
 * @param high the first that is too large
 * @returns what makes a parameter of a shape
 * @example
 * init.uniform(-1, 1)([2], random.generator(1), "f32").shape; // → [2]
 */
export const uniform =
  (low: number, high: number): Initialiser =>
  (shape, rng, dtype) =>
    rng.uniform(shape, { low, high, dtype });
/**
 * Every element is 0.
 *
 * @param shape sizes of the axes
 * @param rng not asked
 * @param dtype of the result
 * @returns a new tensor
 * @example
 * init.zeros([2], random.generator(1), "f32"); // → f32 [0, 0]
 */
export const zeros: Initialiser = (shape, _, dtype) => allZeros(shape, { dtype });
/**
 * Every element is 1.
 *
 * @param shape sizes of the axes
 * @param rng not asked
 * @param dtype of the result
 * @returns a new tensor
 * @example
 * init.ones([2], random.generator(1), "f32"); // → f32 [1, 1]
 */
export const ones: Initialiser = (shape, _, dtype) => allOnes(shape, { dtype });
/**
 * Every element is this number.
 *
 * @param value the number
 * @returns what makes a parameter of a shape
 * @example
 * init.constant(3)([2], random.generator(1), "f32"); // → f32 [3, 3]
 */
export const constant =
  (value: number): Initialiser =>
  (shape, _, dtype) =>
    full(shape, value, { dtype });
