/**
 * Reading and writing through indices, in two steps. Indices become byte offsets (`emitOffsets`): negative ones count from
 * the end, and one out of range raises a flag. Then elements move between a dense side and the places that base + offset
 * names (`emitMoves` one by one, `emitRows` whole runs of bytes). Moving knows item sizes only, offsets know index dtypes
 * only.
 */
import { type DType, dtypes } from "../../../dtype.ts";
import type { FuncBuilder, Local, ModuleBuilder } from "../../assembler/assembler.ts";
import { heapModule, loadWord } from "../../kit.ts";
import { loadLanes } from "../../program/memory.ts";
import { loadScalar } from "../../program/scalar.ts";
import {
  advance,
  countdown,
  type EmitOptions,
  emitWalk,
  type ItemBytes,
  itemMoves,
  type Stream,
  walkWords,
} from "../walk.ts";

/** What an index out of range means: an error, modulo the size, or the nearest end. */
export type IndexMode = "raise" | "wrap" | "clip";
/** gather: the dense side is written. scatter: the indexed side is. */
export type Direction = "gather" | "scatter";

/* Indices → offsets ------------------------------------------------------------------------------------ */

/**
 * offset[i] = (added ? offset[i] : 0) + index[i] · step, modulo 2^32 as addresses are. Operands: offsets, indices.
 * Own words: the axis's size (low and high half), the step in bytes, the address of the flag.
 */
export function emitOffsets(
  dtype: DType,
  mode: IndexMode,
  added: boolean,
  { shared, simd }: EmitOptions,
): ModuleBuilder {
  return emitWalk(shared, 2, 4, (f, n, [offsets, indices], [low, high, step, flag]) => {
    const { bytes } = dtypes[dtype];
    const bad = f.local("i32", "bad");
    if (simd && mode === "raise") {
      f.get(indices.stride).i32(bytes).op("i32.eq").get(offsets.stride).i32(4).op("i32.eq").op("i32.and");
      // Sizes that lanes of 32 bits compare as they are.
      f.get(high).op("i32.eqz").op("i32.and").get(low).i32(0).op("i32.gt_s").op("i32.and");
      f.if(() => offsetLanes(f, dtype, added, n, offsets, indices, low, step, bad));
    }
    const size = f.local("i64", "size");
    const index = f.local("i64", "index");
    f.get(low).op("i64.extend_i32_u").get(high).op("i64.extend_i32_u").i64(32).op("i64.shl");
    f.op("i64.or").set(size);
    countdown(f, n, 1, () => {
      loadIndex(f, indices.at, dtype);
      f.set(index);
      normalize(f, mode, dtype, index, size, bad);
      f.get(offsets.at).get(index).op("i32.wrap_i64").get(step).op("i32.mul");
      if (added) f.get(offsets.at).load("i32.load").op("i32.add");
      f.store("i32.store");
      advance(f, offsets.at, offsets.stride);
      advance(f, indices.at, indices.stride);
    });
    f.get(bad).if(() => f.get(flag).i32(1).store("i32.store"));
  });
}

/** Indices a turn of the SIMD loop takes, in groups of four lanes. */
const GROUPS = 2;

/** As many of the n indices as fill whole turns; both sides are dense and the size is below 2^31. */
function offsetLanes(
  f: FuncBuilder,
  dtype: DType,
  added: boolean,
  n: Local,
  offsets: Stream,
  indices: Stream,
  low: Local,
  step: Local,
  bad: Local,
): void {
  const { bytes, kind } = dtypes[dtype];
  const [size, steps, wrong, x] = ["size", "steps", "wrong", "x"].map((name) => f.local("v128", name));
  f.get(low).op("i32x4.splat").set(size);
  f.get(step).op("i32x4.splat").set(steps);
  countdown(f, n, 4 * GROUPS, () => {
    for (let g = 0; g < GROUPS; g++) {
      loadIndices(f, dtype, indices.at, 4 * g * bytes, x, wrong);
      if (kind === "int") {
        f.get(x).get(x).i32(31).op("i32x4.shr_s").get(size).op("v128.and").op("i32x4.add").set(x);
      }
      f.get(x).get(size).op("i32x4.ge_u").get(wrong).op("v128.or").set(wrong);
      f.get(offsets.at).get(x).get(steps).op("i32x4.mul");
      if (added)
        f.get(offsets.at)
          .load("v128.load", 16 * g, 4)
          .op("i32x4.add");
      f.store("v128.store", 16 * g, 4);
    }
    advance(f, offsets.at, 16 * GROUPS);
    advance(f, indices.at, 4 * GROUPS * bytes);
  });
  f.get(wrong).op("v128.any_true").get(bad).op("i32.or").set(bad);
}

/** The low and the high words of four 64-bit lanes. */
const lowWords = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
const highWords = lowWords.map((byte) => byte + 4);

/** Four indices as 32-bit lanes of x; those of 64 bits that do not fit are wrong. */
function loadIndices(f: FuncBuilder, dtype: DType, at: Local, offset: number, x: Local, wrong: Local): void {
  if (!dtypes[dtype].big) {
    loadLanes(f.get(at), dtype, offset);
    f.set(x);
    return;
  }
  const [a, b] = [f.temp("v128"), f.temp("v128")];
  f.get(at).load("v128.load", offset, 8).set(a);
  f.get(at)
    .load("v128.load", offset + 16, 8)
    .set(b);
  f.get(a).get(b).shuffle(lowWords).set(x);
  f.get(a).get(b).shuffle(highWords);
  if (dtype === "i64") f.get(x).i32(31).op("i32x4.shr_s").op("v128.xor");
  f.get(wrong).op("v128.or").set(wrong);
  f.release(a).release(b);
}

/** The index as an i64. */
function loadIndex(f: FuncBuilder, at: Local, dtype: DType): void {
  const { big, kind } = dtypes[dtype];
  loadScalar(f.get(at), dtype);
  if (!big) f.op(kind === "uint" ? "i64.extend_i32_u" : "i64.extend_i32_s");
}

/** Brings `index` into 0 … size - 1, or says that it is bad. */
function normalize(
  f: FuncBuilder,
  mode: IndexMode,
  dtype: DType,
  index: Local,
  size: Local,
  bad: Local,
): void {
  const signed = dtypes[dtype].kind === "int";
  if (mode === "clip") {
    if (signed) f.i64(0).get(index).get(index).i64(0).op("i64.lt_s").select().set(index);
    f.get(size).i64(1).op("i64.sub").get(index).get(index).get(size).op("i64.ge_u").select().set(index);
    return;
  }
  if (mode === "wrap") {
    f.get(index)
      .get(size)
      .op(signed ? "i64.rem_s" : "i64.rem_u")
      .set(index);
  }
  // A negative index counts from the end: its sign, as a mask, lets the size through.
  if (signed) {
    f.get(index).get(index).i64(63).op("i64.shr_s").get(size).op("i64.and").op("i64.add").set(index);
  }
  if (mode === "raise") f.get(index).get(size).op("i64.ge_u").get(bad).op("i32.or").set(bad);
}

/* Elements --------------------------------------------------------------------------------------------- */

/** One element a turn. Operands: the dense side, the indexed side, the offsets. */
export function emitMoves(
  bytes: ItemBytes,
  direction: Direction,
  { shared }: Pick<EmitOptions, "shared">,
): ModuleBuilder {
  return emitWalk(shared, 3, 0, (f, n, [dense, indexed, offsets]) => {
    const element = (place: number) => moveItem(f, bytes, direction, dense, indexed, offsets, place);
    f.get(dense.stride).i32(bytes).op("i32.eq").get(offsets.stride).i32(4).op("i32.eq").op("i32.and");
    f.get(indexed.stride).op("i32.eqz").op("i32.and");
    f.if(() => {
      countdown(f, n, 4, () => {
        for (let place = 0; place < 4; place++) element(place);
        advance(f, dense.at, 4 * bytes);
        advance(f, offsets.at, 16);
      });
    });
    countdown(f, n, 1, () => {
      element(0);
      for (const { at, stride } of [dense, indexed, offsets]) advance(f, at, stride);
    });
  });
}

function moveItem(
  f: FuncBuilder,
  bytes: ItemBytes,
  direction: Direction,
  dense: Stream,
  indexed: Stream,
  offsets: Stream,
  place: number,
): void {
  const { load, store } = itemMoves[bytes];
  const pushIndexed = () =>
    f
      .get(indexed.at)
      .get(offsets.at)
      .load("i32.load", 4 * place)
      .op("i32.add");
  if (direction === "gather") {
    f.get(dense.at);
    pushIndexed()
      .load(load)
      .store(store, place * bytes);
  } else {
    pushIndexed()
      .get(dense.at)
      .load(load, place * bytes)
      .store(store);
  }
}

/* Rows ------------------------------------------------------------------------------------------------- */

/** Runs of this many bytes are the host's own business. */
const LONG_RUN = 2048;

/** n BYTES for each of m offsets. Operands as above; only their addresses and row strides count. */
export function emitRows(direction: Direction, { shared, simd }: EmitOptions): ModuleBuilder {
  const module = heapModule(shared);
  const copy = emitCopyRun(module, simd);
  const f = module.func("run", { task: "i32" }, [], { export: true });
  const [task] = f.params;
  const n = loadWord(f, task, walkWords.n, "n");
  const left = loadWord(f, task, walkWords.m, "left");
  const rows = ["dense", "indexed", "offsets"].map((name, k) => ({
    at: loadWord(f, task, walkWords.address(k), name),
    stride: loadWord(f, task, walkWords.address(k) + 2, `${name}Stride`),
  }));
  const [dense, indexed, offsets] = rows.map(({ at }) => at);
  f.loop((next) => {
    if (direction === "gather") f.get(dense);
    f.get(indexed).get(offsets).load("i32.load").op("i32.add");
    if (direction === "scatter") f.get(dense);
    f.get(n).call(copy);
    for (const { at, stride } of rows) advance(f, at, stride);
    f.get(left).i32(1).op("i32.sub").tee(left).brIf(next);
  });
  return module;
}

/** Words of a task of `emitJoin`: rows, parts, and for each part bytes, to, from, and the steps of both from row to row. */
const joinWords = { rows: 0, parts: 1, first: 2, perPart: 5 } as const;

/** Row by row, a run of bytes of each part: rows of several matrices become the rows of one. */
export function emitJoin({ shared, simd }: EmitOptions): ModuleBuilder {
  const module = heapModule(shared);
  const copy = emitCopyRun(module, simd);
  const f = module.func("run", { task: "i32" }, [], { export: true });
  const [task] = f.params;
  const rows = loadWord(f, task, joinWords.rows, "rows");
  const part = f.local("i32", "part");
  const left = f.local("i32", "left");
  // Where a part has got to is kept in the task itself.
  const step = (place: number, stride: number) =>
    f
      .get(part)
      .get(part)
      .load("i32.load", 4 * place)
      .get(part)
      .load("i32.load", 4 * stride)
      .op("i32.add")
      .store("i32.store", 4 * place);
  f.loop((nextRow) => {
    f.get(task)
      .i32(4 * joinWords.first)
      .op("i32.add")
      .set(part);
    f.get(task)
      .load("i32.load", 4 * joinWords.parts)
      .set(left);
    f.loop((nextPart) => {
      for (const word of [1, 2, 0]) f.get(part).load("i32.load", 4 * word);
      f.call(copy);
      step(1, 3);
      step(2, 4);
      advance(f, part, 4 * joinWords.perPart);
      f.get(left).i32(1).op("i32.sub").tee(left).brIf(nextPart);
    });
    f.get(rows).i32(1).op("i32.sub").tee(rows).brIf(nextRow);
  });
  return module;
}

/** copy(to, from, n): a run of bytes between places that do not overlap. */
function emitCopyRun(module: ModuleBuilder, simd: boolean): FuncBuilder {
  const f = module.func("copy", { to: "i32", from: "i32", n: "i32" });
  const [to, from, n] = f.params;
  const wide = simd
    ? ({ bytes: 16, load: "v128.load", store: "v128.store" } as const)
    : ({ bytes: 8, load: "i64.load", store: "i64.store" } as const);
  f.get(n)
    .i32(LONG_RUN)
    .op("i32.ge_u")
    .if(() => f.get(to).get(from).get(n).op("memory.copy").return());
  const move = (count: number) => {
    for (let k = 0; k < count; k++) {
      f.get(to)
        .get(from)
        .load(wide.load, k * wide.bytes, 1)
        .store(wide.store, k * wide.bytes, 1);
    }
    advance(f, to, count * wide.bytes);
    advance(f, from, count * wide.bytes);
  };
  const isLong = f.local("i32", "isLong");
  f.get(n).i32(wide.bytes).op("i32.ge_u").set(isLong);
  countdown(f, n, 4 * wide.bytes, () => move(4));
  countdown(f, n, wide.bytes, () => move(1));
  f.get(n)
    .op("i32.eqz")
    .if(() => f.return());
  // What is left ends where the run ends: go back so far that one more wide move fits.
  f.get(isLong).if(() => {
    const back = f.local("i32", "back");
    f.get(n).i32(wide.bytes).op("i32.sub").set(back);
    advance(f, to, back);
    advance(f, from, back);
    move(1);
    f.return();
  });
  for (const bytes of [8, 4, 2, 1] as const) {
    if (bytes >= wide.bytes) continue;
    const { load, store } = itemMoves[bytes];
    countdown(f, n, bytes, () => {
      f.get(to).get(from).load(load, 0, 1).store(store, 0, 1);
      advance(f, to, bytes);
      advance(f, from, bytes);
    });
  }
  return f;
}
