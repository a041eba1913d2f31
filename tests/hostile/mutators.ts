/**
 * Ways to make a valid argument hostile. Each is a row: which values it fits, and what it makes of one. Nothing here is
 * random: a mutator's name and the place it is used at are the whole case.
 */
import { engine } from "../../src/engine.ts";
import { Tensor } from "../../src/index.ts";
import type { World } from "./world.ts";

export interface Mutator {
  readonly group: Group;
  readonly fits: (value: unknown, place: Place) => boolean;
  readonly make: (value: unknown, w: World, place: Place) => unknown;
  /** A call that returns has the result of the valid call: the argument says the same, only in its own way. */
  readonly same?: true;
  /** A call that returns is wrong: what it was given is no tensor, or not one to write to. */
  readonly refuses?: (value: unknown, place: Place) => boolean;
  /** Errors of the host that come from the function itself, not from the library. */
  readonly own?: RegExp;
  /** Counts reads: whatever is read twice is told. */
  readonly counts?: true;
}

/** Where a value stands: `2`, `1.axis`, `0[1]`; `self` is what a method is called on. */
export interface Place {
  readonly path: string;
  readonly self: boolean;
}

export type Group =
  | "values that change between reads"
  | "getters with side effects"
  | "proxies"
  | "counted reads"
  | "odd values"
  | "odd lists"
  | "forged and tampered tensors"
  | "typed arrays and buffers"
  | "functions"
  | "odd options"
  | "huge numbers"
  | "lists without an end";

/* What a value is ---------------------------------------------------------------------------------------- */

export type Plain = Record<string, unknown>;
export const isList = (x: unknown): x is unknown[] => Array.isArray(x);
export const isPlain = (x: unknown): x is Plain =>
  typeof x === "object" && x !== null && Object.getPrototypeOf(x) === Object.prototype;
const isTensor = (x: unknown): x is Tensor => x instanceof Tensor;
const isFunction = (x: unknown): x is (...args: unknown[]) => unknown =>
  typeof x === "function" && !("template" in x);
type Typed = Float32Array | Float64Array | Uint8Array | BigInt64Array | Int16Array;
const isTyped = (x: unknown): x is Typed => ArrayBuffer.isView(x) && !(x instanceof DataView);
const isBytes = (x: unknown): boolean => ArrayBuffer.isView(x) || x instanceof ArrayBuffer;
const isNumber = (x: unknown): x is number => typeof x === "number";
const isString = (x: unknown): x is string => typeof x === "string";
const isContainer = (x: unknown): x is Plain | unknown[] => isList(x) || isPlain(x);
const always = (): boolean => true;

/* Changing values ---------------------------------------------------------------------------------------- */

/** What a getter gives once it has changed its mind. */
const otherOf = (value: unknown): unknown => {
  if (isNumber(value)) return value >= 100 ? 1 : 1000;
  if (isString(value)) return value === "f64" ? "u8" : value === "u8" ? "f64" : "f64";
  if (typeof value === "boolean") return !value;
  if (isList(value)) return value.map(() => 1000);
  if (isTensor(value)) return 7;
  return Symbol("other");
};

/** A getter that gives `first` so many times, and `then` after that. */
function turning(first: unknown, then: unknown, after: number): () => unknown {
  let reads = 0;
  return () => (reads++ < after ? first : then);
}

/** The same list or object with an accessor for each of its keys. */
function withGetters(value: Plain | unknown[], getterOf: (x: unknown, key: string) => () => unknown): object {
  const copy: object = isList(value) ? [...value] : { ...value };
  for (const key of Object.keys(copy)) {
    const get = getterOf((value as Plain)[key], key);
    Object.defineProperty(copy, key, { get, enumerable: true, configurable: true });
  }
  return copy;
}

const changing = (after: number, back: boolean): Mutator => ({
  group: "values that change between reads",
  fits: (x) => isContainer(x) && Object.keys(x).length > 0,
  make: (x) =>
    withGetters(x as Plain, (v) => (back ? turning(otherOf(v), v, after) : turning(v, otherOf(v), after))),
});

/** A list whose length is another one after so many reads. */
const changingLength = (after: number, to: number): Mutator => ({
  group: "values that change between reads",
  fits: isList,
  make: (x) => {
    const list = x as unknown[];
    const length = turning(list.length, to, after);
    return new Proxy([...list], {
      get: (target, key) => (key === "length" ? length() : Reflect.get(target, key)),
    });
  },
});

/** A tensor in place of the option is another one at each later read. */
const changingTensor = (after: number): Mutator => ({
  group: "values that change between reads",
  fits: (x) => isContainer(x) && Object.values(x).some(isTensor),
  make: (x, w) =>
    withGetters(x as Plain, (v) => {
      if (!isTensor(v)) return () => v;
      return turning(v, w.of("f64", 1), after);
    }),
});

/* Side effects ------------------------------------------------------------------------------------------- */

const effects: Readonly<Record<string, (w: World) => void>> = {
  disposes: (w) => w.disposeAll(),
  grows: (w) => w.grow(),
  throws: (w) => {
    throw w.planted;
  },
};

/** The value, with something done at its first read. */
const getting = (effect: string): Mutator => ({
  group: "getters with side effects",
  fits: (x) => isContainer(x) && Object.keys(x).length > 0,
  make: (x, w) => withGetters(x as Plain, (v) => once(() => effects[effect](w), v)),
  same: true,
});

function once(effect: () => void, value: unknown): () => unknown {
  let done = false;
  return () => {
    if (!done) {
      done = true;
      effect();
    }
    return value;
  };
}

/** An object that stands for a number or a text, and does something when it is asked. */
const standing = (effect: string): Mutator => ({
  group: "getters with side effects",
  fits: (x) => isNumber(x) || isString(x) || typeof x === "boolean",
  make: (x, w) => {
    const get = once(() => effects[effect](w), x);
    return { [Symbol.toPrimitive]: get, valueOf: get, toString: () => String(get()) };
  },
});

/* Proxies ------------------------------------------------------------------------------------------------ */

const isObject = (x: unknown): x is object =>
  (typeof x === "object" && x !== null) || typeof x === "function";

const proxied = (handlerOf: (value: object, w: World) => ProxyHandler<object>): Mutator => ({
  group: "proxies",
  fits: isObject,
  make: (x, w) => new Proxy(x as object, handlerOf(x as object, w)),
  refuses: isTensor,
});

/* Reads, counted ------------------------------------------------------------------------------------------ */

/** What was read of one list or object, by name. */
export interface Reads {
  readonly what: string;
  readonly keys: Map<PropertyKey, number>;
  /** has, ownKeys and getOwnPropertyDescriptor: told, not forbidden. */
  readonly others: Map<string, number>;
}

const counted = new WeakMap<World, Reads[]>();
export const readsOf = (w: World): readonly Reads[] => counted.get(w) ?? [];

function bump<K>(map: Map<K, number>, key: K): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

/** Lists and objects at any depth, each behind a proxy that counts. */
function counting(value: unknown, w: World, what: string): unknown {
  if (!isContainer(value)) return value;
  const copy: object = isList(value)
    ? value.map((x, i) => counting(x, w, `${what}[${i}]`))
    : Object.fromEntries(Object.entries(value).map(([k, x]) => [k, counting(x, w, `${what}.${k}`)]));
  const reads: Reads = { what, keys: new Map(), others: new Map() };
  const all = counted.get(w) ?? [];
  all.push(reads);
  counted.set(w, all);
  return new Proxy(copy, {
    get(target, key) {
      bump(reads.keys, key);
      return Reflect.get(target, key);
    },
    has(target, key) {
      bump(reads.others, "has");
      return Reflect.has(target, key);
    },
    ownKeys(target) {
      bump(reads.others, "ownKeys");
      return Reflect.ownKeys(target);
    },
    getOwnPropertyDescriptor(target, key) {
      bump(reads.others, "getOwnPropertyDescriptor");
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
}

/**
 * The keys that were read more than once, in words; null if there are none. Walking a list by its own iterator reads the
 * length before each element: so often, and once more, is once.
 */
export function readTwice(reads: Reads): string | null {
  const { keys } = reads;
  const elements = [...keys.keys()].filter((k) => typeof k === "string" && /^\d+$/.test(k)).length;
  const mostLengths = keys.get(Symbol.iterator) === 1 ? elements + 2 : 1;
  const twice = [...keys].filter(([key, n]) => n > (key === "length" ? mostLengths : 1));
  if (twice.length === 0) return null;
  return twice.map(([key, n]) => `${reads.what}: ${String(key)} was read ${n} times`).join(", ");
}

/* Tensors ------------------------------------------------------------------------------------------------ */

/** What a look-alike of a tensor shows: a view of a canary, larger than the tensor. */
function lookalike(t: Tensor, w: World): Plain {
  const { address, bytes } = w.target();
  const seen = t as unknown as Plain;
  const storage = {
    heap: engine().heap,
    address,
    bytes,
    disposed: false,
    retain() {},
    release() {},
  };
  return {
    dtype: t.dtype,
    storage,
    frame: { shape: [4, 4], strides: [32, 8], offset: 0, itemBytes: 8, ...(seen.frame as object) },
    readOnly: false,
    shape: [4, 4],
    rank: 2,
    size: 16,
    strides: [4, 1],
    byteStrides: [32, 8],
    offset: 0,
    byteOffset: 0,
    isDisposed: false,
    isContiguous: true,
  };
}

/** A real tensor, in an unusual state. */
const unusual = (make: (t: Tensor, w: World) => unknown): Mutator => ({
  group: "forged and tampered tensors",
  fits: isTensor,
  make: (x, w) => make(x as Tensor, w),
});
/** No tensor at all. */
const forged = (make: (t: Tensor, w: World) => unknown): Mutator => ({ ...unusual(make), refuses: always });

/** Writes over members of a real tensor; they are put back at the end. */
function tamper(t: Tensor, w: World, fields: Plain): Tensor {
  for (const [name, value] of Object.entries(fields)) {
    const before = Object.getOwnPropertyDescriptor(t, name);
    if (!Reflect.set(t, name, value) || (t as unknown as Plain)[name] !== value) {
      Reflect.defineProperty(t, name, { value, configurable: true, writable: true });
    }
    w.undo.push(() => {
      if (before === undefined) Reflect.deleteProperty(t, name);
      else Reflect.defineProperty(t, name, before);
    });
  }
  return t;
}

/** A real tensor that was written on: it is refused, or is what it was. */
const tampered = (fieldsOf: (t: Tensor, w: World) => Plain): Mutator => ({
  ...unusual((t, w) => tamper(t, w, fieldsOf(t, w))),
  same: true,
});

const large = (t: Tensor): Plain => ({
  shape: Object.freeze([...t.shape.slice(0, -1), 1000]),
  strides: Object.freeze([...t.byteStrides]),
  offset: 0,
  itemBytes: 4,
});

/* Typed arrays and buffers --------------------------------------------------------------------------------- */

const redefined = (name: string, odd: (x: Typed) => unknown): Mutator => ({
  group: "typed arrays and buffers",
  fits: isTyped,
  make: (x) => {
    const copy = (x as Typed).slice();
    Object.defineProperty(copy, name, { value: odd(copy as Typed), configurable: true });
    return copy;
  },
});

const bytes = (make: (w: World) => unknown): Mutator => ({
  group: "typed arrays and buffers",
  fits: isBytes,
  make: (_, w) => make(w),
});

function detached(): Uint8Array {
  const u8 = new Uint8Array(64);
  structuredClone(u8.buffer, { transfer: [u8.buffer] });
  return u8;
}

interface Resizable {
  resize(bytes: number): void;
}
const ResizableBuffer = ArrayBuffer as unknown as new (
  bytes: number,
  options: { maxByteLength: number },
) => ArrayBuffer & Resizable;
const GrowableBuffer = SharedArrayBuffer as unknown as new (
  bytes: number,
  options: { maxByteLength: number },
) => SharedArrayBuffer & { grow(bytes: number): void };

function shrunk(): Uint8Array {
  const buffer = new ResizableBuffer(64, { maxByteLength: 128 });
  const u8 = new Uint8Array(buffer, 32, 32);
  buffer.resize(16);
  return u8;
}

/* Functions ------------------------------------------------------------------------------------------------ */

type Anything = (...args: unknown[]) => unknown;

const calling = (wrap: (fn: Anything, w: World) => unknown, same?: true): Mutator => ({
  group: "functions",
  fits: isFunction,
  make: (x, w) => wrap(x as Anything, w),
  ...(same === undefined ? {} : { same }),
});

/** A function that is called, never compiled: it has a capture. */
const returning = (value: unknown): Mutator =>
  calling(() => {
    const odd = { value };
    return () => odd.value;
  });

/* Odd values ------------------------------------------------------------------------------------------------ */

function deep(levels: number): unknown[] {
  let list: unknown[] = [1];
  for (let i = 0; i < levels; i++) list = [list];
  return list;
}
function cyclic(times: number): unknown[] {
  const list: unknown[] = [];
  for (let i = 0; i < times; i++) list.push(list);
  return list;
}
function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

const odd = (make: (value: unknown, w: World) => unknown): Mutator => ({
  group: "odd values",
  fits: always,
  make,
});
const oddNumber = (value: unknown): Mutator => ({
  group: "odd values",
  fits: isNumber,
  make: () => value,
});
const huge = (value: number): Mutator => ({ ...oddNumber(value), group: "huge numbers" });
const oddText = (make: (text: string) => unknown): Mutator => ({
  group: "odd values",
  fits: isString,
  make: (x) => make(x as string),
});

/* Odd lists ------------------------------------------------------------------------------------------------- */

const oddList = (make: (list: unknown[], w: World) => unknown): Mutator => ({
  group: "odd lists",
  fits: isList,
  make: (x, w) => make(x as unknown[], w),
});

class Species extends Array<unknown> {
  static override get [Symbol.species](): ArrayConstructor {
    return class {
      constructor() {
        Object.defineProperty(this, "length", { value: 1000, writable: true });
      }
    } as unknown as ArrayConstructor;
  }
}
class Liar extends Array<unknown> {
  override map<U>(): U[] {
    return [1000 as U, 1000 as U];
  }
  override slice(): unknown[] {
    return [1000, 1000];
  }
  override every(): this is never[] {
    return true;
  }
  override some(): boolean {
    return false;
  }
  override findIndex(): number {
    return -1;
  }
  override reduce(): never {
    return 1 as never;
  }
  override includes(): boolean {
    return true;
  }
  override [Symbol.iterator](): ArrayIterator<unknown> {
    return [1000, 1000, 1000].values();
  }
}
const own = (list: unknown[], members: Plain): unknown[] => Object.assign([...list], members);

/* Odd options ------------------------------------------------------------------------------------------------ */

const oddOptions = (make: (options: Plain, w: World) => unknown, same?: true): Mutator => ({
  group: "odd options",
  fits: isPlain,
  make: (x, w) => make(x as Plain, w),
  ...(same === undefined ? {} : { same }),
});

/* The table --------------------------------------------------------------------------------------------------- */

const flips = [1, 2, 3, 4, 5, 6];

export const mutators: Readonly<Record<string, Mutator>> = {
  ...Object.fromEntries(flips.map((n) => [`changes@${n}`, changing(n, false)])),
  ...Object.fromEntries(flips.map((n) => [`changes-back@${n}`, changing(n, true)])),
  ...Object.fromEntries(flips.map((n) => [`longer@${n}`, changingLength(n, 1000)])),
  ...Object.fromEntries(flips.slice(0, 3).map((n) => [`shorter@${n}`, changingLength(n, 0)])),
  ...Object.fromEntries([1, 2, 3].map((n) => [`other-tensor@${n}`, changingTensor(n)])),

  "get-disposes": getting("disposes"),
  "get-grows": getting("grows"),
  "get-throws": getting("throws"),
  "get-detaches": {
    group: "getters with side effects",
    fits: (x) => isContainer(x) && Object.keys(x).length > 0,
    make: (x, w) => withGetters(x as Plain, (v) => once(() => w.detach(), v)),
  },
  "value-disposes": standing("disposes"),
  "value-grows": standing("grows"),
  "value-throws": standing("throws"),

  proxy: proxied(() => ({})),
  "proxy-throws": proxied((_, w) => ({
    get: () => {
      throw w.planted;
    },
  })),
  "proxy-symbols": proxied(() => ({ get: () => Symbol("from a proxy") })),
  "proxy-numbers": proxied(() => ({ get: () => 1000 })),
  "proxy-nothing": proxied(() => ({ get: () => undefined, has: () => false })),
  "proxy-has-all": proxied(() => ({ has: () => true })),
  "proxy-no-prototype": proxied(() => ({ getPrototypeOf: () => null })),
  "proxy-array-prototype": proxied(() => ({ getPrototypeOf: () => Array.prototype })),
  "proxy-tensor-prototype": proxied(() => ({ getPrototypeOf: () => Tensor.prototype })),
  "proxy-disposes": proxied((_, w) => {
    let done = false;
    return {
      get(target, key) {
        if (!done) w.disposeAll();
        done = true;
        return Reflect.get(target, key);
      },
    };
  }),
  "proxy-revoked": { ...proxied(() => ({})), make: (x) => revoked(x as object), own: /revoked/ },

  counted: {
    group: "counted reads",
    fits: isContainer,
    make: (x, w, place) => counting(x, w, place.path),
    same: true,
    counts: true,
  },

  undefined: odd(() => undefined),
  null: odd(() => null),
  true: odd(() => true),
  symbol: odd(() => Symbol("odd")),
  bigint: odd(() => 3n),
  nan: odd(() => Number.NaN),
  "minus-one": odd(() => -1),
  text: odd(() => "3"),
  "empty-text": odd(() => ""),
  "long-text": odd(() => "x".repeat(100_000)),
  object: odd(() => ({})),
  "null-prototype": odd(() => Object.create(null)),
  "empty-list": odd(() => []),
  "list-of-itself": odd(() => cyclic(1)),
  // Whoever walks all of it never comes back.
  "list-of-itself-twice": { ...odd(() => cyclic(2)), group: "lists without an end" },
  "deep-list": odd(() => deep(20_000)),
  "list-of-symbols": odd(() => [Symbol("odd")]),
  "list-of-objects": odd(() => [{}, { length: 3 }]),
  function: odd(() => () => 1),
  class: odd(() => class {}),
  date: odd(() => new Date(0)),
  map: odd(() => new Map([[1, 2]])),
  promise: odd(() => Promise.resolve(1)),
  "boxed-number": odd(() => new Number(3)),
  "array-like": odd(() => ({ length: 2, 0: 2, 1: 3 })),
  "array-like-long": odd(() => ({ length: 2 ** 53 })),
  "array-like-negative": odd(() => ({ length: -1 })),
  "revoked-object": odd(() => revoked({})),
  "revoked-list": odd(() => revoked([])),
  "revoked-function": { ...odd(() => revoked(() => 1)), own: /revoked/ },
  "throwing-object": odd((_, w) => {
    const boom = () => {
      throw w.planted;
    };
    return { [Symbol.toPrimitive]: boom, valueOf: boom, toString: boom, toJSON: boom };
  }),
  "no-primitive": odd(() => ({ [Symbol.toPrimitive]: () => ({}) })),
  "tensor-prototype": odd(() => Tensor.prototype),
  "typed-array": odd(() => new Float32Array(3)),
  buffer: odd(() => new ArrayBuffer(64)),
  "shared-buffer": odd(() => new SharedArrayBuffer(64)),
  "detached-array": odd(detached),
  "some-tensor": odd((_, w) => w.f32(2, 3)),
  "empty-tensor": odd((_, w) => w.f32(0, 3)),
  "disposed-tensor": odd((_, w) => {
    const t = w.f32(2, 3);
    t.dispose();
    return t;
  }),

  zero: oddNumber(0),
  "minus-zero": oddNumber(-0),
  half: oddNumber(0.5),
  "2^31": huge(2 ** 31),
  "2^32": huge(2 ** 32),
  "2^53": huge(2 ** 53),
  "-2^53": huge(-(2 ** 53)),
  infinity: huge(Infinity),
  "-infinity": huge(-Infinity),
  "1e300": huge(1e300),

  "text-proto": oddText(() => "__proto__"),
  "text-constructor": oddText(() => "constructor"),
  "text-to-string": oddText(() => "toString"),
  "text-boxed": oddText((x) => new String(x)),
  "text-in-list": oddText((x) => [x]),
  "text-by-object": oddText((x) => ({ toString: turning(x, "f64", 1) })),
  "text-surrogate": oddText(() => "\ud800\0->,,..."),
  "text-doubled": oddText((x) => x + x),
  "text-json": oddText(() => '{"dtype":"f32","shape":[1000],"data":[1],"__proto__":{"axis":0}}'),

  holes: oddList((list) => {
    const copy = [...list];
    delete copy[0];
    return copy;
  }),
  "all-holes": oddList((list) => new Array(list.length)),
  "very-long": oddList((list) => {
    const copy = [...list];
    copy.length = 2 ** 18;
    return copy;
  }),
  "one-more": oddList((list) => [...list, list[0]]),
  "one-less": oddList((list) => list.slice(0, -1)),
  "same-twice": oddList((list) => list.map(() => list[0])),
  "many-axes": oddList((list) => Array.from({ length: 100 }, () => list[0])),
  species: oddList((list) => Species.from(list)),
  liar: oddList((list) => Liar.from(list)),
  "own-iterator": oddList((list) => own(list, { [Symbol.iterator]: () => [1000, 1000].values() } as never)),
  "own-methods": oddList((list) =>
    own(list, { map: () => [1000], slice: () => [1000], every: () => true, findIndex: () => -1, length: 2 }),
  ),
  "no-methods": oddList((list) => Object.setPrototypeOf([...list], null)),
  "iterator-throws": oddList((list, w) =>
    own(list, {
      [Symbol.iterator]: () => {
        throw w.planted;
      },
    } as never),
  ),
  "iterator-long": oddList((list) =>
    own(list, {
      [Symbol.iterator]: function* () {
        for (let i = 0; i < 1e5; i++) yield 1;
      },
    } as never),
  ),
  "grows-while-read": oddList((list) => {
    const copy = [...list];
    const first = copy[0];
    const get = () => {
      if (copy.length < 1e5) copy.push(first);
      return first;
    };
    for (const i of list.keys())
      Object.defineProperty(copy, i, { get, configurable: true, enumerable: true });
    return copy;
  }),
  "shrinks-while-read": oddList((list) => {
    const copy = [...list];
    const first = copy[0];
    const get = () => {
      copy.length = 1;
      return first;
    };
    return Object.defineProperty(copy, 0, { get, configurable: true, enumerable: true });
  }),
  nested: oddList((list) => [list]),
  "frozen-list": { ...oddList((list) => Object.freeze([...list])), same: true },

  "look-alike": forged(lookalike),
  "look-alike-class": forged((t, w) => Object.setPrototypeOf(lookalike(t, w), Tensor.prototype)),
  "made-of-look-alike": forged((t, w) => {
    try {
      return w.own(new (Tensor as unknown as new (of: unknown) => Tensor)(lookalike(t, w)));
    } catch {
      return lookalike(t, w);
    }
  }),
  "derived-object": forged((t) => Object.create(t)),
  "derived-object-fields": forged((t) => Object.create(t, { frame: { value: large(t) } })),
  "class-only": forged(() => Object.create(Tensor.prototype)),
  "spread-copy": forged((t) => Object.assign(Object.create(Tensor.prototype), { ...t })),
  subclass: {
    ...unusual((t, w) => {
      class Sub extends Tensor {
        override get shape(): readonly number[] {
          return [1000, 1000];
        }
        override get size(): number {
          return 1e6;
        }
        override get rank(): number {
          return 1;
        }
        override get isDisposed(): boolean {
          return false;
        }
      }
      w.undo.push(() => Reflect.setPrototypeOf(t, Tensor.prototype));
      Reflect.setPrototypeOf(t, Sub.prototype);
      return t;
    }),
    same: true,
  },
  "no-prototype": {
    ...unusual((t, w) => {
      w.undo.push(() => Reflect.setPrototypeOf(t, Tensor.prototype));
      Reflect.setPrototypeOf(t, null);
      return t;
    }),
    same: true,
  },
  "field-frame": tampered((t) => ({ frame: large(t) })),
  "field-dtype": tampered((t) => ({ dtype: t.dtype === "f64" ? "u8" : "f64" })),
  "field-dtype-odd": tampered(() => ({ dtype: "constructor" })),
  "field-storage": tampered((t, w) => ({ storage: lookalike(t, w).storage })),
  "field-shape": tampered(() => ({ shape: [1000], size: 1000, rank: 1 })),
  "field-strides": tampered((t) => ({
    strides: t.strides.map(() => 500),
    byteStrides: t.shape.map(() => 500),
  })),
  "field-offset": tampered(() => ({ offset: 500, byteOffset: 2000 })),
  "field-disposed": unusual((t, w) => {
    const fields = { isDisposed: false };
    t.dispose();
    return tamper(t, w, fields);
  }),
  "field-methods": tampered((t) => ({
    to: () => t,
    reshape: () => 7,
    contiguous: () => null,
    slice: () => ({}),
    toTypedArray: () => [1000],
    dispose: () => {},
  })),
  "read-only": unusual((t, w) => w.own(w.own(t.slice(...t.shape.map(() => 0))).broadcastTo([...t.shape]))),
  "read-only-tampered": {
    ...unusual((t, w) => {
      const view = w.own(w.own(t.slice(...t.shape.map(() => 0))).broadcastTo([...t.shape]));
      return tamper(view, w, { readOnly: false });
    }),
    refuses: (_, place) => place.path.endsWith(".out"),
  },
  "disposed-view": unusual((t, w) => {
    const view = w.own(t.reshape([...t.shape]));
    view.dispose();
    return view;
  }),
  "overlaps-another": unusual((t, w) => {
    const other = w.tensors.find((x) => x !== t && x.rank === t.rank && x.dtype === t.dtype);
    return other === undefined ? t : w.own(other.flip());
  }),
  backwards: unusual((t, w) => w.own(w.own(w.own(t.flip()).clone()).flip())),
  "other-dtype": unusual((t, w) => w.own(t.to(t.dtype === "i64" ? "f32" : "i64"))),
  "without-axes": unusual((_, w) => w.of("f32")),
  "lying-instanceof": forged((t, w) => {
    Reflect.defineProperty(Tensor, Symbol.hasInstance, { value: () => true, configurable: true });
    w.undo.push(() => Reflect.deleteProperty(Tensor, Symbol.hasInstance));
    return lookalike(t, w);
  }),

  "length-more": redefined("length", (x) => x.length + 1000),
  "length-less": redefined("length", () => 1),
  "length-negative": redefined("length", () => -1),
  "length-text": redefined("length", () => "3"),
  "byte-length-more": redefined("byteLength", (x) => x.byteLength + 4000),
  "byte-length-less": redefined("byteLength", () => 1),
  "byte-offset-odd": redefined("byteOffset", () => 8000),
  "other-buffer": redefined("buffer", () => new ArrayBuffer(8)),
  "heap-buffer": redefined("buffer", () => engine().heap.buffer),
  "buffer-number": redefined("buffer", () => 7),
  "other-constructor": redefined("constructor", () => Float64Array),
  "no-constructor": redefined("constructor", () => undefined),
  "other-tag": redefined(Symbol.toStringTag as unknown as string, () => "Float64Array"),
  "other-bytes": redefined("BYTES_PER_ELEMENT", () => 1000),
  "other-prototype": {
    group: "typed arrays and buffers",
    fits: isTyped,
    make: (x) => Object.setPrototypeOf((x as Typed).slice(), BigInt64Array.prototype),
  },
  detached: bytes(detached),
  "detached-buffer": bytes(() => detached().buffer),
  shrunk: bytes(shrunk),
  growable: bytes(() => {
    const buffer = new GrowableBuffer(64, { maxByteLength: 128 });
    const u8 = new Uint8Array(buffer);
    buffer.grow(128);
    return u8;
  }),
  "data-view": bytes(() => new DataView(new ArrayBuffer(64), 8)),
  "prototype-only": bytes(() => Object.create(Float32Array.prototype)),
  "typed-proxy": bytes(() => new Proxy(new Float32Array(16), {})),
  "heap-itself": bytes(() => engine().heap.buffer),

  "fn-throws": calling((fn, w) => (...args: unknown[]) => {
    if (args.length < 100) throw w.planted;
    return fn(...args);
  }),
  "fn-disposes": calling((fn, w) => {
    let done = false;
    return (...args: unknown[]) => {
      if (!done) w.disposeAll();
      done = true;
      return fn(...args);
    };
  }),
  "fn-grows": calling(
    (fn, w) =>
      (...args: unknown[]) => {
        w.grow();
        return fn(...args);
      },
    true,
  ),
  "fn-computes": calling((fn, w) => (...args: unknown[]) => {
    const t = w.f32(2);
    w.own(w.own(t.add(1)).sum());
    return fn(...args);
  }),
  "fn-bound": calling((fn) => fn.bind(null)),
  "fn-proxy": calling((fn) => new Proxy(fn, {})),
  "fn-native": calling(() => Math.max),
  "fn-class": calling(() => class {}),
  "fn-async": calling(() => async () => 1),
  "fn-generator": calling(
    () =>
      function* () {
        yield 1;
      },
  ),
  "fn-text": calling((fn) => Object.assign(fn.bind(null), { toString: () => "(x) => x * 1000" })),
  "fn-length": calling((fn) => Object.defineProperty(fn.bind(null), "length", { value: 2 ** 40 })),
  "fn-members": calling((fn) =>
    Object.assign((...args: unknown[]) => fn(...args), { template: 1, captures: null, values: {} }),
  ),
  "fn-arguments": calling(
    () =>
      function () {
        // biome-ignore lint/complexity/noArguments: that is what is tried
        return arguments.length;
      },
  ),
  "fn-returns-undefined": returning(undefined),
  "fn-returns-null": returning(null),
  "fn-returns-symbol": returning(Symbol("odd")),
  "fn-returns-text": returning("7"),
  "fn-returns-bigint": returning(7n),
  "fn-returns-object": returning({}),
  "fn-returns-list": returning([1]),
  "fn-returns-promise": returning(Promise.resolve(1)),
  "fn-returns-revoked": returning(revoked({})),
  "fn-returns-tensor": calling((_, w) => {
    const t = w.f32(2);
    return () => t;
  }),
  "fn-returns-thenable": calling((_, w) => () => ({
    // biome-ignore lint/suspicious/noThenProperty: that is what is tried
    get then() {
      throw w.planted;
    },
  })),

  "more-keys": oddOptions((o) => ({ ...o, thereIsNoSuchOption: 1 })),
  "symbol-key": oddOptions((o) => ({ ...o, [Symbol("odd")]: 1 }), true),
  "proto-key": oddOptions((o) =>
    Object.defineProperty({ ...o }, "__proto__", { value: 1, enumerable: true }),
  ),
  "no-prototype-options": oddOptions((o) => Object.assign(Object.create(null), o), true),
  "inherited-options": oddOptions((o) => Object.create(o)),
  "class-options": oddOptions((o) => {
    class Options {}
    return Object.assign(new Options(), o);
  }, true),
  "frozen-options": oddOptions((o) => Object.freeze({ ...o }), true),
  "hidden-options": oddOptions((o) => {
    const copy = {};
    for (const [name, value] of Object.entries(o)) Object.defineProperty(copy, name, { value });
    return copy;
  }),
};
