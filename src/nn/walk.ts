/** Walking over batches: whose they are. */
import { engine } from "../engine.ts";
import type { Leaf } from "../grad/tree.ts";
import type { Disposes } from "../memory/scope.ts";
import type { Tensor } from "../tensor.ts";
import { leavesOf } from "./tree.ts";

type Batches<B> = Iterable<B> | AsyncIterable<B>;

/** May it be given to `for await`? */
export function isWalkable(data: unknown): data is object {
  if (typeof data !== "object" || data === null) return false;
  return Symbol.asyncIterator in data || Symbol.iterator in data;
}

/** Disposes of the tensors that still live. */
export function free(leaves: readonly Leaf[]): void {
  for (const { tensor: t } of leaves) if (!t.isDisposed) t.dispose();
}

/**
 * Batches of a loader are made for this and freed when the next is asked for, and so are those that a generator makes; those
 * of a list, or of whatever can be walked over again and may have kept them, are somebody's.
 */
export function walk<B>(data: Batches<B>, signal?: AbortSignal): Batches<B> {
  if ("epoch" in data) return until(walkLoader(data), signal);
  if (Symbol.asyncIterator in data) return until(data, signal);
  const iterator = data[Symbol.iterator]();
  return (iterator as unknown) === data ? walkGenerator(iterator) : { [Symbol.iterator]: () => iterator };
}

/** The same up to a signal, which ends it also while a batch is waited for: nobody knows whether that will come. */
async function* until<B>(data: AsyncIterable<B>, signal: AbortSignal | undefined): AsyncIterable<B> {
  const iterator = data[Symbol.asyncIterator]();
  let wake = () => {};
  const raised = () => wake();
  signal?.addEventListener("abort", raised);
  let isOver = false;
  try {
    while (!signal?.aborted) {
      const next = (async () => iterator.next())();
      const found = await new Promise<IteratorResult<B> | null>((resolve, reject) => {
        wake = () => resolve(null);
        next.then(resolve, reject);
      }).catch((error: unknown) => {
        isOver = true;
        throw error;
      });
      isOver = found === null || found.done === true;
      // It is told that no more is asked for, once it has what is under way.
      if (found === null) Promise.resolve(iterator.return?.()).catch(() => {});
      if (found === null || found.done === true) return;
      yield found.value;
    }
  } finally {
    signal?.removeEventListener("abort", raised);
    if (!isOver) await iterator.return?.();
  }
}

async function* walkLoader<B>(data: Batches<B>): AsyncIterable<B> {
  for await (const batch of data) {
    const leaves = leavesOf("fit", batch);
    try {
      yield batch;
    } finally {
      free(leaves);
    }
  }
}

/**
 * Freed is what the generator made for a batch when it was asked for this one, unless it comes again at once. What else it made
 * before its first batch it may need for all, and then nothing of these is freed.
 */
async function* walkGenerator<B>(iterator: Iterator<B>): AsyncIterable<B> {
  let own: ReadonlySet<Tensor> = new Set();
  let isFirst = true;
  try {
    for (const { value, made } of asked(iterator)) {
      const batch = await value;
      const tensors = new Set(leavesOf("fit", batch).map((leaf) => leaf.tensor));
      freeAllBut(tensors, own);
      const isSetUp =
        isFirst && [...made].some((thing) => !thing.isDisposed && !tensors.has(thing as Tensor));
      own = new Set([...tensors].filter((t) => own.has(t) || (made.has(t) && !isSetUp)));
      isFirst = false;
      yield batch;
    }
  } finally {
    freeAllBut(new Set(), own);
  }
}

function freeAllBut(kept: ReadonlySet<Tensor>, tensors: ReadonlySet<Tensor>): void {
  for (const t of tensors) if (!kept.has(t) && !t.isDisposed) t.dispose();
}

/** What is walked over, and with each value what was made meanwhile. */
function* asked<B>(iterator: Iterator<B>): Iterable<{ value: B; made: ReadonlySet<Disposes> }> {
  const { scopes } = engine();
  let isOver = false;
  try {
    for (;;) {
      scopes.enter();
      let made: readonly Disposes[] = [];
      let next: IteratorResult<B>;
      try {
        next = iterator.next();
      } finally {
        made = scopes.take();
        for (const thing of made) scopes.track(thing);
      }
      isOver = next.done === true;
      if (isOver) return;
      yield { value: next.value, made: new Set(made) };
    }
  } finally {
    if (!isOver) iterator.return?.();
  }
}
