/** Sums of exponentials, and what is divided by them: logsumexp, softmax and its logarithm. */
import { dtypes } from "../dtype.ts";
import * as programs from "../optimize/reduce-programs.ts";
import { softmaxRoutine } from "../routines/softmax.ts";
import type { Strided } from "../run/call.ts";
import { contiguousView, type View } from "../view/view.ts";
import type { SoftmaxKind } from "../wasm/routines/softmax.ts";
import { checkOptionalDType, readOptions } from "./arguments.ts";
import { runRoutine } from "./execute.ts";
import { foldOf, runFold } from "./fold.ts";
import { asOne } from "./noted.ts";
import type { Split } from "./reduce.ts";
import { floatOf, type SoftmaxOptions, type SumOptions, sumNames } from "./reductions.ts";
import { allocate, checkAlive, filled } from "./strided.ts";
import { framed, passesOf, piecesOf, runMap, type Tile, temporary } from "./tiles.ts";

/** log Σ exp(x), without overflow: -Infinity of nothing. */
export const logsumexp = (t: Strided, options: SumOptions = {}): Strided =>
  asOne("logsumexp", t, options, (x, read) => logSum(x, read));

function logSum(t: Strided, options: SumOptions): Strided {
  options = readOptions("logsumexp", options, "{ axis: 1 }", sumNames);
  checkAlive("logsumexp", t);
  const result = checkOptionalDType("logsumexp", options.dtype) ?? floatOf(t.dtype);
  const as = programs.workingFloat(t.dtype);
  const split = passesOf("logsumexp", t, options, result);
  const { bytes } = dtypes[result];
  const out = allocate("logsumexp", result, split.shape, split.whole(bytes));
  const cells = framed(out, split.kept(bytes));
  if (filledByRows("logsumexp", t, split, out, spreadView(cells.frame, t.frame.shape, split))) return out;
  return filled(out, () =>
    temporary(
      [() => allocate("logsumexp", as, split.keptShape), () => allocate("logsumexp", as, split.keptShape)],
      (largest, sums) => {
        for (const tile of split.tiles) {
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
  const split = passesOf(name, t, { axis, keepdims: false }, result);
  const out = allocate(name, result, shape);
  if (filledByRows(name, t, split, out, out.frame)) return out;
  return filled(out, () =>
    temporary(
      [() => allocate(name, as, split.keptShape), () => allocate(name, as, split.keptShape)],
      (largest, sums) => {
        if (shape.includes(0)) return;
        for (const tile of split.tiles) {
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
