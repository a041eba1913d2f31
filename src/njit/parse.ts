/**
 * From a function to its Tree. The syntax is walked once, in the order it would run: an expression gives back what it
 * stands for, and what it does on the way (loads, stores, assignments, the bodies of functions it calls) is written down
 * as statements before it. Whatever has no place in a Tree is refused, with its place and a remedy.
 */
import { dtypeOfArray } from "../dtype.ts";
import { describe, TensorError } from "../errors.ts";
import { builtinName, constants, functions, memberName, namespaces } from "../frontend/builtins.ts";
import { declaredNames, propertyName, varNames } from "../frontend/names.ts";
import {
  type AnyFunction,
  type AnyNode,
  type AssignmentExpression,
  type BinaryExpression,
  type CallExpression,
  type Expression,
  type FunctionNode,
  type MemberExpression,
  type ParsedFunction,
  type Pattern,
  parseFunction,
  type Statement,
  spanOf,
  type UpdateExpression,
  type VariableDeclaration,
} from "../frontend/parse.ts";
import { isRefusal, refusalMessage } from "../frontend/refusal.ts";
import { fold, isKernelLike, TemplateBuilder } from "../frontend/template.ts";
import type { Id, TemplateNode } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import { OPERATION, refuse } from "./refuse.ts";
import { reassignedNames } from "./scopes.ts";
import type {
  Access,
  Argument,
  ArrayRef,
  Expr,
  LocalArray,
  Loop,
  Place,
  Stmt,
  Tree,
  Variable,
} from "./tree.ts";
import { type Binding, type InnerFunction, nothing, Scope, type Text, type Val } from "./values.ts";

type Captures = Readonly<Record<string, unknown>>;
type Positioned = { readonly start: number; readonly end: number };
type Of<T extends AnyNode["type"]> = Extract<AnyNode, { type: T }>;

/** A small source may ask for no endless program: statements in all, functions inside of functions, list lengths. */
const limits = { steps: 40_000, calls: 64, elements: 1024, depth: 700 };

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

/** What a refused piece of syntax is called, and what to do instead. */
const refused: Readonly<Record<string, readonly [what: string, remedy?: string]>> = {
  ObjectExpression: ["an object", "Use one variable a field, or a tensor."],
  TemplateLiteral: ["a string"],
  TaggedTemplateExpression: ["a string"],
  NewExpression: [
    "`new`",
    "A small array may be new Float64Array(8), with a literal length; others are arguments.",
  ],
  ThisExpression: ["`this`", "Pass what it holds as an argument."],
  ClassExpression: ["a class"],
  ClassDeclaration: ["a class"],
  ChainExpression: ["optional chaining", "Whether an argument is there is decided before the call."],
  AwaitExpression: ["`await`", "Await before the call."],
  YieldExpression: ["`yield`"],
  SwitchStatement: ["`switch`", "Write if … else if … else."],
  ThrowStatement: ["`throw`", "Return a number that says what happened, and throw where it was called."],
  TryStatement: ["`try`", "An njit function throws nothing that it could catch."],
  ForInStatement: ["`for … in`", "Count: for (let i = 0; i < n; i++)."],
  WithStatement: ["`with`"],
  ImportExpression: ["`import`"],
};

/** The tree of `fn`; throws a TensorError with a caret where it cannot be one. */
export function parseTree(fn: AnyFunction, captures: Captures): Tree {
  const parsed = parseFunction(fn);
  if (isRefusal(parsed)) throw new TensorError("kernel", refusalMessage(OPERATION, parsed));
  try {
    return new Reader(parsed, captures).run();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const span = spanOf(parsed.node, parsed.shift);
    return refuse({ source: parsed.source, span }, "cannot compile this function; it is nested too deeply.");
  }
}

const textOf = ({ source, shift, node }: ParsedFunction): Text => ({
  source,
  shift,
  reassigned: reassignedNames(node),
});

/** Where `break` and `continue` lead. */
interface Target {
  readonly label: number;
  readonly names: readonly string[];
  readonly isLoop: boolean;
  readonly isParallel: boolean;
  /** Calls around it: a jump never leaves a function. */
  readonly calls: number;
}

/** What an assignment writes to. */
interface AssignmentTarget {
  /** Its index is computed now. */
  readonly hold: () => void;
  /** Its index was evaluated where statement `at` begins. */
  readonly settle: (at: number) => void;
  readonly read: () => Expr;
  readonly write: (expr: Expr) => void;
}

/** A function whose body is being written. */
interface Frame {
  readonly node: FunctionNode;
  /** null: the function itself, whose return ends it. */
  readonly label: number | null;
  results: number[] | null;
  /** null: nothing was returned yet; "nothing", "one" or the number of values. */
  form: "nothing" | "one" | number | null;
}

class Reader {
  readonly #fn: ParsedFunction;
  readonly #captures: Captures;
  readonly #variables: Variable[] = [];
  readonly #arrays: LocalArray[] = [];
  readonly #args: Argument[] = [];
  readonly #targets: Target[] = [];
  readonly #frames: Frame[] = [];
  #given = 0;
  #labels = 0;
  #steps = 0;
  #depth = 0;
  #text: Text;
  /** Where statements go. */
  #out: Stmt[] = [];

  constructor(fn: ParsedFunction, captures: Captures) {
    this.#fn = fn;
    this.#captures = captures;
    this.#text = textOf(fn);
  }

  run(): Tree {
    const { node, source, name } = this.#fn;
    const scope = new Scope(null);
    this.#bindParameters(scope);
    const frame: Frame = { node, label: null, results: null, form: null };
    this.#frames.push(frame);
    this.#runBody(node, scope, frame);
    const returns =
      frame.form === null || frame.form === "nothing" ? null : frame.form === "one" ? 0 : frame.form;
    return {
      name,
      source,
      args: this.#args,
      given: this.#given,
      variables: this.#variables,
      arrays: this.#arrays,
      body: this.#out,
      returns,
    };
  }

  /* Places and refusals ---------------------------------------------------------------------------------- */

  #place(node: Positioned): Place {
    return { source: this.#text.source, span: spanOf(node, this.#text.shift) };
  }

  #refuse(node: Positioned, reason: string, remedy?: string): never {
    return refuse(this.#place(node), reason, remedy);
  }

  #refuseSyntax(node: AnyNode): never {
    const [what, remedy] = refused[node.type] ?? ["this"];
    return this.#refuse(
      node,
      `cannot compile ${what}; njit computes with numbers, booleans and arrays.`,
      remedy,
    );
  }

  #enter(node: Positioned): void {
    if (++this.#steps > limits.steps) {
      this.#refuse(node, "cannot compile this function; it unfolds to too many operations.");
    }
    if (this.#depth > limits.depth)
      this.#refuse(node, "cannot compile this function; it is nested too deeply.");
  }

  /* Parameters and captures ------------------------------------------------------------------------------ */

  #bindParameters(scope: Scope): void {
    const params = [...this.#fn.node.params];
    const last = params.at(-1);
    if (last?.type === "ObjectPattern") params.pop();
    for (const param of params) {
      if (param.type !== "Identifier") {
        this.#refuse(
          param,
          "cannot compile this parameter; parameters are plain names, and the last may be { prange, captured names }.",
        );
      }
      const index = this.#args.length;
      this.#args.push({ name: param.name, captured: null, place: this.#place(param) });
      this.#bindArgument(scope, param, index);
    }
    this.#given = this.#args.length;
    const used = new Set<string>();
    if (last?.type === "ObjectPattern") {
      for (const property of last.properties) {
        const key = property.type === "Property" ? propertyName(property) : null;
        if (property.type !== "Property" || key === null || property.value.type !== "Identifier") {
          this.#refuse(property, "cannot compile this parameter; captured values are plain names.");
        }
        used.add(key);
        scope.names.set(property.value.name, { kind: "fixed", val: this.#captured(key, property) });
      }
    }
    const unused = Object.keys(this.#captures).filter((key) => !used.has(key));
    if (unused.length > 0) {
      this.#refuse(
        last ?? this.#fn.node,
        `the captured ${unused.map((key) => `"${key}"`).join(", ")} ${unused.length === 1 ? "is" : "are"} not named in the last parameter.`,
        `Name what is captured there: (…, { ${[...used, ...unused].join(", ")} }) => …`,
      );
    }
  }

  #bindArgument(scope: Scope, param: Of<"Identifier">, index: number): void {
    if (!this.#text.reassigned.has(param.start)) {
      scope.names.set(param.name, { kind: "fixed", val: { kind: "argument", index } });
      return;
    }
    const place = this.#place(param);
    const id = this.#variable(param.name, false, param);
    scope.names.set(param.name, { kind: "variable", id, constant: false });
    this.#set(id, { op: "argument", index, place }, param);
  }

  #captured(key: string, node: Positioned): Val {
    if (key === "prange") {
      if (Object.hasOwn(this.#captures, key)) {
        this.#refuse(
          node,
          'a captured value is named "prange", which njit itself passes.',
          "Give it another name.",
        );
      }
      return { kind: "prange" };
    }
    if (!Object.hasOwn(this.#captures, key)) {
      this.#refuse(node, `the function expects a captured value "${key}".`, `Pass it: njit(fn, { ${key} }).`);
    }
    const value = this.#captures[key];
    if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
      return { kind: "value", expr: { op: "literal", value, place: this.#place(node) } };
    }
    if (isKernelLike(value)) return { kind: "kernel", kernel: value, name: key };
    if (typeof value === "function") {
      const builtin = builtinName(value);
      if (builtin !== null) return { kind: "builtin", name: builtin };
      const parsed = parseFunction(value);
      if (isRefusal(parsed)) return this.#refuse(node, `captured function "${key}": ${parsed.reason}`);
      return { kind: "function", fn: { node: parsed.node, scope: new Scope(null), text: textOf(parsed) } };
    }
    if (typeof value === "object" && value !== null) {
      const index = this.#args.length;
      this.#args.push({ name: key, captured: key, place: this.#place(node) });
      return { kind: "argument", index };
    }
    return this.#refuse(
      node,
      `captured "${key}" is ${describe(value)}; captured values are numbers, bigints, booleans, functions, kernels, tensors and typed arrays.`,
    );
  }

  /* Variables -------------------------------------------------------------------------------------------- */

  #variable(name: string, constant: boolean, node: Positioned): number {
    this.#variables.push({ name, constant, fromLiteral: false, place: this.#place(node) });
    return this.#variables.length - 1;
  }

  #set(id: number, value: Expr, node: Positioned): void {
    this.#out.push({ op: "set", id, value, place: this.#place(node) });
  }

  /** The expression, computed now: nothing that follows can change it. */
  #hold(expr: Expr, node: Positioned): Expr {
    if (expr.op === "literal") return expr;
    const id = this.#variable("", true, node);
    this.#set(id, expr, node);
    return { op: "variable", id, place: expr.place };
  }

  /** Runs `make` after `before` has been evaluated: if that changes it, it is computed first. */
  #then<T>(before: Expr, node: Positioned, make: () => T): [Expr, T] {
    const at = this.#out.length;
    const made = make();
    return [this.#settled(before, node, at), made];
  }

  /** An expression that was evaluated where statement `at` begins: held there, if something since then changes it. */
  #settled(expr: Expr, node: Positioned, at: number): Expr {
    if (this.#isFixed(expr)) return expr;
    const reads = readsOf(expr);
    if (!this.#out.slice(at).some((s) => changes(s, reads))) return expr;
    const after = this.#out.splice(at);
    const held = this.#hold(expr, node);
    this.#out.push(...after);
    return held;
  }

  /** Nothing can change it: it reads no variable that is assigned to. */
  #isFixed(expr: Expr): boolean {
    if (expr.op === "variable") return this.#variables[expr.id].constant;
    return !("args" in expr) || expr.args.every((a) => this.#isFixed(a));
  }

  #all(nodes: readonly AnyNode[], scope: Scope): Expr[] {
    const exprs: Expr[] = [];
    for (const node of nodes) {
      if (node.type === "SpreadElement")
        this.#refuse(node, "cannot compile a spread; write the values one by one.");
      const at = this.#out.length;
      const expr = this.#value(node as Expression, scope);
      for (let i = 0; i < exprs.length; i++) exprs[i] = this.#settled(exprs[i], nodes[i], at);
      exprs.push(expr);
    }
    return exprs;
  }

  #declare(scope: Scope, target: Pattern, val: Val, node: Positioned): void {
    if (target.type === "ArrayPattern") {
      this.#declareList(scope, target, val);
      return;
    }
    if (target.type === "ObjectPattern" && val.kind === "namespace") {
      for (const property of target.properties) {
        const key = property.type === "Property" ? propertyName(property) : null;
        if (property.type !== "Property" || key === null) this.#refuseSyntax(property);
        this.#declare(scope, property.value, this.#global(memberName(val.name, key), property), property);
      }
      return;
    }
    if (target.type === "ObjectPattern" && (val.kind === "argument" || val.kind === "array")) {
      for (const property of target.properties) {
        const key = property.type === "Property" ? propertyName(property) : null;
        if (property.type !== "Property" || key === null) this.#refuseSyntax(property);
        this.#declare(scope, property.value, this.#arrayMember(refOf(val), key, property), property);
      }
      return;
    }
    if (target.type !== "Identifier")
      this.#refuse(target, "cannot compile this declaration; declare plain names.");
    const constant = !this.#text.reassigned.has(target.start);
    const holder = scope.holder(target.name) ?? scope;
    if (constant && val.kind !== "value" && val.kind !== "tuple" && val.kind !== "nothing") {
      holder.names.set(target.name, { kind: "fixed", val });
      return;
    }
    if (constant && val.kind === "value" && val.expr.op === "literal") {
      holder.names.set(target.name, { kind: "fixed", val });
      return;
    }
    if (val.kind === "tuple") {
      holder.names.set(target.name, { kind: "fixed", val: this.#localArray(target.name, val, node) });
      if (!constant) {
        this.#refuse(
          target,
          `"${target.name}" is an array and is assigned to as a whole.`,
          "Assign its elements.",
        );
      }
      return;
    }
    const known = holder.names.get(target.name);
    const id = known?.kind === "variable" ? known.id : this.#variable(target.name, constant, target);
    holder.names.set(target.name, {
      kind: "variable",
      id,
      constant: known?.kind === "pending" && known.constant,
    });
    if (val.kind === "nothing") return;
    const expr = this.#asExpr(val, node);
    if (known?.kind !== "variable") this.#variables[id].fromLiteral = !constant && isLiteral(expr);
    this.#set(id, expr, node);
  }

  #declareList(scope: Scope, target: Of<"ArrayPattern">, val: Val): void {
    target.elements.forEach((element, i) => {
      if (element === null) return;
      const place = this.#place(element);
      if (val.kind === "shape") {
        this.#declare(scope, element, value({ op: "size", array: val.of, axis: i, place }), element);
      } else if (val.kind === "tuple" && i < val.items.length) {
        this.#declare(scope, element, val.items[i], element);
      } else {
        this.#refuse(
          element,
          "cannot compile this declaration; only a shape and lists of known length can be taken apart.",
        );
      }
    });
  }

  /** A list that is given a name becomes a small array. */
  #localArray(name: string, list: Val & { kind: "tuple" }, node: Positioned): Val {
    const items = list.items.map((item) => this.#asExpr(item, node));
    const ref = this.#newArray(name, null, items.length, false, node);
    items.forEach((expr, i) => {
      this.#store(ref, [this.#literal(i, node)], expr, "[]", node);
    });
    return { kind: "array", ref };
  }

  #newArray(
    name: string,
    dtype: LocalArray["dtype"],
    length: number,
    clamped: boolean,
    node: Positioned,
  ): ArrayRef {
    if (length > limits.elements) {
      this.#refuse(
        node,
        `a local array of ${length} elements is too large; the limit is ${limits.elements}.`,
        "Pass a tensor to work in.",
      );
    }
    this.#arrays.push({ name, dtype, length, clamped });
    return { kind: "local", index: this.#arrays.length - 1 };
  }

  #read(name: string, scope: Scope, node: AnyNode): Val {
    const binding = scope.find(name);
    if (binding === null) {
      if (name === "undefined") return nothing;
      return this.#global(name, node);
    }
    switch (binding.kind) {
      case "fixed":
        return binding.val;
      case "variable":
        return value({ op: "variable", id: binding.id, place: this.#place(node) });
      default:
        return this.#refuse(node, `the function reads "${name}" before its declaration.`);
    }
  }

  #global(name: string, node: AnyNode): Val {
    if (namespaces.has(name)) return { kind: "namespace", name };
    if (functions.has(name)) return { kind: "builtin", name };
    const constant = constants.get(name);
    if (constant !== undefined) return value(this.#literal(constant, node));
    if (name.includes(".")) return this.#refuse(node, `there is no ${name} for njit.`);
    return this.#refuse(
      node,
      `the function reads the outer variable "${name}".`,
      `Build tools rename outer variables, so they are passed by name: njit((…, { ${name} }) => …, { ${name} })${
        name === "prange" ? "; prange itself is passed by njit" : ""
      }.`,
    );
  }

  #assign(target: AnyNode, scope: Scope, expr: Expr, node: Positioned): void {
    if (target.type !== "Identifier") this.#refuse(target, "cannot compile this assignment.");
    const binding = scope.find(target.name);
    if (binding === null) {
      this.#refuse(
        target,
        `the function writes the outer variable "${target.name}".`,
        "Return the value, or write it into a tensor.",
      );
    }
    if (binding.kind === "pending") {
      this.#refuse(target, `the function assigns to "${target.name}" before its declaration.`);
    }
    if (binding.kind === "fixed" || binding.constant) {
      this.#refuse(target, `the function assigns to "${target.name}", which is constant.`);
    }
    this.#set(binding.id, expr, node);
  }

  /* Functions -------------------------------------------------------------------------------------------- */

  #runBody(node: FunctionNode, scope: Scope, frame: Frame): void {
    const { body } = node;
    if (body.type !== "BlockStatement") {
      const val = this.#expression(body, scope);
      this.#leave(frame, val, body);
      return;
    }
    const inner = new Scope(scope);
    for (const name of varNames(body)) {
      if (!scope.names.has(name)) inner.names.set(name, { kind: "pending", constant: false });
    }
    this.#hoist(body.body, inner);
    this.#statements(body.body, inner);
  }

  /** A return: its values are kept, and the function is left. */
  #leave(frame: Frame, val: Val, node: Positioned): void {
    const isMain = frame.label === null;
    const items =
      val.kind === "tuple" ? val.items : val.kind === "nothing" || val.kind === "builtin" ? [] : [val];
    const form = val.kind === "tuple" ? items.length : items.length === 0 ? "nothing" : "one";
    if (frame.form !== null && frame.form !== form) {
      this.#refuse(
        node,
        "not every path returns the same number of values.",
        "Return one value, several, or none, on every path.",
      );
    }
    frame.form = form;
    const exprs = items.map((item) => this.#asResult(item, node));
    if (isMain) {
      if (this.#targets.some((t) => t.isParallel)) {
        this.#refuse(node, "cannot return from a prange loop; its iterations run in no particular order.");
      }
      this.#out.push({ op: "return", values: exprs, place: this.#place(node) });
      return;
    }
    frame.results ??= exprs.map(() => this.#variable("", false, node));
    exprs.forEach((expr, i) => {
      this.#set(frame.results![i], expr, node);
    });
    this.#out.push({ op: "break", label: frame.label!, place: this.#place(node) });
  }

  /** What a function gives back: a scalar, or one of its arguments as it is. */
  #asResult(val: Val, node: Positioned): Expr {
    return val.kind === "argument"
      ? { op: "argument", index: val.index, place: this.#place(node) }
      : this.#asExpr(val, node);
  }

  #callFunction(fn: InnerFunction, args: readonly Val[], call: CallExpression): Val {
    const { node } = fn;
    if (this.#frames.some((f) => f.node === node)) {
      this.#refuse(
        call,
        "cannot compile a function that calls itself.",
        "Write a loop, with a small array as a stack.",
      );
    }
    if (this.#frames.length > limits.calls) this.#refuse(call, "calls are nested too deeply.");
    if (node.async || node.generator)
      this.#refuse(call, "cannot compile a call of an async function or a generator.");
    const outer = this.#text;
    const scope = new Scope(fn.scope);
    // Arguments are computed here, in the text of the call.
    const given = args.map((val, i) => this.#passed(val, call.arguments[i] ?? call));
    this.#text = fn.text;
    node.params.forEach((param, i) => {
      let val = given[i] ?? nothing;
      let target: Pattern = param;
      if (param.type === "AssignmentPattern") {
        target = param.left;
        if (val.kind === "nothing") val = this.#expression(param.right, scope);
      }
      if (target.type !== "Identifier")
        this.#refuse(param, "cannot compile this parameter; only plain names.");
      scope.names.set(target.name, { kind: "pending", constant: false });
      this.#declare(scope, target, val, param);
    });
    const label = this.#labels++;
    const frame: Frame = { node, label, results: null, form: null };
    const around = this.#out;
    this.#out = [];
    this.#frames.push(frame);
    this.#runBody(node, scope, frame);
    this.#frames.pop();
    const body = this.#out;
    this.#out = around;
    this.#text = outer;
    const last = body.at(-1);
    // A body that only leaves at its end needs no block.
    if (last?.op === "break" && last.label === label && !body.slice(0, -1).some((s) => leavesBy(s, label))) {
      this.#out.push(...body.slice(0, -1));
    } else this.#out.push({ op: "block", label, body, place: this.#place(call) });
    if (frame.form === null || frame.form === "nothing") return nothing;
    const place = this.#place(call);
    const results = frame.results!.map((id): Val => value({ op: "variable", id, place }));
    return frame.form === "one" ? results[0] : { kind: "tuple", items: results };
  }

  /** An argument of an inner call: a value is computed before the call. */
  #passed(val: Val, node: Positioned): Val {
    return val.kind === "value" && !this.#isFixed(val.expr) ? value(this.#hold(val.expr, node)) : val;
  }

  /* Statements ------------------------------------------------------------------------------------------- */

  /** Statements of their own list. */
  #listed(write: () => void): Stmt[] {
    const around = this.#out;
    this.#out = [];
    write();
    const made = this.#out;
    this.#out = around;
    return made;
  }

  #hoist(statements: readonly Statement[], scope: Scope): void {
    for (const s of statements) {
      if (s.type === "FunctionDeclaration") {
        const fn = { node: s, scope, text: this.#text };
        scope.names.set(s.id.name, { kind: "fixed", val: { kind: "function", fn } });
      } else if (s.type === "VariableDeclaration" && s.kind !== "var") {
        for (const name of declaredNames(s)) {
          scope.names.set(name, { kind: "pending", constant: s.kind === "const" });
        }
      }
    }
  }

  #statements(statements: readonly Statement[], scope: Scope): void {
    for (const s of statements) {
      this.#statement(s, scope, []);
      if (endsIn(this.#out.at(-1))) return; // what follows cannot run
    }
  }

  #block(statements: readonly Statement[], scope: Scope): void {
    const inner = new Scope(scope);
    this.#hoist(statements, inner);
    this.#statements(statements, inner);
  }

  #statement(s: Statement, scope: Scope, names: readonly string[]): void {
    this.#enter(s);
    this.#depth++;
    this.#statementOf(s, scope, names);
    this.#depth--;
  }

  #statementOf(s: Statement, scope: Scope, names: readonly string[]): void {
    switch (s.type) {
      case "ExpressionStatement":
        if (s.directive === undefined) this.#effect(s.expression, scope);
        return;
      case "VariableDeclaration":
        this.#declaration(s, scope);
        return;
      case "FunctionDeclaration":
      case "EmptyStatement":
        return;
      case "BlockStatement":
        if (names.length === 0) this.#block(s.body, scope);
        else this.#labelled(s, names, () => this.#block(s.body, scope));
        return;
      case "ReturnStatement":
        this.#leave(
          this.#frames.at(-1)!,
          s.argument ? this.#expression(s.argument, scope) : nothing,
          s.argument ?? s,
        );
        return;
      case "IfStatement":
        this.#branch(
          s.test,
          scope,
          () => this.#block([s.consequent], scope),
          s.alternate ? () => this.#block([s.alternate!], scope) : null,
          s,
        );
        return;
      case "ForStatement": {
        const inner = new Scope(scope);
        if (s.init?.type === "VariableDeclaration") {
          this.#hoist([s.init], inner);
          this.#declaration(s.init, inner);
        } else if (s.init) this.#effect(s.init, inner);
        this.#loop(s, names, s.test ?? null, s.update ?? null, s.body, inner, false);
        return;
      }
      case "WhileStatement":
        this.#loop(s, names, s.test, null, s.body, scope, false);
        return;
      case "DoWhileStatement":
        this.#loop(s, names, s.test, null, s.body, scope, true);
        return;
      case "ForOfStatement":
        this.#prange(s, names, scope);
        return;
      case "LabeledStatement":
        this.#statement(s.body, scope, [...names, s.label.name]);
        return;
      case "BreakStatement":
      case "ContinueStatement":
        this.#jump(s);
        return;
      default:
        this.#refuseSyntax(s);
    }
  }

  #labelled(s: Statement, names: readonly string[], write: () => void): void {
    const label = this.#labels++;
    this.#targets.push({ label, names, isLoop: false, isParallel: false, calls: this.#frames.length });
    const body = this.#listed(write);
    this.#targets.pop();
    this.#out.push({ op: "block", label, body, place: this.#place(s) });
  }

  #jump(s: Of<"BreakStatement"> | Of<"ContinueStatement">): void {
    const isContinue = s.type === "ContinueStatement";
    const name = s.label?.name;
    const inside = this.#targets.filter((t) => t.calls === this.#frames.length);
    const at = inside.findLastIndex((t) =>
      name === undefined ? t.isLoop : t.names.includes(name) && (t.isLoop || !isContinue),
    );
    if (at < 0) this.#refuse(s, "there is no loop to leave here.");
    const target = inside[at];
    const left = inside.slice(isContinue ? at + 1 : at);
    if (left.some((t) => t.isParallel)) {
      this.#refuse(
        s,
        "cannot leave a prange loop early; its iterations run in no particular order.",
        "Write a plain for loop, or let the other iterations find nothing to do.",
      );
    }
    this.#out.push({ op: isContinue ? "continue" : "break", label: target.label, place: this.#place(s) });
  }

  #loop(
    s: Statement,
    names: readonly string[],
    test: Expression | null,
    update: Expression | null,
    body: Statement,
    scope: Scope,
    testLast: boolean,
  ): void {
    const label = this.#labels++;
    const place = this.#place(s);
    let going: Expr | null = null;
    const target = { label, names, isLoop: true, isParallel: false, calls: this.#frames.length };
    const head = this.#listed(() => {
      if (test !== null) going = this.#test(test, scope, label);
    });
    this.#targets.push(target);
    const statements = this.#listed(() => this.#block([body], scope));
    this.#targets.pop();
    const after = this.#listed(() => {
      if (update !== null) this.#effect(update, scope);
    });
    if (going !== null && (going as Expr).op === "literal" && (going as Expr & { op: "literal" }).value)
      going = null;
    this.#out.push({
      op: "loop",
      label,
      head,
      test: going,
      body: statements,
      update: after,
      testLast,
      parallel: null,
      place,
    });
  }

  /**
   * The last condition under which a loop goes on; those before it (`a && b`, where b does something) leave it
   * themselves, so that what they prove holds in its body.
   */
  #test(node: Expression, scope: Scope, label: number): Expr {
    if (node.type === "LogicalExpression" && node.operator === "&&") {
      const at = this.#out.length;
      const left = this.#test(node.left, scope, label);
      const [before, right] = [this.#out.length, this.#listed(() => this.#truth(node.right, scope))];
      if (right.length === 0 && before === at) {
        const place = this.#place(node);
        return this.#op("and", [this.#truthOf(left, node.left), this.#truth(node.right, scope)], place);
      }
      const place = this.#place(node.left);
      const no: Stmt[] = [{ op: "break", label, place }];
      this.#out.push({ op: "if", test: this.#truthOf(left, node.left), yes: [], no, place });
      return this.#test(node.right, scope, label);
    }
    return this.#truth(node, scope);
  }

  /** for (const i of prange(n)) …: i from 0, or from the first of two bounds, by 1 or by a third number. */
  #prange(s: Of<"ForOfStatement">, names: readonly string[], scope: Scope): void {
    const { left, right } = s;
    const called = right.type === "CallExpression" ? right.callee : null;
    const isPrange =
      called?.type === "Identifier" &&
      scope.find(called.name) !== null &&
      this.#read(called.name, scope, called).kind === "prange";
    if (right.type !== "CallExpression" || !isPrange || s.await) {
      this.#refuse(
        right,
        "cannot compile this `for … of`; only prange(…) can be iterated over.",
        "Count: for (let i = 0; i < n; i++), or take prange from the last parameter: (…, { prange }) => ….",
      );
    }
    const declared = left.type === "VariableDeclaration" ? left.declarations[0].id : null;
    if (declared?.type !== "Identifier") {
      this.#refuse(left, "cannot compile this counter; write for (const i of prange(n)).");
    }
    const args = [...right.arguments];
    const options = args.at(-1)?.type === "ObjectExpression" ? (args.pop() as Of<"ObjectExpression">) : null;
    const independent = options !== null && this.#isIndependent(options);
    if (args.length < 1 || args.length > 3) {
      this.#refuse(
        right,
        "prange takes an end, a start and an end, or these and a step.",
        "Write prange(n).",
      );
    }
    const bounds = this.#all(args, scope).map((expr, i) => this.#hold(expr, args[i]));
    const start = bounds.length > 1 ? bounds[0] : this.#literal(0, right);
    const end = bounds.length > 1 ? bounds[1] : bounds[0];
    const step = bounds[2] ?? this.#literal(1, right);
    if (step.op !== "literal" || typeof step.value !== "number" || !(step.value > 0)) {
      this.#refuse(args[2] ?? right, "the step of prange is a literal above 0.");
    }
    const label = this.#labels++;
    const place = this.#place(s);
    const counter = this.#variable(declared.name, false, right);
    this.#variables[counter].fromLiteral = true;
    this.#set(counter, start, right);
    const current: Expr = { op: "variable", id: counter, place: this.#place(declared) };
    const inner = new Scope(scope);
    this.#targets.push({ label, names, isLoop: true, isParallel: true, calls: this.#frames.length });
    const body = this.#listed(() => {
      inner.names.set(declared.name, { kind: "pending", constant: true });
      this.#declare(inner, declared, value(current), declared);
      this.#block([s.body], inner);
    });
    this.#targets.pop();
    const next = this.#op("add", [current, step], this.#place(right));
    this.#out.push({
      op: "loop",
      label,
      head: [],
      test: this.#op("lt", [current, end], this.#place(right)),
      body,
      update: [{ op: "set", id: counter, value: next, place: this.#place(right) }],
      testLast: false,
      parallel: { counter, independent },
      place,
    } satisfies Loop);
  }

  #isIndependent(options: Of<"ObjectExpression">): boolean {
    let independent = false;
    for (const p of options.properties) {
      const key = p.type === "Property" ? propertyName(p) : null;
      const literal = p.type === "Property" ? this.#value(p.value, new Scope(null)) : null;
      if (key !== "independent" || literal?.op !== "literal" || typeof literal.value !== "boolean") {
        this.#refuse(p, "the only option of prange is { independent: true }.");
      }
      independent = literal.value;
    }
    return independent;
  }

  #declaration(declaration: VariableDeclaration, scope: Scope): void {
    if (!["const", "let", "var"].includes(declaration.kind)) this.#refuseSyntax(declaration);
    for (const { id, init } of declaration.declarations) {
      if (!init && declaration.kind === "var") {
        if (id.type === "Identifier" && scope.find(id.name)?.kind === "pending") {
          this.#declare(scope, id, nothing, id);
        }
        continue;
      }
      const val = init ? this.#named(init, scope, id) : nothing;
      if (init && val.kind === "nothing") {
        this.#refuse(init, "cannot compute with undefined; every variable needs a number.");
      }
      this.#declare(scope, id, val, init ?? id);
    }
  }

  /** The value of a declaration: new Float64Array(4) is a small array. */
  #named(init: Expression, scope: Scope, id: Pattern): Val {
    if (init.type !== "NewExpression") return this.#expression(init, scope);
    const { callee } = init;
    const name = callee.type === "Identifier" && scope.find(callee.name) === null ? callee.name : "";
    const [length, ...more] = init.arguments;
    const make = arrayKinds.get(name);
    const known = length && length.type !== "SpreadElement" ? this.#value(length, scope) : null;
    if (make === undefined || more.length > 0 || known?.op !== "literal" || !isLength(known.value)) {
      return this.#refuseSyntax(init);
    }
    const ref = this.#newArray(
      id.type === "Identifier" ? id.name : "",
      make.dtype,
      known.value as number,
      make.clamped,
      init,
    );
    const zero = this.#literal(make.big ? 0n : 0, init);
    for (let i = 0; i < (known.value as number); i++)
      this.#store(ref, [this.#literal(i, init)], zero, "[]", init);
    return { kind: "array", ref };
  }

  /* Branches --------------------------------------------------------------------------------------------- */

  /** if (test) yes else no. `a && b`, where b does something, leads to no twice. */
  #branch(test: Expression, scope: Scope, yes: () => void, no: (() => void) | null, node: Positioned): void {
    const place = this.#place(node);
    if (
      test.type === "LogicalExpression" &&
      test.operator === "&&" &&
      this.#doesSomething(test.right, scope)
    ) {
      if (no === null) {
        this.#branch(test.left, scope, () => this.#branch(test.right, scope, yes, null, node), null, node);
        return;
      }
      const [end, other] = [this.#labels++, this.#labels++];
      const rest = this.#listed(no);
      const body = this.#listed(() => {
        const leave = () => this.#out.push({ op: "break", label: other, place });
        this.#branch(test.left, scope, () => {}, leave, node);
        this.#branch(test.right, scope, () => {}, leave, node);
        yes();
        if (!endsIn(this.#out.at(-1))) this.#out.push({ op: "break", label: end, place });
      });
      this.#out.push({
        op: "block",
        label: end,
        body: [{ op: "block", label: other, body, place }, ...rest],
        place,
      });
      return;
    }
    const condition = this.#truth(test, scope);
    if (condition.op === "literal") {
      if (condition.value) yes();
      else no?.();
      return;
    }
    this.#out.push({
      op: "if",
      test: condition,
      yes: this.#listed(yes),
      no: no === null ? [] : this.#listed(no),
      place,
    });
  }

  /** Would evaluating it write statements? Tried, and forgotten. */
  #doesSomething(node: Expression, scope: Scope): boolean {
    const { length } = this.#variables;
    const arrays = this.#arrays.length;
    const made = this.#listed(() => this.#expression(node, scope));
    this.#variables.length = length;
    this.#arrays.length = arrays;
    return made.length > 0;
  }

  /* Expressions ------------------------------------------------------------------------------------------ */

  #literal(of: number | bigint | boolean, node: Positioned): Expr {
    return { op: "literal", value: of, place: this.#place(node) };
  }

  /** An operation, computed now where its operands are literals. */
  #op(op: OpName, args: readonly Expr[], place: Place, strict = false): Expr {
    const values = args.map((a) => (a.op === "literal" ? a.value : undefined));
    if (values.every((v) => v !== undefined)) {
      const isMix = strict && typeof values[0] !== typeof values[1];
      const folded = isMix ? op === "ne" : fold(op, values);
      if (folded !== null) return { op: "literal", value: folded, place };
    }
    if (op === "select" && values[0] !== undefined) return values[0] ? args[1] : args[2];
    return strict ? { op, args, place, strict } : { op, args, place };
  }

  #truth(node: Expression, scope: Scope): Expr {
    if (node.type === "UnaryExpression" && node.operator === "!") {
      return this.#op("not", [this.#truth(node.argument, scope)], this.#place(node));
    }
    return this.#truthOf(this.#value(node, scope), node);
  }

  #truthOf(expr: Expr, node: Positioned): Expr {
    return isTest(expr) ? expr : this.#op("truthy", [expr], this.#place(node));
  }

  /** A number or a boolean. */
  #value(node: Expression, scope: Scope): Expr {
    return this.#asExpr(this.#expression(node, scope), node);
  }

  #asExpr(val: Val, node: Positioned): Expr {
    switch (val.kind) {
      case "value":
        return val.expr;
      case "argument":
        return { op: "argument", index: val.index, place: this.#place(node) };
      case "nothing":
        return this.#refuse(node, "cannot compute with undefined; every variable needs a number.");
      case "array":
      case "shape":
      case "tuple":
        return this.#refuse(
          node,
          "cannot use an array as a number.",
          "Take an element: a[i], a.get(i, j), a.shape[0].",
        );
      default:
        return this.#refuse(node, "cannot use a function or an object as a number.");
    }
  }

  /** An expression whose value nobody takes. */
  #effect(node: Expression, scope: Scope): void {
    this.#enter(node);
    switch (node.type) {
      case "SequenceExpression":
        for (const e of node.expressions) this.#effect(e, scope);
        return;
      case "ConditionalExpression":
        this.#branch(
          node.test,
          scope,
          () => this.#effect(node.consequent, scope),
          () => this.#effect(node.alternate, scope),
          node,
        );
        return;
      case "LogicalExpression":
        if (node.operator === "??") break;
        if (node.operator === "&&") {
          this.#branch(node.left, scope, () => this.#effect(node.right, scope), null, node);
        } else
          this.#branch(
            node.left,
            scope,
            () => {},
            () => this.#effect(node.right, scope),
            node,
          );
        return;
      case "UpdateExpression":
        this.#update(node, scope, false);
        return;
      case "UnaryExpression":
        if (node.operator === "void" || node.operator === "!") {
          this.#effect(node.argument, scope);
          return;
        }
    }
    this.#expression(node, scope);
  }

  #expression(node: Expression, scope: Scope): Val {
    this.#enter(node);
    this.#depth++;
    const val = this.#expressionOf(node, scope);
    this.#depth--;
    return val;
  }

  #expressionOf(node: Expression, scope: Scope): Val {
    switch (node.type) {
      case "Literal": {
        const { value: of } = node;
        if (typeof of === "number" || typeof of === "bigint" || typeof of === "boolean") {
          return value(this.#literal(of, node));
        }
        const what =
          of === null && !node.regex ? "null" : typeof of === "string" ? "a string" : "a regular expression";
        return this.#refuse(node, `cannot compile ${what}; njit computes with numbers, booleans and arrays.`);
      }
      case "Identifier":
        return this.#read(node.name, scope, node);
      case "BinaryExpression":
        return value(this.#binaryChain(node, scope));
      case "LogicalExpression":
        return this.#logical(node, scope);
      case "UnaryExpression":
        return this.#unary(node, scope);
      case "UpdateExpression":
        return value(this.#update(node, scope, true));
      case "AssignmentExpression":
        return this.#assignment(node, scope);
      case "ConditionalExpression":
        return this.#conditional(
          this.#truth(node.test, scope),
          () => this.#expression(node.consequent, scope),
          () => this.#expression(node.alternate, scope),
          node,
        );
      case "SequenceExpression": {
        for (const e of node.expressions.slice(0, -1)) this.#effect(e, scope);
        return this.#expression(node.expressions.at(-1)!, scope);
      }
      case "ArrayExpression": {
        const elements = node.elements.map(
          (e) => e ?? this.#refuse(node, "cannot compile a list with holes."),
        );
        return { kind: "tuple", items: this.#all(elements, scope).map(value) };
      }
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return { kind: "function", fn: { node, scope, text: this.#text } };
      case "MemberExpression":
        return this.#member(node, scope);
      case "CallExpression":
        return this.#call(node, scope);
      case "ParenthesizedExpression":
        return this.#expression(node.expression, scope);
      default:
        return this.#refuseSyntax(node);
    }
  }

  /** test ? yes : no, where each side runs only if it is taken. Sides that do nothing become one expression. */
  #conditional(test: Expr, yes: () => Val, no: () => Val, node: Positioned): Val {
    if (test.op === "literal") return test.value ? yes() : no();
    let [a, b]: Val[] = [nothing, nothing];
    const yesList = this.#listed(() => {
      a = yes();
    });
    const noList = this.#listed(() => {
      b = no();
    });
    const place = this.#place(node);
    if (a.kind === "nothing" && b.kind === "nothing") {
      this.#out.push({ op: "if", test, yes: yesList, no: noList, place });
      return nothing;
    }
    const [x, y] = [this.#asExpr(a, node), this.#asExpr(b, node)];
    if (yesList.length === 0 && noList.length === 0) return value(this.#op("select", [test, x, y], place));
    const id = this.#variable("", false, node);
    yesList.push({ op: "set", id, value: x, place });
    noList.push({ op: "set", id, value: y, place });
    this.#out.push({ op: "if", test, yes: yesList, no: noList, place });
    return value({ op: "variable", id, place });
  }

  #logical(node: Of<"LogicalExpression">, scope: Scope): Val {
    const left = this.#expression(node.left, scope);
    return this.#shortCircuit(node.operator, left, node, () => this.#expression(node.right, scope));
  }

  #shortCircuit(
    operator: string,
    left: Val,
    node: Of<"LogicalExpression"> | AssignmentExpression,
    right: () => Val,
  ): Val {
    if (operator === "??") return left.kind === "nothing" ? right() : left;
    const isAnd = operator === "&&";
    if (left.kind === "nothing") return isAnd ? left : right();
    const expr = this.#asExpr(left, node.left);
    const [held] = [this.#isFixed(expr) ? expr : this.#hold(expr, node.left)];
    const test = this.#truthOf(held, node.left);
    // Where a test decides, its value is known: `x > 0 && y` is false there.
    const kept = (): Val => (isTest(held) ? value(this.#literal(!isAnd, node.left)) : value(held));
    return isAnd ? this.#conditional(test, right, kept, node) : this.#conditional(test, kept, right, node);
  }

  /** Left-leaning chains (x + x + x + …) are walked, not recursed into. */
  #binaryChain(node: BinaryExpression, scope: Scope): Expr {
    const spine: BinaryExpression[] = [node];
    let first = node.left;
    while (first.type === "BinaryExpression") {
      spine.push(first);
      first = first.left;
    }
    if (first.type === "PrivateIdentifier") return this.#refuseSyntax(first);
    let left = this.#expression(first, scope);
    for (const link of spine.toReversed()) {
      this.#enter(link);
      left = value(this.#binary(link.operator, left, () => this.#expression(link.right, scope), link));
    }
    return this.#asExpr(left, node);
  }

  #binary(operator: string, left: Val, right: () => Val, node: Positioned): Expr {
    const op = binaryOps[operator];
    if (op === undefined) return this.#refuse(node, `cannot compile the operator ${operator}.`);
    const [a, b] = this.#then(this.#asExpr(left, node), node, right);
    const strict = operator === "===" || operator === "!==";
    return this.#op(op, [a, this.#asExpr(b, node)], this.#place(node), strict);
  }

  #unary(node: Of<"UnaryExpression">, scope: Scope): Val {
    const place = this.#place(node);
    switch (node.operator) {
      case "!":
        return value(this.#truth(node, scope));
      case "void":
        this.#effect(node.argument, scope);
        return nothing;
      case "-":
        return value(this.#op("neg", [this.#value(node.argument, scope)], place));
      case "+":
        return value(this.#toNumber(this.#value(node.argument, scope), place));
      case "~":
        return value(this.#op("bitNot", [this.#value(node.argument, scope)], place));
      default:
        return this.#refuse(node, `cannot compile \`${node.operator}\`.`);
    }
  }

  #toNumber(expr: Expr, place: Place): Expr {
    if (expr.op === "literal") return { op: "literal", value: Number(expr.value), place };
    return { op: "number", args: [expr], place };
  }

  /** i++ and its kind: a variable or an element. */
  #update(node: UpdateExpression, scope: Scope, isUsed: boolean): Expr {
    const place = this.#place(node);
    const op = node.operator === "++" ? "add" : "sub";
    const target = this.#target(node.argument, scope);
    const loaded = target.read();
    const before = isUsed && !node.prefix ? this.#hold(loaded, node) : loaded;
    const after = this.#op(op, [before, this.#literal(1, node)], place);
    const held = isUsed && node.prefix ? this.#hold(after, node) : after;
    target.write(held);
    return node.prefix ? held : before;
  }

  #assignment(node: AssignmentExpression, scope: Scope): Val {
    const { left, right } = node;
    const operator = node.operator.slice(0, -1);
    if (left.type === "ArrayPattern") {
      this.#assignList(left, this.#expression(right, scope), scope, node);
      return nothing;
    }
    if (left.type !== "Identifier" && left.type !== "MemberExpression") {
      return this.#refuse(
        left,
        "cannot compile this assignment; assign to variables and elements, one by one.",
      );
    }
    const target = this.#target(left, scope);
    const at = this.#out.length;
    if (operator === "") {
      const val = this.#expression(right, scope);
      target.settle(at);
      const held = this.#taken(this.#asExpr(val, right), right);
      target.write(held);
      return value(held);
    }
    if (operator === "&&" || operator === "||" || operator === "??") {
      target.hold();
      return this.#shortCircuit(operator, value(target.read()), node, () => {
        const held = this.#taken(this.#value(right, scope), right);
        target.write(held);
        return value(held);
      });
    }
    const result = this.#binary(operator, value(target.read()), () => this.#expression(right, scope), node);
    target.settle(at);
    const held = this.#taken(result, node);
    target.write(held);
    return value(held);
  }

  /** [a, b] = [b, a]: all values are computed before the first is written. */
  #assignList(targets: Of<"ArrayPattern">, val: Val, scope: Scope, node: Positioned): void {
    if (val.kind !== "tuple" && val.kind !== "shape") {
      this.#refuse(
        node,
        "cannot compile this assignment; only a shape and lists of known length can be taken apart.",
      );
    }
    const values = targets.elements.map((target, i) => {
      if (target === null) return null;
      if (val.kind === "shape") {
        return { op: "size", array: val.of, axis: i, place: this.#place(target) } as const;
      }
      const item = val.items[i] ?? this.#refuse(target, "there are fewer values than names.");
      return this.#hold(this.#asExpr(item, target), target);
    });
    targets.elements.forEach((target, i) => {
      if (target !== null) this.#target(target, scope).write(values[i]!);
    });
  }

  /** A value that is written and then used again is computed once. */
  #taken(expr: Expr, node: Positioned): Expr {
    return expr.op === "variable" || expr.op === "argument" ? expr : this.#hold(expr, node);
  }

  /** Something that can be assigned to; its array and index are evaluated once, before the value. */
  #target(node: AnyNode, scope: Scope): AssignmentTarget {
    if (node.type === "Identifier") {
      return {
        hold: () => {},
        settle: () => {},
        read: () => this.#value(node, scope),
        write: (expr) => this.#assign(node, scope, expr, node),
      };
    }
    if (node.type !== "MemberExpression" || !node.computed || node.object.type === "Super") {
      return this.#refuse(
        node,
        "cannot compile this assignment; assign to variables and to elements of arrays.",
        "Elements of tensors are written with a.set([i, j], value).",
      );
    }
    const ref = this.#array(node.object, scope);
    if (node.property.type === "PrivateIdentifier") this.#refuseSyntax(node.property);
    const { property } = node;
    let index = this.#value(property, scope);
    return {
      hold: () => {
        if (!this.#isFixed(index)) index = this.#hold(index, property);
      },
      settle: (at) => {
        index = this.#settled(index, property, at);
      },
      read: () => this.#load(ref, [index], "[]", node),
      write: (expr) => this.#store(ref, [index], expr, "[]", node),
    };
  }

  /* Elements --------------------------------------------------------------------------------------------- */

  #load(array: ArrayRef, index: readonly Expr[], access: Access, node: Positioned): Expr {
    this.#checkLiteral(index);
    const id = this.#variable("", true, node);
    const place = this.#place(node);
    this.#out.push({ op: "load", id, array, index, access, place });
    return { op: "variable", id, place };
  }

  #store(array: ArrayRef, index: readonly Expr[], expr: Expr, access: Access, node: Positioned): void {
    this.#checkLiteral(index);
    this.#out.push({ op: "store", array, index, value: expr, access, place: this.#place(node) });
  }

  /** An index that is wrong whatever the sizes are. */
  #checkLiteral(index: readonly Expr[]): void {
    for (const i of index) {
      if (i.op !== "literal") continue;
      if (typeof i.value === "number" && i.value >= 0 && Number.isInteger(i.value)) continue;
      refuse(
        i.place,
        `the index ${String(i.value)}${typeof i.value === "bigint" ? "n" : ""} is no index; they count from 0.`,
        "The last element is at a.shape[0] - 1.",
      );
    }
  }

  #array(node: Expression, scope: Scope): ArrayRef {
    const val = this.#expression(node, scope);
    if (val.kind === "argument" || val.kind === "array") return refOf(val);
    return this.#refuse(
      node,
      "cannot compile this; elements are taken from arguments and local arrays, by name.",
    );
  }

  #member(node: MemberExpression, scope: Scope): Val {
    if (node.object.type === "Super") return this.#refuseSyntax(node.object);
    const object = this.#expression(node.object, scope);
    const { property } = node;
    if (property.type === "PrivateIdentifier") return this.#refuseSyntax(property);
    const key = keyOf(node);
    if (key !== null) {
      switch (object.kind) {
        case "namespace":
          return this.#global(memberName(object.name, key), node);
        case "argument":
        case "array":
          return this.#arrayMember(refOf(object), key, node);
        case "shape":
          if (key === "length") return value({ op: "rank", array: object.of, place: this.#place(node) });
          break;
        case "tuple":
          if (key === "length") return value(this.#literal(object.items.length, node));
      }
      return this.#refuse(node, `cannot compile the property .${key} here.`);
    }
    if (object.kind === "shape") return value(this.#axisSize(object.of, property, scope, node));
    if (object.kind === "argument" || object.kind === "array") {
      return value(this.#load(refOf(object), [this.#value(property, scope)], "[]", node));
    }
    if (object.kind === "tuple") {
      const index = this.#value(property, scope);
      const at = index.op === "literal" ? Number(index.value) : -1;
      if (at in object.items) return object.items[at];
    }
    return this.#refuse(
      node,
      "cannot compile this property; elements are taken from arguments and local arrays.",
    );
  }

  #axisSize(array: ArrayRef, axis: Expression, scope: Scope, node: Positioned, fromEnd = false): Expr {
    const known = this.#value(axis, scope);
    if (known.op !== "literal" || !Number.isInteger(known.value) || (Number(known.value) < 0 && !fromEnd)) {
      return this.#refuse(axis, "the axis of a shape is a literal from 0.", "Write a.shape[0].");
    }
    return { op: "size", array, axis: Number(known.value), place: this.#place(node) };
  }

  #arrayMember(array: ArrayRef, key: string, node: Positioned): Val {
    const place = this.#place(node);
    switch (key) {
      case "shape":
        return { kind: "shape", of: array };
      case "size":
      case "length":
        return value({ op: "size", array, axis: key, place });
      case "rank":
        return value({ op: "rank", array, place });
      default:
        return this.#refuse(
          node,
          `cannot compile .${key}; arrays have get, set, shape, size and rank here, typed arrays [i] and length.`,
        );
    }
  }

  /* Calls ------------------------------------------------------------------------------------------------ */

  #call(node: CallExpression, scope: Scope): Val {
    const { callee } = node;
    if (callee.type === "Super") return this.#refuseSyntax(callee);
    if (callee.type === "MemberExpression" && callee.object.type !== "Super") {
      const method = this.#method(callee, node, scope);
      if (method !== null) return method;
    }
    if (callee.type === "Identifier" && callee.name === "__name" && scope.find("__name") === null) {
      // esbuild wraps inner functions to keep their names: __name(t => t * t, "sq")
      const [named] = node.arguments;
      if (named !== undefined && named.type !== "SpreadElement") return this.#expression(named, scope);
    }
    if (callee.type === "Identifier" && callee.name === "BigInt" && scope.find("BigInt") === null) {
      const [x] = this.#all(node.arguments, scope);
      if (x === undefined) this.#refuse(node, "BigInt takes a number.");
      return value({ op: "big", args: [x], place: this.#place(node) });
    }
    const fn = this.#expression(callee, scope);
    if (fn.kind === "function") {
      return this.#callFunction(fn.fn, this.#arguments(node, scope), node);
    }
    if (fn.kind === "builtin" || fn.kind === "namespace") return this.#callBuiltin(fn.name, node, scope);
    if (fn.kind === "kernel") return this.#callKernel(fn, node, scope);
    if (fn.kind === "prange") {
      this.#refuse(node, "prange is for loops: for (const i of prange(n)) ….");
    }
    return this.#refuse(
      node,
      "cannot compile this call; functions of Math, inner functions and captured ones can be called.",
    );
  }

  /** Arguments of an inner function: arrays go as they are, values are computed in order. */
  #arguments(node: CallExpression, scope: Scope): Val[] {
    const vals: Val[] = [];
    for (const a of node.arguments) {
      if (a.type === "SpreadElement")
        this.#refuse(a, "cannot compile a spread; write the values one by one.");
      const at = this.#out.length;
      const val = this.#expression(a, scope);
      vals.forEach((v, i) => {
        if (v.kind === "value") vals[i] = value(this.#settled(v.expr, node.arguments[i], at));
      });
      vals.push(val);
    }
    return vals;
  }

  /** `a.get(i, j)`, `a.set([i, j], v)`, `a.shape.at(-1)`; null: it is no method of an array. */
  #method(callee: MemberExpression, node: CallExpression, scope: Scope): Val | null {
    const key = keyOf(callee);
    if (key === null || callee.object.type === "Super") return null;
    const isArray = key === "get" || key === "set" || key === "fill";
    if (!isArray && key !== "at") return null;
    const object = this.#expression(callee.object, scope);
    if (object.kind === "shape" && key === "at" && node.arguments.length === 1) {
      return value(this.#axisSize(object.of, node.arguments[0] as Expression, scope, node, true));
    }
    if (object.kind !== "argument" && object.kind !== "array") return null;
    const array = refOf(object);
    if (key === "get") return value(this.#load(array, this.#all(node.arguments, scope), "get", node));
    if (key !== "set") return this.#refuse(node, `cannot compile .${key}(); write a loop.`);
    const [place, given, ...more] = node.arguments;
    if (place?.type !== "ArrayExpression" || given === undefined || more.length > 0) {
      return this.#refuse(node, "set takes a list of indices and a value.", "Write a.set([i, j], value).");
    }
    const elements = place.elements.map((e) => e ?? this.#refuse(place, "cannot compile a list with holes."));
    const all = this.#all([...elements, given], scope);
    this.#store(array, all.slice(0, -1), all[all.length - 1], "set", node);
    return nothing;
  }

  /** Functions of Math and Number, as kernels know them: their operations on these operands. */
  #callBuiltin(name: string, node: CallExpression, scope: Scope): Val {
    const apply = functions.get(name);
    const place = this.#place(node);
    if (name === "Math.random") {
      return this.#refuse(
        node,
        "cannot compile Math.random.",
        "Pass a tensor of random numbers: random.uniform(shape).",
      );
    }
    if (apply === undefined) return this.#refuse(node, `cannot call ${name}.`);
    const args = this.#all(node.arguments, scope);
    if (name === "Number" && args.length > 0) return value(this.#toNumber(args[0], place));
    const t = new TemplateBuilder();
    const ids = args.map((a, i) => (a.op === "literal" ? t.literal(a.value) : t.input(i)));
    const id = apply(t, ids, place.span);
    if (typeof id === "string") return this.#refuse(node, id);
    return value(this.#fromTemplate(t.nodes, id, args, place));
  }

  #fromTemplate(nodes: readonly TemplateNode[], result: Id, args: readonly Expr[], place: Place): Expr {
    const made = new Map<Id, Expr>();
    const exprOf = (id: Id): Expr => {
      const known = made.get(id);
      if (known !== undefined) return known;
      const node = nodes[id];
      const expr: Expr =
        node.op === "input"
          ? args[node.index]
          : node.op === "literal"
            ? { op: "literal", value: node.value, place }
            : node.op === "cast" || node.op === "param"
              ? refuse(place, "cannot compile this call of a kernel: it converts or captures.")
              : this.#op(node.op, node.args.map(exprOf), place);
      made.set(id, expr);
      return expr;
    };
    return exprOf(result);
  }

  /** A kernel computes on numbers here, as `kernel(2, 3)` does. */
  #callKernel(fn: Val & { kind: "kernel" }, node: CallExpression, scope: Scope): Val {
    const { template } = fn.kernel;
    const place = this.#place(node);
    const args = this.#all(node.arguments, scope).map((a) => this.#toNumber(a, place));
    if (args.length < template.inputs) {
      this.#refuse(node, `"${fn.name}" takes ${template.inputs} arguments, got ${args.length}.`);
    }
    return value(this.#fromTemplate(template.nodes, template.result, args, place));
  }
}

/* Small things ------------------------------------------------------------------------------------------- */

const value = (expr: Expr): Val => ({ kind: "value", expr });

const refOf = (val: Val & { kind: "argument" | "array" }): ArrayRef =>
  val.kind === "array" ? val.ref : { kind: "argument", index: val.index };

/** A property that is written as a name: `a.b` or `a["b"]`. */
function keyOf(node: MemberExpression): string | null {
  const { property } = node;
  if (!node.computed && property.type === "Identifier") return property.name;
  return property.type === "Literal" && typeof property.value === "string" ? property.value : null;
}

const tests: ReadonlySet<string> = new Set(
  "eq ne lt le gt ge not and or truthy isNaN isFinite isInf signbit".split(" "),
);

/** Is it a boolean, whatever its operands are? */
function isTest(expr: Expr): boolean {
  if (expr.op === "literal") return typeof expr.value === "boolean";
  return tests.has(expr.op);
}

/** Is it one of the literals it is made of? */
const isLiteral = (expr: Expr): boolean =>
  expr.op === "literal" || (expr.op === "select" && expr.args.slice(1).every(isLiteral));

/** The variables it reads. */
function readsOf(expr: Expr, into = new Set<number>()): ReadonlySet<number> {
  if (expr.op === "variable") into.add(expr.id);
  else if ("args" in expr) for (const a of expr.args) readsOf(a, into);
  return into;
}

/** Does the statement set one of these variables? */
function changes(s: Stmt, variables: ReadonlySet<number>): boolean {
  const inside = (list: readonly Stmt[]) => list.some((t) => changes(t, variables));
  switch (s.op) {
    case "set":
    case "load":
      return variables.has(s.id);
    case "if":
      return inside(s.yes) || inside(s.no);
    case "block":
      return inside(s.body);
    case "loop":
      return inside(s.head) || inside(s.body) || inside(s.update);
    default:
      return false;
  }
}

const endsIn = (s: Stmt | undefined): boolean =>
  s !== undefined && (s.op === "break" || s.op === "continue" || s.op === "return");

/** Does the statement leave the block of this label somewhere inside? */
function leavesBy(s: Stmt, label: number): boolean {
  switch (s.op) {
    case "break":
      return s.label === label;
    case "if":
      return [...s.yes, ...s.no].some((t) => leavesBy(t, label));
    case "block":
      return s.body.some((t) => leavesBy(t, label));
    case "loop":
      return [...s.head, ...s.body, ...s.update].some((t) => leavesBy(t, label));
    default:
      return false;
  }
}

const isLength = (v: unknown): boolean => typeof v === "number" && Number.isInteger(v) && v >= 0;

interface ArrayKind {
  readonly dtype: NonNullable<LocalArray["dtype"]>;
  readonly clamped: boolean;
  readonly big: boolean;
}

/** Typed arrays that a function may make for itself, by the names of their constructors. */
const arrayKinds: ReadonlyMap<string, ArrayKind> = new Map(
  [
    Uint8Array,
    Int8Array,
    Uint8ClampedArray,
    Uint16Array,
    Int16Array,
    Uint32Array,
    Int32Array,
    BigUint64Array,
    BigInt64Array,
    Float32Array,
    Float64Array,
  ].map((make): [string, ArrayKind] => {
    const dtype = dtypeOfArray(new make(0))!;
    return [
      make.name,
      { dtype, clamped: make === Uint8ClampedArray, big: dtype === "i64" || dtype === "u64" },
    ];
  }),
);

export type { Binding };
