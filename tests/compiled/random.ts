/** Random kernels (as source text), dtypes and layouts, for comparing one way of computing with another. */
import fc from "fast-check";
import { type DType, dtypeNames, dtypes, isFloat, type Value } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { TensorError } from "../../src/errors.ts";
import { paramKind, paramValue, specialize } from "../../src/frontend/infer.ts";
import { isRefusal, lowerFunction } from "../../src/frontend/lower.ts";
import type { Program } from "../../src/ir/node.ts";
import { createStorage } from "../../src/memory/storage.ts";
import type { Strided } from "../../src/run/call.ts";
import type { View } from "../../src/view/view.ts";

export interface Grammar {
  readonly binary: readonly string[];
  readonly unary: readonly string[];
  readonly math1: readonly string[];
  readonly math2: readonly string[];
}

/** Operations whose result is one exact value (** on integers only): every way of computing them must agree to the bit. */
export const exact: Grammar = {
  binary: "+ - * / % ** & | ^ << >> >>> == != < <= > >= && ||".split(" "),
  unary: ["-", "+", "~", "!"],
  math1: "abs ceil clz32 floor fround round sign sqrt trunc".split(" "),
  math2: ["imul", "max", "min"],
};

const literal = fc.constantFrom("0", "1", "2", "(-1)", "0.5", "3", "31", "7", "100");

/** Expressions over these names; every piece is in parentheses. */
export function expressions(
  g: Grammar,
  names: readonly string[] = ["x", "y", "k"],
  maxDepth = 4,
): fc.Arbitrary<string> {
  return fc.letrec<{ e: string }>((tie) => ({
    e: fc.oneof(
      { maxDepth, depthSize: "small" },
      fc.constantFrom(...names),
      literal,
      fc.tuple(tie("e"), fc.constantFrom(...g.binary), tie("e")).map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc.tuple(fc.constantFrom(...g.unary), tie("e")).map(([op, a]) => `(${op} ${a})`),
      fc.tuple(fc.constantFrom(...g.math1), tie("e")).map(([f, a]) => `Math.${f}(${a})`),
      fc.tuple(fc.constantFrom(...g.math2), tie("e"), tie("e")).map(([f, a, b]) => `Math.${f}(${a}, ${b})`),
      fc.tuple(tie("e"), tie("e"), tie("e")).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
    ),
  })).e;
}

export const dtype: fc.Arbitrary<DType> = fc.constantFrom(...dtypeNames);

const awkwardFloats = [
  0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 127, 128, 255, 256, -129, 65504, 65519.9, 65520, 1e-8,
];
const moreFloats = [
  2 ** 31,
  -(2 ** 31),
  2 ** 32,
  3e9,
  1e20,
  -1e20,
  1e38,
  1e300,
  5e-324,
  1e-45,
  NaN,
  Infinity,
  -Infinity,
];

/** A value of the dtype: often an awkward one. */
export function elementOf(d: DType): fc.Arbitrary<Value> {
  const row = dtypes[d];
  if (d === "bool") return fc.constantFrom(0, 1);
  if (row.kind === "float") {
    return fc
      .oneof(
        fc.constantFrom(...awkwardFloats, ...moreFloats),
        fc.double({ min: -100, max: 100, noNaN: true }),
        fc.integer({ min: -50, max: 50 }),
        fc.double(),
      )
      .map((x) => row.wrap(x));
  }
  if (row.big) {
    return fc.oneof(
      fc.constantFrom(row.min, row.max, 0n, 1n, 2n, 3n, 2n ** 53n + 1n, 2n ** 62n),
      fc.bigInt({ min: row.min as bigint, max: row.max as bigint }),
      fc.bigInt({ min: 0n, max: 100n }),
    );
  }
  return fc.oneof(
    fc.constantFrom(row.min, row.max, 0, 1, 2, 3, 7),
    fc.integer({ min: row.min as number, max: row.max as number }),
    fc.integer({ min: 0, max: 100 }),
  );
}

/** `repeated`: contiguous, and the same in every row. */
export type Axis = "contiguous" | "broadcast" | "strided" | "reversed" | "wide" | "repeated";
export const axis: fc.Arbitrary<Axis> = fc.constantFrom(
  "contiguous",
  "broadcast",
  "strided",
  "reversed",
  "wide",
  "repeated",
);

/** A tensor of (rows, columns) whose columns are laid out as asked, holding the values given, repeated. */
export function lay(
  d: DType,
  shape: readonly [rows: number, columns: number],
  columns: Axis,
  values: readonly Value[],
  misalign = 0,
): Strided {
  const { bytes, write } = dtypes[d];
  const [m, n] = shape;
  const step = { contiguous: 1, broadcast: 0, strided: 2, reversed: -1, wide: 3, repeated: 1 }[columns];
  const width = Math.max(1, Math.abs(step) * Math.max(n, 1));
  const total = Math.max(1, width * m) * bytes + misalign;
  const storage = createStorage(engine().heap, total, "test");
  const memory = engine().heap.view;
  engine().heap.u8.fill(0, storage.address, storage.address + total);
  for (let i = 0; i * bytes + bytes <= total - misalign; i++) {
    write(memory, storage.address + misalign + i * bytes, values[i % values.length]);
  }
  const offset = misalign + (step < 0 ? (n - 1) * bytes : 0);
  const frame: View = {
    shape: [...shape],
    strides: [columns === "repeated" ? 0 : width * bytes, step * bytes],
    offset: Math.max(offset, 0),
    itemBytes: bytes,
  };
  return { dtype: d, storage, frame, readOnly: false };
}

/**
 * A kernel of x and y that captured k, with its captured values; `dtype` is the result's. null where it is refused for
 * its dtypes (a literal that does not fit, a mix that has no meaning), and where it has a power of floats, which is no
 * exact operation (of integers it is one).
 */
export function exactProgram(
  source: string,
  k: number | boolean,
  types: readonly DType[],
  dtype?: DType,
): { program: Program; params: Value[] } | null {
  const template = lowerFunction(source, { k });
  if (isRefusal(template)) return null;
  try {
    const kinds = template.params.map(() => paramKind(k));
    const options = dtype === undefined ? {} : { dtype };
    const program = specialize({ ...template, inputs: 2 }, types, kinds, options);
    if (program.nodes.some((node) => node.op === "pow" && isFloat(node.dtype))) return null;
    return { program, params: template.params.map((_, i) => paramValue(k, program.params[i])) };
  } catch (error) {
    if (error instanceof TensorError && error.code === "dtype") return null;
    throw error;
  }
}
