/**
 * Which loops become functions of their own, and what passes between them and the rest: innermost loops inside of other
 * loops, unless something in them jumps further out. V8 has no on-stack replacement for WebAssembly: a long loop that is
 * entered once would run to its end in the first, slow code.
 */
import { type Code, eachStep, expressionsOf, insides, isLoopBlock, type Step } from "./ir.ts";
import { type Liveness, livenessOf } from "./live.ts";
import { hasLoop } from "./nest.ts";

export interface Outlined {
  /** Locals that are passed in. */
  readonly params: readonly number[];
  /** Locals that it sets and others read. */
  readonly results: readonly number[];
  readonly arrays: readonly number[];
}

/** Engines allow 1,000 parameters and results. */
const MOST = 400;

/** By step: the block around a loop, with the loop. */
export function outlinedLoops(code: Code): ReadonlyMap<Step, Outlined> {
  const units = new Set<Step>();
  const walk = (steps: readonly Step[], isInLoop: boolean): void => {
    for (const step of steps) {
      if (isInLoop && isUnit(step) && !escapes([step], 0)) {
        units.add(step);
        continue;
      }
      for (const inner of insides(step)) walk(inner, isInLoop || step.op === "loop");
    }
  };
  walk(code.body, false);
  const found = new Map<Step, Outlined>();
  for (const [step, live] of livenessOf(code, (s) => units.has(s))) {
    const outlined = interfaceOf(code, step, live);
    if (outlined !== null) found.set(step, outlined);
  }
  return found;
}

/** Turns by lanes, a loop without others inside, or one with such alone. */
export function isUnit(step: Step): boolean {
  if (step.op === "lanes") return true;
  return isLoopBlock(step) && step.body[0].body.every(hasFlatLoops);
}

function hasFlatLoops(step: Step): boolean {
  if (step.op === "lanes") return true;
  if (step.op === "loop") return !hasLoop(step);
  return insides(step).every((list) => list.every(hasFlatLoops));
}

/** Does something jump out of the steps, or return? */
export function escapes(steps: readonly Step[], depth: number): boolean {
  return steps.some((s) => {
    if (s.op === "return") return true;
    if (s.op === "break") return s.depth >= depth;
    const more = s.op === "block" || s.op === "loop" ? 1 : 0;
    return insides(s).some((list) => escapes(list, depth + more));
  });
}

export interface Mentions {
  readonly reads: Map<number, number>;
  readonly writes: Map<number, number>;
  readonly arrays: Set<number>;
}

const add = (counts: Map<number, number>, id: number) => counts.set(id, (counts.get(id) ?? 0) + 1);

export function countMentions(steps: readonly Step[]): Mentions {
  const mentions: Mentions = { reads: new Map(), writes: new Map(), arrays: new Set() };
  eachStep(steps, (step) => {
    for (const { locals } of expressionsOf(step)) for (const id of locals) add(mentions.reads, id);
    if (step.op === "set" || step.op === "load") add(mentions.writes, step.local);
    if (step.op === "lanes") {
      add(mentions.reads, step.counter);
      add(mentions.writes, step.counter);
    }
    if (step.op === "fork") {
      // It sets these for its tasks, and reads what they leave.
      for (const id of [step.counter, step.limit, ...step.reductions.map((r) => r.local)]) {
        add(mentions.reads, id);
        add(mentions.writes, id);
      }
    }
    if (step.op === "load" || step.op === "store") mentions.arrays.add(step.array);
  });
  return mentions;
}

/** null: too much passes between them. */
function interfaceOf(code: Code, step: Step, live: Liveness): Outlined | null {
  const own = countMentions([step]);
  const ids = [...new Set([...own.reads.keys(), ...own.writes.keys()])].sort((a, b) => a - b);
  const results = ids.filter((id) => own.writes.has(id) && live.after.has(id));
  const params = ids.filter((id) => live.before.has(id));
  const arrays = [...own.arrays].sort((a, b) => a - b);
  const words = arrays.reduce((n, k) => n + 1 + 2 * code.arrays[k].rank, 0);
  return params.length + words + results.length > MOST ? null : { params, results, arrays };
}
