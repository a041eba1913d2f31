import { zeros, kernel, arange } from "./src/index.ts";
import { engine } from "./src/engine.ts";
const N = 2048;
const a = arange(N * N).reshape(N, N), b = arange(N * N).reshape(N, N), out = zeros([N, N]);
const add = kernel((a: number, b: number) => a + b);
const heavy = kernel((x: number) => { let y = x; for (let i = 0; i < 40; i++) y = Math.sqrt(y * y + 1); return y; });
engine().pool.waitUntilReady();
console.log(engine().pool.status());
function time(name: string, f: () => void) { for (let i = 0; i < 3; i++) f(); const ts = []; for (let i = 0; i < 7; i++) { const t = performance.now(); f(); ts.push(performance.now() - t); } ts.sort((x, y) => x - y); console.log(name.padEnd(20), ts[3].toFixed(2), ts[0].toFixed(2), "ms"); }
time("add", () => add.into(out, a, b));
time("a.T+b", () => add.into(out, a.T, b));
let bad = 0; const d = out.data, fa = a.data, fb = b.data; for (let i = 0; i < N; i++) for (let j = 0; j < N; j++) if (d[i * N + j] !== Math.fround(fa[j * N + i] + fb[i * N + j])) bad++;
console.log("bad", bad);
time("heavy", () => heavy.into(out, a));
for (let n = 0; n < 100000; n++) heavy.into(out.slice("0:8"), a.slice("0:8"));
console.log("ok");
