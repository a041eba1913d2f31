import { ModuleBuilder } from "./src/wasm/assembler.ts";
const m = new ModuleBuilder(); m.importMemory("e", "m", { min: 2, max: 65536, shared: true });
const f = m.func("run", { d: "i32", s: "i32", n: "i32" }, [], { export: true });
f.get(f.params[0]).get(f.params[1]).get(f.params[2]).op("memory.copy");
const mem = new WebAssembly.Memory({ initial: 4096, maximum: 65536, shared: true });
const run = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()), { e: { m: mem } }).exports.run as (d: number, s: number, n: number) => void;
for (const n of [1 << 16, 1 << 20, 1 << 26]) { let best = 1e9; const reps = Math.max(1, (1 << 26) / n); for (let i = 0; i < 12; i++) { const t = performance.now(); for (let r = 0; r < reps; r++) run(1 << 20, 1 << 27, n); best = Math.min(best, performance.now() - t); } console.log(n, (2 * n * reps / best / 1e6).toFixed(1), "GB/s"); }
