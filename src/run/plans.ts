/**
 * The one memory of calls: plans by what they depend on. Of a bounded number: places are in sets by a hash of the call, and
 * in a set what was asked for last stays longest. The same call on tensors that lie elsewhere, or with other captured
 * values, finds its plan again.
 */
import { type DType, dtypeNames } from "../dtype.ts";
import type { View } from "../view/view.ts";
import type { Call, Form, Plan, Strided } from "./call.ts";

const SETS = 256;
const WAYS = 8;

interface Entry {
  readonly hash: number;
  readonly form: Form<never>;
  readonly what: object;
  /** Of the device: a plan is good for one. */
  readonly mode: number;
  readonly facts: readonly unknown[];
  readonly dtypes: readonly DType[];
  /** The inputs'. */
  readonly frames: readonly View[];
  readonly outType: DType | null;
  readonly out: View | null;
  readonly plan: Plan;
}

export class PlanCache {
  readonly #entries = new Array<Entry | null>(SETS * WAYS).fill(null);
  /** Of the call that was looked for last. */
  #hash = 0;

  find<C extends Call>(form: Form<C>, call: C, mode: number): Plan | null {
    const hash = hashOf(form.id, call);
    this.#hash = hash;
    const entries = this.#entries;
    const first = (hash & (SETS - 1)) * WAYS;
    for (let at = first; at < first + WAYS; at++) {
      const entry = entries[at];
      if (entry === null) return null;
      if (entry.hash !== hash || entry.what !== call.what || !isSame(entry, form, call, mode)) continue;
      if (at > first) {
        entries[at] = entries[at - 1];
        entries[at - 1] = entry;
      }
      return entry.plan;
    }
    return null;
  }

  /** Keeps the plan of the call that was just not found. */
  keep<C extends Call>(form: Form<C>, call: C, mode: number, plan: Plan): void {
    const hash = this.#hash;
    const first = (hash & (SETS - 1)) * WAYS;
    this.#entries.copyWithin(first + 1, first, first + WAYS - 1);
    this.#entries[first] = {
      hash,
      form,
      what: call.what,
      mode,
      facts: call.facts,
      dtypes: call.inputs.map((t) => t.dtype),
      frames: call.inputs.map((t) => t.frame),
      outType: call.out?.dtype ?? null,
      out: call.out?.frame ?? null,
      plan,
    };
  }

  clear(): void {
    this.#entries.fill(null);
  }
}

function isSame(entry: Entry, form: Form<never>, call: Call, mode: number): boolean {
  const { facts, frames, dtypes, out, outType } = entry;
  const { inputs, facts: own } = call;
  if (entry.form !== form || entry.mode !== mode || frames.length !== inputs.length) return false;
  if (facts.length !== own.length) return false;
  for (let i = 0; i < facts.length; i++) if (!Object.is(facts[i], own[i])) return false;
  for (let k = 0; k < inputs.length; k++) {
    if (inputs[k].dtype !== dtypes[k] || !sameLayout(inputs[k].frame, frames[k])) return false;
  }
  if (call.out === null) return out === null;
  return out !== null && call.out.dtype === outType && sameLayout(call.out.frame, out);
}

/** Are two frames the same but for where they begin? */
export function sameLayout(a: View, b: View): boolean {
  return a === b || (sameShape(a.shape, b.shape) && sameShape(a.strides, b.strides));
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let d = 0; d < a.length; d++) if (a[d] !== b[d]) return false;
  return true;
}

/* Hashing --------------------------------------------------------------------------------------------------- */

const typeIds = Object.fromEntries(dtypeNames.map((d, i) => [d, i + 1])) as Record<DType, number>;
const PRIME = 0x9e3779b1;

const mix = (hash: number, x: number): number => Math.imul(hash ^ x, PRIME) ^ (hash >>> 15);

function hashOf(form: number, { facts, inputs, out }: Call): number {
  let hash = form;
  for (let i = 0; i < facts.length; i++) {
    const fact = facts[i];
    if (typeof fact === "number") hash = mix(hash, fact);
    else if (typeof fact === "string") hash = mix(hash, typeIds[fact as DType] ?? fact.length);
  }
  for (let k = 0; k < inputs.length; k++) hash = mixOperand(hash, inputs[k]);
  if (out !== null) hash = mixOperand(mix(hash, 77), out);
  return hash ^ (hash >>> 13);
}

function mixOperand(hash: number, { dtype, frame }: Strided): number {
  const { shape, strides } = frame;
  let h = mix(hash, typeIds[dtype]);
  for (let d = 0; d < shape.length; d++) h = mix(mix(h, shape[d]), strides[d]);
  return h;
}
