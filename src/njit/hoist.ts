/**
 * Checks move out of loops. An index that grows evenly with the counters of a loop, and of the loops inside it, has its extremes
 * in first and last turns: where those are inside, every turn's is, and the loop needs no check. So such a loop becomes two:
 * one that runs where the extremes are inside, without those checks, and the loop as it was for everything else, so that an
 * error comes where the function itself would have it. What is under a test in the loop is tried too: then there are three.
 *
 * Where nothing is checked any more, turns may run by lanes: vectorize.ts.
 */
import { dtypes } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import type { Id } from "../ir/node.ts";
import {
  type ArrayInfo,
  type Code,
  type Expression,
  eachStep,
  insides,
  isLoopBlock,
  type LocalInfo,
  type LoopBlock,
  type Step,
} from "./ir.ts";
import { Corners, type Counted, countedLoop, hasLoop, jumps, type Writes, writesIn } from "./nest.ts";
import { countMentions, escapes, type Mentions } from "./outline.ts";
import { type Facts, lanesFor } from "./vectorize.ts";
import { verifyCode } from "./verify.ts";

/** Accesses of one loop that are looked at: more is not worth a second loop. */
const MOST_CHECKS = 48;

/** The same code with the checks of its loops' indices before the loops, where what they reach is known by then. */
export function hoistChecks(code: Code): Code {
  const hoisting = new Hoisting(code);
  const { locals, sizes, words } = hoisting;
  const steps = hoisting.list(code.body);
  const body = [...hoisting.before, ...steps];
  return verifyCode({ ...code, locals, sizes, words, body }, "hoisting");
}

type Access = Step & { readonly op: "load" | "store" };

/** By step and axis: what of it is inside wherever the test holds. */
type Proofs = ReadonlyMap<Step, readonly boolean[]>;

interface Guarded {
  readonly test: Expression;
  readonly proofs: Proofs;
  /** Loads that are inside whether or not a turn comes to them: the test looks at every axis. */
  readonly sure: ReadonlySet<Step>;
}

class Hoisting implements Facts {
  readonly code: Code;
  readonly locals: LocalInfo[];
  readonly sizes: Code["sizes"][number][];
  readonly words: Code["words"][number][];
  /** What is computed when the function begins. */
  readonly before: Step[] = [];
  readonly all: Mentions;
  readonly hasThreads: boolean;
  readonly #apart = new Map<string, number>();
  /** Loads that may be made before the loops they are in. */
  readonly #sure = new WeakSet<Step>();
  /** By access: axes that a test has shown to be inside in every turn, whether it comes to them or not. */
  readonly #shown = new WeakMap<Step, readonly boolean[]>();
  #copies: ReadonlyMap<number, readonly string[]> | null = null;

  constructor(code: Code) {
    this.code = code;
    this.locals = [...code.locals];
    this.sizes = [...code.sizes];
    this.words = [...code.words];
    this.all = countMentions(code.body);
    this.hasThreads = code.body.some(hasParallel);
  }

  list(steps: readonly Step[]): Step[] {
    return steps.flatMap((step): Step[] => {
      if (isLoopBlock(step)) {
        const [loop] = step.body;
        if (!hasLoop(loop)) return this.#innermost(step, step);
        if (!loop.parallel) return this.#around(step);
      }
      switch (step.op) {
        case "if":
          return [{ ...step, yes: this.list(step.yes), no: this.list(step.no) }];
        case "block":
        case "loop":
        case "fork":
          return [{ ...step, body: this.list(step.body) }];
        default:
          return [step];
      }
    });
  }

  /** `original`: the same loop before a loop around it proved some of its accesses. */
  #innermost(block: LoopBlock, original: LoopBlock): Step[] {
    const [loop] = block.body;
    const writes = writesIn(loop.body);
    const counted = countedLoop(loop, writes);
    return counted === null ? [block] : this.#guarded(block, original, counted, writes);
  }

  #guarded(block: LoopBlock, original: LoopBlock, counted: Counted, writes: Writes): Step[] {
    const [whole, some] = this.#guards(block, counted, writes);
    const free = (guard: Guarded | null): Step[] => {
      const [made, ...up] = this.#lifted(this.#proved(block, guard));
      return [...up, ...lanesFor(this, made, original, counted), made];
    };
    if (whole === null && some === null) return free(null);
    const checked: Step[] = [block];
    const partly: Step[] =
      some === null ? checked : [{ op: "if", test: some.test, yes: free(some), no: checked }];
    if (whole === null) return partly;
    return [{ op: "if", test: whole.test, yes: free(whole), no: partly }];
  }

  /** A loop with others inside. */
  #around(block: LoopBlock): Step[] {
    const [loop] = block.body;
    const otherwise: Step = { op: "block", body: [{ ...loop, body: this.list(loop.body) }] };
    const isFlat = isNest(loop.body);
    // Nothing but lanes may come of it, and lanes store after their loops.
    if (!isFlat && storesInside(loop.body)) return [otherwise];
    const writes = writesIn(loop.body);
    const counted = countedLoop(loop, writes);
    if (counted === null) return [otherwise];
    const [whole, some] = this.#guards(block, counted, writes);
    const guard = whole ?? some;
    const free = this.#proved(block, guard);
    const lanes = lanesFor(this, this.#liftedInside(free), block, counted);
    if (isFlat && guard !== null && helpsInside(loop.body, guard.proofs)) {
      const inner = this.#inside(loop.body, free.body[0].body);
      const yes: Step[] = [...lanes, { op: "block", body: [{ ...loop, body: inner }] }];
      return [{ op: "if", test: guard.test, yes, no: [otherwise] }];
    }
    if (guard === null || lanes.length === 0) return [...lanes, otherwise];
    return [{ op: "if", test: guard.test, yes: lanes, no: [] }, otherwise];
  }

  /* Elements that stay ------------------------------------------------------------------------------------- */

  /** The loop where the guard holds. */
  #proved(block: LoopBlock, guard: Guarded | null): LoopBlock {
    return guard === null ? block : (proved(block, guard, this.#sure, this.#shown) as LoopBlock);
  }

  /**
   * The loop, and before it what it would load again and again: elements that a guard has shown to be inside, whose index stays,
   * of arrays that it does not store to. Nobody else knows the local that holds one.
   */
  #lifted(block: LoopBlock): [LoopBlock, ...Step[]] {
    const [loop] = block.body;
    const { reads, writes } = countMentions([block]);
    const stored = new Set<number>();
    eachStep([block], (s) => {
      if (s.op === "store") stored.add(s.array);
    });
    const stays = (s: Step & { op: "load" }): boolean => {
      if (!this.#sure.has(s) || this.all.writes.get(s.local) !== 1) return false;
      if (this.all.reads.get(s.local) !== reads.get(s.local)) return false;
      if (s.index.some((i) => i.locals.some((l) => writes.has(l)))) return false;
      const isOwn = this.code.arrays[s.array].argument === null;
      return isOwn ? !stored.has(s.array) : ![...stored].some((k) => this.code.arrays[k].argument !== null);
    };
    const up: Step[] = [];
    const list = (steps: readonly Step[]): Step[] =>
      steps.flatMap((s): Step[] => {
        if (s.op === "load" && stays(s)) {
          up.push(s);
          return [];
        }
        if (s.op === "if") return [{ ...s, yes: list(s.yes), no: list(s.no) }];
        return s.op === "block" || s.op === "loop" ? [{ ...s, body: list(s.body) }] : [s];
      });
    const body = list(loop.body);
    return up.length === 0 ? [block] : [{ op: "block", body: [{ ...loop, body }] }, ...up];
  }

  /** The same for every loop inside. */
  #liftedInside(block: LoopBlock): LoopBlock {
    const [loop] = block.body;
    const list = (steps: readonly Step[]): Step[] =>
      steps.flatMap((s): Step[] => {
        if (isLoopBlock(s)) {
          const [made, ...up] = this.#lifted(this.#liftedInside(s));
          return [...up, made];
        }
        if (s.op === "if") return [{ ...s, yes: list(s.yes), no: list(s.no) }];
        return s.op === "block" ? [{ ...s, body: list(s.body) }] : [s];
      });
    return { op: "block", body: [{ ...loop, body: list(loop.body) }] };
  }

  /** The loops inside of a nest, once more, for what is left. */
  #inside(original: readonly Step[], steps: readonly Step[]): Step[] {
    return steps.flatMap((step, i): Step[] => {
      const was = original[i];
      if (isLoopBlock(step) && isLoopBlock(was)) return this.#innermost(step, was);
      if (step.op === "if" && was.op === "if") {
        return [{ ...step, yes: this.#inside(was.yes, step.yes), no: this.#inside(was.no, step.no) }];
      }
      if (step.op === "block" && was.op === "block") {
        return [{ ...step, body: this.#inside(was.body, step.body) }];
      }
      return [step];
    });
  }

  /** Tests for all accesses, and, if that is less, for those that every turn comes to. */
  #guards(block: LoopBlock, counted: Counted, writes: Writes): readonly [Guarded | null, Guarded | null] {
    const [whole, some] = [true, false].map((isWhole) => {
      const guard = new Guard(this, counted, writes, isWhole);
      guard.walk(block.body[0].body.slice(1), counted.counter, false);
      return guard.finish();
    });
    if (whole === null || some === null) return [whole, some];
    return whole.size === some.size && whole.proofs.size === some.proofs.size ? [whole, null] : [whole, some];
  }

  /* What the function knows when it begins ------------------------------------------------------------------ */

  isShown(step: Step, axis: number): boolean {
    return this.#shown.get(step)?.[axis] === true;
  }

  isSize(local: number, array: number, axis: number): boolean {
    this.#copies ??= sizeCopies(this.code);
    return this.#copies.get(local)?.includes(`${array} ${axis}`) ?? false;
  }

  /** The local that holds the size of an axis. */
  size(array: number, axis: number): number {
    const known = this.sizes.find((s) => s.array === array && s.axis === axis);
    if (known !== undefined) return known.local;
    const local = this.#new(`${this.code.arrays[array].name}.shape${axis}`, "i32");
    this.sizes.push({ local, array, axis });
    return local;
  }

  /** The local that holds an array's address, or the byte stride of an axis. */
  word(array: number, word: "address" | number): number {
    const known = this.words.find((w) => w.array === array && w.word === word);
    if (known !== undefined) return known.local;
    const { name } = this.code.arrays[array];
    const local = this.#new(word === "address" ? `${name}.address` : `${name}.stride${word}`, "i32");
    this.words.push({ local, array, word });
    return local;
  }

  /** The local that says whether two arrays share no byte. */
  apart(a: number, c: number): number {
    const key = `${Math.min(a, c)} ${Math.max(a, c)}`;
    let local = this.#apart.get(key);
    if (local === undefined) {
      const { arrays } = this.code;
      local = this.#new(`apart.${arrays[a].name}.${arrays[c].name}`, "bool");
      this.#apart.set(key, local);
      this.before.push({ op: "set", local, value: this.#apartness(a, c) });
    }
    return local;
  }

  #apartness(a: number, c: number): Expression {
    const b = new Builder();
    const inputs: number[] = [];
    const input = (local: number): Id => {
      let k = inputs.indexOf(local);
      if (k < 0) k = inputs.push(local) - 1;
      return b.input(k, "i32");
    };
    const wide = (x: Id) => b.cast("i64", x);
    const int = (x: number) => b.constant("i64", BigInt(x));
    // From the first byte of all elements to the one after the last: a stride may be negative.
    const extent = (array: number): readonly [Id, Id] => {
      const { rank, itemBytes } = factsOf(this.code.arrays[array]);
      let low = wide(b.cast("u32", input(this.word(array, "address"))));
      let high = b.op("add", low, int(itemBytes));
      for (let d = 0; d < rank; d++) {
        const stride = wide(input(this.word(array, d)));
        const reach = b.op("mul", b.op("sub", wide(input(this.size(array, d))), int(1)), stride);
        low = b.op("add", low, b.op("min", reach, int(0)));
        high = b.op("add", high, b.op("max", reach, int(0)));
      }
      return [low, high];
    };
    const [x, y] = [extent(a), extent(c)];
    const apart = b.op("or", b.op("le", x[1], y[0]), b.op("le", y[1], x[0]));
    // Strides of 2^31 bytes and more come with another sign: such an extent leaves the memory.
    const within = [x, y].flatMap(([low, high]) => [b.op("ge", low, int(0)), b.op("le", high, int(2 ** 32))]);
    const all = within.reduce((p, q) => b.op("and", p, q), apart);
    return {
      program: b.finish(
        all,
        inputs.map(() => "i32" as const),
      ),
      locals: inputs,
    };
  }

  #new(name: string, dtype: LocalInfo["dtype"]): number {
    return this.locals.push({ name, dtype }) - 1;
  }
}

const factsOf = ({ rank, dtype }: ArrayInfo) => ({ rank, itemBytes: dtypes[dtype].bytes });

const hasParallel = (step: Step): boolean =>
  step.op === "fork" || insides(step).some((list) => list.some(hasParallel));

/** Locals that hold the size of an axis all along, by local: `array axis`, all that they are. */
function sizeCopies({ sizes, body }: Code): ReadonlyMap<number, readonly string[]> {
  const held = new Map<number, string[]>();
  for (const { local, array, axis } of sizes)
    held.set(local, [...(held.get(local) ?? []), `${array} ${axis}`]);
  const writes = writesIn(body);
  for (const s of body) {
    if (s.op !== "set" || writes.get(s.local) !== 1) continue;
    const { program, locals } = s.value;
    const last = program.nodes[program.result];
    const of = last.op === "input" ? held.get(locals[last.index]) : undefined;
    if (of !== undefined) held.set(s.local, of);
  }
  return held;
}

/** Indices that are inside by what they are: x % n of an axis of size n, and numbers. */
export function proveIndices(code: Code): Code {
  const sizes = sizeCopies(code);
  return { ...code, body: code.body.map((s) => wrapped(code, s, sizes)) };
}

/** x % n is inside of an axis of size n: as integers without a sign, n is over 0. */
function wrapped(code: Code, step: Step, sizes: ReadonlyMap<number, readonly string[]>): Step {
  const isInside = ({ program, locals }: Expression, array: number, axis: number): boolean => {
    let node = program.nodes[program.result];
    const { argument, length } = code.arrays[array];
    if (node.op === "const")
      return argument === null && Number(node.value) >= 0 && Number(node.value) < length;
    while (node.op === "cast") node = program.nodes[node.args[0]];
    if (node.op !== "rem" || node.dtype !== "u32") return false;
    let by = program.nodes[node.args[1]];
    while (by.op === "cast") by = program.nodes[by.args[0]];
    return by.op === "input" && (sizes.get(locals[by.index])?.includes(`${array} ${axis}`) ?? false);
  };
  const all = (steps: readonly Step[]) => steps.map((s) => wrapped(code, s, sizes));
  switch (step.op) {
    case "load":
    case "store": {
      const proved = step.index.map(
        (e, axis) => step.proved[axis] || (e.program.dtype === "i32" && isInside(e, step.array, axis)),
      );
      return { ...step, proved };
    }
    case "if":
      return { ...step, yes: all(step.yes), no: all(step.no) };
    case "block":
    case "loop":
    case "fork":
      return { ...step, body: all(step.body) };
    default:
      return step;
  }
}

/** Are the loops inside innermost ones? */
function isNest(steps: readonly Step[]): boolean {
  return steps.every((s) => s.op !== "fork" && (s.op === "loop" ? !hasLoop(s) : insides(s).every(isNest)));
}

/** Does a loop inside store something? */
function storesInside(steps: readonly Step[], inLoop = false): boolean {
  return steps.some(
    (s) =>
      (inLoop && s.op === "store") ||
      insides(s).some((list) => storesInside(list, inLoop || s.op === "loop" || s.op === "fork")),
  );
}

/** Does it prove something inside of an inner loop? */
function helpsInside(steps: readonly Step[], proofs: Proofs, inLoop = false): boolean {
  return steps.some(
    (s) =>
      (inLoop && proofs.has(s)) ||
      insides(s).some((list) => helpsInside(list, proofs, inLoop || s.op === "loop")),
  );
}

/** The test that the extremes of a loop's accesses lie inside, under construction. */
class Guard {
  readonly #facts: Hoisting;
  readonly #writes: Writes;
  /** Accesses under tests too. */
  readonly #isWhole: boolean;
  readonly #corners: Corners;
  readonly #ups: Id[];
  readonly #tests = new Set<Id>();
  readonly #proofs = new Map<Step, readonly boolean[]>();
  readonly #sure = new Set<Step>();

  constructor(facts: Hoisting, counted: Counted, writes: Writes, isWhole: boolean) {
    this.#facts = facts;
    this.#writes = writes;
    this.#isWhole = isWhole;
    this.#corners = new Corners(counted, writes, facts.locals);
    this.#ups = this.#corners.goesUp(counted);
  }

  finish(): (Guarded & { size: number }) | null {
    if (this.#tests.size === 0) return null;
    return {
      test: this.#corners.finish([...this.#ups, ...this.#tests]),
      proofs: this.#proofs,
      sure: this.#sure,
      size: this.#tests.size,
    };
  }

  /** Steps of a turn in their order, up to the one that counts. `isUnder`: not every turn comes here. */
  walk(steps: readonly Step[], counter: number, isUnder: boolean): void {
    const set: number[] = [];
    /** What a local was set to last in this list. */
    const starts = new Map<number, Expression>();
    let under = isUnder;
    for (const step of steps) {
      if (step.op === "set") {
        // From here on the counter is that of the next turn.
        if (step.local === counter) break;
        this.#corners.set(step.local, step.value);
        set.push(step.local);
        starts.set(step.local, step.value);
      } else if (step.op === "load" || step.op === "store") {
        if (this.#isWhole || !under) this.#require(step);
        if (step.op === "load") starts.delete(step.local);
      } else if (isLoopBlock(step)) {
        this.#enter(step, starts, under);
      } else {
        for (const inner of insides(step)) this.walk(inner, counter, under || step.op === "if");
      }
      for (const local of writesIn([step]).keys()) if (step.op !== "set") starts.delete(local);
      if (isLoopBlock(step) ? escapes([step], 0) : jumps(step)) under = true;
    }
    // What was set under a test holds there alone.
    if (isUnder) for (const local of set) this.#corners.forget(local);
  }

  #enter(block: LoopBlock, starts: ReadonlyMap<number, Expression>, under: boolean): void {
    const [loop] = block.body;
    const own = writesIn(loop.body);
    const counted = countedLoop(loop, own);
    if (counted === null) return;
    const start = starts.get(counted.counter);
    // Set before the loop and by the loop, and nowhere else.
    if (start === undefined || this.#writes.get(counted.counter) !== 2) return;
    if (!this.#corners.enter(counted, start)) return;
    if (counted.by !== null && own.has(counted.by)) this.#corners.leave();
    else {
      this.#ups.push(...this.#corners.goesUp(counted));
      this.walk(loop.body.slice(1), counted.counter, under);
      this.#corners.leave();
    }
    for (const local of own.keys()) this.#corners.forget(local);
  }

  #require(step: Access): void {
    const { argument, length } = this.#facts.code.arrays[step.array];
    const axes = step.index.map((index, axis) => {
      if (step.proved[axis] || this.#tests.size > MOST_CHECKS) return step.proved[axis];
      const extremes = this.#corners.extremes(index);
      if (extremes === null) return false;
      const { b } = this.#corners;
      const limit =
        argument === null
          ? b.constant("u64", BigInt(length))
          : b.cast("u64", this.#corners.input(this.#facts.size(step.array, axis)));
      // A negative index is a huge one without its sign.
      for (const id of extremes) this.#tests.add(b.op("lt", b.cast("u64", id), limit));
      return true;
    });
    if (axes.some((now, axis) => now && !step.proved[axis])) this.#proofs.set(step, axes);
    if (step.op === "load" && axes.every((now, axis) => now && !step.proved[axis])) this.#sure.add(step);
  }
}

/** The step, with the checks left out that hold anyway. Learns which loads are sure. */
function proved(
  step: Step,
  guard: Guarded,
  sure: WeakSet<Step>,
  shown: WeakMap<Step, readonly boolean[]>,
): Step {
  const axes = guard.proofs.get(step);
  if (axes !== undefined && (step.op === "load" || step.op === "store")) {
    const made = { ...step, proved: axes, index: step.index.map((i, d) => (axes[d] ? narrow(i) : i)) };
    if (guard.sure.has(step)) sure.add(made);
    const before = shown.get(step);
    shown.set(
      made,
      axes.map((now, d) => (now && !step.proved[d]) || before?.[d] === true),
    );
    return made;
  }
  const all = (steps: readonly Step[]) => steps.map((s) => proved(s, guard, sure, shown));
  switch (step.op) {
    case "if":
      return { ...step, yes: all(step.yes), no: all(step.no) };
    case "block":
    case "loop":
      return { ...step, body: all(step.body) };
    default:
      return step;
  }
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
