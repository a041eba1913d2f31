/** What the routines around sorting share: a module over the heap, a task's words, and loops that count down. */
import type { FuncBuilder, Local, ModuleBuilder } from "../../assembler/assembler.ts";

/** The exported function `run` of a module, and the words of its task, in this order, as locals. */
export function taskFunction<N extends string>(
  module: ModuleBuilder,
  names: readonly N[],
): { readonly f: FuncBuilder; readonly words: Readonly<Record<N, Local>> } {
  const f = module.func("run", { task: "i32" }, [], { export: true });
  const words = names.map((name, i) => {
    const local = f.local("i32", name);
    f.get(f.params[0])
      .load("i32.load", 4 * i)
      .set(local);
    return [name, local] as const;
  });
  return { f, words: Object.fromEntries(words) as Record<N, Local> };
}

/** p += by. */
export const bump = (f: FuncBuilder, p: Local, by: number): FuncBuilder =>
  f.get(p).i32(by).op("i32.add").set(p);

/** Runs `body` n times; n counts down to 0. */
export function times(f: FuncBuilder, n: Local, body: () => void): void {
  f.get(n).if(() => {
    f.loop((next) => {
      body();
      f.get(n).i32(1).op("i32.sub").tee(n).brIf(next);
    });
  });
}
