/** Expressions: operators, assignments and choices. What names, members and calls stand for is told by elements.ts. */

import { counterName } from "../frontend/coverage.ts";
import { binaryOps } from "../frontend/operators.ts";
import type {
  AnyNode,
  AssignmentExpression,
  BinaryExpression,
  CallExpression,
  Expression,
  MemberExpression,
  UpdateExpression,
} from "../frontend/parse.ts";
import type { ArrayRef, Expr, Place } from "./tree.ts";
import { nothing, type Scope, type Val } from "./values.ts";
import { endsIn, isTest, type Of, type Positioned, value, Writer } from "./writer.ts";

/** What an assignment writes to. */
interface AssignmentTarget {
  /** Its index is computed now. */
  readonly hold: () => void;
  /** Its index was evaluated where statement `at` begins. */
  readonly settle: (at: number) => void;
  readonly read: () => Expr;
  readonly write: (expr: Expr) => void;
}

export abstract class Operators extends Writer {
  /** What a name stands for. */
  protected abstract read(name: string, scope: Scope, node: AnyNode): Val;
  protected abstract assign(target: AnyNode, scope: Scope, expr: Expr, node: Positioned): void;
  protected abstract array(node: Expression, scope: Scope): ArrayRef;
  protected abstract member(node: MemberExpression, scope: Scope): Val;
  protected abstract call(node: CallExpression, scope: Scope): Val;

  protected all(nodes: readonly AnyNode[], scope: Scope): Expr[] {
    const exprs: Expr[] = [];
    for (const node of nodes) {
      if (node.type === "SpreadElement")
        this.refuse(node, "cannot compile a spread; write the values one by one.");
      const at = this.out.length;
      const expr = this.value(node as Expression, scope);
      for (let i = 0; i < exprs.length; i++) exprs[i] = this.settled(exprs[i], nodes[i], at);
      exprs.push(expr);
    }
    return exprs;
  }

  /** if (test) yes else no. `a && b`, where b does something, leads to no twice. */
  protected branch(
    test: Expression,
    scope: Scope,
    yes: () => void,
    no: (() => void) | null,
    node: Positioned,
  ): void {
    const place = this.place(node);
    if (
      test.type === "LogicalExpression" &&
      test.operator === "&&" &&
      this.doesSomething(test.right, scope)
    ) {
      if (no === null) {
        this.branch(test.left, scope, () => this.branch(test.right, scope, yes, null, node), null, node);
        return;
      }
      const [end, other] = [this.labels++, this.labels++];
      const rest = this.listed(no);
      const body = this.listed(() => {
        const leave = () => this.out.push({ op: "break", label: other, place });
        this.branch(test.left, scope, () => {}, leave, node);
        this.branch(test.right, scope, () => {}, leave, node);
        yes();
        if (!endsIn(this.out.at(-1))) this.out.push({ op: "break", label: end, place });
      });
      this.out.push({
        op: "block",
        label: end,
        body: [{ op: "block", label: other, body, place }, ...rest],
        place,
      });
      return;
    }
    const condition = this.truth(test, scope);
    if (condition.op === "literal") {
      if (condition.value) yes();
      else no?.();
      return;
    }
    this.out.push({
      op: "if",
      test: condition,
      yes: this.listed(yes),
      no: no === null ? [] : this.listed(no),
      place,
    });
  }

  /** Would evaluating it write statements? Tried, and forgotten. */
  protected doesSomething(node: Expression, scope: Scope): boolean {
    const { length } = this.variables;
    const arrays = this.arrays.length;
    const made = this.listed(() => this.expression(node, scope));
    this.variables.length = length;
    this.arrays.length = arrays;
    return made.length > 0;
  }

  protected truth(node: Expression, scope: Scope): Expr {
    if (node.type === "UnaryExpression" && node.operator === "!") {
      return this.op("not", [this.truth(node.argument, scope)], this.place(node));
    }
    return this.truthOf(this.value(node, scope), node);
  }

  protected truthOf(expr: Expr, node: Positioned): Expr {
    return isTest(expr) ? expr : this.op("truthy", [expr], this.place(node));
  }

  /** A number or a boolean. */
  protected value(node: Expression, scope: Scope): Expr {
    return this.asExpr(this.expression(node, scope), node);
  }

  protected asExpr(val: Val, node: Positioned): Expr {
    switch (val.kind) {
      case "value":
        return val.expr;
      case "argument":
        return { op: "argument", index: val.index, place: this.place(node) };
      case "nothing":
        return this.refuse(node, "cannot compute with undefined; every variable needs a number.");
      case "array":
      case "shape":
      case "tuple":
        return this.refuse(
          node,
          "cannot use an array as a number.",
          "Take an element: a[i], a.get(i, j), a.shape[0].",
        );
      default:
        return this.refuse(node, "cannot use a function or an object as a number.");
    }
  }

  /** An expression whose value nobody takes. */
  protected effect(node: Expression, scope: Scope): void {
    this.enter(node);
    switch (node.type) {
      case "SequenceExpression":
        for (const e of node.expressions) this.effect(e, scope);
        return;
      case "ConditionalExpression":
        this.branch(
          node.test,
          scope,
          () => this.effect(node.consequent, scope),
          () => this.effect(node.alternate, scope),
          node,
        );
        return;
      case "LogicalExpression":
        if (node.operator === "??") break;
        if (node.operator === "&&") {
          this.branch(node.left, scope, () => this.effect(node.right, scope), null, node);
        } else
          this.branch(
            node.left,
            scope,
            () => {},
            () => this.effect(node.right, scope),
            node,
          );
        return;
      case "UpdateExpression": {
        // What a coverage tool has written into the function counts and computes nothing.
        const counter = counterName(node);
        if (counter === null || scope.find(counter) !== null) this.update(node, scope, false);
        return;
      }
      case "UnaryExpression":
        if (node.operator === "void" || node.operator === "!") {
          this.effect(node.argument, scope);
          return;
        }
    }
    this.expression(node, scope);
  }

  protected expression(node: Expression, scope: Scope): Val {
    this.enter(node);
    this.depth++;
    const val = this.expressionOf(node, scope);
    this.depth--;
    return val;
  }

  protected expressionOf(node: Expression, scope: Scope): Val {
    switch (node.type) {
      case "Literal": {
        const { value: of } = node;
        if (typeof of === "number" || typeof of === "bigint" || typeof of === "boolean") {
          return value(this.literal(of, node));
        }
        const what =
          of === null && !node.regex ? "null" : typeof of === "string" ? "a string" : "a regular expression";
        return this.refuse(node, `cannot compile ${what}; njit computes with numbers, booleans and arrays.`);
      }
      case "Identifier":
        return this.read(node.name, scope, node);
      case "BinaryExpression":
        return value(this.binaryChain(node, scope));
      case "LogicalExpression":
        return this.logical(node, scope);
      case "UnaryExpression":
        return this.unary(node, scope);
      case "UpdateExpression":
        return value(this.update(node, scope, true));
      case "AssignmentExpression":
        return this.assignment(node, scope);
      case "ConditionalExpression":
        return this.conditional(
          this.truth(node.test, scope),
          () => this.expression(node.consequent, scope),
          () => this.expression(node.alternate, scope),
          node,
        );
      case "SequenceExpression": {
        for (const e of node.expressions.slice(0, -1)) this.effect(e, scope);
        return this.expression(node.expressions.at(-1)!, scope);
      }
      case "ArrayExpression": {
        const elements = node.elements.map(
          (e) => e ?? this.refuse(node, "cannot compile a list with holes."),
        );
        return { kind: "tuple", items: this.all(elements, scope).map(value) };
      }
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return { kind: "function", fn: { node, scope, text: this.text } };
      case "MemberExpression":
        return this.member(node, scope);
      case "CallExpression":
        return this.call(node, scope);
      case "ParenthesizedExpression":
        return this.expression(node.expression, scope);
      default:
        return this.refuseSyntax(node);
    }
  }

  /** test ? yes : no, where each side runs only if it is taken. Sides that do nothing become one expression. */
  protected conditional(test: Expr, yes: () => Val, no: () => Val, node: Positioned): Val {
    if (test.op === "literal") return test.value ? yes() : no();
    let [a, b]: Val[] = [nothing, nothing];
    const yesList = this.listed(() => {
      a = yes();
    });
    const noList = this.listed(() => {
      b = no();
    });
    const place = this.place(node);
    if (a.kind === "nothing" && b.kind === "nothing") {
      this.out.push({ op: "if", test, yes: yesList, no: noList, place });
      return nothing;
    }
    const [x, y] = [this.asExpr(a, node), this.asExpr(b, node)];
    if (yesList.length === 0 && noList.length === 0) return value(this.op("select", [test, x, y], place));
    const id = this.variable("", false, node);
    yesList.push({ op: "set", id, value: x, place });
    noList.push({ op: "set", id, value: y, place });
    this.out.push({ op: "if", test, yes: yesList, no: noList, place });
    return value({ op: "variable", id, place });
  }

  protected logical(node: Of<"LogicalExpression">, scope: Scope): Val {
    const left = this.expression(node.left, scope);
    return this.shortCircuit(node.operator, left, node, () => this.expression(node.right, scope));
  }

  protected shortCircuit(
    operator: string,
    left: Val,
    node: Of<"LogicalExpression"> | AssignmentExpression,
    right: () => Val,
  ): Val {
    if (operator === "??") return left.kind === "nothing" ? right() : left;
    const isAnd = operator === "&&";
    if (left.kind === "nothing") return isAnd ? left : right();
    const expr = this.asExpr(left, node.left);
    const [held] = [this.isFixed(expr) ? expr : this.hold(expr, node.left)];
    const test = this.truthOf(held, node.left);
    // Where a test decides, its value is known: `x > 0 && y` is false there.
    const kept = (): Val => (isTest(held) ? value(this.literal(!isAnd, node.left)) : value(held));
    return isAnd ? this.conditional(test, right, kept, node) : this.conditional(test, kept, right, node);
  }

  /** Left-leaning chains (x + x + x + …) are walked, not recursed into. */
  protected binaryChain(node: BinaryExpression, scope: Scope): Expr {
    const spine: BinaryExpression[] = [node];
    let first = node.left;
    while (first.type === "BinaryExpression") {
      spine.push(first);
      first = first.left;
    }
    if (first.type === "PrivateIdentifier") return this.refuseSyntax(first);
    let left = this.expression(first, scope);
    for (const link of spine.toReversed()) {
      this.enter(link);
      left = value(this.binary(link.operator, left, () => this.expression(link.right, scope), link));
    }
    return this.asExpr(left, node);
  }

  protected binary(operator: string, left: Val, right: () => Val, node: Positioned): Expr {
    const op = binaryOps[operator];
    if (op === undefined) return this.refuse(node, `cannot compile the operator ${operator}.`);
    const [a, b] = this.before(this.asExpr(left, node), node, right);
    const strict = operator === "===" || operator === "!==";
    return this.op(op, [a, this.asExpr(b, node)], this.place(node), strict);
  }

  protected unary(node: Of<"UnaryExpression">, scope: Scope): Val {
    const place = this.place(node);
    switch (node.operator) {
      case "!":
        return value(this.truth(node, scope));
      case "void":
        this.effect(node.argument, scope);
        return nothing;
      case "-":
        return value(this.op("neg", [this.value(node.argument, scope)], place));
      case "+":
        return value(this.toNumber(this.value(node.argument, scope), place));
      case "~":
        return value(this.op("bitNot", [this.value(node.argument, scope)], place));
      default:
        return this.refuse(
          node,
          `cannot compile \`${node.operator}\`.`,
          node.operator === "typeof" ? "Decide before the call: make a function for each kind." : undefined,
        );
    }
  }

  protected toNumber(expr: Expr, place: Place): Expr {
    if (expr.op === "literal") return { op: "literal", value: Number(expr.value), place };
    return { op: "number", args: [expr], place };
  }

  /** i++ and its kind: a variable or an element. */
  protected update(node: UpdateExpression, scope: Scope, isUsed: boolean): Expr {
    const place = this.place(node);
    const op = node.operator === "++" ? "add" : "sub";
    const target = this.target(node.argument, scope);
    const loaded = target.read();
    const before = isUsed && !node.prefix ? this.hold(loaded, node) : loaded;
    const after = this.op(op, [before, this.literal(1, node)], place);
    const held = isUsed && node.prefix ? this.hold(after, node) : after;
    target.write(held);
    return node.prefix ? held : before;
  }

  protected assignment(node: AssignmentExpression, scope: Scope): Val {
    const { left, right } = node;
    const operator = node.operator.slice(0, -1);
    if (left.type === "ArrayPattern") {
      this.assignList(left, this.expression(right, scope), scope, node);
      return nothing;
    }
    if (left.type !== "Identifier" && left.type !== "MemberExpression") {
      return this.refuse(
        left,
        "cannot compile this assignment; assign to variables and elements, one by one.",
      );
    }
    const target = this.target(left, scope);
    const at = this.out.length;
    if (operator === "") {
      const val = this.expression(right, scope);
      target.settle(at);
      const held = this.taken(this.asExpr(val, right), right);
      target.write(held);
      return value(held);
    }
    if (operator === "&&" || operator === "||" || operator === "??") {
      target.hold();
      return this.shortCircuit(operator, value(target.read()), node, () => {
        const held = this.taken(this.value(right, scope), right);
        target.write(held);
        return value(held);
      });
    }
    const result = this.binary(operator, value(target.read()), () => this.expression(right, scope), node);
    target.settle(at);
    const held = this.taken(result, node);
    target.write(held);
    return value(held);
  }

  /** [a, b] = [b, a]: all values are computed before the first is written. */
  protected assignList(targets: Of<"ArrayPattern">, val: Val, scope: Scope, node: Positioned): void {
    if (val.kind !== "tuple" && val.kind !== "shape") {
      this.refuse(
        node,
        "cannot compile this assignment; only a shape and lists of known length can be taken apart.",
      );
    }
    const values = targets.elements.map((target, i) => {
      if (target === null) return null;
      if (val.kind === "shape") {
        return { op: "size", array: val.of, axis: i, place: this.place(target) } as const;
      }
      const item = val.items[i] ?? this.refuse(target, "there are fewer values than names.");
      return this.hold(this.asExpr(item, target), target);
    });
    targets.elements.forEach((target, i) => {
      if (target !== null) this.target(target, scope).write(values[i]!);
    });
  }

  /** A value that is written and then used again is computed once. */
  protected taken(expr: Expr, node: Positioned): Expr {
    return expr.op === "variable" || expr.op === "argument" ? expr : this.hold(expr, node);
  }

  /** Something that can be assigned to; its array and index are evaluated once, before the value. */
  protected target(node: AnyNode, scope: Scope): AssignmentTarget {
    if (node.type === "Identifier") {
      return {
        hold: () => {},
        settle: () => {},
        read: () => this.value(node, scope),
        write: (expr) => this.assign(node, scope, expr, node),
      };
    }
    if (node.type !== "MemberExpression" || !node.computed || node.object.type === "Super") {
      return this.refuse(
        node,
        "cannot compile this assignment; assign to variables and to elements of arrays.",
        "Elements of tensors are written with a.set([i, j], value).",
      );
    }
    const ref = this.array(node.object, scope);
    if (node.property.type === "PrivateIdentifier") this.refuseSyntax(node.property);
    const { property } = node;
    let index = this.value(property, scope);
    return {
      hold: () => {
        if (!this.isFixed(index)) index = this.hold(index, property);
      },
      settle: (at) => {
        index = this.settled(index, property, at);
      },
      read: () => this.load(ref, [index], "[]", node),
      write: (expr) => this.store(ref, [index], expr, "[]", node),
    };
  }
}
