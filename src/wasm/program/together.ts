/**
 * The elementwise kernel for operands that are the same in every row, as the bias in a + bias: a few rows are computed
 * together, so that a group of columns of such an operand, and what follows from it alone, is loaded and computed once
 * for all of them. One row at a time would fetch it from beyond the first-level cache each time.
 *
 * The descriptor is that of elementwise.ts.
 */
import type { Id, InputNode } from "../../ir/node.ts";
import { type KernelPlan, TOGETHER } from "../../optimize/vectorize.ts";
import type { ModuleBuilder } from "../assembler/assembler.ts";
import { countedLoop } from "../kit.ts";
import {
  type ElementwiseOptions,
  emitOnce,
  loadVectors,
  type Operand,
  startKernel,
  storeVectors,
  unrollsOf,
} from "./elementwise.ts";
import { lifetimesOf } from "./lifetimes.ts";
import { boolMask, loadSplat } from "./memory.ts";
import { loadScalar, ScalarCode, storeScalar } from "./scalar.ts";
import { registersOf, VectorCode } from "./vector.ts";

export function emitTogether(plan: KernelPlan, options: ElementwiseOptions): ModuleBuilder {
  const start = startKernel(plan, options);
  const { module, f, context, n, m, operands } = start;
  const { program, levels } = plan;
  // `at` moves along the columns; a row's cursor starts there and moves down the rows.
  const cursors = operands.map((o, k): Operand => {
    if (o.layout === "repeated") return o;
    return { ...o, at: f.local("i32", k === 0 ? "outCursor" : `cursor${k - 1}`) };
  });
  const [out] = cursors;

  const lifetimes = lifetimesOf(program, levels);
  const scalar = new ScalarCode(context, lifetimes);
  const vectors = unrollsOf(plan).map((u) => ({ u, code: new VectorCode(context, lifetimes) }));
  emitOnce(
    start,
    0,
    levels,
    scalar,
    vectors.map(({ code }) => code),
  );

  const height = f.local("i32", "height");
  const left = f.local("i32", "left");
  const turns = f.local("i32", "turns");
  /** `columns` columns of all rows: what they have in common, and then row by row the rest. */
  const sweep = (columns: number, emit: (level: 1 | 2) => void) => {
    emit(1);
    operands.forEach((o, k) => {
      if (o.layout !== "repeated") f.get(o.at).set(cursors[k].at);
    });
    f.get(height).set(turns);
    f.loop((next) => {
      emit(2);
      for (const o of cursors) {
        if (o.layout !== "repeated") f.get(o.at).get(o.rowStride).op("i32.add").set(o.at);
      }
      f.get(turns).i32(1).op("i32.sub").tee(turns).brIf(next);
    });
    for (const o of operands) {
      if (o.layout === "broadcast") continue;
      f.get(o.at)
        .i32(columns * o.bytes)
        .op("i32.add")
        .set(o.at);
    }
  };
  const vectorColumns = (u: number, code: VectorCode) => (level: 1 | 2) => {
    program.nodes.forEach((node, id: Id) => {
      if (levels[id] !== level) return;
      if (node.op !== "input") {
        code.emit(id);
        return;
      }
      const o = cursors[node.index + 1];
      if (o.layout === "broadcast") {
        loadSplat(f.get(o.at), o.dtype);
        boolMask(f, o.dtype);
        const local = f.local("v128");
        f.set(local);
        code.define(id, new Array(registersOf(o.dtype, u)).fill(local));
      } else code.define(id, loadVectors(f, o, u), true);
    });
    if (level === 1) return;
    const regs = out.dtype === "bool" ? code.mask(program.result, false) : code.regs(program.result);
    storeVectors(f, out, regs, u);
  };
  const scalarColumn = (level: 1 | 2) => {
    program.nodes.forEach((_, id) => {
      if (levels[id] !== level) return;
      scalar.emit(id, (input) => {
        const o = cursors[(input as InputNode).index + 1];
        loadScalar(f.get(o.at), o.dtype);
      });
    });
    if (level === 2) storeScalar(f.get(out.at).get(scalar.value(program.result)), out.dtype);
  };

  f.block((done) => {
    f.get(m).i32(0).op("i32.le_s").brIf(done);
    f.loop((nextRows) => {
      // height = min(TOGETHER, m)
      f.get(m).i32(TOGETHER).get(m).i32(TOGETHER).op("i32.lt_s").select().set(height);
      for (const o of operands) f.get(o.row).set(o.at);
      f.get(n).set(left);
      for (const { u, code } of vectors)
        countedLoop(f, left, 4 * u, () => sweep(4 * u, vectorColumns(u, code)));
      countedLoop(f, left, 1, () => sweep(1, scalarColumn));
      for (const o of operands)
        f.get(o.row).get(o.rowStride).get(height).op("i32.mul").op("i32.add").set(o.row);
      f.get(m).get(height).op("i32.sub").tee(m).brIf(nextRows);
    });
  });
  return module;
}
