/** How a program walks a nest of loops: which loops kernels run themselves, and which kernels. Found once, for operands anywhere. */
import { dtypes } from "../dtype.ts";
import { type Program, resultsOf } from "../ir/node.ts";
import { inVectors } from "../optimize/size.ts";
import {
  type LayoutClass,
  layoutClass,
  TOGETHER,
  tileClasses,
  togetherClasses,
} from "../optimize/vectorize.ts";
import type { LoopNest } from "../view/loops.ts";
import { descriptor } from "../wasm/program/elementwise.ts";
import { checkDescriptor } from "./descriptors.ts";
import type { CompiledKernel, KernelCache } from "./kernel.ts";
import { isEmpty } from "./odometer.ts";

/** Fewer rows or columns are not worth a tile. */
const LEAST_TILE = 8;
/**
 * Bytes from which a row that repeats no longer stays in the first-level cache while others pass through it, and bytes
 * of an output that does not stay in any. Below either, one row at a time is faster: up to twice where rows are short.
 */
const LEAST_REPEATED = 12288;
const LEAST_TOGETHER = 1 << 24;

/** A walk and the kernels that make it, for any operands of its strides. */
export interface PlannedWalk {
  readonly walk: Walk;
  readonly kernel: CompiledKernel;
  readonly tile: CompiledKernel | null;
  /** Elements in all. */
  readonly size: number;
}

/** A nest as kernels see it: the two loops they run themselves, and those around them. */
export interface Walk {
  readonly n: number;
  readonly m: number;
  readonly stride: readonly number[];
  readonly rowStride: readonly number[];
  readonly classes: readonly LayoutClass[];
  /** Classes of the tile kernel, where one applies. */
  readonly tile: readonly LayoutClass[] | null;
  readonly outer: LoopNest;
}

/** What walks operands that are all contiguous. */
export function flatKernel(kernels: KernelCache, program: Program): CompiledKernel {
  checkArguments(program);
  return kernels.find(program, new Array(operandsOf(program)).fill("contiguous"));
}

/** How the program walks nests of this shape and these strides; null: they have no elements. */
export function planWalk(kernels: KernelCache, program: Program, nest: LoopNest): PlannedWalk | null {
  if (isEmpty(nest)) return null;
  checkArguments(program);
  const vectors = kernels.simd && inVectors(program);
  const walk = vectors ? walkOf(program, nest) : plainWalk(program, nest);
  const together = vectors ? rowsTogether(program, walk, kernels.alwaysTogether) : null;
  let size = 1;
  for (let d = 0; d < nest.shape.length; d++) size *= nest.shape[d];
  return {
    walk,
    kernel: kernels.find(program, together ?? walk.classes),
    tile: walk.tile === null ? null : kernels.find(program, walk.tile),
    size,
  };
}

/** Refuses a program of more operands and captured values than a call has room for. */
function checkArguments(program: Program): void {
  const { inputs, params } = program;
  checkDescriptor(8 * descriptor.param(operandsOf(program), params.length), inputs.length, params.length);
}

/** Outputs and inputs. */
const operandsOf = (program: Program): number => resultsOf(program).length + program.inputs.length;

/** Of an element of operand k, the outputs first. */
function bytesOf(program: Program, k: number): number {
  const results = resultsOf(program);
  return dtypes[k < results.length ? program.nodes[results[k]].dtype : program.inputs[k - results.length]]
    .bytes;
}

function plainWalk(program: Program, nest: LoopNest): Walk {
  const rank = nest.shape.length;
  return walkAlong(program, nest, rank - 1, rank - 2, null);
}

/** The innermost loop, and as the rows' loop one along which a strided operand is contiguous, if there is one. */
function walkOf(program: Program, nest: LoopNest): Walk {
  const rank = nest.shape.length;
  const inner = rank - 1;
  if (rank >= 2 && nest.shape[inner] >= LEAST_TILE && needsTile(program, nest)) {
    const bytes = nest.strides.map((_, k) => bytesOf(program, k));
    const stride = nest.strides.map((s) => s[inner]);
    for (let d = rank - 2; d >= 0; d--) {
      if (nest.shape[d] < LEAST_TILE) continue;
      const tile = tileClasses(
        stride,
        nest.strides.map((s) => s[d]),
        bytes,
      );
      if (tile !== null) return walkAlong(program, nest, inner, d, tile);
    }
  }
  return walkAlong(program, nest, inner, rank - 2, null);
}

/** How operands are walked where several rows are computed together; null: one row at a time. */
function rowsTogether(program: Program, walk: Walk, always: boolean): LayoutClass[] | null {
  const { n, m, tile } = walk;
  if (tile !== null || m < TOGETHER || program.nodes[program.result].op === "tuple") return null;
  const bytes = n * bytesOf(program, 0);
  const pays = bytes >= LEAST_REPEATED && m * bytes >= LEAST_TOGETHER;
  return pays || always ? togetherClasses(walk.classes, walk.rowStride) : null;
}

function needsTile(program: Program, nest: LoopNest): boolean {
  if (program.nodes[program.result].op === "tuple") return false;
  const inner = nest.shape.length - 1;
  for (let k = 1; k < nest.strides.length; k++) {
    const s = nest.strides[k][inner];
    if (s !== 0 && s !== bytesOf(program, k)) return true;
  }
  return false;
}

function walkAlong(
  program: Program,
  nest: LoopNest,
  inner: number,
  rows: number,
  tile: readonly LayoutClass[] | null,
): Walk {
  const { shape, strides } = nest;
  const operands = strides.length;
  const stride = new Array<number>(operands);
  const rowStride = new Array<number>(operands);
  const classes = new Array<LayoutClass>(operands);
  for (let k = 0; k < operands; k++) {
    stride[k] = inner >= 0 ? strides[k][inner] : 0;
    rowStride[k] = rows >= 0 ? strides[k][rows] : 0;
    classes[k] = inner >= 0 ? layoutClass(stride[k], bytesOf(program, k)) : "contiguous";
  }
  const n = inner >= 0 ? shape[inner] : 1;
  const m = rows >= 0 ? shape[rows] : 1;
  return {
    n,
    m,
    stride,
    rowStride,
    classes,
    tile,
    outer: shape.length <= 2 ? noLoops : without(nest, inner, rows),
  };
}

const noLoops: LoopNest = { shape: [], strides: [], offsets: [], order: [], flipped: [] };

function without(nest: LoopNest, inner: number, rows: number): LoopNest {
  const keep = (_: unknown, d: number) => d !== inner && d !== rows;
  return { ...nest, shape: nest.shape.filter(keep), strides: nest.strides.map((s) => s.filter(keep)) };
}
