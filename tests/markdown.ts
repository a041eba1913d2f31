/**
 * Runs the ```ts blocks of a markdown file. Each block is a program of its own, as a reader would paste it, written
 * in plain JavaScript syntax. Comments after a statement say what it gives:
 *
 *     a.strides; // → [4, 2]
 *     const b = a.add(1); // → f32 [1, 3]
 *     console.log(a);
 *     // → Tensor f32 [2]
 *     //   [0, 2]
 *     a.get(9);
 *     // ✗ get: index 9 is out of range for axis 0 of size 2.
 *     //   Use -2 … 1.
 */
import { readFileSync } from "node:fs";
import { type Comment, type ModuleDeclaration, parse, type Statement } from "acorn";
import { transformSync } from "esbuild";
import * as chunked from "../src/chunked.ts";
import * as grad from "../src/grad.ts";
import * as strided from "../src/index.ts";
import * as interop from "../src/interop.ts";
import * as io from "../src/io.ts";
import * as nn from "../src/nn.ts";
import * as plot from "../src/plot.ts";
import * as quantised from "../src/quantised.ts";

/** What the documents may import, and the folder of src it comes from. */
export const entries: Readonly<Record<string, { readonly module: object; readonly file: string }>> = {
  strided: { module: strided, file: "index.ts" },
  "strided/chunked": { module: chunked, file: "chunked.ts" },
  "strided/grad": { module: grad, file: "grad.ts" },
  "strided/interop": { module: interop, file: "interop.ts" },
  "strided/io": { module: io, file: "io.ts" },
  "strided/nn": { module: nn, file: "nn.ts" },
  "strided/plot": { module: plot, file: "plot.ts" },
  "strided/quantised": { module: quantised, file: "quantised.ts" },
};
const modules = Object.fromEntries(Object.entries(entries).map(([name, { module }]) => [name, module]));

export interface Block {
  readonly file: string;
  /** Line of the file that the block's first line is on. */
  readonly line: number;
  readonly code: string;
}

export function blocksOf(file: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; code: string[] } | null = null;
  readFileSync(new URL(`../${file}`, import.meta.url), "utf8")
    .split("\n")
    .forEach((text, i) => {
      const fence = /^```(\w*)/.exec(text);
      if (fence === null) open?.code.push(text);
      else if (open === null) open = { language: fence[1], line: i + 2, code: [] };
      else {
        if (open.language === "ts") blocks.push({ file, line: open.line, code: open.code.join("\n") });
        open = null;
      }
    });
  return blocks;
}

/** What a statement is said to give, beside what it gave. */
export interface Outcome {
  readonly line: number;
  readonly expected: string;
  readonly actual: string;
}

interface Expectation {
  readonly line: number;
  readonly throws: boolean;
  readonly text: string;
}

export async function runBlock({ code, line }: Block): Promise<Outcome[]> {
  const comments: Comment[] = [];
  const tree = parse(code, {
    ecmaVersion: "latest",
    sourceType: "module",
    onComment: comments,
    locations: true,
  });
  const expected = expectations(code, comments, tree.body);
  const program = tree.body.map((node) => rewrite(code, node, expected.get(node))).join("\n");
  const outcomes: Outcome[] = [];
  const at = (wanted: Expectation) => line + wanted.line - 1;
  const all = [...expected.values()];
  const gives = (which: number, value: unknown) => {
    const { text } = all[which];
    const readings = readingsOf(value);
    const nearest = readings[text.includes("\n") ? readings.length - 1 : 0];
    const actual = readings.includes(text) ? text : nearest;
    outcomes.push({ line: at(all[which]), expected: text, actual });
  };
  const throws = async (which: number, run: () => Promise<void>) => {
    let actual = "nothing was thrown";
    try {
      await run();
    } catch (error) {
      actual = (error as Error).message;
    }
    outcomes.push({ line: at(all[which]), expected: all[which].text, actual });
  };
  const body = /^\s*using\b/m.test(code) ? lowered(program) : program;
  await new AsyncFunction("modules", "gives", "throws", "console", body)(modules, gives, throws, {
    log() {},
  });
  return outcomes;

  function rewrite(source: string, node: Top, wanted: Expectation | undefined): string {
    const text = source.slice(node.start, node.end);
    if (node.type === "ImportDeclaration") {
      const from = String(node.source.value);
      if (!Object.hasOwn(entries, from)) throw new Error(`line ${line}: imports ${from}`);
      return text
        .replace(/^import/, "const")
        .replace(/\bas\b/g, ":")
        .replace(/from\s*["'].*/s, () => `= modules[${JSON.stringify(from)}];`);
    }
    if (wanted === undefined) return text;
    const which = [...expected.values()].indexOf(wanted);
    if (wanted.throws) return `await throws(${which}, async () => { ${text} });`;
    if (node.type === "VariableDeclaration") {
      const { id } = node.declarations[0];
      return `${text}\ngives(${which}, ${source.slice(id.start, id.end)});`;
    }
    if (node.type !== "ExpressionStatement") throw new Error(`line ${line}: a ${node.type} gives nothing`);
    const { expression } = node;
    const isLog = expression.type === "CallExpression" && text.startsWith("console.log(");
    const { start, end } = isLog ? expression.arguments[0] : expression;
    return `gives(${which}, ${source.slice(start, end)});`;
  }
}

type Top = Statement | ModuleDeclaration;
const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...args: unknown[]) => Promise<void>;

/** `using` is newer than the oldest Node we run on. */
function lowered(program: string): string {
  const { code } = transformSync(`async function block() {\n${program}\n}`, { target: "es2022" });
  return `${code}\nawait block();`;
}

/** Each `→` or `✗` comment belongs to the statement it follows; indented comments right below continue it. */
function expectations(
  code: string,
  comments: readonly Comment[],
  body: readonly Top[],
): Map<Top, Expectation> {
  const found = new Map<Top, Expectation>();
  const lines = code.split("\n");
  comments.forEach((comment, i) => {
    const sign = /^ ([→✗]) (.*)$/s.exec(comment.value);
    if (sign === null || comment.type !== "Line") return;
    const line = comment.loc!.start.line;
    const node = body.findLast((n) => n.start < comment.start);
    if (node === undefined || node.end > comment.start || found.has(node)) {
      throw new Error(`"//${comment.value}" must follow one top-level statement`);
    }
    const text = [sign[2]];
    for (let k = i + 1; k < comments.length; k++) {
      const more = comments[k];
      const isNext =
        more.loc!.start.line === line + text.length && /^\s*\/\//.test(lines[line + text.length - 1]);
      if (!isNext || !(more.value.startsWith("   ") || more.value === "")) break;
      text.push(more.value.slice(3));
    }
    found.set(node, { line, throws: sign[1] === "✗", text: text.join("\n") });
  });
  return found;
}

/** The ways a value may be written: the plainest first, as it prints last. */
function readingsOf(value: unknown): string[] {
  if (!(value instanceof strided.Tensor)) return [textOf(value)];
  const printed = value.toString();
  const cells = printed
    .slice(printed.indexOf("\n") + 1)
    .replace(/\s+/g, " ")
    .replaceAll("[ ", "[");
  const exact = textOf(value.toArray());
  return [`${value.dtype} ${exact}`, exact, `${value.dtype} ${cells}`, cells, printed];
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (ArrayBuffer.isView(value)) return textOf([...(value as Float32Array)]);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return String(value);
  if (typeof value === "object" && value !== null) {
    return `{ ${Object.entries(value)
      .map(([k, v]) => `${k}: ${textOf(v)}`)
      .join(", ")} }`;
  }
  return Object.is(value, -0) ? "-0" : String(value);
}
