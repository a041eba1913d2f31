/**
 * Programs made of programs. What one operation would store and the next one load is passed on inside one program; stored
 * values of 16 bits are rounded as storing rounds them, so the bits are those of the separate operations.
 */
import type { DType } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import { Builder } from "../ir/build.ts";
import { type Id, type Program, resultsOf } from "../ir/node.ts";
import { short } from "../ir/print.ts";
import { widenHalf } from "../optimize/decompose.ts";
import type { Early, Fold } from "../optimize/reduce.ts";
import type { Captured } from "../run/call.ts";
import type { View } from "../view/view.ts";
import type { Made, MapNote, Note, Ref } from "./trace.ts";
import { indexMap, mapped } from "./views.ts";

/** What a kernel computes: its program, what it reads, and captured values. */
export interface Composed {
  readonly program: Program;
  readonly leaves: readonly Ref[];
  readonly values: readonly Captured[];
  /** As a reader would write it, of leaves a, b, …. */
  readonly text: string;
  /** Operations that are in it. */
  readonly operations: number;
}

const names = "abcdefghijklmnopqrstuvwxyz";
export const leafName = (k: number): string => names[k] ?? `x${k}`;

const widened = new WeakMap<Program, Program>();

/** The same program with 16-bit floats at its rim only: inside it is in f32, at the end it is rounded. */
function atRim(program: Program): Program {
  let wide = widened.get(program);
  if (wide === undefined) {
    wide = widenHalf(program);
    widened.set(program, wide);
  }
  return wide;
}

/** Writes the values that a kernel wants, as seen in its own shape, into one program. */
export class Composer {
  readonly #b = new Builder();
  readonly #leaves: Ref[] = [];
  readonly #leafIds = new Map<string, Id>();
  readonly #values: Captured[] = [];
  readonly #params: DType[] = [];
  readonly #done = new Map<string, readonly Id[]>();
  readonly #texts = new Map<Id, string>();
  readonly #notes: readonly Note[];
  readonly #made: readonly Made[];
  /** Which values are in memory. */
  readonly #stored: ReadonlySet<number>;
  #operations = 0;

  constructor(notes: readonly Note[], made: readonly Made[], stored: ReadonlySet<number>) {
    this.#notes = notes;
    this.#made = made;
    this.#stored = stored;
  }

  /** Elements in the kernel's shape: computed here, or read. */
  read(ref: Ref): Id {
    const { place, frame } = ref;
    if (place.kind !== "made" || this.#stored.has(place.id)) return this.#leaf(ref);
    return (
      this.value(place.id, frame) ?? unreachable("a value that is not stored is viewed as only memory can be")
    );
  }

  /** A value that a note makes, seen through `frame`; null where that cannot be said. */
  value(id: number, frame: View): Id | null {
    const made = this.#made[id];
    const note = this.#notes[made.note] as MapNote;
    const map = indexMap(made.frame, frame);
    if (map === null) return null;
    const key = `${made.note}:${frame.offset}:${frame.strides}:${frame.shape}`;
    let ids = this.#done.get(key);
    if (ids === undefined) {
      const { shape } = frame;
      const args = note.inputs.map((r) => this.read({ ...r, frame: mapped(r.frame, map, shape) }));
      ids = this.#splice(note, args);
      this.#done.set(key, ids);
    }
    return ids[made.part];
  }

  finish(results: readonly Id[]): Composed {
    const b = this.#b;
    const types = this.#leaves.map((l) => l.dtype);
    const result = results.length === 1 ? results[0] : b.tuple(...results);
    const texts = results.map((id) => this.#texts.get(id)!);
    return {
      program: pruned(b.finish(result, types, this.#params)),
      leaves: this.#leaves,
      values: this.#values,
      text: texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`,
      operations: this.#operations,
    };
  }

  #leaf(ref: Ref): Id {
    const { place, frame, dtype } = ref;
    const of =
      place.kind === "argument"
        ? `a${place.index}`
        : place.kind === "made"
          ? `m${place.id}`
          : `c${capturedId(place.storage)}`;
    const key = `${of}:${frame.offset}:${frame.strides}`;
    let id = this.#leafIds.get(key);
    if (id === undefined) {
      id = this.#b.input(this.#leaves.length, dtype);
      this.#leafIds.set(key, id);
      this.#texts.set(id, leafName(this.#leaves.length));
      this.#leaves.push(ref);
    }
    return id;
  }

  #splice({ program, values, operation }: MapNote, args: readonly Id[]): readonly Id[] {
    this.#operations++;
    const base = this.#params.length;
    this.#params.push(...program.params);
    this.#values.push(...values.slice(0, program.params.length));
    const ids = splice(this.#b, atRim(program), args, base);
    const [first, ...rest] = args.map((a) => short(this.#texts.get(a)!));
    const given = [...rest, ...values.map(String)].join(", ");
    const dtype = this.#b.dtypeOf(ids[0]);
    const text =
      operation === "to" ? `${first}.to("${dtype}")` : `${first ?? "tensor"}.${operation}(${given})`;
    ids.forEach((id, k) => {
      if (!this.#texts.has(id)) this.#texts.set(id, ids.length === 1 ? text : `${text}[${k}]`);
    });
    return ids;
  }
}

const storages = new WeakMap<object, number>();
let lastStorage = 0;
function capturedId(storage: object): number {
  let id = storages.get(storage);
  if (id === undefined) {
    id = ++lastStorage;
    storages.set(storage, id);
  }
  return id;
}

/** Writes a program into a builder, its inputs being `args` and its captured values those from `base` on: its results. */
export function splice(b: Builder, program: Program, args: readonly Id[], base: number): readonly Id[] {
  const places: Id[] = [];
  for (const node of program.nodes) {
    if (node.op === "input") places.push(args[node.index]);
    else if (node.op === "param") places.push(b.param(base + node.index, node.dtype));
    else if (node.op === "tuple") places.push(-1);
    else {
      const { span: _, ...plain } = node;
      places.push(b.add({ ...plain, args: node.args.map((a) => places[a]) }));
    }
  }
  return resultsOf(program).map((id) => places[id]);
}

/** Without nodes that nobody wants. */
function pruned(program: Program): Program {
  const live = new Array<boolean>(program.nodes.length).fill(false);
  live[program.result] = true;
  for (let id = program.nodes.length - 1; id >= 0; id--)
    if (live[id]) for (const a of program.nodes[id].args) live[a] = true;
  const b = new Builder();
  const places: Id[] = [];
  program.nodes.forEach((node, id) => {
    places.push(live[id] ? b.add({ ...node, args: node.args.map((a) => places[a]) }) : -1);
  });
  return b.finish(places[program.result], program.inputs, program.params);
}

/* Folds ------------------------------------------------------------------------------------------------------------ */

/** The fold whose values are computed by `map`, one for each of its inputs, instead of read. */
export function foldOfMap(fold: Fold, map: Program): Fold {
  const own = map.params.length;
  const through = (program: Program, hasAcc: boolean): Program => {
    const b = new Builder();
    const shift = hasAcc ? 1 : 0;
    const leaves = map.inputs.map((dtype, k) => b.input(k + shift, dtype));
    const values = splice(b, map, leaves, 0);
    const args = hasAcc ? [b.input(0, program.inputs[0]), ...values] : values;
    const [result] = splice(b, program, args, own);
    const inputs = hasAcc ? [program.inputs[0], ...map.inputs] : map.inputs;
    return pruned(b.finish(result, inputs, [...map.params, ...program.params]));
  };
  const { algebra } = fold;
  const early: Early | null =
    algebra === null || algebra.early === null
      ? null
      : { ...algebra.early, value: through(algebra.early.value, true) };
  return {
    ...fold,
    step: through(fold.step, true),
    first: fold.first === null ? null : through(fold.first, false),
    algebra: algebra === null ? null : { ...algebra, early },
  };
}

/** Captured values of such a fold: of its steps, its end, its first element. */
export function foldValues(fold: Fold, own: readonly Captured[], map: readonly Captured[]): Captured[] {
  const afterStep = fold.step.params.length;
  const afterFinish = afterStep + fold.finish.params.length;
  return [
    ...map,
    ...own.slice(0, afterStep),
    ...own.slice(afterStep, afterFinish),
    ...(fold.first === null ? [] : [...map, ...own.slice(afterFinish)]),
  ];
}

/** The fold with an operation on its result done at its end. */
export function foldThen(fold: Fold, then: Program): Fold {
  const b = new Builder();
  const [carry] = fold.finish.inputs;
  const [value] = splice(b, fold.finish, [b.input(0, carry)], 0);
  const [result] = splice(b, atRim(then), [value], fold.finish.params.length);
  const finish = b.finish(result, [carry], [...fold.finish.params, ...then.params]);
  return { ...fold, finish, plain: false };
}
