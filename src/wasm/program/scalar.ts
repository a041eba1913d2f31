/** One element in scalar code: each node of a program into a local of its lane's type. */
import { type DType, dtypes, type Value } from "../../dtype.ts";
import { unreachable } from "../../errors.ts";
import type { Id, Node, Program } from "../../ir/node.ts";
import type { Callable, FuncBuilder, Local } from "../assembler/assembler.ts";
import type { LoadOp, PlainOp, StoreOp } from "../assembler/opcodes.ts";
import type { Lifetimes } from "./lifetimes.ts";
import { type Lanes, rowOf } from "./lower.ts";
import { givesClean, wantsClean } from "./narrow.ts";

/** Functions that `rare` nodes call, by name and lane. */
export type SlowFunctions = (name: string, lane: string) => Callable;

export interface CodeContext {
  readonly f: FuncBuilder;
  readonly program: Program;
  readonly fma: boolean;
  readonly slow: SlowFunctions;
}

export function lanesOf(d: DType, fma: boolean): Lanes {
  const { lane, kind } = dtypes[d];
  return { lane, unsigned: kind === "uint" || kind === "bool", fma };
}

/** The lanes an operation computes in: those of its (last) argument, since a condition comes first. */
export function workingDType(program: Program, node: Node): DType {
  return program.nodes[node.args[node.args.length - 1]].dtype;
}

export class ScalarCode {
  readonly #c: CodeContext;
  readonly #values: Local[] = [];
  readonly #clean: boolean[] = [];
  readonly #lifetimes: Lifetimes | null;

  /** Without lifetimes every value stays in a local of its own. */
  constructor(context: CodeContext, lifetimes: Lifetimes | null = null) {
    this.#c = context;
    this.#lifetimes = lifetimes;
  }

  /** The node's value, which must have been emitted, wrapped into its dtype if asked. */
  value(id: Id, clean = false): Local {
    if (clean && !this.#clean[id]) {
      const { f, program } = this.#c;
      wrapScalar(f.get(this.#values[id]), program.nodes[id].dtype).set(this.#values[id]);
      this.#clean[id] = true;
    }
    return this.#values[id];
  }

  /** Emits the node into a local of its own; `pushInput` pushes an operand's element. */
  emit(id: Id, pushInput: (node: Node) => void): void {
    const { f, program } = this.#c;
    const node = program.nodes[id];
    const { lane } = dtypes[node.dtype];
    const local = this.#lifetimes === null ? f.local(lane) : f.temp(lane);
    const args = node.args.map((a, i) => this.value(a, wantsClean(program, node, i)));
    const argsClean = node.args.map((a) => this.#clean[a]);
    if (node.op === "input" || node.op === "param") pushInput(node);
    else this.#push(node, args);
    f.set(local);
    this.#values[id] = local;
    this.#clean[id] = givesClean(program, node, argsClean);
    for (const dead of this.#lifetimes?.[id] ?? []) f.release(this.#values[dead]);
  }

  #push(node: Node, args: readonly Local[]): void {
    const { f, program, fma, slow } = this.#c;
    switch (node.op) {
      case "const":
        pushConst(f, node.dtype, node.value);
        return;
      case "cast":
        castScalar(f.get(args[0]), program.nodes[node.args[0]].dtype, node.dtype);
        return;
      case "bitcast":
        bitcastScalar(f.get(args[0]), program.nodes[node.args[0]].dtype, node.dtype);
        return;
      case "rare": {
        const { lane } = dtypes[node.dtype];
        f.get(args[1]).if(
          [lane],
          () => {
            for (const a of args.slice(2)) f.get(a);
            f.call(slow(node.slow, lane));
          },
          () => f.get(args[0]),
        );
        return;
      }
      case "input":
      case "param":
      case "tuple":
        unreachable(`${node.op} is not computed`);
        break;
      default: {
        const working = workingDType(program, node);
        rowOf(node.op).scalar(f, lanesOf(working, fma), ...args);
      }
    }
  }
}

export function pushConst(f: FuncBuilder, dtype: DType, value: Value): FuncBuilder {
  switch (dtypes[dtype].lane) {
    case "f32":
      return f.f32(value as number);
    case "f64":
      return f.f64(value as number);
    case "i64":
      return f.i64(BigInt.asIntN(64, value as bigint));
    default:
      return f.i32((value as number) | 0);
  }
}

/** The low bits of a narrow lane, extended as the dtype says. */
export function wrapScalar(f: FuncBuilder, dtype: DType): FuncBuilder {
  switch (dtype) {
    case "i8":
      return f.op("i32.extend8_s");
    case "i16":
      return f.op("i32.extend16_s");
    case "u8":
      return f.i32(0xff).op("i32.and");
    case "u16":
      return f.i32(0xffff).op("i32.and");
    default:
      return f;
  }
}

/** Value conversion of the top of the stack. Saturation at narrow ranges was made explicit before. */
export function castScalar(f: FuncBuilder, from: DType, to: DType): FuncBuilder {
  const a = lanesOf(from, false);
  const b = lanesOf(to, false);
  if (to === "bool") {
    if (from === "bool") return f;
    if (a.lane === "i32") return f.i32(0).op("i32.ne");
    if (a.lane === "i64") return f.i64(0).op("i64.ne");
    return a.lane === "f32" ? f.f32(0).op("f32.ne") : f.f64(0).op("f64.ne");
  }
  if (a.lane === b.lane) return f;
  const floats = { f32: true, f64: true, i32: false, i64: false };
  const suffix = (t: Lanes) => (t.unsigned ? "u" : "s");
  let name: string;
  if (floats[a.lane] && floats[b.lane]) name = b.lane === "f64" ? "f64.promote_f32" : "f32.demote_f64";
  else if (floats[a.lane]) name = `${b.lane}.trunc_sat_${a.lane}_${suffix(b)}`;
  else if (floats[b.lane]) name = `${b.lane}.convert_${a.lane}_${suffix(a)}`;
  else name = b.lane === "i64" ? `i64.extend_i32_${suffix(a)}` : "i32.wrap_i64";
  return f.op(name as PlainOp);
}

function bitcastScalar(f: FuncBuilder, from: DType, to: DType): FuncBuilder {
  const a = dtypes[from].lane;
  const b = dtypes[to].lane;
  return a === b ? f : f.op(`${b}.reinterpret_${a}` as PlainOp);
}

const loads: Record<DType, LoadOp> = {
  bool: "i32.load8_u",
  u8: "i32.load8_u",
  i8: "i32.load8_s",
  u16: "i32.load16_u",
  i16: "i32.load16_s",
  f16: "i32.load16_u",
  bf16: "i32.load16_u",
  u32: "i32.load",
  i32: "i32.load",
  u64: "i64.load",
  i64: "i64.load",
  f32: "f32.load",
  f64: "f64.load",
};

/** Replaces the address on the stack by the element there. */
export function loadScalar(f: FuncBuilder, dtype: DType, offset = 0): FuncBuilder {
  f.load(loads[dtype], offset, 1);
  return dtype === "bool" ? f.i32(0).op("i32.ne") : f;
}

const stores: Record<DType, StoreOp> = {
  bool: "i32.store8",
  u8: "i32.store8",
  i8: "i32.store8",
  u16: "i32.store16",
  i16: "i32.store16",
  f16: "i32.store16",
  bf16: "i32.store16",
  u32: "i32.store",
  i32: "i32.store",
  u64: "i64.store",
  i64: "i64.store",
  f32: "f32.store",
  f64: "f64.store",
};

/** [address, value] → memory; narrow integers keep their low bits. */
export function storeScalar(f: FuncBuilder, dtype: DType, offset = 0): FuncBuilder {
  return f.store(stores[dtype], offset, 1);
}
