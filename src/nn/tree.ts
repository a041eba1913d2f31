/**
 * Trees of tensors: plain objects and arrays, at any depth, as parameters and batches are kept. Each tensor has a name, the
 * path to it: "layers.0.weight". What is no tensor stays where it is.
 */
import { describe, fail } from "../errors.ts";
import { type Leaf, readTree, rebuilt } from "../grad/tree.ts";
import { readList } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";

/** The tensors of a tree that may be used, with their paths, in order. */
export const leavesOf = (operation: string, tree: unknown): readonly Leaf[] =>
  readTree(operation, tree).leaves;

/** The same for a tree that has tensors. */
export function tensorsOf(operation: string, tree: unknown, what: string): readonly Leaf[] {
  const leaves = leavesOf(operation, tree);
  if (leaves.length > 0) return leaves;
  return fail(
    "value",
    operation,
    `${what} are ${describe(tree)}.`,
    "Give tensors in arrays and plain objects, such as { weight, bias }.",
  );
}

/** Tensors by their paths, none of which stands for two: "a.b" may be one name, or one inside of another. */
export function byPath(operation: string, leaves: readonly Leaf[]): Map<string, Tensor> {
  const all = new Map<string, Tensor>();
  for (const { path, tensor } of leaves) {
    if (all.has(path))
      fail(
        "value",
        operation,
        `two tensors have the path "${path}".`,
        "Names are joined by dots: give one of them a name without.",
      );
    all.set(path, tensor);
  }
  return all;
}

/** The same tree with another tensor for each. */
export function mapTree<T>(operation: string, tree: T, fn: (t: Tensor, path: string) => Tensor): T {
  const { shape, leaves } = readTree(operation, tree);
  return rebuilt(
    shape,
    leaves.map(({ tensor, path }) => fn(tensor, path)),
  ) as T;
}

/** Which parts of a tree are meant: paths, of a tensor or of what holds it, or a question about a path. */
export type Which = readonly string[] | ((path: string) => boolean);

export function chooser(
  operation: string,
  which: Which | undefined,
  leaves: readonly Leaf[],
): (path: string) => boolean {
  if (which === undefined) return () => false;
  if (typeof which === "function") return which;
  const parts = readList(operation, "frozen", which);
  if (parts === null)
    fail(
      "value",
      operation,
      `frozen is ${describe(which)}.`,
      'Give paths: { frozen: ["layers.0"] }, or a function of one.',
    );
  const isIn = (path: string, part: unknown) => path === part || path.startsWith(`${part}.`);
  for (const part of parts) {
    if (leaves.some(({ path }) => isIn(path, part))) continue;
    const paths = leaves.slice(0, 4).map(({ path }) => path);
    fail(
      "value",
      operation,
      `frozen has ${describe(part)}, where no parameter is.`,
      `Parameters are ${paths.join(", ")}${leaves.length > 4 ? ", …" : ""}.`,
    );
  }
  return (path) => parts.some((part) => isIn(path, part));
}
