/**
 * The one memory of calls: plans by what they depend on. The same call on tensors that lie elsewhere, or with other captured
 * values, finds its plan again. What is done (a function, a program, a fold) holds its plans, and they go with it; each has
 * a bounded number of them.
 */
import { type DType, dtypeNames } from "../dtype.ts";
import { sameShape } from "../view/layout.ts";
import type { View } from "../view/view.ts";
import type { Call, Form, Strided } from "./call.ts";

/** Plans of one function; one more, and it begins anew. */
const MOST_PLANS = 2048;
/** The plan that was used last, of so many functions, is looked at first. */
const LAST = 256;

interface Entry {
  readonly form: Form<never, unknown>;
  readonly what: object;
  /** Of the device: a plan is good for one. */
  readonly mode: number;
  readonly facts: readonly unknown[];
  readonly dtypes: readonly DType[];
  /** The inputs'. */
  readonly frames: readonly View[];
  readonly outType: DType | null;
  readonly out: View | null;
  readonly plan: unknown;
  /** Another one with the same hash. */
  readonly next: Entry | undefined;
}

export class PlanCache {
  readonly #plans = new WeakMap<object, { readonly byHash: Map<number, Entry>; count: number }>();
  readonly #last = new Array<Entry | null>(LAST).fill(null);
  /** Of the call that was looked for last. */
  #hash = 0;

  find<C extends Call, P>(form: Form<C, P>, call: C, mode: number): P | null {
    const place = (call.facts[0] as number) & (LAST - 1);
    const last = this.#last[place];
    if (last !== null && isSame(last, form, call, mode)) return last.plan as P;
    const hash = hashOf(form.id, call);
    this.#hash = hash;
    let entry = this.#plans.get(call.what)?.byHash.get(hash);
    while (entry !== undefined && !isSame(entry, form, call, mode)) entry = entry.next;
    if (entry === undefined) return null;
    this.#last[place] = entry;
    return entry.plan as P;
  }

  /** Keeps the plan of the call that was just not found. */
  keep<C extends Call, P>(form: Form<C, P>, call: C, mode: number, plan: P): void {
    const { what, facts, inputs, out } = call;
    let plans = this.#plans.get(what);
    if (plans === undefined || plans.count >= MOST_PLANS) {
      plans = { byHash: new Map(), count: 0 };
      this.#plans.set(what, plans);
    }
    plans.count++;
    const entry = {
      form,
      what,
      mode,
      facts,
      dtypes: inputs.map((t) => t.dtype),
      frames: inputs.map((t) => t.frame),
      outType: out?.dtype ?? null,
      out: out?.frame ?? null,
      plan,
      next: plans.byHash.get(this.#hash),
    };
    plans.byHash.set(this.#hash, entry);
    this.#last[(facts[0] as number) & (LAST - 1)] = entry;
  }
}

function isSame(entry: Entry, form: Form<never, unknown>, call: Call, mode: number): boolean {
  if (entry.what !== call.what) return false;
  const { facts, frames, dtypes, out, outType } = entry;
  const { inputs, facts: own } = call;
  if (entry.form !== form || entry.mode !== mode || frames.length !== inputs.length) return false;
  if (facts !== own) {
    if (facts.length !== own.length) return false;
    for (let i = 0; i < facts.length; i++) if (!Object.is(facts[i], own[i])) return false;
  }
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

/* Hashing --------------------------------------------------------------------------------------------------- */

/** A number from 1 to 31 for each dtype. */
export const typeIds = Object.fromEntries(dtypeNames.map((d, i) => [d, i + 1])) as Record<DType, number>;
const PRIME = 0x9e3779b1;

const mix = (hash: number, x: number): number => Math.imul(hash ^ x, PRIME) ^ (hash >>> 15);

function hashOf(form: number, { facts, inputs, out }: Call): number {
  let hash = form;
  for (let i = 0; i < facts.length; i++) {
    const fact = facts[i];
    if (typeof fact === "number") hash = Number.isInteger(fact) ? mix(hash, fact) : mixBits(hash, fact);
    else if (typeof fact === "bigint") hash = mix(hash, Number(BigInt.asIntN(32, fact)));
    else if (typeof fact === "string") hash = mix(hash, typeIds[fact as DType] ?? fact.length);
  }
  for (let k = 0; k < inputs.length; k++) hash = mixOperand(hash, inputs[k]);
  if (out !== null) hash = mixOperand(mix(hash, 77), out);
  return hash ^ (hash >>> 13);
}

const float = new Float64Array(1);
const words = new Int32Array(float.buffer);

/** Of a number that is no integer. */
function mixBits(hash: number, x: number): number {
  float[0] = x;
  return mix(mix(hash, words[0]), words[1]);
}

function mixOperand(hash: number, { dtype, frame }: Strided): number {
  const { shape, strides } = frame;
  let h = mix(hash, typeIds[dtype]);
  for (let d = 0; d < shape.length; d++) h = mix(mix(h, shape[d]), strides[d]);
  return h;
}
