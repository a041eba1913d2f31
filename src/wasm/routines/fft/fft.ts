/**
 * Fourier transforms of many lines at once. A cell is 64 bytes: one element of W lines (4 of f64, 8 of f32), all their
 * real parts, then all their imaginary ones. A block of lines is L cells, so every butterfly is done for W lines by the
 * same vector instructions, whatever the radix, and the order of memory never matters to it.
 *
 * The stages are Stockham's: each reads one buffer and writes the other, and the result comes out in order. A stage of
 * radix r takes `run` cells side by side m times:
 *
 *     y[q, r·p + k] = w^(p·k) · Σ_j x[q, p + m·j] · exp(-2πi·j·k / r)      q < run, p < m, w = exp(-2πi / (m·r))
 *
 * Transforms are forward; an inverse one is the same with real and imaginary parts swapped on the way in and out.
 */
import type { Callable, FuncBuilder, Label, Local, ModuleBuilder } from "../../assembler/assembler.ts";
import { heapModule } from "../../kit.ts";
import { bump, repeat } from "../../product/lanes.ts";
import { task } from "../../task.ts";
import type { RoutineOptions } from "../routine.ts";
import { emitConjugate, emitPairUp, emitScale, emitTwist } from "./between.ts";
import { CELL, type FftLane, HALF, Kit } from "./kit.ts";
import { emitAdjacent, emitMove } from "./sides.ts";
import { emitStage } from "./stages.ts";

/** `from` and `to` are tables with the address of every line's first element. */
export const fftTask = task({
  /** Two buffers of `length` cells and one more. */
  workspace: "ptr",
  lines: "i32",
  length: "i32",
  /** One word: how many; then for each stage its radix, m, and where its factors lie. */
  stages: "ptr",
  from: "ptr",
  fromKind: "i32",
  /** Bytes from element to element, and from a real part to its imaginary one. */
  fromStep: "i32",
  fromIm: "i32",
  /** Elements that are there; the rest is 0. */
  fromCount: "i32",
  /** Elements 1 … mirrored once more, conjugated, from the end backwards: the half that real signals leave out. */
  mirrored: "i32",
  /** 1: imaginary and real parts change places. */
  fromSwap: "i32",
  to: "ptr",
  toKind: "i32",
  toStep: "i32",
  toIm: "i32",
  toCount: "i32",
  toSwap: "i32",
  /** 0, or a table of factors for each cell; see `twist`. */
  twist: "ptr",
  /** The ordinal of the first line, and the length of the whole transform. */
  line: "i32",
  whole: "i32",
  /** Tables of f64 pairs: exp(-2πi·e / whole) = coarse[e >> shift] · fine[e & (2^shift - 1)]. */
  coarse: "ptr",
  fine: "ptr",
  shift: "i32",
  scale: "f64",
  /** 0, or tables of factors for real signals; see `emitPairUp`. */
  before: "ptr",
  after: "ptr",
});

/** The routine, with butterflies for these radices only. */
export function emitFft(
  lane: FftLane,
  radices: readonly number[],
  { shared, simd }: RoutineOptions,
): ModuleBuilder {
  const module = heapModule(shared);
  const kit = new Kit(module, lane, simd);
  const stages = radices.map((radix) => ({ radix, stage: emitStage(kit, radix) }));
  const adjacent = emitAdjacent(kit);
  const load = emitMove(kit, false, adjacent);
  const store = emitMove(kit, true, adjacent);
  const block = emitBlock(kit, stages, load, store);
  const f = module.func("run", { task: "i32" }, [], { export: true });
  const [task] = f.params;
  const [lines, from, to, line, count] = ["lines", "from", "to", "line", "count"].map((name) =>
    f.local("i32", name),
  );
  for (const [local, word] of [
    [lines, "lines"],
    [from, "from"],
    [to, "to"],
    [line, "line"],
  ] as const) {
    fftTask.push(f, task, word).set(local);
  }
  f.loop((next) => {
    f.get(lines).i32(kit.lines).get(lines).i32(kit.lines).op("i32.lt_s").select().set(count);
    f.get(task).get(from).get(to).get(line).get(count).call(block);
    bump(f, from, 4 * kit.lines);
    bump(f, to, 4 * kit.lines);
    bump(f, line, kit.lines);
    f.get(lines).i32(kit.lines).op("i32.sub").tee(lines).i32(0).op("i32.gt_s").brIf(next);
  });
  return module;
}

/** block(task, from, to, line, count): W lines, or the `count` that are left. */
function emitBlock(
  kit: Kit,
  stages: readonly { readonly radix: number; readonly stage: Callable }[],
  load: Callable,
  store: Callable,
): Callable {
  const conjugate = emitConjugate(kit);
  const scale = emitScale(kit);
  const twist = emitTwist(kit);
  const before = emitPairUp(kit, "before");
  const after = emitPairUp(kit, "after");
  const f = kit.func("block", "task from to line count");
  const [task, from, to, line, count] = f.params;
  const local = (name: string) => f.local("i32", name);
  const word = (name: keyof typeof fftTask.at) => fftTask.push(f, task, name);
  const [src, dst, n, run, left, at, table, mirrored, spare] = "src dst n run left at table mirrored spare"
    .split(" ")
    .map(local);

  word("workspace").set(src);
  word("length").set(n);
  f.get(n).i32(6).op("i32.shl").get(src).op("i32.add").i32(CELL).op("i32.add").set(dst);

  // In: what is there, its mirror image, zeros between them.
  f.get(src).i32(CELL);
  word("fromSwap");
  f.get(from).get(count);
  for (const name of ["fromCount", "fromStep", "fromKind", "fromIm"] as const) word(name);
  f.call(load);
  word("mirrored").set(mirrored);
  word("fromCount").i32(6).op("i32.shl").get(src).op("i32.add").set(at);
  f.get(at).i32(0).get(n);
  word("before").i32(0).op("i32.ne").op("i32.add");
  word("fromCount").op("i32.sub").get(mirrored).op("i32.sub").i32(6).op("i32.shl").op("memory.fill");
  f.get(mirrored).if(() =>
    emitMirror(f, load, conjugate, { task, src, dst, n, from, count, mirrored, spare }),
  );

  const pairUp = (name: "before" | "after", how: Callable) =>
    word(name).if(() => {
      f.get(src).get(n);
      word(name).call(how);
    });
  pairUp("before", before);

  // Stages, from one buffer to the other.
  word("stages").set(table);
  f.get(table).load("i32.load").set(left);
  f.i32(CELL).set(run);
  repeat(f, left, () => {
    f.block((done: Label) => {
      for (const { radix, stage } of stages) {
        f.get(table)
          .load("i32.load", 4)
          .i32(radix)
          .op("i32.eq")
          .if(() => {
            f.get(src).get(dst).get(run).get(table).load("i32.load", 8).get(table).load("i32.load", 12);
            f.call(stage);
            f.br(done);
          });
      }
    });
    f.get(run).get(table).load("i32.load", 4).op("i32.mul").set(run);
    f.get(src).set(spare).get(dst).set(src).get(spare).set(dst);
    bump(f, table, 12);
  });

  word("twist").if(() => {
    f.get(src).get(n);
    word("twist").get(line);
    for (const name of ["whole", "coarse", "fine", "shift"] as const) word(name);
    f.call(twist);
  });
  pairUp("after", after);
  word("scale")
    .f64(1)
    .op("f64.ne")
    .if(() => {
      f.get(src);
      word("toCount");
      word("scale").call(scale);
    });
  f.get(src).i32(CELL);
  word("toSwap");
  f.get(to).get(count);
  for (const name of ["toCount", "toStep", "toKind", "toIm"] as const) word(name);
  f.call(store);
  return f;
}

interface MirrorLocals {
  readonly task: Local;
  readonly src: Local;
  readonly dst: Local;
  readonly n: Local;
  readonly from: Local;
  readonly count: Local;
  readonly mirrored: Local;
  readonly spare: Local;
}

/** Elements 1 … mirrored of every line, from cell n - 1 backwards, conjugated. */
function emitMirror(f: FuncBuilder, load: Callable, conjugate: Callable, l: MirrorLocals): void {
  const word = (name: keyof typeof fftTask.at) => fftTask.push(f, l.task, name);
  // The lines' second elements: their addresses are made in the other buffer, which is free.
  const t = f.local("i32", "t");
  f.i32(0).set(t);
  repeat(f, l.count, () => {
    f.get(l.dst).get(t).op("i32.add");
    f.get(l.from).get(t).op("i32.add").load("i32.load");
    word("fromStep").op("i32.add").store("i32.store");
    bump(f, t, 4);
  });
  f.get(l.n).i32(6).op("i32.shl").get(l.src).op("i32.add").i32(CELL).op("i32.sub").i32(-CELL);
  word("fromSwap");
  f.get(l.dst).get(l.count).get(l.mirrored);
  for (const name of ["fromStep", "fromKind", "fromIm"] as const) word(name);
  f.call(load);
  f.get(l.n).get(l.mirrored).op("i32.sub").i32(6).op("i32.shl").get(l.src).op("i32.add").set(l.spare);
  // The imaginary parts are in the second half, unless the halves changed places.
  f.get(l.spare).i32(0).i32(HALF);
  word("fromSwap").select().op("i32.add").get(l.mirrored).call(conjugate);
}
