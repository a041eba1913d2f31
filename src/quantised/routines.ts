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
import { BlockCode, type Constants, emitTwice, halfLanes, plainHalves, raised } from "./emit.ts";
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

/** Rows of floats, and where their blocks go; `step` leads from block to block. */
export const encodeWords = ["rows", "blocks", "from", "to", "fromStride", "toStride", "step"] as const;
export type EncodeTask = Readonly<Record<(typeof encodeWords)[number], number>>;

/** Names each word of the task in a local. */
export function words<N extends string>(f: FuncBuilder, names: readonly N[]): Record<N, Local> {
  const entries = names.map((name, k) => [name, loadWord(f, f.params[0], k, name)] as const);
  return Object.fromEntries(entries) as Record<N, Local>;
}

export const move = (f: FuncBuilder, at: Local, by: Local | number): FuncBuilder => {
  f.get(at);
  return (typeof by === "number" ? f.i32(by) : f.get(by)).op("i32.add").set(at);
};

/** body() so many times, at least once. */
export function repeat(f: FuncBuilder, count: Local, body: () => void): void {
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
  emit: ({ shared, simd }) =>
    emitTwice((constants) => {
      const module = heapModule(shared);
      const f = module.func("run", { task: "i32" }, [], { export: true });
      constants.set(f);
      const w = words(f, decodeWords);
      const recipe = recipeOf(dtype);
      const bytes = out === "f32" ? 4 : 8;
      const [from, to] = [f.local("i32", "block"), f.local("i32", "at")];
      repeat(f, w.rows, () => {
        f.get(w.from).set(from).get(w.to).set(to);
        repeat(f, w.blocks, () => {
          const code = new BlockCode(f, constants, recipe, from, w.grid);
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
    }),
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

/** Blocks of a row that go on together, where they are small: their scales are widened at once. */
const TOGETHER = 2;

/**
 * Blocks times a vector, row after row: memory is read as it lies. The whole numbers of groups that have one scale are
 * multiplied with their elements of x and summed, 32 at the most, then scaled once: scale · Σ q·x + plus · Σ x. What is
 * summed together depends on the type alone, not on tasks or threads. SIMD only.
 */
export const productRoutine = (dtype: QuantisedDType): Routine => ({
  name: `quantised product ${dtype}`,
  emit: ({ shared, fma }) =>
    emitTwice((constants) => {
      const module = heapModule(shared);
      const row = emitRow(module, constants, dtype, fma);
      const f = module.func("run", { task: "i32" }, [], { export: true });
      const w = words(f, productWords);
      repeat(f, w.rows, () => {
        for (const name of rowArguments) f.get(w[name]);
        f.call(row);
        move(f, w.from, w.fromStride);
        move(f, w.to, w.toStride);
      });
      return module;
    }),
});

const rowArguments = ["blocks", "from", "to", "step", "grid", "x", "sums"] as const;

/** Groups of a block, one after the other, that have the same scale and are summed before it is applied. */
function runsOf(groups: readonly Group[]): readonly (readonly [first: number, count: number])[] {
  const runs: [number, number][] = [];
  groups.forEach((group, g) => {
    const last = runs.at(-1);
    const before = groups[g - 1];
    const isSame =
      before !== undefined &&
      (["scale", "shift", "plus", "less"] as const).every((part) => group[part] === before[part]);
    if (last !== undefined && isSame && last[1] < 2) last[1]++;
    else runs.push([g, 1]);
  });
  return runs;
}

/** The sum of a row. */
function emitRow(module: ModuleBuilder, constants: Constants, dtype: QuantisedDType, fma: boolean): Callable {
  const parameters = Object.fromEntries(rowArguments.map((name) => [name, "i32" as const]));
  const f = module.func("row", parameters);
  constants.set(f);
  const w = Object.fromEntries(rowArguments.map((name, k) => [name, f.params[k]])) as Record<
    (typeof rowArguments)[number],
    Local
  >;
  const recipe = recipeOf(dtype);
  const { block } = blockTypes[dtype];
  const total = f.local("v128", "total");
  f.v128(f32x4(0)).set(total);
  const by = (count: number) => {
    const places = [w.from, ...Array.from({ length: count - 1 }, (_, k) => f.local("i32", `block${k + 1}`))];
    countedLoop(f, w.blocks, count, () => {
      for (let k = 1; k < count; k++) {
        f.get(places[k - 1])
          .get(w.step)
          .op("i32.add")
          .set(places[k]);
      }
      const codes = places.map((place) => new BlockCode(f, constants, recipe, place, w.grid));
      if (count > 1) {
        for (const { node, at } of plainHalves(recipe)) {
          const four = f.temp("v128");
          halfLanes(f, constants, places, at, four);
          codes.forEach((code, k) => {
            code.preset(node, four, k);
          });
          f.release(four);
        }
      }
      codes.forEach((code, k) => {
        for (const [first, groups] of runsOf(recipe.groups)) {
          const run = recipe.groups.slice(first, first + groups);
          addRun(f, constants, code, run, w.x, w.sums, 4 * (block * k + 16 * first), total, fma);
        }
      });
      f.get(places[count - 1])
        .get(w.step)
        .op("i32.add")
        .set(w.from);
      move(f, w.x, 4 * block * count);
      if (usesSums(dtype)) move(f, w.sums, block * count);
    });
  };
  if (block <= 64) by(TOGETHER);
  by(1);
  f.get(w.to);
  const lane = (k: number) => f.get(total).lane("f32x4.extract_lane", k);
  lane(0);
  lane(1).op("f32.add");
  lane(2);
  lane(3).op("f32.add").op("f32.add").store("f32.store", 0, 1);
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

/** total += the elements of groups that share a scale, times x. */
function addRun(
  f: FuncBuilder,
  constants: Constants,
  code: BlockCode,
  run: readonly Group[],
  x: Local,
  sums: Local,
  offset: number,
  total: Local,
  fma: boolean,
): void {
  const [{ scale, shift, plus, less }] = run;
  const [sum, bytes] = [f.temp("v128"), f.temp("v128")];
  run.forEach(({ q }, g) => {
    code.bytes(q);
    f.set(bytes);
    for (let r = 0; r < 4; r++) {
      const push = () => raised(f, constants, bytes, r);
      const some = () => f.get(x).load("v128.load", offset + 64 * g + 16 * r, 1);
      if (g === 0 && r === 0) {
        push();
        some().op("f32x4.mul").set(sum);
      } else {
        madd(f, fma, () => f.get(sum), push, some);
        f.set(sum);
      }
    }
  });
  const add = (to: Local, factor: Local, by: Float, sign: "+" | "-") => {
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
  // What is left of this register serves for the sums of x.
  if (shift !== undefined || plus !== undefined || less !== undefined) {
    run.forEach((_, g) => {
      f.get(sums).load("v128.load", offset / 4 + 16 * g, 1);
      if (g > 0) f.op("f32x4.add");
    });
    f.set(bytes);
  }
  if (shift !== undefined) add(sum, bytes, shift, "+");
  add(total, sum, scale, "+");
  if (plus !== undefined) add(total, bytes, plus, "+");
  if (less !== undefined) add(total, bytes, less, "-");
  f.release(sum).release(bytes);
}
