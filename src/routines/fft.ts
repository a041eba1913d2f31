/**
 * Transforms of every line of one side, laid down on the other, in one pass over short lines and in two over long ones. A
 * side says where lines are and how their elements lie; tables, workspaces and tasks are made here, the work is
 * wasm/routines/fft/fft.ts.
 */
import { dtypes } from "../dtype.ts";
import type { Strided } from "../run/call.ts";
import { addressOf } from "../run/kernel.ts";
import { type Device, type Routine, type RoutineAbout, type Task, withScratch } from "../run/routine.ts";
import { PIECE } from "../run/split.ts";
import { sizeOf } from "../view/layout.ts";
import { emitFft, fftTask } from "../wasm/routines/fft/fft.ts";
import { CELL, type FftLane, linesOf } from "../wasm/routines/fft/kit.ts";
import {
  complexProductTask,
  emitComplexProduct,
  emitPairUpLines,
  pairUpTask,
} from "../wasm/routines/fft/lines.ts";
import { sideKinds } from "../wasm/routines/fft/sides.ts";
import { RADICES } from "../wasm/routines/fft/stages.ts";
import type { RoutineOptions } from "../wasm/routines/routine.ts";
import { halvesOf, powersOf, stagesOf, twistOf } from "./fft-tables.ts";

export const range = (n: number) => Array.from({ length: n }, (_, i) => i);

/** One side of a pass over lines. */
export interface Side {
  /** Where each line begins. */
  readonly lines: Int32Array;
  readonly kind: number;
  readonly step: number;
  readonly im: number;
  readonly count: number;
  readonly swap: boolean;
}

/** A side as the library describes it. */
export interface SideParams {
  readonly axis: number;
  /** Real numbers; else pairs, in an axis of their own at the end. */
  readonly isReal: boolean;
  /** Elements that are there, or are wanted. */
  readonly count: number;
  /** Imaginary and real parts change places: what makes a transform its inverse. */
  readonly swap: boolean;
  /** Real numbers seen as half as many complex ones: every second is an imaginary part. */
  readonly joined?: boolean;
}

function sideOf(t: Strided, { axis, isReal, count, swap, joined = false }: SideParams): Side {
  const { strides, itemBytes, shape } = t.frame;
  const rank = shape.length - (isReal ? 0 : 1);
  const others = range(rank).filter((d) => d !== axis);
  const step = strides[axis];
  const lines = addresses(
    addressOf(t),
    others.map((d) => shape[d]),
    others.map((d) => strides[d]),
  );
  const im = joined ? step : isReal ? 0 : strides[rank];
  const kind = isReal && !joined ? sideKinds.real : im === itemBytes ? sideKinds.pairs : sideKinds.apart;
  return { lines, kind, step: joined ? 2 * step : step, im, count, swap };
}

/** first + Σ strides[d]·i[d] for every index, in C order. */
function addresses(first: number, shape: readonly number[], strides: readonly number[]): Int32Array {
  let all = Int32Array.of(first);
  for (let d = 0; d < shape.length; d++) {
    const next = new Int32Array(all.length * shape[d]);
    for (let i = 0, at = 0; i < all.length; i++) {
      for (let j = 0; j < shape[d]; j++) next[at++] = all[i] + j * strides[d];
    }
    all = next;
  }
  return all;
}

interface Pass {
  readonly lane: FftLane;
  readonly length: number;
  readonly from: Side;
  readonly to: Side;
  readonly mirrored: number;
  readonly scale: number;
  /** The length of the whole transform, where this is its first half. */
  readonly twist: { readonly whole: number } | null;
  /** The complex numbers are a real signal of twice as many, taken apart before the stages or after them. */
  readonly real: "before" | "after" | null;
}

/** Elements a task has at the most: no thread may be silent for long. */
const TASK_ELEMENTS = 1 << 22;

function runPass(device: Device, about: RoutineAbout, pass: Pass): void {
  const { lane, length, from } = pass;
  const { routines, heap } = device;
  const lines = from.lines.length;
  const radices = factorsOf(length)!;
  const nanoseconds = lines * length * (4 + 1.5 * radices.length);
  const width = linesOf(lane);
  const slots = routines.isShared(nanoseconds) ? 4 * routines.threads : 1;
  const fair = Math.min(Math.ceil(lines / slots), TASK_ELEMENTS / length);
  const share = Math.ceil(Math.max(1, fair) / width) * width;

  const area = new Area();
  const stages = stagesOf(lane, length, radices);
  const factorsAt = area.put(stages.factors);
  const tables = { ...tablesOf(area, pass), stages: area.put(stages.words) };
  const workspace = 2 * (length + 1) * CELL;
  const workspaces = area.room(workspace * Math.min(slots, Math.ceil(lines / share)));
  withScratch(device, about.operation, area.bytes, (base) => {
    area.write(heap.buffer, base);
    const words = new Int32Array(heap.buffer, base + tables.stages, stages.words.length);
    for (let s = 0; s < radices.length; s++) words[3 + 3 * s] += base + factorsAt;
    const numbers = numbersOf(pass);
    for (const [name, at] of Object.entries(tables)) numbers[name as Word] = base + at;
    const taskFor = (first: number, slot: number): Task =>
      fftTask.of({
        ...numbers,
        workspace: base + workspaces + slot * workspace,
        lines: Math.min(share, lines - first),
        line: first,
        from: numbers.from! + 4 * first,
        to: numbers.to! + 4 * first,
      });
    const used = [...new Set(radices)].sort((a, b) => a - b);
    for (let first = 0; first < lines; ) {
      const tasks: Task[] = [];
      for (; first < lines && tasks.length < slots; first += share) tasks.push(taskFor(first, tasks.length));
      routines.run(`fft ${lane} ${used}`, (o) => emitFft(lane, used, o), tasks, nanoseconds, about);
    }
  });
}

type Word = keyof typeof fftTask.at;

/** Lays down the tables that a pass reads; where each begins, by the word that says so. */
function tablesOf(area: Area, { lane, length, from, to, twist, real }: Pass): Partial<Record<Word, number>> {
  const at: Partial<Record<Word, number>> = { from: area.put(from.lines), to: area.put(to.lines) };
  if (twist !== null) {
    const { lanes, coarse, fine } = twistOf(lane, length, twist.whole);
    Object.assign(at, { twist: area.put(lanes), coarse: area.put(coarse), fine: area.put(fine) });
  }
  if (real !== null) at[real] = area.put(halvesOf(lane, 2 * length, real === "before"));
  return at;
}

/** The fields of a task that are no addresses. */
function numbersOf({ length, from, to, mirrored, scale, twist }: Pass): Partial<Record<Word, number>> {
  const numbers = {
    length,
    fromKind: from.kind,
    fromStep: from.step,
    fromIm: from.im,
    fromCount: from.count,
    fromSwap: from.swap ? 1 : 0,
    mirrored,
    toKind: to.kind,
    toStep: to.step,
    toIm: to.im,
    toCount: to.count,
    toSwap: to.swap ? 1 : 0,
    scale,
  };
  if (twist === null) return numbers;
  return { ...numbers, whole: twist.whole, shift: powersOf(twist.whole).shift };
}

/** One block of memory and what is to lie in it, in pieces that are multiples of 64 bytes. */
class Area {
  bytes = 0;
  readonly #pieces: { readonly at: number; readonly data: ArrayBufferView }[] = [];

  room(bytes: number): number {
    const at = this.bytes;
    this.bytes += Math.ceil(bytes / 64) * 64;
    return at;
  }
  put(data: ArrayBufferView): number {
    const at = this.room(data.byteLength);
    this.#pieces.push({ at, data });
    return at;
  }
  write(buffer: ArrayBufferLike, base: number): void {
    for (const { at, data } of this.#pieces) {
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      new Uint8Array(buffer, base + at, bytes.length).set(bytes);
    }
  }
}

/** n as a product of radices that have butterflies; null if there is none. */
export function factorsOf(n: number): readonly number[] | null {
  const factors: number[] = [];
  for (const radix of RADICES) {
    while (n % radix === 0) {
      factors.push(radix);
      n /= radix;
    }
  }
  return n === 1 ? factors : null;
}

/* What is asked for ------------------------------------------------------------------------------------ */

export interface FftParams {
  /** Complex numbers that are transformed: smooth. */
  readonly length: number;
  readonly from: SideParams;
  readonly to: SideParams;
  /** So many elements of each line are there once more, conjugated, from the end backwards. */
  readonly mirrored: number;
  readonly scale: number;
  readonly real: Pass["real"];
  /** Lines too long for the cache are visited twice. */
  readonly isLong: boolean;
}

export const fftRoutine: Routine<FftParams> = {
  name: "fft",
  run(device, { operation, params, inputs: [t], outs: [out] }) {
    const { length, mirrored, scale, real, isLong } = params;
    const lane = t.dtype as FftLane;
    const [from, to] = [sideOf(t, params.from), sideOf(out, params.to)];
    const about = { operation, inputs: [t], out, bytes: null };
    if (isLong) twoVisits(device, operation, lane, length, from, to, scale);
    else runPass(device, about, { lane, length, from, to, mirrored, scale, twist: null, real });
  },
};

/**
 * n = n1·n2: element j1·n2 + j2 is column j2 of n1 rows, result k1 + n1·k2 is row k1 of n2. The columns' transforms are
 * turned by exp(-2πi·j2·k1 / n) and laid down as rows, whose transforms go to where they belong: the first to.count.
 */
function twoVisits(
  device: Device,
  operation: string,
  lane: FftLane,
  n: number,
  from: Side,
  to: Side,
  scale: number,
): void {
  const n1 = nearestSquare(n);
  const n2 = n / n1;
  const { bytes } = dtypes[lane];
  const pair = 2 * bytes;
  // Rows a whole number of pages apart would crowd into few sets of the cache.
  const row = Math.ceil((n2 * pair) / 64) * 64 + 64;
  const middle = { kind: sideKinds.pairs, im: bytes, swap: false };
  const rest = { lane, mirrored: 0, real: null };
  // Where fewer than n results are wanted, the first rows have one more than the others.
  const more = to.count % n1;
  const parts = [
    { first: 0, last: more, count: Math.ceil(to.count / n1) },
    { first: more, last: n1, count: Math.floor(to.count / n1) },
  ].filter(({ first, last, count }) => first < last && count > 0);
  withScratch(device, operation, n1 * row, (between) => {
    const columns = addresses(between, [n2], [pair]);
    const rows = addresses(between, [n1], [row]);
    for (let line = 0; line < from.lines.length; line++) {
      const sources = addresses(from.lines[line], [n2], [from.step]);
      const targets = addresses(to.lines[line], [n1], [to.step]);
      runPass(
        device,
        { operation },
        {
          ...rest,
          length: n1,
          from: { ...from, lines: sources, step: n2 * from.step, count: n1 },
          to: { ...middle, lines: columns, step: row, count: n1 },
          scale: 1,
          twist: { whole: n },
        },
      );
      for (const { first, last, count } of parts) {
        runPass(
          device,
          { operation },
          {
            ...rest,
            length: n2,
            from: { ...middle, lines: rows.subarray(first, last), step: pair, count: n2 },
            to: { ...to, lines: targets.subarray(first, last), step: n1 * to.step, count },
            scale,
            twist: null,
          },
        );
      }
    }
  });
}

/** The largest divisor of n up to its root. */
function nearestSquare(n: number): number {
  let divisor = Math.floor(Math.sqrt(n));
  while (n % divisor !== 0) divisor--;
  return divisor;
}

/** As `real` in a pass, for lines of h pairs (and one more) that are too long for one: in place. */
export const pairUpRoutine: Routine<{
  readonly side: SideParams;
  readonly h: number;
  readonly when: "before" | "after";
}> = {
  name: "fft pairs",
  run(device, { operation, params: { side, h, when }, outs: [t] }) {
    const lane = t.dtype as FftLane;
    const { lines, step, im } = sideOf(t, side);
    const { shift, coarse, fine } = powersOf(2 * h);
    withScratch(device, operation, coarse.byteLength + fine.byteLength, (at) => {
      const fineAt = at + coarse.byteLength;
      new Float64Array(device.heap.buffer, at, coarse.length).set(coarse);
      new Float64Array(device.heap.buffer, fineAt, fine.length).set(fine);
      const tasks: Task[] = [];
      const pairs = (h >> 1) + 1;
      for (const line of lines) {
        for (let k = 0; k < pairs; k += PIECE) {
          const count = Math.min(PIECE, pairs - k);
          tasks.push(pairUpTask.of({ line, step, im, h, first: k, count, coarse: at, fine: fineAt, shift }));
        }
      }
      const name = `fft pairs ${lane} ${when}`;
      const emit = (o: RoutineOptions) => emitPairUpLines(lane, when, o);
      device.routines.run(name, emit, tasks, 10 * lines.length * h, { operation });
    });
  },
};

/** Pairs of a line that one task multiplies. */
const PRODUCT_PIECE = 8192;

/** The first `count` pairs of every line times the pairs of `by`. The output is dense: lines of pairs of f64. */
export const complexProductRoutine: Routine<{ readonly by: Float64Array; readonly count: number }> = {
  name: "complex product",
  run(device, { operation, params: { by, count }, outs: [work] }) {
    const { shape } = work.frame;
    const lineBytes = shape[shape.length - 2] * 16;
    const lines = sizeOf(shape.slice(0, -2));
    if (lineBytes === 0) return;
    withScratch(device, operation, 16 * count, (table) => {
      new Float64Array(device.heap.buffer, table, 2 * count).set(by);
      const tasks: Task[] = [];
      for (let line = 0; line < lines; line++) {
        for (let i = 0; i < count; i += PRODUCT_PIECE) {
          const at = addressOf(work) + line * lineBytes + 16 * i;
          const n = Math.min(PRODUCT_PIECE, count - i);
          tasks.push(complexProductTask.of({ at, by: table + 16 * i, n }));
        }
      }
      const about = { operation, out: work };
      device.routines.run("complex product", emitComplexProduct, tasks, lines * count, about);
    });
  },
};
