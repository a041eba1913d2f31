/** Names and what they stand for: variables, arrays and their elements, and calls of what can be called. */
import { dtypeOfArray } from "../dtype.ts";
import { constants, functions, memberName, namespaces } from "../frontend/builtins.ts";
import { propertyName } from "../frontend/names.ts";
import type { AnyNode, CallExpression, Expression, MemberExpression, Pattern } from "../frontend/parse.ts";
import { captureValues, type Literal, TemplateBuilder } from "../frontend/template.ts";
import type { Id, TemplateNode } from "../ir/node.ts";
import { Operators } from "./operators.ts";
import { refuse } from "./refuse.ts";
import type { ArrayRef, Expr, LocalArray, Place } from "./tree.ts";
import { type InnerFunction, nothing, type Scope, type Val } from "./values.ts";
import { isLiteral, type Of, type Positioned, value } from "./writer.ts";

export abstract class Elements extends Operators {
  /** Writes the function out here; gives what it returns. */
  protected abstract callFunction(fn: InnerFunction, args: readonly Val[], call: CallExpression): Val;

  protected declare(scope: Scope, target: Pattern, val: Val, node: Positioned): void {
    if (target.type === "ArrayPattern") {
      this.declareList(scope, target, val);
      return;
    }
    if (target.type === "ObjectPattern" && val.kind === "namespace") {
      for (const property of target.properties) {
        const key = property.type === "Property" ? propertyName(property) : null;
        if (property.type !== "Property" || key === null) this.refuseSyntax(property);
        this.declare(scope, property.value, this.global(memberName(val.name, key), property), property);
      }
      return;
    }
    if (target.type === "ObjectPattern" && (val.kind === "argument" || val.kind === "array")) {
      for (const property of target.properties) {
        const key = property.type === "Property" ? propertyName(property) : null;
        if (property.type !== "Property" || key === null) this.refuseSyntax(property);
        this.declare(scope, property.value, this.arrayMember(refOf(val), key, property), property);
      }
      return;
    }
    if (target.type !== "Identifier")
      this.refuse(
        target,
        "cannot compile this declaration; declare plain names.",
        "Take what it holds one by one: const h = a.shape[0].",
      );
    const constant = !this.text.reassigned.has(target.start);
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
      holder.names.set(target.name, { kind: "fixed", val: this.localArray(target.name, val, node) });
      if (!constant) {
        this.refuse(
          target,
          `"${target.name}" is an array and is assigned to as a whole.`,
          "Assign its elements.",
        );
      }
      return;
    }
    const known = holder.names.get(target.name);
    const id = known?.kind === "variable" ? known.id : this.variable(target.name, constant, target);
    holder.names.set(target.name, {
      kind: "variable",
      id,
      constant: known?.kind === "pending" && known.constant,
    });
    if (val.kind === "nothing") return;
    const expr = this.asExpr(val, node);
    if (known?.kind !== "variable") this.variables[id].fromLiteral = !constant && isLiteral(expr);
    this.set(id, expr, node);
  }

  protected declareList(scope: Scope, target: Of<"ArrayPattern">, val: Val): void {
    target.elements.forEach((element, i) => {
      if (element === null) return;
      const place = this.place(element);
      if (val.kind === "shape") {
        this.declare(scope, element, value({ op: "size", array: val.of, axis: i, place }), element);
      } else if (val.kind === "tuple" && i < val.items.length) {
        this.declare(scope, element, val.items[i], element);
      } else {
        this.refuse(
          element,
          "cannot compile this declaration; only a shape and lists of known length can be taken apart.",
          "Take its parts one by one: const h = a.shape[0].",
        );
      }
    });
  }

  /** A list that is given a name becomes a small array. */
  protected localArray(name: string, list: Val & { kind: "tuple" }, node: Positioned): Val {
    const items = list.items.map((item) => this.asExpr(item, node));
    const ref = this.newArray(name, null, items.length, false, node);
    items.forEach((expr, i) => {
      this.store(ref, [this.literal(i, node)], expr, "[]", node);
    });
    return { kind: "array", ref };
  }

  protected read(name: string, scope: Scope, node: AnyNode): Val {
    const binding = scope.find(name);
    if (binding === null) {
      if (name === "undefined") return nothing;
      return this.global(name, node);
    }
    switch (binding.kind) {
      case "fixed":
        return binding.val;
      case "variable":
        return value({ op: "variable", id: binding.id, place: this.place(node) });
      default:
        return this.refuse(node, `the function reads "${name}" before its declaration.`);
    }
  }

  protected global(name: string, node: AnyNode): Val {
    if (namespaces.has(name)) return { kind: "namespace", name };
    if (functions.has(name)) return { kind: "builtin", name };
    const constant = constants.get(name);
    if (constant !== undefined) return value(this.literal(constant, node));
    if (name.includes(".")) return this.refuse(node, `there is no ${name} for njit.`);
    if (name !== "" && name === this.text.name) this.refuseRecursion(node);
    const own = hostRemedies.get(name);
    if (own !== undefined)
      return this.refuse(node, `the function reads "${name}", which njit does not know.`, own);
    return this.refuse(
      node,
      `the function reads the outer variable "${name}".`,
      `Build tools rename outer variables, so they are passed by name: njit((…, { ${name} }) => …, { ${name} })${
        name === "prange" ? "; prange itself is passed by njit" : ""
      }.`,
    );
  }

  protected assign(target: AnyNode, scope: Scope, expr: Expr, node: Positioned): void {
    if (target.type !== "Identifier") this.refuse(target, "cannot compile this assignment.");
    const binding = scope.find(target.name);
    if (binding === null) {
      this.refuse(
        target,
        `the function writes the outer variable "${target.name}".`,
        "Return the value, or write it into a tensor.",
      );
    }
    if (binding.kind === "pending") {
      this.refuse(target, `the function assigns to "${target.name}" before its declaration.`);
    }
    if (binding.kind === "fixed" || binding.constant) {
      this.refuse(target, `the function assigns to "${target.name}", which is constant.`);
    }
    this.set(binding.id, expr, node);
  }

  /** An argument of an inner call: a value is computed before the call. */
  protected passed(val: Val, node: Positioned): Val {
    return val.kind === "value" && !this.isFixed(val.expr) ? value(this.hold(val.expr, node)) : val;
  }

  /** The value of a declaration: new Float64Array(4) is a small array. */
  protected named(init: Expression, scope: Scope, id: Pattern): Val {
    if (init.type !== "NewExpression") return this.expression(init, scope);
    const { callee } = init;
    const name = callee.type === "Identifier" && scope.find(callee.name) === null ? callee.name : "";
    const [length, ...more] = init.arguments;
    const make = arrayKinds.get(name);
    const known = length && length.type !== "SpreadElement" ? this.value(length, scope) : null;
    if (make === undefined || more.length > 0 || known?.op !== "literal" || !isLength(known.value)) {
      return this.refuseSyntax(init);
    }
    const ref = this.newArray(
      id.type === "Identifier" ? id.name : "",
      make.dtype,
      known.value as number,
      make.clamped,
      init,
    );
    const zero = this.literal(make.big ? 0n : 0, init);
    for (let i = 0; i < (known.value as number); i++)
      this.store(ref, [this.literal(i, init)], zero, "[]", init);
    return { kind: "array", ref };
  }

  protected array(node: Expression, scope: Scope): ArrayRef {
    const val = this.expression(node, scope);
    if (val.kind === "argument" || val.kind === "array") return refOf(val);
    return this.refuse(
      node,
      "cannot compile this; elements are taken from arguments and local arrays, by name.",
    );
  }

  protected member(node: MemberExpression, scope: Scope): Val {
    if (node.object.type === "Super") return this.refuseSyntax(node.object);
    const object = this.expression(node.object, scope);
    const { property } = node;
    if (property.type === "PrivateIdentifier") return this.refuseSyntax(property);
    const key = keyOf(node);
    if (key !== null) {
      switch (object.kind) {
        case "namespace":
          return this.global(memberName(object.name, key), node);
        case "argument":
        case "array":
          return this.arrayMember(refOf(object), key, node);
        case "shape":
          if (key === "length") return value({ op: "rank", array: object.of, place: this.place(node) });
          break;
        case "tuple":
          if (key === "length") return value(this.literal(object.items.length, node));
      }
      return this.refuse(
        node,
        `cannot compile the property .${key} here.`,
        arrayRemedies[key] ??
          "Arrays have get, set, shape, size, rank and length; numbers and functions have nothing.",
      );
    }
    if (object.kind === "shape") return value(this.axisSize(object.of, property, scope, node));
    if (object.kind === "argument" || object.kind === "array") {
      return value(this.load(refOf(object), [this.value(property, scope)], "[]", node));
    }
    if (object.kind === "tuple") {
      const index = this.value(property, scope);
      const at = index.op === "literal" ? Number(index.value) : -1;
      if (at in object.items) return object.items[at];
    }
    return this.refuse(
      node,
      "cannot compile this property; elements are taken from arguments and local arrays.",
      object.kind === "value"
        ? "A variable holds no array: choose between elements, c ? a[i] : b[i], or write if … else."
        : undefined,
    );
  }

  protected axisSize(
    array: ArrayRef,
    axis: Expression,
    scope: Scope,
    node: Positioned,
    fromEnd = false,
  ): Expr {
    const known = this.value(axis, scope);
    if (known.op !== "literal" || !Number.isInteger(known.value) || (Number(known.value) < 0 && !fromEnd)) {
      return this.refuse(axis, "the axis of a shape is a literal from 0.", "Write a.shape[0].");
    }
    return { op: "size", array, axis: Number(known.value), place: this.place(node) };
  }

  protected arrayMember(array: ArrayRef, key: string, node: Positioned): Val {
    const place = this.place(node);
    switch (key) {
      case "shape":
        return { kind: "shape", of: array };
      case "size":
      case "length":
        return value({ op: "size", array, axis: key, place });
      case "rank":
        return value({ op: "rank", array, place });
      default:
        return this.refuse(
          node,
          `cannot compile .${key}; arrays have get, set, shape, size and rank here, typed arrays [i] and length.`,
          arrayRemedies[key] ?? "Write a loop.",
        );
    }
  }

  protected call(node: CallExpression, scope: Scope): Val {
    const { callee } = node;
    if (callee.type === "Super") return this.refuseSyntax(callee);
    if (callee.type === "MemberExpression" && callee.object.type !== "Super") {
      const method = this.method(callee, node, scope);
      if (method !== null) return method;
    }
    if (callee.type === "Identifier" && callee.name === "__name" && scope.find("__name") === null) {
      // esbuild wraps inner functions to keep their names: __name(t => t * t, "sq")
      const [named] = node.arguments;
      if (named !== undefined && named.type !== "SpreadElement") return this.expression(named, scope);
    }
    if (isBigInt(callee, scope)) {
      const [x] = this.all(node.arguments, scope);
      if (x === undefined) this.refuse(node, "BigInt takes a number.");
      return value({ op: "big", args: [x], place: this.place(node) });
    }
    if (callee.type === "MemberExpression" && isBigInt(callee.object, scope))
      return value(this.wrapped(keyOf(callee) ?? "", node, scope));
    const fn = this.expression(callee, scope);
    if (fn.kind === "function") {
      return this.callFunction(fn.fn, this.arguments(node, scope), node);
    }
    if (fn.kind === "builtin" || fn.kind === "namespace") return this.callBuiltin(fn.name, node, scope);
    if (fn.kind === "kernel") return this.callKernel(fn, node, scope);
    if (fn.kind === "prange") {
      this.refuse(node, "prange is for loops.", "Write for (const i of prange(n)) …, at the loop itself.");
    }
    return this.refuse(
      node,
      "cannot compile this call; functions of Math, inner functions and captured ones can be called.",
    );
  }

  /** BigInt.asIntN(64, x): what wraps anyway says so, and does it uncompiled too. */
  protected wrapped(name: string, node: CallExpression, scope: Scope): Expr {
    const [bits, x] = this.all(node.arguments, scope);
    if ((name !== "asIntN" && name !== "asUintN") || x === undefined)
      return this.refuse(
        node,
        `there is no BigInt.${name} for njit.`,
        "It knows BigInt.asIntN(64, x) and BigInt.asUintN(64, x).",
      );
    if (bits.op !== "literal" || bits.value !== 64)
      return this.refuse(
        node.arguments[0],
        "bigints have 64 bits here.",
        `Write BigInt.${name}(64, x); for fewer: x & 255n.`,
      );
    return { op: name, args: [x], place: this.place(node) };
  }

  /** Arguments of an inner function: arrays go as they are, values are computed in order. */
  protected arguments(node: CallExpression, scope: Scope): Val[] {
    const vals: Val[] = [];
    for (const a of node.arguments) {
      if (a.type === "SpreadElement") this.refuse(a, "cannot compile a spread; write the values one by one.");
      const at = this.out.length;
      const val = this.expression(a, scope);
      vals.forEach((v, i) => {
        if (v.kind === "value") vals[i] = value(this.settled(v.expr, node.arguments[i], at));
      });
      vals.push(val);
    }
    return vals;
  }

  /** `a.get(i, j)`, `a.set([i, j], v)`, `a.shape.at(-1)`; null: it is no method of an array. */
  protected method(callee: MemberExpression, node: CallExpression, scope: Scope): Val | null {
    const key = keyOf(callee);
    if (key === null || callee.object.type === "Super") return null;
    const isArray = key === "get" || key === "set" || key === "fill";
    if (!isArray && key !== "at") return null;
    const object = this.expression(callee.object, scope);
    if (object.kind === "shape" && key === "at" && node.arguments.length === 1) {
      return value(this.axisSize(object.of, node.arguments[0] as Expression, scope, node, true));
    }
    if (object.kind !== "argument" && object.kind !== "array") return null;
    const array = refOf(object);
    if (key === "get") return value(this.load(array, this.all(node.arguments, scope), "get", node));
    if (key !== "set") return this.refuse(node, `cannot compile .${key}(); write a loop.`);
    const [place, given, ...more] = node.arguments;
    if (place?.type !== "ArrayExpression" || given === undefined || more.length > 0) {
      return this.refuse(node, "set takes a list of indices and a value.", "Write a.set([i, j], value).");
    }
    const elements = place.elements.map((e) => e ?? this.refuse(place, "cannot compile a list with holes."));
    const all = this.all([...elements, given], scope);
    this.store(array, all.slice(0, -1), all[all.length - 1], "set", node);
    return nothing;
  }

  /** Functions of Math and Number, as kernels know them: their operations on these operands. */
  protected callBuiltin(name: string, node: CallExpression, scope: Scope): Val {
    const apply = functions.get(name);
    const place = this.place(node);
    if (name === "Math.random") {
      return this.refuse(
        node,
        "cannot compile Math.random.",
        "Pass a tensor of random numbers: random.uniform(shape).",
      );
    }
    if (apply === undefined) return this.refuse(node, `cannot call ${name}.`);
    const args = this.all(node.arguments, scope);
    if (name === "Number" && args.length > 0) return value(this.toNumber(args[0], place));
    const t = new TemplateBuilder();
    const ids = args.map((a, i) => (a.op === "literal" ? t.literal(a.value) : t.input(i)));
    const id = apply(t, ids, place.span);
    if (typeof id === "string") return this.refuse(node, id);
    return value(this.fromTemplate(t.nodes, id, args, place));
  }

  protected fromTemplate(
    nodes: readonly TemplateNode[],
    result: Id,
    args: readonly Expr[],
    place: Place,
    params: readonly Literal[] = [],
  ): Expr {
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
            : node.op === "param"
              ? { op: "literal", value: params[node.index], place }
              : node.op === "loop" || node.op === "item" || node.op === "read"
                ? refuse(place, "cannot compile this call of a kernel that has loops or tables.")
                : node.op === "cast" || node.op === "tuple"
                  ? refuse(
                      place,
                      node.op === "tuple"
                        ? "cannot compile this call of a kernel that has several results."
                        : "cannot compile this call of a kernel that converts its operands or its result.",
                    )
                  : this.op(node.op, node.args.map(exprOf), place);
      made.set(id, expr);
      return expr;
    };
    return exprOf(result);
  }

  /** A kernel computes on numbers here, as `kernel(2, 3)` does. */
  protected callKernel(fn: Val & { kind: "kernel" }, node: CallExpression, scope: Scope): Val {
    const { template } = fn.kernel;
    const place = this.place(node);
    const args = this.all(node.arguments, scope).map((a) => this.toNumber(a, place));
    if (args.length < template.inputs) {
      this.refuse(node, `"${fn.name}" takes ${template.inputs} arguments, got ${args.length}.`);
    }
    // What it captures is its own.
    const sources = template.params.map((_, index) => ({ key: fn.name, index }));
    const captured = captureValues({ ...template, sources }, { [fn.name]: fn.kernel }) as Literal[];
    return value(this.fromTemplate(template.nodes, template.result, args, place, captured));
  }
}

/* Small things ------------------------------------------------------------------------------------------- */

const refOf = (val: Val & { kind: "argument" | "array" }): ArrayRef =>
  val.kind === "array" ? val.ref : { kind: "argument", index: val.index };

/** A property that is written as a name: `a.b` or `a["b"]`. */
function keyOf(node: MemberExpression): string | null {
  const { property } = node;
  if (!node.computed && property.type === "Identifier") return property.name;
  return property.type === "Literal" && typeof property.value === "string" ? property.value : null;
}

const isBigInt = (node: AnyNode, scope: Scope): boolean =>
  node.type === "Identifier" && node.name === "BigInt" && scope.find("BigInt") === null;

/** Instead of what arrays have in JavaScript. */
const longer = "An array keeps its length: write into an element, w[n] = x, and count how many there are.";
const arrayRemedies: Readonly<Record<string, string>> = {
  push: longer,
  pop: longer,
  shift: longer,
  unshift: longer,
};

/** Names of the language and of its hosts that njit does not know, and what to do instead. */
const numbersAlone = "njit computes with numbers, booleans and arrays.";
const hostRemedies: ReadonlyMap<string, string> = new Map([
  ["arguments", "Name the parameters: (a, b) => …"],
  ["BigInt", "Call it: BigInt(x), BigInt.asIntN(64, x)."],
  ["parseInt", "A number is cut by Math.trunc(x)."],
  ["parseFloat", numbersAlone],
  ["Date", "Take the time before the call, and pass it as a number."],
  ["performance", "Take the time around the call."],
  ["console", "Return the value; explain(fn, …).trace() tells what each line did."],
  ...[
    "String",
    "Object",
    "Array",
    "JSON",
    "Map",
    "Set",
    "Symbol",
    "RegExp",
    "Error",
    "Promise",
    "Reflect",
    "Intl",
  ].map((name): [string, string] => [name, numbersAlone]),
]);

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
