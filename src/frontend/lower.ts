/**
 * From a syntax tree to a Template: the function is run once on symbols. A variable's value is a node; where
 * control splits, both sides run on their own copy of the variables and `select` joins what they disagree on, so
 * `if`, early returns, `&&`, `?:` and assignments inside expressions all become one straight line of algebra.
 * Loops run as long as their test is a literal. Whatever cannot be said that way is refused, with its place.
 */
import { unreachable } from "../errors.ts";
import type { Id, Span, Template } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import { type Builtin, constants, functions, memberName, namespaces, toNumber } from "./builtins.ts";
import type {
  AnyFunction,
  AnyNode,
  AssignmentExpression,
  BinaryExpression,
  BlockStatement,
  CallExpression,
  Expression,
  FunctionNode,
  LogicalExpression,
  MemberExpression,
  ParsedFunction,
  Pattern,
  Statement,
  UnaryExpression,
  UpdateExpression,
  VariableDeclaration,
} from "./parse.ts";
import { parseFunction, spanOf } from "./parse.ts";
import { isRefusal, type Refusal, refusal } from "./refusal.ts";
import { inlineTemplate, isKernelLike, TemplateBuilder } from "./template.ts";

export { isRefusal, type Refusal, refusalMessage } from "./refusal.ts";
export type { KernelLike } from "./template.ts";

export type Captures = Readonly<Record<string, unknown>>;

const limits = { nodes: 10_000, steps: 50_000, depth: 800, iterations: 64 };

/**
 * What `fn` says, before dtypes; or why it cannot be compiled. Never throws on account of the function.
 *
 * Captured values are matched by name to a last parameter `{ k }` or to variables the function reads; the rest,
 * in the order of their keys, are its last parameters, whatever a minifier has named them. The template depends
 * on the captures' names and types, and on functions and kernels among them, not on scalar values.
 */
export function lowerFunction(fn: AnyFunction | string, captures: Captures = {}): Template | Refusal {
  if (isKernelLike(fn)) return fn.template;
  const parsed = parseFunction(fn);
  if (isRefusal(parsed)) return parsed;
  try {
    return new Lowering(parsed, captures).run();
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    if (error instanceof RangeError) {
      const { source, node, shift } = parsed;
      return refusal("cannot compile this function; it is nested too deeply.", source, spanOf(node, shift));
    }
    throw error;
  }
}

/** Unwinds to lowerFunction; never leaves this file. */
class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refused: Refusal) {
    super(refused.reason);
    this.refusal = refused;
  }
}

/* What names and expressions stand for ------------------------------------------------------------------ */

type Val =
  | { readonly kind: "node"; readonly id: Id }
  | { readonly kind: "undefined" }
  /** A `let` before its line, or a variable that holds different kinds of things on different paths. */
  | { readonly kind: "unusable"; readonly why: string }
  | { readonly kind: "function"; readonly node: FunctionNode; readonly scope: Scope }
  | {
      readonly kind: "template";
      readonly template: Template;
      readonly params: readonly Id[];
      readonly name: string;
    }
  | { readonly kind: "namespace"; readonly name: string }
  | { readonly kind: "builtin"; readonly apply: Builtin };

const undefinedValue: Val = { kind: "undefined" };

interface Slot {
  readonly name: string;
  readonly constant: boolean;
}

class Scope {
  readonly parent: Scope | null;
  readonly slots = new Map<string, Slot>();

  constructor(parent: Scope | null) {
    this.parent = parent;
  }

  find(name: string): Slot | null {
    let scope: Scope | null = this;
    while (scope !== null) {
      const slot = scope.slots.get(name);
      if (slot !== undefined) return slot;
      scope = scope.parent;
    }
    return null;
  }
}

type Vars = Map<Slot, Val>;

/** One way through the function up to here. */
interface Path {
  vars: Vars;
  /** Elements that have returned already, first match wins: `test` holds → `value`. */
  exits: Exit[];
  /** Set once every remaining element has returned. */
  returned: Val | null;
}
interface Exit {
  readonly test: Id;
  readonly value: Val;
  readonly vars: Vars;
}

const binaryOps: Readonly<Record<string, OpName>> = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "%": "rem",
  "**": "pow",
  "&": "bitAnd",
  "|": "bitOr",
  "^": "bitXor",
  "<<": "shl",
  ">>": "shr",
  ">>>": "shru",
  "==": "eq",
  "===": "eq",
  "!=": "ne",
  "!==": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
};

/** What a refused piece of syntax is called in its message. */
const refusedSyntax: Readonly<Record<string, string>> = {
  ArrayExpression: "an array",
  ObjectExpression: "an object",
  TemplateLiteral: "a string",
  TaggedTemplateExpression: "a string",
  NewExpression: "`new`",
  ThisExpression: "`this`",
  Super: "`super`",
  MetaProperty: "this",
  YieldExpression: "`yield`",
  AwaitExpression: "`await`",
  ImportExpression: "`import`",
  ClassExpression: "a class",
  ClassDeclaration: "a class",
  ChainExpression: "optional chaining",
  SwitchStatement: "`switch`",
  ThrowStatement: "`throw`",
  TryStatement: "`try`",
  ForInStatement: "`for … in`",
  ForOfStatement: "`for … of`",
  BreakStatement: "`break`",
  ContinueStatement: "`continue`",
  LabeledStatement: "a label",
  WithStatement: "`with`",
  DebuggerStatement: "`debugger`",
};

class Lowering {
  readonly #fn: ParsedFunction;
  readonly #captures: Captures;
  readonly #t = new TemplateBuilder();
  readonly #params: string[] = [];
  /** Captures that free identifiers of the function name. */
  readonly #free = new Map<string, Val>();
  readonly #calls: FunctionNode[] = [];
  #path: Path = { vars: new Map(), exits: [], returned: null };
  #steps = 0;
  #depth = 0;

  constructor(fn: ParsedFunction, captures: Captures) {
    this.#fn = fn;
    this.#captures = captures;
  }

  run(): Template {
    const { node, source, name } = this.#fn;
    const scope = new Scope(null);
    const inputs = this.#bindParameters(scope);
    const value = this.#runBody(node, scope);
    if (value.kind === "undefined") {
      this.#refuse(node, "cannot compile a function that does not return a value on every path.");
    }
    const result = this.#asNode(value, node);
    return this.#t.finish(result, { inputs, params: this.#params, source, name });
  }

  /* Refusing --------------------------------------------------------------------------------------------- */

  #span(node: { start: number; end: number }): Span {
    return spanOf(node, this.#fn.shift);
  }

  #refuse(node: { start: number; end: number }, reason: string, remedy: string | null = null): never {
    throw new Refused(refusal(reason, this.#fn.source, this.#span(node), remedy));
  }

  #refuseSyntax(node: AnyNode): never {
    const what = refusedSyntax[node.type] ?? "this";
    return this.#refuse(node, `cannot compile ${what}; a kernel computes with numbers and booleans.`);
  }

  /** Counts work, so that a small source cannot ask for an endless program. */
  #enter(node: AnyNode): void {
    this.#steps++;
    if (this.#steps > limits.steps || this.#t.nodes.length > limits.nodes) {
      this.#refuse(node, "cannot compile this function; it unfolds to too many operations.");
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
    const used = freeNames(node);
    const keys = Object.keys(this.#captures);
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
          this.#refuse(property, `expects a captured value "${key}".`, `Pass it: kernel(fn, { ${key} }).`);
        }
        this.#declare(scope, property.value.name, false, value);
        waiting.delete(key);
      }
    }
    for (const key of keys) {
      if (!waiting.has(key) || !used.has(key)) continue;
      this.#free.set(key, values.get(key)!);
      waiting.delete(key);
    }
    const names = params.map((p) => this.#parameterName(p));
    const rest = [...waiting];
    const inputs = this.#countOperands(names, rest);
    names.forEach((name, i) => {
      const value: Val =
        i < inputs
          ? { kind: "node", id: this.#t.input(i, this.#span(params[i])) }
          : values.get(rest[i - inputs])!;
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

  /** The last parameters take the captures that nothing else has taken, in order. */
  #countOperands(names: readonly string[], rest: readonly string[]): number {
    const { node } = this.#fn;
    const inputs = names.length - rest.length;
    const quoted = rest.map((key) => `"${key}"`).join(", ");
    const remedy = `Write them in one object: (x, { ${rest.join(", ")} }) => …`;
    if (inputs < 0) {
      this.#refuse(node, `does not use the captured ${quoted}.`, "Leave them out, or read them by name.");
    }
    const misplaced = rest.find((key, i) => names.includes(key) && names[inputs + i] !== key);
    if (misplaced !== undefined) {
      this.#refuse(
        node.params[names.indexOf(misplaced)],
        `captured parameters come last, in the order of their keys: ${quoted}.`,
        remedy,
      );
    }
    const [readable] = rest.filter((key) => names.includes(key));
    const strange = rest.find((key) => !names.includes(key));
    if (readable !== undefined && strange !== undefined) {
      this.#refuse(node, `does not use the captured "${strange}".`, remedy);
    }
    return inputs;
  }

  #captured(key: string): Val {
    const value = this.#captures[key];
    const { node } = this.#fn;
    if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
      this.#params.push(key);
      const type = typeof value === "boolean" ? "boolean" : "number";
      return { kind: "node", id: this.#t.param(this.#params.length - 1, type) };
    }
    const isFunction = typeof value === "function";
    if (!isFunction && !isKernelLike(value)) {
      return this.#refuse(
        node,
        `captured "${key}" is ${describe(value)}; only numbers, bigints, booleans, functions and kernels can be.`,
        "Pass a tensor as one more operand.",
      );
    }
    const template = isKernelLike(value) ? value.template : lowerFunction(value as AnyFunction);
    if (isRefusal(template)) {
      return this.#refuse(node, `captured function "${key}": ${template.reason}`, template.remedy);
    }
    const params = template.params.map((name) => {
      this.#params.push(`${key}.${name}`);
      return this.#t.param(this.#params.length - 1);
    });
    return { kind: "template", template, params, name: key };
  }

  /* Variables -------------------------------------------------------------------------------------------- */

  #declare(scope: Scope, name: string, constant: boolean, value: Val): void {
    const slot: Slot = { name, constant };
    scope.slots.set(name, slot);
    this.#path.vars.set(slot, value);
  }

  #read(name: string, scope: Scope, node: AnyNode): Val {
    const slot = scope.find(name);
    if (slot !== null) {
      return this.#path.vars.get(slot) ?? unreachable(`variable ${name} has no value`);
    }
    const captured = this.#free.get(name);
    if (captured !== undefined) return captured;
    const known = globalValue(name, this.#t, this.#span(node));
    if (known !== null) return known;
    return this.#refuse(node, `reads the outer variable "${name}".`, `Pass it: kernel(fn, { ${name} }).`);
  }

  #write(target: Pattern | Expression, scope: Scope, value: Val): void {
    if (target.type !== "Identifier") {
      return this.#refuse(target, "cannot compile this assignment; only local variables can be assigned.");
    }
    const slot = scope.find(target.name);
    if (slot === null) {
      this.#refuse(target, `writes the outer variable "${target.name}".`, "A kernel only returns a value.");
    }
    if (slot.constant) this.#refuse(target, `assigns to the constant "${target.name}".`);
    this.#path.vars.set(slot, value);
  }

  /** The number or boolean an expression gives; anything else is refused. */
  #asNode(value: Val, node: { start: number; end: number }): Id {
    switch (value.kind) {
      case "node":
        return value.id;
      case "undefined":
        return this.#refuse(node, "cannot compute with undefined; every variable needs a number.");
      case "unusable":
        return this.#refuse(node, value.why);
      default:
        return this.#refuse(node, "cannot use a function or an object as a number.");
    }
  }

  /* Paths ------------------------------------------------------------------------------------------------ */

  /** Runs both sides of a choice, each on its own copy of the variables, and joins them. */
  #branch<T>(test: Id, yes: () => T, no: () => T): [T, T] {
    const before = this.#path;
    this.#path = { vars: new Map(before.vars), exits: [], returned: null };
    const a = yes();
    const p = this.#path;
    this.#path = { vars: new Map(before.vars), exits: [], returned: null };
    const b = no();
    const q = this.#path;
    this.#path = this.#join(before.exits, test, p, q);
    return [a, b];
  }

  #join(exits: readonly Exit[], test: Id, p: Path, q: Path): Path {
    const t = this.#t;
    const not = () => t.op("not", [test]);
    if (p.returned !== null && q.returned !== null) {
      const [a, b] = [this.#settle(p), this.#settle(q)];
      const returned = this.#choose(test, a.value, b.value);
      return { vars: this.#mergeVars(test, a.vars, b.vars), exits: [...exits], returned };
    }
    if (p.returned !== null) {
      return { ...q, exits: [...exits, { test, ...this.#settle(p) }, ...q.exits] };
    }
    if (q.returned !== null) {
      return { ...p, exits: [...exits, { test: not(), ...this.#settle(q) }, ...p.exits] };
    }
    const both = [
      ...p.exits.map((e) => ({ ...e, test: t.op("and", [test, e.test]) })),
      ...q.exits.map((e) => ({ ...e, test: t.op("and", [not(), e.test]) })),
    ];
    return { vars: this.#mergeVars(test, p.vars, q.vars), exits: [...exits, ...both], returned: null };
  }

  /** What a path returns, and the variables as they then are: its early exits chosen one after another. */
  #settle(path: Path): { value: Val; vars: Vars } {
    let value = path.returned ?? undefinedValue;
    let vars = path.vars;
    for (const exit of path.exits.toReversed()) {
      value = this.#choose(exit.test, exit.value, value);
      vars = this.#mergeVars(exit.test, exit.vars, vars);
    }
    return { value, vars };
  }

  #mergeVars(test: Id, a: Vars, b: Vars): Vars {
    if (a === b) return a;
    const merged: Vars = new Map();
    for (const [slot, x] of a) {
      const y = b.get(slot);
      if (y !== undefined) merged.set(slot, this.#choose(test, x, y, slot.name));
    }
    return merged;
  }

  #choose(test: Id, a: Val, b: Val, name?: string): Val {
    if (a === b) return a;
    if (a.kind === "node" && b.kind === "node") {
      const span = this.#t.nodes[test].span;
      return a.id === b.id ? a : { kind: "node", id: this.#t.op("select", [test, a.id, b.id], span) };
    }
    if (a.kind === "undefined" && b.kind === "undefined") return a;
    if (name === undefined) {
      return {
        kind: "unusable",
        why: "cannot compile a function that does not return a value on every path.",
      };
    }
    return { kind: "unusable", why: `"${name}" is not a number on every path to here.` };
  }

  /* Functions -------------------------------------------------------------------------------------------- */

  /** Runs a function's body in a scope that already holds its parameters. */
  #runBody(node: FunctionNode, scope: Scope): Val {
    const { body } = node;
    if (body.type !== "BlockStatement") return this.#expression(body, scope);
    const outer = this.#path;
    this.#path = { vars: outer.vars, exits: [], returned: null };
    for (const name of varNames(body)) {
      if (!scope.slots.has(name)) this.#declare(scope, name, false, undefinedValue);
    }
    this.#hoist(body.body, scope);
    this.#statements(body.body, scope);
    const { value, vars } = this.#settle(this.#path);
    this.#path = { ...outer, vars };
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
        if (value.kind === "undefined") value = this.#expression(param.right, scope);
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
          const why = `reads "${name}" before its declaration.`;
          this.#declare(scope, name, s.kind === "const", { kind: "unusable", why });
        }
      }
    }
  }

  #statements(statements: readonly Statement[], scope: Scope): void {
    for (const s of statements) {
      if (this.#path.returned !== null) return;
      this.#statement(s, scope);
    }
  }

  #block(statements: readonly Statement[], scope: Scope): void {
    const inner = new Scope(scope);
    this.#hoist(statements, inner);
    this.#statements(statements, inner);
  }

  #statement(s: Statement, scope: Scope): void {
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
        if (!s.argument && this.#calls.length === 0) {
          this.#refuse(s, "cannot compile a return without a value.");
        }
        this.#path.returned = s.argument ? this.#expression(s.argument, scope) : undefinedValue;
        if (this.#calls.length === 0) {
          this.#path.returned = { kind: "node", id: this.#asNode(this.#path.returned, s.argument ?? s) };
        }
        break;
      case "IfStatement": {
        const test = this.#condition(s.test, scope);
        const known = this.#t.literalOf(test);
        const yes = () => this.#block([s.consequent], scope);
        const no = () => (s.alternate ? this.#block([s.alternate], scope) : undefined);
        if (known === undefined) this.#branch(test, yes, no);
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
        this.#loop(s, s.test ?? null, inner, () => {
          this.#block([s.body], inner);
          if (s.update && this.#path.returned === null) this.#expression(s.update, inner);
        });
        break;
      }
      case "WhileStatement":
        this.#loop(s, s.test, scope, () => this.#block([s.body], scope));
        break;
      case "DoWhileStatement":
        this.#block([s.body], scope);
        this.#loop(s, s.test, scope, () => this.#block([s.body], scope));
        break;
      default:
        this.#refuseSyntax(s);
    }
    this.#depth--;
  }

  /** Unrolls a loop whose test is a literal every time round. */
  #loop(loop: Statement, test: Expression | null, scope: Scope, round: () => void): void {
    for (let i = 0; this.#path.returned === null; i++) {
      const going = test === null ? true : this.#t.literalOf(this.#condition(test, scope));
      if (going === undefined) {
        this.#refuse(test ?? loop, "cannot compile this loop; its bounds must be literals.");
      }
      if (!going) return;
      if (i >= limits.iterations) {
        this.#refuse(loop, `cannot compile this loop; it runs more than ${limits.iterations} times.`);
      }
      round();
    }
  }

  #declaration(declaration: VariableDeclaration, scope: Scope): void {
    if (!["const", "let", "var"].includes(declaration.kind)) this.#refuseSyntax(declaration);
    for (const { id, init } of declaration.declarations) {
      if (!init && declaration.kind === "var") continue;
      const value = init ? this.#expression(init, scope) : undefinedValue;
      if (id.type === "ObjectPattern" && value.kind === "namespace") {
        for (const property of id.properties) {
          const key = property.type === "Property" ? propertyName(property) : null;
          if (key === null || property.type !== "Property") this.#refuseSyntax(property);
          this.#initialize(property.value, scope, this.#member(value, key, property));
        }
      } else this.#initialize(id, scope, value);
    }
  }

  #initialize(target: Pattern, scope: Scope, value: Val): void {
    if (target.type !== "Identifier") {
      this.#refuse(target, "cannot compile this declaration; only plain names can be declared.");
    }
    const slot = scope.find(target.name) ?? unreachable(`${target.name} was not hoisted`);
    this.#path.vars.set(slot, value);
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
        const what =
          typeof value === "string" ? "a string" : value === null ? "null" : "a regular expression";
        return this.#refuse(node, `cannot compile ${what}; a kernel computes with numbers and booleans.`);
      }
      case "Identifier":
        return node.name === "undefined" && scope.find("undefined") === null
          ? undefinedValue
          : this.#read(node.name, scope, node);
      case "BinaryExpression":
        return { kind: "node", id: this.#binaryChain(node, scope) };
      case "LogicalExpression":
        return this.#logical(node, scope);
      case "UnaryExpression":
        return this.#unary(node, scope);
      case "UpdateExpression":
        return this.#update(node, scope);
      case "AssignmentExpression":
        return this.#assignment(node, scope);
      case "ConditionalExpression": {
        const test = this.#condition(node.test, scope);
        const known = this.#t.literalOf(test);
        if (known !== undefined) return this.#expression(known ? node.consequent : node.alternate, scope);
        const [a, b] = this.#branch(
          test,
          () => this.#expression(node.consequent, scope),
          () => this.#expression(node.alternate, scope),
        );
        return this.#select(test, a, b, node);
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

  /** A choice between two values of an expression. */
  #select(test: Id, a: Val, b: Val, node: Expression): Val {
    if (a.kind !== "node" || b.kind !== "node") {
      const same = a === b || (a.kind === "undefined" && b.kind === "undefined");
      return same ? a : { kind: "unusable", why: "this is not a number on every path." };
    }
    return { kind: "node", id: this.#t.op("select", [test, a.id, b.id], this.#span(node)) };
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
        const [a, b] = this.#branch(left, isAnd ? right : skip, isAnd ? skip : right);
        id = isAnd ? t.op("and", [left, a], span) : t.op("or", [left, b], span);
      }
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
    if (operator === "??") return left.kind === "undefined" ? right() : left;
    const isAnd = operator === "&&";
    if (left.kind === "undefined") return isAnd ? left : right();
    const test = this.#truth(this.#asNode(left, leftNode), this.#span(leftNode));
    const known = this.#t.literalOf(test);
    if (known !== undefined) return !!known === isAnd ? right() : left;
    const keep = () => left;
    const [a, b] = this.#branch(test, isAnd ? right : keep, isAnd ? keep : right);
    if (a.kind === "node" && b.kind === "node") {
      const logic = this.#t.typeOf(a.id) === "boolean" && this.#t.typeOf(b.id) === "boolean";
      if (logic) {
        return {
          kind: "node",
          id: this.#t.op(isAnd ? "and" : "or", [test, isAnd ? a.id : b.id], this.#span(node)),
        };
      }
    }
    return this.#select(test, a, b, node);
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
    if ((op === "eq" || op === "ne") && (a.kind === "undefined" || b.kind === "undefined")) {
      const same = a.kind === b.kind;
      if (!same) this.#asNode(a.kind === "undefined" ? b : a, node);
      return t.literal(same === (op === "eq"), span);
    }
    const x = this.#asNode(a, aNode);
    const y = this.#asNode(b, bNode);
    if ((operator === "===" || operator === "!==") && t.typeOf(x) !== t.typeOf(y)) {
      if (t.literalOf(x) !== undefined && t.literalOf(y) !== undefined) {
        return t.literal(operator === "!==", span);
      }
      return this.#refuse(
        node,
        `cannot compile ${operator} between a number and a boolean; they are never equal.`,
        `Use ${operator.slice(0, 2)}, which compares a boolean as 0 or 1.`,
      );
    }
    return t.op(op, [x, y], span);
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
        return { kind: "node", id: t.op("neg", [this.#number(node.argument, scope)], span) };
      case "+":
        return { kind: "node", id: toNumber(t, this.#number(node.argument, scope), span) };
      case "~":
        return { kind: "node", id: t.op("bitNot", [this.#number(node.argument, scope)], span) };
      default:
        return this.#refuse(node, `cannot compile \`${node.operator}\`.`);
    }
  }

  #update(node: UpdateExpression, scope: Scope): Val {
    const span = this.#span(node);
    const before = toNumber(this.#t, this.#number(node.argument, scope), span);
    const op = node.operator === "++" ? "add" : "sub";
    const big = typeof this.#t.literalOf(before) === "bigint";
    const after = this.#t.op(op, [before, this.#t.literal(big ? 1n : 1, span)], span);
    this.#write(node.argument, scope, { kind: "node", id: after });
    return { kind: "node", id: node.prefix ? after : before };
  }

  #assignment(node: AssignmentExpression, scope: Scope): Val {
    const { left, right } = node;
    const operator = node.operator.slice(0, -1);
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
    if (object.kind !== "namespace" || key === null) {
      return this.#refuse(node, "cannot compile this property; only Math.* and Number.* are known.");
    }
    return this.#member(object, key, node);
  }

  #member(object: Val & { kind: "namespace" }, key: string, node: AnyNode): Val {
    const name = memberName(object.name, key);
    const known = globalValue(name, this.#t, this.#span(node));
    return known ?? this.#refuse(node, `does not know ${object.name}.${key}.`);
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
      case "function":
        return this.#callFunction(fn, args, node);
      case "template": {
        const { template, params, name } = fn;
        if (args.length < template.inputs) {
          this.#refuse(node, `"${name}" takes ${template.inputs} arguments, got ${args.length}.`);
        }
        const ids = args.map((a, i) => this.#asNode(a, node.arguments[i]));
        return { kind: "node", id: inlineTemplate(this.#t, template, ids, params, span) };
      }
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
    return value.kind === "undefined" ? this.#t.literal(NaN, this.#span(node)) : this.#asNode(value, node);
  }

  #calledValue(callee: Expression, scope: Scope): Val {
    const value = this.#expression(callee, scope);
    if (value.kind === "namespace") {
      const apply = functions.get(value.name);
      if (apply !== undefined) return { kind: "builtin", apply };
    }
    return value;
  }

  #isUnknown(name: string, scope: Scope): boolean {
    return scope.find(name) === null && !this.#free.has(name) && globalValue(name, this.#t) === null;
  }
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

/** `Math` of `Math.max`, null if the chain does not begin with a name. */
function rootName(node: MemberExpression): string | null {
  let object: AnyNode = node;
  while (object.type === "MemberExpression") object = object.object;
  return object.type === "Identifier" ? object.name : null;
}

/* Names in a syntax tree --------------------------------------------------------------------------------- */

function propertyName(property: { readonly computed: boolean; readonly key: AnyNode }): string | null {
  const { key, computed } = property;
  if (key.type === "Identifier") return computed ? null : key.name;
  return key.type === "Literal" && typeof key.value === "string" ? key.value : null;
}

function declaredNames(declaration: VariableDeclaration): string[] {
  return declaration.declarations.flatMap(({ id }) => patternNames(id));
}

function patternNames(pattern: Pattern): string[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((p) => patternNames(p.type === "Property" ? p.value : p.argument));
    case "ArrayPattern":
      return pattern.elements.flatMap((p) => (p === null ? [] : patternNames(p)));
    case "AssignmentPattern":
      return patternNames(pattern.left);
    case "RestElement":
      return patternNames(pattern.argument);
    default:
      return [];
  }
}

/** Names that `var` declares anywhere in a function's body, not inside inner functions. */
function varNames(body: BlockStatement): Set<string> {
  const names = new Set<string>();
  walk(body, (node) => {
    if (node.type === "VariableDeclaration" && node.kind === "var") {
      for (const name of declaredNames(node)) names.add(name);
    }
    return !isFunctionNode(node);
  });
  return names;
}

/** Names a function reads and does not declare anywhere inside. */
function freeNames(fn: FunctionNode): Set<string> {
  const used = new Set<string>();
  const declared = new Set<string>();
  walk(fn, (node) => {
    if (node.type === "Identifier") used.add(node.name);
    if (node.type === "VariableDeclaration") for (const name of declaredNames(node)) declared.add(name);
    if (isFunctionNode(node)) {
      if (node.id) declared.add(node.id.name);
      for (const param of node.params) for (const name of patternNames(param)) declared.add(name);
    }
    return true;
  });
  for (const name of declared) used.delete(name);
  return used;
}

const isFunctionNode = (node: AnyNode): node is FunctionNode =>
  node.type === "FunctionExpression" ||
  node.type === "FunctionDeclaration" ||
  node.type === "ArrowFunctionExpression";

/** Visits a tree; names that are only keys (`a.key`, `{ key: v }`) are left out. */
function walk(root: AnyNode, visit: (node: AnyNode) => boolean): void {
  const work: AnyNode[] = [root];
  for (let node = work.pop(); node !== undefined; node = work.pop()) {
    if (!visit(node)) continue;
    const isKey = "computed" in node && !node.computed;
    for (const [field, child] of Object.entries(node)) {
      if (isKey && (field === "property" || field === "key")) continue;
      for (const item of Array.isArray(child) ? child : [child]) {
        if (typeof item === "object" && item !== null && typeof item.type === "string") work.push(item);
      }
    }
  }
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a string";
  if (typeof value === "symbol") return "a symbol";
  const name = (value as object).constructor?.name;
  return name === undefined || name === "Object" ? "an object" : `a ${name}`;
}
