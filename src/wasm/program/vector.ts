/**
 * 4·unroll elements in SIMD code. A value is a list of v128 locals: one per 4 elements for 32-bit lanes, one per 2
 * for 64-bit lanes, or a single one that serves all when the value does not depend on the element. Booleans are masks,
 * as wide as the lanes that were compared; the other width is made when somebody needs it.
 */
import { type DType, dtypes } from "../../dtype.ts";
import { unreachable } from "../../errors.ts";
import type { ConstNode, Id, Node, RareNode } from "../../ir/node.ts";
import { ops } from "../../ir/ops.ts";
import { type FuncBuilder, f32x4, f64x2, i32x4, i64x2, type Local } from "../assembler/assembler.ts";
import type { LaneOp, PlainOp } from "../assembler/opcodes.ts";
import type { Lifetimes } from "./lifetimes.ts";
import { rowOf, shapeOf, shiftBy } from "./lower.ts";
import { givesClean, isNarrow, wantsClean } from "./narrow.ts";
import { type CodeContext, lanesOf, workingDType } from "./scalar.ts";

interface VectorValue {
  /** Lanes of a number; null for booleans. */
  regs: Local[] | null;
  /** Masks over 32-bit and over 64-bit lanes. */
  narrow: Local[] | null;
  wide: Local[] | null;
  clean: boolean;
  /** What was wrapped into `regs`. It stays as long: a loop inside may wrap it again in its next round. */
  raw?: readonly Local[];
}

const is64 = (d: DType) => dtypes[d].lane === "i64" || dtypes[d].lane === "f64";
export const registersOf = (d: DType, unroll: number) => (is64(d) ? 2 * unroll : unroll);

/** Bytes 0–3 and 8–11 of both operands: two 64-bit lanes each → four 32-bit lanes. */
const evenWords = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
const lowHalves = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
const highHalf = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];

export class VectorCode {
  readonly #c: CodeContext;
  readonly #values: VectorValue[] = [];
  readonly #lifetimes: Lifetimes | null;
  /** Registers that are given back when no value is in them, and how many values are. */
  readonly #holds = new Map<Local, number>();
  /** Those of them that the node at hand has made. */
  #fresh: Local[] = [];

  /** Without lifetimes every value stays in registers of its own. */
  constructor(context: CodeContext, lifetimes: Lifetimes | null = null) {
    this.#c = context;
    this.#lifetimes = lifetimes;
  }

  /** One register for all lanes, from a scalar local (booleans: 0 or 1) or a constant. */
  splat(id: Id, scalar: Local | null): void {
    const { f, program } = this.#c;
    const node = program.nodes[id];
    const local = f.local("v128");
    if (node.op === "const") pushConst(f, node);
    else if (node.dtype === "bool") f.i32(0).get(scalar!).op("i32.sub").op("i32x4.splat");
    else f.get(scalar!).op(`${shapeOf(dtypes[node.dtype].lane)}.splat` as PlainOp);
    f.set(local);
    // A mask of equal 32-bit lanes is also a mask of equal 64-bit lanes.
    this.#values[id] =
      node.dtype === "bool"
        ? { regs: null, narrow: [local], wide: [local], clean: true }
        : { regs: [local], narrow: null, wide: null, clean: true };
  }

  /** The same registers as another unrolling of the same function uses. */
  share(id: Id, from: VectorCode): void {
    this.#values[id] = from.#values[id];
  }

  /** Lanes of an operand, just loaded: numbers, or for bool a mask of 32-bit lanes. `owned`: temps nobody else uses. */
  define(id: Id, regs: Local[], owned = false): void {
    const isBool = this.#c.program.nodes[id].dtype === "bool";
    if (owned && this.#lifetimes !== null) for (const r of regs) this.#holds.set(r, 0);
    this.#place(id, { regs: isBool ? null : regs, narrow: isBool ? regs : null, wide: null, clean: true });
  }

  /** Registers of a number, wrapped into the dtype if asked. */
  regs(id: Id, clean = false): readonly Local[] {
    const value = this.#values[id];
    const { f, program } = this.#c;
    if (clean && !value.clean) {
      // Into registers of its own: a value of another dtype may be in these too.
      value.raw = value.regs!;
      value.regs = this.#hold(
        value.raw.map((r) => this.#into(() => wrapVector(f.get(r), program.nodes[id].dtype))),
      );
      value.clean = true;
    }
    return value.regs ?? unreachable("a mask is used as a number");
  }

  mask(id: Id, wide: boolean): readonly Local[] {
    const value = this.#values[id];
    const { f } = this.#c;
    if (wide) {
      value.wide ??= this.#hold(
        value.narrow!.flatMap((m) => [
          this.#into(() => f.get(m).op("i64x2.extend_low_i32x4_s")),
          this.#into(() => f.get(m).op("i64x2.extend_high_i32x4_s")),
        ]),
      );
      return value.wide;
    }
    value.narrow ??= this.#hold(
      pairs(value.wide!).map(([a, b]) => this.#into(() => f.get(a).get(b).shuffle(evenWords))),
    );
    return value.narrow;
  }

  emit(id: Id): void {
    const { program } = this.#c;
    const node = program.nodes[id];
    const argsClean = node.args.map((a, i) => {
      const v = this.#values[a];
      if (v.regs !== null && wantsClean(program, node, i)) this.regs(a, true);
      return v.clean;
    });
    const value = this.#compute(node);
    value.clean = givesClean(program, node, argsClean);
    this.#place(id, value);
    for (const dead of this.#lifetimes?.[id] ?? []) this.#end(dead);
    for (const r of this.#fresh) if (this.#holds.get(r) === 0) this.#free(r);
    this.#fresh = [];
  }

  /* Registers -------------------------------------------------------------------------------------------- */

  #place(id: Id, value: VectorValue): void {
    this.#values[id] = value;
    for (const regs of [value.regs, value.narrow, value.wide]) if (regs !== null) this.#hold(regs);
  }

  #end(id: Id): void {
    const value = this.#values[id];
    // An operand that was loaded as another dtype has no value of its own.
    if (value === undefined) return;
    for (const regs of [value.regs, value.narrow, value.wide, value.raw]) if (regs) this.#drop(regs);
  }

  #hold(regs: Local[]): Local[] {
    for (const r of regs) {
      const count = this.#holds.get(r);
      if (count !== undefined) this.#holds.set(r, count + 1);
    }
    return regs;
  }

  #drop(regs: readonly Local[]): void {
    for (const r of regs) {
      const count = this.#holds.get(r);
      if (count === undefined) continue;
      if (count === 1) this.#free(r);
      else this.#holds.set(r, count - 1);
    }
  }

  #free(r: Local): void {
    this.#holds.delete(r);
    this.#c.f.release(r);
  }

  #compute(node: Node): VectorValue {
    const { f, program } = this.#c;
    switch (node.op) {
      case "cast":
        return this.#cast(node);
      case "bitcast":
        return number([...this.regs(node.args[0])]);
      case "rare":
        return this.#rare(node);
      case "const": {
        const local = this.#into(() => pushConst(f, node));
        return node.dtype === "bool" ? mask([local], [local]) : number([local]);
      }
      case "input":
      case "param":
      case "tuple":
      case "loop":
      case "item":
      case "read":
        return unreachable(`${node.op} is not computed`);
      default: {
        const { rule } = ops[node.op];
        const working = workingDType(program, node);
        if (rule === "select") return this.#select(node);
        if (working === "bool") return this.#logic(node);
        if (rule === "compare") {
          const regs = this.#each(
            node,
            working,
            node.args.map((a) => this.regs(a)),
          );
          return is64(working) ? mask(null, regs) : mask(regs, null);
        }
        return number(
          this.#each(
            node,
            working,
            node.args.map((a) => this.regs(a)),
          ),
        );
      }
    }
  }

  /** The operation on register 0 of each argument, on register 1, … */
  #each(node: Node, working: DType, args: readonly (readonly Local[])[]): Local[] {
    const { f, fma, program } = this.#c;
    const lanes = lanesOf(working, fma);
    const op = node.op as keyof typeof ops;
    if (op === "shl" || op === "shr" || op === "shru") {
      const count = program.nodes[node.args[1]];
      if (count.op === "const") {
        const bits = Number(count.value) & (is64(working) ? 63 : 31);
        return args[0].map((a) => this.#into(() => shiftBy(f, lanes, op, a, bits)));
      }
    }
    const n = args.reduce((most, regs) => Math.max(most, regs.length), 1);
    const row = rowOf(op);
    return Array.from({ length: n }, (_, r) => {
      const own = args.map((regs) => regs[r % regs.length]);
      return this.#into(() => {
        if (row.vector !== null) row.vector(f, lanes, ...own);
        else this.#perLane(working, own, (scalars) => row.scalar(f, lanes, ...scalars));
      });
    });
  }

  /** Where there is no vector instruction: take the lanes out, compute each, put them back. */
  #perLane(working: DType, args: readonly Local[], compute: (scalars: Local[]) => void): void {
    const { f } = this.#c;
    const { lane } = dtypes[working];
    const shape = shapeOf(lane);
    const scalars = args.map(() => f.temp(lane));
    for (let l = 0; l < (is64(working) ? 2 : 4); l++) {
      for (const [i, a] of args.entries()) {
        f.get(a)
          .lane(`${shape}.extract_lane` as LaneOp, l)
          .set(scalars[i]);
      }
      compute(scalars);
      if (l === 0) f.op(`${shape}.splat` as PlainOp);
      else f.lane(`${shape}.replace_lane` as LaneOp, l);
    }
    for (const s of scalars) f.release(s);
  }

  #select(node: Node): VectorValue {
    const { f } = this.#c;
    const [c, a, b] = node.args;
    if (node.dtype === "bool") {
      const [m, x, y] = [this.mask(c, false), this.mask(a, false), this.mask(b, false)];
      return mask(
        this.#zip([m, x, y], (k, p, q) => f.get(p).get(q).get(k).op("v128.bitselect")),
        null,
      );
    }
    const m = this.mask(c, is64(node.dtype));
    const [x, y] = [this.regs(a), this.regs(b)];
    return number(this.#zip([m, x, y], (k, p, q) => f.get(p).get(q).get(k).op("v128.bitselect")));
  }

  /** Operations on booleans, on the masks. */
  #logic(node: Node): VectorValue {
    const { f } = this.#c;
    const wide = node.args.every((a) => this.#values[a].narrow === null);
    const args = node.args.map((a) => this.mask(a, wide));
    const result = this.#zip(args, (a, b) => {
      switch (node.op) {
        case "not":
        case "bitNot":
          return f.get(a).op("v128.not");
        case "and":
        case "bitAnd":
        case "min":
        case "mul":
          return f.get(a).get(b).op("v128.and");
        case "or":
        case "bitOr":
        case "max":
          return f.get(a).get(b).op("v128.or");
        case "bitXor":
        case "ne":
          return f.get(a).get(b).op("v128.xor");
        case "eq":
          return f.get(a).get(b).op("v128.xor").op("v128.not");
        case "lt":
          return f.get(b).get(a).op("v128.andnot");
        case "gt":
          return f.get(a).get(b).op("v128.andnot");
        case "le":
          return f.get(a).op("v128.not").get(b).op("v128.or");
        case "ge":
          return f.get(a).get(b).op("v128.not").op("v128.or");
        default:
          return unreachable(`${node.op} of bool`);
      }
    });
    return wide ? mask(null, result) : mask(result, null);
  }

  #cast(node: Node): VectorValue {
    const { program, f } = this.#c;
    const [x] = node.args;
    const from = program.nodes[x].dtype;
    const to = node.dtype;
    if (from === "bool") {
      if (to === "bool") return { ...this.#values[x] };
      const ones = this.#zip([this.mask(x, false)], (m) => f.get(m).i32(31).op("i32x4.shr_u"));
      return number(this.#convert(ones, "u32", to));
    }
    if (to === "bool") {
      const { lane } = dtypes[from];
      const zero = this.#into(() => f.v128(constBytes(from, (lane === "i64" ? 0n : 0) as never)));
      const regs = this.#zip([this.regs(x)], (a) =>
        f
          .get(a)
          .get(zero)
          .op(`${shapeOf(lane)}.ne` as PlainOp),
      );
      return is64(from) ? mask(null, regs) : mask(regs, null);
    }
    return number(this.#convert(this.regs(x), from, to));
  }

  /** Lanes of one dtype → lanes of another. They depend on the element: what does not is converted in scalar code. */
  #convert(regs: readonly Local[], from: DType, to: DType): Local[] {
    const { f } = this.#c;
    const a = lanesOf(from, false);
    const b = lanesOf(to, false);
    if (a.lane === b.lane) return [...regs];
    const one = (name: string) => this.#zip([regs], (r) => f.get(r).op(name as PlainOp));
    const sign = (unsigned: boolean) => (unsigned ? "u" : "s");
    const widen = (name: string, highName?: string) =>
      regs.flatMap((r) => [
        this.#into(() => f.get(r).op(name as PlainOp)),
        this.#into(() =>
          highName === undefined
            ? f
                .get(r)
                .get(r)
                .shuffle(highHalf)
                .op(name as PlainOp)
            : f.get(r).op(highName as PlainOp),
        ),
      ]);
    const narrow = (name: string) =>
      pairs(regs).map(([p, q]) =>
        this.#into(() =>
          f
            .get(p)
            .op(name as PlainOp)
            .get(q)
            .op(name as PlainOp)
            .shuffle(lowHalves),
        ),
      );
    switch (`${a.lane}>${b.lane}`) {
      case "f32>i32":
        return one(`i32x4.trunc_sat_f32x4_${sign(b.unsigned)}`);
      case "i32>f32":
        return one(`f32x4.convert_i32x4_${sign(a.unsigned)}`);
      case "f32>f64":
        return widen("f64x2.promote_low_f32x4");
      case "f64>f32":
        return narrow("f32x4.demote_f64x2_zero");
      case "i32>f64":
        return widen(`f64x2.convert_low_i32x4_${sign(a.unsigned)}`);
      case "f64>i32":
        return narrow(`i32x4.trunc_sat_f64x2_${sign(b.unsigned)}_zero`);
      case "i32>i64":
        return widen(
          `i64x2.extend_low_i32x4_${sign(a.unsigned)}`,
          `i64x2.extend_high_i32x4_${sign(a.unsigned)}`,
        );
      case "i64>i32":
        return pairs(regs).map(([p, q]) => this.#into(() => f.get(p).get(q).shuffle(evenWords)));
      case "i64>f64":
      case "f64>i64":
        return this.#zip([regs], (r) => this.#castLanes(r, a.lane, b.lane, a.unsigned, b.unsigned));
      case "i64>f32":
        return pairs(regs).map(([p, q]) =>
          this.#into(() => {
            for (let l = 0; l < 4; l++) {
              f.get(l < 2 ? p : q).lane("i64x2.extract_lane", l % 2);
              f.op(`f32.convert_i64_${sign(a.unsigned)}`);
              if (l === 0) f.op("f32x4.splat");
              else f.lane("f32x4.replace_lane", l);
            }
          }),
        );
      case "f32>i64":
        return regs.flatMap((r) =>
          [0, 2].map((first) =>
            this.#into(() => {
              f.get(r)
                .lane("f32x4.extract_lane", first)
                .op(`i64.trunc_sat_f32_${sign(b.unsigned)}`)
                .op("i64x2.splat");
              f.get(r)
                .lane("f32x4.extract_lane", first + 1)
                .op(`i64.trunc_sat_f32_${sign(b.unsigned)}`);
              f.lane("i64x2.replace_lane", 1);
            }),
          ),
        );
      default:
        return unreachable(`no cast from ${from} to ${to}`);
    }
  }

  #castLanes(r: Local, from: string, to: string, fromUnsigned: boolean, toUnsigned: boolean): void {
    const { f } = this.#c;
    const word =
      to === "f64"
        ? `f64.convert_i64_${fromUnsigned ? "u" : "s"}`
        : `i64.trunc_sat_f64_${toUnsigned ? "u" : "s"}`;
    const shape = (lane: string) => (lane === "f64" ? "f64x2" : "i64x2");
    f.get(r)
      .lane(`${shape(from)}.extract_lane` as LaneOp, 0)
      .op(word as PlainOp)
      .op(`${shape(to)}.splat` as PlainOp);
    f.get(r)
      .lane(`${shape(from)}.extract_lane` as LaneOp, 1)
      .op(word as PlainOp);
    f.lane(`${shape(to)}.replace_lane` as LaneOp, 1);
  }

  /** Fast lanes, then, if any lane is rare, those lanes again one by one. */
  #rare(node: RareNode): VectorValue {
    const { f, slow, program } = this.#c;
    const [fast, isRare, ...slowArgs] = node.args;
    const wide = is64(node.dtype);
    const masks = this.mask(isRare, wide);
    const { lane } = dtypes[node.dtype];
    const shape = shapeOf(lane);
    const callee = slow(node.slow, lane);
    const args = slowArgs.map((a) => ({ regs: this.regs(a), lane: dtypes[program.nodes[a].dtype].lane }));
    const fastRegs = this.regs(fast);
    const n = Math.max(fastRegs.length, masks.length, ...args.map((a) => a.regs.length));
    const out = Array.from({ length: n }, (_, r) => this.#into(() => f.get(fastRegs[r % fastRegs.length])));
    out.forEach((reg, r) => {
      const m = masks[r % masks.length];
      f.get(m)
        .op("v128.any_true")
        .if(() => {
          for (let l = 0; l < (wide ? 2 : 4); l++) {
            f.get(m)
              .lane("i32x4.extract_lane", wide ? 2 * l : l)
              .if(() => {
                f.get(reg);
                for (const a of args) {
                  f.get(a.regs[r % a.regs.length]).lane(`${shapeOf(a.lane)}.extract_lane` as LaneOp, l);
                }
                f.call(callee)
                  .lane(`${shape}.replace_lane` as LaneOp, l)
                  .set(reg);
              });
          }
        });
    });
    return number(out);
  }

  #zip(args: readonly (readonly Local[])[], emit: (...regs: Local[]) => void): Local[] {
    const n = args.reduce((most, regs) => Math.max(most, regs.length), 1);
    return Array.from({ length: n }, (_, r) =>
      this.#into(() => emit(...args.map((regs) => regs[r % regs.length]))),
    );
  }

  #into(emit: () => void): Local {
    const { f } = this.#c;
    emit();
    if (this.#lifetimes === null) {
      const local = f.local("v128");
      f.set(local);
      return local;
    }
    const local = f.temp("v128");
    this.#holds.set(local, 0);
    this.#fresh.push(local);
    f.set(local);
    return local;
  }
}

const number = (regs: Local[]): VectorValue => ({ regs, narrow: null, wide: null, clean: true });
const mask = (narrow: Local[] | null, wide: Local[] | null): VectorValue => ({
  regs: null,
  narrow,
  wide,
  clean: true,
});

function pairs(regs: readonly Local[]): [Local, Local][] {
  const out: [Local, Local][] = [];
  for (let i = 0; i < regs.length; i += 2) out.push([regs[i], regs[i + 1]]);
  return out;
}

const pushConst = (f: FuncBuilder, node: ConstNode) => f.v128(constBytes(node.dtype, node.value as never));

function constBytes(dtype: DType, value: never): Uint8Array {
  switch (dtypes[dtype].lane) {
    case "f32":
      return f32x4(value);
    case "f64":
      return f64x2(value);
    case "i64":
      return i64x2(BigInt.asIntN(64, BigInt(value)));
    default:
      return i32x4(dtype === "bool" ? -Number(value) : Number(value) | 0);
  }
}

export function wrapVector(f: FuncBuilder, dtype: DType): FuncBuilder {
  if (!isNarrow(dtype)) return f;
  const bits = 32 - dtypes[dtype].bytes * 8;
  return f
    .i32(bits)
    .op("i32x4.shl")
    .i32(bits)
    .op(dtypes[dtype].kind === "uint" ? "i32x4.shr_u" : "i32x4.shr_s");
}
