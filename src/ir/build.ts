/**
 * Builds a Program node by node. Equal nodes are one node (common subexpressions vanish as they are written),
 * and every node's dtype follows from the typed rules below, so a mistake shows where it is made.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import type { Id, Node, Program, Span } from "./node.ts";
import { type OpName, ops } from "./ops.ts";

export class Builder {
  readonly nodes: Node[] = [];
  #ids = new Map<string, Id>();

  dtypeOf(id: Id): DType {
    return this.nodes[id].dtype;
  }

  input(index: number, dtype: DType, span?: Span): Id {
    return this.add({ op: "input", index, dtype, args: [], ...at(span) });
  }

  param(index: number, dtype: DType, span?: Span): Id {
    return this.add({ op: "param", index, dtype, args: [], ...at(span) });
  }

  /** The value must already be one of the dtype. */
  constant(dtype: DType, value: Value, span?: Span): Id {
    return this.add({ op: "const", value, dtype, args: [], ...at(span) });
  }

  cast(dtype: DType, x: Id, span?: Span): Id {
    return this.dtypeOf(x) === dtype ? x : this.add({ op: "cast", dtype, args: [x], ...at(span) });
  }

  bitcast(dtype: DType, x: Id): Id {
    return this.dtypeOf(x) === dtype ? x : this.add({ op: "bitcast", dtype, args: [x] });
  }

  rare(fast: Id, isRare: Id, slow: string, ...slowArgs: Id[]): Id {
    return this.add({ op: "rare", slow, dtype: this.dtypeOf(fast), args: [fast, isRare, ...slowArgs] });
  }

  /** Several results. */
  tuple(...args: Id[]): Id {
    return this.add({ op: "tuple", args, dtype: this.dtypeOf(args[0]) });
  }

  /** A loop; see LoopNode. */
  loop(carried: number, args: readonly Id[], body: Program, span?: Span): Id {
    return this.add({ op: "loop", carried, args, body, dtype: this.dtypeOf(args[1]), ...at(span) });
  }

  /** What a loop has carried to its end. */
  item(loop: Id, index: number): Id {
    const dtype = this.dtypeOf(this.nodes[loop].args[1 + index]);
    return this.add({ op: "item", index, args: [loop], dtype });
  }

  /** An operation on arguments that already have their working dtype. */
  op(op: OpName, ...args: Id[]): Id {
    return this.opAt(undefined, op, args);
  }

  opAt(span: Span | undefined, op: OpName, args: readonly Id[]): Id {
    return this.add({
      op,
      args,
      dtype: resultDType(
        op,
        args.map((a) => this.dtypeOf(a)),
      ),
      ...at(span),
    });
  }

  add(node: Node): Id {
    const key = nodeKey(node);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.nodes.push(node);
    this.#ids.set(key, this.nodes.length - 1);
    return this.nodes.length - 1;
  }

  finish(result: Id, inputs: readonly DType[], params: readonly DType[] = []): Program {
    return { nodes: this.nodes, result, inputs, params, dtype: this.dtypeOf(result) };
  }
}

const at = (span: Span | undefined) => (span === undefined ? {} : { span });

/** Two nodes with one key compute the same value. -0 and NaN keep their identity. */
export function nodeKey(node: Node): string {
  const head = `${node.op}:${node.dtype}:${node.args.join(",")}`;
  switch (node.op) {
    case "input":
    case "param":
      return `${head}#${node.index}`;
    case "const":
      return `${head}#${Object.is(node.value, -0) ? "-0" : node.value}`;
    case "rare":
      return `${head}#${node.slow}`;
    case "item":
      return `${head}#${node.index}`;
    case "loop":
      return `${head}#${node.carried}#${node.body.nodes.map(nodeKey).join(";")}`;
    case "read":
      return `${head}#${node.name}`;
    default:
      return head;
  }
}

/** The dtype of an operation's result, given arguments that are already in their working dtype. */
export function resultDType(op: OpName, args: readonly DType[]): DType {
  const row = ops[op];
  const first = args[0];
  if (args.length !== row.arity) unreachable(`${op} takes ${row.arity} arguments, got ${args.length}`);
  const same = args.every((d) => d === first);
  switch (row.rule) {
    case "compare":
      if (!same) unreachable(`${op} of ${args.join(", ")}`);
      return "bool";
    case "logic":
      if (!args.every((d) => d === "bool")) unreachable(`${op} of ${args.join(", ")}`);
      return "bool";
    case "classify":
      return "bool";
    case "select":
      if (first !== "bool" || args[1] !== args[2]) unreachable(`select of ${args.join(", ")}`);
      return args[1];
    case "int32":
      if (op !== "toInt32" && !args.every((d) => d === "i32")) unreachable(`${op} of ${args.join(", ")}`);
      return "i32";
    case "float":
      if (!same || dtypes[first].kind !== "float") unreachable(`${op} of ${args.join(", ")}`);
      return first;
    case "bits":
    case "shift":
      if (!same || dtypes[first].kind === "float") unreachable(`${op} of ${args.join(", ")}`);
      return first;
    default:
      if (!same) unreachable(`${op} of ${args.join(", ")}`);
      return first;
  }
}
