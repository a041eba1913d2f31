/**
 * A tape: calls of a module's exports, written down instead of made, so that another thread can make them. One word says
 * how many follow; then, per call, the export's number, how many arguments it has, and the arguments (all i32).
 */
import type { Heap } from "../memory/heap.ts";
import type { PoolKernel } from "./pool.ts";

type TapeHeap = Pick<Heap, "buffer" | "alloc">;
type Calls = Record<string, (...args: number[]) => unknown>;

/** A module whose exports can be called here, or recorded for whoever is free. */
export interface TapedModule<Exports> {
  readonly kernel: PoolKernel;
  /** Functions of the same names that write their calls to the tape. */
  record(tape: number[]): Exports;
}

export function tapedModule<Exports>(
  heap: TapeHeap,
  bytes: Uint8Array,
  module: WebAssembly.Module,
  exports: Exports,
): TapedModule<Exports> {
  const names = WebAssembly.Module.exports(module).map(({ name }) => name);
  const calls = names.map((name) => (exports as Calls)[name]);
  const run = (task: number) => {
    const at = new Int32Array(heap.buffer, task, 1)[0] >>> 0;
    const words = new Int32Array(heap.buffer, at, 1)[0];
    const tape = new Int32Array(heap.buffer, at + 4, words);
    for (let i = 0; i < words; ) {
      const start = i + 2;
      const end = start + tape[i + 1];
      calls[tape[i]](...tape.subarray(start, end));
      i = end;
    }
  };
  return {
    kernel: { bytes, run, taped: true },
    record: (tape) =>
      Object.fromEntries(
        names.map((name, number) => [
          name,
          (...args: number[]) => {
            tape.push(number, args.length, ...args);
          },
        ]),
      ) as Exports,
  };
}

/** Writes tapes into the heap, with a table of their addresses before them. Returns the table's address. */
export function writeTapes(heap: TapeHeap, tapes: readonly (readonly number[])[], operation: string): number {
  const words = tapes.reduce((sum, t) => sum + t.length + 1, tapes.length);
  const address = heap.alloc(4 * words, operation);
  const memory = new Int32Array(heap.buffer, address, words);
  let at = tapes.length;
  tapes.forEach((tape, i) => {
    memory[i] = address + 4 * at;
    memory[at] = tape.length;
    memory.set(tape, at + 1);
    at += tape.length + 1;
  });
  return address;
}
