/**
 * The elementwise kernel for operands that disagree about which axis is contiguous, as a.T + b or a transposing copy: it
 * computes 4 × 4 elements at a time. An operand that is contiguous along the OTHER axis is loaded in that direction and
 * transposed in registers. Rows go in strips, so that the cache lines read crosswise are used up at once.
 *
 * The descriptor is that of elementwise.ts; n and m must be multiples of 4. Edges are the plain kernel's work.
 */
import type { Id } from "../../ir/node.ts";
import type { KernelPlan } from "../../optimize/vectorize.ts";
import type { FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import { type ElementwiseOptions, emitOnce, type Operand, startKernel } from "./elementwise.ts";
import { lifetimesOf } from "./lifetimes.ts";
import { boolMask, loadLanes, loadSplat, packed, storeLanes } from "./memory.ts";
import { ScalarCode } from "./scalar.ts";
import { transpose32, transpose64 } from "./transpose.ts";
import { VectorCode } from "./vector.ts";

/** Rows a strip has: half a cache line of what lies crosswise. More would evict each other at strides of 2^k. */
const STRIP = 8;

const SIDE = 4;

export function emitTile(plan: KernelPlan, options: ElementwiseOptions): ModuleBuilder {
  const start = startKernel(plan, options);
  const { module, f, context, n, m, operands } = start;
  const lifetimes = lifetimesOf(plan.program, plan.levels);
  const code = new VectorCode(context, lifetimes);
  emitOnce(start, 0, plan.levels, new ScalarCode(context, lifetimes), [code]);

  const column = f.local("i32", "column");
  const left = f.local("i32", "left");
  const height = f.local("i32", "height");
  f.loop((nextStrip) => {
    // height = min(STRIP, m)
    f.get(m).i32(STRIP).get(m).i32(STRIP).op("i32.lt_s").select().set(height);
    f.i32(0).set(column);
    f.loop((nextColumn) => {
      for (const o of operands) {
        f.get(o.row).get(column);
        if (o.layout === "transposed") f.get(o.stride).op("i32.mul").op("i32.add");
        else if (o.layout === "contiguous") f.i32(o.bytes).op("i32.mul").op("i32.add");
        else f.drop();
        f.set(o.at);
      }
      f.get(height).set(left);
      f.loop((nextBlock) => {
        block(plan, f, operands, code);
        f.get(left).i32(SIDE).op("i32.sub").tee(left).brIf(nextBlock);
      });
      f.get(column).i32(SIDE).op("i32.add").tee(column).get(n).op("i32.lt_s").brIf(nextColumn);
    });
    for (const o of operands) {
      f.get(o.row).get(o.rowStride).get(height).op("i32.mul").op("i32.add").set(o.row);
    }
    f.get(m).get(height).op("i32.sub").tee(m).brIf(nextStrip);
  });
  return module;
}

/** 4 × 4 elements at the operands' addresses, which move 4 rows on. Register r of a value is row r. */
function block(plan: KernelPlan, f: FuncBuilder, operands: readonly Operand[], code: VectorCode): void {
  const { program, levels } = plan;
  program.nodes.forEach((node, id: Id) => {
    if (levels[id] < 2) return;
    if (node.op === "input") code.define(id, loadBlock(f, operands[node.index + 1]));
    else code.emit(id);
  });
  const [out] = operands;
  const regs = out.dtype === "bool" ? code.mask(program.result, false) : code.regs(program.result);
  const perRow = out.bytes === 8 ? 2 : 1;
  for (let r = 0; r < SIDE; r++) {
    for (let half = 0; half < perRow; half++) {
      const reg = packed(f, out.dtype, regs[(r * perRow + half) % regs.length]);
      storeLanes(f.get(out.at).get(reg), out.dtype, 16 * half);
    }
    nextRow(f, out);
  }
}

const nextRow = (f: FuncBuilder, o: Operand) => f.get(o.at).get(o.rowStride).op("i32.add").set(o.at);

function loadBlock(f: FuncBuilder, o: Operand): Local[] {
  if (o.layout === "transposed") return loadCrosswise(f, o);
  const rows: Local[] = [];
  for (let r = 0; r < SIDE; r++) {
    for (let half = 0; half < (o.bytes === 8 ? 2 : 1); half++) {
      if (o.layout === "broadcast") loadSplat(f.get(o.at), o.dtype);
      else loadLanes(f.get(o.at), o.dtype, 16 * half);
      boolMask(f, o.dtype);
      rows.push(keep(f));
    }
    nextRow(f, o);
  }
  return rows;
}

/** Each of 4 columns is a run of 4 elements; the rows are what the registers shall hold. */
function loadCrosswise(f: FuncBuilder, o: Operand): Local[] {
  const at = f.temp("i32");
  f.get(o.at).set(at);
  const columns: Local[][] = [];
  for (let c = 0; c < SIDE; c++) {
    const parts: Local[] = [];
    for (let half = 0; half < (o.bytes === 8 ? 2 : 1); half++) {
      loadLanes(f.get(at), o.dtype, 16 * half);
      boolMask(f, o.dtype);
      parts.push(keep(f));
    }
    columns.push(parts);
    if (c < SIDE - 1) f.get(at).get(o.stride).op("i32.add").set(at);
  }
  f.release(at);
  f.get(o.at)
    .i32(SIDE * o.bytes)
    .op("i32.add")
    .set(o.at);
  return o.bytes === 8
    ? transpose64(f, columns)
    : transpose32(
        f,
        columns.map(([c]) => c),
      );
}

function keep(f: FuncBuilder): Local {
  const local = f.local("v128");
  f.set(local);
  return local;
}
