/**
 * From a function to its Tree. The syntax is walked once, in the order it would run: an expression gives back what it
 * stands for, and what it does on the way (loads, stores, assignments, the bodies of functions it calls) is written down
 * as statements before it. Whatever has no place in a Tree is refused, with its place and a remedy. Here are parameters,
 * functions and statements; expressions are in operators.ts and elements.ts.
 */
import { describe, TensorError } from "../errors.ts";
import { builtinName } from "../frontend/builtins.ts";
import { lowerFunction } from "../frontend/lower.ts";
import { declaredNames, propertyName, varNames } from "../frontend/names.ts";
import {
  type AnyFunction,
  type CallExpression,
  type Expression,
  type FunctionNode,
  type Pattern,
  parseFunction,
  type Statement,
  spanOf,
  type VariableDeclaration,
} from "../frontend/parse.ts";
import { isRefusal, type Refusal, refusalMessage } from "../frontend/refusal.ts";
import { isKernelLike } from "../frontend/template.ts";
import { ownGlobals } from "../ops/probe.ts";
import { Elements } from "./elements.ts";
import { planLoops } from "./races.ts";
import { OPERATION, refuse } from "./refuse.ts";
import type { Expr, Loop, Stmt, Tree } from "./tree.ts";
import { type InnerFunction, nothing, Scope, type Val } from "./values.ts";
import {
  type Captures,
  endsIn,
  type Frame,
  goesThrough,
  leavesBy,
  limits,
  type Of,
  type Positioned,
  textOf,
  value,
} from "./writer.ts";

/** The tree of `fn`; throws a TensorError with a caret where it cannot be one. */
export function parseTree(fn: AnyFunction | string, captures: Captures): Tree {
  const parsed = parseFunction(fn);
  if (isRefusal(parsed)) throw new TensorError("kernel", refusalMessage(OPERATION, parsed));
  try {
    return new Reader(parsed, captures, fn).run();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const span = spanOf(parsed.node, parsed.shift);
    return refuse({ source: parsed.source, span }, "cannot compile this function; it is nested too deeply.");
  }
}

/** Why a function of numbers is not what it reads as; null: it is, or it is none. */
function ownGlobalsIn(fn: AnyFunction): Refusal | null {
  const template = lowerFunction(fn);
  return isRefusal(template) ? null : ownGlobals(fn, template);
}

class Reader extends Elements {
  run(): Tree {
    const { node, source, name } = this.fn;
    const scope = new Scope(null);
    this.bindParameters(scope);
    const frame: Frame = { node, label: null, results: null, form: null };
    this.frames.push(frame);
    this.runBody(node, scope, frame);
    this.checkEnd(node, frame);
    const tree = {
      name,
      source,
      args: this.args,
      given: this.given,
      variables: this.variables,
      arrays: this.arrays,
      body: this.out,
      returns: frame.form ?? ("nothing" as const),
    };
    return { ...tree, plans: planLoops(tree) };
  }

  protected bindParameters(scope: Scope): void {
    const params = [...this.fn.node.params];
    const last = params.at(-1);
    if (last?.type === "ObjectPattern") params.pop();
    for (const param of params) {
      if (param.type !== "Identifier") {
        this.refuse(
          param,
          "cannot compile this parameter; parameters are plain names, and the last may be { prange, captured names }.",
        );
      }
      const index = this.args.length;
      this.args.push({ name: param.name, captured: null, place: this.place(param) });
      this.bindArgument(scope, param, index);
    }
    this.given = this.args.length;
    const used = new Set<string>();
    if (last?.type === "ObjectPattern") {
      for (const property of last.properties) {
        const key = property.type === "Property" ? propertyName(property) : null;
        if (property.type !== "Property" || key === null || property.value.type !== "Identifier") {
          this.refuse(property, "cannot compile this parameter; captured values are plain names.");
        }
        used.add(key);
        scope.names.set(property.value.name, { kind: "fixed", val: this.captured(key, property) });
      }
    }
    const unused = Object.keys(this.captures).filter((key) => !used.has(key));
    if (unused.length > 0) {
      this.refuse(
        last ?? this.fn.node,
        `the captured ${unused.map((key) => `"${key}"`).join(", ")} ${unused.length === 1 ? "is" : "are"} not named in the last parameter.`,
        `Name what is captured there: (…, { ${[...used, ...unused].join(", ")} }) => …`,
      );
    }
  }

  protected bindArgument(scope: Scope, param: Of<"Identifier">, index: number): void {
    if (!this.text.reassigned.has(param.start)) {
      scope.names.set(param.name, { kind: "fixed", val: { kind: "argument", index } });
      return;
    }
    const place = this.place(param);
    const id = this.variable(param.name, false, param);
    scope.names.set(param.name, { kind: "variable", id, constant: false });
    this.set(id, { op: "argument", index, place }, param);
  }

  protected captured(key: string, node: Positioned): Val {
    if (key === "prange") {
      if (Object.hasOwn(this.captures, key)) {
        this.refuse(
          node,
          'a captured value is named "prange", which njit itself passes.',
          "Give it another name.",
        );
      }
      return { kind: "prange" };
    }
    if (!Object.hasOwn(this.captures, key)) {
      this.refuse(node, `the function expects a captured value "${key}".`, `Pass it: njit(fn, { ${key} }).`);
    }
    const value = this.captures[key];
    if (value === this.itself) this.refuseRecursion(node);
    if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") {
      return { kind: "value", expr: { op: "literal", value, place: this.place(node) } };
    }
    if (isKernelLike(value)) return { kind: "kernel", kernel: value, name: key };
    if (typeof value === "function") {
      const builtin = builtinName(value);
      if (builtin !== null) return { kind: "builtin", name: builtin };
      const parsed = parseFunction(value);
      if (isRefusal(parsed)) return this.refuse(node, `captured function "${key}": ${parsed.reason}`);
      const own = ownGlobalsIn(value as AnyFunction);
      if (own !== null)
        return this.refuse(
          node,
          `captured function "${key}": ${own.reason}`,
          "Capture what it calls, by another name, and write it inside of this function.",
        );
      return { kind: "function", fn: { node: parsed.node, scope: new Scope(null), text: textOf(parsed) } };
    }
    if (typeof value === "object" && value !== null) {
      const index = this.args.length;
      this.args.push({ name: key, captured: key, place: this.place(node) });
      return { kind: "argument", index };
    }
    return this.refuse(
      node,
      `captured "${key}" is ${describe(value)}; captured values are numbers, bigints, booleans, functions, kernels, tensors and typed arrays.`,
    );
  }

  protected runBody(node: FunctionNode, scope: Scope, frame: Frame): void {
    const { body } = node;
    if (body.type !== "BlockStatement") {
      const val = this.expression(body, scope);
      this.leave(frame, val, body);
      return;
    }
    const inner = new Scope(scope);
    for (const name of varNames(body)) {
      if (!scope.names.has(name)) inner.names.set(name, { kind: "pending", constant: false });
    }
    this.hoist(body.body, inner);
    this.statements(body.body, inner);
  }

  /** A function that returns values does so on every path: its end is not one. */
  protected checkEnd(node: FunctionNode, { form }: Frame): void {
    if (form === null || form === "nothing" || !goesThrough(this.out)) return;
    this.refuse(
      endOf(node),
      "the function may end here without a value, and returns one elsewhere.",
      `Return a value at the end too: ${form === "one" ? "return -1" : `return a list of ${form}`}.`,
    );
  }

  /** A return: its values are kept, and the function is left. */
  protected leave(frame: Frame, val: Val, node: Positioned): void {
    const isMain = frame.label === null;
    const items =
      val.kind === "tuple" ? val.items : val.kind === "nothing" || val.kind === "builtin" ? [] : [val];
    const form = val.kind === "tuple" ? items.length : items.length === 0 ? "nothing" : "one";
    if (frame.form !== null && frame.form !== form) {
      this.refuse(
        node,
        "not every path returns the same number of values.",
        "Return one value, several, or none, on every path.",
      );
    }
    frame.form = form;
    const exprs = items.map((item) => this.asResult(item, node));
    if (isMain) {
      if (this.targets.some((t) => t.isParallel)) {
        this.refuse(
          node,
          "cannot return from a prange loop; its iterations run in no particular order.",
          "Write a plain for loop, or keep what was found in a variable: best = Math.min(best, i).",
        );
      }
      this.out.push({ op: "return", values: exprs, place: this.place(node) });
      return;
    }
    frame.results ??= exprs.map(() => this.variable("", false, node));
    exprs.forEach((expr, i) => {
      this.set(frame.results![i], expr, node);
    });
    this.out.push({ op: "break", label: frame.label!, place: this.place(node) });
  }

  /** What a function gives back: a scalar, or one of its arguments as it is. */
  protected asResult(val: Val, node: Positioned): Expr {
    if (val.kind === "array") {
      this.refuse(
        node,
        "cannot return an array of the function's own.",
        "Return its elements, [w[0], w[1]], or write them into an argument.",
      );
    }
    return val.kind === "argument"
      ? { op: "argument", index: val.index, place: this.place(node) }
      : this.asExpr(val, node);
  }

  protected callFunction(fn: InnerFunction, args: readonly Val[], call: CallExpression): Val {
    const { node } = fn;
    if (this.frames.some((f) => f.node === node)) {
      this.refuseRecursion(call);
    }
    if (this.frames.length > limits.calls) this.refuse(call, "calls are nested too deeply.");
    if (node.async || node.generator)
      this.refuse(call, "cannot compile a call of an async function or a generator.");
    const outer = this.text;
    const scope = new Scope(fn.scope);
    // Arguments are computed here, in the text of the call.
    const given = args.map((val, i) => this.passed(val, call.arguments[i] ?? call));
    this.text = fn.text;
    node.params.forEach((param, i) => {
      let val = given[i] ?? nothing;
      let target: Pattern = param;
      if (param.type === "AssignmentPattern") {
        target = param.left;
        if (val.kind === "nothing") val = this.expression(param.right, scope);
      }
      if (target.type !== "Identifier")
        this.refuse(
          param,
          "cannot compile this parameter; a function that is called has plain names.",
          "Captured values are named by the function that calls it: pass them as arguments.",
        );
      scope.names.set(target.name, { kind: "pending", constant: false });
      this.declare(scope, target, val, param);
    });
    const label = this.labels++;
    const frame: Frame = { node, label, results: null, form: null };
    const around = this.out;
    this.out = [];
    this.frames.push(frame);
    this.runBody(node, scope, frame);
    this.frames.pop();
    const body = this.out;
    // Refused where the value is read.
    if (frame.results !== null && goesThrough(body)) {
      for (const id of frame.results) this.variables[id].end = this.place(endOf(node));
    }
    this.out = around;
    this.text = outer;
    const last = body.at(-1);
    // A body that only leaves at its end needs no block.
    if (last?.op === "break" && last.label === label && !body.slice(0, -1).some((s) => leavesBy(s, label))) {
      this.out.push(...body.slice(0, -1));
    } else this.out.push({ op: "block", label, body, place: this.place(call) });
    if (frame.form === null || frame.form === "nothing") return nothing;
    const place = this.place(call);
    const results = frame.results!.map((id): Val => value({ op: "variable", id, place }));
    return frame.form === "one" ? results[0] : { kind: "tuple", items: results };
  }

  protected hoist(statements: readonly Statement[], scope: Scope): void {
    for (const s of statements) {
      if (s.type === "FunctionDeclaration") {
        const fn = { node: s, scope, text: this.text };
        scope.names.set(s.id.name, { kind: "fixed", val: { kind: "function", fn } });
      } else if (s.type === "VariableDeclaration" && s.kind !== "var") {
        for (const name of declaredNames(s)) {
          scope.names.set(name, { kind: "pending", constant: s.kind === "const" });
        }
      }
    }
  }

  protected statements(statements: readonly Statement[], scope: Scope): void {
    for (const s of statements) {
      this.statement(s, scope, []);
      if (endsIn(this.out.at(-1))) return; // what follows cannot run
    }
  }

  protected block(statements: readonly Statement[], scope: Scope): void {
    const inner = new Scope(scope);
    this.hoist(statements, inner);
    this.statements(statements, inner);
  }

  protected statement(s: Statement, scope: Scope, names: readonly string[]): void {
    this.enter(s);
    this.depth++;
    this.statementOf(s, scope, names);
    this.depth--;
  }

  protected statementOf(s: Statement, scope: Scope, names: readonly string[]): void {
    switch (s.type) {
      case "ExpressionStatement":
        if (s.directive === undefined) this.effect(s.expression, scope);
        return;
      case "VariableDeclaration":
        this.declaration(s, scope);
        return;
      case "FunctionDeclaration":
      case "EmptyStatement":
        return;
      case "BlockStatement":
        if (names.length === 0) this.block(s.body, scope);
        else this.labelled(s, names, () => this.block(s.body, scope));
        return;
      case "ReturnStatement":
        this.leave(
          this.frames.at(-1)!,
          s.argument ? this.expression(s.argument, scope) : nothing,
          s.argument ?? s,
        );
        return;
      case "IfStatement":
        this.branch(
          s.test,
          scope,
          () => this.block([s.consequent], scope),
          s.alternate ? () => this.block([s.alternate!], scope) : null,
          s,
        );
        return;
      case "ForStatement": {
        const inner = new Scope(scope);
        if (s.init?.type === "VariableDeclaration") {
          this.hoist([s.init], inner);
          this.declaration(s.init, inner);
        } else if (s.init) this.effect(s.init, inner);
        this.loop(s, names, s.test ?? null, s.update ?? null, s.body, inner, false);
        return;
      }
      case "WhileStatement":
        this.loop(s, names, s.test, null, s.body, scope, false);
        return;
      case "DoWhileStatement":
        this.loop(s, names, s.test, null, s.body, scope, true);
        return;
      case "ForOfStatement":
        this.prange(s, names, scope);
        return;
      case "LabeledStatement":
        if (takesLabels.has(s.body.type)) this.statement(s.body, scope, [...names, s.label.name]);
        else this.labelled(s, [...names, s.label.name], () => this.block([s.body], scope));
        return;
      case "BreakStatement":
      case "ContinueStatement":
        this.jump(s);
        return;
      default:
        this.refuseSyntax(s);
    }
  }

  protected labelled(s: Statement, names: readonly string[], write: () => void): void {
    const label = this.labels++;
    this.targets.push({ label, names, isLoop: false, isParallel: false, calls: this.frames.length });
    const body = this.listed(write);
    this.targets.pop();
    this.out.push({ op: "block", label, body, place: this.place(s) });
  }

  protected jump(s: Of<"BreakStatement"> | Of<"ContinueStatement">): void {
    const isContinue = s.type === "ContinueStatement";
    const name = s.label?.name;
    const inside = this.targets.filter((t) => t.calls === this.frames.length);
    const at = inside.findLastIndex((t) =>
      name === undefined ? t.isLoop : t.names.includes(name) && (t.isLoop || !isContinue),
    );
    if (at < 0) this.refuse(s, "there is no loop to leave here.");
    const target = inside[at];
    const left = inside.slice(isContinue ? at + 1 : at);
    if (left.some((t) => t.isParallel)) {
      this.refuse(
        s,
        "cannot leave a prange loop early; its iterations run in no particular order.",
        "Write a plain for loop, or let the other iterations find nothing to do.",
      );
    }
    this.out.push({ op: isContinue ? "continue" : "break", label: target.label, place: this.place(s) });
  }

  protected loop(
    s: Statement,
    names: readonly string[],
    test: Expression | null,
    update: Expression | null,
    body: Statement,
    scope: Scope,
    testLast: boolean,
  ): void {
    const label = this.labels++;
    const place = this.place(s);
    let going: Expr | null = null;
    const target = { label, names, isLoop: true, isParallel: false, calls: this.frames.length };
    const head = this.listed(() => {
      if (test !== null) going = this.test(test, scope, label);
    });
    this.targets.push(target);
    const statements = this.listed(() => this.block([body], scope));
    this.targets.pop();
    const after = this.listed(() => {
      if (update !== null) this.effect(update, scope);
    });
    if (going !== null && (going as Expr).op === "literal" && (going as Expr & { op: "literal" }).value)
      going = null;
    this.out.push({
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
  protected test(node: Expression, scope: Scope, label: number): Expr {
    if (node.type === "LogicalExpression" && node.operator === "&&") {
      const at = this.out.length;
      const left = this.test(node.left, scope, label);
      const [before, right] = [this.out.length, this.listed(() => this.truth(node.right, scope))];
      if (right.length === 0 && before === at) {
        const place = this.place(node);
        return this.op("and", [this.truthOf(left, node.left), this.truth(node.right, scope)], place);
      }
      const place = this.place(node.left);
      const no: Stmt[] = [{ op: "break", label, place }];
      this.out.push({ op: "if", test: this.truthOf(left, node.left), yes: [], no, place });
      return this.test(node.right, scope, label);
    }
    return this.truth(node, scope);
  }

  /** for (const i of prange(n)) …: i from 0, or from the first of two bounds, by 1 or by a third number. */
  protected prange(s: Of<"ForOfStatement">, names: readonly string[], scope: Scope): void {
    const { left, right } = s;
    const called = right.type === "CallExpression" ? right.callee : null;
    const isPrange =
      called?.type === "Identifier" &&
      scope.find(called.name) !== null &&
      this.read(called.name, scope, called).kind === "prange";
    if (right.type !== "CallExpression" || !isPrange || s.await) {
      this.refuse(
        right,
        "cannot compile this `for … of`; only prange(…) can be iterated over.",
        "Count: for (let i = 0; i < n; i++), or take prange from the last parameter: (…, { prange }) => ….",
      );
    }
    if (this.targets.some((t) => t.isParallel)) {
      this.refuse(
        right,
        "cannot run a prange loop inside of another; the iterations of the outer one are on all threads already.",
        "Count: for (let j = 0; j < n; j++).",
      );
    }
    const declared = left.type === "VariableDeclaration" ? left.declarations[0].id : null;
    if (declared?.type !== "Identifier") {
      this.refuse(left, "cannot compile this counter; write for (const i of prange(n)).");
    }
    const args = [...right.arguments];
    const options = args.at(-1)?.type === "ObjectExpression" ? (args.pop() as Of<"ObjectExpression">) : null;
    const independent = options !== null && this.isIndependent(options);
    if (args.length < 1 || args.length > 3) {
      this.refuse(right, "prange takes an end, a start and an end, or these and a step.", "Write prange(n).");
    }
    const bounds = this.all(args, scope).map((expr, i) => this.hold(expr, args[i]));
    const start = bounds.length > 1 ? bounds[0] : this.literal(0, right);
    const end = bounds.length > 1 ? bounds[1] : bounds[0];
    const step = bounds[2] ?? this.literal(1, right);
    if (step.op !== "literal" || typeof step.value !== "number" || !(step.value > 0)) {
      this.refuse(
        args[2] ?? right,
        "the step of prange is a literal above 0.",
        "Count upwards, and turn it round inside: const j = n - 1 - i; or write a plain for loop.",
      );
    }
    const label = this.labels++;
    const place = this.place(s);
    const counter = this.variable(declared.name, false, right);
    this.variables[counter].fromLiteral = true;
    this.set(counter, start, right);
    const current: Expr = { op: "variable", id: counter, place: this.place(declared) };
    const inner = new Scope(scope);
    this.targets.push({ label, names, isLoop: true, isParallel: true, calls: this.frames.length });
    const body = this.listed(() => {
      inner.names.set(declared.name, { kind: "pending", constant: true });
      this.declare(inner, declared, value(current), declared);
      this.block([s.body], inner);
    });
    this.targets.pop();
    const next = this.op("add", [current, step], this.place(right));
    this.out.push({
      op: "loop",
      label,
      head: [],
      test: this.op("lt", [current, end], this.place(right)),
      body,
      update: [{ op: "set", id: counter, value: next, place: this.place(right) }],
      testLast: false,
      parallel: { counter, independent },
      place,
    } satisfies Loop);
  }

  protected isIndependent(options: Of<"ObjectExpression">): boolean {
    let independent = false;
    for (const p of options.properties) {
      const key = p.type === "Property" ? propertyName(p) : null;
      const literal = p.type === "Property" ? this.value(p.value, new Scope(null)) : null;
      if (key !== "independent" || literal?.op !== "literal" || typeof literal.value !== "boolean") {
        this.refuse(p, "the only option of prange is { independent: true }.");
      }
      independent = literal.value;
    }
    return independent;
  }

  protected declaration(declaration: VariableDeclaration, scope: Scope): void {
    if (!["const", "let", "var"].includes(declaration.kind)) this.refuseSyntax(declaration);
    for (const { id, init } of declaration.declarations) {
      if (!init && declaration.kind === "var") {
        if (id.type === "Identifier" && scope.find(id.name)?.kind === "pending") {
          this.declare(scope, id, nothing, id);
        }
        continue;
      }
      const val = init ? this.named(init, scope, id) : nothing;
      if (init && val.kind === "nothing") {
        this.refuse(init, "cannot compute with undefined; every variable needs a number.");
      }
      this.declare(scope, id, val, init ?? id);
    }
  }
}

/** Statements that know what a jump to their labels means. */
const takesLabels: ReadonlySet<string> = new Set([
  ..."BlockStatement ForStatement WhileStatement DoWhileStatement ForOfStatement LabeledStatement".split(" "),
]);

/** The brace at the end of a function, or its expression. */
const endOf = ({ body }: FunctionNode): Positioned =>
  body.type === "BlockStatement" ? { start: body.end - 1, end: body.end } : body;
