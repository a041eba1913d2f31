/** Parameters in files: safetensors whose names are the paths of the tree. */
import { fail, list } from "../errors.ts";
import { encode, load as loadTensors, save as saveTensors } from "../io/safetensors.ts";
import type { Source } from "../io/source.ts";
import type { Tensor } from "../tensor.ts";
import { sameShape } from "../view/layout.ts";
import { unrecorded } from "./aside.ts";
import { byPath, tensorsOf } from "./tree.ts";

/** Tensors with their names in a file: the paths, and that of a tree that is one tensor. */
const named = (operation: string, tree: unknown): Map<string, Tensor> =>
  byPath(
    operation,
    tensorsOf(operation, tree, "the parameters").map(({ path, tensor }) => ({
      path: path || "tensor",
      tensor,
    })),
  );

const byName = (operation: string, tree: unknown) => Object.fromEntries(named(operation, tree));

/**
 * Writes a tree of tensors into a file: `await saveTree("model.safetensors", params)`.
 *
 * @param path where to
 * @param tree plain objects and arrays of tensors
 * @example
 * await saveTree("model.safetensors", { w: tensor([1, 2]) });
 * (await loadTree("model.safetensors", { w: zeros([2]) })).w; // → f32 [1, 2]
 */
export async function saveTree(path: string, tree: unknown): Promise<void> {
  await saveTensors(path, byName("saveTree", tree));
}

/**
 * The same as bytes.
 *
 * @param tree plain objects and arrays of tensors
 * @returns a promise of a file's bytes
 * @example
 * const bytes = await encodeTree({ w: tensor([1, 2]) });
 * (await loadTree(bytes, { w: zeros([2]) })).w; // → f32 [1, 2]
 */
export const encodeTree = async (tree: unknown): Promise<Uint8Array> => encode(byName("encodeTree", tree));

/**
 * Reads a file into a tree that is there, name by name, in place; dtypes are converted. Every tensor of the tree must be in
 * the file, and nothing else, unless `strict` is false.
 *
 * @param source a path, a URL or bytes
 * @param tree the tensors to write to
 * @param options `strict`: names must be the same, default true
 * @returns a promise of the tree
 * @throws TensorError where a name is missing or a shape differs
 * @example
 * const bytes = await encodeTree({ w: tensor([1, 2]) });
 * (await loadTree(bytes, { w: zeros([2]) })).w; // → f32 [1, 2]
 */
export async function loadTree<P>(
  source: Source,
  tree: P,
  options: { readonly strict?: boolean } = {},
): Promise<P> {
  const own = named("loadTree", tree);
  const found = await loadTensors(source);
  try {
    const missing = [...own.keys()].filter((name) => !Object.hasOwn(found, name));
    const strange = Object.keys(found).filter((name) => !own.has(name));
    if (options.strict !== false && missing.length + strange.length > 0) {
      fail(
        "value",
        "loadTree",
        `the file ${missing.length > 0 ? `has no ${missing.slice(0, 3).join(", ")}` : `has ${strange.slice(0, 3).join(", ")}, which the tree has not`}.`,
        "Names are the paths of the tree. { strict: false } takes what is in both.",
      );
    }
    // First all are looked at, then all are written.
    const pairs = [...own].flatMap(([name, to]) =>
      Object.hasOwn(found, name) ? [{ to, from: found[name], name }] : [],
    );
    for (const { to, from, name } of pairs) {
      if (!sameShape(to.shape, from.shape))
        fail(
          "shape",
          "loadTree",
          `${name} is ${list(from.shape)} in the file, ${list(to.shape)} in the tree.`,
          "Is it of another model?",
        );
    }
    unrecorded(() => {
      for (const { to, from } of pairs) to.assign(from);
    });
    return tree;
  } finally {
    for (const t of Object.values(found)) t.dispose();
  }
}
