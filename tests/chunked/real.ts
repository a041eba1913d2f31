/** What a real run has written. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chunked, type Plan } from "../../src/chunked.ts";
import { type NjitTensor, njit, zeros } from "../../src/index.ts";

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

/** Gives the elements that it was given, after so many turns for each. */
const busy = (out: NjitTensor, x: NjitTensor, { turns }: { turns: number }) => {
  for (let i = 0; i < out.shape[0]; i++) {
    let s = x.get(i);
    for (let k = 0; k < turns; k++) s = Math.sin(s) + 1;
    out.set([i], s > 10 ? s : x.get(i));
  }
};

/** So many turns for each of four elements take at least so many milliseconds here, however well they are compiled. */
function turnsFor(milliseconds: number): number {
  const turns = 100_000;
  const fn = njit(busy, { turns });
  const [out, x] = [zeros([4], { dtype: "f64" }), zeros([4], { dtype: "f64" })];
  let fastest = Number.POSITIVE_INFINITY;
  // The first ones are slower: code is made better in the background.
  for (const began = performance.now(); performance.now() - began < 200; ) {
    const start = performance.now();
    fn(out, x);
    fastest = Math.min(fastest, performance.now() - start);
  }
  for (const t of [out, x]) t.dispose();
  return Math.ceil((turns * milliseconds) / fastest);
}

/**
 * A plan of so many tasks, each of which computes for so many milliseconds or longer, and gives the elements that it was given: a
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
  const turns = turnsFor(milliseconds);
  const out = join(folder, "out.zarr");
  const plan = await a
    .mapBlocks(busy, { with: { turns } })
    .plan({ workers: 2, memory: "256 MiB" })
    .toPlan({ to: out });
  writeFileSync(join(folder, "plan.json"), JSON.stringify(plan));
  return { plan, out, calm: bytesBelow(numbers) };
}
