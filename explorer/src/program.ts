/**
 * The visitor's program, made ready to run without eval: a module whose default export is a function of the hooks, the
 * library and a console. Imports become arguments, what a top-level statement makes is handed to the hooks, and top-level
 * loops count their turns. Functions inside are left as they are, because kernels are compiled from their text.
 * No line moves, so a place in the running program can be told as a place in the editor.
 */
import { type ModuleDeclaration, type Node, type Pattern, parse, type Statement } from "acorn";

export interface Program {
  /** The module's source. */
  readonly text: string;
  /** What it imports from strided, and where it says so. */
  readonly names: readonly { readonly name: string; readonly start: number; readonly end: number }[];
  /** It imports the library as a whole. */
  readonly wantsAll: boolean;
  /** A place in `text` (line from 1, column from 1) as an offset in the visitor's code. */
  locate(line: number, column: number): number | null;
}

/** A mistake with a place in the code. */
export class ProgramError extends Error {
  readonly start: number;
  readonly end: number;

  constructor(message: string, start: number, end = start + 1) {
    super(message);
    this.start = start;
    this.end = end;
  }
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export function readProgram(code: string): Program {
  const body = parseModule(code);
  const [hooks, library] = [freshName(code, "$$hooks"), freshName(code, "$$library")];
  const edits: Edit[] = [];
  const imports: string[] = [];
  const bound: string[] = [];
  const names: { name: string; start: number; end: number }[] = [];
  let wantsAll = false;
  for (const node of body) {
    if (node.type === "ImportDeclaration") {
      if (node.source.value !== "strided")
        throw new ProgramError(`Only "strided" can be imported here.`, node.source.start, node.source.end);
      for (const s of node.specifiers) {
        if (s.type === "ImportDefaultSpecifier")
          throw new ProgramError(
            "strided has no default export: use { names } or * as strided.",
            s.start,
            s.end,
          );
        const imported = s.type === "ImportNamespaceSpecifier" ? null : nameOf(s.imported);
        imports.push(
          imported === null
            ? `${s.local.name} = ${library}`
            : `{ ${imported}: ${s.local.name} } = ${library}`,
        );
        if (imported === null) wantsAll = true;
        else names.push({ name: imported, start: s.start, end: s.start + imported.length });
      }
      // The lines stay.
      edits.push({
        from: node.start,
        to: node.end,
        text: code.slice(node.start, node.end).replace(/[^\n]/g, ""),
      });
    } else instrument(code, node, edits, bound, hooks);
  }
  const constants = imports.length === 0 ? "" : ` const ${imports.join(", ")};`;
  // A block of its own: the program may have a constant named console.
  edits.unshift({ from: 0, to: 0, text: `export default (${hooks}, ${library}, console) => {{${constants}` });
  edits.push({ from: code.length, to: code.length, text: `\n;${hooks}.keep({ ${bound.join(", ")} }); }}` });
  return { ...apply(code, edits), names, wantsAll };
}

/** A name that the program does not have. */
function freshName(code: string, name: string): string {
  return code.includes(name) ? freshName(code, `${name}$`) : name;
}

function parseModule(code: string): readonly (Statement | ModuleDeclaration)[] {
  try {
    return parse(code, { ecmaVersion: "latest", sourceType: "module", allowAwaitOutsideFunction: false })
      .body;
  } catch (error) {
    const { message, pos } = error as SyntaxError & { pos?: number };
    if (pos === undefined) throw error;
    const fact = message.replace(/ \(\d+:\d+\)$/, "");
    const hint = code.startsWith("await", pos)
      ? " Calls of strided are synchronous: no await is needed."
      : "";
    throw new ProgramError(`${fact}.${hint}`, pos);
  }
}

const nameOf = (node: { type: string; name?: string; value?: unknown }) => String(node.name ?? node.value);

function instrument(
  code: string,
  node: Statement | ModuleDeclaration,
  edits: Edit[],
  bound: string[],
  hooks: string,
): void {
  const isDirective = node.type === "ExpressionStatement" && node.directive !== undefined;
  if (!isDirective) insert(edits, node.start, `${hooks}.at(${node.start});`);
  switch (node.type) {
    case "ExportNamedDeclaration":
    case "ExportDefaultDeclaration":
    case "ExportAllDeclaration":
      throw new ProgramError("Nothing needs to be exported here.", node.start, node.start + 6);
    case "VariableDeclaration": {
      const names = node.declarations.flatMap((d) => namesIn(d.id));
      check(node, edits, hooks);
      insert(edits, node.end, `;${hooks}.keep({ ${names.join(", ")} });`);
      bound.push(...names);
      break;
    }
    case "ExpressionStatement": {
      if (isDirective) break;
      check(node, edits, hooks);
      insert(edits, node.start, `${hooks}.value(${lineOf(code, node.start)}, (`);
      insert(edits, node.expression.end, "))");
      break;
    }
    default:
      check(node, edits, hooks);
  }
}

/** The names a pattern binds. */
function namesIn(pattern: Pattern): string[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name];
    case "ArrayPattern":
      return pattern.elements.flatMap((e) => (e === null ? [] : namesIn(e)));
    case "ObjectPattern":
      return pattern.properties.flatMap((p) => namesIn(p.type === "RestElement" ? p.argument : p.value));
    case "RestElement":
      return namesIn(pattern.argument);
    case "AssignmentPattern":
      return namesIn(pattern.left);
    default:
      return [];
  }
}

const loops = new Set([
  "ForStatement",
  "ForInStatement",
  "ForOfStatement",
  "WhileStatement",
  "DoWhileStatement",
]);

/**
 * A loop that never ends would take the page with it: each turn of one outside functions is counted. What cannot run
 * here is told with its place.
 */
function check(node: Node, edits: Edit[], hooks: string): void {
  if (/Function|Class/.test(node.type)) return;
  if (node.type === "AwaitExpression" || (node as Node & { await?: boolean }).await === true)
    throw new ProgramError(
      "Nothing can be awaited here. Calls of strided are synchronous: no await is needed.",
      node.start,
      node.start + 5,
    );
  if (node.type === "ImportExpression")
    throw new ProgramError(
      'Only import { … } from "strided" is possible here.',
      node.start,
      node.start + "import".length,
    );
  if (loops.has(node.type)) {
    const { body } = node as Node & { body: Node };
    insert(edits, body.start, `{ ${hooks}.turn(); `);
    insert(edits, body.end, " }");
  }
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child !== null && typeof child === "object" && "type" in child) check(child as Node, edits, hooks);
    }
  }
}

const insert = (edits: Edit[], at: number, text: string) => edits.push({ from: at, to: at, text });
export const lineOf = (code: string, offset: number) => code.slice(0, offset).split("\n").length;

function apply(code: string, edits: Edit[]): Pick<Program, "text" | "locate"> {
  // Stable: edits at one place keep their order.
  const ordered = edits.slice().sort((a, b) => a.from - b.from);
  const pieces: { readonly text: string; readonly at: number | null }[] = [];
  let done = 0;
  for (const edit of ordered) {
    pieces.push({ text: code.slice(done, edit.from), at: done }, { text: edit.text, at: null });
    done = edit.to;
  }
  pieces.push({ text: code.slice(done), at: done });
  const text = pieces.map((p) => p.text).join("");
  return {
    text,
    locate(line, column) {
      const lines = text.split("\n");
      if (line < 1 || line > lines.length) return null;
      let offset = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0) + column - 1;
      let near: number | null = null;
      for (const piece of pieces) {
        if (piece.at !== null) near = piece.at + Math.min(offset, piece.text.length);
        if (offset < piece.text.length && piece.at !== null) return near;
        offset -= piece.text.length;
        if (offset < 0) return near;
      }
      return near;
    },
  };
}
