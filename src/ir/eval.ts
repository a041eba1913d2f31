/**
 * The slow interpreter: what a Program means, in plain JavaScript. It is the oracle every backend is checked
 * against, and it runs what no backend can. An evaluator is made once a call and allocates nothing per element.
 */
import { convert, type DType, dtypes, type Value } from "../dtype.ts";
import type { Node, Program } from "./node.ts";
import { ops } from "./ops.ts";
import { slowFunctions } from "./slow.ts";

/** Computes one output value from one value an operand (given in `inputs`, which is only read). */
export type Evaluator = (inputs: readonly Value[]) => Value;

type Step = (values: Value[], inputs: readonly Value[]) => Value;

export function evaluator(program: Program, params: readonly Value[] = []): Evaluator {
  const steps = program.nodes.map((node) => stepOf(program, node, params));
  const values: Value[] = new Array(steps.length).fill(0);
  const { result } = program;
  return (inputs) => {
    for (let i = 0; i < steps.length; i++) values[i] = steps[i](values, inputs);
    return values[result];
  };
}

/** The same for a program with several results: all of them, in a list that the next call changes. */
export function evaluatorOfAll(
  program: Program,
  params: readonly Value[] = [],
): (inputs: readonly Value[]) => Value[] {
  const last = program.nodes[program.result];
  if (last.op !== "tuple") {
    const one = evaluator(program, params);
    return (inputs) => [one(inputs)];
  }
  const steps = program.nodes.map((node) => stepOf(program, node, params));
  const values: Value[] = new Array(steps.length).fill(0);
  const results: Value[] = new Array(last.args.length).fill(0);
  return (inputs) => {
    for (let i = 0; i < steps.length; i++) values[i] = steps[i](values, inputs);
    for (let k = 0; k < results.length; k++) results[k] = values[last.args[k]];
    return results;
  };
}

/** f16 and bf16 are held in f32 precision inside a program: they round when stored. */
function holder(dtype: DType): (value: Value) => Value {
  return dtype === "f16" || dtype === "bf16" ? dtypes.f32.wrap : dtypes[dtype].wrap;
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
