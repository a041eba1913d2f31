/**
 * Every function of floats, compiled, against the interpreter, which asks JavaScript's Math: within a few ulps on
 * thousands of points and at special values, NaN and the signs of zeros exactly. In SIMD and in scalar code, on f32,
 * f64 and f16, contiguous, strided and reversed, with tails of every length.
 */
import { afterAll, describe, expect, test } from "vitest";
import { type DType, dtypes, f16ToBits } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { Builder } from "../../src/ir/build.ts";
import { evaluator } from "../../src/ir/eval.ts";
import type { Program } from "../../src/ir/node.ts";
import { type OpName, ops } from "../../src/ir/ops.ts";
import { absolute } from "../../src/routines/walk.ts";
import type { Strided } from "../../src/run/call.ts";
import { interpretElementwise } from "../../src/run/interpret.ts";
import { planLoops } from "../../src/view/loops.ts";
import { walkThrough } from "../walk.ts";
import { type Axis, lay } from "./random.ts";

type Float = "f32" | "f64" | "f16";
const functions = (
  "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh " +
  "hypot sigmoid pow rem floorMod floorDivide"
).split(" ") as OpName[];
/** These have one right result. */
const exact: readonly OpName[] = ["sqrt", "rem", "floorMod", "floorDivide"];

/**
 * Our own 2 ulp, and on f64 what JavaScript's Math is off by itself. f16 is computed in f32 and rounded once, so only a
 * result close to the middle of two may go the other way.
 */
const bounds: Record<Float, number> = { f32: 2, f64: 3, f16: 1 };

const specials = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  2,
  -2,
  3,
  10,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  5e-324,
  -1e-45,
  6e-8,
  1e-310,
  1e38,
  -1e300,
  65504,
];

/** A generator of its own, so that every run sees the same points. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function points(d: Float, count: number, seed: number): number[] {
  const next = random(seed);
  const { wrap, max } = dtypes[d];
  const widest = Math.log2(max as number);
  const draws = [
    () => 2 * next() - 1,
    () => 20 * next() - 10,
    () => 1e4 * (next() - 0.5),
    () => Math.round(1000 * (next() - 0.5)) * (Math.PI / 2),
    () => (next() < 0.5 ? -1 : 1) * 2 ** ((2 * next() - 1) * widest),
    () => Math.round(40 * (next() - 0.5)),
    () => 1 + (next() - 0.5) * 2 ** (-20 * next()),
  ];
  return Array.from({ length: count }, (_, i) => wrap(draws[i % draws.length]()) as number);
}

function programOf(op: OpName, d: Float): Program {
  const b = new Builder();
  const inputs: DType[] = ops[op].arity === 1 ? [d] : [d, d];
  return b.finish(b.op(op, ...inputs.map((_, i) => b.input(i, d))), inputs);
}

const bits = new DataView(new ArrayBuffer(8));
/** Floats in order, as integers that differ by 1 from one to the next; both zeros are 0. */
function ordinal(d: Float, x: number): bigint {
  bits.setBigUint64(0, 0n);
  if (d === "f16") bits.setUint16(0, f16ToBits(x));
  else if (d === "f32") bits.setFloat32(0, x);
  else bits.setFloat64(0, x);
  const width = { f16: 16n, f32: 32n, f64: 64n }[d];
  const raw = bits.getBigUint64(0) >> (64n - width);
  const sign = 1n << (width - 1n);
  return raw & sign ? -(raw ^ sign) : raw;
}

/** Units in the last place between two results; infinite for another sign of zero, or NaN for a number. */
function distance(d: Float, got: number, want: number): number {
  if (Object.is(got, want)) return 0;
  if (Number.isNaN(got) || Number.isNaN(want) || (got === 0 && want === 0)) return Infinity;
  const difference = ordinal(d, got) - ordinal(d, want);
  return Number(difference < 0n ? -difference : difference);
}

interface Case {
  readonly op: OpName;
  readonly d: Float;
  readonly columns: number;
  /** Of the output, then of the inputs. */
  readonly axes: readonly Axis[];
  readonly values: readonly (readonly number[])[];
}

/** The largest distance between what is compiled and what is interpreted; fails beyond the bound. */
function compare({ op, d, columns, axes, values }: Case, program = programOf(op, d)): number {
  const shape = [1, columns] as const;
  const inputs = program.inputs.map((_, i) => lay(d, shape, axes[i + 1], values[i]));
  const [want, got] = [0, 1].map(() => lay(d, shape, axes[0], [77]));
  const nest = (out: Strided) =>
    absolute(planLoops([out.frame, ...inputs.map((t) => t.frame)]), [out, ...inputs]);
  try {
    const e = engine();
    interpretElementwise(e.heap, nest(want), [d, ...program.inputs], evaluator(program), d);
    walkThrough(program, nest(got), []);
    const at = (t: Strided, i: number) =>
      dtypes[d].read(e.heap.view, t.storage.address + t.frame.offset + i * t.frame.strides[1]) as number;
    let worst = 0;
    for (let i = 0; i < columns; i++) {
      const off = distance(d, at(got, i), at(want, i));
      worst = Math.max(worst, off);
      if (off > (exact.includes(op) ? 0 : bounds[d])) {
        const args = inputs.map((t) => show(at(t, i))).join(", ");
        expect.fail(`${op}(${args}) of ${d}: compiled ${show(at(got, i))}, interpreted ${show(at(want, i))}`);
      }
    }
    return worst;
  } finally {
    for (const t of [...inputs, want, got]) t.storage.release();
  }
}
const show = (x: number) => (Object.is(x, -0) ? "-0" : String(x));

/** Special values alone, or every pair of them. */
function specialArguments(arity: number, d: Float): number[][] {
  const own = specials.map((x) => dtypes[d].wrap(x) as number);
  if (arity === 1) return [own];
  return [own.flatMap((x) => own.map(() => x)), own.flatMap(() => own)];
}

const worst = new Map<string, number>();
afterAll(() => {
  const lines = functions.map((op) => {
    const of = (d: Float) => `${d} ${worst.get(op + d) ?? "-"}`;
    return `${op.padEnd(12)} ${of("f32")}  ${of("f64")}  ${of("f16")}`;
  });
  console.log(`largest distance from JavaScript's Math, in ulps\n${lines.join("\n")}`);
});

for (const simd of [true, false]) {
  describe(simd ? "in SIMD" : "in scalar code", () => {
    const inMode = (body: () => void) => {
      const { kernels } = engine();
      const before = kernels.simd;
      kernels.simd = simd;
      try {
        body();
      } finally {
        kernels.simd = before;
      }
    };
    for (const op of functions) {
      const arity = ops[op].arity;
      const contiguous: Axis[] = ["contiguous", "contiguous", "contiguous"];
      test(`${op} is within its bound, at special values too`, () =>
        inMode(() => {
          for (const d of ["f32", "f64", "f16"] as const) {
            const program = programOf(op, d);
            const special = specialArguments(arity, d);
            compare({ op, d, columns: special[0].length, axes: contiguous, values: special }, program);
            const values = [points(d, 3000, 7), points(d, 2999, 11)];
            const off = compare({ op, d, columns: 2999, axes: contiguous, values }, program);
            worst.set(op + d, Math.max(off, worst.get(op + d) ?? 0));
          }
        }));

      test(`${op} with tails of every length, strided and reversed`, () =>
        inMode(() => {
          for (const d of ["f32", "f64", "f16"] as const) {
            const program = programOf(op, d);
            for (let columns = 1; columns <= 9; columns++) {
              const values = [points(d, 9, columns), points(d, 9, 100 + columns)];
              compare({ op, d, columns, axes: contiguous, values }, program);
            }
            const values = [points(d, 300, 23), points(d, 301, 29)];
            for (const axes of [
              ["reversed", "contiguous", "strided"],
              ["contiguous", "reversed", "contiguous"],
              ["wide", "strided", "reversed"],
              ["contiguous", "contiguous", "broadcast"],
            ] as const) {
              compare({ op, d, columns: 75, axes, values }, program);
            }
          }
        }));
    }
  });
}
