/**
 * What a routine is called with: fields by name, once for the code that writes a task and for the code that reads it. A
 * field is a place in memory, a number, or an f64; how wide a place is is known here and nowhere else.
 */
import type { FuncBuilder, Local, ModuleBuilder } from "./assembler/assembler.ts";

/** ptr: a place in memory. i32: a count, a size, bytes from one element to the next. */
export type Field = "ptr" | "i32" | "f64";

export interface TaskSchema<N extends string> {
  /** Of i32, in all. */
  readonly words: number;
  /** The word at which a field begins. */
  readonly at: Readonly<Record<N, number>>;
  /** The words of one task; what is not given is 0. */
  of(values: Readonly<Partial<Record<N, number>>>): number[];
  /** A field of the task at `d`, onto the stack. */
  push(f: FuncBuilder, d: Local, name: N): FuncBuilder;
  /** All fields of the task at `d`, as locals. */
  load(f: FuncBuilder, d: Local): Readonly<Record<N, Local>>;
  /** The exported function `run` of a module, called with a task. */
  open(module: ModuleBuilder): { readonly f: FuncBuilder; readonly words: Readonly<Record<N, Local>> };
}

const f64 = new Float64Array(1);
const halves = new Int32Array(f64.buffer);

export function task<const S extends Readonly<Record<string, Field>>>(
  fields: S,
): TaskSchema<keyof S & string> {
  type N = keyof S & string;
  const names = Object.keys(fields) as N[];
  const at = {} as Record<N, number>;
  let words = 0;
  for (const name of names) {
    // An f64 begins at a multiple of 8, as tasks do.
    if (fields[name] === "f64") words += words % 2;
    at[name] = words;
    words += fields[name] === "f64" ? 2 : 1;
  }
  const push = (f: FuncBuilder, d: Local, name: N) =>
    f.get(d).load(fields[name] === "f64" ? "f64.load" : "i32.load", 4 * at[name]);
  const load = (f: FuncBuilder, d: Local) => {
    const locals = {} as Record<N, Local>;
    for (const name of names) {
      locals[name] = f.local(fields[name] === "f64" ? "f64" : "i32", name);
      push(f, d, name).set(locals[name]);
    }
    return locals;
  };
  return {
    words,
    at,
    push,
    load,
    of(values) {
      const out = new Array<number>(words).fill(0);
      for (const name of names) {
        const value = values[name] ?? 0;
        if (fields[name] === "f64") {
          f64[0] = value;
          out[at[name]] = halves[0];
          out[at[name] + 1] = halves[1];
        } else out[at[name]] = value;
      }
      return out;
    },
    open(module) {
      const f = module.func("run", { task: "i32" }, [], { export: true });
      return { f, words: load(f, f.params[0]) };
    },
  };
}
