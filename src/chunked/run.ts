/** A plan as users hold it: shown, bound to where it writes, and run. */
import { describe, fail } from "../errors.ts";
import { checkSignal } from "../io/source.ts";
import { filePath } from "../io/target.ts";
import { create, openArray as openZarr, type ZarrSource } from "../io/zarr-group.ts";
import { memoryStore } from "../io/zarr-store.ts";
import { checkFlag, readOptions } from "../ops/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { claim } from "./engines/claim.ts";
import { local } from "./engines/local.ts";
import { explainPlan } from "./explain.ts";
import { showBytes } from "./memory.ts";
import { checkPlaces } from "./overlap.ts";
import { bytesOf, type Draft } from "./plan.ts";
import { hashOf } from "./plan-file.ts";
import { type ProgressLine, progressPrinter } from "./progress.ts";
import { prepare, removeHalves, removeWork } from "./resume.ts";
import { absolutePath, allowPlan } from "./stores.ts";
import {
  type AllowList,
  type ArraySpec,
  type Executor,
  type OnProgress,
  PLAN_VERSION,
  type Plan,
  type ProgressEvent,
  type RunReport,
  type StoreSpec,
} from "./types.ts";

/** Where a plan writes. */
export interface BindOptions {
  /** Where the result is written: a folder, or any store that can be written to. Never an array that the plan reads. */
  readonly to: ZarrSource;
  /**
   * Where arrays between operations are kept: below the plan's own name, so plans may share it. Default the folder of the result with
   * ".work" after its name; memory, where the result is no folder and they fit.
   */
  readonly work?: ZarrSource;
  /** How chunks of the result are packed: "gzip", "zlib" or none (default). */
  readonly compressor?: string | null;
}

/** The options of `run`. */
export interface RunOptions extends BindOptions {
  /** What runs it; default `local()`. */
  readonly on?: Executor;
  /** Goes on with a run that was cut off: only tasks with missing chunks run. Default false. */
  readonly resume?: boolean;
  /** Removes the array that lies at `to`, and writes in its place. Default false: an error. */
  readonly overwrite?: boolean;
  /** Keeps the arrays between operations; default false: they are removed at the end. */
  readonly keep?: boolean;
  /** true: a line on the terminal's error output; or a function that is told of everything. */
  readonly progress?: boolean | OnProgress;
  /** Calls it off. What is there stays, and `resume` goes on with it. */
  readonly signal?: AbortSignal;
}

/** What a bound plan needs beside its JSON: objects that only this process has. */
export interface Bound {
  readonly plan: Plan;
  readonly given?: ReadonlyMap<string, ZarrSource>;
  /** What may be opened; default what the plan names. */
  readonly allow?: AllowList;
}

/**
 * What would be done, operation after operation, and what each task needs. It has read nothing but metadata.
 *
 *     const plan = z.plan({ memory: "1 GiB", workers: 2 });
 *     console.log(plan.explain());
 *     await plan.run({ to: "z.zarr" });
 */
export class ChunkedPlan {
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  /**
   * Operations in their order, each with its tasks and what one of them needs.
   *
   * @example
   * const plan = chunked.full([4, 4], 1, { chunks: [2, 4] }).sum({ axis: 0 }).plan();
   * plan.operations.map((op) => [op.kind, op.tasks]); // → [[fold, 2], [combine, 1], [blockwise, 1]]
   */
  get operations(): Draft["operations"] {
    return this.#draft.operations;
  }
  /**
   * Bytes that one process may use.
   *
   * @example
   * chunked.full([4], 1, { chunks: [2] }).plan({ memory: "64 MiB" }).memory; // → 67108864
   */
  get memory(): number {
    return this.#draft.memory;
  }
  /**
   * For how many workers tasks were cut.
   *
   * @example
   * chunked.full([4], 1, { chunks: [2] }).plan({ workers: 3 }).workers; // → 3
   */
  get workers(): number {
    return this.#draft.workers;
  }
  /**
   * Bytes that a process needs at its worst, as far as can be told before: the largest task, and the process itself.
   *
   * @example
   * const plan = chunked.full([4, 4], 1, { chunks: [2, 4] }).sum({ axis: 0 }).plan();
   * plan.projected <= plan.memory; // → true
   */
  get projected(): number {
    return this.#draft.reserved + Math.max(0, ...this.#draft.operations.map((op) => op.projected));
  }

  /**
   * A table of the operations: what was fused, tasks, bytes, memory a task.
   *
   * @returns lines of text
   * @example
   * const plan = chunked.full([4, 4], 1, { chunks: [2, 4] }).sum({ axis: 0 }).plan();
   * plan.explain().split("\n").length; // → 5
   */
  explain(): string {
    return explainPlan(this.#draft);
  }
  /**
   * The same as `explain`.
   *
   * @returns lines of text
   * @example
   * const plan = chunked.full([4, 4], 1, { chunks: [2, 4] }).sum({ axis: 0 }).plan();
   * String(plan) === plan.explain(); // → true
   */
  toString(): string {
    return this.explain();
  }

  /**
   * The plan as JSON, with where it writes and its hash: what workers of other processes load.
   *
   *     await writeFile("plan.json", JSON.stringify(await plan.toPlan({ to: "z.zarr", work: "work" })));
   *
   * @param options `to`, `work`, `compressor`
   * @returns a promise of plain data
   * @example
   * const plan = chunked.full([4, 4], 1, { chunks: [2, 4] }).sum({ axis: 0 }).plan();
   * (await plan.toPlan({ to: "z.zarr" })).result; // → output
   */
  async toPlan(options: BindOptions): Promise<Plan> {
    const { to, work, compressor } = readOptions("toPlan", options, '{ to: "z.zarr" }', [
      "to",
      "work",
      "compressor",
    ]);
    const bound = await bind("toPlan", this.#draft, {
      to,
      ...(work !== undefined && { work }),
      ...(compressor !== undefined && { compressor }),
    });
    return bound.plan;
  }

  /**
   * Runs it, and settles when the result is there.
   *
   *     await plan.run({ to: "z.zarr", on: local({ workers: 4 }), progress: true });
   *
   * @param options `to`, `work`, `compressor`, `on`, `resume`, `overwrite`, `keep`, `progress`, `signal`
   * @returns a promise of what was done
   * @throws TensorError where something lies at `to` already, or the plan reads it
   * @example
   * const plan = chunked.full([4, 4], 1, { chunks: [2, 4] }).sum({ axis: 0 }).plan();
   * const store = zarr.memoryStore();
   * (await plan.run({ to: store })).ran; // → 4
   * (await zarr.load(store)).array; // → f32 [4, 4, 4, 4]
   */
  async run(options: RunOptions): Promise<RunReport> {
    const operation = "run";
    const read = readOptions(operation, options, '{ to: "z.zarr" }', [
      "to",
      "work",
      "compressor",
      "on",
      "resume",
      "overwrite",
      "keep",
      "progress",
      "signal",
    ]);
    const { to, work, compressor, on = local(), signal, progress } = read;
    for (const name of ["resume", "overwrite", "keep"] as const) checkFlag(operation, name, read[name]);
    checkSignal(operation, signal);
    if (typeof on !== "object" || on === null || typeof on.run !== "function") {
      fail("value", operation, `on is ${describe(on)}.`, "Give an executor: local({ workers: 2 }).");
    }
    const bound = await bind(operation, this.#draft, {
      to,
      ...(work !== undefined && { work }),
      ...(compressor !== undefined && { compressor }),
    });
    return runBound(operation, bound, on, {
      resume: read.resume === true,
      overwrite: read.overwrite === true,
      keep: read.keep === true,
      ...(signal === undefined ? {} : { signal }),
      ...(progress === undefined ? {} : { progress }),
    });
  }
}

/** Runs a plan that knows where it writes. */
export async function runBound(
  operation: string,
  { plan, given, allow = allowPlan(plan, given) }: Bound,
  on: Executor,
  options: Pick<RunOptions, "resume" | "overwrite" | "keep" | "signal" | "progress">,
): Promise<RunReport> {
  const names = Object.values(plan.stores).flatMap((s) => (s.kind === "given" ? [s.name] : []));
  if (names.length > 0 && on.inProcess !== true) {
    fail(
      "value",
      operation,
      `${names.join(", ")} ${names.length === 1 ? "is an object" : "are objects"} of this process, which ${on.name} cannot reach.`,
      "Use local(), or stores in folders.",
    );
  }
  const { signal, resume = false, overwrite = false } = options;
  const context = { allow, ...(signal === undefined ? {} : { signal }) };
  const joins = on.joins === true;
  if (joins && overwrite) {
    fail(
      "value",
      operation,
      `${on.name} is one of several that write the same result: none of them may remove it.`,
      "Remove it before they begin, or give another { to }.",
    );
  }
  await on.ready?.();
  checkPlaces(plan, allow);
  const release = joins ? null : await claim(operation, plan, allow, resume);
  try {
    await prepare(plan, context, { resume: resume || joins, overwrite });
    const line: ProgressLine | null = options.progress === true ? progressPrinter(plan) : null;
    const told = typeof options.progress === "function" ? options.progress : line?.tell;
    let report: RunReport;
    try {
      report = await on.run(plan, context, (event: ProgressEvent) => told?.(event));
    } finally {
      line?.end();
    }
    if (resume || report.retries > 0) await removeHalves(plan, allow);
    if (options.keep !== true) await removeWork(plan, allow);
    return report;
  } finally {
    await release?.();
  }
}

async function bind(operation: string, draft: Draft, options: BindOptions): Promise<Bound> {
  const { to, work, compressor } = options;
  if (to === undefined) {
    fail("value", operation, "there is no { to }.", 'Say where the result is written: { to: "z.zarr" }.');
  }
  if (compressor != null) {
    const remedy = 'Write { compressor: "gzip" }, or leave it out.';
    if (typeof compressor !== "string")
      fail("value", operation, `the compressor is ${describe(compressor)}.`, remedy);
    // Its name is one that arrays can be made with.
    await create(memoryStore(), { shape: [1], dtype: "u8", compressor: compressor as "gzip" });
  }
  const given = new Map<string, ZarrSource>();
  const stores: Record<string, StoreSpec> = {};
  draft.sources.forEach((source, k) => {
    stores[`source${k}`] = storeSpec(operation, source, `source${k}`, given);
  });
  stores.output = storeSpec(operation, to, "output", given);
  const needsWork = Object.values(draft.arrays).some((array) => array.role === "work");
  if (needsWork) {
    const folder =
      stores.output.kind === "folder" ? `${stores.output.path.replace(/[/\\]+$/, "")}.work` : undefined;
    if (work === undefined && folder === undefined) checkHolds(operation, draft);
    stores.work = storeSpec(operation, work ?? folder ?? memoryStore(), "work", given);
  }
  const arrays: Record<string, ArraySpec> = {};
  for (const [name, spec] of Object.entries(draft.arrays)) {
    const store = spec.role === "input" ? `source${spec.store}` : spec.role;
    const packed = spec.role === "output" && compressor != null ? { compressor } : {};
    arrays[name] = { ...spec, store, ...packed };
  }
  const { memory, reserved, workers, operations, result } = draft;
  const rest = {
    version: PLAN_VERSION,
    memory,
    reserved,
    workers,
    stores,
    arrays,
    operations,
    result,
  } as const;
  // As JSON says it, so that what was hashed is what is read back.
  const plain = JSON.parse(JSON.stringify(rest)) as Omit<Plan, "hash">;
  return { plan: { ...plain, hash: await hashOf(plain) }, given };
}

/** Throws where what lies between operations is kept in memory, and does not fit beside a task. */
function checkHolds(operation: string, draft: Draft): void {
  const { memory, reserved, operations } = draft;
  const left = memory - reserved - Math.max(...operations.map((op) => op.projected));
  const bytes = bytesOf(draft, "work");
  if (bytes <= left) return;
  fail(
    "value",
    operation,
    `what lies between operations has ${showBytes(bytes)} and would be kept in memory, where ${showBytes(left)} are left.`,
    'Say where else: { work: "work" }, a folder or another store; or plan with more { memory }.',
  );
}

function storeSpec(
  operation: string,
  source: ZarrSource,
  name: string,
  given: Map<string, ZarrSource>,
): StoreSpec {
  const text = source instanceof URL ? source.href : source;
  if (typeof text !== "string") {
    if (typeof text !== "object" || text === null)
      fail("value", operation, `${name} is ${describe(source)}.`);
    given.set(name, text);
    return { kind: "given", name };
  }
  if (/^https?:/i.test(text)) return { kind: "http", url: text };
  return { kind: "folder", path: absolutePath(filePath(operation, source)) };
}

/** The result of a draft as a tensor, with everything in between kept in memory. */
export async function computeDraft(draft: Draft, signal: AbortSignal | undefined): Promise<Tensor> {
  const store = memoryStore();
  // Planned for: the draft leaves room for all that is kept.
  const bound = await bind("compute", draft, { to: store, work: memoryStore() });
  await runBound("compute", bound, local(), { keep: true, ...(signal === undefined ? {} : { signal }) });
  const array = await openZarr(store);
  return array.read(null);
}
