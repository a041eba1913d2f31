/**
 * The typed expression DAG. A Program is what one element of the output costs: nodes in order, each naming
 * earlier ones by their position, so evaluating or emitting is one walk from first to last.
 *
 * Types are explicit: every argument already has the dtype its operation works in, and each conversion is a
 * `cast` node. f16 and bf16 values are held in f32 precision inside a program and round once when stored.
 */
import type { DType, Value } from "../dtype.ts";
import type { OpName } from "./ops.ts";

/** Position of a node in its program. */
export type Id = number;

/** Characters [start, end) of the source a node came from. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

interface Base {
  readonly dtype: DType;
  readonly args: readonly Id[];
  readonly span?: Span;
}
/** The current element of operand `index`. */
export interface InputNode extends Base {
  readonly op: "input";
  readonly index: number;
}
/** A captured scalar: the same for every element, passed when the kernel is called. */
export interface ParamNode extends Base {
  readonly op: "param";
  readonly index: number;
}
export interface ConstNode extends Base {
  readonly op: "const";
  readonly value: Value;
}
/** Value conversion by the law of `convert` in dtype.ts. */
export interface CastNode extends Base {
  readonly op: "cast";
}
/** The same bits as another dtype of equal size (f32 ↔ i32/u32, f64 ↔ i64/u64). */
export interface BitcastNode extends Base {
  readonly op: "bitcast";
}
export interface OpNode extends Base {
  readonly op: OpName;
}
/**
 * `args = [fast, isRare, ...slowArgs]`: the value `fast`, except where the bool `isRare` holds: there the scalar
 * function `slow` is called on the slow arguments. SIMD code tests "any lane rare?" and seldom branches.
 */
export interface RareNode extends Base {
  readonly op: "rare";
  readonly slow: string;
}
/** Several results: the last node of a program that has them. Its dtype is the first one's. */
export interface TupleNode extends Base {
  readonly op: "tuple";
}
/**
 * `args = [guard, starts…, outside…]`: a value that a loop carries from round to round starts as its argument. A round is
 * `body`, a program of [carried…, outside…] that gives the tuple [going, next…]. While `going` holds, the carried values become
 * the next ones; once it does not, they stay as they are, and are what `item` nodes take. Where the guard does not hold there
 * are no rounds. Its dtype is the first carried value's.
 */
export interface LoopNode extends Base {
  readonly op: "loop";
  readonly carried: number;
  readonly body: Program;
}
/** What a loop has carried to its end. */
export interface ItemNode extends Base {
  readonly op: "item";
  readonly index: number;
}
/**
 * `args = [guard, address, index, size, stride, index, size, stride, …]`: an element of a table, an axis' three facts in a
 * row. Where the guard holds every index must be one of its axis; elsewhere nothing is read, and the value is 0.
 */
export interface ReadNode extends Base {
  readonly op: "read";
  /** The table, as messages name it. */
  readonly name: string;
}
export type Node =
  | InputNode
  | ParamNode
  | ConstNode
  | CastNode
  | BitcastNode
  | RareNode
  | TupleNode
  | LoopNode
  | ItemNode
  | ReadNode
  | OpNode;

/** May it fail? Then it is done even where nobody uses its value. */
export const isEffect = (node: { readonly op: string }): boolean => node.op === "loop" || node.op === "read";

/** Is there such a node, in the program or in a loop of it? */
export function someNode(program: Program, is: (node: Node) => boolean): boolean {
  return program.nodes.some((node) => is(node) || (node.op === "loop" && someNode(node.body, is)));
}

/** Rounds that the loops of one element have together, at the most: one that needs more is taken for endless. */
export const MOST_ROUNDS = 2 ** 28;

export interface Program {
  readonly nodes: readonly Node[];
  readonly result: Id;
  /** Operand dtypes, by input index. */
  readonly inputs: readonly DType[];
  /** Captured scalars' dtypes, by param index. */
  readonly params: readonly DType[];
  /** dtype of the result, as stored. */
  readonly dtype: DType;
}

/** The nodes whose values a program gives: one, or those of its tuple. */
export function resultsOf({ nodes, result }: Pick<Program, "nodes" | "result">): readonly Id[] {
  const last = nodes[result];
  return last.op === "tuple" ? last.args : [result];
}

/* Before dtypes are known ------------------------------------------------------------------------------ */

/**
 * What a function says, before dtypes: the same DAG with literals instead of constants. One Template serves every
 * combination of operand dtypes; `specialize` (frontend/infer.ts) makes a Program of it.
 */
export type TemplateNode =
  | { readonly op: "input"; readonly index: number; readonly span?: Span }
  | { readonly op: "param"; readonly index: number; readonly span?: Span }
  | { readonly op: "literal"; readonly value: number | bigint | boolean; readonly span?: Span }
  | { readonly op: "cast"; readonly args: readonly Id[]; readonly dtype: DType; readonly span?: Span }
  | { readonly op: "tuple"; readonly args: readonly Id[]; readonly span?: Span }
  | TemplateLoop
  | { readonly op: "item"; readonly args: readonly Id[]; readonly index: number; readonly span?: Span }
  | {
      readonly op: "read";
      readonly args: readonly Id[];
      readonly dtype: DType;
      readonly name: string;
      readonly span?: Span;
    }
  | {
      readonly op: OpName;
      readonly args: readonly Id[];
      /** Of a choice between a number and a boolean: which argument was the boolean, before it became 1 or 0. */
      readonly boolean?: 1 | 2;
      readonly span?: Span;
    };

/** As a LoopNode; `body` has its inputs in the same order. */
export interface TemplateLoop {
  readonly op: "loop";
  readonly args: readonly Id[];
  readonly carried: number;
  /** Carried values that are set before anybody looks: where they start does not matter. */
  readonly loose: readonly boolean[];
  /** What JavaScript's typeof says of each; `either` where it depends. */
  readonly types: readonly ("number" | "boolean" | "either")[];
  readonly body: Region;
  readonly span?: Span;
}

/** Nodes, with inputs of their own. */
export interface Region {
  readonly nodes: readonly TemplateNode[];
  readonly result: Id;
}

/** Where a captured value comes from: a capture itself, a value that a captured kernel has, a fact of a captured table. */
export interface ParamSource {
  readonly key: string;
  readonly index?: number;
}

export interface Template extends Region {
  /** How many operands the function takes. */
  readonly inputs: number;
  /** Names of the captured scalars, by param index. */
  readonly params: readonly string[];
  /** The same, as to where they come from; left out: each is a capture of that name. */
  readonly sources?: readonly ParamSource[];
  /** The function's text, for messages and explain; empty for built-in operations. */
  readonly source: string;
  readonly name: string;
  /** Names that were taken for the global ones, where each is used first; a closure may have its own. */
  readonly globals?: Globals;
  /** What every operand is converted to before anything else, also those that the function leaves alone. */
  readonly compute?: DType | undefined;
}

/** How many results a function has that returns a list of them; 0: it returns a value. */
export function severalOf({ nodes, result }: Template): number {
  const last = nodes[result];
  return last.op === "tuple" ? last.args.length : 0;
}

export interface Globals {
  readonly names: readonly { readonly name: string; readonly span: Span }[];
  /** Does the function take its captured values in one object, as its last parameter? */
  readonly keyed: boolean;
}
