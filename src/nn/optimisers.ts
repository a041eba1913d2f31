/**
 * Optimisers: how gradients change parameters. Each step is one loop over a parameter and what is remembered of it, all
 * written in place. The arithmetic is torch's, operation by operation.
 */

import { scope } from "../api.ts";
import { isFloat } from "../dtype.ts";
import { describe, fail, list } from "../errors.ts";
import type { Leaf } from "../grad/tree.ts";
import { zerosLike } from "../library/creation.ts";
import type { Storage } from "../memory/storage.ts";
import { numberList, readOptions } from "../ops/arguments.ts";
import { elementwise } from "../ops/elementwise.ts";
import { type Callable, compileStrict, type ScalarFunction } from "../ops/function.ts";
import { elementwiseSeveral } from "../ops/several.ts";
import { liveTensor, stridedOf, type Tensor } from "../tensor.ts";
import { sameShape } from "../view/layout.ts";
import { overlaps, sameElements } from "../view/overlap.ts";
import { unrecorded } from "./aside.ts";
import { byPath, chooser, leavesOf, tensorsOf, type Which } from "./tree.ts";

/** Changes parameters in place. */
export interface Optimiser<P = unknown> {
  /** What it changes. */
  readonly params: P;
  /** The step size; a schedule sets it. */
  lr: number;
  /** Steps done so far. */
  readonly steps: number;
  /** What is remembered of each parameter, by its (first) path: to be saved beside the parameters. */
  readonly state: Readonly<Record<string, Readonly<Record<string, Tensor>>>>;
  /** One step down the gradients, a tree as the parameters are. A tensor in two places moves once, by the sum of both. */
  step(grads: unknown): void;
  /** Goes on where a saved one stopped. */
  restore(saved: { readonly steps: number; readonly state: Optimiser["state"] }): void;
}

/** What all optimisers take. */
export interface OptimiserOptions {
  /** Parameters that stay as they are: paths, or a question about a path. */
  readonly frozen?: Which;
}

/** A kind of optimiser: a function of (parameter, gradient, …remembered) that gives the parameter and the remembered anew. */
interface Kind {
  readonly name: string;
  /** Names of what is remembered. */
  readonly slots: readonly string[];
  readonly update: ScalarFunction;
  /** What the function captures, by name, at a step (the first is 1). */
  readonly values: (step: number, lr: number) => Readonly<Record<string, number>>;
}

function number(operation: string, name: string, value: unknown, from = 0, below = Infinity): number {
  if (typeof value === "number" && value >= from && value < below) return value;
  const range =
    below === Infinity ? `a number from ${from}` : `a number from ${from} up to ${below}, without ${below}`;
  return fail("value", operation, `${name} is ${describe(value)}.`, `Use ${range}.`);
}

function optimiser<P>(kind: Kind, params: P, lr: number, frozen: Which | undefined): Optimiser<P> {
  const { name, slots } = kind;
  const leaves = tensorsOf(name, params, "the parameters");
  const known = byPath(name, leaves);
  const moving = movingOf(name, leaves, chooser(name, frozen, leaves));
  const state: Record<string, Record<string, Tensor>> = {};
  for (const { paths, tensor } of slots.length === 0 ? [] : moving)
    state[paths[0]] = Object.fromEntries(slots.map((slot) => [slot, unrecorded(() => zerosLike(tensor))]));
  const callable = callableFor(kind);
  let steps = 0;
  return {
    params,
    lr,
    get steps() {
      return steps;
    },
    state,
    step(grads) {
      const given = byPath(name, leavesOf(name, grads));
      for (const path of given.keys()) if (!known.has(path)) failStrange(name, path);
      const pairs = moving.map(({ paths, tensor }) => ({
        path: paths[0],
        tensor: liveTensor(name, tensor),
        grads: paths.map((path) => gradientOf(name, given, path, tensor)),
      }));
      const rate = number(name, "lr", this.lr);
      const values = kind.values(steps + 1, rate);
      const run = callable.withValues(callable.template!.params.map((p) => values[p]));
      unrecorded(() => {
        for (const { path, tensor, grads: own } of pairs) {
          const remembered = slots.map((slot) => state[path][slot]);
          if (own.length === 1) update(name, run, tensor, own[0], remembered);
          else
            scope(() =>
              update(
                name,
                run,
                tensor,
                own.reduce((a, b) => a.add(b)),
                remembered,
              ),
            );
        }
      });
      steps++;
    },
    restore(saved) {
      if (typeof saved?.state !== "object" || saved.state === null)
        fail(
          "value",
          name,
          `what is restored is ${describe(saved)}.`,
          "Give { steps, state } as the optimiser had them.",
        );
      const from = moving.flatMap(({ tensor, paths: [path] }) =>
        slots.map((slot) => {
          const kept = savedOf(
            name,
            saved.state[path]?.[slot],
            `${path || "the parameter"}'s ${slot}`,
            tensor,
          );
          return { to: state[path][slot], kept };
        }),
      );
      const done = number(name, "steps", saved.steps);
      if (!Number.isSafeInteger(done))
        fail("value", name, `steps is ${describe(done)}.`, "Use a whole number from 0.");
      unrecorded(() => {
        for (const { to, kept } of from) to.assign(kept);
      });
      steps = done;
    },
  };
}

/** What was saved of something remembered of a parameter. */
function savedOf(name: string, saved: Tensor | undefined, what: string, of: Tensor): Tensor {
  if (saved === undefined)
    return fail(
      "value",
      name,
      `nothing was saved of ${what}.`,
      "Save the optimiser's state beside the parameters.",
    );
  const t = liveTensor(name, saved);
  if (sameShape(t.shape, of.shape)) return t;
  return fail(
    "shape",
    name,
    `${what} is ${list(of.shape)}, and ${list(t.shape)} where it was saved.`,
    "Is it of another model?",
  );
}

/** A tensor that moves, and its places in the tree: it moves once, by the sum of their gradients. */
interface Moving {
  readonly tensor: Tensor;
  readonly paths: string[];
}

function movingOf(name: string, leaves: readonly Leaf[], isFrozen: (path: string) => boolean): Moving[] {
  const moving: Moving[] = [];
  /** Who lies in a storage. */
  const there = new Map<Storage, (Moving & { readonly stays: boolean })[]>();
  for (const { path, tensor } of leaves) {
    const { storage, frame, dtype } = stridedOf(tensor);
    const stays = isFrozen(path);
    if (!stays && !isFloat(dtype))
      fail(
        "dtype",
        name,
        `the parameter ${path || "itself"} is ${dtype}.`,
        "Parameters are floats: freeze it, or convert it.",
      );
    const others = there.get(storage.origin) ?? [];
    there.set(storage.origin, others);
    const same = others.find(({ tensor: t }) => t.dtype === dtype && sameElements(stridedOf(t).frame, frame));
    const near = same ?? others.find(({ tensor: t }) => overlaps(stridedOf(t).frame, frame));
    if (near !== undefined && (same === undefined ? !(stays && near.stays) : stays !== near.stays))
      fail(
        "value",
        name,
        same === undefined
          ? `${near.paths[0]} and ${path} share memory.`
          : `${near.paths[0]} and ${path} are one tensor, and only one of them is frozen.`,
        "Keep a parameter once in the tree, and use it as often as you like.",
      );
    if (same !== undefined) same.paths.push(path);
    else {
      const own = { tensor, paths: [path], stays };
      others.push(own);
      if (!stays) moving.push(own);
    }
  }
  return moving;
}

function failStrange(name: string, path: string): never {
  return fail(
    "value",
    name,
    `there is a gradient of ${path || "one tensor"}, and no such parameter.`,
    "Gradients are a tree as the parameters are: is it of another model?",
  );
}

function gradientOf(name: string, given: ReadonlyMap<string, Tensor>, path: string, of: Tensor): Tensor {
  const grad = given.get(path);
  const what = path === "" ? "the parameter" : path;
  if (grad === undefined)
    return fail(
      "value",
      name,
      `there is no gradient of ${what}.`,
      "Gradients are a tree as the parameters are; freeze what has none.",
    );
  if (!sameShape(grad.shape, of.shape))
    fail(
      "shape",
      name,
      `the gradient of ${what} is ${list(grad.shape)}, not ${list(of.shape)}.`,
      "Is it of another model?",
    );
  return grad;
}

/** One loop: [p, …remembered] = f(p, g, …remembered). */
function update(name: string, run: Callable, p: Tensor, g: Tensor, remembered: readonly Tensor[]): void {
  const outs = [p, ...remembered].map(stridedOf);
  const operands = [p, g, ...remembered].map(stridedOf);
  if (outs.length > 1) elementwiseSeveral(name, run, operands, outs);
  else elementwise(name, run, operands, outs[0]);
}

const callables = new Map<string, Callable>();

/** One function a kind: its numbers are given with each step, and compile nothing. */
function callableFor({ name, update: fn, slots, values }: Kind): Callable {
  const key = `${name} ${slots}`;
  let callable = callables.get(key);
  if (callable === undefined) {
    callable = compileStrict(name, fn, values(1, 0.1));
    callables.set(key, callable);
  }
  return callable;
}

/* Kinds -------------------------------------------------------------------------------------------------------------- */

/** The options of `sgd`. */
export interface SgdOptions extends OptimiserOptions {
  /** The step size. */
  readonly lr: number;
  /** How much of the last direction is kept. Default 0. */
  readonly momentum?: number;
  /** How much of a gradient does not go into the direction. Default 0. */
  readonly dampening?: number;
  /** Looks ahead along the direction. Default false. */
  readonly nesterov?: boolean;
  /** So much of the parameter is added to its gradient. Default 0. */
  readonly weightDecay?: number;
}

interface SgdValues {
  readonly lr: number;
  readonly decay: number;
  readonly keep: number;
  readonly take: number;
  readonly first: number;
  readonly ahead: number;
}
const plainSgd = (p: number, g: number, { lr, decay }: SgdValues) => p - lr * (g + decay * p);
const heavySgd = (p: number, g: number, b: number, { lr, decay, keep, take, first, ahead }: SgdValues) => {
  const d = g + decay * p;
  const next = first > 0 ? d : keep * b + take * d;
  const way = ahead > 0 ? d + keep * next : next;
  return [p - lr * way, next];
};

/**
 * Gradient descent, with momentum where it is asked for.
 *
 *     const optimiser = sgd(params, { lr: 0.1, momentum: 0.9 });
 *     optimiser.step(grads);
 *
 * @param params a tree of tensors, changed in place
 * @param options `lr`, `momentum`, `dampening`, `nesterov`, `weightDecay`, `frozen`
 * @returns an optimiser
 * @example
 * const params = { w: tensor([1]) };
 * sgd(params, { lr: 0.5 }).step({ w: tensor([1]) });
 * params.w; // → f32 [0.5]
 */
export function sgd<P>(params: P, options: SgdOptions): Optimiser<P> {
  const names = ["lr", "momentum", "dampening", "nesterov", "weightDecay", "frozen"];
  const read = readOptions("sgd", options, "{ lr: 0.1 }", names);
  const { nesterov = false, frozen } = read;
  const lr = number("sgd", "lr", read.lr);
  const keep = number("sgd", "momentum", read.momentum ?? 0);
  const dampening = number("sgd", "dampening", read.dampening ?? 0);
  const decay = number("sgd", "weightDecay", read.weightDecay ?? 0);
  if (nesterov && (keep === 0 || dampening !== 0))
    fail("value", "sgd", "nesterov has nothing to look along.", "It needs a momentum, and no dampening.");
  const values = (step: number, rate: number) => ({
    lr: rate,
    decay,
    keep,
    take: 1 - dampening,
    first: step === 1 ? 1 : 0,
    ahead: nesterov ? 1 : 0,
  });
  const kind: Kind =
    keep === 0
      ? {
          name: "sgd",
          slots: [],
          update: plainSgd as ScalarFunction,
          values: (_, rate) => ({ lr: rate, decay }),
        }
      : { name: "sgd", slots: ["momentum"], update: heavySgd as ScalarFunction, values };
  return optimiser(kind, params, lr, frozen);
}

/** The options of `adam` and `adamw`. */
export interface AdamOptions extends OptimiserOptions {
  /** Default 0.001. */
  readonly lr?: number;
  /** How much is kept of the mean, and of the mean square. Default [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
  /** Default 1e-8. */
  readonly eps?: number;
  /** adam: so much of the parameter is added to its gradient (default 0). adamw: taken from itself (default 0.01). */
  readonly weightDecay?: number;
}

interface AdamValues {
  readonly size: number;
  readonly decay: number;
  readonly shrink: number;
  readonly b1: number;
  readonly c1: number;
  readonly b2: number;
  readonly c2: number;
  readonly root: number;
  readonly eps: number;
}
const adamStep = (
  p: number,
  g: number,
  m: number,
  v: number,
  { size, decay, shrink, b1, c1, b2, c2, root, eps }: AdamValues,
) => {
  const d = g + decay * p;
  const mean = m * b1 + d * c1;
  const square = v * b2 + d * d * c2;
  const denominator = Math.sqrt(square) / root + eps;
  return [p * shrink - (size * mean) / denominator, mean, square];
};

function adamLike<P>(name: "adam" | "adamw", params: P, options: AdamOptions): Optimiser<P> {
  const read = readOptions(name, options, "{ lr: 0.001 }", ["lr", "betas", "eps", "weightDecay", "frozen"]);
  const lr = number(name, "lr", read.lr ?? 0.001);
  const betas = numberList(name, "betas", read.betas ?? [0.9, 0.999]);
  if (betas.length !== 2) fail("value", name, `betas are ${list(betas)}.`, "Give two, such as [0.9, 0.999].");
  const [b1, b2] = betas.map((b, k) => number(name, `betas[${k}]`, b, 0, 1));
  const eps = number(name, "eps", read.eps ?? 1e-8);
  const decay = number(name, "weightDecay", read.weightDecay ?? (name === "adam" ? 0 : 0.01));
  const values = (step: number, rate: number) => ({
    size: rate / (1 - b1 ** step),
    decay: name === "adam" ? decay : 0,
    shrink: name === "adam" ? 1 : 1 - rate * decay,
    b1,
    c1: 1 - b1,
    b2,
    c2: 1 - b2,
    root: Math.sqrt(1 - b2 ** step),
    eps,
  });
  const kind: Kind = { name, slots: ["mean", "square"], update: adamStep as ScalarFunction, values };
  return optimiser(kind, params, lr, read.frozen);
}

/**
 * Steps by the mean of gradients over the root of their mean square.
 *
 * @param params a tree of tensors, changed in place
 * @param options `lr`, `betas`, `eps`, `weightDecay`, `frozen`
 * @returns an optimiser
 * @example
 * const params = { w: tensor([1]) };
 * adam(params, { lr: 0.5 }).step({ w: tensor([1]) });
 * params.w; // → f32 [0.5]
 */
export const adam = <P>(params: P, options: AdamOptions = {}): Optimiser<P> =>
  adamLike("adam", params, options);
/**
 * Adam whose parameters shrink by themselves, and not by their gradients.
 *
 * @param params a tree of tensors, changed in place
 * @param options `lr`, `betas`, `eps`, `weightDecay`, `frozen`
 * @returns an optimiser
 * @example
 * const params = { w: tensor([1]) };
 * adamw(params, { lr: 0.5, weightDecay: 0 }).step({ w: tensor([1]) });
 * params.w; // → f32 [0.5]
 */
export const adamw = <P>(params: P, options: AdamOptions = {}): Optimiser<P> =>
  adamLike("adamw", params, options);

/** The options of `rmsprop`. */
export interface RmspropOptions extends OptimiserOptions {
  /** Default 0.01. */
  readonly lr?: number;
  /** How much is kept of the mean square. Default 0.99. */
  readonly alpha?: number;
  /** Default 1e-8. */
  readonly eps?: number;
  /** So much of the parameter is added to its gradient. Default 0. */
  readonly weightDecay?: number;
  /** How much of the last direction is kept. Default 0. */
  readonly momentum?: number;
  /** By the variance of gradients instead of their mean square. Default false. */
  readonly centered?: boolean;
}

interface RmsValues {
  readonly lr: number;
  readonly decay: number;
  readonly keep: number;
  readonly take: number;
  readonly eps: number;
  readonly momentum: number;
  readonly about: number;
}
const plainRms = (p: number, g: number, s: number, { lr, decay, keep, take, eps }: RmsValues) => {
  const d = g + decay * p;
  const square = s * keep + d * d * take;
  return [p - (lr * d) / (Math.sqrt(square) + eps), square];
};
const fullRms = (
  p: number,
  g: number,
  s: number,
  a: number,
  b: number,
  { lr, decay, keep, take, eps, momentum, about }: RmsValues,
) => {
  const d = g + decay * p;
  const square = s * keep + d * d * take;
  const mean = a * keep + d * take;
  const way = d / (Math.sqrt(square - about * mean * mean) + eps);
  const next = momentum * b + way;
  return [p - lr * next, square, mean, next];
};

/**
 * Steps by gradients over the root of their mean square.
 *
 * @param params a tree of tensors, changed in place
 * @param options `lr`, `alpha`, `eps`, `momentum`, `weightDecay`, `centered`, `frozen`
 * @returns an optimiser
 * @example
 * const optimiser = rmsprop({ w: tensor([1]) });
 * optimiser.step({ w: tensor([1]) });
 * optimiser.steps; // → 1
 */
export function rmsprop<P>(params: P, options: RmspropOptions = {}): Optimiser<P> {
  const names = ["lr", "alpha", "eps", "weightDecay", "momentum", "centered", "frozen"];
  const read = readOptions("rmsprop", options, "{ lr: 0.01 }", names);
  const lr = number("rmsprop", "lr", read.lr ?? 0.01);
  const keep = number("rmsprop", "alpha", read.alpha ?? 0.99, 0, 1);
  const eps = number("rmsprop", "eps", read.eps ?? 1e-8);
  const decay = number("rmsprop", "weightDecay", read.weightDecay ?? 0);
  const momentum = number("rmsprop", "momentum", read.momentum ?? 0);
  const { centered = false } = read;
  const base = (rate: number) => ({ lr: rate, decay, keep, take: 1 - keep, eps });
  const isPlain = momentum === 0 && !centered;
  const kind: Kind = isPlain
    ? {
        name: "rmsprop",
        slots: ["square"],
        update: plainRms as ScalarFunction,
        values: (_, rate) => base(rate),
      }
    : {
        name: "rmsprop",
        slots: ["square", "mean", "momentum"],
        update: fullRms as ScalarFunction,
        values: (_, rate) => ({ ...base(rate), momentum, about: centered ? 1 : 0 }),
      };
  return optimiser(kind, params, lr, read.frozen);
}
