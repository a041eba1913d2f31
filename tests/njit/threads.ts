/** Calls on a given number of threads, each cut of a parallel loop a task of its own, however small it is. */
import { engine } from "../../src/engine.ts";
import { sharing } from "../../src/njit/parallel.ts";
import { Pool } from "../../src/run/pool.ts";

const pools = new Map<number, Pool>();

/** The pool of so many threads, all of them up. */
export function poolOf(threads: number): Pool {
  let pool = pools.get(threads);
  if (pool === undefined) {
    pool = new Pool(engine().heap, threads);
    pool.waitUntilReady(20_000);
    pools.set(threads, pool);
  }
  return pool;
}

export function onPool<R>(pool: Pool, run: () => R): R {
  const e = engine();
  const own = e.pool;
  Object.defineProperty(e, "pool", { value: pool, configurable: true });
  try {
    return run();
  } finally {
    Object.defineProperty(e, "pool", { value: own, configurable: true });
  }
}

/** Fails if a thread was lost on the way. */
export function onThreads<R>(threads: number, run: () => R): R {
  const pool = poolOf(threads);
  sharing.always = true;
  const lost = () => {
    sharing.always = false;
    const { threads: left, why } = pool.status();
    return left === threads ? null : `the pool has ${left} of ${threads} threads: ${why}`;
  };
  let result: R;
  try {
    result = onPool(pool, run);
  } catch (error) {
    throw lost() === null ? error : new Error(lost()!, { cause: error });
  }
  const why = lost();
  if (why !== null) throw new Error(why);
  return result;
}

export function stopPools(): void {
  for (const pool of pools.values()) pool.stop();
  pools.clear();
}
