/** Which locals somebody may still read, before and after a step: a walk against the flow of control. */
import { type Code, expressionsOf, type Step } from "./ir.ts";

export interface Liveness {
  readonly before: ReadonlySet<number>;
  readonly after: ReadonlySet<number>;
}

/** Of the steps that are asked for. */
export function livenessOf(code: Code, isAsked: (step: Step) => boolean): ReadonlyMap<Step, Liveness> {
  const found = new Map<Step, Liveness>();
  /** What is live where a break goes to, outermost first. */
  const targets: Set<number>[] = [];
  /** What was live at the head of a loop when it was last come to: around it, more and more becomes live. */
  const heads = new Map<Step, Set<number>>();

  const list = (steps: readonly Step[], after: ReadonlySet<number>): Set<number> => {
    let live = new Set(after);
    for (let i = steps.length - 1; i >= 0; i--) {
      const step = steps[i];
      const asked = isAsked(step) ? new Set(live) : null;
      live = one(step, live);
      if (asked !== null) found.set(step, { before: new Set(live), after: asked });
    }
    return live;
  };

  /** `live` may be changed. */
  const one = (step: Step, live: Set<number>): Set<number> => {
    switch (step.op) {
      case "set":
      case "load":
        live.delete(step.local);
        break;
      case "if": {
        const [yes, no] = [list(step.yes, live), list(step.no, live)];
        for (const l of no) yes.add(l);
        return reading(step, yes);
      }
      case "block": {
        targets.push(live);
        const inner = list(step.body, live);
        targets.pop();
        return inner;
      }
      case "loop":
        return turning(step, live, (after) => list(step.body, after), false);
      case "lanes": {
        live.add(step.counter);
        const steps = [...step.body, ...step.after];
        return reading(
          step,
          turning(step, live, (after) => list(steps, after), true),
        );
      }
      case "fork": {
        // Its tasks have locals of their own: what leaves them is what they have added up.
        const sums = step.reductions.map((r) => r.local);
        const inner = list(step.body, new Set(sums));
        inner.delete(step.limit);
        for (const l of [...inner, ...sums, step.counter]) live.add(l);
        break;
      }
      case "break":
        return new Set(targets[targets.length - 1 - step.depth]);
      case "return":
        return reading(step, new Set());
    }
    return reading(step, live);
  };

  /** What is live at the head of a loop: what a turn reads, and what is read after it. */
  const turning = (
    step: Step,
    after: Set<number>,
    turn: (after: Set<number>) => Set<number>,
    isOptional: boolean,
  ): Set<number> => {
    const head = heads.get(step) ?? new Set<number>();
    heads.set(step, head);
    if (isOptional) for (const l of after) head.add(l);
    for (let size = -1; size !== head.size; ) {
      size = head.size;
      targets.push(head);
      for (const l of turn(isOptional ? head : after)) head.add(l);
      targets.pop();
    }
    return new Set(head);
  };

  const reading = (step: Step, live: Set<number>): Set<number> => {
    for (const { locals } of expressionsOf(step)) for (const l of locals) live.add(l);
    return live;
  };

  list(code.body, new Set());
  return found;
}
