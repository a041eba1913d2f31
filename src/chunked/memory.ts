/** Amounts of memory: read as people write them, and written as people read them. */
import { describe, fail } from "../errors.ts";

const units: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** "1 GiB", "256MB" or a number of bytes. */
export function readBytes(operation: string, name: string, given: unknown): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 0) return given;
  const parts = typeof given === "string" ? /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*$/i.exec(given) : null;
  const unit = parts === null ? undefined : units[parts[2].toLowerCase()];
  if (parts !== null && unit !== undefined) return Math.floor(Number(parts[1]) * unit);
  return fail("value", operation, `${name} is ${describe(given)}.`, 'Write "1 GiB", or a number of bytes.');
}

/** Bytes as people read them: three digits, and never less than there are. */
export function showBytes(bytes: number): string {
  for (const [name, unit] of [
    ["TiB", 2 ** 40],
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
  ] as const) {
    if (bytes >= unit) return `${Math.ceil((bytes / unit) * 10) / 10} ${name}`;
  }
  return `${bytes} B`;
}
