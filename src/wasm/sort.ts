/**
 * Stable radix sort. A line's elements become records (keys alone, or keys with their positions), which are dealt into
 * the buckets of one digit after the other, lowest digit first, from one buffer to the other. Digits in which all keys
 * agree are skipped, lines that are sorted already are only copied, short ones are sorted by insertion.
 *
 * One task sorts whole lines, or does one step of a long line that threads share; word 0 says which.
 */
import { type DType, dtypes } from "../dtype.ts";
import { type FuncBuilder, i32x4, type Local, type ModuleBuilder } from "./assembler.ts";
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
} from "./sort-keys.ts";
import { bump, heapModule, taskFunction, times } from "./sort-kit.ts";

export type SortForm = "values" | "positions";

/** Words of a task, in order. */
export const sortTask = {
  step: 0,
  /** Elements, as they are. */
  source: 1,
  /** Where results go: elements, or positions as i64. */
  target: 2,
  /** Two buffers of records. */
  front: 3,
  back: 4,
  /** Counts of the digits, and after all of them a word for flags. */
  counts: 5,
  /** Elements of a line, or of this piece of it. */
  n: 6,
  /** Lines, or the position of the piece's first element in its line. */
  lines: 7,
  /** 0, or -1 for keys that order downwards. */
  down: 8,
  /** How many of the sorted elements are wanted. */
  keep: 9,
  shift: 10,
  /** Bits of a digit. */
  bits: 11,
} as const;
export const SORT_WORDS = 12;

/** What a task does. */
export const sortSteps = { lines: 0, keys: 1, count: 2, deal: 3, finish: 4, restore: 5 } as const;

/**
 * Bits of a digit: few for short lines, where clearing and summing the counts is most of the work, and for long ones,
 * where each bucket lies on a page of its own.
 */
const NARROW = 8;
const WIDE = 11;
const WIDE_FROM = 3072;
const WIDE_BYTES = 1 << 22;
/** Lines up to this long are sorted by insertion. */
const SHORT = 64;
/** V8 replaces slow first code only between calls. */
const PIECE = 16384;

/** What `keys` notices. */
export const UNSORTED = 1;
export const SPECIAL = 2;

interface RecordForm {
  readonly bytes: 1 | 2 | 4 | 8 | 16;
  /** What digits are cut from, and the key's lowest bit in it. */
  readonly lane: KeyLane;
  readonly low: number;
}

function recordOf(dtype: DType, form: SortForm): RecordForm {
  const { bytes } = dtypes[dtype];
  if (form === "values") return { bytes, lane: keyLane(dtype), low: 0 };
  return bytes === 8 ? { bytes: 16, lane: "i64", low: 0 } : { bytes: 8, lane: "i64", low: 32 };
}

/** Bytes of a record. */
export const recordBytes = (dtype: DType, form: SortForm): number => recordOf(dtype, form).bytes;
/** The lowest bit of a key in its record. */
export const keyShift = (dtype: DType, form: SortForm): number => recordOf(dtype, form).low;
/** Bits of a digit in a line of n elements, of which `keep` are wanted. */
export function digitBits(dtype: DType, form: SortForm, n: number, keep: number): number {
  const isFit = n <= mostWide(recordOf(dtype, form)) || isFew(n, keep);
  return dtypes[dtype].bytes >= 4 && n >= WIDE_FROM && isFit ? WIDE : NARROW;
}
/** Are so few wanted that those which cannot be among them are left out first? */
const isFew = (n: number, keep: number): boolean => keep < n >>> 3;
const mostWide = (record: RecordForm): number => WIDE_BYTES / record.bytes;
export const digitsOf = (dtype: DType, bits: number): number => Math.ceil((8 * dtypes[dtype].bytes) / bits);
/** Bytes that the counts of all digits take, and after them the word for flags. */
export const countBytes = (dtype: DType, bits: number): number => 4 * digitsOf(dtype, bits) * 2 ** bits;

interface Context {
  readonly module: ModuleBuilder;
  readonly dtype: DType;
  readonly form: SortForm;
  readonly record: RecordForm;
  readonly isFloat: boolean;
  readonly simd: boolean;
}

export function emitSort(
  dtype: DType,
  form: SortForm,
  { shared, simd }: { readonly shared: boolean; readonly simd: boolean },
): ModuleBuilder {
  const module = heapModule(shared);
  const record = recordOf(dtype, form);
  const c: Context = { module, dtype, form, record, isFloat: dtypes[dtype].kind === "float", simd };
  const hot = {
    keys: Object.fromEntries([0, ...widths(c)].map((bits) => [bits, keysFunction(c, bits)])),
    count: countFunction(c),
    deal: dealFunction(c),
    finish: finishFunction(c),
    select: selectFunction(c),
  };
  const f: Functions = {
    keys: hot.keys,
    prefix: prefixFunction(c),
    insertion: insertionFunction(c),
    select: hot.select,
    count: inPieces(c, hot.count, { at: record.bytes, counts: 0, shift: 0, mask: 0 }),
    deal: inPieces(c, hot.deal, { at: record.bytes, counts: 0, shift: 0, mask: 0 }),
    finish: inPieces(c, hot.finish, { at: record.bytes, to: resultBytes(c), down: 0 }),
    restore: restoreFunction(c),
  };
  runFunction(c, f, lineFunction(c, f));
  return module;
}

/** Bits that digits of this dtype can have. */
const widths = (c: Context): readonly number[] => (dtypes[c.dtype].bytes < 4 ? [NARROW] : [NARROW, WIDE]);

const resultBytes = (c: Context): number => (c.form === "values" ? dtypes[c.dtype].bytes : 8);

interface Functions {
  readonly keys: Readonly<{ [bits: number]: FuncBuilder }>;
  readonly prefix: FuncBuilder;
  readonly insertion: FuncBuilder;
  readonly select: FuncBuilder;
  readonly count: FuncBuilder;
  readonly deal: FuncBuilder;
  readonly finish: FuncBuilder;
  readonly restore: FuncBuilder;
}

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
function keysFunction(c: Context, bits: number): FuncBuilder {
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
function countFunction(c: Context): FuncBuilder {
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
function prefixFunction(c: Context): FuncBuilder {
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
function dealFunction(c: Context): FuncBuilder {
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
function finishFunction(c: Context): FuncBuilder {
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
function insertionFunction(c: Context): FuncBuilder {
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
function selectFunction(c: Context): FuncBuilder {
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
function restoreFunction(c: Context): FuncBuilder {
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

/* Calls in pieces ---------------------------------------------------------------------------------------------- */

/** The same function, called for PIECE elements at a time; `steps` are the bytes its parameters after n advance by. */
function inPieces(c: Context, hot: FuncBuilder, steps: Readonly<{ [name: string]: number }>): FuncBuilder {
  const names = Object.keys(steps);
  const params: { [name: string]: "i32" } = { n: "i32" };
  for (const name of names) params[name] = "i32";
  const f = c.module.func(`${hot.name} in pieces`, params);
  const n = f.params[0];
  const piece = f.local("i32");
  f.block((done) => {
    f.loop((next) => {
      f.get(n).i32(0).op("i32.eq").brIf(done);
      f.get(n).i32(PIECE).get(n).i32(PIECE).op("i32.lt_u").select().tee(piece);
      for (const p of f.params.slice(1)) f.get(p);
      f.call(hot);
      names.forEach((name, i) => {
        if (steps[name] === 0) return;
        const p = f.params[i + 1];
        f.get(p).get(piece).i32(steps[name]).op("i32.mul").op("i32.add").set(p);
      });
      f.get(n).get(piece).op("i32.sub").set(n);
      f.br(next);
    });
  });
  return f;
}

/** Calls `keys` for pieces of a line; adds what it says to `flags`. */
function callKeys(
  c: Context,
  f: FuncBuilder,
  keys: FuncBuilder,
  w: { from: Local; to: Local; n: Local; first: Local | null; down: Local; counts: Local; flags: Local },
): void {
  const at = f.temp("i32");
  const piece = f.temp("i32");
  f.i32(0).set(at);
  f.block((done) => {
    f.loop((next) => {
      f.get(w.n).get(at).op("i32.sub").tee(piece).op("i32.eqz").brIf(done);
      f.get(piece).i32(PIECE).get(piece).i32(PIECE).op("i32.lt_u").select().set(piece);
      f.get(w.from).get(at).i32(dtypes[c.dtype].bytes).op("i32.mul").op("i32.add");
      f.get(w.to).get(at).i32(c.record.bytes).op("i32.mul").op("i32.add");
      f.get(piece).get(at);
      if (w.first !== null) f.get(w.first).op("i32.add");
      f.get(w.down).get(w.counts).call(keys).get(w.flags).op("i32.or").set(w.flags);
      f.get(at).get(piece).op("i32.add").set(at);
      f.br(next);
    });
  });
  f.release(at).release(piece);
}

/** [are digits wide?] → code for either width; there may be only one. */
function byWidth(c: Context, f: FuncBuilder, body: (bits: number) => void): void {
  if (!widths(c).includes(WIDE)) {
    f.drop();
    body(NARROW);
  } else {
    f.if(
      () => body(WIDE),
      () => body(NARROW),
    );
  }
}

/* Lines --------------------------------------------------------------------------------------------------------- */

/** Sorts one line and writes the first `keep` of it. */
function lineFunction(c: Context, functions: Functions): FuncBuilder {
  const { dtype } = c;
  const { bytes } = dtypes[dtype];
  const f = c.module.func("line", {
    from: "i32",
    to: "i32",
    front: "i32",
    back: "i32",
    counts: "i32",
    n: "i32",
    down: "i32",
    keep: "i32",
  });
  const [from, to, front, back, counts, n, down, keep] = f.params;
  const flags = f.local("i32", "flags");
  const all = f.local("i32", "all");
  const call = { from, to: front, n, first: null, down, counts, flags };
  f.get(n).set(all);
  f.get(n).i32(SHORT).op("i32.le_u");
  f.if(
    () => {
      callKeys(c, f, functions.keys[0], call);
      f.get(flags).i32(UNSORTED).op("i32.and");
      f.if(() => f.get(front).get(n).call(functions.insertion));
    },
    () => {
      const sortBy = (bits: number) => {
        f.get(counts).i32(0);
        f.i32(countBytes(dtype, bits)).op("memory.fill");
        callKeys(c, f, functions.keys[bits], call);
        f.get(flags).i32(UNSORTED).op("i32.and");
        f.if(() => {
          if (c.form === "positions") selectFew(c, f, functions, { front, n, counts, keep, bits });
          dealAll(c, f, functions, { front, back, counts, n, bits });
        });
      };
      f.get(n).i32(WIDE_FROM).op("i32.ge_u");
      f.get(n).i32(mostWide(c.record)).op("i32.le_u");
      pushIsFew(f, n, keep).op("i32.or").op("i32.and");
      byWidth(c, f, sortBy);
    },
  );
  const finish = () => f.get(keep).get(front).get(to).get(down).call(functions.finish);
  if (c.form === "positions") {
    finish();
    return f;
  }
  f.get(flags).i32(UNSORTED).op("i32.and");
  f.if(
    () => {
      finish();
      if (!c.isFloat) return;
      f.get(flags).i32(SPECIAL).op("i32.and");
      f.if(() => f.get(from).get(all).get(front).get(to).get(down).call(functions.restore));
    },
    () => f.get(to).get(from).get(all).i32(bytes).op("i32.mul").op("memory.copy"),
  );
  return f;
}

/** [] → [isFew(n, keep)]. */
const pushIsFew = (f: FuncBuilder, n: Local, keep: Local): FuncBuilder =>
  f.get(keep).get(n).i32(3).op("i32.shr_u").op("i32.lt_u");

/** Where few are wanted: leave out what cannot be among it, and count the digits of the rest. */
function selectFew(
  c: Context,
  f: FuncBuilder,
  functions: Functions,
  w: { front: Local; n: Local; counts: Local; keep: Local; bits: number },
): void {
  const digits = digitsOf(c.dtype, w.bits);
  const size = 4 * 2 ** w.bits;
  const top = c.record.low + (digits - 1) * w.bits;
  const mask = 2 ** w.bits - 1;
  pushIsFew(f, w.n, w.keep).if(() => {
    f.get(w.front).get(w.n);
    f.get(w.counts)
      .i32((digits - 1) * size)
      .op("i32.add");
    f.i32(top).i32(mask).get(w.keep).call(functions.select).set(w.n);
    f.get(w.counts)
      .i32(0)
      .i32(digits * size)
      .op("memory.fill");
    for (let d = 0; d < digits; d++) {
      f.get(w.n).get(w.front);
      f.get(w.counts)
        .i32(d * size)
        .op("i32.add");
      f.i32(c.record.low + d * w.bits)
        .i32(mask)
        .call(functions.count);
    }
  });
}

/** Deals by all digits, lowest first; the sorted records end up in `front`. */
function dealAll(
  c: Context,
  f: FuncBuilder,
  functions: Functions,
  w: { front: Local; back: Local; counts: Local; n: Local; bits: number },
): void {
  const digits = digitsOf(c.dtype, w.bits);
  const size = 2 ** w.bits;
  const swap = f.temp("i32");
  for (let d = 0; d < digits; d++) {
    f.get(w.counts).i32(size).get(w.back).get(w.n).call(functions.prefix).op("i32.eqz");
    f.if(() => {
      f.get(w.n).get(w.front).get(w.counts);
      f.i32(c.record.low + d * w.bits).i32(size - 1);
      f.call(functions.deal);
      f.get(w.front).set(swap).get(w.back).set(w.front).get(swap).set(w.back);
    });
    bump(f, w.counts, 4 * size);
  }
  f.release(swap);
}

/* Tasks --------------------------------------------------------------------------------------------------------- */

function runFunction(c: Context, functions: Functions, line: FuncBuilder): void {
  const { dtype } = c;
  const names = Object.keys(sortTask) as (keyof typeof sortTask)[];
  const { f, words } = taskFunction(c.module, names);
  const { step, source, target, front, back, counts, n, lines, down, keep, shift, bits } = words;
  const flags = f.local("i32", "flags");
  const pushMaskOf = () => f.i32(1).get(bits).op("i32.shl").i32(1).op("i32.sub");
  const when = (which: keyof typeof sortSteps, body: () => void) => {
    f.get(step).i32(sortSteps[which]).op("i32.eq").if(body);
  };
  when("lines", () =>
    times(f, lines, () => {
      for (const p of [source, target, front, back, counts, n, down, keep]) f.get(p);
      f.call(line);
      f.get(source).get(n).i32(dtypes[dtype].bytes).op("i32.mul").op("i32.add").set(source);
      f.get(target).get(keep).i32(resultBytes(c)).op("i32.mul").op("i32.add").set(target);
    }),
  );
  when("keys", () => {
    const keysBy = (width: number) => {
      f.get(counts).i32(0).i32(countBytes(dtype, width)).op("memory.fill");
      const call = { from: source, to: front, n, first: lines, down, counts, flags };
      callKeys(c, f, functions.keys[width], call);
      f.get(counts).get(flags).store("i32.store", countBytes(dtype, width));
    };
    f.get(bits).i32(WIDE).op("i32.eq");
    byWidth(c, f, keysBy);
  });
  when("count", () => {
    f.get(counts).i32(0).i32(4).get(bits).op("i32.shl").op("memory.fill");
    f.get(n).get(front).get(counts).get(shift);
    pushMaskOf().call(functions.count);
  });
  when("deal", () => {
    f.get(n).get(front).get(counts).get(shift);
    pushMaskOf().call(functions.deal);
  });
  when("finish", () => f.get(n).get(front).get(target).get(down).call(functions.finish));
  when("restore", () => f.get(source).get(n).get(front).get(target).get(down).call(functions.restore));
}
