/**
 * The plan of a matrix product, as data: which path, which lanes, how it is cut into blocks for the caches and into
 * tasks for the threads. Nothing here touches memory; run/gemm.ts spends the plan.
 *
 * Strides and addresses are bytes. out is (m, n), a is (m, k), b is (k, n); a stride may be 0 or negative.
 */
import { type DType, dtypes } from "../dtype.ts";
import type { LoopNest } from "../view/loops.ts";

/** Byte strides of one matrix. */
export type Steps = readonly [row: number, column: number];

/** out[i,j] = Σ a[i,p]·b[p,j] for every batch of a nest over [out, a, b] whose offsets are addresses. */
export interface GemmProblem {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly out: Steps;
  readonly a: Steps;
  readonly b: Steps;
  readonly dtypes: readonly [out: DType, a: DType, b: DType];
  readonly batches: LoopNest;
}

/** What products are summed in: narrow integers in i32, half floats in f32, "bool" by and/or in 32-bit lanes. */
export type GemmLane = "f32" | "f64" | "i32" | "i64" | "bool";

/** The register tile: mr × nr sums stay in registers while k runs, `unrollK` steps a turn. */
export interface GemmTile {
  readonly mr: number;
  readonly nr: number;
  readonly unrollK: number;
  /** a·b + c in one instruction (relaxed SIMD); floats only. */
  readonly fma: boolean;
}

/** An mc × kc block of a stays in the L2 cache, a kc × nr panel of b in L1, a kc × nc block of b in L3. */
export interface GemmBlocking {
  readonly mc: number;
  readonly kc: number;
  readonly nc: number;
}

/**
 * `direct`: operands are read where they lie, nothing is packed unless it must be; batches are a loop in the kernel.
 * `packed`: blocks of both operands are copied into the order the tile reads them in.
 * `dots`, `axpy`: a product with a vector, or with very few rows: the matrix is a stream (see wasm/gemm-vector.ts).
 * (k = 1 is an elementwise product, and none of these.)
 */
export type GemmPath = "empty" | "dots" | "axpy" | "direct" | "packed";

/** Rows × columns of a run of batches (by ordinal, in C order of the nest): independent of every other task. */
export interface GemmTask {
  readonly batch: number;
  readonly batches: number;
  readonly row: number;
  readonly rows: number;
  readonly column: number;
  readonly columns: number;
}

/** Where a worker's pieces lie in its workspace, in bytes from its start. */
export interface GemmWorkspace {
  readonly tile: number;
  readonly packA: number;
  readonly packB: number;
  readonly temp: number;
  readonly bytes: number;
}

export interface GemmPlan {
  readonly path: GemmPath;
  /** The problem as it is computed: perhaps transposed (outᵀ = bᵀ·aᵀ), batches perhaps folded into rows. */
  readonly problem: GemmProblem;
  readonly transposed: boolean;
  readonly folded: boolean;
  readonly lane: GemmLane;
  readonly tile: GemmTile;
  readonly blocking: GemmBlocking;
  /** The operand is copied (and converted) in panels before it is multiplied. */
  readonly packA: boolean;
  readonly packB: boolean;
  /** Sums are collected in a dense buffer of lanes and converted when they are complete. */
  readonly temp: boolean;
  readonly tasks: readonly GemmTask[];
  readonly workspace: GemmWorkspace;
}

export interface GemmOptions {
  readonly tile: GemmTile;
  readonly blocking?: GemmBlocking;
  /** Threads that will take tasks; default 1. */
  readonly workers?: number;
  /** For tests and the bench: this path and no other, where it can be. */
  readonly path?: Exclude<GemmPath, "empty">;
}

export function laneOf(dtype: DType): GemmLane {
  if (dtype === "bool") return "bool";
  return dtypes[dtype].lane;
}

/** The dtype of one lane, which packed operands and sums have. */
export const laneDType = (lane: GemmLane): "f32" | "f64" | "i32" | "i64" => (lane === "bool" ? "i32" : lane);
export const laneBytes = (lane: GemmLane): 4 | 8 => (lane === "f64" || lane === "i64" ? 8 : 4);

/** Do the dtype's bytes lie in memory as lanes do? */
export function isLane(dtype: DType, lane: GemmLane): boolean {
  return lane !== "bool" && dtypes[dtype].bytes === laneBytes(lane) && dtypes[dtype].lane === lane;
}

/** 8 sums in registers: what every host runs well. */
export function plainTile(lane: GemmLane, fma: boolean): GemmTile {
  const float = lane === "f32" || lane === "f64";
  return { mr: 4, nr: 32 / laneBytes(lane), unrollK: 1, fma: fma && float };
}

/** Tiles worth trying: those twice as wide win where the host joins pairs of vectors into 256 bits, and lose elsewhere. */
export function tileCandidates(lane: GemmLane, fma: boolean): readonly GemmTile[] {
  const plain = plainTile(lane, fma);
  const nr = 2 * plain.nr;
  return plain.fma ? [plain, { ...plain, nr, unrollK: 4 }, { ...plain, mr: 6, nr, unrollK: 4 }] : [plain];
}

/** The tile of products that are not packed: as wide, with at least two vectors a row, never taller or unrolled. */
export function directTile(tile: GemmTile, lane: GemmLane): GemmTile {
  const nr = Math.max(tile.nr, 32 / laneBytes(lane));
  return tile.mr === 4 && tile.unrollK === 1 && tile.nr === nr ? tile : { ...tile, mr: 4, nr, unrollK: 1 };
}

export function defaultBlocking(lane: GemmLane): GemmBlocking {
  return laneBytes(lane) === 4 ? { mc: 192, kc: 256, nc: 1024 } : { mc: 96, kc: 256, nc: 512 };
}

/** Columns of sums held back at a time when they must be converted. */
const TEMP_COLUMNS = 512;
/** Up to this many multiplications, and this many steps of k, nothing is packed for the cache's sake. */
const DIRECT_WORK = 96 * 96 * 96;
const DIRECT_K = 512;
/** Matrix elements from which a product with a vector is a stream; rows and columns of `axpy`. */
const STREAM_WORK = 2048;
const STREAM_ROWS = 4;
const STREAM_COLUMNS = 64;
/** Steps of k and columns that a stream takes at a time, so that the vectors stay in the L1 cache. */
export const STREAM_K = 4096;
export const STREAM_CHUNK = 2048;
/** Multiplications that make a task worth handing over. */
const TASK_WORK = 64 * 64 * 64;

const ceilTo = (x: number, step: number) => Math.ceil(x / step) * step;
const align64 = (bytes: number) => ceilTo(bytes, 64);

export function planGemm(given: GemmProblem, options: GemmOptions): GemmPlan {
  const lane = laneOf(given.dtypes[0]);
  const blocking = options.blocking ?? defaultBlocking(lane);
  const oriented = orient(given);
  const transposed = oriented !== given;
  const problem = fold(oriented);
  const folded = problem !== oriented;
  const { m, n, k, batches } = problem;
  const [outType, aType, bType] = problem.dtypes;
  const count = batches.shape.reduce((x, y) => x * y, 1);
  const lanes = laneBytes(lane);

  let path: GemmPath = options.path ?? choosePath(problem, lane, options.tile);
  const tile = path === "packed" ? options.tile : directTile(options.tile, lane);
  if (m === 0 || n === 0 || count === 0) path = "empty";
  const temp = !(isLane(outType, lane) && (problem.out[1] === lanes || n === 1));
  const direct = path === "direct";
  const packA = !(direct && isLane(aType, lane));
  const packB = !(direct && isLane(bType, lane) && (problem.b[1] === lanes || n < tile.nr / 2));
  const tasks = path === "empty" ? [] : cutTasks(problem, count, tile, options.workers ?? 1);
  const size = { rows: 0, columns: 0 };
  for (const t of tasks) {
    if (t.rows > size.rows) size.rows = t.rows;
    if (t.columns > size.columns) size.columns = t.columns;
  }
  const used =
    temp && path === "packed" ? { ...blocking, nc: Math.min(blocking.nc, TEMP_COLUMNS) } : blocking;
  const workspace = layOut(path, k, lanes, tile, used, size, { packA, packB, temp });
  return {
    path,
    problem,
    transposed,
    folded,
    lane,
    tile,
    blocking: used,
    packA,
    packB,
    temp,
    tasks,
    workspace,
  };
}

function choosePath(p: GemmProblem, lane: GemmLane, tile: GemmTile): GemmPath {
  const { m, n, k } = p;
  const work = m * n * k;
  if (n === 1 && rowsAreRuns(p, 1) && work >= STREAM_WORK) return "dots";
  if (m <= STREAM_ROWS && rowsAreRuns(p, 2) && work >= m * STREAM_WORK && n >= STREAM_COLUMNS) return "axpy";
  if (work <= DIRECT_WORK && k <= DIRECT_K) return "direct";
  // Few columns: each element of a is used too seldom to be worth packing.
  if (n <= tile.nr && rowsAreRuns(p, 1) && isLane(p.dtypes[1], lane)) return "direct";
  return "packed";
}

/** Do the elements of a row of operand 1 or 2 lie side by side? */
function rowsAreRuns(p: GemmProblem, operand: 1 | 2): boolean {
  return (operand === 1 ? p.a : p.b)[1] === dtypes[p.dtypes[operand]].bytes;
}

/** What one worker needs beside the operands. */
function layOut(
  path: GemmPath,
  k: number,
  lanes: number,
  tile: GemmTile,
  blocking: GemmBlocking,
  { rows, columns }: { readonly rows: number; readonly columns: number },
  uses: { readonly packA: boolean; readonly packB: boolean; readonly temp: boolean },
): GemmWorkspace {
  let a = 0;
  let b = 0;
  let temp = 0;
  const mr = (x: number) => ceilTo(x, tile.mr);
  const nr = (x: number) => ceilTo(x, tile.nr);
  if (path === "direct") {
    a = uses.packA ? mr(rows) * k : 0;
    b = k * (uses.packB ? nr(columns) : tile.nr);
    temp = mr(rows) * nr(columns);
  } else if (path === "packed") {
    const depth = Math.min(k, blocking.kc);
    a = mr(Math.min(rows, blocking.mc)) * depth;
    b = nr(Math.min(columns, blocking.nc)) * depth;
    temp = mr(rows) * nr(Math.min(columns, blocking.nc));
  } else if (path === "dots" || path === "axpy") {
    b = Math.min(k, STREAM_K) * (path === "axpy" ? rows : 1);
    temp = rows * columns;
  }
  const tileBytes = align64(tile.mr * tile.nr * lanes);
  const packA = tileBytes + align64(b * lanes);
  const tempAt = packA + align64(a * lanes);
  return {
    tile: 0,
    packB: tileBytes,
    packA,
    temp: tempAt,
    bytes: tempAt + (uses.temp ? align64(temp * lanes) : 0),
  };
}

/**
 * The transposed problem, where that makes the output's columns contiguous; for vectors, where it makes the matrix a run
 * of rows: n = 1 wants rows of a, m = 1 wants rows of b.
 */
function orient(p: GemmProblem): GemmProblem {
  const bytes = dtypes[p.dtypes[0]].bytes;
  let wants: boolean;
  if (p.n === 1) wants = !rowsAreRuns(p, 1) && p.a[0] === dtypes[p.dtypes[1]].bytes && p.m > 1;
  else if (p.m === 1) wants = !rowsAreRuns(p, 2) && p.b[0] === dtypes[p.dtypes[2]].bytes;
  else wants = p.out[1] !== bytes && p.out[0] === bytes;
  return wants ? transpose(p) : p;
}

export function transpose(p: GemmProblem): GemmProblem {
  const flip = ([row, column]: Steps): Steps => [column, row];
  const { batches } = p;
  const swap = <T>([out, a, b]: readonly T[]): T[] => [out, b, a];
  return {
    m: p.n,
    n: p.m,
    k: p.k,
    out: flip(p.out),
    a: flip(p.b),
    b: flip(p.a),
    dtypes: [p.dtypes[0], p.dtypes[2], p.dtypes[1]],
    batches: { ...batches, strides: swap(batches.strides), offsets: swap(batches.offsets) },
  };
}

/** One b for all of the innermost batches, whose rows follow one another: they are more rows of one product. */
function fold(p: GemmProblem): GemmProblem {
  const { shape, strides, offsets } = p.batches;
  const d = shape.length - 1;
  if (d < 0 || p.m === 0 || strides[2][d] !== 0) return p;
  if (strides[0][d] !== p.m * p.out[0] || strides[1][d] !== p.m * p.a[0]) return p;
  const batches: LoopNest = {
    ...p.batches,
    shape: shape.slice(0, d),
    strides: strides.map((s) => s.slice(0, d)),
    offsets,
    order: p.batches.order.slice(0, d),
  };
  return { ...p, m: p.m * shape[d], batches };
}

/** Few large tasks: each packs what it needs for itself. Batches are dealt out first, then rows or columns. */
function cutTasks(p: GemmProblem, count: number, tile: GemmTile, workers: number): GemmTask[] {
  const whole = { row: 0, rows: p.m, column: 0, columns: p.n };
  const work = p.m * p.n * Math.max(p.k, 1);
  const most = Math.max(1, Math.floor((work * count) / TASK_WORK));
  const wanted = workers === 1 ? 1 : Math.min(4 * workers, most);
  const tasks: GemmTask[] = [];
  if (wanted <= 1) return [{ batch: 0, batches: count, ...whole }];
  if (count >= wanted) {
    for (const [batch, batches] of cut(count, wanted, 1)) tasks.push({ batch, batches, ...whole });
    return tasks;
  }
  const pieces = Math.ceil(wanted / count);
  const byRows = p.m >= p.n;
  for (let batch = 0; batch < count; batch++) {
    for (const [start, size] of cut(byRows ? p.m : p.n, pieces, byRows ? tile.mr : tile.nr)) {
      if (byRows) tasks.push({ batch, batches: 1, ...whole, row: start, rows: size });
      else tasks.push({ batch, batches: 1, ...whole, column: start, columns: size });
    }
  }
  return tasks;
}

/** [start, size] of about equal pieces, all but the last multiples of `step`. */
function cut(total: number, pieces: number, step: number): [number, number][] {
  const size = Math.max(step, ceilTo(total / pieces, step));
  const out: [number, number][] = [];
  for (let start = 0; start < total; start += size) out.push([start, Math.min(size, total - start)]);
  return out;
}
