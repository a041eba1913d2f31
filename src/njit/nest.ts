/**
 * Loops that count: what they look like in Code, and what a whole number inside of one is in its first turn and its last. In a
 * nest of such loops these are the corners, and an index that grows evenly has its extremes there.
 *
 * Corners are computed in 64 bits, and nothing is said of what those could not tell from another.
 */
import { Builder } from "../ir/build.ts";
import type { Id, Program } from "../ir/node.ts";
import { type Expression, eachStep, insides, type LocalInfo, type LoopStep, type Step } from "./ir.ts";

/** A loop that counts evenly. */
export interface Counted {
  readonly counter: number;
  /** The bound of the test; the last turn is at most (`up`) or at least this, or one off it. */
  readonly bound: { readonly program: Program; readonly id: Id; readonly locals: readonly number[] };
  readonly up: boolean;
  /** The counter may equal the bound. */
  readonly inclusive: boolean;
  /** What is added at the end of each turn; null: the local `by`, which must be over 0. */
  readonly step: number | null;
  readonly by: number | null;
}

/** How often each local is set. */
export type Writes = ReadonlyMap<number, number>;

export function writesIn(steps: readonly Step[]): Writes {
  const writes = new Map<number, number>();
  eachStep(steps, (s) => {
    if (s.op === "set" || s.op === "load") writes.set(s.local, (writes.get(s.local) ?? 0) + 1);
  });
  return writes;
}

export function hasLoop(step: Step): boolean {
  return insides(step).some((list) => list.some((s) => s.op === "loop" || s.op === "lanes" || hasLoop(s)));
}

export function jumps(step: Step): boolean {
  return step.op === "break" || step.op === "return" || insides(step).some((list) => list.some(jumps));
}

/** { if (i < bound) … else leave; …; i = i + step; again }, with one assignment of i and a bound that stays as it is. */
export function countedLoop({ body }: LoopStep, writes: Writes): Counted | null {
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
    const found = writes.get(counter) === 1 ? stepOf(body, counter, writes) : null;
    const up = form.up !== isMirrored;
    if (found === null) continue;
    const { step, by } = found;
    if (step === null ? !up : step === 0 || step > 0 !== up) continue;
    if (dependsOn(program, other, locals, (l) => writes.has(l))) continue;
    return { counter, bound: { program, id: other, locals }, up, inclusive: form.inclusive, step, by };
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
function stepOf(body: readonly Step[], counter: number, writes: Writes): Pick<Counted, "step" | "by"> | null {
  const at = body.findIndex((s) => s.op === "set" && s.local === counter);
  const set = body[at];
  if (set?.op !== "set") return null;
  let { program, locals } = set.value;
  let last = program.nodes[program.result];
  // i += 2 goes by way of a local.
  const before = body[at - 1];
  if (last.op === "cast" && program.nodes[last.args[0]].op === "input") last = program.nodes[last.args[0]];
  if (last.op === "input" && before?.op === "set" && before.local === locals[last.index]) {
    ({ program, locals } = before.value);
    last = program.nodes[program.result];
  }
  if ((last.op !== "add" && last.op !== "sub") || last.dtype !== "i32") return null;
  const [x, c] = last.args.map((a) => program.nodes[a]);
  if (x.op !== "input" || locals[x.index] !== counter || c.dtype !== "i32") return null;
  if (c.op === "const") return { step: last.op === "add" ? Number(c.value) : -Number(c.value), by: null };
  const isFixed = c.op === "input" && last.op === "add" && !writes.has(locals[c.index]);
  return isFixed ? { step: null, by: locals[c.index] } : null;
}

/** Does the node depend on a local that is set inside? */
export function dependsOn(
  program: Program,
  id: Id,
  locals: readonly number[],
  isOne: (local: number) => boolean,
): boolean {
  const node = program.nodes[id];
  if (node.op === "input") return isOne(locals[node.index]);
  return node.args.some((a) => dependsOn(program, a, locals, isOne));
}

/* Corners ------------------------------------------------------------------------------------------------- */

interface LevelOfNest {
  readonly counted: Counted;
  /** What the counter begins with; null: it has it already. */
  readonly start: Expression | null;
}

/**
 * How large a number may be that is told modulo 2^64 and compared without its sign: then what lies outside of 0 to 2^32 is
 * still outside.
 */
const MOST = 2 ** 64 - 2 ** 33;
const INT = 2 ** 31;

/** A program of whole numbers at the corners of a nest, under construction. */
export class Corners {
  readonly b = new Builder();
  readonly #writes: Writes;
  readonly #infos: readonly LocalInfo[];
  readonly #levels: LevelOfNest[];
  /** Locals that were set in this turn, by what they were set to. */
  readonly #values = new Map<number, Expression>();
  readonly #inputs: number[] = [];
  /** By node of 64 bits: how large it may be, without its sign. */
  readonly #sizes = new Map<Id, number>();

  /** `writes`: in the outermost loop. */
  constructor(counted: Counted, writes: Writes, infos: readonly LocalInfo[]) {
    this.#levels = [{ counted, start: null }];
    this.#writes = writes;
    this.#infos = infos;
  }

  /** Into a loop inside; false: what its counter begins with is not known. */
  enter(counted: Counted, start: Expression): boolean {
    if (!this.#isKnown(start)) return false;
    this.#levels.push({ counted, start });
    return true;
  }

  leave(): void {
    this.#levels.pop();
  }

  /** The turn sets a local, for good. */
  set(local: number, value: Expression): void {
    const { dtype } = value.program;
    const isWhole = dtype === "i32" || dtype === "i64";
    if (isWhole && this.#writes.get(local) === 1 && this.#isKnown(value)) this.#values.set(local, value);
  }

  forget(local: number): void {
    this.#values.delete(local);
  }

  /** Was everything that it is made of set before it in this turn, or not at all? */
  #isKnown({ locals }: Expression): boolean {
    return locals.every((l) => !this.#writes.has(l) || this.#values.has(l) || this.#levelOf(l) >= 0);
  }

  /** The level that counts with the local; -1: none. */
  #levelOf(local: number): number {
    return this.#levels.findLastIndex(({ counted }) => counted.counter === local);
  }

  /** Its values at the corners; null: it does not grow evenly, or may outgrow 64 bits. */
  extremes(e: Expression): readonly Id[] | null {
    const { dtype } = e.program;
    if (dtype !== "i32" && dtype !== "i64") return null;
    const used = this.#levels.map(() => false);
    this.#mark(e, used);
    const levels = used.flatMap((u, level) => (u ? [level] : []));
    const found: Id[] = [];
    for (let corner = 0; corner < 1 << levels.length; corner++) {
      const last = new Set(levels.filter((_, k) => corner & (1 << k)));
      const id = this.#value(e, (level) => last.has(level));
      if (id === null) return null;
      found.push(id);
    }
    return found;
  }

  /** Its value in the first turn of all. */
  first(e: Expression): Id | null {
    return this.#value(e, () => false);
  }

  /** How many turns the outermost loop makes, at the most. */
  turns(): Id | null {
    const { b } = this;
    const [{ counted }] = this.#levels;
    const [first, last] = [this.#counter(0, () => false), this.#counter(0, () => true)];
    if (first === null || last === null || !counted.up) return null;
    return b.op("add", b.op("sub", last, first), b.constant("i64", 1n));
  }

  /** That the loop goes upwards, if it counts by a local. */
  goesUp({ by }: Counted): Id[] {
    const { b } = this;
    return by === null ? [] : [b.op("gt", this.input(by), b.constant("i32", 0))];
  }

  input(local: number): Id {
    let k = this.#inputs.indexOf(local);
    if (k < 0) k = this.#inputs.push(local) - 1;
    return this.b.input(k, this.#infos[local].dtype);
  }

  /** All of the tests together. */
  finish(tests: Iterable<Id>): Expression {
    const { b } = this;
    const all = [...tests].reduce((x, y) => b.op("and", x, y));
    const inputs = this.#inputs.map((l) => this.#infos[l].dtype);
    return { program: b.finish(all, inputs), locals: [...this.#inputs] };
  }

  /** Which levels it depends on. */
  #mark({ program, locals }: Expression, used: boolean[]): void {
    for (const local of locals) {
      if (!program.nodes.some((n) => n.op === "input" && locals[n.index] === local)) continue;
      const level = this.#levelOf(local);
      if (level >= 0) {
        if (used[level]) continue;
        used[level] = true;
        const { counted, start } = this.#levels[level];
        this.#mark(counted.bound, used);
        if (start !== null) this.#mark(start, used);
      } else {
        const value = this.#values.get(local);
        if (value !== undefined) this.#mark(value, used);
      }
    }
  }

  #value(e: Expression, isLast: (level: number) => boolean): Id | null {
    return this.#even(e.program, e.program.result, e.locals, isLast);
  }

  #sized(id: Id, most: number): Id | null {
    if (most > MOST) return null;
    this.#sizes.set(id, most);
    return id;
  }

  /** The value of a node in 64 bits; null: it is not of the form a·i + b·j + c. */
  #even(program: Program, id: Id, locals: readonly number[], isLast: (level: number) => boolean): Id | null {
    const { b } = this;
    const node = program.nodes[id];
    if (node.dtype !== "i32" && node.dtype !== "i64") return null;
    switch (node.op) {
      case "const": {
        const value = BigInt(node.value);
        return this.#sized(b.constant("i64", value), Math.abs(Number(value)));
      }
      case "cast":
        return this.#even(program, node.args[0], locals, isLast);
      case "input":
        return this.#local(locals[node.index], isLast);
      case "mul":
        // Only one side may move: otherwise it is no straight line.
        if (node.args.filter((a) => this.#moves(program, a, locals)).length > 1) return null;
        break;
      case "add":
      case "sub":
        break;
      default:
        return node.dtype === "i32" ? this.#fixed(program, id, locals) : null;
    }
    const args = node.args.map((a) => this.#even(program, a, locals, isLast));
    const [x, y] = args;
    if (x === null || y === null) return null;
    const [m, n] = [this.#sizes.get(x)!, this.#sizes.get(y)!];
    return this.#sized(b.op(node.op as "add", x, y), node.op === "mul" ? m * n : m + n);
  }

  /** Any other operation, if its operands stay as they are. */
  #fixed(program: Program, id: Id, locals: readonly number[]): Id | null {
    if (dependsOn(program, id, locals, (l) => this.#writes.has(l))) return null;
    const { b } = this;
    const copy = (at: Id): Id => {
      const node = program.nodes[at];
      if (node.op === "input") return this.input(locals[node.index]);
      return b.add({ ...node, args: node.args.map(copy) });
    };
    return this.#sized(b.cast("i64", copy(id)), INT);
  }

  #counter(level: number, isLast: (level: number) => boolean): Id | null {
    const { b } = this;
    const { counted, start } = this.#levels[level];
    const { counter, bound, up, inclusive } = counted;
    if (!isLast(level)) {
      return start === null
        ? this.#sized(b.cast("i64", this.input(counter)), INT)
        : this.#value(start, isLast);
    }
    const end = this.#even(bound.program, bound.id, bound.locals, isLast);
    if (end === null || inclusive) return end;
    return this.#sized(b.op(up ? "sub" : "add", end, b.constant("i64", 1n)), this.#sizes.get(end)! + 1);
  }

  #local(local: number, isLast: (level: number) => boolean): Id | null {
    const level = this.#levelOf(local);
    if (level >= 0) return this.#counter(level, isLast);
    const value = this.#values.get(local);
    if (value !== undefined) return this.#value(value, isLast);
    if (this.#writes.has(local) || this.#infos[local].dtype !== "i32") return null;
    return this.#sized(this.b.cast("i64", this.input(local)), INT);
  }

  /** Does it change from turn to turn? */
  #moves(program: Program, id: Id, locals: readonly number[]): boolean {
    return dependsOn(program, id, locals, (l) => this.#writes.has(l));
  }
}
