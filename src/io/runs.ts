/**
 * A slice of a file as the runs of bytes that hold it. In rising order of the file they are a dense copy, in the file's
 * own order of axes: so runs are read one after the other and land one after the other, whatever the slice.
 */
import type { View } from "../view/view.ts";
import type { Place } from "./into-heap.ts";
import type { Reader } from "./source.ts";

/** `count` runs of `run` bytes, `step` bytes from one to the next. */
export interface Row {
  readonly from: number;
  readonly count: number;
  readonly step: number;
  readonly run: number;
}

export interface RunPlan {
  /** The elements as they lie where they have been read to. */
  readonly dense: View;
  readonly bytes: number;
  /** In rising order; none of them overlap. */
  rows(): Iterable<Row>;
}

/** The runs of a view whose elements do not overlap. */
export function planRuns(view: View): RunPlan {
  const { shape, strides, itemBytes } = view;
  const count = shape.reduce((a, b) => a * b, 1);
  const axes = shape.map((_, d) => d).filter((d) => shape[d] > 1);
  // The slowest first.
  axes.sort((a, b) => Math.abs(strides[b]) - Math.abs(strides[a]));

  const steps = shape.map(() => 0);
  let offset = 0;
  let first = view.offset;
  let dense = itemBytes;
  for (const d of [...axes].reverse()) {
    steps[d] = strides[d] < 0 ? -dense : dense;
    if (strides[d] < 0) {
      offset += dense * (shape[d] - 1);
      first += strides[d] * (shape[d] - 1);
    }
    dense *= shape[d];
  }
  let run = itemBytes;
  const outer = [...axes];
  while (outer.length > 0 && Math.abs(strides[outer.at(-1)!]) === run) run *= shape[outer.pop()!];
  const loops = outer.map((d) => ({ size: shape[d], step: Math.abs(strides[d]) }));
  const inner = loops.pop() ?? { size: 1, step: run };

  function* rows(): Iterable<Row> {
    if (count === 0) return;
    const index = loops.map(() => 0);
    let from = first;
    for (;;) {
      yield { from, count: inner.size, step: inner.step, run };
      let k = loops.length - 1;
      for (; k >= 0; k--) {
        from += loops[k].step;
        if (++index[k] < loops[k].size) break;
        from -= loops[k].step * loops[k].size;
        index[k] = 0;
      }
      if (k < 0) return;
    }
  }
  const bytes = count * itemBytes;
  return {
    dense: { shape: [...shape], strides: steps, offset: count === 0 ? 0 : offset, itemBytes },
    bytes,
    rows,
  };
}

/** Bytes that are read aside at a time, to pick runs from. */
const WINDOW = 4 << 20;
/** Runs of this length go straight into the heap. */
const LONG = 256 << 10;

/** Rows that lie close together, read as one piece. */
interface Batch {
  from: number;
  end: number;
  rows: Row[];
}

/** Reads the runs of a plan into a place, those that lie within `gap` bytes of each other together. */
export async function readRuns(
  reader: Reader,
  plan: RunPlan,
  base: number,
  gap: number,
  place: Place,
): Promise<void> {
  let at = 0;
  let batch: Batch | null = null;
  const flush = async () => {
    if (batch === null) return;
    const { from, end, rows } = batch;
    batch = null;
    if (rows.length === 1 && rows[0].count === 1) {
      await reader.fill(place, at, base + from, end - from);
      at += end - from;
      return;
    }
    const piece = await reader.bytes(base + from, end - from);
    for (const row of rows) {
      pick(piece, row.from - from, row, place, at);
      at += row.count * row.run;
    }
  };
  for (const row of plan.rows()) {
    for (const part of cut(row, gap)) {
      const end = part.from + (part.count - 1) * part.step + part.run;
      const joins =
        batch !== null && part.run < LONG && part.from - batch.end <= gap && end - batch.from <= WINDOW;
      if (batch !== null && joins) {
        batch.rows.push(part);
        batch.end = end;
        continue;
      }
      await flush();
      batch = { from: part.from, end, rows: [part] };
    }
  }
  await flush();
}

/** A row in parts that are read at once: single runs where they lie far apart or are long, else windows. */
function* cut(row: Row, gap: number): Iterable<Row> {
  const { from, count, step, run } = row;
  const isSparse = run >= LONG || step - run > gap;
  const per = isSparse ? 1 : Math.max(1, Math.floor((WINDOW - run) / step) + 1);
  for (let i = 0; i < count; i += per) {
    yield { from: from + i * step, count: Math.min(per, count - i), step, run };
  }
}

/** Copies the runs of a row out of a piece of the file, which begins `skip` bytes before the first. */
function pick(piece: Uint8Array, skip: number, row: Row, place: Place, at: number): void {
  const { count, step, run } = row;
  const target = place.at(at, count * run);
  if (run >= 32) {
    for (let i = 0; i < count; i++) {
      target.set(piece.subarray(skip + i * step, skip + i * step + run), i * run);
    }
    return;
  }
  const isAligned =
    (piece.byteOffset + skip) % run === 0 && target.byteOffset % run === 0 && step % run === 0;
  if (run === 8 && isAligned) {
    // In halves: a NaN that passes through a float may change, a bigint is made anew for each.
    const from = wordsIn(4, piece, skip, piece.length - skip);
    const to = wordsIn(4, target, 0, target.length);
    const k = step / 4;
    for (let i = 0, j = 0; i < count; i++, j += k) {
      to[2 * i] = from[j];
      to[2 * i + 1] = from[j + 1];
    }
    return;
  }
  if ((run === 4 || run === 2) && isAligned) {
    const from = wordsIn(run, piece, skip, piece.length - skip);
    const to = wordsIn(run, target, 0, target.length);
    const k = step / run;
    for (let i = 0, j = 0; i < count; i++, j += k) to[i] = from[j];
    return;
  }
  for (let i = 0, p = 0; i < count; i++) {
    const start = skip + i * step;
    for (let b = 0; b < run; b++) target[p++] = piece[start + b];
  }
}

const wordsIn = (width: 2 | 4, bytes: Uint8Array, at: number, length: number): Uint16Array | Uint32Array => {
  const Words = width === 4 ? Uint32Array : Uint16Array;
  return new Words(bytes.buffer as ArrayBuffer, bytes.byteOffset + at, Math.floor(length / width));
};
