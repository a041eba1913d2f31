/** A fold of what a function makes of several tensors, in one loop where both can be compiled. */
import type { DType } from "../dtype.ts";
import { counted, describe, fail } from "../errors.ts";
import { inlineTemplate, TemplateBuilder } from "../frontend/template.ts";
import type { Template } from "../ir/node.ts";
import type { Strided } from "../run/call.ts";
import { changed, checkOptionalDType, readOptions, without } from "./arguments.ts";
import { elementwise } from "./elementwise.ts";
import { Callable, Definition } from "./function.ts";
import {
  isTooLarge,
  type ReduceExtras,
  type ReduceOptions,
  reduce,
  reduceBy,
  reduceNames,
  TOO_LARGE,
} from "./reduce.ts";
import { accumulationOf, callableFor, conversionOf } from "./reductions.ts";
import { checkAlive, withTemporary } from "./strided.ts";
import { tellCopy } from "./tell.ts";

const namedFolds = ["sum", "prod", "max", "min"] as const;
export type NamedFold = (typeof namedFolds)[number];

export interface MapReduceOptions extends ReduceOptions {
  /** What folds the mapped values. Default "sum". A function keeps the order of the elements. */
  readonly reduce?: NamedFold | Callable;
}

/** The fold of map(x0, x1, …) over tensors that broadcast together: no tensor is made in between. */
export const mapReduce = (
  operation: string,
  tensors: readonly Strided[],
  plain: Callable,
  given: MapReduceOptions = {},
): Strided => mapReducer(operation, plain, given)(tensors);

/** The same as a function of the tensors: what does not depend on them is read once, what depends on their dtypes kept. */
export function mapReducer(
  operation: string,
  plain: Callable,
  given: MapReduceOptions,
): (tensors: readonly Strided[]) => Strided {
  const all = readOptions(operation, given, '{ reduce: "sum", axis: 1 }', ["reduce", ...reduceNames]);
  const { compute, reduce: how = "sum" } = all;
  const options = without(all, "compute", "reduce");
  checkOptionalDType(operation, options.dtype);
  const map = plain.computed(checkOptionalDType(operation, compute));
  if (!(how instanceof Callable) && !namedFolds.includes(how)) {
    fail(
      "value",
      operation,
      `reduce is ${describe(how)}.`,
      'Use "sum", "prod", "max", "min" or a function (acc, x) => ….',
    );
  }
  let types: readonly DType[] = [];
  let fused: Fused | null = null;
  return (tensors) => {
    checkTensors(operation, tensors, map);
    if (types.length !== tensors.length || tensors.some((t, k) => t.dtype !== types[k])) {
      types = tensors.map((t) => t.dtype);
      fused = fusedFor(map, how, types, options);
    }
    return (
      fusedReduce(operation, tensors, fused) ?? plainReduce(operation, tensors, map, how, options, compute)
    );
  };
}

function checkTensors(operation: string, tensors: readonly Strided[], map: Callable): void {
  if (!Array.isArray(tensors) || tensors.length === 0) {
    fail(
      "value",
      operation,
      Array.isArray(tensors) ? "no tensors." : `expected an array of tensors, got ${describe(tensors)}.`,
      "Give at least one.",
    );
  }
  for (const t of tensors) checkAlive(operation, t);
  const wants = map.template?.inputs;
  if (wants !== undefined && wants !== tensors.length) {
    fail(
      "kernel",
      operation,
      `the function takes ${counted(wants, "value")}, got ${counted(tensors.length, "tensor")}.`,
      "Give one tensor for each parameter.",
    );
  }
}

interface Fused {
  readonly callable: Callable;
  readonly options: ReduceOptions;
  readonly extras: ReduceExtras;
}

/** The two as one, for elements of these dtypes; null: they cannot be. */
function fusedFor(
  map: Callable,
  how: NamedFold | Callable,
  types: readonly DType[],
  options: ReduceOptions,
): Fused | null {
  if (map.definition === null) return null;
  const element = how instanceof Callable ? null : map.program(types)!.dtype;
  const { fold, full, extras } = folding(how, element!, options);
  const callable = fuse(map, fold);
  return callable === null ? null : { callable, options: full, extras: { ...extras, map, fold } };
}

/** null: the two cannot be one. */
function fusedReduce(operation: string, tensors: readonly Strided[], fused: Fused | null): Strided | null {
  if (fused === null || isTooLarge(fused.callable)) return null;
  try {
    return reduceBy(operation, fused.callable, tensors, fused.options, fused.extras);
  } catch (error) {
    if (error !== TOO_LARGE) throw error;
    return null;
  }
}

/** The same in two steps, where one of the functions cannot be compiled. */
function plainReduce(
  operation: string,
  tensors: readonly Strided[],
  map: Callable,
  how: NamedFold | Callable,
  options: ReduceOptions,
  compute: DType | undefined,
): Strided {
  return withTemporary(elementwise(operation, map, tensors, null, undefined, compute), (mapped) => {
    const why = "map and reduce could not be fused, so the mapped values are stored first";
    tellCopy(operation, mapped.storage.bytes, why);
    const { fold, full, extras } = folding(how, mapped.dtype, options);
    return reduce(operation, fold, mapped, full, extras);
  });
}

/** What folds elements of that dtype: a named fold starts somewhere, is carried in one dtype and stored in another. */
function folding(
  how: NamedFold | Callable,
  element: DType,
  options: ReduceOptions,
): { readonly fold: Callable; readonly full: ReduceOptions; readonly extras: ReduceExtras } {
  if (how instanceof Callable) return { fold: how, full: options, extras: {} };
  const { init, carry, result } = accumulationOf(how, element, options.dtype);
  const full = changed(options, { init: options.init ?? init, dtype: carry });
  return { fold: callableFor(how, conversionOf(how, element, options)), full, extras: { result } };
}

const fusions = new WeakMap<Definition, WeakMap<Definition, Definition>>();

/** (acc, x0, x1, …) => fold(acc, map(x0, x1, …)); null if one of the two has no template. */
function fuse(map: Callable, fold: Callable): Callable | null {
  if (map.definition === null || fold.definition === null || fold.template!.inputs !== 2) return null;
  let known = fusions.get(map.definition);
  if (known === undefined) {
    known = new WeakMap();
    fusions.set(map.definition, known);
  }
  let fused = known.get(fold.definition);
  if (fused === undefined) {
    fused = new Definition(fuseTemplates(map.template!, fold.template!));
    known.set(fold.definition, fused);
  }
  return new Callable(fused, {
    values: [...map.values, ...fold.values],
    tables: [...map.tables, ...fold.tables],
  });
}

function fuseTemplates(map: Template, fold: Template): Template {
  const b = new TemplateBuilder();
  const args = Array.from({ length: map.inputs }, (_, i) => b.input(i + 1));
  const params = [...map.params, ...fold.params];
  const ids = params.map((_, i) => b.param(i));
  const into = { guard: null, effects: [] as number[] };
  const x = inlineTemplate(b, map, args, ids.slice(0, map.params.length), undefined, into);
  const result = inlineTemplate(b, fold, [b.input(0), x], ids.slice(map.params.length), undefined, into);
  return b.finish(result, {
    effects: into.effects,
    inputs: args.length + 1,
    params: params.map((name, i) => `${name}#${i}`),
    source: map.source,
    name: map.name,
  });
}
