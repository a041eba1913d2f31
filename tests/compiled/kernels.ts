/** One random kernel, compiled and interpreted, to the bit. Without a test runner: Node's and the browser's tests use it. */
import fc from "fast-check";
import { type DType, dtypes, type Value } from "../../src/dtype.ts";
import { engine } from "../../src/engine.ts";
import { evaluator } from "../../src/ir/eval.ts";
import { printProgram } from "../../src/ir/print.ts";
import { absolute } from "../../src/routines/walk.ts";
import type { Strided } from "../../src/run/call.ts";
import { interpretElementwise } from "../../src/run/interpret.ts";
import { planLoops } from "../../src/view/loops.ts";
import { walkThrough } from "../walk.ts";
import { loopBodies } from "./loops.ts";
import { type Axis, axis, dtype, elementOf, exact, exactProgram, expressions, lay } from "./random.ts";

export interface KernelCase {
  readonly source: string;
  readonly types: readonly [DType, DType];
  readonly k: number | boolean;
  readonly axes: readonly [Axis, Axis, Axis];
  readonly shape: readonly [number, number];
  readonly values: readonly [readonly Value[], readonly Value[]];
  readonly misalign: number;
}

const sizes = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(1, 3, 4, 5, 15, 16, 17, 19, 35));
interface Layouts {
  readonly axes: fc.Arbitrary<KernelCase["axes"]>;
  readonly shape: fc.Arbitrary<KernelCase["shape"]>;
}
const anyLayouts: Layouts = {
  axes: fc.tuple(fc.constantFrom<Axis>("contiguous", "strided", "reversed", "wide"), axis, axis),
  shape: fc.tuple(fc.integer({ min: 1, max: 5 }), sizes),
};
/** An operand that is the same in every row, and enough rows and columns for several rows to be computed together. */
const repeatedRows: Layouts = {
  axes: fc
    .tuple(fc.constantFrom<Axis>("contiguous", "broadcast", "repeated"), fc.boolean())
    .map(([other, first]) =>
      first ? ["contiguous", "repeated", other] : (["contiguous", other, "repeated"] as const),
    ),
  shape: fc.tuple(fc.integer({ min: 4, max: 9 }), fc.integer({ min: 32, max: 70 })),
};
const setup = (source: fc.Arbitrary<string>, layouts: Layouts): fc.Arbitrary<KernelCase> =>
  fc.tuple(dtype, dtype).chain(([a, b]) =>
    fc.record({
      source: source.map((e) => `(x, y, k) => ${e}`),
      types: fc.constant([a, b] as const),
      k: fc.constantFrom(2, 0.25, -3, true),
      ...layouts,
      values: fc.tuple(
        fc.array(elementOf(a), { minLength: 7, maxLength: 23 }),
        fc.array(elementOf(b), { minLength: 7, maxLength: 19 }),
      ),
      misalign: fc.constantFrom(0, 0, 1, 4),
    }),
  );

function bytesOf(t: Strided): Uint8Array {
  return engine().heap.u8.slice(t.storage.address, t.storage.address + t.storage.bytes);
}

/** Throws where they differ; false: the kernel is refused for its dtypes, so there is nothing to compare. */
export function compareKernel(s: KernelCase): boolean {
  const made = exactProgram(s.source, s.k, s.types);
  if (made === null) return false;
  const { program, params } = made;
  const x = lay(s.types[0], s.shape, s.axes[1], s.values[0], s.misalign);
  const y = lay(s.types[1], s.shape, s.axes[2], s.values[1]);
  const background: Value[] = [dtypes[program.dtype].big ? 77n : 77];
  const want = lay(program.dtype, s.shape, s.axes[0], background, s.misalign);
  const got = lay(program.dtype, s.shape, s.axes[0], background, s.misalign);
  try {
    const types = [program.dtype, ...s.types];
    const nest = (out: Strided) => absolute(planLoops([out.frame, x.frame, y.frame]), [out, x, y]);
    interpretElementwise(engine().heap, nest(want), types, evaluator(program, params), program.dtype);
    walkThrough(program, nest(got), params);
    const [a, b] = [bytesOf(want), bytesOf(got)];
    const same = a.every((byte, i) => byte === b[i]) || sameValues(program.dtype, want, got);
    if (!same) {
      throw new Error(
        `${s.source} on ${s.types}\n${difference(program.dtype, want, got)}\n${printProgram(program)}`,
      );
    }
    return true;
  } finally {
    for (const t of [x, y, want, got]) t.storage.release();
  }
}

/** NaNs of any payload are equal. */
function sameValues(d: DType, want: Strided, got: Strided): boolean {
  return difference(d, want, got) === "";
}

function difference(d: DType, want: Strided, got: Strided): string {
  const { read, bytes } = dtypes[d];
  const memory = engine().heap.view;
  const lines: string[] = [];
  for (let p = want.frame.offset % bytes; p + bytes <= want.storage.bytes; p += bytes) {
    const a = read(memory, want.storage.address + p);
    const b = read(memory, got.storage.address + p);
    if (!Object.is(a, b)) lines.push(`byte ${p}: interpreted ${show(a)}, compiled ${show(b)}`);
  }
  return lines.slice(0, 4).join("\n");
}
const show = (x: Value) => (Object.is(x, -0) ? "-0" : String(x));

/** Kernels of exact operations. */
export const kernelCases = setup(expressions(exact), anyLayouts);
export const repeatedCases = setup(expressions(exact), repeatedRows);
/** The same with loops. */
export const loopCases = setup(loopBodies(exact), anyLayouts);
