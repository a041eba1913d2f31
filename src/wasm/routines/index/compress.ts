/**
 * Masks: one byte an element, anything but 0 is true, row after row without gaps. A task has a stretch of the mask; how
 * many are true in it (`emitCount`) says where its output begins, so stretches are independent. Then something is written
 * for every true element, in order: the element itself (`emitCompress`) or the number base + i · step (`emitPositions`).
 */
import type { FuncBuilder, Local, ModuleBuilder } from "../../assembler/assembler.ts";
import { heapModule } from "../../kit.ts";
import { task } from "../../task.ts";
import { advance, countdown, type EmitOptions, type ItemBytes, itemMoves, walkWords } from "../walk.ts";

/** `result` is where to put the count. */
export const countTrueTask = task({ mask: "ptr", bytes: "i32", result: "ptr" });

export function emitCount({ shared, simd }: EmitOptions): ModuleBuilder {
  const module = heapModule(shared);
  const { f, words } = countTrueTask.open(module);
  const { mask, bytes: left, result } = words;
  const count = f.local("i32", "count");
  const zero = f.local("v128", "zero");
  const addTo = () => f.get(count).op("i32.add").set(count);
  if (simd) {
    countdown(f, left, 16, () => {
      f.get(mask).load("v128.load", 0, 1).get(zero).op("i8x16.ne").op("i8x16.bitmask").op("i32.popcnt");
      addTo();
      advance(f, mask, 16);
    });
  }
  countdown(f, left, 1, () => {
    f.get(mask).load("i32.load8_u").i32(0).op("i32.ne");
    addTo();
    advance(f, mask, 1);
  });
  f.get(result).get(count).store("i32.store");
  return module;
}

/** What is written for the element at `at`; moves `out` on. */
type Write = (f: FuncBuilder, out: Local, at: Local) => void;

/** The elements themselves. Operands: mask, source; own word: where to write. */
export function emitCompress(bytes: ItemBytes, options: EmitOptions): ModuleBuilder {
  const { load, store } = itemMoves[bytes];
  return emitTrue(options, (f, out, at) => {
    f.get(out).get(at).load(load).store(store);
    advance(f, out, bytes);
  });
}

/** The "address" of every true element of operand 1, which is not looked at: base + i · step, in 4 or 8 bytes. */
export function emitPositions(bytes: 4 | 8, options: EmitOptions): ModuleBuilder {
  return emitTrue(options, (f, out, at) => {
    f.get(out).get(at);
    if (bytes === 8) f.op("i64.extend_i32_u");
    f.store(bytes === 8 ? "i64.store" : "i32.store");
    advance(f, out, bytes);
  });
}

/** Task: as in walk.ts with operands mask and source, then the address to write to. */
function emitTrue({ shared, simd }: EmitOptions, write: Write): ModuleBuilder {
  const module = heapModule(shared);
  const line = emitTrueLine(module, simd, write);
  const f = module.func("run", { task: "i32" }, [], { export: true });
  const word = (position: number) => {
    const local = f.local("i32");
    f.get(f.params[0])
      .load("i32.load", 4 * position)
      .set(local);
    return local;
  };
  const [n, left] = [word(walkWords.n), word(walkWords.m)];
  const mask = word(walkWords.address(0));
  const [at, step, rowStep] = [0, 1, 2].map((k) => word(walkWords.address(1) + k));
  const out = word(walkWords.own(2));
  f.loop((nextRow) => {
    f.get(n).get(mask).get(at).get(step).get(out).call(line).set(out);
    advance(f, mask, n);
    advance(f, at, rowStep);
    f.get(left).i32(1).op("i32.sub").tee(left).brIf(nextRow);
  });
  return module;
}

/** line(n, mask, at, step, out) → out */
function emitTrueLine(module: ModuleBuilder, simd: boolean, write: Write): FuncBuilder {
  const params = { n: "i32", mask: "i32", at: "i32", step: "i32", out: "i32" } as const;
  const f = module.func("line", params, ["i32"]);
  const [n, mask, at, step, out] = f.params;
  if (simd) {
    const bits = f.local("i32", "bits");
    const zero = f.local("v128", "zero");
    const source = f.local("i32", "source");
    const wide = f.local("i32", "wide");
    f.get(step).i32(16).op("i32.mul").set(wide);
    countdown(f, n, 16, () => {
      f.get(mask).load("v128.load", 0, 1).get(zero).op("i8x16.ne").op("i8x16.bitmask").tee(bits);
      // The lowest bit that is set, as often as there is one.
      f.if(() => {
        f.loop((next) => {
          f.get(at).get(bits).op("i32.ctz").get(step).op("i32.mul").op("i32.add").set(source);
          write(f, out, source);
          f.get(bits).get(bits).i32(1).op("i32.sub").op("i32.and").tee(bits).brIf(next);
        });
      });
      advance(f, mask, 16);
      advance(f, at, wide);
    });
  }
  countdown(f, n, 1, () => {
    f.get(mask)
      .load("i32.load8_u")
      .if(() => write(f, out, at));
    advance(f, mask, 1);
    advance(f, at, step);
  });
  return f.get(out);
}

/** Which of the two steps an axis needs: the first is not reduced, the last not divided. */
export interface UnravelSteps {
  readonly divides: boolean;
  readonly reduces: boolean;
}

/** From positions to indices, `step` bytes apart. */
export const unravelTask = task({
  n: "i32",
  from: "ptr",
  to: "ptr",
  step: "i32",
  divisor: "i32",
  size: "i32",
});

/** i64 index = (position / divisor) mod size. */
export function emitUnravel(
  { divides, reduces }: UnravelSteps,
  { shared }: Pick<EmitOptions, "shared">,
): ModuleBuilder {
  const module = heapModule(shared);
  const { f, words } = unravelTask.open(module);
  const { n, from, to, step, divisor, size } = words;
  const inverse = (of: Local) => {
    const local = f.local("f64");
    f.f64(1).get(of).op("f64.convert_i32_u").op("f64.div").set(local);
    return local;
  };
  const perDivisor = inverse(divisor);
  const perSize = inverse(size);
  const x = f.local("i32", "x");
  countdown(f, n, 1, () => {
    f.get(from).load("i32.load").set(x);
    if (divides) quotient(f, x, perDivisor).set(x);
    f.get(to).get(x);
    if (reduces) quotient(f, x, perSize).get(size).op("i32.mul").op("i32.sub");
    f.op("i64.extend_i32_u").store("i64.store");
    advance(f, from, 4);
    advance(f, to, step);
  });
  return module;
}

/**
 * ⌊x / d⌋ of 32-bit integers from 1 / d, without a division. (x + ½) / d lies at least ½ / d from every integer, much
 * further than doubles are off; less ½ it rounds to the quotient, and 1.5 · 2^52 brings that into the low bits.
 */
function quotient(f: FuncBuilder, x: Local, inverse: Local): FuncBuilder {
  f.get(x).op("f64.convert_i32_u").f64(0.5).op("f64.add").get(inverse).op("f64.mul");
  f.f64(0.5)
    .op("f64.sub")
    .f64(1.5 * 2 ** 52)
    .op("f64.add");
  return f.op("i64.reinterpret_f64").op("i32.wrap_i64");
}
