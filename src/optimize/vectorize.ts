/**
 * The plan of an elementwise kernel, as data: how each operand is walked along the innermost loop, how many elements
 * one turn computes, and which nodes are computed once a call, once a row or once an element. The emitter spends it.
 */
import { type DType, dtypes } from "../dtype.ts";
import { type Program, resultsOf } from "../ir/node.ts";
import { MOST_UNROLLED, withConstants } from "./size.ts";

/** How an operand moves from one element of a row to the next. */
export type LayoutClass = "contiguous" | "broadcast" | "strided" | "reversed" | "transposed" | "repeated";

/**
 * `transposed`: strided along the row, but contiguous from row to row; only the tile kernel knows it.
 * `repeated`: contiguous along the row, and the same in every row; only the kernel for rows together knows it.
 */
export const classLetters = {
  contiguous: "C",
  broadcast: "B",
  strided: "S",
  reversed: "R",
  transposed: "T",
  repeated: "=",
} as const;

/**
 * The classes for computing 4 × 4 tiles, where that pays: some input is contiguous along the rows' axis and all others
 * are contiguous or broadcast along their own. null: it does not apply.
 */
export function tileClasses(
  strides: readonly number[],
  rowStrides: readonly number[],
  itemBytes: readonly number[],
): LayoutClass[] | null {
  const classes: LayoutClass[] = [];
  let crosswise = false;
  for (let k = 0; k < strides.length; k++) {
    if (strides[k] === itemBytes[k]) classes.push("contiguous");
    else if (k > 0 && strides[k] === 0) classes.push("broadcast");
    else if (k > 0 && rowStrides[k] === itemBytes[k]) {
      classes.push("transposed");
      crosswise = true;
    } else return null;
  }
  return crosswise ? classes : null;
}

/** Rows that are computed together. Measured: with 8, so many streams hinder each other. */
export const TOGETHER = 4;

/**
 * The classes for computing rows together, where that pays: some input is the same in every row, and the others are
 * contiguous or broadcast. null: it does not apply.
 */
export function togetherClasses(
  classes: readonly LayoutClass[],
  rowStrides: readonly number[],
): LayoutClass[] | null {
  if (classes[0] !== "contiguous") return null;
  let repeats = false;
  for (let k = 1; k < classes.length; k++) {
    if (classes[k] === "contiguous") repeats ||= rowStrides[k] === 0;
    else if (classes[k] !== "broadcast") return null;
  }
  if (!repeats) return null;
  return classes.map((c, k) => (k > 0 && c === "contiguous" && rowStrides[k] === 0 ? "repeated" : c));
}

export function layoutClass(stride: number, itemBytes: number): LayoutClass {
  if (stride === itemBytes) return "contiguous";
  if (stride === 0) return "broadcast";
  return stride === -itemBytes ? "reversed" : "strided";
}

/**
 * When a node's value can change: never during a call, with the row, or with the element. Where rows are computed
 * together, 1 is: with the column.
 */
export type Level = 0 | 1 | 2;

export interface KernelPlan {
  readonly program: Program;
  /** The outputs first, then the inputs. */
  readonly classes: readonly LayoutClass[];
  readonly levels: readonly Level[];
  /** Computes 4 × 4 tiles. */
  readonly tiled: boolean;
  /** Rows that are computed together. */
  readonly rows: number;
  /** Elements a vector step computes; 0: scalar code only. */
  readonly width: 0 | 4;
  /** Vector steps a turn of the main loop. */
  readonly unroll: 1 | 2 | 4;
}

export function planKernel(program: Program, classes: readonly LayoutClass[], simd: boolean): KernelPlan {
  const tiled = classes.includes("transposed");
  const together = classes.includes("repeated");
  // Operands that are the same for the innermost of the kernel's loops.
  const steady: LayoutClass | null = tiled ? null : together ? "repeated" : "broadcast";
  const own: Level[] = [];
  const outputs = resultsOf(program).length;
  for (const node of program.nodes) {
    let level: Level = 0;
    if (node.op === "input") level = classes[node.index + outputs] === steady ? 1 : 2;
    for (const a of node.args) if (own[a] > level) level = own[a];
    own.push(level);
  }
  const levels = withConstants(program, own, 2);
  const rows = together ? TOGETHER : 1;
  return { program, classes, levels, tiled, rows, width: simd ? 4 : 0, unroll: unrollFor(program, levels) };
}

/** Measured: four steps a turn hide latency even where they spill; only very large bodies do better with two. */
function unrollFor(program: Program, levels: readonly Level[]): 1 | 2 | 4 {
  if (program.nodes.length > MOST_UNROLLED) return 1;
  let weight = 0;
  program.nodes.forEach((node, id) => {
    if (levels[id] === 2) weight += registersOf(node.dtype);
  });
  return weight <= 60 ? 4 : 2;
}

const registersOf = (d: DType): number => (dtypes[d].lane === "i64" || dtypes[d].lane === "f64" ? 2 : 1);

/** Between what a byte takes from the caches and from memory. */
const BYTE_NS = 0.025;

/** How often a loop goes round, where nobody knows. */
const GUESSED_ROUNDS = 20;

function roundsCost({ nodes }: Program, levels: readonly Level[]): number {
  let cost = 0;
  nodes.forEach((node, id) => {
    if (node.op === "loop" && levels[id] === 2) {
      const inner = node.body.nodes.map((): Level => 2);
      cost += GUESSED_ROUNDS * (0.08 * inner.length + roundsCost(node.body, inner));
    }
  });
  return cost;
}

/** Nanoseconds one element costs on one thread, roughly: to judge whether other threads are worth waking. */
export function costOf(plan: KernelPlan): number {
  const { program, levels, classes } = plan;
  let cost = roundsCost(program, levels);
  program.nodes.forEach((node, id) => {
    if (levels[id] < 2) return;
    if (node.op === "input") cost += BYTE_NS * dtypes[node.dtype].bytes;
    else cost += (node.op === "div" || node.op === "sqrt" ? 0.5 : 0.08) * registersOf(node.dtype);
  });
  for (const c of classes) if (c === "strided") cost += 0.5;
  for (const id of resultsOf(program)) cost += BYTE_NS * dtypes[program.nodes[id].dtype].bytes;
  return plan.width === 0 ? 4 * cost : cost;
}
