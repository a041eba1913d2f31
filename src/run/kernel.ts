/**
 * Compiled kernels and where they are kept. A kernel is found by its program and its layout class (how each operand
 * walks the innermost loop), never by a shape: sizes, strides and addresses are arguments.
 */
import type { Program } from "../ir/node.ts";
import { printProgram } from "../ir/print.ts";
import type { Heap } from "../memory/heap.ts";
import { optimize } from "../optimize/pipeline.ts";
import { inVectors } from "../optimize/size.ts";
import {
  classLetters,
  costOf,
  type KernelPlan,
  type LayoutClass,
  planKernel,
} from "../optimize/vectorize.ts";
import { detectFeatures } from "../wasm/assembler/features.ts";
import { compileModule } from "../wasm/assembler/module.ts";
import { emitElementwise } from "../wasm/program/elementwise.ts";
import { emitTile } from "../wasm/program/tile.ts";
import { emitTogether } from "../wasm/program/together.ts";
import type { Pool, PoolKernel } from "./pool.ts";
import { MOST_KERNELS, Recent } from "./recent.ts";

export interface CompiledKernel extends PoolKernel {
  readonly plan: KernelPlan;
  /** Estimated nanoseconds an element. */
  readonly cost: number;
  /** What making it cost, in milliseconds. */
  readonly compileTime: number;
  /** Calls so far: after some V8 has replaced the first, slow code. */
  calls: number;
}

export class KernelCache {
  readonly #heap: Heap;
  readonly #pool: Pool;
  readonly #byProgram = new WeakMap<Program, Map<string, CompiledKernel>>();
  readonly #byText = new Recent<CompiledKernel>(MOST_KERNELS);
  /** Kernels made so far; tests watch it stand still. */
  compiled = 0;
  /** Off: scalar code only. For tests and for comparison. */
  simd = true;
  /** Compute rows together wherever that is possible, not only where it pays. For tests. */
  alwaysTogether = false;

  constructor(heap: Heap, pool: Pool) {
    this.#heap = heap;
    this.#pool = pool;
  }

  /** A number for the switches: a plan is good for one setting of them. */
  get mode(): number {
    return (this.simd ? 1 : 0) + (this.alwaysTogether ? 2 : 0);
  }

  /** Kernels that are kept whether or not their function still lives. */
  get kept(): number {
    return this.#byText.size;
  }

  find(program: Program, classes: readonly LayoutClass[]): CompiledKernel {
    let kernels = this.#byProgram.get(program);
    if (kernels === undefined) {
      kernels = new Map();
      this.#byProgram.set(program, kernels);
    }
    let key = this.simd ? "" : "scalar";
    for (let k = 0; k < classes.length; k++) key += classLetters[classes[k]];
    let kernel = kernels.get(key);
    if (kernel === undefined) {
      kernel = this.#make(program, classes, key);
      kernels.set(key, kernel);
    }
    return kernel;
  }

  /** Compiles, unless a program that comes to the same has been compiled already. */
  #make(program: Program, classes: readonly LayoutClass[], key: string): CompiledKernel {
    const start = performance.now();
    const features = detectFeatures();
    const fma = features.relaxedSimd && this.simd;
    const optimized = optimize(program, { fma });
    // Operands and captured values that are not used have their places in the descriptor, too.
    const text = `${key}\n${optimized.inputs}\n${optimized.params}\n${printProgram(optimized)}`;
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const plan = planKernel(optimized, classes, features.simd && this.simd && inVectors(program));
    const emit = plan.tiled ? emitTile : plan.rows > 1 ? emitTogether : emitElementwise;
    const bytes = emit(plan, { fma, shared: this.#heap.shared }).toBytes();
    const made = { ...instantiate(bytes, this.#heap), plan, cost: costOf(plan) };
    this.compiled++;
    const kernel: CompiledKernel = { ...made, compileTime: performance.now() - start, calls: 0 };
    this.#byText.set(text, kernel);
    return kernel;
  }

  /** Runs `fn` with everything in the calling thread; for tests and for comparison. */
  alone<R>(fn: () => R): R {
    return this.#pool.alone(fn);
  }
}

/** Where the first element of an operand lies. */
export const addressOf = ({ storage, frame }: FlatOperand): number => storage.address + frame.offset;

/** A dense operand: where its storage lies, and where in it the first element is. */
export interface FlatOperand {
  readonly storage: { readonly address: number };
  readonly frame: { readonly offset: number; readonly itemBytes: number };
}

/** Code for the heap's memory: what the pool needs of a kernel. */
export function instantiate(bytes: Uint8Array<ArrayBuffer>, heap: Heap): PoolKernel {
  const instance = new WebAssembly.Instance(compileModule(bytes), { e: { m: heap.memory } });
  return { bytes, run: instance.exports.run as (descriptor: number) => void };
}
