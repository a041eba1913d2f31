/** Strided copies: any layouts, any dtype pair, overlap-safe. The destination's other bytes stay untouched. */
import { type DType, dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { fail, list } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import type { Program } from "../ir/node.ts";
import type { PlannedWalk } from "../run/kernel.ts";
import { sizeOf } from "../view/layout.ts";
import { kOrderPermutation, type LoopNest, planLoops, viewInOrder } from "../view/loops.ts";
import { overlaps } from "../view/overlap.ts";
import { reshape } from "../view/reshape.ts";
import { broadcastTo, contiguousView, isContiguous, type View } from "../view/view.ts";
import {
  absolute,
  allocate,
  checkAlive,
  checkWritable,
  filled,
  type Strided,
  withTemporary,
} from "./strided.ts";

/** dst[…] = src[…], src broadcast to dst's shape; as if src had been copied first. */
export function assign(operation: string, dst: Strided, src: Strided): void {
  checkWritable(operation, dst);
  checkAlive(operation, src);
  const view = sameShape(dst.frame.shape, src.frame.shape)
    ? src.frame
    : broadcastFor(operation, dst.frame, src.frame);
  copyElements(operation, dst, { ...src, frame: view });
}

/** ggml's copy: elements in C order of each side's own shape; only the counts must agree. */
export function assignFlat(operation: string, dst: Strided, src: Strided): void {
  checkWritable(operation, dst);
  checkAlive(operation, src);
  const have = sizeOf(src.frame.shape);
  const want = sizeOf(dst.frame.shape);
  if (have !== want) {
    fail(
      "shape",
      operation,
      `the element counts differ: source ${list(src.frame.shape)} has ${have}, destination ${list(dst.frame.shape)} has ${want}.`,
      "Both sides are read in row-major order; slice or reshape one of them until the counts agree.",
    );
  }
  copyElements(operation, dst, src);
}

/** A dense copy in the given dtype, in C order or (`keepOrder`) in the source's memory order, as NumPy's astype. */
export function copyTo<D extends Strided["dtype"]>(
  operation: string,
  src: Strided,
  dtype: D,
  keepOrder = false,
): Strided<D> {
  checkAlive(operation, src);
  const { frame } = src;
  const order = keepOrder && !isContiguous(frame) ? kOrderPermutation([frame], frame.shape) : null;
  const layout = order === null ? undefined : viewInOrder(frame.shape, dtypes[dtype].bytes, order);
  const out = allocate(operation, dtype, frame.shape, layout);
  return filled(out, () => copyElements(operation, out, src));
}

/** Equal element counts are given. */
function copyElements(operation: string, dst: Strided, src: Strided): void {
  if (sizeOf(dst.frame.shape) === 0) return;
  if (dst.storage === src.storage && overlaps(dst.frame, src.frame)) {
    if (dst.dtype === src.dtype && dst.frame.offset === src.frame.offset && sameStrides(dst.frame, src.frame))
      return;
    const view = contiguousView(src.frame.shape, dtypes[src.dtype].bytes);
    const copy = allocate(operation, src.dtype, src.frame.shape, view);
    engine().listener?.({
      kind: "copy",
      operation,
      bytes: copy.storage.bytes,
      why: "source and destination overlap, so the source is copied first",
    });
    withTemporary(copy, () => {
      runCopy(operation, copy, src);
      runCopy(operation, dst, copy);
    });
    return;
  }
  runCopy(operation, dst, src);
}

/** A copy that was planned, for any two sides of these strides. */
interface CopyCall {
  readonly dst: View;
  readonly src: View;
  readonly planned: PlannedWalk;
  /** Bytes from where each frame begins to where it is walked from. */
  readonly shifts: readonly [dst: number, src: number];
  readonly simd: boolean;
}
const MOST_COPIES = 8;
/** The latest ones, by program. */
const copies = new Map<Program, CopyCall[]>();

function copyAgain(dst: Strided, src: Strided): boolean {
  const { kernels, listener } = engine();
  const known = copies.get(copyProgram(src.dtype, dst.dtype));
  if (listener !== null || known === undefined) return false;
  for (const call of known) {
    if (call.simd !== kernels.simd || !sameStrides(dst.frame, call.dst) || !sameStrides(src.frame, call.src))
      continue;
    const to = dst.storage.address + dst.frame.offset + call.shifts[0];
    const from = src.storage.address + src.frame.offset + call.shifts[1];
    kernels.walk(call.planned, [to, from], []);
    return true;
  }
  return false;
}

function remember(
  program: Program,
  dst: Strided,
  src: Strided,
  { offsets }: LoopNest,
  planned: PlannedWalk,
): void {
  const known = copies.get(program) ?? [];
  copies.set(program, known);
  known.unshift({
    dst: dst.frame,
    src: src.frame,
    planned,
    shifts: [
      offsets[0] - dst.storage.address - dst.frame.offset,
      offsets[1] - src.storage.address - src.frame.offset,
    ],
    simd: engine().kernels.simd,
  });
  if (known.length > MOST_COPIES) known.pop();
}

/** The two sides share no element. */
function runCopy(operation: string, dst: Strided, src: Strided): void {
  if (copyAgain(dst, src)) return;
  const view = sameShape(dst.frame.shape, src.frame.shape) ? src.frame : reshape(src.frame, dst.frame.shape);
  if (view === null) {
    const turned = reshape(dst.frame, src.frame.shape);
    if (turned !== null) {
      runCopy(operation, { ...dst, frame: turned }, src);
      return;
    }
    // No strides see the source in the destination's shape: bring it into row-major order first.
    const dense = allocate(operation, src.dtype, src.frame.shape);
    engine().listener?.({
      kind: "copy",
      operation,
      bytes: dense.storage.bytes,
      why: `no strides see the source's ${list(src.frame.shape)} as ${list(dst.frame.shape)}, so it is brought into row-major order first`,
    });
    withTemporary(dense, () => {
      runCopy(operation, dense, src);
      runCopy(operation, dst, { ...dense, frame: contiguousView(dst.frame.shape, dtypes[src.dtype].bytes) });
    });
    return;
  }
  const e = engine();
  const nest = absolute(planLoops([dst.frame, view]), [dst, src]);
  e.listener?.({
    kind: "operation",
    operation,
    form: "copy",
    source: src.dtype === dst.dtype ? "x => x" : `x => ${dst.dtype}(x)`,
    out: dst,
    inputs: [{ dtype: src.dtype, storage: src.storage, frame: view }],
  });
  if (src.dtype === dst.dtype && isOneRun(nest, dst.frame.itemBytes)) {
    const bytes = dst.frame.itemBytes * (nest.shape[0] ?? 1);
    e.kernels.copyBytes(nest.offsets[0], nest.offsets[1], bytes);
    e.listener?.({
      kind: "kernel",
      operation,
      backend: "wasm",
      detail: { nest, bytes, parallel: e.kernels.shared },
    });
    return;
  }
  const program = copyProgram(src.dtype, dst.dtype);
  const planned = e.kernels.plan(program, nest);
  if (planned !== null) {
    e.kernels.walk(planned, nest.offsets, []);
    if (e.listener === null) remember(program, dst, src, nest, planned);
  }
  e.listener?.({
    kind: "kernel",
    operation,
    backend: "wasm",
    detail: {
      program,
      nest,
      kernel: planned && (planned.tile ?? planned.kernel),
      parallel: e.kernels.shared,
    },
  });
}

/** Both sides are one run of bytes. */
function isOneRun(nest: LoopNest, itemBytes: number): boolean {
  if (nest.shape.length === 0) return true;
  return nest.shape.length === 1 && nest.strides[0][0] === itemBytes && nest.strides[1][0] === itemBytes;
}

/** What memory of that many bytes an element is moved as: the bits stay unread, so NaNs keep their payload. */
const rawTypes = { 1: "u8", 2: "u16", 4: "u32", 8: "u64" } as const;
const programs = new Map<string, Program>();

/** x => x, converted: four programs serve all copies of one dtype. */
function copyProgram(from: DType, to: DType): Program {
  const key = from === to ? rawTypes[dtypes[from].bytes] : `${from}>${to}`;
  let program = programs.get(key);
  if (program === undefined) {
    const b = new Builder();
    if (from === to)
      program = b.finish(b.input(0, rawTypes[dtypes[from].bytes]), [rawTypes[dtypes[from].bytes]]);
    else program = b.finish(b.cast(to, b.input(0, from)), [from]);
    programs.set(key, program);
  }
  return program;
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let d = 0; d < a.length; d++) if (a[d] !== b[d]) return false;
  return true;
}

/** Are two frames the same but for where they begin? */
export function sameStrides(a: View, b: View): boolean {
  return a === b || (sameShape(a.shape, b.shape) && sameShape(a.strides, b.strides));
}

function broadcastFor(operation: string, dst: View, src: View): View {
  // As NumPy's assignment: leading axes of size 1 that the destination has not got are nothing to repeat.
  const extra = src.shape.length - dst.shape.length;
  const spare = extra > 0 && src.shape.slice(0, extra).every((n) => n === 1) ? extra : 0;
  const fitting =
    spare === 0 ? src : { ...src, shape: src.shape.slice(spare), strides: src.strides.slice(spare) };
  try {
    return broadcastTo(fitting, dst.shape);
  } catch {
    return fail(
      "shape",
      operation,
      `a source of shape ${list(src.shape)} does not broadcast to the destination's ${list(dst.shape)}.`,
      "Sizes align at the right; each must be equal, or 1 in the source.",
    );
  }
}
