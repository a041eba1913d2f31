/**
 * Scalar functions that `rare` nodes call: exact remainders, integer powers, and the angles of huge arguments. A module
 * gets a function when somebody asks for it, and only once. ir/slow.ts has the interpreter's twins.
 */
import type { Lane } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import type { Callable, FuncBuilder, Local, ModuleBuilder } from "./assembler.ts";
import type { SlowFunctions } from "./scalar.ts";

/** Emits one function of the lane into the module; `other` finds those it calls. */
type Emit = (module: ModuleBuilder, name: string, lane: Lane, other: SlowFunctions) => Callable;

const table: Record<string, Emit> = {
  rem: (module, name, lane, other) =>
    lane === "f32" ? throughDouble(module, name, 2, other) : remainder(module, name),
  ipow: (module, name, lane) => integerPower(module, name, lane, true),
  upow: (module, name, lane) => integerPower(module, name, lane, false),
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
