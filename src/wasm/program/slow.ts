/**
 * Scalar functions that `rare` nodes call: exact remainders, integer powers, and the angles of huge arguments. A module
 * gets a function when somebody asks for it, and only once. ir/slow.ts has the interpreter's twins.
 */
import type { Lane } from "../../dtype.ts";
import { unreachable } from "../../errors.ts";
import { Builder } from "../../ir/build.ts";
import type { Node } from "../../ir/node.ts";
import { Calc } from "../../optimize/math/kit.ts";
import { type Angle, ofRemainder } from "../../optimize/math/trig.ts";
import type { Callable, FuncBuilder, Label, Local, ModuleBuilder } from "../assembler/assembler.ts";
import { ScalarCode, type SlowFunctions } from "./scalar.ts";

/** Emits one function of the lane into the module; `other` finds those it calls. */
type Emit = (module: ModuleBuilder, name: string, lane: Lane, other: SlowFunctions) => Callable;

const table: Record<string, Emit> = {
  rem: (module, name, lane, other) =>
    lane === "f32" ? throughDouble(module, name, 2, other) : remainder(module, name),
  urem: (module, name) => wholeRemainder(module, name),
  ipow: (module, name, lane) => integerPower(module, name, lane, true),
  upow: (module, name, lane) => integerPower(module, name, lane, false),
  gcd: (module, name, lane) => commonDivisor(module, name, lane),
  toInt32: (module, name) => moduloInt32(module, name),
  sin: (module, name, lane, other) => angle(module, name, lane, "sin", other),
  cos: (module, name, lane, other) => angle(module, name, lane, "cos", other),
  tan: (module, name, lane, other) => angle(module, name, lane, "tan", other),
  // Parts of the above
  reduceAngle: (module, name, _, other) => reduceAngle(module, name, other),
  twoOverPi: (module, name) => twoOverPi(module, name),
  mulHigh: (module, name) => mulHigh(module, name),
};

const known = new WeakMap<ModuleBuilder, SlowFunctions>();

/** Where a module's `rare` nodes find the functions they call. */
export function slowFunctions(module: ModuleBuilder): SlowFunctions {
  const before = known.get(module);
  if (before !== undefined) return before;
  const emitted = new Map<string, Callable>();
  const find: SlowFunctions = (name, lane) => {
    const full = `${name}.${lane}`;
    let callable = emitted.get(full);
    if (callable === undefined) {
      const emit = Object.hasOwn(table, name) ? table[name] : unreachable(`no slow function ${full}`);
      callable = emit(module, full, lane as Lane, find);
      emitted.set(full, callable);
    }
    return callable;
  };
  known.set(module, find);
  return find;
}

/** The f32 function by the f64 one: with 29 bits to spare, the second rounding does no harm. */
function throughDouble(module: ModuleBuilder, name: string, arity: 1 | 2, other: SlowFunctions): Callable {
  const f = module.func(name, arity === 1 ? { x: "f32" } : { x: "f32", y: "f32" }, ["f32"]);
  for (const p of f.params) f.get(p).op("f64.promote_f32");
  return f.call(other(name.split(".")[0], "f64")).op("f32.demote_f64");
}

/** Any double modulo 2^32, as JavaScript's | 0 has it: y - floor(y / 2^32)·2^32, each step exact; what is no number is 0. */
function moduloInt32(module: ModuleBuilder, name: string): Callable {
  const f = module.func(name, { x: "f64" }, ["i32"]);
  const [x] = f.params;
  f.get(x).op("f64.trunc").set(x);
  f.get(x);
  f.get(x)
    .f64(2 ** -32)
    .op("f64.mul")
    .op("f64.floor")
    .f64(2 ** 32)
    .op("f64.mul");
  return f.op("f64.sub").op("i32.trunc_sat_f64_u");
}

/** x % y of 32-bit integers without a sign; by 0 it is 0. */
function wholeRemainder(module: ModuleBuilder, name: string): Callable {
  const f = module.func(name, { x: "i32", y: "i32" }, ["i32"]);
  const [x, y] = f.params;
  return f.get(x).get(y).get(y).op("i32.eqz").op("i32.or").op("i32.rem_u");
}

/* Remainder -------------------------------------------------------------------------------------------- */

const FRACTION = 52n;
const INFINITE = 0x7ffn << FRACTION;
const SIGN = -(1n << 63n);

/**
 * x % y on doubles, exact. With x = m·2^n·u and y = k·u, all integers, m·2^n mod k is found by moving n's bits into m,
 * as many at a time as leave m below 2^64.
 */
function remainder(module: ModuleBuilder, name: string): Callable {
  const f = module.func(name, { x: "f64", y: "f64" }, ["f64"]);
  const [x, y] = f.params;
  const m = f.local("i64", "m");
  const k = f.local("i64", "k");
  const n = f.local("i64", "n");
  const unit = f.local("i64", "unit");
  const step = f.local("i64", "step");
  const magnitude = (p: Local, into: Local) =>
    f.get(p).op("i64.reinterpret_f64").i64(~SIGN).op("i64.and").set(into);
  magnitude(x, m);
  magnitude(y, k);
  // x is NaN or infinite, y is NaN or 0: NaN
  f.get(m).i64(INFINITE).op("i64.ge_s").get(k).i64(INFINITE).op("i64.gt_s").op("i32.or");
  f.get(k).op("i64.eqz").op("i32.or");
  f.if(() => f.f64(Number.NaN).return());
  // |x| < |y|, y infinite included: x
  f.get(m)
    .get(k)
    .op("i64.lt_s")
    .if(() => f.get(x).return());
  split(f, m, n);
  split(f, k, unit);
  f.get(n).get(unit).op("i64.sub").set(n);
  // Zeros at the end of k go into the unit, so that k is small and steps are long.
  f.get(k).op("i64.ctz").tee(step).get(n).get(step).get(n).op("i64.lt_s").select().set(step);
  f.get(k).get(step).op("i64.shr_u").set(k);
  f.get(unit).get(step).op("i64.add").set(unit);
  f.get(n).get(step).op("i64.sub").set(n);
  f.get(m).get(k).op("i64.rem_u").set(m);
  f.block((done) => {
    f.loop((next) => {
      f.get(n).op("i64.eqz").get(m).op("i64.eqz").op("i32.or").brIf(done);
      f.get(k).op("i64.clz").tee(step).get(n).get(step).get(n).op("i64.lt_s").select().set(step);
      f.get(m).get(step).op("i64.shl").get(k).op("i64.rem_u").set(m);
      f.get(n).get(step).op("i64.sub").set(n);
      f.br(next);
    });
  });
  // m · 2^(unit - 1075), exact; the power itself may be subnormal
  f.get(m).op("f64.convert_i64_u");
  f.get(unit).i64(52).op("i64.sub").i64(FRACTION).op("i64.shl");
  f.i64(1).get(unit).i64(1).op("i64.sub").op("i64.shl");
  f.get(unit).i64(52).op("i64.gt_s").select().op("f64.reinterpret_i64").op("f64.mul");
  f.get(x).op("f64.copysign");
  return f;
}

/** Bits of a positive double → its integer mantissa, and its exponent with subnormals at 1. */
function split(f: FuncBuilder, bits: Local, exponent: Local): void {
  f.get(bits).i64(FRACTION).op("i64.shr_u").set(exponent);
  f.get(bits)
    .i64((1n << FRACTION) - 1n)
    .op("i64.and")
    .set(bits);
  f.get(exponent)
    .op("i64.eqz")
    .if(
      () => f.i64(1).set(exponent),
      () =>
        f
          .get(bits)
          .i64(1n << FRACTION)
          .op("i64.or")
          .set(bits),
    );
}

/* Integer power ---------------------------------------------------------------------------------------- */

/** Euclid's algorithm on unsigned integers: (x, y) becomes (y, x mod y) until y is 0. */
function commonDivisor(module: ModuleBuilder, name: string, lane: Lane): Callable {
  const int = lane === "i32" || lane === "i64" ? lane : unreachable(`${name} is for integers`);
  const f = module.func(name, { x: int, y: int }, [int]);
  const [x, y] = f.params;
  const before = f.local(int, "before");
  f.block((done) => {
    f.loop((next) => {
      f.get(y).op(`${int}.eqz`).brIf(done);
      f.get(y).set(before);
      f.get(x).get(y).op(`${int}.rem_u`).set(y);
      f.get(before).set(x);
      f.br(next);
    });
  });
  return f.get(x);
}

/** x^n, wrapping; a negative n gives what 1 / x^-n truncates to: ±1 for x = ±1, else 0. */
function integerPower(module: ModuleBuilder, name: string, lane: Lane, signed: boolean): Callable {
  const int = lane === "i32" || lane === "i64" ? lane : unreachable(`${name} is for integers`);
  const f = module.func(name, { x: int, n: int }, [int]);
  const [x, n] = f.params;
  const result = f.local(int, "result");
  const constant = (value: number) => (int === "i32" ? f.i32(value) : f.i64(value));
  const isNegative = () => constant(0).op(`${int}.lt_s`);
  if (signed) {
    f.get(n);
    isNegative().if(() => {
      // x + 1 is 0 or 2 for x = -1 and 1, and then x^n = x^(n & 1).
      f.get(x);
      constant(1).op(`${int}.add`);
      constant(~2).op(`${int}.and`).op(`${int}.eqz`).op("i32.eqz");
      f.if(() => constant(0).return());
      f.get(n);
      constant(1).op(`${int}.and`).set(n);
    });
  }
  constant(1).set(result);
  f.block((done) => {
    f.loop((next) => {
      f.get(n).op(`${int}.eqz`).brIf(done);
      f.get(n);
      constant(1).op(`${int}.and`).op(`${int}.eqz`).op("i32.eqz");
      f.if(() => f.get(result).get(x).op(`${int}.mul`).set(result));
      f.get(x).get(x).op(`${int}.mul`).set(x);
      f.get(n);
      constant(1).op(`${int}.shr_u`).set(n);
      f.br(next);
    });
  });
  return f.get(result);
}

/* Angles ----------------------------------------------------------------------------------------------- */

/** The 64-bit words of 2/π, after one of zeros: bit 63 + k of the table, counted from 0, weighs 2^-k. */
export const TWO_OVER_PI = [
  0n,
  0xa2f9836e4e441529n,
  0xfc2757d1f534ddc0n,
  0xdb6295993c439041n,
  0xfe5163abdebbc561n,
  0xb7246e3a424dd2e0n,
  0x06492eea09d1921cn,
  0xfe1deb1cb129a73en,
  0xe88235f52ebb4484n,
  0xe99c7026b45f7e41n,
  0x3991d639835339f4n,
  0x9c845f8bbdf9283bn,
  0x1ff897ffde05980fn,
  0xef2f118b5a0a6d1fn,
  0x6d367ecf27cb09b7n,
  0x4f463f669e5fea2dn,
  0x7527bac7ebe5f17bn,
  0x3d0739f78a5292ean,
  0x6bfb5fb11f8d5d08n,
  0x56033046fc7b6babn,
  0xf0cfbc209af4361dn,
];
const HALF_PI_FIXED = 0xc90fdaa22168c235n; // π/2 · 2^63

/** sin, cos or tan of |x| >= 1 by x = n·π/2 + r: r to 63 bits, then the formulas that lanes use. */
function angle(
  module: ModuleBuilder,
  name: string,
  lane: Lane,
  which: Angle,
  other: SlowFunctions,
): Callable {
  if (lane === "f32") return throughDouble(module, name, 1, other);
  const f = module.func(name, { x: "f64" }, ["f64"]);
  const [x] = f.params;
  const b = new Builder();
  const [high, low, n] = [b.input(0, "f64"), b.input(1, "f64"), b.input(2, "i64")];
  const result = ofRemainder(new Calc(b, "f64", { fma: false }), which, { high, low }, n);
  const program = b.finish(result, ["f64", "f64", "i64"]);
  f.get(x).op("f64.abs").f64(Number.POSITIVE_INFINITY).op("f64.lt").op("i32.eqz");
  f.if(() => f.f64(Number.NaN).return());
  const remainder = [f.local("f64", "high"), f.local("f64", "low"), f.local("i64", "n")];
  f.get(x).call(other("reduceAngle", "f64"));
  for (const part of remainder.toReversed()) f.set(part);
  const code = new ScalarCode({ f, program, fma: false, slow: other });
  program.nodes.forEach((_, id) => {
    code.emit(id, (node) => f.get(remainder[(node as Node & { op: "input" }).index]));
  });
  return f.get(code.value(result));
}

/**
 * x → r + low (r·(1 ± 2^-63) in all), n with x = n·π/2 + r + low modulo 2π, |r| <= π/4. By Payne and Hanek: x = m·2^e,
 * and of 2/π only the 192 bits count whose products with m are below 4 quarter turns and above 2^-126 of one.
 */
function reduceAngle(module: ModuleBuilder, name: string, other: SlowFunctions): Callable {
  const f = module.func(name, { x: "f64" }, ["f64", "f64", "i64"]);
  const [x] = f.params;
  const high64 = other("mulHigh", "i64");
  const local = (label: string) => f.local("i64", label);
  const [m, start, offset, sign] = ["m", "start", "offset", "sign"].map(local);
  const [hi, lo, n, shift] = ["hi", "lo", "n", "shift"].map(local);
  f.get(x).op("i64.reinterpret_f64").tee(m).i64(SIGN).op("i64.and").set(sign);
  f.get(m).i64(~SIGN).op("i64.and").set(m);
  split(f, m, start);
  f.get(start).i64(1013).op("i64.sub").tee(start).i64(63).op("i64.and").set(offset);

  // Bits start … start + 191 of the table as three words
  const words = [0, 1, 2, 3].map((j) => {
    const word = local(`w${j}`);
    f.get(start).i64(6).op("i64.shr_u").op("i32.wrap_i64").i32(j).op("i32.add");
    f.call(other("twoOverPi", "i64")).set(word);
    return word;
  });
  const joined = (above: Local, below: Local, by: Local) => {
    f.get(above).get(by).op("i64.shl");
    f.get(below).i64(1).op("i64.shr_u").i64(63).get(by).op("i64.sub").op("i64.shr_u").op("i64.or");
  };
  for (let j = 0; j < 3; j++) {
    joined(words[j], words[j + 1], offset);
    f.set(words[j]);
  }

  // hi, lo = the two upper words of m · those, modulo 2^192: quarter turns in units of 2^-126
  f.get(m).get(words[1]).op("i64.mul").tee(lo);
  f.get(m).get(words[2]).call(high64).op("i64.add").set(hi); // the sum, for a moment
  f.get(hi).get(lo).op("i64.lt_u").op("i64.extend_i32_u"); // its carry
  f.get(hi).set(lo);
  f.get(m).get(words[0]).op("i64.mul").op("i64.add");
  f.get(m).get(words[1]).call(high64).op("i64.add").set(hi);

  // n = the nearest whole, hi, lo = |the rest| in units of 2^-128
  f.get(hi).i64(62).op("i64.shr_u").get(hi).i64(61).op("i64.shr_u").i64(1).op("i64.and").op("i64.add");
  f.set(n);
  f.get(hi).i64(2).op("i64.shl").get(lo).i64(62).op("i64.shr_u").op("i64.or").set(hi);
  f.get(lo).i64(2).op("i64.shl").set(lo);
  const negated = (v: Local) => f.i64(0).get(v).op("i64.sub");
  f.get(sign)
    .i64(0)
    .op("i64.ne")
    .if(() => negated(n).set(n));
  f.get(hi)
    .i64(0)
    .op("i64.lt_s")
    .if(() => {
      negated(hi).get(lo).op("i64.eqz").op("i32.eqz").op("i64.extend_i32_u").op("i64.sub").set(hi);
      negated(lo).set(lo);
      f.get(sign).i64(SIGN).op("i64.xor").set(sign);
    });

  // hi = the 64 bits from the first one on
  f.get(hi)
    .op("i64.eqz")
    .if(() => f.get(lo).set(hi).i64(0).set(lo).i64(64).set(shift));
  f.get(hi).op("i64.clz").set(offset);
  joined(hi, lo, offset);
  f.set(hi);
  f.get(shift).get(offset).op("i64.add").set(shift);

  // · π/2, cut into 53 and 11 bits
  f.get(hi).i64(HALF_PI_FIXED).call(high64).set(hi);
  const scaled = (mask: bigint) => {
    f.get(hi).i64(mask).op("i64.and").op("f64.convert_i64_u");
    f.i64(1023 - 63)
      .get(shift)
      .op("i64.sub")
      .i64(FRACTION)
      .op("i64.shl")
      .get(sign)
      .op("i64.or");
    f.op("f64.reinterpret_i64").op("f64.mul");
  };
  scaled(~0x7ffn);
  scaled(0x7ffn);
  return f.get(n);
}

/** Word i of the table. */
function twoOverPi(module: ModuleBuilder, name: string): Callable {
  const f = module.func(name, { i: "i32" }, ["i64"]);
  const labels: Label[] = [];
  const enter = (k: number) => {
    f.block((label) => {
      labels[k] = label;
      if (k > 0) enter(k - 1);
      else f.get(f.params[0]).brTable(labels.slice(0, -1), labels[labels.length - 1]);
    });
    f.i64(TWO_OVER_PI[k]).return();
  };
  enter(TWO_OVER_PI.length - 1);
  return f;
}

/** The upper 64 bits of a · b, both unsigned, by halves of 32 bits. */
function mulHigh(module: ModuleBuilder, name: string): Callable {
  const f = module.func(name, { a: "i64", b: "i64" }, ["i64"]);
  const [a, b] = f.params;
  const [u, v] = [f.local("i64", "u"), f.local("i64", "v")];
  const low = (x: Local) => f.get(x).i64(0xffffffff).op("i64.and");
  const high = (x: Local) => f.get(x).i64(32).op("i64.shr_u");
  low(a);
  low(b).op("i64.mul").i64(32).op("i64.shr_u");
  high(a);
  low(b).op("i64.mul").op("i64.add").set(u);
  low(a);
  high(b).op("i64.mul");
  low(u).op("i64.add").set(v);
  high(a);
  high(b).op("i64.mul");
  high(u).op("i64.add");
  return high(v).op("i64.add");
}
