/**
 * What one task computes without writing anything in between: a tree over stored arrays, asked for one region at a time. The
 * tree is JSON. Three readings of it live here and go through the same cases: which regions of which arrays it needs, how many
 * bytes it needs at its worst, and the tensor itself.
 */

import { full } from "../api.ts";
import { type DType, dtypes } from "../dtype.ts";
import { fail } from "../errors.ts";
import { chunksTouched } from "../io/zarr-blocks.ts";
import { concat } from "../library/join.ts";
import { generator } from "../library/random.ts";
import type { NamedOp } from "../ops/named.ts";
import { namedOp, type Operand, type Tensor } from "../tensor.ts";
import { sizeOf } from "../view/layout.ts";
import type { SliceItem } from "../view/slice.ts";
import { capturesOf, kernelFrom, type Sent, type SentValue } from "./kernels.ts";

/** Indices start, start + step, …, so many of them, of one axis. */
export interface Reach {
  readonly start: number;
  readonly step: number;
  readonly count: number;
}
export type Region = readonly Reach[];

interface Facts {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

export interface ScalarArg {
  readonly scalar: SentValue;
}

export type Distribution = "uniform" | "normal" | "exponential" | "integers";

/** Each knows its shape and dtype. */
export type Expr = Facts &
  (
    | { readonly kind: "array"; readonly array: string }
    | { readonly kind: "named"; readonly op: NamedOp; readonly args: readonly (Expr | ScalarArg)[] }
    | { readonly kind: "map"; readonly fn: Sent; readonly args: readonly Expr[]; readonly to: DType | null }
    | { readonly kind: "cast"; readonly of: Expr }
    /** Axis d of what it is of is read from picks[d].start on; `out` is the axis that it becomes, null where it is dropped. */
    | {
        readonly kind: "slice";
        readonly of: Expr;
        readonly picks: readonly (Reach & { readonly out: number | null })[];
      }
    | { readonly kind: "permute"; readonly of: Expr; readonly axes: readonly number[] }
    | { readonly kind: "concat"; readonly of: readonly Expr[]; readonly axis: number }
    | { readonly kind: "full"; readonly value: SentValue }
    | {
        readonly kind: "random";
        readonly seed: string;
        readonly chunks: readonly number[];
        readonly distribution: Distribution;
        readonly params: readonly number[];
      }
  );

export const isScalarArg = (x: Expr | ScalarArg): x is ScalarArg => "scalar" in x;
export const whole = (shape: readonly number[]): Region =>
  shape.map((count) => ({ start: 0, step: 1, count }));
export const countsOf = (region: Region): readonly number[] => region.map((r) => r.count);
export const bytesIn = (region: Region, dtype: DType): number =>
  region.reduce<number>((n, r) => n * r.count, dtypes[dtype].bytes);

/** One block of a grid, without what lies beyond the array's edge. */
export function blockRegion(
  shape: readonly number[],
  block: readonly number[],
  at: readonly number[],
): Region {
  return shape.map((n, d) => {
    const start = at[d] * block[d];
    return { start, step: 1, count: Math.min(block[d], n - start) };
  });
}

export const gridOf = (shape: readonly number[], block: readonly number[]): number[] =>
  shape.map((n, d) => Math.ceil(n / block[d]));

/** The index of a task as one of a grid, the last axis turning fastest. */
export function placeIn(grid: readonly number[], index: number): number[] {
  const at = grid.map(() => 0);
  for (let d = grid.length - 1; d >= 0; d--) {
    at[d] = index % grid[d];
    index = Math.floor(index / grid[d]);
  }
  return at;
}

/** A region as `read` and `slice` take it. */
export const itemsOf = (region: Region): SliceItem[] =>
  region.map(({ start, step, count }) => {
    const stop = start + step * count;
    return [start, stop < 0 ? null : stop, step] as const;
  });

/* How regions pass through --------------------------------------------------------------------------------- */

/** What an operand of this shape gives to a region of the result, as in broadcasting. */
function operandRegion(region: Region, shape: readonly number[]): Region {
  const skip = region.length - shape.length;
  return shape.map((n, d) => (n === 1 ? { start: 0, step: 1, count: 1 } : region[d + skip]));
}

type SliceExpr = Extract<Expr, { kind: "slice" }>;

function slicedRegion(region: Region, { picks }: SliceExpr): Region {
  return picks.map(({ start, step, count, out }) => {
    if (out === null) return { start, step: 1, count };
    const r = region[out];
    return { start: start + step * r.start, step: step * r.step, count: r.count };
  });
}

const permutedRegion = (region: Region, axes: readonly number[]): Region => {
  const from: Reach[] = [];
  axes.forEach((axis, d) => {
    from[axis] = region[d];
  });
  return from;
};

/** Which indices of a reach lie in [from, from + n), as a reach of that part; null: none. */
function within({ start, step, count }: Reach, from: number, n: number): Reach | null {
  const [low, high] = [(from - start) / step, (from + n - 1 - start) / step];
  const first = Math.max(0, Math.ceil(Math.min(low, high)));
  const last = Math.min(count - 1, Math.floor(Math.max(low, high)));
  if (last < first) return null;
  return { start: start + first * step - from, step, count: last - first + 1 };
}

/** The parts of a concatenation that a region touches, in the region's order. */
function partsOf(
  region: Region,
  { of, axis }: { readonly of: readonly Expr[]; readonly axis: number },
): { readonly part: Expr; readonly region: Region }[] {
  let from = 0;
  const parts = of.flatMap((part) => {
    const reach = within(region[axis], from, part.shape[axis]);
    from += part.shape[axis];
    return reach === null ? [] : [{ part, region: region.map((r, d) => (d === axis ? reach : r)) }];
  });
  return region[axis].step < 0 ? parts.reverse() : parts;
}

/** What a region of random numbers is cut of: whole chunks, so that a number depends on its place alone. */
function coveringChunks(region: Region, chunks: readonly number[]): { first: number[]; counts: number[] } {
  const ends = region.map(({ start, step, count }) => {
    const last = start + step * (count - 1);
    return [Math.min(start, last), Math.max(start, last)];
  });
  const first = ends.map(([low], d) => Math.floor(low / chunks[d]));
  return { first, counts: ends.map(([, high], d) => Math.floor(high / chunks[d]) - first[d] + 1) };
}

/* What is needed -------------------------------------------------------------------------------------------- */

/** Every stored array that a region needs, and what of it. */
export function eachLeaf(expr: Expr, region: Region, visit: (array: string, region: Region) => void): void {
  switch (expr.kind) {
    case "array":
      visit(expr.array, region);
      break;
    case "named":
    case "map":
      for (const arg of expr.args)
        if (!isScalarArg(arg)) eachLeaf(arg, operandRegion(region, arg.shape), visit);
      break;
    case "cast":
      eachLeaf(expr.of, region, visit);
      break;
    case "slice":
      eachLeaf(expr.of, slicedRegion(region, expr), visit);
      break;
    case "permute":
      eachLeaf(expr.of, permutedRegion(region, expr.axes), visit);
      break;
    case "concat":
      for (const { part, region: inside } of partsOf(region, expr)) eachLeaf(part, inside, visit);
      break;
    case "full":
    case "random":
      break;
  }
}

/** Names of the arrays in it, each once. */
export function arraysIn(expr: Expr): string[] {
  const names = new Set<string>();
  const visit = (e: Expr): void => {
    if (e.kind === "array") names.add(e.array);
    else if (e.kind === "named" || e.kind === "map") {
      for (const arg of e.args) if (!isScalarArg(arg)) visit(arg);
    } else if (e.kind === "concat") e.of.forEach(visit);
    else if ("of" in e) visit(e.of as Expr);
  };
  visit(expr);
  return [...names];
}

/** Chunks of an array on their way at the same time. */
export const LANES = 2;

/** What of a chunk is read for a region: all of it, or of one that lies as it is, along its first axis, what is needed. */
export function readUnit({ chunks, isPlain }: Readable, region: Region): readonly number[] {
  const first = chunks.findIndex((c) => c > 1);
  if (isPlain !== true || first < 0) return chunks;
  const { step, count } = region[first];
  return chunks.map((c, d) => (d === first ? Math.min(c, (count - 1) * Math.abs(step) + 1) : c));
}

/** Bytes that are read for a region. */
export function touchedBytes(region: Region, of: Readable, dtype: DType): number {
  const unit = readUnit(of, region);
  return region.reduce<number>(
    (n, r, d) => n * chunksTouched({ ...r, out: null }, of.chunks[d]) * unit[d],
    dtypes[dtype].bytes,
  );
}

/** An array's chunks, and how they are read. */
export interface Readable {
  readonly chunks: readonly number[];
  readonly isPlain?: boolean;
}

/** Bytes that computing a region needs at its worst, its result included. `arrayOf` knows the stored arrays. */
export function peakBytes(expr: Expr, region: Region, arrayOf: (array: string) => Readable): number {
  const own = bytesIn(region, expr.dtype);
  switch (expr.kind) {
    case "array": {
      // A chunk is read and unpacked beside the result.
      const unit = readUnit(arrayOf(expr.array), region);
      const chunk = unit.reduce<number>((a, b) => a * b, dtypes[expr.dtype].bytes);
      return own + 2 * LANES * chunk;
    }
    case "named":
    case "map": {
      let [held, most] = [0, 0];
      let canReuse = false;
      for (const arg of expr.args) {
        if (isScalarArg(arg)) continue;
        const part = operandRegion(region, arg.shape);
        most = Math.max(most, held + peakBytes(arg, part, arrayOf));
        held += bytesIn(part, arg.dtype);
        canReuse ||= arg.dtype === expr.dtype && sameCounts(part, region);
      }
      return Math.max(most, held + (canReuse ? 0 : own));
    }
    case "cast": {
      const inside = peakBytes(expr.of, region, arrayOf);
      return Math.max(inside, bytesIn(region, expr.of.dtype) + own);
    }
    case "slice":
      return peakBytes(expr.of, slicedRegion(region, expr), arrayOf);
    case "permute":
      return peakBytes(expr.of, permutedRegion(region, expr.axes), arrayOf);
    case "concat": {
      const parts = partsOf(region, expr);
      if (parts.length === 1) return peakBytes(parts[0].part, parts[0].region, arrayOf);
      let [held, most] = [0, 0];
      for (const { part, region: inside } of parts) {
        most = Math.max(most, held + peakBytes(part, inside, arrayOf));
        held += bytesIn(inside, part.dtype);
      }
      return Math.max(most, held + own);
    }
    case "full":
      return own;
    case "random": {
      const { counts } = coveringChunks(region, expr.chunks);
      const size = sizeOf(expr.chunks);
      const chunk = size * dtypes[expr.dtype].bytes;
      return own + size * drawnBytes(expr) + (counts.every((n) => n === 1) ? chunk : 0);
    }
  }
}

/** Bytes of a number while it is drawn: of whole numbers, and of halves of floats, words are drawn and then converted. */
function drawnBytes({ dtype, distribution }: Extract<Expr, { kind: "random" }>): number {
  const { bytes } = dtypes[dtype];
  if (distribution === "integers") return Math.max(4, bytes) + bytes;
  return bytes < 4 ? 4 + bytes : bytes;
}

const sameCounts = (a: Region, b: Region): boolean =>
  a.length === b.length && a.every((r, d) => r.count === b[d].count);

/* The tensor ------------------------------------------------------------------------------------------------ */

/** Reads a region of a stored array: a tensor that is the caller's. */
export type ReadArray = (array: string, region: Region) => Promise<Tensor>;

/** The region of an expression, as a tensor that is the caller's own and that nobody else holds. */
export async function evaluate(expr: Expr, region: Region, read: ReadArray): Promise<Tensor> {
  switch (expr.kind) {
    case "array":
      return read(expr.array, region);
    case "named":
    case "map":
      return computed(expr, region, read);
    case "cast":
      return instead(await evaluate(expr.of, region, read), (t) => t.to(expr.dtype));
    case "slice": {
      const inner = await evaluate(expr.of, slicedRegion(region, expr), read);
      // The axes that stay, in their order; then those that are new.
      return instead(inner, (t) => t.reshape(countsOf(region)));
    }
    case "permute":
      return instead(await evaluate(expr.of, permutedRegion(region, expr.axes), read), (t) =>
        t.permute(expr.axes),
      );
    case "concat": {
      const held: Tensor[] = [];
      try {
        for (const { part, region: inside } of partsOf(region, expr))
          held.push(await evaluate(part, inside, read));
        if (held.length === 1) return held.pop()!;
        return concat(held, { axis: expr.axis });
      } finally {
        for (const t of held) t.dispose();
      }
    }
    case "full":
      return full([...countsOf(region)], scalarFrom(expr.value) as number, { dtype: expr.dtype });
    case "random":
      return drawn(expr, region);
    default:
      return fail("value", "chunked", "the plan has an expression of no known kind.", "Make the plan again.");
  }
}

export const scalarFrom = (value: SentValue) =>
  capturesOf({ source: "", captures: { value } }, "chunked").value;

/** Another tensor made of one that is not needed any more; a view of it holds what it needs. */
function instead(t: Tensor, make: (t: Tensor) => Tensor): Tensor {
  try {
    const made = make(t);
    if (made === t) return t;
    t.dispose();
    return made;
  } catch (error) {
    t.dispose();
    throw error;
  }
}

async function computed(
  expr: Extract<Expr, { kind: "named" | "map" }>,
  region: Region,
  read: ReadArray,
): Promise<Tensor> {
  const held: Tensor[] = [];
  try {
    const operands: Operand[] = [];
    let out: Tensor | undefined;
    for (const arg of expr.args) {
      if (isScalarArg(arg)) {
        operands.push(scalarFrom(arg.scalar) as number);
        continue;
      }
      const part = operandRegion(region, arg.shape);
      const t = await evaluate(arg, part, read);
      held.push(t);
      operands.push(t);
      if (arg.dtype === expr.dtype && sameCounts(part, region)) out ??= t;
    }
    const made =
      expr.kind === "named"
        ? namedOp(expr.op, operands, out === undefined ? {} : { out })
        : mapped(expr, operands as Tensor[], out);
    if (made === out) held.splice(held.indexOf(out), 1);
    return made;
  } finally {
    for (const t of held) t.dispose();
  }
}

function mapped(
  { fn, to }: Extract<Expr, { kind: "map" }>,
  operands: readonly Tensor[],
  out: Tensor | undefined,
): Tensor {
  const made = kernelFrom("map", fn, to ?? undefined) as unknown as {
    (...tensors: readonly Tensor[]): Tensor;
    into(out: Tensor, ...tensors: readonly Tensor[]): Tensor;
  };
  return out === undefined ? made(...operands) : made.into(out, ...operands);
}

/** Random numbers: each chunk has a stream of its own. */
function drawn(expr: Extract<Expr, { kind: "random" }>, region: Region): Tensor {
  const { shape, chunks, dtype, seed, distribution, params } = expr;
  const grid = gridOf(shape, chunks);
  const { first, counts } = coveringChunks(region, chunks);
  const chunkAt = (at: readonly number[]): Tensor => {
    const stream = at.reduce((n, i, d) => n * grid[d] + i, 0);
    const g = generator(BigInt(seed), { stream });
    const size = [...countsOf(blockRegion(shape, chunks, at))];
    switch (distribution) {
      case "uniform":
        return g.uniform(size, { low: params[0], high: params[1], dtype: dtype as "f32" });
      case "normal":
        return g.normal(size, { mean: params[0], std: params[1], dtype: dtype as "f32" });
      case "exponential":
        return g.exponential(size, { scale: params[0], dtype: dtype as "f32" });
      case "integers":
        return g.integers(params[0], params[1], size, { dtype: dtype as "i32" });
    }
  };
  const total = sizeOf(counts);
  const out = full([...countsOf(region)], 0, { dtype });
  for (let k = 0; k < total; k++) {
    const at = placeIn(counts, k).map((i, d) => first[d] + i);
    const inside = at.map((i, d) =>
      within(region[d], i * chunks[d], Math.min(chunks[d], shape[d] - i * chunks[d])),
    );
    if (inside.some((r) => r === null)) continue;
    const chunk = chunkAt(at);
    const place = inside.map((r, d): Reach => {
      const { start, step } = region[d];
      return { start: (r!.start + at[d] * chunks[d] - start) / step, step: 1, count: r!.count };
    });
    const [source, target] = [chunk.slice(...itemsOf(inside as Region)), out.slice(...itemsOf(place))];
    target.assign(source);
    for (const t of [source, target, chunk]) t.dispose();
  }
  return out;
}
