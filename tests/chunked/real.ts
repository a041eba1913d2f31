/** What a real run has written. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chunked, type Plan } from "../../src/chunked.ts";
import { type NjitTensor, njit, tensor, zeros } from "../../src/index.ts";

/** The chunks of an array in a folder by their keys, as hashes; temporary names are none. */
export function bytesBelow(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    if (!/(^|[/\\])c[/\\][\d/\\]+$/.test(name) || !statSync(join(folder, name)).isFile()) continue;
    found[name] = createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  }
  return found;
}

function busy(out: NjitTensor, x: NjitTensor, { turns }: { turns: number }): void {
  for (let i = 0; i < out.shape[0]; i++) {
    let s = x.get(i);
    for (let k = 0; k < turns; k++) s = Math.sin(s) + 1;
    out.set([i], s > 10 ? s : x.get(i));
  }
}

/** How many this machine makes for a chunk of four elements, when nothing else runs. */
function turnsPerMillisecond(): number {
  const turns = 20_000;
  const compiled = njit(busy, { turns });
  const [out, x] = [zeros([4], { dtype: "f64" }), tensor([0, 1, 2, 3], { dtype: "f64" })];
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 20; round++) {
    const began = performance.now();
    compiled(out, x);
    best = Math.min(best, performance.now() - began);
  }
  return turns / best;
}

/**
 * A plan of so many tasks, each of which computes for about so many milliseconds, and gives the elements that it was given: a
 * calm run writes the chunks of `numbers`, whoever runs it.
 */
export async function slowPlan(
  folder: string,
  tasks: number,
  milliseconds: number,
): Promise<{ plan: Plan; out: string; calm: Record<string, string> }> {
  const numbers = join(folder, "numbers.zarr");
  await chunked
    .random([tasks * 4], { chunks: [4], dtype: "f64", seed: tasks })
    .plan({ workers: 1 })
    .run({ to: numbers });
  const a = await chunked.open(numbers);
  const lazy = a.mapBlocks(busy, { with: { turns: Math.ceil(milliseconds * turnsPerMillisecond()) } });
  const out = join(folder, "out.zarr");
  const plan = await lazy.plan({ workers: 2, memory: "256 MiB" }).toPlan({ to: out });
  writeFileSync(join(folder, "plan.json"), JSON.stringify(plan));
  return { plan, out, calm: bytesBelow(numbers) };
}
