/** Where the command line meets the file formats: the one place that knows both. */
import { fail } from "../errors.ts";
import type { Archive as OpenArchive } from "../io/archive.ts";
import * as gguf from "../io/gguf.ts";
import { open, save } from "../io/open.ts";
import * as safetensors from "../io/safetensors.ts";
import { readGguf } from "../quantised/gguf.ts";
import { isQuantised } from "../quantised/quantised.ts";
import { blockTypeOf } from "../quantised/types.ts";
import type { Tensor } from "../tensor.ts";
import type { Archive, Files } from "./archive-types.ts";

export const files: Files = {
  open: async (source) => withBlocks(await open(source)),
  async save(path, given, from) {
    const ending = path.toLowerCase();
    if (ending.endsWith(".gguf")) {
      if (from.format !== "gguf") return gguf.save(path, given);
      const { meta, metaTypes } = from as gguf.GgufArchive;
      return gguf.save(path, given, { meta, metaTypes });
    }
    const tensors = given as Readonly<Record<string, Tensor>>;
    if (ending.endsWith(".npy")) {
      const names = Object.keys(tensors);
      if (names.length === 1) return save(path, tensors[names[0]]);
      fail(
        "value",
        "save",
        `npy holds one tensor, and ${names.length} are chosen.`,
        "Choose one with --only, or write .npz.",
      );
    }
    if (ending.endsWith(".safetensors")) return safetensors.save(path, tensors, { meta: textsOf(from.meta) });
    return save(path, tensors);
  },
};

/** The same file, with entries in blocks that can be read: decoded by `read`, as they are by `keep`. */
function withBlocks(archive: OpenArchive): Archive {
  const isInBlocks = (e: Archive["entries"][number]) => e.dtype === null && blockTypeOf(e.type) !== null;
  const names = new Set(archive.entries.filter(isInBlocks).map((e) => e.name));
  if (names.size === 0) return archive;
  const keep = (name: string) => readGguf(archive, name);
  return {
    ...archive,
    entries: archive.entries.map((e) => (names.has(e.name) ? { ...e, decoded: "f32" as const } : e)),
    keep,
    async read(name, slice) {
      if (!names.has(name)) return archive.read(name, slice);
      const q = await keep(name);
      if (!isQuantised(q)) return q;
      const all = q.dequantise();
      q.dispose();
      if (slice === undefined) return all;
      try {
        const part = all.slice(...slice);
        const copy = part.clone();
        part.dispose();
        return copy;
      } finally {
        all.dispose();
      }
    },
  };
}

/** What a format of texts can hold of the metadata. */
function textsOf(meta: Archive["meta"]): Record<string, string> {
  const texts: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(meta)) {
    if (["string", "number", "bigint", "boolean"].includes(typeof value)) texts[key] = String(value);
  }
  return texts;
}
