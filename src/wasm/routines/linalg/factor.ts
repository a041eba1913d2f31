/**
 * The small ends of blocked factorisations; everything larger is matrix products.
 *
 *     emitLuPanel      LU with partial pivoting of at most 16 columns
 *     emitSwapRows     the row exchanges of such a panel, for the columns beside it
 *     emitTriangular   T⁻¹·B for a small lower triangle T
 *     emitCholesky     Uᵀ·U of a small matrix
 *     emitQrPanel      Householder vectors of at most 16 columns
 *     emitTriangle     zeros below the diagonal, or a mirror of what is there
 */
import type { FuncBuilder, Local, ModuleBuilder } from "../../assembler/assembler.ts";
import { heapModule } from "../../kit.ts";
import { bump, repeat } from "../../product/lanes.ts";
import { task } from "../../task.ts";
import {
  emitAxpy,
  emitReflect,
  emitScale,
  emitSwap,
  type Lanes,
  type LinalgDType,
  type LinalgOptions,
  lanesOf,
  loadWide,
  narrow,
  product,
  storeWide,
  wideOf,
} from "./kit.ts";

/** Columns of a panel: its rows are copied to a buffer, side by side and padded with zeros to this width. */
export const PANEL = 16;

const registersOfRow = (lanes: Lanes) => PANEL / lanes.many;

/** copyRows(to, toRow, from, fromRow, rows, columns). */
function emitCopyRows(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("copyRows", {
    to: "i32",
    toRow: "i32",
    from: "i32",
    fromRow: "i32",
    rows: "i32",
    columns: "i32",
  });
  const [to, toRow, from, fromRow, rows, columns] = f.params;
  const [toAt, fromAt] = [f.local("i32"), f.local("i32")];
  f.get(columns)
    .i32(PANEL)
    .op("i32.eq")
    .if(
      () =>
        repeat(f, rows, () => {
          for (let v = 0; v < registersOfRow(lanes); v++) {
            f.get(to);
            loadWide(f, lanes, from, v * lanes.wideBytes);
            storeWide(f, lanes, v * lanes.wideBytes);
          }
          bump(f, to, toRow);
          bump(f, from, fromRow);
        }),
      () =>
        repeat(f, rows, () => {
          f.get(to).set(toAt).get(from).set(fromAt);
          repeat(f, columns, () => {
            f.get(toAt).get(fromAt).load(lanes.one.load).store(lanes.one.store);
            bump(f, toAt, lanes.bytes);
            bump(f, fromAt, lanes.bytes);
          });
          bump(f, to, toRow);
          bump(f, from, fromRow);
        }),
    );
  return f;
}

/** Index of the largest magnitude among `rows` elements, one in each row of a panel's buffer. */
function emitFindPivot(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("findPivot", { at: "i32", rows: "i32" }, ["i32"]);
  const [at, rows] = f.params;
  const [index, found] = [f.local("i32", "index"), f.local("i32", "found")];
  const [best, value] = [f.local(lanes.dtype, "best"), f.local(lanes.dtype, "value")];
  f.get(at).load(lanes.one.load).op(lanes.abs).set(best);
  repeat(f, rows, () => {
    f.get(at).load(lanes.one.load).op(lanes.abs).tee(value).get(best).op(lanes.gt);
    f.if(() => f.get(value).set(best).get(index).set(found));
    bump(f, at, PANEL * lanes.bytes);
    bump(f, index, 1);
  });
  f.get(found);
  return f;
}

/**
 * eliminate(row, column, rows, u): the rows below, minus their multiple of the pivot's row. `column` is the pivot's, in
 * bytes; u is the pivot's row with zeros up to the pivot, so that what lies there stays.
 */
function emitEliminate(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("eliminate", { row: "i32", column: "i32", rows: "i32", u: "i32" });
  const [row, column, rows, u] = f.params;
  const { one, wide } = lanes;
  const count = registersOfRow(lanes);
  const us = Array.from({ length: count }, (_, v) => {
    const reg = f.local(wide.type, `u${v}`);
    loadWide(f, lanes, u, v * lanes.wideBytes);
    f.set(reg);
    return reg;
  });
  const pivot = f.local(lanes.dtype, "pivot");
  const factor = f.local(lanes.dtype, "factor");
  const factors = f.local(wide.type, "factors");
  f.get(row).get(column).op("i32.add").load(one.load).set(pivot);
  repeat(f, rows, () => {
    bump(f, row, PANEL * lanes.bytes);
    f.get(row).get(column).op("i32.add").load(one.load).get(pivot).op(one.div).tee(factor);
    if (lanes.splat !== null) f.op(lanes.splat);
    f.set(factors);
    for (let v = 0; v < count; v++) {
      f.get(row);
      loadWide(f, lanes, row, v * lanes.wideBytes);
      f.get(factors).get(us[v]).op(wide.mul).op(wide.sub);
      storeWide(f, lanes, v * lanes.wideBytes);
    }
    f.get(row).get(column).op("i32.add").get(factor).store(one.store);
  });
  return f;
}

/** buffer: (rows + 1) × PANEL elements. pivots and `first` count rows of the whole matrix; info: 1 + the first zero pivot's. */
export const luPanelTask = task({
  a: "ptr",
  aRow: "i32",
  rows: "i32",
  columns: "i32",
  buffer: "ptr",
  pivots: "ptr",
  info: "ptr",
  first: "i32",
});

export const emitLuPanel =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, options.simd);
    const rowBytes = PANEL * lanes.bytes;
    const [copyRows, findPivot, eliminate, swap] = [
      emitCopyRows(m, lanes),
      emitFindPivot(m, lanes),
      emitEliminate(m, lanes),
      emitSwap(m, lanes),
    ];
    const { f, words: word } = luPanelTask.open(m);
    const { a, aRow, rows, columns, buffer, pivots, info, first } = word;
    const [j, row, column, found, below] = ["j", "row", "column", "found", "below"].map((name) =>
      f.local("i32", name),
    );
    const spare = f.local("i32", "spare");
    const size = product(f, rows, rowBytes);
    f.get(buffer).get(size).op("i32.add").set(spare);
    f.get(buffer).i32(0).get(size).op("memory.fill");
    f.get(buffer).i32(rowBytes).get(a).get(aRow).get(rows).get(columns).call(copyRows);
    f.get(buffer).set(row);
    f.get(rows).set(below);
    repeat(f, columns, () => {
      f.get(row).get(column).op("i32.add").get(below).call(findPivot).set(found);
      f.get(pivots).get(first).get(j).op("i32.add").get(found).op("i32.add").store("i32.store");
      f.get(found).if(() =>
        f.i32(PANEL).get(row).get(row).get(found).i32(rowBytes).op("i32.mul").op("i32.add").call(swap),
      );
      bump(f, below, -1);
      f.get(row).get(column).op("i32.add").load(lanes.one.load);
      zeroOf(f, lanes);
      f.op(lanes.ne).if(
        () => {
          f.get(spare).get(row).i32(rowBytes).op("memory.copy");
          f.get(spare).i32(0).get(column).i32(lanes.bytes).op("i32.add").op("memory.fill");
          f.get(row).get(column).get(below).get(spare).call(eliminate);
        },
        () => {
          f.get(info)
            .load("i32.load")
            .op("i32.eqz")
            .if(() => f.get(info).get(first).get(j).op("i32.add").i32(1).op("i32.add").store("i32.store"));
        },
      );
      bump(f, j, 1);
      bump(f, pivots, 4);
      bump(f, row, rowBytes);
      bump(f, column, lanes.bytes);
    });
    f.get(a).get(aRow).get(buffer).i32(rowBytes).get(rows).get(columns).call(copyRows);
    return m;
  };

function zeroOf(f: FuncBuilder, { dtype }: Lanes): void {
  if (dtype === "f32") f.f32(0);
  else f.f64(0);
}

/** Exchanges row first + j with row pivots[j], one after the other, in `columns` elements from `a` (of row 0) on. */
export const swapRowsTask = task({
  a: "ptr",
  aRow: "i32",
  pivots: "ptr",
  first: "i32",
  count: "i32",
  columns: "i32",
});

export const emitSwapRows =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, options.simd);
    const swap = emitSwap(m, lanes);
    const { f, words: word } = swapRowsTask.open(m);
    const { a, aRow, pivots, first, count, columns } = word;
    const with_ = f.local("i32", "with");
    repeat(f, count, () => {
      f.get(pivots).load("i32.load").tee(with_).get(first).op("i32.ne");
      f.if(() => {
        f.get(columns);
        for (const index of [first, with_]) {
          f.get(a).get(index).get(aRow).op("i32.mul").op("i32.add");
        }
        f.call(swap);
      });
      bump(f, first, 1);
      bump(f, pivots, 4);
    });
    return m;
  };

/**
 * B = T⁻¹·B, T lower triangular of n rows, its strides free (negative ones walk an upper triangle from its end), B's
 * rows contiguous. `unit`: ones on the diagonal, which are not read.
 */
export const triangularTask = task({
  t: "ptr",
  tRow: "i32",
  tColumn: "i32",
  n: "i32",
  b: "ptr",
  bRow: "i32",
  columns: "i32",
  unit: "i32",
});

export const emitTriangular =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, options.simd);
    const strips = [4, 1].map((registers) => emitStrip(m, lanes, registers));
    const single = lanes.many > 1 ? emitStrip(m, lanesOf(dtype, false), 1) : null;
    const { f, words: word } = triangularTask.open(m);
    const { t, tRow, tColumn, n, b, bRow, columns, unit } = word;
    const pass = (strip: FuncBuilder, elements: number) =>
      f.block((done) => {
        f.loop((next) => {
          f.get(columns).i32(elements).op("i32.lt_s").brIf(done);
          f.get(t).get(tRow).get(tColumn).get(n).get(b).get(bRow).get(unit).call(strip);
          bump(f, b, elements * lanes.bytes);
          bump(f, columns, -elements);
          f.br(next);
        });
      });
    pass(strips[0], 4 * lanes.many);
    pass(strips[1], lanes.many);
    if (single !== null) pass(single, 1);
    return m;
  };

/** Some columns of B, all rows: row i is complete when its products with the rows before are taken away. */
function emitStrip(m: ModuleBuilder, lanes: Lanes, registers: number): FuncBuilder {
  const f = m.func(`strip${registers * lanes.many}`, {
    t: "i32",
    tRow: "i32",
    tColumn: "i32",
    n: "i32",
    b: "i32",
    bRow: "i32",
    unit: "i32",
  });
  const [t, tRow, tColumn, n, b, bRow, unit] = f.params;
  const { wide, one } = lanes;
  const [i, tAt, bAt, row] = ["i", "tAt", "bAt", "row"].map((name) => f.local("i32", name));
  const sums = Array.from({ length: registers }, () => f.local(wide.type));
  const factor = f.local(wide.type, "factor");
  const loadFactor = () => {
    f.get(tAt).load(one.load);
    if (lanes.splat !== null) f.op(lanes.splat);
    f.set(factor);
  };
  f.get(b).set(row);
  repeat(f, n, () => {
    sums.forEach((sum, r) => {
      loadWide(f, lanes, row, r * lanes.wideBytes);
      f.set(sum);
    });
    f.get(t).set(tAt).get(b).set(bAt);
    repeat(f, i, () => {
      loadFactor();
      sums.forEach((sum, r) => {
        f.get(sum).get(factor);
        loadWide(f, lanes, bAt, r * lanes.wideBytes);
        f.op(wide.mul).op(wide.sub).set(sum);
      });
      bump(f, tAt, tColumn);
      bump(f, bAt, bRow);
    });
    f.get(unit)
      .op("i32.eqz")
      .if(() => {
        loadFactor();
        for (const sum of sums) f.get(sum).get(factor).op(wide.div).set(sum);
      });
    sums.forEach((sum, r) => {
      f.get(row).get(sum);
      storeWide(f, lanes, r * lanes.wideBytes);
    });
    bump(f, i, 1);
    bump(f, t, tRow);
    bump(f, row, bRow);
  });
  return f;
}

/** A = Uᵀ·U in place, the upper triangle only. info: 1 + the first pivot that is not positive (and no further work). */
export const choleskyTask = task({ a: "ptr", aRow: "i32", n: "i32", info: "ptr", first: "i32" });

export const emitCholesky =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, options.simd);
    const [axpy, scale] = [emitAxpy(m, lanes), emitScale(m, lanes)];
    const { one } = lanes;
    const { f, words: word } = choleskyTask.open(m);
    const { a, aRow, n, info, first } = word;
    const [left, rest, from, to] = ["left", "rest", "from", "to"].map((name) => f.local("i32", name));
    const pivot = f.local(lanes.dtype, "pivot");
    f.get(n).set(left);
    f.get(info)
      .load("i32.load")
      .if(() => f.return());
    // `a` walks down the diagonal.
    repeat(f, n, () => {
      f.get(a).load(one.load).tee(pivot);
      zeroOf(f, lanes);
      f.op(lanes.gt)
        .op("i32.eqz")
        .if(() => {
          f.get(info).get(first).i32(1).op("i32.add").store("i32.store").return();
        });
      f.get(a).get(pivot).op(lanes.sqrt).tee(pivot).store(one.store);
      bump(f, left, -1);
      f.get(left);
      oneOf(f, lanes);
      f.get(pivot).op(one.div).get(a).i32(lanes.bytes).op("i32.add").call(scale);
      f.get(a).i32(lanes.bytes).op("i32.add").set(from);
      f.get(a).get(aRow).op("i32.add").i32(lanes.bytes).op("i32.add").tee(to).set(a);
      f.get(left).set(rest);
      repeat(f, left, () => {
        f.get(rest).get(from).load(one.load);
        f.op(`${lanes.dtype}.neg`).get(from).get(to).call(axpy);
        bump(f, from, lanes.bytes);
        bump(f, to, lanes.bytes);
        bump(f, to, aRow);
        bump(f, rest, -1);
      });
      bump(f, first, 1);
    });
    return m;
  };

function oneOf(f: FuncBuilder, { dtype }: Lanes): void {
  if (dtype === "f32") f.f32(1);
  else f.f64(1);
}

/**
 * Householder vectors of a panel. R replaces its upper triangle; v gets the vectors, ones and zeros included; tau one f64
 * each. buffer: (rows + 1) × PANEL elements and 16 bytes.
 */
export const qrPanelTask = task({
  a: "ptr",
  aRow: "i32",
  rows: "i32",
  columns: "i32",
  buffer: "ptr",
  v: "ptr",
  vRow: "i32",
  tau: "ptr",
});

export const emitQrPanel =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, options.simd);
    const rowBytes = PANEL * lanes.bytes;
    const { one } = lanes;
    const [copyRows, reflect, gather, update] = [
      emitCopyRows(m, lanes),
      emitReflect(m, lanes),
      emitGather(m, lanes),
      emitUpdate(m, lanes),
    ];
    const { f, words: word } = qrPanelTask.open(m);
    const { a, aRow, rows, columns, buffer, tau } = word;
    const [row, column, below, sums, pair, steps] = ["row", "column", "below", "sums", "pair", "steps"].map(
      (name) => f.local("i32", name),
    );
    const size = product(f, rows, rowBytes);
    f.get(buffer).get(size).op("i32.add").tee(sums).i32(rowBytes).op("i32.add").set(pair);
    f.get(buffer).i32(0).get(size).op("memory.fill");
    f.get(buffer).i32(rowBytes).get(a).get(aRow).get(rows).get(columns).call(copyRows);
    f.get(buffer).set(row).get(rows).set(below);
    f.get(columns).get(rows).get(columns).get(rows).op("i32.lt_s").select().set(steps);
    repeat(f, steps, () => {
      f.get(below).get(row).get(column).op("i32.add").i32(rowBytes).get(pair).call(reflect);
      f.get(tau).get(pair).load("f64.load").store("f64.store");
      f.get(row).get(column).get(below).get(sums).call(gather);
      // What lies left of the column are vectors, which stay.
      f.get(sums).i32(0).get(column).i32(lanes.bytes).op("i32.add").op("memory.fill");
      f.get(row).get(column).get(below).get(sums);
      f.get(pair).load("f64.load");
      narrow(f, lanes).call(update);
      // The diagonal of v is 1 and known; R's goes there until the end.
      f.get(row).get(column).op("i32.add").get(pair).load("f64.load", 8);
      narrow(f, lanes).store(one.store);
      bump(f, tau, 8);
      bump(f, row, rowBytes);
      bump(f, column, lanes.bytes);
      bump(f, below, -1);
    });
    emitQrResult(f, lanes, word, copyRows);
    return m;
  };

/** R to the matrix, the vectors to v. */
function emitQrResult(
  f: FuncBuilder,
  lanes: Lanes,
  word: Readonly<Record<keyof typeof qrPanelTask.at, Local>>,
  copyRows: FuncBuilder,
): void {
  const { a, aRow, rows, columns, buffer, v, vRow } = word;
  const rowBytes = PANEL * lanes.bytes;
  f.get(v).get(vRow).get(buffer).i32(rowBytes).get(rows).get(columns).call(copyRows);
  f.get(a).get(aRow).get(buffer).i32(rowBytes);
  f.get(columns).get(rows).get(columns).get(rows).op("i32.lt_s").select().get(columns).call(copyRows);
  // Row i of v: the vectors' elements left of the diagonal, then 1, then zeros.
  const [zeros, at] = [f.local("i32", "zeros"), f.local("i32", "at")];
  f.get(columns).set(zeros).get(v).set(at);
  repeat(f, columns, () => {
    f.get(rows).if(() => {
      f.get(at).i32(0).get(zeros).i32(lanes.bytes).op("i32.mul").op("memory.fill");
      f.get(at);
      oneOf(f, lanes);
      f.store(lanes.one.store);
      f.get(at).i32(lanes.bytes).op("i32.add").get(vRow).op("i32.add").set(at);
      bump(f, zeros, -1);
      bump(f, rows, -1);
    });
  });
}

/** gather(row, column, rows, sums): sums[c] = Σ_i v[i]·panel[i, c], v being the given column from this row on. */
function emitGather(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("gather", { row: "i32", column: "i32", rows: "i32", sums: "i32" });
  const [row, column, rows, sums] = f.params;
  const { wide, one } = lanes;
  const totals = Array.from({ length: registersOfRow(lanes) }, () => f.local(wide.type));
  const factor = f.local(wide.type);
  repeat(f, rows, () => {
    f.get(row).get(column).op("i32.add").load(one.load);
    if (lanes.splat !== null) f.op(lanes.splat);
    f.set(factor);
    totals.forEach((total, r) => {
      f.get(total).get(factor);
      loadWide(f, lanes, row, r * lanes.wideBytes);
      f.op(wide.mul).op(wide.add).set(total);
    });
    bump(f, row, PANEL * lanes.bytes);
  });
  totals.forEach((total, r) => {
    f.get(sums).get(total);
    storeWide(f, lanes, r * lanes.wideBytes);
  });
  return f;
}

/** update(row, column, rows, sums, tau): panel[i, :] -= tau·v[i]·sums. */
function emitUpdate(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const f = m.func("update", { row: "i32", column: "i32", rows: "i32", sums: "i32", tau: lanes.dtype });
  const [row, column, rows, sums, tau] = f.params;
  const { wide, one } = lanes;
  const factors = wideOf(f, lanes, tau);
  const totals = Array.from({ length: registersOfRow(lanes) }, (_, r) => {
    const total = f.local(wide.type);
    loadWide(f, lanes, sums, r * lanes.wideBytes);
    f.get(factors).op(wide.mul).set(total);
    return total;
  });
  const factor = f.local(wide.type);
  repeat(f, rows, () => {
    f.get(row).get(column).op("i32.add").load(one.load);
    if (lanes.splat !== null) f.op(lanes.splat);
    f.set(factor);
    totals.forEach((total, r) => {
      f.get(row);
      loadWide(f, lanes, row, r * lanes.wideBytes);
      f.get(factor).get(total).op(wide.mul).op(wide.sub);
      storeWide(f, lanes, r * lanes.wideBytes);
    });
    bump(f, row, PANEL * lanes.bytes);
  });
  return f;
}

/** The strict lower triangle of a (rows × columns) becomes zero, or (`mirror`, square) the upper becomes its mirror image. */
export const triangleTask = task({ a: "ptr", aRow: "i32", rows: "i32", columns: "i32", mirror: "i32" });

export const emitTriangle =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, false);
    const { f, words: word } = triangleTask.open(m);
    const { a, aRow, rows, columns, mirror } = word;
    const [i, at, from, count] = ["i", "at", "from", "count"].map((name) => f.local("i32", name));
    f.get(a).set(at);
    repeat(f, rows, () => {
      f.get(mirror).if(
        () => {
          // Row i up to the diagonal goes to column i.
          const [to, next] = [f.local("i32"), f.local("i32")];
          f.get(at).set(from);
          f.get(a).get(i).i32(lanes.bytes).op("i32.mul").op("i32.add").set(to);
          f.get(i).set(next);
          repeat(f, next, () => {
            f.get(to).get(from).load(lanes.one.load).store(lanes.one.store);
            bump(f, from, lanes.bytes);
            bump(f, to, aRow);
          });
        },
        () => {
          f.get(i).get(columns).get(i).get(columns).op("i32.lt_s").select().set(count);
          f.get(at).i32(0).get(count).i32(lanes.bytes).op("i32.mul").op("memory.fill");
        },
      );
      bump(f, at, aRow);
      bump(f, i, 1);
    });
    return m;
  };
