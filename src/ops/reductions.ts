/** The named reductions and scans: one row each, over reduce and scan. Those that make several passes have files of their own. */
import { type DType, dtypes, isFloat, promoteAll } from "../dtype.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Id } from "../ir/node.ts";
import type { Strided } from "../run/call.ts";
import { checkOptionalDType, readOptions } from "./arguments.ts";
import { Callable, Definition } from "./function.ts";
import { type ReduceOptions, reduce, scan } from "./reduce.ts";

/** Which axes are folded. */
export interface AxisOptions {
  /** The axis or axes to fold; default all. */
  readonly axis?: number | readonly number[];
  /** Folded axes stay, with size 1. */
  readonly keepdims?: boolean;
}
/** The options of sums and their like. */
export interface SumOptions<E extends DType = DType> extends AxisOptions {
  /** dtype of the result. Default: sums and products of integers are 64-bit, floats keep theirs. */
  readonly dtype?: E;
}
export const sumNames = ["axis", "keepdims", "dtype"];

/** The options of variances. */
export interface VarOptions<E extends DType = DType> extends SumOptions<E> {
  /** The sum of squares is divided by count - ddof. Default 0. */
  readonly ddof?: number;
  /** The array API's name for ddof. */
  readonly correction?: number;
}
/** The options of `norm`. */
export interface NormOptions<E extends DType = DType> extends SumOptions<E> {
  /** 1: sum of magnitudes. 2 (default): Euclidean length. Infinity: largest magnitude. */
  readonly ord?: 1 | 2 | number;
}
/** The options of `softmax` and `logSoftmax`. */
export interface SoftmaxOptions<E extends DType = DType> {
  /** The axis or axes whose exponentials sum to 1. Default: the last. */
  readonly axis?: number | readonly number[];
  /** dtype of the result. Default: floats keep theirs, integers give f64. */
  readonly dtype?: E;
}
/** The options of `argmax` and `argmin`. */
export interface ArgOptions {
  /** One axis, or a list of one; default: the position in the flattened tensor. */
  readonly axis?: number | readonly [number];
  /** The axis stays, with size 1. */
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

/** Sums and products of integers narrower than 64 bits are 64-bit, as NumPy's. */
const wideDType = (d: DType): DType => (isFloat(d) ? d : dtypes[d].kind === "uint" ? "u64" : "i64");
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
export function callableFor(name: Reduction, converted: DType | null = null): Callable {
  const key = `${name} ${converted}`;
  let callable = callables.get(key);
  if (callable === undefined) {
    const { make } = table[name];
    callable = fold(converted === null ? make : (t, acc, x) => make(t, acc, t.cast(converted, x)), name);
    callables.set(key, callable);
  }
  return callable;
}

/** Where a named fold starts, what it is carried in (float sums and products in f64, rounded once), and what is stored. */
export function accumulationOf(
  name: Reduction,
  element: DType,
  asked: DType | undefined,
): { readonly init: number | boolean | undefined; readonly carry: DType; readonly result: DType } {
  const row = table[name];
  const result = asked ?? row.result(element);
  const isSum = name === "sum" || name === "prod";
  return { init: row.init ?? undefined, carry: isFloat(result) && isSum ? "f64" : result, result };
}

/**
 * As NumPy, floats that are summed as integers are converted first, one by one; so are integers that meet the dtype asked
 * for in floats only (signed ones and u64), whatever the fold.
 */
export function conversionOf(
  name: Reduction,
  element: DType,
  { dtype }: { readonly dtype?: DType | undefined },
): DType | null {
  if (dtype === undefined || isFloat(dtype)) return null;
  if (isFloat(element)) return name === "sum" || name === "prod" ? dtype : null;
  return isFloat(promoteAll([element, dtype])) ? dtype : null;
}

export function namedReduce(name: Reduction, t: Strided, options: SumOptions = {}): Strided {
  options = readOptions(name, options, "{ axis: 1 }", sumNames);
  const { init, carry, result } = accumulationOf(name, t.dtype, checkOptionalDType(name, options.dtype));
  const converted = conversionOf(name, t.dtype, options);
  return reduce(name, callableFor(name, converted), t, foldOptions(options, init, carry), { result });
}

/** All options of a fold. */
export const foldOptions = (
  { axis, keepdims }: AxisOptions,
  init: number | boolean | undefined,
  dtype: DType,
): ReduceOptions => ({ axis, keepdims, init, dtype, compute: undefined });

export type Scan = "cumsum" | "cumprod";

/** The options of `cumsum` and `cumprod`. */
export interface CumulativeOptions<E extends DType = DType> {
  /** Needed unless there is only one axis. */
  readonly axis?: number;
  /** dtype of the result. Default: integers become 64-bit, floats keep theirs. */
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

/** The dtype of means and of what comes of roots and exponentials: integers give f64. */
export const floatOf = (d: DType): DType => (isFloat(d) ? d : "f64");
