/**
 * Which loops run by lanes, and what must hold for that: turns that count by one, of which none needs what another one
 * made. A value is either the same in all lanes (then it stays scalar code) or one of its own in each; a test that differs
 * between lanes becomes a mask. Loops inside stay loops: so the loop above a reduction runs by lanes, each with a sum of its
 * own, in order. Nothing is reassociated. Lanes that leave such a loop, or a block, before others wait for them under a mask.
 *
 * A sum that is carried from turn to turn is still made in order, lane after lane, after what it sums was computed by
 * lanes: `after` has those steps.
 */
import { type DType, dtypes, isFloat } from "../dtype.ts";
import type { Id, Program } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import { storedAs } from "../optimize/storage.ts";
import {
  type Code,
  type Expression,
  eachStep,
  expressionsOf,
  insides,
  isLoopBlock,
  jumpsTo,
  type LanesStep,
  type LocalInfo,
  type LoopBlock,
  type Step,
} from "./ir.ts";
import { Corners, type Counted, dependsOn, hasLoop, jumps, type Writes, writesIn } from "./nest.ts";
import { countMentions, escapes, type Mentions } from "./outline.ts";

/** What the pass knows of the whole function, and the locals it makes. */
export interface Facts {
  readonly code: Code;
  readonly locals: readonly LocalInfo[];
  /** Of the function as it was. */
  readonly all: Mentions;
  /** Some of its loops may run on several threads. */
  readonly hasThreads: boolean;
  word(array: number, word: "address" | number): number;
  apart(a: number, b: number): number;
  size(array: number, axis: number): number;
  /** Does the local hold the size of the axis all along? */
  isSize(local: number, array: number, axis: number): boolean;
  /** Has a test shown that the index is inside in every turn, whether it comes to it or not? */
  isShown(step: Step, axis: number): boolean;
}

type Access = Step & { readonly op: "load" | "store" };

/**
 * The step that runs groups of turns by lanes before the loop does the rest, under the test that memory allows it; nothing
 * where it cannot be. `original`: the loop as it stands in the function.
 */
export function lanesFor(facts: Facts, block: LoopBlock, original: LoopBlock, counted: Counted): Step[] {
  if (block.body[0].parallel || counted.step !== 1) return [];
  const turn = turnOf(block, counted);
  if (turn === null) return [];
  const lanes = new Lanes(facts, counted, turn).plan(original);
  if (lanes === null) return [];
  const { step, test } = lanes;
  return test === null ? [step] : [{ op: "if", test, yes: [step], no: [] }];
}

/** What a turn does besides testing and counting, without jumps; null: it has others. */
function turnOf(block: LoopBlock, { counter }: Counted): readonly Step[] | null {
  const body = block.body[0].body.slice(1);
  const [update, again] = body.slice(-2);
  if (update?.op !== "set" || update.local !== counter) return null;
  if (again?.op !== "break" || again.depth !== 0) return null;
  return straight(body.slice(0, -2));
}

/** Steps whose jumps go to the end of a block are branches instead; null: they go elsewhere. */
function straight(steps: readonly Step[]): readonly Step[] | null {
  const out: Step[] = [];
  for (const step of steps) {
    if (["return", "break", "loop", "lanes", "fork"].includes(step.op)) return null;
    if (step.op === "block" && !isLoopBlock(step)) {
      const inner = unjumped(step.body);
      if (inner === null) return null;
      out.push(...inner);
    } else if (step.op === "if") {
      const [yes, no] = [straight(step.yes), straight(step.no)];
      if (yes === null || no === null) return null;
      out.push({ ...step, yes, no });
    } else if (isLoopBlock(step)) {
      if (escapes([step], 0)) return null;
      out.push(step);
    } else out.push(step);
  }
  return out;
}

/** The steps of a block, where a jump to its end is the last thing of a branch. */
function unjumped(steps: readonly Step[]): readonly Step[] | null {
  for (const [i, step] of steps.entries()) {
    if (step.op !== "if" || !jumps(step)) continue;
    const before = straight(steps.slice(0, i));
    const rest = unjumped(steps.slice(i + 1));
    if (before === null || rest === null) return null;
    const side = (list: readonly Step[]): readonly Step[] | null => {
      const last = list.at(-1);
      if (last?.op === "break" && last.depth === 0) return straight(list.slice(0, -1));
      const through = straight(list);
      return through === null ? null : [...through, ...rest];
    };
    const [yes, no] = [side(step.yes), side(step.no)];
    // The rest is written once: one of the sides leaves.
    const leaves = [step.yes, step.no].filter((l) => l.at(-1)?.op === "break").length;
    if (yes === null || no === null || leaves !== 1) return null;
    return [...before, { ...step, yes, no }];
  }
  const last = steps.at(-1);
  return last?.op === "break" && last.depth === 0 ? straight(steps.slice(0, -1)) : straight(steps);
}

/** How an access moves from lane to lane. */
interface Move {
  readonly step: Access;
  /** By axis; null: unevenly, so that each lane is loaded from a place of its own. */
  readonly slopes: readonly number[] | null;
  /** In a loop inside. */
  readonly isInner: boolean;
  /** A lane may pass it by. */
  readonly isMasked: boolean;
  /** In a loop inside, with an index that changes there. */
  readonly sweeps: boolean;
}

/** A loop inside: what it sets, and whether it stores. */
interface Inner {
  readonly writes: Writes;
  readonly stores: boolean;
}

class Lanes {
  readonly #facts: Facts;
  readonly #counted: Counted;
  readonly #turn: readonly Step[];
  readonly #writes: Writes;
  /** Locals that differ between lanes. */
  readonly #varying = new Set<number>();
  /** Locals that are carried from turn to turn, and what is made of them: in order, after the lanes. */
  readonly #serial = new Set<number>();
  /** By local that grows evenly: by how much from lane to lane. */
  readonly #slopes = new Map<number, number>();
  readonly #moves: Move[] = [];
  /** By access: axes that are inside where a lane comes to it alone. */
  readonly #unsure = new Map<Step, readonly boolean[]>();
  /** A store was come by. */
  #hasStored = false;

  constructor(facts: Facts, counted: Counted, turn: readonly Step[]) {
    this.#facts = facts;
    this.#counted = counted;
    this.#turn = turn;
    this.#writes = writesIn(turn);
  }

  plan(original: LoopBlock): { step: LanesStep; test: Expression | null } | null {
    const { counter, inclusive, bound } = this.#counted;
    if (this.#writes.has(counter)) return null;
    for (const local of this.#carried(this.#turn, new Set())?.reads ?? [counter]) this.#serial.add(local);
    if (this.#serial.has(counter)) return null;
    const split = this.#split();
    if (split === null) return null;
    const [body, after] = split;
    if (after.length > 0 && !isHeavy(body)) return null;
    // What others read afterwards must be what the last turn made.
    const own = countMentions([original]);
    const outside = [...this.#writes.keys()].filter(
      (l) => !this.#serial.has(l) && (this.#facts.all.reads.get(l) ?? 0) > (own.reads.get(l) ?? 0),
    );
    const assigned = this.#carried(this.#turn, new Set())!.assigned;
    if (outside.some((l) => !assigned.has(l))) return null;
    this.#varying.add(counter);
    this.#spread(body);
    if (!this.#fits(body) || !this.#look(body, null, false) || !this.#pays(body, after)) return null;
    const test = this.#memory();
    if (test === "never") return null;
    const width = this.#width(body);
    const step: LanesStep = {
      op: "lanes",
      counter,
      bound: onlyNode(bound),
      inclusive,
      width,
      leaves: outside.length > 0,
      body,
      after,
      varying: this.#varying,
      even: new Set(this.#slopes.keys()),
      slopes: new Map(
        this.#moves.flatMap(({ step, slopes }): [Step, readonly number[]][] =>
          slopes === null ? [] : [[step, slopes]],
        ),
      ),
      unsure: this.#unsure,
      blends: !this.#facts.hasThreads,
    };
    return { step, test };
  }

  /* Locals ----------------------------------------------------------------------------------------------- */

  /** Locals that a turn reads before it sets them, and those it surely sets; null: it does not end. */
  #carried(
    steps: readonly Step[],
    assigned: Set<number>,
  ): { reads: Set<number>; assigned: Set<number> } | null {
    const reads = new Set<number>();
    const read = (e: Expression) => {
      for (const l of e.locals) if (this.#writes.has(l) && !assigned.has(l)) reads.add(l);
    };
    for (const step of steps) {
      expressionsOf(step).forEach(read);
      switch (step.op) {
        case "set":
        case "load":
          assigned.add(step.local);
          break;
        case "if": {
          const sides = [step.yes, step.no].map((list) => this.#carried(list, new Set(assigned)));
          for (const side of sides) for (const l of side?.reads ?? []) reads.add(l);
          const ends = sides.flatMap((s) => (s === null ? [] : [s.assigned]));
          if (ends.length === 0) return null;
          for (const l of ends[0]) if (ends.every((e) => e.has(l))) assigned.add(l);
          break;
        }
        case "block":
        case "loop": {
          // What is set inside may not be, if it makes no turn.
          const inner = this.#carried(step.body, new Set(assigned));
          for (const l of inner?.reads ?? []) reads.add(l);
          break;
        }
        case "break":
          return null;
      }
    }
    return { reads, assigned };
  }

  /** Steps by lanes, and those that are made in order; null: they cannot be told apart. */
  #split(): readonly [readonly Step[], readonly Step[]] | null {
    if (this.#serial.size === 0) return [this.#turn, []];
    // What is made of something carried is as serial.
    for (let size = -1; size !== this.#serial.size; ) {
      size = this.#serial.size;
      eachStep(this.#turn, (s) => {
        if (s.op !== "set") return;
        if (s.value.locals.some((l) => this.#serial.has(l))) this.#serial.add(s.local);
      });
    }
    const isSerial = (e: Expression) => e.locals.some((l) => this.#serial.has(l));
    const part = (steps: readonly Step[], serial: boolean): Step[] | null => {
      const out: Step[] = [];
      for (const step of steps) {
        if (step.op === "set") {
          if (this.#serial.has(step.local) === serial) out.push(step);
        } else if (step.op === "if") {
          // The test is made twice, so what it reads must stay.
          if (isSerial(step.test) || step.test.locals.some((l) => writesIn([step]).has(l))) return null;
          const [yes, no] = [part(step.yes, serial), part(step.no, serial)];
          if (yes === null || no === null) return null;
          if (yes.length + no.length > 0) out.push({ ...step, yes, no });
        } else if (step.op === "load" || step.op === "store") {
          if (expressionsOf(step).some(isSerial)) return null;
          if (step.op === "load" && this.#serial.has(step.local)) return null;
          if (!serial) out.push(step);
        } else return null;
      }
      return out;
    };
    const [body, after] = [part(this.#turn, false), part(this.#turn, true)];
    if (body === null || after === null) return null;
    // In order means after all of the lanes' steps: what it reads must be what it was at its place.
    const late = countMentions(after).reads;
    for (const l of late.keys()) if (!this.#serial.has(l) && (this.#writes.get(l) ?? 0) > 1) return null;
    return [body, after];
  }

  /**
   * Which locals differ between lanes, and how. What is set in one place alone is read after it: it may be set for all lanes, even
   * where some have left.
   */
  #spread(body: readonly Step[]): void {
    const walk = (steps: readonly Step[], isMasked: boolean): void => {
      for (const step of steps) {
        const differs = expressionsOf(step).some((e) => this.#differs(e));
        if (step.op === "set" || step.op === "load") {
          const isOnly = this.#writes.get(step.local) === 1;
          if (differs || (isMasked && !isOnly)) this.#varying.add(step.local);
          if (step.op === "set" && isOnly && this.#varying.has(step.local)) {
            const slope = this.#slope(step.value);
            if (slope !== null) this.#slopes.set(step.local, slope);
          }
        }
        const parts = step.op === "if" ? differs : isBlock(step) && diverges(step, this.#varying);
        for (const list of insides(step)) walk(list, isMasked || parts);
      }
    };
    for (let size = -1; size !== this.#varying.size; ) {
      size = this.#varying.size;
      this.#slopes.clear();
      this.#slopes.set(this.#counted.counter, 1);
      walk(body, false);
    }
  }

  #differs({ locals }: Expression): boolean {
    return locals.some((l) => this.#varying.has(l));
  }

  /** How much it grows from lane to lane; null: it does not grow evenly. */
  #slope({ program, locals }: Expression): number | null {
    const slope = (id: Id): number | null => {
      const made = grown(id);
      // Strides are multiplied in 32 bits.
      return made !== null && Math.abs(made) < 2 ** 31 ? made : null;
    };
    const grown = (id: Id): number | null => {
      const node = program.nodes[id];
      if (!dependsOn(program, id, locals, (l) => this.#varying.has(l))) return 0;
      if (node.dtype !== "i32" && node.dtype !== "i64") return null;
      if (node.op === "input") return this.#slopes.get(locals[node.index]) ?? null;
      const parts = node.args.map(slope);
      if (parts.some((p) => p === null)) return null;
      const [x, y] = parts as number[];
      switch (node.op) {
        case "cast":
          return x;
        case "add":
          return x + y;
        case "sub":
          return x - y;
        case "mul": {
          const [a, c] = node.args.map((k) => program.nodes[k]);
          if (a.op === "const") return Number(a.value) * y;
          return c.op === "const" ? Number(c.value) * x : null;
        }
        default:
          return null;
      }
    };
    return slope(program.result);
  }

  /** Can all of it be done by lanes? */
  #fits(steps: readonly Step[]): boolean {
    return steps.every((step) => {
      if (!expressionsOf(step).every(({ program }) => program.nodes.every(hasLanes))) return false;
      switch (step.op) {
        case "set":
        case "break":
          return true;
        case "load":
        case "store": {
          const { dtype } = this.#facts.code.arrays[step.array];
          return storedAs(dtype) === dtype && (step.op === "load" || step.proved.every(Boolean));
        }
        case "if":
          return this.#fits(step.yes) && this.#fits(step.no);
        case "block":
          return this.#fits(step.body);
        case "loop": {
          // Its next turn begins at its end alone.
          const last = step.body.at(-1);
          const isTurned = last?.op === "break" && last.depth === 0 && !jumpsTo(step.body.slice(0, -1), 0);
          return isTurned && this.#fits(step.body);
        }
        default:
          return false;
      }
    });
  }

  /**
   * Is there more to do by lanes than to bring together? Neighbours in memory are brought by one load; where there are none, loops
   * inside must have the work, and lanes that wait for others, or are loaded one by one, enough of it.
   */
  #pays(body: readonly Step[], after: readonly Step[]): boolean {
    const kinds = this.#moves.map((m) => ({ kind: this.#kindOf(m), isInner: m.isInner }));
    const work = workOf(body, !body.some(hasLoop));
    const gathers = kinds.filter((m) => m.kind === "gather").length;
    if (work < GATHER_WORK * gathers || (this.#parts(body) && work < MUCH)) return false;
    if (after.length > 0 || kinds.some((m) => m.kind === "unit")) return true;
    return isHeavy(body) && body.some(hasLoop) && kinds.every((m) => !m.isInner || m.kind === "same");
  }

  /** Do lanes leave something without each other? */
  #parts(body: readonly Step[]): boolean {
    let found = false;
    eachStep(body, (s) => {
      found ||= isLoopBlock(s) && diverges(s, this.#varying);
    });
    return found;
  }

  /* Memory ----------------------------------------------------------------------------------------------- */

  /** Finds how every access moves; false: one of them cannot be made by lanes. `inner`: the loop inside. */
  #look(steps: readonly Step[], inner: Inner | null, isMasked: boolean): boolean {
    return steps.every((step) => {
      if (step.op === "load" || step.op === "store") {
        const slopes = step.index.map((i) => this.#slope(i));
        const isEven = step.proved.every(Boolean) && slopes.every((s) => s !== null);
        const sweeps = inner !== null && step.index.some((i) => i.locals.some((l) => inner.writes.has(l)));
        const move: Move = {
          step,
          slopes: isEven ? (slopes as number[]) : null,
          isInner: inner !== null,
          isMasked,
          sweeps,
        };
        this.#moves.push(move);
        if (step.op === "load") return isEven || this.#canGather(step, inner);
        this.#hasStored = true;
        // A store must not sweep, and every lane has a place of its own.
        return isEven && !sweeps && this.#kindOf(move) !== "same";
      }
      const within = isLoopBlock(step) ? innerOf(step, inner) : inner;
      const parts =
        step.op === "if" ? this.#differs(step.test) : isBlock(step) && diverges(step, this.#varying);
      return insides(step).every((list) => this.#look(list, within, isMasked || parts));
    });
  }

  /**
   * Lane by lane, where what is the same in all lanes is known to be inside. What is not is looked at, and if it is outside the
   * loop does these turns again one by one: nothing may have been stored before.
   */
  #canGather({ index, proved }: Access, inner: Inner | null): boolean {
    if (index.some((i, d) => i.program.dtype !== "i32" || !(proved[d] || this.#differs(i)))) return false;
    return proved.every(Boolean) || !(this.#hasStored || inner?.stores);
  }

  #kindOf({ step, slopes }: Move): "same" | "unit" | "strided" | "gather" {
    const { unit, rank, argument } = this.#facts.code.arrays[step.array];
    if (slopes === null) return "gather";
    if (slopes.every((s) => s === 0)) return "same";
    const isLast = slopes.every((s, d) => s === (d === rank - 1 ? 1 : 0));
    return isLast && (unit || argument === null) ? "unit" : "strided";
  }

  /** What must hold of addresses; null: nothing, "never": they are in each other's way. */
  #memory(): Expression | null | "never" {
    const { code } = this.#facts;
    const corners = new Corners(this.#counted, this.#writes, this.#facts.locals);
    // Indices are told from the locals that this turn sets before.
    eachStep(this.#turn, (s) => {
      if (s.op === "set") corners.set(s.local, s.value);
    });
    const tests = new Set<Id>();
    const done = new Set<string>();
    if (!this.#bounds(corners, tests)) return "never";
    for (const store of this.#moves) {
      if (store.step.op !== "store") continue;
      const own = code.arrays[store.step.array].argument === null;
      if (this.#kindOf(store) === "strided" && !this.#spaced(store, corners, tests)) return "never";
      for (const other of this.#moves) {
        if (other === store) continue;
        if (other.step.array !== store.step.array) {
          if (own || code.arrays[other.step.array].argument === null) continue;
          const key = `${Math.min(other.step.array, store.step.array)} ${Math.max(other.step.array, store.step.array)}`;
          if (done.has(key)) continue;
          done.add(key);
          tests.add(corners.input(this.#facts.apart(store.step.array, other.step.array)));
        } else if (!sameIndex(store.step, other.step) || !this.#isStable(store.step)) {
          const test = this.#distance(store, other, corners);
          if (test === null) return "never";
          tests.add(test);
        }
      }
    }
    return tests.size === 0 ? null : corners.finish(tests);
  }

  /**
   * An index that is inside because of a test that some lanes do not pass, or of a load that was outside in some: where it stays,
   * or is the counter below the size itself, it is looked at before the loop. The rest is looked at in each group. false: it cannot be.
   */
  #bounds(corners: Corners, tests: Set<Id>): boolean {
    const { b } = corners;
    const leaves = this.#moves.some((m) => m.isInner && !m.step.proved.every(Boolean));
    for (const { step, slopes, isInner, isMasked } of this.#moves) {
      if (!isMasked && !(isInner && leaves)) continue;
      const unsure = step.index.map((index, axis) => {
        if (!step.proved[axis] || this.#facts.isShown(step, axis)) return false;
        const { argument, length } = this.#facts.code.arrays[step.array];
        if (index.locals.length === 0 && argument === null) return false;
        const isFixed = !index.locals.some((l) => this.#varying.has(l) || this.#writes.has(l));
        const isCounter = this.#countsTo(index, step.array, axis);
        const first = isFixed || isCounter ? corners.first(index) : null;
        if (first === null) return true;
        const size =
          argument === null
            ? b.constant("u64", BigInt(length))
            : b.cast("u64", corners.input(this.#facts.size(step.array, axis)));
        tests.add(
          isCounter ? b.op("ge", first, b.constant("i64", 0n)) : b.op("lt", b.cast("u64", first), size),
        );
        return false;
      });
      if (!unsure.some(Boolean)) continue;
      // The last lane's index is told from the first one's in 32 bits.
      const isTold = (d: number) =>
        !unsure[d] || (step.index[d].program.dtype === "i32" && Math.abs(slopes?.[d] ?? 0) < 2 ** 26);
      if (!unsure.every((_, d) => isTold(d))) return false;
      this.#unsure.set(step, unsure);
    }
    return true;
  }

  /** Is it the counter, and the loop's bound the size of the axis? */
  #countsTo({ program, locals }: Expression, array: number, axis: number): boolean {
    const { counter, bound, inclusive } = this.#counted;
    const [index, end] = [program.nodes[program.result], bound.program.nodes[bound.id]];
    if (inclusive || index.op !== "input" || locals[index.index] !== counter || end.op !== "input")
      return false;
    return this.#facts.isSize(bound.locals[end.index], array, axis);
  }

  /** Does the index mean the same place wherever it stands in a turn? */
  #isStable({ index }: Access): boolean {
    return index.every((i) => i.locals.every((l) => (this.#writes.get(l) ?? 0) <= 1));
  }

  /** Bytes from lane to lane. */
  #byteStep({ step, slopes }: Move, corners: Corners): Id {
    const { b } = corners;
    const parts = slopes!.flatMap((s, d) =>
      s === 0 ? [] : [b.op("mul", b.constant("i64", BigInt(s)), this.#stride(step.array, d, corners))],
    );
    return parts.reduce((x, y) => b.op("add", x, y));
  }

  #stride(array: number, axis: number, corners: Corners): Id {
    const { b } = corners;
    const { unit, rank, argument, dtype } = this.#facts.code.arrays[array];
    if (argument === null || (unit && axis === rank - 1)) {
      return b.constant("i64", BigInt(dtypes[dtype].bytes));
    }
    return b.cast("i64", corners.input(this.#facts.word(array, axis)));
  }

  /** Lanes that are written do not touch. */
  #spaced(store: Move, corners: Corners, tests: Set<Id>): boolean {
    const { b } = corners;
    const bytes = b.constant("i64", BigInt(dtypes[this.#facts.code.arrays[store.step.array].dtype].bytes));
    tests.add(b.op("ge", b.op("abs", this.#byteStep(store, corners)), bytes));
    return true;
  }

  /**
   * Two places of one array that both move alike, or of which one stays: the same in each turn, or apart in all; or both between
   * where one of them is in this turn and in the next, as the fields of a record are.
   */
  #distance(store: Move, other: Move, corners: Corners): Id | null {
    if (store.sweeps || other.sweeps || store.slopes === null || other.slopes === null) return null;
    const { b } = corners;
    const { dtype } = this.#facts.code.arrays[store.step.array];
    const isAlike = store.slopes.every((s, d) => s === other.slopes![d]);
    const isStill = this.#kindOf(other) === "same" && this.#kindOf(store) === "unit";
    if (!isAlike && !isStill) return null;
    if (!this.#isStable(store.step) || !this.#isStable(other.step)) return null;
    const parts: Id[] = [];
    for (const [d, index] of store.step.index.entries()) {
      const [x, y] = [corners.first(other.step.index[d]), corners.first(index)];
      if (x === null || y === null) return null;
      parts.push(b.op("mul", b.op("sub", x, y), this.#stride(store.step.array, d, corners)));
    }
    const turns = corners.turns();
    if (turns === null) return null;
    const bytes = parts.reduce((x, y) => b.op("add", x, y));
    const step = b.op("abs", this.#byteStep(store, corners));
    const span = b.op("mul", turns, step);
    const item = BigInt(dtypes[dtype].bytes);
    if (isStill) return b.op("or", b.op("le", bytes, b.constant("i64", -item)), b.op("ge", bytes, span));
    const isSame = b.op("eq", bytes, b.constant("i64", 0n));
    const far = b.op("abs", bytes);
    const isBetween = b.op("le", b.op("add", far, b.constant("i64", item)), step);
    return b.op("or", isSame, b.op("or", isBetween, b.op("ge", far, span)));
  }

  /* Width ------------------------------------------------------------------------------------------------- */

  /** Turns at once: few where a turn needs many registers. */
  #width(body: readonly Step[]): number {
    let nodes = 0;
    let isWide = false;
    if (this.#parts(body) || this.#moves.some((m) => m.slopes === null)) return 8;
    eachStep(body, (s) => {
      for (const e of expressionsOf(s)) {
        nodes += e.program.nodes.length;
        if (e.program.nodes.some((n) => isCostly(n.op))) nodes += 60;
        if (e.program.nodes.some((n) => dtypes[n.dtype].bytes === 8)) isWide = true;
      }
    });
    if (nodes > 60) return 4;
    return isWide ? 8 : 16;
  }
}

/** The node alone, as an expression. */
export const onlyNode = ({ program, id, locals }: Counted["bound"]): Expression => ({
  program: { ...program, result: id, dtype: program.nodes[id].dtype },
  locals,
});

/** Is it the same place in every turn's lane? */
function sameIndex(a: Access, b: Access): boolean {
  return a.index.every((x, d) => expressionKey(x) === expressionKey(b.index[d]));
}

/** Two expressions with one key are the same index, as long as their locals stay. */
export function expressionKey({ program, locals }: Expression): string {
  const key = (id: Id): string => {
    const node = program.nodes[id];
    if (node.op === "input") return `#${locals[node.index]}`;
    if (node.op === "const") return `${node.value}`;
    // Modulo 2^32 it is the same number in 64 bits.
    const from = node.op === "cast" ? program.nodes[node.args[0]].dtype : null;
    if (isIndexInt(node.dtype) && from !== null && isIndexInt(from)) return key(node.args[0]);
    const form = node.op === "cast" ? node.dtype : "";
    return `${node.op}${form}(${node.args.map(key).join()})`;
  };
  return key(program.result);
}

const isIndexInt = (d: DType): boolean => d === "i32" || d === "i64";

const noLanes: ReadonlySet<DType> = new Set<DType>(["f16", "bf16", "c64" as DType, "c128" as DType]);
const hasLanes = (node: Program["nodes"][number]): boolean => node.op !== "param" && !noLanes.has(node.dtype);

/** Operations that are worth lanes even if sums are then made one by one. */
const costly: ReadonlySet<string> = new Set<OpName>(
  "div sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh hypot sigmoid pow cbrt".split(
    " ",
  ) as OpName[],
);
const isCostly = (op: string): boolean => costly.has(op);

/** Operations on floats that loops inside must have for each element that is loaded alone, and for lanes to wait for each other. */
const GATHER_WORK = 10;
const MUCH = 6;
export const isMuch = (steps: readonly Step[]): boolean => workOf(steps, true) >= MUCH;

/** Operations on floats in the loops inside; one that takes long counts as ten. */
function workOf(steps: readonly Step[], isIn: boolean): number {
  let work = 0;
  for (const step of steps) {
    if (isIn) {
      for (const { program } of expressionsOf(step)) {
        for (const { op, dtype } of program.nodes) {
          if (isFloat(dtype) && op !== "input" && op !== "const" && op !== "cast")
            work += isCostly(op) ? 10 : 1;
        }
      }
    }
    for (const list of insides(step)) work += workOf(list, isIn || step.op === "loop");
  }
  return work;
}

const innerOf = (block: LoopBlock, around: Inner | null): Inner => {
  let stores = around?.stores ?? false;
  eachStep([block], (s) => {
    stores ||= s.op === "store";
  });
  const writes = new Map([...(around?.writes ?? []), ...writesIn([block])]);
  return { writes, stores };
};

type Block = Step & { readonly op: "block" | "loop" };
const isBlock = (step: Step): step is Block => step.op === "block" || step.op === "loop";

/** Do lanes leave a block, or a loop with the block around it, without each other? */
export function diverges(step: Block, varying: ReadonlySet<number>): boolean {
  const leaves = (steps: readonly Step[], depth: number, isMasked: boolean): boolean =>
    steps.some((s) => {
      if (s.op === "break") return isMasked && s.depth >= depth;
      if (isBlock(s)) return leaves(s.body, depth + 1, isMasked || diverges(s, varying));
      const masked = isMasked || (s.op === "if" && s.test.locals.some((l) => varying.has(l)));
      return insides(s).some((list) => leaves(list, depth, masked));
    });
  return leaves(isLoopBlock(step) ? step.body[0].body : step.body, 0, false);
}

function isHeavy(steps: readonly Step[]): boolean {
  let heavy = false;
  eachStep(steps, (s) => {
    for (const { program } of expressionsOf(s)) heavy ||= program.nodes.some((n) => isCostly(n.op));
  });
  return heavy;
}
