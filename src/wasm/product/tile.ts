/**
 * The micro-kernel: an mr × nr tile of out, summed in registers over k. It is a function of its own because V8 replaces
 * slow first code only between calls: after a few hundred tiles the fast code is in use.
 *
 *     packed: a is k groups of mr lanes, b is k groups of nr lanes
 *     direct: a is read at a + i·aRow + p·aStep, b at b + p·bStep (nr lanes side by side)
 */
import { type GemmTile, SUBTRACT } from "../../optimize/gemm.ts";
import type { FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import type { PlainOp } from "../assembler/opcodes.ts";
import { bump, type LaneRow, multiplyAdd } from "./lanes.ts";

/** Parameters: k, a, b, c, cRow, accumulate. k > 0. */
export function emitPackedTile(m: ModuleBuilder, lane: LaneRow, tile: GemmTile): FuncBuilder {
  const f = m.func("tile", { k: "i32", a: "i32", b: "i32", c: "i32", cRow: "i32", accumulate: "i32" });
  const [k, a, b, c, cRow, accumulate] = f.params;
  const { mr, unrollK } = tile;
  const sums = sumsOf(f, lane, tile);
  const aStep = mr * lane.bytes;
  const bStep = tile.nr * lane.bytes;

  const step = (aAt: Local, bAt: Local) => {
    const bs = loadRow(f, lane, tile, bAt);
    for (let r = 0; r < mr; r++) {
      // Offsets are shared by all steps, indices are not: V8 keeps memory + offset in registers.
      const x = f.temp("v128");
      f.get(aAt)
        .load(lane.splat, r * lane.bytes)
        .set(x);
      multiplyAdd(f, lane, tile.fma, sums[r], x, bs);
      f.release(x);
    }
    for (const x of bs) f.release(x);
  };

  if (unrollK > 1) {
    f.get(k)
      .i32(unrollK)
      .op("i32.ge_s")
      .if(() => {
        const aAt = Array.from({ length: unrollK - 1 }, () => f.local("i32"));
        const bAt = Array.from({ length: unrollK - 1 }, () => f.local("i32"));
        f.loop((next) => {
          for (let u = 1; u < unrollK; u++) {
            f.get(a)
              .i32(u * aStep)
              .op("i32.add")
              .set(aAt[u - 1]);
            f.get(b)
              .i32(u * bStep)
              .op("i32.add")
              .set(bAt[u - 1]);
          }
          for (let u = 0; u < unrollK; u++) step(u === 0 ? a : aAt[u - 1], u === 0 ? b : bAt[u - 1]);
          bump(f, a, unrollK * aStep);
          bump(f, b, unrollK * bStep);
          f.get(k).i32(unrollK).op("i32.sub").tee(k).i32(unrollK).op("i32.ge_s").brIf(next);
        });
      });
  }
  const rest = () =>
    f.loop((next) => {
      step(a, b);
      bump(f, a, aStep);
      bump(f, b, bStep);
      f.get(k).i32(1).op("i32.sub").tee(k).brIf(next);
    });
  if (unrollK > 1) f.get(k).if(rest);
  else rest();

  const rows = rowPointers(f, c, cRow, mr);
  const update = (op: PlainOp) => {
    for (let r = 0; r < mr; r++) {
      sums[r].forEach((sum, j) => {
        f.get(rows[r])
          .load("v128.load", 16 * j, 4)
          .get(sum)
          .op(op)
          .set(sum);
      });
      storeRow(f, rows[r], sums[r]);
    }
  };
  const { add, sub } = lane;
  f.get(accumulate).if(
    () => {
      if (sub === null) update(add);
      else {
        f.get(accumulate)
          .i32(SUBTRACT)
          .op("i32.eq")
          .if(
            () => update(sub),
            () => update(add),
          );
      }
    },
    () => {
      for (let r = 0; r < mr; r++) storeRow(f, rows[r], sums[r]);
    },
  );
  return f;
}

/** Parameters: k, a, aRow, aStep, b, bStep, c, cRow, rows. Stores the first `rows` rows; k may be 0. */
export function emitDirectTile(m: ModuleBuilder, name: string, lane: LaneRow, tile: GemmTile): FuncBuilder {
  const f = m.func(name, {
    k: "i32",
    a: "i32",
    aRow: "i32",
    aStep: "i32",
    b: "i32",
    bStep: "i32",
    c: "i32",
    cRow: "i32",
    rows: "i32",
  });
  const [k, a, aRow, aStep, b, bStep, c, cRow, rows] = f.params;
  const { mr } = tile;
  const sums = sumsOf(f, lane, tile);
  // Rows that are not there read the last one that is.
  const aRows = [a];
  for (let r = 1; r < mr; r++) {
    const at = f.local("i32", `a${r}`);
    f.get(aRows[r - 1]);
    f.get(aRow).i32(0).get(rows).i32(r).op("i32.gt_s").select();
    f.op("i32.add").set(at);
    aRows.push(at);
  }
  f.get(k).if(() => {
    f.loop((next) => {
      const bs = loadRow(f, lane, tile, b);
      for (let r = 0; r < mr; r++) {
        const x = f.temp("v128");
        f.get(aRows[r]).load(lane.splat, 0, lane.bytes).set(x);
        multiplyAdd(f, lane, tile.fma, sums[r], x, bs);
        f.release(x);
        bump(f, aRows[r], aStep);
      }
      for (const x of bs) f.release(x);
      bump(f, b, bStep);
      f.get(k).i32(1).op("i32.sub").tee(k).brIf(next);
    });
  });
  f.block((done) => {
    for (let r = 0; r < mr; r++) {
      if (r > 0) f.get(rows).i32(r).op("i32.le_s").brIf(done);
      storeRow(f, c, sums[r]);
      if (r < mr - 1) bump(f, c, cRow);
    }
  });
  return f;
}

const sumsOf = (f: FuncBuilder, lane: LaneRow, { mr, nr }: GemmTile): Local[][] =>
  Array.from({ length: mr }, (_, r) =>
    Array.from({ length: (nr * lane.bytes) / 16 }, (_, j) => f.local("v128", `sum${r}_${j}`)),
  );

function loadRow(f: FuncBuilder, lane: LaneRow, tile: GemmTile, at: Local): Local[] {
  return Array.from({ length: (tile.nr * lane.bytes) / 16 }, (_, j) => {
    const x = f.temp("v128");
    f.get(at)
      .load("v128.load", 16 * j, 4)
      .set(x);
    return x;
  });
}

function rowPointers(f: FuncBuilder, c: Local, cRow: Local, mr: number): Local[] {
  const rows = [c];
  for (let r = 1; r < mr; r++) {
    const at = f.local("i32", `c${r}`);
    f.get(rows[r - 1])
      .get(cRow)
      .op("i32.add")
      .set(at);
    rows.push(at);
  }
  return rows;
}

/** High half first: V8 then joins neighbours into 256-bit stores, and what leads to them. */
function storeRow(f: FuncBuilder, at: Local, sums: readonly Local[]): void {
  for (let j = 0; j < sums.length; j += 2) {
    for (let h = Math.min(j + 1, sums.length - 1); h >= j; h--) {
      f.get(at)
        .get(sums[h])
        .store("v128.store", 16 * h, 4);
    }
  }
}
