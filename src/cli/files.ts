/** Where the command line meets the file formats: the one place that knows both. */
import { fail } from "../errors.ts";
import * as gguf from "../io/gguf.ts";
import { open, save } from "../io/open.ts";
import * as safetensors from "../io/safetensors.ts";
import type { Archive, Files } from "./archive-types.ts";

export const files: Files = {
  open: (source) => open(source),
  async save(path, tensors, from) {
    const ending = path.toLowerCase();
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
    if (ending.endsWith(".gguf") && from.format === "gguf") {
      const { meta, metaTypes } = from as gguf.GgufArchive;
      return gguf.save(path, tensors, { meta, metaTypes });
    }
    return save(path, tensors);
  },
};

/** What a format of texts can hold of the metadata. */
function textsOf(meta: Archive["meta"]): Record<string, string> {
  const texts: Record<string, string> = Object.create(null);
  for (const [key, value] of Object.entries(meta)) {
    if (["string", "number", "bigint", "boolean"].includes(typeof value)) texts[key] = String(value);
  }
  return texts;
}
