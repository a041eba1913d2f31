/** Arguments of a command by a table of its flags: read once, checked, and told where they are none. */
import { failKey, type TensorError } from "../errors.ts";
import { Usage } from "./host.ts";

export type FlagKind = "flag" | "text" | "number" | "list";

export interface Flag {
  readonly kind: FlagKind;
  /** What it is, for the help. */
  readonly says: string;
  /** How its value is called there. */
  readonly value?: string;
}

export interface Parsed {
  readonly words: readonly string[];
  flag(name: string): boolean;
  text(name: string): string | undefined;
  /** Refused below `least`. */
  number(name: string, least?: number): number | undefined;
  list(name: string): readonly string[];
}

/** Words and flags: --name, --name value, --name=value; after -- everything is a word. */
export function parseArgs(args: readonly string[], flags: Readonly<Record<string, Flag>>): Parsed {
  const words: string[] = [];
  const values = new Map<string, string[]>();
  let isOver = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (isOver || !arg.startsWith("-") || arg === "-" || /^-[\d:.]/.test(arg)) {
      words.push(arg);
      continue;
    }
    if (arg === "--") {
      isOver = true;
      continue;
    }
    const [, name, , inline] = /^--?([^=]*)(=([\s\S]*))?$/.exec(arg)!;
    const key = name === "h" ? "help" : name;
    if (!Object.hasOwn(flags, key)) failFlag(key, Object.keys(flags));
    if (flags[key].kind === "flag") {
      if (inline !== undefined) throw new Usage(`--${key} takes no value.`);
      values.set(key, ["true"]);
      continue;
    }
    const value = inline ?? args[++i];
    if (value === undefined)
      throw new Usage(`--${key} needs a value: --${key} ${flags[key].value ?? "VALUE"}.`);
    values.set(key, [...(flags[key].kind === "list" ? (values.get(key) ?? []) : []), value]);
  }
  const last = (name: string) => values.get(name)?.at(-1);
  return {
    words,
    flag: (name) => values.has(name),
    text: last,
    list: (name) => values.get(name) ?? [],
    number: (name, least = Number.NEGATIVE_INFINITY) => {
      const value = last(name);
      if (value === undefined) return undefined;
      const number = Number(value);
      if (value.trim() === "" || !Number.isFinite(number))
        throw new Usage(`--${name} is ${JSON.stringify(value)}, not a number.`);
      if (number < least) throw new Usage(`--${name} is ${number}: write a number from ${least}.`);
      return number;
    },
  };
}

/** The nearest flag there is, as for options. */
function failFlag(name: string, names: readonly string[]): never {
  try {
    return failKey("", name, names);
  } catch (error) {
    const guess = /Did you mean (\S+)\?/.exec((error as TensorError).message)?.[1];
    const remedy = guess === undefined ? "" : ` Did you mean --${guess}?`;
    throw new Usage(`there is no --${name}.${remedy}`);
  }
}

/** Does a name fit a pattern with * (any letters) and ? (one)? In as many steps as they are long, times each other. */
export function matches(pattern: string, name: string): boolean {
  let [p, n, star, mark] = [0, 0, -1, 0];
  while (n < name.length) {
    if (p < pattern.length && pattern[p] === "*") {
      star = p++;
      mark = n;
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++mark;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** "0:10, :, ::2" as the items of a slice. */
export function parseSlice(text: string): (string | number | null)[] {
  const inside = text.trim().replace(/^\[([\s\S]*)\]$/, "$1");
  return inside.split(",").map((part) => {
    const item = part.trim();
    if (item === "null" || item === "newaxis") return null;
    if (item === "..." || /^-?\d*(:-?\d*){1,2}$/.test(item)) return item;
    if (/^-?\d+$/.test(item)) return Number(item);
    throw new Usage(`${JSON.stringify(text)} is no slice: write it as 0:10,:,::2 or 3,-1.`);
  });
}
