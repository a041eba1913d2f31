/**
 * Products with a vector, or with very few rows: every element of the matrix is used once or a few times, so the matrix
 * is read as it lies, in order, at the speed of memory. Vectors are dense lanes (`gather` makes them so).
 *
 *     dots   y[i] = Σ_p a[i,p]·x[p], where a row's elements lie side by side: some rows at a time
 *     axpy   y[i,:] += Σ_p x[i,p]·b[p,:], where a row's elements lie side by side: some steps of k at a time
 */
import { type DType, dtypes } from "../../dtype.ts";
import { laneDType, laneOf, rowsTogether, SUBTRACT } from "../../optimize/gemm.ts";
import type { Callable, FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import type { LaneOp, PlainOp } from "../assembler/opcodes.ts";
import { countedLoop, heapModule } from "../kit.ts";
import type { GemmModuleOptions, Store } from "./gemm.ts";
import { bump, type LaneRow, laneRows, multiplyAdd, repeat } from "./lanes.ts";
import { Converter, emitPack, emitStore } from "./pack.ts";

/** What emitVectorGemm exports. Addresses and strides are bytes. */
export interface VectorGemm {
  /** k elements of the vector, `step` apart, into dense lanes (the second stride and `one` = 1 are not used). */
  gather(dst: number, src: number, unused: number, step: number, one: number, k: number): void;
  /**
   * y (lanes, yStep apart) = a·x, += where `accumulate` is 1, -= where it is 2. `stream` is 1 where a comes from memory:
   * more rows side by side (see rowsTogether) keep more of it on its way.
   */
  dots(
    rows: number,
    k: number,
    a: number,
    aRow: number,
    x: number,
    y: number,
    yStep: number,
    accumulate: number,
    stream: number,
  ): void;
  /** y (rows of lanes) = x·b, or += where `accumulate` is 1. */
  axpy(
    rows: number,
    columns: number,
    k: number,
    x: number,
    xRow: number,
    b: number,
    bRow: number,
    y: number,
    yRow: number,
    accumulate: number,
  ): void;
  /** y[j] = Σ from[p,j], n lanes of `parts` rows that are `step` bytes apart; y may be the first of them. */
  join(n: number, parts: number, from: number, step: number, y: number): void;
  /** Only where sums go through a buffer. */
  store?: Store;
}

export interface VectorModuleOptions extends GemmModuleOptions {
  /** dots reads the matrix a, axpy the matrix b; the other is the vector. */
  readonly kind: "dots" | "axpy";
}

export function emitVectorGemm({ dtypes, kind, tile, temp, shared }: VectorModuleOptions): ModuleBuilder {
  const module = heapModule(shared);
  const [out, a, b] = dtypes;
  const lane = laneOf(out);
  const row = laneRows[lane];
  const dtype = laneDType(lane);
  emitPack(module, "gather", kind === "dots" ? b : a, dtype, row, 1);
  if (temp) emitStore(module, dtype, out, row);
  if (kind === "dots") emitDots(module, a, dtype, row, tile.fma);
  else emitAxpy(module, b, dtype, row, tile.fma);
  return module;
}

function emitDots(m: ModuleBuilder, from: DType, to: DType, lane: LaneRow, fma: boolean): void {
  const many = rowsTogether(lane.bytes, false);
  const more = rowsTogether(lane.bytes, true);
  const streams = emitRows(m, more, from, to, lane, fma);
  const together = emitRows(m, many, from, to, lane, fma);
  const one = emitRows(m, 1, from, to, lane, fma);
  const f = m.func(
    "dots",
    {
      rows: "i32",
      k: "i32",
      a: "i32",
      aRow: "i32",
      x: "i32",
      y: "i32",
      yStep: "i32",
      accumulate: "i32",
      stream: "i32",
    },
    [],
    { export: true },
  );
  const [rows, k, a, aRow, x, y, yStep, accumulate, stream] = f.params;
  const pass = (count: number, rowsOf: Callable) =>
    f.block((done) => {
      f.loop((next) => {
        f.get(rows).i32(count).op("i32.lt_s").brIf(done);
        f.get(k).get(a).get(aRow).get(x).get(y).get(yStep).get(accumulate).call(rowsOf);
        f.get(a).get(aRow).i32(count).op("i32.mul").op("i32.add").set(a);
        f.get(y).get(yStep).i32(count).op("i32.mul").op("i32.add").set(y);
        bump(f, rows, -count);
        f.br(next);
      });
    });
  f.get(stream).if(() => pass(more, streams));
  pass(many, together);
  pass(1, one);
}

/** `count` dot products side by side, with 4 to 7 sums under way: more would spill, since V8 loads everything first. */
function emitRows(
  m: ModuleBuilder,
  count: number,
  from: DType,
  to: DType,
  lane: LaneRow,
  fma: boolean,
): FuncBuilder {
  const f = m.func(`dots${count}`, {
    k: "i32",
    a: "i32",
    aRow: "i32",
    x: "i32",
    y: "i32",
    yStep: "i32",
    accumulate: "i32",
  });
  const [k, a, aRow, x, y, yStep, accumulate] = f.params;
  const converter = new Converter(f, from, to);
  const itemBytes = dtypes[from].bytes;
  const perGroup = lane.bytes / 4;
  const groups = Math.max(1, (count === 1 ? 4 : count <= 4 ? 2 : 1) / perGroup);
  const elements = 4 * groups;
  const sumsOfRow = count === 1 ? groups * perGroup : perGroup;
  const rows = [a];
  for (let r = 1; r < count; r++) {
    const at = f.local("i32", `a${r}`);
    f.get(rows[r - 1])
      .get(aRow)
      .op("i32.add")
      .set(at);
    rows.push(at);
  }
  const sums = rows.map((_, r) =>
    Array.from({ length: sumsOfRow }, (_, j) => f.local("v128", `sum${r}_${j}`)),
  );
  const xs = Array.from({ length: perGroup }, () => f.local("v128"));
  f.get(k)
    .i32(elements)
    .op("i32.ge_s")
    .if(() => {
      f.loop((next) => {
        for (let g = 0; g < groups; g++) {
          xs.forEach((reg, h) => {
            f.get(x)
              .load("v128.load", 16 * (g * perGroup + h), 4)
              .set(reg);
          });
          rows.forEach((row, r) => {
            converter.vector(row, 4 * g * itemBytes).forEach((reg, h) => {
              multiplyAdd(f, lane, fma, [sums[r][(g * perGroup + h) % sumsOfRow]], reg, [xs[h]]);
            });
          });
        }
        for (const row of rows) bump(f, row, elements * itemBytes);
        bump(f, x, elements * lane.bytes);
        f.get(k).i32(elements).op("i32.sub").tee(k).i32(elements).op("i32.ge_s").brIf(next);
      });
    });
  const { scalar } = lane;
  const totals = sums.map((regs) => {
    for (let j = 1; j < regs.length; j++) f.get(regs[0]).get(regs[j]).op(lane.add).set(regs[0]);
    const total = f.local(scalar.type);
    sumLanes(f, lane, regs[0]);
    f.set(total);
    return total;
  });
  const element = f.local(scalar.type);
  repeat(f, k, () => {
    f.get(x).load(scalar.load).set(element);
    bump(f, x, lane.bytes);
    rows.forEach((row, r) => {
      const value = converter.scalar(row);
      f.get(totals[r]).get(value).get(element).op(scalar.mul).op(scalar.add).set(totals[r]);
      bump(f, row, itemBytes);
    });
  });
  for (const total of totals) {
    const update = (op: PlainOp) => f.get(y).load(scalar.load).get(total).op(op).set(total);
    f.get(accumulate).if(() => {
      if (lane.sub === null) update(scalar.add);
      else {
        f.get(accumulate)
          .i32(SUBTRACT)
          .op("i32.eq")
          .if(
            () => update(scalar.sub),
            () => update(scalar.add),
          );
      }
    });
    f.get(y).get(total).store(scalar.store);
    bump(f, y, yStep);
  }
  return f;
}

/** The sum of a register's lanes, on the stack. */
function sumLanes(f: FuncBuilder, lane: LaneRow, reg: Local): void {
  const { scalar } = lane;
  const shape = { f32: "f32x4", f64: "f64x2", i32: "i32x4", i64: "i64x2" }[scalar.type as "f32"];
  const extract = `${shape}.extract_lane` as LaneOp;
  const count = 16 / lane.bytes;
  for (let l = 0; l < count; l++) {
    f.get(reg).lane(extract, l);
    if (l % 2 === 1) f.op(scalar.add);
  }
  if (count === 4) f.op(scalar.add);
}

/** Steps of k that axpy adds at once: as many rows of b are read side by side, which is what prefetchers follow. */
const STEPS = 8;

function emitAxpy(m: ModuleBuilder, from: DType, to: DType, lane: LaneRow, fma: boolean): void {
  const sweep = emitSweep(m, from, to, lane, fma);
  const names = "rows columns k x xRow b bRow y yRow accumulate".split(" ");
  const f = m.func(
    "axpy",
    names.map((name) => [name, "i32"] as const),
    [],
    { export: true },
  );
  const [rows, columns, k, x, xRow, b, bRow, y, yRow, accumulate] = f.params;
  const xAt = f.local("i32", "xAt");
  const yAt = f.local("i32", "yAt");
  const steps = f.local("i32", "steps");
  f.get(accumulate)
    .op("i32.eqz")
    .if(() => {
      f.get(y).set(yAt);
      repeat(f, rows, () => {
        f.get(yAt).i32(0).get(columns).i32(lane.bytes).op("i32.mul").op("memory.fill");
        bump(f, yAt, yRow);
      });
    });
  f.block((done) => {
    f.loop((next) => {
      f.get(k).i32(0).op("i32.le_s").brIf(done);
      f.get(k).i32(STEPS).get(k).i32(STEPS).op("i32.lt_s").select().set(steps);
      f.get(x).set(xAt).get(y).set(yAt);
      repeat(f, rows, () => {
        f.get(columns).get(steps).get(xAt).get(b).get(bRow).get(yAt).call(sweep);
        bump(f, xAt, xRow);
        bump(f, yAt, yRow);
      });
      bump(f, x, STEPS * lane.bytes);
      f.get(b).get(bRow).i32(STEPS).op("i32.mul").op("i32.add").set(b);
      bump(f, k, -STEPS);
      f.br(next);
    });
  });
  emitJoin(m, lane);
}

/** y[j] += Σ x[q]·b[q,j] for `steps` rows of b: the sums of 16 columns stay in registers while the rows go by. */
function emitSweep(m: ModuleBuilder, from: DType, to: DType, lane: LaneRow, fma: boolean): FuncBuilder {
  const f = m.func("sweep", { n: "i32", steps: "i32", x: "i32", b: "i32", bRow: "i32", y: "i32" });
  const [n, steps, x, b, bRow, y] = f.params;
  const converter = new Converter(f, from, to);
  const itemBytes = dtypes[from].bytes;
  const perGroup = lane.bytes / 4;
  const { scalar } = lane;
  const row = f.local("i32", "row");
  const factorAt = f.local("i32", "factorAt");
  const eachStep = (body: () => void) => {
    f.get(b).set(row).get(x).set(factorAt);
    repeat(f, steps, () => {
      body();
      bump(f, row, bRow);
      bump(f, factorAt, lane.bytes);
    });
  };
  const factor = f.local("v128", "factor");
  for (const groups of [4, 1]) {
    const sums = Array.from({ length: groups * perGroup }, () => f.local("v128"));
    countedLoop(f, n, 4 * groups, () => {
      sums.forEach((sum, i) => {
        f.get(y)
          .load("v128.load", 16 * i, 4)
          .set(sum);
      });
      eachStep(() => {
        f.get(factorAt).load(lane.splat, 0, lane.bytes).set(factor);
        for (let g = 0; g < groups; g++) {
          const own = sums.slice(g * perGroup, (g + 1) * perGroup);
          multiplyAdd(f, lane, fma, own, factor, converter.vector(row, 4 * g * itemBytes));
        }
      });
      for (let i = sums.length - 1; i >= 0; i--)
        f.get(y)
          .get(sums[i])
          .store("v128.store", 16 * i, 4);
      bump(f, b, 4 * groups * itemBytes);
      bump(f, y, 4 * groups * lane.bytes);
    });
  }
  const sum = f.local(scalar.type);
  countedLoop(f, n, 1, () => {
    f.get(y).load(scalar.load).set(sum);
    eachStep(() => {
      const value = converter.scalar(row);
      f.get(sum).get(value).get(factorAt).load(scalar.load);
      f.op(scalar.mul).op(scalar.add).set(sum);
    });
    f.get(y).get(sum).store(scalar.store);
    bump(f, b, itemBytes);
    bump(f, y, lane.bytes);
  });
  return f;
}

function emitJoin(m: ModuleBuilder, lane: LaneRow): void {
  const f = m.func("join", { n: "i32", parts: "i32", from: "i32", step: "i32", y: "i32" }, [], {
    export: true,
  });
  const [n, parts, from, step, y] = f.params;
  const { scalar } = lane;
  const at = f.local("i32", "at");
  const more = f.local("i32", "more");
  f.get(parts).i32(1).op("i32.sub").set(more);
  const column = (bytes: number, load: () => void, add: PlainOp, store: () => void, sum: Local) => {
    f.get(from).tee(at);
    load();
    f.set(sum);
    repeat(f, more, () => {
      bump(f, at, step);
      f.get(sum).get(at);
      load();
      f.op(add).set(sum);
    });
    f.get(y).get(sum);
    store();
    bump(f, from, bytes);
    bump(f, y, bytes);
  };
  const lanes = 16 / lane.bytes;
  countedLoop(f, n, lanes, () =>
    column(
      16,
      () => f.load("v128.load", 0, 4),
      lane.add,
      () => f.store("v128.store", 0, 4),
      f.local("v128"),
    ),
  );
  countedLoop(f, n, 1, () =>
    column(
      lane.bytes,
      () => f.load(scalar.load),
      scalar.add,
      () => f.store(scalar.store),
      f.local(scalar.type),
    ),
  );
}
