import { lowerFunction } from "./src/frontend/lower.ts";
import { specialize } from "./src/frontend/infer.ts";
import { simplify } from "./src/optimize/rules.ts";
import { lowerStorage } from "./src/optimize/storage.ts";
import { planKernel } from "./src/optimize/vectorize.ts";
import { emitElementwise, descriptor } from "./src/wasm/elementwise.ts";
import { verify } from "./src/ir/verify.ts";
import { printProgram } from "./src/ir/print.ts";
const t = lowerFunction(((a: number, b: number) => Math.max(a * b, 0)) as never) as never;
let p = specialize(t, ["f32", "f32"], []);
console.log(printProgram(p));
p = verify(lowerStorage(simplify(p)), "x");
console.log(printProgram(p));
const plan = planKernel(p, ["contiguous", "contiguous", "contiguous"], true);
const m = emitElementwise(plan, { fma: false, shared: true });
console.log(m.toWat());
const mem = new WebAssembly.Memory({ initial: 1600, maximum: 65536, shared: true });
const inst = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()), { e: { m: mem } });
const run = inst.exports.run as (d: number) => void;
const w = new Int32Array(mem.buffer), f = new Float32Array(mem.buffer);
const N = 1 << 14; const A = 1 << 20, B = 2 << 20, C = 3 << 20;
for (let i = 0; i < N; i++) { f[A / 4 + i] = i - 100; f[B / 4 + i] = 0.5; }
const d = 256; w[d] = N; w[d + 1] = 1; [C, A, B].forEach((x, k) => { w[d + 2 + 3 * k] = x; });
run(1024);
let bad = 0; for (let i = 0; i < N; i++) if (f[C / 4 + i] !== Math.max((i - 100) * 0.5, 0)) bad++;
console.log("bad", bad);
for (let r = 0; r < 5; r++) { const t0 = performance.now(); for (let k = 0; k < 2000; k++) run(1024); const dt = performance.now() - t0; console.log((2000 * N * 12 / dt / 1e6).toFixed(1), "GB/s"); }
