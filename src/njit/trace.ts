/**
 * A call of an njit function, told step by step: which piece of the source, which variables were set, which elements were read
 * and written. The typed code as it was lowered is run again by the interpreter, on copies of what the arrays held when the
 * call began: so it is the compiled function's story, and nothing of the program's changes.
 */
import { arrayFacts, type DType, dtypes, toScalar, type Value } from "../dtype.ts";
import type { NjitTrace, NjitTraceAccess, NjitTraceRow } from "../run/whole.ts";
import { sizeOf, unravel } from "../view/layout.ts";
import { accessError, type Bound, lengthOf } from "./bind.ts";
import { type ArgumentType, infer } from "./infer.ts";
import { AccessError, type Elements, interpretCode, type Observer } from "./interpret.ts";
import { CHECKS, type Code, type LoopStep, type Step } from "./ir.ts";
import { lowerCode } from "./lower.ts";
import type { Place, Tree } from "./tree.ts";

/** The memory that arrays lie in is kept up to so many bytes in all. */
const MOST_BYTES = 1 << 20;

/** An argument as the call found it. Nothing of the program's is held. */
type Kept = { readonly type: ArgumentType } & (
  | { readonly kind: "scalar"; readonly value: Value }
  | { readonly kind: "array"; readonly elements: () => Elements }
  | { readonly kind: "nothing" }
);

/** What the arguments are when a call begins; null: more memory than is kept. Each piece of it is copied once. */
export function keepBefore(bound: readonly Bound[]): readonly Kept[] | null {
  const copies = new Map<object, Uint8Array>();
  let left = MOST_BYTES;
  const copy = (key: object, bytes: number, read: () => Uint8Array): Uint8Array => {
    const known = copies.get(key);
    if (known !== undefined) return known;
    left -= bytes;
    const made = left < 0 ? new Uint8Array() : read().slice();
    copies.set(key, made);
    return made;
  };
  const kept = bound.map((b): Kept => {
    const { type } = b;
    if (b.kind === "scalar") return { type, kind: "scalar", value: b.value };
    if (b.kind === "tensor") {
      const { storage, frame, dtype } = b.of;
      const bytes = copy(storage.origin, storage.bytes, () => storage.raw(0, storage.bytes));
      const { shape, strides, offset } = frame;
      return { type, kind: "array", elements: () => elementsOf(dtype, bytes, offset, shape, strides) };
    }
    if (b.kind !== "typed") return { type, kind: "nothing" };
    const { buffer, byteOffset, byteLength } = arrayFacts(b.array);
    // Of a large buffer, such as the heap's, only the array.
    const isLarge = buffer.byteLength > MOST_BYTES;
    const bytes = isLarge
      ? copy(b.array, byteLength, () => new Uint8Array(buffer, byteOffset, byteLength))
      : copy(buffer, buffer.byteLength, () => new Uint8Array(buffer));
    const { dtype } = b.type;
    const shape = [lengthOf(b.array, dtype)];
    const from = isLarge ? 0 : byteOffset;
    return {
      type,
      kind: "array",
      elements: () => elementsOf(dtype, bytes, from, shape, [dtypes[dtype].bytes]),
    };
  });
  return left < 0 ? null : kept;
}

function elementsOf(
  dtype: DType,
  bytes: Uint8Array,
  from: number,
  shape: readonly number[],
  strides: readonly number[],
): Elements {
  const { read, write } = dtypes[dtype];
  const view = new DataView(bytes.buffer);
  const at = (index: readonly number[]) => index.reduce((sum, i, d) => sum + i * strides[d], from);
  return {
    shape,
    read: (index) => read(view, at(index)),
    write: (index, value) => write(view, at(index), value),
  };
}

/** Runs the call again on what was kept, `most` rows of it. */
export function traceOf(tree: Tree, kept: readonly Kept[], most: number): NjitTrace {
  const places = new Map<Step, Place>();
  const types = kept.map((k) => k.type);
  const code = lowerCode(infer(tree, types), places);
  const scalars = new Map<number, Value>();
  const arrays = new Map<number, Elements>();
  kept.forEach((k, i) => {
    if (k.kind === "scalar") scalars.set(i, k.value);
    else if (k.kind === "array") arrays.set(i, k.elements());
  });
  const shown = toldArrays(code).map((k) => {
    const { name, dtype, argument, length } = code.arrays[k];
    const elements = argument === null ? null : arrays.get(argument)!;
    const shape = elements?.shape ?? [length];
    const first = Array.from({ length: sizeOf(shape) }, (_, i) =>
      toScalar(elements?.read(unravel(i, shape)) ?? 0, dtype),
    );
    return { name, dtype, shape, values: first };
  });
  const story = new Story(code, places, most);
  let error: string | null = null;
  try {
    interpretCode(code, scalars, arrays, story);
  } catch (thrown) {
    if (thrown instanceof AccessError) error = accessError(code, thrown.failure).message;
    else if (!(thrown instanceof Full)) throw thrown;
  }
  const given = kept.flatMap((k, i): [string, number | bigint | boolean][] =>
    k.kind === "scalar" ? [[tree.args[i].name, k.type.kind === "bool" ? k.value !== 0 : k.value]] : [],
  );
  return { arrays: shown, scalars: given, rows: story.rows, isWhole: !story.isFull, error };
}

/** The arrays of the source. */
const toldArrays = ({ arrays }: Code): number[] =>
  arrays.flatMap(({ name }, k) => (name === CHECKS ? [] : [k]));

class Full extends Error {}

interface Row extends NjitTraceRow {
  end: number;
  readonly sets: [string, number | bigint | boolean][];
  readonly accesses: NjitTraceAccess[];
}

/** A row a line: what happens in one line of the source, until another line has its turn or a loop on that line its next. */
class Story implements Observer {
  readonly rows: Row[] = [];
  isFull = false;
  readonly #code: Code;
  readonly #places: ReadonlyMap<Step, Place>;
  readonly #most: number;
  #begins = true;

  constructor(code: Code, places: ReadonlyMap<Step, Place>, most: number) {
    this.#code = code;
    this.#places = places;
    this.#most = most;
  }

  step(step: Step): void {
    const place = this.#places.get(step);
    if (place === undefined) return;
    const { source, span } = place;
    const line = lineOf(source, span.start);
    const now = this.rows.at(-1);
    if (now !== undefined && !this.#begins && now.line === line && now.source === source) {
      now.end = Math.max(now.end, Math.min(span.end, endOfLine(source, span.start)));
      return;
    }
    if (this.rows.length === this.#most) {
      this.isFull = true;
      throw new Full();
    }
    this.#begins = false;
    const end = Math.min(span.end, endOfLine(source, span.start));
    this.rows.push({ source, start: span.start, end, line, sets: [], accesses: [] });
  }

  turn({ place: { source, span } }: LoopStep): void {
    // A loop of several lines comes back to its first line by itself.
    if (!source.slice(span.start, span.end).includes("\n")) this.#begins = true;
  }

  set(local: number, value: Value): void {
    const { name, dtype } = this.#code.locals[local];
    if (name !== "") this.rows.at(-1)?.sets.push([name, toScalar(value, dtype)]);
  }

  access(array: number, index: readonly number[], value: Value, isWrite: boolean): void {
    const { dtype } = this.#code.arrays[array];
    const told = toldArrays(this.#code).indexOf(array);
    if (told >= 0)
      this.rows.at(-1)?.accesses.push({ array: told, index, value: toScalar(value, dtype), isWrite });
  }
}

const lineOf = (source: string, at: number): number => source.slice(0, at).split("\n").length;
function endOfLine(source: string, at: number): number {
  const end = source.indexOf("\n", at);
  return end < 0 ? source.length : end;
}
