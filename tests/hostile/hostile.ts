/**
 * Hostile calls. A case is a target (an export or a member), one of its valid calls, and one or two places where a
 * mutator makes an argument hostile; it is written as one line, and the line is all it takes to run it again:
 *
 *     sum:0 1=counted
 *     .slice:0 self=proxy 2[1]=2^53
 *
 * What must hold after every call, whatever it was given:
 * - it returned, or threw a TensorError, or the very error that a hostile getter or function threw;
 * - no canary has changed, the heap is consistent, no scope or listener was left open;
 * - a result lies in memory of its own, and everything is free again once results and operands are let go;
 * - nothing was read twice, where reads are counted;
 * - the valid call gives what it always gave.
 */
import { engine } from "../../src/engine.ts";
import * as gradEntry from "../../src/grad.ts";
import * as strided from "../../src/index.ts";
import * as interopEntry from "../../src/interop.ts";
import * as nnEntry from "../../src/nn.ts";
import * as plotEntry from "../../src/plot.ts";
import * as quantisedEntry from "../../src/quantised.ts";
import { isList, isPlain, type Mutator, mutators, type Plain, readsOf, readTwice } from "./mutators.ts";
import { hashOf, type Random, randomOf } from "./random.ts";
import {
  exported,
  fusedMembers,
  generator,
  gradients,
  interop,
  iterationMembers,
  kernelMembers,
  members,
  namespaces,
  networks,
  njitMembers,
  plotting,
  quantised,
  quantisedMembers,
  type Recipe,
  reportMembers,
} from "./recipes.ts";
import { alive, canaries, said, tensorsIn, textOf, World } from "./world.ts";

const { Tensor, TensorError } = strided;

/* Targets ------------------------------------------------------------------------------------------------ */

/** Something that can be called: `self` of its first arguments is what it is a member of. */
export interface Target {
  readonly name: string;
  readonly recipe: Recipe;
  /** "tensor": the first argument is the tensor, and may be hostile too. "fixed": it stays as it is. */
  readonly self: "none" | "tensor" | "fixed";
  readonly call: (args: readonly unknown[]) => unknown;
}

type Fn = (...args: unknown[]) => unknown;

function targetOf(name: string, recipe: Recipe, fn: unknown): Target {
  return { name, recipe, self: "none", call: (args) => (fn as Fn)(...args) };
}

/** A method, an accessor or a field of what the first argument is. */
function memberOf(name: string, member: string, recipe: Recipe, self: "tensor" | "fixed"): Target {
  const from = self === "tensor" ? Object.getOwnPropertyDescriptor(Tensor.prototype, member) : undefined;
  return {
    name,
    recipe,
    self,
    call: ([it, ...args]) => {
      if (from?.get !== undefined) return Reflect.apply(from.get, it, []);
      const value = from === undefined ? (it as Plain)[member] : from.value;
      return typeof value === "function" ? Reflect.apply(value, it, args) : value;
    },
  };
}

const spaces: Readonly<Record<keyof typeof namespaces, object>> = {
  fft: strided.fft,
  image: strided.image,
  linalg: strided.linalg,
  random: strided.random,
  windows: strided.windows,
};

/** What a name such as `to.bytes` says. */
const memberAt = (of: object, name: string): unknown =>
  name.split(".").reduce<unknown>((at, key) => (at as Plain)[key], of);

const rows = (of: Readonly<Record<string, Recipe | undefined>>): [string, Recipe][] =>
  Object.entries(of).filter((row): row is [string, Recipe] => row[1] !== undefined);

/** What it returns is looked for tensors, and so read, by the scope: not where it is what was given. */
const inScope = (fn: unknown): Fn =>
  fn === nnEntry.accumulate ? (fn as Fn) : (...args) => strided.scope(() => (fn as Fn)(...args));

export const targets: readonly Target[] = [
  ...rows(exported).map(([name, r]) => targetOf(name, r, (strided as unknown as Plain)[name])),
  ...(Object.keys(spaces) as (keyof typeof spaces)[]).flatMap((space) =>
    rows(namespaces[space]).map(([name, r]) =>
      targetOf(`${space}.${name}`, r, (spaces[space] as Plain)[name]),
    ),
  ),
  ...rows(interop).map(([name, r]) => targetOf(name, r, memberAt(interopEntry, name))),
  ...rows(plotting).map(([name, r]) => targetOf(name, r, memberAt(plotEntry, name))),
  ...rows(quantised).map(([name, r]) => targetOf(`quantised.${name}`, r, memberAt(quantisedEntry, name))),
  ...rows(quantisedMembers).map(([name, r]) => memberOf(`Quantised.${name}`, name, r, "fixed")),
  // Layers and losses leave what they make on the way to the scope around them.
  ...rows(networks).map(([name, r]) => targetOf(`nn.${name}`, r, inScope(memberAt(nnEntry, name)))),
  ...rows(gradients).map(([name, r]) => targetOf(`grad.${name}`, r, inScope(memberAt(gradEntry, name)))),
  ...rows(members).map(([name, r]) => memberOf(`.${name}`, name, r, "tensor")),
  ...Object.getOwnPropertySymbols(Tensor.prototype)
    .filter((symbol) => symbol !== Symbol.toStringTag)
    .map((symbol): Target => {
      const method = (Tensor.prototype as unknown as Record<symbol, Fn>)[symbol];
      const call = ([t]: readonly unknown[]) => Reflect.apply(method, t, []);
      const walked = (args: readonly unknown[]) => [...(call(args) as Iterable<unknown>)];
      return {
        name: `.[${symbol.description}]`,
        recipe: members.clone!,
        self: "tensor",
        call: symbol === Symbol.iterator ? walked : call,
      };
    }),
  {
    name: "new Tensor",
    recipe: { ways: [(w) => [w.f32(2, 3)]] },
    self: "none",
    call: ([t]) => new (Tensor as unknown as new (of: unknown) => unknown)(t),
  },
  ...rows(generator).map(([name, r]) => {
    const ways = r.ways.map((make) => (w: World) => [strided.random.generator(7), ...make(w)]);
    return memberOf(`generator.${name}`, name, { ...r, ways }, "fixed");
  }),
  ...rows(kernelMembers).map(([name, r]): Target => {
    if (name !== "()") return memberOf(`kernel.${name}`, name, r, "fixed");
    return { name: "kernel()", recipe: r, self: "fixed", call: ([k, ...args]) => (k as Fn)(...args) };
  }),
  ...rows(njitMembers).map(([name, r]): Target => {
    if (name !== "()") return memberOf(`njit.${name}`, name, r, "fixed");
    return { name: "njit()", recipe: r, self: "fixed", call: ([f, ...args]) => (f as Fn)(...args) };
  }),
  ...rows(fusedMembers).map(([name, r]): Target => {
    if (name !== "()") return memberOf(`fuse.${name}`, name, r, "fixed");
    return { name: "fuse()()", recipe: r, self: "fixed", call: ([f, ...args]) => (f as Fn)(...args) };
  }),
  {
    name: "kernel.reduce()",
    recipe: {
      ways: [
        (w) => [
          strided.kernel((a: number, b: number) => a * b).reduce("sum", { axis: 0 }),
          w.f32(2, 3),
          w.f32(3),
        ],
      ],
    },
    self: "fixed",
    call: ([f, ...args]) => (f as Fn)(...args),
  },
  ...rows(reportMembers).map(([name, r]) => memberOf(`report.${name}`, name, r, "fixed")),
  ...rows(iterationMembers).map(([name, r]) => memberOf(`iteration.${name}`, name, r, "fixed")),
];

const targetNamed: ReadonlyMap<string, Target> = new Map(targets.map((t) => [t.name, t]));

/* Places ------------------------------------------------------------------------------------------------- */

interface Spot {
  readonly path: string;
  readonly value: unknown;
}

/** Elements of a list that are places of their own. */
const MOST_ELEMENTS = 2;

function spotsIn(path: string, value: unknown, depth: number, into: Spot[]): void {
  into.push({ path, value });
  if (depth === 0) return;
  if (isList(value)) {
    for (const [i, x] of value.slice(0, MOST_ELEMENTS).entries()) {
      spotsIn(`${path}[${i}]`, x, depth - 1, into);
    }
  } else if (isPlain(value)) {
    for (const [key, x] of Object.entries(value)) spotsIn(`${path}.${key}`, x, depth - 1, into);
  }
}

function spotsOf(target: Target, args: readonly unknown[]): Spot[] {
  const spots: Spot[] = [];
  for (const [i, value] of args.entries()) {
    if (i === 0 && target.self === "fixed") continue;
    spotsIn(i === 0 && target.self === "tensor" ? "self" : String(i), value, 3, spots);
  }
  return spots;
}

const keysOf = (path: string): string[] => path.replace("self", "0").match(/[^.[\]]+/g)!;

/** The arguments with another value at a place; lists and objects on the way are copied. */
function replaced(container: unknown, keys: readonly string[], value: (before: unknown) => unknown): unknown {
  if (keys.length === 0) return value(container);
  const [key, ...rest] = keys;
  const copy = (isList(container) ? [...container] : { ...(container as Plain) }) as Plain;
  copy[key] = replaced(copy[key], rest, value);
  return copy;
}

/* Cases -------------------------------------------------------------------------------------------------- */

interface Change {
  readonly path: string;
  readonly mutator: string;
}

export interface Case {
  readonly target: Target;
  /** Which of the target's valid calls. */
  readonly way: number;
  readonly changes: readonly Change[];
}

export const lineOf = ({ target, way, changes }: Case): string =>
  `${target.name.replace(" ", "_")}:${way} ${changes.map((c) => `${c.path}=${c.mutator}`).join(" ")}`;

/** The case that a line says. */
export function caseOf(line: string): Case {
  const [head, ...parts] = line.split(" ");
  const [, name, way] = /^(.*):(\d+)$/.exec(head)!;
  const target = targetNamed.get(name.replace("_", " "));
  if (target === undefined) throw new Error(`no target ${name}`);
  const changes = parts.map((part) => {
    const at = part.indexOf("=");
    return { path: part.slice(0, at), mutator: part.slice(at + 1) };
  });
  return { target, way: Number(way), changes };
}

/** Gives a way's arguments to look at, and lets go of them. */
function spotsAt(target: Target, way: number): readonly { path: string; fits: readonly string[] }[] {
  const key = `${target.name}:${way}`;
  let known = spotCache.get(key);
  if (known === undefined) {
    const w = new World();
    const args = target.recipe.ways[way](w);
    known = spotsOf(target, args).map(({ path, value }) => ({
      path,
      fits: Object.keys(mutators).filter((m) => mutators[m].fits(value, { path, self: path === "self" })),
    }));
    w.end([]);
    spotCache.set(key, known);
  }
  return known;
}
const spotCache = new Map<string, readonly { path: string; fits: readonly string[] }[]>();

/** One case for a target and a mutator, where it fits at all: which place follows from the names. */
export function caseFor(target: Target, mutator: string): Case | null {
  const all = target.recipe.ways.flatMap((_, way) =>
    spotsAt(target, way)
      .filter((spot) => spot.fits.includes(mutator))
      .map((spot) => ({ way, path: spot.path })),
  );
  if (all.length === 0) return null;
  const { way, path } = all[hashOf(`${target.name} ${mutator}`) % all.length];
  return { target, way, changes: [{ path, mutator }] };
}

/** All places of a target that a mutator fits. */
export function casesFor(target: Target, mutator: string): Case[] {
  return target.recipe.ways.flatMap((_, way) =>
    spotsAt(target, way)
      .filter((spot) => spot.fits.includes(mutator))
      .map((spot) => ({ target, way, changes: [{ path: spot.path, mutator }] })),
  );
}

/** A random case: one change, or two at different places. */
function randomCase(random: Random): Case {
  const target = random.pick(targets.filter((t) => t.recipe.ways.length > 0));
  const way = random.below(target.recipe.ways.length);
  const spots = spotsAt(target, way);
  const changes: Change[] = [];
  const count = spots.length === 0 ? 0 : 1 + (random.below(3) === 0 ? 1 : 0);
  for (let i = 0; i < count; i++) {
    const spot = random.pick(spots);
    const inside = (c: Change) => c.path.startsWith(spot.path) || spot.path.startsWith(c.path);
    if (spot.fits.length > 0 && !changes.some(inside)) {
      changes.push({ path: spot.path, mutator: random.pick(spot.fits) });
    }
  }
  return { target, way, changes };
}

/* Running ------------------------------------------------------------------------------------------------- */

/** Longer than this and a call counts as hanging. */
const MOST_MILLISECONDS = 2000;

interface Outcome {
  readonly error: unknown;
  readonly result: unknown;
  readonly milliseconds: number;
}

/** Of the processor: what others do meanwhile does not count. */
const millisecondsSince = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

function attempt(target: Target, args: readonly unknown[]): Outcome {
  const start = process.cpuUsage();
  try {
    const result = target.call(args);
    return { error: undefined, result, milliseconds: millisecondsSince(start) };
  } catch (error) {
    return { error: error ?? "nothing", result: undefined, milliseconds: millisecondsSince(start) };
  }
}

/** What a valid call gives, as a text, and what is wrong with it. */
export function validCall(target: Target, way: number): { text: string; wrong: string | null } {
  canaries();
  const before = alive();
  const w = new World();
  const args = target.recipe.ways[way](w);
  const { error, result } = attempt(target, args);
  const text = error === undefined ? textOf(result, target.recipe.arbitrary !== true) : said(error);
  const raw = error !== undefined && !(error instanceof TensorError) ? said(error) : null;
  const letting = w.end(tensorsIn(result));
  const left = alive() - before;
  const wrong = raw ?? letting ?? w.damage() ?? (left === 0 ? null : `${left} tensors were not freed`);
  return { text, wrong };
}

const expected = new Map<string, string>();

/** What the valid call gave at first; the call before it makes what is made once, such as tables and kernels. */
function expectedText(target: Target, way: number): string {
  const key = `${target.name}:${way}`;
  let text = expected.get(key);
  if (text === undefined) {
    validCall(target, way);
    text = validCall(target, way).text;
    expected.set(key, text);
  }
  return text;
}

/** Other reads than of keys, for those who want to know: has, ownKeys, getOwnPropertyDescriptor. */
export const otherReads = new Map<string, number>();
/** How many cases ended in a result, and how many in an error. */
export const ends = { returned: 0, refused: 0 };

let progress: ((line: string) => void) | undefined;
/** Tells of each case before it runs: whoever watches can say which one hangs. */
export function watch(tell: (line: string) => void): void {
  progress = tell;
}

/** In a tree, what is no tensor, list or plain object stays as it is: also what only looks like a tensor. */
const isOther = (target: Target, changes: readonly Change[]): boolean =>
  target.recipe.trees === true && changes.some(({ mutator }) => /^class-options$|look-alike$/.test(mutator));

/** What is wrong after the case, or null. `afterwards`: with the valid call after it. */
export function run(of: Case, afterwards = true): string | null {
  canaries();
  const line = lineOf(of);
  progress?.(line);
  const { target, way } = of;
  const valid = expectedText(target, way);
  const before = alive();
  const depth = engine().scopes.depth;
  const w = new World();
  let args: unknown[];
  const used: Mutator[] = [];
  let refuses = false;
  try {
    args = target.recipe.ways[way](w);
    for (const { path, mutator } of of.changes) {
      const row = mutators[mutator];
      used.push(row);
      const place = { path, self: path === "self" };
      args = replaced(args, keysOf(path), (value) => {
        refuses ||= row.refuses?.(value, place) ?? false;
        return row.make(value, w, place);
      }) as unknown[];
    }
  } catch (error) {
    // A tensor that refuses to be prepared is safe from this mutator, if it refuses well.
    w.end([]);
    return error instanceof TensorError ? null : `${line} → preparing: ${said(error)}`;
  }
  const outcome = attempt(target, args);
  w.restore();
  const wrong = [...judge(of, outcome, used, w, valid)];
  if (refuses && !isOther(target, of.changes) && outcome.error === undefined)
    wrong.push("what is no tensor to use was taken for one");
  const letting = w.end(tensorsIn(outcome.result));
  if (letting !== null) wrong.push(letting);
  const left = alive() - before;
  if (left > 0) wrong.push(`${left} tensors were not freed`);
  if (left < 0) wrong.push(`${-left} tensors too many were freed`);
  if (engine().scopes.depth !== depth) wrong.push("a scope was left open");
  if (engine().listener !== null) {
    wrong.push("a listener was left");
    engine().listener = null;
  }
  if (afterwards) {
    const after = validCall(target, way);
    if (after.wrong !== null) wrong.push(`afterwards: ${after.wrong}`);
    else if (after.text !== valid) wrong.push("afterwards the valid call gives something else");
  }
  progress?.("");
  return wrong.length === 0 ? null : `${line} → ${wrong.join("; ")}`;
}

function* judge(
  of: Case,
  outcome: Outcome,
  used: readonly Mutator[],
  w: World,
  valid: string,
): Iterable<string> {
  const { error, result, milliseconds } = outcome;
  const damaged = w.damage();
  if (damaged !== null) yield damaged;
  if (milliseconds > MOST_MILLISECONDS) yield `took ${Math.round(milliseconds)} ms`;
  if (error !== undefined) {
    ends.refused++;
    const isOwn = used.some((m) => m.own?.test(String((error as Error).message)));
    // What a recipe's own function throws, given odd captured values, is its own.
    const isTheirs = of.changes.some(({ path }) => /\.with(\.|$)/.test(path));
    if (!(error instanceof TensorError || error === w.planted || isOwn || isTheirs))
      yield `raw ${said(error)}`;
    else if (error instanceof TensorError && error.code === "internal") yield `internal ${said(error)}`;
  }
  // Before the result is looked at: it may be what was given.
  for (const reads of readsOf(w)) {
    const twice = readTwice(reads);
    if (twice !== null) yield twice;
    for (const [name, n] of reads.others) otherReads.set(name, (otherReads.get(name) ?? 0) + n);
  }
  if (error === undefined) {
    ends.returned++;
    yield* judgeResult(of, result, used, w, valid);
  }
}

function* judgeResult(
  { target, changes }: Case,
  result: unknown,
  used: readonly Mutator[],
  w: World,
  valid: string,
): Iterable<string> {
  // What was given is given back: it is as odd as it was.
  const given = new Set<unknown>(w.tensors);
  for (const t of tensorsIn(result)) {
    if (given.has(t)) continue;
    try {
      if (!t.isDisposed && w.reaches(t)) yield "the result lies in memory of another tensor";
    } catch (error) {
      yield `the result cannot be looked at: ${said(error)}`;
    }
  }
  if (!used.every((m) => m.same)) return;
  if (isOther(target, changes)) return;
  let text: string;
  try {
    text = textOf(result, target.recipe.arbitrary !== true);
  } catch (error) {
    yield `the result cannot be read: ${said(error)}`;
    return;
  }
  if (text !== valid && !text.includes("disposed")) yield "the result is not that of the valid call";
}

/** The case of a seed. */
export function hostileCase(seed: number): {
  readonly name: string;
  describe(): string;
  run(): string | null;
} {
  canaries();
  const of = randomCase(randomOf(seed));
  const name = lineOf(of);
  return { name, describe: () => `hostile ${seed}: ${name}`, run: () => run(of) };
}

/** What is wrong with the case of a seed, as one line that can be run again; null if all is well. */
export function runHostile(seed: number): string | null {
  const found = hostileCase(seed).run();
  return found === null ? null : `hostile ${seed}: ${found}`;
}

/** The case that a line says, run. */
export const runLine = (line: string): string | null => run(caseOf(line));

/* Pollution ------------------------------------------------------------------------------------------------ */

/** Names that describe properties: on Object.prototype they break every program. */
const descriptorNames = ["value", "get", "set", "writable", "enumerable", "configurable"];

/** Every name that a valid call gives an option by: what somebody may have put on Object.prototype. */
export function optionNames(): readonly string[] {
  const names = new Set<string>();
  for (const target of targets) {
    for (const way of target.recipe.ways.keys()) {
      for (const { path } of spotsAt(target, way)) {
        const name = /\.([A-Za-z]\w*)$/.exec(path)?.[1];
        if (name !== undefined && !descriptorNames.includes(name)) names.add(name);
      }
    }
  }
  return [...names].sort();
}

/** Values that would change results if they were taken for options. */
export const pollutants: readonly ((name: string) => unknown)[] = [
  (name) => ({ dtype: "u8", out: 7, shape: [1], method: "nearest", mode: "valid" })[name] ?? 1,
  (name) => ({ dtype: "bf16", axis: [0], keepdims: true, init: 5 })[name] ?? true,
];

/** Runs the valid call with these names on Object.prototype; what it gives otherwise is told. */
export function runPolluted(
  target: Target,
  way: number,
  names: readonly string[],
  pollutant: (name: string) => unknown,
  enumerable: boolean,
): string | null {
  const valid = expectedText(target, way);
  const before = alive();
  const w = new World();
  const args = target.recipe.ways[way](w);
  const descriptors = names.map(
    (name) =>
      [
        name,
        Object.assign(Object.create(null), {
          value: pollutant(name),
          enumerable,
          configurable: true,
          writable: true,
        }),
      ] as const,
  );
  let outcome: Outcome;
  for (const [name, descriptor] of descriptors) Object.defineProperty(Object.prototype, name, descriptor);
  try {
    outcome = attempt(target, args);
  } finally {
    for (const name of names) Reflect.deleteProperty(Object.prototype, name);
  }
  const { error, result } = outcome;
  const text = error === undefined ? textOf(result, target.recipe.arbitrary !== true) : said(error);
  const wrong: string[] = [];
  if (text !== valid) wrong.push(error === undefined ? "another result" : said(error));
  const damaged = w.damage();
  if (damaged !== null) wrong.push(damaged);
  const letting = w.end(tensorsIn(result));
  if (letting !== null) wrong.push(letting);
  if (alive() !== before) wrong.push(`${alive() - before} tensors were not freed`);
  return wrong.length === 0 ? null : `${target.name}:${way} → ${wrong.join("; ")}`;
}
