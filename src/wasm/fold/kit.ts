/** What the functions of a fold kernel share: the descriptor, groups of elements in memory, and programs as code. */
import type { DType } from "../../dtype.ts";
import type { Id, InputNode, Program } from "../../ir/node.ts";
import type { Early } from "../../optimize/reduce.ts";
import {
  earlyCount,
  type FoldClass,
  type FoldKernelPlan,
  joinsEarly,
  levelsOf,
} from "../../optimize/reduce-plan.ts";
import { withConstants } from "../../optimize/size.ts";
import { type FuncBuilder, i32x4, type Local, type ModuleBuilder } from "../assembler/assembler.ts";
import { lifetimesOf } from "../program/lifetimes.ts";
import {
  boolMask,
  loadLanes,
  loadNarrow,
  loadSplat,
  packed,
  reverse2,
  reverse4,
  storeLanes,
} from "../program/memory.ts";
import { type CodeContext, loadScalar, ScalarCode } from "../program/scalar.ts";
import { slowFunctions } from "../program/slow.ts";
import { registersOf, VectorCode } from "../program/vector.ts";

/** Word positions in the descriptor. Operand 0 is the output. */
export const foldDescriptor = {
  lane: 0,
  step: 1,
  block: 2,
  outer: 3,
  tail: 4,
  /** Cells a tile has at the most; steps a piece has at the most. */
  tile: 5,
  chunk: 6,
  start: 7,
  finish: 8,
  cells: 9,
  /** Bytes from cell to cell; from tile to tile, per cell; from one round of the outer loop to the next. */
  cell: 10,
  cellTile: 11,
  cellOuter: 12,
  /** 8 bytes: what cells start as. */
  startValue: 14,
  address: (operand: number) => 16 + 5 * operand,
  laneStride: (operand: number) => 17 + 5 * operand,
  stepStride: (operand: number) => 18 + 5 * operand,
  blockStride: (operand: number) => 19 + 5 * operand,
  outerStride: (operand: number) => 20 + 5 * operand,
  /** Captured values, 8 bytes each: the step's, then the first's, then the finish's. */
  params: (operands: number) => 16 + 5 * operands + ((5 * operands) & 1),
} as const;

/** How cells start: as they are, as `startValue`, or as the first elements. */
export const starts = { kept: 0, value: 1, first: 2 } as const;

/** The programs of a fold, as the emitter wants them. */
export interface FoldPrograms {
  readonly step: Program;
  readonly combine: Program | null;
  readonly first: Program | null;
  readonly finish: Program;
  readonly early: Early | null;
}

/** Everything the functions of a module share. */
export interface FoldContext {
  readonly module: ModuleBuilder;
  readonly plan: FoldKernelPlan;
  readonly programs: FoldPrograms;
  readonly simd: boolean;
  readonly fma: boolean;
  /** Words where the captured values of each program begin. */
  readonly params: { readonly step: number; readonly first: number; readonly finish: number };
}

export function codeContext(c: FoldContext, f: FuncBuilder, program: Program): CodeContext {
  return { f, program, fma: c.fma, slow: slowFunctions(c.module) };
}

/* Programs as code -------------------------------------------------------------------------------------------- */

/** One program in one function: its scalar code, and its vector code at each unrolling. */
export class Unit {
  readonly scalar: ScalarCode;
  readonly program: Program;
  readonly #f: FuncBuilder;
  readonly #levels: readonly number[];
  readonly #vectors: ReadonlyMap<number, VectorCode>;
  readonly #used: ReadonlySet<Id>;
  readonly #params: number;

  /** Nodes below level `vectorFrom` are computed in scalar code and serve all lanes; `params` is a word position. */
  constructor(
    context: CodeContext,
    levels: readonly number[],
    vectorFrom: number,
    unrolls: readonly number[],
    params: number,
  ) {
    const { f, program } = context;
    this.#f = f;
    this.program = program;
    this.#levels = levels;
    this.#params = params;
    const lifetimes = lifetimesOf(program, levels);
    this.scalar = new ScalarCode(context, lifetimes);
    this.#vectors = new Map(unrolls.map((u) => [u, new VectorCode(context, lifetimes)]));
    const used = new Set<Id>();
    program.nodes.forEach((node, id) => {
      if (levels[id] >= vectorFrom) for (const a of node.args) if (levels[a] < vectorFrom) used.add(a);
    });
    if (levels[program.result] < vectorFrom) used.add(program.result);
    this.#used = used;
  }

  /** The nodes of a level in scalar code, and splat where lanes use them. `push` pushes an operand's element. */
  hoist(level: number, d: Local, push?: (node: InputNode) => void): void {
    this.program.nodes.forEach((node, id) => {
      if (this.#levels[id] !== level) return;
      this.scalar.emit(id, () => {
        if (node.op === "param") loadScalar(this.#f.get(d), node.dtype, 4 * (this.#params + 2 * node.index));
        else if (node.op === "input") push!(node);
      });
      if (!this.#used.has(id) || this.#vectors.size === 0) return;
      const local = this.scalar.value(id, true);
      let first: VectorCode | null = null;
      for (const code of this.#vectors.values()) {
        if (first === null) code.splat(id, local);
        else code.share(id, first);
        first = code;
      }
    });
  }

  /**
   * The nodes of a level in lanes. `load` gives an input's registers; `asDouble` is asked for f32 inputs that are only
   * ever used as f64, which some operands can be loaded as. `given`: the registers of all inputs stay the caller's; else
   * only those of input 0 do, which may be an accumulator, and the others have just been loaded.
   */
  vector(
    unroll: number,
    level: number,
    load: (node: InputNode) => Local[],
    asDouble: (node: InputNode) => Local[] | null = () => null,
    given = false,
  ): void {
    const code = this.#vectors.get(unroll)!;
    const { nodes } = this.program;
    const doubles = new Set<Id>();
    nodes.forEach((node, id) => {
      if (this.#levels[id] !== level || doubles.has(id)) return;
      if (node.op !== "input") {
        code.emit(id);
        return;
      }
      const cast = this.#onlyDouble(id);
      const regs = cast === null ? null : asDouble(node);
      const owned = !given && node.index > 0;
      if (regs === null) code.define(id, load(node), owned);
      else {
        code.define(cast!, regs, owned);
        doubles.add(cast!);
      }
    });
  }

  /** The one node that uses an f32 input, if it makes an f64 of it. */
  #onlyDouble(input: Id): Id | null {
    const { nodes, result } = this.program;
    if (nodes[input].dtype !== "f32" || result === input) return null;
    const users = nodes.flatMap((node, id) => (node.args.includes(input) ? [id] : []));
    const [user] = users;
    return users.length === 1 && nodes[user].op === "cast" && nodes[user].dtype === "f64" ? user : null;
  }

  /** The result's registers: numbers wrapped into their dtype, masks of 32-bit lanes for booleans. */
  registers(unroll: number): Local[] {
    const { result, dtype } = this.program;
    const code = this.#vectors.get(unroll)!;
    const regs = dtype === "bool" ? code.mask(result, false) : code.regs(result, true);
    return Array.from({ length: groupRegisters(dtype, unroll) }, (_, r) => regs[r % regs.length]);
  }

  scalars(level: number, push: (node: InputNode) => void): void {
    this.program.nodes.forEach((_, id) => {
      if (this.#levels[id] === level) this.scalar.emit(id, (n) => push(n as InputNode));
    });
  }
}

/** The levels of a program whose inputs all change with the element. */
export function elementLevels(program: Program): number[] {
  const levels: number[] = [];
  for (const node of program.nodes)
    levels.push(node.op === "input" ? 2 : node.args.reduce((most, a) => Math.max(most, levels[a]), 0));
  return withConstants(program, levels, 2);
}

/** A program of two values without captured ones, on registers that are there; its constants are made here. */
export function onRegisters(
  c: FoldContext,
  f: FuncBuilder,
  program: Program,
  d: Local,
): (a: readonly Local[], b: readonly Local[]) => Local[] {
  const unit = new Unit(codeContext(c, f, program), elementLevels(program), 2, [1], 0);
  unit.hoist(0, d);
  return (a, b) => {
    const load = (node: InputNode) => [...(node.index === 0 ? a : b)];
    unit.vector(1, 2, load, undefined, true);
    return unit.registers(1);
  };
}

/** Values that are joined before they are carried, as code. */
export interface EarlyCode {
  readonly watch: Early["watch"];
  /** Groups of values that are joined. */
  readonly count: number;
  readonly values: Unit;
  readonly dtype: DType;
  readonly join: (a: readonly Local[], b: readonly Local[]) => Local[];
  readonly enter: (acc: readonly Local[], value: readonly Local[]) => Local[];
}

/** null: each value is carried by itself. `unrolls`: those of the values, which are lanes from level `vectorFrom` on. */
export function earlyCode(
  c: FoldContext,
  f: FuncBuilder,
  d: Local,
  vectorFrom: number,
  unrolls: (count: number) => readonly number[],
): EarlyCode | null {
  const { early } = c.programs;
  if (!c.simd || early === null || !joinsEarly(early, c.plan)) return null;
  const count = earlyCount(early);
  const levels = levelsOf(early.value, c.plan);
  const values = new Unit(codeContext(c, f, early.value), levels, vectorFrom, unrolls(count), c.params.step);
  values.hoist(0, d);
  return {
    watch: early.watch,
    count,
    values,
    dtype: early.value.dtype,
    join: onRegisters(c, f, early.join, d),
    enter: onRegisters(c, f, early.enter, d),
  };
}

/** Registers that 4·unroll values take; booleans are masks of 32-bit lanes. */
export const groupRegisters = (d: DType, unroll: number): number =>
  d === "bool" ? unroll : registersOf(d, unroll);

/* Groups of 4 · unroll elements ------------------------------------------------------------------------------- */

/** How an operand lies along the lanes. */
export interface Stream {
  readonly dtype: DType;
  readonly layout: FoldClass;
  readonly bytes: number;
  /** Bytes from lane to lane. */
  readonly stride: Local;
  /** index: stride · [0, 1, 2, 3], in lanes. */
  readonly ramp: Local | null;
}

/** stride · [0, 1, 2, 3]. */
export function rampOf(f: FuncBuilder, stride: Local): Local {
  const ramp = f.local("v128", "ramp");
  f.get(stride)
    .op("i32x4.splat")
    .v128(i32x4(0, 1, 2, 3))
    .op("i32x4.mul")
    .set(ramp);
  return ramp;
}

/** The group at `base`, which stays where it is, in temps. Booleans come as masks. */
export function loadGroup(f: FuncBuilder, s: Stream, base: Local, unroll: number): Local[] {
  const count = groupRegisters(s.dtype, unroll);
  const lanes = s.bytes === 8 ? 2 : 4;
  switch (s.layout) {
    case "broadcast": {
      loadSplat(f.get(base), s.dtype);
      boolMask(f, s.dtype);
      const local = keep(f);
      return new Array<Local>(count).fill(local);
    }
    case "index":
      return Array.from({ length: count }, (_, r) => {
        f.get(base);
        if (r > 0)
          f.get(s.stride)
            .i32(4 * r)
            .op("i32.mul")
            .op("i32.add");
        f.op("i32x4.splat");
        if (s.ramp !== null) f.get(s.ramp).op("i32x4.add");
        return keep(f);
      });
    case "strided": {
      const at = f.temp("i32");
      f.get(base).set(at);
      const regs = Array.from({ length: count }, () => gather(f, s, at, lanes));
      f.release(at);
      return regs;
    }
    case "reversed": {
      const low = f.temp("i32");
      f.get(base)
        .i32((4 * unroll - 1) * s.bytes)
        .op("i32.sub")
        .set(low);
      const regs = Array.from({ length: count }, (_, r) => {
        loadLanes(f.get(low), s.dtype, (count - 1 - r) * lanes * s.bytes);
        const t = f.temp("v128");
        f.tee(t)
          .get(t)
          .shuffle(lanes === 2 ? reverse2 : reverse4)
          .release(t);
        boolMask(f, s.dtype);
        return keep(f);
      });
      f.release(low);
      return regs;
    }
    default:
      return Array.from({ length: count }, (_, r) => {
        loadLanes(f.get(base), s.dtype, r * lanes * s.bytes);
        boolMask(f, s.dtype);
        return keep(f);
      });
  }
}

/** f32 elements side by side as f64 lanes: the conversion takes its operand from memory. */
export function loadDoubles(f: FuncBuilder, s: Stream, base: Local, unroll: number): Local[] | null {
  if (s.layout !== "contiguous") return null;
  return Array.from({ length: 2 * unroll }, (_, r) => {
    f.get(base)
      .load("v128.load64_zero", 8 * r, 1)
      .op("f64x2.promote_low_f32x4");
    return keep(f);
  });
}

function gather(f: FuncBuilder, s: Stream, at: Local, lanes: number): Local {
  const v = f.temp("v128");
  for (let l = 0; l < lanes; l++) {
    if (s.bytes >= 4) {
      const four = s.bytes === 4;
      f.get(at);
      if (l === 0) f.load(four ? "v128.load32_zero" : "v128.load64_zero", 0, 1);
      else f.get(v).loadLane(four ? "v128.load32_lane" : "v128.load64_lane", l, 0, 1);
    } else {
      if (l > 0) f.get(v);
      loadNarrow(f.get(at), s.dtype);
      if (l === 0) f.op("i32x4.splat");
      else f.lane("i32x4.replace_lane", l);
    }
    f.set(v);
    f.get(at).get(s.stride).op("i32.add").set(at);
  }
  f.get(v);
  boolMask(f, s.dtype);
  f.set(v);
  return v;
}

/** Registers → the group at `base`: contiguous, or lane by lane. */
export function storeGroup(
  f: FuncBuilder,
  s: Stream,
  base: Local,
  regs: readonly Local[],
  unroll: number,
): void {
  const count = groupRegisters(s.dtype, unroll);
  const lanes = s.bytes === 8 ? 2 : 4;
  const ready = Array.from({ length: count }, (_, r) => packed(f, s.dtype, regs[r]));
  if (s.layout === "contiguous") {
    // High registers first, so that V8 can pair neighbours.
    for (let r = count - 1; r >= 0; r--) storeLanes(f.get(base).get(ready[r]), s.dtype, r * lanes * s.bytes);
    return;
  }
  const op = (
    { 1: "v128.store8_lane", 2: "v128.store16_lane", 4: "v128.store32_lane", 8: "v128.store64_lane" } as const
  )[s.bytes as 1 | 2 | 4 | 8];
  const at = f.temp("i32");
  f.get(base).set(at);
  for (const reg of ready) {
    for (let l = 0; l < lanes; l++) {
      f.get(at).get(reg).storeLane(op, l, 0, 1);
      f.get(at).get(s.stride).op("i32.add").set(at);
    }
  }
  f.release(at);
}

/** The element of an operand in scalar code. */
export function pushElement(f: FuncBuilder, s: Stream, at: Local): void {
  if (s.layout === "index") f.get(at);
  else loadScalar(f.get(at), s.dtype);
}

/** at += elements along the lanes. */
export function advanceLanes(f: FuncBuilder, s: Stream, at: Local, elements: number): void {
  if (s.layout === "broadcast") return;
  f.get(at);
  if (s.layout === "contiguous") f.i32(elements * s.bytes);
  else if (s.layout === "reversed") f.i32(-elements * s.bytes);
  else if (elements === 1) f.get(s.stride);
  else f.get(s.stride).i32(elements).op("i32.mul");
  f.op("i32.add").set(at);
}

/** The top of the stack in a temp. */
export function keep(f: FuncBuilder): Local {
  const local = f.temp("v128");
  f.set(local);
  return local;
}
