/**
 * The typed form of a whole function: structured control flow over locals, loads and stores, with the existing typed
 * scalar programs (ir/node.ts) as expressions. A step's expressions are pure; what has an order is a step.
 *
 * `break` counts the blocks and loops around it, from 0 for the innermost: out of a block, or to the next turn of a loop.
 * The end of a loop's body leaves it. This is what WebAssembly and WGSL both have.
 */
import type { DType } from "../dtype.ts";
import type { Program } from "../ir/node.ts";
import type { Access, Place, ReductionOp, Returns } from "./tree.ts";

/** Input k of the program is the local `locals[k]`. */
export interface Expression {
  readonly program: Program;
  readonly locals: readonly number[];
}

export interface LocalInfo {
  /** As in the source; empty for what has no name there. */
  readonly name: string;
  readonly dtype: DType;
}

export interface ArrayInfo {
  readonly name: string;
  readonly dtype: DType;
  readonly rank: number;
  /** Neighbours along the last axis are neighbours in memory. */
  readonly unit: boolean;
  /** Which argument it is; null: the function's own, of `length` elements. */
  readonly argument: number | null;
  readonly length: number;
  /** Is it written to somewhere? */
  written: boolean;
}

/**
 * What has to be looked at before an operation is an index of this array, which has one element: 0 is right. So what may fail is a load,
 * wherever it stands.
 */
export const CHECKS = "(checks)";

/** An access that may fail: where it stands, and on what; or a division of bigints, or BigInt(x). */
export interface Site {
  readonly array: number;
  readonly access: Access | "/" | "BigInt";
  readonly place: Place;
}

export type Step =
  | { readonly op: "set"; readonly local: number; readonly value: Expression }
  /** The element at the index, converted to the local's dtype. An index outside ends the call with the site's error. */
  | {
      readonly op: "load";
      readonly local: number;
      readonly array: number;
      /** i32, i64, or a float, which must be whole. */
      readonly index: readonly Expression[];
      /** By axis: is the index known to be inside? */
      readonly proved: readonly boolean[];
      readonly site: number;
    }
  | {
      readonly op: "store";
      readonly array: number;
      readonly index: readonly Expression[];
      readonly proved: readonly boolean[];
      /** Of the array's dtype. */
      readonly value: Expression;
      readonly site: number;
    }
  | {
      readonly op: "if";
      readonly test: Expression;
      readonly yes: readonly Step[];
      readonly no: readonly Step[];
    }
  | { readonly op: "block"; readonly body: readonly Step[] }
  | LoopStep
  | LanesStep
  | ForkStep
  | { readonly op: "break"; readonly depth: number }
  | { readonly op: "return"; readonly values: readonly Expression[] };

export interface LoopStep {
  readonly op: "loop";
  readonly body: readonly Step[];
  /** It was written with prange. */
  readonly parallel: boolean;
  /** Why a loop that was written with prange is no fork. */
  readonly why?: string;
  readonly place: Place;
}

/**
 * Turns of the counted loop that comes after it, several at once: none, or as many as it likes, in groups of `width`. So it
 * means nothing by itself, and the interpreter passes over it.
 */
export interface LanesStep {
  readonly op: "lanes";
  /** It grows by 1 each turn, up to the bound. */
  readonly counter: number;
  readonly bound: Expression;
  /** The counter may equal the bound. */
  readonly inclusive: boolean;
  readonly width: number;
  /** The last turn is not among them: others read what it sets. */
  readonly leaves: boolean;
  /** One turn, without its test and its counting. */
  readonly body: readonly Step[];
  /** And then, lane by lane, in order. */
  readonly after: readonly Step[];
  /** Locals that differ between lanes, the counter among them. All others stay scalar. */
  readonly varying: ReadonlySet<number>;
  /** Those of them that grow evenly: their value in the first lane is kept as well, for addresses. */
  readonly even: ReadonlySet<number>;
  /** By load and store: how much the index of each axis grows from lane to lane. Other loads have a place of their own in each. */
  readonly slopes: ReadonlyMap<Step, readonly number[]>;
  /** By access: axes whose index is known to be inside where a lane comes to it, and not where none does. */
  readonly unsure: ReadonlyMap<Step, readonly boolean[]>;
  /** What is stored under a mask may be written around it as it was: nobody else writes there meanwhile. */
  readonly blends: boolean;
}

/**
 * A prange loop whose turns may run in any order. There are n of them, where counter + step·n is the first at or above `end`; they
 * are cut into CUTS runs, or n if that is less: cut c has the turns from ⌊c·n/cuts⌋ to before ⌊(c+1)·n/cuts⌋. For each the counter
 * and the limit are set and the body runs. So what is computed depends on n alone, not on who computes it.
 */
export interface ForkStep {
  readonly op: "fork";
  /** The loop from `counter` to before `limit`: both i32. */
  readonly body: readonly Step[];
  readonly counter: number;
  readonly limit: number;
  readonly step: number;
  readonly end: Expression;
  /** Locals that each cut begins with the op's identity; then they are combined, in the order of the cuts. */
  readonly reductions: readonly { readonly local: number; readonly op: ReductionOp }[];
  /** True: some turns would share elements, so they run one after another. */
  readonly inOrder: Expression | null;
  readonly place: Place;
}

/** Cuts of a parallel loop, at the most: enough to balance 64 threads. */
export const CUTS = 256;

export interface Code {
  readonly name: string;
  readonly locals: readonly LocalInfo[];
  readonly arrays: readonly ArrayInfo[];
  /** Locals that hold arguments when it begins. */
  readonly scalars: readonly { readonly local: number; readonly argument: number }[];
  /** Locals that hold sizes (i32) when it begins: of one axis, or of all together. */
  readonly sizes: readonly {
    readonly local: number;
    readonly array: number;
    readonly axis: number | "size";
  }[];
  /** Locals that hold addresses and byte strides (i32) when it begins: of tests whether arrays are in each other's way. */
  readonly words: readonly {
    readonly local: number;
    readonly array: number;
    readonly word: "address" | number;
  }[];
  readonly body: readonly Step[];
  readonly sites: readonly Site[];
  /** Loops of the source that were written out, and how many turns they have. */
  readonly unrolled: readonly { readonly place: Place; readonly turns: number }[];
  /** What is returned: scalars of these dtypes, or arguments as they are. */
  readonly results: readonly (DType | { readonly argument: number })[];
  readonly returns: Returns;
}

/** The steps inside a step, list by list. */
export function insides(step: Step): readonly (readonly Step[])[] {
  switch (step.op) {
    case "if":
      return [step.yes, step.no];
    case "block":
    case "loop":
    case "fork":
      return [step.body];
    case "lanes":
      return [step.body, step.after];
    default:
      return [];
  }
}

/** The expressions of a step itself. */
export function expressionsOf(step: Step): readonly Expression[] {
  switch (step.op) {
    case "set":
      return [step.value];
    case "load":
      return step.index;
    case "store":
      return [...step.index, step.value];
    case "if":
      return [step.test];
    case "return":
      return step.values;
    case "lanes":
      return [step.bound];
    case "fork":
      return step.inOrder === null ? [step.end] : [step.end, step.inOrder];
    default:
      return [];
  }
}

/** A loop and the block that leaving it goes to the end of: how every loop is written. */
export type LoopBlock = Step & { readonly op: "block"; readonly body: readonly [LoopStep] };

export const isLoopBlock = (step: Step): step is LoopBlock =>
  step.op === "block" && step.body.length === 1 && step.body[0].op === "loop";

/** The forks of a code, in the order they stand in it: others know them by their place in this list. */
export function forksOf(code: Code): ForkStep[] {
  const found: ForkStep[] = [];
  eachStep(code.body, (step) => {
    if (step.op === "fork") found.push(step);
  });
  return found;
}

/** Every step, those inside of others included. */
export function eachStep(steps: readonly Step[], visit: (step: Step) => void): void {
  for (const step of steps) {
    visit(step);
    for (const inner of insides(step)) eachStep(inner, visit);
  }
}

/** Does a step jump to the block so many levels out? */
export function jumpsTo(steps: readonly Step[], depth: number): boolean {
  return steps.some((s) => {
    switch (s.op) {
      case "break":
        return s.depth === depth;
      case "if":
        return jumpsTo(s.yes, depth) || jumpsTo(s.no, depth);
      case "block":
      case "loop":
        return jumpsTo(s.body, depth + 1);
      default:
        return false;
    }
  });
}

/** The steps without the block that was around them: jumps further out have one level less to go. */
export function lifted(steps: readonly Step[], depth: number): Step[] {
  return steps.map((s): Step => {
    switch (s.op) {
      case "break":
        return s.depth > depth ? { ...s, depth: s.depth - 1 } : s;
      case "if":
        return { ...s, yes: lifted(s.yes, depth), no: lifted(s.no, depth) };
      case "block":
      case "loop":
        return { ...s, body: lifted(s.body, depth + 1) };
      default:
        return s;
    }
  });
}
