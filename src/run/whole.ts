/** A call of a whole function with loops (njit), as whoever listens hears of it: plain data. */
import type { DType } from "../dtype.ts";

export interface WholeCall {
  /** Of the function; empty where it has none. */
  readonly name: string;
  readonly source: string;
  /** Its arrays, as they were passed. */
  readonly arrays: readonly WholeArray[];
  readonly loops: readonly WholeLoop[];
  /** Bytes that were copied in because they lay outside of the heap. */
  readonly copied: number;
  /** Was the code made for this call? */
  readonly isNew: boolean;
  readonly compileTime: number;
  /** Compiling included. */
  readonly milliseconds: number;
  /** The function with every type and every check written out. */
  readonly typed: () => string;
  readonly bytes: Uint8Array;
  /** The call once more, line by line, `most` rows of it; null: its arrays were too large to be kept. */
  readonly trace: ((most: number) => NjitTrace) | null;
}

/** A call of a whole function, line by line. */
export interface NjitTrace {
  /** Arguments and the function's own arrays. */
  readonly arrays: readonly NjitTraceArray[];
  /** Arguments that are no arrays, by name. */
  readonly scalars: readonly (readonly [string, number | bigint | boolean])[];
  /** What happened, a row for each line that had its turn. */
  readonly rows: readonly NjitTraceRow[];
  /** False: there is more than was asked for. */
  readonly isWhole: boolean;
  /** What ended the call, where an index was outside. */
  readonly error: string | null;
}

/** An array of a traced call. */
export interface NjitTraceArray {
  /** As the function calls it. */
  readonly name: string;
  /** Of its elements. */
  readonly dtype: DType;
  /** Its sizes. */
  readonly shape: readonly number[];
  /** Elements as the call found them, in row-major order. */
  readonly values: readonly (number | bigint | boolean)[];
}

/** One line of the source having its turn. */
export interface NjitTraceRow {
  /** The function's text, or that of one that was passed to it. */
  readonly source: string;
  /** Where the piece of it begins, in characters. */
  readonly start: number;
  /** Where it ends. */
  readonly end: number;
  /** Counted from 1. */
  readonly line: number;
  /** Variables that were set, in order. */
  readonly sets: readonly (readonly [string, number | bigint | boolean])[];
  /** Elements that were read and written, in order. */
  readonly accesses: readonly NjitTraceAccess[];
}

/** An element that was read or written. */
export interface NjitTraceAccess {
  /** Which of the arrays. */
  readonly array: number;
  /** The element's index. */
  readonly index: readonly number[];
  /** What was read, or written. */
  readonly value: number | bigint | boolean;
  /** It was written. */
  readonly isWrite: boolean;
}

export interface WholeArray {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
}

/** One loop of the source. */
export interface WholeLoop {
  /** Counted from 1. */
  readonly line: number;
  /** Its first line, as it is written. */
  readonly text: string;
  /** Loops around it. */
  readonly depth: number;
  /** It was written with prange. */
  readonly prange: boolean;
  /** Where its turns were cut: how many there were, and who did them. null: they ran in order. */
  readonly parallel: {
    readonly turns: number;
    /** Tasks that threads shared; 0: there was too little to do. */
    readonly tasks: number;
    readonly threads: number;
  } | null;
  /** Why a prange loop ran in order. */
  readonly why: string | null;
  /** Turns that run at once in vectors; null: one after another. */
  readonly lanes: number | null;
  /** Why there are no vectors in it. */
  readonly whyScalar: string | null;
  /** How many turns were written out, one after another; null: it is a loop. */
  readonly unrolled: number | null;
  /** Indices that each turn checks, in the form that runs where all is well, and in the form for everything else. */
  readonly checks: number;
  readonly checksOtherwise: number;
}
