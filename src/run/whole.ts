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
  /** Indices that each turn checks, in the form that runs where all is well, and in the form for everything else. */
  readonly checks: number;
  readonly checksOtherwise: number;
}
