/**
 * A piece of m rows of n elements, each folded into its cell: cell = cell ∘ fold(row). The operation is associative and
 * commutative, so a row is folded in several registers at once, which are then folded into one value in a fixed order.
 * Where values are joined early, and what is watched did not hold, the row is folded again without that.
 */
import { type DType, dtypes } from "../../dtype.ts";
import type { InputNode } from "../../ir/node.ts";
import { groupsOf, levelsOf, unrollOf } from "../../optimize/reduce-plan.ts";
import { type FuncBuilder, i32x4, type Local } from "../assembler/assembler.ts";
import type { LaneOp, PlainOp } from "../assembler/opcodes.ts";
import { countedLoop, loadWord } from "../kit.ts";
import { shapeOf } from "../program/lower.ts";
import { loadScalar, pushConst, ScalarCode, storeScalar } from "../program/scalar.ts";
import { VectorCode } from "../program/vector.ts";
import {
  advanceLanes,
  codeContext,
  type EarlyCode,
  earlyCode,
  type FoldContext,
  foldDescriptor,
  groupRegisters,
  loadDoubles,
  loadGroup,
  onRegisters,
  pushElement,
  rampOf,
  type Stream,
  Unit,
} from "./kit.ts";

/** piece(d, n, m, start, cell, out, in0, in1, …) */
export function emitRows(c: FoldContext): FuncBuilder {
  const { plan, programs } = c;
  const { step } = programs;
  const inputs = step.inputs.slice(1);
  const f = c.module.func("piece", [
    ["d", "i32"],
    ["n", "i32"],
    ["m", "i32"],
    ["start", "i32"],
    ["cell", "i32"],
    ["out", "i32"],
    ...inputs.map((_, k) => [`row${k}`, "i32"] as const),
  ]);
  const [d, n, m, start, cell, , ...rows] = f.params;
  const cellStride = loadWord(f, d, foldDescriptor.cell, "cellStride");
  const streams = inputs.map((dtype, k): Stream => {
    const stride = loadWord(f, d, foldDescriptor.laneStride(k + 1), `stride${k}`);
    const { layout } = plan.streams[k];
    const ramp = layout === "index" && c.simd ? rampOf(f, stride) : null;
    return { dtype, layout, bytes: dtypes[dtype].bytes, stride, ramp };
  });
  const rowStrides = inputs.map((_, k) => loadWord(f, d, foldDescriptor.stepStride(k + 1), `rowStride${k}`));
  const at = inputs.map((_, k) => f.local("i32", `at${k}`));

  const levels = levelsOf(step, plan);
  const unroll = groupsOf(step, levels, plan);
  /** Groups that are computed at once: fewer where a step is heavy and the number of groups is given. */
  const atOnce = Math.min(unroll, unrollOf(step, levels, plan));
  const unrolls = c.simd ? [...new Set([atOnce, 1])] : [];
  const unit = new Unit(codeContext(c, f, step), levels, 2, unrolls, c.params.step);
  unit.hoist(0, d);

  const carry = step.inputs[0];
  const { lane } = dtypes[carry];
  const identity = plan.fold.algebra!.identity;
  const total = f.local(lane, "total");
  const before = f.local(lane, "before");
  const left = f.local("i32", "left");
  const accs = c.simd ? Array.from({ length: groupRegisters(carry, unroll) }, () => f.local("v128")) : [];
  const neutral = c.simd ? identityRegister(c, f, carry) : null;

  const load = (node: InputNode, u: number, own = accs) =>
    node.index === 0
      ? own.slice(0, groupRegisters(carry, u))
      : loadGroup(f, streams[node.index - 1], at[node.index - 1], u);
  /** One step of u groups of accumulators, from group g on. */
  const turn = (u: number, g = 0) => {
    const own = accs.slice(g * groupRegisters(carry, 1));
    unit.vector(
      u,
      2,
      (node) => load(node, u, own),
      (node) => (node.index === 0 ? null : loadDoubles(f, streams[node.index - 1], at[node.index - 1], u)),
    );
    unit.registers(u).forEach((reg, r) => {
      f.get(reg).set(own[r]);
    });
    streams.forEach((s, k) => {
      advanceLanes(f, s, at[k], 4 * u);
    });
  };

  const early = earlyCode(c, f, d, 2, (count) => [count]);
  /** Elements that a turn joins, in one chain or two. */
  const chains = early === null ? 0 : Math.min(8 / early.count, unroll);
  const earlyTurnSize = early === null ? 0 : 4 * early.count * chains;
  const careful = f.local("i32", "careful");
  /** numbers: a sum of all values, which is NaN if one of them is. */
  const check = early?.watch === "numbers" ? f.local("v128", "check") : null;
  const shape = shapeOf(lane);
  const combine = c.simd ? onRegisters(c, f, programs.combine!, d) : null;
  /** A few groups of elements become one, which is carried in group g of the accumulators. */
  const earlyTurn = ({ values, count, dtype, join, enter }: EarlyCode, g: number) => {
    values.vector(count, 2, (node) => load(node, count));
    let regs = values.registers(count);
    if (check !== null) {
      f.get(check);
      sumOf(f, shape, regs)
        .op(`${shape}.add` as PlainOp)
        .set(check);
    }
    while (regs.length > groupRegisters(dtype, 1)) regs = pairsOf(regs).map(([a, b]) => join([a], [b])[0]);
    const size = groupRegisters(carry, 1);
    const own = accs.slice(g * size, (g + 1) * size);
    enter(own, regs).forEach((reg, r) => {
      f.get(reg).set(own[r]);
    });
    streams.forEach((s, k) => {
      advanceLanes(f, s, at[k], 4 * count);
    });
  };

  /** total = fold(row). */
  const foldRow = () => {
    rows.forEach((row, k) => {
      f.get(row).set(at[k]);
    });
    const pushFixed = (node: InputNode) => pushElement(f, streams[node.index - 1], at[node.index - 1]);
    unit.hoist(1, d, pushFixed);
    early?.values.hoist(1, d, pushFixed);
    f.get(n).set(left);
    pushConst(f, carry, identity).set(total);
    if (c.simd) {
      f.get(n)
        .i32(4)
        .op("i32.ge_s")
        .if(() => {
          for (const acc of accs) f.get(neutral!).set(acc);
          if (early !== null) {
            f.get(careful)
              .op("i32.eqz")
              .if(() => {
                if (check !== null) f.v128(i32x4(0, 0, 0, 0)).set(check);
                countedLoop(f, left, earlyTurnSize, () => {
                  for (let g = 0; g < chains; g++) earlyTurn(early, g);
                });
              });
          }
          if (unroll > 1) {
            countedLoop(f, left, 4 * unroll, () => {
              for (let g = 0; g < unroll; g += atOnce) turn(atOnce, g);
            });
            mergeGroups(f, carry, accs, unroll, combine!);
          }
          countedLoop(f, left, 4, () => turn(1));
          foldLanes(c, f, carry, accs, total);
        });
    }
    countedLoop(f, left, 1, () => {
      unit.scalars(2, (node) => {
        if (node.index === 0) f.get(total);
        else pushElement(f, streams[node.index - 1], at[node.index - 1]);
      });
      f.get(unit.scalar.value(step.result, true)).set(total);
      streams.forEach((s, k) => {
        advanceLanes(f, s, at[k], 1);
      });
    });
  };

  f.loop((nextRow) => {
    if (early === null) foldRow();
    else {
      f.get(n).i32(earlyTurnSize).op("i32.lt_s").set(careful);
      f.loop((again) => {
        foldRow();
        f.get(careful).op("i32.eqz");
        if (check === null) {
          // total - total is 0 for finite numbers alone.
          f.get(total)
            .get(total)
            .op(`${lane}.sub` as PlainOp);
          pushConst(f, carry, 0).op(`${lane}.ne` as PlainOp);
        } else {
          pushConst(f.get(total), carry, 0).op(`${lane}.eq` as PlainOp);
          f.get(check)
            .get(check)
            .op(`${shape}.eq` as PlainOp)
            .op("i32x4.all_true")
            .op("i32.eqz")
            .op("i32.or");
        }
        f.op("i32.and").tee(careful).brIf(again);
      });
    }
    f.get(start).if(
      [lane],
      () => loadScalar(f.get(d), carry, 4 * foldDescriptor.startValue),
      () => loadScalar(f.get(cell), carry),
    );
    f.set(before);
    f.get(cell);
    storeScalar(f.get(combineScalars(c, f, before, total)), carry);
    // Rows that share a cell add to it.
    f.get(start).get(cellStride).i32(0).op("i32.ne").op("i32.and").set(start);
    f.get(cell).get(cellStride).op("i32.add").set(cell);
    rows.forEach((row, k) => {
      f.get(row).get(rowStrides[k]).op("i32.add").set(row);
    });
    f.get(m).i32(1).op("i32.sub").tee(m).brIf(nextRow);
  });
  return f;
}

/** The identity in every lane. */
function identityRegister(c: FoldContext, f: FuncBuilder, carry: DType): Local {
  const value = c.plan.fold.algebra!.identity;
  const program = {
    nodes: [{ op: "const", value, dtype: carry, args: [] } as const],
    result: 0,
    inputs: [],
    params: [],
    dtype: carry,
  };
  const code = new VectorCode(codeContext(c, f, program));
  code.splat(0, null);
  return carry === "bool" ? code.mask(0, false)[0] : code.regs(0)[0];
}

/** Groups 0, 1, 2, 3 → group 0, as (0 ∘ 1) ∘ (2 ∘ 3). */
function mergeGroups(
  f: FuncBuilder,
  carry: DType,
  accs: readonly Local[],
  unroll: number,
  combine: (a: readonly Local[], b: readonly Local[]) => Local[],
): void {
  const size = groupRegisters(carry, 1);
  const group = (g: number) => accs.slice(g * size, (g + 1) * size);
  for (let distance = 1; distance < unroll; distance *= 2) {
    for (let g = 0; g + distance < unroll; g += 2 * distance) {
      combine(group(g), group(g + distance)).forEach((reg, r) => {
        f.get(reg).set(group(g)[r]);
      });
    }
  }
}

/** Pushes the sum of registers, (a + b) + (c + d): short chains. */
function sumOf(f: FuncBuilder, shape: string, regs: readonly Local[]): FuncBuilder {
  if (regs.length === 1) return f.get(regs[0]);
  const half = regs.length / 2;
  sumOf(f, shape, regs.slice(0, half));
  return sumOf(f, shape, regs.slice(half)).op(`${shape}.add` as PlainOp);
}

/** The first with the one in the middle, the second with the one after that: groups of any number of registers stay whole. */
const pairsOf = (regs: readonly Local[]): [Local, Local][] => {
  const half = regs.length / 2;
  return Array.from({ length: half }, (_, i) => [regs[i], regs[i + half]]);
};

function combineScalars(c: FoldContext, f: FuncBuilder, a: Local, b: Local): Local {
  const program = c.programs.combine!;
  const code = new ScalarCode(codeContext(c, f, program));
  program.nodes.forEach((_, id) => {
    code.emit(id, (node) => f.get((node as InputNode).index === 0 ? a : b));
  });
  return code.value(program.result, true);
}

/** The four lanes of group 0 into one value: ((0 ∘ 1) ∘ 2) ∘ 3. */
function foldLanes(c: FoldContext, f: FuncBuilder, carry: DType, accs: readonly Local[], total: Local): void {
  const { lane } = dtypes[carry];
  const shape = shapeOf(lane);
  const perRegister = lane === "i64" || lane === "f64" ? 2 : 4;
  const next = f.local(lane);
  for (let l = 0; l < 4; l++) {
    f.get(accs[Math.floor(l / perRegister)]).lane(`${shape}.extract_lane` as LaneOp, l % perRegister);
    if (carry === "bool") f.i32(1).op("i32.and");
    f.set(l === 0 ? total : next);
    if (l > 0) f.get(combineScalars(c, f, total, next)).set(total);
  }
}
