/**
 * A function as operations see it: its template, or why it has none, and the programs already made of it. Known
 * functions are found by identity, new closures of a known text by that text, so `a.map(x => x + 1)` in a loop
 * parses once. Functions among captured values count by their texts too.
 */
import type { DType } from "../dtype.ts";
import { describe, fail, TensorError } from "../errors.ts";
import { type ParamKind, paramKind, specialize } from "../frontend/infer.ts";
import { capturedArguments, lowerFunction } from "../frontend/lower.ts";
import { isRefusal, type Refusal, refusalMessage } from "../frontend/refusal.ts";
import {
  captureValues,
  inlineTemplate,
  isKernelLike,
  type KernelLike,
  registerKernel,
  Table,
  TemplateBuilder,
} from "../frontend/template.ts";
import { type Id, type Node, type Program, resultsOf, severalOf, type Template } from "../ir/node.ts";
import { fastRules, simplify } from "../optimize/rules.ts";
import { type Captured, idOf, newId } from "../run/call.ts";
import { checkFunction, readOptions } from "./arguments.ts";
import { ownGlobals } from "./probe.ts";

export type ScalarFunction = (...args: never[]) => unknown;

const kindIds = { int: 0, float: 1, big: 2, bool: 3 } as const;
/** Kinds of so many captured values are a number. */
const MOST_DIGITS = 20;

/** What a function means, whatever values it has captured: its template, and the programs made of it so far. */
export class Definition {
  /** Stands for it in calls. */
  readonly id = newId();
  readonly template: Template;
  readonly fastMath: boolean;
  readonly #programs = new Map<string, Program>();
  /** The same function of operands that are converted first. */
  readonly computed: Map<string, Definition> = new Map();

  constructor(template: Template, fastMath = false) {
    this.template = template;
    this.fastMath = fastMath;
  }

  /** The program for operands of these dtypes and captured values of these kinds, and for such outputs if they are given. */
  program(
    inputs: readonly DType[],
    kinds: readonly ParamKind[],
    dtype: DType | undefined,
    operation: string,
    outs: readonly DType[] = [],
  ): Program {
    const key = `${inputs.join()}|${kinds.join()}|${dtype ?? ""}|${outs.join()}`;
    let program = this.#programs.get(key);
    if (program === undefined) {
      program =
        outs.length > 0
          ? storedInto(this.program(inputs, kinds, dtype, operation), outs)
          : specialize(this.template, inputs, kinds, { dtype, operation });
      if (this.fastMath && outs.length === 0) program = simplify(program, fastRules);
      this.#programs.set(key, program);
    }
    return program;
  }
}

/** The program with its results converted to the dtypes of outputs that were there before. */
function storedInto(program: Program, outs: readonly DType[]): Program {
  const results = resultsOf(program);
  if (results.every((id, k) => program.nodes[id].dtype === outs[k])) return program;
  const nodes: Node[] = program.nodes.filter(({ op }) => op !== "tuple");
  const args = results.map((id, k) =>
    nodes[id].dtype === outs[k] ? id : nodes.push({ op: "cast", dtype: outs[k], args: [id] }) - 1,
  );
  const [dtype] = outs;
  const result = outs.length === 1 ? args[0] : nodes.push({ op: "tuple", dtype, args }) - 1;
  return { ...program, nodes, result, dtype };
}

/** What a callable has besides its definition. */
export interface CallableParts {
  readonly refusal?: Refusal;
  readonly fn?: ScalarFunction | null;
  readonly values?: readonly Captured[];
  readonly captures?: Captures;
  readonly tables?: readonly Table[];
}

/** A function with its captured values: one that has a definition is compiled, any other is called. */
export class Callable {
  readonly definition: Definition | null;
  readonly refusal: Refusal | null;
  /** What is called where there is no definition; null where there is one. */
  readonly fn: ScalarFunction | null;
  /** Captured values, by param index. */
  readonly values: readonly Captured[];
  /** What a kernel was given by name: values, functions, other kernels. */
  readonly captures: Captures;
  /** What plans depend on, of the function: what stands for it, and of the captured values their kinds. */
  readonly facts: readonly (number | string)[];
  /** The tables whose facts are among the captured values. */
  readonly tables: readonly Table[];

  constructor(definition: Definition | null, { refusal, fn, values, captures, tables }: CallableParts = {}) {
    this.definition = definition;
    this.refusal = refusal ?? null;
    this.fn = fn ?? null;
    this.values = values ?? none;
    this.captures = captures ?? noCaptures;
    this.facts = [definition?.id ?? 0, kindsOf(this.values)];
    this.tables = tables ?? noTables;
  }

  /** The captured values, for a call now: all tables are checked to live. */
  valuesFor(operation: string): readonly Captured[] {
    for (const table of this.tables) table.check(operation);
    return this.values;
  }

  /** A function whose template is known, with its captured values. */
  static of(definition: Definition, values: readonly Captured[], captures: Captures): Callable {
    return new Callable(definition, { values, captures, tables: tablesIn(captures) });
  }

  get template(): Template | null {
    return this.definition?.template ?? null;
  }

  /** The same function with other captured values. */
  withValues(values: readonly Captured[]): Callable {
    const { captures, tables } = this;
    return new Callable(this.definition, { values, captures, tables });
  }

  /** The same function of operands that are converted first, from one on, if there is a dtype; one that is called stays as it is. */
  computed(dtype: DType | undefined, from = 0): Callable {
    if (this.definition === null || dtype === undefined) return this;
    const key = `${dtype} ${from}`;
    let definition = this.definition.computed.get(key);
    if (definition === undefined) {
      definition = this.#rebuilt(
        (b, inputs, inline) => inline(inputs.map((x, i) => (i < from ? x : b.cast(dtype, x)))),
        dtype,
      );
      this.definition.computed.set(key, definition);
    }
    return this.#as(definition);
  }

  /** The same function with its result as this dtype; one that is called stays as it is. */
  converted(dtype: DType): Callable {
    if (this.definition === null) return this;
    return this.#as(this.#rebuilt((b, inputs, inline) => b.cast(dtype, inline(inputs))));
  }

  #as(definition: Definition): Callable {
    const { values, captures, tables } = this;
    return new Callable(definition, { values, captures, tables });
  }

  /** Another template around this one. */
  #rebuilt(
    make: (b: TemplateBuilder, inputs: readonly Id[], inline: (args: readonly Id[]) => Id) => Id,
    compute = this.template!.compute,
  ): Definition {
    const template = this.template!;
    const b = new TemplateBuilder();
    const inputs = Array.from({ length: template.inputs }, (_, i) => b.input(i));
    const params = template.params.map((_, i) =>
      b.param(i, typeof this.values[i] === "boolean" ? "boolean" : "number"),
    );
    const into = { guard: null, effects: [] as Id[] };
    const result = make(b, inputs, (args) => inlineTemplate(b, template, args, params, undefined, into));
    const { params: names, source, name } = template;
    const { effects } = into;
    const made = b.finish(result, { inputs: template.inputs, params: names, source, name, compute, effects });
    return new Definition(made, this.definition!.fastMath);
  }

  /** The program for these operand dtypes; null when the function could not be compiled. */
  program(
    inputs: readonly DType[],
    dtype?: DType,
    operation = "kernel",
    outs?: readonly DType[],
  ): Program | null {
    return this.definition?.program(inputs, this.values.map(paramKind), dtype, operation, outs) ?? null;
  }
}

const none: readonly Captured[] = [];
const noCaptures: Captures = {};
const noTables: readonly Table[] = [];

/** Tables among captured values, and those that captured kernels have. */
function tablesIn(captures: Captures): readonly Table[] {
  const all = Object.values(captures).flatMap((value) =>
    value instanceof Table
      ? [value]
      : typeof value === "function"
        ? (byIdentity.get(value)?.tables ?? noTables)
        : noTables,
  );
  return all.length === 0 ? noTables : all;
}

function kindsOf(values: readonly Captured[]): number | string {
  if (values.length > MOST_DIGITS) return values.map(paramKind).join();
  let code = 1;
  for (let i = 0; i < values.length; i++) code = code * 4 + kindIds[paramKind(values[i])];
  return code;
}

const byIdentity = new WeakMap<object, Callable>();
/** Texts are kept while there are few of them: a program that makes functions without end must not fill memory. */
const byText = new Map<string, Callable>();
const MOST_TEXTS = 1000;

/** The callable behind a plain function or a kernel. Never throws for a function that cannot be compiled. */
export function callableOf(operation: string, fn: unknown, given?: Captures): Callable {
  if (typeof fn !== "function") {
    return fail(
      "kernel",
      operation,
      `expected a function, got ${describe(fn)}.`,
      "Pass a plain function of scalars such as x => x + 1, or a kernel.",
    );
  }
  if (given !== undefined) return withCaptures(operation, fn as ScalarFunction, given);
  const known = byIdentity.get(fn);
  if (known !== undefined) return checkSingle(operation, known);
  let callable = read(operation, fn as ScalarFunction, noCaptures, "lenient");
  // A function that cannot be compiled is called instead, so its identity matters.
  const refusal = callable.refusal ?? ownGlobals(fn, callable.template!);
  if (refusal !== null) callable = new Callable(null, { refusal, fn: fn as ScalarFunction });
  byIdentity.set(fn, callable);
  return callable;
}

export type Captures = Readonly<Record<string, unknown>>;

/** What a function says, or why it cannot be compiled: read once for each text, and names and types of captured values. */
function read(
  operation: string,
  fn: ScalarFunction,
  captures: Captures,
  how: "lenient" | "strict" | "fast",
): Callable {
  const key = `${how} ${signatureOf(captures)}\n${textOf(fn)}`;
  let callable = byText.get(key);
  if (callable === undefined) {
    const lowered = lowerFunction(fn, captures, how !== "lenient");
    if (isRefusal(lowered) && lowered.binding)
      throw new TensorError("kernel", refusalMessage(operation, lowered));
    callable = isRefusal(lowered)
      ? new Callable(null, { refusal: lowered })
      : new Callable(new Definition(lowered, how === "fast"));
    if (byText.size >= MOST_TEXTS) byText.clear();
    byText.set(key, callable);
  }
  return callable;
}

/** A function that is given captured values beside its operands: called with them, where it cannot be compiled. */
function withCaptures(operation: string, fn: ScalarFunction, given: Captures): Callable {
  const captures = readCaptures(operation, given);
  const { definition, refusal } = read(operation, fn, captures, "lenient");
  const tables = tablesIn(captures);
  if (definition === null) {
    // A function that is called has numbers only: it could not read a table as compiled code does.
    if (tables.length > 0) throw new TensorError("kernel", refusalMessage(operation, refusal!));
    return calledWith(fn, captures, refusal!);
  }
  const values = captureValues(definition.template, captures) as Captured[];
  const own = probe(fn, definition.template, values, captures);
  return own === null ? new Callable(definition, { values, tables }) : calledWith(fn, captures, own);
}

/** A kernel with several results is called, and nothing else. */
export function checkSingle(operation: string, callable: Callable): Callable {
  const several = callable.template === null ? 0 : severalOf(callable.template);
  if (several === 0) return callable;
  return fail(
    "kernel",
    operation,
    `the kernel has ${several} results.`,
    "Call it on tensors: it gives one tensor for each, to convert or to fold.",
  );
}

/** Functions whose global names are the global ones. */
const probed = new WeakSet<object>();

/** Why the function, or one that it captures, has a global name of its own; each is asked until it has none. */
function probe(
  fn: ScalarFunction,
  template: Template,
  values: readonly Captured[],
  captures: Captures,
): Refusal | null {
  const functions = [fn, ...Object.values(captures).filter((value) => typeof value === "function")];
  if (functions.every((f) => probed.has(f))) return null;
  const own = ownGlobals(fn, template, values, captures);
  if (own === null) for (const f of functions) probed.add(f);
  return own;
}

/** A function that is called, with its captured values after the operands. */
function calledWith(fn: ScalarFunction, captures: Captures, refusal: Refusal): Callable {
  const more = capturedArguments(fn, captures);
  const call = fn as (...args: unknown[]) => unknown;
  return new Callable(null, { refusal, fn: (...args: unknown[]) => call(...args, ...more) });
}

/** What a template depends on, of its captured values: their names and types, and what functions there are. */
function signatureOf(captures: Captures): string {
  const typeOf = (value: unknown): string => {
    if (value instanceof Table) return `${value.dtype} of ${value.rank}`;
    if (typeof value === "function" || isKernelLike(value)) return textOf(value);
    return /^(number|bigint|boolean)$/.test(typeof value) ? typeof value : describe(value);
  };
  return Object.entries(captures)
    .map(([name, value]) => `${JSON.stringify(name)} ${typeOf(value)}`)
    .join();
}

/** A text that two functions share only if they read the same. What is not read counts by its identity. */
// biome-ignore lint/complexity/noBannedTypes: any function at all may be asked about
function textOf(fn: Function | KernelLike): string {
  if (isKernelLike(fn)) return `kernel ${idOf(fn.template)}`;
  const text = Function.prototype.toString.call(fn);
  return text.includes("[native code]") ? `native ${idOf(fn)}` : `${text.length} ${text}`;
}

/** Captured values as plain data, each read once. */
const readCaptures = (operation: string, captures: Captures): Captures =>
  Object.freeze({ ...readOptions(operation, captures ?? null, "{ k: 0.01 }") });

/** Lets `callableOf` find the callable of a kernel, which is a function of tensors. */
export function registerCallable(fn: object, callable: Callable): void {
  byIdentity.set(fn, callable);
  if (callable.template !== null) registerKernel(fn, callable.template, callable.values);
}

/** A function with captured values, strictly: one that cannot be compiled is an error with a caret. */
export function compileStrict(
  operation: string,
  fn: ScalarFunction,
  given: Captures = {},
  fastMath = false,
): Callable {
  checkFunction(operation, fn, "kernel(x => x * 2)");
  const captures = readCaptures(operation, given);
  const { definition, refusal } = read(operation, fn, captures, fastMath ? "fast" : "strict");
  if (definition === null) throw new TensorError("kernel", refusalMessage(operation, refusal!));
  const { template } = definition;
  if (template.inputs === 0 && fn.length > 0) {
    fail(
      "kernel",
      operation,
      `every parameter is taken by a captured value: ${Object.keys(captures).join(", ")}.`,
      "Captured values take the last parameters; options such as { fastMath: true } are the third argument.",
    );
  }
  const values = captureValues(template, captures) as Captured[];
  const own = probe(fn, template, values, captures);
  if (own !== null) throw new TensorError("kernel", refusalMessage(operation, own));
  return new Callable(definition, { values, captures, tables: tablesIn(captures) });
}
