/** Random chains of operations: fused they give what they give one by one, to the bit, and refuse what those refuse. */
import fc from "fast-check";
import { type DType, dtypeNames, dtypes } from "../../src/dtype.ts";
import * as lib from "../../src/index.ts";
import { fuse, scope, type Tensor, TensorError } from "../../src/index.ts";
import { family } from "./family.ts";
import { anyLay, type Fill, filled, type Lay, placed, viewOf } from "./memory.ts";

interface Step {
  readonly op: string;
  /** Which values it takes, counted from the last one. */
  readonly of: readonly number[];
  readonly pick: number;
}

export interface FuseCase {
  readonly shape: readonly number[];
  readonly dtypes: readonly DType[];
  readonly lays: readonly Lay[];
  readonly fill: Fill;
  readonly seed: number;
  readonly steps: readonly Step[];
  /** How many of the last values are returned. */
  readonly results: number;
}

type Op = (pick: number, a: Tensor, b: Tensor, c: Tensor) => Tensor;
type Named = Record<string, (...args: unknown[]) => Tensor>;
const library = lib as unknown as Named;

const words = (text: string) => text.trim().split(/\s+/);
const unary = words(
  `neg abs sign square reciprocal relu sigmoid sqrt exp log sin cos tanh floor ceil trunc round isnan isfinite
  logicalNot bitwiseNot expm1 log1p cbrt positive sinc deg2rad`,
);
const binary = words(
  `add sub mul div remainder floorDivide maximum minimum equal notEqual less lessEqual greater greaterEqual logicalAnd
  logicalOr bitwiseAnd bitwiseOr bitwiseXor pow atan2 hypot fmax fmin fmod heaviside leftShift rightShift logaddexp`,
);
const folds = words("sum mean max min prod any all countNonzero");
const scalars = [2, 0.5, -1, 3, 1e-3, true, 0];
const numbers = ["add", "sub", "mul", "div", "maximum", "less", "remainder", "pow"];

function axesOf(pick: number, rank: number): { axis?: number | number[]; keepdims: boolean } {
  const keepdims = (pick & 1) === 1;
  const how = (pick >> 1) % 3;
  if (how === 0 || rank === 0) return { keepdims };
  if (how === 1) return { axis: ((pick >> 3) % rank) - (pick & 64 ? rank : 0), keepdims };
  return { axis: Array.from({ length: rank }, (_, d) => d).filter((d) => (pick >> (3 + d)) & 1), keepdims };
}

const ops: Readonly<Record<string, Op>> = {
  ...Object.fromEntries(unary.map((name) => [name, ((_, a) => library[name](a)) satisfies Op])),
  ...Object.fromEntries(binary.map((name) => [name, ((_, a, b) => library[name](a, b)) satisfies Op])),
  ...Object.fromEntries(
    folds.map((name) => [name, ((pick, a) => library[name](a, axesOf(pick, a.rank))) satisfies Op]),
  ),
  ...Object.fromEntries(
    numbers.map((name) => [
      `${name} a number`,
      ((pick, a) => library[name](a, scalars[pick % scalars.length])) satisfies Op,
    ]),
  ),
  where: (_, a, b, c) => lib.where(a, b, c),
  clip: (pick, a, b) => (pick & 1 ? lib.clip(a, b, 5) : lib.clip(a, -1, 2)),
  to: (pick, a) => a.to(dtypeNames[pick % dtypeNames.length]),
  "add as": (pick, a, b) => a.add(b, { dtype: dtypeNames[pick % dtypeNames.length] }),
  "sum as": (pick, a) => a.sum({ ...axesOf(pick, a.rank), dtype: dtypeNames[pick % dtypeNames.length] }),
  map: (_, a) => a.map((x) => (x > 1 ? x * 2 : x + 1)),
  zip: (_, a, b) => lib.zip([a, b], (x: number, y: number) => Math.max(x, y) - y),
  "several of one": (pick, a, b) =>
    (lib.kernel((x: number, y: number) => [x + y, x * y]) as (...t: Tensor[]) => Tensor[])(a, b)[pick & 1],
  mapReduce: (pick, a, b) =>
    lib.mapReduce([a, b], (x: number, y: number) => x * y, { axis: axesOf(pick, 1).axis ?? 0 }),
  reduce: (pick, a) => a.reduce((acc, x) => acc * 0.5 + x, { ...axesOf(pick, a.rank), init: 1 }),
  transpose: (_, a) => a.T,
  steps: (pick, a) => (a.rank === 0 ? a : a.slice(pick & 1 ? "::-1" : pick & 2 ? "1:" : "::2")),
  flip: (_, a) => a.flip(),
  grown: (pick, a) => a.expandDims(pick % (a.rank + 1)),
  repeated: (_, a) => (a.rank < 4 ? a.broadcastTo([2, ...a.shape]) : a),
  flat: (_, a) => a.reshape([-1]),
  windows: (_, a) => (a.rank > 0 && a.rank < 4 && a.shape[0] > 1 ? a.slidingWindow(2, 0) : a),
  copy: (_, a) => a.clone(),
  softmax: (_, a) => lib.softmax(a),
  logsumexp: (pick, a) => lib.logsumexp(a, axesOf(pick, a.rank)),
  var: (pick, a) => a.var(axesOf(pick, a.rank)),
  argmax: (_, a) => a.argmax(),
  cumsum: (_, a) => (a.rank === 0 ? a : a.cumsum({ axis: 0 })),
  matmul: (_, a) => (a.rank === 2 ? a.matmul(a.T) : a),
};
const names = Object.keys(ops);
const plain = [...unary, ...binary, ...numbers.map((n) => `${n} a number`), "where", "to"];

const sizes = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(1, 2, 3, 4, 5, 8, 17, 33) },
  { weight: 1, arbitrary: fc.constantFrom(0, 70) },
);
const shapes = fc.oneof(
  { weight: 30, arbitrary: fc.array(sizes, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom([9001], [2, 8200], [300, 40], [40, 300]) },
);
const floats: readonly DType[] = ["f32", "f64", "f16", "bf16"];

export const fuseCases: fc.Arbitrary<FuseCase> = fc.record({
  shape: shapes,
  dtypes: fc.array(fc.oneof(fc.constantFrom(...dtypeNames), fc.constantFrom(...floats)), {
    minLength: 3,
    maxLength: 3,
  }),
  lays: fc.array(anyLay, { minLength: 3, maxLength: 3 }),
  fill: fc.constantFrom<Fill>("whole", "unit", "any"),
  seed: fc.nat(2 ** 30),
  steps: fc.array(
    fc.record({
      op: fc.oneof(fc.constantFrom(...plain), fc.constantFrom(...names), fc.constantFrom(...folds)),
      of: fc.tuple(fc.constantFrom(0, 0, 0, 1, 2), fc.nat(4), fc.nat(4)),
      pick: fc.nat(1000),
    }),
    { minLength: 1, maxLength: 7 },
  ),
  results: fc.constantFrom(1, 1, 2, 3),
});

/** The chain of a case; a step that is refused is left out, so that what comes after it is tried too. */
function chain({ steps, results }: FuseCase, refused: string[]) {
  return (...given: Tensor[]): Tensor[] => {
    const values = [...given].reverse();
    steps.forEach(({ op, of, pick }) => {
      const at = (k: number) => values[values.length - 1 - (of[k] % values.length)];
      try {
        const [a, b, c] = [at(0), at(1), at(2)];
        // Shapes that grow with every step say nothing new.
        if (Math.max(a.size, b.size, c.size) > 40000) return;
        values.push(ops[op](pick, a, b, c));
      } catch (error) {
        if (!(error instanceof TensorError)) throw error;
        refused.push(error.message);
      }
    });
    return values.slice(-results);
  };
}

interface Piece {
  readonly dtype: DType;
  readonly shape: string;
  readonly elements: readonly unknown[];
}

function pieces(tensors: readonly Tensor[]): Piece[] {
  return tensors.map((t) => {
    const { buffer, byteOffset, byteLength } = t.toTypedArray() as Float32Array;
    const view = new DataView(buffer, byteOffset, byteLength);
    const { bytes, read } = dtypes[t.dtype];
    const elements = Array.from({ length: t.size }, (_, i) => read(view, i * bytes));
    return { dtype: t.dtype, shape: t.shape.join(), elements };
  });
}

function expectSame(a: readonly Piece[], b: readonly Piece[], what: string): void {
  a.forEach((x, k) => {
    const y = b[k];
    if (x.dtype !== y.dtype || x.shape !== y.shape)
      throw new Error(`${what} ${k} is ${x.dtype} [${x.shape}], not ${y.dtype} [${y.shape}]`);
    const i = x.elements.findIndex((e, at) => !Object.is(e, y.elements[at]));
    if (i >= 0)
      throw new Error(
        `${what} ${k}, ${x.dtype} [${x.shape}]: ${x.elements[i]}, not ${y.elements[i]}, at ${i}`,
      );
  });
}

function compare(c: FuseCase): boolean {
  return scope(() => {
    const args = c.dtypes.map((dtype, k) => {
      const mask = c.seed >> (4 * k);
      // The others broadcast with the first.
      const shape =
        k === 0 ? c.shape : c.shape.map((n, d) => ((mask >> d) & 1 ? 1 : n)).slice(mask & 8 ? 1 : 0);
      const p = placed(shape, c.lays[k]);
      return viewOf(filled(dtype, p.room, c.fill, c.seed + k), p);
    });
    const [alone, together]: [string[], string[]] = [[], []];
    const want = pieces(chain(c, alone)(...args));
    const fused = fuse(chain(c, together));
    const got = pieces(fused(...args));
    if (alone.join("\n") !== together.join("\n"))
      throw new Error(`refused are\n${together.join("\n")}\nand one by one\n${alone.join("\n")}`);
    expectSame(got, want, "result");
    // The trace, on tensors that lie elsewhere; and into outputs.
    expectSame(pieces(fused(...args.map((t) => t.slice("...")))), want, "the second result");
    const outs = want.map(({ dtype, shape }) =>
      lib.zeros(shape === "" ? [] : shape.split(",").map(Number), { dtype }),
    );
    fused.into(outs, ...args);
    expectSame(pieces(outs), want, "output");
    return alone.length < c.steps.length;
  });
}

export const fused = family<FuseCase>({
  name: "fuse",
  law: "chains of operations give fused what they give one by one, to the bit",
  cases: fuseCases,
  check: compare,
  gate: 300,
});
