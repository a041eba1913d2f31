/** Random words of a stream, made numbers; and shuffles. A word depends on its place in the stream alone. */
import { dtypes } from "../dtype.ts";
import { addressOf } from "../run/kernel.ts";
import type { Routine } from "../run/routine.ts";
import { sizeOf } from "../view/layout.ts";
import {
  type Distribution,
  type DrawDType,
  emitDraw,
  emitShuffle,
  GROUP_WORDS,
  randomTask,
} from "../wasm/routines/random.ts";

/** Groups of 16 words in a task: 16,384 words. */
const PIECE = 1024;
const nanosecondsPerWord: Record<Distribution, number> = {
  bits: 1.5,
  below: 4,
  uniform: 2,
  normal: 5,
  exponential: 5,
};

/** A place in a stream: its group of words that comes first. */
export interface StreamPlace {
  readonly stream: readonly number[];
  readonly key: readonly number[];
  readonly start: number;
}

interface Piece {
  readonly group: number;
  readonly groups: number;
  readonly low: number;
  readonly high: number;
}

/** Runs of groups whose block numbers agree in the upper half, so that no counter carries. */
function piecesOf(start: number, count: number): Piece[] {
  const pieces: Piece[] = [];
  for (let group = start; group < start + count; ) {
    const block = 4 * group;
    const low = block % 2 ** 32;
    const groups = Math.min(PIECE, start + count - group, (2 ** 32 - low) / 4);
    pieces.push({ group, groups, low, high: Math.floor(block / 2 ** 32) });
    group += groups;
  }
  return pieces;
}

const placeOf = ({ stream, key }: StreamPlace, { groups, low, high }: Piece) => ({
  groups,
  low,
  high,
  stream0: stream[0],
  stream1: stream[1],
  key0: key[0],
  key1: key[1],
});

export interface DrawParams extends StreamPlace {
  readonly distribution: Distribution;
  /** The distribution's own numbers, as words: at the most six. */
  readonly own: readonly number[];
}

/** The output is written in whole groups, which its block of memory has room for. */
export const drawRoutine: Routine<DrawParams> = {
  name: "random",
  run({ routines }, { operation, params, outs: [out] }) {
    const { start, distribution, own } = params;
    const words = (sizeOf(out.frame.shape) * dtypes[out.dtype].bytes) / 4;
    const [own0, own1, own2, own3, own4, own5] = own;
    const tasks = piecesOf(start, Math.ceil(words / GROUP_WORDS)).map((piece) => {
      const at = addressOf(out) + 4 * GROUP_WORDS * (piece.group - start);
      return randomTask.of({ ...placeOf(params, piece), at, own0, own1, own2, own3, own4, own5 });
    });
    const dtype = out.dtype as DrawDType;
    const name = `random ${distribution} ${dtype}`;
    const nanoseconds = words * nanosecondsPerWord[distribution];
    routines.run(name, emitDraw(distribution, dtype), tasks, nanoseconds, { operation, out });
  },
};

/** out = 0 … n - 1 in the order that the words of the input, drawn from this place, decide. */
export const shuffleRoutine: Routine<StreamPlace> = {
  name: "shuffle",
  run({ routines }, { operation, params, inputs: [words], outs: [items] }) {
    const [n] = items.frame.shape;
    for (const piece of piecesOf(params.start, Math.ceil(n / GROUP_WORDS))) {
      const first = (piece.group - params.start) * GROUP_WORDS;
      const task = randomTask.of({
        ...placeOf(params, piece),
        at: addressOf(words) + 4 * first,
        groups: Math.min(piece.groups * GROUP_WORDS, n - first),
        own0: first,
        items: addressOf(items),
      });
      const about = { operation, inputs: [words], out: items, bytes: null };
      routines.run("random shuffle", emitShuffle, [task], 0, about);
    }
  },
};
