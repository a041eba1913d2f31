/**
 * Builds Templates: what a function says before dtypes are known. Equal nodes are one node, operations on
 * literals are done at once exactly as JavaScript does them, and choices between booleans become logic. Used by
 * the front end on parsed functions, and by named operations that compose templates without parsing anything.
 */
import type { DType } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import type { Globals, Id, Span, Template, TemplateNode } from "../ir/node.ts";
import { type OpName, ops } from "../ir/ops.ts";

export type Literal = number | bigint | boolean;

/**
 * What JavaScript's typeof would say. `either` where a choice mixes the two (`x > 0 && x`), `bit` for a number
 * made of booleans that is still held as a bool (`(x > 0) & (x < 1)`).
 */
export type JSType = "number" | "boolean" | "either" | "bit";

/** Something that can be called inside a kernel: it is inlined. */
export interface KernelLike {
  readonly template: Template;
}

/**
 * What `kernel` has made, and nothing else: a property that any function may have makes no kernel of it. With the values
 * of their templates' params.
 */
const kernels = new WeakMap<object, readonly unknown[]>();
const kernelTemplates = new WeakSet<Template>();

/** From now on `made` is a kernel wherever one may stand, and its template its own for good. */
export function registerKernel(made: object, template: Template, values: readonly unknown[]): void {
  const value = { value: template, enumerable: true, writable: false, configurable: false };
  Object.defineProperty(made, "template", value);
  kernels.set(made, values);
  kernelTemplates.add(template);
}

export function isKernelLike(value: unknown): value is KernelLike {
  return (typeof value === "object" || typeof value === "function") && value !== null && kernels.has(value);
}

/** Is it a kernel's? */
export const isKernelTemplate = (template: Template): boolean => kernelTemplates.has(template);

/** A template of one operation on inputs 0, 1, …: `templateOf("add", "add")`. */
export function templateOf(op: OpName, name: string = op): Template {
  const t = new TemplateBuilder();
  const inputs = ops[op].arity;
  const args = Array.from({ length: inputs }, (_, i) => t.input(i));
  return t.finish(t.op(op, args), { inputs, name });
}

/**
 * The captured values in the order of `template.params`. A kernel inside a kernel brings its own captures, under
 * `name.theirs`.
 */
export function captureValues(template: Template, captures: Readonly<Record<string, unknown>>): unknown[] {
  return template.params.map((name) => captureValue(captures, name));
}

function captureValue(captures: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(captures, name)) return captures[name];
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const inner = Object.hasOwn(captures, name.slice(0, dot)) ? captures[name.slice(0, dot)] : undefined;
    if (!isKernelLike(inner)) continue;
    const index = inner.template.params.indexOf(name.slice(dot + 1));
    if (index >= 0) return kernels.get(inner)![index];
  }
  return unreachable(`no captured value for ${name}`);
}

export class TemplateBuilder {
  readonly nodes: TemplateNode[] = [];
  readonly #types: JSType[] = [];
  readonly #ids = new Map<string, Id>();

  typeOf(id: Id): JSType {
    return this.#types[id];
  }

  literalOf(id: Id): Literal | undefined {
    const node = this.nodes[id];
    return node.op === "literal" ? node.value : undefined;
  }

  input(index: number, span?: Span): Id {
    return this.#add(`input#${index}`, "number", { op: "input", index, ...at(span) });
  }

  param(index: number, type: JSType = "number", span?: Span): Id {
    return this.#add(`param#${index}`, type, { op: "param", index, ...at(span) });
  }

  literal(value: Literal, span?: Span): Id {
    const text = Object.is(value, -0) ? "-0" : String(value);
    const type = typeof value === "boolean" ? "boolean" : "number";
    return this.#add(`literal#${typeof value}${text}`, type, { op: "literal", value, ...at(span) });
  }

  cast(dtype: DType, x: Id, span?: Span): Id {
    const type = dtype === "bool" ? "boolean" : "number";
    return this.#add(`cast:${dtype}:${x}`, type, { op: "cast", dtype, args: [x], ...at(span) });
  }

  /** Several results. */
  tuple(args: readonly Id[], span?: Span): Id {
    return this.#add(`tuple:${args.join(",")}`, "number", { op: "tuple", args, ...at(span) });
  }

  op(op: OpName, args: readonly Id[], span?: Span): Id {
    const simpler = this.#simplify(op, args, span);
    if (simpler !== null) return simpler;
    const type = this.#resultType(op, args);
    const isMixed = op === "select" && this.typeOf(args[1]) !== this.typeOf(args[2]);
    const taken = isMixed ? [args[0], this.toNumber(args[1], span), this.toNumber(args[2], span)] : args;
    return this.#add(`${op}:${taken.join(",")}:${type}`, type, { op, args: taken, ...at(span) });
  }

  /**
   * JavaScript's ToNumber. A boolean becomes a choice between 1 and 0, so that `(x > 0) * y` is computed in y's
   * dtype, and on f64 exactly as JavaScript does it; all else is a number already.
   */
  toNumber(x: Id, span?: Span): Id {
    const type = this.typeOf(x);
    if (type !== "boolean" && type !== "bit") return x;
    return this.op("select", [x, this.literal(1, span), this.literal(0, span)], span);
  }

  /** The template, with only the nodes its result needs, in the order their values are wanted. */
  finish(
    result: Id,
    about: {
      inputs: number;
      params?: readonly string[];
      source?: string;
      name?: string;
      globals?: Globals | null;
    },
  ): Template {
    const places = new Map<Id, Id>();
    const nodes: TemplateNode[] = [];
    const work: Id[] = [result];
    while (work.length > 0) {
      const id = work[work.length - 1];
      const node = this.nodes[id];
      const args = "args" in node ? node.args : [];
      const missing = places.has(id) ? undefined : args.find((a) => !places.has(a));
      if (missing !== undefined) {
        work.push(missing);
        continue;
      }
      work.pop();
      if (places.has(id)) continue;
      nodes.push("args" in node ? { ...node, args: args.map((a) => places.get(a)!) } : node);
      places.set(id, nodes.length - 1);
    }
    const { inputs, params = [], source = "", name = "", globals = null } = about;
    const own = { nodes, result: places.get(result)!, inputs, params, source, name };
    return globals === null ? own : { ...own, globals };
  }

  #add(key: string, type: JSType, node: TemplateNode): Id {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.nodes.push(node);
    this.#types.push(type);
    this.#ids.set(key, this.nodes.length - 1);
    return this.nodes.length - 1;
  }

  #resultType(op: OpName, args: readonly Id[]): JSType {
    switch (ops[op].rule) {
      case "compare":
      case "logic":
      case "classify":
        return "boolean";
      case "select": {
        const [a, b] = [this.typeOf(args[1]), this.typeOf(args[2])];
        if (a === b) return a;
        return [a, b].some((type) => type === "boolean" || type === "either") ? "either" : "number";
      }
      case "bits":
        return args.every((a) => this.typeOf(a) === "boolean" || this.typeOf(a) === "bit") ? "bit" : "number";
      default:
        return "number";
    }
  }

  /** Rewrites that hold for every value of every dtype; null where there is none. */
  #simplify(op: OpName, args: readonly Id[], span?: Span): Id | null {
    const isTrue = (id: Id) => this.literalOf(id) === true;
    const isFalse = (id: Id) => this.literalOf(id) === false;
    const isBoolean = (id: Id) => this.typeOf(id) === "boolean";
    const [a, b, c] = args;
    switch (op) {
      case "select": {
        const test = this.literalOf(a);
        if (test !== undefined) return test ? b : c;
        if (b === c) return b;
        const node = this.nodes[a];
        if (node.op === "not") return this.op("select", [node.args[0], c, b], span);
        if (!isBoolean(a)) return null;
        if (isTrue(b) && isBoolean(c)) return this.op("or", [a, c], span); // a ? true : c
        if (isFalse(c) && isBoolean(b)) return this.op("and", [a, b], span); // a ? b : false
        if (isFalse(b) && isTrue(c)) return this.op("not", [a], span);
        return null;
      }
      case "truthy": {
        if (isBoolean(a)) return a;
        const node = this.nodes[a];
        if (node.op !== "select") break;
        const [yes, no] = [this.literalOf(node.args[1]), this.literalOf(node.args[2])];
        if (yes === undefined || no === undefined) break;
        return this.op("select", [node.args[0], this.literal(!!yes, span), this.literal(!!no, span)], span);
      }
      case "not": {
        const node = this.nodes[a];
        if (node.op === "not" && isBoolean(node.args[0])) return node.args[0];
        break;
      }
      case "and":
      case "or":
        if (isBoolean(a) && isBoolean(b)) {
          const neutral = op === "and" ? isTrue : isFalse;
          const decisive = op === "and" ? isFalse : isTrue;
          if (a === b || neutral(b) || decisive(a)) return a;
          if (neutral(a) || decisive(b)) return b;
        }
        break;
    }
    const values = args.map((id) => this.literalOf(id));
    if (!values.every((v) => v !== undefined)) return null;
    const folded = fold(op, values);
    return folded === null ? null : this.literal(folded, span);
  }
}

const at = (span: Span | undefined) => (span === undefined ? {} : { span });

/** Writes `template` into `builder` on the given operands and captured scalars. Nodes take the span of the call. */
export function inlineTemplate(
  builder: TemplateBuilder,
  template: Template,
  args: readonly Id[],
  params: readonly Id[] = [],
  span?: Span,
): Id {
  const places: Id[] = [];
  for (const node of template.nodes) {
    switch (node.op) {
      case "input":
        places.push(args[node.index] ?? unreachable(`${template.name}: no operand ${node.index}`));
        break;
      case "param":
        places.push(params[node.index] ?? unreachable(`${template.name}: no captured ${node.index}`));
        break;
      case "literal":
        places.push(builder.literal(node.value, span));
        break;
      case "cast":
        places.push(builder.cast(node.dtype, places[node.args[0]], span));
        break;
      case "tuple":
        places.push(
          builder.tuple(
            node.args.map((a) => places[a]),
            span,
          ),
        );
        break;
      default:
        places.push(
          builder.op(
            node.op,
            node.args.map((a) => places[a]),
            span,
          ),
        );
    }
  }
  return places[template.result];
}

/* Literals --------------------------------------------------------------------------------------------- */

/** The operation on literals, exactly as JavaScript; null where JavaScript would throw. */
export function fold(op: OpName, args: readonly Literal[]): Literal | null {
  if (op === "select") return args[0] ? args[1] : args[2];
  if (args.some((v) => typeof v === "bigint")) return foldBig(op, args);
  const { rule, eval: compute } = ops[op];
  const toInt32 = rule === "bits" || rule === "shift" || rule === "int32";
  const [a, b, c] = args.map((v) => (toInt32 ? Number(v) | 0 : Number(v)));
  return compute(a, b, c);
}

const hugeExponent = 4096n;

function foldBig(op: OpName, args: readonly Literal[]): Literal | null {
  const row = ops[op];
  if (row.rule === "compare") return looseCompare(op, args[0], args[1]);
  if (row.rule === "logic") return row.eval(Number(!!args[0]), Number(!!args[1]), 0);
  if (!args.every((v) => typeof v === "bigint")) return null;
  const [a, b, c] = args;
  switch (op) {
    case "div":
      return b === 0n ? null : a / b;
    case "rem":
      return b === 0n ? null : a % b;
    case "pow":
      return b < 0n || b > hugeExponent ? null : a ** b;
    case "shl":
      return b > hugeExponent ? null : a << b;
    case "shr":
      return b < -hugeExponent ? null : a >> b;
    case "shru":
      return null;
    default:
      return row.big?.(a, b, c) ?? null;
  }
}

function looseCompare(op: OpName, a: Literal, b: Literal): boolean | null {
  switch (op) {
    case "eq":
      // biome-ignore lint/suspicious/noDoubleEquals: 1n == 1
      return a == b;
    case "ne":
      // biome-ignore lint/suspicious/noDoubleEquals: 1n != 2
      return a != b;
    case "lt":
      return a < b;
    case "le":
      return a <= b;
    case "gt":
      return a > b;
    case "ge":
      return a >= b;
    default:
      return null;
  }
}
