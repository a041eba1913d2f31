/**
 * Resizing, one axis after the other. Pixel i covers [i, i + 1), so centres lie at halves and both borders stay where they
 * are (OpenCV, Pillow, torch's align_corners = false). What each result takes from which pixels is planned as data; then
 * kernels add the weighted pixels up. A pixel outside of a result's window is never touched: one NaN stays where it is.
 */
import { mapReduce, tensor, zeros, zip } from "../api.ts";
import { type DType, dtypes, isFloat } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { checkFlag, numberList, readOptions } from "../ops/arguments.ts";
import { liveTensor, type Tensor } from "../tensor.ts";
import { take } from "./indexing.ts";
import { scoped } from "./scoped.ts";

interface Filter {
  /** Pixels that count on each side, at scale 1. */
  readonly support: number;
  readonly weight: (x: number) => number;
  /** Where nothing is smoothed, if it differs. */
  readonly plain?: (x: number) => number;
}

const cubic =
  (a: number) =>
  (t: number): number => {
    const x = Math.abs(t);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
  };
const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const filters = {
  bilinear: { support: 1, weight: (x: number) => Math.max(0, 1 - Math.abs(x)) },
  bicubic: { support: 2, weight: cubic(-0.5), plain: cubic(-0.75) },
  lanczos: { support: 3, weight: (x: number) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
} as const satisfies Record<string, Filter>;

/** How pixels of another size are made. */
export type ResizeMethod = "nearest" | "area" | keyof typeof filters;
const methods: readonly string[] = ["nearest", "area", ...Object.keys(filters)];

/** The options of `resize`. */
export interface ResizeOptions {
  /**
   * "bilinear" (the default), "bicubic" or "lanczos" (of 3); "area": the mean of what the pixel covers; "nearest": the
   * pixel in whose middle it lies.
   */
  readonly method?: ResizeMethod;
  /**
   * Where the picture gets smaller the filter gets wider, so that every pixel counts, as Pillow and torch's antialias do
   * (default). false: only the nearest ones, as OpenCV and torch without it.
   */
  readonly antialias?: boolean;
}

/** More pixels along one axis are a mistake. */
const MOST_PIXELS = 2 ** 20;

/**
 * A picture of another size: [height, width], [height, width, channels] or [batch, height, width, channels].
 *
 *     image.resize(picture, [224, 224], { method: "lanczos" });
 *
 * @param t a picture
 * @param size [height, width]
 * @param options `method`, default "bilinear"; `antialias`, default true
 * @returns a new picture of t's dtype
 * @example
 * image.resize(tensor([[1, 3], [5, 7]]), [1, 1], { method: "area" }); // → f32 [[4]]
 */
export function resize<D extends DType>(
  t: Tensor<D>,
  size: readonly [number, number],
  options?: ResizeOptions,
): Tensor<D>;
export function resize(t: Tensor, size: readonly [number, number], options: ResizeOptions = {}): Tensor {
  const op = "image.resize";
  const to = numberList(op, "the size", size);
  const { method = "bilinear", antialias } = readOptions(op, options, '{ method: "area" }', [
    "method",
    "antialias",
  ]);
  checkFlag(op, "antialias", antialias);
  if (typeof method !== "string" || !methods.includes(method)) {
    fail("value", op, `method is ${describe(method)}.`, `Use one of ${methods.join(" ")}.`);
  }
  const { shape, dtype } = liveTensor(op, t);
  if (shape.length < 2 || shape.length > 4 || shape.includes(0)) {
    fail(
      "shape",
      op,
      `${list(shape)} is no picture.`,
      "It is [height, width], [height, width, channels] or [batch, height, width, channels].",
    );
  }
  if (to.length !== 2 || to.some((n) => !(Number.isInteger(n) && n >= 1 && n <= MOST_PIXELS))) {
    fail(
      "value",
      op,
      `the size is ${list(to)}.`,
      `Give [height, width], whole numbers from 1 to ${MOST_PIXELS}.`,
    );
  }
  if (method !== "nearest" && (dtypes[dtype].big || dtype === "bool")) {
    const remedy = 'Convert it first: t.to("f32"), or take pixels as they are: { method: "nearest" }.';
    fail("dtype", op, `${method} is not defined on ${dtype}.`, remedy);
  }
  const first = shape.length === 4 ? 1 : 0;
  return scoped(op, () => {
    const plans = to.map((n, d) => planAxis(shape[first + d], n, method, antialias !== false));
    if (method === "nearest") {
      const rows = take(t, indices(plans[0], 0), { axis: first });
      return take(rows, indices(plans[1], 0), { axis: first + 1 });
    }
    // What is read is dense, so that every layout gives the same bits.
    let x: Tensor = t.to(computeOf(dtype)).contiguous();
    const shrinks = (d: number) => to[d] / shape[first + d];
    const order = shrinks(0) <= shrinks(1) ? [0, 1] : [1, 0];
    for (const d of order) x = along(x, first + d, plans[d]);
    if (isFloat(dtype)) return x.to(dtype).contiguous();
    return x.contiguous().map(
      (x) => {
        const low = Math.floor(x);
        const rest = x - low;
        return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
      },
      { dtype },
    );
  });
}

/** Half floats and small integers are computed in f32, what needs more digits in f64. */
const computeOf = (dtype: DType): DType =>
  dtypes[dtype].bytes === 4 && dtype !== "f32" ? "f64" : dtype === "f64" ? "f64" : "f32";

/** Result i is Σ weights[i][k] · pixel (starts[i] + k). */
export interface AxisPlan {
  readonly size: number;
  readonly starts: readonly number[];
  readonly weights: readonly (readonly number[])[];
}

/** What each of `to` results takes from `size` pixels. */
export function planAxis(size: number, to: number, method: ResizeMethod, antialias: boolean): AxisPlan {
  const scale = size / to;
  const starts: number[] = [];
  const weights: number[][] = [];
  for (let i = 0; i < to; i++) {
    const [start, of] = windowAt(i, scale, size, method, antialias);
    starts.push(start);
    weights.push(of);
  }
  return { size, starts, weights };
}

function windowAt(
  i: number,
  scale: number,
  size: number,
  method: ResizeMethod,
  antialias: boolean,
): [number, number[]] {
  const centre = (i + 0.5) * scale;
  if (method === "nearest") return [Math.min(size - 1, Math.floor(centre)), [1]];
  if (method === "area") {
    const [low, high] = [i * scale, Math.min(size, (i + 1) * scale)];
    const start = Math.min(size - 1, Math.floor(low));
    const end = Math.max(start + 1, Math.min(size, Math.ceil(high)));
    const covered = range(start, end, (x) => Math.max(0, Math.min(x + 1, high) - Math.max(x, low)));
    return [start, normal(covered)];
  }
  const { support, weight, plain = weight }: Filter = filters[method];
  if (antialias) {
    const stretch = Math.max(1, scale);
    const start = Math.max(0, Math.floor(centre - support * stretch + 0.5));
    const end = Math.min(size, Math.floor(centre + support * stretch + 0.5));
    return [start, normal(range(start, end, (x) => weight((x + 0.5 - centre) / stretch)))];
  }
  // Pixels beyond the border are those at it.
  const start = Math.floor(centre - 0.5 - support) + 1;
  const end = Math.ceil(centre - 0.5 + support);
  const of = range(start, end, (x) => plain(x + 0.5 - centre));
  const first = Math.min(size - 1, Math.max(0, start));
  const inside = new Array<number>(Math.min(size - 1, Math.max(0, end - 1)) - first + 1).fill(0);
  for (const [k, w] of of.entries()) inside[Math.min(size - 1, Math.max(0, start + k)) - first] += w;
  return [first, normal(inside)];
}

const range = (start: number, end: number, of: (x: number) => number): number[] =>
  Array.from({ length: end - start }, (_, k) => of(start + k));

/** The weights of one result add up to 1. */
function normal(weights: readonly number[]): number[] {
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((w) => w / sum);
}

/** Pixel k of each result's window, the last one where it has fewer. */
const indices = ({ starts, weights }: AxisPlan, k: number): Tensor =>
  tensor(Int32Array.from(starts, (start, i) => start + Math.min(k, weights[i].length - 1)));

/**
 * One axis resized: brought to the front, so that a pixel is a long row, and all that is done is done to rows. By the
 * windows' places or by results, whichever are fewer.
 */
function along(x: Tensor, axis: number, plan: AxisPlan): Tensor {
  const { size, starts, weights } = plan;
  const taps = weights.reduce((most, w) => Math.max(most, w.length), 0);
  if (starts.length === size && weights.every((w, i) => w.length === 1 && starts[i] === i)) return x;
  const front = x.moveAxis(axis, 0);
  const rows = front.reshape(size, -1);
  const out = zeros([starts.length, rows.shape[1]], { dtype: x.dtype });
  const column = (values: readonly number[]) =>
    tensor(Float64Array.from(values), { shape: [values.length, 1] }).to(x.dtype);
  if (taps <= starts.length) {
    for (let k = 0; k < taps; k++) {
      const pixels = take(rows, indices(plan, k), { axis: 0 });
      const by = column(weights.map((w) => w[k] ?? 0));
      // A window that has ended adds nothing, not even an infinity times 0.
      zip([out, pixels, by], (sum, x, w) => (w === 0 ? sum : sum + w * x), { out });
      pixels.dispose();
      by.dispose();
    }
  } else {
    for (const [i, start] of starts.entries()) {
      const window = rows.slice([start, start + weights[i].length]);
      const mixed = mapReduce([window, column(weights[i])], (x, w) => (w === 0 ? 0 : x * w), { axis: 0 });
      out.slice(i).assign(mixed);
    }
  }
  return out.reshape([starts.length, ...front.shape.slice(1)]).moveAxis(0, axis);
}
