/**
 * npx tsx examples/chunked.ts [rows]
 *
 * Columns of an array that need not fit into memory, centred and scaled: a plan within 256 MiB, run chunk by chunk.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chunked, local } from "../src/chunked.ts";

const rows = Number(process.argv[2] ?? 20_000);
const folder = mkdtempSync(join(tmpdir(), "chunked-"));
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
try {
  const path = join(folder, "a.zarr");
  const numbers = chunked.random([rows, 1024], { chunks: [1024, 1024], seed: 1, distribution: "normal" });
  const written = await numbers.plan().run({ to: path });
  console.log(`written: ${written.ran} tasks, ${written.written} bytes, ${seconds(written.milliseconds)}`);

  const a = await chunked.open(path);
  const z = a
    .sub(a.mean({ axis: 0 }))
    .div(a.std({ axis: 0 }))
    .map((x) => Math.tanh(x));
  const plan = z.plan({ memory: "256 MiB", workers: 2 });
  console.log(plan.explain());
  const report = await plan.run({ to: join(folder, "z.zarr"), on: local({ workers: 2 }) });
  console.log(`run: ${report.ran} tasks, ${report.read} bytes read, ${seconds(report.milliseconds)}`);
  console.log(`the largest task used ${report.peak} bytes of the heap`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
