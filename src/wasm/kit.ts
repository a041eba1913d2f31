/** What every module made here has: the heap's memory, words of a descriptor, loops that count down. */
import { type FuncBuilder, type Local, ModuleBuilder } from "./assembler/assembler.ts";

/** A module that works on the heap: memory "m" of module "e". */
export function heapModule(shared: boolean): ModuleBuilder {
  return new ModuleBuilder().importMemory(
    "e",
    "m",
    shared ? { min: 2, max: 65536, shared: true } : { min: 2 },
  );
}

export function loadWord(f: FuncBuilder, d: Local, word: number, name: string): Local {
  const local = f.local("i32", name);
  f.get(d)
    .load("i32.load", 4 * word)
    .set(local);
  return local;
}

/** while (left >= step) { body; left -= step }, tested at the bottom. */
export function countedLoop(f: FuncBuilder, left: Local, step: number, body: () => void): void {
  f.get(left)
    .i32(step)
    .op("i32.ge_s")
    .if(() => {
      f.loop((next) => {
        body();
        f.get(left).i32(step).op("i32.sub").tee(left).i32(step).op("i32.ge_s").brIf(next);
      });
    });
}
