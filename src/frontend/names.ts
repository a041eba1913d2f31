/** Which names a syntax tree declares, and which it reads from outside. Says nothing about what they mean. */
import type {
  AnyNode,
  BlockStatement,
  FunctionNode,
  MemberExpression,
  Pattern,
  VariableDeclaration,
} from "./parse.ts";

export function propertyName(property: { readonly computed: boolean; readonly key: AnyNode }): string | null {
  const { key, computed } = property;
  if (key.type === "Identifier") return computed ? null : key.name;
  return key.type === "Literal" && typeof key.value === "string" ? key.value : null;
}

export function declaredNames(declaration: VariableDeclaration): string[] {
  return declaration.declarations.flatMap(({ id }) => patternNames(id));
}

function patternNames(pattern: Pattern): string[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((p) => patternNames(p.type === "Property" ? p.value : p.argument));
    case "ArrayPattern":
      return pattern.elements.flatMap((p) => (p === null ? [] : patternNames(p)));
    case "AssignmentPattern":
      return patternNames(pattern.left);
    case "RestElement":
      return patternNames(pattern.argument);
    default:
      return [];
  }
}

/** Names that `var` declares anywhere in a function's body, not inside inner functions. */
export function varNames(body: BlockStatement): Set<string> {
  const names = new Set<string>();
  walk(body, (node) => {
    if (node.type === "VariableDeclaration" && node.kind === "var") {
      for (const name of declaredNames(node)) names.add(name);
    }
    return !isFunctionNode(node);
  });
  return names;
}

/** Names a function reads and does not declare anywhere inside. */
export function freeNames(fn: FunctionNode): Set<string> {
  const used = new Set<string>();
  const declared = new Set<string>();
  walk(fn, (node) => {
    if (node.type === "Identifier") used.add(node.name);
    if (node.type === "VariableDeclaration") for (const name of declaredNames(node)) declared.add(name);
    if (isFunctionNode(node)) {
      if (node.id) declared.add(node.id.name);
      for (const param of node.params) for (const name of patternNames(param)) declared.add(name);
    }
    return true;
  });
  for (const name of declared) used.delete(name);
  return used;
}

const isFunctionNode = (node: AnyNode): node is FunctionNode =>
  node.type === "FunctionExpression" ||
  node.type === "FunctionDeclaration" ||
  node.type === "ArrowFunctionExpression";

/** Visits a tree; names that are only keys (`a.key`, `{ key: v }`) are left out. */
function walk(root: AnyNode, visit: (node: AnyNode) => boolean): void {
  const work: AnyNode[] = [root];
  for (let node = work.pop(); node !== undefined; node = work.pop()) {
    if (!visit(node)) continue;
    const isKey = "computed" in node && !node.computed;
    for (const [field, child] of Object.entries(node)) {
      if (isKey && (field === "property" || field === "key")) continue;
      for (const item of Array.isArray(child) ? child : [child]) {
        if (typeof item === "object" && item !== null && typeof item.type === "string") work.push(item);
      }
    }
  }
}

/** `Math` of `Math.max`, null if the chain does not begin with a name. */
export function rootName(node: MemberExpression): string | null {
  let object: AnyNode = node;
  while (object.type === "MemberExpression") object = object.object;
  return object.type === "Identifier" ? object.name : null;
}
