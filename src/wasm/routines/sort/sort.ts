/**
 * Stable radix sort. A line's elements become records (keys alone, or keys with their positions), which are dealt into
 * the buckets of one digit after the other, lowest digit first, from one buffer to the other. Digits in which all keys
 * agree are skipped, lines that are sorted already are only copied, short ones are sorted by insertion.
 *
 * One task sorts whole lines, or does one step of a long line that threads share; word 0 says which.
 */
import { type DType, dtypes } from "../../../dtype.ts";
import type { FuncBuilder, Local, ModuleBuilder } from "../../assembler/assembler.ts";
import { heapModule } from "../../kit.ts";
import { task } from "../../task.ts";
import { bump, times } from "./kit.ts";
import {
  type Context,
  countFunction,
  dealFunction,
  digitsOf,
  finishFunction,
  insertionFunction,
  keysFunction,
  prefixFunction,
  type RecordForm,
  recordOf,
  restoreFunction,
  resultBytes,
  type SortForm,
  SPECIAL,
  selectFunction,
  UNSORTED,
} from "./steps.ts";

export const sortTask = task({
  /** One of sortSteps. */
  step: "i32",
  /** Elements, as they are. */
  source: "ptr",
  /** Where results go: elements, or positions as i64. */
  target: "ptr",
  /** Two buffers of records. */
  front: "ptr",
  back: "ptr",
  /** Counts of the digits, and after all of them a word for flags. */
  counts: "ptr",
  /** Elements of a line, or of this piece of it. */
  n: "i32",
  /** Lines, or the position of the piece's first element in its line. */
  lines: "i32",
  /** 0, or -1 for keys that order downwards. */
  down: "i32",
  /** How many of the sorted elements are wanted. */
  keep: "i32",
  shift: "i32",
  /** Bits of a digit. */
  bits: "i32",
});

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
/** Bytes that the counts of all digits take, and after them the word for flags. */
export const countBytes = (dtype: DType, bits: number): number => 4 * digitsOf(dtype, bits) * 2 ** bits;

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
  const { f, words } = sortTask.open(c.module);
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
