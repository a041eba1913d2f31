/** Runs a program under explain and collects what it made: tensors by name, output, the report, or what went wrong. */
import type { Report } from "strided";
import { explain, type Library, libraryWith, scope, Tensor, TensorError } from "./core.ts";
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
  readonly code: string;
  readonly tensors: readonly Named[];
  readonly report: Report | null;
  readonly output: readonly Line[];
  readonly mistake: Mistake | null;
}

const MOST_LINES = 200;
/** Tensors of one array or object that are shown. */
const MOST_PARTS = 64;

/** What the program calls while it runs; see program.ts. */
class Hooks {
  readonly tensors = new Map<string, Tensor>();
  /** Every constant, by its name. */
  readonly values: Record<string, unknown> = {};
  readonly output: Line[] = [];
  /** Where in the code the statement begins that runs now. */
  place: number | null = null;
  readonly #seconds: number;
  readonly #until: number;

  constructor(seconds: number) {
    this.#seconds = seconds;
    this.#until = performance.now() + seconds * 1000;
  }

  at(place: number): void {
    this.place = place;
  }
  keep(values: Readonly<Record<string, unknown>>): void {
    Object.assign(this.values, values);
    for (const [name, value] of Object.entries(values)) {
      for (const [path, tensor] of tensorsIn(name, value)) this.#name(path, tensor);
    }
  }
  value(line: number, value: unknown): void {
    if (value === undefined) return;
    const known = [...this.tensors.values()];
    for (const [path, tensor] of tensorsIn(`line ${line}`, value))
      if (!known.includes(tensor)) this.tensors.set(path, tensor);
    this.print(line, [value]);
  }
  /** A tensor that only had a line has a name from now on. */
  #name(name: string, tensor: Tensor): void {
    for (const [other, same] of this.tensors)
      if (same === tensor && other.startsWith("line ")) this.tensors.delete(other);
    this.tensors.set(name, tensor);
  }
  turn(): void {
    if (performance.now() > this.#until)
      throw new Error(`A loop ran for ${this.#seconds} seconds and was stopped.`);
  }
  /** A statement threw what its comment says it would. */
  failed(line: number, error: unknown): void {
    this.print(line, [`✗ ${error instanceof Error ? error.message : textOf(error)}`]);
  }
  print(line: number | null, values: readonly unknown[]): void {
    if (this.output.length < MOST_LINES) this.output.push({ line, text: values.map(textOf).join(" ") });
    else if (this.output.length === MOST_LINES) this.output.push({ line: null, text: "…" });
  }
}

/** A tensor, or those in an array or a plain object, by the path that leads there. */
function tensorsIn(name: string, value: unknown, depth = 0): (readonly [string, Tensor])[] {
  if (value instanceof Tensor) return value.isDisposed ? [] : [[name, value]];
  if (depth > 1 || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value))
    return value.slice(0, MOST_PARTS).flatMap((v, i) => tensorsIn(`${name}[${i}]`, v, depth + 1));
  const parts = Object.getPrototypeOf(value) === Object.prototype ? Object.entries(value) : [];
  return parts.slice(0, MOST_PARTS).flatMap(([key, v]) => tensorsIn(`${name}.${key}`, v, depth + 1));
}

type Main = (hooks: Hooks, libraries: unknown, console: unknown) => void | Promise<void>;

/** Loads an entry when a program asks for these names (null: all); what it prints by itself goes to the program's output. */
type Entry = (names: readonly string[] | null, print: (text: string) => void) => Promise<Library>;

/** Where programs run: what they may import, and whether they may wait. */
export interface Place {
  readonly entries: Readonly<Record<string, Entry>>;
  readonly await: boolean;
  /** A program whose loops outside functions run for longer is stopped. */
  readonly seconds: number;
}

const explorer: Place = { entries: { strided: libraryWith }, await: false, seconds: 3 };

export async function run(code: string, place: Place = explorer): Promise<Outcome> {
  const hooks = new Hooks(place.seconds);
  let program: Program | null = null;
  try {
    program = readProgram(code, allowedAt(place));
    const start = await prepare(program, place, hooks);
    if (program.awaits) {
      await start();
      return { code, tensors: named(hooks), report: null, output: hooks.output, mistake: null };
    }
    const report = explain(() =>
      scope(() => {
        void start();
        return [...hooks.tensors.values()];
      }),
    );
    return { code, tensors: named(hooks), report, output: hooks.output, mistake: null };
  } catch (error) {
    const mistake = mistakeOf(error, code, program, hooks.place);
    return { code, tensors: [], report: null, output: hooks.output, mistake };
  }
}

/** Runs a program for its constants, which are there, with their tensors, while `use` runs. */
export async function withValues(
  code: string,
  use: (values: Readonly<Record<string, unknown>>) => void,
): Promise<Mistake | null> {
  const hooks = new Hooks(explorer.seconds);
  let program: Program | null = null;
  try {
    program = readProgram(code, allowedAt(explorer));
    const start = await prepare(program, explorer, hooks);
    scope(() => {
      void start();
      hooks.place = null;
      use(hooks.values);
    });
    return null;
  } catch (error) {
    return mistakeOf(error, code, program, hooks.place);
  }
}

const allowedAt = (place: Place) => ({ entries: Object.keys(place.entries), await: place.await });

/** Loads the program and what it imports; what comes back runs it. */
async function prepare(program: Program, place: Place, hooks: Hooks): Promise<() => void | Promise<void>> {
  const [main, libraries] = await Promise.all([load(program.text), librariesOf(program, place, hooks)]);
  return () => main(hooks, libraries, consoleOf(hooks));
}

const named = (hooks: Hooks): Named[] =>
  [...hooks.tensors].map(([name, tensor]) => ({ name, tensor })).filter((t) => !t.tensor.isDisposed);

/** The entries that a program imports from, each with the names it wants. */
async function librariesOf(
  { imports }: Program,
  place: Place,
  hooks: Hooks,
): Promise<Readonly<Record<string, Library>>> {
  const print = (text: string) => hooks.print(null, [text]);
  const entries = [...new Set(imports.map((i) => i.entry))];
  const loaded = await Promise.all(
    entries.map(async (entry) => {
      const wanted = imports.filter((i) => i.entry === entry);
      const names = wanted.flatMap((i) => i.name ?? []);
      const library = await place.entries[entry](names.length < wanted.length ? null : names, print);
      const unknown = wanted.find(({ name }) => name !== null && !Object.hasOwn(library, name));
      if (unknown !== undefined)
        throw new ProgramError(`${entry} exports no "${unknown.name}".`, unknown.start, unknown.end);
      return [entry, library] as const;
    }),
  );
  return Object.fromEntries(loaded);
}

/** A console that prints on the page. */
function consoleOf(hooks: Hooks): Readonly<Record<string, unknown>> {
  const print = (...values: unknown[]) => hooks.print(null, values);
  const silent = () => {};
  const printing = [
    "log",
    "info",
    "warn",
    "error",
    "debug",
    "table",
    "dir",
    "trace",
    "group",
    "groupCollapsed",
  ];
  const others = ["groupEnd", "time", "timeLog", "timeEnd", "count", "countReset", "clear"];
  return {
    ...Object.fromEntries(printing.map((name) => [name, print])),
    ...Object.fromEntries(others.map((name) => [name, silent])),
    assert: (holds: unknown, ...values: unknown[]) => holds || print("Assertion failed:", ...values),
  };
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

function textOf(value: unknown): string {
  try {
    return plainText(value);
  } catch {
    return "an object that cannot be printed";
  }
}

function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Tensor) return value.isDisposed ? "a disposed tensor" : value.toString();
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Promise) return "a Promise: what it brings comes after the program has ended";
  if (value instanceof Map)
    return `Map { ${[...value].map(([k, v]) => `${textOf(k)} → ${textOf(v)}`).join(", ")} }`;
  if (value instanceof Set) return `Set { ${[...value].map(textOf).join(", ")} }`;
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (typeof value === "function") return `a function${value.name ? ` ${value.name}` : ""}`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.byteLength} bytes`;
  const own = (value as { toString?: unknown }).toString;
  if (typeof own === "function" && own !== Object.prototype.toString) return String(value);
  const outer: unknown[] = [];
  const text = JSON.stringify(value, function (this: unknown, _, v: unknown) {
    // Objects this one lies in: what leads back to one of them is not followed.
    while (outer.length > 0 && outer.at(-1) !== this) outer.pop();
    if (typeof v === "bigint") return `${v}n`;
    if (typeof v !== "object" || v === null) return v;
    if (outer.includes(v)) return "…";
    if (v instanceof Tensor) return textOf(v);
    outer.push(v);
    return v;
  });
  return text ?? String(value);
}

/** An error that came after the program had ended: from a promise, from a timer. */
export function lateMistake(error: unknown): Mistake {
  const { message } = mistakeOf(error, "", null, null);
  return { message: `After the program had ended: ${message}`, line: null, excerpt: null };
}

function mistakeOf(error: unknown, code: string, program: Program | null, place: number | null): Mistake {
  if (error instanceof ProgramError) {
    return {
      message: error.message,
      line: lineOf(code, error.start),
      excerpt: caret(code, error.start, error.end),
    };
  }
  const exact = program === null ? null : placeOf(error, program);
  const at = exact ?? place;
  const line = at === null ? null : lineOf(code, at);
  const message = error instanceof Error ? error.message : `The program threw ${textOf(error)}.`;
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
