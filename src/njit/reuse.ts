/**
 * An element that was read or written a moment ago is not read again: between the two nothing was stored that could have
 * changed it, and what its index is made of stayed. Checked once, too: where the first access succeeded the second would.
 * Remainders of integers, which take longer than anything else that they do, are computed once as well.
 */

import type { DType } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import type { Id } from "../ir/node.ts";
import { type Code, type Expression, insides, type LocalInfo, type Step } from "./ir.ts";
import { writesIn } from "./nest.ts";
import { expressionKey } from "./vectorize.ts";
import { verifyCode } from "./verify.ts";

/** A local that holds an element, or a remainder. */
interface Known {
  /** null: of a remainder. */
  readonly array: number | null;
  readonly locals: ReadonlySet<number>;
  readonly local: number;
}

type State = Map<string, Known>;

export function reuseLoads(code: Code): Code {
  const reuse = new Reuse(code);
  const body = reuse.list(code.body, new Map());
  return verifyCode({ ...code, locals: reuse.locals, body }, "reuse");
}

class Reuse {
  readonly locals: LocalInfo[];
  readonly #code: Code;

  constructor(code: Code) {
    this.#code = code;
    this.locals = [...code.locals];
  }

  /** The steps, with what is known before them; it is changed to what is known after them. */
  list(steps: readonly Step[], state: State): Step[] {
    return steps.flatMap((given) => {
      const before: Step[] = [];
      const step = this.#remainders(given, state, before);
      return [...before, this.#step(step, state)];
    });
  }

  /** The step with its remainders in locals of their own, which are set before it. */
  #remainders(step: Step, state: State, before: Step[]): Step {
    const of = (e: Expression): Expression => this.#named(e, state, before);
    switch (step.op) {
      case "set":
        // One that is held already has its name.
        return isRemainder(step.value, step.value.program.result) ? step : { ...step, value: of(step.value) };
      case "load":
        return { ...step, index: step.index.map(of) };
      case "store":
        return { ...step, index: step.index.map(of), value: of(step.value) };
      case "if":
        return { ...step, test: of(step.test) };
      default:
        return step;
    }
  }

  #named(e: Expression, state: State, before: Step[]): Expression {
    const { program } = e;
    if (!program.nodes.some((_, id) => isRemainder(e, id))) return e;
    const b = new Builder();
    const locals: number[] = [];
    const input = (local: number): Id => {
      let k = locals.indexOf(local);
      if (k < 0) k = locals.push(local) - 1;
      return b.input(k, this.locals[local].dtype);
    };
    const copy = (id: Id): Id => {
      const node = program.nodes[id];
      if (node.op === "input") return input(e.locals[node.index]);
      if (isRemainder(e, id)) return input(this.#remainder(part(e, id), state, before));
      return b.add({ ...node, args: node.args.map(copy) });
    };
    const result = copy(program.result);
    const inputs = locals.map((l) => this.locals[l].dtype);
    return { program: b.finish(result, inputs), locals };
  }

  /** The local that holds it. */
  #remainder(given: Expression, state: State, before: Step[]): number {
    const { dtype } = given.program;
    // Inner ones first: what is left is one operation on them.
    const last = given.program.nodes[given.program.result];
    const args = last.args.map((a) => this.#named(part(given, a), state, before));
    const value = joined(last.op as "rem", args);
    const key = `${dtype} ${expressionKey(value)}`;
    const known = state.get(key);
    if (known !== undefined) return known.local;
    const local = this.locals.push({ name: "", dtype }) - 1;
    before.push({ op: "set", local, value });
    state.set(key, { array: null, locals: new Set(value.locals), local });
    return local;
  }

  #step(step: Step, state: State): Step {
    switch (step.op) {
      case "load": {
        const key = this.#keyOf(step.array, step.index);
        const known = state.get(key);
        const { dtype } = this.locals[step.local];
        forget(state, step.local);
        if (known !== undefined && known.local !== step.local && this.locals[known.local].dtype === dtype) {
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
        for (const [key, { array }] of state) {
          if (array !== null && this.#mayShare(array, step.array)) state.delete(key);
        }
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
      case "fork": {
        // Its tasks begin with nothing; what they may change is not known after them.
        const body = this.list(step.body, new Map());
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
      const isStored = array !== null && stores.some((a) => this.#mayShare(array, a));
      return isSet || isStored ? [key] : [];
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

const isRemainder = ({ program }: Expression, id: Id): boolean => {
  const { op, dtype, args } = program.nodes[id];
  return op === "rem" && (dtype === "u32" || dtype === "i32") && program.nodes[args[1]].op !== "const";
};

/** What a node is made of, as an expression. */
function part({ program, locals }: Expression, id: Id): Expression {
  const b = new Builder();
  const own: number[] = [];
  const copy = (at: Id): Id => {
    const node = program.nodes[at];
    if (node.op !== "input") return b.add({ ...node, args: node.args.map(copy) });
    const local = locals[node.index];
    let k = own.indexOf(local);
    if (k < 0) k = own.push(local) - 1;
    return b.input(k, node.dtype);
  };
  const result = copy(id);
  const inputs = own.map((l) => program.inputs[locals.indexOf(l)]);
  return { program: b.finish(result, inputs), locals: own };
}

/** The operation on two expressions. */
function joined(op: "rem", args: readonly Expression[]): Expression {
  const b = new Builder();
  const own: number[] = [];
  const inputs: DType[] = [];
  const ids = args.map(({ program, locals }) => {
    const made: Id[] = [];
    for (const node of program.nodes) {
      if (node.op !== "input") {
        made.push(b.add({ ...node, args: node.args.map((a) => made[a]) }));
        continue;
      }
      const local = locals[node.index];
      let k = own.indexOf(local);
      if (k < 0) {
        k = own.push(local) - 1;
        inputs.push(node.dtype);
      }
      made.push(b.input(k, node.dtype));
    }
    return made[program.result];
  });
  return { program: b.finish(b.op(op, ...ids), inputs), locals: own };
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
