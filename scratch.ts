import { zeros, zip, kernel, arange, engine as _ } from "./src/index.ts";
import { engine } from "./src/engine.ts";
const N = 4096;
const a = arange(N * N).reshape(N, N), b = arange(N * N).reshape(N, N), out = zeros([N, N]);
const row = arange(N);
const add = kernel((a: number, b: number) => a + b);
const id = kernel((a: number) => a);
function time(name: string, bytes: number, f: () => void) { for (let i = 0; i < 3; i++) f(); const ts = []; for (let i = 0; i < 7; i++) { const t = performance.now(); f(); ts.push(performance.now() - t); } ts.sort((x, y) => x - y); console.log(name.padEnd(20), ts[3].toFixed(2), "ms", (bytes / ts[3] / 1e6).toFixed(1), "GB/s"); }
const B = N * N * 4;
time("add", 3 * B, () => add.into(out, a, b));
time("+row", 2 * B, () => add.into(out, a, row));
time("+col", 2 * B, () => add.into(out, a, row.reshape(N, 1)));
const half = out.slice(":", ":2048"), bh = b.slice(":", ":2048");
time("a[:, ::2]+b", 2 * B, () => add.into(half, a.slice(":", "::2"), bh));
time("a.T + b", 3 * B, () => add.into(out, a.T, b));
time("rev + b", 3 * B, () => add.into(out, a.slice(":", "::-1"), b));
time("copy", 2 * B, () => id.into(out, a));
time("copy T", 2 * B, () => id.into(out, a.T));
const fa = new Float32Array(N * N), fb = new Float32Array(N * N), fo = new Float32Array(N * N);
time("js add", 3 * B, () => { for (let i = 0; i < fo.length; i++) fo[i] = fa[i] + fb[i]; });
time("js aT+b", 3 * B, () => { for (let i = 0; i < N; i++) for (let j = 0; j < N; j++) fo[i * N + j] = fa[j * N + i] + fb[i * N + j]; });
time("js a::2+b", 2 * B, () => { for (let i = 0; i < N; i++) for (let j = 0; j < N / 2; j++) fo[i * N + j] = fa[i * N + 2 * j] + fb[i * N + j]; });
time("js row", 2 * B, () => { for (let i = 0; i < N; i++) for (let j = 0; j < N; j++) fo[i * N + j] = fa[i * N + j] + fb[j]; });
const s = arange(64 * 64).reshape(64, 64), t = arange(64 * 64).reshape(64, 64), so = zeros([64, 64]);
for (let r = 0; r < 5; r++) { let t0 = performance.now(); for (let i = 0; i < 20000; i++) add.into(so, s, t); const into = (performance.now() - t0) / 20; t0 = performance.now(); for (let i = 0; i < 20000; i++) add(s, t).dispose(); const alloc = (performance.now() - t0) / 20; console.log("64x64 into", into.toFixed(0), "ns; alloc", alloc.toFixed(0), "ns"); }
console.log(engine().kernels.compiled);
