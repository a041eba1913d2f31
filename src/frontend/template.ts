/**
 * Builds Templates: what a function says before dtypes are known. Equal nodes are one node, operations on
 * literals are done at once exactly as JavaScript does them, and choices between booleans become logic. Used by
 * the front end on parsed functions, and by named operations that compose templates without parsing anything.
 */
import type { DType } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import {
  type Globals,
  type Id,
  isEffect,
  type ParamSource,
  type Region,
  type Span,
  type Template,
  type TemplateLoop,
  type TemplateNode,
} from "../ir/node.ts";
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

/**
 * A captured tensor, as functions of elements see it: `table.get(i, j)`, `table.shape[0]`, `table.size`. Where it lies is
 * known by the words below; who passes it answers for it that they hold as long as it lives.
 */
export class Table {
  /** What was captured. */
  readonly of: unknown;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** See `viewWords`. */
  readonly words: readonly number[];
  /** Refuses, in the name of an operation, a table that lives no more. */
  readonly check: (operation: string) => void;

  constructor(
    of: unknown,
    dtype: DType,
    shape: readonly number[],
    words: readonly number[],
    check: (operation: string) => void,
  ) {
    this.of = of;
    this.dtype = dtype;
    this.shape = shape;
    this.words = words;
    this.check = check;
  }

  get rank(): number {
    return this.shape.length;
  }
}

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
  const sources = template.sources ?? template.params.map((key): ParamSource => ({ key }));
  return sources.map(({ key, index }) => {
    const from = Object.hasOwn(captures, key) ? captures[key] : unreachable(`no captured value for ${key}`);
    if (index === undefined) return from;
    if (from instanceof Table) return from.words[index];
    return isKernelLike(from) ? kernels.get(from)![index] : unreachable(`${key} has no values of its own`);
  });
}

/** A loop before it is one node: everything in it is still among the nodes around it. */
export interface OpenLoop {
  /** Is it reached? */
  readonly guard: Id;
  /** What stands for the carried values, and where each starts. */
  readonly carried: readonly Id[];
  readonly starts: readonly Id[];
  readonly loose: readonly boolean[];
  readonly going: Id;
  readonly next: readonly Id[];
  /** What may fail in it: before `going` is known, and after. */
  readonly before: readonly Id[];
  readonly after: readonly Id[];
}

export class TemplateBuilder {
  readonly nodes: TemplateNode[] = [];
  readonly #types: JSType[] = [];
  readonly #keys: string[] = [];
  readonly #ids = new Map<string, Id>();
  #carried = 0;

  /** What was made since there were so many nodes is gone. */
  rollback(count: number): void {
    while (this.nodes.length > count) {
      this.nodes.pop();
      this.#types.pop();
      this.#ids.delete(this.#keys.pop()!);
    }
  }

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

  /** Stands for a value that a loop carries, until the loop is closed. */
  carried(type: JSType): Id {
    const index = this.#carried++;
    return this.#add(`carried#${index}`, type, { op: "input", index: -1 - index });
  }

  /** An element of a table; see ReadNode. */
  read(name: string, dtype: DType, args: readonly Id[], span?: Span): Id {
    const type = dtype === "bool" ? "boolean" : "number";
    const key = `read:${name}:${dtype}:${args.join(",")}`;
    return this.#add(key, type, { op: "read", name, dtype, args, ...at(span) });
  }

  item(loop: Id, index: number, span?: Span): Id {
    const node = this.nodes[loop] as TemplateLoop;
    return this.#add(`item:${loop}#${index}`, node.types[index], {
      op: "item",
      args: [loop],
      index,
      ...at(span),
    });
  }

  /** A loop that is closed already, on other arguments. */
  loopOn(loop: TemplateLoop, args: readonly Id[], span?: Span): Id {
    const key = `loop:${args.join(",")}:${loop.carried}:${loop.types}:${loop.loose}:${textOf(loop.body)}`;
    return this.#add(key, loop.types[0], { ...loop, args, ...at(span) });
  }

  /**
   * Closes a loop: the nodes that follow from what it carries become its body, all others come from outside. `outside`:
   * what may fail and does not follow from it.
   */
  loop(open: OpenLoop, span?: Span): { readonly id: Id; readonly outside: readonly Id[] } {
    const { guard, carried, starts, loose, going, next, before, after } = open;
    const inside = this.#following(carried);
    const nodes: TemplateNode[] = [];
    const places = new Map<Id, Id>();
    const inputs: Id[] = [...starts];
    const place = (id: Id, node: TemplateNode) => {
      nodes.push(node);
      places.set(id, nodes.length - 1);
    };
    carried.forEach((id, index) => {
      place(id, { op: "input", index });
    });
    const isOwn = (id: Id) => inside.has(id);
    const roots = [...before.filter(isOwn), going, ...after.filter(isOwn), ...next];
    const work = roots.toReversed();
    while (work.length > 0) {
      const id = work[work.length - 1];
      const node = this.nodes[id];
      if (places.has(id)) work.pop();
      else if (node.op === "literal") place(id, node);
      else if (!isOwn(id)) {
        inputs.push(id);
        place(id, { op: "input", index: inputs.length - 1 });
      } else {
        const args = "args" in node ? node.args : unreachable("a loop's own node without arguments");
        const missing = args.find((a) => !places.has(a));
        if (missing !== undefined) work.push(missing);
        else place(id, { ...node, args: args.map((a) => places.get(a)!) } as TemplateNode);
      }
    }
    const results = [going, ...next].map((id) => places.get(id)!);
    nodes.push({ op: "tuple", args: results });
    const types = carried.map((id) => {
      const type = this.typeOf(id);
      return type === "bit" ? "number" : type;
    });
    const body: Region = { nodes, result: nodes.length - 1 };
    const args = [guard, ...inputs];
    const loop: TemplateLoop = { op: "loop", args, carried: carried.length, loose, types, body };
    const outside = [...before, ...after].filter((id) => !isOwn(id));
    return { id: this.loopOn(loop, args, span), outside };
  }

  /** Does the node depend on one of these? */
  follows(id: Id, of: readonly Id[]): boolean {
    return of.length > 0 && this.#following(of).has(id);
  }

  /** The nodes that depend on some of these, these among them. */
  #following(of: readonly Id[]): Set<Id> {
    const found = new Set<Id>(of);
    const first = Math.min(...of);
    for (let id = first; id < this.nodes.length; id++) {
      const node = this.nodes[id];
      if ("args" in node && node.args.some((a) => found.has(a))) found.add(id);
    }
    return found;
  }

  /** `boolean`: of a choice that was written before; see TemplateNode. */
  op(op: OpName, args: readonly Id[], span?: Span, boolean?: 1 | 2): Id {
    const simpler = this.#simplify(op, args, span, boolean);
    if (simpler !== null) return simpler;
    const type = this.#resultType(op, args);
    const isMixed = op === "select" && this.typeOf(args[1]) !== this.typeOf(args[2]);
    const taken = isMixed ? [args[0], this.toNumber(args[1], span), this.toNumber(args[2], span)] : args;
    const was = isMixed ? ([1, 2] as const).find((i) => this.typeOf(args[i]) === "boolean") : boolean;
    const mark = was === undefined ? {} : { boolean: was };
    const key = `${op}:${taken.join(",")}:${type}:${was ?? ""}`;
    return this.#add(key, type, { op, args: taken, ...mark, ...at(span) });
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
      sources?: readonly ParamSource[];
      source?: string;
      name?: string;
      globals?: Globals | null;
      compute?: DType | undefined;
      /** What may fail: it is done whether or not the result needs it. */
      effects?: readonly Id[];
    },
  ): Template {
    const places = new Map<Id, Id>();
    const nodes: TemplateNode[] = [];
    const work: Id[] = [...(about.effects ?? []), result].reverse();
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
    const { inputs, params = [], sources, source = "", name = "", globals = null, compute } = about;
    const own = { nodes, result: places.get(result)!, inputs, params, source, name, compute };
    const named = sources === undefined ? own : { ...own, sources };
    return globals === null ? named : { ...named, globals };
  }

  #add(key: string, type: JSType, node: TemplateNode): Id {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.nodes.push(node);
    this.#types.push(type);
    this.#keys.push(key);
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
  #simplify(op: OpName, args: readonly Id[], span?: Span, boolean?: 1 | 2): Id | null {
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
        if (node.op === "not")
          return this.op("select", [node.args[0], c, b], span, boolean && (boolean === 1 ? 2 : 1));
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

/** Two regions of one text compute the same. */
const textOf = (region: Region): string =>
  JSON.stringify(region, (key, value) =>
    key === "span"
      ? undefined
      : typeof value === "bigint"
        ? `${value}n`
        : Object.is(value, -0)
          ? "-0"
          : typeof value === "number" && !Number.isFinite(value)
            ? String(value)
            : value,
  );

const at = (span: Span | undefined) => (span === undefined ? {} : { span });

/** Where a template is written: under a condition, if there is one. What of it may fail is added to `effects`. */
export interface Inlining {
  readonly guard: Id | null;
  readonly effects: Id[];
}

/** Writes `template` into `builder` on the given operands and captured scalars. Nodes take the span of the call. */
export function inlineTemplate(
  builder: TemplateBuilder,
  template: Template,
  args: readonly Id[],
  params: readonly Id[] = [],
  span?: Span,
  into: Inlining = { guard: null, effects: [] },
): Id {
  const { guard, effects } = into;
  /** Nothing that may fail is done where the template is not reached. */
  const guarded = (node: { readonly args: readonly Id[] }): Id[] => {
    const [own, ...rest] = node.args.map((a) => places[a]);
    return [guard === null ? own : builder.op("and", [guard, own]), ...rest];
  };
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
      case "loop":
        places.push(builder.loopOn(node, guarded(node), span));
        break;
      case "item":
        places.push(builder.item(places[node.args[0]], node.index, span));
        break;
      case "read":
        places.push(builder.read(node.name, node.dtype, guarded(node), span));
        break;
      default:
        places.push(
          builder.op(
            node.op,
            node.args.map((a) => places[a]),
            span,
            node.boolean,
          ),
        );
    }
  }
  template.nodes.forEach((node, id) => {
    if (isEffect(node)) effects.push(places[id]);
  });
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
