/**
 * From notes to kernels. Which values are stored is decided first; everything else is computed where it is read. A kernel
 * is then one loop: the stored values of one shape that can be computed together, or a fold with all that it folds.
 *
 * A value is stored if it is returned, if something that is done as a whole reads it, if a view of it can only be a view of
 * memory, or if computing it again in every kernel that reads it would cost more than storing it. A fold is stored, unless
 * all that is done with it is one operation without other tensors: that is done at the fold's end.
 */
import { isFloat } from "../dtype.ts";
import { unreachable } from "../errors.ts";
import type { Program } from "../ir/node.ts";
import { Callable, Definition } from "../ops/function.ts";
import type { Fold } from "../optimize/reduce.ts";
import { codeSize, inVectors } from "../optimize/size.ts";
import type { Captured, FoldWork } from "../run/call.ts";
import { sameShape, sizeOf } from "../view/layout.ts";
import { contiguousView, isContiguous, type View } from "../view/view.ts";
import { type Composed, Composer, foldOfMap, foldThen, foldValues, leafName } from "./compose.ts";
import { likeStored, type Stored } from "./like.ts";
import { programTemplate } from "./template.ts";
import type { FoldNote, Made, MapNote, Note, Ref, WholeNote } from "./trace.ts";
import { indexMap, sameView } from "./views.ts";

export interface MapKernel {
  readonly kind: "map";
  readonly outs: readonly number[];
  readonly leaves: readonly Ref[];
  readonly callable: Callable;
  readonly text: string;
  readonly operations: number;
}
export interface FoldKernel {
  readonly kind: "fold";
  readonly outs: readonly [number];
  readonly leaves: readonly Ref[];
  readonly fold: Fold;
  readonly values: readonly Captured[];
  readonly work: Pick<FoldWork, "isFolded" | "init">;
  /** The fold of stored values whose groups are kept; null: it may have its own. */
  readonly like: Stored | null;
  /** Where the result goes: the axes that stay. */
  readonly frame: View;
  readonly text: string;
  readonly operations: number;
}
export interface WholeStep {
  readonly kind: "whole";
  readonly outs: readonly number[];
  readonly leaves: readonly Ref[];
  readonly note: WholeNote;
  readonly text: string;
  readonly operations: number;
}
export type Kernel = MapKernel | FoldKernel | WholeStep;

export interface Schedule {
  readonly made: readonly Made[];
  readonly kernels: readonly Kernel[];
  /** Values that nobody reads after kernel k. */
  readonly releases: readonly (readonly number[])[];
}

export interface ScheduleOptions {
  /** Sums of floats are grouped as those of stored values would be. */
  readonly exact: boolean;
}

/** Operations a kernel unfolds to at the most, and what it reads. */
const MOST_CODE = 1200;
const MOST_LEAVES = 24;
/** Operations that may be computed again rather than stored, in all kernels but one. */
const MOST_AGAIN = 64;
/** Operations that may be computed again for every element of a larger shape. */
const MOST_REPEATED = 12;
/** Results of one kernel. */
const MOST_RESULTS = 8;

export function schedule(
  notes: readonly Note[],
  made: readonly Made[],
  results: readonly Ref[],
  options: ScheduleOptions,
): Schedule {
  return new Scheduler(notes, made, results, options).run();
}

/** A fold with the operations at its end: what it makes is what the last of them makes. */
interface Ended {
  readonly note: FoldNote;
  readonly fold: Fold;
  readonly values: readonly Captured[];
  readonly out: number;
  readonly text: string;
  readonly operations: number;
}

interface Use {
  readonly by: number;
  readonly ref: Ref;
}

class Scheduler {
  readonly #notes: readonly Note[];
  readonly #made: readonly Made[];
  readonly #exact: boolean;
  readonly #uses: Use[][];
  readonly #isResult: boolean[];
  readonly #stored = new Set<number>();
  /** Notes that something needs. */
  readonly #isLive: boolean[];
  /** Folds by what they make, and notes that became the end of one. */
  readonly #ended = new Map<number, Ended>();
  readonly #absorbed = new Set<number>();

  constructor(
    notes: readonly Note[],
    made: readonly Made[],
    results: readonly Ref[],
    { exact }: ScheduleOptions,
  ) {
    this.#notes = notes;
    this.#made = made;
    this.#exact = exact;
    this.#uses = made.map(() => []);
    this.#isResult = made.map(() => false);
    this.#isLive = notes.map(() => false);
    for (const { place } of results) if (place.kind === "made") this.#isResult[place.id] = true;
  }

  run(): Schedule {
    this.#findUses();
    this.#endFolds();
    this.#chooseStored();
    const kernels = this.#kernels();
    return { made: this.#made, kernels, releases: this.#releases(kernels) };
  }

  #findUses(): void {
    for (let n = this.#notes.length - 1; n >= 0; n--) {
      const note = this.#notes[n];
      if (!note.outs.some((id) => this.#isResult[id] || this.#uses[id].length > 0)) continue;
      this.#isLive[n] = true;
      for (const ref of note.inputs)
        if (ref.place.kind === "made") this.#uses[ref.place.id].push({ by: n, ref });
    }
  }

  /** Operations without other tensors, on the result of a fold and on all of it, are done at its end. */
  #endFolds(): void {
    this.#notes.forEach((note, n) => {
      if (note.kind !== "fold" || !this.#isLive[n]) return;
      let ended: Ended = {
        note,
        fold: note.work.fold,
        values: note.values,
        out: note.outs[0],
        text: `${note.operation}()`,
        operations: 1,
      };
      for (let next = this.#endOf(ended); next !== null; next = this.#endOf(ended)) {
        const then = this.#notes[next] as MapNote;
        const { fold, values } = ended;
        const upTo = fold.step.params.length + fold.finish.params.length;
        ended = {
          ...ended,
          fold: foldThen(fold, then.program),
          values: [...values.slice(0, upTo), ...then.values, ...values.slice(upTo)],
          out: then.outs[0],
          text: `${ended.text}.${then.operation}(${then.values.join(", ")})`,
          operations: ended.operations + 1,
        };
        this.#absorbed.add(next);
      }
      this.#ended.set(ended.out, ended);
    });
  }

  #endOf({ out, fold }: Ended): number | null {
    const uses = this.#uses[out];
    if (this.#isResult[out] || uses.length === 0 || fold.finish.nodes.length > 200) return null;
    const [{ by, ref }] = uses;
    const then = this.#notes[by];
    if (uses.length !== 1 || then.kind !== "map" || then.outs.length !== 1 || then.inputs.length !== 1)
      return null;
    const [from, to] = [this.#made[out].frame, this.#made[then.outs[0]].frame];
    return sameView(from, ref.frame) && isContiguous(from) && isContiguous(to) ? by : null;
  }

  /* What is stored --------------------------------------------------------------------------------------------- */

  #chooseStored(): void {
    const stored = this.#stored;
    this.#made.forEach((made, id) => {
      const { kind } = this.#notes[made.note];
      if (!this.#isLive[made.note] || this.#absorbed.has(made.note)) return;
      if (kind !== "map" || this.#isResult[id]) stored.add(id);
    });
    for (const [id, { note }] of this.#ended) {
      stored.delete(note.outs[0]);
      stored.add(id);
    }
    this.#made.forEach((_, id) => {
      const isViewed = this.#uses[id].some(({ by, ref }) => !this.#canBeRead(id, by, ref));
      if (this.#isInlined(id) && isViewed) stored.add(id);
    });
    this.#limitSizes();
    this.#limitRepeats();
    this.#storeForFolds();
  }

  /** Is it computed where it is read? */
  #isInlined(id: number): boolean {
    const { note } = this.#made[id];
    return (
      this.#isLive[note] &&
      this.#notes[note].kind === "map" &&
      !this.#stored.has(id) &&
      !this.#absorbed.has(note)
    );
  }

  #canBeRead(id: number, by: number, ref: Ref): boolean {
    return this.#notes[by].kind !== "whole" && indexMap(this.#made[id].frame, ref.frame) !== null;
  }

  /** Kernels stay of a size that compiles in milliseconds. */
  #limitSizes(): void {
    const code = this.#made.map(() => 0);
    const leaves = this.#made.map(() => 0);
    this.#notes.forEach((note) => {
      const inlined = note.inputs.flatMap(({ place }) =>
        place.kind === "made" && this.#isInlined(place.id) ? [place.id] : [],
      );
      const own = note.kind === "map" ? codeSize(note.program).nodes : 0;
      let [size, reads] = [own, note.inputs.length - inlined.length];
      for (const id of inlined) [size, reads] = [size + code[id], reads + leaves[id]];
      if (size > MOST_CODE || reads > MOST_LEAVES) {
        for (const id of inlined) this.#stored.add(id);
        [size, reads] = [own, note.inputs.length];
      }
      for (const id of note.outs) [code[id], leaves[id]] = [size, reads];
    });
  }

  /** Values that several kernels read, or that are read many times, are stored where that is cheaper. */
  #limitRepeats(): void {
    // From the last to the first: who reads a value is known when it is looked at.
    const readers = this.#made.map(() => new Set<number>());
    for (let id = this.#made.length - 1; id >= 0; id--) {
      if (!this.#isInlined(id)) continue;
      const { note, frame } = this.#made[id];
      const size = codeSize((this.#notes[note] as MapNote).program).nodes;
      let isRepeated = false;
      for (const { by, ref } of this.#uses[id]) {
        const to = this.#notes[by];
        if (to.kind === "fold" || to.outs.some((out) => this.#stored.has(out))) readers[id].add(by);
        else for (const out of to.outs) for (const kernel of readers[out]) readers[id].add(kernel);
        // What does not change along the innermost axis is computed once for all of it.
        const isLarger = sizeOf(ref.frame.shape) > sizeOf(frame.shape);
        if (isLarger && ref.frame.strides.at(-1) !== 0) isRepeated = true;
      }
      const again = size * (readers[id].size - 1);
      if (again > MOST_AGAIN || (isRepeated && size > MOST_REPEATED)) this.#stored.add(id);
    }
  }

  /** A sum of floats takes in what can be walked as the stored values would be. */
  #storeForFolds(): void {
    for (const { note } of this.#ended.values()) {
      if (!this.#keepsGrouping(note)) continue;
      const inlined = note.inputs.flatMap(({ place }) =>
        place.kind === "made" && this.#isInlined(place.id) ? [place.id] : [],
      );
      if (inlined.length === 0 || this.#likeOf(note, this.#composed(note.inputs)) !== null) continue;
      for (const id of inlined) this.#stored.add(id);
    }
  }

  #keepsGrouping({ work: { fold } }: FoldNote): boolean {
    const op = fold.algebra?.op;
    return this.#exact && isFloat(fold.carry) && (op === "add" || op === "mul");
  }

  /** null: it cannot be grouped so. */
  #likeOf(note: FoldNote, { program, leaves }: Composed): Stored | null {
    const { work } = note;
    const like = { fold: work.fold, sources: note.inputs.map((r) => fromStart(r.frame)) };
    const sources = leaves.map((l) => fromStart(l.frame));
    const fold = foldOfMap(work.fold, program);
    const { step, algebra } = fold;
    const early = algebra?.early ?? null;
    const fits = inVectors(step) && (early === null || codeSize(early.value).nodes <= MOST_CODE);
    return fits && likeStored({ ...work, sources }, like) !== null ? like : null;
  }

  /* Kernels ------------------------------------------------------------------------------------------------------ */

  /** What is read, as one program of what is stored. */
  #composed(refs: readonly Ref[]): Composed {
    const composer = new Composer(this.#notes, this.#made, this.#stored);
    return composer.finish(refs.map((ref) => composer.read(ref)));
  }

  #kernels(): Kernel[] {
    return this.#groups().map((ids) => this.#kernelOf(ids));
  }

  /** Stored values that are computed together, in an order in which each finds what it reads. */
  #groups(): number[][] {
    const groups: { ids: number[]; shape: string | null }[] = [];
    const at = new Map<number, number>();
    const order = [...this.#stored].sort((a, b) => this.#made[a].note - this.#made[b].note || a - b);
    for (const id of order) {
      const { note, frame } = this.#made[id];
      const { kind, outs } = this.#notes[note];
      if (kind !== "map" || this.#ended.has(id)) {
        if (at.has(id)) continue;
        const all = kind === "whole" ? outs : [id];
        for (const out of all) at.set(out, groups.length);
        groups.push({ ids: [...all], shape: null });
        continue;
      }
      const shape = frame.shape.join();
      const after = this.#readsOf(id, frame).reduce((last, { id: read, isSame }) => {
        const group = at.get(read)!;
        return Math.max(last, isSame ? group : group + 1);
      }, 0);
      const found = groups.findIndex(
        (g, k) => k >= after && g.shape === shape && g.ids.length < MOST_RESULTS,
      );
      if (found >= 0) {
        groups[found].ids.push(id);
        at.set(id, found);
      } else {
        at.set(id, groups.length);
        groups.push({ ids: [id], shape });
      }
    }
    return groups.map((g) => g.ids);
  }

  /** The stored values that a value is computed of, and whether each is read element upon element. */
  #readsOf(id: number, frame: View): { id: number; isSame: boolean }[] {
    const composer = new Composer(
      this.#notes,
      this.#made,
      new Set([...this.#stored].filter((s) => s !== id)),
    );
    const value = composer.value(id, frame);
    if (value === null) return [];
    return composer.finish([value]).leaves.flatMap(({ place, frame: seen }) => {
      if (place.kind !== "made") return [];
      const map = indexMap(this.#made[place.id].frame, seen);
      const own = this.#made[place.id].frame;
      const isSame =
        map !== null && sameShape(own.shape, seen.shape) && isIdentity(map.starts, map.steps, own.shape);
      return [{ id: place.id, isSame }];
    });
  }

  #kernelOf(ids: readonly number[]): Kernel {
    const ended = this.#ended.get(ids[0]);
    if (ended !== undefined) return this.#foldKernel(ended);
    const note = this.#notes[this.#made[ids[0]].note];
    if (note.kind === "whole") {
      const text = `${note.inputs.map((_, k) => leafName(k)).join(", ")} => ${note.operation}`;
      return { kind: "whole", outs: note.outs, leaves: note.inputs, note, text, operations: 1 };
    }
    return this.#mapKernel(ids);
  }

  #mapKernel(ids: readonly number[]): MapKernel {
    const others = new Set([...this.#stored].filter((id) => !ids.includes(id)));
    const composer = new Composer(this.#notes, this.#made, others);
    const results = ids.map((id) => composer.value(id, this.#made[id].frame)!);
    const { program, leaves, values, text, operations } = composer.finish(results);
    const source = `${parameters(leaves)} => ${text}`;
    const callable = new Callable(definitionOf(program, source), { values });
    return { kind: "map", outs: ids, leaves, callable, text: source, operations };
  }

  #foldKernel({ note, fold, values, out, text, operations }: Ended): FoldKernel {
    const { isFolded, init } = note.work;
    const map = this.#composed(note.inputs);
    const isPlain = map.operations === 0 && map.leaves.length === note.inputs.length;
    const like = isPlain || !this.#keepsGrouping(note) ? null : this.#likeOf(note, map);
    const kept = note.inputs[0].frame.shape.filter((_, d) => !isFolded[d]);
    return {
      kind: "fold",
      outs: [out],
      leaves: map.leaves,
      fold: isPlain ? fold : internedFold(foldOfMap(fold, map.program)),
      values: isPlain ? values : foldValues(fold, values, map.values),
      work: { isFolded, init },
      like,
      frame: contiguousView(kept, this.#made[out].frame.itemBytes),
      text: `${parameters(map.leaves)} => ${map.text}.${text}`,
      operations: map.operations + operations,
    };
  }

  #releases(kernels: readonly Kernel[]): number[][] {
    const last = new Map<number, number>();
    kernels.forEach((kernel, k) => {
      for (const id of kernel.outs) last.set(id, k);
      for (const { place } of kernel.leaves) if (place.kind === "made") last.set(place.id, k);
    });
    return kernels.map((_, k) =>
      [...last].flatMap(([id, at]) => (at === k && !this.#isResult[id] ? [id] : [])),
    );
  }
}

const fromStart = (view: View): View => (view.offset === 0 ? view : { ...view, offset: 0 });
const parameters = (leaves: readonly Ref[]): string => `(${leaves.map((_, k) => leafName(k)).join(", ")})`;

function isIdentity(
  starts: readonly number[],
  steps: readonly (readonly number[])[],
  shape: readonly number[],
): boolean {
  return (
    starts.every((s) => s === 0) &&
    steps.every((along, d) => along.every((k, a) => k === (a === d && shape[d] > 1 ? 1 : 0)))
  );
}

/* One definition a program, however often it is traced ------------------------------------------------------------- */

const definitions = new Map<string, WeakRef<Definition>>();
const foldsByText = new Map<string, WeakRef<Fold>>();
/** Texts that are looked through for what is gone. */
const MOST_KNOWN = 1000;

function interned<T extends object>(known: Map<string, WeakRef<T>>, key: string, make: () => T): T {
  const found = known.get(key)?.deref();
  if (found !== undefined) return found;
  if (known.size >= MOST_KNOWN) {
    for (const [text, ref] of known) if (ref.deref() === undefined) known.delete(text);
    if (known.size >= MOST_KNOWN) known.clear();
  }
  const made = make();
  known.set(key, new WeakRef(made));
  return made;
}

const keyOf = ({ nodes, result, inputs, params }: Program): string =>
  `${inputs}|${params}|${result}|${nodes
    .map((n) => {
      const more =
        n.op === "input" || n.op === "param" ? n.index : n.op === "const" ? constantKey(n.value) : "";
      return `${n.op} ${n.dtype} ${n.args} ${more}`;
    })
    .join(";")}`;
const constantKey = (value: number | bigint): string =>
  Object.is(value, -0) ? "-0" : typeof value === "bigint" ? `${value}n` : String(value);

const definitionOf = (program: Program, source: string): Definition =>
  interned(
    definitions,
    `${source}\n${keyOf(program)}`,
    () =>
      new Definition(
        programTemplate(program, { typed: true, name: "fuse", source }) ??
          unreachable("a program was lowered before it was fused"),
      ),
  );

function internedFold(fold: Fold): Fold {
  const { step, first, finish, algebra, carry } = fold;
  const parts = [step, first, finish, algebra?.early?.value, algebra?.combine].map((p) =>
    p ? keyOf(p) : "-",
  );
  return interned(foldsByText, `${carry}\n${parts.join("\n")}`, () => fold);
}
