/**
 * The form of what a plan's tasks compute, where the plan came from outside: every field is there, of its kind, and fits those
 * that it goes with: shapes follow from shapes, and what is made is what the plan says is written.
 */
import { isDType } from "../dtype.ts";
import { arityOf } from "../ops/named.ts";
import { sameShape, sizeOf } from "../view/layout.ts";
import { type Distribution, type Expr, gridOf } from "./expr.ts";
import type { FoldKind } from "./graph.ts";
import type { Work } from "./work.ts";

type Fields = Record<string, unknown>;
type Arrays = Readonly<Record<string, { readonly shape: readonly number[]; readonly dtype: string }>>;

/** Deeper trees than anybody writes would end in a full stack. */
const DEEPEST = 500;

const folds: Record<FoldKind, true> = {
  sum: true,
  prod: true,
  min: true,
  max: true,
  any: true,
  all: true,
  moments: true,
  histogram: true,
};
const distributions: Record<Distribution, true> = {
  uniform: true,
  normal: true,
  exponential: true,
  integers: true,
};

const isMap = (x: unknown): x is Fields => typeof x === "object" && x !== null && !Array.isArray(x);
const isOneOf = (x: unknown, known: object): boolean => typeof x === "string" && Object.hasOwn(known, x);
const isWhole = (x: unknown): x is number => Number.isSafeInteger(x);
const isCount = (x: unknown): x is number => isWhole(x) && x >= 0;
const isList = (x: unknown, is: (item: unknown) => boolean): x is unknown[] =>
  Array.isArray(x) && x.length <= 2 ** 16 && x.every(is);
const isSizes = (x: unknown): x is number[] => isList(x, (n) => isCount(n) && n >= 1) && x.length <= 64;
/** Each an axis of an array of this rank, and none of them twice. */
const isAxes = (x: unknown, rank: number): x is number[] =>
  isList(x, (d) => isCount(d) && d < rank) && new Set(x).size === x.length;

const isSentValue = (x: unknown): boolean =>
  typeof x === "number" ||
  typeof x === "boolean" ||
  (isMap(x) && (typeof x.big === "string" || typeof x.number === "string"));
const isSent = (x: unknown): boolean =>
  isMap(x) &&
  typeof x.source === "string" &&
  isMap(x.captures) &&
  Object.values(x.captures).every(isSentValue);

type ExprKind = Expr["kind"];
type WorkKind = Work["kind"];

/** What operands of these shapes are broadcast to. */
const isBroadcast = (parts: readonly (readonly number[])[], shape: readonly number[]): boolean =>
  Math.max(-1, ...parts.map((part) => part.length)) === shape.length &&
  shape.every((n, d) => {
    const sizes = parts.map((part) => part[d - shape.length + part.length] ?? 1);
    return sizes.every((size) => size === n || size === 1) && (n === 1 || sizes.includes(n));
  });

const without = (shape: readonly number[], axes: readonly number[]): number[] =>
  shape.filter((_, d) => !axes.includes(d));

/** What an operation writes, and how much of it a task does. */
interface Written {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly block: readonly number[];
}

/** Is it what a task may compute of these arrays, which are there when it begins, for what it writes? */
export function isWork(work: unknown, arrays: Arrays, written: Written): work is Work {
  const { block } = written;
  const isMade = (shape: readonly number[], dtype: unknown): boolean =>
    sameShape(shape, written.shape) && dtype === written.dtype;
  const isStored = (x: unknown): boolean => typeof x === "string" && Object.hasOwn(arrays, x);
  const isExpr = (e: unknown, depth = 0): e is Expr =>
    depth < DEEPEST &&
    isMap(e) &&
    isSizes(e.shape) &&
    isDType(e.dtype) &&
    isOneOf(e.kind, exprs) &&
    exprs[e.kind as ExprKind](e, e.shape, (x) => isExpr(x, depth + 1));
  type IsPart = (x: unknown) => x is Expr;
  const exprs: Record<ExprKind, (e: Fields, shape: number[], isPart: IsPart) => boolean> = {
    array: (e, shape) => {
      if (!isStored(e.array)) return false;
      const stored = arrays[e.array as string];
      return e.dtype === stored.dtype && sameShape(shape, stored.shape);
    },
    named: (e, shape, isPart) =>
      isList(e.args, (x) => (isMap(x) && "scalar" in x ? isSentValue(x.scalar) : isPart(x))) &&
      arityOf(e.op) === e.args.length &&
      isBroadcast(
        e.args.flatMap((x) => ("scalar" in (x as Fields) ? [] : [(x as Expr).shape])),
        shape,
      ),
    map: (e, shape, isPart) =>
      isSent(e.fn) &&
      (e.to === null || isDType(e.to)) &&
      isList(e.args, isPart) &&
      isBroadcast(
        e.args.map((x) => (x as Expr).shape),
        shape,
      ),
    cast: (e, shape, isPart) => isPart(e.of) && sameShape(e.of.shape, shape),
    slice: (e, shape, isPart) => {
      if (!isPart(e.of) || !isList(e.picks, isPick(shape.length))) return false;
      const picks = e.picks as Pick[];
      const { shape: from } = e.of;
      // Axes that none of them becomes are new.
      const sizes = shape.map((_, d) => picks.filter(({ out }) => out === d).map(({ count }) => count));
      return (
        picks.length === from.length &&
        picks.every((pick, d) => isInside(pick, from[d])) &&
        sizes.every((counts, d) => counts.length <= 1 && (counts[0] ?? 1) === shape[d])
      );
    },
    permute: (e, shape, isPart) => {
      if (!isPart(e.of)) return false;
      const { shape: from } = e.of;
      return (
        isAxes(e.axes, from.length) &&
        from.length === shape.length &&
        sameShape(
          e.axes.map((axis) => from[axis]),
          shape,
        )
      );
    },
    concat: (e, shape, isPart) => {
      if (!isList(e.of, isPart) || !isAxes([e.axis], shape.length)) return false;
      const axis = e.axis as number;
      const shapes = e.of.map((x) => (x as Expr).shape);
      return (
        shapes.every((part) => sameShape(without(part, [axis]), without(shape, [axis]))) &&
        shapes.reduce((n, part) => n + part[axis], 0) === shape[axis]
      );
    },
    full: (e) => isSentValue(e.value),
    random: (e, shape) =>
      typeof e.seed === "string" &&
      /^\d{1,20}$/.test(e.seed) &&
      isSizes(e.chunks) &&
      e.chunks.length === shape.length &&
      isOneOf(e.distribution, distributions) &&
      isList(e.params, (x) => typeof x === "number"),
  };
  /** One element, such as an end of a range. */
  const isScalar = (x: unknown): boolean => isExpr(x) && sizeOf(x.shape) === 1;
  const shapeOf = (name: unknown): readonly number[] => arrays[name as string].shape;
  const works: Record<WorkKind, (w: Fields) => boolean> = {
    blockwise: (w) => isExpr(w.expr) && isMade(w.expr.shape, w.expr.dtype),
    fold: (w) => {
      if (!isExpr(w.expr) || !isOneOf(w.how, folds)) return false;
      const { shape } = w.expr;
      if (!isAxes(w.axes, shape.length) || !isSizes(w.chunks) || w.chunks.length !== shape.length)
        return false;
      const { axes, chunks, groups, range, bins } = w;
      const counts = w.how === "histogram";
      const states = counts ? bins : w.how === "moments" ? 3 : 1;
      const blocks = gridOf(
        axes.map((d) => shape[d]),
        axes.map((d) => chunks[d]),
      );
      return (
        isSizes([states, groups]) &&
        (groups as number) <= sizeOf(blocks) &&
        (counts
          ? isList(range, (x) => typeof x === "number" || isScalar(x)) && range.length === 2
          : range === null) &&
        isMade([states as number, groups as number, ...without(shape, axes)], w.dtype)
      );
    },
    combine: (w) => {
      if (!isStored(w.array) || !isOneOf(w.how, folds)) return false;
      const [states, groups, ...kept] = shapeOf(w.array);
      return w.groups === groups && isMade([states, ...kept], arrays[w.array as string].dtype);
    },
    scan: (w) => {
      if (w.stage === "offsets") {
        if (!isStored(w.array)) return false;
        const [states, ...sums] = shapeOf(w.array);
        return states === 1 && isMade(sums, arrays[w.array as string].dtype);
      }
      if (w.stage !== "apply" || !isExpr(w.expr) || !isAxes([w.axis], w.expr.shape.length)) return false;
      const axis = w.axis as number;
      const { shape } = w.expr;
      const cuts = gridOf(shape, block)[axis];
      const sums = w.offsets === null ? null : isStored(w.offsets) && shapeOf(w.offsets);
      return (
        isMade(shape, w.dtype) &&
        (sums === null ? cuts === 1 : sums !== false && sameShape(sums, [cuts, ...without(shape, [axis])]))
      );
    },
    contract: (w) => {
      if (!isExpr(w.a) || !isExpr(w.b)) return false;
      const [a, b] = [w.a.shape, w.b.shape];
      if (!isAxes(w.axesA, a.length) || !isAxes(w.axesB, b.length) || !isSizes(w.inner)) return false;
      const summed = w.axesA.map((d) => a[d]);
      return (
        w.inner.length === summed.length &&
        sameShape(
          w.axesB.map((d) => b[d]),
          summed,
        ) &&
        isMade([...without(a, w.axesA), ...without(b, w.axesB)], w.dtype)
      );
    },
    blocks: (w) =>
      isExpr(w.expr) &&
      isSent(w.fn) &&
      isList(w.halo, isCount) &&
      w.halo.length === w.expr.shape.length &&
      (isSentValue(w.boundary) || w.boundary === "edge" || w.boundary === "reflect") &&
      isMade(w.expr.shape, w.dtype),
    quantile: (w) =>
      isExpr(w.counts) &&
      isScalar(w.low) &&
      isScalar(w.high) &&
      isList(w.q, (x) => typeof x === "number" && x >= 0 && x <= 1) &&
      isMade([w.q.length], "f64"),
  };
  return isMap(work) && isOneOf(work.kind, works) && works[work.kind as WorkKind](work);
}

interface Pick {
  readonly start: number;
  readonly step: number;
  readonly count: number;
  readonly out: number | null;
}

const isPick = (rank: number) => (p: unknown) =>
  isMap(p) &&
  isCount(p.start) &&
  isWhole(p.step) &&
  p.step !== 0 &&
  isCount(p.count) &&
  p.count >= 1 &&
  (p.out === null || (isCount(p.out) && p.out < rank));

function isInside({ start, step, count }: Pick, size: number): boolean {
  const last = start + step * (count - 1);
  return Math.max(start, last) < size && Math.min(start, last) >= 0;
}
