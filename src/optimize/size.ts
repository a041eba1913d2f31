/**
 * How large the code of a program will be, told before anything is spent on making it. A few lines of source can unfold
 * to any number of operations, and each of those to a hundred: what comes to more than a kernel can have is known here,
 * not from an engine that gives up after half a minute.
 *
 * Engines allow 50,000 locals and 7,654,321 bytes a function. Well below that they become slow: their first compiler
 * copies every local that is in use at every branch. So the limits here are in time: about two seconds at the most.
 */
import { type DType, isHalf } from "../dtype.ts";
import { Builder } from "../ir/build.ts";
import { type Id, type Node, type Program, someNode } from "../ir/node.ts";
import { optimize } from "./pipeline.ts";
import type { Fold } from "./reduce.ts";

/** Nodes of the program that the emitter is given; those of more than the second have one vector a turn of the loop. */
export const MOST_NODES = 30_000;
export const MOST_UNROLLED = 3_000;
/** Branches, each times the values that live across it: in scalar code, and in vectors, which have more of both. */
const MOST_COPIES = 500_000;
const MOST_COPIES_IN_VECTORS = 70_000;
/** Values that live at once: in vectors each may take three locals. */
const MOST_LIVE_IN_VECTORS = 12_000;
/** Operands of a kernel, and of a fold, whose operands are parameters of a function: engines allow 1,000 of these. */
export const MOST_OPERANDS = 1000;
export const MOST_FOLDED = 960;
/** Constants that are made once, before the loops; where there are more, all are made where they are used. */
const MOST_CONSTANTS = 256;

export interface CodeSize {
  readonly nodes: number;
  readonly branches: number;
  /** Values of the program that live at once, at the most. */
  readonly live: number;
}

/** 16-bit floats compute in f32. */
const working = (d: DType): DType => (isHalf(d) ? "f32" : d);

interface Expansion {
  readonly nodes: number;
  readonly branches: number;
  /** Constants that all operations of the kind share. */
  readonly constants: number;
}
const single: Expansion = { nodes: 1, branches: 0, constants: 0 };
const expansions = new Map<string, Expansion>();

/** What one operation on operands of these dtypes becomes. */
export function expansionOf(node: Node, from: readonly DType[]): Expansion {
  if (node.op === "loop") {
    const { nodes, branches } = codeSize(node.body);
    return { nodes, branches: branches + 1, constants: 0 };
  }
  if (node.op === "item" || node.op === "read" || node.op === "tuple") return single;
  if (node.args.length === 0 || node.op === "rare" || node.op === "bitcast") return single;
  const to = node.op === "cast" ? node.dtype : working(node.dtype);
  const args = node.op === "cast" ? from : from.map(working);
  const key = `${node.op} ${to} ${args}`;
  let found = expansions.get(key);
  if (found === undefined) {
    const b = new Builder();
    const inputs = args.map((d, i) => b.input(i, d));
    const { nodes } = optimize(b.finish(b.add({ ...node, dtype: to, args: inputs } as Node), args), {
      fma: false,
    });
    const count = (op: Node["op"]) => nodes.filter((n) => n.op === op).length;
    const constants = count("const");
    found = {
      nodes: Math.max(1, nodes.length - args.length - constants),
      branches: count("rare"),
      constants,
    };
    expansions.set(key, found);
  }
  return found;
}

const sizes = new WeakMap<Program, CodeSize>();
/** Programs of so few nodes need not be measured: no operation becomes more than some two hundred. */
const FEW = 24;

/** What the program will come to, about. */
export function codeSize(program: Program): CodeSize {
  let size = sizes.get(program);
  if (size === undefined) {
    const { nodes } = program;
    let [total, branches] = [0, 0];
    const kinds = new Set<Expansion>();
    for (const node of nodes) {
      const own = expansionOf(
        node,
        node.args.map((a) => nodes[a].dtype),
      );
      total += kinds.has(own) ? own.nodes : own.nodes + own.constants;
      branches += own.branches;
      kinds.add(own);
    }
    size = { nodes: total, branches, live: mostLive(program) };
    sizes.set(program, size);
  }
  return size;
}

function mostLive({ nodes, result }: Program): number {
  const last = new Array<Id>(nodes.length).fill(-1);
  nodes.forEach((node, id) => {
    for (const a of node.args) last[a] = id;
  });
  last[result] = nodes.length;
  const ending = new Array<number>(nodes.length + 1).fill(0);
  let [live, most] = [0, 0];
  nodes.forEach((node, id) => {
    live -= ending[id];
    if (node.op === "const" || last[id] < 0) return;
    live++;
    ending[last[id]]++;
    if (live > most) most = live;
  });
  return most;
}

/** Inside the code of one operation more values live. */
const OWN_LIVE = 60;
const copies = ({ branches, live }: CodeSize): number => branches * (live + OWN_LIVE);

/** Why a program is computed one element at a time, in words; null: in vectors, if its size allows it. */
export function whyScalar(program: Program): string | null {
  if (someNode(program, ({ op }) => op === "read")) return "it reads a table at indices that are data";
  return someNode(program, ({ op }) => op === "loop") ? "it has a loop" : null;
}

/** Is it computed in vectors? */
export function inVectors(program: Program): boolean {
  if (whyScalar(program) !== null) return false;
  if (program.nodes.length <= FEW) return true;
  const size = codeSize(program);
  return copies(size) <= MOST_COPIES_IN_VECTORS && size.live <= MOST_LIVE_IN_VECTORS;
}

/** Why no kernel is made of it, one sentence; null: it can be. */
export function misfitOf(program: Program, most = MOST_OPERANDS, first = 0): string | null {
  const operands = program.inputs.length - first;
  if (operands > most) return `the function has ${operands} operands; code for at most ${most} can be made.`;
  if (program.nodes.length <= FEW && !program.nodes.some(({ op }) => op === "loop")) return null;
  const size = codeSize(program);
  if (size.nodes > MOST_NODES) {
    return `the function unfolds to about ${size.nodes} operations; code for at most ${MOST_NODES} can be made.`;
  }
  if (copies(size) <= MOST_COPIES) return null;
  return `the function has ${size.live} values in use at once and about ${size.branches} branches; code for so many cannot be made.`;
}

/** The same of a fold: each of its programs is a function of its own. */
export function foldMisfitOf({ step, first, finish }: Fold): string | null {
  return (
    misfitOf(step, MOST_FOLDED, 1) ??
    (first === null ? null : misfitOf(first, MOST_FOLDED)) ??
    misfitOf(finish, MOST_FOLDED)
  );
}

/** Levels where many constants that only the innermost loop uses are made there, one by one. */
export function withConstants<L extends number>(program: Program, levels: L[], inner: L): L[] {
  const { nodes, result } = program;
  let count = 0;
  for (const node of nodes) if (node.op === "const") count++;
  if (count <= MOST_CONSTANTS) return levels;
  const outside = new Set<Id>([result]);
  nodes.forEach((node, id) => {
    if (levels[id] !== inner) for (const a of node.args) outside.add(a);
  });
  return levels.map((level, id) => (nodes[id].op === "const" && !outside.has(id) ? inner : level));
}
