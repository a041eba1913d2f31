/**
 * The visitor's program, made ready to run without eval: a module whose default export is a function of the hooks, the
 * library and a console. Imports become arguments, what a top-level statement makes is handed to the hooks, and top-level
 * loops count their turns. Functions inside are left as they are, because kernels are compiled from their text.
 * No line moves, so a place in the running program can be told as a place in the editor.
 */
import { type Comment, type ModuleDeclaration, type Node, type Pattern, parse, type Statement } from "acorn";

export interface Program {
  /** The module's source. */
  readonly text: string;
  /** What it imports, and where it says so; a name of null stands for all that an entry has. */
  readonly imports: readonly Import[];
  /** It awaits something. */
  readonly awaits: boolean;
  /** A place in `text` (line from 1, column from 1) as an offset in the visitor's code. */
  locate(line: number, column: number): number | null;
}

export interface Import {
  readonly entry: string;
  readonly name: string | null;
  readonly start: number;
  readonly end: number;
}

/** What a program may do here. */
export interface Allowed {
  /** What it may import from. */
  readonly entries: readonly string[];
  readonly await: boolean;
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

export function readProgram(code: string, allowed: Allowed): Program {
  const comments: Comment[] = [];
  const body = parseModule(code, allowed, comments);
  const [hooks, library] = [freshName(code, "$$hooks"), freshName(code, "$$library")];
  const edits: Edit[] = [];
  const constants: string[] = [];
  const bound: string[] = [];
  const imports: Import[] = [];
  const failing = failingStatements(code, body, comments);
  const walk = { edits, hooks, allowed, awaits: false };
  for (const node of body) {
    if (node.type === "ImportDeclaration") {
      const entry = String(node.source.value);
      if (!allowed.entries.includes(entry)) {
        const which = allowed.entries.map((e) => `"${e}"`).join(", ");
        throw new ProgramError(`Only ${which} can be imported here.`, node.source.start, node.source.end);
      }
      const whole = `${library}[${JSON.stringify(entry)}]`;
      for (const s of node.specifiers) {
        if (s.type === "ImportDefaultSpecifier")
          throw new ProgramError(
            `${entry} has no default export: use { names } or * as strided.`,
            s.start,
            s.end,
          );
        const name = s.type === "ImportNamespaceSpecifier" ? null : nameOf(s.imported);
        constants.push(
          name === null ? `${s.local.name} = ${whole}` : `{ ${name}: ${s.local.name} } = ${whole}`,
        );
        imports.push({ entry, name, start: s.start, end: name === null ? s.end : s.start + name.length });
      }
      // The lines stay.
      edits.push({
        from: node.start,
        to: node.end,
        text: code.slice(node.start, node.end).replace(/[^\n]/g, ""),
      });
    } else if (failing.has(node)) {
      check(node, walk);
      insert(edits, node.start, `try { ${hooks}.at(${node.start});`);
      insert(edits, node.end, `} catch ($$error) { ${hooks}.failed(${lineOf(code, node.start)}, $$error); }`);
    } else instrument(code, node, bound, walk);
  }
  const opening = constants.length === 0 ? "" : ` const ${constants.join(", ")};`;
  // A block of its own: the program may have a constant named console.
  const kind = walk.awaits ? "async " : "";
  edits.unshift({
    from: 0,
    to: 0,
    text: `export default ${kind}(${hooks}, ${library}, console) => {{${opening}`,
  });
  edits.push({ from: code.length, to: code.length, text: `\n;${hooks}.keep({ ${bound.join(", ")} }); }}` });
  return { ...apply(code, edits), imports, awaits: walk.awaits };
}

type Top = Statement | ModuleDeclaration;

/** Statements after which a comment begins with ✗: what they throw belongs to the program, which goes on. */
function failingStatements(
  code: string,
  body: readonly Top[],
  comments: readonly Comment[],
): ReadonlySet<Top> {
  const failing = new Set<Top>();
  for (const { start, value } of comments) {
    const before = value.startsWith(" ✗ ") ? body.findLast((node) => node.end <= start) : undefined;
    if (before?.type === "ExpressionStatement" && code.slice(before.end, start).trim() === "")
      failing.add(before);
  }
  return failing;
}

/** What goes on while a program is walked. */
interface Walk {
  readonly edits: Edit[];
  readonly hooks: string;
  readonly allowed: Allowed;
  awaits: boolean;
}

/** A name that the program does not have. */
function freshName(code: string, name: string): string {
  return code.includes(name) ? freshName(code, `${name}$`) : name;
}

function parseModule(code: string, allowed: Allowed, comments: Comment[]): readonly Top[] {
  try {
    return parse(code, {
      ecmaVersion: "latest",
      sourceType: "module",
      allowAwaitOutsideFunction: allowed.await,
      onComment: comments,
    }).body;
  } catch (error) {
    const { message, pos } = error as SyntaxError & { pos?: number };
    if (pos === undefined) throw error;
    const fact = message.replace(/ \(\d+:\d+\)$/, "");
    throw new ProgramError(`${fact}.${hintAt(code, pos)}`, pos);
  }
}

/** What to do about a place that is no JavaScript, where its text tells. */
function hintAt(code: string, pos: number): string {
  if (code.startsWith("await", pos)) return " Calls of strided are synchronous: no await is needed.";
  const isType =
    /^(?:\??:|[!<]|(?:interface|enum|as|satisfies)\b)/.test(code.slice(pos)) ||
    /(?:^|\n)\s*(?:export\s+)?type\s+$|\bimport\s+type\s+$/.test(code.slice(0, pos));
  return isType ? " Programs run as JavaScript here: leave the types out." : "";
}

const nameOf = (node: { type: string; name?: string; value?: unknown }) => String(node.name ?? node.value);

function instrument(code: string, node: Top, bound: string[], walk: Walk): void {
  const { edits, hooks } = walk;
  const isDirective = node.type === "ExpressionStatement" && node.directive !== undefined;
  if (!isDirective) insert(edits, node.start, `${hooks}.at(${node.start});`);
  switch (node.type) {
    case "ExportNamedDeclaration":
    case "ExportDefaultDeclaration":
    case "ExportAllDeclaration":
      throw new ProgramError("Nothing needs to be exported here.", node.start, node.start + 6);
    case "VariableDeclaration": {
      const names = node.declarations.flatMap((d) => namesIn(d.id));
      check(node, walk);
      insert(edits, node.end, `;${hooks}.keep({ ${names.join(", ")} });`);
      bound.push(...names);
      break;
    }
    case "ExpressionStatement": {
      if (isDirective) break;
      check(node, walk);
      insert(edits, node.start, `${hooks}.value(${lineOf(code, node.start)}, (`);
      insert(edits, node.expression.end, "))");
      break;
    }
    default:
      check(node, walk);
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
function check(node: Node, walk: Walk): void {
  const { edits, hooks, allowed } = walk;
  if (/Function|Class/.test(node.type)) return;
  const isAwait = node.type === "AwaitExpression" || (node as Node & { await?: boolean }).await === true;
  walk.awaits ||= isAwait;
  if (isAwait && !allowed.await)
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
      if (child !== null && typeof child === "object" && "type" in child) check(child as Node, walk);
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
