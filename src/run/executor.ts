/**
 * The two executors over the heap. Compiled code is what runs; the interpreter is what it is checked against, and what
 * computes where there is no code. Here, and in what is called from here, an operand becomes an address.
 */
import { type DType, dtypes, type Value } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import { type Evaluator, evaluator, evaluatorOfAll, type Surroundings } from "../ir/eval.ts";
import { type Program, resultsOf } from "../ir/node.ts";
import type { Heap } from "../memory/heap.ts";
import type { GemmProblem } from "../optimize/gemm.ts";
import { ADD, canAccumulate, REPLACE, SUBTRACT } from "../optimize/gemm.ts";
import { foldMisfitOf, misfitOf } from "../optimize/size.ts";
import { type LoopNest, planLoops } from "../view/loops.ts";
import { broadcastTo, type View } from "../view/view.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import type { Described, Executor, FoldWork, Prepared, ProductWork, Strided } from "./call.ts";
import type { GemmKernels, ReadyProduct } from "./gemm.ts";
import {
  type FoldSteps,
  interpretElementwise,
  interpretFold,
  interpretMatmul,
  interpretSeveral,
} from "./interpret.ts";
import { addressOf, type CompiledKernel, type KernelCache } from "./kernel.ts";
import { advance, isEmpty } from "./odometer.ts";
import { type FoldRunner, foldNests, foldParams, startOf } from "./reduce.ts";
import type { Walker } from "./walker.ts";
import { flatKernel, type PlannedWalk, planWalk } from "./walks.ts";

/** Where operands begin, the output first, each moved by what the plan says. */
function placesOf(out: Strided, inputs: readonly Strided[], shifts: readonly number[]): number[] {
  const at = new Array<number>(inputs.length + 1);
  at[0] = addressOf(out) + shifts[0];
  for (let k = 0; k < inputs.length; k++) at[k + 1] = addressOf(inputs[k]) + shifts[k + 1];
  return at;
}

/* Compiled -------------------------------------------------------------------------------------------------- */

/** Everything as WebAssembly. */
export class WasmExecutor implements Executor {
  readonly #kernels: KernelCache;
  readonly #walker: Walker;
  readonly #folds: FoldRunner;
  readonly #products: GemmKernels;

  constructor(kernels: KernelCache, walker: Walker, folds: FoldRunner, products: GemmKernels) {
    this.#kernels = kernels;
    this.#walker = walker;
    this.#folds = folds;
    this.#products = products;
  }

  refuses(work: Described): string | null {
    if (work.form === "matmul") return this.#hasVectors ? null : "there are no vectors";
    return "fold" in work ? foldMisfitOf(work.fold) : misfitOf(work.program);
  }

  prepare(work: Described): Prepared {
    if (work.form === "matmul") return this.#prepareProduct(work);
    return "fold" in work ? this.#folds.prepare(work) : this.prepareWalk(work);
  }

  get #hasVectors(): boolean {
    return this.#kernels.simd && detectFeatures().simd;
  }

  prepareWalk({ form, program, frames }: Walkable): Prepared {
    const nest = planLoops(frames);
    if (isEmpty(nest)) return { backend: "wasm", spent: { program, nest, kernel: null }, run() {} };
    if (isDense(nest, frames)) {
      if (form === "copy" && program.nodes.length === 1) return new Bytes(this.#walker, nest, frames[0]);
      return new Flat(this.#walker, program, nest, flatKernel(this.#kernels, program));
    }
    return new Walk(this.#walker, program, nest, planWalk(this.#kernels, program, nest)!);
  }

  #prepareProduct(work: ProductWork): Prepared {
    const [out, a, b] = work.frames;
    if (work.sign === "=" && a.shape.at(-1) === 1 && this.#kernels.simd) {
      const program = outerProgram(work.dtypes);
      const frames = [out, broadcastTo(a, out.shape), broadcastTo(b, out.shape)];
      return this.prepareWalk({ form: "elementwise", program, frames });
    }
    return new Product(this.#products, work);
  }
}

export type Walkable = Exclude<Described, FoldWork | ProductWork>;

/** Is every operand one run of elements, from where its frame begins? */
function isDense({ shape, strides, offsets }: LoopNest, frames: readonly View[]): boolean {
  if (shape.length > 1 || offsets.some((o) => o !== 0)) return false;
  return shape.length === 0 || strides.every((s, k) => s[0] === frames[k].itemBytes);
}

class Flat implements Prepared {
  readonly backend = "wasm";
  readonly spent: { readonly program: Program; readonly nest: LoopNest; readonly kernel: CompiledKernel };
  readonly #walker: Walker;
  readonly #kernel: CompiledKernel;
  readonly #size: number;

  constructor(walker: Walker, program: Program, nest: LoopNest, kernel: CompiledKernel) {
    this.#walker = walker;
    this.#kernel = kernel;
    this.#size = nest.shape[0] ?? 1;
    this.spent = { program, nest, kernel };
  }

  run(out: Strided, inputs: readonly Strided[], params: readonly Value[]): void {
    this.#walker.flat(this.#kernel, out, inputs, this.#size, params);
  }
}

class Walk implements Prepared {
  readonly backend = "wasm";
  readonly spent: { readonly program: Program; readonly nest: LoopNest; readonly kernel: CompiledKernel };
  readonly #walker: Walker;
  readonly #planned: PlannedWalk;
  readonly #shifts: readonly number[];

  constructor(walker: Walker, program: Program, nest: LoopNest, planned: PlannedWalk) {
    this.#walker = walker;
    this.#planned = planned;
    this.#shifts = nest.offsets;
    this.spent = { program, nest, kernel: planned.tile ?? planned.kernel };
  }

  run(out: Strided, inputs: readonly Strided[], params: readonly Value[]): void {
    this.#walker.walk(this.#planned, placesOf(out, inputs, this.#shifts), params);
  }
}

/** A run of bytes, moved as it is. */
class Bytes implements Prepared {
  readonly backend = "wasm";
  readonly spent: { readonly nest: LoopNest; readonly bytes: number };
  readonly #walker: Walker;

  constructor(walker: Walker, nest: LoopNest, out: View) {
    this.#walker = walker;
    this.spent = { nest, bytes: out.itemBytes * (nest.shape[0] ?? 1) };
  }

  run(out: Strided, [from]: readonly Strided[]): void {
    this.#walker.copyBytes(addressOf(out), addressOf(from), this.spent.bytes);
  }
}

const signs = { "=": REPLACE, "+=": ADD, "-=": SUBTRACT } as const;

class Product implements Prepared {
  readonly backend = "wasm";
  readonly #products: GemmKernels;
  readonly #problem: GemmProblem;
  readonly #shifts: readonly number[];
  readonly #options: { readonly accumulate: (typeof signs)[keyof typeof signs] };
  #ready: ReadyProduct | null = null;
  spent: Prepared["spent"] = {};

  constructor(products: GemmKernels, work: ProductWork) {
    this.#products = products;
    const problem = problemOf(work);
    this.#shifts = problem.batches.offsets;
    this.#problem = { ...problem, batches: { ...problem.batches, offsets: [...this.#shifts] } };
    this.#options = { accumulate: signs[work.sign] };
  }

  run(out: Strided, [a, b]: readonly Strided[]): void {
    const ready = this.#products.ready(this.#problem, this.#options, this.#ready);
    const { plan } = ready;
    if (ready !== this.#ready) {
      this.#ready = ready;
      this.spent = { gemm: plan };
    }
    // The plan is this product's own, and calls do not nest: its offsets become addresses where they are.
    const shifts = this.#shifts;
    const at = plan.problem.batches.offsets as number[];
    const [first, second] = plan.transposed ? [2, 1] : [1, 2];
    at[0] = addressOf(out) + shifts[0];
    at[first] = addressOf(a) + shifts[1];
    at[second] = addressOf(b) + shifts[2];
    this.#products.spend(ready);
  }
}

/** May a product be added to what is there, without being made aside? */
export function addsInPlace(work: ProductWork): boolean {
  const problem = problemOf(work);
  return canAccumulate(problem, false) || canAccumulate(problem, true);
}

/** Sizes and steps of a product, counted from the first elements. */
function problemOf({ frames, dtypes: types }: ProductWork): GemmProblem {
  const [out, a, b] = frames;
  const rank = out.shape.length - 2;
  const steps = ({ strides }: View) => [strides[rank], strides[rank + 1]] as const;
  return {
    m: out.shape[rank],
    n: out.shape[rank + 1],
    k: a.shape[rank + 1],
    out: steps(out),
    a: steps(a),
    b: steps(b),
    dtypes: types,
    batches: rank === 0 ? oneBatch : planLoops(frames.map(batchView)),
  };
}

const oneBatch: LoopNest = { shape: [], strides: [[], [], []], offsets: [0, 0, 0], order: [], flipped: [] };

/** The view without its two matrix axes. */
const batchView = (v: View): View => ({ ...v, shape: v.shape.slice(0, -2), strides: v.strides.slice(0, -2) });

const outerPrograms = new Map<string, Program>();

/** One product an element: what a matrix product with k = 1 is. */
function outerProgram([out, a, b]: readonly [DType, DType, DType]): Program {
  const key = `${out} ${a} ${b}`;
  let program = outerPrograms.get(key);
  if (program === undefined) {
    const build = new Builder();
    const [x, y] = [a, b].map((dtype, i) => build.cast(out, build.input(i, dtype)));
    program = build.finish(build.op(out === "bool" ? "and" : "mul", x, y), [a, b]);
    outerPrograms.set(key, program);
  }
  return program;
}

/* Interpreted ----------------------------------------------------------------------------------------------- */

/** Everything one element at a time, in plain JavaScript. */
export class Interpreter implements Executor {
  readonly #heap: Heap;

  constructor(heap: Heap) {
    this.#heap = heap;
  }

  refuses(): string | null {
    return null;
  }

  prepare(work: Described): Prepared {
    if (work.form === "matmul") return this.#prepareProduct(work);
    if ("fold" in work) {
      const { fold } = work;
      return this.prepareFold(work, "interpreter", startOf(fold, work.init), (all) => {
        const { step, first, finish } = foldParams(fold, all);
        const around = { memory: this.#heap };
        return {
          step: evaluator(fold.step, step, around),
          first: fold.first && evaluator(fold.first, first, around),
          finish: evaluator(fold.finish, finish, around),
        };
      });
    }
    return this.prepareElements(work, { memory: this.#heap });
  }

  /** out[…] = program(in0[…], …), one element at a time. */
  prepareElements({ program, frames }: Walkable, around: Surroundings): Prepared {
    if (program.nodes[program.result].op === "tuple") return this.#prepareSeveral(program, frames, around);
    return this.prepareEach(frames, "interpreter", [program.dtype, ...program.inputs], program.dtype, (all) =>
      evaluator(program, all, around),
    );
  }

  /** What `evaluate` makes of each element, in C order; `produces` is the dtype of its values. */
  prepareEach(
    frames: readonly View[],
    backend: Prepared["backend"],
    types: readonly DType[],
    produces: DType,
    evaluate: (params: readonly Value[]) => Evaluator,
  ): Prepared {
    const nest = planLoops(frames, { keepOrder: true });
    return {
      backend,
      spent: { nest },
      run: (out, inputs, params) => {
        const bound = { ...nest, offsets: placesOf(out, inputs, nest.offsets) };
        interpretElementwise(this.#heap, bound, types, evaluate(params), produces);
      },
    };
  }

  #prepareSeveral(program: Program, frames: readonly View[], around: Surroundings): Prepared {
    const nest = planLoops(frames, { keepOrder: true });
    const outputs = resultsOf(program).map((id) => program.nodes[id].dtype);
    return {
      backend: "interpreter",
      spent: { nest },
      run: (out, inputs, params) => {
        const bound = { ...nest, offsets: placesOf(out, inputs, nest.offsets) };
        const evaluate = evaluatorOfAll(program, params, around);
        interpretSeveral(this.#heap, bound, outputs, program.inputs, evaluate);
      },
    };
  }

  prepareFold(
    work: FoldWork,
    backend: Prepared["backend"],
    start: Value | null,
    stepsOf: (params: readonly Value[]) => FoldSteps,
  ): Prepared {
    const { kept, folded } = foldNests(work, true);
    const { sources } = work;
    return {
      backend,
      spent: { kept, folded },
      run: (out, inputs, params) => {
        const at = sources.map((_, k) => kept.offsets[k]);
        let k = 0;
        sources.forEach((s, i) => {
          if (s !== null) at[i] += addressOf(inputs[k++]);
        });
        at.push(addressOf(out) + kept.offsets[sources.length]);
        interpretFold(this.#heap, { kept, folded }, at, work.dtypes, out.dtype, stepsOf(params), start);
      },
    };
  }

  #prepareProduct(work: ProductWork): Prepared {
    const problem = problemOf(work);
    const { batches } = problem;
    return {
      backend: "interpreter",
      spent: { nest: batches },
      run: (out, inputs) => {
        const nest = { ...batches, offsets: placesOf(out, inputs, batches.offsets) };
        interpretMatmul(this.#heap.view, nest, problem, work.dtypes, work.dtypes[0], work.sign);
      },
    };
  }

  /** Calls `visit` with an element of each tensor, for all of them, in C order. They have one shape. */
  visit(tensors: readonly Strided[], visit: (values: Value[]) => void): void {
    const nest = planLoops(
      tensors.map((t) => t.frame),
      { keepOrder: true },
    );
    if (isEmpty(nest)) return;
    const index = new Array<number>(nest.shape.length).fill(0);
    const pointers = tensors.map((t, k) => t.storage.address + nest.offsets[k]);
    // What is called may make the memory grow.
    do visit(tensors.map((t, k) => dtypes[t.dtype].read(this.#heap.view, pointers[k])));
    while (advance(nest, nest.shape.length, index, pointers));
  }
}
