/**
 * The kernels on the interpreter, one element at a time, for every dtype and layout (a copy is a map of x => x). They
 * are the reference for compiled code, the fallback where nothing can be compiled, and the plainest statement of what
 * each means.
 *
 * Addresses are absolute bytes in the heap; operand 0 is the output. A function that is called may make tensors, and
 * where memory is not shared a heap that grows detaches its views: `heap.view` is read for every element.
 */
import { convert, type DType, dtypes, type Value } from "../dtype.ts";
import type { Evaluator } from "../ir/eval.ts";
import type { LoopNest } from "../view/loops.ts";
import { advance, isEmpty } from "./odometer.ts";

/** Where elements lie: a heap, as far as the interpreter knows it. */
export interface ViewHolder {
  readonly view: DataView;
}

/** out[…] = f(in0[…], in1[…], …). `produces` is the dtype of f's values, converted when stored. */
export function interpretElementwise(
  heap: ViewHolder,
  nest: LoopNest,
  operands: readonly DType[],
  evaluate: Evaluator,
  produces: DType,
): void {
  if (isEmpty(nest)) return;
  const out = operands[0];
  const { write } = dtypes[out];
  const reads = operands.slice(1).map((d) => dtypes[d].read);
  const inner = nest.shape.length - 1;
  const n = inner < 0 ? 1 : nest.shape[inner];
  const steps = nest.strides.map((s) => (inner < 0 ? 0 : s[inner]));
  const index = new Array<number>(Math.max(inner, 0)).fill(0);
  const pointers = [...nest.offsets];
  const values: Value[] = new Array(reads.length).fill(0);
  do {
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < reads.length; k++)
        values[k] = reads[k](heap.view, pointers[k + 1] + i * steps[k + 1]);
      const value = convert(evaluate(values), produces, out);
      write(heap.view, pointers[0] + i * steps[0], value);
    }
  } while (advance(nest, inner, index, pointers));
}

/** The same for a program of several results: the first so many operands are outputs. */
export function interpretSeveral(
  heap: ViewHolder,
  nest: LoopNest,
  outputs: readonly DType[],
  inputs: readonly DType[],
  evaluate: (inputs: readonly Value[]) => readonly Value[],
): void {
  if (isEmpty(nest)) return;
  const index = new Array<number>(nest.shape.length).fill(0);
  const pointers = [...nest.offsets];
  do {
    const values = inputs.map((d, k) => dtypes[d].read(heap.view, pointers[outputs.length + k]));
    evaluate(values).forEach((value, k) => {
      dtypes[outputs[k]].write(heap.view, pointers[k], value);
    });
  } while (advance(nest, nest.shape.length, index, pointers));
}

/** One step of a fold, what a fold without a start value begins with, and what is stored of its accumulator. */
export interface FoldSteps {
  /** [acc, x0, x1, …] → acc */
  readonly step: Evaluator;
  /** [x0, x1, …] → acc */
  readonly first: Evaluator | null;
  /** [acc] → the result */
  readonly finish: Evaluator;
}

/**
 * Folds: for each output element, acc = step(acc, x0, x1, …) over the folded axes in C order. `kept` walks [...inputs, out]
 * over the axes that stay, `folded` the inputs over those that go; there a scan's output moves too, and every step is
 * stored. An input whose dtype is null is its own address. `at`: where each begins.
 */
export function interpretFold(
  heap: ViewHolder,
  { kept, folded }: { readonly kept: LoopNest; readonly folded: LoopNest },
  at: readonly number[],
  inputs: readonly (DType | null)[],
  out: DType,
  { step, first, finish }: FoldSteps,
  start: Value | null,
): void {
  if (isEmpty(kept)) return;
  const { write } = dtypes[out];
  const count = inputs.length;
  const isScan = folded.strides.length > count;
  const values: Value[] = new Array(count + 1).fill(0);
  const index = new Array<number>(kept.shape.length).fill(0);
  const pointers = [...at];
  const foldIndex = new Array<number>(folded.shape.length).fill(0);
  do {
    let acc = start;
    if (!isEmpty(folded)) {
      const own = folded.offsets.map((o, k) => pointers[k] + o);
      do {
        for (let k = 0; k < count; k++) {
          const d = inputs[k];
          values[k + 1] = d === null ? own[k] : dtypes[d].read(heap.view, own[k]);
        }
        if (acc === null) acc = first!(values.slice(1));
        else {
          values[0] = acc;
          acc = step(values);
        }
        if (isScan) write(heap.view, own[count], finish([acc]));
      } while (advance(folded, folded.shape.length, foldIndex, own));
    }
    if (!isScan) write(heap.view, pointers[count], finish([acc!]));
  } while (advance(kept, kept.shape.length, index, pointers));
}

/** Byte strides of one matmul: out is (m, n), a is (m, k), b is (k, n). */
export interface MatmulSteps {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly out: readonly [row: number, column: number];
  readonly a: readonly [row: number, column: number];
  readonly b: readonly [row: number, column: number];
}

/**
 * out[n,i,j] = Σ_k a[n,i,k]·b[n,k,j], the naive triple loop: a batch of size 1 has batch stride 0. Floats sum in
 * f64 and round once; integers wrap; bool is "and" summed by "or".
 */
export function interpretMatmul(
  memory: DataView,
  batches: LoopNest,
  steps: MatmulSteps,
  operands: readonly [out: DType, a: DType, b: DType],
  working: DType,
  sign: "=" | "+=" | "-=" = "=",
): void {
  if (isEmpty(batches)) return;
  const { m, n, k } = steps;
  const [outType, aType, bType] = operands;
  const readA = dtypes[aType].read;
  const readB = dtypes[bType].read;
  const { write } = dtypes[outType];
  const row = dtypes[working];
  const sums = row.kind === "float" ? "f64" : working;
  const index = new Array<number>(batches.shape.length).fill(0);
  const pointers = [...batches.offsets];
  do {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let pa = pointers[1] + i * steps.a[0];
        let pb = pointers[2] + j * steps.b[1];
        let sum: Value = row.big ? 0n : 0;
        for (let p = 0; p < k; p++) {
          const x = convert(readA(memory, pa), aType, working);
          const y = convert(readB(memory, pb), bType, working);
          if (row.big) sum = row.wrap((sum as bigint) + (x as bigint) * (y as bigint));
          else if (row.kind === "float") sum = (sum as number) + (x as number) * (y as number);
          else sum = row.wrap((sum as number) + Math.imul(x as number, y as number));
          pa += steps.a[1];
          pb += steps.b[0];
        }
        const at = pointers[0] + i * steps.out[0] + j * steps.out[1];
        const product = convert(convert(sum, sums, working), working, outType);
        const value = sign === "=" ? product : joined(dtypes[outType].read(memory, at), sign, product);
        write(memory, at, dtypes[outType].wrap(value));
      }
    }
  } while (advance(batches, batches.shape.length, index, pointers));
}

/** Bigints with bigints, numbers with numbers. */
function joined(a: Value, sign: "+=" | "-=", b: Value): Value {
  const [x, y] = [a, b] as [number, number];
  return sign === "+=" ? x + y : x - y;
}
