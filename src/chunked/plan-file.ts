/** Plans as JSON: their hash, and reading one that came from outside. */
import { isDType } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { isWork } from "./plan-work.ts";
import { PLAN_VERSION, type Plan } from "./types.ts";

/** JSON with the keys of every object in order: equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value)
      .filter(([, v]) => v !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${canonicalJson(v)}`).join()}}`;
  }
  return JSON.stringify(value ?? null);
}

/** SHA-256 of the canonical JSON of all fields but the hash. */
export async function hashOf(plan: Omit<Plan, "hash">): Promise<string> {
  const { hash: _, ...rest } = plan as Plan;
  const bytes = new TextEncoder().encode(canonicalJson(rest));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (x) => x.toString(16).padStart(2, "0")).join("");
}

const MOST_TASKS = 2 ** 40;
const isCount = (x: unknown): x is number => Number.isSafeInteger(x) && (x as number) >= 0;
const isSizes = (x: unknown): x is number[] =>
  Array.isArray(x) && x.length <= 64 && x.every((n) => isCount(n) && n >= 1);
const isMap = (x: unknown): x is Record<string, unknown> =>
  typeof x === "object" && x !== null && !Array.isArray(x);
const isName = (x: unknown): x is string => typeof x === "string" && /^[\w-]{1,100}$/.test(x);

/**
 * Reads a plan that came from a file: its form, its version and its hash are checked, and with `expected` that it is the one that
 * was asked for. What a plan may open is another matter: that is the allow-list's.
 *
 *     const plan = await checkPlan(JSON.parse(await readFile("plan.json", "utf8")));
 *
 * @param given a plan, as JSON has it
 * @param expected the hash of the plan that was asked for
 * @returns a promise of the same, as a plan
 * @throws TensorError where it is none, or its fields do not fit each other
 * @example
 * const made = await chunked.full([2], 1, { chunks: [1] }).plan().toPlan({ to: "z.zarr" });
 * (await checkPlan(JSON.parse(JSON.stringify(made)))).hash === made.hash; // → true
 */
export async function checkPlan(given: unknown, expected?: string): Promise<Plan> {
  const bad = (fact: string): never =>
    fail("file", "chunked", `this is no plan: ${fact}.`, "Make it with z.plan(…).");
  if (!isMap(given)) return bad(`it is ${describe(given)}`);
  const { version, hash, memory, reserved, workers, stores, arrays, operations, result } = given;
  if (version !== PLAN_VERSION) bad(`its version is ${describe(version)}, ${PLAN_VERSION} is known`);
  if (typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash)) return bad("it has no hash");
  if (expected !== undefined && hash !== expected) bad("it is another one than was asked for");
  for (const [name, value] of Object.entries({ memory, reserved, workers })) {
    if (!isCount(value)) bad(`its ${name} is ${describe(value)}`);
  }
  if (!isMap(stores) || !isMap(arrays) || !Array.isArray(operations)) return bad("a part is missing");
  for (const [name, store] of Object.entries(stores)) {
    const isStore =
      isMap(store) &&
      ((store.kind === "folder" && typeof store.path === "string") ||
        (store.kind === "http" && typeof store.url === "string" && URL.canParse(store.url)) ||
        (store.kind === "given" && typeof store.name === "string"));
    if (!isStore) bad(`its store ${JSON.stringify(name)} is none`);
  }
  for (const [name, array] of Object.entries(arrays)) {
    const isArray =
      isName(name) &&
      isMap(array) &&
      typeof array.store === "string" &&
      Object.hasOwn(stores, array.store) &&
      typeof array.path === "string" &&
      (array.compressor == null || typeof array.compressor === "string") &&
      ["input", "work", "output"].includes(array.role as string) &&
      isDType(array.dtype) &&
      isSizes(array.shape) &&
      isSizes(array.chunks) &&
      array.shape.length === array.chunks.length;
    if (!isArray) bad(`its array ${JSON.stringify(name)} is none`);
  }
  const known = new Set<string>();
  /** What operations may read: inputs, and what those before them wrote. */
  const there = Object.fromEntries(
    Object.entries(arrays as Plan["arrays"]).filter(([, { role }]) => role === "input"),
  );
  for (const op of operations) {
    if (!isMap(op) || !isName(op.id) || known.has(op.id)) return bad("an operation has no name of its own");
    const isOperation =
      isName(op.output) &&
      Object.hasOwn(arrays, op.output) &&
      (arrays[op.output] as { role: string }).role !== "input" &&
      Array.isArray(op.inputs) &&
      op.inputs.every((x: unknown) => isName(x) && Object.hasOwn(arrays, x)) &&
      Array.isArray(op.after) &&
      op.after.every((x: unknown) => known.has(x as string)) &&
      isSizes(op.block) &&
      op.block.length === (arrays[op.output] as { shape: number[] }).shape.length &&
      isCount(op.tasks) &&
      op.tasks <= MOST_TASKS &&
      isCount(op.projected) &&
      isCount(op.reads) &&
      isCount(op.writes) &&
      typeof op.label === "string" &&
      isWork(op.work, there, { ...(arrays as Plan["arrays"])[op.output], block: op.block });
    if (!isOperation) bad(`its operation ${JSON.stringify(op.id)} is none`);
    const written = (arrays as Plan["arrays"])[op.output as string];
    const { shape, chunks } = written;
    const isWhole = (op.block as number[]).every((b, d) => b % chunks[d] === 0 || b >= shape[d]);
    if (!isWhole) bad(`its operation ${JSON.stringify(op.id)} writes parts of chunks`);
    const tasks = (op.block as number[]).reduce((n, b, d) => n * Math.ceil(shape[d] / b), 1);
    if (tasks !== op.tasks) bad(`its operation ${JSON.stringify(op.id)} has ${tasks} tasks, not ${op.tasks}`);
    known.add(op.id);
    there[op.output as string] = written;
  }
  const isResult =
    isName(result) && (arrays[result] as Plan["arrays"][string] | undefined)?.role === "output";
  if (!isResult || !Object.hasOwn(arrays, result)) bad("it has no result");
  const plan = given as unknown as Plan;
  if ((await hashOf(plan)) !== hash) bad("its contents are not those that its hash was made of");
  for (const { id, projected } of plan.operations)
    if (projected + plan.reserved > plan.memory)
      bad(`its operation ${JSON.stringify(id)} needs more than its memory`);
  return plan;
}
