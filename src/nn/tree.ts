/**
 * Trees of tensors: plain objects and arrays, at any depth, as parameters and batches are kept. Each tensor has a name, the
 * path to it: "layers.0.weight". What is no tensor stays where it is.
 */
import { describe, fail } from "../errors.ts";
import { isTensor, live, type Tensor } from "../tensor.ts";

/** A tensor in a tree, and the path to it. */
export interface Leaf {
  readonly path: string;
  readonly tensor: Tensor;
}

/** Deeper trees have gone in circles. */
const MOST_DEPTH = 200;

const within = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`);

/** The keys of an array or a plain object; null for what has none. */
function keysOf(operation: string, value: unknown, path: string, depth: number): string[] | null {
  if (typeof value !== "object" || value === null || isTensor(value)) return null;
  if (depth > MOST_DEPTH)
    fail(
      "value",
      operation,
      `the tree is deeper than ${MOST_DEPTH} at ${path.slice(0, 40)}.`,
      "Is it part of itself?",
    );
  try {
    if (Array.isArray(value)) return Array.from(value, (_, i) => String(i));
    const proto = Object.getPrototypeOf(value);
    return proto === null || proto === Object.prototype ? Object.keys(value) : null;
  } catch {
    return fail(
      "value",
      operation,
      `${path || "the tree"} is a Proxy that was revoked.`,
      "Pass the thing itself.",
    );
  }
}

/** The tensors of a tree that may be used, with their paths, in order. */
export function leavesOf(operation: string, tree: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const visit = (value: unknown, path: string, depth: number): void => {
    if (isTensor(value)) {
      live(operation, value);
      leaves.push({ path, tensor: value });
      return;
    }
    for (const key of keysOf(operation, value, path, depth) ?? [])
      visit((value as Record<string, unknown>)[key], within(path, key), depth + 1);
  };
  visit(tree, "", 0);
  return leaves;
}

/** The same for a tree that has tensors. */
export function tensorsOf(operation: string, tree: unknown, what: string): Leaf[] {
  const leaves = leavesOf(operation, tree);
  if (leaves.length > 0) return leaves;
  return fail(
    "value",
    operation,
    `${what} are ${describe(tree)}.`,
    "Give tensors in arrays and plain objects, such as { weight, bias }.",
  );
}

/** The same tree with another tensor for each. */
export function mapTree<T>(operation: string, tree: T, fn: (t: Tensor, path: string) => Tensor): T {
  const visit = (value: unknown, path: string, depth: number): unknown => {
    if (isTensor(value)) return fn(value, path);
    const keys = keysOf(operation, value, path, depth);
    if (keys === null) return value;
    const items = keys.map((key) =>
      visit((value as Record<string, unknown>)[key], within(path, key), depth + 1),
    );
    return Array.isArray(value) ? items : Object.fromEntries(keys.map((key, k) => [key, items[k]]));
  };
  return visit(tree, "", 0) as T;
}

/** Which parts of a tree are meant: paths, of a tensor or of what holds it, or a question about a path. */
export type Which = readonly string[] | ((path: string) => boolean);

export function chooser(which: Which | undefined): (path: string) => boolean {
  if (which === undefined) return () => false;
  if (typeof which === "function") return which;
  return (path) => which.some((part) => path === part || path.startsWith(`${part}.`));
}
