/** The hierarchies of tests/fixtures/zarr and what is in them; scripts/fixtures-zarr.py writes both. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Fact } from "./fixtures.ts";

export const zarrFolder = fileURLToPath(new URL("../fixtures/zarr", import.meta.url));
/** By hierarchy and path; null: it cannot be read. */
export const zarrManifest = JSON.parse(readFileSync(join(zarrFolder, "manifest.json"), "utf8")) as Record<
  string,
  Record<string, Fact | null>
>;
/** Arrays that need numcodecs. */
export const packedByPackage = /^(blosc|zstd|lz4)$/;

/** All keys of a hierarchy. */
export function keysOf(name: string): Map<string, Uint8Array<ArrayBuffer>> {
  const root = join(zarrFolder, name);
  const found = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(path.slice(root.length + 1).replaceAll("\\", "/"), new Uint8Array(readFileSync(path)));
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}
