/** What the three programs of shared/ must give, wherever they run. */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import type { Place } from "./project.ts";

/** What shared/programs.js gives. */
export interface Outcome {
  readonly image: readonly number[];
  readonly bins: readonly number[];
  readonly losses: readonly number[];
  readonly threads: number;
  readonly why: string | null;
  readonly shared: boolean;
  readonly backend: string;
}

/** The programs in plain Node. */
export async function inNode(place: Place): Promise<Outcome> {
  const { stdout } = await place.run("node", ["shared/print.js"]);
  return JSON.parse(stdout) as Outcome;
}

const near = (got: readonly number[], want: readonly number[], what: string): void => {
  assert.equal(got?.length, want.length, `${what}: ${JSON.stringify(got)}`);
  for (const [i, w] of want.entries())
    assert.ok(Math.abs(got[i] - w) <= 1e-5 * (1 + Math.abs(w)), `${what}: ${got} instead of ${want}`);
};

/** The same numbers as in plain Node, compiled; right in themselves too. */
export function sameNumbers(got: Outcome, want: Outcome): void {
  assert.equal((got as { error?: string }).error, undefined);
  near(got.image, want.image, "image");
  near(got.losses, want.losses, "losses");
  // 512 and 1024 Hz in bins of 32 Hz, half of the frames each.
  assert.deepEqual(got.bins, [16, 16, 32, 32]);
  assert.ok(want.losses[1] < 0.5 * want.losses[0], `it does not learn: ${want.losses}`);
  assert.equal(got.backend, "wasm");
}

/** As many threads as there are cores. */
export function allThreads({ threads, why, shared }: Outcome): void {
  const cores = availableParallelism();
  assert.ok(cores > 1, "this check needs a machine with two cores");
  assert.deepEqual(
    { why, shared, isAll: threads === Math.min(cores, 64) },
    { why: null, shared: true, isAll: true },
  );
}

export function oneThread({ threads, why, shared }: Outcome, because: RegExp): void {
  assert.deepEqual({ threads, shared }, { threads: 1, shared: false });
  assert.match(why ?? "", because);
}
