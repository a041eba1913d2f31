/**
 * Compiled kernels and where they are kept. A kernel is found by its program and its layout class (how each operand
 * walks the innermost loop), never by a shape: sizes, strides and addresses are arguments.
 */
import type { Value } from "../dtype.ts";
import { dtypes } from "../dtype.ts";
import type { Program } from "../ir/node.ts";
import { printProgram } from "../ir/print.ts";
import { type Heap, SCRATCH } from "../memory/heap.ts";
import { optimize } from "../optimize/pipeline.ts";
import {
  classLetters,
  type KernelPlan,
  type LayoutClass,
  layoutClass,
  planKernel,
} from "../optimize/vectorize.ts";
import type { LoopNest } from "../view/loops.ts";
import { descriptor, emitElementwise } from "../wasm/elementwise.ts";
import { detectFeatures } from "../wasm/features.ts";
import { advance, isEmpty } from "./odometer.ts";

export interface CompiledKernel {
  readonly plan: KernelPlan;
  readonly module: WebAssembly.Module;
  readonly bytes: Uint8Array;
  readonly run: (descriptor: number) => void;
  /** What making it cost, in milliseconds. */
  readonly compileTime: number;
}

/** Elements a call of a kernel computes at the most: V8 replaces a function's slow first code only between calls. */
const CHUNK = 16384;

export class KernelCache {
  readonly #heap: Heap;
  readonly #byProgram = new WeakMap<Program, Map<string, CompiledKernel>>();
  readonly #byText = new Map<string, CompiledKernel>();
  #words: Int32Array;
  /** Kernels made so far; tests watch it stand still. */
  compiled = 0;
  /** Off: scalar code only. For tests and for comparison. */
  simd = true;

  constructor(heap: Heap) {
    this.#heap = heap;
    this.#words = new Int32Array(heap.buffer, 0, SCRATCH.bytes / 4);
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
      const text = `${key}\n${program.inputs}\n${printProgram(program)}`;
      kernel = this.#byText.get(text) ?? this.#compile(program, classes);
      this.#byText.set(text, kernel);
      kernels.set(key, kernel);
    }
    return kernel;
  }

  #compile(program: Program, classes: readonly LayoutClass[]): CompiledKernel {
    const start = performance.now();
    const features = detectFeatures();
    const fma = features.relaxedSimd && this.simd;
    const optimized = optimize(program, { fma });
    const plan = planKernel(optimized, classes, features.simd && this.simd);
    const bytes = emitElementwise(plan, { fma, shared: this.#heap.shared }).toBytes();
    const module = new WebAssembly.Module(bytes);
    const instance = new WebAssembly.Instance(module, { e: { m: this.#heap.memory } });
    this.compiled++;
    return {
      plan,
      module,
      bytes,
      run: instance.exports.run as (descriptor: number) => void,
      compileTime: performance.now() - start,
    };
  }

  /** Runs the program over the nest; operand 0 is the output and the nest's offsets are addresses. */
  elementwise(program: Program, nest: LoopNest, params: readonly Value[]): CompiledKernel | null {
    if (isEmpty(nest)) return null;
    const rank = nest.shape.length;
    const operands = nest.strides.length;
    const inner = rank - 1;
    const n = rank > 0 ? nest.shape[inner] : 1;
    const m = rank > 1 ? nest.shape[rank - 2] : 1;
    const classes: LayoutClass[] = new Array(operands);
    for (let k = 0; k < operands; k++) {
      const { bytes } = dtypes[k === 0 ? program.dtype : program.inputs[k - 1]];
      classes[k] = rank > 0 ? layoutClass(nest.strides[k][inner], bytes) : "contiguous";
    }
    const kernel = this.find(program, classes);
    if (this.#words.buffer !== this.#heap.buffer && !this.#heap.shared) {
      this.#words = new Int32Array(this.#heap.buffer, 0, SCRATCH.bytes / 4);
    }
    const words = this.#words;
    const base = SCRATCH.address / 4;
    for (let p = 0; p < params.length; p++) {
      const at = SCRATCH.address + 8 * descriptor.param(operands, p);
      dtypes[kernel.plan.program.params[p]].write(this.#heap.view, at, params[p]);
    }
    for (let k = 0; k < operands; k++) {
      words[base + descriptor.stride(k)] = rank > 0 ? nest.strides[k][inner] : 0;
      words[base + descriptor.rowStride(k)] = rank > 1 ? nest.strides[k][rank - 2] : 0;
    }
    if (rank <= 2) {
      this.#block(kernel, nest, n, m, nest.offsets);
      return kernel;
    }
    const index = new Array<number>(rank - 2).fill(0);
    const pointers = [...nest.offsets];
    do this.#block(kernel, nest, n, m, pointers);
    while (advance(nest, rank - 2, index, pointers));
    return kernel;
  }

  /** m rows of n elements, in pieces of about CHUNK elements. */
  #block(kernel: CompiledKernel, nest: LoopNest, n: number, m: number, pointers: readonly number[]): void {
    const words = this.#words;
    const base = SCRATCH.address / 4;
    const operands = pointers.length;
    if (n * m <= CHUNK) {
      words[base + descriptor.n] = n;
      words[base + descriptor.m] = m;
      for (let k = 0; k < operands; k++) words[base + descriptor.address(k)] = pointers[k];
      kernel.run(SCRATCH.address);
      return;
    }
    const inner = nest.shape.length - 1;
    const rows = Math.max(1, Math.floor(CHUNK / n));
    const columns = rows > 1 ? n : CHUNK;
    for (let i = 0; i < m; i += rows) {
      for (let j = 0; j < n; j += columns) {
        words[base + descriptor.n] = Math.min(columns, n - j);
        words[base + descriptor.m] = Math.min(rows, m - i);
        for (let k = 0; k < operands; k++) {
          const rowStride = inner > 0 ? nest.strides[k][inner - 1] : 0;
          words[base + descriptor.address(k)] = pointers[k] + i * rowStride + j * nest.strides[k][inner];
        }
        kernel.run(SCRATCH.address);
      }
    }
  }
}
