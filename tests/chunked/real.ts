/** What a real run has written. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

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
