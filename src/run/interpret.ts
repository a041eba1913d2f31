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

/**
 * Folds: for each output element, acc = f(acc, x) over the reduced axes in C order. `kept` walks [out, in] over the
 * axes that stay, `folded` walks [in] over those that go. Without `init` the first element is the start.
 */
export function interpretReduce(
  heap: ViewHolder,
  kept: LoopNest,
  folded: LoopNest,
  operands: readonly [out: DType, input: DType],
  evaluate: Evaluator,
  accumulator: DType,
  init: Value | null,
): void {
  if (isEmpty(kept)) return;
  const { read } = dtypes[operands[1]];
  const { write } = dtypes[operands[0]];
  const values: Value[] = [0, 0];
  const index = new Array<number>(kept.shape.length).fill(0);
  const pointers = [...kept.offsets];
  const foldIndex = new Array<number>(folded.shape.length).fill(0);
  const foldPointer = [0];
  do {
    let acc = init;
    if (!isEmpty(folded)) {
      foldPointer[0] = pointers[1];
      do {
        const x = read(heap.view, foldPointer[0]);
        if (acc === null) acc = convert(x, operands[1], accumulator);
        else {
          values[0] = acc;
          values[1] = x;
          acc = evaluate(values);
        }
      } while (advance(folded, folded.shape.length, foldIndex, foldPointer));
    }
    write(heap.view, pointers[0], convert(acc!, accumulator, operands[0]));
  } while (advance(kept, kept.shape.length, index, pointers));
}

/** Running folds along one axis of `size` elements: out[i] = acc after element i. */
export function interpretScan(
  heap: ViewHolder,
  kept: LoopNest,
  size: number,
  steps: readonly [out: number, input: number],
  operands: readonly [out: DType, input: DType],
  evaluate: Evaluator,
  accumulator: DType,
  init: Value | null,
): void {
  if (isEmpty(kept)) return;
  const { read } = dtypes[operands[1]];
  const { write } = dtypes[operands[0]];
  const values: Value[] = [0, 0];
  const index = new Array<number>(kept.shape.length).fill(0);
  const pointers = [...kept.offsets];
  do {
    let acc = init;
    for (let i = 0; i < size; i++) {
      const x = read(heap.view, pointers[1] + i * steps[1]);
      if (acc === null) acc = convert(x, operands[1], accumulator);
      else {
        values[0] = acc;
        values[1] = x;
        acc = evaluate(values);
      }
      write(heap.view, pointers[0] + i * steps[0], convert(acc, accumulator, operands[0]));
    }
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
        write(memory, at, convert(convert(sum, sums, working), working, outType));
      }
    }
  } while (advance(batches, batches.shape.length, index, pointers));
}
