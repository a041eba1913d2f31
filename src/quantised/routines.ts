/**
 * The two routines of a block type, as definitions that run.ts spends: rows of blocks become rows of floats, and rows of
 * blocks are multiplied with a vector where they lie, without ever being floats in memory.
 */
import {
  type Callable,
  type FuncBuilder,
  f32x4,
  type Local,
  type ModuleBuilder,
} from "../wasm/assembler/assembler.ts";
import { countedLoop, heapModule, loadWord } from "../wasm/kit.ts";
import type { RoutineOptions } from "../wasm/routines/routine.ts";
import { BlockCode, halfLanes, plainHalves, raised } from "./emit.ts";
import { type Float, type Group, recipeOf } from "./recipes.ts";
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

/**
 * As above; a row's sum goes to `to`. x is a dense vector of f32, each element divided by 2^24; `sums` has for each 16 of
 * them what they come to, four by four: lane l is Σ x[4i + l].
 */
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
  "sums",
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

/** Does a product need the sums of x? */
export const usesSums = (dtype: QuantisedDType): boolean =>
  recipeOf(dtype).groups.some(({ shift, plus, less }) => (shift ?? plus ?? less) !== undefined);

/** Rows that go on together: what is loaded of x serves them all, and their scales are widened at once. */
const TOGETHER = 2;

/**
 * Blocks times a vector. A group's whole numbers are multiplied with 16 elements of x and summed, then scaled once:
 * scale · Σ q·x + plus · Σ x. What is summed together depends on the type alone, not on tasks or threads. SIMD only.
 */
export const productRoutine = (dtype: QuantisedDType): Routine => ({
  name: `quantised product ${dtype}`,
  emit: ({ shared, fma }) => {
    const module = heapModule(shared);
    const many = emitRows(module, dtype, TOGETHER, fma);
    const one = emitRows(module, dtype, 1, fma);
    const f = module.func("run", { task: "i32" }, [], { export: true });
    const w = words(f, productWords);
    const rowsBy = (count: number, rows: Callable) => {
      countedLoop(f, w.rows, count, () => {
        for (const name of rowArguments) f.get(w[name]);
        f.call(rows);
        for (const [at, stride] of [
          [w.from, w.fromStride],
          [w.to, w.toStride],
        ]) {
          f.get(at).get(stride).i32(count).op("i32.mul").op("i32.add").set(at);
        }
      });
    };
    rowsBy(TOGETHER, many);
    rowsBy(1, one);
    return module;
  },
});

const rowArguments = ["blocks", "from", "to", "fromStride", "toStride", "step", "grid", "x", "sums"] as const;

/** The sums of so many rows. */
function emitRows(module: ModuleBuilder, dtype: QuantisedDType, count: number, fma: boolean): Callable {
  const parameters = Object.fromEntries(rowArguments.map((name) => [name, "i32" as const]));
  const f = module.func(`rows${count}`, parameters);
  const w = Object.fromEntries(rowArguments.map((name, k) => [name, f.params[k]])) as Record<
    (typeof rowArguments)[number],
    Local
  >;
  const recipe = recipeOf(dtype);
  const { block } = blockTypes[dtype];
  const needsSums = usesSums(dtype);
  const places = Array.from({ length: count }, (_, k) => f.local("i32", `row${k}`));
  places.forEach((place, k) => {
    f.get(k === 0 ? w.from : places[k - 1]);
    if (k > 0) f.get(w.fromStride).op("i32.add");
    f.set(place);
  });
  const totals = places.map((_, k) => f.local("v128", `total${k}`));
  for (const total of totals) f.v128(f32x4(0)).set(total);
  repeat(f, w.blocks, () => {
    const codes = places.map((place) => new BlockCode(f, recipe, place, w.grid));
    if (count > 1) {
      for (const { node, at } of plainHalves(recipe)) {
        const four = f.temp("v128");
        halfLanes(f, places, at, four);
        codes.forEach((code, k) => {
          code.preset(node, four, k);
        });
        f.release(four);
      }
    }
    recipe.groups.forEach((group, g) => {
      addGroup(f, codes, group, w.x, w.sums, 64 * g, totals, fma);
    });
    for (const place of places) move(f, place, w.step);
    move(f, w.x, 4 * block);
    if (needsSums) move(f, w.sums, block);
  });
  for (const total of totals) {
    f.get(w.to);
    const lane = (k: number) => f.get(total).lane("f32x4.extract_lane", k);
    lane(0);
    lane(1).op("f32.add");
    lane(2);
    lane(3).op("f32.add").op("f32.add").store("f32.store", 0, 1);
    move(f, w.to, w.toStride);
  }
  return f;
}

/** c ± a·b, each pushed by its owner. */
function madd(
  f: FuncBuilder,
  fma: boolean,
  c: () => void,
  a: () => void,
  b: () => void,
  sign: "+" | "-" = "+",
): void {
  if (fma) {
    a();
    b();
    c();
    f.op(sign === "+" ? "f32x4.relaxed_madd" : "f32x4.relaxed_nmadd");
    return;
  }
  c();
  a();
  b();
  f.op("f32x4.mul").op(sign === "+" ? "f32x4.add" : "f32x4.sub");
}

/** The same group of several rows. */
function addGroup(
  f: FuncBuilder,
  codes: readonly BlockCode[],
  group: Group,
  x: Local,
  sums: Local,
  offset: number,
  into: readonly Local[],
  fma: boolean,
): void {
  const { scale, shift, plus, less } = group;
  const totals = codes.map(() => f.temp("v128"));
  const bytes = codes.map((code) => {
    const local = f.temp("v128");
    code.bytes(group.q);
    f.set(local);
    return local;
  });
  const four = f.temp("v128");
  for (let r = 0; r < 4; r++) {
    f.get(x)
      .load("v128.load", offset + 16 * r, 1)
      .set(four);
    codes.forEach((_, k) => {
      const push = () => raised(f, bytes[k], r);
      if (r === 0) {
        push();
        f.get(four).op("f32x4.mul");
      } else {
        madd(
          f,
          fma,
          () => f.get(totals[k]),
          push,
          () => f.get(four),
        );
      }
      f.set(totals[k]);
    });
  }
  // What is left of this register serves for the sums of x.
  if (shift !== undefined || plus !== undefined || less !== undefined) {
    f.get(sums)
      .load("v128.load", offset / 4, 1)
      .set(four);
  }
  const add = (to: Local, factor: Local, by: Float, sign: "+" | "-", code: BlockCode) => {
    madd(
      f,
      fma,
      () => f.get(to),
      () => f.get(factor),
      () => code.splat(by),
      sign,
    );
    f.set(to);
  };
  codes.forEach((code, k) => {
    if (shift !== undefined) add(totals[k], four, shift, "+", code);
    add(into[k], totals[k], scale, "+", code);
    if (plus !== undefined) add(into[k], four, plus, "+", code);
    if (less !== undefined) add(into[k], four, less, "-", code);
  });
  for (const local of [...totals, ...bytes, four]) f.release(local);
}
