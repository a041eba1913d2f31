/**
 * What hostile calls happen in: a heap full of small holes with a canary on both sides of each, so that whatever a call
 * allocates has neighbours that must not change; the tensors of one case, which are let go at its end; and what a result
 * is, as a text.
 */
import { engine } from "../../src/engine.ts";
import { configure, type DType, dtypeNames, empty, memory, Tensor, tensor } from "../../src/index.ts";

/** The error that hostile getters and functions throw: it may come out of a call as it is. */
export class Planted extends Error {}

/** Results with more bytes than this are not read. */
const MOST_BYTES = 2 ** 24;
const CANARY_BYTES = 64;
/** Bytes and number of the holes: a small tensor finds one of its own size, between two canaries. */
const HOLES = [
  [64, 48],
  [128, 24],
  [192, 16],
  [256, 16],
  [512, 12],
  [1024, 8],
  [4096, 6],
  [65536, 2],
] as const;

interface Canary {
  /** Held, so that it is never garbage. */
  readonly tensor: Tensor;
  readonly address: number;
  readonly bytes: number;
}

const pattern = (address: number): number => (address * 0x9e3779b1) >>> 24;

function paint({ address, bytes }: Canary): void {
  const { u8 } = engine().heap;
  for (let p = address; p < address + bytes; p++) u8[p] = pattern(p);
}

function canaryOf(bytes: number): Canary {
  const t = empty(bytes, { dtype: "u8" });
  const canary = { tensor: t, address: t.data.byteOffset, bytes };
  paint(canary);
  return canary;
}

let field: readonly Canary[] | undefined;

/** The canaries of this process; made at first use. A heap of 256 MiB refuses what would be too large to check. */
export function canaries(): readonly Canary[] {
  if (field !== undefined) return field;
  try {
    configure({ maximumBytes: 2 ** 28, threads: 1 });
  } catch {
    // The engine is in use already: its own limits hold.
  }
  const made: Canary[] = [];
  const holes: Tensor[] = [];
  for (const [bytes, count] of HOLES) {
    for (let i = 0; i < count; i++) {
      made.push(canaryOf(CANARY_BYTES));
      holes.push(empty(bytes, { dtype: "u8" }));
    }
  }
  made.push(canaryOf(4096));
  for (const hole of holes) hole.dispose();
  field = made;
  return field;
}

/** The first byte of a canary that has changed, or null; it is painted anew, so that the next case starts well. */
function damage(of: readonly Canary[]): string | null {
  const { u8 } = engine().heap;
  let found: string | null = null;
  for (const canary of of) {
    const { address, bytes } = canary;
    for (let p = address; p < address + bytes; p++) {
      if (u8[p] === pattern(p)) continue;
      found ??= `byte ${p - address} of a canary of ${bytes} bytes was overwritten`;
      paint(canary);
      break;
    }
  }
  return found;
}

/** The tensors of one case, and what has to be put back after it. */
export class World {
  readonly planted = new Planted("planted");
  /** Called at once after the hostile call, last one first: what would mislead whoever judges it. */
  readonly undo: (() => void)[] = [];
  /** The tensors that the case made for itself: operands, outputs. */
  readonly tensors: Tensor[] = [];
  /** Foreign memory that the case was given. */
  readonly #buffers: ArrayBuffer[] = [];
  readonly #squatters: Canary[] = [];
  #salt = 0;

  /** A dense tensor of small whole numbers. */
  of(dtype: DType, ...shape: number[]): Tensor {
    const salt = this.#salt++;
    const size = shape.reduce((a, b) => a * b, 1);
    const values = Array.from({ length: size }, (_, i) => 1 + ((i * 3 + salt) % 5));
    if (dtype === "bool")
      return this.own(
        tensor(
          values.map((x) => x % 2 === 1),
          { dtype, shape },
        ),
      );
    return this.own(tensor(values, { dtype, shape }));
  }
  f32(...shape: number[]): Tensor {
    return this.of("f32", ...shape);
  }
  /** A dense tensor of these elements. */
  from(dtype: DType, values: readonly number[], ...shape: number[]): Tensor {
    return this.own(tensor([...values], { dtype, shape: shape.length === 0 ? [values.length] : shape }));
  }
  /** A symmetric matrix with positive eigenvalues. */
  positive(n: number): Tensor {
    const values = Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? n + 1 : 1));
    return this.from("f64", values, n, n);
  }
  /** Lets go of it at the end of the case. */
  own<T extends Tensor>(t: T): T {
    this.tensors.push(t);
    return t;
  }

  /** Lets go of every tensor of the case in the middle of a call, and puts canaries where they were. */
  disposeAll(): void {
    const sizes = this.tensors.filter((t) => !t.isDisposed).map((t) => Math.max(1, t.size * bytesOf(t)));
    for (const t of this.tensors) t.dispose();
    for (const bytes of sizes) this.#squatters.push(canaryOf(bytes));
  }

  /** A typed array or buffer that `detach` can take away. */
  given<T extends ArrayBuffer | { readonly buffer: ArrayBufferLike }>(bytes: T): T {
    this.#buffers.push((bytes instanceof ArrayBuffer ? bytes : bytes.buffer) as ArrayBuffer);
    return bytes;
  }
  /** Takes all foreign memory away, as a transfer to a worker does. */
  detach(): void {
    for (const buffer of this.#buffers) structuredClone(buffer, { transfer: [buffer] });
    this.#buffers.length = 0;
  }

  /** Makes the heap larger, as an allocation in the middle of a call may do. */
  grow(): void {
    const { heap } = engine();
    try {
      heap.memory.grow(1);
    } catch {
      return;
    }
    heap.refresh();
  }

  /** Bytes of a canary that a forged tensor can aim at. */
  target(): Canary {
    const all = canaries();
    return all[all.length - 1];
  }

  /** What is wrong with memory now, or null. */
  damage(): string | null {
    try {
      engine().heap.check();
    } catch (error) {
      return `heap.check: ${(error as Error).message}`;
    }
    // A scope around a function that disposes frees what was made in it.
    return damage([...canaries(), ...this.#squatters.filter(({ tensor }) => !tensor.isDisposed)]);
  }

  /** Does any element of a result lie in a canary? */
  reaches(t: Tensor): boolean {
    if (t.size === 0) return false;
    const first = t.slice(...t.shape.map(() => 0));
    let low: number;
    try {
      low = first.data.byteOffset;
    } catch {
      return false;
    } finally {
      first.dispose();
    }
    let high = low + bytesOf(t);
    for (const [d, stride] of t.byteStrides.entries()) {
      if (stride < 0) low += stride * (t.shape[d] - 1);
      else high += stride * (t.shape[d] - 1);
    }
    return [...canaries(), ...this.#squatters].some((c) => low < c.address + c.bytes && c.address < high);
  }

  /** Takes back what was done to tensors and classes. */
  restore(): void {
    for (const fn of this.undo.splice(0).reverse()) fn();
  }

  /** Lets go of everything; what goes wrong is told. */
  end(results: Iterable<Tensor>): string | null {
    let wrong: string | null = null;
    const attempt = (fn: () => void) => {
      try {
        fn();
      } catch (error) {
        wrong ??= `letting go: ${said(error)}`;
      }
    };
    attempt(() => this.restore());
    for (const t of results) attempt(() => t.dispose());
    for (const t of this.tensors) attempt(() => t.dispose());
    for (const { tensor: t } of this.#squatters) attempt(() => t.dispose());
    return wrong;
  }
}

const widths: Readonly<Record<string, number>> = Object.fromEntries(
  dtypeNames.map((d) => [d, d === "bool" ? 1 : d === "bf16" ? 2 : Number(d.slice(1)) / 8]),
);
const bytesOf = (t: Tensor): number => widths[t.dtype];

/** Class and first line of an error. */
export function said(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${typeof error}`;
  return `${error.constructor.name}: ${String(error.message).split("\n")[0].slice(0, 160)}`;
}

/** The tensors that a result consists of. */
export function tensorsIn(value: unknown, depth = 0, into = new Set<Tensor>()): Set<Tensor> {
  try {
    if (value instanceof Tensor) into.add(value);
    else if (depth < 4 && typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
      const parts = value instanceof Map || value instanceof Set ? [...value.values()] : Object.values(value);
      for (const v of parts) tensorsIn(v, depth + 1, into);
    }
  } catch {
    // What cannot be walked holds nothing that is known.
  }
  return into;
}

/** A result as a text: equal results have equal texts. Without `values`, only its form counts. */
export function textOf(value: unknown, values = true, depth = 0): string {
  if (value instanceof Tensor) {
    if (value.isDisposed) return "disposed";
    const head = `${value.dtype}[${value.shape}]`;
    if (!values || value.size * bytesOf(value) > MOST_BYTES) return head;
    const elements = value.toTypedArray();
    return `${head} ${[...new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength)].join(" ")}`;
  }
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, Math.min(value.byteLength, 4096));
    return `${value.constructor.name} ${bytes.join(" ")}`;
  }
  if (typeof value === "function") return "function";
  if (typeof value !== "object" || value === null)
    return values ? String(value).slice(0, 4096) : typeof value;
  if (depth > (values ? 5 : 0)) return "…";
  if (value instanceof Promise) return "promise";
  const entries = Object.entries(value).slice(0, 1000);
  return `{${entries.map(([k, v]) => `${k}: ${textOf(v, values, depth + 1)}`).join(", ")}}`;
}

/** Tensors with memory of their own, now. */
export const alive = (): number => memory().tensors;
