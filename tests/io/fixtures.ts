/** The files of tests/fixtures/io and what is in them; scripts/fixtures-io.py writes both. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Tensor } from "../../src/index.ts";

/** An entry: its elements in row-major order, lowest byte first; null where no dtype holds them. */
export interface Fact {
  readonly dtype?: string;
  readonly shape: readonly number[];
  readonly hex?: string;
  readonly type?: string;
  readonly raw?: string;
}

export const pathOf = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/io/${name}`, import.meta.url));
export const bytesOf = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(pathOf(name)));
export const manifest = JSON.parse(readFileSync(pathOf("manifest.json"), "utf8")) as Record<
  string,
  Record<string, Fact | null>
>;

/** The elements as they would lie in memory without gaps. */
export function hexOf(t: Tensor): string {
  const { buffer, byteOffset, byteLength } = t.toTypedArray();
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString("hex");
}

export const factOf = (t: Tensor): Fact => ({ dtype: t.dtype, shape: [...t.shape], hex: hexOf(t) });
