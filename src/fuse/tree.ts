/** Tensors in arrays and plain objects: what a fused function takes and gives. Each is read once, into plain data. */
import { describe, fail } from "../errors.ts";
import { isTensor, type Tensor } from "../tensor.ts";

/** A tree with numbers in the place of tensors: which of them stood there. */
export type Shape =
  | { readonly kind: "tensor"; readonly index: number }
  | { readonly kind: "list"; readonly items: readonly Shape[] }
  | { readonly kind: "object"; readonly keys: readonly string[]; readonly items: readonly Shape[] }
  | { readonly kind: "other"; readonly value: unknown };

/** Trees inside of trees, at the most. */
const MOST_DEPTH = 64;
const plain = new Set(["number", "bigint", "boolean", "string", "undefined"]);

/** The shape of a tree, its tensors in order, and a text that equal trees have in common. */
export function readTree(value: unknown, what: string): { shape: Shape; tensors: Tensor[]; text: string } {
  const tensors: Tensor[] = [];
  const texts: string[] = [];
  const read = (x: unknown, path: string, depth: number): Shape => {
    if (typeof x !== "object" || x === null) {
      if (x !== null && !plain.has(typeof x)) failLeaf(path, x);
      texts.push(
        Object.is(x, -0) ? "-0" : `${typeof x} ${typeof x === "string" ? JSON.stringify(x) : String(x)}`,
      );
      return { kind: "other", value: x };
    }
    if (isTensor(x)) {
      texts.push("t");
      tensors.push(x);
      return { kind: "tensor", index: tensors.length - 1 };
    }
    if (depth > MOST_DEPTH)
      fail("value", "fuse", `${path} has more than ${MOST_DEPTH} levels.`, "Is it part of itself?");
    const keys = keysOf(x);
    if (keys === null) return failLeaf(path, x);
    const isArray = Array.isArray(x);
    texts.push(isArray ? `[${keys.length}` : `{${keys.map((k) => JSON.stringify(k))}`);
    const items = keys.map((k) =>
      read((x as Record<string, unknown>)[k], isArray ? `${path}[${k}]` : `${path}.${k}`, depth + 1),
    );
    return isArray ? { kind: "list", items } : { kind: "object", keys, items };
  };
  const shape = read(value, what, 0);
  return { shape, tensors, text: texts.join() };
}

/** The keys of an array or a plain object; null for what is neither. */
function keysOf(x: object): string[] | null {
  try {
    if (Array.isArray(x)) return Array.from({ length: x.length }, (_, i) => String(i));
    const proto = Object.getPrototypeOf(x);
    return proto === null || proto === Object.prototype ? Object.keys(x) : null;
  } catch {
    return null;
  }
}

function failLeaf(path: string, x: unknown): never {
  return fail(
    "value",
    "fuse",
    `${path} is ${describe(x)}.`,
    "A fused function takes and gives tensors and numbers, alone or in arrays and plain objects.",
  );
}

/** The tree of a shape, with these in the place of tensors. */
export function buildTree(shape: Shape, leaf: (index: number) => unknown): unknown {
  switch (shape.kind) {
    case "tensor":
      return leaf(shape.index);
    case "list":
      return shape.items.map((s) => buildTree(s, leaf));
    case "object":
      return Object.fromEntries(shape.keys.map((key, k) => [key, buildTree(shape.items[k], leaf)]));
    default:
      return shape.value;
  }
}
