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

/** What a part of a function does to variables and to the flow of control; nothing of it in inner functions counts. */
export interface Doings {
  /** Names that something is assigned to. */
  readonly assigned: ReadonlySet<string>;
  /** Does it leave a loop (break, continue of one further out), end a round of its own, leave the function? */
  readonly breaks: boolean;
  readonly continues: boolean;
  readonly returns: boolean;
  /** Does it call a function by its name? */
  readonly calls: boolean;
}

export function doingsOf(parts: readonly (AnyNode | null | undefined)[]): Doings {
  const assigned = new Set<string>();
  let [breaks, continues, returns, calls] = [false, false, false, false];
  const visit = (node: AnyNode, loops: number): void => {
    if (isFunctionNode(node)) return;
    if (node.type === "AssignmentExpression")
      for (const name of patternNames(node.left as Pattern)) assigned.add(name);
    if (node.type === "UpdateExpression" && node.argument.type === "Identifier")
      assigned.add(node.argument.name);
    if (node.type === "VariableDeclaration" && node.kind === "var")
      for (const name of declaredNames(node)) assigned.add(name);
    if (node.type === "ReturnStatement") returns = true;
    if (node.type === "BreakStatement" && (node.label || loops === 0)) breaks = true;
    if (node.type === "ContinueStatement" && node.label) breaks = true;
    if (node.type === "ContinueStatement" && loops === 0) continues = true;
    if (node.type === "CallExpression" && node.callee.type === "Identifier") calls = true;
    const deeper = loops + (isLoop(node) ? 1 : 0);
    for (const child of Object.values(node)) {
      for (const item of Array.isArray(child) ? child : [child]) {
        if (typeof item === "object" && item !== null && typeof item.type === "string") visit(item, deeper);
      }
    }
  };
  for (const part of parts) if (part) visit(part, 0);
  return { assigned, breaks, continues, returns, calls };
}

const isLoop = (node: AnyNode): boolean =>
  node.type === "ForStatement" || node.type === "WhileStatement" || node.type === "DoWhileStatement";
