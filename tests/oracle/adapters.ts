/**
 * One row an oracle operation: runs a case through the public API and says what differs (null: nothing does).
 * NumPy's names are written as ours; nothing is skipped, an unknown name is a failure.
 */
import * as s from "../../src/index.ts";
import { type DType, fromGgml, type Raw, type SliceItem, type Tensor, tensor } from "../../src/index.ts";
import { stridedOf } from "../../src/tensor.ts";
import { broadcastShapes } from "../../src/view/broadcast.ts";
import { extentOf, normalizeIndex, positionOf, rowMajorStrides, unravel } from "../../src/view/layout.ts";
import { contiguousView, isContiguous, permute } from "../../src/view/view.ts";
import {
  type Case,
  type Coded,
  decode,
  type Expected,
  type SliceSpec,
  type TensorInput,
  type ViewStep,
} from "./cases.ts";
import { compareLists, compareTensor, compareValues } from "./compare.ts";
import { hexOf, sha256 } from "./sha256.ts";

/** Runs one case; throws where the library does. */
export type Adapter = (c: Case<never, never, never>) => string | null;

/* Inputs ------------------------------------------------------------------------------------------------ */

function sourceOf(input: TensorInput): Tensor {
  const { dtype, shape, data, gen } = input;
  const count = shape.reduce((a, b) => a * b, 1);
  const coded = data ?? Array.from({ length: count }, (_, i) => (gen?.start ?? 0) + i * (gen?.step ?? 1));
  return tensor(
    coded.map((x) => decode(x, dtype)),
    { dtype, shape },
  );
}

function sliceItem(item: SliceSpec): SliceItem {
  if ("slice" in item) return [item.slice[0], item.slice[1], item.slice[2]];
  if ("index" in item) return item.index;
  return "newaxis" in item ? null : "...";
}

function applyView(t: Tensor, step: ViewStep): Tensor {
  switch (step.op) {
    case "slice":
      return t.slice(...step.items.map(sliceItem));
    case "permute":
      return t.permute(step.perm);
    case "swapaxes":
      return t.swapAxes(step.a, step.b);
    case "moveaxis":
      return t.moveAxis(step.src, step.dst);
    case "expand_dims":
      return t.expandDims(step.axis);
    case "squeeze":
      return step.axes === null ? t.squeeze() : t.squeeze(step.axes);
    case "broadcast_to":
      return t.broadcastTo(step.shape);
    case "reshape":
      return t.reshape(step.shape);
    case "diagonal":
      return t.diagonal({ offset: step.offset, axis1: step.axis1, axis2: step.axis2 });
    case "sliding_window":
      return t.slidingWindow(step.window, step.axes);
    case "flip":
      return step.axes === null ? t.flip() : t.flip(step.axes);
    case "as_strided":
      return t.asStrided(step.shape, step.strides, step.offset - t.offset);
  }
}

export const inputOf = (input: TensorInput): Tensor => input.views.reduce(applyView, sourceOf(input));

function named<T>(table: Readonly<Record<string, T>>, name: string): T {
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  if (found === undefined) throw new Error(`the adapter has no row for ${name}`);
  return found;
}

/** The result against the expected tensor; where an error is expected, computing must throw (see `runCase`). */
const against = (result: Tensor, c: Case<unknown, unknown>): string | null =>
  compareTensor(result, c.expected as Expected, c.check);

/* Functions by NumPy's name ------------------------------------------------------------------------------ */

const unary: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  square: (x) => s.square(x),
  neg: (x) => s.neg(x),
  exp: (x) => s.exp(x),
  trunc: (x) => s.trunc(x),
  reciprocal: (x) => s.reciprocal(x),
  isnan: (x) => s.isnan(x),
  bitwise_not: (x) => s.bitwiseNot(x),
  round_half_even: (x) => s.round(x),
  relu: (x) => s.relu(x),
  cos: (x) => s.cos(x),
  sigmoid: (x) => s.sigmoid(x),
  isfinite: (x) => s.isfinite(x),
  sign: (x) => s.sign(x),
  tanh: (x) => s.tanh(x),
  signbit: (x) => s.signbit(x),
  floor: (x) => s.floor(x),
  abs: (x) => s.abs(x),
  log: (x) => s.log(x),
  sqrt: (x) => s.sqrt(x),
  logical_not: (x) => s.logicalNot(x),
  ceil: (x) => s.ceil(x),
  sin: (x) => s.sin(x),
};

const binary: Readonly<Record<string, (a: Tensor, b: Tensor) => Tensor>> = {
  add: (a, b) => s.add(a, b),
  sub: (a, b) => s.sub(a, b),
  mul: (a, b) => s.mul(a, b),
  div: (a, b) => s.div(a, b),
  pow: (a, b) => s.pow(a, b),
  atan2: (a, b) => s.atan2(a, b),
  copysign: (a, b) => s.copysign(a, b),
  maximum: (a, b) => s.maximum(a, b),
  minimum: (a, b) => s.minimum(a, b),
  mod_floor: (a, b) => s.remainder(a, b),
  floor_divide: (a, b) => s.floorDivide(a, b),
  bitand: (a, b) => s.bitwiseAnd(a, b),
  bitor: (a, b) => s.bitwiseOr(a, b),
  bitxor: (a, b) => s.bitwiseXor(a, b),
  logical_and: (a, b) => s.logicalAnd(a, b),
  logical_or: (a, b) => s.logicalOr(a, b),
  eq: (a, b) => s.equal(a, b),
  ne: (a, b) => s.notEqual(a, b),
  lt: (a, b) => s.less(a, b),
  le: (a, b) => s.lessEqual(a, b),
  gt: (a, b) => s.greater(a, b),
  ge: (a, b) => s.greaterEqual(a, b),
};

interface ReduceParams {
  readonly fn: string;
  readonly axes: readonly number[] | null;
  readonly keepdims: boolean;
  readonly dtype?: DType;
}

const reductions: Readonly<Record<string, (t: Tensor, o: s.SumOptions) => Tensor>> = {
  sum: s.sum,
  prod: s.prod,
  max: s.max,
  min: s.min,
  any: s.any,
  all: s.all,
  mean: s.mean,
  count_nonzero: s.countNonzero,
  argmax: (t, o) => s.argmax(t, oneAxis(o)),
  argmin: (t, o) => s.argmin(t, oneAxis(o)),
};

function oneAxis({ axis, keepdims }: s.SumOptions): s.ArgOptions {
  const keep = { keepdims: keepdims ?? false };
  return axis === undefined ? keep : { ...keep, axis: typeof axis === "number" ? axis : axis[0] };
}

/* The documents' expressions, as kernels ------------------------------------------------------------------- */

/** minitorch's test expressions: the text in the case, and the same thing as a function. Truths are 1 and 0 there. */
const expressions: Readonly<Record<string, readonly [text: string, kernel: s.Kernel]>> = {
  eq2: ["a==(b+5.5)", s.kernel((a: number, b: number) => a === b + 5.5).as("f64")],
  gt2: ["(a+1.2)>b", s.kernel((a: number, b: number) => a + 1.2 > b).as("f64")],
  lt2: ["(a+1.2)<b", s.kernel((a: number, b: number) => a + 1.2 < b).as("f64")],
  mul2: ["a*b", s.kernel((a: number, b: number) => a * b)],
  div2: ["a/(b+5.5)", s.kernel((a: number, b: number) => a / (b + 5.5))],
  add2: ["a+b", s.kernel((a: number, b: number) => a + b)],
  cube: ["x*x*x", s.kernel((x: number) => x * x * x)],
  neg: ["-x", s.kernel((x: number) => -x)],
  relu: ["relu(x+5.5)", s.kernel((x: number) => Math.max(x + 5.5, 0))],
  log: ["log(x+100000)", s.kernel((x: number) => Math.log(x + 100000))],
  exp: ["exp(x-200)", s.kernel((x: number) => Math.exp(x - 200))],
  multConstant: ["5*x", s.kernel((x: number) => 5 * x)],
  sig: ["sigmoid(x)", s.kernel((x: number) => 1 / (1 + Math.exp(-x)))],
  square: ["x*x", s.kernel((x: number) => x * x)],
  inv: ["1/(x+3.5)", s.kernel((x: number) => 1 / (x + 3.5))],
  explog: ["log(x+100000)+exp(x-200)", s.kernel((x: number) => Math.log(x + 100000) + Math.exp(x - 200))],
  div: ["x/5", s.kernel((x: number) => x / 5)],
  subConstant: ["x-5", s.kernel((x: number) => x - 5)],
  addConstant: ["5+x", s.kernel((x: number) => 5 + x)],
  complex: [
    "log(sigmoid(relu(relu(x*10+7)*6+5)*10))/50",
    s.kernel((x: number) => {
      const inner = Math.max(Math.max(x * 10 + 7, 0) * 6 + 5, 0) * 10;
      return Math.log(1 / (1 + Math.exp(-inner))) / 50;
    }),
  ],
};

/* Strided copies of bytes ----------------------------------------------------------------------------------- */

interface CopySide {
  readonly type: DType;
  readonly ne: readonly number[];
  readonly nb: readonly number[];
  readonly offset: number;
  readonly bytes: number;
}
interface CopySource extends CopySide {
  readonly gen: { readonly rule: "mix150"; readonly seed: number };
}
interface CopyExpected {
  readonly dst_sha256: string;
  readonly dst_hex?: string;
  readonly dst_bytes: number;
  readonly samples: readonly (readonly [ordinal: number, byteOffset: number, value: Coded])[];
}

function mix(i: number, seed: number): number {
  let x = (Math.imul(i, 2654435761) + ((seed * 40503 + 12345) % 2 ** 32)) >>> 0;
  x = (x ^ (x >>> 15)) >>> 0;
  x = Math.imul(x, 2246822519) >>> 0;
  return (x ^ (x >>> 13)) >>> 0;
}

/** Element k of the typed buffer: floats in -150 … 150, integers within ±150 (±100 for i8). */
function mix150(k: number, seed: number, dtype: DType): number {
  const x = mix(k, seed);
  if (dtype.startsWith("f") || dtype === "bf16") return Math.fround(-150 + (300 * x) / 2 ** 32);
  const limit = dtype === "i8" ? 100 : 150;
  return (x % (2 * limit + 1)) - limit;
}

const itemBytes = (dtype: DType): number =>
  dtype === "bf16" ? 2 : dtype === "bool" ? 1 : +dtype.slice(1) / 8;

function sourceBytes(side: CopySource): Uint8Array {
  const count = Math.floor(side.bytes / itemBytes(side.type));
  const values = Array.from({ length: count }, (_, k) => mix150(k, side.gen.seed, side.type));
  const { data } = tensor(values, { dtype: side.type });
  const bytes = new Uint8Array(side.bytes);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return bytes;
}

/** The destination's storage holds a window of the foreign buffer: back to where it came from. */
function writeBack(dst: Tensor, side: CopySide, buffer: Uint8Array): void {
  const { heap, address, bytes } = stridedOf(dst).storage;
  buffer.set(heap.u8.subarray(address, address + bytes), side.offset - dst.byteOffset);
}

function runCopy(
  c: Case<CopySource, { readonly dst: CopySide & { readonly fill: number } }, CopyExpected>,
): string | null {
  const from = c.inputs[0];
  const to = c.params.dst;
  const want = c.expected as CopyExpected;
  const buffer = new Uint8Array(to.bytes).fill(to.fill);
  const src = fromGgml({ ...from, data: sourceBytes(from) });
  const dst = fromGgml({ ...to, data: buffer });
  dst.assignFlat(src);
  writeBack(dst, to, buffer);
  const flat = dst.reshape(-1);
  for (const [ordinal, byteOffset, value] of want.samples) {
    const got = flat.get(ordinal);
    if (!Object.is(got, decode(value, to.type)))
      return `element ${ordinal} at byte ${byteOffset} is ${got}, expected ${value}`;
  }
  if (want.dst_hex !== undefined && hexOf(buffer) !== want.dst_hex)
    return `bytes ${hexOf(buffer)}, expected ${want.dst_hex}`;
  if (buffer.length !== want.dst_bytes) return `${buffer.length} bytes, expected ${want.dst_bytes}`;
  const hash = sha256(buffer);
  return hash === want.dst_sha256 ? null : `sha256 ${hash}, expected ${want.dst_sha256}`;
}

/* The documents' raw kernels ---------------------------------------------------------------------------------- */

interface RawInput {
  readonly storage: readonly Coded[];
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}
interface RawParams {
  readonly fn: string;
  readonly dim: number;
  readonly out: {
    readonly len: number;
    readonly fill: Coded;
    readonly shape: readonly number[];
    readonly strides: readonly number[];
    readonly offset: number;
  };
}
type RawCase = Case<RawInput, RawParams, { readonly out_storage: readonly Coded[] }>;

const rawUnary: Readonly<Record<string, (x: number) => number>> = {
  add100: (x) => x + 100,
  neg: (x) => -x,
  square: (x) => x * x,
};
const rawBinary: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  mul: (a, b) => a * b,
  max: (a, b) => Math.max(a, b),
};

function raw(
  run: (out: Raw, inputs: readonly Raw[], params: RawParams) => void,
): (c: RawCase) => string | null {
  return (c) => {
    const { len, fill, ...layout } = c.params.out;
    const out = { ...layout, storage: new Float64Array(len).fill(Number(fill)) };
    run(
      out,
      c.inputs.map((t) => ({ ...t, storage: Float64Array.from(t.storage, Number) })),
      c.params,
    );
    const want = (c.expected as { readonly out_storage: readonly Coded[] }).out_storage.map(Number);
    return compareValues([...out.storage], want, c.check);
  };
}

/* Index arithmetic ---------------------------------------------------------------------------------------------- */

interface LayoutParams {
  readonly shape: readonly number[];
  readonly shapes: readonly (readonly number[])[];
  readonly strides: readonly number[];
  readonly index: readonly number[];
  readonly perm: readonly number[];
  readonly ordinal: number;
}
interface LayoutExpected {
  readonly shape: readonly number[];
  readonly strides: readonly (number | null)[];
  readonly index: readonly number[];
  readonly position: number;
  readonly min: number;
  readonly max: number;
  readonly contiguous: boolean;
}

function layout(
  answer: (p: LayoutParams) => Partial<LayoutExpected & { readonly strides: readonly number[] }>,
): (c: Case<never, LayoutParams, LayoutExpected>) => string | null {
  return (c) => {
    const want = c.expected as LayoutExpected;
    const { strides, ...rest } = answer(c.params);
    if (strides !== undefined) return compareLists("strides", strides, want.strides);
    const got = JSON.stringify(rest);
    return got === JSON.stringify(want) ? null : `${got}, expected ${JSON.stringify(want)}`;
  };
}

/* The table ------------------------------------------------------------------------------------------------------- */

interface ViewExpected extends Expected {
  readonly strides: readonly (number | null)[] | null;
  readonly offset: number | null;
  readonly is_view: boolean | null;
  readonly contiguous: boolean | null;
}

/** null: not compared (NumPy's own answer would be an accident, as for an empty view). */
function runView(c: Case<TensorInput, object, ViewExpected>): string | null {
  const want = c.expected as ViewExpected;
  const base = sourceOf(c.inputs[0]);
  const got = c.inputs[0].views.reduce(applyView, base);
  const isView = stridedOf(got).storage === stridedOf(base).storage;
  if (isView !== (want.is_view ?? isView)) return `is${isView ? "" : " not"} a view`;
  if (got.isContiguous !== (want.contiguous ?? got.isContiguous))
    return `is${got.isContiguous ? "" : " not"} contiguous`;
  if (want.offset !== null && got.offset !== want.offset)
    return `offset ${got.offset}, expected ${want.offset}`;
  const strides = want.strides === null ? null : compareLists("strides", got.strides, want.strides);
  return strides ?? compareTensor(got, want, c.check);
}

const rows = {
  view: runView,
  map: (c: Case<TensorInput, { readonly fn: string }>) =>
    against(named(unary, c.params.fn)(inputOf(c.inputs[0])), c),
  zip: (c: Case<TensorInput, { readonly fn: string }>) =>
    against(named(binary, c.params.fn)(inputOf(c.inputs[0]), inputOf(c.inputs[1])), c),
  reduce: (c: Case<TensorInput, ReduceParams>) => {
    const { fn, axes, keepdims, dtype } = c.params;
    const options = {
      keepdims,
      ...(axes === null ? {} : { axis: axes }),
      ...(dtype === undefined ? {} : { dtype }),
    };
    return against(named(reductions, fn)(inputOf(c.inputs[0]), options), c);
  },
  scan: (c: Case<TensorInput, { readonly fn: string; readonly axis: number; readonly dtype: DType }>) => {
    const { fn, axis, dtype } = c.params;
    const scans = { cumsum: s.cumsum, cumprod: s.cumprod };
    return against(named(scans, fn)(inputOf(c.inputs[0]), { axis, dtype }), c);
  },
  matmul: (c: Case) => against(s.matmul(inputOf(c.inputs[0]), inputOf(c.inputs[1])), c),
  cast: (c: Case<TensorInput, { readonly to: DType }>) => against(inputOf(c.inputs[0]).to(c.params.to), c),
  copy: runCopy,
  expr: (c: Case<TensorInput, { readonly name: string; readonly expr: string }>) => {
    const [text, run] = named(expressions, c.params.name);
    if (text !== c.params.expr) return `the adapter computes ${text}, the case wants ${c.params.expr}`;
    return against(run(...c.inputs.map(inputOf)), c);
  },
  reshape_strict: (c: Case<TensorInput, { readonly shape: readonly number[] }>) =>
    against(inputOf(c.inputs[0]).view(c.params.shape), c),
  raw_map: raw((out, [a], { fn }) => s.rawMap(named(rawUnary, fn), out, a)),
  raw_zip: raw((out, [a, b], { fn }) => s.rawZip(named(rawBinary, fn), out, a, b)),
  raw_reduce: raw((out, [a], { fn, dim }) => s.rawReduce(named(rawBinary, fn), out, a, dim)),
  raw_matmul: raw((out, [a, b]) => s.rawMatmul(out, a, b)),
  strides_from_shape: layout((p) => ({ strides: rowMajorStrides(p.shape) })),
  unravel: layout((p) => ({ index: unravel(p.ordinal, p.shape) })),
  index_to_position: layout((p) => {
    const index = p.index.map((i, d) => normalizeIndex("get", i, p.shape[d], d));
    return { position: positionOf(index, p.strides) };
  }),
  broadcast_shapes: layout((p) => ({ shape: broadcastShapes("zip", p.shapes) })),
  permute_position: layout((p) => {
    const view = permute(contiguousView(p.shape, 1), p.perm);
    return { position: positionOf(p.index, view.strides, view.offset) };
  }),
  extent: layout((p) => extentOf(p.shape, p.strides) ?? {}),
  is_contiguous: layout((p) => ({
    contiguous: isContiguous({ shape: p.shape, strides: p.strides, offset: 0, itemBytes: 1 }),
  })),
} as const;

/** null when the case passes, else what differs. A case that expects an error must raise a TensorError. */
export function runCase(c: Case<unknown, unknown, unknown>): string | null {
  const wantsError = typeof c.expected === "object" && c.expected !== null && "error" in c.expected;
  try {
    // Each row states what its cases hold; the files are checked by running them.
    const difference = s.scope(() =>
      (named(rows, c.op) as unknown as Adapter)(c as Case<never, never, never>),
    );
    return wantsError ? "no error" : difference;
  } catch (error) {
    if (wantsError && error instanceof s.TensorError && error.code !== "internal") return null;
    return `threw ${error}`;
  }
}
