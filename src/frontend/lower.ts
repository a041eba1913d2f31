/**
 * From a syntax tree to a Template: the function is run once on symbols. A variable's value is a node; where
 * control splits, both sides run on their own copy of the variables and `select` joins what they disagree on, so
 * `if`, early returns, `&&`, `?:` and assignments inside expressions all become one straight line of algebra.
 * Short loops run as long as their test is a literal; all others become loop nodes, whose round is run once on symbols.
 * Whatever cannot be said that way is refused, with its place.
 */
import { unreachable } from "../errors.ts";
import { type Id, isEffect, type ParamSource, type Span, severalOf, type Template } from "../ir/node.ts";
import { ops } from "../ir/ops.ts";
import { viewWord } from "../memory/words.ts";
import { builtinName, constants, functions, memberName, namespaces } from "./builtins.ts";
import { counterName } from "./coverage.ts";
import { declaredNames, doingsOf, freeNames, propertyName, rootName, varNames } from "./names.ts";
import { binaryOps } from "./operators.ts";
import type {
  AnyFunction,
  AnyNode,
  AssignmentExpression,
  BinaryExpression,
  BreakStatement,
  CallExpression,
  ContinueStatement,
  Expression,
  FunctionNode,
  LogicalExpression,
  MemberExpression,
  ParsedFunction,
  Pattern,
  ReturnStatement,
  Statement,
  UnaryExpression,
  UpdateExpression,
  VariableDeclaration,
} from "./parse.ts";
import { parseFunction, spanOf } from "./parse.ts";
import {
  type Exit,
  notEveryPath,
  nullValue,
  type Path,
  Paths,
  Scope,
  type Slot,
  type Target,
  undefinedValue,
  type Val,
} from "./paths.ts";
import { isRefusal, type Refusal, refusal } from "./refusal.ts";
import { inlineTemplate, isKernelLike, type JSType, Table, TemplateBuilder } from "./template.ts";

export { isRefusal, type Refusal, refusalMessage } from "./refusal.ts";
export type { KernelLike } from "./template.ts";

export type Captures = Readonly<Record<string, unknown>>;

/** Of a stencil, along an axis. */
const MOST_OFFSET = 1000;
const notANumber = "cannot compute with this; it is not a number on every path.";
/**
 * A loop of more iterations, or of more than `jumping` ones that may be left early, stays a loop; so does one that would
 * unfold to too much. `work` bounds the steps of all attempts together.
 */
const limits = { nodes: 10_000, steps: 50_000, depth: 800, iterations: 64, jumping: 16, work: 400_000 };

/**
 * What `fn` says, before dtypes; or why it cannot be compiled. Never throws on account of the function.
 *
 * Captured values are matched by name to a last parameter `{ k }` or to variables the function reads; one that is left
 * is the last parameter, whatever a build tool has named it. The template depends
 * on the captures' names and types, and on functions and kernels among them, not on scalar values.
 *
 * `several`: may it return a list, which is several results?
 */
export function lowerFunction(
  fn: AnyFunction | string,
  captures: Captures = {},
  several = false,
): Template | Refusal {
  if (isKernelLike(fn)) return fn.template;
  const name = typeof fn === "function" ? builtinName(fn) : null;
  if (name !== null) return lowerBuiltin(name, (fn as AnyFunction).length);
  const parsed = parseFunction(fn);
  if (isRefusal(parsed)) return parsed;
  try {
    return new Lowering(parsed, captures, several).run();
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    if (error instanceof RangeError) {
      const { source, node, shift } = parsed;
      return refusal("cannot compile this function; it is nested too deeply.", source, spanOf(node, shift));
    }
    throw error;
  }
}

/** What a stencil says: a template whose operands are the elements at these offsets, one of each axis. */
export interface StencilTemplate {
  readonly template: Template;
  readonly offsets: readonly (readonly number[])[];
}

/** The same of a function whose first parameter is called with offsets: `at => at(-1) + at(1)`. */
export function lowerStencil(fn: AnyFunction, captures: Captures = {}): StencilTemplate | Refusal {
  const parsed = parseFunction(fn);
  if (isRefusal(parsed)) return parsed;
  const offsets: number[][] = [];
  try {
    const template = new Lowering(parsed, captures, false, offsets).run();
    if (offsets.length > 0) return { template: { ...template, inputs: offsets.length }, offsets };
    const { source, node, shift } = parsed;
    const remedy = "Call the first parameter: at => at(-1) + at(1).";
    return refusal("the stencil asks for no element.", source, spanOf(node, shift), remedy);
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    if (!(error instanceof RangeError)) throw error;
    const { source, node, shift } = parsed;
    return refusal("cannot compile this function; it is nested too deeply.", source, spanOf(node, shift));
  }
}

/**
 * What a function takes after its operands when it is called: the captured values as one object, the one it has a
 * parameter for, or nothing, because it reads them from around it.
 */
export function capturedArguments(fn: AnyFunction, captures: Captures): unknown[] {
  const keys = Object.keys(captures);
  const parsed = keys.length === 0 ? null : parseFunction(fn);
  if (parsed === null) return [];
  if (isRefusal(parsed)) return [captures];
  const last = parsed.node.params.at(-1);
  if (last !== undefined && last.type !== "Identifier") return [captures];
  const free = freeNames(parsed.node);
  return keys.filter((key) => !free.has(key)).map((key) => captures[key]);
}

/** `Math.sqrt` itself, given as the function. */
function lowerBuiltin(name: string, inputs: number): Template | Refusal {
  const t = new TemplateBuilder();
  const span = { start: 0, end: name.length };
  const args = Array.from({ length: inputs }, (_, i) => t.input(i, span));
  const result = functions.get(name)!(t, args, span);
  if (typeof result === "string") return refusal(result, name, span);
  return t.finish(result, { inputs, source: name, name: name.replace(/^.*\./, "") });
}

/** Unwinds to lowerFunction; never leaves this file. */
class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refused: Refusal) {
    super(refused.reason);
    this.refusal = refused;
  }
}

/** It came to more operations or steps than there may be. */
class TooLarge extends Refused {}

/** A loop cannot be unrolled; never leaves this file. */
class NotUnrolled extends Error {}

/** A loop statement. */
interface Loop {
  readonly node: Statement;
  readonly test: Expression | null;
  readonly update: Expression | null;
  readonly body: Statement;
  readonly scope: Scope;
  /** The test comes after the round. */
  readonly isDo: boolean;
  readonly labels: readonly string[];
}

/** What break and continue can lead to. */
interface Jump {
  readonly labels: readonly string[];
  readonly breakTo: Target;
  /** null: no loop, a block with a label. */
  readonly continueTo: Target | null;
}

/** A value that a loop carries: what stands for it inside, where it starts, what it is in the next round. */
interface Carried {
  readonly slot: Slot | null;
  readonly id: Id;
  readonly start: Id;
  readonly type: JSType;
}

/** What a refused piece of syntax is called in its message. */
const refusedValues: Readonly<Record<string, string>> = {
  ArrayExpression: "an array",
  ObjectExpression: "an object",
  TemplateLiteral: "a string",
  TaggedTemplateExpression: "a string",
  NewExpression: "`new`",
  ThisExpression: "`this`",
  Super: "`super`",
  ClassExpression: "a class",
  ChainExpression: "optional chaining",
};
const refusedStatements: Readonly<Record<string, string>> = {
  ClassDeclaration: "a class",
  SwitchStatement: "`switch`",
  ThrowStatement: "`throw`",
  TryStatement: "`try`",
  ForInStatement: "`for … in`",
  ForOfStatement: "`for … of`",
};

class Lowering {
  readonly #fn: ParsedFunction;
  readonly #captures: Captures;
  readonly #several: boolean;
  readonly #t = new TemplateBuilder();
  readonly #params: string[] = [];
  /** Captures that free identifiers of the function name. */
  readonly #free = new Map<string, Val>();
  readonly #calls: FunctionNode[] = [];
  readonly #paths = new Paths(this.#t);
  /** Names taken for the global ones, and where each was used first. */
  readonly #globals = new Map<string, Span>();
  readonly #sources: ParamSource[] = [];
  /** Where words of tables are among the captured values. */
  readonly #words = new Map<string, number>();
  readonly #returns: Target[] = [];
  #jumps: Jump[] = [];
  /** What may fail, in the loop at hand or outside of any. */
  #effects: Id[] = [];
  /** Loops that stay loops, and how many attempts to unroll one are being made. */
  readonly #rolled = new Set<Statement>();
  #attempts = 0;
  #steps = 0;
  /** Steps of attempts that were given up. */
  #lost = 0;
  #depth = 0;

  /** Of a stencil: the offsets it has asked for so far. */
  readonly #offsets: number[][] | null;

  constructor(fn: ParsedFunction, captures: Captures, several: boolean, offsets: number[][] | null = null) {
    this.#fn = fn;
    this.#captures = captures;
    this.#several = several;
    this.#offsets = offsets;
  }

  run(): Template {
    const { node, source, name } = this.#fn;
    const scope = new Scope(null);
    const inputs = this.#bindParameters(scope);
    const value = this.#runBody(node, scope);
    if (value.kind === "nothing") {
      this.#refuse(node, notEveryPath);
    }
    // What JavaScript calls a number is one here: `(x > 0) & (x < 1)`.
    const whole = (id: Id) => (this.#t.typeOf(id) === "bit" ? this.#t.toNumber(id) : id);
    const result =
      value.kind === "tuple" ? this.#t.tuple(value.items.map(whole)) : whole(this.#asNode(value, node));
    const names = Array.from(this.#globals, ([name, span]) => ({ name, span }));
    const keyed = node.params.at(-1)?.type === "ObjectPattern";
    const globals = names.length === 0 ? null : { names, keyed };
    const sources = this.#sources.length === 0 ? {} : { sources: this.#sources };
    const about = { inputs, params: this.#params, ...sources, source, name, globals };
    return this.#t.finish(result, { ...about, effects: this.#effects });
  }

  /* Refusing --------------------------------------------------------------------------------------------- */

  #span(node: { start: number; end: number }): Span {
    return spanOf(node, this.#fn.shift);
  }

  #refuse(node: { start: number; end: number }, reason: string, remedy: string | null = null): never {
    throw new Refused(refusal(reason, this.#fn.source, this.#span(node), remedy));
  }

  /** The captured values do not fit the parameters, so the function cannot be called with them either. */
  #refuseBinding(node: { start: number; end: number }, reason: string, remedy: string): never {
    const refused = refusal(reason, this.#fn.source, this.#span(node), remedy);
    throw new Refused({ ...refused, binding: true });
  }

  #refuseSyntax(node: AnyNode): never {
    const statement = refusedStatements[node.type];
    if (statement !== undefined) {
      this.#refuse(
        node,
        `cannot compile ${statement}; a kernel has if, return, for, while, do, break and continue.`,
      );
    }
    const what = refusedValues[node.type] ?? "this";
    return this.#refuse(node, `cannot compile ${what}; a kernel computes with numbers and booleans.`);
  }

  /** Counts work, so that a small source cannot ask for an endless program. */
  #enter(node: AnyNode): void {
    this.#steps++;
    if (this.#steps > limits.steps || this.#t.nodes.length > limits.nodes) {
      const reason = "cannot compile this function; it unfolds to too many operations.";
      const refused = refusal(reason, this.#fn.source, this.#span(node));
      throw this.#lost > limits.work ? new Refused(refused) : new TooLarge(refused);
    }
    if (this.#depth > limits.depth) {
      this.#refuse(node, "cannot compile this function; it is nested too deeply.");
    }
  }

  /* Parameters and captures ------------------------------------------------------------------------------ */

  /** Binds every parameter to an operand or a captured value; gives the number of operands. */
  #bindParameters(scope: Scope): number {
    const { node } = this.#fn;
    const params = [...node.params];
    const keys = Object.keys(this.#captures);
    const used = keys.length > 0 ? freeNames(node) : null;
    const values = new Map(keys.map((key) => [key, this.#captured(key)]));
    const waiting = new Set(keys);
    const last = params.at(-1);
    if (last?.type === "ObjectPattern") {
      params.pop();
      for (const property of last.properties) {
        if (property.type === "RestElement" || property.value.type !== "Identifier") {
          this.#refuse(property, "cannot compile this parameter; captured values are plain names.");
        }
        const key = propertyName(property);
        const value = key === null ? undefined : values.get(key);
        if (key === null || value === undefined) {
          this.#refuseBinding(
            property,
            `the function expects a captured value "${key}".`,
            `Pass it: kernel(fn, { ${key} }).`,
          );
        }
        this.#declare(scope, property.value.name, false, value);
        waiting.delete(key);
      }
    }
    for (const key of keys) {
      if (!waiting.has(key) || !used?.has(key)) continue;
      this.#free.set(key, values.get(key)!);
      waiting.delete(key);
    }
    // Captures that the object's pattern does not name are not used: a build tool drops such names.
    if (last?.type === "ObjectPattern") waiting.clear();
    const names = params.map((p) => this.#parameterName(p));
    const rest = [...waiting];
    const inputs = this.#countOperands(names, rest, [...this.#free.keys(), ...rest]);
    names.forEach((name, i) => {
      const value: Val =
        i >= inputs
          ? values.get(rest[i - inputs])!
          : this.#offsets === null
            ? { kind: "node", id: this.#t.input(i, this.#span(params[i])) }
            : i === 0
              ? { kind: "at" }
              : this.#refuse(params[i], "a stencil has one parameter, besides captured values.");
      this.#declare(scope, name, false, value);
    });
    return inputs;
  }

  #parameterName(param: Pattern): string {
    switch (param.type) {
      case "Identifier":
        return param.name;
      case "AssignmentPattern":
        return this.#refuse(
          param,
          "cannot compile a default value; every parameter is an operand or captured.",
        );
      case "RestElement":
        return this.#refuse(param, "cannot compile a rest parameter; name the operands one by one.");
      default:
        return this.#refuse(param, "cannot compile this parameter; only the last may be { captured names }.");
    }
  }

  /**
   * The last parameter takes the capture that nothing else has taken, whatever a build tool has named it. `loose` are the
   * captures that are parameters or outer variables: two of them could not be told apart once they are renamed, even to
   * each other's names, so they are refused under any names.
   */
  #countOperands(names: readonly string[], rest: readonly string[], loose: readonly string[]): number {
    const { node } = this.#fn;
    const inputs = names.length - rest.length;
    const quote = (keys: readonly string[]) => keys.map((key) => `"${key}"`).join(", ");
    if (inputs < 0) {
      const reason = `the function does not use the captured ${quote(rest)}.`;
      this.#refuseBinding(node, reason, "Leave them out, or read them by name.");
    }
    const remedy = `Write them in one object, whose names stay: (x, { ${loose.join(", ")} }) => …`;
    if (loose.length > 1) {
      const fact = `${loose.length} captured values are parameters or outer variables: ${quote(loose)}; a build tool may rename those.`;
      const span =
        rest.length === 0
          ? node
          : { start: node.params[inputs].start, end: node.params[names.length - 1].end };
      this.#refuseBinding(span, fact, remedy);
    }
    const misplaced = rest.find((key, i) => names[inputs + i] !== key);
    if (misplaced !== undefined && names.includes(misplaced)) {
      const fact = `the captured parameter "${misplaced}" comes last.`;
      this.#refuseBinding(
        node.params[names.indexOf(misplaced)],
        fact,
        remedy.replace("them", "it").replace("names stay", "name stays"),
      );
    }
    return inputs;
  }

  #captured(key: string): Val {
    const value = this.#captures[key];
    const { node } = this.#fn;
    if (value instanceof Table) return { kind: "table", table: value, key };
    if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
      this.#params.push(key);
      this.#sources.push({ key });
      const type = typeof value === "boolean" ? "boolean" : "number";
      return { kind: "node", id: this.#t.param(this.#params.length - 1, type) };
    }
    const isFunction = typeof value === "function";
    if (!isFunction && !isKernelLike(value)) {
      // Called with a tensor, a function of numbers would compute with no number.
      const refuse = describe(value) === "a Tensor" ? this.#refuseBinding : this.#refuse;
      return refuse.call(
        this,
        node,
        `captured "${key}" is ${describe(value)}; only numbers, bigints, booleans, tensors, functions and kernels can be.`,
        "Pass an array as a tensor: tensor([…]), read with get(i).",
      );
    }
    const builtin = isFunction ? builtinName(value as AnyFunction) : null;
    if (builtin !== null) return { kind: "builtin", apply: functions.get(builtin)! };
    const template = isKernelLike(value) ? value.template : lowerFunction(value as AnyFunction);
    if (isRefusal(template)) {
      return this.#refuse(node, `captured function "${key}": ${template.reason}`, template.remedy);
    }
    const params = template.params.map((name, index) => {
      this.#params.push(`${key}.${name}`);
      this.#sources.push({ key, index });
      return this.#t.param(this.#params.length - 1);
    });
    if (severalOf(template) > 0) {
      const why = `the kernel "${key}" has several results; it cannot be called inside another function.`;
      return { kind: "unusable", why };
    }
    return { kind: "template", template, params, name: key };
  }

  /* Variables -------------------------------------------------------------------------------------------- */

  #declare(scope: Scope, name: string, constant: boolean, value: Val): void {
    const slot: Slot = { name, constant };
    scope.slots.set(name, slot);
    this.#paths.set(slot, value);
  }

  #read(name: string, scope: Scope, node: AnyNode): Val {
    const slot = scope.find(name);
    if (slot !== null) {
      const value = this.#paths.get(slot) ?? unreachable(`variable ${name} has no value`);
      return value.kind === "unusable" ? this.#refuse(node, value.why) : value;
    }
    const captured = this.#free.get(name);
    if (captured !== undefined) return captured;
    const known = globalValue(name, this.#t, this.#span(node));
    if (known !== null) {
      this.#useGlobal(name, this.#span(node));
      return known;
    }
    if (name === "arguments") this.#refuse(node, "cannot compile `arguments`; name the parameters.");
    return this.#refuse(
      node,
      `the function reads the outer variable "${name}".`,
      `Pass it: kernel(fn, { ${name} }).`,
    );
  }

  #useGlobal(name: string, span: Span): void {
    if (!this.#globals.has(name)) this.#globals.set(name, span);
  }

  #write(target: Pattern | Expression, scope: Scope, value: Val): void {
    if (target.type !== "Identifier") {
      this.#refuse(target, "cannot compile this assignment; only local variables can be assigned.");
    }
    const slot = scope.find(target.name);
    if (slot === null) {
      this.#refuse(
        target,
        `the function writes the outer variable "${target.name}".`,
        "A kernel only returns a value.",
      );
    }
    const before = this.#paths.get(slot);
    if (before?.kind === "unusable" && before.undeclared) {
      this.#refuse(
        target,
        `the function assigns to "${target.name}" before its declaration.`,
        "JavaScript throws here; move the declaration up.",
      );
    }
    if (slot.constant) this.#refuse(target, `the function assigns to the constant "${target.name}".`);
    this.#paths.set(slot, value);
  }

  /** The number or boolean an expression gives; anything else is refused. */
  #asNode(value: Val, node: { start: number; end: number }): Id {
    switch (value.kind) {
      case "node":
        return value.id;
      case "nothing":
        return this.#refuse(node, `cannot compute with ${value.name}; every variable needs a number.`);
      case "unusable":
        return this.#refuse(node, value.why);
      case "table":
        return this.#refuse(
          node,
          `captured "${value.key}" is a Tensor, and no number.`,
          `An element of it is ${value.key}.get(i); to compute with all of it, pass it as one more operand.`,
        );
      default:
        return this.#refuse(node, "cannot use a function or an object as a number.");
    }
  }

  /* Functions -------------------------------------------------------------------------------------------- */

  /** Runs a function's body in a scope that already holds its parameters. */
  #runBody(node: FunctionNode, scope: Scope): Val {
    const { body } = node;
    if (body.type !== "BlockStatement") return this.#returned(body, scope);
    const jumps = this.#jumps;
    this.#jumps = [];
    this.#returns.push({ what: "function" });
    const value = this.#paths.frame(() => {
      for (const name of varNames(body)) {
        if (!scope.slots.has(name)) this.#declare(scope, name, false, undefinedValue);
      }
      this.#hoist(body.body, scope);
      this.#statements(body.body, scope);
    });
    this.#returns.pop();
    this.#jumps = jumps;
    return value;
  }

  #callFunction(fn: Val & { kind: "function" }, args: readonly Val[], call: CallExpression): Val {
    const { node } = fn;
    if (this.#calls.includes(node)) this.#refuse(call, "cannot compile a function that calls itself.");
    if (node.async || node.generator)
      this.#refuse(call, "cannot compile a call of an async function or generator.");
    const scope = new Scope(fn.scope);
    node.params.forEach((param, i) => {
      let value = args[i] ?? undefinedValue;
      let target: Pattern = param;
      if (param.type === "AssignmentPattern") {
        target = param.left;
        if (value === undefinedValue) value = this.#expression(param.right, scope);
      }
      if (target.type !== "Identifier")
        this.#refuse(param, "cannot compile this parameter; only plain names.");
      this.#declare(scope, target.name, false, value);
    });
    this.#calls.push(node);
    const value = this.#runBody(node, scope);
    this.#calls.pop();
    return value;
  }

  /* Statements ------------------------------------------------------------------------------------------- */

  /** Makes the names of a block known before it runs: functions whole, let and const not yet readable. */
  #hoist(statements: readonly Statement[], scope: Scope): void {
    for (const s of statements) {
      if (s.type === "FunctionDeclaration") {
        this.#declare(scope, s.id.name, false, { kind: "function", node: s, scope });
      } else if (s.type === "VariableDeclaration" && s.kind !== "var") {
        for (const name of declaredNames(s)) {
          const why = `the function reads "${name}" before its declaration.`;
          this.#declare(scope, name, s.kind === "const", { kind: "unusable", why, undeclared: true });
        }
      }
    }
  }

  #statements(statements: readonly Statement[], scope: Scope): void {
    for (const s of statements) {
      if (this.#paths.hasLeft) return;
      this.#statement(s, scope);
    }
  }

  #block(statements: readonly Statement[], scope: Scope): void {
    const inner = new Scope(scope);
    this.#hoist(statements, inner);
    this.#statements(statements, inner);
  }

  #statement(s: Statement, scope: Scope, labels: readonly string[] = []): void {
    this.#enter(s);
    this.#depth++;
    switch (s.type) {
      case "ExpressionStatement":
        if (s.directive === undefined) this.#expression(s.expression, scope);
        break;
      case "VariableDeclaration":
        this.#declaration(s, scope);
        break;
      case "FunctionDeclaration":
      case "EmptyStatement":
        break;
      case "BlockStatement":
        this.#block(s.body, scope);
        break;
      case "ReturnStatement":
        this.#return(s, scope);
        break;
      case "IfStatement": {
        const test = this.#condition(s.test, scope);
        const known = this.#t.literalOf(test);
        const yes = () => this.#block([s.consequent], scope);
        const no = () => (s.alternate ? this.#block([s.alternate], scope) : undefined);
        if (known === undefined) this.#paths.branch(test, yes, no);
        else if (known) yes();
        else no();
        break;
      }
      case "ForStatement": {
        const inner = new Scope(scope);
        if (s.init?.type === "VariableDeclaration") {
          this.#hoist([s.init], inner);
          this.#declaration(s.init, inner);
        } else if (s.init) this.#expression(s.init, inner);
        const [test, update] = [s.test ?? null, s.update ?? null];
        this.#loop({ node: s, test, update, body: s.body, scope: inner, isDo: false, labels });
        break;
      }
      case "WhileStatement":
      case "DoWhileStatement": {
        const isDo = s.type === "DoWhileStatement";
        this.#loop({ node: s, test: s.test, update: null, body: s.body, scope, isDo, labels });
        break;
      }
      case "BreakStatement":
      case "ContinueStatement":
        this.#jump(s);
        break;
      case "LabeledStatement": {
        const all = [...labels, s.label.name];
        if (isLoop(s.body) || s.body.type === "LabeledStatement") this.#statement(s.body, scope, all);
        else {
          const breakTo: Target = { what: "loop" };
          this.#jumps.push({ labels: all, breakTo, continueTo: null });
          this.#paths.block(breakTo, () => this.#block([s.body], scope));
          this.#jumps.pop();
        }
        break;
      }
      default:
        this.#refuseSyntax(s);
    }
    this.#depth--;
  }

  #return(s: ReturnStatement, scope: Scope): void {
    const value = s.argument ? this.#returned(s.argument, scope) : undefinedValue;
    const isOutermost = this.#calls.length === 0;
    if (isOutermost && !s.argument) this.#refuse(s, "cannot compile a return without a value.");
    const isPlain = isOutermost && value.kind !== "tuple";
    const target = this.#returns.at(-1)!;
    this.#paths.leave(target, isPlain ? { kind: "node", id: this.#asNode(value, s.argument ?? s) } : value);
  }

  #jump(s: BreakStatement | ContinueStatement): void {
    const label = s.label?.name;
    const fits = (jump: Jump) =>
      label === undefined ? jump.continueTo !== null : jump.labels.includes(label);
    const to = this.#jumps.findLast(fits);
    const target = s.type === "BreakStatement" ? to?.breakTo : to?.continueTo;
    if (!target) this.#refuse(s, "there is no loop to leave here.");
    this.#paths.leave(target);
  }

  /** What is returned: of the function itself it may be a list, if that is allowed. */
  #returned(node: Expression, scope: Scope): Val {
    if (!this.#several || this.#calls.length > 0) return this.#expression(node, scope);
    if (node.type === "ConditionalExpression") {
      const test = this.#condition(node.test, scope);
      const known = this.#t.literalOf(test);
      if (known !== undefined) return this.#returned(known ? node.consequent : node.alternate, scope);
      const [a, b] = this.#paths.branch(
        test,
        () => this.#returned(node.consequent, scope),
        () => this.#returned(node.alternate, scope),
      );
      return this.#paths.choose(test, a, b, notANumber, this.#span(node));
    }
    if (node.type !== "ArrayExpression" || node.elements.length === 0) return this.#expression(node, scope);
    const items = node.elements.map((item) => {
      if (item === null || item.type === "SpreadElement") return this.#refuseSyntax(item ?? node);
      return this.#asNode(this.#expression(item, scope), item);
    });
    return { kind: "tuple", items };
  }

  /* Loops ------------------------------------------------------------------------------------------------ */

  /** A short loop whose test is a literal every time round is unrolled; any other stays a loop. */
  #loop(loop: Loop): void {
    const { node } = loop;
    if (!this.#rolled.has(node) && !this.#isLong(loop) && this.#attempt(loop)) return;
    this.#rolled.add(node);
    // What contains a loop that stays one is not unrolled either.
    if (this.#attempts > 0) throw new NotUnrolled();
    this.#roll(loop);
  }

  /** Unrolls it; false: it cannot be, or comes to too much. Then nothing has happened. */
  #attempt(loop: Loop): boolean {
    const restore = this.#save();
    this.#attempts++;
    try {
      this.#unroll(loop);
      return true;
    } catch (error) {
      if (!(error instanceof NotUnrolled || error instanceof TooLarge)) throw error;
      restore();
      return false;
    } finally {
      this.#attempts--;
    }
  }

  #save(): () => void {
    const count = this.#t.nodes.length;
    const paths = this.#paths.save();
    const [steps, depth, jumps, effects] = [this.#steps, this.#depth, [...this.#jumps], [...this.#effects]];
    const [calls, returns] = [this.#calls.length, this.#returns.length];
    return () => {
      this.#t.rollback(count);
      paths();
      this.#lost += this.#steps - steps;
      [this.#steps, this.#depth, this.#jumps, this.#effects] = [steps, depth, [...jumps], [...effects]];
      this.#calls.length = calls;
      this.#returns.length = returns;
    };
  }

  /** Is it told by test and update alone that there are too many iterations, or that their number is no literal? */
  #isLong({ test, update, body, scope, isDo }: Loop): boolean {
    if (isDo || test === null || update === null) return false;
    const { assigned, breaks, continues } = doingsOf([body]);
    const counters = doingsOf([update]);
    if (counters.calls || [...counters.assigned].some((name) => assigned.has(name))) return false;
    const most = breaks || continues ? limits.jumping : limits.iterations;
    const restore = this.#save();
    let isLong = false;
    for (let i = 0; ; i++) {
      const going = this.#t.literalOf(this.#condition(test, scope));
      isLong = going === undefined || (!!going && i >= most);
      if (isLong || !going) break;
      this.#expression(update, scope);
    }
    restore();
    return isLong;
  }

  #unroll({ test, update, body, scope, isDo, labels }: Loop): void {
    const { breaks, continues } = doingsOf([body]);
    const jumping = breaks || continues;
    const most = jumping ? limits.jumping : limits.iterations;
    const jump: Jump = { labels, breakTo: { what: "loop" }, continueTo: { what: "round" } };
    const round = () => {
      if (!jumping) this.#block([body], scope);
      else this.#paths.block(jump.continueTo!, () => this.#block([body], scope));
      if (update !== null && !this.#paths.hasLeft) this.#expression(update, scope);
    };
    const run = () => {
      if (isDo) round();
      for (let i = 0; !this.#paths.hasLeft; i++) {
        const going = test === null ? true : this.#t.literalOf(this.#condition(test, scope));
        if (going === undefined) throw new NotUnrolled();
        if (!going) return;
        if (i >= most) throw new NotUnrolled();
        round();
      }
    };
    this.#jumps.push(jump);
    if (jumping) this.#paths.block(jump.breakTo, run);
    else run();
    this.#jumps.pop();
  }

  /**
   * A loop as a node. Its round is run once, with symbols for the variables that it assigns; what they hold at the end of it is
   * what they begin the next one with. Where that finds out more about them (one stays as it is, a number may be a
   * boolean), the round is run again.
   */
  #roll(loop: Loop): void {
    const stays = new Set<Slot>();
    const mixed = new Set<Slot>();
    for (let done = false; !done; ) done = this.#rollOnce(loop, stays, mixed);
  }

  #rollOnce(loop: Loop, stays: Set<Slot>, mixed: Set<Slot>): boolean {
    const { node, test, update, body, scope, isDo, labels } = loop;
    const t = this.#t;
    const paths = this.#paths;
    const restore = this.#save();
    const guard = paths.guard();
    const outer = paths.path.vars;
    const effects = this.#effects;
    const { carried, lost, vars } = this.#carriedBy(loop, outer, stays, mixed);
    const inTest = doingsOf([test]);
    // What a test assigns stays assigned when it fails.
    const leavesByTest = !isDo && (inTest.assigned.size > 0 || inTest.calls);
    const { breaks, returns } = doingsOf([body]);
    const live = isDo || breaks || returns || leavesByTest ? t.carried("boolean") : null;

    const breakTo: Target = { what: "loop" };
    const continueTo: Target = { what: "round" };
    this.#jumps.push({ labels, breakTo, continueTo });
    let going = t.literal(true);
    let before: Id[] = [];
    let again = t.literal(true);
    this.#effects = [];
    const end = paths.round(vars, guard, (rebase) => {
      if (!isDo && !leavesByTest && test !== null) going = this.#condition(test, scope);
      if (live !== null) going = t.op("and", [live, going]);
      before = this.#effects;
      this.#effects = [];
      rebase(going);
      if (leavesByTest) {
        const tested = this.#condition(test!, scope);
        paths.branch(
          tested,
          () => {},
          () => paths.leave(breakTo),
        );
      }
      paths.block(continueTo, () => this.#block([body], scope));
      if (update !== null && !paths.hasLeft) this.#expression(update, scope);
      if (isDo && !paths.hasLeft) again = this.#condition(test!, scope);
    });
    const after = this.#effects;
    this.#effects = effects;
    this.#jumps.pop();

    const isStable = this.#nextValues(loop, carried, paths.varsAtEnd(end), stays, mixed);
    if (isStable === null) {
      restore();
      return false;
    }
    const all: Carried[] = [...carried];
    const next = [...isStable];
    const loose = carried.map(() => false);
    const carry = (id: Id, start: Id, value: Id, isLoose: boolean) => {
      all.push({ slot: null, id, start, type: t.typeOf(id) });
      next.push(value);
      loose.push(isLoose);
      return all.length - 1;
    };
    const { stay, ways } = this.#waysOut(end, breakTo);
    if (live !== null) {
      const goesOn = t.op("and", [stay, again]);
      if (t.literalOf(goesOn) === true && going === live) this.#neverEnds(loop);
      carry(live, t.literal(true), goesOn, false);
    }
    const follows = t.follows(
      going,
      all.map((c) => c.id),
    );
    if (!follows) this.#neverEnds(loop);
    const places = ways.map(({ taken, value }) => {
      const flag = carry(t.carried("boolean"), t.literal(false), taken, false);
      const items = value.kind === "node" ? [value.id] : value.kind === "tuple" ? value.items : [];
      const values = items.map((id) => {
        const type = t.typeOf(id) === "bit" ? "number" : t.typeOf(id);
        const own = type === "boolean" ? id : t.toNumber(id);
        return carry(t.carried(type), type === "boolean" ? t.literal(false) : t.literal(0), own, true);
      });
      return { flag, values };
    });

    const span = this.#span(node);
    const open = { guard, carried: all.map((c) => c.id), starts: all.map((c) => c.start), loose };
    const { id, outside } = t.loop({ ...open, going, next, before, after }, span);
    this.#effects.push(...outside, id);
    for (const slot of lost) {
      const why = `"${slot.name}" is not a number on every path to here.`;
      paths.set(slot, { kind: "unusable", why });
    }
    carried.forEach(({ slot }, k) => {
      paths.set(slot!, { kind: "node", id: t.item(id, k, span) });
    });
    const exits = ways.map(({ target, value }, k): Exit => {
      const items = places[k].values.map((at) => t.item(id, at, span));
      const given: Val =
        value.kind === "node"
          ? { kind: "node", id: items[0] }
          : value.kind === "tuple"
            ? { kind: "tuple", items }
            : value;
      return { test: t.item(id, places[k].flag, span), target, value: given, vars: new Map(paths.path.vars) };
    });
    const isBroken = [...end.exits, end.left].some((e) => e?.target === breakTo);
    const comesThrough = going !== live || isBroken || (isDo && t.literalOf(again) !== true);
    const last = comesThrough ? null : (exits.pop() ?? null);
    paths.path = {
      vars: paths.path.vars,
      exits: [...paths.path.exits, ...exits],
      left: last === null ? null : { target: last.target, value: last.value },
    };
    return true;
  }

  #neverEnds({ node, test }: Loop): never {
    return this.#refuse(
      test ?? node,
      "cannot compile this loop; nothing in it makes it end.",
      "Change what its test reads, or leave it with break or return.",
    );
  }

  /** Symbols for the variables that a loop may assign, and the variables as its round finds them. */
  #carriedBy(loop: Loop, outer: ReadonlyMap<Slot, Val>, stays: Set<Slot>, mixed: Set<Slot>) {
    const t = this.#t;
    const { assigned, calls } = doingsOf([loop.test, loop.update, loop.body]);
    const names = new Set(assigned);
    if (calls) {
      for (const value of outer.values()) {
        if (value.kind === "function")
          for (const name of doingsOf([value.node.body]).assigned) names.add(name);
      }
    }
    const carried: Carried[] = [];
    const lost: Slot[] = [];
    const vars = new Map(outer);
    for (const [slot, value] of outer) {
      if (slot.constant || stays.has(slot) || !names.has(slot.name)) continue;
      if (value.kind === "node") {
        const own = t.typeOf(value.id) === "bit" ? "number" : t.typeOf(value.id);
        const type = mixed.has(slot) ? "either" : own;
        const start = type === "boolean" ? value.id : t.toNumber(value.id);
        const id = t.carried(type);
        carried.push({ slot, id, start, type });
        vars.set(slot, { kind: "node", id });
      } else if (value.kind !== "unusable") {
        lost.push(slot);
        vars.set(slot, { kind: "unusable", why: `"${slot.name}" is not a number on every path to here.` });
      }
    }
    return { carried, lost, vars };
  }

  /** What the carried values are in the next round; null: something about them was not known, and is now. */
  #nextValues(
    { node }: Loop,
    carried: readonly Carried[],
    end: ReadonlyMap<Slot, Val>,
    stays: Set<Slot>,
    mixed: Set<Slot>,
  ): Id[] | null {
    const t = this.#t;
    let isStable = true;
    const next = carried.map(({ slot, id, type }) => {
      const value = end.get(slot!);
      if (value?.kind !== "node") {
        return this.#refuse(node, `"${slot!.name}" is not a number on every path through this loop.`);
      }
      const own = t.typeOf(value.id) === "bit" ? "number" : t.typeOf(value.id);
      if (value.id === id) {
        stays.add(slot!);
        isStable = false;
      } else if (own !== type && type !== "either") {
        mixed.add(slot!);
        isStable = false;
      }
      return type === "boolean" ? value.id : t.toNumber(value.id);
    });
    return isStable ? next : null;
  }

  /** Whether an element stays in the loop after a round, and by which ways it leaves for somewhere further out. */
  #waysOut({ exits, left }: Path, breakTo: Target) {
    const t = this.#t;
    const ways: { readonly target: Target; taken: Id; value: Val }[] = [];
    let stay = t.literal(true);
    const leave = (test: Id, target: Target, value: Val) => {
      const taken = t.op("and", [stay, test]);
      stay = t.op("and", [stay, t.op("not", [test])]);
      if (target === breakTo) return;
      const way = ways.find((w) => w.target === target);
      if (way === undefined) ways.push({ target, taken, value });
      else {
        // Of two exits the first one counts; `taken` excludes the other.
        way.value = this.#paths.choose(taken, value, way.value, notEveryPath);
        way.taken = t.op("or", [way.taken, taken]);
      }
    };
    for (const { test, target, value } of exits) leave(test, target, value);
    if (left !== null) leave(t.literal(true), left.target, left.value);
    return { stay, ways };
  }

  #declaration(declaration: VariableDeclaration, scope: Scope): void {
    if (!["const", "let", "var"].includes(declaration.kind)) this.#refuseSyntax(declaration);
    for (const { id, init } of declaration.declarations) {
      if (!init && declaration.kind === "var") continue;
      if (id.type === "ArrayPattern" && init?.type === "ArrayExpression") {
        const values = this.#listed(id, init, scope);
        id.elements.forEach((target, i) => {
          if (target !== null) this.#initialize(target, scope, values[i]);
        });
        continue;
      }
      const value = init ? this.#expression(init, scope) : undefinedValue;
      if (id.type === "ObjectPattern" && value.kind === "namespace") {
        for (const property of id.properties) {
          const key = property.type === "Property" ? propertyName(property) : null;
          if (key === null || property.type !== "Property") this.#refuseSyntax(property);
          this.#initialize(property.value, scope, this.#member(value, key, property));
        }
      } else if (id.type === "ArrayPattern" && value.kind === "shape") {
        id.elements.forEach((target, axis) => {
          if (target === null) return;
          const { of } = value;
          if (axis >= of.table.rank) this.#refuse(target, `"${of.key}" has ${of.table.rank} axes.`);
          const size = this.#word(of, viewWord.size(axis), this.#span(target));
          this.#initialize(target, scope, { kind: "node", id: size });
        });
      } else this.#initialize(id, scope, value);
    }
  }

  #initialize(target: Pattern, scope: Scope, value: Val): void {
    if (target.type !== "Identifier") {
      this.#refuse(target, "cannot compile this declaration; only plain names can be declared.");
    }
    const slot = scope.find(target.name) ?? unreachable(`${target.name} was not hoisted`);
    this.#paths.set(slot, value);
  }

  /* Expressions ------------------------------------------------------------------------------------------ */

  #number(node: Expression, scope: Scope): Id {
    return this.#asNode(this.#expression(node, scope), node);
  }

  #expression(node: Expression, scope: Scope): Val {
    this.#enter(node);
    this.#depth++;
    const value = this.#expressionOf(node, scope);
    this.#depth--;
    return value;
  }

  #expressionOf(node: Expression, scope: Scope): Val {
    const span = this.#span(node);
    switch (node.type) {
      case "Literal": {
        const { value } = node;
        if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
          return { kind: "node", id: this.#t.literal(value, span) };
        }
        if (value === null && !node.regex) return nullValue;
        const what = typeof value === "string" ? "a string" : "a regular expression";
        return this.#refuse(node, `cannot compile ${what}; a kernel computes with numbers and booleans.`);
      }
      case "Identifier":
        if (node.name !== "undefined" || scope.find("undefined") !== null)
          return this.#read(node.name, scope, node);
        this.#useGlobal("undefined", span);
        return undefinedValue;
      case "BinaryExpression":
        return { kind: "node", id: this.#binaryChain(node, scope) };
      case "LogicalExpression":
        return this.#logical(node, scope);
      case "UnaryExpression":
        return this.#unary(node, scope);
      case "UpdateExpression":
        return this.#isCounter(node, scope) ? undefinedValue : this.#update(node, scope);
      case "AssignmentExpression":
        return this.#assignment(node, scope);
      case "ConditionalExpression": {
        const test = this.#condition(node.test, scope);
        const known = this.#t.literalOf(test);
        if (known !== undefined) return this.#expression(known ? node.consequent : node.alternate, scope);
        const [a, b] = this.#paths.branch(
          test,
          () => this.#expression(node.consequent, scope),
          () => this.#expression(node.alternate, scope),
        );
        return this.#paths.choose(test, a, b, notANumber, span);
      }
      case "SequenceExpression":
        return node.expressions.map((e) => this.#expression(e, scope)).at(-1)!;
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return { kind: "function", node, scope };
      case "MemberExpression":
        return this.#memberExpression(node, scope);
      case "CallExpression":
        return this.#call(node, scope);
      case "ParenthesizedExpression":
        return this.#expression(node.expression, scope);
      default:
        return this.#refuseSyntax(node);
    }
  }

  /** An expression as a test: JavaScript's truth of it, with && || ! as logic. */
  #condition(node: Expression, scope: Scope): Id {
    this.#enter(node);
    const t = this.#t;
    const span = this.#span(node);
    if (node.type === "UnaryExpression" && node.operator === "!") {
      this.#depth++;
      const id = t.op("not", [this.#condition(node.argument, scope)], span);
      this.#depth--;
      return id;
    }
    if (node.type === "LogicalExpression" && node.operator !== "??") {
      const isAnd = node.operator === "&&";
      this.#depth++;
      const left = this.#condition(node.left, scope);
      const known = t.literalOf(left);
      let id = left;
      if (known !== undefined) {
        if (!!known === isAnd) id = this.#condition(node.right, scope);
      } else {
        const right = () => this.#condition(node.right, scope);
        const skip = () => t.literal(!isAnd, span);
        const [a, b] = this.#paths.branch(left, isAnd ? right : skip, isAnd ? skip : right);
        id = isAnd ? t.op("and", [left, a], span) : t.op("or", [left, b], span);
      }
      this.#depth--;
      return id;
    }
    if (node.type === "SequenceExpression") {
      this.#depth++;
      for (const before of node.expressions.slice(0, -1)) this.#expression(before, scope);
      const id = this.#condition(node.expressions.at(-1)!, scope);
      this.#depth--;
      return id;
    }
    return this.#truth(this.#number(node, scope), span);
  }

  #truth(id: Id, span: Span): Id {
    return this.#t.op("truthy", [id], span);
  }

  #logical(node: LogicalExpression, scope: Scope): Val {
    const left = this.#expression(node.left, scope);
    return this.#shortCircuit(node.operator, left, node.left, node, () =>
      this.#expression(node.right, scope),
    );
  }

  /** `left op right()`, where right runs only for the elements that need it. */
  #shortCircuit(operator: string, left: Val, leftNode: AnyNode, node: Expression, right: () => Val): Val {
    if (operator === "??") return left.kind === "nothing" ? right() : left;
    const isAnd = operator === "&&";
    if (left.kind === "nothing") return isAnd ? left : right();
    const test = this.#truth(this.#asNode(left, leftNode), this.#span(leftNode));
    const known = this.#t.literalOf(test);
    if (known !== undefined) return !!known === isAnd ? right() : left;
    // Where a boolean decides, its value is known: `x > 0 && y` is false there.
    const isBoolean = left.kind === "node" && this.#t.typeOf(left.id) === "boolean";
    const kept: Val = isBoolean ? { kind: "node", id: this.#t.literal(!isAnd, this.#span(leftNode)) } : left;
    const keep = () => kept;
    const [a, b] = this.#paths.branch(test, isAnd ? right : keep, isAnd ? keep : right);
    return this.#paths.choose(test, a, b, notANumber, this.#span(node));
  }

  /** Left-leaning chains (x + x + x + …) are walked, not recursed into. */
  #binaryChain(node: BinaryExpression, scope: Scope): Id {
    const spine: BinaryExpression[] = [node];
    let first = node.left;
    while (first.type === "BinaryExpression") {
      spine.push(first);
      first = first.left;
    }
    if (first.type === "PrivateIdentifier") return this.#refuseSyntax(first);
    let left = this.#expression(first, scope);
    let leftNode: Expression = first;
    for (const link of spine.toReversed()) {
      this.#enter(link);
      const right = this.#expression(link.right, scope);
      left = { kind: "node", id: this.#binary(link.operator, left, leftNode, right, link.right, link) };
      leftNode = link;
    }
    return this.#asNode(left, node);
  }

  #binary(operator: string, a: Val, aNode: AnyNode, b: Val, bNode: AnyNode, node: Expression): Id {
    const op = binaryOps[operator];
    if (op === undefined) return this.#refuse(node, `cannot compile the operator ${operator}.`);
    const t = this.#t;
    const span = this.#span(node);
    if ((op === "eq" || op === "ne") && (a.kind === "nothing" || b.kind === "nothing")) {
      const both = a.kind === "nothing" && b.kind === "nothing";
      const same = both && (operator.length === 2 || a.name === b.name);
      if (!both) this.#asNode(a.kind === "nothing" ? b : a, node); // a number is never undefined
      return t.literal(same === (op === "eq"), span);
    }
    const x = this.#asNode(a, aNode);
    const y = this.#asNode(b, bNode);
    if (operator === "===" || operator === "!==") {
      const [p, q] = [t.literalOf(x), t.literalOf(y)];
      if (p !== undefined && q !== undefined && typeof p !== typeof q) return t.literal(op === "ne", span);
      if (!comparable(t.typeOf(x), t.typeOf(y))) {
        return this.#refuse(
          node,
          `cannot compile ${operator} between a number and a boolean; they are never equal.`,
          `Use ${operator.slice(0, 2)}, which compares a boolean as 0 or 1.`,
        );
      }
    }
    const isBit = (id: Id) => t.typeOf(id) === "boolean" || t.typeOf(id) === "bit";
    const { rule } = ops[op];
    if (rule === "compare" || (rule === "bits" && isBit(x) && isBit(y))) return t.op(op, [x, y], span);
    return t.op(op, [t.toNumber(x, span), t.toNumber(y, span)], span);
  }

  #unary(node: UnaryExpression, scope: Scope): Val {
    const span = this.#span(node);
    const t = this.#t;
    switch (node.operator) {
      case "!":
        return { kind: "node", id: this.#condition(node, scope) };
      case "void":
        this.#expression(node.argument, scope);
        return undefinedValue;
      case "-":
        return {
          kind: "node",
          id: t.op("neg", [t.toNumber(this.#number(node.argument, scope), span)], span),
        };
      case "+":
        return { kind: "node", id: t.toNumber(this.#number(node.argument, scope), span) };
      case "~":
        return {
          kind: "node",
          id: t.op("bitNot", [t.toNumber(this.#number(node.argument, scope), span)], span),
        };
      default:
        return this.#refuse(node, `cannot compile \`${node.operator}\`.`);
    }
  }

  #update(node: UpdateExpression, scope: Scope): Val {
    const span = this.#span(node);
    const before = this.#t.toNumber(this.#number(node.argument, scope), span);
    const op = node.operator === "++" ? "add" : "sub";
    const big = typeof this.#t.literalOf(before) === "bigint";
    const after = this.#t.op(op, [before, this.#t.literal(big ? 1n : 1, span)], span);
    this.#write(node.argument, scope, { kind: "node", id: after });
    return { kind: "node", id: node.prefix ? after : before };
  }

  #assignment(node: AssignmentExpression, scope: Scope): Val {
    const { left, right } = node;
    const operator = node.operator.slice(0, -1);
    if (left.type === "ArrayPattern") {
      // All values are computed before the first is written.
      const values = this.#listed(left, right, scope);
      left.elements.forEach((target, i) => {
        if (target !== null) this.#write(target, scope, values[i]);
      });
      return undefinedValue;
    }
    if (operator === "") {
      const value = this.#expression(right, scope);
      this.#write(left, scope, value);
      return value;
    }
    if (left.type !== "Identifier") {
      return this.#refuse(left, "cannot compile this assignment; only local variables can be assigned.");
    }
    const before = this.#expression(left, scope);
    const assign = () => {
      const value = this.#expression(right, scope);
      this.#write(left, scope, value);
      return value;
    };
    if (operator === "&&" || operator === "||" || operator === "??") {
      return this.#shortCircuit(operator, before, left, node, assign);
    }
    const operand = this.#expression(right, scope);
    const value: Val = { kind: "node", id: this.#binary(operator, before, left, operand, right, node) };
    this.#write(left, scope, value);
    return value;
  }

  /** The values of a list that is taken apart. */
  #listed({ elements }: Extract<Pattern, { type: "ArrayPattern" }>, list: Expression, scope: Scope): Val[] {
    const isEnough = list.type === "ArrayExpression" && list.elements.length >= elements.length;
    if (!isEnough) {
      this.#refuse(
        list,
        "cannot compile this; only a list with as many values is taken apart.",
        "Write [a, b] = [b, a], or assign one by one.",
      );
    }
    return list.elements.map((item) => {
      if (item === null || item.type === "SpreadElement") return this.#refuseSyntax(item ?? list);
      return this.#expression(item, scope);
    });
  }

  /* Members and calls ------------------------------------------------------------------------------------ */

  #memberExpression(node: MemberExpression, scope: Scope): Val {
    if (node.object.type === "Super") return this.#refuseSyntax(node.object);
    const { property } = node;
    const key =
      !node.computed && property.type === "Identifier"
        ? property.name
        : property.type === "Literal" && typeof property.value === "string"
          ? property.value
          : null;
    const object = this.#expression(node.object, scope);
    if (object.kind === "table" || object.kind === "shape") return this.#ofTable(object, node, key);
    if (object.kind === "at") {
      const name = node.object.type === "Identifier" ? node.object.name : "at";
      return this.#refuse(
        node,
        "a stencil's neighbours are asked for by a call.",
        `One offset an axis: ${name}(-1, 0).`,
      );
    }
    if (object.kind !== "namespace" || key === null) {
      return this.#refuse(node, "cannot compile this property; only Math.* and Number.* are known.");
    }
    return this.#member(object, key, node);
  }

  /** `table.get`, `table.shape[0]`, `table.size`, `table.rank`. */
  #ofTable(object: Val & { kind: "table" | "shape" }, node: MemberExpression, key: string | null): Val {
    const span = this.#span(node);
    if (object.kind === "shape") {
      const { of } = object;
      const axis = node.property.type === "Literal" ? node.property.value : null;
      if (typeof axis === "number" && Number.isInteger(axis) && axis >= 0 && axis < of.table.rank) {
        return { kind: "node", id: this.#word(of, viewWord.size(axis), span) };
      }
      return this.#refuse(
        node,
        `cannot compile this; "${of.key}" has the axes ${of.table.rank === 0 ? "of a single element: none" : `0 to ${of.table.rank - 1}`}.`,
        `Write the axis as a literal: ${of.key}.shape[0].`,
      );
    }
    switch (key) {
      case "get":
        return { kind: "get", of: object };
      case "shape":
        return { kind: "shape", of: object };
      case "size":
        return { kind: "node", id: this.#word(object, viewWord.count(object.table.rank), span) };
      case "rank":
        return { kind: "node", id: this.#t.literal(object.table.rank, span) };
      default:
        return this.#refuse(
          node,
          `cannot compile this; a table has get, shape, size and rank.`,
          `Read an element with ${object.key}.get(i).`,
        );
    }
  }

  /** A fact of a table, as a captured number. */
  #word({ key }: Val & { kind: "table" }, word: number, span?: Span): Id {
    const name = `${word} ${key}`;
    let param = this.#words.get(name);
    if (param === undefined) {
      param = this.#params.length;
      this.#params.push(`${key}.${word}`);
      this.#sources.push({ key, index: word });
      this.#words.set(name, param);
    }
    return this.#t.param(param, "number", span);
  }

  /** The operand that is the element at an offset. */
  #offset(args: readonly Val[], node: CallExpression): Id {
    const offset = args.map((a, d) => {
      const value = this.#t.literalOf(this.#asNode(a, node.arguments[d]));
      if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= MOST_OFFSET)
        return value + 0;
      return this.#refuse(
        node.arguments[d],
        "cannot compile this offset; it is no whole number that is known beforehand.",
        `Offsets are literals, or counters of short loops, up to ${MOST_OFFSET}; at(-1, 0) is the element above.`,
      );
    });
    const all = this.#offsets!;
    const [first] = all;
    if (offset.length === 0 || (first !== undefined && first.length !== offset.length)) {
      this.#refuse(
        node,
        `this offset has ${offset.length} numbers${first === undefined ? "" : `, another has ${first.length}`}.`,
        "Give one for each axis of the tensor.",
      );
    }
    const known = all.findIndex((o) => o.every((x, d) => x === offset[d]));
    const index = known >= 0 ? known : all.push(offset) - 1;
    return this.#t.input(index, this.#span(node));
  }

  #readTable(of: Val & { kind: "table" }, args: readonly Val[], node: CallExpression): Id {
    const { table, key } = of;
    const { rank, dtype } = table;
    if (args.length !== rank) {
      const count = (n: number, one: string, more: string) => `${n} ${n === 1 ? one : more}`;
      this.#refuse(
        node,
        `"${key}" has ${count(rank, "axis", "axes")}, got ${count(args.length, "index", "indices")}.`,
        "Give an index for each axis.",
      );
    }
    const t = this.#t;
    const axes = args.flatMap((a, d) => [
      t.toNumber(this.#asNode(a, node.arguments[d])),
      this.#word(of, viewWord.size(d)),
      this.#word(of, viewWord.stride(d)),
    ]);
    const address = this.#word(of, viewWord.address);
    const id = t.read(key, dtype, [this.#paths.guard(), address, ...axes], this.#span(node));
    this.#effects.push(id);
    return id;
  }

  #member(object: Val & { kind: "namespace" }, key: string, node: AnyNode): Val {
    const name = memberName(object.name, key);
    const known = globalValue(name, this.#t, this.#span(node));
    return known ?? this.#refuse(node, `there is no ${object.name}.${key} for kernels.`);
  }

  #call(node: CallExpression, scope: Scope): Val {
    const { callee } = node;
    const span = this.#span(node);
    if (callee.type === "Super") return this.#refuseSyntax(callee);
    if (callee.type === "Identifier" && this.#isUnknown(callee.name, scope)) {
      const [named, label] = node.arguments;
      // esbuild wraps inner functions to keep their names: __name(t => t * t, "sq")
      if (callee.name === "__name" && label?.type === "Literal" && named.type !== "SpreadElement") {
        return this.#expression(named, scope);
      }
      const { name } = callee;
      this.#refuse(
        node,
        "cannot compile this call; only Math.* functions are known.",
        `Write ${name} inside the function, or pass it: kernel(fn, { ${name} }).`,
      );
    }
    if (callee.type === "MemberExpression" && callee.object.type !== "Super") {
      const root = rootName(callee);
      if (root === null || this.#isUnknown(root, scope)) {
        this.#refuse(node, "cannot compile this call; only Math.* functions are known.");
      }
    }
    const fn = this.#calledValue(callee, scope);
    const args = node.arguments.map((a) => {
      if (a.type === "SpreadElement")
        this.#refuse(a, "cannot compile a spread; write the arguments one by one.");
      return this.#expression(a, scope);
    });
    switch (fn.kind) {
      case "get":
        return { kind: "node", id: this.#readTable(fn.of, args, node) };
      case "at":
        return { kind: "node", id: this.#offset(args, node) };
      case "function":
        return this.#callFunction(fn, args, node);
      case "template": {
        const { template, params, name } = fn;
        if (args.length < template.inputs) {
          this.#refuse(node, `"${name}" takes ${template.inputs} arguments, got ${args.length}.`);
        }
        const ids = args.map((a, i) => this.#t.toNumber(this.#asNode(a, node.arguments[i]), span));
        for (const used of template.globals?.names ?? []) this.#useGlobal(used.name, span);
        const hasEffects = template.nodes.some(isEffect);
        const guard = hasEffects ? this.#paths.guard() : null;
        const into = { guard, effects: this.#effects };
        return { kind: "node", id: inlineTemplate(this.#t, template, ids, params, span, into) };
      }
      case "table":
        return this.#refuse(node, "a table is no function.", `Read an element with ${fn.key}.get(i).`);
      case "builtin": {
        const ids = args.map((a, i) => this.#builtinArgument(a, node.arguments[i]));
        const id = fn.apply(this.#t, ids, span);
        return typeof id === "string" ? this.#refuse(node, id) : { kind: "node", id };
      }
      default:
        return this.#refuse(node, "cannot compile this call; only Math.* functions are known.");
    }
  }

  /** Math.f(undefined) computes with NaN. */
  #builtinArgument(value: Val, node: AnyNode): Id {
    return value === undefinedValue ? this.#t.literal(NaN, this.#span(node)) : this.#asNode(value, node);
  }

  #calledValue(callee: Expression, scope: Scope): Val {
    const value = this.#expression(callee, scope);
    if (value.kind === "namespace") {
      const apply = functions.get(value.name);
      if (apply !== undefined) return { kind: "builtin", apply };
    }
    return value;
  }

  /** What a coverage tool has written into the function counts and computes nothing. */
  #isCounter(node: UpdateExpression, scope: Scope): boolean {
    const name = counterName(node);
    return name !== null && this.#isUnknown(name, scope);
  }

  #isUnknown(name: string, scope: Scope): boolean {
    return scope.find(name) === null && !this.#free.has(name) && globalValue(name, this.#t) === null;
  }
}

const isLoop = (s: Statement): boolean =>
  s.type === "ForStatement" || s.type === "WhileStatement" || s.type === "DoWhileStatement";

/** Whether === can be told from the values alone: both are numbers, or both booleans. */
function comparable(a: JSType, b: JSType): boolean {
  return a !== "either" && b !== "either" && (a === "boolean") === (b === "boolean");
}

/* Globals ------------------------------------------------------------------------------------------------ */

function globalValue(name: string, t: TemplateBuilder, span?: Span): Val | null {
  if (namespaces.has(name)) return { kind: "namespace", name };
  const apply = functions.get(name);
  if (apply !== undefined) return { kind: "builtin", apply };
  const constant = constants.get(name);
  if (constant !== undefined) return { kind: "node", id: t.literal(constant, span) };
  return null;
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a string";
  if (typeof value === "symbol") return "a symbol";
  const name = (value as object).constructor?.name;
  return name === undefined || name === "Object" ? "an object" : `a ${name}`;
}
