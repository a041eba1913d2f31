/**
 * What this host's WebAssembly can do, found by asking it to validate a tiny module for each feature.
 * Nothing runs at import.
 */
import { f32x4, i32x4, ModuleBuilder } from "./assembler.ts";
import type { Feature } from "./opcodes.ts";

export type Features = Readonly<Record<Exclude<Feature, "core">, boolean>>;

let known: Features | null = null;
let asked = false;

/** Has anybody compiled for what this host can do? */
export const featuresInUse = (): boolean => asked;

/** Found once and kept; `fresh` asks the host again, after a switch such as V8's `--experimental-wasm-…`. */
export function detectFeatures(options: { readonly fresh?: boolean } = {}): Features {
  if (options.fresh !== true) asked = true;
  if (known === null || options.fresh) {
    known = { simd: simd(), relaxedSimd: relaxedSimd(), threads: threads(), bulkMemory: bulkMemory() };
  }
  return known;
}

function simd(): boolean {
  return validates((m) => m.func("probe", [], ["v128"]).v128(i32x4(1)).v128(i32x4(2)).op("i32x4.add"));
}

function relaxedSimd(): boolean {
  return validates((m) => {
    const one = f32x4(1);
    m.func("probe", [], ["v128"]).v128(one).v128(one).v128(one).op("f32x4.relaxed_madd");
  });
}

function threads(): boolean {
  return validates((m) => {
    m.importMemory("env", "memory", { min: 1, max: 1, shared: true });
    m.func("probe", [], ["i32"]).i32(0).i32(1).atomic("i32.atomic.rmw.add");
  });
}

function bulkMemory(): boolean {
  return validates((m) => {
    m.importMemory("env", "memory", { min: 1 });
    m.func("probe", []).i32(0).i32(8).i32(8).op("memory.copy");
  });
}

function validates(probe: (m: ModuleBuilder) => void): boolean {
  const module = new ModuleBuilder();
  probe(module);
  return WebAssembly.validate(module.toBytes());
}

/** What strided/turbo has switched on in this process: for explain, and as flags for the processes it starts. */
export const switches = { revectorised: false, flags: [] as string[] };
