/** The named reductions and scans: one row each, over reduce and scan. */
import { convert, type DType, dtypes, isFloat } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list } from "../errors.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Id } from "../ir/node.ts";
import { advance, isEmpty } from "../run/odometer.ts";
import { planLoops } from "../view/loops.ts";
import { contiguousView } from "../view/view.ts";
import { checkOptionalDType, checkOptions } from "./arguments.ts";
import { Callable } from "./function.ts";
import { type ReduceOptions, reduce, scan, splitShape } from "./reduce.ts";
import { absolute, allocate, checkAlive, type Strided } from "./strided.ts";

export interface AxisOptions {
  /** The axis or axes to fold; default all. */
  readonly axis?: number | readonly number[];
  readonly keepdims?: boolean;
}
export interface SumOptions extends AxisOptions {
  /** dtype of the result. Default: sums and products of integers are 64-bit, floats keep theirs. */
  readonly dtype?: DType;
}
export interface ArgOptions {
  /** One axis; default: the position in the flattened tensor. */
  readonly axis?: number;
  readonly keepdims?: boolean;
}

type Make = (t: TemplateBuilder, acc: Id, x: Id) => Id;

function fold(make: Make, name: string): Callable {
  const t = new TemplateBuilder();
  return new Callable(t.finish(make(t, t.input(0), t.input(1)), { inputs: 2, name }), null, null);
}

interface ReductionRow {
  readonly make: Make;
  /** Where it starts; null: at the first element, and an empty axis is an error. */
  readonly init: number | boolean | null;
  /** dtype of the result by the elements'. */
  readonly result: (element: DType) => DType;
}

/** NumPy: sums and products of integers narrower than 64 bits are 64-bit. */
const wide = (d: DType): DType => (isFloat(d) ? d : dtypes[d].kind === "uint" ? "u64" : "i64");
const same = (d: DType): DType => d;
const always = (d: DType) => (): DType => d;

const rows = {
  sum: { make: (t, acc, x) => t.op("add", [acc, x]), init: 0, result: wide },
  prod: { make: (t, acc, x) => t.op("mul", [acc, x]), init: 1, result: wide },
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

function callableFor(name: Reduction): Callable {
  let callable = callables.get(name);
  if (callable === undefined) {
    callable = fold(table[name].make, name);
    callables.set(name, callable);
  }
  return callable;
}

export function namedReduce(name: Reduction, t: Strided, options: SumOptions = {}): Strided {
  const row = table[name];
  checkOptions(name, options, "{ axis: 1 }");
  const dtype = checkOptionalDType(name, options.dtype) ?? row.result(t.dtype);
  const start = row.init === null ? {} : { init: row.init };
  // Float sums and products are carried in f64 and rounded once.
  const carry = isFloat(dtype) && (name === "sum" || name === "prod") ? "f64" : dtype;
  const full: ReduceOptions = { ...axisOptions(options), ...start, dtype: carry };
  return reduce(name, callableFor(name), t, full, { result: dtype });
}

const axisOptions = (o: AxisOptions): AxisOptions => ({
  ...(o.axis === undefined ? {} : { axis: o.axis }),
  ...(o.keepdims === undefined ? {} : { keepdims: o.keepdims }),
});

/** Sum over count, carried in f64; integers give f64. */
export function mean(t: Strided, options: SumOptions = {}): Strided {
  checkOptions("mean", options, "{ axis: 1 }");
  const dtype = checkOptionalDType("mean", options.dtype) ?? (isFloat(t.dtype) ? t.dtype : "f64");
  const { folded } = splitAxes("mean", t.frame, options.axis, false);
  const total = namedReduce("sum", t, { ...axisOptions(options), dtype: "f64" });
  const count = folded.shape.reduce((a, b) => a * b, 1);
  const out = allocate("mean", dtype, total.frame.shape);
  const memory = engine().heap.view;
  const n = total.storage.bytes / 8;
  for (let i = 0; i < n; i++) {
    const x = memory.getFloat64(total.storage.address + 8 * i, true) / count;
    dtypes[dtype].write(memory, out.storage.address + i * dtypes[dtype].bytes, convert(x, "f64", dtype));
  }
  total.storage.release();
  return out;
}

export type Scan = "cumsum" | "cumprod";

export interface CumulativeOptions {
  /** Needed unless there is only one axis. */
  readonly axis?: number;
  readonly dtype?: DType;
}

export function namedScan(name: Scan, t: Strided, options: CumulativeOptions = {}): Strided {
  const base = name === "cumsum" ? "sum" : "prod";
  checkOptions(name, options, "{ axis: 1 }");
  const dtype = checkOptionalDType(name, options.dtype) ?? table[base].result(t.dtype);
  const axis = options.axis === undefined ? {} : { axis: options.axis };
  return scan(name, callableFor(base), t, { ...axis, dtype, init: table[base].init as number });
}

/** Position of the largest (smallest) element, the first of equals; a NaN is larger and smaller than anything. */
export function argReduce(name: "argmax" | "argmin", t: Strided, options: ArgOptions = {}): Strided {
  checkAlive(name, t);
  checkOptions(name, options, "{ axis: 1 }");
  if (options.axis !== undefined && typeof options.axis !== "number") {
    fail("axis", name, `the axis is ${describe(options.axis)}.`, "Give one axis, or none for all elements.");
  }
  const { kept, folded, shape } = splitAxes(name, t.frame, options.axis, options.keepdims ?? false);
  if (folded.shape.includes(0)) {
    fail(
      "shape",
      name,
      `nothing to choose from: the tensor is ${list(t.frame.shape)}.`,
      "Fold an axis that has elements.",
    );
  }
  const out = allocate(name, "i64", shape);
  const nest = absolute(planLoops([contiguousView(kept.shape, 8), kept]), [out, t]);
  if (isEmpty(nest)) return out;
  const walk = planLoops([folded], { keepOrder: true });
  const memory = engine().heap.view;
  const { read } = dtypes[t.dtype];
  const sign = name === "argmax" ? 1 : -1;
  const index = new Array<number>(nest.shape.length).fill(0);
  const pointers = [...nest.offsets];
  const foldIndex = new Array<number>(walk.shape.length).fill(0);
  const p = [0];
  do {
    p[0] = pointers[1];
    let best = read(memory, p[0]);
    let at = 0;
    for (let i = 1; advance(walk, walk.shape.length, foldIndex, p); i++) {
      const x = read(memory, p[0]);
      const better = sign > 0 ? x > best : x < best;
      if (better || (Number.isNaN(x) && !Number.isNaN(best))) {
        if (Number.isNaN(best)) continue;
        best = x;
        at = i;
      }
    }
    memory.setBigInt64(pointers[0], BigInt(at), true);
  } while (advance(nest, nest.shape.length, index, pointers));
  return out;
}
