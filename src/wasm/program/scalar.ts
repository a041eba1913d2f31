/** One element in scalar code: each node of a program into a local of its lane's type. */
import { type DType, dtypes, type Value } from "../../dtype.ts";
import { unreachable } from "../../errors.ts";
import {
  type Id,
  type LoopNode,
  MOST_ROUNDS,
  type Node,
  type Program,
  type ReadNode,
  resultsOf,
} from "../../ir/node.ts";
import type { Callable, FuncBuilder, Local } from "../assembler/assembler.ts";
import type { LoadOp, PlainOp, StoreOp } from "../assembler/opcodes.ts";
import { emitFailure, FAILURE, failed } from "./failure.ts";
import { type Lifetimes, lifetimesOf } from "./lifetimes.ts";
import { type Lanes, rowOf } from "./lower.ts";
import { givesClean, wantsClean } from "./narrow.ts";

/** Functions that `rare` nodes call, by name and lane. */
export type SlowFunctions = (name: string, lane: string) => Callable;

export interface CodeContext {
  readonly f: FuncBuilder;
  readonly program: Program;
  readonly fma: boolean;
  readonly slow: SlowFunctions;
  /** In a loop: rounds that are left to the element. */
  readonly rounds?: Local;
  /** In a loop: what holds as long as its code runs. */
  readonly going?: Id;
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
  /** Locals of others, which they keep. */
  readonly #given: boolean[] = [];
  /** What loops have carried, by their nodes. */
  readonly #carried: Local[][] = [];
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

  /** An operand that is in a local already, and stays there. */
  use(id: Id, local: Local): void {
    this.#values[id] = local;
    this.#clean[id] = true;
    this.#given[id] = true;
  }

  /** Emits the node into a local of its own; `pushInput` pushes an operand's element. */
  emit(id: Id, pushInput: (node: Node) => void): void {
    const { f, program } = this.#c;
    const { lane } = dtypes[program.nodes[id].dtype];
    const local = this.#lifetimes === null ? f.local(lane) : f.temp(lane);
    this.#clean[id] = this.#compute(id, pushInput);
    f.set(local);
    this.#values[id] = local;
    for (const dead of this.#lifetimes?.[id] ?? []) this.#release(dead);
  }

  /** Leaves the program's result on the stack: the last that is emitted. */
  push(id: Id): void {
    const { f } = this.#c;
    if (this.#given[id]) f.get(this.#values[id]);
    else this.#compute(id, (node) => unreachable(`${node.op} has no local`));
    for (const dead of this.#lifetimes?.[id] ?? []) this.#release(dead);
  }

  /** Leaves the node's value on the stack; is it clean? */
  #compute(id: Id, pushInput: (node: Node) => void): boolean {
    const { f, program } = this.#c;
    const node = program.nodes[id];
    const args = node.args.map((a, i) => this.value(a, wantsClean(program, node, i)));
    const argsClean = node.args.map((a) => this.#clean[a]);
    if (node.op === "input" || node.op === "param") pushInput(node);
    else if (node.op === "loop") f.get(this.#loop(node, args, id));
    else if (node.op === "item") f.get(this.#carried[node.args[0]][node.index]);
    else if (node.op === "read") this.#read(node, args);
    else this.#push(node, args);
    return givesClean(program, node, argsClean);
  }

  #release(id: Id): void {
    const { f } = this.#c;
    if (!this.#given[id]) f.release(this.#values[id]);
    for (const carried of this.#carried[id] ?? []) f.release(carried);
  }

  /** The loop with its round inside; what it carries stays in locals of its own. */
  #loop({ body, carried, args: ids }: LoopNode, [guard, ...args]: readonly Local[], id: Id): Local {
    const { f, program } = this.#c;
    const own = args.slice(0, carried).map((start) => {
      const local = this.#lifetimes === null ? f.local(start.type) : f.temp(start.type);
      f.get(start).set(local);
      return local;
    });
    const inputs = [...own, ...args.slice(carried)];
    const rounds = this.#c.rounds ?? this.#budget();
    const [going, ...next] = resultsOf(body);
    const context = { ...this.#c, program: body, rounds, going };
    const inner = new ScalarCode(context, lifetimesOf(body));
    const emit = (first: Id, end: Id) => {
      for (let i = first; i < end; i++) {
        if (body.nodes[i].op === "tuple") continue;
        inner.emit(i, (node) => {
          if (node.op === "input") f.get(inputs[node.index]);
          else unreachable("a captured value inside of a loop");
        });
      }
    };
    const known = program.nodes[ids[0]];
    f.block((done) => {
      if (!(known.op === "const" && known.value === 1)) f.get(guard).op("i32.eqz").brIf(done);
      f.loop((again) => {
        emit(0, going + 1);
        f.get(inner.value(going)).op("i32.eqz").brIf(done);
        f.get(rounds)
          .op("i32.eqz")
          .if(() => {
            emitFailure(f, failed.rounds, null);
            f.br(done);
          });
        f.get(rounds).i32(1).op("i32.sub").set(rounds);
        emit(going + 1, body.nodes.length);
        for (const n of next) f.get(inner.value(n, true));
        for (const local of own.toReversed()) f.set(local);
        f.br(again);
      });
    });
    inner.end();
    if (this.#c.rounds === undefined) f.release(rounds);
    this.#carried[id] = own;
    return own[0];
  }

  /** The values that are still held are given back. */
  end(): void {
    const { program } = this.#c;
    const released = new Set((this.#lifetimes ?? []).flat());
    program.nodes.forEach((node, id) => {
      if (node.op === "tuple" || released.has(id) || this.#values[id] === undefined) return;
      this.#release(id);
    });
  }

  /** Rounds that an element may have: none, once something has failed. */
  #budget(): Local {
    const { f } = this.#c;
    const rounds = f.temp("i32");
    f.i32(0).i32(MOST_ROUNDS).i32(0).load("i32.load", FAILURE.kind).select().set(rounds);
    return rounds;
  }

  /** An element of a table: each index is compared with its axis before an address is made of it. */
  #read({ dtype, args: ids }: ReadNode, args: readonly Local[]): void {
    const { f, program, going } = this.#c;
    const [guard, address, ...axes] = args;
    const { lane } = dtypes[dtype];
    const value = f.temp(lane);
    pushConst(f, dtype, lane === "i64" ? 0n : 0);
    f.set(value);
    const at = f.temp("i32");
    const known = program.nodes[ids[0]];
    const isSure = ids[0] === going || (known.op === "const" && known.value === 1);
    f.block((done) => {
      if (!isSure) f.get(guard).op("i32.eqz").brIf(done);
      f.get(address).set(at);
      for (let i = 0; i < axes.length; i += 3) {
        const [index, size, stride] = axes.slice(i, i + 3);
        const whole = this.#index(program.nodes[ids[2 + i]].dtype, index, size, (pushIndex) => {
          emitFailure(f, failed.read + i / 3, { size, pushIndex });
          f.br(done);
        });
        f.get(at).get(whole).get(stride).op("i32.mul").op("i32.add").set(at);
        f.release(whole);
      }
      loadScalar(f.get(at), dtype).set(value);
    });
    f.get(value).release(value).release(at);
  }

  /** The index as a whole number below the size; what is none goes to `fail`, which leaves. */
  #index(dtype: DType, index: Local, size: Local, fail: (index: () => void) => void): Local {
    const { f } = this.#c;
    const whole = f.temp("i32");
    const unsigned = dtypes[dtype].kind === "uint";
    switch (dtypes[dtype].lane) {
      case "i32":
        f.get(index).tee(whole).get(size).op("i32.ge_u");
        f.if(() => fail(() => f.get(index).op(unsigned ? "f64.convert_i32_u" : "f64.convert_i32_s")));
        return whole;
      case "i64":
        f.get(index).op("i32.wrap_i64").set(whole);
        f.get(index).get(size).op("i64.extend_i32_u").op("i64.ge_u");
        f.if(() => fail(() => f.get(index).op(unsigned ? "f64.convert_i64_u" : "f64.convert_i64_s")));
        return whole;
      case "f64":
        f.get(index).op("i32.trunc_sat_f64_u").tee(whole).get(size).op("i32.ge_u");
        f.get(whole).op("f64.convert_i32_u").get(index).op("f64.ne").op("i32.or");
        f.if(() => fail(() => f.get(index)));
        return whole;
      default:
        return unreachable(`an index of ${dtype}`);
    }
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
      case "loop":
      case "item":
      case "read":
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
