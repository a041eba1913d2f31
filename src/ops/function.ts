/**
 * A function as operations see it: its template, or why it has none, and the programs already made of it. Known
 * functions are found by identity, new closures of a known text by that text, so `a.map(x => x + 1)` in a loop
 * parses once.
 */
import { type DType, dtypeNames, type Value } from "../dtype.ts";
import { describe, fail, TensorError } from "../errors.ts";
import { paramKind, specialize } from "../frontend/infer.ts";
import { capturedArguments, lowerFunction } from "../frontend/lower.ts";
import { isRefusal, type Refusal, refusalMessage } from "../frontend/refusal.ts";
import { captureValues, inlineTemplate, registerKernel, TemplateBuilder } from "../frontend/template.ts";
import type { Id, Program, Template } from "../ir/node.ts";
import { fastRules, simplify } from "../optimize/rules.ts";
import type { PlannedWalk } from "../run/kernel.ts";
import type { RecordedFold } from "../run/reduce.ts";
import type { View } from "../view/view.ts";
import { checkFunction, readOptions } from "./arguments.ts";
import { ownGlobals } from "./probe.ts";

export type Captured = number | bigint | boolean;
export type ScalarFunction = (...args: never[]) => unknown;

const kindIds = { int: 0, float: 1, big: 2, bool: 3 } as const;
/** From 1, so that operands that are not there differ from all dtypes. */
const dtypeIds = Object.fromEntries(dtypeNames.map((d, i) => [d, i + 1])) as Record<DType, number>;

/** An elementwise call, ready to be made again where shapes, strides and dtypes are the same. */
export interface KnownCall {
  readonly asked: DType | undefined;
  readonly frames: readonly View[];
  readonly dtypes: readonly DType[];
  /** The output's frame; null: a new output, laid out as `made`. */
  readonly out: View | null;
  readonly made: View;
  /** The output's. */
  readonly dtype: DType;
  readonly params: readonly Value[];
}

/** On dense operands of one shape. */
export interface FlatCall extends KnownCall {
  readonly program: Program;
  readonly size: number;
}

/** On operands of any layout. */
export interface WalkCall extends KnownCall {
  readonly planned: PlannedWalk;
  /** Bytes from where each frame begins to where it is walked from, the output's first. */
  readonly shifts: readonly number[];
  readonly simd: boolean;
}

/** The last fold of one operation on one shape, ready to be made again. */
export interface FoldCall {
  readonly frame: View;
  readonly dtype: DType;
  readonly axis: number | undefined;
  readonly keepdims: boolean;
  readonly asked: DType | undefined;
  readonly init: Captured | undefined;
  readonly result: DType | undefined;
  readonly simd: boolean;
  readonly recorded: RecordedFold;
  /** Bytes from where the input begins to where it is read first. */
  readonly shift: number;
  readonly out: View;
  readonly made: DType;
}

export class Callable {
  /** The latest calls. */
  flat: FlatCall | null = null;
  readonly walks: WalkCall[] = [];
  /** By operation. */
  readonly folds = new Map<string, FoldCall>();
  readonly template: Template | null;
  readonly refusal: Refusal | null;
  /** What the fallback calls; null for built-in operations, which always have a template. */
  readonly fn: ScalarFunction | null;
  /** Captured values, by param index. */
  readonly values: readonly Captured[];
  /** What a kernel was given by name: values, functions, other kernels. */
  readonly captures: Captures;
  readonly #kinds: string;
  /** The kinds of the captured values as digits, and how many there are. */
  readonly #kindsCode: number;
  readonly #programs: Map<string, Program>;
  readonly #quick: Map<number, Program>;
  readonly #fastMath: boolean;

  constructor(
    template: Template | null,
    refusal: Refusal | null,
    fn: ScalarFunction | null,
    values: readonly Captured[] = [],
    programs = new Map<string, Program>(),
    quick = new Map<number, Program>(),
    fastMath = false,
    captures: Captures = {},
  ) {
    this.#fastMath = fastMath;
    this.captures = captures;
    this.template = template;
    this.refusal = refusal;
    this.fn = fn;
    this.values = values;
    const kinds = values.map(paramKind);
    this.#kinds = kinds.join();
    this.#kindsCode = kinds.reduce((code, kind) => code * 4 + kindIds[kind], 1 + values.length);
    this.#quick = quick;
    this.#programs = programs;
  }

  /** The same function with other captured values. */
  withValues(values: readonly Captured[]): Callable {
    return new Callable(
      this.template,
      this.refusal,
      this.fn,
      values,
      this.#programs,
      this.#quick,
      this.#fastMath,
      this.captures,
    );
  }

  readonly #computed = new Map<DType, Callable>();

  /** The same function of operands that are converted to this dtype first; one that is called stays as it is. */
  computed(dtype: DType): Callable {
    if (this.template === null) return this;
    let callable = this.#computed.get(dtype);
    if (callable === undefined) {
      callable = this.#rebuilt((b, inputs, inline) => inline(inputs.map((x) => b.cast(dtype, x))));
      this.#computed.set(dtype, callable);
    }
    return callable;
  }

  /** The same function with its result as this dtype; one that is called stays as it is. */
  converted(dtype: DType): Callable {
    if (this.template === null) return this;
    return this.#rebuilt((b, inputs, inline) => b.cast(dtype, inline(inputs)));
  }

  /** Another template around this one. */
  #rebuilt(
    make: (b: TemplateBuilder, inputs: readonly Id[], inline: (args: readonly Id[]) => Id) => Id,
  ): Callable {
    const template = this.template!;
    const b = new TemplateBuilder();
    const inputs = Array.from({ length: template.inputs }, (_, i) => b.input(i));
    const params = template.params.map((_, i) =>
      b.param(i, typeof this.values[i] === "boolean" ? "boolean" : "number"),
    );
    const result = make(b, inputs, (args) => inlineTemplate(b, template, args, params));
    const { params: names, source, name } = template;
    const made = b.finish(result, { inputs: template.inputs, params: names, source, name });
    return new Callable(
      made,
      null,
      this.fn,
      this.values,
      undefined,
      undefined,
      this.#fastMath,
      this.captures,
    );
  }

  /** As `program`, found by a number; for functions that have a template. */
  programFor(operands: readonly { readonly dtype: DType }[], dtype?: DType, operation = "kernel"): Program {
    if (dtype === undefined && operands.length <= 5 && this.values.length <= 4) {
      let key = this.#kindsCode;
      for (let k = 0; k < operands.length; k++) key = key * 16 + dtypeIds[operands[k].dtype];
      let program = this.#quick.get(key);
      if (program === undefined) {
        program = this.program(
          operands.map((t) => t.dtype),
          undefined,
          operation,
        )!;
        this.#quick.set(key, program);
      }
      return program;
    }
    return this.program(
      operands.map((t) => t.dtype),
      dtype,
      operation,
    )!;
  }

  /** The program for these operand dtypes; null when the function could not be compiled. */
  program(inputs: readonly DType[], dtype?: DType, operation = "kernel"): Program | null {
    if (this.template === null) return null;
    const key = `${inputs.join()}|${this.#kinds}|${dtype ?? ""}`;
    let program = this.#programs.get(key);
    if (program === undefined) {
      program = specialize(this.template, inputs, this.values.map(paramKind), { dtype, operation });
      if (this.#fastMath) program = simplify(program, fastRules);
      this.#programs.set(key, program);
    }
    return program;
  }
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
  if (known !== undefined) return known;
  const text = Function.prototype.toString.call(fn);
  let callable = byText.get(text);
  if (callable === undefined || callable.template === null) {
    // A function that cannot be compiled is called instead, so its identity matters.
    const lowered = lowerFunction(fn as ScalarFunction);
    if (isRefusal(lowered) && lowered.binding)
      throw new TensorError("kernel", refusalMessage(operation, lowered));
    callable = isRefusal(lowered)
      ? new Callable(null, lowered, fn as ScalarFunction)
      : new Callable(lowered, null, fn as ScalarFunction);
    keepText(text, callable);
  }
  const own = callable.template === null ? null : ownGlobals(fn, callable.template);
  if (own !== null) callable = new Callable(null, own, fn as ScalarFunction);
  byIdentity.set(fn, callable);
  return callable;
}

export type Captures = Readonly<Record<string, unknown>>;

/** A function that is given captured values beside its operands: called with them, where it cannot be compiled. */
function withCaptures(operation: string, fn: ScalarFunction, given: Captures): Callable {
  const captures = readCaptures(operation, given);
  const key = `${signatureOf(captures)}\n${Function.prototype.toString.call(fn)}`;
  let callable = byText.get(key);
  if (callable === undefined) {
    const lowered = lowerFunction(fn, captures);
    if (isRefusal(lowered)) {
      if (lowered.binding) throw new TensorError("kernel", refusalMessage(operation, lowered));
      return calledWith(fn, captures, lowered);
    }
    callable = new Callable(lowered, null, fn);
    keepText(key, callable);
  }
  const values = captureValues(callable.template!, captures) as Captured[];
  if (!probed.has(fn)) {
    const own = ownGlobals(fn, callable.template!, values, captures);
    if (own !== null) return calledWith(fn, captures, own);
    probed.add(fn);
  }
  return callable.withValues(values);
}

/** Functions whose global names are the global ones. */
const probed = new WeakSet<object>();

/** A function that is called, with its captured values after the operands. */
function calledWith(fn: ScalarFunction, captures: Captures, refused: Refusal): Callable {
  const more = capturedArguments(fn, captures);
  const call = fn as (...args: unknown[]) => unknown;
  return new Callable(null, refused, (...args: unknown[]) => call(...args, ...more));
}

const ids = new WeakMap<object, number>();
let lastId = 0;

/** What a template depends on, of its captured values: their names and types, and which functions there are. */
function signatureOf(captures: Captures): string {
  return Object.entries(captures)
    .map(([name, value]) => {
      if (typeof value !== "function" && (typeof value !== "object" || value === null))
        return `${JSON.stringify(name)} ${typeof value}`;
      let id = ids.get(value);
      if (id === undefined) {
        id = ++lastId;
        ids.set(value, id);
      }
      return `${JSON.stringify(name)} ${id}`;
    })
    .join();
}

function keepText(text: string, callable: Callable): void {
  if (byText.size >= MOST_TEXTS) byText.clear();
  byText.set(text, callable);
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
  const lowered = lowerFunction(fn, captures);
  if (isRefusal(lowered)) throw new TensorError("kernel", refusalMessage(operation, lowered));
  if (lowered.inputs === 0 && fn.length > 0) {
    fail(
      "kernel",
      operation,
      `every parameter is taken by a captured value: ${Object.keys(captures).join(", ")}.`,
      "Captured values take the last parameters; options such as { fastMath: true } are the third argument.",
    );
  }
  const values = captureValues(lowered, captures) as Captured[];
  const own = ownGlobals(fn, lowered, values, captures);
  if (own !== null) throw new TensorError("kernel", refusalMessage(operation, own));
  return new Callable(lowered, null, fn, values, undefined, undefined, fastMath, captures);
}
