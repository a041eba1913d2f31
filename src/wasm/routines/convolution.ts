/**
 * Convolutions as matrix products whose second operand is never made: its columns are windows of the image, packed panel
 * by panel straight from where they lie. Two lists of byte offsets say where: `bases`, where each window begins, and
 * `taps`, where each of its K elements lies from there. So strides, dilation and any layout of the image cost nothing
 * extra here, and one module serves them all.
 *
 *     out[o, p] = Σ_k weights[o, k] · image[bases[p] + taps[k]]
 *
 * A panel is `width` windows side by side: that many bases, then one word that is 1 where every vector of them lies side
 * by side in the image too. The last panel repeats its last window, and never stores what is not there.
 */
import type { DType } from "../../dtype.ts";
import { type GemmLane, type GemmTile, laneDType } from "../../optimize/gemm.ts";
import type { Callable, FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import type { LoadLaneOp, LoadOp, PlainOp, StoreOp } from "../assembler/opcodes.ts";
import { heapModule } from "../kit.ts";
import { bump, type LaneRow, laneRows, multiplyAdd, repeat } from "../product/lanes.ts";
import { emitPack } from "../product/pack.ts";
import { emitPackedTile } from "../product/tile.ts";
import { task } from "../task.ts";
import type { RoutineOptions } from "./routine.ts";

/** What all pieces of a task share. */
export const convolutionTask = task({
  pieces: "ptr",
  count: "i32",
  /** Room for `depth` steps of every panel of a piece, and for one tile. */
  panels: "ptr",
  tile: "ptr",
  taps: "ptr",
  k: "i32",
  /** Steps of k at a time. */
  depth: "i32",
  /** Channels that a group makes, and bytes from one to the next. */
  rows: "i32",
  outRow: "i32",
  /** 1: add to what is there. */
  accumulate: "i32",
  /** Rows of weights at a time. */
  block: "i32",
});

/** Some windows of one image and group. */
export const convolutionPiece = task({
  bases: "ptr",
  windows: "i32",
  image: "ptr",
  weights: "ptr",
  out: "ptr",
});

/** Bytes from row to row and from step to step. */
export const weightsTask = task({
  to: "ptr",
  from: "ptr",
  row: "i32",
  step: "i32",
  rows: "i32",
  steps: "i32",
});

/** Weights in panels of mr rows. */
export function emitConvolutionWeights(
  from: DType,
  lane: GemmLane,
  tile: GemmTile,
  { shared }: RoutineOptions,
): ModuleBuilder {
  const module = heapModule(shared);
  const pack = emitPack(module, "pack", from, laneDType(lane), laneRows[lane], tile.mr);
  const f = module.func("run", { task: "i32" }, [], { export: true });
  for (const name of ["to", "from", "row", "step", "rows", "steps"] as const) {
    weightsTask.push(f, f.params[0], name);
  }
  f.call(pack);
  return module;
}

/** Panels of weights against panels of windows: for groups of several channels. */
export function emitConvolution(lane: GemmLane, tile: GemmTile, { shared }: RoutineOptions): ModuleBuilder {
  const module = heapModule(shared);
  const row = laneRows[lane];
  const panel = emitPanel(module, row, tile.nr);
  const blocks = emitBlocks(module, row, tile);
  const piece = emitPiece(module, row, tile, panel, blocks);
  emitRun(module, piece);
  return module;
}

/** One channel at a time, windows read where they lie: for groups of few channels, and hosts without SIMD. */
export function emitDirectConvolution(
  lane: GemmLane,
  width: number,
  { shared, simd, fma }: RoutineOptions,
): ModuleBuilder {
  const module = heapModule(shared);
  const row = laneRows[lane];
  const edge = emitEdge(module, row, width);
  const dots = simd ? emitDots(module, row, width, fma) : emitScalarDots(module, row, width);
  emitRun(module, emitDirectPiece(module, row, width, dots, edge));
  return module;
}

/** run(task): its pieces one after another. */
function emitRun(m: ModuleBuilder, piece: Callable): void {
  const f = m.func("run", { task: "i32" }, [], { export: true });
  const [task] = f.params;
  const at = f.local("i32", "at");
  const count = f.local("i32", "count");
  convolutionTask.push(f, task, "pieces").set(at);
  convolutionTask.push(f, task, "count").set(count);
  repeat(f, count, () => {
    f.get(task).get(at).call(piece);
    bump(f, at, 4 * convolutionPiece.words);
  });
}

function emitPiece(
  m: ModuleBuilder,
  lane: LaneRow,
  { mr, nr }: GemmTile,
  panel: Callable,
  blocks: Callable,
): Callable {
  const f = m.func("piece", { task: "i32", piece: "i32" });
  const [task, piece] = f.params;
  const {
    panels,
    tile,
    taps,
    k,
    depth: most,
    rows,
    outRow,
    accumulate,
    block,
  } = convolutionTask.load(f, task);
  const { bases, windows, image, weights, out } = convolutionPiece.load(f, piece);
  const [depth, left, from, to, paddedRows] = ["depth", "left", "from", "to", "paddedRows"].map((name) =>
    f.local("i32", name),
  );
  f.get(rows)
    .i32(mr - 1)
    .op("i32.add")
    .i32(mr)
    .op("i32.div_u")
    .i32(mr)
    .op("i32.mul")
    .set(paddedRows);
  f.loop((next) => {
    least(f, most, k, depth);
    f.get(windows).set(left).get(bases).set(from).get(panels).set(to);
    f.loop((more) => {
      f.get(to).get(from).get(image).get(taps).get(depth).call(panel);
      f.get(depth)
        .i32(nr * lane.bytes)
        .op("i32.mul")
        .get(to)
        .op("i32.add")
        .set(to);
      bump(f, from, 4 * (nr + 1));
      f.get(left).i32(nr).op("i32.sub").tee(left).i32(0).op("i32.gt_s").brIf(more);
    });
    f.get(rows).get(windows).get(depth).get(weights).get(panels).get(out).get(outRow).get(tile);
    f.get(accumulate).get(block).call(blocks);
    // The next steps of k: their weights lie behind all rows of these.
    f.get(weights)
      .get(paddedRows)
      .get(depth)
      .op("i32.mul")
      .i32(lane.bytes)
      .op("i32.mul")
      .op("i32.add")
      .set(weights);
    f.get(taps).get(depth).i32(2).op("i32.shl").op("i32.add").set(taps);
    f.i32(1).set(accumulate);
    f.get(k).get(depth).op("i32.sub").tee(k).i32(0).op("i32.gt_s").brIf(next);
  });
  return f;
}

/** local = min(a, b). */
function least(f: FuncBuilder, a: Local, b: Local, into: Local): void {
  f.get(a).get(b).get(a).get(b).op("i32.lt_s").select().set(into);
}

/** panel(to, bases, image, taps, k): k groups of `width` lanes. */
function emitPanel(m: ModuleBuilder, lane: LaneRow, width: number): Callable {
  const names = { to: "i32", bases: "i32", image: "i32", taps: "i32", k: "i32" } as const;
  const runs = m.func("runs", names);
  const any = m.func("scattered", names);
  emitPanelOfRuns(runs, lane, width);
  emitScatteredPanel(any, lane, width);
  return emitChoice(m, "panel", names, (f) => f.get(f.params[1]).load("i32.load", 4 * width), runs, any);
}

/** A function that hands its parameters to one of two others. */
function emitChoice(
  m: ModuleBuilder,
  name: string,
  params: Readonly<Record<string, "i32">>,
  condition: (f: FuncBuilder) => void,
  yes: Callable,
  no: Callable,
): Callable {
  const f = m.func(name, params);
  const call = (callee: Callable) => () => {
    for (const local of f.params) f.get(local);
    f.call(callee);
  };
  condition(f);
  f.if(call(yes), call(no));
  return f;
}

/** Every vector of windows is one load. */
function emitPanelOfRuns(f: FuncBuilder, lane: LaneRow, width: number): void {
  const [to, bases, image, taps, k] = f.params;
  const lanes = 16 / lane.bytes;
  const starts = startsOf(f, bases, image, width, lanes);
  const tap = f.local("i32", "tap");
  repeat(f, k, () => {
    f.get(taps).load("i32.load").set(tap);
    const loaded = starts.map((start) => {
      const x = f.temp("v128");
      f.get(start).get(tap).op("i32.add").load("v128.load", 0, 4).set(x);
      return x;
    });
    for (let j = loaded.length - 1; j >= 0; j--) {
      f.get(to)
        .get(loaded[j])
        .store("v128.store", 16 * j, 4);
      f.release(loaded[j]);
    }
    bump(f, taps, 4);
    bump(f, to, width * lane.bytes);
  });
}

/** A vector of windows at a time: one load where they lie side by side, else every window on its own. */
function emitScatteredPanel(f: FuncBuilder, lane: LaneRow, width: number): void {
  const [to, bases, image, taps, k] = f.params;
  const lanes = 16 / lane.bytes;
  const [at, out, tap] = ["at", "out", "tap"].map((name) => f.local("i32", name));
  const starts = Array.from({ length: lanes }, (_, t) => f.local("i32", `start${t}`));
  const groups = f.local("i32", "groups");
  f.i32(width / lanes).set(groups);
  repeat(f, groups, () => {
    starts.forEach((start, t) => {
      f.get(bases)
        .load("i32.load", 4 * t)
        .get(image)
        .op("i32.add")
        .set(start);
    });
    f.get(taps).set(at).get(to).set(out);
    const copy = (load: () => void) => () =>
      repeat(f, k, () => {
        f.get(at).load("i32.load").set(tap);
        f.get(out);
        load();
        f.store("v128.store", 0, 4);
        bump(f, at, 4);
        bump(f, out, width * lane.bytes);
      });
    f.i32(1);
    for (let t = 1; t < lanes; t++) {
      f.get(starts[t])
        .get(starts[t - 1])
        .op("i32.sub")
        .i32(lane.bytes)
        .op("i32.eq")
        .op("i32.and");
    }
    f.if(
      copy(() => f.get(starts[0]).get(tap).op("i32.add").load("v128.load", 0, 4)),
      copy(() => gather(f, lane, starts, tap)),
    );
    bump(f, bases, 4 * lanes);
    bump(f, to, 16);
  });
}

/** The lanes at starts[t] + tap, as one vector on the stack. */
function gather(f: FuncBuilder, lane: LaneRow, starts: readonly Local[], tap: Local): void {
  const bits = 8 * lane.bytes;
  const x = f.temp("v128");
  f.get(starts[0])
    .get(tap)
    .op("i32.add")
    .load(`v128.load${bits}_zero` as LoadOp, 0, lane.bytes)
    .set(x);
  for (let t = 1; t < starts.length; t++) {
    f.get(starts[t]).get(tap).op("i32.add").get(x);
    f.loadLane(`v128.load${bits}_lane` as LoadLaneOp, t, 0, lane.bytes).set(x);
  }
  f.get(x).release(x);
}

/** Where every lanes-th window of a panel begins. */
function startsOf(f: FuncBuilder, bases: Local, image: Local, width: number, lanes: number): Local[] {
  return Array.from({ length: width / lanes }, (_, j) => {
    const start = f.local("i32", `start${j}`);
    f.get(bases)
      .load("i32.load", 4 * lanes * j)
      .get(image)
      .op("i32.add")
      .set(start);
    return start;
  });
}

/**
 * blocks(rows, windows, k, a, b, c, cRow, scratch, accumulate, block): all tiles; `block` rows of a stay in the cache
 * while the windows go by.
 */
function emitBlocks(m: ModuleBuilder, lane: LaneRow, tile: GemmTile): Callable {
  const { mr, nr } = tile;
  const micro = emitPackedTile(m, lane, tile);
  const edge = emitEdge(m, lane, nr);
  const names = "rows windows k a b c cRow scratch accumulate block".split(" ");
  const f = m.func(
    "blocks",
    names.map((name) => [name, "i32"] as const),
  );
  const [rows, windows, k, a, b, c, cRow, scratch, accumulate, block] = f.params;
  const local = (name: string) => f.local("i32", name);
  const [aAt, bAt, cAt, cColumn, left, some, columns] = [
    "aAt",
    "bAt",
    "cAt",
    "cColumn",
    "left",
    "some",
    "columns",
  ].map(local);
  const [aTile, bTile, cTile] = ["aTile", "bTile", "cTile"].map(local);
  const times = (x: Local, by: number, into: Local) => f.get(x).i32(by).op("i32.mul").set(into);
  times(k, mr * lane.bytes, aTile);
  times(k, nr * lane.bytes, bTile);
  times(cRow, mr, cTile);
  f.loop((nextBlock) => {
    least(f, block, rows, some);
    f.get(b).set(bAt).get(c).set(cColumn).get(windows).set(columns);
    f.loop((nextColumns) => {
      f.get(a).set(aAt).get(cColumn).set(cAt).get(some).set(left);
      f.loop((nextRows) => {
        f.get(left).i32(mr).op("i32.ge_s").get(columns).i32(nr).op("i32.ge_s").op("i32.and");
        f.if(
          () => f.get(k).get(aAt).get(bAt).get(cAt).get(cRow).get(accumulate).call(micro),
          () => {
            f.get(k).get(aAt).get(bAt).get(scratch);
            f.i32(nr * lane.bytes)
              .i32(0)
              .call(micro);
            f.get(cAt).get(cRow).get(scratch);
            f.get(left).i32(mr).get(left).i32(mr).op("i32.lt_s").select();
            f.get(columns).get(accumulate).call(edge);
          },
        );
        bump(f, aAt, aTile);
        bump(f, cAt, cTile);
        f.get(left).i32(mr).op("i32.sub").tee(left).i32(0).op("i32.gt_s").brIf(nextRows);
      });
      bump(f, bAt, bTile);
      bump(f, cColumn, nr * lane.bytes);
      f.get(columns).i32(nr).op("i32.sub").tee(columns).i32(0).op("i32.gt_s").brIf(nextColumns);
    });
    f.get(some).get(k).op("i32.mul").i32(lane.bytes).op("i32.mul").get(a).op("i32.add").set(a);
    f.get(some).get(cRow).op("i32.mul").get(c).op("i32.add").set(c);
    f.get(rows).get(some).op("i32.sub").tee(rows).i32(0).op("i32.gt_s").brIf(nextBlock);
  });
  return f;
}

/** edge(c, cRow, scratch, rows, columns, accumulate): the part of a tile of `width` columns that exists. */
function emitEdge(m: ModuleBuilder, lane: LaneRow, width: number): Callable {
  const names = "c cRow scratch rows columns accumulate".split(" ");
  const f = m.func(
    "edge",
    names.map((name) => [name, "i32"] as const),
  );
  const [c, cRow, scratch, rows, columns, accumulate] = f.params;
  const { scalar } = lane;
  const [to, from] = ["to", "from"].map((name) => f.local("i32", name));
  f.get(columns).i32(width).get(columns).i32(width).op("i32.lt_s").select().set(columns);
  repeat(f, rows, () => {
    f.get(c).set(to).get(scratch).set(from);
    repeat(f, columns, () => {
      f.get(accumulate).if(
        () =>
          f.get(to).get(to).load(scalar.load).get(from).load(scalar.load).op(scalar.add).store(scalar.store),
        () => f.get(to).get(from).load(scalar.load).store(scalar.store),
      );
      bump(f, to, lane.bytes);
      bump(f, from, lane.bytes);
    });
    bump(f, c, cRow);
    bump(f, scratch, width * lane.bytes);
  });
  return f;
}

/** Every row, every panel: sums into the scratch tile, and from there to the output. */
function emitDirectPiece(
  m: ModuleBuilder,
  lane: LaneRow,
  width: number,
  dots: Callable,
  edge: Callable,
): Callable {
  const f = m.func("piece", { task: "i32", piece: "i32" });
  const [task, piece] = f.params;
  const { tile, taps, k, rows, outRow, accumulate } = convolutionTask.load(f, task);
  const { bases, windows, image, weights, out } = convolutionPiece.load(f, piece);
  const [left, from, to, whole] = ["left", "from", "to", "whole"].map((name) => f.local("i32", name));
  repeat(f, rows, () => {
    f.get(windows).set(left).get(bases).set(from).get(out).set(to);
    f.loop((more) => {
      f.get(left).i32(width).op("i32.ge_s").get(accumulate).op("i32.eqz").op("i32.and").set(whole);
      f.get(from).get(image).get(taps).get(k).get(weights);
      f.get(to).get(tile).get(whole).select().call(dots);
      f.get(whole)
        .op("i32.eqz")
        .if(() => f.get(to).i32(0).get(tile).i32(1).get(left).get(accumulate).call(edge));
      bump(f, from, 4 * (width + 1));
      bump(f, to, width * lane.bytes);
      f.get(left).i32(width).op("i32.sub").tee(left).i32(0).op("i32.gt_s").brIf(more);
    });
    bump(f, out, outRow);
    f.get(k).i32(lane.bytes).op("i32.mul").get(weights).op("i32.add").set(weights);
  });
  return f;
}

const dotsParams = { bases: "i32", image: "i32", taps: "i32", k: "i32", weights: "i32", to: "i32" } as const;

/** dots(bases, image, taps, k, weights, to): one panel of one channel. */
function emitDots(m: ModuleBuilder, lane: LaneRow, width: number, fma: boolean): Callable {
  const lanes = 16 / lane.bytes;
  const runs = m.func("dotsOfRuns", dotsParams);
  const any = m.func("dotsOfAny", dotsParams);
  {
    const [bases, image] = runs.params;
    const starts = startsOf(runs, bases, image, width, lanes);
    sumTaps(runs, lane, fma, starts.length, (j, tap) => {
      runs.get(starts[j]).get(tap).op("i32.add").load("v128.load", 0, 4);
    });
  }
  {
    const [bases, image] = any.params;
    const starts = startsOf(any, bases, image, width, 1);
    sumTaps(any, lane, fma, width / lanes, (j, tap) => {
      gather(any, lane, starts.slice(j * lanes, (j + 1) * lanes), tap);
    });
  }
  return emitChoice(m, "dots", dotsParams, (f) => f.get(f.params[0]).load("i32.load", 4 * width), runs, any);
}

function sumTaps(
  f: FuncBuilder,
  lane: LaneRow,
  fma: boolean,
  vectors: number,
  load: (j: number, tap: Local) => void,
): void {
  const [, , taps, k, weights, to] = f.params;
  const sums = Array.from({ length: vectors }, (_, j) => f.local("v128", `sum${j}`));
  const tap = f.local("i32", "tap");
  const weight = f.local("v128", "weight");
  const x = f.local("v128", "x");
  repeat(f, k, () => {
    f.get(taps).load("i32.load").set(tap);
    f.get(weights).load(lane.splat).set(weight);
    sums.forEach((sum, j) => {
      load(j, tap);
      f.set(x);
      multiplyAdd(f, lane, fma, [sum], weight, [x]);
    });
    bump(f, taps, 4);
    bump(f, weights, lane.bytes);
  });
  for (let j = vectors - 1; j >= 0; j--)
    f.get(to)
      .get(sums[j])
      .store("v128.store", 16 * j, 4);
}

/** The same without SIMD: one window after another. */
function emitScalarDots(m: ModuleBuilder, lane: LaneRow, width: number): Callable {
  const f = m.func("dots", dotsParams);
  const [bases, image, taps, k, weights, to] = f.params;
  const { scalar } = lane;
  const sum = f.local(scalar.type, "sum");
  const [at, by, start, windows] = ["at", "by", "start", "windows"].map((name) => f.local("i32", name));
  f.i32(width).set(windows);
  repeat(f, windows, () => {
    f.get(bases).load("i32.load").get(image).op("i32.add").set(start);
    f.get(taps).set(at).get(weights).set(by);
    zero(f, lane);
    f.set(sum);
    repeat(f, k, () => {
      f.get(sum);
      f.get(start).get(at).load("i32.load").op("i32.add").load(scalar.load);
      f.get(by)
        .load(scalar.load)
        .op(scalar.mul as PlainOp)
        .op(scalar.add as PlainOp)
        .set(sum);
      bump(f, at, 4);
      bump(f, by, lane.bytes);
    });
    f.get(to)
      .get(sum)
      .store(scalar.store as StoreOp);
    bump(f, bases, 4);
    bump(f, to, lane.bytes);
  });
  return f;
}

function zero(f: FuncBuilder, { scalar: { type } }: LaneRow): void {
  if (type === "f32") f.f32(0);
  else if (type === "f64") f.f64(0);
  else if (type === "i64") f.i64(0);
  else f.i32(0);
}
