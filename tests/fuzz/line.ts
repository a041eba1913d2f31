/**
 * Cases as lines of text: JSON that people can read and edit, in which the values that JSON lacks are strings: "12n",
 * "NaN", "Infinity", "-Infinity", "-0".
 */

/** One line of tests/corpus. */
export interface CorpusLine {
  readonly family: string;
  /** What was wrong, in a sentence. */
  readonly why: string;
  /** Cases of the family that must run first, in a process of their own: the failure was in what these leave behind. */
  readonly before?: readonly unknown[];
  readonly case: unknown;
}

const special = /^(-?\d+n|NaN|-?Infinity|-0)$/;

function written(_: string, x: unknown): unknown {
  if (typeof x === "bigint") return `${x}n`;
  if (typeof x === "number" && (!Number.isFinite(x) || Object.is(x, -0)))
    return Object.is(x, -0) ? "-0" : String(x);
  if (typeof x === "string" && special.test(x))
    throw new Error(`a case holds the text ${x}, which reads as a number`);
  return x;
}
const read = (_: string, x: unknown): unknown =>
  typeof x !== "string" || !special.test(x) ? x : x.endsWith("n") ? BigInt(x.slice(0, -1)) : Number(x);

export const toLine = (x: unknown): string => JSON.stringify(x, written);
export const fromLine = (text: string): unknown => JSON.parse(text, read);

/** The lines of a corpus file: empty ones and those that begin with // are for people. */
export const parseCorpus = (text: string): CorpusLine[] =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("//"))
    .map((line) => fromLine(line) as CorpusLine);
