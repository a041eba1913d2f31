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
  /** Functions of the same names that write their calls to the tape: this one, until another is begun. */
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
  let words = new Int32Array(heap.buffer);
  const run = (task: number) => {
    if (words.buffer !== heap.buffer) words = new Int32Array(heap.buffer);
    const start = (words[task / 4] >>> 0) / 4;
    const end = start + 1 + words[start];
    for (let at = start + 1; at < end; ) {
      const call = calls[words[at]];
      const args: number[] = [];
      const first = at + 2;
      at = first + words[at + 1];
      for (let i = first; i < at; i++) args.push(words[i]);
      call(...args);
    }
  };
  let recorded: number[] = [];
  const recording = Object.fromEntries(
    names.map((name, number) => [
      name,
      (...args: number[]) => {
        recorded.push(number, args.length);
        for (let i = 0; i < args.length; i++) recorded.push(args[i]);
      },
    ]),
  ) as Exports;
  return {
    kernel: { bytes, run, taped: true },
    record(tape) {
      recorded = tape;
      return recording;
    },
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
