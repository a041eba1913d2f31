/** Searching in sorted tensors: where values belong, and which interval they fall into. */
import { tensor } from "../api.ts";
import { type DType, dtypes, isInteger, promote } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import { runRoutine } from "../ops/execute.ts";
import { allocate } from "../ops/strided.ts";
import { searchRoutine } from "../routines/sorted.ts";
import { liveTensor, namedReduction, type Operand, stridedOf, type Tensor, wrap } from "../tensor.ts";
import type { Search } from "../wasm/routines/sort/search.ts";
import { scoped } from "./scoped.ts";
import { denseCopy, gatherLines } from "./sort.ts";

/** The options of `searchsorted`. */
export interface SearchOptions {
  /** Among equal elements: before the first ("left", the default), or after the last ("right"). */
  readonly side?: "left" | "right";
  /** Positions that sort the first tensor, as argsort gives them. */
  readonly sorter?: Tensor;
}
/** The options of `digitize`. */
export interface DigitizeOptions {
  /** Do intervals include their right edge instead of the left one? */
  readonly right?: boolean;
}

/**
 * Where each value would be inserted to keep a sorted vector sorted.
 *
 * @param sorted a vector whose elements rise
 * @param values a tensor or a number
 * @param options `side`: "left" (default) or "right"; `sorter`: positions that sort the first
 * @returns a new i64 tensor of the values' shape; log₂(n) steps a value
 * @example
 * searchsorted(tensor([1, 3, 5]), tensor([0, 3, 9])); // → i64 [0n, 1n, 3n]
 */
export function searchsorted(sorted: Tensor, values: Operand, options: SearchOptions = {}): Tensor<"i64"> {
  const op = "searchsorted";
  options = readOptions(op, options, '{ side: "right" }', ["side", "sorter"]);
  const side = options.side ?? "left";
  if (side !== "left" && side !== "right") {
    fail("value", op, `side is ${describe(side)}.`, 'Use "left" or "right".');
  }
  const line = vector(op, "the sorted tensor", sorted);
  return scoped(op, () => {
    const x = operandFor(op, values, line.dtype);
    const within = options.sorter === undefined ? line : arranged(op, line, options.sorter);
    return lookUp(op, within, x, side) as Tensor<"i64">;
  });
}

/**
 * The number of the interval between edges that each value falls into: 0 before the first, edges.size after the last.
 *
 * @param x a tensor or a number
 * @param edges a vector that rises, or falls
 * @param options `right`: intervals include their right edge
 * @returns a new i64 tensor of x's shape
 * @example
 * digitize(tensor([0, 1.5, 9]), tensor([1, 2])); // → i64 [0n, 1n, 2n]
 */
export function digitize(x: Operand, edges: Tensor, options: DigitizeOptions = {}): Tensor<"i64"> {
  const op = "digitize";
  options = readOptions(op, options, "{ right: true }", ["right"]);
  checkFlag(op, "right", options.right);
  const line = vector(op, "the edges", edges);
  return scoped(op, () => {
    const values = operandFor(op, x, line.dtype);
    const side = options.right ? "left" : "right";
    const direction = directionOf(op, line);
    if (direction > 0) return lookUp(op, line, values, side) as Tensor<"i64">;
    const found = lookUp(op, line.flip(), values, side);
    return tensor(BigInt(line.size), { dtype: "i64" }).sub(found) as Tensor<"i64">;
  });
}

/** 1 for edges that never fall, -1 for edges that never rise, an error for others. */
function directionOf(op: string, line: Tensor): 1 | -1 {
  const [a, b] = [line.slice([1, null]), line.slice([0, -1])];
  if (line.size < 2 || a.greaterEqual(b).all().item()) return 1;
  if (a.lessEqual(b).all().item()) return -1;
  return fail("value", op, "the edges neither rise nor fall throughout.", "Sort them first: sort(edges).");
}

/* What is searched ------------------------------------------------------------------------------------------------- */

export function vector(op: string, what: string, t: Tensor): Tensor {
  const live = liveTensor(op, t);
  if (live.rank === 1) return live;
  return fail("shape", op, `${what} has shape ${list(live.shape)}.`, "Give a vector: reshape(-1) makes one.");
}

/** A tensor as it is; a number as a 0-d tensor that compares with `beside` without loss. */
export function operandFor(op: string, x: Operand, beside: DType): Tensor {
  if (typeof x === "bigint") return tensor(x, { dtype: x > 0x7fffffffffffffffn ? "u64" : "i64" });
  if (typeof x === "boolean") return tensor(x);
  if (typeof x !== "number") return liveTensor(op, x);
  if (!dtypes[beside].big || !Number.isSafeInteger(x)) return tensor(x, { dtype: "f64" });
  return tensor(x, { dtype: beside === "u64" && x >= 0 ? "u64" : "i64" });
}

/** line[sorter], checked. */
function arranged(op: string, line: Tensor, sorter: Tensor): Tensor {
  const positions = vector(op, "the sorter", sorter);
  if (!isInteger(positions.dtype) || positions.size !== line.size) {
    fail(
      "value",
      op,
      `the sorter is ${positions.dtype} ${list(positions.shape)}, the tensor ${list(line.shape)}.`,
      "Give one integer position for each element, as argsort does.",
    );
  }
  checkPositions(op, positions, line.size);
  const dense = denseCopy(op, line, "elements are gathered from dense memory");
  return gatherLines(op, dense, densePositions(positions));
}

/** Throws unless every position is one of 0 … size - 1. */
export function checkPositions(op: string, positions: Tensor, size: number): void {
  if (positions.size === 0) return;
  for (const name of ["min", "max"] as const) {
    const value = Number(namedReduction(name, positions).item());
    if (value >= 0 && value < size) continue;
    fail("index", op, `position ${value} is out of range.`, `Use 0 … ${size - 1}.`);
  }
}

/** Positions as dense i64. */
export const densePositions = (positions: Tensor): Tensor<"i64"> => positions.to("i64").contiguous();

/* The search ------------------------------------------------------------------------------------------------------- */

/** Looks every element of x up in a sorted vector; both become their common dtype. Call it in a scope. */
export function lookUp(op: string, sorted: Tensor, x: Tensor, search: Search): Tensor {
  const dtype = promote(sorted.dtype, x.dtype);
  const among = denseCopy(op, sorted.to(dtype), "sorted elements are read from dense memory");
  const wanted = denseCopy(op, x.to(dtype), "elements are looked up in the order of memory");
  const out = wrap(allocate(op, search === "has" ? "bool" : "i64", x.shape));
  if (x.size === 0) return out;
  if (among.size === 0) return out.fill(search === "has" ? false : 0n);
  const inputs = [stridedOf(among), stridedOf(wanted)];
  runRoutine(searchRoutine, { operation: op, params: { search }, inputs, outs: [stridedOf(out)] });
  return out;
}
