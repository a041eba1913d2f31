/**
 * Random tensors that are already permuted, flipped, stepped, padded, broadcast or empty, each with the values it must
 * hold. The model beside a tensor is a shape and its elements in C order: it has no strides and shares no code with
 * the library.
 */
import fc from "fast-check";
import { type DType, type Tensor, tensor } from "../src/index.ts";

export type Scalar = number | bigint | boolean;

export interface Model {
  readonly shape: readonly number[];
  /** In C order. */
  readonly values: readonly Scalar[];
}

/* Models ------------------------------------------------------------------------------------------------- */

export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** Every index of a shape, in C order. */
export function indices(shape: readonly number[]): number[][] {
  let all: number[][] = [[]];
  for (const n of shape) all = all.flatMap((head) => Array.from({ length: n }, (_, i) => [...head, i]));
  return all;
}

/** Where an index lies in C order. */
export function ordinal(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((at, i, d) => at * shape[d] + i, 0);
}

/** The model of `shape` whose element at `index` is m's element at `source(index)`. */
export function gather(
  m: Model,
  shape: readonly number[],
  source: (index: readonly number[]) => readonly number[],
): Model {
  return { shape, values: indices(shape).map((index) => m.values[ordinal(source(index), m.shape)]) };
}

/** What an operand of m's shape reads at an index of a broadcast result. */
export function readAt(m: Model, index: readonly number[]): Scalar {
  const own = index.slice(index.length - m.shape.length);
  return m.values[
    ordinal(
      own.map((i, d) => (m.shape[d] === 1 ? 0 : i)),
      m.shape,
    )
  ];
}

/** As toArray gives it. */
export function nested(m: Model): unknown {
  const level = (d: number, at: number): unknown =>
    d === m.shape.length
      ? m.values[at]
      : Array.from({ length: m.shape[d] }, (_, i) => level(d + 1, at * m.shape[d] + i));
  return level(0, 0);
}

/** Python's slice of `size` elements, by walking. */
export function rangeOf(size: number, start: number | null, stop: number | null, step: number): number[] {
  const wrap = (x: number) => (x < 0 ? x + size : x);
  const found: number[] = [];
  if (step > 0) {
    const first = start === null ? 0 : Math.max(wrap(start), 0);
    const end = stop === null ? size : Math.min(wrap(stop), size);
    for (let i = first; i < end; i += step) found.push(i);
  } else {
    const first = start === null ? size - 1 : Math.min(wrap(start), size - 1);
    const end = stop === null ? -1 : Math.max(wrap(stop), -1);
    for (let i = first; i > end; i += step) found.push(i);
  }
  return found;
}

/* Values ------------------------------------------------------------------------------------------------- */

const integers = (min: number, max: number) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: Math.max(min, -9), max: Math.min(max, 9) }) },
    fc.constantFrom(min, max),
    fc.integer({ min, max }),
  );
const bigs = (min: bigint, max: bigint) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.bigInt({ min: min < -9n ? -9n : min, max: 9n }) },
    fc.constantFrom(min, max),
    fc.bigInt({ min, max }),
  );
/** Numbers that every float dtype holds exactly, and the special ones. */
const floats = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -64, max: 64 }).map((x) => x / 4) },
  fc.constantFrom(0, -0, Infinity, -Infinity, NaN),
);

/** Any value of the dtype; floats are such that narrower floats hold them too. */
export const valuesOf: { readonly [D in DType]: fc.Arbitrary<Scalar> } = {
  bool: fc.boolean(),
  u8: integers(0, 255),
  i8: integers(-128, 127),
  u16: integers(0, 65535),
  i16: integers(-32768, 32767),
  u32: integers(0, 2 ** 32 - 1),
  i32: integers(-(2 ** 31), 2 ** 31 - 1),
  u64: bigs(0n, 2n ** 64n - 1n),
  i64: bigs(-(2n ** 63n), 2n ** 63n - 1n),
  f16: floats,
  bf16: floats,
  f32: floats,
  f64: floats,
};

/** Small whole numbers (or bigints, or booleans): arithmetic on a few of them is exact in any dtype that is signed. */
export function smallOf(dtype: DType): fc.Arbitrary<Scalar> {
  if (dtype === "bool") return fc.boolean();
  const min = dtype.startsWith("u") ? 0 : -9;
  if (dtype === "i64" || dtype === "u64") return fc.bigInt({ min: BigInt(min), max: 9n });
  return fc.integer({ min, max: 9 });
}

/* Tensors of a given shape, in any layout ------------------------------------------------------------------- */

export interface Strided extends Model {
  readonly dtype: DType;
  /** A new tensor of these values, laid out as drawn. */
  readonly make: () => Tensor;
}

interface Axis {
  /** Repeats one element (stride 0). */
  readonly broadcast: boolean;
  readonly step: number;
  /** Elements of the base before the first. */
  readonly before: number;
  readonly flip: boolean;
}

const axes: fc.Arbitrary<Axis> = fc.record({
  broadcast: fc.boolean().chain((x) => (x ? fc.boolean() : fc.constant(false))),
  step: fc.integer({ min: 1, max: 3 }),
  before: fc.integer({ min: 0, max: 2 }),
  flip: fc.boolean(),
});

export interface StridedOptions {
  readonly dtype?: DType;
  readonly shape?: readonly number[];
  readonly values?: fc.Arbitrary<Scalar>;
  /** Default true. */
  readonly broadcast?: boolean;
}

export const shapes: fc.Arbitrary<readonly number[]> = fc.array(
  fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.constant(0)),
  { maxLength: 4 },
);

/** A tensor of any layout as plain data; `laidOut` makes it. */
export interface Drawn extends Model {
  readonly dtype: DType;
  readonly axes: readonly Axis[];
  /** The axes as they lie in memory, the outermost first. */
  readonly order: readonly number[];
  readonly garbage: Scalar;
}

/** Without options: any dtype, up to 4 axes, sizes 0 … 4. */
export function drawnTensor(options: StridedOptions = {}): fc.Arbitrary<Drawn> {
  const dtypes = options.dtype === undefined ? fc.constantFrom(...anyDType) : fc.constant(options.dtype);
  const someShape = options.shape === undefined ? shapes : fc.constant(options.shape);
  return fc.tuple(dtypes, someShape).chain(([dtype, shape]) =>
    fc
      .record({
        values: fc.array(options.values ?? valuesOf[dtype], {
          minLength: sizeOf(shape),
          maxLength: sizeOf(shape),
        }),
        garbage: options.values ?? valuesOf[dtype],
        axes: fc.array(axes, { minLength: shape.length, maxLength: shape.length }),
        order: fc.shuffledSubarray(
          shape.map((_, d) => d),
          { minLength: shape.length },
        ),
      })
      .map((drawn) => ({
        ...drawn,
        dtype,
        shape,
        axes: drawn.axes.map((axis) => ({
          ...axis,
          broadcast: axis.broadcast && options.broadcast !== false,
        })),
      })),
  );
}

/** A tensor of any layout and what it must hold. */
export const stridedTensor = (options: StridedOptions = {}): fc.Arbitrary<Strided> =>
  drawnTensor(options).map(laidOut);

export const anyDType = [
  "bool",
  "u8",
  "i8",
  "u16",
  "i16",
  "u32",
  "i32",
  "u64",
  "i64",
  "f16",
  "bf16",
  "f32",
  "f64",
] as const satisfies readonly DType[];

/**
 * The base has an axis for each of the tensor's, in the order `order`, with room before, between and after the
 * elements that is filled with garbage. Slicing, permuting and broadcasting the base gives the tensor.
 */
export function laidOut(drawn: Drawn): Strided {
  const { shape, dtype, axes, order, garbage } = drawn;
  const isRepeated = (d: number) => axes[d].broadcast && shape[d] > 0;
  const model = gather(drawn, shape, (index) => index.map((i, d) => (isRepeated(d) ? 0 : i)));
  const room = (d: number) => axes[d].before + axes[d].step * (isRepeated(d) ? 1 : shape[d]);
  const baseShape = order.map(room);
  const place = (d: number, i: number) =>
    axes[d].before + axes[d].step * (axes[d].flip ? shape[d] - 1 - i : i);
  const base: Scalar[] = new Array(sizeOf(baseShape)).fill(garbage);
  indices(shape).forEach((index, k) => {
    const where = order.map((d) => (isRepeated(d) ? axes[d].before : place(d, index[d])));
    base[ordinal(where, baseShape)] = model.values[k];
  });
  const make = () => {
    let t: Tensor = tensor(base, { dtype, shape: baseShape });
    const back = order.map((_, d) => order.indexOf(d));
    t = t.permute(back);
    t = t.slice(
      ...axes.map(({ before, step }, d) => [before, isRepeated(d) ? before + 1 : null, step] as const),
    );
    t = t.flip(axes.flatMap(({ flip }, d) => (flip && !isRepeated(d) ? [d] : [])));
    return axes.some((_, d) => isRepeated(d)) ? t.broadcastTo(shape) : t;
  };
  return { dtype, ...model, make };
}

/* Chains of view operations ----------------------------------------------------------------------------------- */

/** One step, on a tensor and on its model; numbers are read modulo what the shape allows. */
export type Step = readonly [kind: number, a: number, b: number, c: number];
export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.tuple(fc.nat(8), fc.nat(50), fc.nat(50), fc.nat(50)),
  { maxLength: 6 },
);

type Pair = readonly [Tensor, Model];
type Apply = (t: Tensor, m: Model, a: number, b: number, c: number) => Pair;

const without = <T>(items: readonly T[], d: number): T[] => items.filter((_, k) => k !== d);
const replaced = <T>(items: readonly T[], d: number, item: T): T[] =>
  items.map((x, k) => (k === d ? item : x));
const inserted = <T>(items: readonly T[], d: number, item: T): T[] => [
  ...items.slice(0, d),
  item,
  ...items.slice(d),
];
const whole = (rank: number): ":"[] => new Array(rank).fill(":");

const stepKinds: readonly Apply[] = [
  function permute(t, m, a) {
    const order = m.shape.map((_, d) => d);
    for (let d = 0, seed = a; d < order.length; d++, seed = Math.floor(seed / 2)) {
      order.splice(seed % (d + 1), 0, ...order.splice(d, 1));
    }
    const shape = order.map((d) => m.shape[d]);
    return [t.permute(order), gather(m, shape, (i) => order.map((_, d) => i[order.indexOf(d)]))];
  },
  function slice(t, m, a, b, c) {
    const d = a % m.shape.length;
    const n = m.shape[d];
    const start = b % 5 === 0 ? null : (b % (2 * n + 3)) - n - 1;
    const stop = c % 5 === 0 ? null : (c % (2 * n + 3)) - n - 1;
    const step = [1, 2, 3, -1, -2][(a + b + c) % 5];
    const range = rangeOf(n, start, stop, step);
    const view = t.slice(
      ...replaced<readonly [number | null, number | null, number] | ":">(whole(m.shape.length), d, [
        start,
        stop,
        step,
      ]),
    );
    return [view, gather(m, replaced(m.shape, d, range.length), (i) => replaced(i, d, range[i[d]]))];
  },
  function index(t, m, a, b) {
    const d = a % m.shape.length;
    if (m.shape[d] === 0) return [t, m];
    const at = b % m.shape[d];
    const signed = b % 2 === 0 ? at : at - m.shape[d];
    const view = t.slice(...replaced<number | ":">(whole(m.shape.length), d, signed));
    return [view, gather(m, without(m.shape, d), (i) => inserted(i, d, at))];
  },
  function flip(t, m, a) {
    const d = a % m.shape.length;
    return [t.flip(d), gather(m, m.shape, (i) => replaced(i, d, m.shape[d] - 1 - i[d]))];
  },
  function newAxis(t, m, a) {
    const d = a % (m.shape.length + 1);
    return [t.expandDims(d), gather(m, inserted(m.shape, d, 1), (i) => without(i, d))];
  },
  function broadcast(t, m, a, b) {
    const ones = m.shape.map((n) => (n === 1 ? 1 + (a % 3) : n));
    const shape = b % 3 === 0 ? [1 + (b % 2), ...ones] : ones;
    const lead = shape.length - m.shape.length;
    const source = (i: readonly number[]) => i.slice(lead).map((x, d) => (m.shape[d] === 1 ? 0 : x));
    return [t.broadcastTo(shape), gather(m, shape, source)];
  },
  function reshape(t, m, a, b) {
    const size = sizeOf(m.shape);
    const rows = size === 0 ? 1 : [1, 2, 3, 4, 6].filter((n) => size % n === 0)[a % 2];
    const shape = b % 3 === 0 || rows === undefined ? [size] : [rows, size / rows];
    const asked = b % 2 === 0 && size > 0 ? [...shape.slice(0, -1), -1] : shape;
    return [t.reshape(asked), { shape, values: m.values }];
  },
  function diagonal(t, m, a, b) {
    if (m.shape.length < 2) return [t, m];
    const axis1 = a % m.shape.length;
    const axis2 = (axis1 + 1 + (b % (m.shape.length - 1))) % m.shape.length;
    const offset = (b % 5) - 2;
    const cells = indices([m.shape[axis1], m.shape[axis2]]).filter(([i, j]) => j - i === offset);
    const rest = m.shape.map((_, d) => d).filter((d) => d !== axis1 && d !== axis2);
    const shape = [...rest.map((d) => m.shape[d]), cells.length];
    const source = (i: readonly number[]) =>
      m.shape.map((_, d) => {
        const cell = cells[i[i.length - 1]];
        return d === axis1 ? cell[0] : d === axis2 ? cell[1] : i[rest.indexOf(d)];
      });
    return [t.diagonal({ offset, axis1, axis2 }), gather(m, shape, source)];
  },
  function slidingWindow(t, m, a, b) {
    const d = a % m.shape.length;
    if (m.shape[d] === 0) return [t, m];
    const window = 1 + (b % m.shape[d]);
    const shape = [...replaced(m.shape, d, m.shape[d] - window + 1), window];
    const source = (i: readonly number[]) => replaced(i.slice(0, -1), d, i[d] + i[i.length - 1]);
    return [t.slidingWindow(window, d), gather(m, shape, source)];
  },
];

/** Kinds that name an axis leave a 0-d tensor as it is; all stay below a few hundred elements. */
export function applySteps(t: Tensor, m: Model, chain: readonly Step[]): Pair {
  let pair: Pair = [t, m];
  for (const [kind, a, b, c] of chain) {
    const { shape } = pair[1];
    const addsElements = kind === 5 || kind === 8;
    if (shape.length === 0 && kind !== 0 && kind !== 4 && kind !== 5 && kind !== 6) continue;
    if (shape.length > 6 || (addsElements && sizeOf(shape) > 200)) continue;
    pair = stepKinds[kind](...pair, a, b, c);
  }
  return pair;
}
