/**
 * Where the keys of a Zarr hierarchy live: the interface that users may implement, and the `Shelf` that every store becomes
 * when it is read once at the border. Memory is here; folders, HTTP and S3 have files of their own. Nothing here knows what
 * the bytes mean.
 */
import { arrayFacts } from "../dtype.ts";
import { describe, fail } from "../errors.ts";
import { quoted, whyOutside } from "./names.ts";
import { checkSignal, isReal } from "./source.ts";

/** Some of the bytes of a key: those from a place on, or the last ones. */
export type ZarrRange = { readonly from: number; readonly length: number } | { readonly last: number };

/** How a key is read. */
export interface ZarrGetOptions {
  /** Only these bytes. A store that has fewer gives those it has. */
  readonly range?: ZarrRange;
  /** More bytes than this are an error anyway: a store need not bring them. */
  readonly most?: number;
  /** Ends the reading. */
  readonly signal?: AbortSignal;
}

/** How a key is written. */
export interface ZarrSetOptions {
  /** Ends the writing. */
  readonly signal?: AbortSignal;
}

type Maybe<T> = T | PromiseLike<T>;

/**
 * What a store has to do; all but `get` may be missing, and then what needs them says so. Keys are paths with slashes, such as
 * "group/array/c/0/1", and never lead out: no "..", no slash at their beginning.
 */
export interface ZarrStore {
  /** The bytes of a key, or undefined where there is no such key. */
  get(key: string, options?: ZarrGetOptions): Maybe<Uint8Array | null | undefined>;
  /** Keeps bytes under a key: all of them, or, where it fails, none. They are the store's own. */
  set?(key: string, bytes: Uint8Array, options?: ZarrSetOptions): Maybe<unknown>;
  /** Whether there is such a key. */
  has?(key: string, options?: ZarrSetOptions): Maybe<boolean>;
  /** The names in a folder ("" is the root): "zarr.json", and with a slash at their end those of folders: "c/". */
  list?(folder: string, options?: ZarrSetOptions): Maybe<Iterable<string>>;
  /** Removes a key; there need not be one. */
  delete?(key: string, options?: ZarrSetOptions): Maybe<unknown>;
}

/** A store as the rest of io sees it. */
export interface Shelf {
  /** As messages call it. */
  readonly name: string;
  /** What to do where nothing of Zarr lies in it. */
  readonly hint?: string;
  get(operation: string, key: string, options: ZarrGetOptions): Promise<Uint8Array | null>;
  readonly set:
    | ((operation: string, key: string, bytes: Uint8Array, signal: AbortSignal | undefined) => Promise<void>)
    | null;
  readonly has: (operation: string, key: string, signal: AbortSignal | undefined) => Promise<boolean>;
  /** Where its keys lie, where that can be told: a folder's path, or an address. Equal places are one store. */
  readonly place?: string;
  readonly list:
    | ((operation: string, folder: string, signal: AbortSignal | undefined) => Promise<readonly string[]>)
    | null;
  readonly remove:
    | ((operation: string, key: string, signal: AbortSignal | undefined) => Promise<void>)
    | null;
  /** Removes all that lies in a folder, also what `list` does not show; without it keys are removed one by one. */
  readonly empty?: (operation: string, folder: string, signal: AbortSignal | undefined) => Promise<void>;
  /**
   * Reads a key into memory that stays where it is; false: there is no such key. It may lie in the heap. All of the key has
   * `size` bytes; those from `from` on are read.
   */
  readonly fill?: (
    operation: string,
    key: string,
    target: Uint8Array,
    signal: AbortSignal | undefined,
    size?: number,
    from?: number,
  ) => Promise<boolean>;
  /** `set` reads its bytes before it settles and keeps none: they may lie in the heap. */
  readonly takesHeap: boolean;
  /** A shelf of the same keys for what is to lie at a path once it is complete; without it nothing can be written aside. */
  readonly aside?: (operation: string, path: string) => Promise<Aside>;
}

/** What is written beside its place. One of the two functions ends it. */
export interface Aside {
  readonly shelf: Shelf;
  /** Puts it in its place; with `replaces` what lies there goes. */
  put(replaces: boolean): Promise<void>;
  /** Removes it. */
  drop(): Promise<void>;
}

/** Throws what is wrong with what lies under a key: which store, which key, the fact, and what can be done. */
export function failAt(operation: string, store: string, key: string, fact: string, remedy?: string): never {
  return fail("file", operation, `${store}, key ${quoted(key)}: ${fact}`, remedy);
}

/** Throws unless a key stays in its store. */
export function checkKey(operation: string, store: string, key: unknown): string {
  if (typeof key !== "string")
    return fail("value", operation, `a key is ${describe(key)}.`, "Keys are texts.");
  const why = whyOutside(key);
  return why === null ? key : failAt(operation, store, key, `a key that ${why} is none.`);
}

/** A folder of a store: "" or a key. */
const checkFolder = (operation: string, store: string, folder: unknown): string =>
  folder === "" ? "" : checkKey(operation, store, folder);

/** Throws unless a range is one. */
export function checkRange(operation: string, range: unknown): ZarrRange | undefined {
  if (range === undefined) return undefined;
  const isCount = (x: unknown) => Number.isSafeInteger(x) && (x as number) >= 0;
  const { from, length, last } = (typeof range === "object" && range !== null ? range : {}) as Record<
    string,
    unknown
  >;
  if (last !== undefined && isCount(last)) return { last: last as number };
  if (isCount(from) && isCount(length)) return { from: from as number, length: length as number };
  return fail("value", operation, "the range is none.", "Give { from, length } or { last }, in bytes.");
}

/** The part of some bytes that a range means. */
export function partOf(bytes: Uint8Array, range: ZarrRange | undefined): Uint8Array {
  if (range === undefined) return bytes;
  if ("last" in range) return bytes.subarray(Math.max(0, bytes.length - range.last));
  return bytes.subarray(range.from, range.from + range.length);
}

/* Stores that we made ---------------------------------------------------------------------------------- */

const made = new WeakMap<object, Shelf>();

/** The face of a shelf: what users hold, and may call themselves. */
export function storeOf(shelf: Shelf): ZarrStore {
  const { name } = shelf;
  const signalOf = (operation: string, options: ZarrSetOptions | undefined) =>
    checkSignal(operation, options?.signal);
  const store: ZarrStore = {
    async get(key, options) {
      const [range, most] = [checkRange("get", options?.range), options?.most];
      const signal = signalOf("get", options);
      return (
        (await shelf.get("get", checkKey("get", name, key), {
          ...(range === undefined ? {} : { range }),
          ...(most === undefined ? {} : { most }),
          ...(signal === undefined ? {} : { signal }),
        })) ?? undefined
      );
    },
    has: (key, options) => shelf.has("has", checkKey("has", name, key), signalOf("has", options)),
  };
  const { set, list, remove } = shelf;
  if (set !== null) {
    store.set = async (key, bytes, options) => {
      const signal = signalOf("set", options);
      await set("set", checkKey("set", name, key), bytesFrom("set", name, bytes), signal);
    };
  }
  if (list !== null) {
    store.list = (folder, options) =>
      list("list", checkFolder("list", name, folder), signalOf("list", options));
  }
  if (remove !== null) {
    store.delete = (key, options) =>
      remove("delete", checkKey("delete", name, key), signalOf("delete", options));
  }
  Object.freeze(store);
  made.set(store, shelf);
  return store;
}

function bytesFrom(operation: string, store: string, bytes: unknown): Uint8Array {
  if (!ArrayBuffer.isView(bytes)) {
    return fail("value", operation, `${store} was given ${describe(bytes)}.`, "Give a Uint8Array.");
  }
  const { buffer, byteOffset, byteLength } = arrayFacts(bytes);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/* Memory and objects of users --------------------------------------------------------------------------- */

const NAME = "the store";

/** A Map of keys and bytes. */
function shelfOfMap(map: Map<string, Uint8Array>): Shelf {
  const { get, set, has, keys } = Map.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
  return {
    name: NAME,
    async get(operation, key, { range, signal }) {
      signal?.throwIfAborted();
      const found = Reflect.apply(get, map, [key]);
      return found === undefined ? null : partOf(bytesFrom(operation, NAME, found), range);
    },
    async set(_, key, bytes, signal) {
      signal?.throwIfAborted();
      Reflect.apply(set, map, [key, bytes.slice()]);
    },
    has: async (_, key) => Reflect.apply(has, map, [key]) as boolean,
    async list(_, folder) {
      const prefix = folder === "" ? "" : `${folder}/`;
      const names = new Set<string>();
      for (const key of Reflect.apply(keys, map, []) as Iterable<unknown>) {
        if (typeof key !== "string" || !key.startsWith(prefix)) continue;
        const rest = key.slice(prefix.length);
        const slash = rest.indexOf("/");
        names.add(slash < 0 ? rest : rest.slice(0, slash + 1));
      }
      return [...names];
    },
    async remove(_, key) {
      Reflect.apply(Map.prototype.delete, map, [key]);
    },
    async aside(_, path) {
      const own = new Map<string, Uint8Array>();
      const isBelow = (key: unknown) =>
        typeof key === "string" && (path === "" || key.startsWith(`${path}/`));
      return {
        shelf: shelfOfMap(own),
        async put() {
          for (const key of [...(Reflect.apply(keys, map, []) as Iterable<unknown>)])
            if (isBelow(key)) Reflect.apply(Map.prototype.delete, map, [key]);
          for (const [key, bytes] of own) if (isBelow(key)) Reflect.apply(set, map, [key, bytes]);
        },
        async drop() {},
      };
    },
    takesHeap: true,
  };
}

/**
 * A store in memory.
 *
 *     const store = zarr.memoryStore();
 *     const array = await zarr.create(store, { shape: [100, 100], dtype: "f32", chunks: [10, 100] });
 *
 * A `Map` of keys and bytes is one, too.
 *
 * @returns a store
 * @example
 * const store = zarr.memoryStore();
 * await zarr.save(store, tensor([1, 2]));
 * (await zarr.load(store)).array; // → f32 [1, 2]
 */
export const memoryStore = (): ZarrStore => storeOf(shelfOfMap(new Map()));

/** The most names that one folder may have. */
const MOST_NAMES = 1_000_000;

/** An object of a user's, its methods read once. */
function shelfOfObject(operation: string, store: object): Shelf | null {
  const methods: Partial<Record<"get" | "set" | "has" | "list" | "delete", unknown>> = {};
  try {
    for (const key of ["get", "set", "has", "list", "delete"] as const) {
      methods[key] = (store as Record<string, unknown>)[key];
    }
  } catch {
    return null;
  }
  for (const [key, method] of Object.entries(methods)) {
    if (typeof method === "function" || (method === undefined && key !== "get")) continue;
    if (key === "get") return null;
    fail("value", operation, `the store's ${key} is ${describe(method)}.`, "It is a function, or left out.");
  }
  const call = async (key: keyof typeof methods, ...args: readonly unknown[]): Promise<unknown> =>
    Reflect.apply(methods[key] as (...all: unknown[]) => unknown, store, args);
  const stop = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });
  const shelf: Shelf = {
    name: NAME,
    async get(op, key, options) {
      options.signal?.throwIfAborted();
      const got = await call("get", key, options);
      if (got === undefined || got === null) return null;
      if (!ArrayBuffer.isView(got)) {
        failAt(op, NAME, key, `get gave ${describe(got)}.`, "It gives a Uint8Array, or undefined.");
      }
      return bytesFrom(op, NAME, got);
    },
    set:
      methods.set === undefined
        ? null
        : async (_, key, bytes, signal) => {
            await call("set", key, bytes, stop(signal));
          },
    has: async (op, key, signal) =>
      methods.has === undefined
        ? (await shelf.get(op, key, stop(signal))) !== null
        : (await call("has", key, stop(signal))) === true,
    list:
      methods.list === undefined
        ? null
        : async (op, folder, signal) => namesFrom(op, folder, await call("list", folder, stop(signal))),
    remove:
      methods.delete === undefined
        ? null
        : async (_, key, signal) => {
            await call("delete", key, stop(signal));
          },
    takesHeap: false,
  };
  return shelf;
}

function namesFrom(operation: string, folder: string, got: unknown): readonly string[] {
  const iterator =
    typeof got === "object" && got !== null ? (got as Iterable<unknown>)[Symbol.iterator] : null;
  if (typeof iterator !== "function") {
    return fail("value", operation, `the store's list gave ${describe(got)}.`, "It gives a list of names.");
  }
  const names: string[] = [];
  for (const name of got as Iterable<unknown>) {
    if (names.length >= MOST_NAMES) {
      fail("file", operation, `${NAME}: folder ${quoted(folder)} has more than ${MOST_NAMES} names.`);
    }
    if (typeof name !== "string") {
      return fail(
        "value",
        operation,
        `the store's list gave the name ${describe(name)}.`,
        "Names are texts.",
      );
    }
    names.push(name);
  }
  return names;
}

/** The shelf of a store that was given as an object: one of ours, a Map, or one with methods; null: it is none. */
export function shelfOfGiven(operation: string, store: unknown): Shelf | null {
  if (typeof store !== "object" || store === null) return null;
  const own = made.get(store);
  if (own !== undefined) return own;
  if (isReal(Map, "size", store)) return shelfOfMap(store as Map<string, Uint8Array>);
  return shelfOfObject(operation, store);
}
