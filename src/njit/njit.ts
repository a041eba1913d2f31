/**
 * `njit(fn)`: a whole function of tensors, typed arrays and numbers, with loops, becomes WebAssembly. It is read once, and
 * compiled for each combination of kinds, dtypes and ranks it is called with; sizes and strides are arguments.
 */
import { engine } from "../engine.ts";
import { fail } from "../errors.ts";
import { checkFunction, readOptions } from "../ops/arguments.ts";
import { holding } from "../ops/strided.ts";
import { Recent } from "../run/recent.ts";
import type { WholeArray } from "../run/whole.ts";
import type { Tensor } from "../tensor.ts";
import {
  accessError,
  type Bound,
  bindArgument,
  type Compiled,
  compile,
  execute,
  interpretOn,
  lengthOf,
  plainArgument,
} from "./bind.ts";
import { hoistChecks, proveIndices } from "./hoist.ts";
import { type ArgumentType, infer } from "./infer.ts";
import { AccessError } from "./interpret.ts";
import type { Code } from "./ir.ts";
import { liftInvariants } from "./lift.ts";
import { lowerCode } from "./lower.ts";
import { parseTree } from "./parse.ts";
import { type Handle, type Prange, plainError, prange } from "./plain.ts";
import { printCode } from "./print.ts";
import { OPERATION } from "./refuse.ts";
import { loopsOf } from "./report.ts";
import { reuseLoads } from "./reuse.ts";
import { keepBefore, traceOf } from "./trace.ts";
import type { Tree } from "./tree.ts";
import { unrollLoops } from "./unroll.ts";
import { type NjitLimits, readLimits, Watch } from "./watch.ts";

export type { NjitLimits } from "./watch.ts";

type Captures = Readonly<Record<string, unknown>>;

/** What may be passed to an njit function. */
export type NjitValue =
  | Tensor
  | number
  | bigint
  | boolean
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** What njit itself passes in the last parameter. */
export interface NjitContext {
  /** A range whose turns may run side by side. */
  readonly prange: Prange;
}

/** A tensor, as an njit function sees it. */
export type NjitTensor = Handle;

/** A parameter without a type of its own may be used as a tensor, as a typed array and as a number. */
export type NjitParameter = number &
  Handle &
  NjitContext & { [index: number]: number; readonly length: number };

/** A captured value as the function sees it. */
type Seen<C> = { readonly [K in keyof C]: C[K] extends Tensor ? Handle : C[K] };

/** What is returned: an argument comes back as it was given. */
type Returned<R> = R extends Handle
  ? Tensor
  : R extends readonly unknown[]
    ? { [K in keyof R]: Returned<R[K]> }
    : R;

/** A compiled function. */
export interface Njit<R = unknown> {
  (...args: NjitValue[]): R;
  /**
   * The function itself, uncompiled, with every index of its arguments checked: slower, and open to a debugger. The result is the
   * same, but that bigints do not wrap and f32 elements are computed in f64.
   */
  plain(...args: NjitValue[]): R;
  /**
   * The same function with an end: a call that takes too long, or that another thread wants to stop, throws a TensorError with the
   * code "cancelled". What it had written stays written.
   *
   * @example
   * const forever = njit((t) => {
   *   while (t.get(0) >= 0) t.set([0], t.get(0) + 1);
   * });
   * const brief = forever.with({ timeLimit: 10_000 });
   * const t = tensor([-1]);
   * brief(t);
   * t.item(); // → -1
   */
  with(limits: NjitLimits): Njit<R>;
  /** The function's text. */
  toString(): string;
}

/**
 * Compiles a whole function. Loops, branches, local variables, inner functions and elements by index work as in
 * JavaScript; every index is checked. What it needs from outside comes in the last parameter, by name.
 *
 * @param fn the function; it is compiled for each combination of dtypes and ranks it is called with
 * @param captures values that it is given by name in its last parameter
 * @returns a function of tensors, typed arrays and numbers, which gives what fn gives
 * @throws TensorError where the function cannot be compiled: the place, the reason and a remedy
 * @example
 * const out = zeros([3]);
 * const scale = njit((out, a, { k }) => {
 *   for (let i = 0; i < a.shape[0]; i++) out.set([i], a.get(i) * k);
 * }, { k: 3 });
 * scale(out, tensor([1, 2, 3]));
 * out; // → f32 [3, 6, 9]
 */
export function njit<C extends Captures, R>(
  fn: (...args: (NjitParameter & Seen<C>)[]) => R,
  captures?: C,
): Njit<Returned<R>>;
export function njit<A extends readonly never[], R>(
  fn: (...args: A) => R,
  captures?: Captures,
): Njit<Returned<R>>;
export function njit(fn: (...args: never[]) => unknown, captures: Captures = {}): Njit {
  checkFunction(OPERATION, fn, "njit((out, a) => { … })");
  const given = Object.freeze({ ...readOptions(OPERATION, captures, "{ table, limit: 3 }") });
  const made = new NjitFunction(fn, parseTree(fn, given), given);
  made.checkCaptures();
  return callable(made, null);
}

/** The function that users call. */
function callable(made: NjitFunction, limits: NjitLimits | null): Njit {
  const call = (...args: NjitValue[]): unknown => made.call(args, limits);
  const text = () => `njit ${made.tree.name || "(anonymous)"}`;
  const result = Object.assign(call, {
    plain: (...args: NjitValue[]): unknown => made.plain(args, limits),
    with: (more: NjitLimits): Njit => callable(made, readLimits(more)),
    toString: text,
    [Symbol.for("nodejs.util.inspect.custom")]: text,
  });
  insides.set(result, made);
  return result as Njit;
}

/** For explain and tests. */
const insides = new WeakMap<object, NjitFunction>();
export const insideOf = (made: object): NjitFunction =>
  insides.get(made) ?? fail("value", OPERATION, "this is no njit function.");

/** Combinations of types that are kept compiled, for each function. */
const MOST_COMPILED = 64;

export class NjitFunction {
  readonly tree: Tree;
  readonly #fn: (...args: never[]) => unknown;
  readonly #captures: Captures;
  readonly #compiled = new Recent<Compiled>(MOST_COMPILED);
  /** How often it was compiled. */
  #made = 0;
  /** Types that plain calls were made with. */
  readonly #checked = new Set<string>();

  constructor(fn: (...args: never[]) => unknown, tree: Tree, captures: Captures) {
    this.#fn = fn;
    this.tree = tree;
    this.#captures = captures;
  }

  call(args: readonly unknown[], limits: NjitLimits | null = null): unknown {
    const { listener } = engine();
    const start = listener === null ? 0 : performance.now();
    const known = this.#made;
    const bound = this.#bind(args);
    const compiled = this.compiled(bound, limits !== null);
    // A limit is one for the call, not for making its code.
    const watch = limits === null ? null : new Watch(limits, this.tree.name);
    if (listener === null) return execute(compiled, bound, watch);
    const kept = keepBefore(bound);
    return execute(compiled, bound, watch, (report) => {
      if (report.copied > 0) {
        const why = "typed arrays outside of the heap are copied in, and out again if they are written to";
        listener({ kind: "copy", operation: OPERATION, bytes: report.copied, why });
      }
      const { code, bytes, compileTime } = compiled;
      const isNew = this.#made > known;
      listener({
        kind: "njit",
        name: this.tree.name,
        source: this.tree.source,
        arrays: arraysOf(this.tree, bound),
        loops: loopsOf(code, report),
        copied: report.copied,
        isNew,
        compileTime: isNew ? compileTime : 0,
        milliseconds: performance.now() - start,
        typed: () => printCode(code),
        bytes,
        trace: kept === null ? null : (most) => traceOf(this.tree, kept, most),
      });
    });
  }

  plain(args: readonly unknown[], limits: NjitLimits | null = null): unknown {
    const watch = limits === null ? null : new Watch(limits, this.tree.name);
    const bound = this.#bind(args);
    // What cannot be compiled is refused here, too, before anything is written.
    const types = bound.map((b) => b.type);
    const key = types.map(typeKey).join();
    if (!this.#checked.has(key)) {
      infer(this.tree, types);
      this.#checked.add(key);
    }
    const tensors = bound.flatMap((b) => (b.kind === "tensor" ? [b.of] : []));
    const ask = watch === null ? null : asking(watch);
    ask?.();
    const handles = bound.map((b) => plainArgument(b, ask));
    const named: Record<string, unknown> = { ...this.#captures, prange };
    this.tree.args.forEach(({ captured }, i) => {
      if (captured !== null) named[captured] = handles[i];
    });
    // The function may let go of its arguments while it runs.
    const result = holding(tensors, () => {
      try {
        return (this.#fn as (...args: unknown[]) => unknown)(...handles.slice(0, this.tree.given), named);
      } catch (error) {
        throw plainError(error);
      }
    });
    const given = (value: unknown): unknown => {
      const at = typeof value === "object" && value !== null ? handles.indexOf(value) : -1;
      if (at < 0) return value;
      const b = bound[at];
      return b.kind === "tensor" ? b.tensor : b.kind === "typed" ? b.array : value;
    };
    if (this.tree.returns === "nothing") return undefined;
    return Array.isArray(result) ? result.map(given) : given(result);
  }

  /** The same by the interpreter of the typed code: what compiled code is checked against. */
  interpreted(args: readonly unknown[]): unknown {
    const bound = this.#bind(args);
    const { code } = this.compiled(bound);
    try {
      return interpretOn(code, bound);
    } catch (error) {
      if (!(error instanceof AccessError)) throw error;
      throw accessError(code, error.failure);
    }
  }

  code(types: readonly ArgumentType[]): Code {
    const lowered = unrollLoops(lowerCode(infer(this.tree, types)));
    return hoistChecks(liftInvariants(reuseLoads(proveIndices(lowered))));
  }

  typesFor(args: readonly unknown[]): ArgumentType[] {
    return this.#bind(args).map((b) => b.type);
  }

  codeFor(args: readonly unknown[]): Code {
    return this.code(this.typesFor(args));
  }

  compiled(bound: readonly Bound[], guarded = false): Compiled {
    const types = bound.map((b) => b.type);
    const key = `${guarded ? "guarded " : ""}${types.map(typeKey).join()}`;
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      compiled = compile(() => this.code(types), guarded);
      this.#made++;
      this.#compiled.set(key, compiled);
    }
    return compiled;
  }

  compiledFor(args: readonly unknown[]): Compiled {
    return this.compiled(this.#bind(args));
  }

  /** Captured arrays must be some when they are captured, and again at every call. */
  checkCaptures(): void {
    for (const { name, captured } of this.tree.args) {
      if (captured !== null) bindArgument(name, this.#captures[captured]);
    }
  }

  #bind(args: readonly unknown[]): Bound[] {
    const { tree } = this;
    if (args.length > tree.given) {
      fail(
        "value",
        OPERATION,
        `the function takes ${tree.given} argument${tree.given === 1 ? "" : "s"}, got ${args.length}.`,
      );
    }
    return tree.args.map(({ name, captured }, i) => {
      const bound = bindArgument(name, captured === null ? args[i] : this.#captures[captured]);
      if (bound.kind === "tensor") engine().recorder?.touched?.(OPERATION, bound.of);
      return bound;
    });
  }
}

/** The arrays of a call, for whoever listens. */
function arraysOf({ args }: Tree, bound: readonly Bound[]): WholeArray[] {
  return bound.flatMap((b, i): WholeArray[] => {
    const { name } = args[i];
    if (b.kind === "tensor") {
      const { dtype, frame } = b.of;
      const strides = frame.strides.map((s) => s / frame.itemBytes);
      return [{ name, dtype, shape: frame.shape, strides }];
    }
    if (b.kind !== "typed") return [];
    const { dtype } = b.type;
    return [{ name, dtype, shape: [lengthOf(b.array, dtype)], strides: [1] }];
  });
}

/** Called at each access of a plain call: looks now and then whether it is to end. */
function asking(watch: Watch): () => void {
  let left = 1;
  return () => {
    if (--left > 0) return;
    left = watch.next();
    if (watch.cancelled) throw watch.error();
  };
}

function typeKey(type: ArgumentType): string {
  if (type.kind !== "array") return type.kind;
  const { dtype, rank, unit, writable, typed, clamped } = type;
  return `${dtype}${rank}${unit ? "u" : ""}${writable ? "w" : ""}${typed ? "t" : ""}${clamped ? "c" : ""}`;
}
