/** Runs a program under explain and collects what it made: tensors by name, output, the report, or what went wrong. */
import type { Report } from "strided";
import { explain, libraryWith, scope, Tensor, TensorError } from "./core.ts";
import { lineOf, type Program, ProgramError, readProgram } from "./program.ts";

export interface Named {
  readonly name: string;
  readonly tensor: Tensor;
}
export interface Line {
  /** The line of the program that printed it; null for console calls. */
  readonly line: number | null;
  readonly text: string;
}
export interface Mistake {
  readonly message: string;
  /** Where it is, as far as that is known. */
  readonly line: number | null;
  /** The line of code with a caret under the place; null when the message has one, or no place is known. */
  readonly excerpt: string | null;
}
export interface Outcome {
  readonly tensors: readonly Named[];
  readonly report: Report | null;
  readonly output: readonly Line[];
  readonly mistake: Mistake | null;
}

const MOST_LINES = 200;
const MOST_MILLISECONDS = 3000;

/** What the program calls while it runs; see program.ts. */
class Hooks {
  readonly tensors = new Map<string, Tensor>();
  readonly output: Line[] = [];
  readonly #until = performance.now() + MOST_MILLISECONDS;

  keep(values: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(values)) {
      if (value instanceof Tensor && !value.isDisposed) this.tensors.set(name, value);
    }
  }
  value(line: number, value: unknown): void {
    if (value === undefined) return;
    const known = [...this.tensors.values()];
    if (value instanceof Tensor && !value.isDisposed && !known.includes(value))
      this.tensors.set(`line ${line}`, value);
    this.print(line, [value]);
  }
  turn(): void {
    if (performance.now() > this.#until)
      throw new Error(`A loop ran for ${MOST_MILLISECONDS / 1000} seconds and was stopped.`);
  }
  print(line: number | null, values: readonly unknown[]): void {
    if (this.output.length < MOST_LINES) this.output.push({ line, text: values.map(textOf).join(" ") });
    else if (this.output.length === MOST_LINES) this.output.push({ line: null, text: "…" });
  }
}

type Main = (hooks: Hooks, library: unknown, console: unknown) => void;

export async function run(code: string): Promise<Outcome> {
  const hooks = new Hooks();
  let program: Program | null = null;
  try {
    program = readProgram(code);
    const [main, library] = await Promise.all([load(program.text), libraryWith(program.names)]);
    checkNames(code, program, library);
    const print = (...values: unknown[]) => hooks.print(null, values);
    const console = { log: print, info: print, warn: print, error: print, debug: print, table: print };
    const report = explain(() =>
      scope(() => {
        main(hooks, library, console);
        return [...hooks.tensors.values()];
      }),
    );
    const tensors = [...hooks.tensors].map(([name, tensor]) => ({ name, tensor }));
    return {
      tensors: tensors.filter((t) => !t.tensor.isDisposed),
      report,
      output: hooks.output,
      mistake: null,
    };
  } catch (error) {
    return { tensors: [], report: null, output: hooks.output, mistake: mistakeOf(error, code, program) };
  }
}

/** A module from text: a Blob and import(), which a policy without eval can allow. */
async function load(text: string): Promise<Main> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return ((await import(/* @vite-ignore */ url)) as { default: Main }).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}

function checkNames(code: string, { names }: Program, library: Readonly<Record<string, unknown>>): void {
  const unknown = names?.find((name) => !(name in library));
  if (unknown === undefined) return;
  const at = code.search(new RegExp(`\\b${unknown.replace(/\$/g, "\\$")}\\b`));
  throw new ProgramError(`strided exports no "${unknown}".`, at, at + unknown.length);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Tensor) return value.isDisposed ? "a disposed tensor" : value.toString();
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (typeof value === "function") return `a function${value.name ? ` ${value.name}` : ""}`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.byteLength} bytes`;
  const own = (value as { toString?: unknown }).toString;
  if (typeof own === "function" && own !== Object.prototype.toString) return String(value);
  return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}n` : v)) ?? String(value);
}

function mistakeOf(error: unknown, code: string, program: Program | null): Mistake {
  if (error instanceof ProgramError) {
    return {
      message: error.message,
      line: lineOf(code, error.start),
      excerpt: caret(code, error.start, error.end),
    };
  }
  const at = program === null ? null : placeOf(error, program);
  const line = at === null ? null : lineOf(code, at);
  const message = error instanceof Error ? error.message : String(error);
  const plain = error instanceof TensorError || !(error instanceof Error) || error.constructor === Error;
  const hasCaret = /^\s*\^+\s*$/m.test(message);
  return {
    message: plain ? message : `${(error as Error).name}: ${message}`,
    line,
    excerpt: at === null || hasCaret ? null : caret(code, at, at + 1),
  };
}

/** The innermost place of the visitor's module in the error's stack. */
function placeOf(error: unknown, program: Program): number | null {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const found = /blob:[^\s)]*?:(\d+):(\d+)/.exec(stack);
  return found === null ? null : program.locate(Number(found[1]), Number(found[2]));
}

/** The line a place is on, and a caret under it. */
export function caret(code: string, start: number, end: number): string {
  const at = Math.min(start, code.length);
  const lineStart = code.lastIndexOf("\n", at - 1) + 1;
  const newline = code.indexOf("\n", at);
  const line = code.slice(lineStart, newline < 0 ? code.length : newline);
  const indent = line.length - line.trimStart().length;
  const width = Math.max(1, Math.min(end, lineStart + line.length) - at);
  return `${line.trim()}\n${" ".repeat(Math.max(0, at - lineStart - indent))}${"^".repeat(width)}`;
}
