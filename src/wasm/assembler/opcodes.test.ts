/**
 * Every row of the table is assembled, validated, read back as text, executed, and its result compared with a
 * reference that knows the instruction by its NAME only: a row whose code belongs to another instruction fails.
 */
import { setFlagsFromString } from "node:v8";
import { describe, expect, it, test } from "vitest";
import { type FuncBuilder, i8x16, ModuleBuilder } from "./assembler.ts";
import {
  type AtomicOp,
  type Instruction,
  instruction,
  instructionOfCode,
  isOpcode,
  type LaneOp,
  type LoadLaneOp,
  type LoadOp,
  type Opcode,
  opcodes,
  type PlainOp,
  type StoreLaneOp,
  type StoreOp,
  type ValType,
} from "./opcodes.ts";
import { watOf } from "./wat.ts";

setFlagsFromString("--experimental-wasm-relaxed-simd"); // Node 20 has it behind a flag

const all = (Object.keys(opcodes) as Opcode[]).map(instruction);
const reserved = (i: Instruction) => i.imm === "zero" || i.imm === "zero2";
const groups = {
  structure: all.filter((i) => i.polymorphic || i.name === "nop"),
  constants: all.filter((i) => i.name.endsWith(".const")),
  numeric: all.filter(
    (i) => i.imm === null && !i.polymorphic && i.name !== "nop" && i.feature !== "relaxedSimd",
  ),
  relaxed: all.filter((i) => i.feature === "relaxedSimd"),
  lanes: all.filter((i) => i.imm?.startsWith("lane") || i.imm === "shuffle"),
  atomics: all.filter((i) => i.feature === "threads"),
  loads: all.filter((i) => isAccess(i) && i.results.length === 1),
  stores: all.filter((i) => isAccess(i) && i.results.length === 0),
  memory: all.filter((i) => reserved(i) && i.feature !== "threads"),
};

function isAccess(i: Instruction): boolean {
  return (i.imm === "memarg" || i.imm === "memlane") && i.feature !== "threads";
}

// Lanes: a value is 16 bytes; a shape says how to read them. Integers are unsigned bigints.

type Lane = bigint | number;
interface Shape {
  readonly float: boolean;
  readonly bits: number;
  readonly count: number;
}
interface Expected {
  readonly shape: Shape;
  readonly lanes: readonly Lane[];
}
const trap = "trap";

function shapeOf(name: string): Shape {
  const [, kind, bits, count] = /^([if])(\d+)(?:x(\d+))?$/.exec(name)!;
  return { float: kind === "f", bits: Number(bits), count: count ? Number(count) : 1 };
}

function read(bytes: Uint8Array, { float, bits, count }: Shape): Lane[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: count }, (_, i) => {
    const at = (i * bits) / 8;
    if (float) return bits === 32 ? view.getFloat32(at, true) : view.getFloat64(at, true);
    let value = 0n;
    for (let k = bits / 8 - 1; k >= 0; k--) value = (value << 8n) | BigInt(view.getUint8(at + k));
    return value;
  });
}

const ints = (bytes: Uint8Array, shape: Shape, signed = false): bigint[] =>
  (read(bytes, { ...shape, float: false }) as bigint[]).map((x) =>
    signed ? BigInt.asIntN(shape.bits, x) : x,
  );
const floats = (bytes: Uint8Array, shape: Shape) => read(bytes, { ...shape, float: true }) as number[];
const bitsOf = (shape: Shape): Shape => ({ ...shape, float: false });
const i32 = shapeOf("i32");

function range(bits: number, signed: boolean): [bigint, bigint] {
  const n = BigInt(bits);
  return signed ? [-(1n << (n - 1n)), (1n << (n - 1n)) - 1n] : [0n, (1n << n) - 1n];
}

function clamp(x: bigint, bits: number, signed: boolean): bigint {
  const [low, high] = range(bits, signed);
  return x < low ? low : x > high ? high : x;
}

// The reference: small tables of lane functions, found by parsing the name.

type IntOp = (a: bigint, b: bigint, bits: bigint, signed: boolean) => bigint | typeof trap;
const mod = (a: bigint, n: bigint) => ((a % n) + n) % n;
const intBinary: Record<string, IntOp> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b, n, signed) => (b === 0n || (signed && a / b === 1n << (n - 1n)) ? trap : a / b),
  rem: (a, b) => (b === 0n ? trap : a % b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  andnot: (a, b) => a & ~b,
  shl: (a, b, n) => a << mod(b, n),
  shr: (a, b, n) => a >> mod(b, n),
  rotl: (a, b, n) => (a << mod(b, n)) | (a >> (n - mod(b, n))),
  rotr: (a, b, n) => (a >> mod(b, n)) | (a << (n - mod(b, n))),
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a > b ? a : b),
  avgr: (a, b) => (a + b + 1n) >> 1n,
  add_sat: (a, b, n, signed) => clamp(a + b, Number(n), signed),
  sub_sat: (a, b, n, signed) => clamp(a - b, Number(n), signed),
  q15mulr_sat: (a, b) => clamp((a * b + 0x4000n) >> 15n, 16, true),
};
const intUnary: Record<string, (a: bigint, bits: number) => bigint> = {
  clz: (a, bits) => BigInt(bits - (a === 0n ? 0 : a.toString(2).length)),
  ctz: (a, bits) => BigInt(a === 0n ? bits : /0*$/.exec(a.toString(2))![0].length),
  popcnt: (a) => BigInt(a.toString(2).replaceAll("0", "").length),
  abs: (a, bits) => (BigInt.asIntN(bits, a) < 0n ? -BigInt.asIntN(bits, a) : a),
  neg: (a) => -a,
  not: (a) => ~a,
  extend8_s: (a) => BigInt.asIntN(8, a),
  extend16_s: (a) => BigInt.asIntN(16, a),
  extend32_s: (a) => BigInt.asIntN(32, a),
};
/** On the bits, so that the sign of a NaN counts. */
const floatBits: Record<string, (a: bigint, b: bigint, sign: bigint) => bigint> = {
  abs: (a, _, sign) => a & ~sign,
  neg: (a, _, sign) => a ^ sign,
  copysign: (a, b, sign) => (a & ~sign) | (b & sign),
};
const floatUnary: Record<string, (a: number) => number> = {
  ceil: Math.ceil,
  floor: Math.floor,
  trunc: Math.trunc,
  sqrt: Math.sqrt,
  nearest: (a) => {
    const low = Math.floor(a);
    const even = low % 2 === 0 ? low : low + 1;
    const nearest = a - low < 0.5 ? low : a - low > 0.5 ? low + 1 : Number.isFinite(a) ? even : a;
    return a < 0 && nearest === 0 ? -0 : Object.is(a, -0) ? a : nearest;
  },
};
const floatBinary: Record<string, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  min: Math.min,
  max: Math.max,
  pmin: (a, b) => (b < a ? b : a),
  pmax: (a, b) => (a < b ? b : a),
};
const compare: Record<string, (a: Lane, b: Lane) => boolean> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  gt: (a, b) => a > b,
  le: (a, b) => a <= b,
  ge: (a, b) => a >= b,
};

function reference(name: string, args: readonly Uint8Array[]): Expected | typeof trap {
  const [head, op] = name.split(".");
  const shape = head === "v128" ? shapeOf("i64x2") : shapeOf(head);
  return shapeChange(shape, op, args) ?? (shape.float ? floatOp(shape, op, args) : intOp(shape, op, args));
}

function intOp(shape: Shape, op: string, args: readonly Uint8Array[]): Expected | typeof trap {
  const [, base, suffix] = /^(.*?)(?:_([su]))?$/.exec(op)!;
  const signed = suffix === "s";
  const a = ints(args[0], shape, signed);
  if (op === "eqz") return { shape: i32, lanes: [a[0] === 0n ? 1n : 0n] };
  if (op === "all_true") return { shape: i32, lanes: [a.every((x) => x !== 0n) ? 1n : 0n] };
  if (op === "any_true") return { shape: i32, lanes: [a.some((x) => x !== 0n) ? 1n : 0n] };
  if (op === "bitmask") {
    const top = BigInt(shape.bits - 1);
    return { shape: i32, lanes: [a.reduce((mask, x, i) => mask | ((x >> top) << BigInt(i)), 0n)] };
  }
  if (op === "bitselect" || op === "laneselect") {
    const [b, mask] = [ints(args[1], shape), ints(args[2], shape)];
    return wrapped(
      shape,
      a.map((x, i) => (x & mask[i]) | (b[i] & ~mask[i])),
    );
  }
  if (Object.hasOwn(intUnary, op))
    return wrapped(
      shape,
      ints(args[0], shape).map((x) => intUnary[op](x, shape.bits)),
    );
  const shift = shape.count > 1 && (base === "shl" || base === "shr");
  const b = shift ? a.map(() => ints(args[1], i32)[0]) : ints(args[1], shape, signed);
  if (Object.hasOwn(compare, base))
    return truth(
      shape,
      a.map((x, i) => compare[base](x, b[i])),
    );
  const lanes = a.map((x, i) => intBinary[base](x, b[i], BigInt(shape.bits), signed));
  return lanes.some((x) => x === trap) ? trap : wrapped(shape, lanes as bigint[]);
}

function floatOp(shape: Shape, op: string, args: readonly Uint8Array[]): Expected {
  if (Object.hasOwn(floatBits, op)) {
    const [a, b] = [ints(args[0], shape), ints(args.at(-1)!, shape)];
    return wrapped(
      shape,
      a.map((x, i) => floatBits[op](x, b[i], 1n << BigInt(shape.bits - 1))),
    );
  }
  const [a, b, c] = args.map((arg) => floats(arg, shape));
  if (Object.hasOwn(compare, op))
    return truth(
      shape,
      a.map((x, i) => compare[op](x, b[i])),
    );
  if (op === "madd")
    return rounded(
      shape,
      a.map((x, i) => x * b[i] + c[i]),
    );
  if (op === "nmadd")
    return rounded(
      shape,
      a.map((x, i) => -(x * b[i]) + c[i]),
    );
  return rounded(
    shape,
    a.map((x, i) => (Object.hasOwn(floatUnary, op) ? floatUnary[op](x) : floatBinary[op](x, b[i]))),
  );
}

/** Instructions that read one shape and give another, or null. */
function shapeChange(to: Shape, op: string, args: readonly Uint8Array[]): Expected | typeof trap | null {
  const [, verb, half, source, suffix, zero] =
    /^([a-z_]+?)_(low_|high_|pairwise_)?([if]\d+(?:x\d+)?)(?:_i7x16(?:_add)?)?(?:_([su]))?(_zero)?$/.exec(
      op,
    ) ?? [];
  if (op === "splat") {
    const lane = to.float ? floats(args[0], { ...to, count: 1 })[0] : ints(args[0], { ...to, count: 1 })[0];
    return { shape: to, lanes: Array(to.count).fill(lane) };
  }
  if (op === "swizzle") {
    const a = ints(args[0], to);
    return { shape: to, lanes: ints(args[1], to).map((i) => a[Number(i)] ?? 0n) };
  }
  if (verb === undefined) return null;
  const from = shapeOf(source);
  const signed = suffix === "s";
  const pick = <T>(lanes: T[]): T[] =>
    half === "low_" ? lanes.slice(0, to.count) : half === "high_" ? lanes.slice(to.count) : lanes;
  if (verb === "narrow") {
    const lanes = [...ints(args[0], from, true), ...ints(args[1], from, true)];
    return wrapped(
      to,
      lanes.map((x) => clamp(x, to.bits, signed)),
    );
  }
  if (verb === "extmul") {
    const [a, b] = args.map((arg) => pick(ints(arg, from, signed)));
    return wrapped(
      to,
      a.map((x, i) => x * b[i]),
    );
  }
  if (verb === "extadd" || verb === "dot") {
    const a = ints(args[0], from, signed);
    const b = verb === "dot" ? ints(args[1], from, signed) : a.map(() => 1n);
    const sums = args[2] ? ints(args[2], to) : Array<bigint>(to.count).fill(0n);
    a.forEach((x, i) => {
      sums[Math.floor((i * to.count) / from.count)] += x * b[i];
    });
    return wrapped(to, sums);
  }
  if (verb === "reinterpret") return wrapped(to, ints(args[0], from));
  const lanes = from.float
    ? pick(floats(args[0], from)).map((x) => (to.float ? x : truncate(x, to.bits, signed, verb !== "trunc")))
    : pick(ints(args[0], from, signed)).map((x) => (to.float ? nearestFloat(x, to.bits) : x));
  if (lanes.some((x) => x === trap)) return trap;
  const padded = zero ? [...lanes, ...lanes.map(() => (to.float ? 0 : 0n))] : lanes;
  return to.float ? rounded(to, padded as number[]) : wrapped(to, padded as bigint[]);
}

function truncate(x: number, bits: number, signed: boolean, saturate: boolean): bigint | typeof trap {
  const [low, high] = range(bits, signed);
  if (Number.isNaN(x)) return saturate ? 0n : trap;
  if (!Number.isFinite(x)) return saturate ? (x > 0 ? high : low) : trap;
  const integer = BigInt(Math.trunc(x));
  if (integer < low || integer > high) return saturate ? clamp(integer, bits, signed) : trap;
  return integer;
}

/** Rounded once: an i64 is not rounded to f64 on its way to f32. */
function nearestFloat(x: bigint, bits: number): number {
  if (bits === 64) return Number(x);
  const size = x < 0n ? -x : x;
  const shift = BigInt(Math.max(0, size.toString(2).length - 40));
  const sticky = (size >> shift) << shift === size ? 0n : 1n;
  const near = Math.fround(Number((size >> shift) | sticky)) * 2 ** Number(shift);
  return x < 0n ? -near : near;
}

function wrapped(shape: Shape, lanes: readonly bigint[]): Expected {
  return { shape: bitsOf(shape), lanes: lanes.map((x) => BigInt.asUintN(shape.bits, x)) };
}

function rounded(shape: Shape, lanes: readonly number[]): Expected {
  return { shape, lanes: shape.bits === 32 ? lanes.map(Math.fround) : lanes };
}

/** A scalar comparison gives an i32 of 0 or 1, a vector comparison lanes of all zeros or all ones. */
function truth(shape: Shape, lanes: readonly boolean[]): Expected {
  return shape.count === 1
    ? { shape: i32, lanes: [lanes[0] ? 1n : 0n] }
    : wrapped(
        shape,
        lanes.map((yes) => (yes ? -1n : 0n)),
      );
}

// Inputs: edges of every width, as floats and as integers, and noise.

const f32s = (...lanes: number[]) => new Uint8Array(Float32Array.from(lanes).buffer);
const f64s = (...lanes: number[]) => new Uint8Array(Float64Array.from(lanes).buffer);
const noise = (seed: number) =>
  Uint8Array.from({ length: 16 }, (_, i) => Math.imul(seed + 31 * i, 0x9e3779b1) >>> 24);
const inputs = [
  i8x16(0),
  i8x16(-1),
  i8x16(-128),
  i8x16(127),
  i8x16(3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0x80),
  i8x16(0, 0, 0, 0x80, 0xff, 0xff, 0xff, 0x7f, 1, 0x80, 0xff, 0x7f, 0, 0x80, 0xff, 0x7f),
  i8x16(0, 0, 0, 0, 0, 0, 0, 0x80, 15, 14, 16, 3, 2, 1, 0, 9),
  i8x16(1, 0, 0, 1, 0, 0, 0, 0x40, 5, 0x80, 6, 0x40, 7, 0x20, 8, 0x10),
  f32s(-0, 0, 1.5, -2.5),
  f32s(0.5, Number.NaN, -0.5, 2.5),
  f32s(-2147483648, 4294967040, -1e20, Number.POSITIVE_INFINITY),
  f32s(200.7, -3.9, 16777216, 2 ** -149),
  f64s(-0, 2.5),
  f64s(Number.NaN, -1e300),
  f64s(4294967295.5, -2147483648.9),
  f64s(1e10, -0.5),
  f64s(0, Number.NEGATIVE_INFINITY),
  noise(1),
  noise(77),
  noise(1234),
];

/** Argument lists: every second pair (equal ones too) for two, a walk through triples for three. */
function argumentsFor(count: number, values: readonly Uint8Array[] = inputs): Uint8Array[][] {
  if (count === 1) return values.map((a) => [a]);
  const pairs = values.flatMap((a, i) => values.filter((_, j) => (i + j) % 2 === 0).map((b) => [a, b]));
  return count === 2 ? pairs : pairs.map((pair, i) => [...pair, values[(5 * i + 1) % values.length]]);
}

// Execution on a small shared memory: arguments at 0, 16, 32, the result at 64.

const memory = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
const bytes = new Uint8Array(memory.buffer);
const resultAt = 64;
type Run = () => unknown;

function build(results: readonly ValType[], write: (f: FuncBuilder) => void): { wat: string; run: Run } {
  const module = new ModuleBuilder().importMemory("env", "memory", { min: 1, max: 4, shared: true });
  const f = module.func("run", [], results, { export: true });
  write(f);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()), { env: { memory } });
  return { wat: watOf(module), run: instance.exports.run as Run };
}

/** Pushes the arguments from memory; the first `skip` are pushed by the caller. */
function pushArguments(f: FuncBuilder, params: readonly ValType[], skip = 0): void {
  for (let k = skip; k < params.length; k++) f.i32(0).load(`${params[k]}.load`, 16 * k);
}

/**
 * `() => memory[64] = op(memory[0], memory[16], …)`. The arguments come from locals: the baseline compiler of
 * Node 20 computes `relaxed_dot_…_add_s` wrongly when its operands die on the stack.
 */
function calculation(
  instr: Instruction,
  emit: (f: FuncBuilder) => void,
): (args: Uint8Array[]) => Uint8Array | typeof trap {
  const { params, results } = instr;
  const { wat, run } = build([], (f) => {
    const args = params.map((type) => f.local(type));
    for (const [k, arg] of args.entries())
      f.i32(0)
        .load(`${arg.type}.load`, 16 * k)
        .set(arg);
    f.i32(0);
    for (const arg of args) f.get(arg);
    emit(f);
    f.store(`${results[0]}.store`, resultAt);
  });
  const loads = params.flatMap((type) => ["i32.const", `${type}.load`, "local.set"]);
  const gets = params.map(() => "local.get");
  expect(mnemonics(wat)).toEqual([...loads, "i32.const", ...gets, instr.name, `${results[0]}.store`]);
  return (args) => {
    for (const [k, arg] of args.entries()) bytes.set(arg, 16 * k);
    try {
      run();
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) return trap;
      throw error;
    }
    return bytes.slice(resultAt, resultAt + 16);
  };
}

/** The instruction names of a text with one function and no locals, in order. */
function mnemonics(wat: string): string[] {
  return Array.from(wat.matchAll(/^ {4,}([a-z][\w.]*)/gm), ([, name]) => name);
}

function check(
  name: string,
  args: Uint8Array[],
  got: Uint8Array | typeof trap,
  want: Expected | typeof trap,
): void {
  const lanes = got === trap || want === trap ? got : read(got, want.shape);
  const expected = want === trap ? trap : want.lanes;
  const same =
    typeof lanes === "string" || typeof expected === "string"
      ? lanes === expected
      : expected.every((x, i) => Object.is(x, (lanes as Lane[])[i]));
  if (!same) expect.fail(`${name}(${args.map((a) => `[${a}]`).join(", ")}) = ${lanes}, expected ${expected}`);
}

describe("the table", () => {
  it("has as many rows as the specification has instructions", () => {
    const counts = Object.fromEntries(Object.entries(groups).map(([group, rows]) => [group, rows.length]));
    expect(counts).toEqual({
      structure: 19, // 12 of control, drop, select, 5 of variables
      constants: 5,
      numeric: 123 + 5 + 8 + 198, // MVP, sign extension, saturating truncation, SIMD
      relaxed: 20,
      lanes: 15,
      atomics: 22,
      loads: 14 + 17, // v128: load, 6 extending, 4 splat, 2 zero, 4 lane
      stores: 9 + 5, // v128: store, 4 lane
      memory: 4,
    });
    expect(all.filter((i) => i.feature === "simd").length).toBe(236);
    expect(
      Object.values(groups)
        .flat()
        .map((i) => i.name)
        .sort(),
    ).toEqual(Object.keys(opcodes).sort());
  });

  it("gives each code to one instruction, and finds it again by the code", () => {
    for (const i of all) expect(instructionOfCode(i.code)?.name).toBe(i.name);
    expect(instructionOfCode(0xfd_fff)).toBe(null);
  });

  it("knows its names", () => {
    expect(isOpcode("i8x16.gt_s")).toBe(true);
    expect(isOpcode("i8x16.gt")).toBe(false);
    expect(isOpcode("toString")).toBe(false);
  });
});

describe("numeric instructions give what their names say", () => {
  const fingerprints = new Map<string, Map<string, string>>();

  test.each(groups.numeric.map((i) => i.name as PlainOp))("%s", (name) => {
    const instr = instruction(name);
    const calculate = calculation(instr, (f) => f.op(name));
    let outputs = "";
    for (const args of argumentsFor(instr.params.length)) {
      const got = calculate(args);
      check(name, args, got, reference(name, args));
      outputs +=
        got === trap ? trap : Buffer.from(got.slice(0, widthOf(instr.results[0]))).toString("latin1");
    }
    const signature = `${instr.params} -> ${instr.results}`;
    const seen = fingerprints.get(signature) ?? new Map<string, string>();
    fingerprints.set(signature, seen.set(outputs, seen.get(outputs) ?? name));
    // The inputs tell it from every other instruction of its signature: none can stand in for another.
    expect(seen.get(outputs)).toBe(name);
  });
});

function widthOf(type: ValType): number {
  return { i32: 4, f32: 4, i64: 8, f64: 8, v128: 16 }[type];
}

describe("relaxed instructions agree with the strict ones where every processor must", () => {
  const singles = [f32s(1, -2, 3, 0.5), f32s(4, 8, -16, 2), f32s(-1, 5, 7, -9)];
  const doubles = [f64s(3, -0.25), f64s(6, 12), f64s(-1, 0.5)];
  const indices = [i8x16(0), i8x16(...Array.from({ length: 16 }, (_, i) => 15 - i)), i8x16(5)];
  const masks = [i8x16(0), i8x16(-1), f64s(0, 0).fill(255, 8), f64s(0, 0).fill(255, 0, 8)];
  const unsigned = [f32s(0, 1.5, 200.25, 65536), f64s(7.75, 4e9), f64s(0, 3)];
  const seven = [i8x16(127), i8x16(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), i8x16(0)];
  const spread = inputs.filter((x) => !ints(x, shapeOf("i16x8")).includes(0x8000n));
  /** Values for each argument on which the result does not depend on the processor. */
  const domain = (op: string): readonly Uint8Array[][] => {
    if (op.includes("swizzle")) return [inputs, indices];
    if (op.includes("laneselect")) return [inputs, inputs, masks];
    const small = op.includes("f64x2") ? doubles : singles;
    if (op.includes("trunc")) return [op.includes("_u") ? unsigned : small];
    if (op.includes("q15mulr")) return [spread, spread];
    if (op.includes("dot")) return [inputs, seven, inputs];
    return [small, small, small];
  };
  const product = (sets: readonly Uint8Array[][]): Uint8Array[][] =>
    sets.reduce<Uint8Array[][]>((lists, set) => lists.flatMap((head) => set.map((x) => [...head, x])), [[]]);

  test.each(groups.relaxed.map((i) => i.name as PlainOp))("%s", (name) => {
    const instr = instruction(name);
    const strict = name
      .replace("relaxed_", "")
      .replace("q15mulr_s", "q15mulr_sat_s")
      .replace(".trunc", ".trunc_sat");
    const calculate = calculation(instr, (f) => f.op(name));
    for (const args of product(domain(name).slice(0, instr.params.length))) {
      check(name, args, calculate(args), reference(strict, args));
    }
  });
});

describe("lanes and constants", () => {
  test.each(groups.lanes.filter((i) => i.imm !== "shuffle").map((i) => i.name as LaneOp))("%s", (name) => {
    const instr = instruction(name);
    const [head, op] = name.split(".");
    const shape = shapeOf(head);
    for (let lane = 0; lane < shape.count; lane++) {
      const calculate = calculation(instr, (f) => f.lane(name, lane));
      for (const args of argumentsFor(instr.params.length)) {
        const lanes = ints(args[0], shape, op.endsWith("_s"));
        const scalar = { ...shape, bits: widthOf(instr.results[0]) * 8, count: 1 };
        const want = op.startsWith("extract")
          ? wrapped(scalar, [lanes[lane]])
          : wrapped(shape, lanes.with(lane, ints(args[1], { ...shape, count: 1 })[0]));
        check(name, args, calculate(args), want);
      }
    }
  });

  test("i8x16.shuffle", () => {
    const order = [31, 0, 16, 15, 1, 17, 2, 18, 3, 19, 30, 29, 5, 5, 21, 7];
    const calculate = calculation(instruction("i8x16.shuffle"), (f) => f.shuffle(order));
    const [a, b] = [noise(5), noise(9)];
    expect(calculate([a, b])).toEqual(Uint8Array.from(order, (k) => [...a, ...b][k]));
  });

  test("constants keep every bit", () => {
    const constant = (type: ValType, emit: (f: FuncBuilder) => void) =>
      calculation(instruction(`${type}.const`), emit)([]) as Uint8Array;
    for (const n of [0, 1, -1, 63, 64, -64, -65, 2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1]) {
      expect(
        ints(
          constant("i32", (f) => f.i32(n)),
          i32,
          true,
        ),
      ).toEqual([BigInt(n | 0)]);
    }
    for (const n of [0n, -1n, 1n << 62n, -(1n << 63n), (1n << 64n) - 1n]) {
      expect(
        ints(
          constant("i64", (f) => f.i64(n)),
          shapeOf("i64"),
        ),
      ).toEqual([BigInt.asUintN(64, n)]);
    }
    for (const x of [0, -0, 1.5, Number.NaN, Number.NEGATIVE_INFINITY]) {
      expect(
        floats(
          constant("f32", (f) => f.f32(x)),
          shapeOf("f32"),
        ),
      ).toEqual([x]);
      expect(
        floats(
          constant("f64", (f) => f.f64(x)),
          shapeOf("f64"),
        ),
      ).toEqual([x]);
    }
    expect(
      floats(
        constant("f32", (f) => f.f32(0.1)),
        shapeOf("f32"),
      ),
    ).toEqual([Math.fround(0.1)]);
    expect(
      floats(
        constant("f64", (f) => f.f64(0.1)),
        shapeOf("f64"),
      ),
    ).toEqual([0.1]);
    expect(constant("v128", (f) => f.v128(noise(3)))).toEqual(noise(3));
  });
});

describe("memory", () => {
  const at = 1001; // unaligned, and the offset counts
  const offset = 3;

  test.each(groups.loads.map((i) => i.name))("%s", (name) => {
    const instr = instruction(name);
    const [, bits, lanesText, how] = /load(\d+)?(?:x(\d+))?(?:_(\w+))?$/.exec(name)!;
    const type = instr.results[0];
    const held = noise(40); // the vector that a lane is loaded into
    for (const source of [noise(200), noise(201)]) {
      bytes.set(source, at + offset);
      for (let lane = 0; lane < (how === "lane" ? 16 / instr.bytes : 1); lane++) {
        const { wat, run } = build([], (f) => {
          f.i32(0).i32(at);
          pushArguments(f, instr.params, 1);
          if (how === "lane") f.loadLane(name as LoadLaneOp, lane, offset);
          else f.load(name as LoadOp, offset);
          f.store(`${type}.store`, resultAt);
        });
        expect(mnemonics(wat).at(-2)).toBe(name);
        bytes.set(held, 16);
        bytes.fill(0xaa, resultAt, resultAt + 16);
        run();
        const width = bits ? Number(bits) : widthOf(type) * 8;
        const piece = { float: false, bits: width, count: lanesText ? Number(lanesText) : 1 };
        const pieces = ints(source, piece, how === "s");
        const cells = (128 / width) as number;
        const want = {
          splat: () => wrapped({ ...piece, count: cells }, Array(cells).fill(pieces[0])),
          zero: () => wrapped({ ...piece, count: cells }, [pieces[0], ...Array(cells - 1).fill(0n)]),
          lane: () =>
            wrapped({ ...piece, count: cells }, ints(held, { ...piece, count: cells }).with(lane, pieces[0])),
          s: () => wrapped({ ...piece, bits: widened(width) }, pieces),
          u: () => wrapped({ ...piece, bits: widened(width) }, pieces),
          whole: () => wrapped(piece, pieces),
        }[how ?? "whole"]!();
        check(name, [source], bytes.slice(resultAt, resultAt + 16), want);

        function widened(from: number): number {
          return lanesText ? 2 * from : widthOf(type) * 8;
        }
      }
    }
  });

  test.each(groups.stores.map((i) => i.name))("%s", (name) => {
    const instr = instruction(name);
    const value = noise(90);
    const isLane = instr.imm === "memlane";
    for (let lane = 0; lane < (isLane ? 16 / instr.bytes : 1); lane++) {
      const { wat, run } = build([], (f) => {
        f.i32(at);
        pushArguments(f, instr.params, 1);
        if (isLane) f.storeLane(name as StoreLaneOp, lane, offset);
        else f.store(name as StoreOp, offset);
      });
      expect(mnemonics(wat).at(-1)).toBe(name);
      bytes.fill(0xaa, at, at + 32);
      bytes.set(value, 16);
      run();
      const want = new Uint8Array(32).fill(0xaa);
      want.set(value.subarray(lane * instr.bytes, (lane + 1) * instr.bytes), offset);
      expect(bytes.slice(at, at + 32)).toEqual(want);
    }
  });

  test("memory.size, memory.grow, memory.fill, memory.copy", () => {
    const { wat, run } = build(["i32", "i32", "i32"], (f) => {
      f.i32(2000).i32(7).i32(3).op("memory.fill");
      f.i32(3000).i32(1999).i32(4).op("memory.copy");
      f.op("memory.size").i32(1).op("memory.grow").op("memory.size");
    });
    bytes.fill(1, 1990, 3010);
    const pages = memory.buffer.byteLength / 65536;
    expect(run()).toEqual([pages, pages, pages + 1]);
    expect(bytes.slice(1999, 2004)).toEqual(Uint8Array.of(1, 7, 7, 7, 1));
    expect(bytes.slice(2999, 3006)).toEqual(Uint8Array.of(1, 1, 7, 7, 7, 1, 1));
    for (const { name } of groups.memory) expect(mnemonics(wat)).toContain(name);
  });
});

describe("atomics", () => {
  const at = 2048;
  const rmw: Record<string, (old: bigint, x: bigint, y: bigint) => bigint> = {
    add: (old, x) => old + x,
    sub: (old, x) => old - x,
    and: (old, x) => old & x,
    or: (old, x) => old | x,
    xor: (old, x) => old ^ x,
    xchg: (_, x) => x,
    cmpxchg: (old, x, y) => (old === x ? y : old),
  };
  const readWrite = groups.atomics.filter((i) => i.name.includes(".atomic.") && !i.name.startsWith("memory"));

  test.each(readWrite.map((i) => i.name))("%s", (name) => {
    const instr = instruction(name);
    const action = name.split(".").at(-1)!;
    const shape = shapeOf(name.split(".")[0]);
    const { wat, run } = build([], (f) => {
      if (instr.results.length > 0) f.i32(0);
      f.i32(at);
      pushArguments(f, instr.params, 1);
      if (action === "load") f.load(name as LoadOp, 8);
      else if (action === "store") f.store(name as StoreOp, 8);
      else f.atomic(name as AtomicOp, 8);
      if (instr.results.length > 0) f.store(`${instr.results[0]}.store`, resultAt);
    });
    expect(mnemonics(wat)).toContain(name);
    for (const [old, x, y] of argumentsFor(3).concat(inputs.map((a) => [a, a, noise(8)]))) {
      bytes.set(old.subarray(0, instr.bytes), at + 8);
      bytes.set(x, 16);
      bytes.set(y, 32);
      run();
      const [before, first, second] = [old, x, y].map((value) => ints(value, shape)[0]);
      const after =
        action === "load" ? before : action === "store" ? first : rmw[action](before, first, second);
      check(name, [old, x, y], bytes.slice(at + 8, at + 24), wrapped(shape, [after]));
      if (action !== "store")
        check(name, [old, x, y], bytes.slice(resultAt, resultAt + 16), wrapped(shape, [before]));
    }
  });

  test("wait says at once that the value differs, or that the time is over; notify wakes nobody; fence is a fence", () => {
    const answers: [number, (f: FuncBuilder) => void][] = [
      [1, (f) => f.i32(at).i32(5).i64(-1).atomic("memory.atomic.wait32", 8)],
      [2, (f) => f.i32(at).i32(4).i64(1000).atomic("memory.atomic.wait32", 8)],
      [1, (f) => f.i32(at).i64(4).i64(-1).atomic("memory.atomic.wait64", 8)],
      [
        2,
        (f) =>
          f
            .i32(at)
            .i64((9n << 32n) | 4n)
            .i64(1000)
            .atomic("memory.atomic.wait64", 8),
      ],
      [0, (f) => f.op("atomic.fence").i32(at).i32(1).atomic("memory.atomic.notify", 8)],
    ];
    bytes.set([4, 0, 0, 0, 9, 0, 0, 0], at + 8);
    const tested = new Set<string>(readWrite.map((i) => i.name));
    for (const [answer, emit] of answers) {
      const { wat, run } = build(["i32"], emit);
      expect(run()).toBe(answer);
      for (const name of mnemonics(wat)) tested.add(name);
    }
    for (const { name } of groups.atomics) expect(tested).toContain(name);
  });
});

describe("structure", () => {
  const module = new ModuleBuilder();
  const twice = module.importFunc("env", "twice", ["i32"], ["i32"]);
  const count = module.global("i32", true, 40, { name: "count" });

  /** 0 + 1 + … + n, by a loop that leaves through a block. */
  const sum = module.func("sum", { n: "i32" }, ["i32"], { export: true });
  const [n] = sum.params;
  const total = sum.local("i32", "total");
  sum.op("nop").block((done) => {
    sum.loop((next) => {
      sum.get(n).op("i32.eqz").brIf(done);
      sum.get(total).get(n).op("i32.add").set(total);
      sum.get(n).i32(1).op("i32.sub").tee(n).drop().br(next);
    });
  });
  sum.get(total).get(count).i32(1).op("i32.add").set(count);

  const pick = module.func("pick", { i: "i32" }, ["i32"], { export: true });
  pick.block((other) => {
    pick.block((one) => {
      pick.block((zero) => pick.get(pick.param("i")).brTable([zero, one], other));
      pick.i32(100).return();
    });
    pick.i32(111).return();
  });
  pick.get(pick.param("i")).i32(5).op("i32.eq");
  pick.if(
    ["i32"],
    () => pick.unreachable(),
    () => pick.get(count).i32(21).call(twice).get(pick.param("i")).i32(7).op("i32.eq").select(),
  );

  const bytesOut = module.toBytes();
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytesOut), {
    env: { twice: (x: number) => 2 * x },
  });
  const run = instance.exports as Record<"sum" | "pick", (x: number) => number>;

  it("loops, branches, selects, calls, traps", () => {
    expect(run.sum(10)).toBe(55);
    expect([0, 1, 2, 7].map(run.pick)).toEqual([100, 111, 42, 41]);
    expect(() => run.pick(5)).toThrow(WebAssembly.RuntimeError);
  });

  it("covers every row of the group", () => {
    const names = new Set(mnemonics(watOf(module)));
    for (const { name } of groups.structure) expect(names).toContain(name);
  });
});
