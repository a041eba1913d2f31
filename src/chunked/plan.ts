/**
 * From nodes to a plan: which of them are stored, which are computed on the way (fused), how large the blocks of tasks are, and
 * how many bytes a task needs at its worst. What does not fit is refused here, before anything is read.
 */
import { type DType, dtypes } from "../dtype.ts";
import { fail, list } from "../errors.ts";
import type { ZarrSource } from "../io/zarr-group.ts";
import {
  arraysIn,
  blockRegion,
  bytesIn,
  countsOf,
  type Expr,
  eachLeaf,
  gridOf,
  isScalarArg,
  LANES,
  peakBytes,
  placeIn,
  type Readable,
  type Region,
  readUnit,
  touchedBytes,
} from "./expr.ts";
import type { Material, Node } from "./graph.ts";
import { readBytes, showBytes } from "./memory.ts";
import { grown, type Pass, rechunkPasses } from "./rechunk.ts";
import type { ArraySpec, OperationKind, OperationSpec } from "./types.ts";
import type { Work } from "./work.ts";

const OPERATION = "plan";

export interface PlanFacts {
  readonly memory: number;
  readonly reserved: number;
  readonly workers: number;
}

/** What a caller asked for. */
export interface PlanWish {
  readonly memory: number;
  /** null: a part of the memory. */
  readonly reserved: number | null;
  readonly workers: number;
  /** The result and what lies between operations are kept in memory, too. */
  readonly isKept?: boolean;
}

/** A plan that does not know yet where it writes to. Stores of inputs are numbers: places in `sources`. */
export interface Draft extends PlanFacts {
  readonly sources: readonly ZarrSource[];
  readonly arrays: Readonly<Record<string, ArraySpec>>;
  readonly operations: readonly OperationSpec[];
  readonly result: string;
}

/** Nodes of an expression that are computed in one go, at the most: what is used often is then stored. */
const MOST_FUSED = 64;
/** Blocks of small chunks grow to so many bytes, while there are tasks enough. */
const USUAL_BLOCK = 4 << 20;
/** Tasks that each worker should find, before blocks grow. */
const TASKS_EACH = 8;
/** An array that is read more often than this is brought into other chunks first. */
const MOST_READINGS = 4;
/** Bytes that products of matrices need for themselves. */
const PRODUCT_OWN = 8 << 20;
/** Bytes that any task needs for things that are not tensors. */
const TASK_OWN = 1 << 20;

const product = (sizes: readonly number[]): number => sizes.reduce((a, b) => a * b, 1);

/** What a process needs before it has done anything, where nobody says how much that is. */
const RESERVED = 96 << 20;
const reservedOf = ({ memory, reserved }: PlanWish): number =>
  reserved ?? Math.min(RESERVED, Math.floor(memory / 4));

/** The least memory that leaves so many bytes beside what is reserved. */
function memoryFor(bytes: number, { reserved }: PlanWish): number {
  if (reserved !== null) return bytes + reserved;
  const most = bytes + RESERVED;
  return Math.min(most, Math.ceil((bytes * 4) / 3));
}

/** A plan that does not fit: the first thing about it that does not, and what all of it needs beside what is reserved. */
interface Refusal {
  readonly bytes: number;
  readonly fact: string;
  readonly remedy: string;
}
interface Attempt {
  readonly draft: Draft;
  readonly refusal: Refusal | null;
}

/** The plan of a node. Throws where it does not fit, and names an amount of memory with which it does. */
export function makeDraft(root: Node, wish: PlanWish): Draft {
  const { draft, refusal } = attempt(root, wish);
  if (refusal === null) return draft;
  const enough = enoughFor(root, wish, refusal);
  const more = enough === null ? "Give more { memory }" : `Give { memory: "${enough}" }`;
  return fail("value", wish.isKept ? "compute" : OPERATION, refusal.fact, `${more}${refusal.remedy}`);
}

/** With more memory a plan may become another one, which needs more again: so often it is made again, at the most. */
const MOST_ATTEMPTS = 100;
const MOST_MEMORY = 2 ** 60;

/** An amount of memory with which the plan fits, as callers write it. */
function enoughFor(root: Node, wish: PlanWish, first: Refusal): string | null {
  let refusal: Refusal | null = first;
  for (let tries = 0; tries < MOST_ATTEMPTS; tries++) {
    const memory = memoryFor(refusal.bytes, wish);
    if (!(memory <= MOST_MEMORY)) return null;
    const text = showBytes(memory);
    ({ refusal } = attempt(root, { ...wish, memory: readBytes(OPERATION, "memory", text) }));
    if (refusal === null) return text;
  }
  return null;
}

function attempt(root: Node, wish: PlanWish): Attempt {
  const { memory, workers } = wish;
  const reserved = reservedOf(wish);
  const first = new Planner({ memory, reserved, workers }).run(root);
  if (!wish.isKept || first.refusal !== null) return first;
  // What is kept is not there for tasks: the plan is made for the rest.
  const kept = bytesOf(first.draft, "work") + bytesOf(first.draft, "output");
  const { draft, refusal } = new Planner({ memory, reserved: reserved + kept, workers }).run(root);
  const result = bytesOf(draft, "output");
  const most = bytesOf(draft, "work") + 2 * result;
  const bytes = Math.max(most, refusal === null ? 0 : kept + refusal.bytes);
  if (bytes <= memory - reserved) return { draft, refusal: null };
  const { shape, dtype } = draft.arrays[draft.result];
  const work = bytesOf(draft, "work");
  const between = work === 0 ? "" : ` and what lies between operations (${showBytes(work)})`;
  return {
    draft,
    refusal: {
      bytes,
      fact:
        `to put together the result (${dtype} ${list(shape)}, ${showBytes(result)})${between} in memory needs ${showBytes(bytes)}, ` +
        mayBeUsed({ memory, reserved }),
      remedy: ', or write it to a folder: plan().run({ to: "z.zarr" }).',
    },
  };
}

const mayBeUsed = ({ memory, reserved }: { readonly memory: number; readonly reserved: number }): string =>
  `and ${showBytes(memory - reserved)} may be used: ${showBytes(memory)} less ${showBytes(reserved)} for the process itself.`;

/** Bytes of the arrays that have this part in a plan. */
export const bytesOf = ({ arrays }: Pick<Draft, "arrays">, role: ArraySpec["role"]): number =>
  Object.values(arrays).reduce(
    (n, a) => (a.role === role ? n + product(a.shape) * dtypes[a.dtype].bytes : n),
    0,
  );

interface Placed {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly chunks: readonly number[];
  readonly role: "work" | "output";
}

class Planner {
  readonly #facts: PlanFacts;
  readonly #budget: number;
  readonly #sources: ZarrSource[] = [];
  readonly #arrays: Record<string, ArraySpec> = {};
  readonly #operations: OperationSpec[] = [];
  /** The operation that writes an array. */
  readonly #writers = new Map<string, string>();
  readonly #ids = new Map<string, number>();
  readonly #idOf = new Map<Node, number>();
  readonly #stored = new Map<number, string>();
  readonly #fused = new Map<number, { readonly expr: Expr; readonly size: number }>();
  /** The first operation that does not fit, with what the largest of all needs. */
  #refusal: Refusal | null = null;

  constructor(facts: PlanFacts) {
    this.#facts = facts;
    this.#budget = facts.memory - facts.reserved - TASK_OWN;
  }

  run(root: Node): Attempt {
    const result = this.#store(root, "output");
    const draft = {
      ...this.#facts,
      sources: this.#sources,
      arrays: this.#arrays,
      operations: this.#operations,
      result,
    };
    return { draft, refusal: this.#refusal };
  }

  /** Equal nodes have equal numbers. */
  #id(node: Node): number {
    const known = this.#idOf.get(node);
    if (known !== undefined) return known;
    const inputs = node.inputs.map((input) => this.#id(input));
    const origin = node.how.kind === "source" ? this.#sourceOf(node.how.from) : "";
    const key = `${node.key} ${origin} ${inputs.join()} ${list(node.chunks)}`;
    const id = this.#ids.get(key) ?? this.#ids.size;
    this.#ids.set(key, id);
    this.#idOf.set(node, id);
    return id;
  }

  #sourceOf(from: ZarrSource): number {
    const same = (a: ZarrSource) => a === from || (typeof from !== "object" && String(a) === String(from));
    const at = this.#sources.findIndex(same);
    return at >= 0 ? at : this.#sources.push(from) - 1;
  }

  /** The expression of a node: virtual ones are fused, others are stored first. */
  #expr(node: Node): { readonly expr: Expr; readonly size: number } {
    const id = this.#id(node);
    const known = this.#fused.get(id);
    if (known !== undefined) return known;
    const { shape, dtype, how } = node;
    let made: { readonly expr: Expr; readonly size: number };
    if (how.kind === "virtual") {
      const inputs = node.inputs.map((input) => this.#expr(input));
      const size = inputs.reduce((n, input) => n + input.size, 1);
      made =
        size > MOST_FUSED
          ? { expr: this.#leaf(this.#store(node, "work")), size: 1 }
          : { expr: how.of(inputs.map((input) => input.expr)), size };
    } else {
      made = { expr: { kind: "array", array: this.#store(node, "work"), shape, dtype }, size: 1 };
    }
    this.#fused.set(id, made);
    return made;
  }

  #leaf(array: string): Expr {
    const { shape, dtype } = this.#arrays[array];
    return { kind: "array", array, shape, dtype };
  }

  /** The array that holds a node's elements. */
  #store(node: Node, role: "work" | "output"): string {
    const id = this.#id(node);
    const known = this.#stored.get(id);
    if (known !== undefined && role === "work") return known;
    const { how, shape, dtype, chunks } = node;
    let array: string;
    if (how.kind === "source" && role === "work") {
      array = `input${Object.values(this.#arrays).filter((a) => a.role === "input").length}`;
      const store = String(this.#sourceOf(how.from));
      const plain = how.isPlain ? { isPlain: true } : {};
      this.#arrays[array] = { store, path: how.path, role: "input", shape, dtype, chunks, ...plain };
    } else if (how.kind === "virtual" || how.kind === "source") {
      array = this.#blockwise(node, role);
    } else {
      array = this.#material(node, how, { shape, dtype, chunks, role });
    }
    this.#stored.set(id, array);
    return array;
  }

  /* Blockwise ------------------------------------------------------------------------------------------- */

  #blockwise(node: Node, role: "work" | "output"): string {
    const { shape, dtype, chunks } = node;
    const build = (leaves: boolean): Expr => {
      if (node.how.kind !== "virtual") return this.#leaf(this.#store(node, "work"));
      const inputs = node.inputs.map((input) => {
        const isPlain = !leaves || input.how.kind !== "virtual";
        return isPlain ? this.#expr(input).expr : this.#leaf(this.#store(input, "work"));
      });
      return node.how.of(inputs);
    };
    let expr = build(false);
    const first = clipped(chunks, shape);
    // What does not fit in one go is tried with its operands stored.
    if (this.#taskBytes(expr, shape, first, dtype, chunks) > this.#budget) expr = build(true);
    const block = this.#grownBlock(shape, chunks, dtype, (b) =>
      this.#taskBytes(expr, shape, b, dtype, chunks),
    );
    expr = this.#tame(expr, shape, block);
    const work: Work = { kind: "blockwise", expr };
    return this.#emit("blockwise", labelOf(expr), { shape, dtype, chunks, role }, block, work, {
      projected: this.#taskBytes(expr, shape, block, dtype, chunks),
      exprs: [expr],
    });
  }

  /** Bytes for a region of an expression and for writing it. */
  #taskBytes(
    expr: Expr,
    shape: readonly number[],
    block: readonly number[],
    dtype: DType,
    chunks: readonly number[],
  ): number {
    const region = blockRegion(
      shape,
      block,
      shape.map(() => 0),
    );
    return this.#peak(expr, region) + writeBytes(clipped(chunks, shape), dtype);
  }

  #readable(array: string): Readable {
    const { chunks, shape, isPlain = false } = this.#arrays[array];
    return { chunks: clipped(chunks, shape), isPlain };
  }

  #peak(expr: Expr, region: Region): number {
    return peakBytes(expr, region, (array) => this.#readable(array));
  }

  #grownBlock(
    shape: readonly number[],
    chunks: readonly number[],
    dtype: DType,
    bytes: (block: readonly number[]) => number,
  ): number[] {
    const least = TASKS_EACH * this.#facts.workers;
    return grown(
      shape,
      chunks,
      (b) =>
        bytesIn(
          blockRegion(
            shape,
            b,
            shape.map(() => 0),
          ),
          dtype,
        ) <= USUAL_BLOCK &&
        product(gridOf(shape, b)) >= least &&
        bytes(b) <= this.#budget,
    );
  }

  /** Arrays that tasks would read again and again are brought into chunks as tasks want them. */
  #tame(expr: Expr, shape: readonly number[], block: readonly number[]): Expr {
    const readings = this.#readings([expr], shape, block);
    const wanted = new Map<string, readonly number[]>();
    eachLeaf(
      expr,
      blockRegion(
        shape,
        block,
        shape.map(() => 0),
      ),
      (array, region) => {
        const { shape: size, dtype, chunks } = this.#arrays[array];
        const bytes = product(size) * dtypes[dtype].bytes;
        const isOften = (readings.get(array) ?? 0) > MOST_READINGS * bytes && bytes > USUAL_BLOCK;
        const isPlain = region.every((r) => Math.abs(r.step) === 1);
        // A part that every task needs whole stays as it is.
        const isSame = region.every((r, d) => r.count === Math.min(chunks[d], size[d]));
        if (isOften && isPlain && !isSame && !region.every((r, d) => r.count === size[d])) {
          wanted.set(array, countsOf(region));
        }
      },
    );
    if (wanted.size === 0) return expr;
    const replaced = new Map([...wanted].map(([array, to]) => [array, this.#rechunked(array, to, "work")]));
    return withArrays(expr, replaced);
  }

  /** Bytes of chunks that all tasks read, by array; of many tasks, some are looked at. */
  #readings(exprs: readonly Expr[], shape: readonly number[], block: readonly number[]): Map<string, number> {
    const grid = gridOf(shape, block);
    const tasks = product(grid);
    const step = Math.max(1, Math.floor(tasks / 64));
    const read = new Map<string, number>();
    let seen = 0;
    for (let t = 0; t < tasks; t += step, seen++) {
      for (const expr of exprs) {
        eachLeaf(expr, blockRegion(shape, block, placeIn(grid, t)), (array, region) => {
          const bytes = touchedBytes(region, this.#readable(array), this.#arrays[array].dtype);
          read.set(array, (read.get(array) ?? 0) + bytes);
        });
      }
    }
    for (const [array, bytes] of read) read.set(array, Math.round((bytes / seen) * tasks));
    return read;
  }

  /* What has to be stored ------------------------------------------------------------------------------- */

  #material(node: Node, how: Material, to: Placed): string {
    switch (how.kind) {
      case "fold":
        return this.#fold(node, how, to);
      case "scan":
        return this.#scan(node, how.axis, to);
      case "contract":
        return this.#contract(node, how, to);
      case "rechunk":
        return this.#rechunked(this.#stored1(node.inputs[0]), node.chunks, to.role);
      case "blocks":
        return this.#blocks(node, how, to);
      case "quantile": {
        const [counts, low, high] = node.inputs.map((input) => this.#expr(input).expr);
        const work: Work = { kind: "quantile", counts, low, high, q: how.q };
        const projected = 4 * product(counts.shape) * 8 + 4096;
        return this.#emit("quantile", "quantile", to, node.shape, work, {
          projected,
          exprs: [],
          reads: product(counts.shape) * 8,
          also: [counts, low, high],
        });
      }
    }
  }

  /** An array for a node, stored as it is where it is an expression. */
  #stored1(node: Node): string {
    return this.#store(node, "work");
  }

  #fold(node: Node, how: Extract<Material, { kind: "fold" }>, to: Placed): string {
    const input = node.inputs[0];
    const reduced = gridOf(
      how.axes.map((d) => input.shape[d]),
      how.axes.map((d) => input.chunks[d]),
    );
    const groups = Math.ceil(Math.sqrt(product(reduced)));
    const states = node.shape[0];
    const partial = this.#partial(node.inputs, how, states, groups, node);
    const shape = node.shape;
    const block = clipped(to.chunks, shape);
    const work: Work = { kind: "combine", array: partial, how: how.how, groups };
    const one = product(block) * dtypes[node.dtype].bytes;
    const projected = 6 * one + writeBytes(block, node.dtype);
    return this.#emit("combine", `combine ${how.how}`, to, block, work, {
      projected,
      exprs: [],
      reads: product(this.#arrays[partial].shape) * dtypes[node.dtype].bytes,
      also: [this.#leaf(partial)],
    });
  }

  /** Folds of groups of chunks: [states, groups, …kept axes]. */
  #partial(
    [input, ...ends]: readonly Node[],
    how: Extract<Material, { kind: "fold" }>,
    states: number,
    groups: number,
    { dtype }: { readonly dtype: DType },
  ): string {
    const kept = input.shape.map((_, d) => d).filter((d) => !how.axes.includes(d));
    const keptChunks =
      how.how === "histogram" ? [] : kept.map((d) => Math.min(input.chunks[d], input.shape[d]));
    const keptShape = how.how === "histogram" ? [] : kept.map((d) => input.shape[d]);
    const cut = clipped(input.chunks, input.shape);
    const corner = blockRegion(
      input.shape,
      cut,
      cut.map(() => 0),
    );
    let { expr } = this.#expr(input);
    const own = bytesIn(corner, input.dtype);
    const state = states * product(keptChunks) * dtypes[dtype].bytes;
    // A histogram looks elements up: an i64 for each, twice.
    const extra = how.how === "histogram" ? product(cut) * 8 * 5 : 0;
    const needs = (e: Expr, ahead: boolean) =>
      this.#peak(e, corner) +
      (ahead ? own : 0) +
      extra +
      4 * state +
      writeBytes([states, 1, ...keptChunks], dtype);
    if (needs(expr, false) > this.#budget && input.how.kind === "virtual") {
      expr = this.#leaf(this.#store(input, "work"));
    }
    expr = this.#tame(expr, input.shape, cut);
    const ahead = needs(expr, true) <= this.#budget;
    const range = ends.map((end) => this.#expr(end).expr);
    const work: Work = {
      kind: "fold",
      expr,
      how: how.how,
      axes: how.axes,
      chunks: cut,
      groups,
      dtype,
      ahead,
      ...(how.bins === undefined ? {} : { bins: how.bins }),
      range: how.range ?? (range.length === 2 ? [range[0], range[1]] : null),
    };
    const shape = [states, groups, ...keptShape];
    const chunks = [states, 1, ...keptChunks];
    const reads = [...this.#readings([expr], input.shape, cut).values()].reduce((a, b) => a + b, 0);
    return this.#emit(
      "fold",
      `${how.how} of ${labelOf(expr)}`,
      { shape, dtype, chunks, role: "work" },
      chunks,
      work,
      {
        projected: needs(expr, ahead),
        exprs: [],
        reads,
        also: [expr, ...range],
      },
    );
  }

  #scan(node: Node, axis: number, to: Placed): string {
    const input = node.inputs[0];
    const { shape, chunks, dtype } = node;
    const cut = clipped(chunks, shape);
    const count = Math.ceil(shape[axis] / chunks[axis]);
    const { expr } = this.#expr(input);
    const corner = blockRegion(
      shape,
      cut,
      cut.map(() => 0),
    );
    const own = bytesIn(corner, dtype);
    const apply = { shape, dtype, chunks: cut, role: to.role };
    const before = (own / product(cut)) * product(cut.filter((_, d) => d !== axis));
    const sums = bytesIn(corner, expr.dtype) + own + 2 * before;
    const projected = Math.max(this.#peak(expr, corner), sums) + writeBytes(cut, dtype);
    if (count === 1) {
      const work: Work = { kind: "scan", stage: "apply", expr, axis, offsets: null, dtype };
      return this.#emit("scan", `cumsum of ${labelOf(expr)}`, apply, cut, work, { projected, exprs: [expr] });
    }
    const fold = { kind: "fold", how: "sum", axes: [axis] } as const;
    const partial = this.#partial([input], fold, 1, count, { dtype });
    const { shape: sumShape, chunks: sumChunks } = this.#arrays[partial];
    const keptShape = sumShape.slice(2);
    const keptChunks = sumChunks.slice(2);
    const offsetShape = [count, ...keptShape];
    const offsetBlock = [count, ...keptChunks];
    const offsetBytes = product(offsetBlock) * dtypes[dtype].bytes;
    const offsets = this.#emit(
      "scan",
      "sums before each chunk",
      { shape: offsetShape, dtype, chunks: [1, ...keptChunks], role: "work" },
      offsetBlock,
      { kind: "scan", stage: "offsets", array: partial },
      {
        projected: 4 * offsetBytes + writeBytes(keptChunks, dtype),
        exprs: [],
        reads: product(offsetShape) * dtypes[dtype].bytes,
        also: [this.#leaf(partial)],
      },
    );
    const work: Work = { kind: "scan", stage: "apply", expr, axis, offsets, dtype };
    return this.#emit("scan", `cumsum of ${labelOf(expr)}`, apply, cut, work, {
      projected,
      exprs: [expr],
      also: [this.#leaf(offsets)],
    });
  }

  #contract(node: Node, how: Extract<Material, { kind: "contract" }>, to: Placed): string {
    const [a, b] = node.inputs;
    const [ea, eb] = [this.#expr(a).expr, this.#expr(b).expr];
    const freeA = a.shape.map((_, d) => d).filter((d) => !how.axesA.includes(d));
    const freeB = b.shape.map((_, d) => d).filter((d) => !how.axesB.includes(d));
    const { shape, chunks, dtype } = node;
    const item = dtypes[dtype].bytes;
    const inner = how.axesA.map((d) => Math.min(a.chunks[d], a.shape[d]));
    const part = (
      free: readonly number[],
      axes: readonly number[],
      of: Node,
      block: readonly number[],
    ): Region =>
      of.shape.map((n, d) => {
        const k = axes.indexOf(d);
        const count = k >= 0 ? inner[k] : block[free.indexOf(d)];
        return { start: 0, step: 1, count: Math.min(count, n) };
      });
    const bytes = (block: readonly number[], ahead: boolean): number => {
      const ra = part(freeA, how.axesA, a, block.slice(0, freeA.length));
      const rb = part(freeB, how.axesB, b, block.slice(freeA.length));
      const panels = bytesIn(ra, dtype) + bytesIn(rb, dtype);
      const reading = Math.max(this.#peak(ea, ra), bytesIn(ra, a.dtype) + this.#peak(eb, rb));
      const out = product(block) * item;
      // Each operand may be copied once, to lie as the product wants it.
      return (
        out +
        reading +
        panels +
        (ahead ? panels : 0) +
        PRODUCT_OWN +
        writeBytes(clipped(chunks, shape), dtype)
      );
    };
    const least = Math.min(this.#facts.workers, product(gridOf(shape, chunks)));
    let block = clipped(chunks, shape);
    // The longer sides of a block, the less often operands are read: sides grow in turn.
    for (let grew = true; grew; ) {
      grew = false;
      for (let d = 0; d < shape.length; d++) {
        if (block[d] >= shape[d]) continue;
        const next = block.map((n, k) => (k === d ? Math.min(2 * n, shape[d]) : n));
        if (bytes(next, true) > this.#budget || product(gridOf(shape, next)) < least) continue;
        block = next;
        grew = true;
      }
    }
    const ahead = bytes(block, true) <= this.#budget;
    const grid = gridOf(shape, block);
    const total = (n: Node) => product(n.shape) * dtypes[n.dtype].bytes;
    const reads =
      total(a) * product(grid.slice(freeA.length)) + total(b) * product(grid.slice(0, freeA.length));
    const work: Work = {
      kind: "contract",
      a: ea,
      b: eb,
      axesA: how.axesA,
      axesB: how.axesB,
      inner,
      dtype,
      ahead,
    };
    return this.#emit(
      "matmul",
      `${labelOf(ea)} · ${labelOf(eb)}`,
      { shape, dtype, chunks, role: to.role },
      block,
      work,
      {
        projected: bytes(block, ahead),
        exprs: [],
        reads,
        also: [ea, eb],
      },
    );
  }

  #rechunked(array: string, chunks: readonly number[], role: "work" | "output"): string {
    const { shape, dtype, chunks: from } = this.#arrays[array];
    const item = dtypes[dtype].bytes;
    const [old, made] = [clipped(from, shape), clipped(chunks, shape)];
    const isPlain = this.#arrays[array].isPlain === true;
    const unit = readUnit(
      { chunks: old, isPlain },
      blockRegion(
        shape,
        made,
        made.map(() => 0),
      ),
    );
    const around = 2 * LANES * product(unit) * item + writeBytes(made, dtype);
    const onePass = [{ chunks: made, block: made }];
    /** What the largest task of some passes needs: its block, chunks of what it reads, and those that it writes. */
    const needs = (passes: readonly Pass[]): number => {
      const each = passes.map(({ chunks: to, block }, k) => {
        const before = k === 0 ? { chunks: old, isPlain } : { chunks: passes[k - 1].chunks };
        const region = blockRegion(
          shape,
          block,
          block.map(() => 0),
        );
        const read = 2 * LANES * product(readUnit(before, region)) * item;
        return bytesIn(region, dtype) + read + writeBytes(to, dtype);
      });
      return Math.max(...each);
    };
    const least = Math.max(product(old), product(made)) * item;
    const passesFor = (most: number) => rechunkPasses(shape, old, made, item, most, isPlain) ?? onePass;
    let most = Math.max(least, this.#budget - around);
    let passes = passesFor(most);
    // Pieces in between are on their way beside the blocks: smaller blocks make smaller pieces.
    while (most > least && needs(passes) > this.#budget) {
      most = Math.max(least, most / 2);
      passes = passesFor(most);
    }
    if (needs(passes) > this.#budget && needs(onePass) < needs(passes)) passes = onePass;
    let at = array;
    for (const [k, pass] of passes.entries()) {
      const isLast = k === passes.length - 1;
      const expr = this.#leaf(at);
      const projected = this.#taskBytes(expr, shape, pass.block, dtype, pass.chunks);
      const place = {
        shape,
        dtype,
        chunks: isLast ? chunks : pass.chunks,
        role: isLast ? role : ("work" as const),
      };
      const label = `rechunk ${list(this.#arrays[at].chunks)} to ${list(pass.chunks)}`;
      at = this.#emit(
        "rechunk",
        label,
        place,
        pass.block,
        { kind: "blockwise", expr },
        { projected, exprs: [expr] },
      );
    }
    return at;
  }

  #blocks(node: Node, how: Extract<Material, { kind: "blocks" }>, to: Placed): string {
    const input = node.inputs[0];
    const { expr } = this.#expr(input);
    const block = clipped(node.chunks, node.shape);
    const withHalo = block.map((n, d) => ({
      start: 0,
      step: 1,
      count: Math.min(n + 2 * how.halo[d], input.shape[d]),
    }));
    const padded = product(block.map((n, d) => n + 2 * how.halo[d])) * dtypes[input.dtype].bytes;
    const projected =
      Math.max(this.#peak(expr, withHalo), bytesIn(withHalo, input.dtype) + 2 * padded) +
      product(block) * dtypes[node.dtype].bytes +
      writeBytes(block, node.dtype);
    const { fn, halo, boundary } = how;
    const work: Work = { kind: "blocks", expr, fn, halo, boundary, dtype: node.dtype };
    return this.#emit("blocks", `blocks of ${labelOf(expr)}`, to, block, work, { projected, exprs: [expr] });
  }

  /* Writing it down ------------------------------------------------------------------------------------- */

  #emit(
    kind: OperationKind,
    label: string,
    to: Placed,
    block: readonly number[],
    work: Work,
    facts: {
      readonly projected: number;
      readonly exprs: readonly Expr[];
      readonly reads?: number;
      readonly also?: readonly Expr[];
    },
  ): string {
    const { shape, dtype, role } = to;
    const chunks = clipped(to.chunks, shape);
    const { projected } = facts;
    const n = this.#operations.length;
    if (projected > this.#budget) this.#refuse(`operation ${n} (${kind}: ${label})`, projected, to);
    const array = role === "output" ? "output" : `work${n}`;
    const inputs = [...new Set([...facts.exprs, ...(facts.also ?? [])].flatMap(arraysIn))];
    const after = [...new Set(inputs.flatMap((input) => this.#writers.get(input) ?? []))];
    const reads =
      facts.reads ?? [...this.#readings(facts.exprs, shape, block).values()].reduce((a, b) => a + b, 0);
    const id = `${n}-${kind}`;
    this.#arrays[array] = { store: role, path: role === "output" ? "" : array, role, shape, dtype, chunks };
    this.#writers.set(array, id);
    this.#operations.push({
      id,
      kind,
      label,
      inputs,
      output: array,
      block: clipped(block, shape),
      tasks: product(gridOf(shape, clipped(block, shape))),
      projected: projected + TASK_OWN,
      reads,
      writes: product(shape) * dtypes[dtype].bytes,
      after,
      work,
    });
    return array;
  }

  /** Planning goes on: what all operations need is known at the end. */
  #refuse(what: string, projected: number, { shape, chunks, dtype }: Placed): void {
    const bytes = projected + TASK_OWN;
    if (this.#refusal !== null) {
      this.#refusal = { ...this.#refusal, bytes: Math.max(this.#refusal.bytes, bytes) };
      return;
    }
    const { memory, reserved } = this.#facts;
    if (this.#budget <= 0) {
      const fact = `memory is ${showBytes(memory)}, and ${showBytes(reserved)} of it are reserved for the process itself.`;
      this.#refusal = { bytes, fact, remedy: ", or less { reserved }." };
      return;
    }
    const smaller = [...clipped(chunks, shape)];
    for (let left = projected / this.#budget; left > 1; left /= 2) {
      const longest = smaller.indexOf(Math.max(...smaller));
      smaller[longest] = Math.max(1, Math.ceil(smaller[longest] / 2));
    }
    this.#refusal = {
      bytes,
      fact:
        `${what} needs ${showBytes(bytes)} for one task that writes ${list(clipped(chunks, shape))} of ${dtype}, ` +
        mayBeUsed(this.#facts),
      remedy: `, or arrays in chunks of about ${list(smaller)}.`,
    };
  }
}

const clipped = (chunks: readonly number[], shape: readonly number[]): number[] =>
  chunks.map((c, d) => Math.min(c, shape[d]));

/** Bytes that writing needs beside the tensor: chunks on their way, each as it is and packed. */
const writeBytes = (chunks: readonly number[], dtype: DType): number =>
  2 * LANES * product(chunks) * dtypes[dtype].bytes;

/** What an expression does, in few words. */
function labelOf(expr: Expr): string {
  switch (expr.kind) {
    case "array":
      return expr.array;
    case "named":
      return `${expr.op}(${expr.args.map((a) => (isScalarArg(a) ? "#" : labelOf(a))).join(", ")})`;
    case "map":
      return `map(${expr.args.map(labelOf).join(", ")})`;
    case "cast":
      return `${expr.dtype}(${labelOf(expr.of)})`;
    case "slice":
    case "permute":
      return `${expr.kind}(${labelOf(expr.of)})`;
    case "concat":
      return `concat(${expr.of.length})`;
    default:
      return expr.kind;
  }
}

/** The same expression over other arrays. */
function withArrays(expr: Expr, other: ReadonlyMap<string, string>): Expr {
  const visit = (e: Expr): Expr => withArrays(e, other);
  switch (expr.kind) {
    case "array":
      return { ...expr, array: other.get(expr.array) ?? expr.array };
    case "named":
      return { ...expr, args: expr.args.map((a) => (isScalarArg(a) ? a : visit(a))) };
    case "map":
      return { ...expr, args: expr.args.map(visit) };
    case "concat":
      return { ...expr, of: expr.of.map(visit) };
    case "cast":
    case "slice":
    case "permute":
      return { ...expr, of: visit(expr.of) };
    default:
      return expr;
  }
}
