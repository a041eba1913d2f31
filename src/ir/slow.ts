/** Scalar functions that `rare` nodes call, as the interpreter computes them. wasm/program/slow.ts has the compiled twins. */
import type { Value } from "../dtype.ts";
import { ops } from "./ops.ts";

type Slow = (a: Value, b: Value) => Value;
const floats = (f: (a: number, b: number) => number): Slow => f as Slow;

/** 64-bit integers come as bigints. The signed and the unsigned power differ only in what the compiler must know. */
const power: Slow = (a, b) =>
  typeof a === "bigint"
    ? (ops.pow.big!(a, b as bigint, 0n) as bigint)
    : (ops.pow.int!(a, b as number, 0) as number);

/** Magnitudes; that of the least integer has its own sign bit. */
const divisor: Slow = (a, b) =>
  typeof a === "bigint"
    ? (ops.gcd.big!(BigInt.asUintN(64, a), BigInt.asUintN(64, b as bigint), 0n) as bigint)
    : (ops.gcd.eval(a >>> 0, (b as number) >>> 0, 0) as number);

export const slowFunctions: Record<string, Slow> = {
  sin: floats(Math.sin),
  cos: floats(Math.cos),
  tan: floats(Math.tan),
  pow: floats((a, b) => a ** b),
  rem: floats((a, b) => a % b),
  ipow: power,
  upow: power,
  gcd: divisor,
  toInt32: floats((a) => a | 0),
};
