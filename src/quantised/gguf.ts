/** GGUF files with block types in them: entries as `Quantised` where they are, as tensors where they are not. */
import { fail } from "../errors.ts";
import type { Archive } from "../io/archive.ts";
import { readNames } from "../io/archive.ts";
import { type GgufArchive, type LoadOptions, open } from "../io/gguf.ts";
import type { ReadOptions, Source } from "../io/source.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { fromBlocks, type Quantised } from "./quantised.ts";
import { blockTypeOf } from "./types.ts";

/**
 * One entry of an open GGUF file, blocks and all: read once, straight into memory, and not decoded.
 *
 *     const model = await gguf.open("model.gguf");
 *     const up = await readGguf(model, "blk.0.ffn_up.weight");
 *
 * @param archive what `gguf.open` gave
 * @param name of the entry
 * @param options `signal`
 * @returns a promise of blocks, or of a tensor
 * @example
 * const bytes = await gguf.encode({ w: quantise(ones([32]), "q8_0") });
 * (await readGguf(await gguf.open(bytes), "w")).dtype; // → q8_0
 */
export async function readGguf(
  archive: Archive,
  name: string,
  options?: ReadOptions,
): Promise<Tensor | Quantised> {
  const operation = "readGguf";
  const { signal } = readOptions(operation, options, "{ signal }", ["signal"]);
  const again = signal === undefined ? undefined : { signal };
  const entries = archive?.entries;
  if (!Array.isArray(entries) || typeof archive.raw !== "function") {
    fail(
      "value",
      operation,
      "the first argument is no open file.",
      'Open one: await gguf.open("model.gguf").',
    );
  }
  const entry = archive.entries.find((e) => e.name === name);
  const dtype = entry === undefined || entry.dtype !== null ? null : blockTypeOf(entry.type);
  if (entry === undefined || dtype === null) return archive.read(name, undefined, again);
  const bytes = await archive.raw(name, again);
  try {
    return fromBlocks(bytes, dtype, entry.shape);
  } finally {
    bytes.dispose();
  }
}

/**
 * All tensors of a GGUF file (or those of some names), by name.
 *
 *     const { "output.weight": w } = await loadGguf("model.gguf", { names: ["output.weight"] });
 *
 * @param source a path, a URL or bytes
 * @param options `names`: only these; `signal`, `headers`
 * @returns a promise of blocks and tensors by name
 * @throws TensorError where the file has no tensor of one of the names
 * @example
 * const bytes = await gguf.encode({ w: quantise(ones([32]), "q8_0") });
 * (await loadGguf(bytes)).w.dtype; // → q8_0
 */
export async function loadGguf(
  source: Source,
  options?: LoadOptions,
): Promise<Record<string, Tensor | Quantised>> {
  const operation = "loadGguf";
  const { names: given, ...rest } = readOptions(operation, options, '{ names: ["output.weight"] }');
  const names = readNames(operation, given);
  const archive: GgufArchive = await open(source, rest);
  // A name out of a file may be anything, __proto__ too.
  const all = Object.create(null) as Record<string, Tensor | Quantised>;
  const again = rest.signal === undefined ? undefined : { signal: rest.signal };
  // One that is not there is told, with those that are, before anything is read.
  const missing = names?.find((name) => archive.entries.every((e) => e.name !== name));
  if (missing !== undefined) await archive.read(missing);
  try {
    for (const name of names ?? archive.entries.map((e) => e.name)) {
      if (!(name in all)) all[name] = await readGguf(archive, name, again);
    }
  } catch (error) {
    for (const t of Object.values(all)) t.dispose();
    throw error;
  }
  return all;
}
