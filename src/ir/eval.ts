/**
 * The slow interpreter: what a Program means, in plain JavaScript. It is the oracle every backend is checked
 * against, and it runs what no backend can. An evaluator is made once a call and allocates nothing per element.
 */
import { convert, type DType, dtypes, isHalf, type Value } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import {
  type Id,
  type LoopNode,
  MOST_ROUNDS,
  type Node,
  type Program,
  type ReadNode,
  resultsOf,
} from "./node.ts";
import { ops } from "./ops.ts";
import { slowFunctions } from "./slow.ts";

/** Computes one output value from one value an operand (given in `inputs`, which is only read). */
export type Evaluator = (inputs: readonly Value[]) => Value;

type Step = (values: Value[], inputs: readonly Value[]) => Value;

/** What an evaluator may use besides its inputs. */
export interface Surroundings {
  /** Where tables lie. */
  readonly memory?: { readonly view: DataView };
  /** Rounds that the loops of one element may have together. */
  readonly rounds?: number;
  /** Rounds and elements in all, after which it gives up. */
  readonly most?: number;
}

/** What went wrong with an element: its loops have no end, or an index is none of its table. */
export class Failure extends Error {
  readonly fact: FailedFact;
  constructor(fact: FailedFact) {
    super(fact.kind);
    this.fact = fact;
  }
}
export type FailedFact =
  | { readonly kind: "rounds" }
  | {
      readonly kind: "read";
      readonly name: string;
      readonly index: number | bigint;
      readonly axis: number;
      readonly size: number;
    }
  /** It took longer than it was given. */
  | { readonly kind: "long" };

/** One evaluation's state: values of loops, and what may still be spent. */
interface State {
  readonly params: readonly Value[];
  readonly memory: { readonly view: DataView } | null;
  readonly rounds: number;
  left: number;
  most: number;
}

/** What is there of the surroundings themselves, whatever somebody may have put on Object.prototype. */
function stateOf(params: readonly Value[], around: Surroundings): State {
  const { memory, rounds, most } = Object.assign(Object.create(null), around) as Surroundings;
  return {
    params,
    memory: memory ?? null,
    rounds: rounds ?? MOST_ROUNDS,
    left: 0,
    most: most ?? Number.POSITIVE_INFINITY,
  };
}

/** Every element may have so many rounds. */
function begin(state: State): void {
  state.left = state.rounds;
  if (--state.most < 0) throw new Failure({ kind: "long" });
}

export function evaluator(
  program: Program,
  params: readonly Value[] = [],
  around: Surroundings = {},
): Evaluator {
  const state = stateOf(params, around);
  const steps = stepsOf(program, state);
  const values: Value[] = new Array(steps.length).fill(0);
  const { result } = program;
  return (inputs) => {
    begin(state);
    for (let i = 0; i < steps.length; i++) values[i] = steps[i](values, inputs);
    return values[result];
  };
}

function stepsOf(program: Program, state: State): Step[] {
  const carried = new Map<Id, Value[]>();
  return program.nodes.map((node, id) => {
    if (node.op === "loop") return loopStep(node, state, carried, id);
    if (node.op === "item") {
      const { index } = node;
      const list = carried.get(node.args[0])!;
      return () => list[index];
    }
    return node.op === "read" ? readStep(node, state) : stepOf(program, node, state.params);
  });
}

/** Rounds until the test says no; what was carried by then is left in the list. */
function loopStep(node: LoopNode, state: State, carried: Map<Id, Value[]>, id: Id): Step {
  const { body } = node;
  const [guard, ...args] = node.args;
  const steps = stepsOf(body, state);
  const values: Value[] = new Array(steps.length).fill(0);
  const [going, ...next] = resultsOf(body);
  /** The carried values, and those from outside. */
  const list: Value[] = new Array(args.length).fill(0);
  const after: Value[] = new Array(next.length).fill(0);
  carried.set(id, list);
  return (outer) => {
    for (let k = 0; k < args.length; k++) list[k] = outer[args[k]];
    while (outer[guard]) {
      for (let i = 0; i < steps.length; i++) values[i] = steps[i](values, list);
      if (!values[going]) return list[0];
      if (--state.left < 0) throw new Failure({ kind: "rounds" });
      if (--state.most < 0) throw new Failure({ kind: "long" });
      for (let k = 0; k < next.length; k++) after[k] = values[next[k]];
      for (let k = 0; k < next.length; k++) list[k] = after[k];
    }
    return list[0];
  };
}

function readStep({ args, dtype, name }: ReadNode, { memory }: State): Step {
  const { read } = dtypes[dtype];
  const nothing: Value = dtypes[dtype].big ? 0n : 0;
  const [guard, address, ...axes] = args;

  return (values) => {
    if (!values[guard]) return nothing;
    let at = values[address] as number;
    for (let i = 0; i < axes.length; i += 3) {
      const given = values[axes[i]] as number | bigint;
      const size = values[axes[i + 1]] as number;
      const index = Number(given);
      const isOne = Number.isInteger(index) && index >= 0 && index < size;
      if (!isOne) throw new Failure({ kind: "read", name, index: given, axis: i / 3, size });
      at = (at + Math.imul(index, values[axes[i + 2]] as number)) >>> 0;
    }
    if (memory === null) return unreachable(`there is no memory to read ${name} from`);
    return read(memory.view, at);
  };
}

/** The same for a program with several results: all of them, in a list that the next call changes. */
export function evaluatorOfAll(
  program: Program,
  params: readonly Value[] = [],
  around: Surroundings = {},
): (inputs: readonly Value[]) => Value[] {
  const last = program.nodes[program.result];
  if (last.op !== "tuple") {
    const one = evaluator(program, params, around);
    return (inputs) => [one(inputs)];
  }
  const state = stateOf(params, around);
  const steps = stepsOf(program, state);
  const values: Value[] = new Array(steps.length).fill(0);
  const results: Value[] = new Array(last.args.length).fill(0);
  return (inputs) => {
    begin(state);
    for (let i = 0; i < steps.length; i++) values[i] = steps[i](values, inputs);
    for (let k = 0; k < results.length; k++) results[k] = values[last.args[k]];
    return results;
  };
}

/** f16 and bf16 are held in f32 precision inside a program: they round when stored. */
function holder(dtype: DType): (value: Value) => Value {
  return isHalf(dtype) ? dtypes.f32.wrap : dtypes[dtype].wrap;
}

function stepOf(program: Program, node: Node, params: readonly Value[]): Step {
  const [a, b, c] = node.args;
  const wrap = holder(node.dtype);
  switch (node.op) {
    case "input": {
      const { index } = node;
      return (_, inputs) => inputs[index];
    }
    case "param": {
      const value = params[node.index];
      return () => value;
    }
    case "const": {
      const { value } = node;
      return () => value;
    }
    case "cast": {
      const from = program.nodes[a].dtype;
      const to = node.dtype;
      // f16 from f32 inside a program keeps f32 precision unless it comes from somewhere wider.
      return (values) => convert(values[a], from, to);
    }
    case "tuple":
      return (values) => values[a];
    case "bitcast": {
      const read = dtypes[node.dtype].read;
      const write = dtypes[program.nodes[a].dtype].write;
      return (values) => {
        write(bits, 0, values[a]);
        return read(bits, 0);
      };
    }
    case "rare": {
      const slow = slowFunctions[node.slow];
      return (values) =>
        values[b] ? wrap(slow(values[c] as number, values[node.args[3]] as number)) : values[a];
    }
    case "loop":
    case "item":
    case "read":
      return unreachable(`${node.op} has a step of its own`);
    default: {
      const row = ops[node.op];
      const argDType = program.nodes[row.rule === "select" ? b : a].dtype;
      const kind = dtypes[argDType].kind;
      const big = dtypes[argDType].big;
      const fn = (big ? row.big : kind === "float" ? row.eval : (row.int ?? row.eval)) as (
        a: Value,
        b: Value,
        c: Value,
      ) => Value | boolean;
      if (node.dtype === "bool") return (values) => (fn(values[a], values[b], values[c]) ? 1 : 0);
      return (values) => wrap(fn(values[a], values[b], values[c]) as Value);
    }
  }
}

const bits = new DataView(new ArrayBuffer(8));
