/** What a real run has written. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
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

/** A plan of so many tasks, each of which computes for about so many milliseconds, over an array of ones in the same folder. */
export async function slowPlan(
  folder: string,
  tasks: number,
  milliseconds: number,
  name = "out",
): Promise<Plan> {
  const from = join(folder, `ones${tasks}.zarr`);
  if (!existsSync(from))
    await chunked
      .full([tasks * 4], 1, { chunks: [4], dtype: "f64" })
      .plan({ workers: 1 })
      .run({ to: from });
  const a = await chunked.open(from);
  const busy = a.mapBlocks(
    (out: NjitTensor, x: NjitTensor, { turns }: { turns: number }) => {
      for (let i = 0; i < out.shape[0]; i++) {
        let s = x.get(i);
        for (let k = 0; k < turns; k++) s = Math.sin(s) + i;
        out.set([i], s);
      }
    },
    // About 10 ns a turn.
    { with: { turns: Math.ceil(milliseconds * 25_000) } },
  );
  return busy.plan({ workers: 2, memory: "256 MiB" }).toPlan({ to: join(folder, `${name}.zarr`) });
}
