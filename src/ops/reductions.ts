/** The named reductions and scans: one row each, over reduce and scan. */
import { type DType, dtypes, isFloat } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Id, Program } from "../ir/node.ts";
import type { Ending } from "../optimize/reduce.ts";
import * as programs from "../optimize/reduce-programs.ts";
import { softmaxRoutine } from "../routines/softmax.ts";
import type { Strided } from "../run/call.ts";
import { contiguousView, type View } from "../view/view.ts";
import type { SoftmaxKind } from "../wasm/routines/softmax.ts";
import { checkOptionalDType, readOptions } from "./arguments.ts";
import { execute, programCall, programForm, runRoutine } from "./execute.ts";
import { foldOf, runFold } from "./fold.ts";
import { Callable, Definition } from "./function.ts";
import { notedOne } from "./noted.ts";
import {
  conversionOf,
  type NamedFold,
  type ReduceOptions,
  reduce,
  type Split,
  scan,
  splitShape,
  wideDType,
} from "./reduce.ts";
import { allocate, checkAlive, filled } from "./strided.ts";

export interface AxisOptions {
  /** The axis or axes to fold; default all. */
  readonly axis?: number | readonly number[];
  readonly keepdims?: boolean;
}
export interface SumOptions<E extends DType = DType> extends AxisOptions {
  /** dtype of the result. Default: sums and products of integers are 64-bit, floats keep theirs. */
  readonly dtype?: E;
}
const sumNames = ["axis", "keepdims", "dtype"];

export interface VarOptions<E extends DType = DType> extends SumOptions<E> {
  /** The sum of squares is divided by count - ddof. Default 0. */
  readonly ddof?: number;
  /** The array API's name for ddof. */
  readonly correction?: number;
}
export interface NormOptions<E extends DType = DType> extends SumOptions<E> {
  /** 1: sum of magnitudes. 2 (default): Euclidean length. Infinity: largest magnitude. */
  readonly ord?: 1 | 2 | number;
}
export interface SoftmaxOptions<E extends DType = DType> {
  /** The axis or axes whose exponentials sum to 1. Default: the last. */
  readonly axis?: number | readonly number[];
  /** dtype of the result. Default: floats keep theirs, integers give f64. */
  readonly dtype?: E;
}
export interface ArgOptions {
  /** One axis, or a list of one; default: the position in the flattened tensor. */
  readonly axis?: number | readonly [number];
  readonly keepdims?: boolean;
}

type Make = (t: TemplateBuilder, acc: Id, x: Id) => Id;

function fold(make: Make, name: string): Callable {
  const t = new TemplateBuilder();
  return new Callable(new Definition(t.finish(make(t, t.input(0), t.input(1)), { inputs: 2, name })));
}

interface ReductionRow {
  readonly make: Make;
  /** Where it starts; null: at the first element, and an empty axis is an error. */
  readonly init: number | boolean | null;
  /** dtype of the result by the elements'. */
  readonly result: (element: DType) => DType;
}

const same = (d: DType): DType => d;
const always = (d: DType) => (): DType => d;

const rows = {
  sum: { make: (t, acc, x) => t.op("add", [acc, x]), init: 0, result: wideDType },
  prod: { make: (t, acc, x) => t.op("mul", [acc, x]), init: 1, result: wideDType },
  max: { make: (t, acc, x) => t.op("max", [acc, x]), init: null, result: same },
  min: { make: (t, acc, x) => t.op("min", [acc, x]), init: null, result: same },
  any: { make: (t, acc, x) => t.op("or", [acc, t.cast("bool", x)]), init: false, result: always("bool") },
  all: { make: (t, acc, x) => t.op("and", [acc, t.cast("bool", x)]), init: true, result: always("bool") },
  countNonzero: {
    make: (t, acc, x) => t.op("add", [acc, t.cast("i64", t.cast("bool", x))]),
    init: 0,
    result: always("i64"),
  },
} satisfies Record<string, ReductionRow>;

export type Reduction = keyof typeof rows;
const table: Record<Reduction, ReductionRow> = rows;
const callables = new Map<string, Callable>();

/** The fold of a row; `converted`: elements become this dtype first. */
function callableFor(name: Reduction, converted: DType | null = null): Callable {
  const key = `${name} ${converted}`;
  let callable = callables.get(key);
  if (callable === undefined) {
    const { make } = table[name];
    callable = fold(converted === null ? make : (t, acc, x) => make(t, acc, t.cast(converted, x)), name);
    callables.set(key, callable);
  }
  return callable;
}

export function namedReduce(name: Reduction, t: Strided, options: SumOptions = {}): Strided {
  const row = table[name];
  options = readOptions(name, options, "{ axis: 1 }", sumNames);
  const dtype = checkOptionalDType(name, options.dtype) ?? row.result(t.dtype);
  // Float sums and products are carried in f64 and rounded once.
  const carry = isFloat(dtype) && (name === "sum" || name === "prod") ? "f64" : dtype;
  const full = foldOptions(options, row.init ?? undefined, carry);
  const converted = conversionOf(name as NamedFold, t.dtype, options);
  return reduce(name, callableFor(name, converted), t, full, { result: dtype });
}

/** All options of a fold. */
const foldOptions = (
  { axis, keepdims }: AxisOptions,
  init: number | boolean | undefined,
  dtype: DType,
): ReduceOptions => ({ axis, keepdims, init, dtype, compute: undefined });

export type Scan = "cumsum" | "cumprod";

export interface CumulativeOptions<E extends DType = DType> {
  /** Needed unless there is only one axis. */
  readonly axis?: number;
  readonly dtype?: E;
}

export function namedScan(name: Scan, t: Strided, options: CumulativeOptions = {}): Strided {
  const base = name === "cumsum" ? "sum" : "prod";
  options = readOptions(name, options, "{ axis: 1 }", ["axis", "dtype"]);
  const dtype = checkOptionalDType(name, options.dtype) ?? table[base].result(t.dtype);
  const axis = options.axis === undefined ? {} : { axis: options.axis };
  // From -0 on, which leaves every number as it is: 0 would take the sign of a leading -0.
  const init = name === "cumsum" ? (isFloat(dtype) ? -0 : 0) : 1;
  return scan(name, callableFor(base, conversionOf(base, t.dtype, options)), [t], { ...axis, dtype, init });
}

/* Means and spreads ------------------------------------------------------------------------------------------- */

const floatOf = (d: DType): DType => (isFloat(d) ? d : "f64");
const countOf = (split: Split): number => split.foldedShape.reduce((a, b) => a * b, 1);

/** acc / p0, and its root. */
const endings = {
  mean: { params: ["f64"], make: (b, acc) => b.op("div", acc, b.param(0, "f64")) },
  root: { params: [], make: (b, acc) => b.op("sqrt", acc) },
  rootMean: {
    params: ["f64"],
    make: (b, acc) => b.op("sqrt", b.op("div", acc, b.param(0, "f64"))),
  },
} as const satisfies Record<string, Ending>;

/** Sum over count, carried in f64; integers give f64. */
export function mean(t: Strided, options: SumOptions = {}): Strided {
  options = readOptions("mean", options, "{ axis: 1 }", sumNames);
  checkAlive("mean", t);
  const result = checkOptionalDType("mean", options.dtype) ?? floatOf(t.dtype);
  const split = splitShape("mean", t.frame.shape, options.axis, false);
  const ending = { key: "mean", with: endings.mean, params: [countOf(split)] };
  const full = foldOptions(options, 0, "f64");
  return reduce("mean", callableFor("sum"), t, full, { result, ending });
}

/** Mean square distance from the mean, in two passes: first the mean, then the distances from it, all in f64. */
export const variance = (t: Strided, options: VarOptions = {}, name: "var" | "variance" = "var"): Strided =>
  asOne(name, t, options, (x, read) => spread(name, x, read));
/** The root of the variance. */
export const std = (t: Strided, options: VarOptions = {}): Strided =>
  asOne("std", t, options, (x, read) => spread("std", x, read));

/** What makes several passes is one operation to whoever records or traces. */
function asOne<O extends object>(
  name: string,
  t: Strided,
  options: O,
  run: (t: Strided, options: O) => Strided,
): Strided {
  const { recorder, tracer } = engine();
  if (recorder === null && tracer === null) return run(t, options);
  const read = readOptions(name, options, "{ axis: 1 }");
  if (tracer !== null) return tracer.whole(name, t, (x) => asOne(name, x, read, run));
  return notedOne(name, [t], read, () => run(t, read));
}

/** What is taken from the count before it divides, by either of its names. */
export function freedomOf(op: string, { ddof, correction }: VarOptions): number {
  const value = ddof ?? correction ?? 0;
  if (ddof !== undefined && correction !== undefined && ddof !== correction) {
    fail(
      "value",
      op,
      `ddof is ${describe(ddof)}, correction ${describe(correction)}.`,
      "They mean the same: give one.",
    );
  }
  if (typeof value !== "number" || Number.isNaN(value)) {
    const name = ddof === undefined ? "correction" : "ddof";
    fail("value", op, `${name} is ${describe(value)}.`, `Give a number, such as { ${name}: 1 }.`);
  }
  return value;
}

function spread(name: "var" | "variance" | "std", t: Strided, options: VarOptions): Strided {
  options = readOptions(name, options, "{ axis: 1 }", ["ddof", "correction", ...sumNames]);
  checkAlive(name, t);
  const result = checkOptionalDType(name, options.dtype) ?? floatOf(t.dtype);
  const ddof = freedomOf(name, options);
  const split = splitShape(name, t.frame.shape, options.axis, options.keepdims ?? false);
  const count = countOf(split);
  const key = name === "std" ? "rootMean" : "mean";
  const sum = foldOf(programs.sumStep(t.dtype), "f64", { ending: endings.mean }, "mean");
  const squares = foldOf(programs.deviationStep(t.dtype), result, { ending: endings[key] }, key);
  const out = allocate(name, result, split.shape);
  const outView = contiguousView(split.keptShape, dtypes[result].bytes);
  return filled(out, () =>
    temporary([() => allocate(name, "f64", split.keptShape)], (means) => {
      for (const tile of tilesOf(t.frame, split)) {
        const x = tile.source(t);
        const meansView = tile.kept(means.frame);
        const common = { operation: name, isFolded: split.isFolded, init: 0 };
        runFold({
          ...common,
          fold: sum,
          values: [count],
          sources: [x],
          out: framed(means, meansView),
        });
        runFold({
          ...common,
          fold: squares,
          values: [Math.max(count - ddof, 0)],
          sources: [x, tile.spread(means)],
          out: framed(out, tile.kept(outView)),
        });
      }
    }),
  );
}

/** Length of vectors along the axes, carried in f64. */
export const norm = (t: Strided, options: NormOptions = {}): Strided =>
  asOne("norm", t, options, (x, read) => lengthOf(x, read));

function lengthOf(t: Strided, options: NormOptions): Strided {
  options = readOptions("norm", options, "{ axis: 1, ord: 1 }", ["ord", ...sumNames]);
  checkAlive("norm", t);
  const result = checkOptionalDType("norm", options.dtype) ?? floatOf(t.dtype);
  const ord = options.ord ?? 2;
  if (ord !== 1 && ord !== 2 && ord !== Number.POSITIVE_INFINITY) {
    fail("value", "norm", `ord is ${describe(ord)}.`, "Use 1, 2 or Infinity.");
  }
  const split = splitShape("norm", t.frame.shape, options.axis, options.keepdims ?? false);
  const fold =
    ord === 1 || ord === 2
      ? foldOf(
          programs.powerStep(t.dtype, ord),
          result,
          ord === 2 ? { ending: endings.root } : {},
          `norm ${ord}`,
        )
      : foldOf(programs.largestStep(t.dtype, programs.workingFloat(t.dtype)), result, {}, "norm");
  const out = allocate("norm", result, split.shape);
  return filled(out, () =>
    runFold({
      operation: "norm",
      fold,
      sources: [framed(t, t.frame)],
      isFolded: split.isFolded,
      init: 0,
      out: framed(out, contiguousView(split.keptShape, dtypes[result].bytes)),
    }),
  );
}

/* Positions ---------------------------------------------------------------------------------------------------- */

/** Position of the largest (smallest) element, the first of equals; a NaN is larger and smaller than anything. */
export const argReduce = (name: "argmax" | "argmin", t: Strided, options: ArgOptions = {}): Strided =>
  asOne(name, t, options, (x, read) => positionOf(name, x, read));

function positionOf(name: "argmax" | "argmin", t: Strided, options: ArgOptions): Strided {
  options = readOptions(name, options, "{ axis: 1 }", ["axis", "keepdims"]);
  checkAlive(name, t);
  const axis = Array.isArray(options.axis) && options.axis.length === 1 ? options.axis[0] : options.axis;
  if (axis !== undefined && typeof axis !== "number") {
    fail("axis", name, `the axis is ${describe(axis)}.`, "Give one axis, or none for all elements.");
  }
  const split = splitShape(name, t.frame.shape, axis, options.keepdims ?? false);
  if (split.foldedShape.includes(0)) {
    fail(
      "shape",
      name,
      `nothing to choose from: the tensor is ${list(t.frame.shape)}.`,
      "Fold an axis that has elements.",
    );
  }
  // First the best element, then the first position that has it.
  const extreme = foldOf(programs.extremeStep(name === "argmax" ? "max" : "min", t.dtype, t.dtype), t.dtype);
  const position = foldOf(programs.positionStep(t.dtype), "i64");
  const out = allocate(name, "i64", split.shape);
  const outView = contiguousView(split.keptShape, 8);
  return filled(out, () =>
    temporary([() => allocate(name, t.dtype, split.keptShape)], (best) => {
      for (const tile of tilesOf(t.frame, split)) {
        const common = { operation: name, isFolded: split.isFolded, init: null };
        const x = tile.source(t);
        const bestView = tile.kept(best.frame);
        runFold({ ...common, fold: extreme, sources: [x], out: framed(best, bestView) });
        runFold({
          ...common,
          fold: position,
          sources: [x, tile.spread(best), "position"],
          out: framed(out, tile.kept(outView)),
        });
      }
    }),
  );
}

/* Exponentials --------------------------------------------------------------------------------------------------- */

/** log Σ exp(x), without overflow: -Infinity of nothing. */
export const logsumexp = (t: Strided, options: SumOptions = {}): Strided =>
  asOne("logsumexp", t, options, (x, read) => logSum(x, read));

function logSum(t: Strided, options: SumOptions): Strided {
  options = readOptions("logsumexp", options, "{ axis: 1 }", sumNames);
  checkAlive("logsumexp", t);
  const result = checkOptionalDType("logsumexp", options.dtype) ?? floatOf(t.dtype);
  const as = programs.workingFloat(t.dtype);
  const split = splitShape("logsumexp", t.frame.shape, options.axis, options.keepdims ?? false);
  const out = allocate("logsumexp", result, split.shape);
  const cells = { ...out, frame: contiguousView(split.keptShape, dtypes[result].bytes) };
  if (filledByRows("logsumexp", t, split, out, spreadView(cells.frame, t.frame.shape, split))) return out;
  return filled(out, () =>
    temporary(
      [() => allocate("logsumexp", as, split.keptShape), () => allocate("logsumexp", as, split.keptShape)],
      (largest, sums) => {
        for (const tile of tilesOf(t.frame, split)) {
          sumExponentials("logsumexp", t, tile, split, largest, sums, "finite");
        }
        runMap("logsumexp", programs.logSumMap(as, result), [cells, sums, largest]);
      },
    ),
  );
}

/** exp(x) / Σ exp(x) along an axis. */
export const softmax = (t: Strided, options: SoftmaxOptions = {}): Strided =>
  asOne("softmax", t, options, (x, read) => normalized("softmax", x, read));
/** The logarithm of softmax, without its underflow. */
export const logSoftmax = (t: Strided, options: SoftmaxOptions = {}): Strided =>
  asOne("logSoftmax", t, options, (x, read) => normalized("logSoftmax", x, read));

/**
 * A tile at a time, so that memory is read once and written once: the largest, the sum, then the result, from the cache.
 * A fold that is longer than the cache is read twice.
 */
function normalized(name: "softmax" | "logSoftmax", t: Strided, options: SoftmaxOptions): Strided {
  options = readOptions(name, options, "{ axis: 1 }", ["axis", "dtype"]);
  checkAlive(name, t);
  const result = checkOptionalDType(name, options.dtype) ?? floatOf(t.dtype);
  const as = programs.workingFloat(t.dtype);
  const { shape } = t.frame;
  const axis = options.axis ?? (shape.length === 0 ? [] : -1);
  const split = splitShape(name, shape, axis, false);
  const out = allocate(name, result, shape);
  if (filledByRows(name, t, split, out, out.frame)) return out;
  return filled(out, () =>
    temporary(
      [() => allocate(name, as, split.keptShape), () => allocate(name, as, split.keptShape)],
      (largest, sums) => {
        if (shape.includes(0)) return;
        for (const tile of tilesOf(t.frame, split)) {
          const x = tile.source(t);
          const to = tile.source(out);
          const m = tile.spread(largest);
          const s = tile.spread(sums);
          if (name === "softmax" && result === as && !tile.isLong) {
            // Each exponential is computed once: it waits in the output for the sum.
            largestOf(name, t, tile, split, largest);
            runMap(name, programs.exponentialMap(t.dtype, as), [to, x, m]);
            const sum = foldOf(programs.sumStep(as), as, {}, "sum");
            const sumsView = tile.kept(sums.frame);
            runFold({
              operation: name,
              fold: sum,
              sources: [to],
              isFolded: split.isFolded,
              init: 0,
              out: framed(sums, sumsView),
            });
            runMap(name, programs.divideMap(as), [to, to, s]);
            continue;
          }
          sumExponentials(name, t, tile, split, largest, sums, "low");
          if (name === "softmax") runMap(name, programs.softmaxMap(t.dtype, as, result), [to, x, m, s]);
          else {
            const cells = framed(sums, tile.kept(sums.frame));
            runMap(name, programs.logMap(as), [cells, cells]);
            runMap(name, programs.logSoftmaxMap(t.dtype, as, result), [to, x, m, s]);
          }
        }
      },
    ),
  );
}

/** Rows that lie densely are done one by one, each from the cache; false where that is not so. */
function filledByRows(kind: SoftmaxKind, t: Strided, split: Split, out: Strided, frame: View): boolean {
  const folded = split.isFolded.flatMap((f, d) => (f ? [d] : []));
  if (folded.length !== 1) return false;
  let done = false;
  filled(out, () => {
    const params = { kind, axis: folded[0] };
    const asked = { operation: kind, params, inputs: [t], outs: [{ ...out, frame }] };
    done = runRoutine(softmaxRoutine, asked);
  });
  return done;
}

/** A view of the kept axes, as one of the whole shape. */
function spreadView(kept: View, shape: readonly number[], { isFolded }: Split): View {
  let k = 0;
  return { ...kept, shape, strides: isFolded.map((f) => (f ? 0 : kept.strides[k++])) };
}

function largestOf(name: string, t: Strided, tile: Tile, split: Split, largest: Strided): void {
  const as = largest.dtype;
  runFold({
    operation: name,
    fold: foldOf(programs.extremeStep("max", t.dtype, as), as),
    sources: [tile.source(t)],
    isFolded: split.isFolded,
    init: null,
    out: framed(largest, tile.kept(largest.frame)),
  });
}

/** largest = max x and sums = Σ exp(x - largest) for the cells of a tile. */
function sumExponentials(
  name: string,
  t: Strided,
  tile: Tile,
  split: Split,
  largest: Strided,
  sums: Strided,
  guard: programs.Guard,
): void {
  const as = largest.dtype;
  const step = foldOf(programs.exponentialStep(t.dtype, as, guard), as, {}, "sum");
  const { isFolded } = split;
  if (!tile.isLong) {
    largestOf(name, t, tile, split, largest);
    runFold({
      operation: name,
      fold: step,
      sources: [tile.source(t), tile.spread(largest)],
      isFolded,
      init: 0,
      out: framed(sums, tile.kept(sums.frame)),
    });
    return;
  }
  // Longer than the cache: each piece by its own largest element, and then the pieces by the largest of all.
  const pieces = piecesOf(tile, isFolded);
  const cells = tile.kept(largest.frame);
  const shape = [pieces.length, ...cells.shape];
  temporary([() => allocate(name, as, shape), () => allocate(name, as, shape)], (own, part) => {
    pieces.forEach((piece, p) => {
      const at = (of: Strided): Strided => ({
        ...of,
        frame: contiguousView(cells.shape, of.frame.itemBytes, p * of.frame.strides[0]),
      });
      sumExponentials(name, t, { ...piece, kept: (v) => v }, split, at(own), at(part), guard);
    });
    const folded = [true, ...cells.shape.map(() => false)];
    const common = { operation: name, shape, isFolded: folded };
    const all = framed(largest, cells);
    runFold({
      ...common,
      fold: foldOf(programs.extremeStep("max", as, as), as),
      sources: [own],
      init: null,
      out: all,
    });
    const allView: View = { ...cells, shape, strides: [0, ...cells.strides] };
    runFold({
      ...common,
      fold: foldOf(programs.rejoinStep(as), as, {}, "sum"),
      sources: [part, own, framed(largest, allView)],
      init: 0,
      out: framed(sums, tile.kept(sums.frame)),
    });
  });
}

/* Tiles ------------------------------------------------------------------------------------------------------------ */

/** Elements that stay in the last cache while several kernels, on all threads, visit them. */
const TILE_ELEMENTS = 1 << 20;
/** Elements side by side that are worth reading at a time. */
const LEAST_RUN = 4096;

/** A part of the index space, and what of each operand belongs to it. */
interface Tile {
  readonly shape: readonly number[];
  /** A single fold of it does not stay in the cache. */
  readonly isLong: boolean;
  readonly source: (t: Strided) => Strided;
  /** Of a view of the kept axes. */
  readonly kept: (view: View) => View;
  /** A tensor of the kept axes, as an operand of the whole shape. */
  readonly spread: (t: Strided) => Strided;
}

/** The same memory, seen otherwise. */
const framed = (t: Strided, frame: View): Strided => ({ ...t, frame });

function tileOf(
  shape: readonly number[],
  isFolded: readonly boolean[],
  axis: number,
  from: number,
  to: number,
): Tile {
  const cut = (view: View, d: number): View =>
    d < 0
      ? view
      : {
          ...view,
          shape: view.shape.with(d, to - from),
          offset: view.offset + from * view.strides[d],
        };
  const keptAxis = axis < 0 || isFolded[axis] ? -1 : axis - isFolded.slice(0, axis).filter(Boolean).length;
  const own = axis < 0 ? shape : shape.with(axis, to - from);
  const folded = own.reduce((n, size, d) => (isFolded[d] ? n * size : n), 1);
  return {
    shape: own,
    isLong: folded > TILE_ELEMENTS,
    source: (t) => framed(t, cut(t.frame, axis)),
    kept: (view) => cut(view, keptAxis),
    spread: (t) => {
      const kept = cut(t.frame, keptAxis);
      let k = 0;
      return framed(t, { ...kept, shape: own, strides: isFolded.map((f) => (f ? 0 : kept.strides[k++])) });
    },
  };
}

/** Tiles along the largest kept axis; one for all if it is small anyway. */
function tilesOf({ shape, strides, itemBytes }: View, split: Split): Tile[] {
  const total = shape.reduce((a, b) => a * b, 1);
  let axis = -1;
  shape.forEach((size, d) => {
    if (!split.isFolded[d] && (axis < 0 || size > shape[axis])) axis = d;
  });
  if (axis < 0 || total <= TILE_ELEMENTS) return [tileOf(shape, split.isFolded, -1, 0, 0)];
  // Parts of what lies side by side are read in long runs, even if they do not stay in the cache then.
  const least = Math.abs(strides[axis]) === itemBytes ? LEAST_RUN : 1;
  const size = Math.max(least, Math.floor((TILE_ELEMENTS * shape[axis]) / total));
  return along(shape, split.isFolded, axis, size);
}

/** Parts of a long tile along its largest folded axis. */
function piecesOf(tile: Tile, isFolded: readonly boolean[]): Tile[] {
  const { shape } = tile;
  const total = shape.reduce((a, b) => a * b, 1);
  let axis = -1;
  shape.forEach((size, d) => {
    if (isFolded[d] && (axis < 0 || size > shape[axis])) axis = d;
  });
  const size = Math.max(1, Math.floor((TILE_ELEMENTS * shape[axis]) / total));
  return along(shape, isFolded, axis, size).map((piece) => ({
    ...piece,
    isLong: false,
    source: (t) => {
      return piece.source(tile.source(t));
    },
  }));
}

function along(shape: readonly number[], isFolded: readonly boolean[], axis: number, size: number): Tile[] {
  const tiles: Tile[] = [];
  for (let i = 0; i < shape[axis]; i += size) {
    tiles.push(tileOf(shape, isFolded, axis, i, Math.min(i + size, shape[axis])));
  }
  return tiles;
}

/** out[…] = program(in0[…], …), for operands [out, …inputs] of one shape. */
function runMap(operation: string, program: Program, [out, ...inputs]: readonly Strided[]): void {
  execute(programForm, programCall(operation, program, out, inputs));
}

/** Tensors that are there while `body` runs; if one cannot be made, the others go again. */
function temporary<R>(makers: readonly (() => Strided)[], body: (...made: Strided[]) => R): R {
  const made: Strided[] = [];
  try {
    for (const make of makers) made.push(make());
    return body(...made);
  } finally {
    for (const t of made) t.storage.release();
  }
}
