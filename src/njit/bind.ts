/**
 * Arguments and memory: the one file of njit that knows the heap. Tensors are used where they lie; typed arrays over the
 * heap too; others are copied in before a call and, if the function writes to them, out after it, arrays of one buffer
 * together, so that what overlaps outside overlaps inside.
 */
import { arrayFacts, type DType, dtypeOfArray, dtypes, toScalar, type Value } from "../dtype.ts";
import { engine } from "../engine.ts";
import { describe, fail, list, unreachable } from "../errors.ts";
import { withCaret } from "../frontend/refusal.ts";
import type { Heap } from "../memory/heap.ts";
import { allocate, checkWritable } from "../ops/strided.ts";
import type { Strided } from "../run/call.ts";
import { MOST_DESCRIPTOR, TEMPLATE } from "../run/descriptors.ts";
import { failForeign, isDerived, isTensor, live, type Tensor } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { overlaps, selfOverlaps } from "../view/overlap.ts";
import type { View } from "../view/view.ts";
import { compileModule } from "../wasm/assembler/module.ts";
import { emitCode, emitTasks } from "./emit.ts";
import type { ArgumentType, ArrayType } from "./infer.ts";
import { type Elements, type Failure, interpretCode } from "./interpret.ts";
import { type Code, eachStep } from "./ir.ts";
import { AXES, FAILURE, type ForkLayout, GO_ON, HEAD, type Layout, layoutOf } from "./layout.ts";
import { type ForkCall, ForkRunner, forkBytes, forkRoom, partialsAt, Stopped } from "./parallel.ts";
import { bigintError, type Cells, checkedArray, handleOf, indexError } from "./plain.ts";
import { MOST_SIZE, MOST_SMALL } from "./range.ts";
import { lineOf, OPERATION } from "./refuse.ts";
import type { Watch } from "./watch.ts";

/** What a call is given, read once. */
export type Bound =
  | { readonly kind: "scalar"; readonly type: ArgumentType; readonly value: Value }
  | { readonly kind: "tensor"; readonly type: ArrayType; readonly tensor: Tensor; readonly of: Strided }
  | { readonly kind: "typed"; readonly type: ArrayType; readonly array: ArrayBufferView }
  | { readonly kind: "none"; readonly type: ArgumentType };

/** One argument as far as it matters: what it is, and the type that code is made for. */
export function bindArgument(name: string, given: unknown): Bound {
  switch (typeof given) {
    case "undefined":
      return { kind: "none", type: { kind: "none" } };
    case "number": {
      const isInt = Number.isInteger(given) && Math.abs(given) <= MOST_SIZE && !Object.is(given, -0);
      const kind = isInt ? (Math.abs(given) <= MOST_SMALL ? "small" : "int") : "number";
      return { kind: "scalar", type: { kind }, value: given };
    }
    case "boolean":
      return { kind: "scalar", type: { kind: "bool" }, value: Number(given) };
    case "bigint":
      if (BigInt.asIntN(64, given) !== given) {
        fail(
          "value",
          OPERATION,
          `"${name}" is ${given}n, which does not fit i64.`,
          "Bigints have 64 bits here.",
        );
      }
      return { kind: "scalar", type: { kind: "i64" }, value: given };
    case "object":
      if (given !== null && isTensor(given)) return bindTensor(name, given);
      if (given !== null && ArrayBuffer.isView(given)) return bindTyped(name, given);
      if (isDerived(given)) failForeign(OPERATION, given);
  }
  return fail(
    "value",
    OPERATION,
    `"${name}" is ${describe(given)}.`,
    "Arguments are tensors, typed arrays, numbers, bigints and booleans.",
  );
}

function bindTensor(name: string, tensor: Tensor): Bound {
  const of = live(OPERATION, tensor);
  const { shape, strides, itemBytes } = of.frame;
  const rank = shape.length;
  if (shape.some((n) => n > MOST_SIZE) || sizeOf(shape) > MOST_SIZE) {
    fail(
      "shape",
      OPERATION,
      `"${name}" has shape ${list(shape)}.`,
      "An array has at most 2^31 - 2^16 elements here.",
    );
  }
  const type: ArrayType = {
    kind: "array",
    dtype: of.dtype,
    rank,
    unit: rank > 0 && strides[rank - 1] === itemBytes,
    writable: !of.readOnly,
    typed: false,
    clamped: false,
  };
  return { kind: "tensor", type, tensor, of };
}

function bindTyped(name: string, array: ArrayBufferView): Bound {
  const dtype = dtypeOfArray(array);
  if (dtype === null) {
    return fail("value", OPERATION, `"${name}" is a DataView.`, "Pass a typed array over its buffer.");
  }
  const clamped = Object.prototype.toString.call(array) === "[object Uint8ClampedArray]";
  if (lengthOf(array, dtype) > MOST_SIZE) {
    fail(
      "shape",
      OPERATION,
      `"${name}" has ${lengthOf(array, dtype)} elements.`,
      "At most 2^31 - 2^16 are supported.",
    );
  }
  const type: ArrayType = { kind: "array", dtype, rank: 1, unit: true, writable: true, typed: true, clamped };
  return { kind: "typed", type, array };
}

export const lengthOf = (array: ArrayBufferView, dtype: DType): number =>
  Math.floor(arrayFacts(array).byteLength / dtypes[dtype].bytes);

/* Compiled ------------------------------------------------------------------------------------------------- */

export interface Compiled {
  readonly code: Code;
  readonly layout: Layout;
  readonly bytes: Uint8Array;
  /** Milliseconds that making it took. */
  readonly compileTime: number;
  /** It asks whether it is to go on. */
  readonly guarded: boolean;
  /** Runs it; where it has forks, they belong to this call. */
  readonly run: (call: ForkCall) => void;
}

/** Bytes of code at the most: more is slower to make than any run is worth. */
const MOST_CODE = 1 << 21;

export function compile(make: () => Code, guarded = false): Compiled {
  const start = performance.now();
  const code = make();
  const layout = layoutOf(code);
  if (layout.bytes > MOST_DESCRIPTOR) {
    fail(
      "kernel",
      OPERATION,
      `the arguments and local arrays need ${layout.bytes} bytes; a call has room for ${MOST_DESCRIPTOR}.`,
      "Put values into a tensor, and pass large local arrays as arguments.",
    );
  }
  const { heap } = engine();
  const options = { shared: heap.shared, guarded };
  const bytes = emitCode(code, options).toBytes();
  if (bytes.length > MOST_CODE) {
    fail(
      "kernel",
      OPERATION,
      `the function unfolds to ${bytes.length} bytes of code.`,
      "Split it into several.",
    );
  }
  let watch: Watch | null = null;
  const imports = {
    m: heap.memory,
    fork: (number: number, turns: number, inOrder: number) => runner.fork(number, turns, inOrder !== 0),
    pulse: (): number => {
      const questions = watch?.next() ?? 1;
      if (!watch?.cancelled) return questions;
      heap.view.setInt32(TEMPLATE + HEAD.stop, -1, true);
      throw new Stopped();
    },
  };
  const { exports } = new WebAssembly.Instance(compileModule(bytes), { e: imports });
  const [main, task] = [exports.run, exports.task] as ((address: number) => void)[];
  const runner = new ForkRunner(
    layout,
    heap,
    () => engine().pool,
    task,
    () => emitTasks(code, options).toBytes(),
  );
  const run = (call: ForkCall): void => {
    watch = call.watch;
    runner.during(call, () => main(TEMPLATE));
  };
  return { code, layout, bytes, guarded, compileTime: performance.now() - start, run };
}

/** What became of a call's forks, for whoever listens. */
export interface CallReport {
  readonly forks: ForkCall["runs"];
  readonly inOrder: readonly boolean[];
  /** Arrays that were copied in, and out again if they were written to, in bytes. */
  readonly copied: number;
}

/** Runs it on the arguments. What was written before an error stays written. */
export function execute(
  compiled: Compiled,
  args: readonly Bound[],
  watch: Watch | null = null,
  tell: ((report: CallReport) => void) | null = null,
): unknown {
  const { code, layout, run } = compiled;
  if (watch?.isOver()) throw watch.error();
  const written = new Set(code.arrays.flatMap((a) => (a.written && a.argument !== null ? [a.argument] : [])));
  for (const i of written) {
    const bound = args[i];
    if (bound.kind !== "tensor") continue;
    checkWritable(OPERATION, bound.of);
    engine().recorder?.writes?.(OPERATION, bound.of);
    bound.of.storage.version++;
  }
  const { heap } = engine();
  return placed(args, written, heap, layout, (places, tasks, copied) => {
    const { view } = heap;
    view.setInt32(TEMPLATE + FAILURE.site, 0, true);
    view.setInt32(TEMPLATE + HEAD.stop, GO_ON, true);
    view.setInt32(TEMPLATE + HEAD.partials, partialsAt(layout, tasks), true);
    code.scalars.forEach(({ local, argument }, k) => {
      const { value } = args[argument] as Bound & { kind: "scalar" };
      dtypes[code.locals[local].dtype].write(view, TEMPLATE + layout.scalars[k], value);
    });
    code.arrays.forEach(({ argument }, k) => {
      if (argument === null) return;
      const at = layout.arrays[k];
      const { address, shape, strides } =
        places[argument] ?? unreachable(`njit: argument ${argument} is no array`);
      view.setInt32(TEMPLATE + at.address, address | 0, true);
      view.setInt32(TEMPLATE + at.size, sizeOf(shape), true);
      shape.forEach((n, d) => {
        view.setInt32(TEMPLATE + at.sizes[d], n, true);
        // Modulo 2^32, as addresses are.
        view.setInt32(TEMPLATE + at.strides[d], Number(BigInt.asIntN(32, BigInt(strides[d]))), true);
      });
    });
    const call: ForkCall = {
      tasks,
      watch,
      inOrder: layout.forks.map((fork) => sharesMemory(code, fork, places)),
      runs: layout.forks.map(() => ({ turns: 0, shared: 0, threads: 1, ordered: true })),
    };
    try {
      run(call);
    } catch (error) {
      if (watch?.cancelled) throw watch.error();
      const failure = failureOf(code, heap, places);
      throw failure === null ? error : accessError(code, failure);
    } finally {
      tell?.({ forks: call.runs, inOrder: call.inOrder, copied });
    }
    return resultsOf(compiled, args, (i, dtype) =>
      dtypes[dtype].read(heap.view, TEMPLATE + layout.results[i]),
    );
  });
}

/** What the call gives back: nothing, one thing or a list. */
function resultsOf(
  { code }: { code: Code },
  args: readonly Bound[],
  read: (i: number, dtype: DType) => Value,
): unknown {
  let scalars = 0;
  const values = code.results.map((result) => {
    if (typeof result === "string") return toScalar(read(scalars++, result), result);
    const bound = args[result.argument];
    return bound.kind === "tensor" ? bound.tensor : bound.kind === "typed" ? bound.array : undefined;
  });
  if (code.returns === "nothing") return undefined;
  return code.returns === "one" ? values[0] : values;
}

interface PlacedArray {
  readonly address: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

function failureOf(code: Code, heap: Heap, places: readonly (PlacedArray | null)[]): Failure | null {
  const word = heap.view.getInt32(TEMPLATE + FAILURE.site, true);
  if (word === 0) return null;
  const [site, axis] = [Math.floor(word / AXES) - 1, word % AXES];
  const { argument, length } = code.arrays[code.sites[site].array];
  const size = argument === null ? length : places[argument]!.shape[axis];
  return { site, axis, index: heap.view.getFloat64(TEMPLATE + FAILURE.index, true), size };
}

/** The error of an access that failed, with the line it stands on. */
export function accessError(code: Code, { site, axis, index, size }: Failure): Error {
  const { access, place } = code.sites[site];
  const where = withCaret(` (line ${lineOf(place)} of the function)`, place.source, place.span);
  return access === "/" || access === "BigInt"
    ? bigintError(access, index, where)
    : indexError(access, index, axis, size, where);
}

/** Does an array that a fork writes to lie over another that it uses, or over itself? Then it runs in order. */
function sharesMemory(code: Code, { step }: ForkLayout, places: readonly (PlacedArray | null)[]): boolean {
  const used = new Map<number, boolean>();
  eachStep(step.body, (s) => {
    if (s.op !== "load" && s.op !== "store") return;
    const { argument } = code.arrays[s.array];
    if (argument !== null) used.set(s.array, (used.get(s.array) ?? false) || s.op === "store");
  });
  if (![...used.values()].some(Boolean)) return false;
  const views = [...used.keys()].map((k): View => {
    const { argument, dtype } = code.arrays[k];
    const { address, shape, strides } = places[argument!]!;
    return { shape, strides, offset: address, itemBytes: dtypes[dtype].bytes };
  });
  return [...used.values()].some(
    (isWritten, k) =>
      isWritten && (selfOverlaps(views[k]) || views.some((other, j) => j !== k && overlaps(views[k], other))),
  );
}

/* Places ---------------------------------------------------------------------------------------------------- */

/** Bytes of one buffer that arrays lie over, and where they are in the heap. */
interface Group {
  readonly buffer: ArrayBufferLike;
  low: number;
  high: number;
  written: boolean;
  held: Strided | null;
}

/** Runs `body` with the address of every array; copies are made before and brought back after it. */
function placed<R>(
  args: readonly Bound[],
  written: ReadonlySet<number>,
  heap: Heap,
  layout: Layout,
  body: (places: readonly (PlacedArray | null)[], tasks: number, copied: number) => R,
): R {
  const groups = groupsOf(args, written, heap);
  const room = layout.forks.length === 0 ? TEMPLATE : forkRoom(layout);
  let held: Strided | null = null;
  try {
    if (room === null) held = allocate(OPERATION, "u8", [forkBytes(layout)]);
    const tasks = room ?? held!.storage.address;
    let copied = 0;
    for (const group of groups.values()) {
      const bytes = group.high - group.low;
      copied += bytes;
      group.held = allocate(OPERATION, "u8", [bytes]);
      if (bytes === 0) continue; // also of a buffer that was detached
      const source = new Uint8Array(group.buffer, group.low, bytes);
      heap.u8.set(source, group.held.storage.address);
    }
    const places = args.map((bound): PlacedArray | null => {
      if (bound.kind === "tensor") {
        const { storage, frame } = bound.of;
        return { address: storage.address + frame.offset, shape: frame.shape, strides: frame.strides };
      }
      if (bound.kind !== "typed") return null;
      const { dtype } = bound.type;
      const { buffer, byteOffset } = arrayFacts(bound.array);
      const group = groups.get(buffer);
      const address = group === undefined ? byteOffset : group.held!.storage.address + byteOffset - group.low;
      return { address, shape: [lengthOf(bound.array, dtype)], strides: [dtypes[dtype].bytes] };
    });
    try {
      return body(places, tasks, copied);
    } finally {
      for (const { buffer, low, high, written, held } of groups.values()) {
        if (!written || high === low) continue;
        const { address } = held!.storage;
        new Uint8Array(buffer, low, high - low).set(heap.u8.subarray(address, address + high - low));
      }
    }
  } finally {
    held?.storage.release();
    for (const { held } of groups.values()) held?.storage.release();
  }
}

/** Buffers of shared memory that were looked at: are they the heap's? */
const looked = new WeakMap<object, boolean>();

/**
 * Is it the heap's memory? When a shared memory grows it gets a new buffer, and arrays over the old one still lie in it: what is
 * written through the new one shows in the old one.
 */
function liesInHeap(buffer: ArrayBufferLike, heap: Heap): boolean {
  if (buffer === heap.buffer) return true;
  if (!heap.shared || buffer instanceof ArrayBuffer || buffer.byteLength < TEMPLATE + 4) return false;
  const known = looked.get(buffer);
  if (known !== undefined) return known;
  const [old, now] = [buffer, heap.buffer].map((b) => new Int32Array(b, TEMPLATE, 1));
  const before = now[0];
  const isSame = [0x5a17c0de, ~0x5a17c0de].every((word) => {
    Atomics.store(now, 0, word);
    return Atomics.load(old, 0) === word;
  });
  now[0] = before;
  looked.set(buffer, isSame);
  return isSame;
}

function groupsOf(
  args: readonly Bound[],
  written: ReadonlySet<number>,
  heap: Heap,
): Map<ArrayBufferLike, Group> {
  const groups = new Map<ArrayBufferLike, Group>();
  args.forEach((bound, i) => {
    if (bound.kind !== "typed") return;
    const { buffer, byteOffset, byteLength } = arrayFacts(bound.array);
    if (liesInHeap(buffer, heap)) return;
    const known = groups.get(buffer);
    const group = known ?? { buffer, low: byteOffset, high: byteOffset, written: false, held: null };
    group.low = Math.min(group.low, byteOffset);
    group.high = Math.max(group.high, byteOffset + byteLength);
    group.written ||= written.has(i);
    if (known === undefined) groups.set(buffer, group);
  });
  return groups;
}

/* Not compiled ---------------------------------------------------------------------------------------------- */

function cellsOf({ of }: Bound & { kind: "tensor" }, ask: (() => void) | null = null): Cells {
  const { dtype, frame, storage, readOnly } = of;
  const { read, write } = dtypes[dtype];
  const addressOf = (index: readonly number[]) =>
    index.reduce((at, i, d) => at + i * frame.strides[d], storage.address + frame.offset);
  return {
    dtype,
    shape: frame.shape,
    readOnly,
    read: (index) => {
      ask?.();
      return read(storage.heap.view, addressOf(index));
    },
    write: (index, value) => write(storage.heap.view, addressOf(index), value),
  };
}

/** What the user's own function is called with; `ask` is called at each element that is read. */
export function plainArgument(bound: Bound, ask: (() => void) | null): unknown {
  switch (bound.kind) {
    case "tensor":
      return handleOf(cellsOf(bound, ask));
    case "typed":
      return checkedArray(bound.array, ask);
    case "scalar":
      return bound.type.kind === "bool" ? bound.value !== 0 : bound.value;
    default:
      return undefined;
  }
}

/** Runs the code by the interpreter, on the arguments themselves. */
export function interpretOn(code: Code, args: readonly Bound[]): unknown {
  const scalars = new Map<number, Value>();
  const arrays = new Map<number, Elements>();
  args.forEach((bound, i) => {
    if (bound.kind === "scalar") scalars.set(i, bound.value);
    else if (bound.kind === "tensor") arrays.set(i, cellsOf(bound));
    else if (bound.kind === "typed") arrays.set(i, arrayElements(bound.array, bound.type.dtype));
  });
  const values = interpretCode(code, scalars, arrays);
  return resultsOf({ code }, args, (i) => values[i]);
}

function arrayElements(array: ArrayBufferView, dtype: DType): Elements {
  const { buffer, byteOffset, byteLength } = arrayFacts(array);
  const view = new DataView(buffer, byteOffset, byteLength);
  const { read, write, bytes } = dtypes[dtype];
  return {
    shape: [lengthOf(array, dtype)],
    read: ([i]) => read(view, i * bytes),
    write: ([i], value) => write(view, i * bytes, value),
  };
}
