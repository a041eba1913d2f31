/**
 * Checks move out of innermost loops. An index that grows evenly with the loop's counter has its extremes in the first and
 * the last turn: where both are inside, every turn's is, and the loop needs no check. So such a loop becomes two: one that
 * runs where the extremes are inside, without those checks, and the loop as it was for everything else, so that an error
 * comes where the function itself would have it.
 *
 * Extremes are computed in 64 bits, where sums and products of a few 32-bit integers do not wrap, whatever the loop would
 * have done with them.
 */
import { Builder } from "../ir/build.ts";
import type { Id, Program } from "../ir/node.ts";
import {
  type Code,
  type Expression,
  eachStep,
  insides,
  isLoopBlock,
  type LocalInfo,
  type LoopBlock,
  type Step,
} from "./ir.ts";
import { verifyCode } from "./verify.ts";

/** Accesses of one loop that are looked at, and products in an index: more is not worth a second loop. */
const MOST_CHECKS = 48;
const MOST_PRODUCTS = 2;

export function hoistChecks(code: Code): Code {
  const locals = [...code.locals];
  const sizes = [...code.sizes];
  const hoisting = new Hoisting(code, locals, sizes);
  const body = hoisting.list(code.body);
  return verifyCode({ ...code, locals, sizes, body }, "hoisting");
}

/** A loop that counts evenly: what its counter is in the first turn, and its bound in the last. */
interface Counted {
  readonly counter: number;
  /** The bound of the test; the last turn is at most (`up`) or at least this, or one off it. */
  readonly bound: { readonly program: Program; readonly id: Id; readonly locals: readonly number[] };
  readonly up: boolean;
  /** The counter may equal the bound. */
  readonly inclusive: boolean;
}

class Hoisting {
  readonly #code: Code;
  readonly #locals: LocalInfo[];
  readonly #sizes: Code["sizes"][number][];

  constructor(code: Code, locals: LocalInfo[], sizes: Code["sizes"][number][]) {
    this.#code = code;
    this.#locals = locals;
    this.#sizes = sizes;
  }

  list(steps: readonly Step[]): Step[] {
    return steps.map((step): Step => {
      if (isLoopBlock(step) && !hasLoop(step.body[0])) return this.#loop(step);
      switch (step.op) {
        case "if":
          return { ...step, yes: this.list(step.yes), no: this.list(step.no) };
        case "block":
        case "loop":
          return { ...step, body: this.list(step.body) };
        default:
          return step;
      }
    });
  }

  #loop(block: LoopBlock): Step {
    const [loop] = block.body;
    const writes = writesIn(loop.body);
    const counted = countedLoop(loop.body, writes);
    if (counted === null) return block;
    const guard = new Guard(counted, writes, this.#locals);
    const proved = new Map<Step, readonly boolean[]>();
    for (const step of always(loop.body)) {
      if (step.op === "set") {
        // From here on the counter is that of the next turn.
        if (step.local === counted.counter) break;
        guard.set(step.local, step.value);
      }
      if (step.op !== "load" && step.op !== "store") continue;
      const { argument, length } = this.#code.arrays[step.array];
      const axes = step.index.map((index, axis) =>
        guard.require(index, argument === null ? length : this.#size(step.array, axis)),
      );
      if (axes.some(Boolean)) proved.set(step, axes);
    }
    const test = guard.finish();
    if (test === null) return block;
    const free: Step = { op: "block", body: [{ ...loop, body: withProofs(loop.body, proved) }] };
    return { op: "if", test, yes: [free], no: [block] };
  }

  /** The local that holds the size of an axis. */
  #size(array: number, axis: number): SizeLocal {
    const known = this.#sizes.find((s) => s.array === array && s.axis === axis);
    if (known !== undefined) return { local: known.local };
    const local =
      this.#locals.push({ name: `${this.#code.arrays[array].name}.shape${axis}`, dtype: "i32" }) - 1;
    this.#sizes.push({ local, array, axis });
    return { local };
  }
}

interface SizeLocal {
  readonly local: number;
}

function hasLoop(step: Step): boolean {
  return insides(step).some((list) => list.some((s) => s.op === "loop" || hasLoop(s)));
}

/** How often each local is set inside. */
function writesIn(steps: readonly Step[]): ReadonlyMap<number, number> {
  const writes = new Map<number, number>();
  eachStep(steps, (s) => {
    if (s.op === "set" || s.op === "load") writes.set(s.local, (writes.get(s.local) ?? 0) + 1);
  });
  return writes;
}

/** Steps that every turn comes to: the loop's own list, and what is in a block there, up to the first jump. */
function always(steps: readonly Step[]): Step[] {
  const found: Step[] = [];
  for (const [i, s] of steps.entries()) {
    // The first step is the test that ends the loop.
    if (i > 0 && s.op !== "block" && jumps(s)) return found;
    found.push(s);
    if (s.op === "block") {
      found.push(...always(s.body));
      if (jumps(s)) return found;
    }
  }
  return found;
}

function jumps(step: Step): boolean {
  return step.op === "break" || step.op === "return" || insides(step).some((list) => list.some(jumps));
}

/** { if (i < bound) … else leave; …; i = i + step; again }, with one assignment of i and a bound that stays. */
function countedLoop(body: readonly Step[], writes: ReadonlyMap<number, number>): Counted | null {
  const [first] = body;
  if (first?.op !== "if" || first.yes.length > 0 || first.no.length !== 1 || first.no[0].op !== "break")
    return null;
  const { program, locals } = first.test;
  const test = program.nodes[program.result];
  const form = tests[test.op];
  if (form === undefined) return null;
  const [x, y] = test.args.map((a) => program.nodes[a]);
  // The counter on either side.
  for (const [side, other, isMirrored] of [
    [x, test.args[1], false] as const,
    [y, test.args[0], true] as const,
  ]) {
    if (side.op !== "input" || side.dtype !== "i32" || program.nodes[other].dtype !== "i32") continue;
    const counter = locals[side.index];
    const step = writes.get(counter) === 1 ? stepOf(body, counter) : null;
    const up = form.up !== isMirrored;
    if (step === null || step === 0 || step > 0 !== up) continue;
    return { counter, bound: { program, id: other, locals }, up, inclusive: form.inclusive };
  }
  return null;
}

const tests: Readonly<Record<string, { up: boolean; inclusive: boolean } | undefined>> = {
  lt: { up: true, inclusive: false },
  le: { up: true, inclusive: true },
  gt: { up: false, inclusive: false },
  ge: { up: false, inclusive: true },
};

/** What is added to the counter at the end of each turn, if that is all that happens to it. */
function stepOf(body: readonly Step[], counter: number): number | null {
  const set = body.find((s) => s.op === "set" && s.local === counter);
  if (set?.op !== "set") return null;
  const { program, locals } = set.value;
  const { op, args } = program.nodes[program.result];
  if (op !== "add" && op !== "sub") return null;
  const [x, c] = args.map((a) => program.nodes[a]);
  if (x.op !== "input" || locals[x.index] !== counter || c.op !== "const" || c.dtype !== "i32") return null;
  return op === "add" ? Number(c.value) : -Number(c.value);
}

/** The test that every extreme lies inside, under construction. */
class Guard {
  readonly #b = new Builder();
  readonly #counted: Counted;
  readonly #writes: ReadonlyMap<number, number>;
  /** Locals that were set in this turn from what is even: their values in the first turn and the last. */
  readonly #values = new Map<number, readonly [Id, Id]>();
  readonly #infos: readonly LocalInfo[];
  readonly #inputs: number[] = [];
  readonly #tests = new Set<Id>();
  #products = 0;

  constructor(counted: Counted, writes: ReadonlyMap<number, number>, infos: readonly LocalInfo[]) {
    this.#counted = counted;
    this.#writes = writes;
    this.#infos = infos;
  }

  /** Asks that the index be inside in the first and the last turn; false: it does not grow evenly, or is no integer. */
  require(index: Expression, size: number | SizeLocal): boolean {
    if ((index.program.dtype !== "i32" && index.program.dtype !== "i64") || this.#tests.size > MOST_CHECKS)
      return false;
    const b = this.#b;
    const ends = this.#ends(index);
    if (ends === null) return false;
    const limit =
      typeof size === "number" ? b.constant("u64", BigInt(size)) : b.cast("u64", this.#input(size.local));
    // A negative index is a huge one without its sign.
    for (const end of ends) this.#tests.add(b.op("lt", b.cast("u64", end), limit));
    return true;
  }

  /** The turn sets a local, for good: what it is in the first turn and the last. */
  set(local: number, value: Expression): void {
    const ends = this.#writes.get(local) === 1 && value.program.dtype === "i32" ? this.#ends(value) : null;
    if (ends !== null) this.#values.set(local, ends);
  }

  #ends({ program, locals }: Expression): readonly [Id, Id] | null {
    const [first, last] = [false, true].map((isLast) => {
      this.#products = 0;
      return this.#even(program, program.result, locals, isLast);
    });
    return first === null || last === null ? null : [first, last];
  }

  /** All of them together; null: nothing was asked. */
  finish(): Expression | null {
    if (this.#tests.size === 0) return null;
    const b = this.#b;
    const all = [...this.#tests].reduce((x, y) => b.op("and", x, y));
    const inputs = this.#inputs.map((l) => this.#infos[l].dtype);
    return { program: b.finish(all, inputs), locals: this.#inputs };
  }

  #input(local: number): Id {
    let k = this.#inputs.indexOf(local);
    if (k < 0) k = this.#inputs.push(local) - 1;
    return this.#b.input(k, this.#infos[local].dtype);
  }

  /** The value of a node in 64 bits, in the first turn or the last; null: it is not of the form a·i + b. */
  #even(program: Program, id: Id, locals: readonly number[], isLast: boolean): Id | null {
    const b = this.#b;
    const node = program.nodes[id];
    if (node.dtype !== "i32" && node.dtype !== "i64") return null;
    switch (node.op) {
      case "const":
        return b.constant("i64", BigInt(node.value));
      case "cast":
        return this.#even(program, node.args[0], locals, isLast);
      case "input":
        return this.#local(locals[node.index], isLast);
      case "mul": {
        // Only one side may move: otherwise it is no straight line.
        const moving = node.args.filter((a) => this.#moves(program, a, locals));
        if (moving.length > 1 || ++this.#products > MOST_PRODUCTS) return null;
        break;
      }
      case "add":
      case "sub":
        break;
      default:
        return null;
    }
    const args = node.args.map((a) => this.#even(program, a, locals, isLast));
    return args.some((a) => a === null) ? null : b.op(node.op as "add", ...(args as Id[]));
  }

  #local(local: number, isLast: boolean): Id | null {
    const b = this.#b;
    const { counter, bound, up, inclusive } = this.#counted;
    if (local === counter) {
      if (!isLast) return b.cast("i64", this.#input(counter));
      const end = this.#even(bound.program, bound.id, bound.locals, false);
      if (end === null || this.#moves(bound.program, bound.id, bound.locals)) return null;
      return inclusive ? end : b.op(up ? "sub" : "add", end, b.constant("i64", 1n));
    }
    const writes = this.#writes.get(local) ?? 0;
    if (writes === 0) return this.#infos[local].dtype === "i32" ? b.cast("i64", this.#input(local)) : null;
    return this.#values.get(local)?.[isLast ? 1 : 0] ?? null;
  }

  /** Does it change from turn to turn? */
  #moves(program: Program, id: Id, locals: readonly number[]): boolean {
    const node = program.nodes[id];
    if (node.op === "input") return this.#writes.has(locals[node.index]);
    return node.args.some((a) => this.#moves(program, a, locals));
  }
}

/** The steps, with the checks left out that hold anyway. */
function withProofs(steps: readonly Step[], proved: ReadonlyMap<Step, readonly boolean[]>): Step[] {
  return steps.map((step): Step => {
    const proofs = proved.get(step);
    if (proofs !== undefined && (step.op === "load" || step.op === "store")) {
      return { ...step, proved: proofs, index: step.index.map((i, d) => (proofs[d] ? narrow(i) : i)) };
    }
    switch (step.op) {
      case "if":
        return { ...step, yes: withProofs(step.yes, proved), no: withProofs(step.no, proved) };
      case "block":
      case "loop":
        return { ...step, body: withProofs(step.body, proved) };
      default:
        return step;
    }
  });
}

/** An index that is known to be inside, in 32 bits: sums and products modulo 2^32 are enough to find it. */
function narrow({ program, locals }: Expression): Expression {
  if (program.dtype === "i32") return { program, locals };
  const b = new Builder();
  const made: Id[] = [];
  for (const node of program.nodes) {
    const args = node.args.map((a) => made[a]);
    if (node.op === "const" && node.dtype === "i64")
      made.push(b.constant("i32", Number(BigInt.asIntN(32, BigInt(node.value)))));
    else if (node.op === "cast" && node.dtype === "i64") made.push(args[0]);
    else if (node.dtype === "i64") made.push(b.op(node.op as "add", ...args));
    else made.push(b.add({ ...node, args }));
  }
  return { program: b.finish(made[program.result], program.inputs), locals };
}
