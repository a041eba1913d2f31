/**
 * What is there already. A chunk appears under its name when all of it is written, so a task whose chunks are there is done; and
 * every array that a plan writes says which plan that is.
 */
import { fail } from "../errors.ts";
import { nodeModules } from "../io/node.ts";
import type { ZarrArray } from "../io/zarr-array.ts";
import { removeTemporaries } from "../io/zarr-folder.ts";
import { create, openGroup, openArray as openZarr } from "../io/zarr-group.ts";
import { turns } from "../run/turns.ts";
import { blockRegion, gridOf, placeIn } from "./expr.ts";
import { checkPlaces } from "./overlap.ts";
import { openArray, pathOf, sourceOf, specOf, workFolder } from "./stores.ts";
import type { AllowList, OperationSpec, Plan, PrepareOptions, RunContext } from "./types.ts";

const OPERATION = "chunked";

export function operationOf(plan: Plan, id: string): OperationSpec {
  return (
    plan.operations.find((op) => op.id === id) ??
    fail("value", OPERATION, `the plan has no operation ${JSON.stringify(id)}.`)
  );
}

/** Chunks that a task writes, as indices of the array. */
export function* chunksOfTask(
  shape: readonly number[],
  chunks: readonly number[],
  block: readonly number[],
  index: number,
): Iterable<readonly number[]> {
  const region = blockRegion(shape, block, placeIn(gridOf(shape, block), index));
  const counts = region.map((r, d) => Math.ceil(r.count / chunks[d]));
  const first = region.map((r, d) => r.start / chunks[d]);
  const total = counts.reduce((a, b) => a * b, 1);
  for (let k = 0; k < total; k++) yield placeIn(counts, k).map((i, d) => first[d] + i);
}

/** Are all chunks of a task there? */
export async function hasTask(
  array: ZarrArray,
  plan: Plan,
  { output, block }: OperationSpec,
  index: number,
): Promise<boolean> {
  const { shape, chunks } = specOf(plan, output);
  for (const at of chunksOfTask(shape, chunks, block, index)) if (!(await array.hasChunk(at))) return false;
  return true;
}

/** Chunks that are asked for at the same time. */
const SIDE_BY_SIDE = 16;

/** Indices of the tasks of an operation of which some chunk is not there, ascending. */
export async function pendingTasks(
  plan: Plan,
  operation: string,
  context: RunContext,
): Promise<readonly number[]> {
  const op = operationOf(plan, operation);
  const array = await openArray(plan, op.output, context);
  const pending: number[] = [];
  let next = 0;
  const turn = turns();
  const lane = async () => {
    for (;;) {
      const index = next++;
      if (index >= op.tasks) return;
      await turn();
      context.signal?.throwIfAborted();
      if (!(await hasTask(array, plan, op, index))) pending.push(index);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  return pending.sort((a, b) => a - b);
}

/** Is a task done? False also where that cannot be told. */
export async function isTaskDone(
  plan: Plan,
  operation: string,
  index: number,
  { allow }: RunContext,
): Promise<boolean> {
  const op = operationOf(plan, operation);
  const array = await ownArray(plan, op.output, allow).catch(() => null);
  return array !== null && hasTask(array, plan, op, index);
}

/** How far an operation is, as its store has it. */
export interface OperationStatus {
  readonly operation: string;
  readonly label: string;
  readonly tasks: number;
  readonly done: number;
  /** Is its array there? What lies between operations is made when a run begins, and removed at its end. */
  readonly isThere: boolean;
}

/** How far every operation of a plan is: the store is asked, and nobody else. */
export async function statusOf(plan: Plan, context: RunContext): Promise<readonly OperationStatus[]> {
  const all: OperationStatus[] = [];
  for (const { id, label, tasks, output } of plan.operations) {
    const isThere = (await ownArray(plan, output, context.allow)) !== null;
    const done = isThere ? tasks - (await pendingTasks(plan, id, context)).length : 0;
    all.push({ operation: id, label, tasks, done, isThere });
  }
  return all;
}

/** An array that this plan writes; null where it is not there, or somebody else's. */
export async function ownArray(plan: Plan, name: string, allow: AllowList): Promise<ZarrArray | null> {
  const array = await openZarr(sourceOf(plan, name, allow), atPath(plan, name)).catch(absent);
  return (array?.attributes as Mark | undefined)?.strided?.plan === plan.hash ? array : null;
}

const isGroup = (error: unknown): boolean => error instanceof Error && /lies a group/.test(error.message);

/** Null for an error that says that no array lies there. */
function absent(error: unknown): null {
  if (isGroup(error) || (error instanceof Error && /nothing of Zarr lies at/.test(error.message)))
    return null;
  throw error;
}

const failGroup = (): never =>
  fail(
    "value",
    OPERATION,
    "a group of arrays lies where the result would be written, and a result never replaces one.",
    "Give another { to }.",
  );

const atPath = (plan: Plan, name: string): { readonly path?: string } => {
  const path = pathOf(plan, name);
  return path === "" ? {} : { path };
};

interface Mark {
  readonly strided?: { readonly plan?: unknown };
}

/** Makes the arrays that a plan writes. With `resume` those that are there stay, if they are this plan's. */
export async function prepare(plan: Plan, context: RunContext, options: PrepareOptions = {}): Promise<void> {
  const { resume = false, overwrite = false } = options;
  checkPlaces(plan, context.allow);
  // The result first: a run that is refused there has changed nothing.
  const order = { output: 0, input: 1, work: 2 } as const;
  const all = Object.entries(plan.arrays).sort(([, a], [, b]) => order[a.role] - order[b.role]);
  let isSwept = resume && !overwrite;
  for (const [name, spec] of all) {
    if (spec.role === "work" && !isSwept) {
      // Also chunks that a process which was cut off wrote after all else was removed.
      const store = sourceOf(plan, name, context.allow);
      if (typeof store === "string") await removeFolder(store, workFolder(plan));
      isSwept = true;
    }
    if (spec.role === "input") {
      await openArray(plan, name, context);
      continue;
    }
    const source = sourceOf(plan, name, context.allow);
    const at = atPath(plan, name);
    const there = await openZarr(source, at).catch((error) => {
      if (spec.role === "output" && isGroup(error)) failGroup();
      return absent(error);
    });
    const owner = (there?.attributes as Mark | undefined)?.strided?.plan;
    if (there !== null && spec.role === "output" && !overwrite) {
      if (!resume) {
        fail(
          "value",
          OPERATION,
          "an array lies already where the result would be written.",
          "Go on with { resume: true }, write over it with { overwrite: true }, or give another { to }.",
        );
      }
      if (owner !== plan.hash) {
        fail(
          "value",
          OPERATION,
          `the array that is there was written by ${typeof owner === "string" ? `plan ${owner.slice(0, 12)}` : "no plan"}, this is plan ${plan.hash.slice(0, 12)}.`,
          "A run goes on with the plan that it began with. Give another { to }, or { overwrite: true }.",
        );
      }
    }
    if (there !== null && resume && !overwrite && owner === plan.hash) continue;
    const { shape, dtype, chunks, compressor } = spec;
    await create(source, {
      ...at,
      shape: [...shape],
      dtype,
      chunks: [...chunks],
      attributes: { strided: { plan: plan.hash } },
      ...(compressor == null ? {} : { compressor: compressor as "gzip" }),
      ...(there === null ? {} : { overwrite: true }),
    }).catch(async (error: unknown) => {
      // Somebody else who joins the same run may have made it meanwhile.
      const made = resume ? await openZarr(source, at).catch(() => null) : null;
      if ((made?.attributes as Mark | undefined)?.strided?.plan !== plan.hash) throw error;
    });
  }
}

/** Removes the arrays between operations: those of this plan alone. */
export async function removeWork(plan: Plan, allow: AllowList): Promise<void> {
  const names = Object.keys(plan.arrays).filter((name) => plan.arrays[name].role === "work");
  for (const name of names) {
    const source = sourceOf(plan, name, allow);
    if (typeof source === "string") return removeFolder(source, workFolder(plan));
    // An array of no elements in its place: whatever it had is removed with it.
    const { dtype } = plan.arrays[name];
    await create(source, { path: pathOf(plan, name), shape: [0], dtype, chunks: [1], overwrite: true });
  }
}

/** Removes what processes that were killed had begun to write of the result: it is complete, and needs none of it. */
export async function removeHalves(plan: Plan, allow: AllowList): Promise<void> {
  const source = sourceOf(plan, plan.result, allow);
  if (typeof source === "string" && plan.stores[specOf(plan, plan.result).store].kind === "folder")
    await removeTemporaries(OPERATION, source);
}

/** A plan's folder with all that is in it, and the one that holds such folders, if this was the last. */
async function removeFolder(work: string, name: string): Promise<void> {
  const { fs, path } = nodeModules(OPERATION);
  const { join } = path;
  await fs.rm(join(work, name), { recursive: true, force: true });
  const left = await fs.readdir(work, { withFileTypes: true }).catch(() => null);
  if (left === null || left.some((other) => other.name !== "zarr.json")) return;
  // A group that says something about itself, or an array, is somebody's.
  const group = left.length === 0 ? null : await openGroup(work).catch(() => null);
  if (left.length > 0 && (group === null || Object.keys(group.attributes).length > 0)) return;
  await fs.rm(join(work, "zarr.json"), { force: true });
  // Somebody else may have begun there meanwhile.
  await fs.rmdir(work).catch(() => {});
}
