/**
 * The steps of a radix sort, one function each: keys are made and counted, counts become places, records are dealt out,
 * and the sorted ones become elements or positions again. What is done when is decided in sort.ts.
 */
import { type DType, dtypes } from "../../../dtype.ts";
import { type FuncBuilder, i32x4, type Local, type ModuleBuilder } from "../../assembler/assembler.ts";
import {
  constant,
  type KeyLane,
  keyLane,
  loadBits,
  nanKey,
  pushFromKey,
  pushIsNaN,
  pushKey,
  pushMask,
  storeBits,
  vectorFromKeys,
  vectorKeys,
  zeroKey,
} from "./keys.ts";
import { bump, times } from "./kit.ts";

export type SortForm = "values" | "positions";

/** What `keys` notices. */
export const UNSORTED = 1;
export const SPECIAL = 2;

export interface RecordForm {
  readonly bytes: 1 | 2 | 4 | 8 | 16;
  /** What digits are cut from, and the key's lowest bit in it. */
  readonly lane: KeyLane;
  readonly low: number;
}

export function recordOf(dtype: DType, form: SortForm): RecordForm {
  const { bytes } = dtypes[dtype];
  if (form === "values") return { bytes, lane: keyLane(dtype), low: 0 };
  return bytes === 8 ? { bytes: 16, lane: "i64", low: 0 } : { bytes: 8, lane: "i64", low: 32 };
}

export const digitsOf = (dtype: DType, bits: number): number => Math.ceil((8 * dtypes[dtype].bytes) / bits);
export interface Context {
  readonly module: ModuleBuilder;
  readonly dtype: DType;
  readonly form: SortForm;
  readonly record: RecordForm;
  readonly isFloat: boolean;
  readonly simd: boolean;
}

export const resultBytes = (c: Context): number => (c.form === "values" ? dtypes[c.dtype].bytes : 8);

/* Small words ------------------------------------------------------------------------------------------------- */

/** [] → [key of the record at p + offset], in the record's lane with the key at `low`. */
function pushRecord(c: Context, f: FuncBuilder, p: Local, offset = 0): FuncBuilder {
  const { bytes } = c.record;
  return loadBits(f.get(p), bytes === 16 ? 8 : bytes, offset);
}

/** [] → [digit of the record in `r`] as a byte offset into its counts. */
function pushDigit(c: Context, f: FuncBuilder, r: Local, shift: Local, mask: Local): FuncBuilder {
  f.get(r).get(shift);
  if (c.record.lane === "i64") f.op("i64.extend_i32_u").op("i64.shr_u").op("i32.wrap_i64");
  else f.op("i32.shr_u");
  return f.get(mask).op("i32.and").i32(2).op("i32.shl");
}

/* The steps ---------------------------------------------------------------------------------------------------- */

/** Makes records of n elements and counts all digits of their keys; says whether they are out of order or special. */
export function keysFunction(c: Context, bits: number): FuncBuilder {
  const { dtype, record } = c;
  const { bytes } = dtypes[dtype];
  const lane = keyLane(dtype);
  const f = c.module.func(
    `keys${bits}`,
    { from: "i32", to: "i32", n: "i32", first: "i32", down: "i32", counts: "i32" },
    ["i32"],
  );
  const [from, to, n, first, down, counts] = f.params;
  const raw = f.local(lane, "raw");
  const key = f.local(lane, "key");
  const last = f.local(lane, "last");
  const mask = f.local(lane, "mask");
  const unsorted = f.local("i32", "unsorted");
  const special = f.local("i32", "special");
  const countAll = () => {
    for (let d = 0; bits > 0 && d < digitsOf(dtype, bits); d++) countDigit(f, lane, key, counts, bits, d);
  };
  pushMask(f, dtype, down).set(mask);
  // The element before the first one, which another piece has.
  f.get(first).if(() => {
    f.get(from).i32(bytes).op("i32.sub");
    loadBits(f, bytes).set(raw);
    pushKey(f, dtype, raw).get(mask).op(`${lane}.xor`).set(last);
  });
  if (c.simd && bytes === 4) {
    keysOfFour(c, f, { from, to, n, first, mask, key, last, unsorted, special }, countAll);
  }
  times(f, n, () => {
    loadBits(f.get(from), bytes).set(raw);
    pushKey(f, dtype, raw, special).get(mask).op(`${lane}.xor`).tee(key);
    f.get(last).op(`${lane}.lt_u`).get(unsorted).op("i32.or").set(unsorted);
    f.get(key).set(last);
    storeRecord(c, f, to, key, first);
    countAll();
    bump(f, from, bytes);
    bump(f, to, record.bytes);
    bump(f, first, 1);
  });
  f.get(unsorted).i32(0).op("i32.ne");
  f.get(special).i32(0).op("i32.ne").i32(1).op("i32.shl").op("i32.or");
  return f;
}

/** The same for as many fours as there are; the rest stays. */
function keysOfFour(
  c: Context,
  f: FuncBuilder,
  w: Readonly<
    Record<"from" | "to" | "n" | "first" | "mask" | "key" | "last" | "unsorted" | "special", Local>
  >,
  countAll: () => void,
): void {
  const vector = (name: string) => f.local("v128", name);
  const [raw, keys, before, wrong, odd, mask, positions] = [
    "raws",
    "keys",
    "before",
    "wrong",
    "odd",
    "masks",
    "positions",
  ].map(vector);
  const fours = f.local("i32", "fours");
  const make = vectorKeys(f, c.dtype, raw, odd);
  f.get(w.last).op("i32x4.splat").set(before);
  f.get(w.mask).op("i32x4.splat").set(mask);
  f.get(w.first)
    .op("i32x4.splat")
    .v128(i32x4(0, 1, 2, 3))
    .op("i32x4.add")
    .set(positions);
  f.get(w.n).i32(2).op("i32.shr_u").set(fours);
  times(f, fours, () => {
    f.get(w.from).load("v128.load", 0, 1).set(raw);
    make();
    f.get(mask).op("v128.xor").tee(keys);
    f.get(before).get(keys).shuffle(shiftedByOne).op("i32x4.lt_u").get(wrong).op("v128.or").set(wrong);
    f.get(keys).set(before);
    if (c.form === "values") f.get(w.to).get(keys).store("v128.store", 0, 1);
    else {
      f.get(w.to).get(positions).get(keys).shuffle(firstPairs).store("v128.store", 0, 1);
      f.get(w.to).get(positions).get(keys).shuffle(lastPairs).store("v128.store", 16, 1);
      f.get(positions).v128(i32x4(4)).op("i32x4.add").set(positions);
    }
    for (let i = 0; i < 4; i++) {
      f.get(keys).lane("i32x4.extract_lane", i).set(w.key);
      countAll();
    }
    bump(f, w.from, 16);
    bump(f, w.to, 4 * c.record.bytes);
    bump(f, w.first, 4);
  });
  f.get(before).lane("i32x4.extract_lane", 3).set(w.last);
  f.get(wrong).op("v128.any_true").set(w.unsorted);
  f.get(odd).op("v128.any_true").set(w.special);
  f.get(w.n).i32(3).op("i32.and").set(w.n);
}

/** Lanes 3 of a, then 0, 1, 2 of b. */
const shiftedByOne = [12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];
/** Lanes of a and b in turn: 0 and 1, 2 and 3. */
const firstPairs = [0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23];
const lastPairs = [8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31];

function storeRecord(c: Context, f: FuncBuilder, to: Local, key: Local, position: Local): void {
  const { record, form, dtype } = c;
  f.get(to).get(key);
  if (form === "values") storeBits(f, dtypes[dtype].bytes);
  else if (record.bytes === 8) {
    f.op("i64.extend_i32_u").i64(32).op("i64.shl").get(position).op("i64.extend_i32_u").op("i64.or");
    f.store("i64.store", 0, 1);
  } else {
    f.store("i64.store", 0, 1);
    f.get(to).get(position).op("i64.extend_i32_u").store("i64.store", 8, 1);
  }
}

function countDigit(
  f: FuncBuilder,
  lane: KeyLane,
  key: Local,
  counts: Local,
  bits: number,
  digit: number,
): void {
  const at = f.temp("i32");
  const offset = 4 * digit * 2 ** bits;
  // Shifted by two less: a count has four bytes.
  const shift = digit * bits - 2;
  constant(f.get(key), lane, BigInt(Math.abs(shift))).op(shift < 0 ? `${lane}.shl` : `${lane}.shr_u`);
  if (lane === "i64") f.op("i32.wrap_i64");
  f.i32(4 * (2 ** bits - 1)).op("i32.and");
  f.get(counts).op("i32.add").tee(at);
  f.get(at).load("i32.load", offset).i32(1).op("i32.add").store("i32.store", offset);
  f.release(at);
}

/** Adds the digits of n records to the counts. */
export function countFunction(c: Context): FuncBuilder {
  const f = c.module.func("count", { n: "i32", at: "i32", counts: "i32", shift: "i32", mask: "i32" });
  const [n, at, counts, shift, mask] = f.params;
  const r = f.local(c.record.lane);
  const p = f.local("i32");
  times(f, n, () => {
    pushRecord(c, f, at).set(r);
    pushDigit(c, f, r, shift, mask).get(counts).op("i32.add").tee(p);
    f.get(p).load("i32.load").i32(1).op("i32.add").store("i32.store");
    bump(f, at, c.record.bytes);
  });
  return f;
}

/** Counts → addresses where each bucket begins. Says whether one bucket has everything. */
export function prefixFunction(c: Context): FuncBuilder {
  const f = c.module.func("prefix", { counts: "i32", size: "i32", to: "i32", n: "i32" }, ["i32"]);
  const [counts, size, to, n] = f.params;
  const count = f.local("i32");
  const all = f.local("i32");
  times(f, size, () => {
    f.get(counts).load("i32.load").tee(count).get(n).op("i32.eq").get(all).op("i32.or").set(all);
    f.get(counts).get(to).store("i32.store");
    f.get(to).get(count).i32(c.record.bytes).op("i32.mul").op("i32.add").set(to);
    bump(f, counts, 4);
  });
  return f.get(all);
}

/** Deals n records out to their buckets. */
export function dealFunction(c: Context): FuncBuilder {
  const { record } = c;
  const f = c.module.func("deal", { n: "i32", at: "i32", counts: "i32", shift: "i32", mask: "i32" });
  const [n, at, counts, shift, mask] = f.params;
  const r = f.local(record.lane);
  const bucket = f.local("i32");
  const to = f.local("i32");
  times(f, n, () => {
    pushRecord(c, f, at).set(r);
    pushDigit(c, f, r, shift, mask).get(counts).op("i32.add").tee(bucket).load("i32.load").set(to);
    storeBits(f.get(to).get(r), record.bytes === 16 ? 8 : record.bytes);
    if (record.bytes === 16) f.get(to).get(at).load("i64.load", 8, 1).store("i64.store", 8, 1);
    f.get(bucket).get(to).i32(record.bytes).op("i32.add").store("i32.store");
    bump(f, at, record.bytes);
  });
  return f;
}

/** Records → elements, or positions. */
export function finishFunction(c: Context): FuncBuilder {
  const { dtype, record } = c;
  const f = c.module.func("finish", { n: "i32", at: "i32", to: "i32", down: "i32" });
  const [n, at, to, down] = f.params;
  if (c.form === "positions") {
    times(f, n, () => {
      const from = record.bytes === 16 ? 8 : 0;
      f.get(to).get(at).load("i64.load32_u", from, 1).store("i64.store", 0, 1);
      bump(f, at, record.bytes);
      bump(f, to, 8);
    });
    return f;
  }
  const { bytes } = dtypes[dtype];
  const lane = keyLane(dtype);
  const mask = f.local(lane);
  const key = f.local(lane);
  pushMask(f, dtype, down).set(mask);
  if (c.simd && bytes === 4) finishFours(c, f, n, at, to, mask);
  times(f, n, () => {
    loadBits(f.get(at), bytes).get(mask).op(`${lane}.xor`).set(key);
    pushFromKey(f.get(to), dtype, key);
    storeBits(f, bytes);
    bump(f, at, bytes);
    bump(f, to, bytes);
  });
  return f;
}

/** As many fours as there are; the rest stays. */
function finishFours(c: Context, f: FuncBuilder, n: Local, at: Local, to: Local, mask: Local): void {
  const fours = f.local("i32", "fours");
  const masks = f.local("v128", "masks");
  const keys = f.local("v128", "keys");
  const make = vectorFromKeys(f, c.dtype, keys);
  f.get(mask).op("i32x4.splat").set(masks);
  f.get(n).i32(2).op("i32.shr_u").set(fours);
  times(f, fours, () => {
    f.get(at).load("v128.load", 0, 1).get(masks).op("v128.xor").set(keys);
    f.get(to);
    make();
    f.store("v128.store", 0, 1);
    bump(f, at, 16);
    bump(f, to, 16);
  });
  f.get(n).i32(3).op("i32.and").set(n);
}

/** Sorts n records where they are: each one moves down to its place. Records with positions compare as a whole. */
export function insertionFunction(c: Context): FuncBuilder {
  const { record } = c;
  const { lane } = record;
  const bytes = record.bytes;
  const f = c.module.func("insertion", { at: "i32", n: "i32" });
  const [at, n] = f.params;
  const p = f.local("i32", "p");
  const q = f.local("i32", "q");
  const r = f.local(lane, "r");
  const other = f.local(lane, "other");
  const position = f.local("i64", "position");
  f.get(at).set(p);
  times(f, n, () => {
    pushRecord(c, f, p).set(r);
    if (bytes === 16) f.get(p).load("i64.load", 8, 1).set(position);
    f.get(p).set(q);
    f.block((done) => {
      f.loop((next) => {
        f.get(q).get(at).op("i32.eq").brIf(done);
        f.get(q).i32(bytes).op("i32.sub").set(q);
        pushRecord(c, f, q).tee(other).get(r).op(`${lane}.le_u`);
        f.if(() => {
          bump(f, q, bytes);
          f.br(done);
        });
        storeBits(f.get(q).get(other), bytes === 16 ? 8 : bytes, bytes);
        if (bytes === 16) f.get(q).get(q).load("i64.load", 8, 1).store("i64.store", 24, 1);
        f.br(next);
      });
    });
    storeBits(f.get(q).get(r), bytes === 16 ? 8 : bytes);
    if (bytes === 16) f.get(q).get(position).store("i64.store", 8, 1);
    bump(f, p, bytes);
  });
  return f;
}

/**
 * Where few of many are wanted: keeps, in place and in order, the records whose highest digit is not beyond that of the
 * last one wanted. Gives how many are left. `counts` are the highest digit's.
 */
export function selectFunction(c: Context): FuncBuilder {
  const { record } = c;
  const f = c.module.func(
    "select",
    { at: "i32", n: "i32", counts: "i32", shift: "i32", mask: "i32", keep: "i32" },
    ["i32"],
  );
  const [at, n, counts, shift, mask, keep] = f.params;
  const limit = f.local("i32", "limit");
  const left = f.local("i32", "left");
  const r = f.local(record.lane, "r");
  const to = f.local("i32", "to");
  f.loop((next) => {
    f.get(left).get(counts).get(limit).op("i32.add").load("i32.load").op("i32.add").tee(left);
    f.get(keep)
      .op("i32.lt_u")
      .if(() => {
        bump(f, limit, 4);
        f.br(next);
      });
  });
  f.get(at).set(to);
  times(f, n, () => {
    pushRecord(c, f, at).set(r);
    pushDigit(c, f, r, shift, mask).get(limit).op("i32.le_u");
    f.if(() => {
      storeBits(f.get(to).get(r), record.bytes === 16 ? 8 : record.bytes);
      if (record.bytes === 16) f.get(to).get(at).load("i64.load", 8, 1).store("i64.store", 8, 1);
      bump(f, to, record.bytes);
    });
    bump(f, at, record.bytes);
  });
  return f.get(left);
}

/** Zeros and NaNs lost their bits in their keys: brings them back, in the order they came in. */
export function restoreFunction(c: Context): FuncBuilder {
  const { dtype } = c;
  const { bytes } = dtypes[dtype];
  const lane = keyLane(dtype);
  const f = c.module.func("restore", { from: "i32", n: "i32", sorted: "i32", to: "i32", down: "i32" });
  if (!c.isFloat || c.form !== "values") return f;
  const [from, n, sorted, to, down] = f.params;
  const raw = f.local(lane, "raw");
  const mask = f.local(lane, "mask");
  const places = [zeroKey(dtype), nanKey(dtype)].map((key) => {
    const place = f.local("i32");
    pushMask(f, dtype, down).set(mask);
    pushLowerBound(f, dtype, sorted, n, () => constant(f.get(mask), lane, key).op(`${lane}.xor`));
    f.i32(bytes).op("i32.mul").get(to).op("i32.add").set(place);
    return place;
  });
  const put = (place: Local) => {
    storeBits(f.get(place).get(raw), bytes);
    bump(f, place, bytes);
  };
  times(f, n, () => {
    loadBits(f.get(from), bytes).set(raw);
    constant(f.get(raw), lane, zeroKey(dtype) - 1n)
      .op(`${lane}.and`)
      .op(`${lane}.eqz`);
    f.if(
      () => put(places[0]),
      () => pushIsNaN(f, dtype, raw).if(() => put(places[1])),
    );
    bump(f, from, bytes);
  });
  return f;
}

/** [] → [how many of the n sorted keys at `sorted` are below the one that `pushWanted` pushes]. */
function pushLowerBound(
  f: FuncBuilder,
  dtype: DType,
  sorted: Local,
  n: Local,
  pushWanted: () => void,
): FuncBuilder {
  const { bytes } = dtypes[dtype];
  const lane = keyLane(dtype);
  const low = f.temp("i32");
  const high = f.temp("i32");
  const middle = f.temp("i32");
  f.i32(0).set(low);
  f.get(n).set(high);
  f.block((done) => {
    f.loop((next) => {
      f.get(low).get(high).op("i32.ge_u").brIf(done);
      f.get(low).get(high).get(low).op("i32.sub").i32(1).op("i32.shr_u").op("i32.add").tee(middle);
      f.i32(bytes).op("i32.mul").get(sorted).op("i32.add");
      loadBits(f, bytes);
      pushWanted();
      f.op(`${lane}.lt_u`).if(
        () => f.get(middle).i32(1).op("i32.add").set(low),
        () => f.get(middle).set(high),
      );
      f.br(next);
    });
  });
  f.get(low).release(low).release(high).release(middle);
  return f;
}
