import { zeros, kernel, configure } from "./src/index.ts";
configure({ threads: 1 });
const N = Number(process.env.N ?? 4096);
const a = zeros([N, N]), b = zeros([N, N]), out = zeros([N, N]);
const add = kernel((a: number, b: number) => a + b);
const id = kernel((a: number) => a);
function time(name: string, bytes: number, f: () => void) { for (let i = 0; i < 2; i++) f(); let best = 1e9; for (let i = 0; i < 12; i++) { const t = performance.now(); f(); best = Math.min(best, performance.now() - t); } console.log(name.padEnd(20), best.toFixed(2), "ms", (bytes / best / 1e6).toFixed(1), "GB/s"); }
const B = N * N * 4; const aT = a.T;
time("add", 3 * B, () => add.into(out, a, b));
time("a.T + b", 3 * B, () => add.into(out, aT, b));
time("copy T", 2 * B, () => id.into(out, aT));
time("copy", 2 * B, () => id.into(out, a));
