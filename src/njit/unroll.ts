/**
 * Loops of a few turns that are known when the code is made are written out, turn after turn, with the counter's number in each;
 * what that decides (a test of the counter, another such loop around it) is decided here. What is left is one straight line, which
 * the passes that follow can do more with: the loop around it may run by lanes.
 */
import type { DType, Value } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import { evaluator } from "../ir/eval.ts";
import type { Id, Node } from "../ir/node.ts";
import {
  type Code,
  type Expression,
  eachStep,
  expressionsOf,
  insides,
  isLoopBlock,
  jumpsTo,
  type LoopBlock,
  lifted,
  type Step,
} from "./ir.ts";
import { countedLoop, hasLoop, writesIn } from "./nest.ts";
import { verifyCode } from "./verify.ts";

/** Turns of one loop, and operations of all of them together, at the most. */
const MOST_TURNS = 8;
const MOST_NODES = 500;

export function unrollLoops(code: Code): Code {
  const unrolled: Code["unrolled"][number][] = [];
  const list = (steps: readonly Step[]): Step[] => {
    const out: Step[] = [];
    /** Locals that hold a number here. */
    const held = new Map<number, number>();
    for (const step of steps) {
      const inner = within(step, list);
      const turns = isLoopBlock(inner) ? turnsOf(inner, held) : null;
      if (turns === null) out.push(inner);
      else {
        const { place } = (inner as LoopBlock).body[0];
        unrolled.push({ place, turns: turns.length });
        out.push(...written(inner as LoopBlock, turns));
      }
      for (const local of writesIn([step]).keys()) held.delete(local);
      if (step.op === "set") {
        const value = constantOf(step.value);
        if (typeof value === "number") held.set(step.local, value);
      }
    }
    return out;
  };
  const body = list(code.body);
  if (unrolled.length === 0) return code;
  return verifyCode({ ...code, body: new Folding().list(body, new Map()).steps, unrolled }, "unrolling");
}

function within(step: Step, list: (steps: readonly Step[]) => Step[]): Step {
  switch (step.op) {
    case "if":
      return { ...step, yes: list(step.yes), no: list(step.no) };
    case "block":
    case "loop":
    case "fork":
      return { ...step, body: list(step.body) };
    default:
      return step;
  }
}

const constantOf = ({ program }: Expression): Value | null => {
  const node = program.nodes[program.result];
  return node.op === "const" ? node.value : null;
};

/** The numbers that the counter takes; null: they are too many, or not known. */
function turnsOf(block: LoopBlock, held: ReadonlyMap<number, number>): number[] | null {
  const [loop] = block.body;
  if (loop.parallel || hasLoop(loop)) return null;
  const counted = countedLoop(loop, writesIn(loop.body));
  if (counted === null || counted.step === null) return null;
  const { counter, bound, up, inclusive, step } = counted;
  const start = held.get(counter);
  const end = bound.program.nodes[bound.id];
  if (start === undefined || end.op !== "const") return null;
  // Only its end goes on with the next turn.
  const again = loop.body.at(-1);
  if (again?.op !== "break" || again.depth !== 0 || jumpsTo(loop.body.slice(0, -1), 0)) return null;
  const last = Number(end.value);
  const isOn = (i: number) => (up ? i < last : i > last) || (inclusive && i === last);
  const turns: number[] = [];
  for (let i = start; isOn(i); i += step) if (turns.push(i) > MOST_TURNS) return null;
  let nodes = 0;
  eachStep(loop.body, (s) => {
    nodes += 1 + expressionsOf(s).reduce((n, e) => n + e.program.nodes.length, 0);
  });
  return nodes * turns.length > MOST_NODES ? null : turns;
}

/** Turn after turn, without the loop. Each begins by saying what the counter is: the folding takes it from there. */
function written(block: LoopBlock, turns: readonly number[]): Step[] {
  const [loop] = block.body;
  const counter = countedLoop(loop, writesIn(loop.body))!.counter;
  const turn = lifted(loop.body.slice(1, -1), 0);
  const steps = turns.flatMap((i): Step[] => [{ op: "set", local: counter, value: number(i) }, ...turn]);
  return jumpsTo(steps, 0) ? [{ op: "block", body: steps }] : lifted(steps, 0);
}

function number(value: number): Expression {
  const b = new Builder();
  return { program: b.finish(b.constant("i32", value), []), locals: [] };
}

/* Folding ------------------------------------------------------------------------------------------------- */

interface Known {
  readonly dtype: DType;
  readonly value: Value;
}
type Env = Map<number, Known>;

/** Numbers that are known take the place of what holds them, and tests that are decided go. */
class Folding {
  /** The steps, and what is known after them; null: nothing comes after them. `env` may be changed. */
  list(steps: readonly Step[], env: Env): { steps: Step[]; env: Env | null } {
    const out: Step[] = [];
    let known: Env | null = env;
    for (const step of steps) {
      const made = this.#step(step, known);
      out.push(...made.steps);
      known = made.env;
      if (known === null) break;
    }
    return { steps: out, env: known };
  }

  #step(step: Step, env: Env): { steps: Step[]; env: Env | null } {
    switch (step.op) {
      case "set": {
        const value = folded(step.value, env);
        const constant = constantOf(value);
        if (constant === null) env.delete(step.local);
        else env.set(step.local, { dtype: value.program.dtype, value: constant });
        return { steps: [{ ...step, value }], env };
      }
      case "load": {
        const index = step.index.map((i) => folded(i, env));
        env.delete(step.local);
        return { steps: [{ ...step, index }], env };
      }
      case "store": {
        const index = step.index.map((i) => folded(i, env));
        return { steps: [{ ...step, index, value: folded(step.value, env) }], env };
      }
      case "if": {
        const test = folded(step.test, env);
        const decided = constantOf(test);
        if (decided !== null) return this.list(decided ? step.yes : step.no, env);
        const [yes, no] = [this.list(step.yes, new Map(env)), this.list(step.no, env)];
        return { steps: [{ ...step, test, yes: yes.steps, no: no.steps }], env: common(yes.env, no.env) };
      }
      case "block": {
        const after = without(env, step.body);
        const { steps, env: end } = this.list(step.body, env);
        if (jumpsTo(steps, 0)) {
          // A jump to its end that is the last thing in it leads nowhere else.
          const last = steps.at(-1);
          const rest = last?.op === "break" && last.depth === 0 ? steps.slice(0, -1) : steps;
          if (!jumpsTo(rest, 0)) return { steps: lifted(rest, 0), env: after };
          return { steps: [{ ...step, body: steps }], env: after };
        }
        return { steps: isLoopBlock(step) ? [{ ...step, body: steps }] : lifted(steps, 0), env: end };
      }
      case "loop": {
        const head = without(env, step.body);
        const { steps } = this.list(step.body, new Map(head));
        return { steps: [{ ...step, body: steps }], env: head };
      }
      case "fork": {
        const { counter, limit, reductions } = step;
        const head = without(env, step.body);
        for (const local of [counter, limit, ...reductions.map((r) => r.local)]) head.delete(local);
        const inOrder = step.inOrder === null ? null : folded(step.inOrder, env);
        const { steps } = this.list(step.body, new Map(head));
        return { steps: [{ ...step, end: folded(step.end, env), inOrder, body: steps }], env: head };
      }
      case "return":
        return { steps: [{ ...step, values: step.values.map((v) => folded(v, env)) }], env: null };
      case "break":
        return { steps: [step], env: null };
      default:
        return { steps: [step], env: without(env, insides(step).flat()) };
    }
  }
}

/** What is known of locals that these steps do not set. */
function without(env: Env, steps: readonly Step[]): Env {
  const writes = writesIn(steps);
  return new Map([...env].filter(([local]) => !writes.has(local)));
}

function common(a: Env | null, b: Env | null): Env | null {
  if (a === null || b === null) return a ?? b;
  return new Map([...a].filter(([local, known]) => Object.is(b.get(local)?.value, known.value)));
}

/** The expression with numbers in the place of locals that hold them. */
function folded(e: Expression, env: Env): Expression {
  if (!e.locals.some((l) => env.has(l))) return e;
  const b = new Builder();
  const locals: number[] = [];
  const made: Id[] = [];
  for (const node of e.program.nodes) made.push(foldedNode(b, node, made, e.locals, locals, env));
  const inputs = locals.map((l) => e.program.inputs[e.locals.indexOf(l)]);
  return { program: b.finish(made[e.program.result], inputs), locals };
}

function foldedNode(
  b: Builder,
  node: Node,
  made: readonly Id[],
  from: readonly number[],
  into: number[],
  env: Env,
): Id {
  if (node.op === "input") {
    const local = from[node.index];
    const known = env.get(local);
    if (known !== undefined) return b.constant(known.dtype, known.value);
    let k = into.indexOf(local);
    if (k < 0) k = into.push(local) - 1;
    return b.input(k, node.dtype);
  }
  const args = node.args.map((a) => made[a]);
  const values = args.map((a) => {
    const arg = b.nodes[a];
    return arg.op === "const" ? arg.value : null;
  });
  if (node.op === "select" && values[0] !== null) return values[0] ? args[1] : args[2];
  if (args.length === 0 || values.includes(null)) return b.add({ ...node, args });
  const alone = new Builder();
  const own = args.map((a, k) => alone.constant(b.dtypeOf(a), values[k]!));
  return b.constant(node.dtype, evaluator(alone.finish(alone.add({ ...node, args: own }), []))([]));
}
