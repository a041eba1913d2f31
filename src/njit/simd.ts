/**
 * Turns by lanes: the vector form of a loop's body. What is the same in all lanes is left to the scalar emitter; the rest
 * is lists of v128 registers, as vector.ts has them, one list for each local that varies. A test that varies is a mask, and
 * what stands under it a choice between the new value and the old one.
 *
 * A local that grows evenly is kept twice: by lanes, and as a scalar that is its value in the first lane, from which
 * addresses are made.
 *
 * Where lanes leave a loop or a block without each other, a mask says who is still in it; the loop goes on as long as there is
 * one. An element that each lane has at a place of its own is loaded lane by lane; where one of these places is outside, the
 * whole group is left to the loop that follows, which comes to it in its order.
 */
import { type DType, dtypes, isInteger } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import type { Id, Program } from "../ir/node.ts";
import { ops } from "../ir/ops.ts";
import { type FuncBuilder, i32x4, type Label, type Local } from "../wasm/assembler/assembler.ts";
import type { LaneOp, PlainOp } from "../wasm/assembler/opcodes.ts";
import { lifetimesOf } from "../wasm/program/lifetimes.ts";
import { shapeOf } from "../wasm/program/lower.ts";
import { boolMask, loadLanes, loadNarrow, packed, storeLanes } from "../wasm/program/memory.ts";
import { ScalarCode, type SlowFunctions } from "../wasm/program/scalar.ts";
import { registersOf, VectorCode } from "../wasm/program/vector.ts";
import {
  type Code,
  type Expression,
  eachStep,
  expressionsOf,
  isLoopBlock,
  type LanesStep,
  type LoopStep,
  type Step,
} from "./ir.ts";
import { lowered } from "./lanes.ts";
import { countMentions, escapes } from "./outline.ts";
import { diverges, expressionKey, isMuch } from "./vectorize.ts";

/** What the scalar emitter does for this one. */
export interface ScalarSide {
  readonly f: FuncBuilder;
  readonly slow: SlowFunctions;
  local(id: number): Local;
  /** Leaves the value on the stack. */
  push(e: Expression): void;
  /** Leaves the address on the stack and gives what is to be added; no index is checked. */
  address(step: Access): number;
  /** Leaves the byte stride of an axis on the stack, or its size. */
  stride(array: number, axis: number): void;
  size(array: number, axis: number): void;
  /** Leaves the address of an array on the stack and gives what is to be added. */
  base(array: number): number;
  step(step: Step): void;
  /** At the start of a turn: is this still wanted? */
  ask(loop: LoopStep): void;
}

type Access = Step & { readonly op: "load" | "store" };

/** Masks over lanes of 32 bits or of 64: what was made, the other form when somebody needs it, or beforehand. */
interface Mask {
  readonly regs: readonly Local[];
  readonly wide: boolean;
  readonly other?: readonly Local[];
}

/** A block or a loop that lanes leave one by one: those that are in it, as a mask of 32-bit lanes that changes. */
interface Region {
  readonly live: readonly Local[];
}

interface Target {
  readonly label: Label | null;
  readonly region: Region | null;
}

const is64 = (d: DType): boolean => dtypes[d].bytes === 8;
const laneCount = (d: DType): number => (is64(d) ? 2 : 4);
/** Bytes 0–3 and 8–11 of both operands: masks of 64-bit lanes become masks of 32-bit lanes. */
const evenWords = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];

/** Writes one loop that runs by lanes, and what it needs before and after, into the function that is being emitted. */
export function emitLanes(scalar: ScalarSide, code: Code, step: LanesStep): void {
  new LaneEmitter(scalar, code, step).run();
}

class LaneEmitter {
  readonly #s: ScalarSide;
  readonly #f: FuncBuilder;
  readonly #code: Code;
  readonly #step: LanesStep;
  readonly #unroll: number;
  /** Registers of the locals that vary. */
  readonly #regs = new Map<number, readonly Local[]>();
  /** What stays the same in the whole loop, in all lanes. */
  readonly #splats = new Map<number, Local>();
  /** Bytes from lane to lane, of accesses with strides. */
  readonly #byteSteps = new Map<Step, Local>();
  readonly #labels: Target[] = [];
  /** Where a group goes that the loop has to do. */
  #bail: Label | null = null;
  /** Lanes of the group that were outside. */
  #outside: Local | null = null;
  /** How often a turn sets each local. */
  readonly #writes: ReadonlyMap<number, number>;
  /** Elements that were loaded in this turn and not stored to since, by place. */
  #loaded = new Map<string, readonly Local[]>();
  /** Locals that have a value in this turn. */
  readonly #set = new Set<number>();

  constructor(scalar: ScalarSide, code: Code, step: LanesStep) {
    this.#s = scalar;
    this.#f = scalar.f;
    this.#code = code;
    this.#step = step;
    this.#unroll = step.width / 4;
    this.#writes = countMentions([...step.body, ...step.after]).writes;
  }

  run(): void {
    const f = this.#f;
    const { counter, bound, inclusive, width, leaves, body, after } = this.#step;
    const i = this.#s.local(counter);
    const need = width + (leaves ? 1 : 0) - (inclusive ? 1 : 0);
    this.#s.push(bound);
    f.op("i64.extend_i32_s").get(i).op("i64.extend_i32_s").op("i64.sub").i64(need).op("i64.ge_s");
    f.if(() => {
      const limit = f.temp("i32");
      this.#s.push(bound);
      f.i32(need).op("i32.sub").set(limit);
      this.#before();
      let isChecked = false;
      eachStep(body, (s) => {
        isChecked ||= s.op === "load" && !s.proved.every(Boolean);
      });
      if (isChecked) {
        this.#outside = f.local("v128");
        f.v128(i32x4(0, 0, 0, 0)).set(this.#outside);
      }
      f.block((bail) => {
        this.#bail = bail;
        f.loop((again) => {
          this.#counters();
          this.#steps(body, null);
          if (after.length > 0) this.#inOrder(after);
          f.get(i).i32(width).op("i32.add").tee(i).get(limit).op("i32.le_s").brIf(again);
        });
      });
      f.release(limit);
    });
  }

  /* What is made once -------------------------------------------------------------------------------------- */

  #before(): void {
    const f = this.#f;
    const { body, varying, slopes } = this.#step;
    const { reads, writes } = countMentions(body);
    for (const id of reads.keys()) {
      if (varying.has(id) || writes.has(id) || !this.#isSplat(body, id)) continue;
      const { dtype } = this.#code.locals[id];
      const local = f.local("v128");
      f.get(this.#s.local(id));
      if (dtype === "bool") {
        const flag = f.temp("i32");
        f.set(flag).i32(0).get(flag).op("i32.sub").release(flag);
      }
      f.op(`${shapeOf(dtypes[dtype].lane)}.splat` as PlainOp).set(local);
      this.#splats.set(id, local);
    }
    for (const [step, by] of slopes) {
      if ((step.op !== "load" && step.op !== "store") || this.#kindOf(step) !== "strided") continue;
      const local = f.local("i32");
      f.i32(0);
      by.forEach((s, axis) => {
        if (s === 0) return;
        this.#s.stride(step.array, axis);
        f.i32(s).op("i32.mul").op("i32.add");
      });
      f.set(local);
      this.#byteSteps.set(step, local);
    }
  }

  /** Is the local an operand of something that varies? */
  #isSplat(steps: readonly Step[], id: number): boolean {
    const { varying } = this.#step;
    return steps.some((step) => {
      if (step.op === "if" || step.op === "block" || step.op === "loop") {
        const inner = step.op === "if" ? [...step.yes, ...step.no] : step.body;
        if (this.#isSplat(inner, id)) return true;
      }
      return this.#byLanes(step).some((e) => {
        if (!e.locals.includes(id) || !e.locals.some((l) => varying.has(l))) return false;
        const { nodes } = lowered(e.program);
        const differs = varyingNodes(nodes, e.locals, varying);
        return nodes.some(
          (n, k) =>
            differs[k] &&
            n.args.some((a) => {
              const arg = nodes[a];
              return arg.op === "input" && e.locals[arg.index] === id;
            }),
        );
      });
    });
  }

  /** What of a step is computed by lanes, if it varies: indices are where lanes are not evenly apart. */
  #byLanes(step: Step): readonly Expression[] {
    if (step.op === "store") return [step.value];
    if (step.op !== "load") return expressionsOf(step);
    return this.#kindOf(step) === "gather" ? step.index : [];
  }

  /** The counter, lane by lane, where it is a value. */
  #counters(): void {
    const f = this.#f;
    const { counter, body, after } = this.#step;
    const used = (steps: readonly Step[]): boolean =>
      steps.some((s) => {
        if (s.op === "if" || s.op === "block" || s.op === "loop") {
          if (used(s.op === "if" ? [...s.yes, ...s.no] : s.body)) return true;
        }
        return this.#byLanes(s).some((e) => e.locals.includes(counter));
      });
    if (!used(body) && !countMentions(after).reads.has(counter)) return;
    const regs = this.#registers(counter);
    regs.forEach((reg, r) => {
      const lanes = [0, 1, 2, 3].map((l) => 4 * r + l);
      f.get(this.#s.local(counter))
        .op("i32x4.splat")
        .v128(i32x4(...lanes))
        .op("i32x4.add")
        .set(reg);
    });
    this.#set.add(counter);
  }

  #registers(id: number): readonly Local[] {
    let regs = this.#regs.get(id);
    if (regs === undefined) {
      const { dtype } = this.#code.locals[id];
      const made = Array.from({ length: registersOf(dtype, this.#unroll) }, () => this.#f.local("v128"));
      regs = made;
      this.#regs.set(id, made);
    }
    return regs;
  }

  /* Steps ------------------------------------------------------------------------------------------------- */

  #steps(steps: readonly Step[], mask: Mask | null): void {
    let here = mask;
    for (const step of steps) {
      this.#one(step, here);
      if (step.op === "break") return;
      const region = this.#labels.at(-1)?.region ?? null;
      if (here === null || region === null || !escapes([step], 0)) continue;
      const live: Mask = { regs: region.live, wide: false };
      if (here.regs === region.live) here = live;
      else {
        const { regs, wide }: Mask = here;
        const still = this.#asWide(live, wide);
        here = { regs: regs.map((m, r) => this.#both(m, still[r % still.length])), wide };
      }
    }
  }

  #both(a: Local, b: Local): Local {
    const local = this.#f.local("v128");
    this.#f.get(a).get(b).op("v128.and").set(local);
    return local;
  }

  #one(step: Step, mask: Mask | null): void {
    const f = this.#f;
    const { varying } = this.#step;
    switch (step.op) {
      case "set":
        if (!varying.has(step.local)) {
          this.#s.step(step);
          return;
        }
        // It may be part of an index.
        if (isInteger(this.#code.locals[step.local].dtype)) this.#loaded.clear();
        // Its value in the first lane: addresses are made of it.
        if (this.#step.even.has(step.local)) this.#s.step(step);
        this.#assign(step.local, this.#value(step.value), mask);
        return;
      case "load":
        this.#load(step, mask);
        return;
      case "store":
        this.#store(step, mask);
        return;
      case "if":
        if (step.test.locals.some((l) => varying.has(l))) this.#choose(step, mask);
        else this.#branch(step, mask);
        return;
      case "block":
      case "loop":
        if (mask !== null || diverges(step, varying)) {
          this.#part(step, mask);
          return;
        }
        this.#loaded.clear();
        f[step.op]((label) => {
          this.#labels.push({ label, region: null });
          if (step.op === "loop") this.#s.ask(step);
          this.#steps(step.body, mask);
          this.#labels.pop();
        });
        if (this.#labels.length === 0) this.#bailOut();
        return;
      case "break":
        if (mask === null) f.br(this.#label(step.depth));
        else this.#leave(step.depth, mask);
        return;
      default:
        unreachable(`njit: ${step.op} by lanes`);
    }
  }

  #label(depth: number): Label {
    return this.#labels.at(-1 - depth)?.label ?? unreachable(`njit: no label ${depth} levels out of lanes`);
  }

  /* Lanes that part --------------------------------------------------------------------------------------- */

  /** A block, or a loop with the block around it, that lanes leave one by one. */
  #part(step: Step & { op: "block" | "loop" }, mask: Mask | null): void {
    const f = this.#f;
    // What was loaded before a loop may be stored to in one of its turns.
    this.#loaded.clear();
    const sound = this.#sound(mask);
    const around = sound === null ? null : this.#asWide(sound, false);
    const live = Array.from({ length: this.#unroll }, (_, r) => {
      const local = f.local("v128");
      if (around === null) f.v128(i32x4(-1, -1, -1, -1));
      else f.get(around[r % around.length]);
      f.set(local);
      return local;
    });
    const region: Region = { live };
    if (!isLoopBlock(step)) {
      this.#labels.push({ label: null, region });
      this.#steps(step.body, { regs: live, wide: false });
      this.#labels.pop();
      if (this.#labels.length === 0) this.#bailOut();
      return;
    }
    const { body } = step.body[0];
    const [first] = body;
    const isTested =
      first.op === "if" && isLoopTest(first) && first.test.locals.some((l) => this.#step.varying.has(l));
    // Tested before and at the end of each turn: V8 makes constants before a loop that is left at its end alone.
    const test = () => {
      if (isTested) this.#stay(live, first.test);
      this.#anyOf(live);
    };
    f.block((out) => {
      this.#labels.push({ label: out, region });
      test();
      f.op("i32.eqz").brIf(out);
      f.loop((again) => {
        this.#labels.push({ label: again, region });
        this.#turn(step.body[0], body.slice(isTested ? 1 : 0, -1), live, out);
        test();
        f.brIf(again);
        this.#labels.pop();
      });
      this.#labels.pop();
    });
    if (this.#labels.length === 0) this.#bailOut();
  }

  /** One turn of a loop for the lanes that are still in it. */
  #turn(loop: LoopStep, steps: readonly Step[], live: readonly Local[], out: Label): void {
    const f = this.#f;
    const isWide = this.#keepsWide(loop.body);
    const now = (): Mask => {
      const narrow: Mask = { regs: live, wide: false };
      return isWide ? { ...narrow, other: this.#asWide(narrow, true) } : narrow;
    };
    this.#s.ask(loop);
    let mask = now();
    steps.forEach((step, i) => {
      this.#one(step, mask);
      if (!escapes([step], 0)) return;
      mask = now();
      // Where much comes after it, somebody must be there to do it.
      if (!isMuch(steps.slice(i + 1))) return;
      this.#anyOf(live);
      f.op("i32.eqz").brIf(out);
    });
  }

  /** Who passes the test stays. */
  #stay(live: readonly Local[], test: Expression): void {
    const f = this.#f;
    const made = this.#asWide(this.#mask(test), false);
    live.forEach((m, r) => {
      f.get(m)
        .get(made[r % made.length])
        .op("v128.and")
        .set(m);
    });
  }

  /** Leaves on the stack whether there is one. */
  #anyOf(masks: readonly Local[]): void {
    const f = this.#f;
    masks.forEach((m, r) => {
      f.get(m);
      if (r > 0) f.op("v128.or");
    });
    f.op("v128.any_true");
  }

  /** Are there values of 64 bits under its mask? */
  #keepsWide(steps: readonly Step[]): boolean {
    let found = false;
    eachStep(steps, (s) => {
      if (s.op !== "set" && s.op !== "load") return;
      found ||= is64(this.#code.locals[s.local].dtype) && (this.#writes.get(s.local) ?? 0) > 1;
    });
    return found;
  }

  /** The lanes of the mask are in nothing any more up to the target. */
  #leave(depth: number, mask: Mask): void {
    const f = this.#f;
    const inside = this.#labels.slice(this.#labels.length - 1 - depth);
    const gone = this.#asWide(mask, false);
    for (const region of new Set(
      inside.map((t) => t.region ?? unreachable("njit: lanes leave what is whole")),
    )) {
      if (region.live === gone) continue;
      region.live.forEach((m, r) => {
        f.get(m)
          .get(gone[r % gone.length])
          .op("v128.andnot")
          .set(m);
      });
    }
    const own = inside.find((t) => t.region!.live === gone);
    if (own !== undefined) for (const m of gone) f.v128(i32x4(0, 0, 0, 0)).set(m);
  }

  #branch({ test, yes, no }: Step & { op: "if" }, mask: Mask | null): void {
    const f = this.#f;
    this.#s.push(test);
    const [a, b] = [yes[0], no[0]];
    if (mask === null && yes.length === 1 && no.length === 0 && a.op === "break")
      f.brIf(this.#label(a.depth));
    else if (mask === null && yes.length === 0 && no.length === 1 && b.op === "break") {
      f.op("i32.eqz").brIf(this.#label(b.depth));
    } else {
      // What one side has loaded, the other has not.
      const loaded = this.#loaded;
      const ends = [yes, no].map((side) => () => {
        this.#loaded = new Map(loaded);
        this.#steps(side, mask);
        for (const place of [...loaded.keys()]) if (!this.#loaded.has(place)) gone.add(place);
      });
      const gone = new Set<string>();
      f.if(ends[0], ends[1]);
      this.#loaded = new Map([...loaded].filter(([place]) => !gone.has(place)));
    }
  }

  /**
   * The lanes of the mask that have come here. One whose index was outside is done, and what it holds is nobody's: it must not
   * turn in a loop, nor be loaded from where it is. null: all lanes.
   */
  #sound(mask: Mask | null): Mask | null {
    const f = this.#f;
    const outside = this.#outside;
    if (outside === null || this.#labels.length === 0) return mask;
    if (mask !== null && mask.regs === this.#labels.at(-1)?.region?.live) return mask;
    const around = mask === null ? null : this.#asWide(mask, false);
    const regs = Array.from({ length: this.#unroll }, (_, r) => {
      const local = f.local("v128");
      if (around === null) f.get(outside).op("v128.not");
      else
        f.get(around[r % around.length])
          .get(outside)
          .op("v128.andnot");
      f.set(local);
      return local;
    });
    return { regs, wide: false };
  }

  #choose({ test, yes, no }: Step & { op: "if" }, around: Mask | null): void {
    const f = this.#f;
    const made = this.#mask(test);
    const combine = (isYes: boolean): Mask => {
      const outer = around === null ? null : this.#asWide(around, made.wide);
      const regs = made.regs.map((m, r) => {
        const local = f.local("v128");
        if (outer === null) {
          f.get(m);
          if (!isYes) f.op("v128.not");
        } else
          f.get(outer[r % outer.length])
            .get(m)
            .op(isYes ? "v128.and" : "v128.andnot");
        f.set(local);
        return local;
      });
      return { regs, wide: made.wide };
    };
    // Both before either side runs: the test may be a local, and a side may set it.
    const [here, there] = [yes.length > 0 ? combine(true) : null, no.length > 0 ? combine(false) : null];
    if (here !== null) this.#steps(yes, here);
    if (there !== null) this.#steps(no, there);
  }

  /* Values ------------------------------------------------------------------------------------------------ */

  #compute({ program: given, locals }: Expression): { code: VectorCode; program: Program } {
    const f = this.#f;
    const { varying } = this.#step;
    const program = lowered(given);
    const { nodes, result } = program;
    const differs = varyingNodes(nodes, locals, varying);
    const context = { f, program, fma: false, slow: this.#s.slow };
    const code = new VectorCode(context, lifetimesOf(program));
    const scalars = new ScalarCode(context);
    const wanted = nodes.map(() => false);
    nodes.forEach((n, id) => {
      if (differs[id]) for (const a of n.args) if (!differs[a]) wanted[a] = true;
    });
    if (!differs[result]) wanted[result] = true;
    // Scalars: what is wanted in all lanes, and what that is made of.
    const needed = nodes.map(() => false);
    const need = (id: Id): void => {
      if (needed[id]) return;
      needed[id] = true;
      for (const a of nodes[id].args) need(a);
    };
    wanted.forEach((w, id) => {
      const { op } = nodes[id];
      if (w && op !== "input" && op !== "const") need(id);
    });
    nodes.forEach((node, id) => {
      if (differs[id]) {
        if (node.op !== "input") code.emit(id);
        else code.define(id, [...this.#registers(locals[node.index])]);
        return;
      }
      const push = (n: Program["nodes"][number]) =>
        n.op === "input" ? f.get(this.#s.local(locals[n.index])) : unreachable("njit: a param");
      if (needed[id]) scalars.emit(id, push);
      if (!wanted[id]) return;
      if (node.op === "const") code.splat(id, null);
      else if (node.op === "input") {
        const known = this.#splats.get(locals[node.index]);
        if (known !== undefined) code.define(id, [known]);
        else code.splat(id, this.#s.local(locals[node.index]));
      } else code.splat(id, scalars.value(id, true));
    });
    return { code, program };
  }

  /** Registers of the value: masks of 32-bit lanes for booleans. One register serves all lanes. */
  #value(e: Expression): readonly Local[] {
    const { code, program } = this.#compute(e);
    return program.dtype === "bool" ? code.mask(program.result, false) : code.regs(program.result);
  }

  #mask(test: Expression): Mask {
    const { code, program } = this.#compute(test);
    const wide = isWideMask(program, program.result);
    return { regs: code.mask(program.result, wide), wide };
  }

  /** The mask for lanes of 64 bits, or of 32. */
  #asWide({ regs, wide, other }: Mask, want: boolean): readonly Local[] {
    const f = this.#f;
    if (wide === want) return regs;
    if (other !== undefined) return other;
    const into = (emit: () => void): Local => {
      const local = f.local("v128");
      emit();
      f.set(local);
      return local;
    };
    if (want) {
      return regs.flatMap((m) => [
        into(() => f.get(m).op("i64x2.extend_low_i32x4_s")),
        into(() => f.get(m).op("i64x2.extend_high_i32x4_s")),
      ]);
    }
    // One that serves all lanes is as good in the other width.
    if (regs.length === 1) return regs;
    return Array.from({ length: regs.length / 2 }, (_, k) =>
      into(() =>
        f
          .get(regs[2 * k])
          .get(regs[2 * k + 1])
          .shuffle(evenWords),
      ),
    );
  }

  /** New values, where the mask is. */
  #assign(id: number, values: readonly Local[], mask: Mask | null): void {
    const f = this.#f;
    const { dtype } = this.#code.locals[id];
    const regs = this.#registers(id);
    // What is set in one place is read after it alone. Under a mask that a loop keeps, the turn before may have set it.
    const isNew = !this.#set.has(id) && this.#labels.length === 0;
    const isWhole = mask === null || isNew || this.#writes.get(id) === 1;
    const m = isWhole ? null : this.#asWide(mask, is64(dtype));
    regs.forEach((reg, r) => {
      f.get(values[r % values.length]);
      if (m !== null)
        f.get(reg)
          .get(m[r % m.length])
          .op("v128.bitselect");
      f.set(reg);
    });
    this.#set.add(id);
  }

  /* Elements ---------------------------------------------------------------------------------------------- */

  #kindOf(step: Access): "same" | "unit" | "strided" | "gather" {
    const slopes = this.#step.slopes.get(step);
    const { unit, rank, argument } = this.#code.arrays[step.array];
    if (slopes === undefined) return "gather";
    if (slopes.every((s) => s === 0)) return "same";
    const isLast = slopes.every((s, d) => s === (d === rank - 1 ? 1 : 0));
    return isLast && (unit || argument === null) ? "unit" : "strided";
  }

  #load(step: Step & { op: "load" }, mask: Mask | null): void {
    const { dtype } = this.#code.arrays[step.array];
    const to = this.#code.locals[step.local].dtype;
    const kind = this.#kindOf(step);
    // Who is to be looked at; null: all of it is inside.
    const only = this.#step.unsure.has(step) ? this.#sound(mask) : null;
    if (kind === "same") {
      if (only === null) this.#s.step(step);
      else {
        this.#pushInside(step);
        this.#f.if(() => this.#s.step(step));
      }
      if (this.#step.varying.has(step.local)) this.#assign(step.local, this.#splat(step.local), mask);
      return;
    }
    const raw = kind === "gather" ? this.#gather(step, dtype, mask) : this.#loadEven(step, dtype, only);
    if (kind === "unit" && only === null && this.#labels.length === 0) this.#loaded.set(placeOf(step), raw);
    this.#assign(step.local, this.#converted(raw, dtype, to), mask);
  }

  #splat(id: number): readonly Local[] {
    const f = this.#f;
    const { dtype } = this.#code.locals[id];
    const local = f.local("v128");
    if (dtype === "bool") f.i32(0).get(this.#s.local(id)).op("i32.sub").op("i32x4.splat");
    else f.get(this.#s.local(id)).op(`${shapeOf(dtypes[dtype].lane)}.splat` as PlainOp);
    f.set(local);
    return [local];
  }

  /** Leaves on the stack whether all lanes are inside, those included that do not come here. */
  #pushInside(step: Access): void {
    const f = this.#f;
    const slopes = this.#step.slopes.get(step)!;
    const unsure = this.#step.unsure.get(step)!;
    const at = f.temp("i32");
    f.i32(1);
    step.index.forEach((e, axis) => {
      if (!unsure[axis]) return;
      this.#s.push(e);
      f.set(at);
      const ends = slopes[axis] === 0 ? [0] : [0, slopes[axis] * (this.#step.width - 1)];
      for (const end of ends) {
        f.get(at);
        if (end !== 0) f.i32(end).op("i32.add");
        this.#s.size(step.array, axis);
        f.op("i32.lt_u").op("i32.and");
      }
    });
    f.release(at);
  }

  /** Lanes that are evenly apart. `only`: some may be outside, and of those that are these alone are wanted. */
  #loadEven(step: Access, dtype: DType, only: Mask | null): readonly Local[] {
    const f = this.#f;
    const regs = Array.from({ length: registersOf(dtype, this.#unroll) }, () => f.local("v128"));
    const all = () => {
      if (this.#kindOf(step) === "unit") this.#loadUnit(step, dtype, regs);
      else this.#loadStrided(step, dtype, regs);
    };
    if (only === null) all();
    else {
      this.#pushInside(step);
      f.if(all, () => this.#loadSome(step, dtype, regs, this.#asWide(only, is64(dtype))));
    }
    return regs;
  }

  #loadUnit(step: Access, dtype: DType, regs: readonly Local[]): void {
    const f = this.#f;
    const address = f.temp("i32");
    const offset = this.#s.address(step);
    f.set(address);
    const bytes = laneCount(dtype) * dtypes[dtype].bytes;
    regs.forEach((reg, r) => {
      loadLanes(f.get(address), dtype, offset + r * bytes);
      boolMask(f, dtype);
      f.set(reg);
    });
    f.release(address);
  }

  #loadStrided(step: Access, dtype: DType, regs: readonly Local[]): void {
    const f = this.#f;
    const address = f.temp("i32");
    const by = this.#byteSteps.get(step)!;
    const offset = this.#s.address(step);
    f.set(address);
    this.#loadEach(dtype, offset, regs, null, (lane) => {
      f.get(address);
      if (lane > 0) f.get(by).op("i32.add").tee(address);
    });
    f.release(address);
  }

  /** The lanes of the mask, one by one. */
  #loadSome(step: Access, dtype: DType, regs: readonly Local[], only: readonly Local[]): void {
    const f = this.#f;
    const address = f.temp("i32");
    const by = this.#byteSteps.get(step);
    const offset = this.#s.address(step);
    f.set(address);
    this.#loadEach(dtype, offset, regs, only, (lane) => {
      f.get(address);
      if (by === undefined) f.i32(lane * dtypes[dtype].bytes);
      else f.get(by).i32(lane).op("i32.mul");
      f.op("i32.add");
    });
    f.release(address);
  }

  /** Each lane from a place of its own; those that the mask leaves out, from the first. */
  #gather(step: Access, dtype: DType, mask: Mask | null): readonly Local[] {
    const f = this.#f;
    const { array, index, proved } = step;
    const { varying } = this.#step;
    const { unit: isUnit, rank } = this.#code.arrays[array];
    const sound = this.#sound(mask);
    const unsure = sound === null ? undefined : this.#step.unsure.get(step);
    const base = f.temp("i32");
    const offset = this.#s.base(array);
    const moving: number[] = [];
    index.forEach((e, axis) => {
      if (e.locals.some((l) => varying.has(l))) moving.push(axis);
      else {
        this.#s.push(e);
        if (unsure?.[axis]) {
          const at = f.temp("i32");
          f.tee(at).i32(0).get(at);
          this.#s.size(array, axis);
          f.op("i32.lt_u").select().release(at);
        }
        this.#s.stride(array, axis);
        f.op("i32.mul").op("i32.add");
      }
    });
    f.set(base);
    const only = sound === null ? null : this.#asWide(sound, false);
    let bytes: readonly Local[] | null = null;
    for (const axis of moving) {
      const value = this.#value(index[axis]);
      const at = Array.from({ length: this.#unroll }, (_, r) => {
        const own = value[r % value.length];
        return only === null ? own : this.#both(own, only[r % only.length]);
      });
      const places = proved[axis] ? at : this.#within(at, array, axis);
      const before: readonly Local[] | null = bytes;
      bytes = places.map((reg, r) => {
        const local = f.local("v128");
        f.get(reg);
        if (isUnit && axis === rank - 1) f.i32(Math.log2(dtypes[dtype].bytes)).op("i32x4.shl");
        else {
          this.#s.stride(array, axis);
          f.op("i32x4.splat").op("i32x4.mul");
        }
        if (before !== null) f.get(before[r]).op("i32x4.add");
        f.set(local);
        return local;
      });
    }
    const from = bytes ?? unreachable("njit: lanes that are nowhere apart");
    const regs = Array.from({ length: registersOf(dtype, this.#unroll) }, () => f.local("v128"));
    this.#loadEach(dtype, offset, regs, null, (lane) => {
      f.get(from[Math.floor(lane / 4)])
        .lane("i32x4.extract_lane", lane % 4)
        .get(base)
        .op("i32.add");
    });
    f.release(base);
    return regs;
  }

  /** Indices that are inside. A lane where one is not leaves its loops, and then the loop does these turns. */
  #within(at: readonly Local[], array: number, axis: number): Local[] {
    const f = this.#f;
    const regions = new Set(this.#labels.flatMap(({ region }) => (region === null ? [] : [region])));
    const outside = this.#outside ?? unreachable("njit: a lane's index is checked");
    const inside = at.map((reg, r) => {
      const [bad, local] = [f.local("v128"), f.local("v128")];
      f.get(reg);
      this.#s.size(array, axis);
      f.op("i32x4.splat").op("i32x4.ge_u").set(bad);
      f.get(outside).get(bad).op("v128.or").set(outside);
      for (const { live } of regions) f.get(live[r]).get(bad).op("v128.andnot").set(live[r]);
      f.get(reg).get(bad).op("v128.andnot").set(local);
      return local;
    });
    if (this.#labels.length === 0) this.#bailOut();
    return inside;
  }

  /** Leaves the group to the loop if a lane was outside. What is stored is stored after that. */
  #bailOut(): void {
    if (this.#outside === null) return;
    this.#f.get(this.#outside).op("v128.any_true").brIf(this.#bail!);
  }

  /** Lane by lane, where the mask is; `address` leaves it on the stack. */
  #loadEach(
    dtype: DType,
    offset: number,
    regs: readonly Local[],
    mask: readonly Local[] | null,
    address: (lane: number) => void,
  ): void {
    const f = this.#f;
    const { bytes } = dtypes[dtype];
    const lanes = laneCount(dtype);
    regs.forEach((reg, r) => {
      for (let l = 0; l < lanes; l++) {
        const isFirst = l === 0 && mask === null;
        const load = () => {
          if (bytes >= 4) {
            address(r * lanes + l);
            if (isFirst) f.load(bytes === 8 ? "v128.load64_splat" : "v128.load32_splat", offset, 1);
            else f.get(reg).loadLane(bytes === 8 ? "v128.load64_lane" : "v128.load32_lane", l, offset, 1);
          } else {
            if (!isFirst) f.get(reg);
            address(r * lanes + l);
            f.i32(offset).op("i32.add");
            loadNarrow(f, dtype);
            if (isFirst) f.op("i32x4.splat");
            else f.lane("i32x4.replace_lane", l);
          }
          f.set(reg);
        };
        if (mask === null) load();
        else
          f.get(mask[r % mask.length])
            .lane("i32x4.extract_lane", bytes === 8 ? 2 * l : l)
            .if(load);
      }
      if (dtype === "bool") {
        f.get(reg);
        boolMask(f, dtype);
        f.set(reg);
      }
    });
  }

  /** Elements as a local holds them. */
  #converted(raw: readonly Local[], from: DType, to: DType): readonly Local[] {
    const isAlike = dtypes[from].lane === dtypes[to].lane && (from === "bool") === (to === "bool");
    if (isAlike) return raw;
    const b = new Builder();
    const x = b.input(0, from);
    const program = lowered(b.finish(b.cast(to, x), [from]));
    const f = this.#f;
    const context = { f, program, fma: false, slow: this.#s.slow };
    const code = new VectorCode(context, lifetimesOf(program));
    program.nodes.forEach((node, id) => {
      if (node.op === "input") code.define(id, [...raw]);
      else code.emit(id);
    });
    return to === "bool" ? code.mask(program.result, false) : code.regs(program.result);
  }

  #store(step: Step & { op: "store" }, mask: Mask | null): void {
    const f = this.#f;
    const { dtype } = this.#code.arrays[step.array];
    const given = this.#value(step.value);
    const count = registersOf(dtype, this.#unroll);
    const regs = Array.from({ length: count }, (_, r) => given[r % given.length]);
    const address = f.temp("i32");
    const offset = this.#s.address(step);
    f.set(address);
    const m = mask === null ? null : this.#asWide(mask, is64(dtype));
    const before = this.#loaded.get(placeOf(step));
    this.#loaded.clear();
    if (this.#kindOf(step) === "strided" || (m !== null && !this.#step.blends)) {
      this.#storeEach(step, dtype, regs, m, address, offset);
    } else {
      const bytes = laneCount(dtype) * dtypes[dtype].bytes;
      const all = () =>
        regs.forEach((reg, r) => {
          let value = reg;
          if (m !== null) {
            value = f.local("v128");
            f.get(reg);
            if (before === undefined) {
              loadLanes(f.get(address), dtype, offset + r * bytes);
              boolMask(f, dtype);
            } else f.get(before[r]);
            f.get(m[r % m.length])
              .op("v128.bitselect")
              .set(value);
          }
          const ready = packed(f, dtype, value);
          storeLanes(f.get(address).get(ready), dtype, offset + r * bytes);
        });
      if (m === null || !this.#step.unsure.has(step)) all();
      else {
        this.#pushInside(step);
        f.if(all, () => this.#storeEach(step, dtype, regs, m, address, offset));
      }
    }
    f.release(address);
  }

  /** Lane by lane, where the mask is. */
  #storeEach(
    step: Access,
    dtype: DType,
    regs: readonly Local[],
    mask: readonly Local[] | null,
    address: Local,
    offset: number,
  ): void {
    const f = this.#f;
    const { bytes } = dtypes[dtype];
    const by = this.#byteSteps.get(step);
    regs.forEach((reg, r) => {
      let value = reg;
      if (dtype === "bool") {
        value = f.local("v128");
        f.get(reg).i32(31).op("i32x4.shr_u").set(value);
      }
      for (let l = 0; l < laneCount(dtype); l++) {
        const store = () => {
          f.get(address).get(value);
          if (bytes === 8) f.storeLane("v128.store64_lane", l, offset, 1);
          else if (bytes === 4) f.storeLane("v128.store32_lane", l, offset, 1);
          else if (bytes === 2) f.storeLane("v128.store16_lane", 2 * l, offset, 1);
          else f.storeLane("v128.store8_lane", 4 * l, offset, 1);
        };
        if (mask === null) store();
        else
          f.get(mask[r % mask.length])
            .lane("i32x4.extract_lane", bytes === 8 ? 2 * l : l)
            .if(store);
        f.get(address);
        if (by === undefined) f.i32(bytes);
        else f.get(by);
        f.op("i32.add").set(address);
      }
    });
  }

  /* In order ---------------------------------------------------------------------------------------------- */

  /** Scalar steps, once for each lane, with the lane's values in the scalar locals. */
  #inOrder(steps: readonly Step[]): void {
    const f = this.#f;
    const { varying, width, counter } = this.#step;
    const used = [...countMentions(steps).reads.keys()].filter((l) => varying.has(l));
    const start = f.temp("i32");
    if (used.includes(counter)) f.get(this.#s.local(counter)).set(start);
    for (let e = 0; e < width; e++) {
      for (const id of used) {
        const { dtype } = this.#code.locals[id];
        const lanes = laneCount(dtype);
        const regs = this.#registers(id);
        const { lane } = dtypes[dtype];
        f.get(regs[Math.floor(e / lanes)]).lane(`${shapeOf(lane)}.extract_lane` as LaneOp, e % lanes);
        if (dtype === "bool") f.i32(1).op("i32.and");
        f.set(this.#s.local(id));
      }
      for (const step of steps) this.#s.step(step);
    }
    if (used.includes(counter)) f.get(start).set(this.#s.local(counter));
    f.release(start);
  }
}

/** Leave the loop, unless. */
function isLoopTest({ yes, no }: Step & { op: "if" }): boolean {
  const [leave] = no;
  return yes.length === 0 && no.length === 1 && leave.op === "break" && leave.depth === 1;
}

/** Two accesses of one place have one text. */
const placeOf = ({ array, index }: Access): string => `${array}[${index.map(expressionKey).join("; ")}]`;

function varyingNodes(
  nodes: Program["nodes"],
  locals: readonly number[],
  varying: ReadonlySet<number>,
): boolean[] {
  const differs: boolean[] = [];
  nodes.forEach((n, id) => {
    differs[id] = n.op === "input" ? varying.has(locals[n.index]) : n.args.some((a) => differs[a]);
  });
  return differs;
}

/** Is the mask made in lanes of 64 bits? */
function isWideMask({ nodes }: Program, id: Id): boolean {
  const node = nodes[id];
  if (node.op === "input" || node.op === "cast") return node.op === "cast" && is64(nodes[node.args[0]].dtype);
  if (node.op === "const") return false;
  const isCompare = node.op in ops && ops[node.op as keyof typeof ops].rule === "compare";
  if (isCompare && nodes[node.args[0]].dtype !== "bool") return is64(nodes[node.args[0]].dtype);
  return node.args.length > 0 && node.args.every((a) => isWideMask({ nodes } as Program, a));
}
