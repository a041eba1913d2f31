/**
 * Derivatives of templates, in forward mode: one walk in which every node gets its value and its tangent. The tangent of an
 * operand is what is asked for (a 1, or the gradient that comes back), that of everything else follows from the table of
 * rows.ts. Nothing has a dtype here: one derivative serves them all.
 */
import { dtypes } from "../dtype.ts";
import { fail } from "../errors.ts";
import { TemplateBuilder } from "../frontend/template.ts";
import { programTemplate } from "../fuse/template.ts";
import type { Id, Program, Template, TemplateNode } from "../ir/node.ts";
import type { OpName } from "../ir/ops.ts";
import { Definition } from "../ops/function.ts";
import type { Captured } from "../run/call.ts";
import { Algebra, type Partial, partials } from "./rows.ts";

const table: Record<OpName, readonly (Partial | null)[]> = partials;

/** The walk: `template` written into `t` on operands and captured values, with tangents; null is 0. */
export function tangentsOf(
  t: TemplateBuilder,
  template: Template,
  args: readonly Id[],
  params: readonly Id[],
  seeds: readonly (Id | null)[],
): { readonly values: readonly Id[]; readonly tangents: readonly (Id | null)[] } {
  const values: Id[] = [];
  const tangents: (Id | null)[] = [];
  /** Nodes of `t` that depend on an operand. */
  const varying = new Set<Id>(args);
  const k = new Algebra(t, (id) => varying.has(id));
  template.nodes.forEach((node, place) => {
    const { value, tangent } = step(k, template, node, place, values, tangents, { args, params, seeds });
    values.push(value);
    tangents.push(tangent);
    if ("args" in node && node.args.some((a) => varying.has(values[a]))) varying.add(value);
  });
  return { values, tangents };
}

interface Given {
  readonly args: readonly Id[];
  readonly params: readonly Id[];
  readonly seeds: readonly (Id | null)[];
}

function step(
  k: Algebra,
  template: Template,
  node: TemplateNode,
  place: Id,
  values: readonly Id[],
  tangents: readonly (Id | null)[],
  { args, params, seeds }: Given,
): { readonly value: Id; readonly tangent: Id | null } {
  const { t } = k;
  switch (node.op) {
    case "input":
      return { value: args[node.index], tangent: seeds[node.index] };
    case "param":
      return { value: params[node.index], tangent: null };
    case "literal":
      return { value: t.literal(node.value), tangent: null };
    case "cast": {
      const [x] = node.args;
      const tangent = dtypes[node.dtype].kind === "float" ? tangents[x] : null;
      return { value: t.cast(node.dtype, values[x]), tangent };
    }
    case "read":
      return fail(
        "kernel",
        "derivative",
        `the function reads the table "${node.name}", which is not kept for the way back.`,
        "Give the tensor as one more operand, gathered with take, or name a gradient with customGradient.",
      );
    case "loop":
    case "item":
      return fail(
        "kernel",
        "derivative",
        "the function has a loop whose turns are not known before it runs; what it computes has no derivative here.",
        "Write a fixed number of turns, such as for (let i = 0; i < 10; i++), or name one with customGradient.",
      );
    case "tuple":
      // What each of its results is belongs to them.
      return { value: t.tuple(node.args.map((a) => values[a])), tangent: null };
    case "select":
      return {
        value: t.op(
          "select",
          node.args.map((a) => values[a]),
        ),
        tangent: ofChoice(k, template, place, node.args, values, tangents),
      };
    default: {
      const x = node.args.map((a) => values[a]);
      const value = t.op(node.op, x);
      let tangent: Id | null = null;
      node.args.forEach((a, i) => {
        const d = tangents[a];
        const partial = table[node.op][i];
        if (d === null || partial === null) return;
        const part = partial(k, d, x, value);
        tangent = tangent === null ? part : k.add(tangent, part);
      });
      return { value, tangent };
    }
  }
}

/** The tangent of a choice is the choice of the tangents: what was not chosen has no part in it, be it NaN. */
function ofChoice(
  k: Algebra,
  template: Template,
  place: Id,
  [c, a, b]: readonly Id[],
  values: readonly Id[],
  tangents: readonly (Id | null)[],
): Id | null {
  const [da, db] = [tangents[a], tangents[b]];
  if (isPowerOfOne(template, place)) return db;
  if (da === null && db === null) return null;
  const joined = joinedTie(k, template, place, values, tangents);
  if (joined !== null) return joined;
  return k.op("select", values[c], da ?? k.num(0), db ?? k.num(0));
}

/**
 * `a == 1 || … ? 1 : a ** b`, which is a ** b where it is finite, and as smooth: a test that only keeps 1 ** NaN from
 * being NaN is no step.
 */
function isPowerOfOne({ nodes }: Template, place: Id): boolean {
  const node = nodes[place] as TemplateNode & { readonly args: readonly Id[] };
  const [test, yes, no] = node.args.map((a) => nodes[a]);
  if (test.op !== "or" || no.op !== "pow" || yes.op !== "literal" || yes.value !== 1) return false;
  const equal = nodes[test.args[0]];
  return equal.op === "eq" && equal.args[0] === no.args[0];
}

/**
 * logaddexp says `a == b ? a + log 2 : …` for the sake of infinities: where two finite numbers are equal, each has half of
 * the derivative, which is what the other branch has there.
 */
function joinedTie(
  k: Algebra,
  template: Template,
  place: Id,
  values: readonly Id[],
  tangents: readonly (Id | null)[],
): Id | null {
  const { nodes, name, source } = template;
  if (source !== "" || !name.startsWith("logaddexp")) return null;
  const node = nodes[place] as TemplateNode & { readonly args: readonly Id[] };
  const test = nodes[node.args[0]];
  const other = tangents[node.args[2]];
  if (test.op !== "eq" || other === null) return null;
  const [a, b] = test.args;
  const sum = [tangents[a], tangents[b]].filter((d) => d !== null).reduce((x, y) => k.add(x, y));
  const infinite = k.op("and", values[node.args[0]], k.op("isInf", values[a]));
  return k.op("select", infinite, k.mul(sum, k.num(0.5)), other);
}

/* What comes back --------------------------------------------------------------------------------------------- */

/** How a gradient passes a function of elements, from its results to one operand. */
export interface Pull {
  /** Of those operands, in this order: the function's own, then the gradients of its results, and what is there already. */
  readonly definition: Definition;
  /** Which of them it takes: the first are the function's operands, then come the results' gradients. */
  readonly uses: readonly number[];
  /** It is the gradient itself. */
  readonly isSame: boolean;
}

/** By operand, twice: as they are, and added to what is there. */
type Pulls = (Pull | null | undefined)[];
const pulls = new WeakMap<Definition, Map<string, Pulls>>();

/**
 * How the gradients of a function's results reach operand `i`: Σ over results of g·∂result/∂x; with `adds`, added to one
 * more operand. null: not at all.
 */
export function pullOf(
  definition: Definition,
  i: number,
  values: readonly Captured[],
  adds = false,
): Pull | null {
  let known = pulls.get(definition);
  if (known === undefined) {
    known = new Map();
    pulls.set(definition, known);
  }
  let kind = "";
  for (let p = 0; p < values.length; p++) kind += typeof values[p] === "boolean" ? "b" : "n";
  let own = known.get(kind);
  if (own === undefined) {
    own = [];
    known.set(kind, own);
  }
  const place = 2 * i + (adds ? 1 : 0);
  let pull = own[place];
  if (pull === undefined) {
    pull = makePull(definition, i, values, adds);
    own[place] = pull;
  }
  return pull;
}

function makePull(
  { template, fastMath }: Definition,
  i: number,
  values: readonly Captured[],
  adds: boolean,
): Pull | null {
  const t = new TemplateBuilder();
  const last = template.nodes[template.result];
  const results = last.op === "tuple" ? last.args : [template.result];
  const own = template.inputs;
  const args = Array.from({ length: own }, (_, k) => t.input(k));
  const params = paramsIn(t, values);
  let sum: Id | null = null;
  results.forEach((result, r) => {
    const g = t.input(own + r);
    const seeds = args.map((_, k) => (k === i ? g : null));
    const tangent = tangentsOf(t, template, args, params, seeds).tangents[result];
    if (tangent !== null) sum = sum === null ? tangent : t.op("add", [sum, tangent]);
  });
  if (sum === null) return null;
  const isSame = sum === t.input(own) && results.length === 1;
  const total = adds ? t.op("add", [t.input(own + results.length), sum]) : sum;
  return { ...compact(t, total, template, own + results.length + 1, fastMath), isSame };
}

const paramsIn = (t: TemplateBuilder, values: readonly Captured[]): Id[] =>
  values.map((v, p) => t.param(p, typeof v === "boolean" ? "boolean" : "number"));

/** A template of only those operands that are used. */
function compact(
  t: TemplateBuilder,
  result: Id,
  { params, source, name }: Template,
  inputs: number,
  fastMath: boolean,
): { readonly definition: Definition; readonly uses: readonly number[] } {
  const whole = t.finish(result, { inputs, params, source, name });
  const used = new Set(whole.nodes.flatMap((node) => (node.op === "input" ? [node.index] : [])));
  const uses = [...used].sort((a, b) => a - b);
  const nodes = whole.nodes.map((node) =>
    node.op === "input" ? { ...node, index: uses.indexOf(node.index) } : node,
  );
  return { definition: new Definition({ ...whole, nodes, inputs: uses.length }, fastMath), uses };
}

/* Derivatives of kernels ---------------------------------------------------------------------------------------- */

/** x ↦ ∂f/∂x[i], of the same operands and captured values. */
export function derivativeTemplate(template: Template, i: number, values: readonly Captured[]): Template {
  const t = new TemplateBuilder();
  const args = Array.from({ length: template.inputs }, (_, k) => t.input(k));
  const params = paramsIn(t, values);
  const seeds = args.map((_, k) => (k === i ? t.literal(1) : null));
  const { values: made, tangents } = tangentsOf(t, template, args, params, seeds);
  const tangent = tangents[template.result] ?? t.literal(0);
  const { inputs, params: names, source, name } = template;
  // A derivative that no operand is left in still has their dtype.
  const nodes = t.finish(tangent, { inputs }).nodes;
  const isConstant = !nodes.some((node) => node.op === "input");
  const result = isConstant ? typed(t, made[template.result], tangent) : tangent;
  return t.finish(result, { inputs, params: names, source, name: name === "" ? "" : `${name}'` });
}

/** A number in the dtype of a value, whatever that is: the value is looked at and left out. */
const typed = (t: TemplateBuilder, value: Id, number: Id): Id =>
  t.op("select", [
    t.op("eq", [value, value]),
    number,
    t.op("select", [t.op("ne", [value, value]), number, value]),
  ]);

/* Programs ------------------------------------------------------------------------------------------------------- */

const ofPrograms = new WeakMap<Program, Definition | null>();

/** A program as a function of any dtypes, for its derivative; null where it reads bits. */
export function definitionOf(program: Program): Definition | null {
  let definition = ofPrograms.get(program);
  if (definition === undefined) {
    const template = programTemplate(program, { typed: false });
    definition = template === null ? null : new Definition(template);
    ofPrograms.set(program, definition);
  }
  return definition;
}
