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
import { BlockCode, type Constants, emitTwice, halfLanes, isPlain, plainHalves } from "./emit.ts";
import { type Float, type Group, recipeOf } from "./recipes.ts";
import { blockTypes, type QuantisedDType } from "./types.ts";
import { portionOf, type VectorForm } from "./vector.ts";

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

/** As above; a row's sum goes to `to`. x is a vector as vector.ts writes it: so many portions, and then tails. */
export const productWords = [
  "rows",
  "portions",
  "tails",
  "from",
  "to",
  "fromStride",
  "toStride",
  "step",
  "grid",
  "x",
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

/** Blocks of a row that go on together. Scales of small ones are widened at once, where loads of elements leave room. */
const together = (dtype: QuantisedDType): number =>
  blockTypes[dtype].block > 64 || recipeOf(dtype).groups.every(({ q }) => isPlain(q)) ? 1 : 2;

/** As products want x. */
export function vectorForm(dtype: QuantisedDType, blocks = together(dtype)): VectorForm {
  const { groups } = recipeOf(dtype);
  const { block } = blockTypes[dtype];
  return {
    most: blocks * block,
    block,
    isPaired: !groups.every(({ q }) => isPlain(q)),
    hasSums: groups.some(({ shift, plus, less }) => (shift ?? plus ?? less) !== undefined),
  };
}

/**
 * Blocks times a vector, row after row: memory is read as it lies. The whole numbers of groups that have one scale are
 * multiplied with those of x and summed, 32 at the most, which is exact, then scaled once: scale · Σ q·x + plus · Σ x.
 * What is summed together depends on the type and on x, not on tasks or threads. SIMD only.
 */
export const productRoutine = (dtype: QuantisedDType, blocks = together(dtype)): Routine => ({
  name: `quantised product ${dtype}`,
  emit: ({ shared }) =>
    emitTwice((constants) => {
      const module = heapModule(shared);
      const row = emitRow(module, constants, dtype, blocks);
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

const rowArguments = ["portions", "tails", "from", "to", "step", "grid", "x"] as const;

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

/** The sum of a row, so many blocks in a turn. */
function emitRow(module: ModuleBuilder, constants: Constants, dtype: QuantisedDType, most: number): Callable {
  const parameters = Object.fromEntries(rowArguments.map((name) => [name, "i32" as const]));
  const f = module.func("row", parameters);
  constants.set(f);
  const w = Object.fromEntries(rowArguments.map((name, k) => [name, f.params[k]])) as Record<
    (typeof rowArguments)[number],
    Local
  >;
  const form = vectorForm(dtype, most);
  const { groups } = recipeOf(dtype);
  const [total, high, low] = [f.local("v128"), f.local("v128"), f.local("v128")];
  f.v128(f32x4(0)).set(total);
  const turns = (left: Local, blocks: number) => {
    const offsets = portionOf(form, blocks * form.block);
    countedLoop(f, left, 1, () => {
      f.get(w.x).load("v128.load32_splat", offsets.high, 1).set(high);
      f.get(w.x).load("v128.load32_splat", offsets.low, 1).set(low);
      blockCodes(f, constants, dtype, blocks, w.from, w.step, w.grid).forEach((code, b) => {
        for (const [first, count] of runsOf(groups)) {
          const run = groups.slice(first, first + count);
          const element = b * form.block + 16 * first;
          const parts = sumParts(f, code, run, w.x, 4 * element);
          addScaled(f, code, run, parts, [high, low], w.x, offsets.sums + element, total);
          for (const part of parts) f.release(part);
        }
      });
      f.get(w.x).load("i32.load", offsets.advance, 1).get(w.step).op("i32.mul");
      f.get(w.from).op("i32.add").set(w.from);
      move(f, w.x, offsets.bytes);
    });
  };
  if (most > 1) turns(w.portions, most);
  turns(most > 1 ? w.tails : w.portions, 1);
  f.get(w.to);
  const lane = (k: number) => f.get(total).lane("f32x4.extract_lane", k);
  lane(0);
  lane(1).op("f32.add");
  lane(2);
  lane(3).op("f32.add").op("f32.add").store("f32.store", 0, 1);
  return f;
}

/** Code for so many blocks, one step after the other. Of several, up to four, half floats are widened at once. */
function blockCodes(
  f: FuncBuilder,
  constants: Constants,
  dtype: QuantisedDType,
  count: number,
  first: Local,
  step: Local,
  grid: Local,
): readonly BlockCode[] {
  const recipe = recipeOf(dtype);
  const places = [first];
  while (places.length < count) {
    const next = f.local("i32");
    f.get(places[places.length - 1])
      .get(step)
      .op("i32.add")
      .set(next);
    places.push(next);
  }
  const codes = places.map((at) => new BlockCode(f, constants, recipe, at, grid));
  if (count === 1) return codes;
  for (const { node, at } of plainHalves(recipe)) {
    const four = f.temp("v128");
    halfLanes(f, constants, places, at, four);
    codes.forEach((code, k) => {
      code.preset(node, four, k);
    });
    f.release(four);
  }
  return codes;
}

/** Σ q·x of groups that share a scale, with the high parts of x and with the low ones: exact, as 30 bits are not reached. */
function sumParts(
  f: FuncBuilder,
  code: BlockCode,
  run: readonly Group[],
  x: Local,
  at: number,
): readonly [Local, Local] {
  // Old compilers load first what a basic block loads at all, and spill what does not fit: so another one begins here.
  if (run.every((group) => isPlain(group.q)))
    f.get(x)
      .op("i32.eqz")
      .if(() => f.unreachable());
  const [q, ...parts] = [f.temp("v128"), f.temp("v128"), f.temp("v128")] as const;
  run.forEach((group, g) => {
    code.words(group, (half, push) => {
      push();
      f.set(q);
      parts.forEach((sum, part) => {
        const isFirst = g === 0 && half === 0;
        if (!isFirst) f.get(sum);
        f.get(q)
          .get(x)
          .load("v128.load", at + 64 * g + 32 * part + 16 * half, 1)
          .op("i32x4.dot_i16x8_s");
        if (!isFirst) f.op("i32x4.add");
        f.set(sum);
      });
    });
  });
  f.release(q);
  return parts;
}

/** total += scale · Σ (q + shift)·x + (plus - less) · Σ x, with Σ q·x in two parts, of so many units each. */
function addScaled(
  f: FuncBuilder,
  code: BlockCode,
  [{ scale, shift, plus, less }, ...others]: readonly Group[],
  [sum, rest]: readonly [Local, Local],
  [high, low]: readonly [Local, Local],
  x: Local,
  sums: number,
  total: Local,
): void {
  f.get(sum).op("f32x4.convert_i32x4_s").get(high).op("f32x4.mul");
  f.get(rest).op("f32x4.convert_i32x4_s").get(low).op("f32x4.mul").op("f32x4.add").set(sum);
  const add = (to: Local, factor: Local, by: Float, op: "f32x4.add" | "f32x4.sub" = "f32x4.add") => {
    f.get(to).get(factor);
    code.splat(by);
    f.op("f32x4.mul").op(op).set(to);
  };
  // What is left of this register serves for the sums of x.
  if (shift !== undefined || plus !== undefined || less !== undefined) {
    f.get(x).load("v128.load", sums, 1);
    others.forEach((_, g) => {
      f.get(x)
        .load("v128.load", sums + 16 * (g + 1), 1)
        .op("f32x4.add");
    });
    f.set(rest);
  }
  if (shift !== undefined) add(sum, rest, shift);
  add(total, sum, scale);
  if (plus !== undefined) add(total, rest, plus);
  if (less !== undefined) add(total, rest, less, "f32x4.sub");
}
