/**
 * Modules of matrix products, each for one pair of operand dtypes and one register tile. Sizes, strides and addresses
 * are arguments, so no shape compiles anything new.
 *
 *     emitPackedGemm   packA, packB, block, store: called block by block, for products that want the caches filled in order
 *     emitDirectGemm   run: small products as they lie, a whole run of batches in one call
 */
import { type DType, dtypes } from "../../dtype.ts";
import { type GemmLane, type GemmTile, laneDType, laneOf, SUBTRACT } from "../../optimize/gemm.ts";
import type { Callable, FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import { heapModule } from "../kit.ts";
import { bump, type LaneRow, laneRows, repeat } from "./lanes.ts";
import { emitPack, emitStore } from "./pack.ts";
import { emitDirectTile, emitPackedTile } from "./tile.ts";

export interface GemmModuleOptions {
  readonly dtypes: readonly [out: DType, a: DType, b: DType];
  readonly tile: GemmTile;
  /** Which operands are packed, and whether sums go through a buffer of lanes before they reach the output. */
  readonly packA: boolean;
  readonly packB: boolean;
  readonly temp: boolean;
  /** Is the memory that is imported shared? */
  readonly shared: boolean;
}

/** What emitPackedGemm exports. Addresses and strides are bytes. */
export interface PackedGemm {
  /** Panels of mr rows of a: strideI steps from row to row, strideK along k. */
  packA(dst: number, src: number, strideI: number, strideK: number, count: number, k: number): void;
  /** Panels of nr columns of b. */
  packB(dst: number, src: number, strideI: number, strideK: number, count: number, k: number): void;
  /** c (m × n lanes, columns side by side) = a·b, += where `accumulate` is 1, -= where it is 2. k > 0. */
  block(
    m: number,
    n: number,
    k: number,
    a: number,
    b: number,
    c: number,
    cRow: number,
    scratch: number,
    accumulate: number,
  ): void;
  /** Only where sums go through a buffer. */
  store?: Store;
}

/** Dense lanes → elements of the output, anywhere. */
export type Store = (
  dst: number,
  dstRow: number,
  dstColumn: number,
  src: number,
  srcRow: number,
  rows: number,
  columns: number,
) => void;

/** What emitDirectGemm exports. `packA`, `packB` and `temp` are addresses of buffers. */
export interface DirectGemm {
  run(
    batches: number,
    m: number,
    n: number,
    k: number,
    a: number,
    aBatch: number,
    aRow: number,
    aColumn: number,
    b: number,
    bBatch: number,
    bRow: number,
    bColumn: number,
    c: number,
    cBatch: number,
    cRow: number,
    cColumn: number,
    scratch: number,
    packA: number,
    packB: number,
    temp: number,
  ): void;
}

export function emitPackedGemm({
  dtypes: [out, a, b],
  tile,
  temp,
  shared,
}: GemmModuleOptions): ModuleBuilder {
  const module = heapModule(shared);
  const lane: GemmLane = laneOf(out);
  const row = laneRows[lane];
  const dtype = laneDType(lane);
  emitPack(module, "packA", a, dtype, row, tile.mr);
  emitPack(module, "packB", b, dtype, row, tile.nr);
  const micro = emitPackedTile(module, row, tile);
  emitBlock(module, row, tile, micro, emitEdge(module, row, tile));
  if (temp) emitStore(module, dtype, out, row);
  return module;
}

/**
 * `block` alone, for measuring tiles. No two modules have the same bytes: a host may hand out the code it has made for
 * equal ones, and it would not be seen becoming fast.
 */
export function emitBlockGemm({
  dtypes: [out],
  tile,
  shared,
}: Pick<GemmModuleOptions, "dtypes" | "tile" | "shared">): ModuleBuilder {
  const module = heapModule(shared);
  const row = laneRows[laneOf(out)];
  module.global("f64", false, Math.random());
  emitBlock(module, row, tile, emitPackedTile(module, row, tile), emitEdge(module, row, tile));
  return module;
}

/** All tiles of a packed block: columns outside, so that a panel of b stays in L1 while a's go by. */
function emitBlock(m: ModuleBuilder, lane: LaneRow, tile: GemmTile, micro: Callable, edge: Callable): void {
  const f = m.func(
    "block",
    {
      m: "i32",
      n: "i32",
      k: "i32",
      a: "i32",
      b: "i32",
      c: "i32",
      cRow: "i32",
      scratch: "i32",
      accumulate: "i32",
    },
    [],
    { export: true },
  );
  const [rows, columns, k, a, b, c, cRow, scratch, accumulate] = f.params;
  const { mr, nr } = tile;
  const at = { a: f.local("i32", "aAt"), c: f.local("i32", "cAt"), left: f.local("i32", "left") };
  const aTile = f.local("i32", "aTile");
  const bTile = f.local("i32", "bTile");
  const cTile = f.local("i32", "cTile");
  f.get(k)
    .i32(mr * lane.bytes)
    .op("i32.mul")
    .set(aTile);
  f.get(k)
    .i32(nr * lane.bytes)
    .op("i32.mul")
    .set(bTile);
  f.get(cRow).i32(mr).op("i32.mul").set(cTile);
  f.loop((nextColumns) => {
    f.get(a).set(at.a).get(c).set(at.c).get(rows).set(at.left);
    f.loop((nextRows) => {
      f.get(at.left)
        .i32(mr)
        .op("i32.ge_s")
        .get(columns)
        .i32(nr)
        .op("i32.ge_s")
        .op("i32.and")
        .if(
          () => f.get(k).get(at.a).get(b).get(at.c).get(cRow).get(accumulate).call(micro),
          () => {
            f.get(k)
              .get(at.a)
              .get(b)
              .get(scratch)
              .i32(nr * lane.bytes)
              .i32(0)
              .call(micro);
            f.get(at.c).get(cRow).get(scratch).get(at.left).get(columns).get(accumulate).call(edge);
          },
        );
      bump(f, at.a, aTile);
      bump(f, at.c, cTile);
      f.get(at.left).i32(mr).op("i32.sub").tee(at.left).i32(0).op("i32.gt_s").brIf(nextRows);
    });
    bump(f, b, bTile);
    bump(f, c, nr * lane.bytes);
    f.get(columns).i32(nr).op("i32.sub").tee(columns).i32(0).op("i32.gt_s").brIf(nextColumns);
  });
}

/** edge(c, cRow, scratch, rows, columns, accumulate): the part of the scratch tile (rows of nr lanes) that exists. */
function emitEdge(m: ModuleBuilder, lane: LaneRow, { mr, nr }: GemmTile): FuncBuilder {
  const f = m.func("edge", {
    c: "i32",
    cRow: "i32",
    scratch: "i32",
    rows: "i32",
    columns: "i32",
    accumulate: "i32",
  });
  const [c, cRow, scratch, rows, columns, accumulate] = f.params;
  const { scalar } = lane;
  least(f, rows, mr);
  least(f, columns, nr);
  const to = f.local("i32", "to");
  const from = f.local("i32", "from");
  const there = f.local(scalar.type, "there");
  repeat(f, rows, () => {
    f.get(c).set(to).get(scratch).set(from);
    repeat(f, columns, () => {
      f.get(to);
      f.get(accumulate).if(
        [scalar.type],
        () => f.get(to).load(scalar.load),
        () => zero(f, lane),
      );
      if (lane.sub === null) f.get(from).load(scalar.load).op(scalar.add);
      else {
        f.set(there);
        f.get(accumulate)
          .i32(SUBTRACT)
          .op("i32.eq")
          .if(
            [scalar.type],
            () => f.get(there).get(from).load(scalar.load).op(scalar.sub),
            () => f.get(there).get(from).load(scalar.load).op(scalar.add),
          );
      }
      f.store(scalar.store);
      bump(f, to, lane.bytes);
      bump(f, from, lane.bytes);
    });
    bump(f, c, cRow);
    bump(f, scratch, nr * lane.bytes);
  });
  return f;
}

function zero(f: FuncBuilder, { scalar: { type } }: LaneRow): void {
  if (type === "f32") f.f32(-0);
  else if (type === "f64") f.f64(-0);
  else if (type === "i64") f.i64(0);
  else f.i32(0);
}

/** local = min(local, most). */
function least(f: FuncBuilder, local: Local, most: number): void {
  f.get(local).i32(most).get(local).i32(most).op("i32.lt_s").select().set(local);
}

export function emitDirectGemm(options: GemmModuleOptions): ModuleBuilder {
  const {
    dtypes: [out, a, b],
    tile,
  } = options;
  const module = heapModule(options.shared);
  const lane: GemmLane = laneOf(out);
  const row = laneRows[lane];
  const dtype = laneDType(lane);
  const half = { ...tile, nr: tile.nr / 2 };
  emitRun(module, row, tile, {
    packA: options.packA ? emitPack(module, "packA", a, dtype, row, tile.mr) : null,
    packB: options.packB ? emitPack(module, "packB", b, dtype, row, tile.nr) : null,
    packTail: options.packB ? null : emitPack(module, "packTail", b, dtype, row, half.nr, true),
    store: options.temp ? emitStore(module, dtype, out, row) : null,
    tiles: emitTiles(module, row, tile, half, options.packB),
    itemBytes: { a: dtypes[a].bytes, b: dtypes[b].bytes },
  });
  return module;
}

interface DirectPieces {
  readonly packA: Callable | null;
  readonly packB: Callable | null;
  /** The last columns, fewer than half a tile, where b is not packed. */
  readonly packTail: Callable | null;
  readonly store: Callable | null;
  readonly tiles: Callable;
  readonly itemBytes: { readonly a: number; readonly b: number };
}

/** Bytes of a cache line, and of the next batch's operands that are touched before every tile: as many as it needs. */
const LINE = 64;
const aheadBytes = ({ mr, nr }: GemmTile, lane: LaneRow): number =>
  Math.ceil((mr * nr * lane.bytes) / LINE) * LINE;

/**
 * All tiles of one matrix. a's tiles lie aTile apart, b's (nr columns) bTile. The last columns, fewer than half a tile,
 * are read from `tail`, in steps of tailStep: b itself may end there.
 *
 * `ahead`: the operands of the next batch, from aNext and bNext on to before aEnd and bEnd, are on their way to the cache
 * meanwhile, many lines at a time: a batch that waits for its own gets them one after the other.
 */
function emitTiles(
  m: ModuleBuilder,
  lane: LaneRow,
  tile: GemmTile,
  half: GemmTile,
  ahead: boolean,
): FuncBuilder {
  const full = emitDirectTile(m, "tile", lane, tile);
  const narrow = emitDirectTile(m, "halfTile", lane, half);
  const edge = emitEdge(m, lane, half);
  const f = m.func("tiles", {
    m: "i32",
    n: "i32",
    k: "i32",
    a: "i32",
    aTile: "i32",
    aRow: "i32",
    aStep: "i32",
    b: "i32",
    bTile: "i32",
    bStep: "i32",
    tail: "i32",
    tailStep: "i32",
    c: "i32",
    cRow: "i32",
    scratch: "i32",
    aNext: "i32",
    aEnd: "i32",
    bNext: "i32",
    bEnd: "i32",
  });
  const [rows, columns, k, a, aTile, aRow, aStep, b, bTile, bStep, tail, tailStep, c, cRow, scratch] =
    f.params;
  const [aNext, aEnd, bNext, bEnd] = f.params.slice(-4);
  const { mr, nr } = tile;
  const aAt = f.local("i32", "aAt");
  const cAt = f.local("i32", "cAt");
  const left = f.local("i32", "left");
  const cTile = f.local("i32", "cTile");
  f.get(cRow).i32(mr).op("i32.mul").set(cTile);
  const touch = (next: Local, end: Local) => {
    const bytes = aheadBytes(tile, lane);
    f.get(next)
      .get(end)
      .op("i32.lt_u")
      .if(() => {
        for (let at = 0; at < bytes; at += LINE) f.get(next).load("i32.load", at).drop();
        bump(f, next, bytes);
      });
  };
  const allRows = (one: () => void) => {
    f.get(a).set(aAt).get(c).set(cAt).get(rows).set(left);
    f.loop((next) => {
      if (ahead) {
        touch(aNext, aEnd);
        touch(bNext, bEnd);
      }
      one();
      bump(f, aAt, aTile);
      bump(f, cAt, cTile);
      f.get(left).i32(mr).op("i32.sub").tee(left).i32(0).op("i32.gt_s").brIf(next);
    });
  };
  const call = (micro: Callable) => () =>
    f.get(k).get(aAt).get(aRow).get(aStep).get(b).get(bStep).get(cAt).get(cRow).get(left).call(micro);
  f.get(columns)
    .i32(nr)
    .op("i32.ge_s")
    .if(() => {
      f.loop((next) => {
        allRows(call(full));
        bump(f, b, bTile);
        bump(f, c, nr * lane.bytes);
        f.get(columns).i32(nr).op("i32.sub").tee(columns).i32(nr).op("i32.ge_s").brIf(next);
      });
    });
  f.get(columns)
    .i32(half.nr)
    .op("i32.ge_s")
    .if(() => {
      allRows(call(narrow));
      bump(f, b, half.nr * lane.bytes);
      bump(f, c, half.nr * lane.bytes);
      bump(f, columns, -half.nr);
    });
  f.get(columns).if(() => {
    f.get(tail).if(() => f.get(tail).set(b).get(tailStep).set(bStep));
    allRows(() => {
      f.get(k).get(aAt).get(aRow).get(aStep).get(b).get(bStep);
      f.get(scratch)
        .i32(half.nr * lane.bytes)
        .get(left)
        .call(narrow);
      f.get(cAt).get(cRow).get(scratch).get(left).get(columns).i32(0).call(edge);
    });
  });
  return f;
}

function emitRun(m: ModuleBuilder, lane: LaneRow, tile: GemmTile, pieces: DirectPieces): void {
  const names = "batches m n k a aBatch aRow aColumn b bBatch bRow bColumn c cBatch cRow cColumn".split(" ");
  const f = m.func(
    "run",
    [...names, "scratch", "packedA", "packedB", "temp"].map((name) => [name, "i32"] as const),
    [],
    { export: true },
  );
  const p = Object.fromEntries(f.params.map((local) => [local.name, local]));
  const { mr, nr } = tile;
  const { packA, packB, packTail, store } = pieces;
  const [aT, bT, tail, first, tempRow] = ["aTile", "bTile", "tail", "first", "tempRow"].map((name) =>
    f.local("i32", name),
  );
  const times = (x: Local, by: number, into: Local) => f.get(x).i32(by).op("i32.mul").set(into);

  // How tiles step through the operands does not change from batch to batch.
  if (packA !== null) times(p.k, mr * lane.bytes, aT);
  else times(p.aRow, mr, aT);
  if (packB !== null) times(p.k, nr * lane.bytes, bT);
  else {
    f.i32(nr * lane.bytes).set(bT);
    f.get(p.packedB)
      .i32(0)
      .get(p.n)
      .i32(nr / 2 - 1)
      .op("i32.and")
      .select()
      .set(tail);
  }
  if (store !== null) {
    f.get(p.n)
      .i32(nr - 1)
      .op("i32.add")
      .i32(-nr)
      .op("i32.and")
      .i32(lane.bytes)
      .op("i32.mul")
      .set(tempRow);
  }
  f.i32(1).set(first);

  /** What does not move from batch to batch is packed once. */
  const whenNew = (batchStride: Local, pack: () => void) =>
    f.get(first).get(batchStride).op("i32.or").if(pack);
  const left = f.local("i32", "batchesLeft");
  f.get(p.batches).set(left);
  /** From where to where the next batch's operand is touched: nowhere, if there is none or it is not dense. */
  const nextBatch = (operand: "a" | "b", rows: Local, columns: Local) => {
    if (packB === null) {
      f.i32(0).i32(0);
      return;
    }
    const bytes = pieces.itemBytes[operand];
    const batch = p[`${operand}Batch`];
    const next = () => f.get(p[operand]).get(batch).op("i32.add");
    const size = () => f.get(columns).i32(bytes).op("i32.mul");
    next();
    next().get(rows);
    size().op("i32.mul").op("i32.add");
    f.i32(aheadBytes(tile, lane) - 1)
      .op("i32.sub")
      .i32(0);
    f.get(p[`${operand}Column`]).i32(bytes).op("i32.eq");
    f.get(p[`${operand}Row`]);
    size().op("i32.eq").op("i32.and");
    f.get(batch).i32(0).op("i32.ne").op("i32.and");
    f.get(left).i32(1).op("i32.gt_s").op("i32.and").select();
  };
  repeat(f, p.batches, () => {
    if (packA !== null) {
      whenNew(p.aBatch, () =>
        f.get(p.packedA).get(p.a).get(p.aRow).get(p.aColumn).get(p.m).get(p.k).call(packA),
      );
    }
    if (packB !== null) {
      whenNew(p.bBatch, () =>
        f.get(p.packedB).get(p.b).get(p.bColumn).get(p.bRow).get(p.n).get(p.k).call(packB),
      );
    }
    if (packTail !== null) {
      f.get(tail).if(() =>
        whenNew(p.bBatch, () => {
          // The last n mod nr/2 columns.
          f.get(tail).get(p.b);
          f.get(p.n)
            .i32(-nr / 2)
            .op("i32.and")
            .get(p.bColumn)
            .op("i32.mul")
            .op("i32.add");
          f.get(p.bColumn).get(p.bRow);
          f.get(p.n)
            .i32(nr / 2 - 1)
            .op("i32.and")
            .get(p.k)
            .call(packTail);
        }),
      );
    }
    f.get(p.m).get(p.n).get(p.k);
    if (packA !== null)
      f.get(p.packedA)
        .get(aT)
        .i32(lane.bytes)
        .i32(mr * lane.bytes);
    else f.get(p.a).get(aT).get(p.aRow).get(p.aColumn);
    if (packB !== null)
      f.get(p.packedB)
        .get(bT)
        .i32(nr * lane.bytes);
    else f.get(p.b).get(bT).get(p.bRow);
    f.get(tail).i32((nr / 2) * lane.bytes);
    if (store !== null) f.get(p.temp).get(tempRow);
    else f.get(p.c).get(p.cRow);
    f.get(p.scratch);
    nextBatch("a", p.m, p.k);
    nextBatch("b", p.k, p.n);
    f.call(pieces.tiles);
    bump(f, left, -1);
    if (store !== null) {
      f.get(p.c).get(p.cRow).get(p.cColumn).get(p.temp).get(tempRow).get(p.m).get(p.n).call(store);
    }
    bump(f, p.a, p.aBatch);
    bump(f, p.b, p.bBatch);
    bump(f, p.c, p.cBatch);
    f.i32(0).set(first);
  });
}
