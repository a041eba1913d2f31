/**
 * What reading a function writes: statements in the order they happen, variables, arrays and labels. An expression is pure, and is
 * held in a variable only where something that happens later would change it.
 */
import { type AnyNode, type FunctionNode, type ParsedFunction, spanOf } from "../frontend/parse.ts";
import { fold } from "../frontend/template.ts";
import type { OpName } from "../ir/ops.ts";
import { refuse } from "./refuse.ts";
import { reassignedNames } from "./scopes.ts";
import type {
  Access,
  Argument,
  ArrayRef,
  Expr,
  LocalArray,
  Loop,
  Place,
  Returns,
  Stmt,
  Variable,
} from "./tree.ts";
import type { Text, Val } from "./values.ts";

export type Captures = Readonly<Record<string, unknown>>;
export type Positioned = { readonly start: number; readonly end: number };
export type Of<T extends AnyNode["type"]> = Extract<AnyNode, { type: T }>;

/** A small source may ask for no endless program: statements in all, functions inside of functions, list lengths. */
export const limits = { steps: 40_000, calls: 64, elements: 1024, depth: 700 };

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

export const textOf = ({ source, shift, node }: ParsedFunction): Text => ({
  source,
  shift,
  name: "id" in node ? (node.id?.name ?? "") : "",
  reassigned: reassignedNames(node),
});

/** Where `break` and `continue` lead. */
export interface Target {
  readonly label: number;
  readonly names: readonly string[];
  readonly isLoop: boolean;
  readonly isParallel: boolean;
  /** Calls around it: a jump never leaves a function. */
  readonly calls: number;
}

/** A function whose body is being written. */
export interface Frame {
  readonly node: FunctionNode;
  /** null: the function itself, whose return ends it. */
  readonly label: number | null;
  results: number[] | null;
  /** null: nothing was returned yet. */
  form: Returns | null;
}

export class Writer {
  protected readonly fn: ParsedFunction;
  protected readonly captures: Captures;
  protected readonly variables: Variable[] = [];
  protected readonly arrays: LocalArray[] = [];
  protected readonly args: Argument[] = [];
  protected readonly targets: Target[] = [];
  protected readonly frames: Frame[] = [];
  protected given = 0;
  protected labels = 0;
  protected steps = 0;
  protected depth = 0;
  protected text: Text;
  /** Where statements go. */
  protected out: Stmt[] = [];

  /** The function as it was given. */
  protected readonly itself: unknown;

  constructor(fn: ParsedFunction, captures: Captures, itself: unknown) {
    this.fn = fn;
    this.itself = itself;
    this.captures = captures;
    this.text = textOf(fn);
  }

  protected place(node: Positioned): Place {
    return { source: this.text.source, span: spanOf(node, this.text.shift) };
  }

  protected refuse(node: Positioned, reason: string, remedy?: string): never {
    return refuse(this.place(node), reason, remedy);
  }

  protected refuseSyntax(node: AnyNode): never {
    const [what, remedy] = refused[node.type] ?? ["this"];
    return this.refuse(
      node,
      `cannot compile ${what}; njit computes with numbers, booleans and arrays.`,
      remedy,
    );
  }

  protected refuseRecursion(node: Positioned): never {
    return this.refuse(
      node,
      "cannot compile a function that calls itself.",
      "Write a loop, with a small array as a stack.",
    );
  }

  protected enter(node: Positioned): void {
    if (++this.steps > limits.steps) {
      this.refuse(node, "cannot compile this function; it unfolds to too many operations.");
    }
    if (this.depth > limits.depth)
      this.refuse(node, "cannot compile this function; it is nested too deeply.");
  }

  protected variable(name: string, constant: boolean, node: Positioned): number {
    this.variables.push({ name, constant, fromLiteral: false, place: this.place(node) });
    return this.variables.length - 1;
  }

  protected set(id: number, value: Expr, node: Positioned): void {
    this.out.push({ op: "set", id, value, place: this.place(node) });
  }

  /** The expression, computed now: nothing that follows can change it. */
  protected hold(expr: Expr, node: Positioned): Expr {
    if (expr.op === "literal") return expr;
    const id = this.variable("", true, node);
    this.set(id, expr, node);
    return { op: "variable", id, place: expr.place };
  }

  /** Runs `make` after `before` has been evaluated: if that changes it, it is computed first. */
  protected before<T>(before: Expr, node: Positioned, make: () => T): [Expr, T] {
    const at = this.out.length;
    const made = make();
    return [this.settled(before, node, at), made];
  }

  /** An expression that was evaluated where statement `at` begins: held there, if something since then changes it. */
  protected settled(expr: Expr, node: Positioned, at: number): Expr {
    if (this.isFixed(expr)) return expr;
    const reads = readsOf(expr);
    if (!this.out.slice(at).some((s) => changes(s, reads))) return expr;
    const after = this.out.splice(at);
    const held = this.hold(expr, node);
    this.out.push(...after);
    return held;
  }

  /** Nothing can change it: it reads no variable that is assigned to. */
  protected isFixed(expr: Expr): boolean {
    if (expr.op === "variable") return this.variables[expr.id].constant;
    return !("args" in expr) || expr.args.every((a) => this.isFixed(a));
  }

  protected newArray(
    name: string,
    dtype: LocalArray["dtype"],
    length: number,
    clamped: boolean,
    node: Positioned,
  ): ArrayRef {
    if (length > limits.elements) {
      this.refuse(
        node,
        `a local array of ${length} elements is too large; the limit is ${limits.elements}.`,
        "Pass a tensor to work in.",
      );
    }
    this.arrays.push({ name, dtype, length, clamped });
    return { kind: "local", index: this.arrays.length - 1 };
  }

  /** Statements of their own list. */
  protected listed(write: () => void): Stmt[] {
    const around = this.out;
    this.out = [];
    write();
    const made = this.out;
    this.out = around;
    return made;
  }

  protected literal(of: number | bigint | boolean, node: Positioned): Expr {
    return { op: "literal", value: of, place: this.place(node) };
  }

  /** An operation, computed now where its operands are literals. */
  protected op(op: OpName, args: readonly Expr[], place: Place, strict = false): Expr {
    const values = args.map((a) => (a.op === "literal" ? a.value : undefined));
    if (values.every((v) => v !== undefined)) {
      const isMix = strict && typeof values[0] !== typeof values[1];
      const folded = isMix ? op === "ne" : fold(op, values);
      if (folded !== null) return { op: "literal", value: folded, place };
    }
    if (op === "select" && values[0] !== undefined) return values[0] ? args[1] : args[2];
    return strict ? { op, args, place, strict } : { op, args, place };
  }

  protected load(array: ArrayRef, index: readonly Expr[], access: Access, node: Positioned): Expr {
    this.checkLiteral(index, node);
    const id = this.variable("", true, node);
    const place = this.place(node);
    this.out.push({ op: "load", id, array, index, access, place });
    return { op: "variable", id, place };
  }

  protected store(
    array: ArrayRef,
    index: readonly Expr[],
    expr: Expr,
    access: Access,
    node: Positioned,
  ): void {
    this.checkLiteral(index, node);
    this.out.push({ op: "store", array, index, value: expr, access, place: this.place(node) });
  }

  /** An index that is written as a number and is wrong whatever the sizes are; one that is computed is told by its call. */
  protected checkLiteral(index: readonly Expr[], node: Positioned): void {
    const around = this.place(node);
    for (const i of index) {
      if (i.op !== "literal" || (typeof i.value === "number" && i.value >= 0 && Number.isInteger(i.value)))
        continue;
      const { source, span } = i.place;
      const isHere =
        source === around.source && span.start >= around.span.start && span.end <= around.span.end;
      const written = source.slice(span.start, span.end);
      if (typeof i.value === "number" && !(isHere && /^-?[\d.]+$/.test(written))) continue;
      refuse(
        i.place,
        `the index ${written} is no index; they count from 0.`,
        "The last element is at a.shape[0] - 1.",
      );
    }
  }
}

/* Small things ------------------------------------------------------------------------------------------- */

export const value = (expr: Expr): Val => ({ kind: "value", expr });

export const tests: ReadonlySet<string> = new Set(
  "eq ne lt le gt ge not and or truthy isNaN isFinite isInf signbit".split(" "),
);

/** Is it a boolean, whatever its operands are? */
export function isTest(expr: Expr): boolean {
  if (expr.op === "literal") return typeof expr.value === "boolean";
  return tests.has(expr.op);
}

/** Is it one of the literals it is made of? */
export const isLiteral = (expr: Expr): boolean =>
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

export const endsIn = (s: Stmt | undefined): boolean =>
  s !== undefined && (s.op === "break" || s.op === "continue" || s.op === "return");

/** May what follows the statements be reached? `jumps` learns where they jump to. */
export function goesThrough(stmts: readonly Stmt[], jumps = new Set<string>()): boolean {
  // What comes after one that does not cannot run.
  return stmts.every((s) => {
    switch (s.op) {
      case "break":
      case "continue":
        jumps.add(`${s.op} ${s.label}`);
        return false;
      case "return":
        return false;
      case "if": {
        const [yes, no] = [goesThrough(s.yes, jumps), goesThrough(s.no, jumps)];
        return yes || no;
      }
      case "block":
        return goesThrough(s.body, jumps) || jumps.has(`break ${s.label}`);
      case "loop":
        return endsByTest(s, jumps) || jumps.has(`break ${s.label}`);
      default:
        return true;
    }
  });
}

/** May the loop come to its test, if it has one? */
function endsByTest({ label, head, body, update, test, testLast }: Loop, jumps: Set<string>): boolean {
  const hasTest = test !== null;
  if (!testLast && !goesThrough(head, jumps)) return false;
  const isTurned = goesThrough(body, jumps) || jumps.has(`continue ${label}`);
  if (!testLast) return hasTest;
  return isTurned && goesThrough([...update, ...head], jumps) && hasTest;
}

/** Does the statement leave the block of this label somewhere inside? */
export function leavesBy(s: Stmt, label: number): boolean {
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
