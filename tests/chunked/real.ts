/** What a real run has written. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chunked, type Plan } from "../../src/chunked.ts";
import type { NjitTensor } from "../../src/index.ts";

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
  const busy = a.mapBlocks(
    (out: NjitTensor, x: NjitTensor, { turns }: { turns: number }) => {
      for (let i = 0; i < out.shape[0]; i++) {
        let s = x.get(i);
        for (let k = 0; k < turns; k++) s = Math.sin(s) + 1;
        out.set([i], s > 10 ? s : x.get(i));
      }
    },
    // Four elements, about 40 ns a turn.
    { with: { turns: Math.ceil(milliseconds * 6_000) } },
  );
  const out = join(folder, "out.zarr");
  const plan = await busy.plan({ workers: 2, memory: "256 MiB" }).toPlan({ to: out });
  writeFileSync(join(folder, "plan.json"), JSON.stringify(plan));
  return { plan, out, calm: bytesBelow(numbers) };
}
