/**
 * JSON out of a file that may be hostile: objects are Maps (a key may be __proto__), a key that comes twice is an error,
 * and so is nesting that no header needs.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | ReadonlyMap<string, Json>;

const MOST_DEPTH = 16;

/** What some writers of JSON do. */
export interface JsonHabits {
  /** Lists and objects inside of each other, at the most; default 16. */
  readonly depth?: number;
  /** As Python writes it: NaN and Infinity are numbers, and whole numbers have any length (bigints beyond 2^53). */
  readonly python?: boolean;
}

/** Up to a quote that no backslash precedes. */
const text = /"(?:[^"\\]|\\.)*"/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const notFinite = /NaN|-?Infinity/y;
/** So many digits at the most: longer ones are no numbers of ours. */
const whole = /^-?\d{1,40}$/;
const blanks = /[ \t\n\r]*/y;

/** The value that the text is; `bad` throws what is wrong with it. */
export function parseJson(
  source: string,
  bad: (fact: string) => never,
  { depth: mostDepth = MOST_DEPTH, python = false }: JsonHabits = {},
): Json {
  let at = 0;
  const skip = () => {
    blanks.lastIndex = at;
    blanks.exec(source);
    at = blanks.lastIndex;
  };
  const here = () => `at character ${at}`;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found === null) return null;
    at = pattern.lastIndex;
    return found[0];
  };
  const string = (): string => {
    const quoted = take(text) ?? bad(`there is no string ${here()}.`);
    try {
      return JSON.parse(quoted) as string;
    } catch {
      return bad(`there is a broken string ${here()}.`);
    }
  };
  const word = <T>(letters: string, value: T): T => {
    if (!source.startsWith(letters, at)) bad(`there is no value ${here()}.`);
    at += letters.length;
    return value;
  };
  const numeral = (): number | bigint => {
    const digits = take(number) ?? (python ? take(notFinite) : null);
    if (digits === null) return bad(`there is no value ${here()}.`);
    const x = Number(digits);
    return python && !Number.isSafeInteger(x) && whole.test(digits) ? BigInt(digits) : x;
  };
  const value = (depth: number): Json => {
    if (depth > mostDepth) bad(`it is nested more than ${mostDepth} deep.`);
    skip();
    switch (source[at]) {
      case "{":
        return object(depth);
      case "[":
        return array(depth);
      case '"':
        return string();
      case "t":
        return word("true", true);
      case "f":
        return word("false", false);
      case "n":
        return word("null", null);
      default:
        return numeral();
    }
  };
  const ends = (close: string): boolean => {
    skip();
    const c = source[at++];
    if (c !== close && c !== ",") bad(`there is no comma at character ${at - 1}.`);
    return c === close;
  };
  const array = (depth: number): Json[] => {
    const list: Json[] = [];
    at++;
    skip();
    if (source[at] === "]") {
      at++;
      return list;
    }
    do list.push(value(depth + 1));
    while (!ends("]"));
    return list;
  };
  const object = (depth: number): Map<string, Json> => {
    const map = new Map<string, Json>();
    at++;
    skip();
    if (source[at] === "}") {
      at++;
      return map;
    }
    do {
      skip();
      const key = string();
      if (map.has(key)) bad(`the key ${JSON.stringify(key.slice(0, 80))} is there twice.`);
      skip();
      if (source[at++] !== ":") bad(`there is no colon at character ${at - 1}.`);
      map.set(key, value(depth + 1));
    } while (!ends("}"));
    return map;
  };
  const result = value(0);
  skip();
  if (at !== source.length) bad(`something follows the value ${here()}.`);
  return result;
}

/** UTF-8 as text; what is none is an error. */
export function textOf(bytes: Uint8Array, bad: (fact: string) => never): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(unshared(bytes));
  } catch {
    return bad("it is no UTF-8 text.");
  }
}

/** Decoders of browsers refuse shared memory. */
export const unshared = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : bytes.slice();
