/** One random fold or scan, compiled and interpreted. Without a test runner: Node's and the browser's tests use it. */
import fc from "fast-check";
import { convert, type DType, dtypes, isFloat, type Value } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { evaluator } from "../../src/ir/eval.ts";
import { createStorage } from "../../src/memory/storage.ts";
import { allocate } from "../../src/ops/strided.ts";
import { makeFold } from "../../src/optimize/reduce.ts";
import type { Strided } from "../../src/run/call.ts";
import { fromStart } from "../../src/run/call.ts";
import type { View } from "../../src/view/view.ts";
import { dtype, elementOf, exact, exactProgram, expressions } from "./random.ts";

/* Layouts -------------------------------------------------------------------------------------------------------- */

export interface Layout {
  readonly shape: readonly number[];
  /** Axes from the outermost in memory to the innermost. */
  readonly order: readonly number[];
  /** Elements from one index to the next, over the dense step: 0 repeats, negative walks backwards. */
  readonly steps: readonly number[];
}

const sizes = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 2, arbitrary: fc.constantFrom(7, 8, 16, 17, 19, 37) },
);
export const layout: fc.Arbitrary<Layout> = fc.integer({ min: 1, max: 4 }).chain((rank) =>
  fc
    .record({
      shape: fc.array(sizes, { minLength: rank, maxLength: rank }),
      order: fc.shuffledSubarray(
        Array.from({ length: rank }, (_, d) => d),
        { minLength: rank, maxLength: rank },
      ),
      steps: fc.array(fc.constantFrom(1, 1, 1, 2, -1, 0), { minLength: rank, maxLength: rank }),
    })
    .filter(({ shape }) => shape.reduce((a, b) => a * b, 1) <= 3000),
);

export function place(d: DType, l: Layout, values: readonly Value[]): Strided {
  const { bytes, write } = dtypes[d];
  const strides = new Array<number>(l.shape.length);
  let step = bytes;
  let offset = 0;
  for (const axis of [...l.order].reverse()) {
    strides[axis] = step * l.steps[axis];
    if (l.steps[axis] < 0) offset += step * (l.shape[axis] - 1);
    step *= Math.max(1, l.shape[axis] * Math.max(1, Math.abs(l.steps[axis])));
  }
  const storage = createStorage(engine().heap, step, "test");
  for (let p = 0, i = 0; p + bytes <= step; p += bytes, i++) {
    write(engine().heap.view, storage.address + p, values[i % values.length]);
  }
  const frame: View = { shape: l.shape, strides, offset, itemBytes: bytes };
  return { dtype: d, storage, frame, readOnly: false };
}

const valuesOf = (d: DType) => fc.array(elementOf(d), { minLength: 5, maxLength: 31 });
export const read = (t: Strided): Value[] => {
  const { bytes, read: one } = dtypes[t.dtype];
  return Array.from({ length: t.storage.bytes / bytes }, (_, i) =>
    one(engine().heap.view, t.storage.address + i * bytes),
  );
};
/** The fold as its function says it, one element after the other. */
function interpret(
  form: "reduce" | "scan",
  s: FoldCase,
  t: Strided,
  folded: readonly boolean[],
  out: Strided,
) {
  const { program, params } = exactProgram(s.source, s.k, s.types, s.types[0])!;
  const [d, x] = s.types;
  const steps = {
    step: evaluator(program, params),
    first: ([value]: readonly Value[]) => convert(value, x, d),
    finish: ([acc]: readonly Value[]) => acc,
  };
  const work = { ...workOf(form, s, t, folded, out), fold: null };
  engine()
    .interpreter.prepareFold(work, "function", s.init, () => steps)
    .run(out, [t], []);
}

const workOf = (
  form: "reduce" | "scan",
  s: FoldCase,
  t: Strided,
  isFolded: readonly boolean[],
  out: Strided,
) => ({
  form,
  sources: [fromStart(t.frame)],
  dtypes: [t.dtype],
  isFolded,
  out: out.frame,
  init: s.init,
});

function same(s: FoldCase, got: readonly Value[], want: readonly Value[]): void {
  const at = want.findIndex((x, i) => !Object.is(x, got[i]));
  if (at < 0) return;
  const values = `interpreted ${want[at]}, compiled ${got[at]}`;
  throw new Error(`${s.source} on ${s.types}: element ${at} is ${values}\n${JSON.stringify(s.layout)}`);
}

/* Folds in order --------------------------------------------------------------------------------------------------- */

export interface FoldCase {
  readonly source: string;
  readonly types: readonly [acc: DType, x: DType];
  readonly k: number | boolean;
  readonly layout: Layout;
  readonly mask: number;
  readonly values: readonly Value[];
  readonly init: Value | null;
}

const anyDType: fc.Arbitrary<DType> = fc.oneof(
  { weight: 6, arbitrary: dtype },
  { weight: 1, arbitrary: fc.constantFrom<DType>("f16", "bf16") },
);
const setup = (source: fc.Arbitrary<string>): fc.Arbitrary<FoldCase> =>
  fc.tuple(anyDType, anyDType).chain(([acc, x]) =>
    fc.record({
      source: source.map((e) => `(x, y, k) => ${e}`),
      types: fc.constant([acc, x] as const),
      k: fc.constantFrom(2, 0.25, -3, true),
      layout,
      mask: fc.nat(15),
      values: valuesOf(x),
      init: fc.option(elementOf(acc)),
    }),
  );

/** Throws where they differ; false: the function is refused for its dtypes, or its sums are compared elsewhere. */
export function compareFold(s: FoldCase): boolean {
  const made = exactProgram(s.source, s.k, s.types, s.types[0]);
  if (made === null) return false;
  const { program, params } = made;
  const [d] = s.types;
  const fold = makeFold(program, d, { startless: s.init === null });
  // Sums and products of floats are carried in f64: they are compared elsewhere.
  if (fold.carry !== d && !(d === "f16" || d === "bf16")) return false;
  if (fold.algebra !== null && (fold.algebra.op === "add" || fold.algebra.op === "mul") && isFloat(d))
    return false;
  const t = place(s.types[1], s.layout, s.values);
  const folded = s.layout.shape.map((_, axis) => ((s.mask >> axis) & 1) === 1);
  const keptShape = s.layout.shape.filter((_, axis) => !folded[axis]);
  const [want, got] = [allocate("test", d, keptShape), allocate("test", d, keptShape)];
  try {
    interpret("reduce", s, t, folded, want);
    engine()
      .compiled.prepare({ ...workOf("reduce", s, t, folded, got), fold })
      .run(got, [t], params);
    same(s, read(got), read(want));
    return true;
  } finally {
    for (const x of [t, want, got]) x.storage.release();
  }
}

/** The same for a scan along one axis. */
export function compareScan(s: FoldCase): boolean {
  const made = exactProgram(s.source, s.k, s.types, s.types[0]);
  if (made === null) return false;
  const { program, params } = made;
  const [d] = s.types;
  const t = place(s.types[1], s.layout, s.values);
  const axis = s.mask % s.layout.shape.length;
  const folded = s.layout.shape.map((_, a) => a === axis);
  const want = allocate("test", d, s.layout.shape);
  const fold = makeFold(program, d, { ordered: true });
  interpret("scan", s, t, folded, want);
  const got = allocate("test", d, s.layout.shape);
  engine()
    .compiled.prepare({ ...workOf("scan", s, t, folded, got), fold })
    .run(got, [t], params);
  same(s, read(got), read(want));
  for (const x of [t, want, got]) x.storage.release();
  return true;
}

const random = fc.oneof(
  expressions(exact),
  expressions(exact).map((e) => `(x + ${e.replaceAll("x", "y")})`),
  fc
    .tuple(fc.constantFrom("max", "min"), expressions(exact))
    .map(
      ([op, e]) =>
        `Math.${op}(x, ${e.replaceAll("Math.max", "Math.MAX").replace(/\bx\b/g, "y").replaceAll("MAX", "max")})`,
    ),
  fc
    .tuple(fc.constantFrom("&", "|", "^", "*", "&&", "||"), expressions(exact))
    .map(([op, e]) => `(x ${op} ${e.replace(/\bx\b/g, "y")})`),
);

/** Folds of any function over any axes of any layout; those of one operation among them. */
export const foldCases = setup(random);
