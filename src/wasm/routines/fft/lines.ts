/** Work on long lines of pairs where they lie, beside the passes of fft.ts: products, and the parting of real signals. */
import {
  type Callable,
  type FuncBuilder,
  f64x2,
  type Local,
  type ModuleBuilder,
} from "../../assembler/assembler.ts";
import { heapModule } from "../../kit.ts";
import { bump, repeat } from "../../product/lanes.ts";
import { task } from "../../task.ts";
import type { RoutineOptions } from "../routine.ts";
import { type FftLane, pick, rows } from "./kit.ts";

export const complexProductTask = task({ at: "ptr", by: "ptr", n: "i32" });

/** n pairs of f64 at `at`, each times its own pair at `by`. */
export function emitComplexProduct({ shared, simd }: RoutineOptions): ModuleBuilder {
  const module = heapModule(shared);
  const row = rows.f64;
  const { f, words } = complexProductTask.open(module);
  const { at, by, n: count } = words;
  const [x, sign] = [f.local("v128"), f.local("v128")];
  if (simd) f.v128(f64x2(-1, 1)).set(sign);
  repeat(f, count, () => {
    if (simd) {
      // [re·c, im·c] + [-im·s, re·s]
      f.get(at).load("v128.load", 0, 8).set(x);
      f.get(at);
      f.get(x).get(by).load("v128.load64_splat", 0).op("f64x2.mul");
      f.get(x)
        .get(x)
        .shuffle(pick(8, 1, 0))
        .get(by)
        .load("v128.load64_splat", 8)
        .op("f64x2.mul");
      f.get(sign).op("f64x2.mul").op("f64x2.add").store("v128.store", 0, 8);
    } else {
      const [a, b] = [0, 1].map((half) => [at, by].map((p) => scalar(f, p, 8 * half)));
      const [[re, c], [im, s]] = [a, b];
      f.get(at).get(re).get(c).op(row.mul).get(im).get(s).op(row.mul).op(row.sub).store(row.store, 0);
      f.get(at).get(re).get(s).op(row.mul).get(im).get(c).op(row.mul).op(row.add).store(row.store, 8);
    }
    bump(f, at, 16);
    bump(f, by, 16);
  });
  return module;
}

function scalar(f: FuncBuilder, at: Local, offset: number): Local {
  const local = f.local("f64");
  f.get(at).load("f64.load", offset).set(local);
  return local;
}

export const pairUpTask = task({
  line: "ptr",
  step: "i32",
  im: "i32",
  h: "i32",
  first: "i32",
  count: "i32",
  coarse: "ptr",
  fine: "ptr",
  shift: "i32",
});

/**
 * emitPairUp for one long line of pairs, element by element, in f64: `count` of them from the `first` on. The factor g is
 * made of the tables that `emitTwist` reads.
 */
export function emitPairUpLines(
  lane: FftLane,
  when: "before" | "after",
  { shared }: RoutineOptions,
): ModuleBuilder {
  const module = heapModule(shared);
  const names = Object.keys(pairUpTask.at) as (keyof typeof pairUpTask.at)[];
  const one = emitPairUpLine(module, lane, when, names);
  const f = module.func("run", { task: "i32" }, [], { export: true });
  for (const name of names) pairUpTask.push(f, f.params[0], name);
  f.call(one);
  return module;
}

function emitPairUpLine(
  module: ModuleBuilder,
  lane: FftLane,
  when: "before" | "after",
  names: readonly string[],
): Callable {
  const f = module.func(
    "line",
    names.map((name) => [name, "i32"] as const),
  );
  const [at, step, im, h, k, count, coarse, fine, shift] = f.params;
  const [low, high, mask, e] = ["low", "high", "mask", "e"].map((name) => f.local("i32", name));
  const number = (name: string) => f.local("f64", name);
  const [ar, ai, cr, ci, pr, pi, dr, di, gr, gi, qr, qi] = "ar ai cr ci pr pi dr di gr gi qr qi"
    .split(" ")
    .map(number);
  const load = (cell: Local, into: readonly [Local, Local]) => {
    into.forEach((local, part) => {
      f.get(cell);
      if (part === 1) f.get(im).op("i32.add");
      f.load(rows[lane].load);
      if (lane === "f32") f.op("f64.promote_f32");
      f.set(local);
    });
  };
  /** The number on the stack of `value` to a part of a cell. */
  const store = (cell: Local, part: 0 | 1, value: () => void) => {
    f.get(cell);
    if (part === 1) f.get(im).op("i32.add");
    value();
    if (lane === "f32") f.op("f32.demote_f64");
    f.store(rows[lane].store);
  };
  const combine = (a: Local, b: Local, op: "f64.add" | "f64.sub") => f.get(a).get(b).op(op);
  const cell = (index: () => void, into: Local) => {
    index();
    f.get(step).op("i32.mul").get(at).op("i32.add").set(into);
  };

  // The first cell, and the one after the last: both are real in the signal's transform.
  f.get(k)
    .op("i32.eqz")
    .if(() => {
      cell(() => f.get(h), high);
      load(at, [ar, ai]);
      if (when === "before") {
        load(high, [ai, ci]);
        for (const part of [0, 1] as const) {
          store(at, part, () =>
            combine(ar, ai, part === 0 ? "f64.add" : "f64.sub")
              .f64(0.5)
              .op("f64.mul"),
          );
        }
      } else {
        store(at, 0, () => combine(ar, ai, "f64.add"));
        store(at, 1, () => f.f64(0));
        store(high, 0, () => combine(ar, ai, "f64.sub"));
        store(high, 1, () => f.f64(0));
      }
      f.i32(1).set(k);
      bump(f, count, -1);
    });
  f.i32(1).get(shift).op("i32.shl").i32(1).op("i32.sub").set(mask);
  repeat(f, count, () => {
    // g = -i/2·w^k, or i/2·w^-k: half of w's parts, crosswise.
    f.get(coarse).get(k).get(shift).op("i32.shr_u").i32(4).op("i32.shl").op("i32.add").set(low);
    f.get(fine).get(k).get(mask).op("i32.and").i32(4).op("i32.shl").op("i32.add").set(e);
    const product = (a: number, b: number) =>
      f.get(low).load("f64.load", a).get(e).load("f64.load", b).op("f64.mul");
    product(0, 8);
    product(8, 0);
    f.op("f64.add").f64(0.5).op("f64.mul").set(gr);
    product(0, 0);
    product(8, 8);
    f.op("f64.sub")
      .f64(when === "before" ? 0.5 : -0.5)
      .op("f64.mul")
      .set(gi);
    cell(() => f.get(k), low);
    cell(() => f.get(h).get(k).op("i32.sub"), high);
    load(low, [ar, ai]);
    load(high, [cr, ci]);
    combine(ar, cr, "f64.add").f64(0.5).op("f64.mul").set(pr);
    combine(ai, ci, "f64.sub").f64(0.5).op("f64.mul").set(pi);
    combine(ar, cr, "f64.sub").set(dr);
    combine(ai, ci, "f64.add").set(di);
    f.get(gr).get(dr).op("f64.mul").get(gi).get(di).op("f64.mul").op("f64.sub").set(qr);
    f.get(gr).get(di).op("f64.mul").get(gi).get(dr).op("f64.mul").op("f64.add").set(qi);
    store(low, 0, () => combine(pr, qr, "f64.add"));
    store(low, 1, () => combine(pi, qi, "f64.add"));
    store(high, 0, () => combine(pr, qr, "f64.sub"));
    store(high, 1, () => combine(qi, pi, "f64.sub"));
    bump(f, k, 1);
  });
  return f;
}
