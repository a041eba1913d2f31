/**
 * What the routines of linear algebra share: rows of f32 or f64 as vectors where SIMD is there and as single elements
 * where it is not, one code for both, and the few loops over rows that all of them are made of.
 */
import type { FuncBuilder, Local, ModuleBuilder } from "../../assembler/assembler.ts";
import type { LaneOp, LoadOp, PlainOp, StoreOp } from "../../assembler/opcodes.ts";
import { bump, repeat } from "../../product/lanes.ts";

export type LinalgDType = "f32" | "f64";

export interface LinalgOptions {
  /** Is the memory shared? Its import has to say so. */
  readonly shared: boolean;
  readonly simd: boolean;
}

/** Instructions on one register: a vector, or one element. */
export interface RegisterRow {
  readonly type: "v128" | LinalgDType;
  readonly load: LoadOp;
  readonly store: StoreOp;
  readonly add: PlainOp;
  readonly sub: PlainOp;
  readonly mul: PlainOp;
  readonly div: PlainOp;
}

export interface Lanes {
  readonly dtype: LinalgDType;
  /** Of one element. */
  readonly bytes: 4 | 8;
  /** Elements of one wide register, and its bytes. */
  readonly many: number;
  readonly wideBytes: number;
  readonly wide: RegisterRow;
  readonly one: RegisterRow;
  readonly splat: PlainOp | null;
  readonly extract: LaneOp | null;
  readonly abs: PlainOp;
  readonly sqrt: PlainOp;
  readonly gt: PlainOp;
  readonly ne: PlainOp;
}

function rowOf(type: RegisterRow["type"], prefix: string): RegisterRow {
  const op = (name: string) => `${prefix}.${name}` as PlainOp;
  return {
    type,
    load: `${type}.load` as LoadOp,
    store: `${type}.store` as StoreOp,
    add: op("add"),
    sub: op("sub"),
    mul: op("mul"),
    div: op("div"),
  };
}

export function lanesOf(dtype: LinalgDType, simd: boolean): Lanes {
  const bytes = dtype === "f32" ? 4 : 8;
  const vector = dtype === "f32" ? "f32x4" : "f64x2";
  const one = rowOf(dtype, dtype);
  const op = (name: string) => `${dtype}.${name}` as PlainOp;
  return {
    dtype,
    bytes,
    many: simd ? 16 / bytes : 1,
    wideBytes: simd ? 16 : bytes,
    wide: simd ? rowOf("v128", vector) : one,
    one,
    splat: simd ? (`${vector}.splat` as PlainOp) : null,
    extract: simd ? (`${vector}.extract_lane` as LaneOp) : null,
    abs: op("abs"),
    sqrt: op("sqrt"),
    gt: op("gt"),
    ne: op("ne"),
  };
}

/** A scalar on the stack becomes all lanes of a wide register. */
export function spread(f: FuncBuilder, lanes: Lanes): void {
  if (lanes.splat !== null) f.op(lanes.splat);
}

/** A wide local that holds `scalar` in all lanes. */
export function wideOf(f: FuncBuilder, lanes: Lanes, scalar: Local): Local {
  const wide = f.local(lanes.wide.type);
  f.get(scalar);
  spread(f, lanes);
  f.set(wide);
  return wide;
}

export function loadWide(f: FuncBuilder, lanes: Lanes, at: Local, offset: number): void {
  f.get(at).load(lanes.wide.load, offset, lanes.bytes);
}

/** Stores what is on the stack above the address. */
export function storeWide(f: FuncBuilder, lanes: Lanes, offset: number): void {
  f.store(lanes.wide.store, offset, lanes.bytes);
}

/** from × by, in bytes, into a new local. */
export function product(f: FuncBuilder, from: Local, by: Local | number): Local {
  const result = f.local("i32");
  f.get(from);
  if (typeof by === "number") f.i32(by);
  else f.get(by);
  f.op("i32.mul").set(result);
  return result;
}

/** What a loop over elements does with one wide register of each stream, or with one element. */
type Step = (row: RegisterRow, offset: number, unit: number) => void;

/**
 * n elements of streams that lie side by side: `step` for four wide registers a turn, then one, then element by
 * element. n and the pointers are used up. `unit` tells the registers of one turn apart.
 */
export function stream(f: FuncBuilder, lanes: Lanes, n: Local, pointers: readonly Local[], step: Step): void {
  const pass = (registers: number) => {
    const elements = registers * lanes.many;
    f.block((done) => {
      f.get(n).i32(elements).op("i32.lt_s").brIf(done);
      f.loop((next) => {
        for (let u = 0; u < registers; u++) step(lanes.wide, u * lanes.wideBytes, u);
        for (const p of pointers) bump(f, p, registers * lanes.wideBytes);
        f.get(n).i32(elements).op("i32.sub").tee(n).i32(elements).op("i32.ge_s").brIf(next);
      });
    });
  };
  pass(4);
  pass(1);
  if (lanes.many === 1) return;
  repeat(f, n, () => {
    step(lanes.one, 0, 0);
    for (const p of pointers) bump(f, p, lanes.bytes);
  });
}

/** Sums of a stream: four wide ones and one for single elements. */
export class Sums {
  readonly #f: FuncBuilder;
  readonly #lanes: Lanes;
  readonly #wide: readonly Local[];
  readonly #one: Local;

  constructor(f: FuncBuilder, lanes: Lanes) {
    this.#f = f;
    this.#lanes = lanes;
    this.#wide = [0, 1, 2, 3].map(() => f.local(lanes.wide.type));
    this.#one = lanes.many === 1 ? this.#wide[0] : f.local(lanes.dtype);
  }

  /** Adds what is on the stack. */
  add(row: RegisterRow, unit: number): void {
    const sum = row === this.#lanes.wide ? this.#wide[unit] : this.#one;
    this.#f.get(sum).op(row.add).set(sum);
  }

  /** The sum of all, on the stack. */
  total(): void {
    const f = this.#f;
    const { wide, one, many, extract } = this.#lanes;
    const [a, b, c, d] = this.#wide;
    f.get(a).get(b).op(wide.add).get(c).get(d).op(wide.add).op(wide.add).set(a).get(a);
    if (extract === null) return;
    f.drop();
    f.get(this.#one);
    for (let l = 0; l < many; l++) f.get(a).lane(extract, l).op(one.add);
  }
}

/** axpy(n, a, x, y): y += a·x. */
export function emitAxpy(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("axpy", { n: "i32", a: lanes.dtype, x: "i32", y: "i32" });
  const [n, a, x, y] = f.params;
  const wide = wideOf(f, lanes, a);
  stream(f, lanes, n, [x, y], (row, offset) => {
    f.get(y).get(y).load(row.load, offset, lanes.bytes);
    f.get(row === lanes.wide ? wide : a)
      .get(x)
      .load(row.load, offset, lanes.bytes)
      .op(row.mul)
      .op(row.add)
      .store(row.store, offset, lanes.bytes);
  });
  return f;
}

/** scale(n, a, x): x *= a. */
export function emitScale(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("scale", { n: "i32", a: lanes.dtype, x: "i32" });
  const [n, a, x] = f.params;
  const wide = wideOf(f, lanes, a);
  stream(f, lanes, n, [x], (row, offset) => {
    f.get(x).get(x).load(row.load, offset, lanes.bytes);
    f.get(row === lanes.wide ? wide : a)
      .op(row.mul)
      .store(row.store, offset, lanes.bytes);
  });
  return f;
}

/** dot(n, x, y) → Σ x·y. */
export function emitDot(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("dot", { n: "i32", x: "i32", y: "i32" }, [lanes.dtype]);
  const [n, x, y] = f.params;
  const sums = new Sums(f, lanes);
  stream(f, lanes, n, [x, y], (row, offset, unit) => {
    f.get(x).load(row.load, offset, lanes.bytes).get(y).load(row.load, offset, lanes.bytes).op(row.mul);
    sums.add(row, unit);
  });
  sums.total();
  return f;
}

/** swap(n, x, y): exchanges n elements. */
export function emitSwap(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("swap", { n: "i32", x: "i32", y: "i32" });
  const [n, x, y] = f.params;
  const held = { wide: f.local(lanes.wide.type), one: f.local(lanes.dtype) };
  stream(f, lanes, n, [x, y], (row, offset) => {
    const there = row === lanes.wide ? held.wide : held.one;
    f.get(x).load(row.load, offset, lanes.bytes).set(there);
    f.get(x).get(y).load(row.load, offset, lanes.bytes).store(row.store, offset, lanes.bytes);
    f.get(y).get(there).store(row.store, offset, lanes.bytes);
  });
  return f;
}

/** An element on the stack as f64, and back. */
export function widen(f: FuncBuilder, lanes: Lanes): FuncBuilder {
  return lanes.dtype === "f32" ? f.op("f64.promote_f32") : f;
}
export function narrow(f: FuncBuilder, lanes: Lanes): FuncBuilder {
  return lanes.dtype === "f32" ? f.op("f32.demote_f64") : f;
}

/**
 * reflect(n, x, step, out): the Householder reflection H = I - tau·v·vᵀ with v[0] = 1 that turns x into [beta, 0, …].
 * v replaces x (n > 0 elements, `step` bytes apart); tau and beta are written to out as two f64. Norms are summed in f64,
 * with x brought near 1 where its squares would leave the range.
 */
export function emitReflect(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("reflect", { n: "i32", x: "i32", step: "i32", out: "i32" });
  const [n, x, step, out] = f.params;
  const at = f.local("i32", "at");
  const rest = f.local("i32", "rest");
  const [big, factor, sum, alpha, beta, value] = ["big", "factor", "sum", "alpha", "beta", "value"].map(
    (name) => f.local("f64", name),
  );
  const element = () => widen(f.get(at).load(lanes.one.load), lanes);
  const eachOfRest = (body: () => void) => {
    f.get(x).get(step).op("i32.add").set(at);
    repeat(f, rest, () => {
      body();
      bump(f, at, step);
    });
  };
  f.get(n).i32(1).op("i32.sub").set(rest);
  f.get(x).set(at);
  element().set(alpha);
  eachOfRest(() => {
    f.get(big);
    element().op("f64.abs").op("f64.max").set(big);
  });
  f.get(big)
    .f64(0)
    .op("f64.eq")
    .if(
      () => {
        f.get(out).f64(0).store("f64.store");
        f.get(out).get(alpha).store("f64.store", 8);
      },
      () => {
        f.f64(1).set(factor);
        f.get(big).get(alpha).op("f64.abs").op("f64.max").set(value);
        f.get(value)
          .f64(2 ** -400)
          .op("f64.lt")
          .get(value)
          .f64(2 ** 400)
          .op("f64.gt")
          .op("i32.or");
        f.if(() =>
          f
            .f64(1)
            .get(value)
            .op("f64.div")
            .f64(2 ** 1000)
            .op("f64.min")
            .set(factor),
        );
        // From here on all are multiplied by the factor, up to what is written: below the range numbers have few digits.
        f.get(alpha).get(factor).op("f64.mul").tee(alpha).get(alpha).op("f64.mul").set(sum);
        eachOfRest(() => {
          element().get(factor).op("f64.mul").set(value);
          f.get(sum).get(value).get(value).op("f64.mul").op("f64.add").set(sum);
        });
        f.get(sum).op("f64.sqrt").get(alpha).op("f64.copysign").op("f64.neg").set(beta);
        f.get(out).get(beta).get(alpha).op("f64.sub").get(beta).op("f64.div").store("f64.store");
        f.get(out).get(beta).get(factor).op("f64.div").store("f64.store", 8);
        f.get(alpha).get(beta).op("f64.sub").set(value);
        eachOfRest(() => {
          f.get(at);
          element().get(factor).op("f64.mul").get(value).op("f64.div");
          narrow(f, lanes).store(lanes.one.store);
        });
      },
    );
  f.get(x).f64(1);
  narrow(f, lanes).store(lanes.one.store);
  return f;
}
