/**
 * Which declarations of a function are set again after they have been made. Build tools turn `const` into `let` and give
 * one name to many variables, so it is told by scopes, not by keywords or names.
 */
import { declaredNames, varNames } from "../frontend/names.ts";
import type { AnyNode, FunctionNode, Pattern } from "../frontend/parse.ts";

interface Name {
  /** Where its declarations stand. */
  readonly at: number[];
  reassigned: boolean;
}
type Names = Map<string, Name>;
interface Scope {
  readonly names: Names;
  readonly outer: Scope | null;
}

/** The start positions of the names (in declarations and parameters) that are assigned to later. */
export function reassignedNames(fn: FunctionNode): ReadonlySet<number> {
  const all: Name[] = [];
  walkFunction(fn, null, all);
  return new Set(all.filter((n) => n.reassigned).flatMap((n) => n.at));
}

const isFunction = (node: AnyNode): node is FunctionNode =>
  node.type === "FunctionExpression" ||
  node.type === "FunctionDeclaration" ||
  node.type === "ArrowFunctionExpression";

function walkFunction(fn: FunctionNode, outer: Scope | null, all: Name[]): void {
  const scope: Scope = { names: new Map(), outer };
  for (const p of fn.params) declare(p, scope, all);
  if (fn.body.type === "BlockStatement") {
    for (const name of varNames(fn.body)) open(name, scope, all);
    hoist(fn.body.body, scope, all);
    for (const s of fn.body.body) walk(s, scope, all);
  } else walk(fn.body, scope, all);
  for (const p of fn.params) if (p.type === "AssignmentPattern") walk(p.right, scope, all);
}

function open(name: string, scope: Scope, all: Name[]): Name {
  let known = scope.names.get(name);
  if (known === undefined) {
    known = { at: [], reassigned: false };
    scope.names.set(name, known);
    all.push(known);
  }
  return known;
}

/** Makes known the names that a list of statements declares, functions among them. */
function hoist(statements: readonly AnyNode[], scope: Scope, all: Name[]): void {
  for (const s of statements) {
    if (s.type === "FunctionDeclaration" && s.id) open(s.id.name, scope, all);
    else if (s.type === "VariableDeclaration" && s.kind !== "var") {
      for (const name of declaredNames(s)) open(name, scope, all);
    }
  }
}

function identifiers(pattern: Pattern): { name: string; start: number }[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern];
    case "ArrayPattern":
      return pattern.elements.flatMap((p) => (p === null ? [] : identifiers(p)));
    case "ObjectPattern":
      return pattern.properties.flatMap((p) => identifiers(p.type === "Property" ? p.value : p.argument));
    case "AssignmentPattern":
      return identifiers(pattern.left);
    case "RestElement":
      return identifiers(pattern.argument);
    default:
      return [];
  }
}

function declare(pattern: Pattern, scope: Scope, all: Name[]): void {
  for (const { name, start } of identifiers(pattern)) open(name, scope, all).at.push(start);
}

function find(name: string, scope: Scope | null): Name | null {
  for (let s = scope; s !== null; s = s.outer) {
    const known = s.names.get(name);
    if (known !== undefined) return known;
  }
  return null;
}

function assign(pattern: Pattern, scope: Scope): void {
  for (const { name } of identifiers(pattern)) {
    const known = find(name, scope);
    if (known !== null) known.reassigned = true;
  }
}

function walk(node: AnyNode, scope: Scope, all: Name[]): void {
  if (isFunction(node)) {
    walkFunction(node, scope, all);
    return;
  }
  let inner = scope;
  switch (node.type) {
    case "BlockStatement":
      inner = { names: new Map(), outer: scope };
      hoist(node.body, inner, all);
      break;
    case "ForStatement":
      inner = { names: new Map(), outer: scope };
      if (node.init?.type === "VariableDeclaration") hoist([node.init], inner, all);
      break;
    case "ForOfStatement":
    case "ForInStatement":
      inner = { names: new Map(), outer: scope };
      if (node.left.type === "VariableDeclaration") hoist([node.left], inner, all);
      else assign(node.left, scope);
      break;
    case "VariableDeclaration":
      for (const { id, init } of node.declarations) {
        for (const { name, start } of identifiers(id)) {
          const known = find(name, scope);
          if (known === null) continue;
          // A second declaration of a var, or one that gets its value later, is an assignment.
          if (known.at.length > 0 && init) known.reassigned = true;
          known.at.push(start);
        }
      }
      break;
    case "AssignmentExpression":
      if (node.left.type !== "MemberExpression") assign(node.left, scope);
      break;
    case "UpdateExpression":
      if (node.argument.type === "Identifier") assign(node.argument, scope);
      break;
  }
  for (const child of Object.values(node)) {
    for (const item of Array.isArray(child) ? child : [child]) {
      if (typeof item === "object" && item !== null && typeof item.type === "string") walk(item, inner, all);
    }
  }
}
