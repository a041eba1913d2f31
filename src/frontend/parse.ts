/**
 * From a function to its syntax tree: the only file that knows the parser. A function is read from its own
 * printed source, whatever form that has: arrow, function, method. Positions in the tree are those in the text
 * that was parsed; `spanOf` brings them back to the printed source.
 */
import {
  type ArrowFunctionExpression,
  type ClassExpression,
  type Expression,
  type FunctionDeclaration,
  type FunctionExpression,
  parseExpressionAt,
} from "acorn";
import type { Span } from "../ir/node.ts";
import { type Refusal, refusal } from "./refusal.ts";

export type {
  AnyNode,
  AssignmentExpression,
  BinaryExpression,
  BlockStatement,
  BreakStatement,
  CallExpression,
  ContinueStatement,
  Expression,
  ForStatement,
  LogicalExpression,
  MemberExpression,
  Pattern,
  ReturnStatement,
  Statement,
  UnaryExpression,
  UpdateExpression,
  VariableDeclaration,
} from "acorn";
export type FunctionNode = ArrowFunctionExpression | FunctionExpression | FunctionDeclaration;

export interface ParsedFunction {
  readonly node: FunctionNode;
  /** The function as it prints. */
  readonly source: string;
  /** The function's own name, empty if it has none. */
  readonly name: string;
  /** How far positions in the tree lie after those in `source`. */
  readonly shift: number;
}

// biome-ignore lint/complexity/noBannedTypes: any function at all may be asked about
export type AnyFunction = Function;

export function spanOf(node: { readonly start: number; readonly end: number }, shift: number): Span {
  return { start: node.start - shift, end: node.end - shift };
}

export function parseFunction(fn: AnyFunction | string): ParsedFunction | Refusal {
  const source = (typeof fn === "string" ? fn : Function.prototype.toString.call(fn)).trim();
  const head = { start: 0, end: Math.max(1, source.search(/\n|$/)) };
  const refuse = (reason: string, span: Span = head, remedy?: string) =>
    refusal(reason, source, span, remedy ?? null);
  if (/\{\s*\[native code\]\s*\}$/.test(source)) {
    return refuse("cannot compile native or bound code; its source is hidden.", head, "Wrap it: x => fn(x).");
  }
  if (/^class[\s{]/.test(source)) return refuse("cannot compile a class; a kernel is a plain function.");
  let found: { node: FunctionNode; shift: number } | null;
  try {
    found = asExpression(source) ?? asMethod(source);
  } catch (error) {
    if (isStackOverflow(error)) return refuse("cannot compile this function; it is nested too deeply.");
    if (!(error instanceof SyntaxError)) throw error;
    const what = error.message.replace(/ \(\d+:\d+\)$/, "").replace(/^./, (c) => c.toLowerCase());
    const { pos = 0 } = error as { pos?: number };
    return refuse(`cannot read this function's source; ${what}.`, { start: pos, end: pos + 1 });
  }
  if (found === null) return refuse("cannot compile this; it is not a plain function.");
  const { node, shift } = found;
  if (node.async) return refuse("cannot compile an async function; a kernel computes one number at once.");
  if (node.generator) return refuse("cannot compile a generator; a kernel returns one number.");
  const name = node.id?.name ?? (typeof fn === "string" ? "" : fn.name);
  return { node, source, name, shift };
}

/** The parser words it in a syntax error of its own. */
const isStackOverflow = (error: unknown) =>
  error instanceof RangeError || (error instanceof SyntaxError && /stack space/.test(error.message));

const onlyComments = /^(?:[\s;]|\/\/.*|\/\*[\s\S]*?\*\/)*$/;

function asExpression(source: string): { node: FunctionNode; shift: number } | null {
  let node: Expression;
  try {
    node = parseExpressionAt(source, 0, { ecmaVersion: "latest" });
  } catch (error) {
    if (isStackOverflow(error) || looksLikeFunction(source)) throw error;
    return null;
  }
  if (node.type !== "ArrowFunctionExpression" && node.type !== "FunctionExpression") return null;
  return onlyComments.test(source.slice(node.end)) ? { node, shift: 0 } : null;
}

/** A source that only these forms can have: then the first parser's complaint is the one to show. */
const looksLikeFunction = (source: string) =>
  /^(async\s+)?function\b|^(async\s+)?(\([^()]*\)|\w+)\s*=>/.test(source);

/** Methods print without the object or class around them: `f(x) { … }`. */
function asMethod(source: string): { node: FunctionNode; shift: number } | null {
  const before = "(class{";
  let body: ClassExpression["body"];
  try {
    const text = `${before}${source}\n})`;
    body = (parseExpressionAt(text, 0, { ecmaVersion: "latest" }) as ClassExpression).body;
  } catch (error) {
    if (isStackOverflow(error)) throw error;
    return null;
  }
  const method = body.body[0];
  if (body.body.length !== 1 || method.type !== "MethodDefinition" || method.static) return null;
  return method.kind === "method" || method.kind === "constructor"
    ? { node: method.value, shift: before.length }
    : null;
}
