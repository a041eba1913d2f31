/**
 * What a value holds: everything of one kind that can be reached from it through elements of arrays, own properties of
 * objects of any class (symbols too), and keys and values of Maps and Sets, at any depth and through cycles.
 *
 * Getters are not called. Out of sight, and so not found, is what is kept in a closure, a private field, a WeakMap or a
 * function's properties.
 */

/** Arrays that are longer have holes: they are seen by their keys. */
const LONGEST_DENSE = 2 ** 25;

/** Each thing of the kind once; what they hold themselves is not looked at. */
export function heldIn<T extends object>(root: unknown, isWanted: (value: object) => value is T): Set<T> {
  const found = new Set<T>();
  const seen = new Set<object>();
  const work: object[] = [];
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (isWanted(value)) found.add(value);
    else if (!isBytes(value)) work.push(value);
  };
  look(root);
  for (let value = work.pop(); value !== undefined; value = work.pop()) {
    try {
      lookInside(value, look);
    } catch {
      // A Proxy that was revoked, or that throws: it shows nothing.
    }
  }
  return found;
}

function lookInside(value: object, look: (value: unknown) => void): void {
  for (const [key, item] of entriesOf(value)) {
    look(key);
    look(item);
  }
  if (Array.isArray(value) && value.length <= LONGEST_DENSE) {
    for (let i = 0; i < value.length; i++) look(value[i]);
    for (const key of Object.getOwnPropertySymbols(value)) lookAt(value, key, look);
  } else for (const key of Reflect.ownKeys(value)) lookAt(value, key, look);
}

const mapEntries = Map.prototype.entries;
const setEntries = Set.prototype.entries;

/** Keys and values of a Map, whatever its class says; those of a Set are its items, twice. */
function entriesOf(value: object): Iterable<[unknown, unknown]> {
  try {
    if (value instanceof Map) return mapEntries.call(value);
    if (value instanceof Set) return setEntries.call(value);
  } catch {
    // It has a Map's prototype and is none.
  }
  return [];
}

function lookAt(of: object, key: PropertyKey, look: (value: unknown) => void): void {
  const property = Object.getOwnPropertyDescriptor(of, key);
  if (property !== undefined && "value" in property) look(property.value);
}

function isBytes(value: object): boolean {
  try {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return true;
    return typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer;
  } catch {
    return false;
  }
}
