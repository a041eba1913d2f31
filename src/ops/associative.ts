/**
 * A fold whose function is associative by declaration: long ones are cut into parts, which threads fold side by side, and
 * then the parts are folded in their order. The cut follows from the shape alone: the same bits for any number of threads.
 */
import { isFloat } from "../dtype.ts";
import type { Strided } from "../run/call.ts";
import { sizeOf } from "../view/layout.ts";
import { contiguousView, type View } from "../view/view.ts";
import { changed, checkFlag, without } from "./arguments.ts";
import { elementwise } from "./elementwise.ts";
import type { Callable } from "./function.ts";
import { type ReduceOptions, reduce, splitShape } from "./reduce.ts";
import { checkAlive, withTemporary } from "./strided.ts";
import { tellCopy } from "./tell.ts";

/** The options of `reduce`. */
export interface AssociativeOptions extends ReduceOptions {
  /**
   * f(f(a, b), c) is f(a, f(b, c)): a long fold may be cut into parts, for several threads. Sums, products, largest and
   * smallest elements are known to be so. Default false.
   */
  readonly associative?: boolean;
}

/** Parts of a fold, the fewest elements of one, and as many results as make parts unnecessary. */
const PARTS = 64;
const LEAST_PART = 2048;
const MANY_CELLS = 64;

/** The options are plain: see `reduce`. */
export function associativeReduce(
  operation: string,
  callable: Callable,
  t: Strided,
  all: AssociativeOptions,
): Strided {
  const { associative } = all;
  const options = without(all, "associative");
  checkFlag(operation, "associative", associative);
  if (associative !== true || !keepsDType(t, options)) return reduce(operation, callable, t, options);
  checkAlive(operation, t);
  const { shape } = t.frame;
  const split = splitShape(operation, shape, options.axis, options.keepdims ?? false);
  const axis = split.isFolded.indexOf(true);
  const folded = sizeOf(split.foldedShape);
  const parts = axis < 0 ? 0 : Math.min(PARTS, shape[axis], Math.floor(folded / LEAST_PART));
  if (callable.template === null || parts < 2 || sizeOf(split.keptShape) >= MANY_CELLS)
    return reduce(operation, callable, t, options);
  const each = Math.floor(shape[axis] / parts);
  const axes = split.isFolded.flatMap((f, d) => (f ? [d] : []));
  const startless = without(options, "init");
  const { dtype, compute } = options;
  // Parts become an axis of their own in front of the one that was cut.
  const inParts = { ...t, frame: cutAxis(t.frame, axis, parts, each) };
  const options1 = changed(startless, { axis: axes.map((d) => d + 1), keepdims: true });
  return withTemporary(reduce(operation, callable, inParts, options1), (partials) => {
    const why = `the fold is associative and was cut into ${parts} parts, whose results are folded next`;
    tellCopy(operation, partials.storage.bytes, why);
    const ones = {
      ...partials,
      frame: withoutAxes(
        partials.frame,
        axes.map((d) => d + 1),
      ),
    };
    const joined = changed(options, { axis, keepdims: false });
    const whole = reduce(operation, callable, ones, joined);
    const rest = shape[axis] - parts * each;
    const result = { ...whole, frame: contiguousView(split.shape, whole.frame.itemBytes) };
    if (rest === 0) return result;
    return withTemporary(result, (before) =>
      withTemporary(
        reduce(operation, callable, { ...t, frame: lastOf(t.frame, axis, rest) }, startless),
        (after) => elementwise(operation, callable, [before, after], null, dtype, compute),
      ),
    );
  });
}

/** Does the fold have the same dtype with a start value as without one? */
function keepsDType({ dtype }: Strided, options: ReduceOptions): boolean {
  if (options.init === undefined || options.dtype !== undefined) return true;
  if (typeof options.init === "boolean") return false;
  return isFloat(dtype) || (dtype !== "bool" && Number.isInteger(Number(options.init)));
}

/** [..., parts, each, ...] in place of the axis; what is left over is left out. */
function cutAxis(view: View, axis: number, parts: number, each: number): View {
  const step = view.strides[axis];
  return {
    ...view,
    shape: [...view.shape.slice(0, axis), parts, each, ...view.shape.slice(axis + 1)],
    strides: [...view.strides.slice(0, axis), each * step, step, ...view.strides.slice(axis + 1)],
  };
}

function lastOf(view: View, axis: number, count: number): View {
  const from = view.shape[axis] - count;
  return { ...view, shape: view.shape.with(axis, count), offset: view.offset + from * view.strides[axis] };
}

function withoutAxes(view: View, axes: readonly number[]): View {
  const stays = (_: number, d: number) => !axes.includes(d);
  return { ...view, shape: view.shape.filter(stays), strides: view.strides.filter(stays) };
}
