/**
 * Where the arrays of a plan lie, as far as a process may go there: folders, addresses and objects that are not on its list are
 * refused, whatever a plan says. Arrays are opened once for each context.
 */
import { fail } from "../errors.ts";
import { builtin } from "../io/node.ts";
import type { ZarrArray } from "../io/zarr-array.ts";
import { openArray as openZarr, type ZarrSource } from "../io/zarr-group.ts";
import type { AllowList, ArraySpec, Plan, RunContext, StoreSpec } from "./types.ts";

const OPERATION = "chunked";

/** Where an array lies in its store: those of the work store below the plan's hash, so that plans never meet. */
export function pathOf(plan: Plan, name: string): string {
  const { role, path } = specOf(plan, name);
  return role === "work" ? `${workFolder(plan)}/${path}` : path;
}

/** The part of the work store that is a plan's own. */
export const workFolder = ({ hash }: Plan): string => hash.slice(0, 16);

export function specOf(plan: Plan, name: string): ArraySpec {
  if (Object.hasOwn(plan.arrays, name)) return plan.arrays[name];
  return fail("value", OPERATION, `the plan has no array ${JSON.stringify(name)}.`);
}

interface Paths {
  resolve(...parts: string[]): string;
  relative(from: string, to: string): string;
  isAbsolute(path: string): boolean;
  dirname(path: string): string;
  basename(path: string): string;
  join(...parts: string[]): string;
}
interface Links {
  readonly realpathSync: { native(path: string): string };
  lstatSync(path: string, options: { readonly throwIfNoEntry: false }): unknown;
}

/** A path as all processes mean it. */
export const absolutePath = (path: string): string =>
  (builtin("node:path") as Paths | undefined)?.resolve(path) ?? path;

/** A path without links: what is not there yet lies in what is. Null where a link leads nowhere. */
export function realPath(path: string): string | null {
  const paths = builtin("node:path") as Paths | undefined;
  const files = builtin("node:fs") as Links | undefined;
  if (paths === undefined || files === undefined) return path;
  let at = paths.resolve(path);
  for (let rest = ""; ; ) {
    try {
      return paths.join(files.realpathSync.native(at), rest);
    } catch {
      const above = paths.dirname(at);
      if (above === at || isThere(files, at)) return null;
      rest = paths.join(paths.basename(at), rest);
      at = above;
    }
  }
}

function isThere(files: Links, path: string): boolean {
  try {
    return files.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Does a path lie in a folder, or is it the folder, wherever links on the way lead? */
export function liesIn(path: string, folder: string): boolean {
  const paths = builtin("node:path") as Paths | undefined;
  if (paths === undefined) return false;
  if (paths.resolve(folder) === paths.resolve(path)) return true;
  const [real, within] = [realPath(path), realPath(folder)];
  if (real === null || within === null) return false;
  const between = paths.relative(within, real);
  return between === "" || (!/^\.\.(?:[/\\]|$)/.test(between) && !paths.isAbsolute(between));
}

/** The store that a plan names, if this process may go there. */
export function storeFor(spec: StoreSpec, allow: AllowList): ZarrSource {
  switch (spec.kind) {
    case "folder":
      if (allow.folders.some((folder) => liesIn(spec.path, folder))) return absolutePath(spec.path);
      return fail(
        "value",
        OPERATION,
        `the plan's folder ${JSON.stringify(realPath(spec.path) ?? spec.path)} is not one that this process may open.`,
        `Those are ${allow.folders.map((f) => JSON.stringify(f)).join(", ") || "none"}.`,
      );
    case "http": {
      const plain = new URL(spec.url).href;
      const isAllowed = allow.urls.some(
        (url) => plain === url || (url.endsWith("/") && plain.startsWith(url)),
      );
      if (isAllowed) return plain;
      return fail(
        "value",
        OPERATION,
        `the plan's address ${JSON.stringify(spec.url)} is not one that this process may open.`,
      );
    }
    case "given":
      return (
        allow.given?.get(spec.name) ??
        fail(
          "value",
          OPERATION,
          `the plan's store ${JSON.stringify(spec.name)} is an object of the process that made the plan.`,
          "Run it there with local(), or keep the array in a folder.",
        )
      );
    default:
      return fail("value", OPERATION, "the plan has a store of no known kind.");
  }
}

/** Everything a plan names: what the process that made it may open. */
export function allowPlan(plan: Plan, given?: ReadonlyMap<string, ZarrSource>): AllowList {
  const stores = Object.values(plan.stores);
  return {
    folders: stores.flatMap((s) => (s.kind === "folder" ? [s.path] : [])),
    urls: stores.flatMap((s) => (s.kind === "http" ? [new URL(s.url).href] : [])),
    ...(given === undefined ? {} : { given }),
  };
}

export function sourceOf(plan: Plan, name: string, allow: AllowList): ZarrSource {
  const { store } = specOf(plan, name);
  if (!Object.hasOwn(plan.stores, store)) {
    return fail("value", OPERATION, `the plan has no store ${JSON.stringify(store)}.`);
  }
  return storeFor(plan.stores[store], allow);
}

const opened = new WeakMap<AllowList, Map<string, Promise<ZarrArray>>>();

/** An array of a plan, opened; it must be what the plan says it is. */
export function openArray(plan: Plan, name: string, { allow, signal }: RunContext): Promise<ZarrArray> {
  let known = opened.get(allow);
  if (known === undefined) {
    known = new Map();
    opened.set(allow, known);
  }
  const key = `${plan.hash} ${name}`;
  let found = known.get(key);
  if (found === undefined) {
    found = openChecked(plan, name, allow, signal);
    // What failed is tried again.
    found.catch(() => known.delete(key));
    known.set(key, found);
  }
  return found;
}

async function openChecked(
  plan: Plan,
  name: string,
  allow: AllowList,
  signal: AbortSignal | undefined,
): Promise<ZarrArray> {
  const spec = specOf(plan, name);
  const path = pathOf(plan, name);
  const array = await openZarr(sourceOf(plan, name, allow), {
    ...(path === "" ? {} : { path }),
    ...(signal === undefined ? {} : { signal }),
  });
  const isSame =
    array.dtype === spec.dtype &&
    String(array.shape) === String(spec.shape) &&
    String(effectiveChunks(array)) === String(spec.chunks);
  // What lies between operations was written, or is gone: a chunk that is not there is no zeros.
  const read: ZarrArray["read"] = (slice, options) => array.read(slice, { ...options, missing: "error" });
  if (isSame) return spec.role === "work" ? { ...array, read } : array;
  return fail(
    "file",
    OPERATION,
    `${name} is ${array.dtype} [${array.shape}] in chunks of [${effectiveChunks(array)}], ` +
      `and the plan was made for ${spec.dtype} [${spec.shape}] in chunks of [${spec.chunks}].`,
    "Make the plan again.",
  );
}

/** What is read and written as a whole: a shard, where there are any; never more than the array. */
export const effectiveChunks = (array: ZarrArray): number[] =>
  (array.shards ?? array.chunks).map((c, d) => Math.min(c, array.shape[d]));
