/**
 * Small routines around sorted data: gathering by position, keys, searching, runs of equal elements, compaction and
 * counting. Addresses are given by callers that have checked every position.
 */
import { type DType, dtypes } from "../../../dtype.ts";
import type { ModuleBuilder } from "../../assembler/assembler.ts";
import { heapModule } from "../../kit.ts";
import { task } from "../../task.ts";
import { constant, keyLane, loadBits, nanKey, pushKey, storeBits } from "./keys.ts";
import { bump, times } from "./kit.ts";

export type ItemBytes = 1 | 2 | 4 | 8;

export const gatherLinesTask = task({
  from: "ptr",
  at: "ptr",
  to: "ptr",
  n: "i32",
  lines: "i32",
  step: "i32",
});
export const keysTask = task({ from: "ptr", to: "ptr", n: "i32" });
export const searchTask = task({ keys: "ptr", count: "i32", from: "ptr", to: "ptr", n: "i32" });
export const runsTask = task({
  from: "ptr",
  n: "i32",
  first: "i32",
  state: "ptr",
  starts: "ptr",
  where: "ptr",
  inverse: "ptr",
});
export const pickTask = task({ from: "ptr", mask: "ptr", n: "i32", state: "ptr" });
export const countTask = task({ at: "ptr", n: "i32", counts: "ptr", weights: "ptr" });

/** to[i] = from[at[i]] for i64 positions, in `lines` lines. */
export function emitGather(bytes: ItemBytes, shared: boolean): ModuleBuilder {
  const { f, words } = gatherLinesTask.open(heapModule(shared));
  const { from, at, to, n, lines, step } = words;
  const left = f.local("i32", "left");
  times(f, lines, () => {
    f.get(n).set(left);
    times(f, left, () => {
      f.get(to).get(from);
      f.get(at).load("i32.load", 0, 1).i32(bytes).op("i32.mul").op("i32.add");
      loadBits(f, bytes);
      storeBits(f, bytes);
      bump(f, at, 8);
      bump(f, to, bytes);
    });
    f.get(from).get(step).op("i32.add").set(from);
  });
  return f.module;
}

/** Elements → keys. */
export function emitKeys(dtype: DType, shared: boolean): ModuleBuilder {
  const { bytes } = dtypes[dtype];
  const { f, words } = keysTask.open(heapModule(shared));
  const { from, to, n } = words;
  const raw = f.local(keyLane(dtype));
  times(f, n, () => {
    loadBits(f.get(from), bytes).set(raw);
    pushKey(f.get(to), dtype, raw);
    storeBits(f, bytes);
    bump(f, from, bytes);
    bump(f, to, bytes);
  });
  return f.module;
}

/** left: how many are below. right: how many are not above. has: is it there? A NaN never is. */
export type Search = "left" | "right" | "has";

/**
 * Looks n elements up among sorted keys, of which there is at least one. Task: keys, count, from, to, n. Results are i64
 * positions, or bools.
 */
export function emitSearch(dtype: DType, search: Search, shared: boolean): ModuleBuilder {
  const { bytes } = dtypes[dtype];
  const lane = keyLane(dtype);
  const { f, words } = searchTask.open(heapModule(shared));
  const { keys, count, from, to, n } = words;
  const raw = f.local(lane, "raw");
  const key = f.local(lane, "key");
  const at = f.local("i32", "at");
  const length = f.local("i32", "length");
  const half = f.local("i32", "half");
  const before = search === "right" ? (`${lane}.le_u` as const) : (`${lane}.lt_u` as const);
  times(f, n, () => {
    loadBits(f.get(from), bytes).set(raw);
    pushKey(f, dtype, raw).set(key);
    f.get(keys).set(at);
    f.get(count).set(length);
    // The answer lies in at … at + length; half of that is ruled out at a time, without a branch.
    f.block((done) => {
      f.loop((next) => {
        f.get(length).i32(1).op("i32.shr_u").tee(half).op("i32.eqz").brIf(done);
        f.get(half).i32(bytes).op("i32.mul").get(at).op("i32.add");
        f.get(at);
        f.get(half).i32(bytes).op("i32.mul").get(at).op("i32.add").i32(bytes).op("i32.sub");
        loadBits(f, bytes).get(key).op(before);
        f.select().set(at);
        f.get(length).get(half).op("i32.sub").set(length);
        f.br(next);
      });
    });
    f.get(to);
    if (search === "has") {
      // The first that is not below, or the last of all.
      f.get(at);
      loadBits(f.get(at), bytes).get(key).op(before);
      f.get(count).i32(1).op("i32.sub").i32(bytes).op("i32.mul").get(keys).op("i32.add");
      f.get(at).op("i32.ne").op("i32.and").i32(bytes).op("i32.mul").op("i32.add").set(at);
      loadBits(f.get(at), bytes).get(key).op(`${lane}.eq`);
      constant(f.get(key), lane, nanKey(dtype)).op(`${lane}.ne`);
      if (dtypes[dtype].kind === "float") f.op("i32.and");
      else f.drop();
      f.store("i32.store8");
    } else {
      f.get(at).get(keys).op("i32.sub").i32(Math.log2(bytes)).op("i32.shr_u");
      loadBits(f.get(at), bytes).get(key).op(before).op("i32.add");
      f.op("i64.extend_i32_u").store("i64.store", 0, 1);
    }
    bump(f, to, search === "has" ? 1 : 8);
    bump(f, from, bytes);
  });
  return f.module;
}

/**
 * Runs of equal elements in sorted ones. Tasks go through the elements in order; `state` is the address of a word that
 * counts the runs so far. Task: from, n, first (position of the first element), state, starts (0: only count), where
 * elements were (i64, or 0), inverse. starts[r] = where run r begins; inverse[where[i]] = the run of element i.
 */
export function emitRuns(dtype: DType, equalNan: boolean, shared: boolean): ModuleBuilder {
  const { bytes } = dtypes[dtype];
  const lane = keyLane(dtype);
  const { f, words } = runsTask.open(heapModule(shared));
  const { from, n, first, state, starts, where, inverse } = words;
  const raw = f.local(lane, "raw");
  const key = f.local(lane, "key");
  const last = f.local(lane, "last");
  const runs = f.local("i32", "runs");
  const isNew = f.local("i32", "isNew");
  f.get(state).load("i32.load").set(runs);
  f.get(first).if(
    () => {
      f.get(from).i32(bytes).op("i32.sub");
      loadBits(f, bytes).set(raw);
      pushKey(f, dtype, raw).set(last);
    },
    () => f.i32(1).set(isNew),
  );
  times(f, n, () => {
    loadBits(f.get(from), bytes).set(raw);
    pushKey(f, dtype, raw).tee(key).get(last).op(`${lane}.ne`).get(isNew).op("i32.or");
    if (!equalNan && dtypes[dtype].kind === "float") {
      constant(f.get(key), lane, nanKey(dtype)).op(`${lane}.eq`).op("i32.or");
    }
    f.if(() => {
      f.get(starts).if(() => {
        f.get(runs).i32(8).op("i32.mul").get(starts).op("i32.add");
        f.get(first).op("i64.extend_i32_u").store("i64.store");
      });
      bump(f, runs, 1);
    });
    f.i32(0).set(isNew);
    f.get(key).set(last);
    f.get(where).if(() => {
      f.get(where).load("i32.load").i32(8).op("i32.mul").get(inverse).op("i32.add");
      f.get(runs).i32(1).op("i32.sub").op("i64.extend_i32_u").store("i64.store");
      bump(f, where, 8);
    });
    bump(f, from, bytes);
    bump(f, first, 1);
  });
  f.get(state).get(runs).store("i32.store");
  return f.module;
}

/** Elements where a mask is nonzero, one after the other; `state` holds the address of the next. */
export function emitCompress(bytes: ItemBytes, shared: boolean): ModuleBuilder {
  const { f, words } = pickTask.open(heapModule(shared));
  const { from, mask, n, state } = words;
  const to = f.local("i32", "to");
  f.get(state).load("i32.load").set(to);
  times(f, n, () => {
    f.get(mask)
      .load("i32.load8_u")
      .if(() => {
        storeBits(loadBits(f.get(to).get(from), bytes), bytes);
        bump(f, to, bytes);
      });
    bump(f, from, bytes);
    bump(f, mask, 1);
  });
  f.get(state).get(to).store("i32.store");
  return f.module;
}

/** counts[at[i]] += 1 (i64), or += weights[i] (f64), for i64 positions. */
export function emitBincount(weighted: boolean, shared: boolean): ModuleBuilder {
  const { f, words } = countTask.open(heapModule(shared));
  const { at, n, counts, weights } = words;
  const p = f.local("i32", "p");
  times(f, n, () => {
    f.get(at).load("i32.load").i32(8).op("i32.mul").get(counts).op("i32.add").tee(p);
    if (weighted) {
      f.get(p).load("f64.load").get(weights).load("f64.load").op("f64.add").store("f64.store");
      bump(f, weights, 8);
    } else f.get(p).load("i64.load").i64(1).op("i64.add").store("i64.store");
    bump(f, at, 8);
  });
  return f.module;
}
