/**
 * The iteration of a kernel as data, row by row on demand: for each ordinal the output's index and position, where each
 * operand is read, what was read and what was written. Positions count elements, as in the documents. `table()` prints it.
 */
import { type DType, toScalar, type Value } from "../dtype.ts";
import { broadcastIndex, positionOf, sizeOf, unravel } from "../view/layout.ts";
import type { View } from "../view/view.ts";

/** An operand with the values it held, read by byte offset; known from byte `start` to byte `end` of its storage. */
export interface Snapshot {
  readonly name: string;
  readonly dtype: DType;
  readonly frame: View;
  readonly storage: { readonly address: number; readonly bytes: number };
  readonly start: number;
  readonly end: number;
  readonly read: (byteOffset: number) => Value;
}

/** What an iteration is made from: the operands' values when they were read and written. */
export interface Trace {
  readonly form: string;
  readonly out: Snapshot;
  readonly inputs: readonly Snapshot[];
  /** reduce and scan: the folded axes of the input. */
  readonly axes: readonly number[];
}

export interface IterationOperand {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In elements, as the offset. */
  readonly strides: readonly number[];
  readonly offset: number;
  readonly itemBytes: number;
  /** Whose memory it is: operands of one storage have one address. */
  readonly address: number;
  /** Elements its storage has room for. */
  readonly length: number;
  /** The element at a position of the storage, as text; null where the report did not look. */
  at(position: number): string | null;
}

/** One element that was read. */
export interface Access {
  /** Which operand; 0 is the output. */
  readonly operand: number;
  readonly index: readonly number[];
  readonly position: number;
  readonly value: string;
}

export interface IterationRow {
  readonly ordinal: number;
  /** The output's index, its position, and what was written there. */
  readonly index: readonly number[];
  readonly position: number;
  readonly written: string;
  /** reduce and matmul: where the walk starts in each input. */
  readonly bases: readonly number[];
  /** In order; a matrix product reads a and b in turn. */
  readonly reads: readonly Access[];
}

export interface Iteration {
  readonly form: string;
  /** How many rows there are: one for each element of the output. */
  readonly count: number;
  /** Reads for each row. */
  readonly readsPerRow: number;
  /** The output first. */
  readonly operands: readonly IterationOperand[];
  /** One row; at most `most` of its reads are looked up. */
  row(ordinal: number, most?: number): IterationRow;
}

export function show(dtype: DType, value: Value): string {
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(7)));
  return String(toScalar(value, dtype));
}

export function iterationOf(trace: Trace): Iteration {
  const walk = walks[trace.form as keyof typeof walks] ?? elementwise;
  const { out } = trace;
  const { count, readsPerRow, bases, read } = walk(trace);
  return {
    form: trace.form,
    count,
    readsPerRow,
    operands: [out, ...trace.inputs].map(operandOf),
    row(ordinal, most = readsPerRow) {
      const index = unravel(ordinal, out.frame.shape);
      const position = positionIn(out, index);
      return {
        ordinal,
        index,
        position: position / out.frame.itemBytes,
        written: show(out.dtype, out.read(position)),
        bases: bases(ordinal, index),
        reads: Array.from({ length: Math.min(most, readsPerRow) }, (_, k) => read(ordinal, index, k)),
      };
    },
  };
}

interface Walk {
  readonly count: number;
  readonly readsPerRow: number;
  bases(ordinal: number, index: readonly number[]): number[];
  read(ordinal: number, index: readonly number[], k: number): Access;
}

/** map, zip, scans and copies: every input is read at the output's index. */
function elementwise({ out, inputs }: Trace): Walk {
  return {
    count: sizeOf(out.frame.shape),
    readsPerRow: inputs.length,
    bases: () => [],
    read: (_, index, k) => access(k + 1, inputs[k], index),
  };
}

/** Folds: a walk over the folded axes for each element that stays. */
function reduce({ inputs, axes }: Trace): Walk {
  const [input] = inputs;
  const { shape } = input.frame;
  const kept = shape.map((n, d) => (axes.includes(d) ? 1 : n));
  const folded = axes.map((d) => shape[d]);
  return {
    count: sizeOf(kept),
    readsPerRow: sizeOf(folded),
    bases: (ordinal) => [positionIn(input, unravel(ordinal, kept)) / input.frame.itemBytes],
    read(ordinal, _, k) {
      const index = unravel(ordinal, kept);
      unravel(k, folded).forEach((i, n) => {
        index[axes[n]] = i;
      });
      return access(1, input, index);
    },
  };
}

/** Matrix products: a is (…, m, k), b is (…, k, n), out (…, m, n). */
function matmul({ out, inputs }: Trace): Walk {
  const [a, b] = inputs;
  const inner = a.frame.shape[out.frame.shape.length - 1];
  const batchIn = (t: Snapshot, index: readonly number[]) =>
    broadcastIndex(index.slice(0, -2), t.frame.shape.slice(0, -2));
  const inA = (index: readonly number[], k: number) => [...batchIn(a, index), index[index.length - 2], k];
  const inB = (index: readonly number[], k: number) => [...batchIn(b, index), k, index[index.length - 1]];
  return {
    count: sizeOf(out.frame.shape),
    readsPerRow: 2 * inner,
    bases: (_, index) => [
      positionIn(a, inA(index, 0)) / a.frame.itemBytes,
      positionIn(b, inB(index, 0)) / b.frame.itemBytes,
    ],
    read: (_, index, k) =>
      k % 2 === 0 ? access(1, a, inA(index, k >> 1)) : access(2, b, inB(index, k >> 1)),
  };
}

const walks = { reduce, matmul };

const positionIn = (t: Snapshot, index: readonly number[]): number =>
  positionOf(index, t.frame.strides, t.frame.offset);

function access(operand: number, t: Snapshot, index: readonly number[]): Access {
  const position = positionIn(t, index);
  return {
    operand,
    // An axis of stride 0 reads its index 0 again and again.
    index: index.map((i, d) => (t.frame.strides[d] === 0 ? 0 : i)),
    position: position / t.frame.itemBytes,
    value: show(t.dtype, t.read(position)),
  };
}

function operandOf(t: Snapshot): IterationOperand {
  const { shape, strides, offset, itemBytes } = t.frame;
  return {
    name: t.name,
    dtype: t.dtype,
    shape,
    strides: strides.map((s) => s / itemBytes),
    offset: offset / itemBytes,
    itemBytes,
    address: t.storage.address,
    length: Math.floor(t.storage.bytes / itemBytes),
    at(position) {
      const byte = position * itemBytes;
      return byte < t.start || byte + itemBytes > t.end ? null : show(t.dtype, t.read(byte));
    },
  };
}
