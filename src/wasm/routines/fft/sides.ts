/** The ways between lines of elements, wherever they lie, and cells: loads in one direction, stores in the other. */
import type { Callable, FuncBuilder, Local } from "../../assembler/assembler.ts";
import type { LoadLaneOp, LoadOp, StoreLaneOp } from "../../assembler/opcodes.ts";
import { bump, repeat } from "../../product/lanes.ts";
import { HALF, type Kit, pick, rows } from "./kit.ts";

/** How the parts of one side's elements lie: real ones alone, or the imaginary part right behind the real one, or apart. */
export const sideKinds = { real: 0, pairs: 1, apart: 2 } as const;

/** adjacent(table, apart) → 1 if W lines follow one another, `apart` bytes from one to the next. */
export function emitAdjacent(kit: Kit): Callable {
  const f = kit.func("adjacent", "table apart", ["i32"]);
  const [table, apart] = f.params;
  for (let t = 1; t < kit.lines; t++) {
    f.get(table)
      .load("i32.load", 4 * t)
      .get(table)
      .load("i32.load", 4 * (t - 1));
    f.op("i32.sub").get(apart).op("i32.eq");
    if (t > 1) f.op("i32.and");
  }
  return f;
}

/** The addresses of W lines; those that are not there are the last one that is. */
function linePointers(f: FuncBuilder, kit: Kit, table: Local, count: Local, plus?: Local): Local[] {
  return Array.from({ length: kit.lines }, (_, t) => {
    const at = f.local("i32", `line${t}`);
    f.get(table);
    f.i32(t).get(count).i32(1).op("i32.sub").i32(t).get(count).op("i32.lt_s").select();
    f.i32(2).op("i32.shl").op("i32.add").load("i32.load");
    if (plus !== undefined) f.get(plus).op("i32.add");
    f.set(at);
    return at;
  });
}

const lanesOf = (kit: Kit) => kit.regBytes / kit.row.bytes;

/** even(kit): lanes 0, 2, … of two registers; odd: 1, 3, …; and the way back: the low and the high halves zipped. */
const shuffles = {
  f32: {
    even: pick(4, 0, 2, 4, 6),
    odd: pick(4, 1, 3, 5, 7),
    low: pick(4, 0, 4, 1, 5),
    high: pick(4, 2, 6, 3, 7),
  },
  f64: { even: pick(8, 0, 2), odd: pick(8, 1, 3), low: pick(8, 0, 2), high: pick(8, 1, 3) },
} as const;

/** Half a cell from (or to) W lines side by side: half(cell, cellStep, at, n, step). */
function emitAdjacentHalf(kit: Kit, store: boolean): Callable {
  const f = kit.func(store ? "storeRun" : "loadRun", "cell cellStep at n step");
  const [cell, cellStep, at, n, step] = f.params;
  const [dst, src] = store ? [at, cell] : [cell, at];
  repeat(f, n, () => {
    for (let h = kit.regs - 1; h >= 0; h--) {
      f.get(dst)
        .get(src)
        .load("v128.load", 16 * h, kit.row.bytes);
      f.store("v128.store", 16 * h, kit.row.bytes);
    }
    bump(f, cell, cellStep);
    bump(f, at, step);
  });
  return f;
}

/** Half a cell from (or to) W lines anywhere: half(cell, cellStep, table, count, plus, n, step). */
function emitAnyHalf(kit: Kit, store: boolean): Callable {
  const f = kit.func(store ? "storeAny" : "loadAny", "cell cellStep table count plus n step");
  const [cell, cellStep, table, count, plus, n, step] = f.params;
  const lines = linePointers(f, kit, table, count, plus);
  const { bytes } = kit.row;
  repeat(f, n, () => {
    if (store) {
      // From the last to the first: what a line that is not there stores is stored over.
      for (let t = kit.lines - 1; t >= 0; t--) {
        f.get(lines[t])
          .get(cell)
          .load(rows[kit.lane].load, t * bytes)
          .store(rows[kit.lane].store);
      }
    } else if (!kit.simd) {
      for (let t = 0; t < kit.lines; t++) {
        f.get(cell)
          .get(lines[t])
          .load(rows[kit.lane].load)
          .store(rows[kit.lane].store, t * bytes);
      }
    } else {
      for (let h = 0; h < kit.regs; h++) {
        f.get(cell);
        gather(f, kit, lines.slice(h * lanesOf(kit), (h + 1) * lanesOf(kit)));
        f.store("v128.store", 16 * h);
      }
    }
    for (const at of lines) bump(f, at, step);
    bump(f, cell, cellStep);
  });
  return f;
}

function gather(f: FuncBuilder, kit: Kit, lines: readonly Local[]): void {
  const bits = 8 * kit.row.bytes;
  const x = f.temp("v128");
  f.get(lines[0])
    .load(`v128.load${bits}_zero` as LoadOp)
    .set(x);
  for (let t = 1; t < lines.length; t++) {
    f.get(lines[t])
      .get(x)
      .loadLane(`v128.load${bits}_lane` as LoadLaneOp, t)
      .set(x);
  }
  f.get(x).release(x);
}

/** Cells from W lines of pairs side by side: rows(re, im, cellStep, at, n, step). */
function emitLoadRows(kit: Kit): Callable {
  const f = kit.func("loadRows", "re im cellStep at n step");
  const [re, im, cellStep, at, n, step] = f.params;
  const { even, odd } = shuffles[kit.lane];
  const [a, b] = [f.local("v128"), f.local("v128")];
  repeat(f, n, () => {
    for (let h = 0; h < kit.regs; h++) {
      f.get(at)
        .load("v128.load", 32 * h, kit.row.bytes)
        .set(a);
      f.get(at)
        .load("v128.load", 32 * h + 16, kit.row.bytes)
        .set(b);
      f.get(re)
        .get(a)
        .get(b)
        .shuffle(even)
        .store("v128.store", 16 * h);
      f.get(im)
        .get(a)
        .get(b)
        .shuffle(odd)
        .store("v128.store", 16 * h);
    }
    bump(f, re, cellStep);
    bump(f, im, cellStep);
    bump(f, at, step);
  });
  return f;
}

/** Cells to W lines of pairs side by side. */
function emitStoreRows(kit: Kit): Callable {
  const f = kit.func("storeRows", "re im cellStep at n step");
  const [re, im, cellStep, at, n, step] = f.params;
  const { low, high } = shuffles[kit.lane];
  const [a, b] = [f.local("v128"), f.local("v128")];
  repeat(f, n, () => {
    for (let h = 0; h < kit.regs; h++) {
      f.get(re)
        .load("v128.load", 16 * h)
        .set(a);
      f.get(im)
        .load("v128.load", 16 * h)
        .set(b);
      f.get(at)
        .get(a)
        .get(b)
        .shuffle(high)
        .store("v128.store", 32 * h + 16, kit.row.bytes);
      f.get(at)
        .get(a)
        .get(b)
        .shuffle(low)
        .store("v128.store", 32 * h, kit.row.bytes);
    }
    bump(f, re, cellStep);
    bump(f, im, cellStep);
    bump(f, at, step);
  });
  return f;
}

/** Cells from W lines of pairs anywhere: pairs(re, im, cellStep, table, count, n, step). */
function emitLoadPairs(kit: Kit): Callable {
  const f = kit.func("loadPairs", "re im cellStep table count n step");
  const [re, im, cellStep, table, count, n, step] = f.params;
  const lines = linePointers(f, kit, table, count);
  const { even, odd } = shuffles[kit.lane];
  const [a, b] = [f.local("v128"), f.local("v128")];
  const lanes = lanesOf(kit);
  /** The pairs of `lanes / 2` lines in one register. */
  const load = (some: readonly Local[], into: Local) => {
    if (kit.lane === "f64") f.get(some[0]).load("v128.load", 0, 8).set(into);
    else {
      f.get(some[0]).load("v128.load64_zero", 0, 4).set(into);
      f.get(some[1]).get(into).loadLane("v128.load64_lane", 1, 0, 4).set(into);
    }
  };
  repeat(f, n, () => {
    for (let h = 0; h < kit.regs; h++) {
      const some = lines.slice(h * lanes, (h + 1) * lanes);
      load(some.slice(0, lanes / 2), a);
      load(some.slice(lanes / 2), b);
      f.get(re)
        .get(a)
        .get(b)
        .shuffle(even)
        .store("v128.store", 16 * h);
      f.get(im)
        .get(a)
        .get(b)
        .shuffle(odd)
        .store("v128.store", 16 * h);
    }
    for (const at of lines) bump(f, at, step);
    bump(f, re, cellStep);
    bump(f, im, cellStep);
  });
  return f;
}

/** Cells to W lines of pairs anywhere, the last line first (see emitAnyHalf). */
function emitStorePairs(kit: Kit): Callable {
  const f = kit.func("storePairs", "re im cellStep table count n step");
  const [re, im, cellStep, table, count, n, step] = f.params;
  const lines = linePointers(f, kit, table, count);
  const { low, high } = shuffles[kit.lane];
  const [a, b, pairs] = [f.local("v128"), f.local("v128"), f.local("v128")];
  const lanes = lanesOf(kit);
  const store = (some: readonly Local[]) => {
    f.set(pairs);
    for (let t = some.length - 1; t >= 0; t--) {
      f.get(some[t]).get(pairs);
      if (kit.lane === "f64") f.store("v128.store", 0, 8);
      else f.storeLane("v128.store64_lane" as StoreLaneOp, t, 0, 4);
    }
  };
  repeat(f, n, () => {
    for (let h = kit.regs - 1; h >= 0; h--) {
      const some = lines.slice(h * lanes, (h + 1) * lanes);
      f.get(re)
        .load("v128.load", 16 * h)
        .set(a);
      f.get(im)
        .load("v128.load", 16 * h)
        .set(b);
      f.get(a).get(b).shuffle(high);
      store(some.slice(lanes / 2));
      f.get(a).get(b).shuffle(low);
      store(some.slice(0, lanes / 2));
    }
    for (const at of lines) bump(f, at, step);
    bump(f, re, cellStep);
    bump(f, im, cellStep);
  });
  return f;
}

/**
 * move(cells, cellStep, swap, table, count, n, step, kind, im): the one way in, and the one out. Chooses among the ways
 * above; where a real signal comes in the imaginary parts become 0.
 */
export function emitMove(kit: Kit, store: boolean, adjacent: Callable): Callable {
  const any = emitAnyHalf(kit, store);
  const run = kit.simd ? emitAdjacentHalf(kit, store) : null;
  const pairs = kit.simd ? (store ? emitStorePairs(kit) : emitLoadPairs(kit)) : null;
  const together = kit.simd ? (store ? emitStoreRows(kit) : emitLoadRows(kit)) : null;
  const f = kit.func(store ? "store" : "load", "cells cellStep swap table count n step kind im");
  const [cells, cellStep, swap, table, count, n, step, kind, im] = f.params;
  const [re, imAt, zero] = ["reAt", "imAt", "zero"].map((name) => f.local("i32", name));
  const at = (swapped: boolean, into: Local) => {
    f.get(cells);
    if (swapped) f.i32(HALF).i32(0);
    else f.i32(0).i32(HALF);
    f.get(swap).op("i32.eqz").select().op("i32.add").set(into);
  };
  at(false, re);
  at(true, imAt);
  const isFull = () => f.get(count).i32(kit.lines).op("i32.eq");
  const isAdjacent = (apart: number) => {
    isFull();
    f.if(
      ["i32"],
      () => f.get(table).i32(apart).call(adjacent),
      () => f.i32(0),
    );
  };
  f.block((done) => {
    if (pairs !== null && together !== null) {
      f.get(kind)
        .i32(sideKinds.pairs)
        .op("i32.eq")
        .if(() => {
          isAdjacent(2 * kit.row.bytes);
          f.if(
            () =>
              f.get(re).get(imAt).get(cellStep).get(table).load("i32.load").get(n).get(step).call(together),
            () => f.get(re).get(imAt).get(cellStep).get(table).get(count).get(n).get(step).call(pairs),
          );
          f.br(done);
        });
    }
    const half = (cell: Local, plus: Local | null) => {
      const scattered = () => {
        f.get(cell).get(cellStep).get(table).get(count);
        f.get(plus ?? zero)
          .get(n)
          .get(step)
          .call(any);
      };
      if (run === null) {
        scattered();
        return;
      }
      isAdjacent(kit.row.bytes);
      f.if(() => {
        f.get(cell).get(cellStep).get(table).load("i32.load");
        if (plus !== null) f.get(plus).op("i32.add");
        f.get(n).get(step).call(run);
      }, scattered);
    };
    half(re, null);
    f.get(kind).if(
      () => half(imAt, im),
      () => {
        if (!store) emitZeroHalf(f, imAt, cellStep, n);
      },
    );
  });
  return f;
}

function emitZeroHalf(f: FuncBuilder, at: Local, step: Local, n: Local): void {
  repeat(f, n, () => {
    for (let b = 0; b < HALF; b += 8) f.get(at).i64(0).store("i64.store", b);
    bump(f, at, step);
  });
}
