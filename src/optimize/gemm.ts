/**
 * The plan of a matrix product, as data: which path, which lanes, how it is cut into blocks for the caches and into
 * tasks for the threads. Nothing here touches memory; run/gemm.ts spends the plan.
 *
 * Strides and addresses are bytes. out is (m, n), a is (m, k), b is (k, n); a stride may be 0 or negative.
 */
import { type DType, dtypes, isFloat } from "../dtype.ts";
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

/**
 * An mc × kc block of a and the mc × nc block of out that it adds to stay in the L2 cache, a kc × nr panel of b in L1.
 * Blocks of b, up to `deep` steps of k, are packed ahead of that and come one after the other from L3.
 */
export interface GemmBlocking {
  readonly mc: number;
  readonly kc: number;
  readonly nc: number;
  /** A multiple of kc. */
  readonly deep: number;
}

/**
 * `direct`: operands are read where they lie, nothing is packed unless it must be; batches are a loop in the kernel.
 * `packed`: blocks of both operands are copied into the order the tile reads them in.
 * `dots`, `axpy`: a product with a vector, or with very few rows: the matrix is a stream (see wasm/product/vector.ts).
 * (k = 1 is an elementwise product, and none of these.)
 */
export type GemmPath = "empty" | "dots" | "axpy" | "direct" | "packed";

/**
 * Rows × columns of a run of batches (by ordinal, in C order of the nest), over some steps of k: independent of every
 * other task.
 */
export interface GemmTask {
  readonly batch: number;
  readonly batches: number;
  readonly row: number;
  readonly rows: number;
  readonly column: number;
  readonly columns: number;
  readonly step: number;
  readonly steps: number;
}

/** Where a worker's pieces lie in its workspace, in bytes from its start. b comes last: tasks may share it. */
export interface GemmWorkspace {
  readonly tile: number;
  readonly packA: number;
  readonly temp: number;
  readonly packB: number;
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
  readonly accumulate: Accumulate;
  /** More than 1: each task makes sums of a part of k, and the sums of all tasks are added up in order. */
  readonly parts: number;
  readonly tasks: readonly GemmTask[];
  /** Tasks are rows of one product: b is packed once for all of them. */
  readonly together: boolean;
  readonly workspace: GemmWorkspace;
}

/** What becomes of the sums: they replace what is in out, are added to it, or are taken away from it. */
export const REPLACE = 0;
export const ADD = 1;
export const SUBTRACT = 2;
export type Accumulate = typeof REPLACE | typeof ADD | typeof SUBTRACT;

export interface GemmOptions {
  /** Default REPLACE. The others want an out of lanes that lie side by side, in rows or in columns. */
  readonly accumulate?: Accumulate;
  readonly blocking?: GemmBlocking;
  /** Threads that will take tasks; default 1. */
  readonly workers?: number;
  /** For tests and the bench: this path and no other, where it can be; this tile, whichever is the best or fits. */
  readonly path?: Exclude<GemmPath, "empty">;
  readonly tile?: GemmTile;
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

/** Is the tile meant for hosts that join pairs of vectors into 256 bits? It has more sums than others have registers for. */
export const isWide = ({ mr, nr }: GemmTile, lane: GemmLane): boolean => mr * nr * laneBytes(lane) >= 256;

/**
 * Tiles worth trying. 2 rows of 4 vectors need as many loads as 4 of 2 and fewer addresses; with fused multiply-adds 3 of 3
 * need fewer loads, and all of V8's 15 registers. 4 and 6 rows of 4 win where the host joins pairs of vectors into 256
 * bits and lose elsewhere; hosts without relaxed SIMD are too old to do so.
 */
export function tileCandidates(lane: GemmLane, relaxed: boolean): readonly GemmTile[] {
  const plain = plainTile(lane, relaxed);
  const nr = 2 * plain.nr;
  if (!relaxed) return lane === "f32" || lane === "f64" ? [plain, { ...plain, mr: 2, nr }] : [plain];
  return [
    plain,
    { ...plain, mr: 3, nr: 1.5 * plain.nr },
    { ...plain, nr, unrollK: 4 },
    { ...plain, mr: 6, nr, unrollK: 4 },
  ];
}

/**
 * Tiles of 6, 3 or 2 rows gain little over those of 4 on some processors: what they compute in vain, beyond the edges of
 * out, must not cost more than this.
 */
const SPARE = 1.025;

/** The tile, or the one of 4 rows and as many bits in a vector if that fits out better. */
export function fittingTile(tile: GemmTile, lane: GemmLane, m: number, n: number): GemmTile {
  const nr = (isWide(tile, lane) ? 64 : 32) / laneBytes(lane);
  if (tile.mr === 4 && tile.nr === nr) return tile;
  const computed = ceilTo(m, tile.mr) * ceilTo(n, tile.nr);
  return computed <= SPARE * ceilTo(m, 4) * ceilTo(n, nr) ? tile : { ...tile, mr: 4, nr };
}

/** The tile of products that are not packed: two or four vectors wide, never much wider than out, one step of k at a time. */
function directTile(tile: GemmTile, lane: GemmLane, n: number): GemmTile {
  const two = 32 / laneBytes(lane);
  // It is halved for the last columns.
  const nr = n <= 1.5 * two || tile.nr % two !== 0 ? two : tile.nr;
  const mr = nr === tile.nr ? tile.mr : 4;
  return tile.mr === mr && tile.unrollK === 1 && tile.nr === nr ? tile : { ...tile, mr, nr, unrollK: 1 };
}

export function defaultBlocking(lane: GemmLane): GemmBlocking {
  return laneBytes(lane) === 4 ? blocking32 : blocking64;
}
/** Longer sums are sums of sums of this many products, whichever tile and path compute them: the bits are the same. */
const SUM_K = 256;
const DEEP = 4 * SUM_K;
const blocking32: GemmBlocking = { mc: 96, kc: SUM_K, nc: 1024, deep: DEEP };
const blocking64: GemmBlocking = { mc: 72, kc: SUM_K, nc: 512, deep: DEEP };
/** Bytes that packed blocks of b may take, all tasks together, unless one step is more. */
const PACKED_BYTES = 1 << 26;

/** Columns of sums held back at a time when they must be converted. */
const TEMP_COLUMNS = 512;
/** Up to this many multiplications, of sums that are not cut, nothing is packed for the cache's sake. */
const DIRECT_WORK = 128 * 128 * 128;
const DIRECT_TALL = 256 * 256 * 256;
/** Longer sums are made of blocks, which keeps their error small. */
const SKINNY_K = 8192;
/** Matrix elements from which a product with a vector is a stream; rows and columns of `axpy`. */
const STREAM_WORK = 2048;
const STREAM_ROWS = 4;
const STREAM_COLUMNS = 64;
/** Steps of k that a stream takes at a time, and columns: its vectors stay in the caches, and memory is read in long runs. */
export const STREAM_K = 4096;
export const STREAM_CHUNK = 16384;
/** Steps of k in a part of a product whose matrix is a stream of rows, the most parts, and the longest such rows. */
const PART_K = 256;
const MOST_PARTS = 16;
const PART_COLUMNS = 65536;
/** Bytes of a matrix that a core's cache does not hold. */
const CACHED = 1 << 20;

/** Does the matrix of a product with a vector come from memory? */
export const isStream = ({ m, a }: Pick<GemmProblem, "m" | "a">): boolean => m * Math.abs(a[0]) > CACHED;

/** Rows that `dots` multiplies side by side: what the registers hold, and a little less where nothing waits for memory. */
export const rowsTogether = (laneBytes: number, stream: boolean): number =>
  laneBytes === 4 ? (stream ? 7 : 4) : stream ? 3 : 2;
/** Elements of b from which it is packed once for all tasks; a smaller one is packed before others have noticed. */
const TOGETHER = 1 << 17;
/** Rows that a piece of one packed product has at the least, unless there would be fewer pieces than threads. */
const PACKED_ROWS = 48;
/** Columns, where each piece packs all of a for itself. */
const PACKED_COLUMNS = 512;
/** Pieces that a thread should find: one that is slow then takes fewer. */
const PIECES = 4;
/** Multiplications that make a task worth handing over. */
const TASK_WORK = 64 * 64 * 64;

export const ceilTo = (x: number, step: number): number => Math.ceil(x / step) * step;
const align64 = (bytes: number) => ceilTo(bytes, 64);

/** `best`: the fastest tile here. */
export function planGemm(given: GemmProblem, best: GemmTile, options: GemmOptions = {}): GemmPlan {
  const lane = laneOf(given.dtypes[0]);
  const lanes = laneBytes(lane);
  const accumulate = options.accumulate ?? REPLACE;
  const oriented = orient(given, accumulate);
  const problem = fold(oriented);
  const { m, n, k, batches } = problem;
  const { shape } = batches;
  const [outType, aType, bType] = problem.dtypes;
  let count = 1;
  for (let d = 0; d < shape.length; d++) count *= shape[d];

  const wanted = options.tile ?? fittingTile(best, lane, m, n);
  let path: GemmPath = options.path ?? choosePath(problem, lane, wanted);
  if (m === 0 || n === 0 || count === 0) path = "empty";
  else if (accumulate !== REPLACE && path !== "dots") path = "packed";
  const tile = path === "packed" ? wanted : directTile(wanted, lane, n);
  const temp = !(isLane(outType, lane) && (problem.out[1] === lanes || n === 1));
  const direct = path === "direct";
  const packA = !(direct && isLane(aType, lane) && !crowds(problem.a[1], k));
  const inPlace = (problem.b[1] === lanes && !crowds(problem.b[0], k)) || n < tile.nr / 2;
  const packB = !(direct && isLane(bType, lane) && inPlace);
  const parts = path === "axpy" && count === 1 ? partsOf(problem) : 1;
  const tasks =
    path === "empty"
      ? noTasks
      : parts > 1
        ? cutSteps(problem, parts)
        : cutTasks(problem, count, tile, options.workers ?? 1, path, packB);
  const together = mayGoTogether(problem, count, path) && tasks.length > 1 && tasks[0].columns === n;
  let blocking = options.blocking ?? defaultBlocking(lane);
  if (path === "packed") {
    const nc = temp ? Math.min(blocking.nc, TEMP_COLUMNS) : blocking.nc;
    const copies = together ? 1 : tasks.length;
    const steps = Math.floor(PACKED_BYTES / (copies * blocking.kc * nc * lanes));
    const deep = Math.min(blocking.deep, Math.max(1, steps) * blocking.kc);
    if (nc !== blocking.nc || deep !== blocking.deep) blocking = { ...blocking, nc, deep };
  }
  return {
    path,
    problem,
    transposed: oriented !== given,
    folded: problem !== oriented,
    lane,
    tile,
    blocking,
    packA,
    packB,
    temp,
    accumulate,
    parts,
    tasks,
    together,
    workspace: layOut(path, k, lanes, tile, blocking, tasks, packA, packB, temp),
  };
}

const noTasks: readonly GemmTask[] = [];

function choosePath(p: GemmProblem, lane: GemmLane, tile: GemmTile): GemmPath {
  const { m, n, k } = p;
  const work = m * n * k;
  if (n === 1 && rowsAreRuns(p, 1) && work >= STREAM_WORK) return "dots";
  if (m <= STREAM_ROWS && rowsAreRuns(p, 2) && work >= m * STREAM_WORK && n >= STREAM_COLUMNS) return "axpy";
  const most = isWide(tile, lane) && directTile(tile, lane, n).mr > 4 ? DIRECT_TALL : DIRECT_WORK;
  if (work <= most && k <= SUM_K) return "direct";
  // Few columns: each element of a is used too seldom to be worth packing. (Not the tile's columns: the bits would follow it.)
  if (n <= 32 / laneBytes(lane) && k <= SKINNY_K && rowsAreRuns(p, 1) && isLane(p.dtypes[1], lane))
    return "direct";
  return "packed";
}

/** Would k rows, this many bytes apart, crowd into too few sets of an L1 cache (64 sets of 8 lines)? */
function crowds(stride: number, k: number): boolean {
  const lines = Math.abs(stride) / 64;
  if (!Number.isInteger(lines) || lines === 0) return false;
  return k > 8 * Math.max(1, 64 / (lines & -lines));
}

/** Do the elements of a row of operand 1 or 2 lie side by side? */
function rowsAreRuns(p: GemmProblem, operand: 1 | 2): boolean {
  return (operand === 1 ? p.a : p.b)[1] === dtypes[p.dtypes[operand]].bytes;
}

/** What one worker needs beside the operands, for the largest task. */
function layOut(
  path: GemmPath,
  k: number,
  lanes: number,
  { mr, nr }: GemmTile,
  blocking: GemmBlocking,
  tasks: readonly GemmTask[],
  usesA: boolean,
  usesB: boolean,
  usesTemp: boolean,
): GemmWorkspace {
  let rows = 0;
  let columns = 0;
  for (let t = 0; t < tasks.length; t++) {
    if (tasks[t].rows > rows) rows = tasks[t].rows;
    if (tasks[t].columns > columns) columns = tasks[t].columns;
  }
  let a = 0;
  let b = 0;
  let temp = 0;
  if (path === "direct") {
    a = usesA ? ceilTo(rows, mr) * k : 0;
    b = k * (usesB ? ceilTo(columns, nr) : nr);
    temp = ceilTo(rows, mr) * ceilTo(columns, nr);
  } else if (path === "packed") {
    const width = ceilTo(Math.min(columns, blocking.nc), nr);
    a = ceilTo(Math.min(rows, blocking.mc), mr) * Math.min(k, blocking.kc);
    b = width * Math.min(k, blocking.deep);
    temp = ceilTo(rows, mr) * width;
  } else if (path === "dots" || path === "axpy") {
    b = Math.min(k, STREAM_K) * (path === "axpy" ? rows : 1);
    temp = rows * columns;
  }
  const packA = align64(mr * nr * lanes);
  const tempAt = packA + align64(a * lanes);
  const packB = tempAt + (usesTemp ? align64(temp * lanes) : 0);
  return { tile: 0, packA, temp: tempAt, packB, bytes: packB + align64(b * lanes) };
}

/**
 * The transposed problem, where that makes the output's columns contiguous. Where one side is a vector or nearly one,
 * the other decides: few columns want rows of a side by side, few rows want rows of b.
 */
function orient(p: GemmProblem, accumulate: Accumulate): GemmProblem {
  const { m, n } = p;
  let wants: boolean;
  if (accumulate !== REPLACE) wants = !canAccumulate(p, false) && canAccumulate(p, true);
  else if (n <= STREAM_ROWS && n < m) wants = !rowsAreRuns(p, 1) && p.a[0] === dtypes[p.dtypes[1]].bytes;
  else if (m <= STREAM_ROWS && m < n) wants = !rowsAreRuns(p, 2) && p.b[0] === dtypes[p.dtypes[2]].bytes;
  else {
    const { bytes } = dtypes[p.dtypes[0]];
    wants = p.out[1] !== bytes && p.out[0] === bytes && n > 1;
  }
  return wants ? transpose(p) : p;
}

/** May sums of floats be added to out where it lies: as it is, or transposed? */
export function canAccumulate(
  { m, n, out, dtypes: [dtype] }: Pick<GemmProblem, "m" | "n" | "out" | "dtypes">,
  transposed: boolean,
): boolean {
  const { bytes } = dtypes[dtype];
  return (
    isFloat(dtype) &&
    isLane(dtype, laneOf(dtype)) &&
    (transposed ? out[0] === bytes || m === 1 : out[1] === bytes || n === 1)
  );
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

/**
 * Into how many parts of k a matrix that is a stream of rows is cut, whoever computes them: each part is read as it lies,
 * where pieces of columns would be short runs.
 */
function partsOf({ n, k, b }: GemmProblem): number {
  if (k < 2 * PART_K || n > PART_COLUMNS || k * Math.abs(b[0]) <= CACHED) return 1;
  return Math.min(MOST_PARTS, Math.floor(k / PART_K));
}

function cutSteps({ m, n, k }: GemmProblem, parts: number): readonly GemmTask[] {
  return Array.from({ length: parts }, (_, p) => {
    const step = Math.floor((p * k) / parts);
    const steps = Math.floor(((p + 1) * k) / parts) - step;
    return { batch: 0, batches: 1, row: 0, rows: m, column: 0, columns: n, step, steps };
  });
}

/** Is b worth packing once for all tasks, if they are rows of one product? */
const mayGoTogether = ({ n, k }: GemmProblem, count: number, path: GemmPath): boolean =>
  path === "packed" && count === 1 && n * k >= TOGETHER;

/** Batches are dealt out first, then rows or columns: few large tasks where each packs what it needs for itself. */
function cutTasks(
  p: GemmProblem,
  count: number,
  tile: GemmTile,
  workers: number,
  path: GemmPath,
  packB: boolean,
): readonly GemmTask[] {
  const { m, n, k } = p;
  const most = workers === 1 ? 1 : Math.floor((m * n * k * count) / TASK_WORK);
  // Tasks that are columns pack only their own of b.
  const isTall = m >= (path === "direct" && packB ? 2 * n : n);
  const byRows = isTall || (path === "packed" && count === 1 && m >= 2 * workers * PACKED_ROWS);
  let share = PIECES * workers;
  if (byRows && mayGoTogether(p, count, path))
    share = workers * Math.min(PIECES, Math.max(1, Math.floor(m / (workers * PACKED_ROWS))));
  else if (count === 1 && (path === "packed" || path === "direct"))
    share = Math.max(workers, Math.min(Math.floor(Math.max(m, n) / PACKED_COLUMNS), 2 * workers));
  const wanted = Math.min(share, most);
  const whole = { row: 0, rows: m, column: 0, columns: n, step: 0, steps: k };
  if (wanted <= 1) return [{ batch: 0, batches: count, ...whole }];
  if (count >= wanted) return cut(count, wanted, 1).map(([batch, batches]) => ({ batch, batches, ...whole }));
  const tasks: GemmTask[] = [];
  const pieces = Math.ceil(wanted / count);
  // Rows that are multiplied together stay together: their bits are the same for any number of tasks.
  const lanes = laneBytes(laneOf(p.dtypes[0]));
  const rowStep = path === "dots" ? rowsTogether(lanes, isStream(p)) : tile.mr;
  for (let batch = 0; batch < count; batch++) {
    for (const [start, size] of cut(byRows ? m : n, pieces, byRows ? rowStep : tile.nr)) {
      const part = byRows ? { row: start, rows: size } : { column: start, columns: size };
      tasks.push({ batch, batches: 1, ...whole, ...part });
    }
  }
  return tasks;
}

/** [start, size] of about equal pieces, all but the last multiples of `step`. */
export function cut(total: number, pieces: number, step: number): [number, number][] {
  const size = Math.max(step, ceilTo(total / pieces, step));
  const out: [number, number][] = [];
  for (let start = 0; start < total; start += size) out.push([start, Math.min(size, total - start)]);
  return out;
}
