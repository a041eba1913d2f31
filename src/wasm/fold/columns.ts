/**
 * A piece of n columns and m steps: each column has a lane and a cell of its own, so every function is folded in its
 * order. A group of columns stays in registers for all m steps. A scan also stores every step. Where values are joined
 * early and not all of what was joined is finite, the group is folded again without that (see reduce-rows.ts).
 */
import { dtypes } from "../../dtype.ts";
import type { InputNode } from "../../ir/node.ts";
import { levelsOf, unrollOf } from "../../optimize/reduce-plan.ts";
import { type FuncBuilder, f32x4, type Local } from "../assembler/assembler.ts";
import type { PlainOp } from "../assembler/opcodes.ts";
import { countedLoop, loadWord } from "../kit.ts";
import { shapeOf } from "../program/lower.ts";
import { loadScalar, storeScalar } from "../program/scalar.ts";
import {
  advanceLanes,
  codeContext,
  type EarlyCode,
  earlyCode,
  elementLevels,
  type FoldContext,
  foldDescriptor,
  groupRegisters,
  keep,
  loadDoubles,
  loadGroup,
  pushElement,
  type Stream,
  storeGroup,
  Unit,
} from "./kit.ts";

/** The operands of a piece, as both functions see them. */
interface Columns {
  readonly f: FuncBuilder;
  readonly d: Local;
  readonly n: Local;
  readonly cell: Local;
  readonly out: Local;
  readonly at: readonly Local[];
  readonly streams: readonly Stream[];
  readonly cells: Stream;
  readonly target: Stream;
}

function columnsOf(c: FoldContext, name: string, before: readonly (readonly [string, "i32"])[]): Columns {
  const { plan, programs } = c;
  const inputs = programs.step.inputs.slice(1);
  const f = c.module.func(name, [
    ["d", "i32"],
    ["n", "i32"],
    ...before,
    ["cell", "i32"],
    ["out", "i32"],
    ...inputs.map((_, k) => [`in${k}`, "i32"] as const),
  ]);
  const [d, n] = f.params;
  const [cell, out, ...at] = f.params.slice(2 + before.length);
  const strideOf = (k: number) => loadWord(f, d, foldDescriptor.laneStride(k), `stride${k}`);
  const streams = inputs.map((dtype, k): Stream => {
    const { layout } = plan.streams[k];
    return { dtype, layout, bytes: dtypes[dtype].bytes, stride: strideOf(k + 1), ramp: null };
  });
  const carry = programs.step.dtype;
  const stride = strideOf(0);
  const bytes = dtypes[carry].bytes;
  const result = programs.finish.dtype;
  return {
    f,
    d,
    n,
    cell,
    out,
    at,
    streams,
    cells: { dtype: carry, layout: "contiguous", bytes, stride, ramp: null },
    target: { dtype: result, layout: plan.out, bytes: dtypes[result].bytes, stride, ramp: null },
  };
}

/** What a step of a scan stores: the accumulator as the result's dtype. */
function finishUnit(c: FoldContext, k: Columns, unrolls: readonly number[]): Unit | null {
  if (!c.plan.every) return null;
  const program = c.programs.finish;
  const levels = elementLevels(program);
  const unit = new Unit(codeContext(c, k.f, program), levels, 2, unrolls, c.params.finish);
  unit.hoist(0, k.d);
  return unit;
}

/** piece(d, n, m, start, cell, out, in0, in1, …) */
export function emitColumns(c: FoldContext): FuncBuilder {
  const { plan, programs } = c;
  const { step } = programs;
  const k = columnsOf(c, "piece", [
    ["m", "i32"],
    ["start", "i32"],
  ]);
  const { f, d, n, cell, out, at, streams, cells, target } = k;
  const m = f.params[2];
  const start = f.params[3];
  const stepStrides = streams.map((_, s) => loadWord(f, d, foldDescriptor.stepStride(s + 1), `step${s}`));
  const outStep = loadWord(f, d, foldDescriptor.stepStride(0), "outStep");
  const cursors = streams.map((_, s) => f.local("i32", `cursor${s}`));
  const outCursor = f.local("i32", "outCursor");
  const turns = f.local("i32", "turns");

  const levels = levelsOf(step, plan);
  // Columns that are folded again, because one of them is not finite, are folded again together.
  const unroll = plan.grouping?.early ? plan.grouping.groups : unrollOf(step, levels, plan);
  const unrolls = c.simd ? [...new Set([unroll, 1])] : [];
  const unit = new Unit(codeContext(c, f, step), levels, 1, unrolls, c.params.step);
  unit.hoist(0, d);
  const every = finishUnit(c, k, unrolls);
  const carry = step.dtype;
  const { lane } = dtypes[carry];
  const accs = c.simd ? Array.from({ length: groupRegisters(carry, unroll) }, () => f.local("v128")) : [];
  const startValue = f.local(lane, "startValue");
  loadScalar(f.get(d), carry, 4 * foldDescriptor.startValue).set(startValue);
  const startLanes = c.simd ? splat(f, carry, startValue) : null;
  const acc = f.local(lane, "acc");

  const early = earlyCode(c, f, d, 1, () => unrolls);
  const careful = f.local("i32", "careful");
  /** The sum of all that was joined: it is finite only if every part is. */
  const check = f.local("v128", "check");
  const zero = f.local("v128", "zero");
  if (early !== null) f.v128(f32x4(0, 0, 0, 0)).set(zero);

  const stepOn = () => {
    plan.streams.forEach(({ fixed }, s) => {
      if (!fixed) f.get(cursors[s]).get(stepStrides[s]).op("i32.add").set(cursors[s]);
    });
    if (every !== null) f.get(outCursor).get(outStep).op("i32.add").set(outCursor);
  };
  const rewind = () => {
    streams.forEach((_, s) => {
      f.get(at[s]).set(cursors[s]);
    });
    if (every !== null) f.get(out).set(outCursor);
    f.get(m).set(turns);
  };
  /** What is left of the m steps of the columns at hand. */
  const sweep = (body: () => void) => {
    countedLoop(f, turns, 1, () => {
      body();
      stepOn();
    });
  };
  const loadAt = (node: InputNode, from: readonly Local[], u: number) =>
    loadGroup(f, streams[node.index - 1], from[node.index - 1], u);
  /** A few steps at a time, one after the other: few registers are in use at once. */
  const sweepEarly = ({ values, count, join, enter }: EarlyCode, u: number, own: readonly Local[]) => {
    const size = groupRegisters(carry, 1);
    countedLoop(f, turns, count, () => {
      let joined: Local[] = [];
      for (let s = 0; s < count; s++) {
        values.vector(u, 2, (node) => loadAt(node, cursors, u));
        const regs = values.registers(u);
        joined = s === 0 ? regs : regs.map((reg, r) => join([joined[r]], [reg])[0]);
        stepOn();
      }
      joined.forEach((reg, g) => {
        const group = own.slice(g * size, (g + 1) * size);
        enter(group, [reg]).forEach((result, r) => {
          f.get(result).set(group[r]);
        });
        f.get(check).get(reg).op("f32x4.add").set(check);
      });
    });
  };
  const advance = (columns: number) => {
    advanceLanes(f, cells, cell, columns);
    if (every !== null) advanceLanes(f, target, out, columns);
    streams.forEach((s, i) => {
      advanceLanes(f, s, at[i], columns);
    });
  };

  for (const u of unrolls) {
    const own = accs.slice(0, groupRegisters(carry, u));
    const begin = () =>
      f.get(start).if(
        () => {
          for (const reg of own) f.get(startLanes!).set(reg);
        },
        () => {
          loadGroup(f, cells, cell, u).forEach((reg, r) => {
            f.get(reg).set(own[r]);
          });
        },
      );
    const sweepAll = () =>
      sweep(() => {
        unit.vector(
          u,
          2,
          (node) => (node.index === 0 ? own : loadAt(node, cursors, u)),
          (node) =>
            node.index === 0 ? null : loadDoubles(f, streams[node.index - 1], cursors[node.index - 1], u),
        );
        unit.registers(u).forEach((reg, r) => {
          f.get(reg).set(own[r]);
        });
        if (every !== null) {
          every.vector(u, 2, () => own);
          storeGroup(f, target, outCursor, every.registers(u), u);
        }
      });
    countedLoop(f, n, 4 * u, () => {
      unit.vector(u, 1, (node) => loadAt(node, at, u));
      if (early === null) {
        begin();
        rewind();
        sweepAll();
      } else {
        early.values.vector(u, 1, (node) => loadAt(node, at, u));
        f.i32(0).set(careful);
        f.loop((again) => {
          begin();
          rewind();
          f.get(zero).set(check);
          f.get(careful)
            .op("i32.eqz")
            .if(() => sweepEarly(early, u, own));
          sweepAll();
          // check - check is 0 for finite numbers alone.
          f.get(check).get(check).op("f32x4.sub").get(zero).op("f32x4.eq").op("i32x4.all_true");
          f.op("i32.eqz").tee(careful).brIf(again);
        });
      }
      storeGroup(f, cells, cell, own, u);
      advance(4 * u);
    });
  }
  countedLoop(f, n, 1, () => {
    f.get(start).if(
      [lane],
      () => f.get(startValue),
      () => loadScalar(f.get(cell), carry),
    );
    f.set(acc);
    unit.scalars(1, (node) => pushElement(f, streams[node.index - 1], at[node.index - 1]));
    rewind();
    sweep(() => {
      unit.scalars(2, (node) => {
        if (node.index === 0) f.get(acc);
        else pushElement(f, streams[node.index - 1], cursors[node.index - 1]);
      });
      f.get(unit.scalar.value(step.result, true)).set(acc);
      if (every !== null) {
        every.scalars(2, () => f.get(acc));
        storeScalar(f.get(outCursor).get(every.scalar.value(every.program.result)), target.dtype);
      }
    });
    storeScalar(f.get(cell).get(acc), carry);
    advance(1);
  });
  return f;
}

/** first(d, n, cell, out, in0, in1, …): the cells, and for a scan the output, become the first elements. */
export function emitFirst(c: FoldContext): FuncBuilder {
  const program = c.programs.first!;
  const k = columnsOf(c, "first", []);
  const { f, d, n, cell, out, at, streams, cells, target } = k;
  const levels = elementLevels(program);
  const unrolls = c.simd ? [1] : [];
  const unit = new Unit(codeContext(c, f, program), levels, 2, unrolls, c.params.first);
  unit.hoist(0, d);
  const every = finishUnit(c, k, unrolls);
  const advance = (columns: number) => {
    advanceLanes(f, cells, cell, columns);
    if (every !== null) advanceLanes(f, target, out, columns);
    streams.forEach((s, i) => {
      advanceLanes(f, s, at[i], columns);
    });
  };
  if (c.simd) {
    countedLoop(f, n, 4, () => {
      unit.vector(1, 2, (node) => loadGroup(f, streams[node.index], at[node.index], 1));
      const regs = unit.registers(1);
      storeGroup(f, cells, cell, regs, 1);
      if (every !== null) {
        every.vector(1, 2, () => regs);
        storeGroup(f, target, out, every.registers(1), 1);
      }
      advance(4);
    });
  }
  countedLoop(f, n, 1, () => {
    unit.scalars(2, (node) => pushElement(f, streams[node.index], at[node.index]));
    const value = unit.scalar.value(program.result, true);
    storeScalar(f.get(cell).get(value), cells.dtype);
    if (every !== null) {
      every.scalars(2, () => f.get(value));
      storeScalar(f.get(out).get(every.scalar.value(every.program.result)), target.dtype);
    }
    advance(1);
  });
  return f;
}

/** A scalar in every lane; booleans as masks. */
function splat(f: FuncBuilder, dtype: Parameters<typeof groupRegisters>[0], value: Local): Local {
  if (dtype === "bool") f.i32(0).get(value).op("i32.sub").op("i32x4.splat");
  else f.get(value).op(`${shapeOf(dtypes[dtype].lane)}.splat` as PlainOp);
  return keep(f);
}
