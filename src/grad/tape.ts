/**
 * The tape: what was computed of traced values, in order, and the way back. A value is known by its storage: what is made
 * of traced ones is traced, views of one storage share their traces, and writing into a part of it replaces that part. What
 * the way back has to look at is retained, with the storage's version; if somebody has written over it, that is an error
 * which names the writer.
 */
import { type DType, isFloat } from "../dtype.ts";
import { engine, type GeneratorState, type Noted, type Recorder, within } from "../engine.ts";
import { fail, unreachable } from "../errors.ts";
import { runScope } from "../memory/scope.ts";
import type { Storage } from "../memory/storage.ts";
import { share } from "../ops/strided.ts";
import type { Call, Plan, Strided } from "../run/call.ts";
import { type Tensor, wrap } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import { overlaps } from "../view/overlap.ts";
import type { View } from "../view/view.ts";
import { Buffers } from "./buffers.ts";

/** One step, as its rule sees it while it is recorded. */
export interface Step {
  readonly operation: string;
  readonly inputs: readonly Strided[];
  readonly outs: readonly Strided[];
  /** Which inputs are traced. */
  readonly traced: readonly boolean[];
  /** What else is known: the call, or what was noted. */
  readonly facts: object;
  readonly plan: Plan | null;
}

/** What of a step matters on the way back. */
export interface Kept {
  /** Which inputs a gradient flows to. */
  readonly flows: readonly boolean[];
  /** Operands, of the inputs and outputs, whose elements the way back looks at. */
  readonly saves: readonly Strided[];
}

/** A step on the way back. */
export interface Back extends Step {
  readonly flows: readonly boolean[];
  /** Gradients of the outputs, of their shapes; null: none has arrived. */
  readonly g: readonly (Tensor | null)[];
  readonly grads: Buffers;
  /** An operand that was saved, as a tensor of this scope. */
  readonly value: (of: Strided) => Tensor;
  /** Is the gradient of the first output not asked for again, so that its memory may be that of an input's? */
  readonly isLast: boolean;
}

/** How one kind of operation is recorded, and how gradients pass it. */
export interface Rule {
  keep(step: Step): Kept;
  pull(back: Back): void;
  /** Does what the output held before stay in it, as a sum does? Then its gradient stays too. */
  keeps?(step: Step): boolean;
  /** It writes to some places of its output, and takes their gradient away itself. */
  readonly clears?: true;
}

/** Finds the rule of a call, or of an operation by its name; null: its gradient is not known. */
export interface Rules {
  ofCall(call: Call, plan: Plan): Rule | null;
  ofName(name: string): Rule | null;
}

interface Node extends Step {
  readonly rule: Rule;
  readonly flows: readonly boolean[];
  readonly saved: readonly { readonly of: Strided; readonly version: number }[];
  /** Of each output: nothing traced was in its storage before; and, something was, at this very place. */
  readonly isFirst: readonly boolean[];
  readonly replaces: readonly boolean[];
}

/** A storage with traced values. */
interface Traced {
  readonly dtype: DType;
  /** After the last write that was recorded. */
  version: number;
  /** An argument: it is not to be written. */
  readonly leaf: Leaf | null;
  readonly written: View[];
}

interface Leaf {
  readonly of: Strided;
  readonly name: string;
}

/** Writes to bytes that somebody relies on. */
interface Watch {
  /** The version after the last write that was heard of. */
  heard: number;
  readonly writes: {
    readonly version: number;
    readonly operation: string | null;
    readonly frame: View | null;
  }[];
}

/** Writes to one storage that are compared one by one; more are taken to overlap. */
const MOST_WRITES = 64;

/** What is noted of the operations of one function, and the way back through them. */
export class Tape implements Recorder {
  readonly #operation: string;
  readonly #outer: Recorder | null;
  readonly #rules: Rules;
  readonly #nodes: (Node | null)[] = [];
  readonly #traced = new Map<Storage, Traced>();
  /** Storages of which nothing is traced but what customGradient's functions left there. */
  readonly #left = new Set<Storage>();
  /** Names of the same bytes, and writes to them, by the storage that they are of. */
  readonly #names = new Map<Storage, Storage[]>();
  readonly #watched = new Map<Storage, Watch>();

  /** What is recorded has run before. */
  readonly isAgain: boolean;

  constructor(operation: string, rules: Rules, outer: Recorder | null, isAgain = false) {
    this.#operation = operation;
    this.#rules = rules;
    this.#outer = outer;
    this.isAgain = isAgain || outer?.isAgain === true;
  }

  /** A tensor that stands for `t` in what is recorded: the same memory, under a name of its own. */
  trace(t: Strided, name: string): Tensor {
    const of: Strided = { ...t, storage: t.storage.alias() };
    this.#know(of, { of, name });
    this.#watch(of.storage);
    this.#outer?.noted?.({ name: "alias", operation: this.#operation, inputs: [t], outs: [of], facts: {} });
    return wrap(of);
  }

  isTraced({ storage }: Strided): boolean {
    return this.#traced.has(storage);
  }

  isLeft({ storage }: Strided): boolean {
    return this.#left.has(storage);
  }

  /* Recording ---------------------------------------------------------------------------------------------- */

  ran(call: Call, plan: Plan, out: Strided): void {
    // Outputs besides the first stand before the inputs.
    const more = plan.more?.length ?? 0;
    const inputs = more === 0 ? call.inputs : call.inputs.slice(more);
    const outs = more === 0 ? [out] : [out, ...call.inputs.slice(0, more)];
    this.#record(call.operation, inputs, outs, call, plan, null);
    this.#outer?.ran(call, plan, out);
  }

  noted(op: Noted): void {
    const { name, operation, inputs, outs, facts } = op;
    this.#record(operation, inputs, outs, facts, null, name);
    this.#outer?.noted?.(op);
  }

  viewed(operation: string, of: Strided, made: Strided): void {
    this.#outer?.viewed(operation, of, made);
  }

  /** Arguments are not written, nor traced memory by tensors that are not traced. */
  writes(operation: string, { storage, frame }: Strided): void {
    for (const name of this.#names.get(storage.origin) ?? []) {
      const { leaf, written } = this.#traced.get(name)!;
      if (leaf !== null && overlaps(leaf.of.frame, frame)) {
        fail(
          "value",
          operation,
          `it writes to the memory of ${leaf.name}, whose gradient is being taken.`,
          "Make a new tensor instead, or write to a clone.",
        );
      }
      if (leaf === null && name !== storage && written.some((v) => overlaps(v, frame))) {
        fail(
          "value",
          operation,
          "it writes to traced memory through a tensor that is not traced.",
          "Write to the traced tensor itself, or to a clone of what stopGradient gave.",
        );
      }
    }
    this.#outer?.writes?.(operation, { storage, frame } as Strided);
  }

  touched(operation: string, of: Strided): void {
    if (this.#traced.has(of.storage)) {
      fail(
        "value",
        operation,
        operation === "set"
          ? "this tensor is being traced for a gradient, which would not see a single element change."
          : "these elements are being traced for a gradient, which would not see what is done with them.",
        operation === "set"
          ? "Write with assign, where or scatterAdd, which are traced."
          : "Use operations of tensors, customGradient, or stopGradient(t) for what is meant as a constant.",
      );
    }
    if (operation === "set") {
      this.writes(operation, of);
      this.#wrote(operation, of, 0, 1);
    }
    this.#outer?.touched?.(operation, of);
  }

  draws(state: GeneratorState): void {
    this.#outer?.draws?.(state);
  }

  /** A call, or what was noted by a name. */
  #record(
    operation: string,
    inputs: readonly Strided[],
    outs: readonly Strided[],
    facts: object,
    plan: Plan | null,
    name: string | null,
  ): void {
    const traced = new Array<boolean>(inputs.length);
    let [isTraced, floats, over] = [false, false, false];
    for (let i = 0; i < inputs.length; i++) {
      traced[i] = this.#reads(operation, inputs[i], bumpsOf(plan, outs, inputs[i].storage));
      if (traced[i]) isTraced = true;
    }
    for (let k = 0; k < outs.length; k++) {
      const out = outs[k];
      if (name !== "alias") this.#wrote(operation, out, bumpsOf(plan, outs, out.storage));
      if (isFloat(out.dtype)) floats = true;
      if (this.#traced.has(out.storage)) over = true;
    }
    const flows = floats && isTraced;
    if (!over && !flows) return;
    const step: Step = { operation, inputs, outs, traced, facts, plan };
    const found = name === null ? this.#rules.ofCall(facts as Call, plan!) : this.#rules.ofName(name);
    const rule = found ?? (flows ? failRule(operation) : nothing);
    const kept = flows || rule.clears ? rule.keep(step) : nothing.keep(step);
    if (!over && !kept.flows.includes(true)) return;
    this.#append(step, rule, kept);
  }

  #append(step: Step, rule: Rule, { flows, saves }: Kept): void {
    const { operation, inputs, outs, traced, facts, plan } = step;
    const keeps = rule.keeps?.(step) ?? false;
    const left = Object.hasOwn(facts, "left") ? (facts as { readonly left: readonly Strided[] }).left : [];
    for (const out of outs) {
      if (!left.includes(out)) this.#left.delete(out.storage);
      else if (!this.#traced.has(out.storage)) this.#left.add(out.storage);
    }
    const isFirst = new Array<boolean>(outs.length);
    const replaces = new Array<boolean>(outs.length);
    for (let k = 0; k < outs.length; k++)
      isFirst[k] = isFloat(outs[k].dtype) && !this.#traced.has(outs[k].storage);
    for (let k = 0; k < outs.length; k++) {
      const out = outs[k];
      replaces[k] = false;
      if (!isFloat(out.dtype)) continue;
      const isKnown = this.#traced.has(out.storage);
      const { written } = this.#know(out, null);
      const many = written.length > MOST_WRITES;
      const isOver = isKnown && (many || written.some((v) => overlaps(v, out.frame)));
      if (!many) written.push(out.frame);
      replaces[k] = isOver && !keeps;
    }
    const saved = saves.map((of) => {
      of.storage.retain();
      const isNew = this.#watch(of.storage);
      // What an operation has read and written over is not what it read.
      const own = inputs.includes(of) ? (bumpsOf(plan, outs, of.storage) ?? 0) : 0;
      const over = own === 0 || !isNew ? undefined : outs.find((o) => o.storage === of.storage);
      if (over !== undefined) this.#wrote(operation, over, 0);
      return { of, version: of.storage.version - own };
    });
    this.#nodes.push({
      operation,
      inputs,
      outs,
      traced,
      facts,
      plan,
      rule,
      flows,
      saved,
      isFirst,
      replaces,
    });
  }

  #know(of: Strided, leaf: Leaf | null): Traced {
    const { storage, dtype } = of;
    let known = this.#traced.get(storage);
    if (known === undefined) {
      known = { dtype, version: storage.version, leaf, written: [] };
      this.#traced.set(storage, known);
      const { origin } = storage;
      const names = this.#names.get(origin);
      if (names === undefined) this.#names.set(origin, [storage]);
      else names.push(storage);
    }
    known.version = storage.version;
    return known;
  }

  /** From now on writes to these bytes are heard of; false: they were already. */
  #watch({ origin }: Storage): boolean {
    if (this.#watched.has(origin)) return false;
    this.#watched.set(origin, { heard: origin.version, writes: [] });
    return true;
  }

  /** Is this input traced? It must be what the tape thinks it is. */
  #reads(operation: string, t: Strided, bumps: number | null): boolean {
    const known = this.#traced.get(t.storage);
    if (known === undefined) return false;
    if (!isFloat(t.dtype) || t.dtype !== known.dtype) {
      return fail(
        "dtype",
        operation,
        `it reads the bits of a traced ${known.dtype} tensor as ${t.dtype}.`,
        "Bits have no gradient: pass stopGradient(t).",
      );
    }
    const version = t.storage.version - (bumps ?? 0);
    if (version !== known.version && bumps !== null) this.#checkIntact(operation, t, known.version, version);
    return true;
  }

  /**
   * Somebody writes: `bumps` of the versions are its own (null: all since the last that was heard of), and so many are to
   * come.
   */
  #wrote(operation: string, { storage, frame }: Strided, bumps: number | null, coming = 0): void {
    const { origin } = storage;
    const watch = this.#watched.get(origin);
    if (watch === undefined) return;
    if (bumps !== null && origin.version - bumps > watch.heard) {
      watch.writes.push({ version: origin.version - bumps, operation: null, frame: null });
    }
    watch.heard = origin.version + coming;
    watch.writes.push({ version: watch.heard, operation, frame });
  }

  /** Fails where the bytes of a place have changed since `version`. */
  #checkIntact(operation: string, { storage, frame }: Strided, version: number, now: number): void {
    if (now === version || sizeOf(frame.shape) === 0) return;
    const watch = this.#watched.get(storage.origin);
    const writer = watch?.writes.find(
      (w) => w.version > version && w.version <= now && (w.frame === null || overlaps(w.frame, frame)),
    );
    if (watch !== undefined && writer === undefined && watch.heard >= now) return;
    const by = writer?.operation ?? null;
    fail(
      "value",
      by ?? operation,
      by === null
        ? "a tensor that a gradient depends on has been written by something that is not traced."
        : `it has written over a tensor that the gradient of ${operation} needs.`,
      "Write to a clone, or take the gradient first.",
    );
  }

  /* The way back -------------------------------------------------------------------------------------------- */

  /**
   * The gradients of the arguments, given those of results (`isOurs`: nobody else needs it). With `once`, every step is
   * forgotten as soon as it has been passed, and its memory with it.
   */
  pull(
    results: readonly { readonly of: Strided; readonly g: Tensor; readonly isOurs?: true }[],
    once: boolean,
  ): Buffers {
    const parts = new Map<Storage, View>();
    for (const [storage, { leaf }] of this.#traced) if (leaf !== null) parts.set(storage, leaf.of.frame);
    const grads = new Buffers(parts);
    try {
      inScope(() => {
        for (const { of, g, isOurs } of results) if (this.#traced.has(of.storage)) grads.give(of, g, isOurs);
      });
      for (let i = this.#nodes.length - 1; i >= 0; i--) {
        const node = this.#nodes[i];
        if (node === null) continue;
        this.#pass(node, grads, once);
        if (once) {
          this.#nodes[i] = null;
          release(node);
        }
      }
      return grads;
    } catch (error) {
      grads.dispose();
      throw error;
    }
  }

  #pass(node: Node, grads: Buffers, once: boolean): void {
    const { outs, isFirst } = node;
    if (!outs.some((o) => grads.has(o))) return;
    const { scopes, recorder } = engine();
    scopes.enter();
    try {
      // What is recorded of this is for the one around, which must find every gradient as it was.
      this.#pull(node, grads, once && recorder === null && isFirst[0]);
    } finally {
      scopes.leave(none);
    }
    for (let k = 0; k < outs.length; k++) if (isFirst[k]) grads.drop(outs[k]);
  }

  #pull(node: Node, grads: Buffers, isLast: boolean): void {
    const { operation, inputs, outs, traced, facts, plan, rule, flows, saved, replaces } = node;
    const isPassed = flows.includes(true) || rule.clears === true;
    let some = false;
    const g = outs.map((out, k) => {
      const at = !isFloat(out.dtype) ? null : replaces[k] ? grads.owned(out) : grads.at(out);
      if (at === null) return null;
      const own = wrap(share(at, at.frame));
      if (replaces[k]) {
        const copy = isPassed ? own.clone() : null;
        own.fill(0);
        if (copy !== null) some = true;
        return copy;
      }
      some = true;
      return own;
    });
    if (!isPassed || !some) return;
    for (const { of, version } of saved) this.#checkIntact(operation, of, version, of.storage.version);
    const value = (of: Strided): Tensor => {
      if (!saved.some((s) => s.of === of)) unreachable(`${operation} looks at what it did not save`);
      return wrap(share(of, of.frame));
    };
    within(`the gradient of ${operation}`, () =>
      rule.pull({ operation, inputs, outs, traced, facts, plan, flows, g, grads, value, isLast }),
    );
  }

  /** Lets go of all that is retained. */
  dispose(): void {
    for (const node of this.#nodes) if (node !== null) release(node);
    this.#nodes.length = 0;
    this.#traced.clear();
    this.#left.clear();
    this.#watched.clear();
    this.#names.clear();
  }

  /** As the user called it. */
  get operation(): string {
    return this.#operation;
  }
}

/** So many of a storage's versions are the call's own; null: of what was noted nobody knows. */
function bumpsOf(plan: Plan | null, outs: readonly Strided[], storage: Storage): number | null {
  if (plan === null) return null;
  let count = 0;
  for (let k = 0; k < outs.length; k++) if (outs[k].storage === storage) count++;
  return count;
}

/** Nothing that a step back makes outlives it. */
const none = (): boolean => false;

function release({ saved }: Node): void {
  for (const { of } of saved) of.storage.release();
}

/** What only replaces traced elements by others. */
const nothing: Rule = {
  keep: ({ traced }) => ({ flows: traced.map(() => false), saves: [] }),
  pull: () => {},
};

/** An operation without a row in the table of rules. */
export function failRule(operation: string): never {
  return fail(
    "value",
    operation,
    "its gradient is not known.",
    "Pass stopGradient(t) to take it as a constant, or say what its gradient is with customGradient.",
  );
}

/** Everything made inside is let go at the end, all but the tensors in the result. */
export function inScope<R>(fn: () => R, keep: (result: R) => Iterable<Tensor> = () => []): R {
  return runScope(engine().scopes, fn, (result) => keep(result as R)) as R;
}
