/**
 * How gradients pass the forms of calls: functions of elements, copies, folds, scans and products. Views need no rule:
 * buffers.ts. Operations that are noted by name are in named.ts.
 */

import { full, zeros, zip } from "../api.ts";
import { isFloat, isHalf } from "../dtype.ts";
import { engine } from "../engine.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import type { Id, Template } from "../ir/node.ts";
import { concat } from "../library/join.ts";
import { elementwise } from "../ops/elementwise.ts";
import { Callable, Definition } from "../ops/function.ts";
import { mapReduce } from "../ops/map-reduce.ts";
import { type MatmulPlan, planMatmul } from "../ops/matmul.ts";
import { type ReduceExtras, type ReduceOptions, reduce, type ScanOptions, scan } from "../ops/reduce.ts";
import { elementwiseSeveral } from "../ops/several.ts";
import { share } from "../ops/strided.ts";
import type { Call, Captured, Plan, ProductWork, Strided } from "../run/call.ts";
import { sameLayout } from "../run/plans.ts";
import { stridedOf, type Tensor, wrap } from "../tensor.ts";
import { normalizeAxes, normalizeAxis, sameShape, sizeOf } from "../view/layout.ts";
import { broadcastTo, placesOf, type View } from "../view/view.ts";
import { repeatedAxes, sharesMemory } from "./buffers.ts";
import { definitionOf, type Pull, pullOf } from "./tangents.ts";
import { type Back, failRule, type Rule, type Step } from "./tape.ts";

/** Operands that a gradient does not depend on are left out. */
type Operands = readonly (Strided | null)[];

/** Where numbers of elements are counted, or divided by: f16 has none above 65,504, bf16 few above 256. */
export const countsIn = (g: Tensor): "f64" => (isHalf(g.dtype) ? "f32" : g.dtype) as "f64";

/** A gradient over a number of elements; in f32 where it is narrower. */
export const dividedBy = (g: Tensor, n: number): Tensor => g.to(countsIn(g)).div(n);

/** Another view of a tensor's memory, as a tensor of this scope. */
const seenAs = (t: Strided, frame: View): Tensor => wrap(share(t, frame));

/* Functions of elements ----------------------------------------------------------------------------------------- */

/** What a call does with elements; null: nobody knows. */
function functionOf({
  facts,
  plan,
}: Step): { readonly definition: Definition; readonly values: readonly Captured[] } | null {
  const { what, values } = facts as Call;
  if (what instanceof Definition) return { definition: what, values };
  if (plan?.work.form !== "elementwise" && plan?.work.form !== "copy") return null;
  const definition = plan.work.program === null ? null : definitionOf(plan.work.program);
  return definition === null ? null : { definition, values };
}

/** The operands that the pulls of some of them look at. */
function usedBy(
  definition: Definition,
  values: readonly Captured[],
  inputs: readonly Strided[],
  traced: readonly boolean[],
  first = 0,
): { readonly flows: readonly boolean[]; readonly saves: readonly Strided[] } {
  const flows = new Array<boolean>(inputs.length).fill(false);
  const isUsed = new Array<boolean>(inputs.length).fill(false);
  for (let k = 0; k < inputs.length; k++) {
    const pull = traced[k] ? pullOf(definition, k + first, values) : null;
    if (pull === null) continue;
    flows[k] = true;
    // Behind its own operands come the gradients of its results.
    for (const i of pull.uses) if (i >= first && i < definition.template.inputs) isUsed[i - first] = true;
  }
  return { flows, saves: inputs.filter((_, k) => isUsed[k]) };
}

/**
 * Gives every operand its share of the gradients `g` of a function's results: one kernel an operand, fused with the sum
 * over the axes that it was repeated along, and with what has arrived there already.
 */
function pullElements(
  back: Pick<Back, "operation" | "grads">,
  definition: Definition,
  values: readonly Captured[],
  operands: Operands,
  g: readonly Tensor[],
  targets: readonly (Strided | null)[],
  given?: Strided,
): void {
  const { shape } = g[0];
  // A function may name fewer operands than it is given; gradients follow those that it names.
  const all = [...operands.slice(0, definition.template.inputs), ...g.map(stridedOf)];
  const pulls = targets.map((target, k) => (target === null ? null : pullOf(definition, k, values)));
  const last = pulls.findLastIndex((pull) => pull !== null);
  for (let k = 0; k < targets.length; k++) {
    const pull = pulls[k];
    if (pull === null) continue;
    const place = placeIn(targets[k]!, shape);
    if (pull.isSame) {
      if (given === undefined || !back.grads.lend(given, place)) back.grads.give(place, g[0]);
      continue;
    }
    const operandsOf = (p: Pull) => p.uses.map((i) => all[i] ?? null);
    const adding = () => {
      const adds = pullOf(definition, k, values, true)!;
      return { definition: adds.definition, uses: operandsOf(adds) };
    };
    // Whoever comes last may write where the gradient of the result lies, unless somebody wants to look at operands.
    const over = k === last && engine().listener === null ? given : undefined;
    giveMade(back, place, operandsOf(pull) as Strided[], pull.definition, values, adding, over);
  }
}

/** An operand in the shape of a result. */
function placeIn(target: Strided, shape: readonly number[]): Strided {
  if (sameShape(target.frame.shape, shape)) return target;
  return { ...target, frame: broadcastTo(target.frame, shape) };
}

/** Adds what a function makes of operands to the gradient of a place. */
function giveMade(
  { operation, grads }: Pick<Back, "operation" | "grads">,
  place: Strided,
  operands: readonly Strided[],
  definition: Definition,
  values: readonly Captured[],
  adding: () => { readonly definition: Definition; readonly uses: readonly (Strided | null)[] },
  over?: Strided,
): void {
  const { shape } = place.frame;
  const repeated = repeatedAxes(place.frame);
  const callable = new Callable(definition, { values });
  if (repeated.length > 0) {
    const options = { reduce: "sum", axis: repeated, keepdims: true } as const;
    const sum = wrap(mapReduce(operation, operands, callable, options));
    const once = shape.map((n, d) => (repeated.includes(d) ? 1 : n));
    grads.give({ ...place, frame: { ...place.frame, shape: once } }, sum, true);
    return;
  }
  if (sharesMemory(place.frame)) {
    grads.give(place, wrap(elementwise(operation, callable, operands)), true);
    return;
  }
  const passed = over === undefined ? null : grads.pass(over, place);
  const { to, isFresh } = passed === null ? grads.slot(place) : { to: passed, isFresh: true };
  if (isFresh) {
    elementwise(operation, callable, operands, to);
    return;
  }
  const more = adding();
  // The one that is not among the operands is what is there already.
  const inputs = more.uses.map((t) => t ?? to);
  elementwise(operation, new Callable(more.definition, { values }), inputs, to);
}

export const elementwiseRule: Rule = {
  keep(step) {
    const { inputs, traced, operation } = step;
    const made = functionOf(step);
    if (made === null) return failRule(operation);
    return usedBy(made.definition, made.values, inputs, traced);
  },
  /** An operand that passes on as it is, where it lies: the output adds to it. */
  keeps(step) {
    const made = functionOf(step);
    return made !== null && step.outs.length === 1 && inPlace(step, made.definition, made.values) >= 0;
  },
  pull(back) {
    const { definition, values } = functionOf(back)!;
    const { inputs, outs, flows } = back;
    const own = inPlace(back, definition, values);
    const { dtype, frame } = outs[0];
    const g = back.g.map((t) => t ?? zeros(frame.shape, { dtype: isFloat(dtype) ? dtype : "f64" }));
    const targets = inputs.map((t, k) => (flows[k] && k !== own ? t : null));
    const given = back.isLast && outs.length === 1 && own < 0 ? outs[0] : undefined;
    pullElements(back, definition, values, inputs, g, targets, given);
  },
};

/** Which input lies just where the output does, and is only added to; -1: none. */
function inPlace(
  { inputs, outs, traced }: Step,
  definition: Definition,
  values: readonly Captured[],
): number {
  const [out] = outs;
  return inputs.findIndex(
    (t, k) =>
      traced[k] &&
      t.storage === out.storage &&
      t.frame.offset === out.frame.offset &&
      sameLayout(t.frame, out.frame) &&
      pullOf(definition, k, values)?.isSame === true,
  );
}

/* Folds ---------------------------------------------------------------------------------------------------------- */

interface ReduceFacts extends Call {
  readonly callable: Callable;
  readonly options: ReduceOptions;
  readonly extras: ReduceExtras;
}
interface ScanFacts extends Call {
  readonly callable: Callable;
  readonly options: ScanOptions;
}

type Kind = "add" | "max" | "min" | "other";

/**
 * What a fold does with its accumulator: adds to it, chooses, or anything else. Without a start value the first element is not
 * added as the others are, but stands for itself.
 */
function kindOf({ nodes, result }: Template, isStartless: boolean): Kind {
  const node = nodes[result];
  if (node.op !== "add" && node.op !== "max" && node.op !== "min") return "other";
  const isAcc = (id: Id): boolean => {
    const n = nodes[id];
    return n.op === "cast" ? isAcc(n.args[0]) : n.op === "input" && n.index === 0;
  };
  const other = node.args.find((_, i) => isAcc(node.args[1 - i]));
  if (other === undefined || reaches(nodes, other, 0)) return "other";
  // Where a function of elements is chosen from, it is anything else.
  const plain =
    nodes[other].op === "cast" ? nodes[(nodes[other] as { args: readonly Id[] }).args[0]] : nodes[other];
  if (plain.op === "input") return node.op;
  return node.op === "add" && !isStartless ? "add" : "other";
}

/** Does a node depend on an operand? */
function reaches(nodes: Template["nodes"], id: Id, index: number): boolean {
  const node = nodes[id];
  if (node.op === "input") return node.index === index;
  return "args" in node && node.args.some((a) => reaches(nodes, a, index));
}

const sizesOf = (inputs: readonly Strided[], plan: Plan | null): readonly number[] => {
  const work = plan!.work as { readonly sources: readonly (View | null)[] };
  return work.sources[0]?.shape ?? inputs[0].frame.shape;
};

export const reduceRule: Rule = {
  keep({ facts, inputs, outs, traced, operation }) {
    const { callable } = facts as ReduceFacts;
    const definition = callable?.definition;
    if (definition === undefined || definition === null) return failRule(operation);
    const { extras } = facts as ReduceFacts;
    if (extras.ending !== undefined && extras.ending.key !== "mean") return failRule(operation);
    const kind = foldKind(facts as ReduceFacts);
    if (kind === "add") return usedBy(definition, stepValues(facts as ReduceFacts), inputs, traced, 1);
    const isApart = kind === "other" || extras.map !== undefined;
    return { flows: traced, saves: isApart ? inputs : [...inputs, outs[0]] };
  },
  pull(back) {
    const facts = back.facts as ReduceFacts;
    const { options, extras } = facts;
    const g = back.g[0]!;
    const shape = sizesOf(back.inputs, back.plan);
    const axes =
      options.axis === undefined
        ? shape.map((_, d) => d)
        : normalizeAxes(back.operation, options.axis, shape.length);
    const kept = shape.map((n, d) => (axes.includes(d) ? 1 : n));
    const scaled = extras.ending === undefined ? g : dividedBy(g, extras.ending.params[0]);
    const once = scaled.reshape(kept);
    const kind = foldKind(facts);
    if (kind === "add") pullSum(back, facts, once.broadcastTo(shape));
    else if (extras.map !== undefined) pullMapped(back, facts, kind, axes, shape, once);
    else if (kind === "other") pullFold(back, facts, axes, shape, g);
    else pullExtreme(back, axes, kept, shape, once);
  },
};

/** What is mapped is mapped first, the first element too: the kind is that of the fold alone. */
const foldKind = ({ callable, options, extras }: ReduceFacts): Kind =>
  kindOf((extras.fold ?? callable).definition!.template, options.init === undefined);

/** A fold of mapped elements: they are made again, their gradients are the fold's, and what made them is passed last. */
function pullMapped(
  back: Back,
  { options, extras }: ReduceFacts,
  kind: Kind,
  axes: readonly number[],
  shape: readonly number[],
  g: Tensor,
): void {
  const { operation, inputs, flows } = back;
  const [map, fold] = [extras.map!, extras.fold!];
  if (sizeOf(shape) === 0) return;
  const values = inputs.map((t) => stridedOf(back.value(t)));
  const x = wrap(elementwise(operation, map, values));
  const largest = () => wrap(reduce(operation, fold, stridedOf(x), { ...options, keepdims: true }));
  const [own] =
    kind === "other"
      ? foldGradients(operation, fold, options, [x], axes, shape, g)
      : [sharesAmong(x, largest().to(x.dtype), axes, g)];
  if (own === null) return;
  const targets = inputs.map((t, k) => (flows[k] ? t : null));
  pullElements(back, map.definition!, map.values, inputs, [own], targets);
}

/** Captured values of the step alone. */
const stepValues = ({ callable }: { readonly callable: Callable }): readonly Captured[] => callable.values;

/** Each element as it counts in the sum. */
function pullSum(back: Back, facts: { readonly callable: Callable }, g: Tensor): void {
  const definition = facts.callable.definition!;
  const { inputs, flows } = back;
  const targets = [null, ...inputs.map((t, k) => (flows[k] ? t : null))];
  pullElements(back, definition, stepValues(facts), [null, ...inputs], [g], targets);
}

/* Where the largest is NaN, it is every NaN. */
const isChosen = (x: number, y: number) => (x === y || (Number.isNaN(x) && Number.isNaN(y)) ? 1 : 0);
const alsoChosen = (n: number, x: number, y: number) =>
  x === y || (Number.isNaN(x) && Number.isNaN(y)) ? n + 1 : n;
const shareOf = (x: number, y: number, g: number, count: number) =>
  x === y || (Number.isNaN(x) && Number.isNaN(y)) ? g / count : 0;
const shareMore = (was: number, x: number, y: number, g: number, count: number) =>
  x === y || (Number.isNaN(x) && Number.isNaN(y)) ? was + g / count : was;

/** The largest, or the smallest: those that are it share. */
function pullExtreme(
  back: Back,
  axes: readonly number[],
  kept: readonly number[],
  shape: readonly number[],
  g: Tensor,
): void {
  const [input] = back.inputs;
  const x = back.value(input);
  const y = back.value(back.outs[0]).to(x.dtype).reshape(kept);
  if (sizeOf(shape) === 0) return;
  if (isWindows(input, axes, shape)) {
    pullWindows(back, axes, x, y, g);
    return;
  }
  back.grads.give(input, sharesAmong(x, y, axes, g), true);
}

/** The gradient g of the largest, y, of elements: theirs that are it. */
export function sharesAmong(x: Tensor, y: Tensor, axes: readonly number[], g: Tensor): Tensor {
  const count = zip([x, y], isChosen).sum({ axis: axes, keepdims: true, dtype: countsIn(g) });
  return zip([x, y, g, count], shareOf);
}

/** So many places of a window at the most, and so many windows at the least, are worth a loop for each place. */
const MOST_PLACES = 32;
const LEAST_WINDOWS = 4096;

/** Short axes are folded, of many elements: loops along them would take a step or two. */
function isWindows({ frame }: Strided, axes: readonly number[], shape: readonly number[]): boolean {
  const places = sizeOf(axes.map((d) => shape[d]));
  if (places > MOST_PLACES || sizeOf(shape) / places < LEAST_WINDOWS) return false;
  return sameShape(frame.shape, shape) && !sharesMemory(placesOf(frame, axes)[0]);
}

/** Places of a window that one loop takes at once, a pointer or two for each. */
const PLACES_AT_ONCE = 9;

/**
 * How windows of so many places share the gradient of their largest: of the places, the largest and the gradient, and, with
 * `adds`, what lies there already, a list of shares.
 */
function sharesOf(places: number, adds: boolean): Definition {
  const key = 2 * places + (adds ? 1 : 0);
  let made = shares.get(key);
  if (made === undefined) {
    const t = new TemplateBuilder();
    const input = (i: number) => t.input(i);
    const [largest, g] = [input(places), input(places + 1)];
    const isNone = t.op("isNaN", [largest]);
    const chosen = Array.from({ length: places }, (_, i) =>
      t.op("or", [t.op("eq", [input(i), largest]), t.op("and", [t.op("isNaN", [input(i)]), isNone])]),
    );
    const [one, zero] = [t.literal(1), t.literal(0)];
    const count = chosen.map((c) => t.op("select", [c, one, zero])).reduce((a, b) => t.op("add", [a, b]));
    const share = t.op("div", [g, count]);
    const results = chosen.map((c, i) => {
      const own = t.op("select", [c, share, zero]);
      return adds ? t.op("add", [input(places + 2 + i), own]) : own;
    });
    const inputs = adds ? 2 * places + 2 : places + 2;
    made = new Definition(t.finish(t.tuple(results), { inputs, name: "share of the largest" }));
    shares.set(key, made);
  }
  return made;
}
const shares = new Map<number, Definition>();

/** The same for windows, as pools have them: loops over all windows, for every place or for all places at once. */
function pullWindows(back: Back, axes: readonly number[], x: Tensor, largest: Tensor, given: Tensor): void {
  const [input] = back.inputs;
  const [y, g] = [largest.squeeze(axes), given.squeeze(axes)];
  const parts = placesOf(stridedOf(x).frame, axes).map((frame) => seenAs(stridedOf(x), frame));
  const isApart = !sharesMemory(input.frame);
  // Where windows overlap, their shares add up.
  const { to, isFresh } = isApart ? back.grads.slot(input) : { to: back.grads.zeroed(input), isFresh: false };
  const outs = placesOf(to.frame, axes).map((frame) => seenAs(to, frame));
  if (isApart && parts.length > 1 && parts.length <= PLACES_AT_ONCE) {
    const operands = [...parts, y, g, ...(isFresh ? [] : outs)].map(stridedOf);
    const callable = new Callable(sharesOf(parts.length, !isFresh));
    elementwiseSeveral(back.operation, callable, operands, outs.map(stridedOf));
    return;
  }
  const count = zip([parts[0], y], isChosen, { dtype: g.dtype as "f64" });
  for (const part of parts.slice(1)) zip([count, part, y], alsoChosen, { out: count });
  outs.forEach((out, i) => {
    if (isFresh) zip([parts[i], y, g, count], shareOf, { out });
    else zip([out, parts[i], y, g, count], shareMore, { out });
  });
}

/** A fold of short axes that was made place by place; what it notes is what a maximum along axes is. */
export const largestRule: Rule = {
  keep: ({ traced, inputs, outs }) => ({ flows: traced, saves: [inputs[0], outs[0]] }),
  pull(back) {
    const { axes } = back.facts as { readonly axes: readonly number[] };
    const { shape } = back.inputs[0].frame;
    const kept = shape.map((n, d) => (axes.includes(d) ? 1 : n));
    pullExtreme(back, axes, kept, shape, back.g[0]!.reshape(kept));
  },
};

/* Any fold --------------------------------------------------------------------------------------------------------- */

/** The folded axes as one, the last: [kept…, n]. And back. */
function asLines(shape: readonly number[], axes: readonly number[]) {
  const kept = shape.map((_, d) => d).filter((d) => !axes.includes(d));
  const order = [...kept, ...axes];
  const back = shape.map((_, d) => order.indexOf(d));
  const keptShape = kept.map((d) => shape[d]);
  const foldedShape = axes.map((d) => shape[d]);
  const n = sizeOf(foldedShape);
  return {
    n,
    keptShape,
    lines: (t: Tensor) =>
      t
        .broadcastTo(shape)
        .permute(order)
        .reshape([...keptShape, n]),
    unlined: (t: Tensor) => t.reshape([...keptShape, ...foldedShape]).permute(back),
  };
}

const last = (t: Tensor, from: number, to: number): Tensor => t.slice("...", [from, to]);
const recurrence = (acc: number, g: number, a: number) => g + a * acc;

/** f(acc, x…)'s derivative by operand k, at these, times d. */
function partialOf(
  operation: string,
  callable: Callable,
  k: number,
  operands: readonly Tensor[],
  d: Tensor,
): Tensor | null {
  const pull = pullOf(callable.definition!, k, callable.values);
  if (pull === null) return null;
  if (pull.isSame) return d;
  const all = [...operands.slice(0, callable.definition!.template.inputs), d].map(stridedOf);
  const made = new Callable(pull.definition, { values: callable.values });
  return wrap(
    elementwise(
      operation,
      made,
      pull.uses.map((i) => all[i]),
    ),
  );
}

/**
 * acc' = f(acc, x) for x after x: every state of the accumulator is computed again, then the gradient of each state from
 * that of the next one, backwards. `gs` has a gradient for every state, or for the last one alone.
 */
function pullStates(
  operation: string,
  callable: Callable,
  xs: readonly Tensor[],
  init: Captured | undefined,
  dtype: Strided["dtype"] | undefined,
  n: number,
  keptShape: readonly number[],
  gs: Tensor,
  everyState: boolean,
): readonly (Tensor | null)[] {
  const options = {
    axis: -1,
    ...(init === undefined ? {} : { init }),
    ...(dtype === undefined ? {} : { dtype }),
  };
  const states = wrap(scan(operation, callable, xs.map(stridedOf), options));
  const as = states.dtype as "f64";
  // Without a start value the first state is the first element itself.
  const from = init === undefined ? 1 : 0;
  const before = last(states, 0, n - 1);
  const started =
    init === undefined
      ? before
      : concat([full([...keptShape, 1], Number(init), { dtype: as }), before], { axis: -1 });
  const inputs = [started, ...xs.map((x) => last(x, from, n))];
  const one = full([], 1, { dtype: as }).broadcastTo(started.shape);
  const slopes = partialOf(operation, callable, 0, inputs, one) ?? zeros(started.shape, { dtype: as });
  // Of state i by the state after it, for all but the last.
  const steps = last(slopes, slopes.shape[slopes.rank - 1] - (n - 1), slopes.shape[slopes.rank - 1]);
  const h = everyState
    ? backwards(operation, gs.to(as), steps, keptShape)
    : products(gs.to(as), steps, keptShape);
  const rest = last(h, from, n);
  return xs.map((x, k) => {
    const made = partialOf(operation, callable, k + 1, inputs, rest);
    // The first element is the first state also where nobody looks at those after it.
    if (from === 0 || (made === null && k > 0)) return made;
    const first = k === 0 ? last(h, 0, 1) : zeros([...keptShape, 1], { dtype: as });
    const others = made ?? zeros(rest.shape, { dtype: as });
    return concat([first.to(others.dtype as "f64"), others], { axis: -1 }).broadcastTo(x.shape);
  });
}

/** h[i] = g·Π of the steps from i on. */
function products(g: Tensor, steps: Tensor, keptShape: readonly number[]): Tensor {
  const end = g.reshape([...keptShape, 1]);
  if (steps.shape[steps.rank - 1] === 0) return end;
  const following = steps.flip(-1).cumprod({ axis: -1 }).flip(-1);
  return concat([following.mul(end), end], { axis: -1 });
}

/** h[i] = g[i] + steps[i]·h[i + 1]. */
function backwards(operation: string, g: Tensor, steps: Tensor, keptShape: readonly number[]): Tensor {
  const factors = concat([steps, zeros([...keptShape, 1], { dtype: steps.dtype as "f64" })], { axis: -1 });
  const callable = recurrenceOf();
  const inputs = [g.flip(-1), factors.flip(-1)].map(stridedOf);
  return wrap(scan(operation, callable, inputs, { axis: -1, init: 0, dtype: g.dtype })).flip(-1);
}

let linear: Callable | null = null;
function recurrenceOf(): Callable {
  linear ??= callableFor(recurrence);
  return linear;
}

function pullFold(
  back: Back,
  { callable, options }: ReduceFacts,
  axes: readonly number[],
  shape: readonly number[],
  g: Tensor,
): void {
  if (sizeOf(shape) === 0) return;
  const xs = back.inputs.map((t) => back.value(t));
  const made = foldGradients(back.operation, callable, options, xs, axes, shape, g);
  made.forEach((t, k) => {
    if (t !== null && back.flows[k]) giveSpread(back, back.inputs[k], t, shape);
  });
}

/** The gradients of what is folded, in its shape. */
function foldGradients(
  operation: string,
  callable: Callable,
  { init, dtype }: ReduceOptions,
  elements: readonly Tensor[],
  axes: readonly number[],
  shape: readonly number[],
  g: Tensor,
): readonly (Tensor | null)[] {
  const { n, keptShape, lines, unlined } = asLines(shape, axes);
  const xs = elements.map(lines);
  const made = pullStates(operation, callable, xs, init, dtype, n, keptShape, g.reshape(keptShape), false);
  return made.map((t) => (t === null ? null : unlined(t)));
}

/** A gradient in the shape that an operand was brought to. */
function giveSpread(back: Back, input: Strided, g: Tensor, shape: readonly number[]): void {
  back.grads.give(placeIn(input, shape), g, true);
}

/* Scans ------------------------------------------------------------------------------------------------------------- */

export const scanRule: Rule = {
  keep({ facts, inputs, traced, operation }) {
    const { callable, options } = facts as ScanFacts;
    const definition = callable?.definition;
    if (definition === undefined || definition === null) return failRule(operation);
    if (kindOf(definition.template, options.init === undefined) !== "add")
      return { flows: traced, saves: inputs };
    return usedBy(definition, callable.values, inputs, traced, 1);
  },
  pull(back) {
    const facts = back.facts as ScanFacts;
    const { callable, options } = facts;
    const { operation } = back;
    const { init, dtype } = options;
    const g = back.g[0]!;
    const { shape } = g;
    const axis = normalizeAxis(back.operation, options.axis ?? 0, shape.length);
    if (kindOf(callable.definition!.template, init === undefined) === "add") {
      pullSum(back, facts, g.flip(axis).cumsum({ axis }).flip(axis));
      return;
    }
    const { n, keptShape, lines, unlined } = asLines(shape, [axis]);
    if (n === 0 || sizeOf(shape) === 0) return;
    const xs = back.inputs.map((t) => lines(back.value(t)));
    const made = pullStates(operation, callable, xs, init, dtype, n, keptShape, lines(g), true);
    made.forEach((t, k) => {
      if (t !== null && back.flows[k]) giveSpread(back, back.inputs[k], unlined(t), shape);
    });
  },
};

/* Products ----------------------------------------------------------------------------------------------------------- */

export const productRule: Rule = {
  keep({ inputs: [a, b], traced }) {
    return {
      flows: traced,
      saves: [...(traced[0] ? [b] : []), ...(traced[1] && (b !== a || !traced[0]) ? [a] : [])],
    };
  },
  keeps: ({ facts }) => (facts as { sign: ProductWork["sign"] }).sign !== "=",
  pull(back) {
    const [a, b] = back.inputs;
    const { flows } = back;
    const plan = planMatmul(a.frame, b.frame);
    const { batch, m, n } = plan;
    const { sign } = back.facts as unknown as { readonly sign: ProductWork["sign"] };
    const given = back.g[0]!;
    const isMatrix = a.frame.shape.length >= 2 && b.frame.shape.length >= 2;
    const own = isMatrix ? given : given.reshape([...batch, m, n]);
    const g = sign === "-=" ? own.neg() : own;
    if (flows[0]) pullLeft(back, plan, a, seenAs(b, plan.b), g);
    if (flows[1]) pullRight(back, plan, b, seenAs(a, plan.a), g);
  },
};

/** Batch axes along which an operand is one for all: they are summed over. */
const sharedAxes = (view: View, batch: readonly number[]): number[] =>
  batch.flatMap((n, d) => (n > 1 && view.strides[d] === 0 ? [d] : []));

/** a's gradient, Σ over shared batches of g·bᵀ: [m, n] by [n, k]. */
function pullLeft(back: Back, { a: left, batch, m, k }: MatmulPlan, a: Strided, b: Tensor, g: Tensor): void {
  if (batch.length === 0) {
    multiplied(back, a, left, batch, g, b.swapAxes(-1, -2));
    return;
  }
  const shared = sharedAxes(left, batch);
  const kept = batch.map((_, d) => d).filter((d) => !shared.includes(d));
  const r = batch.length;
  const keptShape = kept.map((d) => batch[d]);
  const rows = g
    .permute([...kept, r, ...shared, r + 1])
    .reshape([...keptShape, m, -1].map(fix(g, keptShape, m)));
  const columns = b
    .permute([...kept, ...shared, r + 1, r])
    .reshape([...keptShape, sizeOf(rows.shape.slice(-1)), k]);
  multiplied(back, a, left, shared, rows, columns);
}

/** b's gradient, Σ over shared batches of aᵀ·g: [k, m] by [m, n]. */
function pullRight(
  back: Back,
  { b: right, batch, n, k }: MatmulPlan,
  b: Strided,
  a: Tensor,
  g: Tensor,
): void {
  if (batch.length === 0) {
    multiplied(back, b, right, batch, a.swapAxes(-1, -2), g);
    return;
  }
  const shared = sharedAxes(right, batch);
  const kept = batch.map((_, d) => d).filter((d) => !shared.includes(d));
  const r = batch.length;
  const keptShape = kept.map((d) => batch[d]);
  const length = sizeOf(shared.map((d) => batch[d])) * g.shape[r];
  const rows = a.permute([...kept, ...shared, r, r + 1]).reshape([...keptShape, length, k]);
  const columns = g.permute([...kept, ...shared, r, r + 1]).reshape([...keptShape, length, n]);
  multiplied(back, b, right, shared, rows.swapAxes(-1, -2), columns);
}

/** A size for -1, which a shape with a 0 in it does not tell. */
const fix = (g: Tensor, keptShape: readonly number[], m: number) => (size: number) =>
  size === -1 ? (m * sizeOf(keptShape) === 0 ? g.shape[g.rank - 1] : g.size / (m * sizeOf(keptShape))) : size;

/** The product of two matrices, added to an operand's gradient: `view` is the operand as the product saw it. */
export function multiplied(
  { grads }: Back,
  of: Strided,
  view: View,
  shared: readonly number[],
  left: Tensor,
  right: Tensor,
): void {
  const stays = (_: number, d: number) => !shared.includes(d);
  const frame =
    shared.length === 0
      ? view
      : { ...view, shape: view.shape.filter(stays), strides: view.strides.filter(stays) };
  const place = { ...of, frame };
  if (left.dtype !== of.dtype || right.dtype !== of.dtype || sharesMemory(frame)) {
    grads.give(place, left.matmul(right), true);
    return;
  }
  const { to, isFresh } = grads.slot(place);
  left.matmul(
    right,
    isFresh ? { out: seenAs(to, to.frame) } : { out: seenAs(to, to.frame), accumulate: true },
  );
}

/* ---------------------------------------------------------------------------------------------------------------- */

import { callableOf } from "../ops/function.ts";

const callableFor = (fn: (...values: number[]) => number): Callable => callableOf("scan", fn);

export const formRules = {
  elementwise: elementwiseRule,
  copy: elementwiseRule,
  reduce: reduceRule,
  scan: scanRule,
  matmul: productRule,
} as const satisfies Record<Plan["work"]["form"], Rule>;
