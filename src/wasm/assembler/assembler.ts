/**
 * The assembler: a ModuleBuilder holds imports, globals, data and functions; a FuncBuilder encodes one function
 * body as it is called, instruction by instruction, straight into bytes.
 *
 * A FuncBuilder keeps the TYPED STACK of WebAssembly's validation algorithm, so a wrong operand is reported where
 * it is emitted, with the function and the number of the instruction, not as a byte offset by the engine. After
 * `br`, `return` or `unreachable` the rest of a block cannot run, and its stack gives any type asked of it.
 *
 * Mistakes here are mistakes of a compiler, so they carry the code "internal". Arguments and results count from
 * 1, instructions from 0.
 */
import { fail } from "../../errors.ts";
import { ByteBuffer, kinds, nameSections, sections, typeCodes } from "./encode.ts";
import {
  type AtomicOp,
  type Instruction,
  instruction,
  type LaneOp,
  type LoadLaneOp,
  type LoadOp,
  type Opcode,
  type PlainOp,
  type StoreLaneOp,
  type StoreOp,
  type ValType,
} from "./opcodes.ts";

export interface FuncType {
  readonly params: readonly ValType[];
  readonly results: readonly ValType[];
}

/** Anything `call` accepts: an imported function or a FuncBuilder. The index is final from the start. */
export interface Callable {
  readonly module: ModuleBuilder;
  readonly index: number;
  readonly name: string;
  readonly type: FuncType;
}

export interface Local {
  readonly kind: "local";
  readonly index: number;
  readonly type: ValType;
  readonly name: string | null;
}

export interface Global {
  readonly kind: "global";
  readonly index: number;
  readonly type: ValType;
  readonly mutable: boolean;
  readonly name: string | null;
}

/** A block that is open: what `br` jumps to the end of (of a loop: to the start of). */
export interface Label {
  readonly depth: number;
}

/** Parameters by name, in order, or types alone: `{ n: "i32" }`, `[["n", "i32"], "f32"]`. */
export type Params = Readonly<Record<string, ValType>> | readonly (ValType | readonly [string, ValType])[];

/** Sizes are in pages of 64 KiB. */
export interface MemoryLimits {
  readonly min: number;
  readonly max?: number;
  readonly shared?: boolean;
}

type Body = (label: Label) => void;
type IfBodies = [then: Body, otherwise?: Body | undefined];
type IfArgs = IfBodies | [results: readonly ValType[], then: Body, otherwise: Body];
type StackType = ValType | "unknown";

interface Frame {
  readonly opener: "block" | "loop" | "if" | "function";
  readonly label: Label;
  readonly results: readonly ValType[];
  /** What a branch to this frame's label takes along. */
  readonly branch: readonly ValType[];
  /** The stack's height at the start: values below belong to the frames outside. */
  readonly height: number;
  unreachable: boolean;
}

const emptyBlock = 0x40;
/** Looked up once: these are more than half of all instructions. */
const variables = {
  local: { get: instruction("local.get"), set: instruction("local.set") },
  global: { get: instruction("global.get"), set: instruction("global.set") },
};
const constants = {
  i32: instruction("i32.const"),
  i64: instruction("i64.const"),
  f32: instruction("f32.const"),
  f64: instruction("f64.const"),
  v128: instruction("v128.const"),
} satisfies Record<ValType, Instruction>;
const none: readonly ValType[] = [];

export class ModuleBuilder {
  readonly #types: FuncType[] = [];
  readonly #typeIndices = new Map<string, number>();
  readonly #imports: (Callable & { readonly from: string })[] = [];
  readonly #funcs: FuncBuilder[] = [];
  readonly #globals: (Global & { readonly init: number | bigint | Uint8Array })[] = [];
  readonly #exports = new Map<string, { kind: number; index: number }>();
  readonly #data: { offset: number; bytes: Uint8Array }[] = [];
  #memory: { from: string; name: string; limits: MemoryLimits } | null = null;

  importMemory(module: string, name: string, limits: MemoryLimits): this {
    if (this.#memory) wrong(`memory "${name}": "${this.#memory.name}" is imported already`);
    if (limits.shared && limits.max === undefined) wrong(`memory "${name}": a shared memory needs a max`);
    this.#memory = { from: module, name, limits };
    return this;
  }

  /** Imports come first: they take the first indices. */
  importFunc(
    module: string,
    name: string,
    params: readonly ValType[],
    results: readonly ValType[],
  ): Callable {
    if (this.#funcs.length > 0) wrong(`import "${name}": imports come before the first function`);
    const type = { params, results };
    const imported = { module: this, from: module, index: this.#imports.length, name, type };
    this.#imports.push(imported);
    return imported;
  }

  /** A function to fill; it may be called by others before that. `export: true` exports it by its name. */
  func(
    name: string,
    params: Params,
    results: readonly ValType[] = none,
    options: { readonly export?: boolean | string } = {},
  ): FuncBuilder {
    const index = this.#imports.length + this.#funcs.length;
    const func = new FuncBuilder(this, index, name, namedParams(params), results);
    this.#funcs.push(func);
    const exported = options.export === true ? name : options.export;
    if (exported) this.#export(exported, kinds.func, index);
    return func;
  }

  global(
    type: ValType,
    mutable: boolean,
    init: number | bigint | Uint8Array,
    options: { readonly name?: string; readonly export?: string } = {},
  ): Global {
    const problem = constantProblem(type, init);
    if (problem) wrong(`global: ${problem}`);
    const index = this.#globals.length;
    const global = { kind: "global", index, type, mutable, name: options.name ?? null, init } as const;
    this.#globals.push(global);
    if (options.export) this.#export(options.export, kinds.global, index);
    return global;
  }

  /** Bytes copied to `offset` of the memory at instantiation. */
  data(offset: number, bytes: Uint8Array): this {
    if (!this.#memory) wrong("data: the module has no memory; call importMemory first");
    const problem = constantProblem("i32", offset);
    if (problem) wrong(`data: offset: ${problem}`);
    this.#data.push({ offset, bytes });
    return this;
  }

  get hasMemory(): boolean {
    return this.#memory !== null;
  }

  /** The index of a function type; equal types share one. */
  typeIndex(type: FuncType): number {
    const key = `${type.params.join()}>${type.results.join()}`;
    let index = this.#typeIndices.get(key);
    if (index === undefined) {
      index = this.#types.push(type) - 1;
      this.#typeIndices.set(key, index);
    }
    return index;
  }

  /** The module, complete; `names` adds those of functions, locals and globals, for debuggers. */
  toBytes(options: { readonly names?: boolean } = {}): Uint8Array<ArrayBuffer> {
    for (const func of this.#funcs) func.finish();
    const importTypes = this.#imports.map((func) => this.typeIndex(func.type));
    const funcTypes = this.#funcs.map((func) => this.typeIndex(func.type));

    const out = new ByteBuffer(this.#funcs.reduce((bytes, func) => bytes + func.length, 512));
    const section = (id: number, when: boolean, write: () => void) => when && out.section(id, write);
    out.raw(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0)); // "\0asm", version 1
    section(sections.type, this.#types.length > 0, () => {
      out.vector(this.#types, (type) => {
        out.u8(0x60);
        out.vector(type.params, (param) => out.u8(typeCodes[param]));
        out.vector(type.results, (result) => out.u8(typeCodes[result]));
      });
    });
    section(sections.import, this.#imports.length > 0 || this.hasMemory, () => {
      out.u32(this.#imports.length + (this.#memory ? 1 : 0));
      for (const [i, func] of this.#imports.entries()) {
        out.name(func.from);
        out.name(func.name);
        out.u8(kinds.func);
        out.u32(importTypes[i]);
      }
      if (this.#memory) writeMemory(out, this.#memory);
    });
    section(sections.function, funcTypes.length > 0, () => out.vector(funcTypes, (type) => out.u32(type)));
    section(sections.global, this.#globals.length > 0, () => {
      out.vector(this.#globals, (global) => {
        out.u8(typeCodes[global.type]);
        out.u8(global.mutable ? 1 : 0);
        writeConstant(out, global.type, global.init);
        writeCode(out, instruction("end").code);
      });
    });
    section(sections.export, this.#exports.size > 0, () => {
      out.vector([...this.#exports], ([name, { kind, index }]) => {
        out.name(name);
        out.u8(kind);
        out.u32(index);
      });
    });
    section(sections.code, this.#funcs.length > 0, () => {
      out.vector(this.#funcs, (func) => out.sized(() => func.writeBody(out)));
    });
    section(sections.data, this.#data.length > 0, () => {
      out.vector(this.#data, ({ offset, bytes }) => {
        out.u32(0); // active, memory 0
        writeConstant(out, "i32", offset);
        writeCode(out, instruction("end").code);
        out.u32(bytes.length);
        out.raw(bytes);
      });
    });
    section(sections.custom, options.names ?? false, () => this.#writeNames(out));
    return out.toBytes();
  }

  #export(name: string, kind: number, index: number): void {
    if (this.#exports.has(name)) wrong(`export "${name}": the name is taken`);
    this.#exports.set(name, { kind, index });
  }

  #writeNames(out: ByteBuffer): void {
    out.name("name");
    out.section(nameSections.functions, () => writeNames(out, [...this.#imports, ...this.#funcs]));
    out.section(nameSections.locals, () => {
      out.vector(this.#funcs, (func) => {
        out.u32(func.index);
        writeNames(out, func.locals);
      });
    });
    out.section(nameSections.globals, () => writeNames(out, this.#globals));
  }
}

/** One function's body. Methods emit one instruction each and return the builder, so that calls chain. */
export class FuncBuilder implements Callable {
  readonly module: ModuleBuilder;
  readonly index: number;
  readonly name: string;
  readonly type: FuncType;
  /** The parameters, in order: `const [dst, src, n] = f.params`. */
  readonly params: readonly Local[];
  readonly #locals: Local[];
  readonly #free = new Map<ValType, Local[]>();
  readonly #isFree = new Set<Local>();
  readonly #code = new ByteBuffer(1024);
  readonly #stack: StackType[] = [];
  readonly #frames: Frame[] = [];
  #frame: Frame;
  #count = 0;
  /** The instruction under way, for messages. */
  #at = "";
  #finished = false;

  /** Made by `ModuleBuilder.func`. */
  constructor(
    module: ModuleBuilder,
    index: number,
    name: string,
    params: readonly (readonly [string | null, ValType])[],
    results: readonly ValType[],
  ) {
    this.module = module;
    this.index = index;
    this.name = name;
    this.type = { params: params.map(([, type]) => type), results };
    this.params = params.map(([name, type], index) => ({ kind: "local", index, type, name }));
    this.#locals = [...this.params];
    this.#frame = {
      opener: "function",
      label: { depth: 0 },
      results,
      branch: results,
      height: 0,
      unreachable: false,
    };
    this.#frames.push(this.#frame);
  }

  // Locals

  /** Parameters, then locals, by index. */
  get locals(): readonly Local[] {
    return this.#locals;
  }

  param(which: number | string): Local {
    const found = this.params.find((param) => param.index === which || param.name === which);
    return found ?? this.#reject(`no parameter ${JSON.stringify(which)}`);
  }

  /** A new local; it starts as zero. */
  local(type: ValType, name: string | null = null): Local {
    const local: Local = { kind: "local", index: this.#locals.length, type, name };
    this.#locals.push(local);
    return local;
  }

  /** A local for a while: one released before, with whatever value it holds, or else a new one. */
  temp(type: ValType): Local {
    const local = this.#free.get(type)?.pop();
    if (local === undefined) return this.local(type);
    this.#isFree.delete(local);
    return local;
  }

  /** Gives a local to the next `temp` of its type. */
  release(local: Local): this {
    this.#own(local);
    const free = this.#free.get(local.type);
    if (local.index < this.params.length) this.#reject(`release: ${describe(local)} is a parameter`);
    if (this.#isFree.has(local)) this.#reject(`release: ${describe(local)} is free already`);
    this.#isFree.add(local);
    if (free) free.push(local);
    else this.#free.set(local.type, [local]);
    return this;
  }

  get(variable: Local | Global): this {
    if (variable.kind === "local") this.#own(variable);
    this.#begin(variables[variable.kind].get);
    this.#code.u32(variable.index);
    this.#stack.push(variable.type);
    return this;
  }

  set(variable: Local | Global): this {
    if (variable.kind === "local") this.#own(variable);
    this.#begin(variables[variable.kind].set);
    if (variable.kind === "global" && !variable.mutable) this.#fail(`${describe(variable)} is not mutable`);
    this.#code.u32(variable.index);
    this.#pop(variable.type, 1);
    return this;
  }

  tee(local: Local): this {
    this.#own(local);
    this.#begin(instruction("local.tee"));
    this.#code.u32(local.index);
    this.#pop(local.type, 1);
    this.#stack.push(local.type);
    return this;
  }

  // Constants

  i32(value: number): this {
    return this.#constant("i32", value);
  }

  i64(value: bigint | number): this {
    return this.#constant("i64", value);
  }

  f32(value: number): this {
    return this.#constant("f32", value);
  }

  f64(value: number): this {
    return this.#constant("f64", value);
  }

  /** 16 bytes; `i8x16` … `f64x2` make them from lanes: `f.v128(f32x4(1))`. */
  v128(bytes: Uint8Array): this {
    return this.#constant("v128", bytes);
  }

  // Plain instructions, memory, lanes

  op(name: PlainOp): this {
    const instr = instruction(name);
    this.#begin(instr);
    if (instr.imm === "zero" || instr.imm === "zero2") {
      if (name !== "atomic.fence") this.#needMemory();
      this.#code.u8(0);
      if (instr.imm === "zero2") this.#code.u8(0);
    } else if (instr.imm !== null || instr.polymorphic) {
      this.#fail("it has a method of its own; op() is for instructions without immediates");
    }
    return this.#apply(instr);
  }

  /** `align` is a promise in bytes, by default the natural one (an unaligned address is correct, but slow). */
  load(name: LoadOp, offset = 0, align?: number): this {
    return this.#access(name, offset, align);
  }

  store(name: StoreOp, offset = 0, align?: number): this {
    return this.#access(name, offset, align);
  }

  /** Read-modify-write, wait and notify. */
  atomic(name: AtomicOp, offset = 0): this {
    return this.#access(name, offset);
  }

  loadLane(name: LoadLaneOp, lane: number, offset = 0, align?: number): this {
    return this.#access(name, offset, align, lane);
  }

  storeLane(name: StoreLaneOp, lane: number, offset = 0, align?: number): this {
    return this.#access(name, offset, align, lane);
  }

  /** `extract_lane` and `replace_lane`. */
  lane(name: LaneOp, lane: number): this {
    const instr = instruction(name);
    this.#begin(instr);
    this.#laneIndex(lane, Number(instr.imm!.slice("lane".length)));
    return this.#apply(instr);
  }

  /** Byte k of the result is byte `lanes[k]` of the 32 bytes of both operands. */
  shuffle(lanes: ArrayLike<number>): this {
    const instr = instruction("i8x16.shuffle");
    this.#begin(instr);
    if (lanes.length !== 16) this.#fail(`expected 16 lane indices, got ${lanes.length}`);
    for (let i = 0; i < 16; i++) this.#laneIndex(lanes[i], 32);
    return this.#apply(instr);
  }

  drop(): this {
    this.#begin(instruction("drop"));
    this.#popAny(1);
    return this;
  }

  /** `a b c → c ? a : b`. */
  select(): this {
    this.#begin(instruction("select"));
    this.#pop("i32", 3);
    const b = this.#popAny(2);
    const a = this.#popAny(1);
    if (a !== b && a !== "unknown" && b !== "unknown") {
      this.#fail(`arguments 1 and 2 differ: ${a} and ${b}`);
    }
    this.#stack.push(a === "unknown" ? b : a);
    return this;
  }

  // Control

  block(body: Body): this;
  block(results: readonly ValType[], body: Body): this;
  block(results: readonly ValType[] | Body, body?: Body): this {
    if (typeof results === "function") return this.#enclose("block", none, results);
    return this.#enclose("block", results, body!);
  }

  /** A branch to the label starts the next turn; falling off the end leaves the loop. */
  loop(body: Body): this;
  loop(results: readonly ValType[], body: Body): this;
  loop(results: readonly ValType[] | Body, body?: Body): this {
    if (typeof results === "function") return this.#enclose("loop", none, results);
    return this.#enclose("loop", results, body!);
  }

  if(then: Body, otherwise?: Body): this;
  if(results: readonly ValType[], then: Body, otherwise: Body): this;
  if(...args: IfArgs): this {
    const [results, then, otherwise] = isBodies(args) ? [none, args[0], args[1]] : args;
    const label = this.#open("if", results);
    then(label);
    if (otherwise) {
      this.#leave("else");
      this.#frame.unreachable = false;
      otherwise(label);
    } else if (results.length > 0) {
      this.#at = "if";
      this.#fail(`a result (${results.join(" ")}) needs an else branch`);
    }
    return this.#close();
  }

  br(label: Label): this {
    this.#begin(instruction("br"));
    this.#popAll(this.#jump(label).branch, "argument");
    return this.#dead();
  }

  /** Pops the condition; the label's results stay when it is zero. */
  brIf(label: Label): this {
    this.#begin(instruction("br_if"));
    const { branch } = this.#jump(label);
    this.#pop("i32", branch.length + 1);
    this.#popAll(branch, "argument");
    this.#pushAll(branch);
    return this;
  }

  /** Pops i and jumps to `labels[i]`, or to `otherwise` when there is none. */
  brTable(labels: readonly Label[], otherwise: Label): this {
    this.#begin(instruction("br_table"));
    this.#code.u32(labels.length);
    const targets = labels.map((label) => this.#jump(label));
    const { branch } = this.#jump(otherwise);
    for (const target of targets) {
      if (target.branch.join() !== branch.join()) {
        this.#fail(`labels differ: one takes [${target.branch.join(" ")}], another [${branch.join(" ")}]`);
      }
    }
    this.#pop("i32", branch.length + 1);
    this.#popAll(branch, "argument");
    return this.#dead();
  }

  return(): this {
    this.#begin(instruction("return"));
    this.#popAll(this.type.results, "argument");
    return this.#dead();
  }

  unreachable(): this {
    this.#begin(instruction("unreachable"));
    return this.#dead();
  }

  call(func: Callable): this {
    this.#begin(instruction("call"));
    if (func.module !== this.module) this.#fail(`function "${func.name}" belongs to another module`);
    this.#code.u32(func.index);
    this.#popAll(func.type.params, "argument");
    this.#pushAll(func.type.results);
    return this;
  }

  // For ModuleBuilder

  /** Checks the results and ends the body; nothing can be emitted after it. */
  finish(): void {
    if (this.#finished) return;
    if (this.#frames.length > 1) this.#reject(`a ${this.#frame.opener} is still open`);
    this.#leave("end");
    this.#finished = true;
  }

  /** Of the code so far, in bytes. */
  get length(): number {
    return this.#code.length;
  }

  /** The declarations of the locals, as runs of one type, then the code. */
  writeBody(out: ByteBuffer): void {
    const runs: { type: ValType; count: number }[] = [];
    for (let i = this.params.length; i < this.#locals.length; i++) {
      const { type } = this.#locals[i];
      const last = runs.at(-1);
      if (last?.type === type) last.count++;
      else runs.push({ type, count: 1 });
    }
    out.vector(runs, ({ type, count }) => {
      out.u32(count);
      out.u8(typeCodes[type]);
    });
    out.append(this.#code);
  }

  // Encoding

  #begin(instr: Instruction): void {
    this.#start(instr);
    writeCode(this.#code, instr.code);
  }

  #start(instr: Instruction): void {
    this.#at = instr.name;
    if (this.#finished) this.#reject(`${this.#at}: the function is finished: its module was encoded`);
    this.#count++;
  }

  #constant(type: ValType, value: number | bigint | Uint8Array): this {
    this.#start(constants[type]);
    const problem = constantProblem(type, value);
    if (problem) this.#fail(problem);
    writeConstant(this.#code, type, value);
    this.#stack.push(type);
    return this;
  }

  #access(name: Opcode, offset: number, align?: number, lane?: number): this {
    const instr = instruction(name);
    const { bytes } = instr;
    this.#begin(instr);
    this.#needMemory();
    const wanted = align ?? bytes;
    const log2 = 31 - Math.clz32(wanted);
    if (wanted > bytes || wanted !== 1 << log2) {
      this.#fail(`align must be a power of two up to ${bytes} bytes, got ${wanted}`);
    }
    if (instr.feature === "threads" && wanted !== bytes) {
      this.#fail(`align must be ${bytes}, the natural one, got ${wanted}`);
    }
    if (!(Number.isInteger(offset) && offset >= 0 && offset <= 0xffffffff)) {
      this.#fail(`offset must be an integer from 0 to 2^32 - 1, got ${offset}`);
    }
    this.#code.u32(log2);
    this.#code.u32(offset);
    if (lane !== undefined) this.#laneIndex(lane, 16 / bytes);
    return this.#apply(instr);
  }

  #laneIndex(lane: number, count: number): void {
    if (!(Number.isInteger(lane) && lane >= 0 && lane < count)) {
      this.#fail(`lane must be an integer from 0 to ${count - 1}, got ${lane}`);
    }
    this.#code.u8(lane);
  }

  /** Encodes how many frames lie between here and the label's, and gives that frame. */
  #jump(label: Label): Frame {
    const frame = this.#frames[label.depth];
    if (frame?.label !== label) this.#fail("the label's block is not open here");
    this.#code.u32(this.#frames.length - 1 - label.depth);
    return frame;
  }

  #open(opener: "block" | "loop" | "if", results: readonly ValType[]): Label {
    this.#begin(instruction(opener));
    if (opener === "if") this.#pop("i32", 1);
    if (results.length === 0) this.#code.u8(emptyBlock);
    else if (results.length === 1) this.#code.u8(typeCodes[results[0]]);
    else this.#code.s32(this.module.typeIndex({ params: none, results }));
    const label = { depth: this.#frames.length };
    const branch = opener === "loop" ? none : results;
    this.#frame = { opener, label, results, branch, height: this.#stack.length, unreachable: false };
    this.#frames.push(this.#frame);
    return label;
  }

  #enclose(opener: "block" | "loop", results: readonly ValType[], body: Body): this {
    body(this.#open(opener, results));
    return this.#close();
  }

  #close(): this {
    this.#leave("end");
    this.#frames.pop();
    const { results } = this.#frame;
    this.#frame = this.#frames[this.#frames.length - 1];
    this.#pushAll(results);
    return this;
  }

  /** At the end of a block, the stack must hold its results and no more. */
  #leave(by: "end" | "else"): void {
    const { opener, results, height } = this.#frame;
    this.#begin(instruction(by));
    this.#at = `${by} of ${opener}`;
    this.#popAll(results, "result");
    if (this.#stack.length > height) {
      this.#fail(`values left on the stack: [${this.#stack.slice(height).join(" ")}]`);
    }
  }

  // The typed stack

  #apply(instr: Instruction): this {
    this.#popAll(instr.params, "argument");
    this.#pushAll(instr.results);
    return this;
  }

  #pushAll(types: readonly ValType[]): void {
    for (let i = 0; i < types.length; i++) this.#stack.push(types[i]);
  }

  #popAll(types: readonly ValType[], what: "argument" | "result"): void {
    for (let i = types.length - 1; i >= 0; i--) this.#pop(types[i], i + 1, what);
  }

  #pop(expected: ValType, position: number, what: "argument" | "result" = "argument"): void {
    const got = this.#popAny(position, what, expected);
    if (got !== expected && got !== "unknown") {
      this.#fail(`${what} ${position}: expected ${expected}, got ${got}`);
    }
  }

  #popAny(position: number, what = "argument", expected = "a value"): StackType {
    const { height, unreachable } = this.#frame;
    if (this.#stack.length > height) return this.#stack.pop()!;
    if (unreachable) return "unknown";
    const where = this.#frames.length > 1 ? `the ${this.#frame.opener}'s stack` : "the stack";
    return this.#fail(`${what} ${position}: expected ${expected}, but ${where} is empty`);
  }

  /** What follows cannot run. */
  #dead(): this {
    this.#stack.length = this.#frame.height;
    this.#frame.unreachable = true;
    return this;
  }

  // Messages

  #own(local: Local): void {
    if (this.#locals[local.index] !== local) this.#reject(`${describe(local)} belongs to another function`);
  }

  #needMemory(): void {
    if (!this.module.hasMemory) this.#fail("the module has no memory; call importMemory first");
  }

  /** The instruction under way is wrong. */
  #fail(fact: string): never {
    return wrong(`${this.#at}: ${fact} (function "${this.name}", instruction ${this.#count - 1})`);
  }

  /** A call that emits nothing is wrong. */
  #reject(fact: string): never {
    return wrong(`${fact} (function "${this.name}")`);
  }
}

// Constants of v128 from lanes: all of them, or one for all.

const vector = new ArrayBuffer(16);
const vectorBytes = new Uint8Array(vector);
const vectorLanes = {
  i8: new Int8Array(vector),
  i16: new Int16Array(vector),
  i32: new Int32Array(vector),
  i64: new BigInt64Array(vector),
  f32: new Float32Array(vector),
  f64: new Float64Array(vector),
};

export const i8x16 = (...lanes: number[]): Uint8Array => bytesOf(vectorLanes.i8, lanes);
export const i16x8 = (...lanes: number[]): Uint8Array => bytesOf(vectorLanes.i16, lanes);
export const i32x4 = (...lanes: number[]): Uint8Array => bytesOf(vectorLanes.i32, lanes);
export const i64x2 = (...lanes: (number | bigint)[]): Uint8Array =>
  bytesOf(vectorLanes.i64, lanes.map(BigInt));
export const f32x4 = (...lanes: number[]): Uint8Array => bytesOf(vectorLanes.f32, lanes);
export const f64x2 = (...lanes: number[]): Uint8Array => bytesOf(vectorLanes.f64, lanes);

function bytesOf<T>(view: { readonly length: number; [lane: number]: T }, lanes: readonly T[]): Uint8Array {
  const count = view.length;
  if (lanes.length !== 1 && lanes.length !== count) {
    wrong(`v128.const: expected ${count} lanes, or one for all, got ${lanes.length}`);
  }
  for (let i = 0; i < count; i++) view[i] = lanes.length === 1 ? lanes[0] : lanes[i];
  return vectorBytes.slice();
}

/** Why a value is not a constant of the type, or null. Integers may be written signed or unsigned. */
function constantProblem(type: ValType, value: number | bigint | Uint8Array): string | null {
  if (type === "i32") {
    const fits = Number.isInteger(value) && Number(value) >= -(2 ** 31) && Number(value) < 2 ** 32;
    return fits ? null : `expected an integer of 32 bits, got ${value}`;
  }
  if (type === "i64") {
    const integer = typeof value === "bigint" || Number.isSafeInteger(value) ? BigInt(value as bigint) : null;
    const fits = integer !== null && integer >= -(1n << 63n) && integer < 1n << 64n;
    return fits ? null : `expected an integer of 64 bits, got ${value}`;
  }
  if (type === "v128") {
    const fits = value instanceof Uint8Array && value.length === 16;
    return fits ? null : `expected 16 bytes, got ${value}`;
  }
  return typeof value === "number" ? null : `expected a number, got ${value}`;
}

function writeCode(out: ByteBuffer, code: number): void {
  if (code < 0x100) {
    out.u8(code);
  } else {
    out.u8(code >> 12);
    out.u32(code & 0xfff);
  }
}

function writeConstant(out: ByteBuffer, type: ValType, value: number | bigint | Uint8Array): void {
  writeCode(out, constants[type].code);
  if (type === "i32") out.s32(Number(value) | 0);
  else if (type === "i64") out.s64(BigInt.asIntN(64, BigInt(value as number | bigint)));
  else if (type === "f32") out.f32(value as number);
  else if (type === "f64") out.f64(value as number);
  else out.raw(value as Uint8Array);
}

function writeNames(out: ByteBuffer, items: readonly { index: number; name: string | null }[]): void {
  const named = items.filter((item) => item.name !== null);
  out.vector(named, ({ index, name }) => {
    out.u32(index);
    out.name(name!);
  });
}

function writeMemory(out: ByteBuffer, memory: { from: string; name: string; limits: MemoryLimits }): void {
  const { min, max, shared = false } = memory.limits;
  out.name(memory.from);
  out.name(memory.name);
  out.u8(kinds.memory);
  out.u8((max === undefined ? 0 : 1) | (shared ? 2 : 0));
  out.u32(min);
  if (max !== undefined) out.u32(max);
}

function namedParams(params: Params): readonly (readonly [string | null, ValType])[] {
  if (!isList(params)) return Object.entries(params);
  return params.map((param) => (typeof param === "string" ? [null, param] : param));
}

/** Array.isArray does not narrow readonly arrays. */
function isList(params: Params): params is Extract<Params, readonly unknown[]> {
  return Array.isArray(params);
}

function isBodies(args: IfArgs): args is IfBodies {
  return typeof args[0] === "function";
}

function describe({ kind, name, index, type }: Local | Global): string {
  return `${kind} ${name === null ? index : `"${name}"`} (${type})`;
}

function wrong(fact: string): never {
  return fail("internal", "assembler", fact);
}
