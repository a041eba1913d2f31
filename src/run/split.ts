/** When work is shared among threads, and how large its pieces are: the one place that says so. */

/** Elements a call of a kernel computes at the most: V8 replaces a function's slow first code only between calls. */
export const PIECE = 16384;

/**
 * Nanoseconds of work below which it is done before another thread has noticed it. A fold's estimate counts no memory, and a
 * product's no packing: so theirs are lower.
 */
export const WORTH_SHARING = { walk: 40_000, fold: 20_000, product: 30_000 } as const;

/** Is a call of about so many nanoseconds worth sharing among threads? */
export const mayShare = (nanoseconds: number): boolean => nanoseconds > WORTH_SHARING.walk;

/** Elements a task has: enough tasks to balance, none too small to be worth taking, at the most `most`. */
export function taskSize(size: number, threads: number, most: number): number {
  const fair = Math.ceil(size / (threads * 4) / 64) * 64;
  return Math.min(most, Math.max(1024, fair));
}
