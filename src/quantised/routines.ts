/**
 * The two routines of a block type, as definitions that run.ts spends: rows of blocks become rows of floats, and rows of
 * blocks are multiplied with a vector where they lie, without ever being floats in memory.
 */
import { type FuncBuilder, f32x4, type Local, type ModuleBuilder } from "../wasm/assembler/assembler.ts";
import { heapModule, loadWord } from "../wasm/kit.ts";
import type { RoutineOptions } from "../wasm/routines/routine.ts";
import { BlockCode } from "./emit.ts";
import { type Group, recipeOf } from "./recipes.ts";
import { blockTypes, type QuantisedDType } from "./types.ts";

/** Code by hand: two of one name are the same code. */
export interface Routine {
  readonly name: string;
  readonly emit: (options: RoutineOptions) => ModuleBuilder;
}

/** Words of a task: rows of so many blocks; strides lead from row to row and from block to block, in bytes. */
export const decodeWords = [
  "rows",
  "blocks",
  "from",
  "to",
  "fromStride",
  "toStride",
  "step",
  "grid",
] as const;
export type DecodeTask = Readonly<Record<(typeof decodeWords)[number], number>>;

/** As above; x is a dense vector of f32, a row's sum goes to `to`. */
export const productWords = [
  "rows",
  "blocks",
  "from",
  "to",
  "fromStride",
  "toStride",
  "step",
  "grid",
  "x",
] as const;
export type ProductTask = Readonly<Record<(typeof productWords)[number], number>>;

/** Names each word of the task in a local. */
function words<N extends string>(f: FuncBuilder, names: readonly N[]): Record<N, Local> {
  const entries = names.map((name, k) => [name, loadWord(f, f.params[0], k, name)] as const);
  return Object.fromEntries(entries) as Record<N, Local>;
}

const move = (f: FuncBuilder, at: Local, by: Local | number): FuncBuilder => {
  f.get(at);
  return (typeof by === "number" ? f.i32(by) : f.get(by)).op("i32.add").set(at);
};

/** body() so many times, at least once. */
function repeat(f: FuncBuilder, count: Local, body: () => void): void {
  const left = f.temp("i32");
  f.get(count).set(left);
  f.loop((next) => {
    body();
    f.get(left).i32(1).op("i32.sub").tee(left).brIf(next);
  });
  f.release(left);
}

/* Decoding --------------------------------------------------------------------------------------------------- */

const highHalf = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];

/** Blocks → floats. */
export const decodeRoutine = (dtype: QuantisedDType, out: "f32" | "f64"): Routine => ({
  name: `dequantise ${dtype} ${out}`,
  emit: ({ shared, simd }) => {
    const module = heapModule(shared);
    const f = module.func("run", { task: "i32" }, [], { export: true });
    const w = words(f, decodeWords);
    const recipe = recipeOf(dtype);
    const bytes = out === "f32" ? 4 : 8;
    const [from, to] = [f.local("i32", "block"), f.local("i32", "at")];
    repeat(f, w.rows, () => {
      f.get(w.from).set(from).get(w.to).set(to);
      repeat(f, w.blocks, () => {
        const code = new BlockCode(f, recipe, from, w.grid);
        recipe.groups.forEach((group, g) => {
          if (simd) storeGroup(f, code, group, to, 16 * g * bytes, out);
          else storeOneByOne(f, code, group, to, 16 * g * bytes, out);
        });
        move(f, from, w.step);
        move(f, to, blockTypes[dtype].block * bytes);
      });
      move(f, w.from, w.fromStride);
      move(f, w.to, w.toStride);
    });
    return module;
  },
});

function storeGroup(
  f: FuncBuilder,
  code: BlockCode,
  group: Group,
  to: Local,
  offset: number,
  out: "f32" | "f64",
): void {
  code.values(group, (r, push) => {
    if (out === "f32") {
      f.get(to);
      push();
      f.store("v128.store", offset + 16 * r, 1);
      return;
    }
    const four = f.temp("v128");
    f.get(to);
    push();
    f.tee(four)
      .op("f64x2.promote_low_f32x4")
      .store("v128.store", offset + 32 * r, 1);
    f.get(to).get(four).get(four).shuffle(highHalf).op("f64x2.promote_low_f32x4");
    f.store("v128.store", offset + 32 * r + 16, 1);
    f.release(four);
  });
}

function storeOneByOne(
  f: FuncBuilder,
  code: BlockCode,
  group: Group,
  to: Local,
  offset: number,
  out: "f32" | "f64",
): void {
  for (let lane = 0; lane < 16; lane++) {
    f.get(to);
    code.value(group, lane);
    if (out === "f32") f.store("f32.store", offset + 4 * lane, 1);
    else f.op("f64.promote_f32").store("f64.store", offset + 8 * lane, 1);
  }
}

/* Products --------------------------------------------------------------------------------------------------- */

/** Sums that go on side by side: one addition need not wait for the other. */
const SUMS = 4;

/**
 * Blocks times a vector. A group's whole numbers are multiplied with 16 elements of x and summed, then scaled once:
 * scale · Σ q·x + plus · Σ x. What is summed together depends on the type alone, not on tasks or threads. SIMD only.
 */
export const productRoutine = (dtype: QuantisedDType): Routine => ({
  name: `quantised product ${dtype}`,
  emit: ({ shared, fma }) => {
    const module = heapModule(shared);
    const f = module.func("run", { task: "i32" }, [], { export: true });
    const w = words(f, productWords);
    const recipe = recipeOf(dtype);
    const [from, x] = [f.local("i32", "block"), f.local("i32", "at")];
    const sums = Array.from({ length: SUMS }, (_, k) => f.local("v128", `sum${k}`));
    repeat(f, w.rows, () => {
      f.get(w.from).set(from).get(w.x).set(x);
      for (const sum of sums) f.v128(f32x4(0)).set(sum);
      repeat(f, w.blocks, () => {
        const code = new BlockCode(f, recipe, from, w.grid);
        recipe.groups.forEach((group, g) => {
          addGroup(f, code, group, x, 64 * g, sums[g % SUMS], fma);
        });
        move(f, from, w.step);
        move(f, x, 4 * blockTypes[dtype].block);
      });
      f.get(w.to);
      f.get(sums[0]).get(sums[1]).op("f32x4.add").get(sums[2]).get(sums[3]).op("f32x4.add").op("f32x4.add");
      f.set(sums[0]);
      const lane = (k: number) => f.get(sums[0]).lane("f32x4.extract_lane", k);
      lane(0);
      lane(1).op("f32.add");
      lane(2);
      lane(3).op("f32.add").op("f32.add").store("f32.store", 0, 1);
      move(f, w.from, w.fromStride);
      move(f, w.to, w.toStride);
    });
    return module;
  },
});

/** a·b + c, both pushed by their owners, c first. */
const madd = (f: FuncBuilder, fma: boolean, c: () => void, a: () => void, b: () => void): void => {
  if (fma) {
    a();
    b();
    c();
    f.op("f32x4.relaxed_madd");
    return;
  }
  c();
  a();
  b();
  f.op("f32x4.mul").op("f32x4.add");
};

function addGroup(
  f: FuncBuilder,
  code: BlockCode,
  group: Group,
  x: Local,
  offset: number,
  sum: Local,
  fma: boolean,
): void {
  const { scale, shift, plus, less } = group;
  const total = f.temp("v128");
  const loadX = (r: number) => f.get(x).load("v128.load", offset + 16 * r, 1);
  code.quarters(group, (r, push) => {
    if (r === 0) {
      push();
      loadX(r).op("f32x4.mul");
    } else {
      madd(
        f,
        fma,
        () => f.get(total),
        push,
        () => loadX(r),
      );
    }
    f.set(total);
  });
  const all = f.temp("v128");
  if (shift !== undefined || plus !== undefined || less !== undefined) {
    loadX(0);
    loadX(1).op("f32x4.add");
    loadX(2);
    loadX(3).op("f32x4.add").op("f32x4.add").set(all);
  }
  const into = (to: Local, factor: Local, by: () => void) => {
    madd(
      f,
      fma,
      () => f.get(to),
      () => f.get(factor),
      by,
    );
    f.set(to);
  };
  if (shift !== undefined) into(total, all, () => code.splat(shift));
  into(sum, total, () => code.splat(scale));
  if (plus !== undefined) into(sum, all, () => code.splat(plus));
  if (less !== undefined) {
    into(sum, all, () => {
      code.splat(less);
      f.op("f32x4.neg");
    });
  }
  f.release(total).release(all);
}
