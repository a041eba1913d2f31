/**
 * The iteration of a kernel as data, row by row on demand: for each ordinal the output's index and position, where each
 * operand is read, what was read and what was written. Positions count elements, as in the documents. `table()` prints it.
 */
import { type DType, toScalar, type Value } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import type { Place } from "../memory/storage.ts";
import { readOptions } from "../ops/arguments.ts";
import { broadcastIndex, positionOf, sizeOf, unravel } from "../view/layout.ts";
import type { View } from "../view/view.ts";

/**
 * An operand with the values it held when the kernel ran, by byte offset in its storage; null for what was not kept.
 * All that lies from byte `start` to byte `end` was kept if it is whole; else a sample.
 */
export interface Snapshot {
  readonly name: string;
  readonly dtype: DType;
  readonly frame: View;
  readonly place: Place;
  readonly start: number;
  readonly end: number;
  readonly whole: boolean;
  readonly read: (byteOffset: number) => Value | null;
}

/** What an iteration is made from: the operands' values when they were read and written. */
export interface Trace {
  readonly form: string;
  readonly out: Snapshot;
  readonly inputs: readonly Snapshot[];
  /** reduce and scan: the folded axes of the input. */
  readonly axes: readonly number[];
}

/** An operand as it was when the kernel ran. */
export interface IterationOperand {
  /** As the table names it. */
  readonly name: string;
  /** The kind of its elements. */
  readonly dtype: DType;
  /** The sizes of its axes. */
  readonly shape: readonly number[];
  /** In elements, as the offset. */
  readonly strides: readonly number[];
  /** Position of its first element. */
  readonly offset: number;
  /** Bytes of an element. */
  readonly itemBytes: number;
  /** Whose memory it is: operands of one storage have one address. */
  readonly address: number;
  /** Elements its storage has room for. */
  readonly length: number;
  /** Were all its values kept? Of a very large operand only a sample is: see `at`. */
  readonly whole: boolean;
  /** The element at a position of the storage when the kernel ran, as text; null where the report did not look. */
  at(position: number): string | null;
}

/** One element that was read. */
export interface Access {
  /** Which operand; 0 is the output. */
  readonly operand: number;
  /** The operand's index. */
  readonly index: readonly number[];
  /** Its position in the storage, in elements. */
  readonly position: number;
  /** "?" where the value was not kept. */
  readonly value: string;
}

/** One element of the output, and what was read for it. */
export interface IterationRow {
  /** Which row it is, from 0. */
  readonly ordinal: number;
  /** The output's index, its position, and what was written there. */
  readonly index: readonly number[];
  /** Position in the output's storage, in elements. */
  readonly position: number;
  /** What was written there, as text. */
  readonly written: string;
  /** reduce and matmul: where the walk starts in each input. */
  readonly bases: readonly number[];
  /** In order; each step of a walk reads every input in turn. The first ones, where there are many. */
  readonly reads: readonly Access[];
}

/** Which reads of a row are looked up. */
export interface RowOptions {
  /** At the most so many; default 256. */
  readonly most?: number;
  /** The first of them; default 0. */
  readonly from?: number;
}

/** Reads that a row looks up unless told otherwise, and rows of an iteration as JSON. */
const MOST_READS = 256;
const MOST_ROWS = 24;

/** What a kernel did, element by element. */
export interface Iteration {
  /** Which kind of call it was: "elementwise", "reduce", "matmul" …. */
  readonly form: string;
  /** How many rows there are: one for each element of the output. */
  readonly count: number;
  /** Reads for each row. */
  readonly readsPerRow: number;
  /** Reads of one step of the walk: one for each input. */
  readonly readsPerStep: number;
  /** The output first. */
  readonly operands: readonly IterationOperand[];
  /** One row; at most `most` of its reads are looked up, 256 by default. */
  row(ordinal: number, most?: number | RowOptions): IterationRow;
  /** The same as plain data, with the first 24 rows. */
  toJSON(): object;
}

export function show(dtype: DType, value: Value | null): string {
  if (value === null) return "?";
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(7)));
  return String(toScalar(value, dtype));
}

export function iterationOf(trace: Trace): Iteration {
  const walk = walks[trace.form as keyof typeof walks] ?? elementwise;
  const { out } = trace;
  const { count, readsPerRow, bases, read } = walk(trace);
  const facts = { form: trace.form, count, readsPerRow, readsPerStep: trace.inputs.length };
  return {
    ...facts,
    operands: [out, ...trace.inputs].map(operandOf),
    row(ordinal, options = {}) {
      const { most = MOST_READS, from = 0 } =
        typeof options === "number"
          ? { most: options, from: 0 }
          : readOptions("row", options, "{ most: 24 }", ["most", "from"]);
      checkOrdinal(ordinal, count);
      for (const [name, value] of Object.entries({ most, from })) {
        if (!(Number.isInteger(value) && value >= 0))
          fail("value", "row", `${name} is ${describe(value)}.`, "Give a whole number of reads, from 0.");
      }
      const index = unravel(ordinal, out.frame.shape);
      const position = positionIn(out, index);
      return {
        ordinal,
        index,
        position: position / out.frame.itemBytes,
        written: show(out.dtype, out.read(position)),
        bases: bases(ordinal, index),
        reads: Array.from({ length: Math.max(0, Math.min(most, readsPerRow - from)) }, (_, k) =>
          read(ordinal, index, from + k),
        ),
      };
    },
    toJSON() {
      const rows = Array.from({ length: Math.min(count, MOST_ROWS) }, (_, i) => this.row(i, MOST_ROWS));
      return { ...facts, operands: this.operands.map(({ at: _, ...o }) => o), rows };
    },
  };
}

function checkOrdinal(ordinal: number, count: number): void {
  if (Number.isInteger(ordinal) && ordinal >= 0 && ordinal < count) return;
  const rows = count === 0 ? "there are no rows" : `rows are numbered 0 … ${count - 1}`;
  fail(
    "value",
    "row",
    `the row is ${describe(ordinal)}; ${rows}.`,
    "Use a whole number below iteration.count.",
  );
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

/** Folds: a walk over the folded axes for each element that stays; each step reads every input. */
function reduce({ inputs, axes }: Trace): Walk {
  const { shape } = inputs[0].frame;
  const kept = shape.map((n, d) => (axes.includes(d) ? 1 : n));
  const folded = axes.map((d) => shape[d]);
  return {
    count: sizeOf(kept),
    readsPerRow: sizeOf(folded) * inputs.length,
    bases: (ordinal) => inputs.map((t) => positionIn(t, unravel(ordinal, kept)) / t.frame.itemBytes),
    read(ordinal, _, k) {
      const index = unravel(ordinal, kept);
      unravel(Math.floor(k / inputs.length), folded).forEach((i, n) => {
        index[axes[n]] = i;
      });
      const input = k % inputs.length;
      return access(input + 1, inputs[input], index);
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
    address: t.place.address,
    length: Math.floor(t.place.bytes / itemBytes),
    whole: t.whole,
    at(position) {
      const byte = position * itemBytes;
      const value = byte < t.start || byte + itemBytes > t.end ? null : t.read(byte);
      return value === null ? null : show(t.dtype, value);
    },
  };
}
