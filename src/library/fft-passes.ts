/**
 * Passes: one transform of every line of one side, laid down on the other. A side says where lines are and how their
 * elements lie; tables, workspaces and tasks are made here, the work is wasm/routines/fft/fft.ts.
 */
import { dtypes } from "../dtype.ts";
import { engine } from "../engine.ts";
import { createStorage } from "../memory/storage.ts";
import type { RoutineAbout, Task } from "../run/routine.ts";
import { stridedOf, type Tensor } from "../tensor.ts";
import { emitFft, FFT_WORDS, fftTask } from "../wasm/routines/fft/fft.ts";
import { CELL, type FftLane, linesOf } from "../wasm/routines/fft/kit.ts";
import { emitPairUpLines } from "../wasm/routines/fft/lines.ts";
import { sideKinds } from "../wasm/routines/fft/sides.ts";
import { RADICES } from "../wasm/routines/fft/stages.ts";
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

export function sideOf(t: Tensor, axis: number, isReal: boolean, count: number, swap: boolean): Side {
  const { strides, offset, itemBytes, shape } = stridedOf(t).frame;
  const rank = shape.length - (isReal ? 0 : 1);
  const others = range(rank).filter((d) => d !== axis);
  const im = isReal ? 0 : strides[rank];
  return {
    lines: addresses(
      stridedOf(t).storage.address + offset,
      others.map((d) => shape[d]),
      others.map((d) => strides[d]),
    ),
    kind: isReal ? sideKinds.real : im === itemBytes ? sideKinds.pairs : sideKinds.apart,
    step: strides[axis],
    im,
    count,
    swap,
  };
}

/** first + Σ strides[d]·i[d] for every index, in C order. */
export function addresses(first: number, shape: readonly number[], strides: readonly number[]): Int32Array {
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

/** Real numbers seen as half as many complex ones: every second is an imaginary part. */
export function joined(side: Side, lane: FftLane): Side {
  const kind = side.step === dtypes[lane].bytes ? sideKinds.pairs : sideKinds.apart;
  return { ...side, kind, im: side.step, step: 2 * side.step };
}

export interface Pass {
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

export function runPass(about: RoutineAbout, pass: Pass): void {
  const { operation } = about;
  const { lane, length, from } = pass;
  const { routines, heap } = engine();
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
  const storage = createStorage(heap, area.bytes, operation);
  try {
    const base = storage.address;
    area.write(heap.buffer, base);
    const words = new Int32Array(heap.buffer, base + tables.stages, stages.words.length);
    for (let s = 0; s < radices.length; s++) words[3 + 3 * s] += base + factorsAt;
    const common = numbersOf(pass);
    for (const [name, at] of Object.entries(tables)) common[fftTask[name as Word]] = base + at;
    const taskFor = (first: number, slot: number): Task => {
      const task = Array.from(common);
      task[fftTask.workspace] = base + workspaces + slot * workspace;
      task[fftTask.lines] = Math.min(share, lines - first);
      task[fftTask.line] = first;
      task[fftTask.from] += 4 * first;
      task[fftTask.to] += 4 * first;
      return task;
    };
    const used = [...new Set(radices)].sort((a, b) => a - b);
    for (let first = 0; first < lines; ) {
      const tasks: Task[] = [];
      for (; first < lines && tasks.length < slots; first += share) tasks.push(taskFor(first, tasks.length));
      routines.run(`fft ${lane} ${used}`, (o) => emitFft(lane, used, o), tasks, nanoseconds, about);
    }
  } finally {
    storage.release();
  }
}

type Word = keyof typeof fftTask;

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

/** The words of a task that are no addresses. */
function numbersOf({ length, from, to, mirrored, scale, twist }: Pass): Int32Array {
  const w = new Int32Array(FFT_WORDS);
  w[fftTask.length] = length;
  w[fftTask.fromKind] = from.kind;
  w[fftTask.fromStep] = from.step;
  w[fftTask.fromIm] = from.im;
  w[fftTask.fromCount] = from.count;
  w[fftTask.fromSwap] = from.swap ? 1 : 0;
  w[fftTask.mirrored] = mirrored;
  w[fftTask.toKind] = to.kind;
  w[fftTask.toStep] = to.step;
  w[fftTask.toIm] = to.im;
  w[fftTask.toCount] = to.count;
  w[fftTask.toSwap] = to.swap ? 1 : 0;
  if (twist !== null) {
    w[fftTask.whole] = twist.whole;
    w[fftTask.shift] = powersOf(twist.whole).shift;
  }
  new Float64Array(w.buffer)[fftTask.scale / 2] = scale;
  return w;
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

/** Elements of a line that one task takes. */
const LINE_PIECE = 1 << 14;

/** As `real` in a pass, for lines of h pairs (and one more) that are too long for one: in place. */
export function pairUpLines(
  operation: string,
  lane: FftLane,
  { lines, step, im }: Side,
  h: number,
  when: "before" | "after",
): void {
  const { routines, heap } = engine();
  const { shift, coarse, fine } = powersOf(2 * h);
  const storage = createStorage(heap, coarse.byteLength + fine.byteLength, operation);
  try {
    const at = storage.address;
    new Float64Array(heap.buffer, at, coarse.length).set(coarse);
    new Float64Array(heap.buffer, at + coarse.byteLength, fine.length).set(fine);
    const tasks: Task[] = [];
    const pairs = (h >> 1) + 1;
    for (const line of lines) {
      for (let k = 0; k < pairs; k += LINE_PIECE) {
        const count = Math.min(LINE_PIECE, pairs - k);
        tasks.push([line, step, im, h, k, count, at, at + coarse.byteLength, shift]);
      }
    }
    const name = `fft pairs ${lane} ${when}`;
    routines.run(name, (o) => emitPairUpLines(lane, when, o), tasks, 10 * lines.length * h, { operation });
  } finally {
    storage.release();
  }
}
