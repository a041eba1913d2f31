/**
 * `import "strided/turbo"`, first thing in a Node program: opts in to WebAssembly features that this Node's V8 has but
 * does not switch on by itself. Process-wide and experimental, so it is your choice and guarded: a feature that fails its
 * self-test is switched off again, and without any of them everything works, at 128 bits.
 *
 * - relaxed SIMD (Node 20; newer ones have it on): a·b + c in one instruction
 * - revectorisation (Node 24 and newer): V8 pairs 128-bit operations into 256-bit ones
 */
import { ModuleBuilder } from "./wasm/assembler/assembler.ts";
import { detectFeatures, featuresInUse, switches } from "./wasm/assembler/features.ts";

/** A feature of V8, and whether it is on. */
export interface TurboFeature {
  /** What it is. */
  readonly name: "relaxed SIMD" | "revectorisation";
  /** Whether kernels use it. */
  readonly on: boolean;
  /** Why it is on, or not. */
  readonly why: string;
}

interface NodeV8 {
  setFlagsFromString(flag: string): void;
}

type Host = {
  getBuiltinModule?(name: string): unknown;
  readonly versions?: { readonly v8?: string; readonly node?: string };
};

const RELAXED = "--experimental-wasm-relaxed-simd";
const PAIRED = "--experimental-wasm-revectorize";
const host = (globalThis as { process?: Host }).process;

/** What was asked for, what is on, and why. */
export const turbo: readonly TurboFeature[] = featuresInUse() ? late(switchOn()) : switchOn();

/** Kernels were compiled before this import: they stay as they are, and new ones are made with what is on now. */
function late(features: readonly TurboFeature[]): TurboFeature[] {
  const remark = "; imported late: kernels compiled before it do without";
  return features.map((f) => (f.on ? { ...f, why: f.why + remark } : f));
}

function switchOn(): TurboFeature[] {
  const v8 = host?.getBuiltinModule?.("node:v8") as NodeV8 | undefined;
  const version = Number(host?.versions?.v8?.split(".")[0]);
  if (v8 === undefined || !(version > 0)) {
    const why = "this host is not Node";
    return [
      { name: "relaxed SIMD", on: detectFeatures({ fresh: true }).relaxedSimd, why },
      { name: "revectorisation", on: false, why },
    ];
  }
  return [relaxed(v8, version), revectorised(v8, version)];
}

function relaxed(v8: NodeV8, version: number): TurboFeature {
  const name = "relaxed SIMD";
  if (detectFeatures({ fresh: true }).relaxedSimd) return { name, on: true, why: "this Node has it on" };
  if (version >= 12) return { name, on: false, why: "this Node does not have it" };
  v8.setFlagsFromString(RELAXED);
  if (detectFeatures({ fresh: true }).relaxedSimd && fusedMultiplyAdd()) {
    switches.flags.push(RELAXED);
    return { name, on: true, why: "switched on, numbers checked" };
  }
  v8.setFlagsFromString("--no-experimental-wasm-relaxed-simd");
  detectFeatures({ fresh: true });
  return { name, on: false, why: "the self-test failed" };
}

function revectorised(v8: NodeV8, version: number): TurboFeature {
  const name = "revectorisation";
  // V8 13 (Node 24) is the first where it computes right.
  if (version < 13) return { name, on: false, why: "needs Node 24 or newer" };
  v8.setFlagsFromString(PAIRED);
  if (pairsComputeRight()) {
    switches.revectorised = true;
    switches.flags.push(PAIRED);
    return { name, on: true, why: "switched on, numbers checked" };
  }
  v8.setFlagsFromString("--no-experimental-wasm-revectorize");
  return { name, on: false, why: "the self-test failed" };
}

/** a·b + c gives either the fused or the twice rounded result, and nothing else. */
function fusedMultiplyAdd(): boolean {
  const m = new ModuleBuilder();
  const f = m.func("run", { a: "f32", b: "f32", c: "f32" }, ["f32"], { export: true });
  for (const p of f.params) f.get(p).op("f32x4.splat");
  f.op("f32x4.relaxed_madd").lane("f32x4.extract_lane", 0);
  const run = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes())).exports.run as (
    a: number,
    b: number,
    c: number,
  ) => number;
  for (let i = 1; i < 1000; i++) {
    const [a, b, c] = [Math.fround(1 + i / 977), Math.fround(i / 7), Math.fround(-i / 3)];
    const got = run(a, b, c);
    if (got !== Math.fround(a * b + c) && got !== Math.fround(Math.fround(a * b) + c)) return false;
  }
  return true;
}

/** The loop that V8 pairs, often enough to be optimised, against plain arithmetic. */
function pairsComputeRight(): boolean {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const m = new ModuleBuilder();
  m.importMemory("e", "m", { min: 1, max: 1, shared: true });
  const f = m.func("run", { out: "i32", a: "i32", n: "i32" }, [], { export: true });
  const [out, a, n] = f.params;
  const values = [0, 1, 2, 3].map(() => f.local("v128"));
  f.loop((next) => {
    for (const [r, v] of values.entries())
      f.get(a)
        .load("v128.load", 16 * r)
        .set(v);
    for (const v of values) f.get(v).get(v).op("f32x4.mul").get(v).op("f32x4.add").set(v);
    for (let r = 3; r >= 0; r--)
      f.get(out)
        .get(values[r])
        .store("v128.store", 16 * r);
    for (const p of [out, a]) f.get(p).i32(64).op("i32.add").set(p);
    f.get(n).i32(16).op("i32.sub").tee(n).brIf(next);
  });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()), { e: { m: memory } });
  const run = instance.exports.run as (out: number, a: number, n: number) => void;
  const data = new Float32Array(memory.buffer);
  const count = 1024;
  for (let i = 0; i < count; i++) data[i] = (i % 97) / 8 - 5;
  for (let round = 0; round < 3000; round++) run(4 * count, 0, count);
  for (let i = 0; i < count; i++) {
    const x = data[i];
    if (data[count + i] !== Math.fround(Math.fround(x * x) + x)) return false;
  }
  return true;
}
