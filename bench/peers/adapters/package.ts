/** Which version of a peer is installed beside the benchmark. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export function installedVersion(name: string): string {
  const folder = process.env.BENCH_MODULES;
  const file = join(folder ?? "node_modules", name, "package.json");
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version
    : "unknown";
}
