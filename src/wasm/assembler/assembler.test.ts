import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type FuncBuilder,
  f32x4,
  i16x8,
  i32x4,
  i64x2,
  type Label,
  ModuleBuilder,
  type Params,
} from "./assembler.ts";
import { ByteBuffer, sections, typeCodes } from "./encode.ts";
import { opcodes, type PlainOp, type ValType } from "./opcodes.ts";

type Exports = Record<string, (...args: number[]) => number>;

function instantiate(module: ModuleBuilder, imports: WebAssembly.Imports = {}): Exports {
  return new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()), imports).exports as Exports;
}

/** What the builder says to a body. */
function complaint(write: (f: FuncBuilder) => void, params: Params = [], results: ValType[] = []): string {
  const module = new ModuleBuilder().importMemory("env", "memory", { min: 1 });
  try {
    write(module.func("inner", params, results));
    module.toBytes();
  } catch (error) {
    return (error as Error).message;
  }
  return "fine";
}

describe("modules", () => {
  it("functions call one another, also one defined later, and imports", () => {
    const module = new ModuleBuilder();
    const log = module.importFunc("env", "log", ["i32"], []);
    const even = module.func("even", { n: "i32" }, ["i32"], { export: true });
    const odd = module.func("odd", { n: "i32" }, ["i32"], { export: "isOdd" });
    for (const [self, other, atZero] of [
      [even, odd, 1],
      [odd, even, 0],
    ] as const) {
      const n = self.param("n");
      self.get(n).call(log).get(n).op("i32.eqz");
      self.if(
        ["i32"],
        () => self.i32(atZero),
        () => self.get(n).i32(1).op("i32.sub").call(other),
      );
    }
    const seen: number[] = [];
    const { even: isEven, isOdd } = instantiate(module, { env: { log: (n: number) => seen.push(n) } });
    expect([isEven(4), isEven(3), isOdd(3)]).toEqual([1, 0, 1]);
    expect(seen.slice(0, 5)).toEqual([4, 3, 2, 1, 0]);
  });

  it("equal types of functions and blocks are written once", () => {
    const module = new ModuleBuilder();
    module.importFunc("env", "f", [], ["i32", "f32"]);
    const g = module.func("g", [], ["i32", "f32"]);
    g.block(["i32", "f32"], () => g.i32(1).f32(2));
    module.func("h", { x: "i32" });
    const bytes = module.toBytes();
    expect(WebAssembly.validate(bytes)).toBe(true);
    expect(bytes[8]).toBe(sections.type);
    expect(bytes[10]).toBe(2); // the count, after the id and the size of the section
  });

  it("globals and data start with their values", () => {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const module = new ModuleBuilder()
      .importMemory("env", "memory", { min: 1 })
      .data(300, Uint8Array.of(1, 2, 3));
    const big = module.global("i64", true, -5n, { export: "big" });
    const half = module.global("f32", false, 0.5, { name: "half" });
    const f = module.func("f", [], ["f32"], { export: true });
    f.get(big).i64(2).op("i64.mul").set(big).get(half);
    const exports = instantiate(module, { env: { memory } });
    expect(exports.f()).toBe(0.5);
    expect((exports.big as unknown as WebAssembly.Global).value).toBe(-10n);
    expect([...new Uint8Array(memory.buffer, 299, 5)]).toEqual([0, 1, 2, 3, 0]);
  });

  it("blocks give several results", () => {
    const module = new ModuleBuilder();
    const f = module.func("f", { x: "i32" }, ["i32"], { export: true });
    f.block(["i32", "f64"], (out) => f.i32(7).f64(2).get(f.param(0)).brIf(out).drop().f64(10));
    f.op("i32.trunc_f64_s").op("i32.mul");
    const { f: run } = instantiate(module);
    expect([run(0), run(1)]).toEqual([70, 14]);
  });

  it("can be encoded again, with names or without, and then takes no more instructions", () => {
    const module = new ModuleBuilder();
    const f = module.func("f", { x: "i32" }, ["i32"]);
    f.get(f.param("x"));
    const bytes = module.toBytes();
    expect(module.toBytes()).toEqual(bytes);
    const named = module.toBytes({ names: true });
    expect(named.subarray(0, bytes.length)).toEqual(bytes);
    expect(WebAssembly.Module.customSections(new WebAssembly.Module(named), "name").length).toBe(1);
    expect(WebAssembly.Module.customSections(new WebAssembly.Module(bytes), "name").length).toBe(0);
    expect(() => f.i32(1)).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: i32.const: the function is finished: its module was encoded (function "f")]`,
    );
  });

  it("refuses what an engine would refuse later", () => {
    const module = new ModuleBuilder();
    const first = module.func("first", [], [], { export: true });
    expect(() => module.importFunc("env", "late", [], [])).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: import "late": imports come before the first function]`,
    );
    expect(() => module.func("second", [], [], { export: "first" })).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: export "first": the name is taken]`,
    );
    expect(() => module.data(0, new Uint8Array(1))).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: data: the module has no memory; call importMemory first]`,
    );
    expect(() => first.i32(0).load("i32.load")).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: i32.load: the module has no memory; call importMemory first (function "first", instruction 1)]`,
    );
    expect(() =>
      module.importMemory("env", "memory", { min: 1, shared: true }),
    ).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: memory "memory": a shared memory needs a max]`,
    );
    module.importMemory("env", "memory", { min: 1 });
    expect(() => module.importMemory("env", "more", { min: 1 })).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: memory "more": "memory" is imported already]`,
    );
    const elsewhere = new ModuleBuilder().func("elsewhere", []);
    expect(() => first.call(elsewhere)).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: call: function "elsewhere" belongs to another module (function "first", instruction 2)]`,
    );
  });
});

describe("locals", () => {
  it("keep their types and order, however they are mixed", () => {
    const module = new ModuleBuilder();
    const f = module.func("f", ["i32", ["x", "f64"]], ["f64"], { export: true });
    const a = f.local("f64");
    f.local("i32");
    f.local("i32");
    const b = f.local("f64");
    f.get(f.param("x"))
      .tee(a)
      .get(f.param(0))
      .op("f64.convert_i32_s")
      .tee(b)
      .op("f64.add")
      .get(b)
      .op("f64.mul");
    expect(instantiate(module).f(3, 4)).toBe(21);
  });

  it("a released temp is given to the next of its type only", () => {
    const f = new ModuleBuilder().func("f", { p: "i32" });
    const a = f.temp("i32");
    const b = f.temp("i32");
    f.release(a).release(b);
    expect(f.temp("f32")).not.toBe(b);
    expect(f.temp("i32")).toBe(b);
    expect(f.temp("i32")).toBe(a);
    expect(f.temp("i32").index).toBe(4);
    f.release(a);
    expect(() => f.release(a)).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: release: local 1 (i32) is free already (function "f")]`,
    );
    expect(() => f.release(f.param("p"))).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: release: local "p" (i32) is a parameter (function "f")]`,
    );
  });

  it("belong to one function", () => {
    const module = new ModuleBuilder();
    const local = module.func("f", []).local("i32", "mine");
    expect(() => module.func("g", []).get(local)).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: local "mine" (i32) belongs to another function (function "g")]`,
    );
    expect(() => module.func("h", { n: "i32" }).param("m")).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: no parameter "m" (function "h")]`,
    );
  });
});

describe("vector constants", () => {
  it("take all lanes, or one for all", () => {
    expect([...f32x4(1)]).toEqual([0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 128, 63]);
    expect([...i16x8(1, 2, 3, 4, 5, 6, 7, -1)]).toEqual([1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 255, 255]);
    expect([...i64x2(1, -1n)]).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    expect(() => i32x4(1, 2)).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: assembler: v128.const: expected 4 lanes, or one for all, got 2]`,
    );
  });
});

describe("the typed stack", () => {
  it("reports the instruction, the argument, what was expected and what was there", () => {
    const mistakes: Record<string, (f: FuncBuilder) => void> = {
      "wrong argument": (f) => f.v128(f32x4(0)).i32(1).op("f32x4.add"),
      "the first of two": (f) => f.i32(1).v128(f32x4(0)).op("f32x4.add"),
      "empty stack": (f) => f.i32(1).op("i32.add"),
      "empty inside a block": (f) => f.i32(1).block(() => f.drop()),
      "wrong local": (f) => f.f32(1).set(f.local("i32", "n")),
      "immutable global": (f) => f.i32(1).set(f.module.global("i32", false, 0)),
      "wrong block result": (f) => f.block(["f32"], () => f.i32(1)),
      "missing block result": (f) => f.block(["f32"], () => {}),
      "values left in a loop": (f) => f.loop(() => f.i32(1).f64(2)),
      "values left in the function": (f) => f.i32(1),
      "a result without else": (f) => f.i32(1).if(["i32"], () => f.i32(1), undefined as never),
      "arms that differ": (f) =>
        f.i32(1).if(
          ["i32"],
          () => f.i32(1),
          () => f.f32(1),
        ),
      condition: (f) => f.f32(1).if(() => {}),
      "branch without its value": (f) => f.block(["i32"], (out) => f.f32(1).br(out)),
      "closed label": (f) => {
        const labels: Label[] = [];
        f.block((label) => labels.push(label)).block(() => f.br(labels[0]));
      },
      "labels that differ": (f) =>
        f.block((a) => f.block(["i32"], (b) => f.i32(1).i32(0).brTable([a], b)).drop()),
      "select of two types": (f) => f.i32(1).f32(1).i32(0).select(),
      "argument of a call": (f) =>
        f
          .i32(1)
          .i32(2)
          .call(f.module.func("other", { a: "f32", b: "i32" })),
      "open block": (f) => f.block(() => f.module.toBytes()),
    };
    const reports = Object.entries(mistakes).map(([name, write]) => `${name}: ${complaint(write)}`);
    expect(`\n${reports.join("\n")}\n`).toMatchInlineSnapshot(`
      "
      wrong argument: assembler: f32x4.add: argument 2: expected v128, got i32 (function "inner", instruction 2)
      the first of two: assembler: f32x4.add: argument 1: expected v128, got i32 (function "inner", instruction 2)
      empty stack: assembler: i32.add: argument 1: expected i32, but the stack is empty (function "inner", instruction 1)
      empty inside a block: assembler: drop: argument 1: expected a value, but the block's stack is empty (function "inner", instruction 2)
      wrong local: assembler: local.set: argument 1: expected i32, got f32 (function "inner", instruction 1)
      immutable global: assembler: global.set: global 0 (i32) is not mutable (function "inner", instruction 1)
      wrong block result: assembler: end of block: result 1: expected f32, got i32 (function "inner", instruction 2)
      missing block result: assembler: end of block: result 1: expected f32, but the block's stack is empty (function "inner", instruction 1)
      values left in a loop: assembler: end of loop: values left on the stack: [i32 f64] (function "inner", instruction 3)
      values left in the function: assembler: end of function: values left on the stack: [i32] (function "inner", instruction 1)
      a result without else: assembler: if: a result (i32) needs an else branch (function "inner", instruction 2)
      arms that differ: assembler: end of if: result 1: expected i32, got f32 (function "inner", instruction 5)
      condition: assembler: if: argument 1: expected i32, got f32 (function "inner", instruction 1)
      branch without its value: assembler: br: argument 1: expected i32, got f32 (function "inner", instruction 2)
      closed label: assembler: br: the label's block is not open here (function "inner", instruction 3)
      labels that differ: assembler: br_table: labels differ: one takes [], another [i32] (function "inner", instruction 4)
      select of two types: assembler: select: arguments 1 and 2 differ: i32 and f32 (function "inner", instruction 3)
      argument of a call: assembler: call: argument 1: expected f32, got i32 (function "inner", instruction 2)
      open block: assembler: a block is still open (function "inner")
      "
    `);
    expect(complaint((f) => f.f32(1).return(), [], ["i32"])).toMatchInlineSnapshot(
      `"assembler: return: argument 1: expected i32, got f32 (function "inner", instruction 1)"`,
    );
    expect(complaint(() => {}, [], ["i32"])).toMatchInlineSnapshot(
      `"assembler: end of function: result 1: expected i32, but the stack is empty (function "inner", instruction 0)"`,
    );
  });

  it("reports immediates out of range", () => {
    const mistakes: ((f: FuncBuilder) => void)[] = [
      (f) => f.v128(f32x4(0)).lane("f32x4.extract_lane", 4),
      (f) => f.i32(0).v128(f32x4(0)).loadLane("v128.load64_lane", 2),
      (f) => f.v128(f32x4(0)).v128(f32x4(0)).shuffle(Array(16).fill(32)),
      (f) => f.v128(f32x4(0)).v128(f32x4(0)).shuffle([1]),
      (f) => f.i32(0).load("v128.load", -1),
      (f) => f.i32(0).load("v128.load", 2 ** 32),
      (f) => f.i32(0).load("i32.load", 0, 8),
      (f) => f.i32(0).load("i32.load", 0, 3),
      (f) => f.i32(0).load("i32.atomic.load", 0, 2),
      (f) => f.i32(0.5),
      (f) => f.i32(2 ** 32),
      (f) => f.i64(1n << 64n),
      (f) => f.i64(-(1n << 63n) - 1n),
      (f) => f.i64(2 ** 60),
      (f) => f.v128(new Uint8Array(4)),
      (f) => f.op("local.get" as PlainOp),
    ];
    expect(`\n${mistakes.map((write) => complaint(write)).join("\n")}\n`).toMatchInlineSnapshot(`
      "
      assembler: f32x4.extract_lane: lane must be an integer from 0 to 3, got 4 (function "inner", instruction 1)
      assembler: v128.load64_lane: lane must be an integer from 0 to 1, got 2 (function "inner", instruction 2)
      assembler: i8x16.shuffle: lane must be an integer from 0 to 31, got 32 (function "inner", instruction 2)
      assembler: i8x16.shuffle: expected 16 lane indices, got 1 (function "inner", instruction 2)
      assembler: v128.load: offset must be an integer from 0 to 2^32 - 1, got -1 (function "inner", instruction 1)
      assembler: v128.load: offset must be an integer from 0 to 2^32 - 1, got 4294967296 (function "inner", instruction 1)
      assembler: i32.load: align must be a power of two up to 4 bytes, got 8 (function "inner", instruction 1)
      assembler: i32.load: align must be a power of two up to 4 bytes, got 3 (function "inner", instruction 1)
      assembler: i32.atomic.load: align must be 4, the natural one, got 2 (function "inner", instruction 1)
      assembler: i32.const: expected an integer of 32 bits, got 0.5 (function "inner", instruction 0)
      assembler: i32.const: expected an integer of 32 bits, got 4294967296 (function "inner", instruction 0)
      assembler: i64.const: expected an integer of 64 bits, got 18446744073709551616 (function "inner", instruction 0)
      assembler: i64.const: expected an integer of 64 bits, got -9223372036854775809 (function "inner", instruction 0)
      assembler: i64.const: expected an integer of 64 bits, got 1152921504606847000 (function "inner", instruction 0)
      assembler: v128.const: expected 16 bytes, got 0,0,0,0 (function "inner", instruction 0)
      assembler: local.get: it has a method of its own; op() is for instructions without immediates (function "inner", instruction 0)
      "
    `);
  });

  // A body as data, so that it can be given both to the builder and, unchecked, to the engine.
  type Step = PlainOp | "i32" | "f32" | "drop" | "select" | "return" | "unreachable" | "br" | "br_if" | Block;
  interface Block {
    readonly open: "block" | "loop" | "if";
    readonly results: readonly ValType[];
    readonly steps: readonly Step[];
    readonly otherwise: readonly Step[] | null;
  }

  function emit(f: FuncBuilder, steps: readonly Step[], label: Label | null): void {
    for (const step of steps) {
      if (typeof step === "object") {
        const { open, results, otherwise } = step;
        const body = (inner: Label) => emit(f, step.steps, inner);
        if (open === "block" || open === "loop") f[open](results, body);
        else
          f.if(results, body, (otherwise ? (inner: Label) => emit(f, otherwise, inner) : undefined) as never);
      } else if (step === "i32" || step === "f32") f[step](1);
      else if (step === "drop" || step === "select" || step === "return" || step === "unreachable") f[step]();
      else if (step === "br" || step === "br_if") label && (step === "br" ? f.br(label) : f.brIf(label));
      else f.op(step);
    }
  }

  function encode(out: ByteBuffer, steps: readonly Step[], nested: boolean): void {
    for (const step of steps) {
      if (typeof step === "object") {
        out.u8(opcodes[step.open].code);
        out.u8(step.results.length === 0 ? 0x40 : typeCodes[step.results[0]]);
        encode(out, step.steps, true);
        if (step.open === "if" && step.otherwise) {
          out.u8(opcodes.else.code);
          encode(out, step.otherwise, true);
        }
        out.u8(opcodes.end.code);
      } else if (step === "i32") out.raw(Uint8Array.of(opcodes["i32.const"].code, 1));
      else if (step === "f32") out.raw(Uint8Array.of(opcodes["f32.const"].code, 0, 0, 0x80, 0x3f));
      else if (step === "br" || step === "br_if") nested && out.raw(Uint8Array.of(opcodes[step].code, 0));
      else out.u8(opcodes[step].code);
    }
  }

  /** The engine's verdict on `() -> i32` with this body. */
  function valid(steps: readonly Step[]): boolean {
    const out = new ByteBuffer();
    out.raw(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
    out.section(sections.type, () => out.raw(Uint8Array.of(1, 0x60, 0, 1, typeCodes.i32)));
    out.section(sections.function, () => out.raw(Uint8Array.of(1, 0)));
    out.section(sections.code, () => {
      out.u8(1);
      out.sized(() => {
        out.u8(0);
        encode(out, steps, false);
        out.u8(opcodes.end.code);
      });
    });
    return WebAssembly.validate(out.toBytes());
  }

  const { body } = fc.letrec<{ step: Step; body: Step[] }>((tie) => ({
    step: fc.oneof(
      { maxDepth: 3 },
      {
        weight: 6,
        arbitrary: fc.constantFrom<Step>("i32", "f32", "i32.add", "i32.eqz", "f32.neg", "f32.lt"),
      },
      {
        weight: 4,
        arbitrary: fc.constantFrom<Step>("drop", "select", "return", "unreachable", "br", "br_if"),
      },
      {
        weight: 3,
        arbitrary: fc.record<Block>({
          open: fc.constantFrom("block", "loop", "if"),
          results: fc.constantFrom<ValType[]>([], ["i32"], ["f32"]),
          steps: tie("body"),
          otherwise: fc.option(tie("body")),
        }),
      },
    ),
    body: fc.array(tie("step"), { maxLength: 5 }),
  }));

  it("accepts a body exactly when the engine does, unreachable code included", () => {
    const verdicts = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(body, (steps) => {
        const said = complaint((f) => emit(f, steps, null), [], ["i32"]);
        verdicts[said === "fine" ? "accepted" : "refused"]++;
        expect(said === "fine", said).toBe(valid(steps));
      }),
      { numRuns: 3000 },
    );
    expect(verdicts.accepted).toBeGreaterThan(100);
    expect(verdicts.refused).toBeGreaterThan(100);
  });
});
