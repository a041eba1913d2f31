/**
 * Batches out of tensors that have one entry for each sample along their first axis, or out of whatever gives samples by
 * their numbers. An epoch is one walk over all of them; with a seed, each epoch has an order of its own, the same every time.
 */
import { tensor as tensorOf } from "../api.ts";
import { describe, fail, isRevoked } from "../errors.ts";
import { take } from "../library/indexing.ts";
import * as random from "../library/random.ts";
import { readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { leavesOf, mapTree, tensorsOf } from "./tree.ts";
import { free } from "./walk.ts";

/** The options of `loader`. */
export interface LoaderOptions {
  /** Samples of a batch. Default 32. */
  readonly batch?: number;
  /** A seed: samples come in an order that it makes, another one each epoch. Default: as they lie. */
  readonly shuffle?: number | undefined;
  /** Leave out a last batch that is not full. Default false. */
  readonly dropLast?: boolean;
  /** Batches that are made ahead, where they are awaited. Default 1. */
  readonly prefetch?: number;
}

/** Where samples come from that are not tensors yet. */
export interface SampleSource<B> {
  /** How many samples there are. */
  readonly size: number;
  /** The samples of these numbers, as a batch. */
  load(indices: readonly number[]): B | Promise<B>;
}

/** Batches, epoch by epoch. */
export interface Loader<B> extends Iterable<B>, AsyncIterable<B> {
  /** Batches of an epoch. */
  readonly length: number;
  /** Samples in all. */
  readonly size: number;
  /** Epochs begun so far. */
  readonly epoch: number;
}

function whole(name: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  return fail("value", "loader", `${name} is ${describe(value)}.`, `Use a whole number from ${least}.`);
}

/**
 * Batches of a tree of tensors, or of a source. What a batch is made of is whoever asks's to free. Where samples lie side by
 * side, as they do without `shuffle`, a batch is a view of the data: to write into it is to write into them.
 *
 *     for (const { x, y } of loader({ x: images, y: labels }, { batch: 64, shuffle: 1 })) …
 *
 * @param source a tree of tensors with one first axis, or what gives samples by their numbers
 * @param data the same: a tree of tensors
 * @param options `batch`, `shuffle`: a seed; `dropLast`, `prefetch`
 * @returns what can be walked over, again and again
 * @example
 * const batches = loader({ x: arange(5) }, { batch: 2 });
 * batches.length; // → 3
 * [...batches][2].x; // → f32 [4]
 */
export function loader<B>(source: SampleSource<B>, options?: LoaderOptions): Loader<B>;
export function loader<B>(data: B, options?: LoaderOptions): Loader<B>;
export function loader<B>(data: B | SampleSource<B>, options: LoaderOptions = {}): Loader<B> {
  const names = ["batch", "shuffle", "dropLast", "prefetch"];
  const read = readOptions("loader", options, "{ batch: 64, shuffle: 1 }", names);
  const batch = whole("batch", read.batch ?? 32, 1);
  const prefetch = whole("prefetch", read.prefetch ?? 1, 0);
  const { shuffle, dropLast = false } = read;
  if (shuffle !== undefined) whole("shuffle", shuffle, 0);
  const source = sourceOf(data);
  const { size } = source;
  const length = dropLast ? Math.floor(size / batch) : Math.ceil(size / batch);
  let epoch = 0;
  /** The numbers of each batch of the next epoch; null: they lie side by side. */
  const plan = (): ((k: number) => number[]) => {
    const order = shuffle === undefined ? null : orderOf(shuffle, epoch, size);
    epoch++;
    return (k) => {
      const from = k * batch;
      const count = Math.min(batch, size - from);
      return Array.from({ length: count }, (_, i) => (order === null ? from + i : order[from + i]));
    };
  };
  return {
    length,
    size,
    get epoch() {
      return epoch;
    },
    *[Symbol.iterator]() {
      const numbers = plan();
      for (let k = 0; k < length; k++) {
        const made = source.load(numbers(k));
        if (made instanceof Promise) {
          made.catch(() => {});
          fail(
            "value",
            "loader",
            "the source gives promises.",
            "Await its batches: for await (const batch of loader(…)).",
          );
        }
        yield made as B;
      }
    },
    async *[Symbol.asyncIterator]() {
      const numbers = plan();
      const ahead: Promise<B>[] = [];
      let next = 0;
      const begin = async (k: number): Promise<B> => source.load(numbers(k));
      try {
        for (let k = 0; k < length; k++) {
          while (next < length && next <= k + prefetch) {
            const made = begin(next++);
            // Who awaits it hears of it.
            made.catch(() => {});
            ahead.push(made);
          }
          yield await ahead.shift()!;
        }
      } finally {
        // Nobody else has heard of those that were made ahead.
        for (const made of ahead)
          made.then(
            (batch) => free(leavesOf("loader", batch)),
            () => {},
          );
      }
    },
  };
}

function orderOf(seed: number, epoch: number, size: number): readonly number[] {
  const order = random
    .generator(seed)
    .spawn(epoch + 1)
    [epoch].permutation(size);
  try {
    return Array.from(order.toTypedArray(), Number);
  } finally {
    order.dispose();
  }
}

const isSource = (x: unknown): x is SampleSource<unknown> =>
  typeof x === "object" && x !== null && typeof (x as { load?: unknown }).load === "function";

function sourceOf<B>(data: B | SampleSource<B>): SampleSource<B> {
  if (typeof data === "object" && data !== null && isRevoked(data))
    fail("value", "loader", "the data are a Proxy that was revoked.", "Pass the thing itself.");
  if (isSource(data)) {
    whole("the source's size", data.size, 0);
    return data as SampleSource<B>;
  }
  const leaves = tensorsOf("loader", data, "the data");
  const [first] = leaves;
  for (const { path, tensor } of leaves) {
    if (tensor.rank > 0 && tensor.shape[0] === first.tensor.shape[0]) continue;
    const name = path === "" ? "the tensor" : path;
    fail(
      "shape",
      "loader",
      `${name} has ${tensor.rank === 0 ? "no axis" : `${tensor.shape[0]} samples`}, ${first.path || "the first"} ${first.tensor.shape[0] ?? "none"}.`,
      "The first axis counts the samples, and is the same for all.",
    );
  }
  return {
    size: first.tensor.shape[0],
    load: (indices) => mapTree("loader", data as B, (t) => rows(t, indices)),
  };
}

/** A view where samples lie side by side, else a copy. */
function rows(t: Tensor, indices: readonly number[]): Tensor {
  const isRun = indices.every((i, k) => k === 0 || i === indices[k - 1] + 1);
  if (isRun && indices.length > 0) return t.slice([indices[0], indices[indices.length - 1] + 1]);
  const where = tensorOf(Int32Array.from(indices));
  try {
    return take(t, where, { axis: 0 });
  } finally {
    where.dispose();
  }
}
