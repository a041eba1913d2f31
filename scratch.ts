import { kernel, zeros, configure } from "./src/index.ts";
import { engine } from "./src/engine.ts";
import { evaluator } from "./src/ir/eval.ts";
configure({ threads: 1 });
const fns: Record<string, (x: number) => number> = { exp: (x) => Math.exp(x), tanh: (x) => Math.tanh(x), log: (x) => Math.log(x), sin: (x) => Math.sin(x), cos: (x) => Math.cos(x), pow: (x) => x ** 1.7, sqrt: (x) => Math.sqrt(x), atan: (x) => Math.atan(x), gelu: (x) => 0.5 * x * (1 + Math.tanh(0.79788456 * (x + 0.044715 * x * x * x))), sig: (x) => 1 / (1 + Math.exp(-x)) };
for (const d of ["f32", "f64"] as const) for (const [name, f] of Object.entries(fns)) {
  const n = 1 << 16; const a = zeros([n], { dtype: d }), out = zeros([n], { dtype: d }); for (let i = 0; i < n; i++) a.data[i] = 0.01 + (i % 1000) / 100;
  const k = kernel(f);
  try { k.into(out, a); } catch (e) { console.log(d, name, String(e).slice(0, 100)); continue; }
  let worst = 0; for (let i = 0; i < n; i++) { const w = f(a.data[i]); worst = Math.max(worst, Math.abs(out.data[i] - w) / Math.abs(w)); }
  for (let i = 0; i < 100; i++) k.into(out, a);
  let best = 1e9; for (let r = 0; r < 20; r++) { const t = performance.now(); for (let i = 0; i < 10; i++) k.into(out, a); best = Math.min(best, (performance.now() - t) / 10); }
  let js = 1e9; const x = a.data.slice(), y = out.data.slice(); for (let r = 0; r < 5; r++) { const t = performance.now(); for (let i = 0; i < n; i++) y[i] = f(x[i]); js = Math.min(js, performance.now() - t); }
  console.log(d, name.padEnd(6), "rel", worst.toExponential(1), (best * 1e6 / n).toFixed(3), "ns/el", (2 * n * (d === "f32" ? 4 : 8) / best / 1e6).toFixed(1), "GB/s", "vs loop", (js / best).toFixed(1));
}
