/**
 * An operation as data, before it runs. A call says what is done, on which operands, into which output. A plan says how,
 * for all operands of these dtypes and layouts, wherever they lie: it counts from the first element of each frame. Addresses
 * appear when a device runs what it has prepared, and nowhere before.
 */
import type { DType, Value } from "../dtype.ts";
import type { Program, Template } from "../ir/node.ts";
import type { Storage } from "../memory/storage.ts";
import type { GemmPlan } from "../optimize/gemm.ts";
import type { Fold } from "../optimize/reduce.ts";
import type { FoldLoops } from "../optimize/reduce-plan.ts";
import type { LoopNest } from "../view/loops.ts";
import type { View } from "../view/view.ts";
import type { CompiledKernel } from "./kernel.ts";
import type { CompiledFold } from "./reduce-tasks.ts";

/** What operations work on: a dtype, a storage and a view of it. */
export interface Strided<D extends DType = DType> {
  readonly dtype: D;
  readonly storage: Storage;
  /** Shape, strides and offset of the elements, in bytes from the storage's start. */
  readonly frame: View;
  /** Broadcast and window views name one element many times: writing to them is an error. */
  readonly readOnly: boolean;
}

export type Captured = number | bigint | boolean;

/** What is asked for. Calls that agree in form, what, facts, and in dtypes and layouts of their operands have one plan. */
export interface Call {
  /** As the user called it. */
  readonly operation: string;
  /** What is done, by identity: a function, a program, a fold. */
  readonly what: object;
  /** What else the plan depends on; first a number that stands for `what`. */
  readonly facts: readonly unknown[];
  readonly inputs: readonly Strided[];
  /** null: the plan says what is made. */
  readonly out: Strided | null;
  /** Captured values, in the order of the plan's params. They are no part of the plan. */
  readonly values: readonly Captured[];
}

/** A kind of call, and the shape and dtype rules that make a plan of one. */
export interface Form<C extends Call = Call, P = Plan> {
  readonly id: number;
  readonly plan: (call: C) => P;
  /**
   * What is looked at before an output is written: whether it shares memory with an input; the same, element upon element
   * being fine; or nothing, because the caller knows.
   */
  readonly guards: "memory" | "elements" | "nothing";
}

export interface Output {
  readonly dtype: DType;
  readonly frame: View;
}

export interface Plan {
  readonly work: Work;
  readonly prepared: Prepared;
  /** May an element of it fail? */
  readonly mayFail: boolean;
  /** Bytes of the output. */
  readonly bytes: number;
  /** The output, where the call brings none. */
  readonly dtype: DType;
  readonly frame: View;
  /** Outputs besides the first, where there are several. */
  readonly more?: readonly Output[] | undefined;
  /** dtypes of the captured values. */
  readonly params: readonly DType[];
  /** Why it is interpreted, where it should be compiled. */
  readonly misfit: string | null;
  /** What it computes, for those who listen: a template, the function that is called, words; null: the program says it. */
  readonly told: Template | ((...args: never[]) => unknown) | string | null;
  /** Names of the captured values, where they have any. */
  readonly names: readonly string[];
}

/* What a device prepares ------------------------------------------------------------------------------------ */

/** All frames begin at 0: a plan counts from there. The output's is the first. */
export type Work = ElementwiseWork | FoldWork | ProductWork;

export interface ElementwiseWork {
  readonly form: "elementwise" | "copy";
  /** null: a function is called. */
  readonly program: Program | null;
  /** Of one shape; where a program has several results, so many are outputs. */
  readonly frames: readonly View[];
}

export interface FoldWork {
  readonly form: "reduce" | "scan";
  /** null: a function is called. */
  readonly fold: Fold | null;
  /** The inputs, in one shape; null: the position of an element in its fold, in C order. */
  readonly sources: readonly (View | null)[];
  readonly dtypes: readonly (DType | null)[];
  readonly isFolded: readonly boolean[];
  /** A reduction's has the axes that stay, a scan's has all. */
  readonly out: View;
  /** In the function's own dtype; null: at the first element, or where the operation itself starts. */
  readonly init: Value | null;
  /** The fold of stored values that this one is instead of: elements are grouped as they would be there. */
  readonly like?: FoldLike;
}

/** The loops over the axes that stay, and over those that go. */
export interface FoldNests {
  readonly kept: LoopNest;
  readonly folded: LoopNest;
}

/** A fold of stored values, the bytes of their elements, and its loops. */
export interface FoldLike {
  readonly fold: Fold;
  readonly itemBytes: readonly number[];
  /** As all operands walk them, the stored values before the inputs; and as the inputs do. */
  readonly all: FoldNests;
  readonly own: FoldNests;
}

/** out = a·b, or with a sign, out ± a·b: matrices in the last two axes, equal batch axes before them. */
export interface ProductWork {
  readonly form: "matmul";
  readonly frames: readonly [out: View, a: View, b: View];
  readonly dtypes: readonly [out: DType, a: DType, b: DType];
  readonly sign: "=" | "+=" | "-=";
}

/** Work made ready by a device, for operands anywhere in its memory. */
export interface Prepared {
  readonly backend: "wasm" | "interpreter" | "function";
  /** What it comes to, for those who listen. */
  readonly spent: Spent;
  run(out: Strided, inputs: readonly Strided[], params: readonly Value[]): void;
}

/** What was decided and is spent by running: of each kind of work its own. */
export interface Spent {
  readonly program?: Program;
  readonly nest?: LoopNest;
  readonly kernel?: CompiledKernel | CompiledFold | null;
  readonly fold?: Fold;
  readonly kept?: LoopNest;
  readonly folded?: LoopNest;
  readonly loops?: FoldLoops;
  readonly gemm?: GemmPlan | null;
  /** A run of bytes that is moved as it is. */
  readonly bytes?: number;
}

/** Work that a program describes. */
export type Described =
  | (ElementwiseWork & { readonly program: Program })
  | (FoldWork & { readonly fold: Fold })
  | ProductWork;

/** What makes work ready, over one memory. */
export interface Executor {
  prepare(work: Described): Prepared;
  /** Why it does not take the work; null where it does. */
  refuses(work: Described): string | null;
}

const ids = new WeakMap<object, number>();
let lastId = 0;

/** A number for something that has an identity only. */
export function idOf(what: object): number {
  let id = ids.get(what);
  if (id === undefined) {
    id = newId();
    ids.set(what, id);
  }
  return id;
}
export const newId = (): number => ++lastId;

/** The same view, counted from its first element. */
export const fromStart = (view: View): View => (view.offset === 0 ? view : { ...view, offset: 0 });
