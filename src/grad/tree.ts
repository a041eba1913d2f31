/**
 * Trees of tensors: plain objects and arrays, at any depth, as parameters of a model are kept. What is no tensor in them
 * (a number, a name, a function) stays where it is. Each tensor has a name, the path to it: "layers.0.weight".
 */
import { describe, fail, isRevoked } from "../errors.ts";
import { checkThunk, readList } from "../ops/arguments.ts";
import { failForeign, isDerived, isTensor, live, type Tensor } from "../tensor.ts";

/** A tensor in a tree, and the path to it. */
export interface Leaf {
  /** The way to it: "layers.0.weight". */
  readonly path: string;
  /** The tensor. */
  readonly tensor: Tensor;
}

/** A tree as plain data, read once. */
type Shape =
  | { readonly kind: "tensor"; readonly index: number }
  | { readonly kind: "other"; readonly value: unknown }
  | { readonly kind: "list"; readonly items: readonly Shape[] }
  | { readonly kind: "record"; readonly entries: readonly (readonly [string, Shape])[] };

export interface ReadTree {
  readonly leaves: readonly Leaf[];
  readonly shape: Shape;
}

/** Deeper trees have gone in circles. */
const MOST_DEPTH = 200;

/** The tree as it is now: its tensors in order, and what is around them. */
export function readTree(operation: string, tree: unknown, name = ""): ReadTree {
  const leaves: Leaf[] = [];
  const read = (value: unknown, path: string, depth: number): Shape => {
    if (typeof value !== "object" || value === null) return { kind: "other", value };
    if (isRevoked(value)) {
      const where = path === "" ? "the tree" : path;
      fail("value", operation, `${where} is a Proxy that was revoked.`, "Pass the thing itself.");
    }
    if (isTensor(value)) {
      live(operation, value);
      leaves.push({ path, tensor: value });
      return { kind: "tensor", index: leaves.length - 1 };
    }
    if (depth > MOST_DEPTH) {
      fail(
        "value",
        operation,
        `the tree is deeper than ${MOST_DEPTH}, or goes in a circle.`,
        "Make it flatter.",
      );
    }
    const inside = (key: string | number) => (path === "" ? String(key) : `${path}.${key}`);
    if (isDerived(value)) failForeign(operation, value);
    const list = readList(operation, path === "" ? "the tree" : path, value);
    if (list !== null)
      return { kind: "list", items: list.map((item, i) => read(item, inside(i), depth + 1)) };
    if (!isPlain(value)) return { kind: "other", value };
    const entries = Object.keys(value).map(
      (key) => [key, read((value as Record<string, unknown>)[key], inside(key), depth + 1)] as const,
    );
    return { kind: "record", entries };
  };
  return { shape: read(tree, name, 0), leaves };
}

/** A Proxy that refuses to say is none: isDerived has asked it. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** The same tree with something else for each tensor. */
export function rebuilt(shape: Shape, made: readonly unknown[]): unknown {
  switch (shape.kind) {
    case "tensor":
      return made[shape.index];
    case "other":
      return shape.value;
    case "list":
      return shape.items.map((item) => rebuilt(item, made));
    case "record": {
      const result: Record<string, unknown> = {};
      for (const [key, item] of shape.entries) {
        const value = rebuilt(item, made);
        if (key !== "__proto__") result[key] = value;
        else
          Object.defineProperty(result, key, { value, enumerable: true, writable: true, configurable: true });
      }
      return result;
    }
  }
}

/** What another tree has in the places of the tensors, in their order. */
export function placesIn(shape: Shape, tree: unknown): unknown[] {
  const within = (key: string | number): unknown =>
    tree === null || tree === undefined ? undefined : (tree as Record<string | number, unknown>)[key];
  switch (shape.kind) {
    case "tensor":
      return [tree];
    case "other":
      return [];
    case "list":
      return shape.items.flatMap((item, i) => placesIn(item, within(i)));
    case "record":
      return shape.entries.flatMap(([key, item]) => placesIn(item, within(key)));
  }
}

/**
 * The tensors of a tree with the paths to them, in the order they are written down.
 *
 *     treeLeaves({ layers: [{ weight, bias }] }).map((leaf) => leaf.path); // "layers.0.weight", "layers.0.bias"
 *
 * @param tree plain objects and arrays of tensors
 * @returns a list
 * @example
 * treeLeaves({ layers: [{ w: ones([2]) }] }).map((leaf) => leaf.path); // → [layers.0.w]
 */
export function treeLeaves(tree: unknown): Leaf[] {
  return [...readTree("treeLeaves", tree).leaves];
}

/**
 * The same tree with `fn` of each tensor in its place; further trees of the same form give it more tensors.
 *
 *     treeMap((p, g) => p.sub(g.mul(0.1)), params, grads);
 *
 * @param fn gets a tensor of each tree
 * @param tree plain objects and arrays of tensors
 * @param others trees of the same form
 * @returns a tree of the same form
 * @throws TensorError where forms differ
 * @example
 * treeMap((p, g) => p.sub(g), { w: tensor([3]) }, { w: tensor([1]) }).w; // → f32 [2]
 */
export function treeMap<T>(
  fn: (tensor: Tensor, ...others: Tensor[]) => unknown,
  tree: T,
  ...others: readonly unknown[]
): T {
  const op = "treeMap";
  checkThunk(op, fn, "treeMap((t) => t.clone(), tree)");
  const { shape, leaves } = readTree(op, tree);
  const more = others.map((other, k) => leavesLike(op, leaves, other, `tree ${k + 2}`));
  const made = leaves.map(({ tensor }, i) => fn(tensor, ...more.map((l) => l[i].tensor)));
  return rebuilt(shape, made) as T;
}

/**
 * The same tree with other tensors, in the order of `treeLeaves`.
 *
 * @param tree plain objects and arrays of tensors
 * @param tensors as many as it has
 * @returns a tree of the same form
 * @example
 * treeUnflatten({ w: tensor([3]) }, [tensor([7])]).w; // → f32 [7]
 */
export function treeUnflatten<T>(tree: T, tensors: readonly Tensor[]): T {
  const op = "treeUnflatten";
  const { shape, leaves } = readTree(op, tree);
  const given = readList(op, "the tensors", tensors);
  if (given === null || given.length !== leaves.length) {
    const have = given === null ? describe(tensors) : `${given.length} tensors`;
    fail(
      "value",
      op,
      `${have} for a tree of ${leaves.length}.`,
      "Give one for each, as treeLeaves lists them.",
    );
  }
  for (const t of given) live(op, t as Tensor);
  return rebuilt(shape, given) as T;
}

/** More arguments than this are a mistake, and more than a call can have. */
const MOST_ARGUMENTS = 10_000;

/** The arguments of a function as a list, each read once; null: it is none. */
export function readArguments(operation: string, name: string, given: unknown): unknown[] | null {
  const read = readList(operation, name, given);
  if (read === null || read.length <= MOST_ARGUMENTS) return read;
  return fail(
    "value",
    operation,
    `${name} are ${read.length} values.`,
    `A function takes at most ${MOST_ARGUMENTS}; put tensors of one kind in a list, as one of them.`,
  );
}

/** The tensors of a tree that has the same form as another. */
export function leavesLike(
  operation: string,
  leaves: readonly Leaf[],
  tree: unknown,
  name: string,
): readonly Leaf[] {
  const own = readTree(operation, tree).leaves;
  const wrong = leaves.findIndex((leaf, i) => own[i]?.path !== leaf.path);
  if (wrong < 0 && own.length === leaves.length) return own;
  const at = wrong < 0 ? leaves.length : wrong;
  const [have, want] = [own[at]?.path, leaves[at]?.path];
  const shown = (path: string | undefined) =>
    path === undefined ? "no more tensors" : `a tensor at "${path}"`;
  return fail(
    "value",
    operation,
    `the trees differ: ${name} has ${shown(have)} where the first has ${shown(want)}.`,
    "Both need the same objects and arrays around their tensors.",
  );
}
