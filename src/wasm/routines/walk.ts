/**
 * The frame of routines that go along several streams of elements at once: m rows of n elements, every operand with an
 * address, a stride and a row stride of its own. A routine's file brings the line, the loop over one row, as a function
 * of its own; V8 replaces slow first code between its calls.
 *
 *     task: i32 n, m, then per operand: i32 address, stride, rowStride; then the routine's own words
 */
import type { FuncBuilder, Local, ModuleBuilder } from "../assembler/assembler.ts";
import { heapModule } from "../kit.ts";

/** Word positions in a task. */
export const walkWords = {
  n: 0,
  m: 1,
  address: (operand: number) => 2 + 3 * operand,
  /** Of the routine's own words. */
  own: (operands: number) => 2 + 3 * operands,
};

/** What an emitter has to know of the host. */
export interface EmitOptions {
  /** Is the memory shared? Its import has to say so. */
  readonly shared: boolean;
  readonly simd: boolean;
}

/** Where an operand is in its row, and the step to its next element. */
export interface Stream {
  readonly at: Local;
  readonly stride: Local;
}

/** One line: `n` elements of the streams; `own` are the routine's words, as i32. */
export type Line = (f: FuncBuilder, n: Local, streams: readonly Stream[], own: readonly Local[]) => void;

/** A module whose `run` calls the line for every row. */
export function emitWalk(shared: boolean, operands: number, own: number, line: Line): ModuleBuilder {
  const module = heapModule(shared);
  const streamNames = Array.from({ length: operands }, (_, k) => [`at${k}`, `stride${k}`]).flat();
  const ownNames = Array.from({ length: own }, (_, k) => `own${k}`);
  const names = ["n", ...streamNames, ...ownNames];
  const f = module.func("line", Object.fromEntries(names.map((name) => [name, "i32"] as const)));
  const streams = Array.from({ length: operands }, (_, k) => ({
    at: f.param(`at${k}`),
    stride: f.param(`stride${k}`),
  }));
  line(
    f,
    f.param("n"),
    streams,
    ownNames.map((name) => f.param(name)),
  );
  emitRun(module, f, operands, own);
  return module;
}

function emitRun(module: ModuleBuilder, line: FuncBuilder, operands: number, own: number): void {
  const f = module.func("run", { task: "i32" }, [], { export: true });
  const task = f.params[0];
  const word = (position: number, name: string) => {
    const local = f.local("i32", name);
    f.get(task)
      .load("i32.load", 4 * position)
      .set(local);
    return local;
  };
  const n = word(walkWords.n, "n");
  const left = word(walkWords.m, "left");
  const rows = Array.from({ length: operands }, (_, k) => ({
    at: word(walkWords.address(k), `at${k}`),
    stride: word(walkWords.address(k) + 1, `stride${k}`),
    rowStride: word(walkWords.address(k) + 2, `rowStride${k}`),
  }));
  const words = Array.from({ length: own }, (_, k) => word(walkWords.own(operands) + k, `own${k}`));
  f.loop((nextRow) => {
    f.get(n);
    for (const { at, stride } of rows) f.get(at).get(stride);
    for (const w of words) f.get(w);
    f.call(line);
    for (const { at, rowStride } of rows) advance(f, at, rowStride);
    f.get(left).i32(1).op("i32.sub").tee(left).brIf(nextRow);
  });
}

/** pointer += step */
export function advance(f: FuncBuilder, pointer: Local, step: Local | number): FuncBuilder {
  f.get(pointer);
  if (typeof step === "number") f.i32(step);
  else f.get(step);
  return f.op("i32.add").set(pointer);
}

/** while (left >= step) { body; left -= step } */
export function countdown(f: FuncBuilder, left: Local, step: number, body: () => void): void {
  f.get(left)
    .i32(step)
    .op("i32.ge_u")
    .if(() => {
      f.loop((next) => {
        body();
        f.get(left).i32(step).op("i32.sub").tee(left).i32(step).op("i32.ge_u").brIf(next);
      });
    });
}

/** The loads and stores that move an item of so many bytes without looking at it. */
export const itemMoves = {
  1: { load: "i32.load8_u", store: "i32.store8", type: "i32" },
  2: { load: "i32.load16_u", store: "i32.store16", type: "i32" },
  4: { load: "i32.load", store: "i32.store", type: "i32" },
  8: { load: "i64.load", store: "i64.store", type: "i64" },
} as const;
export type ItemBytes = keyof typeof itemMoves;
