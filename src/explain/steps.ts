/** What a report consists of: plain data, one step for each thing that happened. */
import type { DType } from "../dtype.ts";
import type { PoolStatus } from "../run/pool.ts";
import type { WholeArray, WholeLoop } from "../run/whole.ts";

export interface OperandReport {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  readonly offset: number;
  /** How the innermost loop walks it. */
  readonly walk: "contiguous" | "broadcast" | "strided" | "reversed" | "transposed" | "repeated" | "any";
  /** Elements the innermost loop steps by; null where no single loop says it. */
  readonly step: number | null;
}

/** An operand of a routine: what it is, not how it is walked. */
export type RoutineOperand = Omit<OperandReport, "walk" | "step">;

/** One loop: how far it goes, and how many elements each operand (the output first) moves a step. */
export interface LoopReport {
  readonly size: number;
  readonly steps: readonly number[];
}

/** The piece of the source, characters [start, end), that a node of the program came from. */
export interface SpanReport {
  readonly node: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The call that a step is part of, where that is an operation made of several steps: "svd", "einsum". */
interface Grouped {
  readonly within?: string;
}

/** A kernel that ran: what it computed, how its loops were walked, and what it took. */
export interface KernelStep extends Grouped {
  /** Which kind of step this is. */
  readonly kind: "kernel";
  /** What the user called. */
  readonly operation: string;
  /** Which kind of call it was: "elementwise", "reduce", "matmul" …. */
  readonly form: string;
  /** The function's text, or the operation as algebra. */
  readonly source: string;
  /** What the function captured, by name; absent where it captured nothing. */
  readonly values?: Readonly<Record<string, string>>;
  /** What ran: compiled code, the interpreter, or the function itself. */
  readonly backend: "wasm" | "interpreter" | "function";
  /** The output first. */
  readonly operands: readonly OperandReport[];
  /** Loops before planning, and after axes were dropped, sorted and merged; outermost first. */
  readonly loops: { readonly before: readonly number[]; readonly after: readonly number[] };
  /** The same, loop by loop; a fold's folded loops are the last ones. Empty for matrix products. */
  readonly nest: { readonly before: readonly LoopReport[]; readonly after: readonly LoopReport[] };
  /** The program after each pass, with what the pass does; empty where nothing was compiled. */
  readonly passes: readonly { readonly name: string; readonly says: string; readonly text: string }[];
  /** Which piece of the source each node of the first program came from. */
  readonly spans: readonly SpanReport[];
  /** How the inner loop uses SIMD; null where it does not. */
  readonly vector: {
    readonly lanes: number;
    readonly unroll: number;
    /** Tiles of 4 × 4 elements. */
    readonly tiled: boolean;
    /** Rows that are computed together. */
    readonly rows: number;
  } | null;
  /** How operands walk the inner loop, as the key the code is kept under. */
  readonly layoutKey: string | null;
  /** What else there is to say of the code: the tile of a matrix product, the order of a fold. */
  readonly note: string | null;
  /** The pool, and what of the work it shared. */
  readonly threads: PoolStatus & {
    readonly shared: boolean;
    /** Tasks that were shared, and how many of them the calling thread did. */
    readonly tasks: number;
    readonly own: number;
  };
  /** The kernel was there before. */
  readonly cached: boolean;
  /** The plan was there before: the same call on operands of the same layout, or with other captured values. */
  readonly replayed: boolean;
  /** Which of V8's codes ran: the one made at once, or (after many calls) the optimised one. null: not known. */
  readonly tier: "first" | "optimised" | null;
  /** Milliseconds spent compiling, 0 when the kernel was known. */
  readonly compileTime: number;
  /** Milliseconds from the start of the operation to its end, compiling included. */
  readonly time: number;
  /** Bytes read and written. */
  readonly bytes: number;
  /** Bytes of the inputs. */
  readonly bytesRead: number;
  /** Bytes of the outputs. */
  readonly bytesWritten: number;
  /** Additions and multiplications; matrix products only. */
  readonly flops: number | null;
  /** Without the time to compile. */
  readonly rate: { readonly value: number; readonly unit: "GB/s" | "GFLOP/s" } | null;
  /** The WebAssembly as text; null where nothing was compiled. */
  readonly wat: string | null;
}
/** Code written by hand for what no function of elements describes: a gather, a sort, a transform. */
export interface RoutineStep extends Grouped {
  /** Which kind of step this is. */
  readonly kind: "routine";
  /** What the user called; the routine's own name where its caller does not say. */
  readonly operation: string;
  /** The code's own name. */
  readonly name: string;
  /** The output first, as far as the caller says. */
  readonly operands: readonly RoutineOperand[];
  /** Bytes read and written; null where they are not known. */
  readonly bytes: number | null;
  /** Pieces that the work was cut into. */
  readonly tasks: number;
  /** The pool, and whether it shared the work. */
  readonly threads: PoolStatus & { readonly shared: boolean };
  /** The code was there before. */
  readonly cached: boolean;
  /** Milliseconds spent compiling, 0 when the routine was known. */
  readonly compileTime: number;
  /** Milliseconds, compiling included. */
  readonly time: number;
  /** The WebAssembly as text. */
  readonly wat: string;
}
/** A copy that nobody asked for. */
export interface CopyStep extends Grouped {
  /** Which kind of step this is. */
  readonly kind: "copy";
  /** What the user called. */
  readonly operation: string;
  /** How many were copied. */
  readonly bytes: number;
  /** Why it could not be a view. */
  readonly why: string;
}
/** Work that was not compiled: a function that was called, or a program that was interpreted. */
export interface FallbackStep extends Grouped {
  /** Which kind of step this is. */
  readonly kind: "fallback";
  /** What the user called. */
  readonly operation: string;
  /** What ran instead: the function itself, or the interpreter. */
  readonly backend: "function" | "interpreter";
  /** Why it was not compiled. */
  readonly why: string;
}
/** A call of an njit function. */
export interface NjitStep extends Grouped {
  /** Which kind of step this is. */
  readonly kind: "njit";
  /** What the user called. */
  readonly operation: "njit";
  /** Of the function; empty where it has none. */
  readonly name: string;
  /** The function's text. */
  readonly source: string;
  /** Its arrays, as they were passed. */
  readonly operands: readonly WholeArray[];
  /** Its loops, in the order they stand in the source. */
  readonly loops: readonly WholeLoop[];
  /** The pool. */
  readonly threads: PoolStatus;
  /** The code was there before. */
  readonly cached: boolean;
  /** Milliseconds spent compiling, 0 when the code was there. */
  readonly compileTime: number;
  /** Milliseconds, compiling included. */
  readonly time: number;
  /** The function with every type and every check written out. */
  readonly typed: string;
  /** The WebAssembly as text. */
  readonly wat: string;
}
/** One thing that happened. */
export type Step = KernelStep | RoutineStep | NjitStep | CopyStep | FallbackStep;
