/**
 * Floats → blocks of the types that take no search, four elements at a time: bit for bit what encode.ts makes of them, NaN,
 * infinities and zeros with a sign included. Blocks have 32 elements; SIMD only.
 */
import { type FuncBuilder, f32x4, i8x16, type Local } from "../wasm/assembler/assembler.ts";
import { heapModule } from "../wasm/kit.ts";
import { type Constants, emitTwice } from "./emit.ts";
import { encodeWords, move, type Routine, repeat, words } from "./routines.ts";
import type { EncodedDType } from "./types.ts";

/** Where a block's elements lie, and where its bytes go. */
interface Ends {
  readonly f: FuncBuilder;
  readonly constants: Constants;
  readonly from: Local;
  readonly to: Local;
}
type EncodeBlock = (ends: Ends) => void;

/** Quads of a block. */
const QUADS = 8;
const MOST = 3.4028234663852886e38;

const splat = ({ f, constants }: Ends, x: number): FuncBuilder => constants.push(f, f32x4(x));
const quad = ({ f, from }: Ends, k: number): FuncBuilder => f.get(from).load("v128.load", 16 * k, 1);

/** A value in a local of its own. */
function keep(f: FuncBuilder, type: "i32" | "f32" | "v128", push: () => void): Local {
  const local = f.local(type);
  push();
  f.set(local);
  return local;
}

/** Folds the quads into four lanes, then those into one; `op` takes the second where it wins for sure. */
function extreme(e: Ends, op: "f32x4.pmax" | "f32x4.pmin", start: number, sizes: boolean): Local {
  const { f } = e;
  const best = keep(f, "v128", () => splat(e, start));
  for (let k = 0; k < QUADS; k++) {
    f.get(best);
    quad(e, k);
    if (sizes) f.op("f32x4.abs");
    f.op(op).set(best);
  }
  for (const lanes of [
    [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7],
    [4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11],
  ]) {
    f.get(best).get(best).get(best).shuffle(lanes).op(op).set(best);
  }
  return best;
}

/** The first element of the block whose value (or size) this is, with its own sign; `other` if there is none. */
function firstLike(e: Ends, best: Local, sizes: boolean, other: number): Local {
  const { f, from } = e;
  const bits = f.local("i32");
  for (let k = 0; k < QUADS; k++) {
    quad(e, k);
    if (sizes) f.op("f32x4.abs");
    f.get(best).op("f32x4.eq").op("i32x4.bitmask");
    if (k > 0)
      f.i32(4 * k)
        .op("i32.shl")
        .get(bits)
        .op("i32.or");
    f.set(bits);
  }
  return keep(f, "f32", () => {
    f.get(from).get(bits).op("i32.ctz").i32(31).op("i32.and").i32(2).op("i32.shl").op("i32.add");
    f.load("f32.load", 0, 1).f32(other).get(bits).select();
  });
}

/** The largest size as `a > b ? a : b` finds it: a NaN is taken, and lost to whatever comes after it. */
function largestSize(e: Ends): Local {
  const { f, from } = e;
  const most = keep(f, "f32", () => f.get(extreme(e, "f32x4.pmax", 0, true)).lane("f32x4.extract_lane", 0));
  for (let k = 0; k < QUADS; k++) {
    quad(e, k);
    quad(e, k).op("f32x4.ne");
    if (k > 0) f.op("v128.or");
  }
  f.op("v128.any_true").if(() => {
    const [at, left, size] = [f.local("i32"), f.local("i32"), f.local("f32")];
    f.get(from).set(at).i32(32).set(left).f32(0).set(most);
    f.loop((next) => {
      f.get(at).load("f32.load", 0, 1).op("f32.abs").set(size);
      f.get(most).get(size).get(most).get(size).op("f32.gt").select().set(most);
      move(f, at, 4);
      f.get(left).i32(1).op("i32.sub").tee(left).brIf(next);
    });
  });
  return most;
}

/** 1 / d in all lanes, 0 for 0. */
const reciprocal = ({ f }: Ends, d: Local): Local =>
  keep(f, "v128", () =>
    f.f32(1).get(d).op("f32.div").f32(0).get(d).f32(0).op("f32.ne").select().op("f32x4.splat"),
  );

/** Stores the half float nearest to x; every NaN is the same one. */
function putHalf({ f, to }: Ends, x: Local, offset: number): void {
  const [bits, size] = [f.local("i32"), f.local("i32")];
  f.get(x).op("i32.reinterpret_f32").tee(bits).i32(0x7fffffff).op("i32.and").set(size);
  f.get(to).i32(0x7e00);
  // 0.5 has steps of 2^-24, those of the small halves; others round at bit 13, and what is too large is infinite.
  f.i32(0x7c00);
  f.get(x).op("f32.abs").f32(0.5).op("f32.add").op("i32.reinterpret_f32").i32(0x3f000000).op("i32.sub");
  f.get(size)
    .i32(0x38000000 - 0xfff)
    .op("i32.sub");
  f.get(size).i32(13).op("i32.shr_u").i32(1).op("i32.and").op("i32.add").i32(13).op("i32.shr_u");
  f.get(size).i32(0x38800000).op("i32.lt_u").select();
  f.get(size).i32(0x47800000).op("i32.ge_u").select();
  f.get(bits).i32(16).op("i32.shr_u").i32(0x8000).op("i32.and").op("i32.or");
  f.get(size).i32(0x7f800000).op("i32.gt_u").select();
  f.store("i32.store16", offset, 1);
}

/** Toward zero, of which only the low bits are kept; what no i32 holds has none there. */
function toLowBits(e: Ends): void {
  const { f } = e;
  const x = f.temp("v128");
  f.tee(x).op("i32x4.trunc_sat_f32x4_s").get(x);
  splat(e, 2 ** 31)
    .op("f32x4.lt")
    .op("v128.and");
  f.release(x);
}

const lowBytes = [0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28];
const lowHalves = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];

/** 16 elements from quad `first` on, as the low bytes of what `push` makes of each quad. */
const sixteen = (e: Ends, first: number, push: (k: number) => void): Local =>
  keep(e.f, "v128", () => {
    for (let k = first; k < first + 4; k++) {
      push(k);
      toLowBits(e);
      if ((k - first) % 2 === 1) e.f.shuffle(lowBytes);
    }
    e.f.shuffle(lowHalves);
  });

const bytesOf = (value: number) => i8x16(...new Array<number>(16).fill(value));

/** Two times 16 numbers in four bits each, and where there is a fifth one, that apart. */
function putNibbles(e: Ends, halves: readonly [Local, Local], offset: number, fifthAt: number | null): void {
  const { f, to, constants } = e;
  const [a, b] = halves;
  f.get(to).get(a);
  if (fifthAt !== null) constants.push(f, bytesOf(15)).op("v128.and");
  f.get(b).i32(4).op("i8x16.shl").op("v128.or").store("v128.store", offset, 1);
  if (fifthAt === null) return;
  const fifths = (x: Local) => f.get(x).i32(3).op("i8x16.shl").op("i8x16.bitmask");
  f.get(to);
  fifths(a);
  fifths(b).i32(16).op("i32.shl").op("i32.or").store("i32.store", fifthAt, 1);
}

const atMost = ({ f, constants }: Ends, x: Local, most: number): void => {
  constants.push(f.get(x), bytesOf(most)).op("i8x16.min_s").set(x);
};

const symmetric =
  (most: 8 | 16): EncodeBlock =>
  (e) => {
    const { f } = e;
    const best = extreme(e, "f32x4.pmax", 0, true);
    const largest = firstLike(e, best, true, 0);
    // Where all are 0 or NaN, it is 0 whatever their signs.
    const d = keep(f, "f32", () => {
      f.get(largest).f32(0).get(best).lane("f32x4.extract_lane", 0).f32(0).op("f32.ne").select();
      f.f32(-most).op("f32.div");
    });
    putHalf(e, d, 0);
    const id = reciprocal(e, d);
    const half = (first: number) =>
      sixteen(e, first, (k) => {
        quad(e, k).get(id).op("f32x4.mul");
        splat(e, most + 0.5).op("f32x4.add");
      });
    const halves = [half(0), half(4)] as const;
    for (const x of halves) atMost(e, x, 2 * most - 1);
    putNibbles(e, halves, most === 8 ? 2 : 6, most === 8 ? null : 2);
  };

const fromLeast =
  (most: 15 | 31): EncodeBlock =>
  (e) => {
    const { f } = e;
    const min = firstLike(e, extreme(e, "f32x4.pmin", MOST, false), false, MOST);
    const max = firstLike(e, extreme(e, "f32x4.pmax", -MOST, false), false, -MOST);
    const d = keep(f, "f32", () => f.get(max).get(min).op("f32.sub").f32(most).op("f32.div"));
    putHalf(e, d, 0);
    putHalf(e, min, 2);
    const id = reciprocal(e, d);
    const least = keep(f, "v128", () => f.get(min).op("f32x4.splat"));
    const half = (first: number) =>
      sixteen(e, first, (k) => {
        quad(e, k).get(least).op("f32x4.sub").get(id).op("f32x4.mul");
        splat(e, 0.5).op("f32x4.add");
      });
    const halves = [half(0), half(4)] as const;
    if (most === 15) for (const x of halves) atMost(e, x, 15);
    putNibbles(e, halves, most === 15 ? 4 : 8, most === 15 ? null : 4);
  };

/** Halves away from zero: one more where what was cut off is no less than a half. */
const eight: EncodeBlock = (e) => {
  const { f, to } = e;
  const most = largestSize(e);
  const d = keep(f, "f32", () => f.get(most).f32(127).op("f32.div"));
  putHalf(e, d, 0);
  const id = reciprocal(e, d);
  for (const first of [0, 4]) {
    const bytes = sixteen(e, first, (k) => {
      const [x, whole] = [f.temp("v128"), f.temp("v128")];
      quad(e, k).get(id).op("f32x4.mul").tee(x).op("f32x4.trunc").tee(whole);
      f.get(x).get(whole).op("f32x4.sub").op("f32x4.abs");
      splat(e, 0.5).op("f32x4.ge");
      // One with the sign of x, where the mask is set.
      f.get(x);
      splat(e, -0).op("v128.and");
      splat(e, 1).op("v128.or").op("v128.and").op("f32x4.add");
      f.release(x).release(whole);
    });
    f.get(to)
      .get(bytes)
      .store("v128.store", 2 + 4 * first, 1);
  }
};

/** The types that have such code. */
const blocks: Partial<Record<EncodedDType, EncodeBlock>> = {
  q4_0: symmetric(8),
  q4_1: fromLeast(15),
  q5_0: symmetric(16),
  q5_1: fromLeast(31),
  q8_0: eight,
};

/** Rows of floats → rows of blocks; null: only plain code makes this type. */
export function encodeRoutine(dtype: EncodedDType): Routine | null {
  const emitBlock = blocks[dtype];
  if (emitBlock === undefined) return null;
  return {
    name: `quantise ${dtype}`,
    emit: ({ shared }) =>
      emitTwice((constants) => {
        const module = heapModule(shared);
        const one = module.func("block", { from: "i32", to: "i32" });
        constants.set(one);
        emitBlock({ f: one, constants, from: one.params[0], to: one.params[1] });
        const f = module.func("run", { task: "i32" }, [], { export: true });
        const w = words(f, encodeWords);
        const [from, to] = [f.local("i32", "at"), f.local("i32", "block")];
        repeat(f, w.rows, () => {
          f.get(w.from).set(from).get(w.to).set(to);
          repeat(f, w.blocks, () => {
            f.get(from).get(to).call(one);
            move(f, from, 128);
            move(f, to, w.step);
          });
          move(f, w.from, w.fromStride);
          move(f, w.to, w.toStride);
        });
        return module;
      }),
  };
}
