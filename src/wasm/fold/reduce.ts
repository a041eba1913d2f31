/**
 * The fold kernel: four loops, of which the innermost two are a function of their own, called for some 16K elements at a
 * time so that V8 can replace its first code. optimize/reduce-plan.ts says what runs along which loop.
 *
 *     run(d)      outer (kept) → tiles of cells → block (folded) → pieces; then `finish` for the tile
 *     piece(…)    rows and runs: reduce-rows.ts. columns: reduce-columns.ts
 *     first(…)    columns without a start value: the cells become the first elements
 *     finish(…)   cells → output
 *
 * A CELL holds one accumulator, in memory between pieces. The cells of a tile are a small buffer that stays in the
 * cache, or the output itself where the accumulator is what is stored.
 */
import { dtypes } from "../../dtype.ts";
import { unreachable } from "../../errors.ts";
import type { FoldKernelPlan } from "../../optimize/reduce-plan.ts";
import type { FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import { countedLoop, heapModule, loadWord } from "../kit.ts";
import { loadScalar, storeScalar } from "../program/scalar.ts";
import { emitColumns, emitFirst } from "./columns.ts";
import {
  codeContext,
  elementLevels,
  type FoldContext,
  type FoldPrograms,
  foldDescriptor,
  loadGroup,
  type Stream,
  starts,
  storeGroup,
  Unit,
} from "./kit.ts";
import { emitRows } from "./rows.ts";

export interface FoldOptions {
  readonly simd: boolean;
  readonly fma: boolean;
  /** Is the memory that is imported shared? */
  readonly shared: boolean;
}

/** Imports memory "m" of module "e"; exports "run" (descriptor address). */
export function emitFold(plan: FoldKernelPlan, programs: FoldPrograms, options: FoldOptions): ModuleBuilder {
  const module = heapModule(options.shared);
  const operands = 1 + plan.streams.length;
  const step = foldDescriptor.params(operands);
  const first = step + 2 * programs.step.params.length;
  const finish = first + 2 * (programs.first?.params.length ?? 0);
  const { simd, fma } = options;
  const context: FoldContext = { module, plan, programs, simd, fma, params: { step, first, finish } };
  const run = module.func("run", { d: "i32" }, [], { export: true });
  const piece = plan.kind === "columns" ? emitColumns(context) : emitRows(context);
  const firstFunc = programs.first === null ? null : emitFirst(context);
  const finishFunc = plan.every ? null : emitFinish(context);
  emitRun(context, run, piece, firstFunc, finishFunc);
  return module;
}

/* The loops around a piece --------------------------------------------------------------------------------- */

/** Something that moves along a loop. */
interface Mover {
  readonly at: Local;
  readonly stride: Local;
}

function emitRun(
  c: FoldContext,
  f: FuncBuilder,
  piece: FuncBuilder,
  first: FuncBuilder | null,
  finish: FuncBuilder | null,
): void {
  const { plan } = c;
  const [d] = f.params;
  const w = foldDescriptor;
  const word = (position: number, name: string) => loadWord(f, d, position, name);
  const n = word(w.lane, "n");
  const m = word(w.step, "m");
  const block = word(w.block, "block");
  const outer = word(w.outer, "outer");
  const tail = word(w.tail, "tail");
  const tile = word(w.tile, "tile");
  const chunk = word(w.chunk, "chunk");
  const startMode = word(w.start, "startMode");
  const doFinish = word(w.finish, "doFinish");
  const cells = word(w.cells, "cells");
  const cellTile = word(w.cellTile, "cellTile");
  const cellOuter = word(w.cellOuter, "cellOuter");
  const one = f.local("i32", "one");
  f.i32(1).set(one);
  const operands = Array.from({ length: 1 + plan.streams.length }, (_, k) => ({
    base: word(w.address(k), `base${k}`),
    lane: word(w.laneStride(k), `lane${k}`),
    step: word(w.stepStride(k), `step${k}`),
    block: word(w.blockStride(k), `block${k}`),
    outer: word(w.outerStride(k), `outer${k}`),
  }));
  const inputs = operands.slice(1);
  const start = f.local("i32", "start");

  /** Nested loops move copies of the addresses around them. */
  const copies = (from: readonly Local[]): Local[] =>
    from.map((a) => {
      const at = f.local("i32");
      f.get(a).set(at);
      return at;
    });
  const callPiece = (lanes: Local, steps: Local, cell: Local, at: readonly Local[]) => {
    f.get(d).get(lanes).get(steps).get(start).get(cell);
    for (const a of at) f.get(a);
    f.call(piece);
  };
  /** One fold of a tile's cells over the folded loops. `at` are the output and the inputs. */
  const foldTile = (lanes: Local, rows: Local | null, cell: Local, at: readonly Local[]) => {
    f.get(startMode).set(start);
    const blockAt = copies(at);
    const movers = blockAt.map((a, k) => ({ at: a, stride: operands[k].block }));
    eachChunk(f, block, one, movers, () => {
      if (plan.kind === "rows") {
        callPiece(lanes, rows!, cell, blockAt);
        f.i32(starts.kept).set(start);
        return;
      }
      const stepAt = copies(blockAt);
      const left = f.local("i32", "steps");
      f.get(m).set(left);
      if (first !== null) {
        f.get(start)
          .i32(starts.first)
          .op("i32.eq")
          .if(() => {
            f.get(d).get(lanes).get(cell);
            for (const a of stepAt) f.get(a);
            f.call(first);
            f.i32(starts.kept).set(start);
            f.get(left).i32(1).op("i32.sub").set(left);
            stepAt.forEach((a, k) => {
              f.get(a).get(operands[k].step).op("i32.add").set(a);
            });
          });
      }
      const stepMovers = stepAt.map((a, k) => ({ at: a, stride: operands[k].step }));
      f.get(left).if(() => {
        eachChunk(f, left, chunk, stepMovers, (size) => {
          callPiece(lanes, size, cell, stepAt);
          f.i32(starts.kept).set(start);
        });
      });
      if (plan.kind === "runs") {
        f.get(tail).if(() => {
          callPiece(tail, one, cell, stepAt);
          f.i32(starts.kept).set(start);
        });
      }
    });
  };
  const finishTile = (count: Local, cell: Local, out: Local) => {
    if (finish === null) return;
    f.get(doFinish).if(() => {
      f.get(d).get(count).get(cell).get(out).call(finish);
    });
  };

  const outerAt = operands.map((o) => o.base);
  const movers: Mover[] = outerAt.map((at, k) => ({ at, stride: operands[k].outer }));
  movers.push({ at: cells, stride: cellOuter });
  eachChunk(f, outer, one, movers, () => {
    if (plan.kind === "runs") {
      foldTile(n, null, cells, outerAt);
      finishTile(one, cells, outerAt[0]);
      return;
    }
    const across = plan.kind === "columns" ? "lane" : "step";
    const tileAt = copies(outerAt);
    const [tileCells] = copies([cells]);
    const tileMovers: Mover[] = tileAt.map((at, k) => ({ at, stride: operands[k][across] }));
    tileMovers.push({ at: tileCells, stride: cellTile });
    eachChunk(f, across === "lane" ? n : m, tile, tileMovers, (size) => {
      foldTile(across === "lane" ? size : n, across === "lane" ? null : size, tileCells, tileAt);
      finishTile(size, tileCells, tileAt[0]);
    });
  });
  if (inputs.length === 0) unreachable("a fold of nothing");
}

/** for (left = total; left > 0; left -= size) { size = min(left, most); body; movers go size steps on } */
function eachChunk(
  f: FuncBuilder,
  total: Local,
  most: Local,
  movers: readonly Mover[],
  body: (size: Local) => void,
): void {
  const left = f.local("i32");
  const size = f.local("i32");
  f.get(total).set(left);
  f.loop((next) => {
    f.get(left).get(most).get(left).get(most).op("i32.lt_u").select().set(size);
    body(size);
    for (const { at, stride } of movers) {
      f.get(at).get(stride).get(size).op("i32.mul").op("i32.add").set(at);
    }
    f.get(left).get(size).op("i32.sub").tee(left).brIf(next);
  });
}

/* Cells → output -------------------------------------------------------------------------------------------- */

function emitFinish(c: FoldContext): FuncBuilder {
  const { plan, programs } = c;
  const program = programs.finish;
  const f = c.module.func("finish", { d: "i32", count: "i32", cells: "i32", out: "i32" });
  const [d, count, cells, out] = f.params;
  const levels = elementLevels(program);
  const [carry] = program.inputs;
  const outStride = loadWord(
    f,
    d,
    (plan.kind === "rows" ? foldDescriptor.stepStride : foldDescriptor.laneStride)(0),
    "outStride",
  );
  const unit = new Unit(codeContext(c, f, program), levels, 2, c.simd ? [1] : [], c.params.finish);
  unit.hoist(0, d);
  const from: Stream = {
    dtype: carry,
    layout: "contiguous",
    bytes: dtypes[carry].bytes,
    stride: outStride,
    ramp: null,
  };
  const to: Stream = {
    dtype: program.dtype,
    layout: plan.out,
    bytes: dtypes[program.dtype].bytes,
    stride: outStride,
    ramp: null,
  };
  const advance = (elements: number) => {
    f.get(cells)
      .i32(elements * from.bytes)
      .op("i32.add")
      .set(cells);
    f.get(out);
    if (plan.out === "strided") f.get(outStride).i32(elements).op("i32.mul");
    else f.i32(elements * to.bytes);
    f.op("i32.add").set(out);
  };
  if (c.simd) {
    countedLoop(f, count, 4, () => {
      unit.vector(1, 2, () => loadGroup(f, from, cells, 1));
      storeGroup(f, to, out, unit.registers(1), 1);
      advance(4);
    });
  }
  countedLoop(f, count, 1, () => {
    unit.scalars(2, () => loadScalar(f.get(cells), carry));
    storeScalar(f.get(out).get(unit.scalar.value(program.result)), to.dtype);
    advance(1);
  });
  return f;
}
