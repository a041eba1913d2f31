/**
 * An element that was read or written a moment ago is not read again: between the two nothing was stored that could have
 * changed it, and what its index is made of stayed. Checked once, too: where the first access succeeded the second would.
 */
import { type Code, type Expression, insides, type Step } from "./ir.ts";
import { writesIn } from "./nest.ts";
import { expressionKey } from "./vectorize.ts";
import { verifyCode } from "./verify.ts";

/** A local that holds an element. */
interface Known {
  readonly array: number;
  readonly locals: ReadonlySet<number>;
  readonly local: number;
}

type State = Map<string, Known>;

export function reuseLoads(code: Code): Code {
  const body = new Reuse(code).list(code.body, new Map());
  return verifyCode({ ...code, body }, "reuse");
}

class Reuse {
  readonly #code: Code;

  constructor(code: Code) {
    this.#code = code;
  }

  /** The steps, with what is known before them; it is changed to what is known after them. */
  list(steps: readonly Step[], state: State): Step[] {
    return steps.map((step) => this.#step(step, state));
  }

  #step(step: Step, state: State): Step {
    switch (step.op) {
      case "load": {
        const key = this.#keyOf(step.array, step.index);
        const known = state.get(key);
        const { dtype } = this.#code.locals[step.local];
        forget(state, step.local);
        if (
          known !== undefined &&
          known.local !== step.local &&
          this.#code.locals[known.local].dtype === dtype
        ) {
          return { op: "set", local: step.local, value: copyOf(known.local, dtype) };
        }
        const locals = new Set(step.index.flatMap((i) => i.locals));
        if (!locals.has(step.local)) state.set(key, { array: step.array, locals, local: step.local });
        return step;
      }
      case "set":
        forget(state, step.local);
        return step;
      case "store":
        for (const [key, known] of state) if (this.#mayShare(known.array, step.array)) state.delete(key);
        return step;
      case "if": {
        const [a, b] = [new Map(state), new Map(state)];
        const [yes, no] = [this.list(step.yes, a), this.list(step.no, b)];
        // What both sides leave as it was.
        for (const [key, known] of state) if (a.get(key) !== known || b.get(key) !== known) state.delete(key);
        return { ...step, yes, no };
      }
      case "block":
      case "loop": {
        // A loop may be come to again, a block left in the middle: nothing that changes inside is known at its edges.
        const within = step.op === "loop" ? this.#without(state, step) : new Map(state);
        const body = this.list(step.body, within);
        for (const key of this.#changed(state, step)) state.delete(key);
        return { ...step, body };
      }
      default:
        return step;
    }
  }

  #without(state: State, step: Step): State {
    const left = new Map(state);
    for (const key of this.#changed(state, step)) left.delete(key);
    return left;
  }

  /** What a step may change of what is known. */
  #changed(state: State, step: Step): string[] {
    const writes = writesIn([step]);
    const stores: number[] = [];
    const visit = (s: Step): void => {
      if (s.op === "store") stores.push(s.array);
      for (const list of insides(s)) list.forEach(visit);
    };
    visit(step);
    return [...state].flatMap(([key, { array, locals, local }]) => {
      const isSet = writes.has(local) || [...locals].some((l) => writes.has(l));
      return isSet || stores.some((a) => this.#mayShare(array, a)) ? [key] : [];
    });
  }

  /** Arrays of the function's own share memory with no other. */
  #mayShare(a: number, b: number): boolean {
    const isOwn = (k: number) => this.#code.arrays[k].argument === null;
    return a === b || !(isOwn(a) || isOwn(b));
  }

  #keyOf(array: number, index: readonly Expression[]): string {
    return `${array}[${index.map(expressionKey).join("; ")}]`;
  }
}

function forget(state: State, local: number): void {
  for (const [key, known] of state) if (known.local === local || known.locals.has(local)) state.delete(key);
}

const copyOf = (local: number, dtype: Code["locals"][number]["dtype"]): Expression => ({
  program: {
    nodes: [{ op: "input", index: 0, dtype, args: [] }],
    result: 0,
    inputs: [dtype],
    params: [],
    dtype,
  },
  locals: [local],
});
